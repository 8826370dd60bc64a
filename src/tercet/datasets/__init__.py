"""Embedded data, generators and readers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tercet.core.lazy import lazily

if TYPE_CHECKING:
    from tercet.datasets.generators import two_moons
    from tercet.datasets.loans import load_loans
    from tercet.datasets.readers import Table, TableError, read_batches, read_table
    from tercet.datasets.watermelon import load_watermelon

__all__ = ["Table", "TableError", "load_loans", "load_watermelon", "read_batches", "read_table", "two_moons"]
# The readers do without scikit-learn, and the embedded data without polars.
__getattr__, __dir__ = lazily(
    __name__,
    {
        "Table": f"{__name__}.readers",
        "TableError": f"{__name__}.readers",
        "load_loans": f"{__name__}.loans",
        "load_watermelon": f"{__name__}.watermelon",
        "read_batches": f"{__name__}.readers",
        "read_table": f"{__name__}.readers",
        "two_moons": f"{__name__}.generators",
    },
)
