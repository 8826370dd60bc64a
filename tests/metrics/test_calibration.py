"""Reliability curves, calibration errors, Brier's parts, the Hosmer-Lemeshow test; errors under a density."""

import numpy as np
import pytest
from scipy import stats
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss

from tercet.metrics import (
    brier_decomposition,
    expected_calibration_error,
    expected_error_rate,
    expected_squared_error,
    hosmer_lemeshow_test,
    maximum_calibration_error,
    reliability_curve,
)


@pytest.fixture
def predicted():
    rng = np.random.default_rng(0)
    p = rng.random(800)
    return (rng.random(800) < p**2).astype(int), p, rng.integers(0, 4, 800)


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_reliability_is_scikit_learns(predicted, strategy):
    y, p, times = predicted
    curve = reliability_curve(y, p, strategy=strategy)
    observed, said = calibration_curve(y, p, n_bins=10, strategy=strategy)
    np.testing.assert_allclose(curve.observed, observed)
    np.testing.assert_allclose(curve.predicted, said)
    assert curve.weight.sum() == 800
    weighted = reliability_curve(y, p, sample_weight=times)
    many = reliability_curve(np.repeat(y, times), np.repeat(p, times))
    for ours, repeated in zip(weighted, many):
        np.testing.assert_allclose(ours, repeated)


def test_weighted_quantile_bins_have_equal_weight(predicted):
    y, p, times = predicted
    curve = reliability_curve(y, p, n_bins=4, strategy="quantile", sample_weight=times)
    np.testing.assert_allclose(curve.weight, times.sum() / 4, atol=4)


def test_calibration_errors(predicted):
    y, p, _ = predicted
    curve = reliability_curve(y, p, n_bins=7)
    gap = np.abs(curve.observed - curve.predicted)
    share = curve.weight / curve.weight.sum()
    assert expected_calibration_error(y, p, n_bins=7) == pytest.approx(share @ gap)
    assert expected_calibration_error(y, p, n_bins=7, norm="l2") == pytest.approx(np.sqrt(share @ gap**2))
    assert maximum_calibration_error(y, p, n_bins=7) == pytest.approx(gap.max())
    proba = np.stack([1 - p, p], axis=1)
    sure = proba.argmax(axis=1) == y
    assert expected_calibration_error(y, proba) == pytest.approx(
        expected_calibration_error(sure, proba.max(axis=1))
    )
    assert expected_calibration_error([1, 1, 1], [1.0, 1.0, 1.0]) == 0  # one class is enough
    with pytest.raises(ValueError, match="a column for each of the 1 classes"):
        expected_calibration_error([1, 1], [[0.1, 0.9], [0.2, 0.8]])
    assert expected_calibration_error([1, 1], [[0.1, 0.9], [0.1, 0.9]], labels=[0, 1]) == pytest.approx(0.1)


@pytest.mark.parametrize("n_bins", [5, 20, None])
@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_parts_of_the_brier_score_add_up(predicted, n_bins, strategy):
    y, p, times = predicted
    p = p.round(2)
    parts = brier_decomposition(y, p, n_bins=n_bins, strategy=strategy, sample_weight=times)
    assert parts.brier == pytest.approx(brier_score_loss(y, p, sample_weight=times))
    assert parts.brier == pytest.approx(
        parts.reliability - parts.resolution + parts.uncertainty + parts.within_bins
    )
    assert min(parts.reliability, parts.resolution, parts.uncertainty) >= 0
    if n_bins is None:
        assert parts.within_bins == pytest.approx(0, abs=1e-15)


def test_hosmer_lemeshow():
    rng = np.random.default_rng(1)
    p = rng.random(1000)
    p_values = []
    for _ in range(300):
        y = rng.random(1000) < p
        p_values.append(hosmer_lemeshow_test(y, p, fitted=False).p_value)
    assert stats.kstest(p_values, "uniform").pvalue > 0.001
    wrong = hosmer_lemeshow_test(rng.random(1000) < p**2, p)
    assert wrong.degrees_of_freedom == 8
    assert wrong.p_value < 1e-6
    assert hosmer_lemeshow_test([0, 0, 1, 1], [0.0, 0.0, 1.0, 1.0], n_groups=2, fitted=False).statistic == 0
    assert hosmer_lemeshow_test([1, 0, 1, 1], [0.0, 0.0, 1.0, 1.0], n_groups=2, fitted=False).p_value == 0
    with pytest.raises(ValueError, match="fall into 1 groups"):
        hosmer_lemeshow_test([0, 1, 1], [0.5, 0.5, 0.5])


def test_probabilities_are_checked():
    for measure in (reliability_curve, expected_calibration_error, brier_decomposition, hosmer_lemeshow_test):
        with pytest.raises(ValueError, match="between 0 and 1; it goes from -1 to 2"):
            measure([0, 1], [-1.0, 2.0])
        with pytest.raises(ValueError, match="y_prob must be finite numbers; at row 0 it has nan"):
            measure([0, 1], [np.nan, 0.5])
    with pytest.raises(ValueError, match="an integer of 1 or more; got 0"):
        reliability_curve([0, 1], [0.2, 0.8], n_bins=0)
    with pytest.raises(ValueError, match="strategy must be 'uniform' or 'quantile'; got 'even'"):
        reliability_curve([0, 1], [0.2, 0.8], strategy="even")
    with pytest.raises(ValueError, match="norm must be 'l1', 'l2' or 'max'"):
        expected_calibration_error([0, 1], [0.2, 0.8], norm="l3")


def test_errors_under_a_density():
    rng = np.random.default_rng(2)
    x = rng.normal(size=200_000)
    drawn = np.mean((np.sin(x) - x) ** 2)
    assert expected_squared_error(np.sin, lambda x: x, stats.norm()) == pytest.approx(drawn, rel=0.02)
    # two inputs, uniform in a square: the corner beyond the diagonal
    square = expected_squared_error(
        lambda X: X[:, 0] + X[:, 1], lambda X: 0.0 * X[:, 0], lambda X: np.ones(len(X)), ([0, 0], [1, 1])
    )
    assert square == pytest.approx(7 / 6)
    error = expected_error_rate(lambda x: x > 0.2, lambda x: x > 0, stats.norm(), points=[0.0, 0.2])
    assert error == pytest.approx(stats.norm.cdf(0.2) - 0.5, abs=1e-8)
    with pytest.raises(ValueError, match="a lower and an upper end"):
        expected_squared_error(np.sin, np.cos, stats.norm(), (1, 0))
    with pytest.raises(ValueError, match="density must be a callable"):
        expected_squared_error(np.sin, np.cos, 3)
