"""Li, chapter 3: the k-nearest neighbour method (k 近邻法)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.datasets.texts import Example

T = [(2, 3), (5, 4), (9, 6), (4, 7), (8, 1), (7, 2)]
P = {"A": (5, 5), "B": (8, 4), "C": (3, 6), "D": (7, 1), "E": (4.5, 2), "F": (7, 8), "G": (2, 8)}


def distances(x1: Any, x2: Any, x3: Any) -> dict[str, Any]:
    from tercet.metrics.distance import minkowski

    powers = [1, 2, 3, 4, np.inf]
    near = [float(minkowski(x1, x2, p)) for p in powers]
    far = [float(minkowski(x1, x3, p)) for p in powers]
    return {
        "L_p(x1, x2)": near,
        "L_p(x1, x3)": far,
        "nearest": ["x2" if a < b else "x3" for a, b in zip(near, far)],
    }


def crossover(x1: Any, x2: Any, x3: Any) -> dict[str, Any]:
    from scipy.optimize import brentq

    from tercet.metrics.distance import minkowski

    return {"p": brentq(lambda p: float(minkowski(x1, x2, p) - minkowski(x1, x3, p)), 1, 9, xtol=1e-12)}


def tree(T: Any) -> dict[str, Any]:
    from tercet.neighbors import BalancedKDTree

    grown = BalancedKDTree(T)
    root, axis, left, right = grown.nested()
    low, high = grown.regions()[grown.left[0]]
    return {
        "root": root,
        "axis": axis,
        "left branch": str(left),
        "right branch": str(right),
        "region of the left child": np.array([low, high]).T,
    }


def traced(P: dict[str, Any], S: Any, k: int) -> dict[str, Any]:
    from tercet.neighbors import BalancedKDTree

    names = list(P)
    distance, rows, trace = BalancedKDTree(list(P.values())).query(S, k, trace=True)
    looks = [step for step in trace.steps if step.action == "look"]
    return {
        "visited": [names[row] for row in trace.visited],
        "pruned": [names[row] for row in trace.pruned],
        "distances": [step.distance for step in looks],
        "radii": [step.radius for step in looks],
        "neighbours": [names[row] for row in rows],
        "distance": distance[-1],
    }


def scan(P: dict[str, Any], S: Any) -> dict[str, Any]:
    from tercet.neighbors import KDTree, NearestNeighbors

    points = np.array(list(P.values()), dtype=float)
    by_scan = NearestNeighbors(n_neighbors=len(P), algorithm="brute").fit(points).kneighbors([S])
    by_tree = KDTree(points, leaf_size=1).query([S], len(P))
    return {
        "order": "".join(list(P)[row] for row in by_scan[1][0]),
        "distances": by_scan[0][0],
        "order by the tree": "".join(list(P)[row] for row in by_tree[1][0]),
    }


def all_are_neighbours(T: Any, y: list[str], x: Any) -> dict[str, Any]:
    from tercet.neighbors import KNeighborsClassifier

    model = KNeighborsClassifier(n_neighbors=len(T)).fit(T, y)
    return {
        "classes": model.predict(x),
        "shares": model.predict_proba(x)[0],
        "classes in order": model.classes_,
    }


EXAMPLES = [
    Example(
        place="Li Ex 3.1",
        title="nearest neighbours under L_p distances",
        zh="不同 L_p 距离下的最近邻点",
        given={"x1": (1, 1), "x2": (5, 1), "x3": (4, 4)},
        call=distances,
        expected={
            "L_p(x1, x2)": [4.0, 4.0, 4.0, 4.0, 4.0],
            "L_p(x1, x3)": [6.0, 18**0.5, 54 ** (1 / 3), 162**0.25, 3.0],
            "nearest": ["x2", "x2", "x3", "x3", "x3"],
        },
        note="printed as 6, 4.24, 3.78, 3.57",
    ),
    Example(
        place="Li Ex 3.1",
        title="the power at which the nearest neighbour changes",
        zh="最近邻点改变时的 p",
        given={"x1": (1, 1), "x2": (5, 1), "x3": (4, 4)},
        call=crossover,
        expected={"p": float(np.log(2) / np.log(4 / 3))},
        note="not in the text: 4 = 3 · 2^(1/p)",
    ),
    Example(
        place="Li Ex 3.2",
        title="a balanced kd-tree of six points",
        zh="构造平衡 kd 树",
        given={"T": T},
        call=tree,
        expected={
            "root": (7, 2),
            "axis": 0,
            "left branch": "((5, 4), 1, ((2, 3), 0, None, None), ((4, 7), 0, None, None))",
            "right branch": "((9, 6), 1, ((8, 1), 0, None, None), None)",
            "region of the left child": [[-np.inf, 7.0], [-np.inf, np.inf]],
        },
        note="the median of the first coordinate is taken to be 7, the upper of the two middle values 5 and 7",
    ),
    Example(
        place="Li Ex 3.3",
        title="search of a kd-tree for the nearest neighbour",
        zh="kd 树的最近邻搜索",
        given={"P": P, "S": (5.5, 2.0), "k": 1},
        call=traced,
        expected={
            "visited": ["D", "B", "A", "E", "C"],
            "pruned": ["F", "G"],
            "distances": [1.8027756377, 3.2015621187, 3.0413812651, 1.0, 4.7169905660],
            "radii": [1.8027756377, 1.8027756377, 1.8027756377, 1.0, 1.0],
            "neighbours": ["E"],
            "distance": 1.0,
        },
        note="the text has a figure without coordinates; these reproduce its tree and its search",
    ),
    Example(
        place="Li Ex 3.3",
        title="search of a kd-tree for two neighbours",
        zh="kd 树的 k 近邻搜索（k = 2）",
        given={"P": P, "S": (5.5, 2.0), "k": 2},
        call=traced,
        expected={
            "visited": ["D", "B", "F", "A", "E", "C"],
            "pruned": ["G"],
            "distances": [1.8027756377, 3.2015621187, 6.1846584384, 3.0413812651, 1.0, 4.7169905660],
            "radii": [np.inf, 3.2015621187, 3.2015621187, 3.0413812651, 1.8027756377, 1.8027756377],
            "neighbours": ["E", "D"],
            "distance": 1.8027756377,
        },
        note="an exercise of the text; the ball reaches to the second best distance so far",
    ),
    Example(
        place="Li sec. 3.3",
        title="a linear scan finds what the kd-tree finds",
        zh="线性扫描与 kd 树结果相同",
        given={"P": P, "S": (5.5, 2.0)},
        call=scan,
        derived=True,
        expected={
            "order": "EDABCFG",
            "distances": [1.0, 1.8027756377, 3.0413812651, 3.2015621187, 4.7169905660, 6.1846584384, 6.9462219947],
            "order by the tree": "EDABCFG",
        },
    ),
    Example(
        place="Li sec. 3.2.3",
        title="with k = N the class is always that of the majority",
        zh="k = N 时总是预测为最多的类",
        given={"T": T, "y": ["+", "+", "-", "+", "-", "+"], "x": [(9, 6), (0, 0), (100, -100)]},
        call=all_are_neighbours,
        derived=True,
        expected={"classes": ["+", "+", "+"], "shares": [4 / 6, 2 / 6], "classes in order": ["+", "-"]},
    ),
]  # fmt: skip
