"""Orthogonal matching pursuit (正交匹配追踪): the few columns that a vector is made of, chosen greedily."""

from __future__ import annotations

import numbers
import warnings
from typing import Any, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.scaling import LARGE
from tercet.core.validation import check_array, refuse_large
from tercet.optimize.matching_pursuit import COMPLETE, DEPENDENT, EXACT, Pursuit, matching_pursuit

PREMATURE = (
    "Orthogonal matching pursuit ended prematurely due to linear dependence in the dictionary. The requested "
    "precision might not have been met."
)


@method(
    zh="正交匹配追踪",
    task="regression",
    model="y ≈ Xw with few w that are not zero",
    strategy="min |y - Xw|² with at most k non-zeros, or the fewest non-zeros with |y - Xw|² <= tol",
    algorithms="greedy: the column of the largest correlation with the residual, then least squares on all chosen",
    texts=["watermelon notes ch. 10, eq. 10.15, 10.21"],
    peers=["sklearn.linear_model.orthogonal_mp"],
)
def orthogonal_mp(
    X: Any,
    y: Any,
    *,
    n_nonzero_coefs: int | None = None,
    tol: float | None = None,
    precompute: bool | Literal["auto"] = False,
    copy_X: bool = True,
    return_path: bool = False,
    return_n_iter: bool = False,
    n_jobs: int | None = None,
) -> Any:
    """Orthogonal matching pursuit: few columns of X whose combination is close to y.

    In each round the column with the largest |x_j·r| joins, r being the residual, and r becomes that of least
    squares on all columns chosen so far: it is orthogonal to them, so that none is chosen twice.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The columns, which should be of length 1 for the choice to be fair.
    y : array of shape (n_samples,) or (n_samples, n_targets)
        The vectors.
    n_nonzero_coefs : int, optional
        The most columns for each target; by default a tenth of the features.
    tol : float, optional
        Stop at a squared residual of so much instead.
    precompute : bool or "auto", default=False
        Whether to work on the Gram matrix, which pays for many targets; "auto" does where there are more samples
        than features.
    copy_X : bool, default=True
        For compatibility: X is never changed.
    return_path : bool, default=False
        Whether to return the coefficients after each round.
    return_n_iter : bool, default=False
        Whether to return the numbers of rounds, too.
    n_jobs : int, optional
        Threads for several targets with `precompute`; the result does not depend on it.

    Returns
    -------
    coef : array of shape (n_features,) or (n_features, n_targets)
        With `return_path` there is one more axis, the rounds.
    n_iters : int or list
        When `return_n_iter`.

    Examples
    --------
    >>> X = np.array([[1.0, 0.0, 0.6], [0.0, 1.0, 0.8]])
    >>> orthogonal_mp(X, [1.2, 1.6], n_nonzero_coefs=1)
    array([0., 0., 2.])
    """
    X = checked_table(X, "X")
    y = checked_table(y, "y", ensure_2d=False)
    Y = y.reshape(len(y), -1)
    if len(Y) != len(X):
        raise ValueError(f"orthogonal_mp: y has {len(Y)} rows, X has {len(X)}; they must be as many.")
    most = allowed_atoms(n_nonzero_coefs, tol, X.shape[1], X.shape[0])
    if X.shape[0] > X.shape[1] if isinstance(precompute, str) else precompute:
        norms = (Y**2).sum(axis=0)
        found = matching_pursuit(X.T @ X, Y.T @ X, norms, most=most, tol=tol, n_jobs=n_jobs)
    else:
        found = column_pursuits(X, Y, most, tol)
    warn_if_premature(found)
    coef = coefficient_path(X.T @ X, Y.T @ X, found) if return_path else found.codes.T
    return answer(coef, found, return_n_iter)


