"""A row of inverse reinforcement learning: rewards of maximum entropy from demonstrations.

The peer `imitation` needs gymnasium below 1 and torch, and cannot be installed beside what is tested here;
the NumPy contender makes its passes (`imitation.algorithms.mce_irl`): transitions in a dense array, a product
for each step. The SciPy contender makes them with sparse matrices, as well as they can be written without a
compiler.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.harness import Contender, Data, Result, Row


def make_model(
    rng: np.random.Generator, n: int, actions: int, successors: int, d: int, horizon: int, m: int
) -> Data:
    """A random model, features of its states, and demonstrations of the policy of maximum entropy for a reward."""
    u = np.array([rng.choice(n, successors, replace=False) for _ in range(n * actions)]).reshape(
        n, actions, -1
    )
    p = rng.dirichlet(np.ones(successors), (n, actions))
    features, w = rng.standard_normal((n, d)), rng.standard_normal(d)
    V, choices = np.zeros(n), []
    for _ in range(horizon):
        V, chances = soft_step(features @ w, (p * V[u]).sum(axis=2))
        choices.append(chances)
    states, taken = np.empty((m, horizon + 1), dtype=np.int64), np.empty((m, horizon), dtype=np.int64)
    states[:, 0] = rng.integers(n, size=m)
    for t in range(horizon):
        x = states[:, t]
        a = taken[:, t] = (
            (choices[-1 - t][x].cumsum(axis=1) < rng.random((m, 1))).sum(axis=1).clip(0, actions - 1)
        )
        k = (p[x, a].cumsum(axis=1) < rng.random((m, 1))).sum(axis=1).clip(0, successors - 1)
        states[:, t + 1] = u[x, a, k]
    return {"u": u, "p": p, "features": features, "states": states, "actions": taken}


def soft_step(rewards: np.ndarray, expected: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Values and probabilities of the actions, from the expected values (n_states, n_actions) after them."""
    from scipy.special import logsumexp

    q = rewards[:, None] + expected
    V = logsumexp(q, axis=1)
    return V, np.exp(q - V[:, None])


def expert(data: Data) -> tuple[np.ndarray, np.ndarray]:
    """Mean feature sum of the demonstrations, and shares of their first states."""
    states, n = data["states"], len(data["features"])
    sums = data["features"][states[:, :-1]].sum(axis=1).mean(axis=0)
    return sums, np.bincount(states[:, 0], minlength=n) / len(states)


def dense(data: Data) -> Data:
    """Transitions in an array (n_states, n_actions, n_states)."""
    u, p = data["u"], data["p"]
    T = np.zeros((*u.shape[:2], len(u)))
    np.put_along_axis(T, u, p, axis=2)
    return {**data, "T": T}


def numpy_passes(data: Data, w: np.ndarray) -> tuple[float, np.ndarray]:
    """Value and gradient of the negative log-likelihood, by products of arrays."""
    T, features, horizon = data["T"], data["features"], data["actions"].shape[1]
    sums, start = expert(data)
    V, choices = np.zeros(len(T)), []
    for _ in range(horizon):
        V, chances = soft_step(features @ w, T @ V)
        choices.append(chances)
    now, visits = start, np.zeros(len(T))
    for t in range(horizon):
        visits += now
        taken = now[:, None] * choices[-1 - t]
        now = sum(taken[:, a] @ T[:, a] for a in range(T.shape[1]))
    return float(start @ V - w @ sums), features.T @ visits - sums


