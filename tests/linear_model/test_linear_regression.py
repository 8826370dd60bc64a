"""Linear regression: closed forms, peers, and the texts' descents."""

import numpy as np
import pytest
import sklearn.linear_model as peer
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize as scipy_optimize
from scipy import sparse
from sklearn.utils.estimator_checks import check_estimator

from tercet.core.callbacks import EarlyStopping
from tercet.core.steps import ConvergenceWarning
from tercet.linear_model import LinearRegression, SumOfSquares
from tercet.linear_model._least_squares.design_matrix import DesignMatrix
from tercet.linear_model.least_squares.linear_regression import AttainableGain
from tercet.optimize import minimize


def data(n=200, d=5, k=None, seed=0, shift=3.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + shift
    y = X @ rng.standard_normal((d, k or 1)) + 1.5 + rng.standard_normal((n, k or 1))
    return X, y if k else y[:, 0], rng.uniform(0.2, 3.0, n)


@pytest.mark.parametrize("model", [LinearRegression(solver="normal"), LinearRegression(positive=True)])
def test_conformance(model):
    failed = [r for r in check_estimator(model, on_fail=None) if r["status"] == "failed"]
    assert failed == []


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, sparse.csr_array])
@pytest.mark.parametrize("solver", ["lstsq", "normal"])
@pytest.mark.parametrize("k", [None, 2])
def test_agrees_with_scikit_learn(fit_intercept, form, solver, k):
    X, y, weight = data(k=k)
    ours = LinearRegression(fit_intercept=fit_intercept, solver=solver).fit(form(X), y, weight)
    theirs = peer.LinearRegression(fit_intercept=fit_intercept).fit(X, y, weight)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-8)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-8)
    np.testing.assert_allclose(ours.singular_, theirs.singular_, rtol=1e-7)
    assert ours.rank_ == theirs.rank_
    assert ours.coef_.shape == theirs.coef_.shape


def test_many_rows_take_cross_products_and_stay_exact():
    X, y, _ = data(n=60_000, d=60)
    ours, theirs = LinearRegression().fit(X, y), peer.LinearRegression().fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-10)
    np.testing.assert_allclose(ours.singular_, theirs.singular_, rtol=1e-10)


def test_many_rows_of_bad_condition_fall_back_to_qr():
    X, y, _ = data(n=60_000, d=60)
    X[:, 0] = X[:, 1] + 3e-6 * X[:, 0]  # the cross products have no correct digit in this direction
    ours, theirs = LinearRegression(tol=1e-9).fit(X, y), peer.LinearRegression(tol=1e-9).fit(X, y)
    assert ours.rank_ == 60
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-6)


def test_wide_sparse_data_by_lsqr():
    rng = np.random.default_rng(0)
    X = sparse.random_array((400, 1500), density=0.02, rng=rng, format="csr")
    y = rng.standard_normal(400)
    ours, theirs = LinearRegression(tol=1e-12).fit(X, y), peer.LinearRegression(tol=1e-12).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-8)


def test_positive_agrees_with_scikit_learn():
    X, y, weight = data(k=2)
    ours, theirs = (
        m.fit(X, y, weight) for m in (LinearRegression(positive=True), peer.LinearRegression(positive=True))
    )
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-10)
    assert (ours.coef_ == 0).any()


def test_same_bits_for_any_number_of_threads():
    X, y, weight = data(n=20_000, d=40)
    for solver in ("lstsq", "normal", "gd"):
        fits = [
            LinearRegression(solver=solver, n_jobs=j, max_iter=3, tol=1e-6 if solver != "gd" else 1e30).fit(
                X, y, weight
            )
            for j in (1, 2, 7)
        ]
        assert all(np.array_equal(fits[0].coef_, f.coef_) and fits[0].sigma2_ == f.sigma2_ for f in fits)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(-50, 50), st.integers(-50, 50)), min_size=2, max_size=30))
def test_closed_form_for_one_feature(points):
    x, y = np.array(points, dtype=float).T
    m = len(x)
    if np.ptp(x) == 0:
        x[0] += 1.0
    w = np.sum(y * (x - x.mean())) / (np.sum(x**2) - np.sum(x) ** 2 / m)
    model = LinearRegression().fit(x[:, None], y)
    assert model.coef_[0] == pytest.approx(w, rel=1e-8, abs=1e-8)
    assert model.intercept_ == pytest.approx(np.mean(y - w * x), rel=1e-8, abs=1e-7)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**31), st.integers(2, 12), st.integers(1, 14))
