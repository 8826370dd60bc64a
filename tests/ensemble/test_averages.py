"""Averages, and weights learned from errors."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tercet.ensemble import combination_weights, least_squares_weights, simple_average, weighted_average


def sample(n=80, members=4, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.normal(size=n)
    return y[:, None] + rng.normal(size=(n, members)) * [0.3, 0.5, 1.0, 2.0][:members], y


def test_averages():
    h, _ = sample()
    assert_allclose(simple_average(h), h.mean(axis=1))
    assert_allclose(weighted_average(h, [1, 2, 3, 4]), np.average(h, axis=1, weights=[1, 2, 3, 4]))
    assert_allclose(weighted_average(h[0], [1, 1, 1, 1]), h[0].mean())
    assert simple_average(h.astype(np.float32)).dtype == np.float32


def test_inverse_errors():
    e = np.array([0.5, 0.1, 0.25])
    w = combination_weights(e)
    assert_allclose(w.sum(), 1)
    assert_allclose(w * e, (w * e)[0])
    assert combination_weights([0.0, 0.2, 0.0]).tolist() == [0.5, 0.0, 0.5]
    assert_allclose(combination_weights([1e-320, 1.0]).sum(), 1)


def test_least_squares_weights_are_the_best_of_all():
    h, y = sample()
    w = least_squares_weights(h, y)
    assert_allclose(w.sum(), 1)
    assert w.min() >= 0
    best = np.mean((h @ w - y) ** 2)
    for other in np.random.default_rng(1).dirichlet(np.ones(4), size=500):
        assert np.mean((h @ other - y) ** 2) >= best - 1e-12
    # Kuhn-Tucker: the gradient is least, and the same, where a weight is positive
    gradient = h.T @ (h @ w - y) - y @ (h @ w - y)
    assert_allclose(gradient[w > 1e-9], gradient[w > 1e-9].mean(), atol=1e-9)
    assert (gradient >= gradient[w > 1e-9].mean() - 1e-9).all()


def test_least_squares_weights_take_sample_weight():
    h, y = sample(30)
    times = np.random.default_rng(2).integers(0, 4, size=30)
    assert_allclose(
        least_squares_weights(h, y, times),
        least_squares_weights(np.repeat(h, times, axis=0), np.repeat(y, times)),
        atol=1e-9,
    )
    assert least_squares_weights(np.column_stack([y, y]), y).tolist() == [0.5, 0.5]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: simple_average([[1.0, np.nan]]), "predictions must be finite; got nan"),
        (lambda: simple_average([]), "predictions must have the shape"),
        (lambda: weighted_average([1.0, 2.0], [1.0]), "weights must be 2 finite numbers"),
        (lambda: combination_weights([0.1, -0.1]), "errors must be finite numbers of at least 0"),
        (lambda: least_squares_weights([1.0, 2.0], [1.0]), r"got \(2,\) and \(1,\)"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
