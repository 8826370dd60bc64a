"""Gaussian emissions: agreement with hmmlearn, missing values, labels, degenerate data."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hmmlearn import hmm as peer
from scipy import stats

from tercet.sequence.hmm.gaussian_hmm import GaussianHMM

KINDS = ["spherical", "diag", "full", "tied"]
LENGTHS = [60, 1, 25, 64]
TABLES = ("startprob_", "transmat_", "means_")
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def given(model, kind, rng, n=3, d=3):
    """Set a start by hand, as users of hmmlearn do."""
    roots = rng.normal(size=(n, d, d))
    full = roots @ roots.transpose(0, 2, 1) + np.eye(d)
    covars = {"spherical": full[:, 0, 0], "diag": full[:, 0] ** 2 + 0.5, "full": full, "tied": full[0]}
    model.startprob_, model.transmat_ = rng.dirichlet(np.ones(n)), rng.dirichlet(np.ones(n), size=n)
    model.means_, model.covars_ = 2 * rng.normal(size=(n, d)), covars[kind]
    return model


def pair(kind, **options):
    options = {"init_params": "", "tol": -np.inf, "covars_prior": 0.0, **options}
    return [
        given(cls(3, kind, **options), kind, np.random.default_rng(3))
        for cls in (GaussianHMM, peer.GaussianHMM)
    ]


@pytest.fixture
def X(rng):
    states = np.repeat(rng.integers(3, size=30), 5)
    return rng.normal(size=(150, 3)) + 2 * np.eye(3)[states]


@pytest.mark.parametrize("kind", KINDS)
def test_scores_paths_and_posteriors_as_hmmlearn(kind, X):
    ours, theirs = pair(kind)
    assert ours.score(X, LENGTHS) == pytest.approx(theirs.score(X, LENGTHS), abs=1e-9)
    assert np.allclose(ours.predict_proba(X, LENGTHS), theirs.predict_proba(X, LENGTHS), atol=1e-10)
    for algorithm in ("viterbi", "map"):
        (a, path), (b, other) = (m.decode(X, LENGTHS, algorithm=algorithm) for m in (ours, theirs))
        assert a == pytest.approx(b, abs=1e-9)
        assert np.array_equal(path, other)
    assert np.allclose(ours.covars_, theirs.covars_)
    assert ours.aic(X, LENGTHS) == pytest.approx(theirs.aic(X, LENGTHS))
    assert ours.bic(X, LENGTHS) == pytest.approx(theirs.bic(X, LENGTHS))


@pytest.mark.parametrize("priors", [False, True])
@pytest.mark.parametrize("passes", [1, 10])
@pytest.mark.parametrize("kind", KINDS)
def test_fits_as_hmmlearn_from_the_same_start(kind, passes, priors, X):
    options = {}
    if priors:  # of matrices hmmlearn adds a plain number to every entry, off the diagonal too
        scatter = 0.3 if kind in ("spherical", "diag") else 0.3 * np.eye(3)
        options = {"means_prior": 0.5, "means_weight": 2.0, "covars_weight": 6, "covars_prior": scatter}
        options |= {"startprob_prior": 1.5, "transmat_prior": 2.0}
    ours, theirs = pair(kind, n_iter=passes, **options)
    ours.fit(X, LENGTHS)
    theirs.fit(X, LENGTHS)
    short = theirs._covars_[:, 0] if kind == "spherical" else theirs._covars_
    for name, value in [("_covars_", short), *((name, getattr(theirs, name)) for name in TABLES)]:
        assert np.allclose(getattr(ours, name), value, rtol=1e-8, atol=1e-10), name


@pytest.mark.parametrize("params", ["st", "m", "mc", "stmc"])
def test_only_what_params_name_is_learned(params, X):
    ours, theirs = pair("diag", n_iter=3, params=params)
    before = {name: np.array(getattr(ours, name)) for name in (*TABLES, "_covars_")}
    ours.fit(X, LENGTHS)
    theirs.fit(X, LENGTHS)
    for letter, name in zip("stmc", (*TABLES, "_covars_")):
        assert np.allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-8)
        assert np.array_equal(getattr(ours, name), before[name]) == (letter not in params)


def test_covariances_about_means_that_stay(X):
    """(hmmlearn forgets to count the rows when the means are not learned.)"""
    model = pair("diag", n_iter=1, params="c")[0]
    weight = model.predict_proba(X, LENGTHS)
    expected = (
        np.einsum("ti,tij->ij", weight, (X[:, None, :] - model.means_) ** 2) / weight.sum(axis=0)[:, None]
    )
    assert np.allclose(model.fit(X, LENGTHS)._covars_, expected)


@pytest.mark.parametrize("kind", KINDS)
def test_all_paths_of_a_short_chain(kind, rng):
    model = given(GaussianHMM(3, kind), kind, rng)
    X = rng.normal(size=(4, 3))
    X[1, 0], X[2] = np.nan, np.nan
    like = np.ones((4, 3))
    for t, i in itertools.product(range(4), range(3)):
        seen = ~np.isnan(X[t])
        if seen.any():
            part = model.covars_[i][np.ix_(seen, seen)]
            like[t, i] = stats.multivariate_normal(model.means_[i, seen], part).pdf(X[t, seen])
    weights = {}
    for path in itertools.product(range(3), repeat=4):
        weights[path] = model.startprob_[path[0]] * like[0, path[0]]
        for t in range(1, 4):
            weights[path] *= model.transmat_[path[t - 1], path[t]] * like[t, path[t]]
    total = sum(weights.values())
    assert model.score(X) == pytest.approx(np.log(total))
    best, path = model.decode(X)
    assert tuple(path) == max(weights, key=weights.get)
    assert best == pytest.approx(np.log(max(weights.values())))
    posterior = [
        [sum(w for p, w in weights.items() if p[t] == i) / total for i in range(3)] for t in range(4)
    ]
    assert np.allclose(model.predict_proba(X), posterior)
    assert np.allclose(GaussianHMM.predict_proba(_by_logs(model), X), posterior)


def _by_logs(model):
    twin = GaussianHMM(3, model.covariance_type, implementation="log")
    twin.startprob_, twin.transmat_, twin.means_ = model.startprob_, model.transmat_, model.means_
    twin.covars_ = model.covars_  # in the long form in which it is read
    return twin


@pytest.mark.parametrize("priors", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("gaps", [0.0, 0.3])
def test_the_objective_never_falls(kind, gaps, priors, X, rng):
    X = np.where(rng.random(X.shape) < gaps, np.nan, X)
    X[7] = np.nan
    options = {"covars_prior": 0.0, "covars_weight": 0.0}
    if priors:
        options = {"means_prior": 1.0, "means_weight": 3.0, "covars_prior": 0.7, "covars_weight": 9.0}
    model = given(GaussianHMM(3, kind, n_iter=15, tol=-np.inf, init_params="", **options), kind, rng)
    first = model.score(X, LENGTHS)
    history = np.array(model.fit(X, LENGTHS).monitor_.history)
    assert len(history) == 15
    assert (np.diff(history) > -1e-9).all()
    if not priors:
        assert history[0] == pytest.approx(first)
        assert model.score(X, LENGTHS) > history[-1] > first


@pytest.mark.parametrize("kind", KINDS)
def test_missing_values_climb_to_the_likelihood_of_what_was_seen(kind, rng):
    """One state: the maximum of the observed likelihood, where its gradient vanishes."""
    root = np.array([[1.0, 0, 0], [0.8, 0.6, 0], [0.2, -0.5, 1.2]])
    X = rng.normal(size=(200, 3)) @ root.T + [1, 2, 3]
    X[rng.random(X.shape) < 0.25] = np.nan
    model = GaussianHMM(1, kind, n_iter=400, tol=1e-10, covars_prior=0.0, covars_weight=0.0).fit(X)
    top, short = model.score(X), model._covars_
    assert model.converged_
    for step in (1e-3, -1e-3):
        for j in range(3):
            model.means_[0, j] += step
            assert model.score(X) < top
            model.means_[0, j] -= step
        model._covars_ = short * (1 + step)
        assert model.score(X) < top
        model._covars_ = short


def test_a_column_that_is_never_seen_changes_nothing(X, rng):
    wide = np.column_stack([X, np.full(len(X), np.nan)])
    for kind in ("diag", "full"):
        narrow = given(
            GaussianHMM(3, kind, n_iter=4, tol=-np.inf, init_params="", covars_prior=0.0), kind, rng
        )
        broad = GaussianHMM(3, kind, n_iter=4, tol=-np.inf, init_params="", covars_prior=0.0)
        broad.startprob_, broad.transmat_ = narrow.startprob_, narrow.transmat_
        broad.means_ = np.column_stack([narrow.means_, [1.0, 2.0, 3.0]])
        covars = np.tile(np.eye(4), (3, 1, 1))
        covars[:, :3, :3] = narrow.covars_
        broad.covars_ = covars
        assert broad.score(wide, LENGTHS) == pytest.approx(narrow.score(X, LENGTHS), abs=1e-10)
        narrow.fit(X, LENGTHS)
        broad.fit(wide, LENGTHS)
        assert np.allclose(broad.means_[:, :3], narrow.means_)
        assert np.allclose(broad.covars_[:, :3, :3], narrow.covars_)
        assert np.allclose(broad.means_[:, 3], [1.0, 2.0, 3.0])


@pytest.mark.parametrize("kind", KINDS)
def test_known_states_are_averaged(kind, X, rng):
    y = rng.integers(3, size=150)
    model = GaussianHMM(covariance_type=kind, covars_prior=0.0).fit(X, y, LENGTHS)
    means = np.array([X[y == i].mean(axis=0) for i in range(3)])
    full = np.array([np.cov(X[y == i].T, ddof=0) for i in range(3)])
    tied = np.cov((X - means[y]).T, ddof=0) * np.ones((3, 1, 1))
    diag = np.array([np.diag(np.diag(c)) for c in full])
    spherical = np.array([np.eye(3) * np.trace(c) / 3 for c in full])
    expected = {"full": full, "tied": tied, "diag": diag, "spherical": spherical}[kind]
    assert np.allclose(model.means_, means)
    assert np.allclose(model.covars_, expected)
    assert not hasattr(model, "n_iter_")


@pytest.mark.parametrize("kind", ["spherical", "diag", "full"])
def test_known_states_and_missing_values(kind, X, rng):
    """Each state by itself: the fit of its own rows with one state."""
    X = np.where(rng.random(X.shape) < 0.2, np.nan, X)
    y = np.repeat(["a", "b"], 75)
    options = {
        "covariance_type": kind,
        "covars_prior": 0.0,
        "covars_weight": 0.0,
        "n_iter": 300,
        "tol": 1e-11,
    }
    model = GaussianHMM(**options).fit(X, y)
    for i, name in enumerate("ab"):
        alone = GaussianHMM(1, **options).fit(X[y == name])
        assert np.allclose(model.means_[i], alone.means_[0], atol=1e-4)
        assert np.allclose(model.covars_[i], alone.covars_[0], atol=1e-4)


def test_some_labels_lead_the_way(rng):
    states = np.repeat(np.tile([0, 1], 20), 10)
    X = rng.normal(size=(400, 2)) + 4.0 * states[:, None]
    y = np.full(400, None, dtype=object)
    y[:10], y[10:20] = "high", "low"  # names in an order of their own
    X[:10], X[10:20] = X[10:20].copy(), X[:10].copy()
    model = GaussianHMM(random_state=0, n_iter=30).fit(X, y)
    assert model.classes_.tolist() == ["high", "low"]
    assert model.means_[0].min() > 3 > 1 > model.means_[1].max()
    assert (model.predict(X)[20:] == np.where(states[20:], "high", "low")).mean() > 0.98


@pytest.mark.parametrize("kind", KINDS)
def test_a_weight_of_two_is_the_sequence_twice(kind, X):
    cut = [X[:60], X[60:61], X[61:86], X[86:]]
    for options in ({}, {"init_params": "stmc", "random_state": 0}):
        once, twice = (
            pair(kind, n_iter=3, covars_prior=0.1, **options)[0],
            pair(kind, n_iter=3, covars_prior=0.1)[0],
        )
        if options:
            once, twice = GaussianHMM(1, kind), GaussianHMM(1, kind)
        once.fit(cut, sample_weight=[1, 2, 0, 2])
        twice.fit([cut[0], cut[1], cut[1], cut[3], cut[3]])
        for name in (*TABLES, "_covars_"):
            assert np.allclose(getattr(once, name), getattr(twice, name), rtol=1e-10), name


def test_threads_do_not_change_a_bit(rng):
    X = rng.normal(size=(20_000, 3)) + np.repeat(rng.integers(3, size=200), 100)[:, None]
    X[rng.random(X.shape) < 0.01] = np.nan
    for kind in ("diag", "full"):
        fits = [
            GaussianHMM(3, kind, random_state=0, n_iter=2, tol=0, n_jobs=k).fit(X, [100] * 200)
            for k in (1, 2)
        ]
        assert np.array_equal(fits[0].means_, fits[1].means_)
        assert np.array_equal(fits[0].covars_, fits[1].covars_)


@pytest.mark.parametrize("kind", KINDS)
def test_far_from_the_origin(kind, X):
    near, far = (GaussianHMM(3, kind, random_state=0, n_iter=8, tol=-np.inf) for _ in range(2))
    near.fit(X, LENGTHS)
    far.fit(X + 1e6, LENGTHS)
    assert np.allclose(far.means_ - 1e6, near.means_, atol=1e-5)
    assert np.allclose(far.covars_, near.covars_, rtol=1e-5, atol=1e-6)
    assert far.score(X + 1e6, LENGTHS) == pytest.approx(near.score(X, LENGTHS), abs=1e-3)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("prior", [0.0, 1e-2])
def test_degenerate_data(kind, prior, rng):
    options = {"covariance_type": kind, "covars_prior": prior, "random_state": 0}
    one = GaussianHMM(1, **options).fit([[1.0, 2.0]])
    assert np.allclose(one.means_, [[1.0, 2.0]])
    assert np.isfinite(one.score([[1.0, 2.0]]))
    constant = rng.normal(size=(40, 2))
    constant[:, 1] = 3.0
    spikes = np.repeat([[0.0, 0.0], [1.0, 5.0]], 20, axis=0)
    for X in (constant, spikes, spikes[:, :1]):
        model = GaussianHMM(2, **options).fit(X)
        assert np.isfinite(model.covars_).all()
        assert np.isfinite(model.score(X))
        assert (np.linalg.eigvalsh(model.covars_) > 0).all()
    single = GaussianHMM(2, **options).fit(spikes, lengths=[1] * 40)  # no transition was ever seen
    assert np.allclose(single.transmat_.sum(axis=1), 1)


@pytest.mark.parametrize("kind", KINDS)
def test_a_state_that_saw_next_to_nothing_stays(kind):
    """Its share of the row, 1e-309, is no number to divide by."""
    model = GaussianHMM(2, kind, init_params="", n_iter=3, tol=-np.inf)
    model.startprob_, model.transmat_ = np.full(2, 0.5), np.full((2, 2), 0.5)
    model.means_, model.covars_ = np.array([[0.0], [37.72]]), np.array([[[1.0]], [[1.0]]])
    model.fit([[0.0], [0.0]])
    assert np.isfinite(model.covars_).all()
    assert model.means_[1] == 37.72
    assert np.isfinite(model.score([[0.0]]))


def test_data_in_the_smallest_units():
    for kind in KINDS:
        model = GaussianHMM(2, kind, random_state=0).fit(1e-150 * np.arange(20.0)[:, None])
        assert np.isfinite(model.covars_).all()


def test_small_units_are_no_degenerate_data(X):
    """Returns of a share, say: a floor of 1e-3 would be far above their variance."""
    plain = GaussianHMM(3, random_state=0, covars_prior=0.0, tol=-np.inf).fit(X, LENGTHS)
    small = GaussianHMM(3, random_state=0, covars_prior=0.0, tol=-np.inf, min_covar=1e-7).fit(
        X * 1e-2, LENGTHS
    )
    assert np.allclose(small.covars_ * 1e4, plain.covars_, rtol=1e-2, atol=1e-2)
    assert np.diagonal(small.covars_, axis1=1, axis2=2).max() < 1e-3


@pytest.mark.parametrize("kind", KINDS)
def test_samples_have_the_moments_of_the_model(kind, rng):
    model = given(GaussianHMM(3, kind), kind, rng)
    X, states = model.sample(60_000, random_state=1)
    assert X.shape == (60_000, 3)
    for i in range(3):
        rows = X[states == i]
        spread = np.sqrt(np.diagonal(model.covars_[i]) / len(rows))
        assert (np.abs(rows.mean(axis=0) - model.means_[i]) < 5 * spread).all()
        assert np.allclose(np.cov(rows.T), model.covars_[i], atol=0.1 * np.trace(model.covars_[i]))


def test_given_parameters_are_checked(rng):
    X = rng.normal(size=(5, 3))
    for kind, covars, message in [
        ("diag", np.zeros((3, 3)), r"variances must be positive; covars_\[0, 0\] is 0"),
        ("spherical", [1.0, -1.0, 1.0], r"covars_\[1\] is -1"),
        ("spherical", [1.0, np.nan, 1.0], r"covars_\[1\] is nan"),
        ("full", np.ones((3, 3, 3)), r"covars_\[0\] is singular or worse"),
        ("tied", np.triu(np.ones((3, 3))), "must be symmetric"),
        ("diag", np.ones((2, 3)), r"must have the shape \(3, 3\); got \(2, 3\)"),
    ]:
        model = given(GaussianHMM(3, kind), kind, rng)
        model.covars_ = covars
        with pytest.raises(ValueError, match=message):
            model.score(X)
    model = given(GaussianHMM(3), "diag", rng)
    with pytest.raises(ValueError, match="X has 2 features, but the model knows 3"):
        model.score(X[:, :2])
    model.means_ = model.means_[:2]
    with pytest.raises(ValueError, match=r"means_ must be finite numbers of shape \(3, n_features\)"):
        model.predict(X)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_components": 9}, "n_components=9 states need as many rows"),
        ({"means_prior": [1.0, 2.0, 3.0]}, r"means_prior .* fits the shape \(2, 4\)"),
        ({"means_weight": [-1.0, 1.0]}, "means_weight must be finite and not less than 0"),
        ({"covariance_type": "round"}, "covariance_type"),
        ({"params": "stx"}, "params"),
    ],
)
def test_bad_parameters_are_named(options, message, rng):
    with pytest.raises(ValueError, match=message):
        GaussianHMM(**{"n_components": 2, **options}).fit(rng.normal(size=(8, 4)))


def test_float32_rows(X):
    a, b = (
        GaussianHMM(3, random_state=0, n_iter=3, tol=-np.inf).fit(X.astype(t), LENGTHS) for t in ("f4", "f8")
    )
    assert np.allclose(a.means_, b.means_, atol=1e-4)
    assert a.means_.dtype == np.float64


def test_a_fit_leaves_nothing_behind(X):
    model = GaussianHMM(2, random_state=0)
    before = set(vars(model))
    learned = {name for name in vars(model.fit(X)) if name not in before}
    assert [name for name in learned if not name.endswith("_")] == []
    assert model.n_features == 3
