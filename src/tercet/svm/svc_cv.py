"""A kernel, its width and C by cross-validation (核函数与参数的选择)."""

from __future__ import annotations

import reprlib
import warnings
from collections.abc import Callable
from numbers import Integral
from typing import Any, Literal

import numpy as np
from sklearn.metrics import check_scoring
from sklearn.model_selection import LeaveOneOut

from tercet.core.catalog import method
from tercet.core.estimator import distinct
from tercet.core.folds import checked_folds
from tercet.core.parallel import each
from tercet.core.parameters import ArrayLike, Jobs, Positive, Real, Seed
from tercet.core.steps import ConvergenceWarning, Fit
from tercet.kernels import Kernel, Precomputed, as_kernel, centring_offset, subtract_offset
from tercet.svm.base import Degree, Iterations
from tercet.svm.binary_problems import MultiClass
from tercet.svm.svc import SVC

GAMMA_KERNELS = ("poly", "rbf", "sigmoid", "laplacian")  # kernels by name that have a gamma
FULL_GRAM_ROWS = (
    3000  # up to so many rows the Gram matrix of a kernel is computed once, for all folds and all C
)
SVC_PARAMETERS = (
    "degree", "coef0", "shrinking", "tol", "cache_size", "class_weight", "max_iter", "decision_function_shape",
    "break_ties", "random_state", "loss", "multi_class", "code",
)  # fmt: skip


