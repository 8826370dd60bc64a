"""The perceptron (感知机)."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.estimator import generator
from tercet.core.kernel import kernel
from tercet.core.parameters import ArrayLike, Count, Positive, Seed
from tercet.core.rows import row_add, row_dot, rows
from tercet.linear_model.base import LinearClassifier


@method(
    zh="感知机",
    task="classification",
    model="f(x) = sign(w·x + b)",
    strategy="sum of -y(w·x + b) over the misclassified",
    algorithms={"primal": "stochastic gradient descent on w, b", "dual": "counts of mistakes, Gram matrix"},
    texts=["000 ch. 2, Alg 2.1, 2.2"],
)
class Perceptron(LinearClassifier):
    """Linear classifier that corrects itself one mistake at a time.

    Parameters
    ----------
    eta0 : float, default=1.0
        How far a mistake moves the hyperplane.

    Examples
    --------
    >>> X, y = [[3, 3], [4, 3], [1, 1]], [1, 1, -1]
    >>> model = Perceptron(shuffle=False).fit(X, y)
    >>> model.coef_, model.intercept_
    (array([[1., 1.]]), array([-3.]))
    """

    def __init__(
        self,
        *,
        eta0: Positive = 1.0,
        max_iter: Count = 1000,
        shuffle: bool = True,
        random_state: Seed = 0,
        class_weight: dict | Literal["balanced"] | None = None,
    ) -> None:
        self.eta0 = eta0
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.random_state = random_state
        self.class_weight = class_weight

    def _fit(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        weight = self._balance(self.class_weight, y, sample_weight)
        n, d = X.shape
        n_planes = 1 if self.classes_.size == 2 else self.classes_.size
        sides = np.where(y[:, None] == (np.arange(n_planes) if n_planes > 1 else [1]), 1, -1).astype(X.dtype)
        sides = np.ascontiguousarray(sides.T)
        rate = (
            np.full(n, self.eta0, dtype=X.dtype) if weight is None else (self.eta0 * weight).astype(X.dtype)
        )
        rng, order, data = generator(self.random_state), np.arange(n), rows(X)
        w, b = np.zeros((n_planes, d), dtype=X.dtype), np.zeros(n_planes, dtype=X.dtype)
        for step in self.steps(self.max_iter, hint="The classes may not be linearly separable."):
            if self.shuffle:
                rng.shuffle(order)
            mistakes = sum(sweep(data, sides[k], order, rate, w[k], b[k : k + 1]) for k in range(n_planes))
            step.report(mistakes=mistakes, coef_=w, intercept_=b)
            if step.converged(mistakes == 0):
                break
        self.coef_, self.intercept_ = w, b


@kernel
def sweep(rows, y, order, rate, w, b):
    """One pass over the data; every mistake moves the hyperplane."""
    mistakes = 0
    for i in order:
        if rate[i] > 0 and y[i] * (row_dot(rows, i, w) + b[0]) <= 0:
            row_add(rows, i, rate[i] * y[i], w)
            b[0] += rate[i] * y[i]
            mistakes += 1
    return mistakes
