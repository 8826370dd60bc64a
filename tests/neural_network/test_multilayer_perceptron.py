"""MLPClassifier and MLPRegressor: scikit-learn's results, the texts' options, weights, rejection, divergence."""

import re
import warnings
from itertools import pairwise

import numpy as np
import pytest
import sklearn.neural_network as peers
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, make_moons, make_multilabel_classification

import tercet
from tercet import Recorder
from tercet.core.callbacks import EarlyStopping
from tercet.core.steps import ConvergenceWarning
from tercet.datasets import Source
from tercet.multiclass import OneVsRestClassifier
from tercet.neural_network import (
    MLPClassifier,
    MLPRegressor,
    back_propagate,
    momentum_step,
)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
X, Y = load_iris(return_X_y=True)
X = (X - X.mean(axis=0)) / X.std(axis=0)
XOR = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]]), np.array([0, 1, 1, 0])
PLAIN = {"momentum": 0.0, "alpha": 0.0, "shuffle": False}


def weights_of(model):
    return np.concatenate([part.ravel() for part in (*model.coefs_, *model.intercepts_)])


def start(rng, *sizes):
    coefs = [rng.normal(size=shape) for shape in pairwise(sizes)]
    return coefs, [rng.normal(size=size) for size in sizes[1:]]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"solver": "sgd", "learning_rate_init": 0.1, "batch_size": 32},
        {"solver": "sgd", "learning_rate": "invscaling", "nesterovs_momentum": False, "activation": "tanh"},
        {"solver": "sgd", "learning_rate": "adaptive", "tol": 0.1, "learning_rate_init": 0.05},
        {"early_stopping": True, "activation": "logistic", "hidden_layer_sizes": (8, 5)},
        {"hidden_layer_sizes": (), "activation": "identity"},
    ],
)
@pytest.mark.parametrize("name", ["MLPClassifier", "MLPRegressor"])
def test_the_same_seed_gives_the_network_of_scikit_learn(name, options):
    ours, theirs = {"MLPClassifier": MLPClassifier, "MLPRegressor": MLPRegressor}[name], getattr(peers, name)
    given = {"hidden_layer_sizes": (10,), "max_iter": 15, "random_state": 3, **options}
    a, b = ours(**given).fit(X, Y), theirs(**given).fit(X, Y)
    np.testing.assert_allclose(weights_of(a), weights_of(b), rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(a.loss_curve_, b.loss_curve_)
    assert (a.n_iter_, a.t_, a.n_layers_, a.out_activation_) == (
        b.n_iter_,
        b.t_,
        b.n_layers_,
        b.out_activation_,
    )
    if options.get("early_stopping"):
        np.testing.assert_allclose(a.validation_scores_, b.validation_scores_)


def test_poisson_and_float32_agree_with_scikit_learn():
    y = np.random.default_rng(0).poisson(np.exp(X[:, 0] / 2))
    given = {"loss": "poisson", "hidden_layer_sizes": (6,), "max_iter": 10, "random_state": 0}
    a, b = (kind(**given).fit(X.astype(np.float32), y) for kind in (MLPRegressor, peers.MLPRegressor))
    np.testing.assert_allclose(a.predict(X.astype(np.float32)), b.predict(X.astype(np.float32)), rtol=1e-4)
    assert a.coefs_[0].dtype == np.float32


def test_lbfgs_reaches_an_objective_as_low_as_scikit_learn():
    given = {"solver": "lbfgs", "hidden_layer_sizes": (5,), "random_state": 0, "max_iter": 500, "alpha": 1.0}
    a, b = (kind(**given).fit(X, Y) for kind in (MLPClassifier, peers.MLPClassifier))
    assert a.loss_ < 1.02 * b.loss_


@pytest.mark.parametrize("activation", ["identity", "logistic", "tanh", "relu"])
@pytest.mark.parametrize(
    ("output", "loss"),
    [
        ("softmax", "log_loss"), ("one-of-c", "log_loss"), ("binary", "squared_error"),
        ("one-of-c", "squared_error"), ("softmax", "squared_error"),
    ],
)  # fmt: skip
def test_one_update_follows_the_plain_gradient(activation, output, loss):
    rng = np.random.default_rng(1)
    n_out = 2 if output == "binary" else 3
    init = start(rng, 4, 5, 3, n_out)
    model = MLPClassifier(
        (5, 3), activation, solver="accumulated-bp", init=init, output=output, loss=loss,
        learning_rate_init=0.5, **PLAIN,
    )  # fmt: skip
    model.partial_fit(X, Y, classes=[0, 1, 2])
    T = model._code().targets(Y).astype(float)
    out = "softmax" if output == "softmax" else "logistic"
    found = back_propagate(X, T, *init, activation=activation, output=out, loss=loss)
    coefs, _ = momentum_step(init[0], found.coef_grads, eta=0.5)
    intercepts, _ = momentum_step(init[1], found.intercept_grads, eta=0.5)
    for ours, plain in zip((*model.coefs_, *model.intercepts_), (*coefs, *intercepts)):
        np.testing.assert_allclose(ours, plain, atol=1e-12)
    assert model.loss_ == pytest.approx(found.error)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("weight", [None, 0.7])
def test_standard_bp_is_the_plain_rule_row_by_row(container, weight):
    rng = np.random.default_rng(2)
    init, rows, T = start(rng, 4, 3, 2), X[:20], rng.random((20, 2))
    model = MLPRegressor(
        hidden_layer_sizes=3, activation="logistic", output="logistic", solver="bp", init=init,
        learning_rate_init=0.3, error_weight=weight, momentum=0.4, shuffle=False, alpha=0.0, max_iter=2, tol=0.0,
    ).fit(container(rows), T)  # fmt: skip
    coefs, intercepts = init
    dw = db = None
    for _ in range(2):
        for x, t in zip(rows, T):
            found = back_propagate(x, t, coefs, intercepts, error_weight=weight)
            coefs, dw = momentum_step(coefs, found.coef_grads, dw, eta=0.3, momentum=0.4)
            intercepts, db = momentum_step(intercepts, found.intercept_grads, db, eta=0.3, momentum=0.4)
    for ours, plain in zip((*model.coefs_, *model.intercepts_), (*coefs, *intercepts)):
        np.testing.assert_allclose(ours, plain, atol=1e-10)


@pytest.mark.parametrize(
    ("table", "activation"),
    [
        (load_iris(return_X_y=True), "relu"),
        (make_moons(300, noise=0.2, random_state=0), "relu"),
        (make_moons(300, noise=0.2, random_state=0), "tanh"),
    ],
    ids=["iris-relu", "moons-relu", "moons-tanh"],
)
def test_lbfgs_ends_as_low_as_scikit_learn_from_many_starts(table, activation):
    """Kinks of ReLU units catch a search for the strong Wolfe conditions; local minima make single runs differ."""
    A, y = table
    Z = (A - A.mean(axis=0)) / A.std(axis=0)
    given = {"solver": "lbfgs", "hidden_layer_sizes": (8,), "activation": activation, "max_iter": 200}
    ours, theirs = (
        [network(random_state=seed, **given).fit(Z, y).loss_ for seed in range(16)]
        for network in (MLPClassifier, peers.MLPClassifier)
    )
    assert np.mean(ours) <= 1.2 * np.mean(theirs)


@pytest.mark.parametrize(
    ("solver", "learning_rate"),
    [("lbfgs", "constant"), *(("accumulated-bp", kind) for kind in ("constant", "invscaling", "adaptive"))],
)
@pytest.mark.parametrize("error_weight", [None, 0.9])
def test_weights_equal_repeated_rows(solver, learning_rate, error_weight):
    count = np.random.default_rng(0).integers(0, 3, len(X))
    given = {
        "hidden_layer_sizes": (4,), "activation": "tanh", "solver": solver, "max_iter": 20, "random_state": 0,
        "alpha": 0.1, "learning_rate_init": 0.3, "error_weight": error_weight, "learning_rate": learning_rate,
    }  # fmt: skip
    there = count > 0
    weighted = MLPClassifier(**given).fit(X, Y, count)
    dropped = MLPClassifier(**given).fit(X[there], Y[there], count[there])
    repeated = MLPClassifier(**given).fit(np.repeat(X, count, axis=0), np.repeat(Y, count))
    for other in (dropped, repeated):
        np.testing.assert_allclose(weights_of(weighted), weights_of(other), rtol=1e-6, atol=1e-8)


def test_the_step_of_accumulated_bp_decreases_with_its_updates():
    init = start(np.random.default_rng(0), 4, 3, 1)
    options = {"activation": "logistic", "output": "identity"}
    given = {
        "hidden_layer_sizes": 3,
        "activation": "logistic",
        "init": init,
        "learning_rate_init": 0.3,
        **PLAIN,
    }
    model = MLPRegressor(
        solver="accumulated-bp", learning_rate="invscaling", power_t=0.7, max_iter=3, **given
    )
    model.fit(X, Y)
    coefs, intercepts = init
    for t in range(3):
        found, eta = back_propagate(X, Y[:, None], coefs, intercepts, **options), 0.3 / (t + 1) ** 0.7
        coefs, _ = momentum_step(coefs, found.coef_grads, eta=eta)
        intercepts, _ = momentum_step(intercepts, found.intercept_grads, eta=eta)
    plain = np.concatenate([part.ravel() for part in (*coefs, *intercepts)])
    np.testing.assert_allclose(weights_of(model), plain, rtol=1e-10)


def test_weighted_mini_batches_follow_the_weighted_gradient_on_average():
    weight = np.random.default_rng(0).random(len(X)) * 3
    init = start(np.random.default_rng(1), 4, 1)
    y = X[:, 0] + 1
    given = {
        "hidden_layer_sizes": (),
        "init": init,
        "learning_rate_init": 1e-6,
        "alpha": 0.0,
        "momentum": 0.0,
    }
    one = MLPRegressor(solver="sgd", batch_size=len(X), **given).partial_fit(X, y, weight)
    many = MLPRegressor(solver="sgd", batch_size=10, **given).partial_fit(X, y, weight)
    begin = np.concatenate([part.ravel() for part in init[0] + init[1]])
    moves = [weights_of(model) - begin for model in (one, many)]
    np.testing.assert_allclose(moves[1] / 15, moves[0], rtol=1e-3)


def test_xor_by_the_texts_algorithm_in_given_and_random_order():
    for shuffle in (False, True):
        model = MLPClassifier(
            2, "logistic", solver="bp", loss="squared_error", init=1.0, momentum=0.0, alpha=0.0, tol=0.0,
            learning_rate_init=1.0, max_iter=5000, target_loss=0.01, shuffle=shuffle, random_state=1,
        ).fit(*XOR)  # fmt: skip
        assert model.score(*XOR) == 1.0
        assert model.loss_ <= 0.01 < model.loss_curve_[-2]
        assert model.history_["loss"] == model.loss_curve_


def test_accumulated_bp_switches_to_standard_bp_when_it_is_slow():
    given = {"solver": "accumulated-bp", "max_iter": 60, "learning_rate_init": 0.05, "random_state": 0}
    given["momentum"] = 0.0
    slow = MLPClassifier((5,), "logistic", **given).fit(X, Y)
    fast = MLPClassifier((5,), "logistic", switch_below=0.05, **given).fit(X, Y)
    assert fast.loss_ < 0.5 * slow.loss_
    assert fast.loss_curve_[:2] == slow.loss_curve_[:2]


def test_stops_at_small_changes_of_the_weights():
    model = MLPRegressor(hidden_layer_sizes=(), solver="accumulated-bp", momentum=0.0, learning_rate_init=0.3,
                         weight_tol=1e-4, tol=0.0, n_iter_no_change=np.inf, max_iter=2000)  # fmt: skip
    model.fit(X, X @ [1.0, 2.0, -1.0, 0.5])
    assert 1 < model.n_iter_ < 2000


@pytest.mark.parametrize(("init", "low", "high"), [("unit", 0, 1), (0.3, -0.3, 0.3), ("he", -1.3, 1.3)])
def test_initial_weights_lie_in_their_range(init, low, high):
    model = MLPClassifier((40,), solver="bp", init=init, learning_rate_init=1e-12, random_state=0)
    model.partial_fit(X[:1], Y[:1], classes=[0, 1, 2])
    W = model.coefs_[0]
    margin = 0.1 * (high - low)
    assert low <= W.min() < low + margin
    assert high - margin < W.max() <= high
    thresholds = model.thresholds_[0]
    np.testing.assert_array_equal(thresholds, -model.intercepts_[0])
    assert (thresholds.min() > -1e-9) == (init in ("unit", "he"))


def test_output_codes():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(5), 20)
    Z = rng.normal(size=(5, 3))[y] * 5 + rng.normal(size=(100, 3)) * 0.1
    nodes = {"softmax": 5, "one-of-c": 5, "binary": 3}
    for output, wanted in nodes.items():
        model = MLPClassifier((10,), "tanh", solver="lbfgs", output=output, random_state=0).fit(Z, y)
        assert model.n_outputs_ == wanted
        assert model.score(Z, y) == 1.0
        np.testing.assert_allclose(model.predict_proba(Z).sum(axis=1), 1.0)
    two = MLPClassifier((3,), output="softmax", solver="lbfgs").fit(X[:100], Y[:100])
    assert (two.n_outputs_, two.out_activation_) == (2, "softmax")
    several = OneVsRestClassifier(MLPClassifier((4,), solver="lbfgs", random_state=0)).fit(X, Y)
    assert several.score(X, Y) > 0.9


