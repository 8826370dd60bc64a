"""One epoch of training: updates by mini-batches, by single rows, or one update by all rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tercet.core.chunks import Chunks
from tercet.core.rows import rows as kernel_rows
from tercet.core.stopping import check_stop
from tercet.core.streams import holds_sparse, is_streamed
from tercet.neural_network._mlp.layer_kernels import scratch
from tercet.neural_network._mlp.network import BlockGradient, Layout
from tercet.neural_network._mlp.objective import Penalty, WholeObjective, mass_of
from tercet.neural_network._mlp.standard_bp import sweep
from tercet.neural_network._mlp.update_kernels import adam_update, momentum_update


class Momentum:
    """Gradient descent with momentum, in Nesterov's form or not; `state` keeps it between calls of partial_fit."""

    arrays = ("velocity",)

    def __init__(self, n: int, dtype: Any, rate: float, momentum: float, nesterov: bool) -> None:
        self.momentum, self.nesterov = momentum, nesterov
        self.state: dict[str, Any] = {"learning_rate": float(rate), "t": 0, "velocity": np.zeros(n, dtype)}

    def update(self, flat: np.ndarray, g: np.ndarray, scale: float, shrink: float, n_shrunk: int) -> float:
        """Move the parameters against a gradient; returns their sum of squares before."""
        state = self.state
        state["t"] += 1
        numbers = [scale, shrink, state["learning_rate"], self.momentum, float(self.nesterov)]
        return float(
            momentum_update(flat, g, state["velocity"], n_shrunk, np.array(numbers, dtype=flat.dtype))
        )


class Adam:
    """Adam (Kingma and Ba 2014): momentum, with steps scaled by the average size of past gradients."""

    arrays = ("m", "v")

    def __init__(self, n: int, dtype: Any, rate: float, beta_1: float, beta_2: float, epsilon: float) -> None:
        self.rate, self.beta_1, self.beta_2, self.epsilon = float(rate), beta_1, beta_2, epsilon
        self.state: dict[str, Any] = {
            "learning_rate": float(rate), "t": 0, "m": np.zeros(n, dtype), "v": np.zeros(n, dtype),
        }  # fmt: skip

    def update(self, flat: np.ndarray, g: np.ndarray, scale: float, shrink: float, n_shrunk: int) -> float:
        """Move the parameters against a gradient; returns their sum of squares before."""
        state = self.state
        state["t"] += 1
        t = state["t"]
        rate = self.rate * (1 - self.beta_2**t) ** 0.5 / (1 - self.beta_1**t)
        state["learning_rate"] = rate
        numbers = [
            scale,
            shrink,
            rate,
            self.epsilon,
            self.beta_1,
            1 - self.beta_1,
            self.beta_2,
            1 - self.beta_2,
        ]
        return float(
            adam_update(flat, g, state["m"], state["v"], n_shrunk, np.array(numbers, dtype=flat.dtype))
        )


