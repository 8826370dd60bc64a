"""EM as an algorithm: the texts' numbers, what the theorems say, and all its variants."""

import warnings

import numpy as np
import pytest
from scipy.special import logsumexp

from tercet.core.parallel import Chunks
from tercet.core.steps import ConvergenceWarning
from tercet.optimize import (
    EnumerableModel,
    RunningStatistics,
    em,
    em_restarts,
    f_function,
    h_function,
    latent_posterior,
    log_likelihood,
    lower_bound,
    online_em,
    online_em_step,
    q_function,
)

TOSSES = np.array([1, 1, 0, 1, 0, 0, 1, 0, 1, 1])
POINTS = np.array([-1.0, 0.0, 1.0, 4.0, 5.0, 7.0])
START = ([0.5, 0.5], [0.0, 3.0], [4.0, 4.0])
END = ([0.4993834177, 0.5006165823], [-0.0011887018, 5.3279503300], [0.6663621523, 1.5771193621])


def coins(start=None):
    def log_joint(y, theta):
        pi, p, q = theta
        return np.log(np.column_stack([pi * np.where(y, p, 1 - p), (1 - pi) * np.where(y, q, 1 - q)]))

    def maximise(y, mu, theta):
        return np.array([mu[:, 0].mean(), mu[:, 0] @ y / mu[:, 0].sum(), mu[:, 1] @ y / mu[:, 1].sum()])

    return EnumerableModel(TOSSES, log_joint, maximise)


def density(y, theta):
    a, mu, var = map(np.asarray, theta)
    with np.errstate(divide="ignore"):
        return np.log(a) - 0.5 * np.log(2 * np.pi * var) - (y[:, None] - mu) ** 2 / (2 * var)


def shares(y, g, theta):
    return g.sum(axis=0) / g.sum(), theta[1], theta[2]


def means(y, g, theta):
    return theta[0], y @ g / np.maximum(g.sum(axis=0), 1e-300), theta[2]


def variances(y, g, theta):
    squares = (g * (y[:, None] - theta[1]) ** 2).sum(axis=0)
    return theta[0], theta[1], squares / np.maximum(g.sum(axis=0), 1e-300) + 1e-300


def whole(y, g, theta):
    return variances(y, g, means(y, g, shares(y, g, theta)))


def pack(theta):
    a, mu, var = map(np.asarray, theta)
    return np.concatenate([np.log(a[1:] / a[0]), mu, np.log(var)])


def unpack(v):
    k = (v.size + 1) // 3
    a = np.exp(np.append(0.0, v[: k - 1]))
    return a / a.sum(), v[k - 1 : 2 * k - 1], np.exp(v[2 * k - 1 :])


def normals(y=POINTS, parts=(shares, means, variances), **more):
    return EnumerableModel(y, density, whole, parts=parts, pack=pack, unpack=unpack, **more)


def run(model, theta, **options):
    return em(model, model.chunks, theta, **{"tol": 1e-12, "max_iter": 5000, **options})


def close(theta, wanted, **how):
    for got, want in zip(theta, wanted, strict=True):
        np.testing.assert_allclose(got, want, **{"rtol": 1e-6, **how})


# --- the texts' numbers ---------------------------------------------------------------------------------------


def test_three_coins_of_example_9_1():
    model = coins()
    t0 = (0.4, 0.6, 0.7)
    found = run(model, t0)
    np.testing.assert_allclose(found.theta, [76 / 187, 51 / 95, 119 / 185], rtol=1e-12)
    np.testing.assert_allclose(found.values[:2], [-6.8083313093, -6.7301166701], atol=1e-9)
    assert q_function(model.joint, t0, t0) == pytest.approx(-13.5068862631, abs=1e-9)
    assert q_function(model.joint, found.theta, t0) == pytest.approx(-13.4286716240, abs=1e-9)
    assert h_function(model.joint, t0, t0) == pytest.approx(-6.6985549539, abs=1e-9)
    assert h_function(model.joint, found.theta, t0) == pytest.approx(-6.6985549539, abs=1e-9)
    assert lower_bound(model.joint, found.theta, t0) == pytest.approx(
        log_likelihood(model.joint, found.theta)
    )


