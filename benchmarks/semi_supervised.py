"""Rows of the semi-supervised family: label spreading on a graph of neighbours, a transductive SVM."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial import cKDTree

from benchmarks.harness import Contender, Data, Result, Row

CACHE = 1000  # megabytes
ALPHA, PASSES = 0.2, 30


# --- label-spreading ----------------------------------------------------------------------------------------


def make_clusters(
    rng: np.random.Generator, n: int, d: int, classes: int, clusters: int, labeled: int, k: int
) -> Data:
    """Gaussian clusters, some for each class, of which few rows have labels; and the labels that all rows get by
    passes over the graph of neighbours, made with SciPy."""
    centres = 3.0 * rng.standard_normal((clusters, d))
    member = rng.integers(clusters, size=n)
    X = centres[member] + rng.standard_normal((n, d))
    truth = member % classes
    y = np.full(n, -1)
    chosen = rng.permutation(n)[:labeled]
    y[chosen] = truth[chosen]
    _, near = cKDTree(X).query(X, k, workers=2)
    W = sparse.csr_array((np.ones(n * k), near.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
    W.setdiag(0.0)
    roots = np.sqrt(np.maximum(W.sum(axis=0), 1.0))
    S = sparse.diags_array(1 / roots) @ W @ sparse.diags_array(1 / roots)
    Y = (y[:, None] == np.arange(classes)).astype(float)
    F = Y
    for _ in range(PASSES):
        F = ALPHA * (S @ F) + (1 - ALPHA) * Y
    return {"X": X, "y": y, "k": np.array(k), "labels": F.argmax(axis=1)}


def other_labels(data: Data, result: Result) -> float:
    """The share of rows with another label than by the passes made with SciPy."""
    return float(np.mean(result["labels"] != data["labels"]))


def spread(kind: Any, data: Data) -> Result:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rows that no label comes to
        model = kind("knn", n_neighbors=int(data["k"]), alpha=ALPHA, max_iter=PASSES, n_jobs=2)
        return {"labels": model.fit(data["X"], data["y"]).transduction_}


def spreading_ours(data: Data) -> Result:
    from tercet.semi_supervised import LabelSpreading

    return spread(LabelSpreading, data)


def spreading_sklearn(data: Data) -> Result:
    from sklearn.semi_supervised import LabelSpreading

    return spread(LabelSpreading, data)


# --- tsvm ---------------------------------------------------------------------------------------------------


def make_halves(
    rng: np.random.Generator, labeled: int, unlabeled: int, d: int, hidden: int, noise: float, C: float
) -> Data:
    """Standard normal rows; the class is the sign of a smooth score with noise; the first rows have labels."""
    n = labeled + unlabeled
    X = rng.standard_normal((n, d))
    score = np.tanh(2.0 * X @ rng.standard_normal((d, hidden)) / np.sqrt(d)) @ rng.standard_normal(hidden)
    score += noise * score.std() * rng.standard_normal(n)
    X += 0.5 * np.sign(score)[:, None] * np.eye(d)[0]
    y = np.where(np.arange(n) < labeled, score > 0, -1)
    return {"X": X, "y": y, "C": np.array(C), "gamma": np.array(1.0 / (d * X.var()))}


def tsvm_objective(data: Data, result: Result) -> float:
    """‖w‖²/2 + C Σ ξ of the labels that were found, by coefficients and b; infinite where one is missing."""
    X, y, coef = data["X"], data["y"], result["coef"]
    norm = (X**2).sum(axis=1)
    f = np.exp(-float(data["gamma"]) * np.maximum(norm[:, None] + norm - 2 * X @ X.T, 0.0)) @ coef
    sign = np.where(result["labels"] > 0, 1.0, -1.0)
    if (result["labels"] < 0).any() or (result["labels"] != y)[y >= 0].any():
        return np.inf
    slack = np.maximum(1 - sign * (f + float(result["b"])), 0.0)
    return float(coef @ f / 2 + float(data["C"]) * slack.sum())


def tsvm_ours(data: Data) -> Result:
    from tercet.semi_supervised import TransductiveSVC

    model = TransductiveSVC(C=float(data["C"]), gamma=float(data["gamma"]), n_jobs=2)
    model.fit(data["X"], data["y"])
    coef = np.zeros(len(data["X"]))
    coef[model.support_] = model.dual_coef_[0]
    return {"coef": coef, "b": model.intercept_[0], "labels": model.transduction_}


def tsvm_loop(data: Data) -> Result:
    """The text's algorithm, many pairs at a time, with a fit of scikit-learn's SVC for each solution."""
    from sklearn.svm import SVC

    X, y, C = data["X"], data["y"], float(data["C"])
    model = SVC(C=C, gamma=float(data["gamma"]), cache_size=CACHE)
    open_rows = np.flatnonzero(y < 0)
    labels = y.copy()
    labels[open_rows] = model.fit(X[y >= 0], y[y >= 0]).predict(X[open_rows])
    C_u = C / 1000
    while True:
        model.fit(X, labels, sample_weight=np.where(y < 0, C_u / C, 1.0))
        f = model.decision_function(X[open_rows])
        sign = 2.0 * labels[open_rows] - 1
        slack = np.maximum(1 - sign * f, 0.0)
        order = np.argsort(-slack, kind="stable")
        order = order[slack[order] > 1e-3]
        plus, minus = order[sign[order] > 0], order[sign[order] < 0]
        count = min(plus.size, minus.size)
        good = slack[plus[:count]] + slack[minus[:count]] > 2 + 1e-3
        if good.any():
            labels[open_rows[plus[:count][good]]] = 0
            labels[open_rows[minus[:count][good]]] = 1
        elif C_u >= C:
            break
        else:
            C_u = min(2 * C_u, C)
    coef = np.zeros(len(X))
    coef[model.support_] = model.dual_coef_[0]
    return {"coef": coef, "b": model.intercept_[0], "labels": labels}


ROWS = [
    Row(
        name="label-spreading",
        work="label spreading over {k} neighbours; {n} x {d}, {classes} classes, {labeled} labels",
        sizes={
            "full": {"n": 100_000, "d": 10, "classes": 5, "clusters": 40, "labeled": 1_000, "k": 7},
            "smoke": {"n": 2_000, "d": 5, "classes": 3, "clusters": 9, "labeled": 60, "k": 7},
        },
        data=make_clusters,
        ours=Contender(spreading_ours, ("tercet.semi_supervised",), "tercet"),
        peers={
            "scikit-learn": Contender(spreading_sklearn, ("sklearn.semi_supervised",), "scikit-learn"),
        },
        quality=other_labels,
        tolerance=1e-3,
        figure="share of rows with another label",
        relative=False,
    ),
    Row(
        name="tsvm",
        work="transductive SVM, RBF kernel, C = {C}; {labeled} labelled and {unlabeled} unlabelled rows x {d}",
        sizes={
            "full": {"labeled": 1_000, "unlabeled": 4_000, "d": 20, "hidden": 20, "noise": 0.3, "C": 1.0},
            "smoke": {"labeled": 60, "unlabeled": 200, "d": 5, "hidden": 5, "noise": 0.3, "C": 1.0},
        },
        data=make_halves,
        ours=Contender(tsvm_ours, ("tercet.semi_supervised",), "tercet"),
        peers={
            "scikit-learn's SVC in a loop": Contender(
                tsvm_loop, ("sklearn.svm",), "scikit-learn", threads=1, once=True
            ),
        },
        quality=tsvm_objective,
        tolerance=1e-3,
        figure="objective",
    ),
]
