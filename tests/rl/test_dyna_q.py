"""DynaQ: Dyna-Q, Dyna-Q+ and prioritised sweeping."""

import functools
import heapq
import operator

import numpy as np
import pytest

from tercet.rl import MDP, DynaQ, QLearning, Schedule, q_learning_update
from tercet.rl._engine.experience import QUEUED, ExperienceStore, put, take
from tests.rl.td_reference import (
    Simulator,
    dense,
    deterministic_mdp,
    optimal_values,
    random_mdp,
    recorder,
    three_states,
)


def test_without_planning_it_is_q_learning():
    mdp = random_mdp(0)
    options = {"n_episodes": 300, "discount": 0.9, "learning_rate": 0.3, "random_state": 0}
    one, other = DynaQ(planning_steps=0, **options).fit(mdp), QLearning(**options).fit(mdp)
    np.testing.assert_allclose(one.Q_, other.Q_, rtol=1e-12)
    np.testing.assert_array_equal(one.n_visits_, other.n_visits_)


@pytest.mark.parametrize("seed", range(3))
def test_updates(seed):
    """In a certain world every update in the model is one of Q-learning with a transition that was seen before."""
    mdp = deterministic_mdp(seed)
    agent = recorder(DynaQ)(
        1, n_steps=6, planning_steps=1, learning_rate=0.5, discount=0.9, epsilon=1.0, random_state=0
    )
    agent.fit(Simulator(mdp))
    tables, seen = {np.zeros((6, 3)).tobytes()}, []
    options = {"learning_rate": 0.5, "discount": 0.9}
    for x, a, r, u, _, ends in agent.log[0]:
        seen.append((x, a, r, u, ends))
        found = set()
        for table in tables:
            Q = np.frombuffer(table).reshape(6, 3).copy()
            q_learning_update(Q, x, a, r, u, terminated=ends, **options)
            for y, b, s, v, over in seen:  # any of them, planned
                P = Q.copy()
                q_learning_update(P, y, b, s, v, terminated=over, **options)
                found.add(P.tobytes())
        tables = found
    assert min(np.abs(agent.Q_ - np.frombuffer(one).reshape(6, 3)).max() for one in tables) < 1e-12


@pytest.mark.parametrize("world", [lambda mdp: mdp, Simulator])
def test_learned_model(world):
    mdp = random_mdp(0)
    agent = DynaQ(2000, epsilon=1.0, random_state=0).fit(world(mdp))
    model = agent.learned_model()
    (P, R), (P0, R0) = dense(model), dense(mdp)
    np.testing.assert_allclose(P[:5], P0[:5], atol=0.05)
    np.testing.assert_allclose(R[:5], R0[:5], atol=0.15)
    np.testing.assert_array_equal(model.terminal, mdp.terminal)
    seen = agent.transitions_
    counts = np.zeros((6, 3, 6))
    np.add.at(counts, (seen["state"], seen["action"], seen["next_state"]), seen["count"])
    np.testing.assert_array_equal(counts.sum(axis=2), agent.n_visits_)
    np.testing.assert_allclose(counts[:5] / counts[:5].sum(axis=2, keepdims=True), P[:5])
    np.testing.assert_array_equal(seen["terminated"], seen["next_state"] == 5)


def test_counts_of_the_model_are_those_of_the_steps():
    agent = recorder(DynaQ)(30, random_state=0).fit(Simulator(random_mdp(0)))
    steps = [(x, a, u, ends) for x, a, _, u, _, ends in functools.reduce(operator.iadd, agent.log, [])]
    seen = agent.transitions_
    columns = (seen[name].tolist() for name in ("state", "action", "next_state", "terminated"))
    records = list(zip(*columns))
    assert records == list(dict.fromkeys(steps))
    assert seen["count"].tolist() == [steps.count(record) for record in records]
    last = {(x, a): k + 1 for k, (x, a, _, _) in enumerate(steps)}
    assert {pair: agent.last_visits_[pair] for pair in last} == last
    assert np.count_nonzero(agent.last_visits_) == len(last)


def test_learned_model_of_an_episode_that_ends_in_the_midst():
    """A transition that ends an episode in a state where others go on."""
    mdp = MDP([[[0, 1]], [[1, 0]]], [1.0, 0.0], start=0)

    class Lucky(Simulator):
        def step(self, action):
            x, r, _, cut, info = super().step(action)
            return x, r, bool(self.np_random.random() < 0.3), cut, info

    agent = DynaQ(500, discount=0.9, random_state=0).fit(Lucky(mdp))
    model = agent.learned_model()
    assert (model.n_states, model.terminal.tolist()) == (3, [False, False, True])
    P, _ = dense(model)
    assert P[0, 0, 1] == pytest.approx(0.7, abs=0.05)
    assert P[0, 0, 2] == pytest.approx(0.3, abs=0.05)


def test_names_of_states():
    mdp = MDP([[[0, 1]], [[0, 1]]], [1.0, 0.0], start="a", states=["a", "b"])
    assert DynaQ(5, random_state=0).fit(mdp).learned_model().states == ["a", "b"]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("parameters", [{}, {"kappa": 1e-6}, {"prioritised": True}], ids=str)
