"""Similarity of documents in a vector space: inner products and cosines (文本的相似度)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.catalog import method
from tercet.core.validation import check_array
from tercet.feature.text.tfidf_transformer import divide_rows, row_lengths


@method(
    zh="文本内积相似度",
    task="similarity",
    model="x_i · x_j (17.3)",
    texts=["Li ch. 17, eq. 17.3"],
    peers=["sklearn.metrics.pairwise.linear_kernel"],
)
def inner_product_similarity(X: Any, Y: Any = None) -> np.ndarray:
    """Inner products of documents: the similarity of word or topic vectors (17.3).

    Parameters
    ----------
    X : array or sparse matrix of shape (n_documents, n_features)
        A row for each document; the text has them as columns.
    Y : array or sparse matrix of shape (m_documents, n_features), optional
        Other documents; by default those of X.

    Returns
    -------
    similarity : array of shape (n_documents, m_documents)

    Examples
    --------
    >>> inner_product_similarity([[2, 0, 1], [0, 2, 2]])
    array([[5., 2.],
           [2., 8.]])
    """
    X, Y = _documents(X, Y)
    return dense(X @ Y.T)


@method(
    zh="文本余弦相似度",
    task="similarity",
    model="x_i · x_j / (||x_i|| ||x_j||) (17.4)",
    texts=["Li ch. 17, eq. 17.4"],
    peers=["sklearn.metrics.pairwise.cosine_similarity"],
)
def cosine_similarity(X: Any, Y: Any = None) -> np.ndarray:
    """Cosines of the angles between documents: normalised inner products (17.4).

    Parameters
    ----------
    X : array or sparse matrix of shape (n_documents, n_features)
        A row for each document; the text has them as columns.
    Y : array or sparse matrix of shape (m_documents, n_features), optional
        Other documents; by default those of X.

    Returns
    -------
    similarity : array of shape (n_documents, m_documents)
        0 where a document has no words.

    Examples
    --------
    >>> cosine_similarity([[2, 0, 1], [0, 2, 2]]).round(4)
    array([[1.    , 0.3162],
           [0.3162, 1.    ]])
    """
    X, Y = _documents(X, Y)
    same = Y is X
    X = unit_rows(X)
    return dense(X @ (X if same else unit_rows(Y)).T)


def _documents(X: Any, Y: Any) -> tuple[Any, Any]:
    options: dict[str, Any] = {"accept_sparse": "csr", "dtype": (np.float64, np.float32)}
    X = check_array(X, input_name="X", **options)
    if Y is None:
        return X, X
    Y = check_array(Y, input_name="Y", **options)
    if X.shape[1] != Y.shape[1]:
        raise ValueError(
            f"X has {X.shape[1]} features, Y has {Y.shape[1]}; documents must have the same ones."
        )
    return X, Y


def unit_rows(X: Any) -> Any:
    """Rows of length 1; a row of zeros stays."""
    if not sparse.issparse(X):
        size = row_lengths(X.ravel(), np.arange(len(X) + 1) * X.shape[1], "l2")
        return X / np.where(size > 0, size, 1.0).astype(X.dtype)[:, None]
    rows = sparse.csr_array(X, copy=True)
    divide_rows(rows.data, np.diff(rows.indptr), row_lengths(rows.data, rows.indptr, "l2"))
    return rows


def dense(X: Any) -> np.ndarray:
    return X.toarray() if sparse.issparse(X) else np.asarray(X)
