"""TemporalDifference: TD(0), n-step TD and TD(λ)."""

import warnings

import gymnasium as gym
import numpy as np
import pytest

from tercet.rl import MDP, QLearning, Schedule, TemporalDifference, epsilon_greedy_policy, td_update
from tests.rl.td_reference import (
    Simulator,
    as_states,
    deterministic_mdp,
    n_step_values,
    offline_lambda_values,
    online_lambda_values,
    policy_values,
    random_mdp,
    recorder,
    three_states,
    trace_values,
)


def test_td_update():
    V = np.array([0.5, 2.0])
    assert td_update(V, 0, 1.0, 1, learning_rate=0.1, discount=0.9) == pytest.approx(0.73)
    assert V[0] == pytest.approx(0.73)
    assert td_update(V, 1, 1.0, 0, learning_rate=0.5, discount=0.9, terminated=True) == 1.5
    with pytest.raises(
        TypeError, match="td_update: the table is changed, so it must be an array of floats; got list"
    ):
        td_update([0.0, 1.0], 0, 1.0, 1, learning_rate=0.1, discount=0.9)


FAST = {"learning_rate": Schedule("harmonic", 1.0, 0.0005, per="visit"), "discount": 0.9, "random_state": 0}


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"bootstrap_steps": 3},
        {"trace_decay": 0.5},
        {"trace_decay": 0.5, "traces": "dutch"},
        {"trace_decay": 1.0, "offline": True},
    ],
    ids=repr,
)
def test_values_of_the_uniform_policy(parameters):
    """Reference case 3: V = (8.46934881, 6.24093442, 0)."""
    found = TemporalDifference(n_episodes=60_000, **FAST, **parameters).fit(three_states())
    np.testing.assert_allclose(found.V_, [8.46934881, 6.24093442, 0.0], atol=0.1)


@pytest.mark.parametrize("seed", range(3))
def test_values_of_random_policies(seed):
    mdp, rng = random_mdp(seed), np.random.default_rng(seed)
    policy = rng.dirichlet(np.ones(3), size=6)
    found = TemporalDifference(policy, n_episodes=100_000, **FAST).fit(mdp)
    V, _ = policy_values(mdp, policy, 0.9)
    np.testing.assert_allclose(found.V_, V, atol=0.05)
    np.testing.assert_array_equal(found.policy_, policy.argmax(axis=1))


@pytest.mark.parametrize("limit", [10**9, 5])
@pytest.mark.parametrize("seed", range(3))
class TestAgainstPlainPython:
    """Online and offline, forward and backward; with episodes that end and that are cut off."""

    alpha, discount = 0.3, 0.9

    def run(self, seed, limit, **parameters):
        kind = recorder(TemporalDifference)
        found = kind(
            n_episodes=20, learning_rate=self.alpha, discount=self.discount, random_state=seed, initial_value=0.5,
            **parameters,
        ).fit(Simulator(random_mdp(seed, ends=0.1), limit))  # fmt: skip
        return found, as_states(found.log), np.full(6, 0.5)

    def same(self, found, expected):
        np.testing.assert_allclose(found.V_, expected, atol=1e-7, rtol=1e-7)

    @pytest.mark.parametrize("n", [1, 2, 4, 1000])
    @pytest.mark.parametrize("offline", [False, True])
    def test_n_steps(self, seed, limit, n, offline):
        found, episodes, V = self.run(seed, limit, bootstrap_steps=n, offline=offline)
        self.same(found, n_step_values(episodes, V, n, self.alpha, self.discount, offline))

    @pytest.mark.parametrize("kind", ["accumulating", "replacing"])
    @pytest.mark.parametrize("decay", [0.6, 1.0])
    def test_traces(self, seed, limit, kind, decay):
        found, episodes, V = self.run(seed, limit, trace_decay=decay, traces=kind)
        self.same(found, trace_values(episodes, V, decay, self.alpha, self.discount, kind))

    @pytest.mark.parametrize("decay", [0.6, 1.0])
    def test_offline_traces_are_lambda_returns(self, seed, limit, decay):
        found, episodes, V = self.run(seed, limit, trace_decay=decay, offline=True)
        self.same(found, offline_lambda_values(episodes, V, decay, self.alpha, self.discount))

    @pytest.mark.parametrize("decay", [0.6, 1.0])
    def test_dutch_traces_are_online_lambda_returns(self, seed, limit, decay):
        found, episodes, V = self.run(seed, limit, trace_decay=decay, traces="dutch")
        self.same(found, online_lambda_values(episodes, V, decay, self.alpha, self.discount))


