"""Several classes by several binary problems (多类支持向量机), and decisions from their scores.

A binary problem separates rows of sign +1 from rows of sign -1. Two classes need one, whose +1 is the second class;
more have one for each pair ("ovo", "dag"; +1 is the first class of the pair, as in scikit-learn), one for each
class against the rest ("ovr"), or one for each column of an error-correcting output code ("ecoc").
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np

from tercet.multiclass import code_matrix
from tercet.svm._dual.problem import DualSolution

MultiClass = Literal["ovo", "ovr", "dag", "ecoc"]


@dataclass
class BinaryProblem:
    """The rows of a two-class problem, and their signs."""

    rows: np.ndarray
    sign: np.ndarray
    code: np.ndarray  # the sign of each class, 0 for those that have no part
    updates: list | None = None  # where to record the steps of SMO
    centre: np.ndarray | None = None  # subtracted from rows far from 0, to avoid cancellation

    @property
    def one_sided(self) -> bool:
        """Whether a sign is missing: where all rows of some classes have weight 0, one or both may be."""
        return bool(abs(self.sign.sum()) == self.sign.size)

    def subset(self, mask: np.ndarray) -> BinaryProblem:
        """The problem of some of its rows."""
        return BinaryProblem(self.rows[mask], self.sign[mask], self.code, centre=self.centre)


def class_codes(how: MultiClass, n_classes: int, code: Any, random_state: Any) -> np.ndarray:
    """The signs of all classes (rows) in all binary problems (columns); 0 where one does not use a class."""
    if n_classes == 2:
        return np.array([[-1.0], [1.0]])
    if how == "ovr":
        return code_matrix("one-vs-rest", n_classes)
    if how == "ecoc":
        return code_matrix(code, n_classes, int(1.5 * n_classes), random_state=random_state)
    return -code_matrix("one-vs-one", n_classes)


def binary_problems(y: np.ndarray, weight: np.ndarray, codes: np.ndarray) -> list[BinaryProblem]:
    """The binary problems of a code; rows of weight 0 are in none."""
    found = []
    for code in codes.T:
        sign = code[y]
        rows = np.flatnonzero((weight > 0) & (sign != 0))
        found.append(BinaryProblem(rows, sign[rows], code))
    return found


def constant_solution(binary: BinaryProblem) -> DualSolution:
    """The solution of a problem with rows of one sign only: f is that sign; 0 where it has no rows."""
    zeros, b = np.zeros(binary.sign.size), float(np.sign(binary.sign.sum()))
    return DualSolution(zeros, zeros, b, (b, b), 0.0, 0.0, 0, True)


def feasible_start(start: np.ndarray, sign: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Multipliers near a start within the bounds and with Σ α y = 0: those of the heavier sign are scaled down."""
    alpha = np.clip(start, 0.0, upper)
    plus, minus = alpha[sign > 0].sum(), alpha[sign < 0].sum()
    if plus > minus:
        alpha[sign > 0] *= minus / plus
    elif minus > plus:
        alpha[sign < 0] *= plus / minus
    return alpha


def is_pairwise(how: MultiClass, n_classes: int) -> bool:
    """Whether there is a binary problem for each pair of more than two classes."""
    return n_classes > 2 and how in ("ovo", "dag")


def pairwise_coef(
    coefs: list[np.ndarray], y: np.ndarray, binary: list[BinaryProblem], n_classes: int
) -> np.ndarray:
    """Coefficients of the pairs in libsvm's layout: an array of shape (n_classes - 1, n_samples).

    A row of class c is in n_classes - 1 problems; its coefficients stand in the order of the other class.
    """
    table = np.zeros((n_classes - 1, y.size))
    for (i, j), coef, problem in zip(combinations(range(n_classes), 2), coefs, binary):
        first = problem.sign > 0
        table[j - 1, problem.rows[first]] = coef[first]
        table[i, problem.rows[~first]] = coef[~first]
    return table


def pairwise_votes(scores: np.ndarray, n_classes: int) -> np.ndarray:
    """How many pairs vote for each class; a score of 0 is a vote for the second."""
    first, second = _pair_members(n_classes)
    won = (scores > 0).astype(np.float64)
    return (won @ first + (1.0 - won) @ second).astype(np.int64)


@functools.cache
def _pair_members(n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """The first and the second class of each pair, as rows of 0 and 1."""
    i, j = np.triu_indices(n_classes, 1)
    unit = np.eye(n_classes)
    return unit[i], unit[j]


def vote_scores(scores: np.ndarray, n_classes: int) -> np.ndarray:
    """Votes of the pairs, with sums of scores scaled into (-1/3, 1/3) to decide ties."""
    count, sums = np.zeros((2, len(scores), n_classes))
    for (i, j), score in zip(combinations(range(n_classes), 2), scores.T):
        count[:, i] += score >= 0
        count[:, j] += score < 0
        sums[:, i] += score
        sums[:, j] -= score
    return count + sums / (3 * (np.abs(sums) + 1))


def dag_classes(scores: np.ndarray, n_classes: int) -> np.ndarray:
    """The class at the end of the decision DAG: the first remaining class against the last, and the loser drops
    out, n_classes - 1 times."""
    number = np.zeros((n_classes, n_classes), dtype=np.int64)
    for k, (i, j) in enumerate(combinations(range(n_classes), 2)):
        number[i, j] = k
    rows = np.arange(len(scores))
    first, last = np.zeros(len(scores), dtype=np.int64), np.full(len(scores), n_classes - 1)
    for _ in range(n_classes - 1):
        wins = scores[rows, number[first, last]] > 0
        first, last = np.where(wins, first, first + 1), np.where(wins, last - 1, last)
    return first
