"""What a table holds: its columns, its target, and how to turn tables of its kind into records."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.messages import Message, pack, unpack
from tercet.datasets.readers import listed
from tercet.feature.column_conversion import (
    known_categories,
    numeric_block,
    target_codes,
    target_numbers,
    to_codes,
    to_texts,
)
from tercet.feature.column_inference import Column, infer_column
from tercet.feature.declared_kinds import KINDS, column_as
from tercet.feature.records import Records
from tercet.feature.table_input import TableInput, as_table_input, raise_table_error, raise_unknown_column
from tercet.feature.target_inference import TASKS, InferredTarget, infer_target
from tercet.feature.text.term_counts import count_words

SORT = {"numeric": "number", "boolean": "category", "categorical": "category", "date": "date", "text": "text"}


@dataclass(frozen=True)
class Schema:
    """The columns of a table and what is done with them.

    Attributes
    ----------
    columns : tuple of Column
        All but the target, in order.
    target : Column or None
        What is predicted.
    task, task_why : str and Message
        "classification", "regression" or "clustering", and the reason.
    classes : tuple or None
        The labels, in order, as they are in the data.
    n_sparse : int
        Width of the block of sparse features.
    notes : tuple of Message
        What else was seen.
    sparse_names : tuple of str or None
        Names of the sparse features.
    named : bool
        False for an array, whose columns have places only.

    Examples
    --------
    >>> import polars as pl
    >>> from tercet.feature import infer_schema
    >>> frame = pl.DataFrame({"size": [1.5, 2.5, 4.0, 8.0], "kind": ["a", "b", "a", "b"]})
    >>> schema = infer_schema(frame, target="kind")
    >>> schema.task, schema.classes
    ('classification', ('a', 'b'))
    >>> schema.to_records(frame).numbers.ravel()
    array([1.5, 2.5, 4. , 8. ])
    """

    columns: tuple[Column, ...]
    target: Column | None
    task: str
    task_why: Message
    classes: tuple[Any, ...] | None
    n_sparse: int
    notes: tuple[Message, ...]
    sparse_names: tuple[str, ...] | None = None
    named: bool = True

    def __deepcopy__(self, memo: Any) -> Schema:
        return self  # nothing in it changes

    @property
    def used(self) -> tuple[Column, ...]:
        """The columns that become features."""
        return tuple(column for column in self.columns if column.used)

    def to_records(self, table: Any, *, say: Callable[[Message], Any] | None = None) -> Records:
        """The features of a table with these columns, in any order, as arrays.

        Parameters
        ----------
        table : Table, polars or pandas frame, or array
            A missing column or a value that cannot be read is a `TableError`.
        say : callable, optional
            Gets a `Message` about everything else that is not as it was: further columns, unknown categories.
        """
        say = say or (lambda note: None)
        given = self._renamed(as_table_input(table))
        self._compare(given, say)
        sorts: dict[str, list[Column]] = {sort: [] for sort in SORT.values()}
        for column in self.used:
            sorts[SORT[column.kind]].append(column)
        codes = [to_codes(given.frame[column.name], column, say) for column in sorts["category"]]
        counted = [count_words(to_texts(given.frame[column.name])) for column in sorts["text"]]
        n = given.height
        return Records(
            names=tuple(column.name for column in self.used),
            kinds=tuple(SORT[column.kind] for column in self.used),
            numbers=numeric_block(
                given.frame, [c for c in self.used if SORT[c.kind] in ("number", "date")], n, say
            ),
            codes=np.stack(codes, axis=1) if codes else None,
            categories=tuple(known_categories(column) for column in sorts["category"]),
            counts=tuple(counts for counts, _ in counted),
            words=tuple(words for _, words in counted),
            block=self._block(given, say),
            block_names=self.sparse_names,
        )

    def to_target(self, table: Any) -> tuple[np.ndarray, np.ndarray]:
        """The target as numbers, or as indices into `classes`, and which rows have one."""
        if self.target is None:
            raise_table_error("the schema has no target")
        frame = as_table_input(table).frame
        name = self.target.name
        if name not in frame.columns:
            raise_unknown_column(name, frame.columns)
        if self.classes is None:
            return target_numbers(frame[name])
        return target_codes(frame[name], self.classes)

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain JSON values."""
        target = None if self.target is None else _plain(self.target)
        packed = {
            **vars(self),
            "columns": [_plain(column) for column in self.columns],
            "target": target,
            "task_why": pack(self.task_why),
            "notes": [pack(note) for note in self.notes],
        }
        return json.loads(json.dumps(packed, ensure_ascii=False))

    @classmethod
    def from_dict(cls, packed: dict[str, Any]) -> Schema:
        """The schema that `to_dict` made plain."""
        target = packed["target"]
        return cls(
            **{
                **packed,
                "columns": tuple(_column(c) for c in packed["columns"]),
                "target": None if target is None else _column(target),
                "task_why": unpack(packed["task_why"]),
                "classes": None if packed["classes"] is None else tuple(packed["classes"]),
                "notes": tuple(unpack(note) for note in packed["notes"]),
                "sparse_names": None if packed["sparse_names"] is None else tuple(packed["sparse_names"]),
            }
        )

    def _renamed(self, given: TableInput) -> TableInput:
        """An array's columns get the names of the schema's: they can only be told by their places."""
        names = [column.name for column in self.columns]
        if given.named or given.frame.columns == names:
            return given
        if given.frame.width != len(names):
            raise_table_error(
                "the array has {n} columns; expected are {m}", n=given.frame.width, m=len(names)
            )
        return replace(given, frame=given.frame.rename(dict(zip(given.frame.columns, names))))

    def _compare(self, given: TableInput, say: Callable[[Message], Any]) -> None:
        there = set(given.frame.columns)
        lost = [column.name for column in self.used if column.name not in there]
        if lost:
            raise_table_error(
                "missing columns: {names}; the table has {there}",
                names=listed(lost),
                there=listed(given.frame.columns),
            )
        known = {column.name for column in self.columns} | ({self.target.name} if self.target else set())
        extra = [name for name in given.frame.columns if name not in known]
        if extra:
            say(Message("columns that were not there before are ignored: {names}", names=listed(extra)))

    def _block(self, given: TableInput, say: Callable[[Message], Any]) -> sparse.csr_array | None:
        if not self.n_sparse:
            return None
        if given.sparse is None:
            raise_table_error("the table has no sparse features; expected are {n}", n=self.n_sparse)
        block = sparse.csr_array(given.sparse, dtype=np.float64)
        width = block.shape[1]
        if width > self.n_sparse:
            say(
                Message("{n} sparse features that were not there before are ignored", n=width - self.n_sparse)
            )
            block = block[:, : self.n_sparse]
        elif width < self.n_sparse:  # a sparse file ends with the last feature that is not zero
            block = sparse.csr_array(
                (block.data, block.indices, block.indptr), shape=(block.shape[0], self.n_sparse)
            )
        strange = ~np.isfinite(block.data)
        if strange.any():
            say(Message("{n} sparse values that are not finite are taken as zero", n=int(strange.sum())))
            block = block.copy()
            block.data[strange] = 0.0
        return block


