"""MMC and ITML: optimality, constraints kept, plain computations; labels, links and pairs."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import approx_fprime, minimize
from scipy.special import softmax
from sklearn.datasets import load_iris

from tercet.metric_learning import ITML, MMC
from tercet.metric_learning.itml import SlackLoss
from tercet.metric_learning.mmc import DiagonalSearch, FullSearch
from tercet.metric_learning.tuple_input import draw_pairs
from tercet.neighbors import KNeighborsClassifier

RNG = np.random.default_rng(0)
X = RNG.normal(size=(14, 3)) * [1.0, 3.0, 0.5]
Y = np.arange(14) % 2
MUST = [(0, 2), (4, 6), (1, 3), (5, 9), (2, 8), (7, 11), (3, 13), (6, 10)]
CANNOT = [(0, 1), (2, 5), (4, 9), (8, 3), (12, 7)]
LEARNERS = [MMC(), MMC(diagonal=True), ITML(), ITML(algorithm="projections", tol=1e-12, max_iter=5000)]
every_learner = pytest.mark.parametrize("model", LEARNERS, ids=str)


def differences(links):
    links = np.array(links)
    return X[links[:, 0]] - X[links[:, 1]]


def points(must=MUST, cannot=CANNOT):
    return np.array([[X[i], X[j]] for i, j in [*must, *cannot]]), [1] * len(must) + [-1] * len(cannot)


# --- MMC ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [FullSearch, DiagonalSearch])
def test_gradient_of_mmc_against_finite_differences(kind):
    near, far = differences(MUST), differences(CANNOT)
    search = kind(near.T @ near, far, np.ones(len(far)), 1)
    x = RNG.random(3) + 0.2 if kind is DiagonalSearch else RNG.normal(size=9)
    slope = approx_fprime(x, lambda x: search(x)[0], 1e-7)
    np.testing.assert_allclose(search(x)[1], slope, rtol=1e-4, atol=1e-4)


def test_mmc_is_optimal():
    """With G = S - c Σ vv'/(2|v|_M), G is positive semidefinite and tr(GM) = 0 (Karush-Kuhn-Tucker)."""
    near, far = differences(MUST), differences(CANNOT)
    M = MMC(reg=0, tol=1e-12).fit(X, must_link=MUST, cannot_link=CANNOT).get_mahalanobis_matrix()
    length = np.sqrt(np.einsum("ij,jk,ik->i", far, M, far))
    assert length.sum() == pytest.approx(1)  # the constraint is active
    S = near.T @ near
    multiplier = 2 * (S * M).sum()
    G = S - multiplier * (far.T / (2 * length)) @ far
    assert (G * M).sum() == pytest.approx(0, abs=1e-6 * np.trace(S) * np.trace(M))
    assert np.linalg.eigvalsh(G).min() > -1e-3 * np.abs(S).max()
    assert np.linalg.eigvalsh(M).min() > -1e-12 * M.max()


def test_mmc_diagonal_is_that_of_a_general_solver():
    near, far = differences(MUST), differences(CANNOT)
    model = MMC(diagonal=True, reg=0, tol=1e-12).fit(X, must_link=MUST, cannot_link=CANNOT)
    s = (near**2).sum(axis=0)

    def spread(logits):  # of the dissimilar pairs, where the similar ones have s @ a = 1: concave in a
        a = softmax(logits) / s
        return np.sqrt(far**2 @ a).sum()

    found = minimize(lambda logits: -spread(logits), np.zeros(3), method="BFGS", options={"gtol": 1e-9})
    M = model.get_mahalanobis_matrix()
    assert np.count_nonzero(M - np.diag(np.diagonal(M))) == 0
    assert s @ np.diagonal(M) == pytest.approx(spread(found.x) ** -2, rel=1e-4)  # scaled to a spread of 1


