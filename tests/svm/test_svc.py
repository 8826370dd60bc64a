"""SVC for two classes: the texts' machines, scikit-learn's decisions, bad input."""

import io
import pickle
import warnings

import numpy as np
import pytest
import sklearn.svm
import skops.io
from scipy import sparse
from sklearn.datasets import make_classification, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils.estimator_checks import check_estimator

from tercet import EarlyStopping, Recorder
from tercet.io import trusted_types
from tercet.kernels import FromFunction, Gaussian, Linear, Polynomial, Precomputed, Subsequence
from tercet.svm import SVC, kkt_report, support_categories

INF = float("inf")
X3, Y3 = np.array([[3.0, 3], [4, 3], [1, 1]]), np.array([1, 1, -1])  # Example 7.1
ALGORITHMS = ("working-set", "smo", "coordinate-ascent", "dual-qp", "primal-qp", "penalty")


def data(n=150, d=5, k=2, seed=0):
    return make_classification(
        n, d, n_informative=d - 1, n_redundant=0, n_classes=k, flip_y=0.1, random_state=seed
    )


# The texts' machines ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_example_7_1_hard_margin(algorithm):
    model = SVC(C=INF, kernel="linear", algorithm=algorithm, tol=1e-9).fit(X3, Y3)
    np.testing.assert_allclose(model.coef_, [[0.5, 0.5]], atol=1e-8)
    np.testing.assert_allclose(model.intercept_, [-2], atol=1e-8)
    np.testing.assert_allclose(model.alpha_, [0.25, 0, 0.25], atol=1e-8)
    assert sorted(model.support_) == [0, 2]
    # Σ α = |w|² = 1 / margin², and both optima are half of it
    np.testing.assert_allclose(model.alpha_.sum(), np.sum(model.coef_**2), atol=1e-8)
    np.testing.assert_allclose(-model.objective_, 0.25, atol=1e-8)
    np.testing.assert_allclose(model.dual_gap_, 0, atol=1e-8)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(
    ("C", "w", "b", "interval", "optimum"),
    [
        (1.0, 0.5, -2.0, (-2, -2), 0.25),
        (0.2, 0.4, -1.6, (-1.8, -1.4), 0.24),
        (0.1, 0.2, -0.3, (-0.4, -0.2), 0.16),
    ],
)
def test_example_7_1_soft_margin(algorithm, C, w, b, interval, optimum):
    model = SVC(C=C, kernel="linear", algorithm=algorithm, tol=1e-9).fit(X3, Y3)
    np.testing.assert_allclose(model.coef_, [[w, w]], atol=1e-7)
    np.testing.assert_allclose(model.intercept_, [b], atol=1e-7)
    np.testing.assert_allclose(model.intercept_interval_, [interval], atol=1e-7)
    np.testing.assert_allclose(-model.objective_, optimum, atol=1e-7)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_squared_slack(algorithm):
    model = SVC(C=1, kernel="linear", loss="squared_hinge", algorithm=algorithm, tol=1e-9).fit(X3, Y3)
    np.testing.assert_allclose(model.alpha_, [2 / 9, 0, 2 / 9], atol=1e-7)
    np.testing.assert_allclose(model.coef_, [[4 / 9, 4 / 9]], atol=1e-7)
    np.testing.assert_allclose(model.intercept_, [-16 / 9], atol=1e-7)
    np.testing.assert_allclose(-model.objective_, 2 / 9, atol=1e-7)
    np.testing.assert_allclose(model.dual_gap_, 0, atol=1e-7)
    assert kkt_report(model, X3, Y3).holds


@pytest.mark.parametrize(
    ("C", "w", "b", "objective"),
    [(0.5, 2 / 3, -5 / 3, 1.0555556), (1, 2 / 3, -5 / 3, 1.8888889), (8, 4, -11, 8), (100, 4, -11, 8)],
)
def test_one_dimension(C, w, b, objective):
    X, y = np.array([[0], [1], [3], [4], [2.5]]), np.array([-1, -1, 1, 1, -1])
    model = SVC(C=C, kernel="linear", tol=1e-9).fit(X, y)
    assert model.coef_[0, 0] == pytest.approx(w, abs=1e-7)
    assert model.intercept_[0] == pytest.approx(b, abs=1e-7)
    assert -model.objective_[0] == pytest.approx(objective, abs=1e-7)


