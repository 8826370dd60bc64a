"""Deep belief networks: layer-wise pre-training and fine-tuning."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning

from tercet.neural_network import BernoulliRBM, DBNClassifier, DBNRegressor, DeepBeliefNetwork, GaussianRBM


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:600] / 16, y[:600], X[600:1000] / 16, y[600:1000]


def test_layers_learn_from_those_below(digits):
    X = digits[0][:200]
    model = DeepBeliefNetwork((20, 8), n_iter=3, random_state=0).fit(X)
    first, second = model.rbms_
    assert isinstance(first, BernoulliRBM)
    assert (first.components_.shape, second.components_.shape) == ((20, 64), (8, 20))
    assert model.transform(X) == pytest.approx(second.transform(first.transform(X)))
    assert model.inverse_transform(model.transform(X)).shape == X.shape
    assert len(model.history_["reconstruction_error"]) == 2
    again = BernoulliRBM(**second.get_params()).fit(first.transform(X))
    assert again.components_ == pytest.approx(second.components_)
    assert model.sample(3, 20).shape == (3, 64)
    assert list(model.get_feature_names_out())[-1] == "deepbeliefnetwork7"


def test_units_of_the_features():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    assert isinstance(DeepBeliefNetwork(4, n_iter=1).fit(X).rbms_[0], GaussianRBM)
    assert type(DeepBeliefNetwork(4, n_iter=1).fit(np.abs(np.tanh(X))).rbms_[0]) is BernoulliRBM
    assert isinstance(
        DeepBeliefNetwork(4, n_iter=1, visible="gaussian").fit(np.tanh(X) ** 2).rbms_[0], GaussianRBM
    )
    model = DeepBeliefNetwork((4, 2), n_iter=1, random_state=0).fit(X)
    assert model.transform(X) == pytest.approx(model.rbms_[1].transform(model.rbms_[0].transform(X)))


def test_sparse_rows():
    X = (np.random.default_rng(0).random((40, 6)) < 0.3).astype(float)
    dense, compressed = (
        DeepBeliefNetwork((5, 3), n_iter=2, random_state=0).fit(A) for A in (X, sparse.csr_array(X))
    )
    assert compressed.transform(sparse.csr_array(X)) == pytest.approx(dense.transform(X))


def test_classifier_learns_digits(digits):
    X, y, X_new, y_new = digits
    model = DBNClassifier((60, 40), pretraining_iter=5, max_iter=30, random_state=0)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    assert model.score(X_new, y_new) > 0.85
    assert model.predict_proba(X_new).sum(axis=1) == pytest.approx(1.0)
    assert [coef.shape for coef in model.coefs_] == [(64, 60), (60, 40), (40, 10)]
    assert len(model.network_.rbms_) == 2
    assert model.n_iter_ == len(model.history_["loss"]) == 30
    assert model.history_["loss"][-1] < model.history_["loss"][0]


def test_fine_tuning_starts_from_the_layers(digits):
    X, y = digits[0][:100], digits[1][:100]
    with pytest.warns(ConvergenceWarning):
        model = DBNClassifier((10, 5), max_iter=1, learning_rate=1e-9, random_state=0).fit(X, y)
    for coef, bias, rbm in zip(model.coefs_, model.intercepts_, model.network_.rbms_):
        assert coef == pytest.approx(rbm.components_.T, abs=1e-6)
        assert bias == pytest.approx(rbm.intercept_hidden_, abs=1e-6)


def test_two_classes_and_labels_of_any_kind():
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    model = DBNClassifier((8, 4), learning_rate=0.05, tol=0, max_iter=300, random_state=0)
    model.fit(X, ["no", "yes", "yes", "no"])
    assert model.predict(X).tolist() == ["no", "yes", "yes", "no"]


def test_regressor_in_the_units_of_the_target():
    rng = np.random.default_rng(0)
    X = rng.random((200, 2))
    y = 1000 + 50 * np.sin(4 * X[:, 0]) * X[:, 1]
    model = DBNRegressor((20,), max_iter=100, learning_rate=0.03, batch_size=20, tol=0, random_state=0)
    model.fit(X, y)
    assert model.score(X, y) > 0.95


def test_weights_of_rows(digits):
    X, y = digits[0][:200], digits[1][:200]
    weight = (y < 5).astype(float)
    with pytest.warns(ConvergenceWarning):
        model = DBNClassifier((20,), max_iter=20, learning_rate=0.03, random_state=0).fit(
            X, y, sample_weight=weight
        )
    assert (model.predict(X) < 5).all()


@pytest.mark.parametrize("sizes", [0, (), (3, 0), (2.5,), "3"])
def test_sizes_that_are_none(sizes):
    with pytest.raises(ValueError, match="'hidden_layer_sizes' must be"):
        DeepBeliefNetwork(sizes).fit([[0, 1], [1, 0]])


@pytest.mark.parametrize("kind", [DBNClassifier, DBNRegressor])
def test_a_fit_that_diverges_keeps_the_last_finite_weights(kind):
    X = np.random.default_rng(0).random((30, 4))
    model = kind((5,), solver="sgd", learning_rate=1e300, pretraining_iter=1, random_state=0)
    with pytest.raises(
        ValueError,
        match=rf"{kind.__name__}: the weights are not finite in epoch \d+; take .*, such as 1e\+299",
    ):
        model.fit(X, np.arange(30) % 2)
    assert all(np.isfinite(coef).all() for coef in model.coefs_)


def test_a_loss_that_rises_without_overflow_gives_a_warning():
    X = np.random.default_rng(0).normal(size=(300, 6))
    model = DBNRegressor((5,), learning_rate=2, solver="sgd", max_iter=50, random_state=0)
    with pytest.warns(
        ConvergenceWarning, match=r"DBNRegressor diverged: the loss rose from .*, such as 0\.2"
    ):
        model.fit(X, 10 * X[:, 0])
    assert model.n_iter_ < 50
    assert model.history_["loss"][-1] > model.history_["loss"][0]


@pytest.mark.parametrize("kind", [DBNClassifier, DBNRegressor])
def test_wrong_sizes_name_the_class(kind):
    with pytest.raises(ValueError, match=f"{kind.__name__}: parameter 'hidden_layer_sizes'"):
        kind((0,)).fit([[0, 1], [1, 0]], [0, 1])
