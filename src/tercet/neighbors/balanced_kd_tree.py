"""The balanced kd-tree of the text in plain form, with a trace of its search (Li Alg 3.2 and 3.3)."""

from __future__ import annotations

import numbers
from bisect import insort
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

from tercet.core.catalog import method
from tercet.core.validation import check_array
from tercet.metrics.distance import check_p
from tercet.neighbors._engine.kd_metrics import distance, metric_of, row_cost

SLACK = 1 - 1e-12  # rounding must not leave out a branch that the ball touches


class Step(NamedTuple):
    """What a search did: "descend" through a node, "look" at its point, or "prune" the branch under it.

    `distance` is how far the node's point is from the query, or, when it is pruned, its region; `radius` is that
    of the ball afterwards.
    """

    action: Literal["descend", "look", "prune"]
    row: int
    distance: float
    radius: float


@dataclass
class Trace:
    """All steps of a search.

    Attributes
    ----------
    steps : list of Step
        In order.
    visited : list of int
        Rows whose distance was taken, in order.
    pruned : list of int
        Rows at the top of branches that were left out, in order.
    """

    steps: list[Step] = field(default_factory=list)

    @property
    def visited(self) -> list[int]:
        return [step.row for step in self.steps if step.action == "look"]

    @property
    def pruned(self) -> list[int]:
        return [step.row for step in self.steps if step.action == "prune"]

    def __str__(self) -> str:
        lines = [f"{'step':8} {'row':>5} {'distance':>10} {'radius':>10}"]
        lines += [f"{s.action:8} {s.row:5d} {s.distance:10.4g} {s.radius:10.4g}" for s in self.steps]
        return "\n".join(lines)


@method(
    zh="平衡 kd 树",
    task="search",
    model="a binary tree with a row in each node, which cuts its hyper-rectangle in two",
    strategy="visit only the hyper-rectangles that meet the ball around the query",
    algorithms="depth j cuts coordinate j mod d at the median; descend to a leaf, then back up to the root",
    texts=["Li ch. 3, Alg 3.2, 3.3", "Li ch. 3, Ex 3.2, 3.3"],
)
class BalancedKDTree:
    """The text's kd-tree, built and searched step by step; `KDTree` is the fast one.

    Parameters
    ----------
    X : array of shape (n, d)
        The rows.
    p : float, default=2
        The power of the L_p distance, from 1 to infinity.

    Attributes
    ----------
    row, axis, left, right : arrays of shape (n,)
        Of each node: the row in it, the coordinate that it cuts, and its children (-1: none). Node 0 is the
        root, and a node comes before those under it.

    Notes
    -----
    Of an even number of rows, the upper of the two in the middle is the median. Rows with equal coordinates are
    in the order of their numbers, so that some may be on either side of a cut that they lie on: a search leaves
    out a branch only when the ball does not touch it.

    Examples
    --------
    >>> tree = BalancedKDTree([[2, 3], [5, 4], [9, 6], [4, 7], [8, 1], [7, 2]])
    >>> tree.nested()[0], tree.nested()[3]
    ((7, 2), ((9, 6), 1, ((8, 1), 0, None, None), None))
    >>> distances, rows, trace = tree.query([9, 2], trace=True)
    >>> rows, trace.visited, trace.pruned
    (array([4]), [4, 2, 5], [1])
    """

    def __init__(self, X: Any, p: float = 2) -> None:
        self.X, self.p = check_array(X, dtype="numeric", input_name="X"), check_p(p)
        n, d = self.X.shape
        self.row, self.axis, self.left, self.right = np.full((4, n), -1)
        waiting: list[tuple[np.ndarray, int, int, np.ndarray | None]] = [(np.arange(n), 0, -1, None)]
        count = 0
        while waiting:
            rows, depth, parent, side = waiting.pop()
            if side is not None:
                side[parent] = count
            axis, middle = depth % d, len(rows) // 2
            rows = rows[np.lexsort((rows, self.X[rows, axis]))]
            self.row[count], self.axis[count] = rows[middle], axis
            for some, place in ((rows[middle + 1 :], self.right), (rows[:middle], self.left)):
                if len(some):
                    waiting.append((some, depth + 1, count, place))
            count += 1
        self._regions = self.regions()

    def query(self, q: Any, k: int = 1, trace: bool = False) -> Any:
        """The k nearest rows of one query, nearest first; of rows at one distance, the smaller number first.

        Parameters
        ----------
        q : array of shape (d,)
            The query.
        k : int, default=1
            How many rows; no more than there are.
        trace : bool, default=False
            Tell also how the search went.

        Returns
        -------
        distances, rows : arrays of shape (k,)
            The neighbours.
        trace : Trace
            Only when asked for.
        """
        q = check_array([q], dtype=np.float64, input_name="q")[0]
        n, d = self.X.shape
        if q.shape != (d,):
            raise ValueError(f"q must have {d} coordinates, as the rows have; the shape is {q.shape}.")
        if not isinstance(k, numbers.Integral) or not 1 <= k <= n:
            raise ValueError(f"k={k!r} neighbours of n={n} rows: k must be an integer from 1 to n.")
        record, best = Trace(), list[tuple[float, int]]()
        waiting = [("descend", 0)]
        while waiting:
            action, node = waiting.pop()
            if node < 0:
                continue
            row, axis = int(self.row[node]), self.axis[node]
            apart = self._distance(q, self.X[row])
            radius = best[k - 1][0] if len(best) >= k else np.inf
            if action == "look":
                insort(best, (apart, row))
                del best[k:]
                record.steps.append(Step("look", row, apart, best[k - 1][0] if len(best) >= k else np.inf))
                continue
            if action == "other":  # does the ball meet its region?
                low, high = self._regions[node]
                gap = self._distance(q, np.clip(q, low, high))
                if gap * SLACK > radius:
                    record.steps.append(Step("prune", row, gap, radius))
                    continue
            record.steps.append(Step("descend", row, apart, radius))
            near, far = self.left[node], self.right[node]
            if not q[axis] < self.X[row, axis]:
                near, far = far, near
            waiting += [("other", far), ("look", node), ("descend", near)]
        distances, rows = (np.array(values) for values in zip(*best))
        return (distances, rows, record) if trace else (distances, rows)

    def nested(self) -> Any:
        """The tree as the text writes it: (point, axis, left, right), with None where there is nothing."""
        made: list[Any] = [None] * len(self.row)
        for node in reversed(range(len(self.row))):
            point, axis = tuple(self.X[self.row[node]].tolist()), int(self.axis[node])
            left, right = (
                made[child] if child >= 0 else None for child in (self.left[node], self.right[node])
            )
            made[node] = (point, axis, left, right)
        return made[0]

    def regions(self) -> np.ndarray:
        """The hyper-rectangle of each node: lower and upper ends, an array of shape (n, 2, d)."""
        n, d = self.X.shape
        found = np.empty((n, 2, d))
        found[0] = [[-np.inf] * d, [np.inf] * d]
        for node in range(n):
            axis, cut = self.axis[node], self.X[self.row[node], self.axis[node]]
            for child, end in ((self.left[node], 1), (self.right[node], 0)):
                if child >= 0:
                    found[child] = found[node]
                    found[child, end, axis] = cut
        return found

    def _distance(self, q: np.ndarray, x: np.ndarray) -> float:
        metric = metric_of(self.p)
        return float(distance(metric, row_cost(metric, x[None], 0, q)))

    def __repr__(self) -> str:
        depth = int(np.log2(len(self.row))) + 1
        return f"BalancedKDTree({len(self.row)} rows of {self.X.shape[1]} coordinates, depth {depth})"
