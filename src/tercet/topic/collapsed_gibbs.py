"""Collapsed Gibbs sampling of latent Dirichlet allocation in plain form: Algorithm 20.2 step by step.

A document is a list of words, numbers from 0 to V - 1; an assignment z gives each of them a topic from 0 to K - 1.
The topics' words φ and the documents' topics θ are integrated out: all that is left of the model are two tables of
counts, and the probability of one word's topic given all the others is a ratio of them.
(`LatentDirichletAllocation` does the same for large collections with the samplers of `_gibbs`.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln

from tercet.core.catalog import method
from tercet.core.estimator import generator
from tercet.core.input_errors import shown


class TopicCounts(NamedTuple):
    """Words of each topic in each document, shape (M, K), and of each topic in the vocabulary, shape (K, V)."""

    doc_topic: np.ndarray
    topic_word: np.ndarray


class GibbsSample(NamedTuple):
    """The last assignment, θ and φ averaged over the kept sweeps, and log p(w, z) after each sweep."""

    assignments: list[np.ndarray]
    theta: np.ndarray
    phi: np.ndarray
    log_joint: np.ndarray


def lda_counts(documents: Any, assignments: Any, n_topics: int, n_words: int | None = None) -> TopicCounts:
    """Counts of topics in documents, and of words in topics, from an assignment.

    Parameters
    ----------
    documents : list of lists of int
        The words of each document.
    assignments : list of lists of int
        The topic of each word.
    n_topics : int
        The number K of topics.
    n_words : int, optional
        The number V of words in the vocabulary; by default the largest word and 1.

    Returns
    -------
    TopicCounts

    Examples
    --------
    >>> counts = lda_counts([[0, 1, 0], [1, 2]], [[0, 1, 0], [1, 1]], 2)
    >>> counts.doc_topic.tolist(), counts.topic_word.tolist()
    ([[2, 1], [0, 2]], [[2, 0, 0], [0, 2, 1]])
    """
    words = _checked(documents, "documents", None)
    topics = _checked(assignments, "assignments", n_topics)
    _same_lengths(words, topics)
    width = 1 + max((int(w.max()) for w in words if w.size), default=-1) if n_words is None else n_words
    words = _checked(words, "documents", width)
    counts = TopicCounts(np.zeros((len(words), n_topics), int), np.zeros((n_topics, width), int))
    for m, (w, z) in enumerate(zip(words, topics)):
        np.add.at(counts.doc_topic[m], z, 1)
        np.add.at(counts.topic_word, (z, w), 1)
    return counts


def lda_conditional(
    documents: Any, assignments: Any, alpha: Any, beta: Any, document: int, position: int
) -> np.ndarray:
    """Probability of each topic for one word, given the topics of all other words.

    p(z_i = k | z_-i, w) ∝ (n_kv + β_v) / Σ_v (n_kv + β_v) · (n_mk + α_k), with the word itself not counted.

    Parameters
    ----------
    documents, assignments : lists of lists of int
        The words, and the topic of each.
    alpha : array of shape (K,)
        The prior of the topics of a document.
    beta : array of shape (V,) or (K, V)
        The prior of the words of a topic.
    document, position : int
        Which word of which document.

    Returns
    -------
    probability : array of shape (K,)

    Examples
    --------
    >>> lda_conditional([[0, 1, 0], [1, 2]], [[0, 1, 0], [1, 1]], [0.5, 0.5], [0.1, 0.1, 0.1], 0, 1)
    array([0.3125, 0.6875])
    """
    alpha, beta = _priors(alpha, beta)
    words, topics = (
        _checked(documents, "documents", beta.shape[1]),
        _checked(assignments, "assignments", alpha.size),
    )
    counts = lda_counts(words, topics, *beta.shape)
    _add(counts, document, words[document][position], topics[document][position], -1)
    weights = _weights(counts, document, words[document][position], alpha, beta)
    return weights / weights.sum()


@method(
    zh="LDA 的收缩吉布斯抽样",
    task="topic model",
    approach="generative",
    model="p(z_i = k | z_-i, w) ∝ (n_kv + β_v) / Σ_v (n_kv + β_v) · (n_mk + α_k) / Σ_k (n_mk + α_k)",
    strategy="samples of the posterior p(z | w, α, β), with θ and φ integrated out",
    algorithms="for each word in turn: take it out of the counts, draw its topic given all others, put it back",
    texts=[
        "Li ch. 20, Alg 20.2",
        "Machine Learning in Depth ch. 5, eq. 5.20, Alg 14",
        "watermelon notes ch. 12",
    ],
    peers=["tomotopy.LDAModel", "lda.LDA"],
)
def lda_gibbs_sweep(
    documents: Any,
    assignments: Any,
    alpha: Any,
    beta: Any,
    random_state: Any = None,
    *,
    uniforms: Any = None,
) -> list[np.ndarray]:
    """One sweep of collapsed Gibbs sampling: a new topic for each word in turn (Algorithm 20.2, step 3).

    Parameters
    ----------
    documents, assignments : lists of lists of int
        The words, and the topic of each before the sweep.
    alpha : array of shape (K,)
        The prior of the topics of a document.
    beta : array of shape (V,) or (K, V)
        The prior of the words of a topic.
    random_state : int or Generator, optional
        Decides what is drawn.
    uniforms : array, optional
        Numbers from [0, 1), one for each word, that decide what is drawn; by default drawn themselves.

    Returns
    -------
    assignments : list of arrays of int
        The topic of each word after the sweep.

    Examples
    --------
    >>> z = lda_gibbs_sweep([[0, 1, 0], [1, 2]], [[0, 1, 0], [1, 1]], [0.5, 0.5], [0.1, 0.1, 0.1], 0)
    >>> [topics.tolist() for topics in z]
    [[0, 0, 0], [0, 1]]
    """
    alpha, beta = _priors(alpha, beta)
    words = _checked(documents, "documents", beta.shape[1])
    topics = [z.copy() for z in _checked(assignments, "assignments", alpha.size)]
    counts = lda_counts(words, topics, *beta.shape)
    n = sum(w.size for w in words)
    draws = generator(random_state).random(n) if uniforms is None else np.asarray(uniforms, dtype=np.float64)
    if draws.shape != (n,):
        raise ValueError(
            f"uniforms must have a number for each of the {n} words; its shape is {draws.shape}."
        )
    u = iter(draws)
    for m, (w, z) in enumerate(zip(words, topics)):
        for i, v in enumerate(w):
            _add(counts, m, v, z[i], -1)  # (a) the word leaves its topic
            weights = np.cumsum(_weights(counts, m, v, alpha, beta))  # (b) a topic given all others
            z[i] = min(np.searchsorted(weights, next(u) * weights[-1], side="right"), alpha.size - 1)
            _add(counts, m, v, z[i], 1)  # (c) and joins it
    return topics


def lda_collapsed_gibbs(
    documents: Any,
    alpha: Any,
    beta: Any,
    *,
    n_sweeps: int = 200,
    burn_in: int = 100,
    thin: int = 10,
    random_state: Any = None,
) -> GibbsSample:
    """Collapsed Gibbs sampling from a random assignment to θ and φ (Algorithm 20.2).

    Parameters
    ----------
    documents : list of lists of int
        The words of each document.
    alpha : array of shape (K,)
        The prior of the topics of a document.
    beta : array of shape (V,) or (K, V)
        The prior of the words of a topic.
    n_sweeps : int, default=200
        Sweeps in all.
    burn_in : int, default=100
        Sweeps before the first sample that is kept.
    thin : int, default=10
        Sweeps from one kept sample to the next; the last sweep is always kept.
    random_state : int or Generator, optional
        Decides what is drawn.

    Returns
    -------
    GibbsSample

    Examples
    --------
    >>> documents = [[0, 1], [0, 2], [1, 2], [3, 4], [3, 5], [4, 5]]
    >>> found = lda_collapsed_gibbs(documents, [0.1, 0.1], [0.1] * 6, n_sweeps=60, burn_in=40, random_state=0)
    >>> sorted(set(found.phi.argmax(axis=0)[:3])) != sorted(set(found.phi.argmax(axis=0)[3:]))
    True
    """
    rng = generator(random_state)
    alpha, beta = _priors(alpha, beta)
    for name, value, low in (("n_sweeps", n_sweeps, 1), ("burn_in", burn_in, 0), ("thin", thin, 1)):
        if not isinstance(value, int | np.integer) or value < low:
            raise ValueError(f"{name} must be a whole number of at least {low}; got {shown(value)}.")
    words = _checked(documents, "documents", beta.shape[1])
    topics = [rng.integers(alpha.size, size=w.size) for w in words]  # (2) topics at random
    kept, trace = [], []
    for sweep in range(1, n_sweeps + 1):  # (3)
        topics = lda_gibbs_sweep(words, topics, alpha, beta, rng)
        counts = lda_counts(words, topics, *beta.shape)
        trace.append(lda_log_joint(words, topics, alpha, beta))
        if sweep == n_sweeps or (sweep > burn_in and (sweep - burn_in) % thin == 0):
            kept.append((lda_theta(counts.doc_topic, alpha), lda_phi(counts.topic_word, beta)))  # (4)
    theta, phi = (np.mean(samples, axis=0) for samples in zip(*kept))
    return GibbsSample(topics, theta, phi, np.array(trace))


def lda_log_joint(documents: Any, assignments: Any, alpha: Any, beta: Any) -> float:
    """Logarithm of p(w, z | α, β) = Π_k B(n_k + β) / B(β) · Π_m B(n_m + α) / B(α).

    Parameters
    ----------
    documents, assignments : lists of lists of int
        The words, and the topic of each.
    alpha : array of shape (K,)
        The prior of the topics of a document.
    beta : array of shape (V,) or (K, V)
        The prior of the words of a topic.

    Returns
    -------
    float

    Examples
    --------
    >>> round(lda_log_joint([[0, 1, 0], [1, 2]], [[0, 1, 0], [1, 1]], [0.5, 0.5], [0.1, 0.1, 0.1]), 6)
    -9.420245
    """
    alpha, beta = _priors(alpha, beta)
    counts = lda_counts(documents, assignments, *beta.shape)
    topics = _log_beta(counts.topic_word + beta) - _log_beta(beta)
    return float(topics.sum() + (_log_beta(counts.doc_topic + alpha) - _log_beta(alpha)).sum())


def lda_theta(doc_topic: Any, alpha: Any) -> np.ndarray:
    """Estimate of the topics of each document: θ_mk = (n_mk + α_k) / Σ_k (n_mk + α_k).

    Examples
    --------
    >>> lda_theta([[2, 1]], [0.5, 0.5])
    array([[0.625, 0.375]])
    """
    raised = np.asarray(doc_topic, dtype=np.float64) + np.asarray(alpha, dtype=np.float64)
    return raised / raised.sum(axis=1, keepdims=True)


def lda_phi(topic_word: Any, beta: Any) -> np.ndarray:
    """Estimate of the words of each topic: φ_kv = (n_kv + β_v) / Σ_v (n_kv + β_v).

    Examples
    --------
    >>> lda_phi([[2, 0], [1, 1]], [0.5, 0.5]).round(4)
    array([[0.8333, 0.1667],
           [0.5   , 0.5   ]])
    """
    raised = np.asarray(topic_word, dtype=np.float64) + np.asarray(beta, dtype=np.float64)
    return raised / raised.sum(axis=1, keepdims=True)


def lda_infer(
    document: Any,
    phi: Any,
    alpha: Any,
    *,
    n_sweeps: int = 100,
    burn_in: int = 50,
    random_state: Any = None,
) -> np.ndarray:
    """Topics of a new document by Gibbs sampling with the topics' words held fixed.

    Parameters
    ----------
    document : list of int
        Its words.
    phi : array of shape (K, V)
        The probabilities of the words in each topic.
    alpha : array of shape (K,)
        The prior of the topics of a document.
    n_sweeps, burn_in : int, default=100, 50
        Sweeps in all, and those before the first that counts.
    random_state : int or Generator, optional
        Decides what is drawn.

    Returns
    -------
    theta : array of shape (K,)
        The mean of (n_k + α_k) / Σ_k (n_k + α_k) over the sweeps that count.

    Examples
    --------
    >>> theta = lda_infer([0, 0, 1], [[0.6, 0.3, 0.1], [0.1, 0.3, 0.6]], [0.5, 0.5], random_state=0)
    >>> bool(theta[0] > theta[1]), round(float(theta.sum()), 12)
    (True, 1.0)
    """
    phi, rng = np.asarray(phi, dtype=np.float64), generator(random_state)
    if phi.ndim != 2:
        raise ValueError(f"phi must have a row for each topic and a column for each word; got {shown(phi)}.")
    alpha = _priors(alpha, np.ones(phi.shape[1]))[0]
    (words,) = _checked([document], "document", phi.shape[1])
    z = rng.integers(alpha.size, size=words.size)
    here, total, kept = np.bincount(z, minlength=alpha.size).astype(float), np.zeros(alpha.size), 0
    for sweep in range(n_sweeps):
        for i, v in enumerate(words):
            here[z[i]] -= 1
            weights = np.cumsum(phi[:, v] * (here + alpha))
            z[i] = min(np.searchsorted(weights, rng.random() * weights[-1], side="right"), alpha.size - 1)
            here[z[i]] += 1
        if sweep >= burn_in or sweep == n_sweeps - 1:
            total, kept = total + here, kept + 1
    raised = total / max(kept, 1) + alpha
    return raised / raised.sum()


def _add(counts: TopicCounts, m: int, v: int, k: int, change: int) -> None:
    """Put a word into the counts, or take it out."""
    counts.doc_topic[m, k] += change
    counts.topic_word[k, v] += change


def _weights(counts: TopicCounts, m: int, v: int, alpha: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """The conditional distribution of a word's topic, up to a factor: Σ_k (n_mk + α_k) is that of all topics."""
    totals = (counts.topic_word + beta).sum(axis=1)
    return (counts.topic_word[:, v] + beta[:, v]) / totals * (counts.doc_topic[m] + alpha)


