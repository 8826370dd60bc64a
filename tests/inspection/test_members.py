"""Any tree of an ensemble, drawn, written down and as rules."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tercet.inspection import additive_trees, ensemble_rules, member_tree
from tercet.linear_model import Ridge
from tercet.plot import plot_tree
from tercet.tree import export_text
from tests.inspection.models import MIXED, MODELS, TARGET, WHOLE


@pytest.mark.parametrize("name", ["forest of classes", "bagging", "boosting of classes", "AdaBoost"])
def test_members_are_drawn_and_written(name):
    model, _ = MODELS[name]()
    member = member_tree(model, 1)
    assert export_text(member).startswith("|---")
    assert plot_tree(member).texts
    assert member_tree(model, -1).tree_.n_features == member.tree_.n_features


def test_histogram_boosting_has_names_and_categories():
    pd = pytest.importorskip("pandas")
    from tercet.ensemble import HistGradientBoostingRegressor

    frame = pd.DataFrame(MIXED, columns=["age", "size", "word"]).astype({"age": float, "size": float})
    model = HistGradientBoostingRegressor(max_iter=2, min_samples_leaf=3).fit(
        frame, TARGET + (MIXED[:, 2] == "p") * 9
    )
    text = export_text(member_tree(model, 0))
    assert "word" in text
    assert "p" in text.partition("word")[2].split("\n")[0]


@pytest.mark.parametrize("name", ["forest", "bagging", "boosting of classes", "boosting of categories"])
def test_rules_of_all_trees_are_the_trees(name):
    model, X = MODELS[name]()
    rules, parts = ensemble_rules(model), additive_trees(model)
    assert len(rules) == len(parts.trees)
    if name == "boosting of classes":  # here the trees stand class by class, there round by round
        order = np.arange(len(rules)).reshape(len(model.estimators_), -1).T.ravel()
        rules = [rules[k] for k in order]
    for found, tree, columns in zip(rules, parts.trees, getattr(model, "estimators_features_", [None] * 99)):
        assert len(found) >= tree.n_leaves
        assert sum(rule.rows for rule in found) == tree.n_node_samples[0]
        rows = X[:6] if columns is None else X[:6][:, columns]
        assert_allclose(found.predict_value(rows), tree.predict(parts.encode(X[:6])), atol=1e-12)


def test_an_ensemble_is_no_tree_but_has_some():
    with pytest.raises(TypeError, match="member_tree` takes one out of many"):
        export_text(MODELS["forest"]()[0])


def test_what_is_refused():
    model, _ = MODELS["forest"]()
    with pytest.raises(ValueError, match="index must be between 0 and 2"):
        member_tree(model, 3)
    with pytest.raises(TypeError, match="Ridge is not a sum of trees"):
        member_tree(Ridge().fit(WHOLE, TARGET))
