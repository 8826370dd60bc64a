"""The picture of bins has the edges of the model and the rows of the column."""

import numpy as np
import pandas as pd
import pytest

from tercet.feature import KBinsDiscretizer
from tercet.plot import plot_bins

RNG = np.random.default_rng(0)
X = pd.DataFrame({"age": RNG.normal(40, 10, size=200), "size": RNG.random(200)})
Y = np.where(X["age"] > 45, "old", "young")


def test_edges_and_rows():
    model = KBinsDiscretizer(4, encode="ordinal").fit(X)
    ax = plot_bins(model, X, feature="size")
    edges = [line.get_xdata()[0] for line in ax.lines]
    assert edges == model.bin_edges_[1][1:-1].tolist()
    assert sum(bar.get_height() for bar in ax.patches) == 200
    assert ax.get_xlabel() == "size"
    assert ax.get_legend() is None


def test_classes_are_stacked():
    gappy = X.copy()
    gappy.loc[:9, "age"] = np.nan
    model = KBinsDiscretizer(strategy="mdl", missing="bin").fit(gappy, Y)
    ax = plot_bins(model, gappy, Y)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["old", "young"]
    assert len(ax.lines) == model.n_bins_[0] - 1 > 0
    tops = [bar.get_y() + bar.get_height() for bar in ax.containers[1]]
    assert sum(tops) == 190


def test_many_classes_and_other_columns():
    model = KBinsDiscretizer(3).fit(X)
    ax = plot_bins(model, X.to_numpy(), np.arange(200) % 9, feature=-1)
    assert len(ax.get_legend().get_texts()) == 7
    with pytest.raises(ValueError, match="feature must be a column of the discretizer, which has 2; got 'z'"):
        plot_bins(model, X, feature="z")
