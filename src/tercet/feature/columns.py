"""What a column is: numbers, categories, dates, texts, or nothing to learn from, and why it was taken for that."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tercet.core.notes import Note
from tercet.feature.summaries import most_frequent, summarise_dates, summarise_numbers, summarise_values
from tercet.feature.values import (
    PAIRS,
    TRUE,
    brief,
    days,
    loose_numbers,
    missing_mask,
    not_numbers,
    numbers,
    plain,
)
from tercet.feature.words import length_in_words

if TYPE_CHECKING:
    import polars as pl

MOST_CATEGORIES = 1000  # that a schema remembers; an encoder makes features of far fewer
MANY_GAPS = 0.95  # share of missing values that is worth a word
FEW_STRINGS = 0.05  # share of strings that a column of numbers may hold
_NAME = re.compile(
    r"(^|[\W_])(id|ids|no|nr|idx|index|uid|uuid|guid|rowid|key|serial)[\W_]*$"
    r"|^id[\W_]|^$|^unnamed(: *\d+)?$|(编号|序号|学号|工号|证号|号码|代号)$",
    re.ASCII,
)


@dataclass(frozen=True)
class Column:
    """What was seen in one column and decided about it.

    Attributes
    ----------
    name : its name.
    kind : "numeric", "boolean", "categorical", "date", "text", "constant", "identifier" or "empty".
    why : why it was taken for that, and what is done with it.
    used : whether it becomes features.
    missing, distinct : how many values are missing, and how many different ones there are.
    summary : its distribution, as plain JSON values.
    categories : the values of a categorical or boolean column, in order.
    """

    name: str
    kind: str
    why: Note
    used: bool
    missing: int
    distinct: int
    summary: dict[str, Any] = field(default_factory=dict)
    categories: tuple[str, ...] | None = None

    def __deepcopy__(self, memo: Any) -> Column:
        return self


def examine(series: pl.Series, declared: str | None = None, total: int = 0) -> tuple[Column, list[Note]]:
    """The column that a series is, and what is odd about it; `total` is the rows of the file it was drawn from."""
    import polars as pl

    name, n, dtype = series.name, series.len(), series.dtype
    if dtype.is_nested() or dtype in (pl.Binary, pl.Object):
        why = Note("values of the type {type} cannot be used; dropped", type=str(dtype))
        return Column(name, "text", why, False, series.null_count(), 0), []
    if isinstance(dtype, pl.Categorical | pl.Enum):
        series, dtype, declared = series.cast(pl.String), pl.String(), "categorical"
    notes: list[Note] = []
    if dtype.is_float() and (infinite := int(np.isinf(series.to_numpy()).sum())):
        notes.append(Note("column {name!r}: {n} infinite values are taken as missing", name=name, n=infinite))
    gaps = missing_mask(series)
    missing = int(gaps.sum())
    here = series.filter(~gaps) if missing else series
    if missing == n:
        return Column(name, "empty", Note("no value at all; dropped"), False, missing, 0), notes
    if not _tells_by_presence(n - missing, n) and bool((here == here[0]).all()):
        value = plain(here[0])
        why = Note("always {value}: nothing to learn from; dropped", value=brief(value))
        return Column(name, "constant", why, False, missing, 1, {"top": [[brief(value), here.len()]]}), notes

    if declared == "categorical" and not dtype.is_temporal():
        column = _declared(here, missing)
    elif dtype == pl.Boolean:
        column = _categorical(here, missing, Note("true or false"), "boolean")
    elif dtype in (pl.Date, pl.Datetime):
        column = _date(here, missing)
    elif dtype == pl.String:
        column = _strings(here, missing, notes)
    else:
        column = _numeric(here, missing, total)
    return _worth_it(column, n - missing, n), notes


def _tells_by_presence(present: int, n: int) -> bool:
    """Whether a single value, there or not there, would split the rows into two groups of some size."""
    return min(present, n - present) >= max(5, 0.01 * n)


def _worth_it(column: Column, present: int, n: int) -> Column:
    """Nearly empty columns are dropped; others with many gaps are used, and that is said."""
    if not column.used or present >= (1 - MANY_GAPS) * n:
        return column
    if present < max(10, 0.01 * n):
        why = Note("only {present} of {n} values are there; dropped", present=present, n=n)
        return replace(column, used=False, why=why)
    why = Note("{why}; only {present} of {n} values are there", why=column.why, present=present, n=n)
    return replace(column, why=why)


def _numeric(here: pl.Series, missing: int, total: int) -> Column:
    import polars as pl

    dtype, (summary, distinct) = here.dtype, summarise_numbers(numbers(here))
    if dtype.is_integer() and max(abs(summary["min"]), abs(summary["max"])) > 2**53:
        distinct = here.n_unique()  # more digits than a float has
    if dtype.is_integer() and not missing and distinct == here.len() and (why := _names_the_row(here, total)):
        return Column(here.name, "identifier", why, False, missing, distinct, summary)
    why = Note("numbers")
    if dtype == pl.Time:
        why = Note("times of day, counted in seconds")
    elif dtype == pl.Duration:
        why = Note("spans of time, counted in days")
    return Column(here.name, "numeric", why, True, missing, distinct, summary)


def _names_the_row(here: pl.Series, total: int) -> Note | None:
    """Why integers that are all different name their rows, if they do."""
    if looks_like_a_name(here.name):
        return Note("whole numbers, all different, and called by a name for rows; dropped")
    ends: Any = here.min(), here.max()
    low, high, n = int(ends[0]), int(ends[1]), here.len()
    # Rows drawn from a longer file keep their numbers and their order.
    drawn = low >= 0 and high <= total and n < total and here.is_sorted()
    if n >= 10 and ((low in (0, 1) and high - low == n - 1) or drawn):
        return Note("whole numbers that count the rows; dropped")
    return None


def looks_like_a_name(name: str) -> bool:
    """Whether a column's name says that its values name the rows.

    Examples
    --------
    >>> [looks_like_a_name(name) for name in ("PassengerId", "编号", "no_of_rooms", "humid")]
    [True, True, False, False]
    """
    parts = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip()).lower()
    return bool(_NAME.search(parts))


def _date(here: pl.Series, missing: int) -> Column:
    summary, distinct = summarise_dates(days(here))
    why = Note("dates from {low} to {high}", low=summary["min"], high=summary["max"])
    return Column(here.name, "date", why, True, missing, distinct, summary)


def _strings(here: pl.Series, missing: int, notes: list[Note]) -> Column:
    name, present, distinct = here.name, here.len(), here.n_unique()
    found, strange = loose_numbers(here)
    if 0 < strange.len() <= FEW_STRINGS * present and not here.str.contains(r"^\s*[+-]?0\d").any():
        summary, different = summarise_numbers(found)
        if different > 20:
            return _nearly_numbers(here, missing, strange, summary, different, notes)

    if distinct == 2 and set(here.unique().str.strip_chars().str.to_lowercase()) in PAIRS:
        shown = " / ".join(sorted(here.unique()))
        return _categorical(
            here, missing, Note("two values that mean yes and no: {values}", values=shown), "boolean"
        )

    sample = here if present <= 2000 else here.gather_every(present // 2000)
    length = float(np.mean([length_in_words(value) for value in sample]))
    if distinct > 0.5 * present and length >= 4:
        chars: Any = here.str.len_chars().mean()
        summary = {**summarise_values(here), "mean_length": float(chars)}
        why = Note("texts of about {n} words, mostly different; their words become features", n=round(length))
        return Column(name, "text", why, True, missing, distinct, summary)
    if distinct == present or (distinct > 0.9 * present and present >= 100):
        return _naming(here, missing)
    if distinct == 1:
        return _categorical(here, missing, Note("one value or none: what tells is whether it is there"))
    return _categorical(
        here, missing, Note("{distinct} different strings in {n} rows", distinct=distinct, n=present)
    )


def _nearly_numbers(
    here: pl.Series,
    missing: int,
    strange: pl.Series,
    summary: dict[str, Any],
    different: int,
    notes: list[Note],
) -> Column:
    n, top = strange.len(), summarise_values(strange)["top"]
    notes.append(not_numbers(here.name, n, [value for value, _ in top]))
    why = Note("numbers, but for {n} values", n=n)
    summary = {**summary, "not_numbers": top}
    return Column(here.name, "numeric", why, True, missing + n, different, summary)


def _naming(here: pl.Series, missing: int) -> Column:
    distinct = here.n_unique()
    why = Note(
        "{distinct} different strings in {n} rows: they name the rows; dropped",
        distinct=distinct,
        n=here.len(),
    )
    return Column(here.name, "identifier", why, False, missing, distinct, summarise_values(here))


def _declared(here: pl.Series, missing: int) -> Column:
    import polars as pl

    distinct = here.n_unique()
    if distinct == here.len() > 10:
        return _naming(here.cast(pl.String), missing)
    return _categorical(here, missing, Note("declared to be categorical; {n} different values", n=distinct))


def _categorical(here: pl.Series, missing: int, why: Note, kind: str = "categorical") -> Column:
    import polars as pl

    strings, distinct = here.cast(pl.String), here.n_unique()
    if here.dtype.is_numeric() and distinct <= MOST_CATEGORIES:
        order = here.unique().sort().cast(pl.String).to_list()
    else:
        order = sorted(value for value, _ in most_frequent(strings, MOST_CATEGORIES))
    if kind == "boolean":
        order.sort(key=lambda value: value.strip().lower() in TRUE)
    return Column(here.name, kind, why, True, missing, distinct, summarise_values(strings), tuple(order))
