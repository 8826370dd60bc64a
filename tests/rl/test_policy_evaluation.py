"""PolicyEvaluation and action_values: the watermelon notes' (14.3) to (14.7) and Algorithm 5."""

import pickle
import warnings

import gymnasium as gym
import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from tercet import Recorder
from tercet.io import load_model, save_model
from tercet.rl import MDP, PolicyEvaluation, action_values, grid_world
from tercet.rl._engine import backups
from tests.rl.planning_reference import dense, local_mdp, masked_mdp, policy_values
from tests.rl.td_reference import P3, R3, three_states


def random_policy(mdp, seed=0):
    chances = np.random.default_rng(seed).random((mdp.n_states, mdp.n_actions)) * mdp.allowed
    return chances / chances.sum(axis=1, keepdims=True)


# The text's numbers ---------------------------------------------------------------------------------------------


def test_mean_reward_of_t_steps():
    """Reference case 3: V_1, V_2 and V_3 of the uniform policy (14.5)."""
    for T, expected in ((1, (1.95, 2.55, 0)), (2, (2.115, 1.88625, 0)), (3, (1.976125, 1.587375, 0))):
        model = PolicyEvaluation(horizon=T).fit(three_states())
        np.testing.assert_allclose(model.V_, expected, rtol=1e-14)
        assert model.n_iter_ == T
        assert model.error_bound_ == 0
    np.testing.assert_allclose(model.history_["residual"], [2.55, 0.66375, 0.298875], rtol=1e-12)


@pytest.mark.parametrize("algorithm", ["solve", "iteration"])
def test_discounted_rewards(algorithm):
    """Reference case 3 with γ = 0.9: (14.6) and (14.7), whose misprints leave out R."""
    model = PolicyEvaluation(discount=0.9, algorithm=algorithm, tol=1e-10).fit(three_states())
    np.testing.assert_allclose(model.V_, (8.46934881, 6.24093442, 0), atol=5e-9)
    Q = [[8.42129934, 8.51739827], [5.30842049, 7.17344835], [0, 0]]
    np.testing.assert_allclose(model.Q_, Q, atol=5e-9)
    np.testing.assert_allclose(model.V_, model.Q_.mean(axis=1), rtol=1e-14)


def test_values_of_actions_from_those_of_one_step_less():
    """Q_T comes from V_{T-1} (14.7)."""
    mdp, policy = masked_mdp(1), random_policy(masked_mdp(1))
    for T in (1, 2, 5):
        model = PolicyEvaluation(policy, horizon=T).fit(mdp)
        before = PolicyEvaluation(policy, horizon=T - 1).fit(mdp).V_ if T > 1 else np.zeros(mdp.n_states)
        np.testing.assert_allclose(model.Q_, action_values(mdp, before, horizon=T), rtol=1e-12)
        np.testing.assert_allclose(
            model.V_, (policy * np.where(policy > 0, model.Q_, 0)).sum(axis=1), rtol=1e-12
        )


def test_algorithm_5_written_out():
    mdp, T = masked_mdp(3, ends=1), 6
    policy, (P, R) = random_policy(mdp), dense(mdp)
    V = np.zeros(mdp.n_states)
    for t in range(1, T + 1):
        inner = R / t + (t - 1) / t * (P @ V)
        V = np.nansum(policy * inner, axis=1)
    np.testing.assert_allclose(PolicyEvaluation(policy, horizon=T).fit(mdp).V_, V, rtol=1e-12, atol=1e-14)
    V = np.zeros(mdp.n_states)
    for _ in range(T):
        V = np.nansum(policy * (R + 0.7 * (P @ V)), axis=1)
    model = PolicyEvaluation(policy, 0.7, T).fit(mdp)  # with both, the discounted sum of T rewards
    np.testing.assert_allclose(model.V_, V, rtol=1e-12, atol=1e-14)


