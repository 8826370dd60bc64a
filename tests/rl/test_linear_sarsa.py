"""Sarsa with linear action values."""

import pickle

import gymnasium
import numpy as np
import pytest
from sklearn.preprocessing import FunctionTransformer

from tercet.io import load_model, save_model
from tercet.rl import MDP, LinearSarsa, Sarsa, Schedule, TileCoding
from tests.rl.linear_worlds import VectorWorld, plain, random_model, ring


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"expected": True},
        {"trace_decay": 0.8},
        {"trace_decay": 0.8, "traces": "replacing"},
        {"trace_decay": 0.8, "traces": "dutch"},
        {"exploration": "softmax", "temperature": 0.5},
        {"exploration": "softmax", "expected": True, "temperature": Schedule("exponential", 1.0, 0.1)},
        {"epsilon": Schedule("inverse_sqrt"), "learning_rate": Schedule("linear", 0.2, 0.01, per="episode")},
        {"n_steps": 211},
    ],
    ids=str,
)
def test_indicators_of_states_make_it_the_tabular_method(options):
    mdp = random_model()
    options = {"n_episodes": 60, "discount": 0.9, "random_state": 3, **options}
    table, agent = Sarsa(**options).fit(mdp), LinearSarsa(**options).fit(mdp)
    np.testing.assert_allclose(agent.Q_, table.Q_, rtol=1e-7, atol=1e-9)
    np.testing.assert_array_equal(agent.policy_, table.policy_)
    np.testing.assert_array_equal(agent.episode_lengths_, table.episode_lengths_)
    assert agent.n_steps_ == table.n_steps_


@pytest.mark.parametrize("rule", ["sarsa", "expected"])
@pytest.mark.parametrize(
    ("decay", "kind"), [(0.0, "accumulating"), (0.7, "accumulating"), (0.7, "replacing")]
)
@pytest.mark.parametrize("form", ["blocks", "concatenate", "joint"])
def test_it_makes_the_steps_of_the_book(rule, decay, kind, form):
    mdp, rng = random_model(1), np.random.default_rng(5)
    table = rng.normal(size=(8, 3, 4)) * (rng.random((8, 3, 4)) < 0.8)

    def phi(x, a):
        if form == "joint":
            return table[x, a]
        if form == "concatenate":
            return np.concatenate([table[x, 0], np.eye(3)[a]])
        return (np.eye(3)[a][:, None] * table[x, 0]).ravel()

    options = {"discount": 0.9, "n_episodes": 15}
    agent = LinearSarsa(
        table if form == "joint" else table[:, 0], action_features=form, learning_rate=0.02, trace_decay=decay,
        traces=kind, expected=rule == "expected", random_state=7, normalize=decay == 0.0, **options,
    ).fit(mdp)  # fmt: skip
    theta = plain(
        mdp, phi, alpha=0.02, decay=decay, kind=kind, rule=rule, seed=7, normalize=decay == 0.0, **options
    )
    np.testing.assert_allclose(agent.coef_.ravel(), theta, rtol=1e-7, atol=1e-9)
    assert agent.coef_.shape == ((3, 4) if form == "blocks" else (len(theta),))
    Q = np.array([[theta @ phi(x, a) for a in range(3)] for x in range(8)])
    Q[-1], Q[~mdp.allowed] = 0.0, -np.inf
    np.testing.assert_allclose(agent.Q_, Q, rtol=1e-7, atol=1e-9)
    np.testing.assert_array_equal(agent.predict(list(range(8))), agent.policy_)
    np.testing.assert_array_equal(agent.action_values([2, 1]), agent.Q_[[2, 1]])
    assert agent.action_values(2).shape == (3,)


@pytest.mark.parametrize("options", [{}, {"trace_decay": 0.7}, {"expected": True}], ids=str)
def test_an_environment_of_vectors_teaches_what_the_model_does(options):
    mdp, table = ring(), np.random.default_rng(1).normal(size=(6, 3))
    options = {
        "n_episodes": 30,
        "discount": 0.9,
        "learning_rate": 0.02,
        "max_steps": 50,
        "random_state": 4,
        **options,
    }
    in_model = LinearSarsa(table, **options).fit(mdp)
    in_world = LinearSarsa(**options).fit(VectorWorld(mdp, table, first_action=2))
    np.testing.assert_allclose(in_world.coef_, in_model.coef_, rtol=1e-9)
    np.testing.assert_array_equal(in_world.episode_lengths_, in_model.episode_lengths_)
    np.testing.assert_allclose(in_world.action_values(table[:5]), in_model.Q_[:5], rtol=1e-9)
    np.testing.assert_array_equal(in_world.predict(table[:5]), in_model.policy_[:5] + 2)
    assert in_world.predict(table[3]) == in_model.policy_[3] + 2