def test_two_coins_chosen_blindly():
    heads = np.array([5, 9, 8, 4, 7])

    def log_joint(heads, theta):
        return np.log(0.5) + np.outer(heads, np.log(theta)) + np.outer(10 - heads, np.log1p(-theta))

    def maximise(heads, g, theta):
        return heads @ g / (10 * g.sum(axis=0))

    model = EnumerableModel(heads, log_joint, maximise)
    for passes, wanted in [
        (1, [0.7130122354, 0.5813393083]),
        (10, [0.7967441495, 0.5196586622]),
        (1000, [0.7967890669, 0.5195831201]),
    ]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            found = run(model, np.array([0.6, 0.5]), max_iter=passes, tol=1e-15)
        np.testing.assert_allclose(found.theta, wanted, atol=1e-8)


def test_the_derived_gaussian_mixture():
    model = normals()
    gamma = latent_posterior(model.joint, START)[:, 0]
    np.testing.assert_allclose(
        gamma, [0.8670357598, 0.7549149869, 0.5926666, 0.1329642402, 0.0675466911, 0.0159063917], atol=1e-9
    )
    found = run(model, START)
    np.testing.assert_allclose(found.values[:3], [-15.5308033946, -14.1765052895, -13.4845953423], atol=1e-9)
    assert found.value == pytest.approx(-12.7235040128, abs=1e-9)
    close(found.theta, END, atol=1e-5)


# --- what the theorems say ------------------------------------------------------------------------------------


def random_theta(rng, k=3):
    return rng.dirichlet(np.ones(k)), rng.normal(size=k) * 4, rng.uniform(0.5, 5, k)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("weighted", [False, True])
def test_likelihood_q_h_bound_and_f(seed, weighted):
    rng = np.random.default_rng(seed)
    weight = rng.uniform(0, 2, POINTS.size) if weighted else None
    joint = normals().joint
    theta, given = random_theta(rng), random_theta(rng)
    P, R = latent_posterior(joint, given), latent_posterior(joint, theta)
    w = np.ones(POINTS.size) if weight is None else weight
    divergence = (w[:, None] * P * np.log(P / R)).sum()
    L = log_likelihood(joint, theta, weight)
    assert pytest.approx((w * logsumexp(joint(theta), axis=1)).sum()) == L
    assert q_function(joint, theta, given, weight) - h_function(joint, theta, given, weight) == pytest.approx(
        L
    )
    assert L - lower_bound(joint, theta, given, weight) == pytest.approx(divergence)
    assert divergence >= 0
    assert h_function(joint, theta, given, weight) <= h_function(joint, given, given, weight)
    assert f_function(joint, P, theta, weight) == pytest.approx(L - divergence)  # F = L - KL
    assert f_function(joint, R, theta, weight) == pytest.approx(L)  # Lemma 9.2


def test_f_by_turns_is_em():
    """Theorem 9.4, with the maximisations written out."""
    model, theta, trace = normals(), START, []
    for _ in range(8):
        P = latent_posterior(model.joint, theta)
        after_expectation = f_function(model.joint, P, theta)
        theta = whole(POINTS, P, theta)
        trace.append((after_expectation, f_function(model.joint, P, theta)))
    with pytest.warns(ConvergenceWarning, match="EM did not converge in 8 passes"):
        found = run(normals(), START, variant="gem1", max_iter=8)
    close(found.theta, theta, rtol=1e-12)
    got = np.column_stack([found.history["f_expect"], found.history["f_maximise"]])
    np.testing.assert_allclose(got, trace, rtol=1e-12)
    assert (np.diff(got.ravel()) >= 0).all()


@pytest.mark.parametrize("variant", ["em", "gem1", "gem2", "gem3"])
def test_every_variant_climbs_to_the_same_top(variant):
    found = run(normals(), START, variant=variant)
    assert found.converged
    assert found.monotone
    assert (np.diff(found.values) >= -1e-10).all()
    assert found.value == pytest.approx(-12.7235040128, abs=1e-6)
    close(found.theta, END, atol=1e-3)


