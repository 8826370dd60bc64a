"""Rows of the graphical models: queries, structure and missing cells of a network of the size of ALARM."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.harness import Contender, Data, Result, Row

FEW = 10  # evidence sets that the slowest peer is asked; times are per evidence set


def make_network(
    rng: np.random.Generator, nodes: int, edges: int, most: int = 4, reach: int = 6, sharp: float = 0.5
) -> Data:
    """A random network like ALARM: nodes of 2 to 4 states, edges between nodes not far apart, at most 4 parents.

    parents : (nodes, most), -1 where there are fewer; tables : all tables P(x | parents) one after the other.
    """
    sizes = rng.choice([2, 3, 4], size=nodes, p=[0.35, 0.45, 0.2])
    above: list[list[int]] = [[] for _ in range(nodes)]
    drawn = 0
    while drawn < edges:
        child = int(rng.integers(1, nodes))
        parent = int(rng.integers(max(0, child - reach), child))
        if parent not in above[child] and len(above[child]) < most:
            above[child].append(parent)
            drawn += 1
    parents, tables = np.full((nodes, most), -1), []
    for k, own in enumerate(above):
        parents[k, : len(own)] = own
        rows = int(np.prod(sizes[own])) if own else 1
        tables.append(rng.dirichlet(np.full(sizes[k], sharp), size=rows).ravel())
    return {"sizes": sizes, "parents": parents, "tables": np.concatenate(tables)}


def families(data: Data) -> list[tuple[list[int], np.ndarray]]:
    """The parents and the table of each node."""
    sizes, start, found = data["sizes"], 0, []
    for k, row in enumerate(data["parents"]):
        own = [int(p) for p in row if p >= 0]
        shape = [int(sizes[p]) for p in own] + [int(sizes[k])]
        end = start + int(np.prod(shape))
        found.append((own, np.asarray(data["tables"][start:end]).reshape(shape)))
        start = end
    return found


def sampled(rng: np.random.Generator, data: Data, n: int) -> np.ndarray:
    """Rows drawn from the network; a node's parents have lower numbers."""
    X = np.zeros((n, len(data["sizes"])), dtype=np.int64)
    for k, (own, table) in enumerate(families(data)):
        rows = np.broadcast_to(table[tuple(X[:, p] for p in own)], (n, table.shape[-1]))
        X[:, k] = np.minimum(
            (np.cumsum(rows, axis=1) <= rng.random(n)[:, None]).sum(axis=1), table.shape[-1] - 1
        )
    return X


def tercet_network(data: Data, **parameters: Any) -> Any:
    from tercet.graphical import BayesianNetwork

    given = {f"v{k}": ([f"v{p}" for p in own], table) for k, (own, table) in enumerate(families(data))}
    return BayesianNetwork.from_tables(given, **parameters)


def agrum_network(data: Data) -> Any:
    import pyagrum

    net = pyagrum.BayesNet()
    for k, size in enumerate(data["sizes"]):
        net.add(pyagrum.LabelizedVariable(f"v{k}", "", int(size)))
    for k, (own, table) in enumerate(families(data)):
        for p in own:
            net.addArc(f"v{p}", f"v{k}")
        cpt = net.cpt(f"v{k}")
        order = [own.index(int(name[1:])) for name in cpt.names[1:]]  # its own axis comes last in its arrays
        axes = [*reversed(order), len(own)]
        cpt[:] = np.ascontiguousarray(table.transpose(axes))
    return net


def pgmpy_network(data: Data) -> Any:
    from pgmpy.factors.discrete import TabularCPD
    from pgmpy.models import DiscreteBayesianNetwork

    sizes = [int(size) for size in data["sizes"]]
    net = DiscreteBayesianNetwork()
    net.add_nodes_from([f"v{k}" for k in range(len(sizes))])
    for k, (own, table) in enumerate(families(data)):
        net.add_edges_from([(f"v{p}", f"v{k}") for p in own])
        flat = table.reshape(-1, sizes[k]).T
        cards = [sizes[p] for p in own]
        net.add_cpds(TabularCPD(f"v{k}", sizes[k], flat, [f"v{p}" for p in own] or None, cards or None))
    return net


# --- bn-query -----------------------------------------------------------------------------------------------


