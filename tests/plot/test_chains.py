"""Pictures of Markov chains."""

import numpy as np
import pytest

from tercet.plot import plot_autocorrelation, plot_chain_densities, plot_model, plot_trace, to_svg
from tercet.sampling import Chains, MetropolisHastings


@pytest.fixture(scope="module")
def chains():
    return Chains(np.random.default_rng(0).standard_normal((3, 5000, 2)), names=("a", "$b$"))


@pytest.mark.parametrize("plot", [plot_trace, plot_chain_densities, plot_autocorrelation])
def test_pictures_of_chains(chains, plot):
    ax = plot(chains, "$b$")
    assert len(ax.lines) == 3 + (plot is plot_autocorrelation)
    assert to_svg(ax).startswith("<svg")
    assert plot(chains.draws[:, :, 0], ax=ax) is ax
    with pytest.raises(ValueError, match=r"component must be one of \['a', '\$b\$'\], or its number; got 2"):
        plot(chains, 2)


def test_a_trace_is_thinned_and_a_density_integrates_to_one(chains):
    assert len(plot_trace(chains).lines[0].get_xdata()) <= 2000
    x, y = plot_chain_densities(chains).lines[0].get_data()
    assert np.trapezoid(y, x) == pytest.approx(1.0, abs=0.02)
    assert plot_chain_densities(np.zeros((1, 10))).lines  # a chain that never moved


def test_a_sampler_is_drawn_by_its_chains():
    sampler = MetropolisHastings([0.0, 0.0], proposal=[[0.5, 0.5], [0.5, 0.5]], burn_in=0, random_state=0)
    assert plot_model(sampler) is None
    sampler.sample(20)
    assert len(plot_model(sampler).lines) == 4


def test_states_are_bars():
    draws = np.array([[0, 1, 1, 1], [0, 0, 1, 1]])[:, :, None]
    bars = plot_chain_densities(Chains(draws)).patches
    assert [bar.get_height() for bar in bars] == [0.25, 0.75, 0.5, 0.5]
