"""Columns whose names polars takes for patterns: readers and schemas take them by exact name."""

import datetime
import io

import numpy as np
import polars as pl
import pytest

from tercet.datasets import read_table
from tercet.feature import infer_schema

N = 12
COLUMNS = {
    "^a.*$": [k / 4 for k in range(N)],
    "ab": ["red", "blue", "green"] * 4,
    "^.*$": ["x", None, "y"] * 4,
    "^when$": [datetime.date(2024, 1, 1 + k) for k in range(N)],
    "^yes$": [True, False] * 6,
    "^text$": [f"{k}" if k else "many" for k in range(N)],
    "^n$": [k * k for k in range(N)],
    "^gap$": [None if k == 3 else k / 8 for k in range(N)],
    "^id$": [f"row {k}" for k in range(N)],
    "^class$": ["u", "v"] * 6,
}
FRAME = pl.DataFrame(COLUMNS)
PLAIN = FRAME.rename({name: name.strip("^$") + "_" for name in COLUMNS})


def written(name, frame):
    file = io.BytesIO()
    if name.endswith("parquet"):
        frame.write_parquet(file)
    elif name.endswith("feather"):
        frame.write_ipc(file)
    elif name.endswith("npz"):
        numbers = frame[:, [0, 6, 7]]
        np.savez(file, X=numbers.to_numpy(), names=np.array(numbers.columns))
    elif name.endswith("arff"):
        numbers = frame[:, [0, 6]]
        kinds = "".join(f"@attribute {column} numeric\n" for column in numbers.columns)
        file.write(f"@relation r\n{kinds}@data\n{numbers.write_csv(include_header=False)}".encode())
    else:
        frame.write_csv(file)
    return file.getvalue()


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.feather", "t.npz", "t.arff"])
def test_readers_and_schemas_take_columns_by_exact_name(tmp_path, name):
    found = []
    for frame in (FRAME, PLAIN):
        (tmp_path / name).write_bytes(written(name, frame))
        table = read_table(tmp_path / name)
        schema = infer_schema(table, target=table.frame.columns[-1])
        records, (y, known) = schema.to_records(table), schema.to_target(table)
        found.append((table.frame.rows(), [column.kind for column in schema.columns], records, y, known))
        expected = [c for c in frame.columns if c in table.frame.columns]
        assert [column.name for column in schema.columns] == expected[:-1]
    (rows, kinds, records, y, known), (rows2, kinds2, records2, y2, known2) = found
    assert rows == rows2
    assert kinds == kinds2
    np.testing.assert_array_equal(records.numbers, records2.numbers)
    np.testing.assert_array_equal(records.codes, records2.codes)
    np.testing.assert_array_equal(y, y2)
    np.testing.assert_array_equal(known, known2)


@pytest.mark.parametrize("kind", ["numeric", "categorical", "date", "text", "identifier"])
def test_declared_kinds(kind):
    column = {"date": "^when$", "text": "^text$", "numeric": "^text$"}.get(kind, "ab")
    frame = FRAME.with_columns(FRAME[column].cast(pl.String).alias("^b$"))
    schema = infer_schema(frame, None, "clustering", {"^b$": kind}, ())
    assert [column.name for column in schema.columns] == frame.columns
    assert schema.columns[-1].kind == kind
    with pytest.raises(ValueError, match=r"column '\^b\$' cannot be date: 'red' is not a date"):
        infer_schema(frame.with_columns(FRAME["ab"].alias("^b$")), None, "clustering", {"^b$": "date"}, ())


def test_what_is_said_names_the_column():
    frame = pl.DataFrame({"^a$": [str(k) for k in range(60)] + ["many"], "b": [*range(61)]})
    schema = infer_schema(frame, None, "clustering", {}, ())
    assert "column '^a$': 1 values among the numbers are no numbers (many); taken as missing" in schema.notes
