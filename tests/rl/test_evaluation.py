"""Mean returns with their intervals, and learning curves over seeds."""

import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from scipy import stats

from tercet.rl import MDP, MonteCarlo, QLearning, Schedule, compare, evaluate
from tercet.rl.evaluation import mean_interval, moving_mean
from tercet.tree import DecisionTreeClassifier


def small_mdp(**options):
    """The spec's reference case 3."""
    P = [[[0.8, 0.2, 0], [0.1, 0.9, 0]], [[0, 0.5, 0.5], [0.6, 0, 0.4]], [[0, 0, 1], [0, 0, 1]]]
    R = [[[1, 2, 0], [0, 3, 0]], [[0, 0, 5], [-1, 0, 8]], [[0, 0, 0], [0, 0, 0]]]
    return MDP(P, R, **options)


def chain(start=0, **options):
    """Action 0 of the first state leads to the second; all else ends. Rewards 1 and 5."""
    P = [[[0, 1, 0], [0, 0, 1]], [[0, 0, 1], [0, 0, 1]], [[0, 0, 1], [0, 0, 1]]]
    return MDP(P, [1.0, 5.0, 0.0], start=start, **options)


class Row(gymnasium.Env):
    """Stands at 0 in a row of n; action 1 goes right, and ends the episode at the last place. Reward -1."""

    action_space = spaces.Discrete(2)

    def __init__(self, n=4, box=False):
        self.n, self.box = n, box
        self.observation_space = spaces.Box(0, n, shape=(2,)) if box else spaces.Discrete(n)

    def _seen(self):
        return np.array([self.x, 1.0], dtype=np.float32) if self.box else self.x

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x = int(self.np_random.integers(self.n - 1))
        return self._seen(), {}

    def step(self, action):
        self.x += int(action)
        return self._seen(), -1.0, self.x == self.n - 1, False, {}


# One agent -------------------------------------------------------------------------------------------------------


def test_values_of_reference_case_3():
    """The mean discounted return of the random policy is the mean of its values."""
    uniform = np.full((3, 2), 0.5)
    for x, value in ((0, 8.46934881), (1, 6.24093442)):
        found = evaluate(uniform, small_mdp(start=x), 20_000, discount=0.9, random_state=0)
        assert abs(found.mean - value) < 4 * found.standard_error < 0.3
    undiscounted = evaluate(uniform, small_mdp(start=0), 1000, random_state=0)
    assert undiscounted.mean > found.mean
    assert undiscounted.returns.shape == (1000,)


def test_interval():
    found = evaluate([[0.5, 0.5]] * 3, small_mdp(), 50, random_state=0, confidence=0.9)
    t = stats.t.interval(0.9, 49, found.returns.mean(), stats.sem(found.returns))
    np.testing.assert_allclose(found.interval, t)
    np.testing.assert_allclose(found.standard_error, stats.sem(found.returns))
    assert found.confidence == 0.9
    assert found.mean == found.returns.mean()
    said = f"mean return {found.mean:.4g} (90% interval {t[0]:.4g} to {t[1]:.4g}), 50 episodes, mean length"
    assert str(found).startswith(said)


def test_a_single_episode_has_no_interval():
    found = evaluate([0, 0, 0], chain(), 1)
    assert found.mean == 6.0
    assert np.isnan([found.standard_error, *found.interval]).all()
    assert str(found) == "mean return 6, 1 episode, mean length 2"


def test_truncated_episodes_are_counted():
    endless = MDP([[[1.0]]], [[2.0]], terminal=[])
    found = evaluate([0], endless, 5, max_steps=10)
    assert found.n_truncated == 5
    assert found.returns.tolist() == [20.0] * 5
    assert "5 episodes, 5 of them truncated, mean length 10" in str(found)
    assert evaluate(lambda x: 0, endless, 2, max_steps=10).n_truncated == 2
    for env in (Row(), SyncVectorEnv([Row] * 2), lambda: Row()):
        found = evaluate(lambda x: 0, env, 5, max_steps=7)
        assert found.n_truncated == 5
        assert found.lengths.tolist() == [7] * 5
    assert evaluate(lambda x: 1, Row(), 5, max_steps=3).n_truncated == 0


