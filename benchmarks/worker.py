"""The process of one contender, and the parent's end of it."""

from __future__ import annotations

import gc
import importlib
import multiprocessing
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.store import load

if TYPE_CHECKING:
    from benchmarks.harness import Contender, Result

THREADS = 2
TICKS = 0.05  # seconds that the kernel's coarse clock may be off
DISTURBED = 0.1  # cores in use by other processes from which on a run does not count as undisturbed
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)


class ContenderError(Exception):
    """A contender that is not installed, failed, or ran out of time; the message goes into the table."""


class Worker:
    """The parent's end of one contender's process. Starting it includes the warm-up call."""

    def __init__(
        self, contender: Contender, where: Path, limit: float, start: str = "spawn", small: Path | None = None
    ):
        context: Any = multiprocessing.get_context(start)
        self.pipe, far_end = context.Pipe()
        self.process = context.Process(target=work, args=(far_end, contender, where, small), daemon=True)
        begin = time.monotonic()
        with thread_limits():
            self.process.start()
        far_end.close()
        done, loading = self.receive(limit)
        self.first = done - begin - loading

    def run(self, limit: float) -> tuple[dict[str, float], Result]:
        self.pipe.send("run")
        return self.receive(limit)

    def receive(self, limit: float) -> Any:
        try:
            if not self.pipe.poll(limit):
                self.close()
                raise ContenderError(f"stopped after {limit:g} s")
            kind, answer = self.pipe.recv()
        except (EOFError, OSError):
            self.process.join(5)
            raise ContenderError(f"process died with exit code {self.process.exitcode}") from None
        if kind == "problem":
            raise ContenderError(answer)
        return answer

    def close(self) -> None:
        self.pipe.close()
        self.process.join(1)
        if self.process.is_alive():
            self.process.terminate()
            self.process.join()


def work(pipe: Any, contender: Contender, where: Path, small: Path | None = None) -> None:
    """The contender's process: import, fit the small data, load, warm up, then one fit per request until the pipe
    closes. Memory is what a fit adds to a process that has fitted the small data and loaded its own."""
    if hasattr(os, "sched_setaffinity"):  # the pools that do not read the environment count the cores
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:THREADS])
    try:
        for module in contender.imports:
            importlib.import_module(module)
        if small is not None:
            contender.fit(prepared(contender, small))
            gc.collect()
        begin = time.monotonic()
        data = prepared(contender, where)
        loading = time.monotonic() - begin
        gc.collect()
        loaded = resident()
        if not contender.once:
            contender.fit(data)
        pipe.send(("ready", (time.monotonic(), loading)))
        while pipe.recv() == "run":
            gc.collect()
            reset_peak()
            busy, wall, cpu = busy_seconds(), time.perf_counter(), time.process_time()
            result = contender.fit(data)
            run = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
            run["others"] = max(0.0, busy_seconds() - busy - run["cpu"] - TICKS) / run["wall"]
            run["memory"] = (peak() - loaded) / 2**20
            pipe.send(("done", (run, result)))
    except EOFError:
        return
    except ModuleNotFoundError as error:
        pipe.send(("problem", f"not installed: {plain(error)}"))
    except Exception as error:  # whatever a peer raises belongs in the table
        pipe.send(("problem", f"failed: {type(error).__name__}: {plain(error)}"))


def prepared(contender: Contender, where: Path) -> Any:
    """The data in the form that the contender wants."""
    data = load(where)
    return data if contender.prepare is None else contender.prepare(data)


def time_to_first_result(contender: Contender, where: Path, limit: float, start: str = "spawn") -> float:
    """Seconds from the start of a new interpreter to its first fit, with the kernel cache already warm."""
    worker = Worker(contender, where, limit, start)
    worker.close()
    return worker.first


@contextmanager
def thread_limits() -> Iterator[None]:
    """Children started inside inherit the thread limits, before their libraries read them."""
    before = {name: os.environ.get(name) for name in THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, str(THREADS)))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def wait_for_quiet(pause: float, patience: float) -> None:
    """Sleep at least `pause`, and on until no other process is busy or `patience` is over.

    Idle thread pools spin for up to 200 ms after their last task, and one busy neighbour on two cores makes
    peers with spinning threads up to ten times slower: either would flatter whoever does not spin.
    """
    end = time.monotonic() + patience
    while pause:
        before = busy_seconds()
        time.sleep(pause)
        if not busy_seconds() - before > DISTURBED * pause + TICKS or time.monotonic() > end:
            return


def busy_seconds() -> float:
    """CPU seconds that the whole machine has spent working; not a number where there is no /proc."""
    try:
        user, nice, system, _, _, irq, softirq = map(int, Path("/proc/stat").read_text().split()[1:8])
    except OSError:
        return float("nan")
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def resident() -> float:
    return status("VmRSS")


def peak() -> float:
    """Highest resident size since `reset_peak`, in bytes; not ru_maxrss, which a child inherits."""
    return status("VmHWM")


def reset_peak() -> None:
    with suppress(OSError):  # not Linux: memory is reported as not known
        Path("/proc/self/clear_refs").write_text("5")


def status(key: str) -> float:
    try:
        text = Path("/proc/self/status").read_text()
    except OSError:
        return float("nan")
    return 1024.0 * int(text.split(f"{key}:")[1].split()[0])


def plain(error: BaseException) -> str:
    """An error's first line without anything that looks like a path of this machine."""
    line = (str(error).splitlines() or [""])[0]
    return re.sub(r"(?:[A-Za-z]:)?[\\/][^\s'\"]*[\\/][^\s'\",)]*", "<path>", line)[:160]