def test_hard_margins_of_other_texts():
    X, y = np.array([[0, 0], [2, 2], [2, 0], [3, 0]]), [-1, -1, 1, 1]
    model = SVC(C=INF, kernel="linear", tol=1e-9).fit(X, y)
    np.testing.assert_allclose(model.alpha_, [0.5, 0.5, 1, 0], atol=1e-8)
    np.testing.assert_allclose([*model.coef_[0], *model.intercept_], [1, -1, -1], atol=1e-8)
    assert -model.objective_[0] == pytest.approx(1)
    X, y = np.array([[1, 1], [2, 0], [3, 3], [4, 2], [3, 4]]), [-1, -1, 1, 1, 1]
    model = SVC(C=INF, kernel="linear", tol=1e-9).fit(X, y)
    np.testing.assert_allclose([*model.coef_[0], *model.intercept_], [0.5, 0.5, -2], atol=1e-8)


def test_support_vectors_of_all_kinds():
    X, y = np.array([[0], [1], [2], [1.5], [3], [4]]), np.array([-1, -1, -1, 1, 1, 1])
    model = SVC(kernel="linear", tol=1e-9).fit(X, y)
    np.testing.assert_allclose(model.alpha_, [0, 0.75, 1, 1, 0.75, 0], atol=1e-8)
    np.testing.assert_allclose([*model.coef_[0], *model.intercept_], [1, -2], atol=1e-8)
    xi = np.maximum(0, 1 - y * model.decision_function(X))
    np.testing.assert_allclose(xi, [0, 0, 1, 1.5, 0, 0], atol=1e-8)
    kinds = ["none", "boundary", "hyperplane", "wrong", "boundary", "none"]
    assert support_categories(model.alpha_, xi, model.C).tolist() == kinds


def test_xor_with_a_polynomial_kernel():
    X, y = np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]]), [-1, 1, 1, -1]
    model = SVC(C=INF, kernel="poly", degree=2, gamma=1, coef0=1, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(model.alpha_, 1 / 8, atol=1e-8)
    np.testing.assert_allclose(model.decision_function(X), y, atol=1e-8)
    np.testing.assert_allclose(model.intercept_, 0, atol=1e-8)
    for kernel in (Polynomial(2, 1.0, 1.0), Polynomial(2, 1.0, 0.0)):
        other = SVC(C=INF, kernel=kernel, tol=1e-9).fit(X, y)
        np.testing.assert_allclose(other.alpha_, 1 / 8, atol=1e-8)
        np.testing.assert_allclose(other.decision_function(X), y, atol=1e-8)


def test_all_algorithms_agree():
    X, y = data(60)
    fits = [SVC(kernel="linear", algorithm=a, tol=1e-7).fit(X, y) for a in ALGORITHMS]
    for model in fits[1:]:
        np.testing.assert_allclose(model.coef_, fits[0].coef_, atol=1e-4)
        np.testing.assert_allclose(model.objective_, fits[0].objective_, rtol=1e-5)


def test_record_of_smo():
    model = SVC(C=10, kernel="linear", algorithm="smo", record=True).fit(X3, Y3)
    (steps,) = model.updates_
    assert (steps[0]["first"], steps[0]["second"]) in [(0, 2), (1, 2), (2, 0), (2, 1)]
    falls = np.diff([0.0, *(step["objective"] for step in steps)])
    assert (falls < 0).all()
    assert not hasattr(SVC(algorithm="smo").fit(X3, Y3), "updates_")
    assert not hasattr(SVC(record=True).fit(X3, Y3), "updates_")


def test_moving_rows_outside_the_margin_changes_nothing():
    X, y = np.vstack([X3, [[6, 6]]]), [1, 1, -1, 1]
    model = SVC(C=INF, kernel="linear", tol=1e-9).fit(X, y)
    np.testing.assert_allclose(model.coef_, [[0.5, 0.5]], atol=1e-8)
    order = [3, 1, 2, 0]
    np.testing.assert_allclose(
        SVC(C=INF, kernel="linear", tol=1e-9).fit(X[order], np.array(y)[order]).coef_, model.coef_, atol=1e-8
    )


# scikit-learn's decisions -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"kernel": "linear", "C": 0.3},
        {"kernel": "poly", "coef0": 1.0, "degree": 2},
        {"kernel": "sigmoid", "gamma": 0.01},
        {"gamma": "auto", "C": 50},
        {"class_weight": "balanced"},
        {"class_weight": {0: 3.0}},
        {"kernel": lambda A, B: A @ B.T + 1},
    ],
    ids=lambda options: str(options).partition(" at 0x")[0],
)
def test_decides_as_scikit_learn(options):
    X, y = data()
    ours, theirs = SVC(tol=1e-7, **options).fit(X, y), sklearn.svm.SVC(tol=1e-7, **options).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=5e-4)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_array_equal(ours.support_, theirs.support_)
    np.testing.assert_array_equal(ours.n_support_, theirs.n_support_)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=5e-4)
    np.testing.assert_allclose(ours.class_weight_, theirs.class_weight_)
    assert ours.dual_coef_.shape == theirs.dual_coef_.shape
    assert ours.shape_fit_ == theirs.shape_fit_
    assert ours.fit_status_ == theirs.fit_status_ == 0
    assert hasattr(ours, "coef_") == hasattr(theirs, "coef_")


