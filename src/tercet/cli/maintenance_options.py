"""Options of `tercet warm` and `tercet bench`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tercet.cli.translation import tr

Native = Annotated[
    bool,
    typer.Option("--native", help=tr("For this very CPU, whatever is installed; for TERCET_KERNELS=native.")),
]
Pack = Annotated[
    bool, typer.Option("--pack", help=tr("Build a kernel pack, which other machines can use, too."))
]
PackFolder = Annotated[
    Path | None,
    typer.Argument(
        metavar="FOLDER",
        help=tr("With --pack: where to put it; by default into this environment."),
        show_default=False,
    ),
]
PackTarget = Annotated[
    str | None,
    typer.Option("--target", metavar="CPU", help=tr("With --pack: x86-64-v3, x86-64-v4 or aarch64.")),
]
BenchRows = Annotated[
    list[str] | None, typer.Argument(metavar="ROW", help=tr("Rows to run; by default all."))
]
BenchSize = Annotated[str, typer.Option("--size", metavar="full|smoke", help=tr("smoke is a quick look."))]
BenchList = Annotated[bool, typer.Option("--list", help=tr("Name the rows and stop."))]
