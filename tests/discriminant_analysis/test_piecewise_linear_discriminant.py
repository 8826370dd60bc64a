"""Piecewise-linear discriminant: error correction step by step, its end, division, weights, sparse rows."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from tercet import EarlyStopping
from tercet.discriminant_analysis import PiecewiseLinearDiscriminant
from tests.discriminant_analysis.test_subclasses import clumps


def error_correction(Y, y, alpha, owner, rate, own=None):
    """One pass of (5-7) and (5-8) over augmented samples, in plain form; the number of corrections."""
    corrections = 0
    for k, (sample, label) in enumerate(zip(Y, y)):
        g = alpha @ sample
        mine = np.flatnonzero(owner == label) if own is None else own[k : k + 1]
        others = np.flatnonzero(owner != label)
        m, n = mine[g[mine].argmax()], others[g[others].argmax()]
        if not g[m] > g[n]:
            alpha[m] += rate * sample
            alpha[n] -= rate * sample
            corrections += 1
    return corrections


def start(n_features, counts, seed=0):
    rng = np.random.default_rng(seed)
    return {label: 0.1 * rng.normal(size=(count, 1 + n_features)) for label, count in counts.items()}


@pytest.mark.parametrize("learning_rate", ["constant", "inverse", "geometric"])
@pytest.mark.parametrize("given", [False, True])
def test_passes_are_those_of_the_text(learning_rate, given):
    X, _, at = clumps(60, spread=2.5)
    y, counts = at // 2, {0: 2, 1: 2, 2: 1}
    init = start(2, counts)
    model = PiecewiseLinearDiscriminant(
        counts,
        init=init,
        eta0=0.5,
        learning_rate=learning_rate,
        decay=0.8,
        tol=0.0,
        max_iter=4,
        shuffle=False,
        variant="plain",
    )
    with pytest.warns(ConvergenceWarning, match="did not converge in 4 passes"):
        model.fit(X, y, subclasses=at if given else None)
    alpha, owner, Y = (
        np.concatenate(list(init.values())),
        np.array([0, 0, 1, 1, 2]),
        np.column_stack([np.ones(60), X]),
    )
    rates = {"constant": [1] * 4, "inverse": [1, 1 / 2, 1 / 3, 1 / 4], "geometric": [1, 0.8, 0.64, 0.512]}
    mistakes = [
        error_correction(Y, y, alpha, owner, 0.5 * r, own=at if given else None) for r in rates[learning_rate]
    ]
    assert model.history_["mistakes"] == mistakes
    np.testing.assert_allclose(model.coef_, alpha[:, 1:], rtol=1e-9)
    np.testing.assert_allclose(model.intercept_, alpha[:, 0], rtol=1e-9)
    g = Y @ alpha.T
    scores = np.column_stack([g[:, :2].max(axis=1), g[:, 2:4].max(axis=1), g[:, 4]])
    np.testing.assert_allclose(model.decision_function(X), scores, rtol=1e-9)
    np.testing.assert_array_equal(model.predict(X), scores.argmax(axis=1))
    np.testing.assert_array_equal(model.predict_subclass(X), g.argmax(axis=1))
    strict = [s[k] > np.delete(s, k).max() for s, k in zip(scores, y)]
    assert model.history_["error"][-1] == pytest.approx(1 - np.mean(strict))


@pytest.mark.parametrize(
    "options", [{}, {"division": "kmeans"}, {"init": "means"}, {"division": "kmeans", "init": "means"}]
)
def test_a_clean_pass_ends_training_where_subclasses_are_separable(options):
    X, y, _ = clumps(spread=0.3)
    model = PiecewiseLinearDiscriminant({"a": 2, "b": 3}, max_iter=1000, random_state=1, **options).fit(X, y)
    assert model.history_["mistakes"][-1] == 0
    assert model.n_iter_ < 1000
    assert model.score(X, y) == 1.0


def test_start_from_means_is_the_nearest_mean():
    X, y, at = clumps(spread=0.3)
    model = PiecewiseLinearDiscriminant(init="means", max_iter=1).fit(X, y, subclasses=at)
    assert model.history_["mistakes"] == [0]
    means = np.array([X[at == k].mean(axis=0) for k in range(5)])
    np.testing.assert_allclose(model.coef_, means, rtol=1e-12)
    distances = np.linalg.norm(X[:, None] - means, axis=2)
    np.testing.assert_array_equal(model.predict_subclass(X), distances.argmin(axis=1))


@pytest.mark.parametrize("learning_rate", ["inverse", "geometric"])
def test_a_shrinking_step_forces_an_end(learning_rate):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 2)), rng.integers(2, size=80)
    model = PiecewiseLinearDiscriminant(
        learning_rate=learning_rate, max_iter=3000, tol=0.02, random_state=0
    ).fit(X, y)
    assert model.history_["mistakes"][-1] > 0
    assert model.n_iter_ < 3000


def test_pocket_keeps_the_pass_with_the_fewest_errors():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 2)), rng.integers(2, size=80)
    pocket, plain = (
        PiecewiseLinearDiscriminant(variant=variant, max_iter=30, random_state=0)
        for variant in ("pocket", "plain")
    )
    for model in (pocket, plain):
        with pytest.warns(ConvergenceWarning, match="Raise n_subclasses, or change learning_rate"):
            model.fit(X, y)
    assert pocket.history_ == plain.history_
    assert 1 - pocket.score(X, y) == pytest.approx(min(pocket.history_["error"]))
    assert 1 - plain.score(X, y) == pytest.approx(plain.history_["error"][-1])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_weights_multiply_the_step():
    X, y, _ = clumps(40, spread=2.0)
    weight = np.random.default_rng(0).integers(0, 3, size=40).astype(float)
    options = {
        "n_subclasses": 2,
        "init": start(2, {"a": 2, "b": 2}),
        "shuffle": False,
        "max_iter": 1,
        "variant": "plain",
    }
    there = weight > 0
    model = PiecewiseLinearDiscriminant(**options).fit(X, y, weight)
    fewer = PiecewiseLinearDiscriminant(**options).fit(X[there], y[there], weight[there])
    doubled = PiecewiseLinearDiscriminant(eta0=0.5, **options).fit(X, y, 2 * weight)
    np.testing.assert_array_equal(model.coef_, fewer.coef_)
    np.testing.assert_array_equal(model.coef_, doubled.coef_)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_sparse_rows_and_single_precision():
    X, y, _ = clumps(spread=0.5)
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.2, 0.0, X)
    options = {
        "n_subclasses": {"a": 2, "b": 3},
        "max_iter": 20,
        "random_state": 0,
        "learning_rate": "geometric",
    }
    dense = PiecewiseLinearDiscriminant(**options).fit(X, y)
    thin = PiecewiseLinearDiscriminant(**options).fit(sparse.csr_array(X), y)
    single = PiecewiseLinearDiscriminant(**options).fit(X.astype(np.float32), y)
    np.testing.assert_allclose(thin.coef_, dense.coef_, rtol=1e-9)
    np.testing.assert_array_equal(thin.predict(sparse.csr_array(X)), dense.predict(X))
    assert single.coef_.dtype == np.float32
    assert single.decision_function(X.astype(np.float32)).dtype == np.float32


def test_number_of_subclasses_by_cross_validation():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(200, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    X += 0.3 * np.sign(X)
    model = PiecewiseLinearDiscriminant([1, 2], init="means", cv=3, max_iter=50, random_state=0).fit(X, y)
    assert model.best_n_subclasses_ == 2
    assert model.n_subclasses_.tolist() == [2, 2]
    assert model.score(X, y) == 1.0
    with pytest.raises(ValueError, match="n_subclasses must give each class"):
        PiecewiseLinearDiscriminant([1, {0: 2}]).fit(X, y)


@pytest.mark.parametrize(
    "init", [{"a": [[0, 0, 0]]}, {"a": [[0, 0]], "b": [[0, 0, 0]]}, {"a": [[0, 0, np.inf]], "b": [[0, 0, 0]]}]
)
def test_initial_weights_are_checked(init):
    X, y, _ = clumps(20)
    with pytest.raises(
        ValueError, match=r"init must give class '.' finite augmented weights \(w0, w\) of shape \(1, 3\)"
    ):
        PiecewiseLinearDiscriminant(1, init=init).fit(X, y)


def test_callbacks_hold_out_rows():
    X, y, at = clumps(spread=2.0)
    stopping = EarlyStopping(validation_fraction=0.3, patience=3)
    model = PiecewiseLinearDiscriminant(random_state=0, max_iter=60).set_callbacks(stopping).fit(X, y)
    assert model.n_iter_ <= 60
    with pytest.raises(ValueError, match="A callback that holds out rows"):
        model.fit(X, y, subclasses=at)
