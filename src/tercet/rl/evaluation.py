"""The mean return of an agent with its interval, and learning curves of several agents over several seeds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import stdtrit
from sklearn.base import clone

from tercet.core.catalog import method
from tercet.core.estimator import generator
from tercet.core.kernel import kernel
from tercet.core.parallel import each, engine
from tercet.core.rows import read_only
from tercet.core.stopping import check_stop
from tercet.rl._engine.model import Model, draw_index, first_state, new_draws, transition, uniform
from tercet.rl.agent import Agent
from tercet.rl.environment import GymEnvironment, opened, whole_number
from tercet.rl.mdp import MDP
from tercet.rl.policies import action_probabilities

STEPS_OF_A_CALL = 2_000_000  # a kernel comes back after so many, to be interrupted


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The returns of a policy.

    Attributes
    ----------
    mean : float
        Mean return of an episode.
    standard_error : float
        Its standard error s/√n; NaN for a single episode.
    interval : tuple of float
        Confidence interval of the expected return, by Student's t distribution.
    confidence : float
        Confidence of the interval.
    n_truncated : int
        Number of episodes that were cut off, whose returns lack what comes after.
    returns, lengths : arrays of shape (n_episodes,)
        Return and number of steps of each episode.

    Examples
    --------
    >>> from tercet.rl import MDP
    >>> mdp = MDP([[[0.5, 0.5]], [[0, 1]]], [[1.0], [0.0]], start=0)
    >>> result = evaluate([0, 0], mdp, n_episodes=10_000, random_state=0)
    >>> round(result.mean, 1), round(result.standard_error, 2), result.n_truncated
    (2.0, 0.01, 0)
    """

    mean: float
    standard_error: float
    interval: tuple[float, float]
    confidence: float
    n_truncated: int
    returns: np.ndarray = field(repr=False)
    lengths: np.ndarray = field(repr=False)

    def __str__(self) -> str:
        n, (low, high) = self.returns.size, self.interval
        interval = f" ({100 * self.confidence:g}% interval {low:.4g} to {high:.4g})" if n > 1 else ""
        cut = f", {self.n_truncated} of them truncated" if self.n_truncated else ""
        count = f"{n} episodes" if n > 1 else "1 episode"
        return f"mean return {self.mean:.4g}{interval}, {count}{cut}, mean length {self.lengths.mean():.4g}"


