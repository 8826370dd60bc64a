"""Metropolis-Hastings: the exact kernel, every kind of proposal and density, what it refuses and what it says."""

import signal
import threading
import warnings

import numba
import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm
from sklearn.exceptions import ConvergenceWarning

from tercet.core.callbacks import Recorder
from tercet.sampling import (
    ConditionalProposal,
    IndependentProposal,
    MetropolisHastings,
    SingleComponentMetropolisHastings,
    acceptance_probabilities,
    metropolis_hastings_kernel,
)

COVARIANCE = np.array([[4.0, 1.5], [1.5, 1.0]])
PRECISION = np.linalg.inv(COVARIANCE)


def plain(x, precision=PRECISION):
    return -0.5 * float(x @ precision @ x)


def of_all(x, precision=PRECISION):
    found = -0.5 * np.einsum("ci,ij,cj->c", x, precision, x)
    x[:] = 7.0
    return found


@numba.njit
def jitted_vector(x):
    return -0.5 * x**2


@numba.njit
def jitted(x, precision):
    if x[0] > 1e3:
        return np.nan
    total = 0.0
    for i in range(x.size):
        for j in range(x.size):
            total += x[i] * precision[i, j] * x[j]
    x[:] = 7.0  # a function may change its own copy
    return -0.5 * total


def right(chains, mean, deviation):
    """Means within four standard errors, deviations within some, chains that agree."""
    error = chains.mcse()
    assert (np.abs(chains.mean() - mean) < 4 * error).all()
    assert np.abs(chains.std() / deviation - 1).max() < 4 / np.sqrt(chains.ess("mean")).min()
    assert (chains.rhat() < 1.05).all()


