"""The sums over one chunk of rows (X, targets, weights) that make up the objective of logistic regression.

"Slopes" are the derivatives of each row's loss in its scores, of shape (n,) or (n, n_planes).
"""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy import sparse

from tercet.core.functions import sigmoid, softmax
from tercet.core.kernel import kernel
from tercet.core.rows import transposed_times
from tercet.core.sparse_products import times
from tercet.core.streams import is_streamed
from tercet.linear_model._logistic.row_loss import loss_and_slope
from tercet.losses import Multinomial
from tercet.losses.margin import logistic_value_and_slope

MULTINOMIAL = Multinomial()
BLOCK = 1 << 19  # numbers in a block of rows of the Hessian: they stay in the cache


def with_gradient(item, statistic, *parameters):
    """A statistic whose first result, the slopes R, is replaced by the gradient X'R in float64."""
    R, *sums = statistic(item, *parameters)
    X = item[0] if statistic is hessian_times_at else item[0][0]
    return transposed_times(X, R).astype(np.float64, copy=False), *sums


def without_curvature(chunk):
    """A chunk as the statistics of values take it."""
    return chunk, None


def signs(y, dtype):
    """1 for the second class and -1 for the first, in memory or streamed."""
    if is_streamed(y):
        return y.map(partial(signs, dtype=dtype), dtype=dtype)
    return np.where(y > 0, 1, -1).astype(dtype)


def scores(X, W, b):
    """XW + b."""
    if sparse.issparse(X) and W.ndim == 2:
        return times(X, W) + b
    return X @ W + b


def loss_and_slopes(item, form, W, b):
    """Slopes, their sum, the sum of the losses, and the number of rows whose class has probability 1/2 or less."""
    (X, y, weight), _ = item
    losses, slopes = losses_and_slopes(form, y, scores(X, W, b))
    if weight is not None:
        slopes *= weight if slopes.ndim == 1 else weight[:, None]
        uncertain = np.count_nonzero((losses >= np.log(2)) & (weight > 0))
        losses *= weight
    else:
        uncertain = np.count_nonzero(losses >= np.log(2))
    return slopes, slopes.sum(axis=0, dtype=np.float64), losses.sum(dtype=np.float64), uncertain


def losses_and_slopes(form, y, z):
    """The losses of rows with scores z, and their derivatives in z."""
    if form == "binary":
        losses, slopes = logistic_value_and_slope(y * z)
        return losses, slopes * y
    if form == "squared":
        p = sigmoid(z)
        error = p - (y > 0)
        return error * error, 2 * error * p * (1 - p)
    if form == "softmax":
        return MULTINOMIAL.value_and_gradient(y, z)
    losses, slopes = MULTINOMIAL.value_and_gradient(y, append_zero_score(z))
    return losses, slopes[:, :-1]


def append_zero_score(z):
    """The scores of all classes, that of the last being 0."""
    return np.hstack([z, np.zeros((len(z), 1), z.dtype)])


def curvature(chunk, form, W, b):
    """Second derivatives in the scores: their values p(1 - p), or the probabilities p of diag(p) - pp'."""
    X, y, weight = chunk
    z = scores(X, W, b)
    if form == "softmax":
        return softmax(z)
    if form == "reference":
        return softmax(append_zero_score(z))[:, :-1]
    p = sigmoid(z)
    second = p * (1 - p)
    if form == "squared":
        second *= 2 * second + 2 * (p - (y > 0)) * (1 - 2 * p)
    return second if weight is None else second * weight


def hessian_times(item, form, V, c):
    """The slopes of a Hessian-vector product: the curvature times the scores XV + c, and their sum."""
    (X, _, weight), second = item
    u = scores(X, V, c)
    u *= second
    if u.ndim == 2:
        u -= second * u.sum(axis=1, keepdims=True)
        if weight is not None:
            u *= weight[:, None]
    return u, u.sum(axis=0, dtype=np.float64)


def hessian_times_at(chunk, form, V, c, W, b):
    """`hessian_times` of a chunk whose curvature, at the weights W and b, was not kept."""
    return hessian_times((chunk, curvature(chunk, form, W, b)), form, V, c)


def hessian(chunk, form, W, b, intercept, dtype, centre):
    """Hessian of the losses in (W, b) on rows centred on `centre`, a (densified) block of rows at a time."""
    X, _, weight = chunk
    second = curvature(chunk, form, W, b)
    if second.ndim == 1 and sparse.issparse(X) and X.nnz < 0.05 * np.prod(X.shape):
        return _sparse_hessian(X, second, intercept, centre)
    size = (X.shape[1] + intercept) * (1 if second.ndim == 1 else second.shape[1])
    rows = max(64, BLOCK // size)
    H = np.zeros((size, size))
    for first in range(0, X.shape[0], rows):
        here = slice(first, first + rows)
        A = _augmented(X[here], intercept, dtype, centre)
        if second.ndim == 1:
            H += _binary_hessian(A, second[here], form)
        else:
            H += _softmax_hessian(
                A, second[here].astype(dtype, copy=False), None if weight is None else weight[here]
            )
    return H


def _sparse_hessian(X, second, intercept, centre):
    d = X.shape[1]
    H = np.empty((d + intercept, d + intercept))
    scaled = sparse.diags_array(second.astype(np.float64)) @ X
    H[:d, :d] = (X.T @ scaled).toarray()
    if intercept:
        H[d, :d] = H[:d, d] = np.asarray(scaled.sum(axis=0)).ravel()
        H[d, d] = second.sum(dtype=np.float64)
        if centre.any():
            H[:d] -= np.outer(centre, H[d])
            H[:, :d] -= np.outer(H[:, d], centre)
    return H


def _binary_hessian(A, second, form):
    if form == "squared":  # the curvature may be negative
        return A.T @ (A * second[:, None])
    A *= np.sqrt(second, dtype=A.dtype)[:, None]
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


@kernel
def small_value_and_gradient(X, y, weight, theta, gradient, n_classes, intercept):
    """The sum of the losses and its gradient for few dense rows, and how many are not more likely right than wrong.

    θ and the gradient are tables with a row for each feature, the intercept's last. `weight` may be empty.
    """
    n, d = X.shape
    K = theta.shape[1]
    z, slopes = np.zeros(1 if n_classes == 2 else n_classes), np.empty(K)
    loss, uncertain, half = 0.0, 0, np.log(2.0) * (1 - 1e-12)
    gradient[:] = 0.0
    for i in range(n):
        s = weight[i] if weight.size else 1.0
        if s == 0:
            continue
        for k in range(K):
            z[k] = theta[d, k] if intercept else 0.0
        for j in range(d):
            for k in range(K):
                z[k] += X[i, j] * theta[j, k]
        value = loss_and_slope(z, y[i], K, slopes)
        loss += s * value
        if value >= half:
            uncertain += 1
        for k in range(K):
            slopes[k] *= s
        for j in range(d):
            for k in range(K):
                gradient[j, k] += X[i, j] * slopes[k]
        if intercept:
            for k in range(K):
                gradient[d, k] += slopes[k]
    return loss, uncertain
