"""Piecewise-linear distance classifier: the nearest of several means per class."""

import numpy as np
import pytest
from scipy import sparse

from tercet import EarlyStopping
from tercet.discriminant_analysis import PiecewiseLinearDistance
from tercet.neighbors import NearestCentroid
from tests.discriminant_analysis.test_subclasses import CENTRES, clumps


def nearest(model, X):
    """g_i(x) = min_l |x - m_il| in plain form."""
    tables = [model.subclass_means_[model.subclass_labels_ == label] for label in model.classes_]
    return np.array([[min(np.linalg.norm(x - m) for m in table) for table in tables] for x in X])


def test_discriminants_are_distances_to_the_nearest_mean():
    X, y, _ = clumps()
    model = PiecewiseLinearDistance({"a": 2, "b": 3}, random_state=0).fit(X, y)
    Q = np.random.default_rng(1).uniform(-3, 14, size=(60, 2))
    g = nearest(model, Q)
    np.testing.assert_allclose(model.distances(Q), g, rtol=1e-12)
    np.testing.assert_array_equal(model.predict(Q), model.classes_[g.argmin(axis=1)])
    np.testing.assert_allclose(model.decision_function(Q), g[:, 0] ** 2 - g[:, 1] ** 2, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(model.subclass_labels_[model.predict_subclass(Q)], model.predict(Q))
    assert model.n_subclasses_.tolist() == [2, 3]
    gaps = np.linalg.norm(model.subclass_means_[:, None] - CENTRES, axis=2).min(axis=1)
    assert gaps.max() < 0.3
    assert model.score(X, y) == 1.0


def test_one_subclass_is_the_minimum_distance_classifier():
    X, _, at = clumps(spread=2.0)
    model, plain = PiecewiseLinearDistance(1).fit(X, at), NearestCentroid().fit(X, at)
    np.testing.assert_allclose(model.subclass_means_, plain.centroids_, rtol=1e-12)
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))


def test_pieces_are_perpendicular_bisectors():
    model = PiecewiseLinearDistance(means={1: [[0, 0], [4, 4]], 2: [[4, 0]]}).fit([[0, 0], [4, 0]], [1, 2])
    on = np.array([[2.0, -3.0], [2.0, 0.0], [2.0, 1.9], [2.1, 2.0], [9.0, 2.0]])
    np.testing.assert_allclose(model.decision_function(on), 0.0, atol=1e-12)
    assert model.predict(on).tolist() == [1] * 5  # of equal discriminants the first class


def test_the_number_of_subclasses_is_chosen_by_cross_validation():
    rng = np.random.default_rng(3)
    at = rng.integers(9, size=180)
    X = 4.0 * np.column_stack([at % 3, at // 3]) + 0.5 * rng.normal(size=(180, 2))
    y = at % 2  # a board of chess: five clumps and four
    model = PiecewiseLinearDistance([1, 2, {0: 5, 1: 4}], cv=4, random_state=0).fit(X, y)
    assert model.best_n_subclasses_ == {0: 5, 1: 4}
    assert model.cv_scores_.shape == (3, 4)
    assert model.cv_scores_.mean(axis=1).argmax() == 2
    same = PiecewiseLinearDistance([1, 2, {0: 5, 1: 4}], cv=4, random_state=0, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(same.subclass_means_, model.subclass_means_)
    np.testing.assert_array_equal(same.cv_scores_, model.cv_scores_)
    with pytest.raises(ValueError, match="n_subclasses must not be empty"):
        PiecewiseLinearDistance([]).fit(X, y)


def test_given_subclasses_and_weights():
    X, y, at = clumps()
    weight = np.random.default_rng(2).integers(0, 3, size=100).astype(float)
    names = np.array(["p", "q", "r", "s", "t"])[at]
    model = PiecewiseLinearDistance().fit(X, y, weight, subclasses=names)
    expected = [np.average(X[at == k], axis=0, weights=weight[at == k]) for k in range(5)]
    np.testing.assert_allclose(model.subclass_means_, expected, rtol=1e-12)
    assert model.subclass_labels_.tolist() == ["a", "a", "b", "b", "b"]
    squares = ((X - np.array(expected)[at]) ** 2).mean(axis=1)
    assert model.variance_ == pytest.approx(np.average(squares, weights=weight))
    twice = np.repeat(np.arange(100), weight.astype(int))
    again = PiecewiseLinearDistance().fit(X[twice], y[twice], subclasses=names[twice])
    np.testing.assert_allclose(again.predict_proba(X), model.predict_proba(X), rtol=1e-9)
    with pytest.raises(ValueError, match=r"subclasses must be given for each of the 100 rows"):
        PiecewiseLinearDistance().fit(X, y, subclasses=names[:5])
    held_out = PiecewiseLinearDistance().set_callbacks(EarlyStopping(validation_fraction=0.2))
    with pytest.raises(ValueError, match="A callback that holds out rows"):
        held_out.fit(X, y, subclasses=names)


def test_sparse_rows_and_probabilities():
    X, _, at = clumps(spread=1.5)
    dense = PiecewiseLinearDistance(2, random_state=0).fit(X, at)
    thin = PiecewiseLinearDistance(2, random_state=0).fit(sparse.csr_array(X), at)
    np.testing.assert_allclose(thin.subclass_means_, dense.subclass_means_, rtol=1e-9)
    np.testing.assert_array_equal(thin.predict(sparse.csr_array(X)), dense.predict(X))
    proba = dense.predict_proba(X)
    odds = np.exp(-(dense.distances(X) ** 2) / (2 * dense.variance_))
    np.testing.assert_allclose(proba, odds / odds.sum(axis=1, keepdims=True), rtol=1e-7, atol=1e-12)
    np.testing.assert_array_equal(dense.classes_[proba.argmax(axis=1)], dense.predict(X))


def test_without_variance_the_nearest_classes_share_the_probability():
    model = PiecewiseLinearDistance(1).fit([[0.0], [2.0]], [0, 1])
    assert model.predict_proba([[0.5], [1.0], [3.0]]).tolist() == [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]


@pytest.mark.parametrize(
    "means",
    [
        {1: [[0.0, 0.0]]},
        {1: [[0.0, 0.0]], 2: [[1.0]]},
        {1: [], 2: [[0.0, 1.0]]},
        {1: [[0, np.nan]], 2: [[0, 1]]},
    ],
)
def test_given_means_are_checked(means):
    with pytest.raises(
        ValueError, match=r"means must give class . an array of at least one mean of 2 features"
    ):
        PiecewiseLinearDistance(means=means).fit([[0, 0], [1, 1]], [1, 2])


def test_a_class_without_weight():
    with pytest.raises(ValueError, match="class 'b' has no row of positive weight"):
        PiecewiseLinearDistance(1).fit([[0.0], [1.0]], ["a", "b"], [1.0, 0.0])
