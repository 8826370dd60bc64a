"""Losses that a user gives to gradient boosting: an object of `tercet.losses`, or a function of derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from tercet.ensemble.boosting.boosting_losses import BinomialLoss, MultinomialBoosting, NewtonLoss
from tercet.losses import Loss


class GivenLoss(NewtonLoss):
    """Any loss of `tercet.losses`, or one like it with `value`, `gradient` and, for Newton steps, `curvature`."""

    def __init__(self, given: Loss) -> None:
        self.formula = given
        # A loss of straight lines has no Newton step: its leaves are found by a line search.
        self.newton = bool(np.any(given.curvature(np.array([-1.0, 1.0]), np.array([-0.9, 0.9]))))

    def start(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return np.array([best_shift(self.formula, y, np.zeros(len(y)), weight)])

    def negative_gradient(self, y: np.ndarray, F: np.ndarray) -> np.ndarray:
        return -np.asarray(self.formula.gradient(y, F[:, 0]))[:, None]

    def losses(self, y: np.ndarray, F: np.ndarray) -> np.ndarray:
        return np.asarray(self.formula.value(y, F[:, 0]))

    def curvature(self, y: Any, F: Any, r: Any, k: int) -> Any:
        return np.asarray(self.formula.curvature(y, F[:, 0])) if self.newton else np.ones(len(y))

    def leaf_value(self, y: Any, F: Any, r: Any, weight: Any, k: int) -> float:
        return best_shift(self.formula, y, F[:, 0], weight)


class GivenMargin(GivenLoss):
    """Any loss of the margin y F for two classes, which are 0 and 1 here; probabilities are 1 / (1 + exp(-F))."""

    def start(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return super().start(2.0 * y - 1.0, weight)

    def negative_gradient(self, y: np.ndarray, F: np.ndarray) -> np.ndarray:
        return super().negative_gradient(2.0 * y - 1.0, F)

    def losses(self, y: np.ndarray, F: np.ndarray) -> np.ndarray:
        return super().losses(2.0 * y - 1.0, F)

    def curvature(self, y: Any, F: Any, r: Any, k: int) -> Any:
        return super().curvature(2.0 * y - 1.0, F, r, k)

    def leaf_value(self, y: Any, F: Any, r: Any, weight: Any, k: int) -> float:
        sign, f = 2.0 * y - 1.0, F[:, 0]
        # Beyond these bounds all margins of a class are past 1: a leaf of one class has no finite best value.
        bounds = float(np.min(-1.0 - f)), float(np.max(1.0 - f))

        def total(c: float) -> float:
            return float(weight @ self.formula.value(sign, f + c))

        return float(minimize_scalar(total, bounds=bounds, method="bounded", options={"xatol": 1e-9}).x)

    def proba(self, F: np.ndarray) -> np.ndarray:
        """The probabilities of the classes."""
        return BinomialLoss().proba(F)


class GivenDerivatives(NewtonLoss):
    """A function of targets and scores that returns gradients and hessians, as other boosting libraries take it.

    Boosting starts at 0. What is minimised is not known: the mean of the squared gradients stands for it.
    """

    proba: Any

    def __init__(self, given: Callable[..., Any], n_classes: int = 0) -> None:
        self.given, self.n_scores = given, n_classes if n_classes > 2 else 1
        self.proba = BinomialLoss().proba if self.n_scores == 1 else MultinomialBoosting(n_classes).proba
        self.hessians = np.zeros((0, self.n_scores))

    def start(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return np.zeros(self.n_scores)

    def derivatives(self, y: np.ndarray, F: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gradients and hessians, of shape (n, n_scores)."""
        f = F[:, 0] if self.n_scores == 1 else F
        pair = [np.asarray(part, dtype=np.float64) for part in self.given(y, f)]
        if [part.shape for part in pair] != [f.shape] * 2:
            raise ValueError(
                f"loss={self.given!r} must return gradients and hessians, two arrays of shape {f.shape}; got "
                f"{[part.shape for part in pair]}."
            )
        return pair[0].reshape(F.shape), pair[1].reshape(F.shape)

    def negative_gradient(self, y: np.ndarray, F: np.ndarray) -> np.ndarray:
        gradients, self.hessians = self.derivatives(y, F)
        return -gradients

    def losses(self, y: np.ndarray, F: np.ndarray) -> np.ndarray:
        return np.square(self.derivatives(y, F)[0]).sum(axis=1)

    def curvature(self, y: Any, F: Any, r: Any, k: int) -> Any:
        return self.hessians[:, k]


def best_shift(given: Loss, y: np.ndarray, f: np.ndarray, weight: np.ndarray) -> float:
    """argmin over c of the weighted sum of L(y, f + c), by Brent's method."""
    residual = y - f
    low, high = float(residual.min(initial=0.0)), float(residual.max(initial=0.0))
    wide = max(high - low, 1.0)

    def total(c: float) -> float:
        return float(weight @ given.value(y, f + c))

    found = minimize_scalar(total, bracket=(low - 0.1 * wide, high + 0.1 * wide), options={"xtol": 1e-12})
    return float(found.x) if np.isfinite(found.x) else 0.0
