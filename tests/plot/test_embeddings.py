"""Pictures of embeddings and factorisations."""

import matplotlib as mpl

mpl.use("Agg")

import numpy as np
import pytest

from tercet.decomposition import NMF
from tercet.manifold import ClassicalMDS
from tercet.plot import plot_embedding, plot_model, plot_shepard


def test_points_and_their_distances():
    X = np.random.default_rng(0).normal(size=(6, 3))
    model = ClassicalMDS(3).fit(X)
    ax = plot_model(model)
    np.testing.assert_array_equal(ax.collections[0].get_offsets(), model.embedding_[:, :2])
    pairs = np.asarray(plot_shepard(model).collections[0].get_offsets())
    assert pairs.shape == (15, 2)
    np.testing.assert_allclose(pairs[:, 0], pairs[:, 1])  # three dimensions keep all distances
    line = plot_embedding(ClassicalMDS(1).fit(X), list("abcdef"))
    assert len(line.texts) == 6
    assert not np.asarray(line.collections[0].get_offsets())[:, 1].any()
    with pytest.raises(ValueError, match=r"points must be of shape"):
        plot_embedding([1.0, 2.0])


def test_components_of_a_factorisation():
    X = np.random.default_rng(0).random((8, 4))
    model = NMF(2, max_iter=500).fit(X)
    ax = plot_model(model, ["a", "b", "c", "d"])
    cells = ax.images[0].get_array()
    assert cells.shape == (4, 2)
    assert sorted(cells.ravel()) == pytest.approx(sorted(model.components_.ravel()))
