"""Alerts: every defect of a made table is found, and clean tables raise no false alarms."""

import numpy as np
import polars as pl
import pytest

from tercet.cli import translation
from tercet.cli.alerts import few_rounds, find_alerts, make_input
from tercet.cli.alerts.alert import SEVERITIES
from tercet.cli.alerts.alert_input import SAMPLE
from tercet.cli.alerts.linear_relations import linear_relation
from tercet.cli.alerts.row_order import neighbour_correlation
from tercet.cli.compare.table_alerts import unused_identifiers
from tercet.datasets import Table
from tercet.feature import infer_schema


def alerts_of(frame: pl.DataFrame, target: str = "y", task: str = "auto", drop=(), **known):
    """The alerts of a table, by kind."""
    schema = infer_schema(frame, target, task, drop=drop)
    records = schema.to_records(frame)
    y, there = schema.to_target(frame)
    unused = unused_identifiers(Table(frame=frame, total_rows=frame.height), schema)
    found = find_alerts(
        make_input(records.take(np.flatnonzero(there)), y[there], schema, unused=unused, **known)
    )
    assert [SEVERITIES.index(alert.severity) for alert in found] == sorted(
        SEVERITIES.index(alert.severity) for alert in found
    )
    return {alert.kind: alert for alert in found}


