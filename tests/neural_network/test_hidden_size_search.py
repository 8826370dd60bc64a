"""The number of hidden units: cross-validation, pruning, growing."""

import warnings

import numpy as np
import pytest
import sklearn.neural_network
from sklearn.base import clone
from sklearn.datasets import make_circles
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score

from tercet.linear_model import LogisticRegression
from tercet.neural_network import HiddenSizeSearch, MLPClassifier, MLPRegressor
from tercet.neural_network.hidden_size_search import (
    add_units,
    delete_units,
    strengths,
    train_with_l1,
    with_weights,
)
from tercet.plot import plot_hidden_sizes

CIRCLES = make_circles(120, noise=0.1, factor=0.5, random_state=0)
OURS, PEERS = (
    (MLPClassifier, MLPRegressor),
    (
        sklearn.neural_network.MLPClassifier,
        sklearn.neural_network.MLPRegressor,
    ),
)


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def sine(n=120):
    rng = np.random.default_rng(0)
    x = rng.uniform(-3, 3, n)
    return x[:, None], np.sin(x) + rng.normal(0, 0.1, n)


def classifier(kind=MLPClassifier, **more):
    return kind(**{"activation": "tanh", "solver": "lbfgs", "max_iter": 200, "random_state": 0, **more})


def test_the_scores_are_those_of_cross_validation():
    X, y = CIRCLES
    model = HiddenSizeSearch(classifier(), sizes=[4, 1, (3, 2)], cv=3).fit(X, y)
    table = model.results_
    assert table["hidden_layer_sizes"] == [(1,), (4,), (3, 2)]
    for k, size in enumerate(table["hidden_layer_sizes"]):
        network = classifier(hidden_layer_sizes=size)
        scores = cross_val_score(network, X, y, cv=StratifiedKFold(3))
        assert table["score"][k] == pytest.approx(scores.mean())
        assert table["std_score"][k] == pytest.approx(scores.std())
        fitted = network.fit(X, y)
        assert table["n_weights"][k] == sum(part.size for part in (*fitted.coefs_, *fitted.intercepts_))
    best = classifier(hidden_layer_sizes=model.hidden_layer_sizes_).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), best.predict_proba(X))
    assert table["rank"][model.best_index_] == 1
    assert model.best_score_ == max(table["score"])


def test_of_equal_scores_the_smaller_network():
    X, y = sine()
    network = classifier(MLPRegressor, max_iter=500)
    exact = HiddenSizeSearch(network, sizes=[1, 2, 4], cv=3).fit(X, y)
    rough = HiddenSizeSearch(network, sizes=[1, 2, 4], cv=3, tol=0.05).fit(X, y)
    coarse = HiddenSizeSearch(network, sizes=[1, 2, 4], cv=3, tol=1.0).fit(X, y)
    assert exact.results_ == rough.results_
    assert rough.hidden_layer_sizes_ == (2,)
    assert coarse.hidden_layer_sizes_ == (1,)


def test_sizes_may_be_a_range():
    network = MLPClassifier(solver="lbfgs", max_iter=20, random_state=0)
    found = HiddenSizeSearch(network, sizes=range(1, 4), cv=2).fit(*CIRCLES)
    assert found.results_["hidden_layer_sizes"] == [(1,), (2,), (3,)]


def test_leave_one_out():
    X, y = CIRCLES[0][:20], CIRCLES[1][:20]
    model = HiddenSizeSearch(classifier(max_iter=20), sizes=[1, 3], cv="loo").fit(X, y)
    scores = np.array(model.results_["score"]) * 20
    np.testing.assert_allclose(scores, scores.round(), atol=1e-9)


@pytest.mark.parametrize("kind", [MLPRegressor, sklearn.neural_network.MLPRegressor])
def test_a_single_held_out_row_is_scored_by_its_squared_error(kind):
    X, y = sine(12)
    network = classifier(kind, max_iter=20)
    model = HiddenSizeSearch(network, sizes=[1, 2], cv="loo").fit(X, y)
    wanted = [
        cross_val_score(
            clone(network).set_params(hidden_layer_sizes=size), X, y, cv=12, scoring="neg_mean_squared_error"
        ).mean()
        for size in model.results_["hidden_layer_sizes"]
    ]
    np.testing.assert_allclose(model.results_["score"], wanted)
    given = HiddenSizeSearch(network, sizes=[1, 2], cv="loo", scoring="neg_mean_absolute_error").fit(X, y)
    assert given.results_["score"] != model.results_["score"]
    grown = HiddenSizeSearch(
        network, algorithm="grow", sizes=[1, 2], validation_fraction=1 / 12, random_state=0
    )
    assert np.isfinite(grown.fit(X, y).results_["score"]).all()


