"""Run the benchmark: ``python -m benchmarks [ROW ...] [--size full|smoke] [--rounds 3] [--list]``."""

from __future__ import annotations

import argparse
import shlex
import sys
from dataclasses import asdict
from typing import Any

from benchmarks import cluster, linear, maxent, overhead, results
from benchmarks.harness import Report, Row, run_row, version
from benchmarks.worker import wait_for_quiet

ROWS: dict[str, Row | Report] = {
    row.name: row for module in (linear, maxent, cluster, overhead) for row in module.ROWS
}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Ours and the peers by turns.")
    parser.add_argument("rows", nargs="*", metavar="ROW", help="rows to run; all of them when none is named")
    parser.add_argument("--size", choices=["full", "smoke"], default="full", help="smoke is only printed")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each contender")
    parser.add_argument("--list", action="store_true", help="name the rows and stop")
    options = parser.parse_args(arguments)
    if options.list:
        print("\n".join(f"{name:16} {row.work}" for name, row in ROWS.items()))
        return 0
    strangers = [name for name in options.rows if name not in ROWS]
    if strangers:
        parser.error(f"unknown rows {strangers}; the rows are {list(ROWS)}")
    if options.rounds < (3 if options.size == "full" else 1):
        parser.error(f"--rounds={options.rounds} is too few: at least 3 for full size, 1 for smoke")
    given = sys.argv[1:] if arguments is None else arguments
    command = shlex.join(["python", "-m", "benchmarks", *given])
    for name in options.rows or ROWS:
        print(f"==> {name}", flush=True)
        entry = measure(ROWS[name], options.size, options.rounds, command)
        print(results.section(entry))
        if "scores" in entry:
            print(results.summary([entry]), flush=True)
        if options.size == "full":  # after every row: a run that is cut short keeps what it has
            results.write(results.PATH, [entry], list(ROWS))
    return 0


def measure(row: Row | Report, size: str, rounds: int, command: str) -> dict[str, Any]:
    """Run one row and return its entry for the results."""
    if isinstance(row, Report):
        body: dict[str, Any] = {"work": row.work, "size": size}
        wait_for_quiet(0.3 if size == "full" else 0.0, 60.0)
        body["figures"] = [asdict(figure) for figure in row.measure(size, rounds)]
        packages = row.packages
    else:
        body = asdict(run_row(row, size, rounds))
        del body["row"]
        packages = tuple(dict.fromkeys(c.package for c in (row.ours, *row.peers.values())))
    versions = {name: version(name) for name in (*packages, "numpy", "scipy", "numba")}
    return {"name": row.name, **body, **results.circumstances(command, versions)}


if __name__ == "__main__":
    raise SystemExit(main())
