"""PLSA over documents of a source (Alg 18.1): expected counts of words are sums over documents."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.estimator import generator
from tercet.core.parallel import all_cores
from tercet.core.row_states import array_in_memory
from tercet.core.steps import Steps
from tercet.topic._plsa.factors import Factors, Start, attributes, first_topics, topic_start
from tercet.topic._plsa.streamed_documents import StreamedDocuments, Topics
from tercet.topic._plsa.weighted_counts import in_safe_unit

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

    def fitted(topics: Topics) -> dict[str, Any]:
        return {
            "components_": np.array(topics.phi[:, :k].T, dtype=X.dtype, order="C"),
            "topic_weights_": topics.weights.astype(X.dtype, copy=False),
            "beta_": beta,
        }

    with StreamedDocuments(X, weight, k, joint=joint, beta=beta, n_jobs=all_cores(model.n_jobs)) as documents:
        if not documents.mass > 0:
            raise ValueError(f"PLSA: X has no words: all counts of its {X.shape[0]} documents are zero.")
        best: tuple[float, Topics, Any, Steps] | None = None
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
