"""Where the command's words go: results to stdout, all else to stderr."""

from __future__ import annotations

import functools
import io
import json
import os
import sys
import time
from typing import TYPE_CHECKING, Any

from tercet.cli.words import tr

if TYPE_CHECKING:
    from rich.console import Console

started = time.monotonic()  # this module is among the first to be imported
quiet = False  # set by --quiet: results and errors only


@functools.cache
def out() -> Console:
    """For results."""
    from rich.console import Console

    return Console(highlight=False, soft_wrap=not sys.stdout.isatty())


@functools.cache
def err() -> Console:
    """For progress, remarks and errors."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, soft_wrap=not sys.stderr.isatty())


def remark(text: str, /, **values: Any) -> None:
    """A line about what is going on; --quiet keeps it back."""
    if not quiet:
        err().print(tr(text, **values), markup=False)


def width(console: Console | None = None) -> int:
    """How wide a line may be: as the terminal is, or as COLUMNS says, or as it likes."""
    console = console or out()
    if console.is_terminal or os.environ.get("COLUMNS", "").isdigit():
        return console.width
    return 1000


def show(thing: Any, console: Console | None = None) -> None:
    """A table or another layout; away from a terminal nothing is folded, cut or filled with blanks."""
    console = console or out()
    if console.is_terminal:
        console.print(thing)
        return
    from rich.console import Console

    page = Console(file=io.StringIO(), highlight=False, width=width(console))
    page.print(thing)
    lines = page.file.getvalue().splitlines()  # type: ignore[attr-defined]
    console.file.writelines(f"{line.rstrip()}\n" for line in lines)


def data(value: Any) -> None:
    """A result as JSON on stdout."""
    json.dump(value, sys.stdout, ensure_ascii=False, indent=1)
    sys.stdout.write("\n")
