"""The cascade of two-class models."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import RidgeClassifier

from tercet.linear_model import LogisticRegression
from tercet.multiclass.cascade_classifier import CascadeClassifier


def test_one_class_after_the_other():
    X, y = load_iris(return_X_y=True)
    model = CascadeClassifier(LogisticRegression(), order=[2, 0, 1]).fit(X, y)
    third = LogisticRegression().fit(X, y == 2)
    second = LogisticRegression().fit(X[y != 2], y[y != 2] == 0)
    p2 = third.predict_proba(X)[:, 1]
    p0 = second.predict_proba(X)[:, 1]
    by_hand = np.column_stack([(1 - p2) * p0, (1 - p2) * (1 - p0), p2])
    np.testing.assert_allclose(model.predict_proba(X), by_hand, atol=1e-12)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    assert np.array_equal(model.predict(X), by_hand.argmax(axis=1))
    first = model.set_params(decide="first").predict(X)
    assert np.array_equal(first, np.where(p2 > 0.5, 2, np.where(p0 > 0.5, 0, 1)))
    assert model.score(X, y) > 0.9


def test_orders():
    X = np.arange(9.0)[:, None]
    y = np.array(["b", "b", "a", "c", "c", "c", "c", "b", "a"])
    assert CascadeClassifier(LogisticRegression()).fit(X, y).order_.tolist() == ["a", "b", "c"]
    assert CascadeClassifier(LogisticRegression(), order="frequency").fit(X, y).order_.tolist() == [
        "c",
        "b",
        "a",
    ]
    with pytest.raises(ValueError, match="parameter 'order' must be 'sorted', 'frequency' or the classes"):
        CascadeClassifier(LogisticRegression(), order=["a", "b"]).fit(X, y)
    with pytest.raises(ValueError, match="got 'random'"):
        CascadeClassifier(LogisticRegression(), order="random").fit(X, y)


def test_weights_and_threads():
    X, y = load_iris(return_X_y=True)
    s = np.random.default_rng(0).integers(0, 3, y.size)
    base = LogisticRegression(tol=1e-10, max_iter=500)
    one = CascadeClassifier(base).fit(X, y, sample_weight=s)
    two = CascadeClassifier(base, n_jobs=2).fit(X, y, sample_weight=s)
    repeated = CascadeClassifier(base).fit(X.repeat(s, axis=0), y.repeat(s))
    assert np.array_equal(one.predict_proba(X), two.predict_proba(X))
    np.testing.assert_allclose(one.predict_proba(X), repeated.predict_proba(X), atol=1e-6)


def test_an_estimator_without_probabilities():
    X, y = load_iris(return_X_y=True)
    model = CascadeClassifier(RidgeClassifier()).fit(X, y)
    assert not hasattr(model, "predict_proba")
    assert model.score(X, y) > 0.7
