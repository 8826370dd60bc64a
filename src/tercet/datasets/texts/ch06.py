"""Li, chapter 6: logistic regression and maximum entropy (逻辑斯谛回归与最大熵模型)."""

from __future__ import annotations

import math
from typing import Any

from tercet.datasets.texts import Example


def principle(constraints: Any) -> dict[str, Any]:
    from tercet.linear_model import max_entropy

    found = max_entropy("ABCDE", [(set(names), value) for names, value in constraints])
    return {"P": found.probability, "H": found.entropy}


def duality(constraints: Any) -> dict[str, Any]:
    from tercet.linear_model import max_entropy

    found = max_entropy("ABCDE", [(set(names), value) for names, value in constraints])
    # The example's Lagrangian has +w1 (P1 + P2 - 3/10), and P3 = exp(-w0 - 1) = 1/Z.
    w1, w0 = -found.multipliers[0], found.log_partition - 1
    dual = -2 * math.exp(-w1 - w0 - 1) - 3 * math.exp(-w0 - 1) - 0.3 * w1 - w0
    return {"P": found.probability, "w0": w0, "w1": w1, "dual": dual, "-H": -found.entropy}


def logistic(location: float, scale: float, x: Any) -> dict[str, Any]:
    from tercet.distributions import LogisticDistribution

    law = LogisticDistribution(location=location, scale=scale)
    return {"F": law.cdf(x), "f": law.pdf(x)}


EXAMPLES = [
    Example(
        place="Li Def 6.1",
        title="the logistic distribution",
        zh="逻辑斯谛分布",
        given={"location": 1.0, "scale": 2.0, "x": [3.0, 1.0]},
        call=logistic,
        expected={"F": [0.7310585786, 0.5], "f": [0.0983059666, 0.125]},
        note="derived",
    ),
    Example(
        place="Li Ex 6.1",
        title="the principle of maximum entropy: nothing known",
        zh="最大熵原理: 无其他约束",
        given={"constraints": []},
        call=principle,
        derived=("H",),
        expected={"P": [0.2, 0.2, 0.2, 0.2, 0.2], "H": 1.6094379124},
    ),
    Example(
        place="Li Ex 6.1",
        title="the principle of maximum entropy: P(A) + P(B) = 3/10",
        zh="最大熵原理: P(A)+P(B)=3/10",
        given={"constraints": [("AB", 0.3)]},
        call=principle,
        derived=("H",),
        expected={"P": [3 / 20, 3 / 20, 7 / 30, 7 / 30, 7 / 30], "H": 1.5878370583},
    ),
    Example(
        place="Li Ex 6.1",
        title="the principle of maximum entropy: also P(A) + P(C) = 1/2",
        zh="最大熵原理: 再加 P(A)+P(C)=1/2",
        given={"constraints": [("AB", 0.3), ("AC", 0.5)]},
        call=principle,
        expected={
            "P": [0.1858571572, 0.1141428428, 0.3141428428, 0.1929285786, 0.1929285786],
            "H": 1.5591321673,
        },
        note="derived: P(A) solves a(1/5 + a)/2 = (3/10 - a)(1/2 - a), so a = (9 - sqrt(51))/10; "
        "the text states the constraint and leaves the solution out",
    ),
    Example(
        place="Li Ex 6.2",
        title="the same by duality",
        zh="最大熵模型的对偶学习",
        given={"constraints": [("AB", 0.3)]},
        call=duality,
        expected={
            "P": [3 / 20, 3 / 20, 7 / 30, 7 / 30, 7 / 30],
            "w0": 0.4552872326,
            "w1": 0.4418327523,
            "dual": -1.5878370583,
            "-H": -1.5878370583,
        },
        note="the example's w1 has the opposite sign of (6.17) and (6.22)",
    ),
]
