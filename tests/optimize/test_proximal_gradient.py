"""Proximal gradient descent."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tercet.core.steps import ConvergenceWarning
from tercet.optimize import METHODS, Quadratic, minimize, proximal_gradient
from tercet.penalties import L0, L1, L2, ElasticNet, Lq

# X'X / 4 = I and the least squares solution is (3, -0.4, 1)
X = np.array([[1.0, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])
Y = np.array([3.6, 2.4, -4.4, -1.6])


class MeanSquares:
    def value(self, w):
        return float(np.mean((Y - X @ w) ** 2))

    def gradient(self, w):
        return 2 * X.T @ (X @ w - Y) / 4

    def value_and_gradient(self, w):
        return self.value(w), self.gradient(w)


@pytest.mark.parametrize("method", ["ista", "fista"])
@pytest.mark.parametrize(
    ("penalty", "expected", "objective"),
    [
        (L2(0.6), [1.875, -0.25, 0.625], 3.81),
        (L1(0.6), [2.7, -0.1, 0.7], 2.37),
        (L0(0.6), [3, 0, 1], 1.36),
        (ElasticNet(0.6, l1_ratio=0.5), [2.19230769, -0.19230769, 0.65384615], None),
        (Lq(0.6, q=0.5), [2.9121, 0, 0.83594], None),
    ],
    ids=["l2", "l1", "l0", "elastic net", "lq"],
)
def test_regularisers_on_an_orthogonal_design(method, penalty, expected, objective):
    """Pattern Recognition eq. 5-108 to 5-112, each with its mean of squares and lambda = 0.6."""
    result = minimize(MeanSquares(), np.zeros(3), method=method, penalty=penalty, lipschitz=2.0)
    np.testing.assert_allclose(result.x, expected, atol=1e-5)
    if objective is not None:
        assert result.fun == pytest.approx(objective)


def problem(seed, n=5):
    rng = np.random.default_rng(seed)
    B = rng.normal(size=(n + 2, n))
    return Quadratic(B.T @ B + 0.1 * np.eye(n), rng.normal(size=n))


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 1000), strength=st.floats(0.01, 1.0), accelerate=st.booleans())
def test_optimality(seed, strength, accelerate):
    f = problem(seed)
    result = proximal_gradient(
        f, np.zeros(5), penalty=L1(strength), accelerate=accelerate, tol=1e-9, max_iter=100_000
    )
    g = f.gradient(result.x)
    assert result.success
    np.testing.assert_allclose(g[result.x != 0], -strength * np.sign(result.x[result.x != 0]), atol=1e-6)
    assert np.abs(g).max() <= strength + 1e-6


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 1000),
    lipschitz=st.booleans(),
    options=st.sampled_from(
        [{"accelerate": False}, {"monotone": True}, {"monotone": True, "restart": False}]
    ),
)
def test_value_never_rises(seed, lipschitz, options):
    f = problem(seed)
    L = np.linalg.eigvalsh(f.A)[-1] if lipschitz else None
    result = proximal_gradient(
        f, np.ones(5), penalty=L1(0.3), lipschitz=L, tol=1e-8, max_iter=20_000, **options
    )
    values = np.array(result.history["fun"])
    assert np.all(np.diff(values) <= 1e-12 * (1 + np.abs(values[:-1])))
    assert result.success


def test_without_penalty_it_is_gradient_descent():
    f = problem(0)
    L = np.linalg.eigvalsh(f.A)[-1]
    result = minimize(f, np.ones(5), method="ista", lipschitz=L, max_iter=100_000, keep=True)
    np.testing.assert_allclose(result.trajectory[1], np.ones(5) - f.gradient(np.ones(5)) / L)
    np.testing.assert_allclose(result.x, np.linalg.solve(f.A, f.b), atol=1e-5)


def test_momentum_needs_fewer_passes():
    f = Quadratic(np.diag([1.0, 1000.0]), [1.0, 1.0])
    passes = {
        name: minimize(f, [1.0, 1.0], method=name, penalty=L1(0.1), tol=1e-6, max_iter=50_000).nit
        for name in ("ista", "fista")
    }
    assert passes["fista"] < passes["ista"] / 5


def test_backtracking_finds_a_lipschitz_constant():
    result = proximal_gradient(Quadratic(np.diag([1.0, 100.0])), [1.0, 1.0], penalty=L1(0.1), max_iter=5000)
    assert 50 <= result.lipschitz <= 200


def test_limits():
    assert {"ista", "fista"} <= METHODS.keys()
    with pytest.raises(ValueError, match=r"lipschitz must be a number in .* got -1"):
        proximal_gradient(problem(0), np.zeros(5), lipschitz=-1)
    with pytest.warns(ConvergenceWarning, match="did not converge in 2 passes"):
        assert not proximal_gradient(problem(0), np.ones(5), penalty=L1(0.1), max_iter=2).success
