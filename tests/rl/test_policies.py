"""Policies: deterministic, stochastic, greedy, ε-greedy and softmax."""

import numpy as np
import pytest
from scipy.special import softmax

from tercet.rl import MDP, action_probabilities, epsilon_greedy_policy, greedy_policy, softmax_policy
from tests.rl.td_reference import P3, R3, three_states

ALLOWED = np.array([[True, False], [True, True], [True, True]])


def masked():
    return MDP(P3, R3, allowed=ALLOWED, states=["low", "high", "end"], actions=["wait", "go"])


# Policies of a model --------------------------------------------------------------------------------------------


def test_forms_of_one_policy():
    mdp, expected = masked(), [[1, 0], [0, 1], [1, 0]]
    for policy in ([0, 1, 0], np.array([0, 1, 0], dtype=np.int8), ["wait", "go", "wait"], expected,
                   {"low": "wait", "high": "go"}, {"high": "go", "end": "wait", "low": "wait"}):  # fmt: skip
        np.testing.assert_array_equal(action_probabilities(policy, mdp), expected)
    np.testing.assert_array_equal(action_probabilities(None, mdp), [[1, 0], [0.5, 0.5], [0.5, 0.5]])
    np.testing.assert_array_equal(action_probabilities([[1, 0], [0.3, 0.7], [0, 1]], mdp)[1], [0.3, 0.7])


def test_terminal_states_may_hold_anything():
    for last in ([0, 0], [0.2, 0.2], [np.nan, 1]):
        chances = action_probabilities([[1, 0], [0.3, 0.7], last], masked())
        np.testing.assert_array_equal(chances, [[1, 0], [0.3, 0.7], [0.5, 0.5]])
    pairs = MDP.from_pairs([0, 0], [0, 1], [[0.5, 0.5], [0, 1]], [1.0, 2.0], terminal=[1])
    np.testing.assert_array_equal(
        action_probabilities([1, 1], pairs), [[0, 1], [1, 0]]
    )  # which has action 0 alone


def test_probabilities_of_few_digits_are_scaled():
    chances = action_probabilities(np.full((3, 2), 0.4999999), three_states())
    np.testing.assert_array_equal(chances.sum(axis=1), 1.0)


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ([0, 1], r"policy must have the shape \(3,\), an action for each state, or \(3, 2\).* got \(2,\)"),
        ([[0.5, 0.5]], r"policy must have the shape .* got \(1, 2\)"),
        ([0, 2, 0], r"policy has the action 2 in state 'high'; actions are numbered from 0 to 1"),
        ([0, -1, 0], r"policy has the action -1 in state 'high'"),
        ([0.0, 1.0, 0.0], r"policy must hold numbers of actions, whole numbers; got float64"),
        ([1, 1, 0], r"policy takes action 'go' in state 'low', which does not allow it"),
        ([[0.5, 0.5], [1, 0], [1, 0]], r"policy takes action 'go' in state 'low'"),
        (
            [[1, 0], [0.5, 0.4], [1, 0]],
            r"policy must hold probabilities that sum to 1; in state 'high' it holds \[0.5, 0",
        ),
        ([[1, 0], [1.5, -0.5], [1, 0]], r"policy must hold probabilities .* in state 'high'"),
        ([[1, 0], [np.nan, 1], [1, 0]], r"policy must hold probabilities .* in state 'high'"),
        ({"low": "wait"}, r"policy has no action for state 'high'"),
        ({"low": "wait", "hgih": "go"}, r"there is no state 'hgih'. Did you mean 'high'"),
        (["wait", "went", "go"], r"there is no action 'went'. There are 2, from 'wait' on"),
    ],
)
def test_bad_policies(policy, message):
    with pytest.raises(ValueError, match=message):
        action_probabilities(policy, masked())


# Policies from values -------------------------------------------------------------------------------------------


def test_greedy():
    Q = [[1.0, 2.0, 2.0], [-np.inf, -5.0, np.nan], [0.0, 0.0, 0.0]]
    np.testing.assert_array_equal(greedy_policy(Q), [1, 1, 0])
    with pytest.raises(
        ValueError, match=r"Q must hold a finite value of an action for each state; row 1 does not"
    ):
        greedy_policy([[1.0, 2.0], [-np.inf, np.nan]])
    with pytest.raises(ValueError, match=r"row 0 does not"):
        greedy_policy([[1.0, np.inf]])
    with pytest.raises(ValueError, match=r"Q must have the shape \(states, actions\); got \(2,\)"):
        greedy_policy([1.0, 2.0])


