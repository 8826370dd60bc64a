"""Hidden Markov models of symbols: the book's numbers, the list of all paths, hmmlearn."""

import warnings

import numpy as np
import pytest
from hmmlearn import hmm
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from tercet.sequence import CategoricalHMM, DirectEnumeration, backward, forward, posteriors, viterbi

A2 = [[0.5, 0.2, 0.3], [0.3, 0.5, 0.2], [0.2, 0.3, 0.5]]
B2 = [[0.5, 0.5], [0.4, 0.6], [0.7, 0.3]]
EX2 = ([0.2, 0.4, 0.4], A2, B2)  # Ex 10.2
BOXES = (
    [0.25] * 4,
    [[0, 1, 0, 0], [0.4, 0, 0.6, 0], [0, 0.4, 0, 0.6], [0, 0, 0.5, 0.5]],
    [[0.5, 0.5], [0.3, 0.7], [0.6, 0.4], [0.8, 0.2]],
)  # Ex 10.1
WATERMELON = ([0.6, 0.4], [[0.7, 0.3], [0.4, 0.6]], [[0.1, 0.4, 0.5], [0.7, 0.2, 0.1]])


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def set_by_hand(tables, kind=CategoricalHMM, **options):
    pi, A, B = map(np.array, tables)
    model = kind(len(pi), **options)
    model.startprob_, model.transmat_, model.emissionprob_ = pi, A, B
    return model


def random_tables(seed, n, m):
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.ones(n)), rng.dirichlet(np.ones(n), n), rng.dirichlet(np.ones(m), n)


def log_joint(tables, X, path, lengths):
    """log P(O, I) of several sequences one after another."""
    pi, A, B = map(np.log, tables)
    first = np.cumsum([0, *lengths[:-1]])
    steps = A[path[:-1], path[1:]]
    return pi[path[first]].sum() + B[path, X[:, 0]].sum() + steps.sum() - steps[first[1:] - 1].sum()


# The texts' numbers -----------------------------------------------------------------------------------------------


def test_example_10_1():
    model = set_by_hand(BOXES)
    O = [0, 0, 1, 1, 0]
    assert np.exp(model.score(O)) == pytest.approx(0.026862016, rel=1e-12)
    score, path = model.decode(O)
    assert path.tolist() == [3, 2, 1, 2, 3]
    assert np.exp(score) == pytest.approx(0.00193536, rel=1e-12)
    expected, likely = model.decode(O, algorithm="map")
    assert likely.tolist() == [3, 3, 2, 1, 3]
    assert expected == pytest.approx(model.predict_proba(O).max(axis=1).sum())
    every = DirectEnumeration.of_hmm(*BOXES, O)
    assert every.log_joint[every.index(likely)] == -np.inf  # it takes the step from 1 to 3, which cannot be


