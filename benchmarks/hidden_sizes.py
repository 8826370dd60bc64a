"""Rows of the number of hidden units: a search by cross-validation."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from benchmarks.harness import Contender, Data, Result, Row

NETWORK: Any = {"activation": "tanh", "solver": "lbfgs", "max_iter": 300, "random_state": 0}


def make_rings(rng: np.random.Generator, n: int, d: int, largest: int) -> Data:
    """Classes by the distance from the centre in the first three of d columns, and as many rows to test with."""
    X = rng.standard_normal((2 * n, d))
    y = (np.linalg.norm(X[:, :3], axis=1) + 0.1 * rng.standard_normal(2 * n) > 1.5).astype(int)
    sizes = 2 ** np.arange(int(np.log2(largest)) + 1)
    return {"X": X[:n], "y": y[:n], "test": X[n:], "truth": y[n:], "sizes": sizes}


def error(data: Data, result: Result) -> float:
    """Share of the test rows that the chosen network gets wrong."""
    return float(np.mean(result["labels"] != data["truth"]))


def ours(data: Data) -> Result:
    from tercet.neural_network import HiddenSizeSearch, MLPClassifier

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search = HiddenSizeSearch(MLPClassifier(**NETWORK), sizes=data["sizes"].tolist(), n_jobs=2)
        return {"labels": search.fit(data["X"], data["y"]).predict(data["test"])}


def sklearn(data: Data) -> Result:
    from sklearn.model_selection import GridSearchCV
    from sklearn.neural_network import MLPClassifier

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sizes = [(int(size),) for size in data["sizes"]]
        search = GridSearchCV(MLPClassifier(**NETWORK), {"hidden_layer_sizes": sizes})
        return {"labels": search.fit(data["X"], data["y"]).predict(data["test"])}


ROWS = [
    Row(
        name="mlp-sizes",
        work="hidden units 1 to {largest} of a perceptron by 5 folds, L-BFGS; {n} x {d}",
        sizes={
            "full": {"n": 2_000, "d": 10, "largest": 32},
            "smoke": {"n": 200, "d": 5, "largest": 4},
        },
        data=make_rings,
        ours=Contender(ours, ("tercet.neural_network",), "tercet"),
        peers={"scikit-learn": Contender(sklearn, ("sklearn.neural_network",), "scikit-learn", threads=1)},
        quality=error,
        tolerance=0.15,
        figure="share of test rows that are wrong",
    ),
]
