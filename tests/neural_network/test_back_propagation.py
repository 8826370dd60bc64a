"""Back-propagation in plain form: gradients against finite differences, sums over rows, errors."""

from itertools import pairwise

import numpy as np
import pytest

from tercet.neural_network import (
    activate,
    activation_slope,
    back_propagate,
    forward_pass,
    gradient_check,
    parameter_count,
    regularised_error,
)

COMBINATIONS = [
    ("squared_error", "identity"), ("squared_error", "logistic"), ("squared_error", "tanh"),
    ("squared_error", "softmax"), ("squared_error", "relu"), ("log_loss", "logistic"), ("log_loss", "softmax"),
    ("poisson", "exp"),
]  # fmt: skip


def network(seed, *sizes):
    rng = np.random.default_rng(seed)
    coefs = [rng.normal(size=shape) for shape in pairwise(sizes)]
    return coefs, [rng.normal(size=size) for size in sizes[1:]]


@pytest.mark.parametrize("activation", ["identity", "logistic", "tanh", "relu"])
@pytest.mark.parametrize(("loss", "output"), COMBINATIONS)
@pytest.mark.parametrize("error_weight", [None, 0.8])
def test_gradients_agree_with_finite_differences(activation, loss, output, error_weight):
    rng = np.random.default_rng(0)
    X, net = rng.normal(size=(6, 3)), network(1, 3, 4, 3, 2)
    y = rng.random((6, 2))
    options = {"activation": activation, "output": output, "loss": loss, "error_weight": error_weight}
    if loss == "log_loss" and output == "softmax":
        y = y / y.sum(axis=1, keepdims=True)
    assert gradient_check(X, y, *net, **options) < 1e-7


def test_the_gradient_by_the_inputs():
    net, x, y = network(0, 3, 4, 2), np.array([0.3, -0.2, 0.5]), np.array([0.2, 0.9])
    found = back_propagate(x, y, *net)
    for j in range(3):
        step = np.eye(3)[j] * 1e-6
        ends = [back_propagate(x + side * step, y, *net).error for side in (1, -1)]
        assert (ends[0] - ends[1]) / 2e-6 == pytest.approx(found.input_grad[j], abs=1e-9)


def test_several_rows_are_the_mean_of_single_ones():
    rng = np.random.default_rng(0)
    X, y, net = rng.normal(size=(5, 3)), rng.random((5, 2)), network(0, 3, 4, 2)
    whole, rows = back_propagate(X, y, *net), [back_propagate(a, b, *net) for a, b in zip(X, y)]
    assert whole.error == pytest.approx(np.mean([row.error for row in rows]))
    for k in range(2):
        np.testing.assert_allclose(whole.coef_grads[k], np.mean([row.coef_grads[k] for row in rows], axis=0))


def test_the_slope_of_relu_at_zero_is_zero():
    assert activation_slope(activate([0.0, 1.0, -1.0], "relu"), "relu").tolist() == [0.0, 1.0, 0.0]


def test_a_small_error_keeps_its_digits():
    assert regularised_error(2e-18, [[[1e-9]]], error_weight=0.5) == pytest.approx(1.5e-18, rel=1e-12)


def test_layers_without_biases_and_counts():
    layers = forward_pass([1.0, 2.0], [np.ones((2, 3))], output="identity")
    assert layers[1].tolist() == [3.0, 3.0, 3.0]
    assert parameter_count([4, 3, 2]) == (4 + 2 + 1) * 3 + 2


def test_wrong_arguments_are_named():
    net = network(0, 2, 3, 1)
    with pytest.raises(ValueError, match="shape of the outputs"):
        back_propagate([1.0, 2.0], [1.0, 0.0], *net)
    with pytest.raises(ValueError, match="does not go with"):
        back_propagate([1.0, 2.0], [1.0], *net, output="identity", loss="log_loss")
    with pytest.raises(ValueError, match="kind must be one of"):
        activate([1.0], "step")
    with pytest.raises(ValueError, match="error_weight"):
        back_propagate([1.0, 2.0], [1.0], *net, error_weight=2)
    for sizes in ([2, 0, 2], [3, -1, 2], [2, 2.5, 1]):
        with pytest.raises(ValueError, match="sizes must be whole numbers of at least 1"):
            parameter_count(sizes)


@pytest.mark.parametrize(
    ("target", "output", "loss", "says"),
    [
        (
            2.0,
            "logistic",
            "log_loss",
            r"y must be in \[0, 1\], the range of logistic outputs; it holds",
        ),
        (-0.1, "softmax", "log_loss", r"\[0, 1\], the range of softmax outputs"),
        (
            2.0,
            "logistic",
            "squared_error",
            r"from 2 to 2\. Scale the targets, or use output='identity'\.",
        ),
        (-2.0, "tanh", "squared_error", r"\[-1, 1\], the range of tanh outputs"),
        (-2.0, "exp", "poisson", r"\[0, inf\], .* or use output='identity' and loss='squared_error'\."),
    ],
)
def test_targets_that_the_outputs_cannot_reach(target, output, loss, says):
    with pytest.raises(ValueError, match=says):
        back_propagate([1.0], [target], [[[0.5]]], output=output, loss=loss)
    assert back_propagate([1.0], [target], [[[0.5]]], output="identity").error > 0