def infer_schema(
    table: Any,
    target: str | None = None,
    task: str = "auto",
    kinds: Mapping[str, str] | None = None,
    drop: Sequence[str] = (),
) -> Schema:
    """Look at the columns of a table and decide what each is and what is to be learned.

    Parameters
    ----------
    table : Table, polars or pandas frame, array or sparse matrix
        The data.
    target : str, optional
        The column to predict; otherwise the one that the file marks or that is called "target", "label" ...
    task : {"auto", "classification", "regression", "clustering"}
        What to do with it; "auto" decides by the target, and for want of one is clustering.
    kinds : mapping, optional
        What some columns are to be taken for: "numeric", "categorical", "boolean", "date", "text" or "identifier".
    drop : sequence of str
        Columns not to learn from.

    Returns
    -------
    Schema

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({"id": [7, 3, 9], "x": [0.5, 1.5, 0.1], "y": [1.5, 2.5, 3.5]})
    >>> [(column.name, column.kind, column.used) for column in infer_schema(frame, "y").columns]
    [('id', 'identifier', False), ('x', 'numeric', True)]
    """
    if task not in TASKS:
        raise ValueError(f"task must be one of {', '.join(TASKS)}; got {task!r}.")
    given = as_table_input(table)
    width = given.frame.width
    if width == 1 and given.named and given.sparse is None:
        text = "the table has a single column, {name!r}: there is nothing to learn from"
        raise_table_error(text, name=given.frame.columns[0])
    _check_rows(given)
    kinds = dict(kinds or {})
    for name, kind in kinds.items():
        if kind not in KINDS:
            raise ValueError(f"the kind of column {name!r} must be one of {', '.join(KINDS)}; got {kind!r}.")
    for name in (*kinds, *drop):
        if name not in given.frame.columns:
            raise_unknown_column(name, given.frame.columns)
    kinds |= dict.fromkeys(drop, "identifier")
    return feature_schema(given, infer_target(given, target, task, kinds), kinds)


