"""The linear support vector classifier (线性支持向量机), for many rows and features."""

from __future__ import annotations

import functools
from typing import Any, Literal, Self

import numpy as np

from tercet.core.catalog import method
from tercet.core.estimator import generator
from tercet.core.parameters import CountOrZero, Jobs, Positive, Seed
from tercet.linear_model import LinearClassifier
from tercet.svm._linear.crammer_singer import CrammerSinger
from tercet.svm._linear.epochs import HINT, l2_solver, run_epochs, use_dual
from tercet.svm._linear.gram_coordinate import gram_matrix, suits
from tercet.svm._linear.intercept import linear_attributes
from tercet.svm._linear.l1_coordinate import L1CoordinateDescent, compressed_columns
from tercet.svm._linear.problem import LinearProblem, row_major
from tercet.svm.support_vectors import positive_part

Array = np.ndarray
# For a loss and a penalty: the forms, dual or not, that can be solved.
FORMS: dict[tuple[str, str], tuple[bool, ...]] = {
    ("hinge", "l2"): (True,),
    ("squared_hinge", "l2"): (False, True),
    ("squared_hinge", "l1"): (False,),
}


@method(
    zh="线性支持向量机",
    task="classification",
    model="f(x) = sign(w·x + b)",
    strategy="|w|²/2 or |w|₁, plus C times the sum of hinge or squared hinge losses",
    loss="squared_hinge",
    convex=True,
    algorithms={
        "dual": "dual coordinate descent with shrinking",
        "primal": "Newton's method, or coordinate descent for L1",
        "crammer_singer": "sequential dual method over the classes of a row",
    },
    texts=["Li ch. 7, sec. 7.2, eq. 7.32-7.39, 7.57-7.63", "Pattern Recognition ch. 5, eq. 5-56"],
    peers=["sklearn.svm.LinearSVC", "snapml.SupportVectorMachine"],
)
class LinearSVC(LinearClassifier):
    """Linear support vector classifier with a soft margin, for many rows and features.

    Minimises |w|^2 / 2 + C sum_i s_i max(0, 1 - y_i (w·x_i + b))^p with p = 1 or 2, or with |w|_1 as the penalty.
    The intercept is the weight of one more feature with the value `intercept_scaling`, so it is penalised, too
    (`HingeSVC` and `SVC(kernel="linear")` leave it free). More than two classes: each against the rest, or all at
    once.

    Parameters
    ----------
    penalty : {"l2", "l1"}, default="l2"
        "l1" makes most weights zero.
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        "hinge" is the loss of the texts; it goes with "l2" only.
    dual : bool or "auto", default="auto"
        The form that is solved; the minimum is the same. "auto" takes what is likely to be faster. There is no
        primal form for "hinge", and no dual one for "l1".
    tol : float, default=1e-4
        Dual: ends when no condition of optimality is violated by more. Primal: when the gradient has fallen to this
        share of the first one (times the share of the rarer class).
    C : float, default=1.0
        What a loss costs beside the penalty.
    multi_class : {"ovr", "crammer_singer"}, default="ovr"
        "crammer_singer" learns all classes at once; it has no use for loss, penalty and dual.
    fit_intercept : bool, default=True
    intercept_scaling : float, default=1
        The larger, the less the penalty touches the intercept.
    class_weight : dict or "balanced", optional
        Multiplies C for the rows of a class.
    verbose : int, default=0
        Print a line for each pass.
    random_state : int, RandomState or Generator, optional
        Order of rows or features.
    max_iter : int, default=1000
        The most passes.
    n_jobs : int, optional
        Threads, for classes side by side. The result does not depend on it.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    coef_ : array of shape (1, n_features), or (n_classes, n_features)
    intercept_ : array of shape (1,) or (n_classes,); 0.0 without an intercept
    n_iter_ : int
    history_ : dict of lists
        `objective` (of the form that is minimised, added up over the classes) and `violation` of each pass.

    Examples
    --------
    >>> X, y = [[3, 3], [4, 3], [1, 1]], [1, 1, -1]
    >>> model = LinearSVC(loss="hinge", C=10, random_state=0).fit(X, y)
    >>> model.coef_.round(3), model.intercept_.round(3)
    (array([[0.5, 0.5]]), array([-2.]))
    """

    def __init__(
        self,
        penalty: Literal["l1", "l2"] = "l2",
        loss: Literal["hinge", "squared_hinge"] = "squared_hinge",
        *,
        dual: bool | Literal["auto"] = "auto",
        tol: Positive = 1e-4,
        C: Positive = 1.0,
        multi_class: Literal["ovr", "crammer_singer"] = "ovr",
        fit_intercept: bool = True,
        intercept_scaling: Positive = 1,
        class_weight: dict | Literal["balanced"] | None = None,
        verbose: int | bool = 0,
        random_state: Seed = None,
        max_iter: CountOrZero = 1000,
        n_jobs: Jobs = None,
    ) -> None:
        self.penalty = penalty
        self.loss = loss
        self.dual = dual
        self.tol = tol
        self.C = C
        self.multi_class = multi_class
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    def _learn(self, X: Any, y: Any = None, sample_weight: Any = None, **more: Any) -> Self:
        return super()._learn(X, y, positive_part(sample_weight), **more)

    def _fit(self, X: Any, y: Array, sample_weight: Array | None) -> None:
        by_class = self._class_weights(self.class_weight, y, sample_weight)
        weight = np.ones(y.size) if sample_weight is None else sample_weight.astype(np.float64)
        X, keep = row_major(X), np.flatnonzero(weight)
        if keep.size < y.size:
            X, y, weight = X[keep], y[keep], weight[keep]
        bias = float(self.intercept_scaling) if self.fit_intercept else 0.0
        rng = generator(self.random_state)
        if self.multi_class == "crammer_singer":
            problem = LinearProblem(X, y, np.ones(y.size), self.C * weight * by_class[y], bias)
            solvers: list[Any] = [CrammerSinger(problem.without_zero_cost(), by_class.size, self.tol, rng)]
        else:
            solvers = self._one_vs_rest(X, y, weight, by_class, bias, rng)
        unpack = functools.partial(self._attributes, X.dtype)
        # each pass: over the rows (or features), for each class
        run_epochs(self, self.steps(self.max_iter, unpack=unpack, hint=HINT), solvers)
        self.__dict__.update(unpack([np.asarray(solver.v) for solver in solvers]))

    def _one_vs_rest(
        self, X: Any, y: Array, weight: Array, by_class: Array, bias: float, rng: np.random.Generator
    ) -> list[Any]:
        """A solver for each class against the rest, or one for two classes."""
        possible = FORMS.get((self.loss, self.penalty), ())
        dual = use_dual(self.dual, X.shape, possible) if possible else False
        if dual not in possible:
            raise ValueError(
                f"LinearSVC: Unsupported set of arguments: penalty={self.penalty!r}, loss={self.loss!r}, "
                f"dual={self.dual!r} cannot be solved; the choices are "
                + ", ".join(f"({p!r}, {loss!r}, dual={d})" for (loss, p), ds in FORMS.items() for d in ds)
                + "."
            )
        positive = range(by_class.size) if by_class.size > 2 else [1]
        columns = compressed_columns(X, bias) if self.penalty == "l1" else None
        solvers: list[Any] = []
        # all classes share the Gram matrix of few rows
        gram = gram_matrix(X, bias) if dual and suits(X) else None
        for k, own in zip(positive, rng.spawn(len(positive))):
            side = np.where(y == k, 1.0, -1.0)
            # among several classes the rest has weight 1
            by_side = by_class[y] if by_class.size == 2 else np.where(y == k, by_class[k], 1.0)
            problem = LinearProblem(
                X, side, side, self.C * weight * by_side, bias, squared=self.loss != "hinge", gram=gram
            )
            if columns is not None:
                solvers.append(L1CoordinateDescent(problem, columns, self.tol, own))
            else:
                solvers.append(l2_solver(problem, dual, self.tol, own, self.n_jobs))
        return solvers

    def _attributes(self, dtype: Any, weights: list[Array]) -> dict[str, Any]:
        V = np.vstack(weights)
        if len(V) == 2:  # Crammer and Singer's two functions as one
            V = V[1:] - V[:1]
        return linear_attributes(self, V, dtype)
