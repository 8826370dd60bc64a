"""Errors and warnings of methods in the report's language, with the classes' names."""

import warnings

import numpy as np
import pytest

from tercet.cli import translation
from tercet.cli.method_messages import reword_messages, reworded
from tercet.discriminant_analysis import QuadraticDiscriminantAnalysis
from tercet.linear_model import GammaRegressor, LogisticRegression, Perceptron
from tercet.svm import NuSVC


@pytest.fixture
def chinese():
    translation.set_language("zh")
    yield
    translation.set_language("en")


def said(model, X, y) -> str:
    """What a method complains of."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            model.fit(X, y)
        except Exception as error:
            return " ".join(str(error).split())
    raise AssertionError("it fitted without a word")


X = np.random.default_rng(0).normal(size=(30, 3))
CASES = {
    "QuadraticDiscriminantAnalysis": (QuadraticDiscriminantAnalysis(), X, np.repeat([0, 1], [29, 1])),
    "NuSVC": (NuSVC(), X, np.repeat([0, 1], [28, 2])),
    "Perceptron": (Perceptron(max_iter=2, tol=None), X, np.arange(30) % 2),
    "LogisticRegression": (LogisticRegression(max_iter=1), X, np.arange(30) % 2),
    "GammaRegressor": (GammaRegressor(), X, X[:, 0]),
}


@pytest.mark.parametrize("method", CASES)
def test_no_english_sentence_is_left(chinese, method):
    model, rows, y = CASES[method]
    text = reworded(said(model, rows, y), method, ["benign", "malignant"])
    assert "。" in text
    for english in (" the ", " is ", "converge", " class ", "value(s)"):
        assert english not in f" {text} "


def test_classes_are_called_by_their_names(chinese):
    model, rows, y = CASES["QuadraticDiscriminantAnalysis"]
    text = said(model, rows, y)
    assert "class 1" in text
    assert "类别 'malignant'" in reworded(text, "QuadraticDiscriminantAnalysis", ["benign", "malignant"])
    translation.set_language("en")
    english = reworded(text, "QuadraticDiscriminantAnalysis", ["benign", "malignant"])
    assert "class 'malignant'" in english
    assert "class 1" not in english
    assert reworded(text, "QuadraticDiscriminantAnalysis", []) == text  # of a regression, say


def test_the_result_is_reworded_and_what_is_unknown_stays(chinese):
    result = {
        "task": "classification",
        "data": {"classes": [["no", 3], ["yes", 4]]},
        "skipped": [{"name": "A", "why": "A: a word that nobody knows of class 1. Raise max_iter or tol."}],
        "leaderboard": [
            {
                "name": "B",
                "warnings": ["B did not converge in 5 passes (last pass: loss=0.5). Raise max_iter or tol."],
            }
        ],
    }
    reword_messages(result)
    assert result["skipped"][0]["why"] == "a word that nobody knows of class 'yes'. 请增大 max_iter 或 tol。"
    assert result["leaderboard"][0]["warnings"] == [
        "B 在 5 轮内没有收敛（最后一轮：loss=0.5）。请增大 max_iter 或 tol。"
    ]
