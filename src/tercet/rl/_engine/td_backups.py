"""How a reward reaches the values of earlier steps: n-step returns and eligibility traces.

A table has a row for each state: Q(x, a), or V(x) as a table of one column. Its entries are numbered through,
row by row. A step size belongs to the visit of an entry, so that traces hold α times the trace of the books.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tercet.core.kernel import inner
from tercet.rl._engine.tables import LikeTables, Rules, counted_rate

TRACES = ("accumulating", "replacing", "dutch")
SMALLEST = 1e-9  # traces below this share of the step size are dropped


class Traces(NamedTuple):
    """Eligibility traces of the entries of a table.

    Attributes
    ----------
    decay : float
        λ; 0 for no traces.
    kind : int
        Place in TRACES.
    table, goal : arrays of shape (n_entries,), float64
        The values, and what is changed: the values, or changes that wait for the end of the episode.
    values : array of shape (n_entries,), float64
        The traces, times the step size.
    active : array of shape (n_entries,), int64
        The entries that have a trace, in any order.
    size : array of shape (1,), int64
        Their number.
    before : array of shape (1,), float64
        With dutch traces: what the value of the entry that comes next was before the last update.
    """

    decay: float
    kind: int
    table: np.ndarray
    goal: np.ndarray
    values: np.ndarray
    active: np.ndarray
    size: np.ndarray
    before: np.ndarray


class Window(NamedTuple):
    """The last n steps of an episode, for n-step returns: a ring.

    Attributes
    ----------
    table, goal : arrays of shape (n_entries,), float64
        As of `Traces`.
    entries : array of shape (n,), int64
        The entries of the table that were visited.
    rewards, rates : arrays of shape (n,), float64
        Rewards and step sizes.
    place : array of shape (2,), int64
        Number of steps in the ring, and the place of the oldest one.
    ahead : array of shape (1,), float64
        The value of what comes after the last step.
    """

    table: np.ndarray
    goal: np.ndarray
    entries: np.ndarray
    rewards: np.ndarray
    rates: np.ndarray
    place: np.ndarray
    ahead: np.ndarray


class TDBackups(NamedTuple):
    """What a stream of steps keeps to learn from: n-step returns (n above 1) or traces (λ above 0).

    Attributes
    ----------
    window : Window
    traces : Traces
    pending : array of shape (n_entries,), float64
        Changes that wait for the end of the episode; of shape (0,) where values are changed at once.
    errors : array of shape (2,), float64
        Sum of the absolute TD errors, and their number.
    """

    window: Window
    traces: Traces
    pending: np.ndarray
    errors: np.ndarray


def new_traces(table: np.ndarray, goal: np.ndarray, decay: float, kind: str = "accumulating") -> Traces:
    """No traces yet; arrays of length 0 where λ is 0."""
    n = table.size if decay > 0 else 0
    values, active = np.zeros(n), np.zeros(n, dtype=np.int64)
    size = np.zeros(1, dtype=np.int64)
    return Traces(float(decay), TRACES.index(kind), table, goal, values, active, size, np.zeros(1))


def new_backups(
    tables: LikeTables, n: int, decay: float, kind: str = "accumulating", offline: bool = False
) -> TDBackups:
    """Nothing to learn from yet; n is the number of steps before a return is bootstrapped."""
    table = tables.Q.reshape(-1)
    pending = np.zeros(table.size if offline else 0)
    goal = pending if offline else table
    place = np.zeros(2, dtype=np.int64)
    window = Window(table, goal, np.zeros(n, dtype=np.int64), np.zeros(n), np.zeros(n), place, np.zeros(1))
    return TDBackups(window, new_traces(table, goal, decay, kind), pending, np.zeros(2))


@inner
def back_up(
    tables: LikeTables, rules: Rules, memory: TDBackups, x: int, a: int, r: float, ahead: float
) -> None:
    """Learn from a step with reward r, after which the value of what comes is `ahead` (0 at the end)."""
    entry, alpha = x * tables.Q.shape[1] + a, counted_rate(tables, rules, x, a)
    error = r + rules.discount * ahead - tables.Q[x, a]
    memory.errors[0] += abs(error)
    memory.errors[1] += 1.0
    if memory.traces.decay > 0.0:
        learn_by_traces(memory.traces, rules, entry, alpha, error, ahead)
    elif memory.window.entries.size > 1:
        append(memory.window, entry, r, alpha, ahead)
        if memory.window.place[0] == memory.window.entries.size:
            learn_oldest(memory.window, rules)
    else:
        memory.window.goal[entry] += alpha * error


@inner
def finish_episode(rules: Rules, memory: TDBackups) -> None:
    """Learn what is left at the end of an episode, whether it terminated or was cut off."""
    while memory.window.place[0] > 0:
        learn_oldest(memory.window, rules)
    clear(memory.traces)
    for entry in range(memory.pending.size):
        memory.window.table[entry] += memory.pending[entry]
        memory.pending[entry] = 0.0


# Traces ------------------------------------------------------------------------------------------------


@inner
def learn_by_traces(
    traces: Traces, rules: Rules, entry: int, alpha: float, error: float, ahead: float
) -> None:
    """Every entry changes by the TD error times its trace. With dutch traces this is true online TD(λ)."""
    raise_trace(traces, entry, alpha)
    change = 0.0
    if traces.kind == 2:
        change = traces.table[entry] - traces.before[0]  # of the value, since it was the next one
        traces.before[0] = ahead
    spread(traces, error + change, rules.discount * traces.decay, SMALLEST * alpha)
    traces.goal[entry] -= alpha * change


@inner
def raise_trace(traces: Traces, entry: int, alpha: float) -> None:
    """The entry is visited: e += α (accumulating), e = α (replacing), e += α (1 - e) (dutch)."""
    e = traces.values[entry]
    if e == 0.0:
        traces.active[traces.size[0]] = entry
        traces.size[0] += 1
    if traces.kind == 0:
        e += alpha
    elif traces.kind == 1:
        e = alpha
    else:
        e += alpha * (1.0 - e)
    traces.values[entry] = e


@inner
def spread(traces: Traces, error: float, fade: float, smallest: float) -> None:
    """Change the entries by the error times their traces; then e *= γλ."""
    i = 0
    while i < traces.size[0]:
        entry = traces.active[i]
        e = traces.values[entry]
        traces.goal[entry] += error * e
        e *= fade
        if e > smallest:
            traces.values[entry] = e
            i += 1
        else:  # the last one takes its place
            traces.values[entry] = 0.0
            traces.size[0] -= 1
            traces.active[i] = traces.active[traces.size[0]]


@inner
def clear(traces: Traces) -> None:
    """Forget all traces."""
    for i in range(traces.size[0]):
        traces.values[traces.active[i]] = 0.0
    traces.size[0] = 0
    traces.before[0] = 0.0


# n-step returns ----------------------------------------------------------------------------------------


@inner
def append(window: Window, entry: int, r: float, alpha: float, ahead: float) -> None:
    """Add a step to the ring."""
    i = (window.place[0] + window.place[1]) % window.entries.size
    window.entries[i], window.rewards[i], window.rates[i] = entry, r, alpha
    window.place[0] += 1
    window.ahead[0] = ahead


@inner
def learn_oldest(window: Window, rules: Rules) -> None:
    """Take the oldest step out of the ring: its value approaches G = Σ_i γ^i r_{i+1} + γ^n · ahead."""
    held, oldest = window.place[0], window.place[1]
    G, i = window.ahead[0], oldest + held
    for _ in range(held):
        i -= 1
        G = window.rewards[i % window.entries.size] + rules.discount * G
    entry = window.entries[oldest]
    window.goal[entry] += window.rates[oldest] * (G - window.table[entry])
    window.place[0], window.place[1] = held - 1, (oldest + 1) % window.entries.size
