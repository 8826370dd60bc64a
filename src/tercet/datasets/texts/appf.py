"""Li, appendix F: derivatives of the softmax and of cross-entropy (软最大化函数和交叉熵损失函数的偏导数)."""

from __future__ import annotations

from typing import Any

from tercet.datasets.texts import Example

DERIVED = "The appendix has no numbers; these are derived from its formulas."


def probabilities(z: Any) -> dict[str, Any]:
    from tercet.core.functions import softmax, softmax_jacobian

    return {"p": softmax(z), "jacobian": softmax_jacobian(z)}


def cross_entropy(z: Any, y: Any) -> dict[str, Any]:
    from tercet.losses import Multinomial

    loss, gradient = Multinomial().value_and_gradient([y], [z])
    return {"L": loss[0], "dL/dz": gradient[0]}


EXAMPLES = [
    Example(
        place="Li Eq F.1, F.2",
        title="the softmax and its Jacobian",
        zh="软最大化函数的偏导数",
        given={"z": [1, 2, 3]},
        call=probabilities,
        expected={
            "p": [0.0900305732, 0.2447284711, 0.6652409558],
            "jacobian": [
                [0.0819250691, -0.0220330445, -0.0598920245],
                [-0.0220330445, 0.1848364465, -0.1628034020],
                [-0.0598920245, -0.1628034020, 0.2226954265],
            ],
        },
        note=f"{DERIVED} One line of the derivation of (F.2) lost the factor e^(z_k) of its numerator.",
    ),
    Example(
        place="Li Eq F.3, F.4",
        title="cross-entropy and its gradient p - y",
        zh="交叉熵损失函数的偏导数",
        given={"z": [1, 2, 3], "y": [0, 1, 0]},
        call=cross_entropy,
        expected={"L": 1.4076059644, "dL/dz": [0.0900305732, -0.7552715289, 0.6652409558]},
        note=DERIVED,
    ),
]
