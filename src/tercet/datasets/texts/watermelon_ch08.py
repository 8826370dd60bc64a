"""Watermelon notes, chapter 8: dimensionality reduction and metric learning (降维与度量学习)."""

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


def components_of_the_plane(X: Any) -> dict[str, Any]:
    from tercet.decomposition import PCA, linear_projection

    model = PCA(1, svd_solver="full").fit(X)
    everything = PCA(svd_solver="full").fit(X)
    W = model.components_.T
    back = model.inverse_transform(model.transform(X))
    return {
        "eigenvalues of X'X": everything.singular_values_**2,
        "w1": model.components_[0],
        "ratio": model.explained_variance_ratio_[0],
        "scores": linear_projection(X, W, model.mean_)[:3, 0],
        "mean": model.mean_,
        "reconstruction error": float(((np.asarray(X) - back) ** 2).sum()),
    }


def metric_matrix(d: list[float], M: list[list[float]]) -> dict[str, Any]:
    from tercet.metrics import euclidean, mahalanobis

    P = np.linalg.cholesky(np.array(M))
    zero = np.zeros(len(d))
    return {
        "squared distance": mahalanobis(d, zero, M=M) ** 2,
        "by P": mahalanobis(d, zero, P=P) ** 2,
        "of rank 1": mahalanobis(d, zero, P=P[:, :1]) ** 2,
        "weights 2 and 1": euclidean(d, zero, w=[2.0, 1.0]) ** 2,
    }


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


def kernel_components(X: list[list[float]], sigma: float) -> dict[str, Any]:
    from tercet.decomposition import KernelPCA
    from tercet.kernels import Gaussian

    kernel = Gaussian(sigma=sigma)
    model = KernelPCA(len(X), kernel=kernel).fit(X)
    first = KernelPCA(1, kernel=kernel).fit(X)
    return {
        "eigenvalues": model.eigenvalues_,
        "scores on the first": np.abs(first.transform(X)[:, 0]),
        "length of the first": float(first.eigenvectors_[:, 0] @ first.eigenvectors_[:, 0]),
        "without centring": KernelPCA(1, kernel=kernel, center=False).fit(X).eigenvalues_[0],
    }


