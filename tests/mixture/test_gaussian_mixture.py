"""Gaussian mixtures: the texts' numbers, scikit-learn's, theorems, weights, gaps and hard data."""

import warnings

import numpy as np
import pytest
import sklearn.mixture
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal
from sklearn.exceptions import ConvergenceWarning

from tercet.datasets import load_watermelon
from tercet.mixture import GaussianMixture, gaussian_mixture_step
from tercet.mixture._engine.gaussian_components import GaussianComponents
from tercet.mixture._engine.gaussian_parameters import GaussianParameters

KINDS = ["full", "tied", "diag", "spherical"]
LEARNED = ["weights_", "means_", "covariances_", "precisions_", "precisions_cholesky_"]
each_kind = pytest.mark.parametrize("kind", KINDS)
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def blobs(n=300, d=3, k=3, seed=0, spread=3.0):
    rng = np.random.default_rng(seed)
    centres = spread * rng.standard_normal((k, d))
    return centres[rng.integers(k, size=n)] + rng.standard_normal((n, d)) @ rng.standard_normal((d, d))


def start(X, k, kind, seed=1):
    """The same first parameters for everyone."""
    d = X.shape[1]
    unit = {
        "full": np.stack([np.eye(d)] * k),
        "tied": np.eye(d),
        "diag": np.ones((k, d)),
        "spherical": np.ones(k),
    }
    rows = np.random.default_rng(seed).choice(len(X), k, replace=False)
    return {
        "n_components": k,
        "covariance_type": kind,
        "weights_init": np.full(k, 1 / k),
        "means_init": np.nan_to_num(X[rows]),
        "precisions_init": unit[kind],
    }


def with_gaps(X, share=0.3, seed=2):
    rng = np.random.default_rng(seed)
    return np.where(rng.random(X.shape) < share, np.nan, X)


# --- the texts ----------------------------------------------------------------------------------------------------


def in_one_dimension(passes, **more):
    y = np.array([-1.0, 0, 1, 4, 5, 7])[:, None]
    options = {
        "weights_init": [0.5, 0.5],
        "means_init": [[0.0], [3.0]],
        "precisions_init": [[[0.25]], [[0.25]]],
    }
    model = GaussianMixture(2, **options, reg_covar=0, tol=0, max_iter=passes, **more)
    return y, model.fit(y)


def test_one_dimension():
    y, model = in_one_dimension(1)
    assert model.lower_bound_ * 6 == pytest.approx(-15.5308033946, abs=1e-9)
    np.testing.assert_allclose(model.weights_, [0.4051724449, 0.5948275551], atol=1e-9)
    np.testing.assert_allclose(model.means_.ravel(), [0.2906441473, 4.2851169978], atol=1e-9)
    # the variance is about the new mean; about the old one it would be 2.4907956891, 7.3704479743
    np.testing.assert_allclose(model.covariances_.ravel(), [2.4063216687, 5.7189222764], atol=1e-9)
    assert model.score(y) * 6 == pytest.approx(-14.1765052895, abs=1e-9)
    assert in_one_dimension(2)[1].score(y) * 6 == pytest.approx(-13.4845953423, abs=1e-9)
    y, end = in_one_dimension(2000)
    np.testing.assert_allclose(end.covariances_.ravel(), [0.6663621523, 1.5771193621], atol=1e-8)
    assert end.score(y) * 6 == pytest.approx(-12.7235040128, abs=1e-9)
    first = in_one_dimension(0)[1].predict_proba(y)[:, 0]
    np.testing.assert_allclose(
        first, [0.8670357598, 0.7549149869, 0.5926666000, 0.1329642402, 0.0675466911, 0.0159063917], atol=1e-9
    )


