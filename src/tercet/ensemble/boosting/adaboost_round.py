"""One round of AdaBoost in plain form (Li ch. 8, 8.1 to 8.5)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

LEAST_PROBABILITY = np.finfo(np.float64).eps  # in "samme.r", whose scores are logarithms
LEAST_ERROR = 1e-10  # alpha of a member without errors is that of one with so small an error


class AdaBoostRound(NamedTuple):
    """One round of AdaBoost: e (8.1), alpha (8.2), Z (8.5), and the weights D of the next round (8.4)."""

    error: float
    alpha: float
    Z: float
    D: np.ndarray


def adaboost_round(
    D: np.ndarray, wrong: np.ndarray, learning_rate: float = 1.0, n_classes: int = 2
) -> AdaBoostRound:
    """The error of a member, its weight alpha, and the weights of the rows after it (Li ch. 8, 8.1 to 8.5).

    Parameters
    ----------
    D : array of shape (n,)
        The weights of the rows, which sum to 1.
    wrong : bool array of shape (n,)
        Which rows the member gets wrong.
    learning_rate : float, default=1.0
        Shrinks alpha.
    n_classes : int, default=2
        SAMME adds ln(n_classes - 1) to ln((1-e)/e): the more classes, the more errors a member may make.

    Returns
    -------
    AdaBoostRound
        Of a member without errors alpha would be infinite; it is then what an error of 1e-10 would give.

    Examples
    --------
    >>> first = adaboost_round(np.full(10, 0.1), np.isin(np.arange(10), [6, 7, 8]))
    >>> round(first.error, 4), round(first.alpha, 4), round(first.Z, 4), (first.D[0] * 14).round(6)
    (0.3, 0.4236, 0.9165, np.float64(1.0))
    """
    error = float(D[wrong].sum())
    counted = min(max(error, LEAST_ERROR), 1.0 - LEAST_ERROR)
    alpha = 0.5 * learning_rate * float(np.log((1.0 - counted) / counted) + np.log(max(n_classes - 1, 1)))
    moved = D * np.exp(np.where(wrong, alpha, -alpha))
    Z = float(moved.sum())
    return AdaBoostRound(error, alpha, Z, moved / Z)


def real_adaboost_round(
    D: np.ndarray, y: np.ndarray, proba: np.ndarray, learning_rate: float = 1.0
) -> AdaBoostRound:
    """The same for a member that gives probabilities (SAMME.R; for two classes real AdaBoost).

    The rows are multiplied by exp(-(K-1)/K c(y)·log p), where c(y) is 1 for the row's class and -1/(K-1) for the
    others; with two classes that is exp(-y f), f half the log odds.

    Parameters
    ----------
    D : array of shape (n,)
        The weights of the rows, which sum to 1.
    y : int array of shape (n,)
        Their classes.
    proba : array of shape (n, n_classes)
        The probabilities that the member gives.
    learning_rate : float, default=1.0
        Shrinks the exponent.

    Returns
    -------
    AdaBoostRound
        Its alpha is the learning rate.

    Examples
    --------
    >>> y, proba = np.array([0, 1]), np.array([[0.8, 0.2], [0.5, 0.5]])
    >>> real_adaboost_round(np.array([0.5, 0.5]), y, proba).D.round(4)
    array([0.3333, 0.6667])
    """
    error = float(D[proba.argmax(axis=1) != y].sum())
    own = log_odds(proba)[np.arange(len(y)), y]
    K = proba.shape[1]
    moved = D * np.exp(-learning_rate * own / max(K - 1, 1))
    Z = float(moved.sum())
    return AdaBoostRound(error, learning_rate, Z, moved / Z)


def log_odds(proba: np.ndarray) -> np.ndarray:
    """(K-1) (log p_k - mean of log p): what a member adds to the scores in SAMME.R."""
    logs = np.log(np.maximum(proba, LEAST_PROBABILITY))
    return (proba.shape[1] - 1) * (logs - logs.mean(axis=1, keepdims=True))
