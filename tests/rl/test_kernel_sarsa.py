"""Sarsa for action values in a kernel's space."""

import pickle

import gymnasium
import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from tercet.io import load_model, save_model
from tercet.rl import KernelSarsa, LinearSarsa, QLearning
from tests.rl.linear_worlds import VectorWorld, plain, random_model, ring


@pytest.mark.parametrize(
    "options", [{}, {"trace_decay": 0.7}, {"expected": True}, {"exploration": "softmax"}], ids=str
)
def test_a_linear_kernel_makes_it_linear_sarsa(options):
    mdp, table = random_model(), np.random.default_rng(0).normal(size=(8, 3))
    options = {"n_episodes": 40, "discount": 0.9, "learning_rate": 0.02, "random_state": 1, **options}
    linear = LinearSarsa(table, **options).fit(mdp)
    agent = KernelSarsa("linear", features=table, novelty=0.0, **options).fit(mdp)
    np.testing.assert_allclose(agent.Q_, linear.Q_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(agent.dual_coef_ @ agent.dictionary_, linear.coef_, rtol=1e-7, atol=1e-9)
    np.testing.assert_array_equal(agent.predict([0, 1, 2]), linear.policy_[:3])


def test_in_an_environment_of_vectors_too():
    table = np.random.default_rng(0).normal(size=(6, 3))
    options = {"n_episodes": 15, "discount": 0.9, "learning_rate": 0.02, "random_state": 1}
    linear = LinearSarsa(**options).fit(VectorWorld(table=table))
    agent = KernelSarsa("linear", novelty=0.0, **options).fit(VectorWorld(table=table))
    np.testing.assert_allclose(agent.action_values(table), linear.action_values(table), rtol=1e-7)
    np.testing.assert_array_equal(agent.predict(table), linear.predict(table))
    assert agent.action_values(table[0]).shape == (2,)


def test_it_makes_the_steps_of_functions():
    mdp = random_model(1)
    root = np.linalg.cholesky(rbf_kernel(np.arange(8.0)[:, None], gamma=0.3))
    options = {"discount": 0.9, "n_episodes": 15}
    agent = KernelSarsa(gamma=0.3, novelty=0.0, learning_rate=0.1, random_state=7, **options).fit(mdp)
    phi = lambda x, a: (np.eye(3)[a][:, None] * root[x]).ravel()  # noqa: E731
    theta = plain(mdp, phi, alpha=0.1, seed=7, **options)
    Q = root @ theta.reshape(3, 8).T
    Q[-1], Q[~mdp.allowed] = 0.0, -np.inf
    np.testing.assert_allclose(agent.Q_, Q, rtol=1e-7, atol=1e-9)


def test_a_narrow_kernel_is_a_table():
    mdp = random_model()
    agent = KernelSarsa(gamma=50.0, n_episodes=1000, discount=0.8, epsilon=0.3, random_state=0).fit(mdp)
    table = QLearning(n_episodes=1000, discount=0.8, epsilon=0.3, random_state=0).fit(mdp)
    assert agent.dictionary_.shape == (8, 1)
    assert (agent.policy_[:7] == table.policy_[:7]).mean() > 0.7


def test_mountain_car():
    """A Gaussian kernel on scaled inputs, with some hundred centres."""
    low, high = np.array([-1.2, -0.07]), np.array([0.6, 0.07])
    agent = KernelSarsa(
        features=lambda x: (x - low) / (high - low), gamma=25.0, novelty=0.1, n_episodes=60, discount=1.0,
        learning_rate=0.2, epsilon=0.0, trace_decay=0.9, random_state=0,
    ).fit(gymnasium.make("MountainCar-v0", max_episode_steps=1000))  # fmt: skip
    assert 30 < len(agent.dictionary_) < 300
    assert agent.episode_returns_[-20:].mean() > -180


def test_pickles_and_files(tmp_path):
    table = np.random.default_rng(0).normal(size=(6, 2))
    agent = KernelSarsa(n_episodes=10, gamma=0.5, random_state=0).fit(VectorWorld(table=table))
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(agent)).action_values(table), agent.action_values(table)
    )
    save_model(tmp_path / "agent.skops", agent, {})
    np.testing.assert_array_equal(
        load_model(tmp_path / "agent.skops")[0].predict(table), agent.predict(table)
    )


def test_bad_parameters():
    with pytest.raises(ValueError, match="parameter 'traces' must be one of 'accumulating', 'dutch'"):
        KernelSarsa(traces="replacing").fit(ring())
    with pytest.raises(ValueError, match="traces='dutch' cannot be used with expected=True"):
        KernelSarsa(traces="dutch", trace_decay=0.5, expected=True).fit(ring())