def test_watermelons():
    X = load_watermelon("4.0").data
    options = {
        "weights_init": np.full(3, 1 / 3),
        "means_init": X[[5, 21, 26]],
        "precisions_init": np.stack([10 * np.eye(2)] * 3),
    }
    models = [GaussianMixture(3, **options, reg_covar=0, tol=0, max_iter=m).fit(X) for m in (0, 1, 2, 50)]
    np.testing.assert_allclose(
        models[0].predict_proba(X[:1])[0], [0.2187515, 0.4043725, 0.3768761], atol=1e-7
    )
    np.testing.assert_allclose(models[1].weights_, [0.3610411, 0.3232630, 0.3156959], atol=1e-7)
    likelihood = [model.score(X) * 30 for model in models]
    np.testing.assert_allclose(likelihood, [3.8110059, 32.1449548, 32.1832409, 40.6037945], atol=1e-6)
    assert np.diff(models[3].lower_bounds_).min() >= -1e-12
    found = {tuple(np.flatnonzero(models[3].labels_ == c) + 1) for c in range(3)}
    assert (6, 8, 10, 11, 12, 15, 18, 19, 20) in found


# --- scikit-learn -------------------------------------------------------------------------------------------------


@each_kind
@pytest.mark.parametrize("k", [1, 4])
@pytest.mark.parametrize("shift", [0.0, 1e4])
def test_as_scikit_learn(kind, k, shift):
    X = blobs() + shift
    options = start(X, k, kind) | {"tol": 1e-6, "max_iter": 40}
    ours, theirs = GaussianMixture(**options).fit(X), sklearn.mixture.GaussianMixture(**options).fit(X)
    digits = 1e-9 if shift == 0 else 1e-4  # theirs subtracts large squares
    for name in LEARNED:
        np.testing.assert_allclose(
            getattr(ours, name), getattr(theirs, name), rtol=digits, atol=digits, err_msg=name
        )
    if shift == 0:
        assert ours.n_iter_ == theirs.n_iter_
        assert ours.converged_ == theirs.converged_
    np.testing.assert_allclose(ours.lower_bounds_[-1], theirs.lower_bound_, atol=digits)
    np.testing.assert_allclose(ours.score_samples(X), theirs.score_samples(X), atol=100 * digits)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=100 * digits)
    for criterion in ("bic", "aic"):
        assert getattr(ours, criterion)(X) == pytest.approx(
            getattr(theirs, criterion)(X), rel=max(digits, 1e-9)
        )


@each_kind
def test_same_clusters_as_scikit_learn_from_the_default_start(kind):
    X = blobs(spread=20.0)
    ours, theirs = (
        m(3, covariance_type=kind, random_state=0).fit(X)
        for m in (GaussianMixture, sklearn.mixture.GaussianMixture)
    )
    assert ours.lower_bound_ == pytest.approx(theirs.lower_bound_, abs=1e-6)
    order, theirs_order = np.argsort(ours.means_[:, 0]), np.argsort(theirs.means_[:, 0])
    np.testing.assert_allclose(ours.means_[order], theirs.means_[theirs_order], atol=1e-4)


def test_parameters_of_scikit_learn_keep_their_names_and_defaults():
    ours, theirs = GaussianMixture().get_params(), sklearn.mixture.GaussianMixture().get_params()
    assert {name: ours[name] for name in theirs} == theirs


@pytest.mark.parametrize("init", ["kmeans", "k-means++", "random", "random_from_data"])
def test_starts(init):
    X = blobs()
    one = GaussianMixture(3, init_params=init, n_init=3, random_state=0).fit(X)
    again = GaussianMixture(3, init_params=init, n_init=3, random_state=0, n_jobs=2).fit(X)
    assert np.array_equal(one.means_, again.means_)
    ends = {}
    for start_, value in zip(one.history_["start"], one.history_["lower_bound"]):
        ends[start_] = value
    assert len(ends) == 3
    assert one.lower_bound_ == max(ends.values())
    assert one.lower_bounds_[-1] == one.lower_bound_
    assert len(one.lower_bounds_) == one.n_iter_


def test_warm_start_continues_last_fit():
    X = blobs()
    whole = GaussianMixture(**start(X, 3, "full"), tol=0, max_iter=12).fit(X)
    model = GaussianMixture(**start(X, 3, "full"), tol=0, max_iter=4, warm_start=True)
    for _ in range(3):
        model.fit(X)
    np.testing.assert_allclose(model.means_, whole.means_, atol=1e-10)


