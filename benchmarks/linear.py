"""Rows of the linear family: logistic regression, lasso, perceptron, maximum entropy."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import logsumexp

from benchmarks.harness import Contender, Data, Result, Row

ROWS: list[Row] = []
SKLEARN = ("sklearn.linear_model",)


def autoregressive(rng: np.random.Generator, n: int, d: int, rho: float, order: str) -> np.ndarray:
    """Standard normal columns, neighbours correlated by rho."""
    X = np.asarray(rng.standard_normal((n, d)), order=order)  # type: ignore[call-overload]
    for j in range(1, d):
        X[:, j] *= np.sqrt(1 - rho**2)
        X[:, j] += rho * X[:, j - 1]
    return X


def linear_result(model: Any) -> Result:
    return {"coef": np.asarray(model.coef_), "intercept": np.ravel(model.intercept_)}


def objective_binary(data: Data, result: Result) -> float:
    """C sum log(1 + exp(-y f(x))) + |w|^2 / 2 with C = 1 and a free intercept, as scikit-learn defines it."""
    w, b = result["coef"].ravel(), float(np.ravel(result["intercept"])[0])
    margin = np.where(data["y"] > 0, 1.0, -1.0) * (data["X"] @ w + b)
    return float(np.logaddexp(0.0, -margin).sum() + 0.5 * w @ w)


def objective_softmax(data: Data, result: Result) -> float:
    """Mean negative log-likelihood + |W|^2 / (2 C n) with C = 1; the intercept, if any, is free."""
    W, y, n = result["coef"], data["y"], data["y"].size
    scores = np.asarray(data["X"] @ W.T) + result.get("intercept", 0.0)
    nll = logsumexp(scores, axis=1) - scores[np.arange(n), y]
    return float(nll.mean() + (W * W).sum() / (2 * n))


def sklearn_logistic(**parameters: Any) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=1.0, **parameters)


# --- logistic-dense -----------------------------------------------------------------------------------------


def make_dense(rng: np.random.Generator, n: int, d: int, rho: float, spread: float, shift: float) -> Data:
    """Log-odds are linear in the columns, with standard deviation `spread` and mean `shift`."""
    X = autoregressive(rng, n, d, rho, "C")
    score = X @ rng.standard_normal(d)
    score *= spread / score.std()
    return {"X": X, "y": (rng.random(n) < 1 / (1 + np.exp(-score - shift))).astype(np.int64)}


def dense_ours(data: Data) -> Result:
    from tercet.linear_model import LogisticRegression

    model = LogisticRegression(C=1.0, tol=1e-4, n_jobs=2)
    return linear_result(model.fit(data["X"], data["y"]))


def dense_optimum(data: Data) -> Result:
    return linear_result(sklearn_logistic(solver="newton-cholesky", tol=1e-9).fit(data["X"], data["y"]))


def dense_glum(data: Data) -> Result:
    from glum import GeneralizedLinearRegressor

    alpha = 1.0 / len(data["y"])  # glum takes means where scikit-learn takes C times sums
    model = GeneralizedLinearRegressor(family="binomial", alpha=alpha, l1_ratio=0, gradient_tol=1e-3)
    return linear_result(model.fit(data["X"], data["y"]))


def dense_newton(data: Data) -> Result:
    return linear_result(sklearn_logistic(solver="newton-cholesky", tol=1e-3).fit(data["X"], data["y"]))


def dense_lbfgs(data: Data) -> Result:
    model = sklearn_logistic(solver="lbfgs", tol=3e-5, max_iter=1000)
    return linear_result(model.fit(data["X"], data["y"]))


def dense_intelex(data: Data) -> Result:
    from sklearnex.linear_model import LogisticRegression

    model = LogisticRegression(C=1.0, solver="lbfgs", tol=1e-2, max_iter=1000)
    return linear_result(model.fit(data["X"], data["y"]))


ROWS.append(
    Row(
        name="logistic-dense",
        work="binary logistic regression, L2, C=1, intercept; {n} x {d}, columns correlated by {rho}",
        sizes={
            "full": {"n": 200_000, "d": 100, "rho": 0.9, "spread": 2.0, "shift": 0.5},
            "smoke": {"n": 2_000, "d": 10, "rho": 0.9, "spread": 2.0, "shift": 0.5},
        },
        data=make_dense,
        ours=Contender(dense_ours, ("tercet.linear_model",), "tercet"),
        peers={
            "glum": Contender(dense_glum, ("glum",), "glum"),
            "scikit-learn newton-cholesky": Contender(dense_newton, SKLEARN, "scikit-learn"),
            "scikit-learn lbfgs": Contender(dense_lbfgs, SKLEARN, "scikit-learn"),
            "scikit-learn-intelex": Contender(
                dense_intelex, ("sklearnex.linear_model",), "scikit-learn-intelex"
            ),
        },
        quality=objective_binary,
        optimum=dense_optimum,
        tolerance=1e-6,
        figure="objective",
    )
)


# --- logistic-sparse ----------------------------------------------------------------------------------------


def zipf(d: int, exponent: float) -> np.ndarray:
    weights = np.arange(1, d + 1) ** -exponent
    return weights / weights.sum()


def make_sparse(
    rng: np.random.Generator, n: int, d: int, classes: int, tokens: int, exponent: float, own: float
) -> Data:
    """Bags of words: a share `own` of the tokens comes from the class's own shuffled Zipf law."""
    y = rng.permutation(np.arange(n) % classes)  # every class is populated
    common = zipf(d, exponent)
    columns = rng.choice(d, size=(n, tokens), p=common)
    for c in range(classes):
        rows = np.flatnonzero(y == c)
        special = rng.permutation(d)[rng.choice(d, size=(rows.size, tokens), p=common)]
        columns[rows] = np.where(rng.random(special.shape) < own, special, columns[rows])
    X = sparse.csr_matrix(
        (np.ones(n * tokens), columns.ravel(), np.arange(0, n * tokens + 1, tokens)), (n, d)
    )
    X.sum_duplicates()
    norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    X.data /= np.repeat(norms, np.diff(X.indptr))
    return {"X": X, "y": y}


