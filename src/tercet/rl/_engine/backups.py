"""Bellman backups of all states, in blocks that threads share, and linear equations of a policy.

A backup computes q(x, a) = w R(x, a) + γ Σ_x' P(x' | x, a) V(x') for the pairs of a state and takes the largest.
The weights (γ, w) are (γ, 1) for discounted rewards, and ((t - 1)/t, 1/t) for the mean reward of t steps. The
blocks come from the model alone, so that the results do not depend on the number of threads.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse import linalg

from tercet.core.kernel import inner, kernel
from tercet.core.parallel import each, one_blas_thread
from tercet.core.rows import read_only

BLOCK = 1 << 18  # transitions of a block, some 0.3 ms of work
TIE = 1e-12  # values that differ by less, relative to the largest of all states, count as equal
DENSE = 300  # states up to which linear equations are solved by a dense LU decomposition
QUICK = 0.5  # share of the change that a sweep may leave of the one before it, for sweeps to go on
RUNS, PRODUCTS = 5, 400  # of BiCGSTAB, and iterations of a run, before the sparse LU decomposition takes over
FEW = 0.2  # share of the pairs below which the others are left out
EPS = float(np.finfo(np.float64).eps)


class Transitions(NamedTuple):
    """Transitions of a model, as kernels read them.

    Attributes
    ----------
    first : array of shape (n_states + 1,), int64
        The pairs of state x are those from first[x] to first[x + 1].
    indptr : array of shape (n_pairs + 1,), int64
        The transitions of pair p are those from indptr[p] to indptr[p + 1].
    successors : array of shape (n_transitions,), int32
    probabilities : array of shape (n_transitions,), float64
    rewards : array of shape (n_pairs,), float64
        Expected rewards.
    """

    first: np.ndarray
    indptr: np.ndarray
    successors: np.ndarray
    probabilities: np.ndarray
    rewards: np.ndarray


class Chain(NamedTuple):
    """Transitions of a policy: a Markov chain with rewards.

    Attributes
    ----------
    starts, stops : arrays of shape (n_states,), int64
        The transitions of state x are those from starts[x] to stops[x].
    successors : array, int32
    probabilities : array, float64
    rewards : array of shape (n_states,), float64
        Expected rewards.
    """

    starts: np.ndarray
    stops: np.ndarray
    successors: np.ndarray
    probabilities: np.ndarray
    rewards: np.ndarray


class Backup(NamedTuple):
    """New values, the pairs that have them, and the least and the largest change of a value."""

    V: np.ndarray
    pairs: np.ndarray
    low: float
    high: float

    @property
    def residual(self) -> float:
        """max_x |V'(x) - V(x)|."""
        return max(self.high, -self.low)


def transitions_of(mdp: Any) -> Transitions:
    """The transitions of a model; its arrays are not copied."""
    P = mdp.probabilities
    first = np.concatenate([[0], np.cumsum(np.bincount(mdp.pair_states, minlength=mdp.n_states))])
    arrays = (
        first,
        P.indptr.astype(np.int64),
        P.indices.astype(np.int32, copy=False),
        P.data,
        mdp.pair_rewards,
    )
    return Transitions(*(read_only(np.ascontiguousarray(array)) for array in arrays))


def chain_under(mdp: Any, chances: np.ndarray) -> Chain:
    """The chain of a policy with the probabilities `chances` (n_states, n_actions)."""
    weights = chances[mdp.pair_states, mdp.pair_actions]
    used = np.flatnonzero(weights)
    shape = (mdp.n_states, mdp.n_pairs)
    choice = sparse.csr_array((weights[used], (mdp.pair_states[used], used)), shape=shape)
    P = sparse.csr_array(choice @ mdp.probabilities)
    indptr = P.indptr.astype(np.int64)
    return Chain(indptr[:-1], indptr[1:], P.indices.astype(np.int32), P.data, choice @ mdp.pair_rewards)


