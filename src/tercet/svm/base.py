"""Base classes of the kernel machines: decisions of classifiers, predictions of regressors."""

from __future__ import annotations

import functools
from collections.abc import Callable
from itertools import accumulate, combinations, pairwise
from typing import Annotated, Any, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.utils.metaestimators import available_if

from tercet.core.estimator import Classifier, Regressor, check_is_fitted
from tercet.core.fitted_checks import Each, Indices, Sizes
from tercet.core.parallel import each, engine, one_blas_thread
from tercet.core.parameters import INF, NonNegative, Range
from tercet.core.steps import Fit
from tercet.kernels import Kernel, KernelMachine, intercept_shift, primal_weights
from tercet.multiclass import code_distances
from tercet.svm._dual.problem import DualSolution
from tercet.svm.binary_problems import (
    BinaryProblem,
    dag_classes,
    is_pairwise,
    pairwise_coef,
    pairwise_votes,
    vote_scores,
)
from tercet.svm.calibration import (
    calibrated_probabilities,
    pairwise_coupling,
    platt_parameters,
    probabilities_from_code,
    warn_of_attribute,
    warn_of_probability,
)
from tercet.svm.support_vectors import (
    SUPPORT_SHAPES,
    TrainingRows,
    check_support_shapes,
    checked_indices,
    convergence_status,
    decision_values,
    dense_coef,
    dual_rows,
    expansion,
    function_rows,
    kernel_sums,
    linear_coef,
    positive_part,
    support_attributes,
    support_points,
)

KernelLike = (
    Literal["linear", "poly", "rbf", "sigmoid", "laplacian", "precomputed"] | Kernel | Callable[..., Any]
)
Gamma = Literal["scale", "auto"] | NonNegative
Degree = NonNegative
Iterations = Annotated[int, Range(-1, INF, "[)")]
Nu = Annotated[float, Range(0, 1, "(]")]
FEW_CLASSES = 4
SolveBinary = Callable[..., DualSolution]  # (binary, start, *, n_jobs, steps)


def _gives_probabilities(self: Any) -> bool:
    if self._calibration_method is None:
        raise AttributeError(
            f"{type(self).__name__}: predict_proba is not available when probability=False, unless calibration is "
            "'platt' or 'isotonic'."
        )
    return True


