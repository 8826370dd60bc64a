"""K-armed bandits, the strategies for them, and contextual bandits."""

import pickle

import numpy as np
import pytest
from scipy import integrate, stats

from tercet.core.callbacks import Recorder
from tercet.distributions import Bernoulli, Beta, Categorical, Gaussian, Uniform
from tercet.io import load_model, save_model
from tercet.linear_model import Ridge, SGDRegressor
from tercet.rl import (
    Bandit,
    BanditAgent,
    ContextualBanditAgent,
    LinUCB,
    Schedule,
    average_regret,
    incremental_mean,
    off_policy_value,
    softmax_policy,
)

ALGORITHMS = ("epsilon-greedy", "softmax", "ucb1", "thompson", "explore-only", "exploit-only")
RNG = np.random.default_rng


# --- incremental means (W14-03, case 1) ---------------------------------------------------------------------


def test_incremental_means_of_the_reference_case():
    Q, means = 0.0, []
    for count, v in enumerate([1, 0, 1, 1]):
        Q = incremental_mean(Q, v, count)
        means.append(Q)
    np.testing.assert_allclose(means, [1, 0.5, 2 / 3, 0.75], rtol=1e-15)


def test_the_count_is_that_before_the_new_value():
    """Algorithm 2 updates Q in line 11, before line 12 raises the count."""
    agent = BanditAgent(n_arms=3)
    seen = [agent.partial_fit(1, v).Q_[1] for v in (1, 0, 1, 1)]
    np.testing.assert_allclose(seen, [1, 0.5, 2 / 3, 0.75], rtol=1e-15)
    assert agent.counts_.tolist() == [0, 4, 0]


def test_incremental_mean_is_the_mean():
    values = RNG(0).normal(1e3, 1.0, size=(500, 4))
    Q = np.zeros(4)
    for count, row in enumerate(values):
        Q = incremental_mean(Q, row, count)
    np.testing.assert_allclose(Q, values.mean(axis=0), rtol=1e-13)
    agent = BanditAgent(n_arms=4).partial_fit(np.tile(np.arange(4), 500), values.ravel())
    np.testing.assert_allclose(agent.Q_, values.mean(axis=0), rtol=1e-13)
    np.testing.assert_allclose(agent.deviations_, values.var(axis=0) * 500, rtol=1e-10)


@pytest.mark.parametrize("count", [-1, 1.5])
def test_incremental_mean_refuses_counts_that_are_none(count):
    with pytest.raises(ValueError, match="count must be whole numbers"):
        incremental_mean(0.0, 1.0, count)


# --- Bandit (W14-02) ----------------------------------------------------------------------------------------


def test_arms_of_every_kind():
    rewards = np.array([0.0, 0.0, 4.0, 1.0])
    arms = [0.5, Bernoulli(0.3), Gaussian(2.0, 9.0), Uniform(0.0, 3.0), rewards, stats.expon(scale=0.7)]
    bandit = Bandit(arms)
    np.testing.assert_allclose(bandit.means, [0.5, 0.3, 2.0, 1.5, 1.25, 0.7])
    assert bandit.n_arms == 6
    assert bandit.best == 2
    np.testing.assert_allclose(bandit.gaps, 2.0 - bandit.means)
    drawn = bandit.pull(np.repeat(np.arange(6), 4000), random_state=0).reshape(6, 4000)
    assert (np.abs(drawn.mean(axis=1) - bandit.means) < 5 * drawn.std(axis=1) / np.sqrt(4000)).all()
    assert set(np.unique(drawn[0])) == {0.0, 1.0}
    assert set(np.unique(drawn[4])) == {0.0, 1.0, 4.0}


@pytest.mark.parametrize("arm", range(6))
def test_kernels_draw_from_the_distributions(arm):
    arms = [0.3, Gaussian(2.0, 9.0), Uniform(0.0, 3.0), [0.0, 0.0, 4.0, 1.0], stats.expon(scale=0.7), 0.0]
    got = BanditAgent(n_steps=20_000, random_state=1).fit(Bandit([arms[arm]])).rewards_
    expected = Bandit([arms[arm]]).pull(np.zeros(20_000, dtype=int), random_state=2)
    if arm in (1, 2, 4):
        assert stats.kstest(got, expected).pvalue > 1e-3
    else:
        for value in np.unique(expected):
            share = (expected == value).mean()
            assert abs((got == value).mean() - share) < 6 * np.sqrt(share / 20_000)
        assert set(np.unique(got)) == set(np.unique(expected))


def test_normal_arms():
    bandit = Bandit([1.0, 2.0], distribution="normal", scale=[0.5, 0.0])
    assert bandit.pull(1, random_state=0) == 2.0
    drawn = bandit.pull(np.zeros(5000, dtype=int), random_state=0)
    assert stats.kstest(drawn, stats.norm(1.0, 0.5).cdf).pvalue > 1e-3


def test_pulls_repeat_with_a_seed_and_go_on_with_a_generator():
    bandit = Bandit([0.5, 0.5])
    assert np.array_equal(bandit.pull([0, 1] * 50, random_state=3), bandit.pull([0, 1] * 50, random_state=3))
    rng = RNG(3)
    assert not np.array_equal(bandit.pull([0] * 100, rng), bandit.pull([0] * 100, rng))
    assert isinstance(bandit.pull(0, random_state=0), float)


def test_regret_of_pulls():
    np.testing.assert_allclose(Bandit([0.2, 0.9, 0.5]).regret([1, 0, 2, 1]), [0, 0.7, 1.1, 1.1])


