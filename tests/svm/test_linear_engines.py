"""Engines of the linear machines for small data: the optima of the plain ones, with and without callbacks."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from tercet import Recorder
from tercet.svm import LinearSVC, LinearSVR
from tercet.svm._linear import gram_coordinate, interior_point, small_newton
from tercet.svm._linear.active_set import delete_row
from tercet.svm._linear.dual_coordinate import DualCoordinateDescent
from tercet.svm._linear.gram_coordinate import GramCoordinateDescent
from tercet.svm._linear.interior_point import InteriorPoint
from tercet.svm._linear.primal_newton import PrimalNewton
from tercet.svm._linear.problem import LinearProblem
from tercet.svm._linear.small_newton import SmallNewton


def data(n=150, d=4):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, X @ rng.normal(size=d) + 0.5 * rng.normal(size=n), rng.uniform(0.2, 3, n)


@pytest.mark.parametrize("epsilon", [0.0, 0.3])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_interior_point_is_optimal(epsilon, scale):
    X, y, cost = data(60)
    problem = LinearProblem(X, scale * y, np.zeros(60), cost, 1.0, scale * epsilon)
    assert interior_point.suits(problem)
    solver = InteriorPoint(problem, 1e-8, np.random.default_rng(0))
    assert solver.run(100) <= 40
    assert solver.done
    assert not solver.inside
    gap = problem.objective(solver.v) - problem.dual_objective(solver.beta, solver.v)
    assert abs(gap) <= 1e-10 * problem.objective(solver.v)
    other = DualCoordinateDescent(problem, 1e-8, np.random.default_rng(0))
    for _ in range(3000):
        other.epoch()
        if other.done:
            break
    np.testing.assert_allclose(solver.v, other.v, atol=1e-6 * scale)


def test_defaults_converge():
    X, y, _ = data()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = LinearSVR().fit(X, y)
        watched = LinearSVR().set_callbacks(Recorder()).fit(X, y)
    assert model.n_iter_ < 40
    assert len(model.history_["objective"]) == model.n_iter_
    np.testing.assert_allclose(watched.coef_, model.coef_, rtol=1e-9)
    assert watched.n_iter_ == model.n_iter_
    twice = LinearSVR().fit(np.vstack([X, X]), np.tile(y, 2))
    np.testing.assert_allclose(LinearSVR().fit(X, y, np.full(150, 2.0)).coef_, twice.coef_, rtol=1e-8)


def test_a_limit_of_iterations_warns():
    X, y, _ = data()
    with pytest.warns(UserWarning, match="did not converge in 3 passes"):
        model = LinearSVR(max_iter=3).fit(X, y)
    assert model.n_iter_ == 3
    assert np.isfinite(model.coef_).all()


@pytest.mark.parametrize("epsilon", [0.0, 0.3])
def test_small_newton_is_the_plain_one(epsilon):
    X, y, cost = data(60)
    side = np.sign(y) if epsilon == 0 else np.zeros(60)
    problem = LinearProblem(X, side if epsilon == 0 else y, side, cost, 1.0, epsilon, squared=True)
    assert small_newton.suits(problem)
    ours, plain = SmallNewton(problem, 1e-10), PrimalNewton(problem, 1e-10)
    trace = []
    count = ours.run(100, trace)
    for _ in range(count):
        plain.epoch()
    assert ours.done
    assert len(trace) == count
    np.testing.assert_allclose(ours.v, plain.v, rtol=1e-9)
    assert trace[-1][0] == pytest.approx(plain.objective, rel=1e-12)


def test_small_newton_with_callbacks():
    X, y, weight = data()
    labels = np.digitize(y, [-1, 1])
    alone = LinearSVC().fit(X, labels, weight)
    watched = LinearSVC().set_callbacks(Recorder()).fit(X, labels, weight)
    np.testing.assert_array_equal(watched.coef_, alone.coef_)
    assert watched.n_iter_ == alone.n_iter_
    assert (np.diff(alone.history_["objective"]) <= 1e-9).all()


def few_rows(kind):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 60)) * (rng.uniform(size=(40, 60)) < 0.2)
    if kind == "dependent":
        X[20:] = X[:20]
    y, cost = X[:, :5].sum(axis=1) + 0.3 * rng.normal(size=40), rng.uniform(0.2, 3, 40)
    return sparse.csr_matrix(X) if kind == "sparse" else X, y, cost


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "absolute", "epsilon", "squared_epsilon"])
@pytest.mark.parametrize("kind", ["sparse", "dense", "dependent"])
def test_gram_coordinate_is_optimal(kind, loss):
    X, y, cost = few_rows(kind)
    side = np.sign(y) if "hinge" in loss else np.zeros(40)
    epsilon = 0.2 if "epsilon" in loss else 0.0
    target = side if "hinge" in loss else y
    problem = LinearProblem(X, target, side, cost, 1.0, epsilon, squared="squared" in loss)
    assert gram_coordinate.suits(X)
    solver, trace = GramCoordinateDescent(problem, 1e-4, np.random.default_rng(0)), []
    passes = solver.run(1000, trace)
    assert solver.done
    assert passes == len(trace) < 200
    # beyond tol: rows twice must give what weights of 2 give
    gap = problem.objective(solver.v) - problem.dual_objective(solver.beta, solver.v)
    assert abs(gap) <= 1e-10 * problem.objective(solver.v)
    assert trace[-1][0] == pytest.approx(-problem.dual_objective(solver.beta, solver.v), rel=1e-10)
    single = GramCoordinateDescent(problem, 1e-4, np.random.default_rng(0))
    while not single.done:
        single.epoch()
    assert single.passes == passes
    np.testing.assert_array_equal(single.v, solver.v)


def test_defaults_of_few_sparse_rows_are_solved_by_way_of_the_gram_matrix():
    X, y, _ = few_rows("sparse")
    labels = np.digitize(y, [-0.5, 0.5])
    for model, target in ((LinearSVC(random_state=0), labels), (LinearSVR(random_state=0), y)):
        plain = model.fit(X, target)
        assert plain.history_["violation"][-1] < 1e-10
        assert plain.n_iter_ < 60
        watched = clone(model).set_callbacks(Recorder()).fit(X, target)
        np.testing.assert_allclose(watched.coef_, plain.coef_, rtol=1e-9, atol=1e-12)


def test_a_row_leaves_a_cholesky_factor():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(6, 8))
    for place in range(6):
        L = np.linalg.cholesky(A @ A.T)
        delete_row(L, place, 6)
        kept = np.delete(A, place, axis=0)
        np.testing.assert_allclose(np.tril(L[:5, :5]), np.linalg.cholesky(kept @ kept.T), rtol=1e-12)
