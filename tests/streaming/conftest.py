"""Rows that stream: chunks are made small, in Parquet files whose borders are not those of chunks."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from tercet.core import chunks

N, D = 12_000, 20


def table(n=N, d=D, seed=0):
    """Features, a class of two, a class of three, a number, a count and a weight."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + np.arange(d) / 10
    z = X[:, :5] @ np.array([1.0, -1.0, 0.5, 0.25, 0.1])
    return {
        "X": X,
        "two": np.where(z + rng.logistic(size=n) > 0, "yes", "no"),
        "three": np.digitize(z + rng.normal(size=n), [-1, 1]),
        "number": z + rng.normal(size=n),
        "count": rng.poisson(np.exp(0.3 * z).clip(max=20)).astype(float),
        "weight": rng.random(n) + 0.5,
    }


def write_parts(folder, rows, X):
    columns = {f"f{j}": X[:, j] for j in range(X.shape[1])}
    whole = pa.table({**columns, **{name: rows[name] for name in rows if name != "X"}})
    third = len(X) // 3
    parquet.write_table(whole.slice(0, third), folder / "part-0.parquet", row_group_size=third // 3 + 7)
    parquet.write_table(whole.slice(third), folder / "part-1.parquet", row_group_size=third // 2 + 1)
    return folder


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    """Eight chunks of the rows."""
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 1 << 18)


@pytest.fixture(scope="session")
def rows():
    return table()


@pytest.fixture(scope="session")
def folder(rows, tmp_path_factory):
    return write_parts(tmp_path_factory.mktemp("parts"), rows, rows["X"])


@pytest.fixture(scope="session")
def names():
    return [f"f{j}" for j in range(D)]
