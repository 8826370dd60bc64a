"""The ν support vector classifier (ν-支持向量机)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.parameters import ArrayLike, Jobs, Positive, Range, Real, Seed
from tercet.svm.base import Degree, Gamma, Iterations, KernelLike
from tercet.svm.classifier import SupportVectorClassifier
from tercet.svm.machines import Machine, MultiClass
from tercet.svm.problem import Problem, Solution
from tercet.svm.svc import untaught

FLAT = 1e-12  # a margin this small, beside what f could be, is rounding


@method(
    zh="ν-支持向量机",
    task="classification",
    model="f(x) = sign(Σ α_i y_i K(x_i, x) + b)",
    strategy="least ‖w‖² / 2 - ν ρ + Σ ξ / n with y f(x) >= ρ - ξ: ν in place of C",
    algorithms="the dual, by blocks of variables and second-order pairs of the same sign",
    texts=["000 ch. 7", "003 ch. 5, sec. 5.5"],
    peers=["sklearn.svm.NuSVC"],
)
class NuSVC(SupportVectorClassifier):
    """Support vector classifier with a part of the rows, nu, in place of a price C.

    At most nu of the rows are on the wrong side of their margin, and at least nu are support vectors.

    Parameters
    ----------
    nu : float, default=0.5
        That part, in (0, 1]. It cannot be more than twice the part of the smaller class of a machine.
    kernel : str, Kernel or callable, default="rbf"
        As in `SVC`.
    degree : float, default=3
        Of "poly".
    gamma : {"scale", "auto"} or float, default="scale"
        As in `SVC`.
    coef0 : float, default=0.0
        Of "poly" and "sigmoid".
    shrinking : bool, default=True
        Leave variables aside that no pair could move at the time, where the Gram matrix is kept whole (2048 rows).
    tol : float, default=1e-3
        How far the KKT conditions may be missed.
    cache_size : float, default=200
        Megabytes for kernel values.
    class_weight : dict or "balanced", optional
        Factors of the weights of rows, by class.
    verbose : bool, default=False
        Print a line for each machine.
    max_iter : int, default=-1
        The most steps of the solver for each machine; -1 is no limit.
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
    coef_ : array of shape (n_machines, n_features)
        The weights w, with a linear kernel only.
    rho_ : array of shape (n_machines,)
        The margin ρ of each machine; f is divided by it, so that the margin is 1, as in `SVC` with C = 1 / ρ.
    kernel_ : Kernel
        The kernel, with the numbers that it had.
    class_weight_ : array of shape (n_classes,)
        The factors of the classes.
    objective_, violation_ : arrays of shape (n_machines,)
        The value of the dual, and how far the KKT conditions are missed.
    n_iter_ : array of shape (n_machines,)
        Steps of the solver.
    fit_status_ : int
        0, or 1 when a solver stopped before it converged.
    shape_fit_ : tuple
        The shape of X.
    code_book_ : array of shape (n_classes, n_machines)
        The sign of each class in each machine, 0 where it has no part.
    calibration_ : list of arrays
        For each machine, A and B of the sigmoid, or the corners of the isotonic function.

    Examples
    --------
    >>> X, y = [[-1, -1], [-2, -1], [1, 1], [2, 1]], [1, 1, 2, 2]
    >>> NuSVC(nu=0.5).fit(X, y).predict([[-0.8, -1]])
    array([1])
    """

    def __init__(
        self,
        *,
        nu: Annotated[float, Range(0, 1, "(]")] = 0.5,
        kernel: KernelLike = "rbf",
        degree: Degree = 3,
        gamma: Gamma = "scale",
        coef0: Real = 0.0,
        shrinking: bool = True,
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

    def _train(
        self,
        K: Any,
        X: Any,
        weight: np.ndarray,
        task: tuple[Machine, Any],
        n_jobs: Any = None,
        steps: Any = None,
    ) -> Solution:
        machine, _ = task
        if machine.one_sided:
            return untaught(machine)
        upper, sign = weight[machine.rows], machine.sign
        share = self.nu * upper.sum() / 2
        sides = upper[sign > 0].sum(), upper[sign < 0].sum()
        if share > min(sides) * (1 + 1e-12):
            raise ValueError(
                f"NuSVC: specified nu is infeasible: nu={self.nu} must be at most "
                f"{2 * min(sides) / upper.sum():.4g}, twice the part of the smaller class, where "
                f"{self._names(machine)} are told apart. Lower nu, or weigh the classes."
            )
        kernel, rows = self._rows(K, X, machine.rows, machine.origin)
        problem = Problem(
            kernel=kernel,
            X=rows,
            sign=sign,
            p=np.zeros(sign.size),
            upper=upper,
            start=upper * np.where(sign > 0, share / sides[0], share / sides[1]),
            nu=True,
        )
        # Nothing here is measured in ones: where K and the weights are small, so are all gradients.
        size = float(np.abs(kernel.diag(rows)).mean())
        tol = self.tol * min(1.0, size * float(upper.mean()) or 1.0)
        found = self._solve(problem, tol=tol, n_jobs=n_jobs, steps=steps)
        if found.converged and found.rho <= FLAT * size * upper.sum():
            raise ValueError(
                f"NuSVC: nu={self.nu} is too small where {self._names(machine)} are told apart: so many rows are "
                "on the wrong side that no margin is left, or the kernel is not positive semidefinite. Raise nu, "
                "or take another kernel."
            )
        return found

    def _names(self, machine: Machine) -> str:
        return (
            f"{self.classes_[machine.letter > 0].tolist()} and {self.classes_[machine.letter < 0].tolist()}"
        )

    def _coef(self, machine: Machine, solution: Solution) -> tuple[np.ndarray, float]:
        rho = solution.rho if solution.rho > 0 else 1.0  # on the way to a solution there may be no margin yet
        return machine.sign * solution.alpha / rho, solution.b / rho

    def _measure(
        self, X: Any, weight: np.ndarray, machines: list[Machine], solutions: list[Solution]
    ) -> None:
        super()._measure(X, weight, machines, solutions)
        self.rho_ = np.array([solution.rho for solution in solutions])
