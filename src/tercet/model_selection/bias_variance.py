"""Bias, variance and noise, by training on bootstrap samples again and again (偏差-方差分解)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_consistent_length

from tercet.core.catalog import method
from tercet.core.estimator import generator
from tercet.core.meta import rows_at
from tercet.core.parallel import one_blas_thread


class BiasVariance(NamedTuple):
    """Terms of the expected error: error = bias + variance + noise (the bias is squared already)."""

    error: float
    bias: float
    variance: float
    noise: float


@method(
    zh="偏差-方差分解",
    task="theory",
    model="E(f; D) = bias²(x) + var(x) + ε²",
    algorithms="training on bootstrap samples",
    texts=["002 ch. 6, 6.2"],
    peers=["mlxtend.evaluate.bias_variance_decomp"],
)
def bias_variance(
    estimator: Any,
    X: Any,
    y: Any,
    X_test: Any,
    y_test: Any,
    *,
    n_repeats: int = 100,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> BiasVariance:
    """Estimate of bias², variance and noise of an estimator, from fits on bootstrap samples.

    With the mean prediction h̄(x) over the fits and the mean target ȳ(x) of equal test rows, the mean squared error
    is the sum of bias² = (ȳ - h̄)², variance = (h - h̄)² and noise = (y - ȳ)². A classifier's predictions and
    labels are indicators of the classes, and the terms are halved, so that the error is the error rate (Kohavi and
    Wolpert, 1996). Where no two test rows are equal the noise cannot be told from the bias, and is 0.

    Parameters
    ----------
    estimator : estimator
        A classifier or a regressor; clones of it are fitted.
    X, y : array of shape (n_samples, n_features), array of shape (n_samples,)
        The rows that the bootstrap samples are drawn from.
    X_test, y_test : array of shape (n_test, n_features), array of shape (n_test,)
        The rows that are predicted.
    n_repeats : int, default=100
        Number of bootstrap samples.
    random_state : int, Generator or None, default=None
        Decides the samples.
    n_jobs : int, optional
        Threads to use; the result does not depend on it.

    Returns
    -------
    BiasVariance
        `error`, `bias`, `variance` and `noise`.

    Examples
    --------
    >>> import numpy as np
    >>> from tercet.linear_model import LinearRegression
    >>> x = np.linspace(-1, 1, 40)
    >>> found = bias_variance(LinearRegression(), x[:, None], x**2, x[:, None], x**2, random_state=0)
    >>> found.bias > 10 * found.variance
    True
    """
    if not isinstance(n_repeats, int | np.integer) or n_repeats < 1:
        raise ValueError(f"n_repeats must be an integer of at least 1; got {n_repeats!r}.")
    y, y_test = np.asarray(y), np.asarray(y_test)
    check_consistent_length(X, y)
    check_consistent_length(X_test, y_test)
    rng, n = generator(random_state), len(y)
    samples = [rng.integers(n, size=n) for _ in range(n_repeats)]
    with one_blas_thread():
        predictions = np.stack(
            Parallel(n_jobs=n_jobs, prefer="threads")(
                delayed(_predict_after)(clone(estimator), X, y, sample, X_test) for sample in samples
            )
        )
    if not is_classifier(estimator):
        return _terms(predictions[..., None].astype(float), y_test[:, None].astype(float), X_test)
    labels = np.unique(np.concatenate([predictions.ravel(), y_test]))
    terms = _terms((predictions[..., None] == labels) * 1.0, (y_test[:, None] == labels) * 1.0, X_test)
    return BiasVariance(*(term / 2 for term in terms))


def _terms(h: np.ndarray, y: np.ndarray, X: Any) -> BiasVariance:
    """Squared terms of predictions h of shape (n_repeats, n_test, k) and targets of shape (n_test, k)."""
    mean = h.mean(axis=0)
    groups = _equal_rows(X)
    sizes = np.bincount(groups)
    expected = (
        np.stack([np.bincount(groups, column) for column in y.T], axis=1)[groups] / sizes[groups][:, None]
    )
    return BiasVariance(
        error=float(((h - y) ** 2).sum(axis=2).mean()),
        bias=float(((expected - mean) ** 2).sum(axis=1).mean()),
        variance=float(((h - mean) ** 2).sum(axis=2).mean()),
        noise=float(((y - expected) ** 2).sum(axis=1).mean()),
    )


def _equal_rows(X: Any) -> np.ndarray:
    """Number of the group of equal rows that each row is in."""
    table = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    table = table.astype(str) if table.dtype == object else table  # categories, which have no order
    return np.unique(table, axis=0, return_inverse=True)[1].reshape(-1)


def _predict_after(estimator: Any, X: Any, y: np.ndarray, sample: np.ndarray, X_test: Any) -> np.ndarray:
    with one_blas_thread():
        return np.asarray(estimator.fit(rows_at(X, sample), y[sample]).predict(X_test))
