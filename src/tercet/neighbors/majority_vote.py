"""The majority vote of a neighbourhood (多数表决规则)."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.neighbors._engine.neighbourhood import Neighbourhood

Ties = Literal["smallest", "nearest"]


@method(
    zh="多数表决规则",
    task="classification",
    model="the class of most neighbours",
    strategy="least local error rate, 1 - (1/k) Σ I(y_i = c)",
    texts=["Li ch. 3, 3.2.4"],
)
def vote(labels: Any, weights: Any = None, *, ties: Ties = "smallest") -> tuple[Any, float]:
    """Majority vote of a neighbourhood, and the share of its labels that the winner is wrong about.

    Parameters
    ----------
    labels : sequence of length k
        The neighbours' classes, the nearest first.
    weights : sequence of length k, optional
        What each vote counts.
    ties : {"smallest", "nearest"}, default="smallest"
        Who wins of equals: the smallest label, or that of the nearest neighbour.

    Returns
    -------
    label : the class with most votes.
    error : the local error rate: the 0-1 loss of this answer over the neighbourhood, which no other has less of.

    Examples
    --------
    >>> vote(["b", "a", "b", "c"])
    ('b', 0.5)
    """
    labels = np.asarray(labels)
    mass = np.ones(labels.shape) if weights is None else np.asarray(weights, dtype=np.float64)
    if labels.ndim != 1 or not labels.size or mass.shape != labels.shape:
        raise ValueError(
            f"vote: labels and weights must be equally long, and not empty; got {labels.shape}, {mass.shape}."
        )
    if not np.isfinite(mass).all() or mass.min() < 0 or not mass.any():
        raise ValueError("vote: weights must be finite, not negative and not all zero.")
    if ties not in ("smallest", "nearest"):
        raise ValueError(f"vote: ties must be 'smallest' or 'nearest'; got {ties!r}.")
    classes, index = np.unique(labels, return_inverse=True)
    near = Neighbourhood(np.array([0, labels.size]), np.arange(labels.size), np.empty(labels.size))
    votes = vote_counts(near, mass, index, len(classes))
    best = most_voted(votes, near, index, ties)[0]
    return classes[best].item(), float(1 - votes[0, best] / mass.sum())


def vote_counts(near: Neighbourhood, weights: np.ndarray, labels: np.ndarray, n_classes: int) -> np.ndarray:
    """The votes of each neighbourhood for each class."""
    m = len(near.indptr) - 1
    return np.bincount(near.queries * n_classes + labels[near.rows], weights, m * n_classes).reshape(
        m, n_classes
    )


def most_voted(votes: np.ndarray, near: Neighbourhood, labels: np.ndarray, ties: Ties) -> np.ndarray:
    """The class with most votes in each neighbourhood."""
    best = votes.argmax(axis=1)
    if ties == "nearest":
        who, cast = near.queries, labels[near.rows]
        leading = np.flatnonzero(votes[who, cast] == votes.max(axis=1)[who])
        asked, first = np.unique(who[leading], return_index=True)
        best[asked] = cast[leading[first]]
    return best
