"""The contest of candidates for a Gaussian mixture: each is learned, judged, and marked if it has collapsed."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import KFold, check_cv

from tercet.cluster import AgglomerativeClustering
from tercet.core.estimator import generator
from tercet.core.steps import Steps
from tercet.mixture.components import known, refuse_huge
from tercet.mixture.covariances import Kind
from tercet.mixture.gaussian import GaussianMixture


class Candidate(NamedTuple):
    """What a mixture may be like."""

    n_components: int
    covariance_type: Kind


class Trial(NamedTuple):
    """What came of one candidate."""

    candidate: Candidate
    model: GaussianMixture | None
    value: float  # of the criterion
    great_is_good: bool
    collapsed: bool
    numbers: dict[str, float]
    failure: str = ""

    def beats(self, other: Trial) -> bool:
        return self.rank() > other.rank()

    def rank(self) -> tuple[bool, bool, float]:
        value = self.value if self.great_is_good else -self.value
        return self.model is not None, not self.collapsed, value if value == value else -np.inf


class Contest:
    """The rows on which candidates are tried, and what all trials share."""

    def __init__(self, settings: Any, X: np.ndarray, weight: np.ndarray | None) -> None:
        self.settings, self.X, self.weight, self.over = settings, X, weight, False
        rng = generator(settings.random_state)
        self.seed = int(rng.integers(2**31 - 1))
        self.folds = splits(settings.cv, X, weight, self.seed) if settings.criterion == "cv" else []
        if weight is not None and not weight.all():  # a row of no weight is not there
            self.X, self.weight = X[weight > 0], weight[weight > 0]
        refuse_huge(self.X)
        filled = known(self.X, self.weight).astype(np.float64)
        self.whole = np.atleast_2d(np.cov(filled.T, aweights=self.weight, ddof=0))
        self.tree = None
        if settings.init_params == "hierarchical":
            self.tree = AgglomerativeClustering(settings.min_components, linkage="ward").fit(filled)

    def hold(self, candidate: Candidate) -> Trial:
        """Learn a candidate and judge it."""
        settings, X, weight = self.settings, self.X, self.weight
        good = settings.criterion == "cv"
        try:
            model = self.learn(candidate)
            numbers = model.criteria(X, weight)
            if good:
                numbers["cv"] = self.held_out(candidate)
        except ValueError as error:  # a covariance without an inverse, say: one candidate less
            failure = str(error).removeprefix(f"{Seeded.__name__}: ")
            return Trial(candidate, None, np.nan, good, True, {}, failure)
        except KeyboardInterrupt:
            self.over = True  # trials in other threads end with their present pass
            raise
        return Trial(candidate, model, numbers[settings.criterion], good, self.collapsed(model), numbers)

    def learn(self, candidate: Candidate, here: Any = slice(None)) -> Seeded:
        settings = self.settings
        model = Seeded(
            candidate.n_components,
            covariance_type=candidate.covariance_type,
            tol=settings.tol,
            reg_covar=settings.reg_covar,
            max_iter=settings.max_iter,
            n_init=settings.n_init if self.tree is None else 1,
            init_params="kmeans" if settings.init_params == "hierarchical" else settings.init_params,
            random_state=self.seed,
        )
        model.contest = self
        if self.tree is not None:
            model.groups = self.tree.cut(candidate.n_components)[here]
        return model.fit(self.X[here], sample_weight=None if self.weight is None else self.weight[here])

    def held_out(self, candidate: Candidate) -> float:
        """The mean log-likelihood of rows under mixtures of the other folds."""
        found = [self.learn(candidate, here).score_samples(self.X[out]) for here, out in self.folds]
        weight = None if self.weight is None else np.concatenate([self.weight[out] for _, out in self.folds])
        return float(np.average(np.concatenate(found), weights=weight))

    def collapsed(self, model: GaussianMixture) -> bool:
        """Whether a component is flat where the rows as a whole are not (or where nothing makes up for it)."""
        kind, reg = model.covariance_type, self.settings.reg_covar
        if kind in ("full", "tied"):
            whole = np.linalg.eigvalsh(self.whole)
            spreads = np.linalg.eigvalsh(model.covariances_.astype(np.float64).reshape(-1, *self.whole.shape))
        else:
            whole = np.diag(self.whole) if kind == "diag" else np.diag(self.whole).mean(keepdims=True)
            spreads = model.covariances_.reshape(model.n_components, -1)
        flat = 1.1 * reg + 1e-12 * whole.max()
        allowed = (whole + reg < flat).sum() if reg else 0
        return bool(((spreads < flat).sum(axis=1) > allowed).any())


class Seeded(GaussianMixture):
    """A mixture that may begin with given groups of rows, and says nothing: the contest tells what came of it."""

    contest: Contest
    groups: np.ndarray | None = None

    def criteria(self, X: np.ndarray, weight: np.ndarray | None) -> dict[str, float]:
        mean, mass = self._judge(X, weight)
        free, deviance = self._n_parameters(), -2 * mass * mean
        return {
            "log_likelihood": mass * mean,
            "bic": deviance + free * np.log(mass),
            "aic": deviance + 2 * free,
        }

    def _watch(self, step: Steps) -> bool:
        """An end that is asked for is not warned of."""
        if self.contest.over:
            raise KeyboardInterrupt
        return step.count == self.max_iter

    def _first_shares(self, X: Any, weight: np.ndarray | None, rng: np.random.Generator) -> np.ndarray:
        return super()._first_shares(X, weight, rng) if self.groups is None else self.groups

    def _report_degenerate(self, per: float) -> None:
        pass


def table(trials: list[Trial], criterion: str) -> dict[str, list[Any]]:
    """The trials as columns."""
    names = ["log_likelihood", "bic", "aic"] + ["cv"] * (criterion == "cv")
    return {
        "n_components": [trial.candidate.n_components for trial in trials],
        "covariance_type": [trial.candidate.covariance_type for trial in trials],
        **{name: [float(trial.numbers.get(name, np.nan)) for trial in trials] for name in names},
        "converged": [trial.model is not None and bool(trial.model.converged_) for trial in trials],
        "collapsed": [trial.collapsed for trial in trials],
        "failure": [trial.failure for trial in trials],
    }


def count_different(X: np.ndarray, enough: int) -> int:
    """How many different rows there are; counting ends at `enough`."""
    seen: set[bytes] = set()
    for row in X:
        seen.add((row + 0.0).tobytes())  # -0.0 is 0.0
        if len(seen) >= enough:
            break
    return len(seen)


def splits(
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

    def places(rows: Any) -> np.ndarray:
        rows = np.asarray(rows)
        return position[rows[there[rows]]]

    return [(places(here), places(out)) for here, out in check_cv(cv).split(X)]
