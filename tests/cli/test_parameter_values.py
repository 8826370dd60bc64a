"""`--set NAME=VALUE`: what a text means as a parameter, and what is refused."""

import numpy as np
import pytest

from tercet.cli.errors import Refusal
from tercet.cli.parameter_values import build, find_method


@pytest.mark.parametrize(
    ("method", "settings", "expected"),
    [
        ("LogisticRegression", ["C=10", "max_iter=1e2"], {"C": 10, "max_iter": 100}),
        ("LogisticRegression", ["fit_intercept=false", "solver=sgd"], {"fit_intercept": False, "solver": "sgd"}),
        ("LogisticRegression", ["class_weight={'是': 2}"], {"class_weight": {"是": 2}}),
        ("LogisticRegression", ["class_weight=balanced"], {"class_weight": "balanced"}),
        ("LogisticRegression", ["C=inf", "random_state=None"], {"C": np.inf, "random_state": None}),
        ("LogisticRegressionCV", ["Cs=[0.1, 1]"], {"Cs": [0.1, 1]}),
        ("弹性网", ["alpha = 0.5"], {"alpha": 0.5, "random_state": 7}),
    ],
)  # fmt: skip
def test_values(method, settings, expected):
    parameters = build(find_method(method), settings, seed=7).get_params()
    assert {name: parameters[name] for name in expected} == expected
    assert all(type(parameters[name]) is type(value) for name, value in expected.items())


def test_members_of_an_ensemble():
    settings = ["estimators=Ridge, lasso, Ridge", "ridge__alpha=3", "ridge2__alpha=5", "weights=[1, 2, 3]"]
    model = build(find_method("VotingRegressor"), settings, seed=7)
    assert [(name, type(member).__name__, member.alpha) for name, member in model.estimators] == [
        ("ridge", "Ridge", 3),
        ("lasso", "Lasso", 1.0),
        ("ridge2", "Ridge", 5),
    ]
    assert model.weights == [1, 2, 3]
    assert model.estimators[0][1].random_state == 7


@pytest.mark.parametrize(
    ("method", "settings", "words"),
    [
        ("Ridge", ["alpha"], "NAME=VALUE"),
        ("Ridge", ["=1"], "NAME=VALUE"),
        ("Ridge", ["alpha=1", "alpha=2"], "twice"),
        ("Ridge", ["aplha=1"], "did you mean alpha"),
        ("Ridge", ["alpha=-1"], "'alpha' must be a number in [0, inf)"),
        ("Ridge", ["alpha=__import__('os').system('id')"], "'alpha' must be"),
        ("LogisticRegression", ["max_iter=1.5"], "must be an integer"),
        ("LogisticRegression", ["solver=nwton"], "'lbfgs'"),
        ("LogisticRegression", ["C__x=1"], "--set C=METHOD"),
        ("OneVsRestClassifier", [], "--set estimator="),
        ("Rigde", [], "Ridge"),
        ("OneVsRestClassifier", ["estimator=Perceptrn"], "Perceptron"),
        ("OneVsRestClassifier", ["estimator=Perceptron", "estimator__C=1"], "Perceptron has no parameter 'C'"),
        ("OneVsRestClassifier", ["estimator__C=1"], "--set estimator=METHOD"),
        ("OneVsRestClassifier", ["estimator=KMeans"], "must be a method for classification, regression"),
        ("VotingClassifier", [], "--set estimators="),
        ("VotingClassifier", ["estimators=Perceptrn"], "Perceptron"),
        ("VotingClassifier", ["estimators=Perceptron,KMeans"], "must be a method for classification, regression"),
        ("VotingClassifier", ["estimators=Perceptron", "ridge__alpha=1"], "has no parameter 'ridge'"),
        ("Ridge", ["random_state=-5"], "'random_state' must be an integer in [0, inf)"),
    ],
)  # fmt: skip
def test_values_that_are_refused(method, settings, words):
    with pytest.raises(Refusal) as caught:
        build(find_method(method), settings, seed=0)
    assert words in str(caught.value)
    assert caught.value.code == 2
