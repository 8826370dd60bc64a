"""State of a run of collapsed Gibbs sampling: the topic of each token, and the counts."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import gammaln

from tercet.core.kernel import kernel
from tercet.core.parallel import each
from tercet.core.rows import read_only
from tercet.core.stopping import check_stop
from tercet.topic._gibbs.count_table import CountTable
from tercet.topic._gibbs.dense import DenseCounts
from tercet.topic._gibbs.packed import PackedCounts
from tercet.topic._gibbs.tokens import LARGEST, SMALLEST, blocks, shard_borders, tokens

MOST_DENSE = 256  # topics; above, tables would be large, and words have few topics from the first sweep on
FEWEST_PACKED = 48  # topics; with fewer, tables are always faster
SHARE = 0.12  # of all topics that a word has, on average over tokens, when lists become faster than tables
LOOK = 4  # sweeps from one look at this to the next


class CollapsedGibbs:
    """Collapsed Gibbs sampler of latent Dirichlet allocation.

    Parameters
    ----------
    counts : CSR matrix of shape (n_documents, n_words)
        How often each word occurs in each document; whole numbers.
    n_topics : int
        The number K of topics.
    alpha : array of shape (K,)
        The prior of the topics of a document.
    beta : float, or array of shape (V,) or (K, V)
        The prior of the words of a topic.
    rng : Generator
        Decides what is drawn.
    shards : int, default=1
        With 1, tokens are drawn one after the other, each given all others: the text's algorithm. With more,
        documents are cut into as many shards, drawn at the same time; each hears of the others' changes after the
        sweep.
    n_jobs : int, optional
        Threads that work on the shards. What is drawn does not depend on it: each shard has a stream of its own.
    """

    def __init__(
        self,
        counts: Any,
        n_topics: int,
        alpha: Any,
        beta: Any,
        rng: np.random.Generator,
        *,
        shards: int = 1,
        n_jobs: int | None = None,
    ) -> None:
        self.data, self.n_topics, self.n_jobs = tokens(counts), n_topics, n_jobs
        borders = shard_borders(self.data.starts, shards)
        self.streams = [np.random.default_rng(seed) for seed in rng.integers(2**63, size=shards)]
        starts = self.data.starts
        topics = [
            stream.integers(n_topics, size=starts[last] - starts[first])
            for stream, first, last in zip(self.streams, borders[:-1], borders[1:])
        ]
        packed = n_topics > MOST_DENSE and np.ndim(beta) < 2
        self.packs = not packed and n_topics >= FEWEST_PACKED and np.ndim(beta) < 2  # later
        kind: Any = PackedCounts if packed else DenseCounts
        self.counts = kind(self.data, np.concatenate(topics), n_topics, shards)
        self.n_sweeps = 0
        cost = n_topics // 8 + 8 if packed else n_topics
        self.blocks = [blocks(starts, int(first), int(last), cost) for first, last in pairwise(borders)]
        self.set_priors(alpha, beta)

    def set_priors(self, alpha: Any, beta: Any) -> None:
        """Set other priors; those of words keep their shape."""
        alpha = np.broadcast_to(np.asarray(alpha, dtype=np.float64), self.n_topics)
        beta = np.asarray(beta, dtype=np.float64)
        rows = self.n_topics if beta.ndim == 2 else 1
        self.alpha = np.clip(alpha, SMALLEST, LARGEST)
        self.beta = np.clip(np.broadcast_to(beta, (rows, self.data.n_words)), SMALLEST, LARGEST)
        self.counts.set_priors(self.alpha, self.beta)

    def sweep(self) -> None:
        """Draw a new topic for every token."""
        each(self._sweep_shard, range(len(self.blocks)), n_jobs=self.n_jobs)
        if len(self.blocks) > 1:
            self.counts.merge(self.n_jobs)
        self.n_sweeps += 1
        if self.packs and self.n_sweeps % LOOK == 0 and self.counts.topics_of_words() < SHARE * self.n_topics:
            self.packs = False
            self.counts = PackedCounts(self.data, self.assignments, self.n_topics, len(self.blocks))
            self.counts.set_priors(self.alpha, self.beta)

    def _sweep_shard(self, shard: int) -> None:
        starts = self.data.starts
        for first, last in self.blocks[shard]:
            check_stop()
            n = int(starts[last] - starts[first])
            self.counts.sample(shard, first, last, self.streams[shard].random(n, dtype=self.counts.uniform))

    @property
    def assignments(self) -> np.ndarray:
        """The topic of each token; those of document d begin at `data.starts[d]`."""
        return self.counts.topics()

    @property
    def topic_word(self) -> np.ndarray:
        """Counts n_kv of shape (K, V)."""
        out = np.zeros((self.n_topics, self.data.n_words), dtype=np.int32)
        count_words(read_only(self.data.words), read_only(self.assignments), out)
        return out

    def document_topics(self) -> sparse.csr_array:
        """Counts n_mk of shape (M, K), as a CSR array."""
        n, starts = self.data.n_documents, self.data.starts
        ends = np.zeros(n + 1, dtype=np.int64)
        topics = np.empty(self.data.words.size, dtype=np.int32)
        counts = np.empty(self.data.words.size, dtype=np.int32)
        count_topics(read_only(starts), read_only(self.assignments), ends, topics, counts, self.n_topics)
        return sparse.csr_array((counts[: ends[-1]], topics[: ends[-1]], ends), shape=(n, self.n_topics))

    @property
    def doc_topic(self) -> np.ndarray:
        """Counts n_mk of shape (M, K)."""
        return self.document_topics().toarray()

    def document_table(self) -> CountTable:
        """The counts of topics in documents as updates of α want them."""
        found = self.document_topics()
        return CountTable.of_entries(found.data, found.indices, np.diff(self.data.starts), self.n_topics)

    def word_table(self) -> CountTable:
        """The counts of words in topics as updates of β want them: rows are topics."""
        found = self.topic_word
        topics, words = np.nonzero(found)
        return CountTable.of_entries(
            found[topics, words], words, found.sum(axis=1, dtype=np.int64), found.shape[1]
        )

    def log_likelihood(self) -> float:
        """log p(w, z | α, β)."""
        return self.document_table().log_likelihood(self.alpha) + self._log_words()

    def perplexity(self) -> float:
        """exp of minus the mean of log Σ_k θ_mk φ_kv over all tokens, with θ and φ of the present counts."""
        if not self.data.words.size:  # no words to guess
            return 1.0
        raised = (self.topic_word + self.beta).T  # (V, K)
        phi = np.ascontiguousarray(raised / raised.sum(axis=0), dtype=np.float32)
        spans = blocks(self.data.starts, 0, self.data.n_documents, self.n_topics)
        logs = each(self._log_tokens, spans, read_only(phi), read_only(self.assignments), n_jobs=self.n_jobs)
        return float(np.exp(-sum(logs) / self.data.words.size))

    def _log_tokens(self, span: tuple[int, int], phi: np.ndarray, topics: np.ndarray) -> float:
        words, starts = read_only(self.data.words), read_only(self.data.starts)
        return log_tokens(words, starts, *span, topics, phi, read_only(self.alpha))

    def _log_words(self) -> float:
        """Σ_k log B(n_k + β) - log B(β)."""
        counts = self.topic_word
        sums = np.broadcast_to(self.beta.sum(axis=1), self.n_topics)
        value = float((gammaln(sums) - gammaln(sums + counts.sum(axis=1, dtype=np.int64))).sum())
        topics, words = np.nonzero(counts)
        n = counts[topics, words]
        if (self.beta == self.beta[0, 0]).all():  # as often as not: each count only once
            prior, times = float(self.beta[0, 0]), np.bincount(n)
            there = np.flatnonzero(times)
            return value + float(times[there] @ (gammaln(there + prior) - gammaln(prior)))
        prior = self.beta[topics if len(self.beta) > 1 else 0, words]
        return value + float((gammaln(n + prior) - gammaln(prior)).sum())


@kernel
def count_words(words: Any, z: Any, out: Any) -> None:
    """Add the tokens to the counts of words in topics."""
    for i in range(words.size):
        out[z[i], words[i]] += np.int32(1)


@kernel
def count_topics(starts: Any, z: Any, ends: Any, topics: Any, counts: Any, n_topics: int) -> None:
    """The topics of each document in order, and how many of its tokens have them."""
    here, size = np.zeros(n_topics, np.int32), 0
    for d in range(starts.size - 1):
        for i in range(starts[d], starts[d + 1]):
            here[z[i]] += np.int32(1)
        for k in range(n_topics):
            if here[k] > 0:
                topics[size], counts[size] = k, here[k]
                here[k] = 0
                size += 1
        ends[d + 1] = size


@kernel
def log_tokens(words: Any, starts: Any, first: int, last: int, z: Any, phi: Any, alpha: Any) -> float:
    """Sum of log Σ_k θ_mk φ_kv over the tokens of some documents."""
    theta, total, logs = np.empty(alpha.size, np.float32), 0.0, 0.0
    for k in range(alpha.size):
        total += alpha[k]
    for d in range(first, last):
        begin, end = starts[d], starts[d + 1]
        for k in range(alpha.size):
            theta[k] = alpha[k]
        for i in range(begin, end):
            theta[z[i]] += np.float32(1.0)
        before, value = -1, 0.0
        for i in range(begin, end):
            if words[i] != before:  # the tokens of a word stand together
                before, row, chance = words[i], phi[words[i]], np.float32(0.0)
                for k in range(alpha.size):
                    chance += theta[k] * row[k]
                value = np.log(chance / (end - begin + total))
            logs += value
    return logs
