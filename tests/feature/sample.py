"""A small table with a column of every kind."""

from __future__ import annotations

import datetime as dt

import numpy as np
import polars as pl

from tercet.feature import infer_schema

N = 60
RNG = np.random.default_rng(0)
FRAME = pl.DataFrame(
    {
        "no": range(N),
        "size": RNG.normal(size=N),
        "gaps": [None if k % 7 == 0 else float(k % 13) for k in range(N)],
        "colour": [("red", "green", "blue")[k % 3] for k in range(N)],
        "ripe": [k % 4 == 0 for k in range(N)],
        "when": [dt.date(2020, 1, 1) + dt.timedelta(days=9 * k) for k in range(N)],
        "remark": [
            f"this is remark number {k} about {'ripe' if k % 4 == 0 else 'green'} fruit" for k in range(N)
        ],
        "kind": [("p", "q")[k % 2] for k in range(N)],
    }
)
SCHEMA = infer_schema(FRAME, "kind")


def with_target(values):
    return pl.DataFrame({"x": np.arange(len(values)) / 7, "t": pl.Series(values, strict=False)})


def same(a, b):
    np.testing.assert_array_equal(a.numbers, b.numbers)
    np.testing.assert_array_equal(a.codes, b.codes)
    for one, other in zip(a.counts, b.counts, strict=True):
        np.testing.assert_array_equal(one.toarray(), other.toarray())
    assert [w.tolist() for w in a.words] == [w.tolist() for w in b.words]