@pytest.mark.parametrize("kinds", [OURS, PEERS], ids=["ours", "scikit-learn's"])
@pytest.mark.parametrize("algorithm", ["prune", "grow"])
def test_networks_of_both_libraries_shrink_and_grow(kinds, algorithm):
    options = {
        "algorithm": algorithm,
        "sizes": [1, 2, 3, 4, 8],
        "random_state": 0,
        "patience": 2,
        "tol": 0.01,
    }
    X, y = CIRCLES
    model = HiddenSizeSearch(classifier(kinds[0]), alpha=0.1, **options).fit(X, y)
    assert 3 <= model.hidden_layer_sizes_[0] <= 5
    assert model.best_estimator_.coefs_[0].shape == (2, *model.hidden_layer_sizes_)
    assert model.score(X, y) > 0.9
    X, y = sine()
    model = HiddenSizeSearch(classifier(kinds[1]), alpha=0.01, **options).fit(X, y)
    assert 2 <= model.hidden_layer_sizes_[0] <= 4
    assert model.score(X, y) > 0.95
    sizes = [size[0] for size in model.results_["hidden_layer_sizes"]]
    assert sizes == sorted(sizes, reverse=algorithm == "prune")
    best = model.best_estimator_.get_params()
    assert best["hidden_layer_sizes"] == model.hidden_layer_sizes_
    assert best["warm_start"] is False


@pytest.mark.parametrize("kind", [MLPClassifier, sklearn.neural_network.MLPClassifier])
def test_each_pass_shrinks_the_weights_by_its_steps(kind):
    X, y = CIRCLES
    options = {"solver": "sgd", "momentum": 0.5, "learning_rate_init": 0.02, "batch_size": 50, "max_iter": 1}
    network = classifier(kind, hidden_layer_sizes=(5,), **options)
    plain = clone(network).partial_fit(X, y, classes=[0, 1])
    sparse = train_with_l1(clone(network), X, y, {}, 30.0, "")
    shrinkage = 3 * 0.02 / 0.5 * 30.0 / 120  # three batches of a pass
    for W, w in zip(plain.coefs_, sparse.coefs_):
        np.testing.assert_allclose(w, np.sign(W) * np.maximum(np.abs(W) - shrinkage, 0), atol=1e-15)
    for b, c in zip(plain.intercepts_, sparse.intercepts_):
        np.testing.assert_array_equal(b, c)


def test_the_sum_of_absolute_weights_as_penalty():
    """At a minimum the loss changes by alpha / n with each weight, or by less where the weight is zero."""
    X, y = sine(40)
    options = {
        "solver": "accumulated-bp",
        "learning_rate_init": 0.2,
        "momentum": 0.5,
        "alpha": 0.0,
        "tol": 0.0,
    }
    network = classifier(MLPRegressor, hidden_layer_sizes=4, max_iter=3000, n_iter_no_change=3000, **options)
    model = train_with_l1(network, X, y, {}, 0.8, "")

    def change(W, at, h=1e-5):
        losses = []
        for move in (h, -2 * h):
            W[at] += move
            losses.append(np.mean((model.predict(X) - y) ** 2) / 2)
        W[at] += h
        return (losses[0] - losses[1]) / (2 * h)

    zeros = 0
    for W in model.coefs_:
        for at in np.ndindex(W.shape):
            value = W[at]
            slope = change(W, at)
            if value == 0:
                zeros += 1
                assert abs(slope) <= 0.8 / 40 + 1e-4
            else:
                assert slope == pytest.approx(-np.sign(value) * 0.8 / 40, abs=2e-3)
    assert 0 < zeros < 8


def test_pruning_by_back_propagation():
    """The text's own training, with the sum of absolute weights as penalty."""
    X, y = CIRCLES
    network = classifier(
        solver="bp", loss="squared_error", learning_rate_init=0.1, momentum=0.0, max_iter=100
    )
    model = HiddenSizeSearch(
        network, algorithm="prune", penalty="l1", sizes=[3, 6], alpha=0.02, random_state=0
    )
    assert model.fit(X, y).score(X, y) > 0.9
    assert model.hidden_layer_sizes_[0] <= 6


def test_strength_is_incoming_times_outgoing():
    coefs = [np.array([[3.0, 0.0], [4.0, 1.0]]), np.array([[2.0], [0.5]])]
    np.testing.assert_allclose(strengths(coefs)[0], [10, 0.5])


def test_weak_units_are_deleted_with_their_weights():
    W, V = np.arange(1.0, 9.0).reshape(2, 4), np.array([[1.0], [1e-3], [1.0], [2e-3]])
    coefs, intercepts = delete_units([W, V], [np.arange(4.0), np.zeros(1)], 0.1, (1,))
    np.testing.assert_array_equal(coefs[0], W[:, [0, 2]])
    np.testing.assert_array_equal(coefs[1], [[1], [1]])
    np.testing.assert_array_equal(intercepts[0], [0, 2])
    # no weak unit: the weakest one
    coefs, _ = delete_units([W, np.ones((4, 1))], [np.arange(4.0), np.zeros(1)], 0.1, (1,))
    np.testing.assert_array_equal(coefs[0], W[:, 1:])
    # no layer gets smaller than asked for
    coefs, _ = delete_units([W, V], [np.arange(4.0), np.zeros(1)], 0.1, (3,))
    np.testing.assert_array_equal(coefs[0], W[:, [0, 2, 3]])


