"""Type inference for columns of strings: numbers, booleans, dates, times, and markers of missing values."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tercet.datasets.readers.date_parsing import parse_dates, parse_times
from tercet.datasets.readers.missing_markers import (
    ALWAYS_MISSING,
    KEPT_AS_VALUES,
    MISSING,
    is_missing,
)
from tercet.datasets.readers.number_parsing import CODE, GROUPED, Numerals, number_pattern, parse_numerals
from tercet.datasets.readers.reading_notes import ReadingNotes
from tercet.datasets.readers.table_format import ColumnFormat, TableFormat, column_kind

if TYPE_CHECKING:
    import polars as pl

HEAD = 256
MAX_INVALID = 0.05  # so many values may be no numbers or dates in a column of them
MIN_DISTINCT = 20  # so many different numbers make a column of them, whatever else is in it
LOOKS_TYPED = r"^[(（]?[+−–－-]?(?:[^\p{L}\p{N}\s]|[A-Z]{2,3})? ?[+-]?[.,]?\d|^[+-]?(?:inf|nan)"


class TypeInference:
    """Infers the types of the columns of one file, and keeps their formats.

    A column that `like` knows is read in its format; with values that contradict, it stays a column of strings.
    """

    def __init__(self, delimiter: str = ",", spaces: bool = False, like: TableFormat | None = None) -> None:
        self.delimiter, self.spaces, self.like = delimiter, spaces, like or TableFormat()
        self.notes = ReadingNotes()
        self.formats: dict[str, ColumnFormat] = {}
        self.unclear: dict[str, Numerals] = {}

    def infer(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The frame with every column in its type."""
        import polars as pl

        columns = {}
        for name in frame.columns:
            fmt = self.like.columns.get(name)
            columns[name] = (
                self._infer_column(name, frame[name].alias(""))  # a method of a series named "^a$" finds none
                if fmt is None
                else self._read_as(name, frame[name].alias(""), fmt)
            )
        comma = bool(self.notes.topics["comma"])
        for name, found in self.unclear.items():
            commas = found.digits.str.contains(",", literal=True).any()
            between = commas and not comma and (self.notes.topics["thousands"] or self.delimiter != ";")
            decimal = "." if between or not (comma or commas) else ","
            columns[name] = self._accept_numbers(name, columns[name].str.strip_chars(), found, decimal)
        for name, column in columns.items():
            if column.dtype == pl.String:
                columns[name] = self._string_column(name, column)
        return pl.DataFrame(columns)

    def format(self, frame: pl.DataFrame, header: bool | None = None) -> TableFormat:
        """The formats of the columns of the inferred frame."""
        formats = {
            name: self.formats.get(name, ColumnFormat(column_kind(frame[name]))) for name in frame.columns
        }
        for name, fmt in formats.items():
            if fmt.kind == "number" and not fmt.decimal and frame[name].dtype.is_float():
                formats[name] = replace(fmt, decimal=".")
        marks = {fmt.decimal for fmt in formats.values() if fmt.decimal}
        decimal = self.like.decimal or (marks.pop() if len(marks) == 1 else "")
        missing = self.like.missing if self.like.columns else tuple(self.notes.among_numbers)
        return TableFormat(self.like.columns | formats, decimal, missing, header)

    def _infer_column(self, name: str, column: pl.Series) -> pl.Series:
        """A column of unknown format."""
        import polars as pl

        if column.dtype == pl.Float64 and column.is_nan().any():
            self.notes.add_missing(name, ["NaN"])
            return column.fill_nan(None)
        if column.dtype != pl.String:
            return column
        if (column == "").any():
            column = column.set(column == "", None)
        if not _may_be_typed(column):
            return column
        values = _stripped(column)
        for attempt in (self._number, self._boolean, self._date, self._time):
            found = attempt(name, values)
            if found is not None:
                return found
        return column

    def _read_as(self, name: str, column: pl.Series, fmt: ColumnFormat) -> pl.Series:
        """A column read in a known format."""
        import polars as pl

        self.formats[name] = fmt
        if column.dtype == pl.Float64:
            return column.fill_nan(None)
        if column.dtype != pl.String or fmt.kind == "string":
            return column
        values = _stripped(column)
        if fmt.kind == "boolean":
            truth = self._boolean(name, values)
            return column if truth is None else truth
        if fmt.kind == "time":
            return self._or_strings(name, values, parse_times(values), fmt)
        if fmt.kind == "date":
            parsed = parse_dates(values, fmt.order or "ymd")[0]
            if parsed.null_count() > values.null_count() and fmt.order in ("dmy", "mdy"):
                moment = pl.Datetime("us")
                parsed = parsed.cast(moment).zip_with(
                    parsed.is_not_null(), parse_dates(values, "ymd")[0].cast(moment)
                )
            return self._or_strings(name, values, parsed, fmt)
        decimal = self.like.decimal_of(name)
        if not decimal:  # nothing known so far shows it: as this file alone suggests
            found = self._number(name, values)
            self.formats[name] = replace(self.formats[name], kind="number", stray=fmt.stray)
            if name in self.unclear:
                return column
            if found is not None:
                return self._or_strings(name, values, found, fmt)
        return self._or_strings(name, values, self._numbers(name, values, decimal or ".", fmt), fmt)

    def _numbers(self, name: str, values: pl.Series, decimal: str, fmt: ColumnFormat) -> pl.Series:
        """Numbers with this decimal mark, in the currency of this format."""
        import polars as pl

        plain = values.cast(pl.Float64, strict=False).fill_nan(None)
        if decimal == "." and plain.null_count() == values.null_count():
            return plain
        found = parse_numerals(values)
        if fmt.currency and set(found.currencies) - {fmt.currency}:  # another unit is another number
            return plain
        self._note_number_format(name, found, found.digits, decimal)
        parsed = found.numbers(decimal).cast(pl.Float64)
        return parsed if decimal == "," else plain.zip_with(plain.is_not_null(), parsed)

    def _or_strings(self, name: str, values: pl.Series, parsed: pl.Series, fmt: ColumnFormat) -> pl.Series:
        """The parsed values, or, if some are invalid, strings in which only those are as they were."""
        import polars as pl

        marks, invalid = self._unparsed(values, parsed)
        self.notes.add_missing(name, marks)
        if invalid.is_empty():
            return parsed
        if fmt.stray:
            self.notes.add_invalid(name, invalid, fmt.kind)
            return parsed
        self.notes.invalid.pop(name, None)
        strange = parsed.is_null() & values.is_not_null() & ~is_missing(values)
        return parsed.cast(pl.String).zip_with(~strange, values)

    def _number(self, name: str, values: pl.Series) -> pl.Series | None:
        import polars as pl

        plain = values.cast(pl.Float64, strict=False).fill_nan(None)
        marks, invalid = self._unparsed(values, plain)
        if not _mostly_parsed(plain, invalid):
            return self._decorated_number(name, values)
        if plain.null_count() == len(plain):
            return None
        there = values.filter(plain.is_not_null())
        if self._are_codes(name, there):
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
                self.unclear[name] = parse_numerals(values)
                return None
        self.notes.add_missing(name, marks)
        self.notes.add_invalid(name, invalid, "number")
        self.formats[name] = ColumnFormat(
            "number", "" if read is whole else ".", stray=not invalid.is_empty()
        )
        return read

    def _are_codes(self, name: str, values: pl.Series) -> bool:
        """Whether leading zeros mean something: when many have them, or all have the same length."""
        coded = int(values.str.contains(CODE).sum())
        if not coded:
            return False
        codes = coded > MAX_INVALID * len(values) or values.str.len_chars().n_unique() == 1
        self.notes.topics["codes" if codes else "zeros"].append(name)
        return codes

    def _decorated_number(self, name: str, values: pl.Series) -> pl.Series | None:
        found = parse_numerals(values)
        # A pair of currencies is a pair of units.
        if len(found.currencies) > 1 or found.digits.null_count() == len(values):
            return None
        _, invalid = self._unparsed(values, found.digits)
        if not _mostly_parsed(found.digits, invalid) or self._are_codes(name, found.digits.drop_nulls()):
            return None
        point, comma = (found.count_fitting(mark) for mark in ".,")
        decimal = "." if point >= comma else ","
        parsed = found.numbers(decimal)
        _, invalid = self._unparsed(values, parsed)
        if not _mostly_parsed(parsed, invalid):
            return None
        if point == comma and found.digits.str.contains("[.,]").any():
            self.unclear[name] = found
            return None
        return self._accept_numbers(name, values, found, decimal)

    def _accept_numbers(self, name: str, values: pl.Series, found: Numerals, decimal: str) -> pl.Series:
        """Numbers with this decimal mark, and what to say of them."""
        parsed = found.numbers(decimal)
        marks, invalid = self._unparsed(values, parsed)
        self.notes.add_missing(name, marks)
        self.notes.add_invalid(name, invalid, "number")
        shows = self._note_number_format(name, found, found.digits.filter(parsed.is_not_null()), decimal)
        currency = found.currencies[0] if found.currencies else ""
        self.formats[name] = ColumnFormat("number", shows, currency, stray=not invalid.is_empty())
        return parsed

    def _note_number_format(self, name: str, found: Numerals, digits: pl.Series, decimal: str) -> str:
        """Note the format of the numbers; returns the decimal mark, if they show it."""
        shown = digits.filter(
            digits.str.contains(number_pattern(decimal))
        )  # what has another form stays a string
        commas, points = (bool(shown.str.contains(mark, literal=True).any()) for mark in ",.")
        facts = {
            "comma": decimal == "," and commas,
            "thousands": decimal == "." and commas,
            "points": decimal == "," and points,
            "currency": bool(found.currencies),
            "percent": bool(found.percent.any()),
        }
        for what in [*(what for what, true in facts.items() if true), *found.others]:
            self.notes.topics[what].append(name)
        return decimal if commas or points else ""

    def _boolean(self, name: str, values: pl.Series) -> pl.Series | None:
        low = values.str.to_lowercase()
        truth = (low == "true").set(~low.is_in(["true", "false"]), None)
        marks, invalid = self._unparsed(values, truth)
        if not invalid.is_empty() or truth.null_count() == len(truth):
            return None
        self.notes.add_missing(name, marks)
        return truth

    def _date(self, name: str, values: pl.Series) -> pl.Series | None:
        found = []
        for order in ("ymd", "dmy", "mdy"):
            dates, mixed = parse_dates(values, order)
            marks, invalid = self._unparsed(values, dates)
            if dates.null_count() < len(dates) and _mostly_parsed(dates, invalid):
                found.append((dates, mixed, marks, invalid, order))
                if order != "dmy" or values.str.contains(r"^\d+\.").any():
                    break
        if len(found) > 1 and not found[0][0].equals(found[1][0]):
            if len(found[0][3]) == len(found[1][3]):
                self.notes.topics["unclear"].append(name)
                return None
            found.sort(key=lambda one: len(one[3]))
        for dates, mixed, marks, invalid, order in found[:1]:
            self.notes.add_missing(name, marks)
            self.notes.add_invalid(name, invalid, "date")
            for what in [order] * (order != "ymd") + ["zones"] * mixed:
                self.notes.topics[what].append(name)
            self.formats[name] = ColumnFormat("date", order=order, stray=not invalid.is_empty())
            return dates
        return None

    def _time(self, name: str, values: pl.Series) -> pl.Series | None:
        times = parse_times(values)
        marks, invalid = self._unparsed(values, times)
        if times.null_count() == len(times) or not _mostly_parsed(times, invalid):
            return None
        self.notes.add_missing(name, marks)
        self.notes.add_invalid(name, invalid, "time")
        self.formats[name] = ColumnFormat("time", stray=not invalid.is_empty())
        return times

    def _string_column(self, name: str, column: pl.Series) -> pl.Series:
        import polars as pl

        if self.spaces:
            column = column.str.strip_chars(" ")
        missing = {*ALWAYS_MISSING, *(self.like.missing if self.like.columns else self.notes.among_numbers)}
        if (column == "").any():
            column = column.set(column == "", None)
        found = column.is_in([*missing, *KEPT_AS_VALUES])
        if not found.any():
            return column
        there = column.filter(found).unique(maintain_order=True).to_list()
        for mark in set(there) - missing:
            self.notes.kept.setdefault(mark, []).append(name)
        marks = [mark for mark in there if mark in missing]
        self.notes.add_missing(name, marks, numbers=False)
        return pl.select(pl.when(~column.is_in(marks)).then(column).alias(name))[:, 0] if marks else column

    def _unparsed(self, values: pl.Series, parsed: pl.Series) -> tuple[list[str], pl.Series]:
        """The values that were not parsed: markers of missing values, and invalid ones."""
        left = values.filter(parsed.is_null() & values.is_not_null())
        missing = is_missing(left)
        return left.filter(missing).unique(maintain_order=True).to_list(), left.filter(~missing)


def _stripped(column: pl.Series) -> pl.Series:
    values = column.str.strip_chars()
    return values.set(values == "", None)


def _mostly_parsed(parsed: pl.Series, invalid: pl.Series) -> bool:
    """Whether all but a few values were parsed."""
    if invalid.is_empty():
        return True
    good = len(parsed) - parsed.null_count()
    return len(invalid) <= MAX_INVALID * (good + len(invalid)) and parsed.n_unique() > MIN_DISTINCT


def _may_be_typed(column: pl.Series) -> bool:
    """Whether the first values could be numbers, booleans or dates."""
    head = column.head(HEAD * 4).drop_nulls().head(HEAD)
    if len(head) == 0:
        return column.null_count() < len(column)
    head = head.str.strip_chars()
    typed = head.str.contains(LOOKS_TYPED) | head.str.to_lowercase().is_in(
        ["", "true", "false", "inf", "nan", *MISSING]
    )
    return int(typed.sum()) >= 0.9 * len(head)
