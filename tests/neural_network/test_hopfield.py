"""Hopfield networks: storage rules, energy, recall, capacity."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from tercet.neural_network import Hopfield, hopfield_bit_error, hopfield_capacity

RULES = ("hebb", "pseudo-inverse", "storkey")


def patterns(k=6, n=80, seed=0):
    return np.where(np.random.default_rng(seed).random((k, n)) < 0.5, -1.0, 1.0)


def noisy(X, share=0.1, seed=1):
    return X * np.where(np.random.default_rng(seed).random(X.shape) < share, -1.0, 1.0)


@pytest.mark.parametrize("algorithm", RULES)
@pytest.mark.parametrize("order", ["cyclic", "random"])
def test_recall_of_noisy_patterns(algorithm, order):
    X = patterns()
    model = Hopfield(algorithm, order=order, random_state=0).fit(X)
    assert model.is_stable(X).all()
    assert np.array_equal(model.transform(noisy(X)), X)
    assert model.predict(noisy(X)).tolist() == list(range(6))


@pytest.mark.parametrize("algorithm", RULES)
@pytest.mark.parametrize("states", ["bipolar", "binary"])
def test_asynchronous_updates_never_raise_the_energy(algorithm, states):
    starts = patterns(40, 60, seed=2)
    model = Hopfield(algorithm, states=states, binarize=0.0, order="random", random_state=3)
    model.fit(patterns(20, 60))
    recall = model.recall(starts)
    assert (np.diff(recall.energies, axis=0) <= 1e-12).all()
    assert recall.settled.all()
    assert model.is_stable(np.where(recall.states > 0, 1, -1)).all()


def test_each_single_update_lowers_the_energy():
    rng = np.random.default_rng(0)
    W = np.triu(rng.normal(size=(9, 9)), 1)
    W, t = W + W.T, rng.normal(size=9)
    model = Hopfield.from_weights(W, t)
    for s in patterns(30, 9, seed=4):
        for i in range(9):
            new = s.copy()
            new[i] = np.sign(W[i] @ s - t[i])
            assert model.energy([new])[0] <= model.energy([s])[0] + 1e-12


def test_energy_is_that_of_the_formula():
    model = Hopfield.from_weights([[0, 2, -1], [2, 0, 0.5], [-1, 0.5, 0]], [0.1, -0.2, 0.3])
    s = np.array([1.0, -1.0, 1.0])
    wanted = -0.5 * s @ model.weights_ @ s + model.thresholds_ @ s
    assert model.energy([s]) == pytest.approx(wanted)


def test_states_of_0_and_1_move_as_those_of_minus_1_and_1():
    X = patterns(9, 50)
    signs, bits = Hopfield().fit(X), Hopfield(states="binary", binarize=0.0).fit(X)
    starts = noisy(X, 0.25)
    assert np.array_equal(2 * bits.transform(starts) - 1, signs.transform(starts))
    shift = 0.5 * signs.weights_.sum()
    assert bits.energy(X) == pytest.approx((signs.energy(X) + shift) / 4)


def test_weights_of_the_rules():
    X = patterns(4, 12)
    hebb = Hopfield().fit(X).weights_
    assert hebb == pytest.approx(X.T @ X / 12 - np.eye(12) * 4 / 12)
    inverse = np.linalg.pinv(X) @ X
    assert Hopfield("pseudo-inverse").fit(X).weights_ == pytest.approx(inverse - np.diag(np.diag(inverse)))
    W = np.zeros((12, 12))
    for x in X:
        h = np.array(
            [
                [sum(W[i, k] * x[k] for k in range(12) if k not in (i, j)) for j in range(12)]
                for i in range(12)
            ]
        )
        W = W + (np.outer(x, x) - x[:, None] * h.T - h * x) / 12
        np.fill_diagonal(W, 0)
    assert Hopfield("storkey").fit(X).weights_ == pytest.approx(W)


@pytest.mark.parametrize("algorithm", RULES)
def test_partial_fit_adds_patterns(algorithm):
    X = patterns(6, 30)
    whole = Hopfield(algorithm).fit(X)
    parts = Hopfield(algorithm).partial_fit(X[:2]).partial_fit(X[2:])
    assert parts.weights_ == pytest.approx(whole.weights_)
    assert np.array_equal(parts.patterns_, X)


def test_weight_2_is_a_pattern_twice():
    X = patterns(3, 20)
    model = Hopfield().fit(X, sample_weight=[2, 1, 0])
    assert model.weights_ == pytest.approx(Hopfield().fit(X[[0, 0, 1]]).weights_)
    assert np.array_equal(model.patterns_, X[:2])


def test_synchronous_updates_may_alternate():
    model = Hopfield.from_weights([[0, -1], [-1, 0]], update="synchronous")
    with pytest.warns(ConvergenceWarning, match="1 of 1 states did not settle"):
        model.transform([[1, 1]])
    assert not model.recall([[1, 1]]).settled[0]
    assert model.set_params(update="asynchronous").recall([[1, 1]]).settled[0]


def test_given_order():
    W = -np.ones((3, 3)) + np.eye(3)
    assert Hopfield.from_weights(W, order=[2, 1, 0]).transform([[1, 1, 1]]).tolist() == [[1, 1, -1]]
    assert Hopfield.from_weights(W).transform([[1, 1, 1]]).tolist() == [[-1, 1, 1]]
    with pytest.raises(ValueError, match="'order' must be 'cyclic', 'random' or an array"):
        Hopfield.from_weights(W, order=[0, 1]).transform([[1, 1, 1]])


def test_ties_keep_their_state():
    model = Hopfield.from_weights(np.zeros((3, 3)))
    assert model.transform([[1, -1, 1]]).tolist() == [[1, -1, 1]]


def test_spurious_states():
    X = patterns(3, 40)
    model = Hopfield(random_state=0).fit(X)
    found = model.spurious_states(200)
    assert model.is_stable(found).all()
    assert (model.predict(found) == -1).all()
    mixture = np.sign(X.sum(axis=0))
    known = [(found == row).all(axis=1).any() for row in [*-X, mixture]]
    assert any(known)


def test_capacity():
    assert hopfield_capacity(1000) == 138.0
    assert hopfield_capacity(100, "all-stable") == pytest.approx(100 / (4 * np.log(100)))
    found = {rule: hopfield_capacity(60, "simulation", algorithm=rule, n_trials=3) for rule in RULES}
    assert found["hebb"] < found["storkey"] < found["pseudo-inverse"]
    with pytest.raises(ValueError, match="criterion must be 'recall'"):
        hopfield_capacity(10, "best")
    with pytest.raises(ValueError, match="n_units must be an integer of at least 2; got 1"):
        hopfield_capacity(1)


def test_bit_error_is_that_of_random_patterns():
    n, p = 200, 60
    unstable = []
    for seed in range(5):
        X = patterns(p, n, seed)
        inputs = X @ Hopfield().fit(X).weights_
        unstable.append((inputs * X < 0).mean())
    assert np.mean(unstable) == pytest.approx(hopfield_bit_error(n, p), abs=0.004)
    assert hopfield_bit_error(10, 1) == 0.0
    with pytest.raises(ValueError, match="n_patterns must be an integer of at least 1"):
        hopfield_bit_error(10, 0)


def test_other_values_are_refused_without_a_threshold():
    with pytest.raises(ValueError, match=r"values -1 and 1 only; X\[0, 1\] is 0"):
        Hopfield().fit([[1, 0, -1]])
    with pytest.raises(ValueError, match="values 0 and 1 only"):
        Hopfield(states="binary").fit([[1, 0, -1]])
    with pytest.raises(ValueError, match="Set binarize to a threshold"):
        Hopfield().fit([[1, -1, 1]]).transform([[0.3, 1, -1]])
    rows = Hopfield(binarize=0.0).fit([[2.0, -0.5, 0.1]])
    assert rows.patterns_.tolist() == [[1, -1, 1]]


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ([[0, 1], [2, 0]], "must be symmetric"),
        ([[1, 1], [1, 0]], "diagonal of zeros"),
        ([[0, 1, 2], [1, 0, 3]], "must be square"),
    ],
)
def test_weights_that_are_none(weights, said):
    with pytest.raises(ValueError, match=said):
        Hopfield.from_weights(weights)
