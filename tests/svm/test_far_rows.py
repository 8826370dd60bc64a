"""Rows far from zero: a linear machine is where it would be beside zero."""

import warnings

import numpy as np
import pytest
import sklearn.svm
from scipy import sparse

from tercet.kernel_machines import LSSVC, LSSVR, KernelLogisticRegression
from tercet.kernels import Linear, centring_offset, intercept_shift, primal_weights, subtract_offset
from tercet.svm import SVC, SVCCV, SVR, CentralSVC, NuSVC, NuSVR, OneClassSVM, kkt_report

OFFSETS = [1e3, 1e6, 1e9]
INF = float("inf")

CLASSIFIERS = {
    "SVC": SVC(kernel="linear", tol=1e-8),
    "a kernel object": SVC(kernel=Linear(), tol=1e-8),
    "squared": SVC(kernel="linear", loss="squared_hinge", tol=1e-8),
    "smo": SVC(kernel="linear", algorithm="smo", tol=1e-8),
    "dual-qp": SVC(kernel="linear", algorithm="dual-qp"),
    "primal-qp": SVC(kernel="linear", algorithm="primal-qp"),
    "NuSVC": NuSVC(kernel="linear", nu=0.3, tol=1e-8),
    "CentralSVC": CentralSVC(kernel="linear"),
    "a blend": CentralSVC(kernel="linear", blend=0.3),
    "LSSVC": LSSVC(kernel="linear"),
    "KernelLogisticRegression": KernelLogisticRegression(kernel="linear"),
}
SEVERAL = {
    "pairs": SVC(kernel="linear", decision_function_shape="ovo", tol=1e-8),
    "ovr": SVC(kernel="linear", multi_class="ovr", tol=1e-8),
    "NuSVC": NuSVC(kernel="linear", nu=0.3, decision_function_shape="ovo", tol=1e-8),
    "CentralSVC": CentralSVC(kernel="linear"),
    "LSSVC": LSSVC(kernel="linear"),
    "KernelLogisticRegression": KernelLogisticRegression(kernel="linear"),
}
REGRESSORS = {
    "SVR": SVR(kernel="linear", tol=1e-8),
    "smo": SVR(kernel="linear", algorithm="smo", tol=1e-8),
    "NuSVR": NuSVR(kernel="linear", tol=1e-8),
    "LSSVR": LSSVR(kernel="linear"),
    "cg": LSSVR(kernel="linear", solver="cg", tol=1e-12),
}


def data(offset=0.0, n=50):
    """Rows beside zero, and far from it, that differ by exactly the offset; a target."""
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(n, 4)), 4)
    far = X + offset
    return far - offset, far, X @ [1.0, 2.0, -1.0, 0.0] + 0.3 * rng.normal(size=n)


def thin(X):
    """Rows with a column that is mostly zeros, and stays where it is."""
    few = np.where(np.arange(len(X)) % 5 == 0, 1.0, 0.0)
    return sparse.csr_matrix(np.column_stack([X, few]))


@pytest.mark.parametrize(
    "name", ["SVC", "squared", "NuSVC", "CentralSVC", "LSSVC", "KernelLogisticRegression"]
)
def test_sparse_rows(name):
    near, far, target = data(1e8)
    agree(CLASSIFIERS[name], thin(near), thin(far), target > 0, 1e8)


def test_sparse_rows_of_several_machines_and_regressors():
    near, far, target = data(1e8)
    agree(SEVERAL["pairs"], thin(near), thin(far), np.digitize(target, [-1, 1]), 1e8)
    for name in ("SVR", "NuSVR", "LSSVR"):
        agree(REGRESSORS[name], thin(near), thin(far), target, 1e8)
    dense, rows = (OneClassSVM(kernel="linear", nu=0.23).fit(X) for X in (thin(far).toarray(), thin(far)))
    np.testing.assert_array_equal(rows.predict(thin(far)), dense.predict(thin(far).toarray()))
    report = kkt_report(SVC(kernel="linear").fit(thin(far), target > 0), thin(far), target > 0)
    assert report.holds


