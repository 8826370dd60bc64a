"""The central support vector machine (中心支持向量机): margins of the classes' centres."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tercet.core.catalog import method
from tercet.core.estimator import Classifier
from tercet.core.parameters import Fraction, Jobs, NonNegative, Positive, PositiveOrInf, Real
from tercet.core.row_products import row_scores
from tercet.core.steps import ConvergenceWarning, Fit
from tercet.core.stopping import check_stop
from tercet.kernels import (
    Kernel,
    KernelMachine,
    Precomputed,
    centring_offset,
    intercept_shift,
    primal_weights,
    subtract_offset,
)
from tercet.svm._dual.problem import DualProblem, DualSolution
from tercet.svm._dual.solver import solve_dual
from tercet.svm._linear.intercept import hinge_intercepts
from tercet.svm.base import Iterations
from tercet.svm.support_vectors import dense_coef

# coef, b, alpha, beta, central margin and interval of b of a binary decision function
BinaryFit = tuple[np.ndarray, float, np.ndarray, float, float, tuple[float, float]]


@method(
    zh="中心支持向量机",
    task="classification",
    model="f(x) = w·phi(x) + b",
    strategy="||w||² / 2 + C Σ xi_i, subject to w·(x+ - x-) = 1 and y_i f(x_i) >= epsilon - xi_i",
    algorithms="dual by pairs, beside the centres' direction; or a blend of an SVM and that direction",
    texts=["Pattern Recognition ch. 5, eq. 5-88 to 5-98"],
)
class CentralSVC(KernelMachine, Classifier):
    """Support vector machine that widens the margin between the centres of the classes.

    Rows at the border determine an ordinary support vector machine, and an outlier there can turn it. Here the
    distance of the classes' centres x+ and x- from the hyperplane is maximised, (w·x+ - w·x-) / ||w||, and the rows
    only have to lie epsilon beyond it. For a small epsilon w is the direction of the centres; a larger one brings w
    towards the ordinary machine. With `blend` that compromise is made directly:

        w = (1 - blend) w_SVM + blend (x+ - x-)

    More than two classes: each against the rest. The Gram matrix is kept in memory.

    Parameters
    ----------
    C : float, default=1.0
        What a slack costs; infinity asks every row to lie epsilon beyond the hyperplane.
    epsilon : float, default=0.25
        How far beyond, where the centres are 1 apart (w·(x+ - x-) = 1): 0.25 is half way to a centre from a
        hyperplane in the middle.
    blend : float between 0 and 1, optional
        The part of the centres' direction. When given, epsilon has no meaning, and b is in the middle between the
        innermost rows of both sides (C=inf) or where the slacks of this w cost least.
    normalize : bool, default=False
        Blend directions of length 1, in place of the SVM's w and the difference of the centres as they are.
    kernel : str, Kernel or callable, default="rbf"
        How alike two rows are; see `tercet.kernels.as_kernel`. Centres are those of the mapped rows.
    degree, gamma, coef0 : int, float or {"scale", "auto"}, and float, default=3, "scale" and 0.0
        Parameters of the kernels that have a name.
    class_weight : dict or "balanced", optional
        Weights of the classes; they multiply the weights of the rows, and these C.
    tol : float, default=1e-4
        Stop when the conditions of the optimum hold within tol, in units of f.
    max_iter : int, default=-1
        The most steps of the solver; -1 leaves it to the solver.
    n_jobs : int, optional
        Threads. The result does not depend on it.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels.
    support_, support_vectors_ : arrays of shape (n_support,) and (n_support, n_features)
        The rows that w needs: those at the border and, where the centres' direction has a part in w, all.
    dual_coef_, intercept_ : arrays of shape (n_binary, n_support) and (n_binary,)
        f(x) = Σ_i dual_coef_i K(x_i, x) + intercept_.
    coef_ : array of shape (n_binary, n_features)
        w, for the linear kernel.
    alpha_, beta_ : arrays of shape (n_binary, n_samples) and (n_binary,)
        w = Σ_i alpha_i y_i x_i + beta (x+ - x-); with `blend`, alpha is the SVM's and beta is blend.
    central_margin_ : array of shape (n_binary,)
        The distance of the centres across the hyperplane.
    intercept_interval_ : array of shape (n_binary, 2)
        The b that are equally good; `intercept_` is the middle where no row fixes it.
    n_iter_ : array of shape (n_binary,)
        Two-variable steps of the solver.

    Examples
    --------
    >>> X = [[2, 2], [3, 3], [4, 1], [0, 0], [-1, 1], [0, -2], [1.5, 1.2]]
    >>> y = [1, 1, 1, -1, -1, -1, -1]
    >>> model = CentralSVC(C=np.inf, epsilon=0.15, kernel="linear", tol=1e-9).fit(X, y)
    >>> model.coef_.round(4), model.intercept_.round(4)
    (array([[0.1623, 0.2736]]), array([-0.7217]))
    """

    def __init__(
        self,
        *,
        C: PositiveOrInf = 1.0,
        epsilon: NonNegative = 0.25,
        blend: Fraction | None = None,
        normalize: bool = False,
        kernel: str | Kernel | Callable = "rbf",
        degree: NonNegative = 3,
        gamma: NonNegative | Literal["scale", "auto"] = "scale",
        coef0: Real = 0.0,
        class_weight: dict | Literal["balanced"] | None = None,
        tol: Positive = 1e-4,
        max_iter: Iterations = -1,
        n_jobs: Jobs = None,
    ) -> None:
        self.C = C
        self.epsilon = epsilon
        self.blend = blend
        self.normalize = normalize
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    fitted_shapes = {
        "support_vectors_": KernelMachine._declared_rows,
        "dual_coef_": "planes rows*",
        "intercept_": "planes",
    }

    def _fit(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        weight = self._balance(self.class_weight, y, sample_weight)
        weight = np.ones(y.size) if weight is None else np.asarray(weight, dtype=np.float64)
        K = self._resolve_kernel(X, sample_weight)
        centre = centring_offset(K, X)
        gram = np.asarray(K(subtract_offset(centre, X), n_jobs=self.n_jobs), dtype=np.float64)
        self.n_iter_: Any = []
        attributes = functools.partial(self._attributes, X, centre)
        if self.classes_.size == 2:
            functions = [self._fit_binary(gram, np.where(y == 1, 1.0, -1.0), weight, 1, attributes)]
        else:  # one-vs-rest
            functions, classes = [], range(self.classes_.size)
            for c, part in zip(classes, Fit.of(self).tasks(len(classes), "class")):
                with part.around():
                    functions.append(self._fit_binary(gram, np.where(y == c, 1.0, -1.0), weight, c))
        self.__dict__.update(attributes(functions))
        self.n_iter_ = np.array(self.n_iter_, dtype=np.int32)

    def _attributes(self, X: Any, centre: np.ndarray | None, functions: list[BinaryFit]) -> dict[str, Any]:
        """The fitted attributes of decision functions of centred rows."""
        names = ("dual_coef_", "intercept_", "alpha_", "beta_", "central_margin_", "intercept_interval_")
        found: dict[str, Any] = dict(zip(names, map(np.array, zip(*functions))))
        offset = np.array([intercept_shift(c, X, np.arange(c.size), centre) for c in found["dual_coef_"]])
        found["intercept_"] = found["intercept_"] - offset
        found["intercept_interval_"] = found["intercept_interval_"] - offset[:, None]
        support = np.flatnonzero(np.abs(found["dual_coef_"]).max(axis=0) > 0)
        found["dual_coef_"] = found["dual_coef_"][:, support]
        return {"support_": support, "support_vectors_": self._expansion_rows(X, support), **found}

    def _fit_binary(
        self, gram: np.ndarray, y: np.ndarray, weight: np.ndarray, c: int, attributes: Any = None
    ) -> BinaryFit:
        """One class against the others; where there are two classes only, callbacks see `attributes`."""
        centres, label = y * weight, self.classes_.tolist()[c]
        for side in (1.0, -1.0):
            total = weight[y == side].sum()
            if total == 0:
                raise ValueError(
                    f"{type(self).__name__}: class {label!r} or the others have no weight at all."
                )
            centres[y == side] /= total
        along = gram @ centres  # phi(x)·(x+ - x-)
        squared_distance = centres @ along
        if not squared_distance > 1e-12 * np.abs(gram.diagonal()).max():
            raise ValueError(
                f"{type(self).__name__}: the centres of class {label!r} and of the others are the same "
                "point for this kernel; there is no direction between them."
            )
        geometry = gram, y, weight, centres, along, squared_distance
        if self.blend is None:
            return self._constrained(*geometry, attributes)
        return self._blended(*geometry, self.blend, attributes)

    def _constrained(self, gram, y, weight, centres, along, squared_distance, attributes) -> BinaryFit:
        """The dual (5-96). At the optimum beta = (1 - Σ alpha_i y_i along_i) / |x+ - x-|²; substituted, that leaves
        the dual of an ordinary machine in the space orthogonal to the centres' direction."""
        orthogonal = _without_direction(gram, along, squared_distance)

        def decision(alpha: np.ndarray, b: float, interval: Any) -> BinaryFit:
            signed = alpha * y
            beta = (1.0 - signed @ along) / squared_distance
            coef = signed + beta * centres
            return coef, b, alpha, beta, 1.0 / _length(coef @ gram @ coef), interval

        p = y * along / squared_distance - self.epsilon
        found = self._solve(orthogonal, y, p, weight, decision, attributes)
        if found.message == "unbounded":
            raise ValueError(
                f"{type(self).__name__}: epsilon={self.epsilon} is too large for C=inf: no hyperplane with "
                "w·(x+ - x-) = 1 has all rows that far on their side. Lower epsilon, or give a finite C."
            )
        return decision(found.alpha, found.b, found.interval)

    def _blended(
        self, gram, y, weight, centres, along, squared_distance, part: float, attributes
    ) -> BinaryFit:
        """The direct compromise (5-98), which does not determine b: see `_intercepts`."""
        scale = np.sqrt(squared_distance) if self.normalize else 1.0

        def decision(alpha: np.ndarray, *_: Any) -> BinaryFit:
            signed = alpha * y
            if self.normalize:
                signed /= _length(signed @ gram @ signed)
            coef = (1.0 - part) * signed + part * centres / scale
            f = gram @ coef
            margin = coef @ along / _length(coef @ f)
            interval = self._intercepts(f, y, weight, coef @ along / 2)
            return coef, sum(interval) / 2, alpha, part, margin, interval

        found = self._solve(gram, y, np.full(y.size, -1.0), weight, decision, attributes)
        if found.message == "unbounded":
            raise ValueError(
                f"{type(self).__name__}: no hyperplane separates the classes, as C=inf asks. Give a finite C."
            )
        return decision(found.alpha)

    def _intercepts(self, f, y, weight, margin: float) -> tuple[float, float]:
        """The interval of b for given w: the middle between the innermost rows of both sides (C=inf), or where the
        slacks cost least for the margin that the centres would have if b were in the middle between them."""
        here = weight > 0
        if np.isinf(self.C):
            middle = -(f[here & (y > 0)].min() + f[here & (y < 0)].max()) / 2
            return middle, middle
        return hinge_intercepts(f[here], y[here], weight[here], margin)

    def _solve(self, gram, y, p, weight, decision, attributes) -> DualSolution:
        """Solve the dual with the Gram matrix and the linear term p."""
        upper = np.where(weight > 0, np.inf, 0.0) if np.isinf(self.C) else self.C * weight
        problem = DualProblem(Precomputed(gram), np.arange(y.size), y, p, upper, np.zeros(y.size))
        steps = None
        if attributes is not None:
            steps = functools.partial(
                self.steps, unpack=lambda state: attributes([decision(state[0], state[1], (state[1],) * 2)])
            )
        found = solve_dual(problem, tol=self.tol, max_iter=self.max_iter, n_jobs=self.n_jobs, steps=steps)
        self.n_iter_.append(max(1, found.n_iter))
        if not found.converged and found.message != "unbounded":
            warnings.warn(
                f"{type(self).__name__}: the solver stopped before it converged ({found.message}): the KKT "
                f"conditions are missed by {found.violation:.3g}, tol={self.tol:g}. Scale the features, "
                "lower C, or raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return found

    @property
    def coef_(self) -> np.ndarray:
        if not self._is_linear:
            raise AttributeError(f"coef_ is there only with kernel='linear'; got {self.kernel!r}.")
        check_is_fitted(self, "dual_coef_")
        return primal_weights(self.dual_coef_, self.support_vectors_)

    def decision_function(self, X: Any) -> np.ndarray:
        """The values f(x) of the decision functions.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,) for two classes, else (n_samples, n_classes)
        """
        check_is_fitted(self)
        X = self._check(X, reset=False)
        if self._is_linear:
            f = row_scores(X, dense_coef(self.coef_), self.intercept_)
        else:
            coef = np.ascontiguousarray(self.dual_coef_.T)
            f = self._kernel_expansion(X, self.support_vectors_, coef) + self.intercept_
        return f[:, 0] if self.classes_.size == 2 else f

    def predict(self, X: Any) -> np.ndarray:
        """The class on whose side x lies; among several, the one with the largest f.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
        """
        f = self.decision_function(X)
        return self.classes_[(f > 0).astype(int) if f.ndim == 1 else f.argmax(axis=1)]


def _without_direction(gram: np.ndarray, along: np.ndarray, squared: float) -> np.ndarray:
    """The Gram matrix of the rows without their parts along a direction; in blocks, for Ctrl-C to be heard."""
    out, step = np.empty_like(gram), max(1, (1 << 21) // along.size)
    for start in range(0, along.size, step):
        check_stop()
        rows = slice(start, start + step)
        np.subtract(gram[rows], np.outer(along[rows] / squared, along), out=out[rows])
    return out


def _length(square: float) -> float:
    """A length from its square; infinite where there is none: w is 0, or the kernel not positive semidefinite."""
    return float(np.sqrt(square)) if square > 0 else np.inf
