"""Rows of the manifold family: Isomap, locally linear embedding, kernel principal components and t-SNE."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg, sparse

from benchmarks.harness import Contender, Data, Result, Row


def make_roll(rng: np.random.Generator, n: int, d: int, k: int, noise: float) -> Data:
    """A Swiss roll in d dimensions, with noise in all of them."""
    t = 1.5 * np.pi * (1 + 2 * rng.random(n))
    roll = np.column_stack([t * np.cos(t), 21 * rng.random(n), t * np.sin(t)])
    turn = linalg.qr(rng.standard_normal((d, d)))[0][:3]
    return {"X": roll @ turn + noise * rng.standard_normal((n, d)), "k": np.array(k)}


# --- isomap -------------------------------------------------------------------------------------------------


def geodesic_distances(data: Data) -> np.ndarray:
    """Lengths of all shortest paths over the graph of neighbours, by SciPy."""
    from scipy.sparse.csgraph import shortest_path
    from sklearn.neighbors import kneighbors_graph

    return shortest_path(kneighbors_graph(data["X"], int(data["k"]), mode="distance"), directed=False)


def make_geodesics(rng: np.random.Generator, n: int, d: int, k: int, noise: float) -> Data:
    data = make_roll(rng, n, d, k, noise)
    B = geodesic_distances(data) ** 2
    B -= B.mean(axis=0)
    B -= B.mean(axis=1, keepdims=True)
    return {**data, "B": -0.5 * B}


def isomap_error(data: Data, result: Result) -> float:
    """|B - ZZ'|² / |B|², B the centred inner products of the geodesic distances."""
    Z, B = np.asarray(result["points"], dtype=float), data["B"]
    inner = Z.T @ Z
    whole = float((B**2).sum())
    return float((whole - 2 * np.trace(Z.T @ (B @ Z)) + (inner**2).sum()) / whole)


def one_isomap(kind: Any, data: Data) -> Result:
    return {"points": kind(n_neighbors=int(data["k"]), n_jobs=2).fit_transform(data["X"])}


def isomap_ours(data: Data) -> Result:
    from tercet.manifold import Isomap

    return one_isomap(Isomap, data)


def isomap_sklearn(data: Data) -> Result:
    from sklearn.manifold import Isomap

    return one_isomap(Isomap, data)


# --- lle ----------------------------------------------------------------------------------------------------


def lle_error(data: Data, result: Result) -> float:
    """|Z - WZ|² of orthonormal, centred points, with the weights by definition."""
    from sklearn.manifold._locally_linear import barycenter_kneighbors_graph

    W = barycenter_kneighbors_graph(data["X"], int(data["k"]))
    Z = np.asarray(result["points"], dtype=float)
    Z = linalg.qr(Z - Z.mean(axis=0), mode="economic")[0]
    return float(((Z - sparse.csr_array(W) @ Z) ** 2).sum())


def one_lle(kind: Any, data: Data) -> Result:
    model = kind(n_neighbors=int(data["k"]), random_state=0, n_jobs=2)
    return {"points": model.fit_transform(data["X"])}


def lle_ours(data: Data) -> Result:
    from tercet.manifold import LocallyLinearEmbedding

    return one_lle(LocallyLinearEmbedding, data)


def lle_sklearn(data: Data) -> Result:
    from sklearn.manifold import LocallyLinearEmbedding

    return one_lle(LocallyLinearEmbedding, data)


# --- kernel-pca ---------------------------------------------------------------------------------------------


def make_clusters(
    rng: np.random.Generator, n: int, d: int, k: int, clusters: int, gamma: float, passes: int = 0
) -> Data:
    centres = rng.standard_normal((clusters, d))
    X = centres[rng.integers(clusters, size=n)] + 0.7 * rng.standard_normal((n, d))
    return {"X": X, "k": np.array(k), "gamma": np.array(gamma), "passes": np.array(passes)}


def lost_kernel_variance(data: Data, result: Result) -> float:
    """The part of the variance in the feature space that the span of the returned eigenvectors does not have."""
    from sklearn.metrics.pairwise import rbf_kernel

    Q = np.asarray(result["vectors"], dtype=float)
    Q = linalg.qr(Q - Q.mean(axis=0), mode="economic")[0]
    K = rbf_kernel(data["X"], gamma=float(data["gamma"]))
    return 1 - float(np.trace(Q.T @ (K @ Q)) / (np.trace(K) - K.sum() / len(K)))


def one_kernel_pca(kind: Any, data: Data, **options: Any) -> Result:
    model = kind(
        int(data["k"]), kernel="rbf", gamma=float(data["gamma"]), random_state=0, n_jobs=2, **options
    )
    return {"vectors": model.fit(data["X"]).eigenvectors_}


def kernel_pca_ours(data: Data) -> Result:
    from tercet.decomposition import KernelPCA

    return one_kernel_pca(KernelPCA, data)


def kernel_pca_randomized(data: Data) -> Result:
    from sklearn.decomposition import KernelPCA

    return one_kernel_pca(KernelPCA, data, eigen_solver="randomized")


