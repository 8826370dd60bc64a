"""How uncertain a prediction is (查询准则): least confident, margin, entropy, votes of a committee."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import xlogy

from tercet.core.catalog import method
from tercet.core.validation import check_array


@method(
    zh="最小置信度",
    task="information",
    model="1 - max_c P(c | x)",
    texts=["watermelon notes ch. 11, sec. 11.1"],
    peers=["modAL.uncertainty.classifier_uncertainty"],
)
def least_confident(probabilities: Any) -> np.ndarray:
    """How far the probability of the most probable class is from 1.

    Parameters
    ----------
    probabilities : array of shape (n_samples, n_classes)
        Of the classes for each row.

    Returns
    -------
    array of shape (n_samples,)
        The greater, the less certain.

    Examples
    --------
    >>> least_confident([[0.5, 0.3, 0.2], [0.9, 0.1, 0.0]]).round(6)
    array([0.5, 0.1])
    """
    return 1.0 - _table(probabilities).max(axis=1)


@method(
    zh="间隔不确定性",
    task="information",
    model="1 - (P(c1 | x) - P(c2 | x)) of the two most probable classes",
    texts=["watermelon notes ch. 11, sec. 11.1"],
    peers=["modAL.uncertainty.classifier_margin"],
)
def margin_uncertainty(probabilities: Any) -> np.ndarray:
    """One less the difference of the two greatest probabilities.

    Parameters
    ----------
    probabilities : array of shape (n_samples, n_classes)
        Of the classes for each row.

    Returns
    -------
    array of shape (n_samples,)
        The greater, the less certain.

    Examples
    --------
    >>> margin_uncertainty([[0.5, 0.3, 0.2], [0.9, 0.1, 0.0]]).round(6)
    array([0.8, 0.2])
    """
    P = np.sort(_table(probabilities), axis=1)
    return 1.0 - (P[:, -1] - (P[:, -2] if P.shape[1] > 1 else 0.0))


@method(
    zh="熵不确定性",
    task="information",
    model="-Σ_c P(c | x) log P(c | x)",
    texts=["watermelon notes ch. 11, sec. 11.1"],
    peers=["modAL.uncertainty.classifier_entropy"],
)
def entropy_uncertainty(probabilities: Any) -> np.ndarray:
    """Entropy of the probabilities of the classes, in nats.

    Parameters
    ----------
    probabilities : array of shape (n_samples, n_classes)
        Of the classes for each row.

    Returns
    -------
    array of shape (n_samples,)
        The greater, the less certain.

    Examples
    --------
    >>> entropy_uncertainty([[0.5, 0.5], [1.0, 0.0]]).round(4)
    array([0.6931, 0.    ])
    """
    P = _table(probabilities)
    return np.maximum(-xlogy(P, P).sum(axis=1), 0.0)


@method(
    zh="委员会投票熵",
    task="information",
    model="-Σ_c V(c)/m log V(c)/m, V(c) the votes of m members for class c",
    texts=["watermelon notes ch. 11, sec. 11.1"],
    peers=["modAL.disagreement.vote_entropy"],
)
def vote_entropy(votes: Any) -> np.ndarray:
    """Entropy of the votes of a committee, in nats: how much its members disagree.

    Parameters
    ----------
    votes : array of shape (n_members, n_samples)
        The class that each member says, of each row.

    Returns
    -------
    array of shape (n_samples,)
        The greater, the less they agree.

    Examples
    --------
    >>> vote_entropy([["a", "b"], ["a", "a"], ["a", "b"], ["a", "a"]]).round(4)
    array([0.    , 0.6931])
    """
    votes = np.asarray(votes)
    if votes.ndim != 2 or not votes.shape[0]:
        raise ValueError(f"votes must be of shape (n_members, n_samples); got {votes.shape}.")
    classes = np.unique(votes)
    shares = np.stack([(votes == c).mean(axis=0) for c in classes], axis=1)
    return np.maximum(-xlogy(shares, shares).sum(axis=1), 0.0)


def _table(probabilities: Any) -> np.ndarray:
    P = check_array(probabilities, dtype=np.float64, input_name="probabilities")
    if P.min() < 0:
        raise ValueError(f"probabilities must not be negative; the least is {P.min():g}.")
    return P
