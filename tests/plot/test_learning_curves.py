"""Learning curves of several methods on one axis."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from tercet.plot import plot_learning_curves


def curve(height):
    test = height + np.array([[0.0, 0.1], [0.1, 0.2], [np.nan, 0.3]])
    return {"sizes": [10, 20, 40], "train": np.ones((3, 2)), "test": test}


def test_every_method_has_its_line_on_one_axis():
    ax = plot_learning_curves({"first": curve(0.5), "second": curve(0.6)}, metric="accuracy")
    assert len(ax.figure.axes) == 1
    named = {line.get_label(): line for line in ax.get_lines() if not line.get_label().startswith("_")}
    assert set(named) == {"first", "second", "on training rows"}
    np.testing.assert_allclose(named["first"].get_ydata(), [0.55, 0.65, 0.8])
    np.testing.assert_allclose(named["second"].get_ydata(), [0.65, 0.75, 0.9])
    assert named["first"].get_color() != named["second"].get_color()
    assert ax.get_ylabel() == "accuracy"
    plt.close("all")


def test_nothing_and_curves_of_other_lengths_are_refused():
    with pytest.raises(ValueError, match="curves is empty"):
        plot_learning_curves({})
    with pytest.raises(ValueError, match="sizes"):
        plot_learning_curves({"a": {**curve(0.5), "sizes": [1, 2]}})


def test_bands_go_no_further_than_any_fold():
    """The mean and a standard deviation of three folds of 1 and one of 0.9 pass 1, which no accuracy does."""
    scores = [[1.0, 1.0, 1.0, 0.9], [1.0, 1.0, 0.95, 1.0]]
    ax = plot_learning_curves({"A": {"sizes": [10, 20], "train": scores, "test": scores}})
    band = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert band.max() == 1.0
    assert 0.9 <= band.min() < 0.975
