"""Latent semantic analysis (潜在语义分析)."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np

from tercet.core.catalog import method
from tercet.core.estimator import NO_TARGET, check_is_fitted
from tercet.core.fitted_checks import Floats, Whole
from tercet.core.parameters import Count, CountOrZero, Jobs, NonNegative, Seed
from tercet.core.validation import check_array, finite_predictions, refuse_negative
from tercet.decomposition import NMF, TruncatedSVD, non_negative_factorization
from tercet.feature import Ranking, VectorSpaceRetrieval
from tercet.topic.base import TopicModel


@method(
    zh="潜在语义分析",
    task="topic model",
    model="X ≈ TY: a document is a combination of k topic vectors, the columns of T (17.6)-(17.11)",
    strategy="least ||X - TY||_F; with T, Y >= 0 where topics are to be sums of words",
    algorithms={
        "svd": "truncated SVD (17.13)-(17.16): topics U_k, documents Σ_k V_k'",
        "nmf": "non-negative matrix factorisation (17.18)-(17.19): topics W, documents H",
    },
    texts=["Li ch. 17, eq. 17.6-17.19, section 17.2.2", "Li ch. 22, Table 22.1"],
    peers=["sklearn.decomposition.TruncatedSVD"],
)
class LSA(TopicModel):
    """Latent semantic analysis: documents and queries in the space of k topic vectors.

    The text's word-document matrix is X', with documents as columns. `algorithm="svd"` has the topic vectors U_k
    and the documents Y = Σ_k V_k' = U_k' X'; nothing is centred. `algorithm="nmf"` has topics and documents without
    negative entries. New documents and queries are folded in: the topics stay as they are.

    Parameters
    ----------
    n_components : int, default=2
        The number k of topics.
    algorithm : {"svd", "nmf"}, default="svd"
        Truncated singular value decomposition, or non-negative matrix factorisation.
    fold_in : {"projection", "scaled"}, default="projection"
        The coordinates of a document q with "svd": U_k' q, as in the text, or Σ_k⁻¹ U_k' q, which other authors
        have: then documents of the training set are rows of V_k.
    similarity : {"cosine", "inner"}, default="cosine"
        How `search` compares coordinates.
    svd_solver : {"randomized", "arpack", "lanczos"}, default="randomized"
        How `TruncatedSVD` finds the singular vectors.
    n_iter : int, default=5
        Power iterations of "randomized".
    max_iter : int, default=200
        The most passes of "nmf".
    tol : float, optional
        Tolerance of "nmf" (1e-4 by default), and of "arpack" and "lanczos" (0 by default).
    random_state : int, optional
        Decides what is drawn.
    n_jobs : int, optional
        Threads to use, by default all cores; the result does not depend on it.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        The topic vectors U_k' or W', of length 1. The largest entry of a singular vector is positive.
    documents_ : array of shape (n_documents, n_components)
        The coordinates Y' of the documents, as `fold_in` says.
    singular_values_ : array of shape (n_components,)
        Σ_k, with "svd".
    reconstruction_err_ : float
        ||X - TY||_F.
    n_iter_ : int
        Passes of "nmf"; 1 with "svd".
    vocabulary_ : dict of str to int
        The column of each word, where `fit` was given tokens.

    Examples
    --------
    >>> poems = [
    ...     ["rose", "red", "love"],
    ...     ["rose", "thorn", "love"],
    ...     ["sea", "ship"],
    ...     ["sea", "ship", "storm"],
    ... ]
    >>> model = LSA(n_components=2, random_state=0).fit(poems)
    >>> model.top_words(2)
    [['love', 'rose'], ['sea', 'ship']]
    >>> model.search([["storm"]], n=2).indices
    array([[2, 3]])
    """

    def __init__(
        self,
        n_components: Count = 2,
        *,
        algorithm: Literal["svd", "nmf"] = "svd",
        fold_in: Literal["projection", "scaled"] = "projection",
        similarity: Literal["cosine", "inner"] = "cosine",
        svd_solver: Literal["randomized", "arpack", "lanczos"] = "randomized",
        n_iter: CountOrZero = 5,
        max_iter: Count = 200,
        tol: NonNegative | None = None,
        random_state: Seed = None,
        n_jobs: Jobs = None,
    ) -> None:
        self.n_components = n_components
        self.algorithm = algorithm
        self.fold_in = fold_in
        self.similarity = similarity
        self.svd_solver = svd_solver
        self.n_iter = n_iter
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    positive_only = False
    fitted_shapes = {
        "components_": Floats("components features", finite=True),
        "singular_values_": Floats("components", finite=True, low=0.0),
        "documents_": Floats("documents components", finite=True),
        "reconstruction_err_": "",
        "n_iter_": Whole(),
    }
    batch_rounding = 1e-12  # coordinates are products by BLAS
    documents_: np.ndarray
    singular_values_: np.ndarray
    reconstruction_err_: float
    n_iter_: int

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the topics of documents.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_documents, n_features), or list of documents
            Counts or weights of words; or lists of tokens, or of pairs of a word's number and its count.
        y : ignored
            There for pipelines; callbacks may score by it.

        Returns
        -------
        self
        """
        return self._learn(X, y)

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Find the topics of documents, and give their coordinates `documents_`."""
        return self.fit(X, y).documents_.copy()

    def _fit(self, X: Any, y: None, sample_weight: np.ndarray | None) -> None:
        self.__dict__.pop("singular_values_", None)  # of an earlier fit
        if self.n_components > X.shape[1]:
            raise ValueError(
                f"LSA: n_components={self.n_components} must be at most the number of words, n_features="
                f"{X.shape[1]}."
            )
        if self.algorithm == "svd":
            self._fit_svd(X)
        else:
            self._fit_nmf(X)
        self.documents_ = self._coordinates(X)

    def _fit_svd(self, X: Any) -> None:
        """X ≈ V_k Σ_k U_k' (17.13)."""
        model = TruncatedSVD(
            self.n_components,
            algorithm=self.svd_solver,
            n_iter=self.n_iter,
            tol=self.tol or 0.0,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
        ).fit(X)
        self.components_, self.singular_values_ = model.components_, model.singular_values_
        self.n_iter_ = 1
        # X = XUU' + a rest that is orthogonal to it
        unit = float(np.abs(X.data).max(initial=0.0)) or 1.0
        explained = float(((X @ self.components_.T / unit) ** 2).sum(dtype=np.float64))
        whole = float(((X.data / unit) ** 2).sum(dtype=np.float64))
        self.reconstruction_err_ = unit * float(np.sqrt(max(whole - explained, 0.0)))

    def _fit_nmf(self, X: Any) -> None:
        """X ≈ H'W' (17.18) with the columns of W of length 1."""
        model = NMF(
            self.n_components,
            max_iter=self.max_iter,
            tol=self._tolerance,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
        ).fit(X)
        topics = model.components_
        most = topics.max(axis=1, keepdims=True)
        topics = np.divide(topics, most, out=np.zeros_like(topics), where=most > 0)
        length = np.sqrt((topics**2).sum(axis=1, keepdims=True))
        self.components_ = np.divide(topics, length, out=topics, where=length > 0)
        self.reconstruction_err_ = float(model.reconstruction_err_)
        self.n_iter_ = model.n_iter_

    @property
    def _tolerance(self) -> float:
        return 1e-4 if self.tol is None else self.tol

    def transform(self, X: Any) -> np.ndarray:
        """The coordinates of documents or queries in the space of the topics.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_documents, n_features), or list of documents
            Counts or weights of words, tokens, or bags of words; words that the model does not know are left out.

        Returns
        -------
        coordinates : array of shape (n_documents, n_components)
        """
        check_is_fitted(self)
        return self._coordinates(self._check(X, reset=False))

    def _coordinates(self, X: Any) -> np.ndarray:
        """Fold documents in: U_k' x, Σ_k⁻¹ U_k' x, or the least squares solution with y >= 0."""
        if self.algorithm == "nmf":
            found = non_negative_factorization(
                X, H=self.components_, update_H=False, n_components=len(self.components_),
                tol=self._tolerance, max_iter=self.max_iter,
            )[0]  # fmt: skip
            return finite_predictions(found, type(self).__name__)
        with np.errstate(over="ignore", invalid="ignore"):
            found = np.asarray(X @ self.components_.T)
            if self.fold_in == "scaled":
                s = self.singular_values_
                found = np.divide(found, s, out=np.zeros_like(found), where=s > 0)
        return finite_predictions(found, type(self).__name__)

    def inverse_transform(self, X: Any) -> np.ndarray:
        """The documents TY of coordinates (17.11): counts or weights of words.

        Parameters
        ----------
        X : array of shape (n_documents, n_components)
            The coordinates, as `transform` gives them.

        Returns
        -------
        documents : array of shape (n_documents, n_features)
        """
        check_is_fitted(self)
        X = check_array(X, dtype=(np.float64, np.float32), input_name="X")
        if X.shape[1] != len(self.components_):
            raise ValueError(
                f"LSA: X has {X.shape[1]} columns; expected are {len(self.components_)}, one for each topic."
            )
        if self.algorithm == "svd" and self.fold_in == "scaled":
            X = X * self.singular_values_
        return X @ self.components_

    def search(self, queries: Any, n: int = 10) -> Ranking:
        """Latent semantic indexing: the documents of the training set that are most similar to queries.

        Parameters
        ----------
        queries : array or sparse matrix of shape (n_queries, n_features), or list of documents
            The queries, each a document of few words.
        n : int, default=10
            How many documents for each query; all, where there are fewer.

        Returns
        -------
        Ranking
            Indices and similarities, the most similar first.
        """
        found = self.transform(queries)
        return VectorSpaceRetrieval(self.similarity).fit(self.documents_).search(found, n)

    def _check(self, X: Any, y: Any = NO_TARGET, *, reset: bool = True) -> Any:
        checked = super()._check(X, y, reset=reset)
        if self.algorithm == "nmf":
            refuse_negative(checked if y is NO_TARGET else checked[0], type(self).__name__)
        return checked

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = self.algorithm == "nmf"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
