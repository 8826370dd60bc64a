"""K-armed bandits (K-摇臂赌博机)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from tercet.core.catalog import method
from tercet.core.estimator import generator
from tercet.core.kernel import inner
from tercet.core.public_names import PublicPickle
from tercet.core.rows import read_only
from tercet.core.scaling import LARGE
from tercet.distributions import Bernoulli, Distribution, Gaussian, GaussianKnownVariance
from tercet.rl._engine.model import uniform
from tercet.rl.bandits.draws import normal
from tercet.rl.bandits.logged_data import checked_rewards

BERNOULLI, NORMAL, OBSERVED, DRAWN = range(4)  # kinds of arms


class Arms(NamedTuple):
    """The arms of a bandit as kernels see them.

    Attributes
    ----------
    kinds : array of shape (n_arms,), int64
        BERNOULLI, NORMAL, OBSERVED (rewards to draw from), or DRAWN (rewards drawn ahead, used in their order).
    means : array of shape (n_arms,), float64
        Expected reward; it moves where there is a drift.
    scales : array of shape (n_arms,), float64
        Standard deviation of a normal arm.
    starts, sizes : arrays of shape (n_arms,), int64
        Where the rewards of an arm are among `values`.
    values : array, float64
        Rewards observed or drawn ahead.
    used : array of shape (n_arms,), int64
        How many of the rewards drawn ahead have been used.
    best : array of shape (1,), float64
        The highest mean.
    drift : float
        Standard deviation of the change of each mean after each pull.
    """

    kinds: np.ndarray
    means: np.ndarray
    scales: np.ndarray
    starts: np.ndarray
    sizes: np.ndarray
    values: np.ndarray
    used: np.ndarray
    best: np.ndarray
    drift: float


@inner
def reward(arms: Arms, arm: int, draws: np.ndarray) -> float:
    """The reward of a pull."""
    kind = arms.kinds[arm]
    if kind == BERNOULLI:
        return 1.0 if uniform(draws) < arms.means[arm] else 0.0
    if kind == NORMAL:
        return arms.means[arm] + arms.scales[arm] * normal(draws)
    if kind == OBSERVED:
        return arms.values[arms.starts[arm] + int(uniform(draws) * arms.sizes[arm])]
    arms.used[arm] += 1
    return arms.values[arms.starts[arm] + arms.used[arm] - 1]


@inner
def move_means(arms: Arms, draws: np.ndarray) -> None:
    """A step of the random walk of the means, where they drift."""
    if arms.drift > 0:
        arms.best[0] = -np.inf
        for k in range(arms.means.size):
            arms.means[k] += arms.drift * normal(draws)
            arms.best[0] = max(arms.best[0], arms.means[k])


@method(
    zh="K-摇臂赌博机",
    task="reinforcement learning",
    model="K arms; arm k gives rewards of a distribution of its own, with mean μ_k",
    strategy="the highest sum of rewards over T pulls: the lowest regret T max_k μ_k - Σ_t μ_{a_t}",
    texts=["watermelon notes ch. 14, sec. 14.2.1"],
    peers=["mabwiser.simulator.Simulator"],
)
class Bandit(PublicPickle):
    """K-armed bandit: a choice among arms, each with a reward distribution of its own.

    It is a decision process of one state. What the arms pay must be found out by pulling them, and every pull of an
    arm that is not the best one costs μ* - μ_k on average: the regret.

    Parameters
    ----------
    arms : array of shape (n_arms,), or list
        An item for each arm: a number (see `distribution`), a distribution of `tercet.distributions` or
        `scipy.stats`, or an array of observed rewards, of which each pull draws one with replacement.
    distribution : {"bernoulli", "normal"}, default="bernoulli"
        What numbers among the arms mean: the probability of the reward 1 (otherwise it is 0), or the mean of a
        normal distribution.
    scale : float or array of shape (n_arms,), default=1.0
        Standard deviations of the normal distributions.
    drift : float, default=0.0
        Standard deviation of a normal number that is added to every mean after each pull, when an agent learns:
        above 0 the bandit is not stationary. All arms must be normal then.

    Attributes
    ----------
    n_arms : int
        Number of arms K.
    means : array of shape (n_arms,)
        Expected reward of each arm, μ_k (with a drift, before the first pull).
    best : int
        The arm with the highest mean, the first of equal ones.
    gaps : array of shape (n_arms,)
        How much less than the best arm each arm gives on average, Δ_k = max_j μ_j - μ_k.

    Examples
    --------
    >>> bandit = Bandit([0.2, 0.5, 0.7])
    >>> bandit
    Bandit(3 arms, the best is arm 2 with mean 0.7)
    >>> bandit.pull([0, 1, 2, 2, 2], random_state=0)
    array([0., 1., 1., 1., 0.])
    >>> bandit.regret([0, 1, 2]).round(2)
    array([0.5, 0.7, 0.7])

    Arms of several kinds:

    >>> from tercet.distributions import Uniform
    >>> Bandit([0.5, Uniform(0, 2), [0.0, 0.0, 4.0, 1.0]]).means
    array([0.5 , 1.  , 1.25])
    """

    def __init__(
        self,
        arms: Any,
        *,
        distribution: Literal["bernoulli", "normal"] = "bernoulli",
        scale: Any = 1.0,
        drift: float = 0.0,
    ) -> None:
        if distribution not in ("bernoulli", "normal"):
            raise ValueError(f"Bandit: distribution must be 'bernoulli' or 'normal'; got {distribution!r}.")
        given = _items(arms)
        self.n_arms = n = len(given)
        self.means, self._scales = np.zeros(n), _scales(scale, n)
        self._kinds = np.zeros(n, dtype=np.int64)
        self._rewards: list[Any] = [None] * n  # observed rewards, or a distribution to draw from
        for k, arm in enumerate(given):
            self._set(k, arm, distribution)
        self.best = int(np.argmax(self.means))
        self.gaps = self.means[self.best] - self.means
        if (
            isinstance(drift, bool)
            or not isinstance(drift, int | float | np.number)
            or not 0 <= drift < np.inf
        ):
            raise ValueError(f"Bandit: drift must be a finite number of at least 0; got {drift!r}.")
        self.drift = float(drift)
        if drift and (self._kinds != NORMAL).any():
            k = int(np.argmax(self._kinds != NORMAL))
            raise ValueError(f"Bandit: only the means of normal arms can drift; arm {k} is not normal.")

    def _set(self, k: int, arm: Any, distribution: str) -> None:
        """Take arm k: a number, a distribution or observed rewards."""
        if isinstance(arm, int | float | np.number):
            mean = float(arm)
            if distribution == "bernoulli" and not 0 <= mean <= 1:
                raise ValueError(
                    f"Bandit: arm {k} has the probability {mean:g}; it must be from 0 to 1. Use "
                    "distribution='normal' for the means of normal distributions."
                )
            self._kinds[k], self.means[k] = BERNOULLI if distribution == "bernoulli" else NORMAL, mean
        elif isinstance(arm, Bernoulli):
            self.means[k] = arm.p
        elif isinstance(arm, Gaussian | GaussianKnownVariance):
            self._kinds[k], self.means[k], self._scales[k] = NORMAL, arm.mean, np.sqrt(arm.variance)
        elif isinstance(arm, Distribution) or hasattr(arm, "rvs"):
            self._kinds[k], self._rewards[k], self.means[k] = DRAWN, arm, _mean(arm, k)
        else:
            rewards = _observed(arm, k)
            self._kinds[k], self._rewards[k], self.means[k] = OBSERVED, rewards, rewards.mean()
        if not max(abs(self.means[k]), self._scales[k]) <= LARGE:
            raise ValueError(
                f"Bandit: the mean of arm {k} must be a finite number of size {LARGE:g} at most; it is "
                f"{self.means[k]:g}, with the scale {self._scales[k]:g}."
            )

    def __repr__(self) -> str:
        arms = f"{self.n_arms} arm{'s' if self.n_arms > 1 else ''}"
        return f"Bandit({arms}, the best is arm {self.best} with mean {self.means[self.best]:g})"

    def pull(self, arm: Any, random_state: Any = None) -> Any:
        """Pull an arm, or several arms one after the other.

        Parameters
        ----------
        arm : int or array of int
            Numbers of arms, from 0.
        random_state : int, RandomState, Generator or None, default=None
            Seed of the rewards. A generator goes on from call to call, the same number gives the same rewards.

        Returns
        -------
        float or array
            The reward of each pull.
        """
        chosen = np.asarray(self._numbers(arm))
        rng = generator(random_state)
        rewards = np.zeros(chosen.shape)
        for k in np.unique(chosen):
            here = chosen == k
            rewards[here] = self._sample(int(k), int(here.sum()), rng)
        return rewards[()]

    def regret(self, arms: Any) -> np.ndarray:
        """Expected regret of a sequence of pulls, Σ_{s<=t} (μ* - μ_{a_s}), if means do not drift.

        Parameters
        ----------
        arms : array of int of shape (n_steps,)
            The arms pulled.

        Returns
        -------
        array of shape (n_steps,)
            The regret after each pull.
        """
        return np.cumsum(self.gaps[self._numbers(np.atleast_1d(arms))])

    def _numbers(self, arms: Any) -> np.ndarray:
        numbers = np.asarray(arms)
        if numbers.dtype.kind not in "iu":
            raise ValueError(f"Bandit: arms must be whole numbers; got {arms!r}.")
        wrong = (numbers < 0) | (numbers >= self.n_arms)
        if wrong.any():
            raise ValueError(
                f"Bandit: there is no arm {numbers[wrong].flat[0]}; arms are numbered from 0 to {self.n_arms - 1}."
            )
        return numbers

    def _sample(self, k: int, n: int, rng: np.random.Generator) -> np.ndarray:
        """n rewards of arm k."""
        kind, rewards = self._kinds[k], self._rewards[k]
        if kind == BERNOULLI:
            return (rng.random(n) < self.means[k]).astype(np.float64)
        if kind == NORMAL:
            return rng.normal(self.means[k], self._scales[k], n)
        if kind == OBSERVED:
            return rng.choice(rewards, n)
        if isinstance(rewards, Distribution):
            drawn = rewards.sample(n, random_state=rng)
        else:
            drawn = rewards.rvs(size=n, random_state=rng)
        drawn = np.asarray(drawn, dtype=np.float64)
        if drawn.shape != (n,) or not np.isfinite(drawn).all():
            raise ValueError(f"Bandit: the distribution of arm {k} must give finite numbers as rewards.")
        return drawn

    def _arms(self, n: int, rng: np.random.Generator, before: Arms | None = None) -> Arms:
        """The arms as kernels see them, for the next n pulls; they go on from those of earlier pulls."""
        if before is not None and not (self._kinds == DRAWN).any():
            return before
        values = [
            self._rewards[k]
            if kind == OBSERVED
            else self._sample(k, n, rng)
            if kind == DRAWN
            else np.zeros(0)
            for k, kind in enumerate(self._kinds)
        ]
        sizes = np.array([len(part) for part in values], dtype=np.int64)
        return Arms(
            read_only(self._kinds),
            self.means.copy(),
            read_only(self._scales),
            read_only(np.cumsum(sizes) - sizes),
            read_only(sizes),
            read_only(np.concatenate(values)),
            np.zeros(self.n_arms, dtype=np.int64),
            np.array([self.means.max()]),
            self.drift,
        )


def as_bandit(arms: Any) -> Bandit:
    """A bandit, or one whose arms are given."""
    return arms if isinstance(arms, Bandit) else Bandit(arms)


def _items(arms: Any) -> Sequence[Any]:
    """The arms one by one."""
    if isinstance(arms, str | dict) or not hasattr(arms, "__len__") or not hasattr(arms, "__getitem__"):
        raise TypeError(f"Bandit: arms must be an array or a list with an item for each arm; got {arms!r}.")
    if hasattr(arms, "columns"):
        raise TypeError(
            "Bandit: arms is a data frame; use arms.T.to_numpy() if its columns are the arms' rewards."
        )
    items = list(np.asarray(arms) if isinstance(arms, np.ndarray) or hasattr(arms, "to_numpy") else arms)
    if not items:
        raise ValueError("Bandit: arms is empty; a bandit needs at least one arm.")
    return items


def _observed(arm: Any, k: int) -> np.ndarray:
    """Rewards that were observed of an arm."""
    try:
        rewards = np.asarray(arm, dtype=np.float64)
    except (TypeError, ValueError):
        rewards = np.zeros(())
    if rewards.ndim != 1 or isinstance(arm, str):
        raise TypeError(
            f"Bandit: arm {k} must be a number, a distribution or an array of observed rewards; got {arm!r}."
        )
    if not rewards.size:
        raise ValueError(f"Bandit: arm {k} has no observed rewards; it needs at least one.")
    return checked_rewards("Bandit", rewards, rewards.size, name=f"the rewards of arm {k}").copy()


def _mean(arm: Any, k: int) -> float:
    """The mean of a distribution, of tercet (an attribute) or of scipy (a method)."""
    mean = np.asarray(arm.mean() if callable(arm.mean) else arm.mean)
    if mean.ndim:
        raise ValueError(f"Bandit: arm {k} is a distribution of vectors; rewards must be numbers.")
    return float(mean)


def _scales(scale: Any, n: int) -> np.ndarray:
    """Standard deviations, one for each arm."""
    with np.errstate(invalid="ignore"):
        scales = np.asarray(scale, dtype=np.float64)
    if scales.shape not in ((), (n,)) or not (np.isfinite(scales).all() and (scales >= 0).all()):
        raise ValueError(
            f"Bandit: scale must be a finite number of at least 0, or one for each of the {n} arms; got {scale!r}."
        )
    return np.full(n, scales) if scales.ndim == 0 else scales.copy()
