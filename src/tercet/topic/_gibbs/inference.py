"""Topics of new documents by Gibbs sampling with the topics' words held fixed."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tercet.core.cache_lines import fetch_line, lines
from tercet.core.kernel import kernel
from tercet.core.parallel import each
from tercet.core.rows import read_only
from tercet.topic._gibbs.dense import AHEAD, LANES, chosen_place, places
from tercet.topic._gibbs.tokens import (
    LARGEST,
    SMALLEST,
    Tokens,
    blocks,
    document_keys,
    keyed_uniforms,
    tokens,
)

TINY = 1e-30  # a word that no topic has says nothing


class Fixed(NamedTuple):
    """What all blocks of documents share."""

    data: Tokens
    keys: np.ndarray
    phi: np.ndarray
    alpha: np.ndarray
    n_topics: int
    n_sweeps: int
    burn_in: int
    out: np.ndarray


def infer_documents(
    counts: Any,
    topic_word: np.ndarray,
    alpha: np.ndarray,
    beta: Any = 0.0,
    *,
    n_sweeps: int = 50,
    seed: int = 0,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Topics θ of documents, of shape (M, K), given counts of words in topics and the prior added to them."""
    phi = np.asarray(topic_word, dtype=np.float64) + beta
    phi = phi / phi.sum(axis=1, keepdims=True)
    raised = infer_counts(counts, phi, alpha, n_sweeps=n_sweeps, seed=seed, n_jobs=n_jobs)
    return raised / raised.sum(axis=1, keepdims=True)


def infer_counts(
    counts: Any,
    phi: np.ndarray,
    alpha: np.ndarray,
    *,
    n_sweeps: int = 50,
    seed: int = 0,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Mean of n_mk + α_k over the second half of the sweeps, of shape (M, K).

    What is drawn for a document depends on its own words and the seed: the same in any order and any batch.

    Parameters
    ----------
    counts : CSR matrix of shape (n_documents, n_words)
        How often each word occurs in each document; whole numbers.
    phi : array of shape (K, V)
        Probabilities of words in topics.
    alpha : array of shape (K,)
        The prior of the topics of a document.
    n_sweeps : int, default=50
        Sweeps over each document.
    seed : int, default=0
        Decides what is drawn.
    n_jobs : int, optional
        Threads; the result does not depend on it.
    """
    data, keys, n_topics = tokens(counts), document_keys(counts, seed), len(phi)
    words = np.unique(data.words)
    if 2 * words.size < data.n_words:  # a few documents need a few columns of a large table
        data = Tokens(np.searchsorted(words, data.words).astype(np.int32), data.starts, words.size)
        phi = phi[:, words]
    place, width = places(n_topics)
    table = lines(data.n_words, width, np.float32)
    table[:, place] = np.maximum(phi.T, TINY)
    prior = np.zeros(width, dtype=np.float32)
    prior[place] = np.clip(alpha, SMALLEST, LARGEST)
    n_sweeps = max(n_sweeps, 1)
    burn_in, out = n_sweeps // 2, np.zeros((data.n_documents, width))
    fixed = Fixed(data, keys, table.reshape(-1), prior, n_topics, n_sweeps, burn_in, out)
    cost = max(n_topics, LANES) * (n_sweeps + 1)
    each(infer_block, blocks(data.starts, 0, data.n_documents, cost), fixed, n_jobs=n_jobs)
    return out[:, place] / (n_sweeps - burn_in) + alpha


def infer_block(span: tuple[int, int], fixed: Fixed) -> None:
    """Draw topics for the documents of one block."""
    first, last = span
    lengths = np.diff(fixed.data.starts[first : last + 1])
    uniforms = keyed_uniforms(fixed.keys[first:last], lengths, fixed.n_sweeps + 1)
    infer_dense(
        read_only(fixed.data.words),
        read_only(fixed.data.starts),
        first,
        last,
        read_only(uniforms),
        read_only(fixed.phi),
        read_only(fixed.alpha),
        fixed.n_topics,
        fixed.burn_in,
        fixed.out,
    )


@kernel
def infer_dense(
    words: Any,
    starts: Any,
    first: int,
    last: int,
    uniforms: Any,
    phi: Any,
    alpha: Any,
    n_topics: int,
    burn_in: int,
    out: Any,
) -> None:
    """Add the counts of topics of some documents over the sweeps after the burn-in to `out`.

    The first row of uniform numbers makes the start: each token's topic given those before it.
    """
    one, lanes, width = np.uint64(1), np.uint64(LANES), np.uint64(alpha.size)
    depth, far = width // lanes, np.uint64(AHEAD)
    half, a = (depth + one) // np.uint64(2) * lanes, np.empty(alpha.size, np.float32)
    sums, more = np.zeros(alpha.size + LANES, np.float32), np.zeros(alpha.size + LANES, np.float32)
    ends, both = np.zeros(8, np.float32), np.zeros(LANES, np.float32)
    here = np.empty(alpha.size, np.float32)  # a is here + α, added anew each time: float32 would drift
    final = (np.uint64(n_topics - 1) % depth) * lanes + np.uint64(n_topics - 1) // depth
    offset = np.uint64(starts[first])
    z = np.zeros(starts[last] - starts[first], np.int32)
    for d in range(first, last):
        begin, end = np.uint64(starts[d]), np.uint64(starts[d + 1])
        for x in range(width):
            a[x], here[x] = alpha[x], np.float32(0.0)
        for sweep in range(uniforms.shape[0]):
            for i in range(begin, end):
                if i + far < end:
                    row = np.uint64(words[i + far]) * width
                    for s in range(depth):
                        fetch_line(phi, row + s * lanes)
                row = np.uint64(words[i]) * width
                if sweep > 0:
                    old = np.uint64(z[i - offset])
                    here[old] -= np.float32(1.0)
                    a[old] = here[old] + alpha[old]
                for x in range(half):
                    sums[x + lanes] = sums[x] + a[x] * phi[row + x]
                upper = row + half
                for x in range(width - half):
                    more[x + lanes] = more[x] + a[half + x] * phi[upper + x]
                u = uniforms[sweep, i - offset]
                new = chosen_place(sums, more, both, half, width - half, u, ends)
                if (new & (lanes - one)) * depth + new // lanes >= np.uint64(n_topics):  # by rounding
                    new = final
                z[i - offset] = new
                here[new] += np.float32(1.0)
                a[new] = here[new] + alpha[new]
            if sweep > burn_in:
                for x in range(width):
                    out[d, x] += here[x]
