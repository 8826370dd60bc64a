"""Rows of kernel support vector machines: two classes, many rows, several classes, regression."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from benchmarks.harness import Contender, Data, Result, Row

CACHE = 1000  # megabytes


# --- data ---------------------------------------------------------------------------------------------------


def make_classes(
    rng: np.random.Generator, n: int, d: int, hidden: int, noise: float, classes: int, C: float
) -> Data:
    """Standard normal rows; the class is the largest of smooth scores, sums of `hidden` sigmoids, with noise of
    `noise` times their own spread."""
    X = rng.standard_normal((n, d))
    inside = np.tanh(2.0 * X @ rng.standard_normal((d, hidden)) / np.sqrt(d))
    scores = inside @ rng.standard_normal((hidden, classes - 1 if classes == 2 else classes))
    scores += noise * scores.std() * rng.standard_normal(scores.shape)
    y = (scores[:, 0] > 0).astype(np.int64) if classes == 2 else scores.argmax(axis=1)
    return {"X": X, "y": y, "C": np.array(C)}


def make_curve(rng: np.random.Generator, n: int, d: int, noise: float, C: float, epsilon: float) -> Data:
    """Standard normal rows; a smooth function of the first five columns, with noise."""
    X = rng.standard_normal((n, d))
    y = np.sin(1.5 * X[:, 0]) + 0.5 * X[:, 1] * X[:, 2] + np.tanh(X[:, 3] + X[:, 4])
    return {"X": X, "y": y + noise * rng.standard_normal(n), "C": np.array(C), "epsilon": np.array(epsilon)}


# --- quality ------------------------------------------------------------------------------------------------


def square(X: np.ndarray, coef: np.ndarray, gamma: float) -> float:
    """coef'K coef of the Gaussian kernel, in blocks of float64."""
    norm, found = (X**2).sum(axis=1), 0.0
    for start in range(0, len(X), 2_000):
        part = slice(start, start + 2_000)
        apart = norm[part, None] + norm - 2.0 * X[part] @ X.T
        found += float(coef[part] @ (np.exp(-gamma * np.maximum(apart, 0.0)) @ coef))
    return found


def feasible(coef: np.ndarray, sign: np.ndarray, C: float) -> bool:
    """Whether multipliers are within their bounds, and balanced."""
    size = np.abs(coef)
    right = np.all(coef * sign >= 0) and np.all(size <= C * (1.0 + 1e-6))
    return bool(right and abs(coef.sum()) <= 1e-6 * max(size.sum(), 1.0))


def class_dual(data: Data, result: Result) -> float:
    """The minimised dual of all machines, one for each pair of classes; infinite outside the constraints.

    A row of class c has the coefficients of its machines against the other classes in their order.
    """
    X, y, C = data["X"], data["y"], float(data["C"])
    support, coef = result["support"], result["coef"]
    k, found = int(y.max()) + 1, 0.0
    for i, j in combinations(range(k), 2):
        here = [(y[support] == i, coef[j - 1]), (y[support] == j, coef[i])]
        rows = np.concatenate([support[mask] for mask, _ in here])
        beta = np.concatenate([values[mask] for mask, values in here])
        # with two classes scikit-learn's +1 is the second, else the first of the pair
        sign = np.where(y[rows] == (j if k == 2 else i), 1.0, -1.0)
        if not feasible(beta, sign, C):
            return np.inf
        used = beta != 0
        found += square(X[rows[used]], beta[used], 1.0 / X.shape[1]) / 2.0 - float(np.abs(beta).sum())
    return found


def curve_dual(data: Data, result: Result) -> float:
    """The minimised dual of a regression; infinite outside the constraints."""
    X, y, support, beta = data["X"], data["y"], result["support"], result["coef"][0]
    if not feasible(beta, np.sign(beta), float(data["C"])):
        return np.inf
    linear = float(data["epsilon"]) * np.abs(beta).sum() - beta @ y[support]
    return square(X[support], beta, 1.0 / X.shape[1]) / 2.0 + float(linear)


