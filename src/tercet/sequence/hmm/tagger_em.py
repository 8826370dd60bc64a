"""EM for sequences of symbols whose labels are not all known."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from tercet.sequence.hmm.e_step import Passes

Counts = tuple[np.ndarray, ...]  # of first labels, of pairs of labels, of symbols (rows) with labels


class Completion:
    """What EM has to know of sequences whose labels are not all known.

    Sequences that have all their labels need no E step: their counts, and `alpha`, are pseudo-counts to the others.
    """

    def __init__(self, data: Passes, counts: Counts, alpha: float) -> None:
        self.data, self.counts, self.alpha = data, counts, alpha
        self.latest = counts

    def expect(self, chunk: tuple[int, int], theta: dict[str, np.ndarray]) -> tuple[Any, ...]:
        logs, gamma, trans = self.data.smooth(chunk, theta)
        borders = self.data.X.borders[chunk[0] : chunk[1] + 1]
        total = logs.sum()
        if self.data.weight is not None:
            weight = self.data.weight[chunk[0] : chunk[1]]
            total = logs @ weight
            gamma *= np.repeat(weight, np.diff(borders))[:, None]
        rows = self.data.X.rows[borders[0] : borders[-1]]
        size, m = rows.size, len(self.counts[2])
        where = sparse.csc_array((np.ones(size), rows, np.arange(size + 1)), shape=(m + 1, size))
        return total, gamma[borders[:-1] - borders[0]].sum(axis=0), trans, (where @ gamma)[:m]

    def maximise(self, statistics: tuple[Any, ...], theta: Any) -> dict[str, np.ndarray]:
        self.latest = tuple(a + b for a, b in zip(self.counts, statistics))
        return self.chances(self.latest)

    def chances(self, counts: Any) -> dict[str, np.ndarray]:
        start, trans, words = (np.asarray(c) for c in counts)
        table = [shares(words.T, self.alpha).T, np.ones((1, len(start)))]  # the last row: a symbol not known
        return {
            "startprob_": shares(start, self.alpha),
            "transmat_": shares(trans, self.alpha),
            "table": np.concatenate(table),
        }

    def log_prior(self, theta: dict[str, np.ndarray]) -> float:
        chances = (theta["startprob_"], theta["transmat_"], theta["table"][:-1])
        value = 0.0
        for count, chance in zip(self.counts, chances):
            weight = count + self.alpha
            value += float((weight * np.log(np.where(weight > 0, chance, 1.0))).sum())
        return value


def shares(counts: np.ndarray, alpha: float = 0.0) -> np.ndarray:
    """(count + alpha) / their sum along the last axis; all alike where there is nothing to count."""
    counts = counts + alpha
    total = counts.sum(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(total > 0, counts / total, 1.0 / counts.shape[-1])


__all__ = ["Completion", "Counts", "shares"]
