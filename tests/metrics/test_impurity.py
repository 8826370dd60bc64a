"""Gini index, classification error and half entropy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tercet.datasets import load_loans, load_watermelon
from tercet.metrics.impurity import classification_error, gini, gini_index, half_entropy, label_gini

shares = st.lists(st.floats(0.01, 1), min_size=2, max_size=6).map(lambda p: np.array(p) / sum(p))


def test_loans():
    X, y = load_loans(return_X_y=True)
    assert label_gini(y) == pytest.approx(0.48)
    age, job, house, credit = X.T
    splits = [(age, "youth"), (age, "middle"), (age, "old"), (job, "yes"), (house, "yes")]
    splits += [(credit, "excellent"), (credit, "good"), (credit, "fair")]
    found = [gini_index(y, feature, value=value) for feature, value in splits]
    assert np.allclose(found, [0.44, 0.48, 0.44, 0.32, 4 / 15, 0.3636363636, 0.4740740741, 0.32])
    assert gini_index(y, job) == pytest.approx(gini_index(y, job, value="no"))  # two values are one split


def test_watermelons():
    X, y = load_watermelon("2.0", return_X_y=True)
    assert label_gini(y) == pytest.approx(0.4982698962)
    found = [gini_index(y, a.astype(str)) for a in X.T]
    assert np.allclose(found, [0.427451, 0.422269, 0.423529, 0.277124, 0.344538, 0.494118], atol=6e-7)


@given(shares)
def test_bounds(p):
    k = len(p)
    assert 0 <= gini(p) <= 1 - 1 / k + 1e-12
    assert 0 <= classification_error(p) <= gini(p) + 1e-12  # 1 - max p <= 1 - sum p^2
    assert gini(p) <= half_entropy(p) * 2 * np.log(2) + 1e-12  # 1 - p <= -ln p


@given(st.floats(0, 1))
def test_two_classes(p):
    pair = [p, 1 - p]
    assert gini(pair) == pytest.approx(2 * p * (1 - p), abs=1e-12)
    assert classification_error(pair) == pytest.approx(min(p, 1 - p))
    assert classification_error(pair) <= gini(pair) + 1e-12


def test_pure_and_even():
    for measure in (gini, classification_error, half_entropy):
        assert measure([1.0, 0.0]) == 0
        assert measure([0.5, 0.5]) == pytest.approx(0.5)
        assert np.allclose(measure([[3, 1], [0, 2]], normalise=True)[1], 0)


@given(st.integers(0, 2**32 - 1))
def test_weights_are_rows(seed):
    rng = np.random.default_rng(seed)
    y, a = rng.integers(0, 3, 20), rng.integers(0, 4, 20)
    weight = rng.integers(1, 4, 20)
    many = np.repeat(np.arange(20), weight)
    assert gini_index(y, a, sample_weight=weight) == pytest.approx(gini_index(y[many], a[many]))
    assert gini_index(y, a) <= label_gini(y) + 1e-12  # a split never mixes


def test_bad_input():
    with pytest.raises(ValueError, match="p must sum to 1"):
        gini([0.5, 0.6])
    with pytest.raises(ValueError, match="at least 0"):
        classification_error([-0.5, 1.5])


def test_a_value_that_does_not_occur_is_refused():
    with pytest.raises(
        ValueError, match="value='d' does not occur in the feature, whose values are 'a', 'b'"
    ):
        gini_index([0, 1], ["a", "b"], value="d")
    with pytest.raises(ValueError, match="value='1' does not occur in the feature, whose values are 1, 2"):
        gini_index([0, 1, 1], [1, 2, 2], value="1")
    assert gini_index([0, 1], ["a", "b"], value="b") == 0.0
