"""Machine Learning in Depth, chapter 8: decision trees (决策树)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.datasets.texts import Example

ROWS = ["sy0", "sn0", "oy1", "ry1", "rn1", "rn0", "on1", "sy0", "sn1", "ry1"]  # A, B and the class
X, Y = [1, 2, 3, 4, 5, 6], [1, 1.2, 1.1, 3.0, 3.2, 5.0]


def measures(rows: list[str]) -> dict[str, Any]:
    from tercet.metrics.impurity import gini_index, label_gini
    from tercet.metrics.information import (
        information_gain,
        information_gain_ratio,
        label_conditional_entropy,
        label_entropy,
    )

    A, B, y = (np.array(column) for column in zip(*rows))
    return {
        "H(D)": label_entropy(y, base=2),
        "H(D|A)": label_conditional_entropy(y, A, base=2),
        "H_A(D)": label_entropy(A, base=2),
        "gain": [information_gain(y, A, base=2), information_gain(y, B, base=2)],
        "gain ratio": information_gain_ratio(y, A),
        "Gini(D)": label_gini(y),
        "Gini(D, A)": {v: gini_index(y, A, value=v) for v in "sor"} | {"B": gini_index(y, B)},
    }


def linear_booster(x: list[float], y: list[float], alpha: float, lam: float) -> dict[str, Any]:
    from tercet.ensemble import LinearBoostingClassifier, LinearBoostingRegressor

    rows, target = np.array(x, dtype=float)[:, None], np.array(y)
    options: dict[str, Any] = {"l1_regularization": alpha, "l2_regularization": lam}
    numbers = LinearBoostingRegressor(**options).fit(rows, target)
    classes = LinearBoostingClassifier(max_iter=1, **options).fit(rows, target > 2)
    return {
        "w": numbers.coef_[0],
        "b": numbers.intercept_,
        "objective": numbers.history_["objective"][-1],
        "w of the classes": classes.coef_[0, 0],
    }


def regression_tree(x: list[float], y: list[float]) -> dict[str, Any]:
    from tercet.tree import DecisionTreeRegressor

    rows, target = np.array(x, dtype=float)[:, None], np.array(y)
    cuts = rows[:-1, 0] / 2 + rows[1:, 0] / 2
    sides = [[target[rows[:, 0] <= cut], target[rows[:, 0] > cut]] for cut in cuts]
    tree = DecisionTreeRegressor(max_leaf_nodes=3).fit(rows, y).tree_
    return {
        "squared errors": [sum(((side - side.mean()) ** 2).sum() for side in pair) for pair in sides],
        "thresholds": np.sort(tree.threshold[tree.n_children > 0]),
        "values": np.sort(tree.value[tree.n_children == 0].ravel()),
    }


def regression_pruning(x: list[float], y: list[float]) -> dict[str, Any]:
    from tercet.tree import DecisionTreeRegressor, cost_complexity_path

    rows = np.array(x, dtype=float)[:, None]
    tree = DecisionTreeRegressor(max_leaf_nodes=3).fit(rows, y).tree_
    alphas, ends = cost_complexity_path(tree)
    mass = tree.weighted_n_node_samples * tree.impurity
    leaves = mass[tree.n_children == 0].sum()
    return {
        "alpha of the root": (mass[0] - leaves) / 2,
        "alphas": alphas * len(y),
        "leaves": ends.n_leaves,
    }


def entropy_pruning(counts: list[list[int]]) -> dict[str, Any]:
    from tercet.metrics.information import entropy
    from tercet.tree import TreeBuilder, cost_complexity_path

    def grown(nodes: list[list[int]], inner: list[int]) -> Any:
        """A tree whose nodes have these numbers of two classes; those of `inner` are tests."""
        builder = TreeBuilder(n_features=1)
        builder.add_root()
        for t in inner:
            builder.split(t, feature=0, threshold=0.0)
        for t, count in enumerate(nodes):
            p, n = np.array(count) / sum(count), sum(count)
            builder.set(t, value=[p], impurity=float(entropy(p)), samples=n, weight=n)
        return builder.tree(n_classes=[2])

    whole, right = grown(counts, [0, 2]), grown(counts[2:], [0])
    alphas, ends = cost_complexity_path(whole)
    return {
        "alpha of the right node": cost_complexity_path(right)[0][-1] * sum(counts[2]),
        "alphas": alphas * sum(counts[0]),
        "leaves": ends.n_leaves,
    }


def boosted_stumps(x: list[float], y: list[int], rounds: int) -> dict[str, Any]:
    from tercet.ensemble import AdaBoostClassifier
    from tercet.tree import DecisionStump

    rows, target = np.array(x, dtype=float)[:, None], np.array(y)
    model = AdaBoostClassifier(DecisionStump(), n_estimators=rounds, algorithm="m1").fit(rows, target)
    return {
        "thresholds": [stump.threshold_ for stump in model],
        "left": [int(stump.left_) for stump in model],
        "e": model.estimator_errors_,
        "alpha": model.estimator_weights_,
        "product of Z": np.cumprod(model.history_["Z"]),
        "training error": [np.mean(labels != target) for labels in model.staged_predict(rows)],
    }


def gradient_boosting(x: list[float], y: list[float], rounds: int, loss: Any) -> dict[str, Any]:
    from tercet.ensemble import GradientBoostingRegressor

    rows = np.array(x, dtype=float)[:, None]
    model = GradientBoostingRegressor(loss=loss, n_estimators=rounds, learning_rate=1.0, max_depth=1).fit(
        rows, y
    )
    trees = [row[0].tree_ for row in model.estimators_]
    size = np.abs if loss == "absolute_error" else np.square
    return {
        "F0": float(model.init_[0]),
        "thresholds": [float(tree.threshold[0]) for tree in trees],
        "leaves": [tree.value[1:, 0, 0] for tree in trees],
        "F": model.predict(rows),
        "loss": [float(size(y - F).sum()) for F in model.staged_predict(rows)],
    }


def one_step(x: list[float], y: list[float]) -> dict[str, Any]:
    from tercet.ensemble import ForwardStagewiseRegressor

    rows, start = np.array(x, dtype=float)[:, None], float(np.median(y))
    rest = np.array(y) - start
    model = ForwardStagewiseRegressor(loss="absolute", n_estimators=1).fit(rows, rest)
    losses = [np.abs(rest).sum(), np.abs(rest - model.predict(rows)).sum()]
    return {"F0": start, "threshold": model[0].tree_.threshold[0], "loss": losses}


SECOND_ORDER: dict[str, Any] = {
    "max_iter": 1, "max_depth": 1, "min_samples_leaf": 1, "learning_rate": 1.0, "l2_regularization": 1.0,
}  # fmt: skip


def stump_and_gain(model: Any) -> tuple[Any, float]:
    """The only tree of a model, and the gain 8.7 of its test; 0 where it has none."""
    tree = model.trees_[0][0]
    score = tree.weighted_n_node_samples * np.abs(tree.impurity)  # G² / (H + lambda) of each node
    return tree, float(score[1] + score[2] - score[0]) if tree.node_count > 1 else 0.0


def second_order_boosting(x: list[float], y: list[float], start: float) -> dict[str, Any]:
    from tercet.ensemble import HistGradientBoostingRegressor

    rows, first = np.array(x, dtype=float)[:, None], np.full(len(x), start)
    cuts = rows[:-1, 0] / 2 + rows[1:, 0] / 2
    model = HistGradientBoostingRegressor(**SECOND_ORDER).fit(rows, y, init_score=first)
    tree, _ = stump_and_gain(model)
    sides = [
        HistGradientBoostingRegressor(**SECOND_ORDER).fit(1.0 * (rows > cut), y, init_score=first)
        for cut in cuts
    ]
    return {
        "gains": [stump_and_gain(one)[1] for one in sides],
        "threshold": tree.threshold[0],
        "leaves": tree.value[1:, 0, 0],
    }


def missing_values(x: list[float], y: list[int]) -> dict[str, Any]:
    from tercet.ensemble import HistGradientBoostingClassifier

    rows = np.array(x, dtype=float)[:, None]
    model = HistGradientBoostingClassifier(**SECOND_ORDER).fit(rows, y, init_score=np.zeros(len(y)))
    tree, gain = stump_and_gain(model)
    side = "right" if tree.missing[0] else "left"
    return {
        "threshold": tree.threshold[0], "missing goes": side, "gain": gain, "leaves": tree.value[1:, 0, 0],
    }  # fmt: skip


def two_trees(age: list[int], male: list[int], computer: list[int]) -> dict[str, Any]:
    from tercet.tree import TreeBuilder

    first, second = TreeBuilder(n_features=3), TreeBuilder(n_features=3)
    first.add_root()
    first.split(0, feature=0, threshold=15.0)  # 1: younger, 2: older
    first.split(1, feature=1, threshold=0.5)  # 3: not male, 4: male
    second.add_root()
    second.split(0, feature=2, threshold=0.5)  # 1: no, 2: daily
    for builder, values in ((first, [0.0, 0.0, -1.0, 0.1, 2.0]), (second, [0.0, -0.9, 0.9])):
        for t, value in enumerate(values):
            builder.set(t, value=[[value]], impurity=0.0, samples=1, weight=1.0)
    rows = np.column_stack([age, male, computer]).astype(float)
    trees = [builder.tree(n_classes=[1]) for builder in (first, second)]
    return {"F": sum(tree.predict(rows)[:, 0, 0] for tree in trees)}


EXAMPLES = [
    Example(
        place="Machine Learning in Depth sec. 8.1.2",
        title="entropy, information gain, gain ratio and Gini index of ten rows",
        zh="十个样本的熵、信息增益、信息增益比和基尼指数",
        given={"rows": ROWS},
        call=measures,
        expected={
            "H(D)": 0.9709505945,
            "H(D|A)": 0.6490224996,
            "H_A(D)": 1.5219280949,
            "gain": [0.3219280949, 0.0],
            "gain ratio": 0.2115264814,
            "Gini(D)": 0.48,
            "Gini(D, A)": {"s": 0.3166666667, "o": 0.4, "r": 0.45, "B": 0.48},
        },
        note="derived",
    ),
    Example(
        place="Machine Learning in Depth sec. 8.1.3",
        title="least-squares regression tree of six points",
        zh="六个点的最小二乘回归树",
        given={"x": X, "y": Y},
        call=regression_tree,
        expected={
            "squared errors": [10.44, 7.6475, 2.4466666667, 4.3475, 4.84],
            "thresholds": [3.5, 5.5],
            "values": [1.1, 3.1, 5.0],
        },
        note="derived",
    ),
    Example(
        place="Machine Learning in Depth sec. 8.1.4",
        title="pruning of the regression tree",
        zh="回归树的剪枝",
        given={"x": X, "y": Y},
        call=regression_pruning,
        expected={
            "alpha of the root": 6.4041666667,
            "alphas": [0.0, 2.4066666667, 10.4016666667],
            "leaves": [3, 2, 1],
        },
        note="derived; the coefficient is printed without its minus sign",
    ),
    Example(
        place="Machine Learning in Depth sec. 8.1.4",
        title="pruning by entropy: the root goes before the node below it",
        zh="按熵剪枝：根结点先于其下的结点被剪",
        given={"counts": [[6, 4], [5, 1], [1, 3], [1, 0], [0, 3]]},
        call=entropy_pruning,
        expected={"alpha of the right node": 2.2493406, "alphas": [0.0, 2.0133747], "leaves": [3, 1]},
        rtol=1e-7,
        note="derived, in nats",
    ),
    Example(
        place="Machine Learning in Depth sec. 8.2",
        title="the boy and his grandfather: the sum of two trees",
        zh="两棵树之和：男孩与爷爷",
        given={"age": [10, 70], "male": [1, 1], "computer": [1, 1]},
        call=two_trees,
        expected={"F": [2.9, -0.1]},
        note="the figure's numbers are lost: those of the XGBoost paper",
    ),
    Example(
        place="Machine Learning in Depth sec. 8.2.3",
        title="AdaBoost with stumps on six points",
        zh="六个点上的 AdaBoost",
        given={"x": [0, 1, 2, 3, 4, 5], "y": [1, 1, -1, -1, 1, -1], "rounds": 4},
        call=boosted_stumps,
        expected={
            "thresholds": [1.5, 4.5, 3.5, 1.5],
            "left": [1, 1, -1, 1],
            "e": [1 / 6, 0.2, 0.1875, 5 / 26],
            "alpha": [0.8047189562, 0.6931471806, 0.7331685344, 0.7175422626],
            "product of Z": [0.7453559925, 0.5962847940, 0.4654746681, 0.3668996929],
            "training error": [1 / 6, 1 / 6, 0.0, 1 / 6],
        },
        note="derived",
    ),
    Example(
        place="Machine Learning in Depth sec. 8.2.4",
        title="gradient boosting with the squared loss",
        zh="平方损失的梯度提升树",
        given={"x": X, "y": Y, "rounds": 2, "loss": "squared_error"},
        call=gradient_boosting,
        expected={
            "F0": 2.4166666667,
            "thresholds": [3.5, 5.5],
            "leaves": [[-1.3166666667, 1.3166666667], [-0.2533333333, 1.2666666667]],
            "loss": [2.4466666667, 0.5213333333],
        },
        note="derived",
    ),
    Example(
        place="Machine Learning in Depth sec. 8.2.4",
        title="gradient boosting with the absolute loss",
        zh="绝对损失的梯度提升树",
        given={"x": X, "y": Y, "rounds": 1, "loss": "absolute_error"},
        call=gradient_boosting,
        expected={
            "F0": 2.1,
            "thresholds": [3.5],
            "leaves": [[-1.0, 1.1]],
            "F": [1.1, 1.1, 1.1, 3.2, 3.2, 3.2],
            "loss": [2.2],
        },
        note="derived: the best value for each leaf, as in Alg 8.4 of Li",
    ),
    Example(
        place="Machine Learning in Depth sec. 8.2.4",
        title="gradient boosting with the absolute loss, and one step for the whole tree",
        zh="绝对损失的梯度提升，整棵树一个步长",
        given={"x": X, "y": Y},
        call=one_step,
        expected={"F0": 2.1, "threshold": 3.5, "loss": [7.9, 2.3]},
        note="derived; all steps from 1 to 1.1 are equally good, and the text takes 1",
    ),
    Example(
        place="Machine Learning in Depth sec. 8.2.5",
        title="XGBoost: the gains of all tests, and the leaves of the best",
        zh="XGBoost：各切分点的增益与最优叶权重",
        given={"x": X, "y": Y, "start": 0.5},
        call=second_order_boosting,
        expected={
            "gains": [1.3988095238, 2.8051428571, 5.4396428571, 2.0851428571, 0.0],
            "threshold": 3.5,
            "leaves": [0.45, 2.425],
        },
        note="derived; the gain at 5.5 is -0.6012, and such a test is refused",
    ),
    Example(
        place="Machine Learning in Depth sec. 8.2.5",
        title="XGBoost: missing values go where they gain more",
        zh="XGBoost：缺失值的方向",
        given={"x": [1, 2, 3, float("nan"), 5, 6, float("nan")], "y": [0, 0, 1, 1, 1, 0, 1]},
        call=missing_values,
        expected={
            "threshold": 2.5, "missing goes": "right", "gain": 1.5757575758, "leaves": [-2 / 3, 2 / 3],
        },
        note="derived",
    ),
    Example(
        place="Machine Learning in Depth sec. 8.2.2.5",
        title="XGBoost's linear booster: L1 and L2 penalties of one weight",
        zh="XGBoost 的线性基学习器：一个权重的 L1 与 L2 惩罚",
        given={"x": X, "y": Y, "alpha": 1.0, "lam": 1.0},
        call=linear_booster,
        expected={"w": 0.7, "b": -1 / 30, "objective": 1.8916666667, "w of the classes": 0.6511627907},
        note="derived: T(13.95) / (17.5 + 1) with T(z) = z - 1; for the classes above 2, a step from p = 1/2, "
        "T(4.5) / (4.375 + 1)",
    ),
]  # fmt: skip