def test_a_single_class_has_probability_one():
    model = MLPClassifier((3,), max_iter=2).fit(X, np.zeros(len(X)))
    assert model.predict_proba(X[:2]).tolist() == [[1.0], [1.0]]
    assert model.predict(X[:2]).tolist() == [0.0, 0.0]


def test_rejection_and_thresholds():
    init = [[[1.0]]], [[0.0]]
    z = np.log([[1 / 9], [2 / 3], [1.5], [9.0]])  # outputs 0.1, 0.4, 0.6, 0.9

    def decide(labels=("a", "b"), **options):
        model = MLPClassifier((), solver="bp", init=init, learning_rate_init=1e-12, alpha=0.0, **options)
        return model.partial_fit(np.zeros((2, 1)), list(labels), classes=list(labels))

    assert decide().predict(z).tolist() == ["a", "a", "b", "b"]
    assert decide(threshold=0.3).predict(z).tolist() == ["a", "b", "b", "b"]
    assert decide(reject=(0.3, 0.7)).predict(z).tolist() == ["a", "reject", "reject", "b"]
    assert decide(reject=0.4).predict(z).tolist() == ["a", "reject", "reject", "b"]
    numbers = decide((0, 1), reject=(0.3, 0.7))
    assert numbers.predict(z).tolist() == [0, -1, -1, 1]
    assert numbers.score(z, [0, 0, 1, 1]) == 0.5
    assert decide((0, 1), reject=0.4, reject_label=7).predict(z).tolist() == [0, 7, 7, 1]
    with pytest.raises(ValueError, match="reject_label"):
        decide((0, 1), reject=0.4, reject_label=1)
    with pytest.raises(ValueError, match="low < high"):
        decide(reject=(0.7, 0.3))
    with pytest.raises(ValueError, match="output='binary'"):
        MLPClassifier(reject=(0.3, 0.7)).fit(X, Y)
    some = MLPClassifier((5,), reject=0.6, max_iter=30, random_state=0).fit(X, Y)
    proba = np.sort(some.predict_proba(X), axis=1)
    np.testing.assert_array_equal(some.predict(X) == -1, proba[:, -1] - proba[:, -2] < 0.6)


