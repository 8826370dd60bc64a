"""Paths of several targets, and what scikit-learn's path functions deprecate or refuse."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import linear_model as peer

from tercet.linear_model import enet_path, lasso_path


def data(targets=3):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 12))
    W = rng.normal(size=(12, targets)) * (rng.random((12, 1)) < 0.5)
    return X, X @ W + 0.1 * rng.normal(size=(50, targets))


@pytest.mark.parametrize("make", [np.asarray, sparse.csc_matrix])
@pytest.mark.parametrize("ratio", [1.0, 0.4])
@pytest.mark.parametrize("targets", [1, 3])
def test_several_targets(make, ratio, targets):
    X, Y = data(targets)
    alphas, coefs, gaps, counts = enet_path(
        make(X), Y, l1_ratio=ratio, alphas=7, tol=1e-10, return_n_iter=True
    )
    theirs = peer.enet_path(X, Y, l1_ratio=ratio, alphas=7, tol=1e-12, max_iter=10_000)
    assert coefs.shape == (targets, 12, 7)
    np.testing.assert_allclose(alphas, theirs[0])
    np.testing.assert_allclose(coefs, theirs[1], atol=1e-5)
    assert gaps.max() <= 1e-10 * np.sum(Y**2) / len(Y)
    assert len(counts) == 7
    rows = coefs.any(axis=0)  # a feature enters for all targets or for none
    np.testing.assert_array_equal(rows, coefs.all(axis=0))


def test_several_targets_from_a_start_and_in_random_order():
    X, Y = data()
    options = {"alphas": [0.5, 0.1], "tol": 1e-12}
    _, plain, _ = lasso_path(X, Y, **options)
    _, other, _ = lasso_path(X, Y, coef_init=np.ones((3, 12)), selection="random", random_state=0, **options)
    np.testing.assert_allclose(other, plain, atol=1e-6)
    with pytest.raises(ValueError, match="positive=True is for one target"):
        lasso_path(X, Y, positive=True)
    with pytest.raises(ValueError, match="not supported for l1_ratio=0"):
        enet_path(X, Y, l1_ratio=0)


@pytest.mark.parametrize("path", [enet_path, lasso_path])
def test_deprecated_and_unknown_parameters(path):
    X, Y = data()
    y = Y[:, 0]
    with pytest.warns(FutureWarning, match="'n_alphas' was deprecated in 1.9 and will be removed in 1.11"):
        assert path(X, y, n_alphas=3)[0].shape == (3,)
    with pytest.warns(FutureWarning, match="'alphas=None' is deprecated and will be removed in 1.11"):
        assert path(X, y, alphas=None)[0].shape == (100,)
    with pytest.raises(
        ValueError, match=r"Unexpected parameters in params: \['fit_intercept', 'normalize'\]"
    ):
        path(X, y, normalize=True, fit_intercept=True)
    assert path(X, y)[0].shape == (100,)
