"""Tables named by DATA on the command line: a file, or embedded data."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from tercet.cli import printing
from tercet.cli.embedded_datasets import DEFAULT, embedded, is_embedded
from tercet.cli.errors import Refusal
from tercet.cli.translation import tr
from tercet.core.messages import Message
from tercet.io import is_model

if TYPE_CHECKING:
    from tercet.datasets import Table


def open_table(data: str | None, *, rows: int | None = None, seed: int = 0, ragged: Any = "error") -> Table:
    """The table that DATA names; embedded data when it names none."""
    from tercet.datasets import read_table

    if data is None or is_embedded(data):
        return sampled(embedded(data or DEFAULT), rows, seed)
    _refuse_model(data)
    return read_table(data, rows=rows, seed=seed, ragged=ragged)


def batches(data: str, *, like: dict[str, Any] | None = None, ragged: Any = "error") -> Iterator[Table]:
    """The table that DATA names in batches that fit into memory, read with the options of another table."""
    from tercet.datasets import read_batches

    if is_embedded(data):
        yield embedded(data)
        return
    _refuse_model(data)
    yield from read_batches(data, like=like, ragged=ragged)


def _refuse_model(data: str) -> None:
    if is_model(data):  # a zip of arrays, too, as an npz file is
        raise Refusal(tr("{file} is a Tercet model, not a table", file=data))


@contextlib.contextmanager
def rows_after(before: int) -> Iterator[None]:
    """Around the work on a batch: errors count rows from the start of the table."""
    from tercet.datasets import TableError

    try:
        yield
    except TableError as error:
        note = error.note
        row = note.values.get("row") if isinstance(note, Message) else None
        if before and isinstance(note, Message) and isinstance(row, int):
            raise TableError(note.template, **{**note.values, "row": before + row}) from error
        raise


def once(speak: Callable[[Message], None] | None = None) -> Callable[[Message], None]:
    """A function that prints each remark once over all batches.

    Examples
    --------
    >>> speak = once(print)
    >>> for note in (Message("delimiter: tab"), Message("delimiter: tab")):
    ...     speak(note)
    delimiter: tab
    """
    said: set[str] = set()

    def remark_once(note: Message) -> None:
        if note not in said:
            said.add(note)
            (speak or printing.remark)(note)

    return remark_once


def sampled(table: Table, rows: int | None, seed: int) -> Table:
    """A table, or a random sample of its rows, in order."""
    import dataclasses

    import numpy as np

    if rows is None or rows >= table.height:
        return table
    kept = np.sort(np.random.default_rng(seed).choice(table.height, rows, replace=False))
    note = Message("{rows} of {total} rows, drawn at random, are used", rows=rows, total=table.height)
    return dataclasses.replace(table, frame=table.frame[kept], notes=(*table.notes, note))
