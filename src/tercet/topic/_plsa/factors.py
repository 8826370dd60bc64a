"""P(z|d) and P(w|z) as the passes of PLSA have them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tercet.core.cache_lines import lines
from tercet.core.validation import check_array, refuse_negative
from tercet.topic._plsa.expectation import Expectation


class Factors(NamedTuple):
    """P(z|d), or P(z,d) in the co-occurrence model, and P(w|z): tables padded to whole cache lines."""

    theta: np.ndarray
    phi: np.ndarray

    def copy(self) -> Factors:
        return Factors(self.theta.copy(), self.phi.copy())

    def room(self) -> Factors:
        """Tables of the same shapes, to be overwritten."""
        return Factors(np.zeros_like(self.theta), np.zeros_like(self.phi))


class Start(NamedTuple):
    """What a caller gave to start from; None for what is drawn, or equal for all."""

    components_init: Any
    doc_topic_init: Any
    topic_weights_init: Any

    def table(self, name: str, shape: tuple[int, ...], axis: int) -> np.ndarray:
        """One of them, as distributions along an axis."""
        given = check_array(getattr(self, name), dtype=np.float64, input_name=name, ensure_2d=len(shape) == 2)
        refuse_negative(given, f"PLSA ({name})")
        if given.shape != shape:
            raise ValueError(f"PLSA: {name} must have the shape {shape}; its shape is {given.shape}.")
        given = given / max(float(given.max()), np.finfo(float).tiny)  # sums of large numbers are numbers
        totals = given.sum(axis=axis, keepdims=True)
        if not totals.all():
            raise ValueError(f"PLSA: {name} has a distribution that is all zero.")
        return given / totals


def first_factors(
    engine: Expectation, shape: tuple[int, int], given: Start, rng: np.random.Generator, *, joint: bool
) -> Factors:
    """The first P(z|d), or P(z,d) where `joint`, and P(w|z)."""
    (n, d), k = shape, engine.n_components
    phi = first_topics((k, d), given, rng)
    if given.doc_topic_init is None:
        return Factors(engine.padded(np.broadcast_to(topic_start(n, k, given, joint=joint), (n, k))), phi)
    theta = given.table("doc_topic_init", (n, k), 0 if joint else 1)
    weights = first_weights(k, given, joint=joint)
    return Factors(engine.padded(theta * weights if joint else theta), phi)


def first_topics(shape: tuple[int, int], given: Start, rng: np.random.Generator) -> np.ndarray:
    """The first P(w|z) for (topics, words): as it was given, or drawn; of shape (words, padded topics)."""
    k, d = shape
    if given.components_init is None:
        topics = rng.exponential(size=(k, d))
        topics /= topics.sum(axis=1, keepdims=True)
    else:
        topics = given.table("components_init", (k, d), 1)
    phi = lines(d, k, np.float64)
    phi[:, :k] = topics.T
    return phi


def topic_start(n: int, k: int, given: Start, *, joint: bool) -> np.ndarray:
    """P(z|d), or P(z,d), that all documents begin with: so one with weight 2 is as good as two."""
    weights = first_weights(k, given, joint=joint)
    return np.full(k, 1.0 / n) * weights if joint else weights


def first_weights(k: int, given: Start, *, joint: bool) -> np.ndarray:
    """The first P(z); equal ones, where there is no such start."""
    if given.topic_weights_init is None:
        return np.full(k, 1.0 / k)
    if not joint:
        raise ValueError(
            'PLSA: topic_weights_init is P(z) of model="cooccurrence"; model="generative" has no such start.'
        )
    return given.table("topic_weights_init", (k,), 0)


def normalize_topics(phi: np.ndarray, otherwise: np.ndarray) -> None:
    """Make distributions of the columns of φ; of one that is all zero, the one it was."""
    totals = phi.sum(axis=0)
    phi *= np.divide(1.0, totals, out=np.zeros_like(totals), where=totals > 0)
    for t in np.flatnonzero(totals == 0):  # no word is of this topic any more
        phi[:, t] = otherwise[:, t]


def tempered(factors: Factors, beta: float, *, joint: bool) -> Factors:
    """θ and φ to the power β; of P(z,d) = P(z) P(d|z), the second factor only."""
    if beta == 1:
        return factors
    theta, phi = factors
    power = theta**beta
    if joint:
        power *= theta.sum(axis=0) ** (1 - beta)
    return Factors(power, phi**beta)


def attributes(factors: Factors, k: int, words: np.ndarray, dtype: Any) -> dict[str, Any]:
    """The fitted attributes for k topics; `words` are the numbers of words of the documents."""
    theta, phi = (table[:, :k] for table in factors)
    shares = words / words.sum()
    rows = theta.sum(axis=1, keepdims=True)
    theta = np.divide(theta, rows, out=np.zeros(theta.shape), where=rows > 0)
    topics = shares @ theta
    topics /= topics.sum()
    theta[words == 0] = topics
    found = {
        "components_": np.ascontiguousarray(phi.T),
        "doc_topic_": theta,
        "topic_weights_": topics,
        "document_weights_": shares,
    }
    return {name: table.astype(dtype, copy=False) for name, table in found.items()}
