"""Singular value decomposition, low rank, subspaces: the theorems of Li ch. 15 and appendix D."""

import numpy as np
import pytest
from scipy import sparse

from tercet.decomposition import (
    are_orthogonal,
    condition_number,
    eigen_steps,
    frobenius_norm,
    fundamental_subspaces,
    geometric_stages,
    in_span,
    is_independent,
    low_rank_approximation,
    null_space,
    orthogonal_complement,
    outer_product_expansion,
    projector,
    pseudo_inverse,
    randomized_svd,
    rank,
    svd,
)


def drawn(m, n, r=None, seed=0):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(m, n))
    return A if r is None else rng.normal(size=(m, r)) @ rng.normal(size=(r, n))


@pytest.mark.parametrize("algorithm", ["lapack", "eig"])
@pytest.mark.parametrize(
    "A",
    [drawn(6, 4), drawn(4, 6), drawn(5, 5, 2), np.zeros((3, 2)), np.ones((1, 4)), np.ones((4, 1)), np.eye(3)],
    ids=["tall", "wide", "rank 2", "zero", "one row", "one column", "equal values"],
)
def test_full_factors(A, algorithm):
    U, s, Vt = svd(A, algorithm=algorithm)
    m, n = A.shape
    near = {"atol": 1e-12 if algorithm == "lapack" else 1e-6}
    np.testing.assert_allclose(U.T @ U, np.eye(m), **near)  # P15-1
    np.testing.assert_allclose(Vt @ Vt.T, np.eye(n), **near)
    assert (s >= 0).all()
    assert (np.diff(s) <= 1e-12).all()
    p = min(m, n)
    np.testing.assert_allclose((U[:, :p] * s) @ Vt[:p], A, **near)
    np.testing.assert_allclose(A @ Vt[:p].T, U[:, :p] * s, **near)  # P15-3
    np.testing.assert_allclose(A.T @ U[:, p:], 0, **near)
    np.testing.assert_allclose(np.sort(np.linalg.eigvalsh(A.T @ A))[::-1][:p], s**2, atol=1e-7)  # P15-2
    assert (s > 1e-7).sum() == np.linalg.matrix_rank(A)  # P15-5


def test_complex_factors_and_signs():
    A = drawn(4, 3) + 1j * drawn(4, 3, seed=1)
    U, s, Vt = svd(A)
    np.testing.assert_allclose((U[:, :3] * s) @ Vt, A, atol=1e-12)
    top = Vt[np.arange(3), np.abs(Vt).argmax(axis=1)]
    np.testing.assert_allclose(top.imag, 0, atol=1e-12)
    assert (top.real > 0).all()
    np.testing.assert_array_equal(svd(-drawn(4, 3))[2], svd(drawn(4, 3))[2])


def test_the_eigen_route_loses_half_of_the_digits():
    A = np.diag([1.0, 1e-10])
    assert svd(A)[1][1] == pytest.approx(1e-10, rel=1e-6)
    assert svd(A, algorithm="eig")[1][1] == 0
    assert rank(A) == 2
    steps = eigen_steps(A)
    assert steps["U1"].shape == (2, 1)
    np.testing.assert_allclose(steps["U"] @ steps["Sigma"] @ steps["V"].T, A, atol=1e-9)


@pytest.mark.parametrize("algorithm", ["lanczos", "randomized"])
@pytest.mark.parametrize("form", ["dense", "sparse", "wide"])
def test_few_triplets_of_a_large_matrix(algorithm, form):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(200, 180)) * (rng.random((200, 180)) < 0.1)
    A[5] = 0  # a row without entries
    A += np.outer(rng.normal(size=200), np.eye(180)[0]) * 3
    A = A.T if form == "wide" else A
    U, s, Vt = svd(
        sparse.csr_array(A) if form == "sparse" else A, "truncated", k=4, algorithm=algorithm, random_state=0
    )
    exact = svd(A)[1][:4]
    np.testing.assert_allclose(s, exact, rtol=1e-10 if algorithm == "lanczos" else 0.05)
    np.testing.assert_allclose(U.T @ U, np.eye(4), atol=1e-10)
    np.testing.assert_allclose(Vt @ Vt.T, np.eye(4), atol=1e-10)
    if algorithm == "lanczos":
        np.testing.assert_allclose(Vt, svd(A)[2][:4], atol=1e-6)


