"""A second file with another look: its columns must mean what they meant in the first."""

from __future__ import annotations

import datetime
import json

import numpy as np
import polars as pl
import pytest
from scipy import sparse

from tercet.datasets import TableError, read_batches, read_table


@pytest.fixture
def alike(read):
    """Read a second file in the way of a first; what is kept of the first goes through JSON."""

    def alike(first, second, name="first.csv", other="second.csv"):
        reading = json.loads(json.dumps(read(first, name).reading))
        return read(second, other, like=reading)

    return alike


def values(table, name):
    return table.frame[name].to_list()


def test_decimal_comma(alike, read):
    assert values(read("a\n1,234\n", "x.tsv"), "a") == [1234]
    table = alike("a\ty\n1,5\tyes\n1,132\tyes\n-0,25\tno\n", "a\n1,234\n", "x.tsv", "y.tsv")
    assert values(table, "a") == [1.234]
    # A point is for the eye there, though polars alone would take it for decimal.
    table = alike("a;b\n1,5;x\n2,25;y\n", "a;b\n8.090;x\n277;y\n")
    assert values(table, "a") == [8090.0, 277.0]
    # Whole numbers do not tell, but the columns beside them did.
    assert values(alike("k;a\n1;1,5\n2;2,25\n", "k;a\n1,500;3\n2,250;4\n"), "k") == [1.5, 2.25]


def test_decimal_point(alike):
    assert values(alike("a;b\n1.5;x\n2.25;y\n", "a;b\n1,234;x\n2,500;y\n"), "a") == [1234.0, 2500.0]
    assert values(alike("a;b\n€1.50;x\n€2.25;y\n", "a;b\n1.5;x\n€ 1,500;y\n"), "a") == [1.5, 1500.0]
    assert values(alike("a;b\n€1.50;x\n€2.25;y\n", "a;b\n$1.5;x\n1.5;y\n"), "a") == ["$1.5", "1.5"]


def test_marks_for_missing_values(alike, read):
    first = "region,x,y\nEU,0.1,p\nNA,0.2,q\nAS,0.3,p\n"
    second = "region,x,y\nEU,0.1,q\nNA,0.6,p\nEU,NA,p\n"
    assert values(read(second), "region") == ["EU", None, "EU"]
    table = alike(first, second)
    assert values(table, "region") == ["EU", "NA", "EU"]
    assert values(table, "x") == [0.1, 0.6, None]
    # The other way round: where NA was missing, it is.
    assert values(alike(second, first), "region") == ["EU", None, "AS"]


def test_words_that_look_like_numbers(alike):
    table = alike("v,x\n1.10,1\n1.9,2\ndev,3\n", "v,x\n1.10,1\n1.9,2\n2.0,3\n")
    assert values(table, "v") == ["1.10", "1.9", "2.0"]
    assert values(alike("zip,x\n02134,1\n90210,2\n", "zip,x\n90210,1\n12345,2\n"), "zip") == [
        "90210",
        "12345",
    ]
    table = alike("d,x\n01/02/2024,1\n03/04/2024,2\n", "d,x\n01/02/2024,1\n13/04/2024,2\n")
    assert values(table, "d") == ["01/02/2024", "13/04/2024"]


@pytest.mark.parametrize(("told", "order"), [("25/03/2024", "dmy"), ("03/25/2024", "mdy")])
def test_order_of_dates(alike, told, order):
    table = alike(f"when,x\n{told},1\n04/06/2024,2\n", "when,x\n03/04/2024,1\nNA,2\n2024-04-03,3\n")
    day = datetime.datetime(2024, 4, 3) if order == "dmy" else datetime.datetime(2024, 3, 4)
    assert values(table, "when") == [day, None, datetime.datetime(2024, 4, 3)]
    assert values(alike("when,x\n2024-01-05,1\n2024-01-06,2\n", "when,x\nNA,1\n"), "when") == [None]