def test_several_labels_and_several_outputs():
    A, L = make_multilabel_classification(80, n_labels=2, random_state=0)
    A = A / A.max()
    model = MLPClassifier((20,), solver="lbfgs", random_state=0).fit(A, L)
    assert model.predict(A).shape == L.shape
    assert model.score(A, L) > 0.9
    T = np.column_stack([X[:, 0], X[:, 1] - X[:, 2]])
    assert MLPRegressor("squared_error", (10,), solver="lbfgs", random_state=0).fit(X, T).score(X, T) > 0.99


def test_divergence_keeps_the_last_finite_weights():
    model = MLPRegressor(hidden_layer_sizes=(10,), activation="identity", solver="sgd", learning_rate_init=0.5,
                         random_state=0, max_iter=100)  # fmt: skip
    with pytest.warns(
        ConvergenceWarning, match=r"smaller learning_rate_init than 0.5, such as 0.05"
    ) as caught:
        model.fit(X * 3, Y)
    assert "Raise" not in str(caught[0].message)  # the hint of fits that only end too early
    assert np.isfinite(weights_of(model)).all()
    assert np.isfinite(model.loss_curve_).all()
    assert model.loss_ == model.loss_curve_[-1]


@pytest.mark.parametrize("solver", ["sgd", "accumulated-bp"])
def test_a_loss_that_rises_without_overflow_gives_a_warning(solver):
    given = {"hidden_layer_sizes": 10, "activation": "tanh", "solver": solver, "random_state": 0}
    rows = np.random.default_rng(0).normal(size=(300, 6))
    model = MLPRegressor(learning_rate_init=1.0, **given)
    with pytest.warns(ConvergenceWarning, match=r"diverged: the loss rose from .*, such as 0\.1, or scale"):
        model.fit(rows, 10 * rows[:, 0])
    assert model.n_iter_ < model.max_iter
    assert np.isfinite(model.loss_curve_).all()
    assert model.loss_ > 100 * model.loss_curve_[0]
    with warnings.catch_warnings():  # a loss that does not change but for rounding has not risen
        warnings.simplefilter("error")
        MLPRegressor(learning_rate_init=1e-300, tol=1e-15, **given).fit(rows, rows[:, 0])


