"""Watermelon notes, chapter 12: probabilistic graphical models (概率图模型)."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np

from tercet.datasets.texts import Example


def field(potentials: Any, pair: Any) -> dict[str, Any]:
    from tercet.graphical import MarkovRandomField

    model = MarkovRandomField({tuple(names): table for names, table in potentials.items()})
    return {
        "Z": model.Z,
        "P": {node: model.marginal([node]) for node in model.nodes},
        "P of the pair": model.marginal(list(pair)),
        "most probable": list(model.mode().values()),
        "its weight": model.weights().max(),
    }


def messages(potentials: Any) -> dict[str, Any]:
    from tercet.graphical import belief_propagation, enumeration, variable_elimination

    factors = {tuple(names): table for names, table in potentials.items()}
    beliefs, best = belief_propagation(factors), belief_propagation(factors, algorithm="max")
    return {
        "to 2": {"".join(pair): table for pair, node, table in beliefs.messages if node == "2"},
        "Z": np.exp(beliefs.log_Z),
        "P": beliefs.marginals,
        "P(1) by enumeration": enumeration(factors, "1").table,
        "P(4) by elimination": variable_elimination(factors, "4", order=["1", "3", "2"]).table,
        "most probable": list(best.mode.values()),
        "its weight": np.exp(best.log_Z),
    }


def chain_as_graph(steps: Any, states: Any) -> dict[str, Any]:
    from tercet.graphical import MarkovRandomField

    pairs = {(i, i + 1): np.exp(steps) for i in range(len(states) - 1)}
    field = MarkovRandomField(pairs | {(i,): np.exp(row) for i, row in enumerate(states)})
    return {
        "Z": np.exp(field.log_Z),
        "P(0, 1, 1)": field.query([0, 1, 2], method="junction_tree")[0, 1, 1],
        "P(y_2 = 1)": field.query(1, method="belief_propagation")[1],
    }


def chain(steps: Any, states: Any) -> dict[str, Any]:
    from tercet.sequence import ParametricCRF

    model = ParametricCRF(
        [lambda before, now, x, i: steps[before][now]],
        [lambda now, x, i: x[i][now]],
        labels=[0, 1],
        weights=[1.0, 1.0],
    )
    form = model.matrix_form(states)
    paths = [model.probability(states, y) for y in itertools.product((0, 1), repeat=len(states))]
    return {
        "Z": form.Z,
        "P(0, 1, 1)": model.probability(states, (0, 1, 1)),
        "P(1, 1, 1)": model.probability(states, (1, 1, 1)),
        "largest P": max(paths),
        "P(y_2 = 1)": form.node_marginals()[1, 1],
    }


def potential(alpha: float, beta: Any) -> dict[str, Any]:
    from tercet.graphical import exponential_potential

    table = exponential_potential(alpha, beta, values=(1, -1))
    names = ["psi(1, 1)", "psi(1, -1)", "psi(-1, 1)", "psi(-1, -1)"]
    return dict(zip(names, np.ravel(table)))


def variational(P: Any) -> dict[str, Any]:
    from sklearn.exceptions import ConvergenceWarning

    from tercet.graphical import mean_field

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # one sweep is all there is
        first = mean_field(P, max_iter=1)
    found = mean_field(P)
    return {
        "q_1 after one sweep": first.q[0],
        "q_2 after one sweep": first.q[1],
        "ELBO after one sweep": first.elbo,
        "q_1": found.q[0],
        "q_2": found.q[1],
        "ELBO": found.elbo,
        "ln Z": found.log_evidence(),
    }


def balance(P: Any) -> dict[str, Any]:
    from tercet.sampling import MarkovChain, detailed_balance

    chain = MarkovChain(P)
    pi = chain.stationary_distribution()
    return {
        "stationary": pi,
        "net flows": detailed_balance(P, pi),
        "reversible": chain.is_reversible(),
    }


EXAMPLES = [
    Example(
        place="watermelon notes eq. 12.19",
        title="detailed balance of a chain of three states",
        zh="三个状态的马尔可夫链的细致平稳条件",
        given={"P": [[0.6, 0.25, 0.15], [0.1, 0.6, 0.3], [0.1, 0.5, 0.4]]},
        call=balance,
        expected={"stationary": [0.2, 0.5, 0.3], "net flows": np.zeros((3, 3)), "reversible": True},
        note="derived; the condition is sufficient for a stationary distribution, not necessary",
    ),
    Example(
        place="watermelon notes eq. 12.23",
        title="mean-field inference of two variables",
        zh="两个变量的平均场变分推断",
        given={"P": [[0.5, 0.1], [0.1, 0.3]]},
        call=variational,
        expected={
            "q_1 after one sweep": [0.56350833, 0.43649167],
            "q_2 after one sweep": [0.60525182, 0.39474818],
            "ELBO after one sweep": -0.2084840132,
            "q_1": [0.67415231, 0.32584769],
            "q_2": [0.67415231, 0.32584769],
            "ELBO": -0.1920806377,
            "ln Z": 0.0,
        },
        atol=6e-9,
        note="derived; the update of q is missing from the text",
    ),
    Example(
        place="watermelon notes eq. 12.5",
        title="a random field on a triangle",
        zh="三角形上的马尔可夫随机场",
        given={
            "potentials": {"AB": [[3, 1], [1, 2]], "BC": [[2, 1], [1, 4]], "AC": [[1, 2], [2, 1]]},
            "pair": "AC",
        },
        call=field,
        expected={
            "Z": 38.0,
            "P of the pair": [[7 / 38, 14 / 38], [8 / 38, 9 / 38]],
        },
        note="derived; P(A) = (21, 17)/38 are the sums of the rows",
    ),
    Example(
        place="watermelon notes eq. 12.5",
        title="a random field on a tree of four nodes",
        zh="四个结点的树上的马尔可夫随机场",
        given={
            "potentials": {"12": [[1, 2], [3, 1]], "23": [[2, 1], [1, 3]], "24": [[1, 1], [2, 5]]},
            "pair": "2",
        },
        call=field,
        expected={
            "Z": 108.0,
            "P": {
                "1": [0.5740740741, 0.4259259259],
                "2": [2 / 9, 7 / 9],
                "3": [37 / 108, 71 / 108],
                "4": [1 / 3, 2 / 3],
            },
            "P of the pair": [2 / 9, 7 / 9],
            "most probable": [0, 1, 1, 1],
            "its weight": 30.0,
        },
        note="derived",
    ),
    Example(
        place="watermelon notes eq. 12.10-12.13",
        title="elimination and messages on a tree of four nodes",
        zh="四个结点的树上的变量消去与信念传播",
        given={"potentials": {"12": [[1, 2], [3, 1]], "23": [[2, 1], [1, 3]], "24": [[1, 1], [2, 5]]}},
        call=messages,
        expected={
            "to 2": {"12": [4.0, 3.0], "23": [3.0, 4.0], "24": [2.0, 7.0]},
            "Z": 108.0,
            "P(1) by enumeration": [0.5740740741, 0.4259259259],
            "P(4) by elimination": [1 / 3, 2 / 3],
            "most probable": [0, 1, 1, 1],
            "its weight": 30.0,
        },
        note="derived",
    ),
    Example(
        place="watermelon notes eq. 12.8, 12.9",
        title="a chain of three labels as a graph",
        zh="作为一般图的三个标记的条件随机场",
        given={"steps": [[0.5, -0.2], [0.0, 0.8]], "states": [[1.0, 0.0], [0.0, 0.3], [0.2, 0.6]]},
        call=chain_as_graph,
        expected={"Z": 50.9200666035, "P(0, 1, 1)": 0.23924741, "P(y_2 = 1)": 0.6226146856},
        rtol=1e-6,
        note="derived",
    ),
    Example(
        place="watermelon notes eq. 12.8, 12.9",
        title="a chain of three labels",
        zh="三个标记的链式条件随机场",
        given={"steps": [[0.5, -0.2], [0.0, 0.8]], "states": [[1.0, 0.0], [0.0, 0.3], [0.2, 0.6]]},
        call=chain,
        expected={
            "Z": 50.9200666035,
            "P(0, 1, 1)": 0.23924741,
            "P(1, 1, 1)": 0.23924741,
            "largest P": 0.23924741,
            "P(y_2 = 1)": 0.6226146856,
        },
        atol=6e-9,
        note="derived; the text counts a step from the earlier label, t(y_{i+1}, y_i, x, i)",
    ),
    Example(
        place="watermelon notes eq. 12.6, 12.7",
        title="a potential of two variables that are -1 or 1",
        zh="两个取值为 ±1 的变量的势函数",
        given={"alpha": 0.5, "beta": [0.2, -0.1]},
        call=potential,
        expected={
            "psi(1, 1)": 0.5488116361,
            "psi(1, -1)": 1.2214027582,
            "psi(-1, 1)": 2.2255409285,
            "psi(-1, -1)": 0.6703200460,
        },
        note="derived",
    ),
]
