"""Probabilistic latent semantic analysis in plain form (概率潜在语义分析): both models and both EM algorithms.

Arrays have documents in rows: counts n(d,w) of shape (N, M), P(z|d) of shape (N, K), P(w|z) of shape (K, M).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from tercet.core.catalog import method
from tercet.core.estimator import generator
from tercet.core.validation import check_array, refuse_negative


class CooccurrenceModel(NamedTuple):
    """P(w,d) = Σ_z P(z) P(w|z) P(d|z), of which the matrix form is U' Σ' V'ᵀ (18.8).

    Attributes
    ----------
    topic_weights : array of shape (K,)
        P(z), the diagonal of Σ'.
    components : array of shape (K, M)
        P(w|z), the columns of U'.
    topic_document : array of shape (K, N)
        P(d|z), the columns of V'.
    """

    topic_weights: np.ndarray
    components: np.ndarray
    topic_document: np.ndarray


class GenerativeModel(NamedTuple):
    """P(w,d) = P(d) Σ_z P(z|d) P(w|z).

    Attributes
    ----------
    document_weights : array of shape (N,)
        P(d).
    doc_topic : array of shape (N, K)
        P(z|d).
    components : array of shape (K, M)
        P(w|z).
    """

    document_weights: np.ndarray
    doc_topic: np.ndarray
    components: np.ndarray


@method(
    zh="概率潜在语义分析的EM算法（生成模型）",
    task="topic model",
    approach="generative",
    model="P(w,d) = P(d) Σ_z P(z|d) P(w|z)",
    strategy="maximum likelihood with hidden topics",
    algorithms="E: P(z|w,d) ∝ P(w|z) P(z|d); M: shares of the expected counts n(w,d) P(z|w,d)",
    texts=["Li ch. 18, Alg 18.1, eq. 18.11-18.13", "Machine Learning in Depth ch. 5, sec. 5.3.4"],
)
def plsa_step(
    counts: Any, doc_topic: Any, components: Any, *, beta: float = 1.0
) -> tuple[np.ndarray, np.ndarray, float]:
    """One EM step of the generative model (Algorithm 18.1).

    Parameters
    ----------
    counts : array of shape (N, M)
        n(d,w), documents in rows.
    doc_topic : array of shape (N, K)
        P(z|d).
    components : array of shape (K, M)
        P(w|z).
    beta : float, default=1.0
        Tempered EM: P(z|w,d) ∝ [P(w|z) P(z|d)]^β.

    Returns
    -------
    doc_topic, components : arrays
        After the step. A document without words, and a topic without expected counts, stay as they are.
    log_likelihood : float
        Σ n(d,w) log Σ_z P(w|z) P(z|d) before the step; log P(d), which is constant, is left out. Words that no
        topic explains are left out, too.

    Examples
    --------
    >>> n = [[4, 1, 0], [0, 2, 3], [2, 2, 2]]
    >>> theta, phi = [[0.6, 0.4], [0.3, 0.7], [0.5, 0.5]], [[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]]
    >>> theta, phi, log_likelihood = plsa_step(n, theta, phi)
    >>> phi.round(4)
    array([[0.5882, 0.2822, 0.1296],
           [0.1723, 0.3413, 0.4863]])
    >>> round(log_likelihood, 4)
    -16.7643
    """
    n, theta, phi = _checked(counts, doc_topic, components)
    posterior, likelihood = _posterior(n, theta, phi, theta**beta, phi**beta)
    expected = n[:, None, :] * posterior  # (N, K, M)
    return (
        _shares(expected.sum(axis=2), axis=1, otherwise=theta),
        _shares(expected.sum(axis=0), axis=1, otherwise=phi),
        likelihood,
    )


@method(
    zh="概率潜在语义分析的EM算法（共现模型）",
    task="topic model",
    approach="generative",
    model="P(w,d) = Σ_z P(z) P(w|z) P(d|z)",
    strategy="maximum likelihood with hidden topics",
    algorithms="E: P(z|w,d) ∝ P(z) P(w|z) P(d|z); M: shares of the expected counts n(w,d) P(z|w,d)",
    texts=["Li ch. 18, eq. 18.5, 18.6, Ex 18.2"],
)
def cooccurrence_step(
    counts: Any, topic_weights: Any, topic_document: Any, components: Any, *, beta: float = 1.0
) -> tuple[CooccurrenceModel, float]:
    """One EM step of the co-occurrence model (Exercise 18.2).

    Parameters
    ----------
    counts : array of shape (N, M)
        n(d,w), documents in rows.
    topic_weights : array of shape (K,)
        P(z).
    topic_document : array of shape (K, N)
        P(d|z).
    components : array of shape (K, M)
        P(w|z).
    beta : float, default=1.0
        Tempered EM: P(z|w,d) ∝ P(z) [P(w|z) P(d|z)]^β.

    Returns
    -------
    model : CooccurrenceModel
        P(z), P(w|z) and P(d|z) after the step.
    log_likelihood : float
        Σ n(d,w) log P(w,d) before the step.

    Examples
    --------
    >>> n = [[2, 1, 0], [0, 1, 3], [1, 0, 1]]
    >>> model, before = cooccurrence_step(
    ...     n, [0.5, 0.5], [[0.4, 0.3, 0.3], [0.3, 0.4, 0.3]], [[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]]
    ... )
    >>> model.topic_weights.round(4)
    array([0.4701, 0.5299])
    """
    p = np.asarray(topic_weights, dtype=np.float64)
    given = np.asarray(topic_document, dtype=np.float64)
    n, joint, phi = _checked(counts, given.T * p, components)
    posterior, likelihood = _posterior(n, joint, phi, p * given.T**beta, phi**beta)
    expected = n[:, None, :] * posterior
    mass = expected.sum(axis=(0, 2))
    return (
        CooccurrenceModel(
            mass / mass.sum(),
            _shares(expected.sum(axis=0), axis=1, otherwise=phi),
            _shares(expected.sum(axis=2).T, axis=1, otherwise=given),
        ),
        likelihood,
    )


def to_cooccurrence(document_weights: Any, doc_topic: Any, components: Any) -> CooccurrenceModel:
    """The co-occurrence model that is equal to a generative one (Exercise 18.1).

    P(z) = Σ_d P(d) P(z|d) and P(d|z) = P(z|d) P(d) / P(z).

    Parameters
    ----------
    document_weights : array of shape (N,)
        P(d).
    doc_topic : array of shape (N, K)
        P(z|d).
    components : array of shape (K, M)
        P(w|z).

    Returns
    -------
    CooccurrenceModel

    Examples
    --------
    >>> model = to_cooccurrence([0.5, 0.5], [[1.0, 0.0], [0.0, 1.0]], [[0.9, 0.1], [0.2, 0.8]])
    >>> model.topic_weights.tolist()
    [0.5, 0.5]
    """
    joint = np.asarray(doc_topic, dtype=np.float64).T * np.asarray(document_weights, dtype=np.float64)
    even = np.full_like(joint, 1 / joint.shape[1])
    return CooccurrenceModel(
        joint.sum(axis=1), np.asarray(components, dtype=np.float64), _shares(joint, axis=1, otherwise=even)
    )


def to_generative(topic_weights: Any, topic_document: Any, components: Any) -> GenerativeModel:
    """The generative model that is equal to a co-occurrence model (Exercise 18.1).

    P(d) = Σ_z P(z) P(d|z) and P(z|d) = P(d|z) P(z) / P(d).

    Parameters
    ----------
    topic_weights : array of shape (K,)
        P(z).
    topic_document : array of shape (K, N)
        P(d|z).
    components : array of shape (K, M)
        P(w|z).

    Returns
    -------
    GenerativeModel

    Examples
    --------
    >>> model = to_generative([0.5, 0.5], [[1.0, 0.0], [0.0, 1.0]], [[0.9, 0.1], [0.2, 0.8]])
    >>> model.doc_topic.tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    joint = np.asarray(topic_document, dtype=np.float64).T * np.asarray(topic_weights, dtype=np.float64)
    even = np.full_like(joint, 1 / joint.shape[1])
    return GenerativeModel(
        joint.sum(axis=1), _shares(joint, axis=1, otherwise=even), np.asarray(components, dtype=np.float64)
    )


