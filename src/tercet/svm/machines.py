"""Several classes by several machines (多类支持向量机): which rows each one gets, and how their answers combine.

A machine tells rows of sign +1 from rows of sign -1. Two classes need one, whose +1 is the second class; more
have one for each pair ("ovo", "dag"; +1 is the first class of the pair, as in scikit-learn), one for each class
against the rest ("ovr"), or one for each letter of a code ("ecoc").
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np

from tercet.multiclass import code_matrix

MultiClass = Literal["ovo", "ovr", "dag", "ecoc"]


@dataclass
class Machine:
    """The rows of a two-class problem, and their signs."""

    rows: np.ndarray
    sign: np.ndarray
    letter: np.ndarray  # the signs of the classes, 0 for those that have no part
    steps: list | None = None  # where to keep the steps of an algorithm that shows them
    origin: np.ndarray | None = None  # where rows are seen from that are far from 0 (see `kernels.centring`)

    @property
    def one_sided(self) -> bool:
        """Whether there are not both signs: where no row of some classes counts, there may be one, or none."""
        return bool(abs(self.sign.sum()) == self.sign.size)

    def part(self, here: np.ndarray) -> Machine:
        """The machine of some of the rows, by a mask."""
        return Machine(self.rows[here], self.sign[here], self.letter, origin=self.origin)


def code_of(how: MultiClass, n_classes: int, code: Any, random_state: Any) -> np.ndarray:
    """The signs of all classes (rows) in all machines (columns); 0 where a machine does not use a class."""
    if n_classes == 2:
        return np.array([[-1.0], [1.0]])
    if how == "ovr":
        return code_matrix("one-vs-rest", n_classes)
    if how == "ecoc":
        return code_matrix(code, n_classes, int(1.5 * n_classes), random_state=random_state)
    return -code_matrix("one-vs-one", n_classes)


def machines_of(y: np.ndarray, weight: np.ndarray | None, code: np.ndarray) -> list[Machine]:
    """The machines of a code; rows of weight 0 are in none."""
    counts = np.ones(y.size, dtype=bool) if weight is None else weight > 0
    found = []
    for letter in code.T:
        sign = letter[y]
        rows = np.flatnonzero(counts & (sign != 0))
        found.append(Machine(rows, sign[rows], letter))
    return found


def by_pairs(how: MultiClass, n_classes: int) -> bool:
    """Whether there is a machine for each pair of more than two classes."""
    return n_classes > 2 and how in ("ovo", "dag")


def pair_layout(
    coefs: list[np.ndarray], y: np.ndarray, machines: list[Machine], n_classes: int
) -> np.ndarray:
    """Coefficients of the machines of pairs as libsvm keeps them: an array of shape (n_classes - 1, n_samples).

    A row of class c is in n_classes - 1 machines; its coefficients stand in the order of the other class.
    """
    table = np.zeros((n_classes - 1, y.size))
    for (i, j), coef, machine in zip(combinations(range(n_classes), 2), coefs, machines):
        first = machine.sign > 0
        table[j - 1, machine.rows[first]] = coef[first]
        table[i, machine.rows[~first]] = coef[~first]
    return table


def votes(scores: np.ndarray, n_classes: int) -> np.ndarray:
    """How many machines of pairs are for each class; a score of 0 is a vote for the second."""
    count = np.zeros((len(scores), n_classes), dtype=np.int64)
    for (i, j), score in zip(combinations(range(n_classes), 2), scores.T):
        count[:, i] += score > 0
        count[:, j] += score <= 0
    return count


def vote_scores(scores: np.ndarray, n_classes: int) -> np.ndarray:
    """Votes of the pairs, with sums of scores squeezed into (-1/3, 1/3) to decide ties."""
    count, sums = np.zeros((2, len(scores), n_classes))
    for (i, j), score in zip(combinations(range(n_classes), 2), scores.T):
        count[:, i] += score >= 0
        count[:, j] += score < 0
        sums[:, i] += score
        sums[:, j] -= score
    return count + sums / (3 * (np.abs(sums) + 1))


def walk(scores: np.ndarray, n_classes: int) -> np.ndarray:
    """The class at the end of a walk through the graph of pairs: the first of those left against the last, and
    the loser drops out, n_classes - 1 times."""
    number = np.zeros((n_classes, n_classes), dtype=np.int64)
    for k, (i, j) in enumerate(combinations(range(n_classes), 2)):
        number[i, j] = k
    rows = np.arange(len(scores))
    first, last = np.zeros(len(scores), dtype=np.int64), np.full(len(scores), n_classes - 1)
    for _ in range(n_classes - 1):
        wins = scores[rows, number[first, last]] > 0
        first, last = np.where(wins, first, first + 1), np.where(wins, last - 1, last)
    return first
