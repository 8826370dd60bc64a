"""The combination of strong methods: its candidates, its weights, and the model that is fitted on all rows."""

import json
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from tercet.cli.compare.combination import (
    ADDED,
    CANDIDATES,
    FIRST,
    MOST_MEMBERS,
    greedy_weights,
    members_on_all_rows,
)
from tercet.cli.compare.method_order import leaders
from tercet.cli.compare.recommendation import method_and_settings, python_lines
from tercet.cli.compare.worker_tasks import WorkerTasks
from tercet.cli.parameter_values import build, find_method
from tercet.cli.pipelines import assemble, training_rows
from tercet.core.catalog import methods
from tercet.datasets import read_table
from tercet.feature import infer_schema
from tests.cli.running import tercet


@pytest.mark.parametrize("task", sorted(CANDIDATES))
def test_candidates_are_methods_with_valid_settings_and_probabilities(task):
    cards = {card.name: card for card in methods(task=task) if card.kind == "estimator"}
    seen = []
    for name, settings in CANDIDATES[task]:
        model = cards[name].load()(**settings)
        assert {key: model.get_params()[key] for key in settings} == settings
        assert task == "regression" or hasattr(model, "predict_proba") or "calibration" in settings
        seen.append(json.dumps([name, settings], sort_keys=True))
    assert len(seen) == len({*seen})
    # A short budget has the strongest of some families first.
    first = [card.name for card in leaders(list(cards.values()))]
    assert CANDIDATES[task][0][0] == first[0]
    assert CANDIDATES[task][1][0] == first[1]


@pytest.mark.parametrize("seed", range(10))
def test_greedy_weights_are_no_worse_than_the_best_alone(seed):
    rng = np.random.default_rng(seed)
    y = rng.normal(size=40)
    parts = [y + size * rng.normal(size=40) for size in rng.uniform(0.5, 2.0, size=8)]

    def score(mean):
        return -float(np.mean((mean - y) ** 2))

    weights = greedy_weights([*parts, None], score)
    assert weights.sum() == pytest.approx(1.0)
    assert (weights >= 0).all()
    assert weights[-1] == 0
    assert score(np.average(parts, axis=0, weights=weights[:-1])) >= max(map(score, parts))
    assert 1 / weights[weights > 0].min() <= FIRST + ADDED + 1e-9


def test_errors_that_differ_are_averaged():
    rng = np.random.default_rng(0)
    y = rng.normal(size=200)
    parts = [y + rng.normal(size=200) for _ in range(6)]
    weights = greedy_weights(parts, lambda mean: -float(np.mean((mean - y) ** 2)))
    assert np.count_nonzero(weights) == 6
    assert weights.max() < 0.35


def test_a_bad_candidate_gets_no_weight():
    y = np.linspace(0, 1, 20)
    weights = greedy_weights([y, y + 100.0, None], lambda mean: -float(np.abs(mean - y).sum()))
    assert weights.tolist() == [1.0, 0.0, 0.0]
    assert not greedy_weights([None, None], lambda mean: 0.0).any()
    assert not greedy_weights([y], lambda mean: float("-inf")).any()


def test_few_members_on_all_rows():
    many = members_on_all_rows(np.full((5, 20), 0.05))
    assert len(many) == MOST_MEMBERS
    assert sum(many.values()) == pytest.approx(1.0, abs=0.01)
    assert members_on_all_rows(np.full((5, 50), 0.02)) == {0: 1.0}


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """Columns that members see differently: trees take categories and gaps as they are, lines do not."""
    folder = tmp_path_factory.mktemp("mixed")
    rng = np.random.default_rng(1)
    n = 120
    kind, x = rng.choice(list("abcd"), n), rng.normal(size=n)
    size = x + (kind == "a") + 0.3 * rng.normal(size=n)
    table = pl.DataFrame({"kind": kind, "x": np.where(rng.random(n) < 0.1, np.nan, x), "size": size.round(3)})
    table = table.with_columns(
        pl.col("x").fill_nan(None), label=pl.Series(np.where(size > 0.2, "big", "small"))
    )
    table.write_csv(folder / "mixed.csv")
    return folder


SETTINGS = {
    "classification": ("VotingClassifier", "DecisionTreeClassifier", "LogisticRegression", ["voting=soft"]),
    "regression": ("VotingRegressor", "DecisionTreeRegressor", "Ridge", []),
}


@pytest.mark.parametrize("task", sorted(SETTINGS))
def test_the_model_on_all_rows_is_the_mean_that_was_scored(mixed, task, monkeypatch):
    """By the command, by the Python lines and by hand: each member with its own preprocessing."""
    monkeypatch.chdir(mixed)
    kind, tree, line, _ = SETTINGS[task]
    target, other = ("label", "size") if task == "classification" else ("size", "label")
    members = [
        {"name": tree, "settings": {"max_depth": 3}, "weight": 0.75},
        {"name": line, "settings": {}, "weight": 0.25},
    ]
    entry = {"name": "combination", "combination": True, "baseline": False, "score": 1.0, "members": members}
    result = {"task": task, "leaderboard": [entry], "data": {"target": {"name": target}}}
    name, settings = method_and_settings(entry, result)
    assert name == kind
    table = read_table("mixed.csv")
    schema = infer_schema(table, target, task, {}, (other,))
    records, y = training_rows(schema, table)
    answer = "predict_proba" if task == "classification" else "predict"
    parts = []
    for member in members:
        estimator = build(find_method(member["name"]), [f"{k}={v}" for k, v in member["settings"].items()], 0)
        parts.append(getattr(assemble(schema, estimator).fit(records, y), answer)(records))
    mean = np.average(parts, axis=0, weights=[0.75, 0.25])

    told = [word for setting in settings for word in ("--set", setting)]
    options = ["--target", target, "--drop", other, *told, "--output", f"{task}.skops"]
    fitted = tercet("fit", name, "mixed.csv", *options, cwd=mixed)
    assert fitted.returncode == 0, fitted.stderr
    predicted = tercet("predict", f"{task}.skops", "mixed.csv", "-o", f"{task}.csv", *(
        ["--proba"] if task == "classification" else []
    ), cwd=mixed)  # fmt: skip
    assert predicted.returncode == 0, predicted.stderr
    found = pl.read_csv(mixed / f"{task}.csv")
    columns = found.select(pl.col(pl.Float64)).to_numpy()
    np.testing.assert_allclose(
        columns[:, -2:] if task == "classification" else columns[:, -1], mean, atol=1e-9
    )

    data = {"records": records, "y": schema.to_target(table)[0], "schema": schema, "task": task, "cv": 3}
    work = WorkerTasks(**data, metric="accuracy" if task == "classification" else "r2", seed=0)
    request = SimpleNamespace(data="mixed.csv", kinds={}, drop=(other,), rows=None, seed=0)
    there: dict = {}
    exec(python_lines(work.recipe(name, settings), result, request), there)
    np.testing.assert_allclose(getattr(there["model"], answer)(there["rows"]), mean, atol=1e-9)
