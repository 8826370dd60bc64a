"""Classification by neighbours: the text's facts, scikit-learn's answers, weights as repetition."""

import numpy as np
import pytest
import sklearn.neighbors as peer
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.utils.estimator_checks import (
    check_sample_weight_equivalence_on_dense_data,
    check_sample_weight_equivalence_on_sparse_data,
)

from tercet.neighbors import KNeighborsClassifier, RadiusNeighborsClassifier, vote

RNG = np.random.default_rng(0)
X, Q = RNG.normal(size=(150, 3)), RNG.normal(size=(31, 3))
y = RNG.integers(0, 4, 150)
Y = np.column_stack([y, RNG.integers(0, 3, 150)])
WEIGHTS = ["uniform", "distance", lambda d: np.exp(-d), None]


def lists(shares):
    return shares if isinstance(shares, list) else [shares]


def agree(ours, theirs):
    for queries in (Q, X, None):
        assert np.array_equal(ours.predict(queries), theirs.predict(queries))
        for one, other in zip(lists(ours.predict_proba(queries)), lists(theirs.predict_proba(queries))):
            np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)
    for attribute in ("outputs_2d_", "n_samples_fit_", "effective_metric_"):
        assert getattr(ours, attribute) == getattr(theirs, attribute)


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("k", [1, 4, 150])
@pytest.mark.parametrize("target", [y, Y], ids=["one", "two"])
def test_agrees_with_the_peer(weights, k, target):
    ours = KNeighborsClassifier(k, weights=weights, algorithm="brute").fit(X, target)
    theirs = peer.KNeighborsClassifier(k, weights=weights).fit(X, target)
    if k == 150:
        assert np.array_equal(ours.predict(Q), theirs.predict(Q))
        with pytest.raises(ValueError, match="Expected n_neighbors < n_samples_fit"):
            ours.predict(None)
    else:
        agree(ours, theirs)
        right = (theirs.predict(None) == target).reshape(150, -1).all(axis=1)
        assert ours.score(None, target) == pytest.approx(right.mean())


def rowwise(far):
    """Weights of distances that come row by row."""
    return np.array([np.exp(-row) for row in far], dtype=object)


@pytest.mark.parametrize("weights", ["uniform", "distance", rowwise])
@pytest.mark.parametrize("target", [y, Y], ids=["one", "two"])
def test_radius_agrees_with_the_peer(weights, target):
    settings = {"weights": weights, "outlier_label": "most_frequent"}
    ours = RadiusNeighborsClassifier(0.6, algorithm="brute", **settings).fit(X, target)
    theirs = peer.RadiusNeighborsClassifier(0.6, **settings).fit(X, target)
    agree(ours, theirs)
    assert ours.outlier_label_ == theirs.outlier_label_


def test_as_many_neighbours_as_rows_give_the_majority():
    labels = np.array(["b"] * 4 + ["a"] * 3)
    model = KNeighborsClassifier(7).fit(X[:7], labels)
    assert set(model.predict(Q)) == {"b"}
    np.testing.assert_allclose(model.predict_proba(Q), np.tile([3 / 7, 4 / 7], (31, 1)))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=9))
def test_no_label_errs_less_in_the_neighbourhood_than_the_vote(labels):
    label, error = vote(labels)
    losses = {c: np.mean(np.array(labels) != c) for c in range(4)}
    assert error == pytest.approx(losses[label])
    assert error <= min(losses.values()) + 1e-12


def test_ties():
    assert vote(["b", "a"]) == ("a", 0.5)
    assert vote(["b", "a"], ties="nearest") == ("b", 0.5)
    assert vote([2, 1, 1], [3, 1, 1]) == (2, 0.4)
    rows, labels = [[0.0], [1.0], [2.0], [3.0]], ["b", "a", "a", "b"]
    assert KNeighborsClassifier(2).fit(rows, labels).predict([[0.1]]).tolist() == ["a"]
    for model in (KNeighborsClassifier(2, ties="nearest"), RadiusNeighborsClassifier(1.0, ties="nearest")):
        assert model.fit(rows, labels).predict([[0.1]]).tolist() == ["b"]
    with pytest.raises(ValueError, match="ties must be"):
        vote([1, 2], ties="first")
    with pytest.raises(ValueError, match="equally long"):
        vote([1, 2], [1])
    with pytest.raises(ValueError, match="not all zero"):
        vote([1, 2], [0, 0])


@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("k", [1, 3, 8])
def test_weights_are_repetitions(weights, k):
    w = RNG.integers(0, 4, 150)
    weighted = KNeighborsClassifier(k, weights=weights).fit(X, y, sample_weight=w)
    repeated = KNeighborsClassifier(k, weights=weights).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    for queries in (Q, X):
        np.testing.assert_allclose(
            weighted.predict_proba(queries), repeated.predict_proba(queries), atol=1e-12
        )
        assert np.array_equal(weighted.predict(queries), repeated.predict(queries))