def make_queries(rng: np.random.Generator, n: int, seen: int, nodes: int, edges: int) -> Data:
    """Evidence sets of `seen` nodes each, from rows of the network; the answers are of plain junction trees."""
    from tercet.graphical import JunctionTree

    data = make_network(rng, nodes, edges)
    X = sampled(rng, data, n).astype(float)
    for row in X:
        row[rng.permutation(nodes)[seen:]] = np.nan
    network, answers = tercet_network(data), []
    model = network.factor_model()
    for row in X[: 10 * FEW]:
        tree = JunctionTree(model, {f"v{k}": int(v) for k, v in enumerate(row) if not np.isnan(v)})
        answers.append(np.concatenate(list(tree.marginals().values())))
    return {**data, "X": X, "answers": np.array(answers)}


def query_ours(data: Data) -> Result:
    return {"marginals": np.concatenate(data["network"].predict_marginals(data["frame"]), axis=1)}


def with_tercet(data: Data) -> Data:
    import pandas

    network = tercet_network(data, n_jobs=2)
    return {**data, "network": network, "frame": pandas.DataFrame(data["X"], columns=network.nodes_)}


def with_agrum_network(data: Data) -> Data:
    return {**data, "network": agrum_network(data)}


def with_pgmpy_network(data: Data) -> Data:
    return {**data, "network": pgmpy_network(data)}


def share_done(data: Data, result: Result) -> float:
    return len(result["marginals"]) / len(data["X"])


def evidence_of(row: np.ndarray) -> dict[str, int]:
    return {f"v{k}": int(v) for k, v in enumerate(row) if not np.isnan(v)}


def query_agrum(data: Data) -> Result:
    import pyagrum

    inference, found = pyagrum.LazyPropagation(data["network"]), []
    names = [f"v{k}" for k in range(len(data["sizes"]))]
    for row in data["X"]:
        inference.setEvidence(evidence_of(row))
        inference.makeInference()
        found.append(np.concatenate([inference.posterior(name).toarray() for name in names]))
    return {"marginals": np.array(found)}


def query_pgmpy(data: Data) -> Result:
    from pgmpy.inference import VariableElimination

    inference, found = VariableElimination(data["network"]), []
    sizes = data["sizes"]
    for row in data["X"][:FEW]:
        evidence = evidence_of(row)
        free = [f"v{k}" for k in range(len(sizes)) if f"v{k}" not in evidence]
        # several at once would make the table of all of them
        tables = {name: inference.query([name], evidence, show_progress=False) for name in free}
        found.append(
            np.concatenate(
                [
                    np.eye(sizes[k])[evidence[f"v{k}"]] if f"v{k}" in evidence else tables[f"v{k}"].values
                    for k in range(len(sizes))
                ]
            )
        )
    return {"marginals": np.array(found)}


def greatest_error(data: Data, result: Result) -> float:
    """The greatest error of a probability, on the rows that plain junction trees answered."""
    n = min(len(result["marginals"]), len(data["answers"]))
    return float(np.abs(np.asarray(result["marginals"])[:n] - data["answers"][:n]).max())


# --- bn-structure -------------------------------------------------------------------------------------------


def make_rows(rng: np.random.Generator, n: int, nodes: int, edges: int, missing: float = 0.0) -> Data:
    data = make_network(rng, nodes, edges)
    X = sampled(rng, data, n).astype(float)
    X[rng.random(X.shape) < missing] = np.nan
    return {**data, "X": X}


def edges_array(edges: Any) -> np.ndarray:
    return np.array([[int(str(a).strip("v")), int(str(b).strip("v"))] for a, b in edges]).reshape(-1, 2)


def structure_ours(data: Data) -> Result:
    from tercet.graphical import BayesianNetwork

    return {"edges": edges_array(BayesianNetwork(n_jobs=2).fit(data["X"]).edges_)}


def as_frame(data: Data) -> Data:
    import pandas

    names = [f"v{k}" for k in range(len(data["sizes"]))]
    return {**data, "frame": pandas.DataFrame(data["X"].astype(int), columns=names)}


def as_categories(data: Data) -> Data:
    """The same for pgmpy, which takes columns of numbers for continuous ones."""
    found = as_frame(data)
    return {**found, "frame": found["frame"].astype("category")}


def structure_agrum(data: Data) -> Result:
    import pyagrum

    learner = pyagrum.BNLearner(data["frame"])
    learner.useGreedyHillClimbing()
    learner.useScoreBIC()
    names = learner.names()
    return {"edges": edges_array([(names[a], names[b]) for a, b in learner.learnDAG().arcs()])}


def structure_pgmpy(data: Data) -> Result:
    from pgmpy.estimators import HillClimbSearch

    found = HillClimbSearch(data["frame"]).estimate(scoring_method="bic-d", show_progress=False)
    return {"edges": edges_array(found.edges())}


