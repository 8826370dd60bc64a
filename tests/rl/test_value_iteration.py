"""ValueIteration and bellman_residual: the watermelon notes' (14.10), (14.11), (14.13) and Algorithm 7."""

import pickle
import warnings

import gymnasium as gym
import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from tercet import Recorder
from tercet.io import load_model, save_model
from tercet.rl import MDP, PolicyIteration, ValueIteration, action_values, bellman_residual
from tercet.rl._engine import backups
from tercet.rl._engine.backups import ActionElimination, BellmanOperator, transitions_of
from tests.rl.planning_reference import dense, local_mdp, masked_mdp, optimal_values, policy_values
from tests.rl.td_reference import P3, R3, three_states

ALGORITHMS = ["jacobi", "gauss-seidel", "prioritised"]
each_algorithm = pytest.mark.parametrize("algorithm", ALGORITHMS)


# The text's numbers ---------------------------------------------------------------------------------------------


@each_algorithm
def test_discounted_optimum(algorithm):
    """Reference case 3 with γ = 0.9 (14.13)."""
    model = ValueIteration(0.9, algorithm=algorithm, tol=1e-10).fit(three_states())
    assert model.policy_.tolist() == [1, 1, 0]
    np.testing.assert_allclose(model.V_, (10.16927634, 8.09140923, 0), atol=6e-9)
    Q = [[9.97833263, 10.16927634], [6.14113415, 8.09140923], [0, 0]]
    np.testing.assert_allclose(model.Q_, Q, atol=6e-9)


def test_mean_reward_of_t_steps():
    """Reference case 3: T = 1, 2, 3 (14.10)."""
    for T, expected in ((1, (2.7, 2.6, 0)), (2, (2.655, 2.11, 0)), (3, (2.343, 1.92866667, 0))):
        model = ValueIteration(horizon=T).fit(three_states())
        np.testing.assert_allclose(model.V_, expected, atol=1e-8)
        np.testing.assert_array_equal(model.policies_, [[1, 1, 0]] * T)
        assert model.error_bound_ == 0
        assert model.n_iter_ == T


def test_algorithm_7_written_out():
    mdp = masked_mdp(3)
    P, R = dense(mdp)
    V, W, policies = np.zeros(mdp.n_states), np.zeros(mdp.n_states), []
    for t in range(1, 8):
        Q = R / t + (t - 1) / t * (P @ V)
        V = np.nanmax(Q, axis=1)
        policies.append(np.nanargmax(Q, axis=1))
        W = np.nanmax(R + 0.6 * (P @ W), axis=1)
    model = ValueIteration(horizon=7).fit(mdp)
    np.testing.assert_allclose(model.V_, V, rtol=1e-12)
    np.testing.assert_allclose(model.Q_[mdp.allowed], Q[mdp.allowed], rtol=1e-12)
    np.testing.assert_array_equal(model.policies_, policies)
    np.testing.assert_array_equal(model.policy_, policies[-1])
    np.testing.assert_allclose(ValueIteration(0.6, 7).fit(mdp).V_, W, rtol=1e-12)
    total = ValueIteration(1.0, 7).fit(mdp)  # the sum of 7 rewards is 7 times their mean
    np.testing.assert_allclose(total.V_, 7 * V, rtol=1e-12)
    np.testing.assert_array_equal(total.policies_, policies)


@pytest.mark.parametrize("seed", range(5))
def test_no_policy_of_t_steps_is_better(seed):
    """The best actions with 1, 2, 3 steps to go, against all policies that may change with time."""
    rng = np.random.default_rng(seed)
    mdp = MDP(rng.dirichlet(np.ones(2), (2, 2)), rng.normal(size=(2, 2)))
    P, R = dense(mdp)
    states, best = np.arange(2), np.full(2, -np.inf)
    for code in range(64):
        V = np.zeros(2)
        for t in range(3):
            a = [code >> (2 * t) & 1, code >> (2 * t + 1) & 1]
            V = R[states, a] + P[states, a] @ V
        best = np.maximum(best, V)
    np.testing.assert_allclose(ValueIteration(horizon=3).fit(mdp).V_, best / 3, rtol=1e-12)


