"""Systems of equations: every way to solve them gives the solution."""

import warnings

import numpy as np
import pytest
from scipy import linalg, sparse

from tercet.kernel_machines._engine import cholesky, training_gram
from tercet.kernel_machines._engine.cholesky import (
    CholeskyFactor,
    blocked_cholesky,
    blocked_gram,
    blocked_product,
)
from tercet.kernel_machines._engine.low_rank import woodbury_inverse
from tercet.kernel_machines._engine.training_gram import TrainingGram
from tercet.kernels import FromFunction, Gaussian, Laplacian, Linear
from tercet.optimize import conjugate_gradient_iterates

RNG = np.random.default_rng(0)


def positive(n, seed=0):
    A = np.random.default_rng(seed).normal(size=(n, n))
    return A @ A.T + 0.1 * np.eye(n)


@pytest.mark.parametrize("panel", [1, 7, 16, 40, 64])
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_cholesky_by_panels(panel, n_jobs, monkeypatch):
    monkeypatch.setattr(cholesky, "PANEL", panel)
    B = positive(40)
    C = blocked_cholesky(B.copy(), n_jobs)
    np.testing.assert_allclose(np.tril(C), np.linalg.cholesky(B), rtol=1e-10, atol=1e-12)
    assert np.array_equal(np.triu(C, 1), np.triu(B, 1)), "the upper half is there for when there is no factor"


