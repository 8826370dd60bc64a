"""Logistic regression with cross-validation, against scikit-learn."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import sklearn.linear_model as peer
from sklearn import config_context
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import NotFittedError
from sklearn.metrics import get_scorer
from sklearn.model_selection import GroupKFold, KFold
from sklearn.preprocessing import scale

from tercet.core.steps import ConvergenceWarning
from tercet.linear_model import LogisticRegression, LogisticRegressionCV


def search(**options):
    """With scikit-learn's future defaults, which do not warn."""
    future = {"l1_ratios": (0.0,), "scoring": "neg_log_loss", "use_legacy_attributes": False}
    return LogisticRegressionCV(**{**future, **options})


def noisy(n_classes, n=150, d=3):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, (X @ rng.normal(size=(d, n_classes)) + rng.gumbel(size=(n, n_classes))).argmax(axis=1)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("refit", [True, False])
@pytest.mark.parametrize("scoring", ["neg_log_loss", "accuracy"])
def test_agrees_with_scikit_learn(n_classes, refit, scoring):
    X, y = noisy(n_classes)
    s = np.random.default_rng(1).uniform(0.5, 2, y.size)
    options = {"Cs": [0.01, 0.1, 1.0, 10.0], "cv": 3, "scoring": scoring, "refit": refit, "l1_ratios": (0.0,)}
    ours = search(tol=1e-8, **options).fit(X, y, s)
    theirs = peer.LogisticRegressionCV(
        tol=1e-10, solver="newton-cholesky", use_legacy_attributes=False, **options
    ).fit(X, y, s)
    assert pytest.approx(theirs.C_) == ours.C_
    assert ours.l1_ratio_ == theirs.l1_ratio_
    np.testing.assert_allclose(ours.scores_, theirs.scores_, atol=1e-6)
    np.testing.assert_allclose(ours.coefs_paths_, theirs.coefs_paths_, atol=1e-4)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-5)
    assert ours.n_iter_.shape == theirs.n_iter_.shape == (3, 1, 4)
    assert ours.score(X, y) == pytest.approx(theirs.score(X, y), abs=1e-5)


def test_elastic_net_grid_and_threads():
    X, y = load_breast_cancer(return_X_y=True)
    X = scale(X)[:, :10]
    options = {
        "Cs": [0.01, 0.1, 1.0],
        "l1_ratios": [0.1, 0.9],
        "solver": "saga",
        "cv": 3,
        "random_state": 0,
        "tol": 1e-7,
        "max_iter": 3000,
    }
    one, two = (search(n_jobs=n, **options).fit(X, y) for n in (1, 2))
    assert one.scores_.shape == (3, 2, 3)
    assert one.coef_.tobytes() == two.coef_.tobytes()
    i, j = np.unravel_index(one.scores_.mean(axis=0).argmax(), (2, 3))
    assert (one.l1_ratio_, one.C_) == ([0.1, 0.9][i], [0.01, 0.1, 1.0][j])
    plain = LogisticRegression(C=one.C_, l1_ratio=one.l1_ratio_, solver="auto", tol=1e-9).fit(X, y)
    np.testing.assert_allclose(one.coef_, plain.coef_, atol=5e-3)


def test_a_fold_without_a_class():
    X, y = noisy(3)
    X, y = X[np.argsort(y)], np.sort(y)  # unshuffled folds lack classes, in training and in test
    model = search(Cs=[0.1, 1.0], cv=KFold(3)).fit(X, y)
    assert np.isfinite(model.scores_).all()
    assert model.coef_.shape == (3, 3)


def test_few_rows_of_a_class():
    X, y = noisy(2)
    y[:] = 0
    y[:3] = 1
    with pytest.warns(UserWarning, match="least populated class"):  # five folds, as in scikit-learn
        assert search(Cs=2).fit(X, y).scores_.shape == (5, 1, 2)
    assert search(Cs=2).fit(X[:6], np.arange(6) % 2).scores_.shape == (3, 1, 2)  # three rows of each class


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("l1_ratios", [None, (0.0, 0.2)])
@pytest.mark.parametrize("refit", [True, False])
def test_legacy_attributes_are_scikit_learns(n_classes, l1_ratios, refit):
    X, y = noisy(n_classes)
    names = np.array(["a", "b", "c"])[y]
    options = {
        "Cs": [0.1, 1.0, 10.0],
        "cv": 3,
        "l1_ratios": l1_ratios,
        "refit": refit,
        "use_legacy_attributes": True,
    }
    options |= {"scoring": None, "random_state": 0, "max_iter": 2000}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        ours = LogisticRegressionCV(tol=1e-8, solver="auto", **options).fit(X, names)
        theirs = peer.LogisticRegressionCV(tol=1e-8, solver="saga", **options)
        try:
            theirs.fit(X, names)
        except TypeError:  # of scikit-learn's own: refit=False with a tuple
            theirs.set_params(l1_ratios=np.array(l1_ratios)).fit(X, names)
    assert ours.C_.tolist() == pytest.approx(theirs.C_.tolist())
    assert ours.l1_ratio_.tolist() == theirs.l1_ratio_.tolist()
    assert ours.l1_ratios_.tolist() == theirs.l1_ratios_.tolist()
    assert list(ours.scores_) == list(theirs.scores_)
    assert list(ours.coefs_paths_) == list(theirs.coefs_paths_)
    for c in theirs.scores_:
        np.testing.assert_allclose(ours.scores_[c], theirs.scores_[c])
        np.testing.assert_allclose(ours.coefs_paths_[c], theirs.coefs_paths_[c], atol=1e-4)
    assert ours.n_iter_.shape == theirs.n_iter_.shape
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    ours.standard_errors(X)


