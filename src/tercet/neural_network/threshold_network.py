"""Threshold logic units (阈值逻辑单元) and networks of them, with given weights."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.functions import as_float, sigmoid, softmax, unit_step
from tercet.core.public_names import PublicPickle
from tercet.core.row_products import row_scores
from tercet.core.validation import check_array

Output = Literal["binary", "sign"]
SMOOTH: dict[str, Callable[[Any], np.ndarray]] = {
    "logistic": sigmoid,
    "tanh": np.tanh,
    "relu": lambda z: np.maximum(z, 0),
    "softmax": softmax,
    "identity": as_float,
}


@method(
    zh="M-P 神经元模型, 阈值逻辑单元",
    task="function",
    model="y = f(Σ w_i x_i - θ)",
    texts=[
        "watermelon notes ch. 3, eq. 3.1",
        "Pattern Recognition ch. 5, eq. 5-14",
        "Studies ML ch. 5, sec. 5.1",
    ],
)
def neuron(
    X: Any, weights: Any, threshold: Any = 0.0, activation: Any = "step", *, at_zero: float = 0.0
) -> np.ndarray:
    """McCulloch-Pitts neuron: an activation of the weighted sum of the inputs less a threshold, f(w·x - θ).

    With a step it is the threshold logic unit: it fires where the weighted sum exceeds the threshold.

    Parameters
    ----------
    X : array of shape (n_inputs,) or (n_samples, n_inputs)
        The inputs.
    weights : array of shape (n_inputs,) or (n_inputs, n_neurons)
        w; a column for each of several neurons.
    threshold : float or array of shape (n_neurons,), default=0.0
        θ. The bias of a network is -θ.
    activation : {"step", "sign", "logistic", "tanh", "relu", "softmax", "identity"} or callable, default="step"
        f. "step" gives 0 or 1, "sign" -1 or 1; "softmax" is taken over the neurons.
    at_zero : float, default=0.0
        What "step" gives at 0: the texts use 0, 1/2 and 1. For "sign" these mean -1, 0 and 1.

    Returns
    -------
    y : float or array of shape (n_samples,), (n_neurons,) or (n_samples, n_neurons)

    Examples
    --------
    >>> X = [[0, 0], [0, 1], [1, 0], [1, 1]]

    AND, and NOT of the first input, with a step that is 1 at 0:

    >>> neuron(X, [1, 1], 2, at_zero=1)
    array([0., 0., 0., 1.])
    >>> neuron(X, [-0.6, 0], -0.5, at_zero=1)
    array([1., 1., 0., 0.])
    """
    X, w = as_float(X), as_float(weights)
    if w.ndim not in (1, 2) or X.ndim not in (1, 2) or X.shape[-1] != w.shape[0]:
        raise ValueError(
            "weights must have the shape (n_inputs,) or (n_inputs, n_neurons) with as many inputs as X; "
            f"got {w.shape} and X of {X.shape}."
        )
    theta = as_float(threshold)
    if theta.shape not in ((), w.shape[1:]):
        raise ValueError(f"threshold must be a number, or one for each neuron; got the shape {theta.shape}.")
    z = X @ w - theta
    if callable(activation):
        return activation(z)
    if activation in ("step", "sign"):
        return fire(z, "binary" if activation == "step" else "sign", at_zero)
    if activation not in SMOOTH:
        names = ", ".join(map(repr, ["step", "sign", *SMOOTH]))
        raise ValueError(f"activation must be one of {names} or a function; got {activation!r}.")
    return SMOOTH[activation](z)


def fire(z: np.ndarray, output: str, at_zero: float) -> np.ndarray:
    """Outputs of threshold units whose weighted sums exceed their thresholds by z."""
    if not 0 <= at_zero <= 1:
        raise ValueError(f"at_zero must be a number in [0, 1]; got {at_zero!r}.")
    y = unit_step(z, at_zero)
    return y if output == "binary" else 2 * y - 1


def layer_outputs(
    X: Any, weights: Sequence[np.ndarray], thresholds: Sequence[np.ndarray], output: str, at_zero: float
) -> list[np.ndarray]:
    """Outputs of every layer: each layer reads those of the layer before."""
    outputs: list[Any] = [X]
    for W, theta in zip(weights, thresholds):
        outputs.append(fire(row_scores(outputs[-1], W.T, -theta), output, at_zero))
    return outputs[1:]


def check_layers(owner: str, weights: Any, thresholds: Any) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Weights (n_inputs, n_units) and thresholds (n_units,) of each layer as arrays that fit together."""
    lengths = [
        len(part) if isinstance(part, list | tuple | np.ndarray) else 0 for part in (weights, thresholds)
    ]
    if not lengths[0] or lengths[0] != lengths[1]:
        raise ValueError(
            f"{owner}: weights and thresholds must be lists with one entry for each layer; "
            f"got {weights!r} and {thresholds!r}."
        )
    matrices: list[np.ndarray] = []
    vectors: list[np.ndarray] = []
    for k, (given, theta) in enumerate(zip(weights, thresholds)):
        W = as_float(given)
        W = W[:, None] if W.ndim == 1 else W
        t = np.atleast_1d(as_float(theta))
        before = matrices[-1].shape[1] if k else None
        fits = W.ndim == 2 and W.size and before in (None, W.shape[0]) and t.shape == W.shape[1:]
        if not fits or not (np.isfinite(W).all() and np.isfinite(t).all()):
            inputs = "n_inputs" if before is None else before
            raise ValueError(
                f"{owner}: weights[{k}] must be finite numbers of the shape ({inputs}, n_units) or ({inputs},), "
                f"and thresholds[{k}] one number for each unit; got {given!r} and {theta!r}."
            )
        matrices.append(W)
        vectors.append(t)
    return matrices, vectors


