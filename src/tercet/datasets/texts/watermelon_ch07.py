"""Watermelon notes, chapter 7: clustering (聚类)."""

from __future__ import annotations

import warnings
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


def dbscan(eps: float, min_samples: int, between: list[int]) -> dict[str, Any]:
    from tercet.cluster import DBSCAN

    model = DBSCAN(eps=eps, min_samples=min_samples).fit(melons())
    labels = model.labels_.copy()
    labels[[i - 1 for i in between]] = -1  # reachable from two clusters: either is right
    noise = np.flatnonzero(model.labels_ == -1) + 1
    alone = set(noise.tolist()) | set(between)
    return {
        "core objects": (model.core_sample_indices_ + 1).tolist(),
        "noise": noise.tolist(),
        "clusters": [words for words in groups(labels) if not alone & set(map(int, words.split()))],
    }


def gaussian_mixture(start: list[int], variance: float, passes: int) -> dict[str, Any]:
    from tercet.core.steps import ConvergenceWarning
    from tercet.mixture import GaussianMixture

    X, k = melons(), len(start)
    given: dict[str, Any] = {
        "weights_init": np.full(k, 1 / k),
        "means_init": X[[i - 1 for i in start]],
        "precisions_init": np.stack([np.eye(2) / variance] * k),
    }
    after = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for m in (0, 1, passes):
            after[m] = GaussianMixture(k, **given, reg_covar=0.0, tol=0.0, max_iter=m).fit(X)
    first, last = after[1], after[passes]
    trace = [len(X) * bound for bound in last.lower_bounds_]
    return {
        "γ of x1": after[0].predict_proba(X[:1])[0],
        "α": first.weights_,
        "means": first.means_,
        "covariances": first.covariances_,
        "log-likelihoods": [*trace[:3], len(X) * last.score(X)],
        "never falls": bool((np.diff(trace) > -1e-9).all()),
        "clusters": groups(last.labels_),
    }


def lp(x: list[float], z: list[float], powers: list[float]) -> dict[str, Any]:
    from tercet.metrics.distance import minkowski

    return {f"p = {p:g}": float(minkowski(x, z, p)) for p in powers}


def value_difference(pairs: list[tuple[str, str, str]]) -> dict[str, Any]:
    from tercet.datasets import load_watermelon
    from tercet.metrics.distance import MinkovDM, vdm

    table = load_watermelon("3.0")
    names = list(table.feature_names)
    found: dict[str, Any] = {}
    for column, a, b in pairs:
        values = table.data[:, names.index(column)]
        for p in (1, 2):
            found[f"{a}-{b}, p = {p}"] = vdm(values, table.target, a, b, p=p)
    mixed = table.data[:, [names.index(name) for name in ("density", "sugar", "colour", "texture")]]
    for p in (1, 2):
        metric = MinkovDM(p).fit(mixed, table.target)
        found[f"x1-x9, p = {p}"] = metric(mixed[0], mixed[8])
    return found


def external(labels: list[int], reference: list[int]) -> dict[str, Any]:
    from tercet.metrics import fowlkes_mallows_score, pair_counts, pair_jaccard_score, rand_score

    return {
        "a, b, c, d": list(pair_counts(labels, reference)),
        "JC": pair_jaccard_score(labels, reference),
        "FMI": fowlkes_mallows_score(labels, reference),
        "RI": rand_score(labels, reference),
    }


def internal(X: list[list[float]], labels: list[int]) -> dict[str, Any]:
    from tercet.metrics import cluster_diameter, davies_bouldin_score, dunn_index, mean_distances

    clusters = [[x for x, c in zip(X, labels) if c == k] for k in sorted(set(labels))]
    return {
        "avg": mean_distances(X, labels),
        "diam": [cluster_diameter(cluster) for cluster in clusters],
        "DBI": davies_bouldin_score(X, labels, average="pairwise"),
        "DBI from centres": davies_bouldin_score(X, labels),
        "DI": dunn_index(X, labels),
    }


def vector_quantisation(start: list[int], eta: float) -> dict[str, Any]:
    from tercet.metrics import euclidean
    from tercet.neighbors import lvq_update

    X = melons()
    first = X[[i - 1 for i in start]]
    found = {"distances of x1": euclidean(X[0], first)}
    for title, label in (("same label", 1), ("other label", 0)):
        found[title] = lvq_update(first, [label] * len(start), X[0], 1, eta=eta)[-1]
    return found


