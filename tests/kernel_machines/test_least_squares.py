"""Least-squares support vector machines against the system that defines them."""

import numpy as np
import pytest
from scipy import sparse

from tercet.kernel_machines import LSSVC, LSSVR, KernelRidge, kernel_mse
from tercet.kernels import Gaussian, Linear, Subsequence

RNG = np.random.default_rng(1)
X = RNG.normal(size=(36, 3))
LABELS = np.digitize(X[:, 0] + 0.3 * RNG.normal(size=36), [-0.5, 0.5])
W = RNG.integers(0, 4, 36).astype(float)
KERNEL = Gaussian(gamma=0.4)


def solved(K, y, mu, weight=None):
    """b and a of [[0, 1ᵀ], [1, K + mu W⁻¹]] [b; a] = [0; y], rows of weight 0 left out."""
    weight = np.ones(len(y)) if weight is None else weight
    rows = weight > 0
    n = rows.sum()
    system = np.zeros((n + 1, n + 1))
    system[0, 1:] = system[1:, 0] = 1
    system[1:, 1:] = K[np.ix_(rows, rows)] + mu * np.diag(1 / weight[rows])
    found = np.linalg.solve(system, np.r_[0, y[rows]])
    a = np.zeros(len(y))
    a[rows] = found[1:]
    return a, found[0]