# --- theorems -----------------------------------------------------------------------------------------------------


@each_kind
@given(seed=st.integers(0, 2**20))
@settings(max_examples=8, deadline=None)
def test_likelihood_never_falls(kind, seed):
    X = blobs(n=80, d=2, seed=seed)
    for gaps in (False, True):
        data = with_gaps(X, 0.2, seed) if gaps else X
        model = GaussianMixture(**start(X, 2, kind), reg_covar=0, tol=0, max_iter=15).fit(data)
        assert np.diff(model.lower_bounds_).min() >= -1e-9


def test_one_component_is_the_mean_and_the_biased_covariance():
    X = blobs()
    model = GaussianMixture(reg_covar=0, max_iter=1).fit(X)
    np.testing.assert_allclose(model.means_[0], X.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(model.covariances_[0], np.cov(X.T, bias=True), atol=1e-12)
    np.testing.assert_allclose(model.precisions_[0] @ model.covariances_[0], np.eye(3), atol=1e-10)


def test_moments_of_the_mixture_are_those_of_the_rows():
    X = blobs()
    model = GaussianMixture(**start(X, 3, "full"), reg_covar=0, max_iter=1).fit(X)
    np.testing.assert_allclose(model.weights_.sum(), 1)
    np.testing.assert_allclose(model.weights_ @ model.means_, X.mean(axis=0), atol=1e-10)
    second = sum(
        a * (S + np.outer(m, m)) for a, m, S in zip(model.weights_, model.means_, model.covariances_)
    )
    np.testing.assert_allclose(second, X.T @ X / len(X), atol=1e-9)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)


def test_density():
    X = blobs(n=50)
    model = GaussianMixture(2, random_state=0).fit(X)
    by_scipy = sum(
        a * multivariate_normal(m, S).pdf(X)
        for a, m, S in zip(model.weights_, model.means_, model.covariances_)
    )
    np.testing.assert_allclose(np.exp(model.score_samples(X)), by_scipy, rtol=1e-9)


