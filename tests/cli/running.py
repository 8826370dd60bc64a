"""The real command in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path


def tercet(*arguments: str, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess:
    """Run `tercet ARGUMENTS`; in English and away from a terminal, unless the environment says otherwise."""
    mine = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LANG", "LC_ALL")}
    return subprocess.run(
        [sys.executable, "-m", "tercet", *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=cwd,
        env={**mine, "LC_ALL": "C.UTF-8", **environment},
        stdin=subprocess.DEVNULL,
        timeout=300,
    )


def refused(answer: subprocess.CompletedProcess, code: int) -> str:
    """The one line that a mistake gets."""
    assert answer.returncode == code, answer.stderr
    assert answer.stdout == ""
    (line,) = answer.stderr.splitlines()
    assert line.startswith(("tercet: error: ", "tercet: 错误: "))
    return line
