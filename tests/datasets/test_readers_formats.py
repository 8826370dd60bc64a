"""The other formats: the same table through every one of them, and files that are not what they should be."""

from __future__ import annotations

import datetime
import warnings
import zipfile

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import feather
from scipy import sparse

from tercet.datasets import TableError, read_table

FRAME = pl.DataFrame(
    {
        "编号": [1, 2, 3, 4],
        "温 度": [21.5, None, -3.25, 0.0],
        "城市": ["北京", "上海", None, "it's, 广州"],
        "日期": [datetime.date(2024, 3, 5), None, datetime.date(2024, 12, 31), datetime.date(1999, 1, 1)],
        "class": ["yes", "no", "yes", "no"],
    }
)
ARFF = """% a comment
@RELATION 'the weather'
@attribute 编号 INTEGER
@Attribute '温 度' real
@attribute 城市 string
@attribute 日期 date "yyyy-MM-dd"
@attribute class {yes, no}

@DATA
"""


def write(frame: pl.DataFrame, file, kind: str) -> None:
    if kind == "csv":
        frame.write_csv(file)
    elif kind == "parquet":
        frame.write_parquet(file, row_group_size=2)
    elif kind == "feather":
        frame.write_ipc(file, compression="zstd")
    elif kind == "feather1":
        plain = frame.to_arrow()
        fields = [f.with_type(pa.string()) if pa.types.is_large_string(f.type) else f for f in plain.schema]
        fields = [f.with_type(pa.string()) if f.type == pa.string_view() else f for f in fields]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            feather.write_feather(plain.cast(pa.schema(fields)), file, version=1)
    else:
        rows = [
            ",".join("?" if v is None else "'" + str(v).replace("'", "\\'") + "'" for v in row)
            for row in frame.iter_rows()
        ]
        file.write_text(ARFF + "\n".join(rows) + "\n", encoding="utf-8")


@pytest.mark.parametrize("kind", ["csv", "parquet", "feather", "feather1", "arff"])
@pytest.mark.parametrize("named", [True, False])
def test_round_trip(tmp_path, kind, named):
    """Every format gives the table back, and is known by its content when its name says nothing."""
    file = tmp_path / (f"data.{kind.rstrip('1')}" if named else "data")
    write(FRAME, file, kind)
    table = read_table(file)
    assert table.frame.equals(FRAME)
    assert table.frame.schema == FRAME.schema
    assert table.format.lower() == kind.rstrip("1")
    assert table.target == ("class" if kind == "arff" else None)


@pytest.mark.parametrize("kind", ["parquet", "feather", "arff", "csv"])
def test_rows_are_drawn(tmp_path, kind):
    many = pl.concat([FRAME] * 40).with_columns(pl.Series("编号", range(160)))
    file = tmp_path / f"data.{kind}"
    write(many, file, kind)
    table, again, other = (read_table(file, rows=30, seed=s) for s in (1, 1, 2))
    assert (table.height, table.total_rows) == (30, 160)
    assert table.frame.equals(again.frame)
    assert not table.frame.equals(other.frame)
    assert table.frame.equals(many[table.frame["编号"].to_list()])


@pytest.mark.parametrize("kind", ["parquet", "feather"])
def test_more_than_memory(tmp_path, kind, monkeypatch):
    many = pl.DataFrame({"k": np.arange(400_000), "x": np.arange(400_000) / 3})
    file = tmp_path / f"data.{kind}"
    write(many, file, kind) if kind == "feather" else many.write_parquet(file, row_group_size=50_000)
    monkeypatch.setenv("TERCET_MEMORY", "2000000")
    table = read_table(file)
    assert table.total_rows == 400_000
    assert 10_000 < table.height < 40_000
    assert table.frame.equals(many[table.frame["k"].to_list()])
    assert any("as many as fit into memory" in note for note in table.notes)