@pytest.mark.parametrize("arithmetic", ["plain", "scaled", "log"])
def test_example_10_2(arithmetic):
    table = forward(*EX2, [0, 1, 0], arithmetic=arithmetic)
    alpha = {
        "plain": lambda: table.alpha,
        "scaled": lambda: table.alpha * np.cumprod(table.scale)[:, None],
        "log": lambda: np.exp(table.alpha),
    }[arithmetic]()
    expected = [[0.10, 0.16, 0.28], [0.077, 0.1104, 0.0606], [0.04187, 0.035512, 0.052836]]
    np.testing.assert_allclose(alpha, expected, rtol=1e-12)
    assert table.probability == pytest.approx(0.130218, rel=1e-12)
    assert table.log_probability == pytest.approx(np.log(0.130218), rel=1e-12)
    back = backward(*EX2, [0, 1, 0], arithmetic=arithmetic)
    later = np.append(np.cumprod(table.scale[::-1])[::-1][1:], 1.0)[:, None]
    beta = np.exp(back.beta) if arithmetic == "log" else back.beta * later
    np.testing.assert_allclose(beta, [[0.2451, 0.2622, 0.2277], [0.54, 0.49, 0.57], [1, 1, 1]], rtol=1e-12)
    assert back.probability == pytest.approx(0.130218, rel=1e-12)
    found = posteriors(*EX2, [0, 1, 0], arithmetic=arithmetic)
    gamma = [
        [0.1882228263, 0.3221674423, 0.4896097314],
        [0.3193106944, 0.4154264387, 0.2652628669],
        [0.3215377290, 0.2727119139, 0.4057503571],
    ]
    xi_sum = [
        [0.2515013285, 0.0924603357, 0.1635718564],
        [0.2266967700, 0.3501820025, 0.1607151085],
        [0.1626503248, 0.2454960144, 0.3467262590],
    ]
    np.testing.assert_allclose(found.gamma, gamma, atol=1e-10)
    np.testing.assert_allclose(found.transitions, xi_sum, atol=1e-10)
    model = set_by_hand(EX2, implementation="log" if arithmetic == "log" else "scaling")
    np.testing.assert_allclose(model.predict_proba([0, 1, 0]), gamma, atol=1e-10)
    counts = model.expected_counts([0, 1, 0])
    np.testing.assert_allclose(counts["transitions"], xi_sum, atol=1e-10)
    np.testing.assert_allclose(counts["starts"], gamma[0], atol=1e-10)
    np.testing.assert_allclose(counts["visits"], np.sum(gamma, axis=0), atol=1e-9)
    np.testing.assert_allclose(counts["departures"], np.sum(gamma[:2], axis=0), atol=1e-9)
    assert model.decode([0, 1, 0], algorithm="map")[1].tolist() == [2, 1, 2]


@pytest.mark.parametrize("arithmetic", ["plain", "log"])
def test_example_10_3(arithmetic):
    best = viterbi(*EX2, [0, 1, 0], arithmetic=arithmetic)
    delta = np.exp(best.delta) if arithmetic == "log" else best.delta
    expected = [[0.10, 0.16, 0.28], [0.028, 0.0504, 0.042], [0.00756, 0.01008, 0.0147]]
    np.testing.assert_allclose(delta, expected, rtol=1e-12)
    assert (best.psi + 1).tolist() == [[0, 0, 0], [3, 3, 3], [2, 2, 3]]
    assert best.path.tolist() == [2, 2, 2]
    assert best.probability == pytest.approx(0.0147, rel=1e-12)
    assert best.log_probability == pytest.approx(np.log(0.0147), rel=1e-12)
    assert set_by_hand(EX2).predict([0, 1, 0]).tolist() == [2, 2, 2]


@pytest.mark.parametrize("implementation", ["scaling", "log"])
def test_one_step_of_baum_welch(implementation):
    model = set_by_hand(EX2, n_iter=1, init_params="", implementation=implementation).fit([0, 1, 0])
    A1 = [
        [0.4955363898, 0.1821758209, 0.3222877894],
        [0.3073463268, 0.4747626187, 0.2178910545],
        [0.2154672526, 0.3252151621, 0.4593175853],
    ]
    B1 = [[0.6148573546, 0.3851426454], [0.5888111888, 0.4111888112], [0.7714478542, 0.2285521458]]
    np.testing.assert_allclose(model.transmat_, A1, atol=1e-10)
    np.testing.assert_allclose(model.emissionprob_, B1, atol=1e-10)
    np.testing.assert_allclose(model.startprob_, [0.1882228263, 0.3221674423, 0.4896097314], atol=1e-10)
    assert model.monitor_.history == pytest.approx([-2.038545309915233], rel=1e-12)
    assert model.score([0, 1, 0]) == pytest.approx(-1.894035379407491, rel=1e-12)


def test_a_uniform_start_learns_the_symbols_only():
    even = ([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], [[0.5, 0.5], [0.5, 0.5]])
    model = set_by_hand(even, n_iter=5, init_params="").fit([0, 1, 0, 0])
    np.testing.assert_allclose(model.emissionprob_, [[0.75, 0.25]] * 2, rtol=1e-12)
    np.testing.assert_allclose(model.transmat_, 0.5, rtol=1e-12)
    np.testing.assert_allclose(model.startprob_, 0.5, rtol=1e-12)


