"""Pictures of rules."""

import matplotlib as mpl

mpl.use("Agg")

import numpy as np
import pandas as pd

from tercet.plot import plot_model, plot_rule_boxes, plot_rules
from tercet.rules import CN2Classifier, RIPPERClassifier
from tests.plot.words import ticks


def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    return X, np.where((X[:, 0] > 0.2) & (X[:, 1] < 0.5), "in", "out")


def test_a_bar_for_each_rule_and_the_default():
    X, y = rows()
    model = RIPPERClassifier(random_state=0).fit(X, y)
    ax = plot_model(model, ["one", "two", "three"], labels=["inside", "outside"])
    n = len(model.ruleset_) + 1
    assert len(ticks(ax, "y")) == n
    assert ticks(ax, "y")[-1] == "→ outside"
    assert all(label.endswith("→ inside") for label in ticks(ax, "y")[:-1])
    assert "one>=" in ticks(ax, "y")[0] or "two<=" in ticks(ax, "y")[0]
    widths = [bar.get_width() for bar in ax.patches]
    assert sum(widths) == 120
    np.testing.assert_allclose(widths[: n - 1], model.rule_counts_.max(axis=1))
    assert len(ticks(plot_rules(model.ruleset_, most=1), "y")) == 2


def test_boxes_over_two_columns():
    X, y = rows()
    model = CN2Classifier(confidence=0.9).fit(X, y)
    ax = plot_rule_boxes(model, X, y)
    assert len(ax.patches) == len(model.ruleset_)
    first, box = model.ruleset_[0], ax.patches[0]
    low = max(
        (c.value for c in first.conditions if c.feature == 0 and c.comparison == ">="),
        default=ax.get_xlim()[0],
    )
    assert box.get_x() == low
    others = [any(c.feature == 2 for c in rule.conditions) for rule in model.ruleset_]
    assert [patch.get_linestyle() == "--" for patch in ax.patches] == others
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    named = plot_rule_boxes(CN2Classifier(confidence=0.9).fit(frame, y), frame, y, (2, 0))
    assert (named.get_xlabel(), named.get_ylabel()) == ("c", "a")
