"""Watermelon notes, chapter 3, section 3.5: Hopfield networks and Boltzmann machines."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.datasets.texts import Example

DERIVED = "derived; the text has no numbers"
PATTERNS = [[1, 1, 1, 1, -1, -1, -1, -1], [1, 1, -1, -1, 1, 1, -1, -1]]
NOISY = [[1, 1, 1, -1, -1, -1, -1, -1], [1, 1, -1, -1, 1, 1, 1, -1]]


def states(weights: Any, intercept: Any) -> dict[str, Any]:
    from tercet.neural_network import BoltzmannMachine

    model = BoltzmannMachine.from_weights(weights, intercept)
    return {
        "Z": float(np.exp(model.log_partition_)),
        "mode": model.mode(),
        "P(1, 1, 0)": float(model.probability([[1, 1, 0]])[0]),
        "P(s1 = 1)": float(model.marginals()[0]),
        "P(s1 = 1 | s2 = 1, s3 = 0)": float(model.marginals({1: 1, 2: 0})[0]),
    }


def learned(X: list[list[int]]) -> dict[str, Any]:
    from tercet.neural_network import BoltzmannMachine

    model = BoltzmannMachine(tol=1e-8, max_iter=5000).fit(X)
    means = model.free_statistics().means
    return {
        "means of s_i s_j": means[np.triu_indices(3)],
        "rises": bool((np.diff(model.history_["log_likelihood"]) >= -1e-9).all()),
    }


def contrastive(W: Any, visible: Any, hidden: Any, v: Any, h: Any, after: Any, eta: float) -> dict[str, Any]:
    from tercet.neural_network import BernoulliRBM

    model = BernoulliRBM.from_weights(np.transpose(W), hidden, visible)
    return {
        "P(h | v)": model.transform([v])[0],
        "P(v | h)": model.inverse_transform([h])[0],
        "P(h | v')": model.transform([after])[0],
        "change of W": eta * model.gradient([v], [after])[0].T,
        "free energies": model.free_energy([v, after]),
    }


def gaussian(W: Any, sigma: float, v: Any) -> dict[str, Any]:
    from tercet.neural_network import GaussianRBM

    model = GaussianRBM.from_weights(W, sigma=sigma)
    h = model.transform([v])
    return {"P(h | v)": h[0], "E[v | h]": model.inverse_transform([[1.0]])[0]}


def recalled(patterns: Any, noisy: Any) -> dict[str, Any]:
    from tercet.neural_network import Hopfield

    model = Hopfield().fit(patterns)
    recall = model.recall(noisy)
    return {
        "states": recall.states,
        "energies": np.vstack([recall.energies[0], recall.energies[-1]]),
        "patterns": model.predict(noisy),
        "falls": bool((np.diff(recall.energies, axis=0) <= 1e-12).all()),
    }


def deep(X: Any, y: Any) -> dict[str, Any]:
    from tercet.neural_network import DBNClassifier, DBNRegressor, DeepBeliefNetwork

    network = DeepBeliefNetwork((8, 4), n_iter=20, random_state=0).fit(X)
    classifier = DBNClassifier((8, 4), tol=0.0, random_state=0, max_iter=300, learning_rate=0.05)
    regressor = DBNRegressor((8, 4), tol=0.0, random_state=0, max_iter=300, learning_rate=0.05)
    return {
        "layers": [rbm.n_components for rbm in network.rbms_],
        "labels": quietly(classifier, X, y).predict(X),
        "outputs": np.rint(quietly(regressor, X, y).predict(X)),
    }


def quietly(model: Any, X: Any, y: Any) -> Any:
    """A fit whose last epoch need not be the best."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)


EXAMPLES = [
    Example(
        place="watermelon notes ch. 3, 3.5.6",
        title="Boltzmann machine of three units: probabilities of states",
        zh="三个单元的 Boltzmann 机：状态的概率",
        given={"weights": [[0, 1, -2], [1, 0, 0.5], [-2, 0.5, 0]], "intercept": [0.5, -0.3, 0.2]},
        call=states,
        expected={
            "Z": 10.600253081,
            "mode": [1, 1, 0],
            "P(1, 1, 0)": 0.3132110995,
            "P(s1 = 1)": 0.5798170438,
            "P(s1 = 1 | s2 = 1, s3 = 0)": 0.8175744762,
        },
        note=DERIVED,
    ),
    Example(
        place="watermelon notes ch. 3, 3.5.6",
        title="Boltzmann machine learned from eight rows: its means become those of the data",
        zh="由八个样本学习的 Boltzmann 机：模型的均值与数据的均值一致",
        given={"X": [[1, 1, 0], [1, 1, 0], [0, 0, 1], [1, 1, 1], [0, 1, 1], [1, 0, 0], [0, 0, 0], [1, 0, 1]]},
        call=learned,
        expected={"means of s_i s_j": [0.625, 0.375, 0.25, 0.5, 0.25, 0.5], "rises": True},
        rtol=1e-6,
        note=DERIVED,
    ),
    Example(
        place="watermelon notes ch. 3, 3.5.6",
        title="restricted Boltzmann machine: probabilities, a step of contrastive divergence, free energies",
        zh="受限 Boltzmann 机：条件概率、一步对比散度与自由能",
        given={
            "W": [[0.5, -0.4], [0.3, 0.8], [-0.6, 0.2]],
            "visible": [0.1, -0.2, 0.0],
            "hidden": [0.2, -0.1],
            "v": [1, 0, 1],
            "h": [1, 0],
            "after": [1, 1, 0],
            "eta": 0.1,
        },
        call=contrastive,
        expected={
            "P(h | v)": [0.5249791875, 0.4255574832],
            "P(v | h)": [0.6456563062, 0.5249791875, 0.3543436938],
            "P(h | v')": [0.7310585786, 0.5744425168],
            "change of W": [
                [-0.0206079391, -0.0148885034],
                [-0.0731058579, -0.0574442517],
                [0.0524979187, 0.0425557483],
            ],
            "free energies": [-1.3987519045, -2.067616932],
        },
        note=DERIVED,
    ),
    Example(
        place="watermelon notes ch. 3, 3.5.6",
        title="restricted Boltzmann machine of two Gaussian visible units and a hidden unit",
        zh="含两个高斯可见单元和一个隐单元的受限 Boltzmann 机",
        given={"W": [[2.0, -1.0]], "sigma": 0.5, "v": [0.5, 0.25]},
        call=gaussian,
        expected={"P(h | v)": [0.8175744762], "E[v | h]": [1.0, -0.5]},
        note=DERIVED,
    ),
    Example(
        place="Pattern Recognition ch. 5, 5.4",
        title="Hopfield network of two patterns recalls them from states with one wrong unit",
        zh="存储两个模式的 Hopfield 网络：由一个单元有误的状态联想出模式",
        given={"patterns": PATTERNS, "noisy": NOISY},
        call=recalled,
        expected={
            "states": PATTERNS,
            "energies": [[-1.5, -1.5], [-3.0, -3.0]],
            "patterns": [0, 1],
            "falls": True,
        },
        note=DERIVED,
    ),
    Example(
        place="watermelon notes ch. 3, 3.6",
        title="deep belief network of two hidden layers: pre-training, and fine-tuning that learns exclusive or",
        zh="两个隐层的深度信念网络：预训练后微调学得异或",
        given={"X": [[0, 0], [0, 1], [1, 0], [1, 1]], "y": [0, 1, 1, 0]},
        call=deep,
        expected={"layers": [8, 4], "labels": [0, 1, 1, 0], "outputs": [0, 1, 1, 0]},
        note=DERIVED,
    ),
]
