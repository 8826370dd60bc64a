"""Gradients, hessians and the loss of all rows in one pass, for the losses that are used most.

The exponential is a polynomial that vectorises; logarithms are taken of products of many rows at once. The rows are
cut in strips whose borders do not depend on the number of threads.
"""

from __future__ import annotations

import numpy as np

from tercet.core.kernel import inner, kernel
from tercet.core.parallel import each
from tercet.core.strip_sums import STRIP_ROWS, strip_total
from tercet.tree import TermTotals

SQUARED, BINOMIAL, MULTINOMIAL = 0, 1, 2
TILE = 256  # rows whose exponentials are taken side by side
PRODUCT = 32  # rows whose logarithms are taken as that of their product
LOG2_E, LN2_HIGH, LN2_LOW = 1.4426950408889634, 6.93147180369123816490e-01, 1.90821492927058770002e-10
LEAST_EXPONENT = -700.0  # below it the exponential is no longer a normal number
ABS_G, SUM_H, MIN_H, MAX_H, LOSS = 0, 1, 2, 3, 4  # columns of a strip's totals


class NewtonTerms:
    """First and second derivatives of the loss by the scores F of shape (n_scores, n), and its mean.

    Parameters
    ----------
    kind : {SQUARED, BINOMIAL, MULTINOMIAL}
        The loss: 1/2 (y - F)²; log loss of y in {0, 1}; log loss of classes y in 0 .. n_scores - 1.
    y, weight : arrays of shape (n,)
        Targets and weights of the rows.
    n_scores : int
    n_jobs : int, optional
        Threads; the same bits come out for any number of them.

    Attributes
    ----------
    gradients, hessians : arrays of shape (n_scores, n)
        Times the weights.
    totals : list of TermTotals
    loss : float
        The weighted mean.
    """

    def __init__(
        self, kind: int, y: np.ndarray, weight: np.ndarray, n_scores: int, n_jobs: int | None = None
    ) -> None:
        self.kind, self.y, self.n_jobs = kind, np.ascontiguousarray(y, dtype=np.float64), n_jobs
        plain = bool((weight == 1.0).all())
        self.weight = np.empty(0) if plain else np.ascontiguousarray(weight, dtype=np.float64)
        self.mass = float(strip_total(lambda own: [own.sum()], weight)[0])
        self.gradients, self.hessians = np.empty((n_scores, len(y))), np.empty((n_scores, len(y)))
        self.totals: list[TermTotals] = []
        self.loss = np.nan

    def update(self, F: np.ndarray) -> None:
        """Take the derivatives at these scores."""
        n, given = len(self.y), (self.y, F, self.weight, self.gradients, self.hessians)
        step = STEPS[self.kind]
        strips = range(0, n, STRIP_ROWS)
        parts = each(lambda i: step(*given, i, min(n, i + STRIP_ROWS)), strips, n_jobs=self.n_jobs)
        self.totals, self.loss = term_totals(np.array(parts), self.mass)


def term_totals(parts: np.ndarray, mass: float) -> tuple[list[TermTotals], float]:
    """The totals of gradients and hessians, and the mean loss, from strips of shape (strips, n_scores, 5)."""
    sums, least, largest = (
        parts.sum(axis=0),
        parts[:, :, MIN_H].min(axis=0),
        parts[:, :, MAX_H].max(axis=0),
    )
    totals = [
        TermTotals(float(own[ABS_G]), float(own[SUM_H]), float(low), float(high))
        for own, low, high in zip(sums, least, largest)
    ]
    return totals, float(sums[0, LOSS]) / mass


@inner
def exp_negative(x, out, bits):
    """e^x of numbers that are not positive, to the last digit or two; `bits` is the memory of `out`."""
    for i in range(x.size):
        z = max(x[i], LEAST_EXPONENT)
        power = np.int64(z * LOG2_E - 0.5)  # towards 0: the nearest, of numbers that are not positive
        f = (z - power * LN2_HIGH) - power * LN2_LOW
        p = 1.0 / 479001600.0
        p = p * f + 1.0 / 39916800.0
        p = p * f + 1.0 / 3628800.0
        p = p * f + 1.0 / 362880.0
        p = p * f + 1.0 / 40320.0
        p = p * f + 1.0 / 5040.0
        p = p * f + 1.0 / 720.0
        p = p * f + 1.0 / 120.0
        p = p * f + 1.0 / 24.0
        p = p * f + 1.0 / 6.0
        p = p * f + 0.5
        p = p * f + 1.0
        out[i] = p * f + 1.0
        x[i] = power
    for i in range(x.size):
        bits[i] += np.int64(x[i]) << 52


@inner
def log_of_product(factors, weight):
    """The sum of the logarithms of numbers of moderate size, times their weights if there are any."""
    total = 0.0
    if weight.size:
        for i in range(factors.size):
            total += weight[i] * np.log(factors[i])
        return total
    for first in range(0, factors.size, PRODUCT):
        product, part = 1.0, factors[first : first + PRODUCT]
        for i in range(part.size):
            product *= part[i]
        total += np.log(product)
    return total


