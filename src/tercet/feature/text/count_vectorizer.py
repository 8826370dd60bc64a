"""Word-document matrices as a transformer of raw texts (单词-文本矩阵)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
from scipy import sparse
from sklearn import get_config
from sklearn.utils.metadata_routing import UNUSED

from tercet.core.catalog import method
from tercet.core.estimator import NO_TARGET
from tercet.core.parameters import Count, Fraction, check_parameters, number_type
from tercet.core.steps import listeners
from tercet.core.validation import check_array, target_for_callbacks
from tercet.feature.text.document_analysis import DocumentAnalysis
from tercet.feature.text.document_input import Last, as_objects, checked_documents, document_error
from tercet.feature.text.term_counts import count_known_terms, count_terms


@method(
    zh="单词-文本矩阵",
    task="feature extraction",
    model="x_ij = number of times that term j occurs in document i",
    strategy="a column for each term of the vocabulary that is neither too rare nor too frequent",
    texts=["Li ch. 17, eq. 17.1", "Machine Learning in Depth ch. 3"],
    peers=["sklearn.feature_extraction.text.CountVectorizer"],
)
class CountVectorizer(DocumentAnalysis):
    """Counts of the words or n-grams of raw texts, as a sparse matrix.

    The rows are documents and the columns terms: the transpose of the text's word-document matrix.

    Parameters
    ----------
    input : {"content", "filename", "file"}, default="content"
        What the documents are: texts, paths, or objects with `read`.
    encoding : str, default="utf-8"
        How bytes are decoded.
    decode_error : {"strict", "ignore", "replace"}, default="strict"
        What happens to bytes that are not of the encoding.
    strip_accents : {"ascii", "unicode"} or callable, optional
        Replace letters with accents by those without.
    lowercase : bool, default=True
        Whether texts are brought to lower case.
    preprocessor : callable, optional
        Takes the place of `strip_accents` and `lowercase`.
    tokenizer : callable, optional
        Splits a text into tokens, in the place of `token_pattern`; `jieba.lcut`, say.
    stop_words : "english" or list, optional
        Words that are not counted.
    token_pattern : str, default=r"(?u)\\b\\w\\w+\\b"
        What a token is: by default two letters, digits or underscores, or more.
    ngram_range : (int, int), default=(1, 1)
        The least and the greatest n of the n-grams that are counted.
    analyzer : {"word", "char", "char_wb", "chinese", "tokens"} or callable, default="word"
        What is counted: n-grams of words; of characters; of characters within words. "chinese" has the words of
        Chinese texts, which jieba finds where it is installed; else runs of Chinese characters are cut into
        bigrams. "tokens" is for documents that are lists of words. A callable gives the terms of a document.
    max_df, min_df : float or int, default=1.0 and 1
        The documents that a term may be in at most, and must be in at least: a share of all, or a number.
    max_features : int, optional
        Keep so many of the most frequent terms; of equally frequent ones those that come first in order.
    vocabulary : dict or iterable, optional
        The terms, with their columns or in the order of these; by default all terms of the documents, in order.
    binary : bool, default=False
        Count a term of a document once.
    dtype : type, default=numpy.int64
        The type of the counts.

    Attributes
    ----------
    vocabulary_ : dict of term to int
        The column of each term.
    fixed_vocabulary_ : bool
        Whether the vocabulary was given.
    segmenter_ : str
        With `analyzer="chinese"` "jieba" or "bigrams": how the words were found.

    Examples
    --------
    >>> model = CountVectorizer()
    >>> model.fit_transform(["The rose is a rose.", "A rose, the lily."]).toarray()
    array([[1, 0, 2, 1],
           [0, 1, 1, 1]])
    >>> model.get_feature_names_out().tolist()
    ['is', 'lily', 'rose', 'the']
    """

    def __init__(
        self,
        *,
        input: Literal["filename", "file", "content"] = "content",
        encoding: str = "utf-8",
        decode_error: Literal["strict", "ignore", "replace"] = "strict",
        strip_accents: Literal["ascii", "unicode"] | Callable[..., Any] | None = None,
        lowercase: bool = True,
        preprocessor: Callable[..., Any] | None = None,
        tokenizer: Callable[..., Any] | None = None,
        stop_words: Literal["english"]
        | list[str]
        | tuple[str, ...]
        | set[str]
        | frozenset[str]
        | None = None,
        token_pattern: str | None = r"(?u)\b\w\w+\b",
        ngram_range: tuple[int, int] = (1, 1),
        analyzer: Literal["word", "char", "char_wb", "chinese", "tokens"] | Callable[..., Any] = "word",
        max_df: Fraction | Count = 1.0,
        min_df: Fraction | Count = 1,
        max_features: Count | None = None,
        vocabulary: Mapping[Any, int] | Iterable[Any] | None = None,
        binary: bool = False,
        dtype: Any = np.int64,
    ) -> None:
        self.input = input
        self.encoding = encoding
        self.decode_error = decode_error
        self.strip_accents = strip_accents
        self.lowercase = lowercase
        self.preprocessor = preprocessor
        self.tokenizer = tokenizer
        self.stop_words = stop_words
        self.token_pattern = token_pattern
        self.ngram_range = ngram_range
        self.analyzer = analyzer
        self.max_df = max_df
        self.min_df = min_df
        self.max_features = max_features
        self.vocabulary = vocabulary
        self.binary = binary
        self.dtype = dtype

    # Documents are data under another name than X: nothing to route.
    __metadata_request__fit = {"raw_documents": UNUSED}
    __metadata_request__transform = {"raw_documents": UNUSED}
    _trained: Any

    def fit(self, raw_documents: Any, y: Any = None) -> Self:
        """Learn the vocabulary.

        Parameters
        ----------
        raw_documents : iterable
            The documents X, looked at once: texts, bytes, paths or files, as `input` says.
        y : ignored
            There for pipelines; callbacks may score by it.

        Returns
        -------
        self
        """
        self._learn_terms(raw_documents, y)
        return self

    def fit_transform(self, raw_documents: Any, y: Any = None) -> Any:
        """Learn the vocabulary, and count the terms of the same documents.

        Parameters
        ----------
        raw_documents : iterable
            The documents X, looked at once: texts, bytes, paths or files, as `input` says.
        y : ignored
            There for pipelines; callbacks may score by it.

        Returns
        -------
        counts : CSR matrix of shape (n_documents, n_terms)
        """
        return in_sparse_interface(self._learn_terms(raw_documents, y))

    def _learn_terms(self, raw_documents: Any, y: Any) -> sparse.csr_array:
        """The course of a fit. Documents are analysed before it: errors in functions of the user are their own."""
        check_parameters(self)
        self._check_ngram_range()
        documents = checked_documents(raw_documents, type(self).__name__)
        self._warn_of_unused_parameters()
        if listeners(self):  # they look at the documents again
            documents = as_objects(documents)
        for name in ("vocabulary_", "segmenter_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        self._take_vocabulary()
        if self.analyzer == "chinese":
            self.segmenter_ = self._segment_name()
        if self.fixed_vocabulary_ and self.lowercase:
            self._warn_of_upper_case()
        self._learn(documents, y, counted=self._count(documents, known=self.fixed_vocabulary_))
        return self.__dict__.pop("_trained")

    def _fit(self, X: Any, y: None, sample_weight: np.ndarray | None, counted: Any = None) -> None:
        if not self.fixed_vocabulary_:
            counts, terms = counted
            if not terms:
                raise ValueError("empty vocabulary; perhaps the documents only contain stop words")
            kept = self._kept_terms(counts)
            if kept.size < len(terms):
                counts, terms = counts[:, kept], [terms[column] for column in kept]
            counted, self.vocabulary_ = counts.tocsr(), dict(zip(terms, range(len(terms))))
        self._trained = self._finished(counted)

    def _kept_terms(self, counts: sparse.csc_array) -> np.ndarray:
        """The columns of terms that are neither too rare nor too frequent."""
        n = counts.shape[0]
        high, low = (
            float(limit) if isinstance(limit, Integral) else limit * n for limit in (self.max_df, self.min_df)
        )
        if high < low:
            raise ValueError(
                f"max_df corresponds to < documents than min_df: max_df={self.max_df!r} is at most {high:g} of {n} "
                f"documents, min_df={self.min_df!r} at least {low:g}."
            )
        found = np.diff(counts.indptr)  # documents that have a term
        kept = np.flatnonzero((found >= low) & (found <= high))
        if self.max_features is not None and kept.size > self.max_features:
            totals = found if self.binary else counts.sum(axis=0)
            kept = np.sort(kept[np.argsort(-totals[kept], kind="stable")[: self.max_features]])
        if not kept.size:
            raise ValueError(
                "After pruning, no terms remain. Try a lower min_df or a higher max_df; got "
                f"min_df={self.min_df!r} and max_df={self.max_df!r} for {n} documents."
            )
        return kept

    def _count(self, documents: Any, *, known: bool) -> Any:
        """The counts of known terms as a CSR array, or `TermCounts` of all terms."""
        analyze, skip = self._counting()
        seen = Last(documents)
        try:
            if known:
                return count_known_terms(seen, analyze, self.vocabulary_, skip)
            return count_terms(seen, analyze, skip)
        except (AttributeError, TypeError) as error:
            raise document_error(self, analyze, seen, error) from error.__cause__

    def _finished(self, rows: sparse.csr_array) -> sparse.csr_array:
        """Counts in the type that is asked for."""
        dtype = number_type(self)
        rows.data = np.ones(rows.nnz, dtype) if self.binary else rows.data.astype(dtype, copy=False)
        return rows

    def transform(self, raw_documents: Any) -> Any:
        """Count the terms of documents; those that are not in the vocabulary are left out.

        Parameters
        ----------
        raw_documents : iterable
            The documents X.

        Returns
        -------
        counts : CSR matrix of shape (n_documents, n_terms)
        """
        return in_sparse_interface(self._counts_of(raw_documents))

    def _counts_of(self, raw_documents: Any) -> sparse.csr_array:
        documents = checked_documents(raw_documents, type(self).__name__)
        self._check_vocabulary()
        return self._finished(self._count(documents, known=True))

    def inverse_transform(self, X: Any) -> list[np.ndarray]:
        """The terms of each document.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_documents, n_terms)
            Counts or weights.

        Returns
        -------
        terms : list of arrays
            Those that are not zero, in the order of their columns.
        """
        terms = np.array(self.get_feature_names_out().tolist())
        X = check_array(X, accept_sparse="csr", input_name="X")
        if X.shape[1] != len(terms):
            raise ValueError(
                f"{type(self).__name__}: X has {X.shape[1]} columns; the vocabulary has {len(terms)} terms."
            )
        rows = sparse.csr_array(X)
        if not (rows.data != 0).all():
            rows.eliminate_zeros()
        rows.sort_indices()
        return [terms[rows.indices[start:end]] for start, end in zip(rows.indptr, rows.indptr[1:])]

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The terms in the order of their columns.

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        terms : array of objects of shape (n_terms,)
        """
        self._check_vocabulary()
        terms = np.empty(len(self.vocabulary_), dtype=object)
        for term, column in self.vocabulary_.items():
            terms[column] = term
        return terms

    def _warn_of_upper_case(self) -> None:
        if any(isinstance(term, str) and term.lower() != term for term in self.vocabulary_):
            warnings.warn(
                "Upper case characters found in vocabulary while 'lowercase' is True. These entries will not be "
                "matched with any documents",
                UserWarning,
                stacklevel=4,
            )

    def _check(self, X: Any, y: Any = NO_TARGET, *, reset: bool = True) -> Any:
        if y is NO_TARGET:
            return X
        return X, target_for_callbacks(y, len(X)) if hasattr(X, "__len__") else None

    def _encode(self, y: Any) -> None:
        return None


def in_sparse_interface(X: Any) -> Any:
    """A sparse array, or a matrix where scikit-learn's configuration asks for one; X itself where it is that."""
    kind = sparse.csr_array if get_config()["sparse_interface"] == "sparray" else sparse.csr_matrix
    return X if isinstance(X, kind) else kind(X)
