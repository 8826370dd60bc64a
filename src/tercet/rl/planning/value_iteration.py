"""Value iteration (值迭代), the watermelon notes' Algorithm 7, and the Bellman residual."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from tercet.core.catalog import method
from tercet.core.fitted_checks import Declarations, Indices
from tercet.core.kernel import inner, kernel
from tercet.core.parameters import Count, Fraction, Jobs, NonNegative
from tercet.core.rows import read_only
from tercet.rl._engine.backups import (
    ActionElimination,
    BellmanOperator,
    Transitions,
    middle,
    pair_value,
)
from tercet.rl.mdp import MDP
from tercet.rl.planning.planner import Pass, Planner, rounding, start_values
from tercet.rl.planning.policy_evaluation import action_values, state_values
from tercet.rl.policies import action_probabilities


@method(
    zh="值迭代",
    task="reinforcement learning",
    model="V(x) = max_a Σ_x' P(x' | x, a) (R(x, a, x') + γ V(x')); π(x) attains the maximum",
    strategy="the Bellman optimality equation; with a horizon the mean reward of T steps",
    algorithms={
        "jacobi": "all values are replaced at once, V' = TV (Alg 7)",
        "gauss-seidel": "each value is replaced at once, and the states after it see the new one",
        "prioritised": "the state whose value is most out of date comes first (prioritised sweeping)",
    },
    texts=["watermelon notes ch. 14, Alg 7", "watermelon notes ch. 14, eq. 14.10, 14.11, 14.13"],
    peers=["quantecon.markov.DiscreteDP", "mdptoolbox.mdp.ValueIteration"],
)
class ValueIteration(Planner):
    """Value iteration: optimal values of a known model, and a policy that attains them.

    With a discount γ the values solve the Bellman optimality equation

        V(x) = max_a Σ_x' P(x' | x, a) (R(x, a, x') + γ V(x')).

    With a horizon T and no discount they are the largest mean reward of T steps (the text's V_T), V_0 = 0:

        V_t(x) = max_a Σ_x' P(x' | x, a) (1/t R(x, a, x') + (t - 1)/t V_{t-1}(x')).

    With both they are the largest discounted sum of T rewards.

    Parameters
    ----------
    discount : float, optional
        Discount γ, from 0 to 1. By default 0.99 without a horizon, and the mean reward with one. 1 needs a horizon,
        or a terminal state that every state can reach; the result is then the best of the policies that reach one.
    horizon : int, optional
        Number of steps T; by default without end.
    algorithm : {"jacobi", "gauss-seidel", "prioritised"}, default="jacobi"
        In which order values are replaced. With a horizon always all at once.
    tol : float, default=1e-8
        Stop when the residual of a pass is not above it. Not used with a horizon.
    max_iter : int, default=10000
        The most passes. Not used with a horizon.
    n_jobs : int, optional
        Threads of "jacobi"; the result does not depend on it.

    Attributes
    ----------
    V_ : array of shape (n_states,)
        Values of the states.
    Q_ : array of shape (n_states, n_actions)
        Values of the actions; -inf for actions that are not allowed.
    policy_ : array of int of shape (n_states,)
        The best action of each state, of equal ones the first; with a horizon that of the first of T steps.
    policies_ : array of int of shape (horizon, n_states)
        With a horizon: the best actions with 1, 2 ... T steps to go.
    residual_ : float
        Largest change of a value by the last backup V = TV, the Bellman residual of the values before it. Without
        terminal states, half the difference of the largest and the least change: the middle is added to all values.
    error_bound_ : float
        V_ is no further from the optimal values than γ/(1 - γ) times the residual, and the values of `policy_` no
        further than twice that. inf with discount=1, where the residual bounds nothing; 0 with a horizon.
    n_iter_ : int
        Number of passes; of "prioritised", one is as many replacements as there are states.
    history_ : dict
        The residual of every pass; of "prioritised" the highest priority after it, which is no less.

    Examples
    --------
    >>> from tercet.rl import MDP
    >>> P = [[[0.8, 0.2, 0], [0.1, 0.9, 0]], [[0, 0.5, 0.5], [0.6, 0, 0.4]], [[0, 0, 1], [0, 0, 1]]]
    >>> R = [[[1, 2, 0], [0, 3, 0]], [[0, 0, 5], [-1, 0, 8]], [[0, 0, 0], [0, 0, 0]]]
    >>> mdp = MDP(P, R)
    >>> model = ValueIteration(discount=0.9).fit(mdp)
    >>> model.policy_, model.V_.round(4)
    (array([1, 1, 0]), array([10.1693,  8.0914,  0.    ]))
    >>> ValueIteration(horizon=3).fit(mdp).V_.round(4)
    array([2.343 , 1.9287, 0.    ])
    """

    fitted_shapes: ClassVar[Declarations] = {"policies_": Indices("horizon states", below="actions")}
    policies_: np.ndarray

    def __init__(
        self,
        discount: Fraction | None = None,
        horizon: Count | None = None,
        *,
        algorithm: Literal["jacobi", "gauss-seidel", "prioritised"] = "jacobi",
        tol: NonNegative = 1e-8,
        max_iter: Count = 10_000,
        n_jobs: Jobs = None,
    ) -> None:
        self.discount = discount
        self.horizon = horizon
        self.algorithm = algorithm
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    def _plan(self, mdp: MDP, operator: BellmanOperator) -> None:
        if self.horizon is not None:
            self._plan_steps(mdp, operator)
            return
        ways = self._ways_to_end(mdp, np.ones(mdp.n_pairs, dtype=bool), "can reach")
        V = start_values(mdp, operator, ways)
        if self.algorithm == "jacobi":
            V = self._jacobi(mdp, operator, V)
        else:
            V = np.zeros(mdp.n_states) if V is None else V
            in_turn = self._gauss_seidel if self.algorithm == "gauss-seidel" else self._prioritised
            V = in_turn(mdp, operator, V)
        self._finish(mdp, operator, V, ways)

    def _plan_steps(self, mdp: MDP, operator: BellmanOperator) -> None:
        """Alg 7: V_t from V_{t-1}, and the best actions with t steps to go."""
        T, Q = int(self.horizon or 1), np.empty(mdp.n_pairs)
        V: Any = None
        policies = np.empty((T, mdp.n_states), dtype=np.int64)
        for step in self.steps(T, unpack=self._unpack(mdp, operator)):
            weights, before = self._weights(step.index + 1), V
            change = operator.backup(before, *weights, Q=Q)
            V, policies[step.index] = change.V, mdp.pair_actions[change.pairs]
            step.report(Pass(before, V, change.pairs, weights), residual=change.residual)
        self.V_, self.Q_, self.policies_, self.policy_ = V, mdp.table(Q), policies, policies[-1].copy()
        self.residual_, self.error_bound_ = change.residual, 0.0

    def _jacobi(self, mdp: MDP, operator: BellmanOperator, V: Any) -> np.ndarray:
        """V' = TV for all states at once."""
        weights, ends = self._weights(), bool(mdp.terminal.any())
        T = ActionElimination(operator, weights[0])
        for step in self.steps(self.max_iter, hint=self._hint(), unpack=self._unpack(mdp, operator)):
            change = T.backup(V)
            shift, residual = middle(change, weights[0], ends)
            step.report(Pass(V, change.V, change.pairs, weights), residual=residual)
            V = change.V
            if step.converged(residual <= max(self.tol, rounding(V))):
                break
        found: np.ndarray = V + shift
        return found

    def _gauss_seidel(self, mdp: MDP, operator: BellmanOperator, V: np.ndarray) -> np.ndarray:
        """V(x) = max_a Q(x, a), one state after the other."""
        discount, weight = self._weights()
        pairs = np.zeros(mdp.n_states, dtype=np.int64)
        for step in self.steps(self.max_iter, hint=self._hint(), unpack=self._unpack(mdp, operator)):
            before = V.copy()
            residual = gauss_seidel_sweep(operator.transitions, discount, operator.tie(V), V, pairs)
            step.report(Pass(before, V.copy(), pairs.copy(), (discount, weight)), residual=float(residual))
            if step.converged(residual <= max(self.tol, rounding(V))):
                break
        return V

    def _prioritised(self, mdp: MDP, operator: BellmanOperator, V: np.ndarray) -> np.ndarray:
        """V(x) = max_a Q(x, a) for the state of the highest priority, n_states times in a pass."""
        discount, weight = self._weights()
        first = operator.backup(V, discount)
        queue, pairs = new_queue(np.abs(first.V - V)), first.pairs
        entering = entering_transitions(mdp)
        for step in self.steps(self.max_iter, hint=self._hint(), unpack=self._unpack(mdp, operator)):
            before = V.copy()
            limit = max(self.tol, rounding(V))
            residual = prioritised_pass(
                operator.transitions, entering, discount, operator.tie(V), limit, V, pairs, queue
            )
            step.report(Pass(before, V.copy(), pairs.copy(), (discount, weight)), residual=float(residual))
            if step.converged(residual <= max(self.tol, rounding(V))):
                break
        return V


