"""Self-organising maps: the rules of both algorithms, grids, missing values, weights, errors, sources, the peer."""

import numpy as np
import pytest
from minisom import MiniSom

from tercet import Recorder
from tercet.core import chunks
from tercet.datasets import Source
from tercet.neural_network import SOM
from tercet.neural_network.best_matching_units import Units
from tercet.neural_network.som import Grid, neighbourhood, online_step
from tercet.plot import (
    plot_component_planes,
    plot_hit_map,
    plot_model,
    plot_som_grid,
    plot_u_matrix,
    replay,
)

GRIDS = [
    {"topology": topology, "toroidal": toroidal}
    for topology in ("rectangular", "hexagonal")
    for toroidal in (False, True)
]


def rows(n=200, d=3, seed=0, gaps=0.0):
    rng = np.random.default_rng(seed)
    centres = 3 * rng.normal(size=(4, d))
    X = centres[rng.integers(4, size=n)] + rng.normal(size=(n, d))
    X[rng.random(X.shape) < gaps] = np.nan
    X[np.isnan(X).all(axis=1), 0] = 0.0
    return X


@pytest.mark.parametrize("gaps", [0.0, 0.2])
@pytest.mark.parametrize("options", GRIDS)
@pytest.mark.parametrize("neighborhood", ["gaussian", "bubble"])
def test_a_batch_pass_is_the_mean_by_the_formula(options, neighborhood, gaps):
    X, W = rows(60, gaps=gaps), rows(24, seed=1)
    weight = np.random.default_rng(2).random(60)
    model = SOM(
        (4, 6), init=W, sigma0=1.3, sigma_decay="constant", max_iter=1, neighborhood=neighborhood, **options
    ).fit(X, sample_weight=weight)
    grid = Grid(4, 6, options["topology"] == "hexagonal", options["toroidal"])
    winners = np.nansum((X[:, None] - W) ** 2, axis=2).argmin(axis=1)
    h = weight * neighbourhood(grid.squared_distances(slice(0, 24)), 1.3, neighborhood)[:, winners]
    known = ~np.isnan(X)
    below = h @ known
    expected = np.where(below > 0, h @ np.nan_to_num(X) / np.where(below > 0, below, 1), W)
    np.testing.assert_allclose(model.weights_.reshape(24, 3), expected, rtol=1e-9)


@pytest.mark.parametrize("gaps", [0.0, 0.2])
@pytest.mark.parametrize("options", GRIDS)
def test_an_online_pass_is_the_rule_row_by_row(options, gaps):
    X, W = rows(30, gaps=gaps), rows(24, seed=1)
    model = SOM(
        (4, 6), algorithm="online", init=W, eta_decay="constant", sigma0=1.3, sigma_decay="constant",
        max_iter=1, shuffle=False, **options,
    ).fit(X)  # fmt: skip
    grid = Grid(4, 6, options["topology"] == "hexagonal", options["toroidal"])
    for x in X:
        W = online_step(W, x, 0.5, 1.3, grid)
    np.testing.assert_allclose(model.weights_.reshape(24, 3), W, atol=1e-5)


def test_an_online_bubble_moves_units_up_to_its_radius():
    W = np.zeros((9, 1))
    model = SOM((3, 3), algorithm="online", init=W, neighborhood="bubble", sigma0=1.0, max_iter=1).fit(
        [[1.0]]
    )
    np.testing.assert_array_equal(model.weights_[:, :, 0] > 0, [[1, 1, 0], [1, 0, 0], [0, 0, 0]])


@pytest.mark.parametrize("options", GRIDS)
def test_units_of_a_grid_have_their_neighbours(options):
    grid = Grid(6, 6, options["topology"] == "hexagonal", options["toroidal"])
    squares = grid.squared_distances(slice(0, 36))
    np.testing.assert_allclose(squares, squares.T)
    near = grid.are_neighbours(squares).sum(axis=1).reshape(6, 6)
    inside, most = near[1:-1, 1:-1], 6 if grid.hexagonal else 8
    assert (inside == most).all()
    assert (near == most).all() == grid.toroidal


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("gaps", [0.0, 0.3])
def test_winners_are_exact(dtype, gaps):
    X = rows(700, 7, gaps=gaps).astype(dtype)
    W = rows(40, 7, seed=1)
    W[7] = W[3]  # of equals, the first
    W[20] = W[3] + 1e-9
    first, second, gap = Units(W, gaps > 0).search(X)
    squares = np.nansum((X[:, None].astype(float) - W) ** 2, axis=2)
    order = np.argsort(squares, axis=1, kind="stable")
    np.testing.assert_array_equal(first, order[:, 0])
    np.testing.assert_array_equal(second, order[:, 1])
    np.testing.assert_allclose(gap, np.sqrt(squares.min(axis=1)), rtol=1e-9)


