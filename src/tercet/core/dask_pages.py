"""Pages of rows on the workers of a Dask cluster, which passes may change.

Blocks of pages are read by the workers that hold them (`core.dask_engine`). What a pass changes, the nodes and
scores of rows, lies beside a page in the worker's memory: it is a cache. A page counts the changes that it has
seen, and the client keeps the functions that made them. A page that has not seen all of them, because its worker
was lost, or Dask moved its block or wrote it to disk, says so instead of giving a result; then it is asked again,
with those functions, which are applied to the rows as they were read.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from tercet.core.dask_engine import DaskEngine
from tercet.core.parallel import one_blas_thread
from tercet.core.row_pages import Field, PageSums, RowPages

Change = Callable[[Any], Any]  # of a page


class PagedRows(Protocol):
    """Rows that can be read into pages: by another process, where they are `portable`."""

    n_rows: int
    page_rows: int
    fields: dict[str, Field]
    changed: tuple[str, ...]  # the fields that passes change

    @property
    def portable(self) -> bool: ...

    def read(self, start: int, stop: int) -> RowPages:
        """Pages in memory of the rows from start to stop, with those fields that are read."""


class WorkerPages:
    """Pages of rows on workers; see `core.row_pages.Pages`.

    Parameters
    ----------
    engine : DaskEngine
    rows : PagedRows
    """

    def __init__(self, engine: DaskEngine, rows: PagedRows) -> None:
        self.engine, self.reader = engine, PageReader(rows)
        self.n_rows, self.page_rows, self.fields = rows.n_rows, rows.page_rows, rows.fields
        self.changes: list[Change] = []  # that lead from the rows as they were read to the present pages
        self.seen = 0  # changes by now, those that were summed up by a checkpoint included

    def __len__(self) -> int:
        return len(self.reader)

    def each(self, function: Change, n_jobs: int | None = None, *, changes: bool = False) -> list[Any]:
        """`function(page)` of every page, in their order; on the worker of the page."""
        found = self._on_blocks(EachPage(function), function if changes else None)
        return [result for block in sorted(found) for result in found[block]]

    def total(self, sums: PageSums, n_jobs: int | None = None) -> Any:
        """The sums over all pages; those of neighbouring blocks are combined on the workers."""
        found = self._on_blocks(TotalOfPages(sums), sums.replay if sums.changes else None)
        return functools.reduce(sums.combine, found.values(), sums.begin())

    def checkpoint(self, functions: list[Change]) -> None:
        """Say how a page comes from its first state to the present one, instead of by all that was done so far."""
        self.changes = list(functions)

    def close(self) -> None:
        """Let the workers forget the pages."""
        self.reader.pinned.clear()

    def _on_blocks(self, work: Any, change: Change | None) -> dict[int, Any]:
        """The results of blocks of pages, by the numbers of their first pages."""
        blocks = self.engine.blocks(self.reader)  # type: ignore[arg-type]
        found, behind = self._ask(work, change, blocks, None)
        if behind:
            again = [block for block in blocks if block.first in behind]
            more, never = self._ask(work, change, again, self.changes)
            assert not never  # whoever has the changes is not behind
            found |= more
        if change is not None:
            self.seen += 1
            self.changes.append(change)
        return found

    def _ask(
        self, work: Any, change: Change | None, blocks: list[Any], changes: list[Change] | None
    ) -> tuple[dict[int, Any], set[int]]:
        call = work_on_pages, work.combine, (work, self.seen, change is not None, changes)
        found, behind = {}, set()
        for _, answer in self.engine.on_blocks(_of_block, blocks, call, combined=work.combined):
            behind |= set(answer.behind)
            if answer.first >= 0:
                found[answer.first] = answer.result
        return found, behind

    def __enter__(self) -> WorkerPages:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()


class PageReader:
    """Pages in place of chunks, for blocks of the engine: they are read when someone walks through them."""

    def __init__(self, rows: PagedRows) -> None:
        self.rows = rows
        self.pinned: dict[Any, Any] = {}  # the blocks on the workers

    def __len__(self) -> int:
        return -(-self.rows.n_rows // self.rows.page_rows)

    @property
    def portable(self) -> bool:
        return self.rows.portable

    @property
    def chunk_bytes(self) -> int:
        """Bytes of one page, with what passes change."""
        return self.rows.page_rows * sum(field.row_bytes for field in self.rows.fields.values())

    def walk(self, first: int, last: int) -> Iterator[WorkerPage]:
        """The pages from first to last."""
        rows, size = self.rows, self.rows.page_rows
        read = rows.read(first * size, min(last * size, rows.n_rows))
        for k in range(len(read)):
            arrays = {name: read.get(k, name) for name in read.fields}
            yield WorkerPage(first + k, (first + k) * size, read.rows(k), rows.fields, rows.changed, arrays)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "pinned": {}}


class WorkerPage:
    """A page on a worker: what was read, and what passes have changed since, which does not travel."""

    def __init__(
        self,
        number: int,
        start: int,
        rows: int,
        fields: dict[str, Field],
        changed: tuple[str, ...],
        arrays: dict[str, np.ndarray],
    ) -> None:
        self.number, self.start, self.rows, self.fields, self.changed = number, start, rows, fields, changed
        self.arrays = arrays
        self._forget()

    def _forget(self) -> None:
        self.now: dict[str, np.ndarray] = {}
        self.seen = 0
        self.lock = threading.Lock()

    def get(self, name: str) -> np.ndarray:
        """A field of the rows; one that passes change is 0 at first where it was not read."""
        if name not in self.changed:
            return self.arrays[name]
        if name not in self.now:
            field = self.fields[name]
            empty = np.zeros((*field.shape, self.rows), field.dtype)
            self.now[name] = self.arrays[name].copy() if name in self.arrays else empty
        return self.now[name]

    def bring_to(self, seen: int, changes: list[Change] | None) -> bool:
        """Bring the page to a number of changes, by all of them if need be; False where they are not known."""
        if self.seen == seen:
            return True
        if changes is None:
            return False
        self.now, self.seen = {}, -1
        for change in changes:
            change(self)
        self.seen = seen
        return True

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key not in ("now", "seen", "lock")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget()


class Answer(NamedTuple):
    """The result of some blocks: the first page of them, and the first pages of blocks that are behind."""

    first: int  # -1 where all are behind
    result: Any
    behind: list[int]


@dataclass
class EachPage:
    """Results of every page, in a list."""

    function: Change
    combined: ClassVar[bool] = False
    combine: ClassVar[None] = None

    def begin(self) -> list[Any]:
        return []

    def workspace(self, rows: int) -> None:
        return None

    def add(self, page: WorkerPage, found: list[Any], workspace: None) -> None:
        found.append(self.function(page))


@dataclass
class TotalOfPages:
    """Sums over pages."""

    sums: PageSums
    combined: ClassVar[bool] = True

    def begin(self) -> Any:
        return self.sums.begin()

    def workspace(self, rows: int) -> Any:
        return self.sums.workspace(rows)

    def add(self, page: WorkerPage, found: Any, workspace: Any) -> None:
        self.sums.add(page, found, workspace)

    def combine(self, left: Answer, right: Answer, owned: bool) -> Answer:
        """The sums of two groups of blocks."""
        behind = left.behind + right.behind
        if left.first < 0 or right.first < 0:
            return (right if left.first < 0 else left)._replace(behind=behind)
        result = left.result if owned else self.sums.combine(self.sums.begin(), left.result)
        return Answer(left.first, self.sums.combine(result, right.result), behind)


def work_on_pages(
    pages: list[WorkerPage], work: Any, seen: int, changes_pages: bool, changes: list[Change] | None
) -> Answer:
    """What is asked of the pages of a block, if all of them have seen so many changes, or are told which."""
    first = pages[0].number
    if changes is None and any(page.seen != seen for page in pages):
        return Answer(-1, None, [first])
    found, workspace = work.begin(), work.workspace(max(page.rows for page in pages))
    for page in pages:
        with page.lock:
            if not page.bring_to(seen, changes):  # another task was here in between
                return Answer(-1, None, [first])
            page.seen = -1 if changes_pages else seen
            work.add(page, found, workspace)
            page.seen = seen + changes_pages
    return Answer(first, found, [])


def _of_block(block: Any, call: Any) -> Answer:
    with one_blas_thread():
        return call.function(block.chunks, *call.parameters)
