"""Text and dot: scikit-learn's form, and what scikit-learn has no trees for."""

import io
import re
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.tree import DecisionTreeClassifier as TheirClassifier
from sklearn.tree import DecisionTreeRegressor as TheirRegressor
from sklearn.tree import export_graphviz as their_graphviz
from sklearn.tree import export_text as their_text
from sklearn.tree import plot_tree as their_plot

from tercet.tree import export_graphviz, export_text, plot_tree
from tests.tree.sample_trees import chain, from_counts, from_sklearn, grow_mixed, mixed_rows
from tests.tree.test_rule_set import Model

IRIS, DIABETES = load_iris(), load_diabetes()


@pytest.fixture(scope="module")
def iris():
    return TheirClassifier(random_state=0).fit(IRIS.data, IRIS.target)


@pytest.fixture(scope="module")
def diabetes():
    return TheirRegressor(max_depth=5, random_state=0).fit(DIABETES.data, DIABETES.target)


@pytest.fixture
def credit():
    nodes = {
        "root": ([6, 9], (0, {0: "a", 1: "b", 2: "c"})),
        "a": ([4, 1], None),
        "b": ([2, 4], (1, {0: "d", 1: "e"})),
        "c": ([0, 4], None),
        "d": ([2, 0], None),
        "e": ([0, 4], None),
    }
    return Model(
        tree_=from_counts(nodes),
        classes_=np.array(["no", "yes"]),
        categories_=[np.array(["fair", "good", 'the "best"']), np.array(["no", "yes"])],
        feature_names_in_=["credit", "job"],
        criterion="entropy",
    )


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"feature_names": IRIS.feature_names, "class_names": list(IRIS.target_names), "decimals": 1},
        {"max_depth": 1, "spacing": 5},
        {"max_depth": 0, "show_weights": True},
        {"show_weights": True, "decimals": 0},
    ],
)
def test_the_text_of_classes_is_scikit_learns(iris, options):
    assert export_text(from_sklearn(iris), **options) == their_text(iris, **options)


@pytest.mark.parametrize("options", [{}, {"feature_names": DIABETES.feature_names, "max_depth": 3}])
def test_the_text_of_numbers_is_scikit_learns(diabetes, options):
    assert export_text(from_sklearn(diabetes), **options) == their_text(diabetes, **options)


def test_the_text_of_categories(credit):
    assert export_text(credit).splitlines() == [
        "|--- credit = fair",
        "|   |--- class: no",
        "|--- credit = good",
        "|   |--- job = no",
        "|   |   |--- class: no",
        "|   |--- job = yes",
        "|   |   |--- class: yes",
        '|--- credit = the "best"',
        "|   |--- class: yes",
    ]
    sets = credit.tree_
    sets.slots[:3] = [0, 1, 1]
    assert "credit in {good, the" in export_text(credit)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"feature_names": IRIS.feature_names, "class_names": IRIS.target_names, "rounded": True},
        {"max_depth": 1, "rotate": True, "label": "root", "node_ids": True},
        {"proportion": True, "impurity": False, "label": "none", "precision": 1},
        {"leaves_parallel": True, "fontname": "times"},
    ],
)
def test_dot_is_scikit_learns(iris, options):
    ours = _renumbered(export_graphviz(_named(iris), **options))
    assert ours == _renumbered(their_graphviz(iris, **options))


def _named(model):
    return Model(tree_=from_sklearn(model), criterion=model.criterion, classes_=model.classes_)


def _renumbered(dot):
    """A drawing whose nodes are numbered in the order in which they are drawn; ranks are sets."""
    place = {t: k for k, t in enumerate(re.findall(r"^(\d+) \[", dot, flags=re.M))}
    dot = re.sub(r"^(\d+) \[", lambda m: f"{place[m[1]]} [", dot, flags=re.M)
    dot = re.sub(r"^(\d+) -> (\d+)", lambda m: f"{place[m[1]]} -> {place[m[2]]}", dot, flags=re.M)
    dot = re.sub(r'node #(\d+)|"#(\d+)', lambda m: f"#{place[m[1] or m[2]]}", dot)
    return [
        sorted(place[t] for t in re.findall(r"\d+", line)) if "rank=same" in line else line
        for line in dot.splitlines()
    ]


def test_dot_of_categories(credit):
    dot = export_graphviz(credit, class_names=True, filled=True)
    assert '0 [label="credit\\nentropy = 0.48\\nsamples = 15\\nvalue = [6, 9]\\nclass = yes"' in dot
    assert '0 -> 1 [label="fair"] ;' in dot
    assert r'0 -> 3 [label="the \"best\""] ;' in dot
    assert '2 [label="job = no\\n' in dot
    assert 'fillcolor="#' in dot
    proper = export_graphviz(credit, special_characters=True)
    assert "<credit<br/>entropy = 0.48" in proper


