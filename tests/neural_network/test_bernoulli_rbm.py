"""Restricted Boltzmann machines: exact oracle, contrastive divergence, agreement with scikit-learn."""

import itertools
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.neural_network import BernoulliRBM as Peer

from tercet.neural_network import BernoulliRBM, BoltzmannMachine, GaussianRBM
from tercet.neural_network.bernoulli_rbm import Updates

ALGORITHMS = ("pcd", "cd")


def random_machine(n_hidden=3, n_visible=5, seed=0):
    rng = np.random.default_rng(seed)
    return BernoulliRBM.from_weights(
        rng.normal(size=(n_hidden, n_visible)),
        rng.normal(size=n_hidden),
        rng.normal(size=n_visible),
        random_state=0,
    )


def all_states(n):
    return np.array(list(itertools.product([0.0, 1.0], repeat=n)))


def correlated(n=300, seed=0):
    """Rows of two groups of three units that are nearly alike."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(rng.random((n, 2)) < 0.5, 3, axis=1)
    return (groups ^ (rng.random((n, 6)) < 0.05)).astype(float)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_same_numbers_as_scikit_learn(dtype):
    X = correlated(200).astype(dtype)
    ours, theirs = (kind(4, n_iter=6, random_state=3).fit(X) for kind in (BernoulliRBM, Peer))
    tolerance = 1e-3 if dtype == np.float32 else 1e-12
    for name in ("components_", "intercept_hidden_", "intercept_visible_", "h_samples_"):
        assert getattr(ours, name) == pytest.approx(getattr(theirs, name), abs=tolerance)
        assert getattr(ours, name).dtype == dtype
    assert ours.score_samples(X) == pytest.approx(theirs.score_samples(X), abs=100 * tolerance)
    assert np.array_equal(ours.gibbs(X), theirs.gibbs(X))


def test_same_numbers_as_scikit_learn_in_partial_fit():
    X = correlated(60)
    ours, theirs = BernoulliRBM(4, batch_size=20, random_state=3), Peer(4, batch_size=20, random_state=3)
    for start in range(0, 60, 20):
        ours.partial_fit(X[start : start + 20])
        theirs.partial_fit(X[start : start + 20])
    assert ours.components_ == pytest.approx(theirs.components_, abs=1e-12)


def test_conditional_probabilities_and_free_energy_by_enumeration():
    model, V, H = random_machine(), all_states(5), all_states(3)
    energy = -(
        H @ model.components_ @ V.T + (H @ model.intercept_hidden_)[:, None] + V @ model.intercept_visible_
    )
    p = np.exp(-energy)  # (hidden, visible)
    assert model.free_energy(V) == pytest.approx(-np.log(p.sum(axis=0)))
    assert model.log_partition() == pytest.approx(np.log(p.sum()))
    assert model.transform(V) == pytest.approx((p.T @ H) / p.sum(axis=0)[:, None])
    assert model.inverse_transform(H) == pytest.approx((p @ V) / p.sum(axis=1)[:, None])
    assert np.exp(model.log_likelihood(V)).sum() == pytest.approx(1.0)


def test_it_is_a_boltzmann_machine_without_connections_in_a_layer():
    model = random_machine()
    W = np.zeros((8, 8))
    W[:5, 5:] = model.components_.T
    W[5:, :5] = model.components_
    full = BoltzmannMachine.from_weights(
        W, np.r_[model.intercept_visible_, model.intercept_hidden_], n_hidden=3
    )
    assert full.score_samples(all_states(5)) == pytest.approx(model.log_likelihood(all_states(5)))


def test_gradient_with_exact_model_means_is_that_of_the_log_likelihood():
    model, V = random_machine(), all_states(5)
    X = correlated(20)[:, :5]
    p = np.exp(model.log_likelihood(V))
    mine = model.gradient(X, np.repeat(V, np.round(p * 1e6).astype(int), axis=0))
    step = 1e-5
    for name, k in (("components_", 0), ("intercept_hidden_", 1), ("intercept_visible_", 2)):
        place = (1,) * getattr(model, name).ndim
        values = []
        for sign in (1, -1):
            getattr(model, name)[place] += sign * step
            values.append(model.log_likelihood(X).mean())
            getattr(model, name)[place] -= sign * step
        assert mine[k][place] == pytest.approx((values[0] - values[1]) / (2 * step), abs=1e-5)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"momentum": 0.5},
        {"weight_decay": 1e-3},
        {"n_gibbs_steps": 3},
        {"reconstruction": "probabilities"},
    ],
)
def test_learning_raises_the_exact_likelihood(algorithm, options):
    X = correlated()
    model = BernoulliRBM(3, algorithm=algorithm, n_iter=60, random_state=0, **options)
    found = model.fit(X).log_likelihood(X).mean()
    independent = sum(
        np.log(np.where(X[:, j] > 0, X[:, j].mean(), 1 - X[:, j].mean())) for j in range(6)
    ).mean()
    assert found > independent + 0.5
    assert found < -2 * np.log(2)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("weighted", [False, True])
def test_an_update_is_the_gradient_of_data_and_samples(algorithm, weighted):
    X = correlated(10)
    model = BernoulliRBM(3, algorithm=algorithm, learning_rate=0.3, random_state=0).partial_fit(X)
    old = BernoulliRBM.from_weights(model.components_, model.intercept_hidden_)
    rng = np.random.RandomState(5)
    updates = Updates(model, rng, 10)
    weight = np.arange(10.0) if weighted else None
    updates.of_batch(X, weight)
    V = updates.V[10:20].copy()  # what the model drew
    assert V.shape == X.shape
    assert set(np.unique(V)) <= {0.0, 1.0}
    change = model.components_ - old.components_
    h_data, h_model = old._mean_hiddens(X), old._mean_hiddens(V)
    w = np.ones(10) if weight is None else weight
    negative = w if algorithm == "cd" else np.full(10, w.mean())
    wanted = 0.3 * ((h_data * w[:, None]).T @ X - (h_model * negative[:, None]).T @ V) / 10
    assert change == pytest.approx(wanted)
    if not weighted:
        assert change == pytest.approx(0.3 * old.gradient(X, V)[0])


def test_weights_of_rows():
    X = correlated(60)
    weight = np.repeat([3.0, 0.0], 30)
    one = BernoulliRBM(3, n_iter=3, batch_size=30, random_state=0).fit(X, sample_weight=weight)
    scaled = BernoulliRBM(3, n_iter=3, batch_size=30, random_state=0).fit(X, sample_weight=10 * weight)
    assert np.array_equal(one.components_, scaled.components_)
    ones = BernoulliRBM(3, n_iter=3, random_state=0).fit(X, sample_weight=np.ones(60))
    assert ones.components_ == pytest.approx(BernoulliRBM(3, n_iter=3, random_state=0).fit(X).components_)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_sparse_rows(algorithm):
    X = correlated(50)
    dense, compressed = (
        BernoulliRBM(4, algorithm=algorithm, n_iter=3, random_state=0).fit(rows)
        for rows in (X, sparse.csr_array(X))
    )
    assert compressed.components_ == pytest.approx(dense.components_)
    assert compressed.score_samples(sparse.csr_array(X)) == pytest.approx(dense.score_samples(X))
    assert compressed.free_energy(sparse.csr_array(X)) == pytest.approx(dense.free_energy(X))


def test_samples_have_the_means_of_the_model():
    model, V = random_machine(), all_states(5)
    found = model.sample(3000, 40)
    assert np.abs(found.mean(axis=0) - np.exp(model.log_likelihood(V)) @ V).max() < 0.04


def test_pseudo_likelihood_is_in_the_history():
    X = correlated(100)
    model = BernoulliRBM(3, n_iter=30, random_state=0).fit(X)
    found = model.history_["pseudo_likelihood"]
    assert len(found) == model.n_iter_ == 30
    assert found[-1] > found[0]


def test_what_is_not_binary():
    model = random_machine()
    with pytest.raises(ValueError, match=r"the values 0 and 1 only, .*; got 0.5"):
        model.log_likelihood([[0.5, 0, 1, 1, 0]])
    with pytest.raises(ValueError, match="X has 4 columns; expected 3, one for each hidden unit"):
        model.inverse_transform(np.zeros((2, 4)))


def test_too_many_units_for_the_exact_likelihood():
    model = BernoulliRBM.from_weights(np.zeros((21, 30)))
    with pytest.raises(
        ValueError, match=r"log_partition sums over all 2\^21 = 2,097,152 states of 21 units; at most 20"
    ):
        model.log_partition()
    assert BernoulliRBM.from_weights(np.zeros((30, 10))).log_partition() == pytest.approx(40 * np.log(2))


def test_divergence_is_an_error():
    with pytest.raises(
        ValueError, match=r"learning_rate=1e\+300\. Take a smaller learning_rate, such as 1e\+299"
    ):
        BernoulliRBM(2, learning_rate=1e300, weight_decay=1e300, random_state=0).fit(correlated(50))


def test_biases_of_another_shape():
    with pytest.raises(ValueError, match=r"intercept_hidden must have shape \(1,\)"):
        BernoulliRBM.from_weights([[1.0, 2.0]], [1.0, 2.0])
    with pytest.raises(ValueError, match="n_samples must be an integer of at least 1; got 0"):
        random_machine().sample(0)


@pytest.mark.parametrize(
    ("kind", "rate", "dtype"),
    [(BernoulliRBM, 1e308, np.float64), (BernoulliRBM, 1e30, np.float32), (GaussianRBM, 1e5, np.float64)],
)
def test_weights_whose_energy_overflows_are_an_error(kind, rate, dtype):
    with pytest.raises(ValueError, match="the weights grew beyond floating-point numbers"):
        kind(3, learning_rate=rate, random_state=0).fit(correlated(50).astype(dtype))


@pytest.mark.parametrize("algorithm", ["cd", "pcd"])
def test_a_fit_that_diverges_keeps_the_last_finite_weights(algorithm):
    X = correlated(50)
    model = BernoulliRBM(2, algorithm=algorithm, learning_rate=1e300, weight_decay=1e300, random_state=0)
    with pytest.raises(ValueError, match="The last finite weights are kept"):
        model.fit(X)
    assert np.isfinite(model.components_).all()
    good = BernoulliRBM(2, algorithm=algorithm, random_state=0).partial_fit(X)
    before = good.components_.copy()
    with pytest.raises(ValueError, match="The last finite weights are kept"):
        good.set_params(learning_rate=1e300, weight_decay=1e300).partial_fit(X)
    assert np.array_equal(good.components_, before)


def test_values_that_are_no_probabilities_give_a_warning():
    X = np.array([[0.0, 2.0], [1.0, -1.0]])
    for rows in (X, sparse.csr_matrix(X)):
        with pytest.warns(
            UserWarning, match="X holds values from -1 to 2; binary units need values from 0 to 1"
        ):
            BernoulliRBM(2, n_iter=1, random_state=0).fit(rows)
    model = BernoulliRBM(2, random_state=0).partial_fit(X.clip(0, 1))
    for _ in range(2):
        with pytest.warns(UserWarning, match="X holds values from -1 to 2"):
            model.partial_fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.partial_fit(X.clip(0, 1))
        BernoulliRBM(2, n_iter=1, random_state=0).fit(X.clip(0, 1))
        GaussianRBM(2, n_iter=1, random_state=0).fit(X)