@pytest.mark.parametrize("warm_start", [False, True])
def test_a_first_epoch_that_diverges_keeps_finite_weights(warm_start):
    model = MLPRegressor(hidden_layer_sizes=5, solver="bp", random_state=0, max_iter=2, warm_start=warm_start)
    first = clone(model).set_params(learning_rate_init=1e-300).partial_fit(X, Y)
    with pytest.raises(ValueError, match=r"smaller learning_rate_init than 1e\+09"):
        model.set_params(learning_rate_init=1e9).fit(X, Y)
    np.testing.assert_array_equal(weights_of(model), weights_of(first))
    assert model.n_iter_ == 0
    assert not hasattr(model, "loss_")
    before = clone(model).set_params(learning_rate_init=1e-3).fit(X, Y)
    model.set_params(learning_rate_init=1e-3, warm_start=False).fit(X, Y)
    np.testing.assert_array_equal(weights_of(model), weights_of(before))
    with pytest.raises(ValueError, match="smaller learning_rate_init"):
        model.set_params(learning_rate_init=1e9, warm_start=warm_start).fit(X, Y)
    kept = before if warm_start else first
    np.testing.assert_array_equal(weights_of(model), weights_of(kept))
    assert (model.n_iter_, vars(model).get("loss_")) == (0, before.loss_ if warm_start else None)
    model.set_params(learning_rate_init=1e-3).partial_fit(X, Y)
    assert np.isfinite(model.loss_)


