"""Updates of all weights in one pass over a flat vector: gradient descent with momentum, and Adam.

The gradient of the objective at w is scale * g + shrink * w for the first `n_shrunk` numbers (the weights, or
all of them where thresholds are penalised, too) and scale * g for the others.
"""

from __future__ import annotations

from tercet.core.kernel import kernel


@kernel
def momentum_update(w, g, velocity, n_shrunk, numbers):
    """v <- momentum v - rate gradient; w <- w + v, or for Nesterov's form w + momentum v - rate gradient.

    Returns the sum of squares of the first `n_shrunk` weights before the update.
    """
    scale, shrink, rate, momentum, nesterov = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]
    squares = numbers[0] - numbers[0]
    for i in range(w.size):
        gradient = scale * g[i]
        if i < n_shrunk:
            gradient += shrink * w[i]
            squares += w[i] * w[i]
        v = momentum * velocity[i] - rate * gradient
        velocity[i] = v
        if nesterov > 0:
            v = momentum * v - rate * gradient
        w[i] += v
    return squares


@kernel
def adam_update(w, g, m, v, n_shrunk, numbers):
    """m and v are moving averages of the gradient and its square; w <- w - rate m / (sqrt(v) + epsilon).

    `rate` holds the corrections for their start at zero. Returns the sum of squares of the first `n_shrunk` weights
    before the update.
    """
    scale, shrink, rate, epsilon = numbers[0], numbers[1], numbers[2], numbers[3]
    keep_m, new_m, keep_v, new_v = numbers[4], numbers[5], numbers[6], numbers[7]
    squares = scale - scale
    for i in range(n_shrunk):
        squares += w[i] * w[i]
    for i in range(w.size):
        gradient = scale * g[i]
        if i < n_shrunk:
            gradient += shrink * w[i]
        m[i] = keep_m * m[i] + new_m * gradient
        v[i] = keep_v * v[i] + new_v * gradient * gradient
        w[i] -= rate * m[i] / (v[i] ** 0.5 + epsilon)
    return squares