def test_mmc_beats_the_euclidean_distance_at_its_own_aim():
    X, y = load_iris(return_X_y=True)
    Z = MMC(random_state=0).fit(X, y).transform(X)

    def ratio(Z):
        apart = np.sqrt(((Z[:, None] - Z) ** 2).sum(axis=2))
        same = y[:, None] == y
        return (apart[same] ** 2).sum() / apart[~same].sum() ** 2

    assert ratio(Z) < 0.8 * ratio(X)


def test_mmc_without_a_bound_is_regularised():
    """No must-link differs in the second column: only `reg` keeps it finite."""
    model = MMC().fit([[0.0, 0], [1, 0], [0, 1], [1, 1]], must_link=[(0, 1)], cannot_link=[(0, 2), (1, 2)])
    assert np.isfinite(model.components_).all()
    assert model.pair_distance([[[0.0, 0], [1, 0]]])[0] < 1e-2
    with pytest.raises(ValueError, match="the must-link pairs do not differ in some direction"):
        MMC(reg=0).fit([[0.0, 0], [1, 0], [0, 1], [1, 1]], must_link=[(0, 1)], cannot_link=[(0, 2), (1, 2)])


@pytest.mark.parametrize("scale", [1e-100, 1e-3, 1e5, 1e60])
def test_mmc_does_not_depend_on_the_unit(scale):
    plain = MMC().fit(X, must_link=MUST, cannot_link=CANNOT)
    other = MMC().fit(scale * X, must_link=MUST, cannot_link=CANNOT)
    np.testing.assert_allclose(scale * other.components_, plain.components_, rtol=1e-4, atol=1e-6)


# --- ITML ---------------------------------------------------------------------------------------------------


def davis(pairs, y, bounds, gamma, passes):
    """The algorithm of the paper, with whole matrices."""
    M, d = np.eye(pairs.shape[2]), pairs[:, 0] - pairs[:, 1]
    slack, multiplier = np.where(np.array(y) > 0, *bounds).astype(float), np.zeros(len(d))
    for _ in range(passes):
        for c, v in enumerate(d):
            p, delta = v @ M @ v, y[c]
            alpha = min(multiplier[c], delta * gamma / (gamma + 1) * (1 / p - 1 / slack[c]))
            multiplier[c] -= alpha
            slack[c] = gamma * slack[c] / (gamma + delta * alpha * slack[c])
            M = M + delta * alpha / (1 - delta * alpha * p) * np.outer(M @ v, M @ v)
    return M


def test_projections_are_those_of_the_paper():
    pairs, y = points()
    model = ITML(algorithm="projections", bounds=(1.0, 4.0), gamma=2.0, max_iter=7, tol=0)
    with pytest.warns(UserWarning, match="did not converge"):
        model.fit(pairs, y)
    np.testing.assert_allclose(
        model.get_mahalanobis_matrix(), davis(pairs, y, (1.0, 4.0), 2.0, 7), rtol=1e-8, atol=1e-10
    )


