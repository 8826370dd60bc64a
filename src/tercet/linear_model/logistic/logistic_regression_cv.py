"""Logistic regression that chooses the strength of its penalty by cross-validation (交叉验证)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Literal, Self

import numpy as np
from sklearn.metrics import get_scorer, log_loss
from sklearn.model_selection import check_cv
from sklearn.utils.metadata_routing import UNUSED, MetadataRouter, MethodMapping, process_routing

from tercet.core.catalog import method
from tercet.core.estimator import check_is_fitted
from tercet.core.parallel import each
from tercet.core.parameters import (
    ArrayLike,
    Count,
    Jobs,
    NonNegative,
    Positive,
    Seed,
)
from tercet.core.steps import ConvergenceWarning, Steps
from tercet.linear_model._logistic.solvers import SilentSteps, Solver, check_options
from tercet.linear_model.logistic.logistic_regression import LogisticRegression, minimise
from tercet.linear_model.metadata_routing import route, routing_enabled

SHARED = (
    "fit_intercept", "dual", "solver", "tol", "max_iter", "class_weight", "intercept_scaling", "random_state",
)  # fmt: skip


@method(
    zh="逻辑斯谛回归的交叉验证",
    task="classification",
    model="as LogisticRegression",
    strategy="regularised maximum likelihood; C and l1_ratio by the best mean score of held-out folds",
    algorithms="the solvers of LogisticRegression along a path of C, each starting from the last",
    texts=["000 ch. 1, sec. 1.5", "000 ch. 6", "001 ch. 2, sec. 2.1"],
    peers=["sklearn.linear_model.LogisticRegressionCV"],
)
class LogisticRegressionCV(LogisticRegression):
    """Logistic regression with C and l1_ratio chosen by cross-validation.

    Parameters
    ----------
    Cs : int or array, default=10
        Values of C, or how many between 1e-4 and 1e4.
    l1_ratios : array, default=(0.0,)
        Values of l1_ratio.
    fit_intercept : bool, default=True
    cv : int, splitter or iterable of splits, optional
        By default five stratified folds, or fewer where a class has fewer rows.
    dual : as in `LogisticRegression`
    scoring : str or callable, default="neg_log_loss"
        What the best C has most of, on the held-out folds.
    solver, tol, max_iter, class_weight : as in `LogisticRegression`
    n_jobs : int, optional
        Threads over the folds; the result does not depend on it.
    verbose : as in `LogisticRegression`
    refit : bool, default=True
        Fit all rows with the best C and l1_ratio. Otherwise the best weights of the folds are averaged.
    intercept_scaling, random_state : as in `LogisticRegression`
    use_legacy_attributes : False
        Accepted for scikit-learn's sake: the attributes have their new form.

    Attributes
    ----------
    C_, l1_ratio_ : float
        The best values (their means over the folds when refit=False).
    Cs_, l1_ratios_ : arrays
        Those tried.
    scores_ : array of shape (n_folds, n_l1_ratios, n_cs)
        On the held-out folds.
    coefs_paths_ : array of shape (n_folds, n_l1_ratios, n_cs, n_planes, n_features + fit_intercept)
        The weights, b last.
    n_iter_ : array of shape (n_folds, n_l1_ratios, n_cs)
    coef_, intercept_, classes_ : as in `LogisticRegression`

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> model = LogisticRegressionCV(Cs=[0.01, 1, 100], max_iter=200).fit(*load_iris(return_X_y=True))
    >>> float(model.C_), model.scores_.shape
    (100.0, (5, 1, 3))
    """

    __metadata_request__score = {"sample_weight": UNUSED}

    def __init__(
        self,
        *,
        Cs: Count | ArrayLike = 10,
        l1_ratios: ArrayLike = (0.0,),
        fit_intercept: bool = True,
        cv: Any = None,
        dual: bool = False,
        scoring: str | Callable | None = "neg_log_loss",
        solver: Solver = "lbfgs",
        tol: NonNegative = 1e-4,
        max_iter: Count = 100,
        class_weight: dict | Literal["balanced"] | None = None,
        n_jobs: Jobs = None,
        verbose: int | bool = 0,
        refit: bool = True,
        intercept_scaling: Positive = 1.0,
        random_state: Seed = None,
        use_legacy_attributes: Literal[False] = False,
    ) -> None:
        self.Cs = Cs
        self.l1_ratios = l1_ratios
        self.fit_intercept = fit_intercept
        self.cv = cv
        self.dual = dual
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
        Cs = np.logspace(-4, 4, self.Cs) if np.ndim(self.Cs) == 0 else np.asarray(self.Cs, dtype=float)
        ratios = np.atleast_1d(np.asarray(self.l1_ratios, dtype=float))
        self._check_grid(Cs, ratios)
        labels = self.classes_[y]
        cv = self.cv if self.cv is not None else max(2, min(5, np.bincount(y).min()))
        folds = list(check_cv(cv, labels, classifier=True).split(X, labels, **(split or {})))
        if score is None:  # without routing, weights go to the scorer as they are
            score = {} if sample_weight is None else {"sample_weight": sample_weight}
        weight = self._class_weighted(y, sample_weight)
        path = RegularizationPath(self._single_model(1.0, ratios.max()), X, y, weight, score, Cs, self._score)
        tasks = [(train, test, ratio) for train, test in folds for ratio in ratios]
        found = each(path, tasks, n_jobs=self.n_jobs)
        grid = (len(folds), ratios.size, Cs.size)
        paths, scores, counts, unconverged = zip(*found)
        if sum(unconverged):
            warnings.warn(
                f"{type(self).__name__}: {sum(unconverged)} of {np.prod(grid)} fits of the folds did not converge "
                f"in max_iter={self.max_iter} passes. Raise max_iter or tol, or scale the features.",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.Cs_, self.l1_ratios_ = Cs, ratios
        self.scores_ = np.array(scores).reshape(grid)
        self.coefs_paths_ = np.array(paths).reshape(*grid, *np.shape(paths)[2:])
        self.n_iter_ = np.array(counts, dtype=np.int32).reshape(grid)
        d = X.shape[1]
        if self.refit:
            i, j = np.unravel_index(self.scores_.mean(axis=0).argmax(), grid[1:])
            self.C_, self.l1_ratio_ = float(Cs[j]), float(ratios[i])
            mean = self.coefs_paths_[:, i, j].mean(axis=0)
            table = self._final(X, y, weight, mean)
        else:
            best = [np.unravel_index(scores.argmax(), grid[1:]) for scores in self.scores_]
            self.C_ = float(np.mean([Cs[j] for _, j in best]))
            self.l1_ratio_ = float(np.mean([ratios[i] for i, _ in best]))
            table = np.mean([paths[at] for paths, at in zip(self.coefs_paths_, best)], axis=0)
        table = table.astype(X.dtype)
        self.coef_ = table[:, :d]
        self.intercept_ = table[:, d] if self.fit_intercept else np.zeros(len(table), X.dtype)

    def _check_grid(self, Cs: np.ndarray, ratios: np.ndarray) -> None:
        name = type(self).__name__
        if not Cs.size or not (Cs > 0).all():
            raise ValueError(f"{name}: parameter 'Cs' must be numbers in (0, inf]; got {self.Cs!r}.")
        if not ratios.size or not ((ratios >= 0) & (ratios <= 1)).all():
            raise ValueError(
                f"{name}: parameter 'l1_ratios' must be numbers in [0, 1]; got {self.l1_ratios!r}."
            )

    def _single_model(self, C: float, l1_ratio: float) -> LogisticRegression:
        """The model for one C and l1_ratio, with all the classes of the fit."""
        model = LogisticRegression(C=C, l1_ratio=l1_ratio, **{name: getattr(self, name) for name in SHARED})
        model.classes_, model.n_features_in_ = self.classes_, self.n_features_in_
        check_options(model, self.classes_.size)
        return model

    def _final(self, X: Any, y: np.ndarray, weight: np.ndarray | None, mean: np.ndarray) -> np.ndarray:
        """The fit of all rows with the best C, from the mean of the folds."""
        model = self._single_model(self.C_, self.l1_ratio_)
        model.n_jobs = self.n_jobs
        objective = model._objective(X, y, weight)
        steps = model._loop(objective, [], self.steps)
        return _table(objective, minimise(model, objective, np.ascontiguousarray(mean.T).ravel(), steps))

    def standard_errors(self, X: Any, sample_weight: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """As in `LogisticRegression`, for the chosen C."""
        check_is_fitted(self, "coef_")
        model = self._single_model(self.C_, self.l1_ratio_)
        model.coef_, model.intercept_ = self.coef_, self.intercept_
        return model.standard_errors(X, sample_weight)

    def _scorer(self) -> Any:
        return get_scorer(self.scoring or "accuracy")

    def _score(self, model: Any, X: Any, y: np.ndarray, params: dict[str, Any]) -> float:
        labels = self.classes_[y]
        if self.scoring == "neg_log_loss":  # a fold need not have every class
            return -log_loss(labels, model.predict_proba(X), labels=self.classes_, **params)
        return self._scorer()(model, X, labels, **params)

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
                "enabled: sklearn.set_config(enable_metadata_routing=True)."
            )
        return self._scorer()(self, X, y, **params)

    def get_metadata_routing(self) -> MetadataRouter:
        """Where metadata goes; see scikit-learn's guide to metadata routing.

        Returns
        -------
        MetadataRouter
        """
        scores = MethodMapping().add(caller="fit", callee="score").add(caller="score", callee="score")
        router = MetadataRouter(owner=self).add_self_request(self)
        router.add(splitter=self.cv, method_mapping=MethodMapping().add(caller="fit", callee="split"))
        return router.add(scorer=self._scorer(), method_mapping=scores)


class RegularizationPath:
    """The models of one fold and one l1_ratio for growing C, each warm-started from the last."""

    def __init__(self, model, X, y, weight, score_params, Cs, score) -> None:
        self.model, self.X, self.y, self.weight, self.score_params = model, X, y, weight, score_params
        self.Cs, self.score = Cs, score

    def __call__(self, task: tuple[Any, Any, float]) -> tuple[np.ndarray, list[float], list[int], int]:
        train, test, ratio = task
        X, y, weight = self.X[train], self.y[train], None if self.weight is None else self.weight[train]
        n = self.y.size
        params = {
            name: np.asarray(value)[test] if np.shape(value)[:1] == (n,) else value
            for name, value in self.score_params.items()
        }
        held_out = self.X[test], self.y[test], params
        model = LogisticRegression(**{**self.model.get_params(), "l1_ratio": ratio})
        model.classes_, model.n_features_in_ = self.model.classes_, self.model.n_features_in_
        tables, scores, counts, unconverged = [], [], [], []
        theta: np.ndarray | None = None
        for C in self.Cs:
            model.C = C
            objective = model._objective(X, y, weight)
            loops: list[Steps] = []
            steps = model._loop(objective, loops, SilentSteps)
            theta = minimise(model, objective, np.zeros(objective.size) if theta is None else theta, steps)
            model._set(model._unpack(objective, theta))
            tables.append(_table(objective, theta))
            scores.append(self.score(model, *held_out))
            counts.append(loops[-1].count if loops else 0)
            unconverged.append(bool(loops) and not loops[-1].is_converged)
        return np.array(tables), scores, counts, sum(unconverged)


def _table(objective: Any, theta: np.ndarray) -> np.ndarray:
    """Weights and intercept of each hyperplane in one row."""
    return theta.reshape(objective.shape).T
