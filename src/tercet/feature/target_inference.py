"""Inference of the target column and of the task: classification, regression or clustering."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tercet.core.messages import Message
from tercet.datasets.readers import listed
from tercet.feature.column_inference import Column, infer_column
from tercet.feature.table_input import TableInput, raise_table_error, raise_unknown_column
from tercet.feature.value_parsing import json_value, missing_mask, to_floats, unpatterned

if TYPE_CHECKING:
    import polars as pl

USUAL = ("target", "label", "class", "类别", "标签", "好瓜", "y")
TASKS = ("auto", "classification", "regression", "clustering")
MOST_CLASSES = 20  # whole numbers with more values are measurements, until told otherwise
HUNDREDS = 100
OF_KIND = {"numeric": "regression", "categorical": "classification", "boolean": "classification"}


@dataclass(frozen=True)
class InferredTarget:
    """What is to be learned, and why."""

    task: str
    why: Message
    target: Column | None = None
    classes: tuple[Any, ...] | None = None
    left_out: Column | None = None  # a target that is of no use for the task, and no feature either
    notes: tuple[Message, ...] = ()


def infer_target(
    table: TableInput, target: str | None, task: str, kinds: Mapping[str, str] | None = None
) -> InferredTarget:
    """What a table with this target asks for; refuses what cannot be learned.

    `kinds` is what some columns are to be taken for: a target of numbers is to be measured, say.
    """
    kinds = kinds or {}
    dropped = {name for name, kind in kinds.items() if kind == "identifier"}
    if target in dropped:
        raise_table_error("the target {name!r} cannot be dropped", name=target)
    name, found = _choose(table, target, dropped)
    if name is None:
        if task in ("classification", "regression"):
            text = "{task} needs a target; the columns are {names}"
            raise_table_error(text, task=Message(task), names=listed(table.frame.columns))
        return InferredTarget(
            "clustering", Message("no target is named: groups of similar rows are looked for")
        )
    series = table.frame[name]
    column, notes = infer_column(series, table.kinds.get(name), feature=False)
    asked = kinds.get(name)
    if asked is not None and asked not in OF_KIND:
        text = "the target {name!r} cannot be {kind}; it can be {allowed}"
        raise_table_error(text, name=name, kind=asked, allowed=", ".join(OF_KIND))
    if asked is not None and task == "auto":
        task = OF_KIND[asked]
    notes = [found, *notes] if found else notes
    if column.kind == "empty":
        raise_table_error("the target {name!r} has no value at all", name=name)
    series = unpatterned(series)
    gaps = missing_mask(series)
    here, absent = series.filter(~gaps), int(gaps.sum())
    distinct = here.n_unique()
    if distinct == 1:
        text = "the target {name!r} has a single value, {value}: there is nothing to tell apart"
        raise_table_error(text, name=name, value=repr(json_value(here[0]))[:60])
    task, why = _task_of(column, here) if task == "auto" else (task, Message("the task was asked for"))
    if task == "regression":
        _check_numbers(column, here)
    elif task == "classification":
        _check_classes(column, here)
        notes += _rare_classes(here, name)
    elif not _could_be_classes(column, here):
        useless = Message("left out: the target has no classes to compare clusters with")
        return InferredTarget(
            task, why, left_out=replace(column, used=False, why=useless), notes=tuple(notes)
        )
    if absent:
        notes.append(Message("{n} rows have no target and are left out", n=absent))
    kind = "numeric" if here.dtype.is_numeric() and column.kind == "identifier" else column.kind
    column = replace(
        column, kind=kind, why=Message("the target"), used=False, missing=absent, distinct=distinct
    )
    classes = None if task == "regression" else classes_of(here)
    return InferredTarget(task, why, column, classes, notes=tuple(notes))


def _choose(table: TableInput, target: str | None, dropped: set[str]) -> tuple[str | None, Message | None]:
    """The column to predict, and how it was found when it was not named."""
    names = table.frame.columns
    if target is not None:
        if target not in names:
            raise_unknown_column(target, names)
        return target, None
    names = [name for name in names if name not in dropped]
    if table.target is not None and table.target in names:
        return table.target, Message("the file marks {name!r} as the target", name=table.target)
    usual = [name for name in names if name.strip().lower() in USUAL]
    if usual and table.named:
        first = min(usual, key=lambda name: USUAL.index(name.strip().lower()))
        return first, Message("{name!r} is taken as the target, because of its name", name=first)
    return None, None


def classes_of(here: pl.Series) -> tuple[Any, ...]:
    """The labels in order."""
    import polars as pl

    if isinstance(here.dtype, pl.Categorical | pl.Enum):
        here = here.cast(pl.String)
    if here.dtype == pl.Decimal:
        here = here.cast(pl.Float64)
    if here.dtype.is_temporal():
        here = here.cast(pl.String)
    return tuple(json_value(label) for label in here.unique().sort())


def _task_of(column: Column, here: pl.Series) -> tuple[str, Message]:
    import polars as pl

    name, n, distinct = column.name, here.len(), here.n_unique()
    if column.kind == "date":
        raise_table_error("the target {name!r} holds dates: neither classes nor numbers", name=name)
    if here.dtype == pl.Boolean:
        return "classification", Message("{name!r} is true or false", name=name)
    if not here.dtype.is_numeric():
        text = "{name!r} has {n} different values that are no numbers"
        return "classification", Message(text, name=name, n=distinct)
    if column.kind == "categorical":
        return "classification", Message("{name!r} is declared to be categorical", name=name)
    if distinct == 2:
        return "classification", Message("{name!r} has two different values", name=name)
    if _as_integers(here) and distinct <= min(MOST_CLASSES, n / 3):
        return "classification", Message(
            "{name!r} has only {n} different whole numbers; --task regression takes them as measurements",
            name=name,
            n=distinct,
        )
    if _as_integers(here):
        return "regression", Message("{name!r} has {n} different numbers", name=name, n=distinct)
    return "regression", Message(
        "{name!r} has {n} different numbers, not all of them whole", name=name, n=distinct
    )


def _as_integers(here: pl.Series) -> bool:
    if here.dtype.is_integer():
        return True
    values = to_floats(here)
    return bool(np.all(values == np.floor(values)))


def _could_be_classes(column: Column, here: pl.Series) -> bool:
    return column.kind not in ("date", "text", "identifier") and (
        not here.dtype.is_numeric() or here.n_unique() <= min(HUNDREDS, here.len() / 2)
    )


def _check_numbers(column: Column, here: pl.Series) -> None:
    import polars as pl

    if here.dtype.is_numeric() or here.dtype == pl.Boolean:
        return
    value = here[0]
    if "not_numbers" in column.summary:
        value = column.summary["not_numbers"][0][0]
    elif column.kind == "date":
        raise_table_error("the target {name!r} holds dates: neither classes nor numbers", name=column.name)
    raise_table_error(
        "the target {name!r} is a text column where numbers are needed: {value} is not a number",
        name=column.name,
        value=repr(json_value(value))[:60],
    )


def _check_classes(column: Column, here: pl.Series) -> None:
    name, n, distinct = column.name, here.len(), here.n_unique()
    if column.kind == "date":
        raise_table_error("the target {name!r} holds dates: neither classes nor numbers", name=name)
    measured = here.dtype.is_numeric() and not _as_integers(here) and distinct > HUNDREDS
    if measured or (here.dtype.is_numeric() and distinct > max(MOST_CLASSES, 0.9 * n)):
        raise_table_error(
            "the target {name!r} has {n} different numbers: too many for classes, but fit for regression",
            name=name,
            n=distinct,
        )
    if distinct == n or (not here.dtype.is_numeric() and distinct > max(MOST_CLASSES, 0.9 * n)):
        raise_table_error(
            "the target {name!r} has {distinct} different values in {n} rows: no classes to learn",
            name=name,
            distinct=distinct,
            n=n,
        )


def _rare_classes(here: pl.Series, name: str) -> list[Message]:
    counts = here.alias("label").value_counts(name="count")
    single = counts.filter(counts["count"] == 1)["label"].sort().to_list()
    if not single:
        return []
    return [
        Message(
            "{n} classes of {name!r} have a single row ({values}): they cannot be learned and tested both",
            n=len(single),
            name=name,
            values=listed(single, 3),
        )
    ]
