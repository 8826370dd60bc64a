"""Functions of a reproducing kernel Hilbert space, and what Gram matrices tell."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from sklearn.preprocessing import KernelCenterer

from tercet.kernels import (
    Gaussian,
    Linear,
    Polynomial,
    Precomputed,
    RKHSFunction,
    Sigmoid,
    Subsequence,
    center,
    is_psd,
)

numbers = st.floats(-3, 3).map(lambda x: round(x, 3))
kernels = st.sampled_from([Linear(), Polynomial(2), Gaussian(sigma=1.0)])


@st.composite
def functions(draw):
    kernel = draw(kernels)
    pair = []
    for _ in range(2):
        n = draw(st.integers(1, 4))
        coef, points = draw(arrays(float, n, elements=numbers)), draw(arrays(float, (n, 2), elements=numbers))
        pair.append(RKHSFunction(coef, points, kernel))
    return *pair, draw(arrays(float, 2, elements=numbers)), draw(arrays(float, 2, elements=numbers))


@settings(max_examples=60, deadline=None)
@given(functions(), numbers)
def test_the_space_is_what_the_theorems_say(both, c):
    f, g, x, z = both
    kernel, near = f.kernel, {"rel": 1e-8, "abs": 1e-8}
    at_x, at_z = RKHSFunction.at(x, kernel), RKHSFunction.at(z, kernel)
    # the kernel reproduces values, and itself
    assert at_x.inner(f) == pytest.approx(f([x]).item(), **near)
    assert at_x.inner(at_z) == pytest.approx(kernel([x], [z]).item(), **near)
    # a symmetric bilinear form, bounded by norms
    assert f.inner(g) == pytest.approx(g.inner(f), **near)
    assert (c * f + g).inner(at_x) == pytest.approx(c * f([x]).item() + g([x]).item(), **near)
    assert (f - g)([x]).item() == pytest.approx(f([x]).item() - g([x]).item(), **near)
    assert f.inner(g) ** 2 <= f.inner(f) * g.inner(g) * (1 + 1e-9) + 1e-6
    assert f([x]).item() ** 2 <= kernel.diag([x]).item() * f.norm() ** 2 * (1 + 1e-9) + 1e-6
    assert (f + g).norm() <= f.norm() + g.norm() + 1e-6
    assert (f - f).norm() <= 1e-5


def test_distance_of_mapped_points():
    kernel, x, z = Polynomial(3), [1.0, 2.0], [0.5, -1.0]
    apart = (RKHSFunction.at(x, kernel) - RKHSFunction.at(z, kernel)).norm() ** 2
    K = kernel([x, z])
    assert apart == pytest.approx(K[0, 0] + K[1, 1] - 2 * K[0, 1])


def test_functions_of_strings_and_of_sparse_points():
    kernel = Subsequence(2, 0.5)
    f = RKHSFunction([1.0, -1.0], ["cat", "car"], kernel)
    assert f(["cat"]).item() == pytest.approx(kernel(["cat"], ["cat"]).item() - 0.5**4)
    points = np.array([[1.0, 0.0], [0.0, 2.0]])
    dense, compressed = (RKHSFunction([1.0, 2.0], P, Linear()) for P in (points, sparse.csr_array(points)))
    assert (dense + compressed).norm() == pytest.approx(2 * dense.norm())


def test_wrong_functions_are_named():
    with pytest.raises(ValueError, match="2 finite numbers, one for each point"):
        RKHSFunction([1.0], [[1.0], [2.0]], Linear())
    with pytest.raises(ValueError, match="must be a kernel of points"):
        RKHSFunction([1.0], [[1.0]], Precomputed())
    f, g = RKHSFunction.at([1.0], Linear()), RKHSFunction.at([1.0], Gaussian(sigma=1.0))
    with pytest.raises(ValueError, match="different spaces"):
        f + g
    with pytest.raises(ValueError, match="columns"):
        f([[1.0, 2.0]])
    with pytest.raises(TypeError):
        f + 1


def test_what_is_not_positive_semidefinite_is_refuted():
    X = [[0, 0], [1, 0], [0, 2]]
    report = is_psd(Sigmoid(1.0, -1.0), X)
    assert not report
    assert report.smallest == pytest.approx(-1.65197248)
    assert is_psd(lambda A, B: A @ B.T, np.eye(3)).psd
    assert is_psd(np.eye(3)).smallest == pytest.approx(1.0)
    assert not is_psd([[1.0, 0.5], [0.2, 1.0]]).symmetric
    assert not is_psd([[1.0, 0.5], [0.2, 1.0]]).psd
    assert is_psd([[1.0, 0.0], [0.0, -1e-3]], tol=0.01).psd


def test_rounding_refutes_nothing():
    X = np.random.default_rng(0).normal(size=(60, 2)) * 100
    assert is_psd(Polynomial(5), X).psd
    assert is_psd(Linear(), X.astype(np.float32)).psd


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((Linear(),), "needs points"),
        ((np.eye(2), np.eye(2)), "alone"),
        ((np.ones((2, 3)),), r"shape \(2, 3\)"),
    ],
)
def test_wrong_questions_are_named(arguments, words):
    with pytest.raises(ValueError, match=words):
        is_psd(*arguments)


def test_centred_gram_matrix_is_scikit_learns():
    rng = np.random.default_rng(1)
    X, Z = rng.normal(size=(12, 3)), rng.normal(size=(5, 3))
    gram, cross = Gaussian(sigma=1.0)(X), Gaussian(sigma=1.0)(Z, X)
    peer = KernelCenterer().fit(gram)
    np.testing.assert_allclose(center(gram), peer.transform(gram.copy()), atol=1e-14)
    np.testing.assert_allclose(center(cross, gram), peer.transform(cross.copy()), atol=1e-14)
    np.testing.assert_allclose(center(Linear()(X)), Linear()(X - X.mean(axis=0)), atol=1e-13)
    with pytest.raises(ValueError, match="12 training points"):
        center(cross)


@pytest.mark.filterwarnings("error")
def test_huge_gram_matrices_are_judged_too():
    assert is_psd([[1e308, 1e308], [1e308, 1e308]]).psd
    assert not is_psd([[1e308, -1e308], [1e308, 1e308]]).symmetric
