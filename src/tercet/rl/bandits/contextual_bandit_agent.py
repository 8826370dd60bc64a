"""Contextual bandits with any regressor for the rewards, and ε-greedy choices."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone, is_regressor

from tercet.core.catalog import method
from tercet.core.estimator import generator
from tercet.core.fitted_checks import Declarations, Each, Floats, Having, Whole
from tercet.core.parameters import Count, Fraction, Seed, check_parameters
from tercet.core.steps import fitted_attributes
from tercet.core.validation import check_is_fitted, validate_data
from tercet.rl.agent import Agent
from tercet.rl.bandits.logged_data import checked_actions, checked_rewards
from tercet.rl.schedules import Schedule


@method(
    zh="上下文 ε-贪心",
    task="reinforcement learning",
    model="E[r | x, arm k] = f_k(x), a regressor for each arm",
    strategy="exploit the arm of the highest expected reward, explore with probability ε",
    algorithms={"epsilon-greedy": "a random arm with probability ε, otherwise argmax_k f_k(x)"},
    peers=["contextualbandits.online.EpsilonGreedy", "mabwiser.mab.LearningPolicy.EpsilonGreedy"],
)
class ContextualBanditAgent(Agent):
    """Contextual bandit of any regressor that learns by `partial_fit`, with ε-greedy choices.

    Parameters
    ----------
    estimator : regressor
        Predicts the reward of an arm from the context: `MLPRegressor()` or `SGDRegressor()`, say. Each arm has a
        copy.
    epsilon : float or Schedule, default=0.1
        Probability ε of a random arm. A schedule counts the rows learned from.
    n_arms : int, optional
        Number of arms; by default what the actions in the first call of `fit` or `partial_fit` say.
    random_state : int, RandomState, Generator or None, default=None
        Seed of random choices and of the copies of `estimator` that have none of their own.

    Attributes
    ----------
    estimators_ : list of length n_arms
        The regressor of each arm.
    counts_ : array of shape (n_arms,)
        Number of rows in which each arm was chosen.
    generator_ : numpy.random.Generator
        Source of random choices.

    Examples
    --------
    >>> import numpy as np
    >>> from tercet.linear_model import SGDRegressor
    >>> X = np.random.default_rng(0).normal(size=(400, 2))
    >>> actions = np.arange(400) % 2
    >>> rewards = np.where(actions == 0, X[:, 0], X[:, 1])
    >>> agent = ContextualBanditAgent(SGDRegressor(), random_state=0).fit(X, actions, rewards)
    >>> agent.predict([[1.0, -1.0], [-1.0, 1.0]])
    array([0, 1])
    """

    fitted_shapes: ClassVar[Declarations] = {
        "n_features_in_": Whole("features", 1),
        "counts_": Floats("arms", finite=True, low=0.0),
        "estimators_": Each(Having({}, ("predict",)), "arms"),
    }
    estimators_: list[Any]
    counts_: np.ndarray
    n_features_in_: int

    def __init__(
        self,
        estimator: Any,
        *,
        epsilon: Fraction | Schedule = 0.1,
        n_arms: Count | None = None,
        random_state: Seed = None,
    ) -> None:
        self.estimator = estimator
        self.epsilon = epsilon
        self.n_arms = n_arms
        self.random_state = random_state

    def fit(self, X: Any, actions: Any, rewards: Any) -> Self:
        """Fit the regressors to logged choices, knowing nothing at first.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The contexts.
        actions : array of int of shape (n_samples,)
            The arm chosen in each row, from 0.
        rewards : array of shape (n_samples,)
            What it gave.

        Returns
        -------
        self
        """
        check_parameters(self)
        for name in fitted_attributes(self):
            delattr(self, name)
        return self._learn(X, actions, rewards, "fit")

    def partial_fit(self, X: Any, actions: Any, rewards: Any) -> Self:
        """Learn from more choices, by `partial_fit` of the regressors.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The contexts.
        actions : int or array of int of shape (n_samples,)
            The arm chosen in each row, from 0.
        rewards : float or array of shape (n_samples,)
            What it gave.

        Returns
        -------
        self
        """
        check_parameters(self)
        if not hasattr(self.estimator, "partial_fit"):
            raise TypeError(
                "ContextualBanditAgent: partial_fit needs an estimator with partial_fit; "
                f"{type(self.estimator).__name__} has none. Use fit with all choices so far."
            )
        return self._learn(X, actions, rewards, "partial_fit")

    def _learn(self, X: Any, actions: Any, rewards: Any, how: str) -> Self:
        if not hasattr(self.estimator, "fit") or not is_regressor(self.estimator):
            raise TypeError(f"ContextualBanditAgent: estimator must be a regressor; got {self.estimator!r}.")
        X = self._contexts(X)
        known = len(self.estimators_) if hasattr(self, "estimators_") else self.n_arms
        actions = checked_actions("ContextualBanditAgent", actions, known)
        if len(actions) != len(X):
            raise ValueError(
                f"ContextualBanditAgent: actions must have the length {len(X)}, as X has; got {len(actions)}."
            )
        rewards = checked_rewards("ContextualBanditAgent", rewards, len(actions))
        self._begin(int(actions.max()) + 1)
        for k in np.unique(actions):
            here = actions == k
            getattr(self.estimators_[k], how)(X[here], rewards[here])
            self.counts_[k] += here.sum()
        return self

    def _begin(self, n_arms: int) -> None:
        """A copy of the regressor for each arm, before the first row."""
        if hasattr(self, "estimators_"):
            return
        self.generator_ = np.random.default_rng(generator(self.random_state).integers(2**63))
        n = n_arms if self.n_arms is None else self.n_arms
        self.estimators_, self.counts_ = (
            [clone(self.estimator) for _ in range(n)],
            np.zeros(n, dtype=np.int64),
        )
        for copy in self.estimators_:
            if copy.get_params().get("random_state", 0) is None:
                copy.set_params(random_state=int(self.generator_.integers(2**31)))

    def expected_rewards(self, X: Any) -> np.ndarray:
        """Expected rewards of all arms; NaN for arms that were never chosen.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The contexts.

        Returns
        -------
        array of shape (n_samples, n_arms)
        """
        check_is_fitted(self)
        return self._expected(self._contexts(X))

    def predict(self, X: Any) -> np.ndarray:
        """The arm with the highest expected reward, without exploring, among those that were chosen at least once.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The contexts.

        Returns
        -------
        array of int of shape (n_samples,)
        """
        expected = self.expected_rewards(X)
        return np.argmax(np.where(np.isnan(expected), -np.inf, expected), axis=1)

    def choose(self, X: Any) -> np.ndarray:
        """The arms to choose next: ε-greedy, and arms that were never chosen before all others.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The contexts.

        Returns
        -------
        array of int of shape (n_samples,)
        """
        check_parameters(self)
        if self.n_arms is None:
            check_is_fitted(self)
        X = self._contexts(X)
        self._begin(self.n_arms or 0)
        expected, rng = self._expected(X), self.generator_
        expected[np.isnan(expected)] = np.inf
        best = expected == expected.max(axis=1, keepdims=True)
        arms = np.argmax(best * (1.0 + rng.random(best.shape)), axis=1)  # a random one of the best
        t = int(self.counts_.sum()) + 1
        epsilon = self.epsilon(t) if isinstance(self.epsilon, Schedule) else self.epsilon
        explore = rng.random(len(X)) < epsilon
        arms[explore] = rng.integers(expected.shape[1], size=int(explore.sum()))
        return arms

    def _expected(self, X: np.ndarray) -> np.ndarray:
        expected = np.full((len(X), len(self.estimators_)), np.nan)
        for k in np.flatnonzero(self.counts_):
            expected[:, k] = self.estimators_[k].predict(X)
        return expected

    def _contexts(self, X: Any) -> np.ndarray:
        return validate_data(self, X, reset=not hasattr(self, "estimators_"), dtype=np.float64)
