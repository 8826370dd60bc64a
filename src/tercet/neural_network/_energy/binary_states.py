"""All states of a few binary units, in blocks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

MOST_UNITS = 20  # units whose states are enumerated: about a million
BLOCK = 12  # units of a block, whose states are the rows of one array


def state_blocks(n_units: int, who: str, what: str) -> Iterator[np.ndarray]:
    """All states of 0 and 1, the last unit changing fastest, as arrays of at most 4096 rows.

    Examples
    --------
    >>> [block.tolist() for block in state_blocks(2, "model", "sum")]
    [[[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]]
    """
    refuse_too_many(n_units, who, what)
    return _blocks(n_units)


def _blocks(n_units: int) -> Iterator[np.ndarray]:
    low = min(n_units, BLOCK)
    tail = _numbers(np.arange(1 << low), low)
    for high in range(1 << (n_units - low)):
        block = np.empty((len(tail), n_units))
        block[:, : n_units - low] = _numbers(np.array([high]), n_units - low)
        block[:, n_units - low :] = tail
        yield block


def _numbers(numbers: np.ndarray, bits: int) -> np.ndarray:
    """The binary digits of numbers as rows."""
    return (numbers[:, None] >> np.arange(bits)[::-1] & 1).astype(np.float64)


def refuse_too_many(n_units: int, who: str, what: str, instead: str = "") -> None:
    """Refuse to enumerate the states of too many units."""
    if n_units > MOST_UNITS:
        raise ValueError(
            f"{who}: {what} sums over all 2^{n_units} = {1 << n_units:,} states of {n_units} units; at most "
            f"{MOST_UNITS} units ({1 << MOST_UNITS:,} states) are allowed.{instead}"
        )
