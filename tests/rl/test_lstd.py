"""Least-squares temporal differences."""

import pickle

import numpy as np
import pytest

from tercet.core.callbacks import Recorder
from tercet.io import load_model, save_model
from tercet.rl import LSTD, MDP, LinearTD, RadialBasisFeatures, TileCoding, action_probabilities
from tests.rl.linear_worlds import VectorWorld, random_model, random_walk, ring


def test_it_is_the_projected_fixed_point():
    """Π T V = V in the norm of the visits, of a model without chance, whose sample is exact."""
    mdp, table = ring(), np.random.default_rng(0).normal(size=(6, 3))
    for discount in (0.0, 0.5, 0.95, 1.0):
        agent = LSTD(np.ones(6, dtype=int), table, n_episodes=3, discount=discount, random_state=0).fit(mdp)
        phi, visits = table[:5], np.eye(5) / 5  # each state is visited once
        P = np.eye(6)[1:6] @ np.vstack([table[:5], np.zeros(3)])  # φ of the next state, 0 at the end
        r = np.arange(5.0)
        V = phi @ agent.coef_
        projection = phi @ np.linalg.solve(phi.T @ visits @ phi, phi.T @ visits)
        np.testing.assert_allclose(projection @ (r + discount * P @ agent.coef_), V, atol=1e-9)


def test_it_comes_near_the_fixed_point_of_a_random_model():
    mdp, table = random_model(), np.random.default_rng(0).normal(size=(8, 3))
    agent = LSTD(features=table, n_episodes=20_000, discount=0.8, random_state=0).fit(mdp)
    policy = action_probabilities(None, mdp)
    weight = policy[mdp.pair_states, mdp.pair_actions]
    P, r = np.zeros((8, 8)), np.zeros(8)
    np.add.at(P, mdp.pair_states, weight[:, None] * mdp.probabilities.toarray())
    np.add.at(r, mdp.pair_states, weight * mdp.pair_rewards)
    inside = P[:7, :7]
    D = np.diag(np.linalg.solve(np.eye(7) - inside.T, mdp.start[:7]))  # expected visits of an episode
    theta = np.linalg.solve(table[:7].T @ D @ (table[:7] - 0.8 * inside @ table[:7]), table[:7].T @ D @ r[:7])
    np.testing.assert_allclose(agent.coef_, theta, atol=0.05)


def equations(world, table, discount, decay):
    """A, b and the rows and returns of a log of steps."""
    d = table.shape[1]
    A, b, z, n = np.zeros((d, d)), np.zeros(d), np.zeros(d), 0
    for x, _, r, u, terminated, over in world.log:
        z = discount * decay * z + table[x]
        A += np.outer(z, table[x] - (0 if terminated else discount) * table[u])
        b += r * z
        n += 1
        if over:
            z = np.zeros(d)
    return A / n, b / n


@pytest.mark.parametrize("decay", [0.0, 0.6, 1.0])
@pytest.mark.parametrize("ridge", [0.0, 0.1])
def test_it_solves_the_equations_of_the_steps(decay, ridge):
    table = np.random.default_rng(0).normal(size=(6, 3))
    world = VectorWorld(table=table, length=7)
    agent = LSTD(n_episodes=40, discount=0.9, trace_decay=decay, ridge=ridge, random_state=0).fit(world)
    A, b = equations(world, table, 0.9, decay)
    np.testing.assert_allclose(agent.coef_, np.linalg.solve(A + ridge * np.eye(3), b), rtol=1e-8)
    assert len(world.log) == agent.n_steps_


def test_lstd_1_is_a_regression_on_the_returns():
    table = np.random.default_rng(0).normal(size=(6, 3))
    world = VectorWorld(table=table, length=1000)
    agent = LSTD(n_episodes=40, discount=0.9, trace_decay=1.0, random_state=0).fit(world)
    rows, returns, G = [], [], 0.0
    for x, _, r, _, _, over in reversed(world.log):
        G = r + (0.0 if over else 0.9 * G)
        rows.append(table[x])
        returns.append(G)
    np.testing.assert_allclose(
        agent.coef_, np.linalg.lstsq(np.array(rows), np.array(returns), rcond=None)[0], rtol=1e-8
    )


def test_a_model_teaches_what_an_environment_does():
    mdp, table = ring(), np.random.default_rng(1).normal(size=(6, 3))
    options = {"n_episodes": 12, "discount": 0.9, "trace_decay": 0.6, "random_state": 4}
    in_model = LSTD(None, table, **options).fit(mdp)
    in_world = LSTD(None, None, **options).fit(VectorWorld(mdp, table, 1000))
    np.testing.assert_allclose(in_world.coef_, in_model.coef_, rtol=1e-8)
    sample = LSTD(features=TileCoding(3, 2), n_episodes=5, random_state=0).fit(
        VectorWorld(mdp, table[:, :2], 1000)
    )
    assert sample.coef_.shape == (2 * 16,)
    assert np.isfinite(sample.coef_).all()


def test_indicators_give_the_values_of_the_model_that_was_seen():
    walk = random_walk()
    agent = LSTD(n_episodes=3000, discount=1.0, random_state=0).fit(walk)
    np.testing.assert_allclose(agent.V_, [0, 1 / 6, 2 / 6, 3 / 6, 4 / 6, 5 / 6, 0], atol=0.03)
    assert agent.coef_[0] == agent.coef_[6] == 0.0, "features that were never seen have no weight"


def test_it_does_not_diverge_where_td_does():
    mdp = MDP([[[0, 1]], [[0, 1]]], [[1.0], [0.0]], terminal=[], start=0)
    agent = LSTD(features=[[1.0], [2.0]], n_episodes=10, max_steps=1, discount=0.99).fit(mdp)
    assert agent.coef_ == pytest.approx([1 / (1 - 2 * 0.99)])


def test_history_and_callbacks():
    recorder = Recorder()
    agent = LSTD(n_episodes=10, discount=1.0, random_state=0).set_callbacks(recorder).fit(random_walk())
    assert set(agent.history_) == {"episode", "mean_return", "mean_length", "truncated"}
    alone = LSTD(n_episodes=10, discount=1.0, random_state=0).fit(random_walk())
    np.testing.assert_array_equal(alone.coef_, agent.coef_)


def test_pickles_and_files(tmp_path):
    agent = LSTD(features=RadialBasisFeatures(3), n_episodes=5, ridge=1e-6, random_state=0)
    agent.fit(VectorWorld(table=np.random.default_rng(0).normal(size=(6, 2))))
    X = np.random.default_rng(1).normal(size=(9, 2))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(agent)).value(X), agent.value(X))
    save_model(tmp_path / "agent.skops", agent, {})
    np.testing.assert_array_equal(load_model(tmp_path / "agent.skops")[0].value(X), agent.value(X))
    agent.coef_ = np.ones(4)
    with pytest.raises(ValueError, match="features gives 9 numbers for an observation; coef_ has 4"):
        agent.value(X)


def test_bad_parameters():
    with pytest.raises(ValueError, match="parameter 'ridge' must be a number in"):
        LSTD(ridge=-1.0).fit(random_walk())
    wide = LinearTD(features=np.zeros((7, 10_001)), n_episodes=1, discount=1.0).fit(random_walk())
    assert wide.coef_.shape == (10_001,)
    with pytest.raises(ValueError, match=r"features gives 10001 features; the most are 10000\. Use LinearTD"):
        LSTD(features=np.zeros((7, 10_001)), discount=1.0).fit(random_walk())