@pytest.mark.parametrize("gamma", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("prior", ["identity", "covariance"])
def test_both_algorithms_of_itml_come_to_one_metric(gamma, prior):
    pairs, y = points()
    options = {"gamma": gamma, "prior": prior, "bounds": (1.0, 4.0)}
    one = ITML(algorithm="lbfgs", tol=1e-13, **options).fit(pairs, y).get_mahalanobis_matrix()
    other = ITML(algorithm="projections", tol=1e-12, max_iter=20_000, **options).fit(pairs, y)
    np.testing.assert_allclose(one, other.get_mahalanobis_matrix(), rtol=1e-4, atol=1e-5)


def test_gradient_of_itml_against_finite_differences():
    V = differences(MUST + CANNOT)
    sign = np.repeat([1.0, -1.0], [len(MUST), len(CANNOT)])
    loss = SlackLoss(np.diag([1.0, 2.0, 0.5]), V, sign, np.where(sign > 0, 1.0, 4.0), np.full(len(V), 0.7))
    x = np.eye(3).ravel() + 0.2 * RNG.normal(size=9)
    np.testing.assert_allclose(loss(x)[1], approx_fprime(x, lambda x: loss(x)[0], 1e-7), rtol=1e-4, atol=1e-4)


def test_constraints_without_slack_are_kept():
    must, cannot = MUST[:2], CANNOT[:2]
    model = ITML(gamma=np.inf, bounds=(0.5, 6.0), tol=1e-12, max_iter=5000).fit(*points(must, cannot))
    squares = model.pair_distance(points(must, cannot)[0]) ** 2
    assert (squares[:2] <= 0.5 + 1e-6).all()
    assert (squares[2:] >= 6.0 - 1e-6).all()
    with pytest.raises(ValueError, match="algorithm='lbfgs' needs a finite gamma"):
        ITML(gamma=np.inf, algorithm="lbfgs").fit(X, Y)


def test_pairs_within_bounds_leave_the_prior():
    prior = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0]])
    for algorithm in ("lbfgs", "projections"):
        model = ITML(prior=prior, bounds=(1e6, 1e-6), algorithm=algorithm).fit(X, Y)
        np.testing.assert_allclose(model.get_mahalanobis_matrix(), prior, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("prior", ["random", "covariance", "identity"])
def test_itml_is_positive_definite(prior):
    model = ITML(prior=prior, random_state=0).fit(X, Y)
    assert np.linalg.eigvalsh(model.get_mahalanobis_matrix()).min() > 0


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"prior": -np.eye(3)}, "prior must be a symmetric positive definite"),
        ({"prior": np.eye(2)}, r"of shape \(3, 3\); got \(2, 2\)"),
        ({"bounds": (1.0,)}, "bounds must be two positive numbers"),
        ({"bounds": (0.0, 1.0)}, "bounds must be two positive numbers"),
        ({"bounds": ("a", "b")}, "bounds must be two positive numbers"),
        ({"gamma": 0.0}, "'gamma' must be"),
    ],
)
def test_parameters_of_itml_that_do_not_fit(options, says):
    with pytest.raises(ValueError, match=says):
        ITML(**options).fit(X, Y)


def test_a_covariance_without_inverse():
    flat = np.column_stack([X, X[:, 0]])
    with pytest.raises(ValueError, match="prior='covariance' needs rows whose covariance has an inverse"):
        ITML(prior="covariance").fit(flat, Y)


# --- input --------------------------------------------------------------------------------------------------


@every_learner
def test_links_and_pairs_of_points_are_the_same(model):
    if isinstance(model, ITML):  # bounds of its own: those of all rows are not those of the pairs
        model = ITML(**{**model.get_params(), "bounds": (1.0, 4.0)})
    by_links = model.fit(X, must_link=MUST, cannot_link=CANNOT).components_
    np.testing.assert_allclose(model.fit(*points()).components_, by_links, rtol=1e-6, atol=1e-9)


@every_learner
def test_labels_are_all_their_pairs(model):
    first, second = np.triu_indices(14, 1)
    links = np.column_stack([first, second])
    same = Y[first] == Y[second]
    by_labels = model.fit(X, Y).components_
    by_links = model.fit(X, must_link=links[same], cannot_link=links[~same]).components_
    np.testing.assert_array_equal(by_labels, by_links)


@every_learner
def test_the_matrix_is_positive_semidefinite_and_the_metric_is_its_own(model):
    model = model.fit(X, Y)
    M, metric = model.get_mahalanobis_matrix(), model.get_metric()
    np.testing.assert_array_equal(M, M.T)
    assert np.linalg.eigvalsh(M).min() >= -1e-12 * np.abs(M).max()
    v = X[0] - X[1]
    assert metric(X[0], X[1]) == pytest.approx(np.sqrt(v @ M @ v), rel=1e-6)
    assert metric(X[0], X[1], squared=True) == pytest.approx(v @ M @ v, rel=1e-6)
    Z = model.transform(X)
    assert np.linalg.norm(Z[0] - Z[1]) == pytest.approx(metric(X[0], X[1]), rel=1e-9)
    assert model.pair_score([[X[0], X[1]]])[0] == pytest.approx(-metric(X[0], X[1]), rel=1e-9)


