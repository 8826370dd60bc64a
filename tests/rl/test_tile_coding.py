"""Tile coding."""

import itertools
import math
import pickle

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from tercet.io import load_model, save_model
from tercet.linear_model import Ridge
from tercet.rl import TileCoding


def tiles(x, low, high, n_tiles, n_tilings):
    """The tile of each grid, as coordinates, from the definition."""
    found = []
    for t in range(n_tilings):
        place = []
        for j, (value, a, b, m) in enumerate(zip(x, low, high, n_tiles)):
            s = min(max((value - a) / (b - a), 0.0), 1 - 1e-12)
            place.append(math.floor(s * m + (t * (2 * j + 1)) % n_tilings / n_tilings))
        found.append((t, *place))
    return found


@pytest.mark.parametrize(("n_tiles", "n_tilings"), [(8, 8), (3, 4), ([2, 5], 3), (4, 1), (1, 1)])
def test_it_is_what_the_definition_says(n_tiles, n_tilings):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 3, size=(200, 2))
    low, high = np.array([-1.5, 0.0]), np.array([2.0, 2.5])
    model = TileCoding(n_tiles, n_tilings, low=low, high=high).fit(X)
    found = model.transform(X)
    assert found.shape[1] == n_tilings * np.prod(np.broadcast_to(n_tiles, 2) + (n_tilings > 1))
    assert found.shape[1] == len(model.get_feature_names_out())
    assert (found.data == 1).all()
    names = {}
    for row, x in zip(found.indices.reshape(200, -1), X):
        for column, place in zip(
            row, tiles(x, low, high, np.broadcast_to(n_tiles, 2), n_tilings), strict=True
        ):
            assert names.setdefault(place, column) == column
    assert len(set(names.values())) == len(names), "different tiles have different columns"


def test_one_tiling_is_a_grid():
    X = [[0.0, 0.0], [0.49, 0.0], [0.5, 0.99], [1.0, 1.0]]
    found = TileCoding(2, 1, low=0.0, high=1.0, sparse_output=False).fit_transform(X)
    np.testing.assert_array_equal(np.argmax(found, axis=1), [0, 0, 3, 3])
    assert found.shape == (4, 4)


def test_near_points_share_more_tiles():
    model = TileCoding(4, 16, low=0.0, high=1.0).fit([[0.0]])
    points = np.random.default_rng(0).uniform(0.1, 0.9, size=30)
    rows = model.transform(points[:, None])
    for (i, a), (j, b) in itertools.combinations(enumerate(points), 2):
        shared = (rows[[i]].toarray() * rows[[j]].toarray()).sum()
        apart = abs(a - b) * 4 * 16  # in shifts of a grid
        assert 16 - math.ceil(apart) <= shared <= 16 - math.floor(apart) or (apart >= 16 and shared == 0)


def test_ranges():
    X = np.array([[0.0, 5.0], [2.0, 5.0]])
    model = TileCoding(4, 2).fit(X)
    assert model.low_.tolist() == [0.0, 5.0]
    assert model.high_.tolist() == [2.0, 5.0]
    np.testing.assert_array_equal(
        model.transform([[-9.0, 5.0]]).toarray(), model.transform([[0.0, 1e9]]).toarray()
    )
    np.testing.assert_array_equal(
        model.transform([[2.0, 5.0]]).toarray(), model.transform([[1e300, 5.0]]).toarray()
    )
    one_sided = TileCoding(4, 2, low=-1.0).fit(X)
    assert one_sided.low_.tolist() == [-1.0, -1.0]
    assert one_sided.high_.tolist() == [2.0, 5.0]


def test_agents_get_the_same_features():
    X = np.random.default_rng(0).normal(size=(50, 3))
    model = TileCoding(5, 8).fit(X)
    write, columns, values = model._writer(), np.zeros(8, dtype=np.int64), np.zeros(8)
    rows = model.transform(X)
    for i, x in enumerate(X):
        assert write(x, columns, values) == 8
        np.testing.assert_array_equal(columns, rows.indices[8 * i : 8 * i + 8])
        assert (values == 1).all()


def test_in_a_pipeline():
    x = np.linspace(0, 1, 200)[:, None]
    model = make_pipeline(TileCoding(20, 8), Ridge(alpha=1e-3)).fit(x, np.sin(6 * x[:, 0]))
    np.testing.assert_allclose(model.predict(x), np.sin(6 * x[:, 0]), atol=0.03)


def test_kinds_of_numbers_pickles_and_files(tmp_path):
    X = np.random.default_rng(0).normal(size=(20, 2))
    model = TileCoding(4, 4).fit(X)
    assert model.transform(X.astype(np.float32)).dtype == np.float32
    assert model.transform(X).dtype == np.float64
    again = pickle.loads(pickle.dumps(model))
    assert (again.transform(X) != model.transform(X)).nnz == 0
    save_model(tmp_path / "tiles.skops", model, {})
    assert (load_model(tmp_path / "tiles.skops")[0].transform(X) != model.transform(X)).nnz == 0


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"n_tiles": 0}, "n_tiles must be an integer of at least 1, or one for each of 2 features; got 0"),
        ({"n_tiles": [2, 3, 4]}, r"got \[2, 3, 4\]"),
        ({"n_tiles": 2.5}, "got 2.5"),
        ({"n_tilings": 0}, "parameter 'n_tilings' must be an integer"),
        (
            {"low": 3.0, "high": [4.0, 2.0]},
            "low is 3 and high is 2 for feature 1; low must not be above high",
        ),
        (
            {"low": [1.0, 2.0, 3.0]},
            r"low must be a finite number, or one for each of 2 features; got \[1.0, 2.0, 3.0\]",
        ),
        ({"high": np.inf}, "high must be a finite number"),
        ({"n_tiles": 2**40}, "there would be 9.67e.* features of 2 inputs, more than 4.61e.*; lower n_tiles"),
    ],
)
def test_bad_parameters(parameters, match):
    with pytest.raises(ValueError, match=match):
        TileCoding(**parameters).fit([[0.0, 0.0], [1.0, 1.0]])
