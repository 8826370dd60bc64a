"""Verdicts on two methods from their scores on the same splits: worse, equivalent, or not decided.

The test is the Bayesian correlated t test with a region of practical equivalence, the margin. Five splits say
little of the variance of a difference, so that it has a prior: the variance of the differences on the rows (where
rows are in groups, on the groups), times how much more the splits of all compared methods vary, since training sets
differ, too. Rounds on the same rows say no more of it than these, which bound the degrees of freedom. Of many
methods compared with one, each needs a higher probability (Holm); with the one that was chosen as the best, one as
high as if each were compared with every other, since any could have come out first.
`tests/cli/test_claims_hold.py` and `python -m tests.cli.simulated_claims` count false alarms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tercet.cli.measures import Measure
from tercet.model_selection import BayesianTest, bayesian_correlated_test, corrected_interval, holm

PROBABILITY = 0.95
PRIOR_DF = 100.0  # splits that the prior of the variance counts for: it comes from all rows
MOST_TIMES = 1000  # as many rows as there are: beyond, no number of rows is given


@dataclass(frozen=True)
class Design:
    """How the scores came about.

    Attributes
    ----------
    cv, rounds, rows : folds, repeats of them, and rows in all.
    task : str
        Scores of clusters are those of overlapping subsamples.
    sizes : numbers of training and of test rows of each split of a repeat.
    forward : whether the splits go forward in time, where the correlation of scores is not known.
    counts : rows in each unit that the bootstrap draws.
    rarest : rows of the rarer of two classes, where the measure weighs classes and not rows.
    """

    cv: int
    rounds: int
    rows: int
    task: str
    sizes: Sequence[tuple[int, int]] = ()
    forward: bool = False
    counts: np.ndarray | None = None
    rarest: int | None = None

    @property
    def max_df(self) -> float:
        """Most degrees of freedom of a variance: the rows, groups, or rows of the rarer class, less 1."""
        few = self.units if self.rarest is None else min(self.units, self.rarest)
        return max(few - 1.0, 1.0)

    @property
    def correlation(self) -> dict[str, float]:
        """Training and test rows, whose ratio is the odds ρ / (1 − ρ) of the correlation of two scores."""
        if self.task == "clustering":  # subsamples that share most rows: delete-d jackknife
            splits = self.cv * self.rounds
            return {
                "n_train": 1.0,
                "n_test": max((self.cv - 1) * (splits - 1) / splits - 1 / splits, 1 / splits),
            }
        if self.sizes:
            return {"n_train": 1.0, "n_test": float(np.mean([test / train for train, test in self.sizes]))}
        return {"n_train": float(self.cv - 1), "n_test": 1.0}

    @property
    def units(self) -> int:
        """Rows, or groups of them, that are drawn independently."""
        return self.rows if self.counts is None else self.counts.size

    def variance_of_mean(self, contributions: np.ndarray) -> float:
        """Variance of a mean over all rows, from the units' contributions."""
        weight = np.ones(contributions.size) if self.counts is None else self.counts
        known = np.isfinite(contributions)
        if known.sum() < 2:
            return 0.0
        values, weight = contributions[known], weight[known]
        mean = np.average(values, weights=weight)
        return float(np.sum((weight * (values - mean)) ** 2) / weight.sum() ** 2)


@dataclass(frozen=True)
class Comparison:
    """What the splits say of a method against another.

    Attributes
    ----------
    difference, low, high : of the scores, the method's less the other's, with the 95 % interval.
    worse, equivalent, better : probabilities.
    outcome : "worse", "equivalent", "better" or "undecided"; None where no verdict is supported.
    rows : about how many rows would decide it, if the difference stays as it is; None where it is decided or where
        no thousandfold would.
    """

    difference: float
    low: float
    high: float
    worse: float
    equivalent: float
    better: float
    outcome: str | None
    rows: int | None

    def mirrored(self) -> Comparison:
        """The same of the other against the method."""
        turned = {"worse": "better", "better": "worse"}
        outcome = None if self.outcome is None else turned.get(self.outcome, self.outcome)
        ends = (-self.difference, -self.high, -self.low)
        return Comparison(*ends, self.better, self.equivalent, self.worse, outcome, self.rows)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return dict(vars(self))


