"""Estimates of the error on new rows: bootstrap, leave-one-out, and the correction for choosing."""

import importlib

import numpy as np
import pytest
from sklearn.model_selection import LeaveOneOut, cross_val_predict

from tercet.kernel_ridge import KernelRidge
from tercet.linear_model import LinearRegression, LogisticRegression, Ridge
from tercet.model_selection import bias_variance, bootstrap_estimate, corrected_selection, leave_one_out
from tercet.naive_bayes import GaussianNB
from tercet.neighbors import KNeighborsClassifier, KNeighborsRegressor


def rows(n=25, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X @ np.arange(1.0, d + 1) + rng.normal(size=n)


@pytest.mark.parametrize(
    "estimator",
    [
        LinearRegression(),
        LinearRegression(fit_intercept=False),
        Ridge(2.0),
        Ridge(0.5, fit_intercept=False),
        KernelRidge(alpha=0.3, kernel="rbf", gamma=0.5),
        KNeighborsRegressor(3),
        KNeighborsRegressor(3, weights="distance"),
    ],
    ids=repr,
)
def test_closed_forms_equal_refitting(estimator):
    X, y = rows()
    refitted = cross_val_predict(estimator, X, y, cv=LeaveOneOut())
    np.testing.assert_allclose(leave_one_out(estimator, X, y), refitted, rtol=1e-8, atol=1e-8)


def test_closed_forms_fit_once(monkeypatch):
    X, y = rows()
    module = importlib.import_module("tercet.model_selection.leave_one_out")  # the package has the function
    monkeypatch.setattr(module, "cross_val_predict", None)
    for estimator in (
        LinearRegression(),
        Ridge(),
        KernelRidge(alpha=0.3, kernel="rbf"),
        KNeighborsRegressor(3),
    ):
        assert leave_one_out(estimator, X, y).shape == y.shape


def test_classes_and_methods_without_a_closed_form():
    X, y = rows()
    y = np.where(y > 0, "yes", "no")
    for estimator in (KNeighborsClassifier(3), GaussianNB()):
        refitted = cross_val_predict(estimator, X, y, cv=LeaveOneOut())
        np.testing.assert_array_equal(leave_one_out(estimator, X, y), refitted)


def test_a_row_that_the_fit_passes_through():
    """Leverage 1: the closed form is 0 / 0, the answer is that of a fit without the row."""
    X, y = np.column_stack([np.eye(6)[:, 0], np.arange(6.0)]), np.array([5.0, 1, 3, 2, 6, 4])
    refitted = cross_val_predict(LinearRegression(), X, y, cv=LeaveOneOut())
    np.testing.assert_allclose(leave_one_out(LinearRegression(), X, y), refitted, atol=1e-8)


def test_632_by_its_definition():
    X, y = rows(40)
    plain = bootstrap_estimate(Ridge(), X, y, kind=".632", n_bootstraps=20, random_state=0)
    outside = bootstrap_estimate(Ridge(), X, y, kind="out-of-bag", n_bootstraps=20, random_state=0)
    plus = bootstrap_estimate(Ridge(), X, y, n_bootstraps=20, random_state=0)
    assert outside.error == outside.out_of_bag == plain.out_of_bag
    assert plain.error == pytest.approx(0.368 * plain.training + 0.632 * plain.out_of_bag)
    assert plus.weight == pytest.approx(0.632 / (1 - 0.368 * plus.overfitting))
    assert plain.training < plain.error <= plus.error <= plain.out_of_bag
    pairs = np.mean((y[:, None] - Ridge().fit(X, y).predict(X)) ** 2)
    assert plus.no_information == pytest.approx(pairs)


def test_632_plus_is_not_flattered_by_learning_by_heart():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 2)), rng.integers(2, size=80)
    nearest = KNeighborsClassifier(1)
    plus = bootstrap_estimate(nearest, X, y, n_bootstraps=50, random_state=1)
    plain = bootstrap_estimate(nearest, X, y, kind=".632", n_bootstraps=50, random_state=1)
    assert plus.training == 0.0
    assert plain.error < 0.4 < plus.error <= plus.no_information


