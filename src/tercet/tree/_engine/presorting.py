"""Presorting of columns, and stable partition of the sorted rows.

An entry of an order is one unsigned number: the row in the high bits, its class in the low ones (`shift` of them).
"""

from __future__ import annotations

import numpy as np

from tercet.core.kernel import inner, kernel

DIGIT = 11  # bits of a key that one pass of the radix sort sorts by
PASSES = 3  # three digits are a key of 32 bits


def argsort_column(column: np.ndarray) -> np.ndarray:
    """The rows by increasing value, NaN last: a radix sort of the values rounded to 32 bits, then of ties."""
    keys, rows = np.empty(len(column), dtype=np.uint64), np.empty(len(column), dtype=np.uint64)
    with np.errstate(
        over="ignore", invalid="ignore"
    ):  # values too large for 32 bits are ties, sorted at the end
        radix_keys(column.astype(np.float32).view(np.uint32), keys)
    for k in range(PASSES):
        radix_pass(keys, rows, 32 + k * DIGIT, np.zeros((1 << DIGIT) + 1, dtype=np.uint64))
        keys, rows = rows, keys
    found = np.empty(len(column), dtype=np.uint32)
    if resolve_rounded_ties(column, keys, found):
        return found
    return np.argsort(column, kind="stable").astype(np.uint32)


@kernel
def radix_keys(pattern, keys):
    """Keys in the order of the values rounded to 32 bits (given as bit patterns), with the row in the low half."""
    for i in range(pattern.size):
        bits = np.uint64(pattern[i])
        if bits & np.uint64(0x7FFFFFFF) > np.uint64(0x7F800000):  # NaN, of whichever sign, comes last
            bits = np.uint64(0xFFFFFFFF)
        elif bits >> np.uint64(31):
            bits = np.uint64(0xFFFFFFFF) - bits
        else:
            bits = bits | np.uint64(0x80000000)
        keys[i] = bits << np.uint64(32) | np.uint64(i)


@kernel
def radix_pass(keys, out, low, place):
    """One pass of the radix sort, by the digit that starts at bit `low`; `place` are zeros, one for each digit."""
    mask, low = np.uint64((1 << DIGIT) - 1), np.uint64(low)
    for i in range(keys.size):
        place[(keys[i] >> low & mask) + np.uint64(1)] += np.uint64(1)
    for k in range(1 << DIGIT):
        place[k + 1] += place[k]
    for i in range(keys.size):
        digit = keys[i] >> low & mask
        out[place[digit]] = keys[i]
        place[digit] += np.uint64(1)


@kernel
def resolve_rounded_ties(column, keys, found):
    """Sort values that rounding made equal, by insertion; False where that would take too long."""
    patience, first, high = 4 * keys.size, 0, np.uint64(32)
    for i in range(keys.size):
        row = np.uint32(keys[i] & np.uint64(0xFFFFFFFF))
        if keys[i] >> high != keys[first] >> high:
            first = i
        k = i
        while k > first and column[row] < column[found[k - 1]]:
            found[k] = found[k - 1]
            k -= 1
            patience -= 1
        found[k] = row
        if patience < 0:
            return False
    return True


@kernel
def pack_entries(found, label, shift, out):
    """Write entries: the row and its class in one unsigned number."""
    for i in range(found.size):
        row = np.uint64(found[i])
        out[i] = row << np.uint64(shift) | np.uint64(label[row])


@inner
def partition_stable(orders, start, stop, goes_left, shift, spare):
    """Move the entries of a segment whose rows go left to its front; both sides keep their order."""
    shift, one = np.uint64(shift), np.uint64(1)
    front, back = np.uint64(start), np.uint64(0)
    for i in range(np.uint64(start), np.uint64(stop)):
        e = orders[i]
        go = np.uint64(goes_left[np.uint64(e) >> shift])
        orders[front] = e
        spare[back] = e
        front += go
        back += one - go
    copy_entries(orders, front, spare, back)


@inner
def copy_entries(orders, start, spare, count):
    """Copy so many entries to `orders`, from `start` on."""
    for i in range(count):
        orders[start + np.uint64(i)] = spare[i]


@inner
def keep_side(orders, start, stop, goes_left, side, shift):
    """Move the entries of one side of a segment (1: left) to its front."""
    shift, front = np.uint64(shift), np.uint64(start)
    for i in range(np.uint64(start), np.uint64(stop)):
        e = orders[i]
        orders[front] = e
        front += np.uint64(goes_left[np.uint64(e) >> shift] == side)
