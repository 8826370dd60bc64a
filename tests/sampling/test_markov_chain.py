"""The chain as an object: conventions, names, steps, simulation, and learning from paths."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import tercet.sequence
from tercet.sampling import MarkovChain, after_steps, sample_path, sample_paths, transition_counts

WEATHER = MarkovChain([[0.9, 0.1], [0.5, 0.5]], states=["sun", "rain"])
CYCLE = [[0, 1, 0], [0, 0, 1], [1, 0, 0]]
REDUCIBLE = [[1, 0, 0], [1 / 3, 1 / 3, 1 / 3], [0, 0, 1]]


def test_rows_and_columns_are_the_same_chain():
    rows = [[0.5, 0.25, 0.25], [0.5, 0, 0.5], [0.25, 0.25, 0.5]]
    by_row = MarkovChain(rows, start=[1, 0, 0])
    by_column = MarkovChain(np.transpose(rows), start=[1, 0, 0], convention="column")
    assert np.array_equal(by_row.transmat_, by_column.transmat_)
    assert np.array_equal(by_row.distributions(4), by_column.distributions(4))
    assert np.array_equal(by_row.power(3), by_column.power(3).T)
    assert np.array_equal(by_column.transition, np.transpose(rows))
    np.testing.assert_allclose(by_column.power(1) @ [1, 0, 0], by_column.distribution(1))
    np.testing.assert_allclose(by_row.stationary_distribution(), [0.4, 0.2, 0.4])
    assert np.array_equal(MarkovChain(sparse.csr_array(rows)).transmat_, rows)
    assert np.array_equal(after_steps(sparse.csr_matrix(rows), 1), rows)
    frame = pd.DataFrame(rows, columns=list("abc"), index=list("abc"))
    assert MarkovChain(frame).states == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"transition": [[0.9, 0.5], [0.1, 0.5]]}, "row 0 .* sums to 1.4. Its columns do: .*'column'"),
        (
            {"transition": [[0.9, 0.1], [0.5, 0.5]], "convention": "column"},
            "column 0 .* sums to 1.4. Its rows do: .*'row'",
        ),
        ({"transition": [[0.9, 0.2], [0.5, 0.5]]}, "row 0 of transition must sum to 1; it sums to 1.1.$"),
        ({"transition": [[1.5, -0.5], [0.5, 0.5]]}, "must hold probabilities; got -0.5"),
        ({"transition": [[np.nan, 1], [0.5, 0.5]]}, "must hold probabilities; got nan"),
        ({"transition": [[0.5, 0.5]]}, r"square matrix; got shape \(1, 2\)"),
        ({"transition": np.zeros((0, 0))}, r"square matrix; got shape \(0, 0\)\.$"),
        ({"transition": np.eye(2), "convention": "both"}, "convention must be 'row' or 'column'; got 'both'"),
        ({"transition": np.eye(2), "states": ["a", "a"]}, r"2 different names.*got \['a', 'a'\]"),
        ({"transition": np.eye(2), "states": ["a"]}, "2 different names"),
        ({"transition": np.eye(2), "start": [0.5, 0.6]}, "start must sum to 1; it sums to 1.1"),
        (
            {"transition": np.eye(2), "states": ["a", "b"], "start": "c"},
            r"'c' is not a state; .*\['a', 'b'\]",
        ),
    ],
)
def test_what_is_no_chain_is_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        MarkovChain(**arguments)


def test_names_come_back():
    assert WEATHER.periods() == {"sun": 1, "rain": 1}
    assert WEATHER.communicating_classes() == [["sun", "rain"]]
    assert WEATHER.hitting_times("sun") == pytest.approx({"sun": 0.0, "rain": 2.0})
    assert WEATHER.hitting_times(["sun", "rain"]) == {"sun": 0.0, "rain": 0.0}
    assert WEATHER.return_times() == pytest.approx({"sun": 1.2, "rain": 6.0})
    np.testing.assert_allclose(WEATHER.distribution(1, "rain"), [0.5, 0.5])
    chain = MarkovChain(REDUCIBLE, states="abc")
    assert (chain.recurrent_states(), chain.transient_states(), chain.absorbing_states()) == (
        ["a", "c"],
        ["b"],
        ["a", "c"],
    )
    assert not chain.is_positive_recurrent()
    again = pickle.loads(pickle.dumps(chain))
    assert again.states == chain.states
    assert np.array_equal(again.transmat_, chain.transmat_)


def test_a_chain_that_converges_from_anywhere():
    chain = WEATHER
    assert chain.is_ergodic()
    assert chain.convergence_rate() == pytest.approx(0.4)
    for start in ("sun", "rain", [0.3, 0.7]):
        np.testing.assert_allclose(chain.limit(start), chain.stationary_distribution())
        gaps = np.abs(chain.distributions(8, start) - chain.limit()).sum(axis=1)
        np.testing.assert_allclose(gaps[1:] / gaps[:-1], 0.4, rtol=1e-6)


def test_periodic_chains_have_no_limit_and_say_so():
    chain = MarkovChain(CYCLE)
    assert chain.is_irreducible()
    assert not chain.is_aperiodic()
    assert not chain.is_ergodic()
    assert not chain.is_reversible()
    np.testing.assert_allclose(chain.stationary_distribution(), [1 / 3] * 3)
    with pytest.raises(ValueError, match=r"\[0, 1, 2\] have the period 3"):
        chain.limit(0)
    for call in (chain.distribution, chain.power, lambda n: after_steps(CYCLE, n)):
        with pytest.raises(ValueError, match="n must be a whole number, at least 0; got -1"):
            call(-1)
    with pytest.raises(ValueError, match="5 is not a state"):
        chain.hitting_times(5)
    assert chain.convergence_rate() == pytest.approx(1.0)


def test_reducible_chains_say_that_the_answer_is_not_unique():
    chain = MarkovChain(REDUCIBLE)
    with pytest.raises(ValueError, match=r"not unique: the chain has 2 closed classes, \[\[0\], \[2\]\]"):
        chain.stationary_distribution()
    np.testing.assert_allclose(chain.stationary_distribution([1, 0, 0]), [1, 0, 0])
    np.testing.assert_allclose(MarkovChain(REDUCIBLE, start=1).stationary_distribution(), [0.5, 0, 0.5])
    np.testing.assert_allclose(chain.limit(1), [0.5, 0, 0.5])
    np.testing.assert_allclose(chain.limit(1), chain.distribution(200, 1), atol=1e-12)


def test_time_runs_backwards():
    P = [[0.65, 0.28, 0.07], [0.15, 0.67, 0.18], [0.12, 0.36, 0.52]]
    chain = MarkovChain(np.transpose(P), convention="column")
    back = chain.time_reversal()
    pi = chain.stationary_distribution()
    np.testing.assert_allclose(pi[:, None] * chain.transmat_, (pi[:, None] * back.transmat_).T)
    assert not chain.is_reversible(pi.round(4))
    assert WEATHER.is_reversible([0.833, 0.167], tol=1e-2)
    assert back.convention == "column"


# Paths --------------------------------------------------------------------------------------------------------


def test_walks_never_take_a_step_that_cannot_be():
    nearly = np.nextafter(1.0, 0.0)
    start, trans = np.array([0.0, 0.3, 0.7, 0.0]), np.array([[0, 0.1, 0.9, 0]] * 4)
    thirds = np.full(3, 1 / 3)
    for draw in (sample_path, lambda pi, A, u: sample_paths(pi, A, u[None])[0]):
        assert draw(start, trans, np.full(5, nearly)).tolist() == [2] * 5
        assert draw(start, trans, np.zeros(5)).tolist() == [1] * 5
        assert draw(thirds, np.tile(thirds, (3, 1)), np.full(3, nearly)).tolist() == [2] * 3


@given(st.integers(0, 1000), st.integers(1, 6))
def test_paths_side_by_side_are_those_one_after_another(seed, n):
    rng = np.random.default_rng(seed)
    A = rng.dirichlet(np.ones(n), n) if n > 1 else np.ones((1, 1))
    u = rng.random((7, 9))
    together = sample_paths(A[0], A, u)
    assert np.array_equal(together, [sample_path(A[0], A, row) for row in u])


def test_simulated_shares_are_the_distributions():
    paths = WEATHER.simulate(4, size=20_000, start="rain", random_state=0)
    assert paths.shape == (20_000, 4)
    assert set(paths[:, 0]) == {"rain"}
    shares = (paths == "sun").mean(axis=0)
    np.testing.assert_allclose(shares, WEATHER.distributions(3, "rain")[:, 0], atol=0.015)
    assert np.array_equal(
        WEATHER.simulate(5, 3, random_state=1), WEATHER.simulate(5, 3, random_state=np.random.default_rng(1))
    )
    assert MarkovChain(CYCLE, start=1).simulate(5).tolist() == [1, 2, 0, 1, 2]
    for length, size in ((0, None), (2.5, None), (3, 0)):
        with pytest.raises(ValueError, match="must be a whole number, at least 1"):
            WEATHER.simulate(length, size)


def test_time_averages_are_stationary_means():
    f = {"sun": 1.0, "rain": -2.0}
    found = WEATHER.time_average(f, 40_000, burn_in=100, start="rain", random_state=0)
    assert WEATHER.expectation(f.get) == pytest.approx(0.5)
    assert abs(found.value - 0.5) < 4 * found.standard_error
    # the exact variance of the mean: pi-variance times (1 + r) / (1 - r) with the autocorrelation r = 0.4
    assert found.standard_error == pytest.approx(np.sqrt(1.25 * 1.4 / 0.6 / 40_000), rel=0.25)
    assert found.effective_sample_size == pytest.approx(40_000 * 0.6 / 1.4, rel=0.5)
    periodic = MarkovChain(CYCLE).time_average([0, 1, 2], 3000, random_state=0)
    assert periodic.value == pytest.approx(1.0)
    with pytest.raises(ValueError, match="f must give a finite number for each of 2 states"):
        WEATHER.time_average([1, np.nan], 10)


# Learning -----------------------------------------------------------------------------------------------------


def test_counts_and_shares():
    counts, first, states = transition_counts(
        [["b", "a", "a"], ("a", "b")], states=["a", "b", "c"], alpha=0.5
    )
    assert counts.tolist() == [[1.5, 1.5, 0.5], [1.5, 0.5, 0.5], [0.5, 0.5, 0.5]]
    assert first.tolist() == [1.5, 1.5, 0.5]
    assert states == ["a", "b", "c"]
    chain = MarkovChain.fit(np.array([0, 1, 1, 0, 1]), convention="column")
    assert chain.transmat_.tolist() == [[0, 1], [0.5, 0.5]]
    assert chain.start.tolist() == [1, 0]
    smooth = MarkovChain.fit([["a", "b"]], alpha=1.0)
    np.testing.assert_allclose(smooth.transmat_, [[1 / 3, 2 / 3], [1 / 2, 1 / 2]])
    np.testing.assert_allclose(smooth.start, [2 / 3, 1 / 3])


def test_the_fit_is_the_most_likely_chain():
    path = WEATHER.simulate(300, random_state=0).tolist()
    fitted = MarkovChain.fit([path], states=["sun", "rain"])
    np.testing.assert_allclose(fitted.transmat_, WEATHER.transmat_, atol=0.15)
    best = fitted.log_probability(path)
    for move in (-0.01, 0.01):
        A = fitted.transmat_ + move * np.array([[1, -1], [0, 0]])
        assert MarkovChain(A, ["sun", "rain"], fitted.start).log_probability(path) < best
    assert MarkovChain(CYCLE, start=0).log_probability([0, 2]) == -np.inf


@pytest.mark.parametrize(
    ("sequences", "options", "words"),
    [
        ([], {}, "at least one state each; got an empty one"),
        ([["a"], []], {}, "at least one state each; got an empty one"),
        (["a", "b"], {}, "State 'b' is never left in sequences.*alpha above 0"),
        (["a", "b"], {"alpha": -1}, "alpha must be a finite number, at least 0; got -1"),
        (["a", "b"], {"alpha": np.nan}, "alpha must be"),
        ([["a", "b"]], {"states": ["a"]}, r"sequences hold 'b', which is not one of the states \['a'\]"),
        ([0.0, np.nan], {}, "sequences must hold states; got NaN"),
        ([[0, 1], 2], {}, "got both at once"),
        (None, {}, "sequences must be a sequence of states, or a list of such; got None"),
    ],
)
def test_paths_that_teach_nothing(sequences, options, words):
    with pytest.raises(ValueError, match=words):
        MarkovChain.fit(sequences, **options)


def test_the_facts_of_chains_have_one_home():
    assert not hasattr(tercet.sequence, "stationary_distribution")


def test_what_is_computed_is_a_method():
    data = {"n_states", "transition"}  # what the chain is, as against what follows from it
    properties = {name for name in dir(MarkovChain) if isinstance(getattr(MarkovChain, name), property)}
    assert properties == data
