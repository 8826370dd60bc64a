"""Entropy, conditional entropy and mutual information."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import entr, rel_entr

from tercet.core.catalog import method
from tercet.core.column_parsing import warn_of_measurements
from tercet.distributions import joint_table, marginal


@method(
    zh="熵",
    task="information",
    model="H(p) = -Σ p log p",
    texts=[
        "Li ch. 5, eq. 5.1-5.4",
        "Li ch. 6, eq. 6.9",
        "Machine Learning in Depth ch. 6, 6.1",
        "Machine Learning in Depth ch. 8, 8.1.2",
    ],
    peers=["scipy.stats.entropy"],
)
def entropy(
    p: ArrayLike,
    *,
    base: float | None = None,
    axis: int = -1,
    normalise: bool = False,
    log: bool = False,
) -> np.ndarray:
    """Entropy H(p) = -sum p log p along an axis.

    With ``log=True`` the input holds log-probabilities. At most log K, for the uniform distribution.

    Examples
    --------
    >>> entropy([0.5, 0.25, 0.25], base=2)
    np.float64(1.5)
    """
    p = np.exp(np.asarray(p, dtype=float)) if log else p
    return entr(distribution("p", p, axis, normalise)).sum(axis=axis) / unit(base)


@method(
    zh="联合熵",
    task="information",
    model="H(X, Y) = -Σ P(x, y) log P(x, y)",
    texts=["Machine Learning in Depth ch. 8, 8.1.2"],
)
def joint_entropy(joint: ArrayLike, *, base: float | None = None, normalise: bool = False) -> float:
    """Entropy of all variables of a joint table together, H(X, Y).

    Examples
    --------
    >>> joint_entropy([[0.25, 0.25], [0.25, 0.25]], base=2)
    2.0
    """
    return float(entropy(np.ravel(joint), base=base, normalise=normalise))


@method(
    zh="条件熵",
    task="information",
    model="H(Y | X) = Σ P(x) H(Y | X = x)",
    texts=["Li ch. 5, eq. 5.5", "Li ch. 6, eq. 6.13", "Machine Learning in Depth ch. 8, 8.1.2"],
)
def conditional_entropy(
    joint: ArrayLike, given: int | tuple[int, ...] = 0, *, base: float | None = None, normalise: bool = False
) -> float:
    """H(Y | X) = sum_x P(x) H(Y | X = x) of a joint table.

    ``given`` names the axes of X; the others are Y.

    Examples
    --------
    >>> conditional_entropy([[0.5, 0.0], [0.25, 0.25]], given=0, base=2)
    0.5
    """
    table = distribution("joint", joint, None, normalise)
    return max(joint_entropy(table, base=base) - joint_entropy(marginal(table, given), base=base), 0.0)


@method(
    zh="互信息",
    task="information",
    model="I(X; Y) = H(Y) - H(Y | X)",
    texts=["Li ch. 5, 5.2.2", "Machine Learning in Depth ch. 8, 8.1.2"],
    peers=["sklearn.metrics.mutual_info_score"],
)
def mutual_information(joint: ArrayLike, *, base: float | None = None, normalise: bool = False) -> float:
    """I(X; Y) = D(P(x, y) || P(x) P(y)) of a joint table.

    Examples
    --------
    >>> mutual_information([[0.5, 0.0], [0.0, 0.5]], base=2)
    1.0
    """
    table = distribution("joint", joint, None, normalise)
    if table.ndim != 2:
        raise ValueError(f"joint must have two axes, got shape {table.shape}")
    independent = np.outer(marginal(table, 0), marginal(table, 1))
    return float(max(rel_entr(table, independent).sum(), 0.0) / unit(base))


@method(
    zh="经验熵",
    task="information",
    model="H(D) = -Σ |C_k|/|D| log |C_k|/|D|",
    texts=["Li ch. 5, eq. 5.7", "Machine Learning in Depth ch. 8, 8.1.2", "watermelon notes ch. 2, eq. 2.1"],
)
def label_entropy(
    labels: ArrayLike, *, sample_weight: ArrayLike | None = None, base: float | None = None
) -> float:
    """Empirical entropy of labels, H(D).

    Examples
    --------
    >>> label_entropy(["yes", "no", "no", "yes"], base=2)
    1.0
    """
    return float(entropy(joint_table(labels, sample_weight=sample_weight)[0], base=base))


@method(
    zh="经验条件熵",
    task="information",
    model="H(D | A) = Σ |D_i|/|D| H(D_i)",
    texts=["Li ch. 5, eq. 5.8", "Machine Learning in Depth ch. 8, 8.1.2"],
)
def label_conditional_entropy(
    labels: ArrayLike,
    feature: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    base: float | None = None,
) -> float:
    """Empirical entropy of labels once a feature is known, H(D | A).

    Examples
    --------
    >>> label_conditional_entropy([0, 1, 1, 1], ["a", "a", "b", "b"], base=2)
    0.5
    """
    table = joint_table(feature, labels, sample_weight=sample_weight)[0]
    return conditional_entropy(table, given=0, base=base)


@method(
    zh="信息增益",
    task="information",
    model="g(D, A) = H(D) - H(D | A)",
    texts=["Li ch. 5, Alg 5.1", "Machine Learning in Depth ch. 8, 8.1.2", "watermelon notes ch. 2, eq. 2.2"],
    peers=["sklearn.metrics.mutual_info_score"],
)
def information_gain(
    labels: ArrayLike,
    feature: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    base: float | None = None,
) -> float:
    """Information gain H(D) - H(D | A) of a feature about the labels.

    Each distinct value of the feature is a category; cut numbers into intervals first.

    Examples
    --------
    >>> information_gain([0, 0, 1, 1], ["a", "a", "b", "b"], base=2)
    1.0
    """
    warn_of_measurements(np.asarray(feature), "information_gain")
    return mutual_information(joint_table(labels, feature, sample_weight=sample_weight)[0], base=base)


@method(
    zh="信息增益比",
    task="information",
    model="g_R(D, A) = g(D, A) / H_A(D)",
    texts=["Li ch. 5, eq. 5.10", "Machine Learning in Depth ch. 8, 8.1.2", "watermelon notes ch. 2, eq. 2.4"],
)
def information_gain_ratio(
    labels: ArrayLike, feature: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Information gain over the entropy of the feature itself.

    The base of the logarithm cancels. A feature with a single value tells nothing: 0.

    Examples
    --------
    >>> information_gain_ratio([0, 0, 1, 1], ["a", "b", "c", "d"])
    0.5
    """
    own = label_entropy(feature, sample_weight=sample_weight)
    return information_gain(labels, feature, sample_weight=sample_weight) / own if own > 0 else 0.0


def distribution(name: str, p: ArrayLike, axis: int | None, normalise: bool) -> np.ndarray:
    """``p`` as floats, not negative, that sum to 1 along the axis (over all cells for None)."""
    p = np.asarray(p, dtype=float)
    if p.size == 0 or not np.all((p >= 0) & np.isfinite(p)):
        raise ValueError(f"{name} must hold finite numbers, at least 0, got {p!r}")
    total = p.sum(axis=axis, keepdims=True)
    if normalise:
        if not np.all(total > 0):
            raise ValueError(f"{name} must not sum to 0, got {p!r}")
        return p / total
    if not np.allclose(total, 1.0, rtol=0.0, atol=1e-6):
        raise ValueError(f"{name} must sum to 1 (or give normalise=True), got a sum of {total.flat[0]}")
    return p


def unit(base: float | None) -> float:
    """Nats in one unit of the given base."""
    if base is None:
        return 1.0
    if not (0 < base < np.inf) or base == 1:
        raise ValueError(f"base must be finite, above 0 and not 1, got {base!r}")
    return float(np.log(base))
