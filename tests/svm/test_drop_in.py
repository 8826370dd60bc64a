"""Code written for scikit-learn's machines: deprecated parameters, weights, functions as kernels, l1_min_c."""

import warnings

import numpy as np
import pytest
import sklearn.svm
from scipy import sparse
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import DataConversionWarning, NotFittedError

from tercet.svm import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM, l1_min_c

X6, Y6 = np.array([[-2.0, -1], [-1, -1], [-1, -2], [1, 1], [1, 2], [2, 1]]), np.array([1, 1, 1, 2, 2, 2])
MACHINES = [SVC, NuSVC, SVR, NuSVR, OneClassSVM, LinearSVC, LinearSVR]


# probability --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("machine", [SVC, NuSVC])
def test_probability_is_platt_with_a_warning(machine):
    X, y = load_iris(return_X_y=True)
    with pytest.warns(FutureWarning, match="probability.+parameter.+deprecated"):
        model = machine(probability=True, random_state=0).fit(X, y)
    named = machine(calibration="platt").fit(X, y)
    p = model.predict_proba(X)
    np.testing.assert_array_equal(p, named.predict_proba(X))
    np.testing.assert_allclose(p.sum(axis=1), 1)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), p)
    with pytest.warns(FutureWarning), warnings.catch_warnings():
        theirs = getattr(sklearn.svm, machine.__name__)(probability=True, random_state=0).fit(X, y)
    assert np.abs(p - theirs.predict_proba(X)).mean() < 0.03