@method(
    zh="基于格拉姆矩阵的正交匹配追踪",
    task="regression",
    model="y ≈ Xw with few w that are not zero",
    strategy="min |y - Xw|² with at most k non-zeros, or the fewest non-zeros with |y - Xw|² <= tol",
    algorithms="batch OMP: X'X once for all targets, and a Cholesky factor that grows by a row with each column",
    texts=["watermelon notes ch. 10, eq. 10.15, 10.21"],
    peers=["sklearn.linear_model.orthogonal_mp_gram"],
)
def orthogonal_mp_gram(
    Gram: Any,
    Xy: Any,
    *,
    n_nonzero_coefs: int | None = None,
    tol: float | None = None,
    norms_squared: Any = None,
    copy_Gram: bool = True,
    copy_Xy: bool = True,
    return_path: bool = False,
    return_n_iter: bool = False,
    n_jobs: int | None = None,
) -> Any:
    """Orthogonal matching pursuit from inner products alone (batch OMP).

    Parameters
    ----------
    Gram : array of shape (n_features, n_features)
        X'X.
    Xy : array of shape (n_features,) or (n_features, n_targets)
        X'y.
    n_nonzero_coefs : int, optional
        The most columns for each target; by default a tenth of the features.
    tol : float, optional
        Stop at a squared residual of so much instead; needs `norms_squared`.
    norms_squared : float or array of shape (n_targets,), optional
        Squared lengths of the targets.
    copy_Gram, copy_Xy : bool, default=True
        For compatibility: neither is ever changed.
    return_path, return_n_iter : bool, default=False
        As in `orthogonal_mp`.
    n_jobs : int, optional
        Threads for several targets; the result does not depend on it.

    Returns
    -------
    coef, n_iters
        As from `orthogonal_mp`.

    Examples
    --------
    >>> orthogonal_mp_gram(
    ...     [[1.0, 0.0, 0.6], [0.0, 1.0, 0.8], [0.6, 0.8, 1.0]], [1.2, 1.6, 2.0], n_nonzero_coefs=1
    ... )
    array([0., 0., 2.])
    """
    Gram = checked_table(Gram, "Gram")
    Xy = checked_table(Xy, "Xy", ensure_2d=False)
    if Gram.shape[0] != Gram.shape[1] or len(Xy) != len(Gram):
        raise ValueError(
            f"orthogonal_mp_gram: Gram must be square, with as many rows as Xy; got {Gram.shape} and {Xy.shape}."
        )
    if tol is not None and norms_squared is None:
        raise ValueError(
            "Gram OMP needs the precomputed norms in order to evaluate the error sum of squares: "
            "give norms_squared."
        )
    cov = Xy.reshape(len(Xy), -1).T
    most = allowed_atoms(n_nonzero_coefs, tol, len(Gram))
    norms = None if norms_squared is None else np.broadcast_to(np.asarray(norms_squared, float), len(cov))
    found = matching_pursuit(Gram, cov, norms, most=most, tol=tol, n_jobs=n_jobs)
    warn_if_premature(found)
    coef = coefficient_path(Gram, cov, found) if return_path else found.codes.T
    return answer(coef.astype(Gram.dtype, copy=False), found, return_n_iter)


