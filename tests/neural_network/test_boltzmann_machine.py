"""Boltzmann machines: exact sums, gradients, likelihood, Gibbs sampling."""

import itertools

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from tercet.neural_network import BoltzmannMachine


def random_machine(n=5, n_hidden=0, seed=0, size=1.0):
    rng = np.random.default_rng(seed)
    W = np.triu(size * rng.normal(size=(n, n)), 1)
    return BoltzmannMachine.from_weights(W + W.T, rng.normal(size=n), n_hidden=n_hidden, random_state=0)


def all_states(n):
    return np.array(list(itertools.product([0, 1], repeat=n)))


def test_probabilities_are_those_of_the_formula():
    model, S = random_machine(), all_states(5)
    energies = [
        -sum(model.weights_[i, j] * s[i] * s[j] for i in range(5) for j in range(i)) - model.intercept_ @ s
        for s in S
    ]
    p = np.exp(-np.array(energies))
    assert model.energy(S) == pytest.approx(energies)
    assert model.probability(S) == pytest.approx(p / p.sum())
    assert model.marginals() == pytest.approx(p @ S / p.sum())
    assert np.array_equal(model.mode(), S[p.argmax()])
    rest = (S[:, 1] == 1) & (S[:, 3] == 0)
    assert model.marginals({1: 1, 3: 0}) == pytest.approx(p[rest] @ S[rest] / p[rest].sum())
    assert np.array_equal(model.mode({1: 1, 3: 0}), S[rest][p[rest].argmax()])


def test_conditional_probabilities():
    model, S = random_machine(), all_states(5)
    found = model.conditional_probability(S)
    for i in range(5):
        on, off = S.copy(), S.copy()
        on[:, i], off[:, i] = 1, 0
        a, b = model.probability(on), model.probability(off)
        assert found[:, i] == pytest.approx(a / (a + b))


@pytest.mark.parametrize("n_hidden", [0, 2])
def test_gradient_equals_finite_differences(n_hidden):
    model = random_machine(5, n_hidden)
    d = 5 - n_hidden
    rng = np.random.default_rng(1)
    V, share = rng.integers(0, 2, (6, d)).astype(float), np.full(6, 1 / 6)
    gradient = model.clamped_statistics(V, share).means - model.free_statistics().means

    def log_likelihood(W, theta):
        return BoltzmannMachine.from_weights(W, theta, n_hidden=n_hidden).score(V)

    step = 1e-5
    for i, j in itertools.combinations_with_replacement(range(5), 2):
        values = []
        for sign in (1, -1):
            W, theta = model.weights_.copy(), model.intercept_.copy()
            if i == j:
                theta[i] += sign * step
            else:
                W[i, j] += sign * step
                W[j, i] = W[i, j]
            values.append(log_likelihood(W, theta))
        assert gradient[i, j] == pytest.approx((values[0] - values[1]) / (2 * step), abs=1e-8)


@pytest.mark.parametrize("n_hidden", [0, 1])
def test_likelihood_rises(n_hidden):
    X = random_machine(4).sample(200)
    model = BoltzmannMachine(n_hidden, max_iter=60, tol=0, random_state=0)
    with pytest.warns(ConvergenceWarning):
        model.fit(X)
    found = np.array(model.history_["log_likelihood"])
    assert (np.diff(found) >= -1e-10).all()
    assert found[-1] > found[0]
    assert model.score(X) == pytest.approx(found[-1], abs=1e-3)
    assert np.exp(model.score_samples(all_states(4))).sum() == pytest.approx(1.0)


def test_means_become_those_of_the_data():
    X = random_machine(4, seed=3, size=0.5).sample(400)
    weight = np.arange(400) % 3
    model = BoltzmannMachine(tol=1e-7, max_iter=5000).fit(X, sample_weight=weight)
    assert model.free_statistics().means == pytest.approx(
        (X * weight[:, None]).T @ X / weight.sum(), abs=1e-6
    )
    repeated = BoltzmannMachine(tol=1e-7, max_iter=5000).fit(np.repeat(X, weight, axis=0))
    assert repeated.weights_ == pytest.approx(model.weights_, abs=1e-9)


def test_hidden_units_learn_what_pairs_cannot():
    X = np.array([[a, b, a ^ b] for a in (0, 1) for b in (0, 1)])  # pairs of units are independent
    pairs = BoltzmannMachine(tol=1e-4).fit(X)
    assert pairs.score(X) == pytest.approx(-3 * np.log(2), abs=1e-6)
    hidden = BoltzmannMachine(1, tol=0, max_iter=1200, random_state=0)
    with pytest.warns(ConvergenceWarning):
        hidden.fit(X)
    assert hidden.score(X) > -1.6


