"""Regret of a bandit algorithm over many runs."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tercet.core.catalog import method
from tercet.core.estimator import generator
from tercet.core.parallel import each
from tercet.core.parameters import check_parameters
from tercet.core.steps import QUIET
from tercet.core.stopping import check_stop
from tercet.rl.bandits.bandit import Bandit, as_bandit
from tercet.rl.bandits.bandit_agent import BanditAgent

BLOCK = 100_000  # pulls between two looks at whether to stop


class RegretCurve(NamedTuple):
    """Result of `average_regret`: means over runs, at some of the steps.

    Attributes
    ----------
    steps : array of shape (n_points,)
        The number of pulls at each point; the last one is `n_steps`.
    mean : array of shape (n_points,)
        Mean over the runs of the expected regret up to each point.
    standard_error : array of shape (n_points,)
        Standard error of that mean; NaN for a single run.
    mean_reward : array of shape (n_points,)
        Mean reward of the pulls since the point before.
    best_share : array of shape (n_points,)
        Share of pulls of the best arm since the point before.
    runs : array of shape (n_runs, n_points)
        The expected regret of each run.

    Examples
    --------
    >>> curve = average_regret(BanditAgent("explore-only", n_steps=4), [0.5, 1.0], n_runs=3, random_state=0)
    >>> curve.steps, curve.mean, curve.best_share
    (array([1, 2, 3, 4]), array([0.5, 0.5, 1. , 1. ]), array([0., 1., 0., 1.]))
    """

    steps: np.ndarray
    mean: np.ndarray
    standard_error: np.ndarray
    mean_reward: np.ndarray
    best_share: np.ndarray
    runs: np.ndarray


@method(
    zh="平均遗憾",
    task="reinforcement learning",
    model="E[Σ_{s<=t} (μ* - μ_{a_s})], estimated by the mean over independent runs",
    strategy="how much an algorithm loses while it learns",
    texts=["watermelon notes ch. 14, sec. 14.2.1"],
    peers=["mabwiser.simulator.Simulator"],
)
def average_regret(
    agent: BanditAgent,
    bandit: Any,
    *,
    n_runs: int = 100,
    n_points: int = 1000,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> RegretCurve:
    """Average regret of an agent for bandits, over many independent runs.

    Parameters
    ----------
    agent : BanditAgent
        The agent, which is left as it is; `agent.n_steps` is the number of pulls of a run.
    bandit : Bandit, or array of shape (n_arms,)
        The bandit, or the probabilities of reward of its arms.
    n_runs : int, default=100
        Number of runs.
    n_points : int, default=1000
        The most points of the curve.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the runs, in place of that of the agent.
    n_jobs : int, optional
        Threads; the result does not depend on it.

    Returns
    -------
    RegretCurve

    Examples
    --------
    >>> final = {}
    >>> for algorithm in ("explore-only", "epsilon-greedy", "thompson"):
    ...     curve = average_regret(BanditAgent(algorithm), [0.4, 0.8], n_runs=50, random_state=0)
    ...     final[algorithm] = curve.mean[-1]
    >>> sorted(final, key=final.get)
    ['thompson', 'epsilon-greedy', 'explore-only']
    """
    if not isinstance(agent, BanditAgent):
        raise TypeError(f"average_regret: agent must be a BanditAgent; got {type(agent).__name__}.")
    for name, value in (("n_runs", n_runs), ("n_points", n_points)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
            raise ValueError(f"average_regret: {name} must be an integer of at least 1; got {value!r}.")
    check_parameters(agent)
    n = agent.n_steps
    points = np.unique(np.linspace(0, n, min(n, int(n_points)) + 1).round().astype(np.int64))
    seeds = generator(random_state).integers(2**63, size=n_runs).tolist()
    with np.errstate(**QUIET):
        found = np.array(each(one_run, seeds, agent, as_bandit(bandit), points, n_jobs=n_jobs))
    runs = np.cumsum(found[:, 0], axis=1)
    error = runs.std(axis=0, ddof=1) / np.sqrt(n_runs) if n_runs > 1 else np.full(points.size - 1, np.nan)
    rewards, shares = found[:, 1:].mean(axis=0) / np.diff(points)
    return RegretCurve(points[1:], runs.mean(axis=0), error, rewards, shares, runs)


def one_run(seed: int, agent: BanditAgent, bandit: Bandit, points: np.ndarray) -> np.ndarray:
    """Sums between the points of regret, rewards and pulls of the best arm, shape (3, n_points)."""
    rng, arms = generator(seed), None
    table, rules = agent._begin(bandit.n_arms, rng), agent._rules()
    found = np.zeros((3, points.size - 1))
    per_block = max(1, BLOCK // int(np.diff(points).max()))
    for first in range(0, points.size - 1, per_block):
        check_stop()
        ends = points[first : first + per_block + 1]
        n = int(ends[-1] - ends[0])
        log = _, rewards, losses = np.zeros(n, dtype=np.int32), np.zeros(n), np.zeros(n)
        arms = bandit._arms(n, rng, arms)
        agent._pull(arms, table, rules, *log)
        sums = [np.add.reduceat(values, ends[:-1] - ends[0]) for values in (losses, rewards, losses == 0.0)]
        found[:, first : first + ends.size - 1] = sums
    return found