@pytest.mark.parametrize("kind", ["parquet", "feather"])
def test_columns_of_other_kinds(tmp_path, kind):
    moment = datetime.datetime(2024, 3, 5, 12, tzinfo=datetime.UTC)
    frame = pl.DataFrame(
        {
            "list": [[1], [2, 3]],
            "struct": [{"a": 1}, {"a": 2}],
            "decimal": pl.Series(["1.50", "2.25"]).cast(pl.Decimal(10, 2)),
            "category": pl.Series(["u", "v"], dtype=pl.Categorical),
            "nan": [1.5, float("nan")],
            "moment": [moment, None],
        }
    )
    file = tmp_path / f"data.{kind}"
    write(frame, file, kind)
    table = read_table(file)
    assert table.frame.to_dict(as_series=False) == {
        "decimal": [1.5, 2.25],
        "category": ["u", "v"],
        "nan": [1.5, None],
        "moment": [moment.replace(tzinfo=None), None],
    }
    assert table.frame["decimal"].dtype == pl.Float64
    assert table.kinds == {"category": "categorical"}
    assert [note.values for note in table.notes] == [{"columns": "'list', 'struct'"}]


@pytest.mark.parametrize("kind", ["parquet", "feather"])
def test_damaged_columns(tmp_path, kind):
    file = tmp_path / f"data.{kind}"
    write(FRAME, file, kind)
    whole = file.read_bytes()
    for broken in (whole[: len(whole) // 2], whole[:9], whole[:-30] + b"\xff" * 26 + whole[-4:]):
        file.write_bytes(broken)
        with pytest.raises(TableError, match=rf"data\.{kind}: damaged, or not {kind.title()}"):
            read_table(file)
    file.write_bytes(b"a,b\n1,2\n")
    with pytest.raises(TableError, match=f"not a {kind.title()} file: damaged, or named wrongly"):
        read_table(file)
    write(FRAME.clear(), file, kind)
    with pytest.raises(TableError, match="no row"):
        read_table(file)


def test_arff_oddities(read):
    rows = """1,2,x,"2024-01-05",yes, {5}\n\n% more\n2, ?, 'a "b" c', 2024-01-06, no\n"""
    rows += """3,4,"it's, so",?,'yes',{0.5}\n"""
    table = read(ARFF + rows, "data.txt")
    assert table.frame.rows() == [
        (1, 2, "x", datetime.date(2024, 1, 5), "yes"),
        (2, None, 'a "b" c', datetime.date(2024, 1, 6), "no"),
        (3, 4, "it's, so", None, "yes"),
    ]
    assert table.kinds == {
        "编号": "numeric",
        "温 度": "numeric",
        "城市": "text",
        "日期": "date",
        "class": "categorical",
    }
    assert "weights of rows (in braces) are not used" in table.notes


def test_arff_values_stay_as_declared(read):
    head = "@relation r\n@attribute a {1.50, +1, 007}\n@attribute when date\n@data\n"
    table = read(head + "1.50,'2024-01-05T10:00:00'\n+1,?\n007,?\n", "data.arff")
    assert table.frame["a"].to_list() == ["1.50", "+1", "007"]
    assert table.frame["when"][0] == datetime.datetime(2024, 1, 5, 10)


def test_sparse_arff(read):
    rows = "{0 1, 1 2.5, 2 'a } b', 4 no}\n% between\n{}\n{1 ?, 4 no}, {2}\n"
    table = read(ARFF + rows, "data.arff")
    assert table.sparse is None
    assert table.frame.rows() == [
        (1, 2.5, "a } b", None, "no"),
        (0, 0.0, None, None, "yes"),
        (0, None, None, None, "no"),
    ]


def test_wide_sparse_arff(read):
    head = "@relation r\n" + "".join(f"@attribute w{k} numeric\n" for k in range(300))
    text = (
        head
        + "@attribute flag {0,1}\n@attribute class {a,b}\n@data\n{0 1.5, 299 2, 300 1, 301 b}\n{7 3}\n{}\n"
    )
    table = read(text, "data.arff")
    assert table.frame.rows() == [("b",), ("a",), ("a",)]
    assert table.target == "class"
    assert table.sparse is not None
    assert table.sparse_names is not None
    assert (table.sparse.shape, table.height) == ((3, 301), 3)
    found = {(r, table.sparse_names[c]): v for (r, c), v in table.sparse.todok().items()}
    assert found == {(0, "w0"): 1.5, (0, "w299"): 2, (0, "flag"): 1, (1, "w7"): 3}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (ARFF, "a header but no row"),
        ("@relation r\n@attribute a numeric\n", "no @data"),
        ("@relation r\n@data\n1\n", r"no @attribute before @data \(line 2\)"),
        ("@relation r\n@attribute a relational\n@data\n1\n", "attribute 'a' is of type 'relational'"),
        ("@relation r\n@attribute a real\n@attribute a real\n@data\n1,2\n", "duplicated column names: 'a'"),
        ("@relation r\nhello\n", "line 2: 'hello' is not ARFF"),
        (ARFF + "1,2,x,?\n", "line 10 has 4 fields where 5 are expected"),
        (
            ARFF + "1,2,x,?,yes\n1,2,x,?,maybe\n",
            "attribute 'class': 'maybe' in row 2 is not what is declared",
        ),
        (ARFF + "1,two,x,?,yes\n", "attribute '温 度': 'two' in row 1 is not what is declared"),
        (ARFF + "1,2,x,5.3.2024,yes\n", "attribute '日期': '5.3.2024' in row 1"),
        (ARFF + "{0 1}\n{9 1}\n", "row 2: '9 1' is not a sparse row of 5 attributes"),
        (ARFF + "{0 1}\n{0 1, 0 2}\n", "row 2: ' 0 2' is not a sparse row"),
        (ARFF + "{0 1}\n0 1\n", "row 2: '0 1' is not a sparse row"),
        (ARFF + "{0 x}\n", "attribute '编号': 'x' in row 1"),
    ],
)
def test_bad_arff(read, text, message):
    with pytest.raises(TableError, match=message):
        read(text, "data.arff")


