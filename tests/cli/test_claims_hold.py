"""What `tercet compare` claims, on fresh data each time: false alarms, coverage, and the score after a choice.

The methods are real and tiny. Method k sees column k alone and cuts it in the middle between the classes' means (or
draws a line through it), so that all are equal by symmetry, and a thousand cross-validations take seconds.
"""

import numpy as np
import pytest

from tercet.cli.compare.comparison import Design, compare_with, score_interval
from tercet.cli.compare.expected_score import expected_score
from tercet.cli.measures import MEASURES

CV = 5
GROUP = 5  # rows of a group


@pytest.fixture(autouse=True)
def fewer_bootstrap_samples(monkeypatch):
    monkeypatch.setattr("tercet.cli.compare.expected_score.MOST", 200)


def classification(rng, n, methods):
    """Contributions of the rows to the accuracy of each method: (n, methods), and the folds."""
    y, fold = rng.integers(0, 2, n), rng.permutation(np.arange(n) % CV)
    x = y[:, None] + 0.6 * rng.normal(size=(n, 1)) + 0.8 * rng.normal(size=(n, methods))

    def fit_and_score(train, test):
        high, low = x[train & (y == 1)].mean(axis=0), x[train & (y == 0)].mean(axis=0)
        return (((x[test] - (high + low) / 2) * (high - low) > 0) == (y[test] == 1)[:, None]).astype(float)

    return fold, fit_and_score


def unstable(rng, n, methods):
    """As `classification`, but each method learns from six rows of its own choice."""
    y, fold = rng.integers(0, 2, n), rng.permutation(np.arange(n) % CV)
    x = y[:, None] + 0.6 * rng.normal(size=(n, 1)) + 0.8 * rng.normal(size=(n, methods))

    def fit_and_score(train, test):
        few = np.argsort(rng.random((methods, train.sum())), axis=1)[:, :6]
        seen, labels = x[train][few, np.arange(methods)[:, None]], y[train][few]
        high, low = (
            np.sum(seen * (labels == c), axis=1) / np.maximum(np.sum(labels == c, axis=1), 1) for c in (1, 0)
        )
        return (((x[test] - (high + low) / 2) * (high - low) > 0) == (y[test] == 1)[:, None]).astype(float)

    return fold, fit_and_score


def regression(rng, n, methods):
    """The same for the absolute error of a line through one column."""
    x = rng.normal(size=(n, methods))
    y, fold = x.sum(axis=1) / np.sqrt(methods) + rng.normal(size=n), rng.permutation(np.arange(n) % CV)

    def fit_and_score(train, test):
        centred = x[train] - x[train].mean(axis=0)
        slope = centred.T @ y[train] / (centred**2).sum(axis=0)
        return np.abs(y[train].mean() + slope * (x[test] - x[train].mean(axis=0)) - y[test][:, None])

    return fold, fit_and_score


def grouped(rng, n, methods):
    """As `classification`, but five rows at a time are of one group: one class, one fold, and nearly one value of
    each column."""
    groups, size = n // GROUP, GROUP
    y, fold = rng.permutation(np.arange(groups) % 2), rng.permutation(np.arange(groups) % CV)
    x = y[:, None] + 0.6 * rng.normal(size=(groups, 1)) + 0.8 * rng.normal(size=(groups, methods))
    x = np.repeat(x, size, axis=0) + 0.1 * rng.normal(size=(n, methods))
    y = np.repeat(y, size)

    def fit_and_score(train, test):
        train, test = np.repeat(train, size), np.repeat(test, size)
        high, low = x[train & (y == 1)].mean(axis=0), x[train & (y == 0)].mean(axis=0)
        right = ((x[test] - (high + low) / 2) * (high - low) > 0) == (y[test] == 1)[:, None]
        return right.reshape(-1, size, methods).mean(axis=1)  # of a group

    return fold, fit_and_score


def cross_validate(make, rng, n, methods, rounds=1):
    """Scores on the splits (splits, methods), and contributions of the rows, or groups, (n, methods): mean, and
    first round."""
    fold, fit_and_score = make(rng, n, methods)
    scores, rows = [], np.zeros((rounds, fold.size, methods))
    for r in range(rounds):
        fold = rng.permutation(fold)
        for k in range(CV):
            test = fold == k
            rows[r, test] = fit_and_score(~test, test)
            scores.append(rows[r, test].mean(axis=0))
    return np.array(scores), rows.mean(axis=0), rows[0]


TASKS = [(classification, "accuracy"), (regression, "mae")]
EVERY_TASK = [*TASKS, (unstable, "accuracy"), (grouped, "accuracy")]


