"""Judge the fuzzer: `python -m tests.fuzz.judge [--minutes 10] [--plain] [NUMBER ...]`.

Each bug of `mutants` is put into a copy of the sources, and the fuzzer runs on the estimators whose code it is in.
A bug is found when a case fails with it and does not without it; the time until then is printed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.fuzz.mutants import MUTANTS, Mutant

ROOT = Path(__file__).resolve().parent.parent.parent


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.judge")
    parser.add_argument("numbers", nargs="*", type=int, help="which of the bugs, from 1")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--plain", action="store_true", help="kernels as plain Python")
    parser.add_argument("--answer", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.plain:
        os.environ["TERCET_JIT"] = "0"
    if options.answer:
        answer()
        return 0
    missed, clean = 0, Clean(["--plain"] if options.plain else [])
    for number in options.numbers or range(1, len(MUTANTS) + 1):
        mutant = MUTANTS[number - 1]
        with tempfile.TemporaryDirectory() as folder:
            put_in(mutant, Path(folder))
            found, seconds = hunt(mutant, Path(folder), options, clean)
        missed += found is None
        told = (
            "not found" if found is None else f"{found['estimator']} {found['oracle']}: {found['text'][:70]}"
        )
        print(f"{number:3d}. {seconds:6.1f} s  {mutant.name}: {told}", flush=True)
    return int(missed > 0)


def put_in(mutant: Mutant, folder: Path) -> None:
    """A copy of the sources with a bug in it."""
    skip = shutil.ignore_patterns("__pycache__", "*.nbi", "*.nbc")
    shutil.copytree(ROOT / "src" / "tercet", folder / "src" / "tercet", ignore=skip)
    file = folder / "src" / "tercet" / mutant.file
    text = file.read_text(encoding="utf-8")
    if text.count(mutant.old) != 1:
        raise SystemExit(
            f"{mutant.name}: {mutant.file} has {text.count(mutant.old)} places like {mutant.old!r}"
        )
    file.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")


def hunt(mutant: Mutant, folder: Path, options: Any, clean: Clean) -> tuple[dict[str, Any] | None, float]:
    """The first failure that is the bug's, and the seconds until then."""
    state = folder / "state.jsonl"
    limit = 60 * options.minutes
    mode = ["--plain"] if options.plain else []
    command = [sys.executable, "-m", "tests.fuzz", *mutant.estimators, "--seconds", str(limit), *mode]
    start = time.monotonic()
    run = subprocess.Popen(
        [*command, "--resume", str(state), "--batch", "10"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(folder / "src")},
        stdout=subprocess.DEVNULL,
    )
    looked_at = 0
    try:
        while run.poll() is None or state.exists():
            over = run.poll() is not None
            for failed in failures(state)[looked_at:]:
                looked_at += 1
                if clean.passes(failed):
                    return failed, time.monotonic() - start
            if over or time.monotonic() - start > limit + 60:
                break
            time.sleep(0.5)
    finally:
        run.terminate()
        run.wait()
    return None, time.monotonic() - start


def failures(state: Path) -> list[dict[str, Any]]:
    lines = state.read_text(encoding="utf-8").splitlines() if state.exists() else []
    return [
        json.loads(line)["failure"] for line in lines if line.startswith('{"failure"') and line.endswith("}}")
    ]


class Clean:
    """A process with the sources as they are, which is asked whether a case is good there."""

    def __init__(self, mode: list[str]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.fuzz.judge", "--answer", *mode],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def passes(self, failed: dict[str, Any]) -> bool:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(
            json.dumps([failed[name] for name in ("estimator", "oracle", "seed")]),
            file=self.process.stdin,
            flush=True,
        )
        for line in self.process.stdout:
            if line.startswith("verdict: "):
                return line.strip() != "verdict: failed"
        raise SystemExit(f"a good copy of the sources crashed on {failed}")


def answer() -> None:
    """The other end of `Clean`."""
    from tests.fuzz.cases import run_case

    for line in sys.stdin:
        print("verdict: " + run_case(*json.loads(line)).verdict, flush=True)


if __name__ == "__main__":
    sys.exit(main())
