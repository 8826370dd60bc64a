"""Text 001, chapter 8: decision trees (决策树)."""

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


EXAMPLES = [
    Example(
        place="001 sec. 8.1.2",
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
        place="001 sec. 8.1.3",
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
        place="001 sec. 8.1.4",
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
        place="001 sec. 8.1.4",
        title="pruning by entropy: the root goes before the node below it",
        zh="按熵剪枝：根结点先于其下的结点被剪",
        given={"counts": [[6, 4], [5, 1], [1, 3], [1, 0], [0, 3]]},
        call=entropy_pruning,
        expected={"alpha of the right node": 2.2493406, "alphas": [0.0, 2.0133747], "leaves": [3, 1]},
        rtol=1e-7,
        note="derived, in nats",
    ),
]  # fmt: skip
