"""Alerts and the recommendation of `tercet compare`, run as a user runs it."""

import json
import time
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from tercet.cli.compare import _report, recommendation
from tercet.cli.compare.recommendation import (
    fit_command,
    is_equivalent,
    method_and_settings,
    simplest_equivalent,
    winner,
)
from tercet.cli.compare.table_alerts import find_table_alerts
from tercet.cli.compare.worker_pool import TaskResult
from tercet.io import load_model
from tests.cli.pages import check_static
from tests.cli.running import ENDLESS
from tests.cli.running import tercet as tercet_command

METHODS = "LogisticRegression,RandomForestClassifier,RidgeClassifier"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table with a leak, an identifier, an imbalance and copies; and the same as numbers."""
    folder = tmp_path_factory.mktemp("advice")
    rng = np.random.default_rng(0)
    n = 250
    age, smoker = rng.integers(18, 90, n), rng.choice(["never", "former", "current"], n)
    weight = rng.normal(75, 12, n).round(1)
    died = 0.06 * (age - 55) + (smoker == "current") + 0.05 * (weight - 75) + rng.normal(size=n) > 3.3
    table = pl.DataFrame(
        {
            "ID": rng.integers(10**4, 10**5, n),
            "age": age,
            "body weight": weight,
            "smoker": smoker,
            "year of death": np.where(died, rng.integers(1983, 1993, n), np.nan),
            "outcome": np.where(died, "died", "alive"),
        }
    ).with_columns(pl.col("year of death").fill_nan(None))
    table = pl.concat([table, table[:30]])
    table.write_csv(folder / "patients.csv")
    table.drop("year of death", "ID").unique(maintain_order=True).write_csv(folder / "clean.csv")
    numbers = pl.DataFrame(
        {"casual": rng.poisson(20, n), "registered": rng.poisson(90, n), "heat": rng.normal(size=n)}
    )
    numbers.with_columns(count=pl.col("casual") + pl.col("registered")).write_csv(folder / "bikes.csv")
    return folder


def compare(*arguments, cwd):
    answer = tercet_command("compare", *arguments, "--budget", ENDLESS, cwd=cwd)
    assert answer.returncode == 0, answer.stderr
    return answer


@pytest.fixture(scope="module")
def patients(folder):
    options = ["--target", "outcome", "-m", METHODS, "--cv", "3", "--repeats", "1", "--lang", "en"]
    answer = compare("patients.csv", *options, "--report", "p.html", "--json", "p.json", cwd=folder)
    return answer, json.loads((folder / "p.json").read_text(encoding="utf-8"))


def test_alerts_are_on_the_terminal_in_the_report_and_in_json(patients, folder):
    answer, result = patients
    kinds = [alert["kind"] for alert in result["alerts"]]
    assert kinds[0] == "missingness"
    assert set(kinds) == {"missingness", "identifier", "imbalance", "duplicates", "rounds"}
    text = check_static((folder / "p.html").read_text(encoding="utf-8")).text
    for alert in result["alerts"]:
        assert alert["title"] in answer.stdout
        assert alert["advice"] in answer.stdout
        assert alert["evidence"] in text
        assert alert["advice"] in text
    assert "'year of death' is missing gives the target 'outcome' away. Knowing only" in answer.stderr
    assert answer.stdout.index("is best with") < answer.stdout.index("Before you trust these scores:")


def test_alerts_are_chinese_where_the_comparison_is(folder):
    options = [
        "--target",
        "count",
        "-m",
        "Ridge",
        "--cv",
        "3",
        "--repeats",
        "3",
        "--lang",
        "zh",
        "--json",
        "-",
    ]
    result = json.loads(compare("bikes.csv", *options, cwd=folder).stdout)
    (alert,) = result["alerts"]
    assert alert["kind"] == "relation"
    assert alert["title"] == "目标 'count' 可以由 casual, registered 算出"
    assert alert["columns"] == ["casual", "registered"]


def test_a_clean_table_has_no_alerts_and_details_of_its_errors(folder):
    options = ["--target", "outcome", "-m", METHODS, "--cv", "3", "--repeats", "3", "--lang", "en"]
    answer = compare(
        "clean.csv", *options, "--metric", "roc_auc", "--report", "c.html", "--json", "c.json", cwd=folder
    )
    result = json.loads((folder / "c.json").read_text(encoding="utf-8"))
    assert [alert["kind"] for alert in result["alerts"] if alert["kind"] != "imbalance"] == []
    page = check_static((folder / "c.html").read_text(encoding="utf-8")).text
    for title in (
        "ROC curve",
        "Precision and recall",
        "Calibration",
        "Partial dependence on age",
        "Threshold by cost",
    ):
        assert title in page
    errors, thresholds = result["errors"], result["thresholds"]
    assert {row["truth"] for row in errors["rows"]} <= {"alive", "died"}
    assert all(row["truth"] != row["predicted"] for row in errors["rows"])
    table = pl.read_csv(folder / "clean.csv")
    for row in errors["rows"]:  # counted from 1, below the header
        there = table.row(row["row"] - 1, named=True)
        assert there["outcome"] == row["truth"]
        assert all(there[name] == value for name, value in row["values"].items())
    assert thresholds["positive"] == 1  # died, the rarer one
    costs = [choice["cost"] / (1 + choice["ratio"]) for choice in thresholds["choices"]]
    assert min(costs) >= 0
    missed = [choice["missed"] for choice in thresholds["choices"]]
    assert missed == sorted(missed, reverse=True)  # the dearer a miss, the fewer
    assert "Take this:" in answer.stdout


@pytest.mark.parametrize("data", ["clean.csv", "iris"])
def test_the_command_and_the_python_lines_fit_the_same_model(folder, data, monkeypatch):
    target = {"clean.csv": "outcome", "iris": "species"}[data]
    options = ["--target", target, "-m", METHODS, "--cv", "3", "--repeats", "1", "--seed", "3"]
    answer = compare(data, *options, "--json", "-", cwd=folder)
    take = json.loads(answer.stdout)["take"]
    words = take["command"].split()
    assert words[:2] == ["tercet", "fit"]
    fitted = tercet_command(*words[1:], cwd=folder)
    assert fitted.returncode == 0, fitted.stderr
    monkeypatch.chdir(folder)
    there: dict = {}
    exec(take["python"], there)
    saved, _ = load_model(folder / "model.skops")
    rows = there["rows"]
    np.testing.assert_array_equal(saved.predict(rows), there["model"].predict(rows))
    assert type(saved[-1]) is type(there["model"][-1])
    assert type(saved[-1]).__name__ == take["name"]


def test_a_combination_that_wins_can_be_fitted(folder, monkeypatch):
    """As a row of the leaderboard has it: the names of its members and what they were told."""
    from tercet.cli.parameter_values import build, find_method

    members = [
        {"name": "Ridge", "settings": {"alpha": 2.0}, "weight": 0.6},
        {"name": "KernelRidge", "settings": {}, "weight": 0.2},
        {"name": "Ridge", "settings": {"alpha": 50.0}, "weight": 0.2},
    ]
    board = [
        entry("combination", 0.9, combination=True, members=members),
        entry("Ridge", 0.89, settings={"alpha": 2.0}),
        entry("KernelRidge", 0.88),
    ]
    result = {
        "task": "regression",
        "metric": "r2",
        "leaderboard": board,
        "data": {"target": {"name": "count"}},
    }
    name, settings = method_and_settings(board[0], result)
    told = ["estimators=Ridge, KernelRidge, Ridge", "ridge__alpha=2.0", "ridge2__alpha=50.0"]
    assert (name, settings) == ("VotingRegressor", [*told, "weights=[0.6, 0.2, 0.2]"])
    model = build(find_method(name), settings, seed=0)
    assert [one.alpha for _, one in model.estimators] == [2.0, 1, 50.0]
    assert model.weights == [0.6, 0.2, 0.2]
    request = SimpleNamespace(data="a b.csv", kinds={"x": "categorical"}, drop=("y z",), rows=5, seed=0)
    assert fit_command(board[0], result, request) == (
        "tercet fit VotingRegressor 'a b.csv' --target count --as x=categorical --drop 'y z' "
        "--set 'estimators=Ridge, KernelRidge, Ridge' --set ridge__alpha=2.0 --set ridge2__alpha=50.0 "
        "--set 'weights=[0.6, 0.2, 0.2]' --rows 5 --output model.skops"
    )
    board[0]["members"] = members[:1]  # one alone is no ensemble
    assert method_and_settings(board[0], result) == ("Ridge", ["alpha=2.0"])
    board[0]["members"] = None  # members unknown: the best single method is taken
    assert winner(result) is board[1]
    both = [{"name": name, "settings": {}, "weight": 0.5} for name in ("GaussianNB", "LDA")]
    classes = [entry("combination", 0.9, combination=True, members=both)]
    found = {**result, "task": "classification", "metric": "accuracy", "leaderboard": classes}
    assert method_and_settings(classes[0], found) == (
        "VotingClassifier",
        ["estimators=GaussianNB, LDA", "voting=soft"],
    )


def entry(
    name, score, *, combination=False, settings=None, outcome=None, tied=True, family="linear_model", **more
):
    about = {
        "name": name,
        "score": score,
        "combination": combination,
        "settings": settings or {},
        "baseline": False,
    }
    return {
        **about,
        "card": {"module": f"tercet.{family}"},
        "tied": tied,
        "fit_time": 1.0,
        "outcome": outcome,
        **more,
    }


def test_the_simplest_of_equals():
    forest = entry("Forest", 0.9, family="ensemble", outcome="best")
    tree = entry("Tree", 0.89, family="tree", outcome="equivalent")
    line = entry("Line", 0.88, outcome="equivalent")
    worse = entry("Bayes", 0.5, outcome="undecided")
    board = {"leaderboard": [forest, tree, line, worse]}
    assert simplest_equivalent(board) is line
    assert simplest_equivalent({"leaderboard": [forest, tree, worse]}) is tree
    assert simplest_equivalent({"leaderboard": [forest, worse]}) is None
    assert simplest_equivalent({"leaderboard": [line, forest | {"outcome": "equivalent"}]}) is None
    assert simplest_equivalent({"leaderboard": []}) is None
    assert is_equivalent(entry("A", 1.0, outcome=None, tied=True))
    assert not is_equivalent(entry("A", 1.0, outcome="undecided", tied=True))
    baseline = entry("baseline", 0.95) | {"baseline": True}
    assert winner({"leaderboard": [baseline, forest]}) is forest
    assert winner({"leaderboard": [entry("A", float("nan")), line]}) is line


def test_whoever_does_not_beat_the_baseline_is_taken_with_caution():
    request = SimpleNamespace(data="a.csv", kinds={}, drop=(), rows=None, seed=0)
    baseline = entry("baseline", 0.5) | {"baseline": True}
    about = {"task": "regression", "metric": "r2", "data": {"target": {"name": "y"}}}

    def caution(*board):
        return recommendation.recommend({**about, "leaderboard": board}, request, None)["caution"]

    better, equal, open_ = (
        entry("Line", 0.6, against_baseline={"outcome": outcome})
        for outcome in ("better", "equivalent", "undecided")
    )
    assert caution(better, baseline) is None
    assert caution(open_, baseline) is None
    assert "does as well" in caution(equal, baseline)
    assert "does as well" in caution(baseline, open_)


class LostPool:
    """Runs nothing, and says until when it would have had to."""

    def __init__(self, error="the time was up"):
        self.deadlines, self.error = [], error

    def run(self, tasks, deadline):
        self.deadlines.append(deadline)
        for task in tasks:
            yield TaskResult(task, error=self.error, lost=True)


def test_alerts_have_time_whatever_the_budget_and_are_never_silently_missing():
    pool, late = LostPool(), time.monotonic() - 5
    (alert,) = find_table_alerts(pool, {}, SimpleNamespace(), late)
    assert pool.deadlines[0] > late + 30
    assert (alert["kind"], alert["severity"]) == ("unchecked", "caution")
    assert alert["title"] == "the table was not checked for defects"
    assert "the time was up" in alert["evidence"]


def test_a_report_whose_pictures_take_too_long_is_written_without_them(capsys):
    details = SimpleNamespace(errors=None, thresholds=None)
    collector = SimpleNamespace(collect=lambda: details, pool=LostPool(), busy=[])
    assert _report(collector, {"time": {}}, [], time.monotonic(), time.monotonic()) is None
    assert "the report has no pictures: the time was up" in capsys.readouterr().err