def feature_schema(
    table: Any, verdict: InferredTarget | None = None, kinds: Mapping[str, str] | None = None
) -> Schema:
    """A schema in which every column is a feature, but for the target that the verdict names."""
    kinds = kinds or {}
    given = as_table_input(table)
    _check_rows(given)
    verdict = verdict or InferredTarget(
        "clustering", Message("no target is named: groups of similar rows are looked for")
    )
    columns, notes = [], list(verdict.notes)
    for series in given.frame.get_columns():
        if verdict.target is not None and series.name == verdict.target.name:
            continue
        if verdict.left_out is not None and series.name == verdict.left_out.name:
            columns.append(verdict.left_out)
            continue
        if series.name in kinds:
            column, odd = column_as(series, kinds[series.name])
        else:
            column, odd = infer_column(series, given.kinds.get(series.name), given.total)
        columns.append(column)
        notes += odd
    n_sparse = 0 if given.sparse is None else given.sparse.shape[1]
    return Schema(
        columns=tuple(_usable_columns(columns, n_sparse, kinds)),
        target=verdict.target,
        task=verdict.task,
        task_why=verdict.why,
        classes=verdict.classes,
        n_sparse=n_sparse,
        notes=tuple(notes),
        sparse_names=given.sparse_names,
        named=given.named,
    )


def _check_rows(given: TableInput) -> None:
    if given.height == 0:
        raise_table_error("the table has no rows")
    if given.height == 1:
        raise_table_error("the table has one sample: nothing can be learned from a single row")


def _usable_columns(columns: list[Column], n_sparse: int, kinds: Mapping[str, str]) -> list[Column]:
    """The columns, if any can be learned from; numbers that only count the rows are better than nothing."""
    if n_sparse or any(column.used for column in columns):
        return columns
    counting = [c for c in columns if c.kind == "identifier" and "mean" in c.summary and c.name not in kinds]
    if not counting:
        raise_table_error(
            "no column can be learned from: all are constant, empty, dropped or name the rows ({names})",
            names=listed([column.name for column in columns]),
        )
    why = Message("whole numbers, all different; used, because there is no other column")
    return [replace(c, kind="numeric", used=True, why=why) if c in counting else c for c in columns]


def _plain(column: Column) -> dict[str, Any]:
    return {**vars(column), "why": pack(column.why)}


def _column(packed: dict[str, Any]) -> Column:
    categories = packed["categories"]
    return Column(
        **{
            **packed,
            "why": unpack(packed["why"]),
            "categories": None if categories is None else tuple(categories),
        }
    )
