"""Model selection of Gaussian mixtures (高斯混合模型的选择): number of components and covariance type."""

from __future__ import annotations

import warnings
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import DensityMixin

from tercet.core.catalog import method
from tercet.core.estimator import Estimator, check_is_fitted
from tercet.core.fitted_checks import Whole
from tercet.core.parallel import engine
from tercet.core.parameters import Count, CountOrZero, Jobs, NonNegative, Seed
from tercet.core.steps import ConvergenceWarning, stopped_early
from tercet.core.validation import target_for_callbacks
from tercet.distributions._gaussian.covariances import CovarianceType
from tercet.mixture.candidate_search import (
    Candidate,
    CandidateResult,
    CandidateSearch,
    count_distinct,
    results_table,
)
from tercet.mixture.components import gaussian_shapes
from tercet.mixture.gaussian_mixture import GaussianMixture

LEARNED = ["weights_", "means_", "covariances_", "precisions_", "precisions_cholesky_"]
LEARNED += ["converged_", "n_iter_", "lower_bound_", "seen_weight_", "n_batches_"]
TYPES: tuple[CovarianceType, ...] = ("spherical", "diag", "tied", "full")  # the fewest parameters first


@method(
    zh="高斯混合模型的选择",
    task="clustering",
    approach="generative",
    model="p(x) = Σ_k π_k N(x; μ_k, Σ_k), of as many components and with such covariances as the rows support",
    strategy="maximum likelihood for each candidate; among them the least BIC or AIC, or the best on rows held out",
    algorithms="EM for each candidate",
    texts=["Li ch. 9"],
    peers=["mclust", "graspologic.cluster.AutoGMMCluster"],
)
class GaussianMixtureIC(DensityMixin, Estimator):
    """Gaussian mixture whose number of components and covariance type are chosen by BIC, AIC or folds.

    A `GaussianMixture` is learned for every number of components and every kind of covariance that are to be
    compared; the one with the least BIC = -2 ln L + p ln n or AIC = -2 ln L + 2 p (p free numbers, n rows) is kept,
    or the one that makes rows most likely that were held out.

    A component that has collapsed onto too few rows to span the space makes the likelihood as high as `reg_covar`
    lets it, which says nothing. Such candidates are marked, and chosen only if there are no others.

    Parameters
    ----------
    min_components : int, default=1
        The fewest components to try.
    max_components : int, default=10
        The most components to try. No more are tried than there are different rows.
    covariance_type : {"all", "full", "tied", "diag", "spherical"} or list, default="all"
        The kinds of covariance to try.
    criterion : {"bic", "aic", "cv"}, default="bic"
        What decides. "cv" is the mean log-likelihood of rows that were held out, fold by fold.
    cv : int, splitter or iterable, default=5
        The folds for "cv"; a number is that of folds drawn at random. (A row of weight 2 is in one fold, a row that
        is there twice need not be.)
    tol : float, default=1e-3
        EM stops when the mean log-likelihood rises by less.
    reg_covar : float, default=1e-6
        Added to the variances.
    max_iter : int, default=100
        The most passes of EM for one candidate.
    n_init : int, default=1
        Starts for each candidate.
    init_params : {"kmeans", "k-means++", "random", "random_from_data", "hierarchical"}, default="kmeans"
        How EM begins, as in `GaussianMixture`; "hierarchical" begins with the clusters of one tree (Ward's, for
        all candidates; it takes n² time, and knows of no weights).
    random_state : int, optional
        Decides what is drawn.
    n_jobs : int, optional
        Candidates to learn at the same time; the result does not depend on it.

    Attributes
    ----------
    n_components_ : int
        The chosen number of components.
    covariance_type_ : str
        The chosen kind of covariance.
    criterion_ : float
        The criterion of the chosen mixture: small is good for BIC and AIC, great for "cv".
    results_ : dict of lists
        All candidates, column by column: "n_components", "covariance_type", "log_likelihood" (of all rows), "bic",
        "aic", "cv" (if asked for), "converged", "collapsed", and "failure" (why there are no numbers, or "").
    weights_, means_, covariances_, precisions_, precisions_cholesky_ : arrays
        The chosen mixture, as in `GaussianMixture`.
    labels_ : array of shape (n_samples,)
        The most probable component of each row.
    converged_ : bool
        Whether EM converged for the chosen mixture.
    n_iter_ : int
        Its passes.
    lower_bound_ : float
        Its mean log-likelihood at the last pass.
    n_batches_, seen_weight_ : int, float
        1, and the weight of all rows: `best_estimator_.partial_fit` goes on from there.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(centre, 1, size=(60, 2)) for centre in (0, 6, 12)])
    >>> model = GaussianMixtureIC(max_components=5, random_state=0).fit(X)
    >>> model.n_components_, model.covariance_type_
    (3, 'spherical')
    """

    sparse_input = False
    missing_input = True
    batch_rounding = 1e-12  # as of the mixtures it chooses from

    def __init__(
        self,
        min_components: Count = 1,
        max_components: Count = 10,
        *,
        covariance_type: Literal["all", "full", "tied", "diag", "spherical"] | list | tuple = "all",
        criterion: Literal["bic", "aic", "cv"] = "bic",
        cv: Any = 5,
        tol: NonNegative = 1e-3,
        reg_covar: NonNegative = 1e-6,
        max_iter: CountOrZero = 100,
        n_init: Count = 1,
        init_params: Literal["kmeans", "k-means++", "random", "random_from_data", "hierarchical"] = "kmeans",
        random_state: Seed = None,
        n_jobs: Jobs = None,
    ) -> None:
        self.min_components = min_components
        self.max_components = max_components
        self.covariance_type = covariance_type
        self.criterion = criterion
        self.cv = cv
        self.tol = tol
        self.reg_covar = reg_covar
        self.max_iter = max_iter
        self.n_init = n_init
        self.init_params = init_params
        self.random_state = random_state
        self.n_jobs = n_jobs

    n_components_: int
    covariance_type_: CovarianceType
    criterion_: float
    results_: dict[str, list[Any]]
    labels_: np.ndarray

    def _fit(self, X: np.ndarray, y: None, sample_weight: np.ndarray | None) -> None:
        search = CandidateSearch(self, X, sample_weight)
        candidates = self._candidates(search.X)
        best: CandidateResult | None = None
        results: list[CandidateResult] = []
        loop = self.steps(
            len(candidates), name="candidate", unpack=lambda result: self._attributes(result, X)
        )
        for step, result in zip(loop, engine(self.n_jobs).map(search.evaluate, candidates, ())):
            results.append(result)
            best = result if best is None or result.beats(best) else best
            step.report(best, n_components=result.candidate.n_components, **{self.criterion: result.value})
        assert best is not None
        if best.model is None:
            raise ValueError(f"GaussianMixtureIC: no candidate could be learned: {best.failure}")
        if best.collapsed:
            warnings.warn(
                "GaussianMixtureIC: in every candidate a component has collapsed onto rows that do not span the "
                "space; try a simpler covariance_type, fewer components or a greater reg_covar.",
                ConvergenceWarning,
                stacklevel=5,
            )
        elif self.max_iter and not best.model.converged_:
            warnings.warn(
                f"GaussianMixtureIC: the chosen mixture did not converge in {best.model.n_iter_} passes. "
                "Raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=5,
            )
        self.__dict__.update(self._attributes(best, X), results_=results_table(results, self.criterion))

    fitted_shapes = {
        "weights_": "components",
        "n_components_": Whole("components"),
        **gaussian_shapes("covariance_type_"),
    }

    def _candidates(self, X: np.ndarray) -> list[Candidate]:
        """The candidates to compare, simple ones first."""
        chosen = self.covariance_type
        kinds = TYPES if chosen == "all" else [chosen] if isinstance(chosen, str) else list(chosen)
        if not kinds or any(kind not in TYPES for kind in kinds):
            raise ValueError(
                f"GaussianMixtureIC: covariance_type must be 'all' or some of {list(TYPES)}; got {chosen!r}."
            )
        low, high = self.min_components, self.max_components
        if low > high:
            raise ValueError(
                f"GaussianMixtureIC: min_components={low} must not be greater than max_components={high}."
            )
        distinct = count_distinct(X, high)
        if distinct < low:
            raise ValueError(
                f"GaussianMixtureIC: min_components={low} needs as many different rows; "
                f"there are {distinct} (n_samples={len(X)})."
            )
        return [
            Candidate(k, kind)
            for k in range(low, min(high, distinct) + 1)
            for kind in dict.fromkeys(kinds)
            if not (k == 1 and kind == "tied" and "full" in kinds)  # one component: nothing to tie
        ]

    def _attributes(self, result: CandidateResult, X: np.ndarray) -> dict[str, Any]:
        if result.model is None:
            return {}
        return {
            **{name: getattr(result.model, name) for name in LEARNED},
            "n_components_": result.candidate.n_components,
            "covariance_type_": result.candidate.covariance_type,
            "criterion_": result.value,
            "labels_": result.model.predict(X),
        }

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn and compare mixtures of the rows X, and keep the best.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The rows; NaN is a value that is not known.
        y : ignored
            Nothing is learned from it; callbacks may score by it.
        sample_weight : array of shape (n_samples,), optional
            How much each row counts; 2 is as good as having the row twice.

        Returns
        -------
        self
        """
        return self._learn(X, y, sample_weight)

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        """Choose a mixture of the rows X, and return the most probable component of each row."""
        self.fit(X, sample_weight=sample_weight)
        return self.predict(X) if stopped_early(self) else self.labels_

    @property
    def best_estimator_(self) -> GaussianMixture:
        """The chosen mixture by itself."""
        check_is_fitted(self)
        model = GaussianMixture(
            self.n_components_,
            covariance_type=self.covariance_type_,
            tol=self.tol,
            reg_covar=self.reg_covar,
            max_iter=self.max_iter,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
        )
        model.__dict__.update({name: vars(self)[name] for name in [*LEARNED, "n_features_in_"]})
        return model

    def predict(self, X: Any) -> np.ndarray:
        """The most probable component of each row."""
        return self.best_estimator_.predict(self._check(X, reset=False))

    def predict_proba(self, X: Any) -> np.ndarray:
        """The posterior probabilities of the components for each row."""
        return self.best_estimator_.predict_proba(self._check(X, reset=False))

    def score_samples(self, X: Any) -> np.ndarray:
        """The log-likelihood of each row."""
        return self.best_estimator_.score_samples(self._check(X, reset=False))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The mean log-likelihood of the rows, weighted where there are weights."""
        return self.best_estimator_.score(self._check(X, reset=False), sample_weight=sample_weight)

    def bic(self, X: Any, sample_weight: Any = None) -> float:
        """Bayesian information criterion of the rows: the lower the better."""
        return self.best_estimator_.bic(self._check(X, reset=False), sample_weight)

    def aic(self, X: Any, sample_weight: Any = None) -> float:
        """Akaike's information criterion of the rows: the lower the better."""
        return self.best_estimator_.aic(self._check(X, reset=False), sample_weight)

    def sample(self, n_samples: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """Draw rows from the chosen mixture, and the component of each."""
        return self.best_estimator_.sample(n_samples)

    def _check(self, X: Any, y: Any = ..., *, reset: bool = True) -> Any:
        """As for clusterers: a target may come along for callbacks, and is not looked at."""
        if not reset:
            check_is_fitted(self)
        X = super()._check(X, reset=reset)
        return X if y is ... else (X, target_for_callbacks(y, X.shape[0]))
