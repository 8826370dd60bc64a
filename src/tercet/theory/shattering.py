"""Shattering and VC dimension by enumeration (Pattern Recognition section 5.7.1).

A class shatters h points when it gives each of their 2^h labellings; its VC dimension is the largest such h. By
enumeration a set of points can be shown to be shattered; that no set of h + 1 points is, is shown only for the sets
that are tried.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from scipy.optimize import linprog

from tercet.core.catalog import method

MOST_POINTS = 20
Realizable = Callable[[np.ndarray, np.ndarray], bool]


def _points(points: Any) -> np.ndarray:
    X = np.asarray(points, dtype=float)
    if X.ndim == 1:
        X = X[:, None]
    if X.ndim != 2 or not len(X) or not np.isfinite(X).all():
        raise ValueError(
            f"points must be a finite array of shape (n_points, n_features); got shape {X.shape}."
        )
    if len(X) > MOST_POINTS:
        raise ValueError(f"points: 2^{len(X)} labellings are too many to try; at most {MOST_POINTS} points.")
    return X


def _separable(X: np.ndarray, y: np.ndarray) -> bool:
    """Whether some w, b has y (w.x + b) >= 1 on every point: a linear programme without objective."""
    if (y == y[0]).all():
        return True
    A = -y[:, None] * np.column_stack([X, np.ones(len(X))])
    return linprog(np.zeros(A.shape[1]), A_ub=A, b_ub=-np.ones(len(X)), bounds=(None, None)).status == 0


def dichotomies(points: Any, realizable: Realizable) -> list[tuple[int, ...]]:
    """Labellings of the points, in -1 and 1, that a class of functions gives.

    Parameters
    ----------
    points : array of shape (n_points, n_features)
        At most 20 points.
    realizable : callable
        realizable(points, y): whether some function of the class labels the points as `y`.

    Examples
    --------
    Thresholds on the line, 1 to the right:

    >>> def right(x, y):
    ...     return bool((np.diff(y[np.argsort(x[:, 0])]) >= 0).all())
    >>> dichotomies([0.0, 1.0], right)
    [(-1, -1), (-1, 1), (1, 1)]
    """
    X = _points(points)
    return [y for y in itertools.product((-1, 1), repeat=len(X)) if realizable(X, np.array(y))]


def linear_dichotomies(points: Any) -> list[tuple[int, ...]]:
    """Labellings of the points by a half-space w.x + b > 0.

    Examples
    --------
    >>> len(linear_dichotomies([[0, 0], [1, 0], [0, 1]])), len(linear_dichotomies([[0, 0], [1, 1], [2, 2]]))
    (8, 6)
    """
    return dichotomies(points, _separable)


def shatters(points: Any, realizable: Realizable | None = None) -> bool:
    """Whether a class gives every labelling of the points; half-spaces when no class is given.

    Examples
    --------
    >>> shatters([[0, 0], [1, 0], [0, 1]]), shatters([[0, 0], [1, 0], [0, 1], [1, 1]])
    (True, False)
    """
    X, realizable = _points(points), realizable or _separable
    # A labelling and its complement need not come together: only the class knows.
    return all(realizable(X, np.array(y)) for y in itertools.product((-1, 1), repeat=len(X)))


@method(
    zh="VC 维",
    task="theory",
    model="a class of functions with values −1 and 1",
    strategy="the largest number of points of which some set has all its labellings in the class",
    algorithms="enumeration of labellings",
    texts=["Pattern Recognition ch. 5, 5.7.1"],
)
def vc_dimension(sets: Iterable[Any], realizable: Realizable | None = None) -> int:
    """Largest number of points among given sets that a class shatters: a lower limit of its VC dimension.

    Parameters
    ----------
    sets : iterable of arrays of shape (n_points, n_features)
        Sets of points to try.
    realizable : callable, default=None
        realizable(points, y): whether some function of the class labels the points as `y`; half-spaces when
        None, whose VC dimension in d columns is d + 1.

    Examples
    --------
    >>> triangle, square = [[0, 0], [1, 0], [0, 1]], [[0, 0], [1, 0], [0, 1], [1, 1]]
    >>> vc_dimension([triangle, square, [[0, 0], [3, 0], [0, 3], [1, 1]]])
    3
    """
    largest = 0
    for points in sets:
        size = len(_points(points))
        if size > largest and shatters(points, realizable):
            largest = size
    return largest
