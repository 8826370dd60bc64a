"""Squared error and the posterior (Pattern Recognition 5.4.6)."""

import numpy as np
import pytest
from scipy.stats import norm

from tercet.linear_model import LinearRegression
from tercet.neural_network import MLPRegressor
from tercet.theory import posterior_error


def test_the_parts_are_those_of_class_conditional_densities():
    """5-31, from priors and class-conditional densities, is 5-32."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        prior, conditional = rng.dirichlet([1, 1]), rng.dirichlet(np.ones(6), size=2)
        p = prior @ conditional
        P, f = prior[0] * conditional[0] / p, rng.normal(size=6)
        direct = prior[0] * (f - 1) ** 2 @ conditional[0] + prior[1] * f**2 @ conditional[1]
        error = posterior_error(p, P, f)
        assert error.total == pytest.approx(direct)
        assert error.total == pytest.approx(error.distance + error.noise)
        assert posterior_error(p, P, P).total == pytest.approx(error.noise)
        assert posterior_error(p, P, P).distance == 0


def test_several_classes_are_one_problem_each():
    rng = np.random.default_rng(1)
    p, P, f = rng.dirichlet(np.ones(5)), rng.dirichlet(np.ones(3), size=5), rng.random((5, 3))
    every = posterior_error(p, P, f)
    each = [posterior_error(p, P[:, k], f[:, k]) for k in range(3)]
    for part in ("total", "distance", "noise"):
        assert getattr(every, part) == pytest.approx(sum(getattr(one, part) for one in each))


def draw(n, rng):
    """Rows of two normal classes, and the posterior of the second as a function."""
    y = rng.random(n) < 0.4
    x = rng.normal(np.where(y, 1.0, -1.0), 1.0)

    def posterior(x):
        one, other = 0.4 * norm.pdf(x, 1), 0.6 * norm.pdf(x, -1)
        return one / (one + other)

    return x[:, None], y.astype(float), posterior


def test_least_squares_finds_the_posterior_of_a_table():
    """With an output for each x, the mean of the targets is the least-squares fit: the relative frequency."""
    rng = np.random.default_rng(0)
    x = rng.choice(3, size=20_000, p=[0.2, 0.5, 0.3])
    P = np.array([0.9, 0.4, 0.1])
    d = (rng.random(x.size) < P[x]).astype(float)
    model = LinearRegression(fit_intercept=False).fit(np.eye(3)[x], d)
    np.testing.assert_allclose(model.predict(np.eye(3)), P, atol=0.02)


def test_a_network_trained_by_squared_error_approaches_the_posterior():
    rng = np.random.default_rng(0)
    grid, step = np.linspace(-5, 5, 401, retstep=True)
    distances = []
    for n in (50, 5000):
        X, y, posterior = draw(n, rng)
        network = MLPRegressor(
            hidden_layer_sizes=3, activation="tanh", solver="lbfgs", output="logistic", alpha=0, max_iter=300,
            random_state=0,
        )  # fmt: skip
        outputs = network.fit(X, y).predict(grid[:, None])
        p = (0.4 * norm.pdf(grid, 1) + 0.6 * norm.pdf(grid, -1)) * step
        error = posterior_error(p, posterior(grid), outputs)
        distances.append(error.distance)
        trained = np.mean((network.predict(X) - y) ** 2)
    assert distances[1] < 5e-4 < distances[0]
    assert trained == pytest.approx(error.noise, rel=0.05)  # what is left of the training error


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (([-0.1, 1.1], [0, 1], [0, 1]), "p must be numbers of at least 0"),
        (([0.5, 0.5], [0, 1, 1], [0, 1, 1]), r"posterior must have the shape \(2,\)"),
        (([0.5, 0.5], [0, 1], [0]), "outputs the same"),
        (([0.5, 0.5], [0, 2], [0, 1]), r"posterior must be probabilities in \[0, 1\]; got 0 to 2"),
        (([0.5, 0.5], [0, 1], [0, np.inf]), "outputs must be finite numbers"),
    ],
)
def test_refusals(given, message):
    with pytest.raises(ValueError, match=message):
        posterior_error(*given)
