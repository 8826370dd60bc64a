"""Splits of cross-validation: random, stratified, by groups, or forward in time."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

Split = tuple[np.ndarray, np.ndarray]
MOST_UNITS = 10_000  # that the bootstrap draws: of more rows several are drawn together


@dataclass(frozen=True)
class Splitter:
    """How rows are split into training and test rows, the same way in every process.

    Parameters
    ----------
    cv, seed : int
        Folds, and the seed of everything.
    stratified : bool
        Whether folds have the classes in equal shares.
    groups : int array or None
        Rows of one group are never on both sides of a split.
    times : array or None
        Test rows come after their training rows (forward chaining); rows of one moment stay together.
    """

    cv: int
    seed: int
    stratified: bool = False
    groups: np.ndarray | None = None
    times: np.ndarray | None = None

    def split(self, y: np.ndarray | None, n: int, repeat: int) -> list[Split]:
        """The splits of one repeat."""
        if self.times is not None:
            return forward_chaining(self.times, self.cv)
        # Repeats of different seeds are independent.
        state = int(np.random.SeedSequence([self.seed, repeat]).generate_state(1)[0])
        return _shuffled(self.cv, state, y if self.stratified else None, n, self.groups)

    def within(self, rows: np.ndarray, y: np.ndarray | None, cv: int) -> list[Split]:
        """Splits of training rows alone, in the same manner, for choices that must not see the test rows."""
        part = None if y is None or not self.stratified else y[rows]
        if self.times is not None:
            times = self.times[rows]
            inner = forward_chaining(times, max(1, min(cv, np.unique(times).size - 1)))
        else:
            groups = None if self.groups is None else self.groups[rows]
            if groups is not None:
                cv = max(2, min(cv, np.unique(groups).size))
            inner = _shuffled(cv, self.seed, part, rows.size, groups)
        return [(rows[train], rows[test]) for train, test in inner]

    def units(self, n: int) -> np.ndarray:
        """What the bootstrap draws, as an index for each row: rows, groups, or stretches of time."""
        if self.groups is not None:
            unit = np.unique(self.groups, return_inverse=True)[1]
        elif self.times is not None:
            order = np.argsort(self.times, kind="stable")
            unit = np.empty(n, dtype=int)
            unit[order] = np.arange(n) // max(1, round(n ** (1 / 3)))
        else:
            unit = np.arange(n)
        count = int(unit.max()) + 1
        if count <= MOST_UNITS:
            return unit
        if self.times is not None:
            return unit * MOST_UNITS // count
        return (np.random.default_rng(self.seed).permutation(count) % MOST_UNITS)[unit]


def _shuffled(cv: int, state: int, y: np.ndarray | None, n: int, groups: np.ndarray | None) -> list[Split]:
    from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold

    kinds: dict[tuple[bool, bool], Any] = {
        (False, False): KFold,
        (True, False): StratifiedKFold,
        (False, True): GroupKFold,
        (True, True): StratifiedGroupKFold,
    }
    grouped = groups is not None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a class with fewer rows than folds: said once, elsewhere
        for kind in (kinds[y is not None, grouped], kinds[False, grouped]):
            splits = list(kind(cv, shuffle=True, random_state=state).split(np.zeros(n), y, groups))
            if all(test.size for _, test in splits):  # large groups may leave no rows to a stratified fold
                break
    return splits


def forward_chaining(times: np.ndarray, cv: int) -> list[Split]:
    """Cut the rows into cv + 1 stretches of time; each but the first is predicted from all before it.

    Examples
    --------
    >>> splits = forward_chaining(np.array([3, 1, 1, 2, 5, 4]), 2)
    >>> [(train.tolist(), test.tolist()) for train, test in splits]
    [([1, 2], [3, 0]), ([1, 2, 3, 0], [5, 4])]
    """
    order = np.argsort(times, kind="stable")
    ordered = times[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])  # of moments
    if starts.size <= cv:
        raise ValueError(
            f"{cv} folds forward in time need at least {cv + 1} different times; got {starts.size}."
        )
    # The start of a moment that is nearest to an equal share, with at least one moment to each stretch.
    cuts: list[int] = []
    for k in range(1, cv + 1):
        least = cuts[-1] + 1 if cuts else 1
        most = starts.size - (cv - k) - 1
        nearest = int(np.argmin(np.abs(starts - k * order.size / (cv + 1))))
        cuts.append(min(max(nearest, least), most))
    ends = [*(int(starts[c]) for c in cuts), order.size]
    return [(order[:a], order[a:b]) for a, b in pairwise(ends)]
