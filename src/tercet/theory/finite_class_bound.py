"""Generalisation bounds for a finite set of hypotheses (Li theorem 1.1; watermelon notes sec. 9.3).

With probability at least 1 - delta, for all of d hypotheses at once and a loss in [0, 1],

    R(f) <= R_emp(f) + eps,   eps = sqrt((log d + log(1/delta)) / (2 N)).

The proof is Hoeffding's inequality for one hypothesis, exp(-2 N eps^2), and the union over d. Two-sided, |R(f) -
R_emp(f)| <= eps, has 2/delta in place of 1/delta (9.16; with d = 1 it is 9.15).

In the realisable case the target is one of the hypotheses and the learner returns one without a mistake. A
hypothesis of risk above eps is right on all rows with probability below (1 - eps)^N, so that N >= (log d +
log(1/delta)) / eps rows suffice (9.9-9.13): the risk falls with 1/N, not with 1/sqrt(N).

Assumptions: N independent rows of one distribution; the d hypotheses are fixed before the rows are seen.
"""

from __future__ import annotations

import math

from tercet.core.catalog import method
from tercet.theory.checks import (
    checked_count,
    checked_positive,
    checked_probability,
    checked_risk,
    log_of_count,
)


@method(
    zh="泛化误差上界",
    task="theory",
    model="finitely many hypotheses, a loss in [0, 1]",
    strategy="R(f) ≤ R_emp(f) + sqrt((log d + log(1/δ)) / (2N)) with probability at least 1 − δ",
    texts=[
        "Li ch. 1, theorem 1.1",
        "Machine Learning in Depth ch. 1, 1.3",
        "watermelon notes ch. 9, eq. 9.14 to 9.16",
    ],
)
def finite_class_bound(
    n_hypotheses: float,
    n_samples: float,
    delta: float,
    empirical_risk: float = 0.0,
    *,
    two_sided: bool = False,
) -> float:
    """Bound on the expected risk of any of finitely many hypotheses.

    Assumption: the rows are independent draws from one distribution, the hypotheses are fixed before the rows
    are seen, and the loss lies in [0, 1].

    Parameters
    ----------
    n_hypotheses : number
        d, at least 1. An int may be too large for a float, as in `3**10000`.
    n_samples : number
        N, rows that are independent of the choice of the class.
    delta : float
        Probability with which the bound may fail.
    empirical_risk : float, default=0.0
        Mean loss on the rows, in [0, 1]; with 0 the result is eps itself.
    two_sided : bool, default=False
        Whether eps bounds the difference of the two risks in both directions.

    Examples
    --------
    >>> round(finite_class_bound(10, 1000, 0.05), 9)
    0.051469978
    >>> round(finite_class_bound(1000, 200, 0.05, two_sided=True), 10)
    0.1627623631
    """
    log_d, n = log_of_count("n_hypotheses", n_hypotheses), checked_count("n_samples", n_samples)
    delta = checked_probability("delta", delta)
    eps = math.sqrt((log_d + math.log((1 + two_sided) / delta)) / (2 * n))
    return checked_risk("empirical_risk", empirical_risk) + eps


def finite_class_sample_size(
    n_hypotheses: float, epsilon: float, delta: float, *, two_sided: bool = False
) -> int:
    """Rows that make the bound's eps at most `epsilon`: the least N with d exp(-2 N eps^2) <= delta.

    The assumptions are those of `finite_class_bound`.

    Examples
    --------
    >>> finite_class_sample_size(10, 0.051469978, 0.05)
    1001
    >>> finite_class_sample_size(10, 0.0515, 0.05)
    999
    """
    log_d = log_of_count("n_hypotheses", n_hypotheses)
    epsilon, delta = checked_positive("epsilon", epsilon), checked_probability("delta", delta)
    return max(math.ceil((log_d + math.log((1 + two_sided) / delta)) / (2 * epsilon**2)), 1)


def finite_class_confidence(
    n_hypotheses: float, n_samples: float, epsilon: float, *, two_sided: bool = False
) -> float:
    """Bound d exp(-2 N eps^2) on the probability that some hypothesis' risk exceeds its empirical risk by eps.

    At most 1, which is no restriction.

    The assumptions are those of `finite_class_bound`.

    Examples
    --------
    >>> round(finite_class_confidence(10, 1000, 0.051469978), 6)
    0.05
    """
    log_d, n = log_of_count("n_hypotheses", n_hypotheses), checked_count("n_samples", n_samples)
    exponent = log_d + math.log(1 + two_sided) - 2 * n * checked_positive("epsilon", epsilon) ** 2
    return math.exp(min(exponent, 0.0))


