"""Scaled forward and backward recursions, for hidden Markov models and random fields.

A chain of T steps and N states is given by weights that are not negative: `start` (N,) of the first state, `trans`
(N, N) of the transition from state i to state j, `like` (T, N) of the state at each step. For a hidden Markov model
these are probabilities.

Each row of the forward table is scaled by the sum of the row before:

    alpha_1 = start like_1,    alpha_t = (alpha_{t-1} trans) like_t unit_t,    unit_t = 1 / Σ alpha_{t-1}
    beta_T = 1 / Σ alpha_T,    beta_{t-1} = trans onward_t,                    onward_t = like_t beta_t unit_t

so that alpha * beta are the posteriors of the states, and alpha_{t-1}ᵀ onward_t * trans those of the transitions.
This is fast, but it loses a path that falls behind the others by more than a double can tell. It notices (and
returns -inf): then `log_space`, which loses nothing, has to do the work.

Chains are processed in four lanes: four chains side by side, the next one entering where one ends. All tables
belong to the caller; all arrays are C-contiguous; `turned` is `trans` transposed, so that inner loops run along
memory."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from tercet.core.kernel import inner, kernel, shared
from tercet.core.rows import sum_of
from tercet.core.stopping import check_stop

# An underflow is an error of 1e-323; after scaling by the sums of this row and the one before at most 1e-323 /
# LEAST², and the rest of the chain multiplies it by at most MOST: no more than 1e-35.
LEAST = 1e-96
MOST = 1e96
WORK = 1 << 27  # transitions in one call of a kernel: about a tenth of a second

Array = np.ndarray


@kernel
def likelihoods(borders, start, turned, like, alpha, unit, logs):
    """Forward: log weights (S,) of many chains, whose rows lie one after another in `like`; -inf where scaling
    fails."""
    forwards(borders, start, turned, like, alpha, unit, logs, schedule(borders))


@kernel
def smooth(borders, start, trans, turned, like, alpha, posterior, unit, logs):
    """Forward-backward of many chains: posteriors (T, N) of the states; log weights (S,) of the chains, or -inf
    where scaling fails (there all tables are zero).

    `like` becomes `onward`, zero in the first row of each chain: alpha[:-1].T @ like[1:] * trans are the expected
    transitions of all chains.
    """
    runs = schedule(borders)
    forwards(borders, start, turned, like, alpha, unit, logs, runs)
    for k in range(borders.size - 1):
        last(like, alpha, unit, posterior, borders[k + 1])
    for k in range(len(runs) - 1, -1, -1):
        p, q, r, s, steps = runs[k, 0], runs[k, 1], runs[k, 2], runs[k, 3], runs[k, 4]
        if q < 0:
            backward(trans, like, alpha, unit, posterior, p, p + steps)
        else:
            backward_four(trans, like, alpha, unit, posterior, p, q, r, s, steps)
    for k in range(borders.size - 1):
        a, b = borders[k], borders[k + 1]
        if not (logs[k] > -np.inf and kept(unit, a + 1, b)):
            logs[k] = -np.inf
            for t in range(a, b):
                for j in range(like.shape[1]):
                    like[t, j] = alpha[t, j] = posterior[t, j] = 0.0


@inner
def forward(turned, like, alpha, unit, begin, end):
    """Forward table of one chain from row `begin` to row `end`, given the row before."""
    before = sum_of(alpha[begin - 1])
    for t in range(begin, end):
        row, here, c = alpha[t], like[t], inverse(before)
        times(turned, alpha[t - 1], row)
        before, unit[t] = 0.0, c
        for j in range(row.size):
            row[j] *= here[j] * c
            before += row[j]


@inner
def backward(trans, like, alpha, unit, posterior, begin, end):
    """Backward recursion of one chain from row `end` - 1 to row `begin`: posteriors of the rows before each.
    `like` holds `onward` in row `end` - 1, and gets it in the others; `unit` gets the sums of beta in the units of
    alpha."""
    for t in range(end - 1, begin - 1, -1):
        row, ahead, here, c, s = posterior[t - 1], like[t - 1], alpha[t - 1], unit[t - 1], 0.0
        times(trans, like[t], row)
        for i in range(row.size):
            b = row[i]
            s += b
            ahead[i] *= b * c
            row[i] = b * here[i]
        keep_beta_sum(s, unit, like, t)


@inner
def forward_four(turned, like, alpha, unit, p, q, r, s, steps):
    """`forward` in four lanes, from the rows p, q, r and s on: while one lane waits for its last sum, the others
    have work, and each row of `turned` is fetched once for all."""
    w, x, y, z = sum_of(alpha[p - 1]), sum_of(alpha[q - 1]), sum_of(alpha[r - 1]), sum_of(alpha[s - 1])
    for _ in range(steps):
        one, two, three, four = alpha[p - 1], alpha[q - 1], alpha[r - 1], alpha[s - 1]
        w, x, y, z = inverse(w), inverse(x), inverse(y), inverse(z)
        unit[p], unit[q], unit[r], unit[s] = w, x, y, z
        e, f, g, h = 0.0, 0.0, 0.0, 0.0
        for j in range(like.shape[1]):
            line = turned[j]
            a, b, c, d = 0.0, 0.0, 0.0, 0.0
            for i in range(line.size):
                a += line[i] * one[i]
                b += line[i] * two[i]
                c += line[i] * three[i]
                d += line[i] * four[i]
            a, b, c, d = a * like[p, j] * w, b * like[q, j] * x, c * like[r, j] * y, d * like[s, j] * z
            alpha[p, j], alpha[q, j], alpha[r, j], alpha[s, j] = a, b, c, d
            e, f, g, h = e + a, f + b, g + c, h + d
        w, x, y, z = e, f, g, h
        p, q, r, s = p + 1, q + 1, r + 1, s + 1


@inner
def backward_four(trans, like, alpha, unit, posterior, p, q, r, s, steps):
    """`backward` in four lanes, down to the rows p, q, r and s."""
    p, q, r, s = p + steps, q + steps, r + steps, s + steps
    for _ in range(steps):
        p, q, r, s = p - 1, q - 1, r - 1, s - 1
        one, two, three, four = like[p], like[q], like[r], like[s]
        w, x, y, z = unit[p - 1], unit[q - 1], unit[r - 1], unit[s - 1]
        e, f, g, h = 0.0, 0.0, 0.0, 0.0
        for i in range(like.shape[1]):
            line = trans[i]
            a, b, c, d = 0.0, 0.0, 0.0, 0.0
            for j in range(line.size):
                a += line[j] * one[j]
                b += line[j] * two[j]
                c += line[j] * three[j]
                d += line[j] * four[j]
            e, f, g, h = e + a, f + b, g + c, h + d
            posterior[p - 1, i], like[p - 1, i] = a * alpha[p - 1, i], like[p - 1, i] * (a * w)
            posterior[q - 1, i], like[q - 1, i] = b * alpha[q - 1, i], like[q - 1, i] * (b * x)
            posterior[r - 1, i], like[r - 1, i] = c * alpha[r - 1, i], like[r - 1, i] * (c * y)
            posterior[s - 1, i], like[s - 1, i] = d * alpha[s - 1, i], like[s - 1, i] * (d * z)
        keep_beta_sum(e, unit, like, p)
        keep_beta_sum(f, unit, like, q)
        keep_beta_sum(g, unit, like, r)
        keep_beta_sum(h, unit, like, s)


@inner
def keep_beta_sum(s, unit, like, t):
    """Keep the sum of beta, in the units of alpha. Where it is so large that the forward table may have lost a
    state by underflow, the backward recursion ends too, before it overflows."""
    unit[t] = s * inverse(unit[t])
    if not unit[t] < MOST:
        for i in range(like.shape[1]):
            like[t - 1, i] = 0.0


@inner
def schedule(borders):
    """Schedule of the lanes: runs (p, q, r, s, steps), where the next chain enters a lane as soon as one ends. When
    fewer than four chains are left each runs alone, and q is -1. The backward recursion takes the runs in
    reverse."""
    n, following, count = borders.size - 1, 0, 0
    runs = np.empty((n + 4, 5), np.int64)
    at, left = np.zeros(4, np.int64), np.zeros(4, np.int64)
    while True:
        for k in range(4):
            while left[k] == 0 and following < n:
                at[k], left[k] = borders[following] + 1, borders[following + 1] - borders[following] - 1
                following += 1
        steps = min(min(left[0], left[1]), min(left[2], left[3]))
        if steps == 0:
            break
        for k in range(4):
            runs[count, k] = at[k]
            at[k] += steps
            left[k] -= steps
        runs[count, 4] = steps
        count += 1
    for k in range(4):
        if left[k] > 0:
            runs[count, 0], runs[count, 1], runs[count, 4] = at[k], -1, left[k]
            count += 1
    return runs[:count]


@inner
def forwards(borders, start, turned, like, alpha, unit, logs, runs):
    """Forward tables of all chains, and the logs of their weights."""
    for k in range(borders.size - 1):
        first(start, like, alpha, unit, borders[k])
    for k in range(len(runs)):
        p, q, r, s, steps = runs[k, 0], runs[k, 1], runs[k, 2], runs[k, 3], runs[k, 4]
        if q < 0:
            forward(turned, like, alpha, unit, p, p + steps)
        else:
            forward_four(turned, like, alpha, unit, p, q, r, s, steps)
    for k in range(borders.size - 1):
        logs[k] = log_weight(alpha, unit, borders[k], borders[k + 1])


@inner
def first(start, like, alpha, unit, a):
    """First row of the forward table. No transition leads to it, which a unit of zero says."""
    unit[a] = 0.0
    for j in range(start.size):
        alpha[a, j] = start[j] * like[a, j]


@inner
def last(like, alpha, unit, posterior, b):
    """Last row of the posteriors, where `backward` begins."""
    c = inverse(sum_of(alpha[b - 1]))
    for j in range(like.shape[1]):
        posterior[b - 1, j] = alpha[b - 1, j] * c
        like[b - 1, j] *= unit[b - 1] * c


@inner
def log_weight(alpha, unit, a, b):
    """Log weight of the chain with the rows from a to b; -inf where scaling fails."""
    product = sum_of(alpha[b - 1])
    good, value = LEAST < product < MOST, 0.0
    for t in range(a + 1, b):
        good = good and LEAST < unit[t] < MOST
        product *= inverse(unit[t])
        if not LEAST < product < MOST and good:  # few logarithms, which are slow
            value += math.log(product)
            product = 1.0
    return value + math.log(product) if good else -np.inf


@inner
def inverse(s):
    """1 / s; 0 where a sum underflows (or is not a number), so that all that follows is zero."""
    return 1.0 / s if s > LEAST else 0.0


@inner
def times(table, vector, out):
    """out = table @ vector, four rows at a time, so that each number of the vector is fetched once for four."""
    N = out.size
    whole = N - N % 4
    for i in range(0, whole, 4):
        one, two, three, four = table[i], table[i + 1], table[i + 2], table[i + 3]
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        for j in range(N):
            x = vector[j]
            a += x * one[j]
            b += x * two[j]
            c += x * three[j]
            d += x * four[j]
        out[i], out[i + 1], out[i + 2], out[i + 3] = a, b, c, d
    for i in range(whole, N):
        one, a = table[i], 0.0
        for j in range(N):
            a += vector[j] * one[j]
        out[i] = a


@inner
def kept(unit, begin, end):
    """Whether no sum of beta was too large: the forward table has lost no path."""
    good = True
    for t in range(begin, end):
        good = good and unit[t] < MOST
    return good


# Chains so long that they are cut into pieces: Ctrl-C is handled between two pieces. A piece of a forward recursion
# is a chain whose start weights are the prediction from the row before it; a piece of a backward recursion ends
# with the message from the row after it.


@shared
def forward_piece(turned, like, alpha, unit, begin, end):
    """`forward`."""
    forward(turned, like, alpha, unit, begin, end)


@kernel
def backward_piece(trans, like, alpha, unit, posterior, begin, end):
    """`backward`; whether nothing was lost."""
    backward(trans, like, alpha, unit, posterior, begin, end)
    return kept(unit, begin, end)


@kernel
def chain_log_weight(alpha, unit):
    """`log_weight` of a whole chain."""
    return log_weight(alpha, unit, 0, len(alpha))


def smooth_in_pieces(
    borders: Array, start: Array, trans: Array, like: Array, logs: Array
) -> tuple[Array, Array]:
    """`smooth`: forward tables (T, N) and posteriors (T, N) of many chains; `like` and `logs` as there."""
    alpha, posterior, unit = np.empty_like(like), np.empty_like(like), np.empty(len(like))
    turned = np.ascontiguousarray(trans.T)
    if is_short(like):
        smooth(borders, start, trans, turned, like, alpha, posterior, unit, logs)
        return alpha, posterior
    for s, (a, b) in enumerate(pairwise(borders)):
        one = like[a:b], alpha[a:b], unit[a:b]
        logs[s] = forward_in_pieces(start, turned, *one)
        if logs[s] == -np.inf or not backward_in_pieces(trans, *one, posterior[a:b]):
            logs[s] = -np.inf
            like[a:b] = alpha[a:b] = posterior[a:b] = 0.0
    return alpha, posterior


def likelihoods_in_pieces(borders: Array, start: Array, trans: Array, like: Array, logs: Array) -> None:
    """Log weights of many chains; -inf where scaling fails. `like` may be written over."""
    if trans.min() <= LEAST:
        # A path that underflows may be the only one that is left in the end, which only the backward recursion can
        # tell. Where every state leads to every other that cannot happen.
        smooth_in_pieces(borders, start, trans, like, logs)
        return
    alpha, unit, turned = np.empty_like(like), np.empty(len(like)), np.ascontiguousarray(trans.T)
    if is_short(like):
        likelihoods(borders, start, turned, like, alpha, unit, logs)
        return
    for s, (a, b) in enumerate(pairwise(borders)):
        logs[s] = forward_in_pieces(start, turned, like[a:b], alpha[a:b], unit[a:b])


def forward_in_pieces(start: Array, turned: Array, like: Array, alpha: Array, unit: Array) -> float:
    """Forward table of one chain; returns its log weight."""
    first(start, like, alpha, unit, 0)
    for here in pieces(like.shape, WORK):
        check_stop()
        forward_piece(turned, like, alpha, unit, max(here.start, 1), here.stop)
    return float(chain_log_weight(alpha, unit))


def backward_in_pieces(trans: Array, like: Array, alpha: Array, unit: Array, posterior: Array) -> bool:
    """Posteriors of one chain, with `onward` in place of `like`; False where scaling fails."""
    last(like, alpha, unit, posterior, len(like))
    good = True
    for here in reversed(pieces(like.shape, WORK)):
        check_stop()
        begin = max(here.start, 1)
        good = backward_piece(trans, like, alpha, unit, posterior, begin, here.stop) and good
    return good


def is_short(like: Array) -> bool:
    """Whether one call of a kernel can do it all."""
    return like.size * like.shape[1] <= WORK


def pieces(shape: tuple[int, ...], work: int, begin: int = 0) -> list[slice]:
    """The rows from `begin` on of a chain with tables of the given shape, in pieces of so many transitions."""
    rows, n = shape
    stride = max(1, work // (n * n))
    return [slice(begin + a, begin + min(a + stride, rows)) for a in range(0, rows, stride)]


@kernel
def subtract_row_max(log_like, offsets):
    """Subtract its largest value from each row (T, N), and keep these in offsets (T,); 0 where all are -inf."""
    n, k = log_like.shape
    for i in range(n):
        row = log_like[i]
        top = row[0]
        for j in range(1, k):
            top = row[j] if row[j] > top else top
        if top == -np.inf:
            top = 0.0
        offsets[i] = top
        for j in range(k):
            row[j] -= top
