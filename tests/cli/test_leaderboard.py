"""The leaderboard: order, intervals, and the three outcomes against the best."""

import numpy as np
import pytest

from tercet.cli import translation
from tercet.cli.compare.baseline import BASELINE
from tercet.cli.compare.comparison import Design, compare_with, rows_to_decide, score_interval
from tercet.cli.compare.leaderboard import Leaderboard
from tercet.cli.compare.method_progress import MethodProgress
from tercet.cli.measures import MEASURES
from tercet.cli.report.number_format import score_texts
from tercet.cli.report.phrases import places, verdict_text
from tercet.model_selection import bayesian_correlated_test, corrected_interval


def finished_method(name, scores, cv=5, metric="accuracy", rows=None):
    """A method with its scores, and its rows' contributions, if given, of shape (repeats, rows), folds in turn."""
    one = MethodProgress(name, tried=True, cost=0.1)
    for k, score in enumerate(scores):
        repeat, fold = divmod(k, cv)
        parts = None
        if rows is not None:
            units = np.arange(fold, rows.shape[1], cv)
            parts = units, rows[repeat, units], np.ones(units.size)
        one.results[repeat, fold] = {
            "measures": {metric: score, "macro_f1": score / 2},
            "parts": parts,
            "fit_time": 0.1,
            "predict_time": None,
            "busy": (0, 0),
            "warnings": [],
        }
    return one


def from_hits(name, hits, cv=5):
    """A method whose answers were right or wrong on the rows."""
    scores = [repeat[fold::cv].mean() for repeat in hits for fold in range(cv)]
    return finished_method(name, scores, cv, rows=hits)


def board(methods, metric="accuracy", rounds=1, rows=100, margin=None, **more):
    design = Design(5, rounds, rows, "regression" if metric == "r2" else "classification", **more)
    return Leaderboard(methods, {}, MEASURES[metric], design, margin)


def outcomes(found):
    return {entry["name"]: entry["outcome"] for entry in found.entries}


def test_leaderboard_is_sorted_tested_and_judged():
    rng = np.random.default_rng(0)
    base = rng.uniform(0.7, 0.8, 10)
    found = board(
        [
            finished_method("Perceptron", base - 0.2 + rng.normal(0, 0.003, 10)),
            finished_method("LogisticRegression", base),
            finished_method(BASELINE, np.full(10, 0.5)),
            finished_method("MaxEnt", base - 0.001 + rng.normal(0, 0.01, 10)),
            finished_method("Ridge", base - 0.0001),
        ],
        rounds=2,
    )
    entries = found.entries
    assert [e["name"] for e in entries] == ["LogisticRegression", "Ridge", "MaxEnt", "Perceptron", BASELINE]
    assert [e["outcome"] for e in entries] == ["best", "equivalent", "undecided", "worse", "worse"]
    assert [e["tied"] for e in entries] == [True, True, True, False, False]
    assert {e["against_baseline"]["outcome"] for e in entries if not e["baseline"]} == {"better"}
    test = bayesian_correlated_test(entries[3]["scores"], base, n_train=80, n_test=20, rope=0.01)
    against = entries[3]["against_best"]
    assert (against["worse"], against["low"], against["high"]) == pytest.approx(
        (test.worse, test.low, test.high)
    )
    assert entries[0]["others"] == {"macro_f1": pytest.approx(base.mean() / 2)}
    assert found.margin == 0.01


def test_less_is_better_for_losses_and_failures_stand_last():
    a, b = (finished_method(name, [k] * 5, metric="rmse") for name, k in (("A", 1.0), ("B", 2.0)))
    broken = finished_method("C", [0.5, np.nan, 0.5, 0.5, 0.5], metric="rmse")
    found = board([b, broken, a], "rmse")
    assert [entry["name"] for entry in found.entries] == ["A", "B", "C"]
    assert outcomes(found) == {"A": "best", "B": "worse", "C": None}