@pytest.mark.parametrize("n_hidden", [0, 2])
def test_gibbs_learning_comes_near_to_the_exact_one(n_hidden):
    X = random_machine(4, seed=5).sample(300)
    model = BoltzmannMachine(
        n_hidden, algorithm="gibbs", max_iter=300, learning_rate=0.05, random_state=0
    ).fit(X)
    exact = BoltzmannMachine(max_iter=5000).fit(X)
    assert model.score(X) > exact.score(X) - 0.03


def test_samples_have_the_probabilities():
    model, S = random_machine(4, seed=2), all_states(4)
    codes = 2 ** np.arange(4)[::-1]
    for options in ({}, {"method": "gibbs", "n_sweeps": 60}):
        shares = np.bincount(model.sample(4000, **options) @ codes, minlength=16) / 4000
        assert np.abs(shares - model.probability(S)).max() < 0.03
    given = model.sample(50, given={0: 1, 2: 0})
    assert (given[:, 0] == 1).all()
    assert (given[:, 2] == 0).all()
    assert np.array_equal(model.sample(1, given=dict(enumerate([0, 1, 1, 0]))), [[0, 1, 1, 0]])


def test_hidden_units_of_samples():
    model = random_machine(4, n_hidden=1)
    assert model.sample(3).shape == (3, 3)
    assert model.sample(3, hidden=True).shape == (3, 4)


def test_estimated_partition_function():
    model = random_machine(8, seed=1)
    assert model._estimated_log_partition(np.random.default_rng(0)) == pytest.approx(
        model.log_partition_, abs=0.05
    )


def test_more_units_than_can_be_enumerated():
    rng = np.random.default_rng(0)
    W = np.zeros((22, 22))
    W[:11, :11] = W[11:, 11:] = 0.4  # two groups that do not know of each other
    W += np.triu(0.01 * rng.random((22, 22)), 1)
    W = np.triu(W, 1) + np.triu(W, 1).T
    model = BoltzmannMachine.from_weights(W, np.full(22, -2.0), random_state=0)
    assert np.array_equal(model.mode(), np.ones(22)) == (model.energy([np.ones(22)])[0] < 0)
    with pytest.raises(ValueError, match=r"2\^22 = 4,194,304 states of 22 units; at most 20"):
        model.marginals()
    with pytest.raises(ValueError, match="Use algorithm='gibbs'"):
        BoltzmannMachine(algorithm="exact").fit(rng.integers(0, 2, (5, 22)))


def test_chains_that_disagree_warn():
    n = 24
    W = np.full((n, n), 2.0)  # all on or all off, with a mountain in between
    np.fill_diagonal(W, 0.0)
    model = BoltzmannMachine.from_weights(W, np.full(n, -(n - 1.0)), random_state=0, n_chains=4)
    with pytest.warns(ConvergenceWarning, match="Gibbs chains disagree on the energy or the active units"):
        model.sample(20, method="gibbs", n_sweeps=40)


def test_number_of_states_is_reported_first(capsys):
    with pytest.warns(ConvergenceWarning):
        BoltzmannMachine(1, verbose=50, max_iter=2, random_state=0).fit([[0, 1, 1], [1, 0, 0]])
    assert capsys.readouterr().out.startswith("[BoltzmannMachine] 2^4 = 16 states of 4 units")


def test_input_that_is_not_binary():
    with pytest.raises(ValueError, match=r"values 0 and 1 only; X\[1, 0\] is 0.5"):
        BoltzmannMachine().fit([[0, 1], [0.5, 1]])
    model = random_machine(3)
    with pytest.raises(ValueError, match="S has 2 columns; expected 3"):
        model.energy([[0, 1]])
    with pytest.raises(ValueError, match=r"S must have the values 0 and 1 only; S\[0, 1\] is 2\.$"):
        model.energy([[0, 2, 1]])
    with pytest.raises(ValueError, match="given names the unit 3; units are 0 to 2"):
        model.marginals({3: 1})
    with pytest.raises(ValueError, match="unit 0 has 2"):
        model.marginals({0: 2})
    with pytest.raises(TypeError, match="given must be a dict"):
        model.marginals([1])


def test_divergence_is_an_error():
    model = BoltzmannMachine(algorithm="gibbs", learning_rate=1e200, weight_decay=10.0, random_state=0)
    with pytest.raises(
        ValueError, match=r"learning_rate=1e\+200 .* a smaller learning_rate, such as 1e\+199"
    ):
        model.fit(np.eye(3))
    assert np.isfinite(model.weights_).all()
    assert np.isfinite(model.energy(np.eye(3))).all()
