"""What a fitted latent Dirichlet allocation says of documents: their topics, the ELBO, the perplexity."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from tercet.core.estimator import check_is_fitted
from tercet.topic._gibbs.inference import infer_counts
from tercet.topic._variational.corpus import Corpus, Posterior, Topics, infer
from tercet.topic._variational.streamed_corpus import StreamedCorpus
from tercet.topic.base import TopicModel
from tercet.topic.perplexity import document_completion, word_perplexity
from tercet.topic.prior_input import LEAST, prior_table


class LDAInference(TopicModel):
    """Variational inference of the topics of documents, where those of words are known."""

    width_checked_attributes: ClassVar[tuple[str, ...]] = ("components_", "exp_dirichlet_component_")
    exp_dirichlet_component_: np.ndarray
    doc_topic_prior_: Any
    topic_word_prior_: Any
    mean_change_tol: float
    max_doc_update_iter: int
    learning_method: str
    random_state: Any
    total_samples: float
    n_jobs: int | None

    def _infer(
        self, batch: Corpus, word_topic: np.ndarray, gamma: np.ndarray | None = None, *, ratios: bool = False
    ) -> Posterior:
        """γ of each document; not at random, it starts from ones."""
        alpha = self._alpha(word_topic.shape[1])
        gamma = np.ones((batch.shape[0], alpha.size)) if gamma is None else gamma
        limit, tol = self.max_doc_update_iter, self.mean_change_tol
        return infer(batch, word_topic, alpha, gamma, limit, tol, self.n_jobs, ratios=ratios)

    def _alpha(self, n_topics: int) -> np.ndarray:
        return np.broadcast_to(np.asarray(self.doc_topic_prior_, dtype=np.float64), (n_topics,))

    def _topics(self) -> Topics:
        """The topics that were learned, for the kernels."""
        table = np.maximum(np.asarray(self.components_, dtype=np.float64).T, LEAST)  # float32 may hold a zero
        return Topics(table, prior_table(self.topic_word_prior_, table.shape[1]), self.n_jobs)

    def transform(self, X: Any, *, normalize: bool = True) -> np.ndarray:
        """Topics of documents: the mean of θ, for documents that need not be those of the fit.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features), lists of tokens, or lists of (word, count)
            The documents. Words that the model does not know are left out; a document without words gets the mean
            of the prior.
        normalize : bool, default=True
            Give γ divided by its sum, which is P(topic|document); else γ itself.

        Returns
        -------
        doc_topic : array of shape (n_samples, n_components)
        """
        check_is_fitted(self)
        gamma = self._document_topics(self._check(X, reset=False))
        if normalize:
            gamma = gamma / gamma.sum(axis=1, keepdims=True)
        return gamma.astype(self.components_.dtype, copy=False)

    def fit_transform(self, X: Any, y: Any = None, *, normalize: bool = True) -> np.ndarray:
        """Learn the topics of documents, and return those of each.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features), lists of tokens, or lists of (word, count)
            The documents.
        y : ignored
            Nothing is learned from it; callbacks may score by it.
        normalize : bool, default=True
            As in `transform`.

        Returns
        -------
        doc_topic : array of shape (n_samples, n_components)
        """
        return self.fit(X, y).transform(X, normalize=normalize)

    def _document_topics(self, X: Any) -> np.ndarray:
        """γ of documents under the topics that were learned, or n + α on average over samples."""
        if self.learning_method == "gibbs":
            seed = self.random_state if isinstance(self.random_state, int | np.integer) else 0
            return infer_counts(
                X,
                self.topic_word_distribution(),
                self._alpha(len(self.components_)),
                n_sweeps=self.max_doc_update_iter,
                seed=int(seed),
                n_jobs=self.n_jobs,
            )
        table, words = self.exp_dirichlet_component_, np.unique(X.indices)
        if 2 * words.size < X.shape[1]:  # a few documents need a few columns of a large table
            X = type(X)((X.data, np.searchsorted(words, X.indices), X.indptr), (X.shape[0], words.size))
            table = table[:, words]
        return self._infer(Corpus(X), table.T).gamma

    def score(self, X: Any, y: Any = None) -> float:
        """Evidence lower bound of documents and topics: at most log p(X).

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features), lists of tokens, or lists of (word, count)
            The documents.
        y : ignored
            There for pipelines.

        Returns
        -------
        elbo : float
        """
        check_is_fitted(self)
        corpus, topics = Corpus(self._check(X, reset=False)), self._topics()
        return self._bound(topics, corpus, self._infer(corpus, topics.word_topic))

    def _bound(self, topics: Topics, corpus: Corpus, posterior: Posterior, ratio: float = 1.0) -> float:
        """ELBO, where each document stands for `ratio` documents."""
        documents = topics.document_bound(corpus, self._alpha(topics.totals.size), posterior)
        return ratio * documents + topics.topic_bound()

    def perplexity(
        self,
        X: Any,
        sub_sampling: bool = False,
        *,
        method: Literal["bound", "completion"] = "bound",
    ) -> float:
        """Perplexity of documents: exp(-log-likelihood of a word), the smaller the better.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features), lists of tokens, or lists of (word, count)
            The documents: for an honest figure, others than those of the fit.
        sub_sampling : bool, default=False
            With "bound": let the documents stand for all `total_samples`.
        method : {"bound", "completion"}, default="bound"
            "bound" takes the evidence lower bound for the likelihood, as scikit-learn does; the cost of all topics
            is a part of it, which weighs more when documents are few. "completion" finds the topics of a document
            from one half of its words, and takes the probabilities of the other half (see `document_completion`):
            it can be compared with any other model.

        Returns
        -------
        perplexity : float
        """
        check_is_fitted(self)
        if method not in ("bound", "completion"):
            raise ValueError(f"method must be one of 'bound', 'completion'; got {method!r}.")
        X = self._check(X, reset=False)
        if not X.nnz:
            raise ValueError(f"{type(self).__name__}.perplexity: X has no words: all counts are zero.")
        if method == "bound":
            ratio = float(self.total_samples) / X.shape[0] if sub_sampling else 1.0
            return self._perplexity_of(self._topics(), Corpus(X), ratio)
        seen, held_out = document_completion(X)
        if not held_out.nnz:
            raise ValueError(
                f"{type(self).__name__}.perplexity: method='completion' needs documents of two words or more; "
                "X has none."
            )
        gamma = self._document_topics(seen)
        return word_perplexity(
            held_out, gamma / gamma.sum(axis=1, keepdims=True), self.topic_word_distribution()
        )

    def _perplexity_of(self, topics: Topics, corpus: Corpus | StreamedCorpus, ratio: float = 1.0) -> float:
        if isinstance(corpus, StreamedCorpus):
            alpha, documents, words = self._alpha(topics.totals.size), 0.0, 0.0
            for batch in corpus:
                documents += topics.document_bound(batch, alpha, self._infer(batch, topics.word_topic))
                words += batch.total
            bound = documents + topics.topic_bound()
            with np.errstate(over="ignore"):
                return float(np.exp(-bound / words)) if words else 1.0
        if not corpus.total:  # no words to guess
            return 1.0
        bound = self._bound(topics, corpus, self._infer(corpus, topics.word_topic), ratio)
        with np.errstate(over="ignore"):  # the cost of all topics for a word or two
            return float(np.exp(-bound / (corpus.total * ratio)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
