"""Sparse coding (稀疏编码): signals as combinations of few atoms of a dictionary."""

from __future__ import annotations

import numbers
from typing import Any, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.scaling import LARGE
from tercet.core.validation import check_array, refuse_large
from tercet.decomposition._dictionary.encoding import Coder, encode

Algorithm = Literal["lasso_lars", "lasso_cd", "lars", "omp", "threshold"]
ALGORITHMS = {
    "lasso_lars": "the lasso by its path: least-angle regression in which atoms may leave",
    "lasso_cd": "the lasso by coordinate descent",
    "lars": "least-angle regression until so many atoms are in",
    "omp": "orthogonal matching pursuit, the Gram matrix computed once for all signals",
    "threshold": "soft threshold of the inner products with the atoms",
}


@method(
    zh="稀疏编码",
    task="sparse coding",
    model="x ≈ Σ_k a_k b_k with few a_k that are not zero, b_k the atoms of a dictionary",
    strategy="|x - Ba|²/2 + alpha |a|_1, or |x - Ba|² with at most so many non-zeros",
    algorithms=ALGORITHMS,
    texts=["watermelon notes ch. 10, eq. 10.15"],
    peers=["sklearn.decomposition.sparse_encode"],
)
def sparse_encode(
    X: Any,
    dictionary: Any,
    *,
    gram: Any = None,
    cov: Any = None,
    algorithm: Algorithm = "lasso_lars",
    n_nonzero_coefs: int | None = None,
    alpha: float | None = None,
    copy_cov: bool = True,
    init: Any = None,
    max_iter: int = 1000,
    n_jobs: int | None = None,
    check_input: bool = True,
    verbose: int | bool = 0,
    positive: bool = False,
) -> np.ndarray:
    """Sparse codes of signals over a dictionary, each signal by itself.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The signals.
    dictionary : array of shape (n_components, n_features)
        The atoms, of length 1 for the choice among them to be fair.
    gram, cov : arrays of shapes (n_components, n_components) and (n_components, n_samples), optional
        Inner products of the atoms, and of atoms and signals, where they are known.
    algorithm : {"lasso_lars", "lasso_cd", "lars", "omp", "threshold"}, default="lasso_lars"
        The lasso by its path or by coordinate descent (10.15), least-angle regression, orthogonal matching pursuit,
        or a soft threshold of the inner products.
    n_nonzero_coefs : int, optional
        For "lars" and "omp": the most atoms of a signal; by default a tenth of the features, and at least one.
    alpha : float, optional
        For the lasso the strength of the penalty, for "threshold" the threshold; by default 1. The text's lambda
        (a loss without 1/2) is 2 alpha.
    copy_cov, check_input, verbose
        For compatibility: nothing is changed, input is always checked, and there is nothing to print.
    init : array of shape (n_samples, n_components), optional
        Where "lasso_cd" begins.
    max_iter : int, default=1000
        The most steps of "lasso_lars" and rounds of "lasso_cd".
    n_jobs : int, optional
        Threads; the result does not depend on it.
    positive : bool, default=False
        Whether codes must not be negative ("lasso_lars", "lasso_cd" and "threshold").

    Returns
    -------
    code : array of shape (n_samples, n_components)

    Examples
    --------
    >>> dictionary = [[0, 1, 0], [-1, -1, 2], [1, 1, 1], [0, 1, 1], [0, 2, 1]]
    >>> sparse_encode([[-1, -1, -1], [0, 0, 3]], dictionary, alpha=1e-10).round(6)
    array([[ 0.,  0., -1.,  0.,  0.],
           [ 0.,  1.,  1.,  0.,  0.]])
    """
    X = check_array(X, dtype=(np.float64, np.float32), input_name="X")
    dictionary = check_array(dictionary, dtype=(np.float64, np.float32), input_name="dictionary")
    for name, table in (("X", X), ("dictionary", dictionary)):
        refuse_large(table, LARGE, f"sparse_encode (input {name})")
    refuse_other_width(dictionary.shape, X.shape)
    shape = X.shape[0], dictionary.shape[0]
    coder = make_coder(
        algorithm, n_nonzero_coefs, alpha, max_iter, positive, n_jobs, (X.shape[1], dictionary.shape[0])
    )
    gram = given_table(gram, "gram", (shape[1], shape[1]))
    cov = given_table(cov, "cov", (shape[1], shape[0]))
    init = given_table(init, "init", shape)
    code = encode(X, dictionary, coder, gram=gram, cov=None if cov is None else cov.T, init=init)
    return code.astype(X.dtype, copy=False)


def make_coder(
    algorithm: str,
    n_nonzero_coefs: Any,
    alpha: Any,
    max_iter: int,
    positive: bool,
    n_jobs: int | None,
    size: tuple[int, int],
) -> Coder:
    """The coder for signals of size[0] features over size[1] atoms; an error where the numbers make no sense."""
    d, n_atoms = size
    if algorithm not in ALGORITHMS:
        raise ValueError(f"algorithm must be one of {', '.join(map(repr, ALGORITHMS))}; got {algorithm!r}.")
    refuse_positive(algorithm, positive)
    if alpha is not None and not (isinstance(alpha, numbers.Real) and 0 <= float(alpha) < np.inf):
        raise ValueError(f"alpha must be a number in [0, inf) or None; got {alpha!r}.")
    if not isinstance(max_iter, numbers.Integral) or int(max_iter) < 0:
        raise ValueError(f"max_iter must be an integer of at least 0; got {max_iter!r}.")
    many = n_nonzero_coefs
    if many is None:
        many = int(min(max(d / 10, 1), n_atoms))
    elif not isinstance(many, numbers.Integral) or many < 1:
        raise ValueError(f"n_nonzero_coefs must be an integer of at least 1 or None; got {many!r}.")
    elif algorithm in ("omp", "lars") and many > n_atoms:
        raise ValueError(
            f"n_nonzero_coefs={many}: the dictionary has only {n_atoms} atoms; allowed are 1 to {n_atoms}."
        )
    return Coder(
        algorithm, int(many), 1.0 if alpha is None else float(alpha), int(max_iter), positive, n_jobs
    )


def refuse_positive(algorithm: str, positive: bool) -> None:
    """An error where an algorithm cannot keep codes from being negative."""
    if positive and algorithm in ("omp", "lars", "ksvd", "approximate-ksvd"):
        raise ValueError(f"Positive constraint not supported for '{algorithm}' coding method.")


def refuse_other_width(dictionary: tuple[int, ...], X: tuple[int, ...]) -> None:
    """An error where atoms and signals are of different lengths."""
    if dictionary[1] != X[1]:
        raise ValueError(
            f"Dictionary and X have different numbers of features: dictionary.shape: {dictionary} X.shape: {X}."
        )


def given_table(table: Any, name: str, shape: tuple[int, int]) -> np.ndarray | None:
    """A table that the caller has computed, or None."""
    if table is None:
        return None
    table = check_array(table, dtype=(np.float64, np.float32), input_name=name)
    if table.shape != shape:
        raise ValueError(f"{name} must have the shape {shape}; got {table.shape}.")
    return table
