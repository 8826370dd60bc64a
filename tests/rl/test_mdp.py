"""MDP: models from arrays, pairs, gymnasium and observed transitions; bad input; simulation."""

import pickle

import gymnasium as gym
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from tercet.rl import MDP
from tests.rl.planning_reference import dense
from tests.rl.td_reference import P3, R3, three_states


def assert_equal_models(one, other):
    assert (one.n_states, one.n_actions, one.n_pairs) == (other.n_states, other.n_actions, other.n_pairs)
    assert one.states == other.states
    assert one.actions == other.actions
    for name in ("allowed", "terminal", "start", "pair_states", "pair_actions"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    np.testing.assert_allclose(one.probabilities.toarray(), other.probabilities.toarray(), rtol=1e-14)
    np.testing.assert_allclose(one.pair_rewards, other.pair_rewards, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(one.model.rewards, other.model.rewards, rtol=1e-12)


# Forms of models ------------------------------------------------------------------------------------------------


def test_parts_of_a_model():
    mdp = three_states()
    assert repr(mdp) == "MDP(3 states, 2 actions, 1 terminal)"
    np.testing.assert_array_equal(mdp.terminal, [False, False, True])
    np.testing.assert_array_equal(mdp.start, [1, 0, 0])
    np.testing.assert_array_equal(mdp.pair_states, [0, 0, 1, 1, 2, 2])
    np.testing.assert_allclose(mdp.expected_rewards(), [[1.2, 2.7], [2.5, 2.6], [0, 0]])
    np.testing.assert_allclose(mdp.probabilities.toarray(), P3.reshape(6, 3))
    np.testing.assert_array_equal(MDP(P3, R3).start, [0.5, 0.5, 0])  # where it does not end at once


def by_action(array):
    return [np.ascontiguousarray(array[:, a]) for a in range(array.shape[1])]


@pytest.mark.parametrize(
    "form", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array, np.asarray], ids=lambda f: f.__name__
)
def test_matrices_by_action(form):
    P, R = ([form(part) for part in by_action(array)] for array in (P3, R3))
    assert_equal_models(MDP(P3, R3), MDP(P, R))
    assert_equal_models(MDP(P3, R3), MDP(P, R3))
    assert_equal_models(MDP(P3, R3), MDP(P3, R))
    expected = np.einsum("xau,xau->xa", P3, R3)
    np.testing.assert_allclose(MDP(P, expected).pair_rewards, MDP(P3, R3).pair_rewards)


def test_matrices_are_tidied_in_copies():
    """Duplicates are added, zeros dropped, indices sorted; the given matrices stay as they are."""
    wild = sparse.csr_array(([0.25, 0.75, 0.0, 0.5, 0.5], [1, 0, 1, 0, 0], [0, 3, 5]), shape=(2, 2))
    before = wild.data.copy(), wild.indices.copy()
    for mdp in (MDP([wild, wild], [[1, 2], [3, 4]]), MDP.from_pairs([0, 1], [0, 0], wild, [1.0, 2.0])):
        np.testing.assert_array_equal(mdp.probabilities.toarray()[0], [0.75, 0.25])
        assert mdp.probabilities.has_canonical_format
        assert (mdp.probabilities.data > 0).all()
        assert mdp.probabilities.indices.dtype == np.int32
    np.testing.assert_array_equal(wild.data, before[0])
    np.testing.assert_array_equal(wild.indices, before[1])


def test_many_states_in_sparse_matrices():
    rng = np.random.default_rng(0)
    n, m = 2000, 3
    P = [
        sparse.random_array((n, n), density=0.002, rng=rng, format="csr") + sparse.eye_array(n)
        for _ in range(m)
    ]
    P = [sparse.csr_array(part / part.sum(axis=1)[:, None]) for part in P]
    R = [sparse.random_array((n, n), density=0.5, rng=rng, format="csr") for _ in range(m)]
    allowed = rng.random((n, m)) < 0.5
    allowed[:, 1] = True
    mdp = MDP(P, R, allowed=allowed)
    for pair in rng.integers(0, mdp.n_pairs, 50):
        x, a = mdp.pair_states[pair], mdp.pair_actions[pair]
        p, r = P[a].toarray()[x], R[a].toarray()[x]
        np.testing.assert_array_equal(mdp.probabilities[[pair]].toarray()[0], p)
        assert mdp.pair_rewards[pair] == pytest.approx(p @ r, rel=1e-12)
        inside = slice(mdp.model.indptr[pair], mdp.model.indptr[pair + 1])
        np.testing.assert_array_equal(mdp.model.rewards[inside], r[mdp.model.successors[inside]])


def test_rewards_of_states_actions_and_transitions():
    P = P3[:2, :, :2] + P3[:2, :, 2:] / 2
    np.testing.assert_array_equal(MDP(P, [1.0, 2.0]).pair_rewards, [1, 1, 2, 2])
    np.testing.assert_array_equal(MDP(P, [[1.0, 2.0], [3.0, 4.0]]).pair_rewards, [1, 2, 3, 4])
    R = np.arange(8.0).reshape(2, 2, 2)
    mdp = MDP(P, R)
    np.testing.assert_allclose(mdp.pair_rewards, (P * R).sum(axis=2).ravel())
    np.testing.assert_array_equal(
        mdp.model.rewards, R[P > 0]
    )  # rewards of impossible transitions are left out
    sparse_table = sparse.csr_array([[1.0, 0.0], [0.0, 4.0]])
    np.testing.assert_array_equal(MDP(P, sparse_table.toarray()).pair_rewards, [1, 0, 0, 4])


def test_masked_actions():
    P, R = P3.copy(), R3.copy()
    P[0, 1], R[0, 1] = np.nan, np.nan  # ignored
    mdp = MDP(P, R, allowed=[[True, False], [True, True], [True, True]])
    assert mdp.n_pairs == 5
    np.testing.assert_array_equal(mdp.pair_index, [[0, -1], [1, 2], [3, 4]])
    np.testing.assert_array_equal(mdp.table(np.arange(5)), [[0, -np.inf], [1, 2], [3, 4]])
    np.testing.assert_array_equal(mdp.table(np.arange(5), 9.0)[0], [0, 9])
    with pytest.raises(ValueError, match=r"MDP: state 0 does not allow the action 1"):
        mdp.step(0, 1)


def test_from_pairs_in_any_order():
    whole = three_states()
    order = [3, 0, 5, 1, 4, 2]
    P, R = whole.probabilities.toarray()[order], whole.pair_rewards[order]
    x, a = whole.pair_states[order], whole.pair_actions[order]
    for form in (np.asarray, sparse.csr_array, sparse.csc_matrix):
        mdp = MDP.from_pairs(x, a, form(P), R, start=0)
        np.testing.assert_array_equal(mdp.probabilities.toarray(), whole.probabilities.toarray())
        np.testing.assert_array_equal(mdp.pair_rewards, whole.pair_rewards)
        np.testing.assert_array_equal(mdp.terminal, whole.terminal)


def test_from_pairs_in_order_is_not_copied():
    P = sparse.csr_array(P3.reshape(6, 3))
    mdp = MDP.from_pairs([0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 0, 1], P, np.zeros(6))
    assert np.shares_memory(mdp.probabilities.data, P.data)


def test_terminal_states_need_no_pair_and_no_action():
    P = [[0.5, 0.5], [1.0, 0.0]]
    mdp = MDP.from_pairs([0, 0], [1, 0], P, [1.0, 2.0], terminal=[1])
    assert mdp.n_pairs == 3
    assert mdp.terminal.tolist() == [False, True]
    np.testing.assert_array_equal(mdp.probabilities.toarray(), [[1, 0], [0.5, 0.5], [0, 1]])
    allowed = np.array([[True, True], [False, False]])
    mdp = MDP(np.full((2, 2, 2), 0.5), np.ones((2, 2)), terminal=1, allowed=allowed)
    assert mdp.n_pairs == 3
    assert mdp.pair_rewards.tolist() == [1, 1, 0]
    with pytest.raises(
        ValueError, match=r"MDP: state 1 has no action; every state that is not terminal needs one"
    ):
        MDP(np.full((2, 2, 2), 0.5), np.ones((2, 2)), allowed=allowed)


# Terminal states and the start ---------------------------------------------------------------------------------


def test_terminal_states_stay_where_they_are_whatever_the_arrays_hold():
    P, R = P3.copy(), R3.copy()
    P[2], R[2] = 0.0, 7.0  # rows of zeros, as some write them
    for terminal in ([2], {2}, 2, [False, False, True], np.array([False, False, True]), range(2, 3)):
        assert_equal_models(MDP(P, R, terminal=terminal), MDP(P3, R3))
    P[1] = np.nan
    mdp = MDP(P, R, terminal=[1, 2])
    np.testing.assert_array_equal(mdp.probabilities.toarray()[2:], [[0, 1, 0]] * 2 + [[0, 0, 1]] * 2)
    np.testing.assert_array_equal(mdp.pair_rewards[2:], 0)
    np.testing.assert_array_equal(mdp.model.rewards[-4:], 0)
    named = MDP(P, R, terminal=["b", "c"], states="abc")
    np.testing.assert_array_equal(named.terminal, [False, True, True])
    assert MDP(P3, R3, terminal="c", states="abc").terminal.tolist() == [False, False, True]


def test_states_that_stay_with_a_reward_are_not_terminal():
    P = np.ones((2, 1, 1)) * np.eye(2)[:, None]
    assert MDP(P, [[1.0], [0.0]]).terminal.tolist() == [False, True]
    assert MDP(P, [[1.0], [0.0]], terminal=[]).terminal.tolist() == [False, False]
    assert MDP(P, [[0.0], [0.0]]).start.tolist() == [0.5, 0.5]  # all are terminal


def test_start():
    assert MDP(P3, R3, start=1).start.tolist() == [0, 1, 0]
    assert MDP(P3, R3, start=[0.25, 0.5, 0.25]).start.tolist() == [0.25, 0.5, 0.25]
    assert MDP(P3, R3, states="abc", start="b").start.tolist() == [0, 1, 0]
    with pytest.raises(
        ValueError, match=r"MDP: start must be a state, or probabilities of the 3 states; got .* \(2,\)"
    ):
        MDP(P3, R3, start=[0.5, 0.5])
    with pytest.raises(
        ValueError, match=r"MDP: start must hold probabilities that sum to 1; they sum to 0.9"
    ):
        MDP(P3, R3, start=[0.5, 0.4, 0.0])


def test_names():
    mdp = MDP(P3, R3, states=["low", "high", "end"], actions=["wait", "go"], terminal=["end"])
    assert mdp.state_index("high") == 1
    assert mdp.action_index("go") == 1
    assert mdp.step("low", "go", random_state=0).state in ("low", "high")
    with pytest.raises(ValueError, match=r"MDP: there is no state 'hihg'. Did you mean 'high'?"):
        mdp.state_index("hihg")
    with pytest.raises(ValueError, match=r"MDP: there is no action 7. There are 2, from 'wait' on"):
        mdp.action_index(7)
    with pytest.raises(ValueError, match=r"MDP: there is no state 3. There are 3, from 0 on"):
        three_states().state_index(3)
    with pytest.raises(
        ValueError, match=r"MDP: states must be 3 different names; got 3, 2 of them different"
    ):
        MDP(P3, R3, states=["a", "b", "a"])
    with pytest.raises(
        ValueError, match=r"MDP: actions must be 2 different names; got 1, 1 of them different"
    ):
        MDP(P3, R3, actions=["a"])


# Bad input ------------------------------------------------------------------------------------------------------


def changed(array, place, value):
    array = array.copy()
    array[place] = value
    return array


@pytest.mark.parametrize(
    ("P", "R", "message"),
    [
        (
            changed(P3, (1, 1, 0), 0.5),
            R3,
            r"the probabilities of state 1 and action 1 sum to 0.9; they must sum to 1",
        ),
        (P3 * 0.9, R3, r"the probabilities of state 0 and action 0 sum to 0.9 \(6 pairs in all\)"),
        (changed(P3, (0, 1), [-0.1, 1.1, 0]), R3, "P holds -0.1 for state 0 and action 1; .* at least 0"),
        (changed(P3, (2, 0, 2), np.nan), R3, "P holds nan for state 2 and action 0"),
        (changed(P3, (2, 0, 2), np.inf), R3, "the probabilities of state 2 and action 0 sum to inf"),
        (P3, changed(R3, (1, 0, 2), np.nan), "R is not a finite number for state 1 and action 0"),
        (P3, changed(R3, (1, 0, 2), np.inf), "R is not a finite number for state 1 and action 0"),
        (P3, np.zeros(4), r"R must have the shape \(3,\), \(3, 2\) or \(3, 2, 3\); got \(4,\)"),
        (P3, np.zeros((2, 3)), r"R must have the shape .* got \(2, 3\)"),
        (P3, [np.zeros((3, 3))], r"R must have the shape .* got \(1, 3, 3\)"),
        (
            P3,
            [sparse.csr_array((3, 3))],
            r"R must have 2 matrices of shape \(3, 3\), as P has; got 1 of \(3, 3\)",
        ),
        (
            P3,
            [sparse.csr_array((2, 2))] * 2,
            r"R must have 2 matrices of shape \(3, 3\), as P has; got 2 of \(2, 2\)",
        ),
        (P3, [["a", "b"], ["c"]], "R must hold numbers, in rows of equal length"),
        (
            P3.transpose(1, 0, 2),
            R3,
            r"P must have the shape \(states, actions, states\) .*list\(P\)\); got \(2, 3, 3\)",
        ),
        (P3[:, :, 0], R3, r"P must have the shape \(states, actions, states\); got \(3, 2\)"),
        (np.zeros((0, 2, 0)), R3, r"P must have the shape .* got \(0, 2, 0\)"),
        ([[1, 2], [3]], R3, "P must hold numbers, in rows of equal length"),
        ([], R3, "P must have the shape"),
        (
            sparse.csr_array(P3[:, 0]),
            R3,
            "P must be a list of sparse matrices, one for each action; got a single one",
        ),
        ([P3[:, 0], P3[:, 1, :2]], R3, r"P of action 1 must have the shape \(3, 3\); got \(3, 2\)"),
        ([sparse.csr_array((3, 2))], R3, r"P of action 0 must have the shape \(3, 3\); got \(3, 2\)"),
    ],
)
def test_bad_arrays(P, R, message):
    with pytest.raises(ValueError, match=r"MDP: " + message):
        MDP(P, R)


def test_bad_masks():
    with pytest.raises(
        ValueError, match=r"MDP: allowed must be an array of bool of shape \(3, 2\).* int64 of shape"
    ):
        MDP(P3, R3, allowed=np.ones((3, 2), dtype=np.int64))
    with pytest.raises(
        ValueError, match=r"MDP: terminal must be a list of states, or hold True or False for each of the 3"
    ):
        MDP(P3, R3, terminal=[True, False])
    with pytest.raises(ValueError, match=r"MDP: there is no state 9"):
        MDP(P3, R3, terminal=[9])


def test_probabilities_of_few_digits_are_scaled():
    P = np.round(np.full((1, 1, 3), 1 / 3), 7) * np.ones((3, 1, 1))
    mdp = MDP(P, np.ones((3, 1, 3)))
    np.testing.assert_allclose(mdp.probabilities.sum(axis=1), 1.0, rtol=1e-15)
    np.testing.assert_allclose(mdp.pair_rewards, 1.0, rtol=1e-15)


def test_bad_pairs():
    P = np.eye(3)
    with pytest.raises(ValueError, match=r"MDP: state 0 and action 1 appear twice in the pairs"):
        MDP.from_pairs([0, 1, 0], [1, 0, 1], P, np.zeros(3))
    with pytest.raises(ValueError, match=r"MDP: states_of_pairs must hold whole numbers of at least 0"):
        MDP.from_pairs([0, -1, 0], [1, 0, 1], P, np.zeros(3))
    with pytest.raises(
        ValueError, match=r"MDP: states_of_pairs holds 3; there are 3 states, numbered from 0"
    ):
        MDP.from_pairs([0, 3, 1], [1, 0, 1], P, np.zeros(3))
    with pytest.raises(
        ValueError, match=r"MDP: actions_of_pairs holds 5; there are 2 actions, numbered from 0"
    ):
        MDP.from_pairs([0, 1, 2], [0, 5, 0], P, np.zeros(3), actions=["left", "right"])
    with pytest.raises(ValueError, match=r"an entry or a row for each pair; got the shapes \(2,\), \(3,\)"):
        MDP.from_pairs([0, 1], [0, 0, 0], P, np.zeros(3))
    with pytest.raises(ValueError, match=r"MDP: state 1 has no action"):
        MDP.from_pairs([0, 0, 2], [1, 0, 1], P, np.zeros(3))


# Models of gymnasium --------------------------------------------------------------------------------------------


class Table:
    """An environment with a table of transitions."""

    def __init__(self, P, start=None):
        self.P = P
        if start is not None:
            self.initial_state_distrib = np.array(start)


def test_from_gymnasium_is_the_environment():
    env = gym.make("FrozenLake-v1")
    mdp = MDP.from_gymnasium(env)
    assert mdp.states == list(range(16))
    assert mdp.start[0] == 1
    assert mdp.terminal.sum() == 5
    for x, actions in env.unwrapped.P.items():
        for a, outcomes in actions.items():
            p = np.zeros(16)
            for probability, u, _, _ in outcomes:
                p[u] += probability
            np.testing.assert_allclose(mdp.probabilities.toarray()[mdp.pair_index[x, a]], p, rtol=1e-14)
    assert_equal_models(mdp, MDP.from_gymnasium("FrozenLake-v1"))


def test_an_episode_that_ends_where_others_go_on():
    """Taxi ends in states that are also passed: the end becomes a state of its own."""
    mdp = MDP.from_gymnasium("Taxi-v4")
    assert mdp.n_states == 501
    assert mdp.states[-1] == "end"
    assert mdp.terminal.tolist() == [False] * 500 + [True]
    mdp = MDP.from_gymnasium(
        Table({0: {0: [(0.5, 1, 1.0, True), (0.5, 1, 2.0, False)]}, 1: {0: [(1.0, 0, 0.0, False)]}})
    )
    assert mdp.states == [0, 1, "end"]
    np.testing.assert_array_equal(mdp.probabilities.toarray(), [[0, 0.5, 0.5], [1, 0, 0], [0, 0, 1]])
    np.testing.assert_array_equal(mdp.pair_rewards, [1.5, 0, 0])


def test_an_episode_that_ends_where_others_begin():
    loop = {0: {0: [(1.0, 0, 5.0, True)], 1: [(1.0, 0, 1.0, False)]}}
    mdp = MDP.from_gymnasium(Table(loop, [1.0]))
    assert mdp.states == [0, "end"]
    assert mdp.start.tolist() == [1, 0]
    assert MDP.from_gymnasium(Table(loop)).states == [0]  # nothing says that it begins there
    assert MDP.from_gymnasium(Table(loop)).terminal.tolist() == [True]


def test_tables_of_other_forms():
    mdp = MDP.from_gymnasium(Table([[[(1.0, 1, 1.0, False)]], [[(1.0, 2, 0.0, True), (0.0, 0, 9.0, False)]]]))
    assert mdp.states == [0, 1, 2]
    assert mdp.terminal.tolist() == [False, False, True]
    mdp = MDP.from_gymnasium(
        Table({"b": {"up": [(1.0, "a", 1.0, False)]}, "a": {"down": [(1.0, "c", 2.0, True)]}})
    )
    assert mdp.states == ["a", "b", "c"]
    assert mdp.actions == ["down", "up"]
    assert mdp.pair_rewards.tolist() == [2, 1, 0]


def test_environments_without_a_table():
    with pytest.raises(ValueError, match=r"MDP: CartPoleEnv has no table P of its transitions"):
        MDP.from_gymnasium(gym.make("CartPole-v1"))
    with pytest.raises(ValueError, match=r"MDP: the table P of Table must have lists P\[state\]\[action\]"):
        MDP.from_gymnasium(Table({0: {0: [(1.0, 0)]}}))
    with pytest.raises(ValueError, match=r"MDP: the probabilities of state 0 and action 0 sum to 0.5"):
        MDP.from_gymnasium(Table({0: {0: [(0.5, 0, 1.0, False)]}}))


# Models of observed transitions ---------------------------------------------------------------------------------

LOG = {
    "state": ["a", "a", "a", "b", "b"],
    "action": ["go", "go", "stay", "go", "go"],
    "reward": [1, 3, 0, 4, 6],
    "next_state": ["a", "b", "a", "c", "b"],
    "terminated": [False, False, False, True, False],
}


@pytest.mark.parametrize("frame", [dict, pd.DataFrame, pl.DataFrame])
def test_shares_and_mean_rewards(frame):
    mdp = MDP.from_transitions(frame(LOG))
    assert mdp.states == ["a", "b", "c"]
    assert mdp.actions == ["go", "stay"]
    assert mdp.terminal.tolist() == [False, False, True]
    P, R = dense(mdp)
    np.testing.assert_array_equal(P[0], [[0.5, 0.5, 0], [1, 0, 0]])
    np.testing.assert_array_equal(P[1, 0], [0, 0.5, 0.5])
    np.testing.assert_array_equal(R[:2], [[2, 0], [5, np.nan]])
    assert not mdp.allowed[1, 1]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_numbers_as_states_with_missing_last_ones(frame):
    log = {"state": [5, 7, 5], "action": [1, 0, 1], "reward": [1.0, 2.0, 0.0], "next_state": [7, None, 5],
           "terminated": [False, True, False]}  # fmt: skip
    mdp = MDP.from_transitions(frame(log))
    assert mdp.states == [5, 7, "end"]
    assert mdp.actions == [0, 1]
    np.testing.assert_array_equal(mdp.probabilities.toarray(), [[0.5, 0.5, 0], [0, 0, 1], [0, 0, 1]])


def test_tuples_as_states():
    log = {"state": [(0, 0), (0, 1)], "action": [0, 0], "reward": [0, 1], "next_state": [(0, 1), (1, 1)]}
    assert MDP.from_transitions(log).states == [(0, 0), (0, 1), (1, 1)]
    log["state"] = np.array(log["state"])
    assert MDP.from_transitions(log).states == [(0, 0), (0, 1), (1, 1)]


def test_given_names():
    mdp = MDP.from_transitions(LOG, states=["c", "b", "a", "d"], actions=["stay", "go"])
    assert mdp.states == ["c", "b", "a", "d"]
    assert mdp.terminal.tolist() == [True, False, False, True]
    with pytest.raises(ValueError, match=r"MDP: transitions hold 'b', which is not among states"):
        MDP.from_transitions(LOG, states=["a", "c"])


def test_an_observed_episode_that_ends_where_others_go_on():
    log = {**LOG, "next_state": ["a", "b", "a", "a", "b"]}
    mdp = MDP.from_transitions(log)
    assert mdp.states == ["a", "b", "end"]
    assert mdp.terminal.tolist() == [False, False, True]
    log["state"] = ["end", "end", "end", "b", "b"]
    log["next_state"] = ["end", "b", "end", "end", "b"]
    assert MDP.from_transitions(log).states == ["b", "end", "end_"]


def test_states_without_an_action():
    log = {**LOG, "next_state": ["a", "b", "a", "c", "d"]}
    with pytest.warns(
        UserWarning, match=r"no action was observed in 1 of 4 states that were reached, 'd' among them"
    ):
        assert MDP.from_transitions(log).terminal.tolist() == [False, False, True, True]
    del log["terminated"]
    assert MDP.from_transitions(log).terminal.tolist() == [False, False, True, True]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"reward": None},
            "transitions must have the columns state, action, reward, next_state; 'reward' is missing",
        ),
        ({"reward": [1, 2, np.nan, 4, 5]}, "'reward' is not a finite number in row 2 of transitions"),
        ({"reward": ["x"] * 5}, "'reward' is not a finite number in row 0"),
        ({"state": ["a", None, "a", "b", "b"]}, "'state' is missing in row 1"),
        (
            {"next_state": ["a", "b", None, "c", "b"]},
            "'next_state' is missing in row 2 of transitions and the row does",
        ),
        ({"action": ["go"]}, "the columns of transitions differ in length: state has 5, action 1"),
        ({"terminated": [0, 0, 0, 2, 0]}, "the column 'terminated' of transitions must hold True and False"),
        ({name: [] for name in LOG}, "transitions is empty"),
    ],
)
def test_bad_transitions(changes, message):
    log = {name: column for name, column in {**LOG, **changes}.items() if column is not None}
    with pytest.raises(ValueError, match=r"MDP: " + message):
        MDP.from_transitions(log)


