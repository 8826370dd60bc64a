"""Pictures of agents: values and policies, visits, episodes, returns and regret."""

from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.quiver import Quiver

from tercet import Recorder
from tercet.linear_model import SGDRegressor
from tercet.plot import (
    models,
    plot_episode,
    plot_model,
    plot_regret,
    plot_returns,
    plot_values,
    plot_visits,
    replay,
    to_svg,
)
from tercet.rl import (
    MDP,
    ApprenticeshipLearning,
    BanditAgent,
    BehaviourCloning,
    ContextualBanditAgent,
    KernelSarsa,
    LinearQLearning,
    LinearTD,
    LinUCB,
    MonteCarlo,
    PolicyEvaluation,
    QLearning,
    ValueIteration,
    average_regret,
    cliff_walking,
    compare,
    frozen_lake,
    grid_world,
)
from tests.plot.words import ticks

ROOM = ["S.#", "..G"]
WORLD = grid_world(ROOM, step_reward=-1.0, rewards={"G": 0.0})
# Russell and Norvig's world, and the policy of their figure.
BOOK = grid_world(["...G", ".#.H", "S..."], step_reward=-0.04, slip=0.2)
UP, RIGHT, DOWN, LEFT = (0, -1), (1, 0), (0, 1), (-1, 0)  # the rows of a picture grow downwards


def arrows(ax):
    """The unit steps of the arrows by the (row, column) of their cells."""
    found = [part for part in ax.collections if isinstance(part, Quiver)]
    if not found:
        return {}
    (quiver,) = found
    steps = np.stack([quiver.U, quiver.V], axis=1)
    steps = np.rint(steps / np.abs(steps).max(axis=1, keepdims=True)).astype(int)
    return {(round(y), round(x)): tuple(step) for x, y, step in zip(quiver.X, quiver.Y, steps.tolist())}


def texts(ax):
    return [text.get_text() for text in ax.texts]


def dots(ax):
    """The (row, column) of the dots."""
    return {(round(y), round(x)) for line in ax.lines for x, y in zip(*line.get_data())}


def numbered(mdp):
    """The same model, of which nothing is known but numbers."""
    return MDP.from_pairs(
        mdp.pair_states,
        mdp.pair_actions,
        mdp.probabilities,
        mdp.pair_rewards,
        terminal=mdp.terminal,
        start=mdp.start,
    )


# Values and policies ------------------------------------------------------------------------------------------


def test_values_and_policy_of_a_grid_world():
    agent = ValueIteration(discount=0.99).fit(BOOK)
    ax = plot_values(agent, BOOK)
    assert arrows(ax) == {
        (0, 0): RIGHT, (0, 1): RIGHT, (0, 2): RIGHT, (1, 0): UP, (1, 2): UP,
        (2, 0): UP, (2, 1): LEFT, (2, 2): UP, (2, 3): LEFT,
    }  # fmt: skip
    shown = ax.images[0].get_array()
    np.testing.assert_allclose(shown[0, :3], agent.V_[:3])
    assert shown.mask.tolist() == [[False] * 3 + [True], [False, True, False, True], [False] * 4]
    assert {"S", "G", "H"} < set(texts(ax))
    assert f"{agent.V_[0]:.2f}" in texts(ax)
    assert ax.get_title("left") == "values of states and policy"
    assert to_svg(ax).startswith("<svg")


def test_values_alone_have_no_arrows():
    ax = plot_values(np.arange(5.0), WORLD)
    assert ax.get_title("left") == "values of states"
    assert arrows(ax) == {}
    assert plot_values(np.arange(5.0), WORLD, limits=(-1, 9)).images[0].get_clim() == (-1, 9)
    same = plot_values(np.zeros(5), WORLD).images[0].get_clim()
    assert same[0] < same[1]


def test_action_values_give_the_greedy_policy():
    ax = plot_values([[0, 1, 0, 0], [0, 0, 2, 0], [0, 3, 0, 0], [0, 4, 0, 0], [0, 0, 0, 0]], WORLD)
    assert arrows(ax) == {(0, 0): RIGHT, (0, 1): DOWN, (1, 0): RIGHT, (1, 1): RIGHT}
    np.testing.assert_array_equal(ax.images[0].get_array()[0, :2], [1, 2])


