"""Linear values of features, θ·φ(x, a), that kernels and Python loops update by eligibility traces.

Features are kept as rows of entries (column, value), so that binary features of large maps cost no more than
what is not 0. A static table has a row for each state; where observations are vectors, the rows are slots
that are written anew with each observation.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tercet.core.kernel import inner, shared
from tercet.rl._engine.tables import EPISODES, STEPS, exploring_action
from tercet.rl.schedules import Timetable, scheduled

DIVERGED = 5  # place in Learner.clock, after those of Tables.clock
ERRORS, LARGEST_REWARD = range(2)  # places in Learner.sums
BLOCKS, CONCATENATED, JOINT = range(3)  # values of Features.form
TRACES = ("accumulating", "replacing", "dutch")
ACCUMULATING, REPLACING, DUTCH = range(3)
FADED = 1e-12  # traces below this part of the largest feature are forgotten
TOO_LARGE = 1e100  # a TD error that only a divergence can lead to


class Features(NamedTuple):
    """Feature vectors of observations, or of observations and actions.

    Attributes
    ----------
    starts, ends : arrays of shape (n_rows,), int64
        The entries of row i are those from starts[i] to ends[i] - 1.
    columns : array of int64
        Column of each entry; none occurs twice in a row with values of both signs.
    values : array of float64
        Value of each entry.
    allowed : array of bool of shape (n_states, n_actions)
        Which actions a state has; of shape (0, n_actions) where all have all.
    n_columns : int
        Number of features.
    form : int
        BLOCKS: row x has φ(x), and each action has weights of its own, those of column j at θ[j · n_actions + a].
        CONCATENATED: row x has φ(x), and φ(x, a) = (φ(x); a) with a as an indicator.
        JOINT: row x · n_actions + a has φ(x, a).
    """

    starts: np.ndarray
    ends: np.ndarray
    columns: np.ndarray
    values: np.ndarray
    allowed: np.ndarray
    n_columns: int
    form: int


class Learner(NamedTuple):
    """What a linear agent knows, and its counts; in place of `Tables` where functions choose an action.

    Attributes
    ----------
    weights : array of shape (n_weights,)
        θ.
    Q : array of shape (1, n_actions)
        Room for the values of the actions in one state, of which `exploring_action` chooses; -inf for those that it
        does not allow.
    clock : array of shape (6,), int64
        As in `Tables`, and then whether the weights have diverged.
    sums : array of shape (2,)
        Σ |δ| of the TD errors since someone set it to 0, and the largest |r|.
    draws, nature : arrays of shape (1,), uint64
        The streams of random numbers of the agent and of the model.
    """

    weights: np.ndarray
    Q: np.ndarray
    clock: np.ndarray
    sums: np.ndarray
    draws: np.ndarray
    nature: np.ndarray


class Trace(NamedTuple):
    """Eligibility trace z of one stream of steps.

    Attributes
    ----------
    values : array of shape (n_weights,)
        z.
    places : array of shape (n_weights,), int64
        Where z is not 0, in the first size[0] items.
    size : array of shape (1,), int64
    largest : array of shape (1,)
        The largest |φ_j(x)| so far.
    before : array of shape (1,)
        With dutch traces: what the value of the present observation was before the last update.
    """

    values: np.ndarray
    places: np.ndarray
    size: np.ndarray
    largest: np.ndarray
    before: np.ndarray


class Stream(NamedTuple):
    """What one stream of steps needs beside the learner.

    Attributes
    ----------
    phi : Features
    trace : Trace
    chances : array of shape (n_states, n_actions)
        Cumulative probabilities of the actions of a policy that is given; of shape (0, 0) where actions are
        chosen by their values.
    """

    phi: Features
    trace: Trace
    chances: np.ndarray


class LinearRules(NamedTuple):
    """Parameters of a linear agent, as kernels see them: those of `Rules`, and those of traces and updates.

    `traces` is a place in TRACES.
    """

    discount: float
    epsilon: Timetable
    learning_rate: Timetable
    max_steps: int
    budget: int
    softmax: bool
    temperature: Timetable
    trace_decay: float
    traces: int
    normalize: bool
    expected: bool


def new_trace(n_weights: int) -> Trace:
    """A trace of zeros."""
    places, size = np.zeros(n_weights, dtype=np.int64), np.zeros(1, dtype=np.int64)
    return Trace(np.zeros(n_weights), places, size, np.zeros(1), np.zeros(1))


# Values -----------------------------------------------------------------------------------------------------


@inner
def row_of(phi: Features, x: int, a: int) -> int:
    """The row of features that belongs to an observation and an action."""
    return x * phi.allowed.shape[1] + a if phi.form == JOINT else x


@inner
def place_of(phi: Features, column: int, a: int) -> int:
    """The weight that belongs to a feature and an action."""
    return column * phi.allowed.shape[1] + a if phi.form == BLOCKS else column


@inner
def action_value(phi: Features, weights: np.ndarray, x: int, a: int) -> float:
    """θ·φ(x, a)."""
    row = row_of(phi, x, a)
    total = 0.0
    for s in range(phi.starts[row], phi.ends[row]):
        total += weights[place_of(phi, phi.columns[s], a)] * phi.values[s]
    if phi.form == CONCATENATED:
        total += weights[phi.n_columns + a]
    return total


@inner
def evaluate_actions(phi: Features, learner: Learner, x: int) -> float:
    """Write θ·φ(x, a) of all actions into `learner.Q`; the largest."""
    best = -np.inf
    for a in range(learner.Q.shape[1]):
        is_allowed = phi.allowed.shape[0] == 0 or phi.allowed[x, a]
        learner.Q[0, a] = action_value(phi, learner.weights, x, a) if is_allowed else -np.inf
        best = max(best, learner.Q[0, a])
    return best


@inner
def explore(phi: Features, learner: Any, rules: Any, x: int) -> int:
    """An action by the policy that explores."""
    evaluate_actions(phi, learner, x)
    return exploring_action(learner, rules, 0)


@shared
def choose(phi: Features, learner: Learner, rules: LinearRules, x: int) -> int:
    """An action by the policy that explores, for loops in Python."""
    return explore(phi, learner, rules, x)


# Updates ----------------------------------------------------------------------------------------------------


@inner
def correct(
    phi: Features,
    learner: Learner,
    trace: Trace,
    rules: LinearRules,
    x: int,
    a: int,
    reward: float,
    value: float,
    ahead: float,
) -> None:
    """Count a step; z = γλ z + φ(x, a) and θ += α δ z with δ = r + γ ahead - value.

    `value` is θ·φ(x, a), and `ahead` the estimate for what follows. With dutch traces this is true online
    TD(λ): z = γλ z + (1 - α γλ z·φ) φ and θ += α (δ + value - before) z - α (value - before) φ.
    """
    error = reward + rules.discount * ahead - value
    learner.clock[STEPS] += 1
    learner.sums[ERRORS] += abs(error)
    learner.sums[LARGEST_REWARD] = max(learner.sums[LARGEST_REWARD], abs(reward))
    if not abs(error) < TOO_LARGE:
        learner.clock[DIVERGED] = 1
    if learner.clock[DIVERGED] != 0:
        return
    alpha = scheduled(rules.learning_rate, learner.clock[STEPS], learner.clock[EPISODES], 1)
    if rules.normalize:
        square = squared_norm(phi, x, a)
        alpha = alpha / square if square > 0.0 else 0.0
    fade(trace, rules.discount * rules.trace_decay)
    is_dutch = rules.traces == DUTCH and rules.trace_decay > 0.0
    drift = value - trace.before[0] if is_dutch and trace.size[0] > 0 else 0.0
    share = 1.0 - alpha * action_value(phi, trace.values, x, a) if is_dutch else 1.0
    add_features(phi, trace, x, a, share, rules.traces == REPLACING)
    for i in range(trace.size[0]):
        j = trace.places[i]
        learner.weights[j] += alpha * (error + drift) * trace.values[j]
    if drift != 0.0:
        subtract_features(phi, learner.weights, x, a, alpha * drift)
    trace.before[0] = ahead


@inner
def forget(trace: Trace) -> None:
    """z = 0."""
    for i in range(trace.size[0]):
        trace.values[trace.places[i]] = 0.0
    trace.size[0] = 0


@inner
def fade(trace: Trace, decay: float) -> None:
    """z = decay · z; what has become small is dropped."""
    n = 0
    for i in range(trace.size[0]):
        j = trace.places[i]
        z = decay * trace.values[j]
        if abs(z) > FADED * trace.largest[0]:
            trace.values[j], trace.places[n] = z, j
            n += 1
        else:
            trace.values[j] = 0.0
    trace.size[0] = n


@inner
def add_features(phi: Features, trace: Trace, x: int, a: int, factor: float, replace: bool) -> None:
    """z += factor · φ(x, a); or z_j = φ_j(x, a) where that is not 0."""
    row = row_of(phi, x, a)
    for s in range(phi.starts[row], phi.ends[row]):
        add_to_trace(trace, place_of(phi, phi.columns[s], a), factor * phi.values[s], replace)
    if phi.form == CONCATENATED:
        add_to_trace(trace, phi.n_columns + a, factor, replace)


@inner
def add_to_trace(trace: Trace, j: int, value: float, replace: bool) -> None:
    """z_j += value, or z_j = value."""
    if value != 0.0:
        if trace.values[j] == 0.0:
            trace.places[trace.size[0]] = j
            trace.size[0] += 1
        trace.largest[0] = max(trace.largest[0], abs(value))
        trace.values[j] = value if replace else trace.values[j] + value


@inner
def subtract_features(phi: Features, weights: np.ndarray, x: int, a: int, factor: float) -> None:
    """θ -= factor · φ(x, a)."""
    row = row_of(phi, x, a)
    for s in range(phi.starts[row], phi.ends[row]):
        weights[place_of(phi, phi.columns[s], a)] -= factor * phi.values[s]
    if phi.form == CONCATENATED:
        weights[phi.n_columns + a] -= factor


@inner
def squared_norm(phi: Features, x: int, a: int) -> float:
    """|φ(x, a)|²."""
    row = row_of(phi, x, a)
    total = 1.0 if phi.form == CONCATENATED else 0.0
    for s in range(phi.starts[row], phi.ends[row]):
        total += phi.values[s] * phi.values[s]
    return total
