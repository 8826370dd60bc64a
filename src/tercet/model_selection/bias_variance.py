"""Bias, variance and noise of an error (偏差-方差分解), for squared and for 0-1 loss.

With p(k) the share of models that answer k at a row and q(k) the share of its targets that are k, the error rate
1 - sum_k p(k) q(k) is a sum in two ways:

- Kohavi and Wolpert (1996): the squared terms of the indicators of the classes, halved,
  bias = 1/2 sum (q - p)^2, variance = 1/2 (1 - sum p^2), noise = 1/2 (1 - sum q^2). All are at least 0.
- Domingos (2000): with the most frequent answer m and the most frequent target t, the bias is 1 where m is not t;
  the variance is what the models' spread adds to it, 1 - p(t) - bias, which is below 0 where spread is a help; the
  noise is what the spread of the targets adds, p(t) - sum p q.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_consistent_length

from tercet.core.catalog import method
from tercet.core.meta import rows_at
from tercet.core.parallel import one_blas_thread
from tercet.model_selection.bootstrap import Bootstrap
from tercet.model_selection.bootstrap_estimate import fitted_on

Decomposition = Literal["squared", "kohavi-wolpert", "domingos"]
DECOMPOSITIONS = ("squared", "kohavi-wolpert", "domingos")


class BiasVariance(NamedTuple):
    """Terms of the expected error: error = bias + variance + noise (the bias is squared already)."""

    error: float
    bias: float
    variance: float
    noise: float


@method(
    zh="偏差-方差分解",
    task="theory",
    model="E(f; D) = bias²(x) + var(x) + ε²",
    strategy="squared loss; 0-1 loss by Kohavi and Wolpert, or by Domingos",
    algorithms="training on bootstrap samples",
    texts=["watermelon notes ch. 6, 6.2", "Studies ML ch. 2, 2.5"],
    peers=["mlxtend.evaluate.bias_variance_decomp"],
)
def bias_variance(
    estimator: Any,
    X: Any,
    y: Any,
    X_test: Any,
    y_test: Any,
    *,
    n_repeats: int = 100,
    decomposition: Decomposition | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> BiasVariance:
    """Estimate of bias², variance and noise of an estimator, from fits on bootstrap samples.

    With the mean prediction h̄(x) over the fits and the mean target ȳ(x) of equal test rows, the mean squared error
    is the sum of bias² = (ȳ - h̄)², variance = (h - h̄)² and noise = (y - ȳ)². The error rate of a classifier is
    decomposed by Kohavi and Wolpert, or by Domingos. Where no two test rows are equal the noise cannot be told from
    the bias, and is 0.

    Parameters
    ----------
    estimator : estimator
        A classifier or a regressor; clones of it are fitted.
    X, y : array of shape (n_samples, n_features), array of shape (n_samples,)
        The rows that the bootstrap samples are drawn from.
    X_test, y_test : array of shape (n_test, n_features), array of shape (n_test,)
        The rows that are predicted.
    n_repeats : int, default=100
        Number of bootstrap samples.
    decomposition : {"squared", "kohavi-wolpert", "domingos"}, optional
        By default "squared" for regressors and "kohavi-wolpert" for classifiers.
    random_state : int, Generator or None, default=None
        Decides the samples.
    n_jobs : int, optional
        Threads to use; the result does not depend on it.

    Returns
    -------
    BiasVariance
        `error`, `bias`, `variance` and `noise`.

    Examples
    --------
    >>> import numpy as np
    >>> from tercet.linear_model import LinearRegression
    >>> x = np.linspace(-1, 1, 40)
    >>> found = bias_variance(LinearRegression(), x[:, None], x**2, x[:, None], x**2, random_state=0)
    >>> found.bias > 10 * found.variance
    True
    """
    if not isinstance(n_repeats, int | np.integer) or n_repeats < 1:
        raise ValueError(f"n_repeats must be an integer of at least 1; got {n_repeats!r}.")
    if decomposition is None:
        decomposition = "kohavi-wolpert" if is_classifier(estimator) else "squared"
    y, y_test = np.asarray(y), np.asarray(y_test)
    check_consistent_length(X, y)
    check_consistent_length(X_test, y_test)
    samples = Bootstrap(int(n_repeats), random_state=random_state).samples(len(y))
    with one_blas_thread():
        predictions = np.stack(
            Parallel(n_jobs=n_jobs, prefer="threads")(
                delayed(_predict_after)(clone(estimator), X, y, sample.in_bag, X_test) for sample in samples
            )
        )
    groups = _equal_rows(X_test)
    return bias_variance_of_predictions(predictions, y_test, decomposition=decomposition, groups=groups)


def bias_variance_of_predictions(
    predictions: Any, y: Any, *, decomposition: Decomposition = "squared", groups: Any = None
) -> BiasVariance:
    """Exact bias², variance and noise of given predictions.

    Parameters
    ----------
    predictions : array of shape (n_models, n_samples)
        What each model, trained on a set of its own, says of each row.
    y : array of shape (n_samples,)
        The targets.
    decomposition : {"squared", "kohavi-wolpert", "domingos"}, default="squared"
        Of the mean squared error, or of the error rate.
    groups : array of shape (n_samples,), optional
        Rows of one number have equal inputs: what their targets differ by is noise. By default there is none.

    Returns
    -------
    BiasVariance
        `error`, `bias`, `variance` and `noise`.

    Examples
    --------
    Two models that predict 1 and 3 where the target is 4:

    >>> bias_variance_of_predictions([[1.0], [3.0]], [4.0])
    BiasVariance(error=5.0, bias=4.0, variance=1.0, noise=0.0)

    Three models, one of which is right about the only row: the majority is wrong, and spread helps.

    >>> votes = [["a"], ["b"], ["b"]]
    >>> found = bias_variance_of_predictions(votes, ["a"], decomposition="domingos")
    >>> [round(term, 3) for term in found]
    [0.667, 1.0, -0.333, 0.0]
    """
    if decomposition not in DECOMPOSITIONS:
        raise ValueError(f"decomposition must be one of {list(DECOMPOSITIONS)}; got {decomposition!r}.")
    h, y = np.asarray(predictions), np.asarray(y)
    if h.ndim != 2 or y.shape != h.shape[1:] or not h.size:
        raise ValueError(
            f"predictions must have shape (n_models, n_samples), y (n_samples,); got {h.shape} and {y.shape}."
        )
    if groups is None:
        groups = np.arange(len(y))
    groups = np.unique(np.asarray(groups), return_inverse=True)[1].reshape(-1)
    if groups.shape != y.shape:
        raise ValueError(f"groups must have a number for each of the {len(y)} rows; got {len(groups)}.")
    if decomposition == "squared":
        return _squared_terms(h.astype(float), y.astype(float), groups)
    labels = np.unique(np.concatenate([h.ravel(), y]))
    p = np.stack([(h == label).mean(axis=0) for label in labels], axis=1)
    q = _group_means((y[:, None] == labels).astype(float), groups)
    return _kohavi_wolpert_terms(p, q) if decomposition == "kohavi-wolpert" else _domingos_terms(p, q)


def _squared_terms(h: np.ndarray, y: np.ndarray, groups: np.ndarray) -> BiasVariance:
    mean, expected = h.mean(axis=0), _group_means(y[:, None], groups)[:, 0]
    return BiasVariance(
        error=float(((h - y) ** 2).mean()),
        bias=float(((expected - mean) ** 2).mean()),
        variance=float(((h - mean) ** 2).mean()),
        noise=float(((y - expected) ** 2).mean()),
    )


def _kohavi_wolpert_terms(p: np.ndarray, q: np.ndarray) -> BiasVariance:
    """From the shares of answers and of targets, of shape (n_samples, n_classes)."""
    return BiasVariance(
        error=float((1 - (p * q).sum(axis=1)).mean()),
        bias=float(((q - p) ** 2).sum(axis=1).mean() / 2),
        variance=float((1 - (p**2).sum(axis=1)).mean() / 2),
        noise=float((1 - (q**2).sum(axis=1)).mean() / 2),
    )


def _domingos_terms(p: np.ndarray, q: np.ndarray) -> BiasVariance:
    rows, target = np.arange(len(p)), q.argmax(axis=1)
    right = (p * q).sum(axis=1)
    biased = (p.argmax(axis=1) != target).astype(float)
    return BiasVariance(
        error=float((1 - right).mean()),
        bias=float(biased.mean()),
        variance=float((1 - p[rows, target] - biased).mean()),
        noise=float((p[rows, target] - right).mean()),
    )


def _group_means(values: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Each row's mean over its group, column by column."""
    sums = np.stack([np.bincount(groups, column) for column in values.T], axis=1)
    return (sums / np.bincount(groups)[:, None])[groups]


def _equal_rows(X: Any) -> np.ndarray:
    """Number of the group of equal rows that each row is in."""
    table = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    table = table.astype(str) if table.dtype == object else table  # categories, which have no order
    return np.unique(table, axis=0, return_inverse=True)[1].reshape(-1)


def _predict_after(estimator: Any, X: Any, y: np.ndarray, sample: np.ndarray, X_test: Any) -> np.ndarray:
    with one_blas_thread():
        return np.asarray(fitted_on(estimator, rows_at(X, sample), y[sample]).predict(X_test))
