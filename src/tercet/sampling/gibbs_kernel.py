"""Gibbs sampling on a table of joint probabilities as a matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.input_errors import Broken, shown

Scan = Literal["systematic", "random"]


def check_table(table: Any) -> np.ndarray:
    """A table of joint probabilities, up to a constant, normalised; or an error that says what is wrong."""
    try:
        joint = np.asarray(table, dtype=np.float64)
    except Broken:
        raise ValueError(f"the joint table must hold numbers; got {shown(table)}.") from None
    if joint.ndim < 1 or not joint.size or not (joint >= 0).all() or not 0 < joint.sum() < np.inf:
        raise ValueError(
            f"the joint table must hold numbers that are not negative and not all 0; got {shown(table)}."
        )
    return joint / joint.sum()


def check_order(order: Any, d: int) -> list[int]:
    """The components in the order of a sweep, each once; by default 0, 1, ..."""
    try:
        found = list(range(d)) if order is None else [int(j) for j in order]
    except Broken:
        found = []
    if sorted(found) != list(range(d)):
        raise ValueError(f"order must name each of the components 0 to {d - 1} once; got {order!r}.")
    return found


def component_kernel(joint: np.ndarray, j: int) -> np.ndarray:
    """Transition matrix of one draw of component j given the others, on the cells of a table in C order."""
    n = joint.size
    cells = np.stack(np.unravel_index(np.arange(n), joint.shape))
    others = np.delete(cells, j, axis=0)
    same = (others[:, :, None] == others[:, None, :]).all(axis=0) if len(others) else np.ones((n, n), bool)
    reach = np.where(same, joint.ravel()[None, :], 0.0)
    total = reach.sum(axis=1, keepdims=True)
    # From cells whose whole slice is impossible the chain stays: it never gets there.
    return np.divide(reach, total, out=np.eye(n), where=total > 0)


@method(
    zh="吉布斯抽样转移矩阵",
    task="sampling",
    model="K = K_1 K_2 ... K_d for a sweep, Σ_j K_j / d for a random scan; K_j draws component j given the others",
    strategy="p K = p; a random scan and each K_j are in detailed balance, a sweep in general is not",
    texts=["Li ch. 19", "Machine Learning in Depth ch. 5, Alg 7, Alg 8"],
)
def gibbs_kernel(table: Any, *, scan: Scan = "systematic", order: Sequence[int] | None = None) -> np.ndarray:
    """Transition matrix of Gibbs sampling on a table of joint probabilities.

    Parameters
    ----------
    table : array of shape (n_1, ..., n_d)
        Joint probabilities, up to a constant.
    scan : {"systematic", "random"}, default="systematic"
        A whole sweep through the components, or one component drawn at random.
    order : sequence of int, optional
        The order of a sweep; 0, 1, ... by default.

    Returns
    -------
    array of shape (n_states, n_states)
        K with K_ab = P(next is cell b | now is cell a), cells in C order.

    Examples
    --------
    >>> gibbs_kernel([[0.1, 0.2], [0.3, 0.4]]).round(4)
    array([[0.0833, 0.1667, 0.3214, 0.4286],
           [0.1111, 0.2222, 0.2857, 0.381 ],
           [0.0833, 0.1667, 0.3214, 0.4286],
           [0.1111, 0.2222, 0.2857, 0.381 ]])
    """
    joint = check_table(table)
    parts = [component_kernel(joint, j) for j in check_order(order, joint.ndim)]
    if scan == "random":
        return np.asarray(sum(parts)) / len(parts)
    if scan != "systematic":
        raise ValueError(f"scan must be 'systematic' or 'random'; got {scan!r}.")
    return np.asarray(np.linalg.multi_dot(parts)) if len(parts) > 1 else parts[0]
