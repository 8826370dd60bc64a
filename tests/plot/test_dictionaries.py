"""Pictures of dictionaries and of completed matrices."""

import numpy as np
import pytest

from tercet.decomposition import DictionaryLearning, MatrixCompletion
from tercet.plot import plot_atoms, plot_model, plot_singular_values


def test_atoms_are_tiles():
    atoms = np.arange(1.0, 19.0).reshape(2, 9)
    image = np.ma.filled(plot_atoms(atoms).images[0].get_array().astype(float), np.nan)
    assert image.shape == (5, 9)  # two squares of 3 x 3 with lines around them
    np.testing.assert_allclose(image[1:4, 1:4], atoms[0].reshape(3, 3) / 9)
    np.testing.assert_allclose(image[1:4, 5:8], atoms[1].reshape(3, 3) / 18)
    assert np.isnan(image[0]).all()
    assert plot_atoms(atoms[:, :8], (2, 4)).images[0].get_array().shape == (4, 11)


def test_what_is_no_dictionary():
    with pytest.raises(ValueError, match="plot_atoms needs one atom or more"):
        plot_atoms(np.ones(4))
    with pytest.raises(ValueError, match=r"shape=\(2, 3\) has not the 4 numbers"):
        plot_atoms(np.ones((2, 4)), (2, 3))
    with pytest.raises(ValueError, match="plot_singular_values needs a list"):
        plot_singular_values(np.ones((2, 2)))


def test_models_are_drawn():
    X = np.random.default_rng(0).normal(size=(20, 4))
    model = DictionaryLearning(
        6, fit_algorithm="ksvd", transform_n_nonzero_coefs=2, max_iter=3, random_state=0
    )
    with pytest.warns(UserWarning, match="did not converge"):
        model.fit(X)
    assert plot_model(model).images
    X[3, 1] = np.nan
    completed = MatrixCompletion().fit(X)
    heights = [bar.get_height() for bar in plot_model(completed).patches]
    np.testing.assert_allclose(heights, completed.singular_values_)