class MiniBatchEpochs:
    """Epochs of mini-batches, with memory for one batch.

    Sample weights stand in the sum of losses of a batch, which is divided by the number of its rows times the mean
    weight of all rows: so the gradient of a batch is that of the whole in expectation.
    """

    def __init__(
        self, layout: Layout, penalty: Penalty, rule: Any, X: Any, T: np.ndarray, weight: Any, batch: int
    ) -> None:
        self.penalty, self.rule, self.batch = penalty, rule, batch
        self.X, self.T, self.weight = X, T, weight
        self.gradient = BlockGradient(layout, batch)
        self.mean_weight = 1.0 if weight is None else mass_of(weight) / X.shape[0]
        self.is_dense = not holds_sparse(X)
        if self.is_dense:
            self.rows = np.empty((batch, X.shape[1]), dtype=X.dtype)
        self.targets = np.empty((batch, T.shape[1]), dtype=layout.dtype)

    def run(self, flat: np.ndarray, order: np.ndarray | None) -> float:
        """An epoch in a given order of the rows (None: as they are); returns the mean objective of the batches."""
        coefs, intercepts = self.gradient.layout.views(flat)
        n, objective = self.X.shape[0], 0.0
        for X, T, weight in self.batches(order):
            check_stop()
            mass = X.shape[0] * self.mean_weight
            scale, shrink = self.penalty.factors(mass)
            loss = self.gradient(coefs, intercepts, X, T, weight)
            squares = self.rule.update(flat, self.gradient.flat, scale, shrink, self.penalty.n_shrunk)
            objective += mass * (scale * loss + 0.5 * shrink * squares)
        return objective / (n * self.mean_weight)

    def batches(self, order: np.ndarray | None) -> Iterator[tuple[Any, np.ndarray, Any]]:
        """Rows, targets and weights of each batch; those of a source are read in their order."""
        if is_streamed(self.X):
            for X, T, weight in Chunks(self.X, self.T, self.weight, rows=self.batch):
                yield X, T.astype(self.targets.dtype), weight
            return
        for begin in range(0, self.X.shape[0], self.batch):
            yield self.take(begin, min(begin + self.batch, self.X.shape[0]), order)

    def take(self, begin: int, end: int, order: np.ndarray | None) -> tuple[Any, np.ndarray, Any]:
        """Rows, targets and weights of a batch."""
        T = self.targets[: end - begin]
        chosen: Any = slice(begin, end) if order is None else order[begin:end]
        T[...] = self.T[chosen]
        weight = None if self.weight is None else self.weight[chosen]
        if order is None or not self.is_dense:
            return self.X[chosen], T, weight
        return np.take(self.X, chosen, axis=0, out=self.rows[: end - begin], mode="clip"), T, weight


class StandardBPEpochs:
    """Standard back-propagation (3.3)-(3.11): every row moves the weights by itself."""

    def __init__(
        self, layout: Layout, penalty: Penalty, rule: Momentum, X: Any, T: np.ndarray, weight: Any
    ) -> None:
        self.layout, self.penalty, self.rule = layout, penalty, rule
        self.X, self.T = kernel_rows(X), np.ascontiguousarray(T, dtype=layout.dtype)
        self.n, self.weight = X.shape[0], np.ones(X.shape[0], layout.dtype) if weight is None else weight
        self.mass = mass_of(self.weight)
        self.sizes = np.array(layout.sizes)
        self.scratch = scratch(layout.dtype, max(layout.sizes[1:]))
        self.values = np.zeros(sum(layout.sizes), layout.dtype)
        self.deltas = np.zeros(sum(layout.sizes), layout.dtype)

    def run(self, flat: np.ndarray, order: np.ndarray | None) -> float:
        """An epoch; returns the mean objective, each E_k as it was before its update."""
        layout, penalty = self.layout, self.penalty
        scale, shrink = penalty.factors(self.mass)
        numbers = [scale * self.mass, shrink, self.rule.state["learning_rate"], self.rule.momentum]
        loss = sweep(
            self.X, self.T, self.weight, np.arange(self.n) if order is None else order, flat,
            self.rule.state["velocity"], self.sizes, layout.n_weights, penalty.n_shrunk, layout.activation,
            layout.output, layout.loss, np.array(numbers, dtype=layout.dtype), self.values, self.deltas,
            self.scratch,
        )  # fmt: skip
        self.rule.state["t"] += self.n
        return scale * loss + 0.5 * shrink * penalty.squares(flat)


class AccumulatedBPEpochs:
    """Accumulated back-propagation (3.12): one update per epoch, along the gradient of the mean error."""

    def __init__(self, layout: Layout, penalty: Penalty, rule: Momentum, X: Any, T: Any, weight: Any) -> None:
        self.objective, self.rule = WholeObjective(layout, penalty, X, T, weight), rule

    def run(self, flat: np.ndarray, order: np.ndarray | None) -> float:
        """An epoch; returns the objective before its update."""
        value, gradient = self.objective.value_and_gradient(flat)
        self.rule.update(flat, gradient, 1.0, 0.0, 0)
        return value
