"""Seconds to a first result: ``python -m benchmarks first [CLASS ...] [--modes pack warm cold peer]``.

For every estimator of the catalogue: seconds from the start of Python to the end of a first prediction (or of the
first of `transform`, `score_samples`, `kneighbors` that there is) on 150 rows, at the defaults, in a process of its
own. Kernels come from the installed pack (`pack`), from a cache folder that an earlier run filled (`warm`), or from
the compiler (`cold`); `peer` is scikit-learn's class of the same name. Given is the least of --rounds runs; `cold`
is run once.

    --json FILE    keep the seconds there; what the file has is not measured again
    --rounds 3     runs of each but cold ones
    --limit 120    seconds after which a run is given up
    --write        put the table into RESULTS.md
    --cpu          seconds of the processor instead of the clock's, where the machine has other work

A star: with the pack more than scikit-learn's + 0.6 s, or cold more than 6 s. Where scikit-learn has no such class,
the pack is compared with its LogisticRegression. A plus: a kernel was compiled although there is a pack.
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import pickle
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

from benchmarks import results
from benchmarks.defaults import ANSWERS, byte_code, pairs
from tercet.cli.warm import cards, more_input, samples
from tercet.core.catalog import Card

ROWS = 150
MODES = ("pack", "warm", "cold", "peer")
PACK_GOAL, COLD_GOAL = 0.6, 6.0  # seconds; the first above scikit-learn's
USUAL_PEER = "LogisticRegression"
CODE = """
import pickle
with open({file!r}, "rb") as opened:
    given, more, answer = pickle.load(opened)
import warnings
warnings.simplefilter("ignore")
from {module} import {name}
model = {name}().fit(*given, **more)
if hasattr(model, str(answer)):  # the peer may have no such answer
    getattr(model, answer)(given[0])
