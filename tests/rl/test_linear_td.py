"""Temporal differences for linear values of a policy."""

import pickle

import gymnasium
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from tercet.core.callbacks import Recorder
from tercet.core.steps import ConvergenceWarning
from tercet.io import load_model, save_model
from tercet.rl import (
    LSTD,
    MDP,
    LinearTD,
    RadialBasisFeatures,
    Schedule,
    TemporalDifference,
    TileCoding,
    linear_td_update,
)
from tests.rl.linear_worlds import Stay, VectorWorld, plain, random_model, random_walk, ring


def test_reference_case_7():
    found = linear_td_update([0.1, -0.2, 0.3], [1, 2, 0], 1.0, [0, 1, 1], discount=0.9, learning_rate=0.1)
    np.testing.assert_allclose(found, [0.239, 0.078, 0.3], rtol=1e-12)
    ended = linear_td_update(
        [0.1, -0.2, 0.3], [1, 2, 0], 1.0, [0, 1, 1], discount=0.9, learning_rate=0.1, terminated=True
    )
    np.testing.assert_allclose(ended, [0.23, 0.06, 0.3], rtol=1e-12)
    with pytest.raises(ValueError, match=r"must have the same shape .* \(2,\), \(3,\) and \(3,\)"):
        linear_td_update([0.1, -0.2], [1, 2, 0], 1.0, [0, 1, 1], discount=0.9, learning_rate=0.1)


def test_the_class_makes_the_update_of_the_reference_case():
    """A model of one step, whose weights are set beforehand."""
    mdp = MDP([[[0, 1]], [[0, 1]]], [[1.0], [0.0]], terminal=[], start=0)
    table = [[1, 2, 0], [0, 1, 1]]
    agent = LinearTD(
        features=table, n_episodes=1, n_steps=1, discount=0.9, warm_start=True, random_state=0
    ).fit(mdp)
    agent.coef_ = np.array([0.1, -0.2, 0.3])
    agent.fit(mdp)
    np.testing.assert_allclose(agent.coef_, [0.239, 0.078, 0.3], rtol=1e-12)


@pytest.mark.parametrize("kind", ["accumulating", "replacing", "dutch"])
@pytest.mark.parametrize("decay", [0.0, 0.8])
def test_indicators_of_states_make_it_the_tabular_method(kind, decay):
    mdp = random_model()
    options = {"n_episodes": 50, "discount": 0.9, "trace_decay": decay, "traces": kind, "random_state": 3}
    table = TemporalDifference(**options).fit(mdp)
    agent = LinearTD(**options).fit(mdp)
    np.testing.assert_allclose(agent.V_, table.V_, rtol=1e-7, atol=1e-9)
    np.testing.assert_array_equal(agent.episode_lengths_, table.episode_lengths_)
    np.testing.assert_allclose(agent.coef_[:-1], agent.V_[:-1], rtol=1e-12)


@pytest.mark.parametrize("kind", ["accumulating", "replacing", "dutch"])
@pytest.mark.parametrize(("decay", "normalize"), [(0.0, False), (0.7, True), (1.0, False)])
def test_it_makes_the_steps_of_the_book(kind, decay, normalize):
    mdp, rng = random_model(1), np.random.default_rng(5)
    table = rng.normal(size=(8, 4)) * (rng.random((8, 4)) < 0.7)
    options = {"discount": 0.9, "n_episodes": 15}
    agent = LinearTD(
        None,
        table,
        learning_rate=0.02,
        trace_decay=decay,
        traces=kind,
        normalize=normalize,
        random_state=7,
        **options,
    ).fit(mdp)
    theta = plain(
        mdp,
        lambda x, a: table[x],
        alpha=0.02,
        decay=decay,
        kind=kind,
        normalize=normalize,
        rule="td",
        seed=7,
        **options,
    )
    np.testing.assert_allclose(agent.coef_, theta, rtol=1e-8, atol=1e-10)
    values = table @ theta
    values[-1] = 0.0
    np.testing.assert_allclose(agent.V_, values, rtol=1e-8, atol=1e-10)