def test_bordered_system():
    B, E, r = positive(12), RNG.normal(size=(12, 2)), RNG.normal(size=(12, 3))
    u, b = CholeskyFactor(B.copy()).solve_saddle_point(E, r)
    whole = np.block([[B, E], [E.T, np.zeros((2, 2))]])
    expected = np.linalg.solve(whole, np.vstack([r, np.zeros((2, 3))]))
    np.testing.assert_allclose(np.vstack([u, b]), expected, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(
        CholeskyFactor(B.copy()).inverse_diagonal(), np.linalg.inv(B).diagonal(), rtol=1e-9
    )


@pytest.mark.parametrize("kind", ["singular", "indefinite"])
@pytest.mark.parametrize("panel", [5, 64])
def test_pseudo_inverse_where_there_is_no_factor(kind, panel, monkeypatch):
    monkeypatch.setattr(cholesky, "PANEL", panel)
    A = np.random.default_rng(3).normal(size=(20, 8))
    B = A @ A.T if kind == "singular" else A @ np.diag([1, 1, -1, 1, 1, -1, 1, 1]) @ A.T
    with pytest.warns(linalg.LinAlgWarning, match="larger penalty"):
        factor = CholeskyFactor(B.copy())
    r = A @ np.ones((8, 1))
    np.testing.assert_allclose(factor.solve(r), np.linalg.pinv(B) @ r, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(factor.inverse_diagonal(), np.linalg.pinv(B).diagonal(), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("offsets", [0, 1, 2])
@pytest.mark.parametrize("rank", [0, 4, 30])
def test_conjugate_gradients(offsets, rank):
    B, r = positive(30), RNG.normal(size=(30, 3))
    E = RNG.normal(size=(30, offsets)) if offsets else None
    expected = CholeskyFactor(B.copy()).solve_saddle_point(E, r)
    values, V = np.linalg.eigh(B - 0.05 * np.eye(30))
    G = (V * np.sqrt(values))[:, 30 - rank :]
    near = woodbury_inverse(G, np.array([0.05]))
    options = {"preconditioner": near, "constraints": E}
    for found in conjugate_gradient_iterates(lambda v: B @ v, r, **options):
        if E is not None:
            np.testing.assert_allclose(E.T @ found.x, 0, atol=1e-9)
        if found.residual < 1e-12 or found.n_iter == 500:
            break
    np.testing.assert_allclose(found.x, expected[0], rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(found.multipliers, expected[1], rtol=1e-6, atol=1e-8)


def test_a_penalty_for_each_column():
    G, v, mu = RNG.normal(size=(9, 3)), RNG.normal(size=(9, 2)), np.array([0.5, 2.0])
    expected = [np.linalg.solve(G @ G.T + mu[c] * np.eye(9), v[:, c]) for c in range(2)]
    np.testing.assert_allclose(woodbury_inverse(G, mu)(v), np.transpose(expected), rtol=1e-10)


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(gamma=0.3),
        Laplacian(gamma=0.2),
        Linear() + Gaussian(gamma=1.0),
        FromFunction(lambda X, Z: X @ Z.T),
    ],
    ids=["gaussian", "laplacian", "sum", "function"],
)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_products_without_the_matrix(kernel, form, monkeypatch):
    if form is sparse.csr_array and isinstance(kernel, FromFunction):
        kernel = FromFunction(lambda X, Z: (X @ Z.T).toarray())
    monkeypatch.setattr(training_gram, "TILE", 16)
    X, V, some = form(RNG.normal(size=(70, 3)).round(1)), RNG.normal(size=(70, 2)), np.array([3, 3, 66])
    whole, parts = TrainingGram(kernel, X, in_memory=True), TrainingGram(kernel, X, in_memory=False)
    assert parts.K is None
    np.testing.assert_allclose(parts.times(V), whole.times(V), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(parts.submatrix(some), whole.submatrix(some), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(
        parts.columns_times(some, V[:3]), whole.columns_times(some, V[:3]), rtol=1e-10, atol=1e-10
    )
    assert np.array_equal(parts.times(V), TrainingGram(kernel, X, in_memory=False, n_jobs=3).times(V))
    L = parts.pivoted_cholesky(70)
    np.testing.assert_allclose(L @ L.T, whole.K, atol=1e-6 * np.abs(whole.K).max())


def test_low_rank_takes_the_worst_row_first():
    X = np.array([[1.0], [3.0], [-2.0]])
    L = TrainingGram(Linear(), X, in_memory=True).pivoted_cholesky(2)
    np.testing.assert_allclose(L, X)  # of rank 1, so one column is enough


def test_no_room_for_the_matrix(monkeypatch):
    monkeypatch.setattr(training_gram, "IN_MEMORY", 10)
    monkeypatch.setenv("TERCET_MEMORY", "1000")
    with pytest.raises(MemoryError, match="Gram matrix of 20 rows"):
        TrainingGram(Linear(), np.ones((20, 2)), in_memory=True)
    assert TrainingGram(Linear(), np.ones((20, 2)), in_memory=False).times(np.ones(20))[0] == 40


def test_product():
    A, B = RNG.normal(size=(1030, 7)), RNG.normal(size=(7, 5))
    assert np.array_equal(blocked_product(A, B, 1), blocked_product(A, B, 2))
    np.testing.assert_allclose(blocked_product(A, B), A @ B, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_products_with_themselves(n_jobs, monkeypatch):
    monkeypatch.setattr(cholesky, "PANEL", 7)
    A = RNG.normal(size=(40, 5))
    found = blocked_gram(A, n_jobs)
    np.testing.assert_allclose(found, A @ A.T, rtol=1e-12, atol=1e-12)
    assert np.array_equal(found, found.T)
    inverse = CholeskyFactor(found + np.eye(40), n_jobs).inverse_diagonal()
    np.testing.assert_allclose(inverse, np.linalg.inv(A @ A.T + np.eye(40)).diagonal(), rtol=1e-9)


def test_rows_of_any_size_have_a_factor():
    B, size = positive(9), 10.0 ** np.arange(-120, 150, 30)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        factor = CholeskyFactor(B * size * size[:, None])
    np.testing.assert_allclose(factor.solve(size) * size, np.linalg.solve(B, np.ones(9)), rtol=1e-9)
    np.testing.assert_allclose(factor.inverse_diagonal() * size**2, np.linalg.inv(B).diagonal(), rtol=1e-9)