def test_only_common_splits_count():
    """Rounds that not all have, and splits on which the measure has no value for anybody."""
    long = finished_method("A", [0.9, 0.8, 0.9, 0.8, 0.9, *[0.8] * 5, 0.0])
    short = finished_method("B", [0.7, 0.6, 0.7, 0.7, 0.6])
    found = board([long, short], rounds=2)
    assert [entry["score"] for entry in found.entries] == pytest.approx([0.83, 0.66])
    assert [entry["rounds"] for entry in found.entries] == [2, 1]
    assert found.entries[1]["difference"] == pytest.approx(-0.2)  # on the first round
    lacking = [np.nan, 0.9, 0.8, 0.9, np.nan]
    found = board([finished_method("A", lacking), finished_method("B", np.array(lacking) - 0.3)])
    assert [entry["score"] for entry in found.entries] == pytest.approx([2.6 / 3, 2.6 / 3 - 0.3])
    assert len(found.entries[0]["scores"]) == 3


@pytest.mark.parametrize("margin", [None, 0.0])
def test_equal_predictions_are_equivalent(margin):
    """Also where sums in another order differ in the last bit."""
    hits = (np.random.default_rng(1).random((1, 100)) < 0.8).astype(float)
    twin = from_hits("B", hits)
    for result in twin.results.values():
        result["measures"]["accuracy"] -= 1e-16
    found = board([from_hits("A", hits), twin], margin=margin, counts=np.ones(100))
    assert outcomes(found) == {"A": "best", "B": "equivalent"}