def plsa_parameter_counts(n_words: int, n_documents: int, n_topics: int) -> dict[str, int]:
    """Numbers that a table of P(w,d) and the two models have: O(MN) against O(MK + NK).

    Parameters
    ----------
    n_words, n_documents, n_topics : int
        M, N and K.

    Returns
    -------
    counts : dict
        "table", M N; "generative", P(w|z) and P(z|d); "cooccurrence", P(z), P(w|z) and P(d|z).

    Examples
    --------
    >>> plsa_parameter_counts(10_000, 5_000, 20)
    {'table': 50000000, 'generative': 300000, 'cooccurrence': 300020}
    """
    shared = n_words * n_topics + n_documents * n_topics
    return {"table": n_words * n_documents, "generative": shared, "cooccurrence": shared + n_topics}


def sample_documents(
    doc_topic: Any, components: Any, n_words: Any = 100, random_state: Any = None
) -> sparse.csr_array:
    """Documents of the generative model: for each word a topic z ~ P(z|d), then the word w ~ P(w|z).

    Parameters
    ----------
    doc_topic : array of shape (N, K)
        P(z|d) of the documents to draw.
    components : array of shape (K, M)
        P(w|z).
    n_words : int or array of int of shape (N,), default=100
        The lengths of the documents.
    random_state : int, optional
        Decides what is drawn.

    Returns
    -------
    counts : CSR array of shape (N, M)

    Examples
    --------
    >>> sample_documents([[1.0, 0.0], [0.5, 0.5]], [[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]], 10, 0).toarray()[0, 2]
    np.float64(0.0)
    """
    theta = check_array(doc_topic, dtype=np.float64, input_name="doc_topic")
    phi = check_array(components, dtype=np.float64, input_name="components")
    lengths = np.broadcast_to(np.asarray(n_words), (len(theta),))
    if lengths.dtype.kind not in "iu" or lengths.min(initial=0) < 0:
        raise ValueError(f"n_words must be whole numbers of at least 0; got {n_words!r}.")
    rng = generator(random_state)
    topics = rng.multinomial(
        lengths, theta / theta.sum(axis=1, keepdims=True)
    )  # how many words of each topic
    phi = phi / phi.sum(axis=1, keepdims=True)
    drawn = [sum(rng.multinomial(m, p) for m, p in zip(row, phi)) for row in topics]
    return sparse.csr_array(np.asarray(drawn, dtype=np.float64).reshape(len(theta), phi.shape[1]))