@pytest.mark.parametrize(
    ("arms", "options", "message"),
    [
        ([], {}, "arms is empty"),
        ([0.2, 1.2], {}, "arm 1 has the probability 1.2"),
        ([0.2, -0.1], {}, "arm 1 has the probability -0.1"),
        ([0.2, np.nan], {}, "arm 1 has the probability nan"),
        ([0.2, np.inf], {"distribution": "normal"}, "the mean of arm 1 must be a finite number"),
        ([0.2, 1e200], {"distribution": "normal"}, "the mean of arm 1 must be a finite number of size"),
        ([[1.0, np.nan]], {}, "the rewards of arm 0 must be finite numbers; at place 1 there is nan"),
        ([0.5, []], {}, "arm 1 has no observed rewards"),
        ([0.5, [[1.0]]], {}, "arm 1 must be a number, a distribution or an array"),
        ([0.5, "x"], {}, "arm 1 must be a number"),
        ("abc", {}, "arms must be an array or a list"),
        (0.5, {}, "arms must be an array or a list"),
        ([Categorical([0.5, 0.5])], {}, "arm 0 is a distribution of vectors"),
        ([stats.cauchy()], {}, "the mean of arm 0 must be a finite number"),
        ([0.5], {"distribution": "poisson"}, "distribution must be 'bernoulli' or 'normal'; got 'poisson'"),
        ([0.5], {"distribution": "normal", "scale": -1.0}, "scale must be a finite number"),
        ([0.5], {"distribution": "normal", "scale": [1.0, 2.0]}, "scale must be .* each of the 1 arms"),
        ([0.5], {"drift": 0.1}, "only the means of normal arms can drift; arm 0"),
        ([0.5], {"distribution": "normal", "drift": -1}, "drift must be a finite number"),
    ],
)
def test_bad_arms_are_named(arms, options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        Bandit(arms, **options)


def test_arms_out_of_range_are_refused():
    bandit = Bandit([0.1, 0.2])
    for arm in (2, -1, [0, 5]):
        with pytest.raises(ValueError, match=r"there is no arm .*; arms are numbered from 0 to 1"):
            bandit.pull(arm)
    with pytest.raises(ValueError, match="arms must be whole numbers"):
        bandit.pull(0.5)


def test_a_distribution_that_gives_no_numbers_is_refused():
    class Odd:
        def mean(self):
            return 1.0

        def rvs(self, size, random_state):
            return np.full(size, np.nan)

    with pytest.raises(ValueError, match="the distribution of arm 0 must give finite numbers"):
        BanditAgent(n_steps=5).fit(Bandit([Odd()]))


# --- algorithms ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_what_a_fit_learns_is_the_means_of_its_log(algorithm):
    bandit = Bandit([0.2, 0.5, 0.7])
    agent = BanditAgent(algorithm, 777, random_state=0).fit(bandit)
    counts = np.bincount(agent.actions_, minlength=3)
    assert np.array_equal(agent.counts_, counts)
    sums = np.bincount(agent.actions_, weights=agent.rewards_, minlength=3)
    np.testing.assert_allclose(agent.Q_, sums / np.maximum(counts, 1), rtol=1e-12)
    np.testing.assert_allclose(agent.regret_, bandit.regret(agent.actions_), rtol=1e-9)
    assert agent.cumulative_reward_ == agent.rewards_.sum()
    assert agent.best_ == agent.predict() == np.argmax(agent.Q_)
    assert agent.predict(np.zeros((4, 0))).tolist() == [agent.best_] * 4
    history = agent.history_
    assert len(history["block"]) == len(history["regret"]) == 98  # of 8 pulls, the last one of 1
    np.testing.assert_allclose(history["regret"][-1], agent.regret_[-1])
    np.testing.assert_allclose(history["mean_reward"][0], agent.rewards_[:8].mean())
    np.testing.assert_allclose(history["best_share"][0], (agent.actions_[:8] == 2).mean())


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_same_seed_gives_the_same_bits(algorithm):
    bandit = Bandit([0.2, Uniform(0, 1), [0.0, 1.0, 0.5]])
    first, second, other = (BanditAgent(algorithm, 500, random_state=s).fit(bandit) for s in (5, 5, 6))
    for name in ("actions_", "rewards_", "regret_", "Q_", "counts_"):
        assert np.array_equal(getattr(first, name), getattr(second, name))
    assert not np.array_equal(first.rewards_, other.rewards_)
    choices = [[agent.choose() for _ in range(20)] for agent in (first, second)]
    assert choices[0] == choices[1]


def test_exploring_only_costs_the_same_at_every_round():
    means = np.array([0.1, 0.5, 0.6, 0.9])
    agent = BanditAgent("explore-only", 4000, random_state=0).fit(means)
    assert agent.counts_.tolist() == [1000] * 4
    assert agent.actions_[:8].tolist() == [0, 1, 2, 3] * 2
    rounds = agent.regret_[3::4]
    np.testing.assert_allclose(rounds, np.arange(1, 1001) * 4 * (means.max() - means.mean()), rtol=1e-9)


def test_exploiting_only_stays_with_an_arm_that_paid():
    agent = BanditAgent("exploit-only", 2000, random_state=3).fit([0.3, 0.4, 0.5])
    Q, counts = np.zeros(3), np.zeros(3, dtype=int)
    for k, v in zip(agent.actions_, agent.rewards_):
        assert Q[k] == Q.max()
        Q[k] = incremental_mean(Q[k], v, counts[k])
        counts[k] += 1
    first = int(np.argmax(agent.rewards_ > 0))
    assert (agent.actions_[first:] == agent.actions_[first]).all()


def test_ties_are_broken_at_random():
    first = [BanditAgent("exploit-only", 1, random_state=s).fit([0.5] * 4).actions_[0] for s in range(400)]
    counts = np.bincount(first, minlength=4)
    assert stats.chisquare(counts).pvalue > 1e-3


def test_epsilon_is_the_share_of_random_arms():
    bandit = Bandit([[0.0], [1.0], [0.0], [0.0]])
    agent = BanditAgent(epsilon=0.2, n_steps=40_000, initial_value=2.0, random_state=0).fit(bandit)
    others = (agent.actions_[100:] != 1).mean()
    assert abs(others - 0.2 * 3 / 4) < 5 * np.sqrt(0.15 * 0.85 / 40_000)
    greedy = BanditAgent(epsilon=0.0, n_steps=500, initial_value=2.0, random_state=0).fit(bandit)
    assert greedy.counts_.tolist() == [1, 497, 1, 1]
    explore = BanditAgent(epsilon=1.0, n_steps=40_000, random_state=0).fit(bandit)
    assert stats.chisquare(explore.counts_).pvalue > 1e-3


def test_a_falling_epsilon_finds_the_best_arm():
    bandit = Bandit([0.3, 0.5, 0.4, 0.65])
    falling = BanditAgent(epsilon=Schedule("inverse_sqrt"), n_steps=20_000)
    finals = [falling.set_params(random_state=s).fit(bandit).best_ for s in range(10)]
    assert finals == [3] * 10
    curve = average_regret(falling, bandit, n_runs=30, random_state=0)
    fixed = average_regret(BanditAgent(n_steps=20_000), bandit, n_runs=30, random_state=0)
    assert curve.mean[-1] < 0.6 * fixed.mean[-1]
    # random arms alone cost Σ 1/√t (μ* - mean) ≈ 2 √T (μ* - mean)
    assert curve.mean[-1] > 2 * np.sqrt(20_000) * (0.65 - bandit.means.mean()) * 0.9


def test_softmax_probabilities_of_the_reference_case():
    np.testing.assert_allclose(softmax_policy([0.4, 0.2], 0.1), [0.88079708, 0.11920292], atol=1e-8)
    np.testing.assert_allclose(softmax_policy([0.4, 0.2], 1.0), [0.549834, 0.450166], atol=1e-6)
    np.testing.assert_allclose(softmax_policy([0.4, 0.2], 0.01), [1, 0], atol=1e-8)


@pytest.mark.parametrize(("temperature", "expected"), [(0.1, 0.88079708), (1.0, 0.549834)])
def test_softmax_chooses_with_these_probabilities(temperature, expected):
    bandit = Bandit([[0.4], [0.2]])
    agent = BanditAgent("softmax", 40_000, temperature=temperature, random_state=0).fit(bandit)
    share = (agent.actions_[50:] == 0).mean()
    assert abs(share - expected) < 5 * np.sqrt(expected * (1 - expected) / 40_000)


def test_softmax_between_exploiting_and_exploring():
    bandit = Bandit([[900.0], [1000.0], [-1e6]])
    cold = BanditAgent("softmax", 3000, temperature=1e-9, initial_value=2e3, random_state=0).fit(bandit)
    assert cold.counts_.tolist() == [1, 2998, 1]
    for temperature in (1e12, np.inf):
        hot = BanditAgent("softmax", 30_000, temperature=temperature, random_state=0).fit(bandit)
        assert stats.chisquare(hot.counts_).pvalue > 1e-3
    cooling = Schedule("exponential", 1e4, 1e-6, length=300)
    cooled = BanditAgent("softmax", 5000, temperature=cooling, initial_value=2e3, random_state=0).fit(bandit)
    assert (cooled.actions_[-1000:] == 1).all()


def test_ucb1_maximises_its_bounds():
    agent = BanditAgent("ucb1", 400, exploration=0.7, random_state=0).fit([0.3, 0.6, 0.5])
    assert sorted(agent.actions_[:3]) == [0, 1, 2]
    Q, n = np.zeros(3), np.zeros(3, dtype=int)
    for t, (k, v) in enumerate(zip(agent.actions_, agent.rewards_)):
        if t >= 3:
            bounds = Q + 0.7 * np.sqrt(2 * np.log(t) / n)
            assert bounds[k] >= bounds.max() - 1e-12
        Q[k], n[k] = incremental_mean(Q[k], v, n[k]), n[k] + 1


def test_ucb1_keeps_within_the_bound_of_auer():
    """Expected regret after T pulls is at most 8 Σ ln T/Δ + (1 + π²/3) Σ Δ."""
    for means in ([0.4, 0.6], [0.1, 0.2, 0.8], [0.45, 0.5, 0.55, 0.9]):
        curve = average_regret(BanditAgent("ucb1", 5000), means, n_runs=50, random_state=0)
        gaps = Bandit(means).gaps
        gaps = gaps[gaps > 0]
        bound = 8 * np.log(curve.steps) * np.sum(1 / gaps) + (1 + np.pi**2 / 3) * gaps.sum()
        assert (curve.mean + 3 * curve.standard_error < bound)[1:].all()


def test_thompson_matches_the_probability_to_be_best():
    """An arm is chosen with the posterior probability that its mean is the highest."""
    agent = BanditAgent("thompson", random_state=0)
    agent.partial_fit([0] * 6 + [1] * 3 + [2], [1, 0, 1, 1, 0, 0, 1, 0, 1, 0])
    chosen = np.bincount([agent.choose() for _ in range(6000)], minlength=3)
    posteriors = [stats.beta(4, 4), stats.beta(3, 2), stats.beta(1, 2)]
    expected = [best_probability(posteriors, k, 0, 1) for k in range(3)]
    assert stats.chisquare(chosen, 6000 * np.array(expected) / sum(expected)).pvalue > 1e-3


def test_thompson_of_normal_rewards_matches_the_probability_to_be_best():
    rng = RNG(0)
    rewards = [rng.normal(0.0, 1.0, 6), rng.normal(0.3, 2.0, 5), rng.normal(0.5, 0.5, 9)]
    agent = BanditAgent("thompson", likelihood="normal", n_arms=3, random_state=0)
    for k, values in enumerate(rewards):
        agent.partial_fit([k] * len(values), values)
    chosen = np.bincount([agent.choose() for _ in range(6000)], minlength=3)
    posteriors = [  # of the mean, with the prior dμ dσ: Honda and Takemura 2014
        stats.t(len(v) - 2, v.mean(), np.sqrt(((v - v.mean()) ** 2).sum() / (len(v) * (len(v) - 2))))
        for v in rewards
    ]
    expected = [best_probability(posteriors, k, -80, 80) for k in range(3)]
    assert stats.chisquare(chosen, 6000 * np.array(expected) / sum(expected)).pvalue > 1e-3


def best_probability(posteriors, k, low, high):
    """P(μ_k > all others) = ∫ p_k(x) Π_j P(μ_j < x) dx."""

    def density(x):
        others = [p.cdf(x) for j, p in enumerate(posteriors) if j != k]
        return posteriors[k].pdf(x) * np.prod(others, axis=0)

    return integrate.quad(density, low, high, points=[p.mean() for p in posteriors], limit=500)[0]


def test_thompson_pulls_each_normal_arm_four_times_first():
    agent = BanditAgent("thompson", 12, likelihood="normal", random_state=0)
    bandit = Bandit([1.0, 2.0, 3.0], distribution="normal")
    assert agent.fit(bandit).counts_.tolist() == [4, 4, 4]
    scaled = Bandit([-9e6, 1e6, 3e6], distribution="normal", scale=4e6)
    assert agent.set_params(n_steps=4000).fit(scaled).counts_.argmax() == 2


@pytest.mark.parametrize("algorithm", ["ucb1", "thompson"])
def test_regret_grows_like_a_logarithm(algorithm):
    curve = average_regret(BanditAgent(algorithm, 16_000), [0.2, 0.5, 0.8], n_runs=20, random_state=0)
    late = curve.mean[-1] - curve.mean[curve.steps.searchsorted(8000)]
    early = curve.mean[curve.steps.searchsorted(1000)] - curve.mean[curve.steps.searchsorted(500)]
    assert late < 3 * early + 5  # doubling the time costs about the same
    assert curve.best_share[-100:].mean() > 0.95


def test_a_constant_step_size_weights_recent_rewards_more():
    rewards = RNG(0).random(50)
    agent = BanditAgent(n_arms=1, learning_rate=0.1, initial_value=3.0).partial_fit([0] * 50, rewards)
    weights = 0.1 * 0.9 ** np.arange(49, -1, -1)
    np.testing.assert_allclose(agent.Q_[0], 0.9**50 * 3.0 + weights @ rewards, rtol=1e-12)
    harmonic = BanditAgent(n_arms=1, learning_rate=Schedule("harmonic", per="visit"))
    np.testing.assert_allclose(harmonic.partial_fit([0] * 50, rewards).Q_[0], rewards.mean(), rtol=1e-12)


def test_bandits_that_drift():
    bandit = Bandit(np.zeros(5), distribution="normal", drift=0.05)
    before = bandit.means.copy()
    recent, all_ = (
        np.mean(
            [
                BanditAgent(n_steps=5000, learning_rate=rate, random_state=s).fit(bandit).regret_[-1]
                for s in range(8)
            ]
        )
        for rate in (0.1, None)
    )
    assert recent < 0.7 * all_
    assert np.array_equal(bandit.means, before)
    agent = BanditAgent(n_steps=200, random_state=0).fit(bandit)
    assert agent.regret_[0] == 0.0  # at first all arms are the best
    assert (np.diff(agent.regret_) >= 0).all()


# --- online -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_choosing_and_learning_one_by_one(algorithm):
    bandit, rng = Bandit([0.1, 0.9]), RNG(0)
    agent = BanditAgent(algorithm, n_arms=2, random_state=0)
    for _ in range(60):
        k = agent.choose()
        agent.partial_fit(k, bandit.pull(k, rng))
    assert agent.counts_.sum() == 60
    if algorithm not in ("explore-only", "exploit-only"):
        assert agent.best_ == 1


def test_pieces_are_the_same_as_the_whole():
    rng = RNG(0)
    actions, rewards = rng.integers(3, size=90), rng.random(90)
    whole = BanditAgent("thompson", n_arms=3, random_state=0).partial_fit(actions, rewards)
    pieces = BanditAgent("thompson", n_arms=3, random_state=0)
    for part in np.split(np.arange(90), 9):
        pieces.partial_fit(actions[part], rewards[part])
    assert np.array_equal(whole.Q_, pieces.Q_)
    assert [whole.choose() for _ in range(30)] == [pieces.choose() for _ in range(30)]


def test_learning_goes_on_after_a_fit():
    agent = BanditAgent("ucb1", 100, random_state=0).fit([0.2, 0.4])
    Q = agent.Q_.copy()
    kept = agent.Q_
    agent.partial_fit([0, 1], [1.0, 0.0])
    assert agent.counts_.sum() == 102
    assert np.array_equal(kept, Q)  # what was handed out does not change


def test_replay_is_what_the_agent_would_have_got():
    rng, bandit = RNG(0), Bandit([0.2, 0.5, 0.8])
    actions = rng.integers(3, size=30_000)
    rewards = bandit.pull(actions, rng)
    for algorithm in ("ucb1", "thompson"):
        agent = BanditAgent(algorithm, random_state=0)
        got = agent.replay(actions, rewards)
        assert abs(len(got) - 10_000) < 400
        assert agent.counts_.sum() == len(got)
        curve = average_regret(BanditAgent(algorithm, len(got)), bandit, n_runs=20, random_state=0)
        assert abs(got.mean() - (0.8 - curve.mean[-1] / len(got))) < 5 * 0.4 / np.sqrt(len(got))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda a: a.partial_fit([0, 2], [1, 1]),
            "actions holds 2 at place 1; arms are numbered from 0 to 1",
        ),
        (lambda a: a.partial_fit([-1], [1]), "actions holds -1 at place 0"),
        (lambda a: a.partial_fit([0.5], [1]), "actions must be whole numbers"),
        (
            lambda a: a.partial_fit([0, 1], [1]),
            r"rewards must have the shape \(2,\), as actions have; got \(1,\)",
        ),
        (
            lambda a: a.partial_fit([0, 1], [1, np.nan]),
            "rewards must be finite numbers; at place 1 there is nan",
        ),
        (lambda a: a.partial_fit([0, 1], ["a", "b"]), "rewards must be numbers"),
        (lambda a: a.replay([0, 3], [1, 1]), "actions holds 3 at place 1"),
        (lambda a: a.fit([0.1, 0.2, 0.3]), "n_arms is 2, but the bandit has 3 arms"),
        (lambda a: a.set_params(epsilon=1.5).fit([0.1, 0.2]), "parameter 'epsilon' must be"),
        (lambda a: a.set_params(temperature=0.0).fit([0.1, 0.2]), "parameter 'temperature' must be"),
        (lambda a: a.set_params(algorithm="ucb").fit([0.1, 0.2]), "parameter 'algorithm' must be one of"),
        (lambda a: a.set_params(n_steps=0).fit([0.1, 0.2]), "parameter 'n_steps' must be"),
        (
            lambda a: a.set_params(algorithm="thompson", learning_rate=0.1).fit([0.1, 0.2]),
            "parameter 'learning_rate' must be None",
        ),
        (
            lambda a: a.set_params(algorithm="thompson").fit(Bandit([1.0, 2.0], distribution="normal")),
            "needs rewards from 0 to 1; got .* Use likelihood='normal'",
        ),
        (
            lambda a: a.set_params(algorithm="thompson").partial_fit([0, 1], [0.5, 1.5]),
            "needs rewards from 0 to 1; got 1.5",
        ),
    ],
)
def test_bad_input_of_an_agent(call, message):
    with pytest.raises(ValueError, match=message):
        call(BanditAgent(n_arms=2))


