"""Rows of the samplers: effective draws per second of Markov chains."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from benchmarks.harness import Contender, Data, Result, Row

WALKERS = 32  # of emcee, which needs at least 2 d
MANY_WALKERS = 256  # where one call evaluates them all


def make_target(rng: np.random.Generator, n: int, d: int) -> Data:
    """A normal distribution whose neighbours correlate by 0.9, with deviations from 1 to 10 in random order.

    ``n`` are the draws of each of our chains with a jitted density; those with a Python density draw two fifths of
    it, and walkers a tenth.
    """
    deviations = rng.permutation(np.geomspace(1.0, 10.0, d))
    correlations = 0.9 ** np.abs(np.arange(d)[:, None] - np.arange(d)[None, :])
    covariance = correlations * np.outer(deviations, deviations)
    return {"precision": np.linalg.inv(covariance), "deviations": deviations, "n": np.array(n)}


def effective(data: Data, result: Result) -> float:
    """Thousands of effective draws of the worst component: draws / tau, with Sokal's window of 5 tau on the mean
    autocorrelation of the chains, as emcee has it."""
    chains = result["draws"]
    n = chains.shape[1]
    centred = chains - chains.mean(axis=1, keepdims=True)
    waves = np.fft.rfft(centred, 2 * n, axis=1)
    covariances = np.fft.irfft((waves * waves.conj()).mean(axis=0), axis=0)[:n]
    times = 2.0 * np.cumsum(covariances / covariances[0], axis=0) - 1.0
    ready = np.arange(n)[:, None] >= 5.0 * times
    window = np.where(ready.any(axis=0), ready.argmax(axis=0), n - 1)
    worst = times[window, np.arange(times.shape[1])].max()
    return chains.shape[0] * n / float(worst) / 1000.0


def moments(data: Data, result: Result) -> float:
    """The largest error of a mean or of a deviation, in deviations of the target."""
    flat = result["draws"].reshape(-1, data["deviations"].size)
    means = np.abs(flat.mean(axis=0)) / data["deviations"]
    return float(max(means.max(), np.abs(flat.std(axis=0) / data["deviations"] - 1.0).max()))


def python_density(x: np.ndarray, precision: np.ndarray) -> float:
    return -0.5 * float(x @ precision @ x)


def density_of_all(x: np.ndarray, precision: np.ndarray) -> np.ndarray:
    return -0.5 * np.einsum("ci,ci->c", x @ precision, x)


@functools.cache
def jitted_density() -> Any:
    import numba

    @numba.njit(fastmath=True)
    def density(x, precision):  # type: ignore[no-untyped-def]
        total = 0.0
        for i in range(x.size):
            row = 0.0
            for j in range(x.size):
                row += precision[i, j] * x[j]
            total += row * x[i]
        return -0.5 * total

    return density


def chains_ours(data: Data, density: Any, draws: int, **settings: Any) -> Result:
    from tercet.sampling import MetropolisHastings

    sampler = MetropolisHastings(
        density,
        args=(data["precision"],),
        n_chains=4,
        burn_in=max(draws // 10, 1000),
        random_state=0,
        **settings,
    )
    return {"draws": sampler.sample(draws, start=np.zeros(data["deviations"].size)).draws}


def jitted_ours(data: Data) -> Result:
    return chains_ours(data, jitted_density(), int(data["n"]), thin=4, n_jobs=2)


def python_ours(data: Data) -> Result:
    return chains_ours(data, python_density, 2 * int(data["n"]) // 5)


def walkers_emcee(data: Data, density: Any, walkers: int, steps: int, **settings: Any) -> Result:
    import emcee

    d = data["deviations"].size
    start = np.random.default_rng(0).standard_normal((walkers, d)) * 0.1
    sampler = emcee.EnsembleSampler(walkers, d, density, args=(data["precision"],), **settings)
    sampler.random_state = np.random.RandomState(0).get_state()
    sampler.run_mcmc(start, steps + steps // 10)
    return {"draws": np.moveaxis(sampler.get_chain(discard=steps // 10), 1, 0)}


def pointwise_emcee(data: Data) -> Result:
    return walkers_emcee(data, python_density, WALKERS, int(data["n"]) // 10)


def jitted_emcee(data: Data) -> Result:
    return walkers_emcee(data, jitted_density(), WALKERS, int(data["n"]) // 10)


def vectorised_emcee(data: Data) -> Result:
    return walkers_emcee(data, density_of_all, MANY_WALKERS, int(data["n"]) // 10, vectorize=True)


SIZES = {"full": {"n": 50_000, "d": 10}, "smoke": {"n": 5_000, "d": 4}}
WORK = "normal target with neighbours correlated by 0.9, d={d}: seconds per 1 000 effective draws"


def emcee_with(fit: Any, note: str, threads: int = 1) -> Contender:
    return Contender(fit, ("emcee", "numba"), "emcee", threads=threads, note=note)


ROWS = [
    Row(
        name="metropolis",
        work=WORK + "; the density jitted",
        sizes=SIZES,
        data=make_target,
        ours=Contender(jitted_ours, ("tercet.sampling", "numba"), "tercet"),
        peers={
            "emcee": emcee_with(jitted_emcee, "the same jitted density, 32 walkers"),
            "emcee vectorised": emcee_with(vectorised_emcee, "NumPy density of 256 walkers at once"),
        },
        quality=moments,
        tolerance=0.2,  # some six standard errors of the fewest effective draws
        figure="largest error of a mean or deviation, in deviations",
        relative=False,
        amount=effective,
    ),
    Row(
        name="metropolis-python",
        work=WORK + "; the density in Python",
        sizes=SIZES,
        data=make_target,
        ours=Contender(python_ours, ("tercet.sampling",), "tercet", threads=1),
        peers={"emcee": emcee_with(pointwise_emcee, "the same Python density, 32 walkers")},
        quality=moments,
        tolerance=0.2,  # some six standard errors of the fewest effective draws
        figure="largest error of a mean or deviation, in deviations",
        relative=False,
        amount=effective,
    ),
]