@pytest.mark.parametrize("world", [frozen_lake(), frozen_lake(is_slippery=False)], ids=["slippery", "dry"])
def test_directions_are_found_in_a_model_without_names(world):
    agent = ValueIteration(discount=0.9).fit(world)
    named, found = plot_values(agent, world), plot_values(agent, numbered(world), (4, 4))
    assert arrows(found) == arrows(named)
    assert {text for text in texts(found) if text.isalpha()} == {"S", "G", "H"}
    given = plot_values(agent.Q_, grid=(4, 4), actions=["left", "down", "right", "up"])
    there = arrows(named)
    assert {cell: step for cell, step in arrows(given).items() if cell in there} == there


def test_states_that_are_cells_need_no_shape():
    cells = [(r, c) for r in (3, 4) for c in (1, 2)]
    P = np.zeros((4, 1, 4))
    P[0, 0, 1] = P[1, 0, 3] = P[2, 0, 3] = P[3, 0, 3] = 1
    mdp = MDP(P, [0.0, 1.0, 1.0, 0.0], states=cells, actions=["go"], start=(3, 1))
    ax = plot_values([1.0, 2.0, 3.0, 0.0], mdp)
    assert ax.images[0].get_array()[0].tolist() == [1.0, 2.0]
    assert (ticks(ax, "x"), ticks(ax, "y")) == (["1", "2"], ["3", "4"])


def test_a_function_says_where_states_are_and_actions_that_are_no_moves_have_names():
    Q = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 2.0], [9.0, 0.0]])
    places = {0: (12, 1), 1: (12, 2), 2: (13, 1), 3: None}
    ax = plot_values(Q, grid=places.get, actions=["stick", "hit"])
    assert [text for text in texts(ax) if text.isalpha()] == ["stick", "hit", "hit"]
    assert (ticks(ax, "x"), ticks(ax, "y")) == (["1", "2"], ["12", "13"])
    assert ax.images[0].get_clim() == (1.0, 2.0)  # the state that is not drawn does not count
    with pytest.raises(ValueError, match="for 3 it gives something else"):
        plot_values(Q, grid={**places, 3: (1.5, 2)}.get)
    with pytest.raises(ValueError, match="same cell to several states"):
        plot_values(Q, grid={**places, 3: (12, 1)}.get)
    with pytest.raises(ValueError, match="None for every state"):
        plot_values(Q, grid=lambda name: None)


def test_probabilities_are_the_lengths_of_arrows():
    policy = np.full((5, 4), 0.25)
    policy[0] = [0, 0.75, 0.25, 0]
    ax = plot_values(np.arange(5.0), WORLD, policy=policy)
    (quiver,) = [part for part in ax.collections if isinstance(part, Quiver)]
    lengths = np.hypot(quiver.U, quiver.V)
    assert quiver.N == 2 + 3 * 4  # the goal has none
    np.testing.assert_allclose(lengths / lengths[0], [1, 1 / 3, *[1 / 3] * 12])
    agent = PolicyEvaluation(discount=0.9).fit(BOOK)  # of the random policy
    (quiver,) = [part for part in plot_values(agent, BOOK).collections if isinstance(part, Quiver)]
    assert quiver.N == 9 * 4


def test_what_was_not_learned_is_not_drawn():
    agent = QLearning(3, max_steps=4, random_state=0)
    with pytest.warns(UserWarning, match=r"never visited|step limit"):
        agent.fit(BOOK)
    ax = plot_values(agent, BOOK)
    visited = agent.n_visits_.sum(axis=1) > 0
    unknown = {tuple(BOOK.positions[x]) for x in np.flatnonzero(~visited & ~BOOK.terminal)}
    assert dots(ax) == unknown
    assert not unknown & set(arrows(ax))
    equal = plot_values(np.zeros((5, 4)), WORLD)
    assert arrows(equal) == {}
    walk = LinearTD(n_episodes=50, random_state=0).fit(BOOK)  # the random policy prefers no action
    assert arrows(plot_values(walk, BOOK)) == {}


def test_cliffs_are_no_places_to_act():
    world = cliff_walking()
    ax = plot_values(ValueIteration(discount=1.0).fit(world), world)
    assert set(arrows(ax)) == {(r, c) for r in range(3) for c in range(12)} | {(3, 0)}
    assert arrows(ax)[2, 11] == DOWN
    assert ax.images[0].get_array().mask[3].tolist() == [False] + [True] * 11


