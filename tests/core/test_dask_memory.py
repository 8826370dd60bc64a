"""Memory of Dask workers: the allocator is set in their processes only."""

import ctypes

import pytest

from tercet.core import dask_memory


class Library:
    """A C library that remembers what is set."""

    def __init__(self):
        self.parameters = {}

    def mallopt(self, name, value):
        self.parameters[name] = value
        return 1


@pytest.mark.parametrize("on_a_worker", [False, True])
def test_only_workers_use_freed_memory_again(on_a_worker, monkeypatch):
    library = Library()
    monkeypatch.setattr(ctypes, "CDLL", lambda name: library)
    monkeypatch.delenv("MALLOC_TRIM_THRESHOLD_", raising=False)
    if on_a_worker:
        monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "65536")
    dask_memory.reuse_memory.__wrapped__()
    expected = {
        dask_memory.MMAP_THRESHOLD: dask_memory.LARGEST,
        dask_memory.TRIM_THRESHOLD: dask_memory.KEPT,
    }
    assert library.parameters == (expected if on_a_worker else {})


def test_another_c_library_is_left_alone(monkeypatch):
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "65536")
    assert dask_memory.reuse_memory.__wrapped__() is None
