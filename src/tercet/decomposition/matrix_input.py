"""Matrices as the functions of this family take them: finite floats, in a unit whose squares are numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.scaling import largest, times_power
from tercet.core.validation import check_structure


def rank_tolerance(shape: tuple[int, ...], dtype: Any, tol: float | None, *, halved: bool = False) -> float:
    """The part of the largest singular value up to which others count as zero; `halved` where only half of the
    digits are good."""
    if tol is not None:
        if not 0 <= tol < 1:
            raise ValueError(f"tol must be a number from 0 to 1 (without 1); got {tol!r}.")
        return float(tol)
    part = max(shape, default=1) * float(np.finfo(dtype).eps)
    return float(np.sqrt(part)) if halved else part


def scaled_matrix(A: Any, *, sparse_too: bool = False, name: str = "A") -> tuple[Any, int]:
    """A as a matrix of finite floats whose squares are numbers, and the exponent of the 2 it was divided by."""
    if sparse.issparse(A):
        if not sparse_too:
            raise TypeError(
                f"{name} is sparse: a whole decomposition is dense. Use kind='truncated' with algorithm='lanczos' "
                f"or 'randomized', or {name}.toarray()."
            )
        A = check_structure(A.tocsr(), name)
        A = A if A.has_canonical_format else A.copy()
        A.sum_duplicates()
        values = A.data
    else:
        try:
            A = values = np.asarray(A)
        except ValueError:
            raise ValueError(f"{name} must be a matrix; its rows are of several lengths.") from None
    if A.ndim != 2 or 0 in A.shape:
        raise ValueError(f"{name} must be a matrix with rows and columns; its shape is {A.shape}.")
    if values.dtype.kind not in "fciub":
        raise TypeError(f"{name} must hold numbers; its dtype is {values.dtype}.")
    if values.dtype not in (np.float32, np.complex64):
        wide = np.complex128 if values.dtype.kind == "c" else np.float64
        A = A.astype(wide, copy=False)
        values = A.data if sparse.issparse(A) else A
    if not np.isfinite(values).all():
        raise ValueError(f"{name} holds NaN or infinity; it must hold finite numbers.")
    exponent = safe_exponent(A)
    return power_scaled(A, -exponent), exponent


def safe_exponent(A: Any) -> int:
    """The exponent e such that sums of squares of A / 2^e are numbers, with all their digits; 0 as a rule."""
    values = A.data if sparse.issparse(A) else A
    parts = (values.real, values.imag) if values.dtype.kind == "c" else (values,)
    most = max(largest(part) for part in parts)
    low, high = (1e-15, 1e15) if values.dtype in (np.float32, np.complex64) else (1e-100, 1e100)
    return 0 if most == 0 or low < most < high else int(np.frexp(most)[1])


def refuse_overflow(values: np.ndarray, exponent: int, name: str) -> np.ndarray:
    """Values times 2^exponent; an error where that is no number any more."""
    values = power_scaled(values, exponent)
    if not np.isfinite(values).all():
        raise ValueError(f"{name} is beyond floating-point numbers. Scale the matrix by 2**{-exponent}.")
    return values


def power_scaled(A: Any, exponent: int) -> Any:
    """A times 2^exponent, for complex numbers, too."""
    if exponent == 0:
        return A
    if np.iscomplexobj(A):
        return times_power(A.real, exponent) + 1j * times_power(A.imag, exponent)
    return times_power(A, exponent)
