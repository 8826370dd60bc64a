"""`tercet fit`, `predict` and `evaluate`: the real command, on tables of many sorts."""

import inspect
import io
import json
import os
import pickle
import signal
import subprocess
import sys
import time
import warnings
import zipfile
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from sklearn import metrics
from sklearn.datasets import dump_svmlight_file
from sklearn.pipeline import Pipeline

from tercet.cli import pipelines
from tercet.cli.parameter_values import build
from tercet.core.catalog import methods
from tercet.datasets import read_table
from tercet.feature import TableEncoder, infer_schema
from tercet.io import load_model, save_model
from tercet.linear_model import LogisticRegression, Perceptron, Ridge
from tests.cli import running
from tests.conformance.population import NARROW
from tests.systems import posix
from tests.test_io import rewrite

ENVIRONMENT = {**running.usual(), "COLUMNS": "100"}
COLOURS = np.array(["青绿", "乌黑", "浅白"])


def tercet(*words, code=0):
    """Run the command; its stdout and stderr."""
    answer = running.tercet(*map(str, words), COLUMNS="100")
    assert answer.returncode == code, answer.stdout + answer.stderr
    assert "Traceback" not in answer.stderr
    if code:
        assert answer.stderr.splitlines()[-1].startswith(("tercet: error: ", "tercet: 错误"))
        assert answer.stdout == ""
    return answer.stdout, answer.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Tables: melons (Chinese, categories, gaps), prices (numbers), words (sparse)."""
    folder = tmp_path_factory.mktemp("fit")
    rng = np.random.default_rng(0)
    n = 80
    density, sugar = rng.random(n).round(3), rng.random(n).round(3)
    colour = COLOURS[rng.integers(0, 3, n)]
    score = density + sugar + 0.4 * (colour == "乌黑") + 0.1 * rng.normal(size=n)
    melons = pl.DataFrame(
        {
            "密度": [None if k % 9 == 0 else v for k, v in enumerate(density.tolist())],
            "色泽": [None if k % 11 == 0 else v for k, v in enumerate(colour.tolist())],
            "含糖率": sugar,
            "编号": [f"n{k:03d}x{k * 7919 % 997}" for k in range(n)],
            "好瓜": [None if k == 5 else "是" if s > 1.1 else "否" for k, s in enumerate(score)],
        }
    )
    melons.write_csv(folder / "melons.csv")
    area, rooms = rng.uniform(20, 200, n).round(1), rng.integers(1, 6, n)
    town = np.array(["north", "south"])[rng.integers(0, 2, n)]
    price = (3 * area + 20 * rooms + 50 * (town == "south") + rng.normal(size=n)).round(2)
    pl.DataFrame({"area": area, "rooms": rooms, "town": town, "price": price}).write_csv(
        folder / "prices.csv"
    )
    X = (rng.random((n, 30)) * (rng.random((n, 30)) < 0.2)).round(3)
    dump_svmlight_file(X, np.where(X[:, 0] + X[:, 1] > 0.1, 1, -1), str(folder / "words.svm"))
    return folder


@pytest.fixture(scope="module")
def melons(folder):
    """A model of the melons, fitted by the command."""
    path = folder / "melons.skops"
    tercet(
        "fit", "LogisticRegression", folder / "melons.csv", "-t", "好瓜", "-o", path, "--set", "C=10", "-q"
    )
    return path


@pytest.fixture(scope="module")
def prices(folder):
    path = folder / "prices.skops"
    tercet("fit", "ridge", folder / "prices.csv", "-t", "price", "-o", path, "--set", "alpha=0.1", "-q")
    return path


def test_fit_says_what_it_did(folder, tmp_path):
    path = tmp_path / "m.skops"
    said, remarks = tercet("fit", "感知机", folder / "melons.csv", "--target", "好瓜", "-o", path)
    assert "Perceptron" in said
    assert "79 of 80" in said
    assert "3 of 4" in said  # the number of a melon is no feature
    assert "编号" in remarks
    assert str(path) in said
    assert "1 rows have no target" in remarks
    (line,) = [line for line in said.splitlines() if line.startswith("accuracy")]
    good = read_table(folder / "melons.csv").frame["好瓜"].drop_nulls().value_counts()["count"]
    share = f"{good.max() / good.sum():.4g}"
    assert line.endswith(
        f"on the rows it learned from; {share} without a model (always the most frequent class)"
    )
    said, _ = tercet("fit", "感知机", folder / "melons.csv", "-t", "好瓜", "-o", path, "--lang", "zh", "-q")
    assert "感知机" in said
    assert "训练" in said
    assert os.listdir(tmp_path) == ["m.skops"]


def test_fit_as_json(folder, tmp_path):
    words = ("-t", "price", "-o", tmp_path / "m.skops", "--set", "alpha=0.5", "--set", "max_iter=1", "--json")
    said, remarks = tercet("fit", "Lasso", folder / "prices.csv", *words, "--seed", "3")
    told = json.loads(said)
    assert (told["method"], told["task"], told["rows"]) == ("Lasso", "regression", 80)
    assert told["columns"] == ["area", "rooms", "town"]
    assert told["left_out"] == {}
    assert 0.9 < told["score"]["r2"] <= 1
    assert told["baseline"] == {"r2": 0.0}
    assert told["settings"] == ["alpha=0.5", "max_iter=1"]
    assert ["did not converge in 1 passes" in text for text in told["warnings"]] == [True]
    assert remarks.count("did not converge in 1 passes") == 1
    model, about = load_model(tmp_path / "m.skops")
    assert (model[-1].alpha, model[-1].max_iter, model[-1].random_state) == (0.5, 1, 3)
    assert about["target"] == "price"


def piped(*words, text):
    """Run the command with a text on its standard input."""
    command = [sys.executable, "-m", "tercet", *map(str, words)]
    answer = subprocess.run(
        command, input=text, capture_output=True, env=ENVIRONMENT, check=False, timeout=running.LIMIT
    )
    assert answer.returncode == 0, answer.stderr
    return answer.stdout.decode()


def test_tables_on_the_standard_input(folder, tmp_path):
    text, path = (folder / "prices.csv").read_bytes(), tmp_path / "m.skops"
    piped("fit", "Ridge", "-", "-t", "price", "-o", path, text=text)
    answer = piped("predict", path, "-", text=text)
    assert answer == tercet("predict", path, folder / "prices.csv")[0]
    assert len(answer.splitlines()) == 81


def test_ragged_lines_can_be_passed_over(folder, tmp_path):
    lines = (folder / "prices.csv").read_text().splitlines()
    file, path = tmp_path / "ragged.csv", tmp_path / "m.skops"
    file.write_text(
        "\n".join([*lines[:40], lines[40] + ",7", lines[41].rpartition(",")[0], *lines[42:]]) + "\n"
    )
    words = ("fit", "Ridge", file, "-t", "price", "-o", path)
    _, remarks = tercet(*words, code=3)
    assert "line 41 has 5 fields where 4 are expected" in remarks
    assert "--ragged skip leaves such lines out" in remarks
    said, remarks = tercet(*words, "--ragged", "skip")
    assert "78" in said
    assert "lines of another number of fields are left out: 2" in remarks
    tercet(*words, "--ragged", "fill")
    for command in (("predict", path, file), ("evaluate", path, file)):
        tercet(*command, code=3)
        tercet(*command, "--ragged", "fill")
    _, remarks = tercet(*words, "--ragged", "guess", code=2)
    assert "error, skip, fill" in remarks


def test_a_later_table_of_another_distribution_is_noticed(folder, tmp_path):
    path, later = tmp_path / "m.skops", tmp_path / "later.csv"
    tercet("fit", "Ridge", folder / "prices.csv", "-t", "price", "-o", path)
    _, remarks = tercet("predict", path, folder / "prices.csv", "-o", tmp_path / "p.csv")
    assert "distributed otherwise" not in remarks
    table = read_table(folder / "prices.csv").frame
    table.with_columns(pl.col("area") * 3 + 100).write_csv(later)
    _, remarks = tercet("predict", path, later, "-o", tmp_path / "p.csv")
    assert "! 'area' is distributed otherwise than when the model was fitted. " in remarks
    assert "fit again on recent rows" in " ".join(remarks.split())
    assert remarks.count("distributed otherwise") == 1
    said, _ = tercet("evaluate", path, later, "--json")
    assert [(alert["kind"], alert["columns"]) for alert in json.loads(said)["alerts"]] == [
        ("drift", ["area"])
    ]
    _, remarks = tercet("predict", path, later, "-o", tmp_path / "p.csv", "--lang", "zh")
    assert "! 'area' 的分布与训练模型时不同。" in remarks


def same_in_python(path, target, estimator, **encoding):
    """The pipeline that the command should have built, built here."""
    table = read_table(path)
    schema = infer_schema(table, target)
    y, known = schema.to_target(table)
    if schema.classes is not None:
        y = np.asarray(schema.classes)[y]
    model = Pipeline([("encoder", TableEncoder(schema, **encoding)), ("model", estimator)])
    records = schema.to_records(table)
    return model.fit(records.take(np.flatnonzero(known)), y[known]), records


def test_classification(folder, melons, tmp_path):
    tercet("predict", melons, folder / "melons.csv", "-o", tmp_path / "p.csv", "--proba")
    table = pl.read_csv(tmp_path / "p.csv")
    assert table.columns == ["好瓜", "p(否)", "p(是)"]
    model, records = same_in_python(
        folder / "melons.csv", "好瓜", LogisticRegression(C=10, random_state=0), scale="standard"
    )
    assert table["好瓜"].to_list() == model.predict(records).tolist()
    assert np.array_equal(table.select("p(否)", "p(是)").to_numpy(), model.predict_proba(records))
    again, _ = load_model(melons)
    assert again.predict(pl.read_csv(folder / "melons.csv")).tolist() == table["好瓜"].to_list()

    told = json.loads(tercet("evaluate", melons, folder / "melons.csv", "--json")[0])
    truth = pl.read_csv(folder / "melons.csv")["好瓜"]
    known = truth.is_not_null().to_numpy()
    y, guess, proba = (
        truth.to_numpy()[known],
        table["好瓜"].to_numpy()[known],
        table["p(是)"].to_numpy()[known],
    )
    assert told["rows"] == 79
    assert told["classes"] == ["否", "是"]
    assert told["confusion"] == metrics.confusion_matrix(y, guess).tolist()
    expected = {
        "accuracy": metrics.accuracy_score(y, guess),
        "balanced_accuracy": metrics.balanced_accuracy_score(y, guess),
        "macro_f1": metrics.f1_score(y, guess, average="macro"),
        "roc_auc": metrics.roc_auc_score(y == "是", proba),
        "log_loss": metrics.log_loss(y == "是", proba),
    }
    assert told["measures"] == pytest.approx(expected, rel=1e-12)
    said, remarks = tercet("evaluate", melons, folder / "melons.csv")
    assert f"{expected['accuracy']:.4g}" in said
    assert "1 rows" in remarks
    cells = [line.split() for line in said.splitlines()]
    counts = [row[1:] for row in cells if len(row) == 3 and row[0] in ("否", "是") and row[1].isdigit()]
    assert [[int(n) for n in row] for row in counts] == told["confusion"]


def test_regression(folder, prices, tmp_path):
    said, _ = tercet("predict", prices, folder / "prices.csv", "-q")
    model, records = same_in_python(folder / "prices.csv", "price", Ridge(alpha=0.1, random_state=0))
    lines = said.splitlines()
    assert lines[0] == "price"
    assert [float(line) for line in lines[1:]] == model.predict(records).tolist()
    tercet("predict", prices, folder / "prices.csv", "-o", tmp_path / "p.feather")
    assert pl.read_ipc(tmp_path / "p.feather")["price"].to_list() == model.predict(records).tolist()
    told = json.loads(tercet("evaluate", prices, folder / "prices.csv", "--json")[0])
    y, guess = pl.read_csv(folder / "prices.csv")["price"].to_numpy(), model.predict(records)
    expected = {
        "r2": metrics.r2_score(y, guess),
        "rmse": metrics.root_mean_squared_error(y, guess),
        "mae": metrics.mean_absolute_error(y, guess),
        "explained_variance": metrics.explained_variance_score(y, guess),
    }
    assert told["measures"] == pytest.approx(expected, rel=1e-9)
    assert "confusion" not in told


def test_sparse_rows_and_whole_number_labels(folder, tmp_path):
    path = tmp_path / "m.skops"
    said, _ = tercet("fit", "Perceptron", folder / "words.svm", "-o", path, "-q")
    assert "30 sparse" in said
    said, _ = tercet("predict", path, folder / "words.svm", "-q")
    name, *labels = said.splitlines()
    assert name == "target"
    model, records = same_in_python(folder / "words.svm", "target", Perceptron(random_state=0))
    assert [int(label) for label in labels] == model.predict(records).tolist()
    assert set(labels) == {"1", "-1"}
    _, error = tercet("predict", path, folder / "words.svm", "--proba", code=2)
    assert "Perceptron is a classifier without probabilities" in error


def test_a_method_around_another(folder, tmp_path):
    path = tmp_path / "m.skops"
    frame = pl.DataFrame({"x": [0.1, 0.3, 0.2, 1.4, 1.6, 1.5, 2.9, 3.1, 3.0], "z": [1.5] * 4 + [2.5] * 5})
    frame = frame.with_columns(kind=pl.Series([10] * 3 + [20] * 3 + [30] * 3))
    frame.write_parquet(tmp_path / "three.parquet")
    settings = ("--set", "estimator=logisticregression", "--set", "estimator__C=1e3")
    tercet("fit", "OneVsRestClassifier", tmp_path / "three.parquet", "-t", "kind", "-o", path, *settings)
    model, _ = load_model(path)
    assert model[-1].estimator.C == 1000
    tercet("predict", path, tmp_path / "three.parquet", "-o", tmp_path / "p.parquet", "--proba")
    predicted = pl.read_parquet(tmp_path / "p.parquet")
    assert predicted.columns == ["kind", "p(10)", "p(20)", "p(30)"]
    assert predicted["kind"].dtype == pl.Int64
    assert predicted["kind"].to_list() == frame["kind"].to_list()
    # One class only, under another name: what cannot be measured is null, not a crash.
    frame[:3].rename({"kind": "truth"}).write_parquet(tmp_path / "one.parquet")
    said, _ = tercet("evaluate", path, tmp_path / "one.parquet", "--target", "truth", "--json")
    told = json.loads(said)
    assert told["confusion"] == [[3, 0, 0], [0, 0, 0], [0, 0, 0]]
    assert told["measures"]["accuracy"] == 1
    assert told["measures"]["roc_auc"] is None


def test_clusters(folder, tmp_path):
    path = tmp_path / "m.skops"
    said, _ = tercet(
        "fit", "KMeans", folder / "prices.csv", "-o", path, "--set", "n_clusters=3", "--json", "-q"
    )
    assert json.loads(said)["score"] == {"clusters": 3}
    said, _ = tercet("predict", path, folder / "prices.csv")
    name, *numbers = said.splitlines()
    assert name == "cluster"
    assert set(numbers) == {"0", "1", "2"}
    assert len(numbers) == 80
    _, error = tercet("predict", path, folder / "prices.csv", "--proba", code=2)
    assert "KMeans is a clustering model" in error
    said, _ = tercet("evaluate", path, folder / "prices.csv", "--target", "town", "--json", "-q")
    assert -0.5 < json.loads(said)["measures"]["adjusted_rand"] < 1
    tercet(
        "fit", "AgglomerativeClustering", folder / "prices.csv", "-o", path, "--set", "linkage=median", "-q"
    )
    _, error = tercet("predict", path, folder / "prices.csv", code=2)
    assert "AgglomerativeClustering cannot predict" in error


def test_noise_is_no_cluster():
    model = [SimpleNamespace(labels_=np.array([-1, 0, 1, -1, -3]))]
    assert pipelines.training_score("clustering", model, None, None) == {"clusters": 2}


def test_columns_in_another_order_more_and_fewer(folder, melons, tmp_path):
    table, path = pl.read_csv(folder / "melons.csv"), tmp_path / "t.csv"
    expected = load_model(melons)[0].predict(table).tolist()
    other = table[:1].with_columns(色泽=pl.lit("红"))  # a colour that no melon had
    more = pl.concat([table, other]).with_columns(extra=pl.lit("more"))
    more.select(reversed(more.columns)).drop("好瓜", "编号").write_csv(path)
    said, remarks = tercet("predict", melons, path)
    assert said.splitlines()[1:-1] == expected
    assert len(said.splitlines()) == 82
    assert [("extra" in line) for line in remarks.splitlines()].count(True) == 1
    assert "红" in remarks
    other.write_csv(path)
    said, _ = tercet("predict", melons, path)  # a single row
    assert said.splitlines()[0] == "好瓜"
    assert said.splitlines()[1] in ("是", "否")
    for changed, words in [
        (table.drop("密度", "色泽"), ("密度", "色泽")),
        (table.with_columns(含糖率=pl.lit("sweet")), ("含糖率", "sweet")),
    ]:
        changed.write_csv(path)
        _, error = tercet("predict", melons, path, "-o", tmp_path / "p.csv", code=3)
        assert all(word in error.splitlines()[-1] for word in words)
    for changed, word in [(table.with_columns(好瓜=pl.lit("maybe")), "maybe"), (table.drop("好瓜"), "好瓜")]:
        changed.write_csv(path)
        _, error = tercet("evaluate", melons, path, code=3)
        assert word in error.splitlines()[-1]
    assert os.listdir(tmp_path) == ["t.csv"]


def test_bad_requests_are_one_line_and_leave_nothing(folder, prices, tmp_path):
    data, out = folder / "prices.csv", tmp_path / "m.skops"
    for words, code, expected in [
        (("fit", "entropy", data, "-o", out), 2, "not an estimator"),
        (("fit", "Ridge", data, "-t", "price", "-o", tmp_path / "no" / "m.skops"), 2, "no folder"),
        (("fit", "Ridge", data, "-t", "prize", "-o", out), 3, "price"),
        (("fit", "Ridge", data, "-t", "town", "-o", out), 3, "town"),
        (("fit", "LogisticRegression", data, "-t", "town", "-o", out, "--set", "solver=newton-cg",
          "--set", "l1_ratio=0.5"), 3, "l1_ratio"),
        (("predict", data, data, "-o", tmp_path / "p.csv"), 4, "is not a Tercet model"),
        (("predict", prices, data, "-o", tmp_path / "p.xls"), 2, ".parquet"),
        (("predict", prices, data, "-o", tmp_path / "p.csv", "--proba"), 2, "regression model"),
        (("evaluate", tmp_path / "none.skops", data), 4, "no such file"),
    ]:  # fmt: skip
        _, error = tercet(*words, code=code)
        assert expected in error.splitlines()[-1]
    assert os.listdir(tmp_path) == []


class Trap:
    def __init__(self, marker):
        self.marker = str(marker)

    def __reduce__(self):
        return os.system, (f"touch '{self.marker}'",)


def test_model_files_that_are_not_to_be_trusted(folder, prices, tmp_path):
    bad, marker = tmp_path / "bad.skops", tmp_path / "marker"
    bad.write_bytes(pickle.dumps(Trap(marker)))
    _, error = tercet("predict", bad, folder / "prices.csv", code=4)
    assert "is a pickle file; Tercet never unpickles" in error
    bad.write_bytes(prices.read_bytes()[:-40])
    _, error = tercet("evaluate", bad, folder / "prices.csv", code=4)
    assert "cut short or damaged" in error
    with zipfile.ZipFile(prices) as old, zipfile.ZipFile(bad, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            new.writestr(name, data.replace(b"price", b"prize") if name == "about.json" else data)
    _, error = tercet("predict", bad, folder / "prices.csv", "--lang", "zh", code=4)
    assert "about.json" in error
    assert "保存" in error

    def shrink(parts):
        for name in parts:
            if name.endswith(".npy"):
                parts[name] = empty.getvalue()

    np.save(empty := io.BytesIO(), np.zeros(1))
    bad.write_bytes(prices.read_bytes())
    rewrite(bad, shrink)  # whole, trusted and senseless
    _, error = tercet("predict", bad, folder / "prices.csv", code=4)
    assert "cannot be rebuilt" in error
    assert not marker.exists()


@posix
def test_interrupted_fit_writes_nothing(folder, tmp_path):
    """Passes that never converge, stopped once they are under way."""
    code = """if True:
        import sys
        from tercet.linear_model import Perceptron
        from tercet.core import steps
        report = steps.Steps.report
        def noisy(self, *args, **kwargs):
            report(self, *args, **kwargs)
            if self.index == 3:
                print("under way", file=sys.stderr, flush=True)
        steps.Steps.report = noisy
        from tercet.cli.app import main
        main()
    """
    words = ["fit", "Perceptron", folder / "melons.csv", "-t", "好瓜", "-o", tmp_path / "m.skops"]
    words += ["--set", "max_iter=1000000000", "--set", "tol=none"]
    process = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
    )
    for line in process.stderr:
        if "under way" in line:
            break
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    said, errors = process.communicate(timeout=600)
    assert process.returncode == 130
    assert said == ""
    assert "passes; no model is written" in errors.splitlines()[-1]
    assert os.listdir(tmp_path) == []


TASKS = ("classification", "regression", "clustering")
CARDS = [card for card in methods() if card.kind == "estimator" and card.task in TASKS]


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.name)
def test_every_method_can_be_fitted_saved_and_used(folder, tmp_path, card):
    parameters = inspect.signature(card.load()).parameters
    needed = [name for name, one in parameters.items() if one.default is inspect.Parameter.empty]
    # as with scikit-learn, SelfTrainingClassifier has a default that it cannot do with
    asks = "estimator" in needed or card.name == "SelfTrainingClassifier"
    settings = ["estimator=LogisticRegression"] if asks else []
    if "estimators" in parameters:
        settings = [f"estimators={'Ridge, Lasso' if card.task == 'regression' else 'GaussianNB, Perceptron'}"]
    if card.name == "QuadraticDiscriminantAnalysis":
        settings = ["reg_param=0.1"]  # one feature for every category: no full rank without it
    settings += {"ART1": ["binarize=0.0"], "FuzzyART": ["scale=minmax"]}.get(card.name, [])
    few = {name: value for name, value in NARROW.get(card.name, {}).items() if isinstance(value, int)}
    estimator = build(card, [*settings, *(f"{name}={value}" for name, value in few.items())], seed=0)
    classes = card.task == "classification"
    table = read_table(folder / ("melons.csv" if classes else "prices.csv"))
    target = {"classification": "好瓜", "regression": "price"}.get(card.task)
    schema = infer_schema(table, target, task=card.task)
    records, y = pipelines.training_rows(schema, table)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a few defaults do not converge here
        model = pipelines.assemble(schema, estimator).fit(records, y)
    save_model(tmp_path / "m.skops", model, {})
    again, _ = load_model(tmp_path / "m.skops")
    if hasattr(model, "predict"):
        assert np.array_equal(again.predict(table), model.predict(table))
    else:
        assert np.array_equal(again[-1].labels_, model[-1].labels_)
