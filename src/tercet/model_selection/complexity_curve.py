"""Training and test error against the complexity of a model (Li ch. 1, 1.4.2, 1.5).

The training error falls as a model becomes more complex; the error on other rows falls and then rises. The text
chooses a complexity in two ways: by structural risk, the training error and a penalty, and by the error on rows
that took no part in training: a validation set, S folds, or one row left out at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import check_cv
from sklearn.utils.parallel import Parallel, delayed

from tercet.core.catalog import method
from tercet.core.meta import rows_at
from tercet.core.parallel import one_blas_thread
from tercet.core.validation import indexable
from tercet.model_selection.bootstrap_estimate import Loss, squared, zero_one


@dataclass(frozen=True, eq=False)
class ComplexityCurve:
    """Errors of models of increasing complexity.

    Attributes
    ----------
    parameter : name of the parameter.
    values : list
        Its values.
    training : ndarray of shape (n_values,)
        Mean loss on all rows of models that were fitted on all rows: the empirical risk.
    structural : ndarray of shape (n_values,)
        The same and `lam` times the complexity.
    validation : ndarray of shape (n_values,)
        Mean loss over all rows that were held out.
    """

    parameter: str
    values: list[Any]
    training: np.ndarray
    structural: np.ndarray
    validation: np.ndarray

    def best(self, criterion: str = "validation") -> Any:
        """The value of least error: "validation", "structural" or "training"; the first of equals.

        Examples
        --------
        >>> risks = np.array([3.0, 1.0, 2.0]), np.array([3.0, 2.0, 4.0]), np.array([2.0, 3.0, 4.0])
        >>> ComplexityCurve("degree", [1, 2, 3], *risks).best()
        1
        """
        if criterion not in ("validation", "structural", "training"):
            raise ValueError(
                f"criterion must be 'validation', 'structural' or 'training'; got {criterion!r}."
            )
        return self.values[int(np.argmin(getattr(self, criterion)))]


@method(
    zh="模型复杂度曲线",
    task="model selection",
    model="models of increasing complexity, such as polynomials of degree 0 to 9",
    strategy="least structural risk R_emp + λJ, or least error on rows held out",
    texts=["Li ch. 1, 1.4.2, 1.5", "Machine Learning in Depth ch. 1"],
    peers=["sklearn.model_selection.validation_curve"],
)
def complexity_curve(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    parameter: str,
    values: Sequence[Any],
    cv: Any = 5,
    validation: tuple[Any, Any] | None = None,
    complexity: Callable[[Any], float] | None = None,
    lam: float = 0.0,
    loss: Loss | None = None,
    n_jobs: int | None = None,
) -> ComplexityCurve:
    """Errors of an estimator for values of a parameter that decides its complexity.

    Parameters
    ----------
    estimator : estimator
        A classifier or a regressor; clones of it are fitted.
    X, y : rows and their targets.
    parameter : str
        Name of the parameter, as `set_params` takes it.
    values : sequence
        Its values, from the simplest model on.
    cv : int or splitter, default=5
        Folds of the validation error; `LeaveOneOut()` leaves out one row at a time.
    validation : tuple (X, y), optional
        A validation set instead of folds.
    complexity : callable, optional
        J(model) of a fitted model, for the structural risk.
    lam : float, default=0.0
        Weight of the complexity, at least 0.
    loss : callable, optional
        loss(y, prediction), elementwise; by default 0-1 loss for classifiers and squared loss for regressors.
    n_jobs : int, optional
        Threads to use; the result does not depend on it.

    Returns
    -------
    ComplexityCurve

    Examples
    --------
    >>> from tercet.linear_model import PolynomialRegression
    >>> x = np.linspace(0, 1, 40)
    >>> y = x**2 + 0.05 * np.random.default_rng(0).normal(size=40)
    >>> curve = complexity_curve(
    ...     PolynomialRegression(), x[:, None], y, parameter="degree", values=range(6), cv=10
    ... )
    >>> curve.best(), curve.best("training")
    (2, 5)
    """
    if not len(values):
        raise ValueError("values must have at least one value.")
    if not 0 <= lam < np.inf:
        raise ValueError(f"lam must be a finite number of at least 0; got {lam!r}.")
    if lam > 0 and complexity is None:
        raise ValueError(f"lam={lam!r} needs complexity, a function of a fitted model.")
    X, y = indexable(X, np.asarray(y))
    loss = loss or (zero_one if is_classifier(estimator) else squared)
    everything = np.arange(len(y))
    splits = [(everything, everything)]
    if validation is None:
        splits += list(check_cv(cv, y, classifier=is_classifier(estimator)).split(X, y))
    models = [clone(estimator).set_params(**{parameter: value}) for value in values]
    with one_blas_thread():
        found = Parallel(n_jobs=n_jobs, prefer="threads")(
            delayed(_fitted_losses)(clone(model), X, y, train, test, loss)
            for model in models
            for train, test in splits
        )
    rows = [found[start : start + len(splits)] for start in range(0, len(found), len(splits))]
    training = np.array([parts[0][1].mean() for parts in rows])
    penalty = np.array([complexity(parts[0][0]) if complexity else 0.0 for parts in rows])
    if validation is None:
        held_out = [np.concatenate([losses for _, losses in parts[1:]]).mean() for parts in rows]
    else:
        target = np.asarray(validation[1])
        held_out = [loss(target, np.asarray(parts[0][0].predict(validation[0]))).mean() for parts in rows]
    return ComplexityCurve(parameter, list(values), training, training + lam * penalty, np.array(held_out))


def _fitted_losses(
    model: Any, X: Any, y: np.ndarray, train: np.ndarray, test: np.ndarray, loss: Loss
) -> tuple[Any, np.ndarray]:
    with one_blas_thread():
        model.fit(rows_at(X, train), y[train])
        return model, np.asarray(loss(y[test], np.asarray(model.predict(rows_at(X, test)))), dtype=float)
