"""Models with a discrete latent variable for EM."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tercet.core.functions import log_sum_exp
from tercet.optimize.em_functions import expectation, posterior, weighted_sum


class EnumerableModel:
    """Model for `em` with a discrete latent variable, given by log P(y, z | θ) and an M step.

    Parameters
    ----------
    rows : object
        The data; `chunks` has them as one chunk.
    log_joint : callable
        From (rows, θ) to log P(y_j, z_j = k | θ), an array of shape (n, K).
    maximise : callable
        From (rows, posterior, θ) to the new θ. The posterior has shape (n, K), and is multiplied by the weights.
    parts : sequence of callables
        M steps of the same form for single blocks of θ, for variant="gem3".
    log_prior : callable, optional
        From θ to a number.
    pack, unpack : callable, optional
        θ as a vector, and back; by default θ is one. `unpack` may raise ValueError.
    sample_weight : array of shape (n,), optional
        Weights of the rows.

    Examples
    --------
    >>> from tercet.optimize import em
    >>> y = np.array([0.0, 1.0, 6.0, 7.0])
    >>> def log_joint(y, mean):
    ...     return -0.5 * (y[:, None] - mean) ** 2
    >>> def maximise(y, posterior, mean):
    ...     return y @ posterior / posterior.sum(axis=0)
    >>> model = EnumerableModel(y, log_joint, maximise)
    >>> em(model, model.chunks, np.array([0.0, 1.0]), tol=1e-9, variant="hard").theta
    array([0.5, 6.5])
    """

    def __init__(
        self,
        rows: Any,
        log_joint: Callable[[Any, Any], Any],
        maximise: Callable[[Any, np.ndarray, Any], Any],
        *,
        parts: Sequence[Callable[[Any, np.ndarray, Any], Any]] = (),
        log_prior: Callable[[Any], float] | None = None,
        pack: Callable[[Any], np.ndarray] | None = None,
        unpack: Callable[[np.ndarray], Any] | None = None,
        sample_weight: Any = None,
    ) -> None:
        self.rows, self._log_joint, self._maximise = rows, log_joint, maximise
        self._parts, self.parts = parts, len(parts)
        self._log_prior, self._pack, self._unpack = log_prior, pack, unpack
        self.weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)

    @property
    def chunks(self) -> list[Any]:
        return [self.rows]

    def joint(self, theta: Any) -> np.ndarray:
        """log P(y_j, z_j = k | θ), for the functions Q, H, B and F."""
        return np.asarray(self._log_joint(self.rows, theta), dtype=np.float64)

    def expect(self, chunk: Any, theta: Any) -> tuple[float, np.ndarray]:
        joint = self.joint(theta)
        return weighted_sum(log_sum_exp(joint), self.weight), self._weighted(posterior(joint))

    def expect_best(self, chunk: Any, theta: Any) -> tuple[float, np.ndarray]:
        """The most probable value of each latent variable, and log P(Y, Z | θ) with it."""
        joint = self.joint(theta)
        best = np.zeros_like(joint)
        best[np.arange(len(joint)), joint.argmax(axis=1)] = 1.0
        return weighted_sum(joint.max(axis=1), self.weight), self._weighted(best)

    def maximise(self, statistics: tuple[np.ndarray], theta: Any) -> Any:
        return self._maximise(self.rows, statistics[0], theta)

    def maximise_part(self, k: int, statistics: tuple[np.ndarray], theta: Any) -> Any:
        return self._parts[k](self.rows, statistics[0], theta)

    def log_prior(self, theta: Any) -> float:
        return 0.0 if self._log_prior is None else self._log_prior(theta)

    def q(self, statistics: tuple[np.ndarray], theta: Any) -> float:
        return float(expectation(statistics[0], self.joint(theta)).sum())

    def pack(self, theta: Any) -> np.ndarray:
        return np.array(theta if self._pack is None else self._pack(theta), dtype=np.float64)

    def unpack(self, vector: np.ndarray) -> Any:
        return vector if self._unpack is None else self._unpack(vector)

    def _weighted(self, posterior: np.ndarray) -> np.ndarray:
        return posterior if self.weight is None else posterior * self.weight[:, None]