def test_residuals_are_orthogonal_to_the_features_and_the_solution_is_shortest(seed, n, d):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((n, d)), rng.standard_normal(n)
    model = LinearRegression(fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(X.T @ (y - model.predict(X)), 0, atol=1e-7)
    np.testing.assert_allclose(model.coef_, np.linalg.pinv(X) @ y, atol=1e-6)


def test_likelihood_is_highest_at_least_squares():
    X, y, weight = data(n=40)
    model = LinearRegression().fit(X, y, weight)
    best = model.log_likelihood(X, y, weight)
    residuals = y - model.predict(X)
    by_hand = np.sum(weight * (-0.5 * np.log(2 * np.pi * model.sigma2_) - residuals**2 / (2 * model.sigma2_)))
    assert best == pytest.approx(by_hand)
    for name, change in [("coef_", 0.01), ("intercept_", 0.01), ("sigma2_", 0.01), ("sigma2_", -0.01)]:
        kept = getattr(model, name)
        setattr(model, name, kept + change)
        assert model.log_likelihood(X, y, weight) < best
        setattr(model, name, kept)


@pytest.mark.parametrize("solver", ["gd", "sgd", "minibatch"])
@pytest.mark.parametrize("stop", ["loss", "parameters"])
def test_descent_reaches_least_squares(solver, stop):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    y = X @ [1.0, -2.0, 0.5] + 1.0  # without noise even a constant step converges
    model = LinearRegression(solver=solver, stop=stop, tol=1e-12, max_iter=5000, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.coef_, [1.0, -2.0, 0.5], atol=1e-4)
    assert model.n_iter_ == len(model.history_["loss"]) < 5000


def test_descent_lowers_the_loss_on_sparse_data_and_several_targets():
    X, y, weight = data(k=2, shift=0.0)
    fits = [
        LinearRegression(solver="gd", tol=1e-13).fit(form(X), y, weight)
        for form in (np.asarray, sparse.csr_array)
    ]
    exact = LinearRegression().fit(X, y, weight)
    for model in fits:
        assert np.all(np.diff(model.history_["loss"]) <= 0)
        np.testing.assert_allclose(model.coef_, exact.coef_, atol=1e-4)
        np.testing.assert_allclose(model.sigma2_, exact.sigma2_, rtol=1e-6)


def test_descent_says_when_it_diverges_or_does_not_converge():
    X, y, _ = data(n=50)
    with pytest.raises(ValueError, match="diverges with eta=10"):
        LinearRegression(solver="gd", eta=10.0).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="did not converge in 2 passes"):
        LinearRegression(solver="gd", max_iter=2).fit(X, y)


def test_decay_shrinks_the_steps():
    X, y, _ = data(n=50, shift=0.0)
    options = {"solver": "sgd", "max_iter": 30, "shuffle": False, "tol": 0.0, "stop": "parameters"}
    with pytest.warns(ConvergenceWarning):
        plain, decayed = (LinearRegression(decay=d, **options).fit(X, y) for d in (0.0, 1.0))
    assert decayed.history_["loss"][-1] < plain.history_["loss"][-1]


def test_early_stopping_ends_the_descent():
    X, y, _ = data(n=100, shift=0.0)
    stopping = EarlyStopping(patience=3)
    model = LinearRegression(solver="gd", max_iter=2000, tol=0.0).set_callbacks(stopping).fit(X, y)
    assert model.n_iter_ < 2000
    assert model.best_iter_ <= model.n_iter_


def test_errors_name_the_parameter():
    with pytest.raises(ValueError, match=r"positive=True works with solver='lstsq' only; got solver='gd'"):
        LinearRegression(positive=True, solver="gd").fit([[1], [2]], [1, 2])
    with pytest.raises(ValueError, match="parameter 'eta' must be a number"):
        LinearRegression(eta=-1).fit([[1], [2]], [1, 2])


