"""Watermelon notes, chapter 6, 6.2 and 6.3: boosting and bagging (Boosting 与 Bagging)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.datasets.texts import Example
from tercet.datasets.texts.ch08 import adaboost


def out_of_bag(m: int, members: int) -> dict[str, Any]:
    from tercet.ensemble import BaggingRegressor
    from tercet.model_selection import Bootstrap
    from tercet.tree import DecisionTreeRegressor

    bootstrap, X = Bootstrap(members, random_state=0), np.arange(float(m))[:, None]
    model = BaggingRegressor(DecisionTreeRegressor(max_depth=1), members, random_state=0).fit(X, X[:, 0])
    unseen = [sample.out_of_bag.size / m for sample in bootstrap.samples(m)]
    of_members = [1.0 - np.unique(rows).size / m for rows in model.estimators_samples_]
    return {
        "rows not drawn": float(np.mean(unseen)),
        "rows that members have not seen": float(np.mean(of_members)),
        "(1 - 1/m)^m": bootstrap.expected_shares(m)[1],
        "(1 - 1/m)^m, m = 1 000 000": bootstrap.expected_shares(1_000_000)[1],
    }


def decomposition(numbers: Any, targets: Any, votes: Any, labels: Any) -> dict[str, Any]:
    from tercet.model_selection import bias_variance_of_predictions

    return {
        "squared loss": list(bias_variance_of_predictions(numbers, targets)),
        **{
            f"0-1 loss, {name}": list(bias_variance_of_predictions(votes, labels, decomposition=name))
            for name in ("kohavi-wolpert", "domingos")
        },
    }


EXAMPLES = [
    Example(
        place="watermelon notes ch. 6, Fig 8.3",
        title="AdaBoost on nine points",
        zh="九个点上的 AdaBoost",
        given={"x": list(range(1, 10)), "y": [1, 1, 1, 1, 1, -1, 1, 1, -1], "rounds": 3},
        call=adaboost,
        expected={
            "thresholds": [8.5, 5.5, 6.5],
            "left": [1, 1, -1],
            "e": [1 / 9, 0.125, 0.2142857143],
            "alpha": [1.0397207708, 0.9729550745, 0.6496414921],
            "Z": [0.6285393611, 0.6614378278, 0.8206518066],
            "f": [1.36303435] * 5 + [-0.5828758, 0.71640719, 0.71640719, -1.36303435],
            "mistakes": [1, 1, 0],
            "prod Z": 0.3411775438,
        },
        rtol=1e-7,
        atol=5e-9,
        note="derived",
    ),
    Example(
        place="watermelon notes ch. 6, 6.3",
        title="the share of the rows that a bootstrap sample leaves out",
        zh="自助采样的包外比例",
        given={"m": 17, "members": 1000},
        call=out_of_bag,
        expected={
            "rows not drawn": 0.3567861947,
            "rows that members have not seen": 0.3567861947,
            "(1 - 1/m)^m": 0.3567861947,
            "(1 - 1/m)^m, m = 1 000 000": 0.3678794412,
        },
        rtol=0.02,
        note="derived; the mean over samples that are drawn, beside its expectation",
    ),
    Example(
        place="watermelon notes ch. 6, 6.2",
        title="error, bias, variance and noise of three models on two rows",
        zh="三个模型在两个样本上的误差、偏差、方差与噪声",
        given={
            "numbers": [[1.0, 2.0], [3.0, 2.0], [2.0, 5.0]],
            "targets": [2.0, 4.0],
            "votes": [["a", "b"], ["a", "a"], ["b", "a"]],
            "labels": ["a", "b"],
        },
        call=decomposition,
        expected={
            "squared loss": [11 / 6, 1 / 2, 4 / 3, 0.0],
            "0-1 loss, kohavi-wolpert": [1 / 2, 5 / 18, 2 / 9, 0.0],
            "0-1 loss, domingos": [1 / 2, 1 / 2, 0.0, 0.0],
        },
        note="derived; also Studies ML 2.5. By Domingos the second row is biased, and its variance is -1/3",
    ),
]
