"""Contradictory records: rows with the same features and different targets."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.utils.validation import column_or_1d

from tercet.core.catalog import method
from tercet.core.column_parsing import is_frame
from tercet.core.input_errors import refuse_mixed_labels
from tercet.core.meta import columns_at
from tercet.core.parameters import NonNegative
from tercet.feature.cleaning.base import RowFilter
from tercet.feature.cleaning.table_columns import (
    column_indices,
    column_names,
    equal_rows,
    is_missing,
    raw_column,
)


@method(
    zh="矛盾样本检测",
    task="preprocessing",
    model="the rows that no row of the same x contradicts: x_i = x_k implies y_i = y_k",
    strategy="groups of equal rows with more than one target",
    algorithms="equal rows by hash values, then compared",
    texts=["Machine Learning in Depth ch. 3, 3.2.1"],
    peers=["deepchecks.tabular.checks.ConflictingLabels"],
)
class ContradictionFilter(RowFilter):
    """Finds rows of the same features and different targets, and drops them; a sampler, for use in `Resampled`.

    Parameters
    ----------
    action : {"drop", "majority", "report"}, default="drop"
        Drop all rows of a contradiction; keep those of its most frequent target, if there is a single one; or keep
        all rows, for a look at `contradictions_`.
    tolerance : float, default=0.0
        Targets that are numbers may differ by so much.
    columns : list, optional
        Columns that make rows equal, by name or place; by default all.

    Attributes
    ----------
    contradictions_ : list of arrays of int
        The rows of each contradiction.
    sample_indices_ : array of int
        The rows that were kept.

    Examples
    --------
    >>> X, y = np.array([[1, 2], [1, 2], [3, 4], [1, 2]]), np.array(["a", "b", "a", "a"])
    >>> cleaner = ContradictionFilter()
    >>> cleaner.fit_resample(X, y)
    (array([[3, 4]]), array(['a'], dtype='<U1'))
    >>> cleaner.contradictions_
    [array([0, 1, 3])]
    >>> ContradictionFilter("majority").fit_resample(X, y)[1]
    array(['a', 'a', 'a'], dtype='<U1')
    """

    def __init__(
        self,
        action: Literal["drop", "majority", "report"] = "drop",
        *,
        tolerance: NonNegative = 0.0,
        columns: Any = None,
    ) -> None:
        self.action = action
        self.tolerance = tolerance
        self.columns = columns

    def _dropped(self, X: Any, y: Any) -> np.ndarray:
        if y is None:
            raise ValueError(f"{type(self).__name__} compares targets; y must be given.")
        if self.columns is not None:
            places = column_indices(self.columns, column_names(X), type(self).__name__, "columns")
            X = columns_at(X, np.array(places))
        refuse_mixed_labels(y)
        targets, label = np.unique(column_or_1d(y), return_inverse=True)
        group = _groups(X)
        value = self._values(targets)[label]
        low, high = np.full(group.max() + 1, np.inf), np.full(group.max() + 1, -np.inf)
        np.minimum.at(low, group, value)
        np.maximum.at(high, group, value)
        rows = np.flatnonzero((high - low > self.tolerance)[group])
        rows = rows[np.argsort(group[rows], kind="stable")]
        ends = np.flatnonzero(np.diff(group[rows])) + 1
        self.contradictions_ = np.split(rows, ends) if rows.size else []
        dropped = np.zeros(len(group), dtype=bool)
        for part in self.contradictions_ if self.action != "report" else []:
            dropped[part if self.action == "drop" else part[_outvoted(label[part])]] = True
        return dropped

    def _values(self, targets: np.ndarray) -> np.ndarray:
        """Numbers whose differences are compared with the tolerance."""
        if not self.tolerance:
            return np.arange(len(targets), dtype=np.float64)
        if targets.dtype.kind not in "biuf":
            raise ValueError(
                f"{type(self).__name__}: tolerance={self.tolerance!r} is for targets that are numbers; "
                f"y holds {targets.tolist()[0]!r}."
            )
        return targets.astype(np.float64)

    def _advice(self) -> str:
        return 'every row is contradicted by another; action="majority" keeps the most frequent targets'


def _outvoted(labels: np.ndarray) -> np.ndarray:
    """Mask of the rows that have not the most frequent label; all of them where two are as frequent."""
    kinds, counts = np.unique(labels, return_counts=True)
    most = kinds[counts == counts.max()]
    return labels != most[0] if most.size == 1 else np.ones(len(labels), dtype=bool)


def _groups(X: Any) -> np.ndarray:
    """The group of equal rows that each row belongs to, numbered by their first rows."""
    if sparse.issparse(X):
        X = sparse.csr_array(X)
        X.sum_duplicates()
        X.eliminate_zeros()
        seen: dict[Any, int] = {}
        ends = X.indptr
        rows = ((X.indices[a:b].tobytes(), X.data[a:b].tobytes()) for a, b in pairwise(ends))
        return np.array([seen.setdefault(row, len(seen)) for row in rows])
    if not is_frame(X) and X.dtype.kind in "biuf":
        return equal_rows(X)
    return equal_rows(np.column_stack([_codes(raw_column(X, j)) for j in range(X.shape[1])]))


def _codes(values: np.ndarray) -> np.ndarray:
    """Numbers that are equal where the values are; NaN where they are missing."""
    if values.dtype.kind in "bf":
        return values.astype(np.float64)
    if values.dtype.kind != "O":
        return np.unique(values, return_inverse=True)[1].reshape(-1).astype(np.float64)
    seen: dict[Any, int] = {}
    cells = values.tolist()
    return np.array([np.nan if is_missing(cell) else seen.setdefault(cell, len(seen)) for cell in cells])
