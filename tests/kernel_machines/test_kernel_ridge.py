"""Kernel ridge regression against scikit-learn's, against ridge on explicit features, and by its own optimality."""

import pickle
import warnings

import numpy as np
import pytest
import sklearn.kernel_ridge
from scipy import linalg, sparse
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, cross_val_predict

from tercet.core.steps import ConvergenceWarning
from tercet.kernel_machines import KernelRidge
from tercet.kernel_machines._engine import training_gram
from tercet.kernels import Gaussian, Polynomial, Precomputed, Subsequence

RNG = np.random.default_rng(0)
X, Y, W = RNG.random((40, 3)), RNG.normal(size=(40, 2)), RNG.integers(0, 3, 40).astype(float)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"kernel": "rbf"},
        {"kernel": "rbf", "gamma": 0.7},
        {"kernel": "laplacian"},
        {"kernel": "poly", "degree": 2},
        {"kernel": "polynomial", "gamma": 0.5, "coef0": 0.3},
        {"kernel": "sigmoid", "gamma": 0.1},
        {"kernel": "cosine"},
        {"kernel": "chi2", "gamma": 0.2},
        {"kernel": "additive_chi2", "alpha": 30.0},
        {"kernel": lambda x, z, power=1: float(x @ z + 1) ** power, "kernel_params": {"power": 2}},
        {"alpha": [0.1, 3.0], "kernel": "rbf"},
    ],
    ids=lambda options: str(options).partition(" at 0x")[0],
)
@pytest.mark.parametrize("weight", [None, W], ids=["plain", "weighted"])
def test_agrees_with_scikit_learn(options, weight):
    ours = KernelRidge(**options).fit(X, Y, sample_weight=weight)
    theirs = sklearn.kernel_ridge.KernelRidge(**options).fit(X, Y, sample_weight=weight)
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(ours.predict(X + 0.1), theirs.predict(X + 0.1), rtol=1e-6, atol=1e-8)
    one = {**options, "alpha": 30.0}
    ours, theirs = KernelRidge(**one).fit(X, Y[:, 0]), sklearn.kernel_ridge.KernelRidge(**one).fit(X, Y[:, 0])
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, rtol=1e-6, atol=1e-8)


def test_chi_squared_has_a_gamma_of_its_own():
    one, none = (KernelRidge(kernel="chi2", gamma=gamma).fit(X, Y) for gamma in (1.0, None))
    assert np.array_equal(one.dual_coef_, none.dual_coef_)


@pytest.mark.parametrize("weight", [None, W], ids=["plain", "weighted"])
@pytest.mark.parametrize("alpha", [0.3, [0.01, 2.0]], ids=str)
@pytest.mark.parametrize("whole", [training_gram.IN_MEMORY, 0], ids=["kept", "blocks"])
def test_conjugate_gradients_find_the_same(weight, alpha, whole, monkeypatch):
    options = {"alpha": alpha, "kernel": "rbf", "gamma": 2.0}
    direct = KernelRidge(**options, solver="cholesky").fit(X, Y, weight)
    monkeypatch.setattr(training_gram, "IN_MEMORY", whole)
    monkeypatch.setattr("tercet.kernel_machines.least_squares.RANK", 5)
    model = KernelRidge(**options, solver="cg", tol=1e-12).fit(X, Y, weight)
    np.testing.assert_allclose(model.dual_coef_, direct.dual_coef_, rtol=1e-7, atol=1e-9)
    assert model.n_iter_ > 1
    assert model.history_["residual"][-1] <= 1e-12
    if whole == 0:
        automatic = KernelRidge(**options, tol=1e-12).fit(X, Y, weight)
        assert np.array_equal(automatic.dual_coef_, model.dual_coef_)
        other = KernelRidge(**options, tol=1e-12, n_jobs=3).fit(X, Y, weight)
        assert np.array_equal(other.dual_coef_, model.dual_coef_)


def test_conjugate_gradients_that_stop_early_say_so(monkeypatch):
    monkeypatch.setattr("tercet.kernel_machines.least_squares.RANK", 2)
    monkeypatch.setattr("tercet.kernel_machines.least_squares.ENTRIES", 0)
    wide = RNG.normal(size=(120, 30))
    with pytest.warns(ConvergenceWarning, match=r"KernelRidge did not converge in 2 passes"):
        model = KernelRidge(1e-6, kernel="rbf", solver="cg", max_iter=2).fit(wide, wide[:, 0])
    assert np.isfinite(model.dual_coef_).all()


