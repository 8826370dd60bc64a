"""The recursions along a chain against the list of all paths."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tercet.sequence import CategoricalHMM, backward, baum_welch_step, forward, posteriors, viterbi
from tercet.sequence._chain import log_space, scaled


def log(values):
    with np.errstate(divide="ignore"):
        return np.log(values)


def random_chain(seed, n, steps, holes=0.0):
    """Weights of a chain; some of them nothing."""
    rng = np.random.default_rng(seed)
    start, trans, like = rng.random(n), rng.random((n, n)), 3 * rng.random((steps, n))
    for table in (start, trans, like):
        table[rng.random(table.shape) < holes] = 0.0
    return start, trans, like


def every_path(start, trans, like):
    """All paths and their weights."""
    steps, n = like.shape
    paths = np.array(list(itertools.product(range(n), repeat=steps)))
    weights = start[paths[:, 0]] * like[np.arange(steps), paths].prod(axis=1)
    for t in range(1, steps):
        weights = weights * trans[paths[:, t - 1], paths[:, t]]
    return paths, weights


def by_enumeration(start, trans, like):
    paths, weights = every_path(start, trans, like)
    (steps, n), total = like.shape, weights.sum()
    posterior = np.array([np.bincount(states, weights / total, n) for states in paths.T])
    counts = np.zeros((n, n))
    for t in range(1, steps):
        np.add.at(counts, (paths[:, t - 1], paths[:, t]), weights / total)
    return np.log(total), posterior, counts


chains = st.tuples(st.integers(0, 10**6), st.integers(1, 5), st.integers(1, 5), st.sampled_from([0.0, 0.3]))


@given(chains)
def test_posteriors_and_transitions(case):
    start, trans, like = random_chain(*case)
    if every_path(start, trans, like)[1].sum() == 0:
        return
    total, posterior, counts = by_enumeration(start, trans, like)
    logs, rest = np.empty(1), like.copy()
    borders = np.array([0, len(like)])
    alpha, gamma = scaled.smooth_in_pieces(borders, start, trans, rest, logs)
    np.testing.assert_allclose(logs[0], total, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(gamma, posterior, rtol=1e-11, atol=1e-14)
    assert not rest[0].any()
    np.testing.assert_allclose(alpha[:-1].T @ rest[1:] * trans, counts, rtol=1e-11, atol=1e-13)
    scaled.likelihoods_in_pieces(borders, start, trans, like.copy(), logs)
    np.testing.assert_allclose(logs[0], total, rtol=1e-12, atol=1e-12)


@given(chains)
def test_logarithms_say_the_same(case):
    start, trans, like = random_chain(*case)
    if every_path(start, trans, like)[1].sum() == 0:
        return
    total, posterior, counts = by_enumeration(start, trans, like)
    found, alpha, gamma = np.zeros_like(trans), np.empty_like(like), np.empty_like(like)
    value = log_space.log_smooth(log(start), log(trans), log(like), alpha, gamma, found)
    np.testing.assert_allclose(value, total, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(gamma, posterior, rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(found, counts, rtol=1e-10, atol=1e-13)
    assert log_space.log_likelihood_in_pieces(log(start), log(trans), log(like), alpha) == pytest.approx(
        total, rel=1e-12
    )


@given(chains)
def test_best_path(case):
    start, trans, like = random_chain(*case)
    paths, weights = every_path(start, trans, like)
    logs = np.empty(1)
    path = log_space.decode_in_pieces(np.array([0, len(like)]), log(start), log(trans), log(like), logs)
    if weights.max() == 0:
        assert logs[0] == -np.inf
    else:
        np.testing.assert_allclose(logs[0], np.log(weights.max()), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(weights[(paths == path).all(axis=1)], weights.max(), rtol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 4, 7])
def test_of_equal_paths_the_smallest_states(n):
    logs = np.empty(1)
    path = log_space.decode_in_pieces(np.array([0, 6]), np.zeros(n), np.zeros((n, n)), np.zeros((6, n)), logs)
    assert path.tolist() == [0] * 6
    assert logs[0] == 0.0


@pytest.mark.parametrize("n", [1, 2, 5, 8])
@pytest.mark.parametrize("lengths", [[1, 8, 1, 13], [5], [1] * 6, [3, 9, 4, 1, 7, 2, 2, 11, 6], [6] * 8])
def test_chains_side_by_side_are_as_each_alone(n, lengths):
    """Four chains take their steps together, and the next one comes in where one ends."""
    start, trans, like = random_chain(3, n, sum(lengths))
    borders = np.concatenate([[0], np.cumsum(lengths)])
    logs, more, rest = np.empty(len(lengths)), np.empty(len(lengths)), like.copy()
    alpha, gamma = scaled.smooth_in_pieces(borders, start, trans, rest, logs)
    scaled.likelihoods_in_pieces(borders, start, trans, like.copy(), more)
    np.testing.assert_allclose(more, logs, rtol=1e-13)
    counts = np.zeros((n, n))
    for s, (a, b) in enumerate(itertools.pairwise(borders)):
        one, table = np.empty(1), like[a:b].copy()
        first, posterior = scaled.smooth_in_pieces(np.array([0, b - a]), start, trans, table, one)
        np.testing.assert_allclose(posterior, gamma[a:b], rtol=1e-12)
        np.testing.assert_allclose(one[0], logs[s], rtol=1e-12)
        counts += first[:-1].T @ table[1:] * trans
    np.testing.assert_allclose(alpha[:-1].T @ rest[1:] * trans, counts, rtol=1e-12, atol=1e-300)


def test_one_chain_that_fails_leaves_the_others_alone():
    start, trans, like = random_chain(4, 3, 60)
    borders = np.arange(0, 61, 10)
    good, bad = np.empty(6), np.empty(6)
    _, gamma = scaled.smooth_in_pieces(borders, start, trans, like.copy(), good)
    like[14], like[35] = 0.0, 1e-200
    rest = like.copy()
    alpha, other = scaled.smooth_in_pieces(borders, start, trans, rest, bad)
    failed = np.array([False, True, False, True, False, False])
    assert np.array_equal(bad == -np.inf, failed)
    rows = np.repeat(failed, 10)
    assert np.array_equal(other[~rows], gamma[~rows])
    for table in (other, alpha, rest):
        assert not table[rows].any()
        assert np.isfinite(table).all()


@pytest.fixture
def small_pieces(monkeypatch):
    monkeypatch.setattr(scaled, "WORK", 100)
    monkeypatch.setattr(log_space, "WORK", 100)
    monkeypatch.setattr(log_space, "LOG_WORK", 100)


def everything(start, trans, like, borders):
    """What all the sweeps say of a chain, without regard to how."""
    logs, more, best = np.empty(len(borders) - 1), np.empty(len(borders) - 1), np.empty(len(borders) - 1)
    rest = like.copy()
    alpha, gamma = scaled.smooth_in_pieces(borders, start, trans, rest, logs)
    scaled.likelihoods_in_pieces(borders, start, trans, like.copy(), more)
    path = log_space.decode_in_pieces(borders, log(start), log(trans), log(like), best)
    counts, other, posterior = np.zeros_like(trans), np.empty_like(like), np.empty_like(like)
    total = log_space.log_smooth_in_pieces(log(start), log(trans), log(like), other, posterior, counts)
    return logs, gamma, alpha[:-1].T @ rest[1:], more, path, best, total, posterior, counts


@pytest.mark.parametrize("holes", [0.0, 0.1])
def test_pieces_of_a_long_chain_fit_together(holes, request):
    case = random_chain(5, 4, 57, holes)
    borders = np.array([0, 31, 33, 57])
    whole = everything(*case, borders)
    request.getfixturevalue("small_pieces")
    for one, other in zip(whole, everything(*case, borders)):
        np.testing.assert_allclose(other, one, rtol=1e-9, atol=1e-12)


def vanishing(steps=40):
    """Two states that never meet: one explains the first half far better, the other the second half even more so.
    Long before the end the scaled weight of the right one is less than any double."""
    like = np.ones((3 * steps, 2))
    like[:steps, 0] = 1e-10
    like[steps:, 1] = 1e-10
    return np.array([0.5, 0.5]), np.eye(2), like


@pytest.mark.parametrize("pieces", [False, True])
def test_a_path_that_underflows_is_noticed(pieces, request):
    if pieces:
        request.getfixturevalue("small_pieces")
    start, trans, like = vanishing()
    logs, borders = np.empty(1), np.array([0, len(like)])
    alpha, gamma = scaled.smooth_in_pieces(borders, start, trans, like.copy(), logs)
    assert logs[0] == -np.inf
    assert not alpha.any()
    assert not gamma.any()
    scaled.likelihoods_in_pieces(borders, start, trans, like.copy(), logs)
    assert logs[0] == -np.inf
    counts, one, other = np.zeros((2, 2)), np.empty_like(like), np.empty_like(like)
    total = log_space.log_smooth_in_pieces(log(start), log(trans), log(like), one, other, counts)
    assert total == pytest.approx(np.log(0.5) + 40 * np.log(1e-10), rel=1e-12)
    np.testing.assert_allclose(other[:, 0], 1.0)


@pytest.mark.parametrize("pieces", [False, True])
def test_an_impossible_chain_is_minus_infinity_everywhere(pieces, request):
    if pieces:
        request.getfixturevalue("small_pieces")
    start, trans, like = random_chain(1, 3, 30)
    like[17] = 0.0
    logs, *_, best, total, _, _ = everything(start, trans, like, np.array([0, 30]))
    assert logs[0] == best[0] == total == -np.inf


def test_posteriors_stay_exact_over_a_long_chain():
    rng = np.random.default_rng(0)
    start, trans = np.full(3, 1 / 3), rng.dirichlet(np.ones(3), 3)
    like, logs = rng.random((50_000, 3)), np.empty(1)
    _, gamma = scaled.smooth_in_pieces(np.array([0, len(like)]), start, trans, like, logs)
    np.testing.assert_allclose(gamma.sum(axis=1), 1.0, rtol=1e-9)


models = st.tuples(st.integers(0, 10**6), st.integers(1, 5), st.integers(1, 4), st.integers(1, 30))


def random_model(seed, n, m, length):
    rng = np.random.default_rng(seed)
    A, B = rng.dirichlet(np.ones(n), n), rng.dirichlet(np.ones(m), n)
    return rng.dirichlet(np.ones(n)), A, B, rng.integers(0, m, length)


@given(models)
def test_kernels_agree_with_the_plain_recursions(case):
    """Forward, backward, posteriors and Viterbi of the book are the oracle of the scaled and logarithmic
    kernels."""
    pi, A, B, symbols = random_model(*case)
    like, logs, borders = np.ascontiguousarray(B[:, symbols].T), np.empty(1), np.array([0, symbols.size])
    ahead, back = forward(pi, A, B, symbols, arithmetic="log"), backward(pi, A, B, symbols, arithmetic="log")
    plain = posteriors(pi, A, B, symbols, arithmetic="log")
    onward = like.copy()
    alpha, gamma = scaled.smooth_in_pieces(borders, pi, A, onward, logs)
    np.testing.assert_allclose(logs[0], ahead.log_probability, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(back.log_probability, ahead.log_probability, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(gamma, plain.gamma, atol=1e-10)
    np.testing.assert_allclose(alpha[:-1].T @ onward[1:] * A, plain.transitions, atol=1e-9)
    table, posterior, counts = np.empty_like(like), np.empty_like(like), np.zeros_like(A)
    log_space.log_smooth(log(pi), log(A), log(like), table, posterior, counts)
    np.testing.assert_allclose(table, ahead.alpha, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(posterior, plain.gamma, atol=1e-10)
    np.testing.assert_allclose(counts, plain.transitions, atol=1e-9)
    path, best = (
        log_space.decode_in_pieces(borders, log(pi), log(A), log(like), logs),
        viterbi(pi, A, B, symbols, arithmetic="log"),
    )
    np.testing.assert_allclose(logs[0], best.log_probability, rtol=1e-12, atol=1e-12)
    assert np.array_equal(path, best.path)


@given(models)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_pass_of_the_model_is_a_step_of_the_book(case):
    pi, A, B, symbols = random_model(*case)
    model = CategoricalHMM(len(pi), n_features=B.shape[1], n_iter=1, init_params="")
    model.startprob_, model.transmat_, model.emissionprob_ = pi, A, B
    model.fit(symbols)
    step = baum_welch_step(pi, A, B, symbols)
    np.testing.assert_allclose(model.startprob_, step.startprob, atol=1e-10)
    np.testing.assert_allclose(model.transmat_, step.transmat, atol=1e-9)
    np.testing.assert_allclose(model.emissionprob_, step.emissionprob, atol=1e-10)
    before = forward(pi, A, B, symbols, arithmetic="log").log_probability
    assert forward(*step, symbols, arithmetic="log").log_probability >= before - 1e-9


def test_a_step_leaves_states_alone_that_are_never_visited():
    A, B = [[1.0, 0.0], [0.3, 0.7]], [[0.5, 0.5], [0.1, 0.9]]
    step = baum_welch_step([1.0, 0.0], A, B, [0, 1, 1])
    assert step.transmat[1].tolist() == [0.3, 0.7]
    assert step.emissionprob[1].tolist() == [0.1, 0.9]
    np.testing.assert_allclose(step.emissionprob[0], [1 / 3, 2 / 3])
    one = baum_welch_step([0.5, 0.5], A, B, [1])  # no transition at all
    assert np.array_equal(one.transmat, A)
