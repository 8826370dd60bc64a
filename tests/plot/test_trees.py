"""Pictures of trees: what they say, and that nothing lies on anything else."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_digits, load_iris
from sklearn.tree import DecisionTreeClassifier as TheirClassifier
from sklearn.tree import DecisionTreeRegressor as TheirRegressor

from tercet.plot import plot_model, plot_tree, style, to_svg
from tercet.plot.styling import COLOURS, WIDTH
from tercet.plot.trees import ENDS, _boxes, _expanded_nodes, _lay_out, _text_width
from tercet.tree import TreeLabels
from tests.tree.sample_trees import chain, from_counts, from_sklearn, grow_mixed, mixed_rows
from tests.tree.test_rule_set import Model

IRIS = load_iris()


@pytest.fixture(scope="module")
def iris():
    model = TheirClassifier(max_depth=2, random_state=0).fit(IRIS.data, IRIS.target)
    return Model(tree_=from_sklearn(model), classes_=IRIS.target_names)


def words(ax):
    return [text.get_text() for text in ax.texts]


def test_a_tree_says_its_tests_and_answers(iris):
    ax = plot_tree(iris, IRIS.feature_names)
    assert words(ax) == [
        *["petal width (cm)", "≤ 0.8", "setosa", "50 · 100%"],
        *["> 0.8", "petal width (cm)", "≤ 1.75", "versicolor", "54 · 91%", "> 1.75", "virginica", "46 · 98%"],
    ]
    assert ax.get_title("left") == "3 leaves, depth 2"
    bars = [patch for patch in ax.patches if hasattr(patch, "get_x") and patch.get_height() == 4]
    by_colour = [[b.get_width() for b in bars if b.get_y() == y] for y in sorted({b.get_y() for b in bars})]
    np.testing.assert_allclose(np.array(by_colour[0]) / sum(by_colour[0]), 1 / 3)
    assert plot_tree(iris, class_names=["a", "b", "c"]).texts[2].get_text() == "a"


def test_chinese_categories_and_words(iris):
    nodes = {
        "root": ([6, 9], (0, {0: "a", 1: "b", 2: "c"})),
        "a": ([4, 1], None),
        "b": ([2, 4], None),
        "c": ([0, 4], None),
    }
    model = Model(
        tree_=from_counts(nodes), classes_=np.array(["坏瓜", "好瓜"]), categories_=[["清晰", "稍糊", "模糊"]]
    )
    with style(translate=lambda note: f"《{note}》"):
        ax = plot_tree(model, ["纹理"])
    assert words(ax)[:4] == ["纹理", "清晰", "坏瓜", "5 · 80%"]
    assert ax.get_title("left").startswith("《")


@pytest.mark.parametrize("down", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_boxes_do_not_overlap(seed, down):
    rng = np.random.default_rng(seed)
    X, y = mixed_rows(rng, 150, 3)
    tree = grow_mixed(X, y, rng, depth=5, n_classes=3)
    boxes = _boxes(TreeLabels(tree, ["short", "a rather long name", "c"]), _expanded_nodes(tree, 5))
    assert len(boxes) == tree.node_count
    width, height = _lay_out(boxes, down=down)
    frames = []
    for box in boxes.values():
        lead = _text_width(box.entry, 6.8) if box.entry else 0.0
        half = (max(box.width, lead) if down else box.width) / 2
        left, right = box.x - half - (0 if down else lead), box.x + half
        top, foot = box.y - box.height / 2 - (10 if down and lead else 0), box.y + box.height / 2
        assert left >= -1e-9
        assert right <= width + 1e-9
        assert top >= -1e-9
        assert foot <= height + 1e-9
        frames.append((left, right, top, foot))
    for k, (a, b, c, d) in enumerate(frames):
        for e, f, g, h in frames[k + 1 :]:
            assert b <= e + 1e-9 or f <= a + 1e-9 or d <= g + 1e-9 or h <= c + 1e-9
    for t, box in boxes.items():  # a parent stands over the middle of its children
        if box.below:
            ends = [boxes[c].x if down else boxes[c].y for c in (box.below[0], box.below[-1])]
            assert (boxes[t].x if down else boxes[t].y) == pytest.approx(sum(ends) / 2)


def test_large_trees_are_cut_where_few_rows_go():
    X, y = load_digits(return_X_y=True)
    tree = from_sklearn(TheirClassifier(random_state=0).fit(X, y))
    opened = _expanded_nodes(tree, None)
    boxes = _boxes(TreeLabels(tree), opened)
    ends = [t for t, box in boxes.items() if not box.below]
    assert len(ends) <= ENDS
    ax = plot_tree(tree)
    assert sum("…" in text for text in words(ax)) > 3
    hidden = sum(int(text.split()[1]) for text in words(ax) if text.startswith("…"))
    assert hidden + sum(tree.n_children[t] == 0 for t in ends) == tree.n_leaves
    assert ax.figure.get_size_inches()[0] == WIDTH
    shallow = plot_tree(tree, max_depth=0)
    assert len(words(shallow)) == 3
    assert len(words(plot_tree(chain(10_000)))) < 40


def test_numbers_have_a_place_and_a_colour():
    X, y = load_diabetes(return_X_y=True)
    tree = from_sklearn(TheirRegressor(max_depth=2, random_state=0).fit(X, y))
    ax = plot_tree(tree)
    dots = [line for line in ax.lines if line.get_marker() == "o"]
    assert len(dots) == tree.node_count
    above = tree.value[:, 0, 0] >= tree.value[0, 0, 0]
    colours = {dot.get_color() for dot in dots}
    assert len(colours) == 2
    assert sum(dot.get_color() == COLOURS[0] for dot in dots) == above.sum()


def test_edges_are_as_broad_as_they_have_rows(iris):
    def edges(ax):
        return [patch.get_linewidth() for patch in ax.patches if not patch.get_fill()]

    assert edges(plot_tree(iris))[0] < edges(plot_tree(iris))[1]
    assert len(set(edges(plot_tree(iris, by_mass=False)))) == 1


def test_a_models_own_picture_is_its_tree(iris):
    import matplotlib.pyplot as plt

    ax = plot_model(iris, IRIS.feature_names, labels=["甲", "乙", "丙"])
    assert "甲" in words(ax)
    assert to_svg(ax).startswith("<svg")
    figure, mine = plt.subplots(figsize=(2, 2))
    assert plot_tree(iris, ax=mine, direction="right") is mine
    assert max(text.get_fontsize() for text in mine.texts) < 8
    plt.close(figure)


def test_any_number_of_classes_and_outputs():
    y = np.arange(150) % 30
    tree = from_sklearn(TheirClassifier(max_depth=3, random_state=0).fit(IRIS.data, y))
    assert to_svg(plot_tree(tree)).startswith("<svg")
    Y = np.column_stack([IRIS.target, IRIS.target == 0])
    several = from_sklearn(TheirClassifier(max_depth=1, random_state=0).fit(IRIS.data, Y))
    assert "0, 1" in words(plot_tree(several))
    root = tree.collapsed(np.ones(tree.node_count, dtype=bool))
    assert len(words(plot_tree(root))) == 2


def test_bad_requests_say_so(iris):
    with pytest.raises(ValueError, match="max_depth must be at least 0, got -1"):
        plot_tree(iris, max_depth=-1)
    with pytest.raises(ValueError, match="direction must be 'auto', 'down' or 'right'; got 'up'"):
        plot_tree(iris, direction="up")
    with pytest.raises(ValueError, match="feature_names must contain 4 elements, got 1"):
        plot_tree(iris, ["a"])
    with pytest.raises(TypeError, match="needed; object has no tree"):
        plot_tree(object())
