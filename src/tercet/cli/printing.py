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
    from rich.text import Text

started = time.monotonic()  # this module is among the first to be imported
quiet = False  # set by --quiet: results and errors only


@functools.cache
def stdout() -> Console:
    """Console for results."""
    return _console()


@functools.cache
def stderr() -> Console:
    """Console for progress, remarks and errors."""
    return _console(stderr=True)


def _console(**options: Any) -> Console:
    """A console that folds nothing away from a terminal."""
    from rich.console import Console

    console = Console(highlight=False, **options)
    console.soft_wrap = not console.is_terminal
    return console


def remark(text: str, /, **values: Any) -> None:
    """Print a translated remark to stderr, unless --quiet."""
    if not quiet:
        print_text(tr(text, **values), stderr())


def line_width(console: Console | None = None) -> int:
    """Line width: of the terminal, or of COLUMNS, or unlimited."""
    console = console or stdout()
    return console.width if is_folded(console) else 1000


def print_text(
    text: str | Text, console: Console | None = None, *, style: str = "", indent: str = ""
) -> None:
    """Print a paragraph, folded between its words on a terminal; `indent` is before every line but the first."""
    from rich.text import Text

    from tercet.cli.line_folding import break_points

    console = console or stdout()
    paragraph = Text(text, style=style) if isinstance(text, str) else text
    folded = is_folded(console)
    ends = break_points(paragraph.plain, console.width, len(indent)) if folded else []
    for k, line in enumerate(paragraph.divide(ends)):
        line.rstrip()
        console.print(Text(indent if k else "") + line, soft_wrap=True)


def print_command(command: str, console: Console | None = None, *, indent: str = "  ") -> None:
    """Print a command that can be copied: on a terminal, in lines that end in a backslash."""
    from rich.text import Text

    from tercet.cli.line_folding import fold_command

    console = console or stdout()
    lines = fold_command(command, console.width - len(indent)) if is_folded(console) else [command]
    for line in lines:
        console.print(Text(indent + line), soft_wrap=True)


def is_folded(console: Console) -> bool:
    """Whether lines have a width: that of the terminal, or COLUMNS."""
    return console.is_terminal or os.environ.get("COLUMNS", "").isdigit()


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
