"""How probable it is that one of two methods is better, or that they are equivalent.

Bayesian form of the corrected t test (Corani and Benavoli 2015): the scores' differences on the splits of one data
set are normal and equally correlated, the correlation is the share of test rows. With a flat prior the mean
difference has a Student distribution with the corrected standard error. A region of practical equivalence gives
three probabilities instead of one verdict.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtr, stdtrit

from tercet.core.catalog import method


@dataclass(frozen=True)
class BayesianTest:
    """Posterior of the mean difference, first less second.

    Attributes
    ----------
    difference : mean of the posterior.
    scale, df : the posterior is Student's t with `df` degrees of freedom, times `scale`, about `difference`.
    worse, equivalent, better : probabilities that the first method is worse, equivalent, better.
    low, high : credible interval of the difference.
    """

    difference: float
    scale: float
    df: float
    worse: float
    equivalent: float
    better: float
    low: float
    high: float

    def verdict(self, probability: float = 0.95) -> str:
        """ "worse", "equivalent", "better", or "undecided" when none has the probability asked for."""
        for name in ("worse", "equivalent", "better"):
            if getattr(self, name) >= probability:
                return name
        return "undecided"


@method(
    zh="贝叶斯相关 t 检验",
    task="model comparison",
    model="differences on J splits: normal, mean μ, correlation ρ = n_test / (n_train + n_test)",
    strategy="posterior of μ: Student t, J − 1 degrees of freedom, variance s² (1/J + ρ/(1 − ρ))",
    peers=["baycomp"],
)
def bayesian_correlated_test(
    first: Any,
    second: Any,
    *,
    n_train: float,
    n_test: float,
    rope: float = 0.0,
    confidence: float = 0.95,
    prior_variance: float = 0.0,
    prior_df: float = 0.0,
    max_df: float = np.inf,
) -> BayesianTest:
    """Probabilities that one of two methods is better than the other, or equivalent to it.

    Parameters
    ----------
    first, second : arrays of shape (n_splits,)
        Scores on the same splits, greater is better.
    n_train, n_test : float
        Rows in a training set and in a test set.
    rope : float, default=0.0
        Half the width of the region of practical equivalence: differences of at most so much mean nothing.
    confidence : float, default=0.95
        Of the credible interval.
    prior_variance, prior_df : float, default=0.0
        Of a scaled inverse χ² prior of the variance of a difference on one split, such as the variance of the
        differences on the rows over `n_test`: a few splits may agree by chance. By default the prior is flat.
    max_df : float, default=inf
        Most degrees of freedom of the posterior, such as the number of rows less 1: repeats of cross-validation on
        the same rows say no more of the variance than these.

    Examples
    --------
    >>> a, b = [0.91, 0.90, 0.93, 0.92, 0.90], [0.90, 0.90, 0.92, 0.92, 0.89]
    >>> test = bayesian_correlated_test(a, b, n_train=80, n_test=20, rope=0.01)
    >>> round(test.worse, 3), round(test.equivalent, 3), round(test.better, 3), test.verdict()
    (0.006, 0.825, 0.169, 'undecided')
    """
    a, b = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if a.ndim != 1 or a.shape != b.shape or a.size < 2 or not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise ValueError(
            "first and second must be finite scores of the same splits, at least 2; "
            f"got shapes {a.shape} and {b.shape}."
        )
    if not (n_train > 0 and n_test > 0):
        raise ValueError(f"n_train and n_test must be positive; got {n_train!r} and {n_test!r}.")
    if not 0 <= rope < np.inf:
        raise ValueError(f"rope must be at least 0; got {rope!r}.")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1; got {confidence!r}.")
    for name, value in (("prior_variance", prior_variance), ("prior_df", prior_df)):
        if not 0 <= value < np.inf:
            raise ValueError(f"{name} must be at least 0; got {value!r}.")
    if not max_df >= 1:
        raise ValueError(f"max_df must be at least 1; got {max_df!r}.")
    d = a - b
    mean, df = float(d.mean()), d.size - 1 + prior_df
    variance = (prior_df * prior_variance + (d.size - 1) * float(d.var(ddof=1))) / df
    df = min(df, max_df)
    scale = float(np.sqrt(variance * (1 / d.size + n_test / n_train)))
    if scale <= 1e-15 * max(np.abs(a).max(), np.abs(b).max()):  # the same difference on every split
        rounding = 1e-15 * max(np.abs(a).max(), np.abs(b).max())
        same = abs(mean) <= rope + rounding
        worse, better = float(not same and mean < 0), float(not same and mean > 0)
    else:
        worse, better = float(stdtr(df, (-rope - mean) / scale)), float(stdtr(df, (mean - rope) / scale))
    half = float(stdtrit(df, 0.5 + confidence / 2)) * scale
    equivalent = max(1.0 - worse - better, 0.0)
    return BayesianTest(mean, scale, df, worse, equivalent, better, mean - half, mean + half)