def test_fractions_of_weights():
    rows, labels = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]
    model = KNeighborsClassifier(1).fit(rows, labels, sample_weight=[0.25, 0.5, 1.0, 1.0])
    np.testing.assert_allclose(
        model.predict_proba([[-1.0]]), [[0.5, 0.5]]
    )  # 1/4 of 0, 1/2 of 1, and 1/4 of 0
    with pytest.raises(ValueError, match=r"n_neighbors = 3, and the sample weights.*sum to 2.75"):
        KNeighborsClassifier(3).fit(rows, labels, sample_weight=[0.25, 0.5, 1.0, 1.0]).predict([[0.0]])


@pytest.mark.parametrize(
    "check",
    [check_sample_weight_equivalence_on_dense_data, check_sample_weight_equivalence_on_sparse_data],
)
def test_radius_weights_are_repetitions(check):
    check("RadiusNeighborsClassifier", RadiusNeighborsClassifier(2.0, outlier_label="most_frequent"))


def test_outliers():
    rows, labels = [[0.0], [1.0], [2.0]], [0, 0, 1]
    with pytest.raises(ValueError, match=r"No neighbors found for test samples \[1\]"):
        RadiusNeighborsClassifier(0.5).fit(rows, labels).predict([[0.0], [9.0]])
    model = RadiusNeighborsClassifier(0.5, outlier_label=7).fit(rows, labels)
    with pytest.warns(UserWarning, match="Outlier label 7 is not in training classes"):
        said, shares = model.predict([[0.0], [9.0]]), model.predict_proba([[0.0], [9.0]])
    assert said.tolist() == [0, 7]
    assert shares.tolist() == [[1, 0], [0, 0]]
    known = RadiusNeighborsClassifier(0.5, outlier_label=1).fit(rows, labels)
    assert known.predict_proba([[9.0]]).tolist() == [[0, 1]]
    with pytest.raises(ValueError, match="inconsistent with the output length"):
        RadiusNeighborsClassifier(outlier_label=[0, 1]).fit(rows, labels)
    with pytest.raises(TypeError, match="outlier_label 'x' is inconsistent"):
        RadiusNeighborsClassifier(outlier_label="x").fit(rows, labels)


def test_labels_of_any_kind():
    words = np.array(["ant", "bee", "cat", "dog"])[y]
    assert np.array_equal(
        KNeighborsClassifier().fit(X, words).predict(Q), peer.KNeighborsClassifier().fit(X, words).predict(Q)
    )
    assert KNeighborsClassifier(2).fit([[0], [1]], ["only", "only"]).predict([[5]]).tolist() == ["only"]


def test_sparse_rows():
    A = sparse.csr_array(np.where(np.abs(X) < 0.5, 0, X))
    dense = KNeighborsClassifier(algorithm="brute").fit(A.toarray(), y)
    assert np.array_equal(KNeighborsClassifier().fit(A, y).predict(A), dense.predict(A.toarray()))


def test_bad_input_is_named():
    with pytest.raises(
        ValueError, match="Expected n_neighbors <= n_samples_fit, but n_neighbors = 5, n_samples_fit = 2"
    ):
        KNeighborsClassifier().fit([[0], [1]], [0, 1]).predict([[0]])
    with pytest.raises(ValueError, match="no neighbour of query 0 has a weight"):
        KNeighborsClassifier(weights=np.zeros_like).fit(X, y).predict(Q)
    with pytest.raises(ValueError, match="needs complete rows"):
        KNeighborsClassifier().fit(X, y).predict([[0, 0, np.nan]])
    with pytest.warns(UserWarning, match="column-vector y"):
        assert not KNeighborsClassifier().fit(X, y[:, None]).outputs_2d_


@pytest.mark.parametrize("tiny", [0.0, 1e-310])
def test_a_distance_too_small_to_be_inverted_is_none(tiny):
    shares = (
        KNeighborsClassifier(2, weights="distance", p=1).fit([[0.0], [1.0]], [0, 1]).predict_proba([[tiny]])
    )
    assert shares.tolist() == [[1.0, 0.0]]


def test_a_function_of_the_distances_sees_only_rows_that_count():
    mass = np.where(np.arange(len(X)) % 2, 1.0, 0.05)
    model = KNeighborsClassifier(weights=lambda far: 1.1 - far / far.max(axis=1, keepdims=True)).fit(
        X, y, mass
    )
    one_by_one = np.vstack([model.predict_proba(Q[i : i + 1]) for i in range(len(Q))])
    assert np.array_equal(model.predict_proba(Q), one_by_one)


def test_an_outlier_label_may_be_longer_than_the_classes():
    model = RadiusNeighborsClassifier(outlier_label="nobody").fit([[0], [1]], ["a", "b"])
    with pytest.warns(UserWarning, match="nobody is not in training classes"):
        assert model.predict([[0], [9]]).tolist() == ["a", "nobody"]
    with pytest.raises(TypeError, match="outlier_label 5 is inconsistent"):
        RadiusNeighborsClassifier(outlier_label=5).fit([[0], [1]], ["a", "b"])
