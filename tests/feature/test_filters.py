"""Chi-square, scikit-learn's selectors around our estimators, and wide tables for every selector."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import is_regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import (
    SelectFromModel,
    SelectKBest,
    SequentialFeatureSelector,
    VarianceThreshold,
)
from sklearn.feature_selection import chi2 as sklearn_chi2
from sklearn.pipeline import make_pipeline

from tercet.core.kernel import JIT
from tercet.ensemble import AdaBoostClassifier, GradientBoostingRegressor, RandomForestClassifier
from tercet.feature import (
    MRMR,
    LasVegasWrapper,
    Relief,
    ReliefF,
    RReliefF,
    StabilitySelection,
    SubsetSearch,
    chi2,
    mutual_info_classif,
    mutual_info_regression,
)
from tercet.feature.selection.mrmr import column_codes
from tercet.linear_model import Lasso, LinearRegression, LogisticRegression
from tercet.metrics import mutual_info_score
from tercet.naive_bayes import GaussianNB
from tercet.svm import LinearSVC
from tercet.tree import DecisionTreeClassifier


def counts(n=200, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    X = rng.poisson(2.0, size=(n, 5)) + (y == 1)[:, None] * rng.poisson([0, 3, 0, 1, 0], size=(n, 5))
    return X.astype(float), np.array(["a", "b", "c"])[y]


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, sparse.csc_matrix, pd.DataFrame])
def test_chi2_is_scikit_learns(kind):
    X, y = counts()
    for ours, theirs in zip(chi2(kind(X), y), sklearn_chi2(X, y)):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10)
    kept = SelectKBest(chi2, k=2).fit(X, y).get_support(indices=True)
    assert kept.tolist() == [1, 3]


def test_chi2_weights_are_repetitions():
    X, y = counts(60)
    times = np.random.default_rng(1).integers(0, 4, size=60)
    weighted = chi2(X, y, sample_weight=times.astype(float))
    repeated = chi2(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(weighted, repeated, rtol=1e-10)


def test_chi2_of_a_table():
    """Two classes of 30 and 20 rows; a word in 15 and 5 of them: expected 12 and 8."""
    y = np.repeat([0, 1], [30, 20])
    word = np.r_[np.ones(15), np.zeros(15), np.ones(5), np.zeros(15)]
    found, p = chi2(word[:, None], y)
    assert found[0] == pytest.approx(9 / 12 + 9 / 8)
    assert p[0] == pytest.approx(0.17090352023079747)


def test_chi2_refusals_and_columns_of_zeros():
    X, y = counts()
    X[:, 2] = 0.0
    found, p = chi2(X, y)
    assert np.flatnonzero(np.isnan(found)).tolist() == [2]
    assert np.isnan(p[2])
    X[3, 4] = -1.5
    with pytest.raises(ValueError, match=r"X must be non-negative, as counts are; column 4 has -1\.5"):
        chi2(X, y)
    with pytest.raises(ValueError, match=r"column 'e' has -1\.5"):
        chi2(pd.DataFrame(X, columns=list("abcde")), y)
    with pytest.raises(ValueError, match=r"non-negative.* column 4"):
        chi2(sparse.csr_array(X), y)
    X[3, 4] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        chi2(X, y)


def test_variance_filter_before_ours():
    X, y = counts()
    X[:, 0] = 7.0
    pipeline = make_pipeline(VarianceThreshold(), ReliefF(1)).fit(X, y)
    assert pipeline[0].get_support().tolist() == [False, True, True, True, True]
    assert pipeline.transform(X).shape == (200, 1)


def informative(n=150, d=12, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X[:, 2] * 2 - X[:, 5] * 2 + 0.3 * rng.normal(size=n)


@pytest.mark.parametrize(
    ("estimator", "threshold"),
    [
        (Lasso(0.3), None),
        (LogisticRegression(C=0.1, l1_ratio=1.0, solver="saga", max_iter=500), None),
        (LinearSVC(penalty="l1", dual=False, C=0.05), None),
        (DecisionTreeClassifier(max_depth=4, random_state=0), "2*mean"),
        (RandomForestClassifier(30, random_state=0), "2*mean"),
        (AdaBoostClassifier(n_estimators=30), "2*mean"),
        (GradientBoostingRegressor(n_estimators=30, random_state=0), "2*mean"),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "fit") else "",
)
def test_embedded_selection_by_scikit_learns_selector(estimator, threshold):
    """L1 penalties and trees: what has coef_ or feature_importances_ selects."""
    X, y = informative()
    target = y if is_regressor(estimator) else y > 0
    selector = SelectFromModel(estimator, threshold=threshold).fit(X, target)
    assert selector.get_support(indices=True).tolist() == [2, 5]
    last = LinearRegression() if is_regressor(estimator) else GaussianNB()
    assert make_pipeline(selector, last).fit(X, target).score(X, target) > 0.8


def test_sequential_wrapper_by_scikit_learns_selector_is_ours():
    X, y = informative(d=6)
    theirs = SequentialFeatureSelector(LinearRegression(), n_features_to_select=3, cv=5).fit(X, y)
    ours = SubsetSearch(LinearRegression(), n_features_to_select=3).fit(X, y)
    np.testing.assert_array_equal(theirs.get_support(), ours.get_support())


def test_las_vegas_wrapper_ends_in_time():
    X, y = informative(d=6)
    with pytest.warns(ConvergenceWarning, match="time_limit=1e-09 seconds are over after 1 sets"):
        model = LasVegasWrapper(LinearRegression(), time_limit=1e-9, random_state=0).fit(X, y)
    assert model.n_iter_ == 1
    assert model.get_support().all()  # the only set that was judged
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        free = LasVegasWrapper(LinearRegression(), time_limit=1e6, max_failures=5, random_state=0).fit(X, y)
    same = LasVegasWrapper(LinearRegression(), max_failures=5, random_state=0).fit(X, y)
    np.testing.assert_array_equal(free.support_, same.support_)
    with pytest.raises(ValueError, match="'time_limit' must be"):
        LasVegasWrapper(LinearRegression(), time_limit=0.0).fit(X, y)


def test_codes_of_columns_are_quantile_bins():
    rng = np.random.default_rng(0)
    columns = np.vstack([rng.normal(size=(20, 57)), rng.integers(4, size=(5, 57)), np.ones((1, 57))])
    codes = column_codes(columns, 10)
    for column, found in zip(columns, codes):
        different, rank = np.unique(column, return_inverse=True)
        if len(different) > 10:
            edges = np.quantile(column, np.arange(1, 10) / 10, method="inverted_cdf")
            rank = np.searchsorted(edges, column, side="left")
        np.testing.assert_array_equal(found, rank)


def test_relevance_is_mutual_information():
    X, y = informative()
    model = MRMR(3).fit(X, y > 0)
    expected = [mutual_info_score(codes, y > 0) for codes in column_codes(X.T, 10)]
    np.testing.assert_allclose(model.relevance_, expected, rtol=1e-10, atol=1e-14)
    np.testing.assert_array_equal(MRMR(3, n_jobs=2).fit(X, y > 0).scores_, model.scores_)


# --- wide tables, constant and missing columns --------------------------------------------------------------


def wide(d):
    rng = np.random.default_rng(0)
    y = np.arange(100) % 2
    X = rng.standard_normal((100, d), dtype=np.float32).astype(float)
    X[:, 17] = y + 0.01 * X[:, 17]
    X[:, 23] = 4.0
    return X, y


def test_filters_of_fifty_thousand_columns():
    d = 50_000 if JIT else 1000  # five million values are too many for plain Python
    X, y = wide(d)
    assert chi2(np.abs(X), y)[0].shape == (d,)
    for kind in (Relief, ReliefF, RReliefF, MRMR):
        model = kind(1).fit(X, y)
        assert model.get_support(indices=True).tolist() == [17]
        assert np.isfinite(model.scores_).all()
        assert model.transform(X).shape == (100, 1)


@pytest.mark.parametrize(
    "score",
    [
        lambda X, y: mutual_info_classif(X, y, random_state=0),
        lambda X, y: mutual_info_regression(X, y, random_state=0),
    ],
)
def test_information_of_many_columns(score):
    X, y = wide(2000)
    found = score(X, y)
    assert np.argmax(found) == 17
    assert found[23] < 0.1


def test_wrappers_and_embedded_selection_of_many_columns():
    X, y = wide(2000)
    stable = StabilitySelection(Lasso(0.2), n_resamples=4, random_state=0).fit(X, y.astype(float))
    assert 17 in stable.get_support(indices=True)
    random = LasVegasWrapper(GaussianNB(), max_failures=1, cv=2, random_state=0).fit(X, y)
    assert 0 < random.get_support().sum() < 2000 or random.get_support().all()
    search = SubsetSearch(n_features_to_select=1).fit((X > 0.5).astype(int), y)
    assert search.get_support(indices=True).tolist() == [17]


@pytest.mark.parametrize(
    "model",
    [
        Relief(1),
        ReliefF(1),
        RReliefF(1),
        MRMR(1),
        SubsetSearch(n_features_to_select=1),
        LasVegasWrapper(LinearRegression(), random_state=0),
        StabilitySelection(Lasso(0.001), random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_constant_and_all_missing_columns(model):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), np.arange(40) % 2
    X[:, 1] = 5.0
    assert model.fit(X, y).get_support().any()
    X[:, 2] = np.nan
    with pytest.raises(ValueError, match="Input X contains NaN"):
        model.fit(X, y)


@pytest.mark.parametrize(
    "make",
    [
        lambda tree: SubsetSearch(tree, n_features_to_select=1),
        lambda tree: LasVegasWrapper(tree, max_failures=5, random_state=0),
        lambda tree: StabilitySelection(tree, n_features_to_select=1, tol=0.2, random_state=0),
    ],
)
def test_missing_values_go_to_estimators_that_take_them(make):
    X, y = informative(d=6)
    X[::7, 2] = np.nan
    X[:, 3] = np.nan
    model = make(DecisionTreeClassifier(max_depth=3, random_state=0)).fit(X, X[:, 1] > 0)
    assert model.get_support()[1]
    assert model.transform(X).shape == (150, model.get_support().sum())
    with pytest.raises(ValueError, match="NaN"):
        make(LinearRegression()).fit(X, y)
