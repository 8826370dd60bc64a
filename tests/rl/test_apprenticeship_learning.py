"""Apprenticeship learning: the watermelon notes' Algorithm 13."""

import pickle

import numpy as np
import pytest
from scipy.optimize import linprog, minimize
from sklearn.exceptions import NotFittedError

from tercet.core.steps import ConvergenceWarning
from tercet.io import load_model, save_model
from tercet.rl import (
    MDP,
    ApprenticeshipLearning,
    feature_expectations,
    frozen_lake,
    grid_world,
    max_margin_weights,
    random_mdp,
)
from tercet.rl.planning.policy_iteration import PolicyIteration


@pytest.fixture(scope="module")
def task():
    """A model, features, and long demonstrations of the best policy for a secret reward."""
    mdp = random_mdp(40, 3, 4, random_state=2)
    rng = np.random.default_rng(0)
    features = rng.random((40, 4))
    w = np.array([1.0, -0.5, 0.2, -1.0])
    expert = PolicyIteration(0.9).fit(mdp.with_rewards(features @ w)).policy_
    shown = mdp.simulate(expert, 300, max_steps=60, random_state=0)
    return mdp, features, w, expert, shown


def test_the_reference_case():
    """Spec 14b, case 8."""
    found = max_margin_weights([2, 1], [[1, 0], [0, 2]])
    assert found.coef == pytest.approx([0.89442719, 0.4472136], abs=5e-9)
    assert found.margin == pytest.approx(1.3416407865, abs=5e-11)
    assert found.mixture_weights == pytest.approx([0.8, 0.2])


@pytest.mark.parametrize(("n", "d"), [(1, 3), (2, 2), (5, 3), (20, 4), (50, 30)])
def test_margins_are_the_largest(n, d):
    """Against a general solver, and by weak duality: no w has a larger margin than the distance of any mixture."""
    rng = np.random.default_rng(n)
    expert, others = 3 * rng.random(d) + 1, rng.random((n, d))
    coef, margin, weights = max_margin_weights(expert, others)
    D = expert - others
    assert (D @ coef).min() == pytest.approx(margin, rel=1e-9)
    assert np.linalg.norm(weights @ D) == pytest.approx(margin, rel=1e-9)
    assert np.linalg.norm(coef) == pytest.approx(1)
    assert weights.min() >= 0
    assert weights.sum() == pytest.approx(1)
    worse = minimize(
        lambda z: -z[-1],
        np.append(np.zeros(d), 0.0),
        constraints=[
            {"type": "ineq", "fun": lambda z: D @ z[:-1] - z[-1]},
            {"type": "ineq", "fun": lambda z: 1 - z[:-1] @ z[:-1]},
        ],
        method="SLSQP",
    )
    assert margin >= -worse.fun - 1e-6


def test_no_margin_inside_the_mixtures():
    found = max_margin_weights([0.5, 0.5], [[0, 0], [1, 0], [0, 1], [1, 1]])
    assert found.margin < 1e-12
    same = max_margin_weights([1, 1], [[1, 1], [1, 1]])
    assert same.coef.tolist() == [0, 0]
    assert same.mixture_weights.tolist() == [0.5, 0.5]
    with pytest.raises(ValueError, match=r"expert must have the shape .*got \(2,\) and \(1, 3\)"):
        max_margin_weights([1, 2], [[1, 2, 3]])


@pytest.mark.parametrize("algorithm", ["max-margin", "projection"])
def test_the_expert_is_matched(task, algorithm):
    """The margin falls until the mixture of policies has the expert's value, for the secret reward, too."""
    mdp, features, w, _, shown = task
    model = ApprenticeshipLearning(algorithm, discount=0.9, tol=1e-2, random_state=0).fit(
        mdp, shown, features
    )
    margins = np.array(model.history_["margin"])
    assert (np.diff(margins) <= 1e-9).all()
    slack = 1e-2 * np.linalg.norm(model.expert_features_)
    assert model.margin_ <= slack + 1e-9
    mixed = model.mixture_weights_ @ model.feature_expectations_
    assert model.mixture_weights_.sum() == pytest.approx(1)
    assert model.mixture_weights_.min() >= 0
    assert np.linalg.norm(model.expert_features_ - mixed) == pytest.approx(model.margin_)
    assert abs(w @ (mixed - model.expert_features_)) <= model.margin_ * np.linalg.norm(w) + 1e-9
    found = feature_expectations(mdp, model.policy_, features, discount=0.9, start=first_states(shown, mdp))
    assert np.linalg.norm(model.expert_features_ - found) == pytest.approx(min(model.history_["distance"]))
    assert model.n_iter_ == len(margins) == len(model.history_["distance"])


