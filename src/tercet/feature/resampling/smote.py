"""SMOTE: new rows between rows of the same class (Chawla, Bowyer, Hall and Kegelmeyer 2002)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.catalog import method
from tercet.core.estimator import generator
from tercet.core.kernel import kernel
from tercet.core.parameters import Count, Jobs, Seed
from tercet.core.validation import check_array
from tercet.feature.resampling.base import Sampler, Strategy, take
from tercet.neighbors import NearestNeighbors


@method(
    zh="SMOTE 合成少数类过采样",
    task="resampling",
    model="x + u (x' − x) with x' a near row of the same class, u uniform in [0, 1)",
    strategy="classes of the sizes wanted; by default all as large as the largest",
    algorithms="a row of the class and one of its k nearest rows, drawn at random",
    texts=["watermelon notes ch. 1"],
    peers=["imblearn.over_sampling.SMOTE"],
)
class SMOTE(Sampler):
    """SMOTE: adds rows on the segments between rows of a class and their near rows of the same class.

    Distances are Euclidean: scale the columns first. Sparse rows stay sparse.

    Parameters
    ----------
    sampling_strategy : str, float, dict or callable, default="auto"
        Classes that gain rows until they are as large as the largest: "minority", "not majority" (which is
        "auto"), "not minority" or "all". A number is the ratio of the smaller to the larger class of two. A dict
        has the rows wanted by class; a function makes it from y.
    random_state : int, optional
        Decides between which rows, and where, new ones are.
    k_neighbors : int, default=5
        Near rows to choose from.
    n_jobs : int, optional
        Threads to use; the result does not depend on it.

    Attributes
    ----------
    sampling_strategy_ : dict
        Rows of each class that gains some.

    Examples
    --------
    >>> X, y = [[0], [1], [2], [3], [4], [6]], [0, 0, 0, 0, 1, 1]
    >>> rows, labels = SMOTE(k_neighbors=1, random_state=0).fit_resample(X, y)
    >>> labels, bool((rows[6:] >= 4).all())
    (array([0, 0, 0, 0, 1, 1, 1, 1]), True)
    """

    def __init__(
        self,
        *,
        sampling_strategy: Strategy = "auto",
        random_state: Seed = None,
        k_neighbors: Count = 5,
        n_jobs: Jobs = None,
    ) -> None:
        self.sampling_strategy = sampling_strategy
        self.random_state = random_state
        self.k_neighbors = k_neighbors
        self.n_jobs = n_jobs

    adds = True

    def _resample(
        self, X: Any, y: Any, index: np.ndarray, classes: np.ndarray, counts: np.ndarray, wanted: np.ndarray
    ) -> tuple[Any, Any]:
        rng = generator(self.random_state)
        table = check_array(X, accept_sparse="csr", dtype=(np.float64, np.float32), input_name="X")
        ends, places, rows = [], [], [np.arange(len(index))]
        for k in np.flatnonzero(wanted > counts):
            if counts[k] <= self.k_neighbors:
                raise self._too_few(classes.tolist()[k], int(counts[k]))
            own, size = np.flatnonzero(index == k), int(wanted[k] - counts[k])
            ends.append(own[self._segments(table[own], size, rng)])
            places.append(rng.random(size))
            rows.append(np.repeat(own[:1], size))  # their label
        made = table
        if ends:
            made = with_rows_between(table, np.concatenate(ends), np.concatenate(places))
        return _like(X, made), take(y, np.concatenate(rows))

    def _segments(self, rows: Any, count: int, rng: np.random.Generator) -> np.ndarray:
        """Pairs of a row and one of its neighbours, drawn at random."""
        search = NearestNeighbors(n_neighbors=self.k_neighbors, n_jobs=self.n_jobs).fit(rows)
        near = search.kneighbors(return_distance=False)
        start = rng.integers(len(near), size=count)
        return np.column_stack([start, near[start, rng.integers(self.k_neighbors, size=count)]])

    def _too_few(self, label: Any, count: int) -> ValueError:
        if count == 1:
            return ValueError(
                f"SMOTE: class {label!r} has one row, and no other to draw a segment to; RandomOverSampler can "
                "repeat it, sampling_strategy leave the class out."
            )
        return ValueError(
            f"SMOTE: k_neighbors={self.k_neighbors!r}, but class {label!r} has {count} rows: at most {count - 1}."
        )


def with_rows_between(table: Any, ends: np.ndarray, places: np.ndarray) -> Any:
    """The rows of a table, and below them those at the `places` in [0, 1) between the pairs of rows `ends`."""
    if sparse.issparse(table):
        start, end = table[ends[:, 0]], table[ends[:, 1]]
        made = start + sparse.diags_array(places) @ (end - start)  # exact where both are equal
        return sparse.vstack([table, made], format="csr", dtype=table.dtype)
    result = np.empty((len(table) + len(ends), table.shape[1]), dtype=table.dtype)
    result[: len(table)], made = table, result[len(table) :]
    with np.errstate(over="ignore", invalid="ignore"):
        finite = fill_between(np.ascontiguousarray(table), ends, places, made)
    if not finite:  # ends further apart than floats go
        a, b = table[ends[:, 0]].astype(np.float64), table[ends[:, 1]].astype(np.float64)
        made[:] = np.where(np.isfinite(made), made, 2 * (a / 2 + places[:, None] * (b / 2 - a / 2)))
    return result


@kernel
def fill_between(table, ends, places, out):
    """Rows a + u (b - a) for pairs of rows a, b, into `out`; returns whether all values are finite."""
    finite = True
    for i in range(len(ends)):
        u, start, end = places[i], table[ends[i, 0]], table[ends[i, 1]]
        for j in range(start.size):
            a = np.float64(start[j])
            value = a + u * (np.float64(end[j]) - a)  # exact where both are equal
            finite = finite and abs(value) < np.inf
            out[i, j] = value
    return finite


def _like(given: Any, table: np.ndarray) -> Any:
    """A table as the kind of frame that was given."""
    if hasattr(given, "iloc"):
        return type(given)(table, columns=given.columns)
    return type(given)(table, schema=list(given.columns)) if hasattr(given, "get_columns") else table
