"""Rows of the bandits: UCB1 on ten arms, and LinUCB that learns row by row. Times are per pull."""

from __future__ import annotations

import numpy as np

from benchmarks.harness import Contender, Data, Result, Row

# --- bandit -------------------------------------------------------------------------------------------------


def make_arms(rng: np.random.Generator, n: int, peer: int, arms: int) -> Data:
    """Probabilities of reward, and how many pulls we and the peers make."""
    return {"means": np.linspace(0.1, 0.9, arms), "n": np.array(n), "peer": np.array(peer)}


def lost(data: Data, result: Result) -> float:
    """How much worse than the best arm the one is that was pulled most."""
    return float(data["means"].max() - data["means"][np.argmax(result["counts"])])


def pulls(data: Data, result: Result) -> float:
    return float(result["counts"].sum())


def ucb1_ours(data: Data) -> Result:
    from tercet.rl import Bandit, BanditAgent

    agent = BanditAgent("ucb1", int(data["n"]), random_state=0).fit(Bandit(data["means"]))
    return {"counts": agent.counts_}


def ucb1_numpy(data: Data) -> Result:
    """The loop that everybody writes."""
    means, rng = data["means"], np.random.default_rng(0)
    Q, counts = np.zeros(len(means)), np.zeros(len(means))
    for t in range(int(data["peer"])):
        k = t if t < len(means) else int(np.argmax(Q + np.sqrt(2 * np.log(t) / counts)))
        counts[k] += 1
        Q[k] += (float(rng.random() < means[k]) - Q[k]) / counts[k]
    return {"counts": counts}


def ucb1_mabwiser(data: Data) -> Result:
    from mabwiser.mab import MAB, LearningPolicy

    means, rng = data["means"], np.random.default_rng(0)
    arms, counts = list(range(len(means))), np.zeros(len(means))
    agent = MAB(arms, LearningPolicy.UCB1(alpha=1.0))
    agent.fit(arms, (rng.random(len(means)) < means).astype(float))
    for _ in range(int(data["peer"])):
        k = agent.predict()
        agent.partial_fit([k], [float(rng.random() < means[k])])
        counts[k] += 1
    return {"counts": counts}


# --- linucb -------------------------------------------------------------------------------------------------


def make_contexts(rng: np.random.Generator, n: int, peer: int, d: int, arms: int) -> Data:
    """Contexts, and the reward that each arm would give."""
    X, theta = rng.standard_normal((n, d)), rng.standard_normal((d, arms)) / np.sqrt(d)
    R = X @ theta + 0.1 * rng.standard_normal((n, arms))
    return {"X": X, "R": R, "theta": theta, "peer": np.array(peer)}


def context_regret(data: Data, result: Result) -> float:
    """Mean expected regret of the first choices, as many as the peer makes."""
    n = int(data["peer"])
    means = data["X"][:n] @ data["theta"]
    return float(np.mean(means.max(axis=1) - means[np.arange(n), result["actions"][:n]]))


def choices(data: Data, result: Result) -> float:
    return float(len(result["actions"]))


def linucb_ours(data: Data) -> Result:
    from tercet.rl import LinUCB

    return {"actions": LinUCB(1.0, random_state=0).play(data["X"], data["R"]).actions_}


def linucb_mabwiser(data: Data) -> Result:
    from mabwiser.mab import MAB, LearningPolicy

    X, R, n = data["X"], data["R"], int(data["peer"])
    arms, actions = list(range(R.shape[1])), np.zeros(n, dtype=np.int64)
    agent = MAB(arms, LearningPolicy.LinUCB(alpha=1.0, l2_lambda=1.0))
    for i in range(n):
        k = agent.predict(X[i : i + 1]) if i else 0  # it must be fitted before it can choose
        actions[i] = k
        learn = agent.partial_fit if i else agent.fit
        learn([k], [R[i, k]], X[i : i + 1])
    return {"actions": actions}


OURS, MABWISER = ("tercet.rl",), ("mabwiser.mab",)
ROWS = [
    Row(
        name="bandit",
        work="UCB1, {n} pulls of {arms} arms (peers: {peer}); time per pull",
        sizes={
            "full": {"n": 10_000_000, "peer": 20_000, "arms": 10},
            "smoke": {"n": 10_000, "peer": 2000, "arms": 4},
        },
        data=make_arms,
        ours=Contender(ucb1_ours, OURS, "tercet", threads=1),
        peers={
            "mabwiser": Contender(ucb1_mabwiser, MABWISER, "mabwiser", threads=1),
            "numpy": Contender(ucb1_numpy, ("numpy",), "numpy", threads=1),
        },
        quality=lost,
        tolerance=0.0,
        figure="mean reward lost by the arm pulled most",
        relative=False,
        amount=pulls,
    ),
    Row(
        name="linucb",
        work="LinUCB, {n} contexts of {d} features (the peer: {peer}), {arms} arms, row by row; time per row",
        sizes={
            "full": {"n": 100_000, "peer": 5000, "d": 20, "arms": 10},
            "smoke": {"n": 1000, "peer": 300, "d": 4, "arms": 3},
        },
        data=make_contexts,
        ours=Contender(linucb_ours, OURS, "tercet", threads=1),
        peers={"mabwiser": Contender(linucb_mabwiser, MABWISER, "mabwiser", threads=1)},
        quality=context_regret,
        tolerance=0.05,
        figure="mean expected regret of the first choices",
        amount=choices,
    ),
]
