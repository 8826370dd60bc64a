"""Judge the fuzzer: `python -m tests.fuzz.judge [--minutes 10] [--plain] [NUMBER ...]`.

Each bug of `mutants` is put into a copy of the sources, and the fuzzer runs on the estimators whose code it is in.
A bug is found when a case fails with it and does not without it; the time until then is printed.
"""

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
    options = parser.parse_args(arguments)
    missed = 0
    for number in options.numbers or range(1, len(MUTANTS) + 1):
        mutant = MUTANTS[number - 1]
        with tempfile.TemporaryDirectory() as folder:
            put_in(mutant, Path(folder))
            found, seconds = hunt(mutant, Path(folder), options)
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


def hunt(mutant: Mutant, folder: Path, options: Any) -> tuple[dict[str, Any] | None, float]:
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
    cleared: set[tuple[str, ...]] = set()
    try:
        while run.poll() is None or state.exists():
            over = run.poll() is not None
            for failed in failures(state):
                key = tuple(failed[name] for name in ("estimator", "oracle", "kind", "place"))
                seconds = time.monotonic() - start
                if key in cleared:
                    continue
                if passes_without(failed, mode):
                    return failed, seconds
                cleared.add(key)
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


def passes_without(failed: dict[str, Any], mode: list[str]) -> bool:
    """Whether the case of a failure is good with the sources as they are."""
    case = [
        failed["estimator"],
        "--oracle",
        failed["oracle"],
        "--seed",
        str(failed["seed"]),
        "--replay",
        *mode,
    ]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    run = subprocess.run(
        [sys.executable, "-m", "tests.fuzz", *case],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        timeout=600,
    )
    return run.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
