"""`tercet book`: the texts' worked examples, the book's values beside ours."""

from __future__ import annotations

import contextlib
import importlib
import math
import re
import sys
import warnings
from collections.abc import Iterator
from typing import Any

from rich.markup import escape
from rich.table import Table
from rich.text import Text

from tercet.cli import printing
from tercet.cli.catalogue import section
from tercet.cli.errors import DIFFERENT, INTERRUPTED, USAGE, Refusal
from tercet.cli.method_messages import warning_texts
from tercet.cli.translation import language, tr, translated_name
from tercet.core import catalog
from tercet.core.catalog import TEXTS, text_of

LONGEST = 44  # of a value, in characters


def run(which: str | None, *, json: bool) -> int:
    """Run the examples asked for, one by one; 0 if every value agrees."""
    chosen = choose(which)
    done: list[dict[str, Any]] = []
    interrupted = False
    before = None
    with _progress(len(chosen), shown=json or not sys.stdout.isatty()) as advance:
        try:
            for chapter, example in chosen:
                done.append(work(chapter, example))
                if not json:
                    if chapter != before:
                        _print_heading(chapter)
                    _print_example(done[-1])
                    sys.stdout.flush()
                before = chapter
                advance(example.place)
        except KeyboardInterrupt:
            interrupted = True
    right = sum(entry["agrees"] for entry in done)
    values = [value for entry in done for value in entry["values"]]
    agreeing = sum(value["agrees"] for value in values)
    if json:
        counts = {"right": right, "values": len(values), "values_right": agreeing, "asked": len(chosen)}
        printing.print_json({"examples": done, **counts, "interrupted": interrupted})
    else:
        text = tr(
            "{right} of {n} examples, {agreeing} of {m} values agree",
            right=right,
            n=len(done),
            agreeing=agreeing,
            m=len(values),
        )
        printing.stdout().print(Text(f"\n{text}", style="bold green" if right == len(done) else "bold red"))
    if interrupted:
        printing.remark("interrupted: {left} examples were not run", left=len(chosen) - len(done))
        return INTERRUPTED
    return 0 if right == len(done) else DIFFERENT


def choose(which: str | None) -> list[tuple[str, Any]]:
    """The examples that a chapter or a place names, each with the name of its chapter.

    Examples
    --------
    >>> [example.title for _, example in choose("Ex 2.2")]
    ['the perceptron in its dual form']
    >>> sorted({chapter for chapter, _ in choose("watermelon/13")})
    ['watermelon_ch13_1', 'watermelon_ch13_4']
    """
    from tercet.datasets.texts import chapters, examples

    everything = [(chapter, example) for chapter in chapters() for example in examples(chapter)]
    if which is None:
        return everything
    wanted = _chapters(which, chapters())
    found = [(chapter, example) for chapter, example in everything if chapter in wanted]
    found = found or [(chapter, example) for chapter, example in everything if _is_at(example.place, which)]
    if not found:
        raise Refusal(
            tr(
                "no chapter and no example is called {which!r}; the chapters are {names}",
                which=which,
                names=", ".join(chapters()),
            ),
            USAGE,
        )
    return found


def _chapters(which: str, names: list[str]) -> list[str]:
    """The modules meant by "6", "ch06", "watermelon/1", "watermelon_ch01", "watermelon notes" or "app_c"."""
    if which in names:
        return [which]
    text, chapter = _text_and_rest(which)
    if text is None:
        text = TEXTS["Li"]
    elif not chapter:
        return _of_text(text, names)
    asked = section(chapter)
    # A chapter may be several modules: ch05_3, ch05_7.
    start = f"{text.key}_"
    mine = _of_text(text, names)
    return [name for name in mine if asked and section(name.removeprefix(start).split("_")[0]) == asked]


def _of_text(text: catalog.Text, names: list[str]) -> list[str]:
    """The modules of a text: those of Li are named after the chapter alone."""
    others = tuple(f"{other.key}_" for other in TEXTS.values())
    return [
        name
        for name in names
        if name.startswith(f"{text.key}_") or (text.key == "li" and not name.startswith(others))
    ]


def _text_and_rest(which: str) -> tuple[catalog.Text | None, str]:
    """The text that is named at the beginning, by its name or its key, and what follows."""
    asked = which.strip()
    for text in TEXTS.values():
        for start in (text.name, text.key):
            found = re.match(rf"{start}(?:\s*/\s*|[\s_]+|$)", asked, re.IGNORECASE)
            if found:
                return text, asked[found.end() :]
    return None, asked


def _is_at(place: str, which: str) -> bool:
    """Whether a place, as in "Li Eq E.6, E.7", is the one asked for, as in "eq. E.7"."""
    text, rest = _text_and_rest(which)
    if text not in (None, text_of(place)):
        return False
    asked, there = (
        re.sub(r"(?<=[a-z])\.", "", words.lower()).split()
        for words in (rest, place.removeprefix(text_of(place).name))
    )
    label, number = asked[:-1], asked[-1:]
    numbers = [word.rstrip(",") for word in there[len(label) :]]
    return asked == there or (bool(label) and there[: len(label)] == label and number[0] in numbers)


