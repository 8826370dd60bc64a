"""The real command in a process of its own.

Most of a command's seconds go into importing scikit-learn, numba and polars. So one process imports them once and
forks for every command: its child gets the command's arguments, folder, environment and streams, imports the
command and runs it as `python -m tercet` does. Commands that load little come from a second process, which imports
the parser only. A command whose environment differs in something that may be read while importing gets a fresh
interpreter, and so does one that says `alone`, for the sake of its beginning and its end.
"""

import atexit
import contextlib
import functools
import gc
import importlib
import json
import os
import re
import runpy
import select
import subprocess
import sys
import tempfile
import threading
from multiprocessing import util
from pathlib import Path
from typing import Any, NoReturn
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 1800  # seconds: a command that hangs
NO_READER = "|"  # a pipe whose reader has left
ENDLESS = "100000"  # seconds: a budget that no machine, however busy, comes to the end of
# Commands that load libraries, and what they load.
HEAVY = {"book", "compare", "evaluate", "fit", "info", "predict"}
LIBRARIES = ("matplotlib.figure", "numba", "polars", "rich.progress", "rich.table", "skops.io", "typer")
OURS = ("tercet.cli.compare.all_methods", "tercet.datasets", "tercet.feature", "tercet.plot")
PARSER = ("typer.core", "typer.rich_utils", "rich.table", "tercet.cli.parser_translation")
# What is not read while the libraries are imported, and while the parser is.
HARMLESS = r"COLUMNS|PYTEST_CURRENT_TEST|TERCET_MEMORY|_?COMP_.*|_T.*_COMPLETE.*"
HARMLESS_TO_PARSER = rf"{HARMLESS}|TERCET_.*|NUMBA_.*"


def tercet(
    *arguments: str, cwd: Path | None = None, stdout: str = "", alone: bool = False, **environment: str
) -> subprocess.CompletedProcess:
    """Run `tercet ARGUMENTS`; in English and away from a terminal, unless the environment says otherwise.

    `stdout` may name a file or device that takes the output, or be `NO_READER`.
    """
    asked = {**usual(), **environment}
    with tempfile.TemporaryDirectory() as folder:
        out, err = stdout or f"{folder}/out", f"{folder}/err"
        parent = (
            None if alone or not hasattr(os, "fork") else nursery(bool(HEAVY.intersection(arguments[:1])))
        )
        if parent is not None and parent.can_serve(asked):
            here = str(cwd or Path.cwd())
            code = parent.run(arguments=arguments, cwd=here, environment=asked, out=out, err=err)
        else:
            with open(opened(out), "wb") as output, open(err, "wb") as errors:
                code = subprocess.run(
                    [sys.executable, "-m", "tercet", *arguments],
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=errors,
                    cwd=cwd,
                    env=asked,
                    timeout=LIMIT,
                ).returncode
        said = "" if stdout else Path(out).read_text(encoding="utf-8")
        return subprocess.CompletedProcess(arguments, code, said, Path(err).read_text(encoding="utf-8"))


def opened(path: str) -> int:
    """A file to write to, or a pipe that nobody reads."""
    if path != NO_READER:
        return os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    ours, theirs = os.pipe()
    os.close(ours)
    return theirs


def refused(answer: subprocess.CompletedProcess, code: int) -> str:
    """The one line that a mistake gets."""
    assert answer.returncode == code, answer.stderr
    assert answer.stdout == ""
    (line,) = answer.stderr.splitlines()
    assert line.startswith(("tercet: error: ", "tercet: 错误: "))
    return line


def usual() -> dict[str, str]:
    mine = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LANG", "LC_ALL")}
    # Windows does not ask the locale how output is encoded.
    return {**mine, "LC_ALL": "C.UTF-8", **({"PYTHONUTF8": "1"} if os.name == "nt" else {})}


@functools.cache
def nursery(heavy: bool) -> "Nursery":
    return Nursery(OURS + LIBRARIES, HARMLESS) if heavy else Nursery(PARSER, HARMLESS_TO_PARSER)


class Nursery:
    """The process that forks: a request is a line of JSON, the answer the exit code of the child."""

    def __init__(self, modules: tuple[str, ...], harmless: str):
        self.harmless = harmless
        self.environment = self.settled(usual())
        self.process = subprocess.Popen(
            [sys.executable, "-c", f"from tests.cli import running; running.serve({modules!r})"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=usual(),
        )
        atexit.register(self.process.kill)

    def settled(self, environment: dict[str, str]) -> frozenset:
        """The part of an environment that must be the same for one import to serve several commands."""
        asked = {**environment, "LC_ALL": environment.get("LC_ALL", "").rpartition(".")[2]}  # the encoding
        return frozenset(item for item in asked.items() if not re.fullmatch(self.harmless, item[0]))

    def can_serve(self, environment: dict[str, str]) -> bool:
        return self.settled(environment) == self.environment

    def run(self, **request: Any) -> int:
        print(json.dumps(request), file=self.process.stdin, flush=True)
        if not select.select([self.process.stdout], [], [], LIMIT)[0]:
            self.process.kill()
            raise TimeoutError(f"{request} takes more than {LIMIT} s")
        return int(self.process.stdout.readline())


def serve(modules: tuple[str, ...]) -> None:
    """Import the modules, then fork for every request; the child goes on to run the command."""
    for name in modules:
        importlib.import_module(name)
    gc.freeze()  # a child that ends need not look through what it never touched
    requests, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    while line := requests.readline():
        if (child := os.fork()) == 0:
            requests.close()
            answers.close()
            return run_as_main(**json.loads(line))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), file=answers, flush=True)
    return None


def run_as_main(arguments: list[str], cwd: str, environment: dict[str, str], out: str, err: str) -> None:
    """Become the process that a shell would have started."""
    for stream, file in enumerate([os.open(os.devnull, os.O_RDONLY), opened(out), opened(err)]):
        os.dup2(file, stream)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(cwd)
    if arguments[:1] == ["compare"]:
        start_fork_server_by_fork()
    sys.argv = ["tercet", *arguments]
    try:
        runpy.run_module("tercet", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if isinstance(end.code, int):
            leave(end.code)
        raise


def leave(code: int) -> NoReturn:
    """End as an interpreter does, but without taking all modules apart, which takes longer than most commands."""
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def start_fork_server_by_fork() -> None:
    """Start the fork server that `tercet compare` will find running: it has imported the methods already."""
    from tercet.cli.compare.worker_pool import start_fork_server

    with mock.patch.object(util, "spawnv_passfds", fork_instead):
        start_fork_server()


def fork_instead(path: str, arguments: list[str], descriptors: list[int]) -> int:
    """What `multiprocessing` starts as `python -c CODE` runs in a copy of this process, which keeps these files."""
    if child := os.fork():
        return child
    first = 3
    for kept in sorted(map(int, descriptors)):
        os.closerange(first, kept)
        first = max(first, kept + 1)
    os.closerange(first, os.sysconf("SC_OPEN_MAX"))
    try:
        with contextlib.suppress(SystemExit):
            exec(arguments[-1], {})
    finally:
        os._exit(0)
