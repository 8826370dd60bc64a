"""Sequences whose marginals are in memory at a time, and the pieces of work that they are cut into."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tercet.sequence.crf._engine.features import FeatureSums

Span = tuple[int, int]  # from one sequence of a block to another


class SequenceBlock(NamedTuple):
    """Sequences whose marginals are in memory at a time.

    Attributes
    ----------
    first : int
        The first sequence.
    X, borders : rows of their tokens, and where each sequence begins among these
    sums : FeatureSums
        Of X.
    chunks : list of BlockChunk
        Pieces of work.
    """

    first: int
    X: Any
    borders: np.ndarray
    sums: FeatureSums
    chunks: list[BlockChunk]


class BlockChunk(NamedTuple):
    """Sequences of a block that are computed together.

    Attributes
    ----------
    span : (int, int)
        From one sequence of the block to another.
    rows : slice
        Their tokens in the block.
    borders : array of int
        Where each sequence begins among these.
    weight : array
        How much each sequence counts.
    hidden : array of bool, or None
        Which sequences have unknown labels; None where none has.
    """

    span: Span
    rows: slice
    borders: np.ndarray
    weight: np.ndarray
    hidden: np.ndarray | None


__all__ = ["BlockChunk", "SequenceBlock", "Span"]
