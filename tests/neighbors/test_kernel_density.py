"""Kernel density estimation."""

import pickle

import numpy as np
import pytest
from sklearn import neighbors as peer

from tercet.neighbors import KernelDensity

RNG = np.random.default_rng(0)
X, Q = RNG.normal(size=(120, 2)), RNG.normal(size=(20, 2))


@pytest.mark.parametrize("bandwidth", [0.4, "scott", "silverman"])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_agrees_with_the_peer(bandwidth, metric):
    weight = RNG.random(len(X))
    for given in (None, weight):
        mine, theirs = (
            kind(bandwidth=bandwidth, metric=metric).fit(X, sample_weight=given)
            for kind in (KernelDensity, peer.KernelDensity)
        )
        np.testing.assert_allclose(mine.score_samples(Q), theirs.score_samples(Q), rtol=1e-9)
        assert mine.bandwidth_ == pytest.approx(theirs.bandwidth_)
    assert mine.score(Q) == pytest.approx(mine.score_samples(Q).sum())


@pytest.mark.parametrize("kernel", ["gaussian", "tophat", "epanechnikov", "exponential", "linear", "cosine"])
def test_densities_integrate_to_one(kernel):
    grid = np.linspace(-40, 40, 4001)[:, None]
    model = KernelDensity(kernel=kernel, bandwidth=1.5, algorithm="ball_tree").fit(X[:, :1])
    assert np.exp(model.score_samples(grid)).sum() * 0.02 == pytest.approx(1, abs=1e-4)


def test_weights_are_repetitions():
    weight = RNG.integers(0, 3, len(X))
    weighted = KernelDensity(bandwidth=0.5).fit(X, sample_weight=weight)
    repeated = KernelDensity(bandwidth=0.5).fit(np.repeat(X, weight, axis=0))
    np.testing.assert_allclose(weighted.score_samples(Q), repeated.score_samples(Q), rtol=1e-9)


@pytest.mark.parametrize("kernel", ["gaussian", "tophat"])
def test_samples_have_the_density(kernel):
    model = KernelDensity(kernel=kernel, bandwidth=0.5).fit([[0.0, 0.0], [8.0, 0.0]], sample_weight=[3, 1])
    drawn = model.sample(4000, random_state=0)
    left = drawn[drawn[:, 0] < 4]
    assert len(left) / 4000 == pytest.approx(0.75, abs=0.03)
    np.testing.assert_allclose(left.mean(axis=0), 0, atol=0.03)
    assert left.std() == pytest.approx(0.5 if kernel == "gaussian" else 0.25, rel=0.05)
    np.testing.assert_array_equal(drawn, model.sample(4000, random_state=0))
    with pytest.raises(NotImplementedError, match="linear"):
        KernelDensity(kernel="linear").fit(X).sample()


def test_a_loaded_model_builds_its_tree_again():
    model = KernelDensity().fit(X)
    assert "_tree" not in model.__getstate__()
    loaded = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(loaded.score_samples(Q), model.score_samples(Q))
    assert loaded.tree_.n == len(X)
    with pytest.raises(ValueError, match="invalid metric for KDTree"):
        KernelDensity(algorithm="kd_tree", metric="haversine").fit(X)


@pytest.mark.parametrize("kernel", ["gaussian", "exponential"])
def test_rows_far_from_those_learned_with_a_large_tolerance(kernel):
    X = 1e9 + np.random.default_rng(0).normal(size=(20, 2))
    found = KernelDensity(kernel=kernel, atol=10.0).fit(X).score_samples(np.zeros((3, 2)))
    np.testing.assert_allclose(
        found, KernelDensity(kernel=kernel).fit(X).score_samples(np.zeros((3, 2))), rtol=1e-6
    )
