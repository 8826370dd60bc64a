"""Whether two classifiers err equally often on the same rows (McNemar's test)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import bdtr, chdtrc

from tercet.core.catalog import method


@dataclass(frozen=True)
class McNemarTest:
    """Result of McNemar's test.

    Attributes
    ----------
    only_first_wrong, only_second_wrong : rows on which one of the two is wrong.
    statistic : (|e01 - e10| - 1)² / (e01 + e10), chi-square with one degree of freedom; NaN for the exact test.
    p_value : two-sided.
    """

    only_first_wrong: int
    only_second_wrong: int
    statistic: float
    p_value: float


@method(
    zh="McNemar 检验",
    task="model comparison",
    model="rows on which exactly one of two classifiers is wrong: either with probability 1/2",
    strategy="(|e₀₁ − e₁₀| − 1)² / (e₀₁ + e₁₀) ~ χ²(1); few such rows: the binomial distribution itself",
    peers=["statsmodels.stats.contingency_tables.mcnemar"],
)
def mcnemar_test(y: Any, first: Any, second: Any, *, exact: bool | None = None) -> McNemarTest:
    """Test whether two classifiers' error rates are equal, by their predictions for the same test rows.

    Parameters
    ----------
    y, first, second : arrays of shape (n_samples,)
        True classes and both predictions.
    exact : bool, default=None
        The binomial distribution instead of chi-square; None takes it when fewer than 25 rows differ.

    Examples
    --------
    >>> y = np.zeros(40, int)
    >>> first, second = np.repeat([1, 0, 0], [12, 3, 25]), np.repeat([0, 1, 0], [12, 3, 25])
    >>> round(mcnemar_test(y, first, second).p_value, 6)
    0.035156
    >>> round(mcnemar_test(y, first, second, exact=False).statistic, 6)
    4.266667
    """
    truth, a, b = (np.asarray(values) for values in (y, first, second))
    if truth.ndim != 1 or a.shape != truth.shape or b.shape != truth.shape or not truth.size:
        raise ValueError(
            f"y, first and second must be labels of the same rows; got shapes {truth.shape}, {a.shape}, {b.shape}."
        )
    only_a, only_b = (int(((p != truth) & (q == truth)).sum()) for p, q in ((a, b), (b, a)))
    differ = only_a + only_b
    if differ == 0:
        return McNemarTest(0, 0, 0.0, 1.0)
    if differ < 25 if exact is None else exact:
        p = min(2 * float(bdtr(min(only_a, only_b), differ, 0.5)), 1.0)
        return McNemarTest(only_a, only_b, float("nan"), p)
    statistic = max(abs(only_a - only_b) - 1, 0) ** 2 / differ
    return McNemarTest(only_a, only_b, statistic, float(chdtrc(1, statistic)))