@inner
def add_totals(g, h, weight, totals):
    """Multiply terms by the weights, and add them to the totals of the strip."""
    if weight.size:
        for i in range(g.size):
            g[i] *= weight[i]
            h[i] *= weight[i]
    sum_g, sum_h, least, largest = 0.0, 0.0, h[0], h[0]
    for i in range(g.size):
        sum_g += abs(g[i])
        sum_h += h[i]
    for i in range(g.size):
        least = h[i] if h[i] < least else least
        largest = h[i] if h[i] > largest else largest
    totals[ABS_G] += sum_g
    totals[SUM_H] += sum_h
    totals[MIN_H], totals[MAX_H] = min(totals[MIN_H], least), max(totals[MAX_H], largest)


@inner
def no_totals(n_scores):
    """The totals of no rows."""
    totals = np.zeros((n_scores, 5))
    totals[:, MIN_H] = np.inf
    totals[:, MAX_H] = -np.inf
    return totals


@kernel
def squared_terms(y, F, weight, gradients, hessians, start, stop):
    """F - y and 1."""
    totals = no_totals(1)
    target, scores, g, h = y[start:stop], F[0, start:stop], gradients[0, start:stop], hessians[0, start:stop]
    own, loss = weight[start:stop], 0.0
    for i in range(g.size):
        g[i] = scores[i] - target[i]
        h[i] = 1.0
    if own.size:
        for i in range(g.size):
            loss += own[i] * g[i] * g[i]
    else:
        for i in range(g.size):
            loss += g[i] * g[i]
    totals[0, LOSS] = 0.5 * loss
    add_totals(g, h, own, totals[0])
    return totals


@kernel
def binomial_terms(y, F, weight, gradients, hessians, start, stop):
    """p - y and p (1 - p), p = 1 / (1 + e^-F); the loss is log(1 + e^-|F|) + max(F, 0) - y F."""
    totals, x, e, factor = no_totals(1), np.empty(TILE), np.empty(TILE), np.empty(TILE)
    bits = e.view(np.int64)
    for first in range(start, stop, TILE):
        last = min(first + TILE, stop)
        target, scores, own, loss = y[first:last], F[0, first:last], weight[first:last], 0.0
        g, h = gradients[0, first:last], hessians[0, first:last]
        size = scores.size
        for i in range(size):
            x[i] = -abs(scores[i])
        exp_negative(x[:size], e[:size], bits[:size])
        for i in range(size):
            factor[i] = 1.0 + e[i]
            q = 1.0 / factor[i]
            p = q if scores[i] >= 0.0 else e[i] * q
            g[i], h[i] = p - target[i], e[i] * q * q
        if own.size:
            for i in range(size):
                loss += own[i] * ((scores[i] if scores[i] > 0.0 else 0.0) - target[i] * scores[i])
        else:
            for i in range(size):
                loss += (scores[i] if scores[i] > 0.0 else 0.0) - target[i] * scores[i]
        totals[0, LOSS] += loss + log_of_product(factor[:size], own)
        add_totals(g, h, own, totals[0])
    return totals


@kernel
def multinomial_terms(y, F, weight, gradients, hessians, start, stop):
    """p_k - [y = k] and p_k (1 - p_k), p the softmax of F; the loss is the log of the sum of e^F_k, less F_y."""
    K = F.shape[0]
    totals, x, top, total = no_totals(K), np.empty(TILE), np.empty(TILE), np.empty(TILE)
    e = np.empty((K, TILE))
    bits = e.view(np.int64)
    for first in range(start, stop, TILE):
        last = min(first + TILE, stop)
        target, own, size = y[first:last], weight[first:last], last - first
        for i in range(size):
            top[i], total[i] = F[0, first + i], 0.0
        for k in range(1, K):
            scores = F[k, first:last]
            for i in range(size):
                top[i] = scores[i] if scores[i] > top[i] else top[i]
        for k in range(K):
            scores, part = F[k, first:last], e[k]
            for i in range(size):
                x[i] = scores[i] - top[i]
            exp_negative(x[:size], part[:size], bits[k, :size])
            for i in range(size):
                total[i] += part[i]
        loss = log_of_product(total[:size], own)
        for i in range(size):
            more = top[i] - F[np.int64(target[i]), first + i]
            loss += more * own[i] if own.size else more
        totals[0, LOSS] += loss
        for k in range(K):
            g, h, part = gradients[k, first:last], hessians[k, first:last], e[k]
            for i in range(size):
                p = part[i] / total[i]
                g[i], h[i] = p - (1.0 if target[i] == k else 0.0), p * (1.0 - p)
            add_totals(g, h, own, totals[k])
    return totals


STEPS = {SQUARED: squared_terms, BINOMIAL: binomial_terms, MULTINOMIAL: multinomial_terms}
