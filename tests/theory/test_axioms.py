"""Axioms of norms, inner products and metrics on samples; plane waves; matrices that keep lengths."""

import numpy as np
import pytest

from tercet.theory import (
    inner_product_violations,
    isometry_violation,
    metric_violations,
    norm_violations,
    plane_wave_products,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(12, 3))
Z = X + 1j * RNG.normal(size=(12, 3))


@pytest.mark.parametrize("p", [1, 1.5, 2, 3, np.inf])
def test_p_norms(p):
    found = norm_violations(lambda x: np.linalg.norm(x, p), X)
    assert found.is_norm()
    assert found.from_inner_product() == (p == 2)


def test_parallelogram_law_by_hand():
    found = norm_violations(lambda x: np.abs(x).max(), [[1.0, 0.0], [0.0, 1.0]])
    assert found.parallelogram == 2.0  # 1 + 1 - 2 - 2 for the two rows, 4 + 0 - 2 - 2 for a row and itself


def test_what_is_no_norm():
    assert norm_violations(lambda x: (np.abs(x) ** 0.5).sum() ** 2, X).triangle > 0.01
    assert norm_violations(lambda x: x @ x, X).homogeneous > 0.1
    assert norm_violations(lambda x: abs(x[0]), [[0.0, 1.0], [2.0, 0.0]]).definite == 1.0
    assert norm_violations(lambda x: np.linalg.norm(x) + 1, X).definite > 0
    assert not norm_violations(lambda x: -np.linalg.norm(x), X).is_norm()


def test_inner_products():
    A = np.array([[2.0, 1.0, 0.0], [1.0, 3.0, 0.5], [0.0, 0.5, 1.0]])
    good = inner_product_violations(lambda x, y: x @ A @ y, X)
    assert good.is_inner_product()
    assert good.cauchy_schwarz < 1e-12
    assert inner_product_violations(lambda x, y: x @ y.conj(), Z).is_inner_product()
    assert inner_product_violations(lambda x, y: x @ y, Z).symmetric > 0.1  # without the conjugate
    skewed = A + np.diag([0.5, 0.0], k=1)
    assert inner_product_violations(lambda x, y: x @ skewed @ y, X).symmetric > 0.01
    indefinite = inner_product_violations(lambda x, y: x[0] * y[0] - x[1] * y[1], X)
    assert indefinite.linear < 1e-12
    assert indefinite.positive > 0.1
    assert indefinite.cauchy_schwarz > 0.1
    assert inner_product_violations(lambda x, y: (x @ y) ** 3, X).linear > 0.1
    assert inner_product_violations(lambda x, y: x[0] * y[0], [[0.0, 1.0], [1.0, 0.0]]).positive == 1.0


def test_metrics():
    assert metric_violations(lambda x, y: np.linalg.norm(x - y), X).is_metric()
    assert metric_violations(lambda x, y: float((x != y).any()), X).is_metric()
    squared = metric_violations(lambda x, y: ((x - y) ** 2).sum(), X)
    assert squared.triangle > 0.1
    assert max(squared[:3]) < 1e-12
    assert metric_violations(lambda x, y: max(0.0, (x - y).sum()), X).symmetric > 0.1
    assert (
        metric_violations(lambda x, y: abs(x[0] - y[0]), [[0.0, 1.0], [0.0, 2.0], [1.0, 0.0]]).identity == 1.0
    )
    assert metric_violations(lambda x, y: (x - y).sum(), X).non_negative > 0.1


def test_plane_waves_are_orthonormal():
    k = np.arange(-6, 7)
    np.testing.assert_allclose(plane_wave_products(k), np.eye(13), atol=1e-13)
    np.testing.assert_allclose(plane_wave_products([10**15, 10**15 + 1]), np.eye(2), atol=1e-13)
    aliased = plane_wave_products(k, n_points=6)
    np.testing.assert_allclose(aliased, (k[:, None] - k) % 6 == 0, atol=1e-13)


def test_isometries():
    rotation, _ = np.linalg.qr(RNG.normal(size=(4, 4)))
    assert isometry_violation(rotation) < 1e-14
    unitary, _ = np.linalg.qr(RNG.normal(size=(4, 4)) + 1j * RNG.normal(size=(4, 4)))
    assert isometry_violation(unitary) < 1e-14
    waves = np.exp(2j * np.pi * np.outer(range(5), range(5)) / 5) / np.sqrt(5)
    assert isometry_violation(waves) < 1e-14
    assert isometry_violation(2 * np.eye(3)) == 3.0


@pytest.mark.parametrize("bad", [[1.0, 2.0], [[np.nan]], [[]], [["a"]]])
def test_vectors_are_checked(bad):
    for check in (
        lambda: norm_violations(np.linalg.norm, bad),
        lambda: inner_product_violations(np.dot, bad),
        lambda: metric_violations(lambda x, y: 0.0, bad),
    ):
        with pytest.raises(ValueError, match="X must hold finite vectors"):
            check()


def test_functions_and_frequencies_are_checked():
    with pytest.raises(ValueError, match="norm must return a finite real number for a vector"):
        norm_violations(lambda x: x, X)
    with pytest.raises(ValueError, match="norm must return a finite real number for a vector"):
        norm_violations(lambda x: 1j, X)
    with pytest.raises(ValueError, match="function of two vectors must return a finite number"):
        metric_violations(lambda x, y: np.inf, X)
    with pytest.raises(ValueError, match="frequencies must be an array of whole numbers"):
        plane_wave_products([0.5])
    with pytest.raises(ValueError, match="n_points must be a finite number of at least 1; got 0"):
        plane_wave_products([1], n_points=0)
    with pytest.raises(ValueError, match="F must be a matrix of finite numbers"):
        isometry_violation([1.0])
