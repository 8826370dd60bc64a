"""Initial centres of k-means (初始类的选择): k-means++, random rows, or from a hierarchy.

Rows are drawn in an order of their contents, not of their places: shuffled rows give the same centres, and so does
a row of weight 2 in place of two rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from tercet.cluster._engine.nearest_centres import rows_per_chunk, weighted_chunks
from tercet.cluster._engine.nearest_kernels import row_squared_distance
from tercet.cluster.agglomerative_clustering import AgglomerativeClustering
from tercet.core.estimator import check_weight, generator
from tercet.core.kernel import inner, kernel
from tercet.core.parallel import each, total
from tercet.core.row_sums import gathered_rows
from tercet.core.rows import row_dot, rows
from tercet.core.scaling import largest, scale_exponent, times_power
from tercet.core.streams import is_streamed
from tercet.core.validation import check_array

MANY_NUMBERS, SAMPLED_NUMBERS = (
    1 << 24,
    1 << 22,
)  # in X from which on centres are drawn from a sample; in the sample


def kmeans_plusplus(
    X: Any,
    n_clusters: int,
    *,
    sample_weight: Any = None,
    x_squared_norms: Any = None,
    random_state: Any = None,
    n_local_trials: int | None = None,
    n_jobs: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Draw initial centres that are far apart (k-means++).

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        The rows to draw from.
    n_clusters : int
        How many.
    sample_weight : array of shape (n_samples,), optional
        Weights of the rows.
    x_squared_norms : array of shape (n_samples,), optional
        Taken for the sake of callers of scikit-learn's function; only its length is looked at.
    random_state : int, optional
        Decides the draws.
    n_local_trials : int, optional
        Rows drawn for each centre, of which the best is kept; 2 + log(k) by default.
    n_jobs : int, optional
        Threads to use; the result does not depend on it.

    Returns
    -------
    centers : array of shape (n_clusters, n_features)
    indices : array of shape (n_clusters,)
        Which rows they are.

    Examples
    --------
    >>> centers, indices = kmeans_plusplus([[0.0], [1.0], [10.0], [11.0]], 2, random_state=0)
    >>> sorted((indices // 2).tolist())
    [0, 1]
    """
    X = check_array(X, accept_sparse="csr", dtype=(np.float64, np.float32), input_name="X")
    n, k = X.shape[0], int(n_clusters)
    if not 1 <= k <= n:
        raise ValueError(
            f"n_samples={n} should be >= n_clusters={n_clusters!r}, and n_clusters must be at least 1."
        )
    if x_squared_norms is not None and len(x_squared_norms) != n:
        raise ValueError(
            f"The length of x_squared_norms {len(x_squared_norms)} should be equal to the length of n_samples {n}."
        )
    weight = check_weight(sample_weight, X)
    scaled = times_power(X, -scale_exponent(largest(X)))
    chosen = draw_plusplus(scaled, k, weight, generator(random_state), n_local_trials, n_jobs)
    return dense_rows(X, chosen), chosen


def draw_plusplus(
    X: Any, k: int, weight: Any, rng: np.random.Generator, trials: int | None = None, n_jobs: Any = None
) -> np.ndarray:
    """Indices of k rows, each drawn in proportion to its squared distance from those before it."""
    n = X.shape[0]
    trials = 2 + int(np.log(k)) if trials is None else trials
    weight = None if weight is None else weight.astype(np.float64)
    order = content_order(X)
    chosen = np.empty(k, dtype=np.intp)
    closest = np.full(n, np.inf)
    chunks = weighted_chunks(X, weight, closest, rows=rows_per_chunk(X, 8))
    candidates = draw_by_mass(weight, None, rng.random(1), order)
    for c in range(k):
        points = dense_rows(X, candidates).astype(np.float64)
        best = int(np.argmin(total(potentials_chunk, chunks, points, n_jobs=n_jobs)))
        chosen[c] = candidates[best]
        # once more for the best, which is cheaper than to keep the distances of all candidates
        each(closest_chunk, chunks, np.ascontiguousarray(points[best : best + 1]), n_jobs=n_jobs)
        candidates = draw_by_mass(weight, closest, rng.random(trials), order)
    return chosen


def draw_random(X: Any, k: int, weight: Any, rng: np.random.Generator) -> np.ndarray:
    """Indices of k rows drawn without replacement, no two of them equal as long as there are others."""
    n = X.shape[0]
    mass = np.ones(n) if weight is None else weight.astype(np.float64)
    order = content_order(X)
    height = np.cumsum(mass[order])
    chosen: list[int] = []
    seen: set[bytes] = set()
    for u in rng.random(20 * k):  # equal rows are drawn again: all but a few draws bring something new
        i = order[min(np.searchsorted(height, u * height[-1], side="right"), n - 1)]
        row = dense_rows(X, [i]).tobytes()
        if row not in seen:
            seen.add(row)
            chosen.append(int(i))
        if len(chosen) == k:
            return np.array(chosen)
    rest = [i for i in rng.permutation(n) if i not in set(chosen)]
    rest.sort(key=lambda i: (mass[i] == 0, dense_rows(X, [i]).tobytes() in seen))
    return np.array((chosen + rest)[:k])


