"""Fits on the workers of a Dask cluster: `with tercet.engine("dask", client): model.fit(...)`.

Consecutive chunks make blocks of 2^j, subtrees of the fixed tree of `core.reduction`; a block stays on a worker for
all passes. A pass sends the parameters to the workers once, computes the statistics of each block where it lies,
combines those of many neighbouring blocks there, and brings the rest here. The bits are those of threads, whatever
the number of workers.

A worker that is lost takes its blocks along: those that a worker can read itself are read again by Dask, others are
sent again from here. Ctrl-C cancels what was asked for. Nothing is started here, and no port opened: the cluster
and its security (TLS) are the client's.
"""

from __future__ import annotations

import contextlib
import pickle
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import cloudpickle
from distributed import Client, KilledWorker
from distributed.client import FutureCancelledError
from distributed.comm import CommClosedError

from tercet.core.dask_memory import reuse_memory
from tercet.core.parallel import one_blas_thread
from tercet.core.reduction import Combine, Reduction, reduced
from tercet.core.row_pages import Field
from tercet.core.steps import EngineLost
from tercet.core.stopping import check_stop
from tercet.core.streams import StreamedChunks

BLOCKS_PER_THREAD = 4  # of a worker: enough to even out their speeds, few enough for the scheduler
BLOCK_BYTES = 256 << 20  # a block is never larger, but for a single chunk
GROUP = 8  # blocks whose statistics are combined on a worker before they come here
PATIENCE = 5.0  # seconds that a scheduler may be out of reach
TRIES = 10  # for a block whose worker was lost


