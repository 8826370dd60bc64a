"""Rules and rule sets: coverage, conflicts, printing, and the texts that they export."""

import sqlite3

import numpy as np
import pandas as pd
import polars as pl
import pytest

from tercet.datasets import load_watermelon
from tercet.rules import CN2Classifier, Condition, RIPPERClassifier, Rule, RuleSet

MELONS = load_watermelon("3.0")
FRAME = pd.DataFrame(MELONS.data, columns=MELONS.feature_names).astype({"density": float, "sugar": float})
LABELS = MELONS.target_names[MELONS.target]


def example(**options):
    return RuleSet(
        [
            Rule([Condition("a", "<=", 1.0)], "x", {"x": 8, "y": 2}),
            Rule([Condition("a", ">=", 0.0), Condition("b", "=", "red")], "y", {"x": 1, "y": 9}),
            Rule([Condition("b", "=", "red")], "y", {"x": 2, "y": 3}),
        ],
        "x",
        feature_names=["a", "b"],
        **options,
    )


def test_a_condition_says_what_it_cannot_be():
    with pytest.raises(ValueError, match="comparison must be one of"):
        Condition("a", "<", 1)
    with pytest.raises(ValueError, match="value must be a number"):
        Condition("a", "<=", "red")


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_a_missing_value_satisfies_no_condition(missing):
    X = np.array([[missing, missing], [0.5, "red"]], dtype=object)
    assert example().covers(X).tolist() == [[False] * 3, [True] * 3]


def test_coverage_of_arrays_lists_and_frames():
    rows = [["清晰", 0.5], ["模糊", 0.1], ["清晰", None]]
    rules = [Rule([Condition("t", "=", "清晰")], 1), Rule([Condition("d", ">=", 0.3)], 1)]
    wanted = [[True, True], [False, False], [True, False]]
    for X in (pd.DataFrame(rows, columns=["t", "d"]), pl.DataFrame(rows, schema=["t", "d"], orient="row")):
        assert RuleSet(rules, 0).covers(X).tolist() == wanted
    by_name = RuleSet(rules, 0, feature_names=["t", "d"])
    assert by_name.covers(rows).tolist() == wanted
    assert by_name.covers(np.array(rows, dtype=object)).tolist() == wanted
    with pytest.raises(ValueError, match="X has no such column"):
        RuleSet(rules, 0).covers(rows)
    with pytest.raises(ValueError, match="a table of rows and columns"):
        by_name.covers([1.0, 2.0])


@pytest.mark.parametrize(
    ("resolution", "wanted"),
    [
        ("order", ["x", "x", "y"]),
        ("vote", ["y", "x", "y"]),
        ("distribution", ["y", "x", "y"]),
        ("shortest", ["x", "x", "y"]),
        ("longest", ["y", "x", "y"]),
        ("precision", ["y", "x", "y"]),
        ("support", ["x", "x", "y"]),
        (lambda rules: rules[-1], ["y", "x", "y"]),
    ],
)
def test_conflicts(resolution, wanted):
    X = [[0.5, "red"], [-1.0, "blue"], [5.0, "red"]]
    rules = example(resolution=resolution)
    assert rules.predict(X).tolist() == wanted
    assert rules.predict([[5.0, "blue"]]).tolist() == ["x"]  # the default
    proba = rules.predict_proba([*X, [5.0, "blue"]])
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert proba.min() > 0


def test_probabilities_are_laplaces():
    rules = example()
    np.testing.assert_allclose(rules.predict_proba([[0.5, "red"]]), [[9 / 12, 3 / 12]])
    summed = rules.with_resolution("distribution").predict_proba([[0.5, "red"]])
    np.testing.assert_allclose(summed, [[12 / 27, 15 / 27]])
    votes = rules.with_resolution("vote").predict_proba([[0.5, "red"]])
    np.testing.assert_allclose(votes, [[2 / 5, 3 / 5]])


def test_wrong_resolutions_are_refused():
    with pytest.raises(ValueError, match="resolution must be a callable or one of"):
        example(resolution="loudest")
    with pytest.raises(ValueError, match="must return one of the rules"):
        example(resolution=lambda rules: "x").predict([[0.5, "red"]])
    with pytest.raises(ValueError, match="is not an order of the rules"):
        example(resolution=lambda rules: rules[0]).to_sql()
    with pytest.raises(ValueError, match="the head 'y'; the classes are"):
        example(classes=["x", "z"])


