"""The real command in a process of its own.

Most of a command's seconds go into importing scikit-learn, numba and polars. So one process imports them once and
forks for every command: its child gets the command's arguments, folder, environment and streams, imports the
command, runs it as `python -m tercet` does and ends as any interpreter does. A command that loads little, or whose
environment differs in something that may be read while importing, gets a fresh interpreter.
"""

import atexit
import functools
import gc
import importlib
import json
import os
import runpy
import select
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
LIBRARIES = ("matplotlib.figure", "numba", "polars", "rich.progress", "rich.table", "skops.io", "typer")
OURS = ("tercet.cli.compare.all_methods", "tercet.datasets", "tercet.feature", "tercet.plot")
# Commands that load libraries; the others are quicker alone than the leave-taking of a process that has them.
HEAVY = {"book", "compare", "evaluate", "fit", "info", "predict"}
LIMIT = 1800  # seconds: a command that hangs
ENDLESS = "100000"  # seconds: a budget that no machine, however busy, comes to the end of
# What no library reads while it is imported.
HARMLESS = {"COLUMNS", "PYTEST_CURRENT_TEST", "TERCET_MEMORY"}


def tercet(
    *arguments: str, cwd: Path | None = None, stdout: str = "", **environment: str
) -> subprocess.CompletedProcess:
    """Run `tercet ARGUMENTS`; in English and away from a terminal, unless the environment says otherwise.

    `stdout` may name a file or device that takes the output.
    """
    asked = {**usual(), **environment}
    with tempfile.TemporaryDirectory() as folder:
        out, err = stdout or f"{folder}/out", f"{folder}/err"
        heavy = hasattr(os, "fork") and bool(HEAVY.intersection(arguments[:1]))
        if heavy and settled(asked) == nursery().environment:
            here = str(cwd or Path.cwd())
            code = nursery().run(arguments=arguments, cwd=here, environment=asked, out=out, err=err)
        else:
            with open(out, "wb") as output, open(err, "wb") as errors:
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


def settled(environment: dict[str, str]) -> frozenset:
    """The part of an environment that must be the same for one import to serve several commands."""
    return frozenset(item for item in environment.items() if item[0] not in HARMLESS)


@functools.cache
def nursery() -> "Nursery":
    return Nursery(usual())


class Nursery:
    """The process that forks: a request is a line of JSON, the answer the exit code of the child."""

    def __init__(self, environment: dict[str, str]):
        self.environment = settled(environment)
        self.process = subprocess.Popen(
            [sys.executable, "-c", "from tests.cli import running; running.serve()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=environment,
        )
        atexit.register(self.process.kill)

    def run(self, **request: Any) -> int:
        print(json.dumps(request), file=self.process.stdin, flush=True)
        if not select.select([self.process.stdout], [], [], LIMIT)[0]:
            self.process.kill()
            raise TimeoutError(f"{request} takes more than {LIMIT} s")
        return int(self.process.stdout.readline())


def serve() -> None:
    """Import the libraries, then fork for every request; the child goes on to run the command."""
    for name in LIBRARIES + OURS:
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
    write = os.O_WRONLY | os.O_CREAT
    for stream, (path, mode) in enumerate([(os.devnull, os.O_RDONLY), (out, write), (err, write)]):
        os.dup2(os.open(path, mode, 0o600), stream)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(cwd)
    sys.argv = ["tercet", *arguments]
    runpy.run_module("tercet", run_name="__main__", alter_sys=True)
