"""Pictures of energy-based networks."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from tercet import Recorder
from tercet.neural_network import BernoulliRBM, BoltzmannMachine, DeepBeliefNetwork, Hopfield
from tercet.plot import plot_energy, plot_filters, plot_model, plot_recall, replay, replay_recall

PATTERNS = np.where(np.random.default_rng(0).random((2, 16)) < 0.5, -1, 1)


@pytest.mark.parametrize(
    "options", [{}, {"binarize": 0.0}, {"states": "binary"}, {"states": "binary", "binarize": 0.5}]
)
def test_energies_of_a_recall_never_rise(options):
    rows = PATTERNS if options.get("states") != "binary" else (PATTERNS + 1) // 2
    ax = plot_energy(Hopfield(**options).fit(rows))
    assert all((np.diff(line.get_ydata()) <= 1e-12).all() for line in ax.lines)
    assert ax.get_xlabel() == "sweep"


def test_recalled_patterns_below_their_starts():
    model = Hopfield().fit(PATTERNS)
    tiles = plot_recall(model, PATTERNS).images[0].get_array()
    assert np.array_equal(tiles[1:5, 1:5], PATTERNS[0].reshape(4, 4))
    assert np.array_equal(tiles[6:10, 1:5], PATTERNS[0].reshape(4, 4))
    assert plot_recall(model, PATTERNS, (2, 8)).get_title("left") == "recalled patterns: 0, 1"
    assert plot_recall(Hopfield.from_weights(np.zeros((3, 3)))).get_title("left").count("-") == 8
    with pytest.raises(ValueError, match=r"shape=\(3, 3\) does not match the 16 units"):
        plot_recall(model, shape=(3, 3))


def test_filters_are_tiles_of_an_image_or_a_heat_map():
    rng = np.random.default_rng(0)
    wide = BernoulliRBM.from_weights(rng.normal(size=(6, 16)))
    assert plot_filters(wide).get_title("left") == "weights of 6 hidden units"
    narrow = BernoulliRBM.from_weights(rng.normal(size=(2, 3)))
    ax = plot_filters(narrow, feature_names=["a", "b", "c"])
    assert {tick.get_text() for tick in ax.get_yticklabels()} == {"a", "b", "c"}
    assert plot_filters(narrow, (1, 3)).images


def test_each_has_its_picture():
    X = np.random.default_rng(0).integers(0, 2, (20, 4))
    assert plot_model(Hopfield(states="binary").fit(X)).get_ylabel() == "energy"
    network = plot_model(DeepBeliefNetwork((3, 2), n_iter=1).fit(X))
    assert network.get_title("left") == "weights of 3 hidden units"
    machine = plot_model(BoltzmannMachine.from_weights(np.zeros((3, 3)), n_hidden=1), ["u", "v"])
    assert {tick.get_text() for tick in machine.get_xticklabels()} == {"u", "v", "hidden 1"}


def test_films_of_machines_show_their_weights():
    X = np.random.default_rng(0).integers(0, 2, (20, 2))
    for model in (BernoulliRBM(2, n_iter=2), BoltzmannMachine(max_iter=2), DeepBeliefNetwork((2,), n_iter=1)):
        recorder = Recorder()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.set_callbacks(recorder).fit(X)
        replay(recorder, X).pause()


@pytest.mark.parametrize("update", ["asynchronous", "synchronous"])
def test_a_film_of_a_recall_ends_with_the_recalled_states(update):
    model = Hopfield(update=update, order="random").fit(PATTERNS)
    starts = PATTERNS * np.where(np.arange(16) % 5 == 0, -1, 1)
    film = replay_recall(model, starts)
    energies = model.set_params(random_state=0).recall(starts).energies
    assert len(list(film.new_frame_seq())) == len(energies)
    film._func(len(energies) - 1)
    above, below = film._fig.axes
    assert np.array_equal(above.images[0].get_array()[6:10, 1:5].ravel(), model.transform(starts)[0])
    assert np.array_equal(below.lines[0].get_ydata(), energies[:, 0])
    film.pause()