def compare_with(
    others: dict[str, tuple[np.ndarray, np.ndarray | None]],
    reference: tuple[np.ndarray, np.ndarray | None],
    measure: Measure,
    margin: float,
    design: Design,
    *,
    chosen: bool = True,
) -> dict[str, Comparison]:
    """Compare methods with a reference, each on the splits where both have scores.

    Parameters
    ----------
    others : dict of (scores, contributions)
        Scores on the splits; the units' contributions to them in one repeat, or None.
    reference : the same of the method to compare with.
    margin : float
        Differences of at most so much mean nothing.
    chosen : bool
        Whether the reference was chosen by these scores as the best, and not named beforehand as the baseline is.
    """
    sign = 1.0 if measure.greater_is_better else -1.0
    pairs: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    on_rows: dict[str, float] = {}  # variances of the differences on one split, by the rows
    for name, (scores, rows) in others.items():
        common = np.isfinite(scores) & np.isfinite(reference[0])
        if common.sum() > 1:
            pairs[name] = sign * scores[common], sign * reference[0][common]
            if rows is not None and reference[1] is not None:
                on_rows[name] = design.cv * design.variance_of_mean(rows - reference[1])
    seen = [float(np.var(np.subtract(*pairs[name]), ddof=1)) for name in on_rows]
    inflation = max(1.0, float(np.sum(seen)) / max(sum(on_rows.values()), 1e-300)) if on_rows else 1.0
    tests = {
        name: bayesian_correlated_test(
            *pair,
            rope=margin,
            prior_variance=inflation * on_rows.get(name, 0.0),
            prior_df=PRIOR_DF if name in on_rows else 0.0,
            max_df=design.max_df,
            **design.correlation,
        )
        for name, pair in pairs.items()
    }
    each = (len(tests) + 1) / 2 if chosen else 1.0  # all pairs of methods, not only those with the reference
    different = each * holm([1 - max(test.worse, test.better) for test in tests.values()])
    return {
        name: _comparison(test, float(p), sign, margin, design, each * len(tests))
        for (name, test), p in zip(tests.items(), different)
    }


def _comparison(
    test: BayesianTest, p: float, sign: float, margin: float, design: Design, tests: float
) -> Comparison:
    outcome: str | None = "undecided"
    if p <= 1 - PROBABILITY:
        outcome = "worse" if test.worse > test.better else "better"
    elif test.equivalent >= PROBABILITY:
        outcome = "equivalent"
    low, high = sorted((sign * test.low, sign * test.high))
    rows = rows_to_decide(test, margin, design.rows, tests) if outcome == "undecided" else None
    if design.forward:
        outcome = rows = None
    found = (sign * test.difference, low, high, test.worse, test.equivalent, test.better)
    return Comparison(*found, outcome, rows)


def rows_to_decide(test: BayesianTest, margin: float, rows: int, tests: float = 1) -> int | None:
    """Rows that would decide a comparison in as many rounds, if the difference stays as it is.

    The standard error falls as the root of the rows. It does not fall so with further rounds of the same rows,
    whose test sets are the same rows again.

    Examples
    --------
    >>> test = bayesian_correlated_test(
    ...     [0.80, 0.84, 0.78, 0.83], [0.75, 0.80, 0.77, 0.74], n_train=75, n_test=25
    ... )
    >>> test.verdict(), rows_to_decide(test, 0.01, 100)
    ('undecided', 260)
    """
    from scipy.special import stdtrit

    size = abs(test.difference)
    # To be worse it must be beyond the margin for as many tests as there are; to be equivalent, within it.
    tail = (1 - PROBABILITY) / tests if size > margin else 1 - PROBABILITY
    gap = abs(size - margin)
    times = (float(stdtrit(test.df, 1 - tail)) * test.scale / gap) ** 2 if gap > 0 else np.inf
    if not times < MOST_TIMES:
        return None
    need = max(times, 1.0) * rows
    digits = max(0, int(np.log10(need)) - 1)
    return int(np.ceil(need / 10**digits)) * 10**digits


def score_interval(
    scores: np.ndarray, contributions: np.ndarray | None, measure: Measure, design: Design
) -> tuple[float, float]:
    """95 % interval of a mean score, inside the range of the measure.

    It concerns the procedure on so many training rows. Where no split has an error, Wilson's interval of as many
    rows stands in.
    """
    finite = scores[np.isfinite(scores)]
    if finite.size < 2:
        return np.nan, np.nan
    low, high = corrected_interval(finite, **design.correlation)
    mean = float(finite.mean())
    least = 0.0
    if contributions is not None:
        least = design.cv * design.variance_of_mean(contributions)
    if least > finite.var(ddof=1) > 0:
        low, high = (mean + (end - mean) * float(np.sqrt(least / finite.var(ddof=1))) for end in (low, high))
    elif (
        high - low <= 1e-12 and np.isfinite([measure.low, measure.high]).all() and design.task != "clustering"
    ):
        z2 = 1.96**2
        share = (mean - measure.low) / (measure.high - measure.low)
        n = design.units
        centre = (share + z2 / (2 * n)) / (1 + z2 / n)
        half = np.sqrt(z2 * share * (1 - share) / n + z2**2 / (4 * n**2)) / (1 + z2 / n)
        low, high = (
            measure.low + end * (measure.high - measure.low) for end in (centre - half, centre + half)
        )
    return measure.within(min(low, mean)), measure.within(max(high, mean))
