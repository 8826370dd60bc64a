"""Perplexity (困惑度) of documents: how many equally likely words a model chooses among, on average.

perplexity = exp(-Σ_d log p(w_d) / Σ_d N_d). What p(w_d) is makes the difference: the words that the topics of a
document were found from are easier to guess than others. `document_completion` splits each document in two: topics
come from one half, the perplexity from the other, and any two topic models can be compared.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.catalog import method
from tercet.topic.documents import refuse_fractions, without_zeros

BLOCK = 1 << 22  # numbers that are computed at a time


@method(
    zh="困惑度",
    task="topic model",
    model="exp(-Σ n_dw log Σ_k θ_dk φ_kw / Σ n_dw)",
    texts=["Li ch. 20, 20(d)", "watermelon notes ch. 12"],
)
def word_perplexity(X: Any, doc_topic: Any, topic_word: Any) -> float:
    """Perplexity of the words of documents under given topics: exp(-Σ n_dw log Σ_k θ_dk φ_kw / Σ n_dw).

    Parameters
    ----------
    X : array or sparse matrix of shape (n_documents, n_words)
        Counts of words.
    doc_topic : array of shape (n_documents, n_topics)
        θ: P(topic|document).
    topic_word : array of shape (n_topics, n_words)
        φ: P(word|topic).

    Returns
    -------
    perplexity : float
        At least 1; infinite where a word of a document has the probability 0.

    Examples
    --------
    >>> word_perplexity([[1, 1], [0, 4]], [[1.0], [1.0]], [[0.5, 0.5]])
    2.0
    """
    counts = without_zeros(X if sparse.issparse(X) else np.asarray(X, dtype=np.float64)).tocoo()
    theta, phi = np.asarray(doc_topic, dtype=np.float64), np.asarray(topic_word, dtype=np.float64)
    if (
        theta.ndim != 2
        or phi.ndim != 2
        or (len(theta), phi.shape[1]) != counts.shape
        or theta.shape[1] != len(phi)
    ):
        raise ValueError(
            f"X, doc_topic and topic_word must have the shapes (D, V), (D, K) and (K, V); got {counts.shape}, "
            f"{theta.shape} and {phi.shape}."
        )
    total = float(counts.data.sum())
    if total == 0:
        raise ValueError("X has no words to compute a perplexity from.")
    documents, words = counts.coords
    by_word, log_likelihood = np.ascontiguousarray(phi.T), 0.0
    block = max(1, BLOCK // len(phi))
    with np.errstate(divide="ignore"):
        for start in range(0, counts.nnz, block):
            some = slice(start, start + block)
            chance = np.einsum("ij,ij->i", theta[documents[some]], by_word[words[some]])
            log_likelihood += float(counts.data[some] @ np.log(chance))
        return float(np.exp(-log_likelihood / total))


@method(
    zh="文档补全的划分",
    task="topic model",
    model="tokens 1, 3, 5, ... of each document are seen, tokens 2, 4, 6, ... are to be guessed",
    texts=["Li ch. 20, 20(d)"],
)
def document_completion(X: Any) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Split each document into two halves, for the perplexity of one when the other was seen.

    The tokens of a document, in the order of their columns, go to the two halves by turns: nothing is drawn.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_documents, n_words)
        Whole counts of words.

    Returns
    -------
    seen, held_out : CSR arrays of shape (n_documents, n_words)
        Counts with the sum X; `seen` has one token more where their number is odd.

    Examples
    --------
    >>> seen, held_out = document_completion([[3, 1, 2], [0, 1, 0]])
    >>> seen.toarray(), held_out.toarray()
    (array([[2., 0., 1.],
           [0., 1., 0.]]), array([[1., 1., 1.],
           [0., 0., 0.]]))
    """
    counts = without_zeros(X if sparse.issparse(X) else np.asarray(X, dtype=np.float64))
    refuse_fractions(counts, "document_completion")
    if not counts.has_canonical_format:
        counts = counts.copy()
        counts.sum_duplicates()
    before = np.concatenate([[0.0], np.cumsum(counts.data)])[:-1]  # tokens of the corpus before an entry
    first = np.repeat(np.append(before, 0.0)[counts.indptr[:-1]], np.diff(counts.indptr))
    place = before - first
    seen = np.ceil((place + counts.data) / 2) - np.ceil(place / 2)
    halves = [
        sparse.csr_array((values, counts.indices.copy(), counts.indptr.copy()), shape=counts.shape)
        for values in (seen, counts.data - seen)
    ]
    return without_zeros(halves[0]), without_zeros(halves[1])
