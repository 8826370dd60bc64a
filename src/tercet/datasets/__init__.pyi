from tercet.datasets.generators import two_moons
from tercet.datasets.loans import load_loans
from tercet.datasets.readers import Table, TableError, read_batches, read_table
from tercet.datasets.watermelon import load_watermelon

__all__ = ["Table", "TableError", "load_loans", "load_watermelon", "read_batches", "read_table", "two_moons"]