@inner
def best_pair(model: Transitions, x: int, V: np.ndarray, discount: float, tie: float) -> tuple[float, int]:
    """max_a Q(x, a), and the first pair that attains it but for rounding."""
    best = chosen = -np.inf
    choice = model.first[x]
    for pair in range(model.first[x], model.first[x + 1]):
        q = pair_value(model, pair, V, discount, 1.0)
        best = max(best, q)
        if q > chosen + tie:
            chosen, choice = q, pair
    return best, choice


@kernel
def gauss_seidel_sweep(
    model: Transitions, discount: float, tie: float, V: np.ndarray, pairs: np.ndarray
) -> float:
    """One sweep over the states, whose values are replaced in place; returns the largest change."""
    residual = 0.0
    for x in range(V.size):
        best, pairs[x] = best_pair(model, x, V, discount, tie)
        residual = max(residual, abs(best - V[x]))
        V[x] = best
    return residual


# Prioritised sweeping ----------------------------------------------------------------------------------------


class Entering(NamedTuple):
    """The transitions into each state.

    Attributes
    ----------
    indptr : array of shape (n_states + 1,), int64
        Those into state x are from indptr[x] to indptr[x + 1].
    pairs : array of shape (n_transitions,), int64
        The pairs that they belong to, in order, so that those of a state are neighbours.
    probabilities : array of shape (n_transitions,), float64
    pair_states : array of shape (n_pairs,), int64
        The state of each pair.
    """

    indptr: np.ndarray
    pairs: np.ndarray
    probabilities: np.ndarray
    pair_states: np.ndarray


