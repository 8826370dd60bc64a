"""Truncated singular value decomposition by random projections."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from tercet.core.estimator import generator
from tercet.core.parallel import all_cores
from tercet.decomposition._engine.centred_rows import CentredRows
from tercet.decomposition._engine.range_finder import random_range, settled_normalizer
from tercet.decomposition.matrix_input import refuse_overflow, scaled_matrix


def randomized_svd(
    M: Any,
    n_components: int,
    *,
    n_oversamples: int = 10,
    n_iter: int | Literal["auto"] = "auto",
    power_iteration_normalizer: Literal["auto", "QR", "LU", "none"] = "auto",
    transpose: bool | Literal["auto"] = "auto",
    flip_sign: bool = True,
    random_state: Any = None,
    svd_lapack_driver: Literal["gesdd", "gesvd"] = "gesdd",
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The leading singular triplets of a matrix, from its products with a random table.

    Parameters
    ----------
    M : array or sparse matrix of shape (m, n)
        The matrix.
    n_components : int
        How many triplets.
    n_oversamples : int, default=10
        Columns of the random table beyond `n_components`.
    n_iter : int or "auto", default="auto"
        Power iterations; "auto" is 7 for few components, else 4.
    power_iteration_normalizer : {"auto", "QR", "LU", "none"}, default="auto"
        How the table is kept from becoming singular between them.
    transpose : bool or "auto", default="auto"
        Whether to work on M'; "auto" where M has more columns than rows.
    flip_sign : bool, default=True
        Turn the vectors so that the largest entry of each left one is positive; else of each right one.
    random_state : int, optional
        Decides the random table.
    svd_lapack_driver : {"gesdd", "gesvd"}, default="gesdd"
        There for callers of scikit-learn's function; the small matrix is always decomposed by "gesdd".

    Returns
    -------
    U : array of shape (m, n_components)
    s : array of shape (n_components,)
    Vt : array of shape (n_components, n)

    Examples
    --------
    >>> U, s, Vt = randomized_svd(np.diag([3.0, 2.0, 1.0]), 2, random_state=0)
    >>> s.round(6)
    array([3., 2.])
    """
    A, exponent = scaled_matrix(M, sparse_too=True, name="M")
    if np.iscomplexobj(A):
        raise ValueError("randomized_svd: M must hold real numbers; it is complex.")
    _check_counts(n_components=(n_components, 1), n_oversamples=(n_oversamples, 0))
    if n_iter == "auto":
        n_iter = 7 if n_components < 0.1 * min(A.shape) else 4
    _check_counts(n_iter=(n_iter, 0))
    if power_iteration_normalizer not in ("auto", "QR", "LU", "none"):
        raise ValueError(
            "randomized_svd: power_iteration_normalizer must be one of 'auto', 'QR', 'LU', 'none'; got "
            f"{power_iteration_normalizer!r}."
        )
    normalizer = settled_normalizer(power_iteration_normalizer, n_iter)
    rows = CentredRows(A, n_jobs=all_cores(None))
    turned = None if transpose == "auto" else bool(transpose)
    rng = generator(random_state)
    U, s, Vt = random_range(rows, n_components, n_oversamples, n_iter, normalizer, rng, turned)
    if flip_sign:
        largest = U[np.abs(U).argmax(axis=0), np.arange(U.shape[1])]
        turn = np.where(largest < 0, -1, 1).astype(U.dtype)
        U, Vt = U * turn, turn[:, None] * Vt
    return U, refuse_overflow(s, exponent, "The largest singular value of M"), Vt


def _check_counts(**counts: tuple[Any, int]) -> None:
    for name, (value, least) in counts.items():
        if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
            raise ValueError(f"randomized_svd: {name} must be an integer of at least {least}; got {value!r}.")
