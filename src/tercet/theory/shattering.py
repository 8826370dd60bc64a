"""Shattering, growth function and VC dimension by enumeration (Pattern Recognition 5.7.1; watermelon notes 9.4).

A class shatters h points when it gives each of their 2^h labellings; its VC dimension is the largest such h. By
enumeration a set of points can be shown to be shattered; that no set of h + 1 points is, is shown only for the sets
that are tried.

A class of functions is described by what it can do: `realizable(points, y)` says whether some function of the class
labels the points as y, in -1 and 1. Known classes have names; `realizable_by` makes one of a list of functions.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from scipy.optimize import nnls

from tercet.core.catalog import method

MOST_POINTS = 20
MOST_LABELLINGS = 2_000_000
Realizable = Callable[[np.ndarray, np.ndarray], bool]


def by_half_spaces(X: np.ndarray, y: np.ndarray) -> bool:
    """Whether some w, b has y (w.x + b) > 0 on every point.

    By Gordan's theorem there is none exactly if sum a_i y_i (x_i, 1) = 0 for some a >= 0 that sum to 1: the convex
    hulls of the classes meet. Non-negative least squares finds such an a, or the distance from one.
    """
    if (y == y[0]).all():
        return True
    centred = X - X.mean(axis=0)
    spread = np.abs(centred).max(axis=0)
    scaled = centred / np.where(spread > 0, spread, 1.0)
    A = np.vstack([(y[:, None] * scaled).T, y, np.ones(len(X))])
    _, distance = nnls(A, np.append(np.zeros(len(A) - 1), 1.0))
    return bool(distance > 1e-9)


def by_thresholds(X: np.ndarray, y: np.ndarray) -> bool:
    """Whether some t has y = 1 exactly where x > t."""
    x = _one_column(X, "thresholds")
    return not (y == 1).any() or not (y == -1).any() or x[y == -1].max() < x[y == 1].min()


def by_two_sided_thresholds(X: np.ndarray, y: np.ndarray) -> bool:
    """Whether some t has y = 1 exactly where x > t, or exactly where x < t."""
    return by_thresholds(X, y) or by_thresholds(-_one_column(X, "two-sided thresholds")[:, None], y)


def by_rectangles(X: np.ndarray, y: np.ndarray) -> bool:
    """Whether some box with sides along the axes has the points of class 1 inside and the others outside."""
    inside, outside = X[y == 1], X[y == -1]
    if not len(inside):
        return True
    return not ((outside >= inside.min(axis=0)) & (outside <= inside.max(axis=0))).all(axis=1).any()


def by_intervals(X: np.ndarray, y: np.ndarray) -> bool:
    """Whether some interval has the points of class 1 inside and the others outside."""
    return by_rectangles(_one_column(X, "intervals")[:, None], y)


# VC dimension of each in d columns: d + 1, 1, 2, 2, 2 d.
CLASSES: dict[str, Realizable] = {
    "half-spaces": by_half_spaces,
    "thresholds": by_thresholds,
    "two-sided thresholds": by_two_sided_thresholds,
    "intervals": by_intervals,
    "rectangles": by_rectangles,
}


def _one_column(X: np.ndarray, name: str) -> np.ndarray:
    if X.shape[1] != 1:
        raise ValueError(f"realizable={name!r} needs points of one column; got {X.shape[1]}.")
    return X[:, 0]


def realizable_by(hypotheses: Sequence[Callable[[np.ndarray], Any]]) -> Realizable:
    """The class of finitely many functions, for the functions of this page.

    Parameters
    ----------
    hypotheses : sequence of callables
        h(points) gives a label for each point; those above 0 count as class 1.

    Examples
    --------
    >>> two = realizable_by([lambda x: x[:, 0] > 0, lambda x: x[:, 0] > 1])
    >>> dichotomies([0.5, 1.5], two)
    [(-1, 1), (1, 1)]
    """
    if not len(hypotheses):
        raise ValueError("hypotheses must hold at least one function.")
    seen: dict[bytes, set[bytes]] = {}

    def realizable(X: np.ndarray, y: np.ndarray) -> bool:
        labellings = seen.get(X.tobytes())
        if labellings is None:
            labels = [(np.asarray(h(X)) > 0).reshape(-1) for h in hypotheses]
            if any(label.shape != (len(X),) for label in labels):
                raise ValueError("hypotheses must give one label for each point.")
            labellings = {label.tobytes() for label in labels}
            seen.clear()  # the labellings of one set of points are asked for in a row
            seen[X.tobytes()] = labellings
        return (y > 0).tobytes() in labellings

    return realizable


def _class(realizable: Realizable | str) -> Realizable:
    if callable(realizable):
        return realizable
    if realizable not in CLASSES:
        raise ValueError(
            f"realizable must be a function or one of {', '.join(map(repr, CLASSES))}; got {realizable!r}."
        )
    return CLASSES[realizable]


def _points(points: Any, most: int | None = MOST_POINTS) -> np.ndarray:
    X = np.asarray(points, dtype=float)
    if X.ndim == 1:
        X = X[:, None]
    if X.ndim != 2 or not len(X) or not np.isfinite(X).all():
        raise ValueError(
            f"points must be a finite array of shape (n_points, n_features); got shape {X.shape}."
        )
    if most is not None and len(X) > most:
        raise ValueError(f"points: 2^{len(X)} labellings are too many to try; at most {most} points.")
    return X


def _check_work(labellings: int, limit: int) -> None:
    if labellings > limit:
        raise ValueError(
            f"{labellings:,} labellings would have to be tried, more than max_labellings={limit:,}; give fewer"
            " points, or a larger max_labellings."
        )


def dichotomies(points: Any, realizable: Realizable | str) -> list[tuple[int, ...]]:
    """Labellings of the points, in -1 and 1, that a class of functions gives (对分).

    Parameters
    ----------
    points : array of shape (n_points, n_features)
        At most 20 points.
    realizable : callable or str
        realizable(points, y): whether some function of the class labels the points as `y`; or "half-spaces",
        "thresholds", "two-sided thresholds", "intervals" or "rectangles".

    Examples
    --------
    Thresholds on the line, 1 to the right:

    >>> dichotomies([0.0, 1.0], "thresholds")
    [(-1, -1), (-1, 1), (1, 1)]
    """
    X, realizable = _points(points), _class(realizable)
    return [y for y in itertools.product((-1, 1), repeat=len(X)) if realizable(X, np.array(y))]


def linear_dichotomies(points: Any) -> list[tuple[int, ...]]:
    """Labellings of the points by a half-space w.x + b > 0.

    Examples
    --------
    >>> len(linear_dichotomies([[0, 0], [1, 0], [0, 1]])), len(linear_dichotomies([[0, 0], [1, 1], [2, 2]]))
    (8, 6)
    """
    return dichotomies(points, by_half_spaces)


def shatters(points: Any, realizable: Realizable | str = "half-spaces") -> bool:
    """Whether a class gives every labelling of the points (打散).

    Examples
    --------
    >>> shatters([[0, 0], [1, 0], [0, 1]]), shatters([[0, 0], [1, 0], [0, 1], [1, 1]])
    (True, False)
    """
    X, realizable = _points(points), _class(realizable)
    # A labelling and its complement need not come together: only the class knows.
    return all(realizable(X, np.array(y)) for y in itertools.product((-1, 1), repeat=len(X)))


@method(
    zh="增长函数",
    task="theory",
    model="a class of functions with values −1 and 1",
    strategy="Π(m): the largest number of labellings of m points",
    algorithms="enumeration of labellings",
    texts=["watermelon notes ch. 9, eq. 9.17, 9.18"],
)
def growth_function(
    points: Any,
    n_points: int,
    realizable: Realizable | str = "half-spaces",
    *,
    max_labellings: int = MOST_LABELLINGS,
) -> int:
    """Largest number of labellings that a class gives `n_points` of the given points.

    It is a lower limit of the growth function, and the growth function itself when the points are all there are.

    Parameters
    ----------
    points : array of shape (n, n_features)
        The points to choose from.
    n_points : int
        m, how many at a time.
    realizable : callable or str, default="half-spaces"
        The class, as in `dichotomies`.
    max_labellings : int, default=2_000_000
        The most labellings to try: C(n, m) 2^m are needed; the count is checked before the work begins.

    Examples
    --------
    >>> line = [0.0, 1.0, 2.0, 3.0]
    >>> [growth_function(line, m, "intervals") for m in (1, 2, 3, 4)]
    [2, 4, 7, 11]
    """
    X, realizable = _points(points, None), _class(realizable)
    if not 1 <= n_points <= len(X):
        raise ValueError(f"n_points must be between 1 and the {len(X)} points; got {n_points!r}.")
    _check_work(math.comb(len(X), n_points) * 2**n_points, max_labellings)
    return max(
        len(dichotomies(X[list(chosen)], realizable))
        for chosen in itertools.combinations(range(len(X)), n_points)
    )


@method(
    zh="VC 维",
    task="theory",
    model="a class of functions with values −1 and 1",
    strategy="the largest number of points of which some set has all its labellings in the class",
    algorithms="enumeration of labellings",
    texts=["Pattern Recognition ch. 5, 5.7.1", "watermelon notes ch. 9, eq. 9.20"],
)
def vc_dimension(
    sets: Iterable[Any],
    realizable: Realizable | str = "half-spaces",
    *,
    max_labellings: int = MOST_LABELLINGS,
) -> int:
    """Largest number of points among given sets that a class shatters: a lower limit of its VC dimension.

    Parameters
    ----------
    sets : iterable of arrays of shape (n_points, n_features)
        Sets of points to try.
    realizable : callable or str, default="half-spaces"
        The class, as in `dichotomies`; the VC dimension of half-spaces in d columns is d + 1.
    max_labellings : int, default=2_000_000
        The most labellings to try: the sum of 2^h over the sets, of h points each; it is checked before the work
        begins.

    Examples
    --------
    >>> triangle, square = [[0, 0], [1, 0], [0, 1]], [[0, 0], [1, 0], [0, 1], [1, 1]]
    >>> vc_dimension([triangle, square, [[0, 0], [3, 0], [0, 3], [1, 1]]])
    3
    """
    given = [_points(points) for points in sets]
    _check_work(sum(2 ** len(X) for X in given), max_labellings)
    largest = 0
    for X in given:
        if len(X) > largest and shatters(X, realizable):
            largest = len(X)
    return largest


def largest_shattered(
    points: Any,
    realizable: Realizable | str = "half-spaces",
    *,
    max_labellings: int = MOST_LABELLINGS,
) -> tuple[int, ...]:
    """A largest subset of the points that a class shatters; its size is the VC dimension of the class on them.

    Subsets of a shattered set are shattered, so the search ends at the first size of which no set is.

    Parameters
    ----------
    points : array of shape (n, n_features)
        The points to choose from.
    realizable : callable or str, default="half-spaces"
        The class, as in `dichotomies`.
    max_labellings : int, default=2_000_000
        The most labellings to try of one size: C(n, h) 2^h. The count is checked before a size begins.

    Returns
    -------
    tuple of int
        Row numbers; empty when not even one point is shattered.

    Examples
    --------
    Four points on the sides of a diamond are shattered by rectangles; no five are:

    >>> diamond = [[0, 1], [1, 0], [0, -1], [-1, 0], [0, 0]]
    >>> largest_shattered(diamond, "rectangles"), len(largest_shattered(diamond, "half-spaces"))
    ((0, 1, 2, 3), 3)
    """
    X, realizable = _points(points, None), _class(realizable)
    found: tuple[int, ...] = ()
    for size in range(1, len(X) + 1):
        _check_work(math.comb(len(X), size) * 2**size, max_labellings)
        larger = next(
            (s for s in itertools.combinations(range(len(X)), size) if shatters(X[list(s)], realizable)), None
        )
        if larger is None:
            break
        found = larger
    return found
