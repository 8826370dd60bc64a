"""Notes about how the columns of a file were read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tercet.core.messages import Message
from tercet.datasets.readers.table import listed

if TYPE_CHECKING:
    import polars as pl

NOTE_TEMPLATES = {
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


class ReadingNotes:
    """Decisions about the columns of a file, as messages."""

    def __init__(self) -> None:
        self.missing: dict[str, list[str]] = {}
        self.among_numbers: dict[str, None] = {}
        self.kept: dict[str, list[str]] = {}
        self.topics: dict[str, list[str]] = {what: [] for what in NOTE_TEMPLATES}
        self.invalid: dict[str, Message] = {}

    def add_missing(self, name: str, marks: list[str], numbers: bool = True) -> None:
        """Strings that mark missing values in a column, of numbers or of strings."""
        for mark in marks:
            self.missing.setdefault(mark, []).append(name)
            if numbers:
                self.among_numbers[mark] = None

    def add_invalid(self, name: str, bad: pl.Series, kind: str) -> None:
        """Values of a column that are not of its kind, and count as missing."""
        if bad.is_empty():
            return
        shown = [value[:40] for value in bad.unique(maintain_order=True)]
        self.invalid[name] = Message(
            "column {name!r}: what is no {kind} counts as missing, in {n} rows: {values}",
            name=name,
            kind=Message("time of day" if kind == "time" else kind),
            n=len(bad),
            values=listed(shown, most=3),
        )

    def messages(self) -> list[Message]:
        """All notes."""
        messages = [
            Message("{mark!r} is a missing value in: {columns}", mark=mark, columns=listed(names))
            for mark, names in self.missing.items()
        ]
        messages += [
            Message(NOTE_TEMPLATES[what], columns=listed(names))
            for what, names in self.topics.items()
            if names
        ]
        messages += [
            Message("{mark!r} stays a value of its own in: {columns}", mark=mark, columns=listed(names))
            for mark, names in self.kept.items()
        ]
        return [*messages, *self.invalid.values()]
