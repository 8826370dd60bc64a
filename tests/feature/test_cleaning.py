"""Cleaning: ranges, outliers, missing values, contradictions."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from tercet.feature import (
    ContradictionFilter,
    GroupImputer,
    MissingFilter,
    MissingThreshold,
    OutlierCleaner,
    OutlierFilter,
    RangeCleaner,
    Resampled,
    RuleFilter,
)
from tercet.feature.cleaning.table_columns import equal_rows, missing_mask
from tercet.feature.column_statistics import moments, quantiles
from tercet.linear_model import LogisticRegression

NAN = np.nan
PEOPLE = pd.DataFrame(
    {
        "sex": ["f", "m", "f", "m", None],
        "height": [1.62, 3.0, 1.58, NAN, 1.75],
        "age": [30, 40, 5, 60, 25],
        "married": [True, True, True, False, False],
    }
)
both_frames = pytest.mark.parametrize("frame", [lambda f: f, pl.from_pandas], ids=["pandas", "polars"])


@both_frames
def test_a_height_of_three_metres_becomes_missing(frame):
    people = frame(PEOPLE[["height", "age"]])
    model = RangeCleaner({"height": (0.3, 2.5), -1: (0, None)}).fit(people)
    np.testing.assert_array_equal(model.transform(people)[:, 0], [1.62, NAN, 1.58, NAN, 1.75])
    assert model.n_outside_.tolist() == [1, 0]
    assert model.get_feature_names_out().tolist() == ["height", "age"]
    clipped = RangeCleaner({"height": (0.3, 2.5)}, action="clip").fit_transform(people)
    assert clipped[1, 0] == 2.5
    flags = RangeCleaner({"height": (0.3, 2.5)}, action="flag").set_output(transform="pandas")
    found = flags.fit_transform(people)
    assert list(found.columns) == ["height", "age", "out_of_range_height", "out_of_range_age"]
    assert found["out_of_range_height"].tolist() == [0, 1, 0, 0, 0]


def test_ranges_that_make_no_sense_are_named():
    X = np.zeros((3, 2))
    with pytest.raises(ValueError, match=r"RangeCleaner: parameter 'ranges' names the column 5.*among 2"):
        RangeCleaner({5: (0, 1)}).fit(X)
    with pytest.raises(ValueError, match="near it: height"):
        RangeCleaner({"hieght": (0, 1)}).fit(PEOPLE[["height"]])
    with pytest.raises(ValueError, match="must begin before it ends; got"):
        RangeCleaner({0: (2, 1)}).fit(X)
    with pytest.raises(ValueError, match="must be a pair of numbers"):
        RangeCleaner({0: 3}).fit(X)
    with pytest.raises(ValueError, match="gives the column 0 two ranges"):
        RangeCleaner({0: (0, 1), -2: (0, 2)}).fit(X)
    with pytest.raises(ValueError, match="column 'sex' must hold numbers; it holds 'f'"):
        RangeCleaner().fit(PEOPLE)


def test_outlier_limits_are_those_of_their_definitions():
    x = np.random.default_rng(0).normal(size=(200, 1)) ** 3
    q1, q3 = np.quantile(x, [0.25, 0.75])
    median = np.median(x)
    mad = np.median(np.abs(x - median)) / 0.6744897501960817
    expected = {
        "iqr": (q1 - 1.5 * (q3 - q1), q3 + 1.5 * (q3 - q1)),
        "zscore": (x.mean() - 3 * x.std(), x.mean() + 3 * x.std()),
        "mad": (median - 3.5 * mad, median + 3.5 * mad),
        "quantile": tuple(np.quantile(x, [0.05, 0.95])),
    }
    for rule, (low, high) in expected.items():
        model = OutlierCleaner(rule).fit(x)
        np.testing.assert_allclose([model.lower_[0], model.upper_[0]], [low, high], rtol=1e-12)
        np.testing.assert_allclose(model.transform(x), np.clip(x, low, high), rtol=1e-12)
        gone = np.isnan(OutlierCleaner(rule, action="missing").fit_transform(x))
        assert gone.sum() == model.n_outside_[0] == ((x < low) | (x > high)).sum()
        upper = OutlierCleaner(rule, tail="upper").fit(x)
        assert upper.lower_[0] == -np.inf
        assert upper.upper_[0] == model.upper_[0]


@pytest.mark.parametrize("rule", ["iqr", "zscore", "mad", "quantile"])
def test_constant_and_empty_columns_have_no_outliers(rule):
    X = np.column_stack([np.full(9, 0.1), np.full(9, NAN), [1.0] * 8 + [1e9]])
    found = OutlierCleaner(rule, threshold=0.01).fit(X)
    assert np.array_equal(found.transform(X)[:, :2], X[:, :2], equal_nan=True)
    assert found.n_outside_[:2].tolist() == [0, 0]
    if rule in ("iqr", "mad"):  # most values are equal
        assert found.upper_[2] == np.inf


def test_infinite_values_are_outliers_and_do_not_move_limits():
    X = np.array([[1.0], [2.0], [3.0], [4.0], [np.inf]])
    model = OutlierCleaner("zscore").fit(X)
    np.testing.assert_allclose(model.upper_, [2.5 + 3 * np.std([1, 2, 3, 4])])
    assert np.isnan(OutlierCleaner(action="missing").fit_transform(X)[4, 0])
    assert np.isfinite(OutlierCleaner().fit_transform(X)).all()
    with pytest.raises(ValueError, match=r"must be below 0\.5"):
        OutlierCleaner("quantile", threshold=0.7).fit(X)


def test_weighted_quantiles_are_those_of_repeated_rows():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 3))
    X[rng.random(X.shape) < 0.2] = NAN
    weight = rng.integers(0, 4, size=40).astype(float)
    many = np.repeat(X, weight.astype(int), axis=0)
    at = [0, 0.1, 0.25, 0.5, 0.9, 1]
    np.testing.assert_allclose(quantiles(X, at, weight)[:, 0], np.nanquantile(many, at, axis=0), rtol=1e-12)
    np.testing.assert_allclose(quantiles(many, at)[:, 0], np.nanquantile(many, at, axis=0), rtol=1e-12)
    sums = moments(X, weight)
    np.testing.assert_allclose(sums.mean[0], np.nanmean(many, axis=0), rtol=1e-12)
    np.testing.assert_allclose(sums.std[0], np.nanstd(many, axis=0), rtol=1e-12)
    np.testing.assert_array_equal(sums.counts[0], (~np.isnan(many)).sum(axis=0))


def test_moments_of_huge_and_tiny_numbers():
    for size in (1e-300, 1e300):
        found = moments(np.array([[1.0], [3.0]]) * size)
        np.testing.assert_allclose([found.mean[0, 0], found.std[0, 0]], [2 * size, size], rtol=1e-12)


@both_frames
def test_rules_drop_rows_and_tell_which(frame):
    rules = {"too young to be married": lambda X: (X["age"] >= 18) | (X["married"] != True)}  # noqa: E712
    cleaner = RuleFilter({"height": (0.3, 2.5)}, rules=rules)
    X, y = cleaner.fit_resample(frame(PEOPLE), np.arange(5))
    assert y.tolist() == [0, 3, 4]
    assert type(X) is type(frame(PEOPLE))
    assert X["age"].to_list() == [30, 60, 25]
    assert {name: rows.tolist() for name, rows in cleaner.violations_.items()} == {
        "height": [1],
        "too young to be married": [2],
    }
    report = RuleFilter({"height": (0.3, 2.5)}, action="report")
    assert len(report.fit_resample(frame(PEOPLE))[0]) == 5
    assert report.violations_["height"].tolist() == [1]


def test_rules_that_make_no_sense_are_named():
    with pytest.raises(ValueError, match="column 'sex' must hold numbers; it holds 'f'"):
        RuleFilter({"sex": (0, 1)}).fit_resample(PEOPLE)
    with pytest.raises(ValueError, match="rule 'r' must give True or False for each of 5 rows"):
        RuleFilter(rules={"r": lambda X: True}).fit_resample(PEOPLE)
    with pytest.raises(ValueError, match="rule 'r' must be a function"):
        RuleFilter(rules={"r": 3}).fit_resample(PEOPLE)
    with pytest.raises(ValueError, match=r"would drop all 5 rows.*\{'age': 5\}"):
        RuleFilter({"age": (100, None)}).fit_resample(PEOPLE)
    with pytest.raises(ValueError, match="X has no rows"):
        RuleFilter().fit_resample(PEOPLE[:0])
    with pytest.raises(TypeError, match="X must be"):
        RuleFilter().fit_resample(None)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        RuleFilter().fit_resample(PEOPLE, [1, 2])


@both_frames
def test_outlier_filter_looks_at_numbers(frame):
    cleaner = OutlierFilter()
    X, _ = cleaner.fit_resample(frame(PEOPLE))
    assert cleaner.outlier_rows_.tolist() == [1]
    assert cleaner.lower_.shape == (2,)  # height and age, not sex and married
    assert len(X) == 4
    assert len(OutlierFilter(columns=["age"]).fit_resample(frame(PEOPLE))[0]) == 5


@both_frames
def test_rows_with_many_missing_values(frame):
    table = frame(
        pd.DataFrame({"a": [1.0, NAN, NAN], "b": ["x", "y", None], "c": [1.0, NAN, 2.0], "d": [1, 2, 3]})
    )
    cleaner = MissingFilter(0.5)
    assert cleaner.fit_resample(table, np.arange(3))[1].tolist() == [0, 1, 2]
    assert cleaner.n_missing_.tolist() == [0, 2, 2]
    assert MissingFilter(1).fit_resample(table, np.arange(3))[1].tolist() == [0]
    assert MissingFilter(0, columns=["c"]).fit_resample(table, np.arange(3))[1].tolist() == [0, 2]
    with pytest.raises(ValueError, match="raise max_missing, which is 0"):
        MissingFilter(0).fit_resample([[NAN], [NAN]])
    with pytest.raises(ValueError, match="'max_missing' must be"):
        MissingFilter(1.5).fit_resample(table)


def test_missing_values_of_all_kinds_of_tables():
    expected = [[True, False], [False, True]]
    times = np.array([["NaT", "2024-01-01"], ["2024-01-01", "NaT"]], dtype="M8[D]")
    objects = np.array([[None, "a"], ["b", pd.NA]], dtype=object)
    numbers = np.array([[NAN, 1.0], [2.0, NAN]])
    for table in (
        times,
        objects,
        numbers,
        pd.DataFrame(objects),
        pl.DataFrame(numbers),
        sparse.csr_array(numbers),
    ):
        assert missing_mask(table).tolist() == expected
    assert missing_mask(pl.DataFrame({"a": [None, "x"], "b": [1, None]})).tolist() == expected
    assert not missing_mask(np.array([[1, 2]])).any()


@both_frames
def test_columns_with_many_missing_values(frame):
    days = [datetime.date(2024, 1, 1), None, None]
    table = frame(
        pd.DataFrame({"a": [1.0, 2.0, NAN], "b": [None, None, "x"], "c": days, "d": ["x", "y", "z"]})
    )
    model = MissingThreshold().fit(table)
    np.testing.assert_allclose(model.missing_share_, [1 / 3, 2 / 3, 2 / 3, 0])
    assert model.get_feature_names_out().tolist() == ["a", "d"]
    assert MissingThreshold(0.0).fit(table).get_support().tolist() == [False, False, False, True]
    assert MissingThreshold().fit(table, sample_weight=[1, 0, 0]).get_support().tolist() == [
        True,
        False,
        True,
        True,
    ]


def test_contradictions_are_found_and_handled():
    X = pd.DataFrame({"a": [1.0, 1.0, NAN, NAN, 1.0, 2.0], "b": ["x", "x", "y", "y", "x", "x"]})
    y = np.array(["p", "q", "p", "q", "p", "p"])
    for table in (X, pl.from_pandas(X)):
        cleaner = ContradictionFilter()
        kept, labels = cleaner.fit_resample(table, y)
        assert [rows.tolist() for rows in cleaner.contradictions_] == [[0, 1, 4], [2, 3]]
        assert labels.tolist() == ["p"]
        assert len(kept) == 1
        majority = ContradictionFilter("majority")
        assert majority.fit_resample(table, y)[1].tolist() == ["p", "p", "p"]
        assert majority.sample_indices_.tolist() == [0, 4, 5]  # a tie leaves none
        assert len(ContradictionFilter("report").fit_resample(table, y)[1]) == 6
    by_b = ContradictionFilter("report", columns=["b"])
    by_b.fit_resample(X, y)
    assert [rows.tolist() for rows in by_b.contradictions_] == [[0, 1, 4, 5], [2, 3]]


def test_contradictory_numbers_may_differ_a_little():
    X, y = sparse.csr_array([[0, 1], [0, 1], [2, 0], [2, 0]]), np.array([1.0, 1.05, 3.0, 4.0])
    cleaner = ContradictionFilter(tolerance=0.1)
    assert cleaner.fit_resample(X, y)[1].tolist() == [1.0, 1.05]
    assert [rows.tolist() for rows in cleaner.contradictions_] == [[2, 3]]
    with pytest.raises(ValueError, match="is for targets that are numbers; y holds 'a'"):
        ContradictionFilter(tolerance=0.1).fit_resample(X, list("abab"))
    with pytest.raises(ValueError, match="y must be given"):
        ContradictionFilter().fit_resample(X)
    with pytest.raises(ValueError, match='action="majority"'):
        ContradictionFilter().fit_resample(X[:2], [0, 1])


def test_equal_rows():
    rng = np.random.default_rng(0)
    table = rng.integers(0, 3, size=(500, 4)).astype(float)
    table[table == 2] = NAN
    table[0] = [0.0, -0.0, 0.0, 0.0]
    table[1] = 0.0
    group = equal_rows(table)
    assert group[0] == group[1] == 0
    same = (np.nan_to_num(table[:, None], nan=7) == np.nan_to_num(table[None], nan=7)).all(axis=2)
    assert np.array_equal(same, group[:, None] == group[None])


def test_filters_work_inside_resampled_and_never_drop_rows_to_predict():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = (X[:, 0] > 0).astype(int)
    X[:4, 1] = 1e4
    y[:4] = 1 - y[:4]
    X[5] = X[6]
    y[5] = 1 - y[6]
    for cleaner in (OutlierFilter(), ContradictionFilter(), MissingFilter(), RuleFilter({1: (-10, 10)})):
        model = Resampled(LogisticRegression(), cleaner).fit(X, y, sample_weight=np.ones(200))
        assert len(model.predict(X)) == 200
        assert not hasattr(cleaner, "sample_indices_")  # a clone was used
    clean = Resampled(LogisticRegression(), OutlierFilter())
    assert cross_val_score(make_pipeline(RangeCleaner(action="clip"), clean), X, y).mean() > 0.8


def test_wide_tables():
    X = np.random.default_rng(0).normal(size=(100, 100_000))
    y = np.arange(100)
    X[7] = X[3]
    X[:, 5] = NAN
    cleaner = ContradictionFilter("report")
    cleaner.fit_resample(X, y)
    assert [rows.tolist() for rows in cleaner.contradictions_] == [[3, 7]]
    assert MissingThreshold().fit(X).get_support().sum() == 99_999
    assert OutlierCleaner().fit_transform(X).shape == X.shape


def test_group_imputer_fills_by_group():
    X = pd.DataFrame(
        {
            "sex": ["f", "f", "m", "m", None],
            "h": [1.6, NAN, 1.8, 1.9, NAN],
            "eye": ["b", None, "g", None, "b"],
        }
    )
    model = GroupImputer(by="sex").fit(X)
    for table in (X, pl.from_pandas(X)):
        found = model.transform(table)
        assert type(found) is type(table)
        np.testing.assert_allclose(found["h"].to_list(), [1.6, 1.6, 1.8, 1.9, np.mean([1.6, 1.8, 1.9])])
        assert found["eye"].to_list() == ["b", "b", "g", "g", "b"]
        assert found["sex"].to_list()[:4] == ["f", "f", "m", "m"]
    new = pd.DataFrame({"sex": ["x", "m"], "h": [NAN, NAN], "eye": [None, None]})
    found = model.transform(new)  # a group that was not seen has the values of all
    np.testing.assert_allclose(found["h"], [np.mean([1.6, 1.8, 1.9]), 1.85])
    assert found["eye"].tolist() == ["b", "g"]
    marked = GroupImputer(by="sex", add_indicator=True).fit(X).transform(X)
    assert list(marked.columns) == ["sex", "h", "eye", "missingindicator_h", "missingindicator_eye"]
    assert marked["missingindicator_h"].tolist() == [0, 1, 0, 0, 1]


@pytest.mark.parametrize("strategy", ["mean", "median", "most_frequent", "constant"])
def test_group_imputer_without_groups_is_the_simple_imputer(strategy):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, size=(60, 4)).astype(float)
    X[rng.random(X.shape) < 0.3] = NAN
    ours = GroupImputer(strategy=strategy, add_indicator=True).fit(X)
    theirs = SimpleImputer(strategy=strategy, add_indicator=True).fit(X)
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X), rtol=1e-12)
    assert list(ours.get_feature_names_out()) == list(theirs.get_feature_names_out())


@pytest.mark.parametrize("strategy", ["mean", "median", "most_frequent"])
def test_group_imputer_is_pandas_transform_by_group(strategy):
    rng = np.random.default_rng(2)
    X = np.column_stack([rng.integers(0, high, 300) for high in (6, 3, 9)]).astype(float)
    X[rng.random(300) < 0.3, 2] = NAN
    frame = pd.DataFrame(X, columns=["a", "b", "v"])
    how = (lambda s: s.mode()[0]) if strategy == "most_frequent" else strategy
    wanted = frame["v"].fillna(frame.groupby(["a", "b"])["v"].transform(how))
    found = GroupImputer(by=["a", "b"], strategy=strategy).fit_transform(frame)
    np.testing.assert_allclose(found, frame.assign(v=wanted), rtol=1e-12)


def test_group_imputer_says_what_it_cannot_fill():
    X = np.array([[1.0, NAN], [2.0, NAN]])
    with pytest.warns(UserWarning, match=r"the columns \[1\] have no values; they are filled with 7"):
        assert GroupImputer(fill_value=7).fit_transform(X)[0, 1] == 7
    with pytest.raises(ValueError, match="fill_value='x' cannot fill columns of numbers"):
        GroupImputer(strategy="constant", fill_value="x").fit(X)
    with pytest.raises(ValueError, match="'by' names the column 'sex'"):
        GroupImputer(by="sex").fit(X)
    with pytest.raises(ValueError, match="'by' names a column twice"):
        GroupImputer(by=[0, -2]).fit(X)


def test_group_imputer_constants_of_categories():
    X = pd.DataFrame({"c": pd.Categorical(["a", None, "b"]), "d": ["x", None, "y"]})
    found = GroupImputer(strategy="constant", fill_value="none").fit_transform(X)
    assert found["c"].tolist() == ["a", "none", "b"]
    filled = GroupImputer().fit_transform(X)
    assert str(filled["c"].dtype) == "category"
    enum = pl.DataFrame({"c": pl.Series(["a", None, "b"], dtype=pl.Enum(["a", "b"]))})
    assert GroupImputer(strategy="constant").fit_transform(enum)["c"].to_list() == ["a", "missing_value", "b"]
    assert GroupImputer().fit_transform(enum)["c"].dtype == enum["c"].dtype
    array = np.array([["a", 1.0], [None, NAN]], dtype=object)
    assert GroupImputer().fit_transform(array).tolist() == [["a", 1.0], ["a", 1.0]]


def test_cleaning_steps_in_a_column_transformer():
    steps = ColumnTransformer(
        [
            ("height", RangeCleaner({"height": (0.3, 2.5)}), ["height"]),
            ("age", OutlierCleaner(action="flag"), ["age"]),
        ],
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    found = steps.fit_transform(PEOPLE)
    assert list(found.columns) == ["height", "age", "outlier_age"]
    assert found["height"].isna().tolist() == [False, True, False, True, False]
