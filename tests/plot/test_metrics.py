"""Pictures of learned metrics."""

import matplotlib as mpl

mpl.use("Agg")

import numpy as np
import pytest

from tercet.metric_learning import ITML, MMC, NeighborhoodComponentsAnalysis
from tercet.plot import plot_metric, plot_model

RNG = np.random.default_rng(0)
X = RNG.normal(size=(20, 3)) * [1.0, 5.0, 0.1]
Y = np.arange(20) % 2


def test_points_of_an_ellipse_are_at_one_distance():
    model = ITML().fit(X[:, :2], Y)
    inner, outer, circle = plot_metric(model).patches
    for patch, distance in ((inner, 1.0), (outer, 2.0)):
        rim = patch.get_patch_transform().transform_path(patch.get_path()).vertices
        rim = rim[np.hypot(*(patch.get_path().vertices.T)) < 1.001]  # of the curve, not its control points
        np.testing.assert_allclose(model.pair_distance([[[0.0, 0.0], p] for p in rim]), distance, rtol=1e-2)
    assert circle.get_radius() ** 2 == pytest.approx(inner.get_width() * inner.get_height() / 4)


def test_ellipses_of_the_classes():
    model = NeighborhoodComponentsAnalysis().fit(X, Y)
    ax = plot_metric(model, X, Y, ["a", "b", "c"], columns=[0, -1])
    assert len(ax.patches) == 5
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("a", "c")
    assert sum(len(group.get_offsets()) for group in ax.collections) == 20
    np.testing.assert_allclose(ax.patches[0].get_center(), X[Y == 0][:, [0, 2]].mean(axis=0))


def test_a_flat_metric_has_a_picture():
    model = MMC(diagonal=True).fit(
        [[0.0, 0.0], [0.0, 2.0], [1.0, 0.0], [1.0, 2.0]], must_link=[(0, 1), (2, 3)], cannot_link=[(0, 2)]
    )
    ellipse = plot_metric(model).patches[0]
    assert np.isfinite([ellipse.get_width(), ellipse.get_height()]).all()


def test_a_model_is_drawn_by_its_metric():
    model = MMC().fit(X, Y)
    assert len(plot_model(model).patches) == 3
    assert not plot_model(MMC().fit(X[:, :1], Y)).patches  # one feature: its history


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"columns": [0]}, "columns must be two"),
        ({"X": X[:, :2]}, "X must have the 3 columns"),
    ],
)
def test_what_cannot_be_drawn(given, says):
    with pytest.raises(ValueError, match=says):
        plot_metric(MMC().fit(X, Y), **given)


def test_one_feature_has_no_ellipse():
    with pytest.raises(ValueError, match="at least two features"):
        plot_metric(MMC().fit(X[:, :1], Y))