def test_a_refused_call_changes_nothing():
    agent = BanditAgent("thompson", n_arms=2, random_state=0).partial_fit([0, 1], [1, 0])
    before = pickle.dumps(agent)
    with pytest.raises(ValueError, match="needs rewards from 0 to 1"):
        agent.partial_fit([0, 1], [0.5, 1.5])
    assert pickle.dumps(agent) == before


def test_without_a_number_of_arms_there_is_no_choice():
    with pytest.raises(ValueError, match="the number of arms is not known; give it as parameter 'n_arms'"):
        BanditAgent().choose()
    assert BanditAgent().partial_fit([0, 3], [1, 0]).counts_.tolist() == [1, 0, 0, 1]
    with pytest.raises(Exception, match="not fitted yet"):
        BanditAgent().predict()


# --- many runs ----------------------------------------------------------------------------------------------


def test_average_regret_does_not_depend_on_threads():
    bandit = Bandit([0.3, Beta(2.0, 2.0), [0.0, 1.0]])
    agent = BanditAgent("softmax", 2500)
    curves = [
        average_regret(agent, bandit, n_runs=7, n_points=60, random_state=1, n_jobs=n) for n in (1, 2, 4)
    ]
    for curve in curves[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(curve, curves[0]))
    assert curves[0].runs.shape == (7, 60)
    assert curves[0].steps[-1] == 2500


