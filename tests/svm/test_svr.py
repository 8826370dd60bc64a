"""Support vector regression: libsvm's numbers, the tube's properties, the interval of b, the hard tube."""

import warnings

import numpy as np
import pytest
import sklearn.svm
from scipy import sparse
from sklearn.base import clone

from tercet.core.steps import ConvergenceWarning
from tercet.kernels import Gaussian, Linear, Polynomial, Subsequence
from tercet.svm import SVR, NuSVR, kkt_report
from tercet.svm.maximum_margin import solve_dual_qp

x4 = np.array([[0.0], [1.0], [2.0], [3.0]])
MACHINES = [(SVR, {"epsilon": 0.2}), (NuSVR, {"nu": 0.3})]


def wave(n=90, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.2 * rng.normal(size=n)
    return X.astype(dtype), y.astype(dtype)


@pytest.mark.parametrize(("kind", "more"), MACHINES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "sigmoid"])
def test_agrees_with_libsvm(kind, more, kernel, weighted):
    X, y = wave()
    if kernel == "sigmoid" and kind is NuSVR:
        more = {"nu": 0.9}  # not positive definite: there is no one minimum, but from this start there is
    weight = np.random.default_rng(1).random(90) + 0.1 if weighted else None
    options = {"kernel": kernel, "C": 2.0, "gamma": 0.05, "coef0": 0.5, "degree": 2, "tol": 1e-7, **more}
    ours = kind(**options).fit(X, y, weight)
    peer = getattr(sklearn.svm, kind.__name__)(**options).fit(X, y, weight)
    new = np.random.default_rng(2).normal(size=(40, 3))
    np.testing.assert_allclose(ours.predict(new), peer.predict(new), atol=2e-4)
    np.testing.assert_allclose(ours.intercept_, peer.intercept_, atol=2e-4)
    assert ours.dual_coef_.shape == (1, ours.n_support_[0])
    assert abs(int(ours.n_support_[0]) - int(peer.n_support_[0])) <= 1
    if kernel == "linear":
        np.testing.assert_allclose(ours.coef_, peer.coef_, atol=2e-4)


@pytest.mark.parametrize(("kind", "more"), MACHINES)
def test_sparse_precomputed_callable_and_kernel_objects(kind, more):
    X, y = wave()
    K = Gaussian(gamma=0.2)
    plain = kind(gamma=0.2, tol=1e-8, **more).fit(X, y)
    want = plain.predict(X)
    for kernel, data in (
        (K, X),
        ("precomputed", K(X)),
        (lambda A, B: K(A, B), X),
        ("rbf", sparse.csr_array(X)),
    ):
        model = kind(kernel=kernel, gamma=0.2, tol=1e-8, **more).fit(data, y)
        np.testing.assert_allclose(model.predict(data), want, atol=1e-6)
    assert sparse.issparse(kind(**more).fit(sparse.csr_array(X), y).dual_coef_)


@pytest.mark.parametrize(("kind", "more"), MACHINES)
def test_weights_repeat_and_remove(kind, more):
    X, y = wave(50)
    weight = np.random.default_rng(0).integers(0, 3, 50)
    rows = np.repeat(np.arange(50), weight)
    weighted = kind(tol=1e-9, **more).fit(X, y, weight)
    repeated = kind(tol=1e-9, **more).fit(X[rows], y[rows])
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-6)
    assert (weight[weighted.support_] > 0).all()


def test_rows_inside_the_tube_do_not_matter():
    X, y = wave()
    model = SVR(epsilon=0.3, C=5.0, tol=1e-9).fit(X, y)
    error = np.abs(model.predict(X) - y)
    up, down = model.alpha_
    assert (up * down == 0).all()
    assert (error[up + down == 0] <= 0.3 + 1e-6).all()
    assert (error[up + down > 0] >= 0.3 - 1e-6).all()
    inside = (up + down > 0) & (up + down < 5.0)
    np.testing.assert_allclose(error[inside], 0.3, atol=1e-6)
    assert (up - down).sum() == pytest.approx(0, abs=1e-9)
    rest = np.flatnonzero(up + down > 0)
    fewer = SVR(epsilon=0.3, C=5.0, tol=1e-9, gamma=model.kernel_.gamma).fit(X[rest], y[rest])
    np.testing.assert_allclose(fewer.predict(X), model.predict(X), atol=1e-5)


