"""Multidimensional scaling: classical, metric and non-metric."""

import warnings

import numpy as np
import pytest
import sklearn.manifold as peer
from sklearn.exceptions import ConvergenceWarning
from sklearn.isotonic import isotonic_regression

from tercet.manifold import (
    MDS,
    ClassicalMDS,
    double_centering,
    guttman_transform,
    isotonic_values,
    smacof,
)
from tercet.metrics import pairwise_distances


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


@pytest.fixture
def points():
    return np.random.default_rng(0).normal(size=(30, 4))


# --- classical ----------------------------------------------------------------------------------------------


def test_distances_come_out_exactly(points):
    """Eq. 8.5: in as many dimensions as the points have."""
    D = pairwise_distances(points)
    model = ClassicalMDS(4, metric="precomputed").fit(D)
    np.testing.assert_allclose(pairwise_distances(model.embedding_), D, atol=1e-10)
    centred = points - points.mean(axis=0)
    np.testing.assert_allclose(double_centering(D), centred @ centred.T, atol=1e-10)
    np.testing.assert_allclose(model.eigenvalues_, (model.embedding_**2).sum(axis=0))


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "canberra"])
def test_classical_like_the_peer(points, metric):
    ours, theirs = (kind(2, metric=metric).fit(points) for kind in (ClassicalMDS, peer.ClassicalMDS))
    np.testing.assert_allclose(ours.embedding_, theirs.embedding_, atol=1e-8)
    np.testing.assert_allclose(ours.eigenvalues_, theirs.eigenvalues_)


def test_lanczos_finds_the_same(points):
    dense, lanczos = (ClassicalMDS(3, eigen_solver=name).fit(points) for name in ("dense", "arpack"))
    np.testing.assert_allclose(lanczos.embedding_, dense.embedding_, atol=1e-8)


def test_points_of_other_rows(points):
    """Gower's formula gives the fitted rows where they are, and new ones at their distances."""
    model = ClassicalMDS(4).fit(points[:20])
    np.testing.assert_allclose(model.transform(points[:20]), model.embedding_, atol=1e-10)
    new = model.transform(points[20:])
    np.testing.assert_allclose(
        pairwise_distances(new, model.embedding_), pairwise_distances(points[20:], points[:20]), atol=1e-10
    )
    given = ClassicalMDS(4, metric="precomputed").fit(pairwise_distances(points[:20]))
    np.testing.assert_allclose(given.transform(pairwise_distances(points[20:], points[:20])), new, atol=1e-9)


def test_negative_eigenvalues_are_clipped_and_told():
    """Dissimilarities that break the triangle inequality are allowed."""
    D = np.array([[0, 7, 2, 9], [7, 0, 5, 4], [2, 5, 0, 8], [9, 4, 8, 0.0]])
    with pytest.warns(RuntimeWarning, match=r"of the 4 largest eigenvalues (is|are) negative, down to -"):
        model = ClassicalMDS(4, metric="precomputed").fit(D)
    assert np.isfinite(model.embedding_).all()
    assert not model.embedding_[:, model.eigenvalues_ < -1e-9].any()
    assert model.eigenvalues_.min() < 0


def test_identical_points():
    X = np.ones((5, 3))
    assert not ClassicalMDS(2).fit_transform(X).any()
    for is_metric in (True, False):
        model = MDS(metric_mds=is_metric, init="random", random_state=0).fit(X)
        assert model.stress_ == 0
        assert np.ptp(model.embedding_, axis=0).max() == 0


# --- by stress ----------------------------------------------------------------------------------------------


def test_no_transform_raises_the_stress(points):
    D = pairwise_distances(points)
    Z = np.random.default_rng(1).random((30, 2))
    before = np.inf
    for _ in range(15):
        stress = ((pairwise_distances(Z) - D) ** 2).sum() / 2
        assert stress <= before
        Z, before = guttman_transform(D, Z), stress
    found, end, count = smacof(
        D, init=np.random.default_rng(1).random((30, 2)), max_iter=15, eps=0, return_n_iter=True
    )
    np.testing.assert_allclose(found, Z, atol=1e-9)
    assert end == pytest.approx(((pairwise_distances(Z) - D) ** 2).sum() / 2)
    assert count == 15