@pytest.mark.parametrize("name", ["data.svm", "data.txt"])
def test_svmlight(read, name):
    table = read("# head\n1 1:2 3:4.5 # note\n-1 2:1e-3\n\n2\n", name)
    assert table.frame.to_dict(as_series=False) == {"target": [1, -1, 2]}
    assert table.sparse is not None
    assert table.sparse.toarray().tolist() == [[2, 0, 4.5], [0, 1e-3, 0], [0, 0, 0]]
    assert (table.target, table.format, table.height, table.total_rows) == ("target", "SVMlight", 3, 3)
    assert "indices count from 1" in table.notes


@pytest.mark.parametrize("text", ["1 qid:3 0:2 2:1\n0.5 qid:4 1:1\n", "1 qid:3 2:1 0:2\n0.5 qid:4 1:1\n"])
def test_svmlight_from_zero(read, text):
    table = read(text, "data.libsvm")
    assert table.frame.to_dict(as_series=False) == {"target": [1.0, 0.5], "qid": [3, 4]}
    assert table.sparse is not None
    assert table.sparse.toarray().tolist() == [[2, 0, 1], [0, 1, 0]]


@given(
    st.lists(st.dictionaries(st.integers(1, 50), st.floats(-1e3, 1e3)), min_size=1, max_size=20),
    st.booleans(),
)
def test_svmlight_in_any_order(tmp_path_factory, rows, ordered):
    rows = [{1: 1.0}, *rows]
    lines = [
        " ".join(f"{k}:{v!r}" for k, v in (sorted(row.items()) if ordered else row.items())) for row in rows
    ]
    file = tmp_path_factory.mktemp("svm") / "data.svm"
    file.write_text("".join(f"{r} {line}\n" for r, line in enumerate(lines)))
    table = read_table(file)
    assert table.sparse is not None
    expected = np.zeros((len(rows), max(max(row, default=0) for row in rows)))
    for r, row in enumerate(rows):
        for k, v in row.items():
            expected[r, k - 1] = v
    np.testing.assert_array_equal(table.sparse.toarray(), expected)


def test_svmlight_rows_are_drawn(read):
    text = "".join(f"{k} {'0:1 ' if k == 7 else ''}1:{k} 5:1\n" for k in range(500))
    table = read(text, "data.svm", rows=20, seed=5)
    assert table.sparse is not None
    assert (table.height, table.frame.height, table.total_rows) == (20, 20, 500)
    # Index 0 is in one row only, drawn or not: the columns keep their places.
    np.testing.assert_array_equal(table.sparse.toarray()[:, 1], table.frame["target"].to_numpy())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 1:2\n1,2 1:2\n", r"line 2 has several labels \(1,2\)"),
        ("1 1:2\n1 3:2 3:4\n", "line 2: index 3 comes twice"),
        ("1 1:2\n1 3:x\n", "line 2: 'x' is not a number"),
        ("1 1:2\nabc 1:2\n", "line 2: 'abc' is not a number"),
        ("1 1:2\n1 -1:2\n", "line 2: '-1:2' is not index:value"),
        ("1 1:2\n# ok\n1 3\n", "line 3: '3' is not index:value"),
        ("1\n2\n", "no row has a feature"),
        ("# nothing\n", "the file is empty"),
    ],
)
def test_bad_svmlight(read, text, message):
    with pytest.raises(TableError, match=message):
        read(text, "data.svm")


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize(("x", "y"), [("X", "y"), ("data", "target"), ("x", "y")])
def test_npz(tmp_path, save, x, y):
    X = np.array([[1.5, np.nan], [2.0, 3.0], [0.0, 1.0]])
    save(tmp_path / "data.npz", **{x: X, y: np.array(["甲", "b", "c"]), "columns": ["u", "v"], "more": 5})
    table = read_table(tmp_path / "data.npz")
    assert table.frame.to_dict(as_series=False) == {"u": [1.5, 2, 0], "v": [None, 3, 1], y: ["甲", "b", "c"]}
    assert table.target == y
    assert "arrays not used: 'more'" in table.notes


