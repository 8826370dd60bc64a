"""The course of learning a table of action values, in a model or in an environment."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import breadth_first_order

from tercet.core.estimator import generator
from tercet.core.fitted_checks import Declarations, Floats, Indices, Whole
from tercet.core.stopping import check_stop
from tercet.rl._engine.model import new_draws
from tercet.rl._engine.tables import EPISODES, PAUSE, STEPS, Rules, Tables, choose
from tercet.rl.agent import Agent
from tercet.rl.environment import GymEnvironment, Moves
from tercet.rl.mdp import MDP
from tercet.rl.schedules import Schedule, compiled

PASSES = 1000  # of more episodes, several make a pass
SHARES = 100  # a pass of several episodes ends after this share of `n_steps`
ENDLESS = 2**62
FIRST_STEPS = 1024  # of the first call of a kernel
SECONDS = 0.1  # a call of a kernel takes about so long: Ctrl-C is answered between calls


class TabularControl(Agent):
    """Agents that learn a table from steps; a class writes `_episode_kernel`, and `_learn_step` for environments.

    A pass of the loop is an episode, or a block of episodes where there are more than a thousand. A kernel
    returns to Python when `paused` says so, in the midst of an episode if need be, and goes on from there
    when it is called again.
    """

    fitted_shapes: ClassVar[Declarations] = {
        "Q_": Floats("states actions"),
        "V_": Floats("states"),
        "policy_": Indices("states", below="actions"),
        "n_visits_": "states actions",
        "episode_returns_": "episodes*",
        "episode_lengths_": "episodes*",
        "n_truncated_": Whole(),
        "n_steps_": Whole(),
        "n_episodes_": Whole(),
        "draws_": "2",
    }
    chooses_first: ClassVar[bool] = False  # choose the next action before learning from a step, as Sarsa does

    Q_: np.ndarray
    V_: np.ndarray
    policy_: np.ndarray
    n_visits_: np.ndarray
    episode_returns_: np.ndarray
    episode_lengths_: np.ndarray
    n_truncated_: int
    n_steps_: int
    n_episodes_: int
    draws_: np.ndarray

    n_episodes: int
    n_steps: int | None
    max_steps: int
    discount: float
    learning_rate: Any
    initial_value: Any
    warm_start: bool
    random_state: Any
    # What follows is for classes without such a parameter.
    epsilon: Any = 0.0
    exploration: str = "epsilon-greedy"
    temperature: Any = 1.0

    def _fit(self, world: MDP | GymEnvironment) -> None:
        if world.n_states is None:
            raise ValueError(
                f"{type(self).__name__} needs discrete observations; got {world.space}. Use LinearQLearning or "
                "LinearSarsa, with features of the observations."
            )
        self._remember_states(world)
        goes_on = self.warm_start and "draws_" in vars(self)
        rng = np.random.default_rng(self.draws_) if goes_on else generator(self.random_state)
        tables, rules = self._begin(world, rng), self._rules()
        self._check_ends(world, tables)
        if isinstance(world, GymEnvironment) and tables.Q.shape[1] == world.n_actions:
            world.restrict(tables.Q)
        if goes_on:
            self._go_on(tables)
        rules = rules._replace(budget=min(ENDLESS, rules.budget + int(tables.clock[STEPS])))
        run: ModelRun | EnvironmentRun
        if isinstance(world, MDP):
            run = ModelRun(self, world, tables, rules)
        else:
            run = EnvironmentRun(self, world, tables, rules, int(rng.integers(2**31)))
        found: list[tuple[np.ndarray, ...]] = []  # of each pass: returns, lengths, whether cut off

        def learned(state: Any) -> dict[str, Any]:
            return {
                **self._unpack(state),
                **self._memory_attributes(run.memories[0]),
                **course(tables, found),
            }

        left, block = self.n_episodes, -(-self.n_episodes // PASSES)
        passes, steps = -(-left // block), ENDLESS
        if self.n_steps is not None:  # they may run out long before the episodes do
            passes, steps = min(left, PASSES + SHARES), -(-self.n_steps // SHARES)
        for step in self.steps(passes, name="block" if block > 1 else "episode", unpack=learned):
            found.append(run.episodes(min(block, left), steps))
            returns, lengths, cut = found[-1]
            left -= returns.size
            step.report(
                self._state(tables),
                mean_return=float(returns.mean()) if returns.size else np.nan,
                mean_length=float(lengths.mean()) if lengths.size else np.nan,
                truncated=int(cut.sum()),
                **self._measures(run.memories),
            )
            if left == 0 or tables.clock[STEPS] >= rules.budget:
                break
        self._check_values(tables)
        self.__dict__.update(learned(self._state(tables)))
        self._warn(world, tables)

    def _begin(self, world: MDP | GymEnvironment, rng: np.random.Generator) -> Tables:
        """Tables before the first step: values are `initial_value`, 0 in terminal states."""
        Q = initial_values(self, (world.n_states or 0, world.n_actions))
        if isinstance(world, MDP):
            Q[world.terminal] = 0.0
            Q[~world.allowed] = -np.inf
        return new_tables(Q, rng)

    def _go_on(self, tables: Tables) -> None:
        """Take what an earlier fit has learned, with warm_start=True."""
        n_states, n_actions = self.Q_.shape
        if tables.Q.shape != self.Q_.shape:
            raise ValueError(
                f"{type(self).__name__}: warm_start=True goes on from Q_, which has {n_states} states and "
                f"{n_actions} actions; env has {tables.Q.shape[0]} states and {tables.Q.shape[1]} actions."
            )
        tables.Q[:], tables.visits[:] = self.Q_, self.n_visits_
        take_course(self, tables)

    def _rules(self) -> Rules:
        for name in ("epsilon", "temperature"):
            value = getattr(self, name)
            if isinstance(value, Schedule) and value.per == "visit":
                raise ValueError(
                    f"{type(self).__name__}: {name} must be a schedule per 'step' or 'episode'; got {value!r}."
                )
        if isinstance(self.epsilon, Schedule) and self.epsilon.largest > 1:
            raise ValueError(f"{type(self).__name__}: epsilon must stay in [0, 1]; got {self.epsilon!r}.")
        if isinstance(self.temperature, Schedule) and self.temperature(2**62) == 0:
            raise ValueError(
                f"{type(self).__name__}: temperature must stay above 0; got {self.temperature!r}. Give it an end."
            )
        budget = ENDLESS if self.n_steps is None else self.n_steps
        return Rules(
            discount=float(self.discount),
            epsilon=compiled(self.epsilon),
            learning_rate=compiled(self.learning_rate),
            max_steps=self.max_steps,
            budget=budget,
            softmax=self.exploration == "softmax",
            temperature=compiled(self.temperature),
        )

    def _state(self, tables: Tables) -> Any:
        """What was learned, for `_unpack`."""
        return tables.Q, tables.visits

    def _unpack(self, state: Any) -> dict[str, Any]:
        """Fitted attributes: copies of what was learned, which goes on changing."""
        Q, visits = state
        return {
            "Q_": Q.copy(),
            "V_": Q.max(axis=1),
            "policy_": np.argmax(Q, axis=1),
            "n_visits_": visits.copy(),
        }

    # What a class writes -------------------------------------------------------------------------------

    def _episode_kernel(self) -> Callable[..., int]:
        """The kernel `(model, tables, rules, memory, returns, lengths, cut) -> number of episodes`."""
        raise NotImplementedError

    def _learn_step(
        self,
        tables: Tables,
        rules: Rules,
        memory: Any,
        s: int,
        a: int,
        r: float,
        u: int,
        b: int,
        terminated: bool,
    ) -> None:
        """Learn from taking action a in state s: reward r, next state u; b is the next action, -1 if not chosen."""
        raise NotImplementedError

    def _end_episode(self, tables: Tables, rules: Rules, memory: Any) -> None:
        """What is left to learn when an episode is over, or all steps are taken."""

    def _choose(self, tables: Tables, rules: Rules, memory: Any, state: int) -> int:
        """The next action in an environment."""
        return int(choose(tables, rules, state))

    def _memory(self, tables: Tables, rules: Rules) -> Any:
        """Arrays that one stream of steps needs beside the tables: traces, the last steps ...; () for none."""
        return ()

    def _memories(self, tables: Tables, rules: Rules, n_streams: int) -> list[Any]:
        """The memory of each stream; several may share one."""
        return [self._memory(tables, rules) for _ in range(n_streams)]

    def _memory_attributes(self, memory: Any) -> dict[str, Any]:
        """Fitted attributes that come from the memory of the first stream."""
        return {}

    def _measures(self, memories: list[Any]) -> dict[str, Any]:
        """More columns of the history."""
        return {}

    # Checks and reports --------------------------------------------------------------------------------

    def _check_ends(self, world: MDP | GymEnvironment, tables: Tables) -> None:
        """Without a discount, values are finite only where episodes end."""
        if self.discount == 1 and isinstance(world, MDP):
            chances = getattr(tables, "chances", None)
            endless = np.flatnonzero(reachable_states(world, chances) & ~ending_states(world, chances))
            if endless.size:
                raise ValueError(
                    f"{type(self).__name__}: discount=1 needs a terminal state that every state can reach; state "
                    f"{world.states[endless[0]]!r} cannot reach one. Use a discount below 1."
                )

    def _check_values(self, tables: Tables) -> None:
        """Refuse values that have grown without bounds."""
        wrong = np.isnan(tables.Q) | np.isposinf(tables.Q) | (np.isneginf(tables.Q) & (tables.visits > 0))
        if wrong.any():
            raise ValueError(
                f"{type(self).__name__}: the values have grown beyond all bounds, so that there is no result. "
                "Lower learning_rate, trace_decay or discount."
            )

    def _warn(self, world: MDP | GymEnvironment, tables: Tables) -> None:
        """Tell what the values cannot be trusted for."""
        n, more = self.episode_lengths_.size, ", or explore more" if "epsilon" in self.get_params() else ""
        ends = isinstance(world, GymEnvironment) or world.terminal.any()
        if ends and n and self.n_truncated_ > n / 2:
            warnings.warn(
                f"{type(self).__name__}: {self.n_truncated_} of {n} episodes hit the step limit before they "
                f"reached a terminal state. Raise max_steps or n_episodes{more}.",
                stacklevel=5,
            )
        if not isinstance(world, MDP):
            return
        never = ~world.terminal & (tables.visits.sum(axis=1) == 0)
        if never.any():
            never &= reachable_states(world, getattr(tables, "chances", None))
        if never.any():
            named = ", ".join(repr(world.states[x]) for x in np.flatnonzero(never)[:3])
            warnings.warn(
                f"{type(self).__name__}: {never.sum()} of {world.n_states} states were never visited ({named}"
                f"{' ...' if never.sum() > 3 else ''}); their values are initial_value. Raise n_episodes{more}.",
                stacklevel=5,
            )


def initial_values(agent: Any, shape: tuple[int, ...]) -> np.ndarray:
    """The values before the first step, from a number or an array of one value for each entry."""
    try:
        given = np.asarray(agent.initial_value, dtype=np.float64)
    except (TypeError, ValueError):
        given = np.array(np.nan)
    if given.shape not in ((), shape) or not np.isfinite(given).all():
        raise ValueError(
            f"{type(agent).__name__}: parameter 'initial_value' must be a finite number, or an array of these of "
            f"shape {shape}; got {agent.initial_value!r:.200}."
        )
    return np.array(np.broadcast_to(given, shape))


class ModelRun:
    """Episodes in a model, inside a kernel, which is called so that it returns several times a second."""

    def __init__(self, agent: TabularControl, world: MDP, tables: Tables, rules: Rules) -> None:
        self.agent, self.model, self.tables, self.rules = agent, world.model, tables, rules
        self.memories = agent._memories(tables, rules, 1)
        self.stride = FIRST_STEPS  # steps of a call; results do not depend on it

    def episodes(self, count: int, steps: int = ENDLESS) -> tuple[np.ndarray, ...]:
        """Returns, lengths and whether cut off of so many more episodes.

        They are fewer where the budget runs out, or where there were `steps` steps by the end of an episode.
        """
        clock, agent, rules = self.tables.clock, self.agent, self.rules
        count, enough = min(count, rules.budget - int(clock[STEPS])), int(clock[STEPS]) + steps
        returns, lengths, cut = np.zeros(count), np.zeros(count, dtype=np.int64), np.zeros(count, dtype=bool)
        kernel, done = agent._episode_kernel(), 0
        while done < count and clock[STEPS] < rules.budget:
            check_stop()
            is_enough = clock[STEPS] >= enough
            if is_enough and lengths[done] == 0:
                break
            pause = min(rules.budget, int(clock[STEPS]) + self.stride)
            clock[PAUSE] = pause if is_enough else min(pause, enough)
            end = done + 1 if is_enough else count
            record = (
                returns[done:end],
                lengths[done:end],
                cut[done:end],
            )  # first those of an episode under way
            begun, before = time.perf_counter(), int(clock[STEPS])
            done += kernel(self.model, self.tables, rules, self.memories[0], *record)
            rate = (int(clock[STEPS]) - before) / max(time.perf_counter() - begun, 1e-9)
            self.stride = max(1, int(min(4.0 * self.stride, rate * SECONDS)))
        return returns[:done], lengths[:done], cut[:done]


class EnvironmentRun:
    """Episodes in the streams of an environment, in a Python loop."""

    def __init__(
        self, agent: TabularControl, world: GymEnvironment, tables: Tables, rules: Rules, seed: int
    ) -> None:
        self.agent, self.world, self.tables, self.rules = agent, world, tables, rules
        n = world.n_streams
        self.memories = agent._memories(tables, rules, n)
        self.states = world.reset(seed)
        self.actions, self.begun = [-1] * n, [False] * n  # the action that comes next, if it is chosen
        self.returns, self.lengths = [0.0] * n, [0] * n  # of the episodes under way
        self.ended: list[tuple[float, int, bool]] = []  # of several streams, some may end at once

    def episodes(self, count: int, steps: int = ENDLESS) -> tuple[np.ndarray, ...]:
        """Returns, lengths and whether cut off of so many more episodes; fewer as in `ModelRun`."""
        agent, tables, rules = self.agent, self.tables, self.rules
        clock, budget = tables.clock, rules.budget
        enough = int(clock[STEPS]) + steps
        while len(self.ended) < count and clock[STEPS] < budget:
            if clock[STEPS] >= enough and self.ended:
                break
            for i, action in enumerate(self.actions):
                if not self.begun[i]:
                    self.begun[i] = True
                    clock[EPISODES] += 1
                if action < 0:
                    self.actions[i] = agent._choose(tables, rules, self.memories[i], self.states[i])
            moves = self.world.step(self.actions)
            for i in range(len(self.actions)):
                if moves.ignored[i]:  # the first observation of a new episode
                    self.states[i], self.actions[i] = moves.next_observations[i], -1
                elif clock[STEPS] < budget:
                    self._take(i, moves)
        if clock[STEPS] >= budget:
            for memory in self.memories:
                agent._end_episode(tables, rules, memory)
        now, self.ended = self.ended[:count], self.ended[count:]
        returns, lengths, cut = zip(*now) if now else ((), (), ())
        return (
            np.array(returns, dtype=np.float64),
            np.array(lengths, dtype=np.int64),
            np.array(cut, dtype=bool),
        )

    def _take(self, i: int, moves: Moves) -> None:
        """Learn from the step of a stream."""
        agent, tables, rules, memory = self.agent, self.tables, self.rules, self.memories[i]
        x, a, r, u = self.states[i], self.actions[i], moves.rewards[i], moves.observations[i]
        terminated, after = moves.terminated[i], moves.next_observations[i]
        self.returns[i] += r
        self.lengths[i] += 1
        b = -1
        if agent.chooses_first and not terminated:
            b = agent._choose(tables, rules, memory, u)
        agent._learn_step(tables, rules, memory, x, a, r, u, b, terminated)
        if terminated or moves.truncated[i]:
            agent._end_episode(tables, rules, memory)
            self.ended.append((self.returns[i], self.lengths[i], not terminated))
            self.returns[i], self.lengths[i], self.begun[i], b = 0.0, 0, False, -1
        self.states[i], self.actions[i] = after, b


def new_tables(Q: np.ndarray, rng: np.random.Generator) -> Tables:
    """Tables with the values Q and no visits."""
    visits, clock = np.zeros(Q.shape, dtype=np.int64), np.zeros(5, dtype=np.int64)
    return Tables(Q, visits, clock, new_draws(rng), new_draws(rng))


def course(tables: Tables, found: list[tuple[np.ndarray, ...]]) -> dict[str, Any]:
    """Fitted attributes about the course of learning: that of this fit, and the totals of all with warm_start."""
    returns, lengths, cut = (np.concatenate(parts) for parts in zip(*found))
    return {
        "episode_returns_": returns,
        "episode_lengths_": lengths,
        "n_truncated_": int(cut.sum()),
        "n_steps_": int(tables.clock[STEPS]),
        "n_episodes_": int(tables.clock[EPISODES]),
        "draws_": np.concatenate([tables.draws, tables.nature]),
    }


def take_course(agent: TabularControl, tables: Tables) -> None:
    """Set the counts and the streams of random numbers to where an earlier fit has left them."""
    tables.clock[STEPS], tables.clock[EPISODES] = agent.n_steps_, agent.n_episodes_
    tables.draws[0], tables.nature[0] = agent.draws_


def reachable_states(mdp: MDP, chances: np.ndarray | None = None) -> np.ndarray:
    """Whether some policy, or that of cumulative probabilities `chances`, can reach a state from the start.

    Returns
    -------
    array of bool of shape (n_states,)
    """
    begins, ends = _edges(mdp, chances)
    return _closure(begins, ends, np.flatnonzero(mdp.start > 0), mdp.n_states)


def ending_states(mdp: MDP, chances: np.ndarray | None = None) -> np.ndarray:
    """Whether some policy, or that of cumulative probabilities `chances`, can reach a terminal state.

    Returns
    -------
    array of bool of shape (n_states,)
    """
    begins, ends = _edges(mdp, chances)
    return _closure(ends, begins, np.flatnonzero(mdp.terminal), mdp.n_states)


def _edges(mdp: MDP, chances: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """States and next states of the transitions that are possible."""
    P = mdp.probabilities
    possible = P.data > 0
    if chances is not None:
        taken = np.diff(chances, axis=1, prepend=0.0)[mdp.pair_states, mdp.pair_actions] > 0
        possible &= np.repeat(taken, np.diff(P.indptr))
    return np.repeat(mdp.pair_states, np.diff(P.indptr))[possible], P.indices[possible]


def _closure(begins: np.ndarray, ends: np.ndarray, first: np.ndarray, n: int) -> np.ndarray:
    """Which of n nodes edges lead to from some first ones: a search from one more node, before these."""
    begins, ends = np.append(begins, np.full(first.size, n)), np.append(ends, first)
    graph = sparse.csr_array((np.ones(ends.size), (begins, ends)), shape=(n + 1, n + 1))
    found = np.zeros(n + 1, dtype=bool)
    found[breadth_first_order(graph, n, return_predecessors=False)] = True
    return found[:n]
