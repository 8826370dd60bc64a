"""The kernel Fisher discriminant: Fisher's own with a linear kernel, and the eigenproblem that defines it."""

import warnings

import numpy as np
import pytest
from scipy import linalg

from tercet.discriminant_analysis import LinearDiscriminantAnalysis
from tercet.kernel_machines import KernelFisherDiscriminant, kernel_mse, scatter_in_kernel
from tercet.kernels import Gaussian, Subsequence

RNG = np.random.default_rng(4)
X = np.vstack([RNG.normal(size=(n, 3)) + shift for n, shift in [(14, 0), (9, [2, 1, 0]), (12, [0, 2, 2])]])
Y = np.repeat([0, 1, 2], [14, 9, 12])
W = RNG.integers(1, 4, 35).astype(float)
KERNEL = Gaussian(gamma=0.3)


def test_means_and_scatter():
    """N = Σ_j K_j (I - 1/l_j) K_jᵀ (5-83) is K Kᵀ - Σ_c m_c M_c M_cᵀ (4.52)."""
    K = KERNEL(X)
    means, N = scatter_in_kernel(K, Y)
    printed = np.zeros_like(K)
    for c in range(3):
        Kc = K[:, c == Y]
        printed += Kc @ (np.eye(Kc.shape[1]) - 1 / Kc.shape[1]) @ Kc.T
        np.testing.assert_allclose(means[c], Kc.mean(axis=1))
    np.testing.assert_allclose(N, printed, atol=1e-10)
    assert np.linalg.matrix_rank(N, tol=1e-8) <= 35 - 3, "N has no inverse"


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("solver", ["linear", "eigen"])
def test_linear_kernel_is_fishers_discriminant(k, solver):
    rows = k > Y
    fisher = LinearDiscriminantAnalysis(solver="fisher").fit(X[rows], Y[rows])
    model = KernelFisherDiscriminant(1e-9, kernel="linear", solver=solver).fit(X[rows], Y[rows])
    W = X[rows].T @ model.alphas_
    np.testing.assert_allclose(
        linalg.subspace_angles(W, fisher.scalings_), 0, atol=1e-6
    )  # the directions span the same
    grid = RNG.normal(size=(50, 3)) * 2
    assert (model.predict(grid) == fisher.predict(grid)).all()
    if k == 2:
        w = W[:, 0] / np.linalg.norm(W)
        np.testing.assert_allclose(w, fisher.coef_[0] / np.linalg.norm(fisher.coef_), atol=1e-7)


@pytest.mark.parametrize("k", [2, 3])
def test_both_solvers_give_one_rule(k):
    rows = k > Y
    one, other = (
        KernelFisherDiscriminant(0.1, kernel=KERNEL, solver=s).fit(X[rows], Y[rows])
        for s in ("linear", "eigen")
    )
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(linalg.subspace_angles(one.alphas_, other.alphas_), 0, atol=1e-6)


