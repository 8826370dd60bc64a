"""Behaviour cloning: tables and estimators, with and without an environment."""

import pickle
import warnings

import gymnasium
import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from tercet.io import load_model, save_model
from tercet.linear_model import LinearRegression, LogisticRegression
from tercet.naive_bayes import GaussianNB
from tercet.rl import (
    MDP,
    BehaviourCloning,
    MountainCar,
    PolicyEvaluation,
    PolicyIteration,
    cliff_walking,
    evaluate,
    frozen_lake,
    grid_world,
    watermelon_watering,
)
from tercet.svm import LinearSVC
from tercet.tree import DecisionTreeClassifier, DecisionTreeRegressor

LEFT, RIGHT = [0.0, 1.0], [1.0, 0.0]


@pytest.fixture(scope="module")
def cliff():
    world = cliff_walking()
    expert = PolicyIteration(1.0).fit(world).policy_
    return world, expert, world.simulate(expert, 1, random_state=0)


def test_a_table_counts_actions():
    shown = [
        [("healthy", "water"), ("overwatered", "wait"), ("healthy", "wait")],
        [("healthy", "water"), ("dry", "water")],
    ]
    with pytest.warns(UserWarning, match="transitions have the probability 0"):
        model = BehaviourCloning().fit(shown, watermelon_watering())
    assert model.n_visits_.tolist() == [[2, 1], [1, 0], [0, 1], [0, 0]]
    assert np.allclose(model.action_probabilities_, [[2 / 3, 1 / 3], [1, 0], [0, 1], [0.5, 0.5]])
    assert model.policy_.tolist() == [0, 0, 1, 0]
    assert model.actions_ == ["water", "wait"]
    assert model.predict("overwatered") == 1
    assert model.predict(["dry", "overwatered", 0]).tolist() == [0, 1, 0]
    assert np.allclose(model.predict_proba(["healthy"]), [[2 / 3, 1 / 3]])
    with pytest.warns(UserWarning, match="transitions have the probability 0"):
        smooth = BehaviourCloning(alpha=0.5).fit(shown, watermelon_watering())
    assert np.allclose(
        smooth.action_probabilities_, [[2.5 / 4, 1.5 / 4], [0.75, 0.25], [0.25, 0.75], [0.5, 0.5]]
    )


def test_an_expert_is_copied(cliff):
    world, expert, shown = cliff
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the policy gets to states that were shown alone
        model = BehaviourCloning().fit(shown, world)
    seen = model.n_visits_.sum(axis=1) > 0
    assert np.array_equal(model.policy_[seen], expert[seen])
    assert evaluate(model, world, 1, random_state=0).mean == -13
    assert model.score(shown) == 1.0


def test_states_that_were_not_shown_are_reported():
    lake = frozen_lake()
    with pytest.warns(
        UserWarning, match=r"may get to \d+ of 16 states that the demonstrations do not have \("
    ):
        BehaviourCloning().fit([[(0, "down"), (4, "down")]], lake)


def test_masks():
    mdp = MDP.from_pairs(
        [0, 0, 1, 2], [0, 2, 1, 0], [[0, 1, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1]], np.ones(4), start=0
    )
    with pytest.warns(UserWarning, match="1 of 3 states .*2"):
        model = BehaviourCloning(alpha=1).fit([[(0, 2), (1, 1)]], mdp)
    assert np.allclose(model.action_probabilities_, [[1 / 3, 0, 2 / 3], [0, 1, 0], [1, 0, 0]])
    by_tree = BehaviourCloning(DecisionTreeClassifier()).fit([[(0, 2), (1, 1)]], mdp)
    assert (by_tree.action_probabilities_[~mdp.allowed] == 0).all()
    assert by_tree.policy_[:2].tolist() == [2, 1]


