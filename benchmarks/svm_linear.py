"""The row of the linear support vector machine."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.harness import Contender, Data, Result, Row
from benchmarks.linear import zipf

ROWS: list[Row] = []


def make_words(
    rng: np.random.Generator, n: int, d: int, tokens: int, exponent: float, noise: float, shift: float
) -> Data:
    """Rows of unit length with Zipf columns and exponential values; labels by a random plane and noise."""
    steps = np.cumsum(zipf(d, exponent))
    columns = np.searchsorted(steps[:-1], rng.random((n, tokens))).astype(np.int32)
    X = sparse.csr_matrix(
        (rng.exponential(size=n * tokens), columns.ravel(), np.arange(0, n * tokens + 1, tokens)), (n, d)
    )
    X.sum_duplicates()
    norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    X.data /= np.repeat(norms, np.diff(X.indptr))
    score = X @ rng.standard_normal(d)
    score = score / score.std() + noise * rng.standard_normal(n)
    return {"X": X, "y": (score > shift).astype(np.int64)}


def objective(data: Data, result: Result) -> float:
    """|w|^2 / 2 + b^2 / 2 + C sum of hinge losses with C = 1: the intercept is penalised, as liblinear does."""
    w, b = result["coef"].ravel(), float(np.ravel(result["intercept"])[0])
    margin = np.where(data["y"] > 0, 1.0, -1.0) * (data["X"] @ w + b)
    return float(np.maximum(0.0, 1.0 - margin).sum() + (w @ w + b * b) / 2)


def result_of(model: Any) -> Result:
    return {"coef": np.asarray(model.coef_), "intercept": np.ravel(model.intercept_)}


def within(data: Data, enough: float, small: float) -> float:
    """What is asked of a violation, to be within the quality: of many rows each may be farther from its place."""
    return enough if data["y"].size > 100_000 else small


def ours(data: Data) -> Result:
    from tercet.svm import LinearSVC

    model = LinearSVC(loss="hinge", C=1.0, tol=within(data, 1e-2, 1e-4), random_state=0, n_jobs=2)
    return result_of(model.fit(data["X"], data["y"]))


def by_sklearn(data: Data, tol: float | None = None) -> Result:
    from sklearn.svm import LinearSVC

    tol = tol or within(data, 1e-2, 1e-4)
    model = LinearSVC(loss="hinge", C=1.0, dual=True, tol=tol, max_iter=10_000, random_state=0)
    return result_of(model.fit(data["X"], data["y"]))


def by_snapml(data: Data) -> Result:
    from snapml import SupportVectorMachine

    model = SupportVectorMachine(
        loss="hinge", regularizer=1.0, fit_intercept=True, intercept_scaling=1.0, tol=within(data, 2e-8, 1e-10),
        max_iter=100_000, n_jobs=2, random_state=0,
    )  # fmt: skip
    return result_of(model.fit(data["X"], data["y"]))


def optimum(data: Data) -> Result:
    return by_sklearn(data, 1e-5)


ROWS.append(
    Row(
        name="svm-linear",
        work="linear SVM, hinge loss, C=1, intercept penalised; {n} x {d} CSR, {tokens} per row, Zipf, unit rows",
        sizes={
            "full": {"n": 500_000, "d": 250_000, "tokens": 50, "exponent": 1.0, "noise": 0.5, "shift": 0.3},
            "smoke": {"n": 1_000, "d": 5_000, "tokens": 20, "exponent": 1.0, "noise": 0.5, "shift": 0.3},
        },
        data=make_words,
        ours=Contender(ours, ("tercet.svm",), "tercet"),
        peers={
            "snapml": Contender(by_snapml, ("snapml",), "snapml"),
            "scikit-learn LinearSVC dual": Contender(by_sklearn, ("sklearn.svm",), "scikit-learn", threads=1),
        },
        quality=objective,
        optimum=optimum,
        tolerance=1e-5,
        figure="objective",
    )
)
