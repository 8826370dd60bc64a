"""Transductive support vector machine (TSVM, 半监督支持向量机)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.estimator import check_is_fitted
from tercet.core.fitted_checks import Indices, Labels
from tercet.core.parallel import one_blas_thread
from tercet.core.parameters import Count, Jobs, NonNegative, Positive, Real
from tercet.core.steps import ConvergenceWarning
from tercet.core.validation import finite_predictions
from tercet.kernels import (
    Kernel,
    KernelMachine,
    Linear,
    Precomputed,
    centring_offset,
    intercept_shift,
    primal_weights,
    subtract_offset,
)
from tercet.semi_supervised._tsvm.label_search import LabelSearch, Separator, exhaustive_labels
from tercet.semi_supervised.partial_labels import (
    SemiSupervisedClassifier,
    check_labeled_weight,
    warn_all_labeled,
)

GRAM_ROWS = 2048  # up to which the Gram matrix is computed even for the linear kernel


@method(
    zh="半监督支持向量机 (TSVM)",
    task="classification",
    model="f(x) = sign(w·φ(x) + b), and a label for each row without one",
    strategy="least ‖w‖² / 2 + C_l Σ_l ξ + C_u Σ_u ξ over w, b and the labels of the rows without one",
    loss="hinge",
    convex=False,
    algorithms={
        "label-switching": "labels by the SVM of the labelled rows; pairs of labels switched, C_u doubled",
        "exhaustive": "all labels there can be, by branch and bound: the optimum (S3VM), for tiny data",
    },
    texts=["watermelon notes ch. 11, sec. 11.3, Fig 13.4"],
    peers=["svmlight", "sklearn.svm.SVC"],
)
class TransductiveSVC(SemiSupervisedClassifier, KernelMachine):
    """Support vector machine whose margin counts the rows without a label, too (TSVM).

    The separator of the labelled rows (SVM_l) labels the others. With a small cost C_u of their slacks, the
    problem min ‖w‖²/2 + C_l Σ_l ξ + C_u Σ_u ξ is solved; where a positive and a negative label of two of them
    have slacks ξ_i, ξ_j > 0 with ξ_i + ξ_j > 2, the labels are switched, which lowers the objective, and the
    problem is solved again from where it was; where there are none, C_u is doubled, up to C_l. The number of
    positive labels stays what SVM_l made it, so that the optimum (algorithm="exhaustive") may be missed. Learning
    is transductive: `transduction_` has the labels; f itself is there for new rows. More than two classes are one
    problem for each against the rest.

    Parameters
    ----------
    C : float, default=1.0
        C_l, the cost of the slack of a labelled row.
    kernel : str, Kernel or callable, default="rbf"
        "linear", "poly", "rbf", "sigmoid", "laplacian", "precomputed" (X is the Gram matrix), a kernel of
        `tercet.kernels`, or a function of two matrices that gives their Gram matrix.
    degree : float, default=3
        Of "poly".
    gamma : {"scale", "auto"} or float, default="scale"
        Of "poly", "rbf", "sigmoid" and "laplacian".
    coef0 : float, default=0.0
        Of "poly" and "sigmoid".
    C_unlabeled : float, optional
        What C_u grows to; by default C.
    C_start : float, optional
        C_u at the start, much smaller than C; by default C_unlabeled / 1000.
    balance : bool, default=False
        Against classes of unequal size: C_u of positive labels is C_u of negative ones times their number divided
        by that of positive ones.
    switching : {"multiple", "single"}, default="multiple"
        Switch all pairs that fulfil the condition, greatest slacks first, before the problem is solved again; or
        one, as in the text.
    algorithm : {"label-switching", "exhaustive"}, default="label-switching"
        The text's local search; or the optimum over all labels, for up to 30 rows without one.
    tol : float, default=1e-3
        Tolerance of the KKT conditions.
    max_iter : int, default=10000
        The most solutions of the problem, for each class.
    cache_size : float, default=1000
        Megabytes up to which the Gram matrix is kept; beyond, its rows are computed when they are needed.
    n_jobs : int, optional
        Threads; the result does not depend on it.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels.
    transduction_ : array of shape (n_samples,)
        The labels that were given, and those found for the other rows.
    support_ : array of shape (n_support,)
        Numbers of the support vectors.
    support_vectors_ : array or CSR matrix of shape (n_support, n_features)
        Those rows (of a Gram matrix, their numbers).
    dual_coef_ : array of shape (n_problems, n_support)
        α y of the support vectors; one problem for two classes, else one for each class.
    intercept_ : array of shape (n_problems,)
        b.
    coef_ : array of shape (n_problems, n_features)
        w, with a linear kernel only.
    objective_ : array of shape (n_problems,)
        ‖w‖²/2 + C_l Σ_l ξ + C_u Σ_u ξ at the end.
    n_switches_ : array of shape (n_problems,)
        Pairs of labels that were switched.
    history_ : dict
        Objective, C_u and pairs switched after each solution.

    Examples
    --------
    >>> X = [[0.0], [1.0], [2.0], [6.0], [7.0], [8.0], [9.0], [10.0]]
    >>> y = [0, -1, -1, -1, -1, -1, -1, 1]
    >>> model = TransductiveSVC(kernel="linear", C=10.0).fit(X, y)
    >>> model.transduction_
    array([0, 0, 0, 1, 1, 1, 1, 1])
    >>> model.coef_.round(3), model.intercept_.round(3)
    (array([[0.5]]), array([-2.]))
    """

    inference = "transductive"

    def __init__(
        self,
        *,
        C: Positive = 1.0,
        kernel: Literal["linear", "poly", "rbf", "sigmoid", "laplacian", "precomputed"]
        | Kernel
        | Callable[..., Any] = "rbf",
        degree: NonNegative = 3,
        gamma: Literal["scale", "auto"] | NonNegative = "scale",
        coef0: Real = 0.0,
        C_unlabeled: Positive | None = None,
        C_start: Positive | None = None,
        balance: bool = False,
        switching: Literal["multiple", "single"] = "multiple",
        algorithm: Literal["label-switching", "exhaustive"] = "label-switching",
        tol: Positive = 1e-3,
        max_iter: Count = 10_000,
        cache_size: Positive = 1000,
        n_jobs: Jobs = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.C_unlabeled = C_unlabeled
        self.C_start = C_start
        self.balance = balance
        self.switching = switching
        self.algorithm = algorithm
        self.tol = tol
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.n_jobs = n_jobs

    fitted_shapes = {
        "transduction_": Labels("samples"),
        "support_": Indices("rows*", below="samples"),
        "support_vectors_": KernelMachine._declared_rows,
        "dual_coef_": "planes rows*",
        "intercept_": "planes",
    }
    support_: np.ndarray
    support_vectors_: Any
    dual_coef_: np.ndarray
    intercept_: np.ndarray
    transduction_: np.ndarray

    def _fit(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        check_labeled_weight(y, sample_weight, self.classes_, type(self).__name__)
        if (y >= 0).all():
            warn_all_labeled(type(self).__name__)
        weight = np.ones(y.size) if sample_weight is None else sample_weight.astype(np.float64)
        rows = np.flatnonzero(weight > 0)  # a row without a weight is labelled by f
        K = self._resolve_kernel(X, sample_weight)
        centre = centring_offset(K, X, rows, weight[rows])
        kernel, points = self._dual_rows(K, X, rows, centre)
        codes = y[rows]
        options = {"tol": self.tol, "n_jobs": self.n_jobs, "cache_size": self.cache_size}
        searches = []
        for c in [1] if self.classes_.size == 2 else range(self.classes_.size):
            sign = np.where(codes == c, 1.0, np.where(codes < 0, 0.0, -1.0))  # 0: no label
            searches.append(LabelSearch(kernel, points, sign, weight[rows], options))

        def fitted(found: list[Separator]) -> dict[str, Any]:
            return self._attributes(X, y, rows, centre, found)

        most = float(self.C if self.C_unlabeled is None else self.C_unlabeled)
        with one_blas_thread():
            if self.algorithm == "exhaustive":
                found = [exhaustive_labels(search, self.C, most) for search in searches]
            else:
                found = self._switch_labels(searches, most, fitted)
        self.__dict__.update(fitted(found))
        self.objective_ = np.array([one.objective for one in found])
        self.n_switches_ = np.array([one.n_switches for one in found])
        if not all(one.converged for one in found):
            warnings.warn(
                f"{type(self).__name__}: the dual was not solved within tol={self.tol:g}. Scale the features, or "
                "lower C.",
                ConvergenceWarning,
                stacklevel=6,
            )

    def _switch_labels(self, searches: list[LabelSearch], most: float, fitted: Any) -> list[Separator]:
        """The separators and labels of all problems (Fig 13.4), side by side."""
        start = min(most / 1000 if self.C_start is None else self.C_start, most)
        for search in searches:
            search.label_by_known(self.C)  # 1, 2: SVM_l labels the rows without a label
            search.set_costs(self.C, start if search.unlabeled.size else most, balance=self.balance)  # 3
        found: list[Any] = [None] * len(searches)
        going = list(range(len(searches)))
        hint = "Raise max_iter, or C_start."
        for step in self.steps(self.max_iter, unpack=fitted, hint=hint):  # 4, 6
            switched, after = 0, []
            for k in going:
                search = searches[k]
                found[k] = search.solve()  # 5, 9
                pairs = search.pairs_to_switch(found[k], single=self.switching == "single")
                switched += len(pairs)
                if len(pairs):
                    search.switch(pairs)  # 7, 8
                elif search.C_unlabeled >= most:
                    continue
                else:
                    search.set_costs(self.C, min(2 * search.C_unlabeled, most), balance=self.balance)  # 11
                after.append(k)
            step.report(
                list(found),
                objective=sum(one.objective for one in found),
                C_unlabeled=min(one.C_unlabeled for one in found),
                switched=switched,
            )
            going = after
            if step.converged(not going):
                break
        return found

    def _dual_rows(self, K: Kernel, X: Any, rows: np.ndarray, centre: Any) -> tuple[Kernel, Any]:
        """Kernel and rows of the dual: the Gram matrix and its row numbers where it is small enough to be kept."""
        if self._takes == "gram":
            return Precomputed(np.ascontiguousarray(X[np.ix_(rows, rows)], dtype=np.float64)), np.arange(
                rows.size
            )
        points = subtract_offset(centre, X if rows.size == X.shape[0] else X[rows])
        size = 8.0 * rows.size**2 / 2**20
        if size > self.cache_size or (isinstance(K, Linear) and rows.size > GRAM_ROWS):
            return K, points
        gram = np.asarray(K.gram(points, points, n_jobs=self.n_jobs), dtype=np.float64)
        return Precomputed(gram), np.arange(rows.size)

    def _attributes(
        self, X: Any, y: np.ndarray, rows: np.ndarray, centre: Any, found: list[Separator]
    ) -> dict[str, Any]:
        coefs = np.stack([one.coef for one in found])
        support = np.flatnonzero(coefs.any(axis=0))
        intercept = np.array([one.b - intercept_shift(one.coef, X, rows, centre) for one in found])
        attributes = {
            "support_": rows[support],
            "support_vectors_": self._expansion_rows(X, rows[support]),
            "dual_coef_": coefs[:, support],
            "intercept_": intercept,
        }
        codes = y.copy()
        open_rows = np.flatnonzero(y < 0)
        if open_rows.size:
            shown = KernelMachine.__copy__(self)
            shown.__dict__.update(attributes)
            scores = shown._scores(X[open_rows])
            if self.classes_.size > 2:
                codes[open_rows] = scores.argmax(axis=1)
            else:
                codes[open_rows] = scores[:, 0] > 0
                codes[rows] = np.where(y[rows] < 0, found[0].sign > 0, y[rows])  # ŷ is the answer
        return {**attributes, "transduction_": self.classes_[codes]}

    # Deciding ---------------------------------------------------------------------------------------------------

    def _scores(self, X: Any) -> np.ndarray:
        values = self._kernel_expansion(X, self.support_vectors_, self.dual_coef_.T)
        return finite_predictions(values + self.intercept_, type(self).__name__)

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores f(x): of shape (n_samples,) for two classes, else (n_samples, n_classes).

        Parameters
        ----------
        X : rows that the kernel takes
            Arrays or sparse matrices, strings, or rows of a Gram matrix.

        Returns
        -------
        scores : array
            Positive means the second class when there are two.
        """
        check_is_fitted(self, "dual_coef_")
        scores = self._scores(self._check(X, reset=False))
        return scores[:, 0] if self.classes_.size == 2 else scores

    def predict(self, X: Any) -> np.ndarray:
        """The class of new rows.

        Parameters
        ----------
        X : rows that the kernel takes
            Arrays or sparse matrices, strings, or rows of a Gram matrix.

        Returns
        -------
        labels : array of shape (n_samples,)
        """
        scores = self.decision_function(X)
        return self.classes_[(scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]

    @property
    def coef_(self) -> np.ndarray:
        """The weights w, when the kernel is linear."""
        if not self._is_linear:
            raise AttributeError("coef_ is only available when using a linear kernel")
        check_is_fitted(self, "dual_coef_")
        return np.asarray(primal_weights(self.dual_coef_, self.support_vectors_))
