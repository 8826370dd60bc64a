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
BY_CHANCE = 0.2  # of the copies, at most, may be expected by chance
PARTINGS = 8  # of the columns into two, to find out what that is
MULTIPLIERS = np.array([0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB], dtype=np.uint64)


def duplicated_rows(data: AlertInput, identifiers: set[str]) -> list[Alert]:
    """Rows with a copy (same features, same target), when far fewer are to be expected by chance.

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
    chance = copies_by_chance(parts, data.seed)
    true = _verified_share(data, copies, identifiers)
    if true * share < LEAST_SHARE or chance > BY_CHANCE * share:
        return []
    title = Message("{share} of the rows have an exact copy", share=f"{true * share:.1%}")
    evidence = Message(
        "{n} of {rows} rows occur at least twice, target included; by chance one would expect {chance}.",
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
    return _repeats(_signatures(parts))


def copies_by_chance(parts: list[np.ndarray], seed: int) -> float:
    """The share of rows with a copy if one part of the columns said nothing about the others.

    Columns that depend on each other (a place and its region) repeat together by nature: so the columns are parted
    at random into two, the rows of one are shuffled as a whole, and the largest share of some such partings counts.
    Copies themselves are left out before: one half of them would stay a copy of the other's.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> place = rng.integers(0, 5, 200).astype(float)
    >>> copies_by_chance([place, 10 * place, rng.integers(0, 3, 200).astype(float)], seed=0) > 0.5
    True
    >>> copies_by_chance([np.arange(200.0), np.arange(200.0)], seed=0)
    0.0
    """
    rng = np.random.default_rng(seed)
    distinct = np.unique(_signatures(parts), return_index=True)[1]
    parts, n = [part[distinct] for part in parts], distinct.size
    shares = []
    for _ in range(PARTINGS if n <= 100_000 else 3):
        first = rng.permutation(len(parts)) < max(1, len(parts) // 2)
        one = _signatures([part for part, here in zip(parts, first) if here])
        other = _signatures([part for part, here in zip(parts, first) if not here])
        shares.append(float(_repeats(_mixed(one, other[rng.permutation(n)])).mean()))
    return max(shares)


def _signatures(parts: list[np.ndarray]) -> np.ndarray:
    """A number for each row that depends on all its values."""
    hashes = np.zeros(parts[0].size, dtype=np.uint64)
    for part in parts:
        values = np.where(np.isnan(part), np.nan, part + 0.0)  # one NaN, one zero
        hashes = _mixed(hashes, np.ascontiguousarray(values).view(np.uint64))
    return hashes


def _mixed(hashes: np.ndarray, values: np.ndarray) -> np.ndarray:
    """A hash of two: splitmix64's mixing, in which their order matters."""
    hashes = hashes * MULTIPLIERS[0] + values
    hashes = (hashes ^ (hashes >> np.uint64(30))) * MULTIPLIERS[1]
    hashes = (hashes ^ (hashes >> np.uint64(27))) * MULTIPLIERS[2]
    return hashes ^ (hashes >> np.uint64(31))


def _repeats(hashes: np.ndarray) -> np.ndarray:
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
