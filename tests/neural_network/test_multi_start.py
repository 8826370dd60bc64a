"""Training from several initial values."""

import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn.neural_network
from sklearn.base import clone, is_classifier, is_clusterer, is_regressor
from sklearn.datasets import make_blobs, make_circles
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from tercet import pipeline
from tercet.cluster import KMeans
from tercet.mixture import GaussianMixture
from tercet.naive_bayes import GaussianNB
from tercet.neural_network import MLPClassifier, MLPRegressor, MultiStart
from tercet.tree import DecisionTreeRegressor

SQUARE, XOR = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), np.array([0.0, 1.0, 1.0, 0.0])
SMALL = {"hidden_layer_sizes": 2, "activation": "logistic", "solver": "lbfgs", "alpha": 0, "max_iter": 500}


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


@pytest.mark.parametrize("kind", [MLPRegressor, sklearn.neural_network.MLPRegressor])
def test_the_lowest_of_the_minima_of_xor(kind):
    model = MultiStart(kind(**SMALL), 12, random_state=1).fit(SQUARE, XOR)
    losses = model.results_["loss"]
    assert min(losses) < 1e-4
    assert max(losses) > 0.05, "some starts end in a local minimum"
    assert model.best_index_ == int(np.argmin(losses))
    np.testing.assert_allclose(model.predict(SQUARE), XOR, atol=0.02)


def test_each_start_is_a_fit_with_its_seed():
    model = MultiStart(MLPRegressor(**SMALL), 5, random_state=3).fit(SQUARE, XOR)
    for seed, loss in zip(model.results_["random_state"], model.results_["loss"]):
        again = MLPRegressor(**SMALL, random_state=seed).fit(SQUARE, XOR)
        assert again.loss_ == loss
    assert model.best_estimator_.random_state == model.results_["random_state"][model.best_index_]


def test_the_number_of_threads_does_not_matter():
    X, y = make_circles(100, noise=0.1, factor=0.5, random_state=0)
    for solver in ("lbfgs", "adam"):
        network = MLPClassifier((4,), solver=solver, max_iter=30)
        models = [MultiStart(network, 6, random_state=0, n_jobs=n).fit(X, y) for n in (1, 4)]
        assert models[0].results_ == models[1].results_
        np.testing.assert_array_equal(models[0].predict_proba(X), models[1].predict_proba(X))


def test_clusters_and_mixtures():
    X, _ = make_blobs(150, centers=5, random_state=2)
    starts = {"n_starts": 8, "random_state": 0}
    clusters = MultiStart(KMeans(5, n_init=1, init="random"), **starts).fit(X)
    assert (
        clusters.best_estimator_.inertia_ == min(clusters.results_["loss"]) < max(clusters.results_["loss"])
    )
    assert clusters.predict(X).shape == (150,)
    assert clusters.transform(X).shape == (150, 5)
    assert is_clusterer(clusters)
    mixture = MultiStart(GaussianMixture(5, init_params="random", max_iter=20), **starts).fit(X)
    assert -mixture.best_estimator_.lower_bound_ == min(mixture.results_["loss"])
    np.testing.assert_array_equal(mixture.score_samples(X), mixture.best_estimator_.score_samples(X))


def test_scores_of_the_training_rows_and_of_rows_held_out():
    X, y = make_circles(120, noise=0.1, factor=0.5, random_state=0)
    network = MLPClassifier((3,), activation="tanh", solver="lbfgs", max_iter=100)
    by_score = MultiStart(network, 6, criterion="score", scoring="neg_log_loss", random_state=0).fit(X, y)
    assert by_score.results_["score"][by_score.best_index_] == max(by_score.results_["score"])
    held = MultiStart(network, 6, criterion="validation", validation_fraction=0.25, random_state=0).fit(X, y)
    scores = np.array(held.results_["score"])
    assert held.best_index_ == scores.argmax()
    np.testing.assert_allclose(scores * 30, np.round(scores * 30), atol=1e-9)  # of 30 rows


def test_weights_reach_the_fits_and_the_score():
    X, y = make_circles(80, noise=0.1, factor=0.5, random_state=0)
    weight = np.where(np.arange(80) < 60, 1.0, 0.0)
    network = MLPClassifier((3,), activation="tanh", solver="lbfgs", alpha=1.0, max_iter=1000, tol=1e-8)
    some = MultiStart(network, 2, criterion="score", random_state=0).fit(X, y, sample_weight=weight)
    fewer = MultiStart(network, 2, criterion="score", random_state=0).fit(X[:60], y[:60])
    np.testing.assert_allclose(some.predict_proba(X), fewer.predict_proba(X), atol=1e-3)
    assert some.results_["score"] == pytest.approx(fewer.results_["score"])


def test_pipelines_and_frames():
    X, y = make_circles(80, noise=0.1, factor=0.5, random_state=0)
    steps = pipeline.make_pipeline(StandardScaler(), MLPClassifier((3,), solver="lbfgs", max_iter=50))
    frame = pd.DataFrame(X, columns=["east", "north"])
    model = MultiStart(steps, 3, random_state=0).fit(frame, np.where(y, "in", "out"))
    assert "loss" in model.results_
    assert model.classes_.tolist() == ["in", "out"]
    assert set(model.predict(frame)) <= {"in", "out"}
    assert list(model.feature_names_in_) == ["east", "north"]


def test_it_is_what_the_estimator_is():
    assert is_classifier(MultiStart(MLPClassifier()))
    assert is_regressor(MultiStart(MLPRegressor()))
    assert not hasattr(MultiStart(MLPRegressor()), "predict_proba")
    assert clone(MultiStart(MLPRegressor(), 3)).n_starts == 3


def test_refusals():
    with pytest.raises(
        ValueError, match="parameter 'estimator' must have a random_state, or all starts are the same"
    ):
        MultiStart(GaussianNB()).fit(SQUARE, XOR)
    with pytest.raises(ValueError, match="parameter 'estimator' must be an estimator with fit; got 3"):
        MultiStart(3).fit(SQUARE, XOR)
    with pytest.raises(ValueError, match="criterion='loss' needs an estimator that reports its loss"):
        MultiStart(DecisionTreeRegressor(), 2, criterion="loss").fit(SQUARE, XOR)
    assert "score" in MultiStart(DecisionTreeRegressor(), 2, random_state=0).fit(SQUARE, XOR).results_
    with pytest.raises(ValueError, match="requires y to be passed, but the target y is None"):
        MultiStart(MLPRegressor()).fit(SQUARE)
    with pytest.raises(ValueError, match=r"validation_fraction=0.2 cannot split the rows"):
        MultiStart(MLPClassifier(), 2, criterion="validation").fit(SQUARE, [0, 1, 2, 2])
    with pytest.raises(ValueError, match="sample_weight must not be zero for all rows"):
        MultiStart(MLPRegressor(), 2).fit(SQUARE, XOR, sample_weight=np.zeros(4))
