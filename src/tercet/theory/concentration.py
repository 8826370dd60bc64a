"""Concentration inequalities: how far a mean, or a function of many variables, strays from its expectation.

Hoeffding (Li eq. 1.34, 1.35; watermelon notes 9.5), McDiarmid (9.6, 9.7), Chernoff and Jensen (9.4). Each bound
comes with its inverses: the deviation that a sample of given size allows, and the sample that a deviation needs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.theory.checks import (
    checked_choice,
    checked_count,
    checked_positive,
    checked_probability,
    least_count,
)

Tail = Literal["upper", "lower", "both"]
Form = Literal["divergence", "multiplicative"]


def _sum_of_squared_ranges(n_samples: float | None, ranges: Any) -> tuple[float, float]:
    """N and the sum of (b - a)^2 over the variables."""
    limits = np.asarray(ranges, dtype=float)
    if limits.shape == (2,):
        if n_samples is None:
            raise ValueError("n_samples must be given when ranges is one pair for all variables.")
        n = checked_count("n_samples", n_samples)
        total = n * float(limits[1] - limits[0]) ** 2
    elif limits.ndim == 2 and limits.shape[1] == 2 and limits.shape[0]:
        n = float(len(limits))
        if n_samples is not None and n_samples != n:
            raise ValueError(f"n_samples={n_samples!r} does not fit the {len(limits)} rows of ranges.")
        total = float(((limits[:, 1] - limits[:, 0]) ** 2).sum())
    else:
        raise ValueError(
            f"ranges must be a pair or an array of shape (n_samples, 2); got shape {limits.shape}."
        )
    if not np.isfinite(limits).all() or (limits[..., 1] < limits[..., 0]).any():
        raise ValueError("ranges must be finite, with a <= b for each variable.")
    return n, total


@method(
    zh="Hoeffding 不等式",
    task="theory",
    model="independent variables Xᵢ in [aᵢ, bᵢ], their mean X̄",
    strategy="P(E X̄ − X̄ ≥ t) ≤ exp(−2 N² t² / Σ(bᵢ − aᵢ)²), and the same for the other tail",
    texts=[
        "Li ch. 1, eq. 1.34, 1.35",
        "Machine Learning in Depth ch. 1, 1.3",
        "watermelon notes ch. 9, eq. 9.5",
    ],
)
def hoeffding_bound(
    t: float, n_samples: float | None = None, ranges: Any = (0.0, 1.0), *, two_sided: bool = False
) -> float:
    """Bound on the probability that a mean is further than `t` from its expectation.

    Assumption: the variables are independent, and each lies in its range.

    Parameters
    ----------
    t : float
        Distance of the mean from its expectation, above 0.
    n_samples : number, default=None
        N; may be left out when `ranges` has a row for each variable.
    ranges : pair (a, b), or array of shape (n_samples, 2), default=(0.0, 1.0)
        Limits of all variables, or of each.
    two_sided : bool, default=False
        Twice the bound, for a distance in either direction.

    Returns
    -------
    float
        At most 1.

    Examples
    --------
    >>> round(hoeffding_bound(0.1, 100), 6), round(hoeffding_bound(0.1, 100, two_sided=True), 6)
    (0.135335, 0.270671)
    >>> round(hoeffding_bound(0.5, ranges=[[0, 1], [0, 2], [-1, 1]]), 6)
    0.606531
    """
    t = checked_positive("t", t)
    n, total = _sum_of_squared_ranges(n_samples, ranges)
    if total == 0:  # constants are their expectation
        return 0.0
    return min((1 + two_sided) * math.exp(-2 * n**2 * t**2 / total), 1.0)


def hoeffding_epsilon(
    delta: float, n_samples: float | None = None, ranges: Any = (0.0, 1.0), *, two_sided: bool = False
) -> float:
    """Deviation that a mean exceeds with probability at most `delta`: `hoeffding_bound` solved for t.

    Parameters and assumption are those of `hoeffding_bound`; `delta` is the probability, between 0 and 1.

    Examples
    --------
    >>> round(hoeffding_epsilon(0.05, 200, two_sided=True), 10)
    0.0960322791
    """
    delta = checked_probability("delta", delta)
    n, total = _sum_of_squared_ranges(n_samples, ranges)
    return math.sqrt(total * math.log((1 + two_sided) / delta) / 2) / n


def hoeffding_sample_size(
    epsilon: float, delta: float, ranges: tuple[float, float] = (0.0, 1.0), *, two_sided: bool = False
) -> int:
    """Rows that keep the mean within `epsilon` of its expectation with probability at least 1 - `delta`.

    The assumption is that of `hoeffding_bound`; `ranges` is one pair for all variables.

    Examples
    --------
    >>> hoeffding_sample_size(0.1, 0.05), hoeffding_sample_size(0.1, 0.05, two_sided=True)
    (150, 185)
    """
    epsilon, delta = checked_positive("epsilon", epsilon), checked_probability("delta", delta)
    _, squared_range = _sum_of_squared_ranges(1, ranges)
    return max(math.ceil(squared_range * math.log((1 + two_sided) / delta) / (2 * epsilon**2)), 1)


@method(
    zh="McDiarmid 不等式",
    task="theory",
    model="f of independent variables, of which the i-th alone changes f by at most cᵢ",
    strategy="P(f − E f ≥ t) ≤ exp(−2 t² / Σ cᵢ²), and the same for the other tail",
    texts=["watermelon notes ch. 9, eq. 9.6, 9.7"],
)
def mcdiarmid_bound(t: float, differences: Any, *, two_sided: bool = False) -> float:
    """Bound on the probability that f(x_1, ..., x_m) is further than `t` above its expectation.

    With f the mean of m variables in [0, 1], c_i = 1 / m, it is Hoeffding's inequality.

    Assumption: the variables are independent, and changing the i-th alone changes f by at most c_i.

    Parameters
    ----------
    t : float
        Distance from the expectation, above 0.
    differences : array of shape (m,)
        c_i, the most that f changes when the i-th variable alone changes.
    two_sided : bool, default=False
        Twice the bound, for a distance in either direction.

    Examples
    --------
    >>> round(mcdiarmid_bound(0.1, np.full(100, 1 / 100)), 10)
    0.1353352832
    """
    t, total = checked_positive("t", t), _sum_of_squares(differences)
    return 0.0 if total == 0 else min((1 + two_sided) * math.exp(-2 * t**2 / total), 1.0)


def mcdiarmid_epsilon(delta: float, differences: Any, *, two_sided: bool = False) -> float:
    """Deviation that f exceeds with probability at most `delta`: `mcdiarmid_bound` solved for t.

    Parameters and assumption are those of `mcdiarmid_bound`; `delta` is the probability, between 0 and 1.

    Examples
    --------
    >>> round(mcdiarmid_epsilon(0.05, np.full(200, 1 / 200), two_sided=True), 10)
    0.0960322791
    """
    delta = checked_probability("delta", delta)
    return math.sqrt(_sum_of_squares(differences) * math.log((1 + two_sided) / delta) / 2)


def mcdiarmid_sample_size(
    epsilon: float, delta: float, difference: float = 1.0, *, two_sided: bool = False
) -> int:
    """Number of variables m that keeps f within `epsilon` of its expectation with probability at least 1 - `delta`.

    Assumption: the variables are independent, and each alone changes f by at most c / m, as in a mean of variables
    whose range is c.

    Parameters
    ----------
    epsilon, delta : float
        The largest deviation, and the probability with which it may be exceeded.
    difference : float, default=1.0
        c, m times the most that one variable changes f.
    two_sided : bool, default=False
        Whether deviations in both directions count.

    Examples
    --------
    >>> mcdiarmid_sample_size(0.1, 0.05), mcdiarmid_sample_size(0.1, 0.05, difference=2.0)
    (150, 600)
    """
    epsilon, delta = checked_positive("epsilon", epsilon), checked_probability("delta", delta)
    square = checked_positive("difference", difference) ** 2
    return max(math.ceil(square * math.log((1 + two_sided) / delta) / (2 * epsilon**2)), 1)


def _sum_of_squares(differences: Any) -> float:
    c = np.asarray(differences, dtype=float)
    if c.ndim != 1 or not c.size or not np.isfinite(c).all() or (c < 0).any():
        raise ValueError("differences must be a non-empty 1-d array of finite numbers c_i >= 0.")
    return float(c @ c)


def bernoulli_divergence(q: float, p: float) -> float:
    """Kullback-Leibler divergence of a coin with P(1) = q from one with P(1) = p, in nats.

    Examples
    --------
    >>> round(bernoulli_divergence(0.5, 0.25), 6)
    0.143841
    """
    for name, value in (("q", q), ("p", p)):
        if not 0 <= value <= 1:
            raise ValueError(f"{name} must be a probability in [0, 1]; got {value!r}.")
    terms = [(a, b) for a, b in ((q, p), (1 - q, 1 - p)) if a > 0]
    return math.inf if any(b == 0 for _, b in terms) else sum(a * math.log(a / b) for a, b in terms)


@method(
    zh="Chernoff 界",
    task="theory",
    model="independent variables in [0, 1] whose expectations have the mean p",
    strategy="P(X̄ − p ≥ t) ≤ exp(−N KL(p + t ‖ p)); P(X̄ ≥ (1 + γ)p) ≤ exp(−N p γ² / 3)",
    texts=["watermelon notes ch. 9, sec. 9.1"],
)
def chernoff_bound(
    t: float,
    n_samples: float,
    mean: float,
    *,
    tail: Tail = "upper",
    form: Form = "divergence",
) -> float:
    """Bound on the probability that a mean of variables in [0, 1] is further than `t` from its expectation.

    It knows the expectation, and so is never weaker than Hoeffding's inequality; much stronger near 0 and 1.

    Assumption: the variables are independent and lie in [0, 1]; `mean` is the mean of their expectations.

    Parameters
    ----------
    t : float
        Distance of the mean from its expectation, above 0.
    n_samples : number
        N.
    mean : float
        p, strictly between 0 and 1.
    tail : {"upper", "lower", "both"}, default="upper"
        On which side of p; "both" adds the two bounds.
    form : {"divergence", "multiplicative"}, default="divergence"
        "multiplicative" is the weaker form of the textbooks for t = gamma p:
        exp(-N p gamma^2 / (2 + gamma)) above, exp(-N p gamma^2 / 2) below.

    Examples
    --------
    >>> [round(chernoff_bound(0.1, 100, p), 6) for p in (0.5, 0.05)]
    [0.133514, 0.000889]
    """
    t, n, p = (
        checked_positive("t", t),
        checked_count("n_samples", n_samples),
        checked_probability("mean", mean),
    )
    checked_choice("tail", tail, ("upper", "lower", "both"))
    checked_choice("form", form, ("divergence", "multiplicative"))
    upper, lower = _chernoff_exponents(t, p, form)
    kept = {"upper": [upper], "lower": [lower], "both": [upper, lower]}[tail]
    return min(sum(math.exp(-n * exponent) for exponent in kept), 1.0)


def _chernoff_exponents(t: float, p: float, form: str) -> tuple[float, float]:
    """What one variable adds to the exponent, above and below p; infinite where the mean cannot lie."""
    if form == "divergence":
        upper = bernoulli_divergence(p + t, p) if p + t <= 1 else math.inf
        lower = bernoulli_divergence(p - t, p) if p - t >= 0 else math.inf
        return upper, lower
    gamma = t / p
    return p * gamma**2 / (2 + gamma), p * gamma**2 / 2 if gamma <= 1 else math.inf


def chernoff_epsilon(
    delta: float, n_samples: float, mean: float, *, tail: Tail = "upper", form: Form = "divergence"
) -> float:
    """Deviation that the mean exceeds with probability at most `delta`: `chernoff_bound` solved for t.

    Parameters and assumption are those of `chernoff_bound`; `delta` is the probability, between 0 and 1.

    Examples
    --------
    >>> round(chernoff_epsilon(0.05, 100, 0.05), 6), round(hoeffding_epsilon(0.05, 100), 6)
    (0.061499, 0.122387)
    """
    delta, p = checked_probability("delta", delta), checked_probability("mean", mean)
    farthest = {"upper": 1 - p, "lower": p, "both": max(p, 1 - p)}[
        checked_choice("tail", tail, ("upper", "lower", "both"))
    ]

    def excess(t: float) -> float:
        return chernoff_bound(t, n_samples, p, tail=tail, form=form) - delta

    if excess(farthest) > 0:
        return farthest  # no mean lies further away
    low, high = 0.0, farthest  # bisection: the bound falls with t, and jumps where one tail is beyond [0, 1]
    while low < (t := (low + high) / 2) < high:
        low, high = (t, high) if excess(t) > 0 else (low, t)
    return high


def chernoff_sample_size(
    epsilon: float, delta: float, mean: float, *, tail: Tail = "upper", form: Form = "divergence"
) -> int:
    """Rows that keep the mean within `epsilon` of its expectation with probability at least 1 - `delta`.

    Parameters and assumption are those of `chernoff_bound`.

    Examples
    --------
    >>> chernoff_sample_size(0.1, 0.05, 0.05), hoeffding_sample_size(0.1, 0.05)
    (43, 150)
    """
    epsilon, delta = checked_positive("epsilon", epsilon), checked_probability("delta", delta)
    return least_count(lambda n: chernoff_bound(epsilon, n, mean, tail=tail, form=form) <= delta)


@method(
    zh="Jensen 不等式",
    task="theory",
    model="a convex function f and a random variable",
    strategy="f(E x) ≤ E f(x)",
    texts=["watermelon notes ch. 9, eq. 9.4", "Li ch. 9, eq. 9.14"],
)
def jensen_gap(f: Callable[..., Any], x: Any, probabilities: Any = None) -> float:
    """E f(x) - f(E x) of a finite distribution: at least 0 for a convex f, at most 0 for a concave one.

    Jensen's inequality assumes that f is convex (or concave); this function does not check it.

    Parameters
    ----------
    f : callable
        Takes one value (a number, or a row of x) and returns a number.
    x : array of shape (n,) or (n, n_features)
        The values.
    probabilities : array of shape (n,), default=None
        Their probabilities; equal when None.

    Examples
    --------
    >>> round(jensen_gap(np.square, [0.0, 1.0, 5.0]), 6), round(jensen_gap(np.log, [1.0, 4.0], [0.5, 0.5]), 6)
    (4.666667, -0.223144)
    """
    values = np.asarray(x, dtype=float)
    if not values.size or not np.isfinite(values).all():
        raise ValueError("x must hold at least one value, all finite.")
    p = np.full(len(values), 1 / len(values)) if probabilities is None else np.asarray(probabilities, float)
    if p.shape != (len(values),) or (p < 0).any() or not np.isclose(p.sum(), 1.0):
        raise ValueError(f"probabilities must be {len(values)} numbers of at least 0 that sum to 1.")
    return float(p @ [float(f(value)) for value in values] - float(f(p @ values)))
