"""Pictures of principal components."""

import numpy as np
import pytest

from tercet.decomposition import PCA
from tercet.plot import plot_biplot, plot_model, plot_scree


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(0).normal(size=(30, 3)) * [3, 2, 1]


def test_scree(rows):
    model = PCA().fit(rows)
    ax = plot_scree(model, share=0.8)
    np.testing.assert_allclose([bar.get_height() for bar in ax.patches], model.explained_variance_ratio_)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), model.cumulative_variance_ratio_)
    assert ax.lines[2].get_xdata()[0] == 2
    assert plot_model(model) is not None
    with pytest.raises(ValueError, match="plot_scree needs the shares"):
        plot_scree(np.ones((2, 2)))


@pytest.mark.parametrize(
    ("share", "said"),
    [
        (None, "4 components have 0.95 of the variance"),
        (0.75, "2 components have 0.8 of the variance"),
        (0.99, "4 components have 0.95 of the variance"),  # never reached
    ],
)
def test_the_title_counts_the_components_that_reach_the_share(share, said):
    assert plot_scree([0.5, 0.3, 0.1, 0.05], share).get_title(loc="left") == said


def test_names_of_arrows_that_point_the_same_way_are_apart():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 1)) + 0.01 * rng.normal(size=(50, 5))
    ax = plot_biplot(PCA(2).fit(X), X, list("abcde"))
    heights = sorted(text.get_position()[1] for text in ax.texts if text.get_text())
    assert np.diff(heights).min() > 0.03 * (ax.get_ylim()[1] - ax.get_ylim()[0])


def test_biplot(rows):
    model = PCA(2).fit(rows)
    ax = plot_biplot(model, rows, ["a", "b", "c"])
    np.testing.assert_allclose(np.asarray(ax.collections[0].get_offsets()), model.transform(rows))
    assert [text.get_text() for text in ax.texts if text.get_text()] == ["a", "b", "c"]
    with pytest.raises(ValueError, match="axes must be two of the 2 components"):
        plot_biplot(model, axes=(0, 2))
    with pytest.raises(ValueError, match="feature_names has 1 names; the model has 3 features"):
        plot_biplot(model, feature_names=["a"])
