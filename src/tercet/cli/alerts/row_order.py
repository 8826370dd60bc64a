"""Rows in the order of time, or whose neighbours are alike: shuffled folds would test on what they learned from."""

from __future__ import annotations

import re

import numpy as np

from tercet.cli.alerts.alert import Alert, option
from tercet.cli.alerts.alert_input import AlertInput
from tercet.cli.alerts.determining_columns import quantile_bins, rank_correlation
from tercet.core.messages import Message

LEAST_ROWS = 50
ALIKE = 0.3  # correlation of neighbouring rows that is worth an alert
SIGNIFICANT = 5.0  # standard errors
SORTED = 0.95
TIMES = re.compile(
    r"(?<![a-z])(year|yr|date|datetime|timestamp|time|month|mnth|week|day|quarter|hour|epoch|period)(?![a-z])"
    r"|年|月份|日期|时间|时刻|季度|星期"
)


def row_order(data: AlertInput) -> list[Alert]:
    """A column of times that the rows are in the order of, or neighbouring rows with similar targets."""
    if data.time is not None or data.group is not None or data.y is None or data.task == "clustering":
        return []
    if data.n < LEAST_ROWS:
        return []
    column = _time_column(data)
    if column is not None:
        return [_time_alert(data, *column)]
    alike = neighbour_correlation(data.y, data.task)
    if alike is None or _explained_by_sorting(data):
        return []
    title = Message("neighbouring rows have similar targets")
    evidence = Message(
        "The correlation of {target!r} between a row and the next is {value}; in shuffled rows it would be 0.",
        target=data.target,
        value=f"{alike:.2f}",
    )
    advice = Message(
        "If the rows are in the order of time, or of patients, places or the like, shuffled folds flatter: name "
        "the column with --time or --group (for time, a column that counts the rows will do)."
    )
    return [Alert("row order", "caution", title, evidence, advice)]


def _time_column(data: AlertInput) -> tuple[str, bool] | None:
    """A column of times, and whether targets that are close in time are alike."""
    for name, kind, values in data.sampled("number", "date"):
        if kind == "number" and not TIMES.search(_words(name)):
            continue
        there = values[~np.isnan(values)]
        if there.size < LEAST_ROWS or np.unique(there).size < 3:
            continue
        in_order = _rises(there) or _rises(-there)
        if not in_order and kind != "date":
            continue
        assert data.y_sample is not None
        order = np.argsort(values, kind="stable") if not in_order else np.arange(values.size)
        alike = neighbour_correlation(data.y_sample[order], data.task) is not None
        if in_order or alike:
            return name, alike
    return None


def _words(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def _rises(values: np.ndarray) -> bool:
    return bool(np.all(np.diff(values) >= 0))


def _time_alert(data: AlertInput, name: str, alike: bool) -> Alert:
    title = Message("the rows are in the order of time ({name!r})", name=name)
    if alike:
        evidence = Message(
            "Targets of rows that are close in {name!r} are alike: shuffled folds learn from the future of the "
            "rows that they test.",
            name=name,
        )
    else:
        evidence = Message("{name!r} only rises from row to row, and shuffled folds ignore it.", name=name)
    advice = Message(
        "If the model is to predict later rows, compare again with {option}: it learns from earlier rows only.",
        option=option("--time", name),
    )
    return Alert("time order", "caution" if alike else "note", title, evidence, advice, (name,))


def neighbour_correlation(y: np.ndarray, task: str) -> float | None:
    """The correlation of neighbouring targets, if it is large and no accident; None for a table sorted by target.

    Of classes it is how much more often than by chance neighbours agree (Cohen's kappa).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> neighbour_correlation(rng.normal(size=500), "regression") is None
    True
    >>> 0.9 < neighbour_correlation(np.sin(np.arange(500) / 5), "regression") < 1
    True
    >>> neighbour_correlation(np.repeat([0, 1, 2], 50), "classification") is None
    True
    """
    n = y.size
    if n < LEAST_ROWS:
        return None
    if task == "classification":
        changes = int(np.count_nonzero(y[1:] != y[:-1]))
        shares = np.bincount(y) / n
        chance = float(shares @ shares)
        if chance > 0.98 or n / (changes + 1) > n / (4 * shares.size):  # sorted by class, in a few blocks
            return None
        value = (1 - changes / (n - 1) - chance) / (1 - chance)
    else:
        ranks = np.argsort(np.argsort(y, kind="stable"), kind="stable").astype(np.float64)
        if abs(rank_correlation(np.arange(n, dtype=np.float64), y)) > SORTED:
            return None
        ranks -= ranks.mean()
        value = float(ranks[1:] @ ranks[:-1] / (ranks @ ranks))
    return value if value >= ALIKE and value * np.sqrt(n) >= SIGNIFICANT else None


def _explained_by_sorting(data: AlertInput) -> bool:
    """Whether the neighbours are alike only because the table is sorted by one of its columns."""
    step = max(1, data.n // data.rows.size)
    first = np.arange(min(data.n, data.rows.size)) if step == 1 else np.arange(0, min(data.n, 5_000))
    part, y = data.records.take(first), data.y[first].astype(np.float64)  # type: ignore[index]
    for name, kind in zip(part.names, part.kinds):
        if kind not in ("number", "date", "category"):
            continue
        values = part.column(name)
        bins = values.astype(np.intp) + 2 if kind == "category" else quantile_bins(values)
        runs = 1 + int(np.count_nonzero(np.diff(bins)))
        if runs > 4 * np.unique(bins).size or np.unique(bins).size < 2:
            continue
        if neighbour_correlation(_residual(y, bins), "regression") is None:
            return True
    return False


def _residual(y: np.ndarray, bins: np.ndarray) -> np.ndarray:
    counts = np.maximum(np.bincount(bins), 1)
    return y - (np.bincount(bins, weights=y) / counts)[bins]
