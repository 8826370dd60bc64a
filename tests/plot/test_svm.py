"""Pictures of kernel machines have the machine's numbers."""

import numpy as np
import pytest

from tercet.kernel_machines import LSSVC, KernelRidge
from tercet.kernels import Subsequence
from tercet.plot import plot_margins, plot_model
from tercet.svm import SVC, SVCCV, SVR, NuSVR, OneClassSVM

X = np.array([[3.0, 3.0], [4.0, 3.0], [1.0, 1.0]])
Y = np.array(["out", "out", "in"])


def lines(ax):
    """The contours of a picture, as (level, points)."""
    return {float(c.levels[0]): c.get_paths()[0].vertices for c in ax.collections if hasattr(c, "levels")}


def test_margins_lie_where_f_is_one():
    model = SVC(C=np.inf, kernel="linear").fit(X, Y)
    ax = plot_margins(model, X, Y, ["left", "up"], labels=["inside", "outside"])
    drawn = lines(ax)
    assert sorted(drawn) == [-1, 0, 1]
    for level, path in drawn.items():
        np.testing.assert_allclose(model.decision_function(path), level, atol=1e-6)
    rings = ax.collections[-1].get_offsets()
    np.testing.assert_array_equal(rings, X[model.support_])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("left", "up")
    words = [text.get_text() for text in ax.get_legend().get_texts()]
    assert words == ["inside", "outside", "support vectors"]


def test_only_machines_with_margins_have_lines_for_them():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(40, 2))
    assert sorted(lines(plot_model(OneClassSVM(nu=0.2).fit(rows)))) == [0]
    assert sorted(lines(plot_model(LSSVC().fit(rows, rows[:, 0] > 0)))) == [0]
    assert sorted(lines(plot_model(SVC().fit(rows, rows[:, 0] > 0)))) == [-1, 0, 1]


def test_areas_of_several_classes_and_values_of_a_regression():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 2))
    classes = np.digitize(rows[:, 0], [-0.5, 0.5])
    model = SVC().fit(rows, classes)
    ax = plot_margins(model, rows, classes)
    assert set(np.unique(ax.images[0].get_array())) == {0, 1, 2}
    np.testing.assert_array_equal(ax.collections[-1].get_offsets(), model.support_vectors_)
    values = np.asarray(plot_model(SVR().fit(rows, rows[:, 0])).images[0].get_array())
    assert values[0, 0] < values[0, -1]


@pytest.mark.parametrize(("model", "tube"), [(SVR(epsilon=0.2), 0.2), (NuSVR(nu=0.3), None)])
def test_one_feature_is_a_curve_in_its_tube(model, tube):
    x = np.linspace(0, 6, 40)[:, None]
    model.fit(x, np.sin(x.ravel()))
    curve, below, above, marks = plot_model(model, ["time"]).get_lines()
    grid, f = curve.get_data()
    np.testing.assert_allclose(f, model.predict(grid[:, None]))
    tube = model.epsilon_ if tube is None else tube
    np.testing.assert_allclose(np.subtract(above.get_ydata(), below.get_ydata()), 2 * tube)
    np.testing.assert_array_equal(marks.get_xdata(), model.support_vectors_.ravel())


def test_curves_of_machines_without_a_tube():
    x = np.linspace(0, 6, 40)[:, None]
    assert len(plot_model(KernelRidge(kernel="rbf").fit(x, x.ravel())).get_lines()) == 2
    three = plot_model(LSSVC().fit(x, np.digitize(x.ravel(), [2, 4])), labels=["a", "b", "c"])
    words = [text.get_text() for text in three.get_legend().get_texts()]
    assert words == ["a", "b", "c", "rows in the sum"]


@pytest.mark.parametrize("kernel", ["rbf", "precomputed", Subsequence(2)])
def test_other_machines_show_what_rows_weigh(kernel):
    rows = np.random.default_rng(0).normal(size=(30, 4))
    y = rows[:, 0] > 0
    if kernel == "precomputed":
        rows = rows @ rows.T
    elif kernel != "rbf":
        rows = ["abab" if one else "bbaa" for one in y]
    model = SVC(kernel=kernel).fit(rows, y)
    ax = plot_model(model)
    weights = ax.get_lines()[0].get_ydata()
    np.testing.assert_allclose(weights, np.sort(model.alpha_[model.alpha_ > 0])[::-1])
    assert ax.get_title(loc="left") == f"{len(weights)} of 30 rows are in the sum"


def test_a_linear_machine_of_many_features_shows_its_coefficients():
    rows = np.random.default_rng(0).normal(size=(30, 4))
    model = SVC(kernel="linear").fit(rows, rows[:, 0] > 0)
    widths = [bar.get_width() for bar in plot_model(model).patches]
    np.testing.assert_allclose(sorted(np.abs(widths)), sorted(np.abs(model.coef_[0])))


def test_kernels_that_were_tried_are_lines_over_c():
    rows = np.random.default_rng(0).normal(size=(40, 3))
    model = SVCCV(gammas=[1.0], Cs=[1, 10], cv=2).fit(rows, rows[:, 0] > 0)
    linear, gaussian, chosen = plot_model(model).get_lines()
    np.testing.assert_allclose([linear.get_ydata(), gaussian.get_ydata()], model.scores_.mean(axis=2))
    assert linear.get_label() == "linear"
    assert (chosen.get_xdata()[0], chosen.get_ydata()[0]) == (model.C_, model.best_score_)


def test_what_cannot_be_drawn_is_said():
    model = SVC().fit(np.eye(3), [0, 0, 1])
    with pytest.raises(ValueError, match="machines of two features"):
        plot_margins(model)
