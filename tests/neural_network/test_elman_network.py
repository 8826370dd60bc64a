"""Elman networks: the recursion, its gradient, sequences of unequal length, and tasks that need a memory."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from tercet.datasets.texts.watermelon_ch03_5 import parity
from tercet.neural_network import ElmanNetwork, ElmanNetworkClassifier, elman_forward
from tercet.neural_network.elman_network import WEIGHTS, SequenceError, Shapes
from tercet.sequence import Sequences


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


@pytest.fixture(scope="module")
def sequences():
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(n, 3)) for n in (1, 5, 3, 8)]
    return X, [rng.normal(size=(len(x), 2)) for x in X]


@pytest.mark.parametrize("activation", ["logistic", "tanh", "relu"])
@pytest.mark.parametrize("output", ["identity", "logistic"])
def test_predictions_are_those_of_the_recursion(sequences, activation, output):
    X, y = sequences
    if output == "logistic":
        y = [np.abs(part) / 10 for part in y]
    model = ElmanNetwork(4, activation=activation, output=output, max_iter=2, random_state=0).fit(X, y)
    for x, found, states in zip(X, model.predict(X), model.hidden_states(X)):
        weights = (getattr(model, name) for name in WEIGHTS)
        H, Y = elman_forward(x, *weights, activation=activation, output=output)
        np.testing.assert_allclose(states, H, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(found, Y, rtol=1e-12, atol=1e-14)


def finite_differences(error, theta):
    steps = 1e-6 * np.eye(theta.size)
    return np.array([(error.value(theta + h) - error.value(theta - h)) / 2e-6 for h in steps])


@pytest.mark.parametrize("activation", ["logistic", "tanh", "relu"])
@pytest.mark.parametrize("kind", ["identity", "logistic", "softmax"])
def test_gradient_is_that_of_finite_differences(sequences, activation, kind):
    X, y = sequences
    if kind == "softmax":
        model = ElmanNetworkClassifier(activation=activation, alpha=0.1)
        Y = np.eye(2)[(np.concatenate(y)[:, 0] > 0).astype(int)]
    else:
        model, Y = ElmanNetwork(activation=activation, output=kind, alpha=0.1), np.concatenate(y)
    shapes = Shapes(3, 4, 2)
    theta = shapes.random(np.random.default_rng(1))
    error = SequenceError(model, Sequences.of(X), Y, np.array([1.0, 2.0, 0.5, 0.0]), shapes)
    np.testing.assert_allclose(error.gradient(theta), finite_differences(error, theta), atol=2e-9, rtol=1e-6)


def truncated_slopes(X, Y, weights, steps):
    """The gradient by U when the error of time t goes back so many steps: h_{t-steps} is a constant."""
    U, W, b, V, c = weights
    found = np.zeros_like(U)
    H, outputs = elman_forward(X, U, W, b, V, c, activation="tanh")
    for t in range(len(X)):
        delta = (outputs[t] - Y[t]) @ V * (1 - H[t] ** 2)
        for back in range(t, max(t - steps, -1), -1):
            found += np.outer(delta, X[back])
            if back:
                delta = (delta @ W) * (1 - H[back - 1] ** 2)
    return found


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_truncated_gradient(sequences, steps):
    X, y = sequences[0][3], sequences[1][3]
    shapes = Shapes(3, 4, 2)
    theta = shapes.random(np.random.default_rng(2))
    model = ElmanNetwork(algorithm="truncated", n_steps=steps)
    error = SequenceError(model, Sequences.of(X), y, None, shapes)
    found = next(iter(shapes.unpack(error.gradient(theta)))) * len(X)
    np.testing.assert_allclose(found, truncated_slopes(X, y, tuple(shapes.unpack(theta)), steps), rtol=1e-9)


def test_truncation_beyond_the_sequence_is_the_full_gradient(sequences):
    X, y = sequences
    shapes = Shapes(3, 4, 2)
    theta = shapes.random(np.random.default_rng(3))
    found = [
        SequenceError(ElmanNetwork(**options), Sequences.of(X), np.concatenate(y), None, shapes).gradient(
            theta
        )
        for options in ({}, {"algorithm": "truncated", "n_steps": 8})
    ]
    np.testing.assert_allclose(*found, atol=1e-15)


@pytest.mark.parametrize("solver", ["adam", "momentum", "lbfgs"])
def test_parity_needs_and_gets_a_memory(solver):
    X, y = parity(60, 6)
    rate = {"momentum": 0.1}.get(solver, 0.03)
    model = ElmanNetwork(8, solver=solver, learning_rate=rate, max_iter=400, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.95
    alone = ElmanNetwork(8, solver="lbfgs", random_state=0).fit(
        *[[part[k : k + 1] for part in parts for k in range(len(part))] for parts in (X, y)]
    )  # every row a sequence of its own: nothing to remember
    assert alone.score(X, y) < 0.5


def reber_grammar(n, rng):
    """Strings of the Reber grammar: symbols, and which symbol comes next."""
    graph = ["T1 P2", "S1 X3", "T2 V4", "X2 S5", "P3 V5"]
    words = []
    for _ in range(n):
        node, word = 0, "B"
        while node != 5:
            symbol, after = graph[node].split()[rng.integers(2)]
            word, node = word + symbol, int(after)
        words.append(word + "E")
    return words


def test_reber_grammar_is_learned():
    """The next symbols that the grammar allows, and no others, are probable."""
    rng = np.random.default_rng(0)
    alphabet = "BTPSXVE"
    words = reber_grammar(150, rng)
    X = [np.eye(7)[[alphabet.index(s) for s in word[:-1]]] for word in words]
    y = [list(word[1:]) for word in words]
    model = ElmanNetworkClassifier(8, learning_rate=0.03, max_iter=80, random_state=0).fit(X, y)
    p = model.predict_proba(np.eye(7)[[0, 1, 3]])  # after B, BT and BTS: T or P; S or X; S or X
    allowed = [["T", "P"], ["S", "X"], ["S", "X"]]
    for row, symbols in zip(p, allowed):
        assert row[np.isin(model.classes_, symbols)].min() > 0.25
        assert row[~np.isin(model.classes_, symbols)].max() < 0.1


def test_weights_are_repeated_sequences(sequences):
    X, y = sequences
    count = [0, 1, 3, 2]
    model = ElmanNetwork(3, solver="lbfgs", max_iter=4, random_state=0)
    one = model.fit(X, y, sample_weight=count).predict(X)
    repeated = [k for k, n in enumerate(count) for _ in range(n)]
    two = model.fit([X[k] for k in repeated], [y[k] for k in repeated]).predict(X)
    np.testing.assert_allclose(np.concatenate(one), np.concatenate(two), rtol=1e-7)
    score = model.score(X, y, sample_weight=count)
    assert score == pytest.approx(model.score([X[k] for k in repeated], [y[k] for k in repeated]))


def test_lists_and_lengths_are_the_same(sequences):
    X, y = sequences
    lengths = [len(x) for x in X]
    listed = ElmanNetwork(3, max_iter=3, random_state=0).fit(X, y)
    flat = ElmanNetwork(3, max_iter=3, random_state=0).fit(np.concatenate(X), np.concatenate(y), lengths)
    found = flat.predict(np.concatenate(X), lengths)
    assert np.array_equal(np.concatenate(listed.predict(X)), found)
    rows = sparse.csr_array(np.concatenate(X))
    thin = ElmanNetwork(3, max_iter=3, random_state=0).fit(rows, np.concatenate(y), lengths)
    np.testing.assert_allclose(thin.predict(rows, lengths), found, rtol=1e-9)


def test_threads_give_the_same_bits():
    rng = np.random.default_rng(5)
    X, y = [rng.normal(size=(300, 2)) for _ in range(40)], [rng.normal(size=300) for _ in range(40)]
    one, two = (ElmanNetwork(4, max_iter=2, random_state=0, n_jobs=n).fit(X, y) for n in (1, 3))
    assert np.array_equal(one.recurrent_weights_, two.recurrent_weights_)


def test_partial_fit_continues_the_optimiser():
    X, y = parity(20, 5)
    plain = ElmanNetwork(4, max_iter=3, shuffle=False, tol=0.0, random_state=0).fit(X, y)
    online = ElmanNetwork(4, random_state=0)
    for _ in range(3):
        online.partial_fit(X, y)
    np.testing.assert_array_equal(online.recurrent_weights_, plain.recurrent_weights_)
    labels = [np.where(part > 0, "odd", "even") for part in y]
    online = ElmanNetworkClassifier(4, random_state=0).partial_fit(X[:1], labels[:1], classes=["odd", "even"])
    assert online.partial_fit(X, labels).classes_.tolist() == ["even", "odd"]
    with pytest.raises(ValueError, match=r"y holds \['neither'\]; the classes are \['even', 'odd'\]"):
        online.partial_fit(X[:1], [["neither"] * 5])
    with pytest.raises(ValueError, match="is not the same as on last call"):
        online.partial_fit(X, labels, classes=["a", "b"])


def test_divergence_is_named_and_keeps_the_last_finite_weights():
    X, y = parity(10, 20)
    model = ElmanNetwork(8, activation="relu", solver="sgd", learning_rate=1e3, clip=None, random_state=0)
    with pytest.raises(ValueError, match=r"not finite in pass \d+; take .* than 1000, such as 100"):
        model.fit(X, y)
    assert np.isfinite(model.recurrent_weights_).all()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda X, y: ElmanNetwork(solver="lbfgs", algorithm="truncated").fit(X, y), "needs algorithm='bptt'"),
        (lambda X, y: ElmanNetwork(solver="lbfgs").partial_fit(X, y), "partial_fit needs solver"),
        (lambda X, y: ElmanNetwork().fit(X), "requires y"),
        (lambda X, y: ElmanNetwork().fit(X, y[:-1]), "y must have a target for each row of X"),
        (lambda X, y: ElmanNetwork().fit(X, [part[1:] for part in y]), "Sequence 0 has 5 rows, but targets"),
        (lambda X, y: ElmanNetworkClassifier().fit(X, [["a"] * 5] * 4), "at least 2 classes"),
        (lambda X, y: ElmanNetwork(output="logistic").fit(X, [3.0 * t for t in y]), "y must be in"),
        (lambda X, y: ElmanNetwork(output="logistic").partial_fit(X, [-t for t in y]), "y must be in"),
        (lambda X, y: elman_forward(X[0], [[1, 2]], [[1]], [0], [[1]], [0]), "U has the shape"),
        (lambda X, y: elman_forward(X[0], *[[]] * 5, activation="step"), "activation must be one of"),
    ],
)  # fmt: skip
def test_wrong_calls_are_named(call, words):
    X, y = parity(4, 5)
    with pytest.raises(ValueError, match=words):
        call(X, y)
