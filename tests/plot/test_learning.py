"""Pictures show what was learned."""

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pytest

from tercet import Recorder
from tercet.cluster import KMeans
from tercet.core.steps import ConvergenceWarning
from tercet.datasets import two_moons
from tercet.ensemble import AdaBoostClassifier
from tercet.linear_model import Lasso, LogisticRegression, Perceptron
from tercet.neural_network import MLPRegressor
from tercet.plot import film_picture, plot_history, plot_regions, replay
from tercet.plot.learning import _films


@pytest.fixture
def fitted():
    X, y = two_moons(80, noise=0.05, random_state=1)
    recorder = Recorder()
    model = Perceptron(max_iter=6, tol=None, random_state=0).set_callbacks(recorder).fit(X, y)
    yield model, recorder, X, y
    plt.close("all")


def test_history_shows_the_numbers(fitted):
    model, *_ = fitted
    ax = plot_history(model, "mistakes")
    line = ax.get_lines()[0]
    assert line.get_ydata().tolist() == model.history_["mistakes"]
    assert line.get_xdata().tolist() == list(range(1, model.n_iter_ + 1))
    with pytest.raises(ValueError, match="history_ has no"):
        plot_history(model, "no such column")


def test_every_measure_of_a_history_has_its_own_axis(fitted):
    model, *_ = fitted
    model.history_["step size"] = [1e6] * model.n_iter_
    drawn = plot_history(model, "mistakes", "step size")
    panels = drawn.figure.axes
    assert {panel.get_ylabel() for panel in panels} == {"mistakes", "step size"}
    for panel in panels:
        (line,) = panel.get_lines()
        assert line.get_ydata().tolist() == model.history_[panel.get_ylabel()]
    assert drawn.get_ylabel() == "step size"
    assert drawn.get_xlabel() == "pass"
    for panel in panels:
        panel.set_xlim(0.8, 4.2)
        assert {tick % 1 for tick in panel.get_xticks()} == {0}  # there is no half pass
    mistakes = next(panel for panel in panels if panel.get_ylabel() == "mistakes")
    assert mistakes.get_ylim()[1] < 1e3  # not squeezed by the other
    assert mistakes.get_title(loc="left") or mistakes.get_title()
    # In axes of one's own the measures share their place.
    figure = plt.figure()
    own = figure.add_axes((0.1, 0.1, 0.8, 0.8))
    plot_history(model, "mistakes", "step size", ax=own)
    low, high = sorted(panel.get_position().y0 for panel in figure.axes)
    assert low == pytest.approx(0.1)
    assert 0.4 < high < 0.9
    assert max(panel.get_position().y1 for panel in figure.axes) <= 0.9 + 1e-9
    model.history_.clear()
    with pytest.raises(ValueError, match="no measures to draw"):
        plot_history(model)


def test_arrays_of_a_history_are_not_drawn():
    X, y = two_moons(40, random_state=0)
    model = AdaBoostClassifier(n_estimators=3, record=True).fit(X, y)
    panels = plot_history(model).figure.axes
    assert {panel.get_ylabel() for panel in panels} == {
        "error",
        "alpha",
        "Z",
    }  # and not the weights of the rows
    plt.close("all")


def test_regions_show_the_predictions(fitted):
    model, _, X, y = fitted
    ax = plot_regions(model, X, y, resolution=20)
    shown = np.asarray(ax.images[0].get_array())
    corner = np.array([[ax.get_xlim()[0], ax.get_ylim()[0]]])
    assert model.classes_[int(shown[0, 0])] == model.predict(corner)[0]
    assert [len(dots.get_offsets()) for dots in ax.collections] == [(y == k).sum() for k in model.classes_]
    with pytest.raises(ValueError, match="two features"):
        plot_regions(model, np.zeros((3, 5)))


def test_replay_has_a_frame_for_every_pass(fitted, tmp_path):
    model, recorder, X, y = fitted
    film = replay(recorder, X, y, interval=50)
    film.save(tmp_path / "fit.gif", writer="pillow")
    from PIL import Image

    assert Image.open(tmp_path / "fit.gif").n_frames == model.n_iter_
    with pytest.raises(ValueError, match="no frames"):
        replay(Recorder(), X)


