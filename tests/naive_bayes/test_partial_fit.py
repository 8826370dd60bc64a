"""`partial_fit` of the Bayes classifiers, rows of no weight, and forged files."""

import numpy as np
import pytest

from tercet.naive_bayes import (
    AODE,
    KDB,
    SPODE,
    TAN,
    BernoulliNB,
    CategoricalNB,
    GaussianNB,
    KernelDensityNB,
    MixedNB,
    MultinomialNB,
    OneDependenceClassifier,
)

BATCHED = [AODE, BernoulliNB, CategoricalNB, GaussianNB, MixedNB, MultinomialNB, OneDependenceClassifier]
ALL = [*BATCHED, KernelDensityNB, KDB, SPODE, TAN]
batched = pytest.mark.parametrize("kind", BATCHED)


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    return rng.integers(0, 4, (60, 3)).astype(float), rng.integers(0, 3, 60)


@batched
def test_a_batch_that_is_refused_leaves_no_trace(kind, table):
    X, y = table
    model = kind()
    for bad in ({"sample_weight": -np.ones(60)}, {"y": y + 1}):
        with pytest.raises(ValueError, match=r"must not be negative|y holds"):
            model.partial_fit(X, bad.get("y", y), [0, 1, 2], bad.get("sample_weight"))
        assert not hasattr(model, "classes_")
    whole = kind().partial_fit(X, y, [0, 1, 2]).predict_proba(X)
    np.testing.assert_array_equal(model.partial_fit(X, y, [0, 1, 2]).predict_proba(X), whole)
    with pytest.raises(ValueError, match="y holds"):
        model.partial_fit(X + 4, y + 1)
    with pytest.raises(ValueError, match="must not be negative"):
        model.partial_fit(X + 4, y, sample_weight=-np.ones(60))
    np.testing.assert_array_equal(model.predict_proba(X), whole)


@batched
def test_parameters_are_checked_in_every_batch(kind, table):
    name = "var_smoothing" if kind is GaussianNB else "alpha"
    with pytest.raises(ValueError, match=name):
        kind(**{name: -3.0}).partial_fit(*table, [0, 1, 2])


@batched
def test_rows_of_no_weight_are_not_in_the_first_batch(kind, table):
    X, y = table
    X = X + np.where(np.arange(60) < 20, 9.0, 0.0)[:, None]
    weight = (np.arange(60) >= 20).astype(float)
    some = kind().partial_fit(X, y, [0, 1, 2], weight)
    none = kind().partial_fit(X[20:], y[20:], [0, 1, 2])
    np.testing.assert_allclose(some.predict_proba(X), none.predict_proba(X))


@pytest.mark.parametrize("kind", ALL)
def test_a_single_class_is_the_answer(kind):
    assert kind().fit([[0.0, 1.0]], ["a"]).predict([[2.0, 0.0]]).tolist() == ["a"]


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("size", [1, 500])
def test_a_forged_prior_is_refused(kind, size, table):
    X, y = table
    model = kind().fit(X, y)
    model.class_log_prior_ = np.zeros(size)
    for method in (model.predict, model.predict_proba):
        with pytest.raises(ValueError, match="class_log_prior_ must have 3 entries"):
            method(X)


@pytest.mark.parametrize("kind", [AODE, SPODE, OneDependenceClassifier, TAN, KDB])
def test_forged_sizes_whose_sum_runs_over_are_refused(kind):
    model = kind().fit(np.array([list("abcde"), list("abcde")]), [0, 1])
    model.n_values_ = np.array([2**62, 2**62, 2**62, 2**62, 5])  # add up to 5 in 64 bits
    with pytest.raises(ValueError, match="n_values_ do not fit"):
        model.predict([list("abcde")])


def test_late_values_are_spelled_as_early_ones():
    model = CategoricalNB().partial_fit([["a"], [1]], [0, 1], [0, 1]).partial_fit([[2], [1]], [0, 1])
    assert model.categories_[0].tolist() == ["1", "2", "a"]
    assert model.category_count_[0].tolist() == [[0, 1, 1], [2, 0, 0]]
    model = CategoricalNB().partial_fit([[10], [2]], [0, 1], [0, 1]).partial_fit([["x"], [2]], [0, 1])
    counts = dict(zip(model.categories_[0].tolist(), model.category_count_[0].T.tolist()))
    assert [counts[word] for word in ("10", "2", "x")] == [[1, 0], [0, 2], [1, 0]]


def test_a_late_huge_number_needs_no_huge_table():
    model = CategoricalNB().partial_fit([[0], [1]], [0, 1], [0, 1]).partial_fit([[2 * 10**9], [1]], [0, 1])
    assert model.categories_[0].tolist() == [0, 1, 2e9]


def test_late_rows_of_no_weight_bring_no_values():
    model = CategoricalNB().partial_fit([["a"], ["b"]], [0, 1], [0, 1])
    model.partial_fit([["c"], ["a"]], [0, 1], sample_weight=[0, 1])
    assert model.categories_[0].tolist() == ["a", "b"]
    assert model.category_count_[0].tolist() == [[1, 0], [1, 1]]


def test_bandwidth_of_a_constant_class_counts_weights_as_rows():
    rng = np.random.default_rng(1)
    X, y = np.r_[np.zeros(5), rng.normal(size=6)][:, None], np.repeat([0, 1], [5, 6])
    weight = np.array([1, 1, 1, 1, 1, 1, 5, 1, 1, 3, 1])
    rows = np.repeat(np.arange(11), weight)
    ours, twice = KernelDensityNB().fit(X, y, weight), KernelDensityNB().fit(X[rows], y[rows])
    np.testing.assert_allclose(ours.bandwidth_, twice.bandwidth_, rtol=1e-12)


@pytest.mark.parametrize(("kernel", "error"), [("uniform", 1e-9), ("epanechnikov", 2e-3)])
def test_kernels_that_end_are_quick_and_right_over_many_points(kernel, error):
    points = np.sort(np.random.default_rng(2).normal(size=5000))
    model = KernelDensityNB(kernel=kernel, bandwidth=0.3).fit(points[:, None], np.zeros(5000))
    at = np.linspace(-2, 2, 41)
    z = (at[:, None] - points) / 0.3
    shape = np.where(np.abs(z) <= 1, 0.5 if kernel == "uniform" else 0.75 * (1 - z**2), 0.0)
    found = np.exp(model.predict_joint_log_proba(at[:, None])[:, 0])
    np.testing.assert_allclose(found, shape.mean(axis=1) / 0.3, rtol=error)


def test_large_numbers_have_moments():
    X = 1e160 * (1 + 1e-9 * np.arange(8.0))[:, None]
    model = GaussianNB().fit(X, np.arange(8) // 4)
    assert np.isfinite(model.var_).all()
    assert model.score(X, np.arange(8) // 4) == 1


def test_a_share_of_what_cannot_be_is_impossible():
    model = BernoulliNB(alpha=0, binarize=None).fit([[0.0], [0.0], [1.0], [0.0]], [0, 0, 1, 1])
    assert np.isneginf(model.predict_joint_log_proba([[0.3]])).tolist() == [[True, False]]