def test_what_contradicts_stays_text(alike):
    """The rest is written plainly, so that the value to complain about is the strange one."""
    table = alike("a;b\n1,5;x\n2,25;y\n", "a;b\n1,5;x\nmuch;y\nNA;z\n")
    assert values(table, "a") == ["1.5", "much", None]
    table = alike("a,b\n25.03.2024,x\n26.03.2024,y\n", "a,b\n1.4.2024,x\nsoon,y\n")
    assert values(table, "a")[1] == "soon"
    assert values(table, "a")[0].startswith("2024-04-01")
    many = "".join(f"{k}.5,x\n" for k in range(1000))
    assert values(alike("a,b\n" + many, "a,b\n" + many + "much,y\n"), "a")[-1] == "much"
    strays = "a,b\n" + many + "much,y\n"
    table = alike(strays, "a,b\n1.5,x\nmuch,y\n")
    assert values(table, "a") == [1.5, None]
    assert table.notes[-1] == "column 'a': what is no number counts as missing, in 1 rows: 'much'"


def test_header(alike):
    """Names that are known are a header; a table without one is followed by another."""
    assert values(alike("p,x\ne,y\np,y\ne,x\n", "x,y\np,y\ne,x\n"), "column_1") == ["x", "p", "e"]
    assert alike("a,b\n1,x\n2,y\n3,x\n", "b,a\nx,1\nb,2\nx,3\n").frame.columns == ["b", "a"]


def test_svmlight_base_and_width(alike, read):
    first = "0 0:1 2:0.9 4:0.4\n1 0:0.3 1:0.4\n"
    second = "0 2:0.9 3:0.4\n1 1:0.4\n"
    assert read(second, "b.svm").sparse.shape == (2, 3)
    table = alike(first, second, "a.svm", "b.svm")
    np.testing.assert_array_equal(table.sparse.toarray(), [[0, 0, 0.9, 0.4, 0], [0, 0.4, 0, 0, 0]])
    with pytest.raises(TableError, match="there is an index 0, where indices are to count from 1"):
        alike("0 1:1\n", first, "a.svm", "b.svm")


def test_between_formats(alike, tmp_path):
    frame = pl.DataFrame({"v": ["1.10", "1.9"], "w": [1.5, 2.5]})
    frame.write_parquet(tmp_path / "a.parquet")
    reading = read_table(tmp_path / "a.parquet").reading
    (tmp_path / "b.csv").write_text("v,w\n1.10,1.5\n2.0,\n")
    assert read_table(tmp_path / "b.csv", like=reading).frame.rows() == [("1.10", 1.5), ("2.0", None)]
    reading = read_table(
        tmp_path / "b.csv", like={"columns": {"w": {"kind": "number", "decimal": ","}}}
    ).reading
    pl.DataFrame({"w": ["1,234", "5"]}).write_parquet(tmp_path / "c.parquet")
    assert values(read_table(tmp_path / "c.parquet", like=reading), "w") == [1.234, 5.0]


@pytest.mark.parametrize(
    "like",
    [
        None,
        {},
        [],
        {"columns": [1]},
        {"columns": {"a": {"kind": "zzz"}, "b": 7}},
        {"columns": {"a": {"kind": "date", "order": "{y}"}, "b": {"kind": "number", "decimal": ["."]}}},
        {"decimal": ";", "missing": 5, "header": "no", "base": True, "width": -1},
    ],
)
def test_nonsense_is_passed_over(read, like):
    """It is kept in model files, which may come from anywhere."""
    table = read("a,b\nx,1.5\ny,2.5\n", like=like)
    assert values(table, "b") == [1.5, 2.5]
    assert read("1 1:2\n", "a.svm", like=like).sparse.shape == (1, 1)


def batches(file, monkeypatch, memory, **options):
    whole = read_table(file, **options)
    monkeypatch.setenv("TERCET_MEMORY", str(memory))
    pieces = list(read_batches(file, **options))
    monkeypatch.delenv("TERCET_MEMORY")
    assert all(piece.total_rows == whole.height for piece in pieces)
    assert not any("drawn at random" in note for piece in pieces for note in piece.notes)
    return whole, pieces