@pytest.mark.parametrize("solver", ["sgd", "bp", "adam"])
def test_a_smaller_step_size_helps_after_a_batch_that_diverged(solver):
    model = MLPRegressor(hidden_layer_sizes=(10,), solver=solver, batch_size=10, random_state=0).partial_fit(
        X, Y
    )
    before = weights_of(model)
    with pytest.raises(ValueError, match=r"smaller learning_rate_init than 1e\+200, such as 1e\+199"):
        model.set_params(learning_rate_init=1e200).partial_fit(X, Y)
    np.testing.assert_array_equal(weights_of(model), before)
    model.set_params(learning_rate_init=1e-3).partial_fit(X, Y)
    assert 0 < np.abs(weights_of(model) - before).max() < 1


def test_clear_errors():
    with pytest.raises(ValueError, match="hidden_layer_sizes must be > 0"):
        MLPClassifier((5, 0)).fit(X, Y)
    for size in (2.5, np.nan, None, "3", True):
        with pytest.raises(ValueError, match=r"hidden_layer_sizes must be > 0, .*whole number"):
            MLPClassifier((5, size)).fit(X, Y)
    for solver, y in (("lbfgs", Y), ("adam", Y)):
        with pytest.raises(ValueError, match=r"MLPRegressor: .* large values"):
            MLPRegressor(solver=solver).fit(X * 1e300, y)
    with pytest.raises(ValueError, match=r"hidden_layer_sizes=.* asks for"):
        MLPClassifier((10**12,)).fit(X, Y)
    with pytest.raises(ValueError, match=r"y must be in \[0, 1\], the range of logistic outputs"):
        MLPRegressor(output="logistic").fit(X, Y)
    with pytest.raises(ValueError, match=r"exp outputs; .* Use loss='squared_error'\."):
        MLPRegressor("poisson").fit(X, Y - 1)
    with pytest.raises(ValueError, match="NaN"):
        MLPRegressor().fit(np.where(X > 2, np.nan, X), Y)
    with pytest.raises(ValueError, match="init must be a pair"):
        MLPRegressor(hidden_layer_sizes=3, init=([np.ones((4, 2))], [np.ones(2)])).fit(X, Y)
    for value in (0.0, 0.5):  # units that are equal at first have equal gradients
        same = [np.full((4, 3), value), np.full((3, 1), value)], [np.zeros(3), np.zeros(1)]
        with pytest.warns(UserWarning, match="units of hidden layer 1 the same weights: they stay equal"):
            model = MLPRegressor(hidden_layer_sizes=3, init=same, max_iter=3).fit(X, Y)
        np.testing.assert_allclose(model.coefs_[0], np.tile(model.coefs_[0][:, :1], 3), rtol=1e-12)
    model = MLPClassifier((4,), warm_start=True, max_iter=2).fit(X, Y)
    with pytest.raises(ValueError, match="warm_start=False"):
        model.set_params(hidden_layer_sizes=(5,)).fit(X, Y)


