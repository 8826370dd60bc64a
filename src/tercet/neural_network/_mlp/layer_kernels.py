"""Fused elementwise kernels of a layer: activation, derivative, output error, and the update of the weights.

They work in place on blocks of rows, in the floating-point type of the data: constants come in as an array of that
type (`scratch`), since a Python float would make float32 arithmetic double.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tercet.core.kernel import inner, kernel, noinline

IDENTITY, LOGISTIC, TANH, RELU, SOFTMAX, EXP = range(6)
ACTIVATIONS = {
    "identity": IDENTITY, "logistic": LOGISTIC, "tanh": TANH, "relu": RELU, "softmax": SOFTMAX, "exp": EXP,
}  # fmt: skip
SQUARED, LOG, POISSON = range(3)
LOSSES = {"squared_error": SQUARED, "log_loss": LOG, "poisson": POISSON}


class Scratch(NamedTuple):
    """Numbers of one floating-point type, and the scratch memory of one row."""

    series: np.ndarray  # 1/0!, 1/1!, ..., 1/12!
    numbers: np.ndarray  # log2(e), the two parts of ln 2, the least exponent, 0, 1, 2, 1.5 * 2^mantissa
    minus: np.ndarray  # exponents of a row, not positive
    e: np.ndarray  # their exponentials
    e_bits: np.ndarray  # the same memory as integers
    powers: np.ndarray  # powers of 2
    power_bits: np.ndarray


def scratch(dtype: np.dtype, width: int) -> Scratch:
    """Scratch memory for rows of up to `width` numbers."""
    single = dtype == np.float32
    series = 1.0 / np.cumprod([1.0, *range(1, 13)])
    ln2 = (
        (0.693359375, -2.12194440e-4) if single else (6.93147180369123816490e-01, 1.90821492927058770002e-10)
    )
    least, mantissa = (-87.0, 23) if single else (-700.0, 52)
    numbers = np.array([1.4426950408889634, *ln2, least, 0.0, 1.0, 2.0, 1.5 * 2.0**mantissa], dtype=dtype)
    minus, e, powers = (np.zeros(max(width, 1), dtype=dtype) for _ in range(3))
    whole = np.int32 if single else np.int64
    return Scratch(series.astype(dtype), numbers, minus, e, e.view(whole), powers, powers.view(whole))


@noinline
def exp_negative(n, c):
    """c.e <- e^x of n numbers x = c.minus that are not positive.

    e^x = 2^p e^f with a whole number p and |f| <= ln(2) / 2. The lowest bits of 1.5 * 2^mantissa + p are p.
    """
    x, e, powers, bits, power_bits = c.minus, c.e, c.powers, c.e_bits, c.power_bits
    log2_e, high, low, least, magic = c.numbers[0], c.numbers[1], c.numbers[2], c.numbers[3], c.numbers[7]
    a = c.series
    a0, a2, a3, a4, a5, a6 = a[0], a[2], a[3], a[4], a[5], a[6]
    a7, a8, a9, a10, a11, a12 = a[7], a[8], a[9], a[10], a[11], a[12]
    for i in range(n):
        powers[i] = max(x[i], least) * log2_e + magic
    single = e.itemsize == 4
    for i in range(n):
        p = powers[i] - magic
        f = (max(x[i], least) - p * high) - p * low
        s = a7
        if not single:
            s = ((((a12 * f + a11) * f + a10) * f + a9) * f + a8) * f + a7
        s = (((((s * f + a6) * f + a5) * f + a4) * f + a3) * f + a2) * f + a0
        e[i] = s * f + a0
    shift = 23 if single else 52
    for i in range(n):
        bits[i] += power_bits[i] << shift


@inner
def logistic_row(z, c):
    """z <- 1 / (1 + e^-z)."""
    zero, one = c.numbers[4], c.numbers[5]
    for j in range(z.size):
        c.minus[j] = -abs(z[j])
    exp_negative(z.size, c)
    for j in range(z.size):
        e = c.e[j]
        z[j] = (one if z[j] >= zero else e) / (one + e)


@inner
def tanh_row(z, c):
    """z <- tanh(z)."""
    zero, one, two = c.numbers[4], c.numbers[5], c.numbers[6]
    for j in range(z.size):
        c.minus[j] = -two * abs(z[j])
    exp_negative(z.size, c)
    for j in range(z.size):
        e = c.e[j]
        t = (one - e) / (one + e)
        z[j] = t if z[j] >= zero else -t


@kernel
def activate(Z, bias, activation, c):
    """Z <- f(Z + bias), row by row."""
    zero = c.numbers[4]
    for i in range(Z.shape[0]):
        z = Z[i]
        if activation == RELU:
            for j in range(z.size):
                z[j] = max(z[j] + bias[j], zero)
        else:
            for j in range(z.size):
                z[j] += bias[j]
            if activation == LOGISTIC:
                logistic_row(z, c)
            elif activation == TANH:
                tanh_row(z, c)


@kernel
def multiply_derivative(A, D, activation, bias_gradient, c):
    """D <- D f'(Z), from the outputs A = f(Z) of the layer; bias_gradient <- the sums of its columns.

    The derivative of relu is 0 where its output is.
    """
    zero, one = c.numbers[4], c.numbers[5]
    bias_gradient[:] = zero
    for i in range(D.shape[0]):
        a, d = A[i], D[i]
        if activation == RELU:
            for j in range(d.size):
                d[j] = d[j] if a[j] > zero else zero
        elif activation == LOGISTIC:
            for j in range(d.size):
                d[j] *= a[j] * (one - a[j])
        elif activation == TANH:
            for j in range(d.size):
                d[j] *= one - a[j] * a[j]
        for j in range(d.size):
            bias_gradient[j] += d[j]


@inner
def softmax_row(z, c):
    """z <- e^z / sum of e^z; returns the logarithm of the sum, and the largest z."""
    zero, one = c.numbers[4], c.numbers[5]
    top = z[0]
    for j in range(z.size):
        top = max(top, z[j])
    for j in range(z.size):
        c.minus[j] = z[j] - top
    exp_negative(z.size, c)
    total = zero
    for j in range(z.size):
        total += c.e[j]
    for j in range(z.size):
        z[j] = c.e[j] * (one / total)
    return np.log(total), top


@inner
def output_row(z, activation, c):
    """z <- the outputs of the last layer."""
    if activation == SOFTMAX:
        softmax_row(z, c)
    elif activation == LOGISTIC:
        logistic_row(z, c)
    elif activation == TANH:
        tanh_row(z, c)
    elif activation == EXP:
        for j in range(z.size):
            z[j] = np.exp(z[j])


@inner
def log_loss_row(z, t, d, activation, c):
    """Cross-entropy of one row of net inputs z and targets t; z <- outputs, d <- dE/dz = outputs - t."""
    loss = 0.0
    if activation == SOFTMAX:
        for j in range(z.size):
            d[j] = z[j]
        log_total, top = softmax_row(z, c)
        for j in range(z.size):
            loss += t[j] * (log_total + (top - d[j]))  # -t log p
    else:
        for j in range(z.size):
            loss += max(z[j], c.numbers[4]) - z[j] * t[j] + np.log1p(np.exp(-abs(z[j])))
        logistic_row(z, c)
    for j in range(z.size):
        d[j] = z[j] - t[j]
    return loss


@inner
def squared_error_row(z, t, d, activation, c):
    """Half the squared error of one row; z <- outputs, d <- dE/dz."""
    zero, one, loss = c.numbers[4], c.numbers[5], 0.0
    output_row(z, activation, c)
    for j in range(z.size):
        d[j] = z[j] - t[j]
        loss += 0.5 * d[j] * d[j]
    if activation == LOGISTIC:
        for j in range(z.size):
            d[j] *= z[j] * (one - z[j])
    elif activation == TANH:
        for j in range(z.size):
            d[j] *= one - z[j] * z[j]
    elif activation == SOFTMAX:
        mean = zero
        for j in range(z.size):
            mean += z[j] * d[j]
        for j in range(z.size):
            d[j] = z[j] * (d[j] - mean)
    return loss


@inner
def poisson_row(z, t, d, c):
    """Half the Poisson deviance of one row of logarithms z of means; z <- the means, d <- dE/dz."""
    loss = 0.0
    for j in range(z.size):
        log_mean = z[j]
        z[j] = np.exp(log_mean)
        d[j] = z[j] - t[j]
        loss += d[j]
        if t[j] > 0:
            loss += t[j] * (np.log(t[j]) - log_mean)
    return loss


@inner
def loss_row(z, t, d, activation, loss, c):
    """The loss of one row of net inputs z; z <- outputs, d <- dE/dz."""
    if loss == LOG:
        return log_loss_row(z, t, d, activation, c)
    if loss == SQUARED:
        return squared_error_row(z, t, d, activation, c)
    return poisson_row(z, t, d, c)


@kernel
def output_error(Z, bias, T, weight, D, bias_gradient, activation, loss, c):
    """Outputs, loss and dE/dZ of a block: Z <- outputs, D <- weight times dE/dZ, bias_gradient <- its column sums.

    `weight` is empty where all rows count the same. Returns the weighted sum of the losses.
    """
    total = 0.0
    bias_gradient[:] = c.numbers[4]
    for i in range(Z.shape[0]):
        z, d = Z[i], D[i]
        for j in range(z.size):
            z[j] += bias[j]
        own = loss_row(z, T[i], d, activation, loss, c)
        if weight.size:
            for j in range(d.size):
                d[j] *= weight[i]
            own *= weight[i]
        for j in range(d.size):
            bias_gradient[j] += d[j]
        total += own
    return total


@kernel
def outputs(Z, bias, activation, c):
    """Z <- outputs of the last layer from its products Z."""
    for i in range(Z.shape[0]):
        z = Z[i]
        for j in range(z.size):
            z[j] += bias[j]
        output_row(z, activation, c)
