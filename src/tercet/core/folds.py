"""Folds of a cross-validation inside `fit`: what the parameter `cv` gives, checked."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import check_cv

from tercet.core.input_errors import RAW, Broken, shown
from tercet.core.stopping import check_stop

Folds = list[tuple[np.ndarray, np.ndarray]]
BLOCK_BYTES = 1 << 24  # copied in some milliseconds


def checked_folds(
    owner: Any,
    X: Any,
    y: Any = None,
    *,
    cv: Any = None,
    classifier: bool = False,
    weight: np.ndarray | None = None,
    **split: Any,
) -> Folds:
    """The numbers of the rows to learn from and of those to score, for each fold of `cv` (by default `owner.cv`).

    A `ValueError` names `cv` where it cannot split the rows, or where a fold is empty: with weights, where all rows
    of one of its sides have the weight 0.
    """
    cv = owner.cv if cv is None and not isinstance(owner, str) else cv
    try:
        found = list(check_cv(cv, y, classifier=classifier).split(X, y, **split))
        folds = [_fold(fold, X.shape[0]) for fold in found]
    except Broken as error:
        said = str(error)
        if "'cv'" in said or "`cv`" in said:
            raise
        raw = RAW.search(said) or "unpack" in said or not isinstance(error, ValueError)
        wrong = "it must give pairs of row numbers, to learn from and to score" if raw else said
        raise _error(owner, cv, wrong) from None
    if not folds:
        raise _error(owner, cv, "it gives no folds")
    for k, (train, test) in enumerate(folds):
        for rows, use in ((train, "learn from"), (test, "score")):
            if not rows.size or (weight is not None and not weight[rows].any()):
                kind = "rows of positive weight" if rows.size else "rows"
                raise _error(owner, cv, f"fold {k} has no {kind} to {use}")
    return folds


def take_rows(X: Any, rows: np.ndarray) -> Any:
    """Some rows of an array or sparse matrix, copied in blocks, so that Ctrl-C is heard between them.

    Examples
    --------
    >>> take_rows(np.array([[1.0], [2.0], [3.0]]), np.array([2, 0]))
    array([[3.],
           [1.]])
    """
    if not isinstance(X, np.ndarray) or X.nbytes < BLOCK_BYTES:
        return X[rows]
    taken = np.empty((rows.size, *X.shape[1:]), dtype=X.dtype)
    step = max(1, BLOCK_BYTES * X.shape[0] // X.nbytes)
    for start in range(0, rows.size, step):
        check_stop()
        taken[start : start + step] = X[rows[start : start + step]]
    return taken


def _fold(fold: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
    train, test = fold
    return _row_numbers(train, n), _row_numbers(test, n)


def _row_numbers(rows: Any, n: int) -> np.ndarray:
    """Row numbers from numbers or a mask."""
    rows = np.asarray(rows)
    if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iub"):
        raise ValueError(f"rows must be given by their numbers or by a mask; got {shown(rows)}")
    if rows.dtype.kind == "b":
        if rows.size != n:
            raise ValueError(f"a mask of rows has {rows.size} values where there are {n} rows")
        return np.flatnonzero(rows)
    rows = rows.astype(np.intp)
    if rows.size and not -n <= rows.min() <= rows.max() < n:
        strange = rows.max() if rows.max() >= n else rows.min()
        raise ValueError(f"there is no row {strange}: rows are numbered from 0 to {n - 1}")
    return rows


def _error(owner: Any, cv: Any, wrong: str) -> ValueError:
    name = owner if isinstance(owner, str) else type(owner).__name__
    return ValueError(f"{name}: parameter 'cv', {shown(cv)}: {wrong.rstrip('.')}.")
