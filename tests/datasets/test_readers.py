"""Text tables: what is written in any dialect and encoding reads back as it was."""

from __future__ import annotations

import csv
import datetime
import gzip
import io
import string

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tercet.datasets import Table, TableError, read_batches, read_table
from tercet.datasets.readers.source_file import sample_rows


def columns(table: Table) -> dict[str, list]:
    return table.frame.to_dict(as_series=False)


def said(table: Table, template: str) -> list[dict]:
    return [note.values for note in table.notes if note.template == template]


MIXED = "编号,城市,温度,雨,日期\n1,北京,21.5,true,2024-03-05\n2,上海,,false,2024-03-06\n3,广州,30.25,true,\n"
MIXED_COLUMNS = {
    "编号": [1, 2, 3],
    "城市": ["北京", "上海", "广州"],
    "温度": [21.5, None, 30.25],
    "雨": [True, False, True],
    "日期": [datetime.date(2024, 3, 5), datetime.date(2024, 3, 6), None],
}


@pytest.mark.parametrize(
    ("encoding", "name"),
    [
        ("utf-8", "UTF-8"),
        ("utf-8-sig", "UTF-8 with BOM"),
        ("utf-16", "UTF-16 LE"),
        ("utf-16-le", "UTF-16 LE"),
        ("utf-16-be", "UTF-16 BE"),
        ("gb18030", "GB18030"),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_encodings_and_line_ends(read, encoding, name, end):
    table = read(MIXED.replace("\n", end).encode(encoding))
    assert columns(table) == MIXED_COLUMNS
    assert said(table, "encoding: {encoding}") == [{"encoding": name}]
    assert (table.source, table.format, table.total_rows, table.height) == ("data.csv", "CSV", 3, 3)


@pytest.fixture(params=[7, 64, 1000])
def small_blocks(request, monkeypatch):
    """Files are looked at in pieces: no matter where these are cut."""
    monkeypatch.setattr("tercet.datasets.readers.source_file.BLOCK", request.param)
    monkeypatch.setattr("tercet.datasets.readers.record_scan.BLOCK", request.param)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "gb18030"])
def test_in_pieces(read, encoding):
    plain = [(k, f"w{k % 7}") for k in range(200)]
    quoted = [(k, f'词, "{k}"\n第二行' + "x" * (k % 30)) for k in range(200)]
    text = io.StringIO(newline="")
    csv.writer(text).writerows([("k", "text"), *plain, *quoted])
    table = read(text.getvalue().encode(encoding))
    assert table.frame.rows() == [*plain, *quoted]
    some = read(text.getvalue().encode(encoding), rows=60)
    assert set(some.frame.rows()) < set(plain + quoted)
    assert some.frame.height == 60
    with pytest.raises(TableError, match="line 602 has 3 fields where 2 are expected"):
        read((text.getvalue() + "1,2,3\n").encode(encoding))


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", " "])
@pytest.mark.parametrize("name", ["data.csv", "data.txt"])
def test_delimiters(read, delimiter, name):
    table = read("a,b,c\n1,x,2.5\n2,y,3.5\n".replace(",", delimiter), name)
    assert columns(table) == {"a": [1, 2], "b": ["x", "y"], "c": [2.5, 3.5]}
    assert table.format == ("TSV" if delimiter == "\t" else "CSV")


def test_runs_of_spaces(read):
    table = read(" a   b  c\n 1  2.5 'x y'\n 10 3.5   z  \n")
    assert columns(table) == {"a": [1, 10], "b": [2.5, 3.5], "c": ["x y", "z"]}


@pytest.mark.parametrize(
    "text",
    [
        "a b\tc\n1 2\t3\n4\t5  6\n",
        "a\tb c\n1\t2 3\n4  5\t6\n",
        "\ta b c\n\t1 2 3\n4 \t 5 6\n",
        "a b c\n1\t2\t3\n4\t5\t6\n",
    ],
)
def test_tabs_and_blanks_together(read, text):
    assert columns(read(text)) == {"a": [1, 4], "b": [2, 5], "c": [3, 6]}


