"""DAgger: an expert is asked in the states that the learner gets to."""

import pickle

import gymnasium
import numpy as np
import pytest

from tercet.io import load_model, save_model
from tercet.naive_bayes import GaussianNB
from tercet.rl import (
    MDP,
    BehaviourCloning,
    DAgger,
    MountainCar,
    PolicyIteration,
    Schedule,
    evaluate,
    frozen_lake,
    watermelon_watering,
)
from tercet.tree import DecisionTreeClassifier


@pytest.fixture(scope="module")
def lake():
    world = frozen_lake()
    return world, PolicyIteration(0.99).fit(world)


def test_the_expert_is_matched_where_the_learner_goes(lake):
    world, expert = lake
    agent = DAgger(n_iter=5, n_episodes=20, random_state=0).fit(world, expert.policy_)
    seen = agent.n_visits_.sum(axis=1) > 0
    assert np.array_equal(agent.policy_[seen], expert.policy_[seen])
    assert seen.sum() == 11  # all cells in which an episode goes on
    assert agent.n_visits_.sum() == agent.history_["n_pairs"][-1]
    assert np.isnan(agent.history_["agreement"][0])  # there was nobody to agree
    assert agent.history_["agreement"][-1] > 0.99
    assert evaluate(agent, world, 2000, random_state=0).mean == pytest.approx(14 / 17, abs=0.05)
    assert agent.n_iter_ == 5


@pytest.mark.parametrize("form", ["array", "probabilities", "agent", "function"])
def test_forms_of_experts(lake, form):
    world, expert = lake
    forms = {
        "array": expert.policy_,
        "probabilities": np.eye(4)[expert.policy_],
        "agent": expert,
        "function": lambda state: expert.policy_[state],
    }
    agents = [
        DAgger(n_iter=3, n_episodes=4, random_state=1).fit(world, forms[kind]) for kind in ("array", form)
    ]
    assert np.array_equal(agents[0].n_visits_, agents[1].n_visits_)


def test_who_acts():
    """With b = 1 the expert acts in all iterations, with b = 0 in the first one alone."""
    world = MDP(
        [[[0, 1, 0], [0, 0, 1]], [[0, 0, 1]] * 2, [[0, 0, 1]] * 2], np.zeros(3), terminal=[2], start=0
    )
    answers = iter([0] + [1] * 100)
    told = DAgger(n_iter=2, n_episodes=1, beta=1.0, random_state=0).fit(
        world, lambda x: next(answers) if x == 0 else 0
    )
    assert told.n_visits_[0].tolist() == [1, 1]
    assert told.n_visits_[1].sum() == 1  # the second answer, 1, was taken, which leads past state 1
    answers = iter([0] + [1] * 100)
    own = DAgger(n_iter=2, n_episodes=1, random_state=0).fit(world, lambda x: next(answers) if x == 0 else 0)
    assert own.n_visits_[1].sum() == 2  # the learner repeated the first answer
    schedule = Schedule("linear", 1.0, 0.0, length=2)
    DAgger(n_iter=3, n_episodes=1, beta=schedule, random_state=0).fit(world, [0, 0, 0])


def test_an_uncertain_expert():
    mdp = watermelon_watering(dead_is_terminal=True)
    chances = np.array([[0.5, 0.5], [1, 0], [0, 1], [1, 0]])
    agent = DAgger(n_iter=5, n_episodes=10, max_steps=50, random_state=0).fit(mdp, chances)
    assert agent.action_probabilities_[0, 0] == pytest.approx(0.5, abs=0.06)
    assert agent.action_probabilities_[1].tolist() == [1, 0]
    assert agent.predict("overwatered") == 1


def test_first_demonstrations_count(lake):
    world, expert = lake
    shown = world.simulate(expert.policy_, 3, random_state=5)
    agent = DAgger(n_iter=1, n_episodes=1, random_state=0).fit(world, expert, demonstrations=shown)
    assert agent.n_visits_.sum() > sum(len(e.actions) for e in shown)
    assert agent.history_["agreement"][0] > 0


