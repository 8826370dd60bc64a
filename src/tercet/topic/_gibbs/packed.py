"""Collapsed Gibbs sampling with the topics that a word has, for many topics.

With a_k = (n_mk + α_k) / (n_k + Σ β), kept up to date within a document, the weight of topic k for word v is

    a_k (n_kv + β_v) = a_k n_kv + β_v a_k.

The first part has as many terms as the word has topics, few after some sweeps; they stand in a short list of packed
numbers, count << BITS | topic. The second part is β_v Σ_k a_k, a sum that is kept up to date, too, and looked
through only when the draw falls into it, which is seldom.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.cache_lines import fetch_line
from tercet.core.kernel import inner, kernel
from tercet.core.parallel import each
from tercet.core.rows import read_only
from tercet.topic._gibbs.tokens import Tokens

BITS = 24  # of the topic in a packed number
MERGED = 1 << 12  # words whose lists one item of a merge joins
AHEAD = 6  # tokens between asking for a word's list and using it
RUN = 32  # topics whose weights are added before it is asked whether the draw falls among them


class PackedCounts:
    """Counts of words in topics as a list for each word and shard, and the topics of all tokens."""

    uniform = np.float64

    def __init__(self, data: Tokens, topics: np.ndarray, n_topics: int, shards: int) -> None:
        if n_topics >= 1 << BITS:
            raise ValueError(f"n_components must be below {1 << BITS}; got {n_topics}.")
        self.data, self.n_topics, self.z = data, n_topics, topics.astype(np.int32)
        room = np.minimum(np.bincount(data.words, minlength=data.n_words), n_topics)
        self.offsets = np.concatenate([[0], np.cumsum(room)])
        copies = shards + 1 if shards > 1 else 1
        self.entries = np.zeros((copies, max(int(self.offsets[-1]), 1)), dtype=np.int64)
        self.lengths = np.zeros((copies, data.n_words), dtype=np.int64)
        pack_tokens(
            read_only(data.words),
            read_only(self.z),
            self.entries[0],
            read_only(self.offsets),
            self.lengths[0],
        )
        self.entries[1:], self.lengths[1:] = self.entries[0], self.lengths[0]
        first = np.bincount(self.z, minlength=n_topics).astype(np.float64)
        self.totals = np.tile(first, (copies, 1))

    def set_priors(self, alpha: np.ndarray, beta: np.ndarray) -> None:
        """Set α, of shape (K,), and β, of shape (1, V): the same for all topics."""
        self.alpha = np.array(alpha, dtype=np.float64)
        self.beta, self.beta_sum = np.array(np.broadcast_to(beta[0], self.data.n_words)), float(beta[0].sum())

    def sample(self, shard: int, first: int, last: int, uniforms: np.ndarray) -> None:
        """Draw new topics for the tokens of the documents from first to last."""
        here = shard + 1 if len(self.entries) > 1 else 0
        sample_packed(
            read_only(self.data.words),
            read_only(self.data.starts),
            first,
            last,
            self.z,
            read_only(uniforms),
            self.entries[here],
            read_only(self.offsets),
            self.lengths[here],
            self.totals[here],
            read_only(self.alpha),
            read_only(self.beta),
            self.beta_sum,
        )

    def merge(self, n_jobs: int | None) -> None:
        """Add the changes of all shards to the common counts, and give these to every shard."""
        n = self.data.n_words
        each(self._merge_words, [(v, min(v + MERGED, n)) for v in range(0, n, MERGED)], n_jobs=n_jobs)
        self.totals[0] += (self.totals[1:] - self.totals[0]).sum(axis=0)
        self.totals[1:] = self.totals[0]

    def _merge_words(self, span: tuple[int, int]) -> None:
        merge_packed(*span, self.entries, read_only(self.offsets), self.lengths, self.n_topics)

    def topics(self) -> np.ndarray:
        """The topic of each token."""
        return self.z


@kernel
def pack_tokens(words: Any, z: Any, entries: Any, offsets: Any, lengths: Any) -> None:
    """Lists of the topics of each word, with their counts."""
    for i in range(words.size):
        w = words[i]
        lengths[w] = counted_in(entries, offsets[w], lengths[w], np.int64(z[i]))


@kernel
def sample_packed(
    words: Any,
    starts: Any,
    first: int,
    last: int,
    z: Any,
    uniforms: Any,
    entries: Any,
    offsets: Any,
    lengths: Any,
    totals: Any,
    alpha: Any,
    beta: Any,
    beta_sum: float,
) -> None:
    """New topics for the tokens of the documents from first to last, in order."""
    n_topics, low, single = alpha.size, (1 << BITS) - 1, 1 << BITS
    a, here, part = np.empty(n_topics), np.zeros(n_topics), np.empty(n_topics)
    for d in range(first, last):
        here[:] = 0.0
        for i in range(starts[d], starts[d + 1]):
            here[z[i]] += 1.0
        smooth = 0.0  # Σ_k a_k
        for k in range(n_topics):
            a[k] = (here[k] + alpha[k]) / (totals[k] + beta_sum)
            smooth += a[k]
        for i in range(starts[d], starts[d + 1]):
            if i + AHEAD < starts[last]:
                fetch_line(entries, np.uint64(offsets[words[i + AHEAD]]))
                fetch_line(entries, np.uint64(offsets[words[i + AHEAD]]) + np.uint64(8))
            w, old = words[i], z[i]
            start, length = offsets[w], lengths[w]
            smooth += move(old, -1.0, here, totals, a, alpha, beta_sum)
            mine = entries[start : start + length]
            sparse, place = 0.0, start
            for j in range(length):  # take the token out, and add up
                entry = mine[j]
                if entry & low == old:
                    entry -= single
                    mine[j] = entry
                    place = start + j
                sparse += (entry >> BITS) * a[entry & low]
                part[j] = sparse
            t = uniforms[i - starts[first]] * (sparse + beta[w] * smooth)
            among, new = t < sparse, np.int64(old)
            if among:
                j = 0
                while j < length - 1 and part[j] <= t:
                    j += 1
                new = entries[start + j] & low
                entries[start + j] += single
            if entries[place] < single:  # the word has this topic no more
                length -= 1
                entries[place] = entries[start + length]
            if not among:
                new = chosen_topic(a, (t - sparse) / beta[w])
                length = counted_in(entries, start, length, new)
            lengths[w], z[i] = length, new
            smooth += move(new, 1.0, here, totals, a, alpha, beta_sum)


@inner
def move(k: Any, change: float, here: Any, totals: Any, a: Any, alpha: Any, beta_sum: float) -> float:
    """Count a token of the document in or out of topic k; how much a_k grows."""
    before = a[k]
    here[k] += change
    totals[k] += change
    a[k] = (here[k] + alpha[k]) / (totals[k] + beta_sum)
    return a[k] - before


@inner
def chosen_topic(a: Any, t: Any) -> Any:
    """The topic that t falls into, where topic k takes up a[k]; the sum of a run of topics at a time."""
    k = 0
    while k < a.size - RUN:
        run = 0.0
        for x in range(k, k + RUN):
            run += a[x]
        if t < run:
            break
        t -= run
        k += RUN
    while k < a.size - 1 and t >= a[k]:
        t -= a[k]
        k += 1
    return k


@inner
def counted_in(entries: Any, start: Any, length: Any, topic: Any) -> Any:
    """Count a token of a topic in the list of a word, and return its new length."""
    j, end = start, start + length
    while j < end and entries[j] & ((1 << BITS) - 1) != topic:
        j += 1
    if j == end:
        entries[j] = topic
        length += 1
    entries[j] += 1 << BITS
    return length


@kernel
def merge_packed(first: int, last: int, entries: Any, offsets: Any, lengths: Any, n_topics: int) -> None:
    """Join the lists of some words: the common counts and all changes to them."""
    low, copies = (1 << BITS) - 1, entries.shape[0]
    found, joined = np.zeros(n_topics, np.int64), np.empty(n_topics, np.int64)
    for w in range(first, last):
        start, size = offsets[w], 0
        for j in range(start, start + lengths[0, w]):
            found[entries[0, j] & low] = -(copies - 2) * (entries[0, j] >> BITS)
        for c in range(1, copies):
            for j in range(start, start + lengths[c, w]):
                found[entries[c, j] & low] += entries[c, j] >> BITS
        for c in range(copies):
            for j in range(start, start + lengths[c, w]):
                k = entries[c, j] & low
                if found[k] != 0:
                    joined[size] = found[k] << BITS | k
                    size += 1
                    found[k] = 0
        for c in range(copies):
            lengths[c, w] = size
            for j in range(size):
                entries[c, start + j] = joined[j]