@pytest.mark.parametrize(
    "text",
    [
        "a\t b  c d\n0.5\t -1.5  2 x\n1.5\t 2.5  3 y\n",
        "a\tb c d\n0.5\t-1.5 2 x\n1.5\t2.5 3 y\n",
    ],
)
def test_tabs_and_blanks_together_with_words_among_the_values(read, text):
    assert columns(read(text)) == {"a": [0.5, 1.5], "b": [-1.5, 2.5], "c": [2, 3], "d": ["x", "y"]}


def test_blanks_inside_cells_of_a_file_with_tabs_stay(read):
    assert columns(read("full name\tnet weight\nAda Byron\t3 kg\nJohn Smith\t4 kg\n")) == {
        "full name": ["Ada Byron", "John Smith"],
        "net weight": ["3 kg", "4 kg"],
    }
    assert columns(read("a\tb\n1\t2 3\n4\tx y\n")) == {"a": [1, 4], "b": ["2 3", "x y"]}
    assert columns(read("who\tn\nJohn Smith\t3\nAda Byron\t4\n")) == {
        "who": ["John Smith", "Ada Byron"],
        "n": [3, 4],
    }
    assert columns(read('x  y\n1 "a\tb"\n2\tc\n')) == {"x": [1, 2], "y": ["a\tb", "c"]}


def test_columns_of_one_name_are_told_apart(read):
    table = read("a,b,a,b,c,a_2\n1,2,3,4,5,6\n7,8,9,10,11,12\n")
    assert table.frame.columns == ["a", "b", "a_3", "b_2", "c", "a_2"]
    assert table.frame.row(0) == (1, 2, 3, 4, 5, 6)
    assert "columns of a name that is there already are called 'a_3', 'b_2'" in table.notes


RAGGED = 'a,b,c\n1,2,3\n4,5\n\n6,7,8,9\n"1,5",1,"q\nr"\n'


def test_ragged_lines_are_left_out_or_filled(read, tmp_path):
    with pytest.raises(TableError, match="--ragged skip leaves such lines out"):
        read(RAGGED)
    skipped, filled = (read_table(tmp_path / "data.csv", ragged=how) for how in ("skip", "fill"))
    assert skipped.frame.rows() == [(1.0, 2, "3"), (1.5, 1, "q\nr")]
    assert "lines of another number of fields are left out: 2" in skipped.notes
    assert filled.frame.rows() == [(1.0, 2, "3"), (4.0, 5, None), (6.0, 7, "8"), (1.5, 1, "q\nr")]
    assert "lines of another number of fields are filled up or cut: 2" in filled.notes
    assert [t.height for t in read_batches(tmp_path / "data.csv", ragged="fill")] == [4]
    with pytest.raises(ValueError, match="ragged must be one of 'error', 'skip', 'fill'; got 'guess'"):
        read_table(tmp_path / "data.csv", ragged="guess")
    regular = "a,b\n1,2\n"
    assert read(regular).notes == read_table(tmp_path / "data.csv", ragged="skip").notes


def test_the_standard_input(monkeypatch):
    for text in (b"a,b\n1,2\n3,4\n", gzip.compress(b"a,b\n1,2\n3,4\n")):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
        table = read_table("-")
        assert columns(table) == {"a": [1, 3], "b": [2, 4]}
        assert table.source == "stdin"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"")))
    with pytest.raises(TableError, match="stdin: the file is empty"):
        read_table("-")
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(TableError, match="-: cannot be read"):
        read_table("-")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('a,b\n"x, ""y""\nz",1\nw,2\n', ['x, "y"\nz', "w"]),
        ('a,b\r\n"x\r\ny",1\r\nw,2\r\n', ["x\r\ny", "w"]),
        ("a,b\n'x, y',1\nw,2\n", ["x, y", "w"]),
        ('a,b\n"x \\"y\\", z",1\nw,2\n', ['x "y", z', "w"]),
        ('a,b\n"C:\\x\\",1\nw,2\n', ["C:\\x\\", "w"]),
        ('a,b\n5" pipe,1\nw,2\n', ['5" pipe', "w"]),
        ("a,b\nO'Brien,1\nw,2\n", ["O'Brien", "w"]),
        ('a, b\n"x, y", 1\nw, 2\n', ["x, y", "w"]),
        ("a,b\nx; y,1\nw; z,2\n", ["x; y", "w; z"]),
    ],
)
def test_quotes(read, text, expected):
    assert columns(read(text)) == {"a": expected, "b": [1, 2]}


