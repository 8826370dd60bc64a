"""Scaled recursions along chains of T steps and N states, shared by hidden Markov models and random fields.

A chain is given by what each state weighs at the first step (`start`), what each step from state i to state j
weighs (`trans`), and what each state weighs in the light of each observation (`like`, a row for each step). For a
hidden Markov model these are probabilities; any weights that are not negative will do.

Each row of the forward table is taken in units of the sum of the row before:

    alpha_1 = start like_1,    alpha_t = (alpha_{t-1} trans) like_t unit_t,    unit_t = 1 / Σ alpha_{t-1}
    beta_T = 1 / Σ alpha_T,    beta_{t-1} = trans onward_t,                    onward_t = like_t beta_t unit_t

so that alpha * beta are the posteriors, and alpha_{t-1}ᵀ onward_t * trans those of the steps. This is fast, but it
loses a path that falls behind the others by more than a double can tell, and says so (minus infinity): then the
recursions on logarithms, which lose nothing (`chain`), have to do the work. All tables belong to the caller; all
arrays are contiguous.
"""

from __future__ import annotations

import math

import numpy as np

from tercet.core.kernel import inner, kernel, shared
from tercet.core.sums import sum_of

# What underflows is off by 1e-323, in units of the sums of this row and of the one before 1e-323 / LEAST², and a
# future that favours the state makes it up to MOST times as much: no more than 1e-35.
LEAST = 1e-96
MOST = 1e96


@kernel
def likelihoods(borders, start, turned, like, alpha, unit, logs):
    """Log weight of each of many chains whose rows lie one after another in `like`; -inf where scaling fails."""
    forwards(borders, start, turned, like, alpha, unit, logs, plan(borders))


@kernel
def smooth(borders, start, trans, turned, like, alpha, posterior, unit, logs):
    """Posteriors of the states of many chains; log weights of the chains, or -inf where scaling fails (there all
    tables are zero).

    `like` becomes `onward`, zero in the first row of each chain: alpha[:-1].T @ like[1:] * trans are the expected
    transitions of all chains.
    """
    runs = plan(borders)
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
    """The rows from `begin` to `end` of one chain's forward table, from the row before them. `turned` is `trans`
    transposed, so that inner loops run along memory."""
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
    """Posteriors of the rows from `begin` - 1 to `end` - 1, from what is known of the row after them: `like` holds
    `onward` there, and comes to hold it here. `unit` comes to hold the sums of beta in the units of alpha."""
    for t in range(end - 1, begin - 1, -1):
        row, ahead, here, c, s = posterior[t - 1], like[t - 1], alpha[t - 1], unit[t - 1], 0.0
        times(trans, like[t], row)
        for i in range(row.size):
            b = row[i]
            s += b
            ahead[i] *= b * c
            row[i] = b * here[i]
        weigh(s, unit, like, t)


@inner
def forward_four(turned, like, alpha, unit, p, q, r, s, steps):
    """`forward` on four chains side by side, so many steps from their rows p, q, r and s on: while one waits for
    its last sum, there is work for the others, and each row of `turned` is fetched once for all."""
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
    """`backward` on four chains side by side, so many steps down to their rows p, q, r and s."""
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
        weigh(e, unit, like, p)
        weigh(f, unit, like, q)
        weigh(g, unit, like, r)
        weigh(h, unit, like, s)


@inner
def weigh(s, unit, like, t):
    """Keep the sum of beta, in the units of alpha. Where a state has grown so heavy that the way forward may have
    lost it, the way back ends too, before numbers overflow."""
    unit[t] = s * inverse(unit[t])
    if not unit[t] < MOST:
        for i in range(like.shape[1]):
            like[t - 1, i] = 0.0


@inner
def plan(borders):
    """The order of all steps: rows (p, q, r, s, steps), where the next chain comes in as soon as one ends. When
    fewer than four are left each goes on alone, and q is -1. Backward, the same from the end."""
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
    """The first row of a chain. There is no step to it, which a unit of zero says."""
    unit[a] = 0.0
    for j in range(start.size):
        alpha[a, j] = start[j] * like[a, j]


@inner
def last(like, alpha, unit, posterior, b):
    """The last row of a chain: where `backward` begins."""
    c = inverse(sum_of(alpha[b - 1]))
    for j in range(like.shape[1]):
        posterior[b - 1, j] = alpha[b - 1, j] * c
        like[b - 1, j] *= unit[b - 1] * c


@inner
def log_weight(alpha, unit, a, b):
    """The log of the weight of the chain with the rows from a to b; -inf where scaling fails."""
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
    """1 / s; 0 where a sum is too small (or not a number), and all that follows is nothing."""
    return 1.0 / s if s > LEAST else 0.0


@inner
def times(table, vector, out):
    """out = table @ vector, four rows at a time: each number of the vector is fetched once for all of them."""
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
    """Whether no state has grown too heavy on the way back."""
    good = True
    for t in range(begin, end):
        good = good and unit[t] < MOST
    return good


# The same for one chain in pieces, where it is so long that Ctrl-C should be heard in between (`hmm_sweeps`).


@shared
def ahead(turned, like, alpha, unit, begin, end):
    """`forward`."""
    forward(turned, like, alpha, unit, begin, end)


@kernel
def behind(trans, like, alpha, unit, posterior, begin, end):
    """`backward`; whether nothing was lost."""
    backward(trans, like, alpha, unit, posterior, begin, end)
    return kept(unit, begin, end)


@kernel
def weight(alpha, unit):
    """`log_weight`."""
    return log_weight(alpha, unit, 0, len(alpha))
