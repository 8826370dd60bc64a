"""QLearning: Q-learning, double Q-learning and Watkins's Q(λ)."""

import functools
import operator
import warnings

import gymnasium as gym
import numpy as np
import pytest

from tercet.rl import MDP, QLearning, Schedule, q_learning_update
from tercet.rl._engine.tables import PAUSE, STATE, STEPS
from tercet.rl.learning.q_learning import q_learning_episodes
from tests.rl.td_reference import (
    Simulator,
    dense,
    deterministic_mdp,
    optimal_values,
    random_mdp,
    recorder,
    three_states,
)

FADING = Schedule("exponential", 0.5, 0.0003, length=8000, per="visit")


def undiscounted(mdp, policy, sweeps=3000):
    """Mean return of a policy, by iteration."""
    P, R = dense(mdp)
    x, V = np.arange(mdp.n_states), np.zeros(mdp.n_states)
    for _ in range(sweeps):
        V = R[x, policy] + P[x, policy] @ V
    return float(mdp.start @ V)


def test_update_of_the_book():
    """Reference case 6: 0.73."""
    Q = np.array([[0.5, 0.0], [1.0, 2.0]])
    assert q_learning_update(Q, 0, 0, 1.0, 1, learning_rate=0.1, discount=0.9) == pytest.approx(
        0.73, rel=1e-15
    )
    np.testing.assert_allclose(Q, [[0.73, 0.0], [1.0, 2.0]])
    assert q_learning_update(Q, 1, 1, 1.0, 0, learning_rate=0.5, discount=0.9, terminated=True) == 1.5
    with pytest.raises(
        TypeError, match="q_learning_update: the table is changed, so it must be an array of floats"
    ):
        q_learning_update([[0.0]], 0, 0, 1.0, 0, learning_rate=0.1, discount=0.9)


@pytest.mark.parametrize("limit", [10**9, 6])
@pytest.mark.parametrize("seed", range(3))
def test_steps_are_the_updates_of_the_book(seed, limit):
    agent = recorder(QLearning)(50, learning_rate=0.3, discount=0.9, epsilon=0.4, random_state=seed)
    agent.fit(Simulator(random_mdp(seed), limit))
    Q = np.zeros((6, 3))
    for x, a, r, u, _, ends in functools.reduce(operator.iadd, agent.log, []):
        q_learning_update(Q, x, a, r, u, learning_rate=0.3, discount=0.9, terminated=ends)
    np.testing.assert_allclose(agent.Q_, Q, rtol=1e-12)
    np.testing.assert_array_equal(agent.V_, agent.Q_.max(axis=1))
    np.testing.assert_array_equal(agent.policy_, agent.Q_.argmax(axis=1))
    assert [len(episode) for episode in agent.log] == agent.episode_lengths_.tolist()
    assert agent.n_truncated_ == sum(not episode[-1][5] for episode in agent.log)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "parameters", [{}, {"double": True}, {"exploration": "softmax"}, {"trace_decay": 0.4}], ids=str
)
def test_optimal_values_of_random_models(seed, parameters):
    mdp = random_mdp(seed)
    agent = QLearning(
        150_000, discount=0.9, learning_rate=FADING, epsilon=0.5, random_state=seed, **parameters
    )
    agent.fit(mdp)
    np.testing.assert_allclose(agent.Q_, optimal_values(mdp, 0.9), atol=0.06)


def test_optimal_values_of_the_book():
    """Reference case 3: policy (a1, a1), Q* = ((9.978, 10.169), (6.141, 8.091))."""
    agent = QLearning(200_000, discount=0.9, learning_rate=FADING, epsilon=0.5, random_state=0).fit(
        three_states()
    )
    np.testing.assert_allclose(
        agent.Q_, [[9.97833263, 10.16927634], [6.14113415, 8.09140923], [0.0, 0.0]], atol=0.1
    )
    assert agent.policy_[:2].tolist() == [1, 1]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("parameters", [{}, {"double": True}, {"trace_decay": 0.5}], ids=str)
