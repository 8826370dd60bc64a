"""Pictures of contributions and of partial dependence show the numbers that were computed."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tercet.inspection import contributions, partial_dependence
from tercet.plot import plot_contributions, plot_partial_dependence
from tercet.tree import DecisionTreeClassifier, DecisionTreeRegressor
from tests.inspection.models import CLASSES, MIXED, MIXED_TARGET, NUMBERS, TARGET
from tests.plot.words import ticks


def test_a_waterfall_ends_at_the_prediction():
    model = DecisionTreeRegressor(max_depth=4).fit(NUMBERS, TARGET)
    found = contributions(model, NUMBERS)
    ax = plot_contributions(found, row=7, top=2)
    bars = ax.patches
    assert len(bars) == 3  # the third is all others
    assert ticks(ax, "y")[-1] == "2 other features"
    assert_allclose(bars[0].get_x(), found.base_values)
    assert_allclose(bars[-1].get_x() + bars[-1].get_width(), model.predict(NUMBERS[7:8])[0])
    widths = [abs(bar.get_width()) for bar in bars[:2]]
    assert_allclose(widths, np.sort(np.abs(found.values[7]))[::-1][:2])


def test_values_of_all_kinds_are_named():
    model = DecisionTreeRegressor(max_depth=4).fit(MIXED, MIXED_TARGET)
    rows = [[0.5, None, "p"], [0.5, None, "unknown"]]
    names = [sorted(ticks(plot_contributions(contributions(model, rows), k), "y")) for k in (0, 1)]
    assert names == [["x0 = 0.5", "x1 = ?", "x2 = p"], ["x0 = 0.5", "x1 = ?", "x2 = unseen"]]


def test_a_summary_has_a_point_for_each_row():
    found = contributions(DecisionTreeClassifier(max_depth=3).fit(NUMBERS, CLASSES), NUMBERS)
    ax = plot_contributions(found, score="b", top=3)
    order = np.argsort(-np.abs(found.of("b").values).mean(axis=0), kind="stable")[:3]
    assert ticks(ax, "y") == [f"x{j}" for j in order]
    for points, j in zip(ax.collections, order):
        assert_allclose(points.get_offsets()[:, 0], found.values[:, j, 1])
    assert "probability (b)" in ax.get_xlabel()


def test_partial_dependence_of_numbers_words_and_pairs():
    model = DecisionTreeRegressor(max_depth=4).fit(MIXED, MIXED_TARGET)
    one = partial_dependence(model, MIXED, 0, kind="both", grid_resolution=5)
    ax = plot_partial_dependence(one, ["age"], centred=True)
    assert len(ax.lines) == 61
    assert_allclose(ax.lines[-1].get_ydata(), one.average[0] - one.average[0, 0])
    words = partial_dependence(model, MIXED, 2)
    ax = plot_partial_dependence(words, "word")
    assert ticks(ax, "x") == ["p", "q", "r", "s"]
    assert_allclose([bar.get_height() for bar in ax.patches], words.average[0])
    for pair in ([0, 1], [0, 2]):
        ax = plot_partial_dependence(partial_dependence(model, MIXED, pair, grid_resolution=4), ["u", "v"])
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("u", "v")


def test_what_cannot_be_drawn():
    model = DecisionTreeRegressor(max_depth=2).fit(NUMBERS, TARGET)
    found = contributions(model, NUMBERS[:3])
    with pytest.raises(ValueError, match="row must be one of the 3 rows"):
        plot_contributions(found, row=3)
    with pytest.raises(ValueError, match="interactions"):
        plot_contributions(contributions(model, NUMBERS[:3], interactions=True))
    with pytest.raises(ValueError, match="one or two can"):
        plot_partial_dependence(partial_dependence(model, NUMBERS, [0, 1, 2], grid_resolution=2))
