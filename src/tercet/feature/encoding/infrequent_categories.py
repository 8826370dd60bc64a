"""Infrequent categories, which are grouped into one."""

from __future__ import annotations

import numbers
from typing import Annotated

import numpy as np

from tercet.core.parameters import Count, OpenFraction, Range

MinFrequency = Count | OpenFraction | None
MaxCategories = Annotated[int, Range(1, np.inf, "[)")] | None


def infrequent_codes(
    counts: np.ndarray, n_samples: float, min_frequency: float | None, max_categories: int | None
) -> np.ndarray | None:
    """The codes of the categories that are grouped; None where there are none.

    Those with fewer than `min_frequency` rows (or that part of all rows), and of the others the rarest, so that
    at most `max_categories` are left with the group.

    Examples
    --------
    >>> infrequent_codes(np.array([5, 20, 10, 3]), 38, None, 3)
    array([0, 3])
    """
    rare = np.zeros(counts.size, dtype=bool)
    if min_frequency is not None:
        whole = isinstance(min_frequency, numbers.Integral)
        rare = counts < (min_frequency if whole else min_frequency * n_samples)
    if max_categories is not None and max_categories < counts.size - rare.sum() + 1:
        kept = max_categories - 1
        order = np.argsort(counts, kind="stable")
        rare[order[: counts.size - kept]] = True
    found = np.flatnonzero(rare)
    return found if found.size else None


def grouped_codes(n_categories: int, infrequent: np.ndarray | None) -> np.ndarray:
    """The new code of each category: the frequent ones in their order, then the group.

    Examples
    --------
    >>> grouped_codes(4, np.array([0, 3]))
    array([2, 0, 1, 2])
    """
    if infrequent is None:
        return np.arange(n_categories)
    codes = np.full(n_categories, n_categories - infrequent.size)
    frequent = np.setdiff1d(np.arange(n_categories), infrequent)
    codes[frequent] = np.arange(frequent.size)
    return codes
