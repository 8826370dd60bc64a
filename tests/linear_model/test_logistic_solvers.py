"""SAG, SAGA and dual coordinate descent of logistic regression; the deprecated penalty; extreme scales."""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import pytest
import sklearn.linear_model as peer
from scipy import sparse
from sklearn.exceptions import DataConversionWarning

from tercet.core.rows import rows
from tercet.core.steps import ConvergenceWarning
from tercet.linear_model import (
    LogisticObjective,
    LogisticRegression,
    LogisticRegressionCV,
    average_gradient_pass,
    logistic_dual_pass,
)
from tercet.linear_model._logistic.average_gradient import AverageGradient
from tercet.linear_model._logistic.dual_coordinate_descent import dual_sweep


def noisy(n=80, d=3, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X[np.abs(X) < 0.4] = 0
    y = (X @ rng.normal(size=(d, n_classes)) + rng.gumbel(size=(n, n_classes))).argmax(axis=1)
    return X, y


def weights(model):
    return np.column_stack([model.coef_, model.intercept_])


class FixedOrder:
    """In place of a generator: the rows in a given order."""

    def __init__(self, order):
        self.order = order

    def integers(self, n, size):
        return self.order


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    ("saga", "l1", "l2"), [(True, 0.05, 0.1), (True, 0.05, 0.0), (False, 0.0, 0.1), (True, 0, 0)]
)
def test_average_gradient_kernel_takes_the_plain_steps(make, saga, l1, l2):
    X, y = noisy(n_classes=2)
    order = np.random.default_rng(1).integers(y.size, size=y.size)
    objective = LogisticObjective(make(X), y, None, 2, l2=l2, intercept=False)
    state = AverageGradient(objective, np.zeros(3), l1, saga)
    w, memory = np.zeros(3), np.where(y > 0, -0.5, 0.5)
    for _ in range(3):
        state.sweep(FixedOrder(order))
        w, memory = average_gradient_pass(
            X, 2 * y - 1, w, memory, order, eta=state.eta, l2=l2, l1=l1, saga=saga
        )
    np.testing.assert_allclose(state.W[0], w, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(state.memory[:, 0], memory, rtol=1e-10)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_dual_kernel_takes_the_plain_steps(make):
    X, y = noisy(n_classes=2)
    order, side = np.random.default_rng(1).permutation(y.size), 2.0 * y - 1
    alpha = np.full(y.size, 0.1)
    rest, w, v = 2.0 - alpha, X.T @ (alpha * side), np.zeros(1)
    plain = alpha.copy()
    for _ in range(2):
        dual_sweep(rows(make(X)), side, np.full(y.size, 2.0), order, 0.0, alpha, rest, w, v)
        plain, v_plain = logistic_dual_pass(X, side, 2.0, plain, order)
    np.testing.assert_allclose(alpha, plain, rtol=1e-7)
    np.testing.assert_allclose(w, v_plain, rtol=1e-7)
    np.testing.assert_allclose(alpha + rest, 2.0)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "options",
    [
        {"solver": "sag"},
        {"solver": "sag", "fit_intercept": False},
        {"solver": "saga"},
        {"solver": "saga", "l1_ratio": 1.0, "C": 0.2},
        {"solver": "saga", "l1_ratio": 0.4, "C": 0.3},
        {"solver": "saga", "C": np.inf},
    ],
)
def test_average_gradients_end_at_the_minimum(options, n_classes, make):
    X, y = noisy(n_classes=n_classes)
    s = np.random.default_rng(1).integers(0, 4, y.size).astype(float)
    limits = {"tol": 1e-9, "max_iter": 5000, "class_weight": {0: 2.0}, "random_state": 0}
    model = LogisticRegression(**options, **limits).fit(make(X), y, s)
    exact = LogisticRegression(**{**options, **limits, "solver": "auto"}).fit(X, y, s)
    np.testing.assert_allclose(weights(model), weights(exact), atol=1e-5)
    assert model.n_iter_.shape == (1,)
    assert 1 < model.n_iter_[0] < 5000
    assert np.array_equal(model.coef_ == 0, exact.coef_ == 0)


@pytest.mark.parametrize("options", [{}, {"dual": True}, {"l1_ratio": 1.0}])
@pytest.mark.parametrize("scaling", [1.0, 5.0])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_liblinear_ends_at_liblinears_minimum(options, scaling, make):
    X, y = noisy(n_classes=2)
    s = np.random.default_rng(1).uniform(0.5, 2, y.size)
    options = {"solver": "liblinear", "C": 0.7, "intercept_scaling": scaling, "random_state": 0, **options}
    options |= {"class_weight": {1: 3.0}, "tol": 1e-9, "max_iter": 5000}
    ours = LogisticRegression(**options).fit(make(X), y, s)
    theirs = peer.LogisticRegression(**options).fit(X, y, s)
    np.testing.assert_allclose(weights(ours), weights(theirs), atol=1e-5)


