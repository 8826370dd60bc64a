"""Neighbourhood components analysis: the text's sums, gradients, agreement with scikit-learn, odd rows."""

import itertools

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import approx_fprime
from sklearn import neighbors as peer
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning

from tercet import neighbors
from tercet.metric_learning import NeighborhoodComponentsAnalysis, leave_one_out_probabilities
from tercet.metric_learning import neighborhood_components_analysis as page
from tercet.metric_learning._engine import soft_neighbours
from tercet.metric_learning._engine.soft_neighbours import AllPairs, NearPairs
from tercet.metric_learning.neighborhood_components_analysis import loss_of
from tercet.neighbors import KNeighborsClassifier

RNG = np.random.default_rng(0)
X = RNG.normal(size=(70, 4))
Y = np.sort(RNG.integers(0, 3, 70))
WEIGHT = RNG.random(70) + 0.2
L = 0.5 * RNG.normal(size=(2, 4))
EVERY = np.array([[j for j in range(70) if j != i] for i in range(70)])


def objective(model, X, y):
    return leave_one_out_probabilities(X, y, model.components_).sum()


def pairs(kind):
    centred = X - X.mean(axis=0)
    if kind == "all":
        return AllPairs(centred, Y, WEIGHT, 1)
    return NearPairs(centred, Y, WEIGHT, EVERY if kind == "near" else EVERY[:, :25], 1)


@pytest.mark.parametrize("kind", ["all", "near"])
def test_sums_are_those_of_the_plain_form(kind):
    plain = WEIGHT @ leave_one_out_probabilities(X, Y, L, WEIGHT)
    assert pairs(kind)(L)[0] == pytest.approx(plain, rel=1e-12)


@pytest.mark.parametrize("kind", ["all", "near", "some"])
def test_gradient_against_finite_differences(kind):
    loss = loss_of(pairs(kind), 2)
    slope = approx_fprime(L.ravel(), lambda x: loss(x)[0], 1e-6)
    np.testing.assert_allclose(loss(L.ravel())[1], slope, rtol=1e-4, atol=1e-4)


def test_blocks_and_threads_give_the_same_sums(monkeypatch):
    whole = pairs("all")(L)
    monkeypatch.setattr(soft_neighbours, "BLOCK_ENTRIES", 700)
    rows = X - X.mean(axis=0)
    blocks = [AllPairs(rows, Y, WEIGHT, n_jobs)(L) for n_jobs in (1, 3)]
    assert len(AllPairs(rows, Y, WEIGHT, 1).blocks) > 5
    assert blocks[0][0] == pytest.approx(whole[0], rel=1e-12)
    assert blocks[0][0] == blocks[1][0]
    np.testing.assert_array_equal(blocks[0][1], blocks[1][1])


@pytest.mark.parametrize(
    "options",
    [{}, {"n_components": 2}, {"n_components": 3}, {"init": "random", "random_state": 3}, {"init": "pca"}],
)
def test_agrees_with_scikit_learn(options):
    X, y = load_iris(return_X_y=True)
    mine = NeighborhoodComponentsAnalysis(**options).fit(X, y)
    theirs = peer.NeighborhoodComponentsAnalysis(**options).fit(X, y)
    assert objective(mine, X, y) == pytest.approx(objective(theirs, X, y), rel=1e-6)
    # the same path, up to the rounding of the sums
    expected = theirs.components_.T @ theirs.components_
    np.testing.assert_allclose(mine.get_mahalanobis_matrix(), expected, rtol=1e-3, atol=1e-3)


