"""All models of numbers on odd data: whatever comes in, finite parameters come out, and the objective climbs."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from tercet import EarlyStopping
from tercet.sequence import GMMHMM, GaussianHMM, PoissonHMM

KINDS = ["spherical", "diag", "full", "tied"]


def odd_data(rng):
    """Rows in any unit and place, rounded, constant, repeated or collinear, with or without holes."""
    n, d = rng.integers(4, 60), rng.integers(1, 5)
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-4, 5) + rng.choice([0, 1e3, 1e6])
    kind = rng.integers(6)
    if kind == 0:
        X = np.round(X)
    elif kind == 1:
        X[:, 0] = 3.0
    elif kind == 2:
        X = X[rng.integers(2, size=n)]
    elif kind == 3:
        X[:, -1] = 2 * X[:, 0]
    X[rng.random(X.shape) < rng.choice([0, 0, 0.1, 0.6])] = np.nan
    X[0] = X[0] if not np.isnan(X[0]).all() else 1.0
    cuts = np.unique(np.append(rng.integers(1, n, size=3), [0, n]))
    return X, np.diff(cuts)


@pytest.mark.parametrize("seed", range(40))
def test_odd_data(seed):
    rng = np.random.default_rng(seed)
    X, lengths = odd_data(rng)
    k, kind = int(rng.integers(1, 4)), str(rng.choice(KINDS))
    options = {"random_state": 0, "n_iter": int(rng.integers(2, 20))}
    least = float(rng.choice([0, 1e-3]))
    model = [
        GaussianHMM(k, kind, min_covar=least, covars_prior=float(rng.choice([0, 1e-2])), **options),
        GMMHMM(k, 2, covariance_type=kind, min_covar=least, **options),
        PoissonHMM(k, **options),
    ][seed % 3]
    X = np.abs(X) if isinstance(model, PoissonHMM) else X
    y = rng.integers(-1, k, size=len(X)) if rng.random() < 0.3 else None
    if (~np.isnan(X).all(axis=1)).sum() < k:
        X = np.nan_to_num(X, nan=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*did not converge")
        warnings.filterwarnings("ignore", message=".*degenerate")
        model.fit(X, y, lengths)
    posterior = model.predict_proba(X, lengths)
    assert np.isfinite(model.score(X, lengths=lengths))
    assert np.allclose(posterior.sum(axis=1), 1)
    for name in ("means_", "covars_", "weights_", "lambdas_"):
        assert np.isfinite(getattr(model, name, 0.0)).all(), name


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "model", [GaussianHMM(2), GMMHMM(2, 2), PoissonHMM(2)], ids=lambda m: type(m).__name__
)
def test_sequences_can_be_held_out(model):
    rng = np.random.default_rng(1)
    X = [np.abs(rng.normal(size=(20, 2)) + 5 * rng.integers(2, size=4).repeat(5)[:, None]) for _ in range(30)]
    model.set_params(n_iter=40, tol=-1, random_state=0).set_callbacks(EarlyStopping(patience=3)).fit(X)
    assert model.best_iter_ <= model.n_iter_ < 40
    assert [len(path) for path in model.predict(X)] == [20] * 30


@pytest.mark.parametrize(
    "model", [GaussianHMM(3), GMMHMM(3, 2), PoissonHMM(3)], ids=lambda m: type(m).__name__
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_states_in_order(model):
    rng = np.random.default_rng(2)
    X = [rng.poisson(np.repeat([1, 9, 25], 10))[:, None] for _ in range(20)]
    model.set_params(topology="left-right", n_iter=30, n_init=3, random_state=0).fit(X)
    assert np.array_equal(model.startprob_, [1, 0, 0])
    assert (model.transmat_[np.tril_indices(3, -1)] == 0).all()
    assert all((np.diff(path) >= 0).all() for path in model.predict(X))


def test_logarithms_do_not_round_posteriors_away():
    """Rows far from all states have log-likelihoods of -1e9, whose last digit is worth 1e-7."""
    rng = np.random.default_rng(0)
    X = 3e4 * rng.normal(size=(40, 2))
    models = [GaussianHMM(3, implementation=name) for name in ("scaling", "log")]
    for model in models:
        model.startprob_, model.transmat_ = np.full(3, 1 / 3), np.full((3, 3), 1 / 3)
        model.means_, model.covars_ = np.array([[0.0, 0.0], [1e-5, 0.0], [0.0, 1e-5]]), np.ones((3, 2))
    one, other = (model.predict_proba(X) for model in models)
    np.testing.assert_allclose(other.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(other, one, atol=1e-6)
    assert models[1].score(X) == pytest.approx(models[0].score(X), rel=1e-13)
