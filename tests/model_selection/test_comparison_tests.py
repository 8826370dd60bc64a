"""Tests that compare classifiers: published numbers, closed forms, and their level under the null hypothesis."""

import numpy as np
import pytest
from scipy import stats

from tercet.model_selection import (
    bayesian_correlated_test,
    binomial_test,
    corrected_paired_test,
    critical_difference,
    five_by_two_cv_test,
    friedman_test,
    mcnemar_test,
)


def test_binomial_test_is_scipys_and_its_critical_value_is_sharp():
    for errors in range(21):
        test = binomial_test(errors, 20, 0.3)
        expected = stats.binomtest(errors, 20, 0.3, alternative="greater").pvalue
        assert test.p_value == pytest.approx(expected, rel=1e-12)
        assert test.rejected == (test.p_value < 0.05)


def test_mcnemar_by_hand():
    y = np.zeros(200, int)
    first, second = np.zeros(200, int), np.zeros(200, int)
    first[:40], second[40:55], first[60:70], second[60:70] = 1, 1, 1, 1
    test = mcnemar_test(y, first, second)
    assert (test.only_first_wrong, test.only_second_wrong) == (40, 15)
    assert test.statistic == pytest.approx(24**2 / 55)
    assert test.p_value == pytest.approx(stats.chi2.sf(24**2 / 55, 1), rel=1e-12)
    exact = mcnemar_test(y, first, second, exact=True)
    assert exact.p_value == pytest.approx(stats.binomtest(15, 55, 0.5).pvalue, rel=1e-12)
    assert mcnemar_test(y, first, first).p_value == 1.0


def test_five_by_two_keeps_its_level():
    """Differences that are independent and normal: the model of both statistics."""
    rng = np.random.default_rng(0)
    draws = rng.standard_normal((4000, 5, 2))
    for kind in ("t", "F"):
        rejected = np.mean(
            [five_by_two_cv_test(d, np.zeros((5, 2)), statistic=kind).p_value < 0.05 for d in draws]
        )
        limit = 0.05 + 4 * np.sqrt(0.05 * 0.95 / len(draws))
        assert rejected < limit
    same = np.full((5, 2), 0.9)
    assert five_by_two_cv_test(same, same).p_value == 1.0
    assert five_by_two_cv_test(same, same - 0.1).p_value == 0.0


def test_friedman_is_scipys_with_ties():
    rng = np.random.default_rng(3)
    scores = np.round(rng.normal([0, 0.5, 0.1, 1.0], size=(14, 4)), 1)
    scores[4] = 0.5
    test = friedman_test(scores, posthoc="nemenyi")
    expected = stats.friedmanchisquare(*scores.T)
    assert test.chi_square == pytest.approx(expected.statistic, rel=1e-12)
    assert test.chi_square_p_value == pytest.approx(expected.pvalue, rel=1e-10)
    np.testing.assert_allclose(test.mean_ranks, stats.rankdata(-scores, axis=1).mean(axis=0))
    F = 13 * test.chi_square / (14 * 3 - test.chi_square)
    assert test.p_value == pytest.approx(stats.f.sf(F, 3, 39), rel=1e-10)
    # A pair differs at the level exactly when its mean ranks are further apart than the critical difference.
    apart = np.abs(test.mean_ranks[:, None] - test.mean_ranks) > test.critical_difference
    np.testing.assert_array_equal(test.pairs < 0.05, apart)


def test_critical_differences_of_the_published_table():
    """Demsar (2006), table 5: q 2.569 and 2.291 for four methods, hence 1.25 and 1.12 on 14 data sets."""
    assert critical_difference(4, 14) == pytest.approx(2.569 * np.sqrt(20 / 84), abs=5e-4)
    assert critical_difference(4, 14, 0.10) == pytest.approx(2.291 * np.sqrt(20 / 84), abs=5e-4)


def test_pairs_by_wilcoxon_do_not_depend_on_the_pool():
    rng = np.random.default_rng(0)
    scores = rng.normal([0, 0.8, 1.6], size=(15, 3))
    alone = friedman_test(scores[:, :2]).pairs[0, 1]
    assert alone == pytest.approx(stats.wilcoxon(scores[:, 0], scores[:, 1]).pvalue)
    three = friedman_test(scores)
    assert three.pairs[0, 1] >= alone  # Holm's correction alone moves it
    assert np.isnan(three.critical_difference)
    np.testing.assert_array_equal(three.pairs, three.pairs.T)
    errors = friedman_test(-scores, greater_is_better=False)
    np.testing.assert_array_equal(errors.mean_ranks, three.mean_ranks)


def test_equal_methods_everywhere():
    test = friedman_test(np.full((5, 3), 0.7))
    assert (test.chi_square, test.p_value) == (0.0, 1.0)
    np.testing.assert_array_equal(test.pairs, 1.0)