def test_sample_weights_as_in_scikit_learn():
    X, y = data()
    w = np.random.default_rng(0).random(len(y)) * (np.arange(len(y)) % 7 > 0)
    ours = SVC(gamma=0.2, tol=1e-7).fit(X, y, w)
    theirs = sklearn.svm.SVC(gamma=0.2, tol=1e-7).fit(X, y, w)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_weight_2_is_the_row_twice(loss):
    X, y = data(40)
    w = np.random.default_rng(1).integers(0, 4, len(y))
    weighted = SVC(loss=loss).fit(X, y, w)
    repeated = SVC(loss=loss).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), rtol=1e-7, atol=1e-9
    )


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix])
def test_sparse_as_in_scikit_learn(kind):
    X, y = data()
    X = kind(np.where(np.abs(X) < 0.5, 0, X))
    for kernel in ("rbf", "linear"):
        ours = SVC(tol=1e-7, kernel=kernel).fit(X, y)
        theirs = sklearn.svm.SVC(tol=1e-7, kernel=kernel).fit(X, y)
        np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)
        assert sparse.issparse(ours.support_vectors_)
        assert sparse.issparse(ours.dual_coef_)
        np.testing.assert_allclose(ours.dual_coef_.toarray(), theirs.dual_coef_.toarray(), atol=1e-4)
        np.testing.assert_allclose(ours.predict(X.toarray()), theirs.predict(X))
    np.testing.assert_allclose(ours.coef_.toarray(), theirs.coef_.toarray(), atol=1e-4)


def test_gram_matrix():
    X, y = data()
    G = X @ X.T
    ours = SVC(kernel="precomputed", tol=1e-7).fit(G, y)
    theirs = SVC(kernel="linear", tol=1e-7).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(G[:9]), theirs.decision_function(X[:9]), atol=1e-6)
    by_number = SVC(kernel=Precomputed(G), tol=1e-7).fit(np.arange(len(y)), y)
    np.testing.assert_allclose(
        by_number.decision_function([3, 1]), ours.decision_function(G[[3, 1]]), atol=1e-6
    )
    assert ours.support_vectors_.shape == (0, 0)
    scores = cross_val_score(SVC(kernel="precomputed"), G, y, cv=3)
    np.testing.assert_array_equal(scores, cross_val_score(SVC(kernel="linear"), X, y, cv=3))
    with pytest.raises(TypeError, match="Sparse precomputed kernels are not supported"):
        SVC(kernel="precomputed").fit(sparse.csr_array(G), y)
    with pytest.raises(ValueError, match="must be a square matrix"):
        SVC(kernel="precomputed").fit(G[:, :9], y)
    with pytest.raises(ValueError, match="features"):
        ours.predict(G[:, :9])


def test_kernel_objects_and_their_parameters_in_a_search():
    X, y = make_moons(80, noise=0.2, random_state=0)
    ours = SVC(kernel=Gaussian(sigma=0.5), tol=1e-7).fit(X, y)
    np.testing.assert_allclose(
        ours.decision_function(X), SVC(gamma=2.0, tol=1e-7).fit(X, y).decision_function(X), atol=1e-6
    )
    search = GridSearchCV(
        SVC(kernel=Gaussian(sigma=9.0)), {"kernel__sigma": [50.0, 0.5], "C": [1]}, cv=3
    ).fit(X, y)
    assert search.best_params_["kernel__sigma"] == 0.5
    assert SVC(gamma=0.5).fit(X, y).kernel_ == Gaussian(gamma=0.5)
    assert SVC(kernel=Linear()).fit(X, y).coef_.shape == (1, 2)


