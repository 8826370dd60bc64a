"""Targets and tasks, and schemas as plain values."""

from __future__ import annotations

import ast
import datetime as dt
import json
import string
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tercet
from tercet.datasets import Table, TableError
from tercet.feature import Schema, infer_schema
from tests.feature.sample import FRAME, same, with_target

# --- targets and tasks ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "task", "classes"),
    [
        (["a", "b", "a", "c"] * 5, "classification", ("a", "b", "c")),
        ([True, False] * 10, "classification", (False, True)),
        ([0, 1] * 10, "classification", (0, 1)),
        ([0.5, 1.5] * 10, "classification", (0.5, 1.5)),
        ([3, 1, 2] * 10, "classification", (1, 2, 3)),
        ([1.0, 2.0, 3.0] * 10, "classification", (1.0, 2.0, 3.0)),
        (list(range(20)) * 3, "classification", tuple(range(20))),
        (list(range(21)) * 3, "regression", None),
        (list(range(20)) * 2, "regression", None),
        ([0.5, 1.0, 2.0] * 10, "regression", None),
        ([k / 3 for k in range(30)], "regression", None),
        (list(range(30)), "regression", None),
        (["是", "否"] * 10, "classification", ("否", "是")),
    ],
)
def test_task(values, task, classes):
    schema = infer_schema(with_target(values), "t")
    assert (schema.task, schema.classes) == (task, classes)
    assert "'t'" in schema.task_why
    y, known = schema.to_target(with_target(values))
    assert known.all()
    if classes is None:
        np.testing.assert_array_equal(y, np.asarray(values, dtype=float))
    else:
        assert [classes[k] for k in y] == values
    assert [column.name for column in schema.columns] == ["x"]


def test_task_as_asked():
    whole = with_target([1, 2, 3] * 10)
    assert infer_schema(whole, "t", task="regression").classes is None
    assert infer_schema(whole, "t", task="regression").task_why == "the task was asked for"
    many = with_target([k % 40 for k in range(400)])
    assert infer_schema(many, "t", task="classification").classes == tuple(range(40))
    flags = with_target([True, False] * 10)
    np.testing.assert_array_equal(
        infer_schema(flags, "t", task="regression").to_target(flags)[0], [1.0, 0.0] * 10
    )


def test_clustering():
    schema = infer_schema(FRAME.drop("kind"))
    assert (schema.task, schema.target, schema.classes) == ("clustering", None, None)
    schema = infer_schema(FRAME, "kind", task="clustering")
    assert (schema.task, schema.target.name, schema.classes) == ("clustering", "kind", ("p", "q"))
    schema = infer_schema(FRAME, "size", task="clustering")  # nothing to compare clusters with
    assert (schema.target, schema.classes) == (None, None)
    left = next(column for column in schema.columns if column.name == "size")
    assert not left.used
    said = []
    schema.to_records(FRAME, say=said.append)
    assert said == []


@pytest.mark.parametrize("name", ["target", "Label", "CLASS", "y", "类别", "标签", "好瓜"])
def test_target_by_its_name(name):
    schema = infer_schema(FRAME.rename({"kind": name}))
    assert schema.target.name == name
    assert schema.notes[0] == f"{name!r} is taken as the target, because of its name"


def test_target_by_its_name_is_exact_and_y_comes_last():
    assert infer_schema(FRAME.rename({"kind": "target_kind"})).task == "clustering"
    assert infer_schema(FRAME.rename({"kind": "label", "size": "y"})).target.name == "label"


def test_target_that_the_file_marks():
    assert infer_schema(Table(FRAME, target="colour")).target.name == "colour"
    assert infer_schema(Table(FRAME, target="colour"), "ripe").target.name == "ripe"
    declared = Table(with_target([1.5, 2.5, 7.25] * 10), kinds={"t": "categorical"})
    assert infer_schema(declared, "t").classes == (1.5, 2.5, 7.25)


def test_rows_without_target():
    frame = with_target(["a", "b", None, "", "b"] * 5)
    schema = infer_schema(frame, "t")
    assert "10 rows have no target and are left out" in schema.notes
    y, known = schema.to_target(frame)
    assert y[:5].tolist() == [0, 1, -1, -1, 1]
    assert known[:5].tolist() == [True, True, False, False, True]
    frame = with_target([1.5, float("inf"), None, float("nan"), 2.5, 3.5])
    y, known = infer_schema(frame, "t").to_target(frame)
    assert known.tolist() == [True, False, False, False, True, True]


def test_class_with_a_single_row():
    schema = infer_schema(with_target(["a", "b"] * 10 + ["c"]), "t")
    assert "1 classes of 't' have a single row ('c'): they cannot be learned and tested both" in schema.notes