def test_without_an_environment():
    model = BehaviourCloning().fit([[("a", "left"), ("b", "right"), ("a", "left")]])
    assert model.states_ == ["a", "b"]
    assert model.actions_ == ["left", "right"]
    assert model.predict("b") == "right"
    assert model.predict(["a", "b"]).tolist() == ["left", "right"]
    assert model.predict_proba(["a"]).tolist() == [[1, 0]]
    assert model.score([[("a", "left"), ("b", "left")]]) == 0.5
    with pytest.raises(ValueError, match="there is no state 'c'"):
        model.predict("c")
    numbers = BehaviourCloning().fit([[(0, 3), (1, 5)]])
    assert numbers.predict([1, 0]).tolist() == [5, 3]
    tuples = BehaviourCloning().fit([[((0, 1), 1), ((1, 1), 0)]])
    assert tuples.predict((1, 1)) == 0
    assert tuples.predict([(0, 1), (1, 1)]).tolist() == [1, 0]
    frame = BehaviourCloning().fit(pd.DataFrame({"state": ["x", "y"], "action": ["stop", "go"]}))
    assert frame.predict("y") == "go"


def test_a_classifier_of_vectors():
    shown = [[(LEFT, "l"), (RIGHT, "r"), ([0.1, 0.9], "l")], [([0.8, 0.1], "r")]]
    model = BehaviourCloning(LogisticRegression()).fit(shown)
    assert model.predict([[0.2, 0.7], [0.9, 0.3]]).tolist() == ["l", "r"]
    assert model.predict(np.array([0.2, 0.7])) == "l"
    assert model.actions_ == ["l", "r"]
    p = model.predict_proba([[0.2, 0.7]])
    assert p.shape == (1, 2)
    assert p[0, 0] > 0.5
    assert model.score(shown) == 1.0
    assert not hasattr(model, "policy_")


def test_a_regressor_of_continuous_actions():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 2))
    shown = [[(x, 2 * x[0] - x[1] + 1) for x in X]]
    model = BehaviourCloning(LinearRegression()).fit(shown)
    assert model.predict([[1.0, 1.0]]) == pytest.approx([2.0])
    assert model.score(shown) == pytest.approx(1.0)
    several = BehaviourCloning(DecisionTreeRegressor()).fit([[(x, [x[0], -x[1]]) for x in X]])
    assert several.predict(X[:3]).shape == (3, 2)
    with pytest.raises(ValueError, match="finitely many actions, which LinearRegression cannot predict"):
        BehaviourCloning(LinearRegression()).fit([[(0, "right")]], grid_world("S."))


def test_an_estimator_generalises_in_a_model(cliff):
    """An estimator knows the cells of a grid by row and column; those that were not shown get actions, too."""
    world, expert, shown = cliff
    model = BehaviourCloning(DecisionTreeClassifier(random_state=0)).fit(shown, world)
    assert evaluate(model, world, 1, random_state=0).mean == -13
    assert model.policy_.shape == (48,)
    assert model.predict_proba([36, 24]).shape == (2, 4)
    given = BehaviourCloning(DecisionTreeClassifier(random_state=0)).fit(
        shown, world, features=world.positions
    )
    assert np.array_equal(given.policy_, model.policy_)
    without_proba = BehaviourCloning(LinearSVC(random_state=0)).fit(shown, world, features=np.eye(48))
    seen = without_proba.n_visits_.sum(axis=1) > 0
    assert np.array_equal(without_proba.policy_[seen], expert[seen])
    constant = BehaviourCloning(LogisticRegression()).fit([[(0, "right"), (1, "right")]], world)
    assert constant.estimator_ is None
    assert (constant.policy_ == 1).all()


def test_environments_of_gymnasium():
    env = gymnasium.make("Blackjack-v1")
    shown = [[((20, 10, 0), 0)], [((12, 10, 0), 1), ((15, 10, 0), 1), ((21, 10, 0), 0)]]
    table = BehaviourCloning().fit(shown, env)
    assert table.predict((20, 10, 0)) == 0
    assert table.predict([(12, 10, 0), (21, 10, 0)]).tolist() == [1, 0]
    tree = BehaviourCloning(DecisionTreeClassifier()).fit(shown, env)
    assert tree.predict([(13, 5, 1), (19, 2, 0)]).tolist() == [1, 0]
    car = BehaviourCloning(GaussianNB()).fit(
        [
            [
                (np.array([-0.5, 0.01]), 2),
                (np.array([-0.4, -0.01]), 0),
                (np.array([-0.6, 0.02]), 2),
                (np.array([-0.5, -0.02]), 0),
            ]
        ],
        MountainCar(),
    )
    assert car.predict(np.array([-0.5, 0.015])) == 2
    assert car.predict(np.array([[-0.5, 0.015], [-0.5, -0.015]])).tolist() == [2, 0]
    assert car.predict_proba(np.array([[-0.5, 0.015]])).shape == (1, 3)
    assert evaluate(car, MountainCar(), 3, max_steps=300, random_state=0).mean > -300


