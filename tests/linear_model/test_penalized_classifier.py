"""Any margin loss with any penalty: minima, and the classes that have one combination each."""

import itertools
import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog, minimize
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning

from tercet.linear_model import LogisticRegression, PenalizedClassifier
from tercet.losses import (
    Absolute,
    Huber,
    Logistic,
    Poisson,
    Squared,
    SquaredEpsilonInsensitive,
    ZeroOne,
    loss,
)
from tercet.penalties import penalty
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
        PenalizedClassifier(penalty="lq", q=0.0).fit(X, y)


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


SMOOTH = [name for name in LOSSES if name != "hinge"]
SHRINKING = {kind: options for kind, options in PENALTIES.items() if kind is not None}


def broken(model, X, y, cost, name, kind, options, intercept=True):
    """By how much the plane breaks the conditions of a minimum, at worst, as a share of the forces on a weight."""
    side, w = np.where(y == model.classes_[1], 1.0, -1.0), model.coef_[0]
    center = X.mean(axis=0) if intercept else 0.0  # rounding of the intercept is not to count
    pulls = cost * loss(name).gradient(side, X @ w + model.intercept_[0])
    slope, size = (X - center).T @ pulls, np.abs(X - center).T @ np.abs(pulls) + 1e-300
    of_penalty = penalty(kind, **options).gradient(w)
    kink = {"l1": 1.0, "elasticnet": options.get("l1_ratio")}.get(kind, 0.0)
    off = np.where(w == 0, np.maximum(np.abs(slope) - kink, 0.0), np.abs(slope + of_penalty))
    return max((off / size).max(), intercept * abs(pulls.sum()) / np.abs(pulls).sum())


@pytest.mark.parametrize(
    ("name", "kind", "classes"),
    [
        *((name, kind, 2) for name, kind in itertools.product(SMOOTH, SHRINKING)),
        # each class against the others is a problem of two
        *((name, kind, 3) for name, kind in zip(SMOOTH, itertools.cycle(SHRINKING))),
    ],
)
def test_newton_and_admm_meet(name, kind, classes):
    X, y = data(classes=classes)
    X[np.abs(X) < 0.3] = 0.0
    weight = np.random.default_rng(0).uniform(0.1, 2.0, y.size)
    settings = {"class_weight": {0: 2.0}, **SHRINKING[kind]}
    newton, admm = (
        PenalizedClassifier(name, kind, algorithm=algorithm, **settings) for algorithm in ("newton", "admm")
    )
    for table in (X, sparse.csr_array(X))[: 4 - classes]:
        newton.fit(table, y, sample_weight=weight)
        admm.fit(table, y, sample_weight=weight)
        np.testing.assert_allclose(newton.coef_, admm.coef_, atol=1e-7)
        np.testing.assert_allclose(newton.intercept_, admm.intercept_, atol=1e-7)
        np.testing.assert_allclose(newton.objective_, admm.objective_, rtol=1e-12)
        assert newton.n_iter_ < 30


def tables():
    X, y = data()
    rng = np.random.default_rng(0)
    alike = rng.normal(size=(80, 1)) + 0.05 * rng.normal(size=(80, 12))
    wide = rng.normal(size=(30, 60))
    outlier = X.copy()
    outlier[0] *= 1e4
    return {
        "constant": (np.hstack([X, np.zeros((80, 1))]), y),
        "repeated": (np.hstack([X, X]), y),
        "nearly repeated": (np.hstack([X, X + 1e-6 * rng.normal(size=X.shape)]), y),
        "alike": (alike, (alike @ rng.normal(size=12) > 0).astype(int)),
        "large": (X * 1e8, y),
        "small": (X * 1e-8, y),
        "of all sizes": (X * 10.0 ** np.linspace(-6, 6, 4), y),
        "separable": (X, (X[:, 0] > 0).astype(int)),
        "wide": (wide, (wide[:, 0] + rng.normal(size=30) > 0).astype(int)),
        "outlier": (outlier, y),
    }


@pytest.mark.parametrize("which", tables())
@pytest.mark.parametrize(("name", "kind"), list(itertools.product(SMOOTH, SHRINKING)))
def test_newton_ends_at_a_minimum(which, name, kind):
    X, y = tables()[which]
    for C, intercept in [(1e-4, True), (1.0, False), (1e4, True)]:
        model = PenalizedClassifier(name, kind, C=C, fit_intercept=intercept, max_iter=200, **PENALTIES[kind])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model.fit(X, y)
        cost = np.full(y.size, C)
        assert broken(model, X, y, cost, name, kind, PENALTIES[kind], intercept) < 1e-7


@pytest.mark.parametrize("options", [{"q": 1.0}, {"q": 1.05}, {"q": 2.0}, {"q": 4.0}])
def test_newton_with_any_power(options):
    X, y = data(d=6)
    newton = PenalizedClassifier("logistic", "lq", **options).fit(X, y)
    admm = PenalizedClassifier("logistic", "lq", algorithm="admm", **options).fit(X, y)
    np.testing.assert_allclose(newton.coef_, admm.coef_, atol=1e-7)