def test_strings():
    rows, y = ["cat", "car", "bat", "dog", "fog", "log"], [0, 0, 0, 1, 1, 1]
    model = SVC(kernel=Subsequence(2, 0.5), C=10).fit(rows, y)
    np.testing.assert_array_equal(model.predict(rows), y)
    column = np.array(rows, dtype=object)[:, None]
    np.testing.assert_array_equal(model.predict(column), y)
    again = SVC(kernel=Subsequence(2, 0.5), C=10).fit(column, y, sample_weight=np.ones(6))
    np.testing.assert_array_equal(again.decision_function(rows), model.decision_function(rows))
    assert np.isfinite(cross_val_score(SVC(kernel=Subsequence(2, 0.5)), rows, y, cv=3)).all()
    mine = FromFunction(lambda s, t: float(s[0] == t[0]), of="rows", takes="strings")
    np.testing.assert_array_equal(
        SVC(kernel=mine).fit(["ax", "by", "az"], [0, 1, 0]).predict(["aa", "bb"]), [0, 1]
    )


def test_scikit_learns_checks_with_squared_slacks():
    check_estimator(SVC(loss="squared_hinge"), on_skip=None)


# Going on, stopping, listening --------------------------------------------------------------------------------


def test_warm_start():
    X, y = data(300)
    model = SVC(warm_start=True, tol=1e-6).fit(X, y)
    first = model.n_iter_[0]
    model.fit(X, y)
    assert model.n_iter_[0] < first
    for C in (5.0, 0.5):
        model.C = C
        model.fit(X, y)
        cold = SVC(C=C, tol=1e-6).fit(X, y)
        np.testing.assert_allclose(model.decision_function(X), cold.decision_function(X), atol=1e-4)
    model.fit(X[:50], y[:50])  # of other rows: from the beginning
    np.testing.assert_allclose(
        model.decision_function(X), SVC(C=0.5, tol=1e-6).fit(X[:50], y[:50]).decision_function(X), atol=1e-4
    )


def test_warm_start_of_a_hard_margin():
    X, y = data(80)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = SVC(C=np.float64(np.inf), gamma=5.0, warm_start=True).fit(X, y).fit(X, y)
    cold = SVC(C=INF, gamma=5.0).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), cold.decision_function(X), atol=1e-8)


def test_same_bits_for_any_number_of_threads():
    X, y = data(1500)
    models = [SVC(n_jobs=n).fit(X, y) for n in (1, 2, 5)]
    for model in models[1:]:
        np.testing.assert_array_equal(model.dual_coef_, models[0].dual_coef_)
        np.testing.assert_array_equal(model.decision_function(X), models[0].decision_function(X))


def test_passes_can_be_watched():
    X, y = data(400)
    recorder = Recorder()
    model = SVC(C=100).set_callbacks(recorder).fit(X, y)
    assert np.isfinite(recorder.frames[0].estimator.decision_function(X)).all()
    assert (np.diff(model.history_["objective"]) <= 1e-9).all()
    assert model.history_["violation"][-1] <= model.tol
    stopped = SVC(C=100).set_callbacks(EarlyStopping(patience=1)).fit(X, y)
    assert len(stopped.validation_scores_) >= 1
    with pytest.raises(ValueError, match="no passes to stop at"):
        SVC().set_callbacks(EarlyStopping()).fit(*data(200, k=3))


def test_max_iter_warns():
    X, y = data()
    with pytest.warns(ConvergenceWarning, match=r"max_iter=3"):
        model = SVC(max_iter=3).fit(X, y)
    assert model.fit_status_ == 1
    assert np.isfinite(model.decision_function(X)).all()


# Numbers about the solution -----------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"loss": "squared_hinge"}, {"kernel": "linear", "C": 10}])
def test_gap_is_that_of_the_report(options):
    X, y = data()
    model = SVC(tol=1e-4, **options).fit(X, y)
    report = kkt_report(model, X, y)
    assert report.holds
    assert model.dual_gap_[0] == pytest.approx(report.gap, abs=1e-6)
    assert -model.objective_[0] == pytest.approx(report.dual_value, rel=1e-6)
    assert model.violation_[0] <= 1e-4


