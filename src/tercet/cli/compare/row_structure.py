"""Groups and times of rows, from columns of the table: `--group COL` and `--time COL`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tercet.cli import errors
from tercet.cli.errors import Refusal
from tercet.cli.translation import tr


@dataclass(frozen=True)
class RowStructure:
    """What ties rows together: the group of each row, or its time; None where there is none."""

    groups: np.ndarray | None = None
    times: np.ndarray | None = None
    column: str | None = None

    def take(self, rows: np.ndarray) -> RowStructure:
        """Of some rows."""
        groups, times = (None if part is None else part[rows] for part in (self.groups, self.times))
        return RowStructure(groups, times, self.column)

    @property
    def kind(self) -> str:
        """How rows are split: "random", "group" or "time"."""
        return "group" if self.groups is not None else "time" if self.times is not None else "random"

    def check(self, cv: int) -> None:
        """Refuse where there are fewer groups or moments than folds."""
        part = self.groups if self.groups is not None else self.times
        least = cv + (self.kind == "time")
        if part is not None and (n := np.unique(part).size) < least:
            raise Refusal(
                tr(
                    "--{option} {name}: {n} different values, and --cv {cv} needs at least {least}",
                    option=self.kind,
                    name=self.column,
                    n=n,
                    cv=cv,
                    least=least,
                )
            )


def read_structure(table: Any, group: str | None, time: str | None) -> RowStructure:
    """The groups or the times of all rows of a table."""
    if group is not None and time is not None:
        raise Refusal(tr("--group and --time exclude each other"), errors.USAGE)
    name = group or time
    if name is None:
        return RowStructure()
    if name not in table.frame.columns:
        names = ", ".join(table.frame.columns[:20])
        raise Refusal(tr("there is no column {target}; the columns are {names}", target=name, names=names))
    if group is not None:
        # Rows without a group are one of their own.
        codes = table.frame[group].rank("dense").fill_null(0).to_numpy().astype(np.int64)
        return RowStructure(groups=codes, column=group)
    return RowStructure(times=_moments(table, name), column=time)


def _moments(table: Any, name: str) -> np.ndarray:
    """A column of dates or numbers as numbers."""
    from tercet.datasets import TableError
    from tercet.feature.column_conversion import to_days, to_numbers
    from tercet.feature.declared_kinds import column_as

    series = table.frame[name]
    kind, read = ("numeric", to_numbers) if series.dtype.is_numeric() else ("date", to_days)
    try:
        times = read(series, column_as(series, kind)[0], lambda note: None)
    except TableError as error:
        text = tr(
            "--time {name}: a column of dates or numbers is needed: {why}", name=name, why=tr(error.note)
        )
        raise Refusal(text) from error
    if np.isnan(times).any():
        n = int(np.isnan(times).sum())
        raise Refusal(tr("--time {name}: {n} rows have no time", name=name, n=n))
    return times
