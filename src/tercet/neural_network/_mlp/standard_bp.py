"""Kernel of standard back-propagation: one row at a time, one update per row."""

from __future__ import annotations

from tercet.core.kernel import inner, kernel
from tercet.core.rows import row_add
from tercet.neural_network._mlp.layer_kernels import (
    LOGISTIC,
    RELU,
    TANH,
    logistic_row,
    loss_row,
    tanh_row,
)


@inner
def hidden_row(z, activation, c):
    """z <- f(z) of one row of a hidden layer."""
    if activation == RELU:
        for j in range(z.size):
            z[j] = max(z[j], c.numbers[4])
    elif activation == LOGISTIC:
        logistic_row(z, c)
    elif activation == TANH:
        tanh_row(z, c)


@inner
def forward_row(values, flat, sizes, n_weights, activation, c):
    """Outputs of all layers for the row in the first part of `values`; the last layer stays a net input."""
    begin, weights, biases = 0, 0, n_weights
    last = sizes.size - 2
    for k in range(last + 1):
        n_in, n_out = sizes[k], sizes[k + 1]
        end = begin + n_in
        z = values[end : end + n_out]
        z[:] = flat[biases : biases + n_out]
        for h in range(n_in):
            a = values[begin + h]
            if a != 0:
                w = flat[weights + h * n_out : weights + (h + 1) * n_out]
                for j in range(n_out):
                    z[j] += a * w[j]
        if k < last:
            hidden_row(z, activation, c)
        begin, weights, biases = end, weights + n_in * n_out, biases + n_out


@inner
def backward_row(values, deltas, flat, sizes, n_weights, activation, c):
    """Deltas of the hidden layers from those of the outputs: delta_h = f'(z_h) sum_j w_hj delta_j."""
    end, weights = values.size, n_weights
    one, zero = c.numbers[5], c.numbers[4]
    for k in range(sizes.size - 2, 0, -1):
        n_in, n_out = sizes[k], sizes[k + 1]
        above = end - n_out
        begin = above - n_in
        weights -= n_in * n_out
        for h in range(n_in):
            w, total = flat[weights + h * n_out : weights + (h + 1) * n_out], zero
            for j in range(n_out):
                total += w[j] * deltas[above + j]
            a = values[begin + h]
            if activation == RELU:
                total = total if a > zero else zero
            elif activation == LOGISTIC:
                total *= a * (one - a)
            elif activation == TANH:
                total *= one - a * a
            deltas[begin + h] = total
        end = above


@inner
def update_row(values, deltas, flat, velocity, sizes, n_weights, n_shrunk, weight, numbers):
    """dw <- momentum dw - rate (weight (scale delta a + shrink w)); w <- w + dw, and so for biases."""
    scale, shrink, rate, momentum = numbers[0], numbers[1], numbers[2], numbers[3]
    begin, weights, biases = 0, 0, n_weights
    for k in range(sizes.size - 1):
        n_in, n_out = sizes[k], sizes[k + 1]
        end = begin + n_in
        delta = deltas[end : end + n_out]
        for h in range(n_in):
            a, place = scale * values[begin + h], weights + h * n_out
            w, dw = flat[place : place + n_out], velocity[place : place + n_out]
            for j in range(n_out):
                dw[j] = momentum * dw[j] - rate * (weight * (a * delta[j] + shrink * w[j]))
                w[j] += dw[j]
        b, db = flat[biases : biases + n_out], velocity[biases : biases + n_out]
        for j in range(n_out):
            gradient = scale * delta[j]
            if biases < n_shrunk:
                gradient += shrink * b[j]
            db[j] = momentum * db[j] - rate * (weight * gradient)
            b[j] += db[j]
        begin, weights, biases = end, weights + n_in * n_out, biases + n_out


@kernel
def sweep(
    rows, T, weight, order, flat, velocity, sizes, n_weights, n_shrunk, activation, output, loss, numbers,
    values, deltas, c,
):  # fmt: skip
    """Visit rows in order; each moves all weights along the negative gradient of its own error.

    Returns the weighted sum of the errors, each before the update by its row.
    """
    total = 0.0
    first, last = sizes[0], values.size - sizes[sizes.size - 1]
    for t in range(order.size):
        i = order[t]
        values[:first] = 0
        row_add(rows, i, c.numbers[5], values[:first])
        forward_row(values, flat, sizes, n_weights, activation, c)
        total += weight[i] * loss_row(values[last:], T[i], deltas[last:], output, loss, c)
        backward_row(values, deltas, flat, sizes, n_weights, activation, c)
        update_row(values, deltas, flat, velocity, sizes, n_weights, n_shrunk, weight[i], numbers)
    return total