def test_who_can_act_in_a_model():
    mdp = chain("first", states=["first", "second", "end"])
    agent = QLearning(100, random_state=0).fit(mdp)
    probabilities = np.array([[1.0, 0], [0.5, 0.5], [0.5, 0.5]])
    for actor in ([0, 0, 0], np.zeros(3, dtype=int), probabilities, agent, lambda name: 0):
        assert evaluate(actor, mdp, 20).mean == 6.0
    assert evaluate(lambda name: {"first": 1}[name], mdp, 20).mean == 1.0
    named = chain(actions=["go", "end"])
    assert evaluate(lambda x: "go", named, 5).mean == 6.0
    assert evaluate(lambda x: 1, named, 5).mean == 1.0
    mixed = evaluate([[0.5, 0.5]] * 3, mdp, 2000, random_state=0)
    assert abs(mixed.mean - 3.5) < 4 * mixed.standard_error
    draws = np.random.default_rng(0)
    mixed = evaluate(lambda name: draws.integers(2), mdp, 2000, random_state=0)
    assert abs(mixed.mean - 3.5) < 4 * mixed.standard_error
    tree = DecisionTreeClassifier().fit([[0], [1], [2]], [1, 0, 0])
    assert evaluate(tree, chain(), 5).mean == 1.0


def test_an_agent_that_learned_from_an_environment_acts_in_a_model_and_the_other_way_round():
    env = gymnasium.make("CliffWalking-v1")
    mdp = MDP.from_gymnasium(env)
    one, two = (QLearning(500, epsilon=0.1, random_state=0).fit(world) for world in (env, mdp))
    for agent in (one, two, one.policy_):
        for world in (env, mdp, "CliffWalking-v1"):
            found = evaluate(agent, world, 4, 100, random_state=0)
            assert found.mean == -13.0
            assert found.n_truncated == 0


@pytest.mark.parametrize("mode", [None, *AutoresetMode])
@pytest.mark.parametrize("box", [False, True])
def test_who_can_act_in_an_environment(mode, box):
    env = Row(box=box) if mode is None else SyncVectorEnv([lambda: Row(box=box)] * 3, autoreset_mode=mode)
    X = [[k, 1.0] for k in range(4)] if box else [[k] for k in range(4)]
    tree = DecisionTreeClassifier().fit([*X, [9, 1] if box else [9]], [1, 1, 1, 1, 0])
    actors = [lambda observation: 1, lambda observation: np.array([1]), tree]
    if not box:
        actors += [[1] * 4, np.array([[0.0, 1.0]] * 4), QLearning(100, random_state=0).fit(env)]
    for actor in actors:
        found = evaluate(actor, env, 7, random_state=3)
        assert found.returns.shape == (7,)
        assert found.n_truncated == 0
        assert np.array_equal(found.returns, -found.lengths)
        assert set(found.lengths) <= {1, 2, 3}
        again = evaluate(actor, env, 7, random_state=3)
        assert np.array_equal(found.returns, again.returns)
    shown = []
    evaluate(lambda observation: shown.append(observation) or 1, env, 2)
    assert all(
        env.single_observation_space.contains(o) if mode else env.observation_space.contains(o) for o in shown
    )


def test_random_policies_in_an_environment():
    found = evaluate([[0.5, 0.5]] * 4, Row(), 2000, random_state=0)
    assert abs(found.mean + 4.0) < 4 * found.standard_error  # two steps on average, each after two tries
    assert np.array_equal(found.returns, evaluate([[0.5, 0.5]] * 4, Row(), 2000, random_state=0).returns)
    assert not np.array_equal(found.returns, evaluate([[0.5, 0.5]] * 4, Row(), 2000, random_state=1).returns)
    discounted = evaluate([1] * 4, Row(), 2000, discount=0.5, random_state=0)
    assert set(discounted.returns) == {-1.0, -1.5, -1.75}


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_streams_do_not_favour_short_episodes(mode):
    """Of the episodes that end first in four streams, most would be short."""
    policy = [[0.8, 0.2]] * 4
    env = SyncVectorEnv([Row] * 4, autoreset_mode=mode)
    found = evaluate(policy, env, 400, random_state=0)
    single = evaluate(policy, Row(), 2000, random_state=1)
    assert abs(found.mean - single.mean) < 4 * found.standard_error
    early = np.mean([evaluate(policy, env, 4, random_state=k).mean for k in range(100)])
    assert abs(early - single.mean) < 4 * single.returns.std() / 20


def test_blackjack_by_observations():
    """To stick always, and a callable that gets tuples."""
    never = evaluate(lambda hand: 0, "Blackjack-v1", 500, random_state=0)
    assert never.lengths.tolist() == [1] * 500
    careful = evaluate(lambda hand: int(hand[0] < 17), "Blackjack-v1", 500, random_state=0)
    assert careful.mean > never.mean


