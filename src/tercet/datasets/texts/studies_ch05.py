"""Studies ML, chapter 5: neural networks (神经网络)."""

from __future__ import annotations

from typing import Any

from tercet.datasets.texts import Example


def epochs(X: Any, y: Any, eta: float, on_plane: Any) -> dict[str, Any]:
    import numpy as np

    from tercet.linear_model import Perceptron

    model = Perceptron(eta0=eta, shuffle=False, on_plane=on_plane)
    trace: list[Any] = []
    while len(trace) < 2 or not np.array_equal(trace[-1], trace[-2]):
        model.partial_fit(X, y, classes=[0, 1])
        trace.append(np.append(model.coef_[0], -model.intercept_))
    return {"(w1, w2, theta) after each epoch": trace[:-1], "clean epoch": len(trace), "final": trace[-1]}


AND: dict[str, Any] = {"X": [[0, 0], [0, 1], [1, 0], [1, 1]], "y": [0, 0, 0, 1], "eta": 0.5}

EXAMPLES = [
    Example(
        place="Studies ML ch. 5, sec. 5.2",
        title="the perceptron rule for outputs 0 and 1",
        zh="感知机的学习规则 (5.1), (5.2)",
        given={**AND, "on_plane": "positive"},
        call=epochs,
        expected={
            "(w1, w2, theta) after each epoch": [
                [0.5, 0.5, 0], [1, 0.5, 0.5], [1, 0.5, 1], [1, 1, 1], [1, 0.5, 1.5],
            ],
            "clean epoch": 6,
            "final": [1, 0.5, 1.5],
        },
        note="derived; the print has w in place of x in the update",
    ),
    Example(
        place="Studies ML ch. 5, sec. 5.2",
        title="the same with a step that is 0 at 0",
        zh="阶跃函数在 0 处取 0",
        given={**AND, "on_plane": "negative"},
        call=epochs,
        expected={"final": [1, 0.5, 1.0]},
        note="derived",
    ),
]  # fmt: skip
