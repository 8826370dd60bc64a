"""Watermelon notes, chapter 5, section 5: Bayesian networks (贝叶斯网)."""

from __future__ import annotations

from itertools import chain, combinations, product
from typing import Any

import numpy as np

from tercet.datasets.texts import Example

ROWS = [[0, 0, 0]] * 3 + [[0, 1, 0]] + [[1, 1, 1]] * 3 + [[1, 0, 1], [1, 1, 0], [0, 0, 1]]
SPRINKLER = {
    "C": [0.5, 0.5],
    "S": (["C"], [[0.5, 0.5], [0.9, 0.1]]),
    "R": (["C"], [[0.8, 0.2], [0.2, 0.8]]),
    "W": (["S", "R"], [[[1.0, 0.0], [0.1, 0.9]], [[0.1, 0.9], [0.01, 0.99]]]),
}


def scores(rows: Any, edges: Any) -> dict[str, Any]:
    from tercet.graphical import BayesianNetwork

    network = BayesianNetwork(edges, alpha=0).fit(rows)
    return {
        "parameters": network.n_parameters_,
        "LL": -network.network_score(rows, "nll"),
        "AIC": network.network_score(rows, "aic"),
        "BIC": network.network_score(rows, "bic"),
    }


def searches(rows: Any) -> dict[str, Any]:
    from tercet.graphical import BayesianNetwork, topological_order

    pairs = list(combinations(range(3), 2))
    found = {}
    for ways in product((None, 0, 1), repeat=len(pairs)):  # all graphs of three nodes
        edges = [pair if way else pair[::-1] for pair, way in zip(pairs, ways) if way is not None]
        parents = {k: [p for p, c in edges if c == k] for k in range(3)}
        try:
            topological_order(parents)
        except ValueError:  # a cycle
            continue
        found[tuple(edges)] = BayesianNetwork(parents).fit(rows).network_score(rows)
    best = min(found.values())
    learned = {
        name: BayesianNetwork(algorithm=name).fit(rows).network_score(rows)
        for name in ("hill-climbing", "tabu", "k2", "chow-liu", "exact")
    }
    return {
        "acyclic graphs": len(found),
        "best BIC": best,
        "graphs that have it": sum(np.isclose(value, best) for value in found.values()),
        "learned": learned,
    }


def tables(rows: Any) -> dict[str, Any]:
    from tercet.graphical import BayesianNetwork

    plain = BayesianNetwork([(0, 1), (0, 2)], alpha=0).fit(rows)
    smooth = BayesianNetwork([(0, 1), (0, 2)], alpha=1).fit(rows)
    return {"P(B | A)": plain.tables_[1], "smoothed": smooth.tables_[1]}


def sprinkler(network: Any) -> dict[str, Any]:
    from tercet.graphical import BayesianNetwork, gibbs_conditional

    model = BayesianNetwork.from_tables(network)
    methods: tuple[Any, ...] = ("enumeration", "variable_elimination", "junction_tree")
    asked: list[tuple[str, dict[Any, Any]]] = [
        ("W", {}),
        ("R", {"W": 1}),
        ("S", {"W": 1}),
        ("S", {"W": 1, "R": 1}),
    ]
    found: dict[str, Any] = {
        name: [model.query(node, given, method=name)[1] for node, given in asked] for name in methods
    }
    found["Gibbs, P(C = 1 | S = 1, R = 0)"] = gibbs_conditional(model, "C", {"S": 1, "R": 0})[1]
    found["blanket of S"] = sorted(model.markov_blanket("S"))
    found["S and R independent given C"] = model.d_separated({"S"}, {"R"}, {"C"})
    found["given C and W"] = model.d_separated({"S"}, {"R"}, {"C", "W"})
    found["joined in the moral graph"] = sorted(
        {"".join(sorted((u, v))) for u, others in model.moral_graph().items() for v in others}
    )
    found["joint"] = model.probability({"C": 1, "S": 0, "R": 1, "W": 1})
    return found


ANSWERS = [0.6471, 0.7079276773, 0.4297635605, 0.1944990177]

EXAMPLES = [
    *(
        Example(
            place="watermelon notes ch. 5, eq. 5.10-5.12",
            title=f"scores of a network of three variables: {title}",
            zh=f"三个变量的贝叶斯网的评分：{zh}",
            given={"rows": ROWS, "edges": edges},
            call=scores,
            expected={"parameters": n, "LL": likelihood, "BIC": bic},
            note="derived",
        )
        for title, zh, edges, n, likelihood, bic in (
            ("no edges", "没有边", [], 3, -20.7944154168, 24.2482930563),
            ("A to B and C", "A 指向 B 和 C", [(0, 1), (0, 2)], 5, -16.9395202764, 22.6959830088),
            ("a chain", "链", [(0, 1), (1, 2)], 5, -18.6656127111, 24.4220754436),
            ("all edges", "全部边", [(0, 1), (0, 2), (1, 2)], 7, -16.4341771979, 24.4932250234),
        )
    ),
    Example(
        place="watermelon notes ch. 5, 5.5",
        title="structure search among the 25 networks of three variables",
        zh="三个变量的 25 个贝叶斯网中的结构搜索",
        given={"rows": ROWS},
        call=searches,
        expected={
            "acyclic graphs": 25,
            "best BIC": 22.6959830088,
            "graphs that have it": 3,
            "learned": dict.fromkeys(
                chain(("hill-climbing", "tabu", "k2"), ("chow-liu", "exact")), 22.6959830088
            ),
        },
        note="derived",
    ),
    Example(
        place="watermelon notes ch. 5, eq. 5.13",
        title="parameters of a network: frequencies, and with Laplace's correction",
        zh="贝叶斯网的参数：频率与拉普拉斯修正",
        given={"rows": ROWS},
        call=tables,
        expected={"P(B | A)": [[0.8, 0.2], [0.2, 0.8]], "smoothed": [[5 / 7, 2 / 7], [2 / 7, 5 / 7]]},
        note="derived",
    ),
    Example(
        place="watermelon notes ch. 5, 5.5",
        title="inference in the sprinkler network",
        zh="洒水器贝叶斯网中的推断",
        given={"network": SPRINKLER},
        call=sprinkler,
        expected={
            "enumeration": ANSWERS,
            "variable_elimination": ANSWERS,
            "junction_tree": ANSWERS,
            "Gibbs, P(C = 1 | S = 1, R = 0)": 1 / 21,
            "blanket of S": ["C", "R", "W"],
            "S and R independent given C": True,
            "given C and W": False,
            "joined in the moral graph": ["CR", "CS", "RS", "RW", "SW"],
            "joint": 0.5 * 0.9 * 0.8 * 0.9,
        },
        note="derived",
    ),
]