@pytest.mark.parametrize("is_metric", [True, False])
def test_like_the_peer(points, is_metric):
    both = [
        kind(2, metric_mds=is_metric, init="random", random_state=0, max_iter=40, eps=1e-4)
        for kind in (MDS, peer.MDS)
    ]
    ours, theirs = (model.fit(points) for model in both)
    assert ours.n_iter_ == theirs.n_iter_
    assert ours.stress_ == pytest.approx(theirs.stress_, rel=1e-6)
    np.testing.assert_allclose(ours.embedding_, theirs.embedding_, atol=1e-5)
    assert (np.diff(ours.history_["stress"]) <= 1e-12).all() or not is_metric


def test_the_best_of_several_starts(points):
    D = pairwise_distances(points)
    single = [smacof(D, random_state=np.random.RandomState(0), max_iter=20)[1]]
    several = MDS(metric="precomputed", init="random", n_init=4, random_state=0, max_iter=20).fit(D)
    assert several.stress_ <= min(single)
    one, three = (
        MDS(init="random", n_init=2, random_state=0, max_iter=10, n_jobs=n).fit(points) for n in (1, 3)
    )
    np.testing.assert_array_equal(one.embedding_, three.embedding_)


def test_only_the_order_counts_without_metric(points):
    D = pairwise_distances(points)
    options = {"metric": False, "random_state": 0, "max_iter": 30}
    plain, bent = smacof(D, **options), smacof(D**3, **options)
    assert bent[1] == pytest.approx(plain[1], rel=0.3)
    assert plain[1] < smacof(D, normalized_stress=True, random_state=0, max_iter=30)[1]


def test_isotonic_values():
    rng = np.random.default_rng(0)
    y, w = rng.normal(size=50).cumsum(), rng.random(50) + 0.1
    np.testing.assert_allclose(isotonic_values(y, w), isotonic_regression(y, sample_weight=w))
    np.testing.assert_allclose(isotonic_values(y[::-1]), isotonic_regression(y[::-1]))
    with pytest.raises(ValueError, match="weights more than 0"):
        isotonic_values([1.0, 2.0], [1.0, 0.0])


# --- bad input ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [ClassicalMDS, lambda **given: MDS(init="random", **given)])
def test_dissimilarities_that_are_none(kind):
    with pytest.raises(ValueError, match=r"symmetric .* of 0 and 1 is 1, that of 1 and 0 is 2"):
        kind(metric="precomputed").fit([[0.0, 1.0], [2.0, 0.0]])
    with pytest.raises(ValueError, match="square"):
        kind(metric="precomputed").fit([[0.0, 1.0, 2.0], [1.0, 0.0, 2.0]])
    with pytest.raises(ValueError, match="that of 0 and 1 is -1"):
        kind(metric="precomputed").fit([[0.0, -1.0], [-1.0, 0.0]])
    with pytest.raises(ValueError, match="NaN"):
        kind(metric="precomputed").fit([[0.0, np.nan], [np.nan, 0.0]])


def test_more_bad_input(points):
    with pytest.raises(ValueError, match="n_components=31 must be at most n_samples = 30"):
        ClassicalMDS(31).fit(points)
    with pytest.raises(ValueError, match=r"n_components=1099511627776 is too large"):
        MDS(2**40, init="random").fit(points)
    with pytest.raises(ValueError, match=r"init must be of shape \(30, 2\); got \(3, 2\)"):
        MDS(init="random").fit(points, init=points[:3, :2])


@pytest.mark.parametrize("size", [1e-300, 1e150, 1e308])
def test_numbers_of_any_size(points, size):
    X = points[:8] / np.abs(points).max() / 4
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*(overflow|invalid|divide)", category=RuntimeWarning)
        warnings.filterwarnings("ignore", message=".*beyond floating point")
        plain, scaled = (ClassicalMDS(2).fit_transform(table) for table in (X, X * size))
        np.testing.assert_allclose(scaled / size, plain, atol=1e-9)
        model = MDS(init="random", random_state=0, max_iter=5).fit(X * size)
        assert np.isfinite(model.embedding_).all()