def test_large_c_is_the_hard_margin():
    X, y = make_classification(80, 3, n_informative=3, n_redundant=0, class_sep=3, flip_y=0, random_state=2)
    hard = SVC(C=INF, kernel="rbf", gamma=0.5).fit(X, y)
    soft = SVC(C=1e7, kernel="rbf", gamma=0.5, tol=1e-7).fit(X, y)
    np.testing.assert_allclose(hard.decision_function(X), soft.decision_function(X), atol=1e-4)
    assert (np.where(y == 1, 1, -1) * hard.decision_function(X)).min() == pytest.approx(1, abs=1e-3)


# Bad input ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(
    ("X", "y"), [([[0.0], [1], [2], [3]], [0, 1, 0, 1]), ([[0.0, 0], [0, 0], [1, 1]], ["a", "b", "b"])]
)
def test_hard_margin_refuses_what_no_hyperplane_separates(algorithm, X, y):
    with pytest.raises(
        ValueError, match=r"C=inf is the hard margin.*none separates \['?\w'?\] from \['?\w'?\]"
    ):
        SVC(C=INF, kernel="linear", algorithm=algorithm).fit(X, y)


def test_hard_margin_refuses_overlapping_classes():
    X, y = data(200)
    with pytest.raises(ValueError, match="hard margin"):
        SVC(C=INF, kernel="linear").fit(X, y)
    assert SVC(C=INF, gamma=5).fit(X, y).score(X, y) == 1
    with pytest.raises(ValueError, match="hard margin"):
        SVC(C=INF).fit(np.ones((4, 2)), [0, 1, 0, 1])


@pytest.mark.parametrize("C", [1.0, INF])
def test_one_class(C):
    with pytest.raises(ValueError, match="only one class"):
        SVC(C=C).fit(X3, [1, 1, 1])
    with pytest.raises(ValueError, match="belong to the same class"):
        SVC(C=C).fit(X3, Y3, [1, 1, 0])


@pytest.mark.parametrize("k", [2, 3])
def test_verbose_says_a_line_for_each_machine(k, capsys):
    X, y = data(60, k=k)
    SVC(verbose=True).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == [
        f"binary problem {m + 1} of {len(lines)}" for m in range(len(lines))
    ]
    assert len(lines) == k * (k - 1) // 2


def test_forged_indices_do_not_reach_scipy():
    X, y = data(60)
    model = SVC(kernel="linear").fit(sparse.csr_array(X), y)
    for name in ("dual_coef_", "support_vectors_"):
        forged = pickle.loads(pickle.dumps(model))
        getattr(forged, name).indices[0] = 10**8
        with pytest.raises(
            ValueError, match=r"A fitted attribute is not a valid CSR .* indices must be from 0"
        ):
            forged.predict(X)
        with pytest.raises(ValueError, match="indices must be from 0"):
            forged.coef_  # noqa: B018


def test_no_class_has_weight():
    with pytest.raises(ValueError, match=r"belong to no class \(class_weight=\{1: 0.0\}\)"):
        SVC(class_weight={1: 0.0}).fit(X3, Y3, [1, 1, 0])


def test_hard_margin_of_a_feature_that_few_rows_have():
    X = np.zeros((1000, 2))
    X[[10, 12, 14], 0] = 1
    model = SVC(C=INF, kernel="linear").fit(X, X[:, 0])
    np.testing.assert_allclose([*model.coef_[0], *model.intercept_], [2, 0, -1], atol=1e-6)


def test_max_iter_has_no_say_in_what_is_separable():
    X, y = data(200)
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        assert SVC(C=INF, gamma=5, max_iter=2).fit(X, y).fit_status_ == 1


@pytest.mark.parametrize("size", [1e-12, 1e-6, 1e6, 1e12])
def test_extreme_weights_as_in_scikit_learn(size):
    X, y = data()
    w = np.random.default_rng(0).choice([1.0, size], len(y))
    ours, theirs = (m(gamma=0.2, tol=1e-7).fit(X, y, w) for m in (SVC, sklearn.svm.SVC))
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-5)


def test_weights_of_rows_given_by_numbers():
    X, y = data(60)
    w, G = np.random.default_rng(0).random(60), X @ X.T
    by_number = SVC(kernel=Precomputed(G)).fit(np.arange(60), y, w)
    np.testing.assert_array_equal(by_number.alpha_, SVC(kernel="precomputed").fit(G, y, w).alpha_)


@pytest.mark.parametrize("C", [0, -1, float("nan"), "1"])
def test_c_must_be_positive(C):
    with pytest.raises(ValueError, match="SVC: parameter 'C' must be"):
        SVC(C=C).fit(X3, Y3)