@pytest.mark.parametrize("acceptance", ["metropolis-hastings", "basic"])
def test_the_kernel_is_in_detailed_balance(acceptance):
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(6))
    Q = rng.dirichlet(np.full(6, 0.5), size=6)
    Q[0, 1:3], Q[0, 0] = 0.0, Q[0, :3].sum()  # moves that are proposed in one direction only
    K = metropolis_hastings_kernel(p, Q, acceptance)
    np.testing.assert_allclose(K.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    np.testing.assert_allclose(p @ K, p, rtol=0, atol=1e-12)
    flow = p[:, None] * K
    np.testing.assert_allclose(flow, flow.T, rtol=0, atol=1e-12)
    assert K[1, 0] == 0.0
    scaled = metropolis_hastings_kernel(0.5 * p, Q, acceptance)
    assert np.allclose(scaled, K) == (acceptance == "metropolis-hastings")  # p up to a constant


def test_acceptance_probabilities_of_impossible_states():
    found = acceptance_probabilities([0.0, 1.0], [[0.5, 0.5], [0.5, 0.5]])
    np.testing.assert_array_equal(found, [[1, 1], [0, 1]])


def test_a_discrete_chain_moves_as_its_kernel_says():
    p, Q = np.array([0.2, 0.3, 0.5]), np.array([[0.1, 0.6, 0.3], [0.4, 0.2, 0.4], [0.3, 0.3, 0.4]])
    chains = MetropolisHastings(np.log(p), proposal=Q, n_chains=2, random_state=0).sample(20_000)
    pairs = np.zeros((3, 3))
    for line in chains.draws[:, :, 0]:
        np.add.at(pairs, (line[:-1], line[1:]), 1.0)
    K = metropolis_hastings_kernel(p, Q)
    rows = pairs.sum(axis=1, keepdims=True)
    assert (np.abs(pairs / rows - K) < 5 * np.sqrt(K * (1 - K) / rows) + 1e-12).all()
    assert abs(chains.acceptance_rate - float(p @ (Q * acceptance_probabilities(p, Q)).sum(axis=1))) < 0.01
    np.testing.assert_array_equal(chains.log_density, np.log(p)[chains.draws[:, :, 0]])


@pytest.mark.parametrize("proposal", ["normal", "uniform"])
def test_random_walks_on_a_correlated_normal(proposal):
    sampler = MetropolisHastings(plain, proposal=proposal, burn_in=600, random_state=1)
    chains = sampler.sample(3000, start=[1.0, 1.0])
    right(chains, 0.0, [2.0, 1.0])
    assert 0.2 < chains.acceptance_rate < 0.5
    # the walk has learned the form of the target
    learned = sampler.covariance_ / sampler.covariance_[0, 0]
    np.testing.assert_allclose(learned, COVARIANCE / 4, atol=0.12)
    np.testing.assert_allclose(chains.log_density, [of_all(c.copy()) for c in chains.draws], rtol=1e-12)


def test_all_kinds_of_density_give_the_same_chains():
    settings = {"burn_in": 200, "n_chains": 3, "args": (PRECISION,), "random_state": 3}
    start = [[0.5, 0.5], [0.0, 0.0], [-1.0, 0.3]]
    one = MetropolisHastings(plain, **settings).sample(300, start=start)
    two = MetropolisHastings(of_all, vectorized=True, **settings).sample(300, start=start)
    three = MetropolisHastings(jitted, **settings).sample(300, start=start)
    four = MetropolisHastings(jitted, n_jobs=2, **settings).sample(300, start=start)
    np.testing.assert_allclose(two.draws, one.draws, rtol=0, atol=1e-10)
    np.testing.assert_allclose(three.draws, one.draws, rtol=0, atol=1e-10)
    np.testing.assert_array_equal(four.draws, three.draws)
    np.testing.assert_array_equal(three.acceptance, one.acceptance)
    # thinning keeps every k-th of the same chain
    thinned = MetropolisHastings(jitted, thin=7, **settings).sample(40, start=start)
    np.testing.assert_array_equal(thinned.draws, four.draws[:, 6::7][:, :40])


def test_a_chain_does_not_depend_on_how_many_there_are():
    settings = {"scale": 1.0, "burn_in": 10, "random_state": 0}
    few = MetropolisHastings(plain, n_chains=1, **settings).sample(50, start=[0.0, 0.0])
    many = MetropolisHastings(plain, n_chains=3, **settings).sample(50, start=[0.0, 0.0])
    np.testing.assert_array_equal(few.draws[0], many.draws[0])
    longer = MetropolisHastings(plain, n_chains=1, **settings).sample(80, start=[0.0, 0.0])
    np.testing.assert_array_equal(longer.draws[:, :50], few.draws)
    generators = [
        MetropolisHastings(plain, scale=1.0, burn_in=0, random_state=make(5)).sample(5, start=[0.0, 0.0])
        for make in (np.random.default_rng, np.random.default_rng, np.random.RandomState)
    ]
    np.testing.assert_array_equal(generators[0].draws, generators[1].draws)
    assert (generators[0].draws != generators[2].draws).any()


def test_rejected_moves_repeat_the_state():
    chains = MetropolisHastings(plain, scale=3.0, burn_in=0, random_state=0).sample(200, start=[0.0, 0.0])
    lines = [MetropolisHastings(f, burn_in=20, random_state=0).sample(50, start=0.0).draws
             for f in (lambda x: -0.5 * x**2, lambda x: -0.5 * x[0] ** 2)]  # fmt: skip
    np.testing.assert_array_equal(*lines)  # an array of one number is a number
    stays = (np.diff(chains.draws, axis=1) == 0).all(axis=2).sum(axis=1)
    np.testing.assert_array_equal(
        np.round((1 - chains.acceptance) * 200), stays + (chains.draws[:, 0] == 0).all(1)
    )


def test_scales_far_from_one_are_found():
    wide = MetropolisHastings(lambda x: -0.5 * float((x / [1e-4, 1e3]) @ (x / [1e-4, 1e3])), burn_in=3000,
                              random_state=0)  # fmt: skip
    right(wide.sample(2000, start=[0.0, 0.0]), 0.0, [1e-4, 1e3])
    far = MetropolisHastings(plain, random_state=0).sample(1500, start=[1e4, -1e4])
    assert 0.2 < far.acceptance_rate < 0.5
    right(far, 0.0, [2.0, 1.0])


def test_independent_proposals():
    with_scipy = MetropolisHastings(
        plain,
        proposal=multivariate_normal([0, 0], 2 * COVARIANCE),
        burn_in=50,
        args=(PRECISION,),
        random_state=0,
    )
    chains = with_scipy.sample(1500, start=[0.0, 0.0])
    right(chains, 0.0, [2.0, 1.0])
    compiled = MetropolisHastings(**{**with_scipy.get_params(), "log_density": jitted})
    np.testing.assert_allclose(compiled.sample(1500, start=[0.0, 0.0]).draws, chains.draws, atol=1e-12)
    mine = IndependentProposal(
        lambda size, rng: rng.normal(0, 3, size=(size, 2)),
        lambda points: norm(0, 3).logpdf(points).sum(axis=1),
    )
    sampler = MetropolisHastings(of_all, proposal=mine, vectorized=True, burn_in=50, random_state=0)
    right(sampler.sample(2500, start=[0.0, 0.0]), 0.0, [2.0, 1.0])


def test_conditional_proposals_need_their_ratio():
    """A walk of the logarithm on the exponential distribution; without its ratio the target would be another."""
    steps = [lambda x, rng: x * np.exp(rng.standard_normal(1)), lambda new, x: -np.log(new[0]) - 0.5 * np.log(
        new[0] / x[0]) ** 2]  # fmt: skip
    settings = {"burn_in": 50, "n_chains": 3, "random_state": 0}
    chains = MetropolisHastings(lambda x: -x[0], proposal=ConditionalProposal(*steps), **settings).sample(
        2000, start=[1.0]
    )
    assert abs(chains.mean()[0] - 1.0) < 4 * chains.mcse()[0]
    wrong = MetropolisHastings(lambda x: -x[0], proposal=ConditionalProposal(steps[0]), **settings).sample(
        2000, start=[1.0]
    )
    assert wrong.mean()[0] < 0.5


def test_basic_acceptance_of_a_density():
    density = lambda x: -0.5 * x**2 - 0.5 * np.log(2 * np.pi)  # noqa: E731
    sampler = MetropolisHastings(
        lambda x: density(x[0]), acceptance="basic", scale=1.0, burn_in=50, n_chains=2, random_state=0
    )
    chains = sampler.sample(6000, start=[0.0])
    assert abs(chains.mean()[0]) < 4 * chains.mcse()[0]
    assert chains.acceptance_rate < 0.2
    with pytest.raises(ValueError, match=r"acceptance='basic' needs p\(x'\) q\(x', x\) <= 1"):
        MetropolisHastings(lambda x: density(x[0]) + 9, acceptance="basic", scale=1.0).sample(50, start=[0.0])


def test_proposals_that_are_never_accepted_are_said():
    point = lambda x: 0.0 if (x == 0).all() else -np.inf  # noqa: E731
    with pytest.warns(ConvergenceWarning, match=r"acceptance 0 in chains \[0, 1\].*smaller scale"):
        chains = MetropolisHastings(point, n_chains=2, burn_in=50, random_state=0).sample(20, start=[0.0])
    assert (chains.draws == 0).all()
    assert np.isnan(chains.ess()).all()


def test_an_improper_density_is_said():
    with pytest.warns(ConvergenceWarning, match=r"improper.*no distribution to draw from"):
        MetropolisHastings(lambda x: 0.0, burn_in=200, random_state=0).sample(50, start=[0.0])


@pytest.mark.parametrize(
    ("settings", "start", "message"),
    [
        ({}, None, "start must be given"),
        ({}, [[0.0, 0.0]], r"start must have shape \(d,\) or \(n_chains, d\) with n_chains=4; got shape \(1, 2\)"),
        ({}, ["a"], "start must hold numbers; got"),
        ({}, [0.0, np.inf], r"start must be finite; chain 0 would start at \[0.0, inf\]"),
        ({"log_density": lambda x: -np.inf}, [1.0], r"-infinity at the start of chain 0, x=\[1.0\]"),
        ({"log_density": lambda x: np.nan}, [1.0], r"log_density returned NaN at x=\[1.0\]"),
        ({"log_density": lambda x: 0.0 if x[0] == 0 else np.inf}, [0.0], r"returned \+infinity at x="),
        ({"log_density": jitted, "args": (PRECISION,), "scale": 1e6}, [0.0, 0.0], "log_density returned NaN at x="),
        ({"log_density": jitted_vector}, [0.0, 0.0], "must return a number"),
        ({"log_density": lambda x: "high"}, [0.0], "log_density must return a number; at x"),
        ({"log_density": lambda x: x[:, :1], "vectorized": True}, [0.0, 0.0], r"must return shape \(4,\)"),
        ({"covariance": [[1.0, 2.0], [2.0, 1.0]]}, [0.0, 0.0], "positive definite matrix of shape"),
        ({"scale": -1.0}, [0.0, 0.0], "parameter 'scale' must be"),
        ({"proposal": "cauchy"}, [0.0, 0.0], "proposal must be 'normal', 'uniform'"),
        ({"n_chains": 0}, [0.0, 0.0], "parameter 'n_chains' must be"),
        ({"proposal": norm(0, 1)}, [0.0, 0.0], "must return 1 values for 1 points; got 2"),
        ({"log_density": [0.0, -1.0]}, 0, "proposal must be a matrix of shape"),
        ({"log_density": [0.4, 0.6], "proposal": np.eye(2)}, 0, "holds probabilities .* give their logarithms"),
        ({"proposal": multivariate_normal([0, 0], allow_singular=True, cov=[[1, 0], [0, 0]])}, [0.0, 1.0],
         "its density is zero at the start"),
        ({"log_density": [-np.inf, -np.inf], "proposal": np.eye(2)}, 0, "not all -infinity"),
        ({"log_density": [0.0, np.nan], "proposal": np.eye(2)}, 0, "log probabilities of discrete states"),
        ({"log_density": [0.0, -1.0], "proposal": [[1, 1], [0, 1]]}, 0, r"row 0 is \[1.0, 1.0\]"),
        ({"log_density": [0.0, -1.0], "proposal": np.eye(2)}, 2, "start must be a state from 0 to 1; got 2"),
        ({"log_density": [0.0, -np.inf], "proposal": np.eye(2)}, 1, "start=1 has probability 0"),
    ],
)  # fmt: skip
def test_bad_input(settings, start, message):
    with pytest.raises((ValueError, TypeError), match=message):
        MetropolisHastings(**{"log_density": plain, "burn_in": 20, "random_state": 0, **settings}).sample(
            30, start=start
        )
    with pytest.raises(ValueError, match="n_samples must be an integer of at least 1; got 0"):
        MetropolisHastings(plain).sample(0, start=[0.0])


def test_ctrl_c_keeps_the_draws():
    count = 0
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored where tests run

    def slow(x):
        nonlocal count
        count += 1
        if count == 2000:
            signal.raise_signal(signal.SIGINT)
            threading.Event().wait(5)  # the signal ends this
        return plain(x)

    sampler = MetropolisHastings(slow, burn_in=100, n_chains=2, random_state=0)
    try:
        with pytest.raises(KeyboardInterrupt):
            sampler.sample(5000, start=[0.0, 0.0])
    finally:
        signal.signal(signal.SIGINT, before)
    kept = sampler.chains_.n_samples
    assert 500 < kept <= 900
    whole = MetropolisHastings(plain, burn_in=100, n_chains=2, random_state=0).sample(kept, start=[0.0, 0.0])
    np.testing.assert_array_equal(sampler.chains_.draws, whole.draws)


def test_functions_with_threads_of_their_own_run_one_at_a_time(monkeypatch):
    def density(x):
        return plain(x)

    density.targetoptions = {"parallel": True}  # as numba's dispatchers have it
    seen = set()

    def each(function, items, *parameters, n_jobs):
        seen.add(n_jobs)
        return [function(item, *parameters) for item in items]

    monkeypatch.setattr("tercet.sampling.markov_chain_sampler.each", each)
    MetropolisHastings(density, burn_in=5, n_jobs=2, random_state=0).sample(5, start=[0.0, 0.0])
    assert seen == {1}
    MetropolisHastings(plain, burn_in=5, n_jobs=2, random_state=0).sample(5, start=[0.0, 0.0])
    assert seen == {1, 2}


def test_callbacks_and_continuation():
    seen = []

    def watch(step):
        seen.append(step.measures)
        return step.measures["kept"] >= 300

    sampler = MetropolisHastings(plain, burn_in=100, callback=watch, random_state=0)
    chains = sampler.sample(1000, start=[0.0, 0.0])
    assert chains.n_samples == 300
    assert [m["kept"] for m in seen[:6]] == [0, 0, 0, 0, 0, 10]
    assert sampler.history_["kept"][-1] == 300
    later = MetropolisHastings(plain, burn_in=0, scale=1e-9, random_state=0).sample(1, start=chains)
    np.testing.assert_allclose(later.draws[:, 0], chains.draws[:, -1], atol=1e-7)
    recorder = Recorder()
    sampler = MetropolisHastings(plain, burn_in=100, random_state=0).set_callbacks(recorder)
    sampler.sample(200, start=[0.0, 0.0])
    assert len(recorder.frames) == 105  # five windows of the burn-in and a hundred parts
    with pytest.raises(ValueError, match="the callback ended the run before the first draw"):
        MetropolisHastings(plain, burn_in=100, callback=lambda step: True).sample(10, start=[0.0, 0.0])


@pytest.mark.parametrize("scan", ["cyclic", "random"])
def test_single_component_walks(scan):
    settings = {"scan": scan, "burn_in": 300, "args": (PRECISION,), "random_state": 0}
    one = SingleComponentMetropolisHastings(plain, **settings)
    chains = one.sample(2500, start=[1.0, 1.0])
    right(chains, 0.0, [2.0, 1.0])
    assert np.abs(chains.acceptance - 0.44).max() < 0.1
    fast = SingleComponentMetropolisHastings(jitted, **settings)
    np.testing.assert_allclose(fast.sample(2500, start=[1.0, 1.0]).draws, chains.draws, atol=1e-9)
    np.testing.assert_allclose(fast.scale_, one.scale_)
    if scan == "cyclic":
        wide = SingleComponentMetropolisHastings(of_all, vectorized=True, **settings)
        np.testing.assert_allclose(wide.sample(300, start=[1.0, 1.0]).draws, chains.draws[:, :300], atol=1e-9)


def test_single_component_proposals_of_ones_own():
    """Two exponential variables, each by a walk of its logarithm."""
    proposal = ConditionalProposal(
        lambda x, j, rng: x[j] * np.exp(rng.standard_normal()),
        lambda new, x, j: -np.log(new[j]) - 0.5 * np.log(new[j] / x[j]) ** 2,
    )
    sampler = SingleComponentMetropolisHastings(
        lambda x: -x[0] - 0.5 * x[1], proposal=proposal, burn_in=50, n_chains=3, random_state=0
    )
    chains = sampler.sample(2000, start=[1.0, 1.0])
    assert (np.abs(chains.mean() - [1.0, 2.0]) < 4 * chains.mcse()).all()
    with pytest.raises(ValueError, match="scale must be a positive number, or 2 of them; got"):
        SingleComponentMetropolisHastings(plain, scale=[1.0, -1.0]).sample(5, start=[0.0, 0.0])
    with pytest.raises(ValueError, match="proposal must be 'normal', 'uniform' or a ConditionalProposal"):
        SingleComponentMetropolisHastings(plain, proposal=3).sample(5, start=[0.0, 0.0])


def two_hills(x):
    return float(np.logaddexp(-0.5 * (x[0] + 9) ** 2, -0.5 * (x[0] - 9) ** 2))


@pytest.mark.parametrize("sampler", [MetropolisHastings, SingleComponentMetropolisHastings])
def test_chains_that_disagree_are_said(sampler):
    start = [[-9.0], [9.0], [-9.0], [9.0]]
    with pytest.warns(
        ConvergenceWarning, match=r"chains disagree: R-hat of x0 is .* at most 1\.1\. .*burn_in"
    ):
        chains = sampler(two_hills, scale=1.0, burn_in=50, random_state=0).sample(200, start=start)
    assert chains.rhat()[0] > 1.5


def test_a_single_chain_that_drifts_is_said():
    with pytest.warns(ConvergenceWarning, match="the first and the second half of the chain disagree: R-hat"):
        MetropolisHastings(plain, n_chains=1, scale=0.05, burn_in=0, random_state=0).sample(
            300, start=[40.0, 40.0]
        )


def test_chains_of_many_draws_are_judged_by_some_of_them():
    p, stay = np.log([0.5, 0.5]), 1 - 1e-4
    with pytest.warns(ConvergenceWarning, match="R-hat of x0"):
        MetropolisHastings(
            p, proposal=[[stay, 1 - stay], [1 - stay, stay]], burn_in=0, random_state=0
        ).sample(20_000, start=[[0], [1], [0], [1]])


@pytest.mark.parametrize("n_chains", [1, 4])
@pytest.mark.parametrize("n_samples", [1, 3, 20, 200, 1000])
def test_independent_draws_do_not_warn(n_chains, n_samples):
    exact = multivariate_normal(
        [0.0, 0.0, 0.0]
    )  # proposals from the target itself: every draw is independent
    for seed in range(10):
        sampler = MetropolisHastings(
            lambda x: -0.5 * (x**2).sum(axis=1),
            proposal=exact,
            vectorized=True,
            n_chains=n_chains,
            burn_in=5,
            random_state=seed,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            chains = sampler.sample(n_samples, start=np.zeros(3))
        assert chains.acceptance_rate == 1.0


@pytest.mark.parametrize("d", [1, 2, 5])
def test_random_walks_of_the_default_length_do_not_warn(d):
    for seed in range(3):
        sampler = MetropolisHastings(lambda x: -0.5 * (x**2).sum(axis=1), vectorized=True, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            chains = sampler.sample(start=np.zeros(d))
        assert (chains.rhat() < chains.rhat_limit()).all()
