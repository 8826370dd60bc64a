"""Combination features: crossed categories, and leaves of trees."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier as PeerForest
from sklearn.pipeline import make_pipeline

from tercet.ensemble import GradientBoostingClassifier, RandomForestClassifier, RandomForestRegressor
from tercet.feature import FeatureCross, TreeLeafEncoder
from tercet.linear_model import LogisticRegression
from tercet.tree import DecisionTreeClassifier, DecisionTreeRegressor

RNG = np.random.default_rng(0)
X = RNG.random((400, 4))
XOR = (X[:, 0] > 0.5) ^ (X[:, 1] > 0.5)


def test_a_cross_is_a_feature_for_each_pair():
    frame = pd.DataFrame({"a": ["x", "y", "x", None], "b": [1, 1, 2, 2], "c": list("pqpq")})
    model = FeatureCross(encode="onehot-dense").fit(frame)
    assert model.crosses_ == [(0, 1), (0, 2), (1, 2)]
    names = model.get_feature_names_out().tolist()
    assert names[:4] == ["a=x & b=1", "a=x & b=2", "a=y & b=1", "a=missing & b=2"]
    found = model.transform(frame)
    assert (found.sum(axis=1) == 3).all()
    text = frame.astype(object).where(frame.notna(), "missing").astype(str)
    for j, name in enumerate(names):
        pairs = [part.split("=") for part in name.split(" & ")]
        holds = np.all([text[key] == value for key, value in pairs], axis=0)
        assert np.array_equal(found[:, j], holds)


def test_crosses_by_name_and_of_three_columns():
    frame = pd.DataFrame(RNG.integers(0, 4, size=(200, 4)), columns=list("abcd"))
    chosen = FeatureCross(crosses=[("a", "c"), (1, "d", 0)], encode="ordinal").fit(frame)
    assert chosen.crosses_ == [(0, 2), (1, 3, 0)]
    assert chosen.get_feature_names_out().tolist() == ["a & c", "b & d & a"]
    found = chosen.transform(frame)
    for k, columns in enumerate((["a", "c"], ["b", "d", "a"])):
        groups = frame.groupby(columns, sort=True).ngroup()
        assert np.array_equal(found[:, k], groups)
    assert len(FeatureCross(3).fit(frame).crosses_) == 10
    with pytest.raises(ValueError, match="names the column 'z'; there are 4 columns: a, b, c, d"):
        FeatureCross(crosses=[("a", "z")]).fit(frame)
    with pytest.raises(ValueError, match="must be a list of tuples"):
        FeatureCross(crosses=["ab"]).fit(frame)


def test_combinations_that_are_unknown_or_rare():
    rows = [["a", "x"], ["a", "x"], ["a", "y"], ["b", "y"]]
    model = FeatureCross(encode="ordinal").fit(rows)
    assert model.transform([["b", "x"], ["c", "x"], ["a", "y"]]).ravel().tolist() == [-1, -1, 1]
    rare = FeatureCross(encode="ordinal", min_count=2).fit(rows)
    assert rare.transform(rows).ravel().tolist() == [0, 0, -1, -1]
    with pytest.raises(ValueError, match=r"row 0 of X has a combination of the columns \(0, 1\)"):
        FeatureCross(handle_unknown="error").fit(rows).transform([["b", "x"]])
    nothing = FeatureCross(min_count=9).fit(rows)
    assert nothing.transform(rows).shape == (4, 0)


def test_crossed_features_make_xor_linear():
    bins = np.column_stack([X[:, 0] > 0.5, X[:, 1] > 0.5])
    assert LogisticRegression().fit(bins, XOR).score(bins, XOR) < 0.8
    assert make_pipeline(FeatureCross(), LogisticRegression()).fit(bins, XOR).score(bins, XOR) == 1.0


def test_one_column_has_nothing_to_cross():
    assert FeatureCross().fit_transform([["a"], ["b"]]).shape == (2, 0)


def test_many_categories():
    codes = RNG.integers(0, 5000, size=(20_000, 2))
    found = FeatureCross().fit_transform(codes)
    assert found.shape[1] == len(np.unique(codes, axis=0))
    assert found.nnz == 20_000


MODELS = {
    "tree": DecisionTreeClassifier(max_depth=3, random_state=0),
    "forest": RandomForestClassifier(5, max_depth=3, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=4, random_state=0),
    "regression": RandomForestRegressor(3, max_depth=2, random_state=0),
    "theirs": PeerForest(3, max_depth=2, random_state=0),
    "default": None,
}


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("encode", ["onehot", "onehot-dense", "ordinal"])
def test_leaves_are_those_of_apply(kind, encode):
    y = XOR.astype(int)
    model = TreeLeafEncoder(MODELS[kind], encode=encode, random_state=0).fit(X, y)
    leaves = model.estimators_[0].apply(X).reshape(len(X), -1)
    found = model.transform(X)
    assert sparse.issparse(found) == (encode == "onehot")
    found = found.toarray() if sparse.issparse(found) else found
    assert len(model.get_feature_names_out()) == found.shape[1]
    if encode == "ordinal":
        expected = np.column_stack([np.unique(column, return_inverse=True)[1] for column in leaves.T])
        assert np.array_equal(found, expected)
    else:
        assert (found.sum(axis=1) == leaves.shape[1]).all()
        assert found.shape[1] == sum(len(np.unique(column)) for column in leaves.T)
    again = model.fit_transform(X, y)
    assert np.array_equal(again.toarray() if sparse.issparse(again) else again, found)


def satisfies(rule):
    """Which rows of X meet a rule such as "0.2 < a <= 0.5 and b > 0.3"."""
    holds = np.ones(len(X), dtype=bool)
    for low, name, above, high in re.findall(
        r"(?:([\d.e-]+) < )?([abcd])(?: > ([\d.e-]+))?(?: <= ([\d.e-]+))?", rule
    ):
        x = X[:, "abcd".index(name)]
        holds &= (x > float(low or above or -1)) & (x <= float(high or 2))
    return holds


def test_names_are_the_rules_of_the_paths():
    model = TreeLeafEncoder(MODELS["forest"], encode="onehot-dense").fit(X, XOR)
    found, names = model.transform(X), model.get_feature_names_out(["a", "b", "c", "d"])
    assert len(set(names)) == len(names)
    for j, name in enumerate(names):
        different = satisfies(name.partition(": ")[2]) != found[:, j].astype(bool)
        assert different.sum() <= 1, name  # thresholds are written with six digits


def test_trees_find_the_combinations_for_a_linear_model():
    train, test = slice(300), slice(300, None)
    plain = LogisticRegression().fit(X[train], XOR[train]).score(X[test], XOR[test])
    steps = make_pipeline(TreeLeafEncoder(random_state=0), LogisticRegression()).fit(X[train], XOR[train])
    assert plain < 0.7 < 0.9 < steps.score(X[test], XOR[test])


def test_cross_fitted_leaves():
    y = RNG.integers(0, 2, size=400)  # noise
    tree = DecisionTreeClassifier(random_state=0)
    leaky, clean = TreeLeafEncoder(tree), TreeLeafEncoder(tree, cv=4, random_state=0)
    rows = leaky.fit_transform(X, y)
    assert LogisticRegression(C=10.0).fit(rows, y).score(rows, y) > 0.95  # the trees know each target
    rows = clean.fit_transform(X, y)
    assert len(clean.estimators_) == 4
    assert (rows.sum(axis=1) == 1).all()  # in the leaves of the one tree that has not seen the row
    np.testing.assert_allclose(clean.transform(X).sum(axis=1), 1.0)
    shallow = TreeLeafEncoder(DecisionTreeClassifier(max_depth=3, random_state=0), cv=4, random_state=0)
    rows = shallow.fit_transform(X, y)
    assert LogisticRegression(C=1.0).fit(rows, y).score(rows, y) < 0.72
    steps = make_pipeline(TreeLeafEncoder(cv=3, random_state=0), LogisticRegression()).fit(X, XOR)
    assert steps.score(RNG.random((50, 4)), np.zeros(50)) < 0.8
    assert steps.score(X, XOR) > 0.9


def test_fitted_trees_stay_as_they_are():
    tree = DecisionTreeRegressor(max_depth=2).fit(X, X[:, 0])
    model = TreeLeafEncoder(tree, prefit=True, encode="ordinal").fit(X, X[:, 0])
    assert model.estimators_[0] is tree
    assert model.get_feature_names_out().tolist() == ["tree0"]


def test_trees_of_categories():
    frame = pd.DataFrame({"colour": ["red", "blue", "green"] * 20, "size": np.arange(60.0)})
    y = (frame["colour"] == "red").to_numpy() & (frame["size"] > 30).to_numpy()
    model = TreeLeafEncoder(DecisionTreeClassifier(), encode="onehot-dense").fit(frame, y)
    assert any("colour" in name and "red" in name for name in model.get_feature_names_out())
    assert (model.transform(frame).sum(axis=1) == 1).all()


def test_estimators_without_leaves():
    with pytest.raises(ValueError, match="must be a decision tree, forest or gradient boosting with apply"):
        TreeLeafEncoder(LogisticRegression()).fit(X, XOR)
    with pytest.raises(ValueError, match="prefit=True needs a fitted estimator"):
        TreeLeafEncoder(prefit=True).fit(X, XOR)
    with pytest.raises(ValueError, match="encode must be one-hot"):
        TreeLeafEncoder(cv=2, encode="ordinal").fit(X, XOR)
    with pytest.raises(ValueError, match="each sample index exactly once"):
        TreeLeafEncoder(cv=[(np.arange(9), np.arange(9))]).fit(X, XOR)
