"""The result of a comparison as a dict of plain values, which `--json` writes and the report shows."""

from __future__ import annotations

import dataclasses
import datetime
import json
import math
import shlex
import sys
import time
from typing import Any

from tercet import __version__
from tercet.cli.compare.baseline import BASELINE
from tercet.cli.compare.comparison import Design
from tercet.cli.compare.leaderboard import Leaderboard
from tercet.cli.compare.remarks import remarks
from tercet.cli.compare.scheduling import Scheduler
from tercet.cli.measures import Measure
from tercet.cli.translation import tr
from tercet.core.catalog import Card


def describe(table: Any, schema: Any, y: Any, rows: int, measure: Measure) -> dict[str, Any]:
    """The part that is known before the first fit: the data, the task, the measure."""
    classes = None
    if schema.classes is not None and y is not None:
        classes = [[plain(label), int((y == k).sum())] for k, label in enumerate(schema.classes)]
    return {
        "tercet": __version__,
        "created": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
        "command": shlex.join(["tercet", *sys.argv[1:]]),
        "data": {
            "source": table.source,
            "format": tr(table.format),
            "rows": rows,
            "total_rows": table.total_rows,
            "notes": [tr(note) for note in (*table.notes, *schema.notes)],
            "columns": [_column(column) for column in schema.columns],
            "target": None if schema.target is None else _column(schema.target),
            "classes": classes,
            "n_sparse": schema.n_sparse,
        },
        "task": schema.task,
        "task_why": tr(schema.task_why),
        "metric": measure.name,
        "metric_title": measure.title,
        "metric_why": None,
        "split": {"kind": "random", "column": None},
        "margin": None,
        "tuned": False,
        "expected": None,
        "greater_is_better": measure.greater_is_better,
        "preprocessing": [],
        "leaderboard": [],
        "skipped": [],
        "remarks": [],
        "time": {"total": 0.0, "fits": 0.0, "in_fits": 0.0, "reading": 0.0},
        "interrupted": False,
    }


def _column(column: Any) -> dict[str, Any]:
    names = ("name", "kind", "used", "missing", "distinct", "summary")
    return {**{name: getattr(column, name) for name in names}, "why": tr(column.why)}


def gather(
    result: dict[str, Any],
    scheduler: Scheduler,
    cards: dict[str, Card],
    measure: Measure,
    design: Design,
    margin: float | None = None,
) -> None:
    """Add the leaderboard, the methods that are not on it, and remarks."""
    rounds = scheduler.rounds()
    if rounds:
        design = dataclasses.replace(design, rounds=rounds)
        board = Leaderboard(scheduler.finished(), cards, measure, design, margin, result["seed"])
        result |= {"leaderboard": board.entries, "margin": board.margin, "expected": board.expected}
    result["skipped"] = [
        {"name": name, "zh": cards[name].zh, "why": tr(why)}
        for name, why in scheduler.left_out().items()
        if name != BASELINE
    ]
    result["repeats"] = rounds or scheduler.repeats
    result["remarks"] = [tr(note) for note in remarks(result, rounds, scheduler.repeats)]


def add_times(result: dict[str, Any], busy: list[tuple[float, float]], begin: float) -> None:
    """How long fits were running: summed over processes, and on the clock (when at least one was)."""
    spans = sorted(busy)
    covered, end = 0.0, -math.inf
    for first, last in spans:
        covered += max(0.0, last - max(first, end))
        end = max(end, last)
    total = time.monotonic() - begin
    result["time"].update(fits=sum(last - first for first, last in spans), in_fits=covered, total=total)


def to_json(result: dict[str, Any]) -> str:
    """The text of the file."""
    return json.dumps(_clean(result), ensure_ascii=False, indent=1, default=plain) + "\n"


def plain(value: Any) -> Any:
    """A value that JSON knows: NumPy's numbers as Python's, the rest as text."""
    if hasattr(value, "item"):
        return value.item()
    return value if isinstance(value, int | float | bool) else str(value)


def _clean(value: Any) -> Any:
    """Without NaN and infinity, which JSON does not have."""
    if isinstance(value, dict):
        return {str(key): _clean(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
