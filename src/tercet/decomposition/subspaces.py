"""The subspaces that belong to a matrix, with orthonormal bases (Li appendix D). Real or complex matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.decomposition._engine.lapack import singular_triplets
from tercet.decomposition.matrix_input import rank_tolerance, scaled_matrix


def rank(A: Any, tol: float | None = None) -> int:
    """The rank: the dimension of the row space, which is that of the column space.

    Parameters
    ----------
    A : array of shape (m, n)
        The matrix.
    tol : float, optional
        Singular values up to tol times the largest count as zero; by default max(m, n) eps.

    Returns
    -------
    rank : int

    Examples
    --------
    >>> rank([[1, 2, 3], [2, 4, 6], [1, 0, 1]])
    2
    """
    return fundamental_subspaces(A, tol)["column_space"].shape[1]


def nullity(A: Any, tol: float | None = None) -> int:
    """The dimension of the null space: the number of columns less the rank.

    Parameters
    ----------
    A, tol : as in `rank`

    Returns
    -------
    nullity : int

    Examples
    --------
    >>> nullity([[1, 2, 3], [2, 4, 6], [1, 0, 1]])
    1
    """
    return null_space(A, tol).shape[1]


def fundamental_subspaces(A: Any, tol: float | None = None) -> dict[str, np.ndarray]:
    """Orthonormal bases of the four fundamental subspaces, from the singular vectors (Li app. D, Thm D.1).

    Parameters
    ----------
    A : array of shape (m, n)
        The matrix, of rank r.
    tol : float, optional
        Singular values up to tol times the largest count as zero; by default max(m, n) eps.

    Returns
    -------
    bases : dict
        "column_space" R(A), of shape (m, r); "left_null_space" N(A'), of shape (m, m - r), its orthogonal
        complement; "row_space" R(A'), of shape (n, r); "null_space" N(A), of shape (n, n - r), its complement. A
        space of dimension 0 has a basis without columns, which all functions here take, too. Of a complex matrix,
        A' is the conjugate transpose.

    Examples
    --------
    >>> bases = fundamental_subspaces([[1, 2, 3], [2, 4, 6], [1, 0, 1]])
    >>> {name: basis.shape for name, basis in bases.items()}
    {'column_space': (3, 2), 'left_null_space': (3, 1), 'row_space': (3, 2), 'null_space': (3, 1)}
    """
    A = _columns(A)
    if A.shape[1] == 0:
        U, V, r = np.eye(len(A), dtype=A.dtype), A[:0].T, 0
    else:
        U, s, Vt = singular_triplets(A)
        V, r = Vt.conj().T, int((s > rank_tolerance(A.shape, A.dtype, tol) * s[0]).sum())
    return {
        "column_space": U[:, :r],
        "left_null_space": U[:, r:],
        "row_space": V[:, :r],
        "null_space": V[:, r:],
    }


def _columns(A: Any, name: str = "A") -> np.ndarray:
    """A in a unit whose squares are numbers; an array without columns, as a basis of {0} is, stays as it is."""
    if isinstance(A, np.ndarray) and A.ndim == 2 and A.shape[1] == 0 < A.shape[0]:
        return A.astype(np.result_type(A, np.float32), copy=False)
    return scaled_matrix(A, name=name)[0]


def column_space(A: Any, tol: float | None = None) -> np.ndarray:
    """An orthonormal basis of the column space R(A), the span of the columns.

    Parameters
    ----------
    A, tol : as in `rank`

    Returns
    -------
    basis : array of shape (m, r)

    Examples
    --------
    >>> np.abs(column_space([[2, 4], [0, 0]]))
    array([[1.],
           [0.]])
    """
    return fundamental_subspaces(A, tol)["column_space"]


def row_space(A: Any, tol: float | None = None) -> np.ndarray:
    """An orthonormal basis of the row space R(A').

    Parameters
    ----------
    A, tol : as in `rank`

    Returns
    -------
    basis : array of shape (n, r)
        As columns.

    Examples
    --------
    >>> row_space([[3, 4]]).shape
    (2, 1)
    """
    return fundamental_subspaces(A, tol)["row_space"]


def null_space(A: Any, tol: float | None = None) -> np.ndarray:
    """An orthonormal basis of the null space N(A), the x with Ax = 0.

    Parameters
    ----------
    A, tol : as in `rank`

    Returns
    -------
    basis : array of shape (n, n - r)

    Examples
    --------
    >>> null_space([[1, 0], [0, 1]]).shape
    (2, 0)
    """
    return fundamental_subspaces(A, tol)["null_space"]


def left_null_space(A: Any, tol: float | None = None) -> np.ndarray:
    """An orthonormal basis of the left null space N(A'), the y with A'y = 0.

    Parameters
    ----------
    A, tol : as in `rank`

    Returns
    -------
    basis : array of shape (m, m - r)

    Examples
    --------
    >>> left_null_space([[1], [1]]).shape
    (2, 1)
    """
    return fundamental_subspaces(A, tol)["left_null_space"]


def is_independent(vectors: Any, tol: float | None = None) -> bool:
    """Whether vectors, as columns, are linearly independent.

    Parameters
    ----------
    vectors : array of shape (m, n)
        The vectors.
    tol : float, optional
        As in `rank`.

    Returns
    -------
    independent : bool

    Examples
    --------
    >>> is_independent([[1, 0], [0, 1], [1, 1]]), is_independent([[1, 2], [2, 4]])
    (True, False)
    """
    return rank(vectors, tol) == np.shape(vectors)[1]


def in_span(vector: Any, vectors: Any, tol: float | None = None) -> bool:
    """Whether a vector is a linear combination of others.

    Parameters
    ----------
    vector : array of shape (m,)
        The vector.
    vectors : array of shape (m, n)
        The others, as columns.
    tol : float, optional
        The part of its length that may lie outside of the span; by default max(m, n) times the square root of eps.
        Also as in `rank`.

    Returns
    -------
    inside : bool

    Examples
    --------
    >>> in_span([3, 6, 1], [[1, 2], [2, 4], [1, 0]]), in_span([1, 0, 0], [[1, 2], [2, 4], [1, 0]])
    (True, False)
    """
    vector = np.asarray(vector)
    if vector.ndim != 1 or vector.shape[0] != np.shape(vectors)[0]:
        raise ValueError(
            f"in_span: vector must have {np.shape(vectors)[0]} entries, as the vectors have; its shape is "
            f"{vector.shape}."
        )
    x = scaled_matrix(vector[:, None], name="vector")[0][:, 0]
    basis = column_space(vectors, tol)
    outside = x - basis @ (basis.conj().T @ x)
    part = max(np.shape(vectors)) * np.sqrt(np.finfo(basis.dtype).eps) if tol is None else tol
    return bool(np.linalg.norm(outside) <= part * np.linalg.norm(x))


def orthogonal_complement(vectors: Any, tol: float | None = None) -> np.ndarray:
    """An orthonormal basis of all that is orthogonal to some vectors (Li eq. D.2).

    Parameters
    ----------
    vectors : array of shape (m, n)
        The vectors, as columns.
    tol : float, optional
        As in `rank`.

    Returns
    -------
    basis : array of shape (m, m - r)

    Examples
    --------
    >>> np.abs(orthogonal_complement([[1], [0]]))
    array([[0.],
           [1.]])
    """
    return left_null_space(vectors, tol)


def are_orthogonal(X: Any, Y: Any, tol: float = 1e-10) -> bool:
    """Whether each vector of one set is orthogonal to each of another.

    Parameters
    ----------
    X, Y : arrays of shape (m, p) and (m, q)
        The vectors, as columns.
    tol : float, default=1e-10
        The largest cosine that counts as zero.

    Returns
    -------
    orthogonal : bool

    Examples
    --------
    >>> are_orthogonal([[1], [1]], [[1], [-1]]), are_orthogonal([[1], [1]], [[1], [0]])
    (True, False)
    """
    X, Y = _columns(X, "X"), _columns(Y, "Y")
    if len(X) != len(Y):
        raise ValueError(f"are_orthogonal: X and Y must have as many rows; they have {len(X)} and {len(Y)}.")
    lengths = np.outer(np.linalg.norm(X, axis=0), np.linalg.norm(Y, axis=0))
    return bool((np.abs(X.conj().T @ Y) <= tol * lengths).all())


def projector(vectors: Any, tol: float | None = None) -> np.ndarray:
    """The matrix P that projects on the span of some vectors: P² = P = P'.

    Parameters
    ----------
    vectors : array of shape (m, n)
        The vectors, as columns.
    tol : float, optional
        As in `rank`.

    Returns
    -------
    P : array of shape (m, m)
        Its sum with the projector on the orthogonal complement is the identity.

    Examples
    --------
    >>> projector([[2], [0]])
    array([[1., 0.],
           [0., 0.]])
    """
    basis = column_space(vectors, tol)
    return basis @ basis.conj().T
