"""Columns of strings as what they mean: numbers, booleans, dates; and which strings mean that nothing is there."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tercet.datasets.readers.marks import KEPT, MISSING, SURE, Remarks, is_missing
from tercet.datasets.readers.moments import clocks, moments
from tercet.datasets.readers.numerals import CODE, GROUPED, Numerals, form, numerals
from tercet.datasets.readers.reading import Reading, Way, kind_of

if TYPE_CHECKING:
    import polars as pl

HEAD = 256
FEW = 0.05  # so many values may be no numbers or dates in a column of them
VARIED = 20  # so many different numbers make a column of them, whatever else is in it
TYPED = r"^[(（]?[+−–－-]?(?:[^\p{L}\p{N}\s]|[A-Z]{2,3})? ?[+-]?[.,]?\d|^[+-]?(?:inf|nan)"


class Settler:
    """Settles the columns of one file, and remembers what it decided.

    Where `like` knows a column, it is read in that way; values that contradict leave it a column of strings.
    """

    def __init__(self, delimiter: str = ",", spaces: bool = False, like: Reading | None = None) -> None:
        self.delimiter, self.spaces, self.like = delimiter, spaces, like or Reading()
        self.remarks = Remarks()
        self.ways: dict[str, Way] = {}
        self.unclear: dict[str, Numerals] = {}

    def settle(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The frame with every column as what it means."""
        import polars as pl

        columns = {}
        for name in frame.columns:
            way = self.like.columns.get(name)
            columns[name] = (
                self._column(name, frame[name]) if way is None else self._as(name, frame[name], way)
            )
        comma = bool(self.remarks.said["comma"])
        for name, found in self.unclear.items():
            commas = found.digits.str.contains(",", literal=True).any()
            between = commas and not comma and (self.remarks.said["thousands"] or self.delimiter != ";")
            decimal = "." if between or not (comma or commas) else ","
            columns[name] = self._read(name, columns[name].str.strip_chars(), found, decimal)
        for name, column in columns.items():
            if column.dtype == pl.String:
                columns[name] = self._words(name, column)
        return pl.DataFrame(columns)

    def reading(self, frame: pl.DataFrame, header: bool | None = None) -> Reading:
        """How the columns of the settled frame were written."""
        ways = {name: self.ways.get(name, Way(kind_of(frame[name]))) for name in frame.columns}
        for name, way in ways.items():
            if way.kind == "number" and not way.decimal and frame[name].dtype.is_float():
                ways[name] = replace(way, decimal=".")
        marks = {way.decimal for way in ways.values() if way.decimal}
        decimal = self.like.decimal or (marks.pop() if len(marks) == 1 else "")
        missing = self.like.missing if self.like.columns else tuple(self.remarks.among_numbers)
        return Reading(self.like.columns | ways, decimal, missing, header)

    def _column(self, name: str, column: pl.Series) -> pl.Series:
        """A column of which nothing is known."""
        import polars as pl

        if column.dtype == pl.Float64 and column.is_nan().any():
            self.remarks.mark(name, ["NaN"])
            return column.fill_nan(None)
        if column.dtype != pl.String:
            return column
        if (column == "").any():
            column = column.set(column == "", None)
        if not _promising(column):
            return column
        values = _trimmed(column)
        for attempt in (self._number, self._boolean, self._date, self._time):
            found = attempt(name, values)
            if found is not None:
                return found
        return column

    def _as(self, name: str, column: pl.Series, way: Way) -> pl.Series:
        """A column that must be read in this way."""
        import polars as pl

        self.ways[name] = way
        if column.dtype == pl.Float64:
            return column.fill_nan(None)
        if column.dtype != pl.String or way.kind == "string":
            return column
        values = _trimmed(column)
        if way.kind == "boolean":
            truth = self._boolean(name, values)
            return column if truth is None else truth
        if way.kind == "time":
            return self._contradicted(name, values, clocks(values), way)
        if way.kind == "date":
            parsed = moments(values, way.order or "ymd")[0]
            if parsed.null_count() > values.null_count() and way.order in ("dmy", "mdy"):
                moment = pl.Datetime("us")
                parsed = parsed.cast(moment).zip_with(
                    parsed.is_not_null(), moments(values, "ymd")[0].cast(moment)
                )
            return self._contradicted(name, values, parsed, way)
        decimal = self.like.decimal_of(name)
        if not decimal:  # nothing known so far shows it: as this file alone suggests
            found = self._number(name, values)
            self.ways[name] = replace(self.ways[name], kind="number", stray=way.stray)
            if name in self.unclear:
                return column
            if found is not None:
                return self._contradicted(name, values, found, way)
        return self._contradicted(name, values, self._numbers(name, values, decimal or ".", way), way)

    def _numbers(self, name: str, values: pl.Series, decimal: str, way: Way) -> pl.Series:
        """Numbers with this decimal mark, in the currency of this way."""
        import polars as pl

        plain = values.cast(pl.Float64, strict=False).fill_nan(None)
        if decimal == "." and plain.null_count() == values.null_count():
            return plain
        found = numerals(values)
        if way.currency and set(found.currencies) - {way.currency}:  # another unit is another number
            return plain
        self._tell(name, found, found.digits, decimal)
        parsed = found.numbers(decimal).cast(pl.Float64)
        return parsed if decimal == "," else plain.zip_with(plain.is_not_null(), parsed)

    def _contradicted(self, name: str, values: pl.Series, parsed: pl.Series, way: Way) -> pl.Series:
        """What was read, if that is all; otherwise strings, in which only the strange is as it was."""
        import polars as pl

        marks, bad = self._rest(values, parsed)
        self.remarks.mark(name, marks)
        if bad.is_empty():
            return parsed
        if way.stray:
            self.remarks.stray(name, bad, way.kind)
            return parsed
        self.remarks.strays.pop(name, None)
        strange = parsed.is_null() & values.is_not_null() & ~is_missing(values)
        return parsed.cast(pl.String).zip_with(~strange, values)

    def _number(self, name: str, values: pl.Series) -> pl.Series | None:
        import polars as pl

        plain = values.cast(pl.Float64, strict=False).fill_nan(None)
        marks, bad = self._rest(values, plain)
        if not _fits(plain, bad):
            return self._dressed(name, values)
        if plain.null_count() == len(plain):
            return None
        there = values.filter(plain.is_not_null())
        if self._codes(name, there):
            return None
        whole = values.cast(pl.Int64, strict=False)
        if whole.null_count() == plain.null_count():
            read = whole
        # Digits beyond what an integer holds are a name, too.
        elif not there.str.contains(r"[.eEnN]").any():
            return None
        else:
            read = plain
            if there.str.contains(GROUPED).all():
                self.unclear[name] = numerals(values)
                return None
        self.remarks.mark(name, marks)
        self.remarks.stray(name, bad, "number")
        self.ways[name] = Way("number", "" if read is whole else ".", stray=not bad.is_empty())
        return read

    def _codes(self, name: str, values: pl.Series) -> bool:
        """Whether leading zeros mean something: when many have them, or all have the same length."""
        coded = int(values.str.contains(CODE).sum())
        if not coded:
            return False
        codes = coded > FEW * len(values) or values.str.len_chars().n_unique() == 1
        self.remarks.said["codes" if codes else "zeros"].append(name)
        return codes

    def _dressed(self, name: str, values: pl.Series) -> pl.Series | None:
        found = numerals(values)
        # A pair of currencies is a pair of units.
        if len(found.currencies) > 1 or found.digits.null_count() == len(values):
            return None
        _, bad = self._rest(values, found.digits)
        if not _fits(found.digits, bad) or self._codes(name, found.digits.drop_nulls()):
            return None
        point, comma = (found.fitting(mark) for mark in ".,")
        decimal = "." if point >= comma else ","
        parsed = found.numbers(decimal)
        _, bad = self._rest(values, parsed)
        if not _fits(parsed, bad):
            return None
        if point == comma and found.digits.str.contains("[.,]").any():
            self.unclear[name] = found
            return None
        return self._read(name, values, found, decimal)

    def _read(self, name: str, values: pl.Series, found: Numerals, decimal: str) -> pl.Series:
        """Numbers with this decimal mark, and what to say of them."""
        parsed = found.numbers(decimal)
        marks, bad = self._rest(values, parsed)
        self.remarks.mark(name, marks)
        self.remarks.stray(name, bad, "number")
        shows = self._tell(name, found, found.digits.filter(parsed.is_not_null()), decimal)
        currency = found.currencies[0] if found.currencies else ""
        self.ways[name] = Way("number", shows, currency, stray=not bad.is_empty())
        return parsed

    def _tell(self, name: str, found: Numerals, digits: pl.Series, decimal: str) -> str:
        """Remember how the numbers are written; the decimal mark, if they show it."""
        shown = digits.filter(digits.str.contains(form(decimal)))  # what has another form stays a string
        commas, points = (bool(shown.str.contains(mark, literal=True).any()) for mark in ",.")
        facts = {
            "comma": decimal == "," and commas,
            "thousands": decimal == "." and commas,
            "points": decimal == "," and points,
            "currency": bool(found.currencies),
            "percent": bool(found.percent.any()),
        }
        for what in [*(what for what, true in facts.items() if true), *found.others]:
            self.remarks.said[what].append(name)
        return decimal if commas or points else ""

    def _boolean(self, name: str, values: pl.Series) -> pl.Series | None:
        low = values.str.to_lowercase()
        truth = (low == "true").set(~low.is_in(["true", "false"]), None)
        marks, bad = self._rest(values, truth)
        if not bad.is_empty() or truth.null_count() == len(truth):
            return None
        self.remarks.mark(name, marks)
        return truth

    def _date(self, name: str, values: pl.Series) -> pl.Series | None:
        found = []
        for order in ("ymd", "dmy", "mdy"):
            dates, mixed = moments(values, order)
            marks, bad = self._rest(values, dates)
            if dates.null_count() < len(dates) and _fits(dates, bad):
                found.append((dates, mixed, marks, bad, order))
                if order != "dmy" or values.str.contains(r"^\d+\.").any():
                    break
        if len(found) > 1 and not found[0][0].equals(found[1][0]):
            if len(found[0][3]) == len(found[1][3]):
                self.remarks.said["unclear"].append(name)
                return None
            found.sort(key=lambda one: len(one[3]))
        for dates, mixed, marks, bad, order in found[:1]:
            self.remarks.mark(name, marks)
            self.remarks.stray(name, bad, "date")
            for what in [order] * (order != "ymd") + ["zones"] * mixed:
                self.remarks.said[what].append(name)
            self.ways[name] = Way("date", order=order, stray=not bad.is_empty())
            return dates
        return None

    def _time(self, name: str, values: pl.Series) -> pl.Series | None:
        times = clocks(values)
        marks, bad = self._rest(values, times)
        if times.null_count() == len(times) or not _fits(times, bad):
            return None
        self.remarks.mark(name, marks)
        self.remarks.stray(name, bad, "time")
        self.ways[name] = Way("time", stray=not bad.is_empty())
        return times

    def _words(self, name: str, column: pl.Series) -> pl.Series:
        import polars as pl

        if self.spaces:
            column = column.str.strip_chars(" ")
        missing = {*SURE, *(self.like.missing if self.like.columns else self.remarks.among_numbers)}
        if (column == "").any():
            column = column.set(column == "", None)
        found = column.is_in([*missing, *KEPT])
        if not found.any():
            return column
        there = column.filter(found).unique(maintain_order=True).to_list()
        for mark in set(there) - missing:
            self.remarks.kept.setdefault(mark, []).append(name)
        marks = [mark for mark in there if mark in missing]
        self.remarks.mark(name, marks, numbers=False)
        return pl.select(pl.when(~column.is_in(marks)).then(column).alias(name))[:, 0] if marks else column

    def _rest(self, values: pl.Series, parsed: pl.Series) -> tuple[list[str], pl.Series]:
        """What was not parsed: the marks for missing values, and everything else."""
        left = values.filter(parsed.is_null() & values.is_not_null())
        missing = is_missing(left)
        return left.filter(missing).unique(maintain_order=True).to_list(), left.filter(~missing)


def _trimmed(column: pl.Series) -> pl.Series:
    values = column.str.strip_chars()
    return values.set(values == "", None)


def _fits(parsed: pl.Series, bad: pl.Series) -> bool:
    """Whether what was parsed is the rule, and what was not the exception."""
    if bad.is_empty():
        return True
    good = len(parsed) - parsed.null_count()
    return len(bad) <= FEW * (good + len(bad)) and parsed.n_unique() > VARIED


def _promising(column: pl.Series) -> bool:
    """Whether the first values could be numbers, booleans or dates."""
    head = column.head(HEAD * 4).drop_nulls().head(HEAD)
    if len(head) == 0:
        return column.null_count() < len(column)
    head = head.str.strip_chars()
    typed = head.str.contains(TYPED) | head.str.to_lowercase().is_in(
        ["", "true", "false", "inf", "nan", *MISSING]
    )
    return int(typed.sum()) >= 0.9 * len(head)
