"""Li, chapter 14: clustering (聚类方法)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.datasets.texts import Example

D = [[0, 7, 2, 9, 3], [7, 0, 5, 4, 6], [2, 5, 0, 8, 1], [9, 4, 8, 0, 5], [3, 6, 1, 5, 0]]
X = [[0, 2], [0, 0], [1, 0], [5, 0], [5, 2]]


def agglomerative(D: Any) -> dict[str, Any]:
    from tercet.cluster import AgglomerativeClustering

    model = AgglomerativeClustering(1, metric="precomputed", linkage="single").fit(D)
    clusters = [str(i + 1) for i in range(len(D))]
    merges = []
    for a, b in model.children_:
        pair = sorted([clusters[a], clusters[b]])
        merges.append(" + ".join(pair))
        clusters.append("".join(sorted("".join(pair))))
    return {"merges": merges, "distances": model.distances_, "clusters": model.cut(2)}


def k_means(X: Any, start: list[int]) -> dict[str, Any]:
    from tercet.cluster import KMeans

    model = KMeans(len(start), init=[i - 1 for i in start], tol=0).fit(X)
    return {
        "clusters": model.labels_ + 1,
        "centres": model.cluster_centers_,
        "W": model.inertia_,
        "passes": model.n_iter_,
    }


def first_distances(X: Any, start: list[int]) -> dict[str, Any]:
    from tercet.cluster import KMeans

    points = np.asarray(X)[[i - 1 for i in start]]
    model = KMeans(len(start), init=points).fit(points)  # centres that are rows stay where they are
    return {"squared distances": model.transform(X) ** 2, "clusters": model.predict(X) + 1}


def best_of_all(X: Any, k: int) -> dict[str, Any]:
    from tercet.cluster import KMeans, optimal_k_means, stirling_second

    found = KMeans(k, init="random", n_init=20, random_state=0, tol=0).fit(X)
    least = optimal_k_means(X, k)[1]
    return {"partitions": stirling_second(len(X), k), "least W": least, "W of 20 starts": found.inertia_}


def four_definitions(D: Any, T: float) -> dict[str, Any]:
    from tercet.metrics import cluster_diameter, cluster_distance, is_cluster

    D = np.asarray(D, dtype=float)
    near, far = [0, 2, 4], [1, 3]
    block, across = D[np.ix_(near, near)], D[np.ix_(near, far)]
    linkages = ("single", "complete", "average", "hausdorff")
    return {
        "Def. 14.5-14.8": [
            is_cluster(block, T, definition=word, metric="precomputed")
            for word in ("pairs", "nearest", "row-mean", "mean")
        ],
        "diameter": cluster_diameter(block, metric="precomputed"),
        "distances": [
            cluster_distance(across, None, word, metric="precomputed")  # type: ignore[arg-type]
            for word in linkages
        ],
    }


def divisive(D: Any) -> dict[str, Any]:
    from tercet.cluster import DivisiveClustering

    found: dict[str, Any] = {}
    for algorithm in ("farthest-pair", "diana"):
        model = DivisiveClustering(2, algorithm=algorithm, metric="precomputed", compute_full_tree=True)
        found[f"clusters, {algorithm}"] = model.fit(D).labels_
        found[f"diameters, {algorithm}"] = model.distances_[::-1]
    return found


EXAMPLES = [
    Example(
        place="Li Def. 14.5-14.8",
        title="the samples 1, 3 and 5 of Ex 14.1 as a cluster, and its distance from 2 and 4",
        zh="例 14.1 中样本 1、3、5 构成的类，及其与样本 2、4 的距离",
        given={"D": D, "T": 2.0},
        call=four_definitions,
        expected={
            "Def. 14.5-14.8": [False, True, False, True],
            "diameter": 3.0,
            "distances": [5.0, 9.0, 40 / 6, 7.0],
        },
        note="derived from the D of Ex 14.1",
    ),
    Example(
        place="Li exercise 14.1",
        title="divisive clustering of the samples of Ex 14.1",
        zh="例 14.1 样本的分裂聚类（习题 14.1）",
        given={"D": D},
        call=divisive,
        expected={
            "clusters, farthest-pair": [0, 1, 0, 1, 0],
            "diameters, farthest-pair": [9.0, 4.0, 3.0, 1.0],
            "clusters, diana": [0, 1, 0, 1, 0],
            "diameters, diana": [9.0, 4.0, 3.0, 1.0],
        },
        note="the text gives no algorithm; derived",
    ),
    Example(
        place="Li Ex 14.1",
        title="agglomerative clustering by the shortest distance",
        zh="聚合聚类（最短距离）",
        given={"D": D},
        call=agglomerative,
        expected={
            "merges": ["3 + 5", "1 + 35", "2 + 4", "135 + 24"],
            "distances": [1.0, 2.0, 4.0, 5.0],
            "clusters": [1, 0, 1, 0, 1],
        },
        note="the text does not give the last distance; its D breaks the triangle inequality (d14 > d15 + d54)",
    ),
    Example(
        place="Li Ex 14.2",
        title="squared distances from the first centres x1 and x2",
        zh="k 均值聚类：样本到初始中心的距离",
        given={"X": X, "start": [1, 2]},
        call=first_distances,
        expected={
            "squared distances": [[0, 4], [4, 0], [5, 1], [29, 25], [25, 29.0]],
            "clusters": [1, 2, 2, 2, 1],
        },
    ),
    Example(
        place="Li Ex 14.2",
        title="k-means from x1 and x2",
        zh="k 均值聚类（初始中心 x1、x2）",
        given={"X": X, "start": [1, 2]},
        call=k_means,
        derived=("W",),
        expected={"clusters": [1, 2, 2, 2, 1], "centres": [[2.5, 2], [2, 0.0]], "W": 26.5, "passes": 2},
        note="the text does not print W",
    ),
    Example(
        place="Li sec. 14.3.4",
        title="k-means from x1 and x5: other first centres, other clusters",
        zh="k 均值聚类（初始中心 x1、x5）：初始中心不同，结果不同",
        given={"X": X, "start": [1, 5]},
        call=k_means,
        derived=("W",),
        expected={"clusters": [1, 1, 1, 2, 2], "centres": [[1 / 3, 2 / 3], [5, 1.0]], "W": 16 / 3, "passes": 2},
        note="printed as (0.33, 0.67) and (5, 1); the text does not print W",
    ),
    Example(
        place="Li eq. 14.21",
        title="all partitions of five samples into two clusters",
        zh="五个样本划分成两类的所有方式",
        given={"X": X, "k": 2},
        call=best_of_all,
        derived=("least W", "W of 20 starts"),
        expected={"partitions": 15, "least W": 16 / 3, "W of 20 starts": 16 / 3},
        note="eq. 14.21 is printed with k^n for l^n, which would give -16; S(5, 2) is 15",
    ),
]  # fmt: skip
