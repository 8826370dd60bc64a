"""What `LatentDirichletAllocation` does between the sweeps of Gibbs sampling: priors, kept samples, measures."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.estimator import generator
from tercet.topic._gibbs.sampler import CollapsedGibbs
from tercet.topic.dirichlet_priors import minka_fixed_point, newton_dirichlet_prior

INTERVAL = 10  # sweeps from one log p(w, z) to the next, which costs a tenth of a sweep
FEW = {"newton": 5, "minka": 20}  # steps of an update: the counts change before the next one
LEAST = 1e-4  # of a learned α: a topic that has no words just now may have some again


MOST_DOCUMENTS = 1 << 31


def repeated(X: Any, sample_weight: np.ndarray | None) -> Any:
    """Documents as often as their weights say."""
    if sample_weight is None:
        return X
    times = np.asarray(sample_weight)
    wrong = times != np.floor(times)
    if wrong.any():
        raise ValueError(
            "LatentDirichletAllocation: learning_method='gibbs' draws the topics of whole documents: sample_weight "
            f"must hold whole numbers; it has {times[wrong][0]:g}."
        )
    if times.sum() > MOST_DOCUMENTS:
        raise ValueError(
            "LatentDirichletAllocation: learning_method='gibbs' draws the topics of as many documents as "
            f"sample_weight says; {times.sum():g} are more than {MOST_DOCUMENTS}."
        )
    return X if (times == 1).all() else X[np.repeat(np.arange(times.size), times.astype(np.int64))]


class GibbsRun:
    """A run of the sampler for a model whose priors are set.

    Parameters
    ----------
    model : LatentDirichletAllocation
        Its parameters say what to do; what is learned of priors is set there.
    X : CSR array of shape (n_documents, n_words)
        Whole counts.
    """

    def __init__(self, model: Any, X: Any) -> None:
        self.model, self.n_topics = model, model.n_components
        self.burn_in = model.max_iter // 2 if model.burn_in is None else model.burn_in
        self.sampler = CollapsedGibbs(
            X,
            self.n_topics,
            model.doc_topic_prior_,
            model.topic_word_prior_,
            generator(model.random_state_),
            shards=model.shards,
            n_jobs=model.n_jobs,
        )
        self.kept: np.ndarray | None = None
        self.n_kept = 0

    def sweep(self) -> None:
        """Draw a new topic for every word."""
        self.sampler.sweep()

    def learn_priors(self, sweep: int) -> None:
        """Fit α, and η if asked for, to the present counts."""
        model, since = self.model, sweep - self.burn_in
        if since <= 0 or since % model.prior_interval:
            return
        if model.prior_update is None and not model.word_prior_update:
            return
        if model.prior_update is not None:
            fit = {"newton": newton_dirichlet_prior, "minka": minka_fixed_point}[model.prior_update]
            start = np.clip(self.sampler.alpha, 1e-6, 1e6)
            found = fit(self.sampler.document_table(), start, max_iter=FEW[model.prior_update])
            model.doc_topic_prior_ = np.maximum(found, LEAST)
        if model.word_prior_update:
            start = np.clip(model.topic_word_prior_, 1e-6, 1e6)
            found = minka_fixed_point(
                self.sampler.word_table(), float(start), symmetric=True, max_iter=FEW["minka"]
            )
            model.topic_word_prior_ = float(found[0])
        self.sampler.set_priors(model.doc_topic_prior_, model.topic_word_prior_)

    def keep_sample(self, sweep: int) -> None:
        """Add the counts to the mean, where they are kept."""
        thin, since = self.model.thin, sweep - self.burn_in
        if thin is None or since <= 0 or since % thin:
            return
        if self.kept is None:
            self.kept = np.zeros((self.n_topics, self.sampler.data.n_words))
        self.kept += self.sampler.topic_word
        self.n_kept += 1

    def measures(self, sweep: int) -> dict[str, float]:
        """log p(w, z) and the perplexity of the documents, where it is time for them."""
        every = self.model.evaluate_every
        if every > 0:
            if sweep % every:
                return {}
            return {
                "log_likelihood": self.sampler.log_likelihood(),
                "perplexity": self.sampler.perplexity(),
            }
        if sweep % INTERVAL and sweep != self.model.max_iter:
            return {}
        return {"log_likelihood": self.sampler.log_likelihood()}

    def pseudocounts(self) -> np.ndarray:
        """n_kw + η_w, of shape (V, K): the mean of the kept samples, or the present counts."""
        counts = self.sampler.topic_word if self.kept is None else self.kept / self.n_kept
        return (counts + self.sampler.beta).T
