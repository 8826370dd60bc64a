"""Error on new rows by the bootstrap: out-of-bag, .632 and .632+ (自助法).

A bootstrap sample holds about 63.2 % of the different rows; the others, out of the bag, are new to the model. Their
error is too high, because the model has seen fewer different rows, and the training error is too low. The .632
estimate mixes both; .632+ (Efron and Tibshirani 1997) gives more weight to the out-of-bag error the nearer it is to
the error rate when inputs tell nothing, so that a method that learns by heart is not flattered.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_consistent_length

from tercet.core.catalog import method
from tercet.core.meta import ConstantClassifier, rows_at
from tercet.core.parallel import one_blas_thread
from tercet.model_selection.bootstrap import Bootstrap, BootstrapSample

Loss = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class BootstrapEstimate:
    """Errors by the bootstrap.

    Attributes
    ----------
    error : the estimate asked for.
    out_of_bag : mean loss of each row under the models that have not seen it, averaged over rows.
    training : mean loss of a model fitted on all rows.
    no_information : mean loss over all pairs of a prediction and a target.
    overfitting : share of the way from the training error to no information, from 0 to 1.
    weight : weight of the out-of-bag error in `error`.
    """

    error: float
    out_of_bag: float
    training: float
    no_information: float
    overfitting: float
    weight: float


@method(
    zh="自助法（包外估计、.632 与 .632+）",
    task="model selection",
    model="bootstrap samples and the rows that they leave out",
    strategy="(1 − w) training error + w out-of-bag error; w = 0.632, or 0.632 / (1 − 0.368 R)",
    texts=["Studies ML ch. 2, 2.2"],
    peers=["mlxtend.evaluate.bootstrap_point632_score"],
)
def bootstrap_estimate(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    kind: str = ".632+",
    n_bootstraps: int = 100,
    loss: Loss | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> BootstrapEstimate:
    """Estimate of the error on new rows.

    Parameters
    ----------
    estimator : estimator
        A classifier or a regressor; clones of it are fitted.
    X, y : rows and their targets.
    kind : {".632+", ".632", "out-of-bag"}, default=".632+"
        Which estimate is `error`.
    n_bootstraps : int, default=100
        Number of bootstrap samples.
    loss : callable, default=None
        loss(y, prediction), elementwise; 0-1 loss for classifiers and squared loss for regressors when None.
    random_state : int, Generator or None, default=None
        Decides the samples.
    n_jobs : int, optional
        Threads to use; the result does not depend on it.

    Examples
    --------
    >>> from tercet.neighbors import KNeighborsClassifier
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(60, 2)), rng.integers(2, size=60)  # nothing to learn: the error is 0.5
    >>> nearest = KNeighborsClassifier(1)
    >>> found = bootstrap_estimate(nearest, X, y, random_state=0)
    >>> found.training, round(found.error, 1)
    (0.0, 0.5)
    """
    if kind not in (".632+", ".632", "out-of-bag"):
        raise ValueError(f"kind must be '.632+', '.632' or 'out-of-bag'; got {kind!r}.")
    if not isinstance(n_bootstraps, int | np.integer) or n_bootstraps < 1:
        raise ValueError(f"n_bootstraps must be an integer of at least 1; got {n_bootstraps!r}.")
    y = np.asarray(y)
    check_consistent_length(X, y)
    loss = loss or (zero_one if is_classifier(estimator) else squared)
    n, bootstrap = len(y), Bootstrap(int(n_bootstraps), random_state=random_state)
    with one_blas_thread():
        parts = Parallel(n_jobs=n_jobs, prefer="threads")(
            delayed(_left_out_losses)(clone(estimator), X, y, sample, loss) for sample in bootstrap.samples(n)
        )
    total, count = np.zeros(n), np.zeros(n)
    for rows, losses in parts:
        total[rows] += losses
        count[rows] += 1
    seen = count > 0
    if not seen.any():
        raise ValueError(
            "No row was out of the bag of any sample: more n_bootstraps or more rows are needed."
        )
    outside = float((total[seen] / count[seen]).mean())
    fitted = np.asarray(clone(estimator).fit(X, y).predict(X))
    training = float(np.mean(loss(y, fitted)))
    no_information = _no_information(y, fitted, loss)
    span = no_information - training
    overfitting = (
        float(np.clip((outside - training) / span, 0, 1)) if span > 0 and outside > training else 0.0
    )
    weight = {"out-of-bag": 1.0, ".632": 0.632}.get(kind, 0.632 / (1 - 0.368 * overfitting))
    # .632+ does not go beyond what no information gives.
    used = min(outside, no_information) if kind == ".632+" and span > 0 else outside
    error = (1 - weight) * training + weight * used
    return BootstrapEstimate(float(error), outside, training, no_information, overfitting, weight)


def zero_one(y: np.ndarray, f: np.ndarray) -> np.ndarray:
    """1 where the label is wrong."""
    return (y != f).astype(float)


def squared(y: np.ndarray, f: np.ndarray) -> np.ndarray:
    """(y - f)²."""
    return (y - f) ** 2


def _left_out_losses(
    estimator: Any, X: Any, y: np.ndarray, sample: BootstrapSample, loss: Loss
) -> tuple[Any, Any]:
    rows, left = sample
    if not len(left):
        return left, np.empty(0)
    with one_blas_thread():
        fitted = fitted_on(estimator, rows_at(X, rows), y[rows])
        return left, loss(y[left], np.asarray(fitted.predict(rows_at(X, left))))


def fitted_on(estimator: Any, X: Any, y: np.ndarray) -> Any:
    """The estimator fitted on a sample; a constant where a rare class is not in it and a single one is left."""
    single = is_classifier(estimator) and y.ndim == 1 and (y == y[0]).all()
    return (ConstantClassifier() if single else estimator).fit(X, y)


def _no_information(y: np.ndarray, f: np.ndarray, loss: Loss) -> float:
    """Mean loss over all pairs; equal targets and predictions are grouped, so that classes cost next to nothing."""
    targets, target_counts = np.unique(y, return_counts=True)
    values, value_counts = np.unique(f, return_counts=True)
    means = [
        float(np.average(loss(targets, np.full(len(targets), value)), weights=target_counts))
        for value in values
    ]
    return float(np.average(means, weights=value_counts))
