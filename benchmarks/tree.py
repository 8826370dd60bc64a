"""Rows of the trees: a classifier and a regressor, grown until all leaves are pure."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.harness import Contender, Data, Result, Row


def make_rows(rng: np.random.Generator, n: int, d: int, tests: int, rough: float, classes: bool) -> Data:
    """Normal rows. A step in two columns is to be foretold, and `rough` times a sum of slopes, bends, products and
    noise: without those every tree finds the same."""
    X = rng.standard_normal((n + tests, d))
    slopes = 0.7 * X[:, : d // 2] @ rng.standard_normal(d // 2)
    score = rough * (slopes + np.sin(2 * X[:, 0]) * X[:, 1] + X[:, 2] * X[:, 3])
    score += 2.0 * (X[:, 0] > 0.5) * (X[:, 1] < 0.3) + 0.5 * rough * rng.standard_normal(n + tests)
    y = (score > np.median(score)).astype(np.int64) if classes else score
    return {"X": X[:n], "y": y[:n], "X_test": X[n:], "y_test": y[n:]}


def minus_score(data: Data, result: Result) -> float:
    """Minus the share of right answers on fresh rows, or minus the share of the variance that is explained."""
    y, answer = data["y_test"], result["answer"]
    if y.dtype.kind == "i":
        return -float((answer == y).mean())
    return float(((answer - y) ** 2).mean() / y.var()) - 1.0


def fitted(model: Any, data: Data) -> Result:
    """Grow a tree; the few fresh rows tell what it learned."""
    return {"answer": np.asarray(model.fit(data["X"], data["y"]).predict(data["X_test"]))}


def classifier_ours(data: Data) -> Result:
    from tercet.tree import DecisionTreeClassifier

    return fitted(DecisionTreeClassifier(n_jobs=2), data)


def classifier_sklearn(data: Data) -> Result:
    from sklearn.tree import DecisionTreeClassifier

    return fitted(DecisionTreeClassifier(random_state=0), data)


def classifier_snapml(data: Data) -> Result:
    from snapml import DecisionTreeClassifier  # type: ignore[import-not-found]

    return fitted(DecisionTreeClassifier(n_jobs=2, use_histograms=False, random_state=0), data)


def classifier_snapml_histogram(data: Data) -> Result:
    from snapml import DecisionTreeClassifier

    return fitted(DecisionTreeClassifier(n_jobs=2, use_histograms=True, random_state=0), data)


def regressor_ours(data: Data) -> Result:
    from tercet.tree import DecisionTreeRegressor

    return fitted(DecisionTreeRegressor(n_jobs=2), data)


def regressor_sklearn(data: Data) -> Result:
    from sklearn.tree import DecisionTreeRegressor

    return fitted(DecisionTreeRegressor(random_state=0), data)


def regressor_snapml(data: Data) -> Result:
    from snapml import DecisionTreeRegressor

    return fitted(DecisionTreeRegressor(n_jobs=2, use_histograms=False, random_state=0), data)


def regressor_snapml_histogram(data: Data) -> Result:
    from snapml import DecisionTreeRegressor

    return fitted(DecisionTreeRegressor(n_jobs=2, use_histograms=True, random_state=0), data)


FULL = {"n": 200_000, "d": 20, "tests": 50_000, "rough": 1.0}
SMOKE = {"n": 4_000, "d": 8, "tests": 500, "rough": 0.0}
SKLEARN = ("sklearn.tree",)
ROWS = [
    Row(
        name="tree-classifier",
        work="CART by Gini until the leaves are pure, two classes; {n} x {d}",
        sizes={"full": {**FULL, "classes": True}, "smoke": {**SMOKE, "classes": True}},
        data=make_rows,
        ours=Contender(classifier_ours, ("tercet.tree",), "tercet"),
        peers={
            "snapml exact": Contender(classifier_snapml, ("snapml",), "snapml"),
            "snapml histogram": Contender(classifier_snapml_histogram, ("snapml",), "snapml"),
            "scikit-learn": Contender(classifier_sklearn, SKLEARN, "scikit-learn", threads=1),
        },
        quality=minus_score,
        tolerance=0.005,
        figure="minus the accuracy on fresh rows",
    ),
    Row(
        name="tree-regressor",
        work="CART by squared error until the leaves are pure; {n} x {d}",
        sizes={"full": {**FULL, "classes": False}, "smoke": {**SMOKE, "classes": False}},
        data=make_rows,
        ours=Contender(regressor_ours, ("tercet.tree",), "tercet"),
        peers={
            "snapml exact": Contender(regressor_snapml, ("snapml",), "snapml"),
            "snapml histogram": Contender(regressor_snapml_histogram, ("snapml",), "snapml"),
            "scikit-learn": Contender(regressor_sklearn, SKLEARN, "scikit-learn", threads=1),
        },
        quality=minus_score,
        tolerance=0.005,
        figure="minus R² on fresh rows",
    ),
]
