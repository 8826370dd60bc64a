"""Pattern Recognition, 5.4: threshold units and network structure (阈值逻辑单元与网络结构)."""

from __future__ import annotations

from typing import Any

from tercet.datasets.texts import Example

SQUARE = [[0, 0], [0, 1], [1, 0], [1, 1]]


def two_layers(X: Any, w: Any, w0: Any, v: Any, v0: float) -> dict[str, Any]:
    """5-16 with w0 and v0 added to the weighted sums: the thresholds are -w0 and -v0."""
    from tercet.neural_network import ThresholdNetwork

    network = ThresholdNetwork([w, v], [[-b for b in w0], -v0])
    hidden, outputs = network.layer_outputs(X)
    return {"h": hidden, "y": outputs[:, 0]}


def unit(X: Any, w: Any, w0: float) -> dict[str, Any]:
    from tercet.neural_network import neuron

    return {
        "step": neuron(X, w, -w0),
        "step, 1 at 0": neuron(X, w, -w0, at_zero=1),
        "step, 1/2 at 0": neuron(X, w, -w0, at_zero=0.5),
        "sgn": neuron(X, w, -w0, "sign"),
    }


def fixed_first_layer(X: Any, y: Any, w: Any, w0: Any, eta: float) -> dict[str, Any]:
    from tercet.neural_network import LayeredPerceptron, ThresholdNetwork

    hidden = ThresholdNetwork([w], [[-b for b in w0]])
    model = LayeredPerceptron(hidden, eta0=eta, tol=None, shuffle=False, on_plane="negative").fit(X, y)
    return {"v": model.coef_[0], "v0": model.intercept_[0], "epochs": model.n_iter_, "y": model.predict(X)}


def posterior(p: Any, P: Any, f: Any) -> dict[str, Any]:
    from tercet.theory import posterior_error

    error = posterior_error(p, P, f)
    return {"E_a": error.total, "e2": error.distance, "P(1-P)": error.noise}


def sizes(n: int, tried: Any, tol: float) -> dict[str, Any]:
    import numpy as np

    from tercet.neural_network import HiddenSizeSearch, MLPRegressor

    rng = np.random.default_rng(0)
    x = rng.uniform(-3, 3, n)
    y = np.sin(x) + rng.normal(0, 0.1, n)
    network = MLPRegressor(activation="tanh", solver="lbfgs", max_iter=1000, random_state=0)
    model = HiddenSizeSearch(network, sizes=tried, tol=tol).fit(x[:, None], y)
    return {"m": model.hidden_layer_sizes_[0], "weights": model.results_["n_weights"]}


EXAMPLES = [
    Example(
        place="Pattern Recognition ch. 5, eq. 5-14",
        title="a threshold logic unit, and what it gives at 0",
        zh="阈值逻辑单元及其在零点的取值",
        given={"X": SQUARE, "w": [1, 1], "w0": -1.0},
        call=unit,
        expected={
            "step": [0.0, 0.0, 0.0, 1.0],
            "step, 1 at 0": [0.0, 1.0, 1.0, 1.0],
            "step, 1/2 at 0": [0.0, 0.5, 0.5, 1.0],
            "sgn": [-1.0, -1.0, -1.0, 1.0],
        },
        note="derived; two inputs lie on the hyperplane; the text's step is 0 at 0, which makes the unit AND",
    ),
    Example(
        place="Pattern Recognition ch. 5, eq. 5-16",
        title="two layers of threshold units compute XOR",
        zh="两层阈值单元实现“异或”",
        given={"X": SQUARE, "w": [[1, 1], [1, 1]], "w0": [-0.5, -1.5], "v": [1, -1], "v0": -0.5},
        call=two_layers,
        expected={
            "h": [[0.0, 0.0], [1.0, 0.0], [1.0, 0.0], [1.0, 1.0]],
            "y": [0.0, 1.0, 1.0, 0.0],
        },
        note="derived",
    ),
    Example(
        place="Pattern Recognition ch. 5, eq. 5-15, 5-16",
        title="with a fixed first layer the perceptron rule learns XOR",
        zh="固定第一层后，感知器算法学会“异或”",
        given={"X": SQUARE, "y": [0, 1, 1, 0], "w": [[1, 1], [1, 1]], "w0": [-0.5, -1.5], "eta": 1.0},
        call=fixed_first_layer,
        expected={"v": [1.0, -2.0], "v0": 0.0, "epochs": 5, "y": [0, 1, 1, 0]},
        note="derived",
    ),
    Example(
        place="Pattern Recognition ch. 5, eq. 5-30 to 5-33",
        title="the squared error of a network is its distance from the posterior and a constant",
        zh="网络的均方误差等于它与后验概率的距离加一个常数",
        given={"p": [0.2, 0.5, 0.3], "P": [0.9, 0.4, 0.1], "f": [0.8, 0.5, 0.2]},
        call=posterior,
        expected={"E_a": 0.175, "e2": 0.01, "P(1-P)": 0.165},
        note="derived",
    ),
    Example(
        place="Pattern Recognition ch. 5, 5.4.5",
        title="the number of hidden units by cross-validation",
        zh="用交叉验证选择隐层节点数",
        given={"n": 100, "tried": [1, 2, 4], "tol": 0.05},
        call=sizes,
        expected={"m": 2, "weights": [4, 7, 13]},
        note="derived; rows of a noisy sine of ours: the smallest network whose score is within 0.05 of the best",
    ),
]