@given(seed=st.integers(0, 2**20), k=st.integers(1, 4), d=st.integers(1, 4))
@settings(max_examples=20, deadline=None)
def test_a_pass_is_a_step_of_the_book(seed, k, d):
    """The matrix products of the engine against EM in plain form."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, d)) + 3 * rng.integers(0, 3, size=(60, 1))
    roots = rng.normal(size=(k, d, d))
    covariances = roots @ roots.transpose(0, 2, 1) + 0.5 * np.eye(d)
    weights, means = rng.dirichlet(np.full(k, 5.0)), X[rng.choice(60, k, replace=False)]
    step = gaussian_mixture_step(X, weights, means, covariances)
    options = {"weights_init": weights, "means_init": means, "precisions_init": np.linalg.inv(covariances)}
    model = GaussianMixture(k, **options, reg_covar=0, tol=0, max_iter=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X)
    np.testing.assert_allclose(model.lower_bound_ * 60, step.log_likelihood, rtol=1e-9)
    np.testing.assert_allclose(model.weights_, step.weights, rtol=1e-8)
    np.testing.assert_allclose(model.means_, step.means, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(model.covariances_, step.covariances, rtol=1e-7, atol=1e-8)
    after = gaussian_mixture_step(X, *step[:3])
    assert after.log_likelihood >= step.log_likelihood - 1e-9
    np.testing.assert_allclose(model.predict_proba(X), after.responsibilities, atol=1e-8)


@each_kind
def test_both_ways_to_the_statistics_agree(kind):
    X = blobs(n=500, d=4)
    model = GaussianComponents(kind, 3, 4)
    theta = GaussianMixture(**start(X, 3, kind), max_iter=3).fit(X)._theta()
    shares = np.random.default_rng(0).random((3, 500))
    table = model._table(X, theta)
    assert table is not None
    np.testing.assert_allclose(
        model._by_table(table, theta), model._by_differences(X, theta), rtol=1e-10, atol=1e-10
    )
    for one, other in zip(model._sums(table, shares, theta), model.statistics(X, shares, theta)):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)
    back = model.recall(model.maximise(model.statistics(X, shares, theta), theta), shares.sum())
    again = model.maximise(back, model.maximise(model.statistics(X, shares, theta), theta))
    np.testing.assert_allclose(again.covariances, model.maximise(back, again).covariances, rtol=1e-9)


@each_kind
def test_tiny_clusters_far_apart_keep_their_digits(kind):
    rng = np.random.default_rng(0)
    noise = 1e-3 * rng.standard_normal((400, 2))
    centre = 1e5 * np.repeat([[0.0, 0], [1, 2]], 200, axis=0)
    model = GaussianMixture(2, covariance_type=kind, reg_covar=0, random_state=0).fit(centre + noise)
    near = GaussianMixture(2, covariance_type=kind, reg_covar=0, random_state=0).fit(centre * 1e-5 + noise)
    np.testing.assert_allclose(model.covariances_, near.covariances_, rtol=1e-5)


def test_hard_em_is_monotone_and_ends_in_a_partition():
    X = blobs(spread=6.0)
    model = GaussianMixture(**start(X, 3, "full"), algorithm="hard", reg_covar=0, tol=0, max_iter=50).fit(X)
    assert np.diff(model.lower_bounds_).min() >= -1e-10
    labels = model.predict(X)
    for c in np.unique(labels):
        np.testing.assert_allclose(model.means_[c], X[labels == c].mean(axis=0), atol=1e-8)


@each_kind
def test_priors(kind):
    X = blobs(n=60)
    prior = {"weight_prior": 2.0, "covariance_prior": [1.0, 2.0, 3.0], "covariance_prior_count": 8.0}
    model = GaussianMixture(**start(X, 3, kind), reg_covar=0, tol=0, max_iter=20, **prior).fit(X)
    assert np.diff(model.lower_bounds_).min() >= -1e-10
    one = GaussianMixture(covariance_type=kind, reg_covar=0, **prior).fit(X)
    spread, believed = np.cov(X.T, bias=True), np.diag([1.0, 2.0, 3.0])
    expected = (60 * spread + 8 * believed) / 68
    shape = {"full": expected[None], "tied": expected, "diag": np.diag(expected)[None]}
    np.testing.assert_allclose(one.covariances_, shape.get(kind, [np.trace(expected) / 3]), rtol=1e-9)
    strong = GaussianMixture(**start(X, 3, kind), weight_prior=1e9).fit(X)
    np.testing.assert_allclose(strong.weights_, 1 / 3, atol=1e-6)


# --- weights, gaps, batches ---------------------------------------------------------------------------------------


@each_kind
@pytest.mark.parametrize("gaps", [False, True])
def test_weights_are_repetitions(kind, gaps):
    X = with_gaps(blobs(n=90)) if gaps else blobs(n=90)
    weight = np.random.default_rng(0).integers(0, 4, size=90)
    options = {"n_components": 3, "covariance_type": kind, "random_state": 0, "max_iter": 15, "tol": 0}
    one = GaussianMixture(**options).fit(X, sample_weight=weight)
    many = np.repeat(X, weight, axis=0)
    other = GaussianMixture(**options).fit(many)
    for name in LEARNED:
        np.testing.assert_allclose(
            getattr(one, name), getattr(other, name), rtol=1e-6, atol=1e-8, err_msg=name
        )
    assert one.score(X, sample_weight=weight) == pytest.approx(other.score(many))
    assert one.bic(X, sample_weight=weight) == pytest.approx(other.bic(many))
    assert one.labels_.shape == (90,)


@pytest.mark.parametrize("scale", [1e-20, 1e20])
def test_scale_of_weights_does_not_matter(scale):
    X = blobs(n=90)
    one = GaussianMixture(3, random_state=0).fit(X)
    other = GaussianMixture(3, random_state=0).fit(X, sample_weight=np.full(90, scale))
    np.testing.assert_allclose(one.covariances_, other.covariances_, rtol=1e-9)
    assert one.lower_bound_ == pytest.approx(other.lower_bound_)


@each_kind
def test_gaps_are_marginalised(kind):
    X = with_gaps(blobs())
    model = GaussianMixture(2, covariance_type=kind, random_state=0).fit(X)
    matrices = model._theta().matrices
    for row, likelihood, proba in zip(X[:60], model.score_samples(X[:60]), model.predict_proba(X[:60])):
        here = ~np.isnan(row)
        joint = model.weights_ * [
            multivariate_normal(m[here], S[np.ix_(here, here)]).pdf(row[here]) if here.any() else 1.0
            for m, S in zip(model.means_, matrices)
        ]
        assert likelihood == pytest.approx(np.log(joint.sum()), abs=1e-9)
        np.testing.assert_allclose(proba, joint / joint.sum(), atol=1e-9)


@each_kind
def test_a_pass_over_gaps_by_hand(kind):
    """The E step by conditional Gaussians, row by row; the M step by averages."""
    X = with_gaps(blobs(n=40), 0.4)
    options = start(X, 2, kind)
    model = GaussianMixture(**options, reg_covar=0, max_iter=1).fit(X)
    k, d = 2, 3
    counts, sums, products = np.zeros(k), np.zeros((k, d)), np.zeros((k, d, d))
    means, joint, filled, spread = options["means_init"], np.empty(k), np.empty((k, d)), np.empty((k, d, d))
    for row in X:
        o, m = np.flatnonzero(~np.isnan(row)), np.flatnonzero(np.isnan(row))
        for c in range(k):
            S = np.eye(d)
            joint[c] = 0.5 * (
                multivariate_normal(means[c][o], S[np.ix_(o, o)]).pdf(row[o]) if o.size else 1.0
            )
            regression = S[np.ix_(m, o)] @ np.linalg.inv(S[np.ix_(o, o)])
            filled[c, o], filled[c, m] = row[o], means[c][m] + regression @ (row[o] - means[c][o])
            spread[c] = 0.0
            spread[c][np.ix_(m, m)] = S[np.ix_(m, m)] - regression @ S[np.ix_(o, m)]
        share = joint / joint.sum()
        counts += share
        sums += share[:, None] * filled
        products += share[:, None, None] * (filled[:, :, None] * filled[:, None] + spread)
    expected = sums / counts[:, None]
    scatter = products - counts[:, None, None] * expected[:, :, None] * expected[:, None]
    own = scatter / counts[:, None, None]
    diagonal = np.diagonal(own, axis1=1, axis2=2)
    covariances = {
        "full": own,
        "tied": scatter.sum(axis=0) / 40,
        "diag": diagonal,
        "spherical": diagonal.mean(axis=1),
    }
    np.testing.assert_allclose(model.weights_, counts / 40, atol=1e-10)
    np.testing.assert_allclose(model.means_, expected, atol=1e-9)
    np.testing.assert_allclose(model.covariances_, covariances[kind], atol=1e-9)


def test_gaps_of_one_column_have_a_closed_form():
    """Missing or not depends on the other column, so dropping rows, or filling in means, would bend the answer;
    the maximum likelihood is that of the first column, and of the second one's regression on it."""
    rng = np.random.default_rng(0)
    X = rng.multivariate_normal([1, -1], [[2.0, 1.5], [1.5, 2.0]], size=1000)
    X[X[:, 0] > 1, 1] = np.nan
    model = GaussianMixture(tol=1e-12, max_iter=2000, reg_covar=0).fit(X)
    pairs = X[~np.isnan(X[:, 1])]
    inside = np.cov(pairs.T, bias=True)
    mean, variance, slope = X[:, 0].mean(), X[:, 0].var(), inside[0, 1] / inside[0, 0]
    rest = inside[1, 1] - slope * inside[0, 1]
    expected = [[variance, slope * variance], [slope * variance, rest + slope**2 * variance]]
    np.testing.assert_allclose(model.covariances_[0], expected, atol=1e-4)
    other = pairs[:, 1].mean() + slope * (mean - pairs[:, 0].mean())
    np.testing.assert_allclose(model.means_[0], [mean, other], atol=1e-4)


