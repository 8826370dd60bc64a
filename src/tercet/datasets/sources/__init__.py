"""Sources: rows in files, memory maps, frames and batches that are read when they are needed."""

from tercet.core.sources import SourceError
from tercet.datasets.sources.source import Source

__all__ = ["Source", "SourceError"]
