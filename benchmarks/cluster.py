"""Rows of the clustering family: k-means, trees of merges, density, measures of partitions."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from benchmarks.harness import Contender, Data, Result, Row

LINKAGES = ("single", "complete", "average", "centroid", "ward")


# --- kmeans -------------------------------------------------------------------------------------------------


def make_clouds(
    rng: np.random.Generator, n: int, d: int, k: int, clouds: int, spread: float, passes: int, tol: float
) -> Data:
    """Overlapping clouds, more of them than clusters are asked for; the start is k of the rows."""
    centres = spread * rng.standard_normal((clouds, d))
    X = centres[rng.integers(clouds, size=n)] + rng.standard_normal((n, d))
    return {"X": X, "start": X[rng.choice(n, k, replace=False)], "stop": np.array([passes, tol])}


def one_fit(kind: Any, data: Data, **more: Any) -> Result:
    """From the given start, for so many passes or to the tolerance."""
    passes, tol = data["stop"]
    model = kind(
        n_clusters=len(data["start"]), init=data["start"], n_init=1, max_iter=int(passes), tol=tol, **more
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {"centres": np.asarray(model.fit(data["X"]).cluster_centers_)}


def inertia(data: Data, result: Result) -> float:
    """Sum of squared distances to the nearest of the returned centres, in float64."""
    X, centres, found = data["X"], result["centres"].astype(float), 0.0
    half = (centres**2).sum(axis=1) / 2
    for start in range(0, len(X), 10_000):
        some = X[start : start + 10_000]
        at = (half - some @ centres.T).argmin(axis=1)
        found += float(((some - centres[at]) ** 2).sum())
    return found


def kmeans_ours(data: Data) -> Result:
    """The default for a few passes; bounds pay when there are many."""
    from tercet.cluster import KMeans

    return one_fit(KMeans, data, algorithm="hamerly" if data["stop"][0] > 100 else "lloyd", n_jobs=2)


def kmeans_lloyd(data: Data) -> Result:
    from sklearn.cluster import KMeans

    return one_fit(KMeans, data)


def kmeans_elkan(data: Data) -> Result:
    from sklearn.cluster import KMeans

    return one_fit(KMeans, data, algorithm="elkan")


def kmeans_intelex(data: Data) -> Result:
    from sklearnex.cluster import KMeans

    return one_fit(KMeans, data)


def kmeans_faiss(data: Data) -> Result:
    import faiss

    X, start = data["X"].astype(np.float32), data["start"].astype(np.float32)
    model = faiss.Kmeans(X.shape[1], len(start), niter=int(data["stop"][0]), max_points_per_centroid=len(X))
    model.train(X, init_centroids=start)
    return {"centres": np.asarray(model.centroids)}


# --- mini-batches -------------------------------------------------------------------------------------------


def all_batches(kind: Any, data: Data, **more: Any) -> Result:
    """From the given start, as many batches as the passes over the data have."""
    model = kind(
        n_clusters=len(data["start"]),
        init=data["start"],
        n_init=1,
        max_iter=int(data["stop"][0]),
        max_no_improvement=None,
        random_state=0,
        **more,
    )
    return {"centres": np.asarray(model.fit(data["X"]).cluster_centers_)}


def batches_ours(data: Data) -> Result:
    from tercet.cluster import MiniBatchKMeans

    return all_batches(MiniBatchKMeans, data, n_jobs=2)


def batches_sklearn(data: Data) -> Result:
    from sklearn.cluster import MiniBatchKMeans

    return all_batches(MiniBatchKMeans, data)


# --- linkage ------------------------------------------------------------------------------------------------


def make_points(rng: np.random.Generator, n: int, d: int) -> Data:
    """Standard normal points, and the distances of all merges as scipy has them."""
    from scipy.cluster.hierarchy import linkage

    X = rng.standard_normal((n, d))
    return {"X": X, **{name: linkage(X, name)[:, 2] for name in LINKAGES}}


def height_error(data: Data, result: Result) -> float:
    """The largest difference of a merge's distance, relative to the largest distance."""
    return max(float(np.abs(result[name] - data[name]).max() / data[name].max()) for name in LINKAGES)


def linkage_ours(data: Data) -> Result:
    from tercet.cluster import AgglomerativeClustering

    return {
        name: AgglomerativeClustering(linkage=name, n_jobs=2).fit(data["X"]).distances_  # type: ignore[arg-type]
        for name in LINKAGES
    }


