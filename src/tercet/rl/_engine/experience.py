"""Transitions that an agent has seen, as a learned model, and a queue of pairs for prioritised sweeping.

Pairs of a state and an action are numbered x * n_actions + a. A record is a next state that a pair has led
to; the records of a pair form a chain, and so do the records that lead to a state.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tercet.core.kernel import inner, kernel

UNKNOWN, UNTRIED = -1, -2  # of a pair in `newest`: not in `pairs`; in `pairs` without a record
RECORDS, PAIRS, QUEUED = range(3)  # places in `sizes`


class Experience(NamedTuple):
    """Transitions that an agent has seen, in arrays; n is the number of states and m of actions.

    Attributes
    ----------
    newest : array of shape (n m,), int64
        The record of each pair that its chain begins with, UNKNOWN or UNTRIED.
    last : array of shape (n m,), int64
        The step in which each pair was taken last; 0 for never.
    pairs : array of shape (n m,), int64
        The pairs that planning chooses from, in the order in which they became known.
    arrivals : array of shape (n,), int64
        The record that each state's chain of predecessors begins with; -1 for none.
    sizes : array of shape (3,), int64
        Number of records, of pairs to choose from, and of pairs in the queue.
    origins, next_states : arrays of shape (capacity,), int64
        The pair of each record, and the state that it led to.
    ends : array of shape (capacity,), bool
        Whether the episode ended there.
    counts : array of shape (capacity,), int64
        How often this was seen.
    rewards : array of shape (capacity,), float64
        Mean of the rewards.
    older, earlier : arrays of shape (capacity,), int64
        The next record in the chain of the pair, and in the chain of the next state; -1 for none.
    heap : array of shape (n m,) or (0,), int64
        Binary heap of pairs, that of the highest priority first; of shape (0,) where there is no queue.
    priorities : array of shape (n m,) or (0,), float64
        Priority of each pair in the queue; 0 for others.
    places : array of shape (n m,) or (0,), int64
        Place of each pair in the heap; -1 for those that are not in it.
    """

    newest: np.ndarray
    last: np.ndarray
    pairs: np.ndarray
    arrivals: np.ndarray
    sizes: np.ndarray
    origins: np.ndarray
    next_states: np.ndarray
    ends: np.ndarray
    counts: np.ndarray
    rewards: np.ndarray
    older: np.ndarray
    earlier: np.ndarray
    heap: np.ndarray
    priorities: np.ndarray
    places: np.ndarray


GROWING = ("origins", "next_states", "ends", "counts", "rewards", "older", "earlier")


class ExperienceStore:
    """Room for the transitions that an agent sees, which grows."""

    def __init__(self, n_states: int, n_actions: int, queue: bool) -> None:
        n = n_states * n_actions
        m = n if queue else 0
        self.n_actions = n_actions
        self.arrays = Experience(
            newest=np.full(n, UNKNOWN), last=np.zeros(n, dtype=np.int64), pairs=np.zeros(n, dtype=np.int64),
            arrivals=np.full(n_states, -1), sizes=np.zeros(3, dtype=np.int64),
            origins=np.zeros(64, dtype=np.int64), next_states=np.zeros(64, dtype=np.int64),
            ends=np.zeros(64, dtype=bool), counts=np.zeros(64, dtype=np.int64), rewards=np.zeros(64),
            older=np.zeros(64, dtype=np.int64), earlier=np.zeros(64, dtype=np.int64),
            heap=np.zeros(m, dtype=np.int64), priorities=np.zeros(m), places=np.full(m, -1),
        )  # fmt: skip

    def reserve(self, more: int) -> Experience:
        """The arrays, with room for so many more records."""
        wanted, capacity = int(self.arrays.sizes[RECORDS]) + more, self.arrays.counts.size
        if wanted > capacity:
            room = max(wanted, 2 * capacity) - capacity
            grown = {
                name: np.concatenate([old, np.zeros(room, dtype=old.dtype)])
                for name, old in zip(Experience._fields, self.arrays)
                if name in GROWING
            }
            self.arrays = self.arrays._replace(**grown)
        return self.arrays

    def transitions(self) -> dict[str, np.ndarray]:
        """The records as columns, in the order in which they were first seen."""
        seen, n = self.arrays, int(self.arrays.sizes[RECORDS])
        return {
            "state": seen.origins[:n] // self.n_actions,
            "action": seen.origins[:n] % self.n_actions,
            "next_state": seen.next_states[:n].copy(),
            "terminated": seen.ends[:n].copy(),
            "count": seen.counts[:n].copy(),
            "reward": seen.rewards[:n].copy(),
        }

    def restore(
        self, transitions: dict[str, Any], last: np.ndarray, priorities: Any, bonus: bool, Q: np.ndarray
    ) -> None:
        """Take records as `transitions` gave them, and what else an earlier fit has left."""
        origins = transitions["state"] * self.n_actions + transitions["action"]
        seen = self.reserve(origins.size)
        types = {"next_state": np.int64, "terminated": np.bool_, "count": np.int64, "reward": np.float64}
        columns: list[Any] = [np.array(transitions[name], dtype=kind) for name, kind in types.items()]
        restore_records(seen, Q, bonus, np.array(origins, dtype=np.int64), *columns)
        seen.last[:] = last.ravel()
        if priorities is not None and seen.heap.size:
            restore_queue(seen, np.array(priorities, dtype=np.float64).ravel())


# Records -----------------------------------------------------------------------------------------------


@inner
def remember(
    seen: Experience, Q: np.ndarray, bonus: bool, pair: int, u: int, terminated: bool, r: float, count: int
) -> None:
    """Add a transition that was seen `count` times; with `bonus` planning knows of the other actions, too."""
    m = Q.shape[1]
    if seen.newest[pair] == UNKNOWN:
        first = (pair // m) * m if bonus else pair
        for other in range(first, first + m if bonus else pair + 1):
            allowed = other == pair or Q[other // m, other % m] != -np.inf
            if allowed and seen.newest[other] == UNKNOWN:
                seen.newest[other] = UNTRIED
                seen.pairs[seen.sizes[PAIRS]] = other
                seen.sizes[PAIRS] += 1
    k = seen.newest[pair]
    while k >= 0 and not (seen.next_states[k] == u and seen.ends[k] == terminated):
        k = seen.older[k]
    if k < 0:
        k = seen.sizes[RECORDS]
        seen.sizes[RECORDS] += 1
        seen.origins[k], seen.next_states[k], seen.ends[k] = pair, u, terminated
        seen.counts[k], seen.rewards[k] = 0, r
        seen.older[k], seen.newest[pair] = max(seen.newest[pair], -1), k
        seen.earlier[k], seen.arrivals[u] = seen.arrivals[u], k
    seen.counts[k] += count
    seen.rewards[k] += (r - seen.rewards[k]) * count / seen.counts[k]


@inner
def drawn_record(seen: Experience, pair: int, total: int, u: float) -> int:
    """A record of a pair that was taken `total` times, by a random number u in [0, 1)."""
    k, left = seen.newest[pair], int(u * total)
    while left >= seen.counts[k] and seen.older[k] >= 0:
        left -= seen.counts[k]
        k = seen.older[k]
    return k


@kernel
def restore_records(
    seen: Experience,
    Q: np.ndarray,
    bonus: bool,
    origins: np.ndarray,
    next_states: np.ndarray,
    ends: np.ndarray,
    counts: np.ndarray,
    rewards: np.ndarray,
) -> None:
    """Add records in their order."""
    for k in range(origins.size):
        remember(seen, Q, bonus, origins[k], next_states[k], ends[k], rewards[k], counts[k])


# Queue -------------------------------------------------------------------------------------------------


@inner
def put(seen: Experience, pair: int, priority: float) -> None:
    """Put a pair into the queue, or raise its priority."""
    if priority > seen.priorities[pair]:
        seen.priorities[pair] = priority
        if seen.places[pair] < 0:
            place_at(seen, seen.sizes[QUEUED], pair)
            seen.sizes[QUEUED] += 1
        rise(seen, seen.places[pair])


@inner
def take(seen: Experience) -> int:
    """The pair of the highest priority, which leaves the queue."""
    pair = seen.heap[0]
    seen.sizes[QUEUED] -= 1
    n = seen.sizes[QUEUED]
    if n > 0:
        place_at(seen, 0, seen.heap[n])
        sink(seen)
    seen.places[pair], seen.priorities[pair] = -1, 0.0
    return pair


@inner
def place_at(seen: Experience, i: int, pair: int) -> None:
    """Put a pair at a place of the heap."""
    seen.heap[i], seen.places[pair] = pair, i


@inner
def comes_before(seen: Experience, one: int, other: int) -> bool:
    """Whether a pair has the higher priority; the lower number breaks ties, for a unique order."""
    p, q = seen.priorities[one], seen.priorities[other]
    return p > q or (p == q and one < other)


@inner
def rise(seen: Experience, i: int) -> None:
    """Move a pair up the heap to where it belongs."""
    while i > 0 and comes_before(seen, seen.heap[i], seen.heap[(i - 1) // 2]):
        one, other = seen.heap[i], seen.heap[(i - 1) // 2]
        place_at(seen, i, other)
        i = (i - 1) // 2
        place_at(seen, i, one)


@inner
def sink(seen: Experience) -> None:
    """Move the first pair down the heap to where it belongs."""
    i, n = 0, seen.sizes[QUEUED]
    while 2 * i + 1 < n:
        child = 2 * i + 1
        if child + 1 < n and comes_before(seen, seen.heap[child + 1], seen.heap[child]):
            child += 1
        one, other = seen.heap[i], seen.heap[child]
        if not comes_before(seen, other, one):
            break
        place_at(seen, i, other)
        place_at(seen, child, one)
        i = child


@kernel
def restore_queue(seen: Experience, priorities: np.ndarray) -> None:
    """Put all pairs that have a priority into the queue."""
    for pair in range(priorities.size):
        put(seen, pair, priorities[pair])
