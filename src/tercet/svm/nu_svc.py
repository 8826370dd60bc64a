"""The ν support vector classifier (ν-支持向量机)."""

from __future__ import annotations

import functools
import warnings
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.parameters import ArrayLike, Jobs, Positive, Real, Seed
from tercet.core.steps import ConvergenceWarning
from tercet.kernels import Kernel, centring_offset
from tercet.svm._dual.problem import DualProblem, DualSolution
from tercet.svm._dual.solver import solve_dual
from tercet.svm.base import (
    Degree,
    Gamma,
    Iterations,
    KernelLike,
    Nu,
    SupportVectorClassifier,
)
from tercet.svm.binary_problems import (
    BinaryProblem,
    MultiClass,
    binary_problems,
    class_codes,
    constant_solution,
)
from tercet.svm.calibration import calibrate
from tercet.svm.support_vectors import dual_rows, shared_rows

NO_MARGIN = 1e-12  # a margin this small, relative to what f could be, is rounding


@method(
    zh="ν-支持向量机",
    task="classification",
    model="f(x) = sign(Σ α_i y_i K(x_i, x) + b)",
    strategy="least ‖w‖² / 2 - ν ρ + Σ ξ / n with y f(x) >= ρ - ξ: ν in place of C",
    loss="hinge",
    convex=True,
    algorithms="the dual, by blocks of variables and second-order pairs of the same sign",
    texts=["Li ch. 7", "Pattern Recognition ch. 5, sec. 5.5"],
    peers=["sklearn.svm.NuSVC"],
)
class NuSVC(SupportVectorClassifier):
    """Support vector classifier with a fraction of the rows, nu, in place of the cost C.

    At most nu of the rows are on the wrong side of their margin, and at least nu are support vectors.

    Parameters
    ----------
    nu : float, default=0.5
        That part, in (0, 1]. It cannot be more than twice the part of the smaller class of a binary problem.
    kernel : str, Kernel or callable, default="rbf"
        As in `SVC`.
    degree : float, default=3
        Of "poly".
    gamma : {"scale", "auto"} or float, default="scale"
        As in `SVC`.
    coef0 : float, default=0.0
        Of "poly" and "sigmoid".
    shrinking : bool, default=True
        Leave out variables that no violating pair contains at the time, where the full Gram matrix is computed
        (up to 2048 rows).
    probability : bool, default="deprecated"
        Whether there is `predict_proba`, by Platt's sigmoid; `calibration="platt"` is the same without the warning
        that scikit-learn has given since it deprecated this parameter.
    tol : float, default=1e-3
        Tolerance of the KKT conditions.
    cache_size : float, default=200
        Megabytes for rows of the Gram matrix.
    class_weight : dict or "balanced", optional
        Factors of the weights of rows, by class.
    verbose : bool, default=False
        Print a line for each binary problem.
    max_iter : int, default=-1
        The most two-variable steps for each binary problem; -1 is no limit.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        As in `SVC`.
    break_ties : bool, default=False
        Decide ties of votes by scores, rather than for the first class.
    random_state : int, RandomState, Generator or None
        Decides a random `code`; nothing else is random.
    multi_class : {"ovo", "ovr", "dag", "ecoc"}, default="ovo"
        As in `SVC`.
    code : str or array of shape (n_classes, n_letters), default="exhaustive"
        The code of "ecoc", as in `SVC`.
    calibration : {"platt", "isotonic"}, optional
        How scores become probabilities, as in `SVC`; without it there is no `predict_proba`.
    n_jobs : int, optional
        Threads; the result does not depend on it.

    Attributes
    ----------
    classes_, support_, support_vectors_, n_support_, dual_coef_, intercept_ : arrays
        As in `SVC`.
    coef_ : array of shape (n_binary, n_features)
        The weights w, with a linear kernel only.
    rho_ : array of shape (n_binary,)
        The margin ρ of each binary problem; f is divided by it, so that the margin is 1, as in `SVC` with
        C = 1 / ρ.
    kernel_ : Kernel
        The kernel, with its data-dependent parameters resolved.
    class_weight_ : array of shape (n_classes,)
        The factors of the classes.
    objective_, violation_ : arrays of shape (n_binary,)
        Of the minimised dual, and the violation of the KKT conditions.
    n_iter_ : array of shape (n_binary,)
        Two-variable steps of the solver.
    fit_status_ : int
        0, or 1 when a solver stopped before it converged.
    shape_fit_ : tuple
        The shape of X.
    code_book_ : array of shape (n_classes, n_binary)
        The sign of each class in each binary problem, 0 where it has no part.
    calibration_ : list of arrays
        For each binary problem, A and B of the sigmoid, or the corners of the isotonic function.

    Examples
    --------
    >>> X, y = [[-1, -1], [-2, -1], [1, 1], [2, 1]], [1, 1, 2, 2]
    >>> NuSVC(nu=0.5).fit(X, y).predict([[-0.8, -1]])
    array([1])
    """

    def __init__(
        self,
        *,
        nu: Nu = 0.5,
        kernel: KernelLike = "rbf",
        degree: Degree = 3,
        gamma: Gamma = "scale",
        coef0: Real = 0.0,
        shrinking: bool = True,
        probability: bool | Literal["deprecated"] = "deprecated",
        tol: Positive = 1e-3,
        cache_size: Positive = 200,
        class_weight: dict | Literal["balanced"] | None = None,
        verbose: bool | int = False,
        max_iter: Iterations = -1,
        decision_function_shape: Literal["ovr", "ovo"] = "ovr",
        break_ties: bool = False,
        random_state: Seed = None,
        multi_class: MultiClass = "ovo",
        code: ArrayLike = "exhaustive",
        calibration: Literal["platt", "isotonic"] | None = None,
        n_jobs: Jobs = None,
    ) -> None:
        self.nu = nu
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.multi_class = multi_class
        self.code = code
        self.calibration = calibration
        self.n_jobs = n_jobs

    def _fit(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        K = self._resolve_kernel(X, sample_weight)
        weight = self._row_weights(y, sample_weight)
        codes = class_codes(self.multi_class, self.classes_.size, self.code, self.random_state)
        binary = binary_problems(y, weight, codes)  # "ovo": one for each pair of classes
        for problem in binary:
            problem.centre = centring_offset(K, X, problem.rows, weight[problem.rows])
        self._check_feasible(weight, binary)
        centred = any(problem.centre is not None for problem in binary)
        kernel, rows = shared_rows(self, K, X, centred=centred)

        def attributes_at(state: tuple[np.ndarray, float, float]) -> dict[str, Any]:
            """The fitted attributes on the way, from alpha, b and rho."""
            alpha, b, rho = state
            found = unit_margin(DualSolution(alpha, alpha, b, (b, b), 0.0, 0.0, 0, False, rho))
            return self._attributes(X, y, codes, binary, [found])

        solve = functools.partial(self._solve_binary, kernel, rows, weight)
        solutions = self._solve_each(solve, binary, [None] * len(binary), attributes_at)
        self._store(X, y, codes, binary, solutions)
        self.rho_ = np.array([solution.rho for solution in solutions])
        self.__dict__.pop("calibration_", None)
        how = self._calibration_method
        if how is not None:
            scores = functools.partial(self._held_out_scores, solve, kernel, rows)
            self.calibration_ = calibrate(how, binary, solutions, weight, scores, self.n_jobs)

    def _solve_binary(
        self,
        K: Kernel,
        X: Any,
        weight: np.ndarray,
        binary: BinaryProblem,
        start: Any = None,
        n_jobs: int | None = None,
        steps: Any = None,
    ) -> DualSolution:
        """Solve min α'Qα / 2 with 0 <= α <= weight and the same sum of α, nu Σ weight / 2, over both signs."""
        if binary.one_sided:  # a fold without one of the classes
            return constant_solution(binary)
        upper, sign = weight[binary.rows], binary.sign
        half = self.nu * upper.sum() / 2
        sides = upper[sign > 0].sum(), upper[sign < 0].sum()
        half = min(half, *sides)  # rounding, or a fold with fewer rows of a class
        kernel, rows = dual_rows(K, X, binary.rows, binary.centre)
        problem = DualProblem(
            kernel=kernel,
            X=rows,
            sign=sign,
            p=np.zeros(sign.size),
            upper=upper,
            start=upper * np.where(sign > 0, half / sides[0], half / sides[1]),
            nu=True,
        )
        # There is no linear term: where K and the weights are small, so are all gradients.
        size = float(np.abs(kernel.diag(rows)).mean())
        tol = self.tol * min(1.0, size * float(upper.mean()) or 1.0)
        solve = functools.partial(
            solve_dual,
            problem,
            tol=tol,
            n_jobs=n_jobs,
            max_iter=self.max_iter,
            cache_size=self.cache_size,
            shrinking=self.shrinking,
        )
        found = solve(steps=steps)
        if found.converged and found.rho <= NO_MARGIN * size * upper.sum():
            self._warn_of_no_margin(binary)
            # At the optimum f is 0. As in libsvm, the direction is that of a solution within tol, where it is not.
            found = solve(full_precision=False)
        return unit_margin(found)

    def _check_feasible(self, weight: np.ndarray, binary: list[BinaryProblem]) -> None:
        """An error where nu is more than twice the part of the smaller class of a binary problem."""
        for problem in binary:
            upper = weight[problem.rows]
            sides = upper[problem.sign > 0].sum(), upper[problem.sign < 0].sum()
            if self.nu * sum(sides) / 2 > min(sides) * (1 + 1e-12):
                raise ValueError(
                    f"NuSVC: specified nu is infeasible: nu={self.nu} must be at most "
                    f"{2 * min(sides) / sum(sides):.4g}, twice the part of the smaller class, where "
                    f"{self._names(problem)} are told apart. Lower nu, or weigh the classes."
                )

    def _warn_of_no_margin(self, binary: BinaryProblem) -> None:
        if self._warns:
            warnings.warn(
                f"NuSVC: nu={self.nu} is too small where {self._names(binary)} are told apart: so many rows are "
                "on the wrong side that no margin is left, or the kernel is not positive semidefinite. Raise nu, "
                "or take another kernel.",
                ConvergenceWarning,
                stacklevel=2,
            )

    def _names(self, binary: BinaryProblem) -> str:
        return f"{self.classes_[binary.code > 0].tolist()} and {self.classes_[binary.code < 0].tolist()}"


def unit_margin(solution: DualSolution) -> DualSolution:
    """The solution with f divided by rho, so that the margin is 1; before convergence rho may not be positive."""
    rho = solution.rho if solution.rho > 0 else 1.0
    return replace(solution, alpha=solution.alpha / rho, b=solution.b / rho)