def agnostic_bound(n_hypotheses: float, n_samples: float, delta: float) -> float:
    """Bound on how far empirical risk minimisation stays above the best hypothesis of the class.

    Agnostic learning: P(R(h) - min R(h') <= eps) >= 1 - delta, whether or not any hypothesis is right.

    The assumptions are those of `finite_class_bound`.

    Examples
    --------
    >>> round(agnostic_bound(1000, 2120, 0.05), 6)
    0.099984
    """
    return 2 * finite_class_bound(n_hypotheses, n_samples, delta, two_sided=True)


def agnostic_confidence(n_hypotheses: float, n_samples: float, epsilon: float) -> float:
    """Bound on the probability that empirical risk minimisation is more than `epsilon` above the best hypothesis.

    At most 1, which is no restriction.

    The assumptions are those of `finite_class_bound`.

    Examples
    --------
    >>> round(agnostic_confidence(1000, 2120, 0.1), 6)
    0.049832
    """
    return finite_class_confidence(
        n_hypotheses, n_samples, checked_positive("epsilon", epsilon) / 2, two_sided=True
    )


def agnostic_sample_size(n_hypotheses: float, epsilon: float, delta: float) -> int:
    """Rows with which empirical risk minimisation comes within `epsilon` of the best hypothesis of the class.

    Agnostic learning: P(R(h) - min R(h') <= eps) >= 1 - delta, whether or not any hypothesis is right. If all
    empirical risks are within eps / 2 of the risks, the minimiser's risk is within eps of the least one.

    The assumptions are those of `finite_class_bound`.

    Examples
    --------
    >>> agnostic_sample_size(1000, 0.1, 0.05), realizable_sample_size(1000, 0.1, 0.05)
    (2120, 100)
    """
    return finite_class_sample_size(
        n_hypotheses, checked_positive("epsilon", epsilon) / 2, delta, two_sided=True
    )


@method(
    zh="可分情形的有限假设空间",
    task="theory",
    model="finitely many hypotheses, one of which is the target",
    strategy="P(some h with R(h) > ε is right on all rows) < |H| (1 − ε)ᵐ < |H| e^(−mε)",
    texts=["watermelon notes ch. 9, eq. 9.9 to 9.13"],
)
def realizable_bound(
    n_hypotheses: float, n_samples: float, delta: float, *, exponential: bool = True
) -> float:
    """Bound on the risk of every hypothesis that makes no mistake on the rows.

    Assumption: the rows are independent draws from one distribution, the hypotheses are fixed before the rows
    are seen, and one of them is the target.

    Parameters
    ----------
    n_hypotheses : number
        |H|, at least 1. An int may be too large for a float.
    n_samples : number
        m.
    delta : float
        Probability with which the bound may fail.
    exponential : bool, default=True
        Use |H| exp(-m eps), the texts' simpler form; False uses |H| (1 - eps)^m, which is a little better.

    Examples
    --------
    >>> (
    ...     round(realizable_bound(1000, 100, 0.05), 6),
    ...     round(realizable_bound(1000, 100, 0.05, exponential=False), 6),
    ... )
    (0.099035, 0.094289)
    """
    log_h, m = log_of_count("n_hypotheses", n_hypotheses), checked_count("n_samples", n_samples)
    rate = (log_h - math.log(checked_probability("delta", delta))) / m
    return min(rate, 1.0) if exponential else -math.expm1(-rate)


def realizable_sample_size(
    n_hypotheses: float, epsilon: float, delta: float, *, exponential: bool = True
) -> int:
    """Rows after which every hypothesis without a mistake has risk at most `epsilon`.

    The assumptions are those of `realizable_bound`.

    Examples
    --------
    >>> realizable_sample_size(1000, 0.1, 0.05), realizable_sample_size(1000, 0.1, 0.05, exponential=False)
    (100, 94)
    """
    log_h, epsilon = log_of_count("n_hypotheses", n_hypotheses), checked_probability("epsilon", epsilon)
    rate = epsilon if exponential else -math.log1p(-epsilon)
    return max(math.ceil((log_h - math.log(checked_probability("delta", delta))) / rate), 1)


def realizable_confidence(
    n_hypotheses: float, n_samples: float, epsilon: float, *, exponential: bool = True
) -> float:
    """Bound on the probability that a hypothesis of risk above `epsilon` makes no mistake on the rows.

    The assumptions are those of `realizable_bound`.

    Examples
    --------
    >>> round(realizable_confidence(1000, 100, 0.1), 10)
    0.0453999298
    >>> round(realizable_confidence(1000, 100, 0.1, exponential=False), 10)
    0.0265613989
    """
    log_h, m = log_of_count("n_hypotheses", n_hypotheses), checked_count("n_samples", n_samples)
    epsilon = checked_probability("epsilon", epsilon)
    return math.exp(min(log_h - m * (epsilon if exponential else -math.log1p(-epsilon)), 0.0))
