"""Sentences about bad input."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from tercet.core.input_errors import Explaining, explained, refuse_mixed_labels, shown
from tercet.core.validation import check_array, target_for_callbacks
from tercet.decomposition import NMF
from tercet.discriminant_analysis import divide_into_subclasses
from tercet.feature import chi2, mutual_info_classif, mutual_info_regression
from tercet.linear_model import LogisticRegression, linear_separability, novikoff_bound
from tercet.naive_bayes import MultinomialNB
from tercet.svm import svm_primal


@pytest.mark.parametrize(
    ("X", "sentence"),
    [
        (
            None,
            r"X must be an array, a frame or a sparse matrix of shape \(n_samples, n_features\); got None.",
        ),
        ([[1, 2], [3]], r"The rows of X must be of one length; X\[0\] has 2 values, X\[1\] has 1 values."),
        ([[1, 2], 3], r"X\[0\] has 2 values, X\[1\] is 3."),
        ([[1, [2, 3]]], r"X must hold a single value in each cell; X\[0\]\[1\] is \[2, 3\]."),
        (
            [[1, 2], [3, "a"]],
            r"X must hold numbers; X\[1, 1\] is 'a'. could not convert string to float: 'a'",
        ),
        ([[1, 10**400]], r"X must hold numbers; X\[0, 1\] is an integer of more than 60 digits."),
        (np.zeros((2, 2, 2)), r"its shape is \(2, 2, 2\)\. Found array with dim 3"),
        (np.zeros(3), r"its shape is \(3,\)\. Expected 2D array, got 1D array instead"),
        (
            np.ones((2, 2)) * 1j,
            r"X must hold real numbers; its dtype is complex128. Complex data not supported",
        ),
        (np.zeros((0, 2)), r"X has no rows; its shape is \(0, 2\)"),
        (np.asmatrix(np.ones((2, 2))), r"^X must not be a matrix of NumPy; pass np.asarray\(X\)\.$"),
    ],
)
def test_what_is_said_of_a_table(X, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        check_array(X, dtype=np.float64)


@pytest.mark.parametrize(
    "function",
    [
        chi2,
        divide_into_subclasses,
        linear_separability,
        mutual_info_classif,
        mutual_info_regression,
        novikoff_bound,
        svm_primal,
    ],
)
def test_functions_refuse_matrices_and_repeated_columns_in_the_same_words(function):
    X, y = np.arange(12.0).reshape(6, 2), np.array([0, 1] * 3)
    with pytest.raises(TypeError, match=r"^X must not be a matrix of NumPy; pass np.asarray\(X\)\.$"):
        function(np.asmatrix(X), y)
    with pytest.raises(ValueError, match=r"^X has 2 columns named 'a'; column names must be unique\.$"):
        function(pd.DataFrame(X, columns=["a", "a"]), y)


def test_an_error_that_names_its_argument_stays():
    named, raw = ValueError("Input y contains NaN."), ValueError("object of type 'float' has no len()")
    assert explained(named, X=None, y=[1]) is named
    assert "y must be" in str(explained(raw, X=np.ones((2, 2)), y=3.0))
    assert str(explained(KeyError(0), X=[[1]])) == "X cannot be read: 0"
    assert isinstance(explained(KeyError(0), X=[[1]]), ValueError)
    unequal = ValueError("Found input variables with inconsistent numbers of samples: [2, 3]")
    assert str(explained(unequal, X=np.ones((2, 2)), y=np.ones(3))) == (
        f"X has 2 rows; y has 3 rows: they must be as many. {unequal}"
    )
    with (
        pytest.raises(ValueError, match=r"y must be an array of shape .*; got a sparse matrix"),
        Explaining(y=sparse.csr_array(np.ones((2, 1)))),
    ):
        np.require(sparse.csr_array(np.ones((2, 1))), np.float64)


def test_labels_of_two_kinds():
    with pytest.raises(ValueError, match=r"not both; y\[0\] is 1, y\[2\] is 'a'"):
        refuse_mixed_labels([1, 2, "a"])
    with pytest.raises(ValueError, match=r"not both; y\[1\] is nan, y\[0\] is 'a'"):
        refuse_mixed_labels(["a", np.float64("nan")])
    refuse_mixed_labels([1, 2.5, True, np.int64(3)])
    refuse_mixed_labels(["a", np.str_("b")])
    refuse_mixed_labels(np.array([1, "a"], dtype=object))


def test_values_in_messages_are_short():
    assert shown([1, 2]) == "[1, 2]"
    assert shown("x" * 1000) == "'" + "x" * 59 + "..."
    assert shown(10**5000) == "an integer of more than 60 digits"


def test_a_target_that_is_not_learned_from():
    assert target_for_callbacks(None, 2) is None
    assert target_for_callbacks([[1], [2, 3]], 2) is None
    assert target_for_callbacks([1, 2, 3], 2) is None
    assert target_for_callbacks([1, 2], 2).tolist() == [1, 2]


def test_strings_where_numbers_are_wanted():
    y = np.array(["x"], dtype=object)
    with pytest.raises(ValueError, match=r"y must hold numbers; y\[0\] is 'x'\."), Explaining(X=[[0]], y=y):
        y.astype(float)


@pytest.mark.parametrize(
    "estimator", [NMF(2), MultinomialNB(), LogisticRegression()], ids=lambda m: type(m).__name__
)
@pytest.mark.parametrize("rows", [["a rose", "red"], [["a rose"], ["red"]]])
@pytest.mark.parametrize("kind", [list, np.array])
def test_texts_are_to_be_counted_first(estimator, rows, kind):
    with pytest.raises(ValueError, match=r"X .* These are texts: count their words with CountVectorizer"):
        estimator.fit(kind(rows), [0, 1])
    with pytest.raises(ValueError, match=r"X must hold numbers; .* 'rose'") as found:
        estimator.fit(kind([["rose", "red"], ["lily", "white"]]), [0, 1])
    assert "CountVectorizer" not in str(found.value)