def test_exact_values_of_a_certain_world(seed, parameters):
    """With α = 1 and certain transitions, enough random steps are value iteration."""
    mdp = deterministic_mdp(seed)
    rate = 1.0 if parameters.get("trace_decay", 0) == 0 else 0.5
    agent = QLearning(3000, discount=0.9, learning_rate=rate, epsilon=1.0, random_state=0, **parameters).fit(
        mdp
    )
    np.testing.assert_allclose(agent.Q_, optimal_values(mdp, 0.9), atol=1e-12)


@pytest.mark.parametrize("limit", [10**9, 6])
@pytest.mark.parametrize("seed", range(3))
def test_watkins_traces(seed, limit):
    agent = recorder(QLearning)(
        40, learning_rate=0.2, discount=0.9, trace_decay=0.8, epsilon=0.3, random_state=seed
    )
    agent.fit(Simulator(random_mdp(seed, ends=0.1), limit))
    Q, cuts = np.zeros((6, 3)), 0
    for episode in agent.log:
        e = np.zeros_like(Q)
        for x, a, r, u, _, ends in episode:
            if Q[x, a] < Q[x].max():
                e[:], cuts = 0.0, cuts + 1
            e[x, a] += 1.0
            Q += 0.2 * (r + (0.0 if ends else 0.9 * Q[u].max()) - Q[x, a]) * e
            e *= 0.9 * 0.8
    np.testing.assert_allclose(agent.Q_, Q, rtol=1e-7)
    assert cuts > 10


def noisy_choice(n=20):
    """Sutton and Barto (2018), Example 6.7: from the first state "right" ends with 0, "left" leads to a state whose
    actions end with -1.1 or 0.9, each with probability 0.5."""
    P, R = np.zeros((4, n, 4)), np.zeros((4, n, 4))
    P[0, 0, 2], P[0, 1:, 1] = 1, 1
    P[1, :, 2:] = 0.5
    R[1, :, 2], R[1, :, 3] = -1.1, 0.9
    P[2:, :, 2:] = np.eye(2)[:, None]
    allowed = np.ones((4, n), dtype=bool)
    allowed[0, 2:] = False
    return MDP(P, R, allowed=allowed, terminal=[2, 3], start=0)


def test_double_learning_has_no_bias_of_the_maximum():
    options = {"n_episodes": 300, "discount": 1.0, "learning_rate": 0.1, "epsilon": 0.1}
    left = {
        double: np.mean(
            [
                QLearning(double=double, random_state=seed, **options).fit(noisy_choice()).n_visits_[0, 1]
                for seed in range(40)
            ]
        )
        for double in (False, True)
    }
    assert left[False] > 1.4 * left[True]


def test_double_tables():
    agent = QLearning(500, double=True, discount=0.9, random_state=0).fit(random_mdp(0))
    np.testing.assert_array_equal(agent.Q_, 0.5 * agent.double_Q_.sum(axis=0))
    np.testing.assert_array_equal(agent.n_visits_, agent.double_visits_.sum(axis=0))
    assert (agent.double_Q_[0] != agent.double_Q_[1]).any()
    agent.set_params(double=False).fit(random_mdp(0))
    assert not hasattr(agent, "double_Q_")


