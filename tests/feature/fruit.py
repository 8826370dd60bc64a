"""A table of fruit, for the encoder: gaps, categories, dates and texts."""

from __future__ import annotations

import datetime as dt

import numpy as np
import polars as pl
from scipy import sparse

from tercet.feature import infer_schema

N = 80
RNG = np.random.default_rng(0)
FRAME = pl.DataFrame(
    {
        "size": RNG.normal(5, 3, N),
        "gaps": [None if k % 4 == 0 else float(k % 13) for k in range(N)],
        "colour": [("red", "green", "blue", None)[k % 4] for k in range(N)],
        "ripe": [k % 3 == 0 for k in range(N)],
        "when": [dt.datetime(2020, 1, 1) + dt.timedelta(days=9 * k) for k in range(N)],
        "remark": [
            f"remark number {k} about the {'ripe' if k % 4 == 0 else 'green'} fruit" for k in range(N)
        ],
    }
)
SCHEMA = infer_schema(FRAME)
RECORDS = SCHEMA.to_records(FRAME)


def dense(X):
    return X.toarray() if sparse.issparse(X) else X
