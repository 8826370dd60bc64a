"""`read_table`: any table from a file; `read_batches`: one that is too large for memory."""

from __future__ import annotations

import csv
import importlib
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal

from tercet.core.lazy import optional_module
from tercet.datasets.readers.damage import refuse_damage
from tercet.datasets.readers.source_file import (
    ReadRequest,
    SourceFile,
    detect_format,
    first_bytes,
    open_source,
)
from tercet.datasets.readers.table import Table
from tercet.datasets.readers.table_format import TableFormat
from tercet.datasets.readers.type_inference import TypeInference

READERS = {
    "CSV": ("text", "read_text"),
    "ARFF": ("arff", "read_arff"),
    "SVMlight": ("svmlight", "read_svmlight"),
    "Parquet": ("columnar", "read_parquet"),
    "Feather": ("columnar", "read_feather"),
    "npz": ("npz", "read_npz"),
    "npy": ("npz", "read_npy"),
}
RAGGED = ("error", "skip", "fill")
PAIRS = re.compile(r"[+-]?[\d.]\S*( +qid:\d+)?( +\d+:\S+)*\s*(#.*)?")


def read_table(
    source: str | os.PathLike[str],
    *,
    rows: int | None = None,
    seed: int = 0,
    like: dict[str, Any] | None = None,
    ragged: Literal["error", "skip", "fill"] = "error",
) -> Table:
    """Read a table: CSV, TSV, Parquet, Feather, ARFF, SVMlight or npz, packed by gzip, bzip2, xz or not.

    A folder of Parquet or Feather files is one table, in the order of their names.

    Format, encoding, delimiter, quotes, header, decimal comma and marks for missing values are found out; the
    table's `notes` say what was found. A table that would fill more than half of the memory is not read as a
    whole: rows are drawn at random.

    Parameters
    ----------
    source : the file; "-" is the standard input.
    rows : at most so many rows, drawn at random.
    seed : decides which.
    like : the `reading` of another table: its columns are read in the same way here, whatever this file alone
        would suggest (decimal mark, order of dates, marks for missing values, codes that look like numbers).
        A column with values that contradict stays one of strings.
    ragged : lines of a text with another number of fields than the others are an error; or "skip" leaves them out,
        and "fill" takes missing fields as missing values and cuts off surplus ones.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "melons.csv")
    >>> _ = file.write_text("色泽;密度\\n青绿;0,697\\n乌黑;NA\\n", encoding="gb18030")
    >>> table = read_table(file)
    >>> table.frame.rows()
    [('青绿', 0.697), ('乌黑', None)]
    >>> for note in table.notes:
    ...     print(note)
    encoding: GB18030
    delimiter: semicolon
    'NA' is a missing value in: '密度'
    decimal comma in: '密度'
    """
    if rows is not None and rows < 1:
        raise ValueError(f"rows must be at least 1; got {rows}.")
    _check_ragged(ragged)
    _need_polars()
    with open_source(source) as file:
        return next(_tables(file, ReadRequest(rows, seed, like=TableFormat.from_dict(like), ragged=ragged)))


def read_batches(
    source: str | os.PathLike[str],
    *,
    like: dict[str, Any] | None = None,
    ragged: Literal["error", "skip", "fill"] = "error",
) -> Iterator[Table]:
    """All rows of a table, in pieces that fit into memory: one, if that is enough.

    What is found out about the file holds for all pieces; each has only the notes that are new.

    Parameters
    ----------
    source : the file; "-" is the standard input.
    like : the `reading` of another table, see `read_table`.
    ragged : what to do with lines of another number of fields, see `read_table`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "melons.csv")
    >>> _ = file.write_text("a,b\\n1,2\\n3,4\\n")
    >>> [table.height for table in read_batches(file)]
    [2]
    """
    _check_ragged(ragged)
    _need_polars()
    said: set[str] = set()
    with open_source(source) as file:
        table = next(_tables(file, ReadRequest(like=TableFormat.from_dict(like), ragged=ragged)))
        if table.height == table.total_rows:
            yield table
            return
        request = ReadRequest(whole=True, like=TableFormat.from_dict(table.reading), ragged=ragged)
        del table
        for table in _tables(file, request):
            yield replace(table, notes=tuple(note for note in table.notes if note not in said))
            said.update(table.notes)


def _check_ragged(ragged: str) -> None:
    if ragged not in RAGGED:
        raise ValueError(f"ragged must be one of {', '.join(map(repr, RAGGED))}; got {ragged!r}.")


def _need_polars() -> None:
    optional_module("polars", "Reading tables needs", "cli")


def _tables(file: SourceFile, request: ReadRequest) -> Iterator[Table]:
    """The parts of a file that are asked for."""
    format = detect_format(file) or _detect_text_format(file)
    module, name = READERS[format]
    reader = getattr(importlib.import_module(f"tercet.datasets.readers.{module}"), name)
    try:
        with refuse_damage(file, format):
            for table in reader(file, request):
                if module == "text" or not request.like.columns:
                    yield table
                    continue
                types = TypeInference(like=request.like)
                frame = types.infer(table.frame)
                yield replace(table, frame=frame, notes=(*table.notes, *types.notes.messages()))
    except csv.Error as error:  # a carriage return inside a field, say
        raise file.error("not a regular table: {reason}", reason=str(error).partition(" - ")[0]) from None


def _detect_text_format(source: SourceFile) -> str:
    """The format of a text whose name does not give it away."""
    if source.ending in (".csv", ".tsv", ".tab"):
        return "CSV"
    head = first_bytes(source.path, 1 << 16).removeprefix(b"\xef\xbb\xbf").decode("latin-1")
    lines = [line for line in head.split("\n")[:-1] or [head] if line.strip()]
    told = [line for line in lines if not line.lstrip().startswith("%")]
    if told and told[0].lstrip().lower().startswith("@relation"):
        return "ARFF"
    told = [line for line in lines if not line.startswith("#")][:50]
    if told and all(PAIRS.fullmatch(line.strip()) for line in told) and any(":" in line for line in told):
        return "SVMlight"
    return "CSV"
