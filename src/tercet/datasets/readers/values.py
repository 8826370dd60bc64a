"""Columns of strings as what they mean: numbers, booleans, dates; and which strings mean that nothing is there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tercet.core.notes import Note
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
MISSING = frozenset(
    [mark.lower() for mark in SURE]
    + [
        "na",
        "#na",
        "none",
        "nil",
        "-",
        "--",
        "---",
        ".",
        "..",
        "*",
        "missing",
        "unknown",
        "(null)",
        "nd",
        "n.a.",
    ]
    + ["空", "空值", "无", "未知", "—", "/"]
)

KEPT = ("NA", "None", "-")  # worth a word when they are taken for values

CODE = r"^[+-]?0\d+$"  # 007 is a name, not a number
COMMA_DECIMAL = r"^[+-]?(?:(?:\d+|\d{1,3}(?:\.\d{3})+)(?:,\d*)?|,\d+)(?:[eE][+-]?\d+)?$"
COMMA_GROUPS = r"^[+-]?(?:\d{1,3}(?:,\d{3})+(?:\.\d*)?|\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$"
CLOCK = r"(?:[T ]+(\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?) *(Z|[+-]\d{2}:?\d{2})?)?$"
YEAR_FIRST = r"^(?P<y>\d{4})[-/.年](?P<m>\d{1,2})[-/.月](?P<d>\d{1,2})日?" + CLOCK
DAY_FIRST = r"^(?P<d>\d{1,2})[./-](?P<m>\d{1,2})[./-](?P<y>\d{4})" + CLOCK
MONTH_FIRST = r"^(?P<m>\d{1,2})[./-](?P<d>\d{1,2})[./-](?P<y>\d{4})" + CLOCK
HEAD = 256


class Settler:
    """Settles the columns of one file, and remembers what it decided for the notes."""

    def __init__(self, delimiter: str = ",", spaces: bool = False) -> None:
        self.delimiter, self.spaces = delimiter, spaces
        self.marks: dict[str, list[str]] = {}
        self.among_numbers: set[str] = set()
        self.kept: dict[str, list[str]] = {}
        self.decimal: list[str] = []
        self.groups: list[str] = []
        self.unclear_commas: list[str] = []
        self.unclear_dates: list[str] = []
        self.day_first: list[str] = []
        self.month_first: list[str] = []
        self.codes: list[str] = []

    def settle(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The frame with every column as what it means."""
        import polars as pl

        columns = {name: self._column(name, frame[name]) for name in frame.columns}
        for name in self.unclear_commas:
            decimal = bool(self.decimal) or (not self.groups and self.delimiter == ";")
            columns[name] = self._with_commas(name, columns[name].str.strip_chars(), decimal)
        for name, column in columns.items():
            if column.dtype == pl.String:
                columns[name] = self._words(name, column)
        return pl.DataFrame(columns)

    def _column(self, name: str, column: pl.Series) -> pl.Series:
        import polars as pl

        if column.dtype == pl.Float64 and column.is_nan().any():
            self._say(name, ["NaN"])
            return column.fill_nan(None)
        if column.dtype != pl.String:
            return column
        if (column == "").any():
            column = column.set(column == "", None)
        if not _promising(column):
            return column
        values = column.str.strip_chars()
        values = values.set(values == "", None)
        for attempt in (self._number, self._boolean, self._date):
            found = attempt(name, values)
            if found is not None:
                return found
        return column

    def _number(self, name: str, values: pl.Series) -> pl.Series | None:
        import polars as pl

        numbers = values.cast(pl.Float64, strict=False).fill_nan(None)
        marks = self._rest(values, numbers)
        if marks is None:
            return self._commas(name, values)
        if numbers.null_count() == len(numbers):
            return None
        if values.str.contains(CODE).any():
            self.codes.append(name)
            return None
        self._say(name, marks)
        whole = values.cast(pl.Int64, strict=False)
        if whole.null_count() == numbers.null_count():
            return whole
        # Digits beyond what an integer holds are a name, too.
        return None if not values.filter(numbers.is_not_null()).str.contains(r"[.eEnN]").any() else numbers

    def _commas(self, name: str, values: pl.Series) -> pl.Series | None:
        shown = values.filter(~values.str.to_lowercase().is_in(list(MISSING)) & values.is_not_null())
        if shown.str.contains(CODE).any() or not shown.str.contains(r"\d").all():
            return None
        decimal, groups = shown.str.contains(COMMA_DECIMAL).all(), shown.str.contains(COMMA_GROUPS).all()
        if decimal and groups:
            self.unclear_commas.append(name)
            return values
        return self._with_commas(name, values, decimal) if decimal or groups else None

    def _with_commas(self, name: str, values: pl.Series, decimal: bool) -> pl.Series:
        import polars as pl

        if decimal:
            self.decimal.append(name)
            text = values.str.replace_all(".", "", literal=True).str.replace(",", ".", literal=True)
        else:
            self.groups.append(name)
            text = values.str.replace_all(",", "", literal=True)
        numbers = text.cast(pl.Float64, strict=False).fill_nan(None)
        self._say(name, self._rest(values, numbers) or [])
        whole = text.cast(pl.Int64, strict=False)
        return whole if whole.null_count() == numbers.null_count() else numbers

    def _boolean(self, name: str, values: pl.Series) -> pl.Series | None:
        low = values.str.to_lowercase()
        truth = (low == "true").set(~low.is_in(["true", "false"]), None)
        marks = self._rest(values, truth)
        if marks is None or truth.null_count() == len(truth):
            return None
        self._say(name, marks)
        return truth

    def _date(self, name: str, values: pl.Series) -> pl.Series | None:
        found = []
        for pattern in (YEAR_FIRST, DAY_FIRST, MONTH_FIRST):
            dates = _dates(values, pattern)
            marks = self._rest(values, dates)
            if marks is not None and dates.null_count() < len(dates):
                found.append((dates, marks, pattern))
                if pattern != DAY_FIRST or values.str.contains(r"^\d+\.").any():
                    break
        if len(found) > 1 and not found[0][0].equals(found[1][0]):
            self.unclear_dates.append(name)
            return None
        for dates, marks, pattern in found[:1]:
            self._say(name, marks)
            if pattern != YEAR_FIRST:
                (self.day_first if pattern == DAY_FIRST else self.month_first).append(name)
            return dates
        return None

    def _words(self, name: str, column: pl.Series) -> pl.Series:
        import polars as pl

        if self.spaces:
            column = column.str.strip_chars(" ")
        missing = {*SURE, *self.among_numbers}
        found = column.is_in([*missing, *KEPT])
        if not found.any():
            return column
        there = column.filter(found).unique(maintain_order=True).to_list()
        for mark in set(there) - missing:
            self.kept.setdefault(mark, []).append(name)
        marks = [mark for mark in there if mark in missing]
        self._say(name, marks, numbers=False)
        return pl.select(pl.when(~column.is_in(marks)).then(column).alias(name))[:, 0] if marks else column

    def _rest(self, values: pl.Series, parsed: pl.Series) -> list[str] | None:
        """The marks for missing values among what was not parsed; None if there is anything else."""
        left = values.filter(parsed.is_null() & values.is_not_null()).unique(maintain_order=True)
        if len(left) > len(MISSING) * 4 or not left.str.to_lowercase().is_in(list(MISSING)).all():
            return None
        return left.to_list()

    def _say(self, name: str, marks: list[str], numbers: bool = True) -> None:
        for mark in marks:
            self.marks.setdefault(mark, []).append(name)
            if numbers:
                self.among_numbers.add(mark)

    def notes(self) -> list[Note]:
        """What was decided."""
        said = [
            Note("{mark!r} is a missing value in: {columns}", mark=mark, columns=listed(names))
            for mark, names in self.marks.items()
        ]
        for template, names in (
            ("decimal comma in: {columns}", self.decimal),
            ("comma between thousands in: {columns}", self.groups),
            ("numbers with leading zeros are taken as codes in: {columns}", self.codes),
            ("dates with the day first in: {columns}", self.day_first),
            ("dates with the month first in: {columns}", self.month_first),
            ("day and month cannot be told apart, so these stay text: {columns}", self.unclear_dates),
        ):
            if names:
                said.append(Note(template, columns=listed(names)))
        said += [
            Note("{mark!r} stays a value of its own in: {columns}", mark=mark, columns=listed(names))
            for mark, names in self.kept.items()
        ]
        return said