@pytest.mark.parametrize(
    ("values", "k"),
    [
        (np.ones(200), 40),
        (np.r_[5.0, 5.0, 5.0, np.zeros(197)], 6),
        (np.r_[np.full(30, 2.0), np.ones(170)], 30),
    ],
    ids=["all equal", "rank 3", "multiple"],
)
def test_lanczos_with_repeated_values(values, k):
    """More equal values than a block has columns; and a Krylov space that is exhausted."""
    A = np.diag(values)
    U, s, Vt = svd(A, "truncated", k=k, algorithm="lanczos", random_state=0)
    np.testing.assert_allclose(s, values[:k], atol=1e-10)
    np.testing.assert_allclose(U.T @ U, np.eye(k), atol=1e-9)
    np.testing.assert_allclose(Vt @ Vt.T, np.eye(k), atol=1e-9)


def test_best_approximation():
    A = drawn(6, 5)
    s = svd(A)[1]
    for k in (1, 3):
        near, error = low_rank_approximation(A, k)
        assert rank(near, 1e-10) == k
        assert error == pytest.approx(np.linalg.norm(A - near))
        assert error == pytest.approx(np.sqrt((s[k:] ** 2).sum()))
        for seed in range(20):  # P15-7
            other = drawn(6, 5, k, seed)
            best = (A * other).sum() / (other**2).sum() * other
            assert np.linalg.norm(A - best) >= error
        np.testing.assert_allclose(outer_product_expansion(A)[:k].sum(axis=0), near, atol=1e-12)
    assert low_rank_approximation(A, 5)[1] == pytest.approx(0, abs=1e-12)


def test_norms_and_inverses():
    A = drawn(6, 4)
    Q, P = np.linalg.qr(drawn(6, 6))[0], np.linalg.qr(drawn(4, 4))[0]
    for B in (A, Q @ A, A @ P.T, sparse.csr_array(A)):  # P15-6
        assert frobenius_norm(B) == pytest.approx(np.sqrt((svd(A)[1] ** 2).sum()))
    np.testing.assert_allclose(pseudo_inverse(A), np.linalg.pinv(A), atol=1e-12)
    np.testing.assert_allclose(
        pseudo_inverse(drawn(4, 4, 2)), np.linalg.pinv(drawn(4, 4, 2), rcond=1e-12), atol=1e-10
    )
    assert condition_number(A) == pytest.approx(np.linalg.cond(A))
    np.testing.assert_array_equal(pseudo_inverse(np.zeros((2, 3))), np.zeros((3, 2)))
    rotated, scaled, image = geometric_stages(A, np.ones(4))
    np.testing.assert_allclose(image, A @ np.ones(4))
    assert np.linalg.norm(rotated) == pytest.approx(2.0)
    assert np.linalg.norm(scaled) == pytest.approx(np.linalg.norm(image))


@pytest.mark.parametrize("kind", [float, complex])
def test_subspaces(kind):
    A = drawn(5, 4, 2) + (1j * drawn(5, 2, seed=7) @ drawn(2, 4, seed=8) * 0 if kind is complex else 0)
    if kind is complex:
        A = (drawn(5, 2) + 1j * drawn(5, 2, seed=3)) @ drawn(2, 4)
    bases = fundamental_subspaces(A)
    assert [basis.shape for basis in bases.values()] == [(5, 2), (5, 3), (4, 2), (4, 2)]
    np.testing.assert_allclose(A @ bases["null_space"], 0, atol=1e-12)
    np.testing.assert_allclose(A.conj().T @ bases["left_null_space"], 0, atol=1e-12)
    for one, other in (("column_space", "left_null_space"), ("row_space", "null_space")):
        assert are_orthogonal(bases[one], bases[other])
        total = projector(bases[one]) + projector(bases[other])
        np.testing.assert_allclose(total, np.eye(len(total)), atol=1e-12)
    P = projector(A)
    np.testing.assert_allclose(P @ P, P, atol=1e-12)
    np.testing.assert_allclose(P @ A, A, atol=1e-12)
    assert in_span(A @ np.arange(4), A)
    assert not in_span(bases["left_null_space"][:, 0], A)
    assert not is_independent(A)
    assert orthogonal_complement(A).shape == (5, 3)
    assert null_space(np.eye(3)).shape == (3, 0)
    assert fundamental_subspaces(np.zeros((2, 3)))["column_space"].shape == (2, 0)