def test_newton_agrees_with_logistic_regression():
    X, y = data()
    weight = np.random.default_rng(2).integers(0, 4, y.size)
    model = PenalizedClassifier(C=3.0).fit(X, y, sample_weight=weight)
    same = LogisticRegression(C=1.5, tol=1e-12).fit(X, y, sample_weight=weight)
    scores = np.where(y == 1, 1.0, -1.0) * same.decision_function(X)
    objective = np.sum(same.coef_**2) + 3.0 * weight @ np.logaddexp(0.0, -scores)
    assert model.objective_[0] == pytest.approx(objective, rel=1e-13)
    np.testing.assert_allclose(model.coef_, same.coef_, atol=1e-8)


def test_a_class_without_weight_is_left_to_admm():
    X, y = data(classes=3)
    settings = {"penalty": "l1", "C": 0.1, "tol": 1e-4, "max_iter": 300}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        models = [
            PenalizedClassifier(algorithm=name, **settings).fit(X, y, sample_weight=y > 0)
            for name in ("newton", "admm")
        ]
    np.testing.assert_array_equal(models[0].coef_[0], models[1].coef_[0])
    np.testing.assert_allclose(models[0].coef_, models[1].coef_, atol=1e-2)


def test_what_newton_takes():
    X, y = data()
    with pytest.raises(
        ValueError, match=r"algorithm='newton' takes a loss .*'exponential'.*; got loss='hinge'"
    ):
        PenalizedClassifier("hinge", algorithm="newton").fit(X, y)
    with pytest.raises(ValueError, match=r"algorithm='newton' takes a penalty in .*'l1'.*; got penalty=None"):
        PenalizedClassifier(penalty=None, algorithm="newton").fit(X, y)
    with pytest.raises(ValueError, match="'algorithm'"):
        PenalizedClassifier(algorithm="simplex").fit(X, y)


@pytest.mark.parametrize("name", ["logistic", "exponential"])
def test_separable_classes_without_a_penalty_are_told_at_once(name):
    with pytest.warns(ConvergenceWarning, match="linearly separable, so without a penalty"):
        model = PenalizedClassifier(name, None).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    assert model.n_iter_ < 50
    assert model.predict([[0.0], [3.0]]).tolist() == [0, 1]


@pytest.mark.parametrize(
    "given", [Logistic(base=2), Squared(), Huber(0.5), Absolute(), SquaredEpsilonInsensitive(0.2)]
)
def test_any_loss_object(given):
    X, y = data()
    side, rng = 2.0 * y - 1, np.random.default_rng(0)
    model = PenalizedClassifier(given, "l1", C=0.3, tol=1e-9).fit(X, y)

    def objective(w, b):
        return 0.3 * given.total(side, X @ w + b, average=False) + np.abs(w).sum()

    least = objective(model.coef_[0], model.intercept_[0])
    assert model.objective_[0] == pytest.approx(least)
    for _ in range(40):
        move = 10.0 ** rng.uniform(-4, -1) * rng.normal(size=5)
        assert objective(model.coef_[0] + move[:4], model.intercept_[0] + move[4]) > least - 1e-7
    by_name = PenalizedClassifier("logistic", "l1", C=0.3).fit(X, y)
    same = PenalizedClassifier(Logistic(), "l1", C=0.3).fit(X, y)
    np.testing.assert_array_equal(same.coef_, by_name.coef_)


def test_a_loss_that_cannot_be_minimised_is_refused():
    with pytest.raises(ValueError, match="loss must have a curvature or a proximal step; got loss=ZeroOne"):
        PenalizedClassifier(ZeroOne(margin=True)).fit(*data())
    with pytest.raises(ValueError, match="must"):
        PenalizedClassifier(Poisson()).fit(*data())


@pytest.mark.parametrize("q", [0.4, 0.9])
def test_a_power_below_one_is_not_convex_and_finds_a_good_minimum(q):
    X, y = data()
    side = 2.0 * y - 1
    model = PenalizedClassifier("logistic", "lq", C=1.0, q=q).fit(X, y)

    def objective(w, b):
        return loss("logistic").total(side, X @ w + b, average=False) + np.sum(np.abs(w) ** q)

    least = objective(model.coef_[0], model.intercept_[0])
    assert model.objective_[0] == pytest.approx(least)
    best = np.inf  # of the smooth problems on all supports
    for support in itertools.product([False, True], repeat=4):
        on = np.array(support)

        def part(v, on=on):
            w = np.zeros(4)
            w[on] = v[1:]
            return objective(w, v[0])

        for start in (0.3, 1.0, 3.0):
            sign = np.sign(X.T @ side)[on]
            best = min(best, minimize(part, np.append(0.0, start * sign), method="Nelder-Mead").fun)
    assert least <= best + 1e-3


def test_nearly_collinear_columns_without_a_penalty_come_to_an_end():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(25, 3))
    X[:, 2] = X[:, 0] + 1
    y = rng.integers(2, size=25)
    with pytest.warns(ConvergenceWarning, match="no longer falls.*give one"):
        model = PenalizedClassifier(penalty=None).fit(X.astype(np.float32), y)
    assert model.n_iter_ <= 1000
    exact = PenalizedClassifier(penalty=None).fit(X, y)
    np.testing.assert_allclose(model.objective_, exact.objective_, rtol=1e-6)