@pytest.mark.parametrize(
    "options", [{"solver": "sag"}, {"solver": "saga"}, {"solver": "liblinear", "dual": True}]
)
def test_random_state_decides(options):
    X, y = noisy(n_classes=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        one, two, other = (
            LogisticRegression(max_iter=3, random_state=r, **options).fit(X, y) for r in (0, 0, 1)
        )
    assert one.coef_.tobytes() == two.coef_.tobytes()
    assert one.coef_.tobytes() != other.coef_.tobytes()
    with pytest.warns(ConvergenceWarning, match="did not converge in 2 passes"):
        model = LogisticRegression(max_iter=2, tol=1e-9, **options).fit(X, y)
    assert model.n_iter_.tolist() == [2]


def test_saga_says_when_it_stopped_far_from_the_minimum():
    X, y = noisy()
    for options in ({"l1_ratio": 0.5}, {}):
        with pytest.warns(ConvergenceWarning, match="could still lower the mean loss"):
            LogisticRegression(solver="saga", tol=0.01, random_state=0, **options).fit(X * [1, 1, 100], y)


@pytest.mark.parametrize(
    ("penalty", "options"),
    [
        ("l2", {"l1_ratio": 0.0}),
        ("l1", {"l1_ratio": 1.0}),
        ("elasticnet", {"l1_ratio": 0.3}),
        (None, {"C": np.inf}),
    ],
)
def test_deprecated_penalty(penalty, options):
    X, y = noisy()
    given = {"solver": "auto", "tol": 1e-9}
    more = {"l1_ratio": options.get("l1_ratio", 0.0)}
    with pytest.warns(FutureWarning, match="'penalty' was deprecated"):
        model = LogisticRegression(penalty, **given, **more).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plain = LogisticRegression(**given, **options).fit(X, y)
    np.testing.assert_array_equal(weights(model), weights(plain))


def test_contradictions_of_the_deprecated_penalty():
    X, y = noisy()
    with pytest.warns(FutureWarning), pytest.warns(UserWarning, match="penalty=None will ignore the C"):
        LogisticRegression(penalty=None, C=0.5).fit(X, y)
    with pytest.warns(FutureWarning), pytest.warns(UserWarning, match="Inconsistent values: penalty=l1"):
        LogisticRegression(penalty="l1", solver="auto").fit(X, y)
    with pytest.warns(FutureWarning, match="'l1_ratio=None' was deprecated"):
        LogisticRegression(l1_ratio=None).fit(X, y)
    with pytest.warns(FutureWarning), pytest.raises(ValueError, match="l1_ratio must be specified"):
        LogisticRegression("elasticnet", solver="saga", l1_ratio=None).fit(X, y)


@pytest.mark.parametrize("name", ["LogisticRegression", "LogisticRegressionCV", "Perceptron"])
def test_signature_is_scikit_learns(name):
    import tercet.linear_model as module

    ours = inspect.signature(getattr(module, name)).parameters
    theirs = inspect.signature(getattr(peer, name)).parameters
    for key, parameter in theirs.items():
        assert (ours[key].default, ours[key].kind) == (parameter.default, parameter.kind), key
    ordered = [key for key, p in theirs.items() if p.kind is p.POSITIONAL_OR_KEYWORD]
    assert list(ours)[: len(ordered)] == ordered


@pytest.mark.parametrize("kind", [LogisticRegression, LogisticRegressionCV])
def test_a_column_of_labels(kind):
    X, y = noisy()
    options = {"l1_ratios": (0,), "scoring": "accuracy", "use_legacy_attributes": False, "Cs": 2}
    options = options if kind is LogisticRegressionCV else {}
    with pytest.warns(DataConversionWarning, match="column-vector y was passed"):
        model = kind(**options).fit(X, y[:, None])
    np.testing.assert_array_equal(model.coef_, kind(**options).fit(X, y).coef_)


@pytest.mark.parametrize("solver", ["lbfgs", "sag", "newton-cg"])
def test_warm_start_from_weights_set_by_hand(solver):
    X, y = noisy()
    exact = LogisticRegression(tol=1e-10, solver="newton-cholesky").fit(X, y)
    model = LogisticRegression(warm_start=True, max_iter=1, solver=solver, tol=1e-4)
    model.coef_, model.intercept_ = exact.coef_.tolist(), exact.intercept_.tolist()
    model.fit(X, y)
    np.testing.assert_allclose(weights(model), weights(exact), atol=1e-4)


@pytest.mark.parametrize("solver", ["lbfgs", "newton-cholesky", "saga", "auto", "liblinear"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_huge_values(solver, dtype):
    """The penalty vanishes beside them; the answer is that of scaled data without one."""
    X, y = noisy(200, n_classes=2)
    huge = (X * (1e200 if dtype is np.float64 else 1e30)).astype(dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = LogisticRegression(solver=solver, tol=1e-6, max_iter=2000, random_state=0).fit(huge, y)
        P = model.predict_proba(huge)
    exact = LogisticRegression(C=np.inf, tol=1e-6).fit(X, y)
    if solver != "liblinear":  # which penalises the intercept
        np.testing.assert_allclose(P, exact.predict_proba(X), atol=2e-3)
    assert model.score(huge, y) == pytest.approx(exact.score(X, y), abs=0.05)
    assert model.coef_.dtype == dtype


@pytest.mark.parametrize("solver", ["lbfgs", "newton-cholesky", "liblinear"])
def test_tiny_values(solver):
    X, y = noisy(n_classes=2)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = LogisticRegression(solver=solver).fit(1e-200 * X, y)
    assert [str(w.message).partition(":")[2][:30] for w in caught] == [" the largest value of X is 3.1"]
    share = y.mean() if solver != "liblinear" else model.predict_proba(X)[0, 1]
    np.testing.assert_allclose(model.predict_proba(1e-200 * X)[:, 1], share, atol=1e-4)


def test_a_tie_goes_to_the_first_class():
    model = LogisticRegression(max_iter=0).fit([[0.0], [1.0]], ["a", "b"])
    assert model.predict([[3.0]]).tolist() == ["a"]


def test_a_model_saved_before_there_was_a_penalty_parameter():
    X, y = noisy()
    model = LogisticRegression().fit(X, y)
    expected = model.standard_errors(X)[0]
    del model.__dict__["penalty"]
    np.testing.assert_array_equal(model.standard_errors(X)[0], expected)
    assert model.get_params()["penalty"] == "deprecated"
