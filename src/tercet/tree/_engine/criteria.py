"""Impurity of a node, comparison of gains, midpoints, and hashed draws."""

from __future__ import annotations

import numpy as np

from tercet.core.kernel import inner, shared

GINI, ENTROPY, SQUARED = 0, 1, 2
CODES = {"gini": GINI, "entropy": ENTROPY, "log_loss": ENTROPY, "squared_error": SQUARED}

# Two gains nearer to each other than this share of the larger are the same: the earlier column, then the smaller
# threshold, wins. Rounding must not decide.
TIE = 1e-9


@shared
def better(gain, best, spread):
    """Whether a gain is larger by more than rounding; `spread` is the node's weight times its impurity.

    A negative `best` means that there is none yet: any gain is better, at whatever scale.
    """
    return best < 0.0 or gain > best + TIE * best + 1e-3 * TIE * spread


@inner
def impurity(counts, code):
    """Gini index 1 - sum p², or entropy -sum p log2 p, of a node with so much weight in each class."""
    total, present = 0.0, 0
    for k in range(counts.size):
        total += counts[k]
        present += counts[k] > 0.0
    found = 0.0
    if present < 2:  # exactly 0, which divisions that the compiler turned into products would not give
        return found
    for k in range(counts.size):
        p = counts[k] / total
        if code == GINI:
            found += p * (1.0 - p)
        elif p > 0.0:
            found -= p * np.log2(p)
    return max(found, 0.0)


@inner
def shrunken(g, l1):
    """What an L1 penalty leaves of a sum of gradients: nearer to 0 by l1, or 0."""
    if g > l1:
        return g - l1
    return g + l1 if g < -l1 else 0.0


@inner
def midpoint(low, high):
    """A threshold that separates two values whatever rounding does: low <= t < high."""
    middle = low / 2.0 + high / 2.0
    return middle if low <= middle < high else low


@shared
def hashed(key, word):
    """32-bit hash of two numbers: the draws of a node depend on its place in the tree, not on the order of growth.

    All products stay below 2^64, so that plain Python and compiled code agree without overflow.
    """
    low = np.uint64(0xFFFFFFFF)
    x = (np.uint64(key) * np.uint64(31) + np.uint64(word) + np.uint64(0x9E3779B9)) & low
    x = ((x ^ (x >> np.uint64(16))) * np.uint64(0x7FEB352D)) & low
    x = ((x ^ (x >> np.uint64(15))) * np.uint64(0x846CA68B)) & low
    return x ^ (x >> np.uint64(16))
