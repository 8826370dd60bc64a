"""State of the search for labels: signs, costs and multipliers, each solution of the dual begun at the last one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tercet.kernels import Kernel
from tercet.svm import DualProblem, DualSolution, solve_dual

MOST_OPEN = 30  # rows without a label in an exhaustive search


@dataclass
class Separator:
    """A separator for given labels: f = Σ coef_j K(x_j, x) + b, its slacks and its objective."""

    coef: np.ndarray
    b: float
    sign: np.ndarray
    slack: np.ndarray
    objective: float
    converged: bool
    n_switches: int = 0
    C_unlabeled: float = 0.0


class LabelSearch:
    """Labels of the rows without one, and the dual of the SVM that they give.

    Parameters
    ----------
    kernel, points : of a `DualProblem`
    sign : array of shape (n,)
        +1 and -1, and 0 for rows without a label.
    weight : array of shape (n,)
        Of the rows.
    options : dict
        Of `solve_dual`.
    """

    def __init__(
        self, kernel: Kernel, points: Any, sign: np.ndarray, weight: np.ndarray, options: dict[str, Any]
    ) -> None:
        self.kernel, self.points, self.weight, self.options = kernel, points, weight, options
        self.sign = sign.copy()
        self.known, self.unlabeled = np.flatnonzero(sign != 0), np.flatnonzero(sign == 0)
        self.alpha = np.zeros(sign.size)
        self.upper = np.zeros(sign.size)
        self.n_switches, self.C_unlabeled = 0, 0.0

    def label_by_known(self, C: float) -> None:
        """Labels by the separator of the labelled rows alone."""
        rows, open_rows = self.known, self.unlabeled
        if not open_rows.size:
            return
        found = self._solve(rows, self.sign[rows], C * self.weight[rows], np.zeros(rows.size))
        self.alpha[rows], self.upper[rows] = found.alpha, C * self.weight[rows]
        f = (
            self.kernel.times(self.points[open_rows], self.points[rows], self.sign[rows] * found.alpha)
            + found.b
        )
        self.sign[open_rows] = np.where(f > 0, 1.0, -1.0)

    def set_costs(self, C: float, C_unlabeled: float, *, balance: bool) -> None:
        """The costs of slacks, and multipliers to begin with: those at their bounds stay there."""
        self.C_unlabeled = C_unlabeled
        cost = np.full(self.sign.size, float(C))
        cost[self.unlabeled] = C_unlabeled
        positive = self.sign[self.unlabeled] > 0
        if balance and 0 < positive.sum() < positive.size:
            cost[self.unlabeled[positive]] *= (positive.size - positive.sum()) / positive.sum()
        upper = cost * self.weight
        bounded = (self.alpha >= self.upper) & (self.alpha > 0)
        self.alpha = np.where(bounded, upper, np.minimum(self.alpha, upper))
        self.upper = upper
        self._make_feasible()

    def _make_feasible(self) -> None:
        """Take off what the multipliers of one sign have more than those of the other, from as few as possible."""
        excess = float(self.sign @ self.alpha)
        heavy = np.flatnonzero((self.sign == np.sign(excess)) & (self.alpha > 0))
        heavy = heavy[np.argsort(self.alpha[heavy] >= self.upper[heavy], kind="stable")]  # free ones first
        before = np.cumsum(self.alpha[heavy]) - self.alpha[heavy]
        self.alpha[heavy] -= np.clip(abs(excess) - before, 0.0, self.alpha[heavy])

    def solve(self) -> Separator:
        """The separator of the present labels and costs."""
        if abs(self.sign.sum()) == self.sign.size:  # rows of one sign: f is that sign
            b = float(self.sign[0])
            nothing = np.zeros(self.sign.size)
            return Separator(nothing, b, self.sign.copy(), nothing, 0.0, True, 0, self.C_unlabeled)
        found = self._solve(None, self.sign, self.upper, self.alpha)
        self.alpha = found.alpha.copy()
        return self._separator(found, self.sign.copy(), self.upper)

    def _separator(self, found: DualSolution, sign: np.ndarray, upper: np.ndarray) -> Separator:
        slack = np.maximum(-found.gradient - sign * found.b, 0.0)
        objective = float(found.alpha @ (found.gradient + 1) / 2 + upper @ slack)
        return Separator(
            sign * found.alpha,
            found.b,
            sign,
            slack,
            objective,
            found.converged,
            self.n_switches,
            self.C_unlabeled,
        )

    def _solve(self, rows: Any, sign: np.ndarray, upper: np.ndarray, start: np.ndarray) -> DualSolution:
        problem = DualProblem(
            kernel=self.kernel,
            X=self.points if rows is None else self.points[rows],
            sign=sign,
            p=np.full(sign.size, -1.0),
            upper=upper,
            start=start,
        )
        return solve_dual(problem, **self.options)

    def pairs_to_switch(self, now: Separator, *, single: bool) -> np.ndarray:
        """Pairs (positive, negative) with slacks above 0 that sum to more than 2, of shape (n_pairs, 2).

        The greatest slacks are paired with each other. Where weights differ, a pair must also lower the objective
        at the present separator.
        """
        u = self.unlabeled[now.slack[self.unlabeled] > self.options["tol"]]
        by_slack = u[np.argsort(-now.slack[u], kind="stable")]
        positive, negative = by_slack[self.sign[by_slack] > 0], by_slack[self.sign[by_slack] < 0]
        count = min(positive.size, negative.size)
        pairs = np.column_stack([positive[:count], negative[:count]])
        good = now.slack[pairs].sum(axis=1) > 2.0 + self.options["tol"]
        good &= self._gain(now, pairs) > 0
        pairs = pairs[good]
        return pairs[:1] if single else pairs

    def _gain(self, now: Separator, pairs: np.ndarray) -> np.ndarray:
        """How much a switch lowers the objective while w and b are what they are."""
        i, j = pairs.T
        cost = self.upper / self.weight
        before = self.upper[i] * now.slack[i] + self.upper[j] * now.slack[j]
        after = self.weight[i] * cost[j] * np.maximum(2.0 - now.slack[i], 0.0)
        after += self.weight[j] * cost[i] * np.maximum(2.0 - now.slack[j], 0.0)
        return before - after

    def switch(self, pairs: np.ndarray) -> None:
        """Switch the labels of pairs; both multipliers are at their bounds, and stay there."""
        i, j = pairs.T
        cost = self.upper / self.weight
        self.upper[i], self.upper[j] = self.weight[i] * cost[j], self.weight[j] * cost[i]
        self.alpha[i], self.alpha[j] = self.upper[i], self.upper[j]
        self.sign[i], self.sign[j] = -1.0, 1.0
        self.n_switches += len(pairs)
        self._make_feasible()


def exhaustive_labels(search: LabelSearch, C: float, C_unlabeled: float) -> Separator:
    """The labels of the least objective of all, by branch and bound (S3VM).

    One more row can only raise the least objective, so that labels of some rows which cost more than the best
    labels of all rows so far need not be tried with the others.
    """
    open_rows = search.unlabeled
    if open_rows.size > MOST_OPEN:
        raise ValueError(
            f"TransductiveSVC: algorithm='exhaustive' is for up to {MOST_OPEN} rows without a label; there are "
            f"{open_rows.size}. Take algorithm='label-switching'."
        )
    weight = search.weight
    upper = np.where(search.sign == 0, C_unlabeled, C) * weight
    best: list[Any] = [np.inf, None]

    def value(rows: np.ndarray, sign: np.ndarray) -> tuple[float, DualSolution | None]:
        if abs(sign.sum()) == sign.size:
            return 0.0, None
        found = search._solve(rows, sign, upper[rows], np.zeros(rows.size))
        return -found.objective, found  # the dual's bound from below

    def extend(labels: list[float]) -> None:
        rows = np.concatenate([search.known, open_rows[: len(labels)]])
        sign = np.concatenate([search.sign[search.known], labels])
        bound, _ = value(rows, sign)
        if bound >= best[0]:
            return
        if len(labels) == open_rows.size:
            best[0], best[1] = bound, np.array(labels)
            return
        f = first[len(labels)]
        for label in (f, -f):
            extend([*labels, label])

    search.label_by_known(C)
    first = search.sign[open_rows].tolist()  # the likelier label before the other
    search.sign[open_rows] = 0.0
    extend([])
    search.sign[open_rows] = best[1] if open_rows.size else search.sign[open_rows]
    search.upper, search.alpha = upper, np.zeros(upper.size)
    return search.solve()
