"""Rademacher complexity: how well a class of functions fits random signs (watermelon notes 9.5).

    R_Z(F) = E_sigma [ sup_f (1/m) sum_i sigma_i f(z_i) ],   sigma_i = -1 or 1 with probability 1/2 each   (9.29)

It depends on the points, as the VC dimension does not. The class is given by its values on the points, one row for
each function; equal rows may be left out, so that a class of infinitely many functions is given by its labellings
(`tercet.theory.dichotomies`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.estimator import generator
from tercet.theory.checks import (
    checked_choice,
    checked_count,
    checked_positive,
    checked_probability,
    checked_risk,
    least_count,
    log_of_count,
)

MOST_EXACT = 20  # points: a million vectors of signs
BLOCK = 1 << 14  # vectors of signs at a time


def _values(values: Any) -> np.ndarray:
    F = np.asarray(values, dtype=float)
    if F.ndim != 2 or not F.size or not np.isfinite(F).all():
        raise ValueError(
            f"values must be a finite array of shape (n_functions, n_points); got shape {F.shape}."
        )
    return np.unique(F, axis=0)


def _suprema(F: np.ndarray, signs: np.ndarray) -> np.ndarray:
    """sup_f (1/m) sum_i sigma_i f(z_i) for each row of signs."""
    return (signs @ F.T).max(axis=1) / F.shape[1]


@method(
    zh="Rademacher 复杂度",
    task="theory",
    model="the values of a class of functions on m points",
    strategy="E_σ sup_f (1/m) Σ σᵢ f(zᵢ)",
    algorithms={"exact": "enumeration of the 2ᵐ vectors of signs", "monte-carlo": "mean over random signs"},
    texts=["watermelon notes ch. 9, eq. 9.25 to 9.30"],
)
def rademacher_complexity(
    values: Any,
    *,
    algorithm: Literal["auto", "exact", "monte-carlo"] = "auto",
    n_draws: int = 10_000,
    random_state: Any = 0,
    return_error: bool = False,
) -> float | tuple[float, float]:
    """Empirical Rademacher complexity of a class of functions on given points.

    Parameters
    ----------
    values : array of shape (n_functions, n_points)
        f(z_i) of every function; for a classifier -1 and 1.
    algorithm : {"auto", "exact", "monte-carlo"}, default="auto"
        "exact" enumerates all 2^m vectors of signs, for at most 20 points; "auto" does so for at most 16.
    n_draws : int, default=10_000
        Vectors of signs that "monte-carlo" draws.
    random_state : int, Generator or None, default=0
        Seed of the draws.
    return_error : bool, default=False
        Also return the standard error; 0 when exact.

    Examples
    --------
    >>> from tercet.theory import dichotomies
    >>> line = [0.0, 1.0, 2.0, 3.0]
    >>> [
    ...     rademacher_complexity(dichotomies(line, name))
    ...     for name in ("thresholds", "two-sided thresholds", "intervals")
    ... ]
    [0.59375, 0.75, 0.84375]
    """
    F = _values(values)
    m = F.shape[1]
    checked_choice("algorithm", algorithm, ("auto", "exact", "monte-carlo"))
    if algorithm == "exact" or (algorithm == "auto" and m <= 16):
        if m > MOST_EXACT:
            raise ValueError(
                f"algorithm='exact' would enumerate 2^{m} vectors of signs; at most {MOST_EXACT} points."
                " Use algorithm='monte-carlo'."
            )
        bits = np.arange(m)
        total = 0.0
        for start in range(0, 1 << m, BLOCK):
            codes = np.arange(start, min(start + BLOCK, 1 << m))[:, None]
            total += float(_suprema(F, 2.0 * (codes >> bits & 1) - 1.0).sum())
        result, error = total / (1 << m), 0.0
    else:
        n = int(checked_count("n_draws", n_draws, 2))
        rng = generator(random_state)
        drawn = np.concatenate(
            [
                _suprema(F, 2.0 * rng.integers(0, 2, (min(BLOCK, n - start), m)) - 1.0)
                for start in range(0, n, BLOCK)
            ]
        )
        result, error = float(drawn.mean()), float(drawn.std(ddof=1) / math.sqrt(n))
    return (result, error) if return_error else result


def expected_rademacher_complexity(
    values_of: Callable[[Any], Any],
    draw: Callable[[np.random.Generator], Any],
    n_samples: int = 100,
    *,
    random_state: Any = 0,
    return_error: bool = False,
    **options: Any,
) -> float | tuple[float, float]:
    """Rademacher complexity of a class under a distribution (9.30): the mean over samples of the empirical one.

    Parameters
    ----------
    values_of : callable
        values_of(points) gives f(z_i) of every function, shape (n_functions, n_points).
    draw : callable
        draw(generator) gives a sample of m points.
    n_samples : int, default=100
        How many samples to draw.
    random_state : int, Generator or None, default=0
        Seed of the samples and of the signs.
    return_error : bool, default=False
        Also return the standard error over the samples.
    **options
        As in `rademacher_complexity`.

    Examples
    --------
    >>> from tercet.theory import dichotomies
    >>> expected_rademacher_complexity(
    ...     lambda x: dichotomies(x, "thresholds"), lambda rng: rng.normal(size=4), n_samples=5
    ... )
    0.59375
    """
    n = int(checked_count("n_samples", n_samples, 2))
    rng = generator(random_state)
    found = [rademacher_complexity(values_of(draw(rng)), random_state=rng, **options) for _ in range(n)]
    mean, error = float(np.mean(found)), float(np.std(found, ddof=1) / math.sqrt(n))
    return (mean, error) if return_error else mean


def massart_bound(values: Any) -> float:
    """Massart's bound on the empirical Rademacher complexity of finitely many functions.

    max ||f|| sqrt(2 ln |F|) / m, where ||f|| is the Euclidean norm of the values on the m points.

    Assumption: the class has finitely many different rows of values on the points.

    Examples
    --------
    >>> from tercet.theory import dichotomies
    >>> round(massart_bound(dichotomies([0.0, 1.0, 2.0, 3.0], "thresholds")), 9)
    0.897061289
    """
    F = _values(values)
    return float(np.linalg.norm(F, axis=1).max()) * math.sqrt(2 * math.log(len(F))) / F.shape[1]


def growth_rademacher_bound(growth: int | float, n_samples: float) -> float:
    """Bound sqrt(2 ln Pi(m) / m) on the Rademacher complexity of a class with values -1 and 1 (9.33).

    Assumption: the functions have the values -1 and 1, and at most Pi(m) labellings of m points.

    Examples
    --------
    >>> from tercet.theory import sauer_bound
    >>> round(growth_rademacher_bound(sauer_bound(1000, 3), 1000), 6)
    0.194584
    """
    return math.sqrt(2 * log_of_count("growth", growth) / checked_count("n_samples", n_samples))


def linear_rademacher_bound(X: Any, norm: float = 1.0) -> float:
    """Bound B sqrt(sum ||x_i||^2) / m on the Rademacher complexity of linear functions w.x with ||w|| <= B.

    Examples
    --------
    >>> linear_rademacher_bound([[3.0, 4.0], [0.0, 0.0]], norm=2.0)
    5.0
    """
    rows = np.asarray(X, dtype=float)
    if rows.ndim != 2 or not rows.size or not np.isfinite(rows).all():
        raise ValueError(
            f"X must be a finite array of shape (n_samples, n_features); got shape {rows.shape}."
        )
    return checked_positive("norm", norm) * float(np.linalg.norm(rows)) / len(rows)


@method(
    zh="Rademacher 复杂度泛化误差界",
    task="theory",
    model="functions with values in [0, 1], or classifiers with values −1 and 1",
    strategy="E f ≤ mean f + 2R + sqrt(ln(1/δ) / (2m)); for classifiers with R in place of 2R",
    texts=["watermelon notes ch. 9, eq. 9.31 to 9.34"],
)
def rademacher_bound(
    complexity: float,
    n_samples: float,
    delta: float,
    empirical_risk: float = 0.0,
    *,
    empirical: bool = False,
    values: Literal["real", "binary"] = "binary",
) -> float:
    """Bound on the expectation of every function of a class, or on the error of every classifier.

    Assumption: the rows are independent draws from one distribution, and the class is fixed before the rows are
    seen.

    Parameters
    ----------
    complexity : float
        R, of the distribution; or of the sample with `empirical=True`.
    n_samples : number
        m.
    delta : float
        Probability with which the bound may fail.
    empirical_risk : float, default=0.0
        Mean of the function on the sample, or the error rate of the classifier.
    empirical : bool, default=False
        Whether `complexity` was found on the sample: its own deviation then costs more, 3 sqrt(ln(2/delta) / (2m)).
    values : {"real", "binary"}, default="binary"
        "real": functions with values in [0, 1], for which R counts twice. "binary": classifiers.

    Examples
    --------
    >>> [round(rademacher_bound(0.1, 100, 0.05, empirical=e, values="real"), 10) for e in (False, True)]
    [0.3223873415, 0.6074304547]
    >>> [round(rademacher_bound(0.1, 100, 0.05, empirical=e), 10) for e in (False, True)]
    [0.2223873415, 0.5074304547]
    """
    m, delta = checked_count("n_samples", n_samples), checked_probability("delta", delta)
    complexity, factor = _checked_complexity(complexity), _checked_factor(values)
    deviation = (
        3 * math.sqrt(math.log(2 / delta) / (2 * m)) if empirical else math.sqrt(-math.log(delta) / (2 * m))
    )
    return checked_risk("empirical_risk", empirical_risk) + factor * complexity + deviation


def rademacher_delta(
    complexity: float,
    n_samples: float,
    epsilon: float,
    *,
    empirical: bool = False,
    values: Literal["real", "binary"] = "binary",
) -> float:
    """Probability with which a gap of `epsilon` may be exceeded: `rademacher_bound` solved for delta.

    At most 1, which is no restriction.

    Parameters and assumptions are those of `rademacher_bound`.

    Examples
    --------
    >>> round(rademacher_delta(0.1, 100, 0.2223873415), 6)
    0.05
    """
    m, epsilon = checked_count("n_samples", n_samples), checked_positive("epsilon", epsilon)
    rest = max(epsilon - _checked_factor(values) * _checked_complexity(complexity), 0.0)
    return min(2 * math.exp(-2 * m * (rest / 3) ** 2), 1.0) if empirical else math.exp(-2 * m * rest**2)


def rademacher_sample_size(
    complexity: float | Callable[[int], float],
    epsilon: float,
    delta: float,
    *,
    empirical: bool = False,
    values: Literal["real", "binary"] = "binary",
) -> int:
    """Rows that bring the gap of `rademacher_bound` down to `epsilon`.

    The assumptions are those of `rademacher_bound`.

    Parameters
    ----------
    complexity : float or callable
        R; or R(m), the complexity on m rows, which must not rise with m.
    epsilon, delta : float
        The gap that is asked for, and the probability with which it may be exceeded.
    empirical, values
        As in `rademacher_bound`.

    Examples
    --------
    A class of VC dimension 3:

    >>> from tercet.theory import growth_rademacher_bound, sauer_bound
    >>> rademacher_sample_size(lambda m: growth_rademacher_bound(sauer_bound(m, 3), m), 0.1, 0.05)
    6807
    """
    epsilon = checked_positive("epsilon", epsilon)
    fixed = None if callable(complexity) else _checked_complexity(complexity)
    if fixed is not None and _checked_factor(values) * fixed >= epsilon:
        raise ValueError(
            f"complexity={fixed:g} alone is a gap of {_checked_factor(values) * fixed:g}: no number of rows brings "
            f"it down to epsilon={epsilon:g}. Give the complexity as a function of the number of rows."
        )

    def holds(m: int) -> bool:
        R = complexity(m) if callable(complexity) else complexity
        return rademacher_bound(R, m, delta, empirical=empirical, values=values) <= epsilon

    return least_count(holds)


def _checked_complexity(complexity: float) -> float:
    if not 0 <= complexity < math.inf:
        raise ValueError(f"complexity must be a finite number of at least 0; got {complexity!r}.")
    return float(complexity)


def _checked_factor(values: str) -> int:
    """How often the complexity counts."""
    return 2 if checked_choice("values", values, ("real", "binary")) == "real" else 1
