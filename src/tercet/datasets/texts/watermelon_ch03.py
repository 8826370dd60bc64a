"""Watermelon notes, chapter 3: neural networks (神经网络)."""

from __future__ import annotations

from typing import Any

from tercet.datasets.texts import Example

SQUARE = [[0, 0], [0, 1], [1, 0], [1, 1]]


def threshold_unit(X: Any, y: Any, eta: float, epochs: int) -> dict[str, Any]:
    import warnings

    from tercet.core.steps import ConvergenceWarning
    from tercet.linear_model import Perceptron

    model = Perceptron(eta0=eta, max_iter=epochs, tol=None, shuffle=False, on_plane="positive")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        model.fit(X, y)
    return {
        "w": model.coef_[0],
        "theta": -model.intercept_[0],
        "epochs": model.n_iter_,
        "converged": not caught,
    }


EXAMPLES = [
    Example(
        place="watermelon notes ch. 3, sec. 3.2",
        title="a threshold unit learns AND",
        zh="感知机学习“与”",
        given={"X": SQUARE, "y": [0, 0, 0, 1], "eta": 0.5, "epochs": 100},
        call=threshold_unit,
        expected={"w": [1.0, 0.5], "theta": 1.5, "epochs": 6, "converged": True},
        note="derived; theta is the weight of a constant input -1, which the text does not spell out",
    ),
    Example(
        place="watermelon notes ch. 3, sec. 3.2",
        title="a threshold unit learns OR",
        zh="感知机学习“或”",
        given={"X": SQUARE, "y": [0, 1, 1, 1], "eta": 0.5, "epochs": 100},
        call=threshold_unit,
        expected={"w": [0.5, 0.5], "theta": 0.5, "epochs": 4, "converged": True},
        note="derived",
    ),
    Example(
        place="watermelon notes ch. 3, sec. 3.2",
        title="a threshold unit cannot learn XOR",
        zh="感知机不能学习“异或”",
        given={"X": SQUARE, "y": [0, 1, 1, 0], "eta": 0.5, "epochs": 100},
        call=threshold_unit,
        expected={"epochs": 100, "converged": False},
        note="derived",
    ),
]