def test_average_regret_adds_up():
    agent = BanditAgent(n_steps=100)
    curve = average_regret(agent, [0.3, 0.7], n_runs=200, random_state=0)
    assert curve.steps.tolist() == list(range(1, 101))
    np.testing.assert_allclose(curve.mean, curve.runs.mean(axis=0))
    regret = np.cumsum(0.4 * (1 - curve.best_share))
    np.testing.assert_allclose(curve.mean, regret, rtol=1e-9)
    fits = [agent.set_params(random_state=s).fit([0.3, 0.7]).regret_[-1] for s in range(200)]
    gap = abs(np.mean(fits) - curve.mean[-1])
    assert gap < 5 * np.hypot(curve.standard_error[-1], np.std(fits) / np.sqrt(200))
    assert np.isnan(average_regret(agent, [0.3], n_runs=1).standard_error).all()


def test_average_regret_refuses_what_is_no_bandit_agent():
    with pytest.raises(TypeError, match="agent must be a BanditAgent; got LinUCB"):
        average_regret(LinUCB(), [0.5])
    with pytest.raises(ValueError, match="n_runs must be an integer of at least 1; got 0"):
        average_regret(BanditAgent(), [0.5], n_runs=0)


# --- LinUCB -------------------------------------------------------------------------------------------------


