"""Metropolis-Hastings on a finite state space as a matrix: acceptance probabilities and the transition kernel."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.input_errors import Broken, shown

Acceptance = Literal["metropolis-hastings", "basic"]


def acceptance_probabilities(p: Any, Q: Any, acceptance: Acceptance = "metropolis-hastings") -> np.ndarray:
    """Acceptance probabilities α(i, j) of all moves of a finite chain.

    Parameters
    ----------
    p : array of shape (n_states,)
        The target, up to a constant.
    Q : array of shape (n_states, n_states)
        The proposal: q(i, j) = P(propose j | at i); rows sum to 1.
    acceptance : {"metropolis-hastings", "basic"}, default="metropolis-hastings"
        min{1, p_j q_ji / (p_i q_ij)}, or p_j q_ji for normalised p.

    Returns
    -------
    array of shape (n_states, n_states)
        1 for a move that is never proposed, and from a state of probability 0.

    Examples
    --------
    >>> acceptance_probabilities([0.2, 0.3, 0.5], [[0.1, 0.6, 0.3], [0.4, 0.2, 0.4], [0.3, 0.3, 0.4]])
    array([[1. , 1. , 1. ],
           [1. , 1. , 1. ],
           [0.4, 0.8, 1. ]])
    """
    p, Q = _checked(p, Q)
    if acceptance not in ("metropolis-hastings", "basic"):
        raise ValueError(f"acceptance must be 'metropolis-hastings' or 'basic'; got {acceptance!r}.")
    if acceptance == "basic":
        if p.sum() > 1 + 1e-9:
            raise ValueError(
                f"acceptance='basic' needs probabilities p that sum to at most 1; they sum to {p.sum():.6g}."
            )
        return p[None, :] * Q.T
    flow = p[:, None] * Q  # p_i q_ij
    ratio = np.divide(flow.T, flow, out=np.ones_like(flow), where=flow > 0)
    np.fill_diagonal(ratio, 1.0)
    return np.minimum(ratio, 1.0)


@method(
    zh="Metropolis-Hastings 转移矩阵",
    task="sampling",
    model="K_ij = q_ij α_ij for i ≠ j; K_ii = 1 - Σ_j K_ij",
    strategy="detailed balance p_i K_ij = p_j K_ji",
    algorithms={
        "metropolis-hastings": "α_ij = min{1, p_j q_ji / (p_i q_ij)}",
        "basic": "α_ij = p_j q_ji",
    },
    texts=["Li ch. 19", "Machine Learning in Depth ch. 5, Alg 5, Alg 6", "watermelon notes ch. 12, 12.4"],
)
def metropolis_hastings_kernel(p: Any, Q: Any, acceptance: Acceptance = "metropolis-hastings") -> np.ndarray:
    """Transition matrix of Metropolis-Hastings on a finite state space.

    Parameters
    ----------
    p : array of shape (n_states,)
        The target, up to a constant (for "basic" as probabilities).
    Q : array of shape (n_states, n_states)
        The proposal: q(i, j) = P(propose j | at i); rows sum to 1.
    acceptance : {"metropolis-hastings", "basic"}, default="metropolis-hastings"
        The acceptance probability.

    Returns
    -------
    array of shape (n_states, n_states)
        K with K_ij = P(next is j | now is i): p K = p.

    Examples
    --------
    >>> metropolis_hastings_kernel([0.2, 0.3, 0.5], [[0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]]).round(4)
    array([[0.    , 0.5   , 0.5   ],
           [0.3333, 0.1667, 0.5   ],
           [0.2   , 0.3   , 0.5   ]])
    """
    alpha = acceptance_probabilities(p, Q, acceptance)
    K = np.asarray(Q, dtype=np.float64) * alpha
    np.fill_diagonal(K, 0.0)
    np.fill_diagonal(K, np.maximum(1.0 - K.sum(axis=1), 0.0))  # rejected moves stay
    return K


def _checked(p: Any, Q: Any) -> tuple[np.ndarray, np.ndarray]:
    try:
        target, proposal = np.asarray(p, dtype=np.float64), np.asarray(Q, dtype=np.float64)
    except Broken:
        raise ValueError(f"p and Q must hold numbers; got p={shown(p)}, Q={shown(Q)}.") from None
    if target.ndim != 1 or not target.size or not (target >= 0).all() or not 0 < target.sum() < np.inf:
        raise ValueError(
            f"p must be a vector of numbers that are not negative and not all 0; got {shown(p)}."
        )
    n = target.size
    if proposal.shape != (n, n):
        raise ValueError(
            f"the proposal must be a matrix of shape ({n}, {n}), a row for each state; got shape {proposal.shape}."
        )
    for i, row in enumerate(proposal):
        if not (row >= 0).all() or not np.isclose(row.sum(), 1.0, rtol=0, atol=1e-6):
            raise ValueError(
                f"the rows of the proposal must be probabilities that sum to 1; row {i} is {row.tolist()}."
            )
    return target, proposal
