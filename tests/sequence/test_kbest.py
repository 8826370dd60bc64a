"""The k best paths: those of the list of all paths, in the same order, and Viterbi's first."""

import importlib
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tercet.sequence.hmm.direct_enumeration import DirectEnumeration
from tercet.sequence.k_best import k_best


def scores(seed, n, steps, zeros=0.2, whole=True):
    """Scores that often tie (whole numbers) and paths that do not exist."""
    rng = np.random.default_rng(seed)
    parts = []
    for shape in ((n,), (n, n), (steps, n)):
        values = rng.integers(-3, 3, shape).astype(float) if whole else rng.normal(size=shape)
        parts.append(np.where(rng.random(shape) < zeros, -np.inf, values))
    return parts


@given(st.integers(0, 10_000), st.integers(1, 4), st.integers(1, 6), st.integers(1, 60), st.booleans())
def test_the_same_as_the_list_of_all_paths(seed, n, steps, k, whole):
    chain = scores(seed, n, steps, whole=whole)
    found, paths = k_best(*chain, k)
    every = DirectEnumeration(*chain)
    chances, wanted = every.best(k)
    assert paths.shape == wanted.shape == (found.size, steps)
    if whole:
        assert np.array_equal(paths, wanted)
    np.testing.assert_allclose(found, np.log(chances), atol=1e-12)
    assert (np.diff(found) <= 0).all()
    assert len({tuple(path) for path in paths}) == len(paths)
    assert found.size == min(k, int((every.log_joint > -np.inf).sum()))


@pytest.mark.parametrize("work", [1, 1000])
def test_pieces_make_no_difference(monkeypatch, work):
    chain = scores(1, 5, 40, whole=False)
    found, paths = k_best(*chain, 30)
    monkeypatch.setattr(importlib.import_module("tercet.sequence.k_best"), "WORK", work)
    again, same = k_best(*chain, 30)
    assert np.array_equal(found, again)
    assert np.array_equal(paths, same)


def test_more_paths_extend_fewer():
    chain = scores(2, 6, 50, whole=False)
    found, paths = k_best(*chain, 200)
    assert found.size == 200
    for k in (1, 2, 17):
        fewer, some = k_best(*chain, k)
        assert np.array_equal(fewer, found[:k])
        assert np.array_equal(some, paths[:k])
    start, trans, like = chain
    for score, path in zip(found, paths):
        there = start[path[0]] + trans[path[:-1], path[1:]].sum() + like[range(50), path].sum()
        assert score == pytest.approx(there, abs=1e-9)


def test_no_path_at_all():
    found, paths = k_best([0, -np.inf], [[-np.inf, -np.inf], [0, 0]], np.zeros((3, 2)), 4)
    assert found.shape == (0,)
    assert paths.shape == (0, 3)


def test_read_only_lists_and_other_orders():
    start, trans, like = scores(3, 3, 5)
    want = k_best(start, trans, like, 7)
    for a in (start, trans, like):
        a.flags.writeable = False
    for given_ in ((start, np.asfortranarray(trans), like), (start.tolist(), trans.tolist(), like.tolist())):
        got = k_best(*given_, 7)
        assert all(np.array_equal(a, b) for a, b in zip(got, want))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"k": 0}, "k must be a positive whole number; got 0"),
        ({"k": 2.5}, "got 2.5"),
        ({"log_start": np.zeros(3)}, r"shapes \(2,\) and \(2, 2\)"),
        ({"log_trans": np.full((2, 2), np.nan)}, "log_trans must hold finite numbers or -inf; got nan"),
        ({"log_like": np.full((4, 2), np.inf)}, "log_like .* got inf"),
        ({"log_like": np.zeros(2)}, r"shape \(n_steps, n_states\); got \(2,\)"),
        ({"k": 2**31}, "below 2\\*\\*31"),
    ],
)
def test_refuses(change, words):
    chain = {"log_start": np.zeros(2), "log_trans": np.zeros((2, 2)), "log_like": np.zeros((64, 2)), "k": 3}
    with pytest.raises(ValueError, match=words):
        k_best(**{**chain, **change})


def test_transitions_of_their_own_at_each_step():
    rng = np.random.default_rng(0)
    start, trans, like = rng.normal(size=3), rng.normal(size=(4, 3, 3)), rng.normal(size=(5, 3))
    paths = list(itertools.product(range(3), repeat=5))
    values = [
        start[p[0]] + sum(like[t, p[t]] for t in range(5)) + sum(trans[t, p[t], p[t + 1]] for t in range(4))
        for p in paths
    ]
    order = np.argsort(values)[::-1][:20]
    scores, found = k_best(start, trans, like, 20)
    np.testing.assert_allclose(scores, np.array(values)[order], rtol=1e-12)
    assert found.tolist() == [list(paths[k]) for k in order]