def test_weights_are_repeated_rows():
    X, weight = rows(80), np.random.default_rng(1).integers(0, 4, size=80)
    weighed = SOM((4, 5), max_iter=8).fit(X, sample_weight=weight)
    repeated = SOM((4, 5), max_iter=8).fit(np.repeat(X, weight, axis=0))
    np.testing.assert_allclose(weighed.weights_, repeated.weights_, rtol=1e-7)
    np.testing.assert_allclose(weighed.hits_, repeated.hits_)
    assert weighed.quantization_error_ == pytest.approx(repeated.quantization_error_)
    assert weighed.topographic_error_ == pytest.approx(repeated.topographic_error_)


def test_neighbours_on_the_grid_are_near_each_other():
    X = np.random.default_rng(0).random((1500, 2))
    for options in ({}, {"algorithm": "online"}, {"topology": "hexagonal"}):
        model = SOM((8, 8), random_state=0, **options).fit(X)
        assert model.topographic_error_ < 0.12
        assert model.quantization_error_ < 0.06
        assert model.history_["quantization_error"][-1] < 0.5 * max(model.history_["quantization_error"])


@pytest.mark.parametrize("topology", ["rectangular", "hexagonal"])
def test_errors_are_those_of_minisom(topology):
    X, W = rows(120), rows(35, seed=1)
    peer = MiniSom(5, 7, 3, topology="rectangular")
    peer._weights = W.reshape(5, 7, 3).copy()
    model = SOM((5, 7), init=W, max_iter=1, topology=topology).fit(X)
    model.weights_ = W.reshape(5, 7, 3).copy()
    assert model.quantization_error(X) == pytest.approx(peer.quantization_error(X))
    assert model.winner(X[4]) == peer.winner(X[4])
    np.testing.assert_array_equal(model.hit_map(X), peer.activation_response(X))
    if topology == "rectangular":
        assert model.topographic_error(X) == pytest.approx(peer.topographic_error(X))
        U = model.u_matrix()
        np.testing.assert_allclose(U / U.max(), peer.distance_map(scaling="mean"))


def test_a_step_is_that_of_minisom():
    X, W = rows(15), rows(12, seed=1)
    peer = MiniSom(3, 4, 3, sigma=1.2, learning_rate=0.4)
    peer._weights = W.reshape(3, 4, 3).copy()
    for x in X:
        peer.update(x, peer.winner(x), 0, 10)
    model = SOM(
        (3, 4), algorithm="online", init=W, eta0=0.4, eta_decay="constant", sigma0=1.2, sigma_decay="constant",
        shuffle=False, max_iter=1,
    ).fit(X)  # fmt: skip
    np.testing.assert_allclose(model.weights_, peer.get_weights(), atol=1e-5)


def test_a_source_gives_the_bits_of_memory(monkeypatch, tmp_path):
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 1 << 11)
    monkeypatch.setattr(chunks, "GRAIN", 8)
    X = rows(300, gaps=0.1)
    one = SOM((3, 4), max_iter=5, n_jobs=1).fit(X)
    other = SOM((3, 4), max_iter=5, n_jobs=5).fit(X)
    assert np.array_equal(one.weights_, other.weights_)
    with pytest.raises(TypeError, match="algorithm='online' visits single rows"):
        SOM(algorithm="online").fit(Source(X))


def test_missing_values():
    X = rows(300, 4)
    whole = SOM((4, 4)).fit(X)
    X[::3, 1] = np.nan
    holes = SOM((4, 4)).fit(X)
    assert np.isfinite(holes.weights_).all()
    assert abs(holes.quantization_error_ - whole.quantization_error_) < 0.3
    assert holes.winner([np.nan, *X[0, 1:]]) == holes.winner([np.nan, *X[0, 1:]])
    with pytest.raises(ValueError, match="all values of row 1 of X are missing"):
        holes.predict([[0.0] * 4, [np.nan] * 4])
    X[5] = np.nan
    with pytest.raises(ValueError, match=r"all values are missing in rows of X \(their number: 1\)"):
        SOM().fit(X)
    X[:, 2] = np.nan
    X[5, 0] = 1.0
    with pytest.raises(ValueError, match="no known value of feature 2"):
        SOM().fit(X)


