"""Leave-one-out predictions, without refitting where a closed form exists (留一法).

- Linear smoothers, f = H y: the residual of a row that is left out is (y_i - f_i) / (1 - H_ii). Least squares,
  ridge and kernel ridge regression are such.
- k nearest neighbours: the neighbours of a row without itself.

All others are fitted once for each row.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg
from sklearn.base import clone
from sklearn.model_selection import LeaveOneOut, cross_val_predict
from sklearn.utils.validation import check_consistent_length

from tercet.core.catalog import method
from tercet.core.meta import rows_at


@method(
    zh="留一法",
    task="model selection",
    model="each row predicted by the model of all others",
    strategy="f₋ᵢ(xᵢ) = yᵢ − (yᵢ − fᵢ) / (1 − Hᵢᵢ) for linear smoothers; the other rows as neighbours",
    texts=["Li ch. 1, 1.5.2", "Machine Learning in Depth ch. 1", "Studies ML ch. 2, 2.2"],
    peers=["sklearn.model_selection.LeaveOneOut"],
)
def leave_one_out(estimator: Any, X: Any, y: Any, *, n_jobs: int | None = None) -> np.ndarray:
    """Predict each row by a model that was fitted without it.

    Parameters
    ----------
    estimator : estimator
        LinearRegression, Ridge, KernelRidge and the k-nearest-neighbour classes of this library are answered in
        closed form; clones of any other are fitted once for each row.
    X, y : rows and their targets.
    n_jobs : int, optional
        Processes for the fits where there is no closed form.

    Returns
    -------
    ndarray of the shape of y

    Examples
    --------
    >>> from tercet.linear_model import LinearRegression
    >>> leave_one_out(LinearRegression(), [[0.0], [1.0], [2.0]], [0.0, 2.0, 1.0]).round(6).tolist()
    [3.0, 0.5, 4.0]
    """
    y = np.asarray(y)
    check_consistent_length(X, y)
    if len(y) < 2:
        raise ValueError("Leaving one out needs at least 2 rows; got 1.")
    kind = f"{type(estimator).__module__.partition('.')[0]}.{type(estimator).__name__}"
    closed = CLOSED_FORMS.get(kind)
    answer = closed(estimator, X, y) if closed is not None else None
    if answer is None:
        return np.asarray(cross_val_predict(estimator, X, y, cv=LeaveOneOut(), n_jobs=n_jobs))
    return answer


def _smoother(estimator: Any, X: Any, y: np.ndarray) -> np.ndarray | None:
    """Least squares and ridge: the hat matrix' diagonal by the singular vectors of the centred rows."""
    if hasattr(X, "toarray") or getattr(estimator, "positive", False):
        return None
    alpha = getattr(estimator, "alpha", 0.0)
    if np.ndim(alpha):
        return None
    model = clone(estimator).fit(X, y)
    table = np.asarray(X, dtype=float)
    centred = table - table.mean(axis=0) if model.fit_intercept else table
    left, singular, _ = linalg.svd(centred, full_matrices=False)
    kept = singular > singular.max(initial=0.0) * max(table.shape) * np.finfo(float).eps
    left, power = left[:, kept], singular[kept] ** 2
    leverage = (left**2 * (power / (power + alpha))).sum(axis=1) + model.fit_intercept / len(y)
    return _left_out(estimator, X, y, np.asarray(model.predict(X)), leverage)


def _kernel_ridge(estimator: Any, X: Any, y: np.ndarray) -> np.ndarray | None:
    if np.ndim(estimator.alpha):
        return None
    model = clone(estimator).fit(X, y)
    if model.kernel_.takes == "gram":  # X is the Gram matrix itself; rows and columns are left out together
        return None
    inverse = linalg.inv(model.kernel_(model.X_fit_, model.X_fit_) + estimator.alpha * np.eye(len(y)))
    leverage = 1 - estimator.alpha * np.diag(inverse)
    return _left_out(estimator, X, y, np.asarray(model.predict(X)), leverage)


def _neighbours(estimator: Any, X: Any, y: np.ndarray) -> np.ndarray | None:
    return np.asarray(clone(estimator).fit(X, y).predict(None))  # None: no row is its own neighbour


def _left_out(estimator: Any, X: Any, y: np.ndarray, fitted: np.ndarray, leverage: np.ndarray) -> np.ndarray:
    gap = 1 - leverage
    alone = gap < 1e-10  # the fit goes through such a row whatever its target: only a fit without it tells
    divisor = np.where(alone, 1.0, gap).reshape(-1, *[1] * (y.ndim - 1))
    answer = y - (y - fitted) / divisor
    for i in np.flatnonzero(alone):
        others = np.arange(len(y)) != i
        model = clone(estimator).fit(rows_at(X, np.flatnonzero(others)), y[others])
        answer[i] = np.asarray(model.predict(rows_at(X, np.array([i]))))[0]
    return answer


CLOSED_FORMS: dict[str, Any] = {
    "tercet.LinearRegression": _smoother,
    "tercet.Ridge": _smoother,
    "tercet.KernelRidge": _kernel_ridge,
    "tercet.KNeighborsClassifier": _neighbours,
    "tercet.KNeighborsRegressor": _neighbours,
}
