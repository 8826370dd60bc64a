"""Arrays with a value for every row, kept page by page: in memory as far as it goes, the rest in temporary files.

A page is a fixed number of rows. Pages of a file are mapped into memory one at a time, so that no more of it is
resident than is worked on. The files have no name in any folder (or lose it when they are closed): nothing is left
of them after a fit, an error, Ctrl-C or the end of the process.

A pass over pages is a function of each page (`each`) or sums over all of them (`total`), both of which may change
pages in place. `core.dask_pages` has the same passes over pages on the workers of a cluster.
"""

from __future__ import annotations

import functools
import itertools
import mmap
import os
import tempfile
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from tercet.core.parallel import _engine as engine_in_use
from tercet.core.parallel import each, elsewhere
from tercet.core.reduction import add
from tercet.core.stopping import check_stop

BLOCK = 1 << 23  # bytes that are written at once where a file cannot be reserved


class Field(NamedTuple):
    """What is kept of each row: the shape of a value, and its type."""

    shape: tuple[int, ...]
    dtype: Any

    @property
    def row_bytes(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64)) * np.dtype(self.dtype).itemsize


class Page(Protocol):
    """Some consecutive rows: the number of the first one, how many there are, and their arrays."""

    @property
    def start(self) -> int: ...

    @property
    def rows(self) -> int: ...

    @property
    def fields(self) -> dict[str, Field]: ...

    def get(self, name: str) -> np.ndarray:
        """A field of the rows, which may be changed in place; of shape (..., rows)."""


class PageSums:
    """Base class of sums over pages whose order does not matter: of integers, smallest and largest values.

    Subclasses are dataclasses of small arrays and numbers, which are sent to the workers of a cluster.
    """

    changes = False  # whether pages are changed, too

    def begin(self) -> Any:
        """The sums of no rows."""
        raise NotImplementedError

    def workspace(self, rows: int) -> Any:
        """Memory for pages of at most so many rows, which is used again for one page after the other."""
        return None

    def add(self, page: Page, sums: Any, workspace: Any) -> None:
        """Add the rows of a page, in place."""
        raise NotImplementedError

    def combine(self, left: Any, right: Any) -> Any:
        """The sums of the pages of both; `left` may be changed."""
        return add(left, right, True)

    def replay(self, page: Page) -> None:
        """Change a page as `add` does, without the sums."""
        raise NotImplementedError


class Pages(Protocol):
    """Pages of rows, here or on the workers of a cluster."""

    n_rows: int
    page_rows: int
    fields: dict[str, Field]

    def __len__(self) -> int: ...

    def each(
        self, function: Callable[[Any], Any], n_jobs: int | None = None, *, changes: bool = False
    ) -> list[Any]:
        """`function(page)` of every page, in their order; `changes` says whether it changes them."""

    def total(self, sums: Any, n_jobs: int | None = None) -> Any:
        """The sums over all pages."""

    def checkpoint(self, functions: list[Callable[[Any], Any]]) -> None:
        """Say how a page comes from its first state to the present one, instead of by all that was done so far."""

    def close(self) -> None: ...


class PageView(NamedTuple):
    """A page of `RowPages`."""

    pages: RowPages
    number: int

    @property
    def start(self) -> int:
        return self.number * self.pages.page_rows

    @property
    def rows(self) -> int:
        return self.pages.rows(self.number)

    @property
    def fields(self) -> dict[str, Field]:
        return self.pages.fields

    def get(self, name: str) -> np.ndarray:
        return self.pages.get(self.number, name)