def clean(seed: int, n: int = 300) -> dict[str, np.ndarray]:
    """Columns of several kinds that say something about `score`, and nothing gives it away."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 4))
    kind = rng.choice(["red", "green", "blue"], n)
    score = x[:, 0] + 0.5 * x[:, 1] + (kind == "red") + 0.7 * rng.normal(size=n)
    columns = {f"x{k}": x[:, k] for k in range(4)}
    return {
        **columns,
        "rounded": np.round(3 * x[:, 1]),
        "gaps": np.where(rng.random(n) < 0.1, np.nan, x[:, 2]),
        "kind": kind,
        "city": np.array([f"city {k}" for k in rng.integers(0, 25, n)]),
        "score": score,
    }


def frame(columns: dict, y, **more) -> pl.DataFrame:
    rest = {name: values for name, values in columns.items() if name != "score"}
    return pl.DataFrame({**rest, **more, "y": y}).with_columns(
        pl.col(name).fill_nan(None) for name, values in {**rest, **more}.items() if values.dtype.kind == "f"
    )


@pytest.mark.parametrize("seed", range(25))
def test_clean_tables_raise_no_alarm(seed):
    columns = clean(seed, n=120 + 30 * (seed % 10))
    score = columns["score"]
    assert alerts_of(frame(columns, score)) == {}
    assert alerts_of(frame(columns, np.where(score > 0.3, "yes", "no"))) == {}
    assert alerts_of(frame(columns, np.digitize(score, np.quantile(score, [0.3, 0.6])))) == {}


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("by", ["x0", "city", "y"])
def test_a_table_sorted_by_a_column_or_by_its_target_raises_no_alarm(seed, by):
    columns = clean(seed)
    score = columns["score"]
    for y in (score, np.where(score > 0.3, "yes", "no")):
        assert alerts_of(frame(columns, y).sort(by)) == {}


@pytest.mark.parametrize("seed", range(10))
def test_a_few_categories_repeat_by_nature(seed):
    rng = np.random.default_rng(seed)
    n = 500
    place = rng.integers(0, 40, n)
    table = pl.DataFrame(
        {
            "class": rng.choice(["1st", "2nd", "3rd", "crew"], n),
            "sex": rng.choice(["f", "m"], n),
            "zip": [f"z{k}" for k in place],
            "region": [f"r{k % 7}" for k in place],
            "y": rng.choice(["died", "lived"], n),
        }
    )
    assert "duplicates" not in alerts_of(table)


@pytest.mark.parametrize("name", ["iris", "wine", "digits", "diabetes", "breast_cancer"])
def test_embedded_tables_raise_no_alarm(name):
    from tercet.cli.embedded_datasets import EMBEDDED, embedded

    assert alerts_of(embedded(name).frame, EMBEDDED[name]) == {}


def test_a_column_that_determines_the_class():
    columns = clean(0)
    weight = 3000 + 500 * columns["score"]
    (alert,) = alerts_of(frame(columns, (weight < 2500).astype(int), bwt=weight)).values()
    assert (alert.kind, alert.severity, alert.columns) == ("determines", "serious", ("bwt",))
    assert "'bwt' alone determines the target 'y'" in alert.title
    assert "has balanced accuracy 0.998 on held-out rows" in alert.evidence
    assert "Is 'bwt' known before 'y' is?" in alert.advice
    assert "--drop bwt" in alert.advice


def test_a_category_that_nearly_determines_the_class():
    columns, rng = clean(1, n=1000), np.random.default_rng(0)
    y = np.where(columns["score"] > 0.3, "yes", "no")
    other = np.where(rng.random(1000) < 0.012, np.where(y == "yes", "no", "yes"), y)
    reason = np.array([f"{answer} {k % 3}" for k, answer in enumerate(other)])
    (alert,) = alerts_of(frame(columns, y, reason=reason)).values()
    assert (alert.kind, alert.severity, alert.columns) == ("determines", "caution", ("reason",))
    assert "nearly determines" in alert.title


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_monotone_function_of_the_target(sign):
    columns = clean(2)
    wage = np.exp(columns["score"] / 2)
    (alert,) = alerts_of(frame(columns, wage, logwage=sign * np.log(wage))).values()
    assert (alert.kind, alert.severity, alert.columns) == ("determines", "serious", ("logwage",))
    assert "on another scale" in alert.title


def test_a_value_that_is_there_only_for_one_class():
    columns, rng = clean(3), np.random.default_rng(0)
    died = columns["score"] > 0.5
    year = np.where(died, rng.integers(1983, 1993, 300), np.nan)
    (alert,) = alerts_of(frame(columns, died.astype(int), **{"year of death": year})).values()
    assert (alert.kind, alert.severity, alert.columns) == ("missingness", "serious", ("year of death",))
    assert "--drop 'year of death'" in alert.advice


def test_a_sum_of_columns():
    columns, rng = clean(4), np.random.default_rng(0)
    casual, registered = rng.poisson(20, 300) * 1.0, rng.poisson(150, 300) * 1.0
    alert = alerts_of(frame(columns, casual + registered, casual=casual, registered=registered))["relation"]
    assert (alert.severity, alert.columns) == ("serious", ("casual", "registered"))
    assert "y = casual + registered," in alert.evidence
    assert "--drop casual --drop registered" in alert.advice


def test_a_product_of_columns_and_a_weighted_sum_among_many():
    columns, rng = clean(5), np.random.default_rng(0)
    price, amount = rng.uniform(1, 9, 300), rng.uniform(1, 9, 300)
    alert = alerts_of(frame(columns, 2 * price * amount, price=price, amount=amount))["relation"]
    assert "y = 2 · price · amount," in alert.evidence
    X = rng.normal(size=(400, 300))
    found = linear_relation(X, 3 * X[:, 7] - 2 * X[:, 250] + X[:, 99] + 5)
    assert found is not None
    assert found[0] == [7, 99, 250]
    np.testing.assert_allclose(found[1], [3, 1, -2, 5], atol=1e-9)
    assert linear_relation(X, rng.normal(size=400)) is None  # nearly as many columns as rows fit anything


def test_an_identifier_among_the_features():
    columns, rng = clean(6), np.random.default_rng(0)
    number = rng.integers(10_000, 99_999, 300)
    number[:20] = number[20:40]
    y = np.where(columns["score"] > 0.3, "yes", "no")
    (alert,) = alerts_of(frame(columns, y, ID=number)).values()
    assert (alert.kind, alert.severity, alert.columns) == ("identifier", "caution", ("ID",))
    assert f"{len(set(number.tolist()))} different whole numbers in 300 rows" in alert.evidence
    assert "--drop ID, or with --group ID" in alert.advice
    rising = np.cumsum(rng.integers(1, 9, 300))
    (alert,) = alerts_of(frame(columns, y, lot=rising)).values()
    assert (alert.kind, alert.columns) == ("identifier", ("lot",))
    names = np.array([f"name {k // 3 if k < 150 else k}" for k in range(300)])
    (alert,) = alerts_of(frame(columns, y, who=names)).values()
    assert (alert.kind, alert.columns) == ("identifier", ("who",))
    # Measured numbers that are all different are none.
    assert alerts_of(frame(columns, y, population=rng.permutation(10**6)[:300])) == {}


def test_imbalance_and_rare_classes():
    columns = clean(7, n=1000)
    y = (columns["score"] > np.quantile(columns["score"], 0.97)).astype(int)
    (alert,) = alerts_of(frame(columns, y), metric="accuracy").values()
    assert (alert.kind, alert.severity) == ("imbalance", "caution")
    assert "97.0% of the rows are 0" in alert.title
    assert "finds none of the other 30 rows" in alert.evidence
    assert "--metric roc_auc" in alert.advice
    (alert,) = alerts_of(frame(columns, y), metric="roc_auc").values()
    assert "The ranking is by roc_auc" in alert.advice
    few = np.array(["a", "b"], dtype="U8")[(columns["score"] > 0.3).astype(int)]
    few[:3], few[3:10] = "rare", "seldom"
    (alert,) = alerts_of(frame(columns, few), cv=5).values()
    assert (alert.kind, alert.severity) == ("rare class", "caution")
    assert "'rare' (3), 'seldom' (7)" in alert.title
    assert "no row of 'rare' at all" in alert.evidence
    (alert,) = alerts_of(frame(columns, few), cv=3).values()
    assert alert.severity == "note"
    many = np.repeat(["a", "b", "c"], [900, 60, 40])
    assert "imbalance" in alerts_of(frame(columns, many))


def test_rows_in_the_order_of_time():
    columns, rng = clean(8), np.random.default_rng(0)
    walk = np.cumsum(rng.normal(size=300))
    for name, values in (("year", 1990 + np.arange(300) // 20), ("mnth", 1 + np.arange(300) // 25)):
        alert = alerts_of(frame(columns, walk, **{name: values}))["time order"]
        assert (alert.severity, alert.columns) == ("caution", (name,))
        assert f"--time {name}" in alert.advice
    day = pl.date_range(pl.date(2020, 1, 1), pl.date(2020, 10, 26), eager=True)[:300]
    dated = frame(columns, walk).with_columns(day=day)
    assert alerts_of(dated)["time order"].columns == ("day",)
    # Dates in another order than the rows, with targets that follow them.
    assert alerts_of(dated.sample(fraction=1.0, shuffle=True, seed=0))["time order"].columns == ("day",)
    # In order, but the targets do not follow.
    assert alerts_of(frame(columns, columns["score"], year=1990 + np.arange(300) // 20))[
        "time order"
    ].severity == ("note")
    # Dates that mean nothing to the target, in any order, and years that the rows do not follow.
    assert alerts_of(frame(columns, columns["score"]).with_columns(born=day.shuffle(seed=1))) == {}
    assert alerts_of(frame(columns, columns["score"], year=rng.integers(1990, 2005, 300))) == {}
    # The splits go by time already.
    assert alerts_of(dated, time="day") == {}


def test_neighbours_that_are_alike():
    columns, rng = clean(9), np.random.default_rng(0)
    alert = alerts_of(frame(columns, np.cumsum(rng.normal(size=300))))["row order"]
    assert "the next is 0.9" in alert.evidence
    assert "--time or --group" in alert.advice
    state = np.cumsum(rng.random(300) < 0.15) % 2
    assert alerts_of(frame(columns, state))["row order"].severity == "caution"
    assert neighbour_correlation(rng.permutation(np.repeat([0, 1], 150)), "classification") is None


def test_groups_that_cross_folds():
    columns, rng = clean(10), np.random.default_rng(0)
    who = rng.integers(0, 60, 300)
    own = {"age": rng.integers(20, 80, 60)[who], "sex": rng.choice(["f", "m"], 60)[who]}
    y = columns["score"] + rng.normal(size=60)[who]
    (alert,) = alerts_of(frame(columns, y, case=who, **own)).values()
    assert (alert.kind, alert.severity, alert.columns) == ("groups", "caution", ("case",))
    assert "age, sex never differ" in alert.evidence
    assert "--group case" in alert.advice
    # By its name, as numbers, as strings, and when it is not used.
    (alert,) = alerts_of(frame(columns, y, patient_id=who)).values()
    assert (alert.kind, alert.columns) == ("groups", ("patient_id",))
    strings = np.array([f"p{k}" for k in who])
    assert alerts_of(frame(columns, y, 患者=strings))["groups"].columns == ("患者",)
    assert alerts_of(frame(columns, y, patient=strings), drop=["patient"])["groups"].columns == ("patient",)
    assert alerts_of(frame(columns, y, patient=strings), group="patient") == {}


def test_dropped_columns_of_any_type_are_no_trouble():
    columns = clean(13)
    table = frame(columns, columns["score"]).with_columns(
        parts=pl.Series([[1, 2]] * 300), raw=pl.Series([b"x"] * 300), born=pl.Series([None] * 299 + ["2020"])
    )
    assert alerts_of(table, drop=["parts", "raw", "born"]) == {}


def test_copies_of_rows():
    columns, rng = clean(11), np.random.default_rng(0)
    y = np.where(columns["score"] > 0.3, "yes", "no")
    table = frame(columns, y)
    (alert,) = alerts_of(pl.concat([table, table[:40]])).values()
    assert (alert.kind, alert.severity) == ("duplicates", "serious")
    assert "80 of 340 rows occur at least twice" in alert.evidence
    assert alerts_of(pl.concat([table, table]))["duplicates"].severity == "serious"
    assert alerts_of(pl.concat([table, table[:5]]))["duplicates"].severity == "caution"
    # Beside columns that repeat by nature, too.
    poor = pl.DataFrame(
        {
            "age": rng.integers(18, 90, 250),
            "weight": rng.normal(75, 12, 250).round(1),
            "smoker": rng.choice(["never", "former", "current"], 250),
            "y": rng.choice(["yes", "no"], 250),
        }
    )
    assert alerts_of(poor) == {}
    assert alerts_of(pl.concat([poor, poor[:30]]))["duplicates"].severity == "serious"
    # A copy may have another number.
    number = rng.integers(0, 10**6, 300)
    number[100:110] = number[110:120]
    numbered = frame(columns, y, ID=number)
    twice = pl.concat([numbered, numbered[:40].with_columns(pl.col("ID") + 7)])
    assert set(alerts_of(twice)) == {"duplicates", "identifier"}
    # The same features with other targets are no copies.
    other = table[:40].with_columns(
        y=pl.when(pl.col("y") == "yes").then(pl.lit("no")).otherwise(pl.lit("yes"))
    )
    assert alerts_of(pl.concat([table, other])) == {}


def test_wide_and_long_tables_are_sampled():
    rng = np.random.default_rng(0)
    n, p = 4 * SAMPLE, 60
    X = rng.normal(size=(n, p))
    score = X[:, 0] + rng.normal(size=n)
    table = pl.DataFrame(X, schema=[f"x{k}" for k in range(p)])
    y = (score > np.quantile(score, 0.999)).astype(int)
    found = alerts_of(table.with_columns(leak=pl.Series(score), y=pl.Series(y)))
    assert set(found) == {"determines", "imbalance"}
    copied = pl.concat([table.with_columns(y=pl.Series(score))] * 2)
    assert set(alerts_of(copied)) == {"duplicates"}
    # Two rows that differ only in a column beyond those of the signature are no copies.
    wide = pl.DataFrame(np.repeat(rng.normal(size=(100, 1)), 2, axis=0) * np.ones(p))
    differing = wide.with_columns(
        pl.Series(wide.columns[-1], rng.normal(size=200)), y=pl.Series([0, 1] * 100)
    )
    assert "duplicates" not in alerts_of(differing.with_columns(y=pl.Series(np.repeat([0, 1], 100))))


def test_few_rounds():
    result = {
        "task": "regression",
        "cv": 5,
        "budget": 50.0,
        "data": {"rows": 400},
        "leaderboard": [{"rounds": 1}],
    }
    (alert,) = few_rounds(result, 10)
    assert (alert.kind, alert.severity) == ("rounds", "note")
    assert "1 of 10 rounds: every method has 5 scores" in alert.evidence
    assert "--budget 150 gives about 3 rounds" in alert.advice
    assert "depends on the rows, not on the rounds" in alert.advice
    (alert,) = few_rounds(result, 1)
    assert "--repeats 3" in alert.advice
    assert few_rounds({**result, "leaderboard": [{"rounds": 3}]}, 10) == []
    assert few_rounds({**result, "data": {"rows": 20_000}}, 1) == []
    assert few_rounds({**result, "task": "clustering"}, 10) == []
    assert few_rounds({**result, "leaderboard": []}, 10) == []


def test_alerts_are_said_in_both_languages():
    columns = clean(12)
    alerts = alerts_of(frame(columns, (columns["score"] > 0.5).astype(int), leak=columns["score"]))
    (alert,) = alerts.values()
    assert alert.to_dict()["title"] == "'leak' alone determines the target 'y'"
    translation.set_language("zh")
    try:
        told = alert.to_dict(translation.tr)
    finally:
        translation.set_language("en")
    assert told["title"] == "单凭 'leak' 就能确定目标 'y'"
    assert "平衡准确率" in told["evidence"]
    assert "--drop leak" in told["advice"]
    assert told["columns"] == ["leak"]
