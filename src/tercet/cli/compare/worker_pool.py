"""Pool of worker processes that can be stopped at any moment, which threads cannot.

The processes come from a fork server that imports the methods while the table is being read, so that each
starts in milliseconds.
"""

from __future__ import annotations

import contextlib
import math
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

from tercet.core.messages import Message

# What the fork server imports; families are lazy, so that their names alone would not do.
PRELOADED = ["tercet.cli.compare.worker_tasks", "tercet.cli.compare.all_methods"]


@dataclass
class WorkerTask:
    """A call of a method of `WorkerTasks`, with its arguments."""

    method: str
    arguments: dict[str, Any] = field(default_factory=dict)
    label: str = ""
    limit: float = math.inf  # seconds


@dataclass
class TaskResult:
    """Result of a task: a value, or the reason why there is none."""

    task: WorkerTask
    value: Any = None
    error: str | None = None
    lost: bool = False  # the process died or timed out


def start_fork_server() -> Any:
    """Start the fork server, which imports in the background; returns the multiprocessing context."""
    if "forkserver" not in multiprocessing.get_all_start_methods() or sys.platform == "darwin":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    from multiprocessing import forkserver

    # The server must ignore our Ctrl-C, and must not keep our stdout and stderr open: it outlives us a little.
    with _ignoring_interrupts(), _null_output():
        forkserver.ensure_running()
    return context


def stop_fork_server() -> None:
    """Kill the fork server, if there is one: left alone it would finish its imports first."""
    from multiprocessing import forkserver

    server: Any = forkserver
    pid = getattr(server._forkserver, "_forkserver_pid", None)
    if pid is not None:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)


class WorkerPool:
    """Worker processes, each with a copy of the data, started when there is work for them.

    Parameters
    ----------
    context : multiprocessing context
        As `start_fork_server` returns it.
    size : int
        Number of processes.
    setup : dict
        Arguments of `WorkerTasks`: the data, the folds, the measure.
    """

    def __init__(self, context: Any, size: int, setup: dict[str, Any]) -> None:
        self._context, self._setup = context, setup
        self._workers: list[tuple[Any, Any] | None] = [None] * size

    def _pipe(self, k: int, deadline: float) -> Any:
        """The pipe of worker k, which is started if there is none; None if it does not start in time."""
        worker = self._workers[k]
        if worker is None:
            ours, theirs = self._context.Pipe()
            process = self._context.Process(target=_worker_main, args=(theirs, self._setup), daemon=True)
            # Starting waits for the server's imports; in a thread, so that Ctrl-C and the deadline need not.
            starting = threading.Thread(target=process.start, daemon=True)
            starting.start()
            starting.join(min(max(0.0, deadline - time.monotonic()), threading.TIMEOUT_MAX))
            if starting.is_alive() or process.pid is None:
                return None
            theirs.close()
            worker = self._workers[k] = (process, ours)
        return worker[1]

    def run(
        self, tasks: Iterable[WorkerTask], deadline: float, begun: Callable[[WorkerTask], Any] | None = None
    ) -> Iterator[TaskResult]:
        """Run the tasks in order, in parallel. What is not done by the deadline, or within its own limit, is
        lost. Results are yielded as they are finished; the iterator `tasks` may depend on earlier ones."""
        queue = iter(tasks)
        busy: dict[Any, tuple[int, WorkerTask, float]] = {}  # pipe -> (worker, task, its deadline)
        idle = list(range(len(self._workers)))[::-1]
        more = True
        while True:
            while more and idle and time.monotonic() < deadline:
                task = next(queue, None)
                if task is None:
                    more = False
                    break
                k = idle.pop()
                pipe = self._send(task, k, deadline)
                if pipe is None:
                    yield TaskResult(task, error=Message("the time was up"), lost=True)
                    break
                busy[pipe] = (k, task, min(deadline, time.monotonic() + task.limit))
                if begun:
                    begun(task)
            if not busy:
                return
            first = min(end for _, _, end in busy.values())
            left = None if math.isinf(first) else max(0.0, first - time.monotonic())
            ready: list[Any] = wait(list(busy), timeout=left)
            for pipe in ready:
                k, task, _ = busy.pop(pipe)
                try:
                    value, error = pipe.recv()
                    yield TaskResult(task, value, error)
                except (EOFError, OSError):
                    self._kill(k)
                    yield TaskResult(
                        task, error=Message("the process ended, probably out of memory"), lost=True
                    )
                idle.append(k)
            for pipe, (k, task, end) in list(busy.items()):
                if time.monotonic() >= end:
                    del busy[pipe]
                    self._kill(k)
                    idle.append(k)
                    yield TaskResult(task, error=Message("the time was up"), lost=True)

    def _send(self, task: WorkerTask, k: int, deadline: float) -> Any:
        """Send a task to worker k; None if it cannot be started in time."""
        for _ in range(2):
            pipe = self._pipe(k, deadline)
            if pipe is None:
                return None
            try:
                pipe.send(task)
                return pipe
            except OSError:  # the worker died while idle
                self._kill(k)
        return None

    def _kill(self, k: int) -> None:
        _stop(self._workers[k])
        self._workers[k] = None

    def stop(self) -> None:
        """Kill all workers."""
        for k in range(len(self._workers)):
            self._kill(k)

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(self, *_: Any) -> None:
        self.stop()


def _stop(worker: tuple[Any, Any] | None) -> None:
    if worker is None:
        return
    process, pipe = worker
    with contextlib.suppress(OSError):
        pipe.close()
    process.kill()
    process.join(1.0)


@contextlib.contextmanager
def _null_output() -> Iterator[None]:
    """Child processes start with stdout and stderr on the null device."""
    if os.environ.get("TERCET_DEBUG"):
        yield
        return
    sys.stdout.flush()
    sys.stderr.flush()
    kept = [os.dup(1), os.dup(2)]
    nothing = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
        yield
    finally:
        for k, end in enumerate(kept, 1):
            os.dup2(end, k)
            os.close(end)
        os.close(nothing)


@contextlib.contextmanager
def _ignoring_interrupts() -> Iterator[None]:
    """Child processes start with Ctrl-C ignored; the main process handles it."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _worker_main(pipe: Any, setup: dict[str, Any]) -> None:
    """Main loop of a worker: receive a task, run it, send the result."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(OSError):  # out of memory, the kernel kills the workers first
        Path("/proc/self/oom_score_adj").write_text("1000")
    # One process per core: no nested threads.
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS"):
        os.environ[name] = "1"
    from threadpoolctl import threadpool_limits

    from tercet.cli.compare.worker_tasks import WorkerTasks

    with threadpool_limits(1):
        tasks = WorkerTasks(**setup)
        while True:
            try:
                task = pipe.recv()
            except (EOFError, OSError):
                return
            try:
                answer: tuple[Any, str | None] = (getattr(tasks, task.method)(**task.arguments), None)
            except Exception as error:
                if os.environ.get("TERCET_DEBUG"):
                    import traceback

                    traceback.print_exc()
                answer = (None, _reason(error))
            try:
                pipe.send(answer)
            except OSError:
                return


def _reason(error: Exception) -> str:
    """The error in one line; a `Message` stays one, for translation."""
    if error.args and isinstance(error.args[0], Message):
        return error.args[0]
    return " ".join(str(error).split()) or type(error).__name__
