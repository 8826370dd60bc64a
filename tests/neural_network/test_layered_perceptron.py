"""Layered perceptrons with fixed hidden units."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_circles

from tercet.linear_model import Perceptron
from tercet.neural_network import LayeredPerceptron, ThresholdNetwork

SQUARE = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
HIDDEN = ThresholdNetwork([[[1, 1], [1, 1]]], [[0.5, 1.5]])


def circles(n=200, seed=0):
    return make_circles(n, noise=0.1, factor=0.4, random_state=seed)


def test_xor_by_the_perceptron_rule():
    """The course by hand: five passes, the last without a mistake."""
    model = LayeredPerceptron(HIDDEN, tol=None, shuffle=False, on_plane="negative").fit(SQUARE, [0, 1, 1, 0])
    assert model.history_["mistakes"] == [2, 2, 1, 1, 0]
    np.testing.assert_array_equal(model.coef_, [[1, -2]])
    np.testing.assert_array_equal(model.intercept_, [0])
    np.testing.assert_array_equal(model.predict(SQUARE), [0, 1, 1, 0])


def test_it_is_a_perceptron_of_the_hidden_outputs():
    X, y = circles()
    model = LayeredPerceptron(n_hidden=30, random_state=1).fit(X, y)
    H = model.hidden_outputs(X)
    assert set(np.unique(H)) == {0, 1}
    plain = Perceptron(random_state=1).fit(H, y)
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    np.testing.assert_array_equal(model.decision_function(X), plain.decision_function(H))
    network = ThresholdNetwork(model.hidden_weights_, model.hidden_thresholds_)
    np.testing.assert_array_equal(network.predict(X), H)


@pytest.mark.parametrize("hidden", ["random", "bisectors"])
@pytest.mark.parametrize("output", ["binary", "sign"])
def test_curved_classes(hidden, output):
    (X, y), (Z, z) = circles(), circles(seed=1)
    assert Perceptron().fit(X, y).score(Z, z) < 0.7
    model = LayeredPerceptron(hidden, output=output, variant="averaged").fit(X, y)
    assert model.score(Z, z) > 0.95


def test_several_layers_and_classes():
    rng = np.random.default_rng(0)
    hidden = ThresholdNetwork(
        [rng.normal(size=(2, 40)), rng.normal(size=(40, 60))], [rng.normal(size=40), np.zeros(60)]
    )
    X = rng.uniform(-1, 1, (300, 2))
    y = np.array(["in", "middle", "out"])[np.digitize(np.hypot(*X.T), [0.4, 0.8])]
    model = LayeredPerceptron(hidden, variant="averaged").fit(X, y)
    assert model.coef_.shape == (3, 60)
    assert [W.shape for W in model.hidden_weights_] == [(2, 40), (40, 60)]
    assert model.score(X, y) > 0.85


@pytest.mark.parametrize("hidden", ["random", "bisectors"])
def test_the_units_of_the_features_do_not_matter(hidden):
    X, y = circles()
    scale = np.array([1024.0, 1.0]) if hidden == "random" else np.array([8.0, 8.0])
    models = [LayeredPerceptron(hidden).fit(Z, y) for Z in (X, X * scale)]
    np.testing.assert_array_equal(models[0].predict(X), models[1].predict(X * scale))


def test_no_unit_is_drawn_from_rows_of_weight_zero():
    X, y = circles(60)
    far = np.vstack([X, X + 1000])
    weight = np.repeat([1.0, 0.0], 60)
    for hidden in ("random", "bisectors"):
        model = LayeredPerceptron(hidden, n_hidden=20, shuffle=False)
        H = model.fit(far, np.tile(y, 2), sample_weight=weight).hidden_outputs(X)
        assert 0 < H.mean() < 1
        assert (H.min(axis=0) < H.max(axis=0)).mean() > 0.8


def test_sparse_rows():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((80, 6)) < 0.5, 0, rng.integers(1, 5, (80, 6))).astype(float)
    y = (X[:, 0] > X[:, 1]).astype(int)
    for hidden in ("random", "bisectors"):
        dense, thin = (LayeredPerceptron(hidden).fit(Z, y) for Z in (X, sparse.csr_array(X)))
        np.testing.assert_allclose(thin.hidden_weights_[0], dense.hidden_weights_[0])
        np.testing.assert_array_equal(thin.predict(sparse.csr_array(X)), dense.predict(X))


def test_batches_keep_the_hidden_units_of_the_first():
    X, y = circles(300)
    model = LayeredPerceptron(n_hidden=50, shuffle=False)
    first = None
    for k in range(60):
        rows = slice(k % 6 * 50, k % 6 * 50 + 50)
        model.partial_fit(X[rows], y[rows], classes=[0, 1])
        first = model.hidden_weights_[0] if first is None else first
    np.testing.assert_array_equal(model.hidden_weights_[0], first)
    assert model.score(X, y) > 0.9


def test_a_network_of_other_inputs_is_refused():
    with pytest.raises(
        ValueError, match="parameter 'hidden' must be a network with as many inputs as X has columns, 3"
    ):
        LayeredPerceptron(HIDDEN).fit(np.eye(3), [0, 1, 1])


def test_more_units_than_memory_are_refused():
    with pytest.raises(ValueError, match=r"n_hidden=1099511627776 needs about .* GB of memory"):
        LayeredPerceptron(n_hidden=2**40).fit(SQUARE, [0, 1, 1, 0])


def test_layers_of_a_file_must_fit():
    model = LayeredPerceptron(HIDDEN).fit(SQUARE, [0, 1, 1, 0])
    state = model.__getstate__()
    state["hidden_weights_"] = [np.ones((3, 2))]
    with pytest.raises(ValueError, match="hidden_weights_ lead from 3 inputs to 2 units"):
        LayeredPerceptron().__setstate__(state)


def test_initial_weights_of_another_shape_are_refused_by_the_name_of_the_class():
    with pytest.raises(
        ValueError, match="LayeredPerceptron: coef_init and intercept_init must have the shapes"
    ):
        LayeredPerceptron(n_hidden=5).fit([[0.0], [1.0]], [0, 1], np.ones(2))
