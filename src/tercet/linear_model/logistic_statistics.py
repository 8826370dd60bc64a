"""Statistics of a chunk of rows (X, targets, weights) that logistic regression adds up."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from tercet.core.functions import sigmoid, softmax
from tercet.core.rows import transposed_times
from tercet.core.sparse_products import times
from tercet.losses import Logistic, Multinomial

LOGISTIC, MULTINOMIAL = Logistic(), Multinomial()
BLOCK = 1 << 19  # numbers in the block of rows that a Hessian takes at a time


def summed(item, statistic, *parameters):
    """A statistic with its slopes R turned into the gradient X'R."""
    (X, *_), _ = item
    R, *sums = statistic(item, *parameters)
    return back(X, R), *sums


def back(X, R):
    """X'R in float64."""
    return transposed_times(X, R).astype(np.float64, copy=False)


def scores(X, W, b):
    if sparse.issparse(X) and W.ndim == 2:
        return times(X, W) + b
    return X @ W + b


def evaluate(item, form, W, b):
    """Slopes of the losses, their sum, the sum of the losses, how many rows have probability 1/2 or less."""
    (X, y, weight), _ = item
    losses, slopes = losses_of(form, y, scores(X, W, b))
    if weight is not None:
        slopes *= weight if slopes.ndim == 1 else weight[:, None]
        doubtful = np.count_nonzero((losses >= np.log(2)) & (weight > 0))
        losses *= weight
    else:
        doubtful = np.count_nonzero(losses >= np.log(2))
    return slopes, slopes.sum(axis=0, dtype=np.float64), losses.sum(dtype=np.float64), doubtful


def losses_of(form, y, z):
    if form == "binary":
        return LOGISTIC.value_and_gradient(y, z)
    if form == "squared":
        p = sigmoid(z)
        error = p - (y > 0)
        return error * error, 2 * error * p * (1 - p)
    if form == "softmax":
        return MULTINOMIAL.value_and_gradient(y, z)
    losses, slopes = MULTINOMIAL.value_and_gradient(y, with_zero(z))
    return losses, slopes[:, :-1]


def with_zero(z):
    """The scores of all classes, the last one's being 0."""
    return np.hstack([z, np.zeros((len(z), 1), z.dtype)])


def bend_of(chunk, form, W, b):
    """What the second derivative in the scores is made of: its value, or class probabilities."""
    X, y, weight = chunk
    z = scores(X, W, b)
    if form == "softmax":
        return softmax(z)
    if form == "reference":
        return softmax(with_zero(z))[:, :-1]
    p = sigmoid(z)
    bend = p * (1 - p)
    if form == "squared":
        bend *= 2 * bend + 2 * (p - (y > 0)) * (1 - 2 * p)
    return bend if weight is None else bend * weight


def bent(item, form, V, c):
    """Slopes of the losses' second-order model along a direction, and their sum."""
    (X, _, weight), bend = item
    u = scores(X, V, c)
    u *= bend
    if u.ndim == 2:
        u -= bend * u.sum(axis=1, keepdims=True)
        if weight is not None:
            u *= weight[:, None]
    return u, u.sum(axis=0, dtype=np.float64)


def hessian(chunk, form, W, b, intercept, dtype, centre):
    """Second derivatives of the losses, a block of rows at a time: a block of a sparse matrix is made dense.

    They are those of data from which `centre` has been taken away.
    """
    X, _, weight = chunk
    bend = bend_of(chunk, form, W, b)
    if bend.ndim == 1 and sparse.issparse(X) and X.nnz < 0.05 * np.prod(X.shape):
        return _sparse_hessian(X, bend, intercept, centre)
    size = (X.shape[1] + intercept) * (1 if bend.ndim == 1 else bend.shape[1])
    rows = max(64, BLOCK // size)
    H = np.zeros((size, size))
    for first in range(0, X.shape[0], rows):
        here = slice(first, first + rows)
        A = _augmented(X[here], intercept, dtype, centre)
        if bend.ndim == 1:
            H += _binary_hessian(A, bend[here], form)
        else:
            H += _softmax_hessian(
                A, bend[here].astype(dtype, copy=False), None if weight is None else weight[here]
            )
    return H


def _sparse_hessian(X, bend, intercept, centre):
    d = X.shape[1]
    H = np.empty((d + intercept, d + intercept))
    scaled = sparse.diags_array(bend.astype(np.float64)) @ X
    H[:d, :d] = (X.T @ scaled).toarray()
    if intercept:
        H[d, :d] = H[:d, d] = np.asarray(scaled.sum(axis=0)).ravel()
        H[d, d] = bend.sum(dtype=np.float64)
        if centre.any():
            H[:d] -= np.outer(centre, H[d])
            H[:, :d] -= np.outer(H[:, d], centre)
    return H


def _binary_hessian(A, bend, form):
    if form == "squared":  # the curvature may be negative
        return A.T @ (A * bend[:, None])
    A *= np.sqrt(bend, dtype=A.dtype)[:, None]
    return A.T @ A


def _augmented(X, intercept, dtype, centre):
    A = np.empty((X.shape[0], X.shape[1] + intercept), dtype)
    np.subtract(X.toarray() if sparse.issparse(X) else X, centre, out=A[:, : X.shape[1]], casting="same_kind")
    if intercept:
        A[:, -1] = 1
    return A


def _softmax_hessian(A, P, weight):
    """sum_i s_i (diag(p) - pp') ⊗ xx', the weights of one feature side by side."""
    if weight is not None:
        A *= np.sqrt(weight, dtype=A.dtype)[:, None]
    (m, d), K = A.shape, P.shape[1]
    spread = (A[:, :, None] * P[:, None, :]).reshape(m, d * K)
    H = -(spread.T @ spread).astype(np.float64).reshape(d, K, d, K)
    for k in range(K):
        B = A * np.sqrt(P[:, k : k + 1])
        H[:, k, :, k] += B.T @ B
    return H.reshape(d * K, d * K)
