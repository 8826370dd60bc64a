"""Threshold moving: the odds rule, costs, and any number of classes."""

from __future__ import annotations

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris, make_classification
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import balanced_accuracy_score
from sklearn.naive_bayes import GaussianNB

from tercet.multiclass import ThresholdMovingClassifier, rescale

X, y = make_classification(600, 5, weights=[0.9], flip_y=0.05, random_state=0)


def test_rule_of_the_odds():
    model = ThresholdMovingClassifier(LogisticRegression()).fit(X, y)
    p = LogisticRegression().fit(X, y).predict_proba(X)[:, 1]
    odds = np.bincount(y)[1] / np.bincount(y)[0]
    assert_array_equal(model.predict(X), (p / (1 - p) > odds).astype(int))
    q = model.predict_proba(X)[:, 1]
    assert_allclose(q / (1 - q), p / (1 - p) / odds)
    plain = LogisticRegression().fit(X, y)
    assert balanced_accuracy_score(y, model.predict(X)) > balanced_accuracy_score(y, plain.predict(X))


def test_equal_odds_are_not_enough():
    assert_allclose(rescale([0.2], 4.0), [0.5], rtol=0, atol=0)
    both = rescale([[0.8, 0.2]], [100 / 80, 100 / 20])
    assert both.argmax() == 0


@given(
    hnp.arrays(np.float64, 4, elements=st.floats(0.01, 1)),
    hnp.arrays(np.float64, 4, elements=st.floats(0.01, 100)),
)
def test_rescaling_multiplies_the_odds_of_every_pair(p, w):
    p = p / p.sum()
    q = rescale(p[None], w)[0]
    assert_allclose(q.sum(), 1)
    assert_allclose(q[:, None] / q[None], (p * w)[:, None] / (p * w)[None])
    assert_allclose(rescale(q[None], 1 / w)[0], p)


def test_costs_lower_the_expected_cost():
    A, b = load_iris(return_X_y=True)
    A = A + np.random.default_rng(0).normal(size=A.shape)
    p = GaussianNB().fit(A, b).predict_proba(A)
    cost = np.array([1.0, 10, 3])
    for given_cost in (cost, {1: 10.0, 2: 3.0}, [1.0, 10, 3]):
        model = ThresholdMovingClassifier(GaussianNB(), class_weight=given_cost).fit(A, b)
        expected_cost = (p * cost) @ (1 - np.eye(3))  # of each answer: the errors it makes, at their cost
        assert_array_equal(model.predict(A), expected_cost.argmin(axis=1))
    assert_allclose(ThresholdMovingClassifier(GaussianNB(), class_weight=None).fit(A, b).predict_proba(A), p)


def test_weights_count_as_rows():
    times = np.random.default_rng(0).integers(0, 4, size=y.size)
    weighted = ThresholdMovingClassifier(GaussianNB()).fit(X, y, times)
    repeated = ThresholdMovingClassifier(GaussianNB()).fit(X.repeat(times, axis=0), y.repeat(times))
    assert_allclose(weighted.class_weight_, repeated.class_weight_)
    assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"class_weight": {7: 2.0}}, r"class_weight names \[7\], but the classes are \[0, 1\]"),
        ({"class_weight": [1.0, 2, 3]}, "a cost of at least 0 for each of 2 classes"),
        ({"class_weight": [-1.0, 2]}, "a cost of at least 0"),
        ({"class_weight": "even"}, "'class_weight' must be 'balanced'"),
        ({"estimator": RidgeClassifier()}, "must have predict_proba; got RidgeClassifier"),
    ],
)
def test_errors(options, message):
    with pytest.raises(ValueError, match=message):
        ThresholdMovingClassifier(**{"estimator": GaussianNB(), **options}).fit(X, y)
