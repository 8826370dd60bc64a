"""Li, chapter 5: decision trees (决策树)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.datasets.texts import Example

# Who of Table 5.1 has no house of their own, from 1.
HOMELESS = [1, 2, 3, 5, 6, 7, 13, 14, 15]


def loans(rows: list[int] | None = None) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Table 5.1, or some of its rows: the features by name, and the classes."""
    from tercet.datasets import load_loans

    table = load_loans()
    here = slice(None) if rows is None else np.array(rows) - 1
    columns = {name: table.data[here, j].astype(str) for j, name in enumerate(table.feature_names)}
    return columns, table.target[here]


def frame(columns: dict[str, np.ndarray]) -> np.ndarray:
    return np.column_stack([values.astype(object) for values in columns.values()])


def outline(model: Any, names: list[str]) -> Any:
    """A tree of tests of categories as the texts draw it: {feature: {value: subtree or class}}."""
    tree = model.tree_

    def below(t: int) -> Any:
        if tree.n_children[t] == 0:
            return str(model.classes_[tree.value[t, 0].argmax()])
        j, start = tree.feature[t], tree.slot_start[t]
        slots = tree.slots[start : start + tree.slot_count[t]]
        values = [
            [v for v, s in zip(model.categories_[j], slots) if s == k] for k in range(tree.n_children[t])
        ]
        branches = {" or ".join(map(str, v)): below(c) for v, c in zip(values, tree.children(t))}
        return {names[j]: branches}

    return below(0)


def gains(rows: list[int] | None, features: list[str]) -> dict[str, Any]:
    from tercet.metrics.information import information_gain, label_conditional_entropy, label_entropy

    X, y = loans(rows)
    return {
        "H(D)": label_entropy(y, base=2),
        "H(D|A)": {name: label_conditional_entropy(y, X[name], base=2) for name in features},
        "gain": {name: information_gain(y, X[name], base=2) for name in features},
    }


def multiway(algorithm: str) -> dict[str, Any]:
    from tercet.tree import DecisionTreeClassifier

    X, y = loans()
    model = DecisionTreeClassifier(algorithm=algorithm).fit(frame(X), y)  # type: ignore[arg-type]
    leaves = model.tree_.n_node_samples[model.tree_.n_children == 0]
    return {"tree": outline(model, list(X)), "rows of the leaves": sorted(leaves.tolist())}


def gini_of_splits(rows: list[int] | None, splits: list[str]) -> dict[str, Any]:
    from tercet.metrics.impurity import gini_index, label_gini

    X, y = loans(rows)
    pairs = {split: split.split("=") for split in splits}
    return {
        "Gini(D)": label_gini(y),
        "Gini(D, A)": {split: gini_index(y, X[a], value=v) for split, (a, v) in pairs.items()},
    }


def cart() -> dict[str, Any]:
    from tercet.tree import DecisionTreeClassifier

    X, y = loans()
    model = DecisionTreeClassifier().fit(frame(X), y)
    return {"tree": outline(model, list(X)), "Gini(D)": model.tree_.impurity[0]}


def cost_pruning(alphas: list[float]) -> dict[str, Any]:
    from tercet.tree import DecisionTreeClassifier, cost_pruning

    X, y = loans()
    full = DecisionTreeClassifier(algorithm="id3").fit(frame(X), y).tree_
    mass = full.weighted_n_node_samples * full.impurity
    smaller = [
        full,
        full.collapsed(np.arange(full.node_count) == 1),
        full.collapsed(np.arange(full.node_count) == 0),
    ]
    costs = [(t.weighted_n_node_samples * t.impurity)[t.n_children == 0].sum() for t in smaller]
    return {
        "C(T)": costs,
        "leaves": [cost_pruning(full, alpha, base=2).n_leaves for alpha in alphas],
        "least alpha": mass[0] / (full.n_leaves - 1),
    }


def weakest_link(criterion: str) -> dict[str, Any]:
    from tercet.tree import DecisionTreeClassifier, cost_complexity_path

    X, y = loans()
    model = DecisionTreeClassifier(criterion=criterion).fit(frame(X), y)  # type: ignore[arg-type]
    alphas, ends = cost_complexity_path(model.tree_)
    return {"alphas": alphas, "leaves": ends.n_leaves}


def selection(threshold: float) -> dict[str, Any]:
    from tercet.tree import InformationSelector

    X, y = loans()
    gain = InformationSelector("gain", threshold=threshold).fit(frame(X), y)
    ratio = InformationSelector("ratio").fit(frame(X), y)
    return {
        "kept": [name for name, kept in zip(X, gain.get_support()) if kept],
        "gain ratio": dict(zip(X, ratio.scores_)),
    }


