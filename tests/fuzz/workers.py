"""Worker processes that run cases, and what becomes of those that crash or hang.

A worker writes the case into its journal, a small file, before it begins. When a worker dies or takes too long, the
journal says which case it was: the case is recorded, and another worker goes on behind it. A case counts as hanging
only if it does so twice, since the first time may have gone into compiling kernels.
"""

import contextlib
import gc
import multiprocessing
import os
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

WIDTH = 200
PATIENCE = 10  # seconds on the wall for one of the processor, on a busy machine


class Batch(NamedTuple):
    """Cases of one estimator and oracle, from one seed to another."""

    estimator: str
    oracle: str
    start: int
    stop: int


def work(pipe: Any, journal: str) -> None:
    """The life of a worker: a batch in, its counts out; failures are told at once."""
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    from tests.fuzz.cases import run_case

    gc.freeze()  # what was imported stays: no collection need look at it
    page = os.open(journal, os.O_WRONLY | os.O_CREAT)
    with contextlib.suppress(EOFError, KeyboardInterrupt, BrokenPipeError):
        while True:
            batch = pipe.recv()
            began = time.process_time()
            counts = {"passed": 0, "refused": 0, "skipped": 0, "failed": 0}
            for seed in range(batch.start, batch.stop):
                line = " ".join(
                    str(v) for v in (seed, time.monotonic(), time.process_time(), *counts.values())
                )
                os.pwrite(page, line.ljust(WIDTH).encode(), 0)
                found = run_case(batch.estimator, batch.oracle, seed)
                counts[found.verdict] += 1
                if found.verdict == "failed":
                    told = {"estimator": batch.estimator, "oracle": batch.oracle, "seed": seed}
                    pipe.send(("failure", {**told, **dict(zip(found._fields[1:], found[1:]))}))
            os.pwrite(page, b"".ljust(WIDTH), 0)
            pipe.send(("done", (counts, time.process_time() - began)))


@dataclass
class Worker:
    """A process, its pipe and its journal."""

    folder: str
    number: int
    batch: Batch | None = None
    process: Any = None
    pipe: Any = None
    journal: str = ""
    suspects: set[tuple[str, str, int]] = field(default_factory=set)

    def start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.journal = os.path.join(self.folder, f"journal-{self.number}")
        with open(self.journal, "wb") as file:
            file.write(b"".ljust(WIDTH))
        self.pipe, there = context.Pipe()
        self.process = context.Process(target=work, args=(there, self.journal), daemon=True)
        self.process.start()
        there.close()

    def give(self, batch: Batch) -> None:
        self.batch = batch
        self.pipe.send(batch)

    def current(self) -> tuple[int, float, dict[str, int]] | None:
        """The case in the journal: its seed, for how long it has run, and the counts of the batch before it.

        Long is what takes long by the processor's clock, whatever else the machine does; or what stands still.
        """
        with open(self.journal) as file:
            words = file.read().split()
        if len(words) < 7:
            return None
        counts = dict(zip(("passed", "refused", "skipped", "failed"), map(int, words[3:])))
        idle, used = (time.monotonic() - float(words[1])) / PATIENCE, self._processor_time() - float(words[2])
        return int(words[0]), max(idle, used), counts

    def _processor_time(self) -> float:
        try:
            with open(f"/proc/{self.process.pid}/stat") as file:
                fields = file.read().rpartition(")")[2].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        except OSError:  # no such table here: the wall clock has to do
            return 0.0

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.pipe.close()


class Pool:
    """Workers that batches are given to; what they say comes back as events.

    Events are ("failure", dict), and ("counts", batch, counts, seconds) for every part of a batch that is done: the
    seconds are the processor's.
    """

    def __init__(self, size: int, limit: float) -> None:
        self.limit = limit
        self._folder = tempfile.TemporaryDirectory()
        self.workers = [Worker(self._folder.name, k) for k in range(size)]
        for worker in self.workers:
            worker.start()

    def idle(self) -> list[Worker]:
        return [worker for worker in self.workers if worker.batch is None]

    def events(self, wait: float = 0.5) -> Iterator[tuple[Any, ...]]:
        """What has happened, after at most `wait` seconds without anything."""
        busy = {worker.pipe: worker for worker in self.workers if worker.batch is not None}
        for pipe in multiprocessing.connection.wait(list(busy), timeout=wait):
            worker = busy[pipe]
            assert worker.batch is not None
            try:
                kind, told = pipe.recv()
            except (EOFError, ConnectionResetError):
                yield from self._lost(worker, "crash")
                continue
            if kind == "failure":
                yield "failure", told
            else:
                batch, worker.batch = worker.batch, None
                yield "counts", batch, *told
        for worker in self.workers:
            now = worker.current() if worker.batch is not None else None
            if now is not None and now[1] > self.limit and not worker.pipe.poll():
                yield from self._lost(worker, "time-out")

    def _lost(self, worker: Worker, kind: str) -> Iterator[tuple[Any, ...]]:
        """Record the case that a worker died of, and go on behind it with a new process."""
        batch, now = worker.batch, worker.current()
        assert batch is not None
        worker.process.kill()
        worker.process.join()
        code = worker.process.exitcode
        worker.pipe.close()
        worker.start()
        if now is None:  # it died between cases, or before the first
            worker.give(batch)
            return
        seed, _, counts = now
        suspect = (batch.estimator, batch.oracle, seed)
        if kind == "time-out" and suspect not in worker.suspects:
            worker.suspects.add(suspect)
            yield "counts", batch._replace(stop=seed), counts, 0.0
            worker.give(batch._replace(start=seed))
            return
        text = f"exit code {code}" if kind == "crash" else f"more than {self.limit:g} s"
        told = {"estimator": batch.estimator, "oracle": batch.oracle, "seed": seed}
        yield "failure", {**told, "kind": kind, "text": text, "place": "", "trace": ""}
        counts["failed"] += 1
        yield "counts", batch._replace(stop=seed + 1), counts, self.limit if kind == "time-out" else 0.0
        if seed + 1 < batch.stop:
            worker.give(batch._replace(start=seed + 1))
        else:
            worker.batch = None

    def close(self) -> None:
        for worker in self.workers:
            worker.stop()
        self._folder.cleanup()