def test_early_stopping_returns_the_best_weights():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(200, 10))
    y = (Z[:, 0] + rng.normal(size=200) > 0).astype(int)
    model = MLPClassifier((50,), early_stopping=True, validation_fraction=0.3, random_state=0)
    model.set_params(learning_rate_init=0.02)
    recorder = Recorder()
    model.set_callbacks(recorder).fit(Z, y)
    best = int(np.argmax(model.validation_scores_))
    assert best < model.n_iter_ - 1
    np.testing.assert_array_equal(model.coefs_[0], recorder.frames[best].attributes["coefs_"][0])


def test_callbacks_see_every_epoch_and_hold_out_rows():
    recorder = Recorder()
    model = MLPClassifier((5,), max_iter=12, random_state=0).set_callbacks(recorder).fit(X, Y)
    assert len(recorder.frames) == 12
    np.testing.assert_array_equal(recorder.frames[-1].estimator.predict(X), model.predict(X))
    stopped = MLPClassifier((30,), learning_rate_init=0.1, max_iter=300, random_state=0)
    stopped.set_callbacks(EarlyStopping(patience=3)).fit(X, Y)
    assert stopped.n_iter_ < 300
    np.testing.assert_allclose(
        stopped.validation_scores_[stopped.best_iter_ - 1], max(stopped.validation_scores_)
    )


def test_partial_fit_goes_on_with_its_moments_and_orders():
    whole = MLPClassifier((5,), max_iter=4, shuffle=False, random_state=0).fit(X, Y)
    parts = MLPClassifier((5,), shuffle=False, random_state=0)
    for _ in range(4):
        parts.partial_fit(X, Y, classes=[0, 1, 2])
    np.testing.assert_array_equal(weights_of(whole), weights_of(parts))
    with pytest.raises(ValueError, match="classes are"):
        parts.partial_fit(X[:1], [7])
    assert not hasattr(MLPClassifier(solver="lbfgs"), "partial_fit")


