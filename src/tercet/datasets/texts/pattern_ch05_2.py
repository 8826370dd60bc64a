"""Pattern Recognition, chapter 5.2: piecewise-linear discriminants (分段线性判别函数)."""

from __future__ import annotations

from typing import Any

from tercet.datasets.texts import Example

MEANS = {1: [[0, 0], [4, 4]], 2: [[4, 0]]}
POINTS = [[1, 1], [3, 1], [2.5, 2.5], [3, 3]]
SAMPLES = [[-2, 1], [2, 1], [0, 2], [-3, 1], [3, 1], [0.5, 2]]  # x and its class
XOR = [[0, 0], [1, 1], [0, 1], [1, 0]]


def minimum_distance(X1: Any, X2: Any, points: Any) -> dict[str, Any]:
    from tercet.neighbors import NearestCentroid

    model = NearestCentroid().fit([*X1, *X2], [1] * len(X1) + [2] * len(X2))
    return {"means": model.centroids_, "classes": model.predict(points)}


def piecewise_linear_distance(means: Any, points: Any) -> dict[str, Any]:
    from tercet.discriminant_analysis import PiecewiseLinearDistance

    rows = [mean for table in means.values() for mean in table]
    labels = [label for label, table in means.items() for _ in table]
    model = PiecewiseLinearDistance(means=means).fit(rows, labels)
    return {"g": model.distances(points), "classes": model.predict(points)}


def subclass_means(means: Any, spread: float) -> dict[str, Any]:
    """Clouds of four rows around the means: k-means within each class finds the means again."""
    import numpy as np

    from tercet.discriminant_analysis import PiecewiseLinearDistance

    around = spread * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])
    X = np.concatenate([mean + around for table in means.values() for mean in table])
    y = np.repeat([label for label, table in means.items() for _ in table], 4)
    counts = {label: len(table) for label, table in means.items()}
    model = PiecewiseLinearDistance(counts, random_state=0).fit(X, y)
    return {"means": model.subclass_means_, "labels": model.subclass_labels_}


def error_correction(samples: Any, init: Any) -> dict[str, Any]:
    from tercet.discriminant_analysis import PiecewiseLinearDiscriminant

    model = PiecewiseLinearDiscriminant({1: 2, 2: 1}, init=init, shuffle=False)
    model.fit([[x] for x, _ in samples], [label for _, label in samples])
    mistakes = model.history_["mistakes"]
    return {
        "w": model.coef_[:, 0],
        "w0": model.intercept_,
        "corrections": sum(mistakes),
        "passes": len(mistakes),
        "clean": mistakes[-1] == 0,
    }


def tree_of_hyperplanes(X: Any, y: Any) -> dict[str, Any]:
    from tercet.discriminant_analysis import PiecewiseLinearTree

    model = PiecewiseLinearTree("bisector").fit(X, y)
    return {"classes": model.predict(X), "hyperplanes": len(model.tree_.coef), "leaves": model.get_n_leaves()}


EXAMPLES = [
    Example(
        place="Pattern Recognition sec. 5.2.1",
        title="minimum-distance classifier: the perpendicular bisector of two means",
        zh="最小距离分类器: 两类均值连线的垂直平分面",
        given={"X1": [[0, 0], [2, 0]], "X2": [[5, 0], [5, 4]], "points": [[2.9, 1.2], [3.5, 1.0]]},
        call=minimum_distance,
        expected={"means": [[1.0, 0.0], [5.0, 2.0]], "classes": [1, 2]},
        note="The text has no numbers here; the bisector is 2 x1 + x2 = 7.",
    ),
    Example(
        place="Pattern Recognition Eq 5-1",
        title="piecewise-linear distance classifier with given subclass means",
        zh="分段线性距离分类器: 到各子类均值的最小距离",
        given={"means": MEANS, "points": POINTS},
        call=piecewise_linear_distance,
        expected={
            "g": [
                [1.4142135624, 3.1622776602],
                [3.1622776602, 1.4142135624],
                [2.1213203436, 2.9154759474],
                [1.4142135624, 3.1622776602],
            ],
            "classes": [1, 2, 1, 1],
        },
        rtol=1e-9,
        note="The text has no numbers here; these were worked out from its formulas.",
    ),
    Example(
        place="Pattern Recognition Eq 5-2",
        title="division of classes into subclasses by clustering",
        zh="用聚类划分子类",
        given={"means": MEANS, "spread": 0.5},
        call=subclass_means,
        expected={"means": [[0.0, 0.0], [4.0, 4.0], [4.0, 0.0]], "labels": [1, 1, 2]},
        atol=1e-12,
        note="The text has no numbers here; k-means in each class finds the centres of its clouds.",
    ),
    Example(
        place="Pattern Recognition Eq 5-8",
        title="error correction trains a piecewise-linear discriminant",
        zh="错误修正法训练分段线性判别函数",
        given={"samples": SAMPLES, "init": {1: [[0, -0.1], [0, 0.1]], 2: [[0, 0]]}},
        call=error_correction,
        expected={
            "w": [2.4, -2.9, 0.5],
            "w0": [-1.0, 0.0, 1.0],
            "corrections": 5,
            "passes": 3,
            "clean": True,
        },
        atol=1e-12,
        note="The text has no numbers here; ρ = 1, ties go to the first subclass, samples in the order listed.",
    ),
    Example(
        place="Pattern Recognition Fig 5-4",
        title="tree of hyperplanes for two classes that no hyperplane separates",
        zh="树状分段线性分类器",
        given={"X": XOR, "y": [1, 1, 2, 2]},
        call=tree_of_hyperplanes,
        expected={"classes": [1, 1, 2, 2], "hyperplanes": 3, "leaves": 4},
        note="The text has no numbers here; each hyperplane is the bisector of the closest opposite pair.",
    ),
]
