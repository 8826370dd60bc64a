"""SVCCV: the scores of a grid search, the order of the texts, bad input."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris, make_circles, make_classification
from sklearn.model_selection import GridSearchCV, KFold, LeaveOneOut, StratifiedKFold, cross_val_score

from tercet.kernels import Gaussian, Polynomial, Subsequence
from tercet.svm import SVC, SVCCV, svc_cv


def data(n=120, k=2):
    return make_classification(n, 4, n_informative=3, n_redundant=0, n_classes=k, flip_y=0.1, random_state=1)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("whole", [True, False])
def test_scores_are_those_of_a_grid_search(k, whole, monkeypatch):
    if not whole:  # as for data that are larger than a Gram matrix may be
        monkeypatch.setattr(svc_cv, "FULL_GRAM_ROWS", 10)
    X, y = data(k=k)
    folds = list(StratifiedKFold(3).split(X, y))
    ours = SVCCV(kernels=["linear", "rbf"], gammas=[0.3, 3], Cs=[10, 1], cv=folds, tol=1e-5).fit(X, y)
    assert ours.scores_.shape == (3, 2, 3)
    np.testing.assert_array_equal(ours.Cs_, [1, 10])
    for candidate, scores in zip(ours.candidates_, ours.scores_):
        model = SVC(kernel=candidate["kernel"], gamma=candidate["gamma"] or "scale", tol=1e-5)
        grid = GridSearchCV(model, {"C": [1, 10]}, cv=folds).fit(X, y)
        np.testing.assert_allclose(scores.mean(axis=1), grid.cv_results_["mean_test_score"], atol=1e-9)
    best = SVC(kernel=ours.kernel_, C=ours.C_, tol=1e-5).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), best.decision_function(X), atol=1e-6)
    assert ours.best_score_ == ours.scores_.mean(axis=2).max() == max(ours.results_["mean_score"])


def test_the_simple_is_tried_first():
    X, y = load_iris(return_X_y=True)
    model = SVCCV(Cs=[1.0]).fit(X[:100], y[:100])  # any kernel will do
    assert model.results_["kernel"] == ["linear", *["rbf"] * 4]
    assert model.kernel_.get_params() == {}
    assert model.gamma_ is None
    assert (np.diff([g for g in model.results_["gamma"] if g]) > 0).all()
    assert hasattr(model, "coef_")
    circles = SVCCV(Cs=[1.0]).fit(*make_circles(60, noise=0.05, factor=0.5, random_state=0))
    assert isinstance(circles.kernel_, Gaussian)
    assert circles.results_["rank"][0] > 1


def test_leave_one_out():
    X, y = data(30)
    model = SVCCV(kernels=["rbf"], gammas=[1.0], Cs=[1, 10], cv="loo", tol=1e-6).fit(X, y)
    assert model.scores_.shape == (1, 2, 30)
    expected = cross_val_score(SVC(gamma=model.gamma_, C=10, tol=1e-6), X, y, cv=LeaveOneOut())
    np.testing.assert_array_equal(model.scores_[0, 1], expected)


def test_kernels_of_all_kinds():
    X, y = data(60)
    kernels = [Gaussian(sigma=2.0), Polynomial(2, 1.0, 1.0), lambda A, B: A @ B.T]
    model = SVCCV(kernels=kernels, Cs=[1], cv=3).fit(X, y)
    assert len(model.candidates_) == 3
    assert model.predict(X).shape == (60,)
    G = X @ X.T
    gram = SVCCV(kernels=["precomputed"], Cs=[0.1, 1], cv=KFold(3)).fit(G, y)
    rows = SVCCV(kernels=["linear"], Cs=[0.1, 1], cv=KFold(3)).fit(X, y)
    np.testing.assert_allclose(gram.scores_, rows.scores_)
    np.testing.assert_allclose(gram.decision_function(G), rows.decision_function(X), atol=1e-6)
    words = ["cat", "car", "bat", "dog", "fog", "log"] * 2
    texts = SVCCV(kernels=[Subsequence(1, 0.5), Subsequence(2, 0.5)], Cs=[1, 10], cv=2).fit(
        words, [0, 0, 0, 1, 1, 1] * 2
    )
    assert texts.score(words, [0, 0, 0, 1, 1, 1] * 2) == 1


def test_sparse_rows_weights_threads_and_probabilities():
    X, y = data()
    w = np.random.default_rng(0).random(len(y))
    one = SVCCV(Cs=[1, 10], cv=3, calibration="platt").fit(X, y, w)
    for n_jobs, rows in ((2, X), (7, X), (1, sparse.csr_array(X))):
        other = SVCCV(Cs=[1, 10], cv=3, calibration="platt", n_jobs=n_jobs).fit(rows, y, w)
        assert (other.C_, str(other.kernel_)[:12]) == (one.C_, str(one.kernel_)[:12])
        np.testing.assert_allclose(other.predict_proba(rows), one.predict_proba(X), atol=1e-5)
    assert SVCCV(Cs=[1, 10], cv=3, n_jobs=2).fit(X, y).results_ == SVCCV(Cs=[1, 10], cv=3).fit(X, y).results_


def test_scoring():
    X, y = data()
    model = SVCCV(kernels=["linear"], Cs=[0.01, 1], scoring="roc_auc", cv=3).fit(X, y)
    assert model.scores_.max() <= 1
    with pytest.raises(ValueError, match="gives NaN"):
        SVCCV(kernels=["linear"], Cs=[1], scoring=lambda *_: np.nan, cv=3).fit(X, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"Cs": []}, "'Cs' must be positive numbers"),
        ({"Cs": [1, -1]}, "'Cs' must be positive numbers"),
        ({"gammas": [0]}, "'gammas' must be positive numbers"),
        ({"Cs": [1, np.inf]}, "'Cs' must be positive numbers"),
        ({"Cs": ["a"]}, "'Cs' must be positive numbers"),
        ({"class_weight": {7: 1.0}}, "SVCCV: class_weight must give"),
        ({"kernels": []}, "there must be one"),
        ({"kernels": ["linear", "precomputed"]}, "all take the same kind of rows"),
        ({"kernels": ["radial"]}, "radial"),
        ({"kernels": "rbf"}, "parameter 'kernels' must be"),
    ],
)
def test_bad_grids(options, message):
    with pytest.raises(ValueError, match=message):
        SVCCV(**options).fit(*data(40))


def test_kernels_of_strings_and_of_vectors():
    with pytest.raises(ValueError, match="all take the same kind of rows"):
        SVCCV(kernels=[Subsequence(1, 0.5), "rbf"]).fit(["cat", "dog"] * 4, [0, 1] * 4)


@pytest.mark.parametrize("cv", [None, "loo", [([0, 1], [2]), ([0, 1, 2], [3, 4])]])
@pytest.mark.filterwarnings("ignore:The least populated class")
def test_folds_that_leave_one_class(cv):
    X, y = np.arange(5.0)[:, None], [0, 0, 0, 0, 1]
    with pytest.raises(ValueError, match=r"SVCCV: cv=.* has a fold with rows of fewer than 2 classes"):
        SVCCV(cv=cv).fit(X, y)


def test_rows_of_weight_0_are_in_no_fold():
    X, y = data()
    here = np.random.default_rng(0).random(len(y)) < 0.5
    weighted = SVCCV(kernels=["linear"], cv=3).fit(X, y, here.astype(float))
    without = SVCCV(kernels=["linear"], cv=3).fit(X[here], y[here])
    np.testing.assert_array_equal(weighted.scores_, without.scores_)
    half = np.arange(len(y)) < 60
    splits = [(half, ~half), (np.flatnonzero(~half), np.flatnonzero(half))]
    np.testing.assert_array_equal(
        SVCCV(kernels=["linear"], cv=splits).fit(X, y, np.where(half, 1.0, np.arange(120) % 2)).scores_,
        SVCCV(
            kernels=["linear"],
            cv=[(np.arange(60), np.arange(61, 120, 2)), (np.arange(61, 120, 2), np.arange(60))],
        )
        .fit(X, y)
        .scores_,
    )


def test_scores_of_probabilities():
    X, y = data(60)
    model = SVCCV(kernels=["linear"], Cs=[1], cv=2, scoring="neg_log_loss", calibration="platt").fit(X, y)
    assert -1 < model.best_score_ < 0


def test_fitted_again_it_chooses_again():
    X, y = make_circles(60, noise=0.05, factor=0.5, random_state=0)
    model = SVCCV(Cs=[1.0], cv=3).fit(X, y)
    model.set_params(kernels=[Subsequence(1, 0.5)]).fit(["cat", "dog"] * 4, [0, 1] * 4)
    assert model.predict(["cat"]).tolist() == [0]