class RowPages:
    """Arrays of shape (..., rows), in pages.

    Parameters
    ----------
    n_rows : int
    page_rows : int
        Rows of a page; the last one may have fewer.
    fields : dict of Field
        What is kept. The first ones are in memory, as long as there is some.
    memory : int
        Bytes that may be used.

    Examples
    --------
    >>> with RowPages(5, 2, {"score": Field((), np.float64)}, memory=0) as pages:
    ...     for page in range(len(pages)):
    ...         pages.get(page, "score")[:] = page
    ...     [pages.get(page, "score").tolist() for page in range(len(pages))], pages.on_disk
    ([[0.0, 0.0], [1.0, 1.0], [2.0]], 40)
    """

    def __init__(self, n_rows: int, page_rows: int, fields: dict[str, Field], memory: int) -> None:
        self.n_rows, self.page_rows, self.fields = n_rows, page_rows, fields
        self.buffers: dict[str, Any] = {}
        self.on_disk = 0
        try:
            for name, field in fields.items():
                size = field.row_bytes * n_rows
                if size <= memory:
                    self.buffers[name] = np.zeros(size, np.uint8)
                    memory -= size
                else:
                    self.buffers[name] = _reserved_file(size)
                    self.on_disk += size
        except BaseException:
            self.close()
            raise

    def __len__(self) -> int:
        return -(-self.n_rows // self.page_rows)

    def rows(self, page: int) -> int:
        """The number of rows of a page."""
        return min(self.page_rows, self.n_rows - page * self.page_rows)

    def get(self, page: int, name: str) -> np.ndarray:
        """A page of a field, which may be changed in place."""
        field, buffer = self.fields[name], self.buffers[name]
        start, size = page * self.page_rows * field.row_bytes, self.rows(page) * field.row_bytes
        shape = (*field.shape, self.rows(page))
        if isinstance(buffer, np.ndarray):
            return buffer[start : start + size].view(field.dtype).reshape(shape)
        first = start // mmap.ALLOCATIONGRANULARITY * mmap.ALLOCATIONGRANULARITY
        mapped = mmap.mmap(buffer.fileno(), start - first + size, offset=first)
        return np.frombuffer(mapped, field.dtype, int(np.prod(shape)), start - first).reshape(shape)

    def write(self, start: int, **arrays: np.ndarray) -> None:
        """Write rows from number `start` on; arrays have the rows last."""
        count = next(iter(arrays.values())).shape[-1]
        for page, here, there in self._spans(start, count):
            for name, array in arrays.items():
                self.get(page, name)[..., there] = array[..., here]

    def each(
        self, function: Callable[[Any], Any], n_jobs: int | None = None, *, changes: bool = False
    ) -> list[Any]:
        """`function(page)` of every page, in their order."""

        def work(number: int) -> Any:
            check_stop()
            return function(PageView(self, number))

        return each(work, range(len(self)), n_jobs=n_jobs)

    def total(self, sums: PageSums, n_jobs: int | None = None) -> Any:
        """The sums over all pages; each thread adds up those of the pages that it comes to."""
        numbers = itertools.count()

        def work(_: int) -> Any:
            found, workspace = sums.begin(), sums.workspace(self.page_rows)
            while (number := next(numbers)) < len(self):
                check_stop()
                sums.add(PageView(self, number), found, workspace)
            return found

        jobs = max(1, min(n_jobs or 1, len(self)))
        return functools.reduce(sums.combine, each(work, range(jobs), n_jobs=jobs))

    def checkpoint(self, functions: list[Callable[[Any], Any]]) -> None:
        """Nothing to do: these pages are not lost."""

    def _spans(self, start: int, count: int) -> Iterator[tuple[int, slice, slice]]:
        done = 0
        while done < count:
            page, at = divmod(start + done, self.page_rows)
            size = min(count - done, self.page_rows - at)
            yield page, slice(done, done + size), slice(at, at + size)
            done += size

    def close(self) -> None:
        """Give memory and files back."""
        for buffer in self.buffers.values():
            if not isinstance(buffer, np.ndarray):
                buffer.close()
        self.buffers = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()


def pages_elsewhere(rows: Any) -> Any:
    """Pages on the machines of the engine in use (`core.dask_pages.WorkerPages`); None where it works here."""
    chosen: Any = engine_in_use.get()
    return chosen.pages(rows) if elsewhere() else None


def _reserved_file(size: int) -> Any:
    """A temporary file of so many bytes that are there: a mapping must not run out of disk."""
    file = tempfile.TemporaryFile(prefix="tercet-")  # noqa: SIM115  (closed by its owner)
    try:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, size)
        else:
            for start in range(0, size, BLOCK):
                file.write(bytes(min(BLOCK, size - start)))
            file.flush()
    except OSError as error:
        file.close()
        raise OSError(
            error.errno,
            f"{tempfile.gettempdir()} has no room for {size:,} bytes of a temporary file "
            f"({error.strerror}). TMPDIR names another folder; TERCET_MEMORY gives more memory.",
        ) from error
    return file
