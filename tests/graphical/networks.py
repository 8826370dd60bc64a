"""Random networks and tables for the tests of graphical models."""

import itertools

import numpy as np

from tercet.graphical import BayesianNetwork

SPRINKLER = {
    "C": [0.5, 0.5],
    "S": (["C"], [[0.5, 0.5], [0.9, 0.1]]),
    "R": (["C"], [[0.8, 0.2], [0.2, 0.8]]),
    "W": (["S", "R"], [[[1.0, 0.0], [0.1, 0.9]], [[0.1, 0.9], [0.01, 0.99]]]),
}

ASIA = {  # Lauritzen and Spiegelhalter (1988); "either" is a logical or
    "asia": [0.01, 0.99],
    "tub": (["asia"], [[0.05, 0.95], [0.01, 0.99]]),
    "smoke": [0.5, 0.5],
    "lung": (["smoke"], [[0.1, 0.9], [0.01, 0.99]]),
    "bronc": (["smoke"], [[0.6, 0.4], [0.3, 0.7]]),
    "either": (["lung", "tub"], [[[1.0, 0.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]]),
    "xray": (["either"], [[0.98, 0.02], [0.05, 0.95]]),
    "dysp": (["bronc", "either"], [[[0.9, 0.1], [0.8, 0.2]], [[0.7, 0.3], [0.1, 0.9]]]),
}


def asia():
    """The chest clinic network."""
    return BayesianNetwork.from_tables(ASIA, ["yes", "no"])


def xor_chain(n, noise=0.0, flip=0.3):
    """x_i = x_i-1 xor n_i, but for a share `noise` of errors; x_0 is even, n_i is 1 with probability `flip`."""
    table = [[[1 - noise, noise], [noise, 1 - noise]], [[noise, 1 - noise], [1 - noise, noise]]]
    tables = {"x0": [0.5, 0.5]}
    for i in range(1, n):
        tables[f"n{i}"] = [1 - flip, flip]
        tables[f"x{i}"] = ([f"x{i - 1}", f"n{i}"], table)
    return BayesianNetwork.from_tables(tables)


def random_network(seed, d=6, most=3, states=(2, 3), sharp=1.0, **parameters):
    """A network of random graph and tables."""
    rng = np.random.default_rng(seed)
    sizes = rng.choice(states, size=d)
    tables = {}
    for k in range(d):
        parents = sorted(rng.choice(k, size=rng.integers(0, min(k, most) + 1), replace=False).tolist())
        shape = [sizes[p] for p in parents]
        table = rng.dirichlet(np.full(sizes[k], sharp), size=shape or None)
        tables[f"v{k}"] = ([f"v{p}" for p in parents], table)
    return BayesianNetwork.from_tables(tables, **parameters)


def joint_table(network):
    """P of every assignment, an axis for each variable, by the definition (5.9)."""
    sizes = [len(states) for states in network.states_]
    joint = np.empty(sizes)
    for cell in itertools.product(*map(range, sizes)):
        joint[cell] = np.prod(
            [
                table[(*(cell[p] for p in parents), cell[k])]
                for k, (parents, table) in enumerate(zip(network.parents_, network.tables_))
            ]
        )
    return joint


def condition(joint, keep, evidence):
    """P(keep | evidence) from a joint table; keep and evidence by axis."""
    at = tuple(evidence.get(k, slice(None)) for k in range(joint.ndim))
    left = [k for k in range(joint.ndim) if k not in evidence]
    table = joint[at].sum(axis=tuple(left.index(k) for k in left if k not in keep))
    order = [k for k in left if k in keep]
    table = table.transpose([order.index(k) for k in keep])
    return table / table.sum()
