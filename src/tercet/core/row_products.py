"""Products of rows with weight vectors that do not depend on the batch.

BLAS chooses its loop by the shape of the whole product, so that `X @ W.T` may round a row differently alone and
among others. Predictions go through `row_products`, in which every row has the same arithmetic.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import safe_sparse_dot

from tercet.core.kernel import kernel
from tercet.core.rows import read_only
from tercet.core.validation import is_finite


def row_products(X: Any, W: Any) -> np.ndarray:
    """X W', each row by itself.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        The rows.
    W : array or sparse matrix of shape (n_features,) or (n_outputs, n_features)
        The weights.

    Returns
    -------
    products : array of shape (n_samples,) or (n_samples, n_outputs)

    Examples
    --------
    >>> row_products([[1.0, 2.0], [3.0, 4.0]], np.array([1.0, -1.0]))
    array([-1., -1.])
    """
    if sparse.issparse(X) or sparse.issparse(W):  # a loop over the entries of each row
        return safe_sparse_dot(X, W.T, dense_output=True)
    X, W = np.asarray(X), np.asarray(W)
    dtype = np.result_type(X, W)
    X, W = (read_only(np.ascontiguousarray(each, dtype=dtype)) for each in (X, W))
    products = np.empty((X.shape[0], W.shape[0] if W.ndim == 2 else 1), dtype=dtype)
    multiply_rows(X, W.reshape(-1, X.shape[1]), products)
    return products if W.ndim == 2 else products[:, 0]


def row_scores(X: Any, W: Any, b: Any = 0.0, *, refuse: str = "") -> np.ndarray:
    """X W' + b, also where products are beyond floating-point numbers on the way.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        The rows.
    W : array or sparse matrix of shape (n_features,) or (n_outputs, n_features)
        The weights.
    b : float or array of shape (n_outputs,), default=0.0
        The intercepts.
    refuse : str, default=""
        Where a score is itself beyond floating-point numbers: an error in the name of this estimator. By default
        the scores of the row are divided by a number, so that classes still compare as they should.

    Returns
    -------
    scores : array of shape (n_samples,) or (n_samples, n_outputs)

    Examples
    --------
    >>> row_scores(np.array([[1e308, 1e308]]), np.array([2.0, -2.0]), 1.0)
    array([1.])
    """
    with np.errstate(over="ignore", invalid="ignore"):
        scores = row_products(X, W) + b
    if is_finite(scores) or not (np.isfinite(_entries(W)).all() and np.isfinite(b).all()):
        return scores
    wrong = np.flatnonzero(~np.isfinite(scores).reshape(scores.shape[0], -1).all(axis=1))
    if not wrong.size:  # their sum was too large
        return scores
    rows = X[wrong].toarray() if sparse.issparse(X) else np.asarray(X)[wrong]
    exponent = np.frexp(np.abs(rows).max(axis=1, initial=0.0))[1][:, None]
    scaled = row_products(np.ldexp(rows, -exponent), W).reshape(wrong.size, -1)
    scaled = scaled + np.ldexp(b, -exponent)
    with np.errstate(over="ignore"):
        exact = np.ldexp(scaled, exponent)
    beyond = ~np.isfinite(exact).all(axis=1)
    if refuse and beyond.any():
        raise ValueError(
            f"{refuse}: the result for row {int(wrong[beyond][0])} of X is beyond floating-point numbers. "
            "Scale the features."
        )
    large = np.finfo(scores.dtype).max / 4
    exact[beyond] = scaled[beyond] / np.abs(scaled[beyond]).max(axis=1, keepdims=True) * large
    scores[wrong] = exact.reshape(scores[wrong].shape)
    return scores


def _entries(W: Any) -> np.ndarray:
    return W.data if sparse.issparse(W) else np.asarray(W)


@kernel
def multiply_rows(X: Any, W: Any, products: Any) -> None:
    """products[i, k] = X[i] . W[k], of shapes (n, d), (m, d) and (n, m)."""
    for i in range(X.shape[0]):
        x = X[i]
        for k in range(W.shape[0]):
            w = W[k]
            total = x.dtype.type(0)
            for j in range(x.size):
                total += x[j] * w[j]
            products[i, k] = total