def contexts(n=300, d=5, n_arms=3, seed=0):
    rng = RNG(seed)
    X, theta = rng.normal(size=(n, d)), rng.normal(size=(n_arms, d))
    return X, theta, X @ theta.T + 0.3 * rng.normal(size=(n, n_arms))


@pytest.mark.parametrize("algorithm", ["linucb", "thompson", "epsilon-greedy"])
def test_rows_one_by_one_are_the_batch_ridge_solution(algorithm):
    X, _, R = contexts()
    agent = LinUCB(algorithm=algorithm, ridge=0.7, random_state=0).play(X, R)
    batch = LinUCB(ridge=0.7).fit(X, agent.actions_, agent.rewards_)
    assert agent.counts_.sum() == 300
    for k in range(3):
        rows = X[agent.actions_ == k]
        A = 0.7 * np.eye(5) + rows.T @ rows
        theta = np.linalg.solve(A, rows.T @ agent.rewards_[agent.actions_ == k])
        ridge = Ridge(alpha=0.7, fit_intercept=False).fit(rows, agent.rewards_[agent.actions_ == k])
        for model in (agent, batch):
            np.testing.assert_allclose(model.coef_[k], theta, rtol=1e-11, atol=1e-13)
            np.testing.assert_allclose(model.coef_[k], ridge.coef_, rtol=1e-9)
            np.testing.assert_allclose(model.factors_[k].T @ model.factors_[k], A, rtol=1e-12, atol=1e-12)
            assert np.array_equal(model.factors_[k], np.triu(model.factors_[k]))


