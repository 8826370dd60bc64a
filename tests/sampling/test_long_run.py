"""Markov chains: closed forms, the definitions themselves, and simulation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tercet.sampling as markov


def chain(seed, n, zeros=0.0):
    """A random chain, some of whose transitions are impossible."""
    rng = np.random.default_rng(seed)
    A = rng.random((n, n)) * (rng.random((n, n)) >= zeros)
    stuck = A.sum(axis=1) == 0
    A[stuck, stuck.nonzero()[0]] = 1.0
    return A / A.sum(axis=1, keepdims=True)


chains = st.builds(chain, st.integers(0, 10_000), st.integers(1, 8), st.sampled_from([0.0, 0.3, 0.6, 0.8]))


def reach(A):
    """Which states can be reached from which, in any number of steps, none included."""
    R = np.eye(len(A), dtype=bool) | (A > 0)
    for _ in A:
        R = R | (R @ R)
    return R


# Classes and periods ------------------------------------------------------------------------------------------


@given(chains)
def test_classes_are_those_of_the_definition(A):
    R = reach(A)
    both = R & R.T
    classes = markov.communicating_classes(A)
    assert sorted(np.concatenate(classes)) == list(range(len(A)))
    for group in classes:
        assert np.array_equal(np.flatnonzero(both[group[0]]), group)
    closed = {tuple(g) for g in markov.closed_classes(A)}
    assert closed == {tuple(g) for g in classes if np.array_equal(np.flatnonzero(R[g[0]]), g)}
    assert closed
    assert markov.is_irreducible(A) == R.all()
    assert np.array_equal(markov.absorbing_states(A), np.flatnonzero(np.diag(A) == 1))


@given(chains)
def test_periods_are_those_of_the_definition(A):
    n = len(A)
    step = (A > 0).astype(int)
    power, returns = np.eye(n, dtype=int), [[] for _ in range(n)]
    for length in range(1, 3 * n + 1):
        power = np.minimum(power @ step, 1)
        for i in np.flatnonzero(np.diag(power)):
            returns[i].append(length)
    assert markov.periods(A).tolist() == [int(np.gcd.reduce(r)) if r else 0 for r in returns]


# Where it settles ---------------------------------------------------------------------------------------------


def test_stationary_of_two_states_in_closed_form():
    a, b = 0.3, 0.05
    pi = markov.stationary_distribution([[1 - a, a], [b, 1 - b]])
    np.testing.assert_allclose(pi, [b / (a + b), a / (a + b)], rtol=1e-15)


def test_stationary_of_a_random_walk_between_walls_in_closed_form():
    p, n = 0.3, 12  # detailed balance: pi_{i+1} / pi_i = p / (1 - p)
    A = np.zeros((n, n))
    A[range(n - 1), range(1, n)], A[range(1, n), range(n - 1)] = p, 1 - p
    A[0, 0], A[-1, -1] = 1 - p, p
    want = (p / (1 - p)) ** np.arange(n)
    np.testing.assert_allclose(markov.stationary_distribution(A), want / want.sum(), rtol=1e-13)


@given(chains)
def test_stationary_distributions_are_stationary(A):
    table = markov.stationary_distributions(A)
    np.testing.assert_allclose(table @ A, table, atol=1e-14)
    np.testing.assert_allclose(table.sum(axis=1), 1.0, rtol=1e-14)
    for row, group in zip(table, markov.closed_classes(A)):
        assert np.array_equal(np.flatnonzero(row), group)
    pi = markov.stationary_distribution(A)
    np.testing.assert_allclose(pi @ A, pi, atol=1e-14)


@given(chains, st.integers(0, 1000))
def test_long_run_shares_depend_on_the_start(A, seed):
    start = np.random.default_rng(seed).dirichlet(np.ones(len(A)))
    lazy = 0.5 * (A + np.eye(len(A)))  # the same long run, no periods
    for _ in range(60):  # 2^60 steps, by squaring
        lazy = lazy @ lazy
        lazy /= lazy.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(markov.stationary_distribution(A, start), start @ lazy, atol=1e-9)


def test_what_hardly_ever_happens_is_still_exact():
    for e in (1e-12, 1e-100, 1e-250):
        A = np.array([[1 - 2 * e, 2 * e], [e, 1 - e]])
        np.testing.assert_allclose(markov.stationary_distribution(A), [1 / 3, 2 / 3], rtol=1e-14)
    e = 1e-200  # masses 400 powers of ten apart
    A = np.array([[0, 1, 0], [e, 0, 1], [0, e, 1]])
    np.testing.assert_allclose(markov.stationary_distribution(A), [0, e, 1], rtol=1e-14)
    np.testing.assert_allclose(markov.expected_stay([[1 - 1e-12, 1e-12], [0.5, 0.5]])[0], 1e12, rtol=1e-14)


def test_simulation_agrees():
    rng = np.random.default_rng(0)
    A = chain(3, 4, 0.3)
    steps, state, visits = 20_000, 0, np.zeros(4)
    ends = np.cumsum(A, axis=1)
    for u in rng.random(steps):
        state = min(int(np.searchsorted(ends[state], u, side="right")), 3)
        visits[state] += 1
    np.testing.assert_allclose(visits / steps, markov.stationary_distribution(A), atol=0.02)


# How long it takes --------------------------------------------------------------------------------------------


def test_gamblers_ruin_in_closed_form():
    n, p = 10, 0.4
    A = np.zeros((n + 1, n + 1))
    A[0, 0] = A[n, n] = 1.0
    for i in range(1, n):
        A[i, i + 1], A[i, i - 1] = p, 1 - p
    r, i = (1 - p) / p, np.arange(n + 1)
    win = (1 - r**i) / (1 - r**n)
    ends = markov.absorption_probabilities(A)
    np.testing.assert_allclose(ends, np.column_stack([1 - win, win]), atol=1e-14)
    np.testing.assert_allclose(markov.hitting_times(A, [0, n]), (i - n * win) / (1 - 2 * p), rtol=1e-12)
    assert np.array_equal(markov.hitting_times(A, n) == np.inf, i < n)


@given(chains, st.integers(0, 1000))
def test_hitting_times_solve_their_equations(A, seed):
    targets = np.flatnonzero(np.random.default_rng(seed).random(len(A)) < 0.4)
    targets = targets if targets.size else np.array([0])
    times = markov.hitting_times(A, targets)
    stopped = A.copy()
    stopped[targets] = np.eye(len(A))[targets]
    sure = reach(stopped)[:, targets].any(axis=1)
    sure = np.array([sure[np.flatnonzero(row)].all() for row in reach(stopped)])
    assert np.array_equal(np.isfinite(times), sure)
    assert not times[targets].any()
    for i in np.setdiff1d(np.flatnonzero(sure), targets):
        np.testing.assert_allclose(times[i], 1 + A[i, A[i] > 0] @ times[A[i] > 0], rtol=1e-9)


@given(chains)
def test_absorption_solves_its_equations(A):
    ends = markov.absorption_probabilities(A)
    np.testing.assert_allclose(A @ ends, ends, atol=1e-12)
    np.testing.assert_allclose(ends.sum(axis=1), 1.0, rtol=1e-12)
    for k, group in enumerate(markov.closed_classes(A)):
        assert (ends[group, k] == 1).all()


def test_stays_steps_and_entropy():
    A = np.array([[0.5, 0.5, 0], [0.1, 0.8, 0.1], [0, 0, 1]])
    np.testing.assert_allclose(markov.expected_stay(A), [2, 5, np.inf])
    np.testing.assert_allclose(markov.after_steps(A, 3), A @ A @ A)
    np.testing.assert_allclose(markov.after_steps(A, 3, [0, 1, 0]), (A @ A @ A)[1])
    assert np.array_equal(markov.after_steps(A, 0), np.eye(3))
    assert markov.entropy_rate(A) == 0.0
    P = np.array([[0.75, 0.25], [0.25, 0.75]])
    assert markov.entropy_rate(P, base=2) == pytest.approx(-(0.75 * np.log2(0.75) + 0.25 * np.log2(0.25)))


@pytest.mark.parametrize(
    ("A", "words"),
    [
        ([[0.5, 0.4], [0, 1]], "row 0 of transmat must sum to 1; it sums to 0.9"),
        ([[1, 0], [1.5, -0.5]], "row 1 of transmat must hold probabilities; got -0.5"),
        ([[1, 0], [np.nan, 1]], "row 1 .* got nan"),
        ([[1, 0]], r"square matrix; got shape \(1, 2\)"),
    ],
)
def test_refuses_what_is_no_chain(A, words):
    for fact in (markov.stationary_distribution, markov.periods, markov.closed_classes, markov.entropy_rate):
        with pytest.raises(ValueError, match=words):
            fact(A)


def test_refuses_bad_starts_and_targets():
    A = np.eye(2)
    with pytest.raises(ValueError, match="start must sum to 1"):
        markov.stationary_distribution(A, [0.5, 0.4])
    with pytest.raises(ValueError, match="start must have a probability for each of 2"):
        markov.after_steps(A, 1, [1.0])
    with pytest.raises(ValueError, match="targets must be states from 0 to 1; got \\[2\\]"):
        markov.hitting_times(A, 2)


@settings(max_examples=20)
@given(chains)
def test_the_callers_matrix_stays_as_it_is(A):
    before = A.copy()
    A.flags.writeable = False
    markov.hitting_times(A, 0)
    markov.absorption_probabilities(A)
    markov.stationary_distribution(A)
    assert np.array_equal(A, before)


# Recurrence and reversibility ---------------------------------------------------------------------------------


@given(chains)
def test_recurrent_states_are_come_back_to_for_sure(A):
    R = reach(A)
    recurrent = [i for i in range(len(A)) if R[R[i], i].all()]
    assert markov.recurrent_states(A).tolist() == recurrent
    assert markov.transient_states(A).tolist() == [i for i in range(len(A)) if i not in recurrent]
    assert markov.is_aperiodic(A) == (markov.periods(A) <= 1).all()
    # Kac: the return time is the inverse share, and one step more than the hitting time from the next state
    times = markov.return_times(A)
    for i in range(len(A)):
        later = markov.hitting_times(A, i)
        again = 1 + A[i, A[i] > 0] @ later[A[i] > 0]
        np.testing.assert_allclose(times[i], again, rtol=1e-8)


@given(chains)
def test_detailed_balance_of_chains_made_reversible(A):
    flows = np.triu(A) + np.triu(A).T + np.eye(len(A))  # any symmetric matrix of flows is a reversible chain
    pi = flows.sum(axis=1) / flows.sum()
    B = flows / flows.sum(axis=1, keepdims=True)
    assert markov.is_reversible(B, pi)
    assert markov.is_reversible(B)
    np.testing.assert_allclose(markov.detailed_balance(B, pi), 0.0, atol=1e-15)
    np.testing.assert_allclose(pi @ B, pi, atol=1e-14)  # detailed balance makes pi stationary
    np.testing.assert_allclose(markov.time_reversal(B, pi), B, atol=1e-14)


def test_a_stationary_distribution_without_detailed_balance():
    A = [[0.65, 0.28, 0.07], [0.15, 0.67, 0.18], [0.12, 0.36, 0.52]]
    assert not markov.is_reversible(A)
    back = markov.time_reversal(A)
    np.testing.assert_allclose(markov.stationary_distribution(back), markov.stationary_distribution(A))
    np.testing.assert_allclose(markov.time_reversal(back), A)
    assert not np.allclose(back, A)


def test_reversing_needs_a_chain_that_can_be_everywhere():
    with pytest.raises(ValueError, match="pi is 0 in state 0"):
        markov.time_reversal([[0.5, 0.5], [0, 1]])
    with pytest.raises(ValueError, match="pi must be stationary"):
        markov.time_reversal([[0.5, 0.5], [0.5, 0.5]], [0.1, 0.9])


@pytest.mark.parametrize("algorithm", ["power", "eigenvector"])
def test_other_ways_to_the_stationary_distribution(algorithm):
    A = chain(5, 6)
    np.testing.assert_allclose(
        markov.stationary_distribution(A, algorithm=algorithm), markov.stationary_distribution(A), rtol=1e-9
    )


def test_other_ways_say_what_they_cannot_do():
    cycle = [[0, 1, 0], [0, 0, 1], [1, 0, 0]]
    with pytest.raises(ValueError, match="period 3"):
        markov.stationary_distribution(cycle, [1, 0, 0], algorithm="power")
    with pytest.raises(ValueError, match="2 closed classes"):
        markov.stationary_distribution(np.eye(2), algorithm="eigenvector")
    with pytest.raises(ValueError, match=r"algorithm must be .*; got 'solve'"):
        markov.stationary_distribution(cycle, algorithm="solve")
