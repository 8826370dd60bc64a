"""Li, chapter 29: optimisers of deep learning (深度学习的优化算法)."""

from __future__ import annotations

from typing import Any

from tercet.datasets.texts import Example

NOTE = "The text gives formulas only; the numbers follow from them for f(θ) = θ², θ₀ = 1, η = 0.1."


def three_steps(rule: str, averages: dict[str, Any] | None = None, **options: Any) -> dict[str, Any]:
    """Three steps of an update rule down f = θ², its averages at zero or where they are said to begin."""
    import numpy as np

    from tercet.optimize import RULES

    update, theta, path = RULES[rule](learning_rate=0.1, **options), np.array([1.0]), []
    update.averages.update(averages or {})
    for _ in range(3):
        theta = update.step(theta, 2 * theta)
        path.append(theta[0])
    return {"path": path}


def average(values: list[float], beta: float) -> dict[str, Any]:
    from tercet.optimize import ewma, ewma_weights

    return {"recursion": ewma(values, beta)[-1], "closed_form": ewma_weights(len(values), beta) @ values}


def defaults() -> dict[str, Any]:
    from tercet.optimize import Adam

    adam = Adam()
    return {"beta1": adam.beta1, "beta2": adam.beta2, "eps": adam.eps}


def _steps(title: str, zh: str, place: str, path: list[float], **given: Any) -> Example:
    return Example(place, title, zh, given, three_steps, {"path": path}, rtol=0, atol=1e-10, note=NOTE)


EXAMPLES = [
    _steps("stochastic gradient descent", "随机梯度下降", "Li eq. 29.1", [0.8, 0.64, 0.512], rule="sgd"),
    _steps("momentum", "动量算法", "Li eq. 29.2-29.3", [0.98, 0.9424, 0.889712], rule="momentum"),
    _steps(
        "momentum with beta1 = 0 is SGD", "动量算法", "Li eq. 29.2-29.3",
        [0.8, 0.64, 0.512], rule="momentum", beta1=0.0,
    ),
    _steps(
        "momentum that begins at the first gradient, as PyTorch's with dampening = beta1", "动量算法",
        "Li eq. 29.2-29.3", [0.8, 0.604, 0.41552], rule="momentum", averages={"v": 2.0},
    ),
    _steps(
        "RMSProp", "RMSProp", "Li eq. 29.5-29.6", [0.6837722379, 0.4988706118, 0.3691805583], rule="rmsprop"
    ),
    _steps(
        "RMSProp, eps outside the root", "RMSProp", "Li eq. 29.5-29.6",
        [0.6837722390, 0.4988706135, 0.3691805603], rule="rmsprop", eps_inside=False,
    ),
    _steps(
        "RMSProp, eps = 0.1", "RMSProp", "Li eq. 29.5-29.6",
        [0.7171572875, 0.5413662588, 0.4143269915], rule="rmsprop", eps=0.1,
    ),
    _steps(
        "RMSProp, eps = 0.1 outside", "RMSProp", "Li eq. 29.5-29.6",
        [0.7269458810, 0.5570782533, 0.4331432764], rule="rmsprop", eps=0.1, eps_inside=False,
    ),
    _steps("Adam", "Adam", "Li eq. 29.8-29.12", [0.9000000001, 0.8004122279, 0.7015862718], rule="adam"),
    _steps(
        "Adam, eps outside the root", "Adam", "Li eq. 29.8-29.12",
        [0.9000000005, 0.8004122287, 0.7015862729], rule="adam", eps_inside=False,
    ),
    _steps(
        "Adam, eps = 0.1", "Adam", "Li eq. 29.8-29.12",
        [0.9012270403, 0.8029784198, 0.7056053779], rule="adam", eps=0.1,
    ),
    _steps(
        "Adam, eps = 0.1 outside", "Adam", "Li eq. 29.8-29.12",
        [0.9047619048, 0.8101101558, 0.7163621929], rule="adam", eps=0.1, eps_inside=False,
    ),
    _steps("AdaGrad", "AdaGrad", "Li ch. 29", [0.9000000001, 0.8331035270, 0.7804561815], rule="adagrad"),
    Example(
        place="Li eq. 29.12",
        title="the defaults of Adam",
        zh="Adam的默认参数",
        given={},
        call=defaults,
        expected={"beta1": 0.9, "beta2": 0.999, "eps": 1e-8},
    ),
    Example(
        place="Li eq. 29.4",
        title="an exponentially weighted moving average, step by step and in closed form",
        zh="指数加权移动平均",
        given={"values": [1.0, 2.0, 4.0], "beta": 0.9},
        call=average,
        expected={"recursion": 0.661, "closed_form": 0.661},
        note="0.1 (4 + 0.9 * 2 + 0.81 * 1).",
    ),
]  # fmt: skip