# --- contenders ---------------------------------------------------------------------------------------------


def fitted(model: Any, data: Data) -> Result:
    model.fit(data["X"], data["y"])
    return {"support": np.asarray(model.support_), "coef": np.asarray(model.dual_coef_)}


def options(data: Data) -> dict[str, Any]:
    more = {"epsilon": float(data["epsilon"])} if "epsilon" in data else {}
    return {"C": float(data["C"]), "gamma": 1.0 / data["X"].shape[1], "cache_size": CACHE, **more}


def svc_ours(data: Data) -> Result:
    from tercet.svm import SVC

    return fitted(SVC(**options(data), n_jobs=2), data)


def svc_intelex(data: Data) -> Result:
    from sklearnex.svm import SVC

    return fitted(SVC(**options(data)), data)


def svc_sklearn(data: Data) -> Result:
    from sklearn.svm import SVC

    return fitted(SVC(**options(data)), data)


def svr_ours(data: Data) -> Result:
    from tercet.svm import SVR

    return fitted(SVR(**options(data), n_jobs=2), data)


def svr_intelex(data: Data) -> Result:
    from sklearnex.svm import SVR

    return fitted(SVR(**options(data)), data)


def svr_sklearn(data: Data) -> Result:
    from sklearn.svm import SVR

    return fitted(SVR(**options(data)), data)


OURS = Contender(svc_ours, ("tercet.svm",), "tercet")
INTELEX = {"scikit-learn-intelex": Contender(svc_intelex, ("sklearnex.svm",), "scikit-learn-intelex")}
SKLEARN = {"scikit-learn": Contender(svc_sklearn, ("sklearn.svm",), "scikit-learn", threads=1, once=True)}
PLANE: dict[str, Any] = {"d": 50, "hidden": 20, "noise": 0.5}


def svc_row(name: str, work: str, n: int, classes: int, C: float, peers: dict[str, Contender]) -> Row:
    return Row(
        name=name,
        work=work,
        sizes={
            "full": {"n": n, "classes": classes, "C": C, **PLANE},
            "smoke": {"n": 2_500, "classes": classes, "C": C, **PLANE, "d": 10},
        },
        data=make_classes,
        ours=OURS,
        peers=peers,
        quality=class_dual,
        tolerance=1e-5,
        figure="dual objective",
    )


ROWS = [
    *(
        svc_row(
            f"svc-rbf-{C}",
            "RBF kernel, two classes, C = {C}; {n} x {d}",
            20_000,
            2,
            C,
            {**INTELEX, **SKLEARN},
        )
        for C in (1, 100)
    ),
    svc_row("svc-large", "RBF kernel, two classes, C = {C}; {n} x {d}", 50_000, 2, 1, INTELEX),
    svc_row(
        "svc-multiclass",
        "RBF kernel, {classes} classes by pairs, C = {C}; {n} x {d}",
        20_000,
        5,
        1,
        {**INTELEX, **SKLEARN},
    ),
    Row(
        name="svr",
        work="RBF kernel, regression, C = {C}, epsilon = {epsilon}; {n} x {d}",
        sizes={
            "full": {"n": 20_000, "d": 20, "noise": 0.2, "C": 1, "epsilon": 0.1},
            "smoke": {"n": 2_500, "d": 5, "noise": 0.2, "C": 1, "epsilon": 0.1},
        },
        data=make_curve,
        ours=Contender(svr_ours, ("tercet.svm",), "tercet"),
        peers={
            "scikit-learn-intelex": Contender(svr_intelex, ("sklearnex.svm",), "scikit-learn-intelex"),
            "scikit-learn": Contender(svr_sklearn, ("sklearn.svm",), "scikit-learn", threads=1, once=True),
        },
        quality=curve_dual,
        tolerance=1e-5,
        figure="dual objective",
    ),
]
