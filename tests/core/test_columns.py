"""Tables of numbers and categories as methods see them."""

import datetime
import decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest

from tercet.core.columns import Columns, MixedColumns
from tercet.core.estimator import Classifier

nan = np.nan


class Reader(MixedColumns, Classifier):
    """Keeps what `_fit` gets."""

    def __init__(self, categorical_features="from_dtype", categories="auto"):
        self.categorical_features = categorical_features
        self.categories = categories

    def _fit(self, X, y, sample_weight):
        self.X_, self.y_ = X, y


def read(X, again=None, **options):
    model = Reader(**options).fit(X, np.arange(len(X)) % 2)
    return model.X_ if again is None else model._check(again, reset=False), model


RECORDS = {"a": ["x", None, "y", "x"], "b": [1.0, 2.5, None, 0.5], "c": [True, False, True, False]}
EXPECTED = [[0, 1, 1], [nan, 2.5, 0], [1, nan, 1], [0, 0.5, 0]]


@pytest.mark.parametrize(
    "X",
    [
        pd.DataFrame(RECORDS),
        pl.DataFrame(RECORDS),
        pd.DataFrame(RECORDS).astype({"a": "category"}),
        pl.DataFrame(RECORDS, schema_overrides={"a": pl.Categorical}),
        pl.DataFrame(RECORDS, schema_overrides={"a": pl.Enum(["x", "y"])}),
        pd.DataFrame(RECORDS).astype(object),
        pd.DataFrame(RECORDS).convert_dtypes(),
        np.array(list(zip(*RECORDS.values())), dtype=object),
        [list(row) for row in zip(*RECORDS.values())],
    ],
    ids=["pandas", "polars", "category", "Categorical", "Enum", "objects", "extension", "array", "lists"],
)
def test_the_same_table_in_every_form(X):
    got, model = read(X)
    np.testing.assert_array_equal(got, EXPECTED)
    assert [None if c is None else c.tolist() for c in model.categories_] == [["x", "y"], None, None]


def test_unseen_missing_and_known_values_at_prediction():
    frame = pd.DataFrame(RECORDS)
    later = pd.DataFrame({"a": ["q", None, "y"], "b": [7, None, 1], "c": [True, True, False]})
    got, _ = read(frame, later)
    np.testing.assert_array_equal(got, [[2, 7, 1], [nan, nan, 1], [1, 1, 0]])


def test_kinds():
    frame = pd.DataFrame({"f": [0.5], "i": [3], "b": [True], "s": ["x"], "o": [None]})
    assert Columns.of_frame(frame).kinds == ["number", "integer", "boolean", "category", "number"]
    assert Columns.of_array(np.zeros((2, 2)), "i").kinds == ["integer"] * 2


def test_declared_categories_come_in_their_own_order():
    frame = pd.DataFrame({"a": pd.Categorical(["u", "u", "w"], categories=["w", "v", "u"])})
    got, model = read(frame)
    assert model.categories_[0].tolist() == ["w", "v", "u"]
    assert got[:, 0].tolist() == [2, 2, 0]
    numbers = pd.DataFrame({"a": pd.Categorical([3, 1, 3], categories=[3, 2, 1])})
    assert read(numbers)[0][:, 0].tolist() == [0, 2, 0]
    listed, _ = read([["b"], ["a"]], categories=[["c", "b", "a"]])
    assert listed[:, 0].tolist() == [1, 2]
    with pytest.raises(ValueError, match=r"column 0 holds 'z'.*not among its categories \['a'\]"):
        read([["a"], ["z"]], categories=[["a"]])
    with pytest.raises(ValueError, match="all 1 columns; got 2 lists"):
        read([["a"], ["b"]], categories=[["a"], ["b"]])


@pytest.mark.parametrize("asked", [["n"], [1], [False, True], np.array([False, True]), (-1,)])
def test_number_columns_may_be_categories(asked):
    frame = pd.DataFrame({"m": [1.5, 2.5, 1.5], "n": [7, 3, 7]})
    got, model = read(frame, categorical_features=asked)
    np.testing.assert_array_equal(got, [[1.5, 1], [2.5, 0], [1.5, 1]])
    assert model.categories_[1].tolist() == [3, 7]
    later = model._check(pd.DataFrame({"m": [0.0, 0.0], "n": [5, 3]}), reset=False)
    assert later[:, 1].tolist() == [2, 0]


