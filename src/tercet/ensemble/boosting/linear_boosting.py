"""Boosting with linear members, XGBoost's linear booster (线性提升; Machine Learning in Depth ch. 8, 8.2.2.5).

The second-order expansion of the loss is minimised with penalties, one coordinate after the other:

F = b
for m = 1 .. M:
    g, h = dL/dF, d²L/dF² at F
    b = b - eta * sum g / sum h
    for each feature j, with g always that of the expansion at the F reached so far:
        G, H = sum g x_j, sum h x_j²
        w_j = w_j + eta * (T(H w_j - G) / (H + lambda) - w_j),   T moves a number towards 0 by alpha

A sum of linear functions is linear: the members of all rounds are one w and b. Where the objective would rise, the
step of the round is halved.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.estimator import generator
from tercet.core.kernel import implement, kernel, verb
from tercet.core.rows import Dense, columns, row_add

LEAST_HESSIAN = 1e-16  # of a row
MOST_HALVINGS = 40


class BaseLinearBoosting:
    """The rounds of linear boosting, for one score or one of each class."""

    loss: Any
    learning_rate: Any
    max_iter: Any
    l1_regularization: Any
    l2_regularization: Any
    fit_intercept: Any
    selection: Any
    tol: Any
    random_state: Any
    steps: Any

    def _boost(self, X: Any, y: np.ndarray, weight: np.ndarray, loss: Any) -> None:
        """The rounds: w of all scores, of shape (n_scores, n_features), and b."""
        mean = np.zeros(X.shape[1])
        if (
            self.fit_intercept
        ):  # the same model; columns far from 0 converge as near ones, sparse ones stay sparse
            mean = (np.asarray(X.T @ weight).ravel() / weight.sum()).astype(X.dtype)
        design = columns(X), mean.astype(np.float64)
        if not sparse.issparse(X):
            design = columns(X - mean), np.zeros(X.shape[1])
        w, random = np.zeros((loss.n_scores, X.shape[1])), generator(self.random_state)
        b = loss.start(y, weight) if self.fit_intercept else np.zeros(loss.n_scores)
        F = np.tile(b, (len(y), 1))
        value = self._objective(loss, y, F, weight, w)
        for step in self.steps(self.max_iter, name="round", unpack=lambda state: self._state(*state)):
            order = random.permutation(w.shape[1]) if self.selection == "random" else np.arange(w.shape[1])
            moves = self._round(design, y, F, weight, loss, w, order)
            before, value, (w, b, F) = value, *self._accepted(loss, y, weight, value, (w, b, F), moves)
            step.report((w, b - w @ mean, X.dtype), objective=value)
            if before - value <= self.tol * abs(before):
                break
        self.__dict__.update(self._state(w, b - w @ mean, X.dtype))

    def _round(
        self,
        design: tuple[Any, np.ndarray],
        y: np.ndarray,
        F: np.ndarray,
        weight: np.ndarray,
        loss: Any,
        w: np.ndarray,
        order: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The changes of w, b and F in one round."""
        r = loss.negative_gradient(y, F)
        dw, db, dF = np.zeros(w.shape), np.zeros(len(w)), np.zeros((len(w), len(y)))
        for k in range(len(w)):
            g, h = -weight * r[:, k], weight * np.maximum(loss.curvature(y, F, r[:, k], k), LEAST_HESSIAN)
            if self.fit_intercept:
                db[k] = -self.learning_rate * g.sum() / h.sum()
                dF[k] = db[k]
            penalties = float(self.l1_regularization), float(self.l2_regularization)
            given = order, g, h, w[k], *penalties, float(self.learning_rate)
            dF[k] += sweep_columns(*design, *given, dw[k], dF[k])
        return dw, db, dF.T

    def _accepted(
        self, loss: Any, y: np.ndarray, weight: np.ndarray, value: float, start: Any, moves: Any
    ) -> tuple[float, Any]:
        """The objective and the model after a round, whose step is halved until the objective does not rise."""
        with np.errstate(over="ignore", invalid="ignore"):
            for k in range(MOST_HALVINGS):
                w, b, F = (part + 0.5**k * move for part, move in zip(start, moves))
                now = self._objective(loss, y, F, weight, w)
                if now <= value:
                    return now, (w, b, F)
        return value, start

    def _objective(self, loss: Any, y: np.ndarray, F: np.ndarray, weight: np.ndarray, w: np.ndarray) -> float:
        """The sum of the losses, plus alpha |w|_1 + lambda / 2 |w|²."""
        penalty = self.l1_regularization * np.abs(w).sum() + 0.5 * self.l2_regularization * np.square(w).sum()
        return float(weight @ loss.losses(y, F) + penalty)

    def _state(self, w: np.ndarray, b: np.ndarray, dtype: Any) -> dict[str, Any]:
        """The fitted attributes after a round."""
        raise NotImplementedError

    def _check_loss(self, loss: Any) -> Any:
        """Refuse losses without a second derivative."""
        if not loss.newton:
            raise ValueError(
                f"{type(self).__name__}: loss={self.loss!r} has no second derivative, which steps need. Use a "
                "smooth loss, such as tercet.losses.Huber(1.0)."
            )
        return loss