def test_it_comes_near_the_fixed_point():
    mdp = random_model(2)
    table = np.random.default_rng(0).normal(size=(8, 3))
    exact = LSTD(features=table, n_episodes=4000, discount=0.8, random_state=0).fit(mdp)
    rate = Schedule("linear", 0.05, 0.0005, length=30_000)
    agent = LinearTD(features=table, n_episodes=4000, discount=0.8, learning_rate=rate, random_state=1).fit(
        mdp
    )
    np.testing.assert_allclose(agent.coef_, exact.coef_, atol=0.08)


def test_td_1_is_a_regression_on_the_returns():
    walk = random_walk()
    table = np.array([[1, 0], [1, 1], [1, 2], [1, 3], [1, 9], [1, 5], [1, 0]], dtype=float) / 5
    rate = Schedule("linear", 0.02, 0.0005, length=100_000)
    options = {"n_episodes": 12_000, "discount": 1.0, "random_state": 0}
    agent = LinearTD(features=table, learning_rate=rate, trace_decay=1.0, **options).fit(walk)
    visits = np.array([1, 2, 3, 2, 1]) / 9  # of the states between the ends, from the one in the middle on
    root = np.sqrt(visits)[:, None]
    theta = np.linalg.lstsq(root * table[1:6], root[:, 0] * np.arange(1, 6) / 6, rcond=None)[0]
    np.testing.assert_allclose(agent.V_[1:6], table[1:6] @ theta, atol=0.04)
    other = LinearTD(features=table, learning_rate=rate, **options).fit(walk)
    assert np.abs(other.V_[1:6] - table[1:6] @ theta).max() > 0.1, "TD(0) goes to another point"


def test_an_environment_of_vectors_teaches_what_the_model_does():
    mdp, table = ring(), np.random.default_rng(1).normal(size=(6, 3))
    options = {"n_episodes": 12, "discount": 0.9, "trace_decay": 0.6, "max_steps": 50, "random_state": 4}
    in_model = LinearTD(None, table, **options).fit(mdp)
    in_world = LinearTD(None, None, **options).fit(VectorWorld(mdp, table))
    np.testing.assert_allclose(in_world.coef_, in_model.coef_, rtol=1e-10)
    np.testing.assert_array_equal(in_world.episode_lengths_, in_model.episode_lengths_)
    np.testing.assert_allclose(in_world.value(table[:5]), in_model.V_[:5], rtol=1e-10)
    assert in_world.value(table[2]) == pytest.approx(in_model.value(2), rel=1e-10)
    assert not hasattr(in_world, "V_")


def test_truncated_episodes_bootstrap_and_terminated_ones_do_not():
    ended = LinearTD(n_episodes=300, discount=0.5, random_state=0).fit(Stay(True))
    with pytest.warns(UserWarning, match="300 of 300 episodes hit the step limit"):
        truncated = LinearTD(n_episodes=300, discount=0.5, random_state=0).fit(Stay(False))
    assert ended.coef_ == pytest.approx([1.0], abs=1e-6)
    assert truncated.coef_ == pytest.approx([2.0], abs=1e-4)


