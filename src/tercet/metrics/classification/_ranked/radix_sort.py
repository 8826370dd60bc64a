"""Sorting of scores by their bits: least significant digit first, eleven bits at a time.

Linear in the number of scores, where a comparison sort takes n log n.
"""

from __future__ import annotations

import numpy as np

from tercet.core.kernel import inner, kernel

FEW = 1 << 12  # scores that NumPy sorts as fast
SIGN = np.uint64(1 << 63)
BITS, MASK = np.uint64(11), np.uint64(2047)
PASSES = 6  # of 11 bits: 64 and two to spare


def sorted_scores(score: np.ndarray) -> np.ndarray:
    """Finite scores in rising order, as float64."""
    score = np.ascontiguousarray(score, dtype=np.float64)
    if score.size < FEW:
        return np.sort(score)
    keys = order_preserving_keys(score)
    return scores_of(radix_sorted(keys, np.empty_like(keys), np.zeros((PASSES, 2048), np.int64)))


def score_order(score: np.ndarray) -> np.ndarray:
    """The stable order that sorts finite scores."""
    score = np.ascontiguousarray(score, dtype=np.float64)
    if score.size < FEW:
        return np.argsort(score, kind="stable")
    keys, order = order_preserving_keys(score), np.arange(score.size)
    spare = np.empty_like(keys), np.empty_like(order)
    return radix_order(keys, order, *spare, np.zeros((PASSES, 2048), np.int64))


def order_preserving_keys(score: np.ndarray) -> np.ndarray:
    """Unsigned integers in the order of the floats: negative ones with all bits flipped, others with the sign.

    Zero and minus zero are one key, so that a stable sort keeps their order.
    """
    bits = (score + 0.0).view(np.uint64)
    return np.where(bits & SIGN, ~bits, bits | SIGN)


def scores_of(keys: np.ndarray) -> np.ndarray:
    """The floats of order-preserving keys."""
    return np.where(keys & SIGN, keys ^ SIGN, ~keys).view(np.float64)


@kernel
def radix_sorted(keys, spare, counts):
    """The keys in rising order; `keys` and `spare` are written over, `counts` (passes, digits) starts at 0."""
    n = keys.size
    _count_digits(keys, counts)
    for step in range(counts.shape[0]):
        shift, place = BITS * np.uint64(step), counts[step]
        if place[(keys[0] >> shift) & MASK] == n:  # all keys share the digit
            continue
        _starts(place)
        for i in range(n):
            key = keys[i]
            digit = (key >> shift) & MASK
            spare[place[digit]] = key
            place[digit] += 1
        keys, spare = spare, keys
    return keys


@kernel
def radix_order(keys, order, spare_keys, spare_order, counts):
    """The order that sorts the keys, given 0, 1, 2 ... in `order`."""
    n = keys.size
    _count_digits(keys, counts)
    for step in range(counts.shape[0]):
        shift, place = BITS * np.uint64(step), counts[step]
        if place[(keys[0] >> shift) & MASK] == n:
            continue
        _starts(place)
        for i in range(n):
            key = keys[i]
            digit = (key >> shift) & MASK
            spare_keys[place[digit]] = key
            spare_order[place[digit]] = order[i]
            place[digit] += 1
        keys, spare_keys = spare_keys, keys
        order, spare_order = spare_order, order
    return order


@inner
def _count_digits(keys, counts):
    for i in range(keys.size):
        key = keys[i]
        for step in range(counts.shape[0]):
            counts[step, (key >> (BITS * np.uint64(step))) & MASK] += 1


@inner
def _starts(place):
    """Counts become the places where the keys of each digit begin."""
    start = 0
    for digit in range(place.size):
        count = place[digit]
        place[digit] = start
        start += count