def test_an_estimated_model_is_near_the_true_one():
    mdp = three_states()
    rows = [
        (x, a, r, u, t == len(episode.rewards) - 1 and episode.terminated)
        for episode in mdp.simulate(n_episodes=4000, random_state=0)
        for t, (x, a, r, u) in enumerate(
            zip(episode.states, episode.actions, episode.rewards, episode.states[1:])
        )
    ]
    names = ["state", "action", "reward", "next_state", "terminated"]
    found = MDP.from_transitions(pd.DataFrame(rows, columns=names))
    np.testing.assert_allclose(found.probabilities.toarray()[:4], P3.reshape(6, 3)[:4], atol=0.02)
    np.testing.assert_allclose(found.pair_rewards[:4], mdp.pair_rewards[:4], atol=0.2)


# Simulation -----------------------------------------------------------------------------------------------------


def test_episodes_follow_the_model():
    mdp = three_states()
    for episode in mdp.simulate(n_episodes=200, random_state=0):
        assert episode.states[0] == 0
        assert episode.terminated
        assert episode.states[-1] == 2
        assert len(episode.states) == len(episode.actions) + 1 == len(episode.rewards) + 1
        for x, a, r, u in zip(episode.states, episode.actions, episode.rewards, episode.states[1:]):
            assert P3[x, a, u] > 0
            assert r == R3[x, a, u]


