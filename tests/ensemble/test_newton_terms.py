"""Derivatives of losses in one pass: those of the plain formulas."""

import numpy as np
import pytest
from scipy.special import expit, log_softmax, softmax

from tercet.ensemble._engine.newton_terms import BINOMIAL, MULTINOMIAL, SQUARED, NewtonTerms
from tercet.ensemble.boosting.hist_gradient_boosting_classifier import HistGradientBoostingClassifier


@pytest.mark.parametrize("weighted", [False, True])
def test_plain_formulas(weighted):
    rng = np.random.default_rng(0)
    n = 300
    weight = rng.random(n) + 0.5 if weighted else np.ones(n)
    F = 4.0 * rng.standard_normal((3, n))
    F[0, :4] = 800.0, -800.0, 0.0, -36.0
    labels = rng.integers(0, 3, n)
    p, P = expit(F[:1]), softmax(F, axis=0)
    expected = {
        SQUARED: (F[:1] - labels, np.ones((1, n)), 0.5 * (F[0] - labels) ** 2),
        BINOMIAL: (p - (labels > 1), p * (1 - p), np.logaddexp(0.0, F[0]) - (labels > 1) * F[0]),
        MULTINOMIAL: (
            P - (labels == np.arange(3)[:, None]),
            P * (1 - P),
            -log_softmax(F, axis=0)[labels, np.arange(n)],
        ),
    }
    for kind, (g, h, loss) in expected.items():
        terms = NewtonTerms(kind, labels > 1 if kind == BINOMIAL else labels, weight, len(g), n_jobs=2)
        terms.update(F[: len(g)].copy())
        np.testing.assert_allclose(terms.gradients, weight * g, atol=1e-15 * np.abs(g).max() * 4)
        np.testing.assert_allclose(terms.hessians, weight * h, atol=1e-15)
        np.testing.assert_allclose(terms.loss, np.average(loss, weights=weight), rtol=1e-13)
        for k, total in enumerate(terms.totals):
            own = weight * h[k]
            expected_totals = np.abs(weight * g[k]).sum(), own.sum(), own.min(), own.max()
            np.testing.assert_allclose(total, expected_totals, rtol=1e-12, atol=1e-15)


def test_a_table_of_trees_is_made_once_and_again_for_other_trees():
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((120, 3)), rng.integers(0, 2, 120)
    model = HistGradientBoostingClassifier(max_iter=3).fit(X, y)
    before = model.decision_function(X)
    np.testing.assert_array_equal(model.decision_function(X), before)
    model.trees_ = model.trees_[:2]
    *_, last = model.staged_decision_function(X)
    np.testing.assert_allclose(model.decision_function(X), last, rtol=1e-12)
    assert not np.allclose(model.decision_function(X), before)
