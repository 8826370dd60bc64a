"""Coordinate ascent on the dual: the optimum of SMO, from any start, and what it cannot do."""

import numpy as np
import pytest

from tercet.kernels import Gaussian
from tercet.svm import SVR, DualProblem, coordinate_ascent, smo
from tercet.svm.coordinate_ascent import ascent_pass


def points(n=40):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    return X, np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)


@pytest.mark.parametrize("C", [0.5, 5.0])
def test_same_solution_as_smo(C):
    X, y = points()
    K = Gaussian(gamma=0.5)(X)
    found, other = coordinate_ascent(K, y, C, tol=1e-7), smo(K, y, C, tol=1e-9)
    assert found.converged
    assert found.objective == pytest.approx(other.objective, rel=1e-6)
    assert found.b == pytest.approx(other.b, abs=1e-4)
    np.testing.assert_allclose(found.alpha, other.alpha, atol=1e-4)
    assert abs(y @ found.alpha) <= 1e-10
    again = coordinate_ascent(
        DualProblem(Gaussian(gamma=0.5), X, y, -np.ones(40), np.full(40, C), found.alpha)
    )
    assert again.n_iter <= found.n_iter


def test_every_step_of_a_pass_raises_the_objective():
    X, y = points()
    K, n = Gaussian(gamma=0.5)(X), 40
    alpha, F, last = np.zeros(n), np.zeros(n), 0.0
    for _ in range(5):
        ascent_pass(K, y, -np.ones(n), np.ones(n), alpha, F, 0.1, 1.0, 0.0)
        np.testing.assert_allclose(F, K @ (alpha * y), atol=1e-12)
        excess = y @ alpha
        value = alpha @ (y * F) / 2 - alpha.sum() + 0.1 * excess + excess**2 / 2
        assert value < last
        last = value


def test_regression():
    X, _ = points()
    t = np.sin(X[:, 0])
    one = SVR(algorithm="coordinate-ascent", tol=1e-6).fit(X, t)
    np.testing.assert_allclose(one.predict(X), SVR(tol=1e-6).fit(X, t).predict(X), atol=1e-4)


def test_bad_input():
    with pytest.raises(ValueError, match="y must be -1 or"):
        coordinate_ascent(np.eye(2), [0, 1], 1.0)
