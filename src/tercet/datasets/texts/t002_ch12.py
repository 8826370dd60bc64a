"""Text 002, chapter 12: probabilistic graphical models (概率图模型)."""

from __future__ import annotations

import itertools
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


EXAMPLES = [
    Example(
        place="002 eq. 12.5",
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
        place="002 eq. 12.5",
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
        place="002 eq. 12.8, 12.9",
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
        place="002 eq. 12.6, 12.7",
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