def first_states(shown, mdp):
    return np.bincount([e.states[0] for e in shown], minlength=mdp.n_states) / len(shown)


@pytest.mark.parametrize("algorithm", ["max-margin", "projection"])
def test_policies_are_the_best_for_the_rewards(task, algorithm):
    """`policy_` solves the model with the rewards: the linear programme of its values."""
    mdp, features, _, _, shown = task
    model = ApprenticeshipLearning(algorithm, discount=0.9, tol=1e-2, random_state=0).fit(
        mdp, shown, features
    )
    assert np.allclose(model.rewards_, features @ model.coef_)
    assert np.linalg.norm(model.coef_) == pytest.approx(1)
    rewarded = model.apply_rewards(mdp)
    A = 0.9 * mdp.probabilities.toarray()
    A[np.arange(mdp.n_pairs), mdp.pair_states] -= 1.0
    solved = linprog(np.ones(40), A_ub=A, b_ub=-rewarded.pair_rewards, bounds=(None, None))
    assert np.allclose(model.V_, solved.x, atol=1e-6)
    assert np.array_equal(model.policy_, model.Q_.argmax(axis=1))
    assert any(np.array_equal(model.policy_, policy) for policy in model.policies_)


def test_the_margin_bounds_what_rewards_can_show(task):
    """In each pass the new weights separate the expert from all policies so far (eq. 14.28)."""
    mdp, features, _, _, shown = task
    model = ApprenticeshipLearning(discount=0.9, random_state=0).fit(mdp, shown, features)
    for k, margin in enumerate(model.history_["margin"][:-1]):
        seen = model.feature_expectations_[: k + 1]
        assert max_margin_weights(model.expert_features_, seen).margin == pytest.approx(margin)


def test_goals_that_are_terminal():
    """The features of a terminal state count when it is reached: the expert's goal is found."""
    lake = frozen_lake()
    expert = PolicyIteration(0.95).fit(lake).policy_
    shown = lake.simulate(expert, 400, random_state=0)
    model = ApprenticeshipLearning(discount=0.95, random_state=0).fit(lake, shown)
    mixed = model.mixture_weights_ @ model.feature_expectations_
    # without noise the model would reach the goal as often as the expert does
    assert mixed[15] == pytest.approx(feature_expectations(lake, expert, discount=0.95)[15], abs=0.03)
    assert model.rewards_[15] > model.rewards_[[5, 7, 11, 12]].max()
    rewarded = model.apply_rewards(lake)
    assert np.array_equal(PolicyIteration(0.95).fit(rewarded).V_.round(8), model.V_.round(8))
    pair = lake.pair_index[14, 2]
    arrival = 0.95 * lake.probabilities[[pair], 15].sum() * model.rewards_[15]
    assert rewarded.pair_rewards[pair] == pytest.approx(model.rewards_[14] + arrival)


def test_an_expert_whom_no_mixture_matches():
    """Demonstrations that the model does not allow as a whole: the loop ends at the nearest mixture."""
    world = grid_world("S....", actions=("left", "right"))
    with pytest.warns(UserWarning, match="probability 0 in the model"):
        model = ApprenticeshipLearning(discount=0.5, random_state=0).fit(
            world, [[(4, "right")] * 9, [(0, "right"), (4, "left")] * 5]
        )
    assert model.margin_ > 0.1
    assert model.n_iter_ < 50


def test_simulated_feature_sums(task):
    mdp, features, _, _, shown = task
    options = {"discount": 0.9, "tol": 0.05, "n_samples": 400, "max_steps": 60, "random_state": 0}
    model = ApprenticeshipLearning(**options).fit(mdp, shown, features)
    assert model.margin_ < 0.06 * np.linalg.norm(model.expert_features_)
    again = ApprenticeshipLearning(**options).fit(mdp, shown, features)
    assert np.array_equal(model.feature_expectations_, again.feature_expectations_)


