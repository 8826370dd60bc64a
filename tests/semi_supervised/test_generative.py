"""Gaussian mixtures and naive Bayes of rows with labels and without."""

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import multivariate_normal

from tercet.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB
from tercet.semi_supervised import SemiSupervisedGaussianMixture, SemiSupervisedNB


def rows(n=120, seed=0, labelled=12):
    rng = np.random.default_rng(seed)
    truth = rng.integers(2, size=n)
    X = rng.normal(size=(n, 3)) @ np.diag([1.0, 0.5, 2.0]) + 2.5 * truth[:, None]
    y = np.full(n, -1)
    for c in (0, 1):
        y[np.flatnonzero(truth == c)[: labelled // 2]] = c
    return X, y, truth


def plain_step(X, y, weights, means, covariances, of_class):
    """An EM step, (11.4)-(11.6), in plain form."""
    joint = np.column_stack(
        [w * multivariate_normal(m, S).pdf(X) for w, m, S in zip(weights, means, covariances)]
    )
    allowed = (y[:, None] < 0) | (y[:, None] == of_class)
    joint = np.where(allowed, joint, 0.0)
    likelihood = np.log(joint.sum(axis=1)).sum()
    gamma = joint / joint.sum(axis=1, keepdims=True)
    mass = gamma.sum(axis=0)
    means = gamma.T @ X / mass[:, None]
    apart = X[:, None] - means
    covariances = np.einsum("jk,jka,jkb->kab", gamma, apart, apart) / mass[:, None, None]
    return likelihood, mass / len(X), means, covariances


@pytest.mark.parametrize("components", [1, 2])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_steps_of_em(components):
    X, y, _ = rows()
    of_class = np.repeat([0, 1], components)
    rng = np.random.default_rng(1)
    k = 2 * components
    start = (
        np.full(k, 1 / k),
        2.5 * of_class[:, None] + rng.normal(size=(k, 3)),
        np.tile(np.eye(3), (k, 1, 1)),
    )
    model = SemiSupervisedGaussianMixture(
        components, reg_covar=0.0, max_iter=3, tol=0.0,
        weights_init=start[0], means_init=start[1], covariances_init=start[2],
    ).fit(X, y)  # fmt: skip
    bounds = []
    for _ in range(3):
        likelihood, *start = plain_step(X, y, *start, of_class)
        bounds.append(likelihood / len(X))
    np.testing.assert_allclose(model.lower_bounds_, bounds)
    np.testing.assert_allclose(model.weights_, start[0])
    np.testing.assert_allclose(model.means_, start[1], rtol=1e-6)
    np.testing.assert_allclose(model.covariances_, start[2], rtol=1e-6, atol=1e-8)
    np.testing.assert_array_equal(model.component_classes_, of_class)


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
@pytest.mark.parametrize("components", [1, 2])
def test_the_likelihood_never_falls(kind, components):
    X, y, truth = rows()
    model = SemiSupervisedGaussianMixture(
        components, covariance_type=kind, reg_covar=0.0, tol=1e-6, max_iter=1000, random_state=0
    ).fit(X, y)
    assert (np.diff(model.lower_bounds_) > -1e-10).all()
    assert (model.transduction_ == truth).mean() > 0.8
    np.testing.assert_array_equal(model.transduction_[y >= 0], y[y >= 0])
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert np.isfinite(model.score_samples(X)).all()


@pytest.mark.filterwarnings("ignore:.*no unlabeled")
def test_with_all_labels_it_is_a_gaussian_for_each_class():
    X, _, truth = rows()
    model = SemiSupervisedGaussianMixture(reg_covar=0.0).fit(X, truth)
    for c in (0, 1):
        np.testing.assert_allclose(model.means_[c], X[truth == c].mean(axis=0))
        np.testing.assert_allclose(model.covariances_[c], np.cov(X[truth == c].T, bias=True))
    np.testing.assert_allclose(model.weights_, np.bincount(truth) / len(truth))
    y = rows()[1]
    alone = SemiSupervisedGaussianMixture(unlabeled_weight=0.0).fit(X, y)
    known = SemiSupervisedGaussianMixture().fit(X[y >= 0], y[y >= 0])
    np.testing.assert_allclose(alone.means_, known.means_)


def test_missing_values_weights_and_threads():
    X, y, truth = rows(n=300)
    X = np.where(np.random.default_rng(2).random(X.shape) < 0.15, np.nan, X)
    for kind in ("full", "tied", "diag"):
        model = SemiSupervisedGaussianMixture(covariance_type=kind).fit(X, y)
        assert (model.transduction_ == truth).mean() > 0.75
        assert np.isfinite(model.predict_proba(X)).all()
    X, y, _ = rows()
    weight = np.random.default_rng(3).integers(1, 4, size=len(y))
    weighted = SemiSupervisedGaussianMixture(tol=1e-9).fit(X, y, sample_weight=weight)
    repeated = SemiSupervisedGaussianMixture(tol=1e-9).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.means_, repeated.means_, rtol=1e-6)
    one, three = (SemiSupervisedGaussianMixture(n_jobs=n).fit(X, y).means_ for n in (1, 3))
    np.testing.assert_array_equal(one, three)


def test_what_a_mixture_cannot_begin_with():
    X, y, _ = rows(labelled=2)
    with pytest.raises(
        ValueError, match=r"n_components=2 needs as many different labelled rows .* class 0 has 1"
    ):
        SemiSupervisedGaussianMixture(2).fit(X, y)
    with pytest.raises(ValueError, match=r"means_init must have the shape \(2, 3\); got \(3, 2\)"):
        SemiSupervisedGaussianMixture(means_init=np.zeros((3, 2))).fit(X, y)
    with pytest.raises(ValueError, match=r"weights_init must be 2 positive numbers that sum to 1"):
        SemiSupervisedGaussianMixture(weights_init=[0.7, 0.7]).fit(X, y)


def counts(n=200, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.integers(2, size=n)
    words = rng.dirichlet(np.full(30, 1.0), size=2)
    X = np.array([rng.multinomial(15, words[c]) for c in truth])
    y = np.full(n, -1)
    for c in (0, 1):
        y[np.flatnonzero(truth == c)[:1]] = c
    return X.astype(float), y, truth


def test_naive_bayes_climbs_the_posterior_of_its_prior():
    X, y, truth = counts()
    alpha, bounds = 0.5, []
    for passes in range(1, 8):
        base = SemiSupervisedNB(MultinomialNB(alpha=alpha), max_iter=passes, tol=0.0)
        with pytest.warns(Warning, match="did not converge"):
            model = base.fit(X, y)
        joint = model.predict_joint_log_proba(X)
        known = y >= 0
        value = joint[known, y[known]].sum() + np.logaddexp.reduce(joint[~known], axis=1).sum()
        bounds.append(value + alpha * model.estimator_.feature_log_prob_.sum())
    assert (np.diff(bounds) > -1e-9).all()
    assert (model.transduction_ == truth).mean() > 0.8


def test_unlabelled_rows_help_naive_bayes():
    X, y, truth = counts()
    known = y >= 0
    alone = MultinomialNB().fit(X[known], y[known])
    both = SemiSupervisedNB(MultinomialNB()).fit(X, y)
    assert (both.predict(X) == truth).mean() > (alone.predict(X) == truth).mean()
    same = SemiSupervisedNB(MultinomialNB()).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(same.predict_proba(sparse.csr_array(X)), both.predict_proba(X), atol=1e-10)
    none = SemiSupervisedNB(MultinomialNB(), unlabeled_weight=0.0).fit(X, y)
    np.testing.assert_allclose(none.predict_proba(X), alone.predict_proba(X))


@pytest.mark.parametrize(
    "base", [GaussianNB(var_smoothing=0.0), BernoulliNB(), CategoricalNB(), MultinomialNB()]
)
def test_any_naive_bayes(base):
    X, y, truth = counts()
    X = np.minimum(X[:, :20], 2) if isinstance(base, CategoricalNB) else X
    X = X + 1e-3 * np.random.default_rng(0).random(X.shape) if isinstance(base, GaussianNB) else X
    y = np.where(np.arange(len(y)) % 3 == 0, truth, -1)
    model = SemiSupervisedNB(base).fit(X, y)
    assert type(model.estimator_) is type(base)
    assert (model.transduction_ == truth).mean() > 0.7
    weight = np.random.default_rng(3).integers(1, 4, size=len(y))
    weighted = SemiSupervisedNB(base, tol=1e-10).fit(X, y, sample_weight=weight)
    repeated = SemiSupervisedNB(base, tol=1e-10).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-6)


def test_gaussian_naive_bayes_is_the_diagonal_mixture():
    X, y, _ = rows()
    bayes = SemiSupervisedNB(GaussianNB(var_smoothing=0.0), tol=1e-12, max_iter=5000).fit(X, y)
    mixture = SemiSupervisedGaussianMixture(
        covariance_type="diag", reg_covar=0.0, tol=1e-12, max_iter=5000
    ).fit(X, y)
    np.testing.assert_allclose(bayes.estimator_.theta_, mixture.means_, rtol=1e-4)
    np.testing.assert_allclose(bayes.predict_proba(X), mixture.predict_proba(X), atol=1e-4)


def test_naive_bayes_needs_joint_probabilities():
    from tercet.linear_model import LogisticRegression

    X, y, _ = rows()
    with pytest.raises(ValueError, match=r"with predict_joint_log_proba; got LogisticRegression"):
        SemiSupervisedNB(LogisticRegression()).fit(X, y)
    missing = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    assert np.isfinite(SemiSupervisedNB().fit(missing, y).predict_proba(missing)).all()
