"""Machine Learning in Depth, chapter 5, 5.2: Markov chain Monte Carlo (MCMC 采样)."""

from __future__ import annotations

from typing import Any

from tercet.datasets.texts import Example
from tercet.datasets.texts.ch19_4 import gibbs, metropolis


def scaled(p: Any, Q: Any) -> dict[str, Any]:
    from tercet.sampling import acceptance_probabilities

    basic, mh = acceptance_probabilities(p, Q, "basic"), acceptance_probabilities(p, Q)
    return {"basic": [basic[0, 1], basic[1, 0]], "scaled": [mh[0, 1], mh[1, 0]]}


TARGET = {"p": [0.2, 0.3, 0.5], "Q": [[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.3, 0.3, 0.4]]}

EXAMPLES = [
    Example(
        place="Machine Learning in Depth Alg 5",
        title="basic MCMC: acceptance p(y) q(y, x)",
        zh="基本 MCMC 采样：接受率 p(y) q(y, x)",
        given={**TARGET, "acceptance": "basic"},
        call=metropolis,
        expected={
            "K": [[0.952, 0.018, 0.030], [0.012, 0.943, 0.045], [0.012, 0.027, 0.961]],
            "moves": 0.0462,
            "p K": [0.2, 0.3, 0.5],
            "reversible": True,
        },
        note="derived",
    ),
    Example(
        place="Machine Learning in Depth Alg 6",
        title="acceptance 0.1 and 0.2 are scaled to 0.5 and 1",
        zh="接受率 0.1 和 0.2 同比例放大为 0.5 和 1",
        given={"p": [0.5, 0.5], "Q": [[0.6, 0.4], [0.2, 0.8]]},
        call=scaled,
        expected={"basic": [0.1, 0.2], "scaled": [0.5, 1.0]},
        note="the text has the acceptance alone; the chain that gives it is ours",
    ),
    Example(
        place="Machine Learning in Depth Alg 6",
        title="Metropolis-Hastings on the same target moves more",
        zh="同一目标分布上的 Metropolis-Hastings 采样，移动更多",
        given=TARGET,
        call=metropolis,
        expected={
            "K": [[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.08, 0.18, 0.74]],
            "moves": 0.38,
            "p K": [0.2, 0.3, 0.5],
            "reversible": True,
        },
        note="derived",
    ),
    Example(
        place="Machine Learning in Depth Alg 7",
        title="a Gibbs sweep, y first and then x",
        zh="先 y 后 x 的一轮吉布斯采样",
        given={"J": [[0.1, 0.2], [0.3, 0.4]], "order": [1, 0]},
        call=gibbs,
        expected={
            "K": [
                [1 / 12, 2 / 9, 1 / 4, 4 / 9],
                [1 / 12, 2 / 9, 1 / 4, 4 / 9],
                [3 / 28, 4 / 21, 9 / 28, 8 / 21],
                [3 / 28, 4 / 21, 9 / 28, 8 / 21],
            ],
            "stationary": [0.1, 0.2, 0.3, 0.4],
            "systematic scan reversible": False,
            "random scan reversible": True,
        },
        note="derived; a whole sweep is not reversible, each of its parts is",
    ),
]
