"""Learning one sequence at a time where attributes act on transitions too: each step has a table of its own.

Beside what the kernels of `crf_online_kernels` see, `B` are the rows of the acting attributes, whose features from
first_b[a] to first_b[a + 1] have pairs of labels (from * n_labels + to) in `pair`; their weights are the last ones.
`tables` has room for two tables (longest, n_labels, n_labels).
"""

from __future__ import annotations

import numpy as np

from tercet.core.kernel import inner, kernel
from tercet.core.rows import rows
from tercet.sequence.crf._engine.online_kernels import (
    compare,
    move,
    note,
    read,
    soften,
    take_off,
)
from tercet.sequence.crf._engine.products import Features
from tercet.sequence.crf._engine.transitions import by_column, log_smooth_at, on_columns, sweep_at, viterbi_at
from tercet.sequence.crf.online import Corpus
from tercet.sequence.text.sequences import Sequences


class BigramCorpus(Corpus):
    """Labelled sequences as the kernels below want them; the parameters are those of `Corpus`."""

    def __init__(self, X: Sequences, y: np.ndarray, weight: np.ndarray | None, features: Features) -> None:
        super().__init__(X, y, weight, features)
        assert features.bigrams is not None
        columns, bigrams = by_column(features.bigrams)
        tables = np.zeros((2, X.longest, features.n_labels, features.n_labels))
        acting = rows(on_columns(X.rows, columns))
        self.data = (*self.data, acting, bigrams.first, bigrams.label, tables)
        self.gradient_pass, self.mistaken_pass = gradient_pass_at, mistaken_pass_at


def corpus_of(X: Sequences, y: np.ndarray, weight: np.ndarray | None, features: Features) -> Corpus:
    """The corpus for these features."""
    kind = Corpus if features.bigrams is None else BigramCorpus
    return kind(X, y, weight, features)


@inner
def read_steps_at(edge_at, B, begin, end, first_b, pair, w, scale, steps):
    """The scores of the steps to the tokens of a sequence, after the first."""
    N = edge_at.shape[0]
    read(B, begin + 1, end, first_b, pair, w[w.size - pair.size :], scale, steps[1:].reshape(-1, N * N))
    for k in range(1, end - begin):
        for i in range(N):
            for j in range(N):
                if edge_at[i, j] >= 0:
                    steps[k, i, j] += scale * w[edge_at[i, j]]


@kernel
def gradient_pass_at(
    order, X, borders, y, weight, first, label, edge_at, B, first_b, pair, tables, v, room, scale, eta, decay, t
):  # fmt: skip
    """`gradient_pass` with a table for each step."""
    N = edge_at.shape[0]
    kind, sizes = np.arange(room.shape[1]), np.empty(room.shape[1])
    loss = 0.0
    for s in order:
        begin, end = borders[s], borders[s + 1]
        T = end - begin
        scores, like, alpha, beta = room[0, :T], room[1, :T], room[2, :T], room[3, :T]
        steps, edge = tables[0, :T], tables[1, :T]
        read(X, begin, end, first, label, v, scale, scores)
        read_steps_at(edge_at, B, begin, end, first_b, pair, v, scale, steps)
        shift = soften(scores, like) + soften(steps[1:].reshape(-1, N * N), edge[1:].reshape(-1, N * N))
        log_z = sweep_at(kind, edge, like, alpha, beta, sizes, 0, T)
        if log_z > -np.inf:
            log_z += shift
            for k in range(1, T):
                for i in range(N):
                    for j in range(N):
                        edge[k, i, j] *= alpha[k - 1, i] * like[k, j]
        else:
            for k in range(1, T):
                for i in range(N):
                    for j in range(N):
                        edge[k, i, j] = 0.0
            log_z = log_smooth_at(kind, steps, scores, 1.0, alpha, beta, edge)
        loss += weight[s] * log_z
        for k in range(T):
            here = y[begin + k]
            loss -= weight[s] * scores[k, here]
            beta[k, here] -= 1.0
            if k > 0:
                before = y[begin + k - 1]
                loss -= weight[s] * steps[k, before, here]
                edge[k, before, here] -= 1.0
        step = eta / (1.0 + decay * eta * t)
        scale *= 1.0 - step * decay
        if scale < 1e-9:
            for p in range(v.size):
                v[p] *= scale
            scale = 1.0
        rate = step * weight[s] / scale
        take_off(X, begin, end, first, label, rate, beta, v)
        take_off(B, begin + 1, end, first_b, pair, rate, edge[1:].reshape(-1, N * N), v[v.size - pair.size :])
        for k in range(1, T):
            for i in range(N):
                for j in range(N):
                    if edge_at[i, j] >= 0:
                        v[edge_at[i, j]] -= rate * edge[k, i, j]
        t += 1.0
    return loss, scale


@kernel
def mistaken_pass_at(
    order, X, borders, y, weight, first, label, edge_at, B, first_b, pair, tables, w, room, rule, sums, seen,
    variance, change, touched,
):  # fmt: skip
    """`mistaken_pass` with a table for each step."""
    N, base = edge_at.shape[0], w.size - pair.size
    kind, path = np.arange(room.shape[1]), np.empty(room.shape[1], np.int64)
    places = np.empty(change.size, np.int64)
    wrong, mistaken = 0.0, 0
    for s in order:
        begin, end = borders[s], borders[s + 1]
        T = end - begin
        scores, steps = room[0, :T], tables[0, :T]
        read(X, begin, end, first, label, w, 1.0, scores)
        read_steps_at(edge_at, B, begin, end, first_b, pair, w, 1.0, steps)
        best = viterbi_at(kind, steps, scores, room[1, :T], path[:T])
        errors, own, n = 0, 0.0, 0
        for k in range(T):
            t, here, said = begin + k, y[begin + k], path[k]
            own += scores[k, here]
            if here != said:
                errors += 1
                n = compare(X, t, first, label, 0, here, said, change, touched, places, n)
            if k > 0:
                before, thought = y[t - 1], path[k - 1]
                own += steps[k, before, here]
                if here != said or before != thought:
                    n = note(edge_at[before, here], 1.0, change, touched, places, n)
                    n = note(edge_at[thought, said], -1.0, change, touched, places, n)
                    right, other = before * N + here, thought * N + said
                    n = compare(B, t, first_b, pair, base, right, other, change, touched, places, n)
        wrong += errors / T
        if errors > 0:
            mistaken += 1
            move(rule, best - own, errors, weight[s], places[:n], w, sums, seen, variance, change, touched)
        seen[0] += 1.0
    return wrong, mistaken


__all__ = ["BigramCorpus", "corpus_of"]