@method(
    zh="多层阈值单元网络",
    task="classification",
    model="y = θ(Σ_j v_j θ(Σ_i w_ij x_i + w_0j) + v_0)",
    algorithms="none: the weights are given",
    texts=["Pattern Recognition ch. 5, eq. 5-16", "watermelon notes ch. 3, eq. 3.1"],
)
class ThresholdNetwork(PublicPickle):
    """Layers of threshold logic units with given weights; each layer reads the outputs of the layer before.

    One layer cuts the plane by a line; two layers give any convex region and XOR, three any union of such regions.

    Parameters
    ----------
    weights : list of arrays of shape (n_inputs, n_units)
        A matrix for each layer; a vector is the weights of a single unit.
    thresholds : list of arrays of shape (n_units,)
        The thresholds θ of each layer: a unit fires where w·x > θ.
    output : {"binary", "sign"}, default="binary"
        Whether the outputs of a unit are 0 and 1 or -1 and 1.
    at_zero : float, default=0.0
        The output at w·x = θ between off (0) and on (1): the texts use 0, 1/2 and 1.

    Attributes
    ----------
    weights, thresholds : lists of arrays
        As above, as arrays.

    Examples
    --------
    >>> X = [[0, 0], [0, 1], [1, 0], [1, 1]]

    XOR: one unit is on for (0, 1), (1, 0) and (1, 1), the other for (1, 1), and the last takes their difference.

    >>> network = ThresholdNetwork([[[1, 1], [1, 1]], [1, -1]], [[0.5, 1.5], 0.5])
    >>> network.predict(X)
    array([0., 1., 1., 0.])
    >>> network.layer_outputs(X)[0].tolist()
    [[0.0, 0.0], [1.0, 0.0], [1.0, 0.0], [1.0, 1.0]]
    """

    def __init__(
        self, weights: Any, thresholds: Any, *, output: Output = "binary", at_zero: float = 0.0
    ) -> None:
        if output not in ("binary", "sign"):
            raise ValueError(f"ThresholdNetwork: output must be 'binary' or 'sign'; got {output!r}.")
        if not 0 <= at_zero <= 1:
            raise ValueError(f"ThresholdNetwork: at_zero must be a number in [0, 1]; got {at_zero!r}.")
        self.weights, self.thresholds = check_layers("ThresholdNetwork", weights, thresholds)
        self.output, self.at_zero = output, at_zero

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Check a network from a file as a given one: layers that do not fit are an error."""
        self.__init__(**state)  # type: ignore[misc]

    def layer_outputs(self, X: Any) -> list[np.ndarray]:
        """The outputs of every layer.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_inputs)
            The inputs.

        Returns
        -------
        outputs : list of arrays of shape (n_samples, n_units)
        """
        X = check_array(X, accept_sparse="csr", dtype=(np.float64, np.float32))
        if X.shape[1] != self.weights[0].shape[0]:
            raise ValueError(
                f"X has {X.shape[1]} columns; ThresholdNetwork has {self.weights[0].shape[0]} inputs."
            )
        return layer_outputs(X, self.weights, self.thresholds, self.output, self.at_zero)

    def predict(self, X: Any) -> np.ndarray:
        """The outputs of the last layer.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_inputs)
            The inputs.

        Returns
        -------
        y : array of shape (n_samples,), or (n_samples, n_units) where the last layer has several units
        """
        last = self.layer_outputs(X)[-1]
        return last[:, 0] if last.shape[1] == 1 else last

    def __repr__(self) -> str:
        sizes = [self.weights[0].shape[0], *(W.shape[1] for W in self.weights)]
        return (
            f"ThresholdNetwork({'-'.join(map(str, sizes))}, output={self.output!r}, at_zero={self.at_zero:g})"
        )

    def __eq__(self, other: object) -> bool:
        """Whether the other network has the same weights, thresholds and outputs."""
        if not isinstance(other, ThresholdNetwork):
            return NotImplemented
        mine, its = ([*network.weights, *network.thresholds] for network in (self, other))
        return (self.output, self.at_zero) == (other.output, other.at_zero) and all(
            a is not None and b is not None and np.array_equal(a, b)
            for a, b in itertools.zip_longest(mine, its)
        )

    __hash__ = None  # type: ignore[assignment]
