"""Watermelon notes, chapter 2: decision trees (决策树)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.datasets.texts import Example
from tercet.datasets.texts.ch05 import outline

TRAIN, VALIDATION = [1, 2, 3, 6, 7, 10, 14, 15, 16, 17], [4, 5, 8, 9, 11, 12, 13]


def melons(version: str) -> tuple[list[str], np.ndarray, np.ndarray]:
    from tercet.datasets import load_watermelon

    table = load_watermelon(version)  # type: ignore[arg-type]
    return table.feature_names_zh, table.data, table.target


def measures() -> dict[str, Any]:
    from tercet.metrics.impurity import gini_index, label_gini
    from tercet.metrics.information import information_gain, information_gain_ratio, label_entropy
    from tercet.tree import DecisionTreeClassifier

    names, X, y = melons("2.0")
    columns = {name: X[:, j].astype(str) for j, name in enumerate(names)}
    roots = {
        algorithm: names[DecisionTreeClassifier(algorithm=algorithm).fit(X, y).tree_.feature[0]]
        for algorithm in ("id3", "c45")
    }
    return {
        "Ent(D)": label_entropy(y, base=2),
        "Gini(D)": label_gini(y),
        "gain": {name: information_gain(y, a, base=2) for name, a in columns.items()},
        "IV": {name: label_entropy(a, base=2) for name, a in columns.items()},
        "gain ratio": {name: information_gain_ratio(y, a) for name, a in columns.items()},
        "Gini index": {name: gini_index(y, a) for name, a in columns.items()},
        "roots": roots,
    }


def bipartition() -> dict[str, Any]:
    from tercet.tree import InformationSelector

    names, X, y = melons("3.0alpha")
    found = InformationSelector().fit(X, y)
    return {"t": dict(zip(names, found.cuts_)), "gain": dict(zip(names, found.scores_))}


def missing() -> dict[str, Any]:
    from tercet.tree import DecisionTreeClassifier, InformationSelector

    names, X, y = melons("2.0alpha")
    known = X != None  # noqa: E711
    model = DecisionTreeClassifier(algorithm="id3").fit(X, y)
    tree, root = model.tree_, model.tree_.feature[0]
    values = [str(v) for v in model.categories_[root]]
    # Melons whose texture is not known are in all branches, with a part of their weight.
    branch = values.index("清晰")
    share = tree.share[list(tree.children(0))]
    here = (X[:, root] == "清晰") | ~known[:, root]
    weight = np.where(known[here, root], 1.0, share[branch])
    inner = InformationSelector().fit(X[here], y[here], weight)
    return {
        "rho": dict(zip(names, known.mean(axis=0))),
        "gain": dict(zip(names, InformationSelector().fit(X, y).scores_)),
        "root": names[root],
        "shares": dict(zip(values, share)),
        "gain in the branch": {n: s for j, (n, s) in enumerate(zip(names, inner.scores_)) if j != root},
        "test in the branch": names[tree.feature[tree.child[0] + branch]],
    }


def pruning(train: list[int], validation: list[int]) -> dict[str, Any]:
    from tercet.tree import DecisionTreeClassifier, InformationSelector

    names, X, y = melons("2.0")
    # Of equal gains the first feature wins, of equal classes the smallest: navel first, and good before bad.
    order = [names.index(name) for name in ("脐部", "色泽", "根蒂", "敲声", "纹理", "触感")]
    names, X, y = [names[j] for j in order], X[:, order], np.where(y == 1, "good", "not good")
    grow, rest = np.array(train) - 1, np.array(validation) - 1

    def fitted(**options: Any) -> Any:
        model = DecisionTreeClassifier(algorithm="id3", categorical_features="from_dtype", **options)
        return model.fit(X[grow], y[grow], X_val=X[rest], y_val=y[rest])

    def right(model: Any) -> float:
        return model.score(X[rest], y[rest])

    full = fitted()
    leaf = full.classes_[full.tree_.value[0, 0].argmax()]
    pre, post = fitted(pruning="pre"), fitted(pruning="reduced_error")
    ties = fitted(pruning="reduced_error", pruning_ties=True)
    return {
        "gain": dict(zip(names, InformationSelector().fit(X[grow], y[grow]).scores_)),
        "right": [np.mean(y[rest] == leaf), right(full), right(pre), right(post), right(ties)],
        "pre-pruned": outline(pre, names),
        "post-pruned": outline(post, names),
        "post-pruned, ties too": outline(ties, names),
    }


def boosted_numbers(x: list[float], y: list[float], rounds: int) -> dict[str, Any]:
    from tercet.ensemble import GradientBoostingRegressor

    rows = np.array(x, dtype=float)[:, None]
    model = GradientBoostingRegressor(n_estimators=rounds, learning_rate=1.0, max_depth=1).fit(rows, y)
    trees = [row[0].tree_ for row in model.estimators_]
    return {
        "F0": float(model.init_[0]),
        "t": [float(tree.threshold[0]) for tree in trees],
        "leaves": [tree.value[1:, 0, 0] for tree in trees],
        "squared error": [float(np.square(y - F).sum()) for F in model.staged_predict(rows)],
        "F": model.predict(rows),
    }


def boosted_classes(x: list[float], y: list[int]) -> dict[str, Any]:
    from tercet.ensemble import GradientBoostingClassifier

    rows = np.array(x, dtype=float)[:, None]
    model = GradientBoostingClassifier(n_estimators=1, learning_rate=1.0, max_depth=1).fit(rows, y)
    tree = model.estimators_[0, 0].tree_
    return {"F0": float(model.init_[0]), "t": float(tree.threshold[0]), "leaves": tree.value[1:, 0, 0]}


STUMP = {"脐部": {"凹陷": "good", "平坦": "not good", "稍凹": "good"}}
ZH = ("色泽", "根蒂", "敲声", "纹理", "脐部", "触感")
EXAMPLES = [
    Example(
        place="watermelon notes ch. 2, eq. 2.1-2.7",
        title="gain, gain ratio and Gini index on watermelons 2.0",
        zh="西瓜数据集 2.0 上的信息增益、增益率和基尼指数",
        given={},
        call=measures,
        expected={
            "Ent(D)": 0.9975025464,
            "Gini(D)": 0.4982698962,
            "gain": dict(zip(ZH, [0.108125, 0.142675, 0.140781, 0.380592, 0.289159, 0.006046])),
            "IV": dict(zip(ZH, [1.579863, 1.402081, 1.332820, 1.446648, 1.548565, 0.873981])),
            "gain ratio": dict(zip(ZH, [0.068440, 0.101759, 0.105627, 0.263085, 0.186727, 0.006918])),
            "Gini index": dict(zip(ZH, [0.427451, 0.422269, 0.423529, 0.277124, 0.344538, 0.494118])),
            "roots": {"id3": "纹理", "c45": "纹理"},
        },
        rtol=0,
        atol=6e-7,
        note="derived",
    ),
    Example(
        place="watermelon notes ch. 2, eq. 2.8",
        title="density and sugar cut in two",
        zh="密度和含糖率的二分法",
        given={},
        call=bipartition,
        expected={
            "t": {"密度": 0.3815, "含糖率": 0.126},
            "gain": {"密度": 0.2624392604, "含糖率": 0.3492937223},
        },
        note="derived",
    ),
    Example(
        place="watermelon notes ch. 2, eq. 2.9, 2.10",
        title="missing values: melons that are in several branches",
        zh="缺失值处理：西瓜数据集 2.0α",
        given={},
        call=missing,
        expected={
            "rho": dict(zip(ZH, [14 / 17, 15 / 17, 15 / 17, 15 / 17, 15 / 17, 15 / 17])),
            "gain": dict(zip(ZH, [0.251966, 0.171178, 0.144803, 0.423560, 0.288825, 0.005713])),
            "root": "纹理",
            "shares": {"模糊": 3 / 15, "清晰": 7 / 15, "稍糊": 5 / 15},
            "gain in the branch": {
                "色泽": 0.007088, "根蒂": 0.387776, "敲声": 0.218632, "脐部": 0.297223, "触感": 0.347732,
            },
            "test in the branch": "根蒂",
        },
        rtol=0,
        atol=6e-7,
        note="derived",
    ),
    Example(
        place="watermelon notes ch. 2, 2.4",
        title="pre-pruning and post-pruning on watermelons 2.0",
        zh="西瓜数据集 2.0 上的预剪枝和后剪枝",
        given={"train": TRAIN, "validation": VALIDATION},
        call=pruning,
        expected={
            "gain": {"脐部": 0.2755, "色泽": 0.2755, "根蒂": 0.1145, "敲声": 0.1735, "纹理": 0.1735, "触感": 0.0},
            "right": [3 / 7, 3 / 7, 5 / 7, 5 / 7, 5 / 7],
            "pre-pruned": STUMP,
            "post-pruned": {
                "脐部": {
                    "凹陷": "good",
                    "平坦": "not good",
                    "稍凹": {"根蒂": {"稍蜷": {"色泽": {"乌黑": "good", "青绿": "good"}}, "蜷缩": "not good"}},
                }
            },
            "post-pruned, ties too": STUMP,
        },
        rtol=0,
        atol=5e-5,
        note="derived; ties go to the navel and to good melons",
    ),
    Example(
        place="watermelon notes ch. 2, 2.6",
        title="gradient boosted trees: two stumps fitted to residuals",
        zh="迭代决策树 GBDT（平方损失）",
        given={"x": [1, 2, 3, 4, 5, 6], "y": [1.0, 1.2, 0.9, 3.0, 3.2, 5.0], "rounds": 2},
        call=boosted_numbers,
        expected={
            "F0": 2.3833333333,
            "t": [3.5, 5.5],
            "leaves": [[-1.35, 1.35], [-0.2533333333, 1.2666666667]],
            "squared error": [2.4733333333, 0.548],
            "F": [0.78, 0.78, 0.78, 3.48, 3.48, 5.0],
        },
        note="derived",
    ),
    Example(
        place="watermelon notes ch. 2, 2.6",
        title="gradient boosted trees of two classes: a Newton step in each leaf",
        zh="迭代决策树 GBDT（二分类）",
        given={"x": [1, 2, 3, 4, 5, 6], "y": [0, 0, 1, 0, 1, 1]},
        call=boosted_classes,
        expected={"F0": 0.0, "t": 2.5, "leaves": [-2.0, 1.0]},
        note="derived; the tests at 2.5 and 4.5 are equally good, and the first is taken",
    ),
]  # fmt: skip