def kernel_pca_arpack(data: Data) -> Result:
    from sklearn.decomposition import KernelPCA

    return one_kernel_pca(KernelPCA, data, eigen_solver="arpack")


# --- tsne ---------------------------------------------------------------------------------------------------


def divergence(data: Data, result: Result) -> float:
    """The Kullback-Leibler divergence of the points, from all pairs."""
    from sklearn.manifold._t_sne import _joint_probabilities_nn
    from sklearn.neighbors import NearestNeighbors

    k = min(len(data["X"]) - 1, int(3 * float(data["k"]) + 1))
    graph = NearestNeighbors(n_neighbors=k).fit(data["X"]).kneighbors_graph(mode="distance")
    graph.data **= 2
    P = _joint_probabilities_nn(graph, float(data["k"]), 0).tocoo()
    Z = np.asarray(result["points"], dtype=float)
    whole = 0.0
    for start in range(0, len(Z), 512):
        apart = ((Z[start : start + 512, None] - Z) ** 2).sum(axis=2)
        whole += float((1 / (1 + apart)).sum())
    near = 1 / (1 + ((Z[P.row] - Z[P.col]) ** 2).sum(axis=1))
    there = P.data > 0
    return float((P.data[there] * np.log(P.data[there] * (whole - len(Z)) / near[there])).sum())


def one_tsne(kind: Any, data: Data, **options: Any) -> Result:
    settings = {"perplexity": float(data["k"]), "max_iter": int(data["passes"]), "random_state": 0}
    return {"points": kind(**settings, **options).fit_transform(data["X"])}


def tsne_ours(data: Data) -> Result:
    from tercet.manifold import TSNE

    return one_tsne(TSNE, data, n_jobs=2)


def tsne_sklearn(data: Data) -> Result:
    from sklearn.manifold import TSNE

    return one_tsne(TSNE, data, n_jobs=2)


def tsne_intelex(data: Data) -> Result:
    from sklearnex.manifold import TSNE

    return one_tsne(TSNE, data)


SKLEARN = ("sklearn.manifold",)
ROWS = [
    Row(
        name="isomap",
        work="Isomap of a Swiss roll, {k} neighbours; {n} x {d}",
        sizes={
            "full": {"n": 5_000, "d": 20, "k": 10, "noise": 0.05},
            "smoke": {"n": 300, "d": 5, "k": 10, "noise": 0.05},
        },
        data=make_geodesics,
        ours=Contender(isomap_ours, ("tercet.manifold",), "tercet"),
        peers={"scikit-learn": Contender(isomap_sklearn, SKLEARN, "scikit-learn")},
        quality=isomap_error,
        tolerance=1e-3,
        figure="part of the inner products of geodesic distances that is lost",
    ),
    Row(
        name="lle",
        work="locally linear embedding of a Swiss roll, {k} neighbours; {n} x {d}",
        sizes={
            "full": {"n": 10_000, "d": 20, "k": 12, "noise": 0.05},
            "smoke": {"n": 300, "d": 5, "k": 10, "noise": 0.05},
        },
        data=make_roll,
        ours=Contender(lle_ours, ("tercet.manifold",), "tercet"),
        peers={"scikit-learn": Contender(lle_sklearn, SKLEARN, "scikit-learn")},
        quality=lle_error,
        tolerance=1e-3,
        figure="squared error of the points rebuilt from their neighbours",
    ),
    Row(
        name="kernel-pca",
        work="{k} kernel principal components, Gaussian kernel; {n} x {d}, {clusters} clusters",
        sizes={
            "full": {"n": 8_000, "d": 50, "k": 20, "clusters": 30, "gamma": 0.01},
            "smoke": {"n": 300, "d": 10, "k": 5, "clusters": 8, "gamma": 0.05},
        },
        data=make_clusters,
        ours=Contender(kernel_pca_ours, ("tercet.decomposition",), "tercet"),
        peers={
            "scikit-learn randomized": Contender(
                kernel_pca_randomized, ("sklearn.decomposition",), "scikit-learn"
            ),
            "scikit-learn arpack": Contender(kernel_pca_arpack, ("sklearn.decomposition",), "scikit-learn"),
        },
        quality=lost_kernel_variance,
        tolerance=1e-3,
        figure="part of the variance in the feature space that is lost",
    ),
    Row(
        name="tsne",
        work="t-SNE by Barnes and Hut, perplexity {k}; {n} x {d}, {clusters} clusters",
        sizes={
            "full": {"n": 5_000, "d": 50, "k": 30, "clusters": 30, "gamma": 0.01, "passes": 1000},
            "smoke": {"n": 120, "d": 5, "k": 10, "clusters": 4, "gamma": 0.01, "passes": 300},
        },
        data=make_clusters,
        ours=Contender(tsne_ours, ("tercet.manifold",), "tercet"),
        peers={
            "scikit-learn": Contender(tsne_sklearn, SKLEARN, "scikit-learn"),
            "scikit-learn-intelex": Contender(tsne_intelex, ("sklearnex.manifold",), "scikit-learn-intelex"),
        },
        quality=divergence,
        tolerance=0.05,
        figure="Kullback-Leibler divergence, from all pairs",
    ),
]
