"""What columns are taken for, and what is said about it."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pytest

from tercet.feature.column_inference import MOST_CATEGORIES, infer_column
from tercet.feature.summaries import summarise_numbers


def kind(values, name="a", **options):
    column, _ = infer_column(pl.Series(name, values, strict=False), **options)
    return column.kind, column.used


N = 120
DAY = dt.date(2021, 1, 1)
WORDS = [f"the {k}th remark is about the weather in town {k * k}" for k in range(N)]
CASES = {
    "floats": ([k / 7 for k in range(N)], ("numeric", True)),
    "the numbers from 0, as floats": ([float(k) for k in range(N)], ("identifier", False)),
    "floats that are whole and all different": ([float(k * k) for k in range(N)], ("numeric", True)),
    "integers with few values": ([k % 4 for k in range(N)], ("numeric", True)),
    "measured integers, all different": ([k * k + 3 for k in range(N)], ("numeric", True)),
    "zeros and ones": ([k % 2 for k in range(N)], ("numeric", True)),
    "the numbers from 0": (list(range(N)), ("identifier", False)),
    "the numbers from 1, shuffled": ([(7 * k) % N + 1 for k in range(N)], ("identifier", False)),
    "too few to count": (list(range(5)), ("numeric", True)),
    "the numbers from 2": (list(range(2, N + 2)), ("identifier", False)),
    "every seventh number": ([1000 + 7 * k for k in range(N)], ("identifier", False)),
    "every seventh number, downwards": ([9000 - 7 * k for k in range(N)], ("identifier", False)),
    "every seventh number, shuffled": ([1000 + 7 * ((11 * k) % N) for k in range(N)], ("numeric", True)),
    "all but one step of seven": ([1000 + 7 * k + (k > 50) for k in range(N)], ("numeric", True)),
    "booleans": ([k % 3 == 0 for k in range(N)], ("boolean", True)),
    "yes and no": (["Yes", "no"] * 60, ("boolean", True)),
    "是 and 否": (["是", "否"] * 60, ("boolean", True)),
    "two other words": (["left", "right"] * 60, ("categorical", True)),
    "few strings": ([f"c{k % 7}" for k in range(N)], ("categorical", True)),
    "many strings that repeat": ([f"c{k % 60}" for k in range(N)], ("categorical", True)),
    "strings that are all different": ([f"c{k}" for k in range(N)], ("identifier", False)),
    "strings that are nearly all different": ([f"c{k % 115}" for k in range(N)], ("identifier", False)),
    "texts": (WORDS, ("text", True)),
    "Chinese texts": ([f"第{k}条评论说的是今天的天气和城里的路{k}" for k in range(N)], ("text", True)),
    "long strings that repeat": ([WORDS[k % 3] for k in range(N)], ("categorical", True)),
    "codes with dashes": ([f"{k:08x}-77ab-{k * 31:06x}" for k in range(N)], ("identifier", False)),
    "dates": ([DAY + dt.timedelta(days=k) for k in range(N)], ("date", True)),
    "moments": ([dt.datetime(2021, 1, 1, k % 24, 5) for k in range(N)], ("date", True)),
    "times of day": ([dt.time(k % 24, 30) for k in range(N)], ("numeric", True)),
    "spans": ([dt.timedelta(hours=k) for k in range(N)], ("numeric", True)),
    "one number": ([3.5] * N, ("constant", False)),
    "one string": (["x"] * N, ("constant", False)),
    "one number and two gaps": ([3.5] * (N - 2) + [None] * 2, ("constant", False)),
    "one string or none": (["x", None] * 60, ("categorical", True)),
    "nothing": ([None] * N, ("empty", False)),
    "not a number": ([float("nan")] * N, ("empty", False)),
    "blanks": (["", "  "] * 60, ("empty", False)),
    "hardly anything": ([1.5, 2.5, 3.5] + [None] * 117, ("numeric", False)),
    "lists": ([[1, 2]] * N, ("text", False)),
}


@pytest.mark.parametrize("case", CASES)
def test_kinds(case):
    values, expected = CASES[case]
    assert kind(values) == expected


@pytest.mark.parametrize(
    "name", ["id", "ID", "PassengerId", "user_id", "row no", "Unnamed: 0", "编号", "样本id", ""]
)
def test_integers_with_a_name_for_rows(name):
    values = [17, 3, 250, 96]
    assert kind(values, name) == ("identifier", False)
    assert kind([17, 3, 250, 3], name) == ("numeric", True)
    assert kind([17.5, 3.5, 250.5, 96.5], name) == ("numeric", True)


@pytest.mark.parametrize("name", ["humid", "no_of_rooms", "width", "paid", "价格", "nose"])
def test_integers_with_another_name(name):
    assert kind([17, 3, 250, 96], name) == ("numeric", True)


@pytest.mark.parametrize(
    "name", ["customer_number", "CustomerNumber", "order no", "zip code", "userId", "客户号", "门牌号"]
)
def test_rising_integers_with_a_name_for_rows(name):
    values = np.cumsum(1 + np.random.default_rng(0).integers(0, 9, N)).tolist()
    assert kind(values, name) == ("identifier", False)
    assert kind([float(v) for v in values], name) == ("identifier", False)
    assert kind([None, *values[1:]], name) == ("identifier", False)
    assert kind([v + 0.5 for v in values], name) == ("numeric", True)


@pytest.mark.parametrize(
    "name", ["time", "t", "Year", "month_no", "day number", "age", "x", "step_index", "时间", "年份", "天数"]
)
def test_counts_of_something(name):
    assert kind(list(range(N)), name) == ("numeric", True)
    assert kind(list(range(1900, 1900 + N)), name) == ("numeric", True)
    assert infer_column(pl.Series(name, range(N)))[0].why.startswith(
        "numbers that count the rows, used because"
    )


def test_doubts_are_said():
    rising = [k * k + 3 for k in range(N)]
    hint = "column 'a': whole numbers, all different; if they name the rows, --drop leaves them out"
    assert infer_column(pl.Series("a", rising))[1] == [hint]
    assert infer_column(pl.Series("part_code", rising[::-1]))[1] == [hint.replace("'a'", "'part_code'")]
    assert infer_column(pl.Series("a", rising[::-1]))[1] == []
    assert infer_column(pl.Series("time", rising))[1] == []
    assert infer_column(pl.Series("a", rising), feature=False)[1] == []


def test_numbers_of_rows_that_were_drawn():
    drawn = sorted(np.random.default_rng(0).choice(10_000, 200, replace=False).tolist())
    assert kind(drawn, total=10_000) == ("identifier", False)
    assert kind(drawn, total=200) == ("numeric", True)
    assert kind(drawn[::-1], total=10_000) == ("numeric", True)


def test_numbers_with_more_digits_than_floats_have():
    values = [2**60 + k for k in range(40)]
    column, _ = infer_column(pl.Series("id", values))
    assert (column.kind, column.distinct) == ("identifier", 40)


def test_declared():
    assert kind([1, 2, 3] * 10, declared="categorical") == ("categorical", True)
    column, _ = infer_column(pl.Series("a", [10, 9, 2] * 10), "categorical")
    assert column.categories == ("2", "9", "10")
    assert kind([f"n{k}" for k in range(30)], declared="categorical") == ("identifier", False)
    frame = pd.DataFrame({"a": pd.Categorical(["x y z u", "p q r s", "one two three four"])})
    series = pl.from_pandas(frame)["a"]
    assert infer_column(series)[0].kind == "categorical"


def test_a_few_strings_among_numbers_are_said():
    values = [str(k / 2) for k in range(97)] + ["n.d.", "n.d.", "broken"]
    column, notes = infer_column(pl.Series("a", values))
    assert (column.kind, column.missing, column.distinct) == ("numeric", 3, 97)
    assert column.summary["not_numbers"] == [["n.d.", 2], ["broken", 1]]
    assert notes == ["column 'a': 3 values among the numbers are no numbers (n.d., broken); taken as missing"]
    assert kind([*values, *["bad"] * 10]) == ("numeric", True)  # of no use as strings
    assert kind([*values[:90], *["bad", "worse"] * 10]) == ("categorical", True)
    assert kind([f"{k:03d}" for k in range(97)] + ["x1", "x1", "x2"])[0] != "numeric"  # 007 is a name
    assert kind([*(str(k / 2) for k in range(119)), "007"]) == (
        "identifier",
        False,
    )  # strings, all of them numbers
    assert kind([*(str(k / 2) for k in range(117)), "007", "x", "y"]) == ("numeric", True)
    assert kind(["1", "2", "3"] * 40 + ["A"]) == ("categorical", True)


def test_many_strings_among_numbers_are_said():
    values = [f"bad{k}" if k % 3 == 1 else str(k / 2) for k in range(N)]
    column, _ = infer_column(pl.Series("a", values))
    assert not column.used
    assert column.why == (
        "40 of 120 strings are no numbers, first 'bad1'; --as a=numeric takes them as missing; dropped"
    )


def test_infinity_is_missing_and_said():
    column, notes = infer_column(
        pl.Series("a", [1.0, float("inf"), 2.5, float("-inf"), float("nan"), None, 7.0])
    )
    assert (column.kind, column.missing, column.summary["max"]) == ("numeric", 4, 7.0)
    assert notes == ["column 'a': 2 infinite values are taken as missing"]


def test_many_gaps_are_said_and_used():
    column, _ = infer_column(pl.Series("a", [k / 3 for k in range(30)] + [None] * 970))
    assert column.used
    assert column.why == "numbers; only 30 of 1000 values are there"


def test_more_categories_than_a_schema_keeps():
    values = [f"v{k:05d}" for k in range(2000) for _ in range(2)] + ["often"] * 9
    column, _ = infer_column(pl.Series("n", values))  # a name that a helper column might have
    assert (column.kind, column.distinct, len(column.categories)) == ("categorical", 2001, MOST_CATEGORIES)
    assert "often" in column.categories


@pytest.mark.parametrize("name", ["n", "count", "value"])
def test_names_of_helper_columns(name):
    column, _ = infer_column(pl.Series(name, ["b", "a", "b"] * 5))
    assert column.summary["top"] == [["b", 10], ["a", 5]]


def test_summary_of_numbers():
    values = np.random.default_rng(0).exponential(size=500)
    summary, distinct = summarise_numbers(values)
    counts, edges = np.histogram(values, bins=20)
    assert distinct == 500
    assert summary["histogram"]["counts"] == counts.tolist()
    assert summary["histogram"]["edges"] == pytest.approx(edges.tolist())
    assert summary["quartiles"] == pytest.approx(np.quantile(values, [0.25, 0.5, 0.75]).tolist())
    assert summary["mean"] == pytest.approx(values.mean())
    assert summary["std"] == pytest.approx(values.std())


@pytest.mark.parametrize(
    "values", [[1e308, -1e308, 0.0], [5.0, 5.0], [1e300, 1e300 * (1 + 1e-15)], [1e-320, 0.0]]
)
def test_summary_of_extremes(values):
    summary, _ = summarise_numbers(np.array(values))
    assert sum(summary["histogram"]["counts"]) == len(values)
    assert np.isfinite([*summary["histogram"]["edges"], summary["mean"], summary["std"]]).all()
    assert summary["min"] == min(values)


def test_summary_of_dates():
    column, _ = infer_column(pl.Series("a", [dt.date(2020, 1, 1), dt.date(2020, 1, 3), dt.date(2020, 1, 11)]))
    summary = column.summary
    assert (summary["min"], summary["max"], summary["mean"]) == ("2020-01-01", "2020-01-11", "2020-01-05")
    column, _ = infer_column(pl.Series("a", [dt.datetime(1969, 12, 31, 12), dt.datetime(1970, 1, 1, 0)]))
    assert column.summary["min"] == "1969-12-31 12:00:00"
