"""EasyEnsemble: boosted members on many undersampled sets of rows (欠采样集成; Liu, Wu and Zhou 2009).

One undersampled set forgets most of the larger class. EasyEnsemble draws several, each as large as the smaller
class, fits AdaBoost on each of them with all rows of the smaller class, and adds up their scores.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.estimator import generator
from tercet.core.parallel import engine
from tercet.core.parameters import Count, CountOrZero, Jobs, Seed
from tercet.ensemble.undersampling.base import UndersamplingEnsemble
from tercet.feature import RandomUnderSampler

Strategy = Literal["auto", "majority", "not minority", "not majority", "all"] | float | dict | Callable


@method(
    zh="EasyEnsemble 欠采样集成",
    task="classification",
    model="the class of the largest mean probability over boosted members",
    strategy="that of the members, each on classes of equal size",
    algorithms="several undersampled sets of rows, AdaBoost on each",
    texts=["watermelon notes ch. 1"],
    peers=["imblearn.ensemble.EasyEnsembleClassifier"],
)
class EasyEnsembleClassifier(UndersamplingEnsemble):
    """EasyEnsemble: AdaBoost on several undersampled sets of rows, whose answers are averaged.

    Each member gets all rows of the smallest class and as many rows of every other one, drawn at random. Rows that
    are drawn keep their `sample_weight`. The mean of the members' scores, `decision_function`, has the sign of

        sum_i [ sum_j alpha_ij h_ij(x) - theta_i ]

    with weak learners h_ij of member i, when the members are `AdaBoostClassifier(algorithm="m1")`, whose thresholds
    theta_i are 0.

    Parameters
    ----------
    n_estimators : int, default=10
        The number of undersampled sets.
    estimator : classifier, optional
        The members; by default `AdaBoostClassifier()`.
    warm_start : bool, default=False
        Whether `fit` keeps the members of the fit before, and only adds those that are missing.
    sampling_strategy : str, float, dict or callable, default="auto"
        How many rows of each class a member gets, as in `RandomUnderSampler`.
    replacement : bool, default=False
        Whether a row may be drawn more than once for one member.
    n_jobs : int, optional
        Threads. The ensemble does not depend on it.
    random_state : int, optional
        Decides the rows and the seeds of the members.
    verbose : int, default=0
        There for imbalanced-learn's sake; register a `ProgressBar` callback to watch a fit.

    Attributes
    ----------
    estimators_ : list of classifiers
        The members.
    estimators_samples_ : list of arrays
        The rows of each member.
    estimator_ : classifier
        What the members are clones of.
    classes_, n_classes_ : array and int

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = (np.arange(1000) < 20).astype(int)  # 1 to 49
    >>> X = rng.normal(size=(1000, 2)) + 2.0 * y[:, None]
    >>> model = EasyEnsembleClassifier(random_state=0).fit(X, y)
    >>> [len(rows) for rows in model.estimators_samples_[:2]], model.predict([[0, 0], [2, 2]])
    ([40, 40], array([0, 1]))
    """

    def __init__(
        self,
        n_estimators: Count = 10,
        estimator: Any = None,
        *,
        warm_start: bool = False,
        sampling_strategy: Strategy = "auto",
        replacement: bool = False,
        n_jobs: Jobs = None,
        random_state: Seed = None,
        verbose: CountOrZero | bool = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.estimator = estimator
        self.warm_start = warm_start
        self.sampling_strategy = sampling_strategy
        self.replacement = replacement
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        usable = self._usable_rows(y, sample_weight)
        members, samples = self._kept_members()
        seeds = generator(self.random_state).integers(2**31 - 1, size=self.n_estimators)
        labels = self.classes_[y[usable]]

        def fitted(seed: int) -> tuple[Any, np.ndarray]:
            rows = usable[self._balanced(labels, seed)]
            return self._fitted_member(X, y, sample_weight, rows, seed), rows

        new = engine(self.n_jobs).map(fitted, seeds[len(members) :].tolist(), ())
        for step in self.steps(self.n_estimators - len(members), name="member", unpack=self._state):
            member, rows = next(new)
            members.append(member)
            samples.append(rows)
            step.report((len(members), members, samples))
        self.__dict__.update(self._state((len(members), members, samples)))

    def _balanced(self, labels: np.ndarray, seed: int) -> np.ndarray:
        """Rows of equally large classes."""
        sampler = RandomUnderSampler(
            sampling_strategy=self.sampling_strategy, replacement=self.replacement, random_state=seed
        )
        sampler.fit_resample(np.empty((len(labels), 0)), labels)
        return sampler.sample_indices_

    def _kept_members(self) -> tuple[list[Any], list[np.ndarray]]:
        """The members of an earlier fit, with `warm_start`, and their rows."""
        kept = list(getattr(self, "estimators_", [])) if self.warm_start else []
        if self.n_estimators < len(kept):
            raise ValueError(
                f"{type(self).__name__}: n_estimators={self.n_estimators} must be at least len(estimators_)="
                f"{len(kept)} when warm_start=True."
            )
        return kept, list(self.estimators_samples_[: len(kept)]) if kept else []

    def _state(self, state: tuple[int, list[Any], list[np.ndarray]]) -> dict[str, Any]:
        """The fitted attributes after so many members."""
        count, members, samples = state
        return {"estimators_": members[:count], "estimators_samples_": samples[:count]}