def linkage_scipy(data: Data) -> Result:
    from scipy.cluster.hierarchy import linkage

    return {name: linkage(data["X"], name)[:, 2] for name in LINKAGES}


def linkage_fastcluster(data: Data) -> Result:
    import fastcluster  # type: ignore[import-not-found]

    by_points = {"single", "centroid", "ward"}
    return {
        name: (fastcluster.linkage_vector if name in by_points else fastcluster.linkage)(data["X"], name)[
            :, 2
        ]
        for name in LINKAGES
    }


# --- measures -----------------------------------------------------------------------------------------------

OF_LABELS = (
    "adjusted_rand_score",
    "fowlkes_mallows_score",
    "normalized_mutual_info_score",
    "adjusted_mutual_info_score",
    "v_measure_score",
)


def make_partitions(rng: np.random.Generator, n: int, k: int) -> Data:
    """Two partitions that agree in half of the rows, and the measures as scikit-learn has them."""
    from sklearn import metrics

    one = rng.integers(k, size=n)
    other = np.where(rng.random(n) < 0.5, one, rng.integers(k, size=n))
    found = np.array([getattr(metrics, name)(one, other) for name in OF_LABELS])
    return {"one": one, "other": other, "expected": found}


def measures_of(module: Any, data: Data) -> Result:
    return {"found": np.array([getattr(module, name)(data["one"], data["other"]) for name in OF_LABELS])}


def measures_ours(data: Data) -> Result:
    from tercet import metrics

    return measures_of(metrics, data)


def measures_sklearn(data: Data) -> Result:
    from sklearn import metrics

    return measures_of(metrics, data)


def make_silhouettes(rng: np.random.Generator, n: int, d: int, k: int) -> Data:
    """Overlapping clouds, and the silhouettes as scikit-learn has them."""
    from sklearn.metrics import silhouette_samples

    labels = rng.integers(k, size=n)
    X = rng.standard_normal((n, d)) + rng.standard_normal((k, d))[labels]
    return {"X": X, "labels": labels, "expected": silhouette_samples(X, labels)}


def silhouettes_ours(data: Data) -> Result:
    from tercet.metrics import silhouette_samples

    return {"found": silhouette_samples(data["X"], data["labels"], n_jobs=2)}


def silhouettes_sklearn(data: Data) -> Result:
    from sklearn.metrics import silhouette_samples

    return {"found": silhouette_samples(data["X"], data["labels"], n_jobs=2)}


def measure_error(data: Data, result: Result) -> float:
    """The largest difference of a measure."""
    return float(np.abs(result["found"] - data["expected"]).max())


# --- dbscan, hdbscan ----------------------------------------------------------------------------------------


def make_density(
    rng: np.random.Generator, n: int, d: int, clouds: int, noise: float, eps: float, least: int, near: int
) -> Data:
    """Clouds of several widths and uniform noise around them, with the clouds (-1: noise)."""
    centres, width = rng.uniform(-5, 5, size=(clouds, d)), rng.uniform(0.1, 0.5, size=clouds)
    cloud = rng.integers(clouds, size=n)
    cloud[rng.random(n) < noise] = -1
    X = centres[cloud] + width[cloud, None] * rng.standard_normal((n, d))
    X[cloud < 0] = rng.uniform(-6, 6, size=(int((cloud < 0).sum()), d))
    return {"X": X, "cloud": cloud, "eps": eps, "least": least, "near": near}


def make_dbscan(rng: np.random.Generator, **sizes: Any) -> Data:
    """The same, with scikit-learn's core rows and clusters."""
    from sklearn.cluster import DBSCAN

    data = make_density(rng, **sizes)
    model = DBSCAN(eps=data["eps"], min_samples=data["near"], n_jobs=2).fit(data["X"])
    return {**data, "labels": model.labels_, "core": model.core_sample_indices_}


def other_partition(data: Data, result: Result) -> float:
    """How many core rows are in another cluster than with scikit-learn, and how many rows only one calls noise."""
    labels, core = np.asarray(result["labels"]), data["core"]
    first: list[np.ndarray] = []
    for found in (labels[core], data["labels"][core]):
        _, start, index = np.unique(found, return_index=True, return_inverse=True)
        first.append(start[index])  # a cluster is named by its first core row
    return float((first[0] != first[1]).sum() + ((labels < 0) != (data["labels"] < 0)).sum())


def dbscan_of(kind: Any, data: Data) -> Result:
    model = kind(eps=float(data["eps"]), min_samples=int(data["near"]), n_jobs=2)
    return {"labels": model.fit(data["X"]).labels_}


