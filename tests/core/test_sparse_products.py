"""Products of a sparse matrix with tables of a few columns."""

import numpy as np
import pytest
from scipy import sparse

from tercet.core.parallel import Chunks
from tercet.core.rows import transposed_times
from tercet.core.sparse_products import Transposed, times


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("width", [1, 2, 7, 8, 9, 15, 16, 17, 20, 24, 25, 31, 33, 48, 49, 70])
def test_times_is_the_product(width, dtype):
    rng = np.random.default_rng(width)
    X = sparse.random_array((30, 12), density=0.3, format="csr", rng=rng, dtype=dtype)
    W, R = rng.normal(size=(12, width)).astype(dtype), rng.normal(size=(30, width)).astype(dtype)
    found = times(X, W)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, X.toarray() @ W, rtol=1e-5, atol=1e-5 if dtype == np.float32 else 1e-12)
    out = np.empty((12, width), dtype)
    Transposed(X, width).times(R, out)
    np.testing.assert_allclose(out, X.toarray().T @ R, rtol=1e-5, atol=1e-5 if dtype == np.float32 else 1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_transposed_product_of_a_chunk_copies_no_entries(dtype, monkeypatch):
    X = sparse.random_array((600, 7), density=0.3, rng=np.random.default_rng(0), format="csr", dtype=dtype)
    chunk, r = Chunks(X, rows=100)[2][0], np.arange(100.0, dtype=dtype)
    expected = X.toarray()[200:300].T @ r
    monkeypatch.setattr(sparse.csr_array, "transpose", None)  # which would copy them
    found = transposed_times(chunk, r)
    np.testing.assert_allclose(found, expected, rtol=1e-5 if dtype == np.float32 else 1e-13)
    assert found.dtype == dtype