class BellmanOperator:
    """The operator T of a model, (TV)(x) = max_a q(x, a)."""

    def __init__(self, transitions: Transitions, n_jobs: int | None = None) -> None:
        self.transitions, self.n_jobs = transitions, n_jobs
        self.n_states, self.n_pairs = transitions.first.size - 1, transitions.rewards.size
        self.largest_reward = float(np.abs(transitions.rewards).max())
        self.blocks = _cut(transitions.indptr[transitions.first] + np.arange(self.n_states + 1))

    def backup(
        self,
        V: np.ndarray | None,
        discount: float,
        weight: float = 1.0,
        *,
        tie: float | None = None,
        keep: np.ndarray | None = None,
        Q: np.ndarray | None = None,
        chain: Chain | None = None,
        alive: np.ndarray | None = None,
    ) -> Backup:
        """TV of values V, or of zeros, and the first of the best actions.

        Parameters
        ----------
        V : array of shape (n_states,) or None
            Values; None for zeros, whose backup reads no transitions, and fills no chain.
        discount, weight : float
            The weights γ of the next state's value and w of the reward.
        tie : float, optional
            Up to which difference values of actions count as equal; by default what rounding explains.
        keep : array of int64 of shape (n_states,), optional
            Pairs of a policy; a state keeps its own unless another one is better by more than `tie`.
        Q : array of shape (n_pairs,), optional
            Gets the values of all pairs.
        chain : Chain, optional
            From `room`; gets the transitions of the policy. With `keep` it must hold those of these pairs.
        alive : array of bool of shape (n_pairs,), optional
            The pairs to look at beside those of `keep`, whose transitions are in `chain`; the rest of Q stays.
        """
        new, pairs = np.empty(self.n_states), np.empty(self.n_states, dtype=np.int64)
        model = self.transitions
        if V is None:  # as if no pair had transitions
            model, V = model._replace(indptr=read_only(0 * model.indptr)), np.zeros(self.n_states)
        changes = each(
            backup_block,
            range(self.blocks.size - 1),
            self.blocks,
            model,
            read_only(V),
            float(discount),
            float(weight),
            self.tie(V) if tie is None else tie,
            NO_PAIRS if keep is None else read_only(keep),
            new,
            pairs,
            np.empty(0) if Q is None else Q,
            ALL_ALIVE if alive is None else read_only(alive),
            NO_CHAIN if chain is None else chain,
            n_jobs=self.n_jobs,
        )
        return Backup(new, pairs, *_extremes(changes))

    def tie(self, V: np.ndarray | None) -> float:
        """Up to which difference values of actions are equal but for rounding."""
        largest = 0.0 if V is None else float(max(V.max(), -V.min()))
        return TIE * max(largest, self.largest_reward)

    def room(self) -> Chain:
        """A chain for `backup` to fill, with room for the longest row of each state."""
        model = self.transitions
        longest = np.maximum.reduceat(np.diff(model.indptr), model.first[:-1])
        starts = np.concatenate([[0], np.cumsum(longest)])
        size, n = int(starts[-1]), self.n_states
        return Chain(
            read_only(starts[:-1]), starts[:-1].copy(), np.empty(size, np.int32), np.empty(size), np.empty(n)
        )

    def chain(self, pairs: np.ndarray) -> Chain:
        """The chain of the policy that takes the given pairs."""
        chain = self.room()
        copy_rows(self.transitions, read_only(pairs), chain)
        return chain


class PolicyOperator:
    """The operator T_π of a policy, (T_π V)(x) = w r(x) + γ Σ_x' P(x' | x) V(x')."""

    def __init__(self, chain: Chain, n_jobs: int | None = None) -> None:
        self.chain, self.n_jobs = Chain(*(read_only(array) for array in chain)), n_jobs
        self.n_states = chain.rewards.size
        self.blocks = _cut(np.append(chain.starts, chain.successors.size) + np.arange(self.n_states + 1))

    def sweep(self, V: np.ndarray | None, discount: float, weight: float = 1.0) -> Backup:
        """T_π V of values V, or of zeros."""
        new = np.empty(self.n_states)
        changes = each(
            sweep_block,
            range(self.blocks.size - 1),
            self.blocks,
            self.chain,
            read_only(np.zeros(self.n_states) if V is None else V),
            float(discount),
            float(weight),
            new,
            n_jobs=self.n_jobs,
        )
        return Backup(new, NO_PAIRS, *_extremes(changes))


