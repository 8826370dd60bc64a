"""Studies ML, chapter 2: evaluation of models (模型评估与选择)."""

from __future__ import annotations

from typing import Any

from tercet.datasets.texts import Example


def error_rates(y: Any, predicted: Any, p: Any) -> dict[str, Any]:
    from sklearn.metrics import accuracy_score, zero_one_loss

    return {
        "error rate": zero_one_loss(y, predicted),
        "accuracy": accuracy_score(y, predicted),
        "error rate under p": zero_one_loss(y, predicted, sample_weight=p),
        "accuracy under p": accuracy_score(y, predicted, sample_weight=p),
    }


def squared_errors(y: Any, predicted: Any, p: Any) -> dict[str, Any]:
    from sklearn.metrics import mean_squared_error

    return {
        "E": mean_squared_error(y, predicted),
        "E under p": mean_squared_error(y, predicted, sample_weight=p),
    }


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


def stratified(y: Any, k: int) -> dict[str, Any]:
    import numpy as np
    from sklearn.model_selection import StratifiedKFold, train_test_split

    labels = np.array(y)
    folds = [labels[fold] for _, fold in StratifiedKFold(k).split(labels[:, None], labels)]
    learn, test = train_test_split(labels, test_size=0.25, stratify=labels, random_state=0)
    return {
        "learn": np.bincount(learn).tolist(),
        "test": np.bincount(test).tolist(),
        "folds": [np.bincount(fold).tolist() for fold in folds],
    }


EXAMPLES = [
    Example(
        place="Studies ML eq. 2.4-2.7",
        title="error rate and accuracy",
        zh="错误率与精度",
        given={
            "y": [0, 1, 1, 2, 2, 2],
            "predicted": [0, 1, 2, 2, 2, 0],
            "p": [0.3, 0.1, 0.2, 0.1, 0.2, 0.1],
        },
        call=error_rates,
        expected={"error rate": 1 / 3, "accuracy": 2 / 3, "error rate under p": 0.3, "accuracy under p": 0.7},
        note="derived; rows 3 and 6 are wrong, of which p has 0.2 + 0.1",
    ),
    Example(
        place="Studies ML eq. 2.2, 2.3",
        title="mean squared error",
        zh="均方误差",
        given={"y": [1.0, 2.0, 4.0], "predicted": [1.5, 2.0, 3.0], "p": [0.5, 0.25, 0.25]},
        call=squared_errors,
        expected={"E": 1.25 / 3, "E under p": 0.375},
        note="derived from the formulas",
    ),
    Example(
        place="Studies ML Section 2.2",
        title="stratified sampling",
        zh="分层采样",
        given={"y": [0] * 8 + [1] * 4, "k": 4},
        call=stratified,
        expected={"learn": [6, 3], "test": [2, 1], "folds": [[2, 1]] * 4},
        note="the text has no numbers; classes of 8 and 4 rows stay 2 : 1",
    ),
    Example(
        place="Studies ML Eq 2.3, 2.6",
        title="mean squared error under a uniform density, error rate under p(x) = 2x",
        zh="均匀密度下的均方误差，密度 p(x) = 2x 下的错误率",
        given={"slope": 0.4, "boundary": 0.8},
        call=under_a_density,
        expected={"mean squared error": 0.12, "error rate": 0.39},
        note="the numbers were chosen",
    ),
]
