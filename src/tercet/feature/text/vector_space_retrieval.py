"""Retrieval of documents in a vector space (单词向量空间模型, 文本信息检索)."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, Self

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone

from tercet.core.catalog import method
from tercet.core.estimator import NO_TARGET, Estimator, check_is_fitted
from tercet.core.fitted_checks import Floats, Having, Labels
from tercet.core.input_errors import shown
from tercet.core.validation import finite_predictions, target_for_callbacks
from tercet.feature.text.document_input import as_objects
from tercet.feature.text.similarity import dense, unit_rows

BLOCK = 1 << 24  # similarities that are there at the same time


class Ranking(NamedTuple):
    """The documents nearest to queries, the best first.

    Attributes
    ----------
    indices : array of int of shape (n_queries, n)
        The numbers of the documents.
    scores : array of shape (n_queries, n)
        Their similarities to the query.
    names : array of objects of shape (n_queries, n), or None
        Their names, where the documents have such.

    Examples
    --------
    >>> from tercet.feature import VectorSpaceRetrieval
    >>> found = VectorSpaceRetrieval().fit([[1, 0], [0, 1]]).search([[0, 2]], n=2)
    >>> found.indices.tolist(), found.scores.tolist(), found.names
    ([[1, 0]], [[1.0, 0.0]], None)
    """

    indices: np.ndarray
    scores: np.ndarray
    names: np.ndarray | None


@method(
    zh="单词向量空间模型",
    task="retrieval",
    model="documents and queries are vectors of terms, words or topics",
    strategy="rank documents by x · q (17.3), or by the cosine x · q / (||x|| ||q||) (17.4)",
    texts=["Li ch. 17, eq. 17.3, 17.4"],
    peers=["sklearn.metrics.pairwise.cosine_similarity"],
)
class VectorSpaceRetrieval(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """Vector space model: the documents that are most similar to a query.

    A query is a document, too: a vector of counts or weights of the same terms.

    Parameters
    ----------
    similarity : {"cosine", "inner"}, default="cosine"
        The cosine of the angle between document and query, or their inner product.
    vectorizer : transformer, optional
        Makes vectors of raw texts: `TfidfVectorizer()`, or a pipeline of it and `LSA`. By default documents are
        vectors already.

    Attributes
    ----------
    documents_ : array or CSR matrix of shape (n_documents, n_features)
        The vectors of the documents; with "cosine", of length 1.
    document_names_ : array of objects of shape (n_documents,)
        Their names, where `fit` was given some.
    vectorizer_ : transformer
        The fitted vectorizer.

    Examples
    --------
    >>> from tercet.feature import TfidfVectorizer
    >>> poems = ["roses are red", "violets are blue", "sugar is sweet"]
    >>> model = VectorSpaceRetrieval(vectorizer=TfidfVectorizer()).fit(poems, names=["a", "b", "c"])
    >>> found = model.search(["a red rose and blue violets"], n=2)
    >>> found.names.tolist(), found.scores.round(3).tolist()
    ([['b', 'a']], [[0.719, 0.36]])
    """

    def __init__(self, similarity: Literal["cosine", "inner"] = "cosine", *, vectorizer: Any = None) -> None:
        self.similarity = similarity
        self.vectorizer = vectorizer

    fitted_shapes = {
        "documents_": Floats("documents features", finite=True),
        "document_names_": Labels("documents"),
        "vectorizer_": Having({}, ("transform",)),
    }
    batch_rounding = 1e-12  # similarities of dense vectors are products by BLAS
    documents_: Any
    document_names_: np.ndarray
    vectorizer_: Any

    def fit(self, X: Any, y: Any = None, names: Any = None) -> Self:
        """Keep the documents.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_documents, n_features), or iterable of texts
            The documents; texts where there is a `vectorizer`.
        y : ignored
            There for pipelines; callbacks may score by it.
        names : list of shape (n_documents,), optional
            What the documents are called.

        Returns
        -------
        self
        """
        for name in ("documents_", "document_names_", "vectorizer_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        return self._learn(X, y, names=names)

    def _fit(self, X: Any, y: None, sample_weight: np.ndarray | None, names: Any = None) -> None:
        if names is not None:
            listed = list(names) if hasattr(names, "__iter__") and not isinstance(names, str) else []
            if len(listed) != X.shape[0]:
                raise ValueError(
                    f"names must have a name for each of the {X.shape[0]} documents of X; got {shown(names)}."
                )
            self.document_names_ = as_objects(listed)
        self.documents_ = unit_rows(X) if self.similarity == "cosine" else X.copy()

    def transform(self, X: Any) -> np.ndarray:
        """The similarities of queries to all documents.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_queries, n_features), or iterable of texts
            The queries.

        Returns
        -------
        similarities : array of shape (n_queries, n_documents)
        """
        check_is_fitted(self)
        return self._similarities(self._check(X, reset=False))

    def search(self, queries: Any, n: int = 10) -> Ranking:
        """The documents that are most similar to queries.

        Parameters
        ----------
        queries : array or sparse matrix of shape (n_queries, n_features), or iterable of texts
            The queries.
        n : int, default=10
            How many documents for each query; all, where there are fewer.

        Returns
        -------
        Ranking
            Indices, scores and names, the most similar first; of equally similar ones that which comes first.
        """
        check_is_fitted(self)
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
            raise ValueError(f"n must be a whole number of at least 1; got {n!r}.")
        queries = self._check(queries, reset=False)
        many = self.documents_.shape[0]
        n, height = min(int(n), many), max(BLOCK // many, 1)
        found = [
            most_similar(self._similarities(queries[start : start + height]), n)
            for start in range(0, queries.shape[0], height)
        ]
        indices, scores = (np.concatenate(part) for part in zip(*found))
        names = self.document_names_[indices] if hasattr(self, "document_names_") else None
        return Ranking(indices, scores, names)

    def _similarities(self, queries: Any) -> np.ndarray:
        with np.errstate(over="ignore", invalid="ignore"):
            if self.similarity == "cosine":
                queries = unit_rows(queries)
            found = dense(queries @ self.documents_.T)
        return finite_predictions(found, type(self).__name__)

    def _check(self, X: Any, y: Any = NO_TARGET, *, reset: bool = True) -> Any:
        if self.vectorizer is None and isinstance(X, list | tuple) and X and isinstance(X[0], str):
            raise ValueError(
                f"{type(self).__name__}: X holds the text {shown(X[0])}; give vectors, or a vectorizer for texts, "
                "such as TfidfVectorizer()."
            )
        if self.vectorizer is not None and not is_table(X):
            if not hasattr(self.vectorizer, "fit_transform") or not hasattr(self.vectorizer, "transform"):
                raise ValueError(
                    f"{type(self).__name__}: parameter 'vectorizer' must be a transformer of texts, such as "
                    f"TfidfVectorizer(); got {shown(self.vectorizer)}."
                )
            if reset:
                self.vectorizer_ = clone(self.vectorizer)
                X = self.vectorizer_.fit_transform(X)
            else:
                X = self.vectorizer_.transform(X)
        X = super()._check(X, reset=reset)
        X = sparse.csr_array(X) if sparse.issparse(X) else X
        if not reset and X.shape[1] != self.documents_.shape[1]:
            raise ValueError(
                f"{type(self).__name__}: X has {X.shape[1]} features; the documents have "
                f"{self.documents_.shape[1]}."
            )
        return X if y is NO_TARGET else (X, target_for_callbacks(y, X.shape[0]))

    def _encode(self, y: Any) -> None:
        return None

    @property
    def _n_features_out(self) -> int:
        return self.documents_.shape[0]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = self.vectorizer is not None
        tags.input_tags.two_d_array = self.vectorizer is None
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def is_table(X: Any) -> bool:
    """Whether this has two dimensions, and so holds vectors."""
    return len(getattr(X, "shape", ())) == 2


def most_similar(scores: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """The places and the values of the n largest scores of each row, the largest first, the first of equal ones.

    Examples
    --------
    >>> most_similar(np.array([[1.0, 3.0, 2.0, 3.0]]), 2)
    (array([[1, 3]]), array([[3., 3.]]))
    """
    if 4 * n < scores.shape[1]:  # the n-th largest score first; sorting all takes longer
        least = -np.partition(-scores, n - 1, axis=1)[:, n - 1]
        indices = np.empty((len(scores), n), dtype=np.intp)
        for row, limit in enumerate(least):
            above, equal = np.flatnonzero(scores[row] > limit), np.flatnonzero(scores[row] == limit)
            kept = np.sort(np.concatenate([above, equal[: n - above.size]]))
            indices[row] = kept[np.argsort(-scores[row, kept], kind="stable")]
    else:
        indices = np.argsort(-scores, axis=1, kind="stable")[:, :n]
    return indices, np.take_along_axis(scores, indices, axis=1)
