"""Documents of a source for PLSA: they are read anew in every pass, and P(z|d) is kept in pages beside them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.memory import available
from tercet.core.parallel import Chunks, each
from tercet.core.read_ahead import feed
from tercet.core.row_pages import Field, RowPages
from tercet.core.stopping import check_stop
from tercet.topic._plsa.expectation import PER_WORD, Expectation
from tercet.topic._plsa.factors import Factors, normalize_topics, tempered
from tercet.topic._plsa.weighted_counts import in_unit, safe_exponent, weighted_data
from tercet.topic.documents import without_zeros

CHUNK_BYTES = 1 << 22  # of documents that are worked on together


class StreamedDocuments:
    """EM steps over documents of a source.

    Parameters
    ----------
    X : StreamedArray of shape (n_documents, n_words)
    weight : StreamedArray of shape (n_documents,), optional
    n_components : int
        Topics.
    joint : bool
        Whether θ is P(z,d), of the co-occurrence model, and not P(z|d).
    n_jobs : int
        Threads.

    Attributes
    ----------
    mass : float
        The number of words, in the unit of the passes.
    unit : float
        That unit.
    """

    def __init__(self, X: Any, weight: Any, n_components: int, joint: bool, n_jobs: int) -> None:
        self.shape, self.k, self.joint, self.n_jobs = X.shape, n_components, joint, n_jobs
        n, d = X.shape
        # enough counts beside the expected ones of all words, of which each chunk makes a table
        size = max(CHUNK_BYTES, 12 * PER_WORD * d)
        rows = int(np.clip(n * size // max(X.nbytes, 1), 64, n))
        self.chunks = Chunks(X, weight, rows=rows)
        most, self.mass = 0.0, 0.0
        for largest, words in each(_sizes, self.chunks, n_jobs=n_jobs):
            most, self.mass = max(most, largest), self.mass + words
        self.exponent = safe_exponent(most)
        self.unit, self.mass = float(np.exp2(self.exponent)), float(np.ldexp(self.mass, -self.exponent))
        fields = {"words": Field((), np.float64), "theta": Field((self.k,), np.float64)}
        self.pages = RowPages(n, rows, fields, available() // 3)

    def __enter__(self) -> StreamedDocuments:
        return self

    def __exit__(self, *error: Any) -> None:
        self.pages.close()

    def start(self, theta: np.ndarray) -> None:
        """Give all documents the same θ."""
        for page in range(len(self.pages)):
            self.pages.get(page, "theta")[:] = theta[:, None]

    def _batches(self) -> Iterator[tuple[int, Any]]:
        with feed(self.chunks) as ordered:
            for page, (X, weight) in enumerate(ordered):
                check_stop()
                X = without_zeros(sparse.csr_array(X))
                yield page, in_unit(X, weighted_data(X, weight), self.exponent)

    def step(self, phi: np.ndarray, beta: float) -> tuple[float, np.ndarray]:
        """E and M step: the log-likelihood before them, and the new φ; θ is changed in the pages."""
        topics = self._topic_sums() if self.joint and beta != 1 else None
        value, word, power = 0.0, np.zeros_like(phi), phi if beta == 1 else phi**beta
        for page, counts in self._batches():
            engine = Expectation(counts, self.k, self.n_jobs)
            kept = self.pages.get(page, "theta")
            theta = engine.padded(kept.T)
            doc, here = np.zeros_like(theta), np.zeros_like(phi)
            total = self.mass if self.joint else 0.0
            found, _ = engine.expect(_powers(theta, beta, topics, self.k), power, doc, here, total)
            value += found if beta == 1 else float(engine.log_likelihoods(theta, phi)[0].sum())
            word += here
            kept[:] = doc[:, : self.k].T
            self.pages.get(page, "words")[:] = np.asarray(counts.sum(axis=1)).ravel()
        normalize_topics(word, otherwise=phi)
        return value, word

    def log_likelihood(self, phi: np.ndarray) -> float:
        """Σ n(d,w) log Σ_z θ_dz φ_wz over all documents."""
        value = 0.0
        for page, counts in self._batches():
            engine = Expectation(counts, self.k, self.n_jobs, learns=False)
            theta = engine.padded(self.pages.get(page, "theta").T)
            value += float(engine.log_likelihoods(theta, phi)[0].sum())
        return value

    def _topic_sums(self) -> np.ndarray:
        return sum(self.pages.get(page, "theta").sum(axis=1) for page in range(len(self.pages)))

    def topic_weights(self) -> np.ndarray:
        """P(z) = Σ_d P(d) P(z|d)."""
        sums = np.zeros(self.k)
        for page in range(len(self.pages)):
            theta, words = self.pages.get(page, "theta"), self.pages.get(page, "words")
            whole = theta.sum(axis=0)
            sums += theta @ np.divide(words, whole, out=np.zeros(whole.shape), where=whole > 0)
        return sums / sums.sum()


def _powers(theta: np.ndarray, beta: float, topics: np.ndarray | None, k: int) -> np.ndarray:
    """θ to the power β; of P(z,d) = P(z) P(d|z), the second factor only (see `factors.tempered`)."""
    if topics is None:
        return tempered(Factors(theta, theta[:0]), beta, joint=False).theta
    power = theta**beta
    power[:, :k] *= topics ** (1 - beta)
    return power


def _sizes(chunk: Any) -> tuple[float, float]:
    """The largest count of a chunk, times its weight, and their sum."""
    X, weight = chunk
    data = weighted_data(without_zeros(sparse.csr_array(X)), weight)
    return float(data.max(initial=0.0)), float(data.sum())
