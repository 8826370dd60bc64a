"""Documents as topic models take them: matrices of counts, bags of words, and lists of tokens.

Inside there is one form, a CSR matrix of counts with a row for each document and a column for each word of the
vocabulary. The forms that become one here:

    arrays, frames, sparse matrices     counts[d, w] as they are
    [[(0, 2), (5, 1)], [(1, 1)]]        gensim's bag-of-words: pairs of a word's number and its count
    [["a", "b", "a"], ["c"]]            tokens

"""

from __future__ import annotations

import numbers
from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from tercet.core.input_errors import shown

FORMS = "counts of shape (n_documents, n_words), lists of tokens, or lists of (word number, count)"


class CountedDocuments(NamedTuple):
    """Documents as counts.

    Attributes
    ----------
    counts : CSR array of shape (n_documents, n_words)
    vocabulary : dict of str to int, or None
        The column of each word, where the documents were lists of tokens.
    unseen : array of shape (n_documents,)
        The number of words of each document that have no column; they are left out.
    """

    counts: sparse.csr_array
    vocabulary: dict[str, int] | None
    unseen: np.ndarray


def listed_documents(X: Any) -> list[Any] | None:
    """The documents of a list of tokens or of bags of words; None where X is a table of counts.

    Raises
    ------
    TypeError
        Where X holds raw text: words have to be found in it first.
    """
    if sparse.issparse(X) or isinstance(X, str | bytes | Mapping | set | frozenset | Iterator):
        return None
    if hasattr(X, "shape"):
        convert = getattr(X, "tolist", None) or getattr(X, "to_list", None)  # NumPy and pandas, or polars
        if len(X.shape) != 1 or convert is None:
            return None
        X = convert()
    elif hasattr(X, "__array__") or not (hasattr(X, "__len__") and hasattr(X, "__iter__")):
        return None
    documents = X if isinstance(X, list) else list(X)
    single = documents and all(_is_one_text(document) for document in documents)  # a column of texts
    for d, document in enumerate(documents):
        if single or isinstance(document, str | bytes):
            raise TypeError(
                f"X must hold {FORMS}; X[{d}] is the text {shown(document)}. Count the words of texts first: "
                "CountVectorizer().fit_transform(X), from tercet.feature."
            )
        if not isinstance(document, list | tuple):
            return None
        if document:
            first = document[0]
            return documents if isinstance(first, str) or _is_pair(first) else None
    return documents if documents else None


def _is_one_text(document: Any) -> bool:
    """Whether a document is a list of one text, whose words are not found yet."""
    alone = isinstance(document, list | tuple) and len(document) == 1
    return alone and isinstance(document[0], str) and " " in document[0].strip()


def count_documents(
    X: Any, vocabulary: Mapping[str, int] | None = None, n_features: int | None = None
) -> CountedDocuments:
    """Count the words of documents.

    Parameters
    ----------
    X : list of lists of str, or list of lists of (int, number)
        Tokens, or bags of words; a document may be empty.
    vocabulary : dict of str to int, optional
        The column of each word; by default the words of X in order, each with a column.
    n_features : int, optional
        The number of columns; by default as many as there are words, or the largest word number and 1.

    Returns
    -------
    CountedDocuments
        The counts, the vocabulary (None for bags of words), and the number of words of each document that have no
        column.

    Examples
    --------
    >>> from tercet.topic import count_documents
    >>> found = count_documents([["b", "a", "b"], ["c"]])
    >>> found.counts.toarray()
    array([[1., 2., 0.],
           [0., 0., 1.]])
    >>> found.vocabulary
    {'a': 0, 'b': 1, 'c': 2}
    >>> count_documents([["a", "z"]], found.vocabulary).unseen
    array([1])
    >>> count_documents([[(0, 2), (3, 1)], []]).counts.toarray()
    array([[2., 0., 0., 1.],
           [0., 0., 0., 0.]])
    """
    documents = listed_documents(X)
    if documents is None:
        raise TypeError(f"X must be a list of documents, each a list of tokens or of pairs; got {shown(X)}.")
    first = next((document[0] for document in documents if document), None)
    if first is None:  # nothing but empty documents: of either form
        width = len(vocabulary or ()) if n_features is None else n_features
        nothing = sparse.csr_array((len(documents), width), dtype=np.float64)
        return CountedDocuments(nothing, None, np.zeros(len(documents), dtype=np.int64))
    if isinstance(first, str):
        return _counted_tokens(documents, vocabulary, n_features)
    return _counted_bags(documents, n_features)