@pytest.mark.parametrize("weight", [None, W], ids=["plain", "weighted"])
def test_eigenvectors(weight):
    model = KernelFisherDiscriminant(0.1, kernel=KERNEL).fit(X, Y, weight)
    rows = np.arange(35) if weight is None else np.repeat(np.arange(35), weight.astype(int))
    K = KERNEL(X[rows])
    means, N = scatter_in_kernel(K, Y[rows])
    mass = np.bincount(Y[rows])
    apart = means - K.mean(axis=1)
    values, V = linalg.eigh((apart.T * mass) @ apart, N + 0.1 * np.eye(len(rows)))
    np.testing.assert_allclose(model.eigenvalues_, values[::-1][:2], rtol=1e-7)
    projected = K @ V[:, ::-1][:, :2]  # of scale Vᵀ(N + mu I)V = 1, signs aside
    np.testing.assert_allclose(np.abs(model.transform(X[rows])), np.abs(projected), rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(model.means_[2] > (mass @ model.means_) / mass.sum(), True)


def test_the_rule_is_the_nearest_projected_mean():
    for rows in (Y < 2, Y < 3):
        model = KernelFisherDiscriminant(0.1, kernel=KERNEL).fit(X[rows], Y[rows])
        Z = model.transform(X)
        distances = ((Z[:, None] - model.means_) ** 2).sum(axis=2)
        assert (model.predict(X) == distances.argmin(axis=1)).all()
    two = KernelFisherDiscriminant(0.1, kernel=KERNEL, solver="linear").fit(X[Y < 2], Y[Y < 2])
    midpoint = two.means_.mean()
    np.testing.assert_allclose(two.decision_function(X), two.transform(X)[:, 0] - midpoint, atol=1e-9)
    assert two.means_[1] > two.means_[0]


def test_fewer_directions():
    whole = KernelFisherDiscriminant(0.1, kernel=KERNEL).fit(X, Y)
    one = KernelFisherDiscriminant(0.1, kernel=KERNEL, n_components=1).fit(X, Y)
    np.testing.assert_allclose(one.transform(X), whole.transform(X)[:, :1])
    assert one.get_feature_names_out().tolist() == ["kernelfisherdiscriminant0"]
    with pytest.raises(ValueError, match="n_components must be at most n_classes - 1 = 2"):
        KernelFisherDiscriminant(n_components=3).fit(X, Y)


def test_means_on_a_line_have_one_direction():
    x = np.r_[np.zeros(4), np.ones(4), np.full(4, 2.0)][:, None] + 0.1 * RNG.normal(size=(12, 1))
    model = KernelFisherDiscriminant(1e-6, kernel="linear").fit(x - x.mean(), np.repeat([0, 1, 2], 4))
    assert np.isfinite(model.decision_function(x)).all()
    assert model.score(x - x.mean(), np.repeat([0, 1, 2], 4)) == 1


def test_kernel_mse_has_its_direction():
    rows = Y < 2
    model = KernelFisherDiscriminant(0.1, kernel=KERNEL, solver="linear").fit(X[rows], Y[rows])
    for targets in ([-1.0, 1.0], [3.0, 7.0]):
        a, _ = kernel_mse(KERNEL(X[rows]), np.array(targets)[Y[rows]], 0.1, penalty="coefficients")
        alpha = model.alphas_[:, 0]
        np.testing.assert_allclose(a / np.linalg.norm(a), alpha / np.linalg.norm(alpha), rtol=1e-6, atol=1e-9)


def test_weights():
    heavy = KernelFisherDiscriminant(kernel=KERNEL).fit(X, Y, W)
    repeated = np.repeat(np.arange(35), W.astype(int))
    other = KernelFisherDiscriminant(kernel=KERNEL).fit(X[repeated], Y[repeated])
    np.testing.assert_allclose(heavy.decision_function(X), other.decision_function(X), rtol=1e-6)
    with pytest.raises(ValueError, match=r"all rows of the classes \[2\] have the weight 0"):
        KernelFisherDiscriminant().fit(X, Y, np.where(Y < 2, 1.0, 0.0))


def test_strings_constants_and_one_class():
    words, y = ["cat", "cart", "car", "dog", "dig", "dot"], ["c", "c", "c", "d", "d", "d"]
    model = KernelFisherDiscriminant(0.1, kernel=Subsequence(2, 0.5)).fit(words, y)
    assert model.predict(["carp", "dogs"]).tolist() == ["c", "d"]
    assert model.transform(words).shape == (6, 1)
    flat = KernelFisherDiscriminant().fit(np.ones((6, 2)), [0, 0, 0, 1, 1, 1])
    np.testing.assert_allclose(flat.decision_function([[1.0, 1.0]]), 0, atol=1e-9)
    with pytest.raises(ValueError, match="only one class"):
        KernelFisherDiscriminant().fit(X, np.zeros(35))


def test_rings():
    """What no line separates: a class around another one."""
    angle = RNG.random(60) * 2 * np.pi
    radius = np.repeat([0.5, 2.0], 30) + 0.1 * RNG.normal(size=60)
    rings = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    y = np.repeat([0, 1], 30)
    assert KernelFisherDiscriminant().fit(rings, y).score(rings, y) == 1
    assert LinearDiscriminantAnalysis(solver="fisher").fit(rings, y).score(rings, y) < 0.8


@pytest.mark.parametrize("scale", [1e-100, 1e100, 1e150])
def test_huge_and_tiny_scales(scale):
    rows = Y < 2
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", linalg.LinAlgWarning)  # mu is nothing beside squares of 1e200
        model = KernelFisherDiscriminant(1e-9, kernel="linear").fit(X[rows] * scale, Y[rows])
        heavy = KernelFisherDiscriminant(kernel=KERNEL).fit(X, Y, np.full(35, 1e95))
    assert np.isfinite(heavy.decision_function(X)).all()
    assert np.isfinite(model.decision_function(X * scale)).all()
    if scale > 1:
        expected = KernelFisherDiscriminant(1e-9, kernel="linear").fit(X[rows], Y[rows])
        np.testing.assert_allclose(
            model.decision_function(X * scale), expected.decision_function(X), rtol=1e-4, atol=1e-4
        )


def test_what_another_solver_found_is_forgotten():
    model = KernelFisherDiscriminant(kernel=KERNEL).fit(X, Y)
    assert not hasattr(model.set_params(solver="linear").fit(X, Y), "eigenvalues_")


def test_scatter_refuses():
    with pytest.raises(ValueError, match=r"K must be square.* got \(3, 3\) and \(2,\)"):
        scatter_in_kernel(np.eye(3), [0, 1])
    with pytest.raises(ValueError, match="K contains NaN"):
        scatter_in_kernel(np.full((2, 2), np.nan), [0, 1])