# Independent solutions and bounds -------------------------------------------------------------------------------


@each_algorithm
@pytest.mark.parametrize("ends", [0, 2])
@pytest.mark.parametrize("seed", range(4))
def test_linear_program(seed, ends, algorithm):
    """The error bound holds for the values, and twice the bound for those of the policy."""
    mdp = masked_mdp(seed, ends)
    for discount in (0.0, 0.6, 0.97, 1.0)[: 4 if ends else 3]:
        expected = optimal_values(mdp, discount)
        slack = 1e-9 * np.abs(expected).max()
        for tol in (1e-2, 1e-10):
            model = ValueIteration(discount, algorithm=algorithm, tol=tol).fit(mdp)
            assert np.abs(model.V_ - expected).max() <= model.error_bound_ + slack
            of_policy = policy_values(mdp, np.eye(mdp.n_actions)[model.policy_], discount)
            assert np.abs(of_policy - expected).max() <= 2 * model.error_bound_ + slack
            assert model.residual_ <= tol + slack
            if discount < 1:
                assert model.error_bound_ == pytest.approx(discount / (1 - discount) * model.residual_)
            np.testing.assert_allclose(model.V_, model.Q_.max(axis=1), rtol=1e-14)
        np.testing.assert_allclose(model.V_, expected, atol=1e-6)
        np.testing.assert_allclose(model.Q_, action_values(mdp, expected, discount), atol=1e-6)


@pytest.mark.parametrize("ends", [(), (0, 60)])
def test_algorithms_agree(ends):
    mdp = local_mdp(100, ends=ends)
    models = [ValueIteration(0.95, algorithm=algorithm).fit(mdp) for algorithm in ALGORITHMS]
    models += [PolicyIteration(0.95, algorithm=algorithm).fit(mdp) for algorithm in ("howard", "modified")]
    for model in models:
        np.testing.assert_array_equal(model.policy_, models[0].policy_)
        assert np.abs(model.V_ - models[0].V_).max() <= model.error_bound_ + models[0].error_bound_
        assert model.error_bound_ <= 19 * 1e-8


def test_bounds_save_passes():
    """Without terminal states values are as far as the changes differ, not as large as they are."""
    mdp = masked_mdp(0)
    model = ValueIteration(0.99).fit(mdp)
    assert model.n_iter_ < 200  # a change shrinks by 0.99 in a pass: some 2000 until 1e-8
    assert np.abs(model.V_ - optimal_values(mdp, 0.99)).max() <= model.error_bound_ + 1e-9


def test_actions_that_are_left_out():
    """The engine, against the plain form of the backup."""
    mdp, discount = local_mdp(100, m=6, seed=3), 0.9
    T = ActionElimination(BellmanOperator(transitions_of(mdp)), discount)
    V, plain = None, np.zeros(mdp.n_states)
    for _ in range(150):
        before, V = np.zeros(mdp.n_states) if V is None else V, T.backup(V).V
        plain = action_values(mdp, plain, discount).max(axis=1)
        np.testing.assert_allclose(V, plain, rtol=1e-13, atol=1e-13)
        best = V[mdp.pair_states] - T.operator.tie(V)
        assert (action_values(mdp, before, discount)[mdp.pair_states, mdp.pair_actions] < best)[
            ~T.alive
        ].all()
    assert 100 <= T.alive.sum() < 120  # of 600


# A discount of 1 ------------------------------------------------------------------------------------------------


@each_algorithm
def test_gymnasium_without_a_discount(algorithm):
    for name, best in (("FrozenLake-v1", 14 / 17), ("CliffWalking-v1", -13), ("Taxi-v4", 7.93)):
        mdp = MDP.from_gymnasium(name)
        model = ValueIteration(1.0, algorithm=algorithm, tol=1e-10).fit(name)
        assert mdp.start @ model.V_ == pytest.approx(best, abs=1e-7)
        values = policy_values(mdp, np.eye(mdp.n_actions)[model.policy_], 1.0)
        assert mdp.start @ values == pytest.approx(best, abs=1e-7)


