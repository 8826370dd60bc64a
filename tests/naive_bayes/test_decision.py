"""Bayes' theorem, risks and decisions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tercet.linear_model import LogisticRegression, Perceptron
from tercet.naive_bayes import (
    BayesDecisionClassifier,
    GaussianNB,
    bayes_decision,
    bayes_risk,
    conditional_risk,
    posterior,
)

COSTS = [[0, 1, 10], [2, 0, 5], [4, 3, 0]]


def overlapping(n=200, labels=(0, 1), seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(len(labels), size=n)
    return y[:, None] + rng.normal(size=(n, 2)), np.asarray(labels)[y]


def test_posterior_of_the_beard():
    np.testing.assert_allclose(posterior([0.6, 0.4], [0.5, 0.025]), [30 / 31, 1 / 31])


def test_posterior_of_the_impossible_is_the_prior_and_tiny_densities_do_not_vanish():
    found = posterior([0.25, 0.75], [[0.0, 0.0], [1e-320, 0.0], [3e-310, 1e-310]])
    np.testing.assert_allclose(found, [[0.25, 0.75], [1.0, 0.0], [0.5, 0.5]])


def test_reference_case_of_the_risk():
    np.testing.assert_allclose(conditional_risk([0.6, 0.3, 0.1], COSTS), [1.3, 1.7, 3.3])
    assert bayes_decision([0.6, 0.3, 0.1], COSTS) == 0
    assert bayes_decision([0.6, 0.3, 0.1], COSTS, reject=1.2) == -1
    assert bayes_decision([0.6, 0.3, 0.1], COSTS, reject=1.3) == 0


probabilities = arrays(float, (7, 3), elements=st.floats(0.01, 1)).map(
    lambda a: a / a.sum(axis=1, keepdims=True)
)


@settings(max_examples=50, deadline=None)
@given(P=probabilities, costs=arrays(float, (3, 3), elements=st.floats(-5, 5)), reject=st.floats(0, 2))
def test_no_rule_costs_less_than_bayes(P, costs, reject):
    risk = conditional_risk(P, costs)
    for j in range(3):  # to decide always the same
        assert bayes_risk(P, costs) <= risk[:, j].mean() + 1e-12
    assert bayes_risk(P, costs, reject) <= min(bayes_risk(P, costs), reject) + 1e-12
    # with equal costs of errors the least risk is the greatest posterior, and what is left of it the risk
    np.testing.assert_array_equal(bayes_decision(P), P.argmax(axis=1))
    assert bayes_risk(P, weight=np.arange(7) + 1.0) == pytest.approx(
        np.average(1 - P.max(axis=1), weights=np.arange(7) + 1.0)
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: posterior([0.5, -0.5], [1, 1]), "prior must hold"),
        (lambda: posterior([0.5, 0.5], [1, 1, 1]), "for each of 2 classes"),
        (lambda: posterior([0.5, 0.5], [np.nan, 1]), "likelihood must hold"),
        (lambda: conditional_risk([0.5, np.nan]), "posterior must hold"),
        (lambda: conditional_risk([0.5, 0.5], [[1, 2, 3]]), "a column for each of 2 classes"),
        (lambda: conditional_risk([0.5, 0.5], [[0, np.inf], [1, 0]]), "finite numbers"),
    ],
)
def test_errors_name_what_is_wrong(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_without_costs_it_is_the_estimator():
    X, y = overlapping()
    model = BayesDecisionClassifier(GaussianNB()).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), GaussianNB().fit(X, y).predict(X))
    np.testing.assert_array_equal(model.predict_proba(X), GaussianNB().fit(X, y).predict_proba(X))


def test_costs_move_the_border_to_where_both_decisions_cost_the_same():
    X, y = overlapping()
    costs = [[0, 9], [1, 0]]
    model = BayesDecisionClassifier(LogisticRegression(), costs=costs).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), (model.predict_proba(X)[:, 1] >= 0.1).astype(int))
    np.testing.assert_allclose(model.conditional_risk(X), model.predict_proba(X) @ np.transpose(costs))


@pytest.mark.parametrize(
    ("labels", "given", "answer", "kind"),
    [
        ((0, 1), None, -1, "i"),
        ((0.0, 1.0), None, -1.0, "f"),
        (("no", "yes"), None, "reject", "U"),
        (("no", "yes"), "who knows?", "who knows?", "U"),
        (("no", "yes"), -1, -1, "O"),
        ((0, 1), "?", "?", "O"),
    ],
)
def test_rejected_rows_get_their_own_label(labels, given, answer, kind):
    X, y = overlapping(labels=labels)
    model = BayesDecisionClassifier(GaussianNB(), reject=0.2, reject_label=given).fit(X, y)
    said, sure = model.predict(X), model.predict_proba(X).max(axis=1) >= 0.8
    assert said.dtype.kind == kind
    assert 0 < sure.sum() < len(sure)
    assert all(word == answer for word in said[~sure])
    np.testing.assert_array_equal(said[sure], GaussianNB().fit(X, y).predict(X)[sure])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"reject": 0.1, "reject_label": 1}, "reject_label=1 must not be one of the classes"),
        ({"reject": -0.1}, "parameter 'reject' must be"),
        ({"costs": np.ones((3, 3))}, "a column for each of 2 classes"),
        ({"costs": np.ones((3, 2))}, "a row for each of 2 classes; got 3"),
    ],
)
def test_wrong_options(options, message):
    X, y = overlapping()
    with pytest.raises(ValueError, match=message):
        BayesDecisionClassifier(GaussianNB(), **options).fit(X, y)


def test_an_estimator_without_probabilities_is_refused():
    with pytest.raises(ValueError, match="must have predict_proba; got Perceptron"):
        BayesDecisionClassifier(Perceptron()).fit(*overlapping())


def test_weights_reach_the_estimator():
    X, y = overlapping()
    weight = np.random.default_rng(1).integers(0, 3, len(y))
    some = np.repeat(np.arange(len(y)), weight)
    model = BayesDecisionClassifier(GaussianNB(), costs=[[0, 2], [1, 0]])
    weighted = model.fit(X, y, sample_weight=weight).predict_proba(X)
    np.testing.assert_allclose(weighted, model.fit(X[some], y[some]).predict_proba(X), rtol=1e-9)
