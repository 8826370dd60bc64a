"""Input that cannot be learned from is refused by a sentence that names it, by every estimator of the catalogue.

Nothing here gets to a kernel.
"""

import inspect
import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.model_selection import KFold
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import get_tags

from tercet.linear_model import LogisticRegression
from tests.conformance.population import CARDS, data, is_sequential, is_tabular, make, takes

N = 12
# What NumPy and Python say of their own insides.
RAW = re.compile(
    "object of type|setting an array element|inhomogeneous|has no len|not subscriptable|not iterable|ambiguous"
    "|unpack|too large to convert|not supported between|unhashable|has no attribute|out of bounds|Cannot cast"
    "|0-dimensional|unique column names, got"
)
NO_TABLE = {
    "None": None,
    "a text": "text",
    "a number": 5.0,
    "an object": object(),
}
NO_ARRAY = {
    "a dict": {"a": 1},
    "a set": {1, 2},
    "three dimensions": np.zeros((N, 2, 2)),
    "unequal rows": [[1.0, 2.0]] * (N - 1) + [[1.0]],
    "lists in cells": [[[1], [2, 3]]] * N,
    "no rows": [],
    "too large": [[10**400, 1]] * N,
    "complex": np.full((N, 2), 1j),
    "a matrix of NumPy": np.asmatrix(np.ones((N, 2))),
    "columns of one name": pd.DataFrame(np.ones((N, 2)), columns=["a", "a"]),
    "three sparse dimensions": sparse.coo_array(np.zeros((N, 2, 2))),
}
NO_NUMBERS = {
    "strings": [["a", "b"]] * N,
    "an array of strings": np.array([["a", "b"]] * N),
    "objects": np.array([[object(), 1.0]] * N, dtype=object),
    "lists in an array": np.array([[np.arange(2), None]] * N, dtype=object),
}
NO_TARGET = {
    "a text": "text",
    "a number": 5,
    "a dict": {"a": 1},
    "an object": object(),
    "a sparse matrix": sparse.csr_array(np.arange(N)[:, None] / 7),
    "three dimensions": np.zeros((N, 2, 2)),
    "unequal lists": [[1]] * (N - 1) + [[1, 2]],
    "tuples": [(1, 2), (3,)] * (N // 2),
    "arrays in an array": np.array([np.arange(k % 3) for k in range(N)], dtype=object),
    "numbers and strings": [1, "a"] * (N // 2),
    "objects of both kinds": np.array([1, "a"] * (N // 2), dtype=object),
    "None among numbers": [None, 1] * (N // 2),
    "None among strings": [None, "a"] * (N // 2),
    "dicts": [{"a": 1}] * N,
    "complex": np.full(N, 1j),
    "too few": np.arange(N - 1) % 2,
    "none": [],
    "NaN": np.where(np.arange(N) == 3, np.nan, 1.0),
}
NO_WEIGHTS = {
    "a text": "text",
    "a dict": {"a": 1},
    "an object": object(),
    "infinity": np.inf,
    "a complex number": 1j,
    "strings": ["a"] * N,
    "too few": np.ones(N - 1),
    "a sparse matrix": sparse.csr_array(np.ones((N, 1))),
    "two columns": np.ones((N, 2)),
    "three dimensions": np.ones((N, 1, 1)),
    "unequal lists": [[1]] * (N - 1) + [[1, 2]],
    "NaN": np.full(N, np.nan),
    "objects": [object()] * N,
    "too large": [10**400] * N,
    "too large together": np.full(N, 1e308),
    "dates": np.full(N, "2024-01-01", dtype="M8[D]"),
    "none": [],
}
CV = {
    "more folds than rows": 100,
    "one fold": 1,
    "a splitter of more folds": KFold(100),
    "no folds": [],
    "nothing to learn from": [([], [0, 1])],
    "nothing to score": [(list(range(6)), [])],
    "a row that is not there": [([0, 1, 2, 3, 99], [4, 5])],
    "no pairs": [([0, 1, 2],)],
    "numbers": np.array([1, 2]),
    "strings": [(["a"], ["b"])],
    "a short mask": [(np.ones(3, dtype=bool), np.ones(3, dtype=bool))],
    "None": [None],
}
tabular = [card for card in CARDS if is_tabular(card)]
supervised = [
    card for card in tabular if card.task in ("classification", "regression") and not is_sequential(card)
]
weighted = [card for card in tabular if "sample_weight" in inspect.signature(card.load().fit).parameters]


def names(cards):
    return pytest.mark.parametrize("card", cards, ids=lambda card: card.name)


def refusals(call, table, word):
    """What is wrong with the refusals of all inputs of a table, by the input's name."""
    wrong = {}
    for what, value in table.items():
        try:
            call(value)
        except (ValueError, TypeError) as error:
            said = str(error)
            if RAW.search(said) or not re.search(word, said):
                wrong[what] = said
        except Exception as error:
            wrong[what] = repr(error)
        else:
            wrong[what] = "accepted"
    return wrong


@names(CARDS)
def test_what_is_no_table(card):
    _, y = data(card, n=N)
    assert refusals(lambda X: make(card).fit(X, y), NO_TABLE, r"\bX\b") == {}


@names(tabular)
def test_what_is_no_table_of_numbers(card):
    _, y = data(card, n=N)
    table = NO_ARRAY if make(card).__sklearn_tags__().input_tags.string else NO_ARRAY | NO_NUMBERS
    assert refusals(lambda X: make(card).fit(X, y), table, r"\bX\b") == {}


@names([card for card in tabular if takes(card, "estimator") or takes(card, "estimators")])
def test_what_members_of_scikit_learn_refuse(card):
    member = DecisionTreeRegressor() if card.task == "regression" else DecisionTreeClassifier()
    members = {"estimators": [("a", member), ("b", member)]} if takes(card, "estimators") else {}
    _, y = data(card, n=N)
    table = {name: NO_ARRAY[name] for name in ("a matrix of NumPy", "columns of one name", "unequal rows")}
    word = (
        r"X must not be a matrix of NumPy; pass|X has 2 columns named 'a'|The rows of X must be of one length"
    )
    assert refusals(lambda X: make(card, **members or {"estimator": member}).fit(X, y), table, word) == {}


@names([card for card in tabular if not takes(card, "estimator") and not takes(card, "estimators")])
def test_missing_values_are_refused_in_the_name_of_the_estimator(card):
    model, (X, y) = make(card), data(card, N)
    X[2, 1] = np.nan
    if not get_tags(model).input_tags.allow_nan:
        with pytest.raises(ValueError, match=rf"(?s)NaN.*\b{card.name}\b|\b{card.name}\b.*NaN"):
            model.fit(X, y)


@names(supervised)
def test_what_is_no_target(card):
    X, _ = data(card, n=N)
    table = dict(NO_TARGET)
    if card.task == "regression":
        table["strings"] = ["a", "b"] * (N // 2)
    if make(card).__sklearn_tags__().target_tags.required:
        table["None"] = None
    if card.family == "semi_supervised":  # None is no label
        del table["None among numbers"], table["None among strings"]
    assert refusals(lambda y: make(card).fit(X, y), table, r"\by\b") == {}


@names(supervised)
def test_scores_have_the_sentences_of_core(card):
    kind = card.load()
    own = {"GeneralizedLinearModel", "LogisticRegressionCV", "NeighborsClassifier", "NeighborsRegressor"}
    assert kind.score.__qualname__.partition(".")[0] in {"AccuracyScoring", "R2Scoring", *own}


@pytest.mark.parametrize("name", ["GammaRegressor", "LogisticRegressionCV", "KNeighborsClassifier"])
def test_what_cannot_be_scored(name):
    (card,) = [card for card in CARDS if card.name == name]
    X, y = data(card, n=N)
    model = make(card).fit(X, y)
    table = {
        what: NO_TARGET[what] for what in ("a text", "a sparse matrix", "unequal lists", "too few", "NaN")
    }
    assert refusals(lambda y: model.score(X, y), table, r"\by\b") == {}
    assert (
        refusals(lambda X: model.score(X, y), {"a text": "text", "NaN": np.full((N, 4), np.nan)}, r"\bX\b")
        == {}
    )


@names(weighted)
def test_what_are_no_weights(card):
    X, y = data(card, n=N)
    word = "sample_weight|Sample weights"
    table = dict(NO_WEIGHTS)
    if card.load().relative_weights:
        del table["too large together"]
    assert refusals(lambda weight: make(card).fit(X, y, sample_weight=weight), table, word) == {}


@names(
    [
        card
        for card in tabular
        # trees, votes and target encoding look at their folds only where they are asked to
        if takes(card, "cv") and not re.search("Tree|Voting|TargetEncoder", card.name)
    ]
)
def test_what_are_no_folds(card):
    X, y = data(card, n=N)
    more = {
        "PolynomialRegression": {"degree": "cv"},
        "GaussianMixtureIC": {"criterion": "cv"},
        "SubsetSearch": {"estimator": LogisticRegression()},
        "PiecewiseLinearDiscriminant": {"n_subclasses": [1, 2]},
        "PiecewiseLinearDistance": {"n_subclasses": [1, 2]},
    }.get(card.name, {})
    # SPODE deals out its rows itself: folds beyond their number are empty, and say nothing.
    table = {what: cv for what, cv in CV.items() if card.name != "SPODE" or what != "more folds than rows"}
    assert refusals(lambda cv: make(card, cv=cv, **more).fit(X, y), table, r"\bcv\b") == {}


@pytest.mark.parametrize("name", ["ElasticNetCV", "LassoCV", "KNeighborsRegressorCV"])
def test_a_fold_without_weight(name):
    (card,) = [card for card in CARDS if card.name == name]
    X, y = data(card, n=N)
    weight = np.where(np.arange(N) < 4, 0.0, 1.0)
    with pytest.raises(ValueError, match="parameter 'cv', 3: fold 0 has no rows of positive weight to score"):
        make(card, cv=3).fit(X, y, sample_weight=weight)


@pytest.mark.parametrize(
    ("name", "parameter", "value"),
    [
        ("KMeans", "max_iter", 10**400),
        ("KMeans", "tol", 10**400),
        ("KMeans", "init", [[1], [2, 3]]),
        ("ElasticNetCV", "l1_ratio", {"a": 1}),
        ("ElasticNetCV", "alphas", [[1], [2, 3]]),
        ("ElasticNetCV", "l1_ratio", []),
        ("CategoricalNB", "min_categories", [[1], [2, 3]]),
        ("LogisticRegression", "tol", 1e308),
        ("OutputCodeClassifier", "code_size", 1e308),
        ("LogisticRegressionCV", "l1_ratios", object()),
        ("LinearDiscriminantAnalysis", "priors", [[1], [2, 3]]),
        ("CascadeClassifier", "order", 3),
        ("Perceptron", "warm_start", np.array([1.0, 2.0])),
        ("DecisionTreeClassifier", "monotonic_cst", [[1], [2, 3]]),
        ("GaussianHMM", "startprob_prior", [[1], [2, 3]]),
    ],
)
def test_parameters_that_hold_no_numbers(name, parameter, value):
    (card,) = [card for card in CARDS if card.name == name]
    X, y = data(card, n=N)
    wrong = refusals(
        lambda value: make(card, **{parameter: value}).fit(X, y), {parameter: value}, rf"'{parameter}'"
    )
    assert wrong == {}


def test_numbers_that_are_too_large():
    for name, factor in (("GeneralizedLinearRegressor", 1e200), ("PenalizedRegressor", 1e200)):
        (card,) = [card for card in CARDS if card.name == name]
        X, y = data(card, n=N)
        with np.errstate(all="ignore"), pytest.raises(ValueError, match=r"\bX\b.*too large"):
            make(card).fit(factor * X, y)