class DaskEngine:
    """Blocks of streamed chunks on the workers of a Dask cluster.

    Parameters
    ----------
    client : dask.distributed.Client
    """

    def __init__(self, client: Any) -> None:
        self.client: Any = client
        if not isinstance(client, Client):
            raise TypeError(f"engine('dask', client) takes a dask.distributed.Client; got {client!r}.")
        if client.asynchronous:
            raise TypeError("engine('dask', client) takes a client that is not asynchronous.")

    def reduce(
        self,
        statistics: Callable[..., Any],
        chunks: StreamedChunks,
        combine: Combine,
        parameters: tuple[Any, ...],
    ) -> Any:
        """The statistics of all chunks, combined over the fixed tree."""
        return self.reduce_blocks(self.blocks(chunks), _block_statistics, (statistics, combine, parameters))

    def reduce_blocks(self, blocks: Sequence[Any], function: Callable[..., Any], call: Any) -> Any:
        """The results of a function of blocks and a call, combined over the fixed tree."""
        tree = Reduction(call[1])
        for leaves, result in self.on_blocks(function, blocks, call, combined=True):
            tree.append(result, leaves, owned=False)
        return tree.result()

    def each(
        self, function: Callable[..., Any], chunks: StreamedChunks, parameters: tuple[Any, ...]
    ) -> list[Any]:
        """`function(chunk, *parameters)` of every chunk, in their order."""
        found = self.on_blocks(_block_results, self.blocks(chunks), (function, None, parameters))
        return [result for _, block in found for result in block]

    def pages(self, rows: Any) -> Any:
        """Rows that are read into pages (`core.dask_pages.PagedRows`), on the workers."""
        from tercet.core.dask_pages import WorkerPages

        return WorkerPages(self, rows)

    def states(self, chunks: StreamedChunks, fields: dict[str, Field]) -> Any:
        """States of the chunks on the workers that hold them; see `core.row_states`."""
        from tercet.core.dask_states import DaskStates

        return DaskStates(self, chunks, fields)

    def on_blocks(
        self,
        function: Callable[[Any, Any], Any],
        blocks: Sequence[Any],
        call: tuple[Callable[..., Any], Combine | None, tuple[Any, ...]],
        *,
        combined: bool = False,
    ) -> list[tuple[int, Any]]:
        """`function(block, call)` of blocks, on their workers, with the numbers of their chunks, in their order.

        The call, a function with a way to combine and parameters, is sent to the workers once; where results are
        `combined`, those of many neighbouring blocks are before they come here.
        """
        together = GROUP if combined and len(blocks) > 4 * GROUP else 1
        with self.cancelling() as run:
            there = run.send(call)
            tasks = [Task(blocks[k : k + together], there, function) for k in range(0, len(blocks), together)]
            return [(task.leaves, result) for task, result in zip(tasks, run.results(tasks))]

    def blocks(self, chunks: StreamedChunks) -> list[Block]:
        """The blocks of these chunks on the workers; they are let go with the chunks."""
        kept = chunks.pinned.get(id(self))
        if kept is None:
            size = self._block_size(chunks)
            kept = [
                Block(self.client, chunks, first, min(first + size, len(chunks)), size)
                for first in range(0, len(chunks), size)
            ]
            chunks.pinned[id(self)] = kept
        return kept

    def _block_size(self, chunks: StreamedChunks) -> int:
        """Chunks in a block: a power of two. How many says nothing about the result."""
        with _watching(self.client):
            threads = sum(self.client.nthreads().values())
        if not threads:
            raise EngineLost(
                "The Dask cluster has no workers: start some, or wait (`client.wait_for_workers(1)`)."
            )
        most = max(1, BLOCK_BYTES // max(chunks.chunk_bytes, 1))
        size = 1
        while 2 * size <= most and len(chunks) // (2 * size) >= BLOCKS_PER_THREAD * threads:
            size *= 2
        return size

    @contextlib.contextmanager
    def cancelling(self) -> Iterator[_Run]:
        """A pass, which is cancelled where an error ends the `with` block."""
        run = _Run(self.client)
        try:
            yield run
        except BaseException:
            run.cancel()
            raise


class Block:
    """Consecutive chunks on a worker."""

    def __init__(self, client: Any, chunks: StreamedChunks, first: int, last: int, size: int) -> None:
        self.client, self.chunks, self.first, self.last, self.size = client, chunks, first, last, size
        self.future: Any = None

    def data(self) -> Any:
        """The future of the list of chunks."""
        if self.future is None or self.future.status in ("cancelled", "lost", "error"):
            self.future = self._read_there() if self.chunks.portable else self._send()
        return self.future

    def _read_there(self) -> Any:
        name = f"tercet-block-{id(self.chunks):x}-{self.first}-{time.monotonic_ns():x}"
        return self.client.submit(_read_block, self.chunks, self.first, self.last, key=name, pure=False)

    def _send(self) -> Any:
        workers = sorted(self.client.nthreads())
        there = [workers[self.first // self.size % len(workers)]] if workers else None
        return sent(self.client, _read_block(self.chunks, self.first, self.last), there)

    def submit(self, function: Callable[..., Any], call: Any) -> Any:
        """The future of `function(chunks, call)`."""
        return self.client.submit(function, self.data(), call, pure=False)

    def forget_lost(self) -> None:
        """After a worker was lost: what was sent is sent again; what a worker reads itself, Dask reads again."""
        if not self.chunks.portable:
            self.future = None


class Task:
    """What is asked of neighbouring blocks."""

    def __init__(self, blocks: Sequence[Any], call: Any, function: Callable[..., Any]) -> None:
        self.blocks, self.call, self.function, self.tries = blocks, call, function, 0
        self.leaves = blocks[-1].last - blocks[0].first

    def submit(self, client: Any) -> Any:
        """The future of the result; statistics of several blocks are combined on a worker."""
        parts = [block.submit(self.function, self.call) for block in self.blocks]
        if len(parts) == 1:
            return parts[0]
        leaves = [block.last - block.first for block in self.blocks]
        return client.submit(_combined, parts, leaves, self.call, pure=False)


def sent(client: Any, value: Any, workers: list[str] | None = None) -> Any:
    """The future of a value that is sent to a worker; to another one where that is lost meanwhile.

    Not by `broadcast=True`, which waits for ever for a worker that is lost in between.
    """
    for tries in range(1, TRIES + 1):
        try:
            with _watching(client):
                return client.scatter(value, workers=workers, hash=False)
        except (OSError, TimeoutError):
            if tries == TRIES:
                raise
            workers = None
            time.sleep(min(0.1 * tries, 1.0))
    raise AssertionError


class _Run:
    """One pass: its futures, and the results that come in."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.futures: dict[Any, tuple[int, Task]] = {}
        self.done: queue.Queue[Any] = queue.Queue()

    def send(self, call: tuple[Any, ...]) -> Any:
        """Send the function and its parameters to the workers: to one, from which the others get them, once."""
        self.call = call
        return sent(self.client, Call(*call))

    def results(self, tasks: list[Task]) -> list[Any]:
        """The results of the tasks, in their order; tasks of lost workers are asked for again."""
        found: dict[int, Any] = {}
        for k, task in enumerate(tasks):
            self._ask(k, task)
        while len(found) < len(tasks):
            check_stop()
            future = self._next()
            k, task = self.futures.pop(future)
            if future.status == "finished":
                try:
                    with _watching(self.client):
                        found[k] = future.result(timeout=60)
                    continue
                except (TimeoutError, OSError):
                    pass  # its worker went before the result was here
            elif future.status == "error" and not _is_loss(future.exception()):
                raise future.exception()
            self._ask_again(k, task)
        return [found[k] for k in range(len(tasks))]

    def _ask(self, k: int, task: Task) -> None:
        with _watching(self.client):
            future = task.submit(self.client)
        self.futures[future] = k, task
        future.add_done_callback(self.done.put)

    def _ask_again(self, k: int, task: Task) -> None:
        task.tries += 1
        if task.tries > TRIES:
            raise EngineLost(
                f"The workers of the Dask cluster were lost {TRIES} times while they worked on chunks "
                f"{task.blocks[0].first} to {task.blocks[-1].last - 1}: they may have too little memory."
            )
        time.sleep(min(0.1 * task.tries, 1.0))
        for block in task.blocks:
            block.forget_lost()
        task.call = self.send(self.call)  # it may have been lost, too
        self._ask(k, task)

    def _next(self) -> Any:
        """A future that is done; an error where the scheduler cannot be reached."""
        silent = None
        while True:
            try:
                return self.done.get(timeout=0.25)
            except queue.Empty:
                silent = (silent or time.monotonic()) if not _is_connected(self.client) else None
                if silent is not None and time.monotonic() - silent > PATIENCE:
                    raise _gone(self.client) from None

    def cancel(self) -> None:
        """Cancel what was asked for, without waiting for a scheduler that does not answer."""
        futures = list(self.futures)
        if futures and _is_connected(self.client):
            canceller = threading.Thread(
                target=self.client.cancel, args=(futures,), kwargs={"force": True}, daemon=True
            )
            canceller.start()
            canceller.join(timeout=2.0)


class Packed:
    """What travels between machines in a form in which arrays come out aligned and writable.

    Dask's own form leaves them where they lie in a message; NumPy keeps arrays that are not aligned from BLAS,
    and other bits would come out.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpacked, (type(self), cloudpickle.dumps(self.__dict__, protocol=4))


def _unpacked(kind: Any, state: bytes) -> Any:
    reuse_memory()  # here, on a worker, before its first pass
    packed = kind.__new__(kind)
    packed.__dict__.update(cloudpickle.loads(state))
    return packed


class Call(Packed):
    """A function with its parameters."""

    def __init__(self, function: Any, combine: Any, parameters: tuple[Any, ...]) -> None:
        self.function, self.combine, self.parameters = function, combine, parameters


class BlockData(Packed):
    """The chunks of a block."""

    def __init__(self, chunks: list[Any], size: int) -> None:
        self.chunks, self.size = chunks, size

    def __sizeof__(self) -> int:  # by which Dask knows how full a worker is
        return self.size


def _read_block(chunks: StreamedChunks, first: int, last: int) -> BlockData:
    return BlockData(list(chunks.walk(first, last)), chunks.chunk_bytes * (last - first))


def _block_statistics(block: BlockData, call: Call) -> Any:
    with one_blas_thread():
        return reduced((call.function(chunk, *call.parameters) for chunk in block.chunks), call.combine)


def _combined(parts: list[Any], leaves: list[int], call: Call) -> Any:
    tree = Reduction(call.combine)
    for part, count in zip(parts, leaves):
        tree.append(part, count)  # not owned: Dask may give the same part to another task
    return tree.result()


def _block_results(block: BlockData, call: Call) -> list[Any]:
    with one_blas_thread():
        return [call.function(chunk, *call.parameters) for chunk in block.chunks]


def _is_loss(error: BaseException | None) -> bool:
    """Whether an error is about workers or connections, not about the computation."""
    return isinstance(error, KilledWorker | CommClosedError | FutureCancelledError | pickle.UnpicklingError)


def _is_connected(client: Any) -> bool:
    comm = getattr(client, "scheduler_comm", None)
    return client.status == "running" and comm is not None and not comm.comm.closed()


def _gone(client: Any) -> EngineLost:
    address = getattr(getattr(client, "scheduler", None), "address", "")
    return EngineLost(
        f"The Dask scheduler {address} cannot be reached any more. The model of the last pass is kept; fit again "
        "with warm_start=True, where the method has it, to go on from there."
    )


@contextlib.contextmanager
def _watching(client: Any) -> Iterator[None]:
    """Turns the errors of a connection that is lost into one of ours."""
    if not _is_connected(client):
        deadline = time.monotonic() + PATIENCE
        while not _is_connected(client):
            if time.monotonic() > deadline:
                raise _gone(client)
            time.sleep(0.1)
    try:
        yield
    except (OSError, TimeoutError) as error:
        if _is_connected(client):
            raise
        raise _gone(client) from error