def test_rows_without_any_value_change_nothing():
    X = blobs(n=60)
    empty = np.vstack([X, np.full((20, 3), np.nan)])
    options = start(X, 2, "full") | {"max_iter": 5, "tol": 0}
    one, other = GaussianMixture(**options).fit(X), GaussianMixture(**options).fit(empty)
    theta = GaussianMixture(**options).set_params(max_iter=0).fit(X)
    np.testing.assert_allclose(theta.score_samples(empty[-1:]), 0, atol=1e-12)
    assert one.n_iter_ == other.n_iter_
    with pytest.raises(ValueError, match=r"no known value in the columns \[1\]"):
        GaussianMixture(2).fit(np.column_stack([X[:, 0], np.full(60, np.nan)]))


def test_batches():
    X = blobs(n=6000, spread=8.0)
    options = start(X, 3, "full") | {"means_init": None, "random_state": 0}
    model = GaussianMixture(**options)
    for batch in np.split(X, 12):
        model.partial_fit(batch)
    assert model.n_batches_ == 12
    assert model.seen_weight_ == 6000
    whole = GaussianMixture(**options).fit(X)
    assert model.score(X) > whole.score(X) - 0.01
    same = GaussianMixture(**options, weight_prior=1.0, covariance_prior=1.0).fit(X)
    before = same.covariances_.copy()
    same.partial_fit(X)  # at a fixed point nothing moves far
    np.testing.assert_allclose(same.covariances_, before, atol=0.02)


