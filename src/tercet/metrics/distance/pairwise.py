"""Distance matrices: all rows of one table against all rows of another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.catalog import method
from tercet.core.kernel import kernel
from tercet.core.parallel import Chunks, each
from tercet.core.rows import read_only
from tercet.core.scaling import largest, times_power
from tercet.core.spelling_suggestions import spelling_suggestions
from tercet.core.validation import check_array
from tercet.metrics.distance.vectors import centred, check_p, check_weights, mahalanobis_factor, unit

# By name, what p is; None for what is not an L_p distance.
METRICS: dict[str, float | None] = {
    "minkowski": None,
    "euclidean": 2.0,
    "l2": 2.0,
    "sqeuclidean": 2.0,
    "manhattan": 1.0,
    "cityblock": 1.0,
    "l1": 1.0,
    "chebyshev": np.inf,
    "infinity": np.inf,
    "cosine": None,
    "correlation": None,
    "absolute_correlation": None,
    "mahalanobis": None,
}
UNWEIGHTED = ("cosine", "correlation", "absolute_correlation", "mahalanobis")
# Of scikit-learn, which computes them.
OTHER_METRICS = (
    "braycurtis", "canberra", "dice", "hamming", "haversine", "jaccard", "nan_euclidean", "precomputed",
    "rogerstanimoto", "russellrao", "seuclidean", "sokalsneath", "yule",
)  # fmt: skip
BLOCK = 256  # rows of one task


@method(
    zh="距离矩阵",
    task="distance",
    model="D_ij = d(x_i, z_j)",
    texts=["Li ch. 3, 3.2.2", "Li ch. 14, 14.1.1"],
    peers=["scipy.spatial.distance.cdist", "sklearn.metrics.pairwise_distances"],
)
def pairwise_distances(
    X: Any,
    Y: Any = None,
    metric: str | Callable[[np.ndarray, np.ndarray], float] = "euclidean",
    *,
    p: float = 2,
    w: Any = None,
    S: Any = None,
    M: Any = None,
    P: Any = None,
    n_jobs: int | None = None,
    ensure_all_finite: bool | str = True,
    **kwds: Any,
) -> np.ndarray:
    """Distance of every row of X from every row of Y (of X itself, if there is no Y).

    Parameters
    ----------
    X, Y : arrays of shape (n, d) and (m, d)
        The rows; sparse ones are made dense.
    metric : str or callable
        A name of `METRICS`, or a function of two rows. "correlation" is 1 - r, "absolute_correlation" 1 - |r|.
        Other names that scikit-learn has ("canberra", "hamming", "nan_euclidean" ...) and functions of two sparse
        rows are left to it.
    p, w : float, array of length d
        The power and the features' weights of the L_p distances.
    S, M, P : arrays of shape (d, d), (d, d) and (d, r)
        Covariance or metric matrix of "mahalanobis", or P with M = PP'; without them, the covariance of all rows.
    n_jobs : int, optional
        Threads to use; the result does not depend on it.
    ensure_all_finite : bool or "allow-nan", default=True
        Whether all numbers must be finite; other values than True leave the distances to scikit-learn.
    **kwds
        Further parameters of a metric, which leave the distances to scikit-learn, too.

    Examples
    --------
    >>> pairwise_distances([[0, 0], [3, 4]], [[0, 0], [0, 1], [3, 0]], "manhattan")
    array([[0., 1., 3.],
           [7., 6., 4.]])
    """
    other = metric in OTHER_METRICS if isinstance(metric, str) else sparse.issparse(X)
    if other or kwds or ensure_all_finite is not True:
        kwds |= {"n_jobs": n_jobs, "ensure_all_finite": ensure_all_finite}
        return _by_scikit_learn(X, Y, metric, p, w, {"S": S, "M": M, "P": P}, kwds)
    X, alone = _check_rows(X, "X"), Y is None
    Z = X if alone else _check_rows(Y, "Y")
    if X.shape[1] != Z.shape[1]:
        raise ValueError(f"X has {X.shape[1]} features and Y {Z.shape[1]}; they must be the same.")
    if w is not None and (callable(metric) or metric in UNWEIGHTED):
        raise ValueError(f"w is for the L_p distances; {metric!r} takes no weights.")
    if callable(metric):
        return _by_function(X, Z, metric, alone)
    if metric not in METRICS:
        meant = spelling_suggestions(str(metric), list(METRICS), 3)
        hint = f" (near it: {', '.join(meant)})" if meant else ""
        raise ValueError(
            f"metric must be a function of two rows or one of {', '.join(METRICS)}; got {metric!r}{hint}."
        )
    if metric in ("cosine", "correlation", "absolute_correlation"):
        if metric != "cosine":
            X, Z = centred(X), centred(Z)
        similarity = np.clip(np.dot(unit(X), unit(Z).T), -1, 1)
        D = 1 - (np.abs(similarity) if metric == "absolute_correlation" else similarity)
        if alone:
            np.fill_diagonal(D, np.where(X.any(axis=1), 0.0, D.diagonal()))
        return D
    if metric == "mahalanobis":
        if S is None and M is None and P is None:
            S = _covariance(X if alone else np.vstack([X, Z]))
        L = mahalanobis_factor(X.shape[1], S, M, P)
        X, Z, metric = np.dot(X, L), np.dot(Z, L), "euclidean"
    power = METRICS[metric] or check_p(p)
    weight = np.ones(X.shape[1]) if w is None else check_weights(w, X.shape[1])
    dtype = np.result_type(X, Z)
    X, Z = (np.ascontiguousarray(A, dtype=dtype) for A in (X, Z))
    exponent = _exponent(X, Z, power) if metric != "sqeuclidean" else 0
    X, Z = (read_only(times_power(A, -exponent)) for A in (X, Z))
    D = np.empty((len(X), len(Z)), dtype=dtype)
    weight = weight.astype(dtype)
    each(_block, Chunks(X, D, rows=BLOCK), Z, power, weight, metric != "sqeuclidean", n_jobs=n_jobs)
    return times_power(D, exponent)


def _by_scikit_learn(
    X: Any, Y: Any, metric: Any, p: float, w: Any, matrices: dict[str, Any], options: dict[str, Any]
) -> np.ndarray:
    from sklearn.metrics.pairwise import pairwise_distances

    if refused := [name for name, value in matrices.items() if value is not None]:
        raise ValueError(
            f"{' and '.join(refused)} cannot be given where scikit-learn computes the distances."
        )
    options |= ({"p": p} if metric == "minkowski" else {}) | ({} if w is None else {"w": w})
    return np.asarray(pairwise_distances(X, Y, metric, **options))


def _covariance(rows: np.ndarray) -> np.ndarray:
    """The covariance of rows, which must not be singular."""
    d = rows.shape[1]
    S = np.atleast_2d(np.cov(rows, rowvar=False)) if len(rows) > 1 else np.zeros((d, d))
    if np.linalg.matrix_rank(S) < d:
        raise ValueError(
            f"the covariance of {len(rows)} rows of {d} features is singular: "
            "give mahalanobis an S or M of its own."
        )
    return S


def _exponent(X: np.ndarray, Z: np.ndarray, p: float) -> int:
    """The exponent e such that p-th powers of rows can be summed when they are divided by 2^e; 0 as a rule."""
    most = max(largest(X), largest(Z))
    if most == 0:
        return 0
    size, room = np.log2(most), np.finfo(X.dtype).maxexp
    far = size > 0.9 * room if p == 1 or np.isinf(p) else abs(p * size) > 0.45 * room
    return int(np.frexp(most)[1]) if far else 0


def _block(chunk: tuple, Z: np.ndarray, p: float, weight: np.ndarray, root: bool) -> None:
    """The distances of a block of rows, written in place."""
    X, D = chunk
    sums_of_powers(X, Z, p, weight, D)
    if root and p == 2:
        np.sqrt(D, out=D)
    elif root and p != 1 and not np.isinf(p):
        np.power(D, 1 / p, out=D)


def _by_function(X: np.ndarray, Z: np.ndarray, metric: Callable, alone: bool) -> np.ndarray:
    D = np.zeros((len(X), len(Z)))
    for i, x in enumerate(X):
        for j in range(i if alone else 0, len(Z)):
            D[i, j] = metric(x, Z[j])
    return np.maximum(D, D.T) if alone else D


def _check_rows(X: Any, name: str) -> np.ndarray:
    X = X.toarray() if sparse.issparse(X) else X
    return check_array(X, dtype=(np.float64, np.float32), input_name=name)


@kernel
def sums_of_powers(X, Z, p, weight, out):
    """out[i, j] = Σ_l w_l |x_il - z_jl|^p; the largest gap when p is infinite."""
    d = X.shape[1]
    for i in range(X.shape[0]):
        x = X[i]
        for j in range(Z.shape[0]):
            z = Z[j]
            total = x[0] * 0
            if p == 2.0:
                for k in range(d):
                    total += weight[k] * (x[k] - z[k]) * (x[k] - z[k])
            elif p == 1.0:
                for k in range(d):
                    total += weight[k] * abs(x[k] - z[k])
            elif np.isinf(p):
                for k in range(d):
                    gap = abs(x[k] - z[k])
                    if weight[k] > 0 and gap > total:
                        total = gap
            else:
                for k in range(d):
                    total += weight[k] * abs(x[k] - z[k]) ** p
            out[i, j] = total
