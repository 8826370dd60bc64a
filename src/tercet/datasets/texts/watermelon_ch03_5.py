"""Watermelon notes, chapter 3, section 3.5: RBF, cascade-correlation and Elman networks."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.datasets.texts import Example

SQUARE = [[0, 0], [0, 1], [1, 0], [1, 1]]
XOR = [0, 1, 1, 0]
SPIRAL_TURNS = 97  # points of each of two intertwined spirals, three turns long


def rbf_xor(X: Any, y: Any, centers: Any, beta: float) -> dict[str, Any]:
    from tercet.neural_network import RBFNetwork

    model = RBFNetwork(centers=centers, beta=beta).fit(X, y)
    return {"w": model.weights_, "b": model.intercept_, "residual": y - model.predict(X)}


def rbf_xor_labels(X: Any, y: Any, centers: Any, beta: float) -> dict[str, Any]:
    from tercet.neural_network import RBFNetworkClassifier

    model = RBFNetworkClassifier(centers=centers, beta=beta).fit(X, y)
    return {"labels": model.predict(X), "scores": model.decision_function(X)}


def candidate_score(V: Any, E: Any) -> dict[str, Any]:
    from tercet.neural_network import candidate_correlation

    return {"S": candidate_correlation(V, E)}


def grown_for_xor(X: Any, y: Any) -> dict[str, Any]:
    from tercet.neural_network import CascadeCorrelation

    model = CascadeCorrelation(max_units=1, alpha=0.0, random_state=0).fit(X, y)
    losses = model.history_["loss"]
    return {
        "loss without hidden units": losses[0],
        "one unit halves it": losses[1] < losses[0] / 2,
        "units": len(model.hidden_intercept_),
    }


def two_spirals(points: int, max_units: int) -> dict[str, Any]:
    from tercet.neural_network import CascadeCorrelationClassifier

    turn = np.arange(points) * np.pi / 16
    radius = 6.5 * (1 - np.arange(points) / (points + 7))
    arm = np.column_stack([radius * np.sin(turn), radius * np.cos(turn)])
    X, y = np.vstack([arm, -arm]), np.repeat([0, 1], points)
    model = CascadeCorrelationClassifier(max_units, candidate_tol=1e-3, target_loss=0.01, random_state=0)
    model.fit(X, y)
    return {
        "errors": int((model.predict(X) != y).sum()),
        "fewer units than allowed": model.n_iter_ <= max_units,
    }


WEIGHTS = {
    "U": [[0.5], [-0.3]],
    "W": [[0.1, 0.2], [0.0, -0.4]],
    "b": [0.0, 0.1],
    "V": [[1.0, -1.0]],
    "c": [0.2],
}


def elman_states(X: Any, weights: dict[str, Any]) -> dict[str, Any]:
    from tercet.neural_network import elman_forward

    H, Y = elman_forward(X, **weights)
    return {"h": H, "y": Y[:, 0]}


def parity(n_sequences: int, length: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Bits, and the parity of the bits so far."""
    rng = np.random.default_rng(0)
    X = [rng.integers(0, 2, (length, 1)).astype(float) for _ in range(n_sequences)]
    return X, [x[:, 0].cumsum() % 2 for x in X]


def elman_parity(n_sequences: int, length: int, algorithm: Any) -> dict[str, Any]:
    from tercet.neural_network import ElmanNetwork

    X, y = parity(n_sequences, length)
    model = ElmanNetwork(
        8, algorithm=algorithm, n_steps=4, learning_rate=0.03, max_iter=300, random_state=0
    ).fit(X, y)
    longer, bits = parity(1, 2 * length)
    return {
        "R² above 0.99": model.score(X, y) > 0.99,
        "rounded": np.round(model.predict(longer)[0]) == bits[0],
    }


def elman_parity_labels(n_sequences: int, length: int) -> dict[str, Any]:
    from tercet.neural_network import ElmanNetworkClassifier

    X, y = parity(n_sequences, length)
    labels = [np.where(part == 1, "odd", "even") for part in y]
    model = ElmanNetworkClassifier(8, learning_rate=0.05, max_iter=300, random_state=0).fit(X, labels)
    return {"accuracy": model.score(X, labels), "classes": model.classes_.tolist()}