@method(
    zh="策略的仿真评估",
    task="evaluation",
    model="mean of the returns of n episodes, x̄ ± t s/√n",
    strategy="law of large numbers, interval of Student's t distribution",
    peers=["stable_baselines3.common.evaluation.evaluate_policy"],
)
def evaluate(
    agent: Any,
    env: Any,
    n_episodes: int = 100,
    max_steps: int = 1000,
    random_state: Any = None,
    confidence: float = 0.95,
    *,
    discount: float = 1.0,
) -> Evaluation:
    """Mean return of an agent or a policy, with its confidence interval, from simulated episodes.

    The exact value of a policy in a model is found by `PolicyEvaluation`.

    Parameters
    ----------
    agent : fitted agent, array, or callable
        What acts. An object with `predict` gets the observations of all streams at once: an agent of `tercet.rl` a
        list of states or an array of vectors, any other an array with a row for each. An array is a policy: numbers
        of actions (n_states,), or their probabilities (n_states, n_actions). A callable gets one observation (the
        name of a state, of a model) and returns one action (its number or name, in a model).
    env : MDP, gymnasium.Env, gymnasium.vector.VectorEnv, str or callable
        What to act in: a model, an environment, its name, or a function that makes one of these.
    n_episodes : int, default=100
        Number of episodes.
    max_steps : int, default=1000
        The most steps of an episode; longer ones are truncated.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the episodes.
    confidence : float, default=0.95
        Confidence of the interval, between 0 and 1.
    discount : float, default=1.0
        Discount γ of the returns.

    Returns
    -------
    Evaluation

    Examples
    --------
    >>> from tercet.rl import MDP, MonteCarlo
    >>> P = [[[0, 1, 0], [0, 0, 1]], [[0, 0, 1], [0, 0, 1]], [[0, 0, 1], [0, 0, 1]]]
    >>> mdp = MDP(P, [1.0, 5.0, 0.0], start=0)
    >>> print(evaluate(MonteCarlo(100, random_state=0).fit(mdp), mdp, 10))
    mean return 6 (95% interval 6 to 6), 10 episodes, mean length 2
    """
    for name, value in (("n_episodes", n_episodes), ("max_steps", max_steps)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
            raise ValueError(f"evaluate: {name} must be an integer of at least 1; got {value!r}.")
    _check_confidence("evaluate", confidence)
    if not 0 <= discount <= 1:
        raise ValueError(f"evaluate: discount must be from 0 to 1; got {discount!r}.")
    world, rng = opened(env), generator(random_state)
    if isinstance(world, MDP):
        if callable(agent) and not hasattr(agent, "predict"):
            found = _called_episodes(agent, world, n_episodes, max_steps, rng, discount)
        else:
            found = _model_episodes(_model_policy(agent, world), world, n_episodes, max_steps, rng, discount)
    else:
        try:
            world.max_steps = max_steps
            found = _environment_episodes(_actor(agent, world, rng), world, n_episodes, rng, discount)
        finally:
            world.close()
    returns, lengths, cut = found
    mean, error, interval = mean_interval(returns, confidence)
    return Evaluation(mean, error, interval, confidence, int(cut.sum()), returns, lengths)


def mean_interval(values: np.ndarray, confidence: float) -> tuple[float, float, tuple[float, float]]:
    """Mean, standard error, and the interval of Student's t distribution; a single value has no error.

    Examples
    --------
    >>> mean, error, (low, high) = mean_interval(np.array([1.0, 2.0, 3.0]), 0.95)
    >>> mean, round(error, 4), round(low, 3), round(high, 3)
    (2.0, 0.5774, -0.484, 4.484)
    """
    n, mean = values.size, float(values.mean())
    if n < 2:
        return mean, math.nan, (math.nan, math.nan)
    error = float(values.std(ddof=1) / math.sqrt(n))
    reach = float(stdtrit(n - 1, 0.5 + confidence / 2)) * error
    return mean, error, (mean - reach, mean + reach)


# Who acts --------------------------------------------------------------------------------------------------------


def _is_policy(agent: Any) -> bool:
    return isinstance(agent, np.ndarray | list | tuple)


def _refuse_actor(agent: Any) -> None:
    if not callable(agent):
        raise TypeError(
            "evaluate: agent must be an array of actions or of their probabilities, a callable, or an object with "
            f"predict; got {type(agent).__name__}."
        )


def _model_policy(agent: Any, mdp: MDP) -> np.ndarray:
    """Probabilities of the actions in each state, shape (n_states, n_actions), of an array or of an agent."""
    if _is_policy(agent):
        return action_probabilities(agent, mdp)
    if not hasattr(agent, "predict"):
        _refuse_actor(agent)
    inside = np.flatnonzero(~mdp.terminal)
    policy = mdp.allowed.argmax(axis=1)  # any action will do in terminal states
    if inside.size:
        names = [mdp.states[x] for x in inside]
        chosen = agent.predict(names if isinstance(agent, Agent) else np.array(names).reshape(len(names), -1))
        first = getattr(agent, "first_action_", 0)
        policy[inside] = [_model_action(a, mdp, int(x), first) for a, x in zip(chosen, inside)]
    return action_probabilities(policy, mdp)


def _model_action(given: Any, mdp: MDP, x: int, first: int = 0) -> int:
    """The number of an action that was chosen in state x, by its number (of the first one, `first`) or its name."""
    a = whole_number(given)
    if a is not None and 0 <= a - first < mdp.n_actions:
        return a - first
    try:
        return mdp.action_index(given)
    except ValueError as error:
        raise ValueError(
            f"evaluate: the agent chose the action {given!r} in state {mdp.states[x]!r}; actions are numbered from "
            f"{first} to {first + mdp.n_actions - 1}. {error}"
        ) from None


def _actor(agent: Any, world: GymEnvironment, rng: np.random.Generator) -> Callable[[list[Any]], list[int]]:
    """A function from the encoded observations of all streams to the numbers of their actions."""
    if _is_policy(agent):
        return _table_actor(agent, world, rng)
    if not hasattr(agent, "predict"):
        _refuse_actor(agent)
        return lambda states: [_action(agent(world.decode(x)), world) for x in states]
    as_list = isinstance(agent, Agent) and world.sizes is not None

    def act(states: list[Any]) -> list[int]:
        observations = [world.decode(x) for x in states]
        rows = observations if as_list else np.array([_row(one) for one in observations])
        return [_action(a, world) for a in agent.predict(rows)]

    return act


def _row(observation: Any) -> np.ndarray:
    """An observation as a vector."""
    parts = observation if isinstance(observation, tuple) else (observation,)
    return np.concatenate([_row(part) if isinstance(part, tuple) else np.ravel(part) for part in parts])


def _table_actor(
    policy: Any, world: GymEnvironment, rng: np.random.Generator
) -> Callable[[list[Any]], list[int]]:
    if world.n_states is None:
        raise ValueError(f"evaluate: a policy in an array needs discrete observations; got {world.space}.")
    chances = np.cumsum(action_probabilities(policy, world), axis=1)  # type: ignore[arg-type]
    chances[chances >= chances[:, -1:]] = 1.0
    return lambda states: [int(np.searchsorted(chances[x], rng.random(), side="right")) for x in states]


def _action(given: Any, world: Any) -> int:
    """The number of an action that was chosen by the environment's own number."""
    a = whole_number(given.item() if isinstance(given, np.ndarray) and given.size == 1 else given)
    if a is None or a not in world.actions:
        raise ValueError(
            f"evaluate: the agent chose the action {given!r}; actions are whole numbers from {world.actions[0]} to "
            f"{world.actions[-1]}."
        )
    return a - int(world.actions[0])


# Episodes --------------------------------------------------------------------------------------------------------


def _model_episodes(
    policy: np.ndarray, mdp: MDP, n: int, max_steps: int, rng: np.random.Generator, discount: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns, lengths and truncation of episodes of a model, inside a kernel."""
    chances = np.cumsum(policy, axis=1)
    chances[chances >= chances[:, -1:]] = 1.0
    draws = new_draws(rng)
    returns, lengths, cut = np.zeros(n), np.zeros(n, dtype=np.int64), np.zeros(n, dtype=bool)
    done = 0
    with np.errstate(over="ignore"):
        while done < n:
            check_stop()
            rest = returns[done:], lengths[done:], cut[done:]
            done += policy_episodes(mdp.model, read_only(chances), draws, max_steps, float(discount), *rest)
    return returns, lengths, cut


@kernel
def policy_episodes(
    model: Model,
    chances: np.ndarray,
    draws: np.ndarray,
    max_steps: int,
    discount: float,
    returns: np.ndarray,
    lengths: np.ndarray,
    cut: np.ndarray,
) -> int:
    """Episodes of a policy with cumulative probabilities `chances` (S, A); how many, after a number of steps."""
    steps = 0
    for e in range(returns.size):
        x, weight = first_state(model, draws), 1.0
        for t in range(max_steps):
            if model.terminal[x]:
                break
            a = draw_index(chances[x], 0, chances.shape[1], uniform(draws))
            k = transition(model, x, a, draws)
            returns[e] += weight * model.rewards[k]
            weight *= discount
            lengths[e] = t + 1
            x = model.successors[k]
        cut[e] = not model.terminal[x]
        steps += lengths[e]
        if steps >= STEPS_OF_A_CALL:
            return e + 1
    return returns.size


def _called_episodes(
    agent: Callable[[Any], Any], mdp: MDP, n: int, max_steps: int, rng: np.random.Generator, discount: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Episodes of a model with a function that acts, which may choose differently each time."""
    returns, lengths, cut = np.zeros(n), np.zeros(n, dtype=np.int64), np.zeros(n, dtype=bool)
    for e in range(n):
        x, weight = int(rng.choice(mdp.n_states, p=mdp.start)), 1.0
        while not mdp.terminal[x] and lengths[e] < max_steps:
            a = _model_action(agent(mdp.states[x]), mdp, x)
            step = mdp.step(mdp.states[x], mdp.actions[a], rng)
            returns[e] += weight * step.reward
            weight *= discount
            lengths[e] += 1
            x = mdp.state_index(step.state)
        cut[e] = not mdp.terminal[x]
    return returns, lengths, cut


def _environment_episodes(
    act: Callable[[list[Any]], list[int]],
    world: GymEnvironment,
    n: int,
    rng: np.random.Generator,
    discount: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Episodes of an environment. Streams run in rounds of an episode each: of those that end first, short ones
    would be too many."""
    found: list[tuple[float, int, bool]] = []
    states = world.reset(int(rng.integers(2**31)))
    while len(found) < n:
        running = min(world.n_streams, n - len(found))
        totals, lengths = np.zeros(running), np.zeros(running, dtype=np.int64)
        over, cut = np.zeros(running, dtype=bool), np.zeros(running, dtype=bool)
        while not over.all():
            check_stop()
            moves = world.step(act(states))
            states = moves.next_observations
            for i in np.flatnonzero(~over):
                totals[i] += discount ** int(lengths[i]) * moves.rewards[i]
                lengths[i] += 1
                over[i] = moves.terminated[i] or moves.truncated[i]
                cut[i] = over[i] and not moves.terminated[i]
        found += zip(totals.tolist(), lengths.tolist(), cut.tolist())
        if world.is_vector and len(found) < n:
            states = world.reset()
    returns, steps, truncated = zip(*found)
    return np.array(returns), np.array(steps, dtype=np.int64), np.array(truncated)


# Several agents --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class AgentComparison:
    """Learning curves of several agents over several seeds.

    Attributes
    ----------
    returns, lengths : dict of arrays of shape (n_seeds, n_episodes)
        Return and number of steps of each episode, for each agent by its name. Runs that have fewer episodes than
        others are filled up with NaN.
    agents : dict of lists
        The agents that learned, one for each seed.
    seeds : list of int
        The seeds.

    Examples
    --------
    >>> from tercet.rl import MDP, MonteCarlo
    >>> P = [[[0, 1, 0], [0, 0, 1]], [[0, 0, 1], [0, 0, 1]], [[0, 0, 1], [0, 0, 1]]]
    >>> mdp = MDP(P, [1.0, 5.0, 0.0], start=0)
    >>> agents = {"learning": MonteCarlo(100), "random": MonteCarlo(100, epsilon=1.0)}
    >>> result = compare(agents, mdp, seeds=5)
    >>> result.returns["random"].shape, result.mean("random").shape
    ((5, 100), (100,))
    >>> low, high = result.interval("random", window=100)
    >>> bool(2.5 < low[-1] < high[-1] < 4.5)
    True
    """

    returns: dict[str, np.ndarray] = field(repr=False)
    lengths: dict[str, np.ndarray] = field(repr=False)
    agents: dict[str, list[Any]] = field(repr=False)
    seeds: list[int]

    def mean(self, name: str, window: int = 1) -> np.ndarray:
        """Mean return over the seeds, shape (n_episodes,); each that of the last `window` episodes."""
        return self._moments(name, window)[0]

    def interval(self, name: str, window: int = 1, confidence: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """Confidence interval of `mean` for the spread over seeds: its ends, of shape (n_episodes,) each."""
        _check_confidence("interval", confidence)
        mean, error, n = self._moments(name, window)
        reach = stdtrit(np.maximum(n - 1, 1), 0.5 + confidence / 2) * error
        return mean - reach, mean + reach

    def summary(self, last: int = 100, confidence: float = 0.95) -> dict[str, list[Any]]:
        """Mean return of each agent's last episodes, with the interval over seeds, as columns of a table.

        Parameters
        ----------
        last : int, default=100
            The number of episodes, the last ones of each run.
        confidence : float, default=0.95
            Confidence of the interval, between 0 and 1.

        Returns
        -------
        dict of lists
            Columns "agent", "mean", "low", "high" and "seeds"; `pandas.DataFrame` takes it.
        """
        _check_confidence("summary", confidence)
        if last < 1:
            raise ValueError(f"summary: last must be at least 1; got {last!r}.")
        table: dict[str, list[Any]] = {name: [] for name in ("agent", "mean", "low", "high", "seeds")}
        for name, returns in self.returns.items():
            runs = np.array([run[~np.isnan(run)][-last:].mean() for run in returns])
            mean, _, (low, high) = mean_interval(runs, confidence)
            for column, value in zip(table.values(), (name, mean, low, high, runs.size)):
                column.append(value)
        return table

    def __str__(self) -> str:
        """The summary as a table."""
        table = self.summary()
        width = max(len(name) for name in ["agent", *table["agent"]])
        lines = [f"{'agent':<{width}}  {'mean':>10}  {'95% interval':>24}"]
        for name, mean, low, high, _ in zip(*table.values()):
            interval = "-" if math.isnan(low) else f"{low:.4g} to {high:.4g}"
            lines.append(f"{name:<{width}}  {mean:>10.4g}  {interval:>24}")
        return "\n".join(lines)

    def _moments(self, name: str, window: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Mean over the seeds, its standard error and the number of runs, at each episode."""
        if name not in self.returns:
            raise ValueError(f"there is no agent {name!r}; there are {', '.join(map(repr, self.returns))}.")
        if isinstance(window, bool) or not isinstance(window, int | np.integer) or window < 1:
            raise ValueError(f"window must be an integer of at least 1; got {window!r}.")
        smooth = moving_mean(self.returns[name], window)
        there = ~np.isnan(smooth)
        n = there.sum(axis=0)
        mean = np.where(there, smooth, 0.0).sum(axis=0) / n
        squares = np.where(there, smooth - mean, 0.0) ** 2
        with np.errstate(invalid="ignore", divide="ignore"):
            error = np.where(n > 1, np.sqrt(squares.sum(axis=0) / (n - 1) / n), np.nan)
        return mean, error, n


def moving_mean(values: np.ndarray, window: int) -> np.ndarray:
    """Means of the last `window` values of each row, up to each one; of all up to it where there are fewer.

    Examples
    --------
    >>> moving_mean(np.array([[1.0, 2.0, 3.0, 4.0, np.nan]]), 2)
    array([[1. , 1.5, 2.5, 3.5, nan]])
    """
    sums = np.cumsum(values, axis=1)
    sums[:, window:] -= sums[:, :-window].copy()
    return sums / np.minimum(np.arange(1, values.shape[1] + 1), window)


@method(
    zh="智能体的多随机种子比较",
    task="model comparison",
    model="learning curves over seeds: mean and interval of the return of each episode",
    strategy="the same seeds for all agents; interval of Student's t distribution over seeds",
    peers=["rliable"],
)
def compare(
    agents: Mapping[str, Any],
    env: Any,
    seeds: int | Sequence[int] = 10,
    n_jobs: int | None = None,
) -> AgentComparison:
    """Learning curves of several agents, each of which learns anew with every seed.

    Parameters
    ----------
    agents : dict of agents
        Agents by name; they are cloned, not fitted.
    env : MDP, gymnasium.Env, gymnasium.vector.VectorEnv, str or callable
        What to learn from: a model, an environment, its name, or a function that makes one of these. Threads cannot
        share an environment: with n_jobs, a name or a function is needed, and each run makes its own.
    seeds : int or list of int, default=10
        Number of seeds (0, 1 ...), or the seeds themselves: every agent's `random_state` in turn.
    n_jobs : int, optional
        Threads that runs are distributed over; the result does not depend on it.

    Returns
    -------
    AgentComparison

    Examples
    --------
    >>> from tercet.rl import MDP, MonteCarlo
    >>> P = [[[0, 1, 0], [0, 0, 1]], [[0, 0, 1], [0, 0, 1]], [[0, 0, 1], [0, 0, 1]]]
    >>> mdp = MDP(P, [1.0, 5.0, 0.0], start=0)
    >>> result = compare(
    ...     {"learning": MonteCarlo(2000), "random": MonteCarlo(2000, epsilon=1.0)}, mdp, seeds=3
    ... )
    >>> table = result.summary(last=1000)
    >>> table["agent"], [round(mean, 1) for mean in table["mean"]], table["seeds"]
    (['learning', 'random'], [5.7, 3.4], [3, 3])
    """
    if not isinstance(agents, Mapping) or not agents:
        raise ValueError(f"compare: agents must be a dict of agents by name; got {agents!r:.80}.")
    count = isinstance(seeds, int | np.integer) and not isinstance(seeds, bool)
    numbers = list(range(seeds)) if count else list(seeds)  # type: ignore[arg-type]
    if not numbers or not all(
        isinstance(s, int | np.integer) and not isinstance(s, bool) and s >= 0 for s in numbers
    ):
        raise ValueError(
            f"compare: seeds must be at least 1, or a list of integers of at least 0; got {seeds!r}."
        )
    if hasattr(env, "step") and not isinstance(env, MDP | type) and getattr(engine(n_jobs), "n_jobs", 1) > 1:
        raise ValueError(
            "compare: threads cannot share an environment; with n_jobs, give its name or a function that makes one."
        )
    runs = [(name, _seeded(agents[name], seed)) for name in agents for seed in numbers]
    fitted = each(_learned, runs, env, n_jobs=n_jobs)
    found = {name: fitted[k * len(numbers) : (k + 1) * len(numbers)] for k, name in enumerate(agents)}
    returns, lengths = (
        {name: _padded([getattr(agent, what) for agent in found[name]]) for name in agents}
        for what in ("episode_returns_", "episode_lengths_")
    )
    return AgentComparison(returns, lengths, found, [int(seed) for seed in numbers])


def _seeded(agent: Any, seed: int) -> Any:
    """A clone with a seed, in its parts as well."""
    copy = clone(agent)
    names = [name for name in copy.get_params() if name == "random_state" or name.endswith("__random_state")]
    return copy.set_params(**dict.fromkeys(sorted(names), int(seed)))


def _learned(run: tuple[str, Any], env: Any) -> Any:
    name, agent = run
    agent.fit(env)
    if not hasattr(agent, "episode_returns_"):
        raise ValueError(
            f"compare: {name!r}, a {type(agent).__name__}, learns without episodes and so has no learning curve; "
            "evaluate measures its policy."
        )
    return agent


def _padded(rows: list[np.ndarray]) -> np.ndarray:
    table = np.full((len(rows), max(row.size for row in rows)), np.nan)
    for row, values in zip(table, rows):
        row[: values.size] = values
    return table


def _check_confidence(who: str, confidence: float) -> None:
    if not 0 < confidence < 1:
        raise ValueError(f"{who}: confidence must lie between 0 and 1; got {confidence!r}.")