def test_upper_bounds():
    X, _, R = contexts(40)
    agent = LinUCB(1.7, ridge=0.5).fit(X, np.arange(40) % 3, R[np.arange(40), np.arange(40) % 3])
    new = RNG(1).normal(size=(6, 5))
    expected = np.empty((6, 3))
    for k in range(3):
        A = 0.5 * np.eye(5) + X[k::3].T @ X[k::3]
        widths = np.sqrt(np.einsum("ij,jk,ik->i", new, np.linalg.inv(A), new))
        expected[:, k] = new @ agent.coef_[k] + 1.7 * widths
    np.testing.assert_allclose(agent.decision_function(new), expected, rtol=1e-11)
    assert np.array_equal(agent.choose(new), expected.argmax(axis=1))
    assert np.array_equal(agent.predict(new), (new @ agent.coef_.T).argmax(axis=1))
    np.testing.assert_allclose(agent.expected_rewards(new), new @ agent.coef_.T)


def test_playing_maximises_the_bounds_of_the_rows_before():
    X, _, R = contexts(60)
    agent = LinUCB(0.8).play(X, R)
    step = LinUCB(0.8, n_arms=3)
    for x, a, r in zip(X, agent.actions_, agent.rewards_):
        bounds = step.decision_function(x[None])[0]
        assert a == bounds.argmax()
        step.partial_fit(x[None], a, r)
    np.testing.assert_allclose(step.coef_, agent.coef_, rtol=1e-10, atol=1e-12)
    best = R.max(axis=1)
    np.testing.assert_allclose(agent.regret_, np.cumsum(best - agent.rewards_))


def test_thompson_draws_from_the_posterior():
    X, _, R = contexts(30)
    agent = LinUCB(0.6, algorithm="thompson", random_state=0)
    agent.fit(X, np.arange(30) % 3, R[np.arange(30), np.arange(30) % 3])
    x = np.tile([[0.3, -1.0, 0.5, 0.0, 2.0]], (20_000, 1))
    draws = agent.decision_function(x)
    bounds = (
        LinUCB(0.6).fit(X, np.arange(30) % 3, R[np.arange(30), np.arange(30) % 3]).decision_function(x[:1])[0]
    )
    mean = agent.expected_rewards(x[:1])[0]
    for k in range(3):
        assert stats.kstest(draws[:, k], stats.norm(mean[k], bounds[k] - mean[k]).cdf).pvalue > 1e-3
    assert np.abs(np.corrcoef(draws.T) - np.eye(3)).max() < 0.04


@pytest.mark.parametrize("algorithm", ["linucb", "thompson", "epsilon-greedy"])
def test_contextual_agents_find_good_arms(algorithm):
    X, theta, R = contexts(4000)
    agent = LinUCB(0.5, algorithm=algorithm, epsilon=Schedule("inverse_sqrt"), random_state=0).play(X, R)
    new = RNG(5).normal(size=(500, 5))
    values = new @ theta.T
    lost = values.max(axis=1) - values[np.arange(500), agent.predict(new)]
    assert lost.mean() < 0.02
    means = X @ theta.T  # rewards have noise: what the best arm of a row would have given, nobody can know
    regret = np.cumsum(means.max(axis=1) - means[np.arange(4000), agent.actions_])
    assert regret[-1] - regret[1999] < 0.6 * regret[1999]
    assert regret[-1] < 0.15 * np.sum(means.max(axis=1) - means.mean(axis=1))


def test_factors_stay_positive_definite_where_inverses_do_not():
    """Nearly collinear contexts of very different sizes: A has the condition number 1e20."""
    rng = RNG(0)
    X = np.outer(1e6 * rng.random(400) + 1e8, np.ones(4)) + rng.normal(size=(400, 4))
    agent = LinUCB(ridge=1e-4, n_arms=1)
    for x in X:
        agent.partial_fit(x[None], 0, float(x.sum()))
    assert (np.diagonal(agent.factors_[0]) > 0).all()
    widths = agent.decision_function(X) - agent.expected_rewards(X)
    assert np.isfinite(widths).all()
    batch = LinUCB(ridge=1e-4).fit(X, np.zeros(400, dtype=int), X.sum(axis=1))
    np.testing.assert_allclose(
        np.abs(np.diagonal(batch.factors_[0])), np.diagonal(agent.factors_[0]), rtol=1e-6
    )


def test_replay_of_contextual_choices():
    X, _, R = contexts(6000)
    rng = RNG(2)
    log = rng.integers(3, size=6000)
    rewards = R[np.arange(6000), log]
    agent = LinUCB(0.5)
    got = agent.replay(X, log, rewards)
    assert agent.counts_.sum() == len(got)
    assert abs(len(got) - 2000) < 200
    played = LinUCB(0.5).play(X[:2000], R[:2000])
    assert abs(got.mean() - played.rewards_.mean()) < 0.2
    assert got.mean() > rewards.mean() + 0.5


