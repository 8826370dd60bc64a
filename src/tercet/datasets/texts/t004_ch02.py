"""Text 004, chapter 2: evaluation of models (模型评估与选择)."""

from __future__ import annotations

from typing import Any

from tercet.datasets.texts import Example


def errors(y: Any, predicted: Any) -> dict[str, Any]:
    from tercet.metrics import accuracy_score, error_rate

    return {"error rate": error_rate(y, predicted), "accuracy": accuracy_score(y, predicted)}


def under_a_density(slope: float, boundary: float) -> dict[str, Any]:
    from tercet.metrics import expected_error_rate, expected_squared_error

    def one(x: Any) -> Any:
        return 0.0 * x + 1.0

    return {
        "mean squared error": expected_squared_error(lambda x: slope * x, lambda x: x, one, (0, 1)),
        "error rate": expected_error_rate(
            lambda x: x > boundary, lambda x: x > 0.5, lambda x: 2 * x, (0, 1), points=[boundary, 0.5]
        ),
    }


EXAMPLES = [
    Example(
        place="004 Eq 2.4, 2.5",
        title="error rate and accuracy of six rows",
        zh="六个样本的错误率与精度",
        given={"y": [0, 1, 1, 2, 2, 2], "predicted": [0, 1, 2, 2, 2, 0]},
        call=errors,
        expected={"error rate": 1 / 3, "accuracy": 2 / 3},
        note="the numbers were chosen",
    ),
    Example(
        place="004 Eq 2.3, 2.6",
        title="mean squared error under a uniform density, error rate under p(x) = 2x",
        zh="均匀密度下的均方误差，密度 p(x) = 2x 下的错误率",
        given={"slope": 0.4, "boundary": 0.8},
        call=under_a_density,
        expected={"mean squared error": 0.12, "error rate": 0.39},
        note="the numbers were chosen",
    ),
]
