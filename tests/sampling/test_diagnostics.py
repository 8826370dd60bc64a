"""Diagnostics against closed forms, plain sums, and numbers of the published definitions."""

import numpy as np
import pytest
from scipy.signal import lfilter

from tercet.sampling import Chains, autocorrelation, autocorrelation_time, ess, mcse, rhat


def ar1(rho, n_chains, n, seed=0):
    """Stationary chains x_t = rho x_{t-1} + noise of variance 1."""
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal((n_chains, n)) * np.sqrt(1 - rho**2)
    noise[:, 0] /= np.sqrt(1 - rho**2)
    return lfilter([1.0], [1.0, -rho], noise, axis=1)


def test_autocorrelation_is_the_plain_sum():
    x = np.random.default_rng(0).standard_normal((2, 50, 3)).cumsum(axis=1)
    found = autocorrelation(x, 10)
    centred = x - x.mean(axis=1, keepdims=True)
    for lag in range(11):
        wanted = (centred[:, : 50 - lag] * centred[:, lag:]).sum(axis=1) / (centred**2).sum(axis=1)
        np.testing.assert_allclose(found[:, lag], wanted, rtol=0, atol=1e-12)
    np.testing.assert_allclose(autocorrelation(x[0, :, 0], 10), found[0, :, 0], atol=1e-14)
    assert autocorrelation(x[:, :, 0]).shape == (2, 50)
    assert np.isnan(autocorrelation(np.full(10, 0.1))).all()


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9, -0.5])
def test_effective_sample_size_of_an_autoregressive_chain(rho):
    """tau = (1 + rho) / (1 - rho)."""
    x = ar1(rho, 8, 20_000)
    time = (1 + rho) / (1 - rho)
    assert autocorrelation_time(x) == pytest.approx(time, rel=0.08)
    assert ess(x, "mean") == pytest.approx(x.size / time, rel=0.08)
    assert ess(x) == pytest.approx(x.size / time, rel=0.08)
    assert mcse(x) == pytest.approx(np.sqrt(time / x.size), rel=0.05)
    if rho >= 0:
        assert autocorrelation_time(x, how="sokal") == pytest.approx(time, rel=0.08)
    assert rhat(x) < 1.01


def plain_time(chains):
    """Geyer's initial monotone sequence, lag by lag, as Vehtari et al. (2021) write it."""
    n = chains.shape[1]
    centred = chains - chains.mean(axis=1, keepdims=True)
    covariance = [np.mean([(c[: n - t] * c[t:]).sum() / n for c in centred]) for t in range(n)]  # divisor n
    within = covariance[0] * n / (n - 1)
    pooled = within * (n - 1) / n + chains.mean(axis=1).var(ddof=1)
    rho = [1.0] + [1 - (within - covariance[t]) / pooled for t in range(1, n)]
    total, before, k = -1.0, np.inf, 0
    while rho[2 * k] + rho[2 * k + 1] > 0:
        before = min(before, rho[2 * k] + rho[2 * k + 1])
        total += 2 * before
        k += 1
    return total + max(rho[2 * k], 0.0)


def test_times_are_those_of_the_plain_definition():
    x = ar1(0.7, 3, 1000, seed=4)
    assert autocorrelation_time(x) == pytest.approx(plain_time(x), rel=1e-12)
    halves = np.concatenate([x[:, :500], x[:, 500:]])
    assert ess(x, "mean") == pytest.approx(x.size / plain_time(halves), rel=1e-12)


def test_numbers_of_arviz():
    """Waves of which one is shifted, through ArviZ 0.23."""
    t, c = np.arange(301), np.arange(3)[:, None]
    x = np.sin(0.37 * t + c) + 0.3 * np.sin(0.029 * t * t + c) + 0.2 * np.cos(13.7 * t + c * c)
    x[2] += 0.8
    found = [ess(x), ess(x, "tail"), ess(x, "mean"), rhat(x), rhat(x, "split"), rhat(x, "basic"), mcse(x)]
    wanted = [158.358419, 343.04304, 155.856258, 1.1353141, 1.13153253, 1.16636778, 0.0665693162]
    np.testing.assert_allclose(found, wanted, rtol=1e-7)


def test_r_hat_by_hand():
    x = np.array([[1.0, 2.0, 3.0, 4.0], [2.0, 3.0, 4.0, 7.0]])
    within, between = x.var(axis=1, ddof=1).mean(), 4 * x.mean(axis=1).var(ddof=1)
    assert rhat(x, "basic") == pytest.approx(np.sqrt((0.75 * within + between / 4) / within))
    halves = np.array([[1.0, 2.0], [2.0, 3.0], [3.0, 4.0], [4.0, 7.0]])
    within, between = halves.var(axis=1, ddof=1).mean(), 2 * halves.mean(axis=1).var(ddof=1)
    assert rhat(x, "split") == pytest.approx(np.sqrt((0.5 * within + between / 2) / within))


