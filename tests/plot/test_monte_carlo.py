"""Pictures of estimates and chains have their numbers."""

import numpy as np
import pytest

from tercet.distributions import Uniform
from tercet.plot import plot_envelope, plot_estimate, plot_state_distribution, plot_transitions
from tercet.sampling import MarkovChain, accept_reject, monte_carlo_expectation
from tests.plot.words import ticks

CHAIN = MarkovChain([[0.9, 0.5], [0.1, 0.5]], states=["sun", "rain"], convention="column")


def test_an_estimate_as_draws_come_in():
    found = monte_carlo_expectation(None, Uniform(), 300, random_state=0)
    ax = plot_estimate(found, exact=0.5)
    assert ax.lines[0].get_ydata()[-1] == pytest.approx(found.value)
    assert ax.lines[1].get_ydata()[0] == 0.5
    low, high = found.interval()
    band = ax.collections[0].get_paths()[0].vertices
    end = band[band[:, 0] == 300, 1]
    assert (end.min(), end.max()) == pytest.approx((low, high))
    with pytest.raises(ValueError, match="one number"):
        plot_estimate(monte_carlo_expectation(None, np.ones((5, 2))))


def test_an_envelope():
    def p(x):
        return 60 * x * (1 - x)

    found = accept_reject(p, Uniform(), 400, c=15, random_state=0)
    ax = plot_envelope(p, found, Uniform(), bins=8)
    assert ax.lines[1].get_ydata() == pytest.approx(15.0)
    assert ax.patches[0].get_data().values.max() == pytest.approx(15, rel=0.4)  # on the scale of p


def test_a_chain_step_by_step():
    ax = plot_state_distribution(CHAIN, 5, "rain")
    np.testing.assert_allclose(ax.lines[0].get_ydata(), CHAIN.distributions(5, "rain")[:, 0])
    assert ax.lines[1].get_ydata()[0] == pytest.approx(5 / 6)
    table = plot_transitions(CHAIN)
    np.testing.assert_array_equal(table.images[0].get_array(), CHAIN.transmat_)
    assert ticks(table, "y") == ["sun", "rain"]