def work(chapter: str, example: Any) -> dict[str, Any]:
    """Run one example: its values with the book's, and whether they agree."""
    entry: dict[str, Any] = {
        "chapter": chapter,
        "place": example.place,
        "title": example.title,
        "zh": example.zh,
    }
    entry["note"] = example.note
    error = ""
    caught: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = list(example.values())
        values = [
            {
                "name": v.name,
                "book": plain(v.wanted),
                "ours": plain(v.got),
                "agrees": v.same,
                "derived": example.is_derived(v.name),
            }
            for v in found
        ]
    except Exception as fault:  # an example that falls over differs from the book; the next may not
        error = f"{type(fault).__name__}: {fault}"
        values = [
            {
                "name": name,
                "book": plain(wanted),
                "ours": None,
                "agrees": False,
                "derived": example.is_derived(name),
            }
            for name, wanted in example.expected.items()
        ]
    entry |= {"warnings": warning_texts(caught), "error": error}
    return {**entry, "values": values, "agrees": all(v["agrees"] for v in values)}


def plain(value: Any) -> Any:
    """A value as JSON knows it.

    Examples
    --------
    >>> import numpy as np
    >>> plain({"w": np.array([1.0, np.inf]), "classes": ("a", np.int64(3))})
    {'w': [1.0, 'inf'], 'classes': ['a', 3]}
    """
    if isinstance(value, dict):
        return {str(name): plain(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple | set):
        return [plain(entry) for entry in value]
    if hasattr(value, "tolist"):  # NumPy's arrays and numbers
        return plain(value.tolist())
    finite = isinstance(value, float) and math.isfinite(value)
    return value if finite or isinstance(value, str | int | None) else str(value)


def brief(value: Any, digits: int = 7, longest: int = LONGEST) -> str:
    """A value on one short line.

    Examples
    --------
    >>> brief([[1.0, 0.123456789], [2, 3]]), brief(True), brief({"a": 1e-9})
    ('[[1 0.1234568] [2 3]]', 'yes', 'a: 1e-09')
    """
    text = _line(value, digits)
    return text if len(text) <= longest else f"{text[: longest - 2]} …"


def _line(value: Any, digits: int) -> str:
    if isinstance(value, bool):
        return tr("yes") if value else tr("no")
    if isinstance(value, float):
        return f"{value:.{digits}g}"
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_line(entry, digits)}" for name, entry in value.items())
    if isinstance(value, list):
        return f"[{' '.join(_line(entry, digits) for entry in value)}]"
    return "-" if value is None else str(value)


def _print_heading(chapter: str) -> None:
    module = importlib.import_module(f"tercet.datasets.texts.{chapter}")
    title = (module.__doc__ or chapter).partition("\n")[0].rstrip(".")
    printing.stdout().print(f"\n[bold cyan]{escape(tr(title))}[/]  [dim]{chapter}[/]")


def _print_example(entry: dict[str, Any]) -> None:
    first, second = ("zh", "title") if language() == "zh" else ("title", "zh")
    printing.stdout().print(
        Text.assemble("\n", (entry["place"], "bold"), f"  {entry[first]}", (f" · {entry[second]}", "dim"))
    )
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    table.add_column("", no_wrap=True)
    table.add_column(tr("value"), overflow="fold")
    # A number that the text does not print is not the book's.
    derived = [value["derived"] for value in entry["values"]]
    table.add_column(tr("derived") if all(derived) else tr("the book"), overflow="fold")
    table.add_column(tr("ours"), overflow="fold")
    for value in entry["values"]:
        mark = Text("✓", style="green") if value["agrees"] else Text("✗", style="bold red")
        # What differs is shown whole: the difference may be in the last digits, or at the end.
        limits = {} if value["agrees"] else {"digits": 12, "longest": 2000}
        wanted = brief(value["book"], **limits)
        cells = (
            translated_name(value["name"], "value"),
            f"{tr('derived')}: {wanted}" if value["derived"] and not all(derived) else wanted,
            brief(value["ours"], **limits),
        )
        table.add_row(mark, *map(Text, cells))
    printing.print_layout(table)
    if entry["error"]:
        printing.stdout().print(Text(entry["error"], style="red"))
    for text in entry["warnings"]:
        printing.print_text(tr("warning: {text}", text=text), style="dim")
    if entry["note"]:
        printing.print_text(f"{tr('note')}: {tr(entry['note'])}", style="dim italic")


@contextlib.contextmanager
def _progress(total: int, *, shown: bool) -> Iterator[Any]:
    """Progress on stderr where the results themselves do not show it: a bar on a terminal, else nothing."""
    if printing.quiet or not shown or not sys.stderr.isatty():
        yield lambda place: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
    # stdout is a file or a pipe here: what goes there must not be drawn into the bar's picture.
    with Progress(*columns, console=printing.stderr(), transient=True, redirect_stdout=False) as bar:
        task = bar.add_task("", total=total)
        yield lambda place: bar.update(task, advance=1, description=place)
