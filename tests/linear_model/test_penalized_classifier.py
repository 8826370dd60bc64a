"""Any margin loss with any penalty: minima, and the classes that have one combination each."""

import itertools
import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog, minimize
from sklearn.datasets import make_classification

from tercet.core.losses import loss
from tercet.core.penalties import penalty
from tercet.linear_model import LogisticRegression, PenalizedClassifier
from tercet.svm import HingeSVC, LinearSVC

LOSSES = ["logistic", "hinge", "squared_hinge", "modified_huber", "exponential"]
PENALTIES = {"l2": {}, "l1": {}, "lq": {"q": 1.5}, "elasticnet": {"l1_ratio": 0.3}, None: {}}


def data(n=80, d=4, classes=2):
    return make_classification(
        n,
        d,
        n_informative=3,
        n_redundant=0,
        n_classes=classes,
        n_clusters_per_class=1,
        class_sep=0.7,
        random_state=0,
    )


@pytest.mark.parametrize(("name", "kind"), list(itertools.product(LOSSES, PENALTIES)))
def test_no_lower_point_is_near(name, kind):
    X, y = data()
    cost = np.random.default_rng(0).uniform(0.1, 0.5, y.size)
    model = PenalizedClassifier(name, kind, tol=1e-6, **PENALTIES[kind]).fit(X, y, sample_weight=cost)
    side = np.where(y == 1, 1.0, -1.0)
    of, cost_of = loss(name), penalty(kind, **PENALTIES[kind])

    def value(v):
        return cost_of.value(v[:-1]) + cost @ of.value(side, X @ v[:-1] + v[-1])

    at = np.append(model.coef_[0], model.intercept_)
    assert value(at) == pytest.approx(model.objective_[0])
    low = minimize(value, at, method="Powell", options={"xtol": 1e-8, "ftol": 1e-12}).fun
    assert low >= value(at) - 1e-4 * abs(value(at))


def test_each_combination_with_a_class_of_its_own():
    X, y = data()
    logistic = PenalizedClassifier("logistic", "l2", C=2.0).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(logistic.coef_, LogisticRegression(tol=1e-9).fit(X, y).coef_, atol=1e-5)
    hinge = PenalizedClassifier("hinge", "l2", C=0.5, tol=1e-7).fit(X, y)
    np.testing.assert_allclose(hinge.coef_, HingeSVC(2.0, random_state=0).fit(X, y).coef_, atol=1e-4)
    squared = PenalizedClassifier("squared_hinge", "l1", C=0.3, fit_intercept=False).fit(X, y)
    same = LinearSVC("l1", C=0.3, fit_intercept=False, tol=1e-9, random_state=0).fit(X, y)
    np.testing.assert_allclose(squared.coef_, same.coef_, atol=1e-5)
    np.testing.assert_array_equal(squared.coef_ == 0, same.coef_ == 0)


def test_hinge_with_l1_is_a_linear_programme():
    X, y = data()
    n, d = X.shape
    side = np.where(y == 1, 1.0, -1.0)[:, None]
    A = np.hstack([-side * X, side * X, -side, -np.eye(n)])
    costs = np.r_[np.ones(2 * d), 0.0, np.full(n, 0.2)]
    found = linprog(
        costs, A_ub=A, b_ub=-np.ones(n), bounds=[(0, None)] * (2 * d) + [(None, None)] + [(0, None)] * n
    )
    model = PenalizedClassifier("hinge", "l1", C=0.2, tol=1e-5).fit(X, y)
    assert found.fun <= model.objective_[0] <= found.fun * (1 + 1e-3)


def test_several_classes_with_weights_and_threads():
    X, y = data(classes=3)
    weight = np.random.default_rng(1).integers(0, 3, y.size)
    models = [PenalizedClassifier(n_jobs=n).fit(X, y, sample_weight=weight) for n in (1, 3)]
    np.testing.assert_array_equal(models[0].coef_, models[1].coef_)
    twice = PenalizedClassifier().fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(models[0].coef_, twice.coef_, atol=1e-6)
    assert models[0].coef_.shape == (3, 4)


def test_what_a_power_may_be():
    X, y = data()
    with pytest.raises(ValueError, match="'q' must be a number in"):
        PenalizedClassifier(penalty="lq", q=0.5).fit(X, y)


def test_features_far_from_zero_and_large_ones():
    X, y = data()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        near, far = (PenalizedClassifier(tol=1e-6).fit(table, y) for table in (X, X + 1.7e9))
    assert far.objective_[0] == pytest.approx(near.objective_[0], rel=1e-6)
    np.testing.assert_allclose(far.coef_, near.coef_, atol=1e-4)
    np.testing.assert_array_equal(far.predict(X + 1.7e9), near.predict(X))
    large = PenalizedClassifier(tol=1e-4, max_iter=50).fit(np.hstack([X, X]) * 1e10, y)
    assert large.objective_[0] <= near.objective_[0]
    with pytest.raises(ValueError, match="of X are too large"):
        PenalizedClassifier().fit(X * 1e160, y)


def test_balance_counts_weights():
    X, y = data()
    weight = np.random.default_rng(0).integers(0, 4, y.size)
    model = PenalizedClassifier(class_weight="balanced")
    once = model.fit(X, y, sample_weight=weight).coef_
    twice = model.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight)).coef_
    np.testing.assert_allclose(once, twice, atol=1e-6)
    with pytest.raises(ValueError, match="leave no row a weight above 0"):
        PenalizedClassifier(class_weight={0: 0}).fit(X, y, sample_weight=y == 0)
