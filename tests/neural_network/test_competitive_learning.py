"""Competitive learning: the rule, the conscience against dead units, weights, batches."""

import numpy as np
import pytest

from tercet.cluster import KMeans
from tercet.neural_network import CompetitiveLearning
from tercet.neural_network.online_visits import decayed, visit_order


def clouds(n=300, seed=0):
    rng = np.random.default_rng(seed)
    centres = np.array([[0.0, 0.0], [8.0, 0.0], [0.0, 8.0]])
    return centres[rng.integers(3, size=n)] + rng.normal(size=(n, 2))


def test_a_pass_is_the_rule_row_by_row():
    X = clouds(20)
    model = CompetitiveLearning(3, init=X[:3], max_iter=2, shuffle=False, eta_decay="linear").fit(X)
    W, eta = X[:3].copy(), np.linspace(0.5, 0.01, 40)
    for t in range(40):
        x = X[t % 20]
        winner = ((x - W) ** 2).sum(axis=1).argmin()
        W[winner] += eta[t] * (x - W[winner])
    np.testing.assert_allclose(model.cluster_centers_, W, rtol=1e-12)


def test_it_finds_about_what_k_means_finds():
    X = clouds()
    model = CompetitiveLearning(3, random_state=0).fit(X)
    assert model.inertia_ < 1.02 * KMeans(3, random_state=0).fit(X).inertia_
    assert model.score(X) == pytest.approx(-model.inertia_)
    np.testing.assert_array_equal(model.transform(X).argmin(axis=1), model.labels_)


def test_conscience_wakes_dead_units():
    X = clouds()
    init = [[0.0, 0.0], [20.0, 20.0], [30.0, 30.0]]
    dead = CompetitiveLearning(3, init=init, random_state=0).fit(X)
    awake = CompetitiveLearning(3, init=init, conscience=100.0, max_iter=50, random_state=0).fit(X)
    assert len(np.unique(dead.labels_)) < 3
    assert np.bincount(awake.labels_, minlength=3).min() > 50


def test_weights_are_numbers_of_visits_on_average():
    weight = np.array([0.5, 0.0, 2.5, 1.0])
    rng = np.random.default_rng(0)
    visits = np.array([np.bincount(visit_order(4, weight, rng, True), minlength=4) for _ in range(2000)])
    assert (visits.sum(axis=1) == 3).all()
    np.testing.assert_allclose(visits.mean(axis=0), 3 * weight / weight.sum(), atol=0.05)
    assert (np.abs(visits - 3 * weight / weight.sum()) < 1).all()


def test_partial_fit_goes_on_with_the_rates():
    X = clouds()
    model = CompetitiveLearning(3, max_iter=10, random_state=0)
    for _ in range(12):
        model.partial_fit(X)
    assert model.n_passes_ == 12
    assert model.inertia_ < 1.05 * KMeans(3, random_state=0).fit(X).inertia_


@pytest.mark.parametrize("kind", ["exponential", "linear", "inverse"])
def test_rates_go_from_the_first_to_the_last(kind):
    rates = decayed(kind, 0.8, 0.1, np.linspace(0, 1, 11))
    assert rates[0] == pytest.approx(0.8)
    assert rates[-1] == pytest.approx(0.1)
    assert (np.diff(rates) < 0).all()


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"n_clusters": 9}, "n_clusters=9 needs as many rows"),
        ({"n_clusters": 2, "init": [[0.0, 0.0]]}, r"init must have the shape \(2, 2\)"),
        ({"eta0": 1.5}, "'eta0'"),
    ],
)
def test_errors_name_the_parameter(parameters, words):
    with pytest.raises(ValueError, match=words):
        CompetitiveLearning(**parameters).fit(clouds(5))


def test_a_rate_of_1_moves_the_winner_onto_the_row():
    start = [[0.0, 0.0], [5.0, 5.0]]
    options = {"init": start, "eta0": 1.0, "eta_decay": "constant", "max_iter": 1}
    assert CompetitiveLearning(2, **options).fit([[1.0, 0.5], [4.0, 6.0]]).cluster_centers_.tolist() == [
        [1.0, 0.5],
        [4.0, 6.0],
    ]


@pytest.mark.parametrize("kind", ["exponential", "linear", "inverse"])
@pytest.mark.parametrize(("start", "end"), [(5e-324, 0.2), (0.2, 5e-324)])
def test_rates_far_apart_stay_between_their_ends(kind, start, end):
    rates = decayed(kind, start, end, np.linspace(0, 1, 11))
    assert (rates[0], rates[-1]) == (start, end)
    assert ((rates >= 0) & (rates <= 0.2)).all()
