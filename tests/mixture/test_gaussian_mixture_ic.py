"""The choice of a Gaussian mixture by BIC, AIC and rows held out."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture as Theirs
from sklearn.model_selection import KFold

from tercet.mixture import GaussianMixture, GaussianMixtureIC
from tercet.mixture.candidate_search import count_distinct


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def clusters(seed=0, n=50, centres=((0, 0), (8, 0), (0, 8)), form=((1.0, 0.0), (0.0, 1.0))):
    rng = np.random.default_rng(seed)
    X = np.concatenate([rng.normal(size=(n, 2)) @ np.array(form) + centre for centre in centres])
    y = np.repeat(np.arange(len(centres)), n)
    order = rng.permutation(len(X))
    return X[order], y[order]


@pytest.mark.parametrize("criterion", ["bic", "aic", "cv"])
@pytest.mark.parametrize("init_params", ["kmeans", "hierarchical"])
def test_true_number_of_components(criterion, init_params):
    X, y = clusters()
    model = GaussianMixtureIC(
        max_components=5,
        covariance_type="spherical",
        criterion=criterion,
        init_params=init_params,
        random_state=0,
    ).fit(X)
    assert model.n_components_ == 3
    assert adjusted_rand_score(y, model.labels_) == 1
    np.testing.assert_allclose(np.sort(model.means_, axis=0), [[0, 0], [0, 0], [8, 8]], atol=0.5)


@pytest.mark.parametrize(
    ("forms", "kind"),
    [
        ([[[1.0, 0], [0, 1]], [[3.0, 0], [0, 3]]], "spherical"),
        ([[[1.0, 0], [0, 3]], [[3.0, 0], [0, 0.5]]], "diag"),
        ([[[2.0, 1.5], [0, 0.5]], [[2.0, 1.5], [0, 0.5]]], "tied"),
        ([[[2.0, 1.5], [0, 0.5]], [[2.0, -1.5], [0, 0.5]]], "full"),
    ],
)
def test_true_form_of_the_covariances(forms, kind):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(150, 2)) @ np.array(form) + 20 * k for k, form in enumerate(forms)])
    model = GaussianMixtureIC(max_components=3, random_state=0).fit(X)
    assert (model.n_components_, model.covariance_type_) == (2, kind)


def test_results_are_those_of_the_mixtures():
    X, _ = clusters()
    model = GaussianMixtureIC(2, 4, covariance_type=["full", "diag"], random_state=0).fit(X)
    table = model.results_
    assert table["n_components"] == [2, 2, 3, 3, 4, 4]
    assert table["covariance_type"] == ["full", "diag"] * 3
    assert model.criterion_ == min(table["bic"])
    at = table["bic"].index(model.criterion_)
    one = GaussianMixture(
        table["n_components"][at], covariance_type=table["covariance_type"][at], random_state=0
    ).fit(X)
    theirs = Theirs(
        model.n_components_,
        covariance_type=model.covariance_type_,
        means_init=model.means_,
        weights_init=model.weights_,
        precisions_init=model.precisions_,
    ).fit(X)
    np.testing.assert_allclose(model.criterion_, one.bic(X), rtol=1e-4)
    np.testing.assert_allclose(model.criterion_, theirs.bic(X), rtol=1e-4)
    np.testing.assert_allclose(table["bic"][at], model.bic(X), rtol=1e-12)
    np.testing.assert_allclose(table["aic"][at], model.aic(X), rtol=1e-12)
    np.testing.assert_allclose(table["log_likelihood"][at], len(X) * model.score(X), rtol=1e-12)
    assert model.history_["bic"] == table["bic"]


def test_the_chosen_mixture_answers():
    X, _ = clusters()
    model = GaussianMixtureIC(max_components=4, random_state=0).fit(X)
    best = model.best_estimator_
    assert type(best) is GaussianMixture
    assert np.array_equal(model.predict(X), best.predict(X))
    assert np.array_equal(model.predict(X), model.labels_)
    assert np.array_equal(model.fit_predict(X), model.labels_)
    assert np.array_equal(model.predict_proba(X), best.predict_proba(X))
    assert np.array_equal(model.score_samples(X), best.score_samples(X))
    assert model.score(X) == pytest.approx(model.score_samples(X).mean())
    drawn, labels = model.sample(500)
    assert drawn.shape == (500, 2)
    assert labels.max() < model.n_components_


@pytest.mark.parametrize("criterion", ["bic", "aic"])
def test_weights_are_repetitions(criterion):
    X, _ = clusters(n=30)
    weight = np.random.default_rng(1).integers(0, 4, size=len(X))
    options = {"max_components": 4, "criterion": criterion, "random_state": 0, "tol": 1e-10, "max_iter": 500}
    weighted = GaussianMixtureIC(**options).fit(X, sample_weight=weight)
    repeated = GaussianMixtureIC(**options).fit(np.repeat(X, weight, axis=0))
    assert weighted.n_components_ == repeated.n_components_
    assert weighted.covariance_type_ == repeated.covariance_type_
    np.testing.assert_allclose(weighted.criterion_, repeated.criterion_, rtol=1e-8)
    np.testing.assert_allclose(sorted(weighted.means_.tolist()), sorted(repeated.means_.tolist()), rtol=1e-5)


def test_the_order_of_rows_does_not_matter():
    X, _ = clusters()
    one, other = (
        GaussianMixtureIC(max_components=4, random_state=0, tol=1e-8).fit(rows) for rows in (X, X[::-1])
    )
    assert (one.n_components_, one.covariance_type_) == (other.n_components_, other.covariance_type_)
    np.testing.assert_allclose(one.criterion_, other.criterion_, rtol=1e-7)


@pytest.mark.parametrize("init_params", ["kmeans", "hierarchical"])
def test_missing_values(init_params):
    X, _ = clusters(n=80)
    X[np.random.default_rng(2).random(X.shape) < 0.1] = np.nan
    model = GaussianMixtureIC(max_components=5, init_params=init_params, random_state=0).fit(X)
    assert model.n_components_ == 3


def test_folds_that_are_given():
    X, _ = clusters()
    weight = np.ones(len(X))
    weight[::5] = 0  # rows that are not there keep their places in the folds
    folds = list(KFold(3, shuffle=True, random_state=1).split(X))
    model = GaussianMixtureIC(
        max_components=4, covariance_type="spherical", criterion="cv", cv=folds, random_state=0
    ).fit(X, sample_weight=weight)
    assert model.n_components_ == 3
    assert model.criterion_ == max(model.results_["cv"])
    learned = [
        GaussianMixture(3, covariance_type="spherical", means_init=model.means_).fit(
            X[a], sample_weight=weight[a]
        )
        for a, _ in folds
    ]
    scores = [one.score_samples(X[b][weight[b] > 0]) for one, (_, b) in zip(learned, folds)]
    assert model.criterion_ == pytest.approx(np.concatenate(scores).mean(), abs=1e-3)


def test_collapsed_components_do_not_win():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    X[:6] = X[
        0
    ]  # six rows in one place: a component of its own has any likelihood that reg_covar lets it have
    model = GaussianMixtureIC(max_components=6, reg_covar=1e-12, random_state=0).fit(X)
    table = model.results_
    assert any(table["collapsed"])
    at = [*zip(table["n_components"], table["covariance_type"])].index(
        (model.n_components_, model.covariance_type_)
    )
    assert not table["collapsed"][at]
    assert min(table["bic"]) < model.criterion_


def test_a_constant_feature_is_no_collapse():
    X, _ = clusters()
    X = np.column_stack([X, np.full(len(X), 3.0)])
    model = GaussianMixtureIC(max_components=4, random_state=0).fit(X)
    assert model.n_components_ == 3
    assert not any(model.results_["collapsed"][: 4 * 2])


def test_candidates_that_fail_are_told():
    X, _ = clusters()
    X = np.column_stack([X, X.sum(axis=1)])
    with_diag = GaussianMixtureIC(max_components=2, reg_covar=0.0, random_state=0).fit(X)
    assert with_diag.covariance_type_ in ("diag", "spherical")
    failed = [
        why for why, kind in zip(with_diag.results_["failure"], with_diag.results_["covariance_type"]) if why
    ]
    assert failed
    assert "singular" in failed[0]
    flat = np.column_stack([X[:, 0], np.zeros(len(X))])
    with pytest.raises(ValueError, match="no candidate could be learned"):
        GaussianMixtureIC(max_components=2, covariance_type="full", reg_covar=0.0, random_state=0).fit(flat)


def test_warns_when_all_have_collapsed():
    X = np.repeat([[0.0, 0.0], [1.0, 1.0], [5.0, 4.0]], 10, axis=0)
    with pytest.warns(ConvergenceWarning, match="in every candidate"):
        GaussianMixtureIC(3, 3, random_state=0).fit(X)


def test_no_more_components_than_different_rows():
    X = np.repeat([[0.0, 0.0], [1.0, 1.0], [5.0, 4.0]], 10, axis=0)
    assert count_distinct(X, 10) == 3
    assert count_distinct(X, 2) == 2
    assert count_distinct(np.array([[0.0], [-0.0]]), 5) == 1
    model = GaussianMixtureIC(random_state=0).fit(X)
    assert max(model.results_["n_components"]) == 3


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"min_components": 4, "max_components": 3},
            "min_components=4 must not be greater than max_components=3",
        ),
        ({"covariance_type": ["full", "round"]}, "covariance_type must be 'all' or some of"),
        ({"covariance_type": []}, "covariance_type must be 'all' or some of"),
        ({"criterion": "cv", "cv": 1}, "parameter 'cv' must be from 2"),
        ({"criterion": "cv", "cv": 500}, "parameter 'cv' must be from 2"),
        ({"criterion": "icl"}, "parameter 'criterion' must be"),
        ({"min_components": 200, "max_components": 300}, "needs as many different rows"),
    ],
)
def test_bad_parameters_are_named(options, words):
    with pytest.raises(ValueError, match=words):
        GaussianMixtureIC(**options).fit(clusters()[0])


def test_one_warning_for_the_chosen():
    X, _ = clusters()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        GaussianMixtureIC(max_components=4, max_iter=2, tol=0, random_state=0).fit(X)
    (only,) = [str(warning.message) for warning in told]
    assert only.startswith("GaussianMixtureIC: the chosen mixture did not converge in 2 passes")


def test_folds_with_too_few_rows_are_told():
    X, _ = clusters(n=2)
    model = GaussianMixtureIC(5, 5, criterion="cv", cv=2, covariance_type="spherical", random_state=0)
    with pytest.raises(ValueError, match="no candidate could be learned: Expected n_samples >= n_components"):
        model.fit(X)


def test_the_chosen_mixture_can_be_learned_again():
    X, _ = clusters()
    chosen = GaussianMixtureIC(reg_covar=1e-3, tol=1e-5, max_iter=77, random_state=0).fit(X).best_estimator_
    assert (chosen.reg_covar, chosen.tol, chosen.max_iter) == (1e-3, 1e-5, 77)
    again = chosen.set_params(warm_start=True).fit(X)
    assert again.n_iter_ == 1  # it had converged
    assert again.converged_


def test_the_chosen_mixture_learns_on():
    X = np.random.default_rng(0).normal(size=(200, 2))
    X[100:] += 5
    best = GaussianMixtureIC(random_state=0).fit(X).best_estimator_
    means = best.means_.copy()
    best.partial_fit(X[:50] + 1.0)
    assert (best.n_batches_, best.seen_weight_) == (2, 250.0)
    assert np.abs(best.means_ - means).max() > 0.1
