"""Temporal differences for values in a kernel's space."""

import pickle

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import MinMaxScaler

from tercet.io import load_model, save_model
from tercet.kernels import Gaussian, Linear, Polynomial
from tercet.rl import KernelTD, LinearTD
from tercet.rl.approximation.kernel_dictionary import KernelDictionary
from tests.rl.linear_worlds import VectorWorld, plain, random_model, random_walk, ring


@pytest.mark.parametrize(
    "options",
    [{}, {"trace_decay": 0.7}, {"trace_decay": 0.7, "traces": "dutch"}, {"normalize": True}],
    ids=str,
)
def test_a_linear_kernel_makes_it_linear_td(options):
    mdp, table = random_model(), np.random.default_rng(0).normal(size=(8, 3))
    options = {"n_episodes": 40, "discount": 0.9, "learning_rate": 0.02, "random_state": 1, **options}
    linear = LinearTD(None, table, **options).fit(mdp)
    agent = KernelTD(None, "linear", features=table, novelty=0.0, **options).fit(mdp)
    assert agent.dictionary_.shape == (3, 3)
    np.testing.assert_allclose(agent.V_, linear.V_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(agent.dictionary_.T @ agent.dual_coef_, linear.coef_, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("kernel", ["linear", Linear(), lambda X, Z: X @ Z.T])
def test_in_an_environment_of_vectors_too(kernel):
    table = np.random.default_rng(0).normal(size=(6, 3))
    options = {"n_episodes": 15, "discount": 0.9, "learning_rate": 0.02, "random_state": 1}
    linear = LinearTD(**options).fit(VectorWorld(table=table))
    agent = KernelTD(None, kernel, novelty=0.0, **options).fit(VectorWorld(table=table))
    np.testing.assert_allclose(agent.value(table), linear.value(table), rtol=1e-7)
    assert isinstance(agent.value(table[0]), float)


@pytest.mark.parametrize("decay", [0.0, 0.6])
def test_it_makes_the_steps_of_functions(decay):
    """V += α δ z in the space of functions on the states, z = γλ z + K(x, ·)."""
    mdp = random_model(1)
    K = rbf_kernel(np.arange(8.0)[:, None], gamma=0.3)
    options = {"discount": 0.9, "n_episodes": 15}
    agent = KernelTD(
        None, gamma=0.3, novelty=0.0, learning_rate=0.1, trace_decay=decay, random_state=7, **options
    ).fit(mdp)
    root = np.linalg.cholesky(K)  # features whose inner products are the kernel
    theta = plain(mdp, lambda x, a: root[x], alpha=0.1, decay=decay, rule="td", seed=7, **options)
    np.testing.assert_allclose(agent.V_[:7], (root @ theta)[:7], rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose((K @ agent.dual_coef_)[:7], agent.V_[:7], rtol=1e-7, atol=1e-9)


def test_a_dictionary_grows_with_what_is_new():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    book = KernelDictionary(Gaussian(gamma=0.5), 2, 0.1, 50)
    for x in X:
        before, alone = book.size, book.coordinates(x[None])[0]
        psi = book.take(x)
        rest = 1.0  # distance from the span
        if before:
            k = rbf_kernel(x[None], book.centers[:before], gamma=0.5)[0]
            rest -= k @ np.linalg.solve(rbf_kernel(book.centers[:before], gamma=0.5), k)
        assert (book.size > before) == (rest > 0.1)
        np.testing.assert_allclose(psi[:before], alone, atol=1e-10)
    m = book.size
    assert 5 < m < 40
    K = rbf_kernel(X, book.centers[:m], gamma=0.5)
    nearest = K @ np.linalg.solve(rbf_kernel(book.centers[:m], gamma=0.5), K.T)
    np.testing.assert_allclose(book.coordinates(X) @ book.coordinates(X).T, nearest, atol=1e-9)
    assert (1.0 - np.diag(nearest) <= 0.1 + 1e-12).all()
    w = rng.normal(size=(m, 2))
    np.testing.assert_allclose(K @ book.dual(w), book.coordinates(X) @ w, atol=1e-8)


def test_it_learns_the_values_of_a_walk():
    agent = KernelTD(gamma=0.5, discount=1.0, learning_rate=0.02, n_episodes=3000, random_state=0).fit(
        random_walk()
    )
    np.testing.assert_allclose(agent.V_, [0, 1 / 6, 2 / 6, 3 / 6, 4 / 6, 5 / 6, 0], atol=0.06)


def test_scaled_inputs_and_parameters_of_kernels():
    table = np.random.default_rng(0).normal(size=(6, 2)) * [1.0, 1e-3]
    options = {"n_episodes": 10, "discount": 0.9, "random_state": 0}
    scaler = MinMaxScaler().fit(table)
    one = KernelTD(features=scaler, gamma=2.0, **options).fit(VectorWorld(table=table))
    other = KernelTD(gamma=2.0, **options).fit(VectorWorld(table=scaler.transform(table)))
    np.testing.assert_allclose(one.value(table), other.value(scaler.transform(table)), rtol=1e-9)
    scale = KernelTD(**options).fit(VectorWorld(table=table))
    assert scale.kernel_.gamma == pytest.approx(1 / (2 * 400 / 12), rel=0.1), (
        "of uniform observations in the box"
    )
    poly = KernelTD(None, "poly", gamma=1.0, degree=2, coef0=1.0, learning_rate=1e-3, **options).fit(ring())
    same = KernelTD(None, Polynomial(2, 1.0, 1.0), learning_rate=1e-3, **options).fit(ring())
    np.testing.assert_array_equal(poly.V_, same.V_)


def test_a_full_dictionary_is_told():
    with pytest.warns(
        UserWarning, match="the dictionary is full with max_centers=2; .* Raise max_centers or novelty"
    ):
        agent = KernelTD(gamma=1.0, max_centers=2, n_episodes=5, discount=0.9, random_state=0).fit(ring())
    assert agent.dictionary_.shape == (2, 1)


def test_seeds_pickles_and_files(tmp_path):
    table = np.random.default_rng(0).normal(size=(6, 2))
    agent = KernelTD(n_episodes=10, gamma=0.5, random_state=0).fit(VectorWorld(table=table))
    again = KernelTD(n_episodes=10, gamma=0.5, random_state=0).fit(VectorWorld(table=table))
    np.testing.assert_array_equal(again.dual_coef_, agent.dual_coef_)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(agent)).value(table), agent.value(table))
    for model, x in ((agent, table), (KernelTD(n_episodes=5, discount=0.9).fit(ring()), [0, 1])):
        save_model(tmp_path / "agent.skops", model, {})
        np.testing.assert_array_equal(load_model(tmp_path / "agent.skops")[0].value(x), model.value(x))


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"novelty": 1.0}, r"parameter 'novelty' must be a number in \[0, 1\)"),
        ({"max_centers": 0}, "parameter 'max_centers' must be an integer"),
        ({"kernel": "precomputed"}, "kernel must be one of vectors; got 'precomputed'"),
        ({"kernel": "rbff"}, "kernel must be a Kernel, a callable or one of"),
        ({"gamma": -1.0}, "parameter 'gamma' must be"),
    ],
)
def test_bad_parameters(parameters, match):
    with pytest.raises(ValueError, match=match):
        KernelTD(**parameters, n_episodes=2, discount=0.9).fit(ring())
