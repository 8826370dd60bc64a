"""Run the benchmark: ``python -m benchmarks [ROW ...] [--size full|smoke] [--rounds 3] [--growth] [--list]``.

``python -m benchmarks defaults`` and ``first`` have options of their own; see `benchmarks.defaults` and `first`.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from dataclasses import asdict
from typing import Any

from benchmarks import (
    bandits,
    boosting,
    cluster,
    command,
    crf,
    decomposition,
    ensemble,
    explain,
    feature,
    graph,
    graphical,
    hidden_sizes,
    lda_gibbs,
    lda_variational,
    linear,
    manifold,
    maxent,
    maxent_irl,
    metric_learning,
    mixture,
    mlp,
    naive_bayes,
    neighbors,
    nmf,
    overhead,
    planning,
    plsa,
    q_learning,
    rbm,
    results,
    rules,
    sampling,
    semi_supervised,
    sequence,
    som,
    sparse_factors,
    svm,
    svm_linear,
    tree,
)
from benchmarks.growth import run_growth
from benchmarks.harness import Report, Row, run_row, version
from benchmarks.worker import wait_for_quiet

ROWS: dict[str, Row | Report] = {
    row.name: row
    for module in (
        linear,
        maxent,
        cluster,
        decomposition,
        metric_learning,
        manifold,
        naive_bayes,
        neighbors,
        hidden_sizes,
        nmf,
        lda_variational,
        plsa,
        tree,
        ensemble,
        boosting,
        mixture,
        mlp,
        sequence,
        sampling,
        semi_supervised,
        som,
        sparse_factors,
        crf,
        svm,
        svm_linear,
        lda_gibbs,
        explain,
        graph,
        rules,
        graphical,
        rbm,
        planning,
        q_learning,
        bandits,
        maxent_irl,
        overhead,
        command,
        feature,
    )
    for row in module.ROWS
}


def main(arguments: list[str] | None = None) -> int:
    given = sys.argv[1:] if arguments is None else arguments
    if given[:1] == ["defaults"]:
        from benchmarks import defaults

        return defaults.main(given[1:])
    if given[:1] == ["first"]:
        from benchmarks import first

        return first.main(given[1:])
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Ours and the peers by turns.")
    parser.add_argument("rows", nargs="*", metavar="ROW", help="rows to run; all of them when none is named")
    parser.add_argument("--size", choices=["full", "smoke"], default="full", help="smoke is only printed")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each contender")
    parser.add_argument("--growth", action="store_true", help="also at a tenth and ten times the size")
    parser.add_argument("--list", action="store_true", help="name the rows and stop")
    options = parser.parse_args(given)
    if options.list:
        try:
            print("\n".join(f"{name:16} {work(row, options.size)}" for name, row in ROWS.items()), flush=True)
        except BrokenPipeError:  # whoever read this has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    strangers = [name for name in options.rows if name not in ROWS]
    if strangers:
        parser.error(f"unknown rows {strangers}; the rows are {list(ROWS)}")
    if options.rounds < (3 if options.size == "full" else 1):
        parser.error(f"--rounds={options.rounds} is too few: at least 3 for full size, 1 for smoke")
    said = shlex.join(["python", "-m", "benchmarks", *given])
    for name in options.rows or ROWS:
        print(f"==> {name}", flush=True)
        entry = measure(ROWS[name], options.size, options.rounds, said, growth=options.growth)
        print(results.section(entry))
        if "scores" in entry:
            print(results.summary([entry]), flush=True)
        if options.size == "full":  # after every row: a run that is cut short keeps what it has
            results.write(results.PATH, [entry], list(ROWS))
    return 0


def work(row: Row | Report, size: str) -> str:
    """What a row does, with its numbers."""
    return row.work.format(**row.sizes[size]) if isinstance(row, Row) else row.work


def measure(
    row: Row | Report, size: str, rounds: int, command: str, *, growth: bool = False
) -> dict[str, Any]:
    """Run one row and return its entry for the results."""
    if isinstance(row, Report):
        body: dict[str, Any] = {"work": row.work, "size": size}
        wait_for_quiet(0.3 if size == "full" else 0.0, 60.0)
        body["figures"] = [asdict(figure) for figure in row.measure(size, rounds)]
        packages = row.packages
    else:
        outcome = run_row(row, size, rounds)
        outcome.growth = run_growth(row, outcome, rounds) if growth else None
        body = asdict(outcome)
        del body["row"]
        packages = tuple(dict.fromkeys(c.package for c in (row.ours, *row.peers.values())))
    versions = {name: version(name) for name in (*packages, "numpy", "scipy", "numba")}
    return {"name": row.name, **body, **results.circumstances(command, versions)}


if __name__ == "__main__":
    raise SystemExit(main())
