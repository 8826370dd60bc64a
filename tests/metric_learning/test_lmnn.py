"""Large margin nearest neighbours: the loss in plain form, working sets, triplets."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import approx_fprime
from sklearn.datasets import load_wine

from tercet.io import load_model, save_model
from tercet.metric_learning import LMNN, MahalanobisMetric
from tercet.metric_learning._engine import impostors
from tercet.metric_learning._engine.impostors import LargeMargin
from tercet.metric_learning.lmnn import TripletMargin, loss_of, target_neighbours
from tercet.neighbors import KNeighborsClassifier

RNG = np.random.default_rng(0)
X = RNG.normal(size=(50, 3))
Y = np.sort(RNG.integers(0, 3, 50))
WEIGHT = RNG.random(50) + 0.2
L = 0.5 * RNG.normal(size=(2, 3))


def plain_loss(X, y, L, k=3, weight=None, push=0.5):
    """Pull and push, term by term."""
    weight = np.ones(len(X)) if weight is None else weight
    Z = X @ L.T
    apart = ((Z[:, None] - Z) ** 2).sum(axis=2)
    given = ((X[:, None] - X) ** 2).sum(axis=2)
    np.fill_diagonal(given, np.inf)
    value = 0.0
    for i in range(len(X)):
        same = np.flatnonzero((y == y[i]) & (np.arange(len(X)) != i))
        others = np.flatnonzero(y != y[i])
        for j in same[np.argsort(given[i, same])[:k]]:
            hinge = np.maximum(1 + apart[i, j] - apart[i, others], 0)
            value += (1 - push) * weight[i] * apart[i, j] + push * weight[i] * weight[others] @ hinge
    return value


def margin(push=0.4):
    found = LargeMargin(X, Y, WEIGHT, target_neighbours(X, Y, 3, 1), push, 1)
    while found.add_impostors(L):
        pass
    return found


def test_loss_is_that_of_the_plain_form():
    assert margin()(L)[0] == pytest.approx(plain_loss(X, Y, L, 3, WEIGHT, 0.4), rel=1e-12)


def test_gradient_against_finite_differences():
    loss = loss_of(margin(), 2)
    slope = approx_fprime(L.ravel(), lambda x: loss(x)[0], 1e-7)
    np.testing.assert_allclose(loss(L.ravel())[1], slope, rtol=1e-4, atol=1e-3)


def test_gradient_of_triplets_against_finite_differences():
    loss = loss_of(TripletMargin(RNG.normal(size=(20, 3, 3)), WEIGHT[:20], 0.7), 2)
    slope = approx_fprime(L.ravel(), lambda x: loss(x)[0], 1e-7)
    np.testing.assert_allclose(loss(L.ravel())[1], slope, rtol=1e-4, atol=1e-4)


def test_the_last_loss_is_that_of_all_impostors():
    model = LMNN().fit(X, Y)
    assert model.history_["loss"][-1] == pytest.approx(plain_loss(X, Y, model.components_), rel=1e-9)
    assert model.history_["loss"][-1] < 0.95 * plain_loss(X, Y, np.eye(3))


def test_small_working_sets_come_to_the_same_loss(monkeypatch):
    whole = LMNN(tol=1e-9, max_iter=2000).fit(X, Y)
    monkeypatch.setattr(impostors, "MOST_NEW", 2)
    small = LMNN(tol=1e-9, max_iter=2000).fit(X, Y)
    assert small.history_["loss"][-1] == pytest.approx(whole.history_["loss"][-1], rel=1e-3)
    assert small.history_["loss"][-1] == pytest.approx(plain_loss(X, Y, small.components_), rel=1e-9)


def test_starts_come_to_one_loss():
    """As a function of M the loss is convex: with all components a start does not matter."""
    losses = [
        LMNN(init=start, tol=1e-9, max_iter=2000, random_state=0).fit(X, Y).history_["loss"][-1]
        for start in ("identity", "random", "pca")
    ]
    np.testing.assert_allclose(losses, min(losses), rtol=5e-3)


def test_helps_nearest_neighbours():
    X, y = load_wine(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = LMNN(n_components=2).fit(X[::2], y[::2])
    assert model.transform(X).shape == (178, 2)
    learned = KNeighborsClassifier(3, metric=model.get_metric()).fit(X[::2], y[::2])
    assert learned.score(X[1::2], y[1::2]) > 0.94


def test_push_alone_and_pull_alone():
    flat = LMNN(regularization=0.0).fit(X, Y)
    np.testing.assert_allclose(flat.get_mahalanobis_matrix(), 0, atol=1e-2)
    assert np.isfinite(LMNN(regularization=1.0).fit(X, Y).components_).all()


def test_triplets():
    triplets = np.array([[X[i], X[i] + [0, 0, 3.0], X[i] + [0.5, 0, 0]] for i in range(20)])
    model = LMNN().fit(triplets)
    near = model.pair_distance(triplets[:, [0, 1]]) ** 2
    far = model.pair_distance(triplets[:, [0, 2]]) ** 2
    assert (far >= near + 0.99).all()
    one = LMNN().fit(triplets, sample_weight=np.arange(20) % 2).components_
    np.testing.assert_allclose(one, LMNN().fit(triplets[1::2]).components_, rtol=1e-6, atol=1e-9)
    with pytest.raises(
        ValueError, match="X with three dimensions holds triplets of points, which have no labels"
    ):
        LMNN().fit(triplets, np.arange(20) % 2)
    with pytest.raises(ValueError, match=r"of shape \(n_triplets, 3, n_features\); got \(20, 2, 3\)"):
        LMNN().fit(triplets[:, :2])


def test_rows_of_weight_zero_are_not_there():
    weight = np.where(np.arange(50) % 5 == 0, 0.0, WEIGHT)
    kept = weight > 0
    one, other = LMNN().fit(X, Y, weight), LMNN().fit(X[kept], Y[kept], weight[kept])
    np.testing.assert_allclose(one.components_, other.components_, rtol=1e-9)


def test_sparse_rows():
    rows = np.where(np.abs(X) < 0.5, 0.0, X)
    np.testing.assert_array_equal(
        LMNN().fit(sparse.csr_array(rows), Y).components_, LMNN().fit(rows, Y).components_
    )


def test_small_classes_and_identical_rows():
    y = Y.copy()
    y[:2], y[2] = [7, 7], 9  # two rows, and one
    assert np.isfinite(LMNN(n_neighbors=5).fit(X, y).components_).all()
    same = LMNN().fit(np.ones((8, 2)), np.arange(8) % 2)
    np.testing.assert_array_equal(same.components_, np.eye(2))
    for labels in (np.zeros(50), np.arange(50)):
        with pytest.raises(ValueError, match="at least two classes, one of them with two rows or more"):
            LMNN().fit(X, labels)


def test_a_model_with_a_learned_metric_is_saved(tmp_path):
    metric = LMNN().fit(X, Y).get_metric()
    model = KNeighborsClassifier(3, metric=metric).fit(X, Y)
    save_model(tmp_path / "model.skops", model, {})
    again = load_model(tmp_path / "model.skops")[0]
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(metric)).components, metric.components)


def test_the_metric_says_what_is_wrong():
    metric = MahalanobisMetric(np.eye(2))
    assert repr(metric) == "MahalanobisMetric(components of shape (2, 2))"
    np.testing.assert_allclose(metric.pairwise([[0.0, 0.0], [3.0, 4.0]]), [[0, 5], [5, 0]])
    with pytest.raises(ValueError, match="points must have 2 features"):
        metric([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="u and v must be single points"):
        metric([[1.0, 2.0]], [[1.0, 2.0]])
    with pytest.raises(ValueError, match="components must be a matrix of finite numbers"):
        MahalanobisMetric([1.0, np.nan])
