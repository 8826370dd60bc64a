"""Tables for the rule learners."""

import numpy as np


def mixed_rows(n=400, seed=0, noise=0.0, missing=0.0):
    """Two columns of numbers, two of words, a constant one and one without any value; a row is positive where
    x0 > 0.3 and word "a", or x1 < -0.5 and word "b" or "c"."""
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=(n, 2)).round(2)
    words = rng.choice(list("abc"), size=n)
    more = rng.choice(["u", "v"], size=n)
    y = ((numbers[:, 0] > 0.3) & (words == "a")) | ((numbers[:, 1] < -0.5) & (words != "a"))
    y = np.where(rng.random(n) < noise, ~y, y)
    X = np.empty((n, 6), dtype=object)
    X[:, 0], X[:, 1], X[:, 2], X[:, 3], X[:, 4], X[:, 5] = *numbers.T, words, more, 7.0, None
    X[rng.random(X.shape) < missing] = None
    return X, np.where(y, "yes", "no")


def three_classes(n=300, seed=0):
    """Numbers in the plane; classes by two thresholds."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)).round(3)
    return X, np.where(X[:, 0] > 0.8, 2, np.where(X[:, 1] > 0.2, 1, 0))
