"""Sums over weights and labels, chunk by chunk: the same bits for arrays in memory and for streamed ones."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tercet.core.parallel import Chunks, each, total
from tercet.core.row_slices import join_rows
from tercet.core.scaling import largest
from tercet.core.streams import StreamedArray, is_streamed


def mass_of(X: Any, weight: Any) -> float:
    """The sum of the weights of the rows of X; their number where there are no weights.

    Examples
    --------
    >>> mass_of(np.zeros((3, 2)), None), mass_of(np.zeros((2, 1)), np.array([0.5, 2.0]))
    (3.0, 2.5)
    """
    return float(X.shape[0]) if weight is None else float(total(_sum, Chunks(weight)))


def count_nonzero(weight: Any) -> int:
    """How many weights are not zero.

    Examples
    --------
    >>> count_nonzero(np.array([0.0, 2.0]))
    1
    """
    return int(total(_nonzero, Chunks(weight)))


def mean_of(y: Any, weight: Any) -> float:
    """The weighted mean of targets.

    Examples
    --------
    >>> mean_of(np.array([1.0, 4.0]), None), mean_of(np.array([1.0, 4.0]), np.array([2.0, 1.0]))
    (2.5, 2.0)
    """
    first, mass = total(_first_moment, Chunks(y, weight))
    return first / mass


def class_masses(y: Any, weight: Any, n_classes: int) -> np.ndarray:
    """The sum of the weights of each class; of rows, where there are no weights.

    Examples
    --------
    >>> class_masses(np.array([0, 1, 1]), None, 3)
    array([1., 2., 0.])
    """
    return total(_class_sums, Chunks(y, weight), n_classes)


def times_class_weight(by_class: np.ndarray, y: Any, weight: Any) -> Any:
    """Sample weights (1 where there are none) times the weights of their classes.

    Examples
    --------
    >>> times_class_weight(np.array([1.0, 2.0]), np.array([0, 1, 1]), None)
    array([1., 2., 2.])
    """
    if not is_streamed(y):
        return by_class[y] if weight is None else by_class[y] * weight
    function = functools.partial(times_class_weight, by_class)
    if weight is None:
        return y.map(functools.partial(function, weight=None), dtype=np.float64)
    return y.map(function, weight, dtype=np.result_type(np.float64, weight.dtype))


def gathered_rows(at: np.ndarray, *arrays: Any) -> tuple[Any, ...]:
    """The rows with these numbers, which rise, of arrays in memory or streamed; None stays None.

    Examples
    --------
    >>> gathered_rows(np.array([0, 2]), np.array([5, 6, 7]), None)
    (array([5, 7]), None)
    """
    if not is_streamed(*arrays):
        return tuple(None if array is None else array[at] for array in arrays)
    row = next(array.stream for array in arrays if is_streamed(array)).array("row")
    found = [part for part in each(_picked, Chunks(arrays[0], *arrays[1:], row), at) if part is not None]
    return tuple(join_rows(parts) for parts in zip(*found))


def largest_of(X: Any) -> float:
    """The largest size of a number in X; of a streamed array in one pass, whose answer is kept."""
    if not isinstance(X, StreamedArray):
        return largest(X)
    kept = X.stream.__dict__.setdefault("largest", {})
    key = X.what or id(X)
    if key not in kept:
        kept[key] = max(each(_largest, Chunks(X)))
    return kept[key]


def _picked(chunk: Any, at: np.ndarray) -> Any:
    *arrays, row = chunk
    low, high = np.searchsorted(at, [row[0], row[-1] + 1])
    if low == high:
        return None
    here = at[low:high] - row[0]
    return tuple(None if array is None else array[here] for array in arrays)


def _largest(chunk: Any) -> float:
    return largest(chunk[0])


def as_columns(y: Any) -> Any:
    """Targets as a matrix, of one column where there is one target."""
    if not isinstance(y, StreamedArray):
        return y.reshape(y.shape[0], -1)
    return y if y.ndim == 2 else y.map(_column, width=1)


def columns_of(y: Any) -> list[Any]:
    """The targets one by one, in memory or streamed.

    Examples
    --------
    >>> [target.tolist() for target in columns_of(np.array([[1, 2], [3, 4]]))]
    [[1, 3], [2, 4]]
    """
    if not isinstance(y, StreamedArray):
        return list(y.reshape(y.shape[0], -1).T)
    return [y] if y.ndim == 1 else [y.map(functools.partial(_one_column, k=k)) for k in range(y.shape[1])]


def _one_column(y: np.ndarray, k: int) -> np.ndarray:
    return y[:, k]


def _column(y: np.ndarray) -> np.ndarray:
    return y.reshape(-1, 1)


def _sum(chunk: Any) -> float:
    return float(chunk[0].sum(dtype=np.float64))


def _nonzero(chunk: Any) -> int:
    return int(np.count_nonzero(chunk[0]))


def _first_moment(chunk: Any) -> tuple[float, float]:
    y, weight = chunk
    if weight is None:
        return float(y.sum(dtype=np.float64)), float(y.size)
    return float((y * weight).sum(dtype=np.float64)), float(weight.sum(dtype=np.float64))


def _class_sums(chunk: Any, n_classes: int) -> np.ndarray:
    y, weight = chunk
    return np.bincount(y, weight, n_classes).astype(np.float64, copy=False)
