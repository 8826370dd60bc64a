"""Graphs of neighbours, and the transformers that make them."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import neighbors as peer
from sklearn.exceptions import EfficiencyWarning
from sklearn.pipeline import make_pipeline

from tercet import neighbors as ours

X = np.random.default_rng(0).normal(size=(40, 3))


@pytest.mark.parametrize("mode", ["connectivity", "distance"])
@pytest.mark.parametrize("include_self", [True, False, "auto"])
@pytest.mark.parametrize("metric", ["minkowski", "manhattan"])
def test_graphs_are_those_of_the_peer(mode, include_self, metric):
    options = {"mode": mode, "include_self": include_self, "metric": metric}
    for name, size in (("kneighbors_graph", 4), ("radius_neighbors_graph", 1.2)):
        mine, theirs = (getattr(module, name)(X, size, **options) for module in (ours, peer))
        np.testing.assert_allclose(mine.toarray(), theirs.toarray(), atol=1e-7)
        assert mine.nnz == theirs.nnz


def test_a_fitted_estimator_is_used_as_it_is():
    model = ours.NearestNeighbors(n_neighbors=3).fit(X)
    assert (ours.kneighbors_graph(model, 3) != ours.kneighbors_graph(X, 3)).nnz == 0
    with pytest.raises(ValueError, match="Got manhattan for metric, while the estimator has minkowski"):
        ours.radius_neighbors_graph(model, 1.0, metric="manhattan")


def test_sorting_by_row_values():
    graph = sparse.random_array((30, 30), density=0.3, random_state=0, format="csr")
    theirs = peer.sort_graph_by_row_values(graph, copy=True, warn_when_not_sorted=False)
    with pytest.warns(EfficiencyWarning, match="not sorted by row values"):
        mine = ours.sort_graph_by_row_values(graph, copy=True)
    np.testing.assert_array_equal(mine.data, theirs.data)
    np.testing.assert_array_equal(mine.indices, theirs.indices)
    assert ours.sort_graph_by_row_values(mine) is mine
    assert not np.array_equal(graph.data, mine.data)
    with pytest.raises(ValueError, match="copy=True"):
        ours.sort_graph_by_row_values(graph.tocsc(), warn_when_not_sorted=False)
    with pytest.raises(TypeError, match="not supported"):
        ours.sort_graph_by_row_values(np.eye(3))
    assert ours.sort_graph_by_row_values(graph, warn_when_not_sorted=False) is graph


@pytest.mark.parametrize("mode", ["connectivity", "distance"])
def test_transformers(mode):
    for name, options in (
        ("KNeighborsTransformer", {"n_neighbors": 4}),
        ("RadiusNeighborsTransformer", {"radius": 1.5}),
    ):
        mine, theirs = (getattr(module, name)(mode=mode, **options).fit(X[:30]) for module in (ours, peer))
        for rows in (X[:30], X[30:]):
            found = mine.transform(rows)
            np.testing.assert_allclose(found.toarray(), theirs.transform(rows).toarray(), atol=1e-7)
            assert found.nnz == theirs.transform(rows).nnz
        assert (mine.fit_transform(X) != mine.fit(X).transform(X)).nnz == 0
        assert list(mine.get_feature_names_out()) == list(theirs.fit(X).get_feature_names_out())


def test_a_graph_feeds_a_classifier():
    y = X[:, 0] > 0
    direct = ours.KNeighborsClassifier(3).fit(X, y)
    model = make_pipeline(
        ours.KNeighborsTransformer(n_neighbors=6), ours.KNeighborsClassifier(3, metric="precomputed")
    ).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), direct.predict(X))


def test_names_of_metrics():
    for ours_, theirs in (
        (ours.VALID_METRICS, peer.VALID_METRICS),
        (ours.VALID_METRICS_SPARSE, peer.VALID_METRICS_SPARSE),
    ):
        for algorithm in theirs:
            assert set(theirs[algorithm]) <= set(ours_[algorithm])


@pytest.mark.parametrize("algorithm", ["auto", "brute", "kd_tree", "ball_tree"])
def test_powers_below_one_are_for_the_scan(algorithm):
    model = ours.NearestNeighbors(n_neighbors=3, p=0.5, algorithm=algorithm)
    if algorithm in ("kd_tree", "ball_tree"):
        with pytest.raises(ValueError, match="does not support 0 < p < 1"):
            model.fit(X)
        return
    with pytest.warns(UserWarning, match="not distance metrics"):
        model.fit(X)
    D = (np.abs(X[:, None] - X) ** 0.5).sum(axis=2) ** 2
    np.testing.assert_array_equal(model.kneighbors(X)[1], np.argsort(D, axis=1)[:, :3])