class SupportVectorClassifier(KernelMachine, Classifier):
    """Binary decision functions f(x) = Σ_j dual_coef_j K(x, x_j) + b, and the class that follows from them."""

    class_weight: Any
    multi_class: Any
    code: Any
    calibration: Any
    probability: bool | str = "deprecated"
    decision_function_shape: str
    break_ties: bool
    random_state: Any
    n_jobs: int | None
    verbose: int | bool
    support_: np.ndarray
    support_vectors_: Any
    dual_coef_: Any
    intercept_: np.ndarray
    code_book_: np.ndarray
    n_support_: np.ndarray
    class_weight_: np.ndarray
    calibration_: list
    fitted_shapes = {
        **SUPPORT_SHAPES,
        "n_support_": Indices("classes", below="rows+1"),
        "code_book_": "classes intercepts",
        "calibration_": Each("2 | 2 steps@", "intercepts"),
    }
    takes_objects = True
    _warns: bool = True  # where a dual was not solved

    # Learning ---------------------------------------------------------------------------------------------------

    def _learn(self, X: Any, y: Any = None, sample_weight: Any = None, **more: Any) -> Self:
        if isinstance(self.probability, bool | np.bool_):
            warn_of_probability(type(self).__name__)
        return super()._learn(X, y, positive_part(sample_weight), **more)

    @property
    def _calibration_method(self) -> Literal["platt", "isotonic"] | None:
        """How scores become probabilities: as `calibration` says, or by Platt's sigmoid with probability=True."""
        if self.calibration is not None:
            return self.calibration
        return "platt" if self.probability != "deprecated" and self.probability else None

    @property
    def probA_(self) -> np.ndarray:
        """A of Platt's sigmoid of each binary problem, in libsvm's form; empty without it. Deprecated."""
        warn_of_attribute("probA_")
        return platt_parameters(self)[0]

    @property
    def probB_(self) -> np.ndarray:
        """B of Platt's sigmoid of each binary problem, in libsvm's form; empty without it. Deprecated."""
        warn_of_attribute("probB_")
        return platt_parameters(self)[1]

    def _row_weights(self, y: np.ndarray, sample_weight: np.ndarray | None) -> np.ndarray:
        """Weights of the rows times those of their classes; an error where fewer than 2 classes have any."""
        by_class = np.asarray(self._balance(self.class_weight, y, np.ones(y.size)))
        self.class_weight_ = np.ones(self.classes_.size)
        self.class_weight_[y] = by_class
        weight = by_class if sample_weight is None else by_class * sample_weight.astype(np.float64)
        present = np.unique(y[weight > 0])
        if present.size < 2:
            found = f"the same class {self.classes_[present].tolist()[0]!r}" if present.size else "no class"
            if hasattr(self, "nu"):
                found += ": specified nu is infeasible"
            raise ValueError(
                f"{type(self).__name__}: Invalid input - all samples with positive weights belong to {found} "
                f"(class_weight={self.class_weight!r}); at least 2 classes are needed."
            )
        return weight

    def _solve_each(
        self, solve: SolveBinary, binary: list[BinaryProblem], starts: list[Any], unpack: Any
    ) -> list[DualSolution]:
        """Solve the binary problems side by side; threads that are left over go into each of them."""
        count = len(binary)
        if count == 1:  # callbacks see the steps of its solver
            steps = functools.partial(self.steps, unpack=unpack, hint="Scale the features, or lower C.")
            found = solve(binary[0], starts[0], n_jobs=self.n_jobs, steps=steps)
            self._print_progress(0, 1, found)
            return [found]
        threads = getattr(engine(self.n_jobs), "n_jobs", 0)
        inside = max(1, threads // count)

        def solve_one(task: tuple[int, Any]) -> DualSolution:
            k, part = task
            with part.around():
                found = solve(binary[k], starts[k], n_jobs=inside)
            self._print_progress(k, count, found)
            return found

        tasks = list(enumerate(Fit.of(self).tasks(count, "binary problem")))
        if threads == 1:
            return [solve_one(task) for task in tasks]
        return each(solve_one, tasks, n_jobs=self.n_jobs)

    def _print_progress(self, k: int, count: int, found: DualSolution) -> None:
        if self.verbose:
            print(f"binary problem {k + 1} of {count}: {found.n_iter} steps, violation {found.violation:.3g}")

    def _attributes(
        self,
        X: Any,
        y: np.ndarray,
        codes: np.ndarray,
        binary: list[BinaryProblem],
        solutions: list[DualSolution],
    ) -> dict[str, Any]:
        """The fitted attributes: support vectors in the order of their classes, as libsvm has them."""
        coefs = [problem.sign * solution.alpha for problem, solution in zip(binary, solutions)]
        k = self.classes_.size
        if is_pairwise(self.multi_class, k):
            table = pairwise_coef(coefs, y, binary, k)
        else:
            table = np.zeros((len(binary), y.size))
            for row, problem, coef in zip(table, binary, coefs):
                row[problem.rows] = coef
        support = np.flatnonzero(table.any(axis=0))
        support = support[np.argsort(y[support], kind="stable")]
        offsets = [self._centre_offset(X, problem, found) for problem, found in zip(binary, solutions)]
        intercept = np.array([solution.b for solution in solutions]) - offsets
        return {
            **support_attributes(self, X, support, table[:, support], intercept),
            "n_support_": np.bincount(y[support], minlength=k).astype(np.int32),
            "code_book_": codes,
        }

    def _store(
        self,
        X: Any,
        y: np.ndarray,
        codes: np.ndarray,
        binary: list[BinaryProblem],
        solutions: list[DualSolution],
    ) -> None:
        """Set the fitted attributes, and those that say how good the solution of each binary problem is."""
        self.fit_status_ = convergence_status(self, solutions)
        self.__dict__.update(self._attributes(X, y, codes, binary, solutions))
        self.n_iter_ = np.array([max(1, found.n_iter) for found in solutions], dtype=np.int32)
        self.objective_ = np.array([found.objective for found in solutions])
        self.violation_ = np.array([found.violation for found in solutions])

    def _centre_offset(self, X: Any, binary: BinaryProblem, solution: DualSolution) -> float:
        """w·centre, by which b of the rows as they are is less than b of centred rows."""
        return intercept_shift(binary.sign * solution.alpha, X, binary.rows, binary.centre)

    def _held_out_scores(
        self,
        solve: SolveBinary,
        K: Kernel,
        X: Any,
        binary: BinaryProblem,
        solution: DualSolution,
        held: np.ndarray,
    ) -> np.ndarray:
        """Scores of held-out rows: the problem is solved without them, beginning at its solution."""
        rest = binary.subset(~held)
        found = solve(rest, solution.alpha[~held], n_jobs=1)
        coef = rest.sign * found.alpha
        support = np.flatnonzero(coef)
        kernel, rows = dual_rows(K, X, binary.rows[held], binary.centre)
        points = dual_rows(K, X, rest.rows[support], binary.centre)[1]
        return kernel.times(rows, points, coef[support]) + found.b

    @property
    def alpha_(self) -> np.ndarray:
        """The multipliers of all training rows, for two classes."""
        check_is_fitted(self, "support_")
        if len(self.intercept_) != 1:
            raise AttributeError(
                "alpha_ is there for two classes; dual_coef_ has the multipliers of all binary problems."
            )
        alpha = np.zeros(self.shape_fit_[0])
        alpha[self.support_] = np.abs(dense_coef(self.dual_coef_)[0])
        return alpha

    # Deciding ---------------------------------------------------------------------------------------------------

    def _scores(self, X: Any) -> np.ndarray:
        """f of each binary problem: an array of shape (n_samples, n_problems)."""
        pairwise_kernel = is_pairwise(self.multi_class, self.classes_.size) and not self._is_linear
        return decision_values(self, X, _pairwise_sums if pairwise_kernel else kernel_sums)

    @property
    def _class_spans(self) -> list[slice]:
        """The support vectors of each class."""
        return [slice(a, b) for a, b in pairwise(accumulate(self.n_support_.tolist(), initial=0))]

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of the classes.

        Parameters
        ----------
        X : array, sparse matrix, strings or Gram matrix of shape (n_samples, n_training_samples)
            The data.

        Returns
        -------
        scores : array
            For two classes f(x), of shape (n_samples,): positive means the second class. For more, of shape
            (n_samples, n_classes): votes of the pairs (sums of their scores decide ties), f of each class against
            the rest, or minus the distance to the code word; with decision_function_shape="ovo" f of each pair of
            classes, positive for the first.
        """
        check_is_fitted(self, "support_")
        scores = self._scores(X)
        k = self.classes_.size
        if k == 2:
            return scores[:, 0]
        if is_pairwise(self.multi_class, k):
            return scores if self.decision_function_shape == "ovo" else vote_scores(scores, k)
        if self.multi_class == "ovr":
            return scores
        return -code_distances(scores, self.code_book_, "loss", loss="hinge")

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row.

        Parameters
        ----------
        X : array, sparse matrix, strings or Gram matrix of shape (n_samples, n_training_samples)
            The data.

        Returns
        -------
        labels : array of shape (n_samples,)
        """
        check_is_fitted(self, "support_")
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
        k = self.classes_.size
        if k == 2:
            return self.classes_[(self.decision_function(X) > 0).astype(np.intp)]
        if self.multi_class == "dag":
            return self.classes_[dag_classes(self._scores(X), k)]
        if self.multi_class == "ovo" and not self.break_ties:
            return self.classes_[pairwise_votes(self._scores(X), k).argmax(axis=1)]
        return self.classes_[self.decision_function(X).argmax(axis=1)]

    @available_if(_gives_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes.

        Scores of held-out rows decide what a score means, so that the most probable class need not be the one that
        `predict` gives.

        Parameters
        ----------
        X : array, sparse matrix, strings or Gram matrix of shape (n_samples, n_training_samples)
            The data.

        Returns
        -------
        probabilities : array of shape (n_samples, n_classes)
        """
        check_is_fitted(
            self,
            "calibration_",
            msg="%(name)s: predict_proba is not available when fitted with probability=False and without "
            "calibration: fit it again.",
        )
        scores = self._scores(X)
        positive = np.column_stack(
            [calibrated_probabilities(of, f) for of, f in zip(self.calibration_, scores.T, strict=True)]
        )
        k = self.classes_.size
        if k == 2:
            return np.column_stack([1 - positive[:, 0], positive[:, 0]])
        if is_pairwise(self.multi_class, k):
            return pairwise_coupling(positive, k)
        with one_blas_thread():  # many small products
            return probabilities_from_code(positive, self.code_book_)

    @available_if(_gives_probabilities)
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of the probabilities of the classes.

        Parameters
        ----------
        X : array, sparse matrix, strings or Gram matrix of shape (n_samples, n_training_samples)
            The data.

        Returns
        -------
        log_probabilities : array of shape (n_samples, n_classes)
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    @property
    def coef_(self) -> Any:
        """The weights w, when the kernel is linear."""
        return linear_coef(self)

    def _weights(self) -> Any:
        k = self.classes_.size
        points = checked_indices(self.support_vectors_)
        if not is_pairwise(self.multi_class, k):
            return primal_weights(checked_indices(self.dual_coef_), points)
        coef, spans, number = dense_coef(self.dual_coef_), self._class_spans, np.arange(points.shape[0])
        w = []
        for i, j in combinations(range(k), 2):
            both = np.concatenate([number[spans[i]], number[spans[j]]])
            pair = np.concatenate([coef[j - 1, spans[i]], coef[i, spans[j]]])
            w.append(primal_weights(pair, points[both]))
        return sparse.csr_matrix(np.stack(w)) if sparse.issparse(points) else np.stack(w)

    def _check_fitted(self, sizes: Sizes) -> None:
        if "dual_coef_" not in vars(self):
            return
        self._check_widths(sizes.get("features", 1))
        if is_pairwise(self.multi_class, sizes["classes"]) and sizes["functions"] != sizes["classes"] - 1:
            raise ValueError(
                f"{type(self).__name__}: dual_coef_ has {sizes['functions']} rows; expected are "
                f"{sizes['classes'] - 1}, one less than classes."
            )

    def _check_widths(self, width: int) -> None:
        check_support_shapes(self, width)
        k = self.classes_.size
        count = k * (k - 1) // 2 if is_pairwise(self.multi_class, k) else np.shape(self.dual_coef_)[0]
        whole = self.n_support_.shape == (k,) and self.n_support_.min() >= 0
        if not whole or self.n_support_.sum() != self.support_.size or self.intercept_.shape != (count,):
            raise ValueError(f"The internal representation of {type(self).__name__} was altered.")


def _pairwise_sums(model: SupportVectorClassifier, X: Any) -> np.ndarray:
    """`kernel_sums` of pairs of classes: a support vector has a part in the problems of its own class only."""
    points, coef, k = support_points(model), dense_coef(model.dual_coef_), model.classes_.size
    X, pairs = function_rows(model, X), list(combinations(range(k), 2))
    if k <= FEW_CLASSES:  # one product, in which most coefficients are there twice or are 0
        table = np.zeros((coef.shape[1], len(pairs)), dtype=coef.dtype)
        spans = model._class_spans
        for column, (i, j) in zip(table.T, pairs):
            here, there = spans[i], spans[j]
            column[here], column[there] = coef[j - 1, here], coef[i, there]
        return expansion(model, X, points, table)
    blocks = [
        expansion(model, X, points[span], np.ascontiguousarray(coef[:, span].T))
        for span in model._class_spans
    ]
    return np.column_stack([blocks[i][:, j - 1] + blocks[j][:, i] for i, j in pairs])


class SupportVectorRegressor(KernelMachine, Regressor):
    """f(x) = Σ (α_i - α*_i) K(x_i, x) + b: α holds f(x) up to y - epsilon, α* holds it down to y + epsilon."""

    n_jobs: int | None
    verbose: bool | int
    n_support_: np.ndarray
    support_: np.ndarray
    support_vectors_: Any
    dual_coef_: Any
    intercept_: np.ndarray
    takes_objects = True

    fitted_shapes = {**SUPPORT_SHAPES, "dual_coef_": "1 rows*", "intercept_": "1"}

    def _learn(self, X: Any, y: Any = None, sample_weight: Any = None, **more: Any) -> Self:
        return super()._learn(X, y, positive_part(sample_weight), **more)

    def _attributes(self, X: Any, rows: TrainingRows, alpha: np.ndarray, b: float) -> dict[str, Any]:
        """The fitted attributes for multipliers (α, α*) of the training rows, and b of centred rows."""
        # Both positive they would work against each other: at the optimum their product is 0.
        beta = np.subtract(*np.split(alpha, 2))
        support = np.flatnonzero(beta)
        b -= intercept_shift(beta, X, rows.index, rows.centre)
        return {
            **support_attributes(self, X, rows.index[support], beta[None, support], np.array([b])),
            "n_support_": np.array([support.size], dtype=np.int32),
        }

    def _store(self, found: DualSolution, attributes: dict[str, Any]) -> None:
        """Set the fitted attributes."""
        if self.verbose:
            print(f"{type(self).__name__}: {found.n_iter} steps, violation {found.violation:.3g}")
        self.fit_status_ = convergence_status(self, [found])
        self.__dict__.update(attributes)
        self.n_iter_ = max(1, found.n_iter)
        self.objective_ = found.objective
        self.violation_ = found.violation

    @property
    def alpha_(self) -> np.ndarray:
        """The multipliers of all training rows, of shape (2, n_samples): those that hold f up, and down."""
        check_is_fitted(self, "support_")
        beta = np.zeros(self.shape_fit_[0])
        beta[self.support_] = dense_coef(self.dual_coef_)[0]
        return np.maximum([beta, -beta], 0.0)

    @property
    def coef_(self) -> Any:
        """The weights w, when the kernel is linear."""
        return linear_coef(self)

    def _weights(self) -> Any:
        return primal_weights(checked_indices(self.dual_coef_), checked_indices(self.support_vectors_))

    def _check_widths(self, width: int) -> None:
        check_support_shapes(self, width)

    def predict(self, X: Any) -> np.ndarray:
        """f(x) of each row.

        Parameters
        ----------
        X : array, sparse matrix, strings or Gram matrix of shape (n_samples, n_training_samples)
            The data.

        Returns
        -------
        values : array of shape (n_samples,)
        """
        return decision_values(self, X)[:, 0]