def test_the_interval_covers_the_value():
    """95% intervals of normal samples cover the mean in 95 of 100 cases."""
    rng = np.random.default_rng(0)
    hits = [
        low < 0 < high for _, _, (low, high) in (mean_interval(rng.normal(size=5), 0.95) for _ in range(2000))
    ]
    assert 0.935 < np.mean(hits) < 0.965


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: evaluate([0, 0, 0], chain(), 0),
            ValueError,
            "n_episodes must be an integer of at least 1; got 0",
        ),
        (
            lambda: evaluate([0, 0, 0], chain(), 5, 1.5),
            ValueError,
            r"max_steps must be an integer .*; got 1\.5",
        ),
        (
            lambda: evaluate([0, 0, 0], chain(), confidence=1),
            ValueError,
            "confidence must lie between 0 and 1; got 1",
        ),
        (
            lambda: evaluate([0, 0, 0], chain(), discount=-1),
            ValueError,
            "discount must be from 0 to 1; got -1",
        ),
        (lambda: evaluate([0, 0], chain()), ValueError, r"policy must have the shape \(3,\)"),
        (lambda: evaluate([0, 7, 0], chain()), ValueError, "policy has the action 7 in state 1"),
        (lambda: evaluate("QLearning", chain()), TypeError, "agent must be an array .* got str"),
        (lambda: evaluate(5, Row()), TypeError, "agent must be an array .* got int"),
        (
            lambda: evaluate(lambda x: 7, chain()),
            ValueError,
            "chose the action 7 in state 0; actions are numbered",
        ),
        (lambda: evaluate(lambda x: None, Row()), ValueError, "the agent chose the action None"),
        (lambda: evaluate(lambda x: 0.5, Row()), ValueError, r"the agent chose the action 0\.5"),
        (
            lambda: evaluate([0, 1], Row(box=True)),
            ValueError,
            "a policy in an array needs discrete observations",
        ),
        (lambda: evaluate([0, 1], 3), TypeError, "expected an MDP, an environment of gymnasium"),
        (lambda: evaluate([0] * 4, "Pendulum-v1"), ValueError, "has the action space Box"),
    ],
)
def test_bad_calls(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_agents_that_are_not_fitted():
    from sklearn.exceptions import NotFittedError

    for env in (chain(), Row()):
        with pytest.raises(NotFittedError):
            evaluate(QLearning(), env)


# Several agents --------------------------------------------------------------------------------------------------

AGENTS = {
    "learning": MonteCarlo(300, discount=0.9),
    "random": MonteCarlo(300, epsilon=1.0, discount=0.9),
    "Q": QLearning(200, learning_rate=Schedule("harmonic", per="visit"), discount=0.9),
}


def test_compare():
    result = compare(AGENTS, small_mdp(), seeds=4)
    assert list(result.returns) == list(AGENTS)
    assert result.seeds == [0, 1, 2, 3]
    assert result.returns["learning"].shape == result.lengths["learning"].shape == (4, 300)
    assert result.returns["Q"].shape == (4, 200)
    for name, agent in AGENTS.items():
        for seed in range(4):
            alone = type(agent)(**{**agent.get_params(), "random_state": seed}).fit(small_mdp())
            assert np.array_equal(result.returns[name][seed], alone.episode_returns_)
            assert np.array_equal(result.agents[name][seed].Q_, alone.Q_)
    assert not hasattr(AGENTS["Q"], "Q_")
    assert AGENTS["Q"].random_state is None
    assert not np.array_equal(result.returns["random"][0], result.returns["random"][1])


def test_same_bits_for_any_number_of_threads():
    one, many = (compare(AGENTS, small_mdp(), seeds=[5, 2, 9], n_jobs=n) for n in (None, 3))
    for name in AGENTS:
        assert np.array_equal(one.returns[name], many.returns[name])
        assert np.array_equal(one.agents[name][1].Q_, many.agents[name][1].Q_)
    assert one.seeds == [5, 2, 9]
    assert str(one) == str(many)


def test_environments_by_name_or_function_in_threads():
    agents = {"a": QLearning(30), "b": MonteCarlo(20)}
    for env in ("CliffWalking-v1", Row, lambda: Row(6), gymnasium.spec("CliffWalking-v1")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # episodes that are cut off on the cliff
            one, many = (
                compare({k: a.set_params(max_steps=50) for k, a in agents.items()}, env, 2, n_jobs=n)
                for n in (1, 2)
            )
        assert all(np.array_equal(one.returns[name], many.returns[name]) for name in agents)
    env = Row()
    alone = compare(agents, env, 2)
    assert np.array_equal(alone.returns["a"], compare(agents, Row, 2, n_jobs=2).returns["a"])
    with pytest.raises(ValueError, match="threads cannot share an environment; with n_jobs, give its name"):
        compare(agents, env, 2, n_jobs=2)


def test_curves_and_intervals():
    result = compare(AGENTS, small_mdp(), seeds=5)
    returns = result.returns["learning"]
    np.testing.assert_allclose(result.mean("learning"), returns.mean(axis=0))
    smooth = result.mean("learning", window=50)
    assert smooth.shape == (300,)
    np.testing.assert_allclose(smooth[-1], returns[:, -50:].mean())
    np.testing.assert_allclose(smooth[9], returns[:, :10].mean())
    low, high = result.interval("learning", window=50, confidence=0.9)
    last = returns[:, -50:].mean(axis=1)
    np.testing.assert_allclose([low[-1], high[-1]], stats.t.interval(0.9, 4, last.mean(), stats.sem(last)))
    np.testing.assert_allclose((low + high) / 2, smooth)


def test_summary():
    result = compare(AGENTS, small_mdp(), seeds=3)
    table = result.summary(last=40)
    assert table["agent"] == list(AGENTS)
    assert table["seeds"] == [3, 3, 3]
    last = result.returns["Q"][:, -40:].mean(axis=1)
    low, high = stats.t.interval(0.95, 2, last.mean(), stats.sem(last))
    np.testing.assert_allclose([table[k][2] for k in ("mean", "low", "high")], [last.mean(), low, high])
    lines = str(result).splitlines()
    assert lines[0].split() == ["agent", "mean", "95%", "interval"]
    assert len(lines) == 4
    assert lines[1].startswith("learning  ")
    alone = compare({"random": AGENTS["random"]}, small_mdp(), seeds=1)
    assert np.isnan(alone.summary()["low"]).all()
    assert str(alone).endswith("-")
    assert np.isnan(alone.interval("random")).all()


def test_runs_of_different_length_are_filled_up():
    agents = {"steps": QLearning(500, n_steps=400, discount=0.9)}
    result = compare(agents, small_mdp(), seeds=4)
    returns = result.returns["steps"]
    counts = (~np.isnan(returns)).sum(axis=1)
    assert len(set(counts)) > 1
    assert counts.max() == returns.shape[1]
    for seed, n in enumerate(counts):
        assert result.agents["steps"][seed].episode_returns_.size == n
        assert np.isnan(returns[seed, n:]).all()
    k = int(np.argmax(counts))
    mean = result.mean("steps", window=3)
    np.testing.assert_allclose(mean[-1], returns[k, -3:].mean())
    low, high = result.interval("steps")
    assert np.isnan(low[-1]) == (np.sum(counts == counts.max()) == 1)
    assert np.isfinite(high[0])
    expected = np.mean([row[~np.isnan(row)][-10:].mean() for row in returns])
    np.testing.assert_allclose(result.summary(last=10)["mean"][0], expected)


def test_moving_mean():
    values = np.arange(6.0).reshape(1, 6) ** 2
    for window in (1, 2, 5, 6, 9):
        expected = [values[0, max(0, t - window + 1) : t + 1].mean() for t in range(6)]
        np.testing.assert_allclose(moving_mean(values, window)[0], expected)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: compare([QLearning()], chain()), "agents must be a dict of agents by name"),
        (lambda: compare({}, chain()), "agents must be a dict"),
        (lambda: compare({"a": QLearning()}, chain(), seeds=0), "seeds must be at least 1"),
        (
            lambda: compare({"a": QLearning()}, chain(), seeds=[-1]),
            "seeds must be at least 1, or a list of integers",
        ),
        (lambda: compare({"a": QLearning()}, chain(), seeds=[1.5]), "seeds must be"),
        (lambda: compare({"a": MonteCarlo(5)}, chain(), 2).mean("b"), "there is no agent 'b'; there are 'a'"),
        (
            lambda: compare({"a": MonteCarlo(5)}, chain(), 2).mean("a", 0),
            "window must be an integer of at least 1",
        ),
        (
            lambda: compare({"a": MonteCarlo(5)}, chain(), 2).interval("a", confidence=2),
            "confidence must lie between",
        ),
        (lambda: compare({"a": MonteCarlo(5)}, chain(), 2).summary(last=0), "last must be at least 1; got 0"),
        (lambda: compare({"a": MonteCarlo(0)}, chain(), 2), "parameter 'n_episodes'"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*no return")
def test_bad_comparisons(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_agents_without_a_learning_curve():
    class Planner(QLearning):
        def _fit(self, world):
            self.policy_ = np.zeros(world.n_states, dtype=int)

    with pytest.raises(
        ValueError, match="'plan', a Planner, learns without episodes and so has no learning curve"
    ):
        compare({"plan": Planner()}, chain(), 2)
