"""Losses as gradient boosting uses them: the best constant, the negative gradient, the best value of a leaf.

Scores F have one column for each tree of a round: one, or one for each of three or more classes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_softmax, logit, softmax

from tercet.losses import Loss

LEAST_CURVATURE = 1e-150  # a leaf with less has the value 0
EPSILON = float(np.finfo(np.float64).eps)


class BoostingLoss:
    """Squared error (y - F)², and the base of the others."""

    n_scores = 1
    unit = 2.0  # what scikit-learn's scores have of the loss that is differentiated

    def start(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """The best constant score: argmin over c of the sum of L(y, c) (Alg 8.4, step 1)."""
        return np.array([np.average(y, weights=weight)])

    def prepare(self, y: np.ndarray, F: np.ndarray, weight: np.ndarray) -> None:
        """Look at the residuals before a round."""

    def negative_gradient(self, y: np.ndarray, F: np.ndarray) -> np.ndarray:
        """-dL/dF of each row, of shape (n, n_scores) (step 2a)."""
        return y[:, None] - F

    def losses(self, y: np.ndarray, F: np.ndarray) -> np.ndarray:
        """L of each row."""
        return 0.5 * (y - F[:, 0]) ** 2

    def mean(self, y: np.ndarray, F: np.ndarray, weight: np.ndarray) -> float:
        """The mean loss, in scikit-learn's unit; NaN where no row has a weight."""
        if not weight.any():
            return np.nan
        return float(self.unit * np.average(self.losses(y, F), weights=weight))

    def leaf_values(self, rows: list[np.ndarray], y: Any, F: Any, r: Any, weight: Any, k: int) -> np.ndarray:
        """The best constant for each leaf, argmin over c of the sum of L(y, F + c) over its rows (step 2c).

        Parameters
        ----------
        rows : list of index arrays
            The rows of each leaf.
        y, F, r, weight : arrays
            Targets, scores (n, n_scores), negative gradients (n, n_scores) and weights of all rows.
        k : int
            The score that the tree adds to.
        """
        return np.array([self.leaf_value(y[i], F[i], r[i, k], weight[i], k) for i in rows])

    def leaf_value(self, y: Any, F: Any, r: Any, weight: Any, k: int) -> float:
        """The best constant for the rows of one leaf."""
        return float(np.average(r, weights=weight))

    newton = True  # whether a Newton step is the best value of a leaf, or near it

    def curvature(self, y: Any, F: Any, r: Any, k: int) -> Any:
        """d²L/dF² of each row."""
        return np.ones(len(y))


