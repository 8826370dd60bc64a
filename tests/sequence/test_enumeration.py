"""All paths, one by one: the text's numbers, and what probabilities must add up to."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tercet.sequence.hmm.direct_enumeration import DirectEnumeration, hmm_q

A = [[0.5, 0.2, 0.3], [0.3, 0.5, 0.2], [0.2, 0.3, 0.5]]
B = [[0.5, 0.5], [0.4, 0.6], [0.7, 0.3]]
PI = [0.2, 0.4, 0.4]


def model(seed, n, m=3, zeros=0.0):
    rng = np.random.default_rng(seed)
    tables = []
    for shape in ((n,), (n, n), (n, m)):
        table = rng.random(shape) * (rng.random(shape) >= zeros)
        table[..., 0] += table.sum(axis=-1) == 0
        tables.append(table / table.sum(axis=-1, keepdims=True))
    return tables


# Li, chapter 10 -----------------------------------------------------------------------------------------


def test_box_and_ball():
    transmat = [[0, 1, 0, 0], [0.4, 0, 0.6, 0], [0, 0.4, 0, 0.6], [0, 0, 0.5, 0.5]]
    emission = [[0.5, 0.5], [0.3, 0.7], [0.6, 0.4], [0.8, 0.2]]
    every = DirectEnumeration.of_hmm([0.25] * 4, transmat, emission, [0, 0, 1, 1, 0])
    assert every.total == pytest.approx(0.026862016, rel=1e-12)
    chances, paths = every.best(2)
    np.testing.assert_allclose(chances, [0.00193536, 0.00189], rtol=1e-12)
    assert paths.tolist() == [[3, 2, 1, 2, 3], [0, 1, 0, 1, 2]]
    approx = every.posteriors().argmax(axis=1)
    assert approx.tolist() == [3, 3, 2, 1, 3]
    assert every.log_joint[every.index(approx)] == -np.inf


def test_three_boxes():
    every = DirectEnumeration.of_hmm(PI, A, B, [0, 1, 0])
    assert every.total == pytest.approx(0.130218, rel=1e-12)
    k = every.index([2, 2, 2])
    assert np.exp(every.log_path[k]) == pytest.approx(0.4 * 0.5 * 0.5)
    assert np.exp(every.log_given[k]) == pytest.approx(0.7 * 0.3 * 0.7)
    assert np.exp(every.log_joint[k]) == pytest.approx(0.0147)
    np.testing.assert_allclose(
        every.pair_posteriors().sum(axis=0)[0], [0.2515013285, 0.0924603357, 0.1635718564], atol=1e-10
    )


def test_matrix_form_of_a_random_field():
    a, b, c = [2.0, 3.0], [[5.0, 7.0], [11.0, 13.0]], [[17.0, 19.0], [23.0, 29.0]]
    every = DirectEnumeration.of_matrices([[a, [0, 0]], b, c, [[1, 0], [1, 0]]])
    assert every.total == pytest.approx(4304.0)
    np.testing.assert_allclose(np.exp(every.log_joint), [170, 190, 322, 406, 561, 627, 897, 1131])
    assert every.paths[3].tolist() == [0, 1, 1]


# What must add up ---------------------------------------------------------------------------------------------


@given(st.integers(0, 10_000), st.integers(1, 4), st.integers(1, 5))
def test_probabilities_add_up(seed, n, steps):
    pi, trans, emission = model(seed, n, zeros=0.2)
    O = np.random.default_rng(seed).integers(3, size=steps)
    every = DirectEnumeration.of_hmm(pi, trans, emission, O)
    assert np.exp(every.log_path).sum() == pytest.approx(1.0)
    assert len(np.unique(every.paths, axis=0)) == n**steps
    everything = [
        DirectEnumeration.of_hmm(pi, trans, emission, symbols).total for symbols in np.ndindex((3,) * steps)
    ]
    assert sum(everything) == pytest.approx(1.0)
    if every.total > 0:
        gamma, xi = every.posteriors(), every.pair_posteriors()
        np.testing.assert_allclose(gamma.sum(axis=1), 1.0)
        np.testing.assert_allclose(xi.sum(axis=2), gamma[:-1], atol=1e-12)
        np.testing.assert_allclose(xi.sum(axis=1), gamma[1:], atol=1e-12)
    else:
        with pytest.raises(ValueError, match="probability 0"):
            every.posteriors()


def test_transitions_of_their_own_at_each_step():
    rng = np.random.default_rng(0)
    start, like, edges = rng.normal(size=3), rng.normal(size=(4, 3)), rng.normal(size=(3, 3, 3))
    every = DirectEnumeration(start, edges, like)
    beta = np.ones(3)
    for t in (2, 1, 0):
        beta = np.exp(edges[t]) @ (np.exp(like[t + 1]) * beta)
    assert every.total == pytest.approx((np.exp(start + like[0]) * beta).sum())


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: DirectEnumeration(np.zeros(9), np.zeros((9, 9)), np.zeros((20, 9))),
            r"9\^20 paths: too many",
        ),
        (lambda: DirectEnumeration(np.zeros(2), np.zeros((2, 2)), np.zeros((10**6, 2))), "too many"),
        (lambda: DirectEnumeration(np.zeros(2), np.zeros((3, 2, 2)), np.zeros((3, 2))), r"\(2, 2, 2\)"),
        (lambda: DirectEnumeration.of_hmm(PI, A, B, [0, 2]), "symbols from 0 to 1; got 2"),
        (lambda: DirectEnumeration.of_hmm(PI, A, B, []), "whole numbers"),
        (
            lambda: DirectEnumeration.of_hmm([0.2, 0.4, 0.3], A, B, [0]),
            "startprob must sum to 1; it sums to 0.9",
        ),
        (lambda: DirectEnumeration.of_hmm(PI, A, [[1, 0], [1, 0], [1, 1]], [0]), "row 2 of emissionprob"),
        (lambda: DirectEnumeration.of_hmm(PI, A, B, [0, 1]).index([0, 3]), "from 0 to 2"),
        (lambda: DirectEnumeration.of_hmm([1.0], [[1.0]], [[1.0, 0.0]], [1]).best(), "No path"),
    ],
)
def test_refuses(call, words):
    with pytest.raises(ValueError, match=words):
        call()


# The Q function -----------------------------------------------------------------------------------------------


@given(st.integers(0, 10_000), st.integers(1, 3), st.integers(1, 5))
def test_q_is_the_sum_over_all_paths(seed, n, steps):
    new, old = model(seed, n), model(seed + 1, n)
    O = np.random.default_rng(seed).integers(3, size=steps)
    q = hmm_q(new, old, O)
    now, then = DirectEnumeration.of_hmm(*new, O), DirectEnumeration.of_hmm(*old, O)
    printed = float(np.exp(then.log_joint) @ now.log_joint)
    assert hmm_q(new, old, O, normalised=False).value == pytest.approx(printed)
    assert q.value == pytest.approx(printed / then.total)
    assert q.value == pytest.approx(q.start + q.transition + q.emission)


def test_a_baum_welch_step_maximises_each_term():
    O = [0, 1, 0, 0, 1]
    old = (PI, A, B)
    every = DirectEnumeration.of_hmm(*old, O)
    gamma, xi = every.posteriors(), every.pair_posteriors().sum(axis=0)
    seen = np.array([gamma[np.array(O) == k].sum(axis=0) for k in (0, 1)]).T
    step = (gamma[0], xi / xi.sum(axis=1, keepdims=True), seen / seen.sum(axis=1, keepdims=True))
    best = hmm_q(step, old, O)
    for seed in range(20):
        other = hmm_q(model(seed, 3, 2), old, O)
        assert best.start >= other.start
        assert best.transition >= other.transition
        assert best.emission >= other.emission
    assert DirectEnumeration.of_hmm(*step, O).total >= every.total


def test_q_refuses():
    sure = ([1.0, 0.0], np.eye(2), np.eye(2))
    with pytest.raises(ValueError, match="probability 0 under the old"):
        hmm_q(sure, sure, [0, 1])
    with pytest.raises(ValueError, match="new has 3 states and old has 2"):
        hmm_q((PI, A, B), sure, [0, 1])
    with pytest.raises(ValueError, match="old must be a tuple"):
        hmm_q(sure, "model", [0, 1])
