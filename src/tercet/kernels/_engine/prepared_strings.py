"""Strings prepared for string kernels."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np


class PreparedStrings:
    """Strings, the cost of a pair and, where wanted, their norms sqrt(K(s, s))."""

    unsplit = False

    def __init__(self, rows: Any, cost: float = 1.0, norms: Any = None) -> None:
        self.rows = rows
        self.cost = cost  # of a pair, beside an inner product: blocks are that much smaller
        self.norms = norms

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, part: Any) -> PreparedStrings:
        return PreparedStrings(self.rows[part], self.cost, None if self.norms is None else self.norms[part])

    @property
    def mean_length(self) -> float:
        """The mean length of the strings."""
        return sum(map(len, self.rows)) / max(len(self.rows), 1)


def encode(strings: Iterable[str]) -> tuple[np.ndarray, np.ndarray]:
    """The code points of strings one after the other, and where each begins and ends.

    Examples
    --------
    >>> encode(["ab", "", "c"])
    (array([97, 98, 99], dtype=int32), array([0, 2, 2, 3]))
    """
    strings = list(strings)
    text = "".join(strings).encode("utf-32-le", "surrogatepass")
    borders = np.concatenate([[0], np.cumsum([len(s) for s in strings])]).astype(np.int64)
    return np.frombuffer(text, dtype=np.int32).copy(), borders


def as_strings(X: Any, name: str) -> np.ndarray:
    """n strings as a one-dimensional object array, from a list, a series or an array of shape (n,) or (n, 1).

    Examples
    --------
    >>> as_strings([["cat"], ["car"]], "Subsequence")
    array(['cat', 'car'], dtype=object)
    """
    if isinstance(X, str):
        raise ValueError(f"{name} takes a list of strings; got one string {X!r}.")
    rows = np.asarray(X, dtype=object)
    if rows.ndim == 2 and rows.shape[1] == 1:
        rows = rows[:, 0]
    if rows.ndim != 1 or not rows.size:
        raise ValueError(
            f"{name} takes a list of strings, or an array of shape (n, 1); got the shape {rows.shape}."
        )
    for i, row in enumerate(rows):
        if not isinstance(row, str):
            raise ValueError(f"{name} takes strings; row {i} is {row!r}.")
    return rows
