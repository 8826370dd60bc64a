"""Rows of the neighbours: exact search."""

from __future__ import annotations

import numpy as np

from benchmarks.harness import Contender, Data, Result, Row

# --- knn-low ------------------------------------------------------------------------------------------------


def make_space(rng: np.random.Generator, n: int, d: int, queries: int, k: int) -> Data:
    """Standard normal rows and queries, and the neighbours as scipy has them."""
    X, Q = rng.standard_normal((n, d)), rng.standard_normal((queries, d))
    return {"X": X, "Q": Q, **low_scipy({"X": X, "Q": Q, "k": np.array(k)}), "k": np.array(k)}


def other_neighbours(data: Data, result: Result) -> float:
    """The largest relative error of a distance, infinite when some neighbour is another row."""
    if not np.array_equal(result["near"], data["near"]):
        return float("inf")
    return float((np.abs(result["far"] - data["far"]) / data["far"]).max())


def low_ours(data: Data) -> Result:
    from tercet.neighbors import KDTree

    far, near = KDTree(data["X"], n_jobs=2).query(data["Q"], int(data["k"]))
    return {"far": far, "near": near}


def low_pykdtree(data: Data) -> Result:
    from pykdtree.kdtree import KDTree  # type: ignore[import-not-found]

    far, near = KDTree(data["X"]).query(data["Q"], int(data["k"]))
    return {"far": far, "near": near}


def low_scipy(data: Data) -> Result:
    from scipy.spatial import cKDTree

    far, near = cKDTree(data["X"]).query(data["Q"], int(data["k"]), workers=2)
    return {"far": far, "near": near}


def low_sklearn(data: Data) -> Result:
    from sklearn.neighbors import KDTree

    far, near = KDTree(data["X"]).query(data["Q"], int(data["k"]))
    return {"far": far, "near": near}


# --- knn-high -----------------------------------------------------------------------------------------------


def make_wide(rng: np.random.Generator, n: int, d: int, queries: int, k: int) -> Data:
    """Standard normal rows and queries in single precision, and the true distances of the nearest."""
    X, Q = (rng.standard_normal((rows, d)).astype(np.float32) for rows in (n, queries))
    data = {"X": X, "Q": Q, "k": np.array(k)}
    Z, half = X.astype(np.float64), (X.astype(np.float64) ** 2).sum(axis=1) / 2
    blocks = [
        np.argpartition(half - some @ Z.T, k)[:, :k] for some in np.array_split(Q.astype(np.float64), 40)
    ]
    return {**data, "far": distances(data, np.concatenate(blocks))}


def distances(data: Data, near: np.ndarray) -> np.ndarray:
    """The distances of the rows that were found from their queries, in order, in double precision."""
    X, Q = data["X"], data["Q"].astype(np.float64)
    return np.sort(
        [np.sqrt(((X[rows].astype(np.float64) - q) ** 2).sum(axis=1)) for rows, q in zip(near, Q)], axis=1
    )


def too_far(data: Data, result: Result) -> float:
    """How much farther than the nearest rows those are that were found, at most; single precision swaps equals."""
    return float((distances(data, result["near"]) / data["far"] - 1).max())


def high_ours(data: Data) -> Result:
    from tercet.neighbors import NearestNeighbors

    model = NearestNeighbors(n_neighbors=int(data["k"]), n_jobs=2).fit(data["X"])
    return {"near": model.kneighbors(data["Q"])[1]}


def high_intelex(data: Data) -> Result:
    from sklearnex.neighbors import NearestNeighbors

    model = NearestNeighbors(n_neighbors=int(data["k"]), algorithm="brute").fit(data["X"])
    return {"near": model.kneighbors(data["Q"])[1]}


def high_sklearn(data: Data) -> Result:
    from sklearn.neighbors import NearestNeighbors

    model = NearestNeighbors(n_neighbors=int(data["k"]), algorithm="brute").fit(data["X"])
    return {"near": model.kneighbors(data["Q"])[1]}


def high_faiss(data: Data) -> Result:
    import faiss

    index = faiss.IndexFlatL2(data["X"].shape[1])
    index.add(data["X"])
    return {"near": index.search(data["Q"], int(data["k"]))[1]}


ROWS = [
    Row(
        name="knn-low",
        work="{k} nearest neighbours by a kd-tree, build and query; {n} x {d}, {queries} queries",
        sizes={
            "full": {"n": 4_000_000, "d": 3, "queries": 800_000, "k": 5},
            "smoke": {"n": 5_000, "d": 3, "queries": 1_000, "k": 5},
        },
        data=make_space,
        ours=Contender(low_ours, ("tercet.neighbors",), "tercet"),
        peers={
            "pykdtree": Contender(low_pykdtree, ("pykdtree.kdtree",), "pykdtree"),
            "scipy": Contender(low_scipy, ("scipy.spatial",), "scipy"),
            "scikit-learn": Contender(low_sklearn, ("sklearn.neighbors",), "scikit-learn", threads=1),
        },
        quality=other_neighbours,
        tolerance=1e-9,
        figure="largest relative error of a distance, infinite when a neighbour is another row",
        relative=False,
    ),
    Row(
        name="knn-high",
        work="{k} nearest neighbours by a linear scan, single precision; {n} x {d}, {queries} queries",
        sizes={
            "full": {"n": 50_000, "d": 100, "queries": 10_000, "k": 10},
            "smoke": {"n": 2_000, "d": 30, "queries": 300, "k": 5},
        },
        data=make_wide,
        ours=Contender(high_ours, ("tercet.neighbors",), "tercet"),
        peers={
            "scikit-learn-intelex": Contender(high_intelex, ("sklearnex.neighbors",), "scikit-learn-intelex"),
            "scikit-learn": Contender(high_sklearn, ("sklearn.neighbors",), "scikit-learn"),
            "faiss": Contender(high_faiss, ("faiss",), "faiss-cpu"),
        },
        quality=too_far,
        tolerance=1e-5,
        figure="largest relative excess of a neighbour's distance",
        relative=False,
    ),
]