def test_known_states_are_counted():
    X, y = [[0, 1, 1, 2], [2, 1], [0, 0, 2]], [[0, 0, 1, 2], [1, 2], [0, 1, 2]]
    model = CategoricalHMM().fit(X, y)
    np.testing.assert_allclose(model.startprob_, [2 / 3, 1 / 3, 0], rtol=1e-15)
    np.testing.assert_allclose(model.transmat_[:2], [[1 / 3, 2 / 3, 0], [0, 0, 1]], rtol=1e-15)
    np.testing.assert_allclose(model.transmat_[2], 1 / 3, rtol=1e-15)  # never left: as it was, that is, even
    B = [[2 / 3, 1 / 3, 0], [1 / 3, 1 / 3, 1 / 3], [0, 1 / 3, 2 / 3]]
    np.testing.assert_allclose(model.emissionprob_, B, rtol=1e-15)
    assert not hasattr(model, "n_iter_")
    smoothed = CategoricalHMM(startprob_prior=2, transmat_prior=2, emissionprob_prior=2).fit(X, y)
    np.testing.assert_allclose(
        smoothed.transmat_, [[2 / 6, 3 / 6, 1 / 6], [1 / 6, 1 / 6, 4 / 6], [1 / 3] * 3]
    )
    np.testing.assert_allclose(smoothed.startprob_, [3 / 6, 2 / 6, 1 / 6])
    np.testing.assert_allclose(smoothed.emissionprob_[2], [1 / 6, 2 / 6, 3 / 6])


def test_watermelon_12_1():
    model, O = set_by_hand(WATERMELON, n_iter=1, init_params=""), [0, 1, 2, 0]
    assert np.exp(model.score(O)) == pytest.approx(0.0099968, rel=1e-12)
    score, path = model.decode(O)
    assert path.tolist() == [1, 0, 0, 1]
    assert np.exp(score) == pytest.approx(0.0032928, rel=1e-12)
    np.testing.assert_allclose(forward(*WATERMELON, O).alpha[3], [0.0021932, 0.0078036], rtol=1e-12)
    np.testing.assert_allclose(backward(*WATERMELON, O).beta[0], [0.03632, 0.02792], rtol=1e-12)
    np.testing.assert_allclose(model.predict_proba(O)[0], [0.2179897567, 0.7820102433], atol=1e-10)
    model.fit(O)
    A = [[0.5786683176, 0.4213316824], [0.5666087695, 0.4333912305]]
    B = [[0.2256224173, 0.3553733678, 0.4190042148], [0.7580192470, 0.1509089709, 0.0910717821]]
    np.testing.assert_allclose(model.transmat_, A, atol=1e-10)
    np.testing.assert_allclose(model.emissionprob_, B, atol=1e-10)
    assert np.exp(model.score(O)) == pytest.approx(0.0216222293, abs=1e-10)


# Properties -------------------------------------------------------------------------------------------------------

models = st.tuples(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 4))


