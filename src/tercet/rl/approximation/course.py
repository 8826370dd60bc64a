"""One fit of a linear agent: its features, its weights, the policy it follows, and its runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tercet.core.rows import read_only
from tercet.rl._engine.linear import (
    BLOCKS,
    CONCATENATED,
    DIVERGED,
    ERRORS,
    JOINT,
    LARGEST_REWARD,
    TRACES,
    Features,
    Learner,
    LinearRules,
    forget,
)
from tercet.rl._engine.model import draw_index, new_draws, uniform
from tercet.rl._engine.tables import STEPS
from tercet.rl.approximation.observations import Slots, static_features
from tercet.rl.environment import GymEnvironment, Moves
from tercet.rl.learning.tabular_control import ENDLESS, EnvironmentRun, ModelRun, take_course
from tercet.rl.learning.tabular_control import course as course_attributes
from tercet.rl.learning.temporal_difference import policy_probabilities
from tercet.rl.mdp import MDP
from tercet.rl.schedules import Schedule, compiled

if TYPE_CHECKING:
    from tercet.rl.approximation.linear_agent import LinearAgent

FORMS = {"blocks": BLOCKS, "concatenate": CONCATENATED, "joint": JOINT}
MOST_WEIGHTS = 2**28
NO_CHANCES = read_only(np.zeros((0, 0)))  # read-only everywhere: kernels are compiled once


class Course:
    """One fit of a linear agent: features, weights and streams of steps.

    It stands between the agent and the runs of `tabular_control`, for which an observation is the number of a
    row of features.
    """

    def __init__(
        self, agent: LinearAgent, world: MDP | GymEnvironment, rng: np.random.Generator, before: Any = None
    ) -> None:
        self.agent, self.world, self.rules = agent, world, rules_of(agent)
        self.chooses_first = agent.chooses_first
        streams = new_draws(rng), new_draws(rng)  # at first, so that they do not depend on the features
        self.policy = agent._policy(world)
        self.chances = NO_CHANCES if self.policy is None else self.policy.chances
        heads, form = agent._n_heads(world), FORMS[agent.action_features]
        self.table: Any = None
        self.slots: Slots | None = None
        self.dictionary: Any = None  # of kernel methods
        self.sums: Any = None  # of least squares
        if world.n_states is not None:
            self.table = agent.representation.state_table(agent, self)
            allowed = (
                world.allowed if isinstance(world, MDP) and heads > 1 else np.zeros((0, heads), dtype=bool)
            )
            self.phi: Features = static_features(self.table, read_only(allowed), form)
        else:
            self.slots = agent.representation.slots(agent, self, rng, heads)
            self.phi = self.slots.phi
        self.learner = new_learner(count_weights(self.phi, heads), heads, *streams)
        if before is not None:
            self._go_on(before)
        steps = int(self.learner.clock[STEPS])
        self.rules = self.rules._replace(budget=min(ENDLESS, self.rules.budget + steps))
        run: Any = ModelRun if isinstance(world, MDP) else EnvironmentRun
        seed = () if isinstance(world, MDP) else (int(rng.integers(2**31)),)
        single: Any = world
        self.streams: Any = world if self.slots is None else FeatureStreams(single, self.slots)
        self.run = run(self, self.streams, self.learner, self.rules, *seed)
        self.found: list[tuple[np.ndarray, ...]] = []  # of each pass: returns, lengths, whether cut off
        self.first_error = 0.0  # mean |δ| of the first pass

    def _go_on(self, coef: np.ndarray) -> None:
        """Take the weights and the counts of an earlier fit."""
        weights = coef.T.ravel() if self.phi.form == BLOCKS else coef
        if weights.shape != self.learner.weights.shape:
            raise ValueError(
                f"{type(self.agent).__name__}: warm_start=True goes on from coef_ of {weights.size} weights; with "
                f"this env and these features there are {self.learner.weights.size}."
            )
        self.learner.weights[:] = weights
        tables: Any = self.learner
        take_course(self.agent, tables)

    def episodes(self, count: int) -> float:
        """Learn from so many more episodes; the mean |δ| of the TD errors of their steps."""
        learner = self.learner
        learner.sums[ERRORS], before = 0.0, int(learner.clock[STEPS])
        self.found.append(self.run.episodes(count))
        error = float(learner.sums[ERRORS]) / max(int(learner.clock[STEPS]) - before, 1)
        self.first_error = error if len(self.found) == 1 else self.first_error
        return error

    def attributes(self) -> dict[str, Any]:
        """Fitted attributes about the course of learning."""
        tables: Any = self.learner
        return course_attributes(tables, self.found)

    @property
    def is_over(self) -> bool:
        """Whether the steps have run out or the weights have diverged."""
        return self.learner.clock[STEPS] >= self.rules.budget or bool(self.learner.clock[DIVERGED])

    @property
    def largest_return(self) -> float:
        """A bound of |Σ γ^t r_t| by the largest reward, and without a discount by the longest episode, so far."""
        if self.rules.discount < 1.0:
            length = 1.0 / (1.0 - self.rules.discount)
        else:
            length = float(max((lengths.max(initial=1) for _, lengths, _ in self.found), default=1))
        return float(self.learner.sums[LARGEST_REWARD]) * length

    # What the runs ask of an agent.

    def _episode_kernel(self) -> Any:
        return self.agent._episode_kernel()

    def _memories(self, learner: Learner, rules: LinearRules, n_streams: int) -> list[Any]:
        return [self.agent._stream(self) for _ in range(n_streams)]

    def _choose(self, learner: Learner, rules: LinearRules, stream: Any, x: int) -> int:
        if self.policy is None:
            return self.agent._choose(self, stream, x)
        return self.policy.action(x if self.slots is None else self.streams.observations[x], learner.draws)

    def _learn_step(self, learner: Learner, rules: LinearRules, stream: Any, *step: Any) -> None:
        self.agent._learn_step(learner, rules, stream, *step)

    def _end_episode(self, learner: Learner, rules: LinearRules, stream: Any) -> None:
        forget(stream.trace)


class FeatureStreams:
    """An environment whose observations are the numbers of the rows that their features are written to."""

    def __init__(self, world: GymEnvironment, slots: Slots) -> None:
        self.world, self.slots = world, slots
        self.n_streams, self.is_vector = world.n_streams, world.is_vector
        self.observations: dict[int, np.ndarray] = {}  # by the number of the row

    def reset(self, seed: int | None = None) -> list[int]:
        """Begin an episode in every stream."""
        return [self._place(x, i) for i, x in enumerate(self.world.reset(seed))]

    def step(self, actions: list[int]) -> Moves:
        """Take an action in every stream."""
        moves = self.world.step(actions)
        rows, after = [], []
        for i, (u, first) in enumerate(zip(moves.observations, moves.next_observations)):
            rows.append(self._place(u, i))
            after.append(rows[-1] if first is u else self._place(first, i))
        return moves._replace(observations=rows, next_observations=after)

    def _place(self, x: np.ndarray, stream: int) -> int:
        row = self.slots.place(x, stream)
        self.observations[row] = x
        return row


class FollowedPolicy:
    """A policy that a user gives, whose values are learned.

    Parameters
    ----------
    policy : array, callable, agent or None
        An action for each state or probabilities of the actions, for discrete observations; a function of an
        observation; a fitted agent; or None for all actions alike.
    world : MDP or GymEnvironment
    """

    def __init__(self, policy: Any, world: MDP | GymEnvironment) -> None:
        self.world = world
        self.chances = NO_CHANCES
        self.function = None
        if callable(getattr(policy, "predict", None)):
            self.function = policy.predict
        elif callable(policy):
            self.function = policy
        elif policy is not None and world.n_states is None:
            raise ValueError(
                "policy must be None, a function of an observation or a fitted agent where observations are "
                f"vectors; got {policy!r:.100}."
            )
        if world.n_states is not None:
            self.probabilities = policy_probabilities(policy, world)
            chances = np.cumsum(self.probabilities, axis=1)
            chances[chances >= chances[:, -1:]] = 1.0
            self.chances = read_only(chances)

    def action(self, x: Any, draws: np.ndarray) -> int:
        """The action for the number of a state, or for a vector; `draws` is the stream of random numbers."""
        if self.chances.size:
            return int(draw_index(self.chances[x], 0, self.chances.shape[1], uniform(draws)))
        if self.function is None:
            return int(uniform(draws) * self.world.n_actions)
        assert isinstance(self.world, GymEnvironment)
        action = int(self.function(self.world.decode(x))) - self.world.first_action
        if not 0 <= action < self.world.n_actions:
            raise ValueError(
                f"policy gave the action {action + self.world.first_action}; there are {self.world.actions}."
            )
        return action


def rules_of(agent: LinearAgent) -> LinearRules:
    """Parameters of an agent, for kernels."""
    name = type(agent).__name__
    for parameter in ("learning_rate", "epsilon", "temperature"):
        value = getattr(agent, parameter)
        if isinstance(value, Schedule) and value.per == "visit":
            raise ValueError(
                f"{name}: {parameter} must be a schedule per 'step' or 'episode', since visits of states are not "
                f"counted here; got {value!r}."
            )
    if agent.expected and agent.trace_decay > 0 and agent.traces == "dutch":
        raise ValueError(
            f"{name}: traces='dutch' cannot be used with expected=True; use another kind of traces."
        )
    if isinstance(agent.epsilon, Schedule) and agent.epsilon.largest > 1:
        raise ValueError(f"{name}: epsilon must stay in [0, 1]; got {agent.epsilon!r}.")
    if isinstance(agent.temperature, Schedule) and agent.temperature(2**62) == 0:
        raise ValueError(f"{name}: temperature must stay above 0; got {agent.temperature!r}. Give it an end.")
    return LinearRules(
        discount=float(agent.discount),
        epsilon=compiled(agent.epsilon),
        learning_rate=compiled(agent.learning_rate),
        max_steps=agent.max_steps,
        budget=ENDLESS if agent.n_steps is None else agent.n_steps,
        softmax=agent.exploration == "softmax",
        temperature=compiled(agent.temperature),
        trace_decay=float(agent.trace_decay),
        traces=TRACES.index(agent.traces),
        normalize=bool(agent.normalize),
        expected=bool(agent.expected),
    )


def new_learner(n_weights: int, n_heads: int, draws: np.ndarray, nature: np.ndarray) -> Learner:
    """A learner whose weights are 0."""
    clock = np.zeros(6, dtype=np.int64)
    return Learner(np.zeros(n_weights), np.zeros((1, n_heads)), clock, np.zeros(2), draws, nature)


def count_weights(phi: Features, n_heads: int) -> int:
    """Number of weights."""
    width = phi.n_columns
    n = {BLOCKS: width * n_heads, CONCATENATED: width + n_heads, JOINT: width}[phi.form]
    if n > MOST_WEIGHTS:
        raise ValueError(
            f"features gives {phi.n_columns} features, and there would be {n} weights; the most are "
            f"{MOST_WEIGHTS}. Use fewer tiles, centres or inputs."
        )
    return n


def coefficients(weights: np.ndarray, phi: Features) -> np.ndarray:
    """θ as `coef_`: shape (n_heads, n_features) for weights in blocks, otherwise (n_weights,)."""
    if phi.form != BLOCKS:
        return weights.copy()
    return np.ascontiguousarray(weights.reshape(phi.n_columns, -1).T)


def feature_values(table: Any, coef: np.ndarray, form: int, n_heads: int) -> np.ndarray:
    """θ·φ of all states of a table, shape (n_states, n_heads)."""
    if form == JOINT:
        return np.asarray(table @ coef).reshape(-1, n_heads)
    return head_values(table, coef, form == CONCATENATED, "")


def head_values(phi: Any, coef: np.ndarray, concatenated: bool, name: str) -> np.ndarray:
    """θ·φ of rows of features, shape (n, n_heads); of (φ; a) if `concatenated`."""
    width = phi.shape[1]
    if coef.shape[-1] != width and not (concatenated and coef.size > width):
        raise ValueError(
            f"{name}: features gives {width} numbers for an observation; coef_ has {coef.shape[-1]}."
        )
    if concatenated:
        return np.asarray(phi @ coef[:width])[:, None] + coef[width:]
    return np.asarray(phi @ np.atleast_2d(coef).T)


def masked_values(values: np.ndarray, world: MDP | GymEnvironment) -> np.ndarray:
    """Values of all states, 0 where a model is terminal and -inf for actions that it does not allow."""
    if isinstance(world, MDP):
        values = values.copy()
        values[world.terminal] = 0.0
        if values.shape[1] == world.n_actions:
            values[~world.allowed] = -np.inf
    return values
