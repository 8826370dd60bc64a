"""Worker processes that can be stopped at any moment.

Threads cannot be stopped, and a budget that depends on every method's good manners is none. The processes come
from a fork server that has imported the families while the table was being read: each starts in milliseconds.
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

from tercet.core.catalog import methods
from tercet.core.messages import Message

SERVANT = "tercet.cli.compare.workbench"


@dataclass
class Job:
    """One piece of work: a method of the workbench by name, with its arguments."""

    verb: str
    arguments: dict[str, Any] = field(default_factory=dict)
    label: str = ""
    limit: float = math.inf  # seconds that it may take


@dataclass
class Outcome:
    """What came of a job: a value, or why there is none."""

    job: Job
    value: Any = None
    error: str | None = None
    lost: bool = False  # the process died or the time was up


def start_server() -> Any:
    """The context that makes processes; call it early, it imports in the background."""
    if "forkserver" not in multiprocessing.get_all_start_methods() or sys.platform == "darwin":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    families = sorted({card.module for card in methods() if card.kind == "estimator"})
    context.set_forkserver_preload([SERVANT, *families])
    from multiprocessing import forkserver

    # The server must not die of the Ctrl-C that is meant for us, nor keep a pipe open that we write to: it
    # lives a little longer than we do.
    with _ignoring_interrupts(), _silent():
        forkserver.ensure_running()
    return context


class Crew:
    """A few processes, each with the data on its workbench. They are hired when there is work for them.

    Parameters
    ----------
    context : multiprocessing context
        From `start_server`.
    size : int
        Number of processes.
    setup : dict
        Arguments of the workbench: the data, the folds, the measure.
    """

    def __init__(self, context: Any, size: int, setup: dict[str, Any]) -> None:
        self._context, self._setup = context, setup
        self._members: list[tuple[Any, Any] | None] = [None] * size

    def _pipe(self, k: int, deadline: float) -> Any:
        """The way to one member, who is hired if the place is free; None if that takes too long."""
        member = self._members[k]
        if member is None:
            ours, theirs = self._context.Pipe()
            process = self._context.Process(target=_serve, args=(theirs, self._setup), daemon=True)
            # Starting waits for the server's imports. In a thread, so that neither Ctrl-C nor the deadline does.
            hiring = threading.Thread(target=process.start, daemon=True)
            hiring.start()
            hiring.join(max(0.0, deadline - time.monotonic()))
            if hiring.is_alive():
                return None
            theirs.close()
            member = self._members[k] = (process, ours)
        return member[1]

    def run(
        self, jobs: Iterable[Job], deadline: float, begun: Callable[[Job], Any] | None = None
    ) -> Iterator[Outcome]:
        """Do the jobs in order, as many at a time as there are processes. What is not done by the deadline, or
        within its own limit, is lost. Outcomes come as they are finished; `jobs` may look at earlier ones
        before it gives the next."""
        queue = iter(jobs)
        busy: dict[Any, tuple[int, Job, float]] = {}  # pipe -> (member, job, when it is lost)
        idle = list(range(len(self._members)))[::-1]
        more = True
        while True:
            while more and idle and time.monotonic() < deadline:
                job = next(queue, None)
                if job is None:
                    more = False
                    break
                k = idle.pop()
                pipe = self._send(job, k, deadline)
                if pipe is None:
                    yield Outcome(job, error=Message("the time was up"), lost=True)
                    break
                busy[pipe] = (k, job, min(deadline, time.monotonic() + job.limit))
                if begun:
                    begun(job)
            if not busy:
                return
            first = min(end for _, _, end in busy.values())
            ready: list[Any] = wait(list(busy), timeout=max(0.0, first - time.monotonic()))
            for pipe in ready:
                k, job, _ = busy.pop(pipe)
                try:
                    value, error = pipe.recv()
                    yield Outcome(job, value, error)
                except (EOFError, OSError):
                    self._lose(k)
                    yield Outcome(job, error=Message("the process ended, probably out of memory"), lost=True)
                idle.append(k)
            for pipe, (k, job, end) in list(busy.items()):
                if time.monotonic() >= end:
                    del busy[pipe]
                    self._lose(k)
                    idle.append(k)
                    yield Outcome(job, error=Message("the time was up"), lost=True)

    def _send(self, job: Job, k: int, deadline: float) -> Any:
        """Give a job to one member; None if there is none to be had in time."""
        for _ in range(2):
            pipe = self._pipe(k, deadline)
            if pipe is None:
                return None
            try:
                pipe.send(job)
                return pipe
            except OSError:  # it died while it had nothing to do
                self._lose(k)
        return None

    def _lose(self, k: int) -> None:
        _dismiss(self._members[k])
        self._members[k] = None

    def dismiss(self) -> None:
        """Stop all of them, at once."""
        for k in range(len(self._members)):
            self._lose(k)

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *_: Any) -> None:
        self.dismiss()


def _dismiss(member: tuple[Any, Any] | None) -> None:
    if member is None:
        return
    process, pipe = member
    with contextlib.suppress(OSError):
        pipe.close()
    process.kill()
    process.join(1.0)


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Children begin with nothing to write to."""
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
    """Children begin with Ctrl-C ignored; only the main process answers it."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _serve(pipe: Any, setup: dict[str, Any]) -> None:
    """The life of one process: take a job, do it, answer."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(OSError):  # if memory runs out, this process goes first and the results stay
        Path("/proc/self/oom_score_adj").write_text("1000")
    # One process a core: no second level of threads.
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS"):
        os.environ[name] = "1"
    from threadpoolctl import threadpool_limits

    from tercet.cli.compare.workbench import Workbench

    with threadpool_limits(1):
        bench = Workbench(**setup)
        while True:
            try:
                job = pipe.recv()
            except (EOFError, OSError):
                return
            try:
                answer: tuple[Any, str | None] = (getattr(bench, job.verb)(**job.arguments), None)
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
    """Why it went wrong, in one line; a note stays a note, to be said in either language."""
    if error.args and isinstance(error.args[0], Message):
        return error.args[0]
    return " ".join(str(error).split()) or type(error).__name__
