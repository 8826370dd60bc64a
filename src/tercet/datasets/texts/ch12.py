"""Li, chapter 12: summary of supervised learning (监督学习方法总结)."""

from __future__ import annotations

from typing import Any

from tercet.datasets.texts import Example


def surrogates(margin: Any) -> dict[str, Any]:
    from tercet.losses import Exponential, Hinge, Logistic, ZeroOne

    kinds = {
        "0-1": ZeroOne(margin=True),
        "hinge": Hinge(),
        "logistic": Logistic(),
        "logistic, base 2": Logistic(base=2),
        "exponential": Exponential(),
    }
    return {name: loss.value(1, margin) for name, loss in kinds.items()}


def bounds(margin: Any) -> dict[str, Any]:
    losses = surrogates(margin)
    mistake = losses.pop("0-1")
    return {name: bool((value >= mistake).all()) for name, value in losses.items()}


def structural(losses: Any, w: Any, lam: float) -> dict[str, Any]:
    from tercet.penalties import L2, structural_risk

    return {"risk": structural_risk(losses, L2().value(w), lam)}


EXAMPLES = [
    Example(
        place="Li Fig 12.2",
        title="the 0-1 loss and its three surrogates, by margin y f(x)",
        zh="0-1 损失函数、合页损失函数、逻辑斯谛损失函数、指数损失函数的关系",
        given={"margin": [-2, -1, -0.5, 0, 0.5, 1, 2]},
        call=surrogates,
        expected={
            "0-1": [1, 1, 1, 1, 0, 0, 0],
            "hinge": [3, 2, 1.5, 1, 0.5, 0, 0],
            "logistic": [
                2.1269280110,
                1.3132616875,
                0.9740769842,
                0.6931471806,
                0.4740769842,
                0.3132616875,
                0.1269280110,
            ],
            "logistic, base 2": [
                3.0685084939,
                1.8946361240,
                1.4052960345,
                1.0,
                0.6839485141,
                0.4519410831,
                0.1831184121,
            ],
            "exponential": [
                7.3890560989,
                2.7182818285,
                1.6487212707,
                1.0,
                0.6065306597,
                0.3678794412,
                0.1353352832,
            ],
        },
        note="The figure is lost; these are derived from (12.1)-(12.3).",
    ),
    Example(
        place="Li Fig 12.2",
        title="which of them are upper bounds of the 0-1 loss",
        zh="0-1 损失函数的上界",
        given={"margin": [-2, -1, -0.5413, -0.5, 0, 0.5, 2]},
        call=bounds,
        expected={"hinge": True, "logistic": False, "logistic, base 2": True, "exponential": True},
        note="The text says all three; the logistic loss bounds the 0-1 loss only with a logarithm of base 2.",
    ),
    Example(
        place="Li Eq 12.4",
        title="structural risk: the mean loss plus λ‖w‖²",
        zh="结构风险函数",
        given={"losses": [3, 1.5, 0.5, 0], "w": [3, -4], "lam": 0.1},
        call=structural,
        expected={"risk": 3.75},
        note="The chapter has no numbers; these are derived from its formula.",
    ),
]