def test_npz_with_one_matrix(tmp_path):
    matrix = np.asfortranarray(np.arange(2000).reshape(1000, 2))
    np.savez(tmp_path / "data.npz", matrix)
    np.save(tmp_path / "data.npy", matrix)
    for name in ("data.npz", "data.npy"):
        table = read_table(tmp_path / name)
        np.testing.assert_array_equal(table.frame.to_numpy(), matrix)
        some = read_table(tmp_path / name, rows=10)
        assert (some.height, some.total_rows) == (10, 1000)
        np.testing.assert_array_equal(some.frame.to_numpy(), matrix[some.frame["column_1"].to_numpy() // 2])


def test_npz_rows_are_drawn(tmp_path, monkeypatch):
    X = np.arange(300_000.0).reshape(-1, 3)
    np.savez_compressed(tmp_path / "data.npz", X=X, y=np.arange(100_000))
    monkeypatch.setenv("TERCET_MEMORY", "1000000")
    table = read_table(tmp_path / "data.npz")
    assert (table.total_rows, 1000 < table.height < 10_000) == (100_000, True)
    np.testing.assert_array_equal(table.frame["column_1"].to_numpy(), 3.0 * table.frame["y"].to_numpy())


def test_sparse_npz(tmp_path):
    matrix = sparse.random_array((50, 8), density=0.3, rng=0, format="csc")
    sparse.save_npz(tmp_path / "data.npz", matrix)
    table = read_table(tmp_path / "data.npz")
    assert table.sparse is not None
    np.testing.assert_array_equal(table.sparse.toarray(), matrix.toarray())
    assert (table.frame.width, table.height) == (0, 50)
    assert read_table(tmp_path / "data.npz", rows=7).height == 7


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"X": np.array([[{}]], dtype=object)}, "array 'X' holds Python objects, which are not loaded"),
        ({"X": np.eye(3), "y": np.arange(2)}, r"y has shape \(2,\) where X has 3 rows"),
        ({"a": np.eye(3), "b": np.eye(3)}, "no features among the arrays 'a', 'b'"),
        ({"X": np.zeros((2, 2, 2))}, r"array 'X' has shape \(2, 2, 2\)"),
        ({"X": np.zeros((2, 2), complex)}, "type complex128"),
        ({"X": np.zeros((0, 2))}, "there is no row"),
        ({"X": np.eye(2), "columns": ["a", "a"]}, "duplicated column names: 'a'"),
        ({"X": np.eye(2), "columns": ["a", "y"], "y": [1, 2]}, "duplicated column names: 'y'"),
    ],
)
def test_bad_npz(tmp_path, arrays, message):
    np.savez(tmp_path / "data.npz", **arrays)
    with pytest.raises(TableError, match=message):
        read_table(tmp_path / "data.npz")


def test_damaged_npz(tmp_path):
    file = tmp_path / "data.npz"
    np.savez_compressed(file, X=np.random.default_rng(0).normal(size=(50, 3)))
    whole = file.read_bytes()
    file.write_bytes(whole[:200] + b"\xff" * 300 + whole[500:])
    with pytest.raises(TableError, match=r"data\.npz: damaged, or not npz"):
        read_table(file)
    file.write_bytes(whole[:-40])
    with pytest.raises(TableError, match="not a npz file: damaged"):
        read_table(file)
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("data.csv", "a,b\n1,2\n")
    with pytest.raises(TableError, match="a zip archive, which is not read"):
        read_table(file)
