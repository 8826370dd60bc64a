"""Logistic regression: its estimator, against the texts' formulas and against scikit-learn and statsmodels."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import sklearn.linear_model as peer
import statsmodels.api as sm
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris, make_classification
from sklearn.preprocessing import scale

from tercet.core.callbacks import EarlyStopping, Recorder
from tercet.core.steps import ConvergenceWarning
from tercet.linear_model import LogisticRegression

SMOOTH = [
    "lbfgs",
    "newton-cholesky",
    "newton-cg",
    "auto",
    "saga",
    "sag",
    "newton",
    "gd",
    "dfp",
    "bfgs",
    "broyden",
]
L1 = ["auto", "saga"]


def iris():
    X, y = load_iris(return_X_y=True)
    return scale(X), y


def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return scale(X), y


def noisy(n=200, d=3, n_classes=3, seed=0):
    """Classes that overlap, so that the likelihood has a maximum."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (X @ rng.normal(size=(d, n_classes)) + rng.gumbel(size=(n, n_classes))).argmax(axis=1)


def weights(model):
    return np.column_stack([model.coef_, model.intercept_])


@pytest.mark.parametrize("solver", SMOOTH)
@pytest.mark.parametrize("data", [iris, cancer])
def test_every_solver_finds_the_minimum_that_scikit_learn_finds(solver, data):
    X, y = data()
    tol = 1e-5 if solver == "gd" else 1e-7
    ours = LogisticRegression(C=0.1, solver=solver, tol=tol, max_iter=2000).fit(X, y)
    theirs = peer.LogisticRegression(C=0.1, solver="newton-cholesky", tol=1e-10).fit(X, y)
    np.testing.assert_allclose(weights(ours), weights(theirs), atol=100 * tol)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=100 * tol)


@pytest.mark.parametrize("solver", ["lbfgs", "newton", "saga"])
@pytest.mark.parametrize("intercept", [True, False])
def test_weights_and_classes_of_unequal_weight(solver, intercept):
    X, y = noisy()
    s = np.random.default_rng(1).integers(0, 4, y.size)
    options = {"class_weight": "balanced", "fit_intercept": intercept}
    ours = LogisticRegression(solver=solver, tol=1e-9, **options).fit(X, y, s)
    theirs = peer.LogisticRegression(solver="newton-cholesky", tol=1e-12, **options).fit(X, y, s)
    np.testing.assert_allclose(weights(ours), weights(theirs), atol=1e-6)
    repeated = LogisticRegression(solver=solver, tol=1e-9, **options).fit(X.repeat(s, axis=0), y.repeat(s))
    np.testing.assert_allclose(weights(ours), weights(repeated), atol=1e-6)


def test_class_weights_by_name():
    X, y = noisy()
    names = np.array(["a", "b", "c"])[y]
    by_name = LogisticRegression(class_weight={"a": 2.0, "b": 0.5}, tol=1e-9).fit(X, names)
    by_row = LogisticRegression(tol=1e-9).fit(X, names, np.array([2.0, 0.5, 1.0])[y])
    np.testing.assert_allclose(by_name.coef_, by_row.coef_, atol=1e-7)
    with pytest.raises(ValueError, match=r"class_weight must give .*'d': 2\.0"):
        LogisticRegression(class_weight={"d": 2.0}).fit(X, names)


@pytest.mark.parametrize("l1_ratio", [0.3, 1.0])
@pytest.mark.parametrize("data", [iris, cancer])
def test_elastic_net_against_saga(l1_ratio, data):
    X, y = data()
    ours = LogisticRegression(C=0.1, l1_ratio=l1_ratio, solver="auto", tol=1e-9).fit(X, y)
    theirs = peer.LogisticRegression(C=0.1, l1_ratio=l1_ratio, solver="saga", tol=1e-8, max_iter=20000).fit(
        X, y
    )
    np.testing.assert_allclose(weights(ours), weights(theirs), atol=1e-4)
    assert np.array_equal(ours.coef_ != 0, theirs.coef_ != 0)


