"""Strings that mark missing values."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

# Missing wherever they stand, even among words.
ALWAYS_MISSING = (
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
MISSING_AMONG_NUMBERS = (
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
)
MORE = ("n.a.", "空", "空值", "无", "未知", "—", "/")
MISSING = frozenset([*map(str.lower, ALWAYS_MISSING), *MISSING_AMONG_NUMBERS, *MORE])
KEPT_AS_VALUES = ("NA", "None", "-")  # a note tells when they are taken for values


def is_missing(values: pl.Series) -> pl.Series:
    """Which values mark a missing one."""
    return values.str.to_lowercase().is_in(list(MISSING)).fill_null(False)