def test_agrees_with_scikit_learn_on_scaled_wine():
    X, y = load_wine(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    mine = NeighborhoodComponentsAnalysis(max_iter=10, tol=0).fit(X, y)
    theirs = peer.NeighborhoodComponentsAnalysis(max_iter=10, tol=0).fit(X, y)
    np.testing.assert_allclose(mine.components_, theirs.components_, rtol=1e-6, atol=1e-8)


def test_objective_rises_and_is_reported():
    model = NeighborhoodComponentsAnalysis().fit(X, Y)
    values = model.history_["objective"]
    assert all(a <= b for a, b in itertools.pairwise(values))
    assert values[-1] == pytest.approx(objective(model, X, Y), rel=1e-9)
    assert values[0] >= leave_one_out_probabilities(X, Y).sum()
    assert model.n_iter_ == len(values)


def test_neighbours_of_all_rows_are_the_full_sum():
    full = NeighborhoodComponentsAnalysis(solver="full", tol=1e-9, max_iter=200).fit(X, Y)
    near = NeighborhoodComponentsAnalysis(solver="neighbors", n_neighbors=69, tol=1e-9, max_iter=200).fit(
        X, Y
    )
    assert objective(near, X, Y) == pytest.approx(objective(full, X, Y), rel=1e-6)


def test_many_rows_take_working_sets(monkeypatch):
    calls = []
    real = page.NearPairs

    def spy(*args):
        calls.append(args[3].shape)
        return real(*args)

    monkeypatch.setattr(page, "NearPairs", spy)
    monkeypatch.setattr(page, "FULL_ROWS", 60)
    model = NeighborhoodComponentsAnalysis(n_neighbors=15).fit(X, Y)
    assert calls
    assert set(calls) == {(70, 15)}
    full = NeighborhoodComponentsAnalysis(solver="full").fit(X, Y)
    assert objective(model, X, Y) > 0.9 * objective(full, X, Y)


def test_helps_nearest_neighbours():
    """A column of large noise: plain neighbours are at a loss, those of the learned metric are not."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 200)
    X = np.column_stack([y + 0.1 * rng.normal(size=200), 20 * rng.normal(size=200)])
    model = NeighborhoodComponentsAnalysis().fit(X[:100], y[:100])
    plain = KNeighborsClassifier(3).fit(X[:100], y[:100]).score(X[100:], y[100:])
    learned = KNeighborsClassifier(3, metric=model.get_metric()).fit(X[:100], y[:100])
    assert plain < 0.8
    assert learned.score(X[100:], y[100:]) > 0.95


def test_rows_of_weight_zero_are_not_there():
    weight = np.where(np.arange(70) % 5 == 0, 0.0, WEIGHT)
    kept = weight > 0
    one = NeighborhoodComponentsAnalysis(init="identity").fit(X, Y, weight)
    other = NeighborhoodComponentsAnalysis(init="identity").fit(X[kept], Y[kept], weight[kept])
    np.testing.assert_allclose(one.components_, other.components_, rtol=1e-6, atol=1e-8)


def test_weights_count():
    weight = np.where(Y == 0, 5.0, 1.0)
    plain, heavy = (NeighborhoodComponentsAnalysis(1).fit(X, Y, w) for w in (None, weight))
    of_weighted = [weight @ leave_one_out_probabilities(X, Y, m.components_, weight) for m in (plain, heavy)]
    assert of_weighted[1] > of_weighted[0]
    total = heavy.history_["objective"][-1] * weight.mean()  # weights count relative to their mean
    assert total == pytest.approx(of_weighted[1], rel=1e-9)


def test_sparse_rows():
    rows = np.where(np.abs(X) < 0.5, 0.0, X)
    dense = NeighborhoodComponentsAnalysis(2).fit(rows, Y)
    other = NeighborhoodComponentsAnalysis(2).fit(sparse.csr_array(rows), Y)
    np.testing.assert_array_equal(dense.components_, other.components_)
    np.testing.assert_allclose(other.transform(sparse.csr_array(rows)), dense.transform(rows), rtol=1e-12)


def test_identical_rows():
    model = NeighborhoodComponentsAnalysis().fit(np.ones((6, 2)), [0, 1, 0, 1, 0, 1])
    np.testing.assert_array_equal(model.components_, np.eye(2))
    assert objective(model, np.ones((6, 2)), np.array([0, 1, 0, 1, 0, 1])) == pytest.approx(6 * 2 / 5)


def test_a_class_with_one_row_and_a_single_class():
    y = Y.copy()
    y[0] = 9
    model = NeighborhoodComponentsAnalysis().fit(X, y)
    assert leave_one_out_probabilities(X, y, model.components_)[0] == 0
    alone = NeighborhoodComponentsAnalysis(init="identity").fit(X, np.zeros(70))
    np.testing.assert_array_equal(alone.components_, np.eye(4))


def test_rows_far_apart_do_not_vanish():
    """exp(-distance²) underflows for all pairs; the nearest row still counts."""
    far = 1e4 * X
    model = NeighborhoodComponentsAnalysis(max_iter=1).fit(far, Y)
    assert np.isfinite(model.components_).all()
    nearest = ((far[:, None] - far) ** 2).sum(axis=2) + np.diag(np.full(70, np.inf))
    assert AllPairs(far, Y, np.ones(70), 1)(np.eye(4))[0] == (Y[nearest.argmin(axis=1)] == Y).sum()


def test_warm_start_goes_on():
    first = NeighborhoodComponentsAnalysis(max_iter=3, warm_start=True).fit(X, Y)
    before = objective(first, X, Y)
    assert objective(first.fit(X, Y), X, Y) > before
    with pytest.raises(ValueError, match=r"previously learned transformation \(4\)"):
        first.fit(X[:, :2], Y)


def test_importable_from_neighbors():
    assert neighbors.NeighborhoodComponentsAnalysis is NeighborhoodComponentsAnalysis


def test_callback_and_warning():
    seen = []
    with pytest.warns(ConvergenceWarning, match="did not converge"):
        NeighborhoodComponentsAnalysis(
            max_iter=2, tol=0, verbose=1, callback=lambda x, n: seen.append((x.shape, n))
        ).fit(X, Y)
    assert seen == [((16,), 1), ((16,), 2)]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (
            {"n_components": 5},
            r"`n_components` \(5\) cannot be greater than the given data dimensionality \(4\)",
        ),
        ({"init": np.eye(3)}, r"must match the dimensionality of the given inputs `X` \(4\)"),
        ({"init": np.ones((5, 4))}, "cannot be greater than its input dimensionality"),
        ({"init": np.eye(4), "n_components": 2}, "does not match the output dimensionality"),
        ({"init": "middle"}, "'init' must be"),
        ({"solver": "some"}, "'solver' must be"),
        ({"n_neighbors": 0}, "'n_neighbors' must be"),
    ],
)
def test_parameters_that_do_not_fit(options, says):
    with pytest.raises(ValueError, match=says):
        NeighborhoodComponentsAnalysis(**options).fit(X, Y)


def test_one_row_is_refused():
    with pytest.raises(ValueError, match=r"1 sample"):
        NeighborhoodComponentsAnalysis().fit(X[:1], Y[:1])
    with pytest.raises(ValueError, match="minimum of 2 with a weight"):
        NeighborhoodComponentsAnalysis().fit(X[:3], [0, 0, 1], [1, 0, 0])