def test_multiway_trees_measure_entropy(credit):
    credit.algorithm, credit.criterion = "c45", "gini"
    assert "entropy = 0.48" in export_graphviz(credit)


def test_dot_of_numbers_and_special_signs(diabetes):
    tree = from_sklearn(diabetes)
    dot = export_graphviz(tree, filled=True, special_characters=True)
    assert "&le;" in dot
    assert "<=" not in dot
    shades = re.findall(r'fillcolor="(#\w+)"', dot)
    assert len(shades) == tree.node_count
    by_value = np.argsort(tree.value[:, 0, 0])
    order = [int(t) for t in re.findall(r"^(\d+) \[", dot, flags=re.M)]
    shade = dict(zip(order, shades))
    assert shade[by_value[0]] == "#ffffff"
    assert shade[by_value[-1]] == "#1b7fc1"


def test_dot_goes_to_files(tmp_path, iris):
    tree = from_sklearn(iris)
    want = export_graphviz(tree)
    assert export_graphviz(tree, tmp_path / "tree.dot") is None
    assert (tmp_path / "tree.dot").read_text(encoding="utf-8") == want
    out = io.StringIO()
    export_graphviz(tree, out)
    assert out.getvalue() == want


def test_any_kind_of_test_can_be_written():
    rng = np.random.default_rng(0)
    X, y = mixed_rows(rng, 100, 3)
    tree = grow_mixed(X, y, rng, depth=5, n_classes=3)
    text, dot = export_text(tree, max_depth=None), export_graphviz(tree)
    assert text.count("class:") == tree.n_leaves
    assert dot.count("->") == tree.node_count - 1


def test_chains_of_ten_thousand():
    tree = chain(10_000)
    assert "truncated branch of depth 9990" in export_text(tree)
    assert export_graphviz(tree).count("->") == 20_000
    short = chain(1500)
    assert export_text(short, max_depth=None).count("class:") == 1501


def test_several_outputs():
    Y = np.column_stack([IRIS.target, IRIS.target == 0])
    tree = from_sklearn(TheirClassifier(max_depth=2).fit(IRIS.data, Y))
    assert "class: 0, 1" in export_text(tree)
    assert "value = [[50, 50, 50], [100, 50]]" in export_graphviz(tree)
    assert "weights: [50.00, 0.00, 0.00] [0.00, 50.00] class: 0, 1" in export_text(tree, show_weights=True)


def test_bad_requests_say_so(iris):
    tree = from_sklearn(iris)
    with pytest.raises(ValueError, match="feature_names must contain 4 elements, got 1"):
        export_text(tree, feature_names=["a"])
    with pytest.raises(ValueError, match="Got 2 while the tree was fitted with 3 classes"):
        export_graphviz(tree, class_names=["a", "b"])
    with pytest.raises(ValueError, match="max_depth must be at least 0, got -1"):
        export_text(tree, max_depth=-1)
    with pytest.raises(ValueError, match="precision must be a whole number"):
        export_graphviz(tree, precision=-1)
    with pytest.raises(ValueError, match="label must be one of"):
        export_graphviz(tree, label="some")
    with pytest.raises(TypeError, match="SimpleNamespace"):
        export_text(SimpleNamespace())


@pytest.mark.parametrize(
    "options",
    [
        {
            "feature_names": ["a", "b", "c", "d"],
            "class_names": ["x", "y", "z"],
            "filled": True,
            "rounded": True,
        },
        {"max_depth": 1, "label": "root", "proportion": True},
        {"impurity": False, "precision": 1, "fontsize": 7, "label": "none"},
    ],
    ids=str,
)
def test_plot_tree_takes_and_returns_what_scikit_learns_does(iris, options):
    _, axes = plt.subplots(1, 2)
    model = Model(tree_=from_sklearn(iris), classes_=iris.classes_, criterion="gini")
    ours, peer = plot_tree(model, ax=axes[0], **options), their_plot(iris, ax=axes[1], **options)
    text = [[note.get_text() for note in notes] for notes in (ours, peer)]
    assert sorted(text[0]) == sorted(text[1])
    assert text[0][0] == text[1][0]
    if "fontsize" in options:
        assert {note.get_fontsize() for note in ours} == {7.0}
    plt.close("all")


def test_indices_of_unnamed_features_are_below_the_line_in_dot(diabetes):
    ours = export_graphviz(from_sklearn(diabetes), special_characters=True)
    assert "x<SUB>8</SUB> &le;" in ours
    assert "x[" not in ours
