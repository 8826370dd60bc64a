"""Alerts about the table of a comparison, computed in a worker process before the race."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.cli import printing
from tercet.cli.alerts.alert import SEVERITIES
from tercet.cli.compare.worker_pool import WorkerPool, WorkerTask
from tercet.cli.translation import tr

MOST_UNUSED = 20


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
    """The alerts, in the language in use."""
    known = {
        "unused": unused,
        "group": getattr(request, "group", None),
        "time": getattr(request, "time", None),
    }
    for outcome in pool.run([WorkerTask("alerts", known)], deadline):
        if outcome.error is not None:
            printing.remark("the table was not checked for defects: {why}", why=tr(outcome.error))
        return [alert.to_dict(tr) for alert in outcome.value or []]
    return []


def add_alerts(result: dict[str, Any], alerts: list[Any]) -> None:
    """Add alerts that were found later, in order of severity."""
    every = [*result["alerts"], *(alert.to_dict(tr) for alert in alerts)]
    result["alerts"] = sorted(every, key=lambda alert: SEVERITIES.index(alert["severity"]))
