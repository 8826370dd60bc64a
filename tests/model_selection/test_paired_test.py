"""The corrected paired test: its formula, its level, its edges."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tercet.model_selection import corrected_interval, corrected_paired_test, holm

scores = st.lists(st.floats(0, 1, width=32), min_size=3, max_size=30)


def test_no_test_rows_would_be_the_plain_paired_test():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 12))
    ours = corrected_paired_test(a, b, n_train=1e18, n_test=1)
    plain = stats.ttest_rel(a, b)
    assert ours.statistic == pytest.approx(plain.statistic, rel=1e-12)
    assert ours.p_value == pytest.approx(plain.pvalue, rel=1e-12)
    interval = plain.confidence_interval()
    assert (ours.low, ours.high) == pytest.approx((interval.low, interval.high), rel=1e-12)


def test_the_correction_is_a_factor():
    """10 times 10-fold cross-validation: the error grows by sqrt(1 + J n_test/n_train)."""
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(2, 100))
    plain = stats.ttest_rel(a, b)
    ours = corrected_paired_test(a, b, n_train=90, n_test=10)
    assert ours.statistic == pytest.approx(plain.statistic / np.sqrt(1 + 100 / 9), rel=1e-12)


def test_it_keeps_its_level_where_the_plain_test_does_not():
    """Two methods that are equally good: two noisy columns of the same worth. The plain test finds a difference
    in far more than 5 of 100 data sets, the corrected one in about 5."""
    rng = np.random.default_rng(2)
    plain, corrected, n, runs = 0, 0, 60, 300
    for _ in range(runs):
        y = rng.normal(size=n)
        X = y[:, None] + rng.normal(size=(n, 2))
        losses = []
        for _ in range(5):
            folds = np.array_split(rng.permutation(n), 5)
            for test in folds:
                train = np.setdiff1d(np.arange(n), test)
                slope = (X[train] * y[train, None]).sum(axis=0) / (X[train] ** 2).sum(axis=0)
                losses.append(((y[test, None] - slope * X[test]) ** 2).mean(axis=0))
        a, b = np.array(losses).T
        plain += stats.ttest_rel(a, b).pvalue < 0.05
        corrected += corrected_paired_test(a, b, n_train=48, n_test=12).p_value < 0.05
    assert plain / runs > 0.3
    assert corrected / runs < 0.1


@given(scores, st.floats(0.01, 1))
def test_sides_can_be_changed(values, ratio):
    a = np.array(values)
    b = a[::-1] * 0.5
    one = corrected_paired_test(a, b, n_train=1, n_test=ratio)
    other = corrected_paired_test(b, a, n_train=1, n_test=ratio)
    assert one.difference == -other.difference
    assert one.p_value == other.p_value
    assert one.low == pytest.approx(-other.high)


def test_interval_of_one_method_is_that_of_its_difference_to_zero():
    a = np.random.default_rng(3).normal(size=10)
    test = corrected_paired_test(a, np.zeros(10), n_train=4, n_test=1)
    assert corrected_interval(a, n_train=4, n_test=1) == pytest.approx((test.low, test.high))


def test_equal_scores_and_a_constant_difference():
    a = np.array([0.5, 0.6, 0.7])
    assert corrected_paired_test(a, a, n_train=4, n_test=1).p_value == 1.0
    test = corrected_paired_test(a + 0.1, a, n_train=4, n_test=1)
    assert test.p_value == 0.0
    assert test.statistic == np.inf


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_is_ordered_and_no_smaller(p):
    adjusted = holm(p)
    assert np.all(adjusted >= p)
    assert np.all(adjusted <= 1)
    assert np.all(np.diff(adjusted[np.argsort(p, kind="stable")]) >= 0)
    assert adjusted.min() == pytest.approx(min(1.0, len(p) * min(p)))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: corrected_paired_test([1, 2], [1, 2, 3], n_train=1, n_test=1), r"shapes \(2,\) and \(3,\)"),
        (lambda: corrected_paired_test([1.0], [1.0], n_train=1, n_test=1), "at least 2"),
        (lambda: corrected_paired_test([1, 2], [1, 2], n_train=0, n_test=1), "n_train and n_test .* got 0"),
        (lambda: corrected_interval([1, 2], n_train=1, n_test=1, confidence=95), "confidence .* got 95"),
        (lambda: corrected_interval([1], n_train=1, n_test=1), "at least 2"),
    ],
)
def test_errors(call, words):
    with pytest.raises(ValueError, match=words):
        call()
