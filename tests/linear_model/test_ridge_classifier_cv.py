"""RidgeClassifierCV and RidgeClassifier where a class is missing, and `ridge_regression`, against scikit-learn."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn import linear_model as peer
from sklearn.datasets import load_iris, make_multilabel_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold

from tercet.linear_model import Ridge, RidgeClassifier, RidgeClassifierCV, RidgeCV, ridge_regression

X, y = load_iris(return_X_y=True)
ALPHAS = [0.01, 1.0, 100.0]


def pair(**options):
    return RidgeClassifierCV(ALPHAS, **options), peer.RidgeClassifierCV(ALPHAS, **options)


@pytest.mark.parametrize("labels", [y, y > 0, np.array(list("abc"))[y], y[:, None] * 1])
@pytest.mark.parametrize("options", [{}, {"class_weight": "balanced"}, {"fit_intercept": False}, {"cv": 4}])
@pytest.mark.filterwarnings("ignore:A column-vector y")
def test_agrees_with_scikit_learn(labels, options):
    weight = np.linspace(0.5, 2, len(y))
    ours, theirs = (model.fit(X, labels, weight) for model in pair(**options))
    assert ours.alpha_ == theirs.alpha_
    assert ours.best_score_ == pytest.approx(theirs.best_score_)
    assert np.shape(ours.intercept_) == np.shape(theirs.intercept_)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-6, atol=1e-10)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_array_equal(ours.classes_, theirs.classes_)


@pytest.mark.parametrize("scoring", [None, "accuracy"])
def test_stored_results(scoring):
    ours, theirs = (model.fit(X, y) for model in pair(scoring=scoring, store_cv_results=True))
    assert ours.alpha_ == theirs.alpha_
    np.testing.assert_allclose(ours.cv_results_, theirs.cv_results_, rtol=1e-6, atol=1e-10)
    with pytest.raises(ValueError, match="cv!=None and store_cv_results=True are incompatible"):
        RidgeClassifierCV(cv=3, store_cv_results=True).fit(X, y)


def test_a_scorer_of_two_classes_sees_their_labels():
    keep = y > 0
    model = RidgeClassifierCV(ALPHAS, scoring="accuracy").fit(X[keep], np.array(["", "no", "yes"])[y[keep]])
    left_out = [
        np.mean(
            [
                RidgeClassifier(alpha)
                .fit(np.delete(X[keep], i, 0), np.delete(y[keep], i))
                .predict(X[keep][[i]])[0]
                == y[keep][i]
                for i in range(keep.sum())
            ]
        )
        for alpha in ALPHAS
    ]
    assert model.alpha_ == ALPHAS[int(np.argmax(left_out))]
    assert model.best_score_ == pytest.approx(max(left_out))


def test_folds_that_lack_a_class():
    order = np.argsort(y, kind="stable")
    for folds in (KFold(3), KFold(2)):
        ours, theirs = (model.fit(X[order], y[order]) for model in pair(cv=folds))
        assert ours.alpha_ == theirs.alpha_
        np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-6, atol=1e-10)
    two = y[order] // 2  # with three folds, the first two train on one class less, or one alone
    model = RidgeClassifierCV(
        ALPHAS, cv=[(np.arange(100), np.arange(100, 150)), (np.arange(50, 150), np.arange(50))]
    )
    assert model.fit(X[order], two).alpha_ in ALPHAS


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_one_class_alone(fit_intercept):
    model = RidgeClassifier(fit_intercept=fit_intercept).fit(X, np.full(150, "only"))
    assert set(model.predict(X)) == {"only"}
    assert model.decision_function(X).shape == (150,)
    if fit_intercept:
        theirs = peer.RidgeClassifier().fit(X, np.zeros(150))
        np.testing.assert_allclose(model.coef_, theirs.coef_, atol=1e-12)
        np.testing.assert_allclose(model.intercept_, theirs.intercept_)


def test_several_labels_and_sparse_rows():
    X, Y = make_multilabel_classification(60, random_state=0)
    for options in ({}, {"cv": 3}):
        ours, theirs = (model.fit(sparse.csr_array(X), Y) for model in pair(**options))
        assert ours.alpha_ == theirs.alpha_
        np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


def test_groups_are_routed():
    with config_context(enable_metadata_routing=True):
        folds = KFold(3, shuffle=True, random_state=0)
        ours, theirs = (model.fit(X, y, sample_weight=np.ones(150)) for model in pair(cv=folds))
    assert ours.best_score_ == pytest.approx(theirs.best_score_)
    with pytest.raises(ValueError, match=r"'groups'.* only supported if enable_metadata_routing=True"):
        RidgeClassifierCV().fit(X, y, groups=y)


@pytest.mark.parametrize("kind", [RidgeCV, RidgeClassifierCV])
def test_penalties_are_checked(kind):
    with pytest.raises(ValueError, match=r"alphas\[1\] == -1, must be > 0.0"):
        kind(alphas=(1, -1)).fit(X, y)
    with pytest.raises(ValueError, match=r"alphas\[0\] == 0.0, must be > 0.0"):
        kind(alphas=(0.0, 1.0)).fit(X, y)
    with pytest.raises(TypeError, match=r"alphas\[1\] must be an instance of float, not str"):
        kind(alphas=(1, "1")).fit(X, y)
    assert kind(alphas=(0.0, 1.0), cv=3).fit(X, y).alpha_ in (0.0, 1.0)


def test_svd_of_sparse_rows_is_deprecated():
    with pytest.warns(FutureWarning, match="The 'svd' mode is not supported for sparse X"):
        model = RidgeCV(gcv_mode="svd").fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(model.coef_, RidgeCV().fit(X, y).coef_)


@pytest.mark.parametrize("solver", ["auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga"])
@pytest.mark.parametrize("targets", [y, y[:, None], np.column_stack([y, -2 * y])])
def test_ridge_regression(solver, targets):
    weight = np.linspace(0.5, 2, len(y))
    options = {"sample_weight": weight, "tol": 1e-10, "random_state": 0, "max_iter": 20_000}
    ours = ridge_regression(X, targets, 1.5, solver=solver, **options)
    theirs = peer.ridge_regression(X, targets, 1.5, solver="svd", sample_weight=weight)
    assert ours.shape == theirs.shape
    np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-8)


def test_ridge_regression_returns_what_is_asked_for():
    coef, count, intercept = ridge_regression(X, y, 1.0, return_n_iter=True, return_intercept=True)
    model = Ridge().fit(X, y)
    np.testing.assert_allclose(coef, model.coef_)
    assert intercept == pytest.approx(model.intercept_)
    assert count is None
    assert ridge_regression(X, y, 1.0, solver="lsqr", return_n_iter=True)[1].shape == (1,)
    assert (ridge_regression(X, -y, 1.0, positive=True) >= 0).all()
    with pytest.raises(ValueError, match="only 'sag' solver can directly fit the intercept"):
        ridge_regression(X, y, 1.0, solver="svd", return_intercept=True)
    with pytest.raises(
        ValueError, match="Number of targets and number of penalties do not correspond: 2 != 1"
    ):
        ridge_regression(X, y, [1.0, 2.0])
    with pytest.raises(TypeError, match="SVD solver does not support sparse inputs"):
        ridge_regression(sparse.csr_array(X), y, 1.0, solver="svd")


@pytest.mark.parametrize("columns", [1, 2])
@pytest.mark.parametrize("name", ["Ridge", "RidgeCV"])
def test_targets_in_columns(name, columns):
    Y = np.column_stack([y, X[:, 0]])[:, :columns]
    ours, theirs = ({"Ridge": Ridge, "RidgeCV": RidgeCV}[name]().fit(X, Y), getattr(peer, name)().fit(X, Y))
    assert np.shape(ours.intercept_) == np.shape(theirs.intercept_)
    assert ours.predict(X).shape == theirs.predict(X).shape
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-6, atol=1e-10)


def test_iterative_solvers_say_when_they_stop_early():
    with pytest.warns(ConvergenceWarning, match="lbfgs solver did not converge"):
        Ridge(0.01, positive=True, tol=1e-12, max_iter=1).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="sparse_cg did not converge"):
        Ridge(0.01, solver="sparse_cg", tol=1e-12, max_iter=1).fit(X, y)


@pytest.mark.parametrize("solver", ["sag", "saga"])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_average_gradients_reach_the_one_optimum(solver, make):
    """Weights are repetitions: the optimum is the same, whatever the order of the visits."""
    rng = np.random.default_rng(0)
    X, y, weight = rng.normal(size=(30, 4)), rng.normal(size=30), rng.integers(0, 4, 30)
    repeated = np.repeat(np.arange(30), weight)
    options = {"solver": solver, "tol": 1e-13, "max_iter": 5000}
    weighted = Ridge(**options, random_state=0).fit(make(X), y, weight)
    twice = Ridge(**options, random_state=1).fit(make(X[repeated]), y[repeated])
    exact = Ridge(solver="svd").fit(X, y, weight)
    np.testing.assert_allclose(weighted.coef_, exact.coef_, rtol=1e-9)
    np.testing.assert_allclose(twice.coef_, exact.coef_, rtol=1e-9)
    assert weighted.intercept_ == pytest.approx(exact.intercept_, rel=1e-9)


@pytest.mark.parametrize("size", [2.0**900, 2.0**-900])
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_features_whose_squares_are_no_numbers(size):
    for model in (Ridge(), Ridge(solver="svd"), RidgeCV(), RidgeClassifier(), RidgeClassifierCV()):
        model.fit(X * size, y)
        if size > 1:  # the penalty is nothing beside such features
            reference = peer.LinearRegression().fit(
                X, y if "Classifier" not in type(model).__name__ else one_hot()
            )
            np.testing.assert_allclose(model.coef_ * size, reference.coef_, rtol=1e-6, atol=1e-9)
        else:
            np.testing.assert_allclose(model.coef_, 0.0, atol=1e-250)


def one_hot():
    return 2.0 * (y[:, None] == np.arange(3)) - 1


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_huge_targets():
    ours, huge = RidgeCV(ALPHAS).fit(X, 1.0 * y), RidgeCV(ALPHAS).fit(X, y * 2.0**1000)
    assert huge.alpha_ == ours.alpha_
    np.testing.assert_allclose(huge.coef_ / 2.0**1000, ours.coef_)
