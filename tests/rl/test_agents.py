"""What holds for every agent, whatever it learns from."""

import inspect
import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import tercet
from tercet import Recorder
from tercet.cli.warm import FEW, experience
from tercet.io import load_model, save_model
from tercet.linear_model import Ridge
from tercet.plot import plot_model

CARDS = [card for card in tercet.methods() if card.kind == "agent"]
every_agent = pytest.mark.parametrize("card", CARDS, ids=lambda card: card.name)


def make(card, **parameters):
    kind = card.load()
    names = inspect.signature(kind).parameters
    given = {name: few for name, few in FEW.items() if name in names}
    if card.name == "ContextualBanditAgent":
        given["estimator"] = Ridge()
    if "random_state" in names:
        given["random_state"] = 0
    if "discount" in names:
        given["discount"] = 0.9
    return kind(**{**given, **parameters})


def fitted(card, **parameters):
    agent = make(card, **parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few episodes leave states unvisited
        assert agent.fit(**experience(type(agent))) is agent
    return agent


def learned(agent):
    return {name: value for name, value in vars(agent).items() if name.endswith("_") and name[0] != "_"}


def assert_same(first, second):
    assert first.keys() == second.keys()
    for name, value in first.items():
        if isinstance(value, np.ndarray) and value.dtype != object:
            np.testing.assert_array_equal(value, second[name], err_msg=name)
        elif isinstance(value, np.random.Generator):
            assert value.bit_generator.state == second[name].bit_generator.state
        elif isinstance(value, list) and value and hasattr(value[0], "get_params"):
            for one, other in zip(value, second[name], strict=True):
                assert_same(learned(one), learned(other))
        else:
            assert repr(value) == repr(second[name]), name


def test_there_are_agents():
    assert len(CARDS) >= 20


@every_agent
def test_same_seed_same_bits(card):
    first, second = fitted(card), fitted(card)
    assert learned(first)
    assert_same(learned(first), learned(second))


@every_agent
def test_parameters_are_kept_and_cloned(card):
    agent = make(card)
    before = repr(agent.get_params())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        agent.fit(**experience(type(agent)))
    assert repr(agent.get_params()) == before
    assert repr(clone(agent).get_params()) == before
    assert learned(clone(agent)) == {}


@every_agent
def test_pickles_and_model_files_hold_what_was_learned(card, tmp_path):
    agent = fitted(card)
    assert_same(learned(agent), learned(pickle.loads(pickle.dumps(agent))))
    save_model(tmp_path / "agent.skops", agent, {})
    model, _ = load_model(tmp_path / "agent.skops")
    assert_same(learned(agent), learned(model))


@every_agent
def test_wrong_parameters_are_named(card):
    names = ("n_episodes", "max_iter", "n_steps", "alpha", "epsilon")
    name = next(name for name in names if hasattr(make(card), name))
    agent = make(card, **{name: -1})
    with pytest.raises(ValueError, match=f"parameter '{name}' must be"):
        agent.fit(**experience(type(agent)))


@every_agent
def test_an_agent_that_is_not_fitted_says_so(card):
    agent = make(card)
    if hasattr(type(agent), "predict"):
        with pytest.raises(NotFittedError, match="not fitted"):
            agent.predict([0])


@every_agent
def test_passes_can_be_watched(card):
    agent, recorder = make(card), Recorder()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        agent.set_callbacks(recorder).fit(**experience(type(agent)))
    assert len(recorder.frames) > 0 or "history_" not in vars(agent)


@every_agent
def test_every_agent_has_a_picture(card):
    assert plot_model(fitted(card)) is not None


@pytest.mark.parametrize("name", ["QLearning", "Sarsa", "MonteCarlo", "LinearQLearning"])
def test_learning_in_an_environment_can_be_watched(name):
    card = next(card for card in CARDS if card.name == name)
    agent, recorder = make(card), Recorder()
    agent.set_callbacks(recorder).fit("CliffWalking-v1")
    assert len(recorder.frames) == 3
