"""Pattern Recognition, chapter 5.4: multilayer perceptrons (多层感知器神经网络)."""

from __future__ import annotations

from typing import Any

from tercet.datasets.texts import Example


def two_steps(x: Any, d: float, W1: Any, W2: Any, eta: float, momentum: float) -> dict[str, Any]:
    """The last input and the last hidden unit are constants of 1: the biases are the last rows of W1 and W2."""
    import numpy as np

    from tercet.neural_network import MLPRegressor, back_propagate

    first, second = np.array(W1), np.array(W2)[:, None]
    start = [first[:-1], second[:-1]], [first[-1], second[-1]]
    found = back_propagate(x, [d], *start)
    net = MLPRegressor(
        hidden_layer_sizes=2, activation="logistic", output="logistic", solver="bp", alpha=0.0,
        learning_rate_init=eta, momentum=momentum, init=start,
    )  # fmt: skip

    def weights() -> tuple[Any, Any]:
        return np.vstack([net.coefs_[0], net.intercepts_[0]]), np.append(net.coefs_[1], net.intercepts_[1])

    net.partial_fit([x], [d])
    one = weights()
    error = back_propagate(x, [d], net.coefs_, net.intercepts_).error
    net.partial_fit([x], [d])
    two = weights()
    return {
        "h": found.layers[1], "y": found.layers[2][0], "E": found.error,
        "delta2": found.deltas[1][0], "delta1": found.deltas[0],
        "W2 new": one[1], "W1 new": one[0], "E new": error,
        "W2 after a second step with momentum": two[1], "W1 after a second step with momentum": two[0],
    }  # fmt: skip


def activations(z: float) -> dict[str, Any]:
    from tercet.neural_network import activate, activation_slope

    a = activate(z, "logistic")
    return {
        "tanh": activate(z, "tanh"),
        "logistic": a,
        "derivative of the logistic function": activation_slope(a, "logistic"),
    }


def codes(n_classes: int) -> dict[str, Any]:
    import numpy as np

    from tercet.multiclass import OneVsRestClassifier
    from tercet.neural_network import MLPClassifier

    rng = np.random.default_rng(0)
    centres = rng.normal(size=(n_classes, 3)) * 4
    y = np.repeat(np.arange(n_classes), 12)
    X = centres[y] + rng.normal(size=(y.size, 3)) * 0.3
    found: dict[str, Any] = {}
    net = MLPClassifier(12, "tanh", solver="lbfgs", output="binary", random_state=0).fit(X, y)
    found["nodes of a binary code"], found["accuracy, binary"] = net.n_outputs_, net.score(X, y)
    net = MLPClassifier(12, "tanh", solver="lbfgs", output="one-of-c", random_state=0).fit(X, y)
    found["nodes of 1-of-C"], found["accuracy, one-of-c"] = net.n_outputs_, net.score(X, y)
    net = MLPClassifier(12, "tanh", solver="lbfgs", output="softmax", random_state=0).fit(X, y)
    found["outputs sum to one"] = bool(np.allclose(net.predict_proba(X).sum(axis=1), 1.0))
    several = OneVsRestClassifier(MLPClassifier(4, "tanh", solver="lbfgs", random_state=0)).fit(X, y)
    found["several two-class nets"] = len(several.estimators_)
    return found


def rejection(low: float, high: float, outputs: list[float]) -> dict[str, Any]:
    import numpy as np

    from tercet.neural_network import MLPClassifier

    logits = np.log(np.array(outputs) / (1 - np.array(outputs)))
    net = MLPClassifier((), solver="bp", init=([[[1.0]]], [[0.0]]), alpha=0.0, reject=(low, high))
    net.set_params(learning_rate_init=1e-12).partial_fit([[0.0], [0.0]], [0, 1], classes=[0, 1])
    return {"decisions": net.predict(logits[:, None])}


EXAMPLES = [
    Example(
        place="Pattern Recognition ch. 5, eq. 5-24 to 5-29",
        title="two steps of back-propagation with momentum",
        zh="反向传播算法与惯性项",
        given={
            "x": [1.0, 0.5], "d": 1.0, "W1": [[0.1, -0.2], [0.3, 0.2], [-0.1, 0.1]], "W2": [0.2, -0.3, 0.1],
            "eta": 0.5, "momentum": 0.9,
        },
        call=two_steps,
        expected={
            "h": [0.53742985, 0.5], "y": 0.51436754, "E": 0.11791944, "delta2": -0.12130787,
            "delta1": [-0.00603140, 0.00909809], "W2 new": [0.23259723, -0.26967303, 0.16065393],
            "W1 new": [[0.10301570, -0.20454905], [0.30150785, 0.19772548], [-0.09698430, 0.09545095]],
            "E new": 0.10676671,
            "W2 after a second step with momentum": [0.29289628, -0.21381064, 0.27267263],
            "W1 after a second step with momentum": [
                [0.10904892, -0.21251493], [0.30452446, 0.19374254], [-0.09095108, 0.08748507],
            ],
        },
        atol=6e-9,
        note="derived; the print of 5-29 has +eta delta x, which contradicts 5-25",
    ),
    Example(
        place="Pattern Recognition ch. 5, eq. 5-17, 5-18, 5-28",
        title="the sigmoid functions and a derivative",
        zh="Sigmoid 函数、双曲正切函数及其导数",
        given={"z": 0.7},
        call=activations,
        expected={
            "tanh": 0.60436778, "logistic": 0.66818777, "derivative of the logistic function": 0.22171287,
        },
        atol=6e-9,
        note="derived",
    ),
    Example(
        place="Pattern Recognition ch. 5, sec. 5.4.5",
        title="codes of eight classes at the outputs",
        zh="输出端编码：三个节点表示八类",
        given={"n_classes": 8},
        call=codes,
        expected={
            "nodes of a binary code": 3, "accuracy, binary": 1.0, "nodes of 1-of-C": 8,
            "accuracy, one-of-c": 1.0, "outputs sum to one": True, "several two-class nets": 8,
        },
        note="derived",
    ),
    Example(
        place="Pattern Recognition ch. 5, sec. 5.4.5",
        title="one output node with a reject zone",
        zh="单输出节点与拒绝区间",
        given={"low": 0.3, "high": 0.7, "outputs": [0.1, 0.4, 0.6, 0.9]},
        call=rejection,
        expected={"decisions": [0, -1, -1, 1]},
        note="derived",
    ),
]  # fmt: skip
