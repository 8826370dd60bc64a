"""Tables of transition scores that differ from token to token, by the weights of transition attributes.

An attribute of token t that acts on transitions adds its weights (attribute, label, label) to the scores of the
transition from token t - 1 to t. It is to pairs of labels what other attributes are to single labels: with N²
labels the products of `features` serve here too. Tokens with equal transition attributes share one table of scores.
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from tercet.sequence.crf._engine.features import Features, observation_scores


class TransitionTables(NamedTuple):
    """Transition scores that differ from token to token.

    Attributes
    ----------
    tables : array of shape (n_tables, n_labels, n_labels)
        Tables of scores (from, to); tokens with the same transition attributes share one.
    of_token : array of int of shape (n_tokens,)
        The table of the transition to each token. (That of a chain's first token is not used.)
    """

    tables: np.ndarray
    of_token: np.ndarray


TransitionScores = np.ndarray | TransitionTables  # one table (from, to) for all tokens, or several


class BigramWeights(NamedTuple):
    """The weights of bigrams: the columns of their attributes, and a table (columns, pairs of labels)."""

    columns: np.ndarray
    table: Any

    def scores(self, X: Any, shared: np.ndarray) -> TransitionTables:
        """Transition scores of the tokens X: the shared table plus the weights of their attributes."""
        X = csr_columns(X, self.columns)
        unique, index = unique_rows(X)
        return TransitionTables(transition_tables(X[unique], 0, unique.size, shared, self.table), index)


def by_column(bigrams: Features) -> tuple[np.ndarray, Features]:
    """The columns of X that have bigrams, and the same features with only these columns as attributes."""
    columns, attribute = np.unique(bigrams.attribute, return_inverse=True)
    return columns, bigrams._replace(attribute=attribute, n_attributes=columns.size)


def csr_columns(X: Any, columns: np.ndarray) -> sparse.csr_array:
    """Some columns of X as a CSR matrix."""
    return sparse.csr_array(X[:, columns])


def transition_tables(X: Any, begin: int, end: int, shared: np.ndarray, table: Any) -> np.ndarray:
    """The transition scores (from, to) of the rows from begin to end of X: shared ones and those of attributes."""
    N = len(shared)
    return observation_scores(X, begin, end, table, N * N).reshape(-1, N, N) + shared


def unique_rows(X: sparse.csr_array) -> tuple[np.ndarray, np.ndarray]:
    """The first of each set of equal rows, and the number of the set of every row.

    Examples
    --------
    >>> unique_rows(sparse.csr_array([[0, 1], [2, 0], [0, 1]]))
    (array([0, 1]), array([0, 1, 0]))
    """
    found: dict[tuple[bytes, bytes], int] = {}
    index = [
        found.setdefault((X.indices[a:b].tobytes(), X.data[a:b].tobytes()), len(found))
        for a, b in itertools.pairwise(X.indptr.tolist())
    ]
    return np.unique(index, return_index=True)[1], np.array(index, dtype=np.int64)


__all__ = [
    "BigramWeights",
    "TransitionScores",
    "TransitionTables",
    "by_column",
    "csr_columns",
    "transition_tables",
    "unique_rows",
]