def test_joint_features_of_vectors():
    mdp, table = ring(), np.random.default_rng(1).normal(size=(6, 3))
    every = np.random.default_rng(2).normal(size=(2, 3))
    options = {
        "n_episodes": 30,
        "discount": 0.9,
        "learning_rate": 0.02,
        "random_state": 4,
        "action_features": "joint",
    }
    in_model = LinearSarsa(table[:, None] * every, **options).fit(mdp)
    in_world = LinearSarsa(lambda x, a: x * every[a - 2], **options).fit(
        VectorWorld(mdp, table, 1000, first_action=2)
    )
    np.testing.assert_allclose(in_world.coef_, in_model.coef_, rtol=1e-9)
    np.testing.assert_allclose(in_world.action_values(table[:5]), in_model.Q_[:5], rtol=1e-9)
    named = LinearSarsa(lambda x, a: table[x] * every[a], **options).fit(mdp)
    np.testing.assert_array_equal(named.coef_, in_model.coef_)
    with pytest.raises(ValueError, match=r"must be a callable φ\(x, a\).* got a transformer"):
        LinearSarsa(TileCoding(), action_features="joint").fit(VectorWorld())
    with pytest.raises(ValueError, match=r"must be a callable φ\(x, a\).* got None"):
        LinearSarsa(action_features="joint").fit(VectorWorld())


def crossroads():
    """In state 0 action 0 is right, in state 1 action 1."""
    P = np.zeros((3, 2, 3))
    P[:, :, 2] = 1
    return MDP(P, [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]], terminal=[2])


def test_concatenated_features_choose_one_action_everywhere():
    """The trap in the text's (x; a) of Algorithm 12."""
    options = {"n_episodes": 2000, "epsilon": 0.3, "random_state": 0}
    trapped = LinearSarsa(np.eye(3), action_features="concatenate", **options).fit(crossroads())
    assert trapped.policy_[0] == trapped.policy_[1]
    advantages = trapped.Q_[:2, 1] - trapped.Q_[:2, 0]
    assert advantages[0] == pytest.approx(advantages[1], abs=1e-12)
    good = LinearSarsa(np.eye(3), **options).fit(crossroads())
    assert good.policy_[:2].tolist() == [0, 1]
    np.testing.assert_allclose(good.Q_[:2], np.eye(2), atol=0.02)
    joint = LinearSarsa(lambda x, a: [x == a, 1.0], action_features="joint", **options).fit(crossroads())
    assert joint.policy_[:2].tolist() == [0, 1]


def test_mountain_car_is_solved():
    """Tile coding and traces: about 110 steps after 120 episodes; a driver who pushes at random never arrives."""
    agent = LinearSarsa(
        TileCoding(), n_episodes=120, discount=1.0, learning_rate=0.3, epsilon=0.0, trace_decay=0.9,
        traces="replacing", normalize=True, random_state=0,
    ).fit(gymnasium.make("MountainCar-v0", max_episode_steps=1000))  # fmt: skip
    assert agent.coef_.shape == (3, 8 * 81)
    np.testing.assert_allclose(agent.features_.low_, [-1.2, -0.07], rtol=1e-6)
    env, returns = gymnasium.make("MountainCar-v0"), []
    for seed in range(20):
        x, _ = env.reset(seed=seed)
        total, over = 0.0, False
        while not over:
            x, reward, terminated, truncated, _ = env.step(agent.predict(x))
            total, over = total + reward, terminated or truncated
        returns.append(total)
    assert np.mean(returns) > -140