@every_learner
def test_three_ways_to_neighbours(model):
    model = model.fit(X, Y)
    by_rows = KNeighborsClassifier(3).fit(model.transform(X), Y).predict_proba(model.transform(X))
    by_metric = KNeighborsClassifier(3, metric=model.get_metric()).fit(X, Y).predict_proba(X)
    matrix = {"VI": model.get_mahalanobis_matrix()}
    by_matrix = KNeighborsClassifier(3, metric="mahalanobis", metric_params=matrix).fit(X, Y).predict_proba(X)
    np.testing.assert_allclose(by_metric, by_rows)
    np.testing.assert_allclose(by_matrix, by_rows)


@every_learner
def test_weights_of_pairs_are_repetitions(model):
    if getattr(model, "algorithm", "") == "auto":
        model = ITML(tol=1e-12)
    pairs, y = points()
    weight = np.arange(len(y)) % 3
    one = model.fit(pairs, y, weight).components_
    other = model.fit(np.repeat(pairs, weight, axis=0), np.repeat(y, weight)).components_
    np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4 * np.abs(other).max())


@pytest.mark.parametrize("model", [MMC(tol=1e-13), ITML(tol=1e-13)], ids=str)
def test_weights_of_rows_are_repetitions(model):
    weight = np.arange(14) % 3
    one = model.fit(X, Y, weight).components_
    other = model.fit(np.repeat(X, weight, axis=0), np.repeat(Y, weight)).components_
    np.testing.assert_allclose(one, other, rtol=0, atol=1e-6 * np.abs(other).max())


@every_learner
def test_sparse_rows(model):
    rows = np.where(np.abs(X) < 0.4, 0.0, X)
    dense = model.fit(rows, Y).components_
    np.testing.assert_array_equal(model.fit(sparse.csr_array(rows), Y).components_, dense)


@every_learner
def test_contradictory_constraints_are_named(model):
    with pytest.raises(ValueError, match="rows 0 and 2 are both must-link and cannot-link"):
        model.fit(X, must_link=MUST, cannot_link=[*CANNOT, (2, 0)])
    with pytest.raises(ValueError, match=r"cannot_link holds \(4, 4\), and a row is not apart from itself"):
        model.fit(X, must_link=MUST, cannot_link=[(4, 4)])
    pairs, y = points([*MUST], [*CANNOT, (2, 0)])
    with pytest.raises(ValueError, match="pairs 0 and 13 of X are the same two points"):
        model.fit(pairs, y)


@every_learner
@pytest.mark.parametrize(
    ("links", "says"),
    [
        ({"must_link": [(0, 1)]}, "there is no cannot-link pair"),
        ({"cannot_link": [(0, 1)]}, "there is no must-link pair"),
        (
            {"must_link": [(0, 14)], "cannot_link": [(0, 1)]},
            r"must_link holds \(0, 14\); row numbers are from 0 to 13",
        ),
        ({"must_link": [(0, -1)], "cannot_link": [(0, 1)]}, r"must_link holds \(0, -1\)"),
        ({"must_link": [(0, 1, 2)], "cannot_link": [(0, 1)]}, "must_link must be pairs of row numbers"),
        ({"must_link": [(0.5, 1)], "cannot_link": [(0, 1)]}, "must_link must be pairs of row numbers"),
        ({"must_link": [(0, 1), (2,)], "cannot_link": [(0, 1)]}, "must_link must be pairs of row numbers"),
        ({"must_link": "ab", "cannot_link": [(0, 1)]}, "must_link must be pairs of row numbers"),
        ({"y": Y, "must_link": MUST}, "give either y or must_link and cannot_link"),
        ({}, "requires y to be passed"),
    ],
)
def test_links_that_do_not_fit(model, links, says):
    with pytest.raises(ValueError, match=says):
        model.fit(X, **links)


