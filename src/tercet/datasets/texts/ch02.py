"""Li, chapter 2: the perceptron (感知机)."""

from __future__ import annotations

from typing import Any

from tercet.datasets.texts import Example

X = [[3, 3], [4, 3], [1, 1]]
Y = [1, 1, -1]


def primal(X: Any, y: Any, order: Any = "first") -> dict[str, Any]:
    from tercet.linear_model import Perceptron

    model = Perceptron(order=order, tol=None, record=True).fit(X, y)
    updates = model.updates_[0]
    return {
        "points": updates["point"] + 1,
        "w of each update": updates["coef"],
        "b of each update": updates["intercept"],
        "w": model.coef_[0],
        "b": model.intercept_[0],
    }


def dual(X: Any, y: Any) -> dict[str, Any]:
    from tercet.linear_model import Perceptron

    model = Perceptron(form="dual", shuffle=False, tol=None, record=True).fit(X, y)
    updates = model.updates_[0]
    return {
        "gram": model.gram_,
        "alpha of each update": updates["alpha"],
        "b of each update": updates["intercept"],
        "alpha": model.alpha_[0],
        "w": model.coef_[0],
        "b": model.intercept_[0],
    }


def novikoff(X: Any, y: Any) -> dict[str, Any]:
    from tercet.linear_model import novikoff_bound

    best, found = novikoff_bound(X, y), novikoff_bound(X, y, [1, 1], -3)
    return {
        "R^2": best.radius**2,
        "gamma": best.margin,
        "bound": best.bound,
        "gamma of x1 + x2 - 3 = 0": found.margin,
        "bound of x1 + x2 - 3 = 0": found.bound,
    }


EXAMPLES = [
    Example(
        place="Li Ex 2.1",
        title="the perceptron in its primal form",
        zh="感知机学习算法的原始形式",
        given={"X": X, "y": Y},
        call=primal,
        expected={
            "points": [1, 3, 3, 3, 1, 3, 3],
            "w of each update": [[3, 3], [2, 2], [1, 1], [0, 0], [3, 3], [2, 2], [1, 1.0]],
            "b of each update": [1, 0, -1, -2, -1, -2, -3.0],
            "w": [1.0, 1.0],
            "b": -3.0,
        },
        note="the last row of Table 2.1, with no misclassified point, is no update",
    ),
    Example(
        place="Li Ex 2.1",
        title="another order of the points, another hyperplane",
        zh="误分类点的另一种选取顺序",
        given={"X": X, "y": Y, "order": [0, 2, 2, 2, 1, 2, 2, 2, 0, 2, 2]},
        call=primal,
        expected={
            "points": [1, 3, 3, 3, 2, 3, 3, 3, 1, 3, 3],
            "w of each update": [
                [3, 3], [2, 2], [1, 1], [0, 0], [4, 3], [3, 2], [2, 1], [1, 0], [4, 3], [3, 2], [2, 1.0],
            ],
            "b of each update": [1, 0, -1, -2, -1, -2, -3, -4, -3, -4, -5.0],
            "w": [2.0, 1.0],
            "b": -5.0,
        },
    ),
    Example(
        place="Li Ex 2.2",
        title="the perceptron in its dual form",
        zh="感知机学习算法的对偶形式",
        given={"X": X, "y": Y},
        call=dual,
        expected={
            "gram": [[18, 21, 6], [21, 25, 7], [6, 7, 2.0]],
            "alpha of each update": [
                [1, 0, 0], [1, 0, 1], [1, 0, 2], [1, 0, 3], [2, 0, 3], [2, 0, 4], [2, 0, 5.0],
            ],
            "b of each update": [1, 0, -1, -2, -1, -2, -3.0],
            "alpha": [2.0, 0.0, 5.0],
            "w": [1.0, 1.0],
            "b": -3.0,
        },
    ),
    Example(
        place="Li Thm 2.1",
        title="Novikoff's bound on the data of example 2.1",
        zh="Novikoff 定理",
        given={"X": X, "y": Y},
        call=novikoff,
        expected={
            "R^2": 26.0,
            "gamma": 0.4714045208,
            "bound": 117.0,
            "gamma of x1 + x2 - 3 = 0": 0.3015113446,
            "bound of x1 + x2 - 3 = 0": 286.0,
        },
        note="derived; the best separator is proportional to (0.5, 0.5, -2)",
    ),
]  # fmt: skip
