"""The loan applications."""

from __future__ import annotations

from tercet.datasets import load_loans


def test_table():
    loans = load_loans()
    assert loans.data.shape == (15, 4)
    assert len(loans.feature_names) == len(loans.feature_names_zh) == 4
    assert (loans.target == "yes").sum() == 9
    assert [len(set(column)) for column in loans.data.T] == [3, 2, 2, 3]
    assert loans.data[8].tolist() == ["middle", "no", "yes", "excellent"]


def test_a_call_gives_a_table_of_its_own():
    load_loans().data[:] = "?"
    X, y = load_loans(return_X_y=True)
    assert X[0].tolist() == ["youth", "no", "no", "fair"]
    assert y[0] == "no"
