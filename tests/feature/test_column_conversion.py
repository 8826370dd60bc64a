"""Tables as records: tables that are not as they were, and tables of every type."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from tercet.datasets import Table, TableError, read_table
from tercet.feature import infer_schema
from tests.feature.sample import FRAME, RNG, SCHEMA, N, same, with_target


def test_cook():
    records = SCHEMA.to_records(FRAME)
    assert records.names == ("size", "gaps", "colour", "ripe", "when", "remark")
    assert records.kinds == ("number", "number", "category", "category", "date", "text")
    np.testing.assert_array_equal(records.column("gaps"), FRAME["gaps"].to_numpy())
    assert records.column("when")[:2].tolist() == [18262.0, 18271.0]
    names = [SCHEMA.used[2].categories[code] for code in records.column("colour")]
    assert names == FRAME["colour"].to_list()
    assert records.column("ripe").tolist() == [int(k % 4 == 0) for k in range(N)]
    assert records.shape == (N, 6)
    with pytest.raises(ValueError, match="'remark' holds texts"):
        records.column("remark")
    with pytest.raises(ValueError, match="no column 'sise'; the columns are size"):
        records.column("sise")


@settings(max_examples=15, deadline=None)
@given(st.permutations(FRAME.columns))
def test_order_of_columns_does_not_matter(order):
    said = []
    same(SCHEMA.to_records(FRAME.select(order), say=said.append), SCHEMA.to_records(FRAME))
    assert said == []


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(0, N - 1), max_size=2 * N))
def test_take_is_taking_rows_of_the_frame(index):
    index = np.array(index, dtype=int)
    taken, cooked = SCHEMA.to_records(FRAME).take(index), SCHEMA.to_records(FRAME[index])
    np.testing.assert_array_equal(taken.numbers, cooked.numbers)
    np.testing.assert_array_equal(taken.codes, cooked.codes)
    places = np.searchsorted(taken.words[0], cooked.words[0])
    np.testing.assert_array_equal(taken.counts[0][:, places].toarray(), cooked.counts[0].toarray())
    assert taken.counts[0].sum() == cooked.counts[0].sum()
    assert len(taken) == index.size


def test_take_by_mask_and_slice():
    records = SCHEMA.to_records(FRAME)
    same(records.take(slice(5, 20, 3)), records.take(np.arange(5, 20, 3)))
    same(records.take(np.arange(N) % 2 == 0), records[np.arange(0, N, 2)])


@settings(max_examples=20, deadline=None)
@given(st.sampled_from([column.name for column in SCHEMA.used]), st.permutations(range(N)))
def test_shuffled_is_shuffling_a_column_of_the_frame(name, order):
    records = SCHEMA.to_records(FRAME)
    before = records.numbers.copy(), records.codes.copy()
    shuffled = FRAME.with_columns(FRAME[name].gather(order))
    same(records.shuffled(name, order), SCHEMA.to_records(shuffled))
    np.testing.assert_array_equal(records.numbers, before[0])
    np.testing.assert_array_equal(records.codes, before[1])


def test_columns_that_were_not_there_before():
    said = []
    frame = FRAME.with_columns(pl.lit(1).alias("more"), pl.lit("x").alias("and more"))
    same(SCHEMA.to_records(frame, say=said.append), SCHEMA.to_records(FRAME))
    assert said == ["columns that were not there before are ignored: 'more', 'and more'"]


def test_missing_columns():
    with pytest.raises(TableError, match="missing columns: 'size', 'when'; the table has 'no', 'gaps'"):
        SCHEMA.to_records(FRAME.drop("when", "size"))
    same(SCHEMA.to_records(FRAME.drop("no", "kind")), SCHEMA.to_records(FRAME))  # neither is a feature
    with pytest.raises(TableError, match="no column 'kind'"):
        SCHEMA.to_target(FRAME.drop("kind"))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("size", "abc", "column 'size', row 4: 'abc' is not a number"),
        ("when", "yesterday", "column 'when', row 4: 'yesterday' is not a date"),
    ],
)
def test_values_that_cannot_be_read(name, value, message):
    values = FRAME[name].cast(pl.String).to_list()
    values[3] = value
    with pytest.raises(TableError, match=message):
        SCHEMA.to_records(FRAME.with_columns(pl.Series(name, values)))


def test_numbers_where_dates_were():
    with pytest.raises(TableError, match="column 'when', row 1: 18262 is not a date"):
        SCHEMA.to_records(FRAME.with_columns(pl.lit(18262).alias("when")))


def test_other_spellings_of_the_same():
    spelled = FRAME.with_columns(
        FRAME["size"].cast(pl.String),
        FRAME["ripe"].cast(pl.Int64),
        FRAME["when"].dt.strftime("%Y/%m/%d"),
        FRAME["colour"] + " ",
        FRAME["gaps"].cast(pl.Float32),
    )
    same(SCHEMA.to_records(spelled), SCHEMA.to_records(FRAME))
    spelled = FRAME.with_columns(
        FRAME["ripe"].cast(pl.String).str.to_uppercase(), FRAME["when"].cast(pl.Datetime("ns"))
    )
    same(SCHEMA.to_records(spelled), SCHEMA.to_records(FRAME))
    aware = FRAME.with_columns(
        FRAME["when"].cast(pl.Datetime("us", "Asia/Shanghai")).dt.replace_time_zone("UTC")
    )
    assert np.isfinite(SCHEMA.to_records(aware).column("when")).all()


def test_categories_that_a_gap_made_floats():
    frame = pl.DataFrame({"grade": [1, 2, 3] * 10, "x": range(5, 35)})
    schema = infer_schema(Table(frame, kinds={"grade": "categorical"}))
    floats = pd.DataFrame({"grade": [3.0, np.nan, 1.0], "x": [1, 2, 3]})
    assert schema.to_records(floats).column("grade").tolist() == [2, -1, 0]


def test_categories_that_read_as_numbers():
    frame = pl.DataFrame({"version": ["1.10", "1.9", "dev"] * 10, "t": ["2.50", "3", "x"] * 10})
    schema = infer_schema(frame, "t")
    later = pl.DataFrame({"version": [1.1, 1.9, 2.0, None], "t": [2.5, 3.0, None, 3.0]})
    assert schema.to_records(later).column("version").tolist() == [0, 1, -2, -1]
    assert schema.to_target(later)[0].tolist() == [0, 1, -1, 1]
    both = infer_schema(frame.with_columns(version=pl.Series(["1.10", "1.1", "1.90"] * 10)), "t")
    assert both.to_records(later).column("version").tolist() == [0, 2, -2, -1]  # 1.1 as it is spelled


def test_unknown_categories_are_said():
    said = []
    frame = FRAME.with_columns(pl.Series("colour", ["pink", None, "", "blue"] * 15))
    codes = SCHEMA.to_records(frame, say=said.append).column("colour")
    assert codes[:4].tolist() == [-2, -1, -1, 0]
    assert said == [
        "column 'colour': 15 rows have categories that were not there before (pink); "
        "taken as none of the known ones"
    ]


def test_categories_beyond_those_that_are_kept_are_other():
    values = [f"v{k:04d}" for k in range(1500) for _ in range(2)]
    frame = pl.DataFrame({"a": values, "x": RNG.normal(size=3000)})
    records = infer_schema(frame).to_records(frame)
    assert records.categories[0][-1] == "other"
    assert np.bincount(records.column("a"))[-1] == 1000


def test_strings_among_numbers_are_missing_again():
    values = [*(str(k) for k in range(99)), "oops"]
    frame = pl.DataFrame({"a": values, "x": RNG.normal(size=100)})
    schema, said = infer_schema(frame), []
    assert np.isnan(schema.to_records(frame, say=said.append).column("a")[-1])
    assert said == ["column 'a': 1 values among the numbers are no numbers (oops); taken as missing"]


def test_a_column_without_any_value():
    frame = FRAME.with_columns(
        pl.lit(None).alias(name) for name in ("size", "colour", "when", "ripe", "remark")
    )
    records = SCHEMA.to_records(frame)
    assert np.isnan(records.column("size")).all()
    assert np.isnan(records.column("when")).all()
    assert (records.codes == -1).all()
    assert records.counts[0].nnz == 0


@pytest.mark.parametrize("mark", ["NA", "n/a", "-", "?", "未知", "None"])
def test_marks_for_missing_values(mark):
    numbers, dates = FRAME["size"].cast(pl.String), FRAME["when"].cast(pl.String)
    frame = FRAME.with_columns(size=numbers.set(numbers != "", mark), when=dates.scatter(0, mark))
    records = SCHEMA.to_records(frame)
    assert np.isnan(records.column("size")).all()
    assert np.isnan(records.column("when")).tolist() == [True] + [False] * (N - 1)
    target = infer_schema(with_target([k / 3 for k in range(9)]), "t")
    assert target.to_target(with_target(["1.5", mark]))[1].tolist() == [True, False]
    target = infer_schema(with_target([1, 2] * 9), "t")
    assert target.to_target(with_target(["1", mark]))[0].tolist() == [0, -1]


@pytest.mark.parametrize(
    ("texts", "days"),
    [
        (["2024-01-31", "2024/2/3"], [19753, 19756]),
        (["31/01/2024", "3/2/2024"], [19753, 19756]),
        (["01/31/2024", "2/3/2024"], [19753, 19756]),
        (["3.2.2024", "1.2.2024"], [19756, 19754]),
        (["20240131", "20240203"], [19753, 19756]),
        (["2/2/2024", "2024年1月31日"], [19755, 19753]),
        (["2024-01-31 12:00", "2024-01-31T18:00:00"], [19753.5, 19753.75]),
    ],
)
def test_dates_as_people_write_them(texts, days):
    frame = FRAME.head(2).with_columns(when=pl.Series(texts))
    assert SCHEMA.to_records(frame).column("when").tolist() == days


def test_a_date_that_may_be_two_days():
    frame = FRAME.head(2).with_columns(when=pl.Series(["2024-05-06", "03/04/2024"]))
    with pytest.raises(
        TableError, match="column 'when', row 2: '03/04/2024' may have the day first, or the month"
    ):
        SCHEMA.to_records(frame)


def test_labels_with_more_digits_than_floats_have():
    low, high = 2**53, 2**53 + 1
    for labels in ([low, high], [2**63 + 1, 2**63 + 2]):
        frame = with_target(pl.Series(labels * 9, dtype=pl.UInt64))
        schema = infer_schema(frame, "t", task="classification")
        assert schema.classes == tuple(labels)
        assert schema.to_target(frame)[0].tolist() == [0, 1] * 9
        assert schema.to_target(with_target([str(label) for label in labels]))[0].tolist() == [0, 1]
    with pytest.raises(TableError, match=r"9007199254740992.0 is none of the classes"):
        infer_schema(with_target([low, high] * 9), "t", task="classification").to_target(
            with_target([float(high)])
        )


def test_labels_in_other_types():
    schema = infer_schema(with_target([0, 1] * 10), "t")
    for values in (["0", "1 "], [0.0, 1.0], [False, True]):
        assert schema.to_target(with_target(values))[0].tolist() == [0, 1]
    schema = infer_schema(with_target([True, False] * 10), "t")
    for values in (["True", "FALSE"], [1, 0], [1.0, 0.0]):
        assert schema.to_target(with_target(values))[0].tolist() == [1, 0]
    schema = infer_schema(with_target(["1", "2", "A"] * 10), "t")
    assert schema.to_target(with_target([1, 2]))[0].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("values", "new", "message"),
    [
        (["a", "b"] * 9, ["a", "c"], "the target 't', row 2: 'c' is none of the classes 'a', 'b'"),
        ([1, 2] * 9, [1, 3], "the target 't', row 2: 3 is none of the classes 1, 2"),
        ([1, 2] * 9, ["1", "x"], "the target 't', row 2: 'x' is none of the classes 1, 2"),
        ([k / 3 for k in range(9)], ["1", "x"], "the target 't', row 2: 'x' is not a number"),
    ],
)
def test_labels_that_are_not_known(values, new, message):
    with pytest.raises(TableError, match=message):
        infer_schema(with_target(values), "t").to_target(with_target(new))


# --- other tables --------------------------------------------------------------------------------------------


def test_frames_and_arrays_alike():
    X = np.column_stack([RNG.normal(size=(40, 3)), RNG.integers(0, 3, 40)])
    X[3, 1] = np.nan
    expected = infer_schema(X).to_records(X)
    names = ["a", "b", "c", "d"]
    for table in (
        pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names), pl.LazyFrame(X, schema=names), X.tolist(),
        X.astype(object), np.asfortranarray(X), Table(pl.DataFrame(X, schema=names)),
    ):  # fmt: skip
        np.testing.assert_array_equal(infer_schema(table).to_records(table).numbers, expected.numbers)
    named = infer_schema(pd.DataFrame(X, columns=names))
    np.testing.assert_array_equal(named.to_records(X).numbers, expected.numbers)  # places for want of names
    with pytest.raises(TableError, match="the array has 3 columns; expected are 4"):
        named.to_records(X[:, :3])


def test_pandas_of_every_type():
    frame = pd.DataFrame(
        {
            0: pd.Series([1, 2, None] * 10, dtype="Int64"),
            "string": pd.Series(["u", "v", None] * 10, dtype="string"),
            "object": ["u", None, 3] * 10,
            "flag": [True, None, False] * 10,
            "when": pd.to_datetime(["2020-01-01", None, "2020-03-01 12:00"] * 10, format="mixed"),
            "category": pd.Categorical(["lo", "hi", None] * 10),
            "period": pd.period_range("2020-01", periods=3, freq="M").tolist() * 10,
        }
    )
    frame.index = range(100, 130)
    schema = infer_schema(frame)
    kinds = {column.name: column.kind for column in schema.columns}
    assert kinds == {
        "0": "numeric", "string": "categorical", "object": "categorical", "flag": "boolean", "when": "date",
        "category": "categorical", "period": "categorical",
    }  # fmt: skip
    assert [column.missing for column in schema.columns] == [10, 10, 10, 10, 10, 10, 0]
    records = schema.to_records(frame)
    assert records.column("when")[2] == 18322.5
    assert records.column("category")[:3].tolist() == [1, 0, -1]


def test_a_file_and_a_later_file(tmp_path):
    rows = [
        f"{k},{k * 1.37:.2f},{['青绿', '乌黑', '浅白'][k % 3]},2021/{k % 12 + 1}/5,{'是否'[k % 2]}"
        for k in range(60)
    ]
    first, later = tmp_path / "瓜.csv", tmp_path / "later.csv"
    first.write_text("\n".join(["编号,密度,色泽,日期,好瓜", *rows]), encoding="gb18030")
    schema = infer_schema(read_table(first))
    kinds = [(column.name, column.kind) for column in schema.columns]
    assert kinds == [("编号", "identifier"), ("密度", "numeric"), ("色泽", "categorical"), ("日期", "date")]
    assert (schema.task, len(schema.classes)) == ("classification", 2)
    later.write_text("日期;色泽;密度\n2021-01-05;红;?\n;青绿;0,5\n", encoding="utf-8")
    said = []
    records = schema.to_records(read_table(later), say=said.append)
    np.testing.assert_array_equal(records.numbers, [[np.nan, 18632.0], [0.5, np.nan]])
    assert records.column("色泽").tolist() == [-2, 2]
    assert len(said) == 1


def test_sparse_blocks():
    block = sparse.random_array((30, 50), density=0.1, rng=0, format="csr")
    table = Table(pl.DataFrame({"target": [0, 1] * 15}), sparse=block, target="target")
    schema = infer_schema(table)
    assert (schema.n_sparse, schema.columns, schema.task) == (50, (), "classification")
    records = schema.to_records(table)
    assert (records.names, records.shape) == ((), (30, 50))
    np.testing.assert_array_equal(records.take([3, 1]).sparse.toarray(), block.toarray()[[3, 1]])
    said = []
    narrow = Table(table.frame, sparse=sparse.csr_array(block[:, :40]))
    np.testing.assert_array_equal(schema.to_records(narrow).sparse.toarray()[:, :40], block.toarray()[:, :40])
    wide = Table(table.frame, sparse=sparse.csr_array(sparse.hstack([block, block[:, :2]])))
    np.testing.assert_array_equal(schema.to_records(wide, say=said.append).sparse.toarray(), block.toarray())
    assert said == ["2 sparse features that were not there before are ignored"]
    with pytest.raises(TableError, match="no sparse features; expected are 50"):
        schema.to_records(table.frame)
    broken = block.copy()
    broken.data[:3] = [np.nan, np.inf, -np.inf]
    assert schema.to_records(Table(table.frame, sparse=broken)).sparse.data[:3].tolist() == [0, 0, 0]
    assert np.isnan(broken.data[0])


@pytest.mark.parametrize("table", [np.zeros(3), np.zeros((2, 2, 2))])
def test_arrays_that_are_no_tables(table):
    with pytest.raises(ValueError, match="must have rows and columns"):
        infer_schema(table)


def test_a_column_without_a_name():
    frame = pl.DataFrame({"": RNG.normal(size=40), "b": RNG.normal(size=40), "c": ["x", "y"] * 20})
    schema = infer_schema(Table(frame), "c", "classification")
    assert np.array_equal(schema.to_records(Table(frame)).numbers, frame[:, :2].to_numpy())
