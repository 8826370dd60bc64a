"""Several methods on several data sets: Friedman's test and what follows it.

Each data set ranks the methods, ties share the mean rank. Friedman's statistic asks whether the mean ranks differ
at all; Iman and Davenport's form of it is less conservative. Which pairs differ: Nemenyi's critical difference
compares mean ranks, which depend on the pool of methods (adding a method can turn a verdict between two others);
Wilcoxon's signed-rank test of each pair, corrected by Holm, does not, and is the default (Benavoli, Corani and
Mangili 2016).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import chdtrc, fdtrc
from scipy.stats import rankdata, studentized_range, wilcoxon

from tercet.core.catalog import method
from tercet.model_selection.paired_test import holm


@dataclass(frozen=True, eq=False)
class FriedmanTest:
    """Result of Friedman's test and of the comparison of pairs.

    Attributes
    ----------
    mean_ranks : ndarray of shape (n_methods,)
        1 is best.
    statistic, p_value : Iman and Davenport's F, with k - 1 and (k - 1)(N - 1) degrees of freedom.
    chi_square, chi_square_p_value : Friedman's own statistic.
    pairs : ndarray of shape (n_methods, n_methods)
        P-values of the pairs, corrected for their number ("wilcoxon"), or whether mean ranks differ by more than
        the critical difference ("nemenyi": p-values of the studentised range).
    critical_difference : float
        Of mean ranks, at the level; NaN for "wilcoxon".
    """

    mean_ranks: np.ndarray
    statistic: float
    p_value: float
    chi_square: float
    chi_square_p_value: float
    pairs: np.ndarray
    critical_difference: float


def critical_difference(n_methods: int, n_data_sets: int, level: float = 0.05) -> float:
    """Nemenyi's critical difference of mean ranks: q_level sqrt(k (k + 1) / (6 N)).

    Examples
    --------
    >>> round(critical_difference(4, 14), 3)
    1.254
    """
    if n_methods < 2 or n_data_sets < 2 or not 0 < level < 1:
        raise ValueError(
            "critical_difference needs at least 2 methods, 2 data sets and a level between 0 and 1; "
            f"got {n_methods!r}, {n_data_sets!r}, {level!r}."
        )
    q = float(studentized_range.ppf(1 - level, n_methods, np.inf)) / np.sqrt(2)
    return float(q * np.sqrt(n_methods * (n_methods + 1) / (6 * n_data_sets)))


@method(
    zh="Friedman 检验与 Nemenyi 后续检验",
    task="model comparison",
    model="ranks of k methods on N data sets",
    strategy="equal mean ranks or not; then pairs by Wilcoxon's test with Holm's correction, or by Nemenyi's test",
    peers=["scipy.stats.friedmanchisquare", "scikit-posthocs"],
)
def friedman_test(
    scores: Any, *, posthoc: str = "wilcoxon", level: float = 0.05, greater_is_better: bool = True
) -> FriedmanTest:
    """Test whether some of several methods differ, by their scores on several data sets.

    Parameters
    ----------
    scores : array of shape (n_data_sets, n_methods)
        One score of each method on each data set.
    posthoc : {"wilcoxon", "nemenyi"}, default="wilcoxon"
        How pairs are compared.
    level : float, default=0.05
        Of the critical difference.
    greater_is_better : bool, default=True
        False for errors and losses.

    Examples
    --------
    >>> scores = [[0.9, 0.8, 0.7], [0.8, 0.7, 0.6], [0.9, 0.6, 0.7], [0.7, 0.6, 0.5]]
    >>> test = friedman_test(scores, posthoc="nemenyi")
    >>> test.mean_ranks, round(test.chi_square, 3), round(test.critical_difference, 3)
    (array([1.  , 2.25, 2.75]), 6.5, 1.657)
    """
    if posthoc not in ("wilcoxon", "nemenyi"):
        raise ValueError(f"posthoc must be 'wilcoxon' or 'nemenyi'; got {posthoc!r}.")
    table = np.asarray(scores, dtype=float)
    if table.ndim != 2 or min(table.shape) < 2 or not np.isfinite(table).all():
        raise ValueError(
            f"scores must be finite, of at least 2 data sets and 2 methods; got an array of shape {table.shape}."
        )
    n, k = table.shape
    ranks = rankdata(-table if greater_is_better else table, axis=1)
    mean = ranks.mean(axis=0)
    spread = ((ranks - (k + 1) / 2) ** 2).sum() / (n * (k - 1))  # k (k + 1) / 12 when there are no ties
    chi = float(n * ((mean - (k + 1) / 2) ** 2).sum() / spread) if spread > 0 else 0.0
    room = n * (k - 1) - chi
    F = (n - 1) * chi / room if room > 1e-12 * n else np.inf
    nemenyi = posthoc == "nemenyi"
    return FriedmanTest(
        mean_ranks=mean,
        statistic=float(F),
        p_value=float(fdtrc(k - 1, (k - 1) * (n - 1), F)) if np.isfinite(F) else 0.0,
        chi_square=chi,
        chi_square_p_value=float(chdtrc(k - 1, chi)),
        pairs=_nemenyi_pairs(mean, n) if nemenyi else _wilcoxon_pairs(table),
        critical_difference=critical_difference(k, n, level) if nemenyi else float("nan"),
    )


def _nemenyi_pairs(mean: np.ndarray, n: int) -> np.ndarray:
    k = len(mean)
    distance = np.abs(mean[:, None] - mean) / np.sqrt(k * (k + 1) / (6 * n))
    p = studentized_range.sf(distance * np.sqrt(2), k, np.inf)
    np.fill_diagonal(p, 1.0)
    return np.minimum(p, 1.0)


def _wilcoxon_pairs(table: np.ndarray) -> np.ndarray:
    k = table.shape[1]
    first, second = np.triu_indices(k, 1)
    p = [
        1.0 if (table[:, i] == table[:, j]).all() else float(wilcoxon(table[:, i], table[:, j]).pvalue)
        for i, j in zip(first, second)
    ]
    pairs = np.ones((k, k))
    pairs[first, second] = pairs[second, first] = holm(p)
    return pairs
