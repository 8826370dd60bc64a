"""Base class of the losses, and empirical risk."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tercet.core.catalog import method
from tercet.core.functions import as_float
from tercet.core.public_names import PublicPickle


@dataclass(frozen=True)
class Loss(PublicPickle):
    """Loss L(y, f) of a prediction f for a target y (损失函数; Li ch. 1, 1.3.2).

    Methods work element by element on arrays, keep the dtype of ``f`` (float32 stays float32), hold no
    state and may be called from several threads at once. They do not validate ``y``: call :meth:`check` once
    before a loop.

    Attributes
    ----------
    margin : bool
        True when y is in {-1, +1} and the loss depends on y f alone.
    smoothness : float
        Lipschitz constant of the gradient in f, infinite where there is none.

    Examples
    --------
    >>> from tercet.losses import loss
    >>> hinge = loss("hinge")
    >>> hinge.value(np.array([1.0, -1.0]), np.array([0.25, 2.0])), hinge.margin, hinge.smoothness
    (array([0.75, 3.  ]), True, inf)
    """

    margin = False

    @property
    def smoothness(self) -> float:
        return np.inf

    def check(self, y: ArrayLike) -> None:
        """Raise ValueError where ``y`` is not a target of this loss."""
        y = np.asarray(y)
        try:
            bad = ~self._allowed(y)
        except TypeError:  # text in place of numbers
            bad = np.ones(y.shape, dtype=bool)
        if np.any(bad):
            name = type(self).__name__
            raise ValueError(f"y of the {name} loss must {self._requirement}, got {y[bad].flat[0]!r}")

    _requirement = "be finite"

    def _allowed(self, y: np.ndarray) -> np.ndarray:
        return np.isfinite(y)

    def value(self, y: ArrayLike, f: ArrayLike) -> np.ndarray:
        """L(y, f) of each sample."""
        raise NotImplementedError

    def gradient(self, y: ArrayLike, f: ArrayLike) -> np.ndarray:
        """dL/df of each sample; at a kink, the subgradient that the class names."""
        raise NotImplementedError

    def curvature(self, y: ArrayLike, f: ArrayLike) -> np.ndarray:
        """Second derivative in f of each sample; at a kink, that of one of the sides."""
        raise NotImplementedError

    def prox(self, y: ArrayLike, f: ArrayLike, step: ArrayLike) -> np.ndarray:
        """Proximal step: argmin over u of step L(y, u) + (u - f)^2 / 2; TypeError where there is none."""
        raise TypeError(f"the {type(self).__name__} loss has no proximal step: {self._no_prox_reason}")

    _no_prox_reason = "it is given by its value and derivatives alone"

    def value_and_gradient(self, y: ArrayLike, f: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Value and gradient, with shared computations."""
        return self.value(y, f), self.gradient(y, f)

    def total(
        self, y: ArrayLike, f: ArrayLike, sample_weight: ArrayLike | None = None, average: bool = True
    ) -> float:
        """Empirical risk: the (weighted) mean of the losses, or their sum (Li ch. 1, eq. 1.14)."""
        return weighted_total(self.value(y, f), sample_weight, average)


@method(
    zh="经验风险",
    task="loss",
    model="R_emp(f) = (1/N) Σ L(y_i, f(x_i))",
    strategy="its least value: empirical risk minimisation, maximum likelihood under the log loss",
    texts=[
        "Li ch. 1, eq. 1.13, 1.14",
        "Machine Learning in Depth ch. 1, 1.2.2",
        "Pattern Recognition ch. 5, eq. 5-100, 5-101",
    ],
)
def weighted_total(losses: np.ndarray, sample_weight: ArrayLike | None = None, average: bool = True) -> float:
    """Empirical risk: the (weighted) mean of the losses, or their sum, added up in float64.

    With the cells of a known joint distribution for weights it is the expected risk.

    Examples
    --------
    >>> weighted_total(np.array([1.0, 3.0]), sample_weight=[3, 1])
    1.5
    """
    if sample_weight is None:
        total, mass = np.sum(losses, dtype=np.float64), float(np.size(losses))
    else:
        weight = np.asarray(sample_weight, dtype=np.float64)
        total, mass = np.sum(losses * weight), float(np.sum(weight))
    if not average:
        return float(total)
    if not mass > 0:
        raise ValueError(f"sample_weight must sum to more than 0 for an average, got {mass}")
    return float(total / mass)


def as_pair(y: ArrayLike, f: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """``y`` and ``f`` as floating arrays of one dtype, that of ``f``."""
    f = as_float(f)
    return np.asarray(y, dtype=f.dtype), f
