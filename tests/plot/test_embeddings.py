"""Pictures of embeddings and factorisations."""

import matplotlib as mpl

mpl.use("Agg")

import numpy as np
import pytest

from tercet.decomposition import NMF
from tercet.manifold import ClassicalMDS, Isomap, SpectralEmbedding
from tercet.neighbors import kneighbors_graph
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


def test_classes_and_the_neighbour_graph():
    X = np.random.default_rng(0).normal(size=(40, 3))
    model, y = Isomap(n_neighbors=6).fit(X), np.arange(40) % 2
    ax = plot_embedding(model, target=y, graph=True)
    edges, first, second = ax.collections
    assert len(edges.get_segments()) == 40 * 6
    assert len(first.get_offsets()) == len(second.get_offsets()) == 20
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["0", "1"]
    assert len(plot_model(model).collections) == 2, "a model's own picture has its graph"
    ax = plot_embedding(model.embedding_, target=X[:, 0], graph=kneighbors_graph(X, 2))
    assert len(ax.collections[0].get_segments()) == 80
    assert ax.collections[1].get_array().size == 40
    assert len(plot_embedding(SpectralEmbedding(n_neighbors=8).fit(X), graph=True).collections) == 2
    with pytest.raises(ValueError, match="graph=True needs an estimator that was fitted by neighbours"):
        plot_embedding(ClassicalMDS().fit(X), graph=True)
    with pytest.raises(ValueError, match=r"graph must be of shape \(40, 40\)"):
        plot_embedding(model, graph=kneighbors_graph(X[:9], 2))
    with pytest.raises(ValueError, match=r"target must be of shape \(40,\)"):
        plot_embedding(model, target=y[:3])


def test_components_of_a_factorisation():
    X = np.random.default_rng(0).random((8, 4))
    model = NMF(2, max_iter=500).fit(X)
    ax = plot_model(model, ["a", "b", "c", "d"])
    cells = ax.images[0].get_array()
    assert cells.shape == (4, 2)
    assert sorted(cells.ravel()) == pytest.approx(sorted(model.components_.ravel()))
