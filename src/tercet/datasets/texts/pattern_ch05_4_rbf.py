"""Pattern Recognition, chapter 5.4: radial basis function networks (径向基函数网络)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.datasets.texts import Example


def interpolation(X: Any, y: Any, r: float) -> dict[str, Any]:
    from tercet.neural_network import RBFNetwork

    model = RBFNetwork(centers="all", width=r, fit_intercept=False).fit(X, y)
    return {"w": model.weights_, "between": model.predict([[0.5], [1.5]]), "at the points": model.predict(X)}


def gradient_descent(X: Any, y: Any, r: float) -> dict[str, Any]:
    from tercet.neural_network import RBFNetwork

    model = RBFNetwork(
        centers="all", width=r, fit_intercept=False, algorithm="gd", learn="weights", max_iter=2000, tol=0.0
    )
    import warnings

    from tercet.core.steps import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    return {"w": model.weights_}


def threshold(X: Any, y: Any, r: float) -> dict[str, Any]:
    from tercet.neural_network import RBFNetworkClassifier

    model = RBFNetworkClassifier(centers="all", width=r, fit_intercept=False).fit(X, y)
    query = np.array([[0.25], [0.75], [1.75]])
    return {"classes": model.predict(query), "outputs less 1/2": model.decision_function(X)}


WEIGHTS = [-0.49205091, 1.36203083, -0.49205091]
LINE = {"X": [[0], [1], [2]], "y": [0, 1, 0], "r": 1.0}
EXAMPLES = [
    Example(
        place="Pattern Recognition ch. 5, eq. 5-34, 5-35",
        title="interpolation by an RBF network with a unit for each sample",
        zh="以每个样本为中心的径向基函数网络插值",
        given=LINE,
        call=interpolation,
        expected={"w": WEIGHTS, "between": [0.62567926, 0.62567926], "at the points": [0.0, 1.0, 0.0]},
        note="derived",
    ),
    Example(
        place="Pattern Recognition ch. 5, eq. 5-34, 5-35",
        title="the weights of an RBF network by gradient descent",
        zh="梯度下降法学习径向基函数网络的权值",
        given=LINE,
        call=gradient_descent,
        expected={"w": WEIGHTS},
        rtol=1e-6,
        note="derived",
    ),
    Example(
        place="Pattern Recognition ch. 5, eq. 5-34, 5-35",
        title="an RBF network with a threshold decides between two classes",
        zh="带阈值输出的径向基函数网络作两类决策",
        given=LINE,
        call=threshold,
        expected={"classes": [0, 1, 0], "outputs less 1/2": [-0.5, 0.5, -0.5]},
        note="derived",
    ),
]
