"""Cascade-correlation: the score of a candidate, its gradient, frozen weights, growth, and the two spirals."""

import numpy as np
import pytest
from scipy import sparse

from tercet.datasets.texts.watermelon_ch03_5 import two_spirals
from tercet.neural_network import CascadeCorrelation, CascadeCorrelationClassifier, candidate_correlation
from tercet.neural_network.cascade_correlation import CandidatePool, Quickprop, StandardizedInputs


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3)) * [1.0, 10.0, 0.1] + [0.0, 50.0, 0.0]
    return X, np.sin(2 * X[:, 0]) * (X[:, 1] - 50) / 10


def test_candidate_correlation_weighs_rows_as_repeats():
    rng = np.random.default_rng(0)
    V, E, count = rng.normal(size=9), rng.normal(size=(9, 3)), rng.integers(0, 4, 9)
    found = candidate_correlation(V, E, count)
    repeated = candidate_correlation(np.repeat(V, count), np.repeat(E, count, axis=0))
    assert found == pytest.approx(repeated)


def test_candidate_of_one_output_is_a_covariance():
    rng = np.random.default_rng(1)
    V, E = rng.normal(size=(2, 50))
    assert candidate_correlation(V, E) == pytest.approx(50 * abs(np.cov(V, E, bias=True)[0, 1]))