def test_what_cannot_be_read_is_named():
    frame = pd.DataFrame({"size": [1.0, 2.0], "kind": ["a", "b"]})
    with pytest.raises(ValueError, match="names 'knid'; there is no such column; near it: kind"):
        read(frame, categorical_features=["knid"])
    with pytest.raises(ValueError, match="as a mask must have 2 values; got 3"):
        read(frame, categorical_features=[True, False, True])
    with pytest.raises(ValueError, match="column 'kind' is not of numbers, and categorical_features=None"):
        read(frame, categorical_features=None)
    with pytest.raises(ValueError, match="infinity in column 'size'"):
        read(pd.DataFrame({"size": [1.0, np.inf]}))
    with pytest.raises(ValueError, match="'size' held numbers when the model was fitted; now it holds 'big'"):
        read(frame, pd.DataFrame({"size": ["1", "big"], "kind": ["a", "b"]}))
    with pytest.raises(ValueError, match="2 columns named 'a'; column names must be unique"):
        read(pd.DataFrame([[1, 2]] * 2, columns=["a", "a"]))


def test_numbers_stay_single():
    assert read(np.ones((4, 2), dtype=np.float32))[0].dtype == np.float32
    assert read(np.ones((4, 2)))[0].dtype == np.float64


def test_spelled_numbers_are_read_where_numbers_were_learned():
    got, _ = read(pd.DataFrame({"a": [1.0, 2.0]}), pd.DataFrame({"a": ["3", None]}))
    np.testing.assert_array_equal(got, [[3], [nan]])


def test_numbers_are_read_where_strings_were_learned():
    got, _ = read([["1"], ["2"]], [[2], [7]])
    assert got[:, 0].tolist() == [1, 2]


def test_targets_of_several_columns():
    class Several(Reader):
        multi_output = True

    model = Several().fit([["a"], ["b"], ["a"]], [["u", "x"], ["v", "x"], ["v", "y"]])
    assert [c.tolist() for c in model.classes_] == [["u", "v"], ["x", "y"]]
    assert model.y_.tolist() == [[0, 0], [1, 0], [1, 1]]


def test_a_value_is_spelled_alike_whatever_stands_beside_it():
    beside = [["a"], [1234567], [2.0], [0.5], [True]]
    _, model = read(beside)
    assert model.categories_[0].tolist() == ["0.5", "1234567", "2", "True", "a"]
    for place, value in enumerate([0.5, 1234567, 2, True]):  # alone, a number would not be a category
        assert model._check([[value]], reset=False)[0, 0] == place
    zips = pd.DataFrame({"zip": ["1234567", "2345678"]})
    got, _ = read(zips, pd.DataFrame({"zip": [2345678, 1234567]}))
    assert got[:, 0].tolist() == [1, 0]


@pytest.mark.parametrize("known", [[0, 3, 7], [-4000, 0, 2], [0.25, 0.5, 1e9], [1e300, -1e300, 0]])
def test_numbers_are_found_exactly(known):
    X = np.array(known, dtype=float)[:, None]
    _, model = read(X, categorical_features=[0])
    order = np.argsort(np.argsort(X[:, 0]))
    assert model._check(X, reset=False)[:, 0].tolist() == order.tolist()
    strange = np.array([[1e-20], [2.5], [5e8], [nan], [1e17]])
    np.testing.assert_array_equal(model._check(strange, reset=False)[:, 0], [3, 3, 3, nan, 3])


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (pd.arrays.IntervalArray.from_breaks([0, 1, 2]), "category"),
        (pd.Series([decimal.Decimal("1.5"), decimal.Decimal("2")]), "number"),
        (pl.Series([decimal.Decimal("1.5"), decimal.Decimal("2")]), "number"),
        (pl.Series([b"a", b"b"]), "category"),
        ([(1, 2), (3, 4)], "category"),
        ([[1], [2]], "category"),
    ],
    ids=["interval", "decimal", "Decimal", "Binary", "tuples", "lists"],
)
def test_odd_columns_are_read(column, kind):
    frame = (pl if isinstance(column, pl.Series) else pd).DataFrame({"a": column})
    assert Columns.of_frame(frame).kinds == [kind]
    assert read(frame)[0][:, 0].tolist() == ([1.5, 2] if kind == "number" else [0, 1])


@pytest.mark.parametrize(
    "X",
    [
        pd.DataFrame({"when": pd.to_datetime(["2020-01-01", "2021-01-01"])}),
        pd.DataFrame({"when": pd.to_timedelta([1, 2], "D")}),
        pl.DataFrame({"when": [datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)]}),
        np.array([["2020-01-01"], ["2021-01-01"]], dtype="M8[ns]"),
    ],
    ids=["datetime", "timedelta", "Date", "array"],
)
def test_times_are_not_taken_for_categories(X):
    with pytest.raises(ValueError, match="holds times; days, months or hours"):
        read(X)


def test_categories_and_columns_that_are_asked_for_twice_or_by_half():
    with pytest.raises(ValueError, match="column 0 has a category twice"):
        read([["a"], ["b"]], categories=[["a", "b", "a"]])
    frame = pd.DataFrame({"m": [1.5, 2.5], "n": [7, 3]})
    assert [c is None for c in read(frame, categorical_features=["m", 1])[1].categories_] == [False, False]
    with pytest.raises(ValueError, match=r"names 0\.5; there is no such column"):
        read(frame, categorical_features=[0.5])
