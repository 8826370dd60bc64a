"""Variational EM for latent Dirichlet allocation (LDA 的变分 EM 算法), in plain form.

The model here is the text's simplified one: θ ~ Dirichlet(α), and topics φ that are parameters, without a prior
(20.42-20.68). With `eta` topics have the prior φ_k ~ Dirichlet(η), and the posterior Dirichlet(λ_k). A document is
a list of words, each a column number; η_nk of the text, the probability of topic k for word n, is `z` here.

`LatentDirichletAllocation` does the same on counts, with an engine for large corpora.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln, psi, xlogy

from tercet.core.catalog import method
from tercet.core.estimator import generator
from tercet.core.parameters import Seed
from tercet.core.steps import Steps
from tercet.distributions import expected_log_dirichlet
from tercet.metrics import kl_dirichlet
from tercet.topic.prior_input import positive
from tercet.topic.variational_priors import newton_alpha


class DocumentPosterior(NamedTuple):
    """Variational posterior of one document.

    Attributes
    ----------
    gamma : array of shape (n_topics,)
        θ ~ Dirichlet(γ).
    z : array of shape (n_words, n_topics)
        Probabilities of the topics of each word.
    elbo : list of float
        The bound before the first update and after each.
    """

    gamma: np.ndarray
    z: np.ndarray
    elbo: list[float]


class LDAEstimate(NamedTuple):
    """What variational EM learns.

    Attributes
    ----------
    alpha : array of shape (n_topics,)
    topic_word : array of shape (n_topics, n_words)
        φ, or the posterior mean of φ where topics have a prior.
    gamma : array of shape (n_documents, n_topics)
    doc_topic : array of shape (n_documents, n_topics)
        θ as γ / Σ γ.
    z : list of arrays of shape (words of the document, n_topics)
    elbo : list of float
        The bound of the corpus after each E step; it never falls.
    pseudocounts : array of shape (n_topics, n_words) or None
        λ, where topics have a prior.
    """

    alpha: np.ndarray
    topic_word: np.ndarray
    gamma: np.ndarray
    doc_topic: np.ndarray
    z: list[np.ndarray]
    elbo: list[float]
    pseudocounts: np.ndarray | None


@method(
    zh="LDA 的证据下界",
    task="topic model",
    model="L(γ, η; α, φ) = E_q[log p(θ) + log p(z|θ) + log p(w|z, φ)] - E_q[log q(θ) + log q(z)]",
    texts=["Li ch. 20, eq. 20.42-20.55"],
)
def document_elbo(document: Any, gamma: Any, z: Any, alpha: Any, log_topic_word: Any) -> float:
    """Evidence lower bound of one document (20.47), the sum of five terms.

    Parameters
    ----------
    document : array of int of shape (n_tokens,)
        Its words.
    gamma : array of shape (n_topics,)
        Parameters of q(θ).
    z : array of shape (n_tokens, n_topics)
        q(z): probabilities of the topics of each word.
    alpha : array of shape (n_topics,)
        Prior of θ.
    log_topic_word : array of shape (n_topics, n_words)
        log φ, or E[log φ] where topics have a prior.

    Returns
    -------
    elbo : float

    Examples
    --------
    >>> round(document_elbo([0, 1], [2.7], [[1.0], [1.0]], [0.7], np.log([[0.2, 0.8]])), 6)
    -1.832581
    >>> round(float(np.log(0.2 * 0.8)), 6)  # with a single topic nothing is hidden
    -1.832581
    """
    gamma, z, alpha = np.asarray(gamma, float), np.asarray(z, float), np.asarray(alpha, float)
    words = np.asarray(document, dtype=np.int64)
    logs = expected_log_dirichlet(gamma)
    prior = gammaln(alpha.sum()) - gammaln(alpha).sum() + (alpha - 1) @ logs  # E[log p(θ|α)] (20.49)
    topics = z.sum(axis=0) @ logs  # E[log p(z|θ)] (20.51)
    chances = np.asarray(log_topic_word, float).T[words]
    tokens = np.where(z > 0, z * np.where(z > 0, chances, 0.0), 0.0).sum()  # E[log p(w|z, φ)] (20.52)
    own = gammaln(gamma.sum()) - gammaln(gamma).sum() + (gamma - 1) @ logs  # E[log q(θ|γ)] (20.53)
    return float(prior + topics + tokens - own - xlogy(z, z).sum())  # and E[log q(z)] (20.55)


@method(
    zh="LDA 的变分参数估计",
    task="topic model",
    model="q(θ, z) = Dir(θ|γ) Π Mult(z_n|η_n)",
    strategy="evidence lower bound of one document",
    algorithms="coordinate ascent: η_nk ∝ φ_kw exp(ψ(γ_k)), then γ = α + Σ_n η_n",
    texts=["Li ch. 20, Alg 20.4, eq. 20.58, 20.62"],
)
def infer_document(
    document: Any,
    alpha: Any,
    log_topic_word: Any,
    *,
    gamma: Any = None,
    max_iter: int = 1000,
    tol: float = 1e-10,
) -> DocumentPosterior:
    """Variational parameters of one document (Alg 20.4).

    Parameters
    ----------
    document : array of int of shape (n_tokens,)
        Its words.
    alpha : array of shape (n_topics,)
        Prior of θ.
    log_topic_word : array of shape (n_topics, n_words)
        log φ, or E[log φ] where topics have a prior.
    gamma : array of shape (n_topics,), optional
        The start; by default α + n_tokens / n_topics.
    max_iter : int, default=1000
        The most updates.
    tol : float, default=1e-10
        Stop when the mean change of γ is smaller.

    Returns
    -------
    DocumentPosterior
        gamma, z and the bounds.

    Examples
    --------
    >>> phi = np.array([[0.6, 0.3, 0.1], [0.1, 0.3, 0.6]])
    >>> infer_document([0, 0, 1, 2], [0.5, 0.5], np.log(phi)).gamma.round(4)
    array([3.3939, 1.6061])
    """
    words, alpha = np.asarray(document, dtype=np.int64), positive("alpha", alpha, 1)
    K, logs = alpha.size, np.asarray(log_topic_word, dtype=np.float64)
    z = np.full((words.size, K), 1.0 / K)
    if gamma is None:
        gamma, start = alpha + words.size / K, [document_elbo(words, alpha + words.size / K, z, alpha, logs)]
    else:
        gamma, start = positive("gamma", gamma, 1), []
    elbo = start
    for _ in range(max_iter):
        scores = logs.T[words] + psi(gamma)  # (20.58); the factor exp(-ψ(Σγ)) cancels
        best = scores.max(axis=1, keepdims=True) if words.size else scores
        z = np.exp(scores - np.where(np.isfinite(best), best, 0.0))
        z /= np.maximum(z.sum(axis=1, keepdims=True), np.finfo(float).tiny)
        new = alpha + z.sum(axis=0)  # (20.62)
        change = np.abs(new - gamma).mean()
        gamma = new
        elbo.append(document_elbo(words, gamma, z, alpha, logs))
        if change < tol:
            break
    return DocumentPosterior(gamma, z, elbo)


@method(
    zh="LDA 的变分 EM 算法",
    task="topic model",
    model="θ_m ~ Dir(α), z_mn ~ Mult(θ_m), w_mn ~ Mult(φ_z); with a prior φ_k ~ Dir(η), too",
    strategy="evidence lower bound of the corpus",
    algorithms="E: γ and η of each document; M: φ_kv ∝ Σ η_mnk (or λ = η + Σ η_mnk), α by Newton's method",
    texts=[
        "Li ch. 20, Alg 20.5",
        "Machine Learning in Depth ch. 5, 5.18",
        "watermelon notes ch. 12, eq. 12.26",
    ],
)
def variational_em(
    documents: Any,
    n_topics: int,
    *,
    alpha: Any = None,
    topic_word: Any = None,
    eta: float | None = None,
    learn_alpha: bool = True,
    n_words: int | None = None,
    max_iter: int = 100,
    tol: float = 1e-6,
    random_state: Seed = None,
) -> LDAEstimate:
    """Latent Dirichlet allocation by variational EM (Alg 20.5).

    Parameters
    ----------
    documents : list of arrays of int
        The words of each document, as column numbers.
    n_topics : int
        The number K of topics.
    alpha : float or array of shape (n_topics,), optional
        Prior of θ, or its start where it is learned; by default 1.
    topic_word : array of shape (n_topics, n_words), optional
        The start of φ; by default random.
    eta : float, optional
        Prior of φ, above 0; without it φ is a parameter, and words that no document has get the probability 0.
    learn_alpha : bool, default=True
        Whether α is learned.
    n_words : int, optional
        Size V of the vocabulary; by default the largest word and 1.
    max_iter : int, default=100
        The most passes.
    tol : float, default=1e-6
        Stop when a pass raises the bound by no more than this part of it.
    random_state : int, RandomState, Generator or None, default=None
        Decides the start of φ.

    Returns
    -------
    LDAEstimate
        alpha, topic_word, gamma, doc_topic, z, elbo and pseudocounts.

    Examples
    --------
    >>> found = variational_em([[0, 1, 0], [1, 0], [2, 3], [3, 2, 2]], 2, random_state=1)
    >>> bool((np.diff(found.elbo) >= -1e-9).all())
    True
    """
    words = checked_documents(documents)
    V = max((int(one.max()) + 1 for one in words if one.size), default=1) if n_words is None else n_words
    if any(one.size and one.max() >= V for one in words):
        raise ValueError(f"n_words={V} must be larger than every word of the documents.")
    alpha = np.broadcast_to(positive("alpha", 1.0 if alpha is None else alpha, None), (n_topics,))
    phi = generator(random_state).dirichlet(np.full(V, 1.0), n_topics) if topic_word is None else topic_word
    phi, log_phi, pseudocounts = topic_update(np.asarray(phi, dtype=np.float64), eta)
    gamma: list[Any] = [None] * len(words)
    elbo, bound = [], -np.inf
    for step in Steps(max_iter):
        found = [infer_document(one, alpha, log_phi, gamma=g) for one, g in zip(words, gamma)]  # E
        gamma, before = [one.gamma for one in found], bound
        bound = sum(one.elbo[-1] for one in found) + topics_elbo(pseudocounts, eta)
        elbo.append(bound)
        step.report(elbo=bound)
        counts = np.zeros((n_topics, V))
        for one, posterior in zip(words, found):
            np.add.at(counts.T, one, posterior.z)
        phi, log_phi, pseudocounts = topic_update(counts, eta)  # M
        if learn_alpha:
            alpha = newton_alpha(np.array(gamma), alpha)
        if bound - before <= tol * abs(bound):
            break
    gammas = np.array(gamma)
    doc_topic = gammas / gammas.sum(axis=1, keepdims=True)
    return LDAEstimate(alpha, phi, gammas, doc_topic, [one.z for one in found], elbo, pseudocounts)


def topic_update(counts: np.ndarray, eta: float | None) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """φ, log φ (or E[log φ]) and λ from expected counts of words in topics (20.64).

    Examples
    --------
    >>> topic_update(np.array([[1.0, 3.0]]), None)[0]
    array([[0.25, 0.75]])
    >>> topic_update(np.array([[1.0, 3.0]]), 1.0)[2]
    array([[2., 4.]])
    """
    if eta is not None:
        pseudocounts = eta + counts
        phi = pseudocounts / pseudocounts.sum(axis=1, keepdims=True)
        return phi, expected_log_dirichlet(pseudocounts), pseudocounts
    totals = counts.sum(axis=1, keepdims=True)
    phi = np.where(totals > 0, counts / np.where(totals > 0, totals, 1.0), 1.0 / counts.shape[1])
    with np.errstate(divide="ignore"):
        return phi, np.log(phi), None


def topics_elbo(pseudocounts: np.ndarray | None, eta: float | None) -> float:
    """E[log p(φ) - log q(φ)] of all topics; 0 where topics have no prior."""
    if pseudocounts is None or eta is None:
        return 0.0
    return -float(kl_dirichlet(pseudocounts, np.full_like(pseudocounts, eta)).sum())


def checked_documents(documents: Any) -> list[np.ndarray]:
    """Lists of words as arrays of column numbers, or an error that names the document."""
    words = []
    for m, document in enumerate(documents):
        found = np.asarray(document, dtype=np.int64 if len(document) == 0 else None)
        if found.ndim != 1 or found.dtype.kind not in "iu" or (found < 0).any():
            raise ValueError(
                f"documents must be lists of words, as whole numbers from 0 on; documents[{m}] is {document!r}."
            )
        words.append(found.astype(np.int64))
    if not words:
        raise ValueError("documents must hold at least one document.")
    return words
