"""Strings that mean that nothing is there, and the remarks about what stands in the columns of a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tercet.core.messages import Message
from tercet.datasets.readers.table import listed

if TYPE_CHECKING:
    import polars as pl

# Missing wherever they stand, even among words.
SURE = (
    "NaN",
    "nan",
    "NULL",
    "null",
    "Null",
    "N/A",
    "n/a",
    "#N/A",
    "<NA>",
    "NaT",
    "\\N",
    "?",
    "缺失",
    "缺失值",
)
# Missing among numbers or dates; among words only if this file marks missing numbers by it.
UNSURE = ("na", "#na", "none", "nil", "-", "--", "---", ".", "..", "*", "missing", "unknown", "(null)", "nd")
MISSING = frozenset([*map(str.lower, SURE), *UNSURE, "n.a.", "空", "空值", "无", "未知", "—", "/"])
KEPT = ("NA", "None", "-")  # worth a word when they are taken for values

SAID = {
    "comma": "decimal comma in: {columns}",
    "thousands": "comma between thousands in: {columns}",
    "points": "point between thousands in: {columns}",
    "blank": "blank between thousands in: {columns}",
    "apostrophe": "apostrophe between thousands in: {columns}",
    "currency": "amounts of money, taken as numbers, in: {columns}",
    "percent": "per cent, divided by 100, in: {columns}",
    "parentheses": "numbers in parentheses are negative in: {columns}",
    "wide": "full-width digits in: {columns}",
    "minus": "dashes for minus signs in: {columns}",
    "codes": "numbers with leading zeros are taken as codes in: {columns}",
    "zeros": "a few leading zeros mean nothing in: {columns}",
    "dmy": "dates with the day first in: {columns}",
    "mdy": "dates with the month first in: {columns}",
    "zones": "times with and without a zone are mixed, and those without are taken as UTC, in: {columns}",
    "unclear": "day and month cannot be told apart, so these stay text: {columns}",
}


class Remarks:
    """What was decided about the columns of a file, to be said at the end."""

    def __init__(self) -> None:
        self.marks: dict[str, list[str]] = {}
        self.among_numbers: dict[str, None] = {}
        self.kept: dict[str, list[str]] = {}
        self.said: dict[str, list[str]] = {what: [] for what in SAID}
        self.strays: dict[str, Message] = {}

    def mark(self, name: str, marks: list[str], numbers: bool = True) -> None:
        """These marks stand for missing values in a column, of numbers or of words."""
        for mark in marks:
            self.marks.setdefault(mark, []).append(name)
            if numbers:
                self.among_numbers[mark] = None

    def stray(self, name: str, bad: pl.Series, kind: str) -> None:
        """These values of a column are not what the others are."""
        if bad.is_empty():
            return
        shown = [value[:40] for value in bad.unique(maintain_order=True)]
        self.strays[name] = Message(
            "column {name!r}: what is no {kind} counts as missing, in {n} rows: {values}",
            name=name,
            kind=Message("time of day" if kind == "time" else kind),
            n=len(bad),
            values=listed(shown, most=3),
        )

    def notes(self) -> list[Message]:
        """The remarks."""
        said = [
            Message("{mark!r} is a missing value in: {columns}", mark=mark, columns=listed(names))
            for mark, names in self.marks.items()
        ]
        said += [Message(SAID[what], columns=listed(names)) for what, names in self.said.items() if names]
        said += [
            Message("{mark!r} stays a value of its own in: {columns}", mark=mark, columns=listed(names))
            for mark, names in self.kept.items()
        ]
        return [*said, *self.strays.values()]


def is_missing(values: pl.Series) -> pl.Series:
    """Which values are a mark for a missing one."""
    return values.str.to_lowercase().is_in(list(MISSING)).fill_null(False)
