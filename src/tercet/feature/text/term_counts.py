"""Word-document matrices: how often every term occurs in every document."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from tercet.feature.text.tokenization import tokenize

BUFFER = 1 << 24  # terms of documents that wait to be added up


class TermCounts(NamedTuple):
    """Counts of terms.

    Attributes
    ----------
    counts : CSC array of shape (n_documents, n_terms)
        How often each term occurs in each document, as int32.
    terms : list
        The terms in order, one for each column.
    """

    counts: sparse.csc_array
    terms: list[Any]


def count_terms(
    documents: Iterable[Any], analyze: Callable[[Any], Iterable[Any]], skip: Iterable[Any] = ()
) -> TermCounts:
    """Count the terms of documents (17.1).

    Parameters
    ----------
    documents : iterable
        Looked at once, one document at a time.
    analyze : callable
        Gives the terms of a document.
    skip : iterable of terms
        Terms that are not counted.

    Returns
    -------
    TermCounts

    Examples
    --------
    >>> found = count_terms(["b a b", "c"], str.split)
    >>> found.terms, found.counts.toarray().tolist()
    (['a', 'b', 'c'], [[1, 2, 0], [0, 0, 1]])
    """
    number: Any = defaultdict()
    number.default_factory = number.__len__  # a new term gets the next number
    rows = _gathered(documents, lambda document: map(number.__getitem__, analyze(document)), number)
    number.default_factory = None
    place = np.full(len(number), -1, dtype=np.int32)
    for term in skip:
        number.pop(term, None)
    try:
        terms = sorted(number)
    except TypeError:
        kinds = sorted({type(term).__name__ for term in number})
        raise TypeError(f"terms must be of one type, to have an order; got {', '.join(kinds)}.") from None
    place[list(map(number.__getitem__, terms))] = np.arange(len(terms))
    return TermCounts(_added(_known(rows, place[rows.columns]), len(terms)), terms)


def count_known_terms(
    documents: Iterable[Any],
    analyze: Callable[[Any], Iterable[Any]],
    vocabulary: Mapping[Any, int],
    skip: Iterable[Any] = (),
) -> sparse.csr_array:
    """Count the terms of a vocabulary in documents.

    Parameters
    ----------
    documents, analyze, skip : as in `count_terms`
    vocabulary : dict of term to int
        The column of each term; others are not counted.

    Returns
    -------
    counts : CSR array of shape (n_documents, n_terms), as int32

    Examples
    --------
    >>> count_known_terms(["b a b", "c"], str.split, {"b": 0, "z": 1}).toarray().tolist()
    [[2, 0], [0, 0]]
    """
    find, absent = vocabulary.get, repeat(-1)
    rows = _gathered(documents, lambda document: map(find, analyze(document), absent), vocabulary)
    columns = rows.columns
    skipped = [vocabulary[term] for term in skip if term in vocabulary]
    if skipped:
        columns = np.where(np.isin(columns, skipped), -1, columns)
    rows = _known(rows, columns)
    width = len(vocabulary)
    if 4 * rows.columns.size > width:
        return _added(rows, width).tocsr()
    counts = _table(rows, width)  # few terms: do not look at every column
    counts.sort_indices()
    if (counts.indices[1:] == counts.indices[:-1]).any():  # perhaps of one document
        counts.sum_duplicates()
    return counts


def count_words(texts: Iterable[str | None]) -> tuple[sparse.csr_array, np.ndarray]:
    """How often every word occurs in every text, and the words, in order."""
    counted = count_terms(texts, lambda text: tokenize(text) if text else ())
    return counted.counts.tocsr().astype(np.float64), np.array(counted.terms, dtype=object)


class _Rows(NamedTuple):
    """Entries of a matrix, document after document: counts, columns, and the place where each document begins."""

    values: np.ndarray
    columns: np.ndarray
    starts: np.ndarray


def _gathered(documents: Iterable[Any], codes_of: Callable[[Any], Iterable[int]], number: Any) -> _Rows:
    """The codes of the terms of all documents. A full buffer is added up, so that memory holds each term once."""
    codes, ends, parts = array("i"), array("q"), []

    def flush() -> _Rows:
        columns = np.frombuffer(codes, dtype=np.int32) if codes else np.zeros(0, dtype=np.int32)
        starts = np.zeros(len(ends) + 1, dtype=np.int64)
        starts[1:] = ends
        return _Rows(np.ones(columns.size, dtype=np.int32), columns, starts)

    for document in documents:
        codes.extend(codes_of(document))
        ends.append(len(codes))
        if len(codes) > BUFFER:
            rows = flush()
            part = _added(_known(rows, rows.columns), len(number)).tocsr()
            parts.append(_Rows(part.data, part.indices, part.indptr))
            codes, ends = array("i"), array("q")
    if not parts:
        return flush()
    parts.append(flush())
    lengths = np.concatenate([np.diff(part.starts) for part in parts])
    values, columns = (np.concatenate([part[k] for part in parts]) for k in (0, 1))
    return _Rows(values, columns, np.concatenate([[0], np.cumsum(lengths)]))


def _known(rows: _Rows, columns: np.ndarray) -> _Rows:
    """The entries in other columns; those whose column is -1 are left out."""
    known = columns >= 0
    if known.all():
        return rows._replace(columns=columns)
    starts = np.concatenate([[0], np.cumsum(known)])[rows.starts]
    return _Rows(rows.values[known], columns[known], starts)


def _table(rows: _Rows, width: int) -> sparse.csr_array:
    index = np.int32 if rows.columns.size < np.iinfo(np.int32).max else np.int64
    columns, starts = rows.columns.astype(index, copy=False), rows.starts.astype(index)
    return sparse.csr_array((rows.values, columns, starts), shape=(len(starts) - 1, width))


def _added(rows: _Rows, width: int) -> sparse.csc_array:
    """Add up the entries of each term. Two counting sorts are faster than sorting each document."""
    by_term = _table(rows, width).tocsc()
    by_term.has_sorted_indices = True  # a column has its documents in their order
    by_term.sum_duplicates()
    return by_term
