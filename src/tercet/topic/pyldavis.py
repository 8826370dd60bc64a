"""Topic models in the form that pyLDAvis takes."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.topic.base import TopicModel


def pyldavis_data(model: TopicModel, X: Any, feature_names: Any = None) -> dict[str, Any]:
    """The arguments of `pyLDAvis.prepare` for a fitted topic model: `pyLDAvis.prepare(**pyldavis_data(model, X))`.

    Parameters
    ----------
    model : fitted topic model
        With components that are not negative.
    X : array or sparse matrix of shape (n_documents, n_features), or list of documents
        The documents. Those without a word that the model knows are left out, as are words that none of them has.
    feature_names : array of str of shape (n_features,), or dict of int to str, optional
        The names of the words; by default those that the model was fitted with.

    Returns
    -------
    arguments : dict
        "topic_term_dists", "doc_topic_dists", "doc_lengths", "vocab" and "term_frequency".

    Examples
    --------
    >>> from tercet.topic import PLSA
    >>> documents = [["cat", "dog", "cat"], ["sun", "moon"], []]
    >>> found = pyldavis_data(PLSA(2, random_state=0).fit(documents), documents)
    >>> found["vocab"], found["term_frequency"], found["doc_lengths"]
    (['cat', 'dog', 'moon', 'sun'], array([2., 1., 1., 1.]), array([3., 2.]))
    """
    names, topics = model.words(feature_names), model.topic_word_distribution()
    if topics.min(initial=0.0) < 0:
        raise ValueError(f"pyLDAvis shows distributions; {type(model).__name__} has negative components.")
    counts = model._check(X, reset=False)
    known = (topics.sum(axis=0) > 0) & (np.asarray(counts.sum(axis=0)).ravel() > 0)
    counts = counts[:, known]
    lengths = np.asarray(counts.sum(axis=1)).ravel()
    here = lengths > 0
    if not here.any():
        raise ValueError("X has no word that the model knows.")
    shares = np.asarray(model.transform(X), dtype=np.float64)[here]
    topics = topics[:, known]
    return {
        "topic_term_dists": topics / np.maximum(topics.sum(axis=1, keepdims=True), np.finfo(float).tiny),
        "doc_topic_dists": shares / shares.sum(axis=1, keepdims=True),
        "doc_lengths": lengths[here],
        "vocab": names[known].tolist(),
        "term_frequency": np.asarray(counts.sum(axis=0)).ravel(),
    }
