"""Jobs that worker processes do, and the cache of their results.

A job is a function by its path ("docs.site.run_blocks:run_page") and arguments as JSON. It is called with a folder
to write pictures into, and returns something that JSON knows. The folder and the result are kept under
`docs/_cache/NAME-DIGEST`, where the digest is that of the function's module, of the arguments and of the library:
nothing is done again until one of them changes.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import platform
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent.parent
WORKERS = 2
VERSIONS = ("numpy", "scipy", "scikit-learn", "numba", "matplotlib")


class JobError(Exception):
    """Code of the documentation raised an error; the message has page, block and traceback."""


@dataclass(frozen=True)
class Job:
    """One piece of work: a name that is unique, a function and its arguments, and what else decides the result."""

    name: str
    function: str
    arguments: dict[str, Any] = field(default_factory=dict)
    depends: tuple[str, ...] = ()
    library: bool = True  # whether an edit of the library does it again
    long: bool = (
        False  # whether it takes many seconds: those begin first, so that no worker is left alone with one
    )

    @property
    def digest(self) -> str:
        module = importlib.util.find_spec(self.function.partition(":")[0])
        assert module is not None
        assert module.origin is not None
        code = [
            Path(module.origin).read_text(encoding="utf-8"),
            *([library_digest()] if self.library else []),
        ]
        parts = [self.function, json.dumps(self.arguments, sort_keys=True), *self.depends, *code]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]

    def folder(self, cache: Path) -> Path:
        return cache / f"{self.name.replace('/', '.')}-{self.digest}"


@functools.cache
def library_digest() -> str:
    """The digest of the library's sources and of the versions it stands on."""
    found = importlib.util.find_spec("tercet")
    assert found is not None
    assert found.origin is not None
    root = Path(found.origin).parent
    digest = hashlib.sha256(platform.python_version().encode())
    for package in VERSIONS:
        digest.update(importlib.metadata.version(package).encode())
    for file in sorted(root.rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            digest.update(str(file.relative_to(root)).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def result(job: Job, cache: Path) -> Any:
    """What a job returned, when it was done last."""
    return json.loads((job.folder(cache) / "result.json").read_text(encoding="utf-8"))


def do(
    jobs: Iterable[Job],
    cache: Path,
    *,
    workers: int = WORKERS,
    say: Callable[[str], None] = lambda text: None,
) -> list[str]:
    """Do the jobs whose results are not in the cache; the names of those that were done.

    All are tried; if some fail, a `JobError` tells about every one of them.
    """
    waiting: queue.SimpleQueue[Job] = queue.SimpleQueue()
    missing = [job for job in jobs if not (job.folder(cache) / "result.json").exists()]
    for job in sorted(missing, key=lambda job: (not job.long, -len(str(job.arguments)))):
        waiting.put(job)
    errors: list[str] = []
    done: list[str] = []

    def work() -> None:
        with Worker(cache) as worker:
            while True:
                try:
                    job = waiting.get_nowait()
                except queue.Empty:
                    return
                say(job.name)
                error = worker.do(job)
                if error:
                    errors.append(f"{job.name}: {error}")
                else:
                    done.append(job.name)

    threads = [threading.Thread(target=work) for _ in range(min(workers, len(missing)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise JobError("\n\n".join(errors))
    return sorted(done)


def clean(jobs: Iterable[Job], cache: Path) -> None:
    """Remove results that no job has any more."""
    kept = {job.folder(cache).name for job in jobs}
    if cache.exists():
        for folder in cache.iterdir():
            if folder.is_dir() and folder.name not in kept:
                shutil.rmtree(folder)


class Worker:
    """A process that does jobs one after the other; one that dies is replaced."""

    def __init__(self, cache: Path) -> None:
        self.cache = cache
        self.process: subprocess.Popen[str] | None = None
        self.home = tempfile.TemporaryDirectory(prefix="tercet-docs-")

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process is not None:
            assert self.process.stdin is not None
            assert self.process.stdout is not None
            self.process.stdin.close()
            self.process.stdout.close()
            self.process.wait()
        self.home.cleanup()

    def do(self, job: Job) -> str:
        """Do a job; what went wrong, if something did."""
        target = job.folder(self.cache)
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self.cache, prefix=".job-") as made:
            answer = self._ask({"function": job.function, "arguments": job.arguments, "folder": made})
            if answer is None:
                return "the process that did it has died"
            if "error" in answer:
                return str(answer["error"])
            text = json.dumps(answer["result"], ensure_ascii=False)
            (Path(made) / "result.json").write_text(text, encoding="utf-8")
            for older in self.cache.glob(f"{job.name.replace('/', '.')}-{'?' * 16}"):
                shutil.rmtree(older, ignore_errors=True)
            shutil.copytree(made, target, dirs_exist_ok=True)
        return ""

    def _ask(self, question: dict[str, Any]) -> dict[str, Any] | None:
        if self.process is None:
            path = os.pathsep.join([str(DOCS.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
            self.process = subprocess.Popen(
                [sys.executable, "-m", "docs.site.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                encoding="utf-8",
                cwd=self.home.name,
                env={**os.environ, "PYTHONPATH": path, "MPLBACKEND": "Agg"},
            )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            self.process.stdin.write(json.dumps(question) + "\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            self.process.wait()
            self.process = None
            return None
        return dict(json.loads(answer))
