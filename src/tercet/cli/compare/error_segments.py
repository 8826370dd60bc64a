"""Where a method errs: segments of rows with more errors than the rest, and its worst single rows."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from tercet.feature import Records

PARTS = 4  # segments of a column of numbers, between quartiles
LEAST_ROWS = 10  # of a segment
MOST_CATEGORIES = 50
MOST_COLUMNS = 300
SHOWN_SEGMENTS, SHOWN_ROWS, SHOWN_COLUMNS = 10, 10, 5
LEVEL = 0.01  # of all tests together
SURE = 0.9  # probability from which a wrong answer was given with confidence


def row_errors(task: str, truth: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    """1 for a wrong class and 0 for the right one, or the absolute error."""
    if task == "classification":
        return (truth != predicted).astype(np.float64)
    return np.abs(truth - predicted).astype(np.float64)


def error_segments(records: Records, errors: np.ndarray) -> list[dict[str, Any]]:
    """Segments of one column whose mean error differs from that of the other rows by more than chance.

    Chance is a two-sided test (Welch's) at 1 % over all segments together (Bonferroni).

    Returns
    -------
    list of dict
        "column", "segment" (a category, or a pair of bounds, or None for missing values), "rows", "error" and
        "others" (the mean error inside and outside) and "p_value"; the largest total excess of error first.

    Examples
    --------
    >>> from tercet.feature import Records
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=400)
    >>> found = error_segments(
    ...     Records(("x",), ("number",), x[:, None]), (x > np.quantile(x, 0.75)).astype(float)
    ... )
    >>> found[0]["column"], found[0]["rows"], found[0]["error"]
    ('x', 100, 1.0)
    """
    if errors.size < 2 * LEAST_ROWS or errors.std() == 0:
        return []
    names = [n for n, kind in zip(records.names, records.kinds) if kind != "text"][:MOST_COLUMNS]
    found, tests = [], 0
    for name in names:
        for segment, inside in _segments(records, name):
            n = int(inside.sum())
            if not LEAST_ROWS <= n <= errors.size - LEAST_ROWS:
                continue
            tests += 1
            here, there = float(errors[inside].mean()), float(errors[~inside].mean())
            p = _p_value(errors[inside], errors[~inside])
            if here > there:
                about = {"column": name, "segment": segment, "rows": n, "error": here, "others": there}
                found.append({**about, "p_value": p})
    real = [one for one in found if one["p_value"] * tests < LEVEL]
    real.sort(key=lambda one: -one["rows"] * (one["error"] - one["others"]))
    return real[:SHOWN_SEGMENTS]


def _segments(records: Records, name: str) -> Any:
    """Labels and masks of the segments of a column."""
    kind = records.kinds[records.names.index(name)]
    values = records.column(name)
    if kind == "category":
        categories = records.categories[
            [n for n, k in zip(records.names, records.kinds) if k == "category"].index(name)
        ]
        yield None, values == -1
        for code in np.unique(values[values >= 0])[:MOST_CATEGORIES]:
            yield categories[int(code)], values == code
        return
    gaps = np.isnan(values)
    yield None, gaps
    there = values[~gaps]
    if there.size == 0:
        return
    distinct = np.unique(there)
    if distinct.size <= PARTS:
        for value in distinct:
            yield (float(value), float(value)), values == value
        return
    edges = np.unique(np.quantile(there, np.linspace(0, 1, PARTS + 1)))
    for k, (low, high) in enumerate(itertools.pairwise(edges)):
        inside = (values >= low if k == 0 else values > low) & (values <= high)
        yield (float(low), float(high)), inside


def _p_value(a: np.ndarray, b: np.ndarray) -> float:
    from scipy.stats import t

    # A segment without a single error has no variance of its own: that of all rows is the cautious one.
    pooled = float(np.concatenate([a, b]).var())
    parts = [max(float(x.var(ddof=1)), 0.1 * pooled) / x.size for x in (a, b)]
    error = float(np.sqrt(sum(parts)))
    freedom = sum(parts) ** 2 / sum(p**2 / (x.size - 1) for p, x in zip(parts, (a, b)))
    return float(2 * t.sf(abs(float(a.mean() - b.mean())) / error, freedom)) if error > 0 else 1.0


def worst_rows(
    records: Records,
    numbers: np.ndarray,
    task: str,
    truth: np.ndarray,
    predicted: np.ndarray,
    proba: np.ndarray | None,
    columns: list[str],
) -> list[dict[str, Any]]:
    """The rows that are most wrong: those with the most confident wrong class, or the largest error.

    `numbers` are the numbers of the rows in the table, `columns` those that are shown with them.
    """
    errors = row_errors(task, truth, predicted)
    sure = None
    if task == "classification" and proba is not None:
        sure = proba[np.arange(truth.size), predicted]
        errors = errors * (1 + sure)
    order = [int(i) for i in np.argsort(-errors, kind="stable")[:SHOWN_ROWS] if errors[i] > 0]
    shown = [name for name in columns if name in records.names][:SHOWN_COLUMNS]
    return [
        {
            "row": int(numbers[i]),
            "truth": truth[i].item(),
            "predicted": predicted[i].item(),
            "sure": None if sure is None else float(sure[i]),
            "values": {name: _value(records, name, i) for name in shown},
        }
        for i in order
    ]


def confidence_of_errors(
    truth: np.ndarray, predicted: np.ndarray, proba: np.ndarray | None
) -> dict[str, int] | None:
    """How many answers were given with confidence, and how many of those and of all were wrong."""
    if proba is None:
        return None
    sure = proba[np.arange(truth.size), predicted] >= SURE
    wrong = truth != predicted
    return {
        "rows": truth.size,
        "wrong": int(wrong.sum()),
        "sure": int(sure.sum()),
        "sure_wrong": int((sure & wrong).sum()),
    }


def _value(records: Records, name: str, row: int) -> Any:
    kind = records.kinds[records.names.index(name)]
    if kind == "text":
        return "…"
    value = records.column(name)[row].item()
    if kind == "category":
        coded = [n for n, k in zip(records.names, records.kinds) if k == "category"]
        return None if value < 0 else records.categories[coded.index(name)][value]
    if value != value:
        return None
    return str(np.datetime64(round(value * 86400), "s").astype("datetime64[D]")) if kind == "date" else value
