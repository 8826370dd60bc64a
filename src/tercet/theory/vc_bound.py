"""Bounds by the VC dimension and the growth function.

With probability at least 1 - eta, for every function of a class of VC dimension h and 0-1 loss,
R(f) <= R_emp(f) + eps on l rows, where eps is one of

    sqrt((h (ln(2 l / h) + 1) - ln(eta / 4)) / l)              "vapnik", Pattern Recognition 5-102
    sqrt((8 h ln(2 e l / h) + 8 ln(4 / eta)) / l)              "growth", watermelon notes 9.23
    sqrt(2 h ln(e l / h) / l) + sqrt(ln(1 / eta) / (2 l))      "rademacher", watermelon notes 9.34

The second follows from P(|R - R_emp| > eps) <= 4 Pi(2 l) exp(-l eps^2 / 8) (9.19) and Sauer's bound on the growth
function Pi. Assumption: l independent rows of one distribution.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

from tercet.core.catalog import method
from tercet.theory.checks import (
    checked_choice,
    checked_count,
    checked_positive,
    checked_probability,
    least_count,
    log_of_count,
)

Form = Literal["vapnik", "growth", "rademacher"]
FORMS = ("vapnik", "growth", "rademacher")
MANY_ROWS = 2**16  # a class that shatters twice as many points is taken for one that shatters any number


def vc_confidence(vc_dimension: float, n_samples: float, eta: float, *, form: Form = "vapnik") -> float:
    """The confidence term of the bound.

    Parameters and assumptions are those of `vc_bound`.

    Examples
    --------
    >>> [round(vc_confidence(h, 1000, 0.05), 7) for h in (3, 10, 100)]
    [0.1639783, 0.2595481, 0.6355747]
    >>> round(vc_confidence(3, 1000, 0.05, form="growth"), 10)
    0.4638007947
    >>> round(vc_confidence(3, 1000, 0.05, form="rademacher"), 10)
    0.2408281224
    """
    h, n = _checked_sizes(vc_dimension, n_samples, form)
    log_eta = math.log(checked_probability("eta", eta))
    if form == "rademacher":
        return math.sqrt(2 * h * (math.log(n / h) + 1) / n) + math.sqrt(-log_eta / (2 * n))
    factor = 8 if form == "growth" else 1
    return math.sqrt(factor * (h * (math.log(2 * n / h) + 1) + math.log(4) - log_eta) / n)


def vc_eta(vc_dimension: float, n_samples: float, epsilon: float, *, form: Form = "vapnik") -> float:
    """Probability with which a confidence term of `epsilon` may fail: `vc_confidence` solved for eta.

    At most 1, which is no restriction.

    Parameters and assumptions are those of `vc_bound`.

    Examples
    --------
    >>> [round(vc_eta(3, 1000, eps), 4) for eps in (0.1, 0.1639783, 0.2)]
    [1.0, 0.05, 0.0]
    >>> round(vc_eta(3, 1000, 0.4638007947, form="growth"), 6)
    0.05
    """
    h, n = _checked_sizes(vc_dimension, n_samples, form)
    epsilon = checked_positive("epsilon", epsilon)
    if form == "rademacher":
        rest = epsilon - math.sqrt(2 * h * (math.log(n / h) + 1) / n)
        return math.exp(-2 * n * max(rest, 0.0) ** 2)
    factor = 8 if form == "growth" else 1
    return math.exp(min(math.log(4) + h * (math.log(2 * n / h) + 1) - n * epsilon**2 / factor, 0.0))


def _checked_sizes(vc_dimension: float, n_samples: float, form: str) -> tuple[float, float]:
    """h and l as floats, for which the form gives a bound."""
    h, n = checked_count("vc_dimension", vc_dimension), checked_count("n_samples", n_samples)
    checked_choice("form", form, FORMS)
    if form == "vapnik" and h > 2 * n:
        raise ValueError(
            f"vc_dimension={vc_dimension!r}: at most 2 n_samples = {2 * n:g}; beyond it there is no bound."
        )
    if form != "vapnik" and (h > n or (form == "growth" and h == n)):
        raise ValueError(
            f"vc_dimension={vc_dimension!r} must be {'below' if form == 'growth' else 'at most'} n_samples = {n:g}"
            f" with form={form!r}; beyond it there is no bound."
        )
    return h, n


@method(
    zh="VC 维置信范围",
    task="theory",
    model="a class of VC dimension h, 0-1 loss",
    strategy="R(f) ≤ R_emp(f) + sqrt((h(ln(2l/h) + 1) − ln(η/4)) / l) with probability at least 1 − η",
    texts=[
        "Pattern Recognition ch. 5, eq. 5-102",
        "watermelon notes ch. 9, eq. 9.19, 9.23, 9.33, 9.34",
    ],
)
def vc_bound(
    vc_dimension: float,
    n_samples: float,
    eta: float,
    empirical_risk: float = 0.0,
    *,
    form: Form = "vapnik",
) -> float:
    """Bound on the expected 0-1 risk of every function of a class with finite VC dimension.

    Assumption: the rows are independent draws from one distribution, and the class is fixed before the rows are
    seen.

    Parameters
    ----------
    vc_dimension : number
        h, from 1 to 2 l ("vapnik"), below l ("growth"), to l ("rademacher").
    n_samples : number
        l.
    eta : float
        Probability with which the bound may fail.
    empirical_risk : float, default=0.0
        Error rate on the rows.
    form : {"vapnik", "growth", "rademacher"}, default="vapnik"
        "vapnik": eps = sqrt((h (ln(2 l / h) + 1) - ln(eta / 4)) / l). "growth": sqrt((8 h ln(2 e l / h) +
        8 ln(4 / eta)) / l). "rademacher": sqrt(2 h ln(e l / h) / l) + sqrt(ln(1 / eta) / (2 l)).

    Examples
    --------
    >>> round(vc_bound(3, 100, 0.05), 7), round(vc_bound(3, 100, 0.05, empirical_risk=0.1), 7)
    (0.4470027, 0.5470027)
    """
    if not 0 <= empirical_risk <= 1:
        raise ValueError(f"empirical_risk must be an error rate in [0, 1]; got {empirical_risk!r}.")
    return float(empirical_risk) + vc_confidence(vc_dimension, n_samples, eta, form=form)


def vc_sample_size(vc_dimension: float, epsilon: float, eta: float, *, form: Form = "vapnik") -> int:
    """Rows that bring the confidence term down to `epsilon`.

    Parameters and assumptions are those of `vc_bound`.

    Examples
    --------
    >>> [vc_sample_size(3, 0.1, 0.05, form=form) for form in ("vapnik", "growth", "rademacher")]
    [3021, 29646, 7197]
    """
    h, epsilon = checked_count("vc_dimension", vc_dimension), checked_positive("epsilon", epsilon)
    checked_choice("form", form, FORMS)
    # the least number of rows with a bound, from which on it falls
    start = {"vapnik": math.ceil(h / 2), "growth": math.floor(h) + 1, "rademacher": math.ceil(h)}[form]
    return least_count(lambda n: vc_confidence(h, n, eta, form=form) <= epsilon, start)


@method(
    zh="Sauer 引理",
    task="theory",
    model="a class of VC dimension d on m points",
    strategy="Π(m) ≤ Σᵢ₌₀ᵈ C(m, i) ≤ (em/d)ᵈ for m ≥ d",
    texts=["watermelon notes ch. 9, eq. 9.21, 9.22"],
)
def sauer_bound(
    n_points: int,
    vc_dimension: int,
    *,
    form: Literal["sum", "power"] = "sum",
) -> int | float:
    """Bound on the number of labellings that a class of finite VC dimension gives m points.

    Assumption: no set of d + 1 points is shattered by the class.

    Parameters
    ----------
    n_points : int
        m.
    vc_dimension : int
        d.
    form : {"sum", "power"}, default="sum"
        The sum of binomial coefficients, an exact int of any size; or (e m / d)^d, for m >= d >= 1.

    Examples
    --------
    >>> sauer_bound(10, 3), round(sauer_bound(10, 3, form="power"), 7), sauer_bound(3, 5)
    (176, 743.9087749, 8)
    """
    m, d = _whole("n_points", n_points), _whole("vc_dimension", vc_dimension)
    if checked_choice("form", form, ("sum", "power")) == "sum":
        return sum(math.comb(m, i) for i in range(min(d, m) + 1))
    if not 1 <= d <= m:
        raise ValueError(f"form='power' needs 1 <= vc_dimension <= n_points; got {d} and {m}.")
    return math.exp(log_sauer_bound(m, d, form="power"))


def log_sauer_bound(n_points: int, vc_dimension: int, *, form: Literal["sum", "power"] = "sum") -> float:
    """Logarithm of `sauer_bound`, also where (e m / d)^d is too large for a float.

    Examples
    --------
    >>> round(log_sauer_bound(10**6, 1000, form="power"), 3)
    7907.755
    """
    if form == "power":
        m, d = _whole("n_points", n_points), _whole("vc_dimension", vc_dimension)
        if not 1 <= d <= m:
            raise ValueError(f"form='power' needs 1 <= vc_dimension <= n_points; got {d} and {m}.")
        return d * (1 + math.log(m / d))
    return math.log(sauer_bound(n_points, vc_dimension, form=form))


def growth_confidence(growth: int | float, n_samples: float, epsilon: float) -> float:
    """Bound 4 Pi(2 m) exp(-m eps^2 / 8) on the probability that some risk is eps from its empirical risk (9.19).

    Assumption: the rows are independent draws from one distribution, and the class is fixed before the rows are
    seen.

    Parameters
    ----------
    growth : int or float
        Pi(2 m), the number of labellings of twice as many points: `sauer_bound(2 * m, d)` of a class with VC
        dimension d. An int may be too large for a float.
    n_samples : number
        m.
    epsilon : float
        Distance of the risks.

    Returns
    -------
    float
        At most 1.

    Examples
    --------
    >>> round(growth_confidence(sauer_bound(20_000, 3), 10_000, 0.2), 12)
    1.029e-09
    """
    m, epsilon = checked_count("n_samples", n_samples), checked_positive("epsilon", epsilon)
    return math.exp(min(math.log(4) + log_of_count("growth", growth) - m * epsilon**2 / 8, 0.0))


def growth_epsilon(growth: int | float, n_samples: float, delta: float) -> float:
    """Distance of risk and empirical risk that is exceeded with probability at most `delta`, from Pi(2 m).

    Parameters and assumptions are those of `growth_confidence`.

    Examples
    --------
    >>> round(growth_epsilon(sauer_bound(2_000, 3), 1_000, 0.05), 6)
    0.450715
    """
    m, delta = checked_count("n_samples", n_samples), checked_probability("delta", delta)
    return math.sqrt(8 * (math.log(4 / delta) + log_of_count("growth", growth)) / m)


def growth_sample_size(growth: Callable[[int], int | float], epsilon: float, delta: float) -> int:
    """Rows after which risk and empirical risk differ by at most `epsilon`, from the growth function.

    The assumptions are those of `growth_confidence`.

    Parameters
    ----------
    growth : callable
        Pi(n), the number of labellings of n points, such as `lambda n: sauer_bound(n, 3)`; it is asked for n = 2 m.
    epsilon, delta : float
        Distance of the risks, and the probability with which it may be exceeded.

    Examples
    --------
    >>> growth_sample_size(lambda n: sauer_bound(n, 3), 0.1, 0.05)
    28341
    """
    epsilon, delta = checked_positive("epsilon", epsilon), checked_probability("delta", delta)

    def holds(m: int) -> bool:
        labellings = growth(2 * m)
        if m >= MANY_ROWS and log_of_count("growth", labellings) >= 2 * m * math.log(2):
            raise ValueError(
                f"growth gives all 2^{2 * m} labellings of {2 * m} points: no number of rows is enough."
            )
        return growth_epsilon(labellings, m, delta) <= epsilon

    return least_count(holds)


def _whole(name: str, value: int) -> int:
    if int(value) != value or value < 0:
        raise ValueError(f"{name} must be a whole number of at least 0; got {value!r}.")
    return int(value)