def _log_beta(x: np.ndarray) -> np.ndarray:
    """log B(x) = Σ log Γ(x_i) - log Γ(Σ x_i) of each row."""
    return gammaln(x).sum(axis=-1) - gammaln(x.sum(axis=-1))


def _priors(alpha: Any, beta: Any) -> tuple[np.ndarray, np.ndarray]:
    """α as a vector and β as a table with a row for each topic."""
    alpha, beta = np.asarray(alpha, dtype=np.float64), np.asarray(beta, dtype=np.float64)
    if alpha.ndim != 1 or not alpha.size:
        raise ValueError(f"alpha must have a number for each topic; its shape is {alpha.shape}.")
    if beta.ndim not in (1, 2) or not beta.size or (beta.ndim == 2 and len(beta) != alpha.size):
        raise ValueError(
            f"beta must have the shape (n_words,), or ({alpha.size}, n_words); its shape is {beta.shape}."
        )
    for name, prior in (("alpha", alpha), ("beta", beta)):
        wrong = ~((prior > 0) & (prior < np.inf))
        if wrong.any():
            raise ValueError(f"{name} must be positive and finite; it has {prior[wrong][0]:g}.")
    return alpha, np.broadcast_to(beta, (alpha.size, beta.shape[-1]))


def _checked(lists: Any, name: str, below: int | None) -> list[np.ndarray]:
    """Lists of whole numbers from 0 on as arrays."""
    if not isinstance(lists, Sequence | np.ndarray) or isinstance(lists, str):
        raise TypeError(f"{name} must be a list of lists of whole numbers; got {shown(lists)}.")
    found = [np.asarray(some) if len(some) else np.zeros(0, dtype=np.int64) for some in lists]
    for m, some in enumerate(found):
        if some.ndim != 1 or some.dtype.kind not in "iu":
            raise TypeError(f"{name} must hold lists of whole numbers; {name}[{m}] is {shown(lists[m])}.")
        wrong = some < 0 if below is None else (some < 0) | (some >= below)
        if wrong.any():
            allowed = "0 or more" if below is None else f"between 0 and {below - 1}"
            raise ValueError(f"{name}[{m}] has {some[wrong][0]}; allowed are whole numbers {allowed}.")
    return found


def _same_lengths(words: list[np.ndarray], topics: list[np.ndarray]) -> None:
    if [w.size for w in words] != [z.size for z in topics]:
        raise ValueError(
            "assignments must have a topic for each word of each document; the documents have "
            f"{shown([w.size for w in words])} words, the assignments {shown([z.size for z in topics])} topics."
        )