def rows_to_draw_from(X: Any, weight: Any, k: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """The rows among which first centres are drawn: all, or of very many one of each block, and their weights."""
    n, d = X.shape
    size = X.nnz if sparse.issparse(X) else n * d
    every = n // max(SAMPLED_NUMBERS * n // max(size, 1), 256 * k, 1) if size > MANY_NUMBERS else 1
    if every <= 1:
        return gathered_rows(np.arange(n), X, weight) if is_streamed(X) else (X, weight)
    blocks = np.arange(n // every) * every
    return gathered_rows(blocks + rng.integers(0, every, blocks.size), X, weight)


def content_order(X: Any) -> np.ndarray:
    """An order of the rows by content: by their projections on a fixed random direction."""
    direction = np.random.default_rng(0).normal(size=X.shape[1])
    return np.argsort(project_rows(rows(X), direction, np.empty(X.shape[0])), kind="stable")


@kernel
def project_rows(rows, direction, found):
    """Inner products of all rows with a direction, one by one: equal rows get equal numbers."""
    for i in range(found.size):
        found[i] = row_dot(rows, i, direction)
    return found


def draw_by_mass(
    weight: np.ndarray | None, closest: np.ndarray | None, uniform: np.ndarray, order: np.ndarray
) -> np.ndarray:
    """Rows drawn in proportion to weight times closest (1 where there is none), by numbers from [0, 1).

    Without any mass, all rows are centres already: the last one is drawn.
    """
    none = np.empty(0)
    found = np.empty(uniform.size, dtype=np.int64)
    factors = (none if weight is None else weight, none if closest is None else closest)
    draw_in_order(order, *factors, uniform, found)
    return order[found]


@kernel
def draw_in_order(order, weight, closest, uniform, found):
    """found[t]: the first place where the running sum of the masses exceeds uniform[t] times their sum.

    Two passes in place of an array of running sums: rows may be many.
    """
    whole, last = 0.0, order.size - 1
    for r in range(order.size):
        mass = mass_of(weight, closest, order[r])
        whole += mass
        if mass > 0:
            last = r
    found[:] = last
    run, open_ = 0.0, uniform.size
    for r in range(last):
        run += mass_of(weight, closest, order[r])
        for t in range(uniform.size):
            if found[t] == last and run > uniform[t] * whole:
                found[t] = r
                open_ -= 1
        if open_ == 0:
            break


@inner
def mass_of(weight, closest, i):
    mass = weight[i] if weight.size > 0 else 1.0
    return mass * closest[i] if closest.size > 0 else mass


def potentials_chunk(chunk: tuple, points: np.ndarray) -> np.ndarray:
    """What a chunk adds to the potential Σ_i w_i min_c |x_i - c|² with each candidate added to the centres."""
    X, weight, closest = chunk
    left = np.zeros(len(points))
    squares = np.einsum("ij,ij->i", points, points)
    candidate_potentials(rows(X), weight, points, squares, closest, left)
    return left


def closest_chunk(chunk: tuple, point: np.ndarray) -> None:
    """Add one centre to the squared distances of a chunk's rows to their nearest centre."""
    X, _, closest = chunk
    add_centre(rows(X), point[0], float(point[0] @ point[0]), closest)


@kernel
def candidate_potentials(rows, weight, points, squares, closest, left):
    """left[c]: the sum of squared distances to the nearest centre with candidate c added."""
    for i in range(closest.size):
        for c in range(squares.size):
            left[c] += weight[i] * min(closest[i], row_squared_distance(rows, i, points[c], squares[c]))


@kernel
def add_centre(rows, point, square, closest):
    for i in range(closest.size):
        closest[i] = min(closest[i], row_squared_distance(rows, i, point, square))


def hierarchical_centers(
    X: Any, n_clusters: int, random_state: Any = None, *, linkage: str = "single", metric: str = "euclidean"
) -> np.ndarray:
    """Initial centres from a hierarchy: of each of k clusters the row that is nearest to its centre.

    `KMeans(init="hierarchical")` is this with the texts' single linkage; `init` also takes the function itself
    with other settings.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        The rows.
    n_clusters : int
        How many.
    random_state : ignored
        Nothing is drawn.
    linkage, metric : str, default="single" and "euclidean"
        How to agglomerate.

    Returns
    -------
    array of shape (n_clusters, n_features)

    Examples
    --------
    >>> from functools import partial
    >>> from tercet.cluster import KMeans
    >>> X = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]
    >>> hierarchical_centers(X, 2)
    array([[ 1.],
           [11.]])
    >>> KMeans(2, init=partial(hierarchical_centers, linkage="ward"), n_init=1).fit(X).labels_
    array([0, 0, 0, 1, 1, 1], dtype=int32)
    """
    X = check_array(X, accept_sparse="csr", dtype=(np.float64, np.float32), input_name="X")
    X = X.toarray() if sparse.issparse(X) else X
    tree = AgglomerativeClustering(n_clusters=n_clusters, linkage=linkage, metric=metric)  # type: ignore[arg-type]
    labels = tree.fit(X).labels_
    _, first = np.unique(labels, return_index=True)
    chosen = []
    for c in labels[np.sort(first)]:  # clusters in the order of their first rows
        members = np.flatnonzero(labels == c)
        gaps = ((X[members] - X[members].mean(axis=0)) ** 2).sum(axis=1)
        chosen.append(members[np.argmin(gaps)])
    return X[chosen]


def dense_rows(X: Any, index: Any) -> np.ndarray:
    """Some rows of X as a dense array."""
    if is_streamed(X):
        at, place = np.unique(index, return_inverse=True)
        return gathered_rows(at, X)[0][place]
    some = X[index]
    return some.toarray() if sparse.issparse(some) else some
