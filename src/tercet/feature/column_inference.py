"""Inference of column kinds: numeric, categorical, boolean, date, text, identifier; with the reason."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tercet.core.messages import Message
from tercet.feature.column_names import name_meaning
from tercet.feature.summaries import most_frequent, summarise_dates, summarise_numbers, summarise_values
from tercet.feature.text.tokenization import length_in_words
from tercet.feature.value_parsing import (
    PAIRS,
    TRUE,
    days_since_1970,
    invalid_numbers_note,
    json_value,
    missing_mask,
    shortened,
    split_numbers,
    to_floats,
    unpatterned,
)

if TYPE_CHECKING:
    import polars as pl

MOST_CATEGORIES = 1000  # that a schema remembers; an encoder makes features of far fewer
MANY_GAPS = 0.95  # share of missing values that is worth a word
FEW_STRINGS = 0.05  # share of strings that a column of numbers may hold
SOME_STRINGS = 0.2  # share that it may hold when it would be of no use as strings
A_RUN = 10  # numbers that have to be regular, before that says anything


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

    Examples
    --------
    >>> import polars as pl
    >>> from tercet.feature import infer_schema
    >>> frame = pl.DataFrame({"colour": ["red", "blue", "red", "blue"], "y": [0.5, 1.5, 2.5, 3.5]})
    >>> column = infer_schema(frame, "y").columns[0]
    >>> column.name, column.kind, column.distinct, column.categories
    ('colour', 'categorical', 2, ('blue', 'red'))
    """

    name: str
    kind: str
    why: Message
    used: bool
    missing: int
    distinct: int
    summary: dict[str, Any] = field(default_factory=dict)
    categories: tuple[str, ...] | None = None

    def __deepcopy__(self, memo: Any) -> Column:
        return self


def infer_column(
    series: pl.Series, declared: str | None = None, total: int = 0, *, feature: bool = True
) -> tuple[Column, list[Message]]:
    """The column that a series is, and what is odd about it.

    `declared` is what the file says it is, `total` the rows of the file it was drawn from; a column that is no
    feature may name the rows.
    """
    column, notes = _inferred(unpatterned(series), declared, total, feature)
    return under_name(column, series.name), [in_name(note, series.name) for note in notes]


def under_name(column: Column, name: str) -> Column:
    """The column with its own name, in what is said of it, too."""
    return column if column.name == name else replace(column, name=name, why=in_name(column.why, name))


def in_name(note: Any, name: str) -> Any:
    """What is said of a column, with its own name."""
    if not isinstance(note, Message):
        return note
    values = {key: in_name(value, name) if key != "name" else name for key, value in note.values.items()}
    return Message(note.template, **values)


def _inferred(
    series: pl.Series, declared: str | None, total: int, feature: bool
) -> tuple[Column, list[Message]]:
    import polars as pl

    name, n, dtype = series.name, series.len(), series.dtype
    if dtype.is_nested() or dtype in (pl.Binary, pl.Object):
        why = Message("values of the type {type} cannot be used; dropped", type=str(dtype))
        return Column(name, "text", why, False, series.null_count(), 0), []
    if isinstance(dtype, pl.Categorical | pl.Enum):
        series, dtype, declared = series.cast(pl.String), pl.String(), "categorical"
    notes: list[Message] = []
    if dtype.is_float() and (infinite := int(np.isinf(series.to_numpy()).sum())):
        notes.append(
            Message("column {name!r}: {n} infinite values are taken as missing", name=name, n=infinite)
        )
    gaps = missing_mask(series)
    missing = int(gaps.sum())
    here = series.filter(~gaps) if missing else series
    if missing == n:
        return Column(name, "empty", Message("no value at all; dropped"), False, missing, 0), notes
    if not _presence_is_informative(n - missing, n) and bool((here == here[0]).all()):
        value = json_value(here[0])
        why = Message("always {value}: nothing to learn from; dropped", value=shortened(value))
        return Column(
            name, "constant", why, False, missing, 1, {"top": [[shortened(value), here.len()]]}
        ), notes

    if declared == "categorical" and not dtype.is_temporal():
        column = _declared(here, missing)
    elif dtype == pl.Boolean:
        column = categorical(here, missing, Message("true or false"), "boolean")
    elif dtype in (pl.Date, pl.Datetime):
        column = as_date(here, missing)
    elif dtype == pl.String:
        column = _strings(here, missing, notes)
    else:
        column, doubt = _numeric(here, missing, total)
        notes += [doubt] if doubt and feature else []
    return _drop_if_nearly_empty(column, n - missing, n), notes


