"""Kernels of strings."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tercet.kernels import DNA, Edit, FromFunction, Subsequence, edit_distance, is_psd, subsequence_feature
from tercet.kernels.subsequence import subsequences

words = st.lists(st.text("abc 𝄞", max_size=7), min_size=1, max_size=5)


@settings(max_examples=40, deadline=None)
@given(words, words, st.integers(1, 4), st.sampled_from([0.3, 0.5, 1.0]), st.booleans())
def test_dynamic_programming_is_the_definition(left, right, n, decay, normalize):
    fast, slow = (Subsequence(n, decay, normalize, algorithm=name) for name in ("dynamic", "enumeration"))
    np.testing.assert_allclose(fast(left, right), slow(left, right), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(fast(left), slow(left), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(fast.diag(left), np.diag(slow(left)), rtol=1e-12, atol=1e-15)


@settings(max_examples=40, deadline=None)
@given(st.text("ab", max_size=8), st.text("ab", min_size=1, max_size=3))
def test_one_feature_is_that_of_the_enumeration(s, u):
    assert subsequence_feature(s, u, 0.7) == pytest.approx(subsequences(s, len(u), 0.7).get(u, 0.0))


def test_one_character_without_decay_is_a_product_of_counts():
    s, t = "the quick brown fox", "jumps over the lazy dog"
    counts = Counter(t)
    assert Subsequence(1, 1.0)([s], [t]).item() == sum(n * counts[c] for c, n in Counter(s).items())


def test_normalised_kernel_is_a_cosine():
    strings = ["science is organised knowledge", "wisdom is organised life", "", "ab", "a"]
    gram = Subsequence(2, 0.5, normalize=True)(strings)
    np.testing.assert_allclose(np.diag(gram), [1, 1, 0, 1, 0])
    assert np.all((gram >= 0) & (gram <= 1 + 1e-12))
    assert is_psd(gram).psd


def test_features_have_the_kernel_as_inner_product():
    strings = ["banana", "bandana", "an", ""]
    for normalize in (False, True):
        kernel = Subsequence(3, 0.6, normalize)
        phi = kernel.features(strings)
        np.testing.assert_allclose(phi @ phi.T, kernel(strings), atol=1e-15)


def test_long_strings_go_in_pieces(monkeypatch):
    rng = np.random.default_rng(0)
    strings = ["".join(rng.choice(list("abcd"), size=size)) for size in (40, 60, 0, 25)]
    wanted, distances = Subsequence(3, 0.8)(strings), Edit()(strings)
    monkeypatch.setattr("tercet.kernels.subsequence.WORK", 100)
    monkeypatch.setattr("tercet.kernels.edit.WORK", 100)
    monkeypatch.setattr("tercet.kernels._engine.prepared_rows.BLOCK", 2)
    np.testing.assert_allclose(Subsequence(3, 0.8)(strings), wanted, rtol=1e-13)
    np.testing.assert_array_equal(Edit()(strings), distances)


def test_same_bits_for_any_number_of_threads(monkeypatch):
    monkeypatch.setattr("tercet.kernels._engine.prepared_rows.BLOCK", 8)
    rng = np.random.default_rng(1)
    strings = ["".join(rng.choice(list("abcd"), size=12)) for _ in range(20)]
    for kernel in (Subsequence(2, 0.5, normalize=True), Edit()):
        np.testing.assert_array_equal(kernel(strings), kernel(strings, n_jobs=3))
        coef, rows = rng.normal(size=20), kernel.check(strings)
        one = kernel.times(rows[:7], rows, coef)
        np.testing.assert_array_equal(one, kernel.times(rows[:7], rows, coef, n_jobs=3))
        np.testing.assert_allclose(one, kernel(strings[:7], strings) @ coef)


def distance_by_definition(s, t):
    if not s or not t:
        return len(s) + len(t)
    options = (
        distance_by_definition(s[1:], t) + 1,
        distance_by_definition(s, t[1:]) + 1,
        distance_by_definition(s[1:], t[1:]) + (s[0] != t[0]),
    )
    return min(options)


@settings(max_examples=30, deadline=None)
@given(st.text("ab€", max_size=5), st.text("ab€", max_size=5))
def test_edit_distance_is_the_definition(s, t):
    assert edit_distance(s, t) == distance_by_definition(s, t)


def test_edit_kernel_and_its_sums():
    strings = ["kitten", "sitting", "", "mitten"]
    distances = [[edit_distance(s, t) for t in strings] for s in strings]
    np.testing.assert_allclose(Edit(0.3)(strings), np.exp(-0.3 * np.array(distances)))


def test_dna_counts_matches():
    strings = ["ACGT", "ACCA", "TTTT"]
    matches = [[sum(a == b for a, b in zip(s, t)) for t in strings] for s in strings]
    np.testing.assert_array_equal(DNA()(strings), matches)
    phi = DNA().features(strings)
    np.testing.assert_array_equal(phi @ phi.T, matches)


@pytest.mark.parametrize(
    "rows", [["ab", "c"], np.array([["ab"], ["c"]], dtype=object), np.array(["ab", "c"])]
)
def test_lists_arrays_and_columns_of_strings(rows):
    wanted = Subsequence(1, 1.0)(["ab", "c"])
    np.testing.assert_array_equal(Subsequence(1, 1.0)(rows), wanted)
    np.testing.assert_array_equal(Subsequence(1, 1.0)(pd.Series(["ab", "c"])), wanted)
    np.testing.assert_array_equal(Subsequence(1, 1.0)(pd.DataFrame({"s": ["ab", "c"]})), wanted)


@pytest.mark.parametrize("kernel", [Subsequence(), Edit(), FromFunction(len, takes="strings")])
@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ("abc", "got one string 'abc'"),
        ([["a", "b"]], r"got the shape \(1, 2\)"),
        ([], r"got the shape \(0,\)"),
        (["a", None], "row 1 is None"),
        ([1.5], "row 0 is 1.5"),
    ],
)
def test_wrong_rows_are_named(kernel, rows, words):
    with pytest.raises(ValueError, match=words):
        kernel(rows)


def test_wrong_parameters_are_named():
    with pytest.raises(ValueError, match="'decay' must be"):
        Subsequence(2, 1.5)(["a"])
    with pytest.raises(ValueError, match="'n' must be"):
        Subsequence(0)(["a"])
    with pytest.raises(ValueError, match="row 1 is 'AXG'"):
        DNA()(["ACG", "AXG"])
    with pytest.raises(ValueError, match="row 1 has 2 letters, row 0 3"):
        DNA()(["ACG", "AC"])
    with pytest.raises(ValueError, match="these have 3 and 2 letters"):
        DNA()(["ACG"], ["AC"])
    with pytest.raises(ValueError, match="decay must lie in"):
        subsequence_feature("abc", "a", 0.0)


def test_a_cosine_knows_no_small_numbers():
    gram = Subsequence(40, 1e-5, normalize=True)(["a" * 45, "a" * 45, "b" * 45])
    np.testing.assert_allclose(gram, [[1, 1, 0], [1, 1, 0], [0, 0, 1]], rtol=1e-12)


@pytest.mark.parametrize("normalize", [False, True])
def test_a_kernel_too_large_is_refused(normalize, monkeypatch):
    # as the true one does for strings of a thousand equal characters
    monkeypatch.setattr("tercet.kernels.subsequence.extend", lambda *arguments: arguments[-1].fill(np.inf))
    with pytest.raises(ValueError, match=r"lower n=200 or decay=1\.0"):
        Subsequence(200, 1.0, normalize)(["aa"])


@pytest.mark.parametrize("kernel", [Subsequence(), Subsequence(normalize=True), Edit(), DNA()])
def test_no_strings_give_sums_of_nothing(kernel):
    rows = kernel.check(["ACG", "AAA"])
    np.testing.assert_array_equal(kernel.times(rows, rows[:0], np.zeros(0)), np.zeros(2))