@pytest.mark.parametrize(
    "kind", ["csv", "txt", "parquet", "feather", "npz", "npy", "svm", "arff", "sparse.arff"]
)
def test_all_rows_in_pieces(tmp_path, kind, monkeypatch):
    monkeypatch.setattr("tercet.datasets.readers.record_scan.BLOCK", 777)
    n = 500
    rng = np.random.default_rng(0)
    x, c = rng.normal(size=n).round(3), rng.integers(0, 3, n)
    frame = pl.DataFrame({"k": np.arange(n), "x": x, "c": [f"w {k}" for k in c]})
    file = tmp_path / f"data.{kind}"
    if kind == "csv":
        lines = [f'{k},{v},"{w}\nmore"\n' + "\n" * (k % 7 == 0) for k, v, w in frame.rows()]
        file.write_text("k,x,c\n" + "".join(lines))
    elif kind == "txt":
        file.write_text("  k  x c\n" + "".join(f" {k}   {v} '{w}'\n" for k, v, w in frame.rows()))
    elif kind == "parquet":
        frame.write_parquet(file, row_group_size=64)
    elif kind == "feather":
        frame.write_ipc(file)
    elif kind == "npz":
        np.savez(file, X=np.c_[x, x + 1], y=c)
    elif kind == "npy":
        np.save(file, np.c_[x, c])
    elif kind == "svm":
        file.write_text("".join(f"{w} {1 + k % 5}:{v} 9:1\n" for k, (v, w) in enumerate(zip(x, c))))
    elif kind == "arff":
        rows = "".join(f"{k},{v},'{w}'\n" for k, v, w in frame.rows())
        file.write_text(
            "@relation r\n@attribute k integer\n@attribute x real\n@attribute c string\n@data\n" + rows
        )
    else:
        names = "".join(f"@attribute a{k} real\n" for k in range(300))
        rows = "".join(f"{{{k % 299} {v}, 299 1}}\n" for k, v in enumerate(x))
        file.write_text(f"@relation r\n{names}@data\n{rows}")
    whole, pieces = batches(file, monkeypatch, 20_000)
    assert len(pieces) > 2
    assert sum(piece.height for piece in pieces) == n
    if whole.frame.width:
        assert pl.concat([piece.frame for piece in pieces]).equals(whole.frame)
    if whole.sparse is not None:
        wide = max(piece.sparse.shape[1] for piece in pieces)
        assert {piece.sparse.shape[1] for piece in pieces} == {wide}
        assert (abs(sparse.vstack([piece.sparse for piece in pieces]) - whole.sparse)).nnz == 0
    assert len(list(read_batches(file))) == 1


def test_pieces_are_read_alike(tmp_path, monkeypatch):
    """What only some rows tell holds for all of them."""
    file = tmp_path / "data.csv"
    lines = [f"{k},7;{k % 28 + 1:02}/03/2024;{'NA' if k % 3 else 'x'}\n" for k in range(400)]
    file.write_text("a;when;c\n" + "1,234;03/04/2024;NA\n" * 400 + "".join(lines))
    whole, pieces = batches(file, monkeypatch, 20_000)
    frame = pl.concat([piece.frame for piece in pieces])
    assert frame.equals(whole.frame)
    assert frame.row(0) == (1.234, datetime.date(2024, 4, 3), "NA")
    said = [note for piece in pieces for note in piece.notes]
    assert len(said) == len(set(said))
    assert "decimal comma in: 'a'" in pieces[0].notes


def test_a_note_tells_only_of_what_was_read(tmp_path):
    """Points in numbers that do not fit the decimal comma of the first file are no thousands."""
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    first.write_text("a;b\n1,5;x\n2,5;y\n3,25;x\n", encoding="utf-8")
    second.write_text("a;b\n100.5;x\n60;y\n", encoding="utf-8")
    table = read_table(second, like=read_table(first).reading)
    assert table.frame["a"].to_list() == ["100.5", "60.0"]
    assert not [note for note in table.notes if "thousands" in note]
