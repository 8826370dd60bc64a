"""Gradient, Jacobian, divergence and curl: known fields, and the identities curl grad = 0 and div curl = 0."""

import numpy as np
import pytest

from tercet.theory import curl, divergence, gradient, jacobian

POINTS = np.random.default_rng(0).normal(size=(6, 3)) * [1.0, 10.0, 0.1]


def field(p):
    return np.array([np.sin(p[1]) * p[2], np.exp(p[0] / 3) + p[2] ** 2, p[0] * p[1] * p[2]])


def scalar(p):
    return np.sin(p[0]) * np.exp(p[1] / 5) + p[2] ** 3 * p[0]


def test_gradient_of_known_fields():
    x, y, z = POINTS.T
    grown = np.exp(y / 5)
    exact = np.column_stack([np.cos(x) * grown + z**3, np.sin(x) * grown / 5, 3 * z**2 * x])
    np.testing.assert_allclose(gradient(scalar, POINTS), exact, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(gradient(scalar, POINTS[2]), gradient(scalar, POINTS)[2])


def test_formulas_are_exact_for_polynomials_of_degree_four():
    np.testing.assert_allclose(
        gradient(lambda p: (p**4).sum(), [2.0, -1.0], step=0.5), [32.0, -4.0], rtol=1e-13
    )


def test_jacobian_divergence_and_curl():
    x, y, z = POINTS.T
    J = jacobian(field, POINTS)
    nothing = np.zeros(6)
    exact = np.array(
        [[nothing, np.cos(y) * z, np.sin(y)], [np.exp(x / 3) / 3, nothing, 2 * z], [y * z, x * z, x * y]]
    ).transpose(2, 0, 1)
    np.testing.assert_allclose(J, exact, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(divergence(field, POINTS), x * y, rtol=1e-8, atol=1e-8)
    rotation = np.column_stack([x * z - 2 * z, np.sin(y) - y * z, np.exp(x / 3) / 3 - np.cos(y) * z])
    np.testing.assert_allclose(curl(field, POINTS), rotation, rtol=1e-8, atol=1e-8)
    assert divergence(field, POINTS[0]).shape == ()
    assert jacobian(lambda p: p[:1] * p[1], [2.0, 3.0]).shape == (1, 2)


def test_curl_in_the_plane():
    assert curl(lambda p: np.array([-p[1], p[0]]), [0.3, 0.4]) == pytest.approx(2.0)
    assert curl(lambda p: p**2, POINTS[:, :2]) == pytest.approx(np.zeros(6), abs=1e-9)


def test_a_gradient_has_no_curl_and_a_curl_no_divergence():
    np.testing.assert_allclose(curl(lambda p: gradient(scalar, p), POINTS), 0.0, atol=1e-6)
    np.testing.assert_allclose(divergence(lambda p: curl(field, p), POINTS), 0.0, atol=1e-6)


def test_divergence_of_a_gradient_is_the_laplacian():
    def inverse_distance(p):
        return 1 / np.linalg.norm(p)

    far = POINTS + np.array([2.0, 0.0, 0.0])
    np.testing.assert_allclose(divergence(lambda p: gradient(inverse_distance, p), far), 0.0, atol=1e-6)
    assert divergence(lambda p: gradient(lambda q: q @ q, p), [1.0, 2.0]) == pytest.approx(4.0)


def test_bad_input():
    with pytest.raises(ValueError, match="x must be a finite point, or an array of points"):
        gradient(scalar, 3.0)
    with pytest.raises(ValueError, match=r"The field must return a finite number at .* got \[1.0, 2.0\]"):
        gradient(lambda p: [1.0, 2.0], [0.0, 0.0])
    with pytest.raises(ValueError, match="The field must return a vector of finite numbers"):
        jacobian(lambda p: np.array([np.nan]), [0.0])
    with pytest.raises(ValueError, match="v must return as many numbers as x has features, 2; it returns 3"):
        divergence(lambda p: np.zeros(3), [0.0, 0.0])
    with pytest.raises(
        ValueError, match="curl is for 2 or 3 dimensions; x has 4 features, and v returns 4 numbers"
    ):
        curl(lambda p: p, np.zeros(4))
    with pytest.raises(ValueError, match="step must be a finite number above 0; got -1"):
        gradient(scalar, [0.0, 0.0, 0.0], step=-1)