def test_defaults_warn_of_what_will_change():
    X, y = noisy(2)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = LogisticRegressionCV(Cs=3).fit(X, y)
    said = [str(w.message) for w in caught if w.category is FutureWarning]
    assert len(said) == 3
    for words in ("for l1_ratios will change", "'scoring' will change", "will be simplified"):
        assert sum(words in message for message in said) == 1
    assert model.score(X, y) == np.mean(model.predict(X) == y)  # accuracy
    with pytest.warns(FutureWarning, match="'penalty' was deprecated"):
        l1 = search(penalty="l1", l1_ratios=None, solver="auto", Cs=2).fit(X, y)
    assert l1.l1_ratio_ == 1.0


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("scoring", ["accuracy", "neg_log_loss", "neg_brier_score"])
def test_scores_of_folds_without_a_class_are_scikit_learns(n_classes, scoring):
    X, y = noisy(n_classes, n=60)
    order = np.argsort(y, kind="stable")
    X, y = X[order], np.array(["a", "b", "c"])[y[order]]
    options = {"Cs": [0.1, 1.0], "cv": KFold(n_classes), "scoring": scoring}
    ours = search(tol=1e-9, solver="newton-cholesky", **options).fit(X, y)
    theirs = peer.LogisticRegressionCV(
        tol=1e-9, solver="newton-cholesky", l1_ratios=(0.0,), use_legacy_attributes=False, **options
    ).fit(X, y)
    np.testing.assert_allclose(ours.scores_, theirs.scores_, rtol=1e-2)


def test_says_once_how_many_fits_were_cut_short():
    X, y = noisy(3)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search(Cs=3, cv=3, max_iter=2, tol=1e-9).fit(X, y)
    folds, last = [str(w.message) for w in caught if issubclass(w.category, ConvergenceWarning)]
    assert "9 of 9 fits of the folds did not converge in max_iter=2" in folds
    assert "LogisticRegressionCV did not converge in 2 passes" in last


def test_standard_errors_are_those_of_the_chosen_strength():
    X, y = noisy(2)
    model = search(Cs=[0.1, 1.0], tol=1e-9).fit(X, y)
    plain = LogisticRegression(C=model.C_, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(model.standard_errors(X)[0], plain.standard_errors(X)[0], rtol=1e-4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"Cs": [0.0, 1.0]}, "'Cs' must be numbers in"),
        ({"l1_ratios": [1.5]}, "'l1_ratios' must be numbers in"),
        ({"l1_ratios": [0.5]}, "supports only 'l2' or None penalties"),
        ({"penalty": "elasticnet", "l1_ratios": None, "solver": "saga"}, "l1_ratios must be an array-like"),
        ({"use_legacy_attributes": "yes"}, "'use_legacy_attributes' must be True or False or 'warn'"),
    ],
)
def test_what_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        search(**options).fit(*noisy(2))


def test_groups_reach_the_splitter_and_weights_the_scorer():
    X, y = noisy(2)
    groups, s = np.arange(y.size) % 7, np.random.default_rng(1).uniform(0.1, 3, y.size)
    with config_context(enable_metadata_routing=True):
        scorer = get_scorer("accuracy").set_score_request(sample_weight=True)
        options = {"Cs": [0.01, 1.0], "cv": GroupKFold(3), "scoring": scorer}
        ours = search(tol=1e-8, **options).set_fit_request(sample_weight=True)
        ours.fit(X, y, sample_weight=s, groups=groups)
        theirs = peer.LogisticRegressionCV(
            tol=1e-9, l1_ratios=(0.0,), use_legacy_attributes=False, **options
        ).set_fit_request(sample_weight=True)
        theirs.fit(X, y, sample_weight=s, groups=groups)
        np.testing.assert_allclose(ours.scores_, theirs.scores_)
        assert ours.score(X, y, sample_weight=s) == pytest.approx(theirs.score(X, y, sample_weight=s))
        unweighted = search(Cs=2, cv=KFold(3), scoring="accuracy").fit(X, y)
        assert unweighted.score(X, y) == pytest.approx(np.mean(unweighted.predict(X) == y))


def test_metadata_needs_routing():
    X, y = noisy(2)
    with pytest.raises(
        ValueError, match=r"\['groups'\] can .* is only supported if enable_metadata_routing=True"
    ):
        search(cv=GroupKFold(3)).fit(X, y, groups=y)
    model = search(Cs=2).fit(X, y)
    with pytest.raises(ValueError, match=r"score: \['extra'\] can .* is only supported if enable_metadata"):
        model.score(X, y, extra=1)


def test_an_interrupted_search_is_no_model():
    X, y = noisy(2)

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    model = search(Cs=2).fit(X, y).set_params(scoring=interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    for ask in (model.predict, model.predict_proba, model.standard_errors):
        with pytest.raises(NotFittedError):
            ask(X)


def test_features_far_from_zero():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5)) + 1e6
    y = (X[:, 0] - 1e6 + 0.5 * rng.normal(size=60) > 0).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = search(Cs=[1.0], cv=3, solver="newton-cholesky").fit(X, y)
    assert model.score(X, y) > -0.5