# --- n_jobs, precision, hard data ---------------------------------------------------------------------------------


@pytest.mark.parametrize("gaps", [False, True])
@each_kind
def test_same_bits_for_any_n_jobs(kind, gaps):
    X = blobs(n=9000, d=6)
    X = with_gaps(X, 0.02) if gaps else X
    models = [
        GaussianMixture(4, covariance_type=kind, max_iter=3, random_state=0, n_jobs=jobs).fit(X)
        for jobs in (1, 2, 5)
    ]
    for model in models[1:]:
        assert all(
            np.array_equal(getattr(model, name), getattr(models[0], name)) for name in [*LEARNED, "labels_"]
        )
        assert np.array_equal(model.score_samples(X), models[0].score_samples(X))


@each_kind
def test_float32(kind):
    X = blobs()
    double, single = (
        GaussianMixture(**start(X, 3, kind), max_iter=5).fit(Z) for Z in (X, X.astype(np.float32))
    )
    for name in LEARNED:
        assert getattr(single, name).dtype == np.float32
        np.testing.assert_allclose(getattr(single, name), getattr(double, name), rtol=1e-3, atol=1e-4)
    assert single.predict_proba(X.astype(np.float32)).dtype == np.float32


def test_too_few_rows():
    with pytest.raises(ValueError, match="n_samples >= n_components"):
        GaussianMixture(3).fit([[0.0], [1.0]])
    with pytest.raises(ValueError, match="n_samples >= n_components"):
        GaussianMixture(3).fit([[0.0], [1.0], [2.0]], sample_weight=[1, 1, 0])


def test_one_row():
    model = GaussianMixture().fit([[1.0, 2.0]])
    np.testing.assert_allclose(model.covariances_[0], 1e-6 * np.eye(2))
    with pytest.raises(ValueError, match=r"components \[0\] are singular"):
        GaussianMixture(reg_covar=0).fit([[1.0, 2.0]])


@each_kind
def test_singular_data(kind):
    """Equal rows, a column that does not vary, columns that depend on each other."""
    rng = np.random.default_rng(0)
    column = rng.standard_normal(40)
    X = np.column_stack([column, 2 * column, np.ones(40)])
    model = GaussianMixture(2, covariance_type=kind, random_state=0).fit(X)
    assert np.isfinite(model.score_samples(X)).all()
    same = GaussianMixture(3, covariance_type=kind, random_state=0).fit(np.ones((10, 2)))
    assert np.isfinite(same.predict_proba(np.ones((1, 2)))).all()
    with pytest.raises(ValueError, match=r"reg_covar.*singular"):
        GaussianMixture(1, covariance_type=kind, reg_covar=0).fit(np.ones((10, 2)))


