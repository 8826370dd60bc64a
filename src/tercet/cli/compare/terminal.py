"""The comparison on the terminal."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from tercet.cli import printing
from tercet.cli.measures import MEASURES
from tercet.cli.report.number_format import NOTHING, fixed, seconds, short
from tercet.cli.report.phrases import listed, places, verdict_text
from tercet.cli.translation import language, tr

MOST_COLUMNS = 24
MOST_NAMED = 12  # methods left out for one reason
LARGE = 1e4  # scores beyond it, such as R² of a failed method, are shown in few digits


def table_of_columns(result: dict[str, Any]) -> None:
    """What was found in the table, and what is done with it."""
    from rich.table import Table

    data, console = result["data"], printing.stderr()
    size = tr(
        "{rows:,} rows, {columns:,} columns",
        rows=data["rows"],
        columns=len(data["columns"]) + data["n_sparse"],
    )
    console.print(f"[bold]{_plain(data['source'])}[/bold] ({data['format']}): {size}")
    for note in data["notes"]:
        printing.print_text(f"  · {note}", console, style="dim", indent="    ")
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False)
    for head in ("column", "kind", "missing", "distinct", "why"):
        table.add_column(tr(head), justify="right" if head in ("missing", "distinct") else "left")
    # Columns that are alike in all but their name are one line: a hundred measurements are soon said.
    groups: dict[Any, list[dict[str, Any]]] = {}
    for column in data["columns"]:
        groups.setdefault((column["kind"], column["why"], column["used"]), []).append(column)
    shown = list(groups.items())[:MOST_COLUMNS]
    for (kind, why, used), columns in shown:
        names = (
            columns[0]["name"]
            if len(columns) == 1
            else tr("{name} … ({n} columns)", name=columns[0]["name"], n=len(columns))
        )
        missing, distinct = (_range([c[k] for c in columns]) for k in ("missing", "distinct"))
        table.add_row(_plain(names), tr(kind), missing, distinct, _plain(why), style=None if used else "dim")
    target = data["target"]
    if target is not None:
        table.add_row(
            _plain(target["name"]),
            f"[bold]{tr('target')}[/bold]",
            str(target["missing"]),
            str(target["distinct"]),
            _plain(result["task_why"]),
        )
    printing.print_layout(table, console)
    if len(groups) > MOST_COLUMNS:
        console.print(tr("… and {n} more", n=len(groups) - MOST_COLUMNS), style="dim")


def _range(values: list[int]) -> str:
    low, high = min(values), max(values)
    return f"{low}" if low == high else f"{low}–{high}"


@contextlib.contextmanager
def progress(title: str) -> Iterator[Callable[[int, int, str], None]]:
    """A bar on a terminal; nothing otherwise."""
    if printing.quiet or not printing.stderr().is_terminal:
        yield lambda done, total, label: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("[dim]{task.fields[label]}"),
        console=printing.stderr(),
        transient=True,
    ) as bar:
        task = bar.add_task(title, total=None, label="")

        def tell(done: int, total: int, label: str) -> None:
            bar.update(task, completed=done, total=total, label=label)

        yield tell


def round_ended(turn: int, turns: int) -> None:
    """Away from a terminal, a line per repeat."""
    if not printing.stderr().is_terminal:
        printing.remark("round {turn} of {turns} is done", turn=turn, turns=turns)


def leaderboard(result: dict[str, Any]) -> None:
    """The leaderboard, what was left out, and the verdict."""
    from rich.table import Table

    console = printing.stdout()
    entries = result["leaderboard"]
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False)
    columns = _columns(result, entries, printing.line_width())
    for head, left, _, _ in columns:
        table.add_column(head, justify="left" if left else "right", no_wrap=True)
    for k, entry in enumerate(entries):
        style = "dim" if entry["baseline"] else "bold" if entry["rank"] == 1 else None
        table.add_row(*(_plain(cells[k]) for _, _, _, cells in columns), style=style)
    console.print()
    printing.print_layout(table)
    console.print()
    if not printing.quiet:
        for remark in result["remarks"]:
            printing.print_text(remark, style="dim")
        reasons: dict[str, list[str]] = {}
        for one in result["skipped"]:
            reasons.setdefault(one["why"], []).append(one["name"])
        for why, names in reasons.items():
            told = tr("Left out: {names}: {why}", names=_some(names), why=why)
            printing.print_text(told, style="dim")
    printing.print_text(verdict_text(result), style="bold")


def _some(names: list[str]) -> str:
    """The first names of a long list, and how many there are besides; the report and --json have them all."""
    if len(names) <= MOST_NAMED:
        return ", ".join(names)
    return listed([*names[: MOST_NAMED - 1], tr("{n} others", n=len(names) - MOST_NAMED + 1)])


def _columns(
    result: dict[str, Any], entries: list[dict[str, Any]], width: int
) -> list[tuple[str, bool, int, list[str]]]:
    """The columns that there is room for: (head, flush left, how readily it goes, cells)."""
    from rich.cells import cell_len

    others = list(dict.fromkeys(name for entry in entries for name in entry["others"]))[:2]
    scale = _scale(entries)
    digits = places(result)
    columns = [
        ("#", False, 0, [str(entry["rank"]) for entry in entries]),
        (tr("method"), True, 0, [_name(entry) for entry in entries]),
        (tr("Chinese name"), True, 2 if language() == "zh" else 6, [entry["zh"] or "" for entry in entries]),
        (tr(result["metric_title"]), False, 0, [_score(entry["score"], digits) for entry in entries]),
        ("±", False, 1, [_score(entry["spread"], digits) for entry in entries]),
        (tr("untuned"), False, 1, [_score(entry["untuned"], digits) for entry in entries]),
        ("", True, 4, [_interval(entry, scale) for entry in entries]),
        *(
            (tr(MEASURES[name].title), False, 5, [short(entry["others"].get(name)) for entry in entries])
            for name in others
        ),
        (tr("fit"), False, 0, [seconds(entry["fit_time"]) for entry in entries]),
        (tr("predict"), False, 3, [seconds(entry["predict_time"]) for entry in entries]),
        (tr("against the best"), True, 0, [_against(entry) for entry in entries]),
    ]
    columns = [column for column in columns if any(cell not in ("", NOTHING) for cell in column[3])]

    def total_width(columns: list[Any]) -> int:
        return sum(2 + max(cell_len(text) for text in (head, *cells)) for head, _, _, cells in columns)

    while total_width(columns) > width and max(column[2] for column in columns):
        columns.remove(max(reversed(columns), key=lambda column: column[2]))
    return columns


def _name(entry: dict[str, Any]) -> str:
    if entry["baseline"]:
        return tr("baseline (no features)")
    # What was chosen for these data; a setting in words is the same everywhere, and the report has it.
    chosen = {key: value for key, value in entry["settings"].items() if not isinstance(value, str)}
    return " ".join([entry["name"], *(f"{key}={value}" for key, value in chosen.items())])


def _score(value: Any, digits: int) -> str:
    return fixed(value, digits) if not isinstance(value, float) or abs(value) < LARGE else short(value)


def _against(entry: dict[str, Any]) -> str:
    """The outcome against the best, with the probability of what was found."""
    against = entry["against_best"]
    if entry["outcome"] == "best":
        return tr("the best")
    if entry["outcome"] is None or against is None:
        return ""
    if entry["outcome"] == "undecided":
        return tr("cannot tell yet")
    share = min(against[entry["outcome"]], 0.999)
    return f"{tr('worse') if entry['outcome'] == 'worse' else tr('equivalent')} {share:.1%}"


def _scale(entries: list[dict[str, Any]]) -> tuple[float, float]:
    """The span that the intervals are drawn on: that of the real methods, lest one failure squeeze them."""
    real = [e for e in entries if not e["baseline"] and e["low"] == e["low"]]
    if not real:
        return 0.0, 1.0
    middle = sorted(real, key=lambda e: e["rank"])[: max(3, -(-3 * len(real) // 4))]
    return min(e["low"] for e in middle), max(e["high"] for e in middle)


def _interval(entry: dict[str, Any], scale: tuple[float, float], width: int = 14) -> str:
    """An interval as a line with its middle marked."""
    low, high = scale
    if not (high > low and entry["low"] == entry["low"]):
        return ""

    def place(value: float) -> int:
        return round((value - low) / (high - low) * (width - 1))

    a, m, b = (place(entry[key]) for key in ("low", "score", "high"))
    cells = ["●" if k == m else "─" if a <= k <= b else " " for k in range(width)]
    return "".join(cells)


def _plain(text: str) -> str:
    """Text as it is, also where it looks like markup."""
    from rich.markup import escape

    return escape(str(text))
