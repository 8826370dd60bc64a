"""The edit-distance kernel of strings."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.catalog import method
from tercet.core.kernel import kernel
from tercet.core.parameters import Positive
from tercet.core.stopping import check_stop
from tercet.kernels._engine.prepared_strings import PreparedStrings, as_strings, encode
from tercet.kernels.base import Kernel

WORK = 20_000_000  # operations of one kernel call: Ctrl-C is answered between calls


@method(
    zh="编辑距离相似度核",
    task="kernel",
    model="K(s, t) = exp(-gamma d(s, t)), d = number of characters to insert, delete or replace",
    algorithms="dynamic programming over prefixes, O(|s| |t|)",
    texts=["Pattern Recognition ch. 5, 5.5.2"],
)
class Edit(Kernel):
    """Edit-distance similarity of strings; its Gram matrices need not be positive semidefinite.

    Parameters
    ----------
    gamma : float, default=1
        Factor of the edit distance.

    Examples
    --------
    >>> from tercet.kernels import Edit
    >>> Edit(gamma=0.5)(["kitten"], ["sitting"]).round(6)  # exp(-0.5 * 3)
    array([[0.22313]])
    """

    takes = "strings"

    def __init__(self, gamma: Positive = 1.0) -> None:
        self.gamma = gamma

    def check(self, X: Any) -> np.ndarray:
        """Strings as a one-dimensional object array."""
        return as_strings(X, "Edit")

    def prepare(self, X: Any, Z: Any) -> tuple[PreparedStrings, PreparedStrings]:
        left, right = (PreparedStrings(rows) for rows in (X, Z))
        left.cost = right.cost = max(1.0, left.mean_length * right.mean_length / 50)
        return left, right

    def tile(self, left: PreparedStrings, right: PreparedStrings) -> np.ndarray:
        codes, borders = encode(right.rows)
        distances = np.array([_edit_distances(s, codes, borders) for s in left.rows], dtype=np.float64)
        return np.exp(-self.gamma * distances.reshape(len(left), len(right)))

    def _diag(self, X: Any) -> np.ndarray:
        return np.ones(len(X))

    def features(self, X: Any) -> Any:
        """None: where the kernel is not positive semidefinite, it is no inner product."""
        self._no_feature_map("where it is not positive semidefinite, it is no inner product at all")


@method(
    zh="编辑距离",
    task="distance",
    model="least number of characters to insert, delete or replace",
    algorithms="dynamic programming over prefixes",
    texts=["Pattern Recognition ch. 5, 5.5.2"],
)
def edit_distance(s: str, t: str) -> int:
    """Edit distance of two strings.

    Examples
    --------
    >>> edit_distance("kitten", "sitting")
    3
    """
    return int(_edit_distances(s, *encode([t]))[0])


def _edit_distances(s: str, codes: np.ndarray, borders: np.ndarray) -> np.ndarray:
    """Edit distances of s from some strings, a few characters of s at a time."""
    row, _ = encode([s])
    lengths = np.diff(borders)
    last = np.arange(1, codes.size + 1, dtype=np.int64) - np.repeat(borders[:-1], lengths)
    step = max(1, WORK // (codes.size + 1))
    for first in range(0, row.size, step):
        check_stop()
        extend_distances(row[first : first + step], first, codes, borders, last)
    ends = last[np.maximum(borders[1:] - 1, 0)] if codes.size else lengths
    return np.where(lengths > 0, ends, row.size)


@kernel
def extend_distances(s, done, codes, borders, last):
    """last[b]: distance of s so far from the prefix that ends at b; `done` characters of s came before."""
    for a in range(s.size):
        here = s[a]
        for t in range(borders.size - 1):
            text, row = codes[borders[t] : borders[t + 1]], last[borders[t] : borders[t + 1]]
            corner, left = done + a, done + a + 1  # against the empty prefix: delete all
            for b in range(text.size):
                best = corner if text[b] == here else corner + 1
                corner = row[b]
                best = min(best, min(corner, left) + 1)
                row[b] = best
                left = best