def test_nu_bounds_what_is_outside():
    X, y = wave()
    for nu in (0.1, 0.4, 0.8):
        model = NuSVR(nu=nu, C=3.0, tol=1e-8).fit(X, y)
        error = np.abs(model.predict(X) - y)
        assert np.mean(error > model.epsilon_ + 1e-6) <= nu
        assert model.n_support_[0] / 90 >= nu - 1e-9
        same = SVR(epsilon=model.epsilon_, C=3.0, tol=1e-8).fit(X, y)
        np.testing.assert_allclose(same.predict(X), model.predict(X), atol=1e-5)


def test_b_is_the_middle_where_no_row_decides():
    model = SVR(kernel="linear", C=0.1, epsilon=0.5, tol=1e-9).fit(x4, [0, 1, 1.5, 4])
    np.testing.assert_allclose(model.intercept_interval_, [0.5, 1.2])
    assert model.intercept_[0] == pytest.approx(0.85)
    value = kkt_report(model, x4, [0, 1, 1.5, 4]).primal_value
    for b in (0.5, 1.2):
        model.intercept_ = np.array([b])
        assert kkt_report(model, x4, [0, 1, 1.5, 4]).primal_value == pytest.approx(value)


def test_hard_tube():
    y = np.array([0, 1, 1.5, 4])
    model = SVR(kernel="linear", C=np.inf, epsilon=1.0, tol=1e-9).fit(x4, y)
    assert np.abs(model.predict(x4) - y).max() <= 1 + 1e-6
    assert model.coef_[0, 0] == pytest.approx(2 / 3)
    for algorithm in ("working-set", "smo"):
        with pytest.raises(ValueError, match=r"C=inf allows no error beyond epsilon=0.5.*larger epsilon"):
            SVR(kernel="linear", C=np.inf, epsilon=0.5, algorithm=algorithm).fit(x4, y)
    by_smo = SVR(kernel="linear", C=np.inf, epsilon=1.0, tol=1e-9, algorithm="smo").fit(x4, y)
    np.testing.assert_allclose(by_smo.predict(x4), model.predict(x4), atol=1e-6)
    free = SVR(kernel="rbf", C=np.inf, epsilon=0.0, gamma=1.0, tol=1e-9).fit(x4, y)
    np.testing.assert_allclose(free.predict(x4), y, atol=1e-6)


def test_hard_tube_of_an_indefinite_kernel_is_refused_without_a_warning():
    H = np.random.default_rng(0).normal(size=(60, 60))
    with np.errstate(all="raise"), pytest.raises(ValueError, match="C=inf allows no error"):
        SVR(kernel="precomputed", C=np.inf).fit(H + H.T, wave(60)[1])


def test_hard_tube_that_is_only_not_found():
    X, y = wave()
    with pytest.raises(ValueError, match=r"none that close to all targets was found \(max_iter=5 steps"):
        SVR(C=np.inf, epsilon=0.01, max_iter=5).fit(X, y)


def test_the_texts_smo_gives_the_same():
    X, y = wave(40)
    model, plain = SVR(algorithm="smo", record=True, tol=1e-7).fit(X, y), SVR(tol=1e-7).fit(X, y)
    np.testing.assert_allclose(model.predict(X), plain.predict(X), atol=1e-5)
    objectives = [step["objective"] for step in model.updates_]
    assert (np.diff(objectives) < 0).all()
    assert objectives[-1] == pytest.approx(plain.objective_, rel=1e-6)
    assert len(model.history_["objective"]) == model.n_iter_
    assert not hasattr(model.set_params(record=False).fit(X, y), "updates_")


