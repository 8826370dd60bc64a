"""Radial basis features."""

import pickle

import numpy as np
import pytest

from tercet.io import load_model, save_model
from tercet.rl import RadialBasisFeatures


def test_bumps_on_a_grid():
    X = np.random.default_rng(0).uniform(0, 1, size=(40, 2)) * [2.0, 10.0]
    model = RadialBasisFeatures(4, low=0.0, high=[2.0, 10.0]).fit(X)
    assert model.centers_.shape == (16, 2)
    assert {tuple(c) for c in model.centers_.round(9)} == {
        (a, b) for a in np.linspace(0, 2, 4).round(9) for b in np.linspace(0, 10, 4).round(9)
    }
    assert model.width_ == pytest.approx(1 / 3)
    away = ((X[:, None] - model.centers_) / [2.0, 10.0]) ** 2
    np.testing.assert_allclose(model.transform(X), np.exp(-away.sum(axis=2) / (2 / 9)), rtol=1e-12)
    np.testing.assert_allclose(np.diag(model.transform(model.centers_)), 1.0)
    narrow = RadialBasisFeatures(4, width=0.01, low=0.0, high=[2.0, 10.0]).fit(X)
    np.testing.assert_allclose(narrow.transform(model.centers_), np.eye(16), atol=1e-12)


def test_given_centres():
    centers = [[0.0], [1.0], [3.0]]
    model = RadialBasisFeatures(centers=centers, low=0.0, high=4.0).fit([[2.0]])
    assert model.width_ == pytest.approx((0.25 + 0.25 + 0.5) / 3)
    np.testing.assert_array_equal(model.centers_, centers)
    assert RadialBasisFeatures(centers=[[1.0], [1.0]]).fit([[0.0], [2.0]]).width_ == 1.0


def test_normalised_features_sum_to_one_even_far_away():
    X = np.random.default_rng(0).normal(size=(30, 3))
    found = RadialBasisFeatures(3, normalize=True).fit_transform(X)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    far = RadialBasisFeatures(centers=[[0.0], [0.01]], width=1e-4, normalize=True, low=0.0, high=1.0).fit(
        [[0.0]]
    )
    np.testing.assert_allclose(far.transform([[1.0], [0.0]]), [[0.0, 1.0], [1.0, 0.0]], atol=1e-12)
    tiny = RadialBasisFeatures(3, width=1e-200, normalize=True).fit_transform(X)
    assert np.isfinite(tiny).all()


def test_the_grid_of_many_inputs_is_coarse():
    X = np.random.default_rng(0).normal(size=(10, 10))
    assert RadialBasisFeatures().fit(X).centers_.shape == (2**10, 10)
    assert RadialBasisFeatures().fit(X[:, :2]).centers_.shape == (25, 2)
    with pytest.raises(
        ValueError,
        match=r"there would be 9.77e[+]06 features of 10 inputs, more than 1e[+]06; lower n_centers",
    ):
        RadialBasisFeatures(5).fit(X)


def test_agents_get_the_same_features():
    X = np.random.default_rng(0).normal(size=(20, 2))
    for model in (RadialBasisFeatures(3), RadialBasisFeatures(3, normalize=True)):
        rows = model.fit(X).transform(X)
        write, columns, values = model._writer(), np.zeros(9, dtype=np.int64), np.zeros(9)
        for row, x in zip(rows, X):
            assert write(x, columns, values) == 9
            np.testing.assert_array_equal(values, row)
            np.testing.assert_array_equal(columns, np.arange(9))


def test_kinds_of_numbers_pickles_and_files(tmp_path):
    X = np.random.default_rng(0).normal(size=(20, 2))
    model = RadialBasisFeatures().fit(X)
    assert model.transform(X.astype(np.float32)).dtype == np.float32
    assert len(model.get_feature_names_out()) == 25
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).transform(X), model.transform(X))
    save_model(tmp_path / "bumps.skops", model, {})
    np.testing.assert_array_equal(load_model(tmp_path / "bumps.skops")[0].transform(X), model.transform(X))


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"n_centers": 0}, "parameter 'n_centers' must be an integer"),
        ({"width": 0.0}, "parameter 'width' must be a number"),
        ({"centers": [[1.0, 2.0, 3.0]]}, "centers has 3 columns; the rows have 2 features"),
        ({"centers": [[1.0, np.nan]]}, "NaN"),
        ({"low": 2.0, "high": 1.0}, "low must not be above high"),
    ],
)
def test_bad_parameters(parameters, match):
    with pytest.raises(ValueError, match=match):
        RadialBasisFeatures(**parameters).fit([[0.0, 0.0], [1.0, 1.0]])