def test_bayesian_test_without_a_region_is_the_corrected_t_test():
    rng = np.random.default_rng(0)
    a, b = rng.normal(0.9, 0.02, 10), rng.normal(0.89, 0.02, 10)
    bayes = bayesian_correlated_test(a, b, n_train=90, n_test=10)
    t = corrected_paired_test(a, b, n_train=90, n_test=10)
    assert 2 * min(bayes.worse, bayes.better) == pytest.approx(t.p_value, rel=1e-10)
    assert (bayes.low, bayes.high) == pytest.approx((t.low, t.high))
    assert bayes.equivalent == pytest.approx(0.0, abs=1e-12)


def test_bayesian_prior_of_the_variance():
    """Five splits that agree by chance say less than a prior of what the rows say."""
    a, b = np.full(5, 0.8), np.full(5, 0.75)
    split = {"n_train": 80, "n_test": 20, "rope": 0.01}
    assert bayesian_correlated_test(a, b, **split).better == 1.0
    test = bayesian_correlated_test(a, b, prior_variance=0.05**2, prior_df=10, **split)
    assert test.df == 14
    assert test.scale == pytest.approx(np.sqrt(10 / 14 * 0.05**2 * (1 / 5 + 1 / 4)))
    assert test.better == pytest.approx(stats.t(14).cdf(0.04 / test.scale))
    scores = np.random.default_rng(0).normal(0.8, 0.05, (2, 5))
    same = bayesian_correlated_test(*scores, prior_variance=7.0, **split)  # of no weight
    assert same == bayesian_correlated_test(*scores, **split)


def test_repeats_on_the_same_rows_have_no_more_degrees_of_freedom_than_the_rows():
    scores = np.random.default_rng(0).normal(0.8, 0.05, (2, 50))
    split = {"n_train": 16, "n_test": 4, "rope": 0.01}
    free, bound = (bayesian_correlated_test(*scores, max_df=most, **split) for most in (np.inf, 19))
    assert (free.df, bound.df) == (49, 19)
    assert (free.difference, free.scale) == (bound.difference, bound.scale)
    assert bound.better == pytest.approx(stats.t(19).cdf((bound.difference - 0.01) / bound.scale))
    half = stats.t(19).ppf(0.975) * bound.scale
    assert (bound.low, bound.high) == pytest.approx((bound.difference - half, bound.difference + half))


def test_bayesian_probabilities():
    rng = np.random.default_rng(1)
    a = rng.normal(0.9, 0.02, 10)
    test = bayesian_correlated_test(a, a + rng.normal(0, 0.001, 10), n_train=90, n_test=10, rope=0.01)
    assert test.worse + test.equivalent + test.better == pytest.approx(1.0)
    assert test.verdict() == "equivalent"
    draws = test.difference + test.scale * rng.standard_t(test.df, size=200_000)
    share = np.mean(np.abs(draws) <= 0.01)
    assert abs(share - test.equivalent) < 4 * np.sqrt(share * (1 - share) / len(draws) + 1e-8)
    assert bayesian_correlated_test(a, a - 0.05, n_train=90, n_test=10, rope=0.01).verdict() == "better"
    assert bayesian_correlated_test(a, a, n_train=90, n_test=10).verdict() == "equivalent"


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: binomial_test(5, 4, 0.1), "n_errors must be from 0 to n_samples=4; got 5"),
        (lambda: binomial_test(1, 4, 1.0), "supposed must be between 0 and 1"),
        (lambda: mcnemar_test([0, 1], [0], [0, 1]), "labels of the same rows"),
        (lambda: five_by_two_cv_test([1, 2], [1, 2]), r"shape \(5, 2\)"),
        (
            lambda: five_by_two_cv_test(np.ones((5, 2)), np.ones((5, 2)), statistic="z"),
            "must be 'F' or 't'; got 'z'",
        ),
        (lambda: friedman_test([[1.0, 2.0]]), "at least 2 data sets"),
        (lambda: friedman_test([[1.0, np.nan], [1, 2]]), "must be finite"),
        (lambda: friedman_test(np.eye(3), posthoc="tukey"), "posthoc must be"),
        (lambda: bayesian_correlated_test([1.0], [1.0], n_train=9, n_test=1), "at least 2"),
        (lambda: bayesian_correlated_test([1, 2], [1, 2], n_train=0, n_test=1), "must be positive"),
        (lambda: bayesian_correlated_test([1, 2], [1, 2], n_train=9, n_test=1, rope=-1), "rope must be"),
        (
            lambda: bayesian_correlated_test([1, 2], [1, 2], n_train=9, n_test=1, prior_df=-1),
            "prior_df must be",
        ),
        (lambda: bayesian_correlated_test([1, 2], [1, 2], n_train=9, n_test=1, max_df=0), "max_df must be"),
    ],
)
def test_refusals(call, says):
    with pytest.raises(ValueError, match=says):
        call()
