"""Tables as people write them: money, per cents, thousands, accents, titles, a bad cell."""

from __future__ import annotations

import datetime

import polars as pl
import pytest

from tercet.datasets import TableError


def noted(table) -> str:
    return "; ".join(table.notes)


@pytest.mark.parametrize(
    ("cells", "expected", "note"),
    [
        (["€8,090", "€277", "-€5"], [8090, 277, -5], "amounts of money"),
        (["8.090 €", "277,5 €", "5 €"], [8090.0, 277.5, 5.0], "amounts of money"),
        (["￥１，２００", "￥３５０", "￥８"], [1200, 350, 8], "full-width digits"),
        (["$1.50", "$2.25", "US$3"], ["$1.50", "$2.25", "US$3"], ""),  # two units
        (["23.5%", "50 %", "-25%"], [0.235, 0.5, -0.25], "per cent, divided by 100"),
        (["(277)", "13", "(5)"], [-277, 13, -5], "numbers in parentheses are negative"),
        (["1 037", "12 345 678", "9"], [1037, 12345678, 9], "blank between thousands"),
        (["1\u00a0037,5", "12\u202f345", "9"], [1037.5, 12345.0, 9.0], "blank between thousands"),
        (["1'037.5", "12'345", "9"], [1037.5, 12345.0, 9.0], "apostrophe between thousands"),
        (["−3.5", "–2.25", "1"], [-3.5, -2.25, 1.0], "dashes for minus signs"),
        (["１２", "３４", "5"], [12, 34, 5], "full-width digits"),
        (["0", "１", "x"], ["0", "１", "x"], ""),
        (["1 2", "3 4", "5 6"], ["1 2", "3 4", "5 6"], ""),
        (["(5", "6)", "7"], ["(5", "6)", "7"], ""),
        (["0,123", "5,678", "9,012"], [0.123, 5.678, 9.012], "decimal comma"),
        (["5²", "6²", "7²"], ["5²", "6²", "7²"], ""),
    ],
)
@pytest.mark.parametrize("delimiter", ["\t", "|"])
def test_numbers(read, cells, expected, note, delimiter):
    table = read(f"k{delimiter}v\n" + "".join(f"r{k}{delimiter}{cell}\n" for k, cell in enumerate(cells)))
    assert table.frame["v"].to_list() == expected
    assert note in noted(table)


def test_points_between_thousands(read):
    text = "umsatz;preis;y\n277;11,09;nein\n8.090;13,53;ja\n2.826;9,03;ja\n"
    table = read(text)
    assert table.frame["umsatz"].to_list() == [277, 8090, 2826]
    assert "point between thousands in: 'umsatz'" in table.notes
    # Without a decimal comma anywhere, or with a value that cannot be thousands, the point is decimal.
    assert read("a;b\n1.234;x\n2.500;y\n").frame["a"].to_list() == [1.234, 2.5]
    assert read("a;b\n1.234;1,5\n0.500;2,5\n").frame["a"].to_list() == [1.234, 0.5]


def test_half_of_the_digits_full_width(read):
    wide = str.maketrans("0123456789", "０１２３４５６７８９")
    cells = [str(k).translate(wide) if k % 2 else str(k) for k in range(120)]
    table = read("v,y\n" + "".join(f"{cell},no\n" for cell in cells))
    assert table.frame["v"].to_list() == list(range(120))


@pytest.mark.parametrize("blank", ["", '""', "   "])
@pytest.mark.parametrize("values", [["0.5", "-0.5"], ['"a b"', '"c\n\nd"']])
def test_blank_lines_of_one_column_are_rows(read, blank, values):
    table = read("x\n" + "\n".join([blank, values[0], blank, blank, values[1], "9"]) + "\n\n\n")
    assert table.height == table.total_rows == 6
    assert table.frame["x"].is_null().to_list() == [True, False, True, True, False, False]


def test_one_bad_cell(read):
    days = [(datetime.date(2024, 1, 1) + datetime.timedelta(days=k)).isoformat() for k in range(119)]
    rows = [f"{day},{k * 3},{k / 8}" for k, day in enumerate(days)]
    table = read("when,n,v\n" + "\n".join([*rows[:50], "0000-00-00,007,see above", *rows[50:]]) + "\n")
    assert table.frame.dtypes == [pl.Date, pl.Int64, pl.Float64]
    assert table.frame.row(50) == (None, 7, None)
    assert "column 'when': what is no date counts as missing, in 1 rows: '0000-00-00'" in table.notes
    assert "column 'v': what is no number counts as missing, in 1 rows: 'see above'" in table.notes
    assert "a few leading zeros mean nothing in: 'n'" in table.notes


