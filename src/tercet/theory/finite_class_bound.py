"""Generalisation bound for a finite set of hypotheses (Li theorem 1.1).

With probability at least 1 - delta, for all of d hypotheses at once and a loss in [0, 1],

    R(f) <= R_emp(f) + eps,   eps = sqrt((log d + log(1/delta)) / (2 N)).

Assumptions: N independent rows of one distribution; the d hypotheses are fixed before the rows are seen. The proof
is Hoeffding's inequality for one hypothesis, exp(-2 N eps^2), and the union over d.
"""

from __future__ import annotations

import math

from tercet.core.catalog import method
from tercet.theory.checks import checked_count, checked_positive, checked_probability


@method(
    zh="泛化误差上界",
    task="theory",
    model="finitely many hypotheses, a loss in [0, 1]",
    strategy="R(f) ≤ R_emp(f) + sqrt((log d + log(1/δ)) / (2N)) with probability at least 1 − δ",
    texts=["Li ch. 1, theorem 1.1", "Machine Learning in Depth ch. 1, 1.3"],
)
def finite_class_bound(
    n_hypotheses: float, n_samples: float, delta: float, empirical_risk: float = 0.0
) -> float:
    """Bound on the expected risk of any of finitely many hypotheses.

    Parameters
    ----------
    n_hypotheses : number
        d, at least 1. For classes too large for a float give the bound in parts: only log d enters.
    n_samples : number
        N, rows that are independent of the choice of the class.
    delta : float
        Probability with which the bound may fail.
    empirical_risk : float, default=0.0
        Mean loss on the rows, in [0, 1]; with 0 the result is eps itself.

    Examples
    --------
    >>> round(finite_class_bound(10, 1000, 0.05), 9)
    0.051469978
    """
    d, n = checked_count("n_hypotheses", n_hypotheses), checked_count("n_samples", n_samples)
    if not 0 <= empirical_risk <= 1:
        raise ValueError(f"empirical_risk must be in [0, 1], as the loss is; got {empirical_risk!r}.")
    delta = checked_probability("delta", delta)
    return float(empirical_risk) + math.sqrt((math.log(d) - math.log(delta)) / (2 * n))


def finite_class_sample_size(n_hypotheses: float, epsilon: float, delta: float) -> int:
    """Rows that make the bound's eps at most `epsilon`: the least N with d exp(-2 N eps^2) <= delta.

    Examples
    --------
    >>> finite_class_sample_size(10, 0.051469978, 0.05)
    1001
    >>> finite_class_sample_size(10, 0.0515, 0.05)
    999
    """
    d = checked_count("n_hypotheses", n_hypotheses)
    epsilon, delta = checked_positive("epsilon", epsilon), checked_probability("delta", delta)
    return max(math.ceil((math.log(d) - math.log(delta)) / (2 * epsilon**2)), 1)


def finite_class_confidence(n_hypotheses: float, n_samples: float, epsilon: float) -> float:
    """Bound d exp(-2 N eps^2) on the probability that some hypothesis' risk exceeds its empirical risk by eps.

    At most 1, which says nothing.

    Examples
    --------
    >>> round(finite_class_confidence(10, 1000, 0.051469978), 6)
    0.05
    """
    d, n = checked_count("n_hypotheses", n_hypotheses), checked_count("n_samples", n_samples)
    return min(math.exp(math.log(d) - 2 * n * checked_positive("epsilon", epsilon) ** 2), 1.0)
