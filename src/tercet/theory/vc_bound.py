"""Bound by the VC dimension (Pattern Recognition eq. 5-102).

With probability at least 1 - eta, for every function of a class of VC dimension h and 0-1 loss,

    R(f) <= R_emp(f) + sqrt((h (ln(2 l / h) + 1) - ln(eta / 4)) / l).

Assumption: l independent rows of one distribution. The second term grows with h while h < 2 l and falls with l.
"""

from __future__ import annotations

import math

from tercet.core.catalog import method
from tercet.theory.checks import checked_count, checked_probability


def vc_confidence(vc_dimension: float, n_samples: float, eta: float) -> float:
    """The confidence term of the bound.

    Examples
    --------
    >>> [round(vc_confidence(h, 1000, 0.05), 7) for h in (3, 10, 100)]
    [0.1639783, 0.2595481, 0.6355747]
    """
    h, n = checked_count("vc_dimension", vc_dimension), checked_count("n_samples", n_samples)
    if h > 2 * n:
        raise ValueError(
            f"vc_dimension={vc_dimension!r}: at most 2 n_samples = {2 * n:g}; beyond it there is no bound."
        )
    return math.sqrt((h * (math.log(2 * n / h) + 1) - math.log(checked_probability("eta", eta) / 4)) / n)


@method(
    zh="VC 维置信范围",
    task="theory",
    model="a class of VC dimension h, 0-1 loss",
    strategy="R(f) ≤ R_emp(f) + sqrt((h(ln(2l/h) + 1) − ln(η/4)) / l) with probability at least 1 − η",
    texts=["Pattern Recognition ch. 5, eq. 5-102"],
)
def vc_bound(vc_dimension: float, n_samples: float, eta: float, empirical_risk: float = 0.0) -> float:
    """Bound on the expected 0-1 risk of every function of a class with finite VC dimension.

    Parameters
    ----------
    vc_dimension : number
        h, from 1 to 2 l.
    n_samples : number
        l.
    eta : float
        Probability with which the bound may fail.
    empirical_risk : float, default=0.0
        Error rate on the rows.

    Examples
    --------
    >>> round(vc_bound(3, 100, 0.05), 7), round(vc_bound(3, 100, 0.05, empirical_risk=0.1), 7)
    (0.4470027, 0.5470027)
    """
    if not 0 <= empirical_risk <= 1:
        raise ValueError(f"empirical_risk must be an error rate in [0, 1]; got {empirical_risk!r}.")
    return float(empirical_risk) + vc_confidence(vc_dimension, n_samples, eta)
