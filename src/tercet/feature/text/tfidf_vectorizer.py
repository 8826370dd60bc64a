"""Tf-idf weights of raw texts (文本的单词频率-逆文本频率向量)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, Self

import numpy as np
from sklearn.exceptions import NotFittedError

from tercet.core.catalog import method
from tercet.core.fitted_checks import Having
from tercet.core.parameters import Count, Fraction, Real
from tercet.feature.text.count_vectorizer import CountVectorizer
from tercet.feature.text.tfidf_transformer import TfidfTransformer

FLOATS = (np.float64, np.float32, np.float16)


@method(
    zh="文本的单词频率-逆文本频率向量",
    task="feature extraction",
    model="x_ij = tf_ij · idf_j of the terms of raw texts",
    strategy="counts of terms, weighted as TfidfTransformer does",
    texts=["Li ch. 17, eq. 17.1, 17.2", "Machine Learning in Depth ch. 3"],
    peers=["sklearn.feature_extraction.text.TfidfVectorizer"],
)
class TfidfVectorizer(CountVectorizer):
    """Tf-idf weights of the words or n-grams of raw texts, as a sparse matrix.

    `CountVectorizer` followed by `TfidfTransformer`.

    Parameters
    ----------
    input, encoding, decode_error, strip_accents, lowercase, preprocessor, tokenizer : as in `CountVectorizer`
    analyzer, stop_words, token_pattern, ngram_range : as in `CountVectorizer`
    max_df, min_df, max_features, vocabulary : as in `CountVectorizer`
    binary : bool, default=False
        Count a term of a document once; its weight still depends on the idf.
    dtype : type, default=numpy.float64
        The type of the weights.
    norm, use_idf, smooth_idf, sublinear_tf, tf, idf_offset : as in `TfidfTransformer`

    Attributes
    ----------
    vocabulary_ : dict of term to int
        The column of each term.
    fixed_vocabulary_ : bool
        Whether the vocabulary was given.
    idf_ : array of shape (n_terms,)
        The inverse document frequencies, with `use_idf`.
    segmenter_ : str
        With `analyzer="chinese"` "jieba" or "bigrams": how the words were found.

    Examples
    --------
    >>> model = TfidfVectorizer()
    >>> model.fit_transform(["The rose is a rose.", "A rose, the lily."]).toarray().round(3)
    array([[0.532, 0.   , 0.757, 0.379],
           [0.   , 0.705, 0.502, 0.502]])
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
        analyzer: Literal["word", "char", "char_wb", "chinese", "tokens"] | Callable[..., Any] = "word",
        stop_words: Literal["english"]
        | list[str]
        | tuple[str, ...]
        | set[str]
        | frozenset[str]
        | None = None,
        token_pattern: str | None = r"(?u)\b\w\w+\b",
        ngram_range: tuple[int, int] = (1, 1),
        max_df: Fraction | Count = 1.0,
        min_df: Fraction | Count = 1,
        max_features: Count | None = None,
        vocabulary: Mapping[Any, int] | Iterable[Any] | None = None,
        binary: bool = False,
        dtype: Any = np.float64,
        norm: Literal["l1", "l2"] | None = "l2",
        use_idf: bool = True,
        smooth_idf: bool = True,
        sublinear_tf: bool = False,
        tf: Literal["count", "document", "corpus"] = "count",
        idf_offset: Real = 1.0,
    ) -> None:
        super().__init__(
            input=input,
            encoding=encoding,
            decode_error=decode_error,
            strip_accents=strip_accents,
            lowercase=lowercase,
            preprocessor=preprocessor,
            tokenizer=tokenizer,
            analyzer=analyzer,
            stop_words=stop_words,
            token_pattern=token_pattern,
            ngram_range=ngram_range,
            max_df=max_df,
            min_df=min_df,
            max_features=max_features,
            vocabulary=vocabulary,
            binary=binary,
            dtype=dtype,
        )
        self.norm = norm
        self.use_idf = use_idf
        self.smooth_idf = smooth_idf
        self.sublinear_tf = sublinear_tf
        self.tf = tf
        self.idf_offset = idf_offset

    fitted_shapes = {"_tfidf": Having({}, ("fit", "transform"))}
    _tfidf: TfidfTransformer

    def _weighting(self) -> TfidfTransformer:
        return TfidfTransformer(
            norm=self.norm,
            use_idf=self.use_idf,
            smooth_idf=self.smooth_idf,
            sublinear_tf=self.sublinear_tf,
            tf=self.tf,
            idf_offset=self.idf_offset,
        )

    @property
    def idf_(self) -> np.ndarray:
        """The inverse document frequencies; they may be set where the vocabulary is given."""
        if not hasattr(self, "_tfidf"):
            raise NotFittedError(
                f"{type(self).__name__} is not fitted yet. Call 'fit' with appropriate arguments before using this "
                "attribute."
            )
        return self._tfidf.idf_

    @idf_.setter
    def idf_(self, value: Any) -> None:
        if not self.use_idf:
            raise ValueError("`idf_` cannot be set when `user_idf=False`.")
        idf = np.asarray(value, dtype=np.float64)
        if not hasattr(self, "vocabulary_"):
            self._take_vocabulary()
        n = len(getattr(self, "vocabulary_", idf))
        if idf.shape != (n,):
            raise ValueError(f"idf length = {idf.size} must be equal to vocabulary size = {n}")
        if not hasattr(self, "_tfidf"):
            self._tfidf = self._weighting()
        self._tfidf.idf_ = idf

    def fit_transform(self, raw_documents: Any, y: Any = None) -> Any:
        """Learn vocabulary and idf, and give the weights of the same documents.

        Parameters
        ----------
        raw_documents : iterable
            The documents X, looked at once: texts, bytes, paths or files, as `input` says.
        y : ignored
            There for pipelines; callbacks may score by it.

        Returns
        -------
        weights : CSR matrix of shape (n_documents, n_terms)
        """
        return self._tfidf_of(self._learn_terms(raw_documents, y))

    def fit(self, raw_documents: Any, y: Any = None) -> Self:
        """Learn vocabulary and idf.

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
        return super().fit(raw_documents, y)

    def _fit(self, X: Any, y: None, sample_weight: np.ndarray | None, counted: Any = None) -> None:
        if self.dtype not in FLOATS:
            warnings.warn(
                f"Only {FLOATS} 'dtype' should be used. {self.dtype} 'dtype' will be converted to np.float64.",
                UserWarning,
                stacklevel=2,
            )
        super()._fit(X, y, sample_weight, counted)
        self._tfidf = self._weighting().fit(self._trained)

    def transform(self, raw_documents: Any) -> Any:
        """The weights of documents; terms that are not in the vocabulary are left out.

        Parameters
        ----------
        raw_documents : iterable
            The documents X.

        Returns
        -------
        weights : CSR matrix of shape (n_documents, n_terms)
        """
        if not hasattr(self, "_tfidf"):
            raise NotFittedError("The TF-IDF vectorizer is not fitted")
        return self._tfidf_of(self._counts_of(raw_documents))

    def _tfidf_of(self, counts: Any) -> Any:
        return self._tfidf.transform(counts, copy=False)

    def _check_fitted(self, sizes: Any) -> None:
        super()._check_fitted(sizes)
        found = len(getattr(self._tfidf, "idf_", self.vocabulary_))
        if found != len(self.vocabulary_):
            raise ValueError(
                f"{type(self).__name__}: idf_ has {found} weights; the vocabulary has {len(self.vocabulary_)} "
                "terms."
            )