def test_float32_stays_float32():
    X, y, _ = data()
    model = LinearRegression().fit(X.astype(np.float32), y)
    assert model.coef_.dtype == model.predict(X.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(model.coef_, LinearRegression().fit(X, y).coef_, rtol=1e-4)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("k", [None, 2])
def test_objective_has_the_right_derivatives(fit_intercept, k):
    X, y, weight = data(n=30, d=3, k=k)
    J = SumOfSquares(X, y, weight, fit_intercept=fit_intercept, scale=1.0)
    theta = np.random.default_rng(1).standard_normal(J.size)
    slopes = scipy_optimize.approx_fprime(theta, J.value, 1e-6)
    np.testing.assert_allclose(J.gradient(theta), slopes, rtol=1e-4, atol=1e-2)
    v = np.random.default_rng(2).standard_normal(J.size)
    np.testing.assert_allclose(J.hessian(theta) @ v, J.hessian_product(theta, v), rtol=1e-10)
    np.testing.assert_allclose(
        J.gradient(theta + v) - J.gradient(theta), J.hessian_product(theta, v), rtol=1e-9
    )


def test_objective_in_the_optimiser():
    X, y, weight = data(n=50, d=3)
    J = SumOfSquares(X, y, weight)
    exact = LinearRegression().fit(X, y, weight)
    for method in ("newton", "lbfgs"):
        found = minimize(J, np.zeros(J.size), method=method, tol=1e-9)
        np.testing.assert_allclose(found.x, [*exact.coef_, exact.intercept_], rtol=1e-6)


def test_design_operator_is_the_dense_matrix():
    X, y, weight = data(n=20, d=4)
    design = DesignMatrix(sparse.csr_array(X), y, weight)
    Z, _ = DesignMatrix(X, y, weight).centred()
    np.testing.assert_allclose(design.operator() @ np.eye(4), Z, atol=1e-12)
    np.testing.assert_allclose(design.operator().rmatvec(y), Z.T @ y, atol=1e-10)
    np.testing.assert_allclose(design.cross_products()[0], Z.T @ Z, atol=1e-10)


@pytest.mark.parametrize("stop", ["loss", "parameters"])
@pytest.mark.parametrize(
    ("solver", "scale", "shift", "level"), [("gd", 1e4, 0, 100), ("gd", 1e8, 0, 5), ("sgd", 1, 1e6, 0)]
)
def test_a_descent_that_crawls_has_not_converged(solver, scale, shift, level, stop):
    X, y, _ = data(shift=0.0)
    model = LinearRegression(solver=solver, stop=stop, max_iter=100, random_state=0)
    with pytest.warns(ConvergenceWarning, match="in 100 passes .* Scale the features"):
        model.fit(X * scale + shift, y + level)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_attainable_gain_is_the_best_of_one_coordinate(form, fit_intercept):
    X, y, weight = data(n=50)
    objective = SumOfSquares(form(X), y, weight, fit_intercept=fit_intercept)
    theta = np.linspace(-1.0, 1.0, objective.size)
    gain = AttainableGain(DesignMatrix(form(X), y, weight, fit_intercept))(
        *objective.split(objective.gradient(theta))
    )
    mean = np.average(X, axis=0, weights=weight) if fit_intercept else np.zeros(X.shape[1])
    columns = np.column_stack([X - mean, np.ones((50, int(fit_intercept)))])
    w, b = objective.split(theta)
    errors = y - X @ w[0] - b[0]
    gains = (columns.T @ (weight * errors)) ** 2 / (weight @ columns**2)
    spread = y - np.average(y, weights=weight) if fit_intercept else y
    assert gain == pytest.approx(gains.max() / (weight @ spread**2))


def test_descent_on_a_constant_target_converges(recwarn):
    X, _, _ = data(shift=0.0)
    model = LinearRegression(solver="gd").fit(X, np.full(len(X), 7.0))
    assert model.intercept_ == pytest.approx(7.0, abs=1e-2)
    assert not recwarn.list


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_huge_targets_and_single_precision():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 3)), rng.normal(size=30)
    plain, huge = LinearRegression().fit(X, y), LinearRegression().fit(X, y * 2.0**1000)
    np.testing.assert_allclose(huge.coef_ / 2.0**1000, plain.coef_)
    assert LinearRegression().fit(X.astype(np.float32), y).singular_.dtype == np.float32


def test_sparse_rows_are_predicted_and_checked():
    rng = np.random.default_rng(0)
    X = sparse.random(60, 8, density=0.4, format="csr", random_state=0)
    model = LinearRegression().fit(X, rng.normal(size=60))
    np.testing.assert_allclose(model.predict(X), X.toarray() @ model.coef_ + model.intercept_)
    np.testing.assert_allclose(model.predict(X.tocsc()), model.predict(X))
    with pytest.raises(ValueError, match="8 features as input"):
        model.predict(X[:, :5])
    X.data[3] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model.predict(X)