def test_partial_fit_unfolds_the_grid():
    X = np.random.default_rng(0).random((1000, 2))
    model = SOM((6, 6), max_iter=20, random_state=0)
    for k in range(22):
        model.partial_fit(X[k % 4 :: 4])
    assert model.n_passes_ == 22
    assert model.topographic_error(X) < 0.15
    assert model.quantization_error(X) < 0.08


@pytest.mark.parametrize("shape", [1, 7, (1, 7), (7, 1), (2, 3)])
def test_any_shape(shape):
    model = SOM(shape, max_iter=5).fit(rows())
    rows_, columns = shape if isinstance(shape, tuple) else (1, shape)
    assert model.weights_.shape == (rows_, columns, 3)
    assert model.labels_.max() < rows_ * columns
    assert model.u_matrix().shape == model.hits_.shape == (rows_, columns)
    coordinates = model.transform(rows())
    np.testing.assert_array_equal(coordinates[:, 0] * columns + coordinates[:, 1], model.labels_)


def test_rows_on_a_line_have_no_plane():
    X = np.linspace(0, 1, 50)[:, None] * [1.0, 2.0]
    model = SOM((4, 4), random_state=0).fit(X)
    assert len(np.unique(model.labels_)) > 6


def test_many_features_go_by_lanczos():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)) @ np.diag([9.0, 4.0]) @ rng.normal(size=(2, 600)) + rng.normal(
        size=(60, 600)
    )
    model = SOM((4, 3), max_iter=1, init="pca").fit(X)
    small = SOM((4, 3), max_iter=1, init="pca").fit(X[:, :500])
    assert np.isfinite(model.weights_).all()
    assert model.quantization_error_ < 2 * small.quantization_error_


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"shape": (0, 3)}, "'shape' must be a positive integer or a pair"),
        ({"shape": (2, 3, 4)}, "'shape' must be a positive integer or a pair"),
        ({"shape": (3, 4), "topology": "hexagonal", "toroidal": True}, "even number of rows"),
        ({"shape": (2, 2), "init": np.zeros((2, 3))}, r"init must have the shape \(2, 2, 3\) or \(4, 3\)"),
        ({"sigma_end": 0}, "'sigma_end'"),
        ({"algorithm": "offline"}, "'algorithm'"),
    ],
)
def test_errors_name_the_parameter(parameters, words):
    with pytest.raises(ValueError, match=words):
        SOM(**parameters).fit(rows(20))


def test_pictures_and_the_film():
    X = rows(90, 2)
    y = X[:, 0] > 0
    recorder = Recorder()
    model = SOM((3, 4), max_iter=6, topology="hexagonal").set_callbacks(recorder).fit(X)
    np.testing.assert_allclose(recorder.frames[-1].estimator.weights_, model.weights_)
    film = replay(recorder, X, y)
    for k in (0, len(recorder.frames) - 1):
        film._func(k)
    segments = film._fig.axes[0].collections[-2].get_segments()
    assert len(segments) == 3 * 3 + 2 * 7  # edges in rows, and between them
    assert any(np.allclose(segment[0], model.weights_[0, 0]) for segment in segments)
    film.pause()
    film = replay(recorder)  # without rows: the grid alone
    film.pause()
    discs = plot_hit_map(model, X, y).collections[1:]
    assert sum(len(disc.get_offsets()) for disc in discs) == np.count_nonzero(model.hits_)
    cells = plot_u_matrix(model).collections[0]
    np.testing.assert_allclose(cells.get_array(), model.u_matrix().ravel())
    wide = SOM((3, 4), max_iter=2).fit(rows(40, 5))
    assert len(plot_component_planes(wide).child_axes) == 5
    assert len(plot_model(wide).collections[0].get_array()) == 12
    with pytest.raises(ValueError, match="features must be numbers from 0 to 4"):
        plot_component_planes(wide, features=[5])
    with pytest.raises(ValueError, match="columns must be two numbers"):
        plot_som_grid(wide, columns=[0])
    with pytest.raises(ValueError, match="y needs X"):
        plot_hit_map(wide, y=[0])
