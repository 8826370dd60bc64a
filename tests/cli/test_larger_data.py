"""Tables larger than memory, and folders of Parquet: `fit`, `predict`, `evaluate`, and what `compare` says."""

import json
import types

import numpy as np
import polars as pl
import pytest

from tercet.cli import fitting
from tercet.cli.compare import larger_data
from tercet.cli.errors import Refusal
from tercet.cli.saved_models import open_model
from tercet.core.catalog import methods
from tercet.datasets import TableError, read_batches, read_table


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three files of a table of numbers, a category and a label; a few labels are missing."""
    place, rng = tmp_path_factory.mktemp("rows"), np.random.default_rng(0)
    for k in range(3):
        n = 12_000
        X = rng.normal(size=(n, 4))
        label = np.where(X[:, 0] + X[:, 1] + rng.normal(size=n) > 0, "yes", "no").astype(object)
        label[:10] = None
        frame = pl.DataFrame({f"f{j}": X[:, j] for j in range(4)})
        frame = frame.with_columns(
            colour=pl.Series(rng.choice(["red", "blue", "green"], n)), label=pl.Series(label.tolist())
        )
        frame.write_parquet(place / f"{k}.parquet", row_group_size=5000)
    (place / "_metadata").write_text("hidden")
    return place


@pytest.fixture
def little_memory(monkeypatch):
    monkeypatch.setenv("TERCET_MEMORY", "3MB")


def test_a_folder_is_one_table(folder, tmp_path):
    table = read_table(folder)
    assert table.height == table.total_rows == 36_000
    parts = [pl.read_parquet(folder / f"{k}.parquet") for k in range(3)]
    assert table.frame.equals(pl.concat(parts))
    with pytest.raises(TableError, match="no Parquet or Feather files are in it"):
        read_table(tmp_path)
    (tmp_path / "a.parquet").write_bytes(b"nothing of the kind")
    with pytest.raises(TableError, match=r"a\.parquet.*not a Parquet file"):
        read_table(tmp_path)


def test_a_folder_comes_in_batches(folder, little_memory):
    sizes = [table.height for table in read_batches(folder)]
    assert len(sizes) > 1
    assert sum(sizes) == 36_000


@pytest.mark.parametrize("method", ["HistGradientBoostingClassifier", "DecisionTreeClassifier", "GaussianNB"])
def test_fit_learns_from_all_rows(method, folder, tmp_path, little_memory, capsys):
    output = tmp_path / "model.skops"
    settings = {"H": ["max_iter=5"], "D": ["max_depth=6"]}.get(method[0], [])
    fitting.fit(method, str(folder), output, target="label", settings=settings, json=True)
    told = capsys.readouterr()
    about = json.loads(told.out)
    assert about["rows"] == 36_000 - 30
    assert 1000 < about["drawn_rows"] < 36_000
    assert "learns from all 36000 rows" in told.err
    saved = open_model(output)
    assert saved.rows == about["drawn_rows"]  # what the summaries of the columns come from
    fitting.predict(output, str(folder), tmp_path / "answers.parquet")
    answers = pl.read_parquet(tmp_path / "answers.parquet")
    assert answers.height == 36_000
    fitting.evaluate(output, str(folder), json=True)
    found = json.loads(capsys.readouterr().out)
    assert found["rows"] == 36_000 - 30
    assert found["measures"]["accuracy"] > 0.75
    assert not found["alerts"]


def test_what_is_learned_from_all_rows_is_that_of_the_encoded_rows(
    folder, tmp_path, little_memory, monkeypatch
):
    """Class counts of naive Bayes are those of the whole table, not of the rows drawn."""
    fitting.fit("GaussianNB", str(folder), tmp_path / "model.skops", target="label", json=True)
    model = open_model(tmp_path / "model.skops").pipeline[-1]
    monkeypatch.delenv("TERCET_MEMORY")
    labels = read_table(folder).frame["label"].drop_nulls().value_counts(sort=True).sort("label")
    np.testing.assert_array_equal(model.class_count_, labels["count"].to_numpy())


def test_fit_says_what_needs_its_rows_in_memory(folder, tmp_path, little_memory, capsys):
    fitting.fit("KNeighborsClassifier", str(folder), tmp_path / "model.skops", target="label", json=True)
    told = capsys.readouterr()
    assert json.loads(told.out)["rows"] < 36_000
    assert "KNeighborsClassifier needs its rows in memory" in told.err


def test_rows_that_are_asked_for_are_drawn(folder, tmp_path, capsys):
    fitting.fit("GaussianNB", str(folder), tmp_path / "m.skops", target="label", rows=500, json=True)
    assert json.loads(capsys.readouterr().out)["rows"] <= 500


def entry(name, score):
    return {"name": name, "score": score, "baseline": False, "settings": {}, "against_best": None}


def about(names, rows=None, total=1000):
    board = [entry(name, 0.9 - k / 10) for k, name in enumerate(names)]
    data = {"rows": 100, "total_rows": total, "target": {"name": "label"}}
    result = {"data": data, "leaderboard": board, "task": "classification", "seed": 3}
    request = types.SimpleNamespace(
        data="rows/", rows=rows, seed=3, kinds={}, drop=(), group=None, ragged="error", methods=()
    )
    cards = {card.name: card for card in methods(task="classification")}
    return larger_data.about_sample(result, request, cards)


def test_compare_names_the_best_that_learns_from_all_rows():
    found = about(["SVC", "HistGradientBoostingClassifier", "GaussianNB"])
    assert (found["rows"], found["total_rows"], found["streams"]) == (100, 1000, False)
    assert "seed 3" in found["rule"]
    assert found["first"]["name"] == "HistGradientBoostingClassifier"
    assert "tercet fit HistGradientBoostingClassifier rows/ --target label" in found["told"][1]
    assert about(["GaussianNB", "SVC"])["streams"]
    assert about(["SVC"])["first"] is None


def test_compare_of_all_rows_says_nothing():
    assert about(["SVC"], total=100) is None
    assert about(["SVC"], rows=100) is None


def test_a_folder_is_no_place_for_a_model(folder):
    with pytest.raises(Refusal, match="folder"):
        fitting.fit("GaussianNB", str(folder), folder, target="label")