REFUSED = {
    "unknown target": (FRAME, "knd", "auto", "no column 'knd'; near it: 'kind'; the columns are 'no', 'size'"),
    "unknown target, nothing near": (FRAME, "zzz", "auto", "no column 'zzz'; the columns are 'no'"),
    "target with no value": (with_target([None] * 9), "t", "auto", "'t' has no value at all"),
    "target of blanks": (with_target([""] * 9), "t", "auto", "'t' has no value at all"),
    "single class": (with_target(["a"] * 9), "t", "auto", "'t' has a single value, 'a'"),
    "single class and gaps": (with_target(["a", None] * 9), "t", "auto", "'t' has a single value, 'a'"),
    "single number": (with_target([2.5] * 9), "t", "regression", "'t' has a single value, 2.5"),
    "text where numbers are needed": (FRAME, "colour", "regression", "'colour' is a text column .*: 'red' is not"),
    "one string among numbers": (
        with_target([*(str(k) for k in range(50)), "oops"]), "t", "regression", "'oops' is not a number",
    ),
    "dates": (FRAME, "when", "auto", "'when' holds dates"),
    "dates, for regression": (FRAME, "when", "regression", "'when' holds dates"),
    "names of rows": (FRAME, "remark", "auto", "'remark' has 60 different values in 60 rows: no classes"),
    "measurements as classes": (
        with_target([k / 3 for k in range(200)]), "t", "classification", "'t' has 200 different numbers: too many",
    ),
    "repeated measurements as classes": (
        with_target([k / 3 for k in range(150)] * 9), "t", "classification", "150 different numbers: too many",
    ),
    "no target": (FRAME.drop("kind"), None, "classification", "classification needs a target; .* 'no'"),
    "one column": (FRAME.select("size"), None, "auto", "a single column, 'size'"),
    "one column, the target": (FRAME.select("kind"), "kind", "auto", "a single column, 'kind'"),
    "nothing to learn from": (
        pl.DataFrame({"a": [1] * 9, "b": [None] * 9, "c": [f"n{k}" for k in range(9)], "t": [1, 2, 1] * 3}),
        "t", "auto", r"no column can be learned from: .* \('a', 'b', 'c'\)",
    ),
    "no rows": (FRAME.head(0), "kind", "auto", "no rows"),
    "one row": (FRAME.head(1), "kind", "auto", "one sample"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case):
    frame, target, task, message = REFUSED[case]
    with pytest.raises(TableError, match=message) as error:
        infer_schema(frame, target, task)
    assert "\n" not in str(error.value)


def test_unknown_task():
    with pytest.raises(ValueError, match=r"task must be one of auto, .*; got 'guess'"):
        infer_schema(FRAME, task="guess")


def test_duplicated_names():
    frame = pd.DataFrame([[1.0, 2.0, 3.0]] * 4, columns=["a", "b", "a"])
    with pytest.raises(TableError, match="duplicated column names: 'a'"):
        infer_schema(frame)


def test_numbers_of_rows_are_used_when_there_is_nothing_else():
    schema = infer_schema(pl.DataFrame({"x": range(20), "t": [k * 1.5 for k in range(20)]}), "t")
    assert [(column.kind, column.used) for column in schema.columns] == [("numeric", True)]


# --- plain values --------------------------------------------------------------------------------------------

COLUMNS = st.sampled_from(
    [
        [k / 3 for k in range(12)],
        [None, 1.5, 2.5] * 4,
        ["a", "b", None] * 4,
        [True, False] * 6,
        ["是", "否"] * 6,
        [dt.date(2020, 1, 1 + k) for k in range(12)],
        [dt.datetime(2020, 1, 1 + k, 7) for k in range(12)],
        [f"a text of five words {k}" for k in range(12)],
        [1] * 12,
        [None] * 12,
        [f"{k}" for k in range(12)],
        [float("inf"), *range(11)],
    ]
)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(COLUMNS, min_size=1, max_size=5),
    st.sampled_from([["u", "v"] * 6, [k / 7 for k in range(12)], None]),
)
def test_schemas_survive_json(columns, target):
    frame = pl.DataFrame(
        {f"c{k}": pl.Series(v, strict=False) for k, v in enumerate([[1.5, 2.5] * 6, *columns])}
    )
    frame = frame if target is None else frame.with_columns(pl.Series("t", target))
    schema = infer_schema(frame, None if target is None else "t")
    again = Schema.from_dict(json.loads(json.dumps(schema.to_dict(), allow_nan=False)))
    assert again == schema
    assert again.to_dict() == schema.to_dict()
    assert [note.template for note in again.notes] == [note.template for note in schema.notes]
    assert again.task_why.values == schema.task_why.values
    same(again.to_records(frame), schema.to_records(frame))


def test_notes_have_chinese():
    folder = Path(tercet.__file__).parent
    chinese = json.loads((folder / "cli" / "zh" / "feature.json").read_text(encoding="utf-8"))
    for file in (folder / "feature").glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            for template in _templates(node):
                assert _fields(chinese[template]) == _fields(template)


def _templates(node):
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("Message", "refuse", "_refuse_first"):
        return [arg.value for arg in node.args if isinstance(arg, ast.Constant)]
    if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "text":
        return [node.value.value] if isinstance(node.value, ast.Constant) else []
    return []


def _fields(template):
    return {
        (name, form, conversion) for _, name, form, conversion in string.Formatter().parse(template) if name
    }
