"""The distribution of a column in a few plain numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import polars as pl

BINS = 20
TOP = 20


def summarise_numbers(values: np.ndarray) -> tuple[dict[str, Any], int]:
    """Extent, moments, quartiles and histogram of finite numbers, and how many different ones there are.

    Examples
    --------
    >>> summary, distinct = summarise_numbers(np.array([3.0, 1.0, 2.0, 3.0]))
    >>> summary["quartiles"], distinct
    ([1.75, 2.5, 3.0], 3)
    """
    low, high = float(values.min()), float(values.max())
    unit = max(abs(low), abs(high))
    unit = 1.0 if unit < 1e150 else unit  # sums of huge numbers overflow
    ordered = np.sort(values if unit == 1.0 else values / unit)
    distinct = 1 + int(np.count_nonzero(ordered[1:] != ordered[:-1]))
    edges = _edges(float(ordered[0]), float(ordered[-1]), ordered.size)
    # Every bin but the last is open on the right.
    places = np.searchsorted(ordered, edges[1:-1]).tolist()
    counts = np.diff([0, *places, ordered.size]).tolist()
    mean = float(ordered.mean())
    summary = {
        "min": low,
        "max": high,
        "mean": mean * unit,
        "std": float(np.sqrt(np.mean((ordered - mean) ** 2))) * unit,
        "quartiles": [_quantile(ordered, q) * unit for q in (0.25, 0.5, 0.75)],
        "histogram": {"edges": [edge * unit for edge in edges.tolist()], "counts": counts},
    }
    return summary, distinct


def summarise_dates(days: np.ndarray) -> tuple[dict[str, Any], int]:
    """The same for days since 1970, said as dates; the deviation in days."""
    summary, distinct = summarise_numbers(days)
    whole = bool(np.all(days == np.floor(days)))
    for key in ("min", "max", "mean"):
        summary[key] = _iso_date(summary[key], whole)
    summary["quartiles"] = [_iso_date(q, whole) for q in summary["quartiles"]]
    summary["histogram"]["edges"] = [_iso_date(edge, whole) for edge in summary["histogram"]["edges"]]
    return summary, distinct


def summarise_values(values: pl.Series) -> dict[str, Any]:
    """The most frequent values of a column of strings."""
    return {"top": [[value[:200], count] for value, count in most_frequent(values, TOP)]}


def most_frequent(values: pl.Series, most: int) -> list[tuple[str, int]]:
    """So many values with their counts; equally frequent ones in their own order."""
    counts = values.alias("value").value_counts(name="count")
    return counts.sort(["count", "value"], descending=[True, False]).head(most).rows()


def _edges(low: float, high: float, n: int) -> np.ndarray:
    """Borders of the bins, with a little room where all values are (nearly) the same."""
    room = 64 * np.spacing(max(abs(low), abs(high)))
    if high - low <= room:
        low, high = low - max(0.5, room), high + max(0.5, room)
    return np.linspace(low, high, min(BINS, max(5, int(np.sqrt(n)) + 1)) + 1)


def _quantile(ordered: np.ndarray, q: float) -> float:
    at = q * (ordered.size - 1)
    k = int(at)
    low, high = float(ordered[k]), float(ordered[min(k + 1, ordered.size - 1)])
    return low + (at - k) * (high - low)


def _iso_date(day: float, whole: bool) -> str:
    moment = np.datetime64(round(day * 86400), "s")
    return str(moment.astype("datetime64[D]") if whole else moment).replace("T", " ")
