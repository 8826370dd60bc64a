"""Counts of words as lists of words, one for each occurrence, and how they are cut into shards and blocks."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tercet.core.memory import available

BLOCK = 1 << 26  # tokens times topics of one call of a kernel: a fraction of a second, for Ctrl-C
SOME_TOKENS = 1 << 24  # too few to ask for memory
TOKEN_BYTES = 28  # its word and topic, and what making them takes
SMALLEST, LARGEST = 1e-10, 1e10  # of a prior: weights are products of such numbers, in float32
GOLDEN, FIRST, SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


class Tokens(NamedTuple):
    """Words of all documents one after the other; those of document d are `words[starts[d] : starts[d + 1]]`."""

    words: np.ndarray  # int32
    starts: np.ndarray  # int64
    n_words: int

    @property
    def n_documents(self) -> int:
        return self.starts.size - 1


def tokens(counts: Any, who: str = "Gibbs sampling") -> Tokens:
    """The words of a CSR matrix of counts, each as often as it occurs, in the order of the columns."""
    values = np.asarray(counts.data)
    wrong = ~((values >= 0) & (values == np.floor(values)) & (values < np.inf))
    if wrong.any():
        raise ValueError(
            f"{who} draws a topic for each single word: X must hold whole counts of 0 or more; it has "
            f"{values[wrong.argmax()]:g}."
        )
    n = float(values.sum(dtype=np.float64))
    if n > SOME_TOKENS and n * TOKEN_BYTES > (left := available()):
        raise ValueError(
            f"{who} draws a topic for each single word: X has {n:.3g} of them, which need some "
            f"{n * TOKEN_BYTES / 1e9:.3g} GB of memory; {left / 1e9:.3g} GB are left."
        )
    times = values.astype(np.int64)
    before = np.concatenate([[0], np.cumsum(times)])
    words = np.repeat(np.asarray(counts.indices, dtype=np.int32), times)
    return Tokens(words, before[np.asarray(counts.indptr, dtype=np.int64)], int(counts.shape[1]))


def shard_borders(starts: np.ndarray, shards: int) -> np.ndarray:
    """Documents at which shards begin, so that they have about as many words each; shape (shards + 1,)."""
    wanted = starts[-1] * np.arange(1, shards, dtype=np.float64) / shards
    inside = np.searchsorted(starts, wanted)
    return np.concatenate([[0], np.minimum(inside, starts.size - 1), [starts.size - 1]])


def blocks(starts: np.ndarray, first: int, last: int, cost: int) -> list[tuple[int, int]]:
    """Ranges of documents from first to last whose tokens, times the cost of one, come to about `BLOCK`."""
    size, found, begin = max(1, BLOCK // max(cost, 1)), [], first
    while begin < last:
        end = int(np.searchsorted(starts, starts[begin] + size, side="right")) - 1
        end = min(max(end, begin + 1), last)
        found.append((begin, end))
        begin = end
    return found


def document_keys(counts: Any, seed: int) -> np.ndarray:
    """A number for each document that its words and counts and the seed decide, and nothing else: neither the other
    documents nor the order of the columns that it has nothing in."""
    times = np.asarray(counts.data).astype(np.uint64)
    words = np.asarray(counts.indices).astype(np.uint64)
    there = times > 0
    parts = np.where(there, mixed(mixed(words + np.uint64(1)) + times), np.uint64(0))
    before = np.concatenate([np.zeros(1, np.uint64), np.cumsum(parts, dtype=np.uint64)])
    starts = np.asarray(counts.indptr, dtype=np.int64)
    return mixed(before[starts[1:]] - before[starts[:-1]] + mixed(np.full(1, seed % 2**64, np.uint64)))


def keyed_uniforms(keys: np.ndarray, lengths: np.ndarray, times: int) -> np.ndarray:
    """Uniform numbers in [0, 1) for the tokens of documents, `times` for each; shape (times, tokens).

    Document d has `lengths[d]` tokens; what they get depends on `keys[d]` alone (a stream of SplitMix64 each).
    """
    owner = np.repeat(np.arange(keys.size), lengths)
    position = np.arange(owner.size) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    out = np.empty((times, owner.size), dtype=np.float32)
    counter, key, stride = position.astype(np.uint64), keys[owner], lengths[owner].astype(np.uint64)
    for t in range(times):
        state = key + (counter + np.uint64(1)) * np.uint64(GOLDEN)
        np.multiply(mixed(state) >> np.uint64(40), np.float32(2.0**-24), out=out[t], casting="unsafe")
        counter += stride
    return out


def mixed(x: np.ndarray) -> np.ndarray:
    """The finaliser of SplitMix64, which turns counters into numbers that look drawn; overflow is wanted."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(FIRST)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(SECOND)
    return x ^ (x >> np.uint64(31))