def _presence_is_informative(present: int, n: int) -> bool:
    """Whether a single value, there or not there, would split the rows into two groups of some size."""
    return min(present, n - present) >= max(5, 0.01 * n)


def _drop_if_nearly_empty(column: Column, present: int, n: int) -> Column:
    """Nearly empty columns are dropped; others with many gaps are used, and that is said."""
    if not column.used or present >= (1 - MANY_GAPS) * n:
        return column
    if present < max(10, 0.01 * n):
        why = Message("only {present} of {n} values are there; dropped", present=present, n=n)
        return replace(column, used=False, why=why)
    why = Message("{why}; only {present} of {n} values are there", why=column.why, present=present, n=n)
    return replace(column, why=why)


def _numeric(here: pl.Series, missing: int, total: int) -> tuple[Column, Message | None]:
    """Numbers, and a doubt whether they are any."""
    n, (summary, distinct) = here.len(), describe_numbers(here)
    column = Column(here.name, "numeric", number_description(here), True, missing, distinct, summary)
    if distinct < n or missing > FEW_STRINGS * n or (whole := _as_integers(here, summary)) is None:
        return column, None
    says, rising = name_meaning(here.name), whole.is_sorted()
    if says == "row" or (says == "number" and rising):
        why = Message("whole numbers, all different, and called by a name for rows; dropped")
        return replace(column, kind="identifier", used=False, why=why), None
    if n < A_RUN or missing:
        return column, None
    if counted := _row_counter(whole, rising, total):
        if says != "quantity":
            return replace(column, kind="identifier", used=False, why=counted), None
        why = Message("numbers that count the rows, used because the name says what is counted")
        return replace(column, why=why), None
    if says == "number" or (rising and not says):
        text = "column {name!r}: whole numbers, all different; if they name the rows, --drop leaves them out"
        return column, Message(text, name=here.name)
    return column, None


def describe_numbers(here: pl.Series) -> tuple[dict[str, Any], int]:
    """The distribution of numbers, and how many different ones there are."""
    summary, distinct = summarise_numbers(to_floats(here))
    if here.dtype.is_integer() and max(abs(summary["min"]), abs(summary["max"])) > 2**53:
        distinct = here.n_unique()  # more digits than a float has
    return summary, distinct


def number_description(here: pl.Series) -> Message:
    """What numbers they are."""
    import polars as pl

    if here.dtype == pl.Time:
        return Message("times of day, counted in seconds")
    return Message("spans of time, counted in days") if here.dtype == pl.Duration else Message("numbers")


def _as_integers(here: pl.Series, summary: dict[str, Any]) -> pl.Series | None:
    """Numbers as integers, if all of them are whole."""
    import polars as pl

    if here.dtype.is_integer():
        return here
    if not here.dtype.is_float() or max(abs(summary["min"]), abs(summary["max"])) > 2**53:
        return None
    return here.cast(pl.Int64) if bool((here == here.round()).all()) else None


def _row_counter(here: pl.Series, rising: bool, total: int) -> Message | None:
    """How integers that are all different count the rows, if they do."""
    ends: Any = here.min(), here.max()
    low, high, n = int(ends[0]), int(ends[1]), here.len()
    # Rows drawn from a longer file keep their numbers and their order.
    if (low in (0, 1) and high - low == n - 1) or (rising and high - low < total and n < total):
        return Message("whole numbers that count the rows; dropped")
    first = int(here[1]) - int(here[0])
    if abs(first) * (n - 1) == high - low and here.is_sorted(descending=first < 0):
        steps = here.diff().drop_nulls()
        if bool((steps == first).all()):
            return Message(
                "whole numbers that count the rows from {first} by {step}; dropped, but --as {name}=numeric "
                "uses them",
                first=int(here[0]),
                step=first,
                name=here.name,
            )
    return None


def as_date(here: pl.Series, missing: int) -> Column:
    """A column of dates."""
    summary, distinct = summarise_dates(days_since_1970(here))
    why = Message("dates from {low} to {high}", low=summary["min"], high=summary["max"])
    return Column(here.name, "date", why, True, missing, distinct, summary)


