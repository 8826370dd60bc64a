"""Similarities and distances of topics, which are distributions over words."""

from __future__ import annotations

import numpy as np
from scipy.special import rel_entr


def cosine(P: np.ndarray) -> np.ndarray:
    """Cosines of the rows of P; 0 with a row of zeros, and 1 on the diagonal."""
    lengths = np.sqrt((P**2).sum(axis=1, keepdims=True))
    unit = np.divide(P, lengths, out=np.zeros_like(P), where=lengths > 0)
    similarity = np.clip(unit @ unit.T, -1.0, 1.0)
    np.fill_diagonal(similarity, 1.0)
    return similarity


def jensen_shannon_divergence(P: np.ndarray) -> np.ndarray:
    """Jensen-Shannon divergences of the rows of P in bits: H((p + q)/2) - (H(p) + H(q))/2, from 0 to 1.

    Parameters
    ----------
    P : array of shape (n_topics, n_words)
        Distributions in rows.

    Returns
    -------
    divergence : array of shape (n_topics, n_topics)

    Examples
    --------
    >>> jensen_shannon_divergence(np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]])).round(3)
    array([[0.   , 0.311, 1.   ],
           [0.311, 0.   , 0.311],
           [1.   , 0.311, 0.   ]])
    """
    k = len(P)
    divergence = np.zeros((k, k))
    for i in range(k):
        middle = (P[i] + P[i + 1 :]) / 2
        terms = rel_entr(P[i], middle) + rel_entr(P[i + 1 :], middle)
        divergence[i, i + 1 :] = divergence[i + 1 :, i] = terms.sum(axis=1) / (2 * np.log(2))
    return np.clip(divergence, 0.0, 1.0)


def hellinger_distance(P: np.ndarray) -> np.ndarray:
    """Hellinger distances of the rows of P: sqrt(1 - Σ_w sqrt(p q)), from 0 to 1."""
    root = np.sqrt(P)
    squares = np.zeros((len(P), len(P)))
    for i in range(len(P)):
        squares[i] = ((root - root[i]) ** 2).sum(axis=1) / 2
    return np.sqrt(np.clip(squares, 0.0, 1.0))


SIMILARITIES = {
    "cosine": cosine,
    "jensen-shannon": lambda P: 1.0 - jensen_shannon_divergence(P),
    "hellinger": lambda P: 1.0 - hellinger_distance(P),
}
