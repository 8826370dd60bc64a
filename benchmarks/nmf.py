"""Rows of non-negative matrix factorisation: squared loss and divergence on texts."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.harness import Contender, Data, Result, Row


def make_topics(
    rng: np.random.Generator, n: int, d: int, topics: int, tokens: int, rank: int, passes: int, tol: float
) -> Data:
    """Bags of words of a topic model, and a random start for a factorisation of the given rank."""
    law = np.arange(1, d + 1) ** -1.0
    words = np.empty((n, tokens), dtype=np.int32)
    laws = [np.cumsum(law[rng.permutation(d)]) for _ in range(topics)]
    mixture = np.cumsum(rng.dirichlet(np.full(topics, 0.1), size=n), axis=1)
    topic = (rng.random((n, tokens, 1)) > mixture[:, None, :-1]).sum(axis=2)
    for t, heap in enumerate(laws):
        mine = topic == t
        words[mine] = np.searchsorted(heap, rng.random(int(mine.sum())) * heap[-1])
    ends = np.arange(0, n * tokens + 1, tokens)
    X = sparse.csr_matrix((np.ones(n * tokens), np.minimum(words, d - 1).ravel(), ends), (n, d))
    X.sum_duplicates()
    size = np.sqrt(X.mean() / rank)
    return {
        "X": X,
        "W": np.abs(size * rng.standard_normal((n, rank))),
        "H": np.abs(size * rng.standard_normal((rank, d))),
        "stop": np.array([passes, tol]),
    }


def one_fit(kind: Any, data: Data, **options: Any) -> Result:
    """From the given start to the tolerance."""
    passes, tol = data["stop"]
    model = kind(len(data["H"]), init="custom", max_iter=int(passes), tol=tol, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        W = model.fit_transform(data["X"], W=data["W"].copy(), H=data["H"].copy())
    return {"W": W, "H": np.asarray(model.components_)}


def squared_error(data: Data, result: Result) -> float:
    """|X - WH|², without WH as a whole."""
    X, W, H = data["X"], result["W"].astype(float), result["H"].astype(float)
    inner = float(np.vdot(X @ H.T, W))
    return float(np.vdot(X.data, X.data)) - 2 * inner + float(np.vdot(W.T @ W, H @ H.T))


def divergence(data: Data, result: Result) -> float:
    """D(X||WH), without WH as a whole."""
    X, W, H = data["X"].tocoo(), result["W"].astype(float), result["H"].astype(float)
    total = float(W.sum(axis=0) @ H.sum(axis=1)) - float(X.data.sum())
    for start in range(0, X.nnz, 1 << 18):
        some = slice(start, start + (1 << 18))
        fit = np.einsum("ij,ji->i", W[X.row[some]], H[:, X.col[some]])
        total += float((X.data[some] * np.log(X.data[some] / np.maximum(fit, 1e-300))).sum())
    return total


def frobenius_ours(data: Data) -> Result:
    from tercet.decomposition import NMF

    return one_fit(NMF, data, n_jobs=2)


def frobenius_cd(data: Data) -> Result:
    from sklearn.decomposition import NMF

    return one_fit(NMF, data)


def frobenius_mu(data: Data) -> Result:
    from sklearn.decomposition import NMF

    return one_fit(NMF, data, solver="mu")


def divergence_ours(data: Data) -> Result:
    from tercet.decomposition import NMF

    return one_fit(NMF, data, solver="mu", beta_loss="kullback-leibler", n_jobs=2)


def divergence_mu(data: Data) -> Result:
    from sklearn.decomposition import NMF

    return one_fit(NMF, data, solver="mu", beta_loss="kullback-leibler")


TEXTS = {
    "full": {"n": 10_000, "d": 20_000, "topics": 30, "tokens": 120, "rank": 20},
    "smoke": {"n": 300, "d": 200, "topics": 6, "tokens": 40, "rank": 4},
}
OURS, SKLEARN = ("tercet.decomposition",), ("sklearn.decomposition",)
ROWS = [
    Row(
        name="nmf-frobenius",
        work="NMF of rank {rank}, squared loss, to tol {tol} from the same start; {n} x {d} CSR, {tokens} tokens",
        sizes={size: {**made, "passes": 500, "tol": 1e-4} for size, made in TEXTS.items()},
        data=make_topics,
        ours=Contender(frobenius_ours, OURS, "tercet"),
        peers={
            "scikit-learn cd": Contender(frobenius_cd, SKLEARN, "scikit-learn"),
            "scikit-learn mu": Contender(frobenius_mu, SKLEARN, "scikit-learn"),
        },
        quality=squared_error,
        tolerance=1e-3,
        figure="|X - WH|²",
    ),
    Row(
        name="nmf-kl",
        work="NMF of rank {rank}, divergence, to tol {tol} from the same start; {n} x {d} CSR, {tokens} tokens",
        sizes={size: {**made, "passes": 200, "tol": 1e-4} for size, made in TEXTS.items()},
        data=make_topics,
        ours=Contender(divergence_ours, OURS, "tercet"),
        peers={"scikit-learn mu": Contender(divergence_mu, SKLEARN, "scikit-learn")},
        quality=divergence,
        tolerance=1e-3,
        figure="D(X||WH)",
    ),
]