def test_a_cloned_policy_is_improved():
    """The text's use of direct imitation: an initial policy, which reinforcement learning makes better."""
    lake = frozen_lake()
    expert = PolicyIteration(0.99).fit(lake)
    careless = 0.6 * np.eye(4)[expert.policy_] + 0.1  # an expert who is often wrong
    cloned = BehaviourCloning(alpha=0.1).fit(lake.simulate(careless, 200, random_state=0), lake)
    start = PolicyEvaluation(cloned.action_probabilities_, 0.99).fit(lake).V_[0]
    improved = PolicyIteration(0.99, initial_policy=cloned.action_probabilities_).fit(lake)
    assert start < improved.V_[0] - 0.1
    assert pytest.approx(expert.V_) == improved.V_


def test_values_to_begin_with(cliff):
    world, expert, shown = cliff
    model = BehaviourCloning().fit(shown, world)
    Q = model.as_q_values(5.0)
    assert Q.max() == 5
    assert np.array_equal(Q.argmax(axis=1)[36], expert[36])
    with pytest.raises(NotFittedError):
        BehaviourCloning().as_q_values()


@pytest.mark.parametrize(
    ("fit", "message"),
    [
        (
            lambda: BehaviourCloning().fit([[(LEFT, 0)]], MountainCar()),
            "a table needs discrete observations; got Box",
        ),
        (
            lambda: BehaviourCloning().fit([[(LEFT, 0)]]),
            r"states of a table must be names or numbers; got \[0.0, 1.0\]",
        ),
        (lambda: BehaviourCloning(GaussianNB()).fit([[("a", 0)]]), "states that are vectors of numbers"),
        (
            lambda: BehaviourCloning().fit([[(0, 9)]], gymnasium.make("CliffWalking-v1")),
            "hold the action 9; .* from 0 to 3",
        ),
        (lambda: BehaviourCloning().fit([[(99, 0)]], gymnasium.make("CliffWalking-v1")), "hold the state 99"),
        (
            lambda: BehaviourCloning().fit([[(0, 0)]], features=np.eye(2)),
            "features are those of the states of env",
        ),
        (lambda: BehaviourCloning(alpha=-1).fit([[(0, 0)]]), "'alpha' must be a number in"),
        (
            lambda: BehaviourCloning(GaussianNB()).fit([[("dry", "water")]], watermelon_watering()),
            "for states with other names give env and features",
        ),
    ],
)
def test_wrong_input(fit, message):
    with pytest.raises(ValueError, match=message):
        fit()


def test_another_fit_forgets_the_first():
    model = BehaviourCloning().fit([[("a", "left")]])
    model.set_params(estimator=GaussianNB()).fit([[(LEFT, 0), (RIGHT, 1)]])
    assert not hasattr(model, "policy_")
    assert model.predict([LEFT, RIGHT]).tolist() == [0, 1]


def test_pickles_and_files(cliff, tmp_path):
    world, _, shown = cliff
    for model in (BehaviourCloning(), BehaviourCloning(DecisionTreeClassifier(random_state=0))):
        again = pickle.loads(pickle.dumps(model.fit(shown, world)))
        assert np.array_equal(again.predict(list(range(48))), model.predict(list(range(48))))
        file = tmp_path / "model.skops"
        save_model(file, model, {})
        again = load_model(file)[0]
        assert np.array_equal(again.predict_proba(list(range(48))), model.predict_proba(list(range(48))))
    forged = pickle.loads(pickle.dumps(model))
    forged.policy_ = forged.policy_ + 9
    with pytest.raises(ValueError, match="policy_ is"):
        pickle.loads(pickle.dumps(forged))
