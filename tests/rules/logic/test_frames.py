"""Facts from data frames, and the framework of inductive logic programming."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest

from tercet.rules.logic import (
    ILPProblem,
    ProofLimitError,
    attribute_facts,
    comparison_facts,
    parse_clause,
    row_facts,
)

from .melons import relations

COLUMNS = {"parent": ["ann", "tom", None, "tom"], "child": ["tom", "eve", "ian", "eve"], "age": [30, 4, 2, 4]}


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame], ids=["dict", "pandas", "polars"])
def test_rows_are_facts(make):
    facts = row_facts(make(COLUMNS), "parent", ["parent", "child"])
    assert [str(fact) for fact in facts] == ["parent(ann, tom)", "parent(tom, eve)"]
    facts = row_facts(make(COLUMNS), "has", ["child", "age"])
    assert [str(fact) for fact in facts] == ["has(tom, 30)", "has(eve, 4)", "has(ian, 2)"]


def test_values_of_all_kinds():
    frame = pd.DataFrame({
        "id": [1, 2],
        "when": [datetime.date(2020, 1, 2), None],
        "score": [0.5, np.nan],
        "flag": [True, False],
        "kind": pd.Categorical(["A b", None]),
    })  # fmt: skip
    assert [str(fact) for fact in attribute_facts(frame, key="id")] == [
        "when(1, '2020-01-02')",
        "score(1, 0.5)",
        "flag(1, true)",
        "flag(2, false)",
        "kind(1, 'A b')",
    ]
    assert [
        str(fact) for fact in attribute_facts(frame, key="id", columns=["flag"], values_in_names=True)
    ] == [
        "flag_true(1)",
        "flag_false(2)",
    ]
    assert [str(fact) for fact in row_facts(np.array([["a", "b"]]), "p")] == ["p(a, b)"]


def test_comparisons_of_numbers():
    facts = comparison_facts({"name": ["a", "b", "c"], "size": [3, 1, None]}, {"size": None}, key="name")
    assert [str(fact) for fact in facts] == ["more_size(a, b)"]


def test_melons():
    facts = {str(fact) for fact in relations()}
    assert {
        "色泽更深(2, 1)",
        "根蒂更蜷(1, 10)",
        "脐部更凹(1, 10)",
        "触感更硬(1, 10)",
        "触感更硬(1, 15)",
    } <= facts
    assert "色泽更深(1, 10)" not in facts


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: row_facts(COLUMNS, "p", ["x"]), "'x' is not a column; the columns are"),
        (lambda: attribute_facts(COLUMNS, key="x"), "key 'x' is not a column"),
        (lambda: comparison_facts(COLUMNS, {"child": None}), "column of numbers, or have an order; got tom"),
        (
            lambda: comparison_facts(COLUMNS, {"age": [1, 2]}),
            "30 is a value of 'age' that its order does not have",
        ),
        (lambda: row_facts({"a": [1], "b": [1, 2]}, "p"), "of one length"),
        (lambda: row_facts([1, 2], "p"), "A frame, a mapping of columns or a table"),
    ],
)
def test_bad_frames(make, says):
    with pytest.raises(ValueError, match=says):
        make()


def test_the_task_of_inductive_logic_programming():
    problem = ILPProblem(
        "parent(ann, tom). parent(tom, eve). elder(X, Y) :- parent(X, Y).",
        "grand(ann, eve).",
        "grand(ann, tom). grand(eve, ann).",
    )
    right = "grand(X, Z) :- elder(X, Y), elder(Y, Z)."
    assert problem.is_sensible()
    assert problem.is_solution(right)
    verdict = problem.judge("grand(ann, tom).")
    assert (verdict.is_complete, verdict.is_consistent) == (False, False)
    assert verdict.accuracy == pytest.approx(1 / 3)
    assert str(problem.explain(right, "grand(ann, eve)")).count("elder") == 2
    assert problem.explain(right, "grand(eve, ann)") is None
    bottom = problem.bottom_clause("grand(ann, eve)", max_depth=2)
    assert bottom.is_variant(
        parse_clause("grand(A, B) :- parent(A, C), parent(C, B), elder(A, C), elder(C, B)")
    )
    assert not ILPProblem("p(a).", ["p(a)"], ["p(b)"]).is_sensible()
    with pytest.raises(ValueError, match="Contradictory"):
        ILPProblem("q(a).", ["p(a)"], ["p(a)"])


def test_limits_of_proofs_hold_in_a_task():
    problem = ILPProblem("q(a).", ["p(a)"], max_depth=40)
    with pytest.raises(
        ProofLimitError, match=r"Left-recursive clauses call themselves first: p\(X\) :- p\(X\)"
    ):
        problem.judge("p(X) :- p(X), q(X).")