class TestFeatures:
    walk = random_walk()

    def fit(self, features, world=None, **options):
        return LinearTD(features=features, n_episodes=20, discount=1.0, random_state=0, **options).fit(
            world or self.walk
        )

    def test_arrays_sparse_matrices_and_functions_are_the_same(self):
        table = np.array([[x, x * x] for x in range(7)]) / 49
        one = self.fit(table)
        for other in (table.tolist(), sparse.csr_matrix(table), sparse.coo_array(table), lambda x: table[x]):
            np.testing.assert_allclose(self.fit(other).coef_, one.coef_, rtol=1e-12)

    def test_transformers_get_the_names_of_states_as_rows(self):
        names = [(x, 0.5) for x in range(7)]
        mdp = self.walk
        named = MDP(
            [[row] for row in mdp.probabilities.toarray()], mdp.pair_rewards[:, None],
            terminal=[(0, 0.5), (6, 0.5)], start=(3, 0.5), states=names,
        )  # fmt: skip
        agent = self.fit(PolynomialFeatures(2, include_bias=False), named, learning_rate=1e-3)
        assert agent.coef_.shape == (5,)
        assert self.fit(TileCoding(3, 2), named).coef_.shape == (2 * 4 * 4,)
        fitted = StandardScaler().fit([[0.0, 0.0], [2.0, 1.0]])
        np.testing.assert_allclose(
            self.fit(fitted, named).coef_,
            self.fit(fitted.transform(np.array(names)), named).coef_,
            rtol=1e-12,
        )

    def test_unfitted_transformers_are_fitted_on_the_box(self):
        table = np.random.default_rng(0).normal(size=(6, 2))
        world = VectorWorld(table=table)
        agent = self.fit(RadialBasisFeatures(3), world)
        np.testing.assert_array_equal(agent.features_.low_, [-10.0, -10.0])
        np.testing.assert_array_equal(agent.features_.high_, [10.0, 10.0])
        mine = RadialBasisFeatures(3)
        assert not hasattr(mine, "low_")
        world.observation_space = gymnasium.spaces.Box(-np.inf, np.array([np.inf, 9.0]), (2,), np.float64)
        agent = self.fit(mine, world)
        assert not hasattr(mine, "low_"), "the parameter itself is left as it is"
        assert agent.features_.low_ == pytest.approx(table.min(axis=0))
        assert agent.features_.high_[1] == 9.0 or agent.features_.high_[1] == pytest.approx(table[:, 1].max())

    def test_functions_of_vectors(self):
        table = np.random.default_rng(0).normal(size=(6, 2))
        one = self.fit(lambda x: [x[0], x[1] ** 2], VectorWorld(table=table))
        other = self.fit(None, VectorWorld(table=np.column_stack([table[:, 0], table[:, 1] ** 2])))
        np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-12)
        images = VectorWorld(table=table.reshape(6, 2, 1))
        seen = []
        agent = self.fit(lambda x: seen.append(x.shape) or x.ravel(), images)
        assert set(seen) == {(2, 1)}
        assert agent.value(table.reshape(6, 2, 1)).shape == (6,)
        assert isinstance(agent.value(table[0].reshape(2, 1)), float)

    @pytest.mark.parametrize(
        ("features", "match"),
        [
            (
                np.ones((6, 2)),
                r"features must have the shape \(n_states, n_features\) with 7 for the first; got \(6, 2\)",
            ),
            (np.ones(7), r"got \(7,\)"),
            (np.where(np.arange(7) == 2, np.nan, 1.0)[:, None], "features holds nan for state 2"),
            (
                "abc",
                "features must be None, an array or sparse matrix of numbers, a callable, or a transformer",
            ),
            (
                lambda x: [1.0] * (1 + (x == 3)),
                "vectors of the same length; it gave 1 numbers for 0 and 2 for 3",
            ),
            (lambda x: "high", "features must give a vector of numbers; it gave 'high'"),
            (lambda x: [np.inf], r"features must give finite numbers; it gave \[inf\]"),
        ],
    )
    def test_bad_features_of_states(self, features, match):
        with pytest.raises(ValueError, match=match):
            self.fit(features)

    def test_names_that_are_no_vectors(self):
        mdp = MDP([[[0, 1]], [[0, 1]]], [[1.0], [0.0]], states=["a", "b"])
        with pytest.raises(ValueError, match="names of the states must be numbers"):
            self.fit(StandardScaler(), mdp)
        assert self.fit(lambda name: [name == "a"], mdp).coef_.shape == (1,)

    def test_bad_features_of_vectors(self):
        with pytest.raises(
            ValueError, match="features must be a callable or a transformer where observations are vectors"
        ):
            self.fit(np.ones((6, 2)), VectorWorld())
        with pytest.raises(ValueError, match="fitted on 2 inputs; observations of the environment have 6"):
            self.fit(StandardScaler().fit(np.ones((3, 2))), VectorWorld())
        with pytest.raises(
            ValueError,
            match=r"features gives 1251000300040002 features, .* Use fewer tiles, centres or inputs",
        ):
            self.fit(TileCoding(5000, 2), VectorWorld(table=np.ones((6, 4))))


