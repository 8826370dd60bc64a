"""Kernels of PLSA. theta (documents, width) and phi (words, width) are padded to whole cache lines: a count reads
one row of each, and the columns from the number of topics on are zero."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.cache_lines import LINE, fetch_line, get_line, plus_line, set_line
from tercet.core.kernel import implement, inner, kernel, verb
from tercet.core.rows import Sparse
from tercet.core.sparse_products import combine

AHEAD = 8  # counts whose rows are on their way from memory
TINY = 1e-290  # a word of smaller probability in a document is impossible there: n / p must be a number
LN2 = 0.6931471805599453
ROOT_HALF = 0x3FE6A09E667F3BCD  # bits of sqrt(1/2)


@kernel
def expect(X: Any, theta: Any, phi: Any, doc: Any, word: Any, total: Any, room: Any) -> Any:
    """E step for some documents: doc_dk = Σ_w n(d,w) P(z_k|w,d), and word_wk += Σ_d n(d,w) P(z_k|w,d) / φ_wk.

    `doc` is divided by `total`, or by its sum over the topics where that is 0. Returns Σ n log Σ_k θ_dk φ_wk, and
    the sum of the counts that no topic explains, which are left out. `room` (3, longest document) holds the ratios
    n / Σ_k θ_dk φ_wk of a document, its probabilities, and their exponents.
    """
    ratio, dots = room[0], room[1]
    ends = np.zeros(2, np.int64)
    likelihood, lost = 0.0, 0.0
    for i in range(doc.shape[0]):
        x = X.data[X.indptr[i] : X.indptr[i + 1]]
        at = X.indices[X.indptr[i] : X.indptr[i + 1]]
        lost += cell_ratios(x, at, theta, i, phi, ratio, dots)
        likelihood += weighted_logs(x, dots, room[2])
        ends[1] = at.size
        combine(Sparse(ratio, at, ends, phi.shape[0]), 0, phi, doc, i)
        spread(at, ratio, theta, i, word)
        mass = 0.0
        for t in range(doc.shape[1]):
            doc[i, t] *= theta[i, t]
            mass += doc[i, t]
        scale = total if total > 0 else mass
        for t in range(doc.shape[1]):
            doc[i, t] = doc[i, t] / scale if mass > 0 else theta[i, t] * (total <= 0)
    return likelihood, lost


@kernel
def log_likelihoods(X: Any, theta: Any, phi: Any, out: Any, seen: Any, room: Any) -> None:
    """out_d = Σ_w n(d,w) log Σ_k θ_dk φ_wk over the words that are possible, whose counts add up to seen_d."""
    ratio, dots = room[0], room[1]
    for i in range(out.size):
        x = X.data[X.indptr[i] : X.indptr[i + 1]]
        at = X.indices[X.indptr[i] : X.indptr[i + 1]]
        seen[i] = x.sum() - cell_ratios(x, at, theta, i, phi, ratio, dots)
        out[i] = weighted_logs(x, dots, room[2])


@kernel
def fold_in(
    X: Any, phi: Any, theta: Any, seen: Any, work: Any, room: Any, most: Any, tol: Any, beta: Any
) -> Any:
    """θ_d of new documents by EM with φ fixed, each until its entries change by less than `tol` together, or for
    `most` passes. A document without a possible word keeps the θ it has. In tempered EM, `phi` is φ^β. Returns
    whether all came to an end. `work` (2, width) holds expected counts, and θ^β."""
    ratio, dots = room[0], room[1]
    ends = np.zeros(2, np.int64)
    settled = True
    for i in range(theta.shape[0]):
        x = X.data[X.indptr[i] : X.indptr[i + 1]]
        at = X.indices[X.indptr[i] : X.indptr[i + 1]]
        ends[1] = at.size
        whole = x.sum()
        change = 0.0
        for _ in range(most):
            for t in range(theta.shape[1]):
                work[1, t] = theta[i, t] if beta == 1 else theta[i, t] ** beta
            seen[i] = whole - cell_ratios(x, at, work, 1, phi, ratio, dots)
            change = 0.0
            if not seen[i] > 0:
                break
            combine(Sparse(ratio, at, ends, phi.shape[0]), 0, phi, work, 0)
            mass = 0.0
            for t in range(theta.shape[1]):
                work[0, t] *= work[1, t]
                mass += work[0, t]
            for t in range(theta.shape[1]):
                new = work[0, t] / mass
                change += abs(new - theta[i, t])
                theta[i, t] = new
            if change <= tol:
                break
        settled = settled and change <= tol
    return settled


@verb
def cell_ratios(
    x: np.ndarray,
    at: np.ndarray,
    theta: np.ndarray,
    i: int,
    phi: np.ndarray,
    ratio: np.ndarray,
    dots: np.ndarray,
) -> float:
    """dots_s = Σ_k θ_ik φ_wk and ratio_s = x_s / dots_s for the words of a document; 1 and 0 for a word that is
    impossible. Returns the sum of the counts of those."""
    p = phi[at] @ theta[i]
    possible = p > TINY
    dots[: p.size] = np.where(possible, p, 1.0)
    ratio[: p.size] = np.where(possible, x / dots[: p.size], 0.0)
    return float(x[~possible].sum())


@verb
def weighted_logs(x: np.ndarray, p: np.ndarray, powers: np.ndarray) -> float:
    """Σ_s x_s log p_s, for positive p that are normal numbers; p and `powers` are overwritten."""
    return float(x @ np.log(p[: x.size]))


@verb
def spread(at: np.ndarray, ratio: np.ndarray, theta: np.ndarray, i: int, word: np.ndarray) -> None:
    """word_w += ratio_w θ_i for the words of a document, each of which is there once."""
    word[at] += ratio[: at.size, None] * theta[i]


# The compiled forms.


@implement(cell_ratios)
def _cell_ratios(x: Any, at: Any, theta: Any, i: Any, phi: Any, ratio: Any, dots: Any) -> Any:
    def four_at_a_time(x: Any, at: Any, theta: Any, i: Any, phi: Any, ratio: Any, dots: Any) -> Any:
        # four sums side by side take half the time of one after the other, each of which ends in a sum over lanes
        w, last = theta[i], at.size - 1
        whole = at.size // 4 * 4
        for s in range(0, whole, 4):
            for k in range(s + AHEAD, s + AHEAD + 4):
                fetch_row(phi, at[min(k, last)])
            a, b = phi[np.uint64(at[s])], phi[np.uint64(at[s + 1])]
            c, d = phi[np.uint64(at[s + 2])], phi[np.uint64(at[s + 3])]
            p, q, r, t = 0.0, 0.0, 0.0, 0.0
            for k in range(w.size):
                p += a[k] * w[k]
                q += b[k] * w[k]
                r += c[k] * w[k]
                t += d[k] * w[k]
            dots[s], dots[s + 1], dots[s + 2], dots[s + 3] = p, q, r, t
        for s in range(whole, at.size):
            a = phi[np.uint64(at[s])]
            p = 0.0
            for k in range(w.size):
                p += a[k] * w[k]
            dots[s] = p
        lost = 0.0
        for s in range(at.size):
            possible = dots[s] > TINY
            lost += 0.0 if possible else x[s]
            dots[s] = dots[s] if possible else 1.0
            ratio[s] = (x[s] if possible else 0.0) / dots[s]
        return lost

    return four_at_a_time


@implement(weighted_logs)
def _weighted_logs(x: Any, p: Any, powers: Any) -> Any:
    def vectorised(x: Any, p: Any, powers: Any) -> Any:
        # log p = k log 2 + 2 atanh(f / (2 + f)), with 1 + f = p / 2^k from sqrt(1/2) to sqrt(2): a library's log
        # would be a call for each number
        bits = p.view(np.int64)
        for s in range(x.size):
            k = (bits[s] - ROOT_HALF) >> 52
            bits[s] -= k << 52
            powers[s] = k
        total = 0.0
        for s in range(x.size):
            f = p[s] - 1.0
            r = f / (2.0 + f)
            z = r * r
            high = 1 / 13 + z * (1 / 15 + z * (1 / 17 + z * (1 / 19 + z * (1 / 21))))
            series = 1 / 3 + z * (1 / 5 + z * (1 / 7 + z * (1 / 9 + z * (1 / 11 + z * high))))
            total += x[s] * (powers[s] * LN2 + 2.0 * (r + r * z * series))
        return total

    return vectorised


@implement(spread)
def _spread(at: Any, ratio: Any, theta: Any, i: Any, word: Any) -> Any:
    def by_lines(at: Any, ratio: Any, theta: Any, i: Any, word: Any) -> None:
        width, step = np.uint64(word.shape[1]), np.uint64(LINE // 8)
        row, last = np.uint64(i) * width, at.size - 1
        for s in range(at.size):
            fetch_row(word, at[min(s + AHEAD, last)])
            place, r = np.uint64(at[s]) * width, ratio[s]
            for c in range(np.uint64(0), width, step):
                line = get_line(word, place + c)
                set_line(word, place + c, plus_line(line, r, get_line(theta, row + c)))

    return by_lines


@inner
def fetch_row(B: Any, j: Any) -> None:
    """Ask for row j of B before it is needed: the rows that follow each other lie anywhere in memory."""
    width, step = np.uint64(B.shape[1]), np.uint64(LINE // 8)
    for c in range(np.uint64(0), width, step):
        fetch_line(B, np.uint64(j) * width + c)