@each_algorithm
def test_the_best_of_the_policies_that_end(algorithm):
    """An agent could stay for ever without a cost: values begin below those of a policy that ends."""
    P = np.zeros((4, 2, 4))
    for x in range(4):
        P[x, 0, max(x - 1, 0)] = P[x, 1, min(x + 1, 3)] = 1
    model = ValueIteration(1.0, algorithm=algorithm).fit(
        MDP(P, [[0, 0], [0, 0], [0, -1], [0, 0]], terminal=[3])
    )
    assert model.V_.tolist() == [-1, -1, -1, 0]
    assert model.policy_.tolist() == [1, 1, 1, 0]
    assert model.error_bound_ == np.inf


def test_refusals_without_a_discount():
    trap = MDP([[[1, 0, 0]], [[0, 0.5, 0.5]], [[0, 0, 1]]], [[-1.0], [0], [0]], states=["trap", "b", "c"])
    with pytest.raises(
        ValueError, match=r"ValueIteration: discount=1 needs .* every state can reach; state 'trap'"
    ):
        ValueIteration(1.0).fit(trap)
    assert ValueIteration(1.0, 3).fit(trap).V_.tolist() == [-3, 0, 0]
    loop = MDP([[[1, 0], [0, 1]], [[0, 1], [0, 1]]], [[1.0, 0.0], [0, 0]])
    for algorithm in ALGORITHMS:
        with pytest.warns(
            ConvergenceWarning, match=r"With discount=1, values have no bound if positive rewards"
        ):
            ValueIteration(1.0, algorithm=algorithm, max_iter=20).fit(loop)


# Loops, predictions and files -----------------------------------------------------------------------------------


@each_algorithm
def test_history_and_warning(algorithm):
    model = ValueIteration(0.9, algorithm=algorithm, tol=1e-6).fit(three_states())
    residuals = model.history_["residual"]
    assert model.n_iter_ == len(residuals) > 5
    assert residuals[-1] <= 1e-6 < residuals[-2]
    with pytest.warns(
        ConvergenceWarning, match=r"ValueIteration did not converge in 3 passes .*Raise max_iter or tol"
    ):
        model = ValueIteration(0.9, algorithm=algorithm, max_iter=3).fit(three_states())
    error = np.abs(model.V_ - (10.16927634, 8.09140923, 0)).max()
    assert error <= model.error_bound_


@each_algorithm
def test_rewards_of_any_size(algorithm):
    expected = ValueIteration(0.9, tol=1e-12).fit(three_states())
    for scale in (1e-12, 1e12):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = ValueIteration(0.9, algorithm=algorithm, tol=0.0).fit(MDP(P3, scale * R3))
        np.testing.assert_allclose(model.V_ / scale, expected.V_, rtol=1e-11)
        assert model.policy_.tolist() == [1, 1, 0]


def test_the_first_of_equal_actions():
    rng = np.random.default_rng(0)
    P, R = rng.dirichlet(np.ones(5), (5, 2)), rng.normal(size=(5, 2))
    double = MDP(P[:, [0, 0, 1, 1]], R[:, [0, 0, 1, 1]])
    for algorithm in ALGORITHMS:
        policy = ValueIteration(0.9, algorithm=algorithm).fit(double).policy_
        assert set(policy.tolist()) <= {0, 2}


@each_algorithm
def test_callbacks_see_each_pass(algorithm):
    recorder = Recorder()
    model = ValueIteration(0.9, algorithm=algorithm).set_callbacks(recorder).fit(three_states())
    assert recorder.frames[0].index == 0
    first, last = recorder.frames[0].attributes, recorder.frames[-1].attributes
    if algorithm == "jacobi":
        np.testing.assert_allclose(first["V_"], [2.7, 2.6, 0])
    np.testing.assert_allclose(last["V_"], model.V_, atol=1e-6)
    np.testing.assert_allclose(last["Q_"], model.Q_, atol=1e-6)
    np.testing.assert_array_equal(last["policy_"], model.policy_)


