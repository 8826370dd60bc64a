"""Sarsa: Sarsa, expected Sarsa, n-step Sarsa and Sarsa(λ)."""

import functools
import operator

import gymnasium as gym
import numpy as np
import pytest

from tercet.rl import MDP, QLearning, Sarsa, Schedule, epsilon_greedy_policy, sarsa_update, softmax_policy
from tests.rl.td_reference import (
    Simulator,
    as_pairs,
    deterministic_mdp,
    n_step_values,
    online_lambda_values,
    optimal_values,
    policy_values,
    random_mdp,
    recorder,
    three_states,
    trace_values,
)

FADING = Schedule("exponential", 0.5, 0.0003, length=8000, per="visit")
EACH = [{}, {"expected": True}, {"bootstrap_steps": 3}, {"bootstrap_steps": 3, "expected": True}]
EACH += [
    {"trace_decay": 0.5},
    {"trace_decay": 0.5, "expected": True},
    {"trace_decay": 0.5, "traces": "dutch"},
]


def test_update_of_the_book():
    """Reference case 6: Sarsa 0.64, expected Sarsa with ε = 0.2 0.721."""
    Q = np.array([[0.5, 0.0], [1.0, 2.0]])
    options = {"learning_rate": 0.1, "discount": 0.9}
    assert sarsa_update(Q.copy(), 0, 0, 1.0, 1, 0, **options) == pytest.approx(0.64, rel=1e-15)
    row = epsilon_greedy_policy(Q, 0.2)[1]
    assert sarsa_update(Q.copy(), 0, 0, 1.0, 1, probabilities=row, **options) == pytest.approx(
        0.721, rel=1e-15
    )
    assert sarsa_update(Q, 0, 0, 1.0, 1, terminated=True, **options) == pytest.approx(0.55, rel=1e-15)
    np.testing.assert_allclose(Q, [[0.55, 0.0], [1.0, 2.0]])
    Q[1, 0] = -np.inf  # an action that is not allowed, and has the probability 0
    assert np.isfinite(sarsa_update(Q, 0, 0, 1.0, 1, probabilities=[0.0, 1.0], **options))


@pytest.mark.parametrize("more", [{}, {"next_action": 0, "probabilities": [0.5, 0.5]}])
def test_update_needs_one_of_two(more):
    with pytest.raises(
        ValueError, match="sarsa_update: next_action or probabilities must be given, and not both"
    ):
        sarsa_update(np.zeros((2, 2)), 0, 0, 1.0, 1, learning_rate=0.1, discount=0.9, **more)


def test_update_checks_shapes():
    with pytest.raises(ValueError, match=r"probabilities must have the shape \(2,\); got \(3,\)"):
        sarsa_update(np.zeros((2, 2)), 0, 0, 1.0, 1, probabilities=[0, 0, 1], learning_rate=0.1, discount=0.9)


