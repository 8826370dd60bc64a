"""The objective of a linear chain over sequences of a source, which are read block by block in every pass."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.parallel import elsewhere, total
from tercet.core.streams import is_streamed
from tercet.sequence.crf._engine.features import Features
from tercet.sequence.crf._engine.objective import ChainObjective, curvature_at_zero, tokens_at_once


class StreamedObjective:
    """A `ChainObjective` of streamed sequences: the same sums over the same blocks, and so the same bits.

    Parameters
    ----------
    kind : class
        `ChainObjective`, or one derived from it.
    X : StreamedSequences
        Tokens as rows of numbers.
    y : StreamedArray of int
        The index of each label; all are known.
    weight, features, l2, n_jobs
        As for `ChainObjective`.

    Attributes
    ----------
    empirical : array of shape (n_weights,)
        The counts of the features.
    """

    def __init__(
        self,
        kind: type[ChainObjective],
        X: Any,
        y: Any,
        weight: np.ndarray | None,
        features: Features,
        l2: float,
        n_jobs: int | None,
    ) -> None:
        self.features, self.l2 = features, l2
        self.chunks = X.labelled_chunks(y, tokens_at_once(X, features))
        # threads share the work inside a block; workers of a cluster have a block each
        self.model = kind, X, weight, features, None if elsewhere() else n_jobs
        self.empirical, self.squares = total(counts_at_start, self.chunks, *self.model, n_jobs=1)

    def curvature(self) -> np.ndarray:
        """The diagonal of the Hessian at w = 0."""
        return curvature_at_zero(self.features, self.squares, self.l2)

    def value_and_gradient(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """f and its gradient, in one pass over the source."""
        log_z, expected = total(expected_counts, self.chunks, *self.model, w, n_jobs=1)
        f = self.l2 * float(w @ w) - float(self.empirical @ w) + float(log_z)
        return f, 2 * self.l2 * w - self.empirical + expected


def chain_objective(
    X: Any,
    y: Any,
    weight: np.ndarray | None,
    features: Features,
    l2: float,
    n_jobs: int | None,
    kind: type[ChainObjective] = ChainObjective,
) -> ChainObjective | StreamedObjective:
    """The objective of sequences in memory, or of a source."""
    if is_streamed(y):
        return StreamedObjective(kind, X, y, weight, features, l2, n_jobs)
    return kind(X, y, weight, features, l2, n_jobs)


def counts_at_start(chunk: Any, *model: Any) -> tuple[np.ndarray, Any]:
    """The empirical counts of the features in a block, and the sums that the curvature at w = 0 comes from."""
    objective = block_objective(chunk, *model)
    return objective.empirical, objective.squares()


def expected_counts(chunk: Any, *model: Any) -> tuple[float, np.ndarray]:
    """Σ log Z(x) of a block, and the expected counts of the features."""
    return block_objective(chunk, *model[:-1]).expected_counts(model[-1])


def block_objective(
    chunk: Any,
    kind: type[ChainObjective],
    X: Any,
    weight: np.ndarray | None,
    features: Features,
    n_jobs: int | None,
) -> ChainObjective:
    """The objective of the sequences of a chunk."""
    part, y, weight_here = X.labelled_part(chunk, weight)
    objective = kind(part, y, weight_here, features, 0.0, n_jobs, blocks=[(0, len(part))])
    objective.weighted = weight is not None and bool((weight != 1).any())
    return objective


__all__ = ["StreamedObjective", "chain_objective"]
