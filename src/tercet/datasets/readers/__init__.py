"""Readers: tables from files of many formats.

`read_table` finds out the format by itself. polars is imported when a file is read, not before.
"""

from __future__ import annotations

from tercet.datasets.readers.date_parsing import parse_dates
from tercet.datasets.readers.read import read_batches, read_table
from tercet.datasets.readers.table import Table, TableError, listed
from tercet.datasets.readers.type_inference import MISSING

__all__ = ["MISSING", "Table", "TableError", "listed", "parse_dates", "read_batches", "read_table"]