def test_epsilon_greedy():
    """1 - ε + ε/|A| for the greedy action, ε/|A| for the others (watermelon notes, ch. 14)."""
    Q = np.array([[0.4, 0.2, 0.1], [1.0, -np.inf, 2.0]])
    np.testing.assert_allclose(epsilon_greedy_policy(Q, 0.3), [[0.8, 0.1, 0.1], [0.15, 0, 0.85]])
    np.testing.assert_array_equal(epsilon_greedy_policy(Q, 0), [[1, 0, 0], [0, 0, 1]])
    np.testing.assert_allclose(epsilon_greedy_policy(Q, 1.0), [[1 / 3] * 3, [0.5, 0, 0.5]])
    mask = np.array([[False, True, True], [True, False, True]])
    np.testing.assert_allclose(epsilon_greedy_policy(Q, 0.2, allowed=mask), [[0, 0.9, 0.1], [0.1, 0, 0.9]])
    policy = np.array([1, 0])
    np.testing.assert_allclose(
        epsilon_greedy_policy(policy, 0.2, allowed=mask), [[0, 0.9, 0.1], [0.9, 0, 0.1]]
    )
    random = np.random.default_rng(0).normal(size=(20, 4))
    np.testing.assert_allclose(epsilon_greedy_policy(random, 0.37).sum(axis=1), 1.0)


@pytest.mark.parametrize(
    ("values", "epsilon", "allowed", "message"),
    [
        ([[1.0, 2.0]], 1.5, None, "epsilon must be a number from 0 to 1; got 1.5"),
        ([[1.0, 2.0]], "0.1", None, "epsilon must be a number from 0 to 1; got '0.1'"),
        ([[1.0, 2.0]], np.nan, None, "epsilon must be a number from 0 to 1; got nan"),
        ([0, 1], 0.1, None, "a policy needs `allowed`"),
        ([0, 1], 0.1, [[True, False], [True, False]], "the policy must hold numbers of allowed actions"),
        ([0, 7], 0.1, [[True, False], [True, False]], "the policy must hold numbers of allowed actions"),
        ([0.0, 0.0], 0.1, [[True, False], [True, False]], "the policy must hold numbers of allowed actions"),
        (
            [0, 0],
            0.1,
            [[True, False]],
            r"allowed must have the shape \(states, actions\) of 2 states; got \(1, 2\)",
        ),
        (
            [[1.0, 2.0]],
            0.1,
            [[False, False]],
            "Q must hold a finite value of an action for each state; row 0",
        ),
    ],
)
def test_bad_arguments_of_epsilon_greedy(values, epsilon, allowed, message):
    with pytest.raises(ValueError, match=message):
        epsilon_greedy_policy(values, epsilon, allowed=allowed)


def test_softmax():
    """Reference case 2 of the text's (14.2)."""
    for temperature, expected in (
        (0.1, [0.88079708, 0.11920292]),
        (1.0, [0.549834, 0.450166]),
        (0.01, [1.0, 0.0]),
    ):
        np.testing.assert_allclose(softmax_policy([0.4, 0.2], temperature), expected, atol=1e-6)
    Q = np.random.default_rng(0).normal(size=(5, 3)) * 10
    np.testing.assert_allclose(softmax_policy(Q, 2.5), softmax(Q / 2.5, axis=1), rtol=1e-12)
    np.testing.assert_array_equal(softmax_policy([[1.0, -np.inf, np.nan]], 0.5), [[1, 0, 0]])
    np.testing.assert_array_equal(softmax_policy([1e300, 0.0, 1e300], 1e-300), [0.5, 0, 0.5])
    np.testing.assert_array_equal(softmax_policy([3.0, -np.inf, 1.0], np.inf), [0.5, 0, 0.5])
    for wrong in (0, -1.0, np.nan, "1"):
        with pytest.raises(ValueError, match=r"temperature must be a number above 0"):
            softmax_policy([1.0, 2.0], wrong)
    with pytest.raises(ValueError, match=r"Q must hold a finite value"):
        softmax_policy([-np.inf, np.nan])
