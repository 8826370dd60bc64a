"""Threshold logic units and networks with given weights."""

import itertools
import pickle

import numpy as np
import pytest
from scipy import sparse

from tercet.io import load_model, save_model
from tercet.neural_network import LayeredPerceptron, ThresholdNetwork, neuron

SQUARE = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
XOR = ThresholdNetwork([[[1, 1], [1, 1]], [1, -1]], [[0.5, 1.5], 0.5])


@pytest.mark.parametrize(
    ("weights", "threshold", "outputs"),
    [((1, 1), 2, [0, 0, 0, 1]), ((1, 1), 0.5, [0, 1, 1, 1]), ((-0.6, 0), -0.5, [1, 1, 0, 0])],
    ids=["and", "or", "not"],
)
def test_logic(weights, threshold, outputs):
    """Watermelon notes, 3.2, with a step that is 1 at 0."""
    np.testing.assert_array_equal(neuron(SQUARE, weights, threshold, at_zero=1), outputs)


@pytest.mark.parametrize(("at_zero", "step", "sign"), [(0, 0, -1), (0.5, 0.5, 0), (1, 1, 1)])
def test_outputs_at_zero(at_zero, step, sign):
    assert neuron([1.0, 2.0], [2.0, -1.0], 0.0, at_zero=at_zero) == step
    assert neuron([1.0, 2.0], [2.0, -1.0], 0.0, "sign", at_zero=at_zero) == sign


def test_activations():
    X, W, theta = SQUARE * 1.5, np.array([[1.0, -2.0], [0.5, 1.0]]), np.array([0.3, -0.4])
    z = X @ W - theta
    expected = {
        "step": z > 0,
        "sign": np.sign(z),
        "logistic": 1 / (1 + np.exp(-z)),
        "tanh": np.tanh(z),
        "relu": z.clip(0),
        "softmax": np.exp(z) / np.exp(z).sum(axis=1, keepdims=True),
        "identity": z,
    }
    for name, outputs in expected.items():
        np.testing.assert_allclose(neuron(X, W, theta, name), outputs, rtol=1e-12)
    np.testing.assert_array_equal(neuron(X, W, theta, np.square), z**2)
    assert neuron(X.astype(np.float32), W.astype(np.float32), theta.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (([1, 2], [1, 2, 3]), "weights must have the shape"),
        (([1, 2], [[[1, 2]]]), "weights must have the shape"),
        (([1, 2], [1, 2], [1, 2]), "threshold must be a number, or one for each neuron"),
        (([1, 2], [1, 2], 0, "sigmoid"), "activation must be one of 'step'.*got 'sigmoid'"),
    ],
)
def test_a_neuron_refuses(given, message):
    with pytest.raises(ValueError, match=message):
        neuron(*given)
    with pytest.raises(ValueError, match=r"at_zero must be a number in \[0, 1\]; got 2"):
        neuron([1, 2], [1, 2], at_zero=2)


def test_two_layers_compute_xor():
    hidden, outputs = XOR.layer_outputs(SQUARE)
    np.testing.assert_array_equal(hidden, [[0, 0], [1, 0], [1, 0], [1, 1]])
    np.testing.assert_array_equal(outputs[:, 0], [0, 1, 1, 0])
    np.testing.assert_array_equal(XOR.predict(sparse.csr_array(SQUARE)), [0, 1, 1, 0])


def test_signs_compute_xor_too():
    network = ThresholdNetwork([[[1, 1], [1, 1]], [1, -1]], [[-1, 1], 1], output="sign")
    np.testing.assert_array_equal(network.predict(2 * SQUARE - 1), [-1, 1, 1, -1])


def test_two_layers_compute_every_function_of_three_bits():
    """A unit for each row that is 1, and an OR of them."""
    corners = np.array(list(itertools.product((0, 1), repeat=3)))
    for code in range(1, 256):
        y = code >> np.arange(8) & 1
        ones = corners[y == 1]
        network = ThresholdNetwork([(2 * ones - 1).T, np.ones(len(ones))], [ones.sum(axis=1) - 0.5, 0.5])
        np.testing.assert_array_equal(network.predict(corners), y)


def test_a_network_is_the_same_after_pickling():
    again = pickle.loads(pickle.dumps(XOR))
    assert again == XOR
    assert again != ThresholdNetwork(XOR.weights, XOR.thresholds, output="sign")
    assert again != "a network"
    assert repr(again) == "ThresholdNetwork(2-2-1, output='binary', at_zero=0)"
    assert b"tercet.neural_network.threshold" not in pickle.dumps(XOR)


def test_a_network_from_a_file_is_checked(tmp_path):
    network = ThresholdNetwork([[[1, 1], [1, 1]]], [[0.5, 1.5]])
    model = LayeredPerceptron(network, shuffle=False).fit(SQUARE, [0, 1, 1, 0])
    save_model(tmp_path / "model.skops", model, {})
    again, _ = load_model(tmp_path / "model.skops")
    assert again.hidden == network
    assert again.predict(SQUARE).tolist() == [0, 1, 1, 0]
    network.thresholds = [np.zeros(3)]
    with pytest.raises(ValueError, match=r"thresholds\[0\] one number for each unit"):
        pickle.loads(pickle.dumps(network))


def test_several_outputs():
    network = ThresholdNetwork([np.eye(2)], [[0.5, 0.5]])
    np.testing.assert_array_equal(network.predict(SQUARE), SQUARE)


@pytest.mark.parametrize(
    ("weights", "thresholds"),
    [
        ([], []),
        ([[1, 1]], []),
        ([[[1, 1], [1, 1]], [1, 1, 1]], [[0, 0], 0]),
        ([[1, 1]], [[0, 0]]),
        ([[1, np.nan]], [0]),
        ([[[[1]]]], [0]),
        (3, [0]),
    ],
)
def test_a_network_refuses_layers_that_do_not_fit(weights, thresholds):
    with pytest.raises(ValueError, match="ThresholdNetwork: weights"):
        ThresholdNetwork(weights, thresholds)


def test_a_network_refuses_wrong_options_and_inputs():
    with pytest.raises(ValueError, match="output must be 'binary' or 'sign'; got 'step'"):
        ThresholdNetwork([[1]], [0], output="step")
    with pytest.raises(ValueError, match="at_zero must be a number"):
        ThresholdNetwork([[1]], [0], at_zero=-1)
    with pytest.raises(ValueError, match="X has 3 columns; ThresholdNetwork has 2 inputs"):
        XOR.predict([[1, 2, 3]])
