"""Demonstrations in all their forms, and the feature expectations of experts and policies."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from tercet.rl import MDP, Episode, demonstrated_features, feature_expectations, grid_world, random_mdp
from tercet.rl.imitation.demonstrations import in_model, read_demonstrations

PAIRS = [[("a", "go"), ("b", "stay"), ("b", "go")], [("b", "go"), ("end", None)]]


@pytest.fixture
def mdp():
    P = [[[0, 1, 0], [1, 0, 0]], [[0, 0, 1], [0, 1, 0]], [[0, 0, 1], [0, 0, 1]]]
    return MDP(P, np.zeros((3, 2)), terminal=["end"], states=["a", "b", "end"], actions=["go", "stay"])


def same(shown, states, actions, lengths, ends):
    assert shown.states.tolist() == states
    assert shown.actions.tolist() == actions
    assert shown.lengths.tolist() == lengths
    assert shown.ends.tolist() == ends


FRAME = {
    "state": ["a", "b", "b", "b", "end"],
    "action": ["go", "stay", "go", "go", None],
    "episode": [1, 1, 1, 2, 2],
}


@pytest.mark.parametrize(
    "form", [PAIRS, FRAME, pd.DataFrame(FRAME), pl.DataFrame(FRAME)], ids=lambda f: type(f).__module__
)
def test_forms(mdp, form):
    same(in_model(form, mdp), [0, 1, 1, 1], [0, 1, 0, 0], [3, 1], [2, 2])


def test_episodes_of_a_simulation_are_numbered(mdp):
    episodes = mdp.simulate(n_episodes=3, start="a", random_state=0)
    shown = in_model(episodes, mdp)
    assert shown.lengths.tolist() == [len(episode.actions) for episode in episodes]
    assert np.array_equal(shown.states, np.concatenate([episode.states[:-1] for episode in episodes]))
    assert shown.ends.tolist() == [2, 2, 2]
    assert shown.first_states.tolist() == [0, 0, 0]
    one = in_model(episodes[0], mdp)
    assert one.states.tolist() == episodes[0].states[:-1].tolist()


def test_times(mdp):
    assert in_model(PAIRS, mdp).times.tolist() == [0, 1, 2, 0]


def test_numbers_in_frames_with_missing_actions():
    mdp = grid_world("S.G")
    frame = pd.DataFrame({"state": [0, 1, 2], "action": [1.0, 1.0, np.nan]})
    mdp = MDP(
        list(mdp.probabilities.toarray().reshape(3, 4, 3).transpose(1, 0, 2)), np.zeros(3), terminal=[2]
    )
    same(in_model(frame, mdp), [0, 1], [1, 1], [2], [2])
    same(in_model([np.array([[0, 1], [1, 1]])], mdp), [0, 1], [1, 1], [2], [2])


def test_ends_that_are_certain_are_added():
    world = grid_world("S.G", slip=0.0)
    assert in_model([[(0, "right")]], world).ends.tolist() == [1]
    assert in_model([[(0, "right"), (1, "right")]], world).ends.tolist() == [2]
    assert in_model([[(0, "right")]], grid_world("S.\n..", slip=0.5)).ends.tolist() == [-1]


def test_a_pair_in_the_terminal_state_is_its_end(mdp):
    same(in_model([[("b", "go"), ("end", "go")]], mdp), [1], [0], [1], [2])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "demonstrations is empty; at least one episode is needed"),
        ("ab", "must be a list of episodes, each a list of .state, action. pairs, or a frame; got str"),
        ([3], "episode 0 is 3"),
        ([[]], "episode 0 has no action"),
        ([[("a", None)]], "episode 0 has no action"),
        ([[("a", "go"), ("b",)]], r"step 1 of episode 0 is \('b',\)"),
        ([("a", "go")], r"step 0 of episode 0 is 'a'.*For a single episode, write \[episode\]"),
        ([[("a", None), ("b", "go")]], "the action of step 0 of episode 0 is missing"),
        ([[("a", "go")], [("b", "go"), ("c", "go")]], "step 1 of episode 1: there is no state 'c'"),
        ([[("a", "run")]], "step 0 of episode 0: there is no action 'run'"),
        ([[("b", "go"), ("end", "go"), ("end", "go")]], "goes on after step 1, in the terminal state 'end'"),
        ([[("end", "go")]], "has no action before its terminal state"),
        ({"state": ["a"]}, "'action' is missing"),
        ({"state": ["a"], "action": []}, "the columns differ in length"),
        (
            [Episode(np.array([0, 7]), np.array([0]), np.zeros(1), False)],
            "step 1 of episode 0 has the state 7",
        ),
        (
            [Episode(np.array([0, 1]), np.array([2]), np.zeros(1), False)],
            "step 0 of episode 0 has the action 2",
        ),
        ([Episode(np.array([0]), np.array([], int), np.zeros(0), False)], "episode 0 has no action"),
    ],
)
def test_wrong_demonstrations(mdp, given, message):
    with pytest.raises(ValueError, match=message):
        in_model(given, mdp)


def test_actions_that_are_not_allowed():
    mdp = MDP.from_pairs([0, 0, 1], [0, 1, 0], [[1, 0], [0, 1], [0, 1]], [1.0, 0.0, 2.0])
    with pytest.raises(
        ValueError, match="step 1 of episode 0 takes the action 1 in the state 1, which does not allow it"
    ):
        in_model([[(0, 1), (1, 1)]], mdp)


def test_impossible_transitions_are_reported(mdp):
    with pytest.warns(
        UserWarning, match="1 of 2 transitions have the probability 0 .* 'a' by action 'stay' to 'b'"
    ):
        in_model([[("a", "stay"), ("b", "stay")]], mdp)


def test_reading_without_a_model():
    read = read_demonstrations([[(np.int64(3), np.str_("x"))]])
    assert type(read[0].states[0]) is int
    assert read[0].actions == ["x"]
    assert read[0].end is None


# Feature expectations --------------------------------------------------------------------------------------------


def test_the_reference_case():
    """Spec 14b, case 8: states (1, 0), (1, 0), (0, 1) with γ = 0.9."""
    mdp = MDP([[[0.5, 0.5]], [[0.5, 0.5]]], [0.0, 0.0])
    found = demonstrated_features(mdp, [[(0, 0), (0, 0), (1, 0)]], [[1, 0], [0, 1]], discount=0.9)
    assert found == pytest.approx([1.9, 0.81], rel=1e-14)


def test_a_terminal_state_counts_once(mdp):
    found = demonstrated_features(mdp, PAIRS, discount=0.5)
    assert found == pytest.approx([0.5, (0.5 + 0.25 + 1) / 2, (0.125 + 0.5) / 2])
    visits = feature_expectations(mdp, [0, 0, 0], discount=0.5, start="a")
    assert visits == pytest.approx([1, 0.5, 0.25])
    assert feature_expectations(mdp, [0, 0, 0], discount=0.5, start="end") == pytest.approx([0, 0, 1])


@pytest.mark.parametrize("n", [30, 700])
def test_visits_satisfy_their_equations(n):
    """d = start + γ P_πᵀ d, by few states and by many, and w·x̄ is the value of the rewards w·φ."""
    mdp = random_mdp(n, 3, 4, random_state=0)
    rng = np.random.default_rng(0)
    policy = rng.dirichlet(np.ones(3), n)
    features = rng.standard_normal((n, 5))
    visits = feature_expectations(mdp, policy, discount=0.95)
    assert visits.sum() == pytest.approx(20)
    P = sum(policy[:, [a]] * mdp.probabilities[a::3].toarray() for a in range(3))
    assert np.allclose(visits, mdp.start + 0.95 * P.T @ visits, rtol=0, atol=1e-12)
    x = feature_expectations(mdp, policy, features, discount=0.95)
    assert np.allclose(x, features.T @ visits)
    w = rng.standard_normal(5)
    V = np.linalg.solve(np.eye(n) - 0.95 * P, features @ w)
    assert w @ x == pytest.approx(mdp.start @ V)
    assert np.allclose(feature_expectations(mdp, policy, sparse.csr_array(features), discount=0.95), x)


def test_simulated_feature_expectations():
    world = grid_world("S..\n.H.\n..G", slip=0.3)
    policy = np.full((9, 4), 0.25)
    exact = feature_expectations(world, policy, discount=0.9)
    n = 4000
    found = feature_expectations(world, policy, discount=0.9, n_samples=n, random_state=0)
    sums = [
        demonstrated_features(world, e, discount=0.9) for e in world.simulate(policy, 500, random_state=1)
    ]
    assert (np.abs(found - exact) < 4.5 * np.std(sums, axis=0) / np.sqrt(n)).all()
    again = feature_expectations(world, policy, discount=0.9, n_samples=n, random_state=0)
    assert np.array_equal(found, again)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"features": [[1.0]]}, r"features must have the shape \(3, n_features\).*got \(1, 1\)"),
        ({"features": [[np.nan]] * 3}, "features must hold finite numbers"),
        ({"features": [[1], [2, 3], [4]]}, "features must hold numbers"),
        ({"discount": 1.0}, r"discount must be in \[0, 1\), or 1 with n_samples"),
        ({"policy": [0, 0, 5]}, "actions are numbered from 0 to 1"),
    ],
)
def test_wrong_arguments(mdp, options, message):
    with pytest.raises(ValueError, match=message):
        feature_expectations(mdp, **options)


def test_with_rewards(mdp):
    model = mdp.with_rewards([1.0, 2.0, 3.0])
    assert model.expected_rewards().tolist() == [[1, 1], [2, 2], [0, 0]]
    assert mdp.pair_rewards.tolist() == [0] * 6
    R = np.arange(18.0).reshape(3, 2, 3)
    model = mdp.with_rewards(R)
    assert model.expected_rewards().tolist() == [[1, 3], [8, 10], [0, 0]]
    assert model.step("a", "go").reward == 1.0
    assert mdp.with_rewards([R[:, a] for a in range(2)]).expected_rewards().tolist() == [
        [1, 3],
        [8, 10],
        [0, 0],
    ]
    with pytest.raises(ValueError, match="R is not a finite number"):
        mdp.with_rewards([np.nan, 0, 0])
    with pytest.raises(ValueError, match="R must have the shape"):
        mdp.with_rewards([1.0])
