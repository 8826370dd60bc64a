"""Which pairs of attribute and label, and of label and label, get a weight."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from tercet.sequence.crf_products import Features
from tercet.sequence.sequences import Sequences


def choose_features(
    X: Sequences,
    y: np.ndarray,
    weight: np.ndarray | None,
    n_labels: int,
    *,
    min_freq: float = 0.0,
    all_states: bool = False,
    all_transitions: bool = False,
) -> Features:
    """The pairs that labelled data show at least `min_freq` times (values and weights count), or all pairs.

    Parameters
    ----------
    X : Sequences
        Tokens as rows, dense or CSR.
    y : array of int of shape (n_rows,)
        The index of each label; -1 where it is unknown.
    weight : array of shape (n_sequences,) or None
    n_labels : int
    min_freq : float, default=0.0
    all_states, all_transitions : bool, default=False
        Whether pairs that the data never show count too.
    """
    n, d = X.rows.shape
    per_token = np.ones(n) if weight is None else np.repeat(weight, X.lengths)
    known = np.flatnonzero(y >= 0)
    shown = sparse.csr_array((per_token[known], (known, y[known])), shape=(n, n_labels))
    states = _shown_states(X.rows, shown, min_freq, all_states)
    attribute, label = np.divmod(states, n_labels)
    inside = np.ones(n, dtype=bool)
    inside[X.borders[:-1]] = False
    to = np.flatnonzero(inside)
    to = to[(y[to] >= 0) & (y[to - 1] >= 0)]
    steps = np.bincount(y[to - 1] * n_labels + y[to], weights=per_token[to], minlength=n_labels**2)
    edges = _kept(steps, min_freq, all_transitions)
    return Features(
        attribute, label.astype(np.int32), np.column_stack(np.divmod(edges, n_labels)), d, n_labels
    )


def _shown_states(X: Any, shown: Any, min_freq: float, everything: bool) -> np.ndarray:
    """Pairs (a, label) as numbers a n_labels + label, in order.

    An attribute that a token names with the value 0 (False) is shown: elsewhere it may speak against the label.
    """
    if not sparse.issparse(X):
        return _kept(np.asarray(np.abs(X).T @ shown).ravel(), min_freq, everything)
    counted = sparse.csr_array((np.abs(X.data) + 1j, X.indices, X.indptr), shape=X.shape)
    counts = (counted.T @ shown).tocsr()  # values in the real part, occurrences in the imaginary one
    if everything:
        return _kept(counts.real.toarray().ravel(), min_freq, everything)
    counts.sort_indices()
    attribute = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    return (attribute * counts.shape[1] + counts.indices)[counts.data.real >= min_freq]


def _kept(counts: np.ndarray, min_freq: float, everything: bool) -> np.ndarray:
    return np.flatnonzero((counts >= min_freq) & ((counts > 0) | everything))


def merged(old: Features, new: Features) -> tuple[Features, np.ndarray]:
    """Both sets of features as one, and the places of the old ones in it."""
    N = new.n_labels
    codes = [features.attribute * N + features.label for features in (old, new)]
    steps = [features.edges @ np.array([N, 1]) for features in (old, new)]
    states, edges = np.union1d(*codes), np.union1d(*steps)
    attribute, label = np.divmod(states, N)
    both = Features(
        attribute, label.astype(np.int32), np.column_stack(np.divmod(edges, N)), new.n_attributes, N
    )
    places = np.searchsorted(states, codes[0]), states.size + np.searchsorted(edges, steps[0])
    return both, np.concatenate(places)


__all__ = ["choose_features", "merged"]
