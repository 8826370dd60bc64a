"""Network as one flat vector of parameters, and the gradient of its loss on a block of rows without new memory."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from tercet.neural_network._mlp.layer_kernels import (
    ACTIVATIONS,
    LOSSES,
    activate,
    multiply_derivative,
    output_error,
    outputs,
    scratch,
)

NO_WEIGHT = {np.dtype(kind): np.empty(0, dtype=kind) for kind in (np.float32, np.float64)}


class Layout:
    """Shapes of a network, and views of a flat vector as its weights and biases: all weights, then all biases.

    Parameters
    ----------
    sizes : sequence of int
        Inputs, units of each hidden layer, outputs.
    activation, output, loss : str
        Activation of the hidden and of the last layer, and the loss.
    dtype : dtype
        float64 or float32.
    """

    def __init__(self, sizes: Any, activation: str, output: str, loss: str, dtype: Any) -> None:
        self.sizes, self.dtype = tuple(int(size) for size in sizes), np.dtype(dtype)
        self.activation, self.output, self.loss = ACTIVATIONS[activation], ACTIVATIONS[output], LOSSES[loss]
        self.shapes = list(pairwise(self.sizes))
        self.n_weights = sum(rows * columns for rows, columns in self.shapes)
        self.n_parameters = self.n_weights + sum(self.sizes[1:])

    def views(self, flat: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """The weights and biases of each layer as parts of a flat vector."""
        coefs, intercepts, begin = [], [], 0
        for shape in self.shapes:
            end = begin + shape[0] * shape[1]
            coefs.append(flat[begin:end].reshape(shape))
            begin = end
        for size in self.sizes[1:]:
            intercepts.append(flat[begin : begin + size])
            begin += size
        return coefs, intercepts

    def flat(self, coefs: Any, intercepts: Any) -> np.ndarray:
        """Weights and biases as one new vector."""
        parts = [np.asarray(part, dtype=self.dtype).ravel() for part in (*coefs, *intercepts)]
        return np.concatenate(parts)


class BlockGradient:
    """Back-propagation on blocks of at most `height` rows, in memory that is allocated once.

    Attributes
    ----------
    flat : array of shape (n_parameters,)
        The gradient of the sum of the losses, after a call.
    """

    def __init__(self, layout: Layout, height: int) -> None:
        self.layout = layout
        self.flat = np.empty(layout.n_parameters, dtype=layout.dtype)
        self.coefs, self.intercepts = layout.views(self.flat)
        self.scratch = scratch(layout.dtype, max(layout.sizes[1:]))
        self.values = [np.empty((height, size), dtype=layout.dtype) for size in layout.sizes[1:]]
        self.deltas = [np.empty((height, size), dtype=layout.dtype) for size in layout.sizes[1:]]

    def __call__(
        self, coefs: list[np.ndarray], intercepts: list[np.ndarray], X: Any, T: np.ndarray, weight: Any
    ) -> float:
        """The weighted sum of the losses of rows X with targets T; its gradient goes to `flat`."""
        n, layout, c = X.shape[0], self.layout, self.scratch
        values, deltas = [part[:n] for part in self.values], [part[:n] for part in self.deltas]
        last = len(coefs) - 1
        for k, coef in enumerate(coefs):  # forward
            multiply(X if k == 0 else values[k - 1], coef, values[k])
            if k < last:
                activate(values[k], intercepts[k], layout.activation, c)
        weight = NO_WEIGHT[layout.dtype] if weight is None else weight
        loss = output_error(
            values[last], intercepts[last], T, weight, deltas[last], self.intercepts[last],
            layout.output, layout.loss, c,
        )  # fmt: skip
        for k in range(last, 0, -1):  # backward
            np.dot(values[k - 1].T, deltas[k], out=self.coefs[k])
            np.dot(deltas[k], coefs[k].T, out=deltas[k - 1])
            multiply_derivative(values[k - 1], deltas[k - 1], layout.activation, self.intercepts[k - 1], c)
        multiply_transposed(X, deltas[0], self.coefs[0])
        return loss


def multiply(X: Any, W: np.ndarray, out: np.ndarray) -> None:
    """out <- X W, for dense or CSR rows."""
    if sparse.issparse(X):
        out[...] = X @ W
    else:
        np.dot(X, W, out=out)


def multiply_transposed(X: Any, D: np.ndarray, out: np.ndarray) -> None:
    """out <- X' D, for dense or CSR rows."""
    if sparse.issparse(X):
        out[...] = X.T @ D
    else:
        np.dot(X.T, D, out=out)


BLOCK = 1024  # rows of a block in a forward pass, which stay in the cache


def network_outputs(layout: Layout, coefs: Any, intercepts: Any, X: Any) -> np.ndarray:
    """The outputs of the last layer for rows X."""
    n, c = X.shape[0], scratch(layout.dtype, max(layout.sizes[1:]))
    found = np.empty((n, layout.sizes[-1]), dtype=layout.dtype)
    buffers = [np.empty((min(n, BLOCK), size), dtype=layout.dtype) for size in layout.sizes[1:-1]]
    for begin in range(0, n, BLOCK):
        a = X[begin : begin + BLOCK]
        out = found[begin : begin + BLOCK]
        for k, buffer in enumerate(buffers):
            z = buffer[: a.shape[0]]
            multiply(a, coefs[k], z)
            activate(z, intercepts[k], layout.activation, c)
            a = z
        multiply(a, coefs[-1], out)
        outputs(out, intercepts[-1], layout.output, c)
    return found