@pytest.mark.parametrize("kind", [MLPRegressor, sklearn.neural_network.MLPRegressor])
def test_added_units_leave_the_outputs_as_they_are(kind):
    X, y = sine(40)
    model = classifier(kind, hidden_layer_sizes=(2, 3)).fit(X, y)
    larger = with_weights(
        model, *add_units(model.coefs_, model.intercepts_, (4, 5), np.random.default_rng(0))
    )
    assert [W.shape for W in larger.coefs_] == [(1, 4), (4, 5), (5, 1)]
    np.testing.assert_allclose(larger.predict(X), model.predict(X), rtol=1e-12)
    before = np.mean((model.predict(X) - y) ** 2)
    assert np.mean((larger.fit(X, y).predict(X) - y) ** 2) <= before
    assert model.coefs_[0].shape == (1, 2), "the model itself is left as it was"


def test_lambda_of_the_regularised_error_by_cross_validation():
    """Watermelon notes 3.13: E = λ mean error + (1 - λ) sum of squares, λ by an ordinary search."""
    X, y = sine(40)
    network = classifier(MLPRegressor, hidden_layer_sizes=20, max_iter=300)
    lambdas = [0.9, 0.999, 0.99999]
    search = GridSearchCV(network, {"error_weight": lambdas}, cv=4).fit(X, y)
    scores = search.cv_results_["mean_test_score"]
    assert search.best_params_["error_weight"] == lambdas[int(np.argmax(scores))] > 0.9
    sizes = [
        sum(float((W**2).sum()) for W in network.set_params(error_weight=value).fit(X, y).coefs_)
        for value in lambdas
    ]
    assert sizes == sorted(sizes)


def test_the_number_of_threads_does_not_matter():
    X, y = CIRCLES
    network = classifier(max_iter=30)
    models = [HiddenSizeSearch(network, sizes=[1, 2, 3], n_jobs=n).fit(X, y) for n in (1, 4)]
    assert models[0].results_ == models[1].results_
    np.testing.assert_array_equal(models[0].predict_proba(X), models[1].predict_proba(X))


@pytest.mark.parametrize("algorithm", ["cv", "prune", "grow"])
def test_random_state_decides_where_the_estimator_has_none(algorithm):
    X, y = CIRCLES
    network = classifier(random_state=None, max_iter=20)
    search = HiddenSizeSearch(network, algorithm=algorithm, sizes=[1, 2, 3], cv=2, random_state=5)
    answers = [search.fit(X, y).predict_proba(X) for _ in range(2)]
    np.testing.assert_array_equal(*answers)


def test_the_picture_has_the_scores():
    X, y = CIRCLES
    model = HiddenSizeSearch(classifier(), algorithm="prune", sizes=[2, 5], alpha=0.1, random_state=0).fit(
        X, y
    )
    ax = plot_hidden_sizes(model)
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), model.results_["score"][::-1])
    assert [tick.get_text() for tick in ax.get_xticklabels()][-1] == "5"


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"estimator": LogisticRegression()},
            "multilayer perceptron with the parameters hidden_layer_sizes; got Log",
        ),
        ({"sizes": []}, "parameter 'sizes' must be whole numbers of at least 1"),
        ({"sizes": [0, 1]}, "parameter 'sizes' must be whole numbers of at least 1"),
        ({"sizes": [2.5]}, "parameter 'sizes' must be whole numbers of at least 1"),
        ({"sizes": [1, (2, 2)], "algorithm": "grow"}, "'sizes' must have one number of hidden layers"),
        ({"sizes": [(3, 1), (2, 4)], "algorithm": "prune"}, "no layer that shrinks where another grows"),
        (
            {"algorithm": "prune", "penalty": "l1"},
            "is trained by gradient descent.*got solver='lbfgs'",
        ),
        (
            {"algorithm": "prune", "estimator": classifier(error_weight=0.9)},
            "algorithm='prune' adds its penalty to alpha, which error_weight=0.9",
        ),
        ({"scoring": lambda *_: np.nan}, "the score of every network is NaN"),
        ({"cv": 1}, "parameter 'cv', 1"),
    ],
)
def test_refusals(parameters, message):
    with pytest.raises(ValueError, match=message):
        HiddenSizeSearch(**{"estimator": classifier(max_iter=3), "sizes": [1, 2], **parameters}).fit(*CIRCLES)
