"""Restricted isometry (限定等距性): how nearly a matrix keeps the lengths of sparse vectors."""

from __future__ import annotations

import itertools
import math
import numbers
from collections.abc import Iterator
from typing import Any

import numpy as np

from tercet.core.catalog import method
from tercet.core.estimator import generator
from tercet.decomposition.matrix_input import scaled_matrix

BATCH = 4096  # subsets whose eigenvalues are computed at a time


@method(
    zh="限定等距常数",
    task="theory",
    model="(1 - δ_k) |s|² <= |As|² <= (1 + δ_k) |s|² for all s with at most k non-zeros",
    strategy="the smallest such δ_k",
    algorithms="eigenvalues of A_k'A_k for all k columns",
    texts=["watermelon notes ch. 10, eq. 10.20"],
)
def restricted_isometry_constant(A: Any, k: int, *, max_subsets: int = 2_000_000) -> float:
    """The restricted isometry constant δ_k of a matrix, by enumeration of all its sets of k columns.

    δ_k is the largest distance from 1 of an eigenvalue of A_k'A_k. Below 1, two vectors of k/2 non-zeros never have
    the same measurements. It is NP-hard: see `estimate_restricted_isometry` for larger matrices.

    Parameters
    ----------
    A : array of shape (n, m)
        The matrix.
    k : int
        Non-zeros, from 1 to m.
    max_subsets : int, default=2_000_000
        Refuse to enumerate more sets of columns.

    Returns
    -------
    delta : float
        It may be above 1: then there is no restricted isometry.

    Examples
    --------
    >>> s = np.sqrt(0.5)
    >>> A = [[1, 0, s], [0, 1, s]]
    >>> round(restricted_isometry_constant(A, 1), 10), round(restricted_isometry_constant(A, 2), 10)
    (0.0, 0.7071067812)
    """
    gram = column_gram(A)
    check_sparsity("restricted_isometry_constant", k, len(gram))
    count = math.comb(len(gram), k)
    if count > max_subsets:
        raise ValueError(
            f"restricted_isometry_constant: there are {count} sets of k={k} columns, more than "
            f"max_subsets={max_subsets}; estimate_restricted_isometry gives a lower bound."
        )
    # the largest set decides: sets of fewer columns have eigenvalues between those of a set that holds them
    subsets = itertools.combinations(range(len(gram)), k)
    return max(largest_deviation(gram, batch) for batch in batches(subsets, k))


@method(
    zh="限定等距常数的抽样估计",
    task="theory",
    model="(1 - δ_k) |s|² <= |As|² <= (1 + δ_k) |s|² for all s with at most k non-zeros",
    strategy="a lower bound of δ_k",
    algorithms="eigenvalues of A_k'A_k for random sets of k columns, each improved by exchanges",
    texts=["watermelon notes ch. 10, eq. 10.20"],
)
def estimate_restricted_isometry(
    A: Any, k: int, *, n_subsets: int = 1000, n_exchanges: int = 10, random_state: Any = None
) -> float:
    """A lower bound of the restricted isometry constant δ_k, by sampling.

    Random sets of k columns, of which the worst are improved: one column at a time is exchanged for the one with
    which δ is largest. No sample can prove that δ_k is small; the bound only says that it is at least so large.

    Parameters
    ----------
    A : array of shape (n, m)
        The matrix.
    k : int
        Non-zeros, from 1 to m.
    n_subsets : int, default=1000
        Random sets.
    n_exchanges : int, default=10
        Rounds of exchanges for the worst of them; 0 is sampling alone.
    random_state : int, optional
        Decides what is drawn.

    Returns
    -------
    bound : float
        At most δ_k.

    Examples
    --------
    >>> s = np.sqrt(0.5)
    >>> round(estimate_restricted_isometry([[1, 0, s], [0, 1, s]], 2, random_state=0), 10)
    0.7071067812
    """
    gram, rng = column_gram(A), generator(random_state)
    m = len(gram)
    check_sparsity("estimate_restricted_isometry", k, m)
    if not isinstance(n_subsets, numbers.Integral) or n_subsets < 1:
        raise ValueError(
            f"estimate_restricted_isometry: n_subsets must be an integer of at least 1; got {n_subsets!r}."
        )
    drawn = np.argsort(rng.random((n_subsets, m)), axis=1)[:, :k]
    deviations = subset_deviations(gram, drawn)
    worst = drawn[int(deviations.argmax())].copy()
    bound = float(deviations.max())
    for _ in range(n_exchanges if k < m else 0):
        before = bound
        for place in range(k):
            others = np.setdiff1d(np.arange(m), worst)
            trials = np.repeat(worst[None], len(others), axis=0)
            trials[:, place] = others
            found = subset_deviations(gram, trials)
            if found.max() > bound:
                bound, worst = float(found.max()), trials[int(found.argmax())]
        if bound <= before:
            break
    return bound


@method(
    zh="互相干性",
    task="theory",
    model="μ = max |a_i·a_j| / (|a_i| |a_j|) over two different columns",
    strategy="k < (1 + 1/μ) / 2 non-zeros are recovered by basis pursuit and orthogonal matching pursuit",
    texts=["watermelon notes ch. 10, eq. 10.20"],
)
def mutual_coherence(A: Any) -> float:
    """The largest cosine between two columns of a matrix, without its sign.

    With unit columns δ_k <= (k - 1) μ, so that it bounds what takes too long to enumerate.

    Parameters
    ----------
    A : array of shape (n, m)
        The matrix, without columns of zeros.

    Returns
    -------
    mu : float

    Examples
    --------
    >>> round(mutual_coherence([[1, 0, 3], [0, 1, 3]]), 10)
    0.7071067812
    """
    gram = column_gram(A)
    lengths = np.sqrt(gram.diagonal())
    if not lengths.all():
        raise ValueError(f"mutual_coherence: column {int(np.argmin(lengths))} of A has only zeros.")
    cosines = np.abs(gram / np.outer(lengths, lengths))
    np.fill_diagonal(cosines, 0.0)
    return min(1.0, float(cosines.max(initial=0.0)))


def column_gram(A: Any) -> np.ndarray:
    """A'A of a real matrix of finite numbers."""
    A, exponent = scaled_matrix(A)
    if np.iscomplexobj(A):
        raise TypeError("A must hold real numbers; it is complex.")
    A = np.ldexp(A.astype(np.float64, copy=False), exponent)
    with np.errstate(over="ignore"):
        gram = A.T @ A
    if not np.isfinite(gram).all():
        raise ValueError("A holds numbers whose squares are beyond floating-point numbers. Scale it.")
    return gram


def check_sparsity(who: str, k: Any, m: int) -> None:
    if not isinstance(k, numbers.Integral) or not 1 <= int(k) <= m:
        raise ValueError(f"{who}: k must be an integer from 1 to {m}, the number of columns; got {k!r}.")


def batches(subsets: Iterator[tuple[int, ...]], k: int) -> Iterator[np.ndarray]:
    """Sets of k columns, some thousand at a time."""
    while chunk := list(itertools.islice(subsets, BATCH)):
        yield np.array(chunk).reshape(-1, k)


def subset_deviations(gram: np.ndarray, subsets: np.ndarray) -> np.ndarray:
    """How far eigenvalues of A_k'A_k are from 1 at most, for each set of columns."""
    values = np.linalg.eigvalsh(gram[subsets[:, :, None], subsets[:, None, :]])
    return np.maximum(values[:, -1] - 1.0, 1.0 - values[:, 0])


def largest_deviation(gram: np.ndarray, subsets: np.ndarray) -> float:
    return float(subset_deviations(gram, subsets).max())
