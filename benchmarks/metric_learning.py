"""Rows of the metric learning family: neighbourhood components analysis."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.harness import Contender, Data, Result, Row


def make_classes(rng: np.random.Generator, n: int, d: int, classes: int, relevant: int, passes: int) -> Data:
    """Gaussian classes of two clusters each in a few directions, among features of noise."""
    y = rng.integers(classes, size=n)
    centres = 2.0 * rng.standard_normal((classes, 2, relevant))
    Z = centres[y, rng.integers(2, size=n)] + 0.7 * rng.standard_normal((n, relevant))
    noise = rng.standard_normal((n, d - relevant))
    mixing = np.linalg.qr(rng.standard_normal((d, d)))[0]
    X = np.column_stack([Z, noise]) @ mixing
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return {"X": X, "y": y, "passes": np.array(passes)}


def right_share(data: Data, result: Result) -> float:
    """1 over the expected share of rows whose drawn neighbour has their label."""
    Z, y = data["X"] @ np.asarray(result["components"]).T, data["y"]
    square, right = (Z**2).sum(axis=1), 0.0
    for start in range(0, len(Z), 500):
        rows = slice(start, start + 500)
        D = square[rows, None] + square - 2 * Z[rows] @ Z.T
        D[np.arange(len(D)), np.arange(start, start + len(D))] = np.inf
        P = np.exp(D.min(axis=1, keepdims=True) - D)
        right += float(((P * (y[rows, None] == y)).sum(axis=1) / P.sum(axis=1)).sum())
    return len(Z) / right


def one_nca(kind: Any, data: Data, **options: Any) -> Result:
    model = kind(max_iter=int(data["passes"]), tol=1e-5, random_state=0, **options).fit(data["X"], data["y"])
    return {"components": np.asarray(model.components_)}


def nca_ours(data: Data) -> Result:
    from tercet.metric_learning import NeighborhoodComponentsAnalysis

    return one_nca(NeighborhoodComponentsAnalysis, data, n_jobs=2)


def nca_sklearn(data: Data) -> Result:
    from sklearn.neighbors import NeighborhoodComponentsAnalysis

    return one_nca(NeighborhoodComponentsAnalysis, data)


ROWS = [
    Row(
        name="nca",
        work="neighbourhood components analysis by L-BFGS, {passes} passes; {n} x {d}, {classes} classes",
        sizes={
            "full": {"n": 5_000, "d": 30, "classes": 5, "relevant": 8, "passes": 30},
            "smoke": {"n": 120, "d": 5, "classes": 3, "relevant": 2, "passes": 10},
        },
        data=make_classes,
        ours=Contender(nca_ours, ("tercet.metric_learning",), "tercet"),
        peers={
            "scikit-learn": Contender(nca_sklearn, ("sklearn.neighbors",), "scikit-learn"),
        },
        quality=right_share,
        tolerance=1e-3,
        figure="1 / expected share of right neighbours",
    ),
]
