"""Row of latent Dirichlet allocation by Gibbs sampling."""

from __future__ import annotations

import logging
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.harness import Contender, Data, Result, Row

ALPHA, BETA = 0.1, 0.01


def make_documents(
    rng: np.random.Generator, n: int, held_out: int, d: int, topics: int, tokens: int, own: int, sweeps: int
) -> Data:
    """Documents of topics that have `own` words each, with Dirichlet(0.1) probabilities, and some to be guessed."""
    words = np.empty((n, tokens), dtype=np.int64)
    mixture = np.cumsum(rng.dirichlet(np.full(topics, 0.1), size=n), axis=1)
    topic = (rng.random((n, tokens, 1)) > mixture[:, None, :-1]).sum(axis=2)
    for t in range(topics):
        mine = topic == t
        there, law = rng.choice(d, own, replace=False), rng.dirichlet(np.full(own, 0.1))
        words[mine] = rng.choice(there, size=int(mine.sum()), p=law)
    cut = n - held_out
    return {
        "X": count(words[:cut], d),
        "seen": count(words[cut:, ::2], d),
        "guessed": count(words[cut:, 1::2], d),
        "plan": np.array([topics, sweeps]),
    }


def count(words: np.ndarray, d: int) -> sparse.csr_matrix:
    """Counts of words, a row for each document."""
    ends = np.arange(0, words.size + 1, words.shape[1])
    X = sparse.csr_matrix((np.ones(words.size), words.ravel(), ends), (len(words), d))
    X.sum_duplicates()
    return X


def perplexity(data: Data, result: Result) -> float:
    """Of the second halves of new documents, whose topics come from the first ones by EM; the same for everyone."""
    phi = np.asarray(result["phi"], dtype=np.float64)
    seen, guessed = data["seen"], data["guessed"].tocoo()
    owner = np.repeat(np.arange(seen.shape[0]), np.diff(seen.indptr))
    like = phi[:, seen.indices].T  # (entries, K)
    theta = np.full((seen.shape[0], len(phi)), 1 / len(phi))
    starts = np.minimum(seen.indptr[:-1], max(len(owner) - 1, 0))
    for _ in range(100):  # MAP with the prior of the fit, kept within the simplex
        share = theta[owner] * like
        share *= (seen.data / share.sum(axis=1))[:, None]
        theta = np.add.reduceat(share, starts, axis=0) + ALPHA
        theta /= theta.sum(axis=1, keepdims=True)
    chance = np.einsum("ij,ji->i", theta[guessed.row], phi[:, guessed.col])
    return float(np.exp(-(guessed.data @ np.log(chance)) / guessed.data.sum()))


def ours(data: Data) -> Result:
    from tercet.topic import LatentDirichletAllocation

    topics, sweeps = map(int, data["plan"])
    model = LatentDirichletAllocation(
        topics,
        learning_method="gibbs",
        doc_topic_prior=ALPHA,
        topic_word_prior=BETA,
        max_iter=sweeps,
        shards=2,
        n_jobs=2,
        random_state=0,
    ).fit(data["X"])
    return {"phi": model.topic_word_distribution()}


def as_words(data: Data) -> Data:
    """Lists of words, as strings."""
    X = data["X"]
    words = np.repeat(X.indices, X.data.astype(np.int64)).astype(str)
    starts = np.concatenate([[0], np.cumsum(np.asarray(X.sum(axis=1)).ravel().astype(np.int64))])
    documents = [words[a:b].tolist() for a, b in pairwise(starts)]
    return {**data, "documents": documents}


def with_tomotopy(data: Data) -> Result:
    import tomotopy

    topics, sweeps = map(int, data["plan"])
    model = tomotopy.LDAModel(k=topics, alpha=ALPHA, eta=BETA, seed=1)
    model.optim_interval = 0
    for document in data["documents"]:
        model.add_doc(document)
    model.train(sweeps, workers=2, show_progress=False)
    phi = np.zeros((topics, data["X"].shape[1]))
    columns = np.array([int(word) for word in model.used_vocabs])
    for k in range(topics):
        phi[k, columns] = model.get_topic_word_dist(k)
    return {"phi": with_unseen(phi, columns, np.array(model.get_count_by_topics()))}


def with_unseen(phi: np.ndarray, columns: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Words that no document of the fit has get the probability of the prior, as they do here."""
    there = np.zeros(phi.shape[1], dtype=bool)
    there[columns] = True
    missing = int((~there).sum())
    share = BETA / (counts + BETA * phi.shape[1])
    phi *= (1.0 - missing * share)[:, None]
    phi[:, ~there] = share[:, None]
    return phi


def as_integers(data: Data) -> Data:
    return {**data, "X": data["X"].astype(np.int64)}


def with_lda(data: Data) -> Result:
    import lda

    logging.getLogger("lda").setLevel(logging.ERROR)
    topics, sweeps = map(int, data["plan"])
    model: Any = lda.LDA(
        n_topics=topics, n_iter=sweeps, alpha=ALPHA, eta=BETA, random_state=1, refresh=10 * sweeps
    )
    model.fit(data["X"])
    return {"phi": model.topic_word_}


ROWS = [
    Row(
        name="lda-gibbs",
        work="LDA by Gibbs sampling, {topics} topics, {sweeps} sweeps; {n} documents of {tokens} tokens, {d} words",
        sizes={
            "full": {
                "n": 20_000,
                "held_out": 1_000,
                "d": 20_000,
                "topics": 100,
                "tokens": 100,
                "own": 1_000,
                "sweeps": 100,
            },
            "smoke": {
                "n": 120,
                "held_out": 40,
                "d": 60,
                "topics": 3,
                "tokens": 30,
                "own": 20,
                "sweeps": 60,
            },
        },
        data=make_documents,
        ours=Contender(ours, ("tercet.topic",), "tercet", note="shards=2"),
        peers={
            "tomotopy": Contender(with_tomotopy, ("tomotopy",), "tomotopy", prepare=as_words),
            "lda": Contender(with_lda, ("lda",), "lda", threads=1, prepare=as_integers, once=True),
        },
        quality=perplexity,
        tolerance=0.02,
        figure="held-out perplexity",
    )
]