def test_threads_give_the_same_bits(monkeypatch):
    monkeypatch.setattr(backups, "BLOCK", 300)  # transitions
    mdp = local_mdp(400, m=2)
    one, two = (ValueIteration(0.9, n_jobs=n_jobs).fit(mdp) for n_jobs in (1, 2))
    assert one.V_.tobytes() == two.V_.tobytes()
    assert one.Q_.tobytes() == two.Q_.tobytes()


def test_predictions_and_files(tmp_path):
    env = gym.make("FrozenLake-v1", is_slippery=False)
    model = ValueIteration(0.99).fit(env)
    observation, over, steps = env.reset()[0], False, 0
    while not over:
        observation, reward, over, _, _ = env.step(model.predict(observation))
        steps += 1
    assert (reward, steps) == (1, 6)
    steps = ValueIteration(horizon=5).fit(three_states())
    for fitted in (model, steps):
        save_model(tmp_path / "model.skops", fitted, {})
        for again in (pickle.loads(pickle.dumps(fitted)), load_model(tmp_path / "model.skops")[0]):
            np.testing.assert_array_equal(again.V_, fitted.V_)
            np.testing.assert_array_equal(again.predict([0, 1, 2]), fitted.predict([0, 1, 2]))
    assert load_model(tmp_path / "model.skops")[0].policies_.shape == (5, 3)


def test_a_second_fit_forgets_the_first():
    model = ValueIteration(horizon=2).fit(three_states())
    assert model.policies_.shape == (2, 3)
    model.set_params(horizon=None, discount=0.5).fit(three_states())
    assert not hasattr(model, "policies_")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"discount": -0.1}, r"parameter 'discount' must be a number in \[0, 1\] or None; got -0.1"),
        (
            {"algorithm": "policy"},
            r"parameter 'algorithm' must be one of 'jacobi', 'gauss-seidel', 'prioritised'",
        ),
        ({"tol": -1.0}, r"parameter 'tol' must be"),
        ({"max_iter": 0}, r"parameter 'max_iter' must be"),
        ({"horizon": 1.5}, r"parameter 'horizon' must be"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=r"ValueIteration: " + message):
        ValueIteration(**parameters).fit(three_states())


def test_what_is_no_model():
    with pytest.raises(TypeError, match=r"expected an MDP"):
        ValueIteration().fit([[1, 2], [3, 4]])


# The Bellman residual -------------------------------------------------------------------------------------------


def test_bellman_residual():
    mdp = masked_mdp(6, ends=1)
    P, R = dense(mdp)
    V = np.random.default_rng(0).normal(size=mdp.n_states)
    expected = np.abs(np.nanmax(R + 0.8 * (P @ V), axis=1) - V).max()
    assert bellman_residual(mdp, V, 0.8) == pytest.approx(expected, rel=1e-12)
    best = optimal_values(mdp, 0.8)
    assert bellman_residual(mdp, best, 0.8) < 1e-9
    assert np.abs(best - V).max() <= expected / 0.2  # what it bounds
    policy = mdp.allowed.argmax(axis=1)
    values = policy_values(mdp, np.eye(mdp.n_actions)[policy], 0.8)
    assert bellman_residual(mdp, values, 0.8, policy=policy) < 1e-12
    assert bellman_residual(mdp, values, 0.8) > 1e-3
    model = ValueIteration(0.8, tol=1e-3).fit(mdp)
    assert bellman_residual(mdp, model.V_, 0.8) <= 0.8 * model.residual_ + 1e-12
    with pytest.raises(ValueError, match=r"V must hold a finite number for each"):
        bellman_residual(mdp, [1.0])
