"""Saved models on other tables: read as the first one was, in as many pieces as it takes; and forged models."""

import contextlib
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tercet.cli import pipelines
from tercet.cli.errors import Refusal
from tercet.cli.saved_models import open_model
from tercet.cli.tables import batches, open_table
from tercet.cluster import KMeans
from tercet.datasets import read_table
from tercet.feature import infer_schema
from tercet.io import ModelError, save_model
from tercet.linear_model import LogisticRegression
from tests.cli.running import refused, tercet
from tests.test_io import edit, rewrite


def good(*words: str, cwd: Path, **environment: str):
    answer = tercet(*words, cwd=cwd, **environment)
    assert answer.returncode == 0, answer.stderr
    return answer


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table with a decimal comma, NA as a value, codes that look like numbers, and days before months."""
    folder = tmp_path_factory.mktemp("models")
    rng = np.random.default_rng(0)
    lines = []
    for k in range(120):
        amount, region, version = rng.normal(), ["EU", "NA", "AS"][k % 3], ["1.10", "1.9", "dev"][k // 3 % 3]
        day, month = 1 + k % 28, 1 + k % 12
        score = amount + (region == "NA") + 2 * (version == "1.10") + 0.2 * (month - 6)
        date = f"{day:02d}/{month:02d}/2024"
        told = f"{amount:.3f}".replace(".", ",")
        lines.append(f"{told};{region};{version};{date};{'good' if score > 0.8 else 'bad'}")
    (folder / "a.csv").write_text("\n".join(["amount;region;version;day;kind", *lines, ""]))
    good("fit", "LogisticRegression", "a.csv", "-t", "kind", "-o", "a.skops", cwd=folder)
    return folder


def test_a_few_rows_are_read_as_the_whole_table_was(folder, tmp_path):
    head, *lines = (folder / "a.csv").read_text().splitlines()
    whole = good("predict", "a.skops", "a.csv", "--proba", "-q", cwd=folder).stdout.splitlines()[1:]
    # Alone, each of these would look different: thousands, a missing region, a number, the third of April.
    few = [k for k, line in enumerate(lines) if ";NA;1.10;" in line and int(line.split(";")[3][:2]) < 13][:4]
    assert few
    path = tmp_path / "few.csv"
    path.write_text("\n".join([head.replace("kind", "other"), *(lines[k] for k in few), ""]))
    answer = good("predict", "a.skops", str(path), "--proba", cwd=folder)
    assert answer.stdout.splitlines()[1:] == [whole[k] for k in few]
    assert "decimal comma" in answer.stderr  # what was decided about the file is said
    assert "unknown" not in answer.stderr


def test_sparse_indices_count_as_in_the_first_file(tmp_path):
    rng = np.random.default_rng(1)
    rows = [(int(x > 0), x, z) for x, z in rng.normal(size=(60, 2))]
    text = "\n".join(f"{y} 0:{z:.3f} 1:{x:.3f} 2:1" for y, x, z in rows)
    (tmp_path / "a.svm").write_text(text + "\n")
    (tmp_path / "b.svm").write_text("\n".join(f"{y} 1:{x:.3f}" for y, x, _ in rows) + "\n")  # nothing at 0
    good("fit", "LogisticRegression", "a.svm", "-o", "m.skops", cwd=tmp_path)
    told = json.loads(good("evaluate", "m.skops", "b.svm", "--json", cwd=tmp_path).stdout)
    assert told["measures"]["accuracy"] > 0.9


def test_every_row_of_a_table_that_does_not_fit_into_memory(folder, tmp_path):
    small = {"TERCET_MEMORY": "10000"}
    whole = good("predict", "a.skops", "a.csv", "--proba", "-q", cwd=folder).stdout
    assert len(whole.splitlines()) == 121
    assert good("predict", "a.skops", "a.csv", "--proba", "-q", cwd=folder, **small).stdout == whole
    for name, read in (
        ("p.tsv", lambda path: pl.read_csv(path, separator="\t")),
        ("p.parquet", pl.read_parquet),
    ):
        path = tmp_path / name
        answer = good("predict", "a.skops", "a.csv", "--proba", "-o", str(path), cwd=folder, **small)
        assert "120 predictions" in answer.stderr
        assert answer.stderr.count("delimiter") == 1
        assert read(path).write_csv() == whole
    expected = json.loads(good("evaluate", "a.skops", "a.csv", "--json", cwd=folder).stdout)
    told = json.loads(good("evaluate", "a.skops", "a.csv", "--json", cwd=folder, **small).stdout)
    assert told == expected
    assert told["rows"] == 120


def test_a_bad_value_is_named_by_its_row_in_the_whole_table(folder, tmp_path):
    head, *lines = (folder / "a.csv").read_text().splitlines()
    bad = [line if k != 99 else "much" + line[line.index(";") :] for k, line in enumerate(lines)]
    (tmp_path / "bad.csv").write_text("\n".join([head, *bad, ""]))
    words = ("predict", "a.skops", str(tmp_path / "bad.csv"), "-o", str(tmp_path / "p.csv"), "-q")
    line = refused(tercet(*words, cwd=folder, TERCET_MEMORY="10000"), 3)
    assert "'amount'" in line
    assert "row 100" in line
    assert "much" in line
    assert not (tmp_path / "p.csv").exists()


def test_clusters_are_called_clusters(tmp_path):
    good("fit", "KMeans", "iris", "-o", "m.skops", "--set", "n_clusters=3", "--rows", "50", cwd=tmp_path)
    answer = good("predict", "m.skops", "iris", cwd=tmp_path)
    assert answer.stdout.splitlines()[0] == "cluster"
    assert len(answer.stdout.splitlines()) == 151
    line = refused(tercet("fit", "KMeans", "m.skops", "-o", "n.skops", cwd=tmp_path), 3)
    assert "m.skops is a Tercet model, not a table" in line


def test_some_rows_of_embedded_data():
    table = open_table("iris", rows=50, seed=1)
    assert (table.height, table.total_rows) == (50, 150)
    assert table.notes[-1] == "50 of 150 rows, drawn at random, are used"
    assert open_table("iris", rows=50, seed=1).frame.equals(table.frame)
    assert not open_table("iris", rows=50, seed=2).frame.equals(table.frame)
    assert open_table("iris", rows=500).height == 150


# --- forged files ---------------------------------------------------------------------------------------------


@pytest.fixture
def forged(tmp_path):
    """A model file to forge, as `tercet fit` would have saved it."""
    path, data = tmp_path / "m.skops", tmp_path / "a.csv"
    rows = [f"{k + 0.5},{'ab'[k % 2]},{'np'[k > 5]}" for k in (1, 9, 2, 8, 3, 7, 4, 6)] * 3
    data.write_text("\n".join(["x,z,y", *rows, ""]))
    table = read_table(data)
    schema = infer_schema(table, "y")
    records, y = pipelines.training_rows(schema, table)
    model = pipelines.assemble(schema, LogisticRegression()).fit(records, y)
    about = {
        "method": "LogisticRegression",
        "task": "classification",
        "target": "y",
        "schema": schema.to_dict(),
    }
    save_model(path, model, about)
    assert open_model(path).schema == schema
    return path


def change(**values):
    def changed(schema):
        schema.update(values)

    return changed


def column(**values):
    def changed(schema):
        schema["columns"][0].update(values)

    return changed


@pytest.mark.parametrize(
    "change",
    [
        column(kind="zzz"),
        column(kind=["numeric"]),
        column(kind="categorical", categories=None),
        column(kind="categorical", categories=[["a"], ["b"]]),
        column(name=7),
        column(name="z"),
        column(used="yes"),
        column(summary=3),
        column(why={"template": "{a:>1500000000}", "values": {"a": 1}}),
        column(more=1),
        change(classes=[]),
        change(classes=None),
        change(classes=[[1], [2]]),
        change(classes=["n", "n"]),
        change(classes=["n", 1]),
        change(task="regression"),
        change(target=None),
        change(columns=None),
        change(n_sparse=-1),
        change(n_sparse="1"),
        change(n_sparse=1, sparse_names=["a", "b"]),
        change(notes=[{"template": "{a.__class__}", "values": {"a": 1}}]),
        change(notes=["text"]),
    ],
)
def test_forged_schemas(forged, change):
    def forge(parts):
        about = json.loads(parts["about.json"])
        change(about["schema"])
        parts["about.json"] = json.dumps(about).encode()

    rewrite(forged, forge)
    with pytest.raises(ModelError, match="holds a model that `tercet fit` did not save"):
        open_model(forged)


@pytest.mark.parametrize(
    "values",
    [{"task": "ranking"}, {"task": []}, {"method": 3}, {"target": "z"}, {"schema": []}, {"reading": [1]}],
)
def test_forged_facts(forged, values):
    rewrite(forged, edit("about.json", **values))
    with pytest.raises(ModelError, match="did not save"):
        open_model(forged)


@pytest.mark.parametrize(
    "reading",
    [{"columns": 3}, {"columns": {"x": 3}}, {"columns": {"x": {"kind": []}}}, {"header": 7, "svm": "a"}],
)
def test_a_forged_way_of_reading(forged, reading):
    """Refused, or left aside where it makes no sense; never a crash."""
    rewrite(forged, edit("about.json", reading=reading))
    saved, heights = open_model(forged), [24]
    with contextlib.suppress(ModelError), saved.using():
        heights = [table.height for table in batches(str(forged.parent / "a.csv"), like=saved.reading)]
    assert heights == [24]


def test_a_model_that_is_no_pipeline(forged):
    save_model(forged, KMeans(2).fit([[0.0], [1.0], [5.0]]), {"schema": {}})
    with pytest.raises(ModelError, match="did not save"):
        open_model(forged)


def test_centres_of_another_width_do_not_reach_the_kernels(tmp_path):
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(rng.normal(size=(30, 5)), schema=list("abcde"))
    schema = infer_schema(frame, task="clustering")
    model = pipelines.assemble(schema, KMeans(3)).fit(schema.to_records(frame))
    for centres in (np.zeros((3, 4)), np.zeros((3, 0)), np.zeros((0, 5)), np.zeros(5), np.zeros((3, 6))):
        model[-1].cluster_centers_ = centres
        about = {"method": "KMeans", "task": "clustering", "target": None, "schema": schema.to_dict()}
        save_model(tmp_path / "m.skops", model, about)
        with pytest.raises(ModelError, match=r"KMeans: cluster_centers_ is .*; expected is"):
            open_model(tmp_path / "m.skops")


def test_models_that_cannot_do_what_is_asked(forged):
    open_model(forged).require_predict(proba=True)
    frame = pl.DataFrame({"x": [0.5, 1.5, 3.5, 4.0], "w": [1.5, 0.5, 2.5, 9.5]})
    schema = infer_schema(frame, task="clustering")
    about = {"method": "KMeans", "task": "clustering", "target": None, "schema": schema.to_dict()}
    save_model(forged, pipelines.assemble(schema, KMeans(2)).fit(schema.to_records(frame)), about)
    open_model(forged).require_predict()
    with pytest.raises(Refusal, match="KMeans is a clustering model") as caught:
        open_model(forged).require_predict(proba=True)
    assert caught.value.code == 2
