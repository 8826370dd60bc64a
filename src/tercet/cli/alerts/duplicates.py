"""Rows that occur more than once: copies in training and test folds make scores too good."""

from __future__ import annotations

import numpy as np

from tercet.cli.alerts.alert import Alert
from tercet.cli.alerts.alert_input import AlertInput
from tercet.core.messages import Message
from tercet.feature import Records

COLUMNS = 48  # that a row's signature is made of
VERIFIED = 2_000  # rows whose other columns are compared
LEAST_SHARE, LEAST_ROWS = 0.01, 4
BY_CHANCE = 0.2  # of the copies, at most, may be expected in shuffled columns
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


def duplicated_rows(data: AlertInput, identifiers: set[str]) -> list[Alert]:
    """Rows with a copy (same features, same target), when shuffled columns would have far fewer.

    `identifiers` are columns that name the rows: copies may differ in them.
    """
    if data.n < 20:
        return []
    parts = _parts(data.records, data.y, identifiers, data.seed)
    if not parts:
        return []
    copies = has_copy(parts)
    share = float(copies.mean())
    if copies.sum() < LEAST_ROWS or share < LEAST_SHARE or not _is_detailed(parts, copies):
        return []
    rng = np.random.default_rng(data.seed)
    chance = float(has_copy([part[rng.permutation(data.n)] for part in parts]).mean())
    true = _verified_share(data, copies, identifiers)
    if true * share < LEAST_SHARE or chance > BY_CHANCE * share:
        return []
    title = Message("{share} of the rows have an exact copy", share=f"{true * share:.1%}")
    evidence = Message(
        "{n} of {rows} rows occur at least twice, target included; of independent columns one would expect "
        "{chance}.",
        n=round(true * float(copies.sum())),
        rows=data.n,
        chance=round(chance * data.n),
    )
    advice = Message(
        "Copies fall into training and test folds, which makes every score too good. Remove them before comparing "
        "(frame.unique() of polars, drop_duplicates() of pandas), or keep them together with --group."
    )
    return [Alert("duplicates", "serious" if share >= 0.1 else "caution", title, evidence, advice)]


def _parts(records: Records, y: np.ndarray | None, without: set[str], seed: int) -> list[np.ndarray]:
    """Arrays of one number per row, of some columns, texts and sparse features, and the target."""
    names = [n for n, kind in zip(records.names, records.kinds) if kind != "text" and n not in without]
    rng = np.random.default_rng(seed)
    if len(names) > COLUMNS:
        names = [names[j] for j in np.sort(rng.choice(len(names), COLUMNS, replace=False))]
    parts = [np.asarray(records.column(name), dtype=np.float64) for name in names]
    blocks = [*records.counts, *([] if records.sparse is None else [records.sparse])]
    parts += [np.asarray(block @ rng.normal(size=block.shape[1])).ravel() for block in blocks]
    return [*parts, np.asarray(y, dtype=np.float64)] if y is not None and parts else parts


def has_copy(parts: list[np.ndarray]) -> np.ndarray:
    """Whether another row has the same values.

    Examples
    --------
    >>> has_copy([np.array([1.0, 2.0, 1.0]), np.array([np.nan, 0.0, np.nan])]).tolist()
    [True, False, True]
    """
    hashes = np.zeros(parts[0].size, dtype=np.uint64)
    for part in parts:
        values = np.where(np.isnan(part), np.nan, part + 0.0)  # one NaN, one zero
        hashes = (hashes ^ np.ascontiguousarray(values).view(np.uint64)) * MULTIPLIER
        hashes ^= hashes >> np.uint64(29)
    _, place, counts = np.unique(hashes, return_inverse=True, return_counts=True)
    return counts[place] > 1


def _is_detailed(parts: list[np.ndarray], copies: np.ndarray) -> bool:
    """Whether rows have so much detail that two alike are remarkable: a few categories repeat by nature."""
    n = copies.size
    if copies.mean() <= 0.5:
        return True
    return max(np.unique(part).size for part in parts) >= n / 20


def _verified_share(data: AlertInput, copies: np.ndarray, without: set[str]) -> float:
    """The share of the supposed copies that agree in all columns, too, of some that are looked at."""
    names = [
        n for n, kind in zip(data.records.names, data.records.kinds) if kind != "text" and n not in without
    ]
    if len(names) <= COLUMNS:
        return 1.0
    rows = np.flatnonzero(copies)[:VERIFIED]
    part = data.records.take(rows)
    columns = [np.asarray(part.column(name), dtype=np.float64) for name in names]
    # Copies of the first rows may be beyond them: what has none among them is no evidence either way.
    few = [columns[j] for j in range(min(COLUMNS, len(columns)))]
    supposed = has_copy(few)
    return float(has_copy(columns)[supposed].mean()) if supposed.any() else 1.0
