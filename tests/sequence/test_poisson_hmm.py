"""Counts as emissions."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hmmlearn import hmm as peer
from scipy import stats

from tercet.sequence.hmm.poisson_hmm import PoissonHMM

LENGTHS = [60, 1, 25, 64]
TABLES = ("startprob_", "transmat_", "lambdas_")
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture
def rng():
    return np.random.default_rng(2)


@pytest.fixture
def X(rng):
    return rng.poisson(
        np.array([1.0, 5.0, 12.0])[np.repeat(rng.integers(3, size=30), 5)][:, None], size=(150, 2)
    )


def given(model, rng, n=3, d=2):
    model.startprob_, model.transmat_ = rng.dirichlet(np.ones(n)), rng.dirichlet(np.ones(n), size=n)
    model.lambdas_ = rng.uniform(1, 12, size=(n, d))
    return model


@pytest.mark.parametrize("passes", [1, 10])
def test_as_hmmlearn_from_the_same_start(passes, X):
    options = {"n_iter": passes, "tol": -np.inf, "init_params": ""}
    ours, theirs = (given(c(3, **options), np.random.default_rng(1)) for c in (PoissonHMM, peer.PoissonHMM))
    assert ours.score(X, LENGTHS) == pytest.approx(theirs.score(X, LENGTHS), abs=1e-9)
    assert np.array_equal(ours.predict(X, LENGTHS), theirs.predict(X, LENGTHS))
    assert ours.bic(X, LENGTHS) == pytest.approx(theirs.bic(X, LENGTHS))
    ours.fit(X, LENGTHS)
    theirs.fit(X, LENGTHS)
    for name in TABLES:
        assert np.allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-8)


def test_all_paths_of_a_short_chain(rng):
    model = given(PoissonHMM(3), rng)
    model.lambdas_[0, 1] = 0.0  # a state that gives only zeros there
    X = np.array([[3, 0], [0, 2], [np.nan, 0], [np.nan, np.nan]])
    like = np.where(np.isnan(X)[:, None, :], 1.0, stats.poisson.pmf(X[:, None, :], model.lambdas_)).prod(
        axis=2
    )
    total = 0.0
    for path in itertools.product(range(3), repeat=4):
        moves = np.prod(model.transmat_[path[:-1], path[1:]])
        total += model.startprob_[path[0]] * moves * np.prod(like[np.arange(4), path])
    assert model.score(X) == pytest.approx(np.log(total))
    assert model.predict_proba(X)[1, 0] == 0
    model.implementation = "log"
    assert model.score(X) == pytest.approx(np.log(total))


def test_a_prior_is_counts_seen_before(X):
    """One state: counts and rows add up. (hmmlearn divides by the rows of all states, not by those of each.)"""
    model = PoissonHMM(lambdas_prior=[[7.0, 1.0]], lambdas_weight=[[2.0, 0.0]]).fit(X)
    assert np.allclose(model.lambdas_, [[(X[:, 0].sum() + 7) / 152, (X[:, 1].sum() + 1) / 150]])
    y = np.repeat([0, 1], 75)
    model = PoissonHMM(lambdas_prior=7.0, lambdas_weight=2.0).fit(X, y)
    assert np.allclose(model.lambdas_, [(X[y == i].sum(axis=0) + 7) / 77 for i in range(2)])


@pytest.mark.parametrize("prior", [0.0, 3.0])
def test_the_objective_never_falls(prior, X, rng):
    holes = np.where(rng.random(X.shape) < 0.2, np.nan, X)
    model = PoissonHMM(
        3, lambdas_prior=prior, lambdas_weight=prior / 4, init_params="", n_iter=20, tol=-np.inf
    )
    history = np.array(given(model, rng).fit(holes, LENGTHS).monitor_.history)
    assert len(history) == 20
    assert (np.diff(history) > -1e-9).all()


def test_known_and_missing_counts(X):
    y = np.repeat(["a", "b", "c"], 50)
    model = PoissonHMM().fit(X, y)
    assert np.allclose(model.lambdas_, [X[y == name].mean(axis=0) for name in "abc"])
    holes = X.astype(float)
    holes[::3, 0] = np.nan
    model = PoissonHMM().fit(holes, y)
    assert np.allclose(model.lambdas_, [np.nanmean(holes[y == name], axis=0) for name in "abc"])


def test_states_are_found(rng):
    states = np.repeat(rng.integers(2, size=60), 10)
    X = rng.poisson(np.where(states, 15, 2)[:, None])
    model = PoissonHMM(2, random_state=0, n_iter=50, n_init=3).fit(X)
    low = model.lambdas_.ravel().argmin()
    assert np.allclose(np.sort(model.lambdas_.ravel()), [2, 15], rtol=0.1)
    assert ((model.predict(X) == low) == (states == 0)).mean() > 0.98


def test_degenerate_counts():
    for X in (np.zeros((10, 2)), np.full((10, 1), 4.0), np.array([[3.0]]), np.full((4, 1), np.nan)):
        model = PoissonHMM(2, random_state=0).fit(X)
        assert np.isfinite(model.lambdas_).all()
        assert np.isfinite(model.score(X))
    zeros = PoissonHMM(1).fit(np.zeros((10, 1)))
    assert zeros.score([[1.0]]) == -np.inf
    with pytest.raises(ValueError, match="sequence 1 has probability 0"):
        zeros.predict([[[0.0]], [[1.0]]])


def test_weights_threads_and_samples(X, rng):
    cut = [X[:60], X[60:61], X[61:]]
    once, twice = (given(PoissonHMM(3, init_params="", n_iter=4), np.random.default_rng(0)) for _ in range(2))
    once.fit(cut, sample_weight=[1, 2, 0])
    twice.fit([cut[0], cut[1], cut[1]])
    assert np.allclose(once.lambdas_, twice.lambdas_, rtol=1e-10)
    wide = rng.poisson(4, size=(10_000, 2))
    fits = [PoissonHMM(2, random_state=0, n_iter=2, n_jobs=k).fit(wide, [50] * 200) for k in (1, 2)]
    assert np.array_equal(fits[0].lambdas_, fits[1].lambdas_)
    model = given(PoissonHMM(3), rng)
    drawn, states = model.sample(30_000, random_state=0)
    for i in range(3):
        assert np.allclose(drawn[states == i].mean(axis=0), model.lambdas_[i], rtol=0.05)
        assert np.allclose(drawn[states == i].var(axis=0), model.lambdas_[i], rtol=0.08)


def test_bad_input_is_named(X, rng):
    with pytest.raises(ValueError, match="Negative values in data passed to PoissonHMM: -3"):
        PoissonHMM().fit([[1.0], [-3.0], [np.nan]])
    model = given(PoissonHMM(3), rng)
    with pytest.raises(ValueError, match="X has 1 features, but the model knows 2"):
        model.predict(X[:, :1])
    model.lambdas_[1, 0] = -1
    with pytest.raises(ValueError, match="lambdas_ must be finite, not negative"):
        model.score(X)
    with pytest.raises(ValueError, match="lambdas_prior"):
        PoissonHMM(3, lambdas_prior=[1.0, 2.0, 3.0, 4.0]).fit(X)


def test_a_state_that_saw_next_to_nothing_stays():
    """Counts of a prior divided by its share of the row, 1e-309, would be infinite."""
    model = PoissonHMM(2, init_params="", n_iter=2, tol=-np.inf, lambdas_prior=1.0)
    model.startprob_, model.transmat_ = np.full(2, 0.5), np.full((2, 2), 0.5)
    model.lambdas_ = np.array([[1.0], [712.0]])
    model.fit([[0.0], [0.0]])
    assert model.lambdas_[1] == 712.0
    assert np.isfinite(model.score([[0.0]]))


@pytest.mark.parametrize("implementation", ["log", "scaling"])
def test_posteriors_of_huge_counts_are_probabilities(implementation):
    X = np.array([[0.0, 1.0], [1.0, 2.0], [0.0, 0.0], [1.0, 1.0], [4.0, 9.0], [5.0, 8.0]])
    model = PoissonHMM(2, random_state=0, implementation=implementation).fit(X)
    posteriors = model.predict_proba(X * 1e18)
    np.testing.assert_allclose(posteriors.sum(axis=1), 1.0)
