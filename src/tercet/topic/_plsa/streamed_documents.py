"""Documents of a source for PLSA: they are read anew in every pass, and P(z|d) is kept beside them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from tercet.core.parallel import Chunks, each, elsewhere
from tercet.core.row_pages import Field
from tercet.core.row_states import State, row_states
from tercet.topic._plsa.expectation import PER_WORD, Expectation
from tercet.topic._plsa.factors import Factors, normalize_topics, tempered
from tercet.topic._plsa.weighted_counts import in_unit, safe_exponent, weighted_data
from tercet.topic.documents import without_zeros

CHUNK_BYTES = 1 << 22  # of documents that are worked on together


class TopicEstimates(NamedTuple):
    """What passes learn for all documents.

    Attributes
    ----------
    phi : array of shape (n_words, padded n_components)
        P(w|z).
    weights : array of shape (n_components,)
        P(z) = Σ_d P(d) P(z|d).
    sums : array of shape (n_components,)
        Σ_d θ_dz.
    """

    phi: np.ndarray
    weights: np.ndarray
    sums: np.ndarray


class StreamedDocuments:
    """EM steps over documents of a source, with θ in the states of their chunks.

    Parameters
    ----------
    X : StreamedArray of shape (n_documents, n_words)
    weight : StreamedArray of shape (n_documents,), optional
    n_components : int
        Topics.
    joint : bool
        Whether θ is P(z,d), of the co-occurrence model, and not P(z|d).
    beta : float
        Of tempered EM.
    n_jobs : int
        Threads.

    Attributes
    ----------
    mass : float
        The number of words, in the unit of the passes.
    unit : float
        That unit.
    """

    def __init__(
        self, X: Any, weight: Any, n_components: int, *, joint: bool, beta: float, n_jobs: int
    ) -> None:
        n, d = X.shape
        # enough counts beside the expected ones of all words, of which each chunk makes a table
        size = max(CHUNK_BYTES, 12 * PER_WORD * d)
        self.chunks = Chunks(X, weight, rows=int(np.clip(n * size // max(X.nbytes, 1), 64, n)))
        most, mass = 0.0, 0.0
        for largest, words in each(_sizes, self.chunks, n_jobs=n_jobs):
            most, mass = max(most, largest), mass + words
        exponent = safe_exponent(most)
        self.unit, self.mass = float(np.exp2(exponent)), float(np.ldexp(mass, -exponent))
        # threads share the work inside a chunk; workers of a cluster have chunks of their own
        threads = 1 if elsewhere() else n_jobs
        self.settings = Settings(n_components, exponent, self.mass if joint else 0.0, beta, threads)
        self.states = row_states(self.chunks, {"theta": Field((n_components,), np.float64)})

    def __enter__(self) -> StreamedDocuments:
        return self

    def __exit__(self, *error: Any) -> None:
        self.states.close()

    def start(self, theta: np.ndarray, phi: np.ndarray) -> TopicEstimates:
        """Give all documents the same θ."""
        rows = np.diff(self.chunks.borders).tolist()
        self.states.start(_same_theta, theta, own=rows, reads=False)
        return TopicEstimates(phi, theta / theta.sum(), theta * sum(rows))

    def step(self, topics: TopicEstimates) -> tuple[float, TopicEstimates]:
        """E and M step: the log-likelihood before them, and the new topics; θ is changed in the states."""
        phi, beta = topics.phi, self.settings.beta
        power = None if beta == 1 else phi**beta
        sums = topics.sums if self.settings.total > 0 and beta != 1 else None
        value, word, shares, sums = self.states.update(expected_counts, self.settings, phi, power, sums)
        normalize_topics(word, otherwise=phi)
        return value, TopicEstimates(word, shares / shares.sum(), sums)

    def log_likelihood(self, phi: np.ndarray) -> float:
        """Σ n(d,w) log Σ_z θ_dz φ_wz over all documents."""
        return float(self.states.total(log_likelihood, self.settings, phi))

    def theta(self) -> np.ndarray:
        """θ of all documents, in memory."""
        return np.concatenate([state["theta"] for state in self.states.gathered()])


class Settings(NamedTuple):
    """What a pass needs to know beside the topics; `total` is the number of words where θ is P(z,d), else 0."""

    k: int
    exponent: int
    total: float
    beta: float
    n_jobs: int

    def counts(self, chunk: Any) -> Any:
        """The weighted counts of the documents of a chunk."""
        X, weight = chunk
        X = without_zeros(sparse.csr_array(X))
        return in_unit(X, weighted_data(X, weight), self.exponent)


def expected_counts(
    chunk: Any,
    state: State,
    settings: Settings,
    phi: np.ndarray,
    power: np.ndarray | None,
    sums: np.ndarray | None,
) -> Any:
    """E step over a chunk: the new θ; the log-likelihood before, n(w) P(z|w), Σ_d n(d) P(z|d) and Σ_d θ_d."""
    k, counts = settings.k, settings.counts(chunk)
    engine = Expectation(counts, k, settings.n_jobs)
    theta = engine.padded(state["theta"])
    doc, word = np.zeros_like(theta), np.zeros_like(phi)
    powers = _powers(theta, settings.beta, sums, k)
    value, _ = engine.expect(powers, phi if power is None else power, doc, word, settings.total)
    if power is not None:
        value = float(engine.log_likelihoods(theta, phi)[0].sum())
    new, words = np.ascontiguousarray(doc[:, :k]), np.asarray(counts.sum(axis=1)).ravel()
    whole = new.sum(axis=1)
    shares = np.divide(words, whole, out=np.zeros(whole.shape), where=whole > 0) @ new
    return {"theta": new}, (value, word, shares, new.sum(axis=0))


def log_likelihood(chunk: Any, state: State, settings: Settings, phi: np.ndarray) -> float:
    """Σ n(d,w) log Σ_z θ_dz φ_wz over a chunk."""
    engine = Expectation(settings.counts(chunk), settings.k, settings.n_jobs, learns=False)
    return float(engine.log_likelihoods(engine.padded(state["theta"]), phi)[0].sum())


def _same_theta(chunk: None, rows: int, theta: np.ndarray) -> State:
    return {"theta": np.tile(theta, (rows, 1))}


def _powers(theta: np.ndarray, beta: float, sums: np.ndarray | None, k: int) -> np.ndarray:
    """θ to the power β; of P(z,d) = P(z) P(d|z), the second factor only (see `factors.tempered`)."""
    if sums is None:
        return tempered(Factors(theta, theta[:0]), beta, joint=False).theta
    power = theta**beta
    power[:, :k] *= sums ** (1 - beta)
    return power


def _sizes(chunk: Any) -> tuple[float, float]:
    """The largest count of a chunk, times its weight, and their sum."""
    X, weight = chunk
    data = weighted_data(without_zeros(sparse.csr_array(X)), weight)
    return float(data.max(initial=0.0)), float(data.sum())