def test_sparse_and_precomputed():
    K = Gaussian(gamma=0.7)
    dense = KernelRidge(kernel="rbf", gamma=0.7).fit(X, Y)
    rows = KernelRidge(kernel="rbf", gamma=0.7).fit(sparse.csr_array(X), Y)
    gram = KernelRidge(kernel="precomputed").fit(K(X), Y)
    np.testing.assert_allclose(rows.predict(sparse.csr_array(X)), dense.predict(X), rtol=1e-9)
    np.testing.assert_allclose(gram.predict(K(X + 1, X)), dense.predict(X + 1), rtol=1e-9)
    np.testing.assert_array_equal(gram.X_fit_, K(X))
    folds = cross_val_predict(KernelRidge(kernel="precomputed"), K(X), Y, cv=4)
    np.testing.assert_allclose(folds, cross_val_predict(KernelRidge(kernel=K), X, Y, cv=4), rtol=1e-9)


def test_the_solution_lies_in_the_span_of_the_rows():
    """The representer theorem: ridge on the explicit features finds nothing better than the kernel expansion."""
    kernel = Polynomial(degree=2, gamma=1.0, coef0=1.0)
    phi = np.column_stack([kernel.features(X)])
    ridge = Ridge(0.3, fit_intercept=False, solver="cholesky").fit(phi, Y, W)
    model = KernelRidge(0.3, kernel=kernel).fit(X, Y, W)
    np.testing.assert_allclose(phi.T @ model.dual_coef_, ridge.coef_.T, rtol=1e-7, atol=1e-9)
    # and the dual optimality: alpha a = w (y - f)
    np.testing.assert_allclose(
        0.3 * model.dual_coef_, W[:, None] * (Y - model.predict(X)), rtol=1e-7, atol=1e-9
    )


def test_leave_one_out_without_leaving_out():
    model = KernelRidge([0.3, 1.0], kernel="rbf", gamma=3.0, loo=True).fit(X, Y, W)
    for i in [0, int(np.argmin(W)), 17]:
        rest = np.arange(40) != i
        other = KernelRidge([0.3, 1.0], kernel="rbf", gamma=3.0).fit(X[rest], Y[rest], W[rest])
        np.testing.assert_allclose(model.loo_[i], other.predict(X[[i]])[0], rtol=1e-8)
    with pytest.raises(ValueError, match="loo=True needs solver='cholesky'"):
        KernelRidge(loo=True, solver="cg").fit(X, Y)


def test_no_penalty_on_repeated_rows_is_the_smallest_solution():
    twice = np.vstack([X[:5], X[:5]])
    with pytest.warns(linalg.LinAlgWarning, match="singular"):
        model = KernelRidge(0.0, kernel="rbf").fit(twice, np.r_[np.ones(5), np.zeros(5)])
    np.testing.assert_allclose(model.predict(X[:5]), 0.5, atol=1e-6)
    np.testing.assert_allclose(model.dual_coef_[:5], model.dual_coef_[5:], rtol=1e-4)


def test_a_gram_matrix_that_is_no_kernel():
    K = RNG.normal(size=(20, 20))
    K = K + K.T
    with pytest.warns(linalg.LinAlgWarning, match="not positive definite"):
        model = KernelRidge(0.1, kernel="precomputed").fit(K, Y[:20, 0])
    np.testing.assert_allclose((K + 0.1 * np.eye(20)) @ model.dual_coef_, Y[:20, 0], atol=1e-8)


@pytest.mark.parametrize("scale", [1e-150, 1e-6, 1e6, 1e100])
def test_huge_and_tiny_scales(scale):
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        model = KernelRidge(scale**2, kernel="linear").fit(X * scale, Y)
    expected = KernelRidge(1.0, kernel="linear").fit(X, Y)
    np.testing.assert_allclose(model.predict(X * scale), expected.predict(X), rtol=1e-7)