@pytest.mark.parametrize("k", [2, 3])
def test_probA_and_probB(k):
    X, y = make_classification(120, 5, n_informative=4, n_redundant=0, n_classes=k, random_state=0)
    model = SVC(calibration="platt").fit(X, y)
    with pytest.warns(FutureWarning, match="Attribute `probA_` was deprecated"):
        A = model.probA_
    with pytest.warns(FutureWarning, match="Attribute `probB_` was deprecated"):
        B = model.probB_
    assert A.shape == B.shape == (k * (k - 1) // 2,)
    if k == 2:  # libsvm's f is positive for the first class
        first = 1 / (1 + np.exp(-A[0] * model.decision_function(X) + B[0]))
        np.testing.assert_allclose(model.predict_proba(X)[:, 0], first, atol=1e-12)
    with pytest.warns(FutureWarning):
        assert SVC().fit(X, y).probA_.size == 0


def test_predict_proba_comes_and_goes_with_probability():
    X, y = load_iris(return_X_y=True)
    assert hasattr(SVC(probability=True), "predict_proba")
    with pytest.warns(FutureWarning):
        model = SVC(probability=False).fit(X, y)
    assert not hasattr(model, "predict_proba")
    model.probability = True
    with pytest.raises(NotFittedError, match="not available when fitted with probability=False"):
        model.predict_proba(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not hasattr(SVC().fit(X, y), "predict_proba")
    with pytest.raises(ValueError, match="parameter 'probability'"):
        SVC(probability="yes").fit(X, y)


# Weights ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("weight", [0.0, -0.3])
def test_no_positive_weight(machine, weight):
    with pytest.raises(ValueError, match="Invalid input - all samples have zero or negative weights"):
        machine().fit(X6, Y6, sample_weight=[weight] * 6)


@pytest.mark.parametrize("machine", MACHINES)
def test_rows_of_negative_weight_are_left_out(machine):
    options = {"random_state": 0, "tol": 1e-10} if machine in (LinearSVC, LinearSVR) else {"gamma": 0.5}
    weight = np.array([1, -0.5, 1, 1, 1, 0])
    some = machine(**options).fit(X6, Y6, sample_weight=weight)
    rest = machine(**options).fit(X6[weight > 0], Y6[weight > 0])
    of = "predict" if not hasattr(some, "decision_function") else "decision_function"
    np.testing.assert_allclose(getattr(some, of)(X6), getattr(rest, of)(X6), atol=1e-7)
    with pytest.raises(ValueError, match=r"NaN|nan"):
        machine(**options).fit(X6, Y6, sample_weight=[1, np.nan, 1, 1, 1, 1])


@pytest.mark.parametrize("machine", [SVC, NuSVC])
def test_one_class_left(machine):
    words = "nu is infeasible" if machine is NuSVC else "all samples with positive weights belong to the same"
    with pytest.raises(ValueError, match=words):
        machine().fit(X6, Y6, sample_weight=[0, -0.5, 0, 1, 1, 1])
    if machine is NuSVC:  # one of three classes
        labels = np.array([1, 1, 2, 2, 3, 3])
        with pytest.raises(ValueError, match="specified nu is infeasible"):
            NuSVC().fit(X6, labels, sample_weight=[1, 1, 1, 1, 0, 0])


# Kernels that are functions -----------------------------------------------------------------------------------


def test_function_with_sparse_result():
    for rows in (sparse.lil_array(X6), sparse.csr_matrix(X6)):
        model = SVC(kernel=lambda x, z: x @ z.T).fit(rows, Y6)
        plain = SVC(kernel="linear").fit(X6, Y6)
        np.testing.assert_allclose(model.decision_function(rows), plain.decision_function(X6))


@pytest.mark.parametrize("machine", [SVC, NuSVC, SVR, NuSVR, OneClassSVM])
def test_function_of_lists(machine):
    words = ["A A", "A", "B", "B B", "A B"]
    counts = np.array([[w.count("A"), w.count("B")] for w in words], dtype=float)
    calls = []

    def kernel(these, those):
        calls.append((len(these), len(those)))
        assert isinstance(these, list)
        assert isinstance(these[0], str)
        return np.array(
            [[a.count("A") * b.count("A") + a.count("B") * b.count("B") for b in those] for a in these]
        )

    y = np.array([1, 1, 2, 2, 1])
    model = machine(kernel=kernel).fit(words, y)
    plain = machine(kernel="linear").fit(counts, y)
    np.testing.assert_allclose(model.intercept_, plain.intercept_, atol=1e-9)
    np.testing.assert_array_equal(model.predict(words[:2]), plain.predict(counts[:2]))
    assert calls == [(5, 5), (2, 5)]  # as scikit-learn calls it: with all training rows
    with pytest.raises(AttributeError):
        _ = model.coef_


@pytest.mark.parametrize("machine", [SVC, SVR])
def test_function_of_numbers_of_rows_and_of_missing_values(machine):
    gram = X6 @ X6.T
    plain = machine(kernel="linear").fit(X6, Y6)
    numbers = machine(kernel=lambda a, b: gram[np.ix_(a, b)]).fit(np.arange(6), Y6)
    np.testing.assert_allclose(numbers.predict(np.arange(6)), plain.predict(X6), atol=1e-9)
    holes = np.vstack([X6, [[np.nan, 3.0]]])
    model = machine(kernel=lambda a, b: np.nan_to_num(a) @ np.nan_to_num(b).T).fit(holes, [*Y6, 2])
    assert np.isfinite(model.predict(holes)).all()
    with pytest.raises(ValueError, match="NaN"):
        machine().fit(holes, [*Y6, 2])


def test_function_that_knows_its_gram_matrix_only():
    gram = X6 @ X6.T
    model = SVC(kernel=lambda x, z: gram).fit(X6, Y6)
    np.testing.assert_allclose(
        model.decision_function(X6), SVC(kernel="linear").fit(X6, Y6).decision_function(X6), atol=1e-9
    )


# The rest -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("machine", [m for m in MACHINES if m is not OneClassSVM])
def test_column_of_targets(machine):
    options = {"random_state": 0} if machine in (LinearSVC, LinearSVR) else {}
    with pytest.warns(DataConversionWarning):
        model = machine(**options).fit(X6, Y6.reshape(-1, 1))
    np.testing.assert_array_equal(model.predict(X6), machine(**options).fit(X6, Y6).predict(X6))


@pytest.mark.parametrize("loss", ["squared_hinge", "log"])
@pytest.mark.parametrize("k", [2, 3])
def test_l1_min_c(loss, k):
    X, y = make_classification(40, 6, n_informative=5, n_redundant=0, n_classes=k, random_state=0)
    for rows in (X, sparse.csr_array(X)):
        for options in ({}, {"fit_intercept": False}, {"intercept_scaling": 10.0}):
            ours, theirs = (m(rows, y, loss=loss, **options) for m in (l1_min_c, sklearn.svm.l1_min_c))
            assert ours == pytest.approx(theirs)
    if loss == "squared_hinge":
        C = l1_min_c(X, y)
        options = {"penalty": "l1", "dual": False, "tol": 1e-8, "max_iter": 10_000, "random_state": 0}
        assert not LinearSVC(C=0.99 * C, **options).fit(X, y).coef_.any()
        more = LinearSVC(C=1.05 * C, **options).fit(X, y)
        assert more.coef_.any() or more.intercept_.any()


def test_l1_min_c_of_bad_input():
    with pytest.raises(ValueError, match="Ill-posed l1_min_c"):
        l1_min_c([[1.0], [1.0]], [0, 1], fit_intercept=False)
    with pytest.raises(ValueError, match="loss must be"):
        l1_min_c(X6, Y6, loss="hinge")


def test_forms_that_cannot_be_solved():
    with pytest.raises(
        ValueError, match=r"Unsupported set of arguments.*penalty='l1'.*loss='hinge'.*dual=True"
    ):
        LinearSVC(penalty="l1", loss="hinge", dual=True).fit(X6, Y6)
