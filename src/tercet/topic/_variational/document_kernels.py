"""Kernels over documents: variational parameters γ of each one, and what it adds to the bound."""

from __future__ import annotations

import math

import numpy as np

from tercet.core.kernel import inner, kernel
from tercet.topic._variational.special_functions import (
    digamma,
    digamma_parts,
    dirichlet_terms,
    exp_of_differences,
)

EPSILON = 2.220446049250313e-16  # added to a sum of probabilities that may be zero, as scikit-learn does
PLAIN = 1e-10  # from here on EPSILON can be taken away again
TINY = 1e-280  # below this a sum of products may have lost terms


@kernel
def infer_documents(rows, start, stop, word_topic, alpha, gamma, exp_theta, ratios, limit, tol):
    """Coordinate ascent for documents start to stop, from the γ that are given.

    word_topic (V, K): exp(E[log φ]); gamma (D, K): γ, in and out; exp_theta (D, K): exp(E[log θ]), out;
    ratios (nnz,): count / Σ_k exp_theta word_topic of each entry, out (where there is room).
    """
    K, longest = alpha.size, 0
    for d in range(start, stop):
        longest = max(longest, rows.indptr[d + 1] - rows.indptr[d])
    table, fresh = np.empty((longest, K)), np.empty(K)
    growth, shift, work = np.empty(K), np.empty(K), np.empty(K)
    bits = work.view(np.int64)
    for d in range(start, stop):
        first, m = rows.indptr[d], rows.indptr[d + 1] - rows.indptr[d]
        counts, g, weights = rows.data[first : first + m], gamma[d], exp_theta[d]
        for j in range(m):  # the rows of its words, in one piece of memory
            copy_row(word_topic[rows.indices[first + j]], table[j])
        expect_logs(g, growth, shift, weights, work, bits)
        for _ in range(limit):
            add_words(table, counts, weights, fresh)
            change = 0.0
            for k in range(K):
                new = weights[k] * fresh[k] + alpha[k]
                change += abs(new - g[k])
                g[k] = new
            expect_logs(g, growth, shift, weights, work, bits)
            if change < tol * K:
                break
        if ratios.size:
            found = ratios[first : first + m]
            for j in range(m):
                found[j] = counts[j] / (dot(table[j], weights) + EPSILON)


@kernel
def document_bounds(
    rows, start, stop, sample_weight, word_topic, pseudocounts, topic_digamma, alpha, gamma, exp_theta, ratios
):
    """Weighted sum over documents start to stop of E[log p(w|θ, φ)] + E[log p(θ) - log q(θ)], without log B(α).

    pseudocounts (V, K): λ; topic_digamma (K,): ψ(Σ_v λ_v). Where `ratios` are given, the rows of word_topic, which
    are scattered over memory, need not be read again.
    """
    K, total_bound = alpha.size, 0.0
    centre, weight, x, part = np.empty(K), np.empty(K), np.empty(K), np.empty(K)
    x_bits, part_bits = x.view(np.int64), part.view(np.int64)
    for d in range(start, stop):
        g, weights = gamma[d], exp_theta[d]
        total = 0.0
        for k in range(K):
            total += g[k]
        centre[:] = digamma(total)
        bound = dirichlet_terms(g, alpha, centre, weight, x, x_bits, part, part_bits) - math.lgamma(total)
        for s in range(rows.indptr[d], rows.indptr[d + 1]):
            v = rows.indices[s]
            chance = rows.data[s] / ratios[s] - EPSILON if ratios.size else 0.0
            if chance < PLAIN:
                chance = dot(word_topic[v], weights)
            if chance > TINY:
                bound += rows.data[s] * math.log(chance)
            else:
                bound += rows.data[s] * log_chance(g, centre[0], pseudocounts[v], topic_digamma)
        total_bound += sample_weight[d] * bound
    return total_bound


@inner
def log_chance(gamma, whole, pseudocounts, topic_digamma):
    """log Σ_k exp(E[log θ_k] + E[log φ_kv]), where the sum itself underflows; whole: ψ(Σ γ)."""
    most = -np.inf
    for k in range(gamma.size):
        most = max(most, digamma(gamma[k]) + digamma(pseudocounts[k]) - topic_digamma[k])
    total = 0.0
    for k in range(gamma.size):
        total += math.exp(digamma(gamma[k]) + digamma(pseudocounts[k]) - topic_digamma[k] - most)
    return most - whole + math.log(total)


@inner
def expect_logs(gamma, growth, shift, out, work, bits):
    """out = exp(E[log θ]) for θ ~ Dirichlet(gamma)."""
    total = 0.0
    for k in range(gamma.size):
        total += gamma[k]
    g, s = digamma_parts(total)
    growth[:] = g
    shift[:] = s
    exp_of_differences(gamma, growth, shift, out, work, bits)


@inner
def dot(a, b):
    total = 0.0
    for k in range(b.size):
        total += a[k] * b[k]
    return total


@inner
def add_words(table, counts, weights, out):
    """out = Σ_j row_j counts_j / (row_j · weights) over the words of a document; four at a time spare loads."""
    out[:] = 0.0
    for j in range(0, counts.size - 3, 4):
        a, b, c, d = table[j], table[j + 1], table[j + 2], table[j + 3]
        sum_a, sum_b, sum_c, sum_d = 0.0, 0.0, 0.0, 0.0
        for k in range(weights.size):
            sum_a += a[k] * weights[k]
            sum_b += b[k] * weights[k]
            sum_c += c[k] * weights[k]
            sum_d += d[k] * weights[k]
        sum_a = counts[j] / (sum_a + EPSILON)
        sum_b = counts[j + 1] / (sum_b + EPSILON)
        sum_c = counts[j + 2] / (sum_c + EPSILON)
        sum_d = counts[j + 3] / (sum_d + EPSILON)
        for k in range(out.size):
            out[k] += (sum_a * a[k] + sum_b * b[k]) + (sum_c * c[k] + sum_d * d[k])
    for j in range(counts.size // 4 * 4, counts.size):
        row = table[j]
        scale = counts[j] / (dot(row, weights) + EPSILON)
        for k in range(out.size):
            out[k] += scale * row[k]


@inner
def copy_row(row, out):
    for k in range(out.size):
        out[k] = row[k]