def sparse_form(data: Data) -> Data:
    """Transitions as a sparse matrix (n_states n_actions, n_states), and its transpose."""
    from scipy import sparse

    u, p = data["u"], data["p"]
    P = sparse.csr_array(
        (p.ravel(), u.ravel(), np.arange(0, u.size + 1, u.shape[2])), shape=(u.size // u.shape[2], len(u))
    )
    return {**data, "P": P, "back": sparse.csr_array(P.T)}


def scipy_passes(data: Data, w: np.ndarray) -> tuple[float, np.ndarray]:
    P, back, features, horizon = data["P"], data["back"], data["features"], data["actions"].shape[1]
    sums, start = expert(data)
    n, rewards, choices = len(features), features @ w, []
    V = np.zeros(n)
    for _ in range(horizon):
        q = (P @ V).reshape(n, -1)
        largest = q.max(axis=1, keepdims=True)
        e = np.exp(q - largest)
        total = e.sum(axis=1)
        V = rewards + largest[:, 0] + np.log(total)
        choices.append(e / total[:, None])
    now, visits = start, np.zeros(n)
    for t in range(horizon):
        visits += now
        now = back @ (now[:, None] * choices[-1 - t]).ravel()
    return float(start @ V - w @ sums), features.T @ visits - sums


def loop_passes(data: Data, w: np.ndarray) -> tuple[float, np.ndarray]:
    """The same, by Python loops over states, actions and successors."""
    from math import exp, log

    u, p, features = data["u"].tolist(), data["p"].tolist(), data["features"]
    horizon, n, actions = data["actions"].shape[1], len(data["u"]), data["u"].shape[1]
    sums, start = expert(data)
    rewards, values = (features @ w).tolist(), [[0.0] * n]
    for _ in range(horizon):
        V, after = [], values[-1]
        for x in range(n):
            q = [sum(pk * after[uk] for pk, uk in zip(p[x][a], u[x][a])) for a in range(actions)]
            largest = max(q)
            V.append(rewards[x] + largest + log(sum(exp(value - largest) for value in q)))
        values.append(V)
    now, visits = start.tolist(), [0.0] * n
    for t in range(horizon):
        after, V, later = values[horizon - t - 1], values[horizon - t], [0.0] * n
        for x in range(n):
            visits[x] += now[x]
            for a in range(actions):
                q = rewards[x] + sum(pk * after[uk] for pk, uk in zip(p[x][a], u[x][a]))
                share = now[x] * exp(q - V[x])
                for pk, uk in zip(p[x][a], u[x][a]):
                    later[uk] += share * pk
        now = later
    return float(start @ np.array(values[-1]) - w @ sums), features.T @ np.array(visits) - sums


def minimised(passes: Any, data: Data) -> Result:
    from scipy.optimize import minimize

    options = {"gtol": 1e-4, "ftol": 1e-15, "maxiter": 1000}
    w = np.zeros(data["features"].shape[1])
    return {"coef": minimize(lambda w: passes(data, w), w, jac=True, method="L-BFGS-B", options=options).x}


def by_numpy(data: Data) -> Result:
    return minimised(numpy_passes, data)


def by_scipy(data: Data) -> Result:
    return minimised(scipy_passes, data)


def by_loops(data: Data) -> Result:
    return minimised(loop_passes, data)


def as_mdp(data: Data) -> Data:
    """The model and the demonstrations as the library takes them."""
    from scipy import sparse

    from tercet.rl import MDP, Episode

    u, p = data["u"], data["p"]
    n, actions, k = u.shape
    order = np.argsort(u, axis=2)
    flat = (np.take_along_axis(p, order, 2).ravel(), np.take_along_axis(u, order, 2).ravel())
    P = sparse.csr_array((*flat, np.arange(0, u.size + 1, k)), shape=(n * actions, n))
    x, a = np.repeat(np.arange(n), actions), np.tile(np.arange(actions), n)
    mdp = MDP.from_pairs(x, a, P, np.zeros(n * actions), terminal=[])
    rewards = np.zeros(data["actions"].shape[1])
    shown = [Episode(s, taken, rewards, False) for s, taken in zip(data["states"], data["actions"])]
    return {"mdp": mdp, "shown": shown, "features": data["features"]}


def ours(data: Data) -> Result:
    from tercet.rl import MaximumEntropyIRL

    return {
        "coef": MaximumEntropyIRL(l2=0.0, tol=1e-4).fit(data["mdp"], data["shown"], data["features"]).coef_
    }


def mismatch(data: Data, result: Result) -> float:
    """Largest difference between a feature sum of the expert and the expected one."""
    return float(np.abs(numpy_passes(dense(data), result["coef"])[1]).max())


ROWS = [
    Row(
        name="maxent-irl",
        work="maximum-entropy IRL, {d} features, {horizon} steps; {n} states x {actions} actions x {successors}",
        sizes={
            "full": {"n": 1_000, "actions": 4, "successors": 5, "d": 10, "horizon": 50, "m": 200},
            "smoke": {"n": 30, "actions": 2, "successors": 3, "d": 3, "horizon": 8, "m": 20},
        },
        data=make_model,
        ours=Contender(ours, ("tercet.rl",), "tercet", threads=1, prepare=as_mdp),
        peers={
            "NumPy": Contender(
                by_numpy, ("scipy.optimize",), "numpy", prepare=dense, note="passes of imitation"
            ),
            "SciPy": Contender(
                by_scipy, ("scipy.optimize", "scipy.sparse"), "scipy", threads=1, prepare=sparse_form
            ),
            "Python loop": Contender(by_loops, ("scipy.optimize",), "numpy", threads=1, once=True),
        },
        quality=mismatch,
        tolerance=1e-3,
        figure="largest difference of a feature sum",
        relative=False,
    )
]
