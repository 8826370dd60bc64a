"""Rows of the clustering family: k-means, trees of merges."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from benchmarks.harness import Contender, Data, Result, Row

LINKAGES = ("single", "complete", "average", "centroid", "ward")


# --- kmeans -------------------------------------------------------------------------------------------------


def make_clouds(rng: np.random.Generator, n: int, d: int, k: int, clouds: int, spread: float) -> Data:
    """Overlapping clouds, more of them than clusters are asked for; the start is k of the rows."""
    centres = spread * rng.standard_normal((clouds, d))
    X = centres[rng.integers(clouds, size=n)] + rng.standard_normal((n, d))
    return {"X": X, "start": X[rng.choice(n, k, replace=False)]}


def both_fits(kind: Any, data: Data, **more: Any) -> Result:
    """Twenty passes, then to the usual tolerance, from the same start."""
    k = len(data["start"])
    result = {}
    for name, stop in {
        "passes": {"max_iter": 20, "tol": 0.0},
        "tol": {"max_iter": 1000, "tol": 1e-4},
    }.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = kind(n_clusters=k, init=data["start"], n_init=1, **stop, **more).fit(data["X"])
        result[name] = np.asarray(model.cluster_centers_)
    return result


def inertias(data: Data, result: Result) -> float:
    """Sum of squared distances to the nearest centres, of the two fits together."""
    X, found = data["X"], 0.0
    for centres in result.values():
        half = (centres**2).sum(axis=1) / 2
        for start in range(0, len(X), 10_000):
            some = X[start : start + 10_000]
            at = (half - some @ centres.T).argmin(axis=1)
            found += float(((some - centres[at]) ** 2).sum())
    return found


def kmeans_ours(data: Data) -> Result:
    from tercet.cluster import KMeans

    return both_fits(KMeans, data, algorithm="hamerly", n_jobs=2)


def kmeans_lloyd(data: Data) -> Result:
    from sklearn.cluster import KMeans

    return both_fits(KMeans, data)


def kmeans_elkan(data: Data) -> Result:
    from sklearn.cluster import KMeans

    return both_fits(KMeans, data, algorithm="elkan")


def kmeans_intelex(data: Data) -> Result:
    from sklearnex.cluster import KMeans

    return both_fits(KMeans, data)


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


SKLEARN = ("sklearn.cluster",)
ROWS = [
    Row(
        name="kmeans",
        work="k-means, {k} clusters, same start: 20 passes, then to tol 1e-4; {n} x {d}, {clouds} clouds",
        sizes={
            "full": {"n": 500_000, "d": 32, "k": 100, "clouds": 150, "spread": 0.7},
            "smoke": {"n": 2_000, "d": 8, "k": 10, "clouds": 15, "spread": 1.0},
        },
        data=make_clouds,
        ours=Contender(kmeans_ours, ("tercet.cluster",), "tercet"),
        peers={
            "scikit-learn lloyd": Contender(kmeans_lloyd, SKLEARN, "scikit-learn"),
            "scikit-learn elkan": Contender(kmeans_elkan, SKLEARN, "scikit-learn"),
            "scikit-learn-intelex": Contender(kmeans_intelex, ("sklearnex.cluster",), "scikit-learn-intelex"),
        },
        quality=inertias,
        tolerance=1e-6,
        figure="inertia",
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
]
