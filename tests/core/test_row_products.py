"""Products of rows with weights: the right numbers, and the same for a row in every batch."""

import numpy as np
import pytest
from scipy import sparse

from tercet.core.row_products import row_products, row_scores


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("outputs", [None, 1, 3])
def test_products(dtype, outputs):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 37)).astype(dtype)
    W = rng.normal(size=37 if outputs is None else (outputs, 37)).astype(dtype)
    found = row_products(X, W)
    assert found.dtype == dtype
    rounding = 50 * np.finfo(dtype).eps
    np.testing.assert_allclose(found, X @ W.T, rtol=rounding, atol=rounding)
    np.testing.assert_allclose(row_products(sparse.csr_array(X), W), X @ W.T, rtol=rounding, atol=rounding)
    assert np.array_equal(found, np.concatenate([row_products(X[i : i + 1], W) for i in range(50)]))


@pytest.mark.parametrize("form", ["fortran", "read-only", "strided"])
def test_layouts(form):
    X = np.random.default_rng(1).normal(size=(20, 6))
    given = {
        "fortran": np.asfortranarray(X),
        "read-only": X.copy(),
        "strided": np.repeat(X, 2, axis=1)[:, ::2],
    }[form]
    given.flags.writeable = form != "read-only"
    assert np.array_equal(row_products(given, X[:2]), row_products(X, X[:2]))


def test_no_rows():
    assert row_products(np.empty((0, 3)), np.ones((2, 3))).shape == (0, 2)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_scores_beyond_floating_point_numbers(kind):
    """The right number where there is one, else one that compares as the right one would; or an error."""
    X = np.array([[1.0, 1.0], [1.5e308, 1.5e308], [1e308, -1e308], [-1e308, 1e308]])
    W, b = np.array([[4.0, -4.0], [1.0, 0.0]]), np.array([1.0, 2.0])
    scores = row_scores(kind(X), W, b)
    most = np.finfo(float).max / 4
    np.testing.assert_allclose(scores[:, 0], [1.0, 1.0, most, -most], rtol=1e-15)
    np.testing.assert_allclose(scores[:, 1], [3.0, 1.5e308, most / 8, -most / 8], rtol=1e-15)
    np.testing.assert_allclose(row_scores(kind(X), W[0], 1.0), scores[:, 0], rtol=1e-15)
    np.testing.assert_array_equal(row_scores(kind(X[:1]), W, b, refuse="Model"), scores[:1])
    with pytest.raises(ValueError, match="Model: the result for row 2 of X is beyond floating-point numbers"):
        row_scores(kind(X), W, b, refuse="Model")
