"""One pass of learning vector quantisation over the rows."""

from __future__ import annotations

import numpy as np

from tercet.core.kernel import inner, kernel


@inner
def move(point, x, part):
    """Move a point by a part of the way to x, away from it where the part is negative."""
    for j in range(x.size):
        point[j] += part * (x[j] - point[j])


@inner
def two_nearest(squares, right, other):
    """Whether two prototypes are the nearest two of all, of equals the first."""
    last = right if squares[right] > squares[other] else other
    if squares[right] == squares[other]:
        last = max(right, other)
    before = 0
    for k in range(squares.size):
        if squares[k] < squares[last] or (squares[k] == squares[last] and k < last):
            before += 1
    return before == 1


@kernel
def learning_pass(X, y, order, P, labels, pull, push, method, window, scale):
    """Move the prototypes P by the rows; returns the cost of GLVQ and how often the nearest was wrong.

    method : 0 LVQ1, 1 LVQ2.1, 2 GLVQ. pull[i], push[i] : parts of the way to row i.
    """
    least = ((1.0 - window) / (1.0 + window)) ** 2
    squares = np.empty(labels.size)
    loss, wrong = 0.0, 0
    for r in range(order.size):
        i = order[r]
        x = X[i]
        right = other = -1  # the nearest prototypes of the row's class and of another
        for k in range(labels.size):
            point, square = P[k], 0.0
            for j in range(x.size):
                square += (x[j] - point[j]) * (x[j] - point[j])
            squares[k] = square
            if labels[k] == y[i]:
                if right < 0 or square < squares[right]:
                    right = k
            elif other < 0 or square < squares[other]:
                other = k
        near, far = squares[right], squares[other]
        total = near + far
        cost = 1.0 / (1.0 + np.exp((far - near) / total)) if total > 0.0 else 0.5
        mistaken = far < near or (far == near and other < right)
        loss += cost
        wrong += 1 if mistaken else 0
        if method == 0:
            if mistaken:
                move(P[other], x, -push[i])
            else:
                move(P[right], x, pull[i])
        elif method == 1:
            between = min(near, far) > least * max(near, far)
            if between and two_nearest(squares, right, other):
                move(P[right], x, pull[i])
                move(P[other], x, -push[i])
        elif total > 0.0:
            rate = 4.0 * scale * cost * (1.0 - cost) / total / total
            move(P[right], x, min(rate * far * pull[i], 1.0))
            move(P[other], x, -min(rate * near * push[i], 1.0))
    return loss, wrong
