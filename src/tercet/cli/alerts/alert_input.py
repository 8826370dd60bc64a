"""What alerts are computed from: the rows, and a sample of them that is quick to look at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tercet.feature import Records, Schema

SAMPLE = 5_000  # rows that most alerts look at
CELLS = 4_000_000  # and values: a wide table has fewer rows in its sample
LEAST_SAMPLE = 1_000


@dataclass(frozen=True)
class AlertInput:
    """A table, its target and how it is going to be split.

    Attributes
    ----------
    records, sample : Records
        All rows, and at most 5,000 of them in the order of the table.
    y, y_sample : arrays or None
        The target: numbers, or indices into `classes`.
    rows : int array
        Which rows the sample has.
    schema : Schema
        Kinds and counts of the columns.
    metric : str
        The measure that ranks.
    cv, seed : int
        Folds, and the seed of the sample.
    unused : dict
        Columns that name rows and are no features, as numbers or codes.
    group, time : str or None
        Columns that the splits respect already.
    """

    records: Records
    sample: Records
    y: np.ndarray | None
    y_sample: np.ndarray | None
    rows: np.ndarray
    schema: Schema
    metric: str = ""
    cv: int = 5
    seed: int = 0
    unused: dict[str, np.ndarray] = field(default_factory=dict)
    group: str | None = None
    time: str | None = None

    @property
    def n(self) -> int:
        return len(self.records)

    @property
    def task(self) -> str:
        return self.schema.task

    @property
    def classes(self) -> list[Any]:
        return list(self.schema.classes or ())

    @property
    def target(self) -> str:
        return self.schema.target.name if self.schema.target is not None else ""

    def folds(self, n_folds: int = 3) -> np.ndarray:
        """The fold of every row of the sample, classes spread evenly."""
        rng = np.random.default_rng(self.seed)
        order = rng.permutation(self.rows.size)
        if self.task == "classification" and self.y_sample is not None:
            order = order[np.argsort(self.y_sample[order], kind="stable")]
        fold = np.empty(self.rows.size, dtype=np.intp)
        fold[order] = np.arange(self.rows.size) % n_folds
        return fold

    def sampled(self, *kinds: str) -> Iterator[tuple[str, str, np.ndarray]]:
        """Name, kind and sampled values of the used columns of these kinds."""
        for name, kind in zip(self.sample.names, self.sample.kinds):
            if kind in kinds:
                yield name, kind, self.sample.column(name)


def make_input(records: Records, y: np.ndarray | None, schema: Schema, **more: Any) -> AlertInput:
    """The input of all alerts."""
    n, rng = len(records), np.random.default_rng(more.get("seed", 0))
    most = min(SAMPLE, max(LEAST_SAMPLE, CELLS // max(len(records.names), 1)))
    rows = np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))
    if y is not None and schema.task == "classification" and rows.size < n:
        rows = _with_rare_classes(rows, y)
    sample = records if rows.size == n else records.take(rows)
    return AlertInput(records, sample, y, None if y is None else y[rows], rows, schema, **more)


def _with_rare_classes(rows: np.ndarray, y: np.ndarray, least: int = 100) -> np.ndarray:
    """The sample with up to `least` rows of every class: of three positives in a thousand it may have none."""
    counts = np.bincount(y[rows], minlength=int(y.max()) + 1)
    extra = [np.flatnonzero(y == c)[:least] for c in np.flatnonzero(counts < least)[:50]]
    return np.union1d(rows, np.concatenate(extra)) if extra else rows


def is_missing(values: np.ndarray) -> np.ndarray:
    """Which values of a column of records are missing."""
    return np.isnan(values) if values.dtype.kind == "f" else values == -1
