"""Joint probability tables: the sum rule, the product rule, and what follows (Li ch. 1.2.2, 1.7, 6.2.2).

A table is an array with one axis per variable, whose entries sum to 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse

from tercet.core.catalog import method


@method(
    zh="经验分布",
    task="distribution",
    model="P(x, y) = count(x, y) / N",
    texts=["Li ch. 6, 6.2.2", "Machine Learning in Depth ch. 6, 6.1"],
    peers=["scipy.stats.contingency.crosstab"],
)
def joint_table(
    *columns: ArrayLike, sample_weight: ArrayLike | None = None
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Empirical distribution of the columns, and the sorted values along each axis.

    Examples
    --------
    >>> table, values = joint_table(["a", "a", "b", "b"], [0, 1, 1, 1])
    >>> table
    array([[0.25, 0.25],
           [0.  , 0.5 ]])
    """
    if not columns:
        raise ValueError("columns must hold at least one column, got none")
    found = [np.unique(np.asarray(column), return_inverse=True) for column in columns]
    lengths = {codes.size for _, codes in found}
    if len(lengths) != 1 or lengths == {0}:
        raise ValueError(f"columns must be of one length above 0, got lengths {sorted(lengths)}")
    shape = tuple(values.size for values, _ in found)
    cell = np.ravel_multi_index([codes.ravel() for _, codes in found], shape)
    weight = None if sample_weight is None else np.asarray(sample_weight, dtype=float)
    if weight is not None and not (np.all(weight >= 0) and 0 < weight.sum() < np.inf):
        raise ValueError(f"sample_weight must be finite, at least 0 and not all 0, got {sample_weight!r}")
    counts = np.bincount(cell, weights=weight, minlength=int(np.prod(shape))).reshape(shape)
    return counts / counts.sum(), [values for values, _ in found]


@method(
    zh="加法规则",
    task="distribution",
    model="P(x) = Σ_y P(x, y)",
    texts=["Li ch. 1, 1.2.2"],
    peers=["scipy.stats.contingency.margins"],
)
def marginal(joint: ArrayLike, keep: int | tuple[int, ...]) -> np.ndarray:
    """Sum rule: P(x) = sum over y of P(x, y), for the axes to keep.

    Examples
    --------
    >>> marginal([[0.1, 0.2], [0.3, 0.4]], keep=0).round(6)
    array([0.3, 0.7])
    """
    joint = np.asarray(joint, dtype=float)
    kept = {axis % joint.ndim for axis in ((keep,) if isinstance(keep, int) else keep)}
    return joint.sum(axis=tuple(axis for axis in range(joint.ndim) if axis not in kept))


@method(
    zh="由联合分布求条件分布",
    task="distribution",
    model="P(y | x) = P(x, y) / P(x)",
    texts=["Li ch. 1, eq. 1.40", "Machine Learning in Depth ch. 1, 1.3.4"],
)
def conditional(joint: ArrayLike, given: int | tuple[int, ...], empty: float | None = None) -> np.ndarray:
    """P(rest | given) = P(joint) / P(given), in the shape of the joint table.

    Where P(given) is 0 the conditional is not defined: an error, or filled with ``empty``.

    Examples
    --------
    >>> conditional([[0.1, 0.3], [0.3, 0.3]], given=0)
    array([[0.25, 0.75],
           [0.5 , 0.5 ]])
    """
    joint = np.asarray(joint, dtype=float)
    kept = {axis % joint.ndim for axis in ((given,) if isinstance(given, int) else given)}
    rest = tuple(axis for axis in range(joint.ndim) if axis not in kept)
    total = np.broadcast_to(joint.sum(axis=rest, keepdims=True), joint.shape)
    if empty is None and np.any(total == 0):
        cell = np.argwhere(total == 0)[0].tolist()
        raise ValueError(
            f"joint must give each value of axis {sorted(kept)} some probability, got 0 at {cell}"
        )
    blank = np.full(joint.shape, 0.0 if empty is None else empty)
    return np.divide(joint, total, out=blank, where=total > 0)