def test_starving_components_are_reported():
    X = np.repeat([[0.0, 0.0], [1.0, 1.0]], 20, axis=0)
    far = {"weights_init": [0.5, 0.5], "means_init": [[0.5, 0.5], [1e4, 1e4]]}
    with pytest.warns(ConvergenceWarning, match=r"components \[1\] have starved"):
        GaussianMixture(2, **far, precisions_init=np.stack([np.eye(2)] * 2)).fit(X)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"weights_init": [0.5, 0.6]}, r"sum\(weights\) = 1.1"),
        ({"weights_init": [1.0]}, "should have the shape of .2,., but got .1,."),
        ({"weights_init": [1.5, -0.5]}, r"range \[0, 1\], but got min value -0.5"),
        ({"means_init": [[0.0]]}, "'means' should have the shape of"),
        ({"precisions_init": np.ones((2, 2))}, "precision' should have the shape of"),
        ({"precisions_init": -np.stack([np.eye(3)] * 2)}, "symmetric, positive-definite"),
        ({"covariance_prior": [1.0, 2.0]}, "covariance_prior must be"),
        ({"covariance_prior": -np.eye(3)}, "covariance_prior must be"),
        ({"covariance_type": "round"}, "covariance_type"),
    ],
)
def test_bad_starts(wrong, message):
    with pytest.raises(ValueError, match=message):
        GaussianMixture(2, **wrong).fit(blobs())


@each_kind
def test_sample(kind):
    X = blobs(spread=5.0)
    model = GaussianMixture(3, covariance_type=kind, random_state=0).fit(X)
    drawn, components = model.sample(40_000)
    np.testing.assert_allclose(np.bincount(components) / 40_000, model.weights_, atol=0.01)
    matrices = model._theta().matrices
    for c in range(3):
        rows = drawn[components == c]
        np.testing.assert_allclose(rows.mean(axis=0), model.means_[c], atol=0.1)
        np.testing.assert_allclose(np.cov(rows.T), matrices[c], atol=0.1 * np.abs(matrices[c]).max())
    with pytest.raises(ValueError, match="Invalid value for 'n_samples'"):
        model.sample(0)


def test_a_mixture_made_by_hand():
    model = GaussianMixture(2)
    model.weights_, model.means_ = np.array([0.5, 0.5]), np.array([[0.0, 0.0], [3.0, 0.0]])
    model.precisions_cholesky_ = np.stack([np.eye(2)] * 2)
    assert model.predict([[0.1, 0.0], [2.9, 0.0]]).tolist() == [0, 1]
    assert model.sample(5)[0].shape == (5, 2)


def test_verbose(capsys):
    GaussianMixture(2, verbose=1, verbose_interval=1, n_init=2, random_state=0).fit(blobs())
    said = capsys.readouterr().out
    assert "start 2" in said
    assert "pass 1: lower bound" in said


def test_convergence_is_reported():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        model = GaussianMixture(3, max_iter=1, random_state=0).fit(blobs())
    assert not model.converged_
    assert any("did not converge" in str(w.message) for w in seen)
    assert GaussianParameters is type(model._theta())


def test_warm_starts_of_one_pass_see_that_they_have_converged():
    X, model = blobs(), GaussianMixture(3, warm_start=True, max_iter=1, random_state=0)
    for _ in range(100):
        if model.fit(X).converged_:
            break
    assert model.converged_
    assert model.n_iter_ == 1


