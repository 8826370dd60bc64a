"""PolicyIteration and improved_policy: the watermelon notes' (14.8), (14.9), (14.12) and Algorithm 6."""

import itertools
import pickle
import warnings

import gymnasium as gym
import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from tercet import Recorder
from tercet.io import load_model, save_model
from tercet.rl import (
    MDP,
    PolicyEvaluation,
    PolicyIteration,
    ValueIteration,
    action_values,
    grid_world,
    improved_policy,
)
from tercet.rl._engine import backups
from tests.rl.planning_reference import dense, local_mdp, masked_mdp, optimal_values, policy_values
from tests.rl.td_reference import P3, R3, three_states

each_algorithm = pytest.mark.parametrize("algorithm", ["howard", "modified"])


def one_hot(mdp, policy):
    return np.eye(mdp.n_actions)[policy]


def chain_of_rooms(n, rewards, goal=-1):
    """Deterministic moves to the left and to the right; the last room is terminal."""
    P = np.zeros((n, 2, n))
    for x in range(n):
        P[x, 0, max(x - 1, 0)] = P[x, 1, min(x + 1, n - 1)] = 1
    return MDP(P, rewards, terminal=[n - 1])


# The text's numbers ---------------------------------------------------------------------------------------------


@each_algorithm
def test_discounted_optimum(algorithm):
    """Reference case 3 with γ = 0.9."""
    model = PolicyIteration(0.9, algorithm=algorithm).fit(three_states())
    assert model.policy_.tolist() == [1, 1, 0]
    np.testing.assert_allclose(model.V_, (10.16927634, 8.09140923, 0), atol=1e-7)
    Q = [[9.97833263, 10.16927634], [6.14113415, 8.09140923], [0, 0]]
    np.testing.assert_allclose(model.Q_, Q, atol=1e-7)


@pytest.mark.parametrize("initial", [None, [0, 0, 0], np.full((3, 2), 0.5)], ids=str)
def test_mean_reward_of_t_steps(initial):
    """Reference case 3: T = 1, 2, 3 (Algorithm 6, with V reset and Q_T from V_{T-1})."""
    for T, expected in ((1, (2.7, 2.6, 0)), (2, (2.655, 2.11, 0)), (3, (2.343, 1.92866667, 0))):
        model = PolicyIteration(horizon=T, initial_policy=initial).fit(three_states())
        np.testing.assert_allclose(model.V_, expected, atol=1e-8)
        assert model.policy_.tolist() == [1, 1, 0]
        assert model.history_["changed"][-1] == 0
        assert model.error_bound_ == 0


