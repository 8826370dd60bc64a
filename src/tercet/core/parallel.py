"""One way to go wide: statistics of chunks of rows, added up in a fixed order.

A gradient, expected counts, a histogram, a scatter matrix: each is a sum over rows. A family writes
`statistics(chunk, *parameters)`, which returns arrays or numbers for one chunk, and calls

    total(statistics, chunks, *parameters, n_jobs=self.n_jobs)

The split comes from the data, never from the engine or the number of threads, and the sum runs over one fixed tree
(`core.reduction`): the same bits come out for every `n_jobs`. `Chunks` cuts arrays in memory, and rows of a source
that are not (`core.streams`); any sequence of tuples will do. An engine is anything with a `map` method; one that
works elsewhere (`core.dask_engine`) has a `reduce` method for streamed chunks. Other sources and other engines need
no change in a family.

An error or Ctrl-C ends the run in all its threads: between two items, and inside an item where it calls
`check_stop` (`core.stopping`).
"""

from __future__ import annotations

import abc
import contextlib
import contextvars
import functools
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any, Protocol, runtime_checkable

import joblib
import numpy as np
from threadpoolctl import ThreadpoolController

from tercet.core.chunks import Chunks as Chunks
from tercet.core.read_ahead import feed
from tercet.core.reduction import Combine, add, reduced
from tercet.core.stopping import Stopped, StopRequest, check_stop, working_for
from tercet.core.streams import StreamedChunks

INTERRUPT_WAIT = 1.0  # seconds that Ctrl-C waits for code without `check_stop`: a foreign estimator, say


class Engine(Protocol):
    """Where chunks are worked on."""

    def map(
        self, function: Callable[..., Any], items: Sequence[Any], parameters: tuple[Any, ...]
    ) -> Iterator[Any]:
        """Yield `function(item, *parameters)` for every item, in the order of the items."""


@runtime_checkable
class Elsewhere(Protocol):
    """An engine of other machines: it works on streamed chunks, and leaves all else to the threads of this one."""

    @abc.abstractmethod
    def reduce(
        self,
        statistics: Callable[..., Any],
        chunks: StreamedChunks,
        combine: Combine,
        parameters: tuple[Any, ...],
    ) -> Any:
        """The statistics of all chunks, combined over the fixed tree."""

    @abc.abstractmethod
    def each(
        self, function: Callable[..., Any], chunks: StreamedChunks, parameters: tuple[Any, ...]
    ) -> list[Any]:
        """`function(chunk, *parameters)` of every chunk, in their order."""


def total(
    statistics: Callable[..., Any], chunks: Sequence[Any], *parameters: Any, n_jobs: int | None = None
) -> Any:
    """Sum of `statistics(chunk, *parameters)` over the chunks, over the fixed tree of `core.reduction`.

    The statistics are an array, a number, or a tuple of such; results are added as they come in, so that
    memory does not grow with the number of chunks but by a few partial sums.
    """
    return reduce(statistics, chunks, add, *parameters, n_jobs=n_jobs)


def reduce(
    statistics: Callable[..., Any],
    chunks: Sequence[Any],
    combine: Combine,
    *parameters: Any,
    n_jobs: int | None = None,
) -> Any:
    """As `total`, with another way to combine the statistics of neighbours than their sum (see `Reduction`)."""
    chosen = _engine.get()
    if chosen is not None and isinstance(chunks, StreamedChunks) and isinstance(chosen, Elsewhere):
        return chosen.reduce(statistics, chunks, combine, parameters)
    if len(chunks) == 1 and n_jobs != 0 and chosen is None:
        return reduced(each(statistics, chunks, *parameters), combine)
    return reduced(engine(n_jobs).map(statistics, chunks, parameters), combine)


def each(
    function: Callable[..., Any], items: Sequence[Any], *parameters: Any, n_jobs: int | None = None
) -> list[Any]:
    """`[function(item, *parameters) for item in items]`, on several threads."""
    chosen = _engine.get()
    if chosen is not None and isinstance(items, StreamedChunks) and isinstance(chosen, Elsewhere):
        return chosen.each(function, items, parameters)
    if len(items) == 1 and n_jobs != 0 and chosen is None:  # no need to ask how many threads there are
        with one_blas_thread():
            check_stop()
            return [function(items[0], *parameters)]
    return list(engine(n_jobs).map(function, items, parameters))


