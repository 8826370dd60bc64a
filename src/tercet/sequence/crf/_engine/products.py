"""Tokens times weights, and probabilities summed by attribute: the two products of a random field's objective.

The rows that a product needs lie anywhere in a large table and come from far memory one after another: asking for
them some entries ahead makes it up to three times as fast.
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from tercet.core.cache_lines import LINE, fetch_line, get_line, no_line, plus_line, set_line
from tercet.core.kernel import implement, kernel, verb
from tercet.core.parallel import each
from tercet.core.rows import Sparse, rows

WORK = 200_000  # entries in a piece of work for one thread
AHEAD = 12  # entries between asking for a row and using it
LEAST = LINE // 8  # columns that a table must have: one cache line
TABLE = 1 << 24  # a table of the weights of all attributes and labels may always have so many places;
SPARSE = 8  # a larger one must have a feature in one of so many of them


class Features(NamedTuple):
    """What has a weight: (attribute, label) states, (label, label) transitions, (attribute, label, label) bigrams.

    Attributes
    ----------
    attribute, label : arrays of int of shape (n_states,)
        The state features, attribute by attribute.
    edges : array of int of shape (n_edges, 2)
        The transition features: labels from and to.
    n_attributes, n_labels : int
        How many there are of both.
    bigrams : Features, optional
        The bigram features, written as states whose labels are pairs of labels (from * n_labels + to).
    """

    attribute: np.ndarray
    label: np.ndarray
    edges: np.ndarray
    n_attributes: int
    n_labels: int
    bigrams: Features | None = None

    @classmethod
    def of_states(
        cls, attribute: np.ndarray, label: np.ndarray, n_attributes: int, n_labels: int
    ) -> Features:
        """Features of states alone."""
        none, label = np.empty((0, 2), dtype=np.int64), np.ascontiguousarray(label, dtype=np.int32)
        return cls(attribute.astype(np.int64), label, none, n_attributes, n_labels)

    @property
    def size(self) -> int:
        """How many weights there are: those of states, then of transitions, then of bigrams."""
        return self.label.size + len(self.edges) + (0 if self.bigrams is None else self.bigrams.size)

    def split(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The weights (or whatever there is one of for each) of states, transitions and bigrams: views."""
        states, edges = self.label.size, len(self.edges)
        return w[:states], w[states : states + edges], w[states + edges :]

    @property
    def first(self) -> np.ndarray:
        """Where the state features of each attribute begin, and at last where they end."""
        return np.searchsorted(self.attribute, np.arange(self.n_attributes + 1)).astype(np.int64)

    def states(self, w: np.ndarray) -> Any:
        """The weights of states as a table (n_attributes, n_labels): sparse where it would be large and empty, else
        with a cache line of columns at least."""
        width, w = max(self.n_labels, LEAST), w[: self.label.size]
        if self.n_attributes * width > max(TABLE, SPARSE * w.size):
            shape = (self.n_attributes, self.n_labels)
            return sparse.csr_array((w, (self.attribute, self.label)), shape=shape)
        if w.size == self.n_attributes * width:
            return w.reshape(-1, width)
        table = np.zeros((self.n_attributes, width))
        table[self.attribute, self.label] = w
        return table

    def steps(self, w: np.ndarray) -> np.ndarray:
        """The weights of transitions as a table (n_labels, n_labels)."""
        table = np.zeros((self.n_labels, self.n_labels))
        table[self.edges[:, 0], self.edges[:, 1]] = self.split(w)[1]
        return table


def token_scores(X: Any, begin: int, end: int, states: Any, n_labels: int) -> np.ndarray:
    """The score of each label for some of the tokens: X times the weights of states."""
    if not sparse.issparse(X):
        return np.ascontiguousarray(X[begin:end] @ states[:, :n_labels])
    if sparse.issparse(states):
        return np.asarray((X[begin:end] @ states).toarray())
    tokens: Any = rows(X)
    out = np.empty((end - begin, states.shape[1]))
    multiply(tokens._replace(indptr=tokens.indptr[begin : end + 1]), states, out)
    return np.ascontiguousarray(out[:, :n_labels])


class Gather:
    """Sums over tokens by attribute, at the places that have a weight.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_tokens, n_attributes)
    features : Features
    """

    def __init__(self, X: Any, features: Features) -> None:
        self.X, self.features = X, features
        if sparse.issparse(X):
            columns = X.T.tocsr()
            pieces = min(1 + columns.nnz // WORK, columns.shape[0])
            cuts = np.searchsorted(columns.indptr, np.linspace(0, columns.nnz, pieces + 1)[1:-1])
            self.parts = list(itertools.pairwise(np.unique([0, *cuts, columns.shape[0]]).tolist()))
            self.columns, self.first = rows(columns), features.first

    def add(self, D: np.ndarray, out: np.ndarray, n_jobs: int | None = None) -> None:
        """Add to out, for each feature (a, label), the sum of X[t, a] D[t, label] over the tokens."""
        if sparse.issparse(self.X):
            each(self._part, self.parts, D, out, n_jobs=n_jobs)
        else:
            sums = np.dot(self.X.T, D)
            out[: self.features.label.size] += sums[self.features.attribute, self.features.label]

    def _part(self, span: tuple[int, int], D: np.ndarray, out: np.ndarray) -> None:
        gather(self.columns, *span, D, self.first, self.features.label, np.zeros((1, D.shape[1])), out)


@kernel
def multiply(X, W, out):
    """out = XW."""
    for i in range(out.shape[0]):
        combine(X, i, W, out, i)


@kernel
def gather(columns, begin, end, D, first, label, sums, out):
    """out += X'D for some attributes, at their labels."""
    for a in range(begin, end):
        if first[a] < first[a + 1]:
            combine(columns, a, D, sums, 0)
            for p in range(first[a], first[a + 1]):
                out[p] += sums[0, label[p]]


@verb
def combine(X: Sparse, i: int, W: np.ndarray, Z: np.ndarray, row: int) -> None:
    """Z[row] = row i of X times W. The rows of W are at least a cache line."""
    s = slice(X.indptr[i], X.indptr[i + 1])
    Z[row] = X.data[s] @ W[X.indices[s]]


@implement(combine)
def _combine(X, i, W, Z, row):
    def by_lines(X, i, W, Z, row):
        # as in `core.sparse_times`: three lines at a time, the last of which may begin within the one before
        width, step, ahead = np.uint64(W.shape[1]), np.uint64(LEAST), np.uint64(AHEAD)
        begin, end, last = np.uint64(X.indptr[i]), np.uint64(X.indptr[i + 1]), width - step
        final, place = np.uint64(X.indices.size - 1), np.uint64(row) * width
        for line in range(np.uint64(0), width, np.uint64(3) * step):
            k: Any = min(line, last)
            k1: Any = min(line + step, last)
            k2: Any = min(line + step + step, last)
            a, b, c = no_line(W), no_line(W), no_line(W)
            for s in range(begin, end):
                at, x = np.uint64(X.indices[s]) * width, X.data[s]
                soon = np.uint64(X.indices[min(s + ahead, final)]) * width
                fetch_line(W, soon + k)
                fetch_line(W, soon + k1)
                fetch_line(W, soon + k2)
                a = plus_line(a, x, get_line(W, at + k))
                b = plus_line(b, x, get_line(W, at + k1))
                c = plus_line(c, x, get_line(W, at + k2))
            set_line(Z, place + k, a)
            set_line(Z, place + k1, b)
            set_line(Z, place + k2, c)

    return by_lines