def test_a_few_splits_that_agree_by_chance_decide_nothing():
    """One row more right on every fold of 30: five rows of 150, which a coin may do."""
    hits = np.ones((1, 150))
    hits[0, :40] = 0
    fewer = hits.copy()
    fewer[0, 100:105] = 0  # one in each fold
    found = board([from_hits("A", hits), from_hits("B", fewer)], rows=150, counts=np.ones(150))
    scores = np.array(found.entries[0]["scores"]) - found.entries[1]["scores"]
    assert scores == pytest.approx(np.full(5, 1 / 30))
    assert outcomes(found) == {"A": "best", "B": "undecided"}
    need = found.entries[1]["against_best"]["rows"]
    assert need > 150
    many = np.tile(hits, (1, 10 * need // 150)), np.tile(fewer, (1, 10 * need // 150))
    n = many[0].shape[1]
    found = board([from_hits("A", many[0]), from_hits("B", many[1])], rows=n, counts=np.ones(n))
    assert outcomes(found) == {"A": "best", "B": "worse"}


def test_far_above_the_baseline_after_one_round_is_better():
    found = board(
        [
            finished_method("Ridge", [0.55, 0.66, 0.58, 0.62, 0.59], metric="r2"),
            finished_method(BASELINE, [-0.1, -0.3, -0.15, -0.25, -0.2], metric="r2"),
            *(finished_method(f"M{k}", [0.3, 0.5, 0.2, 0.4, 0.3], metric="r2") for k in range(20)),
        ],
        "r2",
    )
    assert found.entries[0]["against_baseline"]["outcome"] == "better"
    assert found.entries[-1]["baseline"]
    assert found.entries[-1]["outcome"] == "worse"
    assert found.margin == pytest.approx(0.012)  # a hundredth of 1 - (-0.2)


def test_no_verdicts_forward_in_time():
    found = board(
        [finished_method("A", [0.9, 0.8, 0.9, 0.8, 0.9]), finished_method(BASELINE, [0.5] * 5)],
        sizes=[(20 * k, 20) for k in range(1, 6)],
        forward=True,
    )
    assert [entry["outcome"] for entry in found.entries] == ["best", None]
    assert found.entries[0]["against_baseline"]["outcome"] is None
    assert found.entries[0]["against_baseline"]["difference"] == pytest.approx(0.36)
    # Tests on a fifth of the rows that were learned from, up to as many.
    narrow = corrected_interval([0.9, 0.8, 0.9, 0.8, 0.9], n_train=80, n_test=20)
    assert found.entries[0]["low"] < narrow[0]


@pytest.mark.parametrize("scores", [[0.99, 1.0, 0.97, 1.0, 1.0], [0.03, 0.0, 0.01, 0.0, 0.0], [1.0] * 5])
def test_intervals_stay_inside_the_range(scores):
    design = Design(5, 1, 150, "classification")
    low, high = score_interval(np.array(scores), None, MEASURES["accuracy"], design)
    assert 0 <= low <= np.mean(scores) <= high <= 1
    assert high - low > 0.01  # no error on 150 rows is no proof that there is none
    assert score_interval(np.array(scores), None, MEASURES["r2"], design)[1] <= 1
    assert score_interval(np.array(scores) / 9, None, MEASURES["log_loss"], design)[0] >= 0


def test_rows_to_decide_are_enough():
    """As many rows make the standard error as small as the verdict needs."""
    rng = np.random.default_rng(5)
    scores = {"B": (rng.normal(0.80, 0.03, 50), None)}
    best = (scores["B"][0] + 0.016 + rng.normal(0, 0.02, 50), None)
    design = Design(5, 10, 200, "classification")
    found = compare_with(scores, best, MEASURES["accuracy"], 0.01, design)["B"]
    assert found.outcome == "undecided"
    assert found.rows > 200
    shrink = np.sqrt(200 / found.rows)
    calmer = {
        "B": (
            best[0] - 0.0 + ((scores["B"][0] - best[0]) - found.difference) * shrink + found.difference,
            None,
        )
    }
    assert compare_with(calmer, best, MEASURES["accuracy"], 0.01, design)["B"].outcome == "worse"
    test = bayesian_correlated_test(*np.random.default_rng(0).normal(0.8, 0.01, (2, 10)), n_train=4, n_test=1)
    assert rows_to_decide(test, abs(test.difference), 100) is None  # just at the margin


def result_of(found, title="accuracy"):
    return {"metric_title": title, "leaderboard": found.entries, "margin": found.margin}


def test_a_headline_has_the_digits_of_its_own_interval():
    """A failed method's 1e13 must not round 0.92 to 1."""
    found = board(
        [
            finished_method("Ridge", [0.91, 0.93, 0.92, 0.925, 0.915], metric="r2"),
            finished_method("Perceptron", [-1e13, -2e13, 0.5, 0.4, 0.3], metric="r2"),
            finished_method(BASELINE, [-0.01, -0.02, -0.01, -0.03, -0.01], metric="r2"),
        ],
        "r2",
    )
    translation.set_language("en")
    text = verdict_text(result_of(found, "R²"))
    assert text.startswith("Ridge is best with R² 0.920 ± 0.008; every other method is worse; ")
    assert text.endswith("; better than the baseline, which has −0.016.")
    assert places(result_of(found)) == 3


def test_no_score_is_rounded_to_perfection():
    assert score_texts(0.99996, 0.9990, 1.0) == ("0.99996", "0.99900", "1.00000")
    assert score_texts(1.0, 0.97, 1.0)[0] == "1.000"
    assert score_texts(0.0004, 0.0, 0.2)[0] == "0.0004"


@pytest.mark.parametrize(
    ("language", "words"),
    [
        (
            "en",
            [
                "equivalent within 0.01: B",
                "cannot tell yet whether worse: C",
                "cannot tell yet whether better",
            ],
        ),
        ("zh", ["在 0.01 以内等价的：", "尚不能断定是否更差的：", "尚不能断定是否好过基线"]),
    ],
)
def test_the_verdict_says_the_three_outcomes_in_both_languages(language, words):
    rng = np.random.default_rng(2)
    a = rng.uniform(0.6, 0.8, 5)
    found = board(
        [
            finished_method("A", a),
            finished_method("B", a - 0.0001),
            finished_method("C", a - 0.02 + rng.normal(0, 0.03, 5)),
            finished_method(BASELINE, a - 0.05 + rng.normal(0, 0.04, 5)),
        ]
    )
    translation.set_language(language)
    text = verdict_text(result_of(found))
    translation.set_language("en")
    for word in words:
        assert word in text
