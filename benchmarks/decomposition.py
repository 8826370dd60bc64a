"""Rows of the decomposition family: principal components of a dense table, singular vectors of a sparse one."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg, sparse

from benchmarks.harness import Contender, Data, Result, Row

BLOCK = 20_000  # rows that are made at a time


# --- pca ----------------------------------------------------------------------------------------------------


def make_factors(
    rng: np.random.Generator, n: int, d: int, k: int, factors: int, fade: float, noise: float
) -> Data:
    """Rows of factors whose strengths fade geometrically, with noise and means; their covariance, too."""
    strengths = fade ** np.arange(factors)
    directions = (
        linalg.qr(rng.standard_normal((d, factors)), mode="economic")[0].T * (strengths * np.sqrt(d))[:, None]
    )
    mean = 3.0 * rng.standard_normal(d)
    X = np.empty((n, d))
    for start in range(0, n, BLOCK):
        part = X[start : start + BLOCK]
        rng.standard_normal(out=part)
        part *= noise
        part += rng.standard_normal((len(part), factors)) @ directions + mean
    scatter, centre = np.zeros((d, d)), X.mean(axis=0)
    for start in range(0, n, BLOCK):
        part = X[start : start + BLOCK] - centre
        scatter += part.T @ part
    return {"X": X, "k": np.array(k), "covariance": scatter / (n - 1)}


def lost_variance(data: Data, result: Result) -> float:
    """The part of the variance of the best k components that the span of the returned ones does not have."""
    Q = linalg.qr(np.asarray(result["components"], dtype=float).T, mode="economic")[0]
    best = linalg.eigvalsh(data["covariance"])[-int(data["k"]) :].sum()
    return float(1 - np.trace(Q.T @ data["covariance"] @ Q) / best)


def one_pca(kind: Any, data: Data, **options: Any) -> Result:
    model = kind(int(data["k"]), svd_solver="covariance_eigh", **options).fit(data["X"])
    return {"components": np.asarray(model.components_)}


def pca_ours(data: Data) -> Result:
    from tercet.decomposition import PCA

    return one_pca(PCA, data, n_jobs=2)


def pca_sklearn(data: Data) -> Result:
    from sklearn.decomposition import PCA

    return one_pca(PCA, data)


def pca_intelex(data: Data) -> Result:
    from sklearnex.decomposition import PCA

    return one_pca(PCA, data)


# --- truncated-svd ------------------------------------------------------------------------------------------


def make_documents(
    rng: np.random.Generator, n: int, d: int, entries: int, k: int, topics: int, common: float
) -> Data:
    """Logarithms of word counts: words by Zipf's law, in an order of its topic's own or in one of all."""
    weights = 1 / np.arange(1, d + 1)
    edges = np.cumsum(weights) / weights.sum()
    sizes = rng.dirichlet(np.full(topics, 0.5))
    topic = rng.choice(topics, size=n, p=sizes)
    word = np.searchsorted(edges, rng.random((n, entries))).clip(0, d - 1)
    own = rng.random((n, entries)) > common
    offsets = rng.permutation(d)[:topics]
    columns = np.where(own, (word + offsets[topic][:, None]) % d, word)
    rows = np.repeat(np.arange(n), entries)
    X = sparse.csr_matrix((np.ones(n * entries), (rows, columns.ravel())), shape=(n, d))
    X.sum_duplicates()
    X.data = np.log1p(X.data)
    values = np.sort(sparse.linalg.svds(X, k=k, return_singular_vectors=False, random_state=0))[::-1]
    return {"X": X, "values": values}


def value_error(data: Data, result: Result) -> float:
    """The largest relative error of the singular values that the span of the returned vectors has."""
    Q = linalg.qr(np.asarray(result["components"], dtype=float).T, mode="economic")[0]
    found = linalg.svdvals(data["X"] @ Q)
    return float((1 - found / data["values"]).max())


def one_svd(kind: Any, data: Data, **options: Any) -> Result:
    model = kind(len(data["values"]), random_state=0, **options).fit(data["X"])
    return {"components": np.asarray(model.components_)}


def svd_ours(data: Data) -> Result:
    from tercet.decomposition import TruncatedSVD

    return one_svd(TruncatedSVD, data, algorithm="lanczos", tol=0.03, n_jobs=2)


def svd_arpack(data: Data) -> Result:
    from sklearn.decomposition import TruncatedSVD

    return one_svd(TruncatedSVD, data, algorithm="arpack", tol=0.1)


def svd_randomized(data: Data) -> Result:
    from sklearn.decomposition import TruncatedSVD

    return one_svd(TruncatedSVD, data, algorithm="randomized", n_iter=4, n_oversamples=40)


SKLEARN = ("sklearn.decomposition",)
ROWS = [
    Row(
        name="pca",
        work="{k} principal components by the covariance matrix; {n} x {d}, {factors} factors that fade by {fade}",
        sizes={
            "full": {"n": 400_000, "d": 500, "k": 20, "factors": 40, "fade": 0.9, "noise": 1.0},
            "smoke": {"n": 2_000, "d": 30, "k": 5, "factors": 10, "fade": 0.8, "noise": 0.5},
        },
        data=make_factors,
        ours=Contender(pca_ours, ("tercet.decomposition",), "tercet"),
        peers={
            "scikit-learn covariance_eigh": Contender(pca_sklearn, SKLEARN, "scikit-learn"),
            "scikit-learn-intelex": Contender(
                pca_intelex, ("sklearnex.decomposition",), "scikit-learn-intelex"
            ),
        },
        quality=lost_variance,
        tolerance=1e-4,
        figure="part of the explained variance that is lost",
        relative=False,
    ),
    Row(
        name="truncated-svd",
        work="{k} singular triplets; {n} x {d} CSR, {entries} words per row of {topics} topics",
        sizes={
            "full": {"n": 50_000, "d": 100_000, "entries": 100, "k": 50, "topics": 100, "common": 0.3},
            "smoke": {"n": 400, "d": 600, "entries": 20, "k": 5, "topics": 10, "common": 0.3},
        },
        data=make_documents,
        ours=Contender(svd_ours, ("tercet.decomposition",), "tercet"),
        peers={
            "scikit-learn arpack": Contender(svd_arpack, SKLEARN, "scikit-learn", threads=1),
            "scikit-learn randomized": Contender(svd_randomized, SKLEARN, "scikit-learn"),
        },
        quality=value_error,
        tolerance=1e-3,
        figure="largest relative error of a singular value",
        relative=False,
    ),
]