class AbsoluteLoss(BoostingLoss):
    """Absolute error |y - F|: the best constant is a median."""

    unit = 1.0
    newton = False
    quantile = 0.5

    def start(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return np.array([weighted_quantile(y, weight, self.quantile)])

    def negative_gradient(self, y: np.ndarray, F: np.ndarray) -> np.ndarray:
        return np.where(y[:, None] >= F, 1.0, -1.0)

    def losses(self, y: np.ndarray, F: np.ndarray) -> np.ndarray:
        return np.abs(y - F[:, 0])

    def leaf_value(self, y: Any, F: Any, r: Any, weight: Any, k: int) -> float:
        return weighted_quantile(y - F[:, 0], weight, self.quantile)


class QuantileLoss(AbsoluteLoss):
    """Pinball loss: the best constant is the quantile alpha."""

    def __init__(self, alpha: float) -> None:
        self.quantile = alpha

    def negative_gradient(self, y: np.ndarray, F: np.ndarray) -> np.ndarray:
        return np.where(y[:, None] >= F, self.quantile, self.quantile - 1.0)

    def losses(self, y: np.ndarray, F: np.ndarray) -> np.ndarray:
        residual = y - F[:, 0]
        return np.maximum(self.quantile * residual, (self.quantile - 1.0) * residual)


class HuberBoosting(AbsoluteLoss):
    """Huber's loss, squared up to delta, the quantile alpha of the absolute residuals, and linear beyond."""

    def __init__(self, alpha: float) -> None:
        self.alpha, self.delta = alpha, 1.0

    def prepare(self, y: np.ndarray, F: np.ndarray, weight: np.ndarray) -> None:
        self.delta = weighted_quantile(np.abs(y - F[:, 0]), weight, self.alpha)

    def negative_gradient(self, y: np.ndarray, F: np.ndarray) -> np.ndarray:
        return np.clip(y[:, None] - F, -self.delta, self.delta)

    def losses(self, y: np.ndarray, F: np.ndarray) -> np.ndarray:
        away = np.abs(y - F[:, 0])
        return np.where(away <= self.delta, 0.5 * away**2, self.delta * (away - 0.5 * self.delta))

    def leaf_value(self, y: Any, F: Any, r: Any, weight: Any, k: int) -> float:
        residual = y - F[:, 0]
        median = weighted_quantile(residual, weight, 0.5)
        return median + float(np.average(np.clip(residual - median, -self.delta, self.delta), weights=weight))


class NewtonLoss(BoostingLoss):
    """Base of losses whose leaves take one Newton step: sum of -gradients over sum of curvatures."""

    unit = 1.0
    factor = 1.0

    def leaf_value(self, y: Any, F: Any, r: Any, weight: Any, k: int) -> float:
        bottom = float(weight @ self.curvature(y, F, r, k))
        top = self.factor * float(weight @ r)
        return top / bottom if abs(bottom) > LEAST_CURVATURE else 0.0


class BinomialLoss(NewtonLoss):
    """Log loss of two classes, y in {0, 1}: r = y - p, and a leaf has sum r / sum p (1 - p)."""

    unit = 2.0

    def start(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return np.array([logit(np.clip(np.average(y, weights=weight), EPSILON, 1.0 - EPSILON))])

    def negative_gradient(self, y: np.ndarray, F: np.ndarray) -> np.ndarray:
        return y[:, None] - expit(F)

    def losses(self, y: np.ndarray, F: np.ndarray) -> np.ndarray:
        return np.logaddexp(0.0, F[:, 0]) - y * F[:, 0]

    def curvature(self, y: Any, F: Any, r: Any, k: int) -> Any:
        return (y - r) * (1.0 - y + r)

    def proba(self, F: np.ndarray) -> np.ndarray:
        """The probabilities of the classes."""
        p = expit(F[:, 0])
        return np.column_stack([1.0 - p, p])

    def scores(self, proba: np.ndarray) -> np.ndarray:
        """The scores that have these probabilities."""
        return logit(np.clip(proba[:, 1:2], EPSILON, 1.0 - EPSILON))


class ExponentialBoosting(BinomialLoss):
    """Exponential loss exp(-y F), y = -1 or 1 (here 0 or 1): AdaBoost's."""

    unit = 1.0

    def start(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return 0.5 * super().start(y, weight)

    def negative_gradient(self, y: np.ndarray, F: np.ndarray) -> np.ndarray:
        sign = 2.0 * y[:, None] - 1.0
        return sign * np.exp(-sign * F)

    def losses(self, y: np.ndarray, F: np.ndarray) -> np.ndarray:
        return np.exp(-(2.0 * y - 1.0) * F[:, 0])

    def curvature(self, y: Any, F: Any, r: Any, k: int) -> Any:
        return np.abs(r)

    def proba(self, F: np.ndarray) -> np.ndarray:
        return super().proba(2.0 * F)

    def scores(self, proba: np.ndarray) -> np.ndarray:
        return 0.5 * super().scores(proba)


class MultinomialBoosting(NewtonLoss):
    """Log loss of K classes: r_k = [y = k] - p_k, and a leaf has (K-1)/K sum r / sum p (1 - p)."""

    def __init__(self, n_classes: int) -> None:
        self.n_scores, self.factor = n_classes, (n_classes - 1) / n_classes

    def start(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        share = np.bincount(y.astype(int), weight, self.n_scores) / weight.sum()
        return self.scores(share[None])[0]

    def negative_gradient(self, y: np.ndarray, F: np.ndarray) -> np.ndarray:
        r = -softmax(F, axis=1)
        r[np.arange(len(y)), y.astype(int)] += 1.0
        return r

    def losses(self, y: np.ndarray, F: np.ndarray) -> np.ndarray:
        return -log_softmax(F, axis=1)[np.arange(len(y)), y.astype(int)]

    def curvature(self, y: Any, F: Any, r: Any, k: int) -> Any:
        p = (y == k) - r
        return p * (1.0 - p)

    def proba(self, F: np.ndarray) -> np.ndarray:
        """The probabilities of the classes."""
        return softmax(F, axis=1)

    def scores(self, proba: np.ndarray) -> np.ndarray:
        """Scores of sum 0 that have these probabilities."""
        logs = np.log(np.clip(proba, EPSILON, 1.0))
        return logs - logs.mean(axis=1, keepdims=True)


class PoissonBoosting(NewtonLoss):
    """Poisson deviance of counts with mean exp(F)."""

    def start(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return np.array([np.log(max(np.average(y, weights=weight), EPSILON))])

    def negative_gradient(self, y: np.ndarray, F: np.ndarray) -> np.ndarray:
        return y[:, None] - np.exp(F)

    def losses(self, y: np.ndarray, F: np.ndarray) -> np.ndarray:
        return np.exp(F[:, 0]) - y * F[:, 0]

    def curvature(self, y: Any, F: Any, r: Any, k: int) -> Any:
        return y - r

    def leaf_value(self, y: Any, F: Any, r: Any, weight: Any, k: int) -> float:
        # The best constant is known: log of the sum of y over that of the means.
        total = max(float(weight @ y), EPSILON * float(weight.sum()))
        return float(np.log(total) - np.log(float(weight @ (y - r))))


class GammaBoosting(NewtonLoss):
    """Gamma deviance of positive numbers with mean exp(F)."""

    def start(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return np.array([np.log(np.average(y, weights=weight))])

    def negative_gradient(self, y: np.ndarray, F: np.ndarray) -> np.ndarray:
        return y[:, None] * np.exp(-F) - 1.0

    def losses(self, y: np.ndarray, F: np.ndarray) -> np.ndarray:
        return F[:, 0] + y * np.exp(-F[:, 0])

    def curvature(self, y: Any, F: Any, r: Any, k: int) -> Any:
        return r + 1.0


class GivenLoss(NewtonLoss):
    """Any loss of `tercet.losses`, or one like it with `value`, `gradient` and, for Newton steps, `curvature`."""

    def __init__(self, given: Loss) -> None:
        self.given = given

    def start(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return np.array([best_shift(self.given, y, np.zeros(len(y)), weight)])

    def negative_gradient(self, y: np.ndarray, F: np.ndarray) -> np.ndarray:
        return -np.asarray(self.given.gradient(y, F[:, 0]))[:, None]

    def losses(self, y: np.ndarray, F: np.ndarray) -> np.ndarray:
        return np.asarray(self.given.value(y, F[:, 0]))

    def curvature(self, y: Any, F: Any, r: Any, k: int) -> Any:
        return np.asarray(self.given.curvature(y, F[:, 0]))

    def leaf_value(self, y: Any, F: Any, r: Any, weight: Any, k: int) -> float:
        return best_shift(self.given, y, F[:, 0], weight)


def best_shift(given: Loss, y: np.ndarray, f: np.ndarray, weight: np.ndarray) -> float:
    """argmin over c of the weighted sum of L(y, f + c), by Brent's method."""
    residual = y - f
    low, high = float(residual.min(initial=0.0)), float(residual.max(initial=0.0))
    wide = max(high - low, 1.0)

    def total(c: float) -> float:
        return float(weight @ given.value(y, f + c))

    found = minimize_scalar(total, bracket=(low - 0.1 * wide, high + 0.1 * wide), options={"xtol": 1e-12})
    return float(found.x) if np.isfinite(found.x) else 0.0


def weighted_quantile(values: np.ndarray, weight: np.ndarray, q: float) -> float:
    """A value with the share q of the weight below it; the midpoint where an interval has that property.

    Examples
    --------
    >>> weighted_quantile(np.array([3.0, 1.0, 2.0, 4.0]), np.ones(4), 0.5)
    2.5
    """
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weight[order])
    target = q * below[-1]
    near = 1e-12 * below[-1]
    first = int(np.searchsorted(below, target - near))
    last = int(np.searchsorted(below, target + near, side="right"))
    low, high = values[order[min(first, len(values) - 1)]], values[order[min(last, len(values) - 1)]]
    return float(low / 2.0 + high / 2.0) if low != high else float(low)


def regression_loss(name: Any, alpha: float) -> BoostingLoss:
    """The loss of a regressor, by name or as an object."""
    if isinstance(name, str):
        made: dict[str, Any] = {
            "squared_error": BoostingLoss,
            "absolute_error": AbsoluteLoss,
            "huber": lambda: HuberBoosting(alpha),
            "quantile": lambda: QuantileLoss(alpha),
            "poisson": PoissonBoosting,
            "gamma": GammaBoosting,
        }
        return made[name]()
    return GivenLoss(name)


def classification_loss(name: str, n_classes: int) -> Any:
    """The loss of a classifier."""
    if name == "exponential":
        if n_classes > 2:
            raise ValueError(
                f"loss='exponential' is only suitable for a binary classification problem, you have n_classes="
                f"{n_classes}. Please use loss='log_loss' instead."
            )
        return ExponentialBoosting()
    return BinomialLoss() if n_classes == 2 else MultinomialBoosting(n_classes)