def test_contradictory_duplicates():
    X, y = np.repeat([[0.0, 1], [2, 3]], 6, axis=0), [0, 1] * 6
    model = SVC(tol=1e-6).fit(X, y)
    assert model.fit_status_ == 0
    np.testing.assert_allclose(model.decision_function(X), 0, atol=1e-6)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_constant_features(kernel):
    X, y = data(60)
    wide = np.column_stack([X, np.full(len(y), 7.0)])
    model = SVC(kernel=kernel, gamma=0.1).fit(wide, y)
    assert np.isfinite(model.decision_function(wide)).all()
    alone = SVC(kernel=kernel).fit(np.ones((6, 2)), [0, 1, 0, 1, 1, 1])
    assert set(alone.predict(np.ones((2, 2)))) == {1}


@pytest.mark.parametrize("scale", [1e-9, 1e-3, 1e6, 1e9])
def test_huge_and_tiny_scales(scale):
    X, y = data(100)
    near = SVC(tol=1e-7).fit(X, y)
    far = SVC(tol=1e-7).fit(X * scale, y)  # gamma="scale" makes up for it
    np.testing.assert_allclose(far.decision_function(X * scale), near.decision_function(X), atol=1e-3)
    shifted = SVC(gamma=0.1, tol=1e-7).fit(X + 1e6, y)
    np.testing.assert_allclose(
        shifted.decision_function(X + 1e6), SVC(gamma=0.1, tol=1e-7).fit(X, y).decision_function(X), atol=1e-3
    )


def test_linear_kernel_on_huge_values_ends():
    X, y = data(60)
    model = SVC(kernel="linear", max_iter=2000)
    with pytest.warns(ConvergenceWarning, match=r"terminated early \(max_iter=2000\).*StandardScaler"):
        model.fit(X * 1e6, y)
    assert np.isfinite(model.decision_function(X * 1e6)).all()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("C", [1.0, 100.0])
def test_a_gram_matrix_that_is_not_psd_ends(C):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(60, 60))
    G, y = A + A.T, rng.integers(0, 2, 60)
    model = SVC(kernel="precomputed", C=C).fit(G, y)
    assert model.fit_status_ in (0, 1)
    assert np.isfinite(model.decision_function(G)).all()
    assert (model.alpha_ <= C).all()
    model = SVC(kernel="sigmoid", gamma=2.0, coef0=-3.0, C=C).fit(rng.normal(size=(60, 4)), y)
    assert np.isfinite(model.intercept_).all()


def test_a_forged_file_does_not_reach_a_kernel():
    X, y = data(60)
    model = SVC().fit(X, y)
    for name, value in [
        ("support_vectors_", model.support_vectors_[:, :3]),
        ("support_vectors_", model.support_vectors_[:5]),
        ("dual_coef_", model.dual_coef_[:, :4]),
        ("n_support_", np.array([1000, -990], dtype=np.int32)),
        ("intercept_", np.zeros(3)),
    ]:
        forged = pickle.loads(pickle.dumps(model))
        setattr(forged, name, value)
        with pytest.raises(ValueError, match="was altered"):
            forged.predict(X)
    gram = SVC(kernel="precomputed").fit(X @ X.T, y)
    gram.support_ = gram.support_ + 50
    with pytest.raises(ValueError, match="was altered"):
        gram.predict(X @ X.T)


def test_saved_without_further_types():
    X, y = data(60)
    for model in (SVC(), SVC(kernel="linear"), SVC(calibration="platt")):
        blob = skops.io.dumps(model.fit(X, y))
        unknown = skops.io.get_untrusted_types(data=blob)
        assert set(unknown) <= {*trusted_types(), "tercet.svm.svc.SVC"}
        again = skops.io.load(io.BytesIO(blob), trusted=unknown)
        np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


def test_float32():
    X, y = data(100)
    single = SVC(tol=1e-6).fit(X.astype(np.float32), y)
    assert single.decision_function(X.astype(np.float32)).dtype == np.float32
    assert single.support_vectors_.dtype == single.dual_coef_.dtype == np.float32
    np.testing.assert_allclose(
        single.decision_function(X.astype(np.float32)),
        SVC(tol=1e-6).fit(X, y).decision_function(X),
        atol=1e-3,
    )
    assert SVC(kernel="linear").fit(X.astype(np.float32), y).coef_.dtype == np.float32
