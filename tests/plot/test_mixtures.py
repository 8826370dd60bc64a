"""Pictures of mixtures have the mixture's numbers."""

from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.patches import Ellipse

from tercet.mixture import CategoricalMixture, GaussianMixtureIC
from tercet.plot import plot_mixture, plot_model
from tests.plot.words import ticks

MEANS = np.array([[0.0, 5.0, 0.0], [1.0, -5.0, 9.0]])
FULL = np.stack([np.diag([1.0, 4.0, 1.0]), np.array([[2.0, 1.0, 0], [1.0, 2.0, 0], [0, 0, 1.0]])])


def mixture(covariances, kind):
    return SimpleNamespace(
        weights_=[0.25, 0.75], means_=MEANS, covariances_=np.asarray(covariances), covariance_type=kind
    )


def test_ellipses_have_the_axes_of_the_covariance():
    ax = plot_mixture(mixture(FULL, "full"), columns=(0, 1))
    rings = [patch for patch in ax.patches if isinstance(patch, Ellipse)]
    assert len(rings) == 4
    heavy = rings[:2]  # the heavier component is drawn first
    np.testing.assert_allclose([heavy[0].width, heavy[0].height], [2 * np.sqrt(3), 2])
    np.testing.assert_allclose([heavy[1].width, heavy[1].height], [4 * np.sqrt(3), 4])
    assert abs(heavy[0].angle) % 180 == pytest.approx(45) or abs(heavy[0].angle) % 180 == pytest.approx(135)
    np.testing.assert_allclose(heavy[0].center, [1, -5])


def test_the_columns_that_tell_components_apart_are_drawn():
    ax = plot_mixture(mixture(FULL, "full"), feature_names=["a", "b", "c"])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("b", "c")


@pytest.mark.parametrize(
    ("covariances", "kind"),
    [
        (np.diag([1.0, 4.0, 9.0]), "tied"),
        ([[1.0, 4.0, 9.0]] * 2, "diag"),
        ([4.0, 4.0], "spherical"),
    ],
)
def test_every_kind_of_covariance(covariances, kind):
    ax = plot_model(mixture(covariances, kind))
    ring = ax.patches[0]
    assert sorted([ring.width, ring.height])[0] == pytest.approx(4.0)


def test_one_column_gives_densities_that_integrate_to_one():
    model = SimpleNamespace(weights_=[0.4, 0.6], means_=[[0.0], [6.0]], covariances_=[[[1.0]], [[4.0]]])
    line = plot_mixture(model, [[0.0], [1.0], [np.nan], [6.0]]).lines[0]
    assert np.trapezoid(line.get_ydata(), line.get_xdata()) == pytest.approx(1, abs=1e-2)


def test_two_columns_are_needed():
    with pytest.raises(ValueError, match="columns must be two"):
        plot_mixture(mixture(FULL, "full"), columns=(0,))


def test_probabilities_that_tell_components_apart():
    model = SimpleNamespace(weights_=[0.5, 0.5], probs_=np.array([[0.1, 0.5, 0.9], [0.1, 0.7, 0.1]]))
    ax = plot_model(model, ["a", "b", "c"])
    assert ticks(ax, "y") == ["c", "b", "a"]
    np.testing.assert_allclose(ax.images[0].get_array(), [[0.4, -0.4], [-0.1, 0.1], [0, 0]], atol=1e-12)


def test_probabilities_of_one_component_are_bars():
    model = SimpleNamespace(weights_=[1.0], probs_=np.arange(1.0, 31.0)[None] / 40)
    ax = plot_model(model)
    assert len(ax.patches) == 20
    assert ax.patches[0].get_width() == 0.75
    assert ax.get_title(loc="left") == "the 20 largest of 30"


def test_values_of_columns_have_their_names():
    rows = [["red", 1.0], ["red", 1.0], ["blue", 2.0], ["blue", 2.0]] * 5
    model = CategoricalMixture(2, alpha=0.0, random_state=0).fit(np.array(rows, dtype=object))
    ax = plot_model(model, ["colour", "size"])
    assert {*ticks(ax, "y")} == {"colour = red", "colour = blue", "size = 1", "size = 2"}
    assert np.abs(ax.images[0].get_array()).max() == pytest.approx(0.5, abs=1e-3)


def test_three_coins_stay_in_order():
    ax = plot_model(SimpleNamespace(pi_=0.2, p_=0.3, q_=0.9))
    assert [bar.get_width() for bar in ax.patches] == [0.2, 0.3, 0.9]
    assert ticks(ax, "y")[1] == "B (p)"


def test_the_choice_of_a_mixture_is_a_line_for_each_kind_of_covariance():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(centre, 1, size=(40, 2)) for centre in (0, 8)])
    model = GaussianMixtureIC(max_components=3, random_state=0).fit(X)
    *lines, chosen = plot_model(model).get_lines()
    assert {line.get_label() for line in lines} == {"spherical", "diag", "tied", "full"}
    assert (chosen.get_xdata()[0], chosen.get_ydata()[0]) == (model.n_components_, model.criterion_)
    assert min(np.nanmin(line.get_ydata()) for line in lines) == model.criterion_
    np.testing.assert_array_equal(lines[0].get_xdata(), [1, 2, 3])


def test_a_collapsed_candidate_is_not_drawn():
    table = {
        "n_components": [1, 2],
        "covariance_type": ["full"] * 2,
        "bic": [10.0, -1e9],
        "collapsed": [False, True],
    }
    model = SimpleNamespace(
        results_=table, criterion="bic", criterion_=10.0, n_components_=1, covariance_type_="full"
    )
    np.testing.assert_array_equal(plot_model(model).get_lines()[0].get_ydata(), [10.0, np.nan])
