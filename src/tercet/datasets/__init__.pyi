from tercet.datasets.generators import two_moons
from tercet.datasets.loans import load_loans
from tercet.datasets.readers import Table, TableError, read_batches, read_table
from tercet.datasets.sources import Source, SourceError
from tercet.datasets.watermelon import load_watermelon

__all__ = [
    "Source",
    "SourceError",
    "Table",
    "TableError",
    "load_loans",
    "load_watermelon",
    "read_batches",
    "read_table",
    "two_moons",
]