def _strings(here: pl.Series, missing: int, notes: list[Message]) -> Column:
    name, present, distinct = here.name, here.len(), here.n_unique()
    found, strange = split_numbers(here)
    codes = here.str.contains(r"^\s*[+-]?0\d").sum() > FEW_STRINGS * present  # 007 is a name
    if 0 < strange.len() <= FEW_STRINGS * present and not codes and _n_distinct(found) > 20:
        return mostly_numbers(here, missing, notes)

    if distinct == 2 and set(here.unique().str.strip_chars().str.to_lowercase()) in PAIRS:
        shown = " / ".join(sorted(here.unique()))
        return categorical(
            here, missing, Message("two values that mean yes and no: {values}", values=shown), "boolean"
        )

    sample = here if present <= 2000 else here.gather_every(present // 2000)
    length = float(np.mean([length_in_words(value) for value in sample]))
    if distinct > 0.5 * present and length >= 4:
        chars: Any = here.str.len_chars().mean()
        summary = {**summarise_values(here), "mean_length": float(chars)}
        why = Message(
            "texts of about {n} words, mostly different; their words become features", n=round(length)
        )
        return Column(name, "text", why, True, missing, distinct, summary)
    if distinct == present or (distinct > 0.9 * present and present >= 100):
        if 0 < strange.len() < found.size and not codes and _n_distinct(found) > 20:
            few = strange.len() <= SOME_STRINGS * present
            return mostly_numbers(here, missing, notes) if few else _too_few_numbers(here, missing)
        return _identifier(here, missing)
    if distinct == 1:
        return categorical(here, missing, Message("one value or none: what tells is whether it is there"))
    return categorical(
        here, missing, Message("{distinct} different strings in {n} rows", distinct=distinct, n=present)
    )


def _n_distinct(values: np.ndarray) -> int:
    return np.unique(values).size


def mostly_numbers(here: pl.Series, missing: int, notes: list[Message]) -> Column:
    """A column of strings as the numbers that most of them are."""
    found, strange = split_numbers(here)
    (summary, different), why = summarise_numbers(found), Message("numbers")
    n = strange.len()
    if n:
        top = summarise_values(strange)["top"]
        notes.append(invalid_numbers_note(here.name, n, [value for value, _ in top]))
        why, summary = Message("numbers, but for {n} values", n=n), {**summary, "not_numbers": top}
    return Column(here.name, "numeric", why, True, missing + n, different, summary)


def _too_few_numbers(here: pl.Series, missing: int) -> Column:
    """Strings of which most are numbers, but too many are not."""
    strange = split_numbers(here)[1]
    why = Message(
        "{n} of {total} strings are no numbers, first {value!r}; "
        "--as {name}=numeric takes them as missing; dropped",
        n=strange.len(),
        total=here.len(),
        value=shortened(strange[0]),
        name=here.name,
    )
    return Column(here.name, "identifier", why, False, missing, here.n_unique(), summarise_values(here))


def _identifier(here: pl.Series, missing: int) -> Column:
    distinct = here.n_unique()
    why = Message(
        "{distinct} different strings in {n} rows: they name the rows; dropped",
        distinct=distinct,
        n=here.len(),
    )
    return Column(here.name, "identifier", why, False, missing, distinct, summarise_values(here))


def _declared(here: pl.Series, missing: int) -> Column:
    import polars as pl

    distinct = here.n_unique()
    if distinct == here.len() > 10:
        return _identifier(here.cast(pl.String), missing)
    return categorical(here, missing, Message("declared to be categorical; {n} different values", n=distinct))


def categorical(here: pl.Series, missing: int, why: Message, kind: str = "categorical") -> Column:
    """A column of categories, whatever the values are."""
    import polars as pl

    strings, distinct = here.cast(pl.String), here.n_unique()
    if here.dtype.is_numeric() and distinct <= MOST_CATEGORIES:
        order = here.unique().sort().cast(pl.String).to_list()
    else:
        order = sorted(value for value, _ in most_frequent(strings, MOST_CATEGORIES))
    if kind == "boolean":
        order.sort(key=lambda value: value.strip().lower() in TRUE)
    return Column(here.name, kind, why, True, missing, distinct, summarise_values(strings), tuple(order))