def _promising(column: pl.Series) -> bool:
    """Whether the first values could be numbers, booleans or dates."""
    head = column.head(HEAD * 4).drop_nulls().head(HEAD)
    if len(head) == 0:
        return column.null_count() < len(column)
    head = head.str.strip_chars().str.to_lowercase()
    typed = head.str.contains(r"^[+-]?[.,]?\d|^[+-]?(inf|nan)") | head.is_in(["", "true", "false", *MISSING])
    return bool(typed.all())


def _dates(values: pl.Series, pattern: str) -> pl.Series:
    import polars as pl

    parts = values.str.extract_groups(pattern).struct.unnest()
    clock, zone = (parts[:, k] for k in (3, 4))
    days = pl.select(pl.concat_str([parts["y"], parts["m"], parts["d"]], separator="-"))[:, 0]
    if clock.null_count() == len(clock):
        return days.str.to_date("%Y-%m-%d", strict=False)
    clock = clock.fill_null("00:00")
    short = clock.str.count_matches(":", literal=True) == 1
    clock = pl.select(pl.when(short).then(clock + ":00").otherwise(clock))[:, 0]
    zone = zone.fill_null("+00:00").str.replace("Z", "+00:00", literal=True)
    text = pl.select(pl.concat_str([days, pl.lit(" "), clock, zone]))[:, 0]
    moments = text.str.to_datetime("%Y-%m-%d %H:%M:%S%.f%z", strict=False, time_zone="UTC", time_unit="us")
    return moments.dt.replace_time_zone(None)