class ActionElimination:
    """Backups that leave out the actions which cannot be the best ones this time (Hastings 1976).

    If no value of a state has risen by more than d since q(x, a) was computed, q(x, a) has risen by γ d at most. If
    it is below the value of another action even so, a need not be looked at. As values settle, this leaves one
    action in most states, whose transitions lie side by side in the chain of the greedy policy.

    Attributes
    ----------
    last : Backup or None
        The last backup.
    chain : Chain
        That of the policy which is greedy for the values before the last backup.
    """

    def __init__(self, operator: BellmanOperator, discount: float) -> None:
        self.operator, self.discount = operator, discount
        self.limits = np.empty(operator.n_pairs)  # what the values of actions are at most
        self.alive = np.ones(operator.n_pairs, dtype=bool)
        self.chain = operator.room()
        self.policy = PolicyOperator(self.chain, operator.n_jobs)
        self.V = np.zeros(operator.n_states)  # of the last backup
        self.last: Backup | None = None

    def backup(self, V: np.ndarray | None) -> Backup:
        """TV of values V, or of zeros. A state keeps its action unless another one is better."""
        operator, discount, transitions = self.operator, self.discount, self.operator.transitions
        if V is None or self.last is None:
            self.last = operator.backup(V, discount, Q=self.limits)
            copy_rows(transitions, read_only(self.last.pairs), self.chain)
        else:
            rise = discount * float((V - self.V).max()) + operator.tie(V)
            mark_alive(
                transitions.first, read_only(self.policy.sweep(V, discount).V), rise, self.limits, self.alive
            )
            # pairs here and there are no faster to read than all, unless they are few
            alive = self.alive if np.count_nonzero(self.alive) < FEW * self.alive.size else None
            self.last = operator.backup(
                V, discount, tie=0.0, keep=self.last.pairs, Q=self.limits, chain=self.chain, alive=alive
            )
        if V is not None:
            self.V = V
        return self.last


NO_PAIRS, ALL_ALIVE = read_only(np.empty(0, dtype=np.int64)), read_only(np.empty(0, dtype=bool))
NO_CHAIN = Chain(NO_PAIRS, np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0), np.empty(0))


def _extremes(changes: list[tuple[float, float]]) -> tuple[float, float]:
    return min(low for low, _ in changes), max(high for _, high in changes)


def _cut(work: np.ndarray) -> np.ndarray:
    """First states of blocks of about the same work, and the number of states; from the work before each state."""
    n, total = work.size - 1, float(work[-1])
    blocks = np.searchsorted(work, np.arange(0.0, total, BLOCK)).clip(0, n)
    return read_only(np.unique(np.append(blocks, [0, n])).astype(np.int64))


@inner
def mean_value(
    successors: np.ndarray, probabilities: np.ndarray, V: np.ndarray, start: int, stop: int
) -> float:
    """Σ P V over some transitions."""
    u, p, total = successors[start:stop], probabilities[start:stop], 0.0
    for k in range(u.size):
        total += p[k] * V[np.uint64(u[k])]
    return total


@inner
def pair_value(model: Transitions, pair: int, V: np.ndarray, discount: float, weight: float) -> float:
    """w R + γ Σ P V of a pair."""
    start, stop = model.indptr[pair], model.indptr[pair + 1]
    return weight * model.rewards[pair] + discount * mean_value(
        model.successors, model.probabilities, V, start, stop
    )


@inner
def chain_value(chain: Chain, x: int, V: np.ndarray, discount: float, weight: float) -> float:
    """w r + γ Σ P V of a state under a policy."""
    mean = mean_value(chain.successors, chain.probabilities, V, chain.starts[x], chain.stops[x])
    return weight * chain.rewards[x] + discount * mean


@inner
def copy_row(model: Transitions, pair: int, chain: Chain, x: int) -> None:
    """Make the transitions of a pair those of state x in a chain."""
    start, begin, end = chain.starts[x], model.indptr[pair], model.indptr[pair + 1]
    stop = start + end - begin
    u, p = model.successors[begin:end], model.probabilities[begin:end]
    new_u, new_p = chain.successors[start:stop], chain.probabilities[start:stop]
    for k in range(u.size):
        new_u[k], new_p[k] = u[k], p[k]
    chain.stops[x], chain.rewards[x] = stop, model.rewards[pair]


@kernel
def copy_rows(model: Transitions, pairs: np.ndarray, chain: Chain) -> None:
    """Make the transitions of a pair for each state those of a chain."""
    for x in range(pairs.size):
        copy_row(model, pairs[x], chain, x)


