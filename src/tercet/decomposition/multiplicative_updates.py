"""Multiplicative updates of non-negative matrix factorisation in plain form (非负矩阵分解的乘法更新规则)."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.validation import check_array
from tercet.decomposition.matrix_losses import refuse_negative_entries


@method(
    zh="非负矩阵分解的乘法更新",
    task="matrix factorisation",
    model="X ≈ WH with W, H >= 0",
    strategy="squared loss |X - WH|² or divergence D(X||WH): neither can rise in a half step",
    algorithms="Algorithm 17.1: (17.33) and (17.34), or (17.26) and (17.27); O(mnk) for one step",
    texts=["Li ch. 17, Alg 17.1, eq. 17.24-17.27, 17.33, 17.34"],
)
def multiplicative_step(
    X: Any,
    W: Any,
    H: Any,
    loss: Literal["squared", "divergence"] = "squared",
    *,
    order: Literal["WH", "HW"] = "WH",
) -> tuple[np.ndarray, np.ndarray]:
    """One step of Algorithm 17.1: W from the old H, then H from the new W, or the other way round.

    All entries of a factor are updated from the same old matrices. An entry that is 0 stays 0, and one whose
    denominator is 0 becomes 0.

    Parameters
    ----------
    X : array of shape (m, n)
        Numbers of at least 0.
    W, H : arrays of shape (m, k) and (k, n)
        The factors, of at least 0.
    loss : {"squared", "divergence"}, default="squared"
        |X - WH|², or D(X||WH).
    order : {"WH", "HW"}, default="WH"
        Which factor comes first: W as in Algorithm 17.1, or H as in Theorems 17.1 and 17.2.

    Returns
    -------
    W, H : arrays of shape (m, k) and (k, n)

    Examples
    --------
    >>> W, H = multiplicative_step([[2.0, 4.0]], [[1.0]], [[1.0, 1.0]])
    >>> W, H
    (array([[3.]]), array([[0.66666667, 1.33333333]]))
    """
    X, W, H = _checked(X, W, H)
    update = {"squared": _squared, "divergence": _divergence}.get(loss)
    if update is None:
        raise ValueError(f"loss must be 'squared' or 'divergence'; got {loss!r}.")
    for name in _order(order):
        if name == "W":
            W = update(X, W, H)
        else:
            H = update(X.T, H.T, W.T).T
    return W, H


@method(
    zh="非负矩阵分解的梯度下降",
    task="matrix factorisation",
    model="X ≈ WH with W, H >= 0",
    strategy="J = ½ |X - WH|²",
    algorithms="gradient descent (17.30), (17.31); the step lengths (17.32) make it the multiplicative rules",
    texts=["Li ch. 17, eq. 17.28-17.32"],
)
def gradient_step(
    X: Any, W: Any, H: Any, step_W: Any = None, step_H: Any = None, *, order: Literal["WH", "HW"] = "WH"
) -> tuple[np.ndarray, np.ndarray]:
    """One step of gradient descent on ½ |X - WH|², projected onto numbers of at least 0.

    Parameters
    ----------
    X : array of shape (m, n)
        Numbers of at least 0.
    W, H : arrays of shape (m, k) and (k, n)
        The factors, of at least 0.
    step_W, step_H : float or arrays of the shapes of W and H, optional
        The step lengths λ and μ of (17.30) and (17.31). By default those of (17.32), with which the step is that of
        `multiplicative_step`: W_il / (WHH')_il and H_lj / (W'WH)_lj.
    order : {"WH", "HW"}, default="WH"
        Which factor comes first; the second sees the first as it has become.

    Returns
    -------
    W, H : arrays of shape (m, k) and (k, n)

    Examples
    --------
    >>> gradient_step([[2.0, 4.0]], [[1.0]], [[1.0, 1.0]], 0.5, 0.0)
    (array([[3.]]), array([[1., 1.]]))
    """
    X, W, H = _checked(X, W, H)
    for name in _order(order):
        if name == "W":
            W = _descend(X, W, H, step_W)
        else:
            H = _descend(X.T, H.T, W.T, None if step_H is None else np.transpose(step_H)).T
    return W, H


def _squared(X: np.ndarray, W: np.ndarray, H: np.ndarray) -> np.ndarray:
    """W_il *= (XH')_il / (WHH')_il (17.33)."""
    return W * _quotient(X @ H.T, W @ H @ H.T)


def _divergence(X: np.ndarray, W: np.ndarray, H: np.ndarray) -> np.ndarray:
    """W_il *= Σ_j [H_lj X_ij / (WH)_ij] / Σ_j H_lj (17.27)."""
    return W * _quotient(_quotient(X, W @ H) @ H.T, np.broadcast_to(H.sum(axis=1), W.shape))


def _descend(X: np.ndarray, W: np.ndarray, H: np.ndarray, step: Any) -> np.ndarray:
    """W -= λ ∂J/∂W with ∂J/∂W = (WH - X)H' (17.28), then projected."""
    if step is None:
        step = _quotient(W, W @ H @ H.T)  # (17.32)
    return np.maximum(W - np.asarray(step, dtype=np.float64) * ((W @ H - X) @ H.T), 0.0)


def _quotient(top: np.ndarray, bottom: np.ndarray) -> np.ndarray:
    return np.divide(top, bottom, out=np.zeros(np.shape(top)), where=bottom > 0)


def _order(order: str) -> str:
    if order not in ("WH", "HW"):
        raise ValueError(f"order must be 'WH' or 'HW'; got {order!r}.")
    return order


def _checked(X: Any, W: Any, H: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    given = {"X": X, "W": W, "H": H}
    X, W, H = (check_array(M, dtype=np.float64, input_name=name) for name, M in given.items())
    for name, M in (("X", X), ("W", W), ("H", H)):
        refuse_negative_entries(M, f"a factorisation (input {name})")
    if W.shape[0] != X.shape[0] or H.shape[1] != X.shape[1] or W.shape[1] != H.shape[0]:
        raise ValueError(
            f"W and H must be of shapes (m, k) and (k, n) for X of shape (m, n) = {X.shape}; got {W.shape} and "
            f"{H.shape}."
        )
    return X, W, H
