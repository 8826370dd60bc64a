"""Alerts about the table of a comparison, computed in a worker process before the race."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from tercet.cli.alerts.alert import SEVERITIES, Alert
from tercet.cli.compare.worker_pool import WorkerPool, WorkerTask
from tercet.cli.translation import tr
from tercet.core.messages import Message

MOST_UNUSED = 20
LEAST_TIME = 60.0  # seconds for the alerts, which need few, whatever the budget


def kept_rows(table: Any, schema: Any) -> np.ndarray:
    """The places of the rows that have a target."""
    if schema.target is None:
        return np.arange(table.height)
    return np.flatnonzero(schema.to_target(table)[1])


def unused_identifiers(table: Any, schema: Any) -> dict[str, np.ndarray]:
    """Columns that are no features because they name rows, or were dropped, as codes: they may tell groups."""
    import polars as pl

    found: dict[str, np.ndarray] = {}
    kept = kept_rows(table, schema)
    for column in schema.columns:
        if column.used or column.kind != "identifier" or len(found) >= MOST_UNUSED:
            continue
        series = table.frame[column.name]
        if series.dtype.is_nested() or series.dtype in (pl.Binary, pl.Object):
            continue
        codes = series.rank("dense").fill_null(0).to_numpy().astype(np.int64)
        found[column.name] = codes[kept]
    return found


def find_table_alerts(
    pool: WorkerPool, unused: dict[str, np.ndarray], request: Any, deadline: float
) -> list[dict[str, Any]]:
    """The alerts, in the language in use; where the check did not come to its end, an alert that says so."""
    known = {
        "unused": unused,
        "group": getattr(request, "group", None),
        "time": getattr(request, "time", None),
    }
    why: str = Message("the time was up")
    for outcome in pool.run([WorkerTask("alerts", known)], max(deadline, time.monotonic() + LEAST_TIME)):
        if outcome.error is None:
            return [alert.to_dict(tr) for alert in outcome.value]
        why = outcome.error
    return [_unchecked(why).to_dict(tr)]


def _unchecked(why: str) -> Alert:
    return Alert(
        "unchecked",
        "caution",
        Message("the table was not checked for defects"),
        Message("The check has no result: {why}.", why=why),
        Message(
            "Scores may be too good. Compare again, with a part of the rows (--rows) if memory is short."
        ),
    )


def add_alerts(result: dict[str, Any], alerts: list[Any]) -> None:
    """Add alerts that were found later, in order of severity."""
    every = [*result["alerts"], *(alert.to_dict(tr) for alert in alerts)]
    result["alerts"] = sorted(every, key=lambda alert: SEVERITIES.index(alert["severity"]))
