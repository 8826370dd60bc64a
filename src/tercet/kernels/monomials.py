"""Monomials: the explicit features of polynomial kernels."""

from __future__ import annotations

import itertools
import math

import numpy as np

from tercet.core.catalog import method

LARGEST = 1 << 28  # entries of an explicit map: 2 GB


@method(
    zh="单项式个数",
    task="kernel",
    model="C(n + degree - 1, degree)",
    texts=["Li ch. 7, exercise 7.4", "Pattern Recognition ch. 5, 5.5.1"],
    peers=["math.comb"],
)
def count_monomials(n: int, degree: int, *, lower: bool = False) -> int:
    """Number of monomials of a degree in n variables; with `lower`, those of degrees 1 to it too.

    Examples
    --------
    >>> count_monomials(3, 2)
    6
    >>> [count_monomials(200, degree, lower=True) for degree in (4, 5)]
    [70058750, 2872408790]
    """
    return math.comb(n + degree, degree) - 1 if lower else math.comb(n + degree - 1, degree)


def monomials(X: np.ndarray, degree: int) -> np.ndarray:
    """Monomials of a degree, each times the root of its multinomial coefficient.

    Examples
    --------
    >>> monomials(np.array([[1.0, 2.0]]), 2).round(6)
    array([[1.      , 2.828427, 4.      ]])
    """
    n, d = X.shape
    _check_size(n, count_monomials(d, degree), degree)
    chosen = np.array(list(itertools.combinations_with_replacement(range(d), degree)), dtype=np.intp)
    orders = np.ones(len(chosen))
    run = np.ones(len(chosen))
    for k in range(1, degree):  # degree! / product of (how often each variable comes)!
        run = np.where(chosen[:, k] == chosen[:, k - 1], run + 1, 1)
        orders *= (k + 1) / run
    return _products(X, chosen) * np.sqrt(orders).astype(X.dtype)


def ordered_products(X: np.ndarray, degree: int) -> np.ndarray:
    """Products of `degree` coordinates, one for every ordered choice of them."""
    n, d = X.shape
    _check_size(n, d**degree, degree)
    chosen = np.array(list(itertools.product(range(d), repeat=degree)), dtype=np.intp)
    return _products(X, chosen)


def _products(X: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Products of the chosen columns, of shape (n, len(chosen))."""
    phi = X[:, chosen[:, 0]]
    for k in range(1, chosen.shape[1]):
        phi *= X[:, chosen[:, k]]
    return phi


def _check_size(n: int, dimensions: int, degree: int) -> None:
    """Refuse a map that would not fit in memory."""
    if max(n, degree) * dimensions > LARGEST:
        raise ValueError(
            f"The explicit map of degree {degree} has {dimensions} dimensions: too many to be held for {n} rows."
        )
