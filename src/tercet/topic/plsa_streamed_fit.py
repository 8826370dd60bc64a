"""PLSA over documents of a source (Alg 18.1): expected counts of words are sums over documents."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.estimator import generator
from tercet.core.parallel import Chunks, all_cores, elsewhere, total
from tercet.core.row_states import array_in_memory
from tercet.core.source_checks import SourceChecks
from tercet.core.source_fits import MappedSource
from tercet.core.sources import RowSource
from tercet.core.steps import Steps, without_fit
from tercet.core.streams import Stream
from tercet.topic._plsa.factors import Factors, Start, attributes, first_topics, topic_start
from tercet.topic._plsa.streamed_documents import StreamedDocuments, TopicEstimates
from tercet.topic._plsa.weighted_counts import in_safe_unit
from tercet.topic.documents import without_zeros

NO_DOCUMENTS = (
    "This %(name)s has no P(z|d) of training documents: it is not fitted, or was fitted to a source. Fit it to "
    "documents in memory, or call transform."
)


def streaming_refusal(model: Any) -> str:
    """Why the parameters of a model do not allow learning from a source, and what does; "" where they do."""
    if model.beta == "held-out":
        return "beta='held-out' splits the words of all documents at once. Use a number for beta."
    if model.doc_topic_init is not None:
        return "doc_topic_init has numbers for every document. Use components_init alone."
    return ""


def fit_streamed(model: Any, X: Any, weight: Any) -> None:
    """Learn the topics of streamed documents."""
    rng, k, joint = generator(model.random_state), model.n_components, model.model == "cooccurrence"
    given = Start(model.components_init, None, model.topic_weights_init)
    beta, here = float(model.beta), array_in_memory(X)

    def fitted(topics: TopicEstimates) -> dict[str, Any]:
        return {
            "components_": np.array(topics.phi[:, :k].T, dtype=X.dtype, order="C"),
            "topic_weights_": topics.weights.astype(X.dtype, copy=False),
            "beta_": beta,
        }

    with StreamedDocuments(X, weight, k, joint=joint, beta=beta, n_jobs=all_cores(model.n_jobs)) as documents:
        if not documents.mass > 0:
            raise ValueError(f"PLSA: X has no words: all counts of its {X.shape[0]} documents are zero.")
        best: tuple[float, TopicEstimates, Any, Steps] | None = None
        for loop in model._restarts(fitted):
            phi = first_topics((k, X.shape[1]), given, rng)
            topics = documents.start(topic_start(X.shape[0], k, given, joint=joint), phi)
            before = -np.inf
            for step in loop:
                value, topics = documents.step(topics)
                step.report(topics, log_likelihood=value * documents.unit)
                if model.tol > 0 and step.converged(value - before < model.tol * documents.mass):
                    break
                before = value
            value = documents.log_likelihood(topics.phi)
            if best is None or value > best[0]:
                best = value, topics, None if here is None else documents.theta(), loop
    assert best is not None
    value, topics, theta, loop = best
    model.__dict__.update(fitted(topics), log_likelihood_=value * documents.unit, n_iter_=loop.count)
    if here is not None:  # documents in memory that were learned from on a cluster
        counts, _ = in_safe_unit(here, None if weight is None else array_in_memory(weight))
        words = np.asarray(counts.sum(axis=1)).ravel()
        model.__dict__.update(attributes(Factors(theta, topics.phi), k, words, X.dtype))


def likelihood_of_source(model: Any, source: RowSource) -> tuple[float, float]:
    """Σ n(d,w) log P(w|d) of the documents of a source, with P(z|d) from folding in, and Σ n(d,w), over the words
    that were seen in training."""
    mapped = MappedSource(source, model, "score")  # its columns are those of the model, in their order
    checks = SourceChecks(type(model).__name__, positive=True, largest=model.largest_value)
    X = Stream(source, mapped.inputs, (), None, checks).array("X")
    alone = without_fit(mapped.model)
    if elsewhere():
        alone.n_jobs = 1  # workers have chunks of their own
    value, seen = total(_folded_likelihood, Chunks(X), alone, n_jobs=1)
    return float(value), float(seen)


def perplexity_of(model: Any, likelihood: float, seen: float) -> float:
    """exp(-log-likelihood / words), or an error where there are no words."""
    if not seen > 0:
        raise ValueError(
            f"{type(model).__name__}: perplexity needs a word that was seen in training; there is none."
        )
    return float(np.exp(-likelihood / seen))


def _folded_likelihood(chunk: Any, model: Any) -> tuple[float, float]:
    counts = without_zeros(sparse.csr_array(chunk[0]))
    _, engine, theta, phi = model._folded(counts)
    unit, (values, seen) = in_safe_unit(counts)[1], engine.log_likelihoods(theta, phi)
    return float(values.sum()) * unit, float(seen.sum()) * unit