TREE = {"house": {"no": {"job": {"no": "no", "yes": "yes"}}, "yes": "yes"}}
EXAMPLES = [
    Example(
        place="Li Ex 5.2",
        title="information gain of the loan applications",
        zh="贷款申请样本的信息增益",
        given={"rows": None, "features": ["age", "job", "house", "credit"]},
        call=gains,
        expected={
            "H(D)": 0.9709505945,
            "H(D|A)": {"age": 0.8879430946, "job": 0.6473003963, "house": 0.5509775004, "credit": 0.6079610319},
            "gain": {"age": 0.0830074999, "job": 0.3236501982, "house": 0.4199730940, "credit": 0.3629895625},
        },
        note="printed with three digits: 0.971; 0.083, 0.324, 0.420, 0.363",
    ),
    Example(
        place="Li Ex 5.3",
        title="information gain among those without a house",
        zh="没有自己房子的样本子集上的信息增益",
        given={"rows": HOMELESS, "features": ["age", "job", "credit"]},
        call=gains,
        expected={
            "H(D)": 0.9182958341,
            "gain": {"age": 0.2516291674, "job": 0.9182958341, "credit": 0.4738513896},
        },
        note="the first gain is printed as 0.251, the difference of two rounded numbers",
    ),
    Example(
        place="Li Ex 5.3",
        title="ID3 tree of the loan applications",
        zh="ID3 算法生成的决策树",
        given={"algorithm": "id3"},
        call=multiway,
        expected={"tree": TREE, "rows of the leaves": [3, 6, 6]},
    ),
    Example(
        place="Li Alg 5.3",
        title="C4.5 tree of the loan applications",
        zh="C4.5 算法生成的决策树",
        given={"algorithm": "c45"},
        call=multiway,
        expected={"tree": TREE, "rows of the leaves": [3, 6, 6]},
        note="derived; the same tree as ID3's",
    ),
    Example(
        place="Li Ex 5.4",
        title="Gini index of every binary split of the loan applications",
        zh="各特征各取值的基尼指数",
        given={
            "rows": None,
            "splits": [
                "age=youth", "age=middle", "age=old", "job=yes", "house=yes",
                "credit=excellent", "credit=good", "credit=fair",
            ],
        },
        call=gini_of_splits,
        expected={
            "Gini(D)": 0.48,
            "Gini(D, A)": {
                "age=youth": 0.44, "age=middle": 0.48, "age=old": 0.44, "job=yes": 0.32, "house=yes": 4 / 15,
                "credit=excellent": 4 / 11, "credit=good": 64 / 135, "credit=fair": 0.32,
            },
        },
        note="printed with two digits; the value for middle age is not printed",
    ),
    Example(
        place="Li Ex 5.4",
        title="Gini index of every binary split of those without a house",
        zh="没有自己房子的样本子集上各划分的基尼指数",
        given={
            "rows": HOMELESS,
            "splits": [
                "age=youth", "age=middle", "age=old", "job=yes",
                "credit=excellent", "credit=good", "credit=fair",
            ],
        },
        call=gini_of_splits,
        expected={
            "Gini(D, A)": {
                "age=youth": 0.4333333333, "age=middle": 0.3809523810, "age=old": 1 / 3, "job=yes": 0.0,
                "credit=excellent": 1 / 3, "credit=good": 0.4, "credit=fair": 4 / 15,
            },
        },
        note="derived; the text only says that the split by work is best",
    ),
    Example(
        place="Li Ex 5.4",
        title="CART of the loan applications",
        zh="CART 算法生成的决策树",
        given={},
        call=cart,
        expected={"tree": TREE, "Gini(D)": 0.48},
    ),
    Example(
        place="Li Alg 5.4",
        title="pruning of the ID3 tree by its cost",
        zh="按损失函数剪枝",
        given={"alphas": [7.28, 7.29, 8.0]},
        call=cost_pruning,
        expected={"C(T)": [0.0, 8.2646625065, 14.5642589168], "leaves": [3, 1, 1], "least alpha": 7.2821294584},
        note="derived, in bits; going up one level at a time would stop at the whole tree for alpha = 8, "
        "whose cost of 24 is above the root's 22.56",
    ),
    Example(
        place="Li Alg 5.7",
        title="sequence of subtrees of CART",
        zh="CART 剪枝的子树序列",
        given={"criterion": "gini"},
        call=weakest_link,
        expected={"alphas": [0.0, 0.24], "leaves": [3, 1]},
        note="derived; g is 0.2667 at the test of work and 0.24 at the root, so that the root is cut first",
    ),
    Example(
        place="Li Alg 5.7",
        title="sequence of subtrees of CART, by entropy",
        zh="CART 剪枝的子树序列（熵）",
        given={"criterion": "entropy"},
        call=weakest_link,
        expected={"alphas": [0.0, 0.4854752972], "leaves": [3, 1]},
        note="derived, in bits",
    ),
    Example(
        place="Li sec. 5.2.1",
        title="features of the loan applications that tell enough",
        zh="特征选择",
        given={"threshold": 0.3},
        call=selection,
        expected={
            "kept": ["job", "house", "credit"],
            "gain ratio": {"age": 0.0523719, "job": 0.3524466, "house": 0.4325380, "credit": 0.2318539},
        },
        rtol=1e-6,
        note="derived",
    ),
]  # fmt: skip
