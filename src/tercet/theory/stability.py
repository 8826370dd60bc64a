"""Stability of a learner, and the bounds that it gives (watermelon notes 9.6).

A learner is uniformly stable with beta for a loss when leaving out any one row changes the loss at any point by
beta at most (9.38; the print writes replacement, the proof needs removal). For a loss in [0, M] then, with
probability at least 1 - delta,

    risk <= mean loss on the rows + 2 beta + (4 m beta + M) sqrt(ln(1/delta) / (2 m))
    risk <= leave-one-out loss    +   beta + (4 m beta + M) sqrt(ln(1/delta) / (2 m))              (9.39)

So a class is learnable if empirical risk minimisation on it is stable with a beta that falls like 1/m (9.40).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.base import clone, is_regressor
from sklearn.utils import _safe_indexing

from tercet.core.catalog import method
from tercet.core.parallel import each
from tercet.theory.checks import (
    checked_choice,
    checked_count,
    checked_positive,
    checked_probability,
    least_count,
)

Loss = Callable[[Any, Any], Any]


@dataclass(frozen=True, eq=False)
class Stability:
    """How much single rows matter to a learner.

    Attributes
    ----------
    beta : float
        The largest change of the loss at any point when any one row is left out: a lower limit of the beta of
        uniform stability, which is about all samples and all points.
    changes : ndarray of shape (n_left_out,)
        The largest change for each row that was left out.
    mean_change : float
        The mean of all changes ("hypothesis stability").
    empirical_loss : float
        Mean loss of the learner on its own rows (9.36).
    leave_one_out_loss : float
        Mean loss at the rows that were left out (9.37).
    test_loss : float or None
        Mean loss on `X_test`, which estimates the risk (9.35).
    n_samples : int
        m.
    """

    beta: float
    changes: np.ndarray
    mean_change: float
    empirical_loss: float
    leave_one_out_loss: float
    test_loss: float | None
    n_samples: int


def _zero_one(y: Any, predictions: Any) -> np.ndarray:
    return (np.asarray(y) != np.asarray(predictions)).astype(float)


def _squared_error(y: Any, predictions: Any) -> np.ndarray:
    return (np.asarray(y) - np.asarray(predictions)) ** 2


@method(
    zh="稳定性",
    task="theory",
    model="a learner, m rows and a loss",
    strategy="|ℓ(L_D, z) − ℓ(L_D∖i, z)| ≤ β for every row i and every point z",
    algorithms="leaving out one row at a time",
    texts=["watermelon notes ch. 9, eq. 9.35 to 9.38"],
)
def stability(
    estimator: Any,
    X: Any,
    y: Any,
    loss: Loss | None = None,
    *,
    X_test: Any = None,
    y_test: Any = None,
    max_rows: int | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> Stability:
    """Estimate the stability of any estimator: fit it without each row in turn and look at the losses.

    Parameters
    ----------
    estimator : estimator
        Cloned for each fit; it should have a fixed `random_state`.
    X, y : rows and their targets.
    loss : callable, default=None
        loss(y, predictions), elementwise. None is the 0-1 loss, or the squared error for a regressor.
    X_test, y_test : rows and their targets, default=None
        Further points at which losses are compared; the more, the nearer `beta` comes to a supremum.
    max_rows : int, default=None
        Leave out only this many rows, drawn at random; all when None.
    random_state : int, Generator or None, default=0
        Seed of that draw.
    n_jobs : int, optional
        Number of threads. The result does not depend on it.

    Returns
    -------
    Stability

    Examples
    --------
    >>> from tercet.neighbors import KNeighborsClassifier
    >>> X, y = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]], [0, 0, 0, 1, 1, 1]
    >>> found = stability(KNeighborsClassifier(3), X, y)
    >>> found.beta, found.empirical_loss, found.leave_one_out_loss
    (0.0, 0.0, 0.0)
    """
    y = np.asarray(y)
    m = len(y)
    if m < 2:
        raise ValueError(f"stability needs at least 2 rows; got {m}.")
    if (X_test is None) != (y_test is None):
        raise ValueError("X_test and y_test must be given together.")
    rows = np.arange(m)
    if max_rows is not None:
        size = min(int(checked_count("max_rows", max_rows)), m)
        rows = np.sort(np.random.default_rng(random_state).choice(m, size, replace=False))

    if loss is None:
        regresses = hasattr(estimator, "__sklearn_tags__") and is_regressor(estimator)
        loss = _squared_error if regresses else _zero_one

    def losses(model: Any) -> np.ndarray:
        parts = [(X, y)] if X_test is None else [(X, y), (X_test, np.asarray(y_test))]
        values = [np.asarray(loss(t, model.predict(part)), dtype=float) for part, t in parts]
        for (_, t), value in zip(parts, values):
            if value.shape != t.shape:
                raise ValueError(
                    f"loss must give one number for each row: shape {t.shape}; got {value.shape}."
                )
        return np.concatenate(values)

    whole = losses(clone(estimator).fit(X, y))
    without: list[Any] = [None] * len(rows)

    def leave_out(k: int) -> None:
        keep = np.delete(np.arange(m), rows[k])
        without[k] = losses(clone(estimator).fit(_safe_indexing(X, keep), y[keep]))

    each(leave_out, range(len(rows)), n_jobs=n_jobs)
    differences = np.abs(np.array(without) - whole)
    return Stability(
        beta=float(differences.max()),
        changes=differences.max(axis=1),
        mean_change=float(differences.mean()),
        empirical_loss=float(whole[:m].mean()),
        leave_one_out_loss=float(np.mean([without[k][i] for k, i in enumerate(rows)])),
        test_loss=float(whole[m:].mean()) if X_test is not None else None,
        n_samples=m,
    )


@method(
    zh="稳定性泛化误差界",
    task="theory",
    model="a β-uniformly stable learner, a loss in [0, M]",
    strategy="risk ≤ mean loss + 2β + (4mβ + M) sqrt(ln(1/δ) / (2m)) with probability at least 1 − δ",
    texts=["watermelon notes ch. 9, eq. 9.39, 9.40"],
)
def stability_bound(
    beta: float,
    n_samples: float,
    delta: float,
    observed_loss: float = 0.0,
    *,
    largest_loss: float = 1.0,
    kind: Literal["empirical", "leave-one-out"] = "empirical",
) -> float:
    """Bound on the risk of a uniformly stable learner.

    Assumption: the rows are independent draws from one distribution, the learner is uniformly stable with beta,
    and the loss lies in [0, M].

    Parameters
    ----------
    beta : float
        Uniform stability: an assumption, or a theorem on the learner. An estimate of `stability` is a lower limit
        of it and gives no guarantee. (9.40 is beta = 1 / m.)
    n_samples : number
        m.
    delta : float
        Probability with which the bound may fail.
    observed_loss : float, default=0.0
        Mean loss on the rows, or leave-one-out loss, as `kind` says; with 0 the result is the gap.
    largest_loss : float, default=1.0
        M.
    kind : {"empirical", "leave-one-out"}, default="empirical"
        What `observed_loss` is.

    Examples
    --------
    >>> [round(stability_bound(0.01, 100, 0.05, kind=kind), 10) for kind in ("empirical", "leave-one-out")]
    [0.6319367077, 0.6219367077]
    """
    beta, m, M = _checked_stability(beta, n_samples, largest_loss)
    delta = checked_probability("delta", delta)
    if not 0 <= observed_loss <= M:
        raise ValueError(f"observed_loss must be in [0, largest_loss={M:g}]; got {observed_loss!r}.")
    deviation = (4 * m * beta + M) * math.sqrt(-math.log(delta) / (2 * m))
    return float(observed_loss) + _times(kind) * beta + deviation


def stability_delta(
    beta: float,
    n_samples: float,
    epsilon: float,
    *,
    largest_loss: float = 1.0,
    kind: Literal["empirical", "leave-one-out"] = "empirical",
) -> float:
    """Probability with which a gap of `epsilon` may be exceeded: `stability_bound` solved for delta.

    At most 1, which is no restriction.

    Parameters and assumptions are those of `stability_bound`.

    Examples
    --------
    >>> round(stability_delta(0.01, 100, 0.6319367077), 6)
    0.05
    """
    beta, m, M = _checked_stability(beta, n_samples, largest_loss)
    rest = max(checked_positive("epsilon", epsilon) - _times(kind) * beta, 0.0)
    return math.exp(-2 * m * (rest / (4 * m * beta + M)) ** 2)


def stability_sample_size(
    epsilon: float,
    delta: float,
    constant: float = 1.0,
    *,
    largest_loss: float = 1.0,
    kind: Literal["empirical", "leave-one-out"] = "empirical",
) -> int:
    """Rows that bring the gap of `stability_bound` down to `epsilon`, for a learner with beta = c / m.

    The assumptions are those of `stability_bound`.

    Parameters
    ----------
    epsilon, delta : float
        The gap that is asked for, and the probability with which it may be exceeded.
    constant : float, default=1.0
        c; (9.40) has c = 1.
    largest_loss, kind
        As in `stability_bound`.

    Examples
    --------
    >>> m = stability_sample_size(0.1, 0.05)
    >>> m, round(stability_bound(1 / m, m, 0.05), 4)
    (3785, 0.1)
    """
    epsilon, c = checked_positive("epsilon", epsilon), checked_positive("constant", constant)
    return least_count(
        lambda m: stability_bound(c / m, m, delta, largest_loss=largest_loss, kind=kind) <= epsilon
    )


def _checked_stability(beta: float, n_samples: float, largest_loss: float) -> tuple[float, float, float]:
    if not 0 <= beta < math.inf:
        raise ValueError(f"beta must be a finite number of at least 0; got {beta!r}.")
    m = checked_count("n_samples", n_samples)
    return float(beta), m, checked_positive("largest_loss", largest_loss)


def _times(kind: str) -> int:
    """How often beta counts beside the deviation."""
    return 2 if checked_choice("kind", kind, ("empirical", "leave-one-out")) == "empirical" else 1