def design_of(make, n, rounds):
    counts = np.full(n // GROUP, float(GROUP)) if make is grouped else np.ones(n)
    return Design(CV, rounds, n, "classification", counts=counts)


def best_of(scores, measure):
    means = scores.mean(axis=0)
    return int(np.argmax(means) if measure.greater_is_better else np.argmin(means))


@pytest.mark.parametrize(("make", "metric"), EVERY_TASK)
@pytest.mark.parametrize(("n", "methods", "rounds"), [(100, 2, 1), (100, 20, 1), (200, 20, 3)])
def test_equal_methods_are_seldom_called_worse(make, metric, n, methods, rounds):
    """Counting a comparison as false when any of the methods is called worse than the one chosen as best, or better
    than an equal one that was named beforehand. The interval of the difference of two of them has the zero."""
    rng, measure, times = np.random.default_rng(n + methods + rounds), MEASURES[metric], 250
    design = design_of(make, n, rounds)
    worse = named = covered = 0
    for _ in range(times):
        scores, _, rows = cross_validate(make, rng, n, methods, rounds)
        evidence = {k: (scores[:, k], rows[:, k]) for k in range(methods)}
        margin = measure.margin(float(scores.mean()))
        best = best_of(scores, measure)
        others = {k: v for k, v in evidence.items() if k != best}
        worse += any(
            c.outcome == "worse"
            for c in compare_with(others, evidence[best], measure, margin, design).values()
        )
        rest = {k: v for k, v in evidence.items() if k != 0}
        found = compare_with(rest, evidence[0], measure, margin, design)
        named += any(c.outcome == "better" for c in found.values())
        covered += found[1].low <= 0 <= found[1].high
    assert worse <= 0.07 * times
    assert named <= 0.07 * times
    assert covered >= 0.9 * times


@pytest.mark.parametrize(("make", "metric"), EVERY_TASK)
@pytest.mark.parametrize(("methods", "rounds"), [(1, 1), (20, 1), (20, 3)])
def test_intervals_cover_the_expected_score(make, metric, methods, rounds):
    """Of a method named beforehand, and of the best of twenty equal ones after the correction for the choice."""
    rng, measure, n, times = np.random.default_rng(methods + rounds), MEASURES[metric], 100, 200
    design = design_of(make, n, rounds)
    truth = np.mean([cross_validate(make, rng, n, methods)[0].mean() for _ in range(200)])
    plain = chosen = 0
    for k in range(times):
        scores, rows, first = cross_validate(make, rng, n, methods, rounds)
        low, high = score_interval(scores[:, 0], first[:, 0], measure, design)
        plain += low <= truth <= high
        found = expected_score(
            {str(k): float(v) for k, v in enumerate(scores.mean(axis=0))},
            {str(k): rows[:, k] for k in range(methods)},
            measure,
            design,
            seed=k,
            intervals={
                str(k): score_interval(scores[:, k], first[:, k], measure, design) for k in range(methods)
            },
        )
        chosen += found["low"] <= truth <= found["high"]
    assert plain >= 0.9 * times
    assert chosen >= 0.9 * times


@pytest.mark.parametrize(("make", "metric"), TASKS)
def test_the_winners_score_is_corrected_for_the_choice(make, metric):
    """On average over data sets, the corrected score is nearer to the truth than the best score."""
    rng, measure, n, methods = np.random.default_rng(8), MEASURES[metric], 100, 20
    design = Design(CV, 1, n, "classification", counts=np.ones(n))
    truth, raw, corrected = [], [], []
    for k in range(60):
        scores, rows, _ = cross_validate(make, rng, n, methods)
        means = {str(k): float(v) for k, v in enumerate(scores.mean(axis=0))}
        found = expected_score(means, {str(k): rows[:, k] for k in range(methods)}, measure, design, seed=k)
        truth.append(scores.mean())
        raw.append(means[found["name"]])
        corrected.append(found["score"])
        assert found["candidates"] == methods
        assert sum(found["chosen"].values()) == pytest.approx(1.0)
    assert abs(np.mean(corrected) - np.mean(truth)) < 0.6 * abs(np.mean(raw) - np.mean(truth))


def test_a_clear_difference_is_found_and_a_twin_is_equivalent():
    """The test is not merely silent."""
    rng, measure, n = np.random.default_rng(3), MEASURES["accuracy"], 1500
    design = Design(CV, 2, n, "classification", counts=np.ones(n))
    found = []
    for _ in range(20):
        rows = cross_validate(classification, rng, n, 1)[1]
        spoiled = np.where(rng.random(n) < 0.3, 0.5, rows[:, 0])  # of three answers one by lot
        twin = np.where(rng.random(n) < 0.01, 0.5, rows[:, 0])
        fold = np.arange(n) % CV
        parts = {"spoiled": spoiled, "twin": twin, "itself": rows[:, 0]}
        table = {k: (np.tile([v[fold == f].mean() for f in range(CV)], 2), v) for k, v in parts.items()}
        others = {k: v for k, v in table.items() if k != "itself"}
        answer = compare_with(others, table["itself"], measure, 0.01, design)
        found.append((answer["spoiled"].outcome, answer["twin"].outcome))
    assert np.mean([pair == ("worse", "equivalent") for pair in found]) > 0.8