def _posterior(
    n: np.ndarray, theta: np.ndarray, phi: np.ndarray, theta_power: np.ndarray, phi_power: np.ndarray
) -> tuple[np.ndarray, float]:
    """P(z|w,d) of shape (N, K, M), 0 where no topic explains a word, and Σ n log Σ_z θ φ."""
    joint = theta_power[:, :, None] * phi_power[None, :, :]
    total = joint.sum(axis=1, keepdims=True)
    posterior = np.divide(joint, total, out=np.zeros_like(joint), where=total > 0)
    probability = theta @ phi
    here = (n > 0) & (probability > 0)  # cells without a count may be 0/0, and say nothing
    return posterior, float((n[here] * np.log(probability[here])).sum())


def _shares(values: np.ndarray, axis: int, otherwise: np.ndarray) -> np.ndarray:
    """Values divided by their sum along an axis; `otherwise` where that is 0."""
    total = values.sum(axis=axis, keepdims=True)
    return np.where(total > 0, values / np.where(total > 0, total, 1.0), otherwise)


def _checked(counts: Any, doc_topic: Any, components: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    counts = counts.toarray() if sparse.issparse(counts) else counts
    given = {"counts": counts, "doc_topic": doc_topic, "components": components}
    n, theta, phi = (check_array(A, dtype=np.float64, input_name=name) for name, A in given.items())
    for name, A in zip(given, (n, theta, phi)):
        refuse_negative(A, f"an EM step of PLSA ({name})")
    if theta.shape[0] != n.shape[0] or phi.shape != (theta.shape[1], n.shape[1]):
        raise ValueError(
            f"P(z|d) and P(w|z) must be of shapes (N, K) and (K, M) for counts of shape (N, M) = {n.shape}; got "
            f"{theta.shape} and {phi.shape}."
        )
    return n, theta, phi
