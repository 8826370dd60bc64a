"""Learning vector quantisation: the plain update, convergence, weights, prototypes that are given, bad input."""

import numpy as np
import pytest

from tercet.metrics import pairwise_distances
from tercet.neighbors import LVQ, lvq_update

ALGORITHMS = ["lvq1", "lvq2.1", "glvq"]


def blobs(n=60, seed=0, spread=0.6):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    return np.array([[0.0, 0], [4, 0], [0, 4]])[y] + spread * rng.normal(size=(n, 2)), y


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_pass_is_the_plain_update_row_by_row(algorithm):
    X, y = blobs(spread=2.0)
    labels = np.array([2, 0, 1, 1, 0, 2])
    start = X[[2, 0, 1, 4, 3, 5]]
    model = LVQ(
        algorithm=algorithm,
        init=start,
        prototype_labels=labels,
        eta0=0.2,
        max_iter=1,
        shuffle=False,
        window=0.4,
    ).fit(X, y)
    scale = ((X - X.mean(axis=0)) ** 2).sum(axis=1).mean()
    P = start
    for x, label in zip(X, y):
        P = lvq_update(P, labels, x, label, eta=0.2, algorithm=algorithm, window=0.4, scale=scale)
    np.testing.assert_allclose(model.prototypes_, P, rtol=1e-9)
    assert not np.allclose(P, start)
    assert model.prototype_labels_.tolist() == labels.tolist()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_learns_overlapping_classes(algorithm):
    X, y = blobs(150, spread=1.0)
    names = np.array(["a", "b", "c"])[y]
    model = LVQ(2, algorithm=algorithm, init="mean", random_state=0).fit(X, names)
    assert model.score(X, names) > 0.9
    nearest = pairwise_distances(X, model.prototypes_).argmin(axis=1)
    np.testing.assert_array_equal(model.nearest_prototype(X), nearest)
    np.testing.assert_array_equal(model.predict(X), model.prototype_labels_[nearest])
    again = LVQ(2, algorithm=algorithm, init="mean", random_state=0).fit(X, names)
    np.testing.assert_array_equal(again.prototypes_, model.prototypes_)
    assert model.history_["error"][-1] < 0.1
    assert len(model.history_["loss"]) == model.n_iter_


def test_glvq_lowers_its_cost():
    X, y = blobs(spread=1.5)
    start = X[:3] * 0.2 + 1.0
    model = LVQ(algorithm="glvq", init=start, eta0=0.02, learning_rate="constant", random_state=0).fit(X, y)
    loss = model.history_["loss"]
    assert loss[-1] < loss[0] - 0.05


def test_glvq_follows_the_gradient():
    P, labels, x = np.array([[0.2, 0.1], [1.0, 0.4], [3.0, 3.0]]), np.array([0, 1, 1]), np.array([0.7, -0.1])

    def cost(points):
        squares = ((points.reshape(3, 2) - x) ** 2).sum(axis=1)
        return 1 / (1 + np.exp(-(squares[0] - squares[1]) / (squares[0] + squares[1])))

    eps = 1e-6
    steps = eps * np.eye(6)
    slope = np.array([(cost(P.ravel() + e) - cost(P.ravel() - e)) / (2 * eps) for e in steps]).reshape(3, 2)
    moved = lvq_update(P, labels, x, 0, eta=1e-3, algorithm="glvq") - P
    np.testing.assert_allclose(moved, -1e-3 * slope, rtol=1e-5, atol=1e-12)


def test_weights_are_visits():
    X, y = blobs(12)
    w = np.array([1.0, 2.0, 0.0] * 4)
    options = {"init": [0, 1, 3, 4, 5], "prototype_labels": [0, 1, 0, 1, 2], "shuffle": False, "max_iter": 3}
    weighted = LVQ(**options).fit(X, y, sample_weight=np.where(y == 2, 1.0, w))
    rows = np.repeat(np.arange(12), np.where(y == 2, 1, w).astype(int))
    start = X[options["init"]]
    plain = LVQ(**{**options, "init": start}).fit(X[rows], y[rows])
    np.testing.assert_allclose(weighted.prototypes_, plain.prototypes_, rtol=1e-9)
    # Rows without weight are as if they were not there, and are not drawn as prototypes.
    some = LVQ(random_state=1, shuffle=False).fit(X, y, sample_weight=(np.arange(12) < 3).astype(float))
    np.testing.assert_allclose(some.prototypes_, X[:3])


def test_means_as_first_prototypes():
    X, y = blobs(12)
    w = np.arange(12.0)
    model = LVQ(init="mean", eta0=1e-12, max_iter=1).fit(X, y, sample_weight=w)
    means = [np.average(X[y == c], axis=0, weights=w[y == c]) for c in range(3)]
    np.testing.assert_allclose(model.prototypes_, means, rtol=1e-9)


def test_one_column_same_points_and_extremes():
    assert LVQ().fit([[1.0], [1.0]], [0, 1]).predict([[1.0]]).tolist() == [0]
    for scale in (1e-200, 1e200, 1e307):
        X, y = blobs(30)
        model = LVQ(random_state=0).fit(X * scale, y)
        expected = LVQ(random_state=0).fit(X, y)
        np.testing.assert_allclose(model.prototypes_ / scale, expected.prototypes_, rtol=1e-9)
        np.testing.assert_array_equal(model.predict(X * scale), expected.predict(X))
    many = LVQ(15, random_state=0).fit(*blobs(60))  # more than are searched one by one
    assert len(many.prototypes_) == 45
    assert many.score(*blobs(60)) == 1


def test_wrong_input_is_named():
    X, y = blobs(12)
    wrong = {
        "5 prototypes of class 0, which has 4 rows": {"n_prototypes": 5},
        "prototype_labels must be classes of y": {"prototype_labels": [0, 1, 7]},
        "class 2 has no prototype": {"prototype_labels": [0, 1]},
        r"init must have 3 prototypes of 2 features.*\(3, 1\)": {"init": [[1.0], [2.0], [3.0]]},
        "row numbers must be numbers from 0 to 11": {"init": [0, 1, 12]},
        "'eta0' must be a number in": {"eta0": 1.0},
        "'algorithm' must be one of": {"algorithm": "lvq3"},
    }
    for message, parameters in wrong.items():
        with pytest.raises(ValueError, match=message):
            LVQ(**parameters).fit(X, y)
    with pytest.raises(ValueError, match="NaN"):
        LVQ().fit(np.where(X > 3, np.nan, X), y)
    with pytest.raises(ValueError, match=r"algorithm must be 'lvq1', 'lvq2.1' or 'glvq'; got 'no'"):
        lvq_update(X[:3], y[:3], X[0], 0, algorithm="no")