class Queue(NamedTuple):
    """A binary heap of all states, the one of the highest priority first.

    Attributes
    ----------
    priorities : array of shape (n_states,), float64
    heap : array of shape (n_states,), int64
        The states; place k is not below places 2k + 1 and 2k + 2.
    places : array of shape (n_states,), int64
        Where each state is.
    """

    priorities: np.ndarray
    heap: np.ndarray
    places: np.ndarray


def entering_transitions(mdp: MDP) -> Entering:
    """The transitions of a model by the state that they enter."""
    P = mdp.probabilities.tocsc()
    arrays = P.indptr.astype(np.int64), P.indices.astype(np.int64), P.data, mdp.pair_states
    return Entering(*(read_only(array) for array in arrays))


def new_queue(priorities: np.ndarray) -> Queue:
    """A queue of all states."""
    heap = np.argsort(-priorities, kind="stable")
    places = np.empty_like(heap)
    places[heap] = np.arange(heap.size)
    return Queue(priorities.copy(), heap, places)


@inner
def swap(queue: Queue, i: int, j: int) -> None:
    """Let two places of the heap change their states."""
    heap, places = queue.heap, queue.places
    x, u = heap[i], heap[j]
    heap[i], heap[j] = u, x
    places[u], places[x] = i, j


@inner
def move_up(queue: Queue, k: int) -> None:
    """Move a state whose priority has risen to where it belongs."""
    priorities, heap = queue.priorities, queue.heap
    while k > 0 and priorities[heap[k]] > priorities[heap[(k - 1) // 2]]:
        swap(queue, k, (k - 1) // 2)
        k = (k - 1) // 2


@inner
def move_down(queue: Queue, k: int) -> None:
    """Move a state whose priority has fallen to where it belongs."""
    priorities, heap = queue.priorities, queue.heap
    while 2 * k + 1 < heap.size:
        child = 2 * k + 1
        if child + 1 < heap.size and priorities[heap[child + 1]] > priorities[heap[child]]:
            child += 1
        if priorities[heap[child]] <= priorities[heap[k]]:
            return
        swap(queue, k, child)
        k = child


@kernel
def prioritised_pass(
    model: Transitions,
    entering: Entering,
    discount: float,
    tie: float,
    limit: float,
    V: np.ndarray,
    pairs: np.ndarray,
    queue: Queue,
) -> float:
    """Replace n_states values, that of the highest priority first, or until none is above the limit.

    A priority is a bound on |max_a Q(x, a) - V(x)|, to which a change of V(u) adds γ max_a P(u | x, a) times its
    size. Returns the highest priority.
    """
    priorities = queue.priorities
    for _ in range(V.size):
        u = queue.heap[0]
        if priorities[u] <= limit:
            break
        best, pairs[u] = best_pair(model, u, V, discount, tie)
        change = abs(best - V[u])
        V[u] = best
        priorities[u] = 0.0
        move_down(queue, 0)
        k = entering.indptr[u]
        while k < entering.indptr[u + 1] and change > 0.0:
            x = entering.pair_states[entering.pairs[k]]
            largest = 0.0
            while k < entering.indptr[u + 1] and entering.pair_states[entering.pairs[k]] == x:
                largest = max(largest, entering.probabilities[k])
                k += 1
            priorities[x] += discount * largest * change
            move_up(queue, queue.places[x])
    return priorities[queue.heap[0]]


# The equation itself ------------------------------------------------------------------------------------------


@method(
    zh="Bellman 残差",
    task="reinforcement learning",
    model="max_x |(TV)(x) - V(x)|, (TV)(x) = max_a Σ_x' P(x' | x, a) (R(x, a, x') + γ V(x'))",
    strategy="values are optimal where it is 0, and no further from the optimal ones than 1/(1 - γ) times it",
    texts=["watermelon notes ch. 14, eq. 14.10, 14.12"],
)
def bellman_residual(mdp: MDP, V: Any, discount: float = 0.99, *, policy: Any = None) -> float:
    """Bellman residual: how far values are from fulfilling the Bellman equation.

    The distance of the values from the exact ones is at most 1/(1 - γ) times the residual.

    Parameters
    ----------
    mdp : MDP
        The model.
    V : array of shape (n_states,)
        Values of the states.
    discount : float, default=0.99
        Discount γ.
    policy : array of shape (n_states,) or (n_states, n_actions), optional
        Take the equation of this policy; by default that of the optimal values.

    Returns
    -------
    float

    Examples
    --------
    >>> from tercet.rl import MDP
    >>> mdp = MDP([[[0.8, 0.2], [0.1, 0.9]], [[0, 1], [0, 1]]], [[1.2, 2.7], [0.0, 0.0]])
    >>> bellman_residual(mdp, [0.0, 0.0], 0.9), bellman_residual(mdp, [0.0, 0.0], 0.9, policy=[0, 0])
    (2.7, 1.2)
    """
    Q = action_values(mdp, V, discount)
    if policy is None:
        found = Q.max(axis=1)
    else:
        chances = action_probabilities(policy, mdp)
        found = (chances * np.where(chances > 0, Q, 0.0)).sum(axis=1)
    return float(np.abs(found - state_values(mdp, V)).max())