def test_conditional_maximisation_depends_on_the_order():
    """The new mean in the variance is EM; the old one is another sequence with the same end."""
    plain, same = run(normals(), START), run(normals(), START, variant="gem3")
    np.testing.assert_allclose(same.values, plain.values, rtol=1e-12)
    other = run(normals(parts=(shares, variances, means)), START, variant="gem3")
    assert other.monotone
    assert other.values[1] == pytest.approx(-14.2918419752, abs=1e-9)
    close(other.theta, plain.theta, atol=1e-5)


def test_hard_em_is_k_means_for_equal_spheres():
    def log_joint(y, mean):
        return -0.5 * (y[:, None] - mean) ** 2

    model = EnumerableModel(POINTS, log_joint, lambda y, g, mean: y @ g / g.sum(axis=0))
    found = em(model, model.chunks, np.array([0.0, 1.0]), variant="hard", tol=1e-12)
    np.testing.assert_allclose(found.theta, [0.0, 16 / 3])
    assert found.monotone  # log P(Y, Z) with the best Z, that is
    assert found.value == pytest.approx(-0.5 * (2 + ((np.array([4, 5, 7]) - 16 / 3) ** 2).sum()))


def test_a_posteriori():
    """A Dirichlet prior on the shares: its log is part of the objective, and nothing falls."""
    pull = 3.0

    def maximise(y, g, theta):
        _, mu, var = whole(y, g, theta)
        count = g.sum(axis=0) + pull
        return count / count.sum(), mu, var

    model = EnumerableModel(POINTS, density, maximise, log_prior=lambda t: pull * float(np.log(t[0]).sum()))
    skew = ([0.9, 0.1], *START[1:])
    found = run(model, skew)
    assert found.monotone
    assert found.converged
    a = found.theta[0]
    N = latent_posterior(model.joint, found.theta).sum(axis=0)
    np.testing.assert_allclose(a, (N + pull) / (N + pull).sum(), rtol=1e-6)
    free = run(normals(), skew)
    assert free.value > found.value  # without the (negative) log-prior


def test_weights_are_repetitions():
    weight = np.array([1, 2, 0, 3, 1, 1])
    some = run(normals(sample_weight=weight), START)
    many = run(normals(np.repeat(POINTS, weight)), START)
    close(some.theta, many.theta, atol=1e-9)
    assert some.value == pytest.approx(many.value)


# --- stopping -------------------------------------------------------------------------------------------------


def test_stopping_rules():
    by_theta = run(normals(), START, stop="parameters", tol=1e-3)
    assert by_theta.rule == "parameters"
    assert by_theta.history["parameters"][-1] < 1e-3 <= by_theta.history["parameters"][-2]
    by_q = run(normals(), START, stop="q", tol=1e-3)
    assert by_q.rule == "q"
    assert by_q.history["q"][-1] < 1e-3 <= by_q.history["q"][-2]
    rises = np.diff(run(normals(), START, tol=1e-3).values)
    assert rises[-1] < 1e-3 <= rises[-2]
    both = run(normals(), START, stop={"q": 1e-9, "parameters": 1e-2})
    assert both.rule == "parameters"
    # Ex 9.1 ends after one M step: the second pass does not move
    assert run(coins(), (0.4, 0.6, 0.7), stop="parameters", tol=1e-9).passes == 2


def test_divided_by_the_number_of_rows():
    found = run(normals(), START, per=6.0, tol=1e-9)
    assert found.value == pytest.approx(-12.7235040128 / 6, abs=1e-7)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"stop": "luck"}, "stop must be one or several of 'likelihood', 'parameters', 'q'; got 'luck'"),
        ({"stop": []}, "stop must be one or several"),
        ({"tol": np.nan}, "tol must be a number"),
        ({"variant": "gem4"}, "variant must be one of 'em', 'hard', 'gem1', 'gem2', 'gem3'; got 'gem4'"),
    ],
)
def test_wrong_options(options, words):
    with pytest.raises(ValueError, match=words):
        run(normals(), START, **options)


