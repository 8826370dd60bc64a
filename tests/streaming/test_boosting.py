"""Histogram boosting of a source: the bits of memory, pages in temporary files, what it refuses."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from sklearn.base import clone

import tercet
from tercet.core import row_pages
from tercet.core.row_pages import Field, RowPages
from tercet.datasets import Source, SourceError
from tercet.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from tercet.ensemble.boosting import held_out_rows
from tercet.tree._engine import paged
from tests.streaming.conftest import table
from tests.systems import linux

NODES = ("feature", "threshold", "value", "missing", "child", "n_node_samples", "impurity", "slots")


@pytest.fixture(scope="module")
def gaps():
    """Rows with missing values, few distinct numbers, codes of categories, and whole weights with zeros."""
    rows = table(15_000)
    X = rows["X"]
    X[::7, 3] = np.nan
    X[:, 4] = np.round(X[:, 4])
    X[:, 6] = 3 * np.round(3 * np.abs(X[:, 6])) - 3  # negative ones are missing values
    rows["copies"] = np.random.default_rng(0).integers(0, 4, len(X)).astype(float)
    return rows


def assert_same_rounds(streamed, whole):
    assert len(streamed.trees_) == len(whole.trees_)
    for found, expected in zip(streamed.trees_, whole.trees_):
        for one, other in zip(found, expected):
            for name in NODES:
                np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    for name in ("init_", "train_score_", "validation_score_", "best_iteration_", "best_score_"):
        np.testing.assert_array_equal(getattr(streamed, name), getattr(whole, name), err_msg=name)


CASES = [
    (HistGradientBoostingRegressor(max_iter=6, random_state=0), "number", None),
    (HistGradientBoostingRegressor(max_iter=4, random_state=0, categorical_features=[6]), "number", "weight"),
    (
        HistGradientBoostingRegressor(
            max_iter=3, l1_regularization=9.0, categorical_features=[6], random_state=0
        ),
        "number",
        None,
    ),
    (
        HistGradientBoostingClassifier(
            max_iter=4, random_state=1, max_features=0.5, max_features_by_tree=0.7, max_features_by_level=0.8
        ),
        "two",
        "copies",
    ),
    (HistGradientBoostingClassifier(max_iter=3, random_state=0, early_stopping=False), "three", "weight"),
    (
        HistGradientBoostingClassifier(max_iter=4, class_weight="balanced", max_depth=3, random_state=0),
        "two",
        None,
    ),
]


@pytest.mark.parametrize("memory", ["1GB", "1MB"], ids=["in-memory", "on-disk"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case[0])[:60])
def test_rounds_have_the_bits_of_memory(case, memory, gaps, monkeypatch):
    model, target, weight = case
    weights = {} if weight is None else {"sample_weight": gaps[weight]}
    whole = clone(model).fit(gaps["X"], gaps[target], **weights)
    monkeypatch.setenv("TERCET_MEMORY", memory)
    with tercet.engine("stream"):
        streamed = clone(model).fit(Source(gaps["X"]), y=gaps[target], **weights)
    assert_same_rounds(streamed, whole)
    answers = "predict_proba" if hasattr(whole, "predict_proba") else "predict"
    found = np.asarray(getattr(streamed, answers)(Source(gaps["X"])))
    np.testing.assert_array_equal(found, getattr(whole, answers)(gaps["X"]))


def test_bin_edges_come_from_the_sample_of_memory(monkeypatch):
    """Above some rows edges come from a sample; and held-out rows are chosen by their numbers."""
    from tercet.tree._engine import binning

    monkeypatch.setattr(binning, "SAMPLE_ROWS", 5000)
    monkeypatch.setattr(held_out_rows, "SPLIT_ROWS", 4000)
    monkeypatch.setattr("tercet.ensemble.boosting.streamed_fit.SPLIT_ROWS", 4000)
    rows = table(15_000)
    model = HistGradientBoostingClassifier(max_iter=3, random_state=0)
    whole = clone(model).fit(rows["X"], rows["two"])
    monkeypatch.setenv("TERCET_MEMORY", "2MB")  # a few columns of the sample at a time
    with tercet.engine("stream"):
        streamed = clone(model).fit(Source(rows["X"]), y=rows["two"])
    assert_same_rounds(streamed, whole)
    assert 1300 < held_out_rows.held_out_mask(15_000, 0.1, 7, None).sum() < 1700


def test_more_rows_than_halves_of_words_take(gaps, monkeypatch):
    """With over four million rows gradients and hessians have words of their own: the same but for rounding."""
    model = HistGradientBoostingRegressor(max_iter=5, random_state=0)
    whole = clone(model).fit(gaps["X"], gaps["number"], sample_weight=gaps["weight"])
    monkeypatch.setattr(paged, "MOST_ROWS", 1000)
    with tercet.engine("stream"):
        streamed = clone(model).fit(Source(gaps["X"]), y=gaps["number"], sample_weight=gaps["weight"])
    np.testing.assert_allclose(streamed.predict(gaps["X"]), whole.predict(gaps["X"]), rtol=0, atol=1e-3)
    np.testing.assert_allclose(streamed.train_score_, whole.train_score_, rtol=1e-4)


def test_other_losses_and_given_rows_agree_but_for_rounding(gaps):
    model = HistGradientBoostingRegressor(loss="poisson", max_iter=4, random_state=0)
    X, y = gaps["X"], gaps["count"]
    held = {"X_val": X[:900], "y_val": y[:900]}
    whole = clone(model).fit(X[900:], y[900:], **held)
    with tercet.engine("stream"):
        streamed = clone(model).fit(Source(X[900:]), y=y[900:], **held)
    np.testing.assert_allclose(streamed.predict(X), whole.predict(X), rtol=1e-9)
    np.testing.assert_allclose(streamed.validation_score_, whole.validation_score_, rtol=1e-9)


def test_a_warm_start_goes_on(gaps):
    whole = HistGradientBoostingRegressor(max_iter=5, random_state=0).fit(gaps["X"], gaps["number"])
    with tercet.engine("stream"):
        model = HistGradientBoostingRegressor(max_iter=3, random_state=0, warm_start=True)
        model.fit(Source(gaps["X"]), y=gaps["number"])
        model.set_params(max_iter=5).fit(Source(gaps["X"]), y=gaps["number"])
    np.testing.assert_allclose(model.predict(gaps["X"]), whole.predict(gaps["X"]), rtol=1e-9)


REFUSED = [
    ({"subsample": 0.5}, "subsample"),
    ({"rebin": "tree"}, "rebin='never'"),
    ({"max_leaf_nodes": None}, "max_leaf_nodes"),
    ({"monotonic_cst": [1] * 20}, "monotonic_cst=None"),
    ({"loss": "absolute_error"}, "squared_error"),
    ({"scoring": "r2"}, "scoring='loss'"),
]


@pytest.mark.parametrize(("options", "names"), REFUSED)
def test_what_needs_all_rows_says_what_to_use(options, names, rows):
    with pytest.raises(TypeError, match=names), tercet.engine("stream"):
        HistGradientBoostingRegressor(**options).fit(Source(rows["X"]), y=rows["number"])


def test_a_bad_chunk_is_named(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 3))
    X[4100, 1] = np.inf
    whole = pa.table({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": X[:, 0]})
    parquet.write_table(whole, tmp_path / "rows.parquet", row_group_size=2000)
    place = r"column 'b' has inf in .*rows\.parquet.*row group 2, row 100"
    with pytest.raises(SourceError, match=place), tercet.engine("stream"):
        HistGradientBoostingRegressor().fit(Source(tmp_path / "rows.parquet"), y="y")


def test_files_are_gone_after_an_error(gaps, monkeypatch):
    opened, reserve = [], row_pages._reserved_file
    monkeypatch.setattr(row_pages, "_reserved_file", lambda size: opened.append(reserve(size)) or opened[-1])
    monkeypatch.setenv("TERCET_MEMORY", "1MB")

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(paged.PagedGrower, "grow", interrupt)
    with pytest.raises(KeyboardInterrupt), tercet.engine("stream"):
        HistGradientBoostingRegressor(random_state=0).fit(Source(gaps["X"]), y=gaps["number"])
    assert opened
    assert all(file.closed for file in opened)


def test_no_room_is_an_error_before_anything_is_written(monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(row_pages.os, "posix_fallocate", full, raising=False)
    with pytest.raises(OSError, match="TMPDIR names another folder"):
        RowPages(1000, 64, {"x": Field((), np.float64)}, memory=0)


SCRIPT = textwrap.dedent(
    """
    import sys
    from tercet.datasets import Source
    from tercet.ensemble import HistGradientBoostingClassifier

    folder, limit = sys.argv[1], 30 << 20

    def used():
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))

    import tercet
    model = HistGradientBoostingClassifier(max_iter=2, random_state=0)
    with tercet.engine("stream"):
        model.fit(Source(f"{folder}/00.parquet"), y="c")  # kernels are compiled now
    before, source = used(), Source(folder)
    assert source.n_rows * 20 * 8 > 10 * limit
    model.fit(source, y="c")
    assert model.score(source, y="c") > 0.7
    grown = used() - before
    assert grown < 2 * limit, f"{grown >> 20} MiB"
    """
)


@linux
def test_ten_times_the_memory(tmp_path):
    """Pages of 2 million rows go to disk, and are mapped one at a time: 315 MB of rows are learned from."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(131_072, 20))
    columns = {f"f{j}": X[:, j] for j in range(20)} | {"c": (X[:, 0] > 0).astype(np.int8)}
    parquet.write_table(pa.table(columns), tmp_path / "00.parquet", row_group_size=16_384)
    for k in range(1, 16):
        (tmp_path / f"{k:02}.parquet").symlink_to(tmp_path / "00.parquet")
    # One arena: with several, how much of what was freed stays with the process depends on who ran when.
    allocator = {"ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_ARENA_MAX": "1"}
    environment = {**os.environ, "TERCET_MEMORY": "30MB", **allocator}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr[-2000:]