def test_draw_policy(task):
    mdp, features, _, _, shown = task
    model = ApprenticeshipLearning(discount=0.9, tol=1e-2, random_state=0).fit(mdp, shown, features)
    drawn = model.draw_policy(random_state=3)
    assert any(np.array_equal(drawn, policy) for policy in model.policies_[model.mixture_weights_ > 0])


def test_masked_actions():
    mdp = MDP.from_pairs(
        [0, 0, 1, 2], [0, 2, 1, 0], [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1]], np.zeros(4), terminal=[]
    )
    model = ApprenticeshipLearning(discount=0.5, random_state=0).fit(
        mdp, [[(0, 2), (1, 1), (2, 0), (2, 0), (2, 0)]]
    )
    assert model.policy_.tolist() == [2, 1, 0]
    assert mdp.allowed[np.arange(3), model.policies_].all()


def test_short_demonstrations_are_reported():
    world = grid_world("S....", actions=("left", "right"))
    with pytest.warns(
        UserWarning, match="1 of 1 demonstrations are cut off .* up to 81% .* 22 steps or more"
    ):
        ApprenticeshipLearning(discount=0.9, random_state=0).fit(world, [[(0, "right"), (1, "right")]])


def test_the_end_of_passes_is_reported(task):
    mdp, features, _, _, shown = task
    with pytest.warns(ConvergenceWarning, match="did not converge in 1 passes .*Raise max_iter or tol"):
        ApprenticeshipLearning(discount=0.9, max_iter=1, tol=0, random_state=0).fit(mdp, shown, features)


def test_names_and_predictions():
    names = [f"cell {k}" for k in range(3)]
    P = [[[1, 0, 0], [0, 1, 0]], [[1, 0, 0], [0, 0, 1]], [[0, 1, 0], [0, 0, 1]]]
    mdp = MDP(P, np.zeros(3), states=names, actions=["left", "right"], terminal=[])
    shown = [[("cell 0", "right"), ("cell 1", "right")] + [("cell 2", "right")] * 20]
    model = ApprenticeshipLearning(discount=0.8, random_state=0).fit(mdp, shown)
    assert model.predict("cell 0") == 1
    assert model.predict(["cell 1", 2]).tolist() == [1, 1]


def test_wrong_input(task):
    mdp, features, _, _, shown = task
    with pytest.raises(ValueError, match="fit needs demonstrations"):
        ApprenticeshipLearning().fit(mdp)
    with pytest.raises(ValueError, match=r"features must have the shape \(40, n_features\)"):
        ApprenticeshipLearning().fit(mdp, shown, features[:5])
    with pytest.raises(ValueError, match="'discount' must be a number in"):
        ApprenticeshipLearning(discount=1.0).fit(mdp, shown)
    with pytest.raises(ValueError, match="'algorithm' must be one of 'max-margin', 'projection'"):
        ApprenticeshipLearning("best").fit(mdp, shown)
    with pytest.raises(NotFittedError):
        ApprenticeshipLearning().apply_rewards(mdp)
    model = ApprenticeshipLearning(discount=0.9, tol=0.1, random_state=0).fit(mdp, shown, features)
    with pytest.raises(ValueError, match="the model has 5 states; rewards were learned for 40"):
        model.apply_rewards(grid_world("S...."))


def test_same_seed_same_bits_pickles_and_files(task, tmp_path):
    mdp, features, _, _, shown = task
    models = [
        ApprenticeshipLearning(discount=0.9, tol=1e-2, random_state=4).fit(mdp, shown, features)
        for _ in range(2)
    ]
    models.append(pickle.loads(pickle.dumps(models[0])))
    save_model(tmp_path / "model.skops", models[0], {})
    models.append(load_model(tmp_path / "model.skops")[0])
    for name in ("coef_", "policies_", "mixture_weights_", "Q_"):
        assert all(np.array_equal(getattr(models[0], name), getattr(model, name)) for model in models[1:])
    forged = pickle.loads(pickle.dumps(models[0]))
    forged.policies_ = forged.policies_ + 7
    with pytest.raises(ValueError, match="policies_ is"):
        pickle.loads(pickle.dumps(forged))
