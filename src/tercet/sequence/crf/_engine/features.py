"""The features of a linear chain, and the two products with them: scores XW of tokens, and sums X'D by feature.

The rows of W (or D) that a product of a sparse X needs are scattered over a large table: prefetching them some
entries ahead makes it up to three times as fast.
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from tercet.core.cache_lines import LINE, fetch_line, get_line, no_line, plus_line, set_line
from tercet.core.kernel import implement, kernel, verb
from tercet.core.parallel import each, total
from tercet.core.reduction import reduced
from tercet.core.rows import Sparse, rows
from tercet.core.streams import is_streamed
from tercet.sequence.base import Sequences

MIN_COLUMNS = LINE // 8  # of a dense table of weights: one cache line of doubles
LARGE_TABLE = 1 << 24  # a dense table of weights may always have so many entries;
SPARSITY = 8  # a larger one only if at least one in so many entries is a feature
WORK = 200_000  # entries of X in a piece of work for one thread
COUNTED = 1 << 17  # tokens whose features are counted at a time
BLOCK_BYTES = 1 << 26  # rows of so many tokens have about this size at most
FEWEST_TOKENS = 1 << 12  # at a time, however large their rows are
AHEAD = 12  # entries between prefetching a row and using it


class Features(NamedTuple):
    """The features of a linear chain, each of which has a weight: states (attribute, label), transitions
    (label, label) and bigrams (attribute, label, label).

    Attributes
    ----------
    attribute, label : arrays of int of shape (n_states,)
        The state features, sorted by attribute.
    transitions : array of int of shape (n_transitions, 2)
        The transition features: labels from and to.
    n_attributes, n_labels : int
        The number of attributes and of labels.
    bigrams : Features, optional
        The bigram features, written as state features whose labels are pairs of labels (from * n_labels + to).
    """

    attribute: np.ndarray
    label: np.ndarray
    transitions: np.ndarray
    n_attributes: int
    n_labels: int
    bigrams: Features | None = None

    @classmethod
    def of_states(
        cls, attribute: np.ndarray, label: np.ndarray, n_attributes: int, n_labels: int
    ) -> Features:
        """State features alone."""
        none, label = np.empty((0, 2), dtype=np.int64), np.ascontiguousarray(label, dtype=np.int32)
        return cls(attribute.astype(np.int64), label, none, n_attributes, n_labels)

    @classmethod
    def of_pairs(
        cls,
        states: np.ndarray,
        transitions: np.ndarray,
        bigrams: np.ndarray,
        n_attributes: int,
        n_labels: int,
    ) -> Features:
        """Features from rows (attribute, label), (from, to) and (attribute, from, to)."""
        features = cls.of_states(states[:, 0], states[:, 1], n_attributes, n_labels)
        features = features._replace(transitions=transitions)
        if not len(bigrams):
            return features
        attribute, before, label = bigrams.T
        both = cls.of_states(attribute, before * n_labels + label, n_attributes, n_labels**2)
        return features._replace(bigrams=both)

    def pairs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows (attribute, label), (from, to) and (attribute, from, to) of all features."""
        states = np.column_stack([self.attribute, self.label]).astype(np.int64)
        bigrams = np.empty((0, 3), dtype=np.int64)
        if self.bigrams is not None:
            pair = np.divmod(self.bigrams.label.astype(np.int64), self.n_labels)
            bigrams = np.column_stack([self.bigrams.attribute, *pair])
        return states, self.transitions.astype(np.int64), bigrams

    @property
    def size(self) -> int:
        """Number of weights: those of states, then of transitions, then of bigrams."""
        return self.label.size + len(self.transitions) + (0 if self.bigrams is None else self.bigrams.size)

    def split(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Views of the entries of states, transitions and bigrams in a vector with one entry for each weight."""
        states, transitions = self.label.size, len(self.transitions)
        return w[:states], w[states : states + transitions], w[states + transitions :]

    @property
    def starts(self) -> np.ndarray:
        """Index of the first state feature of each attribute, and at last their number (as a CSR `indptr`)."""
        return np.searchsorted(self.attribute, np.arange(self.n_attributes + 1)).astype(np.int64)

    def state_table(self, w: np.ndarray) -> Any:
        """The weights of states as a table (n_attributes, n_labels): sparse where it would be large and empty, else
        padded to at least a cache line of columns."""
        width, w = max(self.n_labels, MIN_COLUMNS), w[: self.label.size]
        if self.n_attributes * width > max(LARGE_TABLE, SPARSITY * w.size):
            shape = (self.n_attributes, self.n_labels)
            return sparse.csr_array((w, (self.attribute, self.label)), shape=shape)
        if w.size == self.n_attributes * width:
            return w.reshape(-1, width)
        table = np.zeros((self.n_attributes, width))
        table[self.attribute, self.label] = w
        return table

    def transition_table(self, w: np.ndarray) -> np.ndarray:
        """The weights of transitions as a table (from, to)."""
        table = np.zeros((self.n_labels, self.n_labels))
        table[self.transitions[:, 0], self.transitions[:, 1]] = self.split(w)[1]
        return table


def choose_features(
    X: Sequences,
    y: np.ndarray,
    weight: np.ndarray | None,
    n_labels: int,
    *,
    min_freq: float = 0.0,
    all_states: bool = False,
    all_transitions: bool = False,
    transition_columns: np.ndarray | None = None,
) -> Features:
    """The features that labelled data show at least `min_freq` times (values and weights count), or all possible.

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
        Whether features that the data never show are included.
    transition_columns : array of int, optional
        The attributes that act on the transition to their token: they make bigram features, not state features.
    """
    if transition_columns is None:
        transition_columns = np.empty(0, dtype=np.int64)
    counted = n_labels, transition_columns
    if is_streamed(X.rows):
        chunks: Any = X.labelled_chunks(y, tokens_together(X, COUNTED))  # type: ignore[attr-defined]
        counts = total(_chunk_counts, chunks, X, weight, *counted)
    else:
        spans = X.chunks(tokens_together(X, COUNTED))
        counts = reduced(_count(*labelled_span(X, y, weight, span), *counted) for span in spans)
    states = _seen_pairs(counts[0], min_freq, all_states)
    transitions = np.column_stack(np.divmod(_frequent(counts[1], min_freq, all_transitions), n_labels))
    d, bigrams = X.rows.shape[1], None
    if transition_columns.size:
        states = states[~np.isin(states // n_labels, transition_columns)]
        column, label = np.divmod(_seen_pairs(counts[2], min_freq, all_transitions), n_labels**2)
        if column.size:
            bigrams = Features.of_states(transition_columns[column], label, d, n_labels**2)
    return Features.of_states(*np.divmod(states, n_labels), d, n_labels)._replace(
        transitions=transitions, bigrams=bigrams
    )


def tokens_together(X: Sequences, most: int) -> int:
    """How many tokens are worked on together: `most`, or fewer where their rows are large; from the data alone."""
    rows = X.rows
    size = rows.data.nbytes * 1.5 if sparse.issparse(rows) else rows.nbytes
    return int(np.clip(BLOCK_BYTES * rows.shape[0] // max(size, 1), min(FEWEST_TOKENS, most), most))


def labelled_span(
    X: Sequences, y: np.ndarray, weight: np.ndarray | None, span: tuple[int, int]
) -> tuple[Sequences, np.ndarray, np.ndarray | None]:
    """The sequences from one to another with their labels and weights."""
    a, b = span
    if b - a == len(X):
        return X, y, weight
    borders = X.borders[a : b + 1]
    rows = slice(borders[0], borders[-1])
    part = Sequences(X.rows[rows], borders - borders[0], False)
    return part, y[rows], None if weight is None else weight[a:b]


def _chunk_counts(chunk: Any, X: Any, weight: Any, n_labels: int, columns: np.ndarray) -> tuple[Any, ...]:
    part, y, weight = X.labelled_part(chunk, weight)
    return _count(part, y, weight, n_labels, columns)


def _count(
    X: Sequences, y: np.ndarray, weight: np.ndarray | None, n_labels: int, columns: np.ndarray
) -> tuple[Any, ...]:
    """How often labelled tokens show (attribute, label), (label, label), and (attribute of `columns`, labels)."""
    n = y.size
    per_token = np.ones(n) if weight is None else np.repeat(weight, X.lengths)
    known = np.flatnonzero(y >= 0)
    states = _count_pairs(
        X.rows, sparse.csr_array((per_token[known], (known, y[known])), shape=(n, n_labels))
    )
    to, pair = known_transitions(X.borders, y, n_labels)
    transitions = np.bincount(pair, weights=per_token[to], minlength=n_labels**2)
    if not columns.size:
        return states, transitions
    one_hot = sparse.csr_array((per_token[to], (to, pair)), shape=(n, n_labels**2))
    return states, transitions, _count_pairs(X.rows[:, columns], one_hot)


def known_transitions(borders: np.ndarray, y: np.ndarray, n_labels: int) -> tuple[np.ndarray, np.ndarray]:
    """The tokens whose label and the one before it are known, and the code of both (from * n_labels + to)."""
    inside = np.ones(y.size, dtype=bool)
    inside[borders[:-1]] = False
    to = np.flatnonzero(inside)
    to = to[(y[to] >= 0) & (y[to - 1] >= 0)]
    return to, y[to - 1] * n_labels + y[to]


def _count_pairs(X: Any, one_hot: Any) -> Any:
    """The counts (attribute, label); of a sparse X with the sums of values in the real part, and in the imaginary
    one how often the attribute was named."""
    if not sparse.issparse(X):
        return np.asarray(np.abs(X).T @ one_hot)
    counted = sparse.csr_array((np.abs(X.data) + 1j, X.indices, X.indptr), shape=X.shape)
    return (counted.T @ one_hot).tocsr()


def _seen_pairs(counts: Any, min_freq: float, everything: bool) -> np.ndarray:
    """The pairs (attribute, label) that the data show, as sorted codes attribute * n_labels + label.

    An attribute that a token names with the value 0 (False) counts as seen: its weight matters for other tokens.
    """
    if not sparse.issparse(counts):
        return _frequent(counts.ravel(), min_freq, everything)
    if everything:
        return _frequent(counts.real.toarray().ravel(), min_freq, everything)
    counts.sort_indices()
    attribute = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    return (attribute * counts.shape[1] + counts.indices)[counts.data.real >= min_freq]


def _frequent(counts: np.ndarray, min_freq: float, everything: bool) -> np.ndarray:
    return np.flatnonzero((counts >= min_freq) & ((counts > 0) | everything))


def merge_features(old: Features, new: Features) -> tuple[Features, np.ndarray]:
    """The union of two sets of features, and the index of each old feature in it."""
    N = new.n_labels
    codes = [features.attribute * N + features.label for features in (old, new)]
    pairs = [features.transitions @ np.array([N, 1]) for features in (old, new)]
    states, transitions = np.union1d(*codes), np.union1d(*pairs)
    both = Features.of_states(*np.divmod(states, N), new.n_attributes, N)
    both = both._replace(transitions=np.column_stack(np.divmod(transitions, N)))
    places = [np.searchsorted(states, codes[0]), states.size + np.searchsorted(transitions, pairs[0])]
    parts = [features.bigrams for features in (old, new) if features.bigrams is not None]
    if parts:
        bigrams, inside = merge_features(parts[0], parts[-1])
        if old.bigrams is not None:
            places.append(both.size + inside)
        both = both._replace(bigrams=bigrams._replace(n_attributes=new.n_attributes))
    return both, np.concatenate(places)


def observation_scores(X: Any, begin: int, end: int, table: Any, n_labels: int) -> np.ndarray:
    """Score of each label at the tokens from begin to end: their rows times a table of weights."""
    if not sparse.issparse(X):
        return np.ascontiguousarray(X[begin:end] @ table[:, :n_labels])
    if sparse.issparse(table):
        return np.asarray((X[begin:end] @ table).toarray())
    tokens: Any = rows(X)
    out = np.empty((end - begin, table.shape[1]))
    multiply(tokens._replace(indptr=tokens.indptr[begin : end + 1]), table, out)
    return np.ascontiguousarray(out[:, :n_labels])


class FeatureSums:
    """The product X'D at the entries (attribute, label) that are features: expected or empirical counts.

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
            self.columns, self.starts = rows(columns), features.starts

    def add(self, D: np.ndarray, out: np.ndarray, n_jobs: int | None = None) -> None:
        """Add to out, for each feature (a, label), the sum over tokens t of X[t, a] D[t, label]."""
        if sparse.issparse(self.X):
            each(self._part, self.parts, D, out, n_jobs=n_jobs)
        else:
            sums = np.dot(self.X.T, D)
            out[: self.features.label.size] += sums[self.features.attribute, self.features.label]

    def _part(self, span: tuple[int, int], D: np.ndarray, out: np.ndarray) -> None:
        sum_by_column(
            self.columns, *span, D, self.starts, self.features.label, np.zeros((1, D.shape[1])), out
        )


@kernel
def multiply(X, W, out):
    """out = XW."""
    for i in range(out.shape[0]):
        row_times(X, i, W, out, i)


@kernel
def sum_by_column(columns, begin, end, D, starts, label, sums, out):
    """out += X'D for the attributes from begin to end, at the labels of their features."""
    for a in range(begin, end):
        if starts[a] < starts[a + 1]:
            row_times(columns, a, D, sums, 0)
            for p in range(starts[a], starts[a + 1]):
                out[p] += sums[0, label[p]]


@verb
def row_times(X: Sparse, i: int, W: np.ndarray, Z: np.ndarray, row: int) -> None:
    """Z[row] = row i of X times W. The rows of W are at least a cache line."""
    s = slice(X.indptr[i], X.indptr[i + 1])
    Z[row] = X.data[s] @ W[X.indices[s]]


@implement(row_times)
def _row_times(X, i, W, Z, row):
    def by_lines(X, i, W, Z, row):
        # three cache lines at a time; the last may overlap the one before
        width, step, ahead = np.uint64(W.shape[1]), np.uint64(MIN_COLUMNS), np.uint64(AHEAD)
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


__all__ = [
    "MIN_COLUMNS",
    "FeatureSums",
    "Features",
    "choose_features",
    "known_transitions",
    "merge_features",
    "observation_scores",
    "tokens_together",
]
