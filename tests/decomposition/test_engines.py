"""Engines of the matrix methods against plain computations."""

import numpy as np
import pytest
from scipy import sparse

from tercet.decomposition._engine import centred_rows
from tercet.decomposition._engine import moments as engine
from tercet.decomposition._engine.centred_rows import CentredRows
from tercet.decomposition._engine.moments import moments, total_variance
from tercet.decomposition._engine.signs import fix_signs

RNG = np.random.default_rng(0)
TABLE = RNG.normal(size=(150, 5)) * (RNG.random((150, 5)) < 0.4)
FORMS = {"dense": np.asarray, "sparse": sparse.csr_array}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("scatter", [False, True])
@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_moments_in_chunks(form, weighted, scatter, shift, monkeypatch):
    monkeypatch.setattr(engine, "SCATTER_VALUES", 320)  # several chunks of 64 rows
    X = TABLE + shift if form == "dense" else TABLE
    weight = RNG.integers(0, 3, 150).astype(float) if weighted else None
    mass = np.ones(150) if weight is None else weight
    found = moments(FORMS[form](X), weight, scatter=scatter, n_jobs=2)
    mean = mass @ X / mass.sum()
    S = ((X - mean).T * mass) @ (X - mean)
    assert found.mass == mass.sum()
    np.testing.assert_allclose(found.mean, mean, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.squares, np.diag(S), rtol=1e-8)
    if scatter:
        np.testing.assert_allclose(found.scatter, S, rtol=1e-8, atol=1e-8)
    assert total_variance(FORMS[form](X)) == pytest.approx(X.var(axis=0).sum(), rel=1e-8)


@pytest.mark.parametrize("form", FORMS)
def test_products_with_centred_rows(form, monkeypatch):
    monkeypatch.setattr(centred_rows, "CHUNK_VALUES", 320)
    mean, scale, root = TABLE.mean(axis=0), TABLE.std(axis=0), np.sqrt(RNG.random(150))
    for given in ((None, None, None), (mean, None, None), (mean, scale, root)):
        whole = TABLE - (0 if given[0] is None else mean)
        whole = whole / (1 if given[1] is None else scale)
        whole = whole if given[2] is None else whole * root[:, None]
        rows = CentredRows(FORMS[form](TABLE), *given, n_jobs=2)
        for p in (3, 1, 7):  # widths one after the other
            B, C = RNG.normal(size=(5, p)), RNG.normal(size=(150, p))
            np.testing.assert_allclose(rows.times(B), whole @ B, atol=1e-12)
            np.testing.assert_allclose(rows.transposed_times(C), whole.T @ C, atol=1e-11)
        np.testing.assert_allclose(rows.operator() @ np.ones(5), whole.sum(axis=1), atol=1e-12)


def test_signs_are_decided_by_the_first_of_the_largest_entries():
    U, Vt = RNG.normal(size=(4, 3)), RNG.normal(size=(3, 6))
    Vt[1, 2], Vt[1, 4] = -9.0, 9.0 * (1 + 1e-12)  # rounding alone would choose the second
    turned, fixed = fix_signs(U, Vt)
    np.testing.assert_allclose(turned @ fixed, U @ Vt)
    assert fixed[1, 2] > 0
    largest = np.abs(fixed).argmax(axis=1)
    assert (fixed[[0, 2], largest[[0, 2]]] > 0).all()
    assert fix_signs(None, -Vt)[1] == pytest.approx(fixed)
    assert fix_signs(None, np.empty((0, 3)))[1].shape == (0, 3)