@pytest.mark.parametrize("weight", [None, W], ids=["plain", "weighted"])
@pytest.mark.parametrize("solver", ["cholesky", "cg"])
def test_two_classes(weight, solver):
    y = LABELS > 0
    model = LSSVC(0.3, kernel=KERNEL, solver=solver, tol=1e-12).fit(X, y, weight)
    a, b = solved(KERNEL(X), np.where(y, 1.0, -1.0), 0.3, weight)
    np.testing.assert_allclose(model.dual_coef_, [a], rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(model.intercept_, [b], rtol=1e-8)
    np.testing.assert_allclose(model.dual_coef_.sum(), 0, atol=1e-10)
    np.testing.assert_allclose(model.decision_function(X), KERNEL(X) @ a + b, rtol=1e-7, atol=1e-9)
    assert (model.predict(X) == (model.decision_function(X) > 0)).all()


def test_several_classes_are_one_against_the_rest():
    model = LSSVC(0.3, kernel=KERNEL).fit(X, LABELS)
    for c in range(3):
        alone = LSSVC(0.3, kernel=KERNEL).fit(X, c == LABELS)
        np.testing.assert_allclose(model.dual_coef_[c], alone.dual_coef_[0], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(model.decision_function(X)[:, c], alone.decision_function(X), atol=1e-10)
    assert model.score(X, LABELS) > 0.8


@pytest.mark.parametrize("solver", ["cholesky", "cg"])
def test_regression_with_several_targets(solver):
    Y = np.column_stack([X[:, 0] ** 2, X[:, 1] + 5])
    model = LSSVR(0.1, kernel=KERNEL, solver=solver, tol=1e-12).fit(X, Y, W)
    for k in range(2):
        a, b = solved(KERNEL(X), Y[:, k], 0.1, W)
        np.testing.assert_allclose(model.dual_coef_[:, k], a, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(model.intercept_[k], b, rtol=1e-8)
    one = LSSVR(0.1, kernel=KERNEL).fit(X, Y[:, 1], W)
    assert isinstance(one.intercept_, float)
    np.testing.assert_allclose(one.predict(X), model.predict(X)[:, 1], rtol=1e-7)


def test_a_shift_of_the_targets_moves_the_intercept_alone():
    y = X[:, 0]
    one, other = LSSVR(0.1, kernel=KERNEL).fit(X, y), LSSVR(0.1, kernel=KERNEL).fit(X, y + 100)
    np.testing.assert_allclose(other.dual_coef_, one.dual_coef_, atol=1e-10)
    np.testing.assert_allclose(other.intercept_, one.intercept_ + 100)


def test_class_weights_are_weights_of_rows():
    one = LSSVC(0.3, kernel=KERNEL, class_weight={0: 2.0, 1: 0.5}).fit(X, LABELS)
    other = LSSVC(0.3, kernel=KERNEL).fit(X, LABELS, np.array([2.0, 0.5, 1.0])[LABELS])
    assert np.array_equal(one.dual_coef_, other.dual_coef_)
    assert LSSVC(class_weight={0: 9.0}).fit(X, LABELS).kernel_ == LSSVC().fit(X, LABELS).kernel_
    balanced = LSSVC(0.3, kernel=KERNEL, class_weight="balanced").fit(X, LABELS)
    counts = np.bincount(LABELS)
    same = LSSVC(0.3, kernel=KERNEL).fit(X, LABELS, (36 / (3 * counts))[LABELS])
    np.testing.assert_allclose(balanced.dual_coef_, same.dual_coef_, rtol=1e-9)


def test_leave_one_out_without_leaving_out():
    classes = LSSVC(0.3, kernel=KERNEL, loo=True).fit(X, LABELS, W)
    numbers = LSSVR(0.3, kernel=KERNEL, loo=True).fit(X, X[:, 2], W)
    for i in (0, 5, int(np.argmin(W))):
        rest = np.arange(36) != i
        other = LSSVC(0.3, kernel=KERNEL).fit(X[rest], LABELS[rest], W[rest])
        np.testing.assert_allclose(classes.loo_[i], other.decision_function(X[[i]])[0], rtol=1e-8)
        other = LSSVR(0.3, kernel=KERNEL).fit(X[rest], X[rest, 2], W[rest])
        np.testing.assert_allclose(numbers.loo_[i], other.predict(X[[i]])[0], rtol=1e-8)


def test_strings_sparse_rows_and_gram_matrices():
    words, y = ["cat", "cart", "car", "dog", "dig", "dot"], list("aaabbb")
    model = LSSVC(0.1, kernel=Subsequence(2, 0.5)).fit(words, y)
    assert model.predict(["bat", "dug"]).tolist() == ["a", "b"]
    dense = LSSVC(0.3).fit(X, LABELS)
    rows = LSSVC(0.3).fit(sparse.csr_array(X), LABELS)
    np.testing.assert_allclose(
        rows.decision_function(sparse.csr_array(X)), dense.decision_function(X), rtol=1e-8
    )
    gram = LSSVC(0.3, kernel="precomputed").fit(dense.kernel_(X), LABELS)
    np.testing.assert_allclose(
        gram.decision_function(dense.kernel_(X + 1, X)), dense.decision_function(X + 1), rtol=1e-8
    )


def test_constant_features_and_contradictions():
    model = LSSVC().fit(np.ones((6, 2)), [0, 0, 0, 1, 1, 1])
    np.testing.assert_allclose(model.decision_function([[1, 1]]), 0, atol=1e-10)
    model = LSSVC().fit([[0.0], [0.0], [1.0]], [0, 1, 1])
    assert np.isfinite(model.dual_coef_).all()
    with pytest.raises(ValueError, match="only one class"):
        LSSVC().fit(X, np.zeros(36))
    with pytest.raises(ValueError, match=r"parameter 'mu' must be .* got 0"):
        LSSVC(0).fit(X, LABELS)


def test_kernel_mse_is_the_family():
    y = np.where(LABELS > 0, 1.0, -1.0)
    K = KERNEL(X)
    a, b = kernel_mse(K, y, 0.3)
    machine = LSSVC(0.3, kernel=KERNEL).fit(X, y)
    np.testing.assert_allclose(a, machine.dual_coef_[0], rtol=1e-9)
    np.testing.assert_allclose(b, machine.intercept_[0], rtol=1e-9)
    a, b = kernel_mse(K, y, 0.3, intercept=False)
    np.testing.assert_allclose(a, KernelRidge(0.3, kernel=KERNEL).fit(X, y).dual_coef_, rtol=1e-9)
    assert b == 0


@pytest.mark.parametrize("intercept", [True, False])
def test_kernel_mse_with_a_penalty_on_the_coefficients_is_least_squares(intercept):
    y, K, mu = X[:, 0] + 2, Linear()(X), 0.7
    a, b = kernel_mse(K, y, mu, penalty="coefficients", intercept=intercept)
    errors = y - K @ a - b
    np.testing.assert_allclose(K @ errors, mu * a, rtol=1e-7, atol=1e-8)
    assert abs(errors.sum()) < 1e-8 if intercept else b == 0
    with pytest.raises(ValueError, match="mu must be above 0"):
        kernel_mse(K, y, 0.0)
    with pytest.raises(ValueError, match="K must have the shape"):
        kernel_mse(K[:4], y)


def test_one_row_cannot_be_left_out():
    with pytest.raises(ValueError, match="LSSVR: loo=True needs at least 2 rows with a weight; got 1"):
        LSSVR(loo=True).fit(X[:2], [1.0, 2.0], [1.0, 0.0])


@pytest.mark.parametrize(
    ("K", "y", "options", "message"),
    [
        (np.eye(3), [1, 2, 3], {"penalty": "none"}, "penalty must be 'norm' or 'coefficients'; got 'none'"),
        (np.eye(3), [1, 2, 3], {"mu": np.nan}, "mu must be above 0; .* mu=nan"),
        (np.eye(3), [[1], [2], [3]], {}, r"y of \(3, 1\)"),
        (np.full((3, 3), np.nan), [1, 2, 3], {}, "K contains NaN"),
    ],
)
def test_kernel_mse_refuses(K, y, options, message):
    with pytest.raises(ValueError, match=message):
        kernel_mse(K, y, **options)


def test_changed_sparse_rows_are_refused():
    rows = sparse.csr_array(X)
    model = LSSVC().fit(rows, LABELS)
    model.X_fit_.indices = np.full_like(model.X_fit_.indices, 10**8)
    with pytest.raises(ValueError, match="indices"):
        model.predict(rows)