def bic(data: Data, result: Result) -> float:
    """BIC of the graph, from the counts."""
    from tercet.graphical import BayesianNetwork

    X = data["X"]
    edges = [(int(a), int(b)) for a, b in result["edges"]]
    return BayesianNetwork(edges).fit(X).network_score(X, "bic")


# --- bn-em --------------------------------------------------------------------------------------------------


def em_ours(data: Data) -> Result:
    from tercet.graphical import BayesianNetwork

    edges = [(p, k) for k, (own, _) in enumerate(families(data)) for p in own]
    network = BayesianNetwork(edges, alpha=0, n_jobs=2, tol=1e-5).fit(data["X"])
    return {"tables": np.concatenate([table.ravel() for table in network.tables_])}


def with_agrum(data: Data) -> Data:
    import pandas

    words = np.where(np.isnan(data["X"]), "?", np.nan_to_num(data["X"]).astype(int).astype(str))
    names = [f"v{k}" for k in range(len(data["sizes"]))]
    return {**data, "network": agrum_network(data), "frame": pandas.DataFrame(words, columns=names)}


def em_agrum(data: Data) -> Result:
    import pyagrum

    net = data["network"]
    learner = pyagrum.BNLearner(data["frame"], net, ["?"])
    learner.useSmoothingPrior(1e-6)  # some configurations never occur, which it refuses otherwise
    learner.useEM(1e-3)
    found = learner.learnParameters(net.dag())
    tables = []
    for k, (own, _) in enumerate(families(data)):
        cpt = found.cpt(f"v{k}")
        place = [int(name[1:]) for name in reversed(cpt.names[1:])]
        array = cpt.toarray()
        tables.append(array.transpose([*(place.index(p) for p in own), len(own)]).ravel())
    return {"tables": np.concatenate(tables)}


def em_loss(data: Data, result: Result) -> float:
    """Mean negative log-likelihood of the known cells."""
    import pandas

    network = tercet_network({**data, "tables": np.maximum(result["tables"], 0.0)})
    rows = pandas.DataFrame(data["X"], columns=network.nodes_)
    return -network.score(rows)


FULL = {"nodes": 37, "edges": 46}
SMOKE = {"nodes": 10, "edges": 12}

ROWS = [
    Row(
        name="bn-query",
        work="marginals of {nodes} nodes of a Bayesian network ({edges} edges), {n} evidence sets of {seen} nodes",
        sizes={"full": {"n": 1_000, "seen": 8, **FULL}, "smoke": {"n": 20, "seen": 3, **SMOKE}},
        data=make_queries,
        ours=Contender(query_ours, ("tercet.graphical",), "tercet", prepare=with_tercet),
        peers={
            "pyAgrum": Contender(
                query_agrum,
                ("pyagrum",),
                "pyagrum",
                prepare=with_agrum_network,
            ),
            "pgmpy": Contender(
                query_pgmpy,
                ("pgmpy.inference",),
                "pgmpy",
                prepare=with_pgmpy_network,
                once=True,
                note=f"{FEW} evidence sets",
            ),
        },
        quality=greatest_error,
        tolerance=1e-8,
        figure="greatest error of a probability",
        relative=False,
        amount=share_done,
    ),
    Row(
        name="bn-structure",
        work="hill climbing with BIC; {n} rows x {nodes} columns",
        sizes={"full": {"n": 20_000, **FULL}, "smoke": {"n": 500, **SMOKE}},
        data=make_rows,
        ours=Contender(structure_ours, ("tercet.graphical",), "tercet"),
        peers={
            "pyAgrum": Contender(structure_agrum, ("pyagrum",), "pyagrum", prepare=as_frame),
            "pgmpy": Contender(
                structure_pgmpy, ("pgmpy.estimators",), "pgmpy", prepare=as_categories, once=True
            ),
        },
        quality=bic,
        tolerance=1e-3,
        figure="BIC",
    ),
    Row(
        name="bn-em",
        work="EM of the tables of a given graph; {n} rows x {nodes} columns, {missing:.0%} of the cells missing",
        sizes={
            "full": {"n": 20_000, "missing": 0.2, **FULL},
            "smoke": {"n": 300, "missing": 0.2, **SMOKE},
        },
        data=make_rows,
        ours=Contender(em_ours, ("tercet.graphical",), "tercet"),
        peers={"pyAgrum": Contender(em_agrum, ("pyagrum",), "pyagrum", prepare=with_agrum, once=True)},
        quality=em_loss,
        tolerance=1e-3,
        figure="mean negative log-likelihood",
    ),
]