_engine: contextvars.ContextVar[Engine | Elsewhere | None] = contextvars.ContextVar("engine", default=None)


def engine(n_jobs: int | None = None) -> Engine:
    """The engine in use: the one set by `using`, else threads; beside an engine elsewhere, threads."""
    chosen = _engine.get()
    return Threads(_threads_for(n_jobs)) if chosen is None or isinstance(chosen, Elsewhere) else chosen


def elsewhere() -> bool:
    """Whether the engine in use works on other machines, on rows that are streamed to them."""
    chosen = _engine.get()
    return chosen is not None and isinstance(chosen, Elsewhere)


def _threads_for(n_jobs: int | None) -> int:
    """How many threads n_jobs means. Not joblib's answer, which is about processes: 1 in a daemonic one."""
    if n_jobs is None:
        return joblib.effective_n_jobs(None)  # what `joblib.parallel_config` says, else 1
    if n_jobs == 0:
        raise ValueError("n_jobs must be a positive or negative number, or None; got 0.")
    return n_jobs if n_jobs > 0 else max(1, joblib.cpu_count() + 1 + n_jobs)


def all_cores(n_jobs: int | None) -> int:
    """`n_jobs`, where None means all cores, or OMP_NUM_THREADS of them.

    For the methods whose scikit-learn class uses OpenMP's threads without being asked: there None would be slower.
    joblib's worker processes have OMP_NUM_THREADS set to their share of the cores.
    """
    if n_jobs is not None:
        return n_jobs
    limit = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0]
    return min(_core_count(), int(limit)) if limit.isdigit() and int(limit) > 0 else _core_count()


@functools.cache
def _core_count() -> int:
    return joblib.cpu_count()  # which reads files of the system


@contextlib.contextmanager
def using(chosen: Any) -> Iterator[Any]:
    """Work on another engine inside a `with` block."""
    token = _engine.set(chosen)
    try:
        yield chosen
    finally:
        _engine.reset(token)


class Threads:
    """Threads of this process, over functions that leave the GIL alone for most of their time.

    The caller works too: it and the helpers take the next item from a counter. A helper that finds no free
    thread is simply not there, so nested or simultaneous calls cannot wait for each other.
    """

    def __init__(self, n_jobs: int = 1) -> None:
        self.n_jobs = n_jobs

    def map(
        self, function: Callable[..., Any], items: Sequence[Any], parameters: tuple[Any, ...] = ()
    ) -> Iterator[Any]:
        with one_blas_thread():
            if min(self.n_jobs, len(items)) <= 1:
                with feed(items) as ordered:
                    for item in ordered:
                        check_stop()
                        yield function(item, *parameters)
            else:
                yield from self._shared(function, items, parameters)

    def _shared(self, function: Any, items: Any, parameters: Any) -> Any:
        with feed(items) as ordered:
            yield from self._taken(_Run(function, items, parameters, ordered), items)

    def _taken(self, run: _Run, items: Any) -> Any:
        helpers = [_pool().submit(run.work) for _ in range(min(self.n_jobs, len(items)) - 1)]
        patience = None
        try:
            for k in range(len(items)):
                # The caller does items itself until the next one in order is there.
                while k not in run.results and run.step():
                    pass
                yield run.take(k)
        except KeyboardInterrupt:
            patience = INTERRUPT_WAIT
            raise
        finally:
            run.stop()
            wait([helper for helper in helpers if not helper.cancel()], timeout=patience)


