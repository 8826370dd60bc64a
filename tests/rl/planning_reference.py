"""What the tests of planning compare with: random models, linear programs, and recursions written out in full."""

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from tercet.rl import MDP


def masked_mdp(seed, ends=0):
    """A random model of up to 30 states, in which actions are masked and `ends` states are terminal."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(ends + 2, 30)), int(rng.integers(1, 5))
    P = rng.random((n, m, n)) * (rng.random((n, m, n)) < 0.3) + 0.01 * np.eye(n)[:, None]
    P[..., 0] += 0.02  # so that an episode ends from everywhere
    P /= P.sum(axis=2, keepdims=True)
    allowed = rng.random((n, m)) < 0.7
    allowed[np.arange(n), rng.integers(0, m, n)] = True
    return MDP(P, rng.normal(size=(n, m, n)), allowed=allowed, terminal=np.arange(n) < ends)


def local_mdp(n, m=3, width=5, ends=(), seed=0):
    """States in a circle, each of which leads to others nearby: values spread slowly."""
    rng = np.random.default_rng(seed)
    x = np.repeat(np.arange(n), m)
    successors = (x[:, None] + rng.integers(-width, width + 1, (n * m, 4))) % n
    P = sparse.csr_array(
        (np.full(4 * n * m, 0.25), successors.ravel(), np.arange(0, 4 * n * m + 1, 4)), (n * m, n)
    )
    return MDP.from_pairs(x, np.tile(np.arange(m), n), P, rng.normal(size=n * m), terminal=list(ends))


def pairs_of(mdp):
    """P (n_pairs, n_states) and the choice of pairs (n_states, n_pairs) as dense arrays."""
    choice = np.zeros((mdp.n_states, mdp.n_pairs))
    choice[mdp.pair_states, np.arange(mdp.n_pairs)] = 1.0
    return mdp.probabilities.toarray(), choice


def optimal_values(mdp, discount):
    """min Σ V subject to V(x) ≥ r(x, a) + γ Σ P V, by a linear program."""
    P, choice = pairs_of(mdp)
    bounds = [(0, 0) if ends else (None, None) for ends in mdp.terminal]
    found = linprog(
        np.ones(mdp.n_states),
        A_ub=discount * P - choice.T,
        b_ub=-mdp.pair_rewards,
        bounds=bounds,
        method="highs",
    )
    assert found.status == 0, found.message
    return found.x


def policy_values(mdp, chances, discount):
    """V = r + γ P V of a policy with probabilities of the actions, by linear equations; 0 in terminal states."""
    P, choice = pairs_of(mdp)
    choice = choice * chances[mdp.pair_states, mdp.pair_actions]
    live = ~mdp.terminal
    A = np.eye(mdp.n_states) - discount * (choice @ P)
    V = np.zeros(mdp.n_states)
    V[live] = np.linalg.solve(A[np.ix_(live, live)], (choice @ mdp.pair_rewards)[live])
    return V


def dense(mdp):
    """P (n_states, n_actions, n_states) and R (n_states, n_actions), with NaN for actions that are not allowed."""
    P = np.full((mdp.n_states, mdp.n_actions, mdp.n_states), np.nan)
    P[mdp.pair_states, mdp.pair_actions] = mdp.probabilities.toarray()
    return P, mdp.table(mdp.pair_rewards, np.nan)