def test_the_quadratic_program_gives_the_same(monkeypatch):
    X, y = wave(30)
    plain = SVR(tol=1e-8).fit(X, y)
    seen = []
    monkeypatch.setattr(
        SVR, "_minimise", lambda self, problem, steps: seen.append(problem) or solve_dual_qp(problem)
    )
    model = SVR(tol=1e-6).fit(X, y)
    assert len(seen) == 1
    np.testing.assert_allclose(model.predict(X), plain.predict(X), atol=1e-5)


def test_strings():
    words = ["abab", "abba", "aabb", "cdcd", "ccdd", "dcdc"]
    y = [1.0, 1.0, 1.0, -1.0, -1.0, -1.0]
    model = SVR(kernel=Subsequence(2, 0.5, normalize=True), C=10.0).fit(words, y)
    found = model.predict([["abaa"], ["dccd"]])
    assert found[0] > 0.2 > -0.2 > found[1]


@pytest.mark.parametrize(("kind", "more"), MACHINES)
def test_same_bits_for_any_number_of_threads(kind, more):
    X, y = wave(400)
    one, three = kind(n_jobs=1, **more).fit(X, y), kind(n_jobs=3, **more).fit(X, y)
    np.testing.assert_array_equal(one.dual_coef_, three.dual_coef_)
    np.testing.assert_array_equal(one.predict(X), three.predict(X))


@pytest.mark.parametrize(("kind", "more"), MACHINES)
def test_float32_stays(kind, more):
    X, y = wave(dtype=np.float32)
    model = kind(**more).fit(X, y)
    assert model.dual_coef_.dtype == model.predict(X).dtype == np.float32
    np.testing.assert_allclose(
        model.predict(X), kind(**more).fit(X.astype(float), y.astype(float)).predict(X), atol=5e-3
    )


def test_extreme_data():
    X, y = wave()
    flat = SVR().fit(np.zeros((10, 2)), np.arange(10.0))
    assert np.ptp(flat.predict(np.zeros((3, 2)))) == 0
    constant = SVR().fit(X, np.full(90, 5.0))
    assert constant.n_support_[0] == 0
    assert constant.predict(X) == pytest.approx(5.0, abs=0.1)
    for scale in (1e-8, 1e8):
        near = SVR(tol=1e-8).fit(X, y).predict(X)
        np.testing.assert_allclose(SVR(tol=1e-8).fit(scale * X, y).predict(scale * X), near, atol=1e-5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SVR(kernel="linear", C=1e-6).fit(X, y)


def test_too_few_steps_warn():
    X, y = wave()
    with pytest.warns(ConvergenceWarning, match=r"SVR.*max_iter=3"):
        model = SVR(C=100.0, max_iter=3).fit(X, y)
    assert model.fit_status_ == 1


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (SVR(C=0.0), "parameter 'C' must be"),
        (SVR(C=-1.0), "parameter 'C' must be"),
        (SVR(epsilon=-0.1), "parameter 'epsilon' must be"),
        (SVR(kernel="gauss"), "parameter 'kernel' must be"),
        (SVR(algorithm="newton"), "parameter 'algorithm' must be"),
        (NuSVR(nu=0.0), "parameter 'nu' must be"),
        (NuSVR(nu=1.5), "parameter 'nu' must be"),
    ],
)
def test_bad_parameters(model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(*wave())


def test_a_forged_model_is_refused():
    X, y = wave()
    model = SVR().fit(X, y)
    model.support_vectors_ = model.support_vectors_[:, :2]
    with pytest.raises(ValueError, match="altered"):
        model.predict(X)


def test_clone_and_verbose(capsys):
    model = SVR(kernel=Polynomial(degree=2) + Linear(), verbose=True)
    X, y = wave(30)
    clone(model).fit(X, y)
    assert "SVR: " in capsys.readouterr().out
