"""Maximum-entropy inverse reinforcement learning, against enumeration of all trajectories."""

import itertools
import pickle

import numpy as np
import pytest
from scipy import sparse
from scipy.special import logsumexp

from tercet.core.steps import ConvergenceWarning
from tercet.io import load_model, save_model
from tercet.rl import (
    MDP,
    MaximumEntropyIRL,
    PolicyEvaluation,
    PolicyIteration,
    Schedule,
    grid_world,
    random_mdp,
    soft_policy,
)
from tercet.rl.imitation.demonstrations import in_model
from tercet.rl.imitation.feature_expectations import mean_visits
from tercet.rl.imitation.maximum_entropy_irl import Likelihood

DETERMINISTIC = grid_world("S.\n.G", actions=("right", "down", "left"))
ENDLESS = random_mdp(6, 2, 3, random_state=1)
ENDING = grid_world("S..\n.#H\n..G", slip=0.3)


def trajectories(mdp, start, horizon):
    """All trajectories from a state: lists of (state, action), the last state, and the probability of luck."""
    P = mdp.probabilities.toarray()
    found, waiting = [], [([], start, 1.0)]
    while waiting:
        steps, x, p = waiting.pop()
        if mdp.terminal[x] or len(steps) == horizon:
            found.append((steps, x, p))
            continue
        for a in np.flatnonzero(mdp.allowed[x]):
            row = P[mdp.pair_index[x, a]]
            waiting += [([*steps, (x, int(a))], int(u), p * row[u]) for u in np.flatnonzero(row)]
    return found


def visits_of(mdp, steps, end, discount):
    found = np.zeros(mdp.n_states)
    for t, (x, _) in enumerate(steps):
        found[x] += discount**t
    if mdp.terminal[end]:
        found[end] += discount ** len(steps)
    return found


