"""Where a method errs, and thresholds by cost."""

import numpy as np
import pytest

from tercet.cli.compare.cost_thresholds import cost_thresholds
from tercet.cli.compare.error_segments import confidence_of_errors, error_segments, row_errors, worst_rows
from tercet.cli.scorers import rarer_class
from tercet.feature import Records


def records(n: int = 600, seed: int = 0) -> Records:
    rng = np.random.default_rng(seed)
    numbers = np.stack([rng.normal(size=n), rng.integers(0, 3, n)], axis=1).astype(float)
    numbers[rng.random(n) < 0.2, 0] = np.nan
    codes = rng.integers(-1, 3, (n, 1)).astype(np.int32)
    return Records(
        ("age", "ward", "level"),
        ("number", "category", "number"),
        numbers,
        codes,
        (("north", "east", "south"),),
    )


def test_segments_with_more_errors_are_found():
    rows, rng = records(), np.random.default_rng(1)
    base = (rng.random(600) < 0.1).astype(float)
    for name, segment, inside in (
        ("ward", "east", rows.column("ward") == 1),
        ("ward", None, rows.column("ward") == -1),
        ("age", None, np.isnan(rows.column("age"))),
        ("level", (2.0, 2.0), rows.column("level") == 2),
    ):
        errors = np.where(inside, (rng.random(600) < 0.5).astype(float), base)
        first = error_segments(rows, errors)[0]
        assert (first["column"], first["segment"], first["rows"]) == (name, segment, int(inside.sum()))
        assert first["error"] == pytest.approx(errors[inside].mean())
        assert first["others"] == pytest.approx(errors[~inside].mean())
    old = np.nan_to_num(rows.column("age"), nan=-9.0) > 0.7
    first = error_segments(rows, np.where(old, 3.0, 1.0) + 0.1 * rng.normal(size=600))[0]
    assert first["column"] == "age"
    assert first["segment"][1] == pytest.approx(np.nanmax(rows.column("age")))


def test_chance_makes_no_segment():
    found = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        found += bool(error_segments(records(seed=seed), (rng.random(600) < 0.15).astype(float)))
    assert found <= 5  # one in a hundred is the level
    assert error_segments(records(), np.zeros(600)) == []
    assert error_segments(records(n=10), np.arange(10.0)) == []


def test_worst_rows_are_the_most_confident_errors():
    rows = records(n=6)
    truth, predicted = np.array([0, 1, 1, 0, 2, 2]), np.array([0, 1, 0, 1, 2, 0])
    proba = np.full((6, 3), 0.1)
    proba[np.arange(6), predicted] = [0.8, 0.9, 0.6, 0.95, 0.9, 0.7]
    worst = worst_rows(rows, np.arange(6) + 11, "classification", truth, predicted, proba, ["ward", "age"])
    assert [(one["row"], one["truth"], one["predicted"]) for one in worst] == [
        (14, 0, 1),
        (16, 2, 0),
        (13, 1, 0),
    ]
    assert worst[0]["sure"] == pytest.approx(0.95)
    assert set(worst[0]["values"]) == {"ward", "age"}
    assert worst[0]["values"]["ward"] in (None, "north", "east", "south")
    assert confidence_of_errors(truth, predicted, proba) == {
        "rows": 6,
        "wrong": 3,
        "sure": 3,
        "sure_wrong": 1,
    }
    assert confidence_of_errors(truth, predicted, None) is None
    numbers = worst_rows(
        rows, np.arange(6), "regression", truth * 1.0, np.array([0, 1, 1, 5, 2, 2.5]), None, []
    )
    assert [one["row"] for one in numbers] == [3, 5]
    assert row_errors("regression", truth * 1.0, predicted * 1.0).tolist() == [0, 0, 1, 1, 0, 2]


@pytest.mark.parametrize("seed", range(20))
def test_thresholds_have_the_least_cost_of_all(seed):
    rng = np.random.default_rng(seed)
    truth = rng.random(80) < 0.3
    score = np.round(np.clip(rng.normal(0.3 + 0.3 * truth, 0.2), 0, 1), 1)  # many are equal
    for one in cost_thresholds(truth, score):

        def cost(threshold, ratio=one["ratio"]):
            said = score >= threshold
            return ratio * np.sum(truth & ~said) + np.sum(said & ~truth)

        assert one["cost"] == pytest.approx(min(cost(t) for t in np.linspace(-0.05, 1.06, 112)))
        assert one["cost"] == pytest.approx(cost(one["threshold"]))
        assert one["missed"] == np.sum(truth & (score < one["threshold"]))
        assert one["false_alarms"] == np.sum(~truth & (score >= one["threshold"]))
        assert one["found"] + one["missed"] == truth.sum()
        assert one["cost"] <= min(one["never"], one["always"])


def test_the_rarer_class_is_the_one_to_be_found():
    assert rarer_class(np.array([0, 0, 1])) == 1
    assert rarer_class(np.array([0, 1, 1])) == 0
    assert rarer_class(np.array([0, 1])) == 1
