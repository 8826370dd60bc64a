"""Kernels over words: the M step, exp(E[log φ]) and what topics add to the bound."""

from __future__ import annotations

import numpy as np

from tercet.core.kernel import kernel
from tercet.topic._variational.special_functions import dirichlet_terms, exp_of_differences


@kernel
def update_words(
    indptr,
    documents,
    entries,
    start,
    stop,
    ratios,
    exp_theta,
    word_topic,
    prior,
    before,
    after,
    keep,
    fresh,
    scale,
):
    """λ of words start to stop: keep λ + fresh (η + scale Σ_d n_dv q(z|d, v)); returns its sum for each topic.

    A word's entries, in the order of the documents, are indptr[v] to indptr[v + 1] of `documents` (its rows) and
    `entries` (places in ratios). prior (1 or V, K): η.
    """
    K = word_topic.shape[1]
    totals, sums = np.zeros(K), np.empty(K)
    several = prior.shape[0] > 1
    for v in range(start, stop):
        sums[:] = 0.0
        for s in range(indptr[v], indptr[v + 1]):
            ratio, weights = ratios[entries[s]], exp_theta[documents[s]]
            for k in range(K):
                sums[k] += ratio * weights[k]
        expected, eta, old, new = word_topic[v], prior[v if several else 0], before[v], after[v]
        for k in range(K):
            new[k] = keep * old[k] + fresh * (eta[k] + scale * (sums[k] * expected[k]))
            totals[k] += new[k]
    return totals


@kernel
def expect_words(pseudocounts, start, stop, growth, shift, word_topic):
    """word_topic = exp(E[log φ]) = exp(ψ(λ) - ψ(Σ_v λ)) of words start to stop.

    growth, shift (K,): parts of ψ(Σ_v λ).
    """
    work = np.empty(growth.size)
    bits = work.view(np.int64)
    for v in range(start, stop):
        exp_of_differences(pseudocounts[v], growth, shift, word_topic[v], work, bits)


@kernel
def topic_bounds(pseudocounts, start, stop, prior, topic_digamma):
    """Σ (η - λ) E[log φ] + log Γ(λ) over words start to stop and all topics."""
    bound, several = 0.0, prior.shape[0] > 1
    weight, x, part = np.empty(prior.shape[1]), np.empty(prior.shape[1]), np.empty(prior.shape[1])
    x_bits, part_bits = x.view(np.int64), part.view(np.int64)
    for v in range(start, stop):
        eta = prior[v if several else 0]
        bound += dirichlet_terms(pseudocounts[v], eta, topic_digamma, weight, x, x_bits, part, part_bits)
    return bound
