"""What gets a weight: which pairs of attribute and label, and of label and label, alone or with an attribute."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from tercet.sequence.crf._engine.products import Features
from tercet.sequence.text.sequences import Sequences


def choose_features(
    X: Sequences,
    y: np.ndarray,
    weight: np.ndarray | None,
    n_labels: int,
    *,
    min_freq: float = 0.0,
    all_states: bool = False,
    all_transitions: bool = False,
    acting: np.ndarray | None = None,
) -> Features:
    """What labelled data show at least `min_freq` times (values and weights count), or all that may be.

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
        Whether what the data never show counts too.
    acting : array of int, optional
        The attributes that act on the step to their token: with pairs of labels, not with single ones.
    """
    n, d = X.rows.shape
    per_token = np.ones(n) if weight is None else np.repeat(weight, X.lengths)
    known = np.flatnonzero(y >= 0)
    shown = sparse.csr_array((per_token[known], (known, y[known])), shape=(n, n_labels))
    states = _shown_states(X.rows, shown, min_freq, all_states)
    to, pair = known_steps(X, y, n_labels)
    steps = np.bincount(pair, weights=per_token[to], minlength=n_labels**2)
    edges = np.column_stack(np.divmod(_kept(steps, min_freq, all_transitions), n_labels))
    bigrams = None
    if acting is not None and acting.size:
        states = states[~np.isin(states // n_labels, acting)]
        shown = sparse.csr_array((per_token[to], (to, pair)), shape=(n, n_labels**2))
        column, label = np.divmod(
            _shown_states(X.rows[:, acting], shown, min_freq, all_transitions), n_labels**2
        )
        if column.size:
            bigrams = Features.of_states(acting[column], label, d, n_labels**2)
    return Features.of_states(*np.divmod(states, n_labels), d, n_labels)._replace(
        edges=edges, bigrams=bigrams
    )


def known_steps(X: Sequences, y: np.ndarray, n_labels: int) -> tuple[np.ndarray, np.ndarray]:
    """The tokens whose label and the one before it are known, and both as one number (from n_labels + to)."""
    inside = np.ones(y.size, dtype=bool)
    inside[X.borders[:-1]] = False
    to = np.flatnonzero(inside)
    to = to[(y[to] >= 0) & (y[to - 1] >= 0)]
    return to, y[to - 1] * n_labels + y[to]


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
    both = Features.of_states(*np.divmod(states, N), new.n_attributes, N)
    both = both._replace(edges=np.column_stack(np.divmod(edges, N)))
    places = [np.searchsorted(states, codes[0]), states.size + np.searchsorted(edges, steps[0])]
    parts = [features.bigrams for features in (old, new) if features.bigrams is not None]
    if parts:
        bigrams, inside = merged(parts[0], parts[-1])
        if old.bigrams is not None:
            places.append(both.size + inside)
        both = both._replace(bigrams=bigrams._replace(n_attributes=new.n_attributes))
    return both, np.concatenate(places)


__all__ = ["choose_features", "known_steps", "merged"]