def test_optimal_values_of_random_models(seed, parameters):
    mdp = random_mdp(seed)
    agent = DynaQ(
        60_000, discount=0.9, learning_rate=Schedule("exponential", 0.5, 0.0003, length=6000, per="visit"),
        epsilon=0.5, random_state=seed, **parameters,
    ).fit(mdp)  # fmt: skip
    np.testing.assert_allclose(agent.Q_, optimal_values(mdp, 0.9), atol=0.1)


@pytest.mark.parametrize("seed", range(3))
def test_prioritised_sweeping_solves_the_learned_model(seed):
    """With enough planning the values are those of the best policy in the model that was learned."""
    agent = DynaQ(
        200, prioritised=True, planning_steps=500, tol=1e-9, discount=0.9, epsilon=1.0, random_state=seed
    ).fit(random_mdp(seed))
    np.testing.assert_allclose(agent.Q_[:5], optimal_values(agent.learned_model(), 0.9)[:5], atol=1e-7)
    assert (agent.priorities_ >= 0).all()


def test_planning_saves_steps():
    """Sutton and Barto (2018), Example 8.1: a maze. Steps of the third to tenth episodes."""

    def steps(**parameters):
        options = {"discount": 0.95, "learning_rate": 0.1, "max_steps": 10**5, **parameters}
        return np.mean(
            [DynaQ(10, random_state=seed, **options).fit(maze()).episode_lengths_[2:] for seed in range(5)]
        )

    none, few, many = (steps(planning_steps=n) for n in (0, 5, 50))
    assert none > 5 * few > 5 * many
    assert steps(planning_steps=5, prioritised=True) < few


def maze(wall=((2, 1), (2, 2), (2, 3), (5, 4), (7, 0), (7, 1), (7, 2)), start=(0, 2), goal=(8, 0)):
    """The Dyna maze, 9 wide and 6 high; (column, row)."""
    place = {(c, r): c + 9 * r for c in range(9) for r in range(6)}
    P, R = np.zeros((54, 4, 54)), np.zeros((54, 4, 54))
    for (c, r), x in place.items():
        for a, (dc, dr) in enumerate([(1, 0), (-1, 0), (0, 1), (0, -1)]):
            to = (c + dc, r + dr)
            P[x, a, place[to] if to in place and to not in wall else x] = 1
    R[:, :, place[goal]] = 1
    return MDP(P, R, terminal=[place[goal]], start=place[start])


def test_a_bonus_finds_a_shortcut():
    """Sutton and Barto (2018), Example 8.3: a wall opens, which only Dyna-Q+ notices."""
    closed = [(c, 3) for c in range(1, 9)]
    before, after = maze(closed, (3, 5), (8, 0)), maze(closed[:-1], (3, 5), (8, 0))
    shortest = {}
    for kappa in (0.0, 1e-3):
        agent = DynaQ(
            10**6, planning_steps=10, kappa=kappa, discount=0.95, learning_rate=0.5, n_steps=3000, warm_start=True,
            random_state=0,
        ).fit(before).set_params(n_steps=9000).fit(after)  # fmt: skip
        shortest[kappa] = agent.episode_lengths_[-50:].min()
    assert shortest[0.0] >= 16
    assert shortest[1e-3] == 10


def test_queue_gives_the_highest_priority_first():
    rng, store, plain = np.random.default_rng(0), ExperienceStore(20, 5, queue=True), {}
    for _ in range(3000):
        if rng.random() < 0.6 or not plain:
            pair, priority = int(rng.integers(100)), float(rng.integers(1, 30))
            put(store.arrays, pair, priority)
            plain[pair] = max(priority, plain.get(pair, 0.0))
        else:
            best = heapq.nsmallest(1, plain, key=lambda pair: (-plain[pair], pair))[0]
            assert take(store.arrays) == best
            del plain[best]
        assert store.arrays.sizes[QUEUED] == len(plain)
    waiting = np.flatnonzero(store.arrays.priorities)
    assert waiting.tolist() == sorted(plain)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"prioritised": True, "kappa": 0.1}, "DynaQ: prioritised=True cannot be used with kappa above 0"),
        ({"planning_steps": -1}, "DynaQ: parameter 'planning_steps' must be"),
        ({"kappa": -1.0}, "DynaQ: parameter 'kappa' must be"),
        ({"tol": -1.0}, "DynaQ: parameter 'tol' must be"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        DynaQ(**parameters).fit(three_states())


def test_a_model_that_does_not_fit_is_refused():
    agent = DynaQ(20, random_state=0).fit(random_mdp(0))
    state = agent.__getstate__()
    for name, value in (("state", 6), ("action", 3), ("next_state", -1), ("count", 0)):
        wrong = {**state["transitions_"], name: np.full_like(state["transitions_"][name], value)}
        with pytest.raises(ValueError, match=f"DynaQ: transitions_ is .* in '{name}'"):
            DynaQ().__setstate__({**state, "transitions_": wrong})