# Against linear equations ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("ends", [0, 2])
@pytest.mark.parametrize("seed", range(4))
def test_linear_equations(seed, ends):
    mdp = masked_mdp(seed, ends)
    for discount in (0.0, 0.5, 0.95, 1.0)[: 4 if ends else 3]:
        policy = random_policy(mdp, seed)
        expected = policy_values(mdp, policy, discount)
        exact = PolicyEvaluation(policy, discount).fit(mdp)
        np.testing.assert_allclose(exact.V_, expected, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(exact.Q_, action_values(mdp, expected, discount), rtol=1e-10, atol=1e-11)
        near = PolicyEvaluation(policy, discount, algorithm="iteration", tol=1e-4).fit(mdp)
        assert np.abs(near.V_ - expected).max() <= near.error_bound_ + 1e-12
        assert near.residual_ <= 1e-4


@pytest.mark.parametrize(("ends", "discount"), [((), 0.9), ((), 0.999), ((0, 250), 0.99), ((0, 250), 1.0)])
def test_many_states(ends, discount):
    """Larger models are solved by Krylov iterations and a sparse decomposition."""
    mdp = local_mdp(400, ends=ends)
    expected = policy_values(mdp, np.full((400, 3), 1 / 3), discount)
    model = PolicyEvaluation(discount=discount).fit(mdp)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(model.V_, expected, rtol=0, atol=1e-11 * scale)
    assert np.abs(model.V_ - expected).max() <= model.error_bound_ + 1e-11 * scale
    assert model.V_[list(ends)].tolist() == [0] * len(ends)


@pytest.mark.parametrize("limits", [{"PRODUCTS": 1}, {"QUICK": 1.0}, {}], ids=["LU", "sweeps", "BiCGSTAB"])
def test_ways_to_solve_the_equations(limits, monkeypatch):
    for name, value in limits.items():
        monkeypatch.setattr(backups, name, value)
    for ends in ((), (0, 250)):
        mdp = local_mdp(400, ends=ends, seed=1)
        chain = backups.BellmanOperator(backups.transitions_of(mdp)).chain(mdp.pair_index[:, 0].copy())
        expected = policy_values(mdp, np.eye(3)[np.zeros(400, dtype=int)], 0.95)
        for guess in (None, expected, np.ones(400) * ~mdp.terminal):
            V = backups.solve_chain(chain, 0.95, mdp.terminal, guess)
            np.testing.assert_allclose(V, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


def test_simulated_returns():
    mdp = grid_world(["S..", ".#.", "..G"], step_reward=-1.0, slip=0.2)
    policy = {state: "right" if state % 2 else "down" for state in range(mdp.n_states)}
    model = PolicyEvaluation(policy, 0.9).fit(mdp)
    returns = [e.discounted_return(0.9) for e in mdp.simulate(policy, 4000, random_state=0)]
    assert np.mean(returns) == pytest.approx(mdp.start @ model.V_, abs=4 * np.std(returns) / 4000**0.5)


def test_discount_of_one_where_the_policy_ends():
    mdp = MDP([[[1, 0], [0, 1]], [[0, 1], [0, 1]]], [[-1.0, -1.0], [0, 0]], states=["here", "there"])
    assert PolicyEvaluation([1, 0], 1.0).fit(mdp).V_.tolist() == [-1, 0]
    model = PolicyEvaluation(discount=1.0).fit(mdp)
    assert model.V_[0] == pytest.approx(-2, rel=1e-14)
    message = (
        "discount=1 needs a terminal state that every state reaches under the policy; state 'here' does not"
    )
    with pytest.raises(ValueError, match=message):
        PolicyEvaluation([0, 0], 1.0).fit(mdp)
    assert PolicyEvaluation([0, 0], 1.0, 5).fit(mdp).V_.tolist() == [-5, 0]  # a horizon will do
    assert PolicyEvaluation([0, 0], horizon=5).fit(mdp).V_.tolist() == [-1, 0]


def test_error_bound_of_a_discount_of_one():
    """The residual times the largest expected number of steps."""
    mdp = MDP([[[0.9, 0.1]], [[0, 1]]], [[1.0], [0.0]])
    model = PolicyEvaluation(discount=1.0, algorithm="iteration", tol=1e-3).fit(mdp)
    assert abs(model.V_[0] - 10) <= model.error_bound_ * (1 + 1e-9)
    assert model.error_bound_ == pytest.approx(10 * model.residual_)


def test_default_discount():
    expected = policy_values(three_states(), np.full((3, 2), 0.5), 0.99)
    np.testing.assert_allclose(PolicyEvaluation().fit(three_states()).V_, expected, rtol=1e-12)


# Loops, policies and files --------------------------------------------------------------------------------------


def test_history_and_warning():
    model = PolicyEvaluation(discount=0.9, algorithm="iteration", tol=1e-3).fit(three_states())
    assert model.n_iter_ == len(model.history_["residual"]) > 10
    assert model.history_["residual"][-1] <= 1e-3 < model.history_["residual"][-2]
    with pytest.warns(
        ConvergenceWarning, match=r"PolicyEvaluation did not converge in 4 passes .*Raise max_iter or tol"
    ):
        PolicyEvaluation(algorithm="iteration", max_iter=4).fit(three_states())


def test_iteration_ends_where_rounding_does():
    mdp = MDP(P3, 1e9 * R3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = PolicyEvaluation(discount=0.9, algorithm="iteration", tol=0.0).fit(mdp)
    np.testing.assert_allclose(model.V_, PolicyEvaluation(discount=0.9).fit(mdp).V_, rtol=1e-13)


def test_callbacks_see_the_values_of_each_pass():
    recorder = Recorder()
    model = PolicyEvaluation(horizon=3).set_callbacks(recorder).fit(three_states())
    seen = [frame.attributes["V_"] for frame in recorder.frames]
    np.testing.assert_allclose(seen, [(1.95, 2.55, 0), (2.115, 1.88625, 0), model.V_], rtol=1e-14)
    np.testing.assert_array_equal(recorder.frames[-1].attributes["Q_"], model.Q_)


def test_predict_gives_the_most_probable_action():
    model = PolicyEvaluation([[0.3, 0.7], [0.8, 0.2], [0.5, 0.5]], 0.9).fit(MDP(P3, R3, states="abc"))
    assert model.predict("a") == 1
    assert model.predict(["b", "a", "c"]).tolist() == [0, 1, 0]
    np.testing.assert_array_equal(model.probabilities_[0], [0.3, 0.7])


def test_an_environment_is_a_model():
    env = gym.make("FrozenLake-v1")
    model = PolicyEvaluation(discount=1.0).fit(env)
    expected = policy_values(MDP.from_gymnasium(env), np.full((16, 4), 0.25), 1.0)
    np.testing.assert_allclose(model.V_, expected, rtol=1e-12, atol=1e-15)
    np.testing.assert_array_equal(PolicyEvaluation(discount=1.0).fit("FrozenLake-v1").V_, model.V_)
    with pytest.raises(ValueError, match=r"MDP: CartPoleEnv has no table P"):
        PolicyEvaluation().fit(gym.make("CartPole-v1"))


def test_threads_give_the_same_bits(monkeypatch):
    monkeypatch.setattr(backups, "BLOCK", 300)  # transitions
    mdp = local_mdp(400)
    one, two = (PolicyEvaluation(discount=0.9, n_jobs=n_jobs).fit(mdp) for n_jobs in (1, 2))
    assert one.V_.tobytes() == two.V_.tobytes()
    assert one.Q_.tobytes() == two.Q_.tobytes()


def test_files(tmp_path):
    model = PolicyEvaluation([0, 1, 0], 0.9).fit(MDP(P3, R3, states="abc"))
    save_model(tmp_path / "model.skops", model, {})
    for again in (pickle.loads(pickle.dumps(model)), load_model(tmp_path / "model.skops")[0]):
        np.testing.assert_array_equal(again.V_, model.V_)
        np.testing.assert_array_equal(again.Q_, model.Q_)
        assert again.predict("b") == 1


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"policy": [0, 1]}, "policy must have the shape"),
        ({"discount": 1.1}, "parameter 'discount' must be a number in \\[0, 1\\] or None; got 1.1"),
        ({"horizon": 0}, "parameter 'horizon' must be an integer .* or None; got 0"),
        ({"algorithm": "lu"}, "parameter 'algorithm' must be one of 'solve', 'iteration'; got 'lu'"),
        ({"discount": 1.0}, None),
    ],
)
def test_bad_parameters(parameters, message):
    if message is None:  # the uniform policy ends
        assert np.isfinite(PolicyEvaluation(**parameters).fit(three_states()).V_).all()
        return
    with pytest.raises(ValueError, match=message):
        PolicyEvaluation(**parameters).fit(three_states())


# Values of actions ----------------------------------------------------------------------------------------------


def test_action_values():
    mdp = masked_mdp(5)
    P, R = dense(mdp)
    V = np.random.default_rng(0).normal(size=mdp.n_states)
    for Q, expected in (
        (action_values(mdp, V, 0.8), R + 0.8 * (P @ V)),
        (action_values(mdp, V, horizon=4), R / 4 + 0.75 * (P @ V)),
        (action_values(mdp, V), R + 0.99 * (P @ V)),
    ):
        np.testing.assert_allclose(Q[mdp.allowed], expected[mdp.allowed], rtol=1e-12)
        assert (Q[~mdp.allowed] == -np.inf).all()
    with pytest.raises(
        ValueError, match=r"V must hold a finite number for each of the \d+ states; .* shape \(2,\)"
    ):
        action_values(mdp, [1.0, 2.0])
    with pytest.raises(ValueError, match=r"V must hold finite numbers; got nan"):
        action_values(mdp, np.append(V[:-1], np.nan))
