"""Readers: tables from files of many formats.

`read_table` finds out the format by itself. polars is imported when a file is read, not before.
"""

from __future__ import annotations

from tercet.datasets.readers.read import read_table
from tercet.datasets.readers.table import Table, TableError

__all__ = ["Table", "TableError", "read_table"]