def test_a_policy_without_values_has_arrows_alone():
    policy = ValueIteration(discount=0.99).fit(BOOK).policy_
    shown = BOOK.simulate(policy, 50, start=~BOOK.terminal / 9, random_state=0)
    ax = plot_values(BehaviourCloning().fit(shown, BOOK), BOOK)
    assert ax.get_title("left") == "policy"
    assert arrows(ax)[0, 0] == RIGHT
    assert len(ax.figure.axes) == 1  # no scale of colours


def test_environments_are_models_too():
    world = frozen_lake()
    agent = ValueIteration(discount=0.9).fit(world)
    expected = arrows(plot_values(agent, world))
    ours = SimpleNamespace(unwrapped=SimpleNamespace(mdp=world))
    assert arrows(plot_values(agent, ours)) == expected
    table = {x: {a: [] for a in range(4)} for x in range(16)}
    rewards = np.repeat(world.pair_rewards, np.diff(world.probabilities.indptr))
    rows = np.repeat(np.arange(world.n_pairs), np.diff(world.probabilities.indptr))
    for row, u, p, r in zip(rows, world.probabilities.indices, world.probabilities.data, rewards):
        x, a = int(world.pair_states[row]), int(world.pair_actions[row])
        table[x][a].append((float(p), int(u), float(r), bool(world.terminal[u])))
    gym = SimpleNamespace(P=table, desc=world.grid, initial_state_distrib=world.start)
    assert arrows(plot_values(agent, gym)) == expected


def test_the_end_that_a_model_of_an_environment_adds_has_no_cell():
    # Episodes end in state 1, through which others pass: the model has one more state.
    table = {0: {0: [(1.0, 1, 1.0, True)], 1: [(1.0, 1, 0.0, False)]}, 1: {0: [(1.0, 0, 0.0, False)]}}
    gym = SimpleNamespace(P=table, shape=(1, 2))
    Q, counts = np.array([[1.0, 0.0], [0.5, -np.inf]]), np.array([3.0, 2.0])
    ax = plot_values(Q, gym, actions=["right", "left"])
    assert ax.images[0].get_array().tolist() == [[1.0, 0.5]]
    assert arrows(ax) == {(0, 0): RIGHT, (0, 1): RIGHT}
    assert plot_visits(counts, gym).images[0].get_array().tolist() == [[3.0, 2.0]]
    assert ticks(plot_values(Q, MDP.from_gymnasium(gym)), "y") == ["0", "1"]


def test_large_grids_have_neither_numbers_nor_arrows():
    world = grid_world(["S" + "." * 79, *["." * 80] * 78, "." * 79 + "G"])
    ax = plot_values(np.zeros(6400), world, policy=np.zeros(6400, dtype=int))
    assert arrows(ax) == {}
    assert texts(ax) == ["G"]


def test_axes_of_the_caller():
    figure, ax = plt.subplots()
    assert plot_values(np.arange(5.0), WORLD, ax=ax) is ax
    plt.close(figure)


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: plot_values(np.zeros(4), WORLD), "values of 4 states; mdp has 5 states"),
        (lambda: plot_values(np.zeros(5), grid=(2, 2)), r"grid=\(2, 2\) has 4 cells; there are 5 states"),
        (lambda: plot_values(np.zeros(5), grid=(5, 0)), r"\(n_rows, n_columns\)"),
        (lambda: plot_values(np.zeros((2, 2, 2))), "shape"),
        (lambda: plot_values([0.0, np.nan]), "NaN"),
        (lambda: plot_values(QLearning()), "QLearning has neither"),
        (lambda: plot_values(np.zeros(5), WORLD, policy=[0, 1]), r"policy must have the shape \(5,\)"),
        (lambda: plot_values(np.zeros(5), WORLD, policy=[0, 1, 2, 3, 4]), "from 0 to 3"),
        (lambda: plot_values(np.zeros(5), WORLD, actions=["up"]), "actions has 1 names; there are 4 actions"),
        (lambda: plot_visits(ValueIteration()), "no n_visits_"),
        (lambda: plot_visits(WORLD.simulate(random_state=0)), "episodes need mdp"),
        (lambda: plot_visits([-1.0, 2.0]), "none below 0"),
        (lambda: plot_episode(WORLD.simulate(random_state=0)[0], numbered(WORLD)), "on a grid"),
        (lambda: plot_returns({}), "agents is empty"),
        (lambda: plot_returns(ValueIteration()), "'ValueIteration' is ValueIteration"),
        (lambda: plot_returns({"none": []}), "'none' is an empty list"),
        (lambda: plot_regret({}), "agents is empty"),
        (lambda: plot_regret({"QL": QLearning()}), "'QL' is QLearning"),
    ],
)
def test_what_cannot_be_drawn_is_explained(ask, words):
    with pytest.raises(ValueError, match=words):
        ask()


