"""Batches of documents that variational EM goes through, in memory or read from a source."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tercet.core.streams import is_streamed
from tercet.topic._variational.corpus import Corpus, Topics
from tercet.topic._variational.streamed_corpus import DOCUMENTS_AT_ONCE, StreamedCorpus
from tercet.topic.prior_input import prior_table
from tercet.topic.variational_priors import symmetric_eta


def streaming_refusal(model: Any) -> str:
    """Why the parameters of a model do not allow learning from a source."""
    if model.learning_method == "gibbs":
        return (
            "learning_method='gibbs' keeps the topic of every word from pass to pass. Use "
            "learning_method='online' or 'batch'."
        )
    if model.learning_method == "batch" and model.prior_update is not None:
        return (
            f"prior_update={model.prior_update!r} needs all documents at once. Use learning_method='online'."
        )
    return ""


def corpora(model: Any, X: Any, weight: Any) -> tuple[Any, Any]:
    """All documents, and the batches of one pass over them."""
    whole = model.learning_method == "batch"
    if is_streamed(X):
        corpus = StreamedCorpus(X, weight, DOCUMENTS_AT_ONCE if whole else model.batch_size)
        return corpus, [corpus] if whole else corpus
    everything = Corpus(X, weight)
    return everything, [everything] if whole else list(mini_batches(X, weight, model.batch_size))


def mini_batches(X: Any, weight: np.ndarray | None, size: int) -> Iterator[Corpus]:
    """Documents in memory, so many at a time."""
    for start in range(0, X.shape[0], size):
        some = slice(start, start + size)
        yield Corpus(X[some], None if weight is None else weight[some])


def streamed_step(model: Any, topics: Topics, corpus: StreamedCorpus) -> float:
    """E and M step over documents that are read batch by batch; the ELBO before them."""
    counts, bound = np.zeros(topics.pseudocounts.shape), 0.0
    for batch in corpus:
        posterior = model._e_step(topics, batch)
        bound += topics.document_bound(batch, model._alpha(topics.totals.size), posterior)
        counts = topics.expected_counts(batch, posterior, counts)
    bound += topics.topic_bound()
    topics.set_counts(counts)
    if model.word_prior_update:
        model.topic_word_prior_ = symmetric_eta(topics.mean_log(), topics.pseudocounts.shape[0])
        topics.set_prior(prior_table(model.topic_word_prior_, topics.totals.size))
    model.n_batch_iter_ += 1
    return bound
