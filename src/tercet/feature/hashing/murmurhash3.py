"""MurmurHash3 (32 bits) of strings and numbers, the hash function of scikit-learn's hashing transformers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from tercet.core.kernel import inner, kernel
from tercet.core.rows import read_only

MASK = 0xFFFFFFFF


def hash_texts(texts: Iterable[str | bytes], seed: int = 0) -> np.ndarray:
    """Signed hashes of texts; strings are hashed as UTF-8.

    Parameters
    ----------
    texts : iterable of str or bytes
    seed : int, default=0

    Returns
    -------
    hashes : array of int32

    Examples
    --------
    >>> hash_texts(["dog", "cat"])
    array([-1312749093,  1751422759], dtype=int32)
    """
    encoded = [text.encode("utf-8") if isinstance(text, str) else text for text in texts]
    ends = np.cumsum([0, *map(len, encoded)])
    letters = np.frombuffer(b"".join(encoded) or b"\0", dtype=np.int8)
    return _hash(letters, ends, seed)


def hash_numbers(values: np.ndarray, seed: int = 0) -> np.ndarray:
    """Signed hashes of numbers, by the 8 bytes of a whole number, else of a float: the same for 2 and 2.0.

    Examples
    --------
    >>> bool(hash_numbers(np.array([2])) == hash_numbers(np.array([2.0])))
    True
    """
    if values.dtype.kind == "f":
        bits = values.astype(np.float64)
        whole = (bits == np.floor(bits)) & (np.abs(bits) < 2.0**63)
        keys = np.where(whole, np.where(whole, bits, 0.0).astype(np.int64), bits.view(np.int64))
    else:
        keys = values.astype(np.int64)
    letters = np.ascontiguousarray(keys, dtype="<i8").view(np.int8)
    return _hash(letters, np.arange(0, 8 * keys.size + 1, 8), seed)


def bucket_of(hashes: np.ndarray, n_buckets: int) -> np.ndarray:
    """The bucket of each hash: its absolute value modulo the number of buckets, as in scikit-learn."""
    return np.abs(hashes.astype(np.int64)) % n_buckets


def _hash(letters: np.ndarray, ends: np.ndarray, seed: int) -> np.ndarray:
    found = np.empty(len(ends) - 1, dtype=np.int64)
    murmurhash3(read_only(letters), read_only(ends.astype(np.int64)), int(seed) & MASK, found)
    return found.astype(np.uint32).view(np.int32)


@kernel
def murmurhash3(letters: Any, ends: Any, seed: Any, out: Any) -> None:
    """out[i] is the hash of letters[ends[i]:ends[i + 1]]; numbers are kept below 2^32 in 64 bits."""
    for i in range(out.size):
        # as Python's integers where this is not compiled: NumPy's would warn of overflow
        start, length = int(ends[i]), int(ends[i + 1]) - int(ends[i])
        blocks = length // 4
        h = int(seed)
        for b in range(blocks):
            at = start + 4 * b
            k = (
                (int(letters[at]) & 0xFF)
                | (int(letters[at + 1]) & 0xFF) << 8
                | (int(letters[at + 2]) & 0xFF) << 16
                | (int(letters[at + 3]) & 0xFF) << 24
            )
            h ^= scrambled(k)
            h = (h << 13 | h >> 19) & MASK
            h = (h * 5 + 0xE6546B64) & MASK
        rest = 0
        for r in range(length - 4 * blocks):
            rest |= (int(letters[start + 4 * blocks + r]) & 0xFF) << (8 * r)
        h ^= scrambled(rest)
        h = (h ^ length) & MASK
        h = ((h ^ h >> 16) * 0x85EBCA6B) & MASK
        h = ((h ^ h >> 13) * 0xC2B2AE35) & MASK
        out[i] = h ^ h >> 16


@inner
def scrambled(k: Any) -> Any:
    k = (k * 0xCC9E2D51) & MASK
    k = (k << 15 | k >> 17) & MASK
    return (k * 0x1B873593) & MASK
