"""Worker processes that can be stopped at any moment.

Threads cannot be stopped, and a budget that depends on every method's good manners is none. The processes come
from a fork server that has imported the families while the table was being read: each starts in milliseconds.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

from tercet.core.catalog import methods
from tercet.core.notes import Note

SERVANT = "tercet.cli.compare.workbench"


@dataclass
class Job:
    """One piece of work: a method of the workbench by name, with its arguments."""

    verb: str
    arguments: dict[str, Any] = field(default_factory=dict)
    label: str = ""


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
    """A few processes, each with the data on its workbench.

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
        self._members = [self._hire() for _ in range(size)]

    def _hire(self) -> tuple[Any, Any]:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_serve, args=(theirs, self._setup), daemon=True)
        with _ignoring_interrupts():
            process.start()
        theirs.close()
        return process, ours

    def run(
        self, jobs: Iterable[Job], deadline: float, begun: Callable[[Job], Any] | None = None
    ) -> Iterator[Outcome]:
        """Do the jobs in order, as many at a time as there are processes; what is not done by the deadline is
        lost. Outcomes come as they are finished. `jobs` may look at earlier outcomes before giving the next."""
        queue = iter(jobs)
        busy: dict[Any, tuple[int, Job]] = {}  # pipe -> (member, job)
        idle = list(range(len(self._members)))
        more = True
        while True:
            while more and idle and time.monotonic() < deadline:
                job = next(queue, None)
                if job is None:
                    more = False
                    break
                k = idle.pop()
                _, pipe = self._members[k]
                try:
                    pipe.send(job)
                except (BrokenPipeError, OSError):
                    self._members[k] = self._hire()
                    pipe = self._members[k][1]
                    pipe.send(job)
                busy[pipe] = (k, job)
                if begun:
                    begun(job)
            if not busy:
                return
            ready: list[Any] = wait(list(busy), timeout=max(0.0, deadline - time.monotonic()))
            for pipe in ready:
                k, job = busy.pop(pipe)
                try:
                    value, error = pipe.recv()
                    yield Outcome(job, value, error)
                except (EOFError, ConnectionResetError):
                    self._replace(k)
                    yield Outcome(job, error=Note("the process ended, probably out of memory"), lost=True)
                idle.append(k)
            if not ready and time.monotonic() >= deadline:
                for k, job in list(busy.values()):
                    self._replace(k)
                    yield Outcome(job, error=Note("the time was up"), lost=True)
                return

    def _replace(self, k: int) -> None:
        _dismiss(self._members[k])
        self._members[k] = self._hire()

    def dismiss(self) -> None:
        """Stop all of them, at once."""
        for member in self._members:
            _dismiss(member)
        self._members = []

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *_: Any) -> None:
        self.dismiss()


def _dismiss(member: tuple[Any, Any]) -> None:
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
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
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
    if error.args and isinstance(error.args[0], Note):
        return error.args[0]
    return " ".join(str(error).split()) or type(error).__name__
