"""Features made of tables: what is learned from which rows, and what comes out."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
import skops.io
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import estimator_checks_generator

from tercet.datasets import Table
from tercet.feature import TableEncoder, infer_schema
from tercet.linear_model import LogisticRegression
from tests.feature.fruit import FRAME, RECORDS, RNG, SCHEMA, N, dense

CHECKS = [
    (estimator, check)
    for estimator, check in estimator_checks_generator(TableEncoder())
    # It only runs with an environment variable set before the first import, and is about arrays of other libraries.
    if getattr(check, "func", check).__name__ != "check_array_api_input"
]


@pytest.mark.parametrize(
    ("estimator", "check"), CHECKS, ids=[getattr(c, "func", c).__name__ for _, c in CHECKS]
)
def test_scikit_learn_conformance(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "options",
    [{}, {"scale": "minmax"}, {"missing": "keep", "categories": "codes"}, {"scale": "intervals"}],
)
def test_nothing_is_learned_from_other_rows(options):
    rows = np.arange(0, N, 2)
    alone = FRAME[rows]
    changed = FRAME.with_columns(
        size=pl.when(pl.int_range(N) % 2 == 0).then("size").otherwise(1e9),
        colour=pl.when(pl.int_range(N) % 2 == 0).then("colour").otherwise(pl.lit("never")),
        remark=pl.when(pl.int_range(N) % 2 == 0).then("remark").otherwise(pl.lit("other words entirely")),
    )
    fitted = [TableEncoder(SCHEMA, **options).fit(SCHEMA.to_records(frame).take(r)) for frame, r in
              ((FRAME, rows), (changed, rows), (alone, slice(None)))]  # fmt: skip
    results = [dense(encoder.transform(RECORDS)) for encoder in fitted]
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


@pytest.mark.parametrize("options", [{}, {"sparse": False}, {"scale": "minmax", "categories": "codes"}])
def test_sparse_and_dense_agree(options):
    encoder = TableEncoder(SCHEMA, **options).fit(RECORDS)
    full = TableEncoder(SCHEMA, **{**options, "sparse": False}).fit(RECORDS).transform(RECORDS)
    held = TableEncoder(SCHEMA, **{**options, "sparse": True}).fit(RECORDS).transform(RECORDS)
    assert isinstance(full, np.ndarray)
    assert isinstance(held, sparse.csr_array)
    assert held.has_sorted_indices
    np.testing.assert_array_equal(held.toarray(), full)
    assert encoder.sparse_ == (options.get("sparse", "auto") == "auto")
    assert isinstance(TableEncoder().fit_transform(FRAME.select("size", "colour")), np.ndarray)


def test_every_feature_depends_on_its_source_alone():
    encoder = TableEncoder(SCHEMA, sparse=False).fit(RECORDS)
    before = encoder.transform(RECORDS)
    order = np.random.default_rng(1).permutation(N)
    for k, name in enumerate(RECORDS.names):
        after = encoder.transform(RECORDS.shuffled(name, order))
        mine = encoder.source_ == k
        assert mine.any()
        np.testing.assert_array_equal(after[:, ~mine], before[:, ~mine])
        np.testing.assert_array_equal(after[:, mine], before[order][:, mine])


def test_records_are_left_as_they_are():
    for columns in (["size", "ripe"], ["size", "gaps", "when"], ["size", "gaps"]):
        frame = FRAME.select(columns)
        records = infer_schema(frame).to_records(frame)
        before = records.numbers.copy()
        for scale in ("standard", "minmax", None):
            out = TableEncoder(scale=scale).fit_transform(records)
            out[:] = 0
            np.testing.assert_array_equal(records.numbers, before)


def test_tables_of_every_type_alike():
    expected = dense(TableEncoder(SCHEMA).fit(RECORDS).transform(RECORDS))
    pandas = FRAME.to_pandas()
    for table in (FRAME, pandas, Table(FRAME)):
        for schema in (SCHEMA, SCHEMA.to_dict(), None):
            np.testing.assert_array_equal(dense(TableEncoder(schema).fit(table).transform(table)), expected)
    encoder = TableEncoder(SCHEMA).fit(RECORDS)
    np.testing.assert_array_equal(dense(encoder.transform(pandas[pandas.columns[::-1]])), expected)
    X = FRAME.select("size", "gaps").to_numpy()
    np.testing.assert_array_equal(
        TableEncoder().fit(X).transform(X),
        TableEncoder().fit(FRAME.select("size", "gaps")).transform(FRAME.select("size", "gaps")),
    )


def test_a_frame_of_features_has_no_target():
    frame = FRAME.select("size").with_columns(y=FRAME["gaps"])
    assert TableEncoder().fit(frame).get_feature_names_out().tolist() == ["size", "y", "y missing"]


def test_other_records_are_refused():
    encoder = TableEncoder().fit(RECORDS)
    other = FRAME.select("size", "ripe")
    with pytest.raises(
        ValueError, match="the records have the columns 'size', 'ripe'; expected are 'size', 'gaps'"
    ):
        encoder.transform(infer_schema(other).to_records(other))
    with pytest.raises(ValueError, match="knows records only"):
        encoder.transform(FRAME)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"scale": "robust"},
            "'scale' must be one of 'standard', 'minmax', 'intervals' or None; got 'robust'",
        ),
        ({"max_categories": 0}, "'max_categories' must be an integer .*; got 0"),
        ({"sparse": "yes"}, "'sparse' must be 'auto' or True or False; got 'yes'"),
    ],
)
def test_parameters_are_checked(options, message):
    with pytest.raises(ValueError, match=message):
        TableEncoder(**options).fit(RECORDS)


def test_describe():
    said = TableEncoder(SCHEMA).fit(RECORDS).describe()
    assert said == [
        "2 columns of numbers are standardised: mean 0, deviation 1",
        "dates become days since the first, and points on a circle for month, weekday: 'when'",
        "missing values become the median of the column: 'gaps'",
        "a further feature marks what was missing: 'gaps'",
        "2 columns of categories become 5 features of zeros and ones",
        "missing values are a category of their own: 'colour'",
        "the text 'remark' becomes tf-idf weights of 7 words",
    ]


@pytest.mark.parametrize("schema", [SCHEMA, SCHEMA.to_dict(), None], ids=["schema", "dict", "none"])
def test_saved_and_loaded(schema):
    encoder = TableEncoder(schema).fit(FRAME)
    expected = dense(encoder.transform(FRAME))
    stored = skops.io.dumps(encoder)
    assert skops.io.get_untrusted_types(data=stored) == ["tercet.feature.table_encoder.TableEncoder"]
    loaded = skops.io.loads(stored, trusted=["tercet.feature.table_encoder.TableEncoder"])
    for again in (loaded, pickle.loads(pickle.dumps(encoder))):
        np.testing.assert_array_equal(dense(again.transform(FRAME)), expected)
        np.testing.assert_array_equal(dense(again.transform(RECORDS)), expected)
        np.testing.assert_array_equal(dense(clone(again).fit(FRAME).transform(FRAME)), expected)
        assert again.get_feature_names_out().tolist() == encoder.get_feature_names_out().tolist()
    assert clone(encoder).schema == schema


def test_records_in_scikit_learns_cross_validation():
    frame = pl.DataFrame({"a": RNG.normal(size=N), "c": ["u", "v"] * (N // 2)})
    schema = infer_schema(frame)
    records, y = schema.to_records(frame), np.arange(N) % 2
    scores = cross_val_score(make_pipeline(TableEncoder(schema), LogisticRegression()), records, y, cv=4)
    assert scores.tolist() == [1.0] * 4


def test_pandas_output():
    out = TableEncoder().set_output(transform="pandas").fit_transform(FRAME.drop("remark").to_pandas())
    assert isinstance(out, pd.DataFrame)
    assert out.columns[:2].tolist() == ["size", "gaps"]


def test_importing_does_not_load_polars():
    code = "import sys, tercet; tercet.feature.TableEncoder(); print('polars' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "False"


def test_categories_may_be_kept_as_they_are():
    melons = {"size": [1.0, None, 3.0], "colour": ["red", None, "blue"], "ok": [True, False, True]}
    frame = pl.concat([pl.DataFrame(melons)] * 9)
    encoder = TableEncoder(scale=None, missing="keep", categories="keep").fit(frame)
    kept = encoder.transform(frame)
    assert kept.columns == ["size", "colour", "ok"] == encoder.get_feature_names_out().tolist()
    assert kept["colour"].dtype == pl.Enum(["blue", "red"])
    assert kept["size"].to_list()[:3] == [1.0, None, 3.0]
    assert kept["colour"].to_list()[:3] == ["red", None, "blue"]
    later = encoder.transform(pl.DataFrame({"size": [2.0], "colour": ["pink"], "ok": [False]}))
    assert later.rows() == [(2.0, None, "false")]


def test_a_sparse_block_leaves_no_frame():
    encoder = TableEncoder(categories="keep").fit(sparse.csr_array(np.eye(5)))
    assert sparse.issparse(encoder.transform(sparse.csr_array(np.eye(5))))


def test_numbers_may_be_cut_into_intervals():
    rng = np.random.default_rng(5)
    size = [float(v) for v in rng.gamma(2.0, size=400)]
    rooms = rng.integers(1, 5, 400)
    days = pl.date(2020, 1, 1) + pl.duration(days=pl.int_range(400))
    frame = pl.DataFrame({"size": [None, *size[1:]], "rooms": rooms}).with_columns(when=days)
    encoder = TableEncoder(scale="intervals", missing="keep", categories="keep").fit(frame)
    cut = encoder.transform(frame)
    assert cut.columns == ["size", "rooms", "when"]
    assert cut["rooms"].dtype == pl.Enum(["< 2", "[2, 3)", "[3, 4)", "≥ 4"])
    assert cut["size"][0] is None
    counts = cut["size"].drop_nulls().value_counts()["count"]
    assert len(counts) == 10
    assert counts.min() >= 36
    borders = [0.0, *(float(label.split(",")[0][1:]) for label in cut["size"].dtype.categories[1:]), np.inf]
    for value, label in zip(size[1:], cut["size"][1:].to_physical()):
        assert borders[label] <= value < borders[label + 1]
    assert cut["when"].dtype.categories[1] == "[2020-02-10, 2020-03-21)"
    # The same cuts for what comes later, however far outside.
    later = pl.DataFrame({"size": [1e9, -1e9], "rooms": [9, 0], "when": ["2031-01-01", "1999-12-31"]})
    assert encoder.transform(later)["rooms"].to_list() == ["≥ 4", "< 2"]
    assert encoder.transform(later)["size"].to_physical().to_list() == [9, 0]
    assert encoder.describe()[0] == "3 columns of numbers or dates are cut into intervals"


def test_intervals_of_gaps_lumps_and_constants():
    frame = pl.DataFrame({"a": [None, 7.0] * 40, "b": [0.0] * 75 + [1.0, 2.0, 3.0, 4.0, 5.0]})
    numbers = TableEncoder(scale="intervals").fit(frame).transform(frame)
    assert numbers.shape[1] == 2
    np.testing.assert_array_equal(numbers[:, 0], np.zeros(80))  # the gaps are where the median is
    assert numbers[0, 1] == 0 < numbers[75, 1]
    kept = TableEncoder(scale="intervals", missing="keep").fit(frame).transform(frame)
    assert np.isnan(kept[::2, 0]).all()


def test_a_model_file_with_forged_intervals_is_refused():
    frame = pl.DataFrame({"a": np.arange(50.0)})
    encoder = TableEncoder(scale="intervals", categories="keep").fit(frame)
    data = skops.io.dumps(encoder)
    kept = skops.io.loads(data, trusted=skops.io.get_untrusted_types(data=data))
    assert kept.transform(frame).equals(encoder.transform(frame))
    kept.learned_[0]["labels"][0].pop()
    with pytest.raises(ValueError, match="do not fit together"):
        kept.transform(frame)
