"""Collapsed Gibbs sampling with all topics of a word at once.

The counts of a word stand in one row, in sixteen lanes: lane l has the topics l * depth to (l + 1) * depth - 1, one
in each step, so that place `step * 16 + lane` belongs to topic `lane * depth + step`. One loop then makes sixteen
running sums side by side, which compilers turn into vector instructions (two loops, for the steps of the first half
and for the others: a sum waits for the one before, and two chains wait half as long). Which lane, and which step
of the lane, a draw falls into is found by counting comparisons. Lanes hold topics in their order, and so the draw
is that of the plain algorithm: the first topic whose cumulative weight exceeds u times the total.

A token is taken out of the counts while the draw for the one before it is under way: numbers that were just written
one by one cannot be read as a vector before they have reached the cache.

Weights are float32, counts are int32. Rows are whole cache lines, asked for some tokens before they are needed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.cache_lines import fetch_line, lines
from tercet.core.kernel import inner, kernel
from tercet.core.parallel import each
from tercet.core.rows import read_only
from tercet.topic._gibbs.tokens import Tokens

LANES = 16
AHEAD = 4  # tokens between asking for a word's row and using it
MERGED = 1 << 18  # numbers of a table that one item of a merge adds up


def places(n_topics: int) -> tuple[np.ndarray, int]:
    """The place of each topic in a row, and the number of places in it."""
    depth = -(-n_topics // LANES)
    topic = np.arange(n_topics)
    return (topic % depth) * LANES + topic // depth, depth * LANES


class DenseCounts:
    """Counts of words in topics as a table for each shard, and the topics of all tokens.

    A shard draws from the counts at the beginning of the sweep and its own changes since; `merge` adds up the
    changes of all shards.
    """

    uniform = np.float32

    def __init__(self, data: Tokens, topics: np.ndarray, n_topics: int, shards: int) -> None:
        self.data, self.n_topics = data, n_topics
        self.place, self.width = places(n_topics)
        self.topic = np.zeros(self.width, dtype=np.int32)
        self.topic[self.place] = np.arange(n_topics)
        self.z = self.place.astype(np.int32)[topics]
        first = lines(data.n_words, self.width, np.int32)
        add_tokens(read_only(data.words), read_only(self.z), first.reshape(-1), self.width)
        self.tables = [first]
        for _ in range(shards if shards > 1 else 0):
            self.tables.append(
                lines(data.n_words, self.width, np.int32)
            )  # aligned, which a copy would not be
            self.tables[-1][:] = first
        self.totals = [first.sum(axis=0, dtype=np.float64) for _ in self.tables]

    def set_priors(self, alpha: np.ndarray, beta: np.ndarray) -> None:
        """Set α, of shape (K,), and β, of shape (1, V) or (K, V)."""
        self.alpha = np.zeros(self.width, dtype=np.float32)
        self.alpha[self.place] = alpha
        self.sums = np.ones(self.width)  # where there is no topic, anything but zero
        self.sums[self.place] = beta.sum(axis=1)
        # one row for all words, where β is the same for all of them
        rows = beta[:, :1] if (beta == beta[:, :1]).all() else beta
        prior = lines(rows.shape[1], self.width, np.float32)
        prior[:, self.place] = rows.T
        self.beta, self.step = prior.reshape(-1), self.width if rows.shape[1] > 1 else 0

    def sample(self, shard: int, first: int, last: int, uniforms: np.ndarray) -> None:
        """Draw new topics for the tokens of the documents from first to last."""
        here = shard + 1 if len(self.tables) > 1 else 0
        sample_dense(
            read_only(self.data.words),
            read_only(self.data.starts),
            first,
            last,
            self.z,
            read_only(uniforms),
            self.tables[here].reshape(-1),
            self.totals[here],
            read_only(self.alpha),
            read_only(self.beta),
            self.step,
            read_only(self.sums),
            self.n_topics,
        )

    def merge(self, n_jobs: int | None) -> None:
        """Add the changes of all shards to the common counts, and give these to every shard."""
        spans = [(k, min(k + MERGED, self.tables[0].size)) for k in range(0, self.tables[0].size, MERGED)]
        each(self._merge_span, spans, n_jobs=n_jobs)
        common = self.totals[0] + sum(total - self.totals[0] for total in self.totals[1:])
        self.totals = [common.copy() for _ in self.tables]

    def _merge_span(self, span: tuple[int, int]) -> None:
        parts = [table.reshape(-1)[span[0] : span[1]] for table in self.tables]
        change = np.zeros(parts[0].size, dtype=np.int32)
        for part in parts[1:]:
            change += part
            change -= parts[0]
        parts[0] += change
        for part in parts[1:]:
            part[:] = parts[0]

    def topics_of_words(self) -> float:
        """How many topics the word of a token has, on average."""
        found = np.count_nonzero(self.tables[0], axis=1) @ self.tables[0].sum(axis=1, dtype=np.int64)
        return float(found) / max(self.data.words.size, 1)

    def topics(self) -> np.ndarray:
        """The topic of each token."""
        return self.topic[self.z]


@kernel
def add_tokens(words: Any, z: Any, table: Any, width: int) -> None:
    """Count the tokens of each word and place."""
    for i in range(words.size):
        table[np.uint64(words[i]) * np.uint64(width) + np.uint64(z[i])] += np.int32(1)


@kernel
def sample_dense(
    words: Any,
    starts: Any,
    first: int,
    last: int,
    z: Any,
    uniforms: Any,
    table: Any,
    totals: Any,
    alpha: Any,
    beta: Any,
    beta_step: int,
    beta_sums: Any,
    n_topics: int,
) -> None:
    """New topics for the tokens of the documents from first to last, in order.

    `table` has a row of places for each word, `totals` their sums over words; `beta` one row, or one for each word
    (`beta_step` is the distance of rows). With a = (n_mk + α_k) / (n_k + Σ β) kept up to date, which changes in two
    places for each token, the weight of a topic is a (n_kv + β).
    """
    one, lanes, width = np.uint64(1), np.uint64(LANES), np.uint64(alpha.size)
    depth, step, far = width // lanes, np.uint64(beta_step), np.uint64(AHEAD)
    inverse, a = np.empty(alpha.size, np.float32), np.empty(alpha.size, np.float32)
    here, half = np.empty(alpha.size, np.float32), (depth + one) // np.uint64(2) * lanes
    sums, more = np.zeros(alpha.size + LANES, np.float32), np.zeros(alpha.size + LANES, np.float32)
    ends, both = np.zeros(8, np.float32), np.zeros(LANES, np.float32)
    final = (np.uint64(n_topics - 1) % depth) * lanes + np.uint64(n_topics - 1) // depth
    offset, most = np.uint64(starts[first]), np.uint64(starts[last])
    for x in range(width):
        inverse[x] = np.float32(1.0 / (totals[x] + beta_sums[x]))
    for d in range(first, last):
        begin, end = np.uint64(starts[d]), np.uint64(starts[d + 1])
        for x in range(width):
            here[x] = np.float32(0.0)
        for i in range(begin, end):
            here[np.uint64(z[i])] += np.float32(1.0)
        for x in range(width):
            a[x] = (here[x] + alpha[x]) * inverse[x]
        if begin < end:
            take_out(begin, words, z, width, table, here, totals, inverse, a, alpha, beta_sums)
        for i in range(begin, end):
            later = i + far
            if later < most:
                row = np.uint64(words[later]) * width
                for s in range(depth):
                    fetch_line(table, row + s * lanes)
            row, prior = np.uint64(words[i]) * width, np.uint64(words[i]) * step
            for x in range(half):
                sums[x + lanes] = sums[x] + a[x] * (np.float32(table[row + x]) + beta[prior + x])
            upper, above = row + half, prior + half
            for x in range(width - half):
                more[x + lanes] = more[x] + a[half + x] * (np.float32(table[upper + x]) + beta[above + x])
            if i + one < end:
                take_out(i + one, words, z, width, table, here, totals, inverse, a, alpha, beta_sums)
            new = chosen_place(sums, more, both, half, width - half, uniforms[i - offset], ends)
            if (new & (lanes - one)) * depth + new // lanes >= np.uint64(n_topics):  # by rounding
                new = final
            z[i] = new
            table[row + new] += np.int32(1)
            move(new, np.float32(1.0), here, totals, inverse, a, alpha, beta_sums)


@inner
def take_out(
    i: Any,
    words: Any,
    z: Any,
    width: Any,
    table: Any,
    here: Any,
    totals: Any,
    inverse: Any,
    a: Any,
    alpha: Any,
    beta_sums: Any,
) -> None:
    """Take token i out of the counts."""
    old = np.uint64(z[i])
    table[np.uint64(words[i]) * width + old] -= np.int32(1)
    move(old, np.float32(-1.0), here, totals, inverse, a, alpha, beta_sums)


@inner
def move(
    p: Any, change: Any, here: Any, totals: Any, inverse: Any, a: Any, alpha: Any, beta_sums: Any
) -> None:
    """Count a token of the document in or out of place p."""
    here[p] += change
    totals[p] += change
    inverse[p] = np.float32(1.0 / (totals[p] + beta_sums[p]))
    a[p] = (here[p] + alpha[p]) * inverse[p]


@inner
def chosen_place(sums: Any, more: Any, both: Any, half: Any, rest: Any, u: Any, ends: Any) -> Any:
    """The place that u in [0, 1) falls into: running sums of the first half of the steps, and of the rest of them.

    First the group of four lanes, then the lane, then the step, each by counting the borders that are not above.
    `both` and `ends` are scratch; ends[0] and ends[4] stay zero.
    """
    one, two, four, lanes = np.uint64(1), np.uint64(2), np.uint64(4), np.uint64(LANES)
    for x in range(lanes):
        both[x] = sums[half + x] + more[rest + x]
    g0 = (both[0] + both[1]) + (both[2] + both[3])
    g1 = g0 + ((both[4] + both[5]) + (both[6] + both[7]))
    g2 = g1 + ((both[8] + both[9]) + (both[10] + both[11]))
    g3 = g2 + ((both[12] + both[13]) + (both[14] + both[15]))
    t = u * g3
    ends[1], ends[2], ends[3] = g0, g1, g2
    group = np.uint64(t >= g0) + np.uint64(t >= g1) + np.uint64(t >= g2)
    t = t - ends[group]
    w = group * four
    s0 = both[w]
    s1 = s0 + both[w + one]
    s2 = s1 + both[w + two]
    ends[5], ends[6], ends[7] = s0, s1, s2
    inside = np.uint64(t >= s0) + np.uint64(t >= s1) + np.uint64(t >= s2)
    t = t - ends[four + inside]
    lane = w + inside
    steps, place = np.uint64(0), lane + lanes
    for _ in range(half // lanes if rest > 0 else half // lanes - one):
        steps += np.uint64(t >= sums[place])
        place += lanes
    if rest > 0:
        t, place = t - sums[half + lane], lane + lanes
        for _ in range(rest // lanes - one):
            steps += np.uint64(t >= more[place])
            place += lanes
    return steps * lanes + lane