def agree(model, near, far, y, offset, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        here = model.fit(near, y, **more)
        expected = model.decision_function(near) if hasattr(here, "classes_") else here.predict(near)
        there = model.fit(far, y, **more)
    found = model.decision_function(far) if hasattr(there, "classes_") else there.predict(far)
    # w·x has about the digits that x has left
    np.testing.assert_allclose(found, expected, atol=1e-7 + 2e-15 * offset * np.abs(expected).max())


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_two_classes(name, offset):
    near, far, target = data(offset)
    agree(CLASSIFIERS[name], near, far, target > 0, offset)


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("name", SEVERAL)
def test_several_classes(name, offset):
    near, far, target = data(offset)
    agree(SEVERAL[name], near, far, np.digitize(target, [-1, 1]), offset)


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("name", REGRESSORS)
def test_regressors(name, offset):
    near, far, target = data(offset)
    agree(REGRESSORS[name], near, far, target, offset)


@pytest.mark.parametrize("offset", [1e3, 1e6, 1e9, 1e12])
@pytest.mark.parametrize("C", [1.0, INF])
def test_example_7_1_far_from_zero(C, offset):
    X, y = np.array([[3.0, 3], [4, 3], [1, 1]]) + offset, [1, 1, -1]
    model = SVC(kernel="linear", C=C).fit(X, y)
    np.testing.assert_allclose(model.coef_, [[0.5, 0.5]], rtol=1e-9)
    np.testing.assert_allclose(model.decision_function(X), [1, 1.5, -1], atol=1e-15 * offset + 1e-9)
    np.testing.assert_allclose(model.intercept_, -2 - offset, rtol=1e-12)
    np.testing.assert_allclose(model.intercept_interval_, [[-2 - offset] * 2], rtol=1e-12)


def test_coef_and_intercept_are_those_of_the_rows_as_they_are():
    _, far, target = data(1e6)
    for model in (SVC(kernel="linear"), NuSVC(kernel="linear", nu=0.3), CentralSVC(kernel="linear")):
        model.fit(far, target > 0)
        f = far @ model.coef_[0] + model.intercept_[0]
        np.testing.assert_allclose(f, model.decision_function(far), atol=1e-8)
    model = SVC(kernel="linear").fit(far, target > 0)
    low, high = model.intercept_interval_[0]
    assert low - 1e-3 <= model.intercept_[0] <= high + 1e-3
    model = SVR(kernel="linear").fit(far, target)
    np.testing.assert_allclose(far @ model.coef_[0] + model.intercept_[0], model.predict(far), atol=1e-8)
    low, high = model.intercept_interval_
    assert low - 1e-3 <= model.intercept_[0] <= high + 1e-3


def test_a_pair_of_classes_may_be_far_where_all_rows_together_are_not():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(90, 2))
    y = np.repeat([0, 1, 2], 30)
    X[y == 2, 0] += 4.0
    there = X + 1e8 * (y > 0)[:, None]
    model = SVC(kernel="linear", C=10.0, decision_function_shape="ovo").fit(there, y)
    alone = SVC(kernel="linear", C=10.0).fit((there - 1e8)[y > 0], y[y > 0])
    scores = model.decision_function(there)[y > 0, 2]
    np.testing.assert_allclose(-scores, alone.decision_function((there - 1e8)[y > 0]), atol=1e-5)


@pytest.mark.parametrize("calibration", ["platt", "isotonic"])
def test_probabilities(calibration):
    near, far, target = data(1e7)
    model = SVC(kernel="linear", calibration=calibration, tol=1e-8)
    expected = model.fit(near, target > 0).predict_proba(near)
    np.testing.assert_allclose(model.fit(far, target > 0).predict_proba(far), expected, atol=1e-5)


class Watch:
    """Keeps what the models on the way say of some rows."""

    def __init__(self, X):
        self.X, self.seen = X, []

    def setup(self, estimator, context):
        pass

    teardown = on_fit_task_begin = setup

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None, X=None, y=None):
        if context.parent is not None and fitted_estimator is not None:
            self.seen.append(fitted_estimator.predict(self.X))


def test_models_on_the_way():
    near, far, target = data(1e7, n=60)

    ways = []
    for X in (near, far):
        watch = Watch(X)
        SVR(kernel="linear", tol=1e-9).set_callbacks(watch).fit(X, target)
        ways.append(watch.seen)
    assert len(ways[0]) == len(ways[1]) > 1
    np.testing.assert_allclose(ways[1], ways[0], atol=1e-6)


def test_kkt_report():
    near, far, target = data(1e7)
    for model, y in ((SVC(kernel="linear"), target > 0), (SVR(kernel="linear"), target)):
        expected = kkt_report(model.fit(near, y), near, y)
        report = kkt_report(model.fit(far, y), far, y)
        assert report.holds
        assert report.primal_value == pytest.approx(expected.primal_value, abs=1e-5)
        assert report.dual_value == pytest.approx(expected.dual_value, abs=1e-5)


def test_search():
    near, far, target = data(1e7)
    model = SVCCV(kernels=["linear"], Cs=[0.01, 1.0])
    expected = model.fit(near, target > 0).scores_
    np.testing.assert_allclose(model.fit(far, target > 0).scores_, expected)


def test_recorded_steps_are_those_of_the_rows_as_they_are():
    _, far, target = data(50.0, n=30)
    model = SVC(kernel="linear", algorithm="smo", record=True).fit(far, target > 0)
    assert centring_offset(Linear(), far) is not None
    np.testing.assert_allclose(model.updates_[0][-1]["b"], model.intercept_[0], rtol=1e-2)


