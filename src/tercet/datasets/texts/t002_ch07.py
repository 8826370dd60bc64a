"""Text 002, chapter 7: clustering (聚类)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.datasets.texts import Example


def melons() -> np.ndarray:
    from tercet.datasets import load_watermelon

    return load_watermelon("4.0").data


def groups(labels: np.ndarray) -> list[str]:
    """Clusters as the text writes them: numbers of the melons, from 1."""
    members = [np.flatnonzero(labels == c) + 1 for c in np.unique(labels)]
    return sorted((" ".join(map(str, m)) for m in members), key=lambda words: int(words.split()[0]))


def k_means(start: list[int]) -> dict[str, Any]:
    from tercet.cluster import KMeans

    X = melons()
    model = KMeans(len(start), init=[i - 1 for i in start], tol=0).fit(X)
    first = np.sqrt(((X[0] - X[[i - 1 for i in start]]) ** 2).sum(axis=1))
    return {
        "distances of x1": first,
        "clusters": groups(model.labels_),
        "means": model.cluster_centers_,
        "E": model.inertia_,
    }


def agnes(linkage: str, counts: list[int]) -> dict[str, Any]:
    from tercet.cluster import AgglomerativeClustering

    model = AgglomerativeClustering(counts[0], linkage=linkage).fit(melons())  # type: ignore[arg-type]
    return {
        "first merges": (model.children_[:3] + 1).tolist(),
        "first distances": model.distances_[:3],
        **{f"{k} clusters": groups(model.cut(k)) for k in counts},
    }


EXAMPLES = [
    Example(
        place="002 ch. 7, Alg 1",
        title="k-means on watermelons 4.0 from x6, x12 and x27",
        zh="西瓜数据集 4.0 上的 k 均值聚类",
        given={"start": [6, 12, 27]},
        call=k_means,
        expected={
            "distances of x1": [0.369005, 0.505606, 0.165436],
            "clusters": [
                "1 2 3 4 21 22 24 25 26 27 28 29 30",
                "5 6 7 8 9 10 13 14 15 17 18 19 20 23",
                "11 12 16",
            ],
            "means": [[0.473143, 0.214286], [0.393667, 0.066], [0.623462, 0.387923]],
            "E": 0.6991673919,
        },
        rtol=1e-5,
        note="derived",
    ),
    Example(
        place="002 ch. 7, Fig 9.11",
        title="AGNES on watermelons 4.0 by the longest distance",
        zh="西瓜数据集 4.0 上的 AGNES（全链接）",
        given={"linkage": "complete", "counts": [7, 4]},
        call=agnes,
        expected={
            "first merges": [[1, 29], [24, 30], [10, 20]],
            "first distances": [0.0317648, 0.0388330, 0.0402616],
            "7 clusters": [
                "1 26 29",
                "2 3 4 21 22",
                "5 7",
                "6 8 10 15 18 19 20",
                "9 13 14 16 17",
                "11 12",
                "23 24 25 27 28 30",
            ],
            "4 clusters": [
                "1 2 3 4 21 22 26 29",
                "5 7 9 13 14 16 17",
                "6 8 10 11 12 15 18 19 20",
                "23 24 25 27 28 30",
            ],
        },
        rtol=1e-5,
        note="derived",
    ),
    Example(
        place="002 ch. 7, Fig 9.11",
        title="AGNES on watermelons 4.0 by the shortest distance",
        zh="西瓜数据集 4.0 上的 AGNES（单链接）",
        given={"linkage": "single", "counts": [4]},
        call=agnes,
        expected={
            "first merges": [[1, 29], [24, 30], [10, 20]],
            "4 clusters": [
                "1 2 22 26 29",
                "3 4 5 6 7 8 9 10 12 13 14 16 17 18 19 20 21 23 24 25 27 28 30",
                "11",
                "15",
            ],
        },
        note="derived",
    ),
]