@each_kind
def test_tiny_components_are_reached_from_afar(kind):
    """A mean that moves by a billion times the size of its component leaves no digit of the variance."""
    rng = np.random.default_rng(0)
    parts = rng.normal(0, 1e-6, (50, 1)), rng.normal(1e3, 1e-6, (50, 1))
    options = start(np.concatenate(parts), 2, kind) | {"means_init": [[300.0], [700.0]], "reg_covar": 0.0}
    options["precisions_init"] = options["precisions_init"] * 1e-6
    model = GaussianMixture(**options, tol=1e-9, max_iter=300).fit(np.concatenate(parts))
    variances = np.array([part.var() for part in parts])
    expected = variances.mean() if kind == "tied" else variances
    np.testing.assert_allclose(model.covariances_.ravel(), expected, rtol=1e-6)


@pytest.mark.parametrize("d", [3, 45])
def test_parameters_changed_after_the_fit_do_no_harm(d):
    X = blobs(d=d)
    model = GaussianMixture(2, random_state=0).fit(X)
    shares = model.predict_proba(X)
    np.testing.assert_array_equal(model.set_params(n_components=5).predict_proba(X), shares)


@pytest.mark.parametrize("change", [{"n_components": 4}, {"covariance_type": "diag"}, {}])
def test_warm_starts_of_another_form_begin_anew(change):
    X = blobs()
    model = GaussianMixture(2, random_state=0, warm_start=True).fit(X).set_params(**change)
    rows = X if change else X[:, :2]
    fresh = GaussianMixture(**(model.get_params() | {"warm_start": False})).fit(rows)
    np.testing.assert_array_equal(model.fit(rows).means_, fresh.means_)


@pytest.mark.parametrize(("value", "dtype"), [(1e160, np.float64), (-1e160, np.float64), (1e20, np.float32)])
@pytest.mark.parametrize("gap", [False, True])
def test_values_too_large_to_square_are_named(value, dtype, gap):
    X = blobs().astype(dtype)
    X[5, 1] = value
    if gap:
        X[5, 0] = np.nan
    with pytest.raises(
        ValueError, match=rf"squares are too large .* column 1 has {value:g}".replace("+", "[+]")
    ):
        GaussianMixture(2).fit(X)
    weight = np.ones(len(X))
    weight[5] = 0
    assert np.isfinite(GaussianMixture(2, random_state=0).fit(X, sample_weight=weight).means_).all()


@each_kind
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_rows_out_of_all_reach(kind):
    X = blobs()
    model = GaussianMixture(2, covariance_type=kind, random_state=0).fit(X)
    far = np.array([[1e160, -1e160, 1.0], [1e160, np.nan, 1.0]])
    np.testing.assert_array_equal(model.score_samples(far), -np.inf)
    np.testing.assert_array_equal(model.predict_proba(far), 0.5)
    likelihood, counts, *_ = model._components(3).expect((far[1:], None), model._theta())
    assert likelihood == -np.inf
    np.testing.assert_array_equal(counts, 0.5)


@pytest.mark.parametrize("init", ["kmeans", "k-means++", "random_from_data"])
def test_rows_without_any_value_take_no_part_in_the_start(init):
    X = blobs(n=60)
    empty = np.vstack([X, np.full((40, 3), np.nan)])
    options = {"init_params": init, "max_iter": 0, "random_state": 0}
    one, other = GaussianMixture(3, **options).fit(X), GaussianMixture(3, **options).fit(empty)
    np.testing.assert_allclose(other.covariances_, one.covariances_)
    np.testing.assert_allclose(other.means_, one.means_)
    with pytest.raises(ValueError, match="n_components=3, n_samples=2 with a value"):
        GaussianMixture(3, **options).fit(empty[58:])


def test_one_weight_for_all_rows():
    X = blobs()
    model = GaussianMixture(2, random_state=0).fit(X)
    for criterion in (model.bic, model.aic):
        assert criterion(X, sample_weight=2.0) == pytest.approx(criterion(np.repeat(X, 2, axis=0)))


def test_the_start_is_silent():
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        GaussianMixture(2, random_state=0).fit(np.ones((20, 2)))
        GaussianMixture(2, random_state=0, max_iter=1).fit(blobs())
    starved, slow = [str(warning.message) for warning in told]  # and nothing of k-means
    assert "starved" in starved
    assert "Try different init parameters" in slow
