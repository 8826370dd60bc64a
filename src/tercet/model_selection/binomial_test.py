"""Whether an error rate is above a supposed one (binomial test)."""

from __future__ import annotations

from dataclasses import dataclass

from scipy.special import bdtr, bdtrc

from tercet.core.catalog import method


@dataclass(frozen=True)
class BinomialTest:
    """Result of a test of one error rate.

    Attributes
    ----------
    error_rate : share of rows that were wrong.
    p_value : probability of as many errors or more (one-sided), when the true rate is `supposed`.
    critical : the largest number of errors that the level allows; more reject the supposed rate.
    rejected : whether there were more.
    """

    error_rate: float
    p_value: float
    critical: int
    rejected: bool


@method(
    zh="二项检验",
    task="model comparison",
    model="m rows wrong independently, with probability ε each",
    strategy="reject ε ≤ ε₀ when P(errors ≥ found; ε₀) < α",
    peers=["scipy.stats.binomtest"],
)
def binomial_test(n_errors: int, n_samples: int, supposed: float, level: float = 0.05) -> BinomialTest:
    """Test that the true error rate is at most a supposed one, by the errors on a test set.

    Parameters
    ----------
    n_errors, n_samples : int
        Rows that were wrong, and rows of the test set.
    supposed : float
        Error rate of the hypothesis, between 0 and 1.
    level : float, default=0.05
        Probability of rejecting a true hypothesis.

    Examples
    --------
    >>> test = binomial_test(7, 20, 0.2)
    >>> round(test.p_value, 4), test.critical, test.rejected
    (0.0867, 7, False)
    """
    if not 0 <= n_errors <= n_samples or n_samples < 1:
        raise ValueError(f"n_errors must be from 0 to n_samples={n_samples!r}; got {n_errors!r}.")
    if not 0 < supposed < 1:
        raise ValueError(f"supposed must be between 0 and 1; got {supposed!r}.")
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1; got {level!r}.")
    p = 1.0 if n_errors == 0 else float(bdtrc(n_errors - 1, n_samples, supposed))
    critical = next(k for k in range(n_samples + 1) if 1 - bdtr(k, n_samples, supposed) < level)
    return BinomialTest(n_errors / n_samples, p, critical, n_errors > critical)
