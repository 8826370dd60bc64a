"""Counts of terms by the hashing trick: no vocabulary (哈希向量化)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import TransformerMixin

from tercet.core.catalog import method
from tercet.core.estimator import NO_TARGET
from tercet.core.fitted_checks import OneOf, Whole
from tercet.core.parameters import check_parameters, number_type
from tercet.core.steps import listeners
from tercet.core.symbolic_shapes import Sizes
from tercet.core.validation import target_for_callbacks
from tercet.feature.hashing.feature_hasher import Width
from tercet.feature.hashing.hashed_entries import BATCH, HashedEntries
from tercet.feature.text.count_vectorizer import in_sparse_interface
from tercet.feature.text.document_analysis import DocumentAnalysis
from tercet.feature.text.document_input import Last, as_objects, checked_documents, document_error
from tercet.feature.text.tfidf_transformer import divide_rows, row_lengths
from tercet.feature.text.tokenization import SEGMENTERS


@method(
    zh="文本哈希向量",
    task="feature extraction",
    model="x_ij = ± number of the terms of document i whose hash is column j, in rows of length 1",
    strategy="MurmurHash3 of the term is its column; no vocabulary is kept",
    texts=["Machine Learning in Depth ch. 3", "Li ch. 1, Sec. 1.8"],
    peers=["sklearn.feature_extraction.text.HashingVectorizer"],
)
class HashingVectorizer(TransformerMixin, DocumentAnalysis, auto_wrap_output_keys=None):
    """Counts of words or n-grams of raw texts, in columns that are hashes of the terms.

    Nothing is learned: texts need not be seen twice, and memory does not grow with the vocabulary. In return
    columns have no names, and terms may share one.

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
        Splits a text into tokens, in the place of `token_pattern`.
    stop_words : "english" or list, optional
        Words that are not counted.
    token_pattern : str, default=r"(?u)\\b\\w\\w+\\b"
        What a token is: by default two letters, digits or underscores, or more.
    ngram_range : (int, int), default=(1, 1)
        The least and the greatest n of the n-grams that are counted.
    analyzer : {"word", "char", "char_wb", "chinese", "tokens"} or callable, default="word"
        What is counted, as in `CountVectorizer`.
    n_features : int, default=2**20
        Number of columns.
    binary : bool, default=False
        Ones in place of counts.
    norm : {"l1", "l2"} or None, default="l2"
        The norm of a row that becomes 1.
    alternate_sign : bool, default=True
        Counts get a sign by the hash, so that terms of a shared column cancel on average.
    dtype : type, default=numpy.float64
        The type of the counts.

    Attributes
    ----------
    segmenter_ : str
        With `analyzer="chinese"` "jieba" or "bigrams": how the words are found.

    Examples
    --------
    >>> model = HashingVectorizer(n_features=8, norm=None, alternate_sign=False)
    >>> model.transform(["The rose is a rose.", "A rose, the lily."]).toarray()
    array([[0., 0., 0., 0., 2., 1., 1., 0.],
           [0., 0., 0., 0., 1., 0., 1., 1.]])
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
        n_features: Width = 2**20,
        binary: bool = False,
        norm: Literal["l1", "l2"] | None = "l2",
        alternate_sign: bool = True,
        dtype: Any = np.float64,
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
        self.n_features = n_features
        self.binary = binary
        self.norm = norm
        self.alternate_sign = alternate_sign
        self.dtype = dtype

    fitted_shapes = {
        "vocabulary_": None,
        "n_features": Whole("", 1),
        "segmenter_": OneOf(tuple(SEGMENTERS)),
    }

    def fit(self, X: Any, y: Any = None) -> Self:
        """Check the parameters; there is nothing to learn.

        Parameters
        ----------
        X : iterable
            Documents, which are not looked at.
        y : ignored
            There for pipelines; callbacks may score by it.

        Returns
        -------
        self
        """
        check_parameters(self)
        checked_documents(X, type(self).__name__)
        self._warn_of_unused_parameters()
        self._check_ngram_range()
        self.__dict__.pop("segmenter_", None)  # of an earlier fit
        if self.analyzer == "chinese":
            self.segmenter_ = self._segment_name()
        if listeners(self):  # they look at the documents
            X = as_objects(X)
        return self._learn(X, y)

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Check the parameters; there is nothing to learn.

        Parameters
        ----------
        X : iterable
            Documents, which are not looked at.
        y : ignored
            There for pipelines.

        Returns
        -------
        self
        """
        check_parameters(self)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: np.ndarray | None) -> None:
        return None

    def transform(self, X: Any) -> Any:
        """Count the terms of documents.

        Parameters
        ----------
        X : iterable
            Documents, looked at once: texts, bytes, paths or files, as `input` says.

        Returns
        -------
        counts : CSR matrix of shape (n_documents, n_features)
        """
        documents = Last(checked_documents(X, type(self).__name__))
        self._check_ngram_range()
        analyze, skip = self._counting()
        entries = HashedEntries(self.n_features, self.alternate_sign, skip)
        for document in documents:
            try:
                entries.add_names(analyze(document))
            except (AttributeError, TypeError) as error:
                raise document_error(self, analyze, documents, error) from error.__cause__
            entries.flush(BATCH)
        found = entries.matrix(number_type(self))
        if not found.shape[0]:
            raise ValueError("Cannot vectorize empty sequence.")
        if self.binary:
            found.data.fill(1)
        if self.norm is not None:
            if found.dtype.kind != "f":
                found = found.astype(np.float64)
            divide_rows(found.data, np.diff(found.indptr), row_lengths(found.data, found.indptr, self.norm))
        return in_sparse_interface(found)

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Count the terms of documents.

        Parameters
        ----------
        X : iterable
            Documents, looked at once.
        y : ignored
            There for pipelines; callbacks may score by it.

        Returns
        -------
        counts : CSR matrix of shape (n_documents, n_features)
        """
        return self.fit(X, y).transform(X)

    def _check(self, X: Any, y: Any = NO_TARGET, *, reset: bool = True) -> Any:
        if y is NO_TARGET:
            return X
        return X, target_for_callbacks(y, len(X)) if hasattr(X, "__len__") else None

    def _encode(self, y: Any) -> None:
        return None

    def _check_fitted(self, sizes: Sizes) -> None:
        return None

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags
