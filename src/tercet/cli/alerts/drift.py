"""Drift: a later table whose columns are distributed otherwise than those that a model learned from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tercet.cli.alerts.alert import Alert
from tercet.cli.alerts.alert_input import is_missing
from tercet.core.messages import Message
from tercet.feature import Column, Records, Schema

LEAST_ROWS = 30
FAR = 0.2  # difference of two distribution functions, or of two shares, that is worth an alert
SIGNIFICANT = 2.5  # times the standard deviation of that difference, were there none
MOST = 10  # columns that are named


@dataclass
class Drift:
    """Counts of a later table, batch by batch, against the summaries of a schema.

    Parameters
    ----------
    schema : Schema
        Of the table that the model learned from, with the summaries of its columns.
    learned : int
        How many rows that had.
    """

    schema: Schema
    learned: int
    rows: int = 0
    missing: dict[str, int] = field(default_factory=dict)
    below: dict[str, np.ndarray] = field(
        default_factory=dict
    )  # values below, and up to, points of the summary
    counts: dict[str, np.ndarray] = field(default_factory=dict)  # of categories

    def add(self, records: Records) -> None:
        """Count another batch."""
        self.rows += len(records)
        kinds = dict(zip(records.names, records.kinds))
        for column in self.schema.used:
            kind = kinds.get(column.name)
            if kind not in ("number", "category"):
                continue
            values = records.column(column.name)
            gaps = is_missing(values)
            self.missing[column.name] = self.missing.get(column.name, 0) + int(gaps.sum())
            if kind == "number":
                points, _, _ = known_quantiles(column)
                ordered = np.sort(values[~gaps])
                found = np.stack([np.searchsorted(ordered, points, side) for side in ("left", "right")])
                self.below[column.name] = self.below.get(column.name, 0) + found
            else:
                size = len(column.categories or ()) + 3  # missing, unknown and "other"
                found = np.bincount(values + 2, minlength=size)
                self.counts[column.name] = self.counts.get(column.name, 0) + found

    def alerts(self) -> list[Alert]:
        """Columns that have drifted, the farthest first."""
        if self.rows < LEAST_ROWS or self.learned < LEAST_ROWS:
            return []
        found = [change for column in self.schema.used if (change := self._change(column)) is not None]
        found.sort(key=lambda entry: -entry[0])
        return [alert for _, alert in found[:MOST]]

    def _change(self, column: Column) -> tuple[float, Alert] | None:
        name = column.name
        if name not in self.missing:
            return None
        here, there = self.rows - self.missing[name], self.learned - column.missing
        before, now = column.missing / self.learned, self.missing[name] / self.rows
        spread = np.sqrt(1 / self.rows + 1 / self.learned)
        if abs(now - before) > max(FAR / 2, SIGNIFICANT * spread / 2):
            evidence = Message(
                "{now} of its values are missing, of those learned from {before}.",
                now=f"{now:.0%}",
                before=f"{before:.0%}",
            )
            return abs(now - before), _alert(name, evidence)
        if min(here, there) < LEAST_ROWS:
            return None
        far = max(FAR, SIGNIFICANT * np.sqrt(1 / here + 1 / there))
        return (
            self._numbers(column, here, far) if name in self.below else self._categories(column, there, far)
        )

    def _numbers(self, column: Column, here: int, far: float) -> tuple[float, Alert] | None:
        points, shares, kinds = known_quantiles(column)
        if points.size == 0:
            return None
        below, upto = self.below[column.name] / here
        # At a border of the histogram the share below it is known; at a quartile, that it lies between the two.
        under, over = below - shares, shares - upto
        under[kinds == "end"] = 0.0
        over = np.where(kinds == "border", -under, over)
        worst = int(np.maximum(under, over).argmax())
        gap = float(max(under[worst], over[worst]))
        if gap <= far:
            return None
        strict = under[worst] > over[worst] or kinds[worst] == "border"
        template = (
            "{now} of its values are below {point}, of those learned from {before}."
            if strict
            else "{now} of its values are at most {point}, of those learned from {before}."
        )
        evidence = Message(
            template,
            now=f"{(below if strict else upto)[worst]:.0%}",
            before=f"{shares[worst]:.0%}",
            point=f"{points[worst]:.4g}",
        )
        return gap, _alert(column.name, evidence)

    def _categories(self, column: Column, there: int, far: float) -> tuple[float, Alert] | None:
        """The total variation distance over the categories that the summary counts; all others are one."""
        top = dict((column.summary or {}).get("top") or [])
        index = {value: k + 2 for k, value in enumerate(column.categories or ())}
        counts = self.counts[column.name]
        here = int(counts.sum() - counts[1])
        known = [value for value in top if value in index]
        if not known:
            return None
        before = np.array([top[value] / there for value in known])
        now = np.array([counts[index[value]] / here for value in known])
        differences = np.append(now - before, before.sum() - now.sum())
        distance = float(np.abs(differences).sum() / 2)
        if distance <= max(far, SIGNIFICANT / 4 * np.sqrt(len(known) * (1 / here + 1 / there))):
            return None
        worst = int(np.abs(differences[:-1]).argmax())
        evidence = Message(
            "{now} of its values are {value!r}, of those learned from {before}.",
            now=f"{now[worst]:.0%}",
            before=f"{before[worst]:.0%}",
            value=known[worst],
        )
        return distance, _alert(column.name, evidence)


def known_quantiles(column: Column) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points at which the distribution of a column is known, the shares there, and what the points are.

    Below the border of two bins lies the share of the bins before it, up to the end everything; at a quartile the
    share below is at most a quarter, a half or three quarters, and the share up to it at least that.

    Examples
    --------
    >>> summary = {"histogram": {"edges": [0, 1, 2], "counts": [3, 1]}, "quartiles": [0.2, 0.5, 0.9]}
    >>> points, shares, kinds = known_quantiles(
    ...     Column("a", "numeric", Message("numbers"), True, 0, 4, summary)
    ... )
    >>> points.tolist(), shares.tolist()
    ([1.0, 2.0, 0.2, 0.5, 0.9], [0.75, 1.0, 0.25, 0.5, 0.75])
    >>> kinds.tolist()
    ['border', 'end', 'quartile', 'quartile', 'quartile']
    """
    summary: dict[str, Any] = column.summary or {}
    histogram = summary.get("histogram") or {}
    counts = np.asarray(histogram.get("counts") or [], dtype=np.float64)
    if counts.sum() == 0 or len(histogram.get("edges", ())) != counts.size + 1:
        return np.empty(0), np.empty(0), np.empty(0)
    quartiles = list(summary.get("quartiles") or [])[:3]
    points = np.append(np.asarray(histogram["edges"], dtype=np.float64)[1:], quartiles)
    shares = np.append(np.cumsum(counts) / counts.sum(), [0.25, 0.5, 0.75][: len(quartiles)])
    kinds = np.array(["border"] * (counts.size - 1) + ["end"] + ["quartile"] * len(quartiles))
    return points, shares, kinds


def _alert(name: str, evidence: Message) -> Alert:
    title = Message("{name!r} is distributed otherwise than when the model was fitted", name=name)
    advice = Message(
        "Predictions for values that were rare then are guesses: check some of them, and fit again on recent "
        "rows."
    )
    return Alert("drift", "caution", title, evidence, advice, (name,))
