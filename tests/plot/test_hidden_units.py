"""Pictures of the weights of multilayer perceptrons."""

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pytest

from tercet import Recorder
from tercet.core.steps import ConvergenceWarning
from tercet.neural_network import DBNClassifier, DBNRegressor, MLPClassifier, MLPRegressor
from tercet.plot import plot_layer_weights, plot_model, replay
from tests.plot.words import ticks


@pytest.fixture(scope="module")
def network():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    return MLPClassifier((5, 4), solver="lbfgs", max_iter=30, random_state=0).fit(X, X[:, 1] > X[:, 2])


def test_a_network_is_drawn_by_the_weights_of_its_first_layer(network):
    ax = plot_model(network, ["a", "b", "c"])
    cells = ax.images[0].get_array()
    order = [["a", "b", "c"].index(word) for word in ticks(ax, "y")]
    np.testing.assert_array_equal(cells, network.coefs_[0][order])
    assert ticks(ax, "x") == ["1", "2", "3", "4", "5"]
    assert ax.get_title("left") == "weights of layer 1"


@pytest.mark.parametrize("kind", [DBNClassifier, DBNRegressor])
def test_deep_belief_networks_are_drawn_by_their_weights(kind):
    X = np.random.default_rng(0).random((40, 3))
    recorder = Recorder()
    model = kind((5, 4), pretraining_iter=1, max_iter=2, random_state=0).set_callbacks(recorder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, X[:, 0] > X[:, 1])
    assert plot_model(model).images[0].get_array().shape == (3, 5)
    film = replay(recorder, X)
    film._func(1)
    assert film._fig.axes[0].images[0].get_array().shape == (3, 5)
    film.pause()
    plt.close("all")


def test_any_layer_can_be_chosen(network):
    ax = plot_layer_weights(network, layer=-1, top=3)
    assert ax.images[0].get_array().shape == (3, 1)
    assert (ax.get_title("left"), ax.get_xlabel()) == ("weights of layer 3", "output")
    assert plot_layer_weights(network, layer=1).images[0].get_array().shape == (5, 4)
    with pytest.raises(ValueError, match="layer must be from -3 to 2; got 3"):
        plot_layer_weights(network, layer=3)


def test_a_network_without_hidden_layers_and_names_from_a_frame():
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame({"height": [0.0, 1.0, 2.0], "age": [1.0, 0.0, 1.0]})
    model = MLPRegressor(hidden_layer_sizes=(), solver="lbfgs", random_state=0).fit(X, X["height"])
    ax = plot_model(model)
    assert ticks(ax, "y") == ["height", "age"]
    assert ax.get_xlabel() == "output"
