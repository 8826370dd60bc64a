"""The engine of the random field against the plain recursions of the text."""

import itertools

import numpy as np
import pytest

from tercet.sequence import (
    CRF,
    crf_forward,
    crf_iis_update,
    crf_iterative_scaling,
    crf_log_likelihood,
    crf_marginals,
    crf_matrices,
    crf_viterbi,
)
from tercet.sequence.crf._engine.marginals import best_paths, chain_marginals
from tercet.sequence.crf._engine.transition_tables import TransitionTables
from tests.sequence.crf_data import corpus
from tests.sequence.test_crf_forms import X, Y, learner
from tests.sequence.test_crf_objective import random_data

BORDERS = np.array([0, 4, 5, 11, 14])


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("scale", [1.0, 2000.0])
def test_marginals_and_best_paths_of_many_chains(shared, scale):
    """Also where scaled numbers underflow."""
    rng = np.random.default_rng(0)
    scores, tables = scale * rng.normal(size=(14, 4)), scale * rng.normal(size=(1 if shared else 3, 4, 4))
    of_token = rng.integers(len(tables), size=14)
    transitions = tables[0] if shared else TransitionTables(tables, of_token)
    found, (paths, values) = (
        chain_marginals(scores, BORDERS, transitions),
        best_paths(scores, BORDERS, transitions),
    )
    edges = np.zeros(tables.shape)
    for s, (a, b) in enumerate(itertools.pairwise(BORDERS)):
        chain = crf_matrices(scores[a:b], tables[of_token[a + 1 : b]])
        node, edge = crf_marginals(chain)
        np.add.at(edges, of_token[a + 1 : b], edge[1:-1])
        np.testing.assert_allclose(found.node[a:b], node, atol=1e-9)
        assert found.log_z[s] == pytest.approx(crf_forward(chain)[-1, 0], rel=1e-12)
        best = crf_viterbi(chain)
        assert paths[a:b].tolist() == best.path
        assert values[s] == pytest.approx(best.score)
    np.testing.assert_allclose(found.edge, edges[0] if shared else edges, atol=1e-9)


@pytest.mark.parametrize("features", ["all", "seen"])
def test_objective_and_gradient(features):
    """Σ -log P(y|x) + l2 |w|²; by the chain rule its gradient is X' (expected less observed labels)."""
    rng = np.random.default_rng(1)
    objective = random_data(rng, n=20, labels=4, features=features)
    X, chosen = objective.X, objective.features
    w = rng.normal(size=chosen.size)
    W, U = np.zeros((chosen.n_attributes, 4)), chosen.transition_table(w)
    W[chosen.attribute, chosen.label] = chosen.split(w)[0]
    value, states, transitions = objective.l2 * w @ w, np.zeros(W.shape), np.zeros(U.shape)
    for s, (a, b) in enumerate(itertools.pairwise(X.borders)):
        log_p, node, edge = crf_log_likelihood(X[s] @ W, U, objective.y[a:b])
        value -= objective.weight[s] * log_p
        states -= objective.weight[s] * (X[s].T @ node)
        transitions -= objective.weight[s] * edge
    f, g = objective.value_and_gradient(w)
    assert f == pytest.approx(value, rel=1e-12)
    g = chosen.split(g - 2 * objective.l2 * w)
    np.testing.assert_allclose(g[0], states[chosen.attribute, chosen.label], atol=1e-11)
    np.testing.assert_allclose(g[1], transitions[tuple(chosen.transitions.T)], atol=1e-11)


def test_a_fitted_model():
    sentences, tags = corpus()
    model = CRF(c2=0.1).fit(sentences, tags)
    rows, chain = model._given(sentences), model._chain()
    best, proba, log_p = (
        model.predict(sentences),
        model.predict_proba(sentences),
        model.log_likelihood(sentences, tags),
    )
    for s in range(len(sentences)):
        scores, _ = chain.observation_scores((s, s + 1), rows)
        matrices = crf_matrices(scores, chain.transitions)
        np.testing.assert_allclose(proba[s], crf_marginals(matrices)[0], atol=1e-12)
        assert best[s] == model.classes_[crf_viterbi(matrices).path].tolist()
        codes = np.searchsorted(model.classes_, tags[s])
        assert log_p[s] == pytest.approx(crf_log_likelihood(scores, chain.transitions, codes)[0])


def test_gradient_of_the_plain_log_likelihood():
    rng = np.random.default_rng(0)
    scores, U, y, h = rng.normal(size=(5, 3)), rng.normal(size=(3, 3)), rng.integers(3, size=5), 1e-6
    _, node, edge = crf_log_likelihood(scores, U, y)
    dS, dU = rng.normal(size=scores.shape), rng.normal(size=U.shape)
    up, down = (crf_log_likelihood(scores + h * sign * dS, U + h * sign * dU, y)[0] for sign in (1, -1))
    assert (up - down) / (2 * h) == pytest.approx((node * dS).sum() + (edge * dU).sum(), rel=1e-6)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("algorithm", ["iis-s", "iis-t"])
def test_the_first_update_of_iterative_scaling(algorithm):
    model, objective = learner(weights=np.zeros(4)), learner().objective(X, Y)
    paths = [itertools.product((0, 1), repeat=len(x)) for x in X]
    largest = np.array([max(model.features(x, y).sum() for y in every) for x, every in zip(X, paths)])
    totals = np.unique(largest) if algorithm == "iis-t" else np.array([largest.max()])
    expected = np.zeros((totals.size, 4))
    for x, t in zip(X, largest):
        expected[np.searchsorted(totals, t)] += model.expected_features(x) / len(X)
    found = crf_iterative_scaling(objective, algorithm=algorithm, max_iter=1)
    np.testing.assert_allclose(found.x, crf_iis_update(objective.empirical, expected, totals), atol=1e-10)
