"""Rows of planning in a known Markov decision process: optimal values of many states, and policy iteration."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from benchmarks.harness import Contender, Data, Result, Row

VALUES, EXACT = 1e-6, 1e-9  # how far the values may be from the optimal ones, which are some 50 to 100


def make_model(rng: np.random.Generator, n: int, actions: int, successors: int, discount: float) -> Data:
    """Random successors of each pair of a state and an action, with random probabilities and rewards."""
    pairs = n * actions
    P = rng.random((pairs, successors))
    P /= P.sum(axis=1, keepdims=True)
    indptr = np.arange(0, P.size + 1, successors)
    matrix = sparse.csr_matrix(
        (P.ravel(), rng.integers(0, n, P.size).astype(np.int32), indptr), shape=(pairs, n)
    )
    matrix.sum_duplicates()
    return {"P": matrix, "R": rng.random(pairs), "discount": np.array(discount)}


def error(data: Data, result: Result) -> float:
    """Largest |TV - V|, over 1 - γ: no less than the distance from the optimal values."""
    P, discount, V = data["P"], float(data["discount"]), np.asarray(result["V"], dtype=float)
    Q = (data["R"] + discount * (P @ V)).reshape(V.size, -1)
    return float(np.abs(Q.max(axis=1) - V).max() / (1 - discount))


def pairs_of(data: Data) -> tuple[np.ndarray, np.ndarray]:
    """State and action of each pair."""
    pairs, n = data["P"].shape
    return np.repeat(np.arange(n), pairs // n), np.tile(np.arange(pairs // n), n)


# --- tercet -------------------------------------------------------------------------------------------------


def our_model(data: Data) -> Data:
    from tercet.rl import MDP

    return {**data, "mdp": MDP.from_pairs(*pairs_of(data), data["P"], data["R"])}


def ours(data: Data, most: float) -> Result:
    """Modified policy iteration, the fastest of our methods, too."""
    from tercet.rl import PolicyIteration

    discount = float(data["discount"])
    tol = most * (1 - discount) / discount
    model = PolicyIteration(discount, algorithm="modified", tol=tol, n_jobs=2)
    return {"V": model.fit(data["mdp"]).V_}


def values_ours(data: Data) -> Result:
    return ours(data, VALUES)


def policies_ours(data: Data) -> Result:
    return ours(data, EXACT)


# --- QuantEcon ----------------------------------------------------------------------------------------------


def quantecon_model(data: Data) -> Data:
    from quantecon.markov import DiscreteDP

    model = DiscreteDP(data["R"], data["P"], float(data["discount"]), *pairs_of(data))
    return {**data, "model": model}


def values_quantecon(data: Data) -> Result:
    """Modified policy iteration, the fastest of its methods."""
    return {"V": data["model"].solve("mpi", epsilon=VALUES, max_iter=10_000).v}


def sweeps_quantecon(data: Data) -> Result:
    return {"V": data["model"].solve("mpi", epsilon=EXACT, max_iter=10_000).v}


def policies_quantecon(data: Data) -> Result:
    return {"V": data["model"].solve("pi").v}


# --- pymdptoolbox: in policy iteration alone, because a policy is a dense matrix there ----------------------


def toolbox_model(data: Data) -> Data:
    """A sparse matrix for each action, and rewards of states and actions."""
    P, n = data["P"], data["P"].shape[1]
    actions = P.shape[0] // n
    return {**data, "parts": [P[a::actions] for a in range(actions)], "table": data["R"].reshape(n, actions)}


def policies_toolbox(data: Data) -> Result:
    from mdptoolbox.mdp import PolicyIteration

    model = PolicyIteration(data["parts"], data["table"], float(data["discount"]))
    model.run()
    return {"V": np.array(model.V)}


OURS, QUANTECON, TOOLBOX = ("tercet.rl",), ("quantecon.markov",), ("mdptoolbox.mdp",)
MODEL = "{n} states, {actions} actions, {successors} random successors of each, discount {discount}"
ROWS = [
    Row(
        name="value-iteration",
        work=f"optimal values to 1e-6 of a Markov decision process; {MODEL}",
        sizes={
            "full": {"n": 100_000, "actions": 10, "successors": 20, "discount": 0.99},
            "smoke": {"n": 500, "actions": 3, "successors": 4, "discount": 0.9},
        },
        data=make_model,
        ours=Contender(values_ours, OURS, "tercet", prepare=our_model, note="modified policy iteration"),
        peers={
            "QuantEcon": Contender(
                values_quantecon,
                QUANTECON,
                "quantecon",
                threads=1,
                prepare=quantecon_model,
                note="modified policy iteration",
            ),
        },
        quality=error,
        tolerance=VALUES,
        figure="bound on the error of the values",
        relative=False,
    ),
    Row(
        name="policy-iteration",
        work=f"optimal values to 1e-9 by policy iteration; {MODEL}",
        sizes={
            "full": {"n": 5_000, "actions": 10, "successors": 20, "discount": 0.99},
            "smoke": {"n": 400, "actions": 3, "successors": 4, "discount": 0.9},
        },
        data=make_model,
        ours=Contender(policies_ours, OURS, "tercet", prepare=our_model, note="modified"),
        peers={
            "QuantEcon": Contender(
                policies_quantecon, QUANTECON, "quantecon", threads=1, prepare=quantecon_model, once=True
            ),
            "QuantEcon (modified)": Contender(
                sweeps_quantecon, QUANTECON, "quantecon", threads=1, prepare=quantecon_model, note="modified"
            ),
            "pymdptoolbox": Contender(
                policies_toolbox, TOOLBOX, "pymdptoolbox", threads=1, prepare=toolbox_model, once=True
            ),
        },
        quality=error,
        tolerance=EXACT,
        figure="bound on the error of the values",
        relative=False,
    ),
]
