"""How mixed the classes of a set are: Gini index, classification error, half entropy.

Li ch. 5.5; watermelon notes ch. 2.

Functions of ``p`` take probabilities along an axis (``normalise=True`` divides counts by their sum); those of
``labels`` count for themselves, with weights where these are given. All are 0 for a pure set.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from tercet.core.catalog import method
from tercet.distributions import joint_table
from tercet.metrics.information.entropies import distribution, entropy


@method(
    zh="基尼指数",
    task="information",
    model="Gini(p) = 1 - Σ p²",
    texts=[
        "Li ch. 5, eq. 5.22, 5.23",
        "Machine Learning in Depth ch. 8, 8.1.2",
        "watermelon notes ch. 2, eq. 2.5, 2.6",
    ],
)
def gini(p: ArrayLike, *, axis: int = -1, normalise: bool = False) -> np.ndarray:
    """Gini index 1 - sum p^2 along an axis: how often two draws are of different classes.

    At most 1 - 1/K, for K equally likely classes.

    Examples
    --------
    >>> gini([0.4, 0.6]).round(6)
    np.float64(0.48)
    """
    return 1.0 - np.square(distribution("p", p, axis, normalise)).sum(axis=axis)


@method(
    zh="分类误差率",
    task="information",
    model="1 - max p",
    texts=["Li ch. 5, Fig 5.7"],
)
def classification_error(p: ArrayLike, *, axis: int = -1, normalise: bool = False) -> np.ndarray:
    """Error 1 - max p of the guess that is right most often, along an axis.

    Examples
    --------
    >>> classification_error([0.4, 0.6])
    np.float64(0.4)
    """
    return 1.0 - distribution("p", p, axis, normalise).max(axis=axis)


@method(
    zh="熵之半",
    task="information",
    model="H(p) / 2, in bits",
    texts=["Li ch. 5, Fig 5.7"],
)
def half_entropy(p: ArrayLike, *, axis: int = -1, normalise: bool = False) -> np.ndarray:
    """Half the entropy in bits, along an axis: of two classes it peaks at 1/2, as the Gini index and the error do.

    Examples
    --------
    >>> half_entropy([0.5, 0.5])
    np.float64(0.5)
    """
    return entropy(p, base=2, axis=axis, normalise=normalise) / 2


@method(
    zh="样本集合的基尼指数",
    task="information",
    model="Gini(D) = 1 - Σ (|C_k|/|D|)²",
    texts=["Li ch. 5, eq. 5.24", "watermelon notes ch. 2, eq. 2.5"],
)
def label_gini(labels: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Gini index of labels.

    Examples
    --------
    >>> label_gini(["yes", "no", "no", "yes"])
    0.5
    """
    return float(gini(joint_table(labels, sample_weight=sample_weight)[0]))


@method(
    zh="划分后的基尼指数",
    task="information",
    model="Gini(D, A) = Σ |D_i|/|D| Gini(D_i)",
    texts=["Li ch. 5, eq. 5.25", "watermelon notes ch. 2, eq. 2.7"],
)
def gini_index(
    labels: ArrayLike,
    feature: ArrayLike,
    *,
    value: object = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Gini index of labels once they are split by a feature.

    By all its values; or in two, by whether it is ``value``, which has to occur (a mask of two sides is a feature
    like any other).

    Examples
    --------
    >>> gini_index([0, 1, 1, 1], ["a", "a", "b", "c"])
    0.25
    >>> round(gini_index([0, 1, 1, 1], ["a", "a", "b", "c"], value="b"), 6)
    0.333333
    """
    if value is not None:
        feature = _is_value(np.asarray(feature), value)
    table = joint_table(feature, labels, sample_weight=sample_weight)[0]
    parts = table.sum(axis=1)
    here = parts > 0
    return float(parts[here] @ gini(table[here], normalise=True))


def _is_value(feature: np.ndarray, value: object) -> np.ndarray:
    """Mask of the rows in which the feature has this value."""
    mask = np.broadcast_to(feature == value, feature.shape)
    if not mask.any():
        known = np.unique(feature).tolist()
        shown = ", ".join(repr(one) for one in known[:12]) + (", ..." if len(known) > 12 else "")
        raise ValueError(
            f"gini_index: value={value!r} does not occur in the feature, whose values are {shown}."
        )
    return mask