def test_double_updates():
    agent = recorder(QLearning)(30, double=True, learning_rate=0.3, discount=0.9, random_state=0)
    agent.fit(Simulator(random_mdp(0)))
    tables = {(np.zeros((6, 3)).tobytes(),) * 2}
    for x, a, r, u, _, ends in functools.reduce(operator.iadd, agent.log, [])[
        :6
    ]:  # all that a random table may have learned
        found = set()
        for pair in tables:
            for i in range(2):
                Q = [np.frombuffer(one).reshape(6, 3).copy() for one in pair]
                ahead = 0.0 if ends else Q[1 - i][u, np.argmax(Q[i][u])]
                Q[i][x, a] += 0.3 * (r + 0.9 * ahead - Q[i][x, a])
                found.add((Q[0].tobytes(), Q[1].tobytes()))
        tables = found
    again = QLearning(30, double=True, learning_rate=0.3, discount=0.9, random_state=0, n_steps=6)
    again.fit(Simulator(random_mdp(0)))
    nearest = min(
        np.abs(again.double_Q_ - [np.frombuffer(one).reshape(6, 3) for one in pair]).max() for pair in tables
    )
    assert nearest < 1e-12


def test_cliff_walking():
    agent = QLearning(500, discount=1.0, learning_rate=0.5, random_state=0).fit("CliffWalking-v1")
    env, total = gym.make("CliffWalking-v1"), 0.0
    x, ends = env.reset(seed=0)[0], False
    while not ends:
        x, r, ends, _, _ = env.step(agent.predict(x))
        total += r
    assert total == -13


@pytest.mark.parametrize(
    ("name", "parameters", "best"),
    [
        ("CliffWalking-v1", {"n_episodes": 500, "learning_rate": 0.5, "discount": 1.0}, -13.0),
        (
            "FrozenLake-v1",
            {
                "n_episodes": 100_000,
                "epsilon": Schedule("linear", 1.0, 0.1, length=10**6),
                "learning_rate": Schedule("inverse_sqrt", 0.5, 0.001, per="visit"),
            },
            14 / 17,
        ),
        ("Taxi-v4", {"n_episodes": 30_000, "learning_rate": 1.0, "discount": 1.0, "epsilon": 0.3}, 7.93),
    ],
)
def test_worlds_of_gymnasium(name, parameters, best):
    """Their models, without the limit of steps."""
    mdp = MDP.from_gymnasium(gym.make(name))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        agent = QLearning(random_state=0, **parameters).fit(mdp)
    assert undiscounted(mdp, agent.policy_) == pytest.approx(best, abs=1e-9)


def test_actions_that_are_not_allowed():
    mdp = noisy_choice()
    for world in (mdp, Simulator(mdp)):
        if isinstance(world, Simulator):
            world.step_, world.reset_ = world.step, world.reset

            def masked(found, info):
                return {**info, "action_mask": mdp.allowed[found].astype(np.int8)}

            def reset(world=world, **options):
                x, info = world.reset_(**options)
                return x, masked(x, info)

            def step(action, world=world):
                x, r, ends, cut, info = world.step_(action)
                return x, r, ends, cut, masked(x, info)

            world.reset, world.step = reset, step
        for parameters in (
            {},
            {"double": True},
            {"exploration": "softmax", "temperature": 0.1},
            {"trace_decay": 0.5},
        ):
            agent = QLearning(200, epsilon=0.5, initial_value=-5.0, random_state=0, **parameters).fit(world)
            assert (agent.n_visits_[0, 2:] == 0).all()
            assert (agent.Q_[0, 2:] == -np.inf).all()
            assert np.isfinite(agent.Q_[1]).all()
            assert np.isfinite(agent.V_[:2]).all()
            agent.set_params(warm_start=True).fit(world)
            assert (agent.n_visits_[0, 2:] == 0).all()
            assert (agent.Q_[0, 2:] == -np.inf).all()