@pytest.mark.parametrize("limit", [10**9, 6])
@pytest.mark.parametrize("seed", range(3))
class TestAgainstPlainPython:
    def run(self, seed, limit, **parameters):
        options = {"learning_rate": 0.3, "discount": 0.9, "epsilon": 0.4, "initial_value": 0.5, **parameters}
        agent = recorder(Sarsa)(20, random_state=seed, **options)
        return (
            agent.fit(Simulator(random_mdp(seed, ends=0.1), limit)),
            as_pairs(agent.log, 3),
            np.full(18, 0.5),
        )

    def same(self, agent, Q):
        np.testing.assert_allclose(agent.Q_.ravel(), Q, atol=1e-7)

    def test_steps(self, seed, limit):
        agent, _, _ = self.run(seed, limit)
        Q = np.full((6, 3), 0.5)
        for episode in agent.log:
            for i, (x, a, r, u, b, ends) in enumerate(episode):
                sarsa_update(Q, x, a, r, u, b, learning_rate=0.3, discount=0.9, terminated=ends)
                assert (
                    ends or i == len(episode) - 1 or (u, b) == episode[i + 1][:2]
                )  # a' is what is done next
        np.testing.assert_allclose(agent.Q_, Q, rtol=1e-12)

    @pytest.mark.parametrize("softmax", [False, True])
    def test_expected(self, seed, limit, softmax):
        more = {"exploration": "softmax", "temperature": 0.7} if softmax else {}
        agent, _, _ = self.run(seed, limit, expected=True, **more)
        Q = np.full((6, 3), 0.5)
        for x, a, r, u, _, ends in functools.reduce(operator.iadd, agent.log, []):
            policy = softmax_policy(Q, 0.7) if softmax else epsilon_greedy_policy(Q, 0.4)
            sarsa_update(
                Q, x, a, r, u, probabilities=policy[u], learning_rate=0.3, discount=0.9, terminated=ends
            )
        np.testing.assert_allclose(agent.Q_, Q, rtol=1e-12)

    @pytest.mark.parametrize("n", [1, 2, 5, 1000])
    def test_n_steps(self, seed, limit, n):
        agent, episodes, Q = self.run(seed, limit, bootstrap_steps=n)
        self.same(agent, n_step_values(episodes, Q, n, 0.3, 0.9))

    @pytest.mark.parametrize("kind", ["accumulating", "replacing"])
    def test_traces(self, seed, limit, kind):
        agent, episodes, Q = self.run(seed, limit, trace_decay=0.7, traces=kind)
        self.same(agent, trace_values(episodes, Q, 0.7, 0.3, 0.9, kind))

    def test_dutch_traces_are_online_lambda_returns(self, seed, limit):
        agent, episodes, Q = self.run(seed, limit, trace_decay=0.7, traces="dutch")
        self.same(agent, online_lambda_values(episodes, Q, 0.7, 0.3, 0.9))

    def test_n_step_expected(self, seed, limit):
        """n-step expected Sarsa ends in the expectation of the values."""
        n = 3
        agent, _, _ = self.run(seed, limit, bootstrap_steps=n, expected=True)
        Q = np.full((6, 3), 0.5)
        for episode in agent.log:
            T = len(episode)
            for t in range(T + n - 1):
                if t < T:
                    _, _, _, u, _, ends = episode[t]
                    ahead = 0.0 if ends else epsilon_greedy_policy(Q, 0.4)[u] @ Q[u]
                first = t - n + 1
                if first >= 0:
                    last = min(first + n, T)
                    G = sum(0.9 ** (i - first) * episode[i][2] for i in range(first, last))
                    G += 0.9 ** (last - first) * ahead
                    x, a = episode[first][:2]
                    Q[x, a] += 0.3 * (G - Q[x, a])
        np.testing.assert_allclose(agent.Q_, Q, rtol=1e-9)


@pytest.mark.parametrize("parameters", EACH, ids=str)
def test_values_of_the_uniform_policy(parameters):
    """Reference case 3: Q = ((8.421, 8.517), (5.308, 7.173)). With ε = 1 the policy is uniform."""
    agent = Sarsa(100_000, discount=0.9, learning_rate=FADING, epsilon=1.0, random_state=0, **parameters)
    agent.fit(three_states())
    expected = [[8.42129934, 8.51739827], [5.30842049, 7.17344835], [0.0, 0.0]]
    np.testing.assert_allclose(agent.Q_, expected, atol=0.1)


@pytest.mark.parametrize("seed", range(3))
def test_values_of_the_policy_that_explores(seed):
    """With a fixed ε the values end at those of their own ε-greedy policy."""
    mdp = random_mdp(seed)
    agent = Sarsa(
        200_000, discount=0.9, learning_rate=FADING, epsilon=0.3, expected=True, random_state=seed
    ).fit(mdp)
    _, Q = policy_values(mdp, epsilon_greedy_policy(agent.Q_, 0.3), 0.9)
    np.testing.assert_allclose(agent.Q_, Q, atol=0.06)


@pytest.mark.parametrize("seed", range(3))
def test_less_and_less_exploration_leads_to_the_best_policy(seed):
    mdp = random_mdp(seed)
    agent = Sarsa(
        300_000, discount=0.9, learning_rate=Schedule("linear", 0.3, 0.0005, length=1_400_000),
        epsilon=Schedule("linear", 1.0, 0.02, length=1_000_000), random_state=seed,
    ).fit(mdp)  # fmt: skip
    best = optimal_values(mdp, 0.9).max(axis=1)
    V, _ = policy_values(mdp, np.eye(3)[agent.policy_], 0.9)
    np.testing.assert_allclose(V, best, atol=0.1)
    np.testing.assert_allclose(agent.V_, best, atol=0.1)