def test_warm_start_and_weights():
    near, far, target = data(1e7)
    w = np.random.default_rng(0).integers(0, 3, len(target)).astype(float)
    agree(SVC(kernel="linear", warm_start=True, tol=1e-8), near, far, target > 0, 1e7, sample_weight=w)
    agree(LSSVC(kernel="linear"), near, far, target > 0, 1e7, sample_weight=w)
    model = LSSVR(kernel="linear", loo=True)
    expected = model.fit(near, target, sample_weight=w).loo_
    np.testing.assert_allclose(model.fit(far, target, sample_weight=w).loo_, expected, atol=1e-6)


def test_float32_has_the_digits_of_float32():
    _, far, target = data(4096.0)
    X = far.astype(np.float32)
    model = SVC(kernel="linear").fit(X, target > 0)
    assert model.decision_function(X).dtype == np.float32
    expected = SVC(kernel="linear").fit(X - np.float32(4096), target > 0)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-4)
    scores = expected.decision_function(X - np.float32(4096))
    np.testing.assert_allclose(model.decision_function(X), scores, atol=1e-2)


def test_one_class_is_not_the_same_everywhere_but_right():
    _, far, _ = data(100.0)
    nu = 0.23  # of 50 rows: some row is between its bounds, and there is one offset only
    ours = OneClassSVM(kernel="linear", nu=nu, tol=1e-9).fit(far)
    peer = sklearn.svm.OneClassSVM(kernel="linear", nu=nu, tol=1e-9).fit(far)
    size = np.ptp(peer.decision_function(far))
    np.testing.assert_allclose(
        ours.decision_function(far), peer.decision_function(far), atol=1e-6 * size, rtol=0
    )
    np.testing.assert_allclose(ours.score_samples(far), peer.score_samples(far), rtol=1e-7)
    assert ours.coef_[0] @ ours.coef_[0] <= peer.coef_[0] @ peer.coef_[0] * (1 + 1e-12)
    np.testing.assert_allclose(ours.coef_, peer.coef_, rtol=1e-5)  # libsvm keeps K in float32
    np.testing.assert_allclose(ours.intercept_interval_.mean(), peer.intercept_[0], rtol=1e-6)


@pytest.mark.parametrize("offset", [1e6, 1e9])
def test_one_class_very_far(offset):
    _, far, _ = data(offset)
    model = OneClassSVM(kernel="linear", nu=0.2).fit(far)
    outside = np.mean(model.predict(far) < 0)
    assert 0.1 < outside <= 0.2 <= model.support_.size / len(far)
    # so far away, the plane looks at the origin: the rows with the least sums are outside
    sums = (far - offset).sum(axis=1)
    assert sums[model.predict(far) < 0].max() <= np.sort(sums)[len(far) // 5] + 1e-3


def test_objective_of_one_class():
    _, far, _ = data(100.0, n=40)
    model = OneClassSVM(kernel="linear", nu=0.2, tol=1e-9).fit(far)
    w = model.coef_[0]
    assert model.objective_ == pytest.approx(w @ w / 2, rel=1e-9)


def test_origin():
    X = np.arange(12.0).reshape(4, 3)
    assert centring_offset(Linear(), X) is None
    np.testing.assert_allclose(centring_offset(Linear(), X + 1e3), X.mean(axis=0) + 1e3)
    weight = np.array([1.0, 0, 0, 1])
    np.testing.assert_allclose(
        centring_offset(Linear(), X + 1e3, weight=weight), X[[0, 3]].mean(axis=0) + 1e3
    )
    np.testing.assert_allclose(centring_offset(Linear(), X + 1e3, np.array([0, 1])), X[:2].mean(axis=0) + 1e3)
    coef, point = np.array([1.0, -2, 0, 1]), np.full(3, 1e3)
    near = subtract_offset(point, X + point)
    np.testing.assert_allclose(near, X)
    np.testing.assert_allclose(primal_weights(coef, X + point), coef @ X)
    assert intercept_shift(coef, X + point, np.arange(4), point) == pytest.approx(coef @ X @ point)
    assert intercept_shift(coef, X, np.arange(4), None) == 0.0
    with np.errstate(all="raise"):
        assert centring_offset(Linear(), X + 1e200) is None
        assert centring_offset(Linear(), np.empty((0, 2))) is None


def test_an_indefinite_gram_matrix_with_squared_slacks_leaves_numbers():
    rng = np.random.default_rng(0)
    A, y = rng.normal(size=(60, 60)), rng.integers(0, 2, 60)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = SVC(kernel="precomputed", loss="squared_hinge").fit(A + A.T, y)
    assert [w.category.__name__ for w in said] == ["ConvergenceWarning"]
    assert model.fit_status_ == 1
    assert np.isfinite(model.decision_function(A + A.T)).all()
    assert np.isfinite(model.dual_gap_).all()
