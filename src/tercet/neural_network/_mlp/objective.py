"""The objective of a network over all rows: a sum over chunks of rows, the same for any number of threads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tercet.core.parallel import Chunks, all_cores, total
from tercet.neural_network._mlp.network import BLOCK, BlockGradient, Layout


@dataclass(frozen=True)
class Penalty:
    """Quadratic penalty beside the mean loss.

    With `error_weight` None the objective is mean loss + alpha / (2 mass) times the sum of squared weights; with
    error_weight = lambda it is lambda mean loss + (1 - lambda) times the sum of squares of weights and thresholds.
    """

    alpha: float
    error_weight: float | None
    layout: Layout

    @property
    def n_shrunk(self) -> int:
        """How many parameters are penalised; they are the first ones of the flat vector."""
        return self.layout.n_weights if self.error_weight is None else self.layout.n_parameters

    def factors(self, mass: float) -> tuple[float, float]:
        """Factors of the gradient of the sum of losses, and of the parameters, in the gradient of the objective."""
        if self.error_weight is None:
            return 1.0 / mass, self.alpha / mass
        return self.error_weight / mass, 2.0 * (1.0 - self.error_weight)

    def squares(self, flat: np.ndarray) -> float:
        """Sum of squares of the penalised parameters."""
        part = flat[: self.n_shrunk]
        return float(part @ part)


class WholeObjective:
    """Objective over all rows and its gradient, for `optimize` and for accumulated back-propagation.

    Parameters
    ----------
    layout : Layout
    penalty : Penalty
    X, T : array or CSR matrix, array of shape (n, n_outputs)
        Rows and targets, in memory or streamed.
    weight : array of shape (n,) or None
    """

    def __init__(self, layout: Layout, penalty: Penalty, X: Any, T: Any, weight: Any) -> None:
        self.layout, self.penalty = layout, penalty
        self.chunks = Chunks(X, T, weight)
        self.pool = BlockPool(layout, min(BLOCK, X.shape[0]))
        self.mass = float(X.shape[0]) if weight is None else mass_of(weight)
        self.jobs = all_cores(None)
        self.precision = float(np.finfo(layout.dtype).eps)
        self.calls = 0

    def value_and_gradient(self, flat: np.ndarray) -> tuple[float, np.ndarray]:
        """The objective at a vector of parameters, and its gradient in the same type."""
        self.calls += 1
        own = flat.astype(self.layout.dtype, copy=False)
        gradient, loss = total(
            chunk_gradient, self.chunks, self.pool, *self.layout.views(own), n_jobs=self.jobs
        )
        scale, shrink = self.penalty.factors(self.mass)
        n = self.penalty.n_shrunk
        gradient = scale * gradient.astype(flat.dtype, copy=False)
        gradient[:n] += shrink * flat[:n]
        return scale * loss + 0.5 * shrink * self.penalty.squares(flat), gradient

    def value(self, flat: np.ndarray) -> float:
        """The objective."""
        return self.value_and_gradient(flat)[0]

    def gradient(self, flat: np.ndarray) -> np.ndarray:
        """Its gradient."""
        return self.value_and_gradient(flat)[1]


class BlockPool:
    """Buffers for blocks of rows, which threads borrow; pickling leaves them out."""

    def __init__(self, layout: Layout, height: int) -> None:
        self.layout, self.height = layout, height
        self.free: list[BlockGradient] = []

    def take(self) -> BlockGradient:
        """A free buffer, or a new one."""
        try:
            return self.free.pop()
        except IndexError:
            return BlockGradient(self.layout, self.height)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "free": []}


def chunk_gradient(chunk: Any, pool: BlockPool, coefs: Any, intercepts: Any) -> tuple[np.ndarray, float]:
    """Gradient and value of the sum of the losses of a chunk of rows."""
    X, T, weight = chunk
    block = pool.take()
    found, loss = np.zeros_like(block.flat), 0.0
    for begin in range(0, X.shape[0], pool.height):
        rows = slice(begin, begin + pool.height)
        t = T[rows].astype(pool.layout.dtype, copy=False)
        loss += block(coefs, intercepts, X[rows], t, None if weight is None else weight[rows])
        found += block.flat
    pool.free.append(block)
    return found, loss


def mass_of(weight: Any) -> float:
    """The sum of weights, in memory or streamed; an error where it is 0."""
    mass = float(total(_sum, Chunks(weight)))
    if mass == 0.0:
        raise ValueError(
            "sample_weight is zero for every row that is not held out: nothing is left to learn from."
        )
    return mass


def _sum(chunk: tuple[np.ndarray]) -> float:
    return float(chunk[0].sum(dtype=np.float64))