@pytest.mark.parametrize("horizon", [1, 2, 5])
def test_a_deterministic_model_by_enumeration(horizon):
    """P(trajectory) = exp(w·f) / Z: V_0 is log Z, visits are expectations, the likelihood is that of the paths."""
    mdp, rng = DETERMINISTIC, np.random.default_rng(0)
    rewards = rng.normal(size=mdp.n_states)
    paths = trajectories(mdp, 0, horizon)
    f = np.array([visits_of(mdp, steps, end, 1.0) for steps, end, _ in paths])
    log_z = logsumexp(f @ rewards)
    soft = soft_policy(mdp, rewards, horizon=horizon, start=0)
    assert soft.V.shape == (horizon + 1, mdp.n_states)
    assert soft.V[0, 0] == pytest.approx(log_z)
    assert np.allclose(soft.visits, np.exp(f @ rewards - log_z) @ f)
    for (steps, _, _), row in zip(paths, f):
        log = sum(np.log(soft.probabilities[t, x, a]) for t, (x, a) in enumerate(steps))
        assert log == pytest.approx(row @ rewards - log_z)
    some = np.arange(0, len(paths), max(1, len(paths) // 3))
    shown = [[(x, mdp.actions[a]) for x, a in paths[k][0]] for k in some]
    model = MaximumEntropyIRL(horizon, l2=0.1, tol=1e-9).fit(mdp, shown)
    logs = f @ model.rewards_ - logsumexp(f @ model.rewards_)
    assert model.log_likelihood_ == pytest.approx(logs[some].mean())


@pytest.mark.parametrize("mdp", [ENDLESS, ENDING], ids=["endless", "ending"])
@pytest.mark.parametrize("discount", [1.0, 0.7])
def test_a_stochastic_model_by_enumeration(mdp, discount):
    """Probabilities are exp(Q - V), visits their expectations, and V the largest reward plus entropy."""
    rng, horizon = np.random.default_rng(1), 4
    rewards = rng.normal(size=mdp.n_states)
    V, probabilities, visits = soft_policy(mdp, rewards, horizon=horizon, discount=discount, start=0)
    expected, total = np.zeros(mdp.n_states), 0.0
    paths = trajectories(mdp, 0, horizon)
    for steps, end, p in paths:
        chance = p * np.prod([probabilities[t, x, a] for t, (x, a) in enumerate(steps)])
        expected += chance * visits_of(mdp, steps, end, discount)
        total += chance
    assert total == pytest.approx(1)
    assert np.allclose(visits, expected)

    def objective(chances):
        """Expected discounted rewards and entropies of a policy."""
        value = np.where(mdp.terminal, rewards, 0.0)
        for t in range(horizon - 1, -1, -1):
            q = mdp.table(discount * (mdp.probabilities @ value), 0.0)
            entropy = -np.sum(
                np.where(chances[t] > 0, chances[t] * np.log(np.maximum(chances[t], 1e-300)), 0), axis=1
            )
            value = rewards + np.where(mdp.terminal, 0.0, (chances[t] * q).sum(axis=1) + entropy)
        return value[0]

    assert objective(probabilities) == pytest.approx(V[0, 0])
    for _ in range(20):
        other = rng.dirichlet(np.ones(mdp.n_actions), size=(horizon, mdp.n_states))
        mixed = 0.9 * probabilities + 0.1 * other
        assert objective(mixed) < V[0, 0]


@pytest.mark.parametrize("mdp", [ENDLESS, ENDING, DETERMINISTIC], ids=["endless", "ending", "deterministic"])
@pytest.mark.parametrize(("horizon", "discount"), [(1, 1.0), (7, 1.0), (7, 0.8), (None, 0.8), (None, 0.0)])
def test_the_gradient_is_that_of_the_likelihood(mdp, horizon, discount):
    """Against finite differences, and the value is concave."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(mdp.n_states, 3))
    shown = in_model(mdp.simulate(n_episodes=5, max_steps=horizon or 30, random_state=0), mdp)
    start = np.bincount(shown.first_states, minlength=mdp.n_states) / 5
    likelihood = Likelihood(mdp, features, mean_visits(shown, mdp, discount), start, discount, horizon)
    points = rng.normal(size=(4, 3))
    for w in points:
        numeric = [(likelihood(w + h)[0] - likelihood(w - h)[0]) / 2e-5 for h in 1e-5 * np.eye(3)]
        assert np.allclose(likelihood(w)[1], numeric, rtol=1e-6, atol=1e-6)
    for w, v in itertools.combinations(points, 2):
        assert likelihood((w + v) / 2)[0] >= (likelihood(w)[0] + likelihood(v)[0]) / 2 - 1e-9


def test_values_without_a_horizon():
    """The fixed point of the soft Bellman equation, and the linear equations of the visits."""
    mdp = random_mdp(50, 3, 5, random_state=0)
    rewards = np.random.default_rng(0).normal(size=50)
    V, chances, visits = soft_policy(mdp, rewards, discount=0.95)
    q = mdp.table(0.95 * (mdp.probabilities @ V))
    assert np.allclose(V, rewards + logsumexp(q, axis=1), rtol=0, atol=1e-7)
    assert np.allclose(chances.sum(axis=1), 1)
    P = sum(chances[:, [a]] * mdp.probabilities[a::3].toarray() for a in range(3))
    assert np.allclose(visits, np.linalg.solve(np.eye(50) - 0.95 * P.T, mdp.start), rtol=0, atol=1e-7)
    far = soft_policy(mdp, rewards, horizon=600, discount=0.95)
    assert np.allclose(far.V[0], V, atol=1e-6)
    assert np.allclose(far.visits, visits, atol=1e-6)


def test_large_rewards_do_not_overflow():
    for options in ({"horizon": 30}, {"discount": 0.99}):
        soft = soft_policy(DETERMINISTIC, [900.0, -900.0, 5000.0, 1e7], **options)
        assert np.isfinite(soft.V).all()
        assert np.isfinite(soft.visits).all()
        assert soft.probabilities.min() >= 0
        assert np.allclose(soft.probabilities.sum(axis=-1), 1)


@pytest.fixture(scope="module")
def task():
    world = grid_world("S....\n.###.\n.....\n.###.\n....G", slip=0.1)
    features = np.column_stack([world.positions / 4, ~world.terminal]).astype(float)
    w = np.array([0.5, 1.0, -2.0])  # down and to the right it is better; each step costs
    truth = soft_policy(world, features @ w, horizon=30)
    shown, rng = [], np.random.default_rng(0)
    for _ in range(300):
        x, steps = 0, []
        for t in range(30):
            a = int(rng.choice(4, p=truth.probabilities[t, x]))
            steps.append((x, world.actions[a]))
            x, _, over = world.step(x, world.actions[a], rng)
            if over:
                break
        shown.append([*steps, (x, None)])
    return world, features, w, shown


def test_features_of_the_expert_are_matched(task):
    world, features, w, shown = task
    model = MaximumEntropyIRL(30, l2=0.0, tol=1e-6).fit(world, shown, features)
    assert np.abs(model.expected_features_ - model.expert_features_).max() < 1e-6
    assert np.allclose(model.expected_features_, features.T @ model.visits_)
    assert model.coef_ == pytest.approx(w, abs=0.5)  # of 300 demonstrations
    assert model.horizon_ == 30
    # the best policy for the learned rewards is nearly the best one for the true rewards
    truth = world.with_rewards(features @ w)
    learned = PolicyIteration(0.99).fit(model.apply_rewards(world)).policy_
    best = PolicyIteration(0.99).fit(truth).V_[0]
    assert PolicyEvaluation(learned, discount=0.99).fit(truth).V_[0] == pytest.approx(best, rel=0.02)


@pytest.mark.parametrize("options", [{"horizon": 8}, {"discount": 0.9}])
def test_gradient_ascent_finds_the_same(options):
    rng = np.random.default_rng(0)
    features = rng.random((ENDING.n_states, 3))
    shown = ENDING.simulate(n_episodes=20, max_steps=8 if "horizon" in options else 60, random_state=0)
    ascent = {"solver": "gradient", "max_iter": 500, "l2": 20.0}
    by_lbfgs = MaximumEntropyIRL(**options, l2=20.0, tol=1e-7).fit(ENDING, shown, features)
    by_gradient = MaximumEntropyIRL(**options, learning_rate=0.3, **ascent).fit(ENDING, shown, features)
    assert by_gradient.coef_ == pytest.approx(by_lbfgs.coef_, abs=2e-4)
    assert (np.diff(by_gradient.history_["fun"]) <= 1e-12).all()
    scheduled = MaximumEntropyIRL(**options, learning_rate=Schedule("inverse_sqrt", 0.5, 0.2), **ascent)
    assert scheduled.fit(ENDING, shown, features).coef_ == pytest.approx(by_lbfgs.coef_, abs=2e-4)


def test_the_penalty_keeps_weights_finite(task):
    """m (f* - f(w)) = l2 w at the optimum; without a penalty, weights of what never happens are stopped by tol."""
    world, features, _, shown = task
    model = MaximumEntropyIRL(30, l2=150.0, tol=1e-8).fit(world, shown, features)
    assert np.allclose(model.expert_features_ - model.expected_features_, 0.5 * model.coef_, atol=1e-7)
    best = [[(0, "down"), (2, "right")]]
    free = MaximumEntropyIRL(l2=0.0, tol=1e-3).fit(DETERMINISTIC, best)
    assert np.isfinite(free.coef_).all()
    assert free.policy_[[0, 2]].tolist() == [1, 0]
    assert np.abs(free.expected_features_ - free.expert_features_).max() <= 1e-3


def test_features_that_no_policy_has():
    """Where transitions are random, the mean visits of all states may be no policy's: the penalty helps."""
    world = grid_world(["S...", ".#.H", "...G"], step_reward=-0.04, slip=0.2)
    expert = PolicyIteration(0.95).fit(world).policy_
    shown = world.simulate(expert, 200, random_state=0)
    for options in ({"horizon": 20}, {"discount": 0.95}, {"horizon": 60}):
        with pytest.raises(
            ValueError, match="with l2=0 the weights grow without limit: no policy of the model"
        ):
            MaximumEntropyIRL(**options, l2=0.0).fit(world, shown)
    for options in ({"horizon": 40}, {"discount": 0.95}):
        model = MaximumEntropyIRL(**options).fit(world, shown)
        assert np.abs(model.coef_).max() < 20
        assert (model.policy_ == expert)[model.visits_ > 0.2].mean() > 0.8


def test_sparse_features(task):
    world, features, _, shown = task
    dense = MaximumEntropyIRL(30).fit(world, shown, features)
    compressed = MaximumEntropyIRL(30).fit(world, shown, sparse.csc_matrix(features))
    assert np.allclose(dense.coef_, compressed.coef_)
    single = MaximumEntropyIRL(discount=0.8).fit(world, shown)
    given = MaximumEntropyIRL(discount=0.8).fit(world, shown, np.eye(world.n_states))
    assert np.allclose(single.rewards_, given.rewards_)
    assert np.array_equal(single.coef_, single.rewards_)


def test_attributes_and_predictions(task):
    world, features, _, shown = task
    model = MaximumEntropyIRL(30).fit(world, shown, features)
    inside = ~world.terminal
    assert np.allclose(model.V_[inside], logsumexp(model.Q_, axis=1)[inside])
    taken = model.action_probabilities_ * model.visits_[:, None]
    assert np.allclose(taken.sum(axis=1), model.visits_)
    assert np.allclose(model.action_probabilities_.sum(axis=1), 1)
    free = MaximumEntropyIRL(discount=0.9).fit(world, shown, features)
    assert np.allclose(free.action_probabilities_[inside], np.exp(free.Q_ - free.V_[:, None])[inside])
    assert model.action_probabilities_[world.terminal].tolist() == [[0.25] * 4]
    assert np.array_equal(model.policy_, model.action_probabilities_.argmax(axis=1))
    assert model.predict([0, 3]).tolist() == model.policy_[[0, 3]].tolist()
    assert np.array_equal(model.predict_proba([2, 0]), model.action_probabilities_[[2, 0]])
    world.simulate(model.action_probabilities_, random_state=0)  # is a policy
    assert model.apply_rewards(world).pair_rewards[0] == pytest.approx(model.rewards_[0])
    free = MaximumEntropyIRL(30, l2=0.0).fit(world, shown, features)
    assert free.history_["fun"][-1] == pytest.approx(-free.log_likelihood_)


def test_masked_actions():
    mdp = MDP.from_pairs(
        [0, 0, 1, 2], [0, 2, 1, 0], [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1]], np.zeros(4), terminal=[]
    )
    model = MaximumEntropyIRL(l2=0.1).fit(mdp, [[(0, 0), (0, 2), (1, 1), (2, 0)]])
    assert (model.action_probabilities_[~mdp.allowed] == 0).all()
    assert (model.Q_[~mdp.allowed] == -np.inf).all()
    assert model.action_probabilities_[1].tolist() == [0, 1, 0]


def test_the_horizon():
    model = MaximumEntropyIRL(l2=0.1).fit(
        DETERMINISTIC, [[(0, "down"), (2, "right")], [(0, "left"), (0, "down"), (2, "right")]]
    )
    assert model.horizon_ == 3  # the longest demonstration
    with pytest.raises(ValueError, match="horizon is 1, and a demonstration has 2 steps"):
        MaximumEntropyIRL(1).fit(DETERMINISTIC, [[(0, "down"), (2, "right")]])
    with pytest.warns(UserWarning, match="1 of 2 demonstrations end before the horizon or a terminal state"):
        MaximumEntropyIRL(l2=0.1).fit(DETERMINISTIC, [[(0, "left")], [(0, "down"), (2, "right")]])
    with pytest.warns(UserWarning, match="1 of 1 demonstrations end before a terminal state;"):
        MaximumEntropyIRL(l2=0.1, discount=0.9).fit(DETERMINISTIC, [[(0, "left")]])


def test_wrong_input(task):
    world, features, _, shown = task
    with pytest.raises(ValueError, match="demonstrations is empty"):
        MaximumEntropyIRL().fit(world, [])
    with pytest.raises(ValueError, match="'l2' must be a number in"):
        MaximumEntropyIRL(l2=-1).fit(world, shown)
    with pytest.raises(ValueError, match="'solver' must be one of 'lbfgs', 'gradient'"):
        MaximumEntropyIRL(solver="newton").fit(world, shown)
    with pytest.warns(ConvergenceWarning, match="did not converge in 2 passes .*Raise l2, tol or max_iter"):
        MaximumEntropyIRL(30, max_iter=2, tol=1e-12).fit(world, shown, features)
    for options, message in (
        ({"discount": 1.0}, r"discount must be in \[0, 1\), or 1 with a horizon"),
        ({"horizon": 0}, "horizon must be at least 1; got 0"),
    ):
        with pytest.raises(ValueError, match=message):
            soft_policy(world, np.zeros(world.n_states), **options)
    with pytest.raises(ValueError, match="rewards must be 19 finite numbers"):
        soft_policy(world, [1.0], horizon=2)


def test_models_of_gymnasium():
    import gymnasium

    env = gymnasium.make("FrozenLake-v1", is_slippery=False)
    shown = [[(0, 1), (4, 1), (8, 2), (9, 1), (13, 2), (14, 2)]]
    model = MaximumEntropyIRL(l2=0.01).fit(env, shown)
    assert model.predict([0, 4, 8, 9, 13, 14]).tolist() == [1, 1, 2, 1, 2, 2]


def test_same_bits_pickles_and_files(task, tmp_path):
    world, features, _, shown = task
    models = [MaximumEntropyIRL(30).fit(world, shown, features) for _ in range(2)]
    models.append(pickle.loads(pickle.dumps(models[0])))
    save_model(tmp_path / "model.skops", models[0], {})
    models.append(load_model(tmp_path / "model.skops")[0])
    for name in ("coef_", "visits_", "Q_"):
        assert all(np.array_equal(getattr(models[0], name), getattr(model, name)) for model in models[1:])
    forged = pickle.loads(pickle.dumps(models[0]))
    forged.rewards_ = np.full(3, np.nan)
    with pytest.raises(ValueError, match="rewards_ is"):
        pickle.loads(pickle.dumps(forged))
