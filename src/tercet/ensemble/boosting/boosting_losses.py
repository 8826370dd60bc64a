"""Losses as gradient boosting uses them: the best constant, the negative gradient, the best value of a leaf.

The formulas are those of `tercet.losses`; here is what boosting adds to them. Scores F have one column for each
tree of a round: one, or one for each of three or more classes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, logit, softmax

from tercet.core.strip_sums import strip_total
from tercet.losses import (
    Absolute,
    Binomial,
    Exponential,
    Gamma,
    Huber,
    Multinomial,
    Poisson,
    Quantile,
    Squared,
)

LEAST_CURVATURE = 1e-150  # a leaf with less has the value 0
EPSILON = float(np.finfo(np.float64).eps)


class BoostingLoss:
    """Squared error (y - F)², and the base of the others."""

    n_scores = 1
    unit = 2.0  # what scikit-learn's scores have of the loss that is differentiated
    formula: Any = Squared(half=True)

    def start(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """The best constant score: argmin over c of the sum of L(y, c) (Alg 8.4, step 1)."""
        return self.start_from(strip_total(self.sums, y, weight))

    def sums(self, y: np.ndarray, weight: np.ndarray) -> Any:
        """Sums over rows that the best constant score comes from: here w y and w."""
        return (y * weight).sum(), weight.sum()

    def start_from(self, sums: np.ndarray) -> np.ndarray:
        """The best constant score."""
        return np.array([sums[0] / sums[1]])

    def prepare(self, y: np.ndarray, F: np.ndarray, weight: np.ndarray) -> None:
        """Look at the residuals before a round."""

    def negative_gradient(self, y: np.ndarray, F: np.ndarray) -> np.ndarray:
        """-dL/dF of each row, of shape (n, n_scores) (step 2a)."""
        return -self.formula.gradient(y, F[:, 0])[:, None]

    def losses(self, y: np.ndarray, F: np.ndarray) -> np.ndarray:
        """L of each row."""
        return self.formula.value(y, F[:, 0])

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
        """d²L/dF² of each row, by the negative gradients r where that saves an exponential."""
        return np.ones(len(y))


class AbsoluteLoss(BoostingLoss):
    """Absolute error |y - F|: the best constant is a median."""

    unit = 1.0
    newton = False
    quantile = 0.5
    formula: Any = Absolute()

    def start(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return np.array([weighted_quantile(y, weight, self.quantile)])

    def negative_gradient(self, y: np.ndarray, F: np.ndarray) -> np.ndarray:
        # a row without residual counts as one above, as in scikit-learn: the loss itself takes 0 there
        return np.where(y[:, None] >= F, 1.0, -1.0)

    def leaf_value(self, y: Any, F: Any, r: Any, weight: Any, k: int) -> float:
        return weighted_quantile(y - F[:, 0], weight, self.quantile)


class QuantileLoss(AbsoluteLoss):
    """Pinball loss: the best constant is the quantile alpha."""

    def __init__(self, alpha: float) -> None:
        self.quantile = alpha
        self.formula = Quantile(min(max(alpha, EPSILON), 1.0 - EPSILON))

    def negative_gradient(self, y: np.ndarray, F: np.ndarray) -> np.ndarray:
        return np.where(y[:, None] >= F, self.quantile, self.quantile - 1.0)


class HuberBoosting(AbsoluteLoss):
    """Huber's loss, squared up to delta, the quantile alpha of the absolute residuals, and linear beyond."""

    def __init__(self, alpha: float) -> None:
        self.alpha, self.formula = alpha, Huber(1.0)

    def prepare(self, y: np.ndarray, F: np.ndarray, weight: np.ndarray) -> None:
        delta = weighted_quantile(np.abs(y - F[:, 0]), weight, self.alpha)
        self.formula = Huber(max(delta, float(np.finfo(np.float64).tiny)))

    def negative_gradient(self, y: np.ndarray, F: np.ndarray) -> np.ndarray:
        return BoostingLoss.negative_gradient(self, y, F)

    def leaf_value(self, y: Any, F: Any, r: Any, weight: Any, k: int) -> float:
        residual = y - F[:, 0]
        median = weighted_quantile(residual, weight, 0.5)
        return median - float(np.average(self.formula.gradient(residual, median), weights=weight))


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
    formula: Any = Binomial()

    def start_from(self, sums: np.ndarray) -> np.ndarray:
        return np.array([logit(np.clip(sums[0] / sums[1], EPSILON, 1.0 - EPSILON))])

    def curvature(self, y: Any, F: Any, r: Any, k: int) -> Any:
        return (y - r) * (1.0 - y + r)

    def proba(self, F: np.ndarray) -> np.ndarray:
        """The probabilities of the classes."""
        p = expit(F[:, 0])
        return np.column_stack([1.0 - p, p])

    def scores(self, proba: np.ndarray) -> np.ndarray:
        """The scores that have these probabilities."""
        return logit(np.clip(proba[:, 1:2], EPSILON, 1.0 - EPSILON))