def test_policies():
    mdp, world = ring(), VectorWorld(first_action=3)
    always = np.ones(6, dtype=int)
    options = {"n_episodes": 3, "discount": 0.9, "random_state": 0}
    one = LinearTD(always, **options).fit(mdp)
    for policy in (np.eye(2)[always], lambda x: 1, one):
        other = LinearTD(policy, **options).fit(mdp)
        np.testing.assert_array_equal(other.coef_, one.coef_)
        np.testing.assert_array_equal(other.policy_, always)
    assert one.episode_lengths_.tolist() == [5, 5, 5]
    np.testing.assert_array_equal(one.predict([0, 3]), [1, 1])
    vectors = LinearTD(lambda x: 4, **options).fit(world)
    np.testing.assert_allclose(vectors.coef_, one.coef_, rtol=1e-12)
    assert vectors.predict(np.eye(6)[0]) == 4
    np.testing.assert_array_equal(vectors.predict(np.eye(6)[:2]), [4, 4])
    with pytest.raises(ValueError, match="policy=None takes random actions"):
        LinearTD(**options).fit(world).predict(np.eye(6)[0])
    with pytest.raises(ValueError, match=r"policy gave the action 5; there are range\(3, 5\)"):
        LinearTD(lambda x: 5, **options).fit(world)
    with pytest.raises(
        ValueError, match="policy must be None, a function of an observation or a fitted agent"
    ):
        LinearTD(always, **options).fit(world)


def test_vector_environments():
    gym_vector = gymnasium.vector
    options = {"n_episodes": 30, "discount": 0.9, "random_state": 0}
    alone = LinearTD(lambda x: 1, **options).fit(VectorWorld())
    for mode in gym_vector.AutoresetMode:
        worlds = gym_vector.SyncVectorEnv([VectorWorld], autoreset_mode=mode)
        np.testing.assert_allclose(
            LinearTD(lambda x: 1, **options).fit(worlds).coef_, alone.coef_, rtol=1e-12
        )
        several = gym_vector.SyncVectorEnv([VectorWorld] * 3, autoreset_mode=mode)
        agent = LinearTD(lambda x: 1, **options, learning_rate=0.5).fit(several)
        assert agent.episode_lengths_.tolist() == [5] * 30
        exact = [sum(0.9 ** (k - x) * k for k in range(x, 5)) for x in range(5)]
        np.testing.assert_allclose(agent.value(np.eye(6)[:5]), exact, rtol=2e-3)


def test_divergence_is_told_and_leaves_finite_weights():
    """Two states with the features 1 and 2; updates of the first alone: θ goes to infinity (Tsitsiklis "
    "& Van Roy)."""
    mdp = MDP([[[0, 1]], [[0, 1]]], np.zeros((2, 1)), terminal=[], start=0)
    agent = LinearTD(
        features=[[1.0], [2.0]],
        n_episodes=3000,
        max_steps=1,
        discount=0.99,
        learning_rate=0.5,
        warm_start=True,
    )
    agent.fit(mdp)
    assert agent.coef_ == [0.0]
    agent.coef_ = np.array([1.0])
    with pytest.warns(
        ConvergenceWarning, match="the weights diverged .* Lower learning_rate, or use normalize=True"
    ):
        agent.fit(mdp)
    assert np.isfinite(agent.coef_).all()
    assert np.isfinite(agent.V_).all()
    assert agent.coef_[0] > 1e90
    agent.coef_, agent.n_episodes = np.array([1.0]), 10
    with pytest.warns(
        ConvergenceWarning, match="the weights diverge: in the last pass the mean TD error was"
    ):
        agent.fit(mdp)