OURS = "the text gives formulas only; the numbers are derived"
EXAMPLES = [
    Example(
        place="watermelon notes ch. 3, sec. 3.5, eq. 3.14",
        title="an RBF network with two units solves XOR",
        zh="两个隐层神经元的 RBF 网络解决异或问题",
        given={"X": SQUARE, "y": XOR, "centers": [[0, 0], [1, 1]], "beta": 1.0},
        call=rbf_xor,
        expected={"w": [-2.5026503011, -2.5026503011], "b": 2.8413471884, "residual": [0.0] * 4},
        note=OURS,
    ),
    Example(
        place="watermelon notes ch. 3, sec. 3.5, eq. 3.14",
        title="an RBF network as a classifier of XOR",
        zh="RBF 网络作为异或问题的分类器",
        given={"X": SQUARE, "y": XOR, "centers": [[0, 0], [1, 1]], "beta": 1.0},
        call=rbf_xor_labels,
        expected={"labels": XOR, "scores": [-0.5, 0.5, 0.5, -0.5]},
        note=OURS,
    ),
    Example(
        place="watermelon notes ch. 3, sec. 3.5",
        title="the score of a candidate unit of cascade-correlation",
        zh="级联相关候选单元的得分",
        given={"V": [0.2, 0.8, 0.5, 0.9], "E": [[0.3, -0.2], [-0.3, 0.1], [0.2, 0.0], [0.4, -0.5]]},
        call=candidate_score,
        expected={"S": 0.13},
        note=OURS,
    ),
    Example(
        place="watermelon notes ch. 3, sec. 3.5",
        title="cascade-correlation adds a hidden unit for XOR",
        zh="级联相关网络为异或问题增加一个隐单元",
        given={"X": SQUARE, "y": XOR},
        call=grown_for_xor,
        expected={"loss without hidden units": 0.125, "one unit halves it": True, "units": 1},
        note=OURS,
    ),
    Example(
        place="watermelon notes ch. 3, sec. 3.5",
        title="cascade-correlation separates two spirals",
        zh="级联相关网络分开两条螺旋线",
        given={"points": SPIRAL_TURNS, "max_units": 25},
        call=two_spirals,
        expected={"errors": 0, "fewer units than allowed": True},
        note="the data of Fahlman and Lebiere, who need 12 to 19 units; the text gives no numbers",
    ),
    Example(
        place="watermelon notes ch. 3, sec. 3.5",
        title="hidden states and outputs of an Elman network",
        zh="Elman 网络的隐状态与输出",
        given={"X": [[1.0], [0.5], [-1.0]], "weights": WEIGHTS},
        call=elman_states,
        expected={
            "h": [[0.6224593312, 0.4501660027], [0.5992351231, 0.4427357628], [0.4130116105, 0.5554968248]],
            "y": [0.3722933285, 0.3564993603, 0.0575147857],
        },
        note=OURS,
    ),
    Example(
        place="watermelon notes ch. 3, sec. 3.5",
        title="an Elman network learns the parity of the bits so far",
        zh="Elman 网络学习比特流的奇偶性",
        given={"n_sequences": 40, "length": 6, "algorithm": "bptt"},
        call=elman_parity,
        expected={"R² above 0.99": True, "rounded": [True] * 12},
        note=OURS,
    ),
    Example(
        place="watermelon notes ch. 3, sec. 3.5",
        title="the same by back-propagation through four time steps",
        zh="同一问题，只反向传播四个时间步",
        given={"n_sequences": 40, "length": 6, "algorithm": "truncated"},
        call=elman_parity,
        expected={"R² above 0.99": True, "rounded": [True] * 12},
        note=OURS,
    ),
    Example(
        place="watermelon notes ch. 3, sec. 3.5",
        title="an Elman network labels the parity of the bits so far",
        zh="Elman 网络标注比特流的奇偶性",
        given={"n_sequences": 40, "length": 6},
        call=elman_parity_labels,
        expected={"accuracy": 1.0, "classes": ["even", "odd"]},
        note=OURS,
    ),
]
