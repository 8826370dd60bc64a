"""Description length of rule sets in bits (Quinlan, 1995; Cohen, 1995)."""

from __future__ import annotations

import numpy as np

REDUNDANCY = 0.5  # conditions say partly the same


def subset_bits(k: float, n: float, p: float) -> float:
    """Bits to say which k of n things are meant, where each is with probability p.

    Examples
    --------
    >>> round(subset_bits(2, 8, 0.25), 3)
    6.49
    """
    bits = 0.0
    if k > 0:
        bits -= k * np.log2(min(max(p, 1e-12), 1.0))
    if n > k:
        bits -= (n - k) * np.log2(min(max(1 - p, 1e-12), 1.0))
    return float(bits)


def rule_bits(n_conditions: int, n_possible: int) -> float:
    """Bits of one rule: how many conditions it has, and which of all possible ones.

    Examples
    --------
    >>> rule_bits(1, 2)
    1.0
    """
    if n_conditions < 1:
        return 0.0
    count = float(np.log2(n_conditions))
    if n_conditions > 1:
        count += 2 * float(np.log2(max(count, 1.0)))
    possible = max(n_possible, n_conditions)
    return REDUNDANCY * (count + subset_bits(n_conditions, possible, n_conditions / possible))


def exception_bits(covered: float, uncovered: float, false_positive: float, false_negative: float) -> float:
    """Bits of the rows that a rule set is wrong about, those covered and those not covered by themselves.

    Of the larger part half of the errors are expected; those of the smaller follow from their number.

    Examples
    --------
    >>> round(exception_bits(4, 4, 0, 0), 3)
    3.17
    """
    errors = false_positive + false_negative
    bits = float(np.log2(covered + uncovered + 1))
    if covered > uncovered:
        bits += subset_bits(false_positive, covered, 0.5 * errors / covered)
        return bits + (
            subset_bits(false_negative, uncovered, false_negative / uncovered) if uncovered > 0 else 0
        )
    if uncovered > 0:
        bits += subset_bits(false_negative, uncovered, 0.5 * errors / uncovered)
    return bits + (subset_bits(false_positive, covered, false_positive / covered) if covered > 0 else 0)
