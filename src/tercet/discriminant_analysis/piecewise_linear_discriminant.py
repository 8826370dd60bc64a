"""The general piecewise-linear discriminant (一般的分段线性判别函数), trained by error correction (错误修正法)."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.estimator import generator
from tercet.core.fitted_checks import Floats
from tercet.core.kernel import inner, kernel
from tercet.core.parameters import Count, Jobs, NonNegative, OpenFraction, Positive, Seed
from tercet.core.row_products import row_scores
from tercet.core.rows import row_add, row_dot, rows
from tercet.discriminant_analysis.subclasses import (
    SubclassClassifier,
    SubclassCounts,
    Subclasses,
    divided_classes,
)

SMALL = 0.01  # standard deviation of random initial weights


@method(
    zh="分段线性判别函数",
    task="classification",
    model="y = argmax_i g_i(x), g_i(x) = max_l (w_iˡ·x + w_i0ˡ): the class of the largest subclass discriminant",
    strategy="number of misclassified rows",
    convex=False,
    algorithms={
        "learned": "error correction: own best subclass += ρ(1, x), best subclass of the other classes -= ρ(1, x)",
        "kmeans": "the same for a fixed division of each class by k-means: every row has its own subclass",
    },
    texts=["Pattern Recognition ch. 5, sec. 5.2.2, eq. 5-3 to 5-8"],
)
class PiecewiseLinearDiscriminant(SubclassClassifier):
    """Piecewise-linear discriminant: the largest of several linear functions per class.

    g_i(x) = max_l (w_iˡ·x + w_i0ˡ), and the class with the largest g_i wins. A row of class j is classified
    correctly if the best subclass m of its class is strictly better than all subclasses of the other classes; if
    not, with n the best of these, w_jᵐ += ρ(1, x) and wⁿ -= ρ(1, x). Training ends after a pass without a
    correction, and has divided the classes into subclasses by then. If the subclasses are not linearly separable,
    there is no such pass; a shrinking ρ then forces an end.

    Parameters
    ----------
    n_subclasses : int, dict or list, default=2
        Subclasses of each class: one number; a dict from classes to numbers; or a list of such, of which
        cross-validation chooses the best.
    division : {"learned", "kmeans"}, default="learned"
        "learned" lets error correction find the subclasses. "kmeans" divides each class by k-means first, and it is
        then a row's own subclass that must beat all subclasses of the other classes. Subclasses that are given to
        `fit` are used in the same way.
    init : {"random", "means"} or dict, default="random"
        Initial weights: small random numbers; w = m, w₀ = -‖m‖²/2 with the means m of subclasses by k-means, which
        is the nearest mean; or a dict from each class to augmented weights (w₀, w), of shape (l_i, 1 + n_features).
    eta0 : float, default=1.0
        The step ρ of the first pass.
    learning_rate : {"constant", "inverse", "geometric"}, default="constant"
        The step of pass t = 0, 1, ...: eta0, eta0 / (1 + t), or eta0 * decay^t.
    decay : float, default=0.95
        Factor of the step per pass, for "geometric".
    max_iter : int, default=200
        Maximum number of passes.
    tol : float, default=1e-3
        With a shrinking step, also stop when no weight changes in a pass by more than tol times the largest weight.
    shuffle : bool, default=True
        Visit the rows in a new random order in each pass. False is the order of the data.
    variant : {"pocket", "plain"}, default="pocket"
        Which weights to keep: those after the pass with the fewest misclassified rows, or the last.
    cv : int, splitter or list of splits, default=5
        The folds that choose among several `n_subclasses`.
    random_state : int, optional
        Seed of the initial weights, of the order of the rows and of k-means.
    n_jobs : int, optional
        Threads for k-means and cross-validation; the result does not depend on it.

    Attributes
    ----------
    coef_ : array of shape (n_subclasses, n_features)
        The weights w_iˡ, those of the first class first.
    intercept_ : array of shape (n_subclasses,)
        The thresholds w_i0ˡ.
    subclass_labels_ : array of shape (n_subclasses,)
        The class of each subclass.
    n_subclasses_ : array of shape (n_classes,)
        The number of subclasses of each class.
    classes_ : array of shape (n_classes,)
        The labels.
    n_iter_ : int
        Passes made.
    history_ : dict
        For each pass the number of corrections ("mistakes") and the part of the weight that is misclassified
        after it ("error").
    best_n_subclasses_ : int or dict
        The chosen candidate, if there were several.
    cv_scores_ : array of shape (n_candidates, n_folds)
        The accuracy of each candidate on each fold, if there were several.

    Examples
    --------
    >>> X, y = [[-2], [2], [0], [-3], [3], [0.5]], [1, 1, 2, 1, 1, 2]
    >>> init = {1: [[0, -0.1], [0, 0.1]], 2: [[0, 0]]}
    >>> model = PiecewiseLinearDiscriminant({1: 2, 2: 1}, init=init, shuffle=False).fit(X, y)
    >>> model.coef_.ravel(), model.intercept_
    (array([ 2.4, -2.9,  0.5]), array([-1.,  0.,  1.]))
    >>> model.predict([[-1], [0.2], [1.5]])
    array([1, 2, 1])
    """

    fitted_shapes = {
        "coef_": Floats("subclasses features", finite=True),
        "intercept_": Floats("subclasses", finite=True),
    }
    width_checked_attributes = ("coef_",)

    def __init__(
        self,
        n_subclasses: SubclassCounts = 2,
        *,
        division: Literal["learned", "kmeans"] = "learned",
        init: Literal["random", "means"] | dict = "random",
        eta0: Positive = 1.0,
        learning_rate: Literal["constant", "inverse", "geometric"] = "constant",
        decay: OpenFraction = 0.95,
        max_iter: Count = 200,
        tol: NonNegative = 1e-3,
        shuffle: bool = True,
        variant: Literal["pocket", "plain"] = "pocket",
        cv: Any = 5,
        random_state: Seed = None,
        n_jobs: Jobs = None,
    ) -> None:
        self.n_subclasses = n_subclasses
        self.division = division
        self.init = init
        self.eta0 = eta0
        self.learning_rate = learning_rate
        self.decay = decay
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.variant = variant
        self.cv = cv
        self.random_state = random_state
        self.n_jobs = n_jobs

    coef_: np.ndarray
    intercept_: np.ndarray

    def _fit(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None, subclasses: Any = None) -> None:
        rng = generator(self.random_state)
        own, found, W, b = self._start(X, y, sample_weight, self._given_subclasses(subclasses, y), rng)
        weight = np.ones(y.size) if sample_weight is None else sample_weight.astype(np.float64)
        there = np.flatnonzero(weight > 0)
        packed, best = rows(X), (np.inf, W, b)
        for step in self.steps(
            self.max_iter,
            unpack=lambda state: self._attributes(found, state[0], state[1], X.dtype),
            hint="The subclasses may not be linearly separable. Raise n_subclasses, or change learning_rate.",
        ):
            order = rng.permutation(there) if self.shuffle else there
            before = W.copy(), b.copy()
            mistakes = correct(packed, y, own, found.owner, order, self._rate(step.index) * weight, W, b)
            error = misclassified(packed, y, found.owner, there, weight, W, b) / weight.sum()
            if error < best[0] or self.variant == "plain":
                best = error, W.copy(), b.copy()
            step.report(best[1:], mistakes=mistakes, error=error)
            if step.converged(mistakes == 0 or self._at_rest(before, W, b)):
                break
        self.__dict__.update(self._attributes(found, best[1], best[2], X.dtype))

    def _start(
        self,
        X: Any,
        y: np.ndarray,
        weight: np.ndarray | None,
        given: np.ndarray | None,
        rng: np.random.Generator,
    ) -> tuple[np.ndarray, Subclasses, np.ndarray, np.ndarray]:
        """Each row's own subclass (-1: error correction finds it), the subclasses, and their initial weights."""
        K, by_means = self.classes_.size, isinstance(self.init, str) and self.init == "means"
        own = np.full(y.size, -1, dtype=np.int64)
        fixed = given is not None or self.division == "kmeans"
        if given is None:
            counts = self._chosen_counts(X, y, weight, self.n_jobs)
            if fixed or by_means:
                given = divided_classes(X, y, weight, counts, rng, self.n_jobs)
        found = Subclasses(counts) if given is None else Subclasses.of_rows(y, given, K)[0]
        if given is not None and fixed:
            own = found.starts[y] + given
        shape = found.owner.size, X.shape[1]
        if isinstance(self.init, dict):
            W, b = self._given_weights_of(found, shape)
        elif by_means:
            assert given is not None
            mass, means = found.means(X, found.starts[y] + given, weight)
            W = np.where(mass[:, None] > 0, means, 0.0)
            b = -(W**2).sum(axis=1) / 2
        else:
            W, b = rng.normal(scale=SMALL, size=shape), rng.normal(scale=SMALL, size=shape[0])
        return own, found, W, b

    def _given_weights_of(self, found: Subclasses, shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
        """The parameter `init`, a dict of augmented weights, as weights and thresholds."""
        tables = []
        for label, count in zip(self.classes_.tolist(), found.counts):
            table = np.asarray(self.init.get(label, ()), dtype=np.float64)  # type: ignore[union-attr]
            if table.shape != (count, 1 + shape[1]) or not np.isfinite(table).all():
                raise ValueError(
                    f"PiecewiseLinearDiscriminant: init must give class {label!r} finite augmented weights (w0, w) "
                    f"of shape ({count}, {1 + shape[1]}); got {self.init.get(label)!r}."  # type: ignore[union-attr]
                )
            tables.append(table)
        table = np.concatenate(tables)
        return np.ascontiguousarray(table[:, 1:]), table[:, 0].copy()

    def _rate(self, t: int) -> float:
        """The step ρ of pass t."""
        return (
            self.eta0
            * {"constant": 1.0, "inverse": 1 / (1 + t), "geometric": self.decay**t}[self.learning_rate]
        )

    def _at_rest(self, before: tuple[np.ndarray, np.ndarray], W: np.ndarray, b: np.ndarray) -> bool:
        """Whether a shrinking step has brought training to an end."""
        if self.learning_rate == "constant":
            return False
        moved = max(np.abs(W - before[0]).max(), np.abs(b - before[1]).max())
        return bool(moved <= self.tol * max(np.abs(W).max(), np.abs(b).max()))

    def _attributes(self, found: Subclasses, W: np.ndarray, b: np.ndarray, dtype: Any) -> dict[str, Any]:
        return {
            "coef_": W.astype(dtype),
            "intercept_": b.astype(dtype),
            "subclass_labels_": self.classes_[found.owner],
            "n_subclasses_": found.counts,
        }

    def _subclass_scores(self, X: Any) -> np.ndarray:
        return row_scores(self._check(X, reset=False), self.coef_, self.intercept_)


@inner
def best_subclasses(X, i, label, own, owner, W, b):
    """The best subclass of row i's class (or its own), the best of the others, and whether the former is strictly
    better; ties go to the first subclass."""
    right = other = -1
    mine = theirs = 0.0
    for k in range(owner.size):
        if owner[k] == label and own >= 0 and own != k:
            continue
        g = row_dot(X, i, W[k]) + b[k]
        if owner[k] == label:
            if right < 0 or g > mine:
                right, mine = k, g
        elif other < 0 or g > theirs:
            other, theirs = k, g
    return right, other, mine > theirs


@kernel
def correct(X, y, own, owner, order, rate, W, b):
    """One pass of error correction, (5-7) and (5-8), over the rows in `order`; returns the number of corrections.

    own[i] : the subclass of row i, or -1; owner[k] : the class of subclass k; rate[i] : the step times its weight.
    """
    corrections = 0
    for at in range(order.size):
        i = order[at]
        m, n, correct = best_subclasses(X, i, y[i], own[i], owner, W, b)
        if not correct:
            row_add(X, i, rate[i], W[m])
            row_add(X, i, -rate[i], W[n])
            b[m] += rate[i]
            b[n] -= rate[i]
            corrections += 1
    return corrections


@kernel
def misclassified(X, y, owner, order, weight, W, b):
    """The weight of the rows whose best subclass is not strictly better than those of the other classes."""
    total = 0.0
    for at in range(order.size):
        i = order[at]
        if not best_subclasses(X, i, y[i], -1, owner, W, b)[2]:
            total += weight[i]
    return total