class _Run:
    """The state of one `map`: a counter, the results that came early, the first error and the request to stop."""

    AHEAD = 64  # finished items that may wait for an earlier one

    def __init__(self, function: Any, items: Any, parameters: Any, ordered: Any) -> None:
        self.function, self.items, self.parameters = function, items, parameters
        self.ordered = (
            ordered if isinstance(items, StreamedChunks) else None
        )  # they can be read in order only
        self.fetching = threading.Lock()
        self.results: dict[int, Any] = {}
        self.change = threading.Condition()
        self.next = self.taken = 0
        self.error: BaseException | None = None
        self.request = StopRequest()
        self.floating_point = np.geterr()  # belongs to a thread: helpers take over the caller's

    def step(self) -> bool:
        """Do the next item; False when there is none left to begin."""
        try:
            with working_for(self.request):
                found = self.fetch()
                if found is None:
                    return False
                check_stop()
                k, item = found
                result = self.function(item, *self.parameters)
        except BaseException as error:
            with self.change:
                self.error = self.error or error
                self.stop()
            if isinstance(error, Stopped):  # because of the first error
                raise self.error from None
            raise
        with self.change:
            self.results[k] = result
            self.change.notify_all()
        return True

    def fetch(self) -> tuple[int, Any] | None:
        """The next item and its number; None when there is none left to begin."""
        if self.ordered is None:
            k = self.take_number()
            return None if k is None else (k, self.items[k])
        with self.fetching:
            k = self.take_number()
            return None if k is None else (k, next(self.ordered))

    def take_number(self) -> int | None:
        with self.change:
            k = self.next
            if k >= len(self.items):
                return None
            self.next += 1
            return k

    def work(self) -> None:
        with np.errstate(**self.floating_point):
            more = True
            while more:
                with self.change:
                    while self.next - self.taken > self.AHEAD and self.next < len(self.items):
                        self.change.wait()
                more = self.step()

    def take(self, k: int) -> Any:
        with self.change:
            while k not in self.results and self.error is None:
                self.change.wait()
            if self.error is not None:
                raise self.error
            self.taken = k + 1
            self.change.notify_all()
            return self.results.pop(k)

    def stop(self) -> None:
        """Begin no further item, and ask those that are under way to end."""
        self.request.raised = True
        with self.change:
            self.next = len(self.items)
            self.change.notify_all()


_threads: ThreadPoolExecutor | None = None
_guard = threading.Lock()


def _pool() -> ThreadPoolExecutor:
    global _threads
    with _guard:
        if _threads is None:
            _threads = ThreadPoolExecutor(
                max_workers=max(8, 2 * (os.cpu_count() or 1)), thread_name_prefix="tercet"
            )
        return _threads


class _Blas:
    """BLAS held to one thread while anyone here is at work (two levels of threads ruin each other).

    The setting belongs to the whole process, so it is counted: the first to come sets it, the last to leave
    puts back what was there. The libraries are asked and told directly, some microseconds in all: a limit of
    threadpoolctl takes some 60, and belongs to the thread that set it, while here another may leave last.
    """

    def __init__(self) -> None:
        self.lock, self.users = threading.Lock(), 0
        self.libraries: list[tuple[Callable[[], int], Callable[[int], Any]]] | None = None
        self.before: list[tuple[Callable[[int], Any], int]] = []

    def __enter__(self) -> None:
        with self.lock:
            self.users += 1
            if self.users == 1:
                if self.libraries is None:
                    self.libraries = _blas_libraries()
                self.before = [(tell, many) for ask, tell in self.libraries if (many := ask()) != 1]
                for tell, _ in self.before:
                    tell(1)

    def __exit__(self, *error: Any) -> None:
        with self.lock:
            self.users -= 1
            if self.users == 0:
                self.restore()

    def restore(self) -> None:
        """Put back what was there."""
        for tell, many in self.before:
            tell(many)
        self.before = []


def _blas_libraries() -> list[tuple[Callable[[], int], Callable[[int], Any]]]:
    """How to ask each BLAS of this process for its number of threads, and how to tell it."""
    found = ThreadpoolController().select(user_api="blas").lib_controllers
    # past the ownership that threadpoolctl gives to one thread, where its version has that
    return [
        (one.get_num_threads, getattr(one, "_real_set_num_threads", one.set_num_threads)) for one in found
    ]


_blas = _Blas()


def one_blas_thread() -> _Blas:
    """Hold BLAS to one thread inside a `with` block."""
    return _blas


def _after_fork() -> None:
    """A forked child has none of its parent's threads, and may have got locks that were held."""
    global _threads, _guard, _blas
    _threads, _guard = None, threading.Lock()
    before, _blas = _blas, _Blas()
    _blas.libraries = before.libraries
    if before.users:
        before.restore()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
