"""Topic models as factorisations: Table 22.3 and 22.4."""

import numpy as np
import pytest

from tercet.topic import PLSA, bregman_divergence, factorization_log_density

COUNTS = np.array([[2.0, 1.0, 0.0, 1.0], [0.0, 1.0, 3.0, 1.0], [1.0, 0.0, 1.0, 4.0], [2.0, 2.0, 1.0, 0.0]])


def test_squared_and_kl_are_bregman_divergences_of_their_generators():
    rng = np.random.default_rng(0)
    D, X = rng.random((3, 4)) + 0.1, rng.random((3, 4)) + 0.1
    squared = bregman_divergence(D, X, lambda x: x**2, lambda x: 2 * x)
    assert squared == pytest.approx(bregman_divergence(D, X))
    kl = bregman_divergence(D, X, lambda x: x * np.log(x), lambda x: np.log(x) + 1)
    assert kl == pytest.approx(bregman_divergence(D, X, "kl"))
    for generator in ("squared", "kl"):
        assert bregman_divergence(D, D, generator) == 0.0
        assert bregman_divergence(D, X, generator) > 0
    assert bregman_divergence([[1.0]], [[0.0]], "kl") == np.inf


def test_plsa_is_the_factorisation_by_the_kl_divergence():
    """Σ n log P(w,d) = -N (KL(D || UV) + H(D)) with D of sum 1, and V = P(z,d) (Table 22.3)."""
    model = PLSA(2, model="cooccurrence", random_state=0).fit(COUNTS)
    found = model.cooccurrence()
    UV = (found.topic_document.T * found.topic_weights) @ found.components
    D, N = COUNTS / COUNTS.sum(), COUNTS.sum()
    assert UV.sum() == pytest.approx(1.0)
    entropy = -(D[D > 0] * np.log(D[D > 0])).sum()
    assert model.log_likelihood_ == pytest.approx(-N * (bregman_divergence(D, UV, "kl") + entropy))


def test_densities_of_gaussian_models():
    left, values, right = np.linalg.svd(COUNTS)
    V, U = left[:, :2] * values[:2], right[:2]
    found = factorization_log_density(COUNTS, V, U, "orthogonal")
    assert -found.sum() == pytest.approx(bregman_divergence(COUNTS, V @ U))
    assert -found.sum() == pytest.approx((values[2:] ** 2).sum())
    W, H = COUNTS[:, :2], COUNTS[:2]
    density = factorization_log_density(COUNTS, W, H, "nonnegative")
    np.testing.assert_allclose(density, -((COUNTS - W @ H) ** 2).sum(axis=1))
    with pytest.raises(ValueError, match="the rows of components are not orthonormal"):
        factorization_log_density(COUNTS, W, H, "orthogonal")
    with pytest.raises(ValueError, match="the columns of doc_topic are not orthogonal"):
        factorization_log_density(COUNTS, W, U, "orthogonal")
    with pytest.raises(ValueError, match="Negative values"):
        factorization_log_density(COUNTS, V, U, "nonnegative")


def test_bad_input():
    with pytest.raises(ValueError, match=r"D and X must be of one shape; got \(1, 1\) and \(1, 2\)"):
        bregman_divergence([[1.0]], [[1.0, 2.0]])
    with pytest.raises(TypeError, match='generator must be "squared", "kl", or a function'):
        bregman_divergence([[1.0]], [[1.0]], np.square)
    with pytest.raises(ValueError, match="Negative values"):
        bregman_divergence([[-1.0]], [[1.0]], "kl")
    with pytest.raises(ValueError, match="they give NaN"):
        bregman_divergence([[-1.0]], [[1.0]], np.log, lambda x: 1 / x)
    with pytest.raises(ValueError, match="constraint must be"):
        factorization_log_density([[1.0]], [[1.0]], [[1.0]], "free")
    with pytest.raises(ValueError, match=r"shapes \(N, K\) and \(K, M\)"):
        factorization_log_density([[1.0]], [[1.0]], [[1.0, 2.0]])
