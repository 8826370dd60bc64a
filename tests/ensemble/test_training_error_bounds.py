"""Theorems 8.1, 8.2 and Corollary 8.1 (the theorems on fitted models are in test_ada_boost_classifier)."""

import pytest

from tercet.ensemble import training_error_bounds


def test_example_8_1():
    bounds = training_error_bounds([3 / 10, 3 / 14, 2 / 11])
    assert bounds.product == pytest.approx(0.5801925341, rel=1e-9)
    assert bounds.exponential == pytest.approx(0.6403472671, rel=1e-9)
    assert bounds.uniform == pytest.approx(0.7866278611, rel=1e-9)


@pytest.mark.parametrize("errors", [[], [0.6], [-0.1], [[0.1]], [float("nan")]])
def test_errors_must_be_at_most_a_half(errors):
    with pytest.raises(ValueError, match="errors must be"):
        training_error_bounds(errors)