@given(models, st.integers(1, 5), st.sampled_from(["scaling", "log"]))
def test_agrees_with_the_list_of_all_paths(case, steps, implementation):
    tables = random_tables(*case)
    O = np.random.default_rng(case[0]).integers(0, case[2], steps)
    every = DirectEnumeration.of_hmm(*tables, O)
    model = set_by_hand(tables, implementation=implementation)
    assert model.score(O) == pytest.approx(every.log_total, rel=1e-11, abs=1e-12)
    np.testing.assert_allclose(model.predict_proba(O), every.posteriors(), rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(
        model.expected_counts(O)["transitions"], every.pair_posteriors().sum(axis=0), rtol=1e-10, atol=1e-13
    )
    score, path = model.decode(O)
    chance, best = every.best()
    assert np.exp(score) == pytest.approx(chance, rel=1e-11)
    assert every.log_joint[every.index(path)] == pytest.approx(every.log_joint[every.index(best)], rel=1e-11)


@given(models, st.integers(2, 30), st.sampled_from(["plain", "scaled", "log"]))
def test_identities_of_the_posteriors(case, steps, arithmetic):
    pi, A, B = random_tables(*case)
    O = np.random.default_rng(case[0]).integers(0, case[2], steps)
    gamma, xi, visits, departures, transitions = posteriors(pi, A, B, O, arithmetic=arithmetic)
    np.testing.assert_allclose(gamma.sum(axis=1), 1.0, rtol=1e-10)
    np.testing.assert_allclose(xi.sum(axis=2), gamma[:-1], rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(xi.sum(axis=1), gamma[1:], rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(transitions.sum(axis=1), departures, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(visits - departures, gamma[-1], atol=1e-10)
    alpha, beta = forward(pi, A, B, O).alpha, backward(pi, A, B, O).beta
    for t in range(steps - 1):  # 10.22
        total = alpha[t] @ A @ (B[:, O[t + 1]] * beta[t + 1])
        assert total == pytest.approx(forward(pi, A, B, O).probability, rel=1e-10)


@given(
    st.integers(0, 10**6),
    st.integers(1, 4),
    st.lists(st.integers(1, 12), min_size=1, max_size=6),
    st.sampled_from([1.0, 1.5, 0.8]),
    st.sampled_from(["ergodic", "left-right", "cycle"]),
)
def test_the_likelihood_never_falls(seed, n, lengths, prior, topology):
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, 4, sum(lengths))
    X[0] = 3
    priors = {f"{name}_prior": prior for name in ("startprob", "transmat", "emissionprob")}
    model = CategoricalHMM(n, n_iter=15, tol=-np.inf, random_state=seed, topology=topology, **priors)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        history = model.fit(X, lengths=lengths).monitor_.history
    assert len(history) == 15
    assert np.diff(history).min() >= -1e-8 * max(1, abs(history[0]))
    np.testing.assert_allclose(model.transmat_.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(model.emissionprob_.sum(axis=1), 1.0, rtol=1e-12)


# hmmlearn ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("implementation", ["scaling", "log"])
@pytest.mark.parametrize("prior", [1.0, 2.5])
def test_agrees_with_hmmlearn(implementation, prior):
    tables = random_tables(4, 5, 7)
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 40, 30)
    X = rng.integers(0, 7, (lengths.sum(), 1))
    options = {"n_iter": 8, "tol": 1e-9, "init_params": "", "implementation": implementation}
    options |= {f"{name}_prior": prior for name in ("startprob", "transmat", "emissionprob")}
    ours = set_by_hand(tables, **options)
    theirs = set_by_hand(tables, hmm.CategoricalHMM, **options)
    assert ours.score(X, lengths) == pytest.approx(theirs.score(X, lengths), rel=1e-10)
    score, path = ours.decode(X, lengths)
    expected, states = theirs.decode(X, lengths)
    assert score == pytest.approx(expected, rel=1e-10)
    # The same steps in another order weigh the same, but for rounding: paths may differ, their weights may not.
    assert log_joint(tables, X, path, lengths) == pytest.approx(
        log_joint(tables, X, states, lengths), rel=1e-12
    )
    assert np.mean(path == states) > 0.95
    np.testing.assert_allclose(ours.predict_proba(X, lengths), theirs.predict_proba(X, lengths), rtol=1e-8)
    assert np.array_equal(
        ours.decode(X, lengths, algorithm="map")[1], theirs.decode(X, lengths, algorithm="map")[1]
    )
    assert ours.aic(X, lengths) == pytest.approx(theirs.aic(X, lengths), rel=1e-10)
    assert ours.bic(X, lengths) == pytest.approx(theirs.bic(X, lengths), rel=1e-10)
    np.testing.assert_allclose(
        ours.get_stationary_distribution(), theirs.get_stationary_distribution(), rtol=1e-9
    )
    ours.fit(X, lengths)
    theirs.fit(X, lengths)
    for name in ("startprob_", "transmat_", "emissionprob_"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-8, atol=1e-12)
    if prior == 1.0:
        np.testing.assert_allclose(ours.monitor_.history, theirs.monitor_.history, rtol=1e-10)
