"""The quality of a row over several draws of its data: ``python -m benchmarks.quality ROW [--seeds 8]``.

One draw cannot tell a method that is worse from one that was unlucky: where gains are nearly equal, rounding
decides which of two trees is grown. Here ours and the peers fit data of several seeds; printed are the figures,
and for each peer the mean of ours minus the peer's with its standard error (below 0: ours is better). ``--set
d=200`` changes a size. Nothing is timed.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys

import numpy as np

from benchmarks.__main__ import ROWS
from benchmarks.harness import Contender, Data, Row
from benchmarks.worker import thread_limits


def figure(row: Row, contender: Contender, data: Data) -> float:
    """The row's figure for what a contender returns."""
    with thread_limits():
        prepared = contender.prepare(data) if contender.prepare else data
        return float(row.quality(data, contender.fit(prepared)))


def differences(ours: list[float], theirs: list[float]) -> tuple[float, float]:
    """Mean of the paired differences, and its standard error."""
    gaps = [a - b for a, b in zip(ours, theirs, strict=True)]
    error = statistics.stdev(gaps) / math.sqrt(len(gaps)) if len(gaps) > 1 else math.nan
    return statistics.fmean(gaps), error


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality", description=__doc__)
    parser.add_argument("row", choices=[name for name, row in ROWS.items() if isinstance(row, Row)])
    parser.add_argument("--size", choices=["full", "smoke"], default="full")
    parser.add_argument("--seeds", type=int, default=8, help="draws of the data (8)")
    parser.add_argument("--peer", action="append", help="only this peer (may be repeated)")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=NUMBER", help="another size")
    options = parser.parse_args(arguments)
    row = ROWS[options.row]
    sizes = {
        **row.sizes[options.size],
        **{k: float(v) for k, _, v in (s.partition("=") for s in options.set)},
    }
    sizes = {k: int(v) if float(v).is_integer() and k != "steep" else v for k, v in sizes.items()}
    everyone = {"tercet": row.ours, **row.peers}
    if options.peer:
        everyone = {name: everyone[name] for name in ["tercet", *options.peer]}
    figures: dict[str, list[float]] = {name: [] for name in everyone}
    print(f"{row.name}, {row.figure}; {', '.join(f'{k} {v}' for k, v in sizes.items())}")
    print("seed".rjust(6) + "".join(name.rjust(24) for name in everyone), flush=True)
    for seed in range(options.seeds):
        data = row.data(np.random.default_rng(seed), **sizes)
        for name, contender in everyone.items():
            figures[name].append(figure(row, contender, data))
        print(f"{seed:6d}" + "".join(f"{figures[name][-1]:24.6g}" for name in everyone), flush=True)
    for name in list(everyone)[1:]:
        mean, error = differences(figures["tercet"], figures[name])
        print(f"ours - {name}: {mean:+.2g}, standard error {error:.2g} (tolerance {row.tolerance:g})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
