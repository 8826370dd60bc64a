"""Interventional TreeSHAP: features that are not known have the values of background rows.

For a row x, a background row b and a leaf, each feature on the path is one that only x passes, one that only b
passes, or one that both pass; where neither passes one of them, no mixture of the two comes to the leaf. With p
features that only x passes and r that only b passes, the mixtures that come to the leaf add up, by the Shapley
weights, to

    (p - 1)! r! / (p + r)!    for each of the first,    - p! (r - 1)! / (p + r)!    for each of the second.

Which features pass is a bit mask (as in Woodelf), and rows with equal masks have equal contributions: they are
computed once for every pair of different masks of the rows and of the background, whose masks are found first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tercet.core.array_copies import copy_array
from tercet.core.kernel import inner, kernel
from tercet.inspection._treeshap.path_table import slot_at

MOST_FEATURES = 62  # on a path: bits of a mask


def shapley_weights(most: int) -> np.ndarray:
    """(p - 1)! r! / (p + r)! at [p, r], for p of at least 1 and p + r of at most `most`.

    Examples
    --------
    >>> shapley_weights(2)[1:, :2].tolist()
    [[1.0, 0.5], [0.5, 0.0]]
    """
    weights = np.zeros((most + 1, most + 1))
    for p in range(1, most + 1):
        weights[p, 0] = 1.0 / p
        for r in range(1, most + 1 - p):
            weights[p, r] = weights[p, r - 1] * r / (p + r)
    return weights


class BackgroundMasks(NamedTuple):
    """The different masks of the background rows at each leaf, and the share of the rows that have each."""

    first: np.ndarray  # (n_edges + 1,): where those of each edge begin; only edges to leaves have any
    masks: np.ndarray
    shares: np.ndarray


@kernel
def background_masks(background, table):
    """The masks of the background rows, once for all rows that are explained."""
    m, deepest = background.shape[0], table.max_depth.max() + 1
    mask, branch = np.zeros((deepest, m), np.int64), np.empty((deepest, m), np.int64)
    bits, bit_at = np.zeros(deepest, np.int64), np.zeros(deepest, np.int64)
    distinct, place = np.empty(m, np.int64), np.empty(m, np.int64)
    slots = np.full(table_size(m), -1, np.int64)
    first = np.zeros(table.node.size + 1, np.int64)
    masks, shares, used = np.empty(1024, np.int64), np.empty(1024), 0
    for tree in range(table.root.size):
        for e in range(table.first_edge[tree], table.first_edge[tree + 1]):
            first[e] = used
            d = pass_rows(background, table, tree, e, mask, branch, bits, bit_at)
            if not table.leaf[e]:
                continue
            count = find_distinct(mask[d], slots, distinct, place)
            if used + count > masks.size:
                size = max(2 * masks.size, used + count)
                wider, more = np.empty(size, np.int64), np.empty(size)
                copy_array(masks[:used], wider[:used])
                copy_array(shares[:used], more[:used])
                masks, shares = wider, more
            copy_array(distinct[:count], masks[used : used + count])
            shares[used : used + count] = 0.0
            for i in range(m):
                shares[used + place[i]] += 1.0 / m
            used += count
    first[table.node.size] = used
    return first, masks[:used], shares[:used]


@kernel
def add_interventional(X, table, start, stop, known, weights, out):
    """Add the mean contributions over the background rows, out of shape (n, n_features, n_scores)."""
    n, deepest = X.shape[0], table.max_depth.max() + 1
    mask, branch = np.zeros((deepest, n), np.int64), np.empty((deepest, n), np.int64)
    bits, bit_at, feature = (
        np.zeros(deepest, np.int64),  # features so far, at each depth
        np.zeros(deepest, np.int64),
        np.zeros(deepest, np.int64),  # of each bit
    )
    distinct, place = np.empty(n, np.int64), np.empty(n, np.int64)
    slots = np.full(table_size(n), -1, np.int64)
    gains = np.empty((n, deepest))
    for tree in range(start, stop):
        score = table.score[tree]
        for e in range(table.first_edge[tree], table.first_edge[tree + 1]):
            d = pass_rows(X, table, tree, e, mask, branch, bits, bit_at)
            feature[bit_at[d]] = table.feature[e]
            if not table.leaf[e]:
                continue
            count = find_distinct(mask[d], slots, distinct, place)
            here = slice(known.first[e], known.first[e + 1])
            others, shares = known.masks[here], known.shares[here]
            pair_gains(distinct[:count], others, shares, bits[d], weights, gains)
            value = table.value[table.node[e]]
            for i in range(n):
                for b in range(bits[d]):
                    for c in range(value.size):
                        out[i, feature[b], score + c] += gains[place[i], b] * value[c]


@inner
def pass_rows(X, table, tree, e, mask, branch, bits, bit_at):
    """Let all rows go along edge e: their masks behind it, and their branches at its end; returns its depth."""
    d, up = table.depth[e], table.above[e]
    if e == table.first_edge[tree]:
        branches(X, table.tests, table.root[tree], branch[0])
    bit_at[d] = bits[d - 1] if up == 0 else bit_at[up]
    bits[d] = bits[d - 1] + (up == 0)
    pass_edge(table.slot[e], bit_at[d], up == 0, branch[d - 1], mask[d - 1], mask[d])
    if not table.leaf[e]:
        branches(X, table.tests, table.node[e], branch[d])
    return d


@inner
def table_size(n):
    """A power of two of at least twice n."""
    size = 2
    while size < 2 * n:
        size *= 2
    return size


@inner
def branches(X, tests, t, branch):
    for i in range(X.shape[0]):
        branch[i] = slot_at(tests, t, X[i, tests.feature[t]])


@inner
def pass_edge(slot, bit, new, branch, before, after):
    """The masks behind an edge: a new bit for a new feature, and its old one cleared for a row that is stopped."""
    for i in range(branch.size):
        passes = np.int64(branch[i] == slot)
        if new:
            after[i] = before[i] | (passes << bit)
        else:
            after[i] = before[i] & ~((1 - passes) << bit)


@inner
def find_distinct(mask, slots, distinct, place):
    """The different masks in order of appearance, and the place of each mask among them; returns their number.

    `slots` is a hash table of -1, and is left so.
    """
    count, low = 0, slots.size - 1
    for i in range(mask.size):
        key = mask[i]
        at = (key ^ (key >> 7) ^ (key >> 17) ^ (key >> 31)) & low
        while slots[at] >= 0 and distinct[slots[at]] != key:
            at = (at + 1) & low
        if slots[at] < 0:
            slots[at] = count
            distinct[count] = key
            count += 1
        place[i] = slots[at]
    slots[:] = -1
    return count


@inner
def pair_gains(masks, masks_b, counts, n_bits, weights, gains):
    """What the bits of each mask get from all background masks, for a leaf of value 1."""
    full = (np.int64(1) << n_bits) - 1
    for i in range(masks.size):
        gain = gains[i]
        gain[:n_bits] = 0.0
        for k in range(masks_b.size):
            if (masks[i] | masks_b[k]) != full:
                continue
            only, only_b = masks[i] & ~masks_b[k], masks_b[k] & ~masks[i]
            p, r = ones(only), ones(only_b)
            up, down = counts[k] * weights[p, r], counts[k] * weights[r, p]
            for b in range(n_bits):
                gain[b] += up * ((only >> b) & 1) - down * ((only_b >> b) & 1)


@inner
def ones(mask):
    """The number of bits that are set."""
    count = 0
    while mask:
        mask &= mask - 1
        count += 1
    return count
