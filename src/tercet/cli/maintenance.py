"""`tercet warm` and `tercet bench`."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tercet
from tercet.cli import printing
from tercet.cli.errors import NOTHING_DONE, USAGE, Refusal
from tercet.cli.translation import tr

if TYPE_CHECKING:
    from tercet.core.catalog import Card

SIZES = ("full", "smoke")


def warm(
    *, native: bool = False, pack: bool = False, folder: Path | None = None, target: str | None = None
) -> int:
    """Compile every kernel, into the cache or into a pack."""
    from tercet.core.kernel import JIT

    if not JIT:
        raise Refusal(tr("TERCET_JIT=0 runs the kernels as plain Python: there is nothing to compile"), USAGE)
    if native and pack:
        raise Refusal(tr("--native is for this machine and --pack for others: choose one"), USAGE)
    if not pack and (folder is not None or target is not None):
        raise Refusal(tr("FOLDER and --target go with --pack"), USAGE)
    from tercet.cli.warm import cards, warm_all

    begin, todo = time.perf_counter(), cards()
    if pack:
        file, header = build_pack(todo, folder, target)
        said = tr(
            "{file}: {n} kernels for {target} ({size:.1f} MB) after {seconds:.1f} s",
            file=str(file),
            n=header["kernels"],
            target=header["target"],
            size=file.stat().st_size / 1e6,
            seconds=time.perf_counter() - begin,
        )
    else:
        with changed_environment(TERCET_KERNELS="native" if native else None):
            show_progress(warm_all(todo), len(todo))
        passed = time.perf_counter() - begin
        said = tr("{n} estimators are warm after {seconds:.1f} s", n=len(todo), seconds=passed)
    printing.stdout().print(said, markup=False)
    return 0


def build_pack(todo: list[Card], folder: Path | None, target: str | None) -> tuple[Path, dict[str, Any]]:
    """Build a pack in processes of its own; returns the file and its header."""
    from tercet.cli import pack_building
    from tercet.cli.warm import warm_all
    from tercet.core import kernel_pack

    name = target or pack_building.default_target()
    if name not in pack_building.TARGETS:
        names = ", ".join(pack_building.TARGETS)
        raise Refusal(tr("--target {asked!r} is unknown; there are {names}", asked=name, names=names), USAGE)
    chosen = pack_building.TARGETS[name]
    place = folder or kernel_pack.folders()[-1]
    try:
        pack_building.check_environment()
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as cache, tempfile.TemporaryDirectory() as spool:
            with pack_building.environment(chosen, Path(cache)):
                show_progress(warm_all(todo, os.cpu_count() or 1, record_into=spool), len(todo))
            file = place / f"{name}{kernel_pack.ENDING}"
            return file, pack_building.assemble(Path(spool), file, chosen)
    except pack_building.PackRefused as refused:
        raise Refusal(tr("no pack: {why}", why=refused.args[0]), NOTHING_DONE) from refused
    except OSError as error:
        raise Refusal(tr("the output cannot be written: {why}", why=str(error)), NOTHING_DONE) from error


def show_progress(warmed: Iterable[tuple[Card, float]], n: int) -> None:
    """A progress bar on a terminal, else a line for each estimator."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    terminal = sys.stderr.isatty()
    with Progress(
        *columns, console=printing.stderr(), transient=True, disable=printing.quiet or not terminal
    ) as bar:
        task = bar.add_task("", total=n)
        for k, (card, seconds) in enumerate(warmed, 1):
            bar.update(task, advance=1, description=card.name)
            if not terminal:
                printing.remark(
                    "[{k}/{n}] {name}: {seconds:.1f} s", k=k, n=n, name=card.name, seconds=seconds
                )


@contextlib.contextmanager
def changed_environment(**variables: str | None) -> Iterator[None]:
    """Variables for the processes that are started inside; None leaves one as it is."""
    given = {name: value for name, value in variables.items() if value is not None}
    before = {name: os.environ.get(name) for name in given}
    os.environ.update(given)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


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