def test_online_monte_carlo_is_the_mean_of_the_returns():
    found = recorder(TemporalDifference)(
        n_episodes=40, discount=0.9, bootstrap_steps=10**6, learning_rate=Schedule("harmonic", per="visit"),
        random_state=0,
    ).fit(Simulator(random_mdp(0)))  # fmt: skip
    returns = [[] for _ in range(5)]
    for episode in as_states(found.log):
        G = 0.0
        for x, r, _, _ in reversed(episode):
            G = r + 0.9 * G
            returns[x].append(G)
    np.testing.assert_allclose(found.V_[:5], [np.mean(some) for some in returns], rtol=1e-12)


def test_forms_of_a_policy():
    mdp = random_mdp(0)
    actions = np.array([0, 2, 1, 1, 0, 0])
    options = {"n_episodes": 50, "random_state": 0}
    found = TemporalDifference(actions, **options).fit(mdp)
    np.testing.assert_array_equal(found.policy_, actions)
    fitted = QLearning(20, random_state=0).fit(mdp)
    fitted.policy_ = actions
    for policy in (
        np.eye(3)[actions],
        lambda x: actions[x],
        fitted,
        epsilon_greedy_policy(np.eye(3)[actions], 0),
    ):
        for world in (mdp, Simulator(mdp)):
            again = TemporalDifference(policy, **options).fit(world)
            np.testing.assert_array_equal(again.policy_, actions)
        np.testing.assert_array_equal(TemporalDifference(policy, **options).fit(mdp).V_, found.V_)


def test_a_dict_of_names():
    mdp = MDP(
        [[[0, 1], [1, 0]], [[0, 1], [0, 1]]], [1.0, 0.0], start="a", states=["a", "b"], actions=["on", "stay"]
    )
    found = TemporalDifference({"a": "on"}, n_episodes=100, random_state=0).fit(mdp)
    assert found.value("a") == pytest.approx(1.0, abs=1e-4)
    with pytest.raises(TypeError, match="policy may be a dict for an MDP alone"):
        TemporalDifference({0: 1}).fit(Simulator(mdp))


def test_an_agent_of_an_environment_with_other_numbers():
    class Shifted(Simulator):
        def __init__(self, mdp):
            super().__init__(mdp)
            self.action_space = gym.spaces.Discrete(3, start=5)
            self.observation_space = gym.spaces.Discrete(6, start=2)

        def reset(self, **options):
            x, info = super().reset(**options)
            return x + 2, info

        def step(self, action):
            x, *rest = super().step(action - 5)
            return x + 2, *rest

    mdp = random_mdp(0)
    fitted = QLearning(200, random_state=0).fit(Shifted(mdp))
    found = TemporalDifference(fitted, n_episodes=20, random_state=0).fit(Shifted(mdp))
    np.testing.assert_array_equal(found.policy_, fitted.policy_)
    assert found.value(3) == found.V_[1]
    np.testing.assert_array_equal(found.value([2, 4]), found.V_[[0, 2]])


def test_only_states_that_the_policy_gets_to_are_missed():
    P = np.zeros((4, 2, 4))
    P[0, 0, 1] = P[0, 1, 2] = P[1, :, 3] = P[2, :, 3] = P[3, :, 3] = 1
    mdp = MDP(P, [0.0, 1.0, 5.0, 0.0], start="a", states=["a", "b", "c", "end"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = TemporalDifference([0, 0, 0, 0], n_episodes=200, random_state=0).fit(mdp)
    assert found.value("c") == 0.0
    assert found.n_visits_.tolist() == [200, 200, 0, 0]
    with pytest.warns(
        UserWarning, match=r"TemporalDifference: 1 of 4 states were never visited \('c'\).*Raise n_epi"
    ):
        TemporalDifference([[0.9, 0.1]] * 4, n_episodes=3, random_state=0).fit(mdp)


def test_td_error_in_the_history():
    mdp = deterministic_mdp(0)
    found = TemporalDifference([0] * 6, n_episodes=200, learning_rate=0.5, random_state=0).fit(mdp)
    errors = found.history_["td_error"]
    path = mdp.table(mdp.pair_rewards)[:5, 0]
    assert errors[0] == pytest.approx(np.abs(path).mean())
    assert errors[-1] < 1e-9


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"bootstrap_steps": 2, "trace_decay": 0.5},
            "bootstrap_steps above 1 cannot be used with trace_decay",
        ),
        (
            {"offline": True, "trace_decay": 0.5, "traces": "dutch"},
            "traces='dutch' cannot be used with offline",
        ),
        ({"traces": "other"}, "parameter 'traces' must be one of"),
        ({"policy": [0, 1]}, r"policy must have the shape \(3,\)"),
        ({"policy": [[0.5, 0.6]] * 3}, "policy must hold probabilities"),
        ({"learning_rate": 0.0}, "parameter 'learning_rate' must be"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        TemporalDifference(**parameters).fit(three_states())