@pytest.mark.parametrize("A", [np.eye(3), np.zeros((3, 3)), 1j * np.eye(3)], ids=["whole", "zero", "complex"])
def test_a_subspace_of_dimension_zero_is_one(A):
    bases = fundamental_subspaces(A)
    for one, other in (("column_space", "left_null_space"), ("row_space", "null_space")):
        assert are_orthogonal(bases[one], bases[other])
        np.testing.assert_allclose(projector(bases[one]) + projector(bases[other]), np.eye(3), atol=1e-12)
        assert orthogonal_complement(bases[one]).shape == bases[other].shape  # D.2
    nothing = np.empty((3, 0))
    assert rank(nothing) == 0
    assert is_independent(nothing)
    assert in_span(np.zeros(3), nothing)
    assert not in_span(np.ones(3), nothing)
    assert {name: basis.shape for name, basis in fundamental_subspaces(nothing).items()} == {
        "column_space": (3, 0),
        "left_null_space": (3, 3),
        "row_space": (0, 0),
        "null_space": (0, 0),
    }


@pytest.mark.parametrize("size", [1e-310, 1e-160, 1e160, 3e307])
def test_numbers_near_the_limits(size):
    A = drawn(4, 3)
    A = A / np.abs(A).max()
    for algorithm in ("lapack", "eig"):
        np.testing.assert_allclose(
            svd(A * size, algorithm=algorithm)[1], svd(A)[1] * size, rtol=1e-3 if size < 1e-300 else 1e-7
        )
    assert frobenius_norm(A * size) == pytest.approx(
        frobenius_norm(A) * size, rel=1e-3 if size < 1e-300 else 1e-9
    )
    assert rank(A * size) == 3
    s = randomized_svd(A * size, 2, random_state=0)[1]
    np.testing.assert_allclose(s, svd(A)[1][:2] * size, rtol=1e-3 if size < 1e-300 else 1e-7)


def test_what_is_refused():
    A = drawn(4, 3)
    refused = [
        (lambda: svd(A, "thin"), "kind must be one of 'full', 'compact', 'truncated'; got 'thin'"),
        (lambda: svd(A, algorithm="qr"), "algorithm must be one of"),
        (lambda: svd(A, "truncated"), "k must be an integer from 1 to min.*=3; got None"),
        (lambda: svd(A, "truncated", k=4), "got 4"),
        (lambda: svd(A, k=2), "k=2 is for kind='truncated'"),
        (lambda: svd(A, tol=2.0), "tol must be a number from 0 to 1"),
        (lambda: svd(A, algorithm="lanczos"), "needs kind='truncated' and k"),
        (lambda: svd([[np.nan, 1.0]]), "A holds NaN or infinity"),
        (lambda: svd([1.0, 2.0]), "A must be a matrix"),
        (lambda: svd([[1.0], [1.0, 2.0]]), "A must be a matrix"),
        (lambda: svd(np.full((2, 2), 1.7e308)), "beyond floating-point numbers"),
        (lambda: low_rank_approximation(A, 0), "k must be an integer from 1 to"),
        (lambda: in_span([1.0], A), "vector must have 4 entries"),
        (lambda: geometric_stages(A, [1.0]), "x must have 3 rows"),
        (lambda: randomized_svd(A, 0), "n_components must be an integer of at least 1; got 0"),
    ]
    for call, words in refused:
        with pytest.raises(ValueError, match=words):
            call()
    with pytest.raises(TypeError, match="A is sparse"):
        svd(sparse.csr_array(A))
    with pytest.raises(TypeError, match="A must hold numbers"):
        svd([["a"]])