def dbscan_ours(data: Data) -> Result:
    from tercet.cluster import DBSCAN

    return dbscan_of(DBSCAN, data)


def dbscan_sklearn(data: Data) -> Result:
    from sklearn.cluster import DBSCAN

    return dbscan_of(DBSCAN, data)


def dbscan_intelex(data: Data) -> Result:
    from sklearnex.cluster import DBSCAN

    return dbscan_of(DBSCAN, data)


def dbscan_package(data: Data) -> Result:
    import dbscan  # type: ignore[import-not-found]

    return {"labels": dbscan.DBSCAN(data["X"], eps=float(data["eps"]), min_samples=int(data["near"]))[0]}


def cloud_error(data: Data, result: Result) -> float:
    """1 less the adjusted Rand index of the clusters and the clouds."""
    from sklearn.metrics import adjusted_rand_score

    return 1 - float(adjusted_rand_score(data["cloud"], np.asarray(result["labels"])))


def hdbscan_of(kind: Any, data: Data, itself: int = 0, **more: Any) -> Result:
    """`itself` is 1 for libraries that do not count a row among its neighbours."""
    settings = {"min_cluster_size": int(data["least"]), "min_samples": int(data["near"]) - itself}
    return {"labels": kind(**settings, **more).fit(data["X"]).labels_}


def hdbscan_ours(data: Data) -> Result:
    from tercet.cluster import HDBSCAN

    return hdbscan_of(HDBSCAN, data, n_jobs=2)


def hdbscan_fast(data: Data) -> Result:
    from fast_hdbscan import HDBSCAN  # type: ignore[import-not-found]

    return hdbscan_of(HDBSCAN, data, 1)


def hdbscan_contrib(data: Data) -> Result:
    from hdbscan import HDBSCAN  # type: ignore[import-not-found]

    return hdbscan_of(HDBSCAN, data, 1, core_dist_n_jobs=2)


def hdbscan_sklearn(data: Data) -> Result:
    from sklearn.cluster import HDBSCAN

    return hdbscan_of(HDBSCAN, data, n_jobs=2, copy=True)


