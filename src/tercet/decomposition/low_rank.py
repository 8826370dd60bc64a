"""Uses of the singular value decomposition: the best approximation of low rank, norms, the pseudo-inverse."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.decomposition._engine.lapack import singular_triplets
from tercet.decomposition.matrix_input import (
    power_scaled,
    rank_tolerance,
    refuse_overflow,
    scaled_matrix,
)
from tercet.decomposition.svd import svd


def low_rank_approximation(A: Any, k: int) -> tuple[np.ndarray, float]:
    """The matrix of rank k at most that is nearest to A in the Frobenius norm (Li Thm 15.2, 15.3).

    It is the sum of the k leading terms σ_i u_i v_i'. It is unique only where σ_k > σ_(k+1).

    Parameters
    ----------
    A : array of shape (m, n)
        The matrix.
    k : int
        The rank, from 1 to min(m, n).

    Returns
    -------
    A_k : array of shape (m, n)
    error : float
        The distance to A, sqrt(σ_(k+1)² + σ_(k+2)² + ...).

    Examples
    --------
    >>> near, error = low_rank_approximation([[3, 0], [0, 2]], 1)
    >>> near, round(error, 9)
    (array([[3., 0.],
           [0., 0.]]), 2.0)
    """
    scaled, exponent = scaled_matrix(A)
    if not isinstance(k, int | np.integer) or isinstance(k, bool) or not 1 <= k <= min(scaled.shape):
        raise ValueError(
            f"low_rank_approximation: k must be an integer from 1 to min(m, n)={min(scaled.shape)}; got {k!r}."
        )
    U, s, Vt = svd(scaled, "truncated", k=min(scaled.shape))
    near = power_scaled((U[:, :k] * s[:k]) @ Vt[:k], exponent)
    return near, float(np.ldexp(np.linalg.norm(s[k:]), exponent))


def outer_product_expansion(A: Any, tol: float | None = None) -> np.ndarray:
    """The terms of A = Σ_i σ_i u_i v_i', matrices of rank one (Li eq. 15.45).

    Parameters
    ----------
    A : array of shape (m, n)
        The matrix.
    tol : float, optional
        Singular values up to tol times the largest count as zero; by default max(m, n) eps.

    Returns
    -------
    terms : array of shape (r, m, n)
        As many terms as the rank, the largest first. `terms[:k].sum(axis=0)` is the best approximation of rank k,
        and `terms.cumsum(axis=0)` has all of them.

    Examples
    --------
    >>> outer_product_expansion([[3, 0], [0, 2]])[0]
    array([[3., 0.],
           [0., 0.]])
    """
    scaled, exponent = scaled_matrix(A)
    U, s, Vt = svd(scaled, "compact", tol=tol)
    return power_scaled(np.einsum("ir,r,rj->rij", U, s, Vt), exponent)


def geometric_stages(A: Any, x: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A x as a rotation or reflection, a scaling of the axes, and another rotation or reflection (Li sec. 15.1.3).

    Parameters
    ----------
    A : array of shape (m, n)
        The matrix.
    x : array of shape (n,) or (n, p)
        A vector, or several as columns.

    Returns
    -------
    rotated : array of shape (n,) or (n, p)
        V'x.
    scaled : array of shape (m,) or (m, p)
        ΣV'x.
    image : array of shape (m,) or (m, p)
        UΣV'x = Ax.

    Examples
    --------
    >>> rotated, scaled, image = geometric_stages([[3, 1], [2, 1]], [1, 0])
    >>> rotated.round(4), scaled.round(4), image.round(4)
    (array([ 0.9327, -0.3606]), array([ 3.6043, -0.0933]), array([3., 2.]))
    """
    A, x = np.asarray(A), np.asarray(x)
    U, s, Vt = svd(A)
    if x.ndim not in (1, 2) or len(x) != Vt.shape[1]:
        raise ValueError(
            f"geometric_stages: x must have {Vt.shape[1]} rows, as A has columns; its shape is {x.shape}."
        )
    rotated = Vt @ x
    scaled = np.zeros((len(U), *x.shape[1:]), dtype=rotated.dtype)
    scaled[: s.size] = s.reshape(-1, *(1,) * (x.ndim - 1)) * rotated[: s.size]
    return rotated, scaled, U @ scaled


def frobenius_norm(A: Any) -> float:
    """The Frobenius norm sqrt(Σ_ij |a_ij|²) = sqrt(Σ_i σ_i²) (Li eq. 15.25, 15.26).

    Parameters
    ----------
    A : array or sparse matrix of shape (m, n)
        The matrix.

    Returns
    -------
    norm : float

    Examples
    --------
    >>> frobenius_norm([[3, 0], [0, 4]])
    5.0
    """
    A, exponent = scaled_matrix(A, sparse_too=True)
    values = A if isinstance(A, np.ndarray) else A.data
    norm = np.linalg.norm(values.astype(np.result_type(values, np.float64)))
    return float(refuse_overflow(np.asarray(norm), exponent, "The Frobenius norm of A"))


def pseudo_inverse(A: Any, tol: float | None = None) -> np.ndarray:
    """The Moore-Penrose inverse VΣ⁺U', with 1 / σ_i for the singular values that are not zero.

    Parameters
    ----------
    A : array of shape (m, n)
        The matrix.
    tol : float, optional
        Singular values up to tol times the largest count as zero; by default max(m, n) eps.

    Returns
    -------
    inverse : array of shape (n, m)

    Examples
    --------
    >>> pseudo_inverse([[2, 0], [0, 0]])
    array([[0.5, 0. ],
           [0. , 0. ]])
    """
    scaled, exponent = scaled_matrix(A)
    U, s, Vt = svd(scaled, "compact", tol=tol)
    inverse = power_scaled((Vt.conj().T / s) @ U.conj().T, -exponent)
    if not np.isfinite(inverse).all():
        raise ValueError(
            f"The pseudo-inverse of A is beyond floating-point numbers. Scale A by 2**{-exponent}."
        )
    return inverse


def condition_number(A: Any, tol: float | None = None) -> float:
    """The ratio σ_1 / σ_p of the largest to the smallest singular value; infinite for a singular matrix.

    Parameters
    ----------
    A : array of shape (m, n)
        The matrix.
    tol : float, optional
        Singular values up to tol times the largest count as zero; by default max(m, n) eps.

    Returns
    -------
    number : float

    Examples
    --------
    >>> condition_number([[4, 0], [0, 2]]), condition_number([[1, 1], [1, 1]])
    (2.0, inf)
    """
    scaled, _ = scaled_matrix(A)
    s = singular_triplets(scaled)[1]
    singular = s[-1] <= rank_tolerance(scaled.shape, scaled.dtype, tol) * s[0]
    return float("inf") if singular else float(s[0] / s[-1])
