"""What `SVC` and `NuSVC` share: machines for two or more classes, their decisions, and probabilities from them."""

from __future__ import annotations

import functools
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.metaestimators import available_if

from tercet.core.estimator import Classifier, check_is_fitted
from tercet.core.parallel import each, engine, one_blas_thread
from tercet.core.steps import Fit
from tercet.kernels import centring_offset, intercept_shift, primal_weights
from tercet.multiclass import code_distances
from tercet.svm import calibration as calibrated
from tercet.svm.base import SupportVectorMachine, dense, sound
from tercet.svm.machines import (
    Machine,
    by_pairs,
    code_of,
    machines_of,
    pair_layout,
    vote_scores,
    votes,
    walk,
)
from tercet.svm.problem import Solution


def _gives_probabilities(self: Any) -> bool:
    if self.calibration is None:
        raise AttributeError(
            f"{type(self).__name__} has predict_proba with calibration='platt' or 'isotonic' only."
        )
    return True


class SupportVectorClassifier(SupportVectorMachine, Classifier):
    """Machines that tell two sets of classes apart, and the class that follows from their answers."""

    class_weight: Any
    multi_class: Any
    code: Any
    calibration: Any
    decision_function_shape: str
    break_ties: bool
    random_state: Any
    warm_start: bool = False
    verbose: int | bool
    code_book_: np.ndarray
    n_support_: np.ndarray
    class_weight_: np.ndarray
    calibration_: list

    def _fit(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        K = self._resolve_kernel(X, sample_weight)
        weight = self._weigh(y, sample_weight)
        k = self.classes_.size
        code = code_of(self.multi_class, k, self.code, self.random_state)
        machines = machines_of(y, weight, code)
        self._refuse(y, weight)
        if getattr(self, "record", False):
            for machine in machines:
                machine.steps = []
        else:  # (recorded steps are those of the rows as they are)
            for machine in machines:
                machine.origin = centring_offset(K, X, machine.rows, weight[machine.rows])
        starts = self._last(y, machines)
        train = functools.partial(self._train, K, X, weight)
        if len(machines) == 1:
            unpack = functools.partial(self._model_at, X, y, machines)
            steps = functools.partial(self.steps, unpack=unpack, hint="Scale the features, or lower C.")
            solutions = [train((machines[0], starts[0]), n_jobs=self.n_jobs, steps=steps)]
            self._say(0, 1, solutions[0])
        else:
            solutions = self._train_all(train, machines, starts)
        self.fit_status_ = self._status(solutions)
        self.__dict__.update(self._model(X, y, machines, solutions), code_book_=code)
        self._measure(X, weight, machines, solutions)
        self.__dict__.pop("calibration_", None)
        if self.calibration is not None:
            self._calibrate(K, X, weight, machines, solutions)

    # Learning ---------------------------------------------------------------------------------------------------

    def _train(
        self,
        K: Any,
        X: Any,
        weight: np.ndarray,
        task: tuple[Machine, Any],
        n_jobs: Any = None,
        steps: Any = None,
    ) -> Solution:
        """Solve the dual of one machine, from a start where there is one."""
        raise NotImplementedError

    def _train_all(self, train: Any, machines: list[Machine], starts: list[Any]) -> list[Solution]:
        """The machines side by side; threads that are left over go into each of them."""
        threads = getattr(engine(self.n_jobs), "n_jobs", 1)
        inside = max(1, threads // len(machines))
        count = len(machines)

        def one(task: tuple[int, Any]) -> Solution:
            k, part = task
            with part.around():
                found = train((machines[k], starts[k]), n_jobs=inside)
            self._say(k, count, found)
            return found

        tasks = Fit.of(self).tasks(count, "machine")
        return each(one, list(enumerate(tasks)), n_jobs=self.n_jobs)

    def _say(self, k: int, count: int, found: Solution) -> None:
        if self.verbose:
            print(f"machine {k + 1} of {count}: {found.n_iter} steps, violation {found.violation:.3g}")

    def _weigh(self, y: np.ndarray, sample_weight: np.ndarray | None) -> np.ndarray:
        """Weights of the rows times those of their classes."""
        by_class = np.asarray(self._balance(self.class_weight, y, np.ones(y.size)))
        self.class_weight_ = np.ones(self.classes_.size)
        self.class_weight_[y] = by_class
        return by_class if sample_weight is None else by_class * sample_weight.astype(np.float64)

    def _refuse(self, y: np.ndarray, weight: np.ndarray) -> None:
        there = np.unique(y[weight > 0])
        if there.size < 2:
            found = f"the same class {self.classes_[there].tolist()[0]!r}" if there.size else "no class"
            raise ValueError(
                f"{type(self).__name__}: all rows with positive weights belong to {found} (class_weight="
                f"{self.class_weight!r}); at least 2 classes are needed."
            )

    def _last(self, y: np.ndarray, machines: list[Machine]) -> list[np.ndarray | None]:
        """The multipliers of the last fit for each machine, when it is to be gone on from."""
        if not self.warm_start or not hasattr(self, "support_"):
            return [None] * len(machines)
        k = self.classes_.size
        coef = dense(self.dual_coef_)
        rows = k - 1 if by_pairs(self.multi_class, k) else len(machines)
        if (self.shape_fit_[0], *coef.shape[:1], self.intercept_.size) != (y.size, rows, len(machines)):
            return [None] * len(machines)
        table = np.zeros((rows, y.size))
        table[:, self.support_] = np.abs(coef)
        if not by_pairs(self.multi_class, k):
            return [table[m, machine.rows] for m, machine in enumerate(machines)]
        return [
            np.where(machine.sign > 0, table[j - 1, machine.rows], table[i, machine.rows])
            for (i, j), machine in zip(combinations(range(k), 2), machines)
        ]

    def _coef(self, machine: Machine, solution: Solution) -> tuple[np.ndarray, float]:
        """The coefficients of a machine's rows in f, and b, for rows as the machine sees them."""
        return machine.sign * solution.alpha, solution.b

    def _height(self, X: Any, machine: Machine, solution: Solution) -> float:
        """By how much b is less for the rows as they are."""
        return intercept_shift(self._coef(machine, solution)[0], X, machine.rows, machine.origin)

    def _model_at(self, X: Any, y: np.ndarray, machines: list[Machine], state: tuple) -> dict[str, Any]:
        """The fitted attributes at a pass of the solver, from multipliers and b (and rho)."""
        alpha, b = state[:2]
        here = Solution(alpha, alpha, b, (b, b), 0.0, 0.0, 0, False, *state[2:3])
        code = code_of(self.multi_class, self.classes_.size, self.code, self.random_state)
        return {**self._model(X, y, machines, [here]), "code_book_": code}

    def _model(
        self, X: Any, y: np.ndarray, machines: list[Machine], solutions: list[Solution]
    ) -> dict[str, Any]:
        """The fitted attributes: support vectors in the order of their classes, as libsvm has them."""
        parts = [self._coef(machine, solution) for machine, solution in zip(machines, solutions)]
        k = self.classes_.size
        if by_pairs(self.multi_class, k):
            table = pair_layout([coef for coef, _ in parts], y, machines, k)
        else:
            table = np.zeros((len(machines), y.size))
            for row, machine, (coef, _) in zip(table, machines, parts):
                row[machine.rows] = coef
        support = np.flatnonzero(table.any(axis=0))
        support = support[np.argsort(y[support], kind="stable")]
        heights = [self._height(X, machine, solution) for machine, solution in zip(machines, solutions)]
        intercept = np.array([b for _, b in parts]) - heights
        return {
            **self._expansion(X, support, table[:, support], intercept),
            "n_support_": np.bincount(y[support], minlength=k).astype(np.int32),
        }

    def _measure(
        self, X: Any, weight: np.ndarray, machines: list[Machine], solutions: list[Solution]
    ) -> None:
        """How good the solutions are."""
        self.n_iter_ = np.array([max(1, s.n_iter) for s in solutions], dtype=np.int32)
        self.objective_ = np.array([s.objective for s in solutions])
        self.violation_ = np.array([s.violation for s in solutions])

    @property
    def alpha_(self) -> np.ndarray:
        """The multipliers of all training rows, for two classes."""
        check_is_fitted(self, "support_")
        if len(self.intercept_) != 1:
            raise AttributeError(
                "alpha_ is there for two classes; dual_coef_ has the multipliers of all machines."
            )
        alpha = np.zeros(self.shape_fit_[0])
        alpha[self.support_] = np.abs(dense(self.dual_coef_)[0])
        return alpha

    # Deciding ---------------------------------------------------------------------------------------------------

    def _scores(self, X: Any) -> np.ndarray:
        """What every machine says of every row: an array of shape (n_samples, n_machines)."""
        return self._values(X)

    def _sums(self, X: Any) -> np.ndarray:
        k = self.classes_.size
        if self._is_linear or not by_pairs(self.multi_class, k):
            return super()._sums(X)
        basis, coef = self._basis(), dense(self.dual_coef_)
        # A support vector has a part in the machines of its own class only.
        blocks = [
            self._kernel_expansion(X, basis[span], np.ascontiguousarray(coef[:, span].T))
            for span in self._spans
        ]
        return np.column_stack([blocks[i][:, j - 1] + blocks[j][:, i] for i, j in combinations(range(k), 2)])

    @property
    def _spans(self) -> list[slice]:
        """The support vectors of each class."""
        return [slice(a, b) for a, b in pairwise(np.concatenate([[0], np.cumsum(self.n_support_)]))]

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
        scores = self._scores(X)
        k = self.classes_.size
        if k == 2:
            return scores[:, 0]
        if by_pairs(self.multi_class, k):
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
            return self.classes_[walk(self._scores(X), k)]
        if self.multi_class == "ovo" and not self.break_ties:
            return self.classes_[votes(self._scores(X), k).argmax(axis=1)]
        return self.classes_[self.decision_function(X).argmax(axis=1)]

    def _weights(self) -> Any:
        k = self.classes_.size
        if not by_pairs(self.multi_class, k):
            return super()._weights()
        coef, points, spans = dense(self.dual_coef_), sound(self.support_vectors_), self._spans
        number = np.arange(points.shape[0])
        w = []
        for i, j in combinations(range(k), 2):
            both = np.concatenate([number[spans[i]], number[spans[j]]])
            w.append(primal_weights(np.concatenate([coef[j - 1, spans[i]], coef[i, spans[j]]]), points[both]))
        return sparse.csr_matrix(np.stack(w)) if sparse.issparse(points) else np.stack(w)

    def _check_widths(self, width: int) -> None:
        super()._check_widths(width)
        k = self.classes_.size
        machines = k * (k - 1) // 2 if by_pairs(self.multi_class, k) else dense(self.dual_coef_).shape[0]
        whole = self.n_support_.shape == (k,) and self.n_support_.min() >= 0
        if not whole or self.n_support_.sum() != self.support_.size or self.intercept_.shape != (machines,):
            raise ValueError(f"The internal representation of {type(self).__name__} was altered.")

    # Probabilities ----------------------------------------------------------------------------------------------

    def _calibrate(
        self, K: Any, X: Any, weight: np.ndarray, machines: list[Machine], solutions: list[Solution]
    ) -> None:
        """Learn what scores mean from rows that a machine has not seen: it is fitted again without each fold."""
        tasks = [
            (machine, solution, held)
            for machine, solution in zip(machines, solutions)
            for held in calibrated.folds(machine.sign)
        ]

        def held_out(task: tuple[Machine, Solution, np.ndarray]) -> np.ndarray:
            machine, solution, held = task
            rest = machine.part(~held)
            found = self._train(K, X, weight, (rest, solution.alpha[~held]), n_jobs=1)
            coef, b = self._coef(rest, found)
            here = np.flatnonzero(coef)
            kernel, rows = self._rows(K, X, machine.rows[held], machine.origin)
            points = self._rows(K, X, rest.rows[here], machine.origin)[1]
            return kernel.times(rows, points, coef[here]) + b

        values = iter(each(held_out, tasks, n_jobs=self.n_jobs))
        self.calibration_ = []
        for machine in machines:
            scores = np.zeros(machine.rows.size)
            for held in calibrated.folds(machine.sign):
                scores[held] = next(values)
            fit = calibrated.platt if self.calibration == "platt" else calibrated.isotonic
            self.calibration_.append(fit(scores, machine.sign, weight[machine.rows]))

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
            self, "calibration_", msg="This %(name)s was not fitted with calibration: fit it (again)."
        )
        scores = self._scores(X)
        positive = np.column_stack(
            [calibrated.apply(of, f) for of, f in zip(self.calibration_, scores.T, strict=True)]
        )
        k = self.classes_.size
        if k == 2:
            return np.column_stack([1 - positive[:, 0], positive[:, 0]])
        if by_pairs(self.multi_class, k):
            return calibrated.couple(positive, k)
        with one_blas_thread():  # many small products
            return calibrated.from_letters(positive, self.code_book_)

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
