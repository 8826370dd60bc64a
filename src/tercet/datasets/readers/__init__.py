"""Readers: tables from files of many formats.

`read_table` finds out the format by itself. polars is imported when a file is read, not before.
"""

from __future__ import annotations

from tercet.datasets.readers.read import read_batches, read_table
from tercet.datasets.readers.table import Table, TableError, listed

__all__ = ["Table", "TableError", "listed", "read_batches", "read_table"]
