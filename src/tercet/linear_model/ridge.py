"""Ridge regression (岭回归): least squares with an L2 penalty; Tikhonov's method for ill-posed equations."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import lstsq
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import column_or_1d

from tercet.core.catalog import method
from tercet.core.parameters import Count, Jobs, NonNegative, Seed
from tercet.linear_model.base import LinearClassifier, LinearRegressor
from tercet.linear_model.ridge_solvers import RidgeSolver

Array = np.ndarray
Solver = Literal["auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs"]


@method(
    zh="岭回归",
    task="regression",
    model="f(x) = w·x + b",
    strategy="sum of (y - f(x))^2 + alpha |w|^2: maximum a posteriori under a Gaussian prior",
    algorithms={
        "cholesky": "normal equations in closed form",
        "svd": "singular value decomposition",
        "sparse_cg": "conjugate gradients",
        "lsqr": "Golub-Kahan bidiagonalisation",
        "sag": "stochastic average gradient",
        "saga": "its unbiased form",
        "lbfgs": "quasi-Newton with bounds, for positive coefficients",
    },
    texts=["000 ch. 1, eq. 1.25", "001 ch. 2, 2.2", "002 ch. 10, eq. 10.6", "003 ch. 5, eq. 5-110"],
    peers=["sklearn.linear_model.Ridge"],
)
class Ridge(RidgeSolver, LinearRegressor):
    """Least squares that keeps its coefficients small.

    Minimises sum_i s_i (y_i - x_i·w - b)^2 + alpha |w|^2. The texts scale it in other ways: with N samples
    000 (1.25), a mean of squares + lambda/2 |w|^2 over all of w, is ``alpha=N * lambda / 2`` with
    ``penalize_intercept=True``; 003 (5-110), a mean + lambda |w|^2, is ``alpha=N * lambda``; 001's Gaussian
    prior of variance tau^2 with noise sigma^2 is ``alpha=sigma^2 / tau^2``.

    Parameters
    ----------
    alpha : float or array of shape (n_targets,), default=1.0
        Strength of the penalty.
    fit_intercept : bool, default=True
        Whether there is a b.
    copy_X : bool, default=True
        Taken for compatibility: X is never changed.
    max_iter : int, optional
        The most iterations of an iterative solver.
    tol : float, default=1e-4
        Precision of an iterative solver.
    solver : {"auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs"}, default="auto"
        How the objective is minimised. "auto" is "cholesky", on sparse data with many columns "sparse_cg",
        with `positive` "lbfgs". Where "cholesky" finds the equations singular, "svd" takes over.
    positive : bool, default=False
        Keep coefficients at or above 0.
    random_state : int, RandomState, Generator or None
        Order of the samples in "sag" and "saga".
    penalize_intercept : bool, default=False
        Count b among the penalised coefficients, as the texts' formulas do.
    n_jobs : int, optional
        Threads. The result does not depend on it.

    Attributes
    ----------
    coef_ : array of shape (n_features,) or (n_targets, n_features)
    intercept_ : float or array of shape (n_targets,)
    solver_ : the solver that was used.
    n_iter_ : array of shape (n_targets,)
        Iterations; 1 for the direct solvers (not None as in scikit-learn, whose own checks of estimators want
        a number).

    Examples
    --------
    >>> X = [[1, 0.5], [2, 1.5], [3, 2], [4, 4.5]]
    >>> Ridge(alpha=1, fit_intercept=False).fit(X, [1, 2.2, 2.9, 4.2]).coef_.round(6)
    array([0.708894, 0.324519])
    """

    multi_output = True

    def __init__(
        self,
        alpha: NonNegative | list | tuple | np.ndarray = 1.0,
        *,
        fit_intercept: bool = True,
        copy_X: bool = True,
        max_iter: Count | None = None,
        tol: NonNegative = 1e-4,
        solver: Solver = "auto",
        positive: bool = False,
        random_state: Seed = None,
        penalize_intercept: bool = False,
        n_jobs: Jobs = None,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.solver = solver
        self.positive = positive
        self.random_state = random_state
        self.penalize_intercept = penalize_intercept
        self.n_jobs = n_jobs

    def _fit(self, X: Any, y: Array, sample_weight: Array | None) -> None:
        self.__dict__.update(self._solve(X, y, sample_weight))


@method(
    zh="岭回归分类器",
    task="classification",
    model="f(x) = sign(w·x + b)",
    strategy="ridge regression of labels -1 and +1",
    algorithms={"solver": "those of Ridge"},
    texts=["002 ch. 10, eq. 10.6"],
    peers=["sklearn.linear_model.RidgeClassifier"],
)
class RidgeClassifier(RidgeSolver, LinearClassifier):
    """Ridge regression of the labels -1 and +1, one target for each of several classes.

    Parameters
    ----------
    alpha, fit_intercept, copy_X, max_iter, tol, solver, positive, random_state, penalize_intercept, n_jobs
        As in `Ridge`.
    class_weight : dict or "balanced", optional
        Weights of the classes.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    coef_ : array of shape (1, n_features) or (n_classes, n_features)
    intercept_ : array of shape (1,) or (n_classes,)
    solver_, n_iter_
        As in `Ridge`.

    Examples
    --------
    >>> model = RidgeClassifier().fit([[3, 3], [4, 3], [1, 1]], ["near", "near", "far"])
    >>> model.predict([[5, 5], [0, 0]])
    array(['near', 'far'], dtype='<U4')
    """

    multi_output = True

    def __init__(
        self,
        alpha: NonNegative | list | tuple | np.ndarray = 1.0,
        *,
        fit_intercept: bool = True,
        copy_X: bool = True,
        max_iter: Count | None = None,
        tol: NonNegative = 1e-4,
        class_weight: dict | Literal["balanced"] | None = None,
        solver: Solver = "auto",
        positive: bool = False,
        random_state: Seed = None,
        penalize_intercept: bool = False,
        n_jobs: Jobs = None,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.class_weight = class_weight
        self.solver = solver
        self.positive = positive
        self.random_state = random_state
        self.penalize_intercept = penalize_intercept
        self.n_jobs = n_jobs

    def _fit(self, X: Any, y: Array, sample_weight: Array | None) -> None:
        if y.ndim == 2:
            weight = sample_weight
            if self.class_weight is not None:
                by_class = compute_sample_weight(self.class_weight, y)
                weight = by_class if weight is None else by_class * weight
            signs = np.where(y > 0, 1.0, -1.0)
        else:
            weight = self._balance(self.class_weight, y, sample_weight)
            indicators = y[:, None] == (np.arange(self.classes_.size) if self.classes_.size > 2 else [1])
            signs = np.where(indicators, 1.0, -1.0)
        self.__dict__.update(self._solve(X, signs, weight))

    def _encode(self, y: Any) -> Array:
        self._several = type_of_target(y).startswith("multilabel")
        if not self._several:
            return super()._encode(column_or_1d(y, warn=True))
        y = y.toarray() if hasattr(y, "toarray") else np.asarray(y)
        self.classes_ = np.arange(y.shape[1])
        return y

    def predict(self, X: Any) -> Array:
        """The class of each row, or its labels as a matrix of zeros and ones where there may be several.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The data.

        Returns
        -------
        labels : array of shape (n_samples,) or (n_samples, n_labels)
        """
        scores = self.decision_function(X)
        if self._several:
            return (scores > 0).astype(int)
        winner = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[winner]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False  # several labels, but not several kinds of labels
        tags.classifier_tags.multi_label = True
        return tags


@method(
    zh="吉洪诺夫正则化",
    task="inverse problem",
    model="A f = F with an operator A that magnifies errors of F",
    strategy="|A f - F|^2 + lam |L f|^2",
    algorithms="least squares on the stacked equations",
    texts=["003 ch. 5, eq. 5-104 to 5-106"],
)
def tikhonov(A: ArrayLike, F: ArrayLike, lam: float, operator: ArrayLike | int | None = None) -> Array:
    """Solve an ill-posed equation A f = F by Tikhonov's regularisation (不适定问题).

    Parameters
    ----------
    A : array of shape (m, n)
    F : array of shape (m,) or (m, k)
    lam : float
        Weight of the regulariser, at least 0; at 0 the solution of least norm.
    operator : array of shape (r, n) or int, optional
        L; by default the identity. An integer p stands for the p-th differences, which ask for a smooth f.

    Returns
    -------
    f : array of shape (n,) or (n, k)

    Examples
    --------
    >>> A = [[1, 1], [1, 1.0001]]
    >>> tikhonov(A, [2, 2.0011], 0).round(6), tikhonov(A, [2, 2.0011], 1e-3).round(8)
    (array([-9., 11.]), array([0.99995001, 1.00005001]))
    """
    A, F = np.asarray(A, dtype=np.float64), np.asarray(F, dtype=np.float64)
    if not 0 <= lam < np.inf:
        raise ValueError(f"lam must be finite and at least 0; got {lam!r}.")
    if A.ndim != 2 or F.ndim not in (1, 2) or F.shape[0] != A.shape[0]:
        raise ValueError(f"A must be a matrix with as many rows as F; got shapes {A.shape} and {F.shape}.")
    L = np.eye(A.shape[1])
    if isinstance(operator, int | np.integer):
        if not 0 <= operator < A.shape[1]:
            raise ValueError(
                f"operator must be a matrix or an order from 0 to {A.shape[1] - 1}; got {operator}."
            )
        L = np.diff(L, n=int(operator), axis=0)
    elif operator is not None:
        L = np.asarray(operator, dtype=np.float64)
        if L.ndim != 2 or L.shape[1] != A.shape[1]:
            raise ValueError(f"operator must have {A.shape[1]} columns; got shape {L.shape}.")
    rows = np.vstack([A, np.sqrt(lam) * L]) if lam > 0 else A
    right = np.concatenate([F, np.zeros((len(rows) - len(A), *F.shape[1:]))])
    return lstsq(rows, right, cond=np.finfo(float).eps)[0]