class Bare:
    """The two steps and nothing else: a normal mean."""

    def expect(self, y, theta):
        return -((y - theta) ** 2).sum() / 2, y.sum(), float(y.size)

    def maximise(self, statistics, theta):
        return statistics[0] / statistics[1]

    def log_prior(self, theta):
        return 0.0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"variant": "gem2"}, "variant='gem2' needs q, pack, unpack of the model, Bare"),
        ({"variant": "gem3"}, "needs parts, maximise_part"),
        ({"variant": "hard"}, "needs expect_best"),
        ({"stop": "q"}, "needs q"),
        ({"accelerate": True}, "accelerate=True needs pack, unpack"),
    ],
)
def test_what_a_model_has_to_have(options, words):
    with pytest.raises(ValueError, match=words):
        em(Bare(), [POINTS], 0.0, **options)


def test_a_fall_is_told():
    class Wrong(Bare):
        def maximise(self, statistics, theta):
            return theta + 1.0 if theta < 3.5 else theta

    with pytest.warns(ConvergenceWarning, match="the objective fell from"):
        found = em(Wrong(), [np.array([2.0, 3.0])], 2.0, tol=-0.1)
    assert not found.monotone
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        em(Wrong(), [np.array([2.0, 3.0])], 2.0, tol=1e-9, check=False, max_iter=50)


def test_nan_is_an_error():
    with pytest.raises(ValueError, match="not a number in pass 1"):
        em(Bare(), [np.array([np.nan])], 0.0)


def test_impossible_rows_are_named():
    model = EnumerableModel(POINTS, lambda y, t: np.where(y[:, None] > 6, -np.inf, 0.0) * np.ones(2), whole)
    with pytest.raises(ValueError, match="row 5 has probability 0"):
        em(model, model.chunks, START)
    with pytest.raises(ValueError, match="sum to 1"):
        f_function(normals().joint, np.ones((6, 2)), START)


def test_zero_times_log_zero():
    """A share of exactly 0 stays 0, and takes no part in Q."""
    found = run(normals(), ([1.0, 0.0], [0.0, 3.0], [4.0, 4.0]), tol=1e-9)
    np.testing.assert_allclose(found.theta[0], [1.0, 0.0])
    theta = ([1.0, 0.0], [2.0, 3.0], [4.0, 4.0])
    assert np.isfinite(q_function(normals().joint, theta, theta))


# --- restarts, acceleration, batches --------------------------------------------------------------------------


def test_restarts_keep_the_best():
    stuck, good = ([0.5, 0.5], [2.0, 2.0], [9.0, 9.0]), START
    model = normals()
    best = em_restarts(model, model.chunks, [stuck, good], tol=1e-9, max_iter=500)
    assert [r.value < -12.8 for r in best.runs] == [True, False]
    assert best.value == best.runs[1].value
    with pytest.raises(ValueError, match="at least 1 start"):
        em_restarts(model, model.chunks, [])


def slow_problem():
    rng = np.random.default_rng(0)
    y = np.concatenate([rng.normal(0, 1, 300), rng.normal(1.5, 1, 200)])  # strong overlap: EM crawls
    return normals(y), ([0.5, 0.5], [-1.0, 2.0], [1.0, 1.0])


def test_acceleration():
    model, start = slow_problem()
    plain = run(model, start, tol=1e-5)
    fast = run(model, start, tol=1e-5, accelerate=True)
    assert fast.monotone
    assert fast.passes < plain.passes / 3
    assert fast.value >= plain.value


def test_leaps_that_are_refused_are_not_made():
    class Careful(EnumerableModel):
        refused = 0

        def unpack(self, vector):
            self.refused += 1
            raise ValueError("no")

    model = Careful(POINTS, density, whole, pack=pack)
    found = run(model, START, accelerate=True)
    np.testing.assert_array_equal(found.values, run(normals(), START).values)
    assert model.refused > 1


