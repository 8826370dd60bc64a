"""The kappa-error diagram shows the points that were computed."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tercet.ensemble import kappa_error
from tercet.plot import plot_kappa_error

rng = np.random.default_rng(0)
TRUTH = rng.integers(3, size=80)


def ensemble(share):
    return np.where(rng.random((80, 4)) < share, TRUTH[:, None], rng.integers(3, size=(80, 4)))


def test_a_point_for_every_pair():
    votes = ensemble(0.7)
    ax = plot_kappa_error(votes, TRUTH)
    found = kappa_error(votes, TRUTH)
    assert_allclose(ax.collections[0].get_offsets(), np.column_stack([found.kappa, found.error]))
    assert_allclose(np.ravel(ax.lines[0].get_data()), [found.kappa.mean(), found.error.mean()])
    assert ax.get_legend() is None


def test_several_ensembles_by_name():
    ax = plot_kappa_error({"good": ensemble(0.9), "weak": ensemble(0.3)}, TRUTH)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["good", "weak"]
    good, weak = (line.get_ydata()[0] for line in ax.lines)
    assert good < weak


def test_pairs_without_kappa_are_left_out():
    votes = np.column_stack([np.zeros(80), np.zeros(80), TRUTH])
    assert len(plot_kappa_error(votes, TRUTH).collections[0].get_offsets()) == 2


def test_nothing_to_draw():
    with pytest.raises(ValueError, match="nothing to draw"):
        plot_kappa_error({}, TRUTH)
