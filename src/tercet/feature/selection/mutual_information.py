"""Mutual information of columns and a target, numbers and categories alike (互信息).

Between categories it is that of their table. With numbers it is estimated by distances to the k-th nearest row:
Kraskov, Stögbauer and Grassberger (2004) for two numbers,

    I = psi(n) + psi(k) - mean psi(n_x + 1) - mean psi(n_y + 1),

where n_x and n_y count the rows nearer in one coordinate than the k-th nearest in both; Ross (2014) for a number
and classes,

    I = psi(n) + mean psi(k) - mean psi(rows of the class) - mean psi(m),

where m counts the rows of any class as near as the k-th nearest of the row's own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import digamma
from sklearn.utils import check_random_state

from tercet.core.catalog import method
from tercet.core.parallel import each
from tercet.core.validation import check_array, check_X_y
from tercet.feature.selection._engine.neighbor_radius import (
    counts_around,
    cut_into_strips,
    radius_in_plane,
    radius_on_line,
)
from tercet.metrics import mutual_info_score

BLOCK = 4096  # rows of a search between two looks at Ctrl-C


@method(
    zh="互信息特征评分（分类）",
    task="feature selection",
    model="a score for each column: I(column; class)",
    strategy="mutual information; by nearest neighbours where the column holds numbers",
    texts=["Machine Learning in Depth ch. 3", "watermelon notes ch. 10"],
    peers=["sklearn.feature_selection.mutual_info_classif"],
)
def mutual_info_classif(
    X: Any,
    y: Any,
    *,
    discrete_features: Any = "auto",
    n_neighbors: int = 3,
    copy: bool = True,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Mutual information of each column and the classes, in nats.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        The rows.
    y : array of shape (n_samples,)
        Classes.
    discrete_features : "auto", bool, array of indices or mask, default="auto"
        Columns whose values are categories; "auto": all of a sparse matrix, none of an array.
    n_neighbors : int, default=3
        k of the estimates for numbers.
    copy : bool, default=True
        There for scikit-learn's callers: X is never changed.
    random_state : int, RandomState or None, default=None
        Decides the noise, 1e-10 of the scale, that parts equal numbers.
    n_jobs : int, optional
        Threads to use; the result does not depend on it.

    Returns
    -------
    array of shape (n_features,)

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 2))
    >>> mutual_info_classif(X, X[:, 1] > 0, random_state=0).round(1)
    array([0. , 0.7])
    """
    return _information(X, y, discrete_features, True, n_neighbors, random_state, n_jobs)


