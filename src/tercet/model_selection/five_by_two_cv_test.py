"""Whether two methods differ, by five repetitions of two-fold cross-validation (5x2 cv).

Two-fold training sets do not overlap, so that the variance within a repetition is nearly honest. Dietterich (1998)
divides the first difference by the pooled standard deviation, t with 5 degrees of freedom; Alpaydin (1999) uses all
ten differences, F with 10 and 5, which does not depend on the order of the folds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import fdtrc, stdtr

from tercet.core.catalog import method


@dataclass(frozen=True)
class FiveByTwoTest:
    """Result of a 5x2 cv test.

    Attributes
    ----------
    difference : mean of the ten differences.
    statistic, p_value : t (two-sided) or F.
    """

    difference: float
    statistic: float
    p_value: float


@method(
    zh="5×2 交叉验证检验",
    task="model comparison",
    model="differences of two methods' scores on five random halvings",
    strategy="t = d₁₁ / sqrt(Σ sᵢ² / 5) with 5 degrees of freedom, or F = Σ d² / (2 Σ sᵢ²) with 10 and 5",
    peers=["mlxtend.evaluate.paired_ttest_5x2cv"],
)
def five_by_two_cv_test(first: Any, second: Any, *, statistic: str = "F") -> FiveByTwoTest:
    """Test whether two methods differ, by their scores on five repetitions of two-fold cross-validation.

    Parameters
    ----------
    first, second : arrays of shape (5, 2)
        Scores by repetition and fold, on the same folds.
    statistic : {"F", "t"}, default="F"
        Alpaydin's combined F test, or Dietterich's t test.

    Examples
    --------
    >>> a = [[0.90, 0.92], [0.91, 0.90], [0.93, 0.91], [0.92, 0.92], [0.90, 0.93]]
    >>> b = [[0.85, 0.88], [0.86, 0.88], [0.85, 0.86], [0.88, 0.86], [0.87, 0.88]]
    >>> [round(five_by_two_cv_test(a, b, statistic=kind).p_value, 4) for kind in ("F", "t")]
    [0.0126, 0.0287]
    """
    if statistic not in ("F", "t"):
        raise ValueError(f"statistic must be 'F' or 't'; got {statistic!r}.")
    a, b = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if a.shape != (5, 2) or b.shape != (5, 2):
        raise ValueError(f"first and second must have shape (5, 2); got {a.shape} and {b.shape}.")
    d = a - b
    variance = ((d - d.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
    scale = max(np.abs(a).max(), np.abs(b).max())
    if np.sqrt(variance.sum()) <= 1e-15 * scale:  # every repetition gives the same difference in both folds
        same = bool(np.abs(d).max() <= 1e-15 * scale)
        return FiveByTwoTest(float(d.mean()), 0.0 if same else np.inf, 1.0 if same else 0.0)
    if statistic == "t":
        t = float(d[0, 0] / np.sqrt(variance.mean()))
        return FiveByTwoTest(float(d.mean()), t, 2 * float(stdtr(5, -abs(t))))
    F = float((d**2).sum() / (2 * variance.sum()))
    return FiveByTwoTest(float(d.mean()), F, float(fdtrc(10, 5, F)))
