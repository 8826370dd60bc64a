"""Row of latent Dirichlet allocation by variational inference, all documents in each pass."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.harness import Contender, Data, Result, Row


def make_corpus(
    rng: np.random.Generator, n: int, d: int, topics: int, words: int, tokens: int, passes: int
) -> Data:
    """Documents of sparse topics: each lives on some of the words, with Dirichlet(0.1) probabilities."""
    chosen = [rng.choice(d, words, replace=False) for _ in range(topics)]
    chances = [np.cumsum(rng.dirichlet(np.full(words, 0.1))) for _ in range(topics)]
    mixture = np.cumsum(rng.dirichlet(np.full(topics, 0.1), size=n), axis=1)
    topic = (rng.random((n, tokens, 1)) > mixture[:, None, :-1]).sum(axis=2)
    found = np.empty((n, tokens), dtype=np.int32)
    for t in range(topics):
        mine = topic == t
        place = np.searchsorted(chances[t], rng.random(int(mine.sum())) * chances[t][-1])
        found[mine] = chosen[t][np.minimum(place, words - 1)]
    ends = np.arange(0, n * tokens + 1, tokens)
    X = sparse.csr_matrix((np.ones(n * tokens), found.ravel(), ends), (n, d))
    X.sum_duplicates()
    return {"X": X, "plan": np.array([topics, passes])}


def one_fit(kind: Any, data: Data, **options: Any) -> Result:
    topics, passes = data["plan"]
    model = kind(int(topics), max_iter=int(passes), random_state=0, **options).fit(data["X"])
    return {"pseudocounts": np.asarray(model.components_)}


def ours(data: Data) -> Result:
    from tercet.topic import LatentDirichletAllocation

    return one_fit(LatentDirichletAllocation, data, n_jobs=2)


def scikit_learn(data: Data) -> Result:
    from sklearn.decomposition import LatentDirichletAllocation

    return one_fit(LatentDirichletAllocation, data)


def scikit_learn_jobs(data: Data) -> Result:
    from sklearn.decomposition import LatentDirichletAllocation

    return one_fit(LatentDirichletAllocation, data, n_jobs=2)


def bags_of_words(data: Data) -> Data:
    from gensim.matutils import Sparse2Corpus

    bags = [[(int(w), float(c)) for w, c in bag] for bag in Sparse2Corpus(data["X"], documents_columns=False)]
    return {**data, "bags": bags}


def gensim(data: Data) -> Result:
    """The same schedule: one M step in a pass, E steps of up to 100 updates to a mean change of 0.001."""
    from gensim.models import LdaModel

    topics, passes = (int(number) for number in data["plan"])
    model = LdaModel(
        data["bags"],
        num_topics=topics,
        id2word=dict(enumerate(map(str, range(data["X"].shape[1])))),
        chunksize=len(data["bags"]),
        passes=passes,
        update_every=0,
        decay=0.0,  # as an M step should be: nothing is kept of the topics before
        alpha="symmetric",
        eta=1.0 / topics,
        iterations=100,
        gamma_threshold=1e-3,
        eval_every=None,
        random_state=0,
    )
    return {"pseudocounts": np.asarray(model.state.get_lambda(), dtype=np.float64)}


def bound_of_a_word(data: Data, result: Result) -> float:
    """The negative evidence lower bound of a word, by scikit-learn's inference under the returned topics."""
    from scipy.special import psi
    from sklearn.decomposition import LatentDirichletAllocation

    table = np.ascontiguousarray(result["pseudocounts"], dtype=np.float64)
    judge = LatentDirichletAllocation(len(table), max_iter=0, random_state=0).fit(data["X"])
    judge.components_ = table
    judge.exp_dirichlet_component_ = np.exp(psi(table) - psi(table.sum(axis=1, keepdims=True)))
    return -float(judge.score(data["X"])) / float(data["X"].sum())


ROWS = [
    Row(
        name="lda-variational",
        work="LDA of {topics} topics by variational EM, {passes} passes; {n} documents of {tokens} tokens, V={d}",
        sizes={
            "full": {"n": 1500, "d": 20_000, "topics": 100, "words": 1000, "tokens": 100, "passes": 10},
            "smoke": {"n": 60, "d": 120, "topics": 4, "words": 30, "tokens": 30, "passes": 10},
        },
        data=make_corpus,
        ours=Contender(ours, ("tercet.topic",), "tercet"),
        peers={
            "scikit-learn": Contender(scikit_learn, ("sklearn.decomposition",), "scikit-learn"),
            "scikit-learn n_jobs=2": Contender(scikit_learn_jobs, ("sklearn.decomposition",), "scikit-learn"),
            "gensim": Contender(gensim, ("gensim.models",), "gensim", prepare=bags_of_words),
        },
        quality=bound_of_a_word,
        tolerance=1e-2,
        figure="-bound / word",
    )
]
