"""Where compile time goes: ``python -m benchmarks.compiling [CLASS ...] [--parts]``.

A first fit and prediction on 150 rows, with an empty cache, in a process of its own: processor seconds of each
kernel, how much of it is LLVM's, and how many functions are compiled into it. The last line of a class compares
their sum with the largest of them, which is the least that compiling on many cores could take. `--parts` adds the
functions that take longest.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from typing import Any

from tercet.cli.warm import cards

USUAL = [
    "DecisionTreeClassifier",
    "RandomForestRegressor",
    "HistGradientBoostingRegressor",
    "CRF",
    "CategoricalHMM",
    "SVC",
]


class Clock:
    """Processor seconds of functions that call each other: of each, those of its callees left out or not."""

    def __init__(self) -> None:
        self.inside: list[float] = []

    def timed(self, function: Callable[..., Any], tell: Callable[..., None]) -> Callable[..., Any]:
        """The function, telling its arguments, depth, and seconds with and without callees that are timed too."""

        def run(*arguments: Any, **named: Any) -> Any:
            begin = time.thread_time()
            self.inside.append(0.0)
            try:
                return function(*arguments, **named)
            finally:
                whole = time.thread_time() - begin
                own = whole - self.inside.pop()
                if self.inside:
                    self.inside[-1] += whole
                tell(arguments, len(self.inside), whole, own)

        return run


def observe(name: str) -> list[dict[str, Any]]:
    """Fit a class; returns the functions that were compiled, in their order, a kernel after its parts."""
    from numba.core.codegen import CPUCodeLibrary
    from numba.core.dispatcher import _FunctionCompiler

    from benchmarks.first import task_of

    seen: list[dict[str, Any]] = []
    machine = [0.0]

    def compiled(arguments: tuple[Any, ...], depth: int, whole: float, own: float) -> None:
        function = arguments[0].py_func
        called = f"{function.__module__}.{function.__qualname__}"
        seen.append({"name": called, "depth": depth, "seconds": whole, "own": own, "llvm": machine[0]})
        if depth == 0:
            machine[0] = 0.0

    def optimised(arguments: tuple[Any, ...], depth: int, whole: float, own: float) -> None:
        machine[0] += own

    functions, passes = Clock(), Clock()
    compiler: Any = _FunctionCompiler
    library: Any = CPUCodeLibrary
    compiler.compile = functions.timed(compiler.compile, compiled)
    for step in ("add_ir_module", "finalize"):
        setattr(library, step, passes.timed(getattr(library, step), optimised))
    card = next(card for card in cards() if card.name == name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        task_of(card)
    return seen


def measure(name: str) -> list[dict[str, Any]]:
    """`observe` in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        own = {"TERCET_KERNELS": "native", "TERCET_CACHE_DIR": folder, "TERCET_COMPILERS": "1"}
        command = [sys.executable, "-m", "benchmarks.compiling", "--json", name]
        done = subprocess.run(command, env={**os.environ, **own}, check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def report(name: str, seen: list[dict[str, Any]], parts: bool) -> str:
    """The lines of a class."""
    lines, pieces = [f"{name:50}{'s':>8}{'LLVM s':>8}{'parts':>7}"], 0
    for one in seen:
        if one["depth"]:
            pieces += 1
            continue
        lines.append(f"  {one['name'][-46:]:48}{one['seconds']:8.2f}{one['llvm']:8.2f}{pieces:7d}")
        pieces = 0
    if parts:
        longest = sorted((one for one in seen if one["depth"]), key=lambda one: -one["own"])[:20]
        lines += [f"    {one['name'][-44:]:46}{one['own']:8.2f}" for one in longest]
    kernels = [one["seconds"] for one in seen if not one["depth"]]
    lines.append(f"  all {sum(kernels):.2f} s, the largest {max(kernels, default=0.0):.2f} s")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """The command; see the top of this file."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.compiling",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("classes", nargs="*", metavar="CLASS", default=USUAL)
    parser.add_argument("--parts", action="store_true")
    parser.add_argument("--json", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    strangers = sorted(set(options.classes) - {card.name for card in cards()})
    if strangers:
        parser.error(f"unknown classes {strangers}; `tercet list` names them")
    if options.json:
        json.dump(observe(*options.classes), sys.stdout)
        return 0
    for name in options.classes:
        print(report(name, measure(name), options.parts), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