def test_bootstrap_does_not_depend_on_jobs():
    X, y = rows(30)
    one, two = (bootstrap_estimate(Ridge(), X, y, n_bootstraps=8, random_state=3, n_jobs=j) for j in (1, 2))
    assert one == two


def test_the_best_of_many_equal_methods_is_corrected():
    """Thirty coins: the winner's apparent loss is far below 0.5, the corrected one near it."""
    rng = np.random.default_rng(0)
    apparent, corrected = [], []
    for _ in range(40):
        found = corrected_selection(rng.integers(2, size=(100, 30)), n_bootstraps=100, random_state=rng)
        apparent.append(found.loss)
        corrected.append(found.corrected)
    assert np.mean(apparent) < 0.42
    assert 0.46 < np.mean(corrected) < 0.52


def test_a_clear_winner_needs_no_correction():
    rng = np.random.default_rng(1)
    losses = np.column_stack([rng.random(300) < p for p in (0.5, 0.1, 0.6)]).astype(float)
    found = corrected_selection(losses, random_state=0)
    assert found.best == 1
    assert found.chosen.tolist() == [0, 1, 0]
    assert found.corrected == pytest.approx(found.loss, abs=0.01)
    assert found.low < found.loss < found.high


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: leave_one_out(Ridge(), [[1.0]], [1.0]), "at least 2 rows"),
        (lambda: bootstrap_estimate(Ridge(), *rows(), kind="loo"), "kind must be '.632\\+'"),
        (lambda: bootstrap_estimate(Ridge(), *rows(), n_bootstraps=0), "n_bootstraps must be an integer"),
        (lambda: corrected_selection([[1.0]]), "at least 2 rows"),
        (lambda: corrected_selection([[np.nan], [1.0]]), "must be finite"),
        (lambda: corrected_selection(np.eye(3), confidence=1.0), "confidence must be"),
    ],
)
def test_refusals(call, says):
    with pytest.raises(ValueError, match=says):
        call()


def test_groups_of_rows_are_drawn_whole():
    """Losses of groups with their sizes are those of all their rows, drawn together."""
    rng = np.random.default_rng(1)
    sizes = rng.integers(1, 6, 40)
    losses = rng.random((40, 3))
    found = corrected_selection(losses, counts=sizes, random_state=0)
    assert found.loss == pytest.approx(np.repeat(losses, sizes, axis=0).mean(axis=0).min())
    plain = corrected_selection(losses, random_state=0)
    equal = corrected_selection(losses, counts=np.full(40, 7), random_state=0)
    assert (plain.loss, plain.corrected, plain.low) == pytest.approx((equal.loss, equal.corrected, equal.low))
    # Rows that come in tens vary as groups do: taken one by one they would promise too much.
    tens = np.repeat(losses, 10, axis=0)
    alone = corrected_selection(tens, random_state=0)
    assert alone.high - alone.low < 0.6 * (plain.high - plain.low)
    for counts in ([1, 2], np.zeros(40)):
        with pytest.raises(ValueError, match="counts must be 40 positive numbers"):
            corrected_selection(losses, counts=counts)


@pytest.mark.parametrize("kind", ["bootstrap", "bias-variance"])
def test_a_bootstrap_sample_without_a_rare_class(kind):
    """Of ten rows with one of the second class, every third sample has only the first: it predicts that."""
    X, y = np.arange(10.0)[:, None], np.array(["no"] * 9 + ["yes"])
    if kind == "bootstrap":
        found = bootstrap_estimate(LogisticRegression(), X, y, n_bootstraps=20, random_state=0)
        assert 0 < found.out_of_bag < 0.5
    else:
        found = bias_variance(LogisticRegression(), X, y, X, y, n_repeats=20, random_state=0)
        assert 0 < found.error < 0.5
