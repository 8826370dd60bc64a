"""Row of Q-learning: steps in a grid world, against the loop that everybody writes. Times are per step."""

from __future__ import annotations

import numpy as np

from benchmarks.harness import Contender, Data, Result, Row

DISCOUNT, RATE, EPSILON = 0.99, 0.5, 0.1


def make_grid(rng: np.random.Generator, n: int, steps: int, peer: int) -> Data:
    """An empty grid, from one corner to the opposite one; every step costs 1. Next states of the four moves."""
    row, column = np.divmod(np.arange(n * n), n)
    moves = [(-1, 0), (0, 1), (1, 0), (0, -1)]
    to = [np.clip(row + i, 0, n - 1) * n + np.clip(column + j, 0, n - 1) for i, j in moves]
    return {"to": np.column_stack(to), "n": np.array(n), "steps": np.array(steps), "peer": np.array(peer)}


def detour(data: Data, result: Result) -> float:
    """Steps that the greedy policy takes from corner to corner beyond the shortest path."""
    x, end, walked, shortest = 0, data["to"].shape[0] - 1, 0, 2 * (int(data["n"]) - 1)
    while x != end and walked < 10 * shortest:
        x, walked = data["to"][x, np.argmax(result["Q"][x])], walked + 1
    return float(walked - shortest)


def steps_done(data: Data, result: Result) -> float:
    return float(result["steps"])


def as_model(data: Data) -> Data:
    """The grid as a model in arrays."""
    from scipy import sparse

    from tercet.rl import MDP

    to = data["to"]
    size, moves = to.shape
    ones, rows = np.ones(size), np.arange(size)
    P = [sparse.csr_array((ones, (rows, to[:, a])), shape=(size, size)) for a in range(moves)]
    return {**data, "mdp": MDP(P, -ones, terminal=[size - 1], start=0)}


def ours(data: Data) -> Result:
    from tercet.rl import QLearning

    steps = int(data["steps"])
    agent = QLearning(
        steps,
        discount=DISCOUNT,
        learning_rate=RATE,
        epsilon=EPSILON,
        max_steps=steps,
        n_steps=steps,
        random_state=0,
    ).fit(data["mdp"])
    return {"Q": agent.Q_, "steps": np.array(agent.n_steps_)}


def by_numpy(data: Data) -> Result:
    """A table in NumPy and a loop in Python."""
    rng, to, steps = np.random.default_rng(0), data["to"], int(data["peer"])
    size, moves = to.shape
    Q, end, x = np.zeros(to.shape), size - 1, 0
    for _ in range(steps):
        a = rng.integers(moves) if rng.random() < EPSILON else np.argmax(Q[x])
        u = to[x, a]
        target = -1.0 if u == end else -1.0 + DISCOUNT * Q[u].max()
        Q[x, a] += RATE * (target - Q[x, a])
        x = 0 if u == end else u
    return {"Q": Q, "steps": np.array(steps)}


ROWS = [
    Row(
        name="q-learning",
        work="Q-learning, {steps} steps in a {n} x {n} grid (the peer: {peer} of them); time per step",
        sizes={
            "full": {"n": 50, "steps": 10_000_000, "peer": 3_000_000},
            "smoke": {"n": 6, "steps": 20_000, "peer": 20_000},
        },
        data=make_grid,
        ours=Contender(ours, ("tercet.rl",), "tercet", threads=1, prepare=as_model),
        peers={
            "numpy": Contender(
                by_numpy,
                ("numpy",),
                "numpy",
                threads=1,
                once=True,
                note="a sample of the steps; time per step",
            )
        },
        quality=detour,
        tolerance=0.0,
        figure="steps of the greedy policy beyond the shortest path",
        relative=False,
        amount=steps_done,
    ),
]
