"""Least-squares policy iteration."""

import pickle

import numpy as np
import pytest

from tercet.core.steps import ConvergenceWarning
from tercet.io import load_model, save_model
from tercet.rl import LSPI, MDP, RadialBasisFeatures
from tests.rl.linear_worlds import Stay, VectorWorld, random_model, ring


def optimal(P, r, allowed, discount):
    """Optimal values of arrays (S, A, S) and (S, A), by value iteration."""
    Q = np.zeros(r.shape)
    for _ in range(3000):
        Q = np.where(allowed, r + discount * P @ Q.max(axis=1, where=allowed, initial=-np.inf), -np.inf)
    return Q


def test_indicators_give_the_best_policy_of_the_model_that_was_seen():
    """The fixed point of the sample is the optimal Q of the model that the sample estimates."""
    mdp = random_model()
    agent = LSPI(n_episodes=400, discount=0.9, random_state=0).fit(mdp)
    counts, totals = np.zeros((8, 3, 8)), np.zeros((8, 3))
    for episode in mdp.simulate(None, 400, random_state=np.random.default_rng(0)):
        np.add.at(counts, (episode.states[:-1], episode.actions, episode.states[1:]), 1)
        np.add.at(totals, (episode.states[:-1], episode.actions), episode.rewards)
    assert agent.n_steps_ == counts.sum()
    n = counts.sum(axis=2)
    seen = mdp.allowed[:7] & (n[:7] > 0)
    assert seen.sum() == mdp.allowed[:7].sum()
    P, r = counts / np.maximum(n, 1)[..., None], totals / np.maximum(n, 1)
    P[..., 7], P[7], r[7] = 0.0, 0.0, 0.0
    Q = optimal(P[:7, :, :7], r[:7], mdp.allowed[:7], 0.9)
    np.testing.assert_allclose(agent.Q_[:7], Q, rtol=1e-7, atol=1e-9)
    assert agent.Q_[7].tolist() == [0, 0, 0]
    np.testing.assert_array_equal(agent.policy_, np.argmax(agent.Q_, axis=1))
    assert agent.history_["change"][-1] <= 1e-6 * np.abs(agent.coef_).max()


@pytest.mark.parametrize("form", ["blocks", "joint", "concatenate"])
def test_its_weights_are_a_fixed_point(form):
    mdp, rng = random_model(3), np.random.default_rng(1)
    table = rng.normal(size=(8, 3, 2))
    agent = LSPI(
        table if form == "joint" else table[:, 0], action_features=form, n_episodes=300, discount=0.5, ridge=1e-3,
        random_state=0,
    ).fit(mdp)  # fmt: skip

    def phi(x, a):
        if form == "joint":
            return table[x, a]
        if form == "concatenate":
            return np.concatenate([table[x, 0], np.eye(3)[a]])
        return (np.eye(3)[a][:, None] * table[x, 0]).ravel()

    theta = agent.coef_.ravel()
    A, b, n = np.zeros((theta.size, theta.size)), np.zeros(theta.size), 0
    for episode in mdp.simulate(None, 300, random_state=np.random.default_rng(0)):
        for x, a, r, u in zip(episode.states, episode.actions, episode.rewards, episode.states[1:]):
            q = [theta @ phi(u, k) if mdp.allowed[u, k] else -np.inf for k in range(3)]
            later = 0 if mdp.terminal[u] else 0.5 * phi(u, int(np.argmax(q)))
            A += np.outer(phi(x, a), phi(x, a) - later)
            b += r * phi(x, a)
            n += 1
    np.testing.assert_allclose((A / n + 1e-3 * np.eye(theta.size)) @ theta, b / n, atol=1e-6)
    if form == "concatenate":
        assert len(set(agent.policy_[2:7])) == 1


def test_an_environment_of_vectors():
    """The optimal way round the ring: on at once, without a wait."""
    table = np.linspace(0, 1, 6)[:, None]
    agent = LSPI(RadialBasisFeatures(11, low=0.0, high=1.0), n_episodes=60, discount=0.9, random_state=0)
    agent.fit(VectorWorld(ring(), table, 1000, first_action=1))
    np.testing.assert_array_equal(agent.predict(table[:5]), [2] * 5)
    exact = [sum(0.9 ** (k - x) * k for k in range(x, 5)) for x in range(5)]
    np.testing.assert_allclose(agent.action_values(table[:5])[:, 1], exact, rtol=1e-5)

    def phi(x, a):
        place = np.eye(6)[round(5 * x[0])]
        return np.concatenate([place * (a == 1), place * (a == 2)])

    joint = LSPI(phi, action_features="joint", n_episodes=60, discount=0.9, random_state=0)
    joint.fit(VectorWorld(ring(), table, 1000, first_action=1))
    np.testing.assert_allclose(joint.action_values(table[:5])[:, 1], exact, rtol=1e-5)


def test_truncated_steps_bootstrap_and_terminated_ones_do_not():
    ended = LSPI(n_episodes=30, discount=0.5, random_state=0).fit(Stay(True))
    np.testing.assert_allclose(ended.coef_, [[1.0], [1.0]])
    truncated = LSPI(n_episodes=30, discount=0.5, random_state=0).fit(Stay(False))
    np.testing.assert_allclose(truncated.coef_, [[2.0], [2.0]])
    assert truncated.n_truncated_ == 30


def test_policies_of_the_sample_and_limits():
    mdp = ring()
    agent = LSPI(policy=np.ones(6, dtype=int), n_episodes=4, discount=0.9, random_state=0).fit(mdp)
    assert agent.episode_lengths_.tolist() == [5] * 4
    np.testing.assert_allclose(agent.coef_[0], np.zeros(6), atol=1e-12)
    assert LSPI(n_episodes=10, n_steps=23, discount=0.9, random_state=0).fit(mdp).n_steps_ == 23
    assert LSPI(n_episodes=10, n_steps=23, discount=0.9, random_state=0).fit(VectorWorld()).n_steps_ == 23


def test_no_convergence_is_told():
    with pytest.warns(
        ConvergenceWarning, match="LSPI did not converge in 1 passes .* Policies may alternate"
    ):
        LSPI(n_episodes=50, discount=0.9, max_iter=1, random_state=0).fit(random_model())


def test_pickles_and_files(tmp_path):
    agent = LSPI(
        np.random.default_rng(0).normal(size=(8, 4)), n_episodes=50, discount=0.5, random_state=0
    ).fit(random_model())
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(agent)).Q_, agent.Q_)
    save_model(tmp_path / "agent.skops", agent, {})
    np.testing.assert_array_equal(
        load_model(tmp_path / "agent.skops")[0].predict([1, 2]), agent.predict([1, 2])
    )


def test_bad_parameters():
    with pytest.raises(ValueError, match="parameter 'max_iter' must be an integer in"):
        LSPI(max_iter=0).fit(ring())
    with pytest.raises(ValueError, match="discount=1 needs a terminal state"):
        LSPI(discount=1.0).fit(MDP([[[0, 1]], [[1, 0]]], np.ones((2, 1))))
    with pytest.raises(ValueError, match="features gives 12000 weights; the most are 10000"):
        LSPI(np.zeros((6, 6000))).fit(ring())