"""

Seconds = dict[str, float]


def task_of(card: Card) -> tuple[Any, dict[str, Any], str | None] | None:
    """Rows, further input and the question that an estimator at its defaults takes; None when it takes none."""
    parameters = inspect.signature(card.load()).parameters.values()
    if any(parameter.default is parameter.empty for parameter in parameters):  # a list of estimators, say
        return None
    for data, target in samples(card, ROWS):
        for given in ((data, target), (data,)):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    more = more_input(card, target)
                    model = card.load()().fit(*given, **more)
                    answer = next((name for name in ANSWERS if hasattr(model, name)), None)
                    if answer is not None:
                        getattr(model, answer)(data)
            except (TypeError, ValueError):
                continue
            return given, more, answer
    return None


clock = time.perf_counter


def processor_clock() -> float:
    """Seconds that processes which have ended spent computing."""
    spent = os.times()
    return spent.children_user + spent.children_system


def run(code: str, mode: str, cache: Path, limit: float) -> float:
    """Seconds of one process; infinite when it takes longer than the limit."""
    kernels = "pack" if mode == "pack" else "native"
    environment = {**os.environ, "TERCET_KERNELS": kernels, "TERCET_CACHE_DIR": str(cache)}
    begin = clock()
    try:
        subprocess.run(
            [sys.executable, "-c", code], check=True, env=environment, timeout=limit, capture_output=True
        )
    except subprocess.TimeoutExpired:
        return float("inf")
    return clock() - begin


def measure(card: Card, modes: list[str], peers: dict[str, str], rounds: int, limit: float) -> Seconds:
    """Seconds of an estimator by mode."""
    kind, task = card.load(), task_of(card)
    if task is None:
        return {}
    found: Seconds = {}
    imported = set[str]()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "task.pickle")
        file.write_bytes(pickle.dumps(task))
        for mode in sorted(modes, key=("cold", "warm", "pack", "peer").index):
            if mode == "peer" and kind.__name__ not in peers:
                continue
            module = peers[kind.__name__] if mode == "peer" else kind.__module__
            code = CODE.format(file=str(file), module=module, name=kind.__name__)
            cache = Path(folder, "pack" if mode == "pack" else "cache")  # what a cold run leaves is warm
            cache.mkdir(mode=0o700, exist_ok=True)
            if module not in imported:  # its bytecode is there, as for a user
                run(f"from {module} import {kind.__name__}", mode, cache, limit)
                imported.add(module)
            if mode == "warm" and "cold" not in modes:
                run(code, mode, cache, limit)
            times = 1 if mode == "cold" else rounds
            try:
                found[mode] = min(run(code, mode, cache, limit) for _ in range(times))
            except subprocess.CalledProcessError:
                if mode != "peer":  # which may refuse such data
                    raise
            if mode == "pack":
                found["compiled"] = len(list(cache.rglob("*.nbc")))
    return found


def table(all_seconds: dict[str, Seconds]) -> str:
    """The seconds as a table in Markdown."""
    text = [results.table_line(["class", *MODES]), "|---" * (len(MODES) + 1) + "|"]
    usual = all_seconds.get(USUAL_PEER, {}).get("peer", float("inf"))
    for name, seconds in all_seconds.items():
        goals = {"pack": seconds.get("peer", usual) + PACK_GOAL, "cold": COLD_GOAL}
        marks = {mode: "*" if seconds.get(mode, 0.0) > goal else "" for mode, goal in goals.items()}
        if seconds.get("compiled"):
            marks["pack"] += "+"
        cells = [f"{seconds[mode]:.2f}{marks.get(mode, '')}" if mode in seconds else "-" for mode in MODES]
        text.append(results.table_line([name, *cells]))
    return "\n".join(text)


def main(arguments: list[str]) -> int:
    """The command; see the top of this file."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks first",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("classes", nargs="*", metavar="CLASS", help="all when none is named")
    parser.add_argument("--modes", nargs="+", choices=MODES, default=list(MODES))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=float, default=120.0)
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--cpu", action="store_true")
    options = parser.parse_args(arguments)
    global clock
    clock = processor_clock if options.cpu else time.perf_counter
    every = {card.name: card for card in cards()}
    strangers = sorted(set(options.classes) - set(every))
    if strangers:
        parser.error(f"unknown classes {strangers}; there are {sorted(every)}")
    modes = list(options.modes)
    if "pack" in modes and not has_pack():
        modes.remove("pack")
    kept: dict[str, Seconds] = {}
    if options.json and options.json.exists():
        kept = json.loads(options.json.read_text(encoding="utf-8"))
    peers = {pair.name: f"sklearn.{pair.module}" for pair in pairs()}
    with tempfile.TemporaryDirectory() as folder, byte_code(folder):
        run("import numba; numba.njit(lambda x: x + 1)(1)", "cold", Path(folder), options.limit)  # bytecode
        for name in options.classes or every:
            missing = [mode for mode in modes if mode not in kept.get(name, {})]
            if missing and not (missing == ["peer"] and name not in peers):
                found = measure(every[name], missing, peers, options.rounds, options.limit)
                if not found:
                    continue
                kept[name] = {**kept.get(name, {}), **found}
                print(table({name: kept[name]}).splitlines()[-1], flush=True)
                if options.json:  # after every class: a run that is cut short keeps what it has
                    options.json.write_text(json.dumps(kept, indent=1), encoding="utf-8")
    print(f"\n{table(kept)}")
    if options.write:
        work = "seconds from the start of Python to the end of a first prediction on 150 rows"
        said = "python -m benchmarks first " + " ".join(arguments)
        results.write_table("first", work, table(kept), said, ["tercet", "numba", "scikit-learn"])
    return 0


def has_pack() -> bool:
    """Whether a pack is installed and used; where not, say why."""
    from tercet.core import kernel_pack

    pack, reasons = kernel_pack.installed()
    if pack is None:
        print("no kernel pack is used:", *(reasons or ["none is installed"]), sep="\n  ", flush=True)
    return pack is not None