def test_a_name_may_hold_a_line_break(read):
    table = read('"a\nb",c\n1,2\n3,4\n')
    assert columns(table) == {"a\nb": [1, 3], "c": [2, 4]}


@pytest.mark.parametrize(
    "text",
    [
        "# about\n# the data\na,b\n1,2\n3,4\n",
        "\n\na,b\n1,2\n\n3,4\n   \n\n",
        "a,b\n1,2\n3,4",
        "a,b,\n1,2,\n3,4,\n",
        "a,b\n1,2,\n3,4,\n",
        "sep=,\na,b\n1,2\n3,4\n",
        '"a","b"\n"1","2"\n"3","4"\n',
    ],
)
def test_around_the_rows(read, text):
    assert columns(read(text)) == {"a": [1, 3], "b": [2, 4]}


@pytest.mark.parametrize(
    "text",
    [
        "1,2,3\n4,5,6\n",
        "5.1,3.5,Iris-setosa\n4.9,3.0,Iris-setosa\n",
        "p,x\ne,y\np,y\ne,x\n",
        "?,x,1\n2,y,3\n4,x,5\n",
        "2024-01-01,3\n2024-01-02,4\n",
    ],
)
def test_no_header(read, text):
    table = read(text)
    rows = text.count("\n")
    assert table.height == rows
    assert table.frame.columns[0] == "column_1"
    assert any("no header" in note for note in table.notes)


@pytest.mark.parametrize("text", ["0,1,2\n5,6.5,7\n8,9.5,10\n", "where,1990,1991,1992\nx,5,6,8\ny,8,9,1\n"])
def test_numbers_as_names(read, text):
    assert read(text).frame.columns == text.split("\n")[0].split(",")


def test_a_column_without_a_name_gets_one(read):
    table = read(",a\n0,5\n1,6\n")
    assert table.frame.columns == ["column_1", "a"]
    assert said(table, "columns without a name are called {columns}")


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1,5", "-2,25", "3"], [1.5, -2.25, 3.0]),
        (["1.234,5", "12,5", "1.000.000"], [1234.5, 12.5, 1e6]),
        (["1,234,567", "12,000", "5"], [1234567, 12000, 5]),
        (["1,234.5", "12", "0.5"], [1234.5, 12.0, 0.5]),
        (["1,234", "5,678", "9,012"], [1.234, 5.678, 9.012]),  # between semicolons, the comma is decimal
        (["007", "012", "100"], ["007", "012", "100"]),
        (["0.5", "00.5", "1"], [0.5, 0.5, 1.0]),
        (["12345678901234567890123", "1", "2"], ["12345678901234567890123", "1", "2"]),
        (["1e3", "-2E-2", "+5"], [1000.0, -0.02, 5.0]),
        (["1", "2.5", "x"], ["1", "2.5", "x"]),
        (["1.2.3", "4.5.6", "7.8.9"], ["1.2.3", "4.5.6", "7.8.9"]),
        (["1", "  ", " 3 "], [1, None, 3]),
        (["true", "FALSE", "True"], [True, False, True]),
        (["yes", "no", "yes"], ["yes", "no", "yes"]),
        (["是", "否", "是"], ["是", "否", "是"]),
    ],
)
def test_numbers_and_words(read, cells, expected):
    table = read("k;v\n" + "".join(f"r{k};{cell}\n" for k, cell in enumerate(cells)))
    assert columns(table)["v"] == expected
    assert [type(v) for v in columns(table)["v"]] == [type(v) for v in expected]


