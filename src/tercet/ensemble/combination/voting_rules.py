"""Voting rules: plurality, absolute majority with reject, and weighted votes (投票法)."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.estimator import generator
from tercet.ensemble.combination.averages import check_weights


@method(
    zh="相对多数投票法",
    task="classification",
    model="H(x) = the class with the most votes, argmax_j Σ_i h_i^j(x)",
    texts=["watermelon notes ch. 6, eq. 6.20"],
    peers=["scipy.stats.mode"],
)
def plurality_vote(
    votes: Any, *, ties: Literal["first", "random"] = "first", random_state: Any = None
) -> np.ndarray:
    """Plurality vote: the class that most members vote for.

    Parameters
    ----------
    votes : array of shape (n_members,) or (n_samples, n_members)
        The label that each member gives to one row, or to each row.
    ties : {"first", "random"}, default="first"
        Which of the classes with equally many votes wins: the first in sorted order, or one drawn at random.
    random_state : int, Generator or None, default=None
        Decides random ties.

    Returns
    -------
    labels : array of shape (n_samples,), or one label

    Examples
    --------
    >>> plurality_vote([["cat", "dog", "cat"], ["dog", "dog", "cat"]])
    array(['cat', 'dog'], dtype='<U3')
    """
    return weighted_vote(votes, ties=ties, random_state=random_state)


@method(
    zh="绝对多数投票法",
    task="classification",
    model="H(x) = the class with more than half of the votes; otherwise reject",
    texts=["watermelon notes ch. 6, eq. 6.19"],
)
def majority_vote(votes: Any, weights: Any = None, *, reject: Any = None) -> np.ndarray:
    """Majority vote: the class with more than half of the votes; rows without one are rejected.

    Parameters
    ----------
    votes : array of shape (n_members,) or (n_samples, n_members)
        The label that each member gives to one row, or to each row.
    weights : array of shape (n_members,), optional
        How much each vote counts; then more than half of the sum is needed.
    reject : label, default=None
        What a row without a majority gets.

    Returns
    -------
    labels : array of shape (n_samples,), or one label

    Examples
    --------
    >>> majority_vote([["cat", "dog", "cat"], ["cat", "dog", "cow"]], reject="?")
    array(['cat', '?'], dtype='<U3')
    """
    table, labels, single = _label_indices(votes)
    w = _raw_weights(weights, table.shape[1])
    counts = vote_counts(table, len(labels), w)
    accepted = counts.max(axis=1) > w.sum() / 2
    return _first(or_reject(labels[counts.argmax(axis=1)], accepted, reject), single)


@method(
    zh="加权投票法",
    task="classification",
    model="H(x) = argmax_j Σ_i w_i h_i^j(x), w_i >= 0, Σ w_i = 1",
    texts=["watermelon notes ch. 6, eq. 6.21"],
)
def weighted_vote(
    votes: Any,
    weights: Any = None,
    *,
    ties: Literal["first", "random"] = "first",
    random_state: Any = None,
) -> np.ndarray:
    """Weighted vote: the class whose votes weigh most; of probabilities, the class with the highest mean.

    Parameters
    ----------
    votes : array of shape (n_members,), (n_samples, n_members) or (n_samples, n_members, n_classes)
        Labels (hard votes), or the probabilities that each member gives to the classes (soft votes).
    weights : array of shape (n_members,), optional
        At least 0; only their ratios matter. By default all are equal.
    ties : {"first", "random"}, default="first"
        Which of the best classes wins: the first in sorted order, or one drawn at random.
    random_state : int, Generator or None, default=None
        Decides random ties.

    Returns
    -------
    labels : array of shape (n_samples,), or one label; of probabilities, the index of the class

    Examples
    --------
    >>> weighted_vote(["cat", "dog", "cat"], [1, 3, 1])
    np.str_('dog')
    >>> weighted_vote([[[0.9, 0.1], [0.4, 0.6], [0.4, 0.6]]])
    array([0])
    """
    if ties not in ("first", "random"):
        raise ValueError(f"ties must be 'first' or 'random'; got {ties!r}.")
    if np.ndim(votes) == 3:
        proba = np.asarray(votes, dtype=float)
        w = check_weights(weights, proba.shape[1])
        return winners(np.einsum("ntk,t->nk", proba, w), ties, random_state)
    table, labels, single = _label_indices(votes)
    counts = vote_counts(table, len(labels), _raw_weights(weights, table.shape[1]))
    return _first(labels[winners(counts, ties, random_state)], single)


def vote_counts(votes: np.ndarray, n_classes: int, weights: np.ndarray) -> np.ndarray:
    """Sum of the weights of the members that vote for each class; votes are indices of classes.

    Other numbers are no votes: a member with a reject option need not decide.
    """
    counts, rows = np.zeros((len(votes), n_classes)), np.arange(len(votes))
    for member, weight in enumerate(weights):
        vote = votes[:, member]
        cast = (vote >= 0) & (vote < n_classes)
        counts[rows[cast], vote[cast]] += weight
    return counts


def _raw_weights(weights: Any, n_members: int) -> np.ndarray:
    """Checked weights as they are: sums of whole numbers tie to the bit, sums of quotients may not."""
    check_weights(weights, n_members)
    return np.ones(n_members) if weights is None else np.asarray(weights, dtype=float)


def winners(scores: np.ndarray, ties: str = "first", random_state: Any = None) -> np.ndarray:
    """Index of the highest score in each row; of equals the first, or one drawn at random."""
    if ties == "first":
        return scores.argmax(axis=1)
    best = scores == scores.max(axis=1, keepdims=True)
    # The k-th of the best is drawn with one number for every row, tied or not: a row's draw depends on its
    # place among the rows alone.
    drawn = generator(random_state).random(len(scores))
    place = np.minimum((drawn * best.sum(axis=1)).astype(int), best.sum(axis=1) - 1)
    return (np.cumsum(best, axis=1) > place[:, None]).argmax(axis=1)


def or_reject(labels: np.ndarray, accepted: np.ndarray, reject: Any) -> np.ndarray:
    """Labels, with another one where they are not accepted; an array of objects where the kinds differ."""
    other = np.asarray([reject])
    alike = other.dtype.kind == labels.dtype.kind or {other.dtype.kind, labels.dtype.kind} <= set("biuf")
    dtype = np.result_type(labels, other) if alike else np.dtype(object)
    found = labels.astype(dtype)
    found[~accepted] = reject
    return found


def _label_indices(votes: Any) -> tuple[np.ndarray, np.ndarray, bool]:
    """Votes as indices among the labels that occur, these labels, and whether there was one row only."""
    given = np.asarray(votes)
    if given.ndim not in (1, 2) or not given.size:
        raise ValueError(
            "votes must be labels of shape (n_members,) or (n_samples, n_members), at least one; "
            f"got shape {given.shape}."
        )
    if given.dtype.kind == "f" and np.isnan(given).any():
        raise ValueError("votes must be labels; got NaN.")
    labels, index = np.unique(given, return_inverse=True)
    return index.reshape(np.atleast_2d(given).shape), labels, given.ndim == 1


def _first(found: np.ndarray, single: bool) -> Any:
    return found[0] if single else found
