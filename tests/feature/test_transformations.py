"""Transformations of columns: statistics as features, logarithms, dates and times."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import FunctionTransformer

from tercet.feature import DateTimeFeatures, GroupStatistics, LogTransformer, RowStatistics
from tercet.feature.column_statistics import Groups, modes, moments, quantiles

NAN = np.nan
SALES = pd.DataFrame(
    {
        "city": ["a", "b", "a", "c", "b", None, "a"],
        "year": [1, 1, 2, 1, 1, 2, 1],
        "price": [1.0, 5.0, 3.0, NAN, 7.0, 4.0, 2.0],
    }
)
both_frames = pytest.mark.parametrize("frame", [lambda f: f, pl.from_pandas], ids=["pandas", "polars"])


@both_frames
def test_statistics_of_groups(frame):
    model = GroupStatistics(
        "city", columns=["price"], statistics=("mean", "std", "min", "max", "count", 0.25)
    )
    found = model.fit_transform(frame(SALES))
    known = SALES["price"].dropna()
    for city, part in SALES.groupby("city"):
        here = part["price"].dropna()
        values = here if len(here) else known  # "c" has no price: it has the statistics of all
        wanted = [
            values.mean(),
            values.std(ddof=0),
            values.min(),
            values.max(),
            len(here),
            values.quantile(0.25),
        ]
        np.testing.assert_allclose(found[SALES["city"] == city], [wanted] * len(part), rtol=1e-12)
    np.testing.assert_allclose(found[5], [4, 0, 4, 4, 1, 4])  # a missing city is a group of its own
    names = [f"price_{word}_by_city" for word in ("mean", "std", "min", "max", "count", "q0.25")]
    assert model.get_feature_names_out().tolist() == names
    assert list(model.set_output(transform="pandas").transform(frame(SALES)).columns) == names


def test_statistics_of_groups_that_were_not_seen():
    train, new = SALES[:3], pd.DataFrame({"city": ["a", "z"], "year": [1, 1], "price": [100.0, 200.0]})
    model = GroupStatistics("city", columns=["price"], statistics=["mean"]).fit(train)
    np.testing.assert_allclose(model.transform(new), [[2.0], [3.0]])  # nothing of the new prices
    missing = GroupStatistics("city", columns=["price"], statistics=["mean"], handle_unknown="missing").fit(
        train
    )
    np.testing.assert_array_equal(missing.transform(new), [[2.0], [NAN]])
    strict = GroupStatistics("city", columns=["price"], handle_unknown="error").fit(train)
    with pytest.raises(ValueError, match="row 1 of X is of a group that was not seen"):
        strict.transform(new)


def test_statistics_by_several_columns_and_relative_to_them():
    model = GroupStatistics(["city", "year"], statistics=("mean", "count"), relative="difference").fit(SALES)
    found = model.transform(SALES)
    assert model.get_feature_names_out().tolist() == [
        "price_minus_mean_by_city_year",
        "price_count_by_city_year",
    ]
    np.testing.assert_allclose(found[[0, 2, 6, 1], 0], [-0.5, 0.0, 0.5, -1.0])
    assert found[0, 1] == 2
    assert np.isnan(found[3, 0])  # its price is not known
    ratio = GroupStatistics(statistics=("max",), columns=["price"], relative="ratio").fit_transform(SALES)
    np.testing.assert_allclose(ratio[:2, 0], [1 / 7, 5 / 7])
    assert GroupStatistics(columns=["price"]).fit(SALES).get_feature_names_out()[0] == "price_mean"


def test_statistics_in_a_column_transformer():
    steps = ColumnTransformer(
        [("mean", GroupStatistics("city", statistics=["mean"]), ["city", "price"])], remainder="passthrough"
    )
    steps.set_output(transform="pandas").fit(SALES)
    assert list(steps.transform(SALES).columns) == ["mean__price_mean_by_city", "remainder__year"]


def test_statistics_that_make_no_sense_are_named():
    with pytest.raises(ValueError, match=r"'statistics' must hold some of mean.*got 'mode'"):
        GroupStatistics(statistics=["mode"]).fit([[1.0]])
    with pytest.raises(ValueError, match="each once"):
        GroupStatistics(statistics=[0.5, 0.5]).fit([[1.0]])
    with pytest.raises(ValueError, match=r"must hold some of.*got 1\.5"):
        GroupStatistics(statistics=[1.5]).fit([[1.0]])
    with pytest.raises(ValueError, match="column 'city' must hold numbers, not categories"):
        GroupStatistics(columns=["city"]).fit(SALES)
    with pytest.raises(ValueError, match="no column of numbers besides those of by='price'"):
        GroupStatistics("price").fit(SALES[["city", "price"]])
    with pytest.raises(ValueError, match=r"'columns' names the column 'prize'.*near it: price"):
        GroupStatistics(columns=["prize"]).fit(SALES)
    with pytest.raises(ValueError, match="too large"):
        GroupStatistics(statistics=["sum"]).fit([[1e308], [1e308]])


def test_grouped_statistics_against_plain_ones():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 7, size=(400, 3)).astype(float)
    X[rng.random(X.shape) < 0.2] = NAN
    group = rng.integers(0, 11, size=400)
    weight = rng.integers(0, 3, size=400).astype(float)
    groups = Groups(group, 12)  # the last has no rows
    sums, order, mode = (
        moments(X, weight, groups),
        quantiles(X, [0.1, 0.5], weight, groups),
        modes(X, weight, groups),
    )
    for g in range(11):
        many = pd.DataFrame(np.repeat(X, (weight * (group == g)).astype(int), axis=0))
        np.testing.assert_allclose(sums.mean[g], many.mean(), rtol=1e-12)
        np.testing.assert_allclose(sums.std[g], many.std(ddof=0), rtol=1e-10)
        np.testing.assert_array_equal(sums.min[g], many.min())
        np.testing.assert_array_equal(sums.max[g], many.max())
        np.testing.assert_array_equal(sums.counts[g], many.count())
        np.testing.assert_allclose(order[:, g], many.quantile([0.1, 0.5]), rtol=1e-12)
        np.testing.assert_array_equal(mode[g], many.mode().iloc[0])
    assert np.isnan(sums.mean[11]).all()
    assert np.isnan(order[:, 11]).all()
    assert np.isnan(mode[11]).all()


def test_row_statistics():
    X = np.array([[1.0, 4.0, NAN], [2.0, 2.0, 2.0], [NAN, NAN, NAN]])
    model = RowStatistics(["mean", "std", "min", "max", "median", "sum", "count", "missing"])
    found = model.fit_transform(X)
    np.testing.assert_allclose(found[0], [2.5, 1.5, 1, 4, 2.5, 5, 2, 1])
    np.testing.assert_allclose(found[1], [2, 0, 2, 2, 2, 6, 3, 0])
    np.testing.assert_array_equal(found[2], [NAN, NAN, NAN, NAN, NAN, 0, 0, 3])
    assert model.get_feature_names_out()[:2].tolist() == ["row_mean", "row_std"]
    wide = np.random.default_rng(0).normal(size=(20, 100_000))
    np.testing.assert_allclose(RowStatistics().fit_transform(wide)[:, 1], wide.std(axis=1), rtol=1e-12)
    with pytest.raises(ValueError, match="'statistics' must hold some of"):
        RowStatistics(["mode"]).fit(X)


@pytest.mark.parametrize(("base", "log"), [("e", np.log), ("2", np.log2), ("10", np.log10)])
@pytest.mark.parametrize("offset", [0.0, 1.0, 2.5])
def test_logarithms(base, log, offset):
    X = np.random.default_rng(0).lognormal(sigma=3, size=(50, 3))
    X[3, 1] = NAN
    model = LogTransformer(base, offset=offset).fit(X)
    np.testing.assert_allclose(model.transform(X), log(X + offset), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X, rtol=1e-9)


def test_logarithms_keep_small_numbers_and_add_what_is_needed():
    tiny = np.array([[1e-20]])
    assert LogTransformer().fit_transform(tiny)[0, 0] == 1e-20
    X = pd.DataFrame({"a": [-5.0, 0.0], "b": [2.0, 3.0]})
    model = LogTransformer(offset="auto").fit(X)
    assert model.offset_.tolist() == [6.0, 0.0]
    np.testing.assert_allclose(model.transform(X), np.log([[1, 2], [6, 3]]))
    assert model.get_feature_names_out().tolist() == ["a", "b"]
    with pytest.raises(ValueError, match=r"Negative values.*column 'a' holds -7 in row 0.*above -6"):
        model.transform(pd.DataFrame({"a": [-7.0], "b": [2.0]}))
    with pytest.raises(ValueError, match=r"Zeros in data.*column 0 holds 0 in row 1"):
        LogTransformer(offset=0.0).fit([[1.0], [0.0]])
    plain = FunctionTransformer(np.log1p).fit_transform(X["b"].to_numpy()[:, None])
    np.testing.assert_allclose(LogTransformer().fit_transform(X[["b"]]), plain)


MOMENTS = ["2024-02-29 23:59:59", "2024-12-30 12:45:00", "1969-07-20 20:17:40", "2023-01-01 06:00:00", None]
PARTS = (
    "year", "quarter", "month", "week", "day", "day_of_year", "weekday", "hour", "minute", "second",
    "is_month_start", "is_month_end",
)  # fmt: skip

PANDAS = {"weekday": "day_of_week"}


def containers():
    """The same moments in all kinds of tables."""
    when = pd.Series(pd.to_datetime(MOMENTS), name="when")
    zoned = when.dt.tz_localize("Asia/Shanghai")
    texts = [None if text is None else text.replace(" ", "T") + "+08:00" for text in MOMENTS]
    return {
        "pandas": when.to_frame(),
        "pandas with a zone": zoned.to_frame(),
        "polars": pl.from_pandas(when.to_frame()),
        "polars with a zone": pl.from_pandas(zoned.to_frame()),
        "NumPy": when.to_numpy()[:, None],
        "strings": pd.DataFrame({"when": MOMENTS}),
        "strings with a zone": pd.DataFrame({"when": texts}),
        "objects": np.array(
            [[None if value is pd.NaT else value.to_pydatetime()] for value in when], dtype=object
        ),
        "seconds": np.array([[NAN if value is pd.NaT else value.timestamp()] for value in when]),
    }


@pytest.mark.parametrize("kind", containers())
def test_parts_of_the_calendar_and_the_clock(kind):
    table = containers()[kind]
    model = DateTimeFeatures(PARTS).fit(table)
    found = model.transform(table)
    when = pd.to_datetime(pd.Series(MOMENTS)).dt
    iso = when.isocalendar()["week"].astype(float)
    for k, part in enumerate(PARTS):
        wanted = iso if part == "week" else getattr(when, PANDAS.get(part, part))
        wanted = np.array([*wanted[:4].astype(float), NAN])
        np.testing.assert_array_equal(found[:, k], wanted, err_msg=part)
    name = "when" if hasattr(table, "columns") else "x0"
    assert model.get_feature_names_out()[2] == f"{name}_month"


def test_parts_of_many_days_are_those_of_pandas():
    days = pd.date_range("1899-12-25", "2101-01-05", freq="D")
    table = days.to_numpy()[:, None]
    found = DateTimeFeatures(("week", "day_of_year", "weekday", "day", "is_month_end")).fit_transform(table)
    np.testing.assert_array_equal(found[:, 0], days.isocalendar()["week"])
    for k, part in enumerate(("day_of_year", "weekday", "day", "is_month_end"), start=1):
        np.testing.assert_array_equal(found[:, k], getattr(days, PANDAS.get(part, part)))


def test_parts_of_the_day_weekends_and_holidays():
    X = np.array([["2024-10-01 05:59"], ["2024-10-05 06:00"], ["2024-10-08 18:30"], ["2024-10-09 12:00"]])
    asked = ("part_of_day", "is_weekend", "is_holiday", "is_workday")
    expected = [[0, 0, 1, 0], [1, 1, 0, 0], [3, 0, 0, 1], [2, 0, 0, 1]]

    class Calendar:
        def __contains__(self, day):
            return day == datetime.date(2024, 10, 1)

    for holidays in (
        ["2024-10-01"],
        {datetime.date(2024, 10, 1): "National Day"},
        np.array(["2024-10-01"], dtype="M8[D]"),
        np.busdaycalendar(holidays=["2024-10-01"]),
        pd.to_datetime(["2024-10-01"]),
        Calendar(),
        lambda day: (day.month, day.day) == (10, 1),
    ):
        model = DateTimeFeatures(asked, holidays=holidays)
        np.testing.assert_array_equal(model.fit_transform(X), expected)
    assert DateTimeFeatures(holidays=[]).fit(X).get_feature_names_out()[-1] == "x0_is_holiday"
    friday = DateTimeFeatures(("is_weekend",), weekend=(4,)).fit_transform([["2024-10-04"], ["2024-10-05"]])
    assert friday.ravel().tolist() == [1, 0]
    halves = DateTimeFeatures(("part_of_day",), day_parts=(12,)).fit_transform(X)
    assert halves.ravel().tolist() == [0, 0, 1, 1]


def test_intervals_and_durations():
    X = pd.DataFrame(
        {
            "start": pd.to_datetime(["2024-01-01 00:00", "2024-01-03 12:00", None]),
            "end": pd.to_datetime(["2024-01-02 00:00", "2024-01-03 18:00", "2024-01-05 00:00"]),
            "took": pd.to_timedelta(["1h", "36h", None]),
        }
    )
    for table in (X, pl.from_pandas(X)):
        between = DateTimeFeatures(("elapsed",), reference_column="start", elapsed_unit="h").fit(table)
        assert between.get_feature_names_out().tolist() == ["end_elapsed", "took_duration"]
        np.testing.assert_array_equal(between.transform(table), [[24, 1], [6, 36], [NAN, NAN]])
        first = DateTimeFeatures(("elapsed",), reference="first").fit(table)
        np.testing.assert_array_equal(
            first.transform(table), [[0, 0, 1 / 24], [2.5, 1.75, 1.5], [NAN, 3, NAN]]
        )
    for date in ("2023-12-31", datetime.date(2023, 12, 31), pd.Timestamp("2023-12-31")):
        found = DateTimeFeatures(("elapsed",), reference=date).fit_transform(X[["start"]])
        np.testing.assert_array_equal(found, [[1.0], [3.5], [NAN]])
    with pytest.raises(ValueError, match="column 'took' of X held durations when the model was fitted"):
        first.transform(X.assign(took=X["end"]))


def test_cyclic_encoding_puts_december_beside_january():
    X = np.array([["2024-12-31 23:00"], ["2025-01-01 00:00"], ["2025-07-02 12:00"]])
    model = DateTimeFeatures(("month", "hour", "year"), encoding="cyclic").fit(X)
    found = model.transform(X)
    names = ["x0_month_sin", "x0_month_cos", "x0_hour_sin", "x0_hour_cos", "x0_year"]
    assert model.get_feature_names_out().tolist() == names
    np.testing.assert_allclose((found[:, :4] ** 2).sum(axis=1), 2)
    near, far = (np.linalg.norm(found[0, :4] - found[k, :4]) for k in (1, 2))
    assert near < far / 3


def test_strings_that_are_no_dates_are_named():
    for text, day in (("2024/1/31", 31), ("2024年1月3日 8:05", 3), ("20240102", 2), ("2024-01-04T08:00Z", 4)):
        assert DateTimeFeatures(("day",)).fit_transform([[text]])[0, 0] == day
    assert DateTimeFeatures(("day",), format="%d.%m.%y").fit_transform([["31.12.24"]])[0, 0] == 31
    with pytest.raises(ValueError, match="column 'when' of X holds 'soon', which is no date"):
        DateTimeFeatures().fit(pd.DataFrame({"when": ["2024-01-01", "soon"]}))
    with pytest.raises(ValueError, match=r"'2024-01-01', which is no date of the format '%d\.%m\.%Y'"):
        DateTimeFeatures(format="%d.%m.%Y").fit([["2024-01-01"]])
    with pytest.raises(ValueError, match="holds 1e\\+30, which is too far from 1970"):
        DateTimeFeatures().fit([[1e30]])


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"features": ("moon",)}, "'features' must hold some of elapsed, year"),
        ({"features": ()}, "'features' must hold some of"),
        ({"features": ("elapsed",)}, "'elapsed' needs a reference or a reference_column"),
        ({"features": ("is_holiday",)}, "'is_holiday' needs holidays"),
        ({"reference": "soon"}, "'reference' must be a date or 'first'; got 'soon'"),
        ({"reference": "first", "reference_column": 0}, "not both"),
        ({"reference_column": "start"}, "'reference_column' names the column 'start'"),
        ({"holidays": "2024-10-01"}, "'holidays' must be a list of dates"),
        ({"holidays": ["soon"]}, "'holidays' must hold dates"),
        ({"holidays": 3}, "'holidays' must hold dates; got 3"),
        ({"day_parts": (12, 6)}, "'day_parts' must hold rising hours"),
        ({"weekend": (7,)}, "'weekend' must hold days from 0"),
    ],
    ids=str,
)
def test_parameters_of_dates_that_make_no_sense_are_named(parameters, says):
    with pytest.raises(ValueError, match=says):
        DateTimeFeatures(**parameters).fit([["2024-01-01"]])