class OneClassBoosting(BoostingLoss):
    """Log loss where only one class occurs, whose probability is 1: nothing is to be learned."""

    def start_from(self, sums: np.ndarray) -> np.ndarray:
        return np.zeros(1)

    def negative_gradient(self, y: np.ndarray, F: np.ndarray) -> np.ndarray:
        return np.zeros((len(y), 1))

    def losses(self, y: np.ndarray, F: np.ndarray) -> np.ndarray:
        return np.zeros(len(y))

    def proba(self, F: np.ndarray) -> np.ndarray:
        """The probability of the class."""
        return np.ones((len(F), 1))


class ExponentialBoosting(BinomialLoss):
    """Exponential loss exp(-y F), y = -1 or 1 (here 0 or 1): AdaBoost's."""

    unit = 1.0
    formula = Exponential()

    def start_from(self, sums: np.ndarray) -> np.ndarray:
        return 0.5 * super().start_from(sums)

    def negative_gradient(self, y: np.ndarray, F: np.ndarray) -> np.ndarray:
        return super().negative_gradient(2.0 * y - 1.0, F)

    def losses(self, y: np.ndarray, F: np.ndarray) -> np.ndarray:
        return super().losses(2.0 * y - 1.0, F)

    def curvature(self, y: Any, F: Any, r: Any, k: int) -> Any:
        return np.abs(r)

    def proba(self, F: np.ndarray) -> np.ndarray:
        return super().proba(2.0 * F)

    def scores(self, proba: np.ndarray) -> np.ndarray:
        return 0.5 * super().scores(proba)


class MultinomialBoosting(NewtonLoss):
    """Log loss of K classes: r_k = [y = k] - p_k, and a leaf has (K-1)/K sum r / sum p (1 - p)."""

    formula = Multinomial()

    def __init__(self, n_classes: int) -> None:
        self.n_scores, self.factor = n_classes, (n_classes - 1) / n_classes

    def sums(self, y: np.ndarray, weight: np.ndarray) -> Any:
        return np.append(np.bincount(y.astype(int), weight, self.n_scores), weight.sum())

    def start_from(self, sums: np.ndarray) -> np.ndarray:
        return self.scores((sums[:-1] / sums[-1])[None])[0]

    def negative_gradient(self, y: np.ndarray, F: np.ndarray) -> np.ndarray:
        return -self.formula.gradient(y, F)

    def losses(self, y: np.ndarray, F: np.ndarray) -> np.ndarray:
        return self.formula.value(y, F)

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

    formula = Poisson(full=False)

    def start_from(self, sums: np.ndarray) -> np.ndarray:
        return np.array([np.log(max(sums[0] / sums[1], EPSILON))])

    def curvature(self, y: Any, F: Any, r: Any, k: int) -> Any:
        return y - r

    def leaf_value(self, y: Any, F: Any, r: Any, weight: Any, k: int) -> float:
        # The best constant is known: log of the sum of y over that of the means.
        total = max(float(weight @ y), EPSILON * float(weight.sum()))
        return float(np.log(total) - np.log(float(weight @ (y - r))))


class GammaBoosting(NewtonLoss):
    """Gamma deviance of positive numbers with mean exp(F)."""

    formula = Gamma(full=False)

    def start_from(self, sums: np.ndarray) -> np.ndarray:
        return np.array([np.log(sums[0] / sums[1])])

    def curvature(self, y: Any, F: Any, r: Any, k: int) -> Any:
        return r + 1.0


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
