"""Q-learning with linear action values."""

import pickle

import numpy as np
import pytest
from scipy.optimize import linprog

from tercet.core.steps import ConvergenceWarning
from tercet.io import load_model, save_model
from tercet.rl import MDP, FourierFeatures, LinearQLearning, LinearSarsa, QLearning, Schedule
from tests.rl.linear_worlds import VectorWorld, plain, random_model, ring


@pytest.mark.parametrize(
    "options",
    [{}, {"trace_decay": 0.8}, {"exploration": "softmax"}, {"n_steps": 211, "epsilon": 0.5}],
    ids=str,
)
def test_indicators_of_states_make_it_the_tabular_method(options):
    mdp = random_model()
    options = {"n_episodes": 60, "discount": 0.9, "random_state": 3, **options}
    table, agent = QLearning(**options).fit(mdp), LinearQLearning(**options).fit(mdp)
    np.testing.assert_allclose(agent.Q_, table.Q_, rtol=1e-7, atol=1e-9)
    np.testing.assert_array_equal(agent.episode_lengths_, table.episode_lengths_)


@pytest.mark.parametrize(
    ("decay", "kind"), [(0.0, "accumulating"), (0.7, "accumulating"), (0.7, "replacing")]
)
def test_it_makes_the_steps_of_the_book(decay, kind):
    mdp, table = random_model(1), np.random.default_rng(5).normal(size=(8, 4))
    options = {"discount": 0.9, "n_episodes": 15}
    agent = LinearQLearning(
        table, learning_rate=0.02, trace_decay=decay, traces=kind, random_state=7, **options
    ).fit(mdp)
    phi = lambda x, a: (np.eye(3)[a][:, None] * table[x]).ravel()  # noqa: E731
    theta = plain(mdp, phi, alpha=0.02, decay=decay, kind=kind, rule="q", seed=7, **options)
    np.testing.assert_allclose(agent.coef_.ravel(), theta, rtol=1e-7, atol=1e-9)


def test_an_environment_of_vectors_teaches_what_the_model_does():
    mdp, table = ring(), np.random.default_rng(1).normal(size=(6, 3))
    options = {"n_episodes": 30, "discount": 0.9, "learning_rate": 0.02, "max_steps": 50, "random_state": 4}
    in_model = LinearQLearning(table, **options).fit(mdp)
    in_world = LinearQLearning(**options).fit(VectorWorld(mdp, table))
    np.testing.assert_allclose(in_world.coef_, in_model.coef_, rtol=1e-9)
    np.testing.assert_allclose(in_world.action_values(table[:5]), in_model.Q_[:5], rtol=1e-9)


def test_it_finds_the_optimal_values():
    """Those of a linear program: min Σ V, V(x) >= r(x, a) + γ Σ P V."""
    mdp = random_model(4)
    rate = Schedule("linear", 0.2, 0.002, length=60_000)
    agent = LinearQLearning(
        n_episodes=12_000, discount=0.8, learning_rate=rate, epsilon=0.5, random_state=0
    ).fit(mdp)
    P = mdp.probabilities.toarray()
    P[:, mdp.terminal] = 0.0
    constraints = 0.8 * P - np.eye(mdp.n_states)[mdp.pair_states]
    V = linprog(np.ones(mdp.n_states), constraints, -mdp.pair_rewards, bounds=(None, None)).x
    np.testing.assert_allclose(agent.V_[:-1], V[:-1], atol=0.1)


def baird():
    """Baird's star: every state leads to the last one, without a reward; updates of all states alike "
    "(off-policy)."""
    P = np.zeros((7, 1, 7))
    P[:, 0, 6] = 1.0
    table = np.hstack([2 * np.eye(7), np.ones((7, 1))])
    table[6, 6], table[6, 7] = 1.0, 2.0
    return MDP(P, np.zeros((7, 1)), terminal=[], start=np.ones(7) / 7), table


def test_bairds_counterexample_is_told_and_leaves_finite_weights():
    mdp, table = baird()
    agent = LinearQLearning(table, n_episodes=1, max_steps=1, warm_start=True, random_state=0).fit(mdp)
    agent.coef_ = np.array([[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 10.0, 1.0]])
    agent.n_episodes = 200_000
    with pytest.warns(
        ConvergenceWarning, match=r"the weights diverged within \d+ steps; the last finite ones are kept"
    ):
        agent.fit(mdp)
    assert np.isfinite(agent.coef_).all()
    assert np.isfinite(agent.Q_).all()
    assert agent.n_episodes_ < 200_000, "the fit ends when weights diverge"
    agent.coef_ = np.array([[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 10.0, 1.0]])
    agent.set_params(n_episodes=2000, learning_rate=0.02)
    with pytest.warns(
        ConvergenceWarning, match="the weights diverge: in the last pass the mean TD error was"
    ):
        agent.fit(mdp)


def test_on_policy_updates_of_the_same_features_do_not_diverge():
    mdp, table = baird()
    agent = LinearSarsa(table, n_episodes=1, random_state=0, warm_start=True, learning_rate=0.01).fit(mdp)
    agent.coef_ = np.array([[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 10.0, 1.0]])
    agent.set_params(n_episodes=40, max_steps=5000).fit(mdp)
    assert np.abs(agent.Q_[6]).max() < 0.01  # at first 12
    assert np.abs(agent.Q_).max() < 2.0


def test_fourier_features_learn_the_way_through_a_corridor():
    table = np.linspace(0, 9, 21)[:, None]
    P, R = np.zeros((21, 2, 21)), np.full((21, 2), -1.0)
    for x in range(20):
        P[x, 0, max(x - 1, 0)] = P[x, 1, x + 1] = 1
    P[20, :, 20], R[20] = 1, 0.0
    corridor = MDP(P, R, start=0)
    agent = LinearQLearning(
        FourierFeatures(5, scaled=True),
        n_episodes=100,
        discount=1.0,
        learning_rate=0.3,
        normalize=True,
        random_state=0,
    ).fit(VectorWorld(corridor, table, 500))
    np.testing.assert_array_equal(agent.predict(table[:20]), np.ones(20))


def test_seeds_pickles_and_files(tmp_path):
    world = VectorWorld(table=np.random.default_rng(0).normal(size=(6, 2)))
    agent = LinearQLearning(FourierFeatures(2), n_episodes=10, learning_rate=0.01, random_state=0).fit(world)
    again = LinearQLearning(FourierFeatures(2), n_episodes=10, learning_rate=0.01, random_state=0).fit(world)
    np.testing.assert_array_equal(again.coef_, agent.coef_)
    X = np.random.default_rng(1).normal(size=(9, 2))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(agent)).action_values(X), agent.action_values(X))
    save_model(tmp_path / "agent.skops", agent, {})
    np.testing.assert_array_equal(load_model(tmp_path / "agent.skops")[0].predict(X), agent.predict(X))


def test_bad_parameters():
    with pytest.raises(ValueError, match="parameter 'traces' must be one of 'accumulating', 'replacing'"):
        LinearQLearning(traces="dutch").fit(random_model())
    with pytest.raises(ValueError, match="parameter 'learning_rate' must be"):
        LinearQLearning(learning_rate=-1.0).fit(random_model())