@method(
    zh="互信息特征评分（回归）",
    task="feature selection",
    model="a score for each column: I(column; target)",
    strategy="mutual information by nearest neighbours",
    texts=["Machine Learning in Depth ch. 3", "watermelon notes ch. 10"],
    peers=["sklearn.feature_selection.mutual_info_regression"],
)
def mutual_info_regression(
    X: Any,
    y: Any,
    *,
    discrete_features: Any = "auto",
    n_neighbors: int = 3,
    copy: bool = True,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Mutual information of each column and numbers as targets, in nats.

    Parameters and result are those of :func:`mutual_info_classif`, with numbers y.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 2))
    >>> found = mutual_info_regression(X, X[:, 1] ** 2, random_state=0)
    >>> found[0] < 0.1 < 1 < found[1]
    np.True_
    """
    return _information(X, y, discrete_features, False, n_neighbors, random_state, n_jobs)


def _information(
    X: Any, y: Any, discrete_features: Any, classes: bool, k: int, random_state: Any, n_jobs: int | None
) -> np.ndarray:
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise ValueError(f"n_neighbors must be an integer of at least 1; got {k!r}.")
    X, y = check_X_y(X, y, accept_sparse="csc", y_numeric=not classes)
    n, d = X.shape
    discrete = _discrete_mask(discrete_features, X, d)
    if sparse.issparse(X) and not discrete.all():
        raise ValueError("discrete_features must be true for all columns of a sparse matrix.")
    if not discrete.all():
        X = X.astype(np.float64)  # a copy
    rng = check_random_state(random_state)
    if not discrete.all():
        numbers = X[:, ~discrete]
        numbers = numbers / _scales(numbers)
        size = np.maximum(1, np.abs(numbers).mean(axis=0))
        X[:, ~discrete] = numbers + 1e-10 * size * rng.standard_normal(numbers.shape)
    if classes:
        y = np.unique(y, return_inverse=True)[1]
    else:
        y = np.asarray(y, dtype=np.float64)
        y = y / _scales(y[:, None])[0]
        y = y + 1e-10 * max(1, float(np.abs(y).mean())) * rng.standard_normal(n)
    columns = [
        (X[:, [j]].toarray().ravel() if sparse.issparse(X) else X[:, j], bool(discrete[j])) for j in range(d)
    ]
    by_y = None if classes else np.argsort(y)
    return np.array(each(_of_column, columns, y, by_y, classes, k, n_jobs=n_jobs))


def _scales(columns: np.ndarray) -> np.ndarray:
    scale = columns.std(axis=0)
    return np.where(scale > 10 * np.finfo(float).eps * np.abs(columns).max(axis=0, initial=0.0), scale, 1.0)


def _discrete_mask(given: Any, X: Any, d: int) -> np.ndarray:
    if isinstance(given, str):
        if given != "auto":
            raise ValueError(f"discrete_features must be 'auto', a bool, indices or a mask; got {given!r}.")
        given = sparse.issparse(X)
    if isinstance(given, bool | np.bool_):
        return np.full(d, bool(given))
    columns = check_array(given, ensure_2d=False)
    mask = np.zeros(d, dtype=bool)
    mask[columns] = True
    return mask


def _of_column(
    column: tuple[np.ndarray, bool], y: np.ndarray, by_y: np.ndarray | None, classes: bool, k: int
) -> float:
    values, discrete = column
    if discrete and classes:
        return mutual_info_score(values, y)
    if discrete or classes:
        return number_and_classes(*((y, values) if discrete else (values, y)), k)
    return two_numbers(values, y, k, by_y)


def two_numbers(x: np.ndarray, y: np.ndarray, k: int, by_y: np.ndarray | None = None) -> float:
    """Kraskov's estimate for two numbers; not below 0. `by_y` has the rows sorted by y, where that is known.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.multivariate_normal([0, 0], [[1, 0.9], [0.9, 1]], size=2000).T
    >>> abs(two_numbers(x, y, 3) + np.log(1 - 0.9**2) / 2) < 0.05
    np.True_
    """
    n = len(x)
    if k >= n:
        raise ValueError(f"n_neighbors={k} must be less than the {n} rows.")
    by_x, by_y = np.argsort(x), np.argsort(y) if by_y is None else by_y
    height = max(
        int(np.sqrt(n * k)), 1
    )  # strips about as wide as the square that holds k of independent rows
    strip_x, strip_y, row, radius = np.empty(n), np.empty(n), np.empty(n, dtype=np.int64), np.empty(n)
    x, y = np.ascontiguousarray(x), np.ascontiguousarray(y)
    cut_into_strips(x, y, by_x, by_y, height, strip_x, strip_y, row)
    starts = np.arange(0, n, height)
    edges = x[by_x[np.column_stack([starts, np.minimum(starts + height, n) - 1])]]
    for start in range(0, n, BLOCK):
        radius_in_plane(strip_x, strip_y, row, edges, height, k, start, min(start + BLOCK, n), radius)
    radius = np.nextafter(radius, 0)
    n_x, n_y = _counts(x, by_x, radius), _counts(y, by_y, radius)  # the row itself counts, too
    found = digamma(n) + digamma(k) - _mean_digamma(n_x) - _mean_digamma(n_y)
    return max(0.0, float(found))


def number_and_classes(x: np.ndarray, kind: np.ndarray, k: int) -> float:
    """Ross' estimate for a number and classes; not below 0. Classes of a single row are left out.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> kind = rng.integers(2, size=1000)
    >>> round(number_and_classes(kind + 0.01 * rng.normal(size=1000), kind, 3), 2)  # log 2
    0.69
    """
    _, kind, size = np.unique(kind, return_inverse=True, return_counts=True)
    several = size[kind] > 1
    x, kind = np.ascontiguousarray(x[several]), kind[several]
    if not len(x):
        return 0.0
    radius, neighbours, order = np.empty(len(x)), np.minimum(k, size - 1), np.argsort(x)
    for c in np.unique(kind):
        rows = order[kind[order] == c]
        found = np.empty(len(rows))
        radius_on_line(x[rows], int(neighbours[c]), found)
        radius[rows] = np.nextafter(found, 0)
    m = _mean_digamma(_counts(x, order, radius))
    terms = digamma(len(x)) + digamma(neighbours[kind]).mean() - digamma(size[kind]).mean() - m
    return max(0.0, float(terms))


def _counts(values: np.ndarray, order: np.ndarray, radius: np.ndarray) -> np.ndarray:
    counts = np.empty(len(values), dtype=np.int64)
    counts_around(values, order, radius, counts)
    return counts


def _mean_digamma(counts: np.ndarray) -> float:
    """Mean of digamma over whole numbers from 1, each different one once."""
    times = np.bincount(counts)
    return float(times[1:] @ digamma(np.arange(1, len(times))) / len(counts))