def test_printing():
    rules = example()
    assert str(rules).splitlines() == ["x ← (a<=1)", "y ← (a>=0) ∧ (b=red)", "y ← (b=red)", "x ← True"]
    assert rules.to_text("if").splitlines()[1:] == [
        "if a>=0 and b=red then y (10 rows, 90 %)",
        "if b=red then y (5 rows, 60 %)",
        "otherwise x",
    ]
    assert rules.to_text("wittgenstein") == "[[a=<=1] => x V [a=>=0^b=red] => y V [b=red] => y]"
    one_class = RuleSet([Rule([Condition("a", "=", "1"), Condition("b", ">=", 3.0)], 1)], 0)
    assert one_class.to_text("wittgenstein") == "[[a=1^b=>=3]]"
    with pytest.raises(ValueError, match="style must be one of"):
        rules.to_text("prolog")
    table = rules.to_frame()
    assert table.shape == (4, 4)
    assert table["precision"].round(2).tolist()[:3] == [0.8, 0.9, 0.6]
    assert rules.to_list()[0]["distribution"] == {"x": 8, "y": 2}
    assert repr(rules) == "<RuleSet of 3 rules, 4 conditions, resolution='order'>"


def test_statistics_are_of_each_rule_by_itself():
    X = [[0.5, "red"], [0.5, "blue"], [3.0, "red"], [3.0, "blue"]]
    told = example().statistics(X, ["x", "x", "y", "y"], [1, 1, 2, 2])
    assert [one["support"] for one in told] == [2, 3, 3, 2]
    assert [one["precision"] for one in told] == [1, 2 / 3, 2 / 3, 0]
    assert [one["recall"] for one in told] == [1, 0.5, 0.5, 0]
    assert told[0]["coverage"] == 2 / 6


MODELS = [
    RIPPERClassifier(random_state=1),
    CN2Classifier(confidence=0.5),
    CN2Classifier("unordered", confidence=0.5),
]


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("target", [LABELS, MELONS.target], ids=["words", "numbers"])
def test_exports_say_what_the_model_says(model, target):
    """The Python and SQL texts, run, give the classes that `predict` gives; missing cells included."""
    table = FRAME.copy()
    table.loc[[1, 4], "density"] = np.nan
    table.loc[[0, 9], "texture"] = None
    model = model.fit(table, target)
    wanted = model.predict(table).tolist()
    rules = model.ruleset_
    np.testing.assert_array_equal(rules.predict(table), wanted)
    np.testing.assert_allclose(rules.predict_proba(table), model.predict_proba(table))
    for asked in (rules, rules.with_resolution("vote"), rules.with_resolution("precision")):
        wanted = asked.predict(table).tolist()
        space: dict = {}
        exec(asked.to_python("classify"), space)
        records = [
            {name: None if value is None or value != value else value for name, value in row.items()}
            for row in table.to_dict("records")
        ]
        assert [space["classify"](row) for row in records] == wanted
        with sqlite3.connect(":memory:") as base:
            table.to_sql("melons", base)
            found = base.execute(f'SELECT {asked.to_sql()} FROM melons ORDER BY "index"').fetchall()
        assert [row[0] for row in found] == wanted


def test_exports_quote():
    rules = RuleSet([Rule([Condition('a "b"', "=", "it's")], "O'Hara")], "x")
    assert """"a ""b""" in rules.to_sql()
    assert "'it''s' THEN 'O''Hara'" in rules.to_sql()
    space: dict = {}
    exec(rules.to_python(), space)
    assert space["predict"]({'a "b"': "it's"}) == "O'Hara"
    with pytest.raises(ValueError, match="name must be a Python identifier"):
        rules.to_python("import")
    bare = RuleSet([], "x")
    assert bare.to_sql() == "'x'"
    assert bare.predict([[1]]).tolist() == ["x"]
    assert bare.with_resolution("vote").predict([[1]]).tolist() == ["x"]
