"""The principle of maximum entropy (最大熵原理) for a discrete distribution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from tercet.core.catalog import method
from tercet.linear_model._maxent.joint_features import JointFeatures
from tercet.linear_model._maxent.log_linear_objective import LogLinearObjective
from tercet.optimize import minimize


@dataclass(frozen=True)
class MaximumEntropy:
    """A distribution of the largest entropy under constraints.

    Attributes
    ----------
    support : the values.
    probability : P of each value.
    multipliers : w of P = exp(sum_i w_i f_i) / Z, one for each constraint.
    log_partition : log Z.
    entropy : H(P) in nats.

    Examples
    --------
    >>> coin = max_entropy(2, [])
    >>> coin.probability, round(coin.entropy, 6)
    (array([0.5, 0.5]), 0.693147)
    """

    support: tuple
    probability: np.ndarray
    multipliers: np.ndarray
    log_partition: float
    entropy: float


@method(
    zh="最大熵原理",
    task="density estimation",
    model="P(x) = exp(sum of w_i f_i(x)) / Z on a finite support",
    strategy="largest entropy H(P) with E_P(f_i) = c_i",
    algorithms="Newton's method on the dual function",
    texts=["Li ch. 6, sec. 6.2, Ex 6.1, 6.2"],
)
def max_entropy(
    support: Any, constraints: Sequence[tuple[Any, float]] = (), *, tol: float = 1e-10
) -> MaximumEntropy:
    """The distribution of maximum entropy on a finite set, under constraints on expectations.

    Parameters
    ----------
    support : sequence or int
        The values, or their number.
    constraints : list of (f, c)
        Each asks for E_P(f) = c. f is a callable, an array with a number for each value of the support, or a set
        of values, whose probability then is c.
    tol : float, default=1e-10
        How exactly the constraints are to hold.

    Returns
    -------
    MaximumEntropy
        Where constraints leave no choice but P(x) = 0, x has probability 0 and takes no part in Z.

    Examples
    --------
    >>> found = max_entropy("ABCDE", [({"A", "B"}, 0.3)])
    >>> found.probability.round(4), round(found.entropy, 4)
    (array([0.15  , 0.15  , 0.2333, 0.2333, 0.2333]), 1.5878)
    """
    values = tuple(range(support)) if isinstance(support, int | np.integer) else tuple(support)
    if not values:
        raise ValueError("max_entropy: support must have at least one value; it is empty.")
    F = np.array([_evaluate(f, values) for f, _ in constraints]).reshape(len(constraints), len(values))
    target = np.array([c for _, c in constraints], dtype=float)
    possible = _positive_support(F, target)
    G = F[:, possible]
    # Subtracting the largest value of each f changes Z only and keeps exp in range.
    top = G.max(axis=1, initial=-np.inf)
    objective = LogLinearObjective(
        JointFeatures(sparse.csr_array((G - top[:, None]).T), G.shape[1], np.zeros(1, dtype=int)),
        target - top, np.ones(1), 0.0,
    )  # fmt: skip
    w = minimize(objective, np.zeros(target.size), method="newton", tol=tol).x if target.size else np.zeros(0)
    p = np.zeros(len(values))
    p[possible] = objective.probabilities(w)[0]
    log_z = float(np.logaddexp.reduce(w @ G)) if w.size else float(np.log(possible.sum()))
    positive = p[p > 0]
    return MaximumEntropy(values, p, w, log_z, float(-positive @ np.log(positive)) + 0.0)


def _evaluate(f: Any, values: tuple) -> np.ndarray:
    if callable(f):
        return np.array([f(value) for value in values], dtype=float)
    if isinstance(f, set | frozenset):
        return np.array([value in f for value in values], dtype=float)
    array = np.asarray(f, dtype=float)
    if array.shape != (len(values),):
        raise ValueError(
            f"max_entropy: a constraint given as an array needs a number for each of the {len(values)} values; "
            f"got shape {array.shape}."
        )
    return array


def _positive_support(F: np.ndarray, target: np.ndarray) -> np.ndarray:
    """The values whose probability the constraints allow to be positive."""
    n = F.shape[1]
    equal, c = np.vstack([F, np.ones(n)]), np.append(target, 1.0)
    # all values at once: the largest t with every P(x) >= t
    interior = linprog(
        np.append(np.zeros(n), -1.0), A_ub=np.c_[-np.eye(n), np.ones(n)], b_ub=np.zeros(n),
        A_eq=np.c_[equal, np.zeros(len(c))], b_eq=c, bounds=[(0, None)] * n + [(None, None)],
    )  # fmt: skip
    if interior.status != 0 or interior.x is None:
        raise ValueError("max_entropy: no distribution on the support satisfies the constraints.")
    if -interior.fun > 1e-9:
        return np.ones(n, dtype=bool)
    most = [-linprog(-np.eye(n)[i], A_eq=equal, b_eq=c, bounds=(0, None)).fun for i in range(n)]
    return np.array(most) > 1e-9
