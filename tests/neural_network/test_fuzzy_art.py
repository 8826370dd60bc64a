"""Fuzzy ART: the definition, boxes, vigilance, streams, errors, pictures."""

import numpy as np
import pytest

from tercet import Recorder
from tercet.neural_network import ART1, FuzzyART
from tercet.plot import plot_category_boxes, plot_model, replay


def plain_pass(rows, weights, labels, rho, alpha, beta):
    """The definition, category after category in the order of the choices."""
    for i, x in enumerate(rows):
        choices = [np.minimum(x, w).sum() / (alpha + w.sum()) for w in weights]
        for j in sorted(range(len(weights)), key=lambda j: -choices[j]):
            common = np.minimum(x, weights[j])
            if common.sum() / x.sum() >= rho - 1e-12:
                weights[j] = beta * common + (1 - beta) * weights[j]
                break
        else:
            j = len(weights)
            weights.append(x.copy())
        labels[i] = j


@pytest.mark.parametrize("complement", [True, False])
@pytest.mark.parametrize(("rho", "beta"), [(0.5, 1.0), (0.8, 1.0), (0.8, 0.4)])
def test_passes_are_the_definition(rho, beta, complement):
    X = np.random.default_rng(0).random((60, 3))
    rows = np.hstack([X, 1 - X]) if complement else X
    weights, labels = [], np.zeros(60, dtype=int)
    model = FuzzyART(rho, beta=beta, alpha=0.01, complement=complement)
    for _ in range(3):
        plain_pass(rows, weights, labels, rho, 0.01, beta)
        model.partial_fit(X)
    np.testing.assert_allclose(model.weights_, weights, rtol=1e-9)
    np.testing.assert_array_equal(model.labels_, labels)


def test_by_default_a_fit_is_one_partial_fit():
    X = np.random.default_rng(2).random((80, 3))
    model, stream = FuzzyART(0.8).fit(X), FuzzyART(0.8).partial_fit(X)
    assert model.n_iter_ == 1
    np.testing.assert_array_equal(model.weights_, stream.weights_)
    np.testing.assert_array_equal(model.labels_, stream.labels_)


@pytest.mark.parametrize("rho", [0.3, 0.7, 0.95])
def test_boxes_hold_their_rows_and_keep_their_size(rho):
    X = np.random.default_rng(1).random((300, 4))
    model = FuzzyART(rho, max_iter=100).fit(X)
    assert model.n_iter_ < 100
    low, high = model.boxes()
    assert ((high - low).sum(axis=1) <= 4 * (1 - rho) + 1e-9).all()
    below, above = X - low[model.labels_], high[model.labels_] - X
    assert min(below.min(), above.min()) > -1e-12
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_a_higher_vigilance_gives_more_categories():
    X = np.random.default_rng(0).random((100, 3))
    counts = [len(FuzzyART(rho, max_iter=100).fit(X).weights_) for rho in (0.2, 0.6, 0.9, 1.0)]
    assert counts == sorted(counts)
    assert counts[-1] == 100


def test_binary_rows_give_the_templates_of_art1():
    """Without complement coding and with α = L - 1, fuzzy ART of binary rows is ART1."""
    X = (np.random.default_rng(0).random((80, 10)) < 0.6).astype(int)
    fuzzy = FuzzyART(0.55, alpha=1.0, complement=False, max_iter=100).fit(X)
    crisp = ART1(0.55, L=2.0, max_iter=100).fit(X)
    np.testing.assert_array_equal(fuzzy.weights_, crisp.templates_)
    np.testing.assert_array_equal(fuzzy.labels_, crisp.labels_)


def test_rows_that_fit_nowhere():
    X = [[0.0, 0.0], [1.0, 1.0], [0.5, 0.5]]
    model = FuzzyART(0.9, max_categories=2).fit(X)
    assert model.labels_.tolist() == [0, 1, -1]
    assert model.predict([[0.02, 0.02], [0.5, 0.4]]).tolist() == [0, -1]


def test_scale_maps_the_ranges_to_one():
    X = np.random.default_rng(0).random((50, 2))
    X[:2] = [[0, 0], [1, 1]]
    plain = FuzzyART(0.7).fit(X)
    scaled = FuzzyART(0.7, scale="minmax").fit(X * [10, 100] - 3)
    np.testing.assert_array_equal(plain.labels_, scaled.labels_)
    np.testing.assert_allclose(scaled.boxes()[1], plain.boxes()[1] * [10, 100] - 3)
    assert scaled.predict([[99.0, 999.0]]) == scaled.predict([[7.0, 97.0]])  # beyond the range: its end


def test_errors_name_what_is_wrong():
    with pytest.raises(ValueError, match=r"'vigilance' must be a number in \(0, 1\]; got 0"):
        FuzzyART(0.0).fit(np.eye(2))
    with pytest.raises(ValueError, match=r"values from 0 to 1; row 1 has 2.5 in column 0. .*MinMaxScaler"):
        FuzzyART().fit([[0, 1], [2.5, 1]])
    with pytest.raises(ValueError, match="'beta'"):
        FuzzyART(beta=0).fit(np.eye(2))
    model = FuzzyART().fit(np.eye(2))
    with pytest.raises(ValueError, match="complement=False needs 2 columns"):
        model.set_params(complement=False).predict(np.eye(2))


def test_pictures():
    X = np.random.default_rng(0).random((40, 2))
    recorder = Recorder()
    model = FuzzyART(0.7, max_iter=100).set_callbacks(recorder).fit(X)
    ax = plot_category_boxes(model, X)
    assert len(ax.patches) == len(model.weights_)
    film = replay(recorder, X)
    assert len(film._fig.axes[0].patches) == len(recorder.frames[0].estimator.weights_)
    film.pause()
    assert plot_model(FuzzyART(0.7).fit(np.random.default_rng(0).random((20, 5)))) is not None
    assert plot_model(FuzzyART(0.7, complement=False).fit(X)) is not None
    with pytest.raises(ValueError, match="columns must be two numbers"):
        plot_category_boxes(model, columns=[0, 2])