def test_r_hat_of_chains_that_do_not_mix():
    x = ar1(0.3, 4, 1000)
    assert rhat(x) < 1.01
    assert rhat(x + np.array([[0], [0], [0], [3]])) > 1.3
    assert rhat(x * np.array([[1], [1], [1], [10]])) > 1.1  # equal means: only the folded ranks see it
    assert rhat(x * np.array([[1], [1], [1], [10]]), "basic") < 1.01
    assert rhat(x + np.linspace(0, 5, 1000)) > 1.3  # a drift: the halves differ
    assert rhat(np.repeat([[0.1], [0.2]], 50, axis=1), "split") == np.inf
    assert np.isnan(rhat(np.full((2, 50), 0.1)))
    assert np.isnan(ess(np.full((2, 50), 0.1)))
    assert ess(x + np.array([[0], [0], [0], [30]])) < 20


def test_tails():
    assert ess(ar1(0.0, 4, 1000), "tail") == pytest.approx(4000, rel=0.2)


@pytest.mark.parametrize(
    ("draws", "message"),
    [
        (np.zeros((2, 3)), "at least 4 samples per chain; got 3"),
        (np.zeros((2, 3, 4, 5)), r"got shape \(2, 3, 4, 5\)"),
        ([1.0, 2.0, np.nan, 3.0], "must be finite numbers"),
    ],
)
def test_bad_draws(draws, message):
    for function in (ess, rhat, mcse, autocorrelation, autocorrelation_time):
        with pytest.raises(ValueError, match=message):
            function(draws)


def test_bad_options():
    x = np.arange(10.0)
    with pytest.raises(ValueError, match="kind must be 'bulk', 'tail' or 'mean'; got 'all'"):
        ess(x, "all")
    with pytest.raises(ValueError, match="kind must be 'rank', 'split' or 'basic'"):
        rhat(x, "all")
    with pytest.raises(ValueError, match="needs at least 2 chains"):
        rhat(x, "basic")
    with pytest.raises(ValueError, match="how must be 'geyer' or 'sokal'"):
        autocorrelation_time(x, how="none")
    with pytest.raises(ValueError, match="max_lag must be an integer of at least 0; got -1"):
        autocorrelation(x, -1)


def test_chains():
    draws = np.stack([ar1(0.5, 2, 100), 5 + ar1(0.0, 2, 100, seed=1)], axis=2)
    chains = Chains(draws, np.zeros((2, 100)), np.array([0.3, 0.5]), burn_in=10, names=("a", "b"))
    assert (chains.n_chains, chains.n_samples, len(chains), chains.acceptance_rate) == (2, 100, 200, 0.4)
    np.testing.assert_allclose(chains.mean(), draws.reshape(-1, 2).mean(axis=0))
    np.testing.assert_allclose(np.diagonal(chains.covariance()), chains.std() ** 2)
    table = chains.summary()
    assert list(table["component"]) == ["a", "b"]
    np.testing.assert_allclose(table["ess_bulk"], [ess(draws[:, :, 0]), ess(draws[:, :, 1])])
    lines = repr(table).splitlines()
    assert lines[0].split() == [
        "component",
        "mean",
        "sd",
        "mcse",
        "5%",
        "50%",
        "95%",
        "ess_bulk",
        "ess_tail",
        "rhat",
    ]
    assert lines[2].split()[0] == "b"
    value, error = chains.expectation(lambda x: x[:, 1] > 5)
    assert abs(value - 0.5) < 4 * error
    later = chains.discard(20, thin=4)
    np.testing.assert_array_equal(later.draws, draws[:, 23::4])
    assert (later.burn_in, later.thin, later.log_density.shape) == (30, 4, (2, 20))
    assert chains.to_dict()["b"].shape == (2, 100)
    with pytest.raises(ValueError, match=r"burn_in must be in \[0, 100\)"):
        chains.discard(100)
    with pytest.raises(ValueError, match="function must return 200 finite values"):
        chains.expectation(lambda x: 1.0)
    with pytest.raises(ValueError, match="with NaN or infinity"):
        chains.expectation(lambda x: x[:, 0] * np.nan)
    with pytest.raises(ValueError, match=r"shape must hold the draws, .* up to \[1\]; got \[1\]"):
        Chains(np.array([[[0], [1]]])).frequencies([1])
    with pytest.raises(ValueError, match=r"draws must have shape \(n_chains, n_samples, d\)"):
        Chains(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="names must be 2"):
        Chains(draws, names=("a",))


@pytest.mark.parametrize(("n_chains", "n_samples", "d"), [(4, 20, 1), (1, 40, 3), (2, 40, 1)])
def test_the_limit_of_r_hat_leaves_independent_draws_alone(n_chains, n_samples, d):
    rng = np.random.default_rng(0)
    runs = [Chains(rng.standard_normal((n_chains, n_samples, d))) for _ in range(300)]
    over = sum(bool((run.rhat() > run.rhat_limit()).any()) for run in runs)
    assert over <= 1  # 1 in 10 000 by design
    assert runs[0].rhat_limit() > Chains(np.zeros((n_chains, 1000, d))).rhat_limit() == 1.1
