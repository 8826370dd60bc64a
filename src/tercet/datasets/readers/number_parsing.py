"""Number formats: 1,234.5 and 1.234,5, €5, 23 %, (277), １２, −3."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

FULL_WIDTH = dict(zip("０１２３４５６７８９．，－＋％（）＄￥", "0123456789.,-+%()$¥"))
MINUS = dict.fromkeys("−–﹣", "-")
BLANKS = dict.fromkeys("\u00a0\u2007\u2009\u202f\u3000", " ")
MARKS = {"wide": FULL_WIDTH, "minus": MINUS, "blank": BLANKS, "apostrophe": {"’": "'"}}
PLAIN = {odd: plain for marks in MARKS.values() for odd, plain in marks.items()}
CURRENCY = r"(?:US|CA|AU|HK|R)?\$|[€£¥₹₽₩₺₪฿]|USD|EUR|GBP|CNY|RMB|JPY|CHF|INR|元"
DECORATED = (
    rf"^(\()?([+-])? ?({CURRENCY})? ?([+-])?"
    rf"([0-9.,' ]*[0-9.,](?:[eE][+-]?[0-9]+)?) ?(%|{CURRENCY})?(\))?$"
)
CODE = r"^[+-]?0[0-9]+$"  # 007 may be a name
GROUPED = (
    r"^[+-]?(?:[1-9][0-9]{0,2}(?:\.[0-9]{3})*|0)$"  # where the comma is decimal, the point is for the eye
)


def number_pattern(decimal: str) -> str:
    """The pattern of numbers with this decimal mark, whatever stands between their thousands."""
    marks = map(re.escape, _thousands_separators(decimal))
    groups = "|".join(rf"[1-9][0-9]{{0,2}}(?:{mark}[0-9]{{3}})+" for mark in marks)
    point = re.escape(decimal)
    return rf"^[+-]?(?:(?:[0-9]+|{groups})(?:{point}[0-9]*)?|{point}[0-9]+)(?:[eE][+-]?[0-9]+)?$"


def _thousands_separators(decimal: str) -> tuple[str, ...]:
    return ("," if decimal == "." else ".", " ", "'")


@dataclass(frozen=True)
class Numerals:
    """The digits of a column of strings, and what was around them.

    `digits` is null where there is no number; `others` says which of the ways to write were met.
    """

    digits: pl.Series
    currencies: tuple[str, ...]
    percent: pl.Series
    others: tuple[str, ...]

    def numbers(self, decimal: str) -> pl.Series:
        """The values with this decimal mark; null where the digits have another form."""
        import polars as pl

        text = self.digits.set(~self.digits.str.contains(number_pattern(decimal)), None)
        text = text.str.replace_all(f"[{re.escape(''.join(_thousands_separators(decimal)))}]", "")
        text = text.str.replace(decimal, ".", literal=True)
        if self.percent.any():
            text = text.zip_with(~self.percent, text + "e-2")
        numbers = text.cast(pl.Float64, strict=False)
        whole = text.cast(pl.Int64, strict=False)
        return whole if whole.null_count() == numbers.null_count() else numbers

    def count_fitting(self, decimal: str) -> int:
        """How many values have the form of numbers with this decimal mark."""
        return int(self.digits.str.contains(number_pattern(decimal)).sum())


def parse_numerals(values: pl.Series) -> Numerals:
    """Separate the digits of strings from signs, currencies, per cents and full-width forms."""
    import polars as pl

    others = [name for name, marks in MARKS.items() if values.str.contains_any(list(marks)).any()]
    text = values.str.replace_many(list(PLAIN), list(PLAIN.values())) if others else values
    text = text.str.strip_chars()
    parts = text.str.extract_groups(DECORATED).struct.unnest()
    opened, sign, before, inner, digits, after, closed = parts.get_columns()
    sound = (opened.is_null() == closed.is_null()) & (sign.is_null() | inner.is_null())
    sound &= (before.is_null() | after.is_null()) & (opened.is_null() | (sign.is_null() & inner.is_null()))
    digits = digits.set(~sound, None).str.strip_chars()
    negative = opened.is_not_null() | (sign.fill_null("") == "-") | (inner.fill_null("") == "-")
    digits = digits.zip_with(~negative, "-" + digits)
    there = digits.is_not_null()
    if opened.filter(there).is_not_null().any():
        others.append("parentheses")
    if digits.str.contains("[0-9] [0-9]").any():
        others.append("blank")
    if digits.str.contains("'", literal=True).any():
        others.append("apostrophe")
    percent = (after == "%").fill_null(False)
    money = pl.concat([before.filter(there), after.filter(there & ~percent)]).drop_nulls()
    return Numerals(digits, tuple(sorted(money.unique())), percent, tuple(dict.fromkeys(others)))