def test_exploration():
    """Shares of the actions: ε-greedy with tied values takes all alike; a softmax of equal values, too."""
    P, R = np.zeros((2, 4, 2)), np.zeros((2, 4))
    P[:, :, 1], R[0] = 1, [0.0, 1.0, 1.0, 0.5]
    mdp = MDP(P, R, start=0)
    n = 40_000

    def shares(**parameters):
        agent = QLearning(n, learning_rate=1.0, random_state=0, **parameters).fit(mdp)
        return agent.n_visits_[0] / n

    np.testing.assert_allclose(shares(epsilon=0.4), [0.1, 0.4, 0.4, 0.1], atol=0.01)
    np.testing.assert_allclose(shares(epsilon=1.0), [0.25] * 4, atol=0.01)
    weights = np.exp(R[0] / 0.5)
    softmax = shares(exploration="softmax", temperature=0.5)
    np.testing.assert_allclose(softmax, weights / weights.sum(), atol=0.01)
    assert shares(epsilon=0.0)[[0, 3]].sum() < 1e-3
    cold = shares(exploration="softmax", temperature=1e-300, initial_value=2.0)
    assert cold[1] + cold[2] > 0.999


def test_schedules():
    agent = QLearning(
        40, epsilon=Schedule("linear", 1.0, 0.0, length=20, per="episode"), learning_rate=1.0, random_state=0
    ).fit(deterministic_mdp(0))
    assert len(set(agent.episode_returns_[20:])) == 1  # no more exploration
    mean = recorder(QLearning)(
        200, epsilon=1.0, learning_rate=Schedule("harmonic", per="visit"), random_state=0
    )
    P, R = np.zeros((3, 1, 3)), np.zeros((3, 1, 3))
    P[0, 0], P[1, 0, 1], P[2, 0, 2], R[0, 0] = [0.0, 0.5, 0.5], 1, 1, [0.0, 1.0, 5.0]
    bandit = MDP(P, R, start=0)
    mean.fit(Simulator(bandit))
    assert mean.Q_[0, 0] == pytest.approx(
        np.mean([r for _, _, r, _, _, _ in functools.reduce(operator.iadd, mean.log, [])])
    )


def test_a_kernel_stops_in_the_midst_of_an_episode():
    mdp, agent = random_mdp(0), QLearning(random_state=0)
    tables, rules = agent._begin(mdp, np.random.default_rng(0)), agent._rules()
    memory = agent._memories(tables, rules, 1)[0]
    record = np.zeros(100), np.zeros(100, dtype=np.int64), np.zeros(100, dtype=bool)
    tables.clock[PAUSE] = 17
    with np.errstate(over="ignore"):
        ended = q_learning_episodes(mdp.model, tables, rules, memory, *record)
    assert tables.clock[STEPS] == 17 == record[1].sum()
    assert record[1][: ended + 1].sum() == 17
    assert 0 <= tables.clock[STATE] < 6


def test_blocks_of_episodes():
    agent = QLearning(2500, random_state=0).fit(random_mdp(0))
    assert agent.n_iter_ == 834
    assert agent.episode_returns_.shape == (2500,)
    means = agent.episode_returns_[:2499].reshape(-1, 3).mean(axis=1)
    np.testing.assert_allclose(agent.history_["mean_return"][:833], means)
    assert agent.history_["block"] == list(range(834))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"double": True, "trace_decay": 0.5},
            "QLearning: double=True cannot be used with trace_decay above 0",
        ),
        ({"epsilon": 1.5}, "QLearning: parameter 'epsilon' must be"),
        (
            {"epsilon": Schedule("linear", 2.0, 0.1)},
            r"QLearning: epsilon must stay in \[0, 1\]; got Schedule",
        ),
        (
            {"epsilon": Schedule("harmonic", per="visit")},
            "epsilon must be a schedule per 'step' or 'episode'",
        ),
        (
            {"temperature": Schedule("linear", 1.0, 0.0), "exploration": "softmax"},
            "QLearning: temperature must stay above 0",
        ),
        ({"exploration": "best"}, "parameter 'exploration' must be one of 'epsilon-greedy', 'softmax'"),
        ({"trace_decay": -0.1}, "parameter 'trace_decay' must be"),
        ({"n_episodes": 0}, "parameter 'n_episodes' must be"),
        ({"initial_value": np.inf}, "parameter 'initial_value' must be"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        QLearning(**parameters).fit(three_states())