SKLEARN = ("sklearn.cluster",)
KMEANS_PEERS = {
    "scikit-learn lloyd": Contender(kmeans_lloyd, SKLEARN, "scikit-learn"),
    "scikit-learn elkan": Contender(kmeans_elkan, SKLEARN, "scikit-learn"),
    "scikit-learn-intelex": Contender(kmeans_intelex, ("sklearnex.cluster",), "scikit-learn-intelex"),
}
CLOUDS = {
    "full": {"n": 500_000, "d": 32, "k": 100, "clouds": 150, "spread": 0.7},
    "smoke": {"n": 2_000, "d": 8, "k": 10, "clouds": 15, "spread": 1.0},
}
ROWS = [
    Row(
        name="kmeans",
        work="k-means, {k} clusters, {passes} passes from the same start; {n} x {d}, {clouds} clouds",
        sizes={
            "full": {**CLOUDS["full"], "passes": 20, "tol": 0.0},
            "smoke": {**CLOUDS["smoke"], "passes": 20, "tol": 0.0},
        },
        data=make_clouds,
        ours=Contender(kmeans_ours, ("tercet.cluster",), "tercet"),
        peers={**KMEANS_PEERS, "faiss": Contender(kmeans_faiss, ("faiss",), "faiss-cpu")},
        quality=inertia,
        tolerance=1e-5,
        figure="inertia of the centres, in float64",
    ),
    Row(
        name="kmeans-tol",
        work="k-means, {k} clusters, to tol {tol} from the same start; {n} x {d}, {clouds} clouds",
        sizes={
            "full": {**CLOUDS["full"], "passes": 1000, "tol": 1e-4},
            "smoke": {**CLOUDS["smoke"], "passes": 1000, "tol": 1e-4},
        },
        data=make_clouds,
        ours=Contender(kmeans_ours, ("tercet.cluster",), "tercet"),
        peers=KMEANS_PEERS,
        quality=inertia,
        tolerance=1e-5,
        figure="inertia of the centres, in float64",
    ),
    Row(
        name="kmeans-batches",
        work="mini-batch k-means, {k} clusters, batches of 1024 for {passes} passes; {n} x {d}, {clouds} clouds",
        sizes={
            "full": {**CLOUDS["full"], "passes": 2, "tol": 0.0},
            "smoke": {**CLOUDS["smoke"], "passes": 20, "tol": 0.0},
        },
        data=make_clouds,
        ours=Contender(batches_ours, ("tercet.cluster",), "tercet"),
        peers={"scikit-learn": Contender(batches_sklearn, SKLEARN, "scikit-learn")},
        quality=inertia,
        tolerance=0.02,  # each draws batches of its own
        figure="inertia of the centres, in float64",
    ),
    Row(
        name="linkage",
        work="trees of merges by single, complete, average, centroid and Ward's linkage; {n} x {d}",
        sizes={"full": {"n": 10_000, "d": 10}, "smoke": {"n": 300, "d": 4}},
        data=make_points,
        ours=Contender(linkage_ours, ("tercet.cluster",), "tercet"),
        peers={
            "fastcluster": Contender(linkage_fastcluster, ("fastcluster",), "fastcluster", threads=1),
            "scipy": Contender(linkage_scipy, ("scipy.cluster.hierarchy",), "scipy", threads=1),
        },
        quality=height_error,
        tolerance=1e-9,
        figure="largest relative error of a merge's distance",
        relative=False,
    ),
    Row(
        name="partition-scores",
        work="adjusted Rand, Fowlkes-Mallows, NMI, AMI and V-measure of two partitions; {n} labels, {k} clusters",
        sizes={"full": {"n": 1_000_000, "k": 50}, "smoke": {"n": 2_000, "k": 5}},
        data=make_partitions,
        ours=Contender(measures_ours, ("tercet.metrics",), "tercet"),
        peers={"scikit-learn": Contender(measures_sklearn, ("sklearn.metrics",), "scikit-learn")},
        quality=measure_error,
        tolerance=1e-9,
        figure="largest difference of a measure",
        relative=False,
    ),
    Row(
        name="silhouette",
        work="silhouettes of all rows, {k} clusters; {n} x {d}",
        sizes={"full": {"n": 20_000, "d": 10, "k": 10}, "smoke": {"n": 300, "d": 4, "k": 3}},
        data=make_silhouettes,
        ours=Contender(silhouettes_ours, ("tercet.metrics",), "tercet"),
        peers={"scikit-learn": Contender(silhouettes_sklearn, ("sklearn.metrics",), "scikit-learn")},
        quality=measure_error,
        tolerance=1e-7,
        figure="largest difference of a silhouette",
        relative=False,
    ),
    Row(
        name="dbscan",
        work="DBSCAN, eps {eps}, {near} neighbours; {n} x {d}, {clouds} clouds and noise",
        sizes={
            "full": {"n": 500_000, "d": 3, "clouds": 60, "noise": 0.1, "eps": 0.1, "least": 0, "near": 10},
            "smoke": {"n": 1_500, "d": 3, "clouds": 5, "noise": 0.1, "eps": 0.3, "least": 0, "near": 10},
        },
        data=make_dbscan,
        ours=Contender(dbscan_ours, ("tercet.cluster",), "tercet"),
        peers={
            "scikit-learn": Contender(dbscan_sklearn, SKLEARN, "scikit-learn"),
            "scikit-learn-intelex": Contender(
                dbscan_intelex, ("sklearnex.cluster",), "scikit-learn-intelex", once=True
            ),
            "dbscan": Contender(dbscan_package, ("dbscan",), "dbscan"),
        },
        quality=other_partition,
        tolerance=0.0,
        figure="rows in another cluster than with scikit-learn",
        relative=False,
    ),
    Row(
        name="hdbscan",
        work="HDBSCAN, clusters of {least} rows and more, {near} neighbours; {n} x {d}, {clouds} clouds and noise",
        sizes={
            "full": {"n": 100_000, "d": 5, "clouds": 40, "noise": 0.1, "eps": 0.0, "least": 50, "near": 10},
            "smoke": {"n": 1_500, "d": 5, "clouds": 5, "noise": 0.1, "eps": 0.0, "least": 50, "near": 10},
        },
        data=make_density,
        ours=Contender(hdbscan_ours, ("tercet.cluster",), "tercet"),
        peers={
            "fast_hdbscan": Contender(hdbscan_fast, ("fast_hdbscan",), "fast_hdbscan"),
            "hdbscan": Contender(hdbscan_contrib, ("hdbscan",), "hdbscan"),
            "scikit-learn": Contender(hdbscan_sklearn, SKLEARN, "scikit-learn", once=True),
        },
        quality=cloud_error,
        tolerance=0.1,
        figure="1 less the adjusted Rand index with the clouds",
    ),
]
