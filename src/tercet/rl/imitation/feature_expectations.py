"""Feature expectations: discounted sums of the features of visited states (特征期望)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import linalg

from tercet.core.catalog import method
from tercet.core.parallel import one_blas_thread
from tercet.rl.imitation.demonstrations import Demonstrations, in_model
from tercet.rl.mdp import MDP, Episode
from tercet.rl.policies import action_probabilities

DENSE = 300  # states up to which equations are solved by a dense LU decomposition


@method(
    zh="特征期望",
    task="reinforcement learning",
    model="x̄^π = E[Σ_t γ^t φ(x_t) | π], so that a reward w·φ(x) has the value w·x̄^π",
    strategy="linear equations of the discounted visits of states, or the mean of simulated episodes",
    texts=["watermelon notes ch. 14, eq. 14.27"],
)
def feature_expectations(
    mdp: MDP,
    policy: Any = None,
    features: Any = None,
    *,
    discount: float = 0.99,
    start: Any = None,
    n_samples: int | None = None,
    max_steps: int = 1000,
    random_state: Any = None,
) -> np.ndarray:
    """Feature expectations of a policy: x̄^π = E[Σ_t γ^t φ(x_t)].

    A terminal state counts once, when it is reached.

    Parameters
    ----------
    mdp : MDP
        The model, whose rewards do not matter.
    policy : array of shape (n_states,) or (n_states, n_actions), optional
        An action for each state, or probabilities of the actions; by default all actions alike.
    features : array or sparse matrix of shape (n_states, n_features), optional
        Features φ(x) of the states; by default an indicator of each state, so that the result is the discounted
        number of visits.
    discount : float, default=0.99
        Discount γ, from 0 to below 1; in simulated episodes it may be 1.
    start : array of shape (n_states,) or state, optional
        Distribution of the first state; by default the model's own.
    n_samples : int, optional
        Number of simulated episodes; by default the expectation is exact.
    max_steps : int, default=1000
        The most steps of a simulated episode.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the simulation.

    Returns
    -------
    array of shape (n_features,)

    Examples
    --------
    >>> mdp = MDP([[[0, 1]], [[1, 0]]], [0.0, 0.0], start=0)  # there and back
    >>> feature_expectations(mdp, [0, 0], discount=0.5).round(4)
    array([1.3333, 0.6667])
    """
    if not 0 <= discount <= 1 or (discount == 1 and n_samples is None):
        raise ValueError(
            f"feature_expectations: discount must be in [0, 1), or 1 with n_samples; got {discount!r}."
        )
    features = check_features(features, mdp.n_states)
    first = mdp.start if start is None else mdp._distribution(start)
    if n_samples is None:
        visits = discounted_visits(mdp, action_probabilities(policy, mdp), discount, first)
    else:
        episodes = mdp.simulate(
            policy, n_samples, max_steps=max_steps, start=first, random_state=random_state
        )
        visits = mean_visits(as_arrays(episodes), mdp, discount)
    return np.asarray(features.T @ visits).ravel()


@method(
    zh="示范的特征期望",
    task="reinforcement learning",
    model="x̄* = 1/m Σ_i Σ_t γ^t φ(x_t^i), over m demonstrations",
    strategy="mean of the discounted sums of features",
    texts=["watermelon notes ch. 14, eq. 14.28"],
)
def demonstrated_features(
    mdp: MDP, demonstrations: Any, features: Any = None, *, discount: float = 0.99
) -> np.ndarray:
    """Mean discounted sum of the features of an expert's states: an estimate of the expert's feature expectations.

    Each state in which the expert acted counts, and a terminal state once, when it is reached.

    Parameters
    ----------
    mdp : MDP
        The model.
    demonstrations : list of episodes, Episode, or data frame
        Episodes are lists of (state, action) pairs or `Episode`; a frame has the columns "state" and "action", and
        "episode" where there are several.
    features : array or sparse matrix of shape (n_states, n_features), optional
        Features φ(x) of the states; by default an indicator of each state.
    discount : float, default=0.99
        Discount γ, from 0 to 1.

    Returns
    -------
    array of shape (n_features,)

    Examples
    --------
    >>> mdp = MDP([[[0.5, 0.5]], [[0.5, 0.5]]], [0.0, 0.0])
    >>> shown = [[(0, 0), (0, 0), (1, 0)]]
    >>> demonstrated_features(mdp, shown, [[1, 0], [0, 1]], discount=0.9)
    array([1.9 , 0.81])
    """
    if not 0 <= discount <= 1:
        raise ValueError(f"demonstrated_features: discount must be in [0, 1]; got {discount!r}.")
    features = check_features(features, mdp.n_states)
    return np.asarray(features.T @ mean_visits(in_model(demonstrations, mdp), mdp, discount)).ravel()


def check_features(features: Any, n_states: int) -> Any:
    """Features of the states, as an array or a CSR matrix of floats of shape (n_states, n_features)."""
    if features is None:
        return sparse.eye_array(n_states, format="csr")
    if sparse.issparse(features):
        found = sparse.csr_array(features, dtype=np.float64)
        values = found.data
    else:
        try:
            found = np.ascontiguousarray(features, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError("features must hold numbers, in rows of equal length.") from None
        values = found
    if found.ndim != 2 or found.shape[0] != n_states or not found.shape[1]:
        raise ValueError(
            f"features must have the shape ({n_states}, n_features), a row for each state; got {found.shape}."
        )
    if not np.isfinite(values).all():
        raise ValueError("features must hold finite numbers.")
    return found


def as_arrays(episodes: list[Episode]) -> Demonstrations:
    """Simulated episodes in arrays."""
    lengths = np.array([len(episode.actions) for episode in episodes], dtype=np.int64)
    states = np.concatenate([episode.states[:-1] for episode in episodes])
    actions = np.concatenate([episode.actions for episode in episodes])
    return Demonstrations(states, actions, lengths, np.array([episode.states[-1] for episode in episodes]))


def discounted_ends(shown: Demonstrations, mdp: MDP, discount: float) -> np.ndarray:
    """Σ γ^t over the visits of each terminal state, shape (n_states,)."""
    ended = (shown.ends >= 0) & mdp.terminal[shown.ends]
    return np.bincount(shown.ends[ended], discount ** shown.lengths[ended].astype(float), mdp.n_states)


def mean_visits(shown: Demonstrations, mdp: MDP, discount: float) -> np.ndarray:
    """Mean discounted number of visits of each state in some episodes, shape (n_states,)."""
    total = np.bincount(shown.states, discount ** shown.times.astype(float), mdp.n_states)
    return (total + discounted_ends(shown, mdp, discount)) / shown.lengths.size


def discounted_visits(mdp: MDP, chances: np.ndarray, discount: float, start: np.ndarray) -> np.ndarray:
    """Expected discounted number of visits of each state, d = start + γ P_πᵀ d, shape (n_states,)."""
    return solve_chain(sparse.csr_array(policy_transitions(mdp, chances).T), discount, start)


def policy_transitions(mdp: MDP, chances: np.ndarray) -> Any:
    """Transition probabilities P_π of a policy (n_states, n_actions), sparse; rows of terminal states are 0."""
    weights = chances[mdp.pair_states, mdp.pair_actions] * ~mdp.terminal[mdp.pair_states]
    used = np.flatnonzero(weights)
    choice = sparse.csr_array(
        (weights[used], (mdp.pair_states[used], used)), shape=(mdp.n_states, mdp.n_pairs)
    )
    return sparse.csr_array(choice @ mdp.probabilities)


def solve_chain(P: Any, discount: float, b: np.ndarray) -> np.ndarray:
    """The solution of v = b + γ P v.

    Few states: dense LU decomposition. Many: BiCGSTAB, and sparse LU decomposition where that does not converge.
    """
    n = b.size
    with one_blas_thread():
        if n <= DENSE:
            return np.linalg.solve(np.eye(n) - discount * P.toarray(), b)
        A = sparse.csr_array(sparse.eye_array(n) - discount * P)
        v, scale = np.zeros(n), float(np.abs(b).max())
        for _ in range(3):  # each run begins with the true residual
            residual = b - A @ v
            if np.abs(residual).max() <= 1e-15 * max(scale, float(np.abs(v).max())):
                return v
            change, failed = linalg.bicgstab(A, residual, rtol=1e-10, atol=0.0, maxiter=500)
            if failed or not np.isfinite(change).all():
                return linalg.splu(A.tocsc()).solve(b)
            v = v + change
        return v
