"""RBF networks: exact interpolation, least squares with weights, gradients, and the same bits for any threads."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from tercet.core.parallel import Chunks
from tercet.neural_network import RBFNetwork, RBFNetworkClassifier, output_weights
from tercet.neural_network.rbf_network import NetworkError, activations


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] ** 2


def test_all_rows_as_centres_interpolate(rows):
    X, y = rows
    model = RBFNetwork(centers="all", width=0.4).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, atol=1e-8)


def test_activations_are_gaussians_of_distances(rows):
    X, _ = rows
    C, beta = X[:5], np.arange(1.0, 6.0)
    expected = np.exp(-beta * ((X[:, None] - C) ** 2).sum(axis=2))
    np.testing.assert_allclose(activations(X, C, beta), expected, rtol=1e-12)
    np.testing.assert_allclose(activations(sparse.csr_array(X), C, beta), expected, rtol=1e-9)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("alpha", [0.0, 0.3])
def test_weights_are_those_of_least_squares(rows, alpha, fit_intercept):
    X, y = rows
    weight = np.random.default_rng(1).random(len(X))
    model = RBFNetwork(centers=X[:7], width=1.0, alpha=alpha, fit_intercept=fit_intercept)
    model.fit(X, y, sample_weight=weight)
    P = np.column_stack([np.ones(len(X)), model.hidden_activations(X)])
    penalty = alpha * np.diag([0.0] + [1.0] * 7)
    if not fit_intercept:
        P, penalty = P[:, 1:], penalty[1:, 1:]
    expected = np.linalg.solve(P.T * weight @ P + penalty, P.T * weight @ y)
    found = np.append(model.intercept_, model.weights_) if fit_intercept else model.weights_
    np.testing.assert_allclose(found, expected, rtol=1e-7)
    assert fit_intercept or model.intercept_ == 0.0


@pytest.mark.parametrize("kind", [RBFNetwork, RBFNetworkClassifier])
@pytest.mark.parametrize("algorithm", ["lstsq", "gd", "lbfgs"])
def test_weights_are_repeated_rows(rows, kind, algorithm):
    X, y = rows
    y = y if kind is RBFNetwork else np.digitize(y, [0.0, 1.0])
    count = np.random.default_rng(2).integers(0, 4, len(X))
    model = kind(centers=X[:9], width=1.2, algorithm=algorithm, learn="centers", max_iter=5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        one = model.fit(X, y, sample_weight=count).weights_
        two = model.fit(np.repeat(X, count, axis=0), np.repeat(y, count)).weights_
    np.testing.assert_allclose(one, two, rtol=1e-6)


def test_singular_problems_have_the_solution_of_least_norm():
    X = np.array([[0.0], [1.0], [1.0]])
    model = RBFNetwork(centers=[[0.0], [0.0]], beta=1.0, fit_intercept=False).fit(X, [1.0, 2.0, 2.0])
    assert model.weights_[0] == pytest.approx(model.weights_[1])


def test_normal_equations_are_as_accurate_as_qr(rows, monkeypatch):
    rng = np.random.default_rng(3)
    X = rng.random((40_000, 2))
    y = np.sin(5 * X[:, 0]) + X[:, 1]
    fast = RBFNetwork(30, centers="random", random_state=0).fit(X, y)
    monkeypatch.setattr(output_weights, "MANY_CHUNKS", 10**9)
    exact = RBFNetwork(30, centers="random", random_state=0).fit(X, y)
    np.testing.assert_allclose(fast.weights_, exact.weights_, rtol=1e-8)
    assert fast.intercept_ == pytest.approx(exact.intercept_, rel=1e-8)


def test_ill_conditioned_problems_of_many_chunks_go_to_qr(rows):
    X = np.linspace(0, 1, 40_000)[:, None]
    model = RBFNetwork(centers=np.linspace(0, 1, 30)[:, None], width=2.0).fit(X, np.sin(6 * X[:, 0]))
    assert model.score(X, np.sin(6 * X[:, 0])) > 1 - 1e-7


@pytest.mark.parametrize("learn", ["weights", "widths", "centers"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_gradient_is_that_of_finite_differences(rows, learn, fit_intercept):
    X, y = rows
    Y, weight = np.column_stack([y, -y * y]), np.random.default_rng(4).random(len(X))
    model = RBFNetwork(learn=learn, alpha=0.5, fit_intercept=fit_intercept)
    rng = np.random.default_rng(5)
    network = X[:4], np.array([0.5, 1.0, 2.0, 3.0]), rng.normal(size=(2, 4)), rng.normal(size=2)
    error = NetworkError(model, Chunks(X, Y, weight, rows=64), weight, network, False)
    theta, steps = error.start, 1e-6 * np.eye(error.start.size)
    slopes = [(error.value(theta + h) - error.value(theta - h)) / 2e-6 for h in steps]
    slopes = np.array(slopes)
    if not fit_intercept:
        slopes[8:10] = 0.0  # the biases stay
    np.testing.assert_allclose(error.gradient(theta), slopes, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("algorithm", ["gd", "lbfgs"])
def test_learning_widths_and_centres_lowers_the_loss(rows, algorithm):
    X, y = rows
    first = RBFNetwork(6, random_state=0).fit(X, y).score(X, y)
    scores = []
    for learn in ("widths", "centers"):
        model = RBFNetwork(6, algorithm=algorithm, learn=learn, max_iter=60, random_state=0)
        with pytest.warns(ConvergenceWarning, match="max_iter"):
            scores.append(model.fit(X, y).score(X, y))
    assert first < scores[0] < scores[1]


def test_divergence_is_named_and_keeps_the_last_finite_weights(rows):
    X, y = rows
    model = RBFNetwork(6, algorithm="gd", learn="weights", learning_rate=1e6, max_iter=500, random_state=0)
    with pytest.raises(ValueError, match=r"not finite in pass \d+ .* than 1e\+06, such as 1e\+05"):
        model.fit(X, y)
    assert np.isfinite(model.weights_).all()


def test_widths():
    X = np.array([[0.0], [1.0], [3.0], [7.0]])
    y = np.arange(4.0)
    spread = RBFNetwork(centers="all", width="spread").fit(X, y)
    np.testing.assert_allclose(spread.beta_, 4 / 49)
    nearest = RBFNetwork(centers="all", width="nearest").fit(X, y)
    np.testing.assert_allclose(1 / nearest.beta_, [1 + 9, 1 + 4, 4 + 9, 16 + 36])
    given = RBFNetwork(centers=X, width=[1.0, 2.0, 3.0, 4.0]).fit(X, y)
    np.testing.assert_allclose(given.beta_, 1 / np.arange(1.0, 5.0) ** 2)
    assert RBFNetwork(1).fit(X, y).beta_.tolist() == [1.0]


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"width": -1.0}, "width"),
        ({"width": [1.0, 2.0]}, "width must be a positive number, or one for each of the 3 centres"),
        ({"beta": [1.0, 0.0, 1.0]}, "beta must be a positive number"),
        ({"centers": [[1.0]]}, r"shape \(n_units, 2\); got an array of shape \(1, 1\)"),
        ({"n_units": 0}, "n_units"),
    ],
)
def test_wrong_parameters_are_named(parameters, words):
    X = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 0.0]])
    with pytest.raises(ValueError, match=words):
        RBFNetwork(**{"centers": X, **parameters}).fit(X, [0.0, 1.0, 2.0])


def test_equal_rows_are_one_unit():
    X = np.repeat([[0.0], [1.0]], 5, axis=0)
    for centers in ("kmeans", "random", "all"):
        assert len(RBFNetwork(4, centers=centers, random_state=0).fit(X, X[:, 0]).beta_) <= 2


@pytest.mark.parametrize("algorithm", ["lstsq", "gd"])
def test_several_outputs_are_those_of_one_each(rows, algorithm):
    X, y = rows
    options = {"centers": X[:8], "width": 1.0, "algorithm": algorithm, "learn": "weights", "max_iter": 10}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        both = RBFNetwork(**options, tol=0.0).fit(X, np.column_stack([y, y**2]))
        single = RBFNetwork(**options, tol=0.0).fit(X, y**2)
    np.testing.assert_allclose(both.predict(X)[:, 1], single.predict(X), rtol=1e-9, atol=1e-12)


def test_classifier_probabilities_and_decisions(rows):
    X, y = rows
    for labels in (np.where(y > 0.5, "high", "low"), np.digitize(y, [0.0, 1.0])):
        model = RBFNetworkClassifier(20, random_state=0).fit(X, labels)
        p = model.predict_proba(X)
        np.testing.assert_allclose(p.sum(axis=1), 1.0)
        assert p.min() >= 0
        assert np.array_equal(model.classes_[p.argmax(axis=1)], model.predict(X))
        assert model.score(X, labels) > 0.85
    far = model.predict_proba(np.full((1, 2), 1e9))  # only the biases are left, the shares of the classes
    np.testing.assert_allclose(far.sum(), 1.0)


def test_class_weight_is_a_sample_weight(rows):
    X, y = rows
    labels = (y > 1.5).astype(int)
    balanced = RBFNetworkClassifier(centers=X[:8], class_weight="balanced").fit(X, labels)
    share = np.bincount(labels) / len(labels)
    weighted = RBFNetworkClassifier(centers=X[:8]).fit(X, labels, sample_weight=0.5 / share[labels])
    np.testing.assert_allclose(balanced.weights_, weighted.weights_, rtol=1e-8)


@pytest.mark.parametrize("algorithm", ["lstsq", "gd", "lbfgs"])
def test_rows_beyond_the_reach_of_a_unit_have_no_activation(algorithm):
    X = np.array([[0.0], [1e100], [2e100]])
    model = RBFNetwork(centers=[[0.0]], beta=1e200, algorithm=algorithm, learn="weights")
    with np.errstate(over="raise"), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, [1.0, 0.0, 0.0])
    assert model.hidden_activations(X).ravel().tolist() == [1.0, 0.0, 0.0]
