"""What `tercet compare` claims, on fresh data each time: false alarms, coverage, and the score after a choice.

`python -m tests.cli.simulated_claims` counts on more tables, of any size.
"""

import numpy as np
import pytest

from tercet.cli.compare.comparison import Design, compare_with
from tercet.cli.compare.expected_score import expected_score
from tercet.cli.contributions import roc_auc
from tercet.cli.measures import MEASURES

from .simulated_claims import CV, SCENARIOS, placements


@pytest.fixture(autouse=True)
def fewer_bootstrap_samples(monkeypatch):
    monkeypatch.setattr("tercet.cli.compare.expected_score.MOST", 200)


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize(
    ("units", "methods", "rounds"), [(20, 20, 1), (60, 20, 3), (100, 2, 10), (120, 20, 10)]
)
def test_equal_methods_are_seldom_called_worse(scenario, units, methods, rounds):
    rng = np.random.default_rng(units + methods + rounds)
    shares = SCENARIOS[scenario].false_alarms(rng, units, methods, rounds, times=100)
    assert shares["worse"] <= 0.07
    assert shares["better"] <= 0.07
    assert shares["difference"] >= 0.9


def test_placements_are_what_the_command_computes():
    rng = np.random.default_rng(0)
    y, scores = (np.arange(20) % 4 == 0).astype(int), rng.normal(size=(20, 3))
    for k, column in enumerate(placements(y, scores).T):
        both = np.stack([-scores[:, k], scores[:, k]], axis=1)
        np.testing.assert_allclose(column, roc_auc(y, both, 2))


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize(("units", "methods", "rounds"), [(100, 1, 1), (40, 20, 1), (100, 20, 10)])
def test_intervals_cover_the_expected_score(scenario, units, methods, rounds):
    """Of a method named beforehand, and of the best of twenty equal ones after the correction for the choice."""
    rng = np.random.default_rng(units + methods + rounds)
    shares = SCENARIOS[scenario].coverage(rng, units, methods, rounds, times=150)
    assert shares["plain"] >= 0.9
    assert shares["chosen"] >= 0.9


@pytest.mark.parametrize("scenario", ["classification", "regression"])
def test_the_winners_score_is_corrected_for_the_choice(scenario):
    """On average over data sets, the corrected score is nearer to the truth than the best score."""
    rng, made, n, methods = np.random.default_rng(8), SCENARIOS[scenario], 100, 20
    truth, raw, corrected = [], [], []
    for k in range(60):
        scores, rows, _ = made.cross_validate(rng, n, methods)
        means = {str(k): float(v) for k, v in enumerate(scores.mean(axis=0))}
        parts = {str(k): rows[:, k] for k in range(methods)}
        found = expected_score(means, parts, made.measure, made.design(n, 1), seed=k)
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
        rows = SCENARIOS["classification"].cross_validate(rng, n, 1)[1]
        spoiled = np.where(rng.random(n) < 0.3, 0.5, rows[:, 0])  # of three answers one by lot
        twin = np.where(rng.random(n) < 0.01, 0.5, rows[:, 0])
        fold = np.arange(n) % CV
        parts = {"spoiled": spoiled, "twin": twin, "itself": rows[:, 0]}
        table = {k: (np.tile([v[fold == f].mean() for f in range(CV)], 2), v) for k, v in parts.items()}
        others = {k: v for k, v in table.items() if k != "itself"}
        answer = compare_with(others, table["itself"], measure, 0.01, design)
        found.append((answer["spoiled"].outcome, answer["twin"].outcome))
    assert np.mean([pair == ("worse", "equivalent") for pair in found]) > 0.8
