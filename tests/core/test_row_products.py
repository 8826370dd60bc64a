"""Products of rows with weights: the right numbers, and the same for a row in every batch."""

import numpy as np
import pytest
from scipy import sparse

from tercet.core.row_products import row_products


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
