"""Restricted Boltzmann machines of Gaussian visible units."""

import numpy as np
import pytest
from scipy import integrate, sparse
from scipy.stats import norm

from tercet.neural_network import GaussianRBM


def two_clusters(n=400, seed=0):
    rng = np.random.default_rng(seed)
    return np.where(rng.random((n, 1)) < 0.5, -1.5, 1.5) + rng.normal(size=(n, 2))


def random_machine(n_hidden=3, n_visible=1, seed=0):
    rng = np.random.default_rng(seed)
    return GaussianRBM.from_weights(
        rng.normal(size=(n_hidden, n_visible)),
        rng.normal(size=n_hidden),
        rng.normal(size=n_visible),
        sigma=0.7,
    )


def test_density_integrates_to_1():
    model = random_machine()
    total, _ = integrate.quad(lambda x: np.exp(model.log_likelihood([[x]])[0]), -15, 15)
    assert total == pytest.approx(1.0)


def test_density_is_that_of_a_mixture():
    model = random_machine()
    x = np.linspace(-3, 3, 7)
    H = np.array(np.meshgrid([0, 1], [0, 1], [0, 1])).reshape(3, -1).T
    means = model.inverse_transform(H)[:, 0]
    # the weight of a state of the hidden units is ∫ exp(-E(v, h)) dv
    a = (H @ model.components_)[:, 0]
    weights = np.exp(H @ model.intercept_hidden_ + a * model.intercept_visible_[0] / 0.7 + a**2 / 2)
    density = (weights / weights.sum()) @ norm(means[:, None], 0.7).pdf(x)
    assert np.exp(model.log_likelihood(x[:, None])) == pytest.approx(density)


def test_gradient_equals_finite_differences_of_the_free_energy():
    model = random_machine(3, 2)
    v = np.array([[0.3, -1.2]])
    for name in ("components_", "intercept_hidden_"):
        place = (1,) * getattr(model, name).ndim
        values = []
        for sign in (1, -1):
            getattr(model, name)[place] += sign * 1e-6
            values.append(model.free_energy(v)[0])
            getattr(model, name)[place] -= sign * 1e-6
        slope = -(values[0] - values[1]) / 2e-6
        h = model.transform(v)[0, 1]
        assert slope == pytest.approx(h * (v[0, 1] / 0.7 if name == "components_" else 1.0), rel=1e-5)
    data, drawn = v, np.zeros((1, 2))
    weights = model.gradient(data, drawn)[0]
    h_data, h_drawn = model.transform(data), model.transform(drawn)
    assert weights == pytest.approx(h_data.T @ data / 0.7 - h_drawn.T @ drawn / 0.7)


@pytest.mark.parametrize("algorithm", ["cd", "pcd"])
def test_learning_raises_the_exact_likelihood(algorithm):
    X = two_clusters()
    model = GaussianRBM(1, sigma=1.0, algorithm=algorithm, n_iter=50, random_state=0).fit(X)
    plain = norm(X.mean(axis=0), X.std(axis=0)).logpdf(X).sum(axis=1).mean()
    assert model.log_likelihood(X).mean() > plain + 0.3
    assert np.ptp(model.transform([[-2, -2], [2, 2]]), axis=0).max() > 0.9


def test_sparse_float32_and_weights():
    X = two_clusters(60).astype(np.float32)
    dense, compressed = (GaussianRBM(3, random_state=0).fit(rows) for rows in (X, sparse.csr_array(X)))
    assert compressed.components_ == pytest.approx(dense.components_, abs=1e-5)
    assert dense.components_.dtype == dense.sigma_.dtype == dense.transform(X).dtype == np.float32
    weighted = GaussianRBM(3, random_state=0).fit(X, sample_weight=np.repeat([1, 0], 30))
    assert weighted.sigma_ == pytest.approx(X[:30].std(axis=0), rel=1e-5)


def test_samples():
    model = random_machine(2, 2)
    X = model.sample(2000, 60)
    again = GaussianRBM.from_weights(
        model.components_, model.intercept_hidden_, model.intercept_visible_, sigma=0.7
    )
    H = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    a = H @ model.components_
    weights = np.exp(
        H @ model.intercept_hidden_ + a @ model.intercept_visible_ / 0.7 + (a**2).sum(axis=1) / 2
    )
    assert np.abs(X.mean(axis=0) - weights / weights.sum() @ again.inverse_transform(H)).max() < 0.12


def test_scores_differ_from_the_likelihood_by_a_constant():
    model = random_machine()
    x = np.linspace(-2, 2, 5)[:, None]
    assert np.ptp(model.score_samples(x) - model.log_likelihood(x)) == pytest.approx(0.0, abs=1e-12)