def mapping_of_a_half_circle(n: int, k: int) -> dict[str, Any]:
    from tercet.manifold import Isomap
    from tercet.neighbors import KNeighborsRegressor

    t = np.linspace(0, np.pi, n)
    X = np.column_stack([np.cos(t), np.sin(t)])
    model = Isomap(n_neighbors=k, n_components=1).fit(X)
    line = model.embedding_[:, 0]
    text = Isomap(n_neighbors=k, n_components=1, regressor=KNeighborsRegressor(2)).fit(X)
    middle = X[:2].mean(axis=0, keepdims=True)
    return {
        "geodesic distance of the ends": model.dist_matrix_[0, -1],
        "Euclidean": float(np.linalg.norm(X[0] - X[-1])),
        "eigenvalue": model.kernel_pca_.eigenvalues_[0],
        "points": (line * np.sign(line[0]))[: n // 2 + 1],
        "pieces": model.n_connected_components_,
        "a new row by regression": abs(float(text.transform(middle)[0, 0])),
    }


def reconstruction_weights(x: list[float], neighbours: list[list[float]], reg: float) -> dict[str, Any]:
    from tercet.manifold import barycenter_weights

    weights = barycenter_weights([x], neighbours, [list(range(len(neighbours)))], reg=reg)[0]
    rebuilt = weights @ np.asarray(neighbours, dtype=float)
    return {
        "weights": weights,
        "rebuilt": rebuilt,
        "squared error": float(((np.asarray(x) - rebuilt) ** 2).sum()),
    }


def leave_one_out(X: list[list[float]], y: list[int], stretch: list[float]) -> dict[str, Any]:
    from tercet.metric_learning import NeighborhoodComponentsAnalysis, leave_one_out_probabilities

    plain = leave_one_out_probabilities(X, y)
    model = NeighborhoodComponentsAnalysis().fit(X, y)
    learned = leave_one_out_probabilities(X, y, model.components_)
    return {
        "p_i": plain,
        "sum": plain.sum(),
        "sum after stretching": leave_one_out_probabilities(X, y, np.diag(stretch)).sum(),
        "all right after learning": bool(learned.sum() > 3.99),
    }


def metric_of_links(X: list[list[float]], must: list[Any], cannot: list[Any]) -> dict[str, Any]:
    from tercet.metric_learning import MMC

    model = MMC(diagonal=True).fit(X, must_link=must, cannot_link=cannot)
    points = np.array(X)
    apart = model.pair_distance([[points[i], points[j]] for i, j in cannot])
    return {"M": model.get_mahalanobis_matrix(), "cannot-link distances": apart}


EXAMPLES = [
    Example(
        place="watermelon notes ch. 8, eq. 8.26",
        title="a metric for must-link and cannot-link pairs of a rectangle",
        zh="由矩形顶点的必连与勿连约束学习度量",
        given={
            "X": [[0.0, 0.0], [0.0, 2.0], [1.0, 0.0], [1.0, 2.0]],
            "must": [(0, 1), (2, 3)],
            "cannot": [(0, 2), (1, 3)],
        },
        call=metric_of_links,
        expected={"M": [[0.25, 0.0], [0.0, 0.0]], "cannot-link distances": [0.5, 0.5]},
        atol=1e-4,
        note="derived; must-links differ in the second feature alone, cannot-links in the first",
    ),
    Example(
        place="watermelon notes ch. 8, eq. 8.27-8.30",
        title="neighbourhood components analysis of four points",
        zh="四个点的近邻成分分析（NCA）",
        given={
            "X": [[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [3.0, 1.0]],
            "y": [0, 0, 1, 1],
            "stretch": [0.3, 1.0],
        },
        call=leave_one_out,
        expected={
            "p_i": [0.95246216, 0.96466316, 0.00180884, 0.00664835],
            "sum": 1.9255825039,
            "sum after stretching": 2.7075212955,
            "all right after learning": True,
        },
        rtol=1e-5,
        note="derived; the sum over l leaves out i, and (8.30) should have m in place of 1",
    ),
    Example(
        place="watermelon notes ch. 8, eq. 8.25-8.26",
        title="weighted Euclidean and Mahalanobis distance of (1, 2) from 0",
        zh="(1, 2) 到原点的加权欧氏距离与马氏距离",
        given={"d": [1.0, 2.0], "M": [[2.0, 0.5], [0.5, 1.0]]},
        call=metric_matrix,
        expected={"squared distance": 8.0, "by P": 8.0, "of rank 1": 4.5, "weights 2 and 1": 6.0},
        note="derived; M = PP', and (1, 2) P = (2.1213, 1.8708) by the Cholesky factor",
    ),
    Example(
        place="watermelon notes ch. 8, 8.1",
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
        place="watermelon notes ch. 8, 8.1",
        title="the choice of k by leaving out one melon at a time",
        zh="西瓜数据集 3.0α 上用留一法选择 k",
        given={"ks": [1, 3, 5, 7, 9, 11, 13, 15]},
        call=choice_of_k,
        expected={"right": [16, 14, 13, 12, 10, 6, 7, 4], "best k": 1},
        note="derived",
    ),
    Example(
        place="watermelon notes ch. 8, 8.1",
        title="sugar content from the three nearest densities",
        zh="由密度最近的三个西瓜估计含糖率（k 近邻回归）",
        given={"density": 0.5, "k": 3},
        call=mean_of_neighbours,
        expected={"neighbours": [7, 5, 8], "sugar": 0.575 / 3},
        note="derived",
    ),
    Example(
        place="watermelon notes ch. 8, 8.8-8.11",
        title="principal components of ten points of the plane",
        zh="平面上十个点的主成分分析",
        given={
            "X": [
                [2.5, 2.4],
                [0.5, 0.7],
                [2.2, 2.9],
                [1.9, 2.2],
                [3.1, 3.0],
                [2.3, 2.7],
                [2, 1.6],
                [1, 1.1],
                [1.5, 1.6],
                [1.1, 0.9],
            ],
        },
        call=components_of_the_plane,
        expected={
            "eigenvalues of X'X": [11.55624941, 0.44175059],
            "w1": [0.6778733985, 0.7351786555],
            "ratio": 0.96318131,
            "scores": [0.82797019, -1.77758033, 0.99219749],
            "mean": [1.81, 1.91],
            "reconstruction error": 0.4417505904,
        },
        note="derived; the text has no numbers",
    ),
    Example(
        place="watermelon notes ch. 8, eq. 8.1-8.6",
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
    Example(
        place="watermelon notes ch. 8, eq. 8.12-8.18",
        title="kernel principal components of five points, Gaussian kernel",
        zh="五个点的核主成分分析（高斯核）",
        given={"X": [[0, 0], [1, 0], [0, 1], [1, 1], [2, 2]], "sigma": 1.0},
        call=kernel_components,
        expected={
            "eigenvalues": [1.19272844, 0.63212056, 0.54699499, 0.14325737, 0.0],
            "scores on the first": [0.46007406, 0.27468938, 0.27468938, 0.10431771, 0.90513512],
            "length of the first": 1.0,
            "without centring": 2.62848029,
        },
        rtol=1e-7,
        atol=1e-8,
        note="derived; the text neither centres K nor scales its eigenvectors",
    ),
    Example(
        place="watermelon notes ch. 8, Fig 10.8",
        title="Isomap of seven points on a half circle",
        zh="半圆上七个点的等度量映射",
        given={"n": 7, "k": 2},
        call=mapping_of_a_half_circle,
        expected={
            "geodesic distance of the ends": 3.0352761804,
            "Euclidean": 2.0,
            "eigenvalue": 7.27073625,
            "points": [1.5167183, 1.03267827, 0.51817884, 0.0],
            "pieces": 1,
            "a new row by regression": (1.5167183 + 1.03267827) / 2,
        },
        rtol=1e-7,
        atol=1e-8,
        note="derived",
    ),
    Example(
        place="watermelon notes ch. 8, eq. 8.20-8.21",
        title="weights that rebuild (1, 1) from two neighbours",
        zh="由两个近邻重构 (1, 1) 的权值",
        given={"x": [1.0, 1.0], "neighbours": [[0.0, 0.0], [2.0, 1.0]], "reg": 0.0},
        call=reconstruction_weights,
        expected={"weights": [0.4, 0.6], "rebuilt": [1.2, 0.6], "squared error": 0.2},
        note="derived; C = [[2, -1], [-1, 1]]",
    ),
    Example(
        place="watermelon notes ch. 8, eq. 8.20-8.21",
        title="weights that rebuild (1, 1) from three neighbours: C is singular",
        zh="由三个近邻重构 (1, 1) 的权值（C 奇异）",
        given={"x": [1.0, 1.0], "neighbours": [[0.0, 0.0], [2.0, 0.0], [1.0, 3.0]], "reg": 1e-3},
        call=reconstruction_weights,
        expected={"weights": [1 / 3, 1 / 3, 1 / 3], "rebuilt": [1.0, 1.0], "squared error": 0.0},
        atol=1e-9,
        note="derived; with more neighbours than features C needs something on its diagonal",
    ),
]
