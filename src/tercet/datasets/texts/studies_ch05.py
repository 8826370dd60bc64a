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


def standard_bp(x: Any, y: Any, v: Any, gamma: Any, w: Any, theta: Any, eta: float) -> dict[str, Any]:
    import numpy as np

    from tercet.neural_network import MLPRegressor, back_propagate, parameter_count, regularised_error

    start = [np.array(v), np.array(w)], [-np.array(gamma), -np.array(theta)]
    found = back_propagate(x, y, *start)
    net = MLPRegressor(
        hidden_layer_sizes=len(gamma), activation="logistic", output="logistic", solver="bp", alpha=0.0,
        learning_rate_init=eta, momentum=0.0, init=start,
    )  # fmt: skip
    net.partial_fit([x], [y])
    penalised = MLPRegressor(**{**net.get_params(), "error_weight": 0.9, "solver": "accumulated-bp"})
    return {
        "b": found.layers[1], "yhat": found.layers[2], "E": found.error,
        "g": -found.deltas[1], "e": -found.deltas[0],
        "dw": net.coefs_[1] - start[0][1], "dtheta": net.thresholds_[1] - np.array(theta),
        "dv": net.coefs_[0] - start[0][0], "dgamma": net.thresholds_[0] - np.array(gamma),
        "5.17 with lambda = 0.9": regularised_error(found.error, *start, 0.9),
        "the objective of the class": penalised.partial_fit([x], [y]).loss_,
        "parameters": parameter_count([2, 2, 2]),
    }  # fmt: skip


def matrix_form(x: Any, W1: Any, W2: Any, label: int) -> dict[str, Any]:
    import numpy as np

    from tercet.neural_network import back_propagate

    t = np.eye(len(W2))[label]
    found = back_propagate(
        x, t, [np.transpose(W1), np.transpose(W2)], activation="relu", output="softmax", loss="log_loss"
    )
    return {
        "p": found.layers[-1],
        "C": found.error,
        "dW1": found.coef_grads[0].T,
        "dx": found.input_grad,
    }


def cross_entropy(p: Any, t: Any) -> dict[str, Any]:
    import numpy as np

    from tercet.neural_network import back_propagate

    found = back_propagate([1.0], t, [[np.log(p)]], output="softmax", loss="log_loss")
    return {"cross-entropy": found.error, "delta": found.deltas[0]}


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
    Example(
        place="Studies ML ch. 5, eq. 5.3-5.15",
        title="one step of standard back-propagation, and the regularised objective",
        zh="标准BP算法的一步与正则化目标 (5.17)",
        given={
            "x": [1.0, 0.0], "y": [1.0, 0.0], "v": [[0.1, 0.4], [0.2, 0.3]], "gamma": [0.5, 0.1],
            "w": [[0.3, 0.2], [0.6, 0.5]], "theta": [0.2, 0.4], "eta": 0.1,
        },
        call=standard_bp,
        expected={
            "b": [0.40131234, 0.57444252], "yhat": [0.56587955, 0.49187165], "E": 0.21519914,
            "g": [0.10664598, -0.12293541], "e": [0.00177954, 0.00061601],
            "dw": [[0.00427983, -0.00493355], [0.00612620, -0.00706193]],
            "dtheta": [-0.01066460, 0.01229354], "dv": [[0.00017795, 0.00006160], [0, 0]],
            "dgamma": [-0.00017795, -0.00006160], "5.17 with lambda = 0.9": 0.34367923,
            "the objective of the class": 0.34367923, "parameters": 12,
        },
        atol=6e-9,
        note="derived; the print counts (d + l + l)q + l parameters",
    ),
    Example(
        place="Studies ML ch. 5, sec. 5.3",
        title="back-propagation in matrix form: relu, softmax and cross-entropy",
        zh="矩阵形式的反向传播",
        given={
            "x": [1.0, 2.0], "W1": [[0.3, -0.1], [0.4, 0.3], [-0.5, 0.1]],
            "W2": [[0.3, -0.2, 0.1], [0.1, 0.5, -0.4], [-0.6, 0.2, 0.2]], "label": 1,
        },
        call=matrix_form,
        expected={
            "p": [0.23055803, 0.45509336, 0.31434861], "C": 0.78725269,
            "dW1": [[-0.17393242, -0.34786484], [-0.25569520, -0.51139041], [0, 0]],
            "dx": [-0.15445781, -0.05931532],
        },
        atol=6e-9,
        note="derived",
    ),
    Example(
        place="Studies ML ch. 5, sec. 5.3",
        title="cross-entropy of printed probabilities",
        zh="交叉熵与输出层误差",
        given={"p": [0.1, 0.7, 0.2], "t": [0, 1, 0]},
        call=cross_entropy,
        expected={"cross-entropy": 0.35667494, "delta": [0.1, -0.3, 0.2]},
        atol=6e-9,
    ),
]  # fmt: skip
