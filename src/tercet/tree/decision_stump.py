"""Decision stump (决策树桩): one test, the best by the weight of the mistakes (Li ch. 8, Example 8.1)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.catalog import method
from tercet.core.estimator import Classifier, check_is_fitted, distinct
from tercet.core.fitted_checks import Indices, Labels, Sizes
from tercet.core.kernel import kernel, shared
from tercet.tree._engine.criteria import TIE, midpoint


@method(
    zh="决策树桩",
    task="classification",
    model="one class where x_j < v, another where x_j > v",
    strategy="weight of the rows that are wrong",
    algorithms="all features and all thresholds between neighbouring values are tried",
    texts=["Li ch. 8, Example 8.1"],
)
class DecisionStump(Classifier):
    """Classifier of a single threshold, with the least weight of mistakes.

    Every feature j and every threshold v half-way between two neighbouring values is tried; on either side the
    class of the largest weight is the answer. Ties take the first feature and the smallest threshold. Where no
    threshold is better than one class everywhere, that class is the answer, unless `constant=False`.

    Parameters
    ----------
    constant : bool, default=True
        Whether one class everywhere is allowed when it has the least weight of mistakes. With False the two sides
        answer different classes, those with the least weight of mistakes, as long as y has two classes and X two
        distinct values in a column.

    Attributes
    ----------
    feature_ : int
        The feature that is tested; -1 where the answer is constant.
    threshold_ : float
        x <= threshold goes to the left.
    left_, right_ : labels
        The answers on the two sides.
    error_ : float
        The weight of the mistakes, divided by the weight of all rows.
    classes_ : array of shape (n_classes,)

    Examples
    --------
    >>> stump = DecisionStump().fit(np.arange(10.0)[:, None], [1, 1, 1, -1, -1, -1, 1, 1, 1, -1])
    >>> stump.threshold_, stump.left_.item(), round(stump.error_, 4)
    (2.5, 1, 0.3)
    """

    sparse_input = False

    def __init__(self, constant: bool = True) -> None:
        self.constant = constant

    def _encode(self, y: Any) -> np.ndarray:
        self.classes_, index = distinct(y)
        return index

    def _fit(self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        weight = np.ones(len(y)) if sample_weight is None else sample_weight.astype(np.float64)
        if not weight.all():  # a row without weight is not there
            X, y, weight = X[weight > 0], y[weight > 0], weight[weight > 0]
        K = len(self.classes_)
        totals = np.bincount(y, weight, K)
        whole, differ = totals.sum(), not self.constant and K > 1
        best = np.inf if differ else whole - totals.max()
        self.feature_, self.threshold_ = -1, np.inf
        left = right = int(totals.argmax())
        for j in range(X.shape[1]):
            order = np.argsort(X[:, j], kind="stable")
            values = X[order, j].astype(np.float64)
            error, at = least_error(values, y[order], weight[order], totals, differ)
            # Rounding must not decide: 0.3 and 0.30000000000000004 are a tie.
            if at >= 0 and error < best - TIE * whole:
                best, self.feature_ = error, j
                self.threshold_ = float(midpoint(values[at], values[at + 1]))
                below = np.bincount(y[order][: at + 1], weight[order][: at + 1], K)
                left, right = side_classes(below, totals - below, differ)
        self.left_, self.right_ = self.classes_[left], self.classes_[right]
        self.error_ = float(min(best, whole - totals.max()) if self.feature_ < 0 else best) / float(whole)

    fitted_shapes = {
        "feature_": Indices("", below="features", low=-1),
        "threshold_": "",
        "left_": Labels(""),
        "right_": Labels(""),
        "error_": "",
    }

    def _check_fitted(self, sizes: Sizes) -> None:
        if "left_" not in vars(self):
            return
        known = self.classes_.tolist()
        for name, label in (("left_", self.left_), ("right_", self.right_)):
            if np.asarray(label).item() not in known:
                raise ValueError(f"{type(self).__name__}: {name} is {label!r}; the classes are {known[:12]}.")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # one test has two answers, whatever the number of classes
        return tags

    def predict(self, X: Any) -> np.ndarray:
        """The answer of the side that each row is on.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        array of shape (n_samples,)
        """
        check_is_fitted(self)
        X = self._check(X, reset=False)
        if self.feature_ < 0:
            return np.full(X.shape[0], self.left_)
        x = X[:, self.feature_].astype(np.float64, copy=False)  # the threshold may be beyond single precision
        return np.where(x <= self.threshold_, self.left_, self.right_)


@shared
def side_classes(left, right, differ):
    """The classes that two sides answer, from the weights of the classes there: the heaviest, or different ones."""
    a, b = 0, 0
    for k in range(1, left.size):
        a = k if left[k] > left[a] else a
        b = k if right[k] > right[b] else b
    if not differ or a != b:
        return a, b
    other_a = other_b = 1 if a == 0 else 0  # one side answers its second heaviest class: whichever loses less
    for k in range(left.size):
        if k != a:
            other_a = k if left[k] > left[other_a] else other_a
            other_b = k if right[k] > right[other_b] else other_b
    return (a, other_b) if right[b] - right[other_b] <= left[a] - left[other_a] else (other_a, b)


@kernel
def least_error(values, y, weight, totals, differ):
    """The least weight of mistakes of a threshold in a sorted column, and the row after which it is (-1: none)."""
    left, right = np.zeros(totals.size), totals.copy()
    whole = totals.sum()
    best, at = np.inf, -1
    for i in range(values.size - 1):
        left[y[i]] += weight[i]
        right[y[i]] = totals[y[i]] - left[y[i]]
        if values[i] < values[i + 1]:
            a, b = side_classes(left, right, differ)
            error = whole - left[a] - right[b]
            if error < best - TIE * whole:
                best, at = error, i
    return best, at
