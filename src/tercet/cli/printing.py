"""Printing: results to stdout, everything else to stderr."""

from __future__ import annotations

import functools
import io
import json
import os
import sys
import time
from typing import TYPE_CHECKING, Any

from tercet.cli.translation import tr

if TYPE_CHECKING:
    from rich.console import Console

started = time.monotonic()  # this module is among the first to be imported
quiet = False  # set by --quiet: results and errors only


@functools.cache
def stdout() -> Console:
    """Console for results."""
    from rich.console import Console

    return Console(highlight=False, soft_wrap=not sys.stdout.isatty())


@functools.cache
def stderr() -> Console:
    """Console for progress, remarks and errors."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, soft_wrap=not sys.stderr.isatty())


def remark(text: str, /, **values: Any) -> None:
    """Print a translated remark to stderr, unless --quiet."""
    if not quiet:
        stderr().print(tr(text, **values), markup=False)


def line_width(console: Console | None = None) -> int:
    """Line width: of the terminal, or of COLUMNS, or unlimited."""
    console = console or stdout()
    if console.is_terminal or os.environ.get("COLUMNS", "").isdigit():
        return console.width
    return 1000


def print_layout(thing: Any, console: Console | None = None) -> None:
    """Print a table or another layout; away from a terminal nothing is folded, cut or padded."""
    console = console or stdout()
    if console.is_terminal:
        console.print(thing)
        return
    from rich.console import Console

    page = Console(file=io.StringIO(), highlight=False, width=line_width(console))
    page.print(thing)
    lines = page.file.getvalue().splitlines()  # type: ignore[attr-defined]
    console.file.writelines(f"{line.rstrip()}\n" for line in lines)


def print_json(value: Any) -> None:
    """Print a result as JSON to stdout."""
    json.dump(value, sys.stdout, ensure_ascii=False, indent=1)
    sys.stdout.write("\n")
