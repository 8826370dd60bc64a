"""Errors against complexity, and the polynomials of Li Example 1.1 (Fig 1.8, 1.9)."""

import numpy as np
from numpy.testing import assert_allclose
from sklearn.model_selection import LeaveOneOut

from tercet.datasets.texts.ch01 import T, X
from tercet.linear_model import PolynomialRegression
from tercet.model_selection import ComplexityCurve, complexity_curve
from tercet.plot import plot_complexity, plot_fit, to_svg


def test_the_curve_of_the_texts_example():
    curve = complexity_curve(
        PolynomialRegression(), X, T, parameter="degree", values=range(9), cv=LeaveOneOut()
    )
    ax = plot_complexity(curve)
    training, validation = ax.get_lines()[:2]
    assert_allclose(training.get_ydata(), curve.training)
    assert_allclose(validation.get_ydata(), curve.validation)
    assert ax.get_title(loc="left") == "degree = 3"
    assert ax.get_ylim()[1] < 2  # the degree 8 is off by thousands
    assert to_svg(ax).startswith("<svg")


def test_structural_risk_and_values_that_are_no_numbers():
    errors = np.array([3.0, 1.0, 0.5]), np.array([3.5, 2.0, 2.5]), np.array([3.0, 2.0, 4.0])
    ax = plot_complexity(ComplexityCurve("kernel", ["linear", "poly", "rbf"], *errors))
    assert len(ax.get_legend().get_texts()) == 3
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["linear", "poly", "rbf"]


def test_the_four_polynomials():
    """Fig 1.8: a constant, a line, a good fit, and one through all points."""
    for degree, left in ((0, 0.377369079), (1, 0.2136542194), (3, 0.0349648888), (9, 0.0)):
        model = PolynomialRegression(degree).fit(X, T)
        ax = plot_fit(model, X, T)
        line = ax.get_lines()[0]
        x, y = line.get_xdata(), line.get_ydata()
        near = np.interp(np.ravel(X), x, y)
        assert_allclose(np.mean((near - np.array(T)) ** 2), left, atol=2e-3)