def test_the_same_seed_makes_the_same_choices():
    X, _, R = contexts()
    for algorithm in ("thompson", "epsilon-greedy"):
        a, b, c = (LinUCB(algorithm=algorithm, random_state=s).play(X, R) for s in (0, 0, 1))
        assert np.array_equal(a.actions_, b.actions_)
        assert np.array_equal(a.coef_, b.coef_)
        assert not np.array_equal(a.actions_, c.actions_)
        assert np.array_equal(a.choose(X), b.choose(X))


def test_fit_forgets_and_partial_fit_does_not():
    X, _, R = contexts(50)
    actions, rewards = np.arange(50) % 3, R[np.arange(50), np.arange(50) % 3]
    agent = LinUCB().fit(X, actions, rewards).fit(X, actions, rewards)
    assert agent.counts_.sum() == 50
    agent.partial_fit(X, actions, rewards)
    assert agent.counts_.sum() == 100
    twice = LinUCB().fit(np.tile(X, (2, 1)), np.tile(actions, 2), np.tile(rewards, 2))
    np.testing.assert_allclose(agent.coef_, twice.coef_, rtol=1e-11)
    few = LinUCB(n_arms=3)
    for part in np.array_split(np.arange(50), 20):  # fewer rows than features: row by row
        few.partial_fit(X[part], actions[part], rewards[part])
    np.testing.assert_allclose(few.coef_, LinUCB().fit(X, actions, rewards).coef_, rtol=1e-11)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda a, X: a.predict(X[:, :2]), "X has 2 features, but LinUCB is expecting 5 features"),
        (lambda a, X: a.choose(X[0]), "Expected 2D array, got 1D array"),
        (lambda a, X: a.partial_fit(X[:, :4], [0] * 10, [0.0] * 10), "X has 4 features"),
        (lambda a, X: a.partial_fit(X, [3] + [0] * 9, np.zeros(10)), "actions holds 3 at place 0"),
        (lambda a, X: a.partial_fit(X, [0], [1.0]), "actions must have the length 10, as X has; got 1"),
        (lambda a, X: a.partial_fit(X, [0] * 10, [1.0]), r"rewards must have the shape \(10,\)"),
        (lambda a, X: a.partial_fit(X, [0] * 10, [np.nan] * 10), "rewards must be finite numbers"),
        (lambda a, X: a.partial_fit(X * np.nan, [0] * 10, [0.0] * 10), "NaN"),
        (lambda a, X: a.play(X, np.zeros((10, 4))), r"rewards must have the shape \(10, 3\); got \(10, 4\)"),
        (lambda a, X: a.play(X, np.zeros((9, 3))), r"rewards must have the shape \(10, 3\); got \(9, 3\)"),
        (lambda a, X: a.set_params(alpha=-1.0).choose(X), "parameter 'alpha' must be"),
        (
            lambda a, X: a.set_params(ridge=0.0).partial_fit(X, [0] * 10, [0.0] * 10),
            "parameter 'ridge' must be",
        ),
    ],
)
def test_bad_input_of_linucb(call, message):
    X, _, R = contexts(10)
    with pytest.raises(ValueError, match=message):
        call(LinUCB(n_arms=3).play(X, R), X)


def test_numbers_that_overflow_are_no_model():
    with pytest.raises(ValueError, match="allowed are at most"):
        LinUCB().fit([[1e200]], [0], [1.0])
    with pytest.raises(ValueError, match=r"rewards must be of size 1e\+140 at most; got -1e\+300"):
        LinUCB().fit([[1e100]], [0], [-1e300])
    assert np.isfinite(LinUCB(ridge=1e-300).fit([[1e-150], [1e140]], [0, 1], [1e140, 1e140]).coef_).all()
    with pytest.raises(Exception, match="not fitted yet"):
        LinUCB().choose([[1.0]])


# --- contextual agents of any regressor ---------------------------------------------------------------------


def test_contextual_agent_of_a_regressor():
    rng = RNG(0)
    X = rng.normal(size=(600, 2))
    R = np.column_stack([X[:, 0], X[:, 1], -X.sum(axis=1)])
    agent = ContextualBanditAgent(SGDRegressor(), n_arms=3, epsilon=0.2, random_state=0)
    for x, r in zip(X, R):
        k = agent.choose(x[None])
        agent.partial_fit(x[None], k, r[k])
    assert (agent.predict(X) == R.argmax(axis=1)).mean() > 0.9
    assert agent.counts_.sum() == 600
    explored = (agent.choose(np.tile([[5.0, 0.0]], (4000, 1))) != 0).mean()
    assert abs(explored - 0.2 * 2 / 3) < 5 * np.sqrt(0.13 / 4000)


def test_contextual_agent_fits_any_regressor():
    X, _, R = contexts(200)
    actions = np.arange(200) % 3
    rewards = R[np.arange(200), actions]
    agent = ContextualBanditAgent(Ridge(alpha=1.0, fit_intercept=False), random_state=0).fit(
        X, actions, rewards
    )
    linear = LinUCB(ridge=1.0).fit(X, actions, rewards)
    np.testing.assert_allclose(agent.expected_rewards(X), linear.expected_rewards(X), rtol=1e-8)
    with pytest.raises(TypeError, match="Ridge has none"):
        agent.partial_fit(X, actions, rewards)
    with pytest.raises(TypeError, match="estimator must be a regressor; got 3"):
        ContextualBanditAgent(3).fit(X, actions, rewards)


def test_new_arms_come_first():
    agent = ContextualBanditAgent(SGDRegressor(), n_arms=3, epsilon=0.0, random_state=0)
    assert set(agent.choose(np.zeros((100, 2)))) == {0, 1, 2}
    agent.partial_fit([[1.0, 0.0]] * 2, [0, 2], [5.0, 1.0])
    assert agent.choose([[1.0, 0.0]]).tolist() == [1]
    assert agent.predict([[1.0, 0.0]]).tolist() == [0]
    assert np.isnan(agent.expected_rewards([[1.0, 0.0]])).tolist() == [[False, True, False]]


