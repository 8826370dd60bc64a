"""Watermelon notes, chapter 3, sections 3.2 to 3.4: networks and back-propagation (误差逆传播)."""

from __future__ import annotations

from typing import Any

from tercet.datasets.texts import Example


def one_step(x: Any, y: Any, V: Any, gamma: Any, W: Any, theta: Any, eta: float) -> dict[str, Any]:
    import numpy as np

    from tercet.neural_network import MLPRegressor, back_propagate, gradient_check

    start = [np.array(V), np.array(W)], [-np.array(gamma), -np.array(theta)]
    found = back_propagate(x, y, *start)
    net = MLPRegressor(
        hidden_layer_sizes=len(gamma), activation="logistic", output="logistic", solver="bp", alpha=0.0,
        learning_rate_init=eta, momentum=0.0, init=start,
    )  # fmt: skip
    net.partial_fit([x], [y])
    after = back_propagate(x, y, net.coefs_, net.intercepts_)
    return {
        "b": found.layers[1], "outputs": found.layers[2], "E": found.error,
        "g": -found.deltas[1], "e": -found.deltas[0],
        "new W": net.coefs_[1], "new theta": net.thresholds_[1],
        "new V": net.coefs_[0], "new gamma": net.thresholds_[0], "E after": after.error,
        "the gradient agrees with finite differences": gradient_check(x, y, *start) < 1e-9,
    }  # fmt: skip


def early_stopping(seed: int) -> dict[str, Any]:
    import numpy as np

    from tercet.neural_network import MLPClassifier

    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, 5))
    y = (X[:, 0] + 1.5 * rng.normal(size=120) > 0).astype(int)
    net = MLPClassifier(
        (50,), early_stopping=True, validation_fraction=0.3, n_iter_no_change=5, random_state=seed
    )
    net.fit(X, y)
    scores = net.validation_scores_
    return {
        "the best score is that of the returned weights": net.best_validation_score_ == max(scores),
        "at least five epochs follow": len(scores) - 1 - int(np.argmax(scores)) >= 5,
    }


def penalty(lambdas: list[float]) -> dict[str, Any]:
    import numpy as np

    from tercet.neural_network import MLPRegressor

    X = np.linspace(-1, 1, 40)[:, None]
    y = np.sin(3 * X.ravel())
    squares = []
    for weight in lambdas:
        net = MLPRegressor(
            hidden_layer_sizes=8, activation="tanh", solver="lbfgs", error_weight=weight, random_state=0
        )
        net.fit(X, y)
        squares.append(sum(float((part**2).sum()) for part in (*net.coefs_, *net.intercepts_)))
    return {"a larger lambda leaves larger weights": squares == sorted(squares)}


def approximation(n_hidden: int) -> dict[str, Any]:
    import numpy as np

    from tercet.neural_network import MLPRegressor

    X = np.linspace(0, 1, 100)[:, None]
    y = np.sin(2 * np.pi * X.ravel()) + X.ravel() ** 2
    nets = [  # each start ends in a local minimum of its own
        MLPRegressor(
            hidden_layer_sizes=n_hidden, activation="tanh", solver="lbfgs", alpha=0.0, max_iter=3000,
            tol=1e-6, init=5.0, random_state=start,
        ).fit(X, y)
        for start in range(5)
    ]  # fmt: skip
    best = min(nets, key=lambda net: net.loss_)
    return {"largest error below 0.02": bool(np.abs(best.predict(X) - y).max() < 0.02)}


EXAMPLES = [
    Example(
        place="watermelon notes ch. 3, eq. 3.3-3.11",
        title="one step of standard back-propagation",
        zh="标准BP算法的一步",
        given={
            "x": [0.05, 0.10], "y": [0.01, 0.99], "V": [[0.15, 0.25], [0.20, 0.30]], "gamma": [0.1, -0.1],
            "W": [[0.40, 0.50], [0.45, 0.55]], "theta": [0.2, -0.3], "eta": 0.5,
        },
        call=one_step,
        expected={
            "b": [0.481882935, 0.535564838], "outputs": [0.5581746779, 0.6975170675], "E": 0.1930208717,
            "g": [-0.1351884857, 0.0617100988], "e": [-0.0057974646, -0.0066895486],
            "new W": [[0.3674274879, 0.5148685218], [0.4137989003, 0.5665248795]],
            "new theta": [0.2675942428, -0.3308550494],
            "new V": [[0.1498550634, 0.2498327613], [0.1997101268, 0.2996655226]],
            "new gamma": [0.1028987323, -0.0966552257], "E after": 0.1765450742,
            "the gradient agrees with finite differences": True,
        },
        atol=1e-9,
        note="derived: the text has the formulas",
    ),
    Example(
        place="watermelon notes ch. 3, sec. 3.3",
        title="early stopping returns the weights with the best validation score",
        zh="早停：返回验证集上最好的权重",
        given={"seed": 0},
        call=early_stopping,
        expected={"the best score is that of the returned weights": True, "at least five epochs follow": True},
        note="derived; the text says test set where the validation set is meant",
    ),
    Example(
        place="watermelon notes ch. 3, eq. 3.13",
        title="the regularised objective lambda mean E_k + (1 - lambda) Σ w²",
        zh="正则化：在误差与网络复杂度之间折中",
        given={"lambdas": [0.9, 0.99, 0.999, 1.0]},
        call=penalty,
        expected={"a larger lambda leaves larger weights": True},
        note="derived",
    ),
    Example(
        place="watermelon notes ch. 3, sec. 3.3",
        title="enough hidden units fit a continuous function",
        zh="隐层单元足够多时能逼近连续函数",
        given={"n_hidden": 15},
        call=approximation,
        expected={"largest error below 0.02": True},
        note="derived",
    ),
]  # fmt: skip