def _counted_tokens(
    documents: Sequence[Any], vocabulary: Mapping[str, int] | None, n_features: int | None
) -> CountedDocuments:
    for d, document in enumerate(documents):
        text = isinstance(document, str | bytes)
        if text or set(map(type, document)) - {str}:
            wrong = [document] if text else [token for token in document if not isinstance(token, str)]
            if wrong:
                raise TypeError(
                    f"X must hold lists of tokens, which are strings; X[{d}] holds {shown(wrong[0])}."
                )
    if vocabulary is None:
        words = sorted({token for document in documents for token in document})
        vocabulary = {str(word): column for column, word in enumerate(words)}
    columns, unseen = array("q"), np.zeros(len(documents), dtype=np.int64)
    ends = np.zeros(len(documents) + 1, dtype=np.int64)
    for d, document in enumerate(documents):
        here = [column for token in document if (column := vocabulary.get(token)) is not None]
        columns.extend(here)
        ends[d + 1], unseen[d] = len(columns), len(document) - len(here)
    width = len(vocabulary) if n_features is None else n_features
    indices = np.frombuffer(columns, dtype=np.int64) if len(columns) else np.zeros(0, dtype=np.int64)
    counts = _added(np.ones(indices.size), indices, ends, width)
    return CountedDocuments(counts, dict(vocabulary), unseen)


def _counted_bags(documents: Sequence[Any], n_features: int | None) -> CountedDocuments:
    if not _are_pairs([pair for document in documents for pair in document]):
        d, pair = next(
            (d, pair) for d, document in enumerate(documents) for pair in document if not _is_pair(pair)
        )
        raise TypeError(f"X must hold pairs of a word's number and its count; X[{d}] holds {shown(pair)}.")
    lengths = np.array([len(document) for document in documents], dtype=np.int64)
    indices = np.array([pair[0] for document in documents for pair in document], dtype=np.int64)
    values = np.array([pair[1] for document in documents for pair in document], dtype=np.float64)
    owner = np.repeat(np.arange(lengths.size), lengths)
    for wrong, what in ((indices < 0, "the word number"), (~(values >= 0) | (values == np.inf), "the count")):
        if wrong.any():
            k = int(wrong.argmax())
            raise ValueError(
                f"X holds bags of words with {what} {(indices if 'word' in what else values)[k]} in document "
                f"{owner[k]}; word numbers are 0 or more, counts finite and not negative."
            )
    width = int(indices.max()) + 1 if n_features is None else n_features
    here = indices < width
    unseen = np.bincount(owner[~here], values[~here], lengths.size).astype(np.int64)
    ends = np.concatenate([[0], np.cumsum(np.bincount(owner[here], minlength=lengths.size))])
    return CountedDocuments(_added(values[here], indices[here], ends, width), None, unseen)


def _added(values: np.ndarray, indices: np.ndarray, ends: np.ndarray, width: int) -> sparse.csr_array:
    """A CSR array in which each word of a document stands once."""
    counts = sparse.csr_array((values, indices, ends), shape=(ends.size - 1, width))
    counts.sum_duplicates()
    return without_zeros(counts)


def without_zeros(counts: Any) -> sparse.csr_array:
    """A table of counts as a CSR array that stores no zeros; the caller's matrix is left as it is."""
    if sparse.issparse(counts) and counts.nnz and not counts.data.all():
        counts = sparse.csr_array(counts, copy=True)
        counts.eliminate_zeros()
    return counts if isinstance(counts, sparse.csr_array) else sparse.csr_array(counts)


def refuse_fractions(counts: sparse.csr_array, who: str) -> None:
    """Refuse counts that are not whole numbers, for methods that draw a topic for each word."""
    fractional = counts.data != np.floor(counts.data)
    if fractional.any():
        raise ValueError(
            f"{who}: X must hold whole counts of words; it has {counts.data[fractional.argmax()]:g}."
        )


def _is_pair(thing: Any) -> bool:
    """Whether this is a word's number and its count."""
    return (
        isinstance(thing, tuple | list)
        and len(thing) == 2
        and isinstance(thing[0], numbers.Integral)
        and isinstance(thing[1], numbers.Real)
    )


def _are_pairs(things: list[Any]) -> bool:
    """`_is_pair` of all, by their kinds: of millions, there are few."""
    if not all(issubclass(kind, tuple | list) for kind in set(map(type, things))) or set(map(len, things)) - {
        2
    }:
        return False
    ids, counts = ({type(pair[k]) for pair in things} for k in (0, 1))
    return all(issubclass(kind, numbers.Integral) for kind in ids) and all(
        issubclass(kind, numbers.Real) for kind in counts
    )