def column_pursuits(X: np.ndarray, Y: np.ndarray, most: int, tol: float | None) -> Pursuit:
    """Orthogonal matching pursuit of the columns of Y among those of X, step by step as the method is told.

    It forms no Gram matrix, so that features may be many, and is the oracle of `matching_pursuit`.

    Examples
    --------
    >>> found = column_pursuits(np.eye(3), np.array([[3.0], [0.0], [-5.0]]), 1, None)
    >>> found.codes, found.chosen
    (array([[ 0.,  0., -5.]]), array([[2]]))
    """
    X, Y = X.astype(np.float64, copy=False), Y.astype(np.float64, copy=False)
    d, n = X.shape[1], Y.shape[1]
    squares, eps = np.einsum("ij,ij->j", X, X), np.finfo(np.float64).eps
    codes, chosen = np.zeros((n, d)), np.full((n, most), -1, dtype=np.int64)
    ended = np.full(n, COMPLETE)
    for i, y in enumerate(Y.T):
        residual, Q, R = y.copy(), np.zeros((len(X), 0)), np.zeros((0, 0))
        first = float(np.abs(X.T @ y).max(initial=0.0))
        for t in range(most):
            if tol is not None and residual @ residual <= tol:
                break
            correlation = np.abs(X.T @ residual)
            correlation[chosen[i, :t]] = 0.0
            best = int(correlation.argmax())
            if not correlation[best] ** 2 > eps * first**2:
                ended[i] = EXACT
                break
            part = Q.T @ X[:, best]
            q = X[:, best] - Q @ part
            more = Q.T @ q  # once more: what rounding left of the chosen directions
            q, part = q - Q @ more, part + more
            length = float(np.linalg.norm(q))
            if not length**2 > 16 * eps * squares[best]:
                ended[i] = DEPENDENT
                break
            Q = np.column_stack([Q, q / length])
            R = np.block([[R, part[:, None]], [np.zeros((1, t)), np.array([[length]])]])
            residual = residual - Q[:, -1] * (Q[:, -1] @ residual)
            chosen[i, t] = best
        there = chosen[i, chosen[i] >= 0]
        codes[i, there] = np.linalg.solve(R, Q.T @ y) if there.size else 0.0
    return Pursuit(codes, chosen, (chosen >= 0).sum(axis=1), ended)


def coefficient_path(gram: np.ndarray, cov: np.ndarray, found: Pursuit) -> np.ndarray:
    """Coefficients after each round, of shape (n_features, n_targets, rounds)."""
    rounds = int(found.counts.max(initial=0))
    path = np.zeros((cov.shape[1], len(cov), rounds))
    for i, count in enumerate(found.counts):
        for t in range(1, rounds + 1):
            atoms = found.chosen[i, : min(t, count)]
            path[atoms, i, t - 1] = np.linalg.solve(gram[np.ix_(atoms, atoms)], cov[i, atoms])
    return path


def checked_table(X: Any, name: str, **options: Any) -> np.ndarray:
    """Finite floats whose squares are numbers."""
    X = check_array(X, dtype=(np.float64, np.float32), input_name=name, **options)
    refuse_large(X, LARGE, f"orthogonal matching pursuit (input {name})")
    return X


def allowed_atoms(n_nonzero_coefs: Any, tol: Any, n_features: int, n_samples: int | None = None) -> int:
    """How many columns a target may have; an error where the numbers that were given make no sense."""
    if tol is not None and not (isinstance(tol, numbers.Real) and 0 <= float(tol) < np.inf):
        raise ValueError(f"tol must be a number in [0, inf) or None; got {tol!r}.")
    if tol is not None:
        return n_features if n_samples is None else min(n_features, n_samples)
    if n_nonzero_coefs is None:
        return max(n_features // 10, 1)
    if not isinstance(n_nonzero_coefs, numbers.Integral) or int(n_nonzero_coefs) < 1:
        raise ValueError(
            f"n_nonzero_coefs must be an integer of at least 1 or None; got {n_nonzero_coefs!r}."
        )
    if int(n_nonzero_coefs) > n_features:
        raise ValueError(
            f"n_nonzero_coefs={n_nonzero_coefs}: the number of atoms cannot be more than the number of features, "
            f"{n_features}."
        )
    return int(n_nonzero_coefs)


def warn_if_premature(found: Pursuit) -> None:
    """Warn where fewer columns than asked for were of use; of a target of zeros none is."""
    if ((found.ended != COMPLETE) & (found.counts > 0)).any():
        warnings.warn(PREMATURE, RuntimeWarning, stacklevel=3)


def answer(coef: np.ndarray, found: Pursuit, return_n_iter: bool) -> Any:
    """The coefficients, and the numbers of rounds where they are asked for."""
    counts = found.counts.tolist()
    coef = np.squeeze(coef)
    return (coef, counts if len(counts) > 1 else counts[0]) if return_n_iter else coef
