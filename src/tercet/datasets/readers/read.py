"""`read_table`: any table from a file."""

from __future__ import annotations

import csv
import importlib
import os
import re

from tercet.datasets.readers.source import Source, opened, recognised, start
from tercet.datasets.readers.table import Table

READERS = {
    "CSV": ("text", "read_text"),
    "ARFF": ("arff", "read_arff"),
    "SVMlight": ("svmlight", "read_svmlight"),
    "Parquet": ("columnar", "read_parquet"),
    "Feather": ("columnar", "read_feather"),
    "npz": ("npz", "read_npz"),
    "npy": ("npz", "read_npy"),
}
PAIRS = re.compile(r"[+-]?[\d.]\S*( +qid:\d+)?( +\d+:\S+)*\s*(#.*)?")


def read_table(source: str | os.PathLike[str], *, rows: int | None = None, seed: int = 0) -> Table:
    """Read a table: CSV, TSV, Parquet, Feather, ARFF, SVMlight or npz, packed by gzip, bzip2, xz or not.

    Format, encoding, delimiter, quotes, header, decimal comma and marks for missing values are found out; the
    table's `notes` say what was found. A table that would fill more than half of the memory is not read as a
    whole: rows are drawn at random.

    Parameters
    ----------
    source : the file.
    rows : at most so many rows, drawn at random.
    seed : decides which.

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
    try:
        import polars  # noqa: F401
    except ImportError:
        raise ImportError("Tables are read with polars: pip install 'tercet[cli]'") from None
    with opened(source) as file:
        module, name = READERS[recognised(file) or _looked(file)]
        reader = getattr(importlib.import_module(f"tercet.datasets.readers.{module}"), name)
        try:
            return reader(file, rows, seed)
        except csv.Error as error:  # a carriage return inside a field, say
            raise file.error("not a regular table: {reason}", reason=str(error).partition(" - ")[0]) from None


def _looked(source: Source) -> str:
    """The format of a text whose name does not give it away."""
    if source.ending in (".csv", ".tsv", ".tab"):
        return "CSV"
    head = start(source.path, 1 << 16).removeprefix(b"\xef\xbb\xbf").decode("latin-1")
    lines = [line for line in head.split("\n")[:-1] or [head] if line.strip()]
    told = [line for line in lines if not line.lstrip().startswith("%")]
    if told and told[0].lstrip().lower().startswith("@relation"):
        return "ARFF"
    told = [line for line in lines if not line.startswith("#")][:50]
    if told and all(PAIRS.fullmatch(line.strip()) for line in told) and any(":" in line for line in told):
        return "SVMlight"
    return "CSV"
