"""`tercet warm` and `tercet bench`."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import tercet
from tercet.cli import printing
from tercet.cli.errors import NOTHING_DONE, USAGE, Refusal
from tercet.cli.translation import tr

SIZES = ("full", "smoke")


def warm() -> int:
    """Compile every kernel, with a progress bar on a terminal, else a line for each estimator."""
    from tercet.core.kernel import JIT

    if not JIT:
        raise Refusal(tr("TERCET_JIT=0 runs the kernels as plain Python: there is nothing to compile"), USAGE)
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from tercet.cli.warm import cards, warm_all, warm_readers

    begin, todo = time.perf_counter(), cards()
    warm_readers()
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    terminal = sys.stderr.isatty()
    with Progress(
        *columns, console=printing.stderr(), transient=True, disable=printing.quiet or not terminal
    ) as bar:
        task = bar.add_task("", total=len(todo))
        for k, (card, seconds) in enumerate(warm_all(todo), 1):
            bar.update(task, advance=1, description=card.name)
            if not terminal:
                printing.remark(
                    "[{k}/{n}] {name}: {seconds:.1f} s", k=k, n=len(todo), name=card.name, seconds=seconds
                )
    passed = time.perf_counter() - begin
    printing.stdout().print(
        tr("{n} estimators are warm after {seconds:.1f} s", n=len(todo), seconds=passed), markup=False
    )
    return 0


def bench(rows: list[str], *, size: str, show: bool) -> int:
    """Run the benchmark of the checkout in a process of its own."""
    if size not in SIZES:
        raise Refusal(
            tr("--size {asked!r} is unknown; there are {names}", asked=size, names=", ".join(SIZES)), USAGE
        )
    root = checkout()
    command = [sys.executable, "-m", "benchmarks", *rows, "--size", size, *(["--list"] if show else [])]
    paths = [str(root / "src"), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    return subprocess.run(command, cwd=root, env=environment, check=False).returncode


def checkout() -> Path:
    """The folder of the source checkout: that of this package, or the current one."""
    package = Path(tercet.__file__).resolve().parent
    for root in (package.parent.parent, Path.cwd()):
        if (root / "benchmarks" / "harness.py").is_file() and (root / "src" / "tercet").is_dir():
            return root
    raise Refusal(
        tr(
            "the benchmark is not part of the installed package: it is the folder `benchmarks` of a source "
            "checkout; run `tercet bench` there, or `make bench`"
        ),
        NOTHING_DONE,
    )
