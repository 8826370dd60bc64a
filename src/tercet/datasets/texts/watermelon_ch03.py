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


def fixed_units(X: Any, units: Any) -> dict[str, Any]:
    from tercet.neural_network import neuron

    return {name: neuron(X, w, theta, at_zero=1) for name, (w, theta) in units.items()}


def several_starts(X: Any, y: Any, hidden: int, starts: int) -> dict[str, Any]:
    from tercet.neural_network import MLPRegressor, MultiStart

    network = MLPRegressor(
        hidden_layer_sizes=hidden, activation="logistic", solver="lbfgs", alpha=0, max_iter=500
    )
    model = MultiStart(network, starts, random_state=1).fit(X, y)
    losses = model.results_["loss"]
    return {"E": min(losses), "y": model.predict(X), "local minima": max(losses) > 0.05}


EXAMPLES = [
    Example(
        place="watermelon notes ch. 3, sec. 3.2",
        title="threshold units with given weights compute AND, OR and NOT",
        zh="给定权重的神经元实现“与”“或”“非”",
        given={
            "X": SQUARE,
            "units": {"AND": ([1, 1], 2), "OR": ([1, 1], 0.5), "NOT x1": ([-0.6, 0], -0.5)},
        },
        call=fixed_units,
        expected={"AND": [0.0, 0.0, 0.0, 1.0], "OR": [0.0, 1.0, 1.0, 1.0], "NOT x1": [1.0, 1.0, 0.0, 0.0]},
        note="derived; the step is 1 at 0",
    ),
    Example(
        place="watermelon notes ch. 3, sec. 3.4",
        title="several initial weights lead out of the local minima of XOR",
        zh="多组初始权重跳出“异或”的局部极小",
        given={"X": SQUARE, "y": [0, 1, 1, 0], "hidden": 2, "starts": 10},
        call=several_starts,
        expected={"E": 0.0, "y": [0.0, 1.0, 1.0, 0.0], "local minima": True},
        atol=1e-2,
        note="derived; two hidden units, L-BFGS from ten seeds",
    ),
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
