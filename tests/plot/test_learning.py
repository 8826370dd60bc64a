"""Pictures show what was learned."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from tercet import Recorder
from tercet.cluster import KMeans
from tercet.datasets import two_moons
from tercet.linear_model import Perceptron
from tercet.plot import plot_history, plot_regions, replay


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


def test_regions_of_clusters_have_their_centres():
    X = np.array([[0.0, 0.0], [0.0, 1.0], [9.0, 9.0], [9.0, 8.0]])
    model = KMeans(2, init=[0, 2]).fit(X)
    ax = plot_regions(model, X, model.labels_, resolution=10)
    np.testing.assert_array_equal(ax.collections[-1].get_offsets(), model.cluster_centers_)
    assert ax.images[0].get_array()[[0, -1], [0, -1]].tolist() == [0, 1]