@every_learner
@pytest.mark.parametrize(
    ("y", "says"),
    [
        ([0, 1] * 6 + [0], "y must be 1 .* got values such as 0"),
        (None, "y must be 1 .* got None"),
        ([1] * 3, "y must be 1 .* shape"),
        (["a"] * 13, "y must be 1 .* got values such as 'a'"),
    ],
)
def test_labels_of_pairs_that_do_not_fit(model, y, says):
    with pytest.raises(ValueError, match=says):
        model.fit(points()[0], y)


def test_tuples_that_do_not_fit():
    with pytest.raises(ValueError, match=r"of shape \(n_pairs, 2, n_features\); got \(4, 3, 2\)"):
        MMC().fit(np.zeros((4, 3, 2)), [1, -1, 1, -1])
    with pytest.raises(ValueError, match="NaN"):
        MMC().fit(np.full((4, 2, 2), np.nan), [1, -1, 1, -1])
    model = MMC().fit(X, Y)
    with pytest.raises(ValueError, match=r"pairs must be of shape \(n_pairs, 2, 3\)"):
        model.pair_distance(np.zeros((4, 2, 2)))
    with pytest.raises(ValueError, match="X holds pairs of points"):
        MMC().fit(points()[0], must_link=MUST, cannot_link=CANNOT)


@every_learner
def test_classes_that_make_no_pairs(model):
    with pytest.raises(ValueError, match="at least two classes, one of them with two rows"):
        model.fit(X, np.zeros(14))
    with pytest.raises(ValueError, match="at least two classes, one of them with two rows"):
        model.fit(X, np.arange(14))
    with pytest.raises(ValueError, match="no must-link pair of two different points"):
        model.fit(np.ones((6, 2)), [0, 0, 0, 1, 1, 1])


@every_learner
def test_a_class_with_one_row_and_identical_rows(model):
    rows = np.concatenate([X, X[:3], X[:1] + 5])
    y = np.concatenate([Y, 1 - Y[:3], [9]])  # rows 0 to 2 again, with the other label
    assert np.isfinite(model.fit(rows, y).components_).all()


def test_drawn_pairs_are_of_their_kinds_and_by_their_weights():
    rng = np.random.default_rng(0)
    codes, weight = np.array([0, 0, 0, 1, 1, 2]), np.array([1.0, 2.0, 0.0, 1.0, 3.0, 1.0])
    must, cannot = draw_pairs(codes, weight, 20_000, rng)
    assert (codes[must[:, 0]] == codes[must[:, 1]]).all()
    assert (must[:, 0] != must[:, 1]).all()
    assert (codes[cannot[:, 0]] != codes[cannot[:, 1]]).all()
    assert not np.isin(2, np.concatenate([must, cannot]))
    first = np.isin(must, [0, 1]).all(axis=1).mean()
    assert first == pytest.approx(2 / (2 + 3), abs=0.02)  # 1·2 against 1·3
    with_five = (cannot == 5).any(axis=1).mean()
    assert with_five == pytest.approx(7 / (12 + 7), abs=0.02)  # Σ w_i w_j of the last class, of all


def test_many_rows_draw_pairs():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(300, 2))
    y = rng.integers(0, 2, 300)
    one, other = (MMC(random_state=seed).fit(rows, y).components_ for seed in (0, 1))
    assert not np.array_equal(one, other)
    np.testing.assert_array_equal(one, MMC(random_state=0).fit(rows, y).components_)
    few = MMC(n_constraints=50, random_state=0).fit(rows, y).components_
    assert not np.array_equal(one, few)
