"""Forward stagewise additive modelling (前向分步算法; Li ch. 8, Alg 8.2): one basis function after the other.

f_0 = 0
for m = 1 .. M:
    (beta, b) = argmin of sum L(y, f_{m-1} + beta b)      (8.16)
    f_m = f_{m-1} + beta b                                 (8.17)
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar

from tercet.core.catalog import method
from tercet.losses import Loss

LARGEST_MARGIN = 50.0  # where a loss of the margin falls for ever, no coefficient moves a score further
TIE = 1e-12  # of the loss: of basis functions that are equally good, the first is taken


class StagewiseFit(NamedTuple):
    """The additive model, round by round.

    Attributes
    ----------
    chosen : list of int
        The basis functions, by their columns.
    coefficients : array
        Their coefficients beta.
    f : array of shape (n,)
        The sum of them at the rows.
    losses : array
        The total loss after each round, from that of f = 0 on.
    """

    chosen: list[int]
    coefficients: np.ndarray
    f: np.ndarray
    losses: np.ndarray


@method(
    zh="前向分步算法",
    task="optimisation",
    model="f(x) = sum of beta_m b(x; gamma_m)",
    strategy="any loss, one term at a time; with the exponential loss it is AdaBoost (Thm 8.3)",
    algorithms="in each round the basis function and coefficient that lower the loss most",
    texts=["Li ch. 8, Alg 8.2, Thm 8.3", "Machine Learning in Depth ch. 8"],
)
def forward_stagewise(
    y: ArrayLike, basis: ArrayLike, loss: Loss, n_rounds: int, sample_weight: ArrayLike | None = None
) -> StagewiseFit:
    """Additive model of a finite set of basis functions, one term after the other.

    Parameters
    ----------
    y : array of shape (n,)
        The targets.
    basis : array of shape (n, n_functions)
        The values of the basis functions at the rows.
    loss : Loss
        A loss of `tercet.losses`, or any object with its `value(y, f)`.
    n_rounds : int
        How many terms.
    sample_weight : array of shape (n,), optional
        How much each row counts.

    Returns
    -------
    StagewiseFit

    Examples
    --------
    >>> from tercet.losses import Squared
    >>> basis = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
    >>> fit = forward_stagewise([1.0, 2.0, 3.0], basis, Squared(), 2)
    >>> fit.chosen, fit.losses.round(3)
    ([1, 0], array([14.  ,  1.2 ,  0.72]))
    """
    y, b = np.asarray(y, dtype=np.float64), np.asarray(basis, dtype=np.float64)
    weight = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    f, chosen, coefficients = np.zeros(len(y)), [], []
    losses = [total_loss(loss, y, f, weight)]
    for _ in range(n_rounds):
        tried = [best_coefficient(loss, y, f, column, weight) for column in b.T]
        after = np.array([total_loss(loss, y, f + beta * column, weight) for beta, column in zip(tried, b.T)])
        j = int(np.argmax(after <= after.min() + TIE * abs(losses[0])))
        f = f + tried[j] * b[:, j]
        chosen.append(j)
        coefficients.append(tried[j])
        losses.append(float(after[j]))
    return StagewiseFit(chosen, np.array(coefficients), f, np.array(losses))


def total_loss(loss: Any, y: np.ndarray, f: np.ndarray, weight: np.ndarray) -> float:
    """The weighted sum of the losses."""
    return float(weight @ loss.value(y, f))


def best_coefficient(loss: Any, y: np.ndarray, f: np.ndarray, b: np.ndarray, weight: np.ndarray) -> float:
    """argmin over beta of the sum of L(y, f + beta b): a line search; 0 where b brings nothing.

    Examples
    --------
    >>> from tercet.losses import Absolute
    >>> round(best_coefficient(Absolute(), np.array([2.0, 2.0, 9.0]), np.zeros(3), np.ones(3), np.ones(3)), 6)
    2.0
    """
    size = float(np.abs(b).max(initial=0.0))
    if size == 0.0:
        return 0.0

    def along(beta: float) -> float:
        value = total_loss(loss, y, f + beta * b, weight)
        return value if np.isfinite(value) else np.finfo(np.float64).max

    if getattr(loss, "margin", False):
        limit = LARGEST_MARGIN / size
        found = minimize_scalar(
            along, bounds=(-limit, limit), method="bounded", options={"xatol": 1e-11 * limit}
        )
    else:
        found = minimize_scalar(along, bracket=(0.0, 1.0), options={"xtol": 1e-12})
    beta = float(found.x)
    if hasattr(loss, "curvature"):  # a search by values alone is good to half the digits
        bend = float((weight * b * b) @ loss.curvature(y, f + beta * b))
        slope = float((weight * b) @ loss.gradient(y, f + beta * b))
        nearer = beta - slope / bend if bend > 0 else beta
        flatter = abs(float((weight * b) @ loss.gradient(y, f + nearer * b))) < abs(slope)
        beta = nearer if flatter else beta
    return beta if np.isfinite(beta) and along(beta) <= along(0.0) else 0.0