@kernel
def backup_block(
    block: int,
    blocks: np.ndarray,
    model: Transitions,
    V: np.ndarray,
    discount: float,
    weight: float,
    tie: float,
    keep: np.ndarray,
    new: np.ndarray,
    pairs: np.ndarray,
    Q: np.ndarray,
    alive: np.ndarray,
    chain: Chain,
) -> tuple[float, float]:
    """New values of a block of states, and the pairs that have them; returns the least and the largest change."""
    low, high = np.inf, -np.inf
    for x in range(blocks[block], blocks[block + 1]):
        best = chosen = now = -np.inf
        choice = model.first[x]
        for pair in range(model.first[x], model.first[x + 1]):
            is_kept = keep.size > 0 and keep[x] == pair
            if alive.size == 0:
                q = pair_value(model, pair, V, discount, weight)
            elif is_kept:
                q = chain_value(chain, x, V, discount, weight)
            elif alive[pair]:
                q = pair_value(model, pair, V, discount, weight)
            else:
                q = -np.inf
            best = max(best, q)
            if q > chosen + tie:
                chosen, choice = q, pair
            if is_kept:
                now = q
            if Q.size and q > -np.inf:
                Q[pair] = q
        stays = now >= best - tie
        pairs[x] = keep[x] if stays else choice
        if chain.starts.size and not stays:
            copy_row(model, choice, chain, x)
        new[x] = best
        low, high = min(low, best - V[x]), max(high, best - V[x])
    return low, high


@kernel
def mark_alive(
    first: np.ndarray, values: np.ndarray, rise: float, limits: np.ndarray, alive: np.ndarray
) -> None:
    """Raise what the values of pairs are at most, and mark those that may be above the values of their states."""
    for x in range(values.size):
        for pair in range(first[x], first[x + 1]):
            limits[pair] += rise
            alive[pair] = limits[pair] >= values[x]


@kernel
def sweep_block(
    block: int,
    blocks: np.ndarray,
    chain: Chain,
    V: np.ndarray,
    discount: float,
    weight: float,
    new: np.ndarray,
) -> tuple[float, float]:
    """New values of a block of states under a policy; returns the least and the largest change."""
    low, high = np.inf, -np.inf
    for x in range(blocks[block], blocks[block + 1]):
        new[x] = chain_value(chain, x, V, discount, weight)
        low, high = min(low, new[x] - V[x]), max(high, new[x] - V[x])
    return low, high


def middle(change: Backup, discount: float, ends: bool) -> tuple[float, float]:
    """A number to add to all values after a backup, and the largest change that the backup then would have made.

    The fixed point is γ/(1 - γ) times the least to the largest change away (MacQueen 1966, Porteus 1971). With the
    middle of these added, half the span of the changes takes the place of their largest absolute value. Terminal
    states have the value 0, and with discount=1 nothing is known: then nothing is added.
    """
    if ends or discount == 1.0:
        return 0.0, change.residual
    return discount / (1.0 - discount) * (change.low + change.high) / 2.0, (change.high - change.low) / 2.0


# Linear equations of a policy -------------------------------------------------------------------------------


def solve_chain(
    chain: Chain,
    discount: float,
    terminal: np.ndarray,
    guess: np.ndarray | None = None,
    n_jobs: int | None = None,
) -> np.ndarray:
    """V = r + γ P V, solved but for rounding; terminal states have the value 0.

    Few states: dense LU decomposition. Many: sweeps, as long as each leaves less than half of the change; then
    BiCGSTAB; where that does not reach rounding errors, sparse LU decomposition.
    """
    n, rewards = terminal.size, np.where(terminal, 0.0, chain.rewards)
    with one_blas_thread():
        if n <= DENSE:
            A: Any = np.eye(n) - discount * _matrix(chain, terminal).toarray()
            found: np.ndarray = np.linalg.solve(A, rewards)
            return found
        operator = PolicyOperator(chain, n_jobs)
        V, done = _sweeps(operator, discount, terminal, np.zeros(n) if guess is None else guess)
        solved = V if done else _krylov(operator, rewards, discount, terminal, V)
        if solved is None:
            A = sparse.csc_array(sparse.eye_array(n) - discount * _matrix(chain, terminal))
            factors = linalg.splu(A)
            solved = factors.solve(rewards)
            solved = solved + factors.solve(rewards - A @ solved)
        return solved