def test_course_history_and_callbacks():
    recorder = Recorder()
    agent = LinearTD(n_episodes=40, discount=1.0, random_state=0).set_callbacks(recorder).fit(random_walk())
    assert set(agent.history_) == {"episode", "mean_return", "mean_length", "truncated", "td_error"}
    assert agent.n_iter_ == len(agent.history_["td_error"]) == agent.n_episodes_ == 40
    assert agent.episode_returns_.shape == agent.episode_lengths_.shape == (40,)
    assert agent.n_steps_ == agent.episode_lengths_.sum()
    np.testing.assert_array_equal(agent.history_["mean_length"], agent.episode_lengths_)
    plain_agent = LinearTD(n_episodes=40, discount=1.0, random_state=0).fit(random_walk())
    np.testing.assert_array_equal(plain_agent.coef_, agent.coef_)
    many = LinearTD(n_episodes=2500, discount=1.0, random_state=0).fit(random_walk())
    assert len(many.history_["block"]) == 834
    assert many.n_episodes_ == 2500
    assert LinearTD(n_episodes=50, n_steps=77, discount=1.0, random_state=0).fit(random_walk()).n_steps_ == 77


def test_warm_start_goes_on():
    walk, table = random_walk(), np.random.default_rng(0).normal(size=(7, 3))
    whole = LinearTD(features=table, n_episodes=60, discount=1.0, learning_rate=0.01, random_state=5).fit(
        walk
    )
    parts = LinearTD(
        features=table, n_episodes=30, discount=1.0, learning_rate=0.01, warm_start=True, random_state=5
    )
    np.testing.assert_array_equal(parts.fit(walk).fit(walk).coef_, whole.coef_)
    assert parts.n_episodes_ == 60
    with pytest.raises(ValueError, match=r"warm_start=True goes on from coef_ of 3 weights; .* there are 7"):
        parts.set_params(features=None).fit(walk)


def test_seeds_pickles_files_and_clones(tmp_path):
    walk = random_walk()
    agent = LinearTD(features=np.eye(7), n_episodes=50, discount=1.0, random_state=0).fit(walk)
    np.testing.assert_array_equal(clone(agent).fit(walk).coef_, agent.coef_)
    assert not np.array_equal(clone(agent).set_params(random_state=1).fit(walk).coef_, agent.coef_)
    again = pickle.loads(pickle.dumps(agent))
    np.testing.assert_array_equal(again.value([1, 2, 3]), agent.V_[1:4])
    vectors = LinearTD(features=TileCoding(4, 4), n_episodes=5, random_state=0).fit(
        VectorWorld(table=np.eye(6)[:, :2])
    )
    for model, x in ((agent, [1, 2]), (vectors, np.eye(6)[:, :2])):
        save_model(tmp_path / "agent.skops", model, {})
        loaded, _ = load_model(tmp_path / "agent.skops")
        np.testing.assert_array_equal(loaded.value(x), model.value(x))


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"discount": 1.5}, "parameter 'discount' must be a number in"),
        ({"learning_rate": 0.0}, "parameter 'learning_rate' must be"),
        ({"trace_decay": -0.1}, "parameter 'trace_decay' must be"),
        ({"traces": "some"}, "parameter 'traces' must be one of 'accumulating', 'replacing', 'dutch'"),
        (
            {"learning_rate": Schedule("harmonic", per="visit")},
            "learning_rate must be a schedule per 'step' or 'episode'",
        ),
        ({"policy": [0] * 6}, r"policy must have the shape"),
    ],
)
def test_bad_parameters(parameters, match):
    with pytest.raises(ValueError, match=match):
        LinearTD(**parameters).fit(random_walk())


def test_other_errors():
    with pytest.raises(NotFittedError):
        LinearTD().value(0)
    endless = MDP([[[0, 1]], [[1, 0]]], np.ones((2, 1)))
    with pytest.raises(ValueError, match="discount=1 needs a terminal state that every state can reach"):
        LinearTD(discount=1.0).fit(endless)
    agent = LinearTD(n_episodes=2).fit(VectorWorld())
    with pytest.raises(ValueError, match=r"observations must have the shape \(6,\), .* got \(5,\)"):
        agent.value(np.ones(5))
    with pytest.raises(ValueError, match="observations must hold finite numbers"):
        agent.value(np.full(6, np.nan))
    agent = LinearTD(n_episodes=2, discount=1.0).fit(random_walk())
    with pytest.raises(ValueError, match="there is no state 9"):
        agent.value(9)
