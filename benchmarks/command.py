"""How long a user waits for the command `tercet`: help, list, and a whole comparison on embedded data."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.harness import Figure, Report

BUDGET = {"full": 50.0, "smoke": 20.0}


def waiting(size: str, rounds: int) -> list[Figure]:
    """Seconds on the clock, from the start of the interpreter to its end; medians."""
    short = [(seconds(["--help"]), seconds(["list"])) for _ in range(rounds + 1)][1:]
    wall, outside, inside = [], [], []
    more = ["--repeats", "1"] if size == "smoke" else []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "result.json")
        for _ in range(rounds):
            given = [
                "compare",
                "--report",
                str(Path(folder, "report.html")),
                "--json",
                str(file),
                "--quiet",
                *more,
            ]
            wall.append(seconds([*given, "--budget", str(BUDGET[size])]))
            told = json.loads(file.read_text(encoding="utf-8"))["time"]
            inside.append(told["in_fits"])
            outside.append(1.0 - told["in_fits"] / wall[-1])
    return [
        Figure("tercet --help", statistics.median(one for one, _ in short), "s", 0.3),
        Figure("tercet list", statistics.median(two for _, two in short), "s", 0.5),
        Figure(
            "tercet compare --report on 569 rows, budget 50 s", statistics.median(wall), "s", BUDGET[size]
        ),
        Figure("of which a fit was running", statistics.median(inside), "s"),
        Figure("share of the time in which no fit was running", statistics.median(outside), "", 0.5),
    ]


def seconds(arguments: list[str]) -> float:
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-m", "tercet", *arguments], capture_output=True, check=True)
    return time.perf_counter() - begin


ROWS = [Report("command", "the command tercet, warm kernel cache", waiting, ("tercet", "typer", "rich"))]