def test_not_only_one_bad_cell(read):
    many = [f"{k}.5" for k in range(100)]
    assert read("v,y\n" + "".join(f"{v},a\n" for v in [*many, *["low"] * 6])).frame["v"].dtype == pl.String
    # Codes have one length; a few numbers and a word are categories.
    codes = [f"{k:05}" for k in range(9000, 12000)]
    assert read("v,y\n" + "".join(f"{v},a\n" for v in codes)).frame["v"].to_list() == codes
    grades = ["1", "2", "3"] * 40 + ["A"]
    assert read("v,y\n" + "".join(f"{v},a\n" for v in grades)).frame["v"].to_list() == grades


@pytest.mark.parametrize("delimiter", [",", "|", ";", "\t"])
@pytest.mark.parametrize(
    "words",
    [["straße", "Zürich", "Köln"], ["preço", "thé", "€5"], ["nom", "José", "Größe"], ["nom", "Noël", "Kö"]],
)
def test_western_europe(read, delimiter, words):
    text = "x,{},y\n0.35,{},yes\n0.82,{},no\n".format(*words).replace(",", delimiter)
    table = read(text.encode("cp1252"))
    assert [table.frame.columns[1], *table.frame.to_series(1).to_list()] == words
    assert "encoding: Windows-1252" in table.notes


def test_chinese_beside_latin_letters(read):
    text = "名称,温度T,y\nA组,1.5,是\nB组b,2.5,否\nx中y,3.5,是\n"
    table = read(text.encode("gb18030"))
    assert table.frame.columns == ["名称", "温度T", "y"]
    assert table.frame["名称"].to_list() == ["A组", "B组b", "x中y"]


@pytest.mark.parametrize("header", ["country,2019,2020,y", "name,2019,2020,2021,z"])
def test_years_as_names(read, header):
    width = header.count(",") - 1
    rows = "".join(f"n{k}," + f"{k}.25," * width + ("no\n" if k % 2 else "yes\n") for k in range(9))
    assert ",".join(read(f"{header}\n{rows}").frame.columns) == header
    # Years above years are no names.
    table = read("Norway,2019,yes\nSweden,2020,no\nFinland,2018,yes\n")
    assert table.height == 3


ROWS = "".join(f"0.{k},1.{k},{'yes' if k % 2 else 'no'}\n" for k in range(10, 30))


@pytest.mark.parametrize("title", ["Sales report 2024\n\n", "Sales report 2024,,\n", "Sales, 2024\n"])
def test_a_title_above_the_header(read, title):
    table = read(f"{title}x,z,y\n{ROWS}")
    assert table.frame.columns == ["x", "z", "y"]
    assert table.height == 20
    assert "a title above the header is skipped: 'Sales" in noted(table)
    with pytest.raises(
        TableError, match=f"line {title.count(chr(10)) + 22} has 4 fields where 3 are expected"
    ):
        read(f"{title}x,z,y\n{ROWS}1,2,3,4\n")


def test_units_below_the_header(read):
    table = read(f"x,z,y\nkg,m/s,\n(mean),(mean),class\n{ROWS}")
    assert table.frame.dtypes == [pl.Float64, pl.Float64, pl.String]
    assert table.height == 20
    assert (
        "lines below the header are no data and are skipped: 'kg m/s', '(mean) (mean) class'" in table.notes
    )
    with pytest.raises(TableError, match="line 24 has 4 fields where 3 are expected"):
        read(f"x,z,y\nkg,m/s,\n(mean),(mean),class\n{ROWS}1,2,3,4\n")
    # A first row of missing values, or with one strange value, is a row.
    assert read(f"x,z,y\nNA,NA,yes\n{ROWS}").height == 21
    assert read(f"x,z,y\nmuch,1.5,yes\n{ROWS}").height == 21


def test_zones_here_and_there(read):
    table = read("t,y\n2024-01-01 10:00,a\n2024-01-01T11:00:00Z,b\n2024-01-01 12:00:00+0800,c\n")
    assert table.frame["t"].dt.hour().to_list() == [10, 11, 4]
    assert (
        "times with and without a zone are mixed, and those without are taken as UTC, in: 't'" in table.notes
    )
    assert "zone" not in noted(read("t,y\n2024-01-01,a\n2024-01-01T11:00:00Z,b\n"))


def test_times_of_day(read):
    table = read("t,y\n9:30,a\n23:59:58.5,b\nNA,c\n")
    assert table.frame["t"].to_list() == [datetime.time(9, 30), datetime.time(23, 59, 58, 500_000), None]
    assert read("t,y\n9:30,a\n75:10,b\n").frame["t"].dtype == pl.String
    table = read("t,y\n10:00,a\nlate,b\n", like=table.reading)
    assert table.frame["t"].to_list() == ["10:00:00", "late"]


def test_svmlight_that_is_not_finite(read):
    table = read("0 1:nan 2:1\n1 1:inf 2:2\n", "a.svm")
    assert "values that are NaN or infinite: 2" in table.notes