@pytest.mark.parametrize("activation", ["tanh", "logistic", "gaussian"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_candidate_gradient_is_that_of_finite_differences(rows, activation, form):
    X, _ = rows
    rng = np.random.default_rng(2)
    E, H, weight = rng.normal(size=(80, 2)), rng.normal(size=(80, 2)), rng.random(80)
    model = CascadeCorrelation(activation=activation)
    inputs = StandardizedInputs.of(form(X), weight, None)
    pool = CandidatePool(model, form(X), H, E, weight, inputs)
    theta = rng.normal(size=6)
    value, gradient = pool.value_and_gradient(theta)
    V, _ = pool.values(theta)
    assert -value * pool.bound == pytest.approx(candidate_correlation(V, E, weight))
    slopes = [(pool.value(theta + h) - pool.value(theta - h)) / 2e-6 for h in 1e-6 * np.eye(6)]
    np.testing.assert_allclose(gradient, slopes, rtol=1e-5, atol=1e-9)


def test_hidden_weights_are_frozen(rows):
    X, y = rows
    small = CascadeCorrelation(max_units=2, random_state=0).fit(X, y)
    large = CascadeCorrelation(max_units=5, random_state=0).fit(X, y)
    np.testing.assert_array_equal(small.hidden_weights_[:, :5], large.hidden_weights_[:2, :5])
    np.testing.assert_array_equal(large.hidden_activations(X)[:, :2], small.hidden_activations(X))
    later = large.hidden_weights_[:, 3:]
    assert np.array_equal(later, np.tril(later, -1)), "a unit sees the units before it only"


@pytest.mark.parametrize("activation", ["tanh", "logistic", "gaussian"])
@pytest.mark.parametrize("algorithm", ["lbfgs", "quickprop"])
def test_the_loss_falls_with_each_unit(rows, activation, algorithm):
    X, y = rows
    model = CascadeCorrelation(6, activation=activation, algorithm=algorithm, alpha=0.0, random_state=0).fit(
        X, y
    )
    losses = np.array(model.history_["loss"])
    assert (np.diff(losses) <= 1e-12).all()
    assert losses[-1] < losses[0] / 3
    assert losses[-1] == pytest.approx(0.5 * np.mean((y - model.predict(X)) ** 2))


def test_correlation_in_the_history_is_that_of_the_unit(rows):
    X, y = rows
    before = CascadeCorrelation(max_units=0).fit(X, y)
    model = CascadeCorrelation(max_units=1, random_state=0).fit(X, y)
    V = model.hidden_activations(X)[:, 0]
    assert model.history_["correlation"][1] == pytest.approx(candidate_correlation(V, y - before.predict(X)))


def test_without_units_it_is_linear_regression(rows):
    X, y = rows
    model = CascadeCorrelation(max_units=0, alpha=0.0).fit(X, np.column_stack([y, X @ [1.0, 2.0, 3.0]]))
    assert model.hidden_activations(X).shape == (80, 0)
    np.testing.assert_allclose(model.output_weights_[1], [1.0, 2.0, 3.0])
    np.testing.assert_allclose(model.predict(X)[:, 1], X @ [1.0, 2.0, 3.0])


@pytest.mark.parametrize("kind", [CascadeCorrelation, CascadeCorrelationClassifier])
def test_weights_are_repeated_rows(rows, kind):
    X, y = rows
    y = y if kind is CascadeCorrelation else np.digitize(y, [-0.3, 0.3])
    count = np.random.default_rng(3).integers(0, 4, 80)
    model = kind(max_units=2, random_state=0)
    one = model.fit(X, y, sample_weight=count).history_["loss"]
    two = model.fit(np.repeat(X, count, axis=0), np.repeat(y, count)).history_["loss"]
    np.testing.assert_allclose(one, two, rtol=1e-5)


@pytest.mark.parametrize("algorithm", ["lbfgs", "quickprop"])
def test_candidates_in_threads_give_the_same_bits(rows, algorithm):
    X, y = rows
    one = CascadeCorrelation(3, algorithm=algorithm, random_state=0, n_jobs=1).fit(X, y)
    two = CascadeCorrelation(3, algorithm=algorithm, random_state=0, n_jobs=4).fit(X, y)
    assert np.array_equal(one.hidden_weights_, two.hidden_weights_)
    assert np.array_equal(one.output_weights_, two.output_weights_)


def test_large_sparse_rows_are_not_made_dense():
    rng = np.random.default_rng(4)
    X = sparse.random_array((700, 100), density=0.05, rng=rng, format="csr")
    y = (X[:, [0]].toarray() + X[:, [1]].toarray() > 0.1).astype(int).ravel()
    found = CascadeCorrelationClassifier(1, n_candidates=2, random_state=0).fit(X, y)
    dense = CascadeCorrelationClassifier(1, n_candidates=2, random_state=0).fit(X.toarray(), y)
    np.testing.assert_allclose(found.history_["loss"], dense.history_["loss"], rtol=1e-3)
    np.testing.assert_allclose(found.predict_proba(X), found.predict_proba(X.toarray()), rtol=1e-9)


def test_two_spirals_are_separated():
    assert two_spirals(97, 25) == {"errors": 0, "fewer units than allowed": True}


def test_growth_stops_where_no_unit_helps():
    X = np.random.default_rng(5).normal(size=(60, 2))
    model = CascadeCorrelation(8, tol=0.5, n_iter_no_change=1, random_state=0).fit(X, X[:, 0])
    assert model.n_iter_ <= 2
    constant = CascadeCorrelation(8, random_state=0).fit(X, np.zeros(60))
    assert len(constant.hidden_intercept_) == 0
    assert CascadeCorrelationClassifier(8, target_loss=10.0).fit(X, X[:, 0] > 0).n_iter_ == 1


def test_quickprop_jumps_to_the_minimum_of_a_parabola():
    rule, theta = Quickprop(), np.array([1.0])
    for _ in range(12):
        theta = rule.step(theta, 0.8 * (theta - 3.0))
    assert theta[0] == pytest.approx(3.0, abs=1e-3)


def test_classes_have_probabilities(rows):
    X, y = rows
    for labels in (np.where(y > 0, "up", "down"), np.digitize(y, [-0.3, 0.3])):
        model = CascadeCorrelationClassifier(4, random_state=0).fit(X, labels)
        p = model.predict_proba(X)
        np.testing.assert_allclose(p.sum(axis=1), 1.0)
        assert np.array_equal(model.classes_[p.argmax(axis=1)], model.predict(X))
        assert model.score(X, labels) > 0.8
    assert model.decision_function(X).shape == (80, 3)


def test_a_file_whose_arrays_do_not_fit_is_refused(rows):
    X, y = rows
    model = CascadeCorrelation(2, random_state=0).fit(X, y)
    state = model.__getstate__()
    state["hidden_weights_"] = state["hidden_weights_"][:, :-1]
    state["output_weights_"] = state["output_weights_"][:, :-1]
    with pytest.raises(ValueError, match="hidden_weights_ has 4 columns; expected 5"):
        CascadeCorrelation().__setstate__(state)


def test_a_score_needs_an_error_for_each_value():
    with pytest.raises(ValueError, match=r"V has the shape \(2,\) and E \(3,\)"):
        candidate_correlation([1, 2], [1, 2, 3])
