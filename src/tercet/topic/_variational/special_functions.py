"""Digamma and log-gamma functions inside kernels, and exp(E[log θ]) of Dirichlet distributions.

With x > 0 moved to where its asymptotic series holds, ψ(x) = ψ(x + 8) - Σ 1/(x + i) for i < 8, and exp(ψ) has a
series of its own in which no logarithm is left:

    exp(ψ(z + 1/2)) = z (1 + 1/(24 z²) - 37/(5760 z⁴) + ...)

so that exp(ψ(x) - ψ(x0)) takes one exponential. Loops without calls of library functions vectorise.
"""

from __future__ import annotations

import math

import numpy as np

from tercet.core.kernel import inner

SHIFT = 8.0  # from here on the series hold to the last digits
LEAST_EXPONENT = -708.0  # e to this is the smallest normal number, near enough
LOG2_E, LN2_HIGH, LN2_LOW = 1.4426950408889634, 0.693147180369123816490, 1.90821492927058770002e-10
HALF_LOG_2PI = 0.91893853320467274178
SQRT2, HALF_LN2 = 1.4142135623730951, 0.34657359027997264
MANTISSA, ONE = (1 << 52) - 1, 1023 << 52  # bits of a double: those after the point, and those of 1.0


@inner
def shifted_product(w):
    """w (w + 6)(w + 10)(w + 12), which is x (x + 1) ... (x + 7) with w = x (x + 7), and its derivative in w."""
    product, slope = w, 1.0
    slope = slope * (w + 6.0) + product
    product *= w + 6.0
    slope = slope * (w + 10.0) + product
    product *= w + 10.0
    slope = slope * (w + 12.0) + product
    return product * (w + 12.0), slope


@inner
def digamma_parts(x):
    """(g, s) with ψ(x) = log(g) - s for x > 0."""
    small = x < SHIFT
    v = x if small else SHIFT
    product, slope = shifted_product(v * (v + 7.0))  # (x + i)(x + 7 - i) = w + i(7 - i)
    s = (2.0 * v + 7.0) * slope / product  # Σ 1/(x + i), the derivative of log Π (x + i)
    z = x + (SHIFT - 0.5) if small else x - 0.5
    r = 1.0 / z
    u = r * r
    g = 47655701498228027.0 / 578473294823424000.0
    g = g * u - 499769010050743.0 / 24103053950976000.0
    g = g * u + 2709398569.0 / 367873228800.0
    g = g * u - 5509121.0 / 1393459200.0
    g = g * u + 10313.0 / 2903040.0
    g = g * u - 37.0 / 5760.0
    g = g * u + 1.0 / 24.0
    return z * (g * u + 1.0), (s if small else 0.0)


@inner
def digamma(x):
    """ψ(x) for x > 0."""
    g, s = digamma_parts(x)
    return math.log(g) - s


@inner
def dirichlet_terms(parameters, prior, centre, weight, x, x_bits, part, part_bits):
    """Σ_k (prior_k - p_k)(ψ(p_k) - centre_k) + log Γ(p_k), as Dirichlet distributions have it in the bound.

    Both functions by their series at y = p + 8, or at p where it is large: the logarithm of y serves both. Other
    arrays are for work; `x_bits` and `part_bits` are the memory of `x` and `part`.
    """
    total = 0.0
    for k in range(parameters.size):
        p = parameters[k]
        small = p < SHIFT
        v = p if small else SHIFT
        product, slope = shifted_product(v * (v + 7.0))
        shift = (2.0 * v + 7.0) * slope / product if small else 0.0
        y = p + SHIFT if small else p
        r = 1.0 / y
        u = r * r
        tail = 1.0 / 12.0  # of ψ(y) = log y - r/2 - u/12 + ...
        tail = 691.0 / 32760.0 - tail * u
        tail = 1.0 / 132.0 - tail * u
        tail = 1.0 / 240.0 - tail * u
        tail = 1.0 / 252.0 - tail * u
        tail = 1.0 / 120.0 - tail * u
        tail = 1.0 / 12.0 - tail * u
        digamma_rest = -0.5 * r - tail * u - shift
        tail = 1.0 / 156.0  # of Stirling's series
        tail = tail * u - 691.0 / 360360.0
        tail = tail * u + 1.0 / 1188.0
        tail = tail * u - 1.0 / 1680.0
        tail = tail * u + 1.0 / 1260.0
        tail = tail * u - 1.0 / 360.0
        tail = tail * u + 1.0 / 12.0
        total += (prior[k] - p) * (digamma_rest - centre[k]) - y + HALF_LOG_2PI + tail * r
        weight[k] = prior[k] + (
            SHIFT - 0.5 if small else -0.5
        )  # (y - 1/2) + (prior - p), without cancellation
        x[k] = y
        part[k] = product if small else 1.0
    total += weighted_logs(x, x_bits, weight)
    weight[:] = -1.0
    return total + weighted_logs(part, part_bits, weight)


@inner
def weighted_logs(x, bits, weight):
    """Σ weight log(x) of positive normal numbers, in loops that vectorise; x is changed, `bits` is its memory."""
    total = 0.0
    for k in range(weight.size):
        total += weight[k] * ((bits[k] >> 52) - 1023)
    total *= LN2_HIGH + LN2_LOW
    for k in range(weight.size):
        bits[k] = (bits[k] & MANTISSA) | ONE  # x is its mantissa now, from 1 to 2
    rest = 0.0
    for k in range(weight.size):
        f = (x[k] - SQRT2) / (x[k] + SQRT2)  # log x = log √2 + 2 artanh f
        u = f * f
        p = 1.0 / 21.0
        p = p * u + 1.0 / 19.0
        p = p * u + 1.0 / 17.0
        p = p * u + 1.0 / 15.0
        p = p * u + 1.0 / 13.0
        p = p * u + 1.0 / 11.0
        p = p * u + 1.0 / 9.0
        p = p * u + 1.0 / 7.0
        p = p * u + 1.0 / 5.0
        p = p * u + 1.0 / 3.0
        rest += weight[k] * (HALF_LN2 + 2.0 * f * (p * u + 1.0))
    return total + rest


@inner
def exp_of_differences(parameters, growth, shift, out, work, bits):
    """out = exp(ψ(parameters) - (log(growth) - shift)), entry by entry; `bits` is the memory of `work` as integers.

    growth and shift are the parts of ψ of numbers that are at least as large, so that no exponent is positive.
    """
    for k in range(out.size):
        g, s = digamma_parts(parameters[k])
        out[k] = g / growth[k]
        work[k] = shift[k] - s
    for k in range(out.size):
        z = work[k]
        z = z if z > LEAST_EXPONENT else LEAST_EXPONENT
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
        out[k] *= p * f + 1.0
        bits[k] = (power + 1023) << 52  # 2^power
    for k in range(out.size):
        out[k] *= work[k]
