"""Memory of Dask workers: what a pass frees is kept for its next chunk."""

from __future__ import annotations

import ctypes
import functools
import os

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # names of glibc's parameters
LARGEST, KEPT = (
    32 << 20,
    64 << 20,
)  # bytes: of an array that is taken from what was freed, and of all that is kept


@functools.cache
def reuse_memory() -> None:
    """Let the allocator of this process use again what was freed, up to `KEPT` bytes.

    Dask starts its workers with MALLOC_TRIM_THRESHOLD_, which gives memory back soon. It has another effect: every
    array of more than 128 kB is fresh memory of the system, whose pages are cleared when they are first written to.
    Passes over chunks, with arrays of a chunk's length in each, take twice as long. Nothing happens in other
    processes, or where the C library is not glibc.
    """
    if "MALLOC_TRIM_THRESHOLD_" not in os.environ:
        return
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    mallopt(MMAP_THRESHOLD, LARGEST)
    mallopt(TRIM_THRESHOLD, KEPT)
