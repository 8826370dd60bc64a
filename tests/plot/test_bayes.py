"""Pictures of Bayes classifiers and of the choice of k have the model's numbers."""

import numpy as np
import pytest

from tercet.naive_bayes import (
    AODE,
    SPODE,
    CategoricalNB,
    GaussianNB,
    KernelDensityNB,
    MixedNB,
    MultinomialNB,
    OneDependenceClassifier,
)
from tercet.neighbors import KNeighborsClassifier, KNeighborsClassifierCV
from tercet.plot import plot_densities, plot_model
from tests.plot.words import ticks

COLOUR = ["red"] * 6 + ["blue"] * 6
SHAPE = ["round", "flat"] * 6
SIZE = np.linspace(1.0, 12.0, 12)
Y = np.array(["a"] * 5 + ["b"] * 7)
TABLE = np.array([COLOUR, SHAPE], dtype=object).T


def test_means_are_drawn_in_deviations():
    X = np.column_stack([np.arange(12.0), 1000 * np.cos(np.arange(12))])
    model = GaussianNB().fit(X, Y)
    ax = plot_model(model, ["grows", "waves"])
    assert ticks(ax, "y") == ["grows", "waves"]
    cells = ax.images[0].get_array()
    deviation = np.sqrt(model.class_prior_ @ model.var_)
    expected = (model.theta_ - model.class_prior_ @ model.theta_) / deviation
    np.testing.assert_allclose(cells, expected.T)


def test_words_that_speak_for_a_class_come_first():
    X = np.array([[9, 5, 1], [8, 5, 0], [0, 5, 1], [1, 5, 0]])
    ax = plot_model(MultinomialNB().fit(X, ["x", "x", "y", "y"]), ["tells", "always", "rare"])
    assert ticks(ax, "y")[0] == "tells"
    assert ticks(ax, "x") == ["x", "y"]
    assert ax.images[0].get_array()[0, 0] > 0 > ax.images[0].get_array()[0, 1]


@pytest.mark.parametrize("kind", [CategoricalNB, AODE, OneDependenceClassifier, MixedNB])
def test_values_of_a_table_are_named(kind):
    ax = plot_model(kind().fit(TABLE, Y), ["colour", "shape"])
    assert {*ticks(ax, "y")} == {"colour = red", "colour = blue", "shape = round", "shape = flat"}
    cells = dict(zip(ticks(ax, "y"), ax.images[0].get_array()))
    # Half a row is added to every count, so that no share is 0.
    red = np.array([5.5 / 6, 1.5 / 8])
    np.testing.assert_allclose(cells["colour = red"], np.log(red / (np.array([6, 8]) / 14 @ red)))


def test_intervals_are_named_by_their_ends():
    ax = plot_model(AODE(n_bins=2).fit(SIZE[:, None], Y), ["size"])
    assert {*ticks(ax, "y")} == {"size ≤ 6.5", "size > 6.5"}


def test_the_super_parents_scores_are_bars():
    model = SPODE().fit(TABLE, Y)
    ax = plot_model(model, ["colour", "shape"])
    order = np.argsort(-model.parent_scores_, kind="stable")
    np.testing.assert_allclose([bar.get_width() for bar in ax.patches], model.parent_scores_[order])


@pytest.mark.parametrize("kernel", ["gaussian", "epanechnikov", "uniform"])
def test_densities_are_the_models(kernel):
    X = np.column_stack([np.ones(12), SIZE])
    model = KernelDensityNB(kernel=kernel, bandwidth=1.5).fit(X, Y)
    ax = plot_densities(model, ["same", "size"])
    assert ax.get_xlabel() == "size"
    for line, inside in zip(ax.get_lines(), (SIZE <= 5, SIZE > 5)):
        x, y = line.get_data()
        assert np.trapezoid(y, x) == pytest.approx(1, abs=0.01)
        assert np.trapezoid(x * y, x) == pytest.approx(SIZE[inside].mean(), abs=0.05)
    assert plot_densities(model, column=0).get_xlabel() == "x0"
    with pytest.raises(ValueError, match="column 'age': there are same, size"):
        plot_densities(model, ["same", "size"], "age")


def test_normal_densities_are_the_models():
    X = np.column_stack([np.ones(12), SIZE])
    model = GaussianNB().fit(X, Y)
    ax = plot_densities(model, ["same", "size"], "size", labels=["low", "high"])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["low", "high"]
    for c, line in enumerate(ax.get_lines()):
        x, y = line.get_data()
        mean, var = model.theta_[c, 1], model.var_[c, 1]
        np.testing.assert_allclose(y, np.exp(-((x - mean) ** 2) / (2 * var)) / np.sqrt(2 * np.pi * var))
        assert np.trapezoid(y, x) == pytest.approx(1, abs=0.01)
    assert plot_densities(model, ["same", "size"]).get_xlabel() == "size"
    with pytest.raises(TypeError, match=r"needs a fitted GaussianNB or KernelDensityNB.*got MultinomialNB"):
        plot_densities(MultinomialNB().fit(X, Y))


def test_scores_over_k():
    model = KNeighborsClassifierCV(ks=[1, 3, 5], cv="loo").fit(SIZE[:, None], Y)
    ax = plot_model(model)
    mean = next(line for line in ax.get_lines() if line.get_label() == "mean of the folds")
    np.testing.assert_array_equal(mean.get_xdata(), [1, 3, 5])
    np.testing.assert_allclose(mean.get_ydata(), model.scores_.mean(axis=1))
    assert plot_model(KNeighborsClassifier().fit(SIZE[:, None], Y)) is None