def test_thousands_in_a_file_with_commas(read):
    table = read('a,v\nx,"1,234"\ny,"5,678"\n')
    assert columns(table)["v"] == [1234, 5678]
    assert said(table, "comma between thousands in: {columns}") == [{"columns": "'v'"}]


DAY = datetime.datetime(2024, 3, 5)


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["2024-03-05", "2024-03-06"], DAY.date()),
        (["2024/3/5", "2024/12/16"], DAY.date()),
        (["05.03.2024", "6.3.2024"], DAY.date()),
        (["2024年3月5日", "2024年12月16日"], DAY.date()),
        (["03/05/2024", "03/25/2024"], DAY.date()),
        (["05/03/2024", "25/03/2024"], DAY.date()),
        (["2024-03-05 10:30", "2024-03-06 11:30"], DAY.replace(hour=10, minute=30)),
        (
            ["2024-03-05T10:30:15.5", "2024-03-06T11:30:00"],
            DAY.replace(hour=10, minute=30, second=15, microsecond=500000),
        ),
        (["2024-03-05T10:30:00+08:00", "2024-03-06T11:30:00Z"], DAY.replace(hour=2, minute=30)),
        (["05/03/2024", "06/04/2024"], "05/03/2024"),
        (["2024-13-05", "2024-03-06"], "2024-13-05"),
    ],
)
def test_dates(read, cells, expected):
    table = read("k,v\n" + "".join(f"r{k},{cell}\n" for k, cell in enumerate([*cells, "NA"])))
    assert columns(table)["v"][0] == expected
    if not isinstance(expected, str):
        assert columns(table)["v"][-1] is None


def test_marks_for_missing_values(read):
    table = read("a,b,c,d\n1,NA,x,NA\nNA,2.5,?,y\n-,.,z,-\n3,4.5,缺失,w\n")
    assert columns(table) == {
        "a": [1, None, None, 3],
        "b": [None, 2.5, None, 4.5],
        "c": ["x", None, "z", None],
        "d": [None, "y", None, "w"],  # NA and - mark missing numbers in this file
    }
    marks = {
        values["mark"]: values["columns"]
        for values in said(table, "{mark!r} is a missing value in: {columns}")
    }
    assert marks["NA"] == "'a', 'b', 'd'"
    assert marks["?"] == "'c'"


def test_a_word_may_be_na(read):
    table = read("a,region\n1,NA\n2,EU\n3,-\n4,None\n")
    assert columns(table)["region"] == ["NA", "EU", "-", "None"]
    assert {values["mark"] for values in said(table, "{mark!r} stays a value of its own in: {columns}")} == {
        "NA",
        "-",
        "None",
    }


def test_a_late_surprise(read):
    """Types come from a sample; a value beyond it must not be lost."""
    numbers = "".join(f"{k},{k}\n" for k in range(60_000))
    table = read("a,b\n" + numbers + "?,007\n")
    assert table.frame["a"].dtype == pl.Int64
    assert table.frame["a"].null_count() == 1
    assert table.frame["b"].dtype == pl.Int64
    assert table.frame["b"][-1] == 7
    assert said(table, "a few leading zeros mean nothing in: {columns}") == [{"columns": "'b'"}]
    table = read("a,b\n" + numbers + "x,1.5\n")
    assert table.frame.dtypes == [pl.Int64, pl.Float64]
    assert table.frame["a"].null_count() == 1
    assert table.notes[-1] == "column 'a': what is no number counts as missing, in 1 rows: 'x'"


plain = st.text(string.ascii_letters + "市é川", min_size=1, max_size=6).map(lambda word: "w" + word)
wild = st.text(string.ascii_letters + " ,;\t|'\"\n中文-", max_size=8).map(lambda word: "w" + word + "w")


