"""The support vector classifier (支持向量机)."""

from __future__ import annotations

import functools
from itertools import combinations
from typing import Any, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.parameters import ArrayLike, Jobs, Positive, PositiveOrInf, Real, Seed
from tercet.kernels import Kernel, centring_offset
from tercet.svm._dual.problem import DualProblem, DualSolution
from tercet.svm._dual.solver import solve_dual, with_gram_matrix
from tercet.svm.base import Degree, Gamma, Iterations, KernelLike, SupportVectorClassifier
from tercet.svm.binary_problems import (
    BinaryProblem,
    MultiClass,
    binary_problems,
    class_codes,
    constant_solution,
    feasible_start,
    is_pairwise,
)
from tercet.svm.calibration import calibrate
from tercet.svm.coordinate_ascent import coordinate_ascent
from tercet.svm.hard_margin import nearest_points
from tercet.svm.maximum_margin import solve_dual_qp, solve_primal_qp
from tercet.svm.penalty_method import solve_penalty
from tercet.svm.smo import smo
from tercet.svm.support_vectors import dense_coef, dual_rows, shared_rows, slack_costs


@method(
    zh="支持向量机",
    task="classification",
    model="f(x) = sign(Σ α_i y_i K(x_i, x) + b)",
    strategy="least ‖w‖² / 2 + C Σ ξ (or C Σ ξ²) with y f(x) >= 1 - ξ; C = inf: the widest margin",
    loss="hinge",
    convex=True,
    algorithms={
        "working-set": "blocks of the dual's variables, pairs by second-order choice",
        "smo": "sequential minimal optimisation as the texts teach it",
        "coordinate-ascent": "one of the dual's variables at a time, b by the method of multipliers",
        "dual-qp": "the dual as one quadratic program",
        "primal-qp": "the primal as one quadratic program",
        "penalty": "penalties for the dual's constraints, and conjugate gradients",
    },
    texts=[
        "Li ch. 7, Alg 7.1-7.5",
        "Li ch. 12, Table 12.1",
        "Machine Learning in Depth ch. 4",
        "watermelon notes ch. 4, eq. 4.5-4.32",
        "Pattern Recognition ch. 5, sec. 5.5, eq. 5-47, 5-48, 5-49",
    ],
    peers=["sklearn.svm.SVC", "sklearnex.svm.SVC", "libsvm"],
)
class SVC(SupportVectorClassifier):
    """Classifier with the widest margin between the classes, in the feature space of a kernel.

    The dual, min over α of Σ α_i α_j y_i y_j K(x_i, x_j) / 2 - Σ α_i with Σ α_i y_i = 0 and 0 <= α_i <= C, gives
    f(x) = Σ α_i y_i K(x_i, x) + b. Rows with α = 0 have no part in it: the others are the support vectors.

    Parameters
    ----------
    C : float, default=1.0
        The cost of a row's slack ξ. inf is the hard margin: no slack, and an error where no hyperplane separates
        the classes.
    kernel : str, Kernel or callable, default="rbf"
        "linear", "poly", "rbf", "sigmoid", "laplacian", "precomputed" (X is the Gram matrix), a kernel of
        `tercet.kernels`, or a function of two matrices that gives their Gram matrix. A kernel of strings takes a
        list of strings, or an array of shape (n_samples, 1).
    degree : float, default=3
        Of "poly".
    gamma : {"scale", "auto"} or float, default="scale"
        Of "poly", "rbf", "sigmoid" and "laplacian": 1 / (n_features * variance of X, rows by their weights),
        1 / n_features, or a number.
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
        Factors of C for the classes.
    verbose : bool, default=False
        Print a line for each binary problem.
    max_iter : int, default=-1
        The most two-variable steps for each binary problem; -1 is no limit ("smo": 100 000 steps;
        "coordinate-ascent": 10 000 passes; "penalty": 500 rounds).
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Of more than two classes by pairs: votes for each class, or the score of each pair.
    break_ties : bool, default=False
        Decide ties of votes by scores, rather than for the first class.
    random_state : int, RandomState, Generator or None
        Decides a random `code`; nothing else is random.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        What C multiplies: ξ, or ξ².
    algorithm : str, default="working-set"
        How the dual (or primal) is solved: "working-set", "smo", "coordinate-ascent", "dual-qp", "primal-qp" or
        "penalty"; all but the first are for small data.
    multi_class : {"ovo", "ovr", "dag", "ecoc"}, default="ovo"
        Binary problems for more than two classes: one for each pair, which vote; one for each class against the
        rest, the highest score wins; those of the pairs as a decision DAG, where the loser drops out; one for each
        column of an output code, the nearest code word (by hinge loss) wins.
    code : str or array of shape (n_classes, n_letters), default="exhaustive"
        The code of "ecoc", as in `OutputCodeClassifier`: "exhaustive", "random", "sparse", or -1, 0 and +1.
    calibration : {"platt", "isotonic"}, optional
        How scores become probabilities; without it there is no `predict_proba`. Every binary problem is solved
        again without each of five fixed folds (every fifth row), beginning at its solution, and the calibration is
        fitted to the scores of the held-out rows. Pairs are coupled by the method of Wu, Lin and Weng.
    n_jobs : int, optional
        Threads; the result does not depend on it.
    warm_start : bool, default=False
        Begin where the last fit (of as many rows) ended.
    record : bool, default=False
        With algorithm="smo", keep every step in `updates_`.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels.
    support_ : array of shape (n_support,)
        Indices of the support vectors, class by class.
    support_vectors_ : array or CSR matrix of shape (n_support, n_features)
        Those rows (none of a Gram matrix).
    n_support_ : array of shape (n_classes,)
        How many each class has.
    dual_coef_ : array of shape (n_binary, n_support), or (n_classes - 1, n_support) by pairs
        α y of the support vectors; CSR after a fit of sparse rows. By pairs, column by column, for the problems
        of its class in the order of the other class.
    intercept_ : array of shape (n_binary,)
        b of each binary problem: the mean over the rows with 0 < α < C, or the middle of `intercept_interval_`.
    intercept_interval_ : array of shape (n_binary, 2)
        The interval of optimal b; a point, but for tol, where there is a row with 0 < α < C.
    coef_ : array of shape (n_binary, n_features)
        The weights w, with a linear kernel only.
    kernel_ : Kernel
        The kernel, with its data-dependent parameters resolved.
    class_weight_ : array of shape (n_classes,)
        The factors of C.
    objective_, violation_, dual_gap_ : arrays of shape (n_binary,)
        Of the minimised dual, the violation of the KKT conditions, and the duality gap.
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
    alpha_ : array of shape (n_samples,)
        The multipliers, for two classes only.
    history_ : dict
        Objective and violation at each block of the solver, for two classes only.
    updates_ : list of list of dict
        With `record`, the steps of each binary problem: pair, ends, clipped value, thresholds, errors.

    Examples
    --------
    >>> X, y = [[3, 3], [4, 3], [1, 1]], [1, 1, -1]
    >>> model = SVC(C=float("inf"), kernel="linear").fit(X, y)
    >>> model.coef_.round(6), model.intercept_.round(6), model.support_.tolist()
    (array([[0.5, 0.5]]), array([-2.]), [2, 0])
    >>> model.predict([[0, 0], [5, 5]])
    array([-1,  1])
    """

    def __init__(
        self,
        *,
        C: PositiveOrInf = 1.0,
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
        loss: Literal["hinge", "squared_hinge"] = "hinge",
        algorithm: Literal[
            "working-set", "smo", "coordinate-ascent", "dual-qp", "primal-qp", "penalty"
        ] = "working-set",
        multi_class: MultiClass = "ovo",
        code: ArrayLike = "exhaustive",
        calibration: Literal["platt", "isotonic"] | None = None,
        n_jobs: Jobs = None,
        warm_start: bool = False,
        record: bool = False,
    ) -> None:
        self.C = C
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
        self.loss = loss
        self.algorithm = algorithm
        self.multi_class = multi_class
        self.code = code
        self.calibration = calibration
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.record = record

    def _fit(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        K = self._resolve_kernel(X, sample_weight)
        weight = self._row_weights(y, sample_weight)
        codes = class_codes(self.multi_class, self.classes_.size, self.code, self.random_state)
        binary = binary_problems(y, weight, codes)  # "ovo": one for each pair of classes
        for problem in binary:
            if self.record:  # the steps of SMO on the rows as they are
                problem.updates = []
            else:
                problem.centre = centring_offset(K, X, problem.rows, weight[problem.rows])
        centred = any(problem.centre is not None for problem in binary)
        kernel, rows = shared_rows(self, K, X, centred=centred)

        def attributes_at(state: tuple[np.ndarray, float, float]) -> dict[str, Any]:
            """The fitted attributes on the way, from alpha and b."""
            alpha, b = state[:2]
            found = DualSolution(alpha, alpha, b, (b, b), 0.0, 0.0, 0, False)
            return self._attributes(X, y, codes, binary, [found])

        solve = functools.partial(self._solve_binary, kernel, rows, weight)
        solutions = self._solve_each(solve, binary, self._warm_starts(y, binary), attributes_at)
        self._store(X, y, codes, binary, solutions)
        self._set_optimality(X, weight, binary, solutions)
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
        start: np.ndarray | None,
        n_jobs: int | None = None,
        steps: Any = None,
    ) -> DualSolution:
        """Solve the dual of one binary problem by the `algorithm`."""
        if binary.one_sided:
            return constant_solution(binary)
        problem = self._dual_problem(K, X, weight, binary, start)
        if np.isinf(self.C):
            separating = self._separating_start(problem, binary, n_jobs)
            if self.algorithm == "working-set":  # the others show their own way, from the beginning
                problem.start = separating
        if self.algorithm == "smo":
            limit = 100_000 if self.max_iter < 0 else self.max_iter
            return smo(problem, tol=self.tol, max_iter=limit, record=binary.updates, steps=steps)
        if self.algorithm == "coordinate-ascent":
            limit = 10_000 if self.max_iter < 0 else self.max_iter
            return coordinate_ascent(problem, tol=self.tol, max_iter=limit, steps=steps)
        if self.algorithm == "penalty":
            limit = 500 if self.max_iter < 0 else self.max_iter
            return solve_penalty(with_gram_matrix(problem, n_jobs), tol=self.tol, max_iter=limit, steps=steps)
        if self.algorithm == "dual-qp":
            return solve_dual_qp(with_gram_matrix(problem, n_jobs), tol=self.tol)
        if self.algorithm == "primal-qp":
            return solve_primal_qp(problem, tol=self.tol)
        # until no pair violates the KKT conditions: select a working set, solve for it, update the gradient
        return solve_dual(
            problem,
            tol=self.tol,
            n_jobs=n_jobs,
            steps=steps,
            max_iter=self.max_iter,
            cache_size=self.cache_size,
            shrinking=self.shrinking,
        )

    def _dual_problem(
        self, K: Kernel, X: Any, weight: np.ndarray, binary: BinaryProblem, start: np.ndarray | None
    ) -> DualProblem:
        """min α'Qα / 2 - Σ α with Σ α y = 0 and 0 <= α <= C (7.37-7.39); squared slacks: no upper bounds, and
        1 / (2C) on the diagonal of Q."""
        C = slack_costs(self.C, weight[binary.rows])
        kernel, rows = dual_rows(K, X, binary.rows, binary.centre)
        upper = np.full(C.size, np.inf) if self._squared_slacks else C
        return DualProblem(
            kernel=kernel,
            X=rows,
            sign=binary.sign,
            p=np.full(C.size, -1.0),
            upper=upper,
            start=np.zeros(C.size) if start is None else feasible_start(start, binary.sign, upper),
            ridge=0.5 / C if self._squared_slacks else None,
        )

    @property
    def _squared_slacks(self) -> bool:
        return self.loss == "squared_hinge" and bool(np.isfinite(self.C))

    def _separating_start(
        self, problem: DualProblem, binary: BinaryProblem, n_jobs: int | None
    ) -> np.ndarray:
        """Multipliers to begin with where a hyperplane separates the classes, as C = inf needs; else an error."""

        def solve(hulls: DualProblem, tol: float) -> DualSolution:
            # without max_iter, which does not decide what is separable
            return solve_dual(hulls, tol=tol, cache_size=self.cache_size, full_precision=False, n_jobs=n_jobs)

        start = nearest_points(problem, solve)
        if start is None:
            one, other = (self.classes_[binary.code == side].tolist() for side in (1, -1))
            raise ValueError(
                f"{type(self).__name__}: C={self.C} is the hard margin, which needs classes that a hyperplane can "
                f"separate; in the space of kernel={self.kernel!r} none separates {one} from {other} (rows "
                "overlap, or the same row has both labels). Give a finite C, or another kernel."
            )
        return start

    def _warm_starts(self, y: np.ndarray, binary: list[BinaryProblem]) -> list[np.ndarray | None]:
        """The multipliers of the last fit for each problem; where C has grown, multiplied by the factor that
        minimises the objective (no more than C's)."""
        none: list[np.ndarray | None] = [None] * len(binary)
        if not self.warm_start or not hasattr(self, "support_"):
            return none
        k = self.classes_.size
        pairwise = is_pairwise(self.multi_class, k)
        coef = dense_coef(self.dual_coef_)
        shape = y.size, k - 1 if pairwise else len(binary), len(binary)
        if (self.shape_fit_[0], *coef.shape[:1], self.intercept_.size) != shape:
            return none
        table = np.zeros(shape[1::-1])
        table[:, self.support_] = np.abs(coef)
        if pairwise:
            starts = [
                np.where(problem.sign > 0, table[j - 1, problem.rows], table[i, problem.rows])
                for (i, j), problem in zip(combinations(range(k), 2), binary)
            ]
        else:
            starts = [table[m, problem.rows] for m, problem in enumerate(binary)]
        growth = float(self.C) / float(vars(self).get("_last_C", self.C))  # inf / inf is NaN, and no growth
        if 1 < growth < np.inf:
            totals = np.array([start.sum() for start in starts])
            squares = 2 * (self.objective_ + totals)
            ratios = np.divide(totals, squares, out=np.ones(totals.size), where=squares > 0)
            starts = [factor * start for factor, start in zip(np.clip(ratios, 1, growth), starts)]
        return list(starts)

    def _set_optimality(
        self, X: Any, weight: np.ndarray, binary: list[BinaryProblem], solutions: list[DualSolution]
    ) -> None:
        """Set `dual_gap_`, `intercept_interval_` and `updates_`."""
        pairs = list(zip(binary, solutions))
        self._last_C = self.C
        self.dual_gap_ = np.array(
            [self._duality_gap(*pair, slack_costs(self.C, weight[pair[0].rows])) for pair in pairs]
        )
        self.intercept_interval_ = np.array(
            [np.subtract(found.interval, self._centre_offset(X, problem, found)) for problem, found in pairs]
        )
        self.__dict__.pop("updates_", None)
        if self.record and self.algorithm == "smo":
            self.updates_ = [problem.updates for problem in binary]

    def _duality_gap(self, binary: BinaryProblem, solution: DualSolution, C: np.ndarray) -> float:
        """Primal less dual objective."""
        if binary.one_sided:
            return 0.0
        alpha, gradient = solution.alpha, solution.gradient
        margins = gradient + 1 - (0.5 / C * alpha if self._squared_slacks else 0.0)  # y f(x) without b
        slack = np.maximum(1 - margins - binary.sign * solution.b, 0.0)
        cost = C @ (slack**2 if self._squared_slacks else slack) if np.isfinite(self.C) else 0.0
        return float(alpha @ margins / 2 + cost + solution.objective)
