"""Sequences in and out."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from tercet.sequence import GaussianHMM
from tercet.sequence.base import Sequences, labels_like, mistaken_lengths
from tests.conformance.population import CARDS, data, make

TABLE = np.arange(10.0).reshape(5, 2)


@pytest.mark.parametrize("rows", [1, 2, 3, 100])
def test_chunks_hold_whole_sequences_in_order(rows):
    X = Sequences.of(TABLE, [1, 3, 1])
    chunks = X.chunks(rows)
    assert chunks[0][0] == 0
    assert chunks[-1][1] == 3
    assert all(a < b for a, b in chunks)
    assert [b for _, b in chunks[:-1]] == [a for a, _ in chunks[1:]]


def test_a_list_comes_back_as_a_list_and_a_table_as_a_table():
    listed = Sequences.of([TABLE[:2], TABLE[2:]])
    assert listed.listed
    assert listed.borders.tolist() == [0, 2, 5]
    assert [part.shape for part in listed.like_given(listed.rows)] == [(2, 2), (3, 2)]
    table = Sequences.of(TABLE, [2, 3])
    assert table.like_given(table.rows) is table.rows
    assert Sequences.of(TABLE).lengths.tolist() == [5]


@pytest.mark.parametrize(
    "given",
    [
        [[0, 1], [2]],
        ([0, 1], [2]),
        [np.array([0, 1]), np.array([2])],
        [np.array([[0], [1]]), np.array([[2]])],
        np.array([[0, 1], [2]], dtype=object),
        [pd.Series([0, 1]), pd.Series([2], index=[7])],
        pd.Series([[0, 1], [2]], index=["a", "b"]),
    ],
)
def test_symbols_in_lists(given):
    X = Sequences.of(given, symbols=True)
    assert np.asarray(X.rows).tolist() == [0, 1, 2]
    assert X.lengths.tolist() == [2, 1]
    assert X.listed


@pytest.mark.parametrize(
    "given",
    [
        [0, 1, 2],
        np.array([0, 1, 2]),
        np.array([[0], [1], [2]]),
        pd.Series([0, 1, 2], index=list("xyz")),
        pl.Series([0, 1, 2]),
        pd.DataFrame({"a": [0, 1, 2]}),
        pl.DataFrame({"a": [0, 1, 2]}),
    ],
)
def test_symbols_in_one_pile(given):
    X = Sequences.of(given, [2, 1], symbols=True)
    assert X.rows.tolist() == [0, 1, 2]
    assert X.lengths.tolist() == [2, 1]
    assert not X.listed
    assert Sequences.of(given, symbols=True).lengths.tolist() == [3]


def test_a_column_of_lists_is_a_table_when_lengths_say_so():
    X = Sequences.of([[0], [1], [2]], [1, 2], symbols=True)
    assert X.rows.tolist() == [0, 1, 2]
    assert X.lengths.tolist() == [1, 2]


def test_chosen_sequences():
    X = Sequences.of(TABLE, [1, 3, 1])
    some = X[np.array([2, 0])]
    assert some.rows.tolist() == [[8.0, 9.0], [0.0, 1.0]]
    assert X[np.array([False, True, False])].lengths.tolist() == [3]
    assert X[1].tolist() == TABLE[1:4].tolist()
    assert [len(rows) for rows in X] == [1, 3, 1]


@pytest.mark.parametrize(
    ("X", "lengths", "symbols", "message"),
    [
        ([TABLE, TABLE[:0]], None, False, "Sequence 1 of 2 is empty"),
        ([[0, 1], []], None, True, "Sequence 1 of 2 is empty"),
        ([], None, True, "X has no rows"),
        (np.empty((0, 1)), None, True, "X has no rows"),
        (TABLE, [2, 2], False, "lengths add up to 4, but X has 5 rows"),
        (TABLE, [5, 0], False, "lengths must be positive"),
        (TABLE, [2.5, 2.5], False, "lengths must be a list of whole numbers"),
        (TABLE, [], False, "lengths must be a list of whole numbers"),
        (TABLE, None, True, "one column of symbols; got 2 columns"),
        ([[0, 1], [2]], [1, 2], True, "lengths are not theirs"),
        ([TABLE, TABLE[:, :1]], None, False, "same number of columns"),
        ([[1.0, 2.0], [3.0]], None, False, "give each as a column"),
    ],
)
def test_bad_sequences_are_named(X, lengths, symbols, message):
    with pytest.raises(ValueError, match=message):
        Sequences.of(X, lengths, symbols=symbols)


def test_sparse_symbols_are_refused():
    with pytest.raises(TypeError, match="Sparse"):
        Sequences.of(sparse.csr_array(np.eye(3)), symbols=True)


def test_labels_of_all_kinds():
    X = Sequences.of([[0, 1], [2]], symbols=True)
    assert labels_like([["a", "b"], ["c"]], X).tolist() == ["a", "b", "c"]
    assert labels_like(np.array([["a", None], ["c"]], dtype=object), X).tolist() == ["a", None, "c"]
    assert labels_like([1, 2, 3], X).tolist() == [1, 2, 3]
    table = Sequences.of(TABLE, [2, 3])
    assert labels_like([[0, 1], [2, 3, 4]], table).tolist() == [0, 1, 2, 3, 4]
    assert labels_like(pd.Series([0, 1, 2, 3, 4]), table).tolist() == [0, 1, 2, 3, 4]
    columns = [np.array([[0], [1]]), pd.DataFrame({"y": [2, 3, 4]})]
    assert labels_like(columns, table).tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([["a"], ["c"]], "Sequence 0 has 2 rows but 1 labels"),
        ([["a", "b"]], "y has 1 sequences of labels, but X has 2"),
        (["a", "b"], "a label for each row of X: 3 rows"),
        (np.zeros((3, 2)), r"3 rows in 2 sequences; got labels of shape \(3, 2\)"),
        ([["a", "b"], 5], "one label for each row of a sequence; for sequence 1 it has 5"),
        ([["a", "b"], None], "for sequence 1 it has None"),
        ([["a", "b"], "c"], "for sequence 1 it has 'c'"),
        ([["a", "b"], {"c": 1}], "for sequence 1 it has {'c': 1}"),
        ([np.zeros((2, 2)), np.zeros((1, 2))], r"for sequence 0 it has an array of shape \(2, 2\)"),
        ([pd.DataFrame([[0, 1], [2, 3]]), [4]], r"for sequence 0 it has an array of shape \(2, 2\)"),
    ],
)
def test_labels_must_match(y, message):
    with pytest.raises(ValueError, match=message):
        labels_like(y, Sequences.of([[0, 1], [2]], symbols=True))


def test_lengths_in_second_place_are_recognised():
    assert mistaken_lengths(TABLE, [2, 3], None)
    assert mistaken_lengths([0, 1, 2], [2, 1], None)
    assert mistaken_lengths([[0.5], [1.0], [2.0]], [2, 1], None)
    assert not mistaken_lengths(TABLE, [2, 3], [5])
    assert not mistaken_lengths(TABLE, [1, 1, 1, 1, 1], None)
    assert not mistaken_lengths(TABLE, [2, 2], None)
    assert not mistaken_lengths([[0, 1], [2]], [[0, 0], [1]], None)


LABELLED = [card for card in CARDS if card.family == "sequence"]


@pytest.mark.parametrize("card", LABELLED, ids=lambda card: card.name)
def test_infinite_labels_are_refused(card):
    X, y = data(card, n=20)
    if isinstance(y, list):  # HMMTagger
        y = [[float(label) for label in part] for part in y]
        y[1][3] = np.inf
        wrong = [y]
    else:
        y = y.astype(float)
        y[3] = -np.inf
        wrong = [y, y.astype(object), y.tolist()]
    for labels in wrong:
        with pytest.raises(ValueError, match=r"y has the label -?inf; a label must be finite"):
            make(card).fit(X, labels)


def test_large_labels_keep_their_names():
    X, y = np.arange(8.0)[:, None], np.array([0.0, 1e300] * 4)
    model = GaussianHMM(2, random_state=0).fit(X, y)
    assert model.classes_.tolist() == [0.0, 1e300]
    assert set(model.predict(X)) <= {0.0, 1e300}