def sparse_ours(data: Data) -> Result:
    from tercet.linear_model import LogisticRegression

    model = LogisticRegression(C=1.0, solver="newton-cg", tol=1e-4, n_jobs=2)
    return linear_result(model.fit(data["X"], data["y"]))


def sparse_optimum(data: Data) -> Result:
    model = sklearn_logistic(solver="newton-cg", tol=1e-8, max_iter=1000)
    return linear_result(model.fit(data["X"], data["y"]))


def sparse_lbfgs(data: Data) -> Result:
    model = sklearn_logistic(solver="lbfgs", tol=5e-5, max_iter=1000)
    return linear_result(model.fit(data["X"], data["y"]))


def sparse_newton(data: Data) -> Result:
    model = sklearn_logistic(solver="newton-cg", tol=1e-5, max_iter=1000)
    return linear_result(model.fit(data["X"], data["y"]))


def sparse_saga(data: Data) -> Result:
    model = sklearn_logistic(solver="saga", tol=5e-5, max_iter=1000, random_state=0)
    return linear_result(model.fit(data["X"], data["y"]))


ROWS.append(
    Row(
        name="logistic-sparse",
        work="multinomial logistic regression, L2, C=1, {classes} classes; {n} x {d} CSR, Zipf, unit rows",
        sizes={
            "full": {"n": 5_000, "d": 12_500, "classes": 20, "tokens": 150, "exponent": 1.0, "own": 0.1},
            "smoke": {"n": 300, "d": 200, "classes": 20, "tokens": 20, "exponent": 1.0, "own": 0.3},
        },
        data=make_sparse,
        ours=Contender(sparse_ours, ("tercet.linear_model",), "tercet"),
        peers={
            "scikit-learn lbfgs": Contender(sparse_lbfgs, SKLEARN, "scikit-learn"),
            "scikit-learn newton-cg": Contender(sparse_newton, SKLEARN, "scikit-learn"),
            "scikit-learn saga": Contender(sparse_saga, SKLEARN, "scikit-learn", threads=1),
        },
        quality=objective_softmax,
        optimum=sparse_optimum,
        tolerance=1e-5,
        figure="objective",
    )
)


# --- lasso --------------------------------------------------------------------------------------------------


def make_lasso(rng: np.random.Generator, n: int, d: int, true: int, rho: float, snr: float) -> Data:
    """Columns in Fortran order, which every coordinate descent wants; `snr` is signal to noise deviation."""
    X = autoregressive(rng, n, d, rho, "F")
    support = rng.choice(d, true, replace=False)
    y = X[:, support] @ rng.standard_normal(true)
    y += rng.standard_normal(n) * y.std() / snr
    return {"X": X, "y": y, "alpha": np.abs(X.T @ y).max() / n / 20}


def lasso_gap(data: Data, result: Result) -> float:
    """Duality gap of |y - Xw|^2 / (2n) + alpha |w|_1, relative to its value at w = 0."""
    X, y, alpha, w = data["X"], data["y"], float(data["alpha"]), result["coef"].ravel()
    n = y.size
    residual = y - X @ w
    primal = residual @ residual / (2 * n) + alpha * np.abs(w).sum()
    bound = n * alpha / np.abs(X.T @ residual).max()
    scale = np.clip(y @ residual / (residual @ residual), -bound, bound)  # best feasible multiple
    dual = (y @ y - ((y - scale * residual) ** 2).sum()) / (2 * n)
    return float((primal - dual) / (y @ y / (2 * n)))


