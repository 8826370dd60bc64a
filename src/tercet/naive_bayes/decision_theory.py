"""Bayes decision theory (贝叶斯决策论): from probabilities and costs to the decision that costs least."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike as Array

from tercet.core.catalog import method


@method(
    zh="贝叶斯公式",
    task="classification",
    model="P(c | x) = P(c) P(x | c) / Σ_c P(c) P(x | c)",
    texts=[
        "watermelon notes ch. 5, eq. 5.1",
        "Li ch. 4, eq. 4.4, 4.5",
        "Machine Learning in Depth ch. 1, sec. 1.3.4",
    ],
)
def posterior(prior: Array, likelihood: Array) -> np.ndarray:
    """Bayes' theorem: the probabilities of the classes after x was seen.

    Parameters
    ----------
    prior : array of shape (n_classes,)
        P(c).
    likelihood : array of shape (..., n_classes)
        P(x | c), a probability or a density.

    Returns
    -------
    array of shape (..., n_classes)
        P(c | x); the prior where x is impossible in every class.

    Examples
    --------
    >>> posterior([0.6, 0.4], [30 / 60, 1 / 40]).round(4)
    array([0.9677, 0.0323])
    """
    p, f = np.asarray(prior, dtype=float), np.asarray(likelihood, dtype=float)
    if p.ndim != 1 or not (p >= 0).all() or not 0 < p.sum() < np.inf:
        raise ValueError(f"prior must hold a probability for each class; got {prior!r}.")
    if f.shape[-1:] != p.shape or not (f >= 0).all() or np.isinf(f).any():
        raise ValueError(
            f"likelihood must hold a finite number of at least 0 for each of {p.size} classes; got {likelihood!r}."
        )
    p = p / p.sum()
    scale = f.max(axis=-1, keepdims=True)  # so that small densities do not vanish in the product
    joint = p * np.divide(f, scale, out=np.zeros_like(f), where=scale > 0)
    whole = joint.sum(axis=-1, keepdims=True)
    return np.divide(joint, whole, out=np.broadcast_to(p, f.shape).copy(), where=whole > 0)


@method(
    zh="条件风险",
    task="classification",
    model="R(i | x) = Σ_j λ_ij P(c_j | x)",
    texts=["watermelon notes ch. 5, eq. 5.2"],
)
def conditional_risk(posterior: Array, costs: Array | None = None) -> np.ndarray:
    """The expected cost of each decision.

    Parameters
    ----------
    posterior : array of shape (..., n_classes)
        P(c_j | x).
    costs : array of shape (n_decisions, n_classes), optional
        λ_ij, the cost of decision i where class j is true; by default 0 for the right class and 1 for others.

    Returns
    -------
    array of shape (..., n_decisions)

    Examples
    --------
    >>> conditional_risk([0.6, 0.3, 0.1], [[0, 1, 10], [2, 0, 5], [4, 3, 0]])
    array([1.3, 1.7, 3.3])
    """
    P = np.asarray(posterior, dtype=float)
    if P.ndim == 0 or not (P >= 0).all():
        raise ValueError(f"posterior must hold a probability for each class; got {posterior!r}.")
    return P @ check_costs(costs, P.shape[-1]).T


@method(
    zh="贝叶斯判定准则、后验概率最大化",
    task="classification",
    model="h*(x) = argmin_i R(i | x); argmax_c P(c | x) where every error costs the same",
    strategy="least expected cost",
    texts=["watermelon notes ch. 5, eq. 5.3", "Li ch. 4, sec. 4.1.2"],
)
def bayes_decision(posterior: Array, costs: Array | None = None, reject: float | None = None) -> np.ndarray:
    """The decision of least expected cost, or none where even that costs more than not to decide.

    Parameters
    ----------
    posterior : array of shape (..., n_classes)
        P(c_j | x).
    costs : array of shape (n_decisions, n_classes), optional
        The cost of decision i where class j is true; by default 0 for the right class and 1 for others.
    reject : float, optional
        The cost of not deciding; by default a decision is always made.

    Returns
    -------
    array of shape (...)
        Indices of the decisions, of equals the first; -1 where none is made.

    Examples
    --------
    >>> bayes_decision([[0.6, 0.4], [0.9, 0.1]], [[0, 5], [1, 0]])
    array([1, 0])
    >>> bayes_decision([[0.6, 0.4], [0.9, 0.1]], reject=0.3)
    array([-1,  0])
    """
    risk = conditional_risk(posterior, costs)
    best = risk.argmin(axis=-1)
    return best if reject is None else np.where(risk.min(axis=-1) > reject, -1, best)


@method(
    zh="贝叶斯风险",
    task="classification",
    model="R* = E_x min_i R(i | x)",
    strategy="least expected cost",
    texts=["watermelon notes ch. 5, eq. 5.3"],
)
def bayes_risk(
    posterior: Array, costs: Array | None = None, reject: float | None = None, weight: Array | None = None
) -> float:
    """The mean cost of the best decisions: with these probabilities nobody can do better.

    Parameters
    ----------
    posterior : array of shape (n_samples, n_classes)
        P(c_j | x) of each x.
    costs, reject
        As in `bayes_decision`.
    weight : array of shape (n_samples,), optional
        How probable each x is, up to a factor; by default all are equally so.

    Returns
    -------
    float

    Examples
    --------
    >>> round(bayes_risk([[0.6, 0.4], [0.9, 0.1]]), 6)
    0.25
    """
    least = conditional_risk(posterior, costs).min(axis=-1)
    given = None if weight is None else np.asarray(weight, dtype=float)
    return float(np.average(least if reject is None else np.minimum(least, reject), weights=given))


def check_costs(costs: Any, n_classes: int) -> np.ndarray:
    """A table of costs with a column for each class, or an error that says what is wrong."""
    if costs is None:
        return 1.0 - np.eye(n_classes)
    table = np.asarray(costs, dtype=float)
    if table.ndim != 2 or table.shape[1] != n_classes or not np.isfinite(table).all():
        raise ValueError(
            f"costs must be a table of finite numbers, with a row for each decision and a column for each of "
            f"{n_classes} classes; got {costs!r}."
        )
    return table
