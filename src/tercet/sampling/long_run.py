"""The long run of a finite Markov chain: stationary distributions, absorption, hitting times, reversibility.

Everything here takes a matrix A with a_ij = P(next is j | now is i): rows sum to one. All of it rests on one
elimination of states that never subtracts (Grassmann, Taksar and Heyman): each answer is accurate in every entry,
however rarely the chain leaves a state.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy.sparse.csgraph import breadth_first_order

from tercet.core.catalog import method
from tercet.core.kernel import kernel
from tercet.distributions.probability_tables import check_distributions, check_transitions
from tercet.sampling.state_classes import clean_matrix, closed_groups, periods

MAX_STEPS = 100_000  # of the power method


def stationary_distributions(transmat: Any) -> np.ndarray:
    """The stationary distribution of each closed class; every other is a mixture of these.

    Returns
    -------
    array of shape (n_closed_classes, n_states)

    Examples
    --------
    >>> stationary_distributions([[1, 0, 0], [0.25, 0.5, 0.25], [0, 0, 1]])
    array([[1., 0., 0.],
           [0., 0., 1.]])
    """
    A = clean_matrix(transmat)
    groups = closed_groups(A)
    pi = np.zeros((len(groups), len(A)))
    for row, group in zip(pi, groups):
        row[group] = _stationary(A[np.ix_(group, group)])
    return pi


@method(
    zh="平稳分布",
    task="Markov chain",
    model="π A = π, π_i >= 0, Σ π_i = 1",
    algorithms={
        "elimination": "Gaussian elimination without subtractions (Grassmann, Taksar and Heyman)",
        "power": "power method: π ← π A until it no longer changes",
        "eigenvector": "left eigenvector of the eigenvalue 1",
    },
    texts=[
        "Li ch. 19",
        "Li ch. 21, Thm 21.1",
        "Machine Learning in Depth ch. 5, Thm 01",
        "watermelon notes ch. 12, eq. 12.19",
    ],
)
def stationary_distribution(
    transmat: Any,
    start: Any = None,
    algorithm: Literal["elimination", "power", "eigenvector"] = "elimination",
) -> np.ndarray:
    """The share of time that the chain spends in each state in the long run: pi A = pi.

    Parameters
    ----------
    transmat : array of shape (n_states, n_states)
        The transition probabilities.
    start : array of shape (n_states,), optional
        The distribution of the first state. It matters only where the chain has several closed classes; by
        default all states are as likely.
    algorithm : {"elimination", "power", "eigenvector"}, default="elimination"
        The first is exact in every entry and takes any chain. The power method needs a chain that converges, the
        eigenvector one with a single closed class.

    Examples
    --------
    >>> stationary_distribution([[0.9, 0.1], [0.5, 0.5]]).round(4)
    array([0.8333, 0.1667])
    """
    if algorithm not in ("elimination", "power", "eigenvector"):
        raise ValueError(f"algorithm must be 'elimination', 'power' or 'eigenvector'; got {algorithm!r}.")
    A = clean_matrix(transmat)
    if algorithm == "power":
        return _power_method(A, start_distribution(start, len(A)))
    if algorithm == "eigenvector":
        return _eigenvector(A)
    pi = stationary_distributions(A)
    if len(pi) == 1:
        return pi[0]
    return start_distribution(start, len(A)) @ absorption_probabilities(A) @ pi


def absorption_probabilities(transmat: Any) -> np.ndarray:
    """The probability to end in each closed class, from each state.

    Returns
    -------
    array of shape (n_states, n_closed_classes)

    Examples
    --------
    A gambler with one, two or three coins of four:

    >>> A = [[1, 0, 0, 0, 0], [0.5, 0, 0.5, 0, 0], [0, 0.5, 0, 0.5, 0], [0, 0, 0.5, 0, 0.5], [0, 0, 0, 0, 1]]
    >>> absorption_probabilities(A)[1:4, 1]
    array([0.25, 0.5 , 0.75])
    """
    A = clean_matrix(transmat)
    groups = closed_groups(A)
    ends = np.zeros((len(A), len(groups)))
    for k, group in enumerate(groups):
        ends[group, k] = 1.0
    return _eliminate(A, np.concatenate(groups), ends)


def hitting_times(transmat: Any, targets: Any) -> np.ndarray:
    """The expected number of steps until the chain is in one of the target states.

    Returns
    -------
    array of shape (n_states,)
        Zero for a target; infinite where the chain may never get to one.

    Examples
    --------
    >>> hitting_times([[0.75, 0.25], [0, 1]], [1])
    array([4., 0.])
    """
    A = clean_matrix(transmat)
    targets = np.unique(np.atleast_1d(targets))
    if not targets.size or targets.min() < 0 or targets.max() >= len(A):
        raise ValueError(f"targets must be states from 0 to {len(A) - 1}; got {targets.tolist()}.")
    A[targets] = 0.0
    A[targets, targets] = 1.0
    elsewhere = [group for group in closed_groups(A) if not np.isin(group, targets).all()]
    lost = np.zeros(len(A), dtype=bool)
    if elsewhere:
        lost[_reaching(A, np.concatenate(elsewhere))] = True
    times = np.where(lost, np.inf, 0.0)
    sure = np.flatnonzero(~lost)
    inside = A[np.ix_(sure, sure)]
    kept = np.flatnonzero(np.isin(sure, targets))
    times[sure] = _eliminate(inside, kept, np.zeros((sure.size, 1)), 1.0)[:, 0]
    return times


def return_times(transmat: Any) -> np.ndarray:
    """The expected number of steps until the chain is back in a state: 1 / pi_i; infinite for a transient one.

    Examples
    --------
    >>> return_times([[0.5, 0.5], [0.25, 0.75]]).round(6)
    array([3. , 1.5])
    """
    shares = stationary_distributions(transmat).max(axis=0)  # a state is in at most one closed class
    with np.errstate(divide="ignore", over="ignore"):
        return 1.0 / shares


@method(
    zh="细致平衡条件",
    task="Markov chain",
    model="π_i a_ij = π_j a_ji for all i, j; then π is stationary",
    texts=["Li ch. 19", "Machine Learning in Depth ch. 5, Thm 02", "watermelon notes ch. 12, eq. 12.19"],
)
def detailed_balance(transmat: Any, pi: Any = None) -> np.ndarray:
    """How far a chain is from detailed balance: the net flows pi_i a_ij - pi_j a_ji.

    The chain is reversible where all are zero, and `pi` is then stationary. The converse is false: the flows of a
    stationary distribution may go round in circles.

    Parameters
    ----------
    transmat : array of shape (n_states, n_states)
        The transition probabilities, a row for each state.
    pi : array of shape (n_states,), optional
        The distribution; by default the stationary one.

    Returns
    -------
    array of shape (n_states, n_states)

    Examples
    --------
    >>> detailed_balance([[0.5, 0.5], [0.25, 0.75]]).round(12)
    array([[0., 0.],
           [0., 0.]])
    >>> detailed_balance([[0, 1, 0], [0, 0, 1], [1, 0, 0]])[0].round(4)
    array([ 0.    ,  0.3333, -0.3333])
    """
    A = check_transitions(transmat)
    flows = (stationary_distribution(A) if pi is None else start_distribution(pi, len(A), "pi"))[:, None] * A
    return flows - flows.T


def is_reversible(transmat: Any, pi: Any = None, tol: float = 1e-9) -> bool:
    """Whether the chain satisfies detailed balance: it looks the same with time running backwards.

    Without `pi`, whether the stationary distribution of each closed class does. Two flows are equal if they differ
    by no more than `tol` of the larger one.

    Examples
    --------
    >>> is_reversible([[0.5, 0.5], [0.25, 0.75]]), is_reversible([[0, 1, 0], [0, 0, 1], [1, 0, 0]])
    (True, False)
    """
    A = check_transitions(transmat)
    for row in stationary_distributions(A) if pi is None else [pi]:
        row = start_distribution(row, len(A), "pi")
        flows = row[:, None] * A
        # Both flows of a pair are products of two rounded numbers; a small one is not hidden by a large one.
        gap = np.abs(flows - flows.T)
        if (gap > tol * np.maximum(flows, flows.T) + 1e-15 * flows.max()).any():
            return False
    return True


def time_reversal(transmat: Any, pi: Any = None) -> np.ndarray:
    """The transitions of the chain with time running backwards: pi_j a_ji / pi_i.

    Examples
    --------
    >>> time_reversal([[0, 1, 0], [0, 0, 1], [1, 0, 0]]).astype(int)
    array([[0, 0, 1],
           [1, 0, 0],
           [0, 1, 0]])
    """
    A = check_transitions(transmat)
    pi = stationary_distribution(A) if pi is None else start_distribution(pi, len(A), "pi")
    if not np.allclose(pi @ A, pi, rtol=1e-9, atol=1e-12):
        raise ValueError(f"pi must be stationary; after one step {pi.tolist()} is {(pi @ A).tolist()}.")
    if not (pi > 0).all():
        raise ValueError(
            f"Only a chain that can be in every state can be reversed; pi is 0 in state {int(np.argmin(pi))}."
        )
    back = (pi[:, None] * A).T / pi[:, None]
    return back / back.sum(axis=1, keepdims=True)


def expected_stay(transmat: Any) -> np.ndarray:
    """How many steps the chain stays in a state once it is there: 1 / (1 - a_ii); infinite in an absorbing one.

    Examples
    --------
    >>> expected_stay([[0.75, 0.25], [0, 1]])
    array([ 4., inf])
    """
    A = clean_matrix(transmat)
    leaving = A.sum(axis=1, where=~np.eye(len(A), dtype=bool))  # 1 - a_ii would cancel digits
    with np.errstate(divide="ignore"):
        return 1.0 / leaving


def after_steps(transmat: Any, n: int, start: Any = None) -> np.ndarray:
    """The distribution of the state n steps after `start`; without a start, the matrix A^n.

    Examples
    --------
    >>> after_steps([[0.5, 0.5], [0.25, 0.75]], 2, start=[1, 0])
    array([0.375, 0.625])
    """
    A = check_transitions(transmat)
    if n < 0:  # a matrix power would be that of the inverse
        raise ValueError(f"n must be a whole number, at least 0; got {n!r}.")
    power = np.linalg.matrix_power(A, n)
    return power if start is None else start_distribution(start, len(A)) @ power


def entropy_rate(transmat: Any, start: Any = None, base: float | None = None) -> float:
    """The uncertainty of each next state in the long run: -sum of pi_i a_ij log a_ij.

    Parameters
    ----------
    transmat : array of shape (n_states, n_states)
        The transition probabilities.
    start : array of shape (n_states,), optional
        As for `stationary_distribution`.
    base : float, optional
        The base of the logarithm, e by default.

    Examples
    --------
    >>> entropy_rate([[0.5, 0.5], [0.5, 0.5]], base=2)
    1.0
    """
    A = check_transitions(transmat)
    logs = np.log(A, out=np.zeros_like(A), where=A > 0)
    rate = -float(stationary_distribution(A, start) @ (A * logs).sum(axis=1))
    return rate if base is None else rate / float(np.log(base))


def start_distribution(start: Any, n: int, name: str = "start") -> np.ndarray:
    """The distribution of the first state, checked; by default all states are as likely."""
    if start is None:
        return np.full(n, 1.0 / n)
    start = np.asarray(start, dtype=np.float64)
    if start.shape != (n,):
        raise ValueError(f"{name} must have a probability for each of {n} states; got shape {start.shape}.")
    check_distributions(start, name)
    return start


def _power_method(A: np.ndarray, pi: np.ndarray) -> np.ndarray:
    if np.allclose(pi @ A, pi, rtol=0, atol=1e-15):
        return pi
    period = max(int(periods(A)[group[0]]) for group in closed_groups(A))
    if period > 1:
        raise ValueError(
            f"The power method needs a chain that converges; this one has the period {period}. "
            "algorithm='elimination' takes any chain."
        )
    for _ in range(MAX_STEPS):
        following = pi @ A
        following /= following.sum()
        change = np.abs(following - pi).sum()
        pi = following
        if change < 1e-15 * len(A):
            return pi
    raise ValueError(
        f"The power method still moves {change:.3g} of the mass after {MAX_STEPS} steps: the chain converges too "
        "slowly. algorithm='elimination' takes any chain."
    )


def _eigenvector(A: np.ndarray) -> np.ndarray:
    if len(groups := closed_groups(A)) > 1:
        raise ValueError(
            f"The chain has {len(groups)} closed classes, and the eigenvalue 1 as many eigenvectors; "
            "algorithm='eigenvector' needs one."
        )
    values, vectors = np.linalg.eig(A.T)
    pi = np.abs(vectors[:, np.argmin(np.abs(values - 1.0))].real)
    return pi / pi.sum()


def _reaching(A: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """The states from which a target can be reached, the targets among them."""
    n = len(A)
    edges = np.zeros((n + 1, n + 1), dtype=bool)  # backwards, from one source before all targets
    edges[:n, :n] = (A > 0).T
    edges[n, targets] = True
    found = breadth_first_order(edges, n, return_predecessors=False)
    return np.sort(found[found < n])


def _stationary(A: np.ndarray) -> np.ndarray:
    """Of an irreducible chain: take out the last state again and again, each time sharing its way among the others;
    then put them back, each with the mass that flows to it."""
    A, n = np.array(A, order="C"), len(A)
    leaving = eliminate_states(A, 1, np.zeros(n))
    pi = np.zeros(n)
    pi[0] = 1.0
    for k in range(1, n):
        pi[k] = pi[:k] @ A[:k, k] / leaving[k]
        pi[: k + 1] /= pi[: k + 1].sum()  # at once: the masses may lie hundreds of powers of ten apart
    return pi


def _eliminate(A: np.ndarray, kept: np.ndarray, values: np.ndarray, cost: float = 0.0) -> np.ndarray:
    """The expected value where the chain first meets a kept state, with `cost` for every step until then."""
    order = np.concatenate([np.sort(kept), np.setdiff1d(np.arange(len(A)), kept)])
    A, values = np.ascontiguousarray(A[np.ix_(order, order)]), values[order]
    costs = np.full(len(A), cost)
    eliminate_states(A, kept.size, costs)
    for k in range(kept.size, len(A)):
        values[k] = costs[k] + A[k, :k] @ values[:k]
    found = np.empty_like(values)
    found[order] = values
    return found


@kernel
def eliminate_states(A: np.ndarray, kept: int, costs: np.ndarray) -> np.ndarray:
    """Take out the states after the first `kept`, the last one first: each way through it becomes one around it.

    In place: row k of A (n, n) ends as where the chain goes when it leaves k for an earlier state, and costs (n,)
    as what it pays until then. Returns the probabilities (n,) to leave.
    """
    n = A.shape[0]
    leaving = np.ones(n)
    for k in range(n - 1, kept - 1, -1):
        total = 0.0
        for j in range(k):
            total += A[k, j]
        leaving[k] = total
        for j in range(k):
            A[k, j] /= total
        costs[k] /= total
        for i in range(k):
            share = A[i, k]
            if share > 0.0:
                costs[i] += share * costs[k]
                for j in range(k):
                    A[i, j] += share * A[k, j]
    return leaving