@method(
    zh="支持向量机（交叉验证选核与参数）",
    task="classification",
    model="f(x) = sign(Σ α_i y_i K(x_i, x) + b)",
    strategy="as SVC; the kernel, its width and C with the best mean score of held-out folds",
    algorithms="each kernel along a path of growing C, each fit starting from the last",
    texts=["Pattern Recognition ch. 5, sec. 5.5", "Li ch. 1, sec. 1.5"],
    peers=["sklearn.model_selection.GridSearchCV"],
)
class SVCCV(SVC):
    """Support vector classifier that chooses its kernel, the kernel's width and C by cross-validation.

    The simple is tried first: the linear kernel, then wide kernels, then narrower ones; and of equally good ones
    the first is taken.

    Parameters
    ----------
    kernels : list of str, Kernel or callable, default=("linear", "rbf")
        Kernels to try, in this order; a kernel that has a name and a gamma, with each of the `gammas`.
    gammas : array of float, default=(0.01, 0.1, 1.0, 10.0)
        Values of gamma, from wide to narrow, in units of gamma="scale".
    Cs : array of float, default=(0.1, 1.0, 10.0, 100.0)
        Values of C.
    cv : int, "loo", splitter or list of splits, optional
        The folds; "loo" leaves out one row at a time. By default five stratified folds, or fewer where a class has
        fewer rows.
    scoring : str or callable, optional
        What is best: a scorer's name or function; by default the accuracy.
    degree, coef0 : float, default=3 and 0.0
        Of "poly" and "sigmoid".
    shrinking, tol, cache_size, class_weight, verbose, max_iter : as in `SVC`
        How each binary problem is solved.
    decision_function_shape, break_ties, random_state : as in `SVC`
        How several classes are decided.
    loss, multi_class, code, calibration : as in `SVC`
        The loss, the binary problems, and their probabilities.
    n_jobs : int, optional
        Threads over folds; the result does not depend on it.

    Attributes
    ----------
    C_ : float
        The C with the best mean score.
    gamma_ : float or None
        The gamma, of a kernel that has a name and a gamma.
    kernel_ : Kernel
        The kernel.
    best_score_ : float
        Their mean score.
    Cs_ : array of shape (n_cs,)
        Those tried, in order.
    candidates_ : list of dict
        The kernels tried: "kernel" and "gamma".
    scores_ : array of shape (n_candidates, n_cs, n_folds)
        The score of each on each held-out fold.
    results_ : dict of lists
        A table of all that was tried: "kernel", "gamma", "C", "mean_score", "std_score", "rank".
    classes_, support_, support_vectors_, n_support_, dual_coef_, intercept_ : arrays
        As in `SVC`, fitted to all rows; and its other attributes.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> X, y = make_circles(60, noise=0.05, factor=0.5, random_state=0)
    >>> model = SVCCV(Cs=[1, 10]).fit(X, y)
    >>> model.results_["kernel"][0], model.kernel, round(model.gamma_, 4), model.C_, model.best_score_
    ('linear', 'rbf', 0.1574, 10.0, 1.0)
    """

    def __init__(
        self,
        *,
        kernels: list | tuple = ("linear", "rbf"),
        gammas: ArrayLike = (0.01, 0.1, 1.0, 10.0),
        Cs: ArrayLike = (0.1, 1.0, 10.0, 100.0),
        cv: Any = None,
        scoring: str | Callable[..., Any] | None = None,
        degree: Degree = 3,
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
        loss: Literal["hinge", "squared_hinge"] = "hinge",
        multi_class: MultiClass = "ovo",
        code: ArrayLike = "exhaustive",
        calibration: Literal["platt", "isotonic"] | None = None,
        n_jobs: Jobs = None,
    ) -> None:
        self.kernels = kernels
        self.gammas = gammas
        self.Cs = Cs
        self.cv = cv
        self.scoring = scoring
        self.degree = degree
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
        self.loss = loss
        self.multi_class = multi_class
        self.code = code
        self.calibration = calibration
        self.n_jobs = n_jobs

    algorithm, record, warm_start = "working-set", False, False

    # SVC's parameters that are chosen; before that, rows are checked as the first kernel takes them.
    @property
    def kernel(self) -> Any:
        """The kernel that was chosen, as it was given."""
        return self._choice()["kernel"]

    @property
    def gamma(self) -> Any:
        """The gamma that was chosen."""
        return self._choice()["gamma"]

    @property
    def C(self) -> float:  # type: ignore[override]
        """The C that was chosen."""
        return self._choice()["C"]

    def _choice(self) -> dict[str, Any]:
        first = next(iter(self.kernels), "linear")
        return vars(self).get("_chosen", {"kernel": first, "gamma": None, "C": 1.0})

    def _check(self, X: Any, *target: Any, reset: bool = True) -> Any:
        if reset:
            self.__dict__.pop("_chosen", None)
        return super()._check(X, *target, reset=reset)

    def _fit(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        self.Cs_ = self._positive_numbers("Cs", self.Cs)
        self.candidates_ = self._candidates(X, sample_weight)
        self._row_weights(y, sample_weight)  # an error where there are fewer than 2 classes
        labels = self.classes_[y]
        folds = self._folds(y, labels, sample_weight)
        found = []
        for candidate in self.candidates_:  # one after the other: a Gram matrix at a time
            K, rows = self._shared_rows(candidate, X)
            tasks = [(K, rows, candidate, fold) for fold in folds]
            found += each(self._regularisation_path, tasks, labels, sample_weight, n_jobs=self.n_jobs)
        shape = len(self.candidates_), len(folds), self.Cs_.size
        scores, unconverged = (np.array(part).reshape(shape).transpose(0, 2, 1) for part in zip(*found))
        self._choose(scores, unconverged)
        super()._fit(X, y, sample_weight)  # the chosen SVC, on all rows

    def _folds(self, y: np.ndarray, labels: np.ndarray, weight: np.ndarray | None) -> list[tuple]:
        """Rows to learn from and rows to score, for each fold; a row of weight 0 is in none."""
        counts = np.ones(y.size, dtype=bool) if weight is None else weight > 0
        cv = LeaveOneOut() if isinstance(self.cv, str) and self.cv == "loo" else self.cv
        cv = max(2, min(5, np.unique(y[counts], return_counts=True)[1].min())) if cv is None else cv
        if isinstance(cv, Integral) or hasattr(cv, "split"):
            rows = np.flatnonzero(counts)
            split = checked_folds(self, np.zeros((rows.size, 1)), labels[rows], cv=cv, classifier=True)
            folds = [(rows[here], rows[there]) for here, there in split]
        else:  # splits by the numbers of all rows
            split = checked_folds(self, np.zeros((y.size, 1)), labels, cv=cv, classifier=True)
            folds = [tuple(part[counts[part]] for part in fold) for fold in split]
        for here, there in folds:
            if np.unique(y[here]).size < 2 or not len(there):
                raise ValueError(
                    f"{type(self).__name__}: cv={reprlib.repr(self.cv)} has a fold with rows of fewer than 2 "
                    "classes to learn from, or no rows to score. Give more rows of each class, or other folds."
                )
        return folds

    def _choose(self, scores: np.ndarray, unconverged: np.ndarray) -> None:
        """Set the scores, and the kernel, gamma and C with the best mean score."""
        name, self.scores_ = type(self).__name__, scores
        if unconverged.any():
            warnings.warn(
                f"{name}: {unconverged.sum()} of {unconverged.size} fits of the folds did not converge. Scale the "
                "features, lower the largest of Cs, or raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=2,
            )
        means = scores.mean(axis=2)
        if np.isnan(means).all():
            raise ValueError(f"{name}: scoring={self.scoring!r} gives NaN for all that was tried.")
        at = np.unravel_index(np.nanargmax(means), means.shape)
        self._chosen = {**self.candidates_[at[0]], "C": float(self.Cs_[at[1]])}
        self.C_, self.gamma_ = self._chosen["C"], self._chosen["gamma"]
        self.best_score_ = float(means[at])
        flat = np.nan_to_num(means.ravel(), nan=-np.inf)
        self.results_ = {
            "kernel": [_name(c["kernel"]) for c in self.candidates_ for _ in self.Cs_],
            "gamma": [c["gamma"] for c in self.candidates_ for _ in self.Cs_],
            "C": np.tile(self.Cs_, len(self.candidates_)).tolist(),
            "mean_score": means.ravel().tolist(),
            "std_score": scores.std(axis=2).ravel().tolist(),
            "rank": (1 + (flat[:, None] < flat).sum(axis=1)).tolist(),
        }

    def _positive_numbers(self, name: str, given: Any) -> np.ndarray:
        values = np.atleast_1d(np.asarray(given))
        right = values.dtype.kind in "fiu" and values.size and values.ndim == 1
        if not right or not np.all((values > 0) & np.isfinite(values)):
            raise ValueError(
                f"{type(self).__name__}: parameter {name!r} must be positive numbers; got {given!r}."
            )
        return np.sort(values.astype(np.float64)) if name == "Cs" else values.astype(np.float64)

    def _candidates(self, X: Any, sample_weight: np.ndarray | None) -> list[dict[str, Any]]:
        """The kernels to try, the wide before the narrow."""
        gammas, found = self._positive_numbers("gammas", self.gammas), []
        for kernel in self.kernels:
            as_kernel(kernel)  # an error says what is allowed
        kinds = {SVC(kernel=kernel)._takes for kernel in self.kernels}
        if len(kinds) != 1:
            raise ValueError(
                f"{type(self).__name__}: kernels must all take the same kind of rows, and there must be one; "
                f"got {self.kernels!r}, which take {sorted(kinds)}."
            )
        for kernel in self.kernels:
            if not (isinstance(kernel, str) and kernel in GAMMA_KERNELS):
                found.append({"kernel": kernel, "gamma": None})
                continue
            unit = as_kernel(kernel, gamma="scale", X=X, sample_weight=sample_weight).get_params()["gamma"]
            found += [{"kernel": kernel, "gamma": float(g * unit)} for g in gammas]
        return found

    def _shared_rows(self, candidate: dict[str, Any], X: Any) -> tuple[Any, Any]:
        """A kernel and rows for all folds: of small data, the Gram matrix and the indices of its rows."""
        if X.shape[0] > FULL_GRAM_ROWS and self._takes != "gram":
            return candidate["kernel"], X
        kernel = as_kernel(
            candidate["kernel"], gamma=candidate["gamma"], degree=self.degree, coef0=self.coef0, X=X
        )
        X = subtract_offset(centring_offset(kernel, X), X)
        return Precomputed(kernel.gram(X, X, n_jobs=self.n_jobs)), np.arange(X.shape[0])

    def _regularisation_path(
        self, task: tuple[Any, Any, dict, tuple], labels: np.ndarray, weight: np.ndarray | None
    ) -> tuple[list[float], list[bool]]:
        """The scores of one kernel on one fold for increasing C, with warm starts; and which did not converge."""
        K, X, candidate, (here, there) = task
        model = SVC(
            kernel=K,
            gamma=candidate["gamma"] or "scale",
            **{name: getattr(self, name) for name in SVC_PARAMETERS},
        )
        model._warns = False  # suppresses warnings; the caller reports failures
        if self.scoring is not None:  # it may be of probabilities
            model.calibration = self.calibration
        model.warm_start, model.n_features_in_ = True, self.n_features_in_
        model.classes_, y = distinct(labels[here])
        scorer = check_scoring(model, self.scoring)
        rows, held = X[here], X[there]
        mine = None if weight is None else weight[here]
        more = {} if weight is None else {"sample_weight": weight[there]}
        scores, unconverged = [], []
        for C in self.Cs_:
            model.C = float(C)
            with Fit(model):
                model._fit(rows, y, mine)
            scores.append(float(scorer(model, held, labels[there], **more)))
            unconverged.append(model.fit_status_ != 0)
        return scores, unconverged


def _name(kernel: Any) -> str:
    if isinstance(kernel, str | Kernel):
        return str(kernel)
    return getattr(kernel, "__name__", type(kernel).__name__)
