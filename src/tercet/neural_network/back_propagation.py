"""Back-propagation in plain form (误差逆传播): the outputs, errors and gradients of every layer.

These functions are the oracle of the fast path of `MLPClassifier` and `MLPRegressor`. A unit computes
f(w·x + b); the threshold of the texts is theta = -b.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from scipy.special import expit, logsumexp, xlogy

from tercet.core.catalog import method

Unit = Literal["identity", "logistic", "tanh", "relu", "softmax", "exp"]
Loss = Literal["squared_error", "log_loss", "poisson"]
UNITS = ("identity", "logistic", "tanh", "relu", "softmax", "exp")
OUTPUT_RANGES = {"logistic": (0.0, 1.0), "softmax": (0.0, 1.0), "tanh": (-1.0, 1.0), "exp": (0.0, np.inf)}


def activate(z: Any, kind: Unit = "logistic") -> np.ndarray:
    """Outputs f(z) of units with net inputs z.

    Parameters
    ----------
    z : array
        Net inputs; softmax is taken along the last axis.
    kind : {"identity", "logistic", "tanh", "relu", "softmax", "exp"}, default="logistic"
        The activation function.

    Returns
    -------
    a : array of the same shape

    Examples
    --------
    >>> activate([0.0, 0.7], "tanh").round(8)
    array([0.        , 0.60436778])
    """
    z = np.asarray(z, dtype=np.float64)
    if kind == "logistic":
        return expit(z)
    if kind == "tanh":
        return np.tanh(z)
    if kind == "relu":
        return np.maximum(z, 0.0)
    if kind == "softmax":
        return np.exp(z - logsumexp(z, axis=-1, keepdims=True))
    if kind == "exp":
        return np.exp(z)
    if kind != "identity":
        raise ValueError(f"kind must be one of {', '.join(map(repr, UNITS))}; got {kind!r}.")
    return z


def activation_slope(a: Any, kind: Unit = "logistic") -> np.ndarray:
    """Derivative f'(z) of an activation, from the outputs a = f(z).

    The logistic function has f' = f (1 - f); relu has the derivative 0 at 0.

    Parameters
    ----------
    a : array
        Outputs.
    kind : {"identity", "logistic", "tanh", "relu", "exp"}, default="logistic"
        The activation function; softmax has a matrix of derivatives, and is not among them.

    Returns
    -------
    slope : array of the same shape

    Examples
    --------
    >>> activation_slope([0.5, 0.9])
    array([0.25, 0.09])
    """
    a = np.asarray(a, dtype=np.float64)
    if kind == "logistic":
        return a * (1.0 - a)
    if kind == "tanh":
        return 1.0 - a**2
    if kind == "relu":
        return (a > 0).astype(float)
    if kind == "exp":
        return a
    if kind != "identity":
        raise ValueError(f"kind must be one of 'identity', 'logistic', 'tanh', 'relu', 'exp'; got {kind!r}.")
    return np.ones_like(a)


def forward_pass(
    X: Any, coefs: Any, intercepts: Any = None, *, activation: Unit = "logistic", output: Unit = "logistic"
) -> list[np.ndarray]:
    """Outputs of every layer: a_0 = x, a_l = f(a_{l-1} W_l + b_l).

    Parameters
    ----------
    X : array of shape (n_features,) or (n_samples, n_features)
        One row or several.
    coefs : list of arrays of shape (n_in, n_out)
        Weights of the layers; entry (i, j) leads from unit i to unit j.
    intercepts : list of arrays of shape (n_out,), optional
        Biases, the thresholds with the opposite sign; by default none.
    activation, output : str, default="logistic"
        Activation of the hidden units, and of the last layer.

    Returns
    -------
    layers : list of arrays
        X first, the outputs of the network last.

    Examples
    --------
    >>> xor = [[[1, 1], [1, 1]], [[1], [-1]]], [[-0.5, -1.5], [-0.5]]
    >>> layers = forward_pass([[0, 0], [0, 1], [1, 1]], *xor, activation="relu", output="identity")
    >>> layers[1].tolist()
    [[0.0, 0.0], [0.5, 0.0], [1.5, 0.5]]
    """
    layers = [np.asarray(X, dtype=np.float64)]
    for k, W in enumerate(coefs):
        z = layers[-1] @ np.asarray(W, dtype=np.float64)
        if intercepts is not None:
            z = z + np.asarray(intercepts[k], dtype=np.float64)
        layers.append(activate(z, output if k == len(coefs) - 1 else activation))
    return layers


@dataclass(frozen=True)
class BackPropagation:
    """Result of `back_propagate`: what a forward and a backward pass found.

    Attributes
    ----------
    layers : list of arrays
        Outputs of every layer, the rows first.
    error : float
        The objective: E_k for one row, the mean of the E_k for several.
    deltas : list of arrays
        dE_k/dz of the net inputs of every layer behind the first. The g and e of the texts are -delta.
    coef_grads, intercept_grads : lists of arrays
        Gradients of the objective by weights and biases; those by thresholds have the opposite sign.
    input_grad : array of the shape of X
        dE_k/dx.

    Examples
    --------
    >>> found = back_propagate([1.0], [1.0], [[[0.0]]])
    >>> found.layers[-1], found.error, found.deltas[-1]
    (array([0.5]), 0.125, array([-0.125]))
    """

    layers: list[np.ndarray]
    error: float
    deltas: list[np.ndarray]
    coef_grads: list[np.ndarray]
    intercept_grads: list[np.ndarray]
    input_grad: np.ndarray


@method(
    zh="误差逆传播",
    task="optimisation",
    model="the gradient of the error of a network by all its weights",
    strategy="E = mean of E_k, such as E_k = 1/2 Σ_j (yhat_j - y_j)²",
    algorithms="forward pass, deltas of the outputs, deltas of the layers below by the chain rule",
    texts=[
        "watermelon notes ch. 3, eq. 3.3-3.11",
        "Pattern Recognition ch. 5, eq. 5-24 to 5-29",
        "Studies ML ch. 5, eq. 5.3-5.15",
    ],
    peers=["torch.autograd"],
)
def back_propagate(
    X: Any,
    y: Any,
    coefs: Any,
    intercepts: Any = None,
    *,
    activation: Unit = "logistic",
    output: Unit = "logistic",
    loss: Loss = "squared_error",
    error_weight: float | None = None,
) -> BackPropagation:
    """Back-propagation: the gradient of the error by all weights, in one pass forward and one backward.

    delta_L = dE_k/dz_L at the outputs; delta_l = (delta_{l+1} W_{l+1}') f'(z_l) below; dE_k/dW_l = a_{l-1}'
    delta_l, dE_k/db_l = delta_l and dE_k/dx = delta_1 W_1'. With cross-entropy and softmax or logistic
    outputs, delta_L is output minus target.

    Parameters
    ----------
    X : array of shape (n_features,) or (n_samples, n_features)
        One row or several.
    y : array of shape (n_outputs,) or (n_samples, n_outputs)
        Targets in the range of the outputs; for classes, 0 and 1.
    coefs, intercepts : lists of arrays
        Weights and biases of the layers, as in `forward_pass`.
    activation, output : str, default="logistic"
        Activation of the hidden units, and of the last layer.
    loss : {"squared_error", "log_loss", "poisson"}, default="squared_error"
        E_k: half the squared error, cross-entropy (logistic or softmax outputs), or half the Poisson deviance.
    error_weight : float, optional
        The lambda of the objective lambda mean E_k + (1 - lambda) Σ w² over weights and thresholds.

    Returns
    -------
    found : BackPropagation

    Examples
    --------
    >>> V, gamma, W, theta = [[0.1, 0.4], [0.2, 0.3]], [0.5, 0.1], [[0.3, 0.2], [0.6, 0.5]], [0.2, 0.4]
    >>> found = back_propagate([1, 0], [1, 0], [V, W], [-np.array(gamma), -np.array(theta)])
    >>> found.layers[-1].round(4), round(found.error, 4)
    (array([0.5659, 0.4919]), 0.2152)
    >>> -found.deltas[-1].round(4)  # g_j
    array([ 0.1066, -0.1229])
    """
    weights = [np.asarray(W, dtype=np.float64) for W in coefs]
    biases = None if intercepts is None else [np.asarray(b, dtype=np.float64) for b in intercepts]
    layers = forward_pass(X, weights, biases, activation=activation, output=output)
    y = np.asarray(y, dtype=np.float64)
    if y.shape != layers[-1].shape:
        raise ValueError(f"y must have the shape of the outputs, {layers[-1].shape}; got {y.shape}.")
    error, delta = output_delta(layers[-1], y, output, loss)
    deltas = [delta]
    for k in range(len(weights) - 1, 0, -1):
        delta = (delta @ weights[k].T) * activation_slope(layers[k], activation)
        deltas.insert(0, delta)
    rows = [np.atleast_2d(a) for a in layers]
    m = len(rows[0])
    coef_grads = [a.T @ np.atleast_2d(d) / m for a, d in zip(rows, deltas)]
    intercept_grads = [np.atleast_2d(d).mean(axis=0) for d in deltas]
    if error_weight is not None:
        error = regularised_error(error, weights, biases, error_weight)
        shrink = 2.0 * (1.0 - error_weight)
        coef_grads = [error_weight * g + shrink * w for g, w in zip(coef_grads, weights)]
        held = [np.zeros_like(g) for g in intercept_grads] if biases is None else biases
        intercept_grads = [error_weight * g + shrink * b for g, b in zip(intercept_grads, held)]
    return BackPropagation(layers, error, deltas, coef_grads, intercept_grads, deltas[0] @ weights[0].T)


def output_delta(a: np.ndarray, y: np.ndarray, output: str, loss: str) -> tuple[float, np.ndarray]:
    """The mean error of outputs a, and the derivative of each E_k by the net inputs of the last layer."""
    other = "output='identity'" + (" and loss='squared_error'" if loss != "squared_error" else "")
    check_target_range(y, output, f"Scale the targets, or use {other}.")
    if loss == "squared_error":
        slope = a - y
        error = 0.5 * np.sum(slope**2, axis=-1)
        if output == "softmax":
            delta = a * (slope - np.sum(a * slope, axis=-1, keepdims=True))
        else:
            delta = slope * activation_slope(a, output)  # type: ignore[arg-type]
    elif loss == "log_loss" and output in ("softmax", "logistic"):
        error = -np.sum(xlogy(y, a), axis=-1)
        if output == "logistic":
            error = error - np.sum(xlogy(1.0 - y, 1.0 - a), axis=-1)
        delta = a - y
    elif loss == "poisson" and output == "exp":
        error, delta = np.sum(xlogy(y, y / a) - y + a, axis=-1), a - y
    else:
        raise ValueError(
            f"loss={loss!r} does not go with output={output!r}: log_loss is for logistic and softmax outputs, "
            "poisson for exp, squared_error for all."
        )
    return float(np.mean(error)), delta


def check_target_range(y: np.ndarray, output: str, change: str, who: str = "") -> None:
    """Refuse targets that the outputs cannot reach; `change` ends the message."""
    low, high = OUTPUT_RANGES.get(output, (-np.inf, np.inf))
    if y.size and (y.min() < low or y.max() > high):
        raise ValueError(
            f"{who}y must be in [{low:g}, {high:g}], the range of {output} outputs; it holds numbers from "
            f"{y.min():g} to {y.max():g}. {change}"
        )


def regularised_error(error: float, coefs: Any, intercepts: Any = None, error_weight: float = 0.5) -> float:
    """Error with a penalty on complexity: lambda E + (1 - lambda) Σ w² over all weights and thresholds.

    Parameters
    ----------
    error : float
        E, the mean error over the rows.
    coefs, intercepts : lists of arrays
        Weights and biases.
    error_weight : float, default=0.5
        lambda, in [0, 1].

    Returns
    -------
    objective : float

    Examples
    --------
    >>> round(regularised_error(1.0, [[[1.0], [2.0]]], [[3.0]], 0.9), 12)
    2.3
    """
    if not 0 <= error_weight <= 1:
        raise ValueError(f"error_weight must be in [0, 1]; got {error_weight!r}.")
    squares = sum(float(np.sum(np.square(w))) for w in (*coefs, *(intercepts or ())))
    return float(error_weight * error + (1.0 - error_weight) * squares)


def momentum_step(
    weights: Any, gradients: Any, changes: Any = None, *, eta: float = 0.1, momentum: float = 0.0
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """A step of gradient descent with momentum: dw ← momentum dw - eta dE/dw, w ← w + dw.

    Equation 5-29 prints +eta delta x, which would go up the gradient.

    Parameters
    ----------
    weights, gradients : lists of arrays
        Weights (or biases) of the layers, and the gradients by them.
    changes : list of arrays, optional
        The changes dw of the step before; by default none.
    eta : float, default=0.1
        The step size.
    momentum : float, default=0.0
        The part of the change before that is added.

    Returns
    -------
    weights, changes : lists of arrays

    Examples
    --------
    >>> weights, changes = momentum_step([[1.0]], [[2.0]], eta=0.1)
    >>> momentum_step(weights, [[2.0]], changes, eta=0.1, momentum=0.5)[0]
    [array([0.5])]
    """
    steps = [-eta * np.asarray(g, dtype=np.float64) for g in gradients]
    if changes is not None:
        steps = [momentum * np.asarray(before) + step for before, step in zip(changes, steps)]
    return [np.asarray(w, dtype=np.float64) + step for w, step in zip(weights, steps)], steps


def gradient_check(
    X: Any, y: Any, coefs: Any, intercepts: Any = None, *, spacing: float = 1e-6, **options: Any
) -> float:
    """Largest difference between the gradient of back-propagation and central differences of the error.

    Parameters
    ----------
    X, y, coefs, intercepts
        As in `back_propagate`.
    spacing : float, default=1e-6
        Half the distance of the two points of a difference.
    **options
        Further options of `back_propagate`.

    Returns
    -------
    difference : float

    Examples
    --------
    >>> gradient_check([[0.05, 0.1]], [[0.01]], [[[0.2, 0.3], [0.1, -0.4]], [[0.5], [0.6]]]) < 1e-9
    True
    """
    weights = [np.array(W, dtype=np.float64) for W in coefs]
    biases = None if intercepts is None else [np.array(b, dtype=np.float64) for b in intercepts]
    found = back_propagate(X, y, weights, biases, **options)
    pairs = list(zip(weights, found.coef_grads))
    pairs += [] if biases is None else list(zip(biases, found.intercept_grads))
    worst = 0.0
    for values, gradient in pairs:
        for place in np.ndindex(values.shape):
            kept, ends = values[place], []
            for side in (spacing, -spacing):
                values[place] = kept + side
                ends.append(back_propagate(X, y, weights, biases, **options).error)
            values[place] = kept
            worst = max(worst, float(abs((ends[0] - ends[1]) / (2 * spacing) - gradient[place])))
    return worst


def parameter_count(sizes: Any) -> int:
    """Number of weights and thresholds of a network: (d + l + 1) q + l for d inputs, q hidden and l output units.

    Parameters
    ----------
    sizes : sequence of int
        Inputs, units of each hidden layer, outputs: at least 1 of each.

    Returns
    -------
    count : int

    Examples
    --------
    >>> parameter_count([2, 2, 2])
    12
    """
    sizes = list(sizes)
    if any(size < 1 or size % 1 for size in sizes):
        raise ValueError(f"sizes must be whole numbers of at least 1; got {sizes}.")
    return sum((below + 1) * above for below, above in pairwise(sizes))
