"""The DNA match kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.catalog import method
from tercet.kernels._engine.prepared_rows import PreparedRows
from tercet.kernels._engine.prepared_strings import as_strings, encode
from tercet.kernels.base import Kernel

LETTERS = "ACGT"


@method(
    zh="DNA 编码核",
    task="kernel",
    model="K(s, t) = number of places where s and t have the same letter",
    texts=["Pattern Recognition ch. 5, 5.5.2"],
)
class DNA(Kernel):
    """Match count of DNA strings of one length: the inner product of their codes A 1000, C 0100, G 0010, T 0001.

    Examples
    --------
    >>> from tercet.kernels import DNA
    >>> DNA()(["ACGT"], ["ACCA"])
    array([[2.]])
    """

    takes = "strings"

    def check(self, X: Any) -> np.ndarray:
        """Strings of the letters A, C, G and T, all of one length."""
        rows = as_strings(X, "DNA")
        for i, row in enumerate(rows):
            if row.strip(LETTERS):
                raise ValueError(f"DNA takes strings of the letters {LETTERS}; row {i} is {row!r}.")
            if len(row) != len(rows[0]):
                raise ValueError(
                    f"DNA takes strings of one length; row {i} has {len(row)} letters, row 0 {len(rows[0])}."
                )
        return rows

    def prepare(self, X: Any, Z: Any) -> tuple[PreparedRows, PreparedRows]:
        if len(X) and len(Z) and len(X[0]) != len(Z[0]):
            raise ValueError(
                f"DNA takes strings of one length; these have {len(X[0])} and {len(Z[0])} letters."
            )
        left = PreparedRows(_one_hot(X))
        return left, left if Z is X else PreparedRows(_one_hot(Z))

    def tile(self, left: PreparedRows, right: PreparedRows) -> np.ndarray:
        return left.products(right)

    def _diag(self, X: Any) -> np.ndarray:
        return np.full(len(X), float(len(X[0])))

    def features(self, X: Any) -> np.ndarray:
        """The codes: four columns for each letter."""
        return _one_hot(self.check(X))


def _one_hot(rows: np.ndarray) -> np.ndarray:
    """Strings of one length as rows of four columns for each letter."""
    codes, _ = encode(rows)
    points, _ = encode([LETTERS])
    return (
        (codes[:, None] == points).astype(np.float64).reshape(len(rows), 4 * len(rows[0]) if len(rows) else 0)
    )