def test_strings():
    words = ["cat", "cart", "car", "dog", "dig", "dot"]
    y = [1.0, 1.0, 1.0, -1.0, -1.0, -1.0]
    model = KernelRidge(0.1, kernel=Subsequence(2, 0.5)).fit(words, y)
    assert (np.sign(model.predict(["cat", "dog", "bat", "dug"])) == [1, -1, 1, -1]).all()
    column = KernelRidge(0.1, kernel=Subsequence(2, 0.5)).fit(np.array(words, dtype=object)[:, None], y)
    assert np.array_equal(column.dual_coef_, model.dual_coef_)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(words), model.predict(words))


def test_search_reaches_the_kernel():
    search = GridSearchCV(KernelRidge(0.1, kernel=Gaussian(sigma=1.0)), {"kernel__sigma": [0.1, 0.5]}, cv=3)
    search.fit(X, X[:, 0])
    assert search.best_params_ == {"kernel__sigma": 0.5}


@pytest.mark.parametrize("alpha", [-1.0, [1.0, 2.0, 3.0], [-1.0, 1.0], [np.nan, 1.0], "much"], ids=str)
def test_wrong_penalties(alpha):
    with pytest.raises(ValueError, match="alpha"):
        KernelRidge(alpha).fit(X, Y)


def test_a_changed_model_is_refused():
    model = KernelRidge(kernel="rbf").fit(X, Y)
    model.X_fit_ = model.X_fit_[:, :2]
    with pytest.raises(ValueError, match="do not fit each other"):
        model.predict(X)
    model = KernelRidge(kernel="rbf").fit(X, Y)
    model.dual_coef_ = model.dual_coef_[:7]
    with pytest.raises(ValueError, match="do not fit each other"):
        model.predict(X)


@pytest.mark.parametrize("heavy", [1e3, 1e12, 1e17])
def test_rows_of_very_different_weights(heavy):
    """A heavy row is met, and takes nothing away from what the others say."""
    weight = np.where(np.arange(40) % 5, 1.0, heavy)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = KernelRidge(1.0, kernel="rbf", gamma=3.0).fit(X, Y, weight)
    K = Gaussian(gamma=3.0)(X)
    expected = np.linalg.solve(K + np.diag(1 / weight), Y)
    np.testing.assert_allclose(model.dual_coef_, expected, rtol=1e-8)


def test_whole_numbers_in_a_given_matrix():
    matrix = np.array([[2, 1, 0], [1, 2, 1], [0, 1, 2]])
    model = KernelRidge(kernel=Precomputed(matrix)).fit([0, 1, 2], [1.0, 2.0, 3.0])
    np.testing.assert_allclose(model.dual_coef_, np.linalg.solve(matrix + np.eye(3), [1.0, 2.0, 3.0]))


def test_leaving_out_with_a_matrix_that_is_no_kernel():
    K = np.random.default_rng(5).normal(size=(12, 12))
    K, y = K + K.T, Y[:12, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", linalg.LinAlgWarning)
        model = KernelRidge(0.1, kernel="precomputed", loo=True).fit(K, y)
        for i in range(12):
            rest = np.arange(12) != i
            other = KernelRidge(0.1, kernel="precomputed").fit(K[np.ix_(rest, rest)], y[rest])
            np.testing.assert_allclose(model.loo_[i], other.predict(K[[i]][:, rest])[0], rtol=1e-6)


def test_predictions_for_rows_left_out_have_the_shape_of_the_targets():
    for y in (Y, Y[:, :1], Y[:, 0]):
        model = KernelRidge(kernel="rbf", loo=True).fit(X, y)
        assert model.loo_.shape == y.shape
    assert not hasattr(model.set_params(loo=False).fit(X[:9], Y[:9]), "loo_"), "of other rows"


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_kernel_that_overflows_is_refused():
    far = np.where(np.arange(40)[:, None] == 3, 1e200, X)
    with pytest.raises(ValueError, match=r"Linear.*K\(x, x\) of row 3 is too large.*scale X down"):
        KernelRidge(kernel="linear").fit(far, Y)
    with pytest.raises(ValueError, match="too large a number"):
        KernelRidge(kernel="poly").fit(far, Y)


def test_the_path_that_scikit_learn_has():
    import tercet

    assert tercet.kernel_ridge.KernelRidge is KernelRidge
