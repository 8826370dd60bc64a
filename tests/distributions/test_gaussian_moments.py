"""Gaussians side by side: densities and moments with missing values."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import integrate, stats

from tercet.distributions._gaussian.covariances import floored
from tercet.distributions._gaussian.missing import ordered_by_missing
from tercet.distributions._gaussian.moments import log_densities, moments, moved


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def gaussians(rng, k=3, d=4):
    roots = rng.normal(size=(k, d, d))
    return rng.normal(size=(k, d)), roots @ roots.transpose(0, 2, 1) + 0.3 * np.eye(d)


def with_holes(rng, n=40, d=4, share=0.3):
    X = rng.normal(size=(n, d))
    X[rng.random(X.shape) < share] = np.nan
    X[0], X[1] = np.nan, rng.normal(size=d)
    return X


def test_densities_agree_with_scipy(rng):
    means, covars = gaussians(rng)
    X = rng.normal(size=(20, 4))
    for k in range(3):
        expected = stats.multivariate_normal(means[k], covars[k]).logpdf(X)
        assert np.allclose(log_densities(X, means, covars)[:, k], expected, atol=1e-12)
        variances = np.diagonal(covars, axis1=1, axis2=2)
        expected = stats.norm(means[k], np.sqrt(variances[k])).logpdf(X).sum(axis=1)
        assert np.allclose(log_densities(X, means, variances)[:, k], expected, atol=1e-12)


def test_a_missing_value_is_integrated_out(rng):
    means, covars = gaussians(rng, k=2, d=2)
    x = 0.4
    for k, covar in enumerate(covars):
        whole = stats.multivariate_normal(means[k], covar)
        area, _ = integrate.quad(lambda z, whole=whole: whole.pdf([z, x]), -np.inf, np.inf)
        row = np.array([[np.nan, x]])
        assert log_densities(row, means, covars)[0, k] == pytest.approx(np.log(area), abs=1e-8)
        side = stats.norm(means[k, 1], np.sqrt(covar[1, 1])).logpdf(x)
        variances = np.diagonal(covars, axis1=1, axis2=2)
        assert log_densities(row, means, variances)[0, k] == pytest.approx(side, abs=1e-12)


def test_a_missing_column_is_as_good_as_dropped(rng):
    means, covars = gaussians(rng)
    X = rng.normal(size=(20, 4))
    X[:, 2] = np.nan
    keep = [0, 1, 3]
    expected = log_densities(X[:, keep], means[:, keep], covars[:, keep][:, :, keep])
    assert np.allclose(log_densities(X, means, covars), expected, atol=1e-12)


def test_nothing_known_says_nothing(rng):
    means, covars = gaussians(rng)
    row = np.full((1, 4), np.nan)
    assert np.array_equal(log_densities(row, means, covars), np.zeros((1, 3)))
    assert np.allclose(log_densities(row, means, np.ones((3, 4))), 0, atol=1e-15)
    for covar in (covars, np.ones((3, 4))):
        assert all(not part.any() for part in moments(row, np.ones((1, 3)), means, covar))


def test_moments_of_complete_rows(rng):
    means, covars = gaussians(rng)
    X, weight = rng.normal(size=(50, 4)), rng.random((50, 3))
    z = X[:, None, :] - means
    count, first, second = moments(X, weight, means, covars)
    assert np.allclose(count[:, 0], weight.sum(axis=0))
    assert np.allclose(first, np.einsum("ik,ikj->kj", weight, z))
    assert np.allclose(second, np.einsum("ik,ikj,ikl->kjl", weight, z, z))
    count, first, second = moments(X, weight, means, np.diagonal(covars, axis1=1, axis2=2))
    assert np.allclose(count, weight.sum(axis=0)[:, None])
    assert np.allclose(second, np.einsum("ik,ikj->kj", weight, z**2))


def test_moments_with_missing_values_are_conditional_expectations(rng):
    means, covars = gaussians(rng)
    X = with_holes(rng)
    weight = rng.random((len(X), 3))
    count, first, second = moments(X, weight, means, covars)
    expected_first, expected_second = np.zeros_like(first), np.zeros_like(second)
    for i, k in itertools.product(range(1, len(X)), range(3)):
        seen = ~np.isnan(X[i])
        if not seen.any():
            continue
        gain = covars[k][:, seen] @ np.linalg.inv(covars[k][np.ix_(seen, seen)])
        z = gain @ (X[i, seen] - means[k, seen])
        left = covars[k] - gain @ covars[k][seen]
        expected_first[k] += weight[i, k] * z
        expected_second[k] += weight[i, k] * (np.outer(z, z) + left)
    assert np.allclose(first, expected_first)
    assert np.allclose(second, expected_second)
    known = ~np.isnan(X).all(axis=1)
    assert np.allclose(count[:, 0], weight[known].sum(axis=0))


def test_diagonal_moments_leave_missing_values_out(rng):
    means, X = rng.normal(size=(3, 4)), with_holes(rng)
    weight = rng.random((len(X), 3))
    count, first, second = moments(X, weight, means, np.ones((3, 4)))
    seen = ~np.isnan(X)
    z = np.where(seen[:, None, :], X[:, None, :] - means, 0.0)
    assert np.allclose(count, weight.T @ seen)
    assert np.allclose(first, np.einsum("ik,ikj->kj", weight, z))
    assert np.allclose(second, np.einsum("ik,ikj->kj", weight, z**2))


def test_moments_about_moved_means(rng):
    means, covars = gaussians(rng)
    X, weight, shift = rng.normal(size=(50, 4)), rng.random((50, 3)), rng.normal(size=(3, 4))
    for covar in (covars, np.ones((3, 4))):
        there = moments(X, weight, means + shift, covar)[2]
        kind = "full" if covar.ndim == 3 else "diag"
        assert np.allclose(moved(moments(X, weight, means, covar), shift, kind)[2], there)


def test_rows_are_ordered_by_their_missing_features(rng):
    missing = np.isnan(with_holes(rng, n=100))
    order, borders = ordered_by_missing(missing)
    assert np.array_equal(np.sort(order), np.arange(100))
    groups = [missing[order[a:b]] for a, b in itertools.pairwise(borders)]
    assert all((group == group[0]).all() for group in groups)
    assert len(np.unique(missing, axis=0)) == len(groups)
    assert not groups[0].any()


def test_floored_covariances_are_above_the_floor_and_else_untouched(rng):
    _, covars = gaussians(rng)
    floor = np.array([0.1, 0.2, 0.1, 0.3])
    covars[1] = np.outer(floor, floor)
    after = floored(covars, "full", floor)
    assert np.array_equal(after[0], covars[0]) or np.linalg.eigvalsh(covars[0] - np.diag(floor))[0] < 0
    for matrix in after:
        assert np.linalg.eigvalsh(matrix - np.diag(floor))[0] > -1e-12
    assert np.array_equal(floored(np.array([[1.0, 0.0]]), "diag", np.array([0.5, 0.5])), [[1.0, 0.5]])
