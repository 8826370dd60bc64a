"""Fourier features."""

import itertools
import pickle

import numpy as np
import pytest

from tercet.io import load_model, save_model
from tercet.rl import FourierFeatures, linear_td_update


def test_cosines_of_all_frequencies():
    X = np.random.default_rng(0).uniform(-1, 3, size=(30, 2))
    model = FourierFeatures(3, low=-1.0, high=3.0).fit(X)
    waves = list(itertools.product(range(4), repeat=2))
    assert sorted(map(tuple, model.frequencies_.astype(int).tolist())) == waves
    np.testing.assert_allclose(
        model.transform(X), np.cos(np.pi * (X + 1) / 4 @ model.frequencies_.T), atol=1e-12
    )
    assert (model.transform(X)[:, 0] == 1).all()


def test_frequencies_of_single_inputs():
    model = FourierFeatures(2, coupled=False).fit([[0, 0, 0], [1, 1, 1]])
    assert model.frequencies_.astype(int).tolist() == [
        [0, 0, 0], [1, 0, 0], [2, 0, 0], [0, 1, 0], [0, 2, 0], [0, 0, 1], [0, 0, 2],
    ]  # fmt: skip


def test_scaled_features_learn_high_frequencies_more_slowly():
    """The same as a step size α / |c| for each weight (Konidaris et al.)."""
    X = [[0.2, 0.3], [0.7, 0.1]]
    plain, scaled = (FourierFeatures(3, low=0.0, high=1.0, scaled=flag).fit(X) for flag in (False, True))
    phi, psi = plain.transform(X), scaled.transform(X)
    norm = np.maximum(np.linalg.norm(plain.frequencies_, axis=1), 1.0)
    theta = linear_td_update(np.zeros(16), psi[0], 1.0, psi[1], discount=0.9, learning_rate=0.1)
    np.testing.assert_allclose(psi @ theta, phi @ (0.1 / norm * phi[0]), rtol=1e-12)


def test_orders_of_many_inputs_are_low():
    X = np.random.default_rng(0).normal(size=(10, 10))
    assert FourierFeatures().fit(X).frequencies_.shape == (2**10, 10)
    assert FourierFeatures().fit(X[:, :3]).frequencies_.shape == (64, 3)
    assert FourierFeatures(coupled=False).fit(X).frequencies_.shape == (31, 10)
    with pytest.raises(
        ValueError,
        match=r"there would be 1.05e[+]06 features of 10 inputs.*; lower order, or use coupled=False",
    ):
        FourierFeatures(3).fit(X)


def test_agents_get_the_same_features():
    X = np.random.default_rng(0).normal(size=(20, 2))
    model = FourierFeatures(2, scaled=True).fit(X)
    write, columns, values = model._writer(), np.zeros(9, dtype=np.int64), np.zeros(9)
    for row, x in zip(model.transform(X), X):
        assert write(x, columns, values) == 9
        np.testing.assert_array_equal(values, row)
        np.testing.assert_array_equal(columns, np.arange(9))


def test_kinds_of_numbers_pickles_and_files(tmp_path):
    X = np.random.default_rng(0).normal(size=(20, 2))
    model = FourierFeatures().fit(X)
    assert model.transform(X.astype(np.float32)).dtype == np.float32
    assert len(model.get_feature_names_out()) == 16
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).transform(X), model.transform(X))
    save_model(tmp_path / "waves.skops", model, {})
    np.testing.assert_array_equal(load_model(tmp_path / "waves.skops")[0].transform(X), model.transform(X))


def test_bad_parameters():
    with pytest.raises(ValueError, match="parameter 'order' must be an integer"):
        FourierFeatures(0).fit([[0.0], [1.0]])
    with pytest.raises(ValueError, match="high must be a finite number"):
        FourierFeatures(high="much").fit([[0.0], [1.0]])