def test_shares_of_simulated_transitions():
    mdp, counts = three_states(), np.zeros((3, 2, 3))
    for episode in mdp.simulate(n_episodes=3000, random_state=0):
        np.add.at(counts, (episode.states[:-1], episode.actions, episode.states[1:]), 1)
    total = counts.sum(axis=2)
    np.testing.assert_allclose(counts[:2] / total[:2, :, None], P3[:2], atol=0.03)
    np.testing.assert_allclose(total[:2, 0] / total[:2].sum(axis=1), 0.5, atol=0.03)  # the uniform policy


def test_steps_and_limits():
    mdp = three_states()
    states = [mdp.step(0, 1, random_state=seed).state for seed in range(500)]
    assert np.mean(states) == pytest.approx(0.9, abs=0.05)
    assert mdp.step(0, 1, random_state=0) == mdp.step(0, 1, random_state=0)
    cut = mdp.simulate([0, 0, 0], 3, max_steps=2, start=0, random_state=3)
    assert [len(episode.rewards) for episode in cut] == [2, 2, 2]
    assert not any(episode.terminated for episode in cut)
    at_once = mdp.simulate(start=2)[0]
    assert at_once.terminated
    assert at_once.rewards.size == 0
    assert at_once.discounted_return() == 0
    with pytest.raises(ValueError, match=r"MDP: max_steps must be an integer of at least 1; got 0"):
        mdp.simulate(max_steps=0)
    with pytest.raises(ValueError, match=r"MDP: n_episodes must be an integer of at least 1; got 2.5"):
        mdp.simulate(n_episodes=2.5)


def test_same_seed_same_episodes():
    first, second = (three_states().simulate(n_episodes=5, random_state=7) for _ in range(2))
    for one, other in zip(first, second):
        np.testing.assert_array_equal(one.states, other.states)
        np.testing.assert_array_equal(one.rewards, other.rewards)
    other = three_states().simulate(n_episodes=5, random_state=8)
    assert [len(e.rewards) for e in first] != [len(e.rewards) for e in other]


def test_discounted_return():
    episode = MDP([[[0, 1, 0]], [[0, 0, 1]], [[0, 0, 1]]], [[1.0], [2.0], [0.0]]).simulate(start=0)[0]
    assert episode.discounted_return(0.5) == 2.0
    assert episode.discounted_return() == 3.0


def test_pickle():
    for mdp in (three_states(), MDP(P3, R3, states="abc")):
        assert mdp.model.pairs.size
        assert len(mdp.states) == 3
        again = pickle.loads(pickle.dumps(mdp))
        assert "model" not in vars(again)
        assert_equal_models(mdp, again)
        assert again.state_index(mdp.states[1]) == 1
