"""Measures of embeddings: how well neighbourhoods and distances are kept."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.catalog import method
from tercet.core.kernel import kernel
from tercet.core.parallel import all_cores, total
from tercet.core.validation import check_array
from tercet.metrics.clustering.distance_blocks import BLOCK, ClusteredRows, check_square


@method(
    zh="可信度（嵌入）",
    task="evaluation",
    model="1 - 2 / (nk(2n - 3k - 1)) Σ_i Σ_{j in U_i} (r(i, j) - k): points that are neighbours and should not be",
    texts=["watermelon notes ch. 8, Fig 10.8"],
    peers=["sklearn.manifold.trustworthiness"],
)
def trustworthiness(X: Any, X_embedded: Any, *, n_neighbors: int = 5, metric: Any = "euclidean") -> float:
    """How far the neighbours of embedded points can be trusted: 1 when all are neighbours of the rows, too.

    T(k) = 1 - 2 / (nk (2n - 3k - 1)) Σ_i Σ_j max(0, r(i, j) - k) over the k nearest points j of each point i, where
    row j is the r(i, j)-th nearest of row i.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features), or (n_samples, n_samples) with "precomputed"
        The rows, or their distances.
    X_embedded : array of shape (n_samples, n_components)
        The points.
    n_neighbors : int, default=5
        How many neighbours, less than half of n_samples.
    metric : str or callable, default="euclidean"
        The distance of rows; points have the Euclidean one.

    Returns
    -------
    float

    Examples
    --------
    >>> trustworthiness([[0, 0], [1, 0], [2, 0], [3, 0], [4, 1]], [[0], [1], [2], [3], [4]], n_neighbors=2)
    1.0
    """
    return _kept(X, X_embedded, n_neighbors, metric, of_rows=False)


@method(
    zh="连续性（嵌入）",
    task="evaluation",
    model="1 - 2 / (nk(2n - 3k - 1)) Σ_i Σ_{j in V_i} (s(i, j) - k): rows that are neighbours and were torn apart",
    texts=["watermelon notes ch. 8, Fig 10.8"],
)
def continuity(X: Any, X_embedded: Any, *, n_neighbors: int = 5, metric: Any = "euclidean") -> float:
    """How well the neighbours of rows stay neighbours: 1 when no neighbourhood was torn apart.

    As `trustworthiness` with rows and points exchanged: over the k nearest rows j of each row i, where point j is
    the s(i, j)-th nearest of point i.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features), or (n_samples, n_samples) with "precomputed"
        The rows, or their distances.
    X_embedded : array of shape (n_samples, n_components)
        The points.
    n_neighbors : int, default=5
        How many neighbours, less than half of n_samples.
    metric : str or callable, default="euclidean"
        The distance of rows; points have the Euclidean one.

    Returns
    -------
    float

    Examples
    --------
    >>> continuity([[0], [1], [2], [3], [4]], [[0], [1], [2], [3], [-9]], n_neighbors=1).__round__(6)
    0.8
    """
    return _kept(X, X_embedded, n_neighbors, metric, of_rows=True)


@method(
    zh="残差方差（嵌入）",
    task="evaluation",
    model="1 - R²(D, |z_i - z_j|)",
    texts=["watermelon notes ch. 8, Fig 10.8"],
)
def residual_variance(D: Any, X_embedded: Any) -> float:
    """The part of the variance of distances that those of the points do not explain, 1 - R².

    Parameters
    ----------
    D : array of shape (n_samples, n_samples)
        Distances, such as the geodesic ones of `Isomap.dist_matrix_`.
    X_embedded : array of shape (n_samples, n_components)
        The points.

    Returns
    -------
    float
        0 where the distances of the points are a linear function of D; 1 where they tell nothing.

    Examples
    --------
    >>> round(residual_variance([[0, 1, 2], [1, 0, 1], [2, 1, 0]], [[0.0], [3.0], [6.0]]), 9)
    0.0
    """
    D = check_array(D, dtype=np.float64, input_name="D")
    check_square(D)
    points = _points(X_embedded, len(D))
    top = float(D.max(initial=0.0)) or 1.0
    scale = max(float(points.distances(i, i + 1).max()) for i in (0, len(D) - 1)) or 1.0

    def moments(rows: slice) -> np.ndarray:
        a, b = D[rows] / top, points.distances(rows.start, rows.stop) / scale
        return np.array([a.sum(), b.sum(), (a * a).sum(), (b * b).sum(), (a * b).sum()])

    sums = total(moments, _spans(len(D)), n_jobs=all_cores(None))
    pairs = len(D) * (len(D) - 1)
    if pairs == 0:
        raise ValueError("residual_variance: there must be two rows at least; got n_samples = 1.")
    means = sums / pairs
    a, b = means[2] - means[0] ** 2, means[3] - means[1] ** 2
    if min(a, b) <= 1e-15 * max(means[2], means[3], 1e-300):
        return 1.0 if max(a, b) > 0 else 0.0
    return float(np.clip(1.0 - (means[4] - means[0] * means[1]) ** 2 / (a * b), 0.0, 1.0))


def _kept(X: Any, Z: Any, k: Any, metric: Any, *, of_rows: bool) -> float:
    """1 less the share of ranks beyond k of the neighbours of one side on the other."""
    name = "continuity" if of_rows else "trustworthiness"
    if not isinstance(k, int | np.integer) or isinstance(k, bool) or k < 1:
        raise ValueError(f"{name}: n_neighbors must be a whole number of at least 1; got {k!r}.")
    X = check_array(X, accept_sparse="csr", dtype=(np.float64, np.float32), input_name="X")
    n = X.shape[0]
    if k >= n / 2:
        raise ValueError(f"n_neighbors ({k}) should be less than n_samples / 2 ({n / 2})")
    sides = [ClusteredRows(X, np.zeros(n, dtype=np.int64), metric), _points(Z, n)]
    near, far = sides if of_rows else sides[::-1]

    def penalty(rows: slice) -> int:
        return excess_ranks(
            near.distances(rows.start, rows.stop), far.distances(rows.start, rows.stop), rows.start, k
        )

    lost = total(penalty, _spans(n), n_jobs=all_cores(None))
    return 1.0 - float(lost) * (2.0 / (n * k * (2.0 * n - 3.0 * k - 1.0)))


def _points(Z: Any, n: int) -> ClusteredRows:
    Z = check_array(Z, dtype=(np.float64, np.float32), input_name="X_embedded")
    if Z.shape[0] != n:
        raise ValueError(f"X_embedded has {Z.shape[0]} points; expected is one for each of {n} rows.")
    return ClusteredRows(Z, np.zeros(n, dtype=np.int64))


def _spans(n: int) -> list[slice]:
    size = max(1, BLOCK // n)
    return [slice(k, min(k + size, n)) for k in range(0, n, size)]


@kernel
def excess_ranks(near: Any, far: Any, first: Any, k: Any) -> Any:
    """Σ max(0, rank - k) over the k nearest of each row by `near`, ranked by `far`, both (m, n).

    Row r is the row first + r of all, and no neighbour of its own. Of equal distances, the first row is nearer.
    """
    n = near.shape[1]
    best, which = np.empty(k), np.empty(k, np.int64)
    lost = 0
    for r in range(near.shape[0]):
        row, other = near[r], far[r]
        found = 0
        for j in range(n):
            if j == first + r or (found == k and row[j] >= best[k - 1]):
                continue
            at = found if found < k else k - 1
            while at > 0 and best[at - 1] > row[j]:
                if at < k:
                    best[at], which[at] = best[at - 1], which[at - 1]
                at -= 1
            best[at], which[at] = row[j], j
            found = min(found + 1, k)
        for a in range(k):
            j = which[a]
            rank = 1
            for i in range(n):
                if i != first + r and (other[i] < other[j] or (other[i] == other[j] and i < j)):
                    rank += 1
            lost += max(0, rank - k)
    return lost
