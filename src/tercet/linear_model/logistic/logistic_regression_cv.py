"""Logistic regression that chooses the strength of its penalty by cross-validation (交叉验证)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any, Literal, Self

import numpy as np
from sklearn.metrics import get_scorer
from sklearn.utils.metadata_routing import UNUSED, MetadataRouter, MethodMapping, process_routing

from tercet.core.catalog import method
from tercet.core.estimator import check_is_fitted, generator
from tercet.core.folds import checked_folds, take_rows
from tercet.core.parallel import each
from tercet.core.parameters import ArrayLike, Count, CountOrZero, Jobs, NonNegative, Positive, Seed
from tercet.core.steps import ConvergenceWarning, Steps
from tercet.linear_model._logistic.fold_score import FoldScore
from tercet.linear_model._logistic.regularization import BY_NAME, warn_of_changing_defaults
from tercet.linear_model._logistic.solvers import SilentSteps, Solver, check_penalty, newton
from tercet.linear_model.logistic.logistic_regression import LogisticRegression, minimise
from tercet.linear_model.metadata_routing import route, routing_enabled

SHARED = (
    "fit_intercept", "dual", "solver", "tol", "max_iter", "class_weight", "intercept_scaling", "random_state",
)  # fmt: skip
EXACT = ("liblinear", "newton", "newton-cholesky", "auto")  # they end with Newton steps themselves
POLISHED = 200  # parameters up to which the last fit ends with a few Newton steps


@method(
    zh="逻辑斯谛回归的交叉验证",
    task="classification",
    model="as LogisticRegression",
    strategy="regularised maximum likelihood; C and l1_ratio by the best mean score of held-out folds",
    algorithms="the solvers of LogisticRegression along a path of C, each starting from the last",
    texts=["Li ch. 1, sec. 1.5", "Li ch. 6", "Machine Learning in Depth ch. 2, sec. 2.1"],
    peers=["sklearn.linear_model.LogisticRegressionCV"],
)
class LogisticRegressionCV(LogisticRegression):
    """Logistic regression with C and l1_ratio chosen by cross-validation.

    Parameters
    ----------
    Cs : int or array, default=10
        Values of C, or how many between 1e-4 and 1e4.
    l1_ratios : array, None or "warn", default="warn"
        Values of l1_ratio. None is L2 alone and is deprecated; "warn" is None, with a warning that scikit-learn
        will change it to (0.0,).
    fit_intercept : bool, default=True
    cv : int, splitter or iterable of splits, optional
        By default five stratified folds, or fewer where no class has five rows.
    dual : as in `LogisticRegression`
    penalty : {"l2", "l1", "elasticnet"} or "deprecated", default="deprecated"
        Deprecated in scikit-learn: "l2" and "l1" stand for l1_ratios (0,) and (1,), "elasticnet" for `l1_ratios`.
    scoring : str, callable, None or "warn", default="warn"
        What the best C has most of, on the held-out folds. None is "accuracy"; "warn", too, with a warning that
        scikit-learn will change it to "neg_log_loss".
    solver, tol, max_iter, class_weight, verbose : as in `LogisticRegression`
    n_jobs : int, optional
        Threads over the folds; the result does not depend on it.
    refit : bool, default=True
        Fit all rows with the best C and l1_ratio (with few parameters and no L1 penalty, to more digits than tol
        asks for). Otherwise the best weights of the folds are averaged.
    intercept_scaling, random_state : as in `LogisticRegression`
    use_legacy_attributes : bool or "warn", default="warn"
        Whether the attributes have the form that scikit-learn is about to give up, see there; "warn" is True, with
        a warning.

    Attributes
    ----------
    C_, l1_ratio_ : float, or array of shape (n_planes,)
        The best values (their means over the folds when refit=False). Legacy: repeated for each hyperplane.
    Cs_, l1_ratios_ : arrays
        Those tried.
    scores_ : array of shape (n_folds, n_l1_ratios, n_cs), or dict
        On the held-out folds. Legacy: for each class (the second of two) the same array of shape
        (n_folds, n_cs, n_l1_ratios), without the last axis where `l1_ratios` is None.
    coefs_paths_ : array of shape (n_folds, n_l1_ratios, n_cs, n_planes, n_features + fit_intercept), or dict
        The weights, b last. Legacy: for each class an array of shape
        (n_folds, n_cs, n_l1_ratios, n_features + fit_intercept), without l1_ratios as above.
    n_iter_ : array of shape (n_folds, n_l1_ratios, n_cs), or (1, n_folds, n_cs, n_l1_ratios)
    coef_, intercept_, classes_ : as in `LogisticRegression`

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> options = {"l1_ratios": (0,), "scoring": "neg_log_loss", "use_legacy_attributes": False}
    >>> model = LogisticRegressionCV(Cs=[0.01, 1, 100], max_iter=200, **options)
    >>> model = model.fit(*load_iris(return_X_y=True))
    >>> float(model.C_), model.scores_.shape
    (100.0, (5, 1, 3))
    """

    __metadata_request__score = {"sample_weight": UNUSED}
    streaming = False

    def __init__(
        self,
        *,
        Cs: Count | ArrayLike = 10,
        l1_ratios: ArrayLike | Literal["warn"] | None = "warn",
        fit_intercept: bool = True,
        cv: Any = None,
        dual: bool = False,
        penalty: Literal["l1", "l2", "elasticnet", "deprecated"] = "deprecated",
        scoring: str | Callable | None = "warn",
        solver: Solver = "lbfgs",
        tol: NonNegative = 1e-4,
        max_iter: CountOrZero = 100,
        class_weight: dict | Literal["balanced"] | None = None,
        n_jobs: Jobs = None,
        verbose: int | bool = 0,
        refit: bool = True,
        intercept_scaling: Positive = 1.0,
        random_state: Seed = None,
        use_legacy_attributes: bool | Literal["warn"] = "warn",
    ) -> None:
        self.Cs = Cs
        self.l1_ratios = l1_ratios
        self.fit_intercept = fit_intercept
        self.cv = cv
        self.dual = dual
        self.penalty = penalty
        self.scoring = scoring
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.refit = refit
        self.intercept_scaling = intercept_scaling
        self.random_state = random_state
        self.use_legacy_attributes = use_legacy_attributes

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Self:
        """Learn from rows X with labels y.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The training data.
        y : array of shape (n_samples,)
            The labels: any numbers or strings.
        sample_weight : array of shape (n_samples,), optional
            How much each row counts; 2 is as good as having the row twice.
        **params
            For the splitter, such as `groups`, and for the scorer, when metadata routing is enabled.

        Returns
        -------
        self
        """
        routed = route(self, sample_weight, params)
        more = {} if routed is None else {"split": routed.splitter.split, "score": routed.scorer.score}
        return self._learn(X, y, sample_weight, **more)

    def _fit(
        self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None, split: Any = None, score: Any = None
    ) -> None:
        for name in ("coef_", "intercept_"):  # those of an earlier fit: Ctrl-C must not leave them
            self.__dict__.pop(name, None)
        warn_of_changing_defaults(self, self._given_ratios())
        Cs = np.logspace(-4, 4, self.Cs) if np.ndim(self.Cs) == 0 else np.asarray(self.Cs, dtype=float)
        ratios = self._ratios()
        self._check_grid(Cs, ratios)
        labels = self.classes_[y]
        cv = self.cv if self.cv is not None else max(2, min(5, np.bincount(y).max()))
        folds = checked_folds(self, X, labels, cv=cv, classifier=True, weight=sample_weight, **(split or {}))
        if score is None:  # without routing, weights go to the scorer as they are
            score = {} if sample_weight is None else {"sample_weight": sample_weight}
        weight = self._class_weighted(y, sample_weight)
        fold_score = FoldScore(self._get_scorer(), self._by_accuracy(), self.classes_, score)
        path = RegularizationPath(self._single_model(1.0, ratios.max()), X, y, weight, Cs, fold_score)
        seeds = self._seeds(len(folds) * ratios.size)
        tasks = [(train, test, ratio, next(seeds)) for train, test in folds for ratio in ratios]
        found = each(path, tasks, n_jobs=self.n_jobs)
        grid = (len(folds), ratios.size, Cs.size)
        tables, marks, passes, unconverged = zip(*found)
        if sum(unconverged):
            warnings.warn(
                f"{type(self).__name__}: {sum(unconverged)} of {np.prod(grid)} fits of the folds did not converge "
                f"in max_iter={self.max_iter} passes. Raise max_iter or tol, or scale the features.",
                ConvergenceWarning,
                stacklevel=2,
            )
        paths = np.array(tables).reshape(*grid, *np.shape(tables)[2:])
        scores, counts = np.array(marks).reshape(grid), np.array(passes, dtype=np.int32).reshape(grid)
        d = X.shape[1]
        if self.refit:
            # of equal scores the smallest C wins, then the first l1_ratio
            j, i = np.unravel_index(scores.sum(axis=0).T.argmax(), (Cs.size, ratios.size))
            best, mean = (float(Cs[j]), float(ratios[i])), paths[:, i, j].mean(axis=0)
            table = self._final(X, y, weight, *best, mean)
        else:
            at = [np.unravel_index(one.T.argmax(), (Cs.size, ratios.size)) for one in scores]
            best = float(np.mean([Cs[j] for j, _ in at])), float(np.mean([ratios[i] for _, i in at]))
            table = np.mean([part[i, j] for part, (j, i) in zip(paths, at)], axis=0)
        table = table.astype(X.dtype)
        self.coef_ = table[:, :d]
        self.intercept_ = table[:, d] if self.fit_intercept else np.zeros(len(table), X.dtype)
        self._set_search(Cs, best, scores, paths, counts)

    def _seeds(self, count: int) -> Iterator[Any]:
        """The random_state of each fit: the order in which threads come must not decide it."""
        given = self.random_state
        if given is None or isinstance(given, int | np.integer):
            return iter([given] * count)
        return iter(generator(given).integers(2**31, size=count).tolist())

    def _set_search(
        self,
        Cs: np.ndarray,
        best: tuple[float, float],
        scores: np.ndarray,
        paths: np.ndarray,
        counts: np.ndarray,
    ) -> None:
        """The attributes of the search, in the form that was asked for."""
        given = self._given_ratios()
        self.Cs_, self.l1_ratios_ = Cs, np.asarray([None] if given is None else given)
        if not self.use_legacy_attributes:  # "warn" is True
            found: Any = *best, scores, paths, counts
            self.C_, self.l1_ratio_, self.scores_, self.coefs_paths_, self.n_iter_ = found
            return
        planes = paths.shape[-2]
        ratio: Any = best[1]
        if given is None and self.refit:
            ratio = None
        elif not self.refit and self._kind() != "elasticnet":
            ratio = 0.0
        self.C_, self.l1_ratio_ = np.full(planes, best[0]), np.full(planes, ratio)
        whole = slice(None) if given is not None else 0  # without l1_ratios there is no axis for them
        classes = self.classes_ if planes > 1 else self.classes_[1:]
        self.scores_ = {c: scores.swapaxes(1, 2)[:, :, whole] for c in classes}
        self.coefs_paths_ = {c: paths[..., k, :].swapaxes(1, 2)[:, :, whole] for k, c in enumerate(classes)}
        self.n_iter_ = counts.swapaxes(1, 2)[None][..., whole]

    def _given_ratios(self) -> np.ndarray | None:
        """The values of `l1_ratios`, None where there are none."""
        if self.l1_ratios is None or (isinstance(self.l1_ratios, str) and self.l1_ratios == "warn"):
            return None
        return np.atleast_1d(np.asarray(self.l1_ratios, dtype=float))

    def _ratios(self) -> np.ndarray:
        """The values of l1_ratio to try."""
        given = self._given_ratios()
        if self.penalty in BY_NAME:
            return np.full(1 if given is None else given.size, BY_NAME[self.penalty])
        if self.penalty == "elasticnet" and given is None:
            raise ValueError(
                f"{type(self).__name__}: l1_ratios must be an array-like of numbers between 0 and 1 when penalty "
                f"is 'elasticnet'; got (l1_ratios={self.l1_ratios!r})."
            )
        return np.zeros(1) if given is None else given

    def _kind(self) -> str:
        """The name of the penalty."""
        ratios = self._ratios()
        if self.penalty != "deprecated":
            return str(self.penalty)
        return "l2" if not ratios.any() else "l1" if (ratios == 1).all() else "elasticnet"

    def _check_grid(self, Cs: np.ndarray, ratios: np.ndarray) -> None:
        name = type(self).__name__
        if not Cs.size or not (Cs > 0).all():
            raise ValueError(f"{name}: parameter 'Cs' must be numbers in (0, inf]; got {self.Cs!r}.")
        if not ratios.size or not ((ratios >= 0) & (ratios <= 1)).all():
            raise ValueError(
                f"{name}: parameter 'l1_ratios' must be numbers in [0, 1]; got (l1_ratios={self.l1_ratios!r}). "
                "l1_ratios must be an array-like of numbers between 0 and 1."
            )
        check_penalty(name, self.solver, self._kind(), self.dual, self.classes_.size)

    def _single_model(self, C: float, l1_ratio: float) -> LogisticRegression:
        """The model for one C and l1_ratio, with all the classes of the fit."""
        model = LogisticRegression(C=C, l1_ratio=l1_ratio, **{name: getattr(self, name) for name in SHARED})
        model.classes_, model.n_features_in_ = self.classes_, self.n_features_in_
        return model

    def _final(
        self, X: Any, y: np.ndarray, weight: np.ndarray | None, C: float, l1_ratio: float, mean: np.ndarray
    ) -> np.ndarray:
        """The fit of all rows with the best C, from the mean of the folds."""
        model = self._single_model(C, l1_ratio)
        model.n_jobs = self.n_jobs
        objective = model._objective(X, y, weight)
        loops: list[Steps] = []
        theta = from_table(objective, mean)
        if self.solver == "liblinear":  # which always begins with zeros
            theta = np.zeros(objective.size)
        theta = minimise(model, objective, theta, model._loop(objective, loops, self.steps))
        done = loops and loops[-1].is_converged
        if done and l1_ratio == 0 and objective.size <= POLISHED and self.solver not in EXACT:
            # where a path ends within tol, rounding decides; weighted and repeated rows shall have the same end
            theta = newton(objective, theta, tol=1e-13, max_iter=20, steps=SilentSteps)
        return table(objective, theta)

    def standard_errors(self, X: Any, sample_weight: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """As in `LogisticRegression`, for the chosen C."""
        check_is_fitted(self, "coef_")
        ratio = np.ravel(self.l1_ratio_)[0]
        model = self._single_model(
            float(np.ravel(self.C_)[0]), float(self._ratios()[0] if ratio is None else ratio)
        )
        model.coef_, model.intercept_ = self.coef_, self.intercept_
        return model.standard_errors(X, sample_weight)

    def _by_accuracy(self) -> bool:
        """Whether the score is the plain accuracy."""
        return self.scoring is None or (
            isinstance(self.scoring, str) and self.scoring in ("warn", "accuracy")
        )

    def _get_scorer(self) -> Any:
        return get_scorer("accuracy" if self._by_accuracy() else self.scoring)

    def score(self, X: Any, y: Any, sample_weight: Any = None, **score_params: Any) -> float:
        """The score of the `scoring` rule.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional
        **score_params
            More for the scorer, when metadata routing is enabled.

        Returns
        -------
        score : float
        """
        params = score_params if sample_weight is None else {**score_params, "sample_weight": sample_weight}
        if routing_enabled():
            params = process_routing(self, "score", **params).scorer.score
        elif score_params:
            raise ValueError(
                f"{type(self).__name__}.score: {sorted(score_params)} can be passed only with metadata routing "
                "enabled: it is only supported if enable_metadata_routing=True in sklearn.set_config."
            )
        plain = self._by_accuracy() and params.keys() <= {"sample_weight"}
        return super().score(X, y, **params) if plain else self._get_scorer()(self, X, y, **params)

    def get_metadata_routing(self) -> MetadataRouter:
        """Where metadata goes; see scikit-learn's guide to metadata routing.

        Returns
        -------
        MetadataRouter
        """
        scores = MethodMapping().add(caller="fit", callee="score").add(caller="score", callee="score")
        router = MetadataRouter(owner=self).add_self_request(self)
        router.add(splitter=self.cv, method_mapping=MethodMapping().add(caller="fit", callee="split"))
        return router.add(scorer=self._get_scorer(), method_mapping=scores)


class RegularizationPath:
    """The models of one fold and one l1_ratio for growing C, each warm-started from the last."""

    def __init__(self, model, X, y, weight, Cs, score) -> None:
        self.model, self.X, self.y, self.weight, self.Cs, self.score = model, X, y, weight, Cs, score

    def __call__(self, task: tuple[Any, Any, float, Any]) -> tuple[np.ndarray, list[float], list[int], int]:
        train, test, ratio, seed = task
        X, y, weight = take_rows(self.X, train), self.y[train], self.weight
        weight = None if weight is None else weight[train]
        score = self.score.of_fold(take_rows(self.X, test), self.y[test], test, self.y.size)
        model = LogisticRegression(**{**self.model.get_params(), "l1_ratio": ratio, "random_state": seed})
        model.classes_, model.n_features_in_ = self.model.classes_, self.model.n_features_in_
        tables, scores, counts, unconverged = [], [], [], []
        whole = model._objective(X, y, weight)
        theta = np.zeros(whole.size)
        for C in self.Cs:
            model.C = C
            objective = model._with_penalty(whole)
            loops: list[Steps] = []
            steps = model._loop(objective, loops, SilentSteps)
            theta = minimise(model, objective, theta, steps)
            model._set(model._unpack(objective, theta))
            tables.append(table(objective, theta))
            scores.append(score(model))
            counts.append(loops[-1].count if loops else 0)
            unconverged.append(bool(loops) and not loops[-1].is_converged)
        return np.array(tables), scores, counts, sum(unconverged)


def table(objective: Any, theta: np.ndarray) -> np.ndarray:
    """Weights and intercept of each hyperplane in one row, for the data as given."""
    found = theta.reshape(objective.shape).T.copy()
    found[:, : objective.X.shape[1]] /= objective.scale
    return found


def from_table(objective: Any, found: np.ndarray) -> np.ndarray:
    """The inverse of `table`."""
    theta = np.ascontiguousarray(found.T, dtype=np.float64)
    theta[: objective.X.shape[1]] *= objective.scale
    return theta.ravel()