def test_the_number_of_threads_does_not_matter():
    from threadpoolctl import threadpool_limits

    rng = np.random.default_rng(0)
    Z, y = rng.normal(size=(3000, 40)), rng.integers(0, 3, 3000)
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads), pytest.MonkeyPatch.context() as patch:
            patch.setenv("OMP_NUM_THREADS", str(threads))
            model = MLPClassifier((50,), max_iter=3, random_state=0)
            models = [clone(model).set_params(solver=solver).fit(Z, y) for solver in ("adam", "lbfgs")]
        found.append([weights_of(model).tobytes() for model in models])
    assert found[0] == found[1]


def test_sparse_rows_give_the_same_network():
    Z = np.where(np.abs(X) > 0.5, X, 0.0)
    for solver in ("adam", "lbfgs", "bp"):
        given = {"hidden_layer_sizes": (5,), "solver": solver, "max_iter": 5, "random_state": 0}
        dense = MLPClassifier(**given).fit(Z, Y)
        thin = MLPClassifier(**given).fit(sparse.csr_array(Z), Y)
        np.testing.assert_allclose(weights_of(dense), weights_of(thin), rtol=1e-8, atol=1e-10)


def test_ctrl_c_leaves_the_last_epoch():
    class Interrupt:
        def setup(self, estimator, context): ...
        def teardown(self, estimator, context): ...
        def on_fit_task_begin(self, estimator, context): ...

        def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
            if len(getattr(estimator, "loss_curve_", [])) == 3:
                raise KeyboardInterrupt

    model = MLPClassifier((5,), random_state=0).set_callbacks(Interrupt())
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        three = MLPClassifier((5,), random_state=0, max_iter=3).fit(X, Y)
    np.testing.assert_array_equal(model.predict_proba(X), three.predict_proba(X))


@pytest.mark.parametrize("shuffle", [False, True])
def test_partial_fit_gives_the_network_of_scikit_learn(shuffle):
    given = {"hidden_layer_sizes": (5,), "batch_size": 10, "random_state": 0, "shuffle": shuffle}
    ours, theirs = (kind(**given) for kind in (MLPRegressor, peers.MLPRegressor))
    for _ in range(1 if shuffle else 3):
        np.testing.assert_allclose(
            weights_of(ours.partial_fit(X, Y)), weights_of(theirs.partial_fit(X, Y)), rtol=1e-9, atol=1e-12
        )


@pytest.mark.parametrize("kind", [MLPClassifier, MLPRegressor])
def test_partial_fit_of_a_source_says_what_to_give(kind, tmp_path):
    np.save(tmp_path / "rows.npy", np.column_stack([X, Y]))
    more = {"classes": [0, 1, 2]} if kind is MLPClassifier else {}
    with pytest.raises(TypeError, match="X is a source; this takes arrays"):
        kind().partial_fit(Source(tmp_path / "rows.npy"), y=X.shape[1], **more)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"solver": "bp", "shuffle": False}, "solver='bp' visits single rows. Use 'lbfgs'"),
        ({"solver": "accumulated-bp", "switch_below": 0.1}, "switch_below goes on with standard"),
        ({"solver": "sgd"}, "shuffle=True visits the rows in a random order"),
        ({"solver": "adam", "shuffle": False, "early_stopping": True}, "Set early_stopping=False"),
        ({"solver": "accumulated-bp", "max_iter": 3}, ""),
        ({"solver": "lbfgs", "max_iter": 3, "early_stopping": True}, ""),
    ],
)
def test_what_learns_from_a_source(options, says, tmp_path):
    np.save(tmp_path / "rows.npy", np.column_stack([X, Y]))
    source, y = Source(tmp_path / "rows.npy"), X.shape[1]
    model = MLPRegressor(hidden_layer_sizes=3, random_state=0, **options)
    with tercet.engine("stream"), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        if says:
            with pytest.raises(TypeError, match=re.escape(says)):
                model.fit(source, y=y)
        else:
            streamed = model.fit(source, y=y).coefs_
            for here, there in zip(streamed, model.fit(X, Y).coefs_):
                np.testing.assert_array_equal(here, there)


def test_a_reject_option_that_is_set_after_fit_is_checked_too():
    model = MLPClassifier((3,), output="one-of-c", solver="lbfgs", max_iter=5, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="read by a threshold"):
        model.set_params(reject=(0.3, 0.7)).predict(X)