# --- off-policy evaluation ----------------------------------------------------------------------------------


@pytest.mark.parametrize("normalize", [False, True])
def test_off_policy_values_are_right_within_their_error(normalize):
    means = np.array([0.2, 0.5, 0.8])
    logged, target = np.array([0.6, 0.3, 0.1]), np.array([0.1, 0.2, 0.7])
    errors, said = [], []
    for seed in range(200):
        rng = RNG(seed)
        actions = rng.choice(3, size=400, p=logged)
        rewards = Bandit(means).pull(actions, rng)
        found = off_policy_value(rewards, logged[actions], target[actions], normalize=normalize)
        errors.append(found.value - target @ means)
        said.append(found.standard_error)
    assert abs(np.mean(errors)) < 4 * np.std(errors) / np.sqrt(200) + 0.01 * normalize
    assert abs(np.mean(said) / np.std(errors) - 1) < 0.15


def test_a_policy_evaluated_on_itself():
    found = off_policy_value([1.0, 0.0, 3.0], [0.2, 0.5, 0.3], [0.2, 0.5, 0.3])
    assert found.value == pytest.approx(4 / 3)
    assert found.effective_size == pytest.approx(3)
    assert found.standard_error == pytest.approx(stats.sem([1.0, 0.0, 3.0]))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (([], [], []), "propensities is empty"),
        (([1.0], [0.0], [1.0]), "propensities must be above 0 and at most 1.* got 0"),
        (([1.0], [1.1], [1.0]), "propensities must be above 0 and at most 1.* got 1.1"),
        (([1.0], [0.5], [1.1]), "target_probabilities must be from 0 to 1; got 1.1"),
        (([1.0, 2.0], [0.5], [1.0]), r"rewards must have the shape \(1,\), as propensities have; got \(2,\)"),
        (([np.nan], [0.5], [1.0]), "rewards must be finite numbers"),
        (([1.0], [0.5], [0.0]), "would have made none of the choices"),
    ],
)
def test_bad_input_of_off_policy_value(given, message):
    with pytest.raises(ValueError, match=message):
        off_policy_value(*given)


# --- copies -------------------------------------------------------------------------------------------------


def fitted_agents():
    X, _, R = contexts(60)
    actions = np.arange(60) % 3
    return [
        BanditAgent("thompson", 50, random_state=0).fit([0.2, 0.8]),
        BanditAgent(epsilon=Schedule("inverse_sqrt"), n_steps=50, random_state=0).fit([0.2, 0.8]),
        LinUCB(algorithm="thompson", random_state=0).play(X, R),
        ContextualBanditAgent(SGDRegressor(), random_state=0).fit(X, actions, R[np.arange(60), actions]),
    ]


@pytest.mark.parametrize("agent", fitted_agents(), ids=["thompson", "schedule", "linucb", "regressor"])
def test_pickles_go_on_where_the_agent_was(agent):
    copy = pickle.loads(pickle.dumps(agent))
    given = () if isinstance(agent, BanditAgent) else (contexts(25, seed=3)[0],)
    if given:
        assert np.array_equal(copy.choose(*given), agent.choose(*given))
    else:
        assert [copy.choose() for _ in range(25)] == [agent.choose() for _ in range(25)]
    assert np.array_equal(copy.predict(*given), agent.predict(*given))


def test_bandits_can_be_pickled():
    bandit = pickle.loads(pickle.dumps(Bandit([0.5, Uniform(0, 2), [1.0, 2.0]])))
    assert bandit.pull([0, 1, 2], random_state=0).shape == (3,)


def test_damaged_models_are_refused():
    agent = BanditAgent(n_steps=50, random_state=0).fit([0.2, 0.8])
    agent.counts_ = agent.counts_[:1]
    with pytest.raises(ValueError, match="counts_"):
        pickle.loads(pickle.dumps(agent))
    X, _, R = contexts(60)
    model = LinUCB().play(X, R)
    model.factors_ = model.factors_[:, :, :2]
    with pytest.raises(ValueError, match="factors_"):
        pickle.loads(pickle.dumps(model))
    model.factors_ = np.zeros((3, 5, 5))
    with pytest.raises(ValueError, match="factors_ are not Cholesky factors"):
        pickle.loads(pickle.dumps(model))


@pytest.mark.parametrize("agent", fitted_agents()[::2], ids=["thompson", "linucb"])
def test_model_files(agent, tmp_path):
    file = tmp_path / "agent.skops"
    save_model(file, agent, {})
    copy, _ = load_model(file)
    given = () if isinstance(agent, BanditAgent) else (contexts(25, seed=3)[0],)
    assert np.array_equal(copy.choose(*given), agent.choose(*given))
    assert np.array_equal(copy.predict(*given), agent.predict(*given))


def test_callbacks_see_what_is_learned():
    recorder = Recorder()
    agent = BanditAgent("ucb1", 1000, random_state=0).set_callbacks(recorder).fit([0.2, 0.8])
    frames = [frame.attributes for frame in recorder.frames]
    assert len(frames) == 100
    assert np.array_equal(frames[-1]["Q_"], agent.Q_)
    assert frames[4]["counts_"].sum() == len(frames[4]["actions_"]) == 50


def test_a_callback_that_stops_a_fit_keeps_the_pulls_so_far():
    class Stop:
        def setup(self, estimator, context):
            self.seen = 0

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context):
            self.seen += context.task_name == "block"
            return self.seen == 3

        def teardown(self, estimator, context):
            pass

    agent = BanditAgent("ucb1", 1000, random_state=0).set_callbacks(Stop()).fit([0.2, 0.8])
    assert agent.counts_.sum() == agent.actions_.size == agent.regret_.size == 30
    assert agent.n_iter_ == 3
