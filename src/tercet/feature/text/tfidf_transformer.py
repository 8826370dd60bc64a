"""Tf-idf weights of counts (单词频率-逆文本频率)."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.base import OneToOneFeatureMixin, TransformerMixin

from tercet.core.catalog import method
from tercet.core.estimator import NO_TARGET, Estimator, check_is_fitted
from tercet.core.fitted_checks import Floats
from tercet.core.parameters import Real
from tercet.core.validation import target_for_callbacks, validate_data
from tercet.feature.text.count_vectorizer import in_sparse_interface


@method(
    zh="单词频率-逆文本频率",
    task="feature extraction",
    model="x_ij = tf_ij · idf_j: the frequency of term j in document i by how few documents have the term",
    strategy="idf_j = log(n / df_j) (17.2), by default smoothed and with 1 added: log((1 + n) / (1 + df_j)) + 1",
    texts=["Li ch. 17, eq. 17.2", "Machine Learning in Depth ch. 3"],
    peers=["sklearn.feature_extraction.text.TfidfTransformer"],
)
class TfidfTransformer(OneToOneFeatureMixin, TransformerMixin, Estimator, auto_wrap_output_keys=None):
    """Counts of terms weighted by term frequency and inverse document frequency (tf-idf).

    A weight is tf_ij · idf_j; then rows are brought to length 1. The texts' weights (17.2),
    (tf_ij / Σ_j tf_ij) · log(n / df_j), are those of
    `TfidfTransformer(tf="document", smooth_idf=False, idf_offset=0.0, norm=None)`.

    Parameters
    ----------
    norm : {"l2", "l1"} or None, default="l2"
        The length that each row is brought to 1 in: the root of the sum of squares, or the sum of sizes.
    use_idf : bool, default=True
        Whether weights have the factor idf.
    smooth_idf : bool, default=True
        Count one document more, which has every term: idf_j = log((1 + n) / (1 + df_j)) + idf_offset; else
        log(n / df_j) + idf_offset, and 0 for a term that no document has.
    sublinear_tf : bool, default=False
        1 + log(tf) in the place of tf.
    tf : {"count", "document", "corpus"}, default="count"
        The frequency of a term in a document: its count; the count divided by the length of the document, as in the
        texts; or by the count of the term in all documents, as one of them prints it.
    idf_offset : float, default=1.0
        Added to the logarithm, so that a term of all documents has a weight; 0 in the texts.

    Attributes
    ----------
    idf_ : array of shape (n_features,)
        The inverse document frequencies, with `use_idf`.
    term_counts_ : array of shape (n_features,)
        The counts of each term in all documents, with `tf="corpus"`.

    Examples
    --------
    >>> TfidfTransformer(norm=None).fit_transform([[2, 1], [1, 0]]).toarray().round(4)
    array([[2.    , 1.4055],
           [1.    , 0.    ]])
    >>> texts = TfidfTransformer(tf="document", smooth_idf=False, idf_offset=0.0, norm=None)
    >>> texts.fit_transform([[2, 1], [1, 0]]).toarray().round(4)
    array([[0.   , 0.231],
           [0.   , 0.   ]])
    """

    def __init__(
        self,
        *,
        norm: Literal["l1", "l2"] | None = "l2",
        use_idf: bool = True,
        smooth_idf: bool = True,
        sublinear_tf: bool = False,
        tf: Literal["count", "document", "corpus"] = "count",
        idf_offset: Real = 1.0,
    ) -> None:
        self.norm = norm
        self.use_idf = use_idf
        self.smooth_idf = smooth_idf
        self.sublinear_tf = sublinear_tf
        self.tf = tf
        self.idf_offset = idf_offset

    fitted_shapes = {
        "idf_": Floats("features", finite=True),
        "term_counts_": Floats("features", finite=True, low=0.0),
    }
    idf_: np.ndarray
    term_counts_: np.ndarray

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn in how many documents each term is.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_documents, n_terms)
            Counts of terms.
        y : ignored
            There for pipelines; callbacks may score by it.

        Returns
        -------
        self
        """
        return self._learn(X, y)

    def _fit(self, X: Any, y: None, sample_weight: np.ndarray | None) -> None:
        for name in ("idf_", "term_counts_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        self._refuse_negative(X)
        n = X.shape[0]
        if self.use_idf:
            found = documents_with(X)
            seen = found > 0
            smooth = int(self.smooth_idf)
            idf = np.log((n + smooth) / np.where(seen | self.smooth_idf, found + smooth, 1)) + self.idf_offset
            self.idf_ = np.where(seen | self.smooth_idf, idf, 0.0).astype(X.dtype)
        if self.tf == "corpus":
            with np.errstate(over="ignore"):
                self.term_counts_ = np.asarray(X.sum(axis=0), dtype=X.dtype).ravel()
            if not np.isfinite(self.term_counts_).all():
                raise ValueError(
                    "TfidfTransformer: X has counts whose sums are beyond floating-point numbers."
                )

    def transform(self, X: Any, copy: bool = True) -> Any:
        """The weights of documents.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_documents, n_terms)
            Counts of terms.
        copy : bool, default=True
            False: the weights may take the place of the counts in a CSR matrix of floats.

        Returns
        -------
        weights : CSR matrix of shape (n_documents, n_terms)
        """
        self._check_ready()
        X = validate_data(
            self, X, accept_sparse="csr", dtype=(np.float64, np.float32), copy=copy, reset=False
        )
        self._refuse_negative(X)
        rows = X if sparse.issparse(X) else sparse.csr_array(X)
        if not rows.has_canonical_format:
            rows = rows.copy()
            rows.sum_duplicates()
        if self.use_idf and len(self.idf_) != rows.shape[1]:
            raise ValueError(
                f"TfidfTransformer: X has {rows.shape[1]} columns; idf_ has weights for {len(self.idf_)} terms."
            )
        with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
            self._weigh(rows)
        if not np.isfinite(rows.data).all():
            raise ValueError(
                "TfidfTransformer: a weight is beyond floating-point numbers: the counts of X are too large."
            )
        return in_sparse_interface(rows)

    def _weigh(self, rows: Any) -> None:
        """Put the weights in the place of the counts."""
        data, lengths = rows.data, np.diff(rows.indptr)
        if self.tf == "document":
            divide_rows(data, lengths, row_sums(data, rows.indptr))
        elif self.tf == "corpus":
            known = self.term_counts_[rows.indices]
            np.divide(data, known, out=data, where=known > 0)
            data[known == 0] = 0.0  # no document of the corpus has the term
        if self.sublinear_tf:
            positive = data > 0
            np.log(data, out=data, where=positive)
            data += positive
        if self.use_idf:
            data *= np.asarray(self.idf_, dtype=data.dtype)[rows.indices]
        if self.norm is not None:
            divide_rows(data, lengths, row_lengths(data, rows.indptr, self.norm))

    def _check_ready(self) -> None:
        """`idf_` may have been set by hand."""
        if self.use_idf:
            check_is_fitted(self, "idf_")
        if self.tf == "corpus":
            check_is_fitted(self, "term_counts_")
        check_is_fitted(self)

    def __sklearn_is_fitted__(self) -> bool:
        return "idf_" in vars(self) if self.use_idf else "n_features_in_" in vars(self)

    def _refuse_negative(self, X: Any) -> None:
        """Frequencies and their logarithms are of counts; plain products may have any sign."""
        if self.tf == "count" and not self.sublinear_tf:
            return
        values = X.data if sparse.issparse(X) else X
        least = values.min(initial=0.0)
        if least < 0:
            raise ValueError(
                f"Negative values in data passed to TfidfTransformer (input X): {least:g} is the smallest; with "
                f"tf={self.tf!r} and sublinear_tf={self.sublinear_tf} counts must not be negative."
            )

    def _check(self, X: Any, y: Any = NO_TARGET, *, reset: bool = True) -> Any:
        X = super()._check(X, reset=reset)
        return X if y is NO_TARGET else (X, target_for_callbacks(y, X.shape[0]))

    def _encode(self, y: Any) -> None:
        return None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def documents_with(X: Any) -> np.ndarray:
    """The number of rows in which each column is not zero."""
    if not sparse.issparse(X):
        return np.count_nonzero(X, axis=0)
    columns = X.indices if X.data.all() else X.indices[X.data != 0]
    return np.bincount(columns, minlength=X.shape[1])


def row_sums(data: np.ndarray, indptr: np.ndarray) -> np.ndarray:
    """The sums of the entries of the rows of a CSR matrix, as float64."""
    sums = np.zeros(len(indptr) - 1)
    filled = np.flatnonzero(np.diff(indptr))
    if filled.size:
        sums[filled] = np.add.reduceat(data, indptr[filled], dtype=np.float64)
    return sums


def row_lengths(data: np.ndarray, indptr: np.ndarray, norm: str) -> np.ndarray:
    """The l1 or l2 norms of the rows of a CSR matrix. Entries are divided by the largest, whose square may not be a
    number."""
    sizes = np.abs(data, dtype=np.float64)
    most = np.zeros(len(indptr) - 1)
    filled = np.flatnonzero(np.diff(indptr))
    if not filled.size:
        return most
    most[filled] = np.maximum.reduceat(sizes, indptr[filled])
    usual = (most > 1e-100) & (most < 1e100) | (most == 0)
    unit = np.where(usual, 1.0, most)
    if not usual.all():
        divide_rows(sizes, np.diff(indptr), unit)
    if norm == "l1":
        return unit * row_sums(sizes, indptr)
    return unit * np.sqrt(row_sums(sizes * sizes, indptr))


def divide_rows(data: np.ndarray, lengths: np.ndarray, by: np.ndarray) -> None:
    """Divide the entries of each row; those of a row that would be divided by 0 stay."""
    data /= np.repeat(np.where(by > 0, by, 1.0), lengths).astype(data.dtype, copy=False)