@method(
    zh="乘法规则",
    task="distribution",
    model="P(x, y) = P(x) P(y | x)",
    texts=["Li ch. 1, 1.2.2"],
)
def product(first: ArrayLike, conditional: ArrayLike) -> np.ndarray:
    """Product rule: P(x, y) = P(x) P(y | x), x along the leading axes.

    Examples
    --------
    >>> product([0.4, 0.6], [[0.25, 0.75], [0.5, 0.5]])
    array([[0.1, 0.3],
           [0.3, 0.3]])
    """
    first, conditional = np.asarray(first, dtype=float), np.asarray(conditional, dtype=float)
    if conditional.shape[: first.ndim] != first.shape:
        raise ValueError(f"conditional must begin with the axes {first.shape}, got shape {conditional.shape}")
    return first.reshape(first.shape + (1,) * (conditional.ndim - first.ndim)) * conditional


@method(
    zh="得分归一化为条件概率",
    task="distribution",
    model="P(y | x) = s(x, y) / Σ s(x, y)",
    texts=["Li ch. 1, 1.2.2"],
)
def normalise(scores: ArrayLike, axis: int = -1) -> np.ndarray:
    """Scores that are at least 0 to probabilities along an axis.

    Examples
    --------
    >>> normalise([[1.0, 3.0], [2.0, 2.0]])
    array([[0.25, 0.75],
           [0.5 , 0.5 ]])
    """
    scores = np.asarray(scores, dtype=float)
    total = scores.sum(axis=axis, keepdims=True)
    if not np.all(scores >= 0) or not np.all((total > 0) & np.isfinite(total)):
        raise ValueError(f"scores must be finite, at least 0 and not all 0, got {scores!r}")
    return scores / total


@method(
    zh="由条件概率分布得到决策函数",
    task="distribution",
    model="f(x) = argmax_y P(y | x)",
    texts=["Li ch. 1, 1.2.2", "Machine Learning in Depth ch. 1, 1.3.4"],
)
def decide(probabilities: ArrayLike, labels: ArrayLike | None = None, axis: int = -1) -> np.ndarray:
    """A conditional distribution as a function: the most probable value, the first of equals.

    Examples
    --------
    >>> decide([[0.25, 0.75], [0.5, 0.5]], labels=["no", "yes"])
    array(['yes', 'no'], dtype='<U3')
    """
    best = np.argmax(np.asarray(probabilities), axis=axis)
    return best if labels is None else np.asarray(labels)[best]


@method(
    zh="特征函数的期望",
    task="distribution",
    model="E_P(f_i) = Σ P(x, y) f_i(x, y)",
    texts=["Li ch. 6, eq. 6.10, 6.11", "Machine Learning in Depth ch. 6, eq. 6.1"],
)
def feature_expectation(joint: ArrayLike, features: ArrayLike) -> np.ndarray:
    """Mean of feature functions, sum over cells of P(x, y) f_i(x, y).

    ``features`` has one more axis than the table, for the feature i, in front. Give the empirical table
    for the empirical mean, ``product(P(x), P(y | x))`` for that of a model.

    Examples
    --------
    >>> feature_expectation([[0.25, 0.25], [0.0, 0.5]], [[[1, 0], [0, 0]], [[0, 1], [0, 1]]])
    array([0.25, 0.75])
    """
    joint, features = np.asarray(joint, dtype=float), np.asarray(features, dtype=float)
    if features.shape[1:] != joint.shape:
        raise ValueError(f"features must have shape (k, {joint.shape}), got {features.shape}")
    return features.reshape(features.shape[0], -1) @ joint.ravel()


def check_transitions(transmat: Any, name: str = "transmat") -> np.ndarray:
    """A square matrix whose rows are distributions, as floats; or an error that names the row and its sum."""
    A = np.asarray(transmat.toarray() if issparse(transmat) else transmat, dtype=np.float64)
    if A.ndim != 2 or A.shape[0] != A.shape[1] or not A.size:
        raise ValueError(f"{name} must be a square matrix; got shape {A.shape}.")
    check_distributions(A, name)
    return A


def check_distributions(rows: np.ndarray, name: str) -> None:
    """Refuse rows (or one row) that are not distributions."""
    table = np.atleast_2d(rows)
    sums = table.sum(axis=1)
    if (table >= 0).all() and (np.abs(sums - 1.0) <= 1e-6).all():
        return
    for i, row in enumerate(table):
        where = f"row {i} of {name}" if np.ndim(rows) == 2 else name
        if not np.all(row >= 0):  # NaN too
            raise ValueError(f"{where} must hold probabilities; got {row[~(row >= 0)][0]}.")
        if not abs(sums[i] - 1.0) <= 1e-6:
            raise ValueError(f"{where} must sum to 1; it sums to {sums[i]:.10g}.")