def _sweeps(
    operator: PolicyOperator, discount: float, terminal: np.ndarray, V: np.ndarray
) -> tuple[np.ndarray, bool]:
    """Sweeps V = r + γ P V, while they converge quickly; the values, and whether these are the solution."""
    before, ends = np.inf, bool(terminal.any())
    while True:
        change = operator.sweep(V, discount)
        shift, left = middle(change, discount, ends)
        V = change.V
        if left <= 4 * EPS * max(float(np.abs(V).max()), float(np.abs(operator.chain.rewards).max())):
            return V + shift, True
        if left > QUICK * before:
            return V + shift, False
        before = left


def _krylov(
    operator: PolicyOperator, rewards: np.ndarray, discount: float, terminal: np.ndarray, V: np.ndarray
) -> np.ndarray | None:
    """The solution of V - γ P V = r by BiCGSTAB; None where its residual stays above rounding errors."""
    n, live = terminal.size, (~terminal).astype(np.float64)

    def times(v: np.ndarray) -> np.ndarray:
        v = np.ascontiguousarray(v, dtype=np.float64).ravel()
        return v - live * operator.sweep(v, discount, 0.0).V

    A = linalg.LinearOperator((n, n), matvec=times, dtype=np.float64)
    accuracy = np.inf
    for _ in range(RUNS):  # a run loses sight of the true residual, with which the next one begins
        residual = rewards - times(V)
        scale = max(np.abs(V).max(), np.abs(rewards).max())
        before, accuracy = accuracy, float(np.abs(residual).max())
        if accuracy <= 4 * EPS * scale or (accuracy <= 1000 * EPS * scale and accuracy > 0.1 * before):
            return V
        correction, failed = linalg.bicgstab(A, residual, rtol=1e-8, atol=0.0, maxiter=PRODUCTS)
        if failed or not np.isfinite(correction).all():
            return None
        V = V + correction
    return None


def _matrix(chain: Chain, terminal: np.ndarray) -> Any:
    """P of a chain that ends in terminal states: their rows are 0."""
    sizes = np.where(terminal, 0, chain.stops - chain.starts)
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    places = np.arange(indptr[-1]) + np.repeat(chain.starts - indptr[:-1], sizes)
    shape = (terminal.size, terminal.size)
    return sparse.csr_array((chain.probabilities[places], chain.successors[places], indptr), shape=shape)


# Reaching terminal states -----------------------------------------------------------------------------------


class WaysToEnd:
    """Which pairs lead to a terminal state: breadth-first searches against the transitions of a model."""

    def __init__(self, mdp: Any) -> None:
        P = mdp.probabilities.tocsc()
        arrays = P.indptr.astype(np.int64), P.indices.astype(np.int64), mdp.pair_states
        self.arrays: Any = tuple(read_only(array) for array in arrays)
        self.ends = np.flatnonzero(mdp.terminal)
        self.first = np.searchsorted(mdp.pair_states, self.ends)
        self.n_states = mdp.n_states

    def search(self, usable: np.ndarray) -> np.ndarray:
        """For each state a pair that brings it closer to a terminal state, -1 where there is none.

        If all states have one, a policy that takes these pairs reaches a terminal state with certainty.

        Parameters
        ----------
        usable : array of bool of shape (n_pairs,)
            The pairs that may be taken.

        Returns
        -------
        array of int64 of shape (n_states,)
            In terminal states their first pair.
        """
        pairs, queue = np.full(self.n_states, -1, dtype=np.int64), np.empty(self.n_states, dtype=np.int64)
        pairs[self.ends] = self.first
        queue[: self.ends.size] = self.ends
        indptr, entering, states = self.arrays
        search_backwards(indptr, entering, states, read_only(usable), pairs, queue, self.ends.size)
        return pairs

    def all_end(self, pairs: np.ndarray) -> bool:
        """Whether a policy that takes the given pairs reaches a terminal state with certainty."""
        usable = np.zeros(self.arrays[2].size, dtype=bool)
        usable[pairs] = True
        return bool((self.search(usable) >= 0).all())


@kernel
def search_backwards(
    indptr: np.ndarray,
    entering: np.ndarray,
    pair_states: np.ndarray,
    usable: np.ndarray,
    pairs: np.ndarray,
    queue: np.ndarray,
    count: int,
) -> None:
    """Breadth-first search from the states in the queue; `entering` are the pairs that may lead to a state."""
    done = 0
    while done < count:
        u = queue[done]
        done += 1
        for k in range(indptr[u], indptr[u + 1]):
            pair = entering[k]
            x = pair_states[pair]
            if usable[pair] and pairs[x] < 0:
                pairs[x] = pair
                queue[count] = x
                count += 1