def test_a_policy_that_algorithm_6_stops_at_is_best_for_the_first_step():
    kept = 0
    for seed in range(12):
        mdp, T = masked_mdp(seed), 2 + seed % 4
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = PolicyIteration(horizon=T, max_iter=100).fit(mdp)
        values = PolicyEvaluation(model.policy_, horizon=T).fit(mdp)
        np.testing.assert_allclose(model.V_, values.V_, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(model.Q_, values.Q_, rtol=1e-12, atol=1e-14)
        assert (
            ValueIteration(horizon=T).fit(mdp).V_ >= model.V_ - 1e-12
        ).all()  # which may change its actions
        if model.history_["changed"][-1] == 0:
            kept += 1
            np.testing.assert_allclose(values.V_, values.Q_.max(axis=1), rtol=1e-9, atol=1e-12)
    assert kept > 6


def test_policies_of_algorithm_6_that_come_back():
    """The best policy of T steps need not be one for all steps: the loop of the text would never end."""
    found = []
    for seed in range(60):
        mdp = masked_mdp(seed)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = PolicyIteration(horizon=3).fit(mdp)
        if caught:
            found.append(str(caught[0].message))
            assert model.n_iter_ < 1000
            assert caught[0].category is ConvergenceWarning
    assert found
    assert found[0].startswith("PolicyIteration came back to an earlier policy after")
    assert "ValueIteration(horizon=3)" in found[0]


# Theorems and independent solutions ------------------------------------------------------------------------------


@each_algorithm
@pytest.mark.parametrize("ends", [0, 2])
@pytest.mark.parametrize("seed", range(4))
def test_linear_program(seed, ends, algorithm):
    mdp = masked_mdp(seed, ends)
    for discount in (0.0, 0.6, 0.97, 1.0)[: 4 if ends else 3]:
        expected = optimal_values(mdp, discount)
        model = PolicyIteration(discount, algorithm=algorithm).fit(mdp)
        scale = np.abs(expected).max()
        assert np.abs(model.V_ - expected).max() <= min(model.error_bound_, 1e-5) + 1e-9 * scale
        of_policy = policy_values(mdp, one_hot(mdp, model.policy_), discount)
        assert np.abs(of_policy - expected).max() <= min(2 * model.error_bound_, 1e-5) + 1e-9 * scale
        np.testing.assert_allclose(model.V_, model.Q_.max(axis=1), rtol=1e-9, atol=1e-9)
        assert mdp.allowed[np.arange(mdp.n_states), model.policy_].all()


@pytest.mark.parametrize("discount", [0.9, 1.0])
def test_no_value_ever_falls(discount):
    mdp, recorder = masked_mdp(9, ends=1), Recorder()
    first = mdp.allowed.argmax(axis=1)
    model = PolicyIteration(discount, initial_policy=first).set_callbacks(recorder).fit(mdp)
    policies = [first, *(frame.attributes["policy_"] for frame in recorder.frames)]
    values = [policy_values(mdp, one_hot(mdp, policy), discount) for policy in policies]
    assert len(values) > 3
    for before, after in itertools.pairwise(values):
        assert (after >= before - 1e-9).all()
    assert (values[-2] == values[-1]).all()  # π' = π
    assert model.history_["changed"][-1] == 0
    assert all(changed > 0 for changed in model.history_["changed"][:-1])
    np.testing.assert_allclose(model.V_, values[-1], rtol=1e-9)


def test_a_stochastic_first_policy():
    mdp = masked_mdp(2)
    uniform = mdp.allowed / mdp.allowed.sum(axis=1, keepdims=True)
    recorder = Recorder()
    model = PolicyIteration(0.9, initial_policy=uniform).set_callbacks(recorder).fit(mdp)
    np.testing.assert_allclose(model.V_, optimal_values(mdp, 0.9), rtol=1e-9)
    assert model.history_["changed"][0] == mdp.n_states
    improved = improved_policy(mdp, policy_values(mdp, uniform, 0.9), 0.9)
    np.testing.assert_array_equal(recorder.frames[0].attributes["policy_"], improved)
    once = PolicyIteration(horizon=4, initial_policy=uniform, max_iter=1)
    with pytest.warns(ConvergenceWarning, match=r"PolicyIteration did not converge in 1 passes"):
        once.fit(mdp)
    np.testing.assert_allclose(once.V_, PolicyEvaluation(once.policy_, horizon=4).fit(mdp).V_, rtol=1e-12)


@each_algorithm
@pytest.mark.parametrize("discount", [0.9, 0.99])
def test_many_states(algorithm, discount):
    mdp = local_mdp(320)
    model = PolicyIteration(discount, algorithm=algorithm, tol=1e-9).fit(mdp)
    expected = optimal_values(mdp, discount)
    assert np.abs(model.V_ - expected).max() <= model.error_bound_ + 1e-9
    np.testing.assert_array_equal(model.policy_, improved_policy(mdp, expected, discount))


def test_sweeps_of_modified_policy_iteration():
    mdp = local_mdp(100)
    few, many = (
        PolicyIteration(0.99, algorithm="modified", evaluation_sweeps=sweeps).fit(mdp) for sweeps in (1, 400)
    )
    assert few.n_iter_ > many.n_iter_
    assert np.abs(few.V_ - many.V_).max() <= few.error_bound_ + many.error_bound_
    assert few.error_bound_ <= 99 * 1e-8


@each_algorithm
def test_actions_of_nearly_the_same_value(algorithm):
    """On a slippery grid many actions are nearly equal; to keep one of these must not keep values from settling."""
    world = grid_world(["." * 12] * 11 + ["." * 11 + "G"], step_reward=-1.0, slip=0.2)
    for discount in (0.99, 1.0):
        model = PolicyIteration(discount, algorithm=algorithm).fit(world)
        assert model.n_iter_ < 60
        np.testing.assert_allclose(model.V_, optimal_values(world, discount), rtol=1e-7)


def test_ties_do_not_keep_it_going():
    """Of equal actions the first is taken, and none is changed for another of the same value."""
    P = np.full((4, 3, 4), 0.25)
    for algorithm in ("howard", "modified"):
        model = PolicyIteration(0.9, algorithm=algorithm).fit(MDP(P, np.ones((4, 3)), terminal=[]))
        assert model.policy_.tolist() == [0, 0, 0, 0]
        np.testing.assert_allclose(model.V_, 10)
    rng = np.random.default_rng(0)
    P, R = rng.dirichlet(np.ones(5), (5, 1)), rng.normal(size=(5, 1))
    mdp = MDP(np.repeat(P, 3, axis=1), np.repeat(R, 3, axis=1))
    model = PolicyIteration(0.99, initial_policy=[2, 1, 0, 2, 1]).fit(mdp)
    assert model.n_iter_ == 1
    assert model.policy_.tolist() == [0] * 5


# A discount of 1 ------------------------------------------------------------------------------------------------


@each_algorithm
def test_gymnasium_without_a_discount(algorithm):
    for name, best in (("FrozenLake-v1", 14 / 17), ("CliffWalking-v1", -13), ("Taxi-v4", 7.93)):
        env = gym.make(name)
        mdp, model = MDP.from_gymnasium(env), PolicyIteration(1.0, algorithm=algorithm).fit(env)
        assert mdp.start @ model.V_ == pytest.approx(best, abs=1e-6)
        values = PolicyEvaluation(model.policy_, 1.0).fit(mdp).V_
        assert mdp.start @ values == pytest.approx(best, abs=1e-9)


@each_algorithm
def test_policies_without_a_discount_end(algorithm):
    """Where all actions have the same value, one that leads to the end is taken."""
    goal = np.zeros((6, 2))
    goal[4, 1] = 1
    model = PolicyIteration(1.0, algorithm=algorithm).fit(chain_of_rooms(6, goal))
    assert model.V_.tolist() == [1, 1, 1, 1, 1, 0]
    assert model.policy_.tolist() == [1, 1, 1, 1, 1, 0]
    toll = -goal  # staying for ever costs nothing, but does not end
    model = PolicyIteration(1.0, algorithm=algorithm).fit(chain_of_rooms(6, toll))
    assert model.V_.tolist() == [-1, -1, -1, -1, -1, 0]
    both = goal.copy()
    both[2, 0] = -3.0
    assert PolicyIteration(1.0, algorithm=algorithm).fit(chain_of_rooms(6, both)).V_.tolist() == [1] * 5 + [0]
    assert PolicyIteration(1.0, algorithm=algorithm).fit(chain_of_rooms(6, both)).error_bound_ == np.inf


def test_refusals_without_a_discount():
    trap = MDP([[[1, 0, 0]], [[0, 0.5, 0.5]], [[0, 0, 1]]], [[-1.0], [0], [0]], states=["trap", "b", "c"])
    message = (
        "PolicyIteration: discount=1 needs a terminal state that every state can reach; state 'trap' does not"
    )
    for algorithm in ("howard", "modified"):
        with pytest.raises(
            ValueError, match=message + r" \(1 of 3 states\). Use a discount below 1, or give a horizon"
        ):
            PolicyIteration(1.0, algorithm=algorithm).fit(trap)
    with pytest.raises(ValueError, match=r"every state can reach; state 0 does not \(5 of 5 states\)"):
        PolicyIteration(1.0).fit(masked_five())
    loop = MDP([[[1, 0], [0, 1]], [[0, 1], [0, 1]]], [[1.0, 0.0], [0, 0]])
    with pytest.raises(
        ValueError, match=r"with discount=1 the values have no bound: from state 0 on, a policy collects"
    ):
        PolicyIteration(1.0).fit(loop)
    with pytest.raises(ValueError, match=r"every state reaches under initial_policy; state 0 does not"):
        PolicyIteration(1.0, initial_policy=[0, 0]).fit(loop)
    with pytest.warns(
        ConvergenceWarning, match=r"With discount=1, values have no bound if positive rewards can be"
    ):
        PolicyIteration(1.0, algorithm="modified", max_iter=5).fit(loop)
    assert PolicyIteration(1.0, 5).fit(loop).V_[0] == 5  # five rewards of 1


def masked_five():
    return MDP(np.full((5, 1, 5), 0.2), np.ones((5, 1)))


# Loops, predictions and files -----------------------------------------------------------------------------------


@each_algorithm
def test_callbacks_and_history(algorithm):
    recorder = Recorder()
    model = PolicyIteration(0.9, algorithm=algorithm, initial_policy=[0, 0, 0]).set_callbacks(recorder)
    model.fit(three_states())
    assert (
        model.n_iter_
        == len(recorder.frames)
        == len(model.history_["residual"])
        == len(model.history_["changed"])
    )
    last = recorder.frames[-1].attributes
    np.testing.assert_allclose(last["V_"], model.V_, atol=1e-6)
    np.testing.assert_allclose(last["Q_"], model.Q_, atol=1e-6)
    np.testing.assert_array_equal(last["policy_"], model.policy_)


def test_limits_and_warnings():
    with pytest.warns(
        ConvergenceWarning,
        match=r"PolicyIteration did not converge in 1 passes .*changed=1\). Raise max_iter",
    ):
        PolicyIteration(0.9, initial_policy=[0, 0, 0], max_iter=1).fit(three_states())
    with pytest.raises(ValueError, match=r"policy takes action 1 in state 0, which does not allow it"):
        PolicyIteration(initial_policy=[1, 1, 1]).fit(
            MDP(P3, R3, allowed=[[True, False], [True, True], [True, True]])
        )


@each_algorithm
def test_threads_give_the_same_bits(algorithm, monkeypatch):
    monkeypatch.setattr(backups, "BLOCK", 300)  # transitions
    mdp = local_mdp(400, m=2)
    one, two = (PolicyIteration(0.9, algorithm=algorithm, n_jobs=n_jobs).fit(mdp) for n_jobs in (1, 2))
    assert one.V_.tobytes() == two.V_.tobytes()
    assert one.Q_.tobytes() == two.Q_.tobytes()
    assert one.policy_.tobytes() == two.policy_.tobytes()


def test_predictions_and_files(tmp_path):
    model = PolicyIteration(0.9).fit(MDP(P3, R3, states=["low", "high", "end"], actions=["wait", "go"]))
    assert model.predict("low") == 1
    save_model(tmp_path / "model.skops", model, {})
    for again in (pickle.loads(pickle.dumps(model)), load_model(tmp_path / "model.skops")[0]):
        np.testing.assert_array_equal(again.V_, model.V_)
        assert again.predict(["high", "end"]).tolist() == [1, 0]
    env = gym.make("Taxi-v4")
    taxi = PolicyIteration(1.0).fit(env)
    save_model(tmp_path / "taxi.skops", taxi, {})
    observation, _ = env.reset(seed=1)
    total, over = 0.0, False
    while not over:
        observation, reward, over, _, _ = env.step(
            load_model(tmp_path / "taxi.skops")[0].predict(observation)
        )
        total += reward
    first, _ = env.reset(seed=1)
    assert total == taxi.V_[first]


# Policy improvement ---------------------------------------------------------------------------------------------


def test_improved_policy():
    mdp = masked_mdp(4)
    P, R = dense(mdp)
    V = np.random.default_rng(0).normal(size=mdp.n_states)
    expected = np.nanargmax(R + 0.8 * (P @ V), axis=1)
    np.testing.assert_array_equal(improved_policy(mdp, V, 0.8), expected)
    steps = np.nanargmax(R / 3 + 2 / 3 * (P @ V), axis=1)
    np.testing.assert_array_equal(improved_policy(mdp, V, horizon=3), steps)
    before = policy_values(mdp, one_hot(mdp, expected), 0.8)
    after = policy_values(mdp, one_hot(mdp, improved_policy(mdp, before, 0.8)), 0.8)
    assert (after >= before - 1e-12).all()
    best = action_values(mdp, before, 0.8).max(axis=1)
    assert (after >= best - 1e-12).all()
