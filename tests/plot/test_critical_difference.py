"""Mean ranks and the methods that cannot be told apart."""

import numpy as np
import pytest

from tercet.model_selection import friedman_test
from tercet.plot import plot_critical_difference, to_svg


def test_bars_join_what_does_not_differ():
    # Nemenyi's critical difference of 4 methods on 14 data sets is 1.25.
    rng = np.random.default_rng(0)
    test = friedman_test(rng.normal(size=(14, 4)) + np.array([0, 0.1, 2, 9]), posthoc="nemenyi")
    names = ["a", "b", "c", "d"]
    ax = plot_critical_difference(names, test.mean_ranks, test.critical_difference)
    bars = [tuple(x[:, 0]) for group in ax.collections[1:] for x in group.get_segments()]
    for i in range(4):
        for j in range(i):
            ends = sorted((test.mean_ranks[i], test.mean_ranks[j]))
            joined = any(low <= ends[0] and ends[1] <= high for low, high in bars)
            assert joined == (ends[1] - ends[0] <= test.critical_difference)
    assert bars  # a and b are noise around the same score
    shown = {text.get_text().split()[0] for text in ax.texts}
    assert shown == set(names)
    np.testing.assert_allclose(ax.collections[0].get_offsets()[:, 0], test.mean_ranks)
    assert to_svg(ax).startswith("<svg")


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan])
def test_no_critical_difference(value):
    with pytest.raises(ValueError, match="critical_difference must be a positive number"):
        plot_critical_difference(["a", "b"], [1.0, 2.0], value)
