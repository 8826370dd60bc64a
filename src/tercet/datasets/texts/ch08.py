"""Li, chapter 8: boosting (提升方法)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.datasets.texts import Example

X81 = list(range(10))
Y81 = [1, 1, 1, -1, -1, -1, 1, 1, 1, -1]
X82 = list(range(1, 11))
Y82 = [5.56, 5.70, 5.91, 6.40, 6.80, 7.05, 8.90, 8.70, 9.00, 9.05]

CRITERIA = ["body", "ability", "potential"]
APPLICANTS = [
    [0, 1, 3], [0, 3, 1], [1, 2, 2], [1, 1, 3], [1, 2, 3], [0, 1, 2], [1, 1, 2], [1, 1, 1], [1, 3, 1], [0, 2, 1]
]  # fmt: skip
HIRED = [-1, -1, -1, -1, -1, -1, 1, 1, -1, -1]


def applicants(x: list[list[int]], y: list[int], rounds: int) -> dict[str, Any]:
    from tercet.ensemble import AdaBoostClassifier
    from tercet.tree import DecisionStump

    X, target = np.array(x, dtype=float), np.array(y)
    stump = DecisionStump(constant=False).fit(X, target)
    model = AdaBoostClassifier(DecisionStump(), n_estimators=rounds, algorithm="m1").fit(X, target)
    return {
        "criterion": CRITERIA[stump.feature_],
        "threshold": stump.threshold_,
        "answers": [int(stump.left_), int(stump.right_)],
        "e of two answers": stump.error_,
        "e": model.estimator_errors_,
        "mistakes": [int(np.sum(labels != target)) for labels in model.staged_predict(X)],
    }


def adaboost(x: list[float], y: list[int], rounds: int) -> dict[str, Any]:
    from tercet.ensemble import AdaBoostClassifier, adaboost_round, training_error_bounds
    from tercet.tree import DecisionStump

    X, target = np.array(x, dtype=float)[:, None], np.array(y)
    model = AdaBoostClassifier(DecisionStump(), n_estimators=rounds, algorithm="m1").fit(X, target)
    D, weights = np.full(len(y), 1 / len(y)), []
    for stump in model:
        D = adaboost_round(D, stump.predict(X) != target).D
        weights.append(D)
    product, exponential, uniform = training_error_bounds(model.estimator_errors_)
    return {
        "thresholds": [stump.threshold_ for stump in model],
        "left": [int(stump.left_) for stump in model],
        "e": model.estimator_errors_,
        "alpha": model.estimator_weights_,
        "Z": np.array(model.history_["Z"]),
        "D": np.array(weights),
        "f": model.decision_function(X),
        "mistakes": [int(np.sum(labels != target)) for labels in model.staged_predict(X)],
        "prod Z": product,
        "exp(-2 sum gamma²)": exponential,
        "exp(-2 M gamma²)": uniform,
    }


def boosting_tree(x: list[float], y: list[float], rounds: int, **settings: Any) -> dict[str, Any]:
    from tercet.ensemble import GradientBoostingRegressor

    X = np.array(x, dtype=float)[:, None]
    model = GradientBoostingRegressor(n_estimators=rounds, learning_rate=1.0, max_depth=1, **settings).fit(
        X, y
    )
    trees = [row[0].tree_ for row in model.estimators_]
    loss = np.abs if settings.get("loss") == "absolute_error" else np.square
    return {
        "f0": float(model.init_[0]),
        "thresholds": [float(tree.threshold[0]) for tree in trees],
        "leaves": np.array([tree.value[1:, 0, 0] for tree in trees]),
        "loss": np.array([loss(y - f).sum() for f in model.staged_predict(X)]),
        "f": model.predict(X),
    }


EXAMPLES = [
    Example(
        place="Li Ex 8.1",
        title="AdaBoost with stumps, and the bounds on its training error",
        zh="AdaBoost 算法与训练误差界",
        given={"x": X81, "y": Y81, "rounds": 3},
        call=adaboost,
        expected={
            "thresholds": [2.5, 8.5, 5.5],
            "left": [1, 1, -1],
            "e": [3 / 10, 3 / 14, 2 / 11],
            "alpha": [0.4236489302, 0.6496414921, 0.7520386984],
            "Z": [0.9165151390, 0.8206518066, 0.7713892158],
            "D": [
                [1 / 14] * 6 + [1 / 6] * 3 + [1 / 14],
                [1 / 22] * 3 + [1 / 6] * 3 + [7 / 66] * 3 + [1 / 22],
                [1 / 8] * 3 + [11 / 108] * 3 + [7 / 108] * 3 + [1 / 8],
            ],
            "f": [0.3212517239] * 3 + [-0.5260461365] * 3 + [0.9780312604] * 3 + [-0.3212517239],
            "mistakes": [3, 3, 0],
            "prod Z": 0.5801925341,
            "exp(-2 sum gamma²)": 0.6403472671,
            "exp(-2 M gamma²)": 0.7866278611,
        },
        note="The print has e3 = 0.1820 and alpha3 = 0.7514, from rounded weights. Of the stumps at 2.5 and 8.5, "
        "which are equally good, the first is taken.",
    ),
    Example(
        place="Li Ex 8.2",
        title="Boosting tree for numbers: stumps fitted to residuals",
        zh="回归问题的提升树",
        given={"x": X82, "y": Y82, "rounds": 6, "init": "zero"},
        call=boosting_tree,
        expected={
            "thresholds": [6.5, 3.5, 6.5, 4.5, 6.5, 2.5],
            "leaves": [
                [6.236667, 8.912500],
                [-0.513333, 0.220000],
                [0.146667, -0.220000],
                [-0.160833, 0.107222],
                [0.071481, -0.107222],
                [-0.150648, 0.037662],
            ],
            "loss": [1.930008, 0.800675, 0.478008, 0.305559, 0.228915, 0.172178],
            "f": [5.630000] * 2 + [5.818310] + [6.551644] + [6.819699] * 2 + [8.950162] * 4,
        },
        rtol=1e-6,
        atol=1e-6,
        note="The print carries rounded numbers through: T2 has -0.52, f6 the pieces 5.63, 5.82, 6.56, 6.83, 8.95.",
    ),
    Example(
        place="Li Ex 8.2, absolute loss",
        title="Gradient boosting: the sign of the residual, and medians in the leaves",
        zh="梯度提升（绝对损失）",
        given={"x": X82, "y": Y82, "rounds": 1, "loss": "absolute_error"},
        call=boosting_tree,
        expected={
            "f0": 6.925,
            "thresholds": [5.5],
            "leaves": [[-1.015, 1.975]],
            "loss": [4.24],
            "f": [5.91] * 5 + [8.90] * 5,
        },
        note="Derived: the text has no numbers for other losses.",
    ),
    Example(
        place="Li exercise 8.1",
        title="applicants by three criteria: one stump, and AdaBoost",
        zh="招聘考查：单个决策树桩与 AdaBoost",
        given={"x": APPLICANTS, "y": HIRED, "rounds": 6},
        call=applicants,
        expected={
            "criterion": "ability",
            "threshold": 1.5,
            "answers": [1, -1],
            "e of two answers": 0.3,
            "e": [1 / 5, 3 / 16, 7 / 26, 5 / 21, 39 / 152, 0.2514380531],
            "mistakes": [2, 3, 1, 1, 1, 0],
        },
        note="the exercise has no numbers; of the stumps with two answers ability below 1.5 is the best; "
        "AdaBoost may begin with -1 everywhere, which is better (e = 0.2), and makes no mistake after six rounds.",
    ),
]