def test_replay_keeps_its_legend_and_one_scale_of_colours(fitted):
    _, recorder, X, y = fitted
    film = replay(recorder, X, y)
    figure = film._fig
    for k in range(len(recorder.frames)):
        film._func(k)
        figure.canvas.draw()
        (ax,) = figure.axes
        box = ax.get_legend().get_window_extent()
        assert [text.get_text() for text in ax.get_legend().get_texts()] == ["0", "1"]
        # All of it is inside the picture.
        assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1
        assert figure.bbox.y0 <= box.y0 < box.y1 <= figure.bbox.y1
    film.pause()
    recorder = Recorder()
    Lasso(alpha=0.01).set_callbacks(recorder).fit(X, X[:, 0] + X[:, 1])
    film = replay(recorder, X, X[:, 0] + X[:, 1])
    for k in range(len(recorder.frames)):
        film._func(k)
        assert len(film._fig.axes) == 2  # the regions and their scale
    film.pause()


def test_replay_draws_a_picture_of_the_model_where_there_is_no_plane(fitted):
    _, recorder, X, y = fitted
    wide = np.hstack([X, X**2])
    recorder = Recorder()
    model = LogisticRegression(solver="gd", max_iter=3).set_callbacks(recorder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(wide, y)
    for film in (replay(recorder, wide, y), replay(recorder)):
        film._func(len(recorder.frames) - 1)
        (ax,) = film._fig.axes
        widths = sorted(bar.get_width() for bar in ax.patches)
        np.testing.assert_allclose(widths, np.sort(model.coef_[0]))
        film.pause()


@pytest.mark.parametrize("width", [1, 2])
def test_replay_of_several_outputs_draws_the_model(width):
    X, y = two_moons(40, random_state=0)
    X, Y = X[:, :width], np.column_stack([X, y])
    recorder = Recorder()
    model = MLPRegressor(hidden_layer_sizes=4, max_iter=3, random_state=0).set_callbacks(recorder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, Y)
    film = replay(recorder, X, Y)
    film._func(2)
    assert film._fig.axes[0].images[0].get_array().shape == (width, 4)
    film.pause()
    picture = "plot_regions" if width == 2 else "plot_fit"
    with pytest.raises(ValueError, match=f"{picture} draws models with one output; MLPRegressor has 3"):
        plot_regions(model, X, y)
    one = MLPRegressor(hidden_layer_sizes=4, max_iter=3, random_state=0).set_callbacks(recorder := Recorder())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        one.fit(X, y)
    assert replay(recorder, X, y)._fig.axes[0].get_xlabel() == ""  # not the weights
    plt.close("all")


def test_a_picture_for_films_comes_first(fitted):
    _, recorder, X, y = fitted
    drawn = []

    @film_picture(lambda model, X: type(model).__name__ == "Perceptron")
    def perceptron(model, X, y, ax):
        drawn.append(model)

    try:
        replay(recorder, X, y).pause()
        assert drawn == [recorder.frames[0].estimator]
    finally:
        _films.pop(0)


def test_replay_says_when_there_is_nothing_to_draw():
    class Frame:
        index, estimator = 0, object()

    recorder = Recorder()
    recorder.frames = [Frame()]
    with pytest.raises(ValueError, match="a picture of its own; object has none"):
        replay(recorder, np.zeros((3, 5)))


def test_regions_of_clusters_have_their_centres():
    X = np.array([[0.0, 0.0], [0.0, 1.0], [9.0, 9.0], [9.0, 8.0]])
    model = KMeans(2, init=[0, 2]).fit(X)
    ax = plot_regions(model, X, model.labels_, resolution=10)
    np.testing.assert_array_equal(ax.collections[-1].get_offsets(), model.cluster_centers_)
    assert ax.images[0].get_array()[[0, -1], [0, -1]].tolist() == [0, 1]
