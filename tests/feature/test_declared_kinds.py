"""Columns as the user says they are."""

from __future__ import annotations

import datetime as dt
import json

import numpy as np
import polars as pl
import pytest

from tercet.datasets import Table, TableError
from tercet.feature import Schema, TableEncoder, infer_schema
from tests.feature.sample import with_target

N = 40
FRAME = pl.DataFrame(
    {
        "zip": [10115 + k % 4 for k in range(N)],
        "time": [k * 2 for k in range(N)],
        "row": range(N),
        "day": [f"2024-01-{1 + k % 28:02d}" for k in range(N)],
        "stamp": [20240101 + k % 28 for k in range(N)],
        "unclear": ["03/04/2024", "05/06/2024"] * 20,
        "mixed": [f"x{k}" if k % 2 else str(k) for k in range(N)],
        "flag": [k % 2 for k in range(N)],
        "when": [dt.date(2024, 1, 1 + k % 5) for k in range(N)],
        "word": [f"w{k % 3}" for k in range(N)],
        "same": [7] * N,
        "y": ["a", "b"] * 20,
    }
)


def asked(**kinds):
    schema = infer_schema(FRAME, "y", kinds=kinds)
    return {column.name: column for column in schema.columns if column.name in kinds}


def test_kinds_as_asked():
    kinds = {
        "zip": "categorical", "row": "numeric", "day": "date", "stamp": "date", "mixed": "numeric",
        "flag": "boolean", "word": "text", "when": "categorical", "time": "identifier",
    }  # fmt: skip
    columns = asked(**kinds)
    assert {name: column.kind for name, column in columns.items()} == kinds
    assert {name: column.why for name, column in columns.items() if name != "time"} == dict.fromkeys(
        set(kinds) - {"time"}, "as asked"
    )
    assert (columns["time"].used, columns["time"].why) == (False, "as asked; dropped")
    assert columns["zip"].categories == ("10115", "10116", "10117", "10118")
    assert columns["mixed"].missing == 20
    assert asked(same="categorical")["same"].kind == "constant"


def test_columns_as_asked_can_be_cooked():
    kinds = {
        "zip": "categorical",
        "row": "numeric",
        "day": "date",
        "stamp": "date",
        "mixed": "numeric",
        "word": "text",
    }
    schema = infer_schema(FRAME, "y", kinds=kinds, drop=["time", "unclear"])
    assert "mixed" in "".join(schema.notes)
    schema = Schema.from_dict(json.loads(json.dumps(schema.to_dict())))
    records = schema.to_records(FRAME)
    assert records.names == ("zip", "row", "day", "stamp", "mixed", "flag", "when", "word")
    np.testing.assert_array_equal(records.column("stamp"), records.column("day"))
    np.testing.assert_array_equal(records.column("row"), np.arange(N))
    assert records.column("zip").tolist() == [k % 4 for k in range(N)]
    assert np.isnan(records.column("mixed")).sum() == 20
    names = TableEncoder(schema).fit(records).get_feature_names_out()
    assert {"zip=10117", "word:w1", "row"} <= set(names)


REFUSED = {
    "unknown column": ({"zap": "numeric"}, "no column 'zap'; near it: 'zip'; the columns are 'zip'"),
    "no numbers": (
        {"word": "numeric"},
        "'word' cannot be numeric: 'w0' is not a number; it can be categorical",
    ),
    "dates as numbers": ({"when": "numeric"}, "'when' cannot be numeric: '2024-01-01' is not a number"),
    "no dates": (
        {"zip": "date"},
        "'zip' cannot be date: '10115' is not a date; it can be numeric, categorical",
    ),
    "day or month": ({"unclear": "date"}, "'03/04/2024' may have the day first, or the month"),
    "no text": ({"zip": "text"}, "'zip' cannot be text: '10115' is no string"),
    "three values": ({"word": "boolean"}, "has 3 different values; it can be categorical, text, identifier"),
    "the target as dates": ({"y": "date"}, "'y' cannot be date; it can be numeric, categorical, boolean"),
    "the target dropped": ({"y": "identifier"}, "the target 'y' cannot be dropped"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case):
    kinds, message = REFUSED[case]
    with pytest.raises(TableError, match=message) as error:
        infer_schema(FRAME, "y", kinds=kinds)
    assert "\n" not in str(error.value)


def test_columns_that_cannot_be_dropped():
    with pytest.raises(TableError, match="no column 'q'; the columns are 'zip'"):
        infer_schema(FRAME, "y", drop=["q"])
    with pytest.raises(TableError, match=r"no column can be learned from: .* dropped or name"):
        infer_schema(FRAME, "y", drop=[name for name in FRAME.columns if name != "y"])


def test_unknown_kind():
    with pytest.raises(ValueError, match=r"kind of column 'zip' must be one of numeric, .*; got 'number'"):
        infer_schema(FRAME, "y", kinds={"zip": "number"})


def test_targets_as_asked():
    whole = with_target([1, 2, 3] * 10)
    assert infer_schema(whole, "t").task == "classification"
    assert infer_schema(whole, "t", kinds={"t": "numeric"}).task == "regression"
    many = with_target([k % 30 for k in range(300)])
    assert infer_schema(many, "t").task == "regression"
    assert infer_schema(many, "t", kinds={"t": "categorical"}).classes == tuple(range(30))


def test_infinite_values_are_said_all_the_same():
    frame = pl.DataFrame({"a": [1.0, float("inf"), 2.5, 4.0], "y": ["u", "v"] * 2})
    schema = infer_schema(frame, "y", kinds={"a": "numeric"})
    assert "column 'a': 1 infinite values are taken as missing" in schema.notes


def test_a_dropped_column_is_no_target():
    assert infer_schema(FRAME, drop=["y"]).task == "clustering"
    assert infer_schema(Table(FRAME, target="word"), drop=["word"]).target.name == "y"


def test_dropped_columns_are_not_missed():
    schema, said = infer_schema(FRAME, "y", drop=["word"]), []
    assert "word" not in schema.to_records(FRAME.drop("word"), say=said.append).names
    schema.to_records(FRAME, say=said.append)
    assert said == []