@kernel
def sweep_columns(design, mean, order, g, h, w, l1, l2, rate, dw, dF):
    """One coordinate step for each column in `order`, less its mean. Changes of the weights w go to dw, those of
    the scores to dF; a number is returned that is added to all of them."""
    shift, slope, mass = 0.0, 0.0, 0.0
    for i in range(g.size):
        slope += g[i] + h[i] * dF[i]
        mass += h[i]
    for j in order:
        G, first, H = column_terms(design, j, g, h, dF, shift)
        G -= mean[j] * slope
        H += mean[j] * (mean[j] * mass - 2.0 * first)
        if H + l2 <= 0.0:  # a constant column
            continue
        best, here = H * (w[j] + dw[j]) - G, w[j] + dw[j]
        best = (best - l1 if best > l1 else best + l1 if best < -l1 else 0.0) / (H + l2)
        move = rate * (best - here)
        if move != 0.0:
            dw[j] += move
            row_add(design, j, move, dF)
            shift -= move * mean[j]
            slope += move * (first - mean[j] * mass)
    return shift


@verb
def column_terms(
    design: Any, j: int, g: np.ndarray, h: np.ndarray, dF: np.ndarray, shift: float
) -> tuple[float, float, float]:
    """The sums of (g + h (dF + shift)) x, h x and h x² over the values x of column j."""
    if isinstance(design, Dense):
        x, at = design.values[j], slice(None)
    else:
        s = slice(design.indptr[j], design.indptr[j + 1])
        x, at = design.data[s], design.indices[s]
    return x @ (g[at] + h[at] * (dF[at] + shift)), h[at] @ x, (h[at] * x) @ x


@implement(column_terms)
def _column_terms(design: Any, j: Any, g: Any, h: Any, dF: Any, shift: Any) -> Any:
    if getattr(design, "instance_class", None) is Dense:

        def dense(design: Any, j: Any, g: Any, h: Any, dF: Any, shift: Any) -> Any:
            x, G, first, second = design.values[j], 0.0, 0.0, 0.0
            for i in range(x.size):
                G += x[i] * (g[i] + h[i] * (dF[i] + shift))
                first += h[i] * x[i]
                second += h[i] * x[i] * x[i]
            return G, first, second

        return dense

    def compressed(design: Any, j: Any, g: Any, h: Any, dF: Any, shift: Any) -> Any:
        x = design.data[design.indptr[j] : design.indptr[j + 1]]
        at = design.indices[design.indptr[j] : design.indptr[j + 1]]
        G, first, second = 0.0, 0.0, 0.0
        for k in range(x.size):
            i = np.uint64(at[k])
            G += x[k] * (g[i] + h[i] * (dF[i] + shift))
            first += h[i] * x[k]
            second += h[i] * x[k] * x[k]
        return G, first, second

    return compressed
