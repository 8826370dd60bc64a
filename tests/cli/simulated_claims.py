"""What `tercet compare` claims, on fresh data each time: false alarms, coverage, and the score after a choice.

    python -m tests.cli.simulated_claims --units 40 60 80 120 --times 1000 --seed 1

prints the shares for tables of so many units (rows, or groups of five rows), each of `times` tables drawn anew.
The methods are real and tiny. Method k sees column k alone and cuts it in the middle between the classes' means (or
draws a line through it), so that all are equal by symmetry, and a thousand cross-validations take seconds.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tercet.cli.compare.comparison import Design, compare_with, score_interval
from tercet.cli.compare.expected_score import expected_score
from tercet.cli.measures import MEASURES, Measure

CV = 5
GROUP = 5  # rows of a group
RARER = 4  # rows, of which one is of the rarer class
FEW = 6  # rows that an unstable method learns from
Scores = Callable[[np.ndarray, np.ndarray], np.ndarray]


def classification(rng, n, methods):
    """The class of each unit, which the folds are balanced by, and what the units of a test set contribute to the
    accuracy of each method: (n_test, methods)."""
    y, x = two_classes(rng, rng.integers(0, 2, n), methods)

    def fit_and_score(train, test):
        return right_by_midpoint(x, y, train, test)

    return y, fit_and_score


def unstable(rng, n, methods):
    """As `classification`, but each method learns from six rows of its own choice."""
    y, x = two_classes(rng, rng.integers(0, 2, n), methods)

    def fit_and_score(train, test):
        few = np.argsort(rng.random((methods, train.sum())), axis=1)[:, :FEW]
        seen, labels = x[train][few, np.arange(methods)[:, None]], y[train][few]
        high, low = (
            np.sum(seen * (labels == c), axis=1) / np.maximum(np.sum(labels == c, axis=1), 1) for c in (1, 0)
        )
        return right_of(x[test], y[test], high, low)

    return y, fit_and_score


def regression(rng, n, methods):
    """The same for the absolute error of a line through one column."""
    return line_through_one_column(rng, n, methods, rng.normal(size=n))


def heavy_tails(rng, n, methods):
    """As `regression`, with noise of three degrees of freedom."""
    return line_through_one_column(rng, n, methods, rng.standard_t(3, size=n))


def grouped(rng, n, methods):
    """As `classification`, but five rows at a time are of one group: one class, one fold, and nearly one value of
    each column."""
    y, x = two_classes(rng, rng.permutation(np.arange(n) % 2), methods)
    x = np.repeat(x, GROUP, axis=0) + 0.1 * rng.normal(size=(n * GROUP, methods))
    labels = np.repeat(y, GROUP)

    def fit_and_score(train, test):
        right = right_by_midpoint(x, labels, np.repeat(train, GROUP), np.repeat(test, GROUP))
        return right.reshape(-1, GROUP, methods).mean(axis=1)  # of a group

    return y, fit_and_score


def ranking(rng, n, methods):
    """Contributions to the area under the ROC curve, with one positive of four rows."""
    y, x = two_classes(rng, rng.permutation(np.arange(n) % RARER == 0).astype(int), methods)

    def fit_and_score(train, test):
        up = x[train & (y == 1)].mean(axis=0) > x[train & (y == 0)].mean(axis=0)
        return placements(y[test], np.where(up, x[test], -x[test]))

    return y, fit_and_score


def placements(y, scores):
    """`contributions.roc_auc` of each column of scores that has no two equal."""
    above = scores[y == 1][:, None] > scores[y == 0]  # (positives, negatives, methods)
    area = above.mean(axis=(0, 1))
    found = np.tile(area, (y.size, 1))
    found[y == 1] += y.size / above.shape[0] * (above.mean(axis=1) - area)
    found[y == 0] += y.size / above.shape[1] * (above.mean(axis=0) - area)
    return found


def two_classes(rng, y, methods):
    """The classes and the columns, which share part of their noise."""
    return y, y[:, None] + 0.6 * rng.normal(size=(y.size, 1)) + 0.8 * rng.normal(size=(y.size, methods))


def right_by_midpoint(x, y, train, test):
    high, low = x[train & (y == 1)].mean(axis=0), x[train & (y == 0)].mean(axis=0)
    return right_of(x[test], y[test], high, low)


def right_of(x, y, high, low):
    return (((x - (high + low) / 2) * (high - low) > 0) == (y == 1)[:, None]).astype(float)


def line_through_one_column(rng, n, methods, noise):
    x = rng.normal(size=(n, methods))
    y = x.sum(axis=1) / np.sqrt(methods) + noise

    def fit_and_score(train, test):
        centred = x[train] - x[train].mean(axis=0)
        slope = centred.T @ y[train] / (centred**2).sum(axis=0)
        return np.abs(y[train].mean() + slope * (x[test] - x[train].mean(axis=0)) - y[test][:, None])

    return None, fit_and_score


@dataclass(frozen=True)
class Scenario:
    """Equal methods on tables of one kind."""

    make: Callable
    metric: str

    @property
    def measure(self) -> Measure:
        return MEASURES[self.metric]

    def design(self, units: int, rounds: int) -> Design:
        size = GROUP if self.make is grouped else 1
        rarest = -(-units // RARER) if self.make is ranking else None
        counts = np.full(units, float(size))
        return Design(CV, rounds, units * size, self.measure.task, counts=counts, rarest=rarest)

    def cross_validate(self, rng, units, methods, rounds=1):
        """Scores on the splits (splits, methods), and contributions of the units (units, methods): mean, and first
        round."""
        y, fit_and_score = self.make(rng, units, methods)
        scores, rows = [], np.zeros((rounds, units, methods))
        for r in range(rounds):
            fold = folds_of(rng, units, y)
            for k in range(CV):
                test = fold == k
                rows[r, test] = fit_and_score(~test, test)
                scores.append(rows[r, test].mean(axis=0))
        return np.array(scores), rows.mean(axis=0), rows[0]

    def best(self, scores):
        means = scores.mean(axis=0)
        return int(np.argmax(means) if self.measure.greater_is_better else np.argmin(means))

    def false_alarms(self, rng, units, methods, rounds, times) -> dict[str, float]:
        """Shares of tables on which a method is called worse than the one chosen as best, or better than an equal
        one that was named beforehand; and on which the interval of the difference of two of them has the zero."""
        design, measure = self.design(units, rounds), self.measure
        worse = named = covered = 0
        for _ in range(times):
            scores, _, rows = self.cross_validate(rng, units, methods, rounds)
            evidence = {k: (scores[:, k], rows[:, k]) for k in range(methods)}
            margin = measure.margin(float(scores.mean()))
            best = self.best(scores)
            others = {k: v for k, v in evidence.items() if k != best}
            worse += any(
                c.outcome == "worse"
                for c in compare_with(others, evidence[best], measure, margin, design).values()
            )
            rest = {k: v for k, v in evidence.items() if k != 0}
            found = compare_with(rest, evidence[0], measure, margin, design, chosen=False)
            named += any(c.outcome == "better" for c in found.values())
            covered += found[1].low <= 0 <= found[1].high
        return {"worse": worse / times, "better": named / times, "difference": covered / times}

    def coverage(self, rng, units, methods, rounds, times) -> dict[str, float]:
        """Shares of tables on which the interval has the expected score: of a method named beforehand, and of the
        best of all after the correction for the choice."""
        design, measure = self.design(units, rounds), self.measure
        truth = np.mean([self.cross_validate(rng, units, methods)[0].mean() for _ in range(times)])
        plain = chosen = 0
        for seed in range(times):
            scores, rows, first = self.cross_validate(rng, units, methods, rounds)
            intervals = {
                str(k): score_interval(scores[:, k], first[:, k], measure, design)
                for k in (0, self.best(scores))
            }
            plain += intervals["0"][0] <= truth <= intervals["0"][1]
            found = expected_score(
                {str(k): float(v) for k, v in enumerate(scores.mean(axis=0))},
                {str(k): rows[:, k] for k in range(methods)},
                measure,
                design,
                seed=seed,
                intervals=intervals,
            )
            assert found is not None
            chosen += found["low"] <= truth <= found["high"]
        return {"plain": plain / times, "chosen": chosen / times}


def folds_of(rng, units, y):
    """A fold for each unit; with classes, every fold has its share of each."""
    order = rng.permutation(units)
    if y is not None:
        order = order[np.argsort(y[order], kind="stable")]
    fold = np.empty(units, dtype=int)
    fold[order] = np.arange(units) % CV
    return fold


SCENARIOS = {
    "classification": Scenario(classification, "accuracy"),
    "regression": Scenario(regression, "mae"),
    "unstable": Scenario(unstable, "accuracy"),
    "grouped": Scenario(grouped, "accuracy"),
    "ranking": Scenario(ranking, "roc_auc"),
    "heavy_tails": Scenario(heavy_tails, "mae"),
}
CLAIMS = {
    "false_alarms": ["called worse than the best", "better than one named", "zero in the interval"],
    "coverage": ["score in the interval", "and the chosen's"],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--units", type=int, nargs="+", default=[40, 60, 80, 120])
    parser.add_argument("--methods", type=int, nargs="+", default=[2, 20])
    parser.add_argument("--rounds", type=int, nargs="+", default=[1, 3, 10])
    parser.add_argument("--scenarios", nargs="+", choices=SCENARIOS, default=list(SCENARIOS))
    parser.add_argument("--claims", nargs="+", choices=list(CLAIMS), default=list(CLAIMS))
    parser.add_argument("--times", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    heads = [head for claim in asked.claims for head in CLAIMS[claim]]
    print(f"{'scenario':14} units methods rounds   " + "   ".join(heads))
    for case in itertools.product(asked.scenarios, asked.units, asked.methods, asked.rounds):
        name, units, methods, rounds = case
        rng = np.random.default_rng((asked.seed, *map(ord, name), units, methods, rounds))
        shares = [
            share
            for claim in asked.claims
            for share in getattr(SCENARIOS[name], claim)(rng, units, methods, rounds, asked.times).values()
        ]
        told = "   ".join(f"{share:{len(head)}.1%}" for head, share in zip(heads, shares))
        print(f"{name:14} {units:5} {methods:7} {rounds:6}   {told}", flush=True)


if __name__ == "__main__":
    main()