def test_leaps_that_lead_down_are_taken_back():
    class Wild(EnumerableModel):
        def unpack(self, vector):
            a, mu, var = super().unpack(vector)
            return a, np.asarray(mu) + 50.0, var

    model = Wild(POINTS, density, whole, pack=pack, unpack=unpack)
    found = run(model, START, accelerate=True)
    assert found.monotone
    np.testing.assert_allclose(found.values[:3], run(normals(), START).values[:3])
    assert found.value == pytest.approx(-12.7235040128, abs=1e-8)


class Normals:
    """The same mixture with statistics that can be added up."""

    def expect(self, chunk, theta):
        (y,) = chunk
        joint = density(y, theta)
        L = logsumexp(joint, axis=1)
        g = np.exp(joint - L[:, None])
        return L.sum(), g.sum(axis=0), y @ g, (y * y) @ g

    def maximise(self, statistics, theta):
        n, first, second = statistics
        return n / n.sum(), first / n, second / n - (first / n) ** 2

    def log_prior(self, theta):
        return 0.0


def test_chunks_and_threads():
    model, start = slow_problem()
    whole_data = run(model, start, tol=1e-3)
    cut = [em(Normals(), Chunks(model.rows, rows=64), start, tol=1e-3, n_jobs=n) for n in (1, 3)]
    for a, b in zip(cut[0].theta, cut[1].theta):
        np.testing.assert_array_equal(a, b)
    close(cut[0].theta, whole_data.theta, rtol=1e-9)


def test_online_em_comes_near():
    rng = np.random.default_rng(1)
    y = np.where(rng.random(20000) < 0.3, rng.normal(-2, 1, 20000), rng.normal(3, 1.5, 20000))
    start = ([0.5, 0.5], [-1.0, 1.0], [4.0, 4.0])
    batches = Chunks(y, rows=256)
    exact = em(Normals(), batches, start, tol=1e-6, per=y.size, max_iter=500)
    found = online_em(Normals(), batches, start, per=y.size, tol=1e-3, random_state=0)
    assert found.converged
    assert found.passes < 10 < exact.passes
    close(found.theta, exact.theta, rtol=0.1)
    again = online_em(Normals(), batches, start, per=y.size, tol=1e-3, random_state=0)
    for a, b in zip(found.theta, again.theta):
        np.testing.assert_array_equal(a, b)


def test_the_rate_of_a_batch():
    theta, memory, seen = online_em_step(Bare(), [np.array([2.0, 4.0])], 0.0)
    assert (theta, memory.batches, memory.mass, seen) == (3.0, 1, 2.0, -10.0)
    theta, memory, _ = online_em_step(Bare(), [np.array([9.0])], theta, memory, decay=0.6)
    assert theta == pytest.approx(3 + 2**-0.6 * 6)
    assert memory.mass == 3.0
    weighed, _, _ = online_em_step(Bare(), [np.array([2.0, 4.0])], 0.0, RunningStatistics(), mass=5.0)
    assert weighed == 3.0  # the mean does not care
    with pytest.raises(ValueError, match=r"decay must be a number in \(0.5, 1\]"):
        online_em_step(Bare(), [POINTS], 0.0, decay=0.5)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_last_leap_is_not_made():
    """Nobody has looked at where it leads."""
    model, start = slow_problem()
    plain = run(model, start, tol=0, max_iter=2)
    fast = run(model, start, tol=0, max_iter=2, accelerate=True)
    np.testing.assert_array_equal(pack(fast.theta), pack(plain.theta))


def test_no_passes():
    model, start = slow_problem()
    for found in (run(model, start, max_iter=0), online_em(model, model.chunks, start, max_iter=0)):
        assert found.theta is start
        assert found.value == -np.inf


def test_gem3_of_a_model_without_parts_is_refused():
    """Without parts nothing would be maximised, and the start would count as converged."""
    model = coins()
    with pytest.raises(ValueError, match=r"variant='gem3'.*EnumerableModel has parts=0.*variant='em'"):
        em(model, model.chunks, (0.4, 0.6, 0.7), variant="gem3")
