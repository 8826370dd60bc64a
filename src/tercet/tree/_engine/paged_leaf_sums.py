"""Sums over the rows of leaves whose rows lie in pages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tercet.core.parallel import each

LeafRows = tuple[
    np.ndarray, np.ndarray, np.ndarray
]  # of a page: the leaves of rows, their targets and weights


def paged_class_sums(
    rows_of: Callable[[int], LeafRows], n_pages: int, n: int, n_jobs: int, n_classes: int
) -> np.ndarray:
    """The weight of each class in n leaves."""

    def classes(page: int) -> np.ndarray:
        at, y, weight = rows_of(page)
        return np.bincount(at * n_classes + y.astype(np.int64), weight, n * n_classes).reshape(n, -1)

    return _total(classes, n_pages, n_jobs) if n else np.empty((0, n_classes))


def paged_moments(
    rows_of: Callable[[int], LeafRows], n_pages: int, n: int, n_jobs: int, near: float
) -> np.ndarray:
    """Weight, mean and sum of squared distances from it in n leaves; means are taken from `near`."""
    if not n:
        return np.empty((0, 3))
    means = np.full(n, near)

    def distances(page: int, power: int) -> np.ndarray:
        at, y, weight = rows_of(page)
        return np.array([np.bincount(at, weight, n), np.bincount(at, weight * (y - means[at]) ** power, n)])

    mass, away = _total(distances, n_pages, n_jobs, 1)
    means += away / mass
    return np.column_stack([mass, means, _total(distances, n_pages, n_jobs, 2)[1]])


def _total(function: Callable[..., np.ndarray], n_pages: int, n_jobs: int, *given: Any) -> np.ndarray:
    return np.sum(each(function, range(n_pages), *given, n_jobs=n_jobs), axis=0)


def joined_moments(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Weight, mean and squared distances of two nodes together.

    Examples
    --------
    >>> joined_moments(np.array([1.0, 2.0, 0.0]), np.array([1.0, 4.0, 0.0]))
    array([2., 3., 2.])
    """
    total, apart = left[0] + right[0], right[1] - left[1]
    spread = left[2] + right[2] + apart * apart * left[0] * right[0] / total
    return np.array([total, left[1] + apart * right[0] / total, spread])


__all__ = ["LeafRows", "joined_moments", "paged_class_sums", "paged_moments"]
