"""Rules: one for each leaf, every row under exactly one, and fewer words after simplification."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier as TheirClassifier
from sklearn.tree import DecisionTreeRegressor as TheirRegressor

from tercet.datasets import load_watermelon
from tercet.tree import DecisionTreeClassifier
from tercet.tree.pruning import pessimistic_errors
from tercet.tree.rule_set import extract_rules
from tercet.tree.tree import LEAF, TreeBuilder
from tests.tree.sample_trees import chain, from_counts, from_sklearn, grow_mixed, mixed_rows


class Model(SimpleNamespace):
    """A tree with names, as a fitted estimator has them."""

    def _check(self, X, reset):
        return np.asarray(X, dtype=float)


@pytest.fixture
def loans():
    nodes = {
        "root": ([6, 9], (2, {0: "no house", 1: "house"})),
        "no house": ([6, 3], (1, {0: "no job", 1: "job"})),
        "house": ([0, 6], None),
        "no job": ([6, 0], None),
        "job": ([0, 3], None),
    }
    return Model(
        tree_=from_counts(nodes, n_features=4),
        classes_=np.array(["no", "yes"]),
        categories_=[
            np.array(words.split()) for words in ("middle old youth", "no yes", "no yes", "fair good")
        ],
        feature_names_in_=np.array(["age", "job", "house", "credit"]),
    )


def test_the_loans_in_words(loans):
    rules = extract_rules(loans)
    assert str(rules).splitlines() == [
        "if house = no and job = no then no (6 rows, 100 %)",
        "if house = no and job = yes then yes (3 rows, 100 %)",
        "if house = yes then yes (6 rows, 100 %)",
    ]
    assert len(rules) == 3
    assert [rule.rows for rule in rules] == [6, 3, 6]
    assert rules.predict([[0, 0, 1, 0], [0, 0, 0, 1]]).tolist() == ["yes", "no"]
    assert rules.to_list()[1] == {
        "if": ["house = no", "job = yes"],
        "then": "yes",
        "rows": 3,
        "weight": 3.0,
        "confidence": 1.0,
        "distribution": {"no": 0.0, "yes": 1.0},
    }
    frame = rules.to_frame()
    assert frame["if"].tolist()[1:] == ["house = no and job = yes", "house = yes"]
    assert frame["confidence"].tolist() == [1, 1, 1]
    renamed = extract_rules(loans, ["年龄", "有工作", "有自己的房子", "信贷情况"], ["否", "是"])
    assert str(renamed).startswith("if 有自己的房子 = no and 有工作 = no then 否")


def test_missing_values_meet_rules_in_part(loans):
    rules = extract_rules(loans)
    X = [[0, 1, np.nan, 0], [0, np.nan, np.nan, 0]]
    np.testing.assert_allclose(rules.degrees(X), [[0, 0.6, 0.4], [0.4, 0.2, 0.4]])
    np.testing.assert_allclose(rules.predict_value(X), loans.tree_.predict(np.array(X)))


def test_values_that_were_not_there_stop_at_the_node():
    nodes = {
        "root": ([3, 4], (0, {0: "a", 2: "b"})),
        "a": ([3, 1], None),
        "b": ([0, 3], None),
    }
    model = Model(
        tree_=from_counts(nodes), classes_=np.array([0, 1]), categories_=[np.array(["x", "y", "z"])]
    )
    rules = extract_rules(model)
    assert str(rules).splitlines() == [
        "if x0 = y then 1 (0 rows, 57.1 %)",
        "if x0 = x then 0 (4 rows, 75 %)",
        "if x0 = z then 1 (3 rows, 100 %)",
    ]
    X = np.array([[0.0], [1], [2], [3]])
    np.testing.assert_allclose(rules.predict_value(X), model.tree_.predict(X))
    np.testing.assert_allclose(rules.degrees(X[:3]).sum(axis=1), 1)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("shared", [False, True])
def test_every_row_is_covered_by_exactly_one_rule(seed, shared):
    rng = np.random.default_rng(seed)
    X, y = mixed_rows(rng, 80, 3)
    tree = grow_mixed(X, y, rng, depth=5, n_classes=3, shared=shared)
    rules = extract_rules(tree)
    new, _ = mixed_rows(rng, 200)
    degrees = rules.degrees(new)
    assert set(np.unique(degrees)) <= {0.0, 1.0}
    assert (degrees.sum(axis=1) == 1).all()
    np.testing.assert_array_equal(rules.predict_value(new), tree.predict(new))
    new[rng.random(new.shape) < 0.2] = np.nan
    np.testing.assert_allclose(rules.degrees(new).sum(axis=1), 1)
    new[:20, 2] = 3  # unseen
    np.testing.assert_allclose(rules.predict_value(new), tree.predict(new), atol=1e-12)
    leaves = (tree.kind == LEAF).sum()
    assert sum(rule.rows > 0 for rule in rules) == leaves
    assert sum(rule.rows for rule in rules) == len(X)


def test_conditions_on_one_feature_are_one():
    X, y = load_iris(return_X_y=True)
    model = TheirClassifier(random_state=0).fit(X, y)
    rules = extract_rules(from_sklearn(model), load_iris().feature_names, load_iris().target_names)
    for rule in rules:
        features = [condition.feature for condition in rule.conditions]
        assert len(set(features)) == len(features)
    np.testing.assert_array_equal(rules.predict(X), model.predict(X))
    assert str(rules).splitlines()[0] == "if petal width (cm) <= 0.8 then setosa (50 rows, 100 %)"
    assert any("< petal length (cm) <=" in line for line in str(rules).splitlines())


def test_numbers_and_linear_tests():
    X, y = load_diabetes(return_X_y=True)
    model = TheirRegressor(max_depth=3).fit(X, y)
    rules = extract_rules(from_sklearn(model))
    np.testing.assert_allclose(rules.predict(X), model.predict(X))
    assert "%" not in str(rules)
    assert set(rules.to_list()[0]) == {"if", "then", "rows", "weight"}
    with pytest.raises(ValueError, match="simplify counts mistakes"):
        rules.simplify(X, y)
    several = TheirRegressor(max_depth=2).fit(X, np.column_stack([y, -y]))
    np.testing.assert_allclose(extract_rules(from_sklearn(several)).predict(X), several.predict(X))


def test_sides_of_a_linear_test():
    grow = TreeBuilder(2)
    grow.add_root(value=[[0.5, 0.5]], impurity=0.5, samples=4, weight=4.0)
    for t in grow.split(0, n_children=2, coef=[0.5, -2.0], threshold=1.0):
        grow.set(t, value=[np.eye(2)[t - 1]], impurity=0.0, samples=2, weight=2.0)
    assert str(extract_rules(grow.tree([2]), ["a", "b"])).splitlines() == [
        "if 0.5 a - 2 b <= 1 then 0 (2 rows, 100 %)",
        "if 0.5 a - 2 b > 1 then 1 (2 rows, 100 %)",
    ]


def test_a_tree_of_one_leaf_always_says_the_same():
    grow = TreeBuilder(2)
    grow.add_root(value=[[0.25, 0.75]], impurity=0.4, samples=4, weight=4.0)
    rules = extract_rules(grow.tree([2]))
    assert str(rules) == "always 1 (4 rows, 75 %)"
    assert rules.predict(np.zeros((3, 2))).tolist() == [1, 1, 1]


def test_simplified_rules_of_the_loans(loans):
    X = np.array(
        [
            [0, job, house, 0]
            for job, house, n in ((0, 0, 6), (1, 0, 3), (0, 1, 4), (1, 1, 2))
            for _ in range(n)
        ]
    )
    y = np.where((X[:, 1] == 1) | (X[:, 2] == 1), "yes", "no")
    short = extract_rules(loans).simplify(X, y)
    assert str(short).splitlines() == [
        "if house = no and job = no then no (6 rows, 100 %)",
        "if house = yes then yes (6 rows, 100 %)",
        "if job = yes then yes (5 rows, 100 %)",
        "otherwise yes (15 rows, 60 %)",
    ]
    assert short.predict(X).tolist() == y.tolist()
    assert short.predict([[0, np.nan, np.nan, 0]]).tolist() == ["yes"]


@pytest.mark.parametrize("seed", range(4))
def test_simplification_never_raises_a_rules_pessimistic_error(seed):
    rng = np.random.default_rng(seed)
    X, y = mixed_rows(rng, 300, 3)
    y = np.where(rng.random(300) < 0.8, X[:, 2].astype(int), y)
    tree = grow_mixed(X, y, rng, depth=6, n_classes=3)
    full = extract_rules(tree)
    short = full.simplify(X, y)

    def rate(rule):
        holds, label = rule.degrees(X) >= 1, rule.value[0].argmax()
        return pessimistic_errors((y[holds] != label).sum(), holds.sum(), 0.25) / holds.sum()

    worst = dict.fromkeys(range(3), 0.0)
    for rule in full:
        label = int(rule.value[0].argmax())
        worst[label] = max(worst[label], rate(rule) if rule.rows else 0.0)
    for rule in short:
        assert rate(rule) <= worst[int(rule.value[0].argmax())] + 1e-12
        holds = rule.degrees(X) >= 1
        assert rule.rows == holds.sum()
        np.testing.assert_allclose(rule.value[0], np.bincount(y[holds], minlength=3) / holds.sum())
    assert len(short) < len(full)
    count = sum(len(rule.conditions) for rule in full)
    assert sum(len(rule.conditions) for rule in short) < count
    # A weight of two is the row twice.
    w = rng.integers(0, 3, 300)
    again = np.repeat(np.arange(300), w)
    a, b = full.simplify(X, y, sample_weight=w), full.simplify(X[again], y[again])
    assert [entry["if"] for entry in a.to_list()] == [entry["if"] for entry in b.to_list()]
    np.testing.assert_array_equal(a.predict(X), b.predict(X))


@pytest.mark.parametrize("algorithm", ["id3", "c45", "cart"])
def test_rules_of_melons_with_gaps(algorithm):
    data = load_watermelon("2.0alpha")
    X, y = pd.DataFrame(data.data, columns=data.feature_names_zh), np.where(data.target, "好瓜", "坏瓜")
    model = DecisionTreeClassifier(algorithm=algorithm).fit(X, y)
    rules = extract_rules(model)
    np.testing.assert_allclose(rules.predict_value(X)[:, 0], model.predict_proba(X))
    assert rules.predict(X).tolist() == model.predict(X).tolist()
    assert str(rules).startswith("if 纹理 ")
    short = rules.simplify(X, y)
    assert set(short.predict(X)) <= {"好瓜", "坏瓜"}
    assert (short.predict(X) == y).mean() > 0.7


def test_long_chains():
    rules = extract_rules(chain(5000))
    assert len(rules) == 5001
    assert str(rules).splitlines()[2] == "if 1.5 < x0 <= 2.5 then 0 (1 row, 100 %)"


def test_bad_requests_say_so(loans):
    with pytest.raises(ValueError, match="feature_names must contain 4 elements, got 1"):
        extract_rules(loans, ["a"])
    with pytest.raises(ValueError, match="Got 1 while the tree was fitted with 2 classes"):
        extract_rules(loans, class_names=["a"])
    with pytest.raises(TypeError, match="LinearRegression has no tree"):
        extract_rules(LinearRegression().fit([[0], [1]], [0, 1]))
    with pytest.raises(NotFittedError):
        extract_rules(LinearRegression())
    rules = extract_rules(loans)
    with pytest.raises(ValueError, match="confidence must be between 0 and 1, got 1"):
        rules.simplify(np.zeros((1, 4)), ["no"], confidence=1)
    with pytest.raises(ValueError, match="y holds 'maybe', which is not a class"):
        rules.simplify(np.zeros((1, 4)), ["maybe"])
