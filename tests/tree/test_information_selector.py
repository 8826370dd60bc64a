"""Feature selection by what each feature tells about the classes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline

from tercet.datasets import load_loans, load_watermelon
from tercet.metrics.impurity import gini_index, label_gini
from tercet.metrics.information import information_gain, information_gain_ratio
from tercet.tree import DecisionTreeClassifier
from tercet.tree.information_selector import InformationSelector


def test_loans():
    X, y = load_loans(return_X_y=True)
    selector = InformationSelector().fit(X, y)
    assert np.allclose(selector.scores_, [0.0830074999, 0.3236501982, 0.4199730940, 0.3629895625])
    assert selector.get_support().tolist() == [False, True, True, True]  # the mean is 0.297
    assert InformationSelector(threshold=0.35).fit(X, y).get_support(indices=True).tolist() == [2, 3]
    assert InformationSelector(k=1).fit(X, y).get_support(indices=True).tolist() == [2]
    assert np.isnan(selector.cuts_).all()


@pytest.mark.parametrize("weighted", [False, True])
def test_scores_are_the_metrics(weighted):
    X, y = load_watermelon("2.0", return_X_y=True)
    weight = np.random.default_rng(0).integers(1, 4, len(y)).astype(float) if weighted else None
    measures = {
        "gain": lambda a: information_gain(y, a, sample_weight=weight, base=2),
        "ratio": lambda a: information_gain_ratio(y, a, sample_weight=weight),
        "gini": lambda a: label_gini(y, sample_weight=weight) - gini_index(y, a, sample_weight=weight),
    }
    for criterion, measure in measures.items():
        scores = InformationSelector(criterion).fit(X, y, weight).scores_
        assert np.allclose(scores, [measure(a.astype(str)) for a in X.T])


def test_numbers_are_cut_in_two():
    X, y = load_watermelon("3.0alpha", return_X_y=True)
    selector = InformationSelector().fit(X, y)
    assert np.allclose(selector.scores_, [0.2624392604, 0.3492937223])
    assert np.allclose(selector.cuts_, [0.3815, 0.126])
    ratio = InformationSelector("ratio").fit(X, y)
    assert ratio.scores_[0] == pytest.approx(information_gain_ratio(y, X[:, 0] <= 0.3815))


def test_missing_values_lower_the_score():
    X, y = load_watermelon("2.0alpha", return_X_y=True)
    scores = InformationSelector().fit(X, y).scores_
    assert np.allclose(scores, [0.251966, 0.171178, 0.144803, 0.423560, 0.288825, 0.005713], atol=6e-7)


@pytest.mark.parametrize("frame", [pd.DataFrame, lambda d: pl.DataFrame(d, strict=False)])
def test_mixed_frames(frame):
    melons = load_watermelon("3.0")
    X = frame({name: list(melons.data[:, j]) for j, name in enumerate(melons.feature_names)})
    selector = InformationSelector(k=3).fit(X, melons.target)
    assert selector.get_feature_names_out().tolist() == ["texture", "navel", "sugar"]
    small = selector.transform(X)
    assert small[0].tolist() == ["清晰", "凹陷", 0.46]
    kept = selector.set_output(transform="pandas").transform(X)
    assert list(kept.columns) == ["texture", "navel", "sugar"]


def test_gaps_pass_through():
    X, y = load_watermelon("2.0alpha", return_X_y=True)
    kept = InformationSelector(k=2).fit(X, y).transform(X)
    assert kept[7].tolist() == [None, "稍凹"]


def test_before_a_tree():
    X, y = load_iris(return_X_y=True)
    noise = np.random.default_rng(0).normal(size=(len(y), 6))
    model = make_pipeline(InformationSelector(k=2), DecisionTreeClassifier(max_depth=3))
    model.fit(np.hstack([noise, X]), y)
    assert model[0].get_support(indices=True).tolist() == [8, 9]
    assert model.score(np.hstack([noise, X]), y) > 0.95


def test_weights():
    X, y = load_iris(return_X_y=True)
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    many = np.repeat(np.arange(len(y)), weight)
    one = InformationSelector().fit(X, y, weight)
    assert np.allclose(one.scores_, InformationSelector().fit(X[many], y[many]).scores_)
    assert np.allclose(one.cuts_, InformationSelector(n_jobs=2).fit(X[many], y[many]).cuts_)


def test_ties_and_columns_that_say_nothing():
    y = np.array([0, 0, 1, 1])
    X = np.column_stack([np.ones(4), y, 1 - y, np.full(4, np.nan), y]).astype(float)
    selector = InformationSelector(k=2).fit(X, y)
    assert selector.scores_.tolist() == [0, 1, 1, 0, 1]
    assert selector.get_support(indices=True).tolist() == [1, 2]
    with pytest.raises(ValueError, match="k=6 features cannot be kept; X has 5"):
        InformationSelector(k=6).fit(X, y)
    with pytest.raises(ValueError, match="parameter 'threshold' must be"):
        InformationSelector(threshold=-1.0).fit(X, y)
    with pytest.warns(UserWarning, match="No features were selected"):
        assert InformationSelector(threshold=2.0).fit(X, y).transform(X).shape == (4, 0)


def test_one_class_has_nothing_to_tell():
    selector = InformationSelector().fit(np.arange(6.0).reshape(3, 2), ["a"] * 3)
    assert selector.scores_.tolist() == [0, 0]


def test_a_broken_sparse_matrix_is_refused():
    X = np.array([[0.0, 1.0], [1.0, 1.0], [0.0, 2.0], [1.0, 2.0]])
    model = InformationSelector(k=1).fit(X, [0, 1, 0, 1])
    rows = sparse.csr_array(X)
    assert model.transform(rows).shape == (4, 1)
    rows.indices[0] = 10**6  # would be looked up far behind the last column
    with pytest.raises(ValueError, match="X is not a valid CSR matrix"):
        model.transform(rows)


def test_rows_of_the_kept_columns_come_back():
    X, y = load_iris(return_X_y=True)
    selector = InformationSelector(k=2).fit(X, y)
    kept = sparse.csr_matrix(selector.transform(X))
    back = selector.inverse_transform(kept).toarray()
    np.testing.assert_array_equal(back, np.where(selector.get_support(), X, 0.0))
    kept.indices[0] = 10**6
    with pytest.raises(ValueError, match="not a valid CSR matrix"):
        selector.inverse_transform(kept)
