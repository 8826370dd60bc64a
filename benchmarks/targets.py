"""Kernels by target: ``python -m benchmarks.targets [ROW ...] [--rounds 3] [--write]``.

Each row is fitted with kernels that were compiled for x86-64-v3 (what a kernel pack holds), for x86-64-v4 (which
adds AVX-512) and for this very CPU, by turns, in fresh processes, on the same data and without the peers. Printed
are the medians over the rounds of the fastest fit, and how much faster than x86-64-v3 the others are. `--write`
puts the table into RESULTS.md.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import tempfile
from pathlib import Path

from llvmlite import binding

from benchmarks import results
from benchmarks.__main__ import ROWS
from benchmarks.against import fits
from benchmarks.harness import Row
from tercet.cli.pack_building import TARGETS

NATIVE = "this CPU"
# One or two of each family, among them those whose loops are all arithmetic, where vectors matter most.
USUAL = [
    "logistic-dense",
    "lasso",
    "kmeans",
    "pca",
    "tsne",
    "knn-low",
    "nmf-kl",
    "tree-classifier",
    "forest",
    "boosting",
    "boosting-predict",
    "gmm",
    "hmm-gauss",
    "crf",
    "svc-rbf-1",
    "svm-linear",
    "lda-gibbs",
    "bn-structure",
    "relieff",
]


def available() -> list[str]:
    """The targets that this CPU can run."""
    features = binding.get_host_cpu_features()
    return [name for name, target in TARGETS.items() if all(map(features.get, target.features))] + [NATIVE]


def settings(target: str) -> dict[str, str]:
    """Environment variables under which numba compiles for a target."""
    own = {} if target == NATIVE else {"NUMBA_CPU_NAME": TARGETS[target].cpu, "NUMBA_CPU_FEATURES": ""}
    return {"TERCET_KERNELS": "native", **own}


def line(name: str, seconds: dict[str, float]) -> str:
    """A line of the table."""
    first, *others = seconds.values()
    return results.table_line([name, f"{first:.4f}", *(f"{first / other:.2f}" for other in others)])


def table(measured: dict[str, dict[str, float]]) -> str:
    """The ratios as a table in Markdown, with their geometric means."""
    base, *others = next(iter(measured.values()))
    lines = [results.table_line(["row", f"{base}, s", *others]), "|---" * (len(others) + 2) + "|"]
    lines += [line(name, seconds) for name, seconds in measured.items()]
    means = [
        math.exp(statistics.mean(math.log(seconds[base] / seconds[other]) for seconds in measured.values()))
        for other in others
    ]
    return "\n".join([*lines, results.table_line(["geometric mean", "", *(f"{mean:.2f}" for mean in means)])])


def main(arguments: list[str] | None = None) -> int:
    """The command; see the top of this file."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.targets",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("rows", nargs="*", metavar="ROW", help="some of each family when none is named")
    parser.add_argument("--targets", nargs="+", choices=available(), default=available())
    parser.add_argument("--size", choices=["full", "smoke"], default="full")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each target")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args(arguments)
    rows = [name for name, row in ROWS.items() if isinstance(row, Row)]
    strangers = [name for name in options.rows if name not in rows]
    if strangers:
        parser.error(f"unknown rows {strangers}; there are {rows}")
    here = Path(__file__).resolve().parent.parent
    measured: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in options.rows or USUAL:
            turns: dict[str, list[float]] = {target: [] for target in options.targets}
            for _ in range(options.rounds):
                for target, seconds in turns.items():
                    seconds.append(min(fits(here, name, options.size, folder, **settings(target))))
            measured[name] = {target: statistics.median(seconds) for target, seconds in turns.items()}
            print(line(name, measured[name]), flush=True)
    print(f"\n{table(measured)}")
    if options.write:
        said = " ".join(["python -m benchmarks.targets", *(arguments or sys.argv[1:])])
        work = "kernels compiled for x86-64-v3: seconds of a fit; for others: how many times faster"
        results.write_table("targets", work, table(measured), said, ["tercet", "numba"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