def lasso_ours(data: Data) -> Result:
    from tercet.linear_model import Lasso

    return lasso_fit(Lasso(alpha=float(data["alpha"]), fit_intercept=False, tol=5e-7, n_jobs=2), data)


def lasso_fit(model: Any, data: Data) -> Result:
    return {"coef": np.asarray(model.fit(data["X"], data["y"]).coef_)}


def lasso_skglm(data: Data) -> Result:
    from skglm import Lasso

    # skglm stops on the largest subgradient violation, in the units of alpha
    tol = 1e-4 * float(data["alpha"])
    return lasso_fit(Lasso(alpha=float(data["alpha"]), fit_intercept=False, tol=tol), data)


def lasso_celer(data: Data) -> Result:
    from celer import Lasso

    return lasso_fit(Lasso(alpha=float(data["alpha"]), fit_intercept=False, tol=5e-7), data)


def lasso_sklearn(data: Data) -> Result:
    from sklearn.linear_model import Lasso

    return lasso_fit(Lasso(alpha=float(data["alpha"]), fit_intercept=False, tol=5e-7, max_iter=10_000), data)


ROWS.append(
    Row(
        name="lasso",
        work="lasso, no intercept, alpha_max / 20; {n} x {d}, columns correlated by {rho}, {true} true",
        sizes={
            "full": {"n": 4_000, "d": 40_000, "true": 50, "rho": 0.5, "snr": 3.0},
            "smoke": {"n": 100, "d": 300, "true": 10, "rho": 0.5, "snr": 3.0},
        },
        data=make_lasso,
        ours=Contender(lasso_ours, ("tercet.linear_model",), "tercet"),
        peers={
            "skglm": Contender(lasso_skglm, ("skglm",), "skglm", threads=1),
            "celer": Contender(lasso_celer, ("celer",), "celer", threads=1),
            "scikit-learn": Contender(lasso_sklearn, SKLEARN, "scikit-learn", threads=1),
        },
        quality=lasso_gap,
        tolerance=1e-6,
        figure="duality gap / (|y|^2 / 2n)",
        relative=False,
    )
)


# --- perceptron ---------------------------------------------------------------------------------------------


def make_perceptron(rng: np.random.Generator, n: int, d: int, margin: float) -> Data:
    """Unit rows; those nearer to the separating hyperplane than `margin` are pushed out to it."""
    X = rng.standard_normal((n, d))
    X /= np.sqrt(np.einsum("ij,ij->i", X, X))[:, None]
    w = rng.standard_normal(d)
    w /= np.linalg.norm(w)
    score = X @ w
    side = np.where(score < 0, -1.0, 1.0)
    X += np.outer(side * np.maximum(margin - np.abs(score), 0.0), w)
    return {"X": X, "y": side.astype(np.int64)}


def training_errors(data: Data, result: Result) -> float:
    score = data["X"] @ result["coef"].ravel() + float(np.ravel(result["intercept"])[0])
    return float(np.count_nonzero(data["y"] * score <= 0))


def perceptron_ours(data: Data) -> Result:
    from tercet.linear_model import Perceptron

    model = Perceptron(max_iter=1000, tol=None, shuffle=False)
    return linear_result(model.fit(data["X"], data["y"]))


def perceptron_sklearn(data: Data) -> Result:
    from sklearn.linear_model import Perceptron

    model = Perceptron(shuffle=False)
    classes, before = np.array([-1, 1]), None
    for _ in range(1000):
        model.partial_fit(data["X"], data["y"], classes=classes)
        after = np.append(model.coef_, model.intercept_)
        if before is not None and np.array_equal(before, after):  # nothing moved: a clean pass
            break
        before = after
    return linear_result(model)


ROWS.append(
    Row(
        name="perceptron",
        work="perceptron until a pass without mistakes; {n} x {d}, margin {margin}",
        sizes={
            "full": {"n": 2_500_000, "d": 50, "margin": 0.01},
            "smoke": {"n": 3_000, "d": 10, "margin": 0.01},
        },
        data=make_perceptron,
        ours=Contender(perceptron_ours, ("tercet.linear_model",), "tercet", threads=1),
        peers={
            "scikit-learn partial_fit": Contender(perceptron_sklearn, SKLEARN, "scikit-learn", threads=1),
        },
        quality=training_errors,
        tolerance=0.0,
        figure="training errors",
        relative=False,
    )
)