def test_actions_of_one_vector_and_of_many_agree():
    agent = LinearSarsa(TileCoding(5, 4), n_episodes=20, random_state=0).fit(
        VectorWorld(table=np.random.default_rng(0).normal(size=(6, 2)))
    )
    X = np.random.default_rng(1).normal(size=(30, 2))
    np.testing.assert_array_equal(agent.action_values(X), [agent.action_values(x) for x in X])
    np.testing.assert_array_equal(agent.predict(X), [agent.predict(x) for x in X])
    np.testing.assert_array_equal(
        agent.predict(X.astype(np.float32).tolist()), agent.predict(X.astype(np.float32))
    )
    dense = FunctionTransformer(lambda X: np.column_stack([np.ones(len(X)), X]))
    agent = LinearSarsa(dense, n_episodes=20, random_state=0).fit(VectorWorld(table=X[:6]))
    np.testing.assert_allclose(agent.action_values(X), np.column_stack([np.ones(30), X]) @ agent.coef_.T)


def test_discrete_environments():
    """A table of states that have names in a model and numbers in an environment."""
    agent = LinearSarsa(n_episodes=400, epsilon=0.1, random_state=0).fit("CliffWalking-v1")
    table = Sarsa(n_episodes=400, epsilon=0.1, random_state=0).fit("CliffWalking-v1")
    np.testing.assert_allclose(agent.Q_, table.Q_, rtol=1e-9, atol=1e-9)
    hands = LinearSarsa(lambda x: [1.0, x[0] / 21, x[2]], n_episodes=50, random_state=0).fit("Blackjack-v1")
    assert hands.coef_.shape == (2, 3)
    np.testing.assert_allclose(
        hands.action_values((14, 10, 0)), hands.coef_ @ [1.0, 14 / 21, 0.0], rtol=1e-12
    )


def test_seeds_pickles_and_files(tmp_path):
    world = VectorWorld(table=np.random.default_rng(0).normal(size=(6, 2)))
    agent = LinearSarsa(TileCoding(4, 2), n_episodes=10, random_state=0).fit(world)
    np.testing.assert_array_equal(
        LinearSarsa(TileCoding(4, 2), n_episodes=10, random_state=0).fit(world).coef_, agent.coef_
    )
    X = np.random.default_rng(1).normal(size=(9, 2))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(agent)).action_values(X), agent.action_values(X))
    tabular = LinearSarsa(np.random.default_rng(0).normal(size=(8, 3)), n_episodes=9, random_state=0).fit(
        random_model()
    )
    for model, x in ((agent, X), (tabular, [1, 2])):
        save_model(tmp_path / "agent.skops", model, {})
        np.testing.assert_array_equal(load_model(tmp_path / "agent.skops")[0].predict(x), model.predict(x))


def test_warm_start_goes_on():
    options = {"n_episodes": 20, "random_state": 5, "learning_rate": 0.01}
    mdp, table = random_model(), np.random.default_rng(0).normal(size=(8, 3))
    whole = LinearSarsa(table, **{**options, "n_episodes": 40}).fit(mdp)
    parts = LinearSarsa(table, warm_start=True, **options).fit(mdp).fit(mdp)
    np.testing.assert_array_equal(parts.coef_, whole.coef_)
    vectors = LinearSarsa(TileCoding(4, 2), warm_start=True, **options)
    world = VectorWorld(table=np.random.default_rng(0).normal(size=(6, 2)))
    before = vectors.fit(world).features_
    assert vectors.fit(world).features_ is before, "a map that is fitted again would have other columns"
    assert vectors.n_episodes_ == 40


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        (
            {"action_features": "both"},
            "parameter 'action_features' must be one of 'blocks', 'concatenate', 'joint'",
        ),
        ({"epsilon": 2.0}, "parameter 'epsilon' must be"),
        ({"epsilon": Schedule("constant", 1.5)}, r"epsilon must stay in \[0, 1\]"),
        ({"temperature": Schedule("linear"), "exploration": "softmax"}, "temperature must stay above 0"),
        (
            {"expected": True, "traces": "dutch", "trace_decay": 0.5},
            "traces='dutch' cannot be used with expected=True",
        ),
        (
            {"features": np.ones((8, 2)), "action_features": "joint"},
            r"\(n_states, n_actions, n_features\) with 8 and 3",
        ),
    ],
)
def test_bad_parameters(parameters, match):
    with pytest.raises(ValueError, match=match):
        LinearSarsa(**parameters).fit(random_model())