@pytest.mark.parametrize("seed", range(3))
def test_exact_values_of_a_certain_world(seed):
    """With certain transitions and α = 1, expected Sarsa with ε = 1 is the evaluation of the uniform policy."""
    mdp = deterministic_mdp(seed)
    agent = Sarsa(5000, discount=0.9, learning_rate=1.0, epsilon=1.0, expected=True, random_state=0).fit(mdp)
    _, Q = policy_values(mdp, np.full((6, 3), 1 / 3), 0.9)
    np.testing.assert_allclose(agent.Q_, Q, atol=1e-10)


def test_cliff_walking_takes_the_safe_path():
    """Sutton and Barto (2018), Example 6.6: Sarsa keeps away from the cliff, at a return of -17 in place of -13."""
    cliff = MDP.from_gymnasium(gym.make("CliffWalking-v1"))
    for seed in range(3):
        agent = Sarsa(
            50_000, discount=1.0, learning_rate=Schedule("linear", 0.5, 0.001, length=10**6), random_state=seed
        ).fit(cliff)  # fmt: skip
        path = follow(cliff, agent.policy_)
        assert len(path) == 17
        assert set(range(1, 11)) <= set(path)


def follow(cliff, policy):
    """The states of a walk."""
    x, path = 36, []
    while x != 47 and len(path) < 100:
        path.append(int(x))
        x = cliff.model.successors[cliff.model.indptr[cliff.pair_index[x, policy[x]]]]
    return path


def test_cliff_walking_is_better_while_learning():
    """The sum of rewards while learning is above that of Q-learning, which walks along the cliff."""
    options = {"n_episodes": 500, "discount": 1.0, "learning_rate": 0.5, "random_state": 0}
    returns = [
        kind(**options).fit("CliffWalking-v1").episode_returns_[200:].mean() for kind in (Sarsa, QLearning)
    ]
    assert returns[0] > returns[1] + 10


def test_the_best_policy_that_explores():
    """Expected Sarsa ends at the best of the ε-greedy policies, which policy iteration finds."""
    cliff = MDP.from_gymnasium(gym.make("CliffWalking-v1"))
    agent = Sarsa(
        50_000, expected=True, discount=1.0, learning_rate=Schedule("linear", 0.5, 0.001, length=10**6),
        random_state=0,
    ).fit(cliff)  # fmt: skip
    Q = np.zeros((48, 4))
    for _ in range(100):
        V, Q = policy_values(cliff, epsilon_greedy_policy(Q, 0.1), 1.0)
    path = follow(cliff, Q.argmax(axis=1))
    assert len(path) == 15
    assert follow(cliff, agent.policy_) == path
    np.testing.assert_allclose(agent.Q_[path].max(axis=1), Q[path].max(axis=1), atol=0.01)
    assert V[36] == pytest.approx(-20.7076774, abs=1e-6)


def test_no_step_limit_of_the_window():
    """A window that is longer than any episode takes no more memory than an episode has steps."""
    agent = Sarsa(50, bootstrap_steps=2**40, max_steps=20, discount=0.9, random_state=0).fit(random_mdp(0))
    whole = Sarsa(50, bootstrap_steps=20, max_steps=20, discount=0.9, random_state=0).fit(random_mdp(0))
    np.testing.assert_array_equal(agent.Q_, whole.Q_)


def test_allowed_actions():
    P, R = np.zeros((2, 3, 2)), np.array([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]])
    P[:, :, 1] = 1
    mdp = MDP(P, R, allowed=[[True, False, True], [True, True, True]], start=0)
    agent = Sarsa(500, expected=True, epsilon=0.5, random_state=0).fit(mdp)
    assert agent.n_visits_[0, 1] == 0
    assert agent.Q_[0, 1] == -np.inf
    np.testing.assert_allclose(agent.Q_[0, [0, 2]], [1.0, 3.0], atol=1e-3)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"bootstrap_steps": 2, "trace_decay": 0.5},
            "Sarsa: bootstrap_steps above 1 cannot be used with trace_decay",
        ),
        (
            {"expected": True, "trace_decay": 0.5, "traces": "dutch"},
            "traces='dutch' cannot be used with expected=True",
        ),
        ({"bootstrap_steps": 0}, "Sarsa: parameter 'bootstrap_steps' must be"),
        ({"traces": "none"}, "Sarsa: parameter 'traces' must be one of"),
        ({"epsilon": Schedule("constant", 1.1)}, "Sarsa: epsilon must stay in"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        Sarsa(**parameters).fit(three_states())