EXAMPLES = [
    Example(
        place="watermelon notes ch. 7, eq. 7.1-7.4",
        title="pairs of samples, Jaccard, FM and Rand of two partitions",
        zh="两个划分的样本对计数、Jaccard 系数、FM 指数与 Rand 指数",
        given={"labels": [0, 0, 0, 1, 1, 1, 2, 2], "reference": [0, 0, 1, 1, 1, 2, 2, 2]},
        call=external,
        expected={
            "a, b, c, d": [3, 4, 4, 17],
            "JC": 0.2727272727,
            "FMI": 0.4285714286,
            "RI": 0.7142857143,
        },
        note="derived",
    ),
    Example(
        place="watermelon notes ch. 7, eq. 7.5-7.10",
        title="mean distances, diameters, DB index and Dunn index of three clusters",
        zh="三个簇的平均距离、直径、DB 指数与 Dunn 指数",
        given={
            "X": [[0, 0], [0, 2], [2, 0], [6, 6], [6, 8], [10, 0], [11, 1], [10, 2]],
            "labels": [0, 0, 0, 1, 1, 2, 2, 2],
        },
        call=internal,
        expected={
            "avg": [2.2761423749, 2.0, 1.6094757082],
            "diam": [2.8284271247, 2.0, 2.0],
            "DBI": 0.5068646298,
            "DBI from centres": 0.2725348309,
            "DI": 2.0,
        },
        note="derived; the text's avg(C) is of pairs, others take the distances from the centre",
    ),
    Example(
        place="watermelon notes ch. 7, Fig 9.4",
        title="LVQ on watermelons 4.0: x1 moves the nearest of x5, x12, x18, x23 and x29",
        zh="西瓜数据集 4.0 上的学习向量量化：样本 x1 更新最近的原型向量",
        given={"start": [5, 12, 18, 23, 29], "eta": 0.1},
        call=vector_quantisation,
        expected={
            "distances of x1": [0.282676, 0.505606, 0.433853, 0.260192, 0.031765],
            "same label": [0.7222, 0.4465],
            "other label": [0.7278, 0.4435],
        },
        rtol=1e-5,
        note="derived",
    ),
    Example(
        place="watermelon notes ch. 7, eq. 7.11",
        title="Minkowski distances of (1, 2, 3) and (4, 0, 3.5)",
        zh="(1, 2, 3) 与 (4, 0, 3.5) 的闵可夫斯基距离",
        given={"x": [1, 2, 3], "z": [4, 0, 3.5], "powers": [1, 2, 3, float("inf")]},
        call=lp,
        expected={"p = 1": 5.5, "p = 2": 3.6400549446, "p = 3": 3.2749558101, "p = inf": 3.0},
        note="derived",
    ),
    Example(
        place="watermelon notes ch. 7, eq. 7.14-7.15",
        title="VDM and MinkovDM on watermelons 3.0, with the labels as clusters",
        zh="西瓜数据集 3.0 上的 VDM 与 MinkovDM（以类别为簇）",
        given={
            "pairs": [("colour", "青绿", "乌黑"), ("colour", "青绿", "浅白"), ("texture", "清晰", "模糊")]
        },
        call=value_difference,
        expected={
            "青绿-乌黑, p = 1": 0.3333333333,
            "青绿-乌黑, p = 2": 0.0555555556,
            "青绿-浅白, p = 1": 0.6,
            "青绿-浅白, p = 2": 0.18,
            "清晰-模糊, p = 1": 1.5555555556,
            "清晰-模糊, p = 2": 1.2098765432,
            "x1-x9, p = 1": 1.8888888889,
            "x1-x9, p = 2": 0.9275407681,
        },
        note="derived",
    ),
    Example(
        place="watermelon notes ch. 7, Alg 1",
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
        place="watermelon notes ch. 7, Fig 9.6",
        title="A Gaussian mixture on watermelons 4.0 from x6, x22 and x27",
        zh="西瓜数据集 4.0 上的高斯混合聚类",
        given={"start": [6, 22, 27], "variance": 0.1, "passes": 50},
        call=gaussian_mixture,
        expected={
            "γ of x1": [0.2187515, 0.4043725, 0.3768761],
            "α": [0.3610411, 0.3232630, 0.3156959],
            "means": [[0.4909116, 0.2510194], [0.5712496, 0.2813272], [0.5335204, 0.2949960]],
            "covariances": [
                [[0.025309, 0.004139], [0.004139, 0.015862]],
                [[0.022590, 0.003680], [0.003680, 0.017363]],
                [[0.024305, 0.004705], [0.004705, 0.016367]],
            ],
            "log-likelihoods": [3.8110059, 32.1449548, 32.1832409, 40.6037945],
            "never falls": True,
            "clusters": [
                "1 2 3 4 9 13 14 16 17 21 22 26 29",
                "5 7 23 24 25 27 28 30",
                "6 8 10 11 12 15 18 19 20",
            ],
        },
        rtol=1e-4,
        note="derived",
    ),
    Example(
        place="watermelon notes ch. 7, Fig 9.9",
        title="DBSCAN on watermelons 4.0, eps = 0.11, MinPts = 5",
        zh="西瓜数据集 4.0 上的 DBSCAN（ε = 0.11，MinPts = 5）",
        given={"eps": 0.11, "min_samples": 5, "between": [4, 7, 23]},
        call=dbscan,
        expected={
            "core objects": [3, 5, 6, 8, 9, 13, 14, 18, 19, 24, 25, 28, 29],
            "noise": [11, 15],
            "clusters": ["1 2 22 26 29", "3 5 9 13 14 16 17 21", "6 8 10 12 18 19 20", "24 25 27 28 30"],
        },
        note="derived",
    ),
    Example(
        place="watermelon notes ch. 7, Fig 9.11",
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
        place="watermelon notes ch. 7, Fig 9.11",
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