@given(
    rows=st.lists(
        st.tuples(plain, wild, st.integers(-(10**6), 10**6), st.floats(-1e6, 1e6)), min_size=4, max_size=30
    ),
    delimiter=st.sampled_from(",;\t|"),
    end=st.sampled_from(["\n", "\r\n"]),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_NONNUMERIC, csv.QUOTE_ALL]),
    quote=st.sampled_from("\"'"),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "gb18030"]),
)
def test_what_the_csv_module_writes(tmp_path_factory, rows, delimiter, end, quoting, quote, encoding):
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter, lineterminator=end, quoting=quoting, quotechar=quote)
    writer.writerow(["name", "words", "whole", "real"])
    writer.writerows(rows)
    file = tmp_path_factory.mktemp("csv") / "data.csv"
    file.write_bytes(text.getvalue().encode(encoding))
    found = columns(read_table(file))
    assert list(zip(*found.values())) == rows


@pytest.mark.parametrize("pack", ["gzip", "bz2", "lzma"])
def test_packed(read, pack):
    table = read(__import__(pack).compress(MIXED.encode()), "data.csv.gz")
    assert columns(table) == MIXED_COLUMNS


def test_packed_tsv_knows_its_ending(read):
    assert columns(read(gzip.compress(b"a\tb\n1\t2\n3\t4\n"), "data.tsv.gz")) == {"a": [1, 3], "b": [2, 4]}


def test_rows_are_drawn(read):
    text = "k,text\n" + "".join(f'{k},"line {k}\nmore"\n' for k in range(2000))
    table = read(text, rows=50, seed=3)
    again, other = read(text, rows=50, seed=3), read(text, rows=50, seed=4)
    assert (table.height, table.total_rows) == (50, 2000)
    assert table.frame.equals(again.frame)
    assert not table.frame.equals(other.frame)
    assert table.frame["k"].is_sorted()
    assert table.frame["text"].to_list() == [f"line {k}\nmore" for k in table.frame["k"]]
    assert said(table, "{rows} of {total} rows, drawn at random, are used") == [{"rows": 50, "total": 2000}]
    assert read(text, rows=5000).height == 2000


def test_a_file_larger_than_memory(read, monkeypatch):
    text = "x,y,c\n" + "".join(f"{k},{k / 7:.6f},c{k % 5}\n" for k in range(30_000))
    monkeypatch.setenv("TERCET_MEMORY", "1000000")
    table = read(text)
    assert table.total_rows == 30_000
    assert 1_000 < table.height < 10_000
    assert table.frame.estimated_size() < 500_000
    k = table.frame["x"].to_numpy()
    np.testing.assert_allclose(table.frame["y"].to_numpy(), k / 7, atol=1e-6)
    assert abs(k.mean() - 15_000) < 1_000
    assert read(text).frame.equals(table.frame)
    monkeypatch.setenv("TERCET_MEMORY", "lots")
    with pytest.raises(TableError, match="TERCET_MEMORY must be a number of bytes; got 'lots'"):
        read(text)


def test_ragged_far_away_while_drawing(read, monkeypatch):
    monkeypatch.setenv("TERCET_MEMORY", "100000")
    text = "x,y\n" + "".join(f"{k},1\n" for k in range(60_000)) + "1,2,3\n" + "1,2\n" * 10
    with pytest.raises(TableError, match="line 60002 has 3 fields where 2 are expected"):
        read(text)


@given(total=st.integers(1, 3 * 2**20), share=st.floats(0, 1), seed=st.integers(0, 5))
def test_draw(total, share, seed):
    rows = round(share * min(total, 10_000))
    drawn = sample_rows(total, rows, seed)
    assert len(drawn) == rows
    assert (np.diff(drawn) > 0).all()
    assert rows == 0 or (drawn[0] >= 0 and drawn[-1] < total)
