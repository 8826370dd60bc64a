"""Tokens in words as rows of numbers."""

import numpy as np
import pandas as pd
import polars as pl
import pycrfsuite
import pytest

from tercet.sequence.text.attributes import AttributeColumns, encode_tokens, is_tokens, token_sequences

TOKENS = [
    {"a": "b", "n": 2.5, "t": True, "f": False, "d": {"x": "y", "z": 3, "q": True}, "l": ["u", "v"], "i": 4},
    ["p", "q"],
    {"set"},
    {"deep": {"er": {"still": "here", "size": np.float32(0.5)}}},
]


def named(X, names):
    """Rows as dicts; an explicit zero is there too."""
    names = list(names)
    return [
        {names[j]: x for j, x in zip(X.indices[a:b], X.data[a:b])}
        for a, b in zip(X.indptr[:-1], X.indptr[1:])
    ]


def test_attributes_are_those_of_crfsuite():
    names = AttributeColumns()
    assert named(encode_tokens(TOKENS, names), names) == pycrfsuite.ItemSequence(TOKENS).items()


def test_single_strings_and_lists_of_strings_are_the_same():
    one, other = AttributeColumns(), AttributeColumns()
    a, b = encode_tokens(["x", "y", "x"], one), encode_tokens([["x"], ["y"], {"x"}], other)
    np.testing.assert_array_equal(a.toarray(), b.toarray())
    assert one == other == {"x": 0, "y": 1}


def test_unknown_attributes_are_left_out():
    names = AttributeColumns({"x": 0, "y": 1})
    names.growing = False
    X = encode_tokens([["z"], ["y", "z", "x"], {"z": 1.0, "x": 2.0}], names)
    np.testing.assert_array_equal(X.toarray(), [[0, 0], [1, 1], [2, 0]])
    assert len(names) == 2


@pytest.mark.parametrize(
    ("token", "message"),
    [
        ({"a": None}, "Token 1: attribute 'a' is None"),
        ({"a": {"b": None}}, "Token 1: attribute 'a:b' is None"),
        ({1: 2.0}, "Token 1: an attribute's name must be a string; got 1"),
        ({1: "x"}, "Token 1: an attribute's name must be a string; got 1"),
        (5, "Token 1: a token is 5"),
        ({"a": float("nan")}, "Token 1: attribute 'a' is nan"),
        ({"a": np.inf}, "Token 1: attribute 'a' is inf"),
        (["x", 3], "Token 1: an attribute's name must be a string; got 3"),
    ],
)
def test_what_is_no_token(token, message):
    with pytest.raises(ValueError, match=message):
        encode_tokens([{"fine": 1.0}, token], AttributeColumns())


@pytest.mark.parametrize(
    ("X", "answer"),
    [
        ([[{"a": 1.0}]], True),
        ([{"a": 1.0}], True),
        (["a", "b"], True),
        ([["a", "b"], ["c"]], True),
        ([[["a"], ["b", "c"]]], True),
        ([[[], ["b"]]], True),
        ([np.array(["a", "b"])], True),
        (pycrfsuite.ItemSequence([["a"]]), False),
        ([pycrfsuite.ItemSequence([["a"]])], True),
        (pd.DataFrame({"word": ["a"], "n": [1.0]}), True),
        (pl.DataFrame({"word": ["a"], "n": [1.0]}), True),
        (pd.DataFrame({"n": [1.0]}), False),
        (np.zeros((2, 3)), False),
        ([np.zeros((2, 3))], False),
        ([[1.0, 2.0], [3.0, 4.0]], False),
        ([], False),
    ],
)
def test_words_are_told_from_numbers(X, answer):
    assert is_tokens(X) is answer


def test_frames_of_words():
    frame = pd.DataFrame({"word": ["a", "b"], "n": [1.0, 2.0]})
    found = token_sequences(frame, lengths=[1, 1])
    assert (
        found.rows
        == token_sequences(pl.from_pandas(frame)).rows
        == [{"word": "a", "n": 1.0}, {"word": "b", "n": 2.0}]
    )
    np.testing.assert_array_equal(found.borders, [0, 1, 2])


def test_empty_and_shapeless_sequences():
    assert token_sequences([["a"], [], ["b", "c"]]).lengths.tolist() == [1, 0, 2]
    with pytest.raises(ValueError, match="Sequence 1 must be a list of tokens; got 'ab'"):
        token_sequences([["a"], "ab"])
    with pytest.raises(ValueError, match="lengths add up to 3, but X has 2 rows"):
        token_sequences(["a", "b"], lengths=[3])
