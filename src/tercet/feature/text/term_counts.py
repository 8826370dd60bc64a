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
        The terms in order, one for each column; empty where the vocabulary was given.
    """

    counts: sparse.csc_array
    terms: list[Any]


def count_terms(
    documents: Iterable[Any],
    analyze: Callable[[Any], Iterable[Any]],
    vocabulary: Mapping[Any, int] | None = None,
    skip: Iterable[Any] = (),
) -> TermCounts:
    """Count the terms of documents (17.1).

    Parameters
    ----------
    documents : iterable
        Looked at once, one document at a time.
    analyze : callable
        Gives the terms of a document.
    vocabulary : dict of term to int, optional
        The column of each term; others are not counted. By default all terms have a column, in order.
    skip : iterable of terms
        Terms that are not counted.

    Returns
    -------
    TermCounts
    """
    codes, ends, parts = array("i"), array("q"), []
    number: Any = vocabulary
    if vocabulary is None:
        number = defaultdict()
        number.default_factory = number.__len__  # a new term gets the next number
        code = number.__getitem__
        for document in documents:
            codes.extend(map(code, analyze(document)))
            ends.append(len(codes))
            if len(codes) > BUFFER:
                parts.append(_table(codes, ends, len(number)))
                codes, ends = array("i"), array("q")
    else:
        find, absent = vocabulary.get, repeat(-1)
        for document in documents:
            codes.extend(map(find, analyze(document), absent))
            ends.append(len(codes))
            if len(codes) > BUFFER:
                parts.append(_table(codes, ends, len(number)))
                codes, ends = array("i"), array("q")
    skipped = [number[term] for term in skip if term in number]
    if vocabulary is not None:
        place, terms, width = np.arange(len(number), dtype=np.int32), [], len(number)
    else:
        number.default_factory = None
        for term in [term for term in skip if term in number]:
            del number[term]
        terms = sorted(number)
        place, width = np.full(len(number) + len(skipped), -1, dtype=np.int32), len(terms)
        place[list(map(number.__getitem__, terms))] = np.arange(width)
    place[skipped] = -1
    return TermCounts(_gathered(parts, codes, ends, place, width), terms)


def count_words(texts: Iterable[str | None]) -> tuple[sparse.csr_array, np.ndarray]:
    """How often every word occurs in every text, and the words, in order."""
    counted = count_terms(texts, lambda text: tokenize(text) if text else ())
    return counted.counts.tocsr().astype(np.float64), np.array(counted.terms, dtype=object)


class _Table(NamedTuple):
    """Entries of a CSR matrix whose columns are the numbers of terms in the order in which they were met."""

    values: np.ndarray
    columns: np.ndarray
    lengths: np.ndarray


def _table(codes: array[int], ends: array[int], width: int) -> _Table:
    """The terms of some documents, each with its count; terms without a number are left out."""
    found = np.frombuffer(codes, dtype=np.int32) if len(codes) else np.zeros(0, dtype=np.int32)
    ends_of = (
        np.concatenate([[0], np.frombuffer(ends, dtype=np.int64)]) if len(ends) else np.zeros(1, np.int64)
    )
    known = found >= 0
    if not known.all():
        ends_of = np.concatenate([[0], np.cumsum(known)])[ends_of]
        found = found[known]
    by_term = _added(np.ones(found.size, dtype=np.int32), found, ends_of, width)
    counts = by_term.tocsr()
    return _Table(counts.data, counts.indices, np.diff(counts.indptr))


def _gathered(
    parts: list[_Table], codes: array[int], ends: array[int], place: np.ndarray, width: int
) -> sparse.csc_array:
    """All documents in one matrix, each term in its place."""
    if parts:
        parts.append(_table(codes, ends, place.size))
        values, columns, lengths = (np.concatenate(part) for part in zip(*parts))
        indptr = np.concatenate([[0], np.cumsum(lengths)])
    else:
        columns = np.frombuffer(codes, dtype=np.int32) if len(codes) else np.zeros(0, dtype=np.int32)
        indptr = np.concatenate([[0], np.asarray(ends, dtype=np.int64)])
        values = np.ones(columns.size, dtype=np.int32)
    unknown = columns < 0
    columns = place[columns] if place.size else np.full_like(columns, -1)
    known = (columns >= 0) & ~unknown
    if not known.all():
        indptr = np.concatenate([[0], np.cumsum(known)])[indptr]
        columns, values = columns[known], values[known]
    return _added(values, columns, indptr, width)


def _added(values: np.ndarray, columns: np.ndarray, indptr: np.ndarray, width: int) -> sparse.csc_array:
    """Add up the entries of each term. Two counting sorts are faster than sorting each document."""
    index = np.int32 if indptr[-1] < np.iinfo(np.int32).max else np.int64
    rows = sparse.csr_array(
        (values, columns.astype(index, copy=False), indptr.astype(index)), shape=(indptr.size - 1, width)
    )
    by_term = rows.tocsc()
    by_term.has_sorted_indices = True  # a column has its documents in their order
    by_term.sum_duplicates()
    return by_term