# Tables -------------------------------------------------------------------------------------------------------


def test_without_a_grid_action_values_are_a_table():
    mdp = MDP.from_pairs(
        [0, 0, 1, 2], [0, 1, 1, 0], [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1]], [0.0, 1.0, 2.0, 0.0],
        states=["low", "high", "end"], actions=["wait", "go"], terminal=["end"],
    )  # fmt: skip
    agent = ValueIteration(discount=0.5).fit(mdp)
    ax = plot_values(agent, mdp)
    assert (ticks(ax, "x"), ticks(ax, "y")) == (["wait", "go"], ["low", "high"])
    assert texts(ax) == ["1", "2", "–", "2"]
    assert [(frame.get_x() // 1 + 1, frame.get_y() // 1 + 1) for frame in ax.patches] == [(1, 0)]
    assert ticks(plot_model(agent, labels=["stay", "move"]), "x") == ["stay", "move"]
    values = plot_values([1.0, 2.0, 0.0], mdp)
    assert [bar.get_width() for bar in values.patches] == [1.0, 2.0]


def test_of_many_states_those_visited_most_are_in_the_table():
    rng = np.random.default_rng(0)
    visits = rng.permutation(40)
    agent = SimpleNamespace(Q_=rng.random((40, 2)), policy_=np.zeros(40, int), n_visits_=visits[:, None])
    ax = plot_model(agent)
    assert ticks(ax, "y") == [str(x) for x in np.flatnonzero(visits >= 15)]
    assert ax.get_title("left") == "values of actions; frames: the best (25 of 40 states)"


def test_names_of_observations():
    sizes = [(1, 2), (0, 2), (5, 1)]
    agent = SimpleNamespace(Q_=np.eye(4)[:, :2], policy_=np.zeros(4, int), observation_sizes_=sizes)
    assert ticks(plot_model(agent), "y") == ["(1, 0, 5)", "(1, 1, 5)", "(2, 0, 5)", "(2, 1, 5)"]
    agent.observation_sizes_ = sizes[:2]  # two numbers are rows and columns
    assert ticks(plot_model(agent), "x") == ["0", "1"]
    far = SimpleNamespace(Q_=np.eye(2), policy_=np.zeros(2, int), states_=[(0, 0), (900, 900)])
    assert ticks(plot_model(far), "y") == ["(0, 0)", "(900, 900)"]


# Visits and episodes ------------------------------------------------------------------------------------------


def test_visited_states():
    agent = MonteCarlo(50, random_state=0).fit(BOOK)
    ax = plot_visits(agent, BOOK)
    counts = agent.n_visits_.sum(axis=1)
    shown = ax.images[0].get_array()
    assert [shown[tuple(cell)] for cell in BOOK.positions[:3]] == counts[:3].tolist()
    assert str(counts[0]) in texts(ax)
    again = plot_visits(counts, BOOK).images[0].get_array()
    np.testing.assert_array_equal(shown, again)
    bars = plot_visits(agent)
    assert [bar.get_width() for bar in bars.patches] == sorted(counts, reverse=True)


def test_visits_of_episodes_count_every_state():
    episodes = WORLD.simulate([1, 2, 1, 1, 0], 4, random_state=0)
    assert plot_visits(episodes, WORLD).images[0].get_array()[0].tolist() == [4.0, 4.0, None]


def test_the_way_of_an_episode():
    world = cliff_walking()
    down = np.ones(48, dtype=int)  # right, over the cliff, and back to the start
    fall = world.simulate(down, max_steps=3, random_state=0)[0]
    ax = plot_episode(fall, world)
    assert ax.get_title("left") == "3 steps, return -300"
    assert ax.lines[-1].get_marker() == "x"
    way = ValueIteration(discount=1.0).fit(world).policy_
    ax = plot_episode(world.simulate(way, random_state=0)[0], world)
    assert ax.get_title("left") == "13 steps, return -13"
    assert ax.lines[-1].get_marker() == "o"
    solid = [part for part in ax.collections if isinstance(part, LineCollection)][-2]
    assert len(solid.get_segments()) == 13
    np.testing.assert_array_equal(solid.get_segments()[0], [[0, 3], [0, 2]])
    (quiver,) = [part for part in ax.collections if isinstance(part, Quiver)]
    assert np.sign(quiver.U).tolist() == [0, *[1] * 11, 0]
    assert np.sign(quiver.V).tolist() == [-1, *[0] * 11, 1]


def test_jumps_are_dotted_and_states_may_have_names():
    episode = SimpleNamespace(states=[(0, 0), (1, 2)], actions=[0], rewards=np.array([2.5]), terminated=True)
    ax = plot_episode(episode, WORLD)
    *_, solid, dotted = [part for part in ax.collections if isinstance(part, LineCollection)]
    assert (len(solid.get_segments()), len(dotted.get_segments())) == (0, 1)
    with pytest.raises(ValueError, match="states from 0 to 7; mdp has 5"):
        plot_episode(episode.__class__(**{**vars(episode), "states": np.array([0, 7])}), WORLD)


# Returns and regret -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def comparison():
    return compare({"learning": QLearning(60), "random": QLearning(60, epsilon=1.0)}, WORLD, seeds=4)


def test_learning_curves_are_means_with_intervals(comparison):
    ax = plot_returns(comparison, window=5)
    for line, band, name in zip(ax.lines, ax.collections, comparison.returns):
        np.testing.assert_allclose(line.get_ydata(), comparison.mean(name, 5))
        low, high = comparison.interval(name, 5)
        ends = band.get_paths()[0].vertices[:, 1]
        assert ends.min() == pytest.approx(low.min())
        assert ends.max() == pytest.approx(high.max())
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["learning", "random"]
    assert ax.lines[0].get_linestyle() != ax.lines[1].get_linestyle()
    assert ax.get_title("left") == "mean of 4 seeds and of 5 episodes; bands: 95% intervals"
    lengths = plot_returns(comparison, 1, lengths=True)
    np.testing.assert_allclose(lengths.lines[0].get_ydata(), comparison.lengths["learning"].mean(axis=0))
    assert lengths.get_ylabel() == "length of the episode"


def test_learning_curves_of_agents(comparison):
    agents = comparison.agents["learning"]
    of_a_dict = plot_returns({"QL": agents}, 5)
    np.testing.assert_allclose(of_a_dict.lines[0].get_ydata(), comparison.mean("learning", 5))
    single = plot_returns(agents[0])
    assert len(single.lines) == 1
    assert not single.collections
    assert single.get_title("left") == "mean of the last 3 episodes"
    several = plot_returns([agents[0], agents[1], MonteCarlo(90, random_state=0).fit(WORLD)])
    names = [text.get_text() for text in several.get_legend().get_texts()]
    assert names == ["QLearning 1", "QLearning 2", "MonteCarlo"]
    assert [len(line.get_ydata()) for line in several.lines] == [60, 60, 90]


def test_the_first_episodes_do_not_press_the_others_together():
    returns = np.r_[np.full(10, -1e4), np.linspace(-20, -10, 990)]
    agent = SimpleNamespace(episode_returns_=returns, episode_lengths_=np.ones(1000))
    low, high = plot_returns(agent, 1).get_ylim()
    assert -30 < low < -19
    assert -11 < high < 0


def test_regret_and_the_logarithm():
    curves = {
        name: average_regret(BanditAgent(name, 400), [0.2, 0.8], n_runs=10, random_state=0)
        for name in ("thompson", "explore-only")
    }
    ax = plot_regret(curves)
    first, second, logarithm = ax.lines
    np.testing.assert_allclose(first.get_ydata(), curves["thompson"].mean)
    np.testing.assert_allclose(second.get_ydata()[-1], 120.0)
    t, reference = logarithm.get_data()
    np.testing.assert_allclose(reference, curves["thompson"].mean[-1] * np.log(t) / np.log(400))
    assert len(ax.collections) == 2
    assert ax.get_xlabel() == "pulls"


def test_regret_of_agents_and_runs():
    agents = [BanditAgent("ucb1", 200, random_state=seed).fit([0.2, 0.8]) for seed in range(3)]
    names = [text.get_text() for text in plot_regret(agents).get_legend().get_texts()]
    assert names == ["ucb1 1", "ucb1 2", "ucb1 3", "c log t"]
    runs = plot_regret({"ucb1": agents})
    mean = np.mean([agent.regret_ for agent in agents], axis=0)
    np.testing.assert_allclose(runs.lines[0].get_ydata(), mean)
    assert len(runs.collections) == 1
    alone = plot_regret(agents[0].regret_)
    np.testing.assert_array_equal(alone.lines[0].get_ydata(), agents[0].regret_)
    assert not alone.collections
    np.testing.assert_array_equal(plot_regret([0.5, 1.0, 1.5]).lines[0].get_ydata(), [0.5, 1.0, 1.5])
    curve = average_regret(BanditAgent(n_steps=50), [0.2, 0.8], n_runs=2, random_state=0)
    np.testing.assert_allclose(plot_regret(curve).lines[0].get_ydata(), curve.mean)


# Films --------------------------------------------------------------------------------------------------------


def recorded(agent, world, capacity=256):
    recorder = Recorder(capacity)
    agent.set_callbacks(recorder).fit(world)
    return recorder


def test_a_film_of_values_on_the_grid():
    recorder = recorded(ValueIteration(discount=0.99), BOOK)
    film = replay(recorder, BOOK)
    assert len(list(film.new_frame_seq())) == len(recorder.frames) > 5
    limits = set()
    for k, frame in enumerate(recorder.frames[:4] + recorder.frames[-1:]):
        film._func(recorder.frames.index(frame))
        ax = film._fig.axes[0]
        np.testing.assert_allclose(ax.images[0].get_array()[0, :3], frame.estimator.V_[:3])
        limits.add(ax.images[0].get_clim())
        assert ax.get_title() == f"ValueIteration, pass {frame.index + 1}"
        assert len(film._fig.axes) == 2, k
    inside = np.array([frame.estimator.V_[~BOOK.terminal] for frame in recorder.frames])
    assert limits == {(inside.min(), inside.max())}
    assert arrows(ax) == arrows(plot_values(recorder.frames[-1].estimator, BOOK))
    film._func(0)
    assert arrows(film._fig.axes[0]) == {(0, 2): RIGHT, (1, 2): LEFT, (2, 3): DOWN}  # what is next to an end
    film.pause()


def test_a_film_of_learning():
    recorder = recorded(QLearning(40, random_state=0), numbered(WORLD), 8)
    film = replay(recorder, numbered(WORLD), (1, 5))
    film._func(1)
    first, last = recorder.frames[0].estimator, recorder.frames[-1].estimator
    low, high = film._fig.axes[0].images[0].get_clim()
    drawn = [frame.estimator.V_[:4] for frame in recorder.frames]
    assert (low, high) == (np.min(drawn), np.max(drawn))
    assert not np.array_equal(first.Q_, last.Q_)
    film.pause()


def test_a_film_without_a_grid_shows_the_same_states():
    recorder = recorded(QLearning(20, random_state=0), cliff_walking())
    film = replay(recorder)
    rows, limits = set(), set()
    for k in (0, len(recorder.frames) - 1):
        film._func(k)
        (ax,) = film._fig.axes
        rows.add(tuple(ticks(ax, "y")))
        limits.add(ax.images[0].get_clim())
    assert len(rows) == len(limits) == 1
    film.pause()


def test_bandits_have_a_film():
    recorder = Recorder()
    BanditAgent(n_steps=50, random_state=0).set_callbacks(recorder).fit([0.2, 0.8])
    film = replay(recorder)
    film._func(3)
    assert len(film._fig.axes[0].patches) == 2
    film.pause()


# Pictures of fitted agents ------------------------------------------------------------------------------------


def test_bandits_are_bars_with_counts():
    agent = BanditAgent("ucb1", 300, random_state=0).fit([0.2, 0.5, 0.8])
    ax = plot_model(agent)
    assert [bar.get_width() for bar in ax.patches] == agent.Q_.tolist()
    assert texts(ax) == [f"n = {count}" for count in agent.counts_]
    assert ticks(ax, "y") == ["arm 0", "arm 1", "arm 2"]
    assert ax.get_title("left") == "300 pulls"
    assert ticks(plot_model(agent, labels=["a", "b", "c"]), "y") == ["a", "b", "c"]


def test_contextual_bandits_have_coefficients_of_arms():
    X = np.random.default_rng(0).normal(size=(200, 2))
    rewards = X @ [[1.0, -1.0, 0.0], [0.0, 1.0, -1.0]]
    ax = plot_model(LinUCB().play(X, rewards), ["age", "income"])
    assert ticks(ax, "x") == ["arm 0", "arm 1", "arm 2"]
    assert set(ticks(ax, "y")) == {"age", "income"}
    agent = ContextualBanditAgent(SGDRegressor(random_state=0), random_state=0)
    agent.fit(X, np.arange(200) % 2, rewards[:, 0])
    assert ticks(plot_model(agent), "x") == ["arm 0", "arm 1"]
    agent.estimators_ = [object(), object()]
    assert [bar.get_width() for bar in plot_model(agent).patches] == [100, 100]


def test_learned_rewards_are_bars():
    world = grid_world("S....", actions=("left", "right", "stay"))
    shown = world.simulate([1, 1, 1, 1, 2], max_steps=200, random_state=0)
    model = ApprenticeshipLearning(discount=0.9, random_state=0).fit(world, shown)
    ax = plot_model(model)
    assert [bar.get_width() for bar in ax.patches] == model.rewards_.tolist()
    assert ax.get_xlabel() == "reward"
    end = np.array([[0.0, 1.0], [0.0, 1.0], [0.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    few = ApprenticeshipLearning(discount=0.9, random_state=0).fit(world, shown, end)
    ax = plot_model(few, ["end", "way"])
    assert set(ticks(ax, "y")) == {"end", "way"}


def test_an_agent_that_imitates_shows_its_estimator_or_its_policy():
    from tercet.tree import DecisionTreeClassifier

    policy = ValueIteration(discount=0.99).fit(BOOK).policy_
    shown = BOOK.simulate(policy, 50, start=~BOOK.terminal / 9, random_state=0)
    table = plot_model(BehaviourCloning().fit(shown, BOOK))
    assert table.get_title("left") == "probabilities of actions; frames: the most probable"
    assert ticks(table, "x") == ["up", "right", "down", "left"]
    tree = plot_model(BehaviourCloning(DecisionTreeClassifier(random_state=0)).fit(shown, BOOK))
    assert tree.get_title("left") != table.get_title("left")


def test_values_of_two_numbers_are_a_surface():
    agent = SimpleNamespace(
        features_=SimpleNamespace(low_=np.array([0.0, -1.0]), high_=np.array([1.0, 1.0])),
        action_values=lambda X: X[:, :1] * [1.0, 2.0],
    )
    ax = plot_model(agent, ["position", "velocity"])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("position", "velocity")
    assert ax.get_xlim() == (0, 1)
    assert ax.get_ylim() == (-1, 1)
    assert len(ax.figure.axes) == 2
    frames = [SimpleNamespace(index=k, estimator=agent) for k in range(2)]
    film = replay(SimpleNamespace(frames=frames))
    film._func(1)
    assert len(film._fig.axes) == 2
    film.pause()


def test_agents_with_tables_are_drawn_as_such_whatever_else_they_have():
    kernel = KernelSarsa(n_episodes=20, random_state=0).fit(BOOK)  # has a `dual_coef_`, as an SVM
    linear = LinearQLearning(n_episodes=20, random_state=0).fit(BOOK)  # has a `coef_`, as a regression
    for agent in (kernel, linear):
        assert plot_model(agent).get_title("left") == "values of actions; frames: the best"
    values = LinearTD(n_episodes=20, random_state=0).fit(BOOK)
    assert [bar.get_width() for bar in plot_model(values).patches] == values.V_.tolist()


def test_the_order_of_imports_does_not_decide_about_pictures():
    agent = SimpleNamespace(Q_=np.eye(2), policy_=np.zeros(2, int), dual_coef_=np.eye(2), kernel="rbf")
    models.load_pictures()
    before = models._pictures.copy()
    try:  # as if the page had been imported before that of support vector machines
        models._pictures.sort(key=lambda entry: entry[1].__module__ == "tercet.plot.reinforcement")
        models.load_pictures.cache_clear()
        assert plot_model(agent).get_title("left") == "values of actions; frames: the best"
        assert models._pictures == before
    finally:
        models._pictures[:] = before
