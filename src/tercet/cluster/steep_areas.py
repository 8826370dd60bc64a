"""Clusters between steep areas of a reachability plot (the xi method of OPTICS).

Ankerst, Breunig, Kriegel and Sander, OPTICS: ordering points to identify the clustering structure (1999),
section 4.3, and Schubert and Gertz, Improving the cluster structure extracted from OPTICS plots (2018), for
predecessors.
"""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass
class SteepFall:
    """An area in which the reachability falls steeply, and the largest reachability after it so far."""

    first: int
    last: int
    after: float = 0.0


def xi_clusters(
    reachability: np.ndarray,
    predecessor: np.ndarray,
    ordering: np.ndarray,
    xi: float,
    min_samples: int,
    min_cluster_size: int,
    predecessor_correction: bool,
) -> np.ndarray:
    """First and last places of the clusters: each begins in a steep fall and ends in a steep rise.

    `reachability` and `predecessor` are in the order of the plot. Clusters inside others come before them.
    """
    n = len(reachability)
    plot = np.append(reachability, np.inf)  # so that a cluster may end at the last place
    keep = 1 - xi
    place = np.empty(n, dtype=np.int64)
    place[ordering] = np.arange(n)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = plot[:-1] / plot[1:]
        rises, falls = ratio <= keep, ratio >= np.divide(1.0, keep)
    found: list[tuple[int, int]] = []
    open_falls: list[SteepFall] = []
    position, highest = 0, 0.0  # the next place to look at, and the largest reachability since the last area
    for steep in np.flatnonzero(rises | falls).tolist():
        if steep < position:  # inside an area that has been dealt with
            continue
        highest = max(highest, plot[position : steep + 1].max())
        open_falls = still_open(open_falls, highest, plot, keep)
        if falls[steep]:
            last = end_of_area(falls, ratio < 1, steep, min_samples)
            open_falls.append(SteepFall(steep, last))
        else:
            last = end_of_area(rises, ratio > 1, steep, min_samples)
            pairs = [cluster_between(fall, steep, last, plot, keep) for fall in open_falls]
            inside = []
            for fall, pair in zip(open_falls, pairs):
                if pair is not None and predecessor_correction:
                    pair = reached_from_inside(*pair, plot, predecessor, place)
                if pair is None:
                    continue
                begin, end = pair
                if end - begin + 1 >= min_cluster_size and begin <= fall.last and end >= steep:
                    inside.append(pair)
            found += inside[::-1]
        position = last + 1
        highest = plot[position]
    return np.array(found, dtype=np.intp).reshape(-1, 2)


def end_of_area(steep: np.ndarray, against: np.ndarray, start: int, patience: int) -> int:
    """The last steep place of an area: between two of them are at most `patience` others, and none that goes
    the other way."""
    last, flat = start, 0
    for index in range(start, len(steep)):
        if steep[index]:
            last, flat = index, 0
        elif against[index]:
            break
        else:
            flat += 1
            if flat > patience:
                break
    return last


def still_open(falls: list[SteepFall], highest: float, plot: np.ndarray, keep: float) -> list[SteepFall]:
    """The falls that begin high enough above what has come after them."""
    if np.isinf(highest):
        return []
    left = [fall for fall in falls if highest <= plot[fall.first] * keep]
    for fall in left:
        fall.after = max(fall.after, highest)
    return left


def cluster_between(
    fall: SteepFall, rise: int, last: int, plot: np.ndarray, keep: float
) -> tuple[int, int] | None:
    """The places between a fall and a rise, cut off on the higher side where they are as high as the lower one."""
    begin, end = fall.first, last
    if plot[end + 1] * keep < fall.after:
        return None
    top = plot[fall.first]
    if top * keep >= plot[end + 1]:
        while plot[begin + 1] > plot[end + 1] and begin < fall.last:
            begin += 1
    elif plot[end + 1] * keep >= top:
        while plot[end - 1] > top and end > rise:
            end -= 1
    return begin, end


def reached_from_inside(
    begin: int, end: int, plot: np.ndarray, predecessor: np.ndarray, place: np.ndarray
) -> tuple[int, int] | None:
    """A cluster without its last places, as long as those were reached from outside of it; None if none is left."""
    while begin < end:
        if plot[begin] > plot[end] or (predecessor[end] >= 0 and begin <= place[predecessor[end]] < end):
            return begin, end
        end -= 1
    return None


def xi_labels(ordering: np.ndarray, clusters: np.ndarray) -> np.ndarray:
    """The innermost cluster of each row; -1 for none.

    Examples
    --------
    >>> xi_labels(np.array([2, 0, 1]), np.array([[0, 1], [0, 2]]))
    array([ 0, -1,  0])
    """
    by_place, count = np.full(len(ordering), -1, dtype=np.intp), 0
    for begin, end in clusters:
        if (by_place[begin : end + 1] == -1).all():
            by_place[begin : end + 1] = count
            count += 1
    labels = np.empty_like(by_place)
    labels[ordering] = by_place
    return labels


def absolute_size(size: Any, n: int, name: str) -> int:
    """A number of rows, given as such or as a fraction of all n; 0 for None.

    Examples
    --------
    >>> absolute_size(0.25, 12, "min_samples"), absolute_size(5, 12, "min_samples")
    (3, 5)
    """
    if size is None:
        return 0
    whole = isinstance(size, numbers.Integral) and not isinstance(size, bool | np.bool_)
    if not (size >= 2 if whole else isinstance(size, float | np.floating) and 0 <= size <= 1):
        raise ValueError(
            f"OPTICS: parameter {name!r} must be an integer of at least 2, or a fraction in [0.0, 1.0]; got "
            f"{size!r}."
        )
    if size > n:
        raise ValueError(f"OPTICS: {name} must be no greater than the number of samples ({n}). Got {size}")
    return int(size) if size > 1 else max(2, int(size * n))