def test_an_estimator_in_a_model(lake):
    world, expert = lake
    agent = DAgger(DecisionTreeClassifier(random_state=0), n_iter=4, n_episodes=10, random_state=0)
    agent.fit(world, expert)
    seen = agent.n_visits_.sum(axis=1) > 0
    assert np.array_equal(agent.policy_[seen], expert.policy_[seen])


def test_environments():
    """The expert gets raw observations: tuples in Blackjack, vectors in the mountain car."""
    env = gymnasium.make("Blackjack-v1")
    agent = DAgger(n_iter=4, n_episodes=50, random_state=0).fit(env, lambda hand: int(hand[0] < 18))
    assert agent.predict((20, 10, 0)) == 0
    assert agent.score([[((12, 10, 0), 1), ((20, 10, 0), 0)]]) == 1.0
    car = DAgger(GaussianNB(), n_iter=3, n_episodes=2, max_steps=200, random_state=0)
    car.fit("MountainCar-v0", lambda state: 2 if state[1] >= 0 else 0)
    assert evaluate(car, MountainCar(), 3, max_steps=400, random_state=1).mean > -200
    again = DAgger(GaussianNB(), n_iter=3, n_episodes=2, max_steps=200, random_state=0)
    again.fit("MountainCar-v0", lambda state: 2 if state[1] >= 0 else 0)
    assert car.history_["mean_return"] == again.history_["mean_return"]
    assert np.array_equal(car.estimator_.theta_, again.estimator_.theta_)


def test_cloning_drifts_away_where_dagger_does_not():
    """In a long corridor with a cliff at its side, small errors take a cloned policy to states it does not know."""
    world = frozen_lake("8x8")
    expert = PolicyIteration(0.99).fit(world).policy_
    few = world.simulate(expert, 2, random_state=3)
    with pytest.warns(UserWarning, match="may get to"):
        cloned = BehaviourCloning().fit(few, world)
    agent = DAgger(n_iter=10, n_episodes=2, random_state=0).fit(world, expert)
    returns = [evaluate(a, world, 500, random_state=0).mean for a in (cloned, agent)]
    assert returns[1] > returns[0] + 0.1


def test_wrong_input(lake):
    world, expert = lake
    with pytest.raises(ValueError, match="expert must be a function of an observation"):
        DAgger().fit(world)
    with pytest.raises(
        ValueError, match=r"the expert answered 7 to 0; expected the number of an action, from 0 to 3"
    ):
        DAgger().fit(world, lambda state: 7)
    with pytest.raises(ValueError, match="the expert answered 'left'"):
        DAgger().fit(world, lambda state: "left")
    with pytest.raises(ValueError, match="a single environment"):
        DAgger().fit(gymnasium.make_vec("FrozenLake-v1", num_envs=2), expert)
    with pytest.raises(ValueError, match=r"beta must stay in \[0, 1\]"):
        DAgger(beta=Schedule("constant", 2.0)).fit(world, expert)
    with pytest.raises(ValueError, match="'n_iter' must be an integer in"):
        DAgger(n_iter=0).fit(world, expert)
    for policy in (np.eye(3), np.full(48, 9), np.full((48, 4), 0.5)):
        with pytest.raises(ValueError, match=r"actions from 0 to 3, of shape \(48,\), or probabilities"):
            DAgger().fit("CliffWalking-v1", policy)
    mdp = MDP.from_pairs([0, 0, 1], [0, 1, 0], [[1, 0], [0, 1], [0, 1]], [1.0, 0.0, 2.0], start=1)
    with pytest.raises(ValueError, match="the expert takes the action 1 in state 1, which does not allow it"):
        DAgger().fit(mdp, lambda state: 1)


def test_same_seed_same_bits_pickles_and_files(lake, tmp_path):
    world, expert = lake
    agents = [DAgger(n_iter=3, n_episodes=5, random_state=2).fit(world, expert) for _ in range(2)]
    agents.append(pickle.loads(pickle.dumps(agents[0])))
    for agent in agents[1:]:
        assert np.array_equal(agents[0].n_visits_, agent.n_visits_)
        assert np.array_equal(agents[0].policy_, agent.policy_)
    save_model(tmp_path / "agent.skops", agents[0], {})
    assert np.array_equal(load_model(tmp_path / "agent.skops")[0].policy_, agents[0].policy_)
