"""Mixtures of Gaussians as emissions."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hmmlearn import hmm as peer
from scipy import stats

from tercet.sequence.hmm.gaussian_hmm import GaussianHMM
from tercet.sequence.hmm.gmm_hmm import GMMHMM

KINDS = ["spherical", "diag", "full", "tied"]
LENGTHS = [30, 1, 15, 14]
TABLES = ("startprob_", "transmat_", "weights_", "means_", "covars_")
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture
def rng():
    return np.random.default_rng(11)


@pytest.fixture
def X(rng):
    part = np.repeat(rng.integers(4, size=12), 5)
    return rng.normal(size=(60, 2)) + 3 * np.array([[0, 0], [1, 0], [0, 1], [1, 1]])[part]


def given(model, rng, n=2, m=2, d=2):
    kind = model.covariance_type
    roots = rng.normal(size=(n, m, d, d))
    full = roots @ roots.transpose(0, 1, 3, 2) + np.eye(d)
    diag = np.diagonal(full, axis1=2, axis2=3).copy()
    model.startprob_, model.transmat_ = rng.dirichlet(np.ones(n)), rng.dirichlet(np.ones(n), size=n)
    model.weights_, model.means_ = rng.dirichlet(np.ones(m), size=n), 2 * rng.normal(size=(n, m, d))
    model.covars_ = {"spherical": diag[..., 0], "diag": diag, "full": full, "tied": full[:, 0]}[kind]
    return model


def pair(kind, **options):
    options = {"covariance_type": kind, "init_params": "", "tol": -np.inf, **options}
    return [given(cls(2, 2, **options), np.random.default_rng(5)) for cls in (GMMHMM, peer.GMMHMM)]


@pytest.mark.parametrize("kind", KINDS)
def test_scores_paths_and_posteriors_as_hmmlearn(kind, X):
    ours, theirs = pair(kind)
    assert ours.score(X, LENGTHS) == pytest.approx(theirs.score(X, LENGTHS), abs=1e-9)
    assert np.allclose(ours.predict_proba(X, LENGTHS), theirs.predict_proba(X, LENGTHS), atol=1e-10)
    assert np.array_equal(ours.predict(X, LENGTHS), theirs.predict(X, LENGTHS))


@pytest.mark.parametrize("priors", [False, True])
@pytest.mark.parametrize("params", ["stmw", "stcw"])
@pytest.mark.parametrize("kind", KINDS)
def test_fits_as_hmmlearn_where_means_or_covariances_stay(kind, params, priors, X):
    """(Where both move hmmlearn takes the covariances about the means of the pass before, which are not the most
    likely; and for "spherical" its prior of nothing takes away n_mix instead of n_features rows.)"""
    options = {"covars_prior": -2.0} if kind == "spherical" else {}
    if priors:
        scatter = 0.3 if kind in ("spherical", "diag") else 0.3 * np.eye(2)
        options = {"covars_prior": scatter, "covars_weight": 1.0, "weights_prior": 1.5}
        options |= {"means_prior": 0.5, "means_weight": 2.0}
    ours, theirs = pair(kind, n_iter=3, params=params, **options)
    ours.fit(X, LENGTHS)
    theirs.fit(X, LENGTHS)
    for name in TABLES:
        assert np.allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-8), name


@pytest.mark.parametrize("kind", KINDS)
def test_one_gaussian_a_state_is_a_gaussian_model(kind, X, rng):
    mixed = given(GMMHMM(3, 1, covariance_type=kind, init_params="", n_iter=6, tol=-np.inf), rng, n=3, m=1)
    plain = GaussianHMM(3, kind, init_params="", n_iter=6, tol=-np.inf, covars_prior=0.0, covars_weight=0.0)
    if kind == "tied":  # one matrix for the parts of a state: here, as good as full
        plain.covariance_type = "full"
    plain.startprob_, plain.transmat_, plain.means_ = mixed.startprob_, mixed.transmat_, mixed.means_[:, 0]
    plain.covars_ = mixed.covars_ if kind == "tied" else mixed.covars_[:, 0]
    X[3, 0] = X[9] = np.nan
    for model in (mixed, plain):
        model.fit(X, LENGTHS)
    assert np.allclose(mixed.means_[:, 0], plain.means_)
    assert np.allclose(mixed.transmat_, plain.transmat_)
    assert mixed.score(X, LENGTHS) == pytest.approx(plain.score(X, LENGTHS))


def test_all_paths_and_parts_of_a_short_chain(rng):
    model = given(GMMHMM(2, 2, covariance_type="full"), rng)
    X = rng.normal(size=(3, 2))
    X[1, 0] = np.nan
    total = 0.0
    for states, parts in itertools.product(itertools.product(range(2), repeat=3), repeat=2):
        weight = model.startprob_[states[0]] * np.prod(model.transmat_[states[:-1], states[1:]])
        for x, i, k in zip(X, states, parts):
            seen = ~np.isnan(x)
            covar = model.covars_[i, k][np.ix_(seen, seen)]
            weight *= model.weights_[i, k]
            weight *= stats.multivariate_normal(model.means_[i, k, seen], covar).pdf(x[seen])
        total += weight
    assert model.score(X) == pytest.approx(np.log(total))
    model.implementation = "log"
    assert model.score(X) == pytest.approx(np.log(total))


@pytest.mark.parametrize("priors", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_the_objective_never_falls(kind, priors, X, rng):
    X[rng.random(X.shape) < 0.1] = np.nan
    options = {}
    if priors:
        options = {"means_prior": 1.0, "means_weight": 3.0, "covars_prior": 0.7, "covars_weight": 2.0}
        options["weights_prior"] = 2.0
    model = GMMHMM(2, 2, covariance_type=kind, init_params="", n_iter=15, tol=-np.inf, **options)
    history = np.array(given(model, rng).fit(X, LENGTHS).monitor_.history)
    assert len(history) == 15
    assert (np.diff(history) > -1e-9).all()


@pytest.mark.parametrize("priors", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_ends_where_no_small_change_is_better(kind, priors, rng):
    """With missing values and weights: the gradient of likelihood and prior, by differences, is zero."""
    X = rng.normal(size=(200, 2)) + 3 * np.array([[0, 0], [1, 0], [0, 1], [1, 1]])[np.arange(200) // 10 % 4]
    X[rng.random(X.shape) < 0.1] = np.nan
    options = {"covariance_type": kind, "init_params": ""}
    if priors:
        options |= {"means_prior": 1.0, "means_weight": 2.0, "weights_prior": 2.0}
        options |= {"covars_prior": 1.5, "covars_weight": 3.0}
    data = {"X": X, "lengths": [100, 1, 50, 49], "sample_weight": [1.0, 3.0, 0.5, 2.0]}
    model = given(GMMHMM(2, 2, n_iter=2000, tol=1e-12, **options), rng).fit(**data)

    def value(name, change):
        moved = GMMHMM(2, 2, n_iter=1, **options)
        for table in TABLES:
            setattr(moved, table, getattr(model, table) + (change if table == name else 0.0))
        return moved.fit(**data).monitor_.history[0]

    for name in ("weights_", "means_", "covars_"):
        table = getattr(model, name)
        step = rng.normal(size=table.shape)
        if name == "weights_":
            step -= step.mean(axis=1, keepdims=True)
        if name == "covars_" and kind in ("full", "tied"):
            step = step + np.swapaxes(step, -1, -2)
        step *= 1e-4 * (1.0 if name == "means_" else np.abs(table).min() / np.abs(step).max())
        assert value(name, step) - value(name, -step) == pytest.approx(0, abs=1e-8), name
        assert value(name, step) + value(name, -step) - 2 * value(name, 0.0) < 1e-9, name


def test_known_states_leave_the_parts_hidden(rng):
    states = np.repeat([0, 1], 100)
    parts = rng.integers(2, size=200)
    X = rng.normal(size=(200, 1)) * 0.3 + (4.0 * parts + 20 * states)[:, None]
    model = GMMHMM(n_mix=2, random_state=0, n_iter=50).fit(X, np.where(states, "up", "down"))
    assert np.allclose(np.sort(model.means_[..., 0]), [[0, 4], [20, 24]], atol=0.2)
    assert np.allclose(np.sort(model.weights_[0]), np.sort(np.bincount(parts[:100]) / 100), atol=0.01)
    assert (model.predict(X) == np.where(states, "up", "down")).all()


def test_start_with_few_rows_and_a_seed(rng):
    X = rng.normal(size=(5, 2))
    fits = [GMMHMM(2, 3, random_state=4).fit(X) for _ in range(2)]
    assert np.isfinite(fits[0].score(X))
    assert np.array_equal(fits[0].means_, fits[1].means_)


def test_a_part_that_collapses_is_held(rng):
    """Without a prior a Gaussian on one single row would be infinitely likely."""
    X = np.vstack([rng.normal(size=(50, 2)), [[100.0, 100.0]]])
    for kind in KINDS:
        model = GMMHMM(1, 2, covariance_type=kind, random_state=0, n_iter=30).fit(X)
        assert np.isfinite(model.covars_).all()
        assert np.isfinite(model.score(X))


def test_weights_threads_and_lengths_of_one(rng):
    X = rng.normal(size=(30, 2))
    cut = [X[:20], X[20:21], X[21:]]
    once, twice = (given(GMMHMM(2, 2, init_params="", n_iter=4), np.random.default_rng(0)) for _ in range(2))
    once.fit(cut, sample_weight=[1, 2, 0])
    twice.fit([cut[0], cut[1], cut[1]])
    for name in TABLES:
        assert np.allclose(getattr(once, name), getattr(twice, name), rtol=1e-10)
    wide = rng.normal(size=(10_000, 2))
    fits = [GMMHMM(2, 2, random_state=0, n_iter=2, n_jobs=k).fit(wide, [50] * 200) for k in (1, 2)]
    assert np.array_equal(fits[0].means_, fits[1].means_)


@pytest.mark.parametrize("kind", KINDS)
def test_samples_have_the_moments_of_the_model(kind, rng):
    model = given(GMMHMM(2, 2, covariance_type=kind), rng)
    X, states = model.sample(40_000, random_state=1)
    for i in range(2):
        mean = model.weights_[i] @ model.means_[i]
        assert np.allclose(X[states == i].mean(axis=0), mean, atol=0.15)


def test_given_parameters_are_checked(rng):
    X = rng.normal(size=(5, 2))
    for name, value, message in [
        ("weights_", [[0.5, 0.4], [0.5, 0.5]], "weights_"),
        ("covars_", -np.ones((2, 2, 2)), "variances must be positive"),
        ("covars_", np.ones((2, 2)), r"must have the shape \(2, 2, 2\)"),
        ("means_", np.ones((2, 2)), r"means_ must be finite numbers of shape \(2, 2, n_features\)"),
    ]:
        model = given(GMMHMM(2, 2), rng)
        setattr(model, name, value)
        with pytest.raises(ValueError, match=message):
            model.score(X)


@pytest.mark.parametrize(("kind", "free"), [("spherical", 4), ("diag", 8), ("full", 12), ("tied", 6)])
def test_free_parameters(kind, free, X, rng):
    """Starts, transitions, weights (of each state, which hmmlearn counts once) and means: 1 + 2 + 2 + 8."""
    model = given(GMMHMM(2, 2, covariance_type=kind), rng)
    assert model.aic(X) == pytest.approx(2 * (13 + free) - 2 * model.score(X))
