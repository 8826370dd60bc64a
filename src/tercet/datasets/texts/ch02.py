"""Text 000, chapter 2: the perceptron (感知机)."""

from __future__ import annotations

from typing import Any

from tercet.datasets.texts import Example

X = [[3, 3], [4, 3], [1, 1]]
Y = [1, 1, -1]


def primal(X: Any, y: Any) -> dict[str, Any]:
    from tercet.linear_model import Perceptron

    model = Perceptron(shuffle=False).fit(X, y)
    return {"w": model.coef_[0], "b": model.intercept_[0]}


EXAMPLES = [
    Example(
        place="000 Ex 2.1",
        title="the perceptron in its primal form",
        zh="感知机学习算法的原始形式",
        given={"X": X, "y": Y},
        call=primal,
        expected={"w": [1.0, 1.0], "b": -3.0},
    ),
]