@pytest.mark.parametrize("l1_ratio", [0.0, 1.0])
def test_liblinear_penalises_the_intercept(l1_ratio):
    X, y = cancer()
    options = {"C": 0.5, "l1_ratio": l1_ratio, "solver": "liblinear", "intercept_scaling": 2.0}
    ours = LogisticRegression(tol=1e-9, **options).fit(X, y)
    theirs = peer.LogisticRegression(tol=1e-9, max_iter=10000, random_state=0, **options).fit(X, y)
    np.testing.assert_allclose(weights(ours), weights(theirs), atol=2e-5)
    if l1_ratio == 0:
        dual = LogisticRegression(tol=1e-9, dual=True, max_iter=5000, random_state=0, **options).fit(X, y)
        np.testing.assert_allclose(dual.coef_, ours.coef_, atol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_l1_on_many_sparse_features(n_classes):
    rng = np.random.default_rng(0)
    X = sparse.random_array((300, 3000), density=0.02, format="csr", rng=rng)
    y = np.asarray(X[:, :n_classes] @ np.eye(n_classes) * 8 + rng.gumbel(size=(300, n_classes))).argmax(
        axis=1
    )
    model = LogisticRegression(C=3.0, l1_ratio=1.0, solver="auto", tol=1e-6, max_iter=500).fit(X, y)
    # at a minimum no gradient exceeds the penalty, and those of weights in use equal it
    P = model.predict_proba(X) - np.eye(n_classes)[y]
    g = np.asarray(X.T @ P).T[-len(model.coef_) :] * model.C
    assert np.abs(g).max() <= 1 + 300 * 3e-6
    used = model.coef_ != 0
    assert 0 < used.sum() < 1500
    np.testing.assert_allclose(g[used], -np.sign(model.coef_[used]), atol=300 * 3e-6)


def test_dense_and_sparse_agree():
    X, y = noisy(300, 8)
    X[np.abs(X) < 0.8] = 0
    for options in (
        {},
        {"solver": "newton-cholesky"},
        {"solver": "auto", "l1_ratio": 0.5},
        {"solver": "newton-cg"},
    ):
        dense = LogisticRegression(tol=1e-8, **options).fit(X, y)
        csr = LogisticRegression(tol=1e-8, **options).fit(sparse.csr_matrix(X), y)
        np.testing.assert_allclose(dense.coef_, csr.coef_, atol=1e-6)
        np.testing.assert_allclose(dense.predict_proba(X), csr.predict_proba(sparse.csr_array(X)), atol=1e-6)


def tall(dtype=np.float64, n_classes=2):
    """Rows enough for several chunks and for a start from a sample."""
    X, y = noisy(30_000, 40, n_classes, seed=1)
    X[:, 1:] += 0.9 * X[:, :-1]
    return X.astype(dtype), y


@pytest.mark.parametrize("solver", ["lbfgs", "newton-cholesky", "newton-cg", "saga"])
def test_same_bits_for_any_number_of_threads(solver):
    X, y = tall()
    l1_ratio = 0.5 if solver == "saga" else 0.0
    one, two, seven = (
        LogisticRegression(solver=solver, l1_ratio=l1_ratio, n_jobs=n, random_state=0).fit(X, y)
        for n in (1, 2, 7)
    )
    assert one.coef_.tobytes() == two.coef_.tobytes() == seven.coef_.tobytes()


@pytest.mark.filterwarnings("ignore:LogisticRegression did not converge")
@pytest.mark.parametrize("n_classes", [2, 10])
def test_same_bits_for_any_number_of_threads_sparse(n_classes):
    rng = np.random.default_rng(0)
    X = sparse.random_array((6000, 400), density=0.1, format="csr", rng=rng)
    y = rng.integers(0, n_classes, 6000)
    one, two, seven = (LogisticRegression(n_jobs=n, max_iter=3).fit(X, y) for n in (1, 2, 7))
    assert one.coef_.tobytes() == two.coef_.tobytes() == seven.coef_.tobytes()


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("solver", ["lbfgs", "newton-cholesky"])
def test_many_rows(solver, n_classes):
    X, y = tall(n_classes=n_classes)
    ours = LogisticRegression(solver=solver, tol=1e-8).fit(X, y)
    exact = LogisticRegression(solver="newton", tol=1e-10).fit(X, y)
    np.testing.assert_allclose(weights(ours), weights(exact), atol=1e-5)
    assert ours.n_iter_[0] <= 15  # without the sample L-BFGS needs about 90


def test_start_from_a_sample_survives_what_the_sample_does_not_show():
    X, y = tall()
    y = np.zeros(y.size, dtype=int)
    y[:3] = 1  # three rows of the rarer class: the sample has none of them
    model = LogisticRegression(tol=1e-8).fit(X, y)
    exact = LogisticRegression(tol=1e-8, solver="newton").fit(X, y)
    np.testing.assert_allclose(model.coef_, exact.coef_, atol=1e-4)


@pytest.mark.parametrize("solver", ["lbfgs", "newton-cholesky", "newton-cg", "saga", "sgd"])
def test_float32_stays_float32(solver):
    X, y = iris()
    options = {"solver": solver, "random_state": 0, "max_iter": 300}
    single = LogisticRegression(**options).fit(X.astype(np.float32), y)
    double = LogisticRegression(**options).fit(X, y)
    assert (
        single.coef_.dtype
        == single.intercept_.dtype
        == single.predict_proba(X[:2].astype(np.float32)).dtype
        == "f4"
    )
    np.testing.assert_allclose(single.coef_, double.coef_, atol=0.02)


def test_float32_with_many_rows():
    X, y = tall(np.float32)
    single = LogisticRegression(tol=1e-5).fit(X, y)
    double = LogisticRegression(tol=1e-5).fit(X.astype(np.float64), y)
    assert single.coef_.dtype == np.float32
    np.testing.assert_allclose(single.coef_, double.coef_, atol=2e-3)


def test_fitted_probabilities_have_the_mean_of_the_labels():
    """The score equations, sum (y - p) x = 0 (Li ch. 6.1.3)."""
    X, y = noisy()
    model = LogisticRegression(C=np.inf, tol=1e-10, max_iter=500).fit(X, y)
    residual = np.eye(3)[y] - model.predict_proba(X)
    np.testing.assert_allclose(residual.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(X.T @ residual / y.size, 0, atol=1e-9)


def test_standard_errors_of_two_classes():
    X, y = noisy(n_classes=2)
    model = LogisticRegression(C=np.inf, tol=1e-10).fit(X, y)
    theirs = sm.Logit(y, sm.add_constant(X)).fit(disp=0)
    np.testing.assert_allclose(np.r_[model.intercept_, model.coef_[0]], theirs.params, rtol=1e-6)
    coef, intercept = model.standard_errors(X)
    np.testing.assert_allclose(np.r_[intercept, coef[0]], theirs.bse, rtol=1e-6)


def test_reference_class_and_its_standard_errors():
    """K-1 weight vectors (Li eq. 6.7): the same probabilities, weights as differences to the last class."""
    X, y = noisy()
    model = LogisticRegression(C=np.inf, tol=1e-10, reference="last", solver="newton").fit(X, y)
    both = LogisticRegression(C=np.inf, tol=1e-10, solver="newton").fit(X, y)
    theirs = sm.MNLogit(2 - y, sm.add_constant(X)).fit(disp=0)  # its reference is the first class
    assert not model.coef_[-1].any()
    assert model.intercept_[-1] == 0
    np.testing.assert_allclose(model.predict_proba(X), both.predict_proba(X), atol=1e-8)
    np.testing.assert_allclose(model.coef_, both.coef_ - both.coef_[-1], atol=1e-7)
    np.testing.assert_allclose(model.coef_[:2], theirs.params[1:].T[::-1], rtol=1e-5)
    np.testing.assert_allclose(model.standard_errors(X)[0][:2], theirs.bse[1:].T[::-1], rtol=1e-5)
    for solver in ("lbfgs", "newton-cg", "bfgs"):
        other = LogisticRegression(C=np.inf, tol=1e-8, reference="last", solver=solver, max_iter=500).fit(
            X, y
        )
        np.testing.assert_allclose(other.coef_, model.coef_, atol=1e-5)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("C", [1.0, np.inf])
def test_iterative_scaling(n_classes, C):
    X, y = noisy(100, 2, n_classes)
    X = (X > 0).astype(float)  # indicators, for which it was made; on others it is slow
    model = LogisticRegression(C=C, solver="iis", tol=1e-6, max_iter=2000).fit(X, y)
    other = LogisticRegression(C=C, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(X), atol=1e-4)
    assert np.all(np.diff(model.history_["fun"]) <= 1e-12)


def test_gradient_descent_with_a_fixed_step_is_the_texts():
    """θ <- θ - α sum_i (h(x_i) - y_i) x_i (Machine Learning in Depth eq. 2.21)."""
    X, y = noisy(50, 2, 2)
    theta, A = np.zeros(3), np.column_stack([X, np.ones(50)])
    for _ in range(4):
        theta -= 0.01 * A.T @ (1 / (1 + np.exp(-A @ theta)) - y)
    with pytest.warns(ConvergenceWarning, match="did not converge in 4 passes"):
        model = LogisticRegression(C=np.inf, solver="gd", eta=0.01, max_iter=4).fit(X, y)
    np.testing.assert_allclose(weights(model)[0], theta, rtol=1e-10)


@pytest.mark.parametrize("batch", [1, 7])
@pytest.mark.parametrize("C", [np.inf, 0.5])
def test_stochastic_descent_is_the_texts(batch, C):
    """θ <- θ - α (h(x) - y) x, a few rows at a time (Machine Learning in Depth eq. 2.20); a penalty shrinks w."""
    X, y = noisy(50, 2, 2)
    theta, A = np.zeros(3), np.column_stack([X, np.ones(50)])
    decay = np.array([1, 1, 0]) / (C * 50)
    for first in range(0, 50, batch):
        rows = slice(first, first + batch)
        g = A[rows].T @ (1 / (1 + np.exp(-A[rows] @ theta)) - y[rows])
        theta = theta - 0.1 * (g + len(A[rows]) * decay * theta)
    with pytest.warns(ConvergenceWarning):
        model = LogisticRegression(
            C=C, solver="sgd", eta=0.1, batch_size=batch, shuffle=False, max_iter=1
        ).fit(X, y)
    np.testing.assert_allclose(weights(model)[0], theta, rtol=1e-10)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("reference", [None, "last"])
def test_stochastic_descent_comes_close(make, reference):
    X, y = noisy(2000)
    options = {"reference": reference, "C": 0.01, "max_iter": 300}
    model = LogisticRegression(solver="sgd", random_state=0, **options).fit(make(X), y)
    again = LogisticRegression(solver="sgd", random_state=0, **options).fit(make(X), y)
    exact = LogisticRegression(**options).fit(X, y)
    assert np.array_equal(model.coef_, again.coef_)
    np.testing.assert_allclose(model.coef_, exact.coef_, atol=0.03)


def test_stochastic_descent_with_weights():
    X, y = noisy()
    model = LogisticRegression(solver="sgd", C=1.0, random_state=0).fit(X, y)
    twice = LogisticRegression(solver="sgd", C=0.5, random_state=0).fit(X, y, np.full(y.size, 2.0))
    np.testing.assert_allclose(twice.coef_, model.coef_, rtol=1e-9)


def test_stochastic_descent_says_when_it_diverges():
    X, y = noisy()
    with pytest.raises(ValueError, match="eta=1e"), np.errstate(all="ignore"):
        LogisticRegression(solver="sgd", eta=1e200).fit(1e200 * X, y)


def test_partial_fit():
    X, y = noisy(3000)
    model = LogisticRegression(solver="sgd", C=1.0, random_state=0)
    for k in range(10):
        rows = slice(300 * k, 300 * k + 300)
        model.partial_fit(X[rows], y[rows], classes=[0, 1, 2])
    assert model.score(X, y) > LogisticRegression().fit(X, y).score(X, y) - 0.03
    assert model.t_ == 3000
    with pytest.raises(ValueError, match=r"y holds \[7\]; the classes are"):
        model.partial_fit(X[:1], [7])
    assert not hasattr(LogisticRegression(), "partial_fit")


@pytest.mark.parametrize("solver", ["lbfgs", "newton", "gd", "bfgs", "newton-cg"])
def test_squared_loss(solver):
    """Mean of (h(x) - y)^2 (Machine Learning in Depth ch. 2.2.4): below that of maximum likelihood."""
    X, y = noisy(300, 2, 2)
    model = LogisticRegression(C=np.inf, loss="squared", solver=solver, tol=1e-6, max_iter=500).fit(X, y)
    likely = LogisticRegression(C=np.inf, tol=1e-8).fit(X, y)

    def squares(m):
        return np.mean((m.predict_proba(X)[:, 1] - y) ** 2)

    assert squares(model) < squares(likely)
    p = model.predict_proba(X)[:, 1]
    np.testing.assert_allclose(X.T @ ((p - y) * p * (1 - p)) / 300, 0, atol=2e-6)


def test_separable_classes_without_a_penalty():
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    for solver in ("lbfgs", "newton", "newton-cholesky"):
        with pytest.warns(ConvergenceWarning, match="linearly separable"):
            model = LogisticRegression(C=np.inf, solver=solver).fit(X, y)
        assert np.isfinite(model.coef_).all()
        assert model.score(X, y) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LogisticRegression().fit(X, y)
        LogisticRegression(C=np.inf).fit(X, [0, 1, 0, 1])


def test_warm_start():
    X, y = cancer()
    model = LogisticRegression(warm_start=True, tol=1e-6).fit(X, y)
    cold = model.n_iter_[0]
    assert model.fit(X, y).n_iter_[0] < cold / 4
    with pytest.warns(UserWarning, match=r"shapes \(1, 30\) and \(1,\); .* begins with zeros"):
        model.fit(X[:, :4], y)
    np.testing.assert_array_equal(model.coef_, LogisticRegression(tol=1e-6).fit(X[:, :4], y).coef_)


@pytest.mark.parametrize("solver", ["lbfgs", "newton-cholesky"])
def test_warm_start_with_many_rows(solver):
    X, y = tall()
    model = LogisticRegression(warm_start=True, tol=1e-6, solver=solver).fit(X, y)
    before = model.coef_
    assert model.fit(X, y).n_iter_[0] == 1
    np.testing.assert_allclose(model.coef_, before, atol=1e-4)


def test_log_probabilities_do_not_underflow():
    model = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    model.coef_[:] = 1.0
    model.intercept_[:] = 0.0
    np.testing.assert_allclose(model.predict_log_proba([[1000.0]]), [[-1000.0, 0.0]])
    np.testing.assert_allclose(model.predict_proba([[-800.0]]), [[1.0, 0.0]])


def test_sparse_coefficients():
    X, y = cancer()
    model = LogisticRegression(C=0.05, l1_ratio=1.0, solver="auto").fit(X, y)
    before = model.decision_function(X)
    assert sparse.issparse(model.sparsify().coef_)
    np.testing.assert_allclose(model.decision_function(X), before)
    assert isinstance(model.densify().coef_, np.ndarray)


@pytest.mark.parametrize("solver", ["lbfgs", "newton-cholesky", "newton-cg", "sgd", "iis", "saga"])
def test_passes_are_seen_by_callbacks(solver):
    X, y = noisy()
    recorder = Recorder()
    model = LogisticRegression(solver=solver, tol=1e-2).set_callbacks(recorder).fit(X > 0, y)
    assert len(recorder.frames) == model.n_iter_[0] == len(next(iter(model.history_.values())))
    np.testing.assert_array_equal(recorder.frames[-1].attributes["coef_"], model.coef_)


def test_passes_from_a_sample_are_seen_in_the_features_own_scale():
    X, y = tall()
    recorder = Recorder()
    model = LogisticRegression(tol=1e-6).set_callbacks(recorder).fit(X, y)
    np.testing.assert_allclose(recorder.frames[-1].attributes["coef_"], model.coef_)
    assert model.history_["grad_norm"][-1] <= 1e-6


def test_early_stopping():
    X, y = make_classification(300, 40, n_informative=3, flip_y=0.3, random_state=0)
    model = (
        LogisticRegression(C=np.inf, solver="gd", max_iter=200)
        .set_callbacks(EarlyStopping(patience=3))
        .fit(X, y)
    )
    assert model.n_iter_[0] < 200
    assert model.best_iter_ <= model.n_iter_[0]


def test_verbose(capsys):
    X, y = iris()
    model = LogisticRegression(verbose=1).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == model.n_iter_[0]
    assert lines[0].startswith("[LogisticRegression] pass 1: fun=")


def test_no_passes():
    X, y = iris()
    model = LogisticRegression(max_iter=0).fit(X, y)
    assert not model.coef_.any()
    assert model.n_iter_.tolist() == [0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"C": 0}, "parameter 'C' must be a number in"),
        ({"solver": "adam"}, "parameter 'solver' must be one of 'lbfgs'"),
        ({"l1_ratio": 0.5}, "Solver lbfgs supports only 'l2' or None penalties, got elasticnet"),
        ({"dual": True}, "dual=True needs solver='liblinear'"),
        ({"solver": "liblinear"}, r"does not support multiclass classification; got 3 classes"),
        ({"solver": "liblinear", "C": np.inf}, "C=np.inf .* is not supported for the liblinear solver"),
        ({"solver": "liblinear", "l1_ratio": 0.5}, "Only 'saga' solver supports elasticnet"),
        ({"loss": "squared"}, "loss='squared' is for two classes"),
        ({"reference": "last", "solver": "iis"}, "reference must be None"),
    ],
)
def test_what_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        LogisticRegression(**options).fit(*iris())


def test_parameters_are_scikit_learns():
    theirs = peer.LogisticRegression().get_params()
    ours = LogisticRegression().get_params()
    assert {k: ours[k] for k in theirs} == theirs
