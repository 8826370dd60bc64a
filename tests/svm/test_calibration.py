"""Probabilities from scores: the sigmoid, isotonic steps, coupled pairs."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, log_loss

from tercet.multiclass import code_matrix
from tercet.svm import SVC
from tercet.svm.calibration import (
    calibrated_probabilities,
    folds,
    isotonic,
    pairwise_coupling,
    platt,
    probabilities_from_code,
)


def data(n=300, k=2, seed=0):
    return make_classification(
        n, 6, n_informative=5, n_redundant=0, n_classes=k, flip_y=0.1, class_sep=0.8, random_state=seed
    )


def scored(n=200, seed=0):
    rng = np.random.default_rng(seed)
    f = rng.normal(size=n)
    return f, np.where(rng.random(n) < 1 / (1 + np.exp(-2 * f)), 1, -1)


def test_platt_is_the_maximum_of_its_likelihood():
    f, sign = scored()
    A, B = platt(f, sign)
    plus, minus = (sign > 0).sum(), (sign < 0).sum()
    t = np.where(sign > 0, (plus + 1) / (plus + 2), 1 / (minus + 2))

    def loss(theta):
        z = theta[0] * f + theta[1]
        return np.sum(np.logaddexp(0, z) - (1 - t) * z)

    best = minimize(loss, [0.0, 0.0], tol=1e-12)
    np.testing.assert_allclose([A, B], best.x, atol=1e-4)
    assert loss([A, B]) <= best.fun + 1e-9


def test_platt_without_smoothing_is_logistic_regression():
    f, sign = scored(20000)
    A, B = platt(f, sign)
    model = LogisticRegression(C=np.inf).fit(f[:, None], sign)
    np.testing.assert_allclose([-A, -B], [model.coef_[0, 0], model.intercept_[0]], atol=2e-3)


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_platt_at_any_scale(scale):
    f, sign = scored()
    np.testing.assert_allclose(
        calibrated_probabilities(platt(f * scale, sign), f * scale),
        calibrated_probabilities(platt(f, sign), f),
        rtol=1e-6,
        atol=1e-8,
    )
    for extreme in (np.zeros(20), np.linspace(-1, 1, 20)):  # no information, and all of it
        assert np.isfinite(platt(extreme * scale, np.repeat([-1, 1], 10))).all()


@pytest.mark.parametrize("fit", [platt, isotonic])
def test_weight_2_is_the_row_twice(fit):
    f, sign = scored()
    w = np.random.default_rng(0).integers(1, 4, f.size)
    np.testing.assert_allclose(
        calibrated_probabilities(fit(f, sign, w), f),
        calibrated_probabilities(fit(np.repeat(f, w), np.repeat(sign, w)), f),
        atol=1e-7,
    )


def test_isotonic_is_scikit_learns():
    f, sign = scored()
    f = f.round(1)  # with ties
    theirs = IsotonicRegression(out_of_bounds="clip").fit(f, sign > 0)
    grid = np.linspace(-4, 4, 99)
    np.testing.assert_allclose(
        calibrated_probabilities(isotonic(f, sign), grid), theirs.predict(grid), atol=1e-9
    )


@pytest.mark.parametrize("k", [3, 5])
def test_coupling_recovers_probabilities(k):
    p = np.random.default_rng(0).dirichlet(np.ones(k), size=9)
    pairs = np.column_stack([p[:, i] / (p[:, i] + p[:, j]) for i in range(k) for j in range(i + 1, k)])
    np.testing.assert_allclose(pairwise_coupling(pairs, k), p, atol=1e-6)


def test_coupling_is_the_least_sum_of_squares():
    r = np.random.default_rng(1).random((4, 3))
    for row, p in zip(r, pairwise_coupling(r, 3)):
        pairs = dict(zip([(0, 1), (0, 2), (1, 2)], row))

        def miss(q, pairs=pairs):
            return sum((s * q[j] - (1 - s) * q[i]) ** 2 for (i, j), s in pairs.items())

        for other in np.random.default_rng(2).dirichlet(np.ones(3), 500):
            assert miss(p) <= miss(other) + 1e-12
    certain = pairwise_coupling(np.array([[1.0, 1.0, 0.5], [0.0, 0.0, 0.0]]), 3)
    assert np.isfinite(certain).all()
    assert certain[0, 0] > 0.999


@pytest.mark.parametrize("code", ["one-vs-rest", "one-vs-one", "exhaustive"])
def test_letters_recover_probabilities(code):
    book = code_matrix(code, 4)
    p = np.random.default_rng(0).dirichlet(np.ones(4), size=9)
    yes, no = p @ (book > 0), p @ (book < 0)
    np.testing.assert_allclose(probabilities_from_code(yes / (yes + no), book), p, atol=1e-6)


def test_letters_that_disagree_have_the_greatest_likelihood():
    book = code_matrix("exhaustive", 3)
    q = np.array([[0.9, 0.2, 0.4]])

    def gain(p):
        yes = p @ (book > 0)
        return np.sum(q * np.log(yes) + (1 - q) * np.log(1 - yes), axis=-1)

    best = gain(probabilities_from_code(q, book))[0]
    assert (gain(np.random.default_rng(2).dirichlet(np.ones(3), 2000)) <= best + 1e-9).all()


def test_a_row_alone_is_as_in_a_crowd():
    book, q = code_matrix("exhaustive", 5), np.random.default_rng(0).random((50, 15))
    alone = np.concatenate([probabilities_from_code(row[None], book) for row in q])
    np.testing.assert_allclose(alone, probabilities_from_code(q, book), rtol=1e-12)


def test_folds_are_fixed_and_even():
    sign = np.repeat([1, -1], [12, 23])
    masks = folds(sign)
    np.testing.assert_array_equal(np.sum(masks, axis=0), 1)
    assert len(masks) == 5
    assert {int(mask[:12].sum()) for mask in masks} <= {2, 3}
    assert len(folds(np.array([1, -1, -1, -1]))) == 2


@pytest.mark.parametrize("calibration", ["platt", "isotonic"])
def test_probabilities_are_as_good_as_scikit_learns(calibration):
    X, y = data(800)
    train, test = slice(0, 500), slice(500, None)
    ours = SVC(calibration=calibration).fit(X[train], y[train])
    way = "sigmoid" if calibration == "platt" else "isotonic"
    theirs = CalibratedClassifierCV(SVC(), method=way, ensemble=False, cv=5).fit(X[train], y[train])
    p, q = ours.predict_proba(X[test])[:, 1], theirs.predict_proba(X[test])[:, 1]
    assert np.corrcoef(p, q)[0, 1] > 0.98
    assert brier_score_loss(y[test], p) < 1.05 * brier_score_loss(y[test], q) + 1e-3


@pytest.mark.parametrize("way", ["ovo", "ovr", "dag", "ecoc"])
@pytest.mark.parametrize("calibration", ["platt", "isotonic"])
def test_probabilities_of_several_classes(way, calibration):
    X, y = data(400, k=4)
    train, test = slice(0, 300), slice(300, None)
    model = SVC(multi_class=way, calibration=calibration).fit(X[train], y[train])
    p = model.predict_proba(X[test])
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert (p >= 0).all()
    assert log_loss(y[test], p) < 0.85 * np.log(4)
    assert np.mean(p.argmax(axis=1) == model.predict(X[test]).astype(int)) > 0.85
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X[test])), p)
    assert len(model.calibration_) == len(model.intercept_)


def test_nothing_is_left_to_chance():
    X, y = data(200, k=3)
    models = [SVC(calibration="platt", random_state=seed).fit(X, y) for seed in (0, 1, None)]
    for model in models[1:]:
        np.testing.assert_array_equal(model.predict_proba(X), models[0].predict_proba(X))
    plain = SVC().fit(X, y)
    np.testing.assert_array_equal(plain.decision_function(X), models[0].decision_function(X))


def test_without_calibration_there_are_none():
    X, y = data(50)
    model = SVC().fit(X, y)
    assert not hasattr(model, "predict_proba")
    assert not hasattr(model, "calibration_")
    with pytest.raises(AttributeError, match="predict_proba"):
        model.predict_proba(X)
    with pytest.raises(ValueError, match="SVC: parameter 'calibration' must be"):
        SVC(calibration="sigmoid").fit(X, y)


def test_only_what_the_last_fit_learned():
    model = SVC(calibration="platt").fit(*data(60))
    X, y = data(90, k=3)
    model.set_params(calibration=None).fit(X, y)
    with pytest.raises(NotFittedError, match="fitted with probability=False and without calibration"):
        model.set_params(calibration="platt").predict_proba(X)


@pytest.mark.parametrize("calibration", ["platt", "isotonic"])
def test_one_row_of_each_class(calibration):
    for k in (2, 3):  # nothing can be held out
        p = SVC(calibration=calibration).fit(np.eye(k), range(k)).predict_proba(np.eye(k))
        np.testing.assert_allclose(p, 1 / k)


def test_a_class_of_one_row():
    X, y = np.array([[0.0], [1], [2], [3], [9]]), [0, 0, 0, 0, 1]
    p = SVC(calibration="platt", C=10).fit(X, y).predict_proba(X)
    assert np.isfinite(p).all()
    gram = SVC(calibration="isotonic", kernel="precomputed").fit(X @ X.T, y)
    assert np.isfinite(gram.predict_proba(X @ X.T)).all()
