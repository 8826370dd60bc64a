"""Comparison of candidate Gaussian mixtures: each is fitted, scored, and marked if a component has collapsed."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import KFold

from tercet.cluster import AgglomerativeClustering
from tercet.core.estimator import generator
from tercet.core.folds import checked_folds
from tercet.core.steps import Steps
from tercet.distributions._gaussian.covariances import CovarianceType
from tercet.mixture.components import check_magnitude, mean_imputed
from tercet.mixture.gaussian_mixture import GaussianMixture


class Candidate(NamedTuple):
    """Number of components and covariance type of a mixture."""

    n_components: int
    covariance_type: CovarianceType


class CandidateResult(NamedTuple):
    """The fit of one candidate and its criteria."""

    candidate: Candidate
    model: GaussianMixture | None
    value: float  # of the criterion
    greater_is_better: bool
    collapsed: bool
    criteria: dict[str, float]
    failure: str = ""

    def beats(self, other: CandidateResult) -> bool:
        return self.rank() > other.rank()

    def rank(self) -> tuple[bool, bool, float]:
        value = self.value if self.greater_is_better else -self.value
        return self.model is not None, not self.collapsed, value if value == value else -np.inf


class CandidateSearch:
    """Fits and scores candidates on the same rows, folds and initial clusters."""

    def __init__(self, settings: Any, X: np.ndarray, weight: np.ndarray | None) -> None:
        self.settings, self.X, self.weight = settings, X, weight
        rng = generator(settings.random_state)
        self.seed = int(rng.integers(2**31 - 1))
        self.folds = weighted_folds(settings.cv, X, weight, self.seed) if settings.criterion == "cv" else []
        if weight is not None and not weight.all():  # a row of no weight is not there
            self.X, self.weight = X[weight > 0], weight[weight > 0]
        check_magnitude(self.X)
        filled = mean_imputed(self.X, self.weight).astype(np.float64)
        self.covariance = np.atleast_2d(np.cov(filled.T, aweights=self.weight, ddof=0))
        self.tree = None
        if settings.init_params == "hierarchical":
            self.tree = AgglomerativeClustering(settings.min_components, linkage="ward").fit(filled)

    def evaluate(self, candidate: Candidate) -> CandidateResult:
        """Fit a candidate and score it."""
        settings, X, weight = self.settings, self.X, self.weight
        greater = settings.criterion == "cv"
        try:
            model = self.fit(candidate)
            criteria = model.criteria(X, weight)
            if greater:
                criteria["cv"] = self.held_out(candidate)
        except ValueError as error:  # a covariance without an inverse, say: one candidate less
            failure = str(error).removeprefix(f"{CandidateMixture.__name__}: ")
            return CandidateResult(candidate, None, np.nan, greater, True, {}, failure)
        return CandidateResult(
            candidate, model, criteria[settings.criterion], greater, self.collapsed(model), criteria
        )

    def fit(self, candidate: Candidate, here: Any = slice(None)) -> CandidateMixture:
        settings = self.settings
        model = CandidateMixture(
            candidate.n_components,
            covariance_type=candidate.covariance_type,
            tol=settings.tol,
            reg_covar=settings.reg_covar,
            max_iter=settings.max_iter,
            n_init=settings.n_init if self.tree is None else 1,
            init_params="kmeans" if settings.init_params == "hierarchical" else settings.init_params,
            random_state=self.seed,
        )
        if self.tree is not None:
            model.clusters = self.tree.cut(candidate.n_components)[here]
        return model.fit(self.X[here], sample_weight=None if self.weight is None else self.weight[here])

    def held_out(self, candidate: Candidate) -> float:
        """The mean log-likelihood of rows under mixtures of the other folds."""
        found = [self.fit(candidate, here).score_samples(self.X[out]) for here, out in self.folds]
        weight = None if self.weight is None else np.concatenate([self.weight[out] for _, out in self.folds])
        return float(np.average(np.concatenate(found), weights=weight))

    def collapsed(self, model: GaussianMixture) -> bool:
        """Whether a component is flat where the rows as a whole are not (or where nothing makes up for it)."""
        kind, reg = model.covariance_type, self.settings.reg_covar
        if kind in ("full", "tied"):
            whole = np.linalg.eigvalsh(self.covariance)
            spreads = np.linalg.eigvalsh(
                model.covariances_.astype(np.float64).reshape(-1, *self.covariance.shape)
            )
        else:
            whole = (
                np.diag(self.covariance) if kind == "diag" else np.diag(self.covariance).mean(keepdims=True)
            )
            spreads = model.covariances_.reshape(model.n_components, -1)
        flat = 1.1 * reg + 1e-12 * whole.max()
        allowed = (whole + reg < flat).sum() if reg else 0
        return bool(((spreads < flat).sum(axis=1) > allowed).any())


class CandidateMixture(GaussianMixture):
    """A mixture that may start from given clusters, and warns of nothing: the search reports what failed."""

    clusters: np.ndarray | None = None

    def criteria(self, X: np.ndarray, weight: np.ndarray | None) -> dict[str, float]:
        mean, mass = self._mean_log_likelihood(X, weight)
        free, deviance = self._n_parameters(), -2 * mass * mean
        return {
            "log_likelihood": mass * mean,
            "bic": deviance + free * np.log(mass),
            "aic": deviance + 2 * free,
        }

    def _watch(self, step: Steps) -> bool:
        """An end that is asked for is not warned of."""
        return step.count == self.max_iter

    def _initial_responsibilities(
        self, X: Any, weight: np.ndarray | None, rng: np.random.Generator
    ) -> np.ndarray:
        return super()._initial_responsibilities(X, weight, rng) if self.clusters is None else self.clusters

    def _warn_degenerate(self, per: float) -> None:
        pass


def results_table(results: list[CandidateResult], criterion: str) -> dict[str, list[Any]]:
    """The results as columns."""
    names = ["log_likelihood", "bic", "aic"] + ["cv"] * (criterion == "cv")
    return {
        "n_components": [result.candidate.n_components for result in results],
        "covariance_type": [result.candidate.covariance_type for result in results],
        **{name: [float(result.criteria.get(name, np.nan)) for result in results] for name in names},
        "converged": [result.model is not None and bool(result.model.converged_) for result in results],
        "collapsed": [result.collapsed for result in results],
        "failure": [result.failure for result in results],
    }


def count_distinct(X: np.ndarray, enough: int) -> int:
    """How many different rows there are; counting ends at `enough`."""
    seen: set[bytes] = set()
    for row in X:
        seen.add((row + 0.0).tobytes())  # -0.0 is 0.0
        if len(seen) >= enough:
            break
    return len(seen)


def weighted_folds(
    cv: Any, X: np.ndarray, weight: np.ndarray | None, seed: int
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Pairs (rows to learn from, rows held out), as positions among the rows that have a weight."""
    there = np.ones(len(X), dtype=bool) if weight is None else weight > 0
    if isinstance(cv, int | np.integer):
        if not 2 <= cv <= there.sum():
            raise ValueError(
                f"GaussianMixtureIC: parameter 'cv' must be from 2 to the number of rows, {there.sum()}; got {cv}."
            )
        return list(KFold(int(cv), shuffle=True, random_state=seed).split(X[there]))
    position = np.cumsum(there) - 1

    def places(rows: np.ndarray) -> np.ndarray:
        return position[rows[there[rows]]]

    folds = checked_folds("GaussianMixtureIC", X, cv=cv, weight=weight)
    return [(places(here), places(out)) for here, out in folds]
