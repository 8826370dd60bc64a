"""PLSA over documents of a source (Alg 18.1): expected counts of words are sums over documents."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.estimator import generator
from tercet.core.parallel import all_cores, elsewhere
from tercet.core.steps import Steps
from tercet.topic._plsa.factors import Start, first_topics, topic_start
from tercet.topic._plsa.streamed_documents import StreamedDocuments

NO_DOCUMENTS = (
    "This %(name)s has no P(z|d) of training documents: it is not fitted, or was fitted to a source. Fit it to "
    "documents in memory, or call transform."
)


def streaming_refusal(model: Any) -> str:
    """Why the parameters of a model do not allow learning from a source, and what does; "" where they do."""
    if elsewhere():
        return (
            "P(z|d) of every document is changed in every pass, and blocks on the workers of a cluster cannot be. "
            "Use `tercet.engine('stream')` on one machine."
        )
    if model.beta == "held-out":
        return "beta='held-out' splits the words of all documents at once. Use a number for beta."
    if model.doc_topic_init is not None:
        return "doc_topic_init has numbers for every document. Use components_init alone."
    return ""


def fit_streamed(model: Any, X: Any, weight: Any) -> None:
    """Learn the topics of streamed documents."""
    rng, k, joint = generator(model.random_state), model.n_components, model.model == "cooccurrence"
    given = Start(model.components_init, None, model.topic_weights_init)
    with StreamedDocuments(X, weight, k, joint, all_cores(model.n_jobs)) as documents:
        if not documents.mass > 0:
            raise ValueError(f"PLSA: X has no words: all counts of its {X.shape[0]} documents are zero.")
        best: tuple[float, np.ndarray, np.ndarray, Steps] | None = None

        def fitted(phi: np.ndarray) -> dict[str, Any]:
            return {
                "components_": np.array(phi[:, :k].T, dtype=X.dtype, order="C"),
                "topic_weights_": documents.topic_weights().astype(X.dtype, copy=False),
                "beta_": float(model.beta),
            }

        for loop in model._restarts(fitted):
            phi = first_topics((k, X.shape[1]), given, rng)
            documents.start(topic_start(X.shape[0], k, given, joint=joint))
            before = -np.inf
            for step in loop:
                value, phi = documents.step(phi, float(model.beta))
                step.report(phi, log_likelihood=value * documents.unit)
                if model.tol > 0 and step.converged(value - before < model.tol * documents.mass):
                    break
                before = value
            value = documents.log_likelihood(phi)
            if best is None or value > best[0]:
                best = value, phi, documents.topic_weights(), loop
    assert best is not None
    value, phi, topics, loop = best
    model.components_ = np.array(phi[:, :k].T, dtype=X.dtype, order="C")
    model.topic_weights_, model.beta_ = topics.astype(X.dtype, copy=False), float(model.beta)
    model.log_likelihood_, model.n_iter_ = value * documents.unit, loop.count
