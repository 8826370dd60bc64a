"""Text 002, chapter 8: dimensionality reduction and metric learning (降维与度量学习)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.datasets.texts import Example


def vote_of_neighbours(melon: list[float], k: int) -> dict[str, Any]:
    from tercet.datasets import load_watermelon
    from tercet.neighbors import KNeighborsClassifier, vote

    X, y = load_watermelon("3.0alpha", return_X_y=True)
    model = KNeighborsClassifier(k).fit(X, y)
    far, near = model.kneighbors([melon])
    by_distance = KNeighborsClassifier(k, weights="distance").fit(X, y)
    label, error = vote(np.asarray(y)[near[0]])
    return {
        "neighbours": near[0] + 1,
        "distances": far[0],
        "good": int(label),
        "local error": error,
        "share of good": model.predict_proba([melon])[0, 1],
        "share by distance": by_distance.predict_proba([melon])[0, 1],
    }


def choice_of_k(ks: list[int]) -> dict[str, Any]:
    from tercet.datasets import load_watermelon
    from tercet.neighbors import KNeighborsClassifierCV

    X, y = load_watermelon("3.0alpha", return_X_y=True)
    model = KNeighborsClassifierCV(ks, cv="loo").fit(X, y)
    return {"right": (model.scores_[:, 0] * len(y)).round().astype(int), "best k": model.best_k_}


def mean_of_neighbours(density: float, k: int) -> dict[str, Any]:
    from tercet.datasets import load_watermelon
    from tercet.neighbors import KNeighborsRegressor

    X = load_watermelon("3.0alpha", return_X_y=True)[0]
    model = KNeighborsRegressor(k).fit(X[:, :1], X[:, 1])
    return {"neighbours": model.kneighbors([[density]])[1][0] + 1, "sugar": model.predict([[density]])[0]}


def scaling_of_a_rectangle(corners: list[list[float]]) -> dict[str, Any]:
    from tercet.manifold import ClassicalMDS, double_centering
    from tercet.metrics import pairwise_distances

    D = pairwise_distances(corners)
    model = ClassicalMDS(4, metric="precomputed").fit(D)
    line = ClassicalMDS(1, metric="precomputed").fit(D).embedding_[:, 0]
    return {
        "B": double_centering(D),
        "eigenvalues": model.eigenvalues_,
        "one coordinate": line * np.sign(line[0]),
        "distances": pairwise_distances(model.embedding_)[0],
    }


EXAMPLES = [
    Example(
        place="002 ch. 8, 8.1",
        title="a melon judged by its five nearest, watermelons 3.0alpha",
        zh="西瓜数据集 3.0α 上的 k 近邻分类",
        given={"melon": [0.4, 0.3], "k": 5},
        call=vote_of_neighbours,
        expected={
            "neighbours": [6, 15, 8, 10, 7],
            "distances": [0.063071, 0.080623, 0.096385, 0.160431, 0.171353],
            "good": 1,
            "local error": 0.4,
            "share of good": 0.6,
            "share by distance": 0.632432,
        },
        rtol=1e-5,
        note="derived",
    ),
    Example(
        place="002 ch. 8, 8.1",
        title="the choice of k by leaving out one melon at a time",
        zh="西瓜数据集 3.0α 上用留一法选择 k",
        given={"ks": [1, 3, 5, 7, 9, 11, 13, 15]},
        call=choice_of_k,
        expected={"right": [16, 14, 13, 12, 10, 6, 7, 4], "best k": 1},
        note="derived",
    ),
    Example(
        place="002 ch. 8, 8.1",
        title="sugar content from the three nearest densities",
        zh="由密度最近的三个西瓜估计含糖率（k 近邻回归）",
        given={"density": 0.5, "k": 3},
        call=mean_of_neighbours,
        expected={"neighbours": [7, 5, 8], "sugar": 0.575 / 3},
        note="derived",
    ),
    Example(
        place="002 ch. 8, eq. 8.1-8.6",
        title="classical multidimensional scaling of a rectangle of 3 by 4",
        zh="3×4 矩形四个顶点的多维缩放",
        given={"corners": [[0, 0], [3, 0], [3, 4], [0, 4]]},
        call=scaling_of_a_rectangle,
        expected={
            "B": [
                [6.25, 1.75, -6.25, -1.75],
                [1.75, 6.25, -1.75, -6.25],
                [-6.25, -1.75, 6.25, 1.75],
                [-1.75, -6.25, 1.75, 6.25],
            ],
            "eigenvalues": [16.0, 9.0, 0.0, 0.0],
            "one coordinate": [2.0, 2.0, -2.0, -2.0],
            "distances": [0.0, 3.0, 5.0, 4.0],
        },
        atol=1e-9,
        note="derived",
    ),
]
