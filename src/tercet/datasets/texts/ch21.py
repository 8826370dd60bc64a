"""Li, chapter 21: PageRank, and its introduction in chapter 13 (PageRank 算法)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.datasets.texts import Example

FIGURE_21_1 = {"A": ["B", "C", "D"], "B": ["A", "D"], "C": ["A"], "D": ["B", "C"]}
FIGURE_21_3 = {**FIGURE_21_1, "C": []}
FIGURE_21_4 = {**FIGURE_21_1, "C": ["C"]}
FIGURE_21_5 = {"A": ["B", "C"], "B": ["C"], "C": ["A"]}
M_21_4 = [[0, 0, 1], [0.5, 0, 0], [0.5, 1, 0]]
FIGURE_13_7 = {"A": ["B", "C"], "B": ["D"], "C": ["A", "B", "D"], "D": ["C"]}


def first_steps(edges: dict[str, list[str]], damping: float, n: int) -> dict[str, Any]:
    """The first vectors of the iteration, with its limit."""
    from tercet.graph import pagerank_iteration, transition_matrix

    M = transition_matrix(edges)
    found = pagerank_iteration(M, damping, tol=1e-14, max_iter=5000)
    return {"M": M.toarray(), "R": np.array(found.trace[: n + 1]), "limit": found.scores}


def basic(edges: dict[str, list[str]]) -> dict[str, Any]:
    from tercet.graph import DirectedGraph, PageRank

    graph = DirectedGraph(edges)
    found = first_steps(edges, 1.0, 3)
    return {
        **found,
        "strongly connected": graph.is_strongly_connected(),
        "aperiodic": graph.is_aperiodic(),
        "eigenvalues": np.sort(np.linalg.eigvals(found["M"]).real.round(6)),
        "by class": PageRank(damping=1.0, tol=1e-13).fit(graph).scores_,
        "first": PageRank(damping=1.0).fit(graph).ranking(1)[0][0],
    }


def dangling(edges: dict[str, list[str]], damping: float) -> dict[str, Any]:
    from tercet.graph import PageRank

    general = {
        policy: PageRank(damping, dangling=policy, tol=1e-13).fit(edges).scores_
        for policy in ("vanish", "uniform")
    }
    return {**first_steps(edges, 1.0, 3), **general}


def general(edges: dict[str, list[str]], damping: float) -> dict[str, Any]:
    from tercet.graph import pagerank_algebraic, transition_matrix

    found = first_steps(edges, damping, 3)
    return {**found, "algebraic": pagerank_algebraic(transition_matrix(edges), damping)}


def by_power(edges: dict[str, list[str]], damping: float) -> dict[str, Any]:
    from tercet.graph import PageRank, google_matrix, pagerank_power, power_method, transition_matrix

    M = transition_matrix(edges)
    A = google_matrix(M, damping)
    found = pagerank_power(M, damping, tol=1e-13)
    eigen = power_method(A, tol=1e-13)
    values = np.linalg.eigvals(A)
    return {
        "A": A,
        "y1": A @ found.trace[0],
        "x": np.array(found.trace[1:7]),
        "limit": found.trace[-1],
        "R": found.scores,
        "by class": PageRank(damping, "power", tol=1e-13).fit(edges).scores_,
        "by extrapolation": PageRank(damping, tol=1e-13).fit(edges).scores_,
        "eigenvalue": eigen.eigenvalue,
        "second modulus": float(np.sort(np.abs(values))[1]),
    }


def periods(edges: dict[str, list[str]]) -> dict[str, Any]:
    from tercet.graph import DirectedGraph

    graph = DirectedGraph(edges)
    return {
        "period": graph.period(),
        "aperiodic": graph.is_aperiodic(),
        "strongly connected": graph.is_strongly_connected(),
    }


def powers(M: Any, k: int) -> dict[str, Any]:
    power = np.linalg.matrix_power(np.asarray(M), k)
    return {
        "columns": power.sum(axis=0),
        "non-negative": bool((power >= 0).all()),
        "modulus": float(np.abs(np.linalg.eigvals(M)).max()),
    }


def dominant(A: Any) -> dict[str, Any]:
    from tercet.graph import power_method

    found = power_method(np.asarray(A), tol=1e-13)
    return {"eigenvalue": found.eigenvalue, "vector": found.vector}


EXAMPLES = [
    Example(
        place="Li Table 13.5",
        title="PageRank of four pages, step by step",
        zh="图分析的引例：四个网页的 PageRank",
        given={"edges": FIGURE_13_7, "damping": 1.0, "n": 2},
        call=first_steps,
        expected={
            "R": np.array([[6, 6, 6, 6], [2, 5, 9, 8], [3, 4, 9, 8]]) / 24,
            "limit": np.array([2, 3, 6, 5]) / 16,
        },
        note="figure 13.7 is lost; this is the only graph without loops that gives the table",
    ),
    Example(
        place="Li Ex 21.1",
        title="basic PageRank of a strongly connected, aperiodic graph",
        zh="PageRank 的基本定义",
        given={"edges": FIGURE_21_1},
        call=basic,
        expected={
            "M": [[0, 1 / 2, 1, 0], [1 / 3, 0, 0, 1 / 2], [1 / 3, 0, 0, 1 / 2], [1 / 3, 1 / 2, 0, 0]],
            "R": [
                [1 / 4] * 4,
                [9 / 24, 5 / 24, 5 / 24, 5 / 24],
                [15 / 48, 11 / 48, 11 / 48, 11 / 48],
                [11 / 32, 7 / 32, 7 / 32, 7 / 32],
            ],
            "limit": [3 / 9, 2 / 9, 2 / 9, 2 / 9],
            "by class": [3 / 9, 2 / 9, 2 / 9, 2 / 9],
            "first": "A",
            "strongly connected": True,
            "aperiodic": True,
            "eigenvalues": [-0.5, -0.5, 0.0, 1.0],
        },
    ),
    Example(
        place="Li Ex 21.2",
        title="a dangling node: without damping all of R vanishes",
        zh="有悬挂结点的图：基本定义的 PageRank 趋于零",
        given={"edges": FIGURE_21_3, "damping": 0.8},
        call=dangling,
        expected={
            "M": [[0, 1 / 2, 0, 0], [1 / 3, 0, 0, 1 / 2], [1 / 3, 0, 0, 1 / 2], [1 / 3, 1 / 2, 0, 0]],
            "R": [
                [1 / 4] * 4,
                [3 / 24, 5 / 24, 5 / 24, 5 / 24],
                [5 / 48, 7 / 48, 7 / 48, 7 / 48],
                [21 / 288, 31 / 288, 31 / 288, 31 / 288],
            ],
            "limit": [0.0] * 4,
            "vanish": [0.1013513514, 0.1283783784, 0.1283783784, 0.1283783784],
            "uniform": [0.2083333333, 0.2638888889, 0.2638888889, 0.2638888889],
        },
        note="the text says that the general PageRank sums to 1 on every graph; with a dangling node it does not, "
        "unless its column is replaced; d = 0.8: derived",
    ),
    Example(
        place="Li Ex 21.3",
        title="general PageRank by iteration, d = 0.8",
        zh="一般 PageRank 的迭代算法",
        given={"edges": FIGURE_21_4, "damping": 0.8},
        call=general,
        expected={
            "M": [[0, 1 / 2, 0, 0], [1 / 3, 0, 0, 1 / 2], [1 / 3, 0, 1, 1 / 2], [1 / 3, 1 / 2, 0, 0]],
            "R": [
                [1 / 4] * 4,
                [9 / 60, 13 / 60, 25 / 60, 13 / 60],
                [41 / 300, 53 / 300, 153 / 300, 53 / 300],
                [543 / 4500, 707 / 4500, 2543 / 4500, 707 / 4500],
            ],
            "limit": [15 / 148, 19 / 148, 95 / 148, 19 / 148],
            "algebraic": [15 / 148, 19 / 148, 95 / 148, 19 / 148],
        },
    ),
    Example(
        place="Li Ex 21.4",
        title="general PageRank by the power method, d = 0.85",
        zh="一般 PageRank 的幂法",
        given={"edges": FIGURE_21_5, "damping": 0.85},
        call=by_power,
        expected={
            "A": [[0.05, 0.05, 0.9], [0.475, 0.05, 0.05], [0.475, 0.9, 0.05]],
            "y1": [1, 0.575, 1.425],
            "x": [
                [0.7017543860, 0.4035087719, 1],
                [1, 0.4224058770, 0.7814508724],
                [0.8660180217, 0.5984904885, 1],
                [0.9732254255, 0.4912830847, 1],
                [1, 0.5516155017, 0.9806945322],
                [0.9409274935, 0.5405405405, 1],
            ],
            "limit": [0.9758179232, 0.5405405405, 1],
            "R": [0.3877897117, 0.2148106275, 0.3973996608],
            "by class": [0.3877897117, 0.2148106275, 0.3973996608],
            "by extrapolation": [0.3877897117, 0.2148106275, 0.3973996608],
            "eigenvalue": 1.0,
            "second modulus": 0.6010407640,
        },
        note="the printed .8659 (x3) and .4912 (x4) are .8660 and .4913; with four digits the text ends at .3877, "
        ".2149, .3974",
    ),
    Example(
        place="Li Fig 21.2",
        title="a cycle of three nodes is periodic",
        zh="周期性图",
        given={"edges": {"A": ["B"], "B": ["C"], "C": ["A"]}},
        call=periods,
        expected={"period": 3, "aperiodic": False, "strongly connected": True},
    ),
    Example(
        place="Li eq. 21.16-21.21",
        title="power method on a symmetric matrix",
        zh="幂法",
        given={"A": [[2, 1], [1, 3]]},
        call=dominant,
        expected={"eigenvalue": 3.618033988749895, "vector": [0.6180339887, 1.0]},
        note="derived",
    ),
    Example(
        place="Li ch. 21, exercises 21.1, 21.4",
        title="powers of a stochastic matrix are stochastic, and its largest modulus is 1",
        zh="随机矩阵的幂与特征值",
        given={"M": M_21_4, "k": 5},
        call=powers,
        expected={"columns": [1.0, 1.0, 1.0], "non-negative": True, "modulus": 1.0},
    ),
]
