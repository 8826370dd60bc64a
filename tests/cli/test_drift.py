"""Drift: a later table is compared with the summaries that a model keeps."""

import numpy as np
import polars as pl
import pytest

from tercet.cli.alerts.drift import Drift
from tercet.feature import Schema, infer_schema


def table(seed: int, n: int = 400, shift: float = 0.0, red: float = 0.3, gaps: float = 0.05) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    rest = (1 - red) / 2
    return pl.DataFrame(
        {
            "size": np.where(rng.random(n) < gaps, np.nan, np.exp(rng.normal(size=n) + shift)),
            "colour": rng.choice(["red", "green", "blue"], n, p=[red, rest, rest]),
            "count": rng.poisson(3, n),
            "y": rng.normal(size=n),
        }
    ).with_columns(pl.col("size").fill_nan(None))


def drift_of(learned: pl.DataFrame, *later: pl.DataFrame) -> list:
    # As it comes back from a model file.
    schema = Schema.from_dict(infer_schema(learned, "y").to_dict())
    drift = Drift(schema, learned.height)
    for batch in later:
        drift.add(schema.to_records(batch))
    return drift.alerts()


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("rows", [40, 150, 1000])
def test_tables_alike_raise_no_alarm(seed, rows):
    assert drift_of(table(seed), table(100 + seed, n=rows)) == []


def test_a_shift_of_numbers():
    (alert,) = drift_of(table(0), table(1, shift=1.0))
    assert (alert.kind, alert.severity, alert.columns) == ("drift", "caution", ("size",))
    assert "of its values are " in alert.evidence
    assert "fit again on recent rows" in alert.advice
    # In batches, too.
    half = table(1, shift=1.0)
    assert drift_of(table(0), half[:200], half[200:]) == [alert]


def test_other_shares_of_categories_and_of_missing_values():
    (alert,) = drift_of(table(0), table(1, red=0.8))
    assert alert.columns == ("colour",)
    assert "of its values are 'red', of those learned from 29%" in alert.evidence
    (alert,) = drift_of(table(0), table(1, gaps=0.5))
    assert alert.columns == ("size",)
    assert "of its values are missing" in alert.evidence
    moved = table(1, shift=2.0, red=0.9)
    assert [alert.columns[0] for alert in drift_of(table(0), moved)] == [
        "size",
        "colour",
    ]  # the farthest first


def test_a_few_rows_say_nothing_and_neither_does_a_model_without_summaries():
    assert drift_of(table(0), table(1, n=20, shift=3.0)) == []
    schema = infer_schema(table(0), "y")
    plain = {**schema.to_dict()}
    plain["columns"] = [{**column, "summary": {}} for column in plain["columns"]]
    bare = Schema.from_dict(plain)
    drift = Drift(bare, 400)
    drift.add(bare.to_records(table(1, shift=3.0, red=0.9)))
    assert drift.alerts() == []
    assert Drift(schema, 0).alerts() == []
