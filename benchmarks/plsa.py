"""Rows of topic models."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.harness import Contender, Data, Result, Row


def make_documents(rng: np.random.Generator, n: int, d: int, topics: int, tokens: int, passes: int) -> Data:
    """Documents of a topic model: topics of Zipf words in orders of their own, mixtures from Dirichlet(0.1)."""
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
    return {
        "X": X,
        "theta": rng.dirichlet(np.ones(topics), size=n),
        "phi": rng.dirichlet(np.ones(d), size=topics),
        "passes": np.array([passes]),
    }


def negative_log_likelihood(data: Data, result: Result) -> float:
    """-Σ n log Σ_z P(z|d) P(w|z) per word; rows are made distributions first."""
    X = data["X"].tocoo()
    theta, phi = (np.asarray(result[name], dtype=float) for name in ("theta", "phi"))
    theta = theta * phi.sum(axis=1)
    phi = phi / np.maximum(phi.sum(axis=1, keepdims=True), 1e-300)
    theta = theta / np.maximum(theta.sum(axis=1, keepdims=True), 1e-300)
    total = 0.0
    for start in range(0, X.nnz, 1 << 18):
        some = slice(start, start + (1 << 18))
        p = np.einsum("ij,ji->i", theta[X.row[some]], phi[:, X.col[some]])
        total -= float((X.data[some] * np.log(np.maximum(p, 1e-300))).sum())
    return total / float(X.data.sum())


def plsa_ours(data: Data) -> Result:
    from tercet.topic import PLSA

    model = PLSA(len(data["phi"]), components_init=data["phi"], doc_topic_init=data["theta"], n_jobs=2)
    model.fit(data["X"])
    return {"theta": model.doc_topic_, "phi": model.components_}


def plsa_enstop(data: Data) -> Result:
    from enstop import PLSA

    vars(np).setdefault("float", float)  # enstop 0.2.6 asks NumPy for it, which has it no more
    model = PLSA(n_components=len(data["phi"]), n_iter=int(data["passes"][0]), random_state=0)
    theta = model.fit_transform(data["X"])
    return {"theta": theta, "phi": model.components_}


def plsa_nmf(data: Data) -> Result:
    from sklearn.decomposition import NMF

    model: Any = NMF(
        len(data["phi"]),
        init="custom",
        solver="mu",
        beta_loss="kullback-leibler",
        max_iter=int(data["passes"][0]),
    )
    lengths = np.asarray(data["X"].sum(axis=1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theta = model.fit_transform(data["X"], W=data["theta"] * lengths, H=data["phi"].copy())
    return {"theta": theta, "phi": model.components_}


ROWS = [
    Row(
        name="plsa",
        work="PLSA with {topics} topics to each one's tolerance; {n} documents of {tokens} words, {d} words in all",
        sizes={
            "full": {"n": 10_000, "d": 10_000, "topics": 20, "tokens": 120, "passes": 300},
            "smoke": {"n": 200, "d": 150, "topics": 4, "tokens": 40, "passes": 200},
        },
        data=make_documents,
        ours=Contender(plsa_ours, ("tercet.topic",), "tercet"),
        peers={
            "enstop": Contender(plsa_enstop, ("enstop",), "enstop"),
            "scikit-learn NMF": Contender(plsa_nmf, ("sklearn.decomposition",), "scikit-learn"),
        },
        quality=negative_log_likelihood,
        tolerance=1e-3,
        figure="-log P(w|d)",
    ),
]
