"""Rows of a table as NumPy arrays, which are cheap to take rows from and to pickle."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse


class Records:
    """Rows of a table, by kind: numbers, categories, words of texts, sparse numbers.

    What `Schema.to_records` makes of a table. There is no frame inside: taking rows is cheap, and so is pickling.

    Attributes
    ----------
    names : tuple of str
        The columns, in the order of the table.
    kinds : tuple of str
        What each is: "number", "date", "category" or "text".
    numbers : array of shape (n, numbers and dates)
        Numbers, and dates as days since 1970; NaN is missing.
    codes : int32 array of shape (n, categories)
        Indices into `categories`; -1 is missing, -2 unknown.
    categories : tuple of tuples of str
        The values of each categorical column.
    counts, words : tuples
        For each column of texts how often each word occurs (CSR), and the words.
    sparse : csr_array or None
        The sparse block.

    Examples
    --------
    >>> import numpy as np
    >>> records = Records(("a",), ("number",), np.array([[1.0], [2.0], [3.0]]))
    >>> records.take([2, 0]).numbers.ravel()
    array([3., 1.])
    """

    def __init__(
        self,
        names: tuple[str, ...],
        kinds: tuple[str, ...],
        numbers: np.ndarray,
        codes: np.ndarray | None = None,
        categories: tuple[tuple[str, ...], ...] = (),
        counts: tuple[sparse.csr_array, ...] = (),
        words: tuple[np.ndarray, ...] = (),
        block: sparse.csr_array | None = None,
        block_names: tuple[str, ...] | None = None,
    ) -> None:
        self.names, self.kinds = names, kinds
        self.numbers = numbers
        self.codes = np.empty((numbers.shape[0], 0), dtype=np.int32) if codes is None else codes
        self.categories = categories
        self.counts, self.words = counts, words
        self.sparse, self.sparse_names = block, block_names

    def __len__(self) -> int:
        return self.numbers.shape[0]

    def __repr__(self) -> str:
        more = "" if self.sparse is None else f" and {self.sparse.shape[1]} sparse features"
        return f"<{len(self)} records of {len(self.names)} columns{more}>"

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns, the sparse block among them."""
        return len(self), len(self.names) + (0 if self.sparse is None else self.sparse.shape[1])

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        blocks = [*self.counts, *([] if self.sparse is None else [self.sparse])]
        sparse_bytes = sum(part.nbytes for b in blocks for part in (b.data, b.indices, b.indptr))
        return self.numbers.nbytes + self.codes.nbytes + sparse_bytes

    def __getitem__(self, index: Any) -> Records:
        # scikit-learn's splitters write X[rows, ...].
        return self.take(index[0] if isinstance(index, tuple) else index)

    def take(self, index: Any) -> Records:
        """The rows of these numbers, of a boolean mask or of a slice."""
        index = np.arange(len(self))[index] if isinstance(index, slice) else np.asarray(index)
        return self._with(
            self.numbers[index],
            self.codes[index],
            tuple(count[index] for count in self.counts),
            None if self.sparse is None else self.sparse[index],
        )

    def shuffled(self, name: str, order: Any) -> Records:
        """The same rows, with the values of one column in another order."""
        order = np.asarray(order)
        block, j = self._place(name)
        numbers, codes, counts = self.numbers, self.codes, self.counts
        if block == "numbers":
            numbers = numbers.copy()
            numbers[:, j] = self.numbers[order, j]
        elif block == "codes":
            codes = codes.copy()
            codes[:, j] = self.codes[order, j]
        else:
            counts = (*counts[:j], counts[j][order], *counts[j + 1 :])
        return self._with(numbers, codes, counts, self.sparse)

    def replaced(self, name: str, values: Any) -> Records:
        """The same rows, with other numbers, days or codes in one column."""
        block, j = self._place(name)
        if block == "counts":
            raise ValueError(f"column {name!r} holds texts, which are no numbers.")
        numbers, codes = self.numbers, self.codes
        if block == "numbers":
            numbers = numbers.copy()
            numbers[:, j] = values
        else:
            codes = codes.copy()
            codes[:, j] = values
        return self._with(numbers, codes, self.counts, self.sparse)

    def column(self, name: str) -> np.ndarray:
        """The numbers, days or codes of one column."""
        block, j = self._place(name)
        if block == "counts":
            raise ValueError(f"column {name!r} holds texts, which are no numbers.")
        return self.numbers[:, j] if block == "numbers" else self.codes[:, j]

    def _place(self, name: str) -> tuple[str, int]:
        if name not in self.names:
            raise ValueError(f"there is no column {name!r}; the columns are {', '.join(self.names)}.")
        k = self.names.index(name)
        blocks = [BLOCK[kind] for kind in self.kinds]
        return blocks[k], blocks[:k].count(blocks[k])

    def _with(self, numbers: Any, codes: Any, counts: Any, block: Any) -> Records:
        return Records(
            self.names,
            self.kinds,
            numbers,
            codes,
            self.categories,
            counts,
            self.words,
            block,
            self.sparse_names,
        )


BLOCK = {"number": "numbers", "date": "numbers", "category": "codes", "text": "counts"}


def column_positions(records: Records, *kinds: str) -> np.ndarray:
    """The positions of the columns of these kinds among all."""
    return np.array([k for k, kind in enumerate(records.kinds) if kind in kinds], dtype=np.intp)
