"""The kernel perceptron (核感知机): the dual form of the perceptron, its inner products those of a kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.estimator import check_is_fitted, generator
from tercet.core.kernel import kernel
from tercet.core.parameters import Count, Jobs, NonNegative, Positive, Real, Seed
from tercet.core.stopping import check_stop
from tercet.kernel_machines._engine.training_gram import TrainingGram
from tercet.kernel_machines.base import KernelClassifier, KernelName, coefficient_dtype, single_blas_thread
from tercet.kernels import Kernel

BLOCK = 256  # rows that are visited before their updates reach the scores of all others


@method(
    zh="核感知机",
    task="classification",
    model="f(x) = sign(Σ_j α_j y_j K(x_j, x) + b)",
    strategy="sum of -y f(x) over the misclassified",
    algorithms="for a misclassified row α_i += eta0 and b += eta0 y_i; the Gram matrix in blocks",
    texts=["Li ch. 2, Alg 2.2", "Li ch. 7, 7.3.1"],
)
class KernelPerceptron(KernelClassifier):
    """Kernel perceptron: the dual form of the perceptron, its inner products those of a kernel.

    A row with y_i f(x_i) <= 0 gets α_i += eta0, until a pass over the data makes no mistake; rows without a mistake
    are not needed for predictions. More than two classes: each against the rest.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="rbf"
        A name ("linear", "poly", "rbf", "laplacian", "sigmoid", "precomputed"), a kernel, or a function of two
        matrices that gives their Gram matrix.
    degree : float, default=3
        Of the kernel "poly".
    gamma : {"scale", "auto"} or float, default="scale"
        Of the kernels "rbf", "laplacian", "poly" and "sigmoid".
    coef0 : float, default=0.0
        Of the kernels "poly" and "sigmoid".
    eta0 : float, default=1.0
        How much a mistake counts.
    fit_intercept : bool, default=True
        Whether to learn b.
    max_iter : int, default=1000
        The most passes; data that the kernel cannot separate never give a clean one.
    tol : float or None, default=1e-3
        Stop, clean or not, when the mean loss of a pass has not fallen tol below the best so far for
        `n_iter_no_change` passes. None is the texts' rule: go on until a clean pass.
    n_iter_no_change : int, default=5
        See `tol`.
    shuffle : bool, default=True
        Visit the rows in a new random order in each pass. False is the order of the data.
    order : {"cyclic", "first", "random"} or list of row numbers, default="cyclic"
        Which row comes next: all in turn; always the first misclassified one; one drawn from the misclassified (in
        these two a pass is at most n_samples corrections); or the rows of a list in turn.
    variant : {"plain", "averaged"}, default="plain"
        The model to keep: the last, or the mean over all visited rows.
    class_weight : dict or "balanced", optional
        Weights of the classes; they multiply eta0, as the weights of rows do.
    random_state : int, default=0
        Decides every random order.
    n_jobs : int, optional
        Threads. The result does not depend on it.

    Attributes
    ----------
    support_ : array of shape (n_support,)
        The rows that were mistaken at least once.
    support_vectors_ : rows of shape (n_support, n_features)
        What predictions need of them; with kernel="precomputed" the numbers of the columns.
    dual_coef_ : array of shape (n_planes, n_support)
        The α_j y_j of these rows; there is one row for two classes.
    intercept_ : array of shape (n_planes,)
        The b.
    n_iter_ : int
        Passes made.

    Examples
    --------
    >>> X, y = [[3, 3], [4, 3], [1, 1]], [1, 1, -1]
    >>> model = KernelPerceptron("linear", shuffle=False).fit(X, y)
    >>> model.support_, model.dual_coef_, model.intercept_
    (array([0, 2]), array([[ 2., -5.]]), array([-3.]))
    """

    support_vectors_: Any

    def __init__(
        self,
        kernel: KernelName | Kernel | Callable[..., Any] = "rbf",
        *,
        degree: NonNegative = 3,
        gamma: Literal["scale", "auto"] | NonNegative = "scale",
        coef0: Real = 0.0,
        eta0: Positive = 1.0,
        fit_intercept: bool = True,
        max_iter: Count = 1000,
        tol: Real | None = 1e-3,
        n_iter_no_change: Count = 5,
        shuffle: bool = True,
        order: Literal["cyclic", "first", "random"] | list | tuple | np.ndarray = "cyclic",
        variant: Literal["plain", "averaged"] = "plain",
        class_weight: dict | Literal["balanced"] | None = None,
        random_state: Seed = 0,
        n_jobs: Jobs = None,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.eta0 = eta0
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.shuffle = shuffle
        self.order = order
        self.variant = variant
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs

    @single_blas_thread
    def _fit(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        weight = self._balance(self.class_weight, y, sample_weight)
        k = self.classes_.size if self.classes_.size > 2 else 1
        side = np.where(y[:, None] == (np.arange(k) if k > 1 else [1]), 1.0, -1.0)
        update = self.eta0 * (side if weight is None else side * weight[:, None].astype(np.float64))
        gram = TrainingGram(self._resolve_kernel(X, sample_weight), X, n_jobs=self.n_jobs)
        state = DualState(gram, update, float(self.fit_intercept))
        rng = generator(self.random_state)
        hint = "The classes may not be separable in the space of the kernel."
        best, idle = np.inf, 0
        for step in self.steps(self.max_iter, unpack=lambda model: self._attributes(X, *model), hint=hint):
            rows = self._visits(y.size, weight, rng)
            mistakes, loss = state.sweep(rows, rng, self.order)
            loss /= rows.size
            step.report(state.model(), mistakes=mistakes, loss=loss)
            if self.tol is not None:
                idle = idle + 1 if loss > best - self.tol else 0
                best = min(best, loss)
            if step.converged(mistakes == 0 or idle >= self.n_iter_no_change):
                break
        self.__dict__.update(self._attributes(X, *state.model(self.variant == "averaged")))

    def _visits(self, n: int, weight: np.ndarray | None, rng: np.random.Generator) -> np.ndarray:
        """The rows of one pass, in order."""
        if not isinstance(self.order, str):
            rows = np.asarray(self.order)
            whole = rows.ndim == 1 and rows.dtype.kind in "iu" and rows.size
            if not whole or rows.min() < 0 or rows.max() >= n:
                raise ValueError(
                    f"KernelPerceptron: order must list row numbers from 0 to {n - 1}; got {self.order!r}."
                )
            return rows.astype(np.int64)
        rows = np.arange(n) if weight is None else np.flatnonzero(weight > 0)
        return rng.permutation(rows) if self.shuffle and self.order == "cyclic" else rows

    def _attributes(self, X: Any, coef: np.ndarray, b: np.ndarray) -> dict[str, Any]:
        support = np.flatnonzero(coef.any(axis=1))
        support = support if support.size else np.zeros(1, dtype=np.intp)  # a constant is a model, too
        rows = self._expansion_rows(X, support)
        dtype = coefficient_dtype(rows)
        return {
            "support_": support,
            "support_vectors_": rows,
            "dual_coef_": np.ascontiguousarray(coef[support].T, dtype=dtype),
            "intercept_": b.astype(dtype),
        }

    def _expansion_points(self) -> Any:
        check_is_fitted(self, "support_vectors_")
        return self.support_vectors_


class DualState:
    """State of Alg 2.2 for each of k classes against the rest.

    Parameters
    ----------
    gram : K of the training rows.
    update : array of shape (n, k), what a mistake adds to α_i y_i: eta0 w_i y_i.
    learn_b : 1 or 0, whether it is added to b as well.

    Attributes
    ----------
    coef, b : the α_i y_i, of shape (n, k), and the b, of shape (k,); `scores` are Σ_j α_j y_j K(x_j, x_i).
    lag, lag_b : updates times the visits before them; what averaging subtracts is their quotient by `visited`.
    live : 1 for classes whose last pass had a mistake, else 0.
    """

    def __init__(self, gram: TrainingGram, update: np.ndarray, learn_b: float) -> None:
        self.gram, self.update, self.learn_b = gram, update, learn_b
        self.coef, self.scores = np.zeros(update.shape), np.zeros(update.shape)
        self.b = np.zeros(update.shape[1])
        self.lag, self.lag_b = np.zeros(update.shape), np.zeros_like(self.b)
        self.visited, self.live = np.zeros_like(self.b), np.ones_like(self.b)

    def model(self, averaged: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients and b: the last, or their mean over all visits."""
        if not averaged:
            return self.coef.copy(), self.b.copy()
        visits = np.maximum(self.visited, 1)
        return self.coef - self.lag / visits, self.b - self.lag_b / visits

    def sweep(self, rows: np.ndarray, rng: np.random.Generator, order: Any) -> tuple[int, float]:
        """One pass over the rows: the number of mistakes, and the sum of their losses."""
        if isinstance(order, str) and order != "cyclic":
            return self._correct_misclassified(rows, rng if order == "random" else None)
        mistakes, loss, wrong = 0, 0.0, np.zeros(self.b.size, dtype=bool)
        for start in range(0, rows.size, BLOCK):
            check_stop()
            here = rows[start : start + BLOCK]
            when = np.zeros((here.size, self.b.size), dtype=np.int64)
            some, more = visit(
                np.ascontiguousarray(self.gram.submatrix(here), dtype=np.float64),
                self.update[here], self.scores[here], self.learn_b, self.b, when,
            )  # fmt: skip
            mistakes, loss = mistakes + some, loss + more
            self._apply_updates(here, when)
            self.visited += here.size * self.live
            wrong |= when.any(axis=0)
        self.live *= wrong  # a class whose pass had no mistake has converged
        return mistakes, loss

    def _apply_updates(self, here: np.ndarray, when: np.ndarray) -> None:
        """Apply the updates of some visits to the coefficients and to the scores of all rows."""
        moved = when.any(axis=1)
        if not moved.any():
            return
        here, when = here[moved], when[moved]
        update = np.where(when > 0, self.update[here], 0.0)
        np.add.at(self.coef, here, update)  # a list of rows may hold one twice
        late = update * (self.visited + when - 1)
        np.add.at(self.lag, here, late)
        self.lag_b += self.learn_b * late.sum(axis=0)
        self.scores += self.gram.columns_times(here, update)

    def _correct_misclassified(self, rows: np.ndarray, rng: np.random.Generator | None) -> tuple[int, float]:
        """Correct, of each class in turn, the first misclassified row or one at random, while there are any."""
        mistakes, loss = 0, 0.0
        for _ in range(rows.size):
            some = 0
            here, when = np.zeros(self.b.size, dtype=np.int64), np.zeros((self.b.size,) * 2, dtype=np.int64)
            for c in range(self.b.size):
                margins = np.sign(self.update[rows, c]) * (self.scores[rows, c] + self.b[c])
                wrong = np.flatnonzero(margins <= 0)
                if wrong.size:
                    i = wrong[0 if rng is None else rng.integers(wrong.size)]
                    here[c], when[c, c], some = rows[i], 1, some + 1
                    loss -= float(margins[i])
                    self.b[c] += self.learn_b * self.update[rows[i], c]
            if not some:
                break
            self._apply_updates(here, when)
            self.visited, mistakes = self.visited + when.diagonal(), mistakes + some
        return mistakes, loss


@kernel
def visit(K, update, scores, learn_b, b, when):
    """Visit a block of rows in order; a mistake updates the scores of the rows after it.

    K : (m, m) of the block; update, scores : (m, k); when : (m, k), the visit of each mistake counted from 1.
    """
    mistakes, loss = 0, 0.0
    for c in range(b.size):
        for t in range(update.shape[0]):
            score = scores[t, c] + b[c]
            if update[t, c] * score <= 0.0 and update[t, c] != 0.0:
                for j in range(t + 1, update.shape[0]):
                    scores[j, c] += update[t, c] * K[t, j]
                b[c] += learn_b * update[t, c]
                when[t, c] = t + 1
                loss += abs(score)
                mistakes += 1
    return mistakes, loss
