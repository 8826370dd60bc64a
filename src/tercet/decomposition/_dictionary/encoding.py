"""Sparse codes of the rows of a table, on several threads: each signal by itself, whatever is beside it."""

from __future__ import annotations

import itertools
import warnings
from typing import Any, NamedTuple

import numpy as np

from tercet.core.parallel import each
from tercet.core.row_products import row_products
from tercet.core.rows import kernel_form
from tercet.core.steps import ConvergenceWarning
from tercet.decomposition._dictionary.coordinate_descent import coordinate_codes
from tercet.decomposition._dictionary.least_angle import least_angle_codes
from tercet.optimize import matching_pursuit
from tercet.penalties import soft_threshold

TOL = 1e-8  # duality gap of coordinate descent, relative to |x|²
WORK = 30_000_000  # products in a piece of work for one thread


class Coder(NamedTuple):
    """How signals are encoded: the algorithm, the number of atoms or the strength of the penalty, and limits."""

    algorithm: str
    n_nonzero_coefs: int
    alpha: float
    max_iter: int = 1000
    positive: bool = False
    n_jobs: int | None = None


def encode(
    X: np.ndarray,
    dictionary: np.ndarray,
    coder: Coder,
    *,
    gram: Any = None,
    cov: Any = None,
    init: Any = None,
) -> np.ndarray:
    """Codes of the rows of X, of shape (n_samples, n_components), in float64.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The signals.
    dictionary : array of shape (n_components, n_features)
        The atoms.
    coder : Coder
        How.
    gram, cov : arrays of shapes (n_components, n_components) and (n_samples, n_components), optional
        Inner products of the atoms, and of signals and atoms, where they are known.
    init : array of shape (n_samples, n_components), optional
        Where coordinate descent begins.
    """
    X, D = (np.ascontiguousarray(A, dtype=np.float64) for A in (X, dictionary))
    n, n_atoms = len(X), len(D)
    gram = kernel_form(D @ D.T if gram is None else gram) if coder.algorithm != "threshold" else None
    codes = np.zeros((n, n_atoms))
    if init is not None and coder.algorithm == "lasso_cd":
        codes[:] = init
    size = max(16, WORK // max(1, n_atoms * (X.shape[1] + n_atoms)))
    spans = [slice(a, b) for a, b in itertools.pairwise([*range(0, n, size), n])]
    missed = sum(each(_encode_span, spans, X, D, gram, cov, coder, codes, n_jobs=coder.n_jobs))
    if missed:
        warnings.warn(
            f"Sparse coding: coordinate descent did not converge for {missed} of {n} signals in {coder.max_iter} "
            "rounds. Raise the number of iterations or alpha.",
            ConvergenceWarning,
            stacklevel=3,
        )
    return codes


def _encode_span(
    span: slice, X: np.ndarray, D: np.ndarray, gram: Any, cov: Any, coder: Coder, codes: np.ndarray
) -> int:
    """Encode some signals; returns how many did not converge."""
    here = kernel_form(row_products(X[span], D) if cov is None else cov[span])
    out = codes[span]
    most = min(coder.n_nonzero_coefs, len(D))
    if coder.algorithm == "omp":
        out[:] = matching_pursuit(gram, here, most=most, n_jobs=1).codes
    elif coder.algorithm == "threshold":
        out[:] = soft_threshold(np.maximum(here, 0.0) if coder.positive else here, coder.alpha)
    elif coder.algorithm == "lasso_cd":
        squares = kernel_form(np.einsum("ij,ij->i", X[span], X[span]))
        return coordinate_codes(gram, here, squares, coder.alpha, coder.positive, coder.max_iter, TOL, out)
    elif coder.algorithm == "lars":
        least_angle_codes(gram, here, 0.0, most, False, False, len(D) + 1, out)
    else:
        least_angle_codes(gram, here, coder.alpha, len(D), True, coder.positive, coder.max_iter, out)
    return 0
