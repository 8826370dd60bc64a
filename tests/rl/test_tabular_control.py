"""What all agents have in common that learn tables by temporal differences."""

import pickle
import warnings

import gymnasium as gym
import numpy as np
import pytest
from sklearn.base import clone

from tercet.io import load_model, save_model
from tercet.rl import (
    MDP,
    BehaviourCloning,
    DynaQ,
    QLearning,
    Sarsa,
    Schedule,
    TemporalDifference,
    ValueIteration,
    cliff_walking,
)
from tercet.rl.learning import tabular_control
from tests.rl.td_reference import Simulator, deterministic_mdp, random_mdp, three_states

FORMS = [
    TemporalDifference(),
    TemporalDifference(bootstrap_steps=3),
    TemporalDifference(trace_decay=0.7),
    TemporalDifference(trace_decay=0.7, traces="replacing"),
    TemporalDifference(trace_decay=0.7, traces="dutch"),
    TemporalDifference(trace_decay=0.7, offline=True),
    TemporalDifference(bootstrap_steps=3, offline=True),
    QLearning(),
    QLearning(double=True),
    QLearning(trace_decay=0.7),
    QLearning(exploration="softmax", temperature=Schedule("exponential", 2.0, 0.1, length=200)),
    Sarsa(),
    Sarsa(expected=True),
    Sarsa(expected=True, exploration="softmax"),
    Sarsa(bootstrap_steps=4),
    Sarsa(bootstrap_steps=4, expected=True),
    Sarsa(trace_decay=0.7),
    Sarsa(trace_decay=0.7, expected=True, traces="replacing"),
    Sarsa(trace_decay=0.7, traces="dutch"),
    DynaQ(planning_steps=2),
    DynaQ(planning_steps=2, kappa=0.01),
    DynaQ(planning_steps=2, prioritised=True, tol=1e-9),
]
each_form = pytest.mark.parametrize("form", FORMS, ids=lambda form: " ".join(repr(form).split()))


def agent(form, **parameters):
    options = {"n_episodes": 60, "discount": 0.9, "learning_rate": 0.2, "max_steps": 12, "random_state": 0}
    if "epsilon" in form.get_params():
        options["epsilon"] = Schedule("linear", 0.8, 0.1, length=40, per="episode")
    return clone(form).set_params(**{**options, **parameters})


def learned(model):
    """All fitted attributes but the history."""
    return {name: value for name, value in vars(model).items() if name.endswith("_") and name != "history_"}


def assert_same(one, other, but=(), rtol=0.0):
    assert one.keys() == other.keys()
    for name in one.keys() - set(but):
        if isinstance(one[name], dict):
            assert_same(one[name], other[name], rtol=rtol)
        elif isinstance(one[name], np.ndarray) and one[name].dtype.kind == "f":
            np.testing.assert_allclose(one[name], other[name], rtol=rtol, atol=0.0, err_msg=name)
        else:
            np.testing.assert_array_equal(one[name], other[name], err_msg=name)


class Watch:
    """Keeps what callbacks see of each episode; ends the fit, or interrupts it, after one of them."""

    def __init__(self, last, interrupts=False):
        self.seen, self.last, self.interrupts = [], last, interrupts

    def setup(self, estimator, context): ...

    def teardown(self, estimator, context): ...

    def on_fit_task_begin(self, estimator, context): ...

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        if context.task_name != "episode":
            return False
        self.seen.append(learned(fitted_estimator))
        if self.interrupts and context.task_id == self.last:
            raise KeyboardInterrupt
        return context.task_id == self.last


@each_form
def test_model_and_environment_teach_the_same(form):
    mdp = deterministic_mdp(3)
    one, other = agent(form).fit(mdp), agent(form).fit(Simulator(mdp))
    assert one.n_truncated_ > 0
    assert (one.episode_lengths_ < 12).any()
    but = ("states_", "observation_sizes_", "draws_")
    assert_same(
        learned(one), learned(other), but, rtol=1e-12
    )  # rounding: the compiler fuses products and sums
    assert one.draws_[0] == other.draws_[0]


@each_form
@pytest.mark.parametrize("n_steps", [None, 333])
def test_calls_of_the_kernel_do_not_matter(form, n_steps, monkeypatch):
    mdp = random_mdp(0)
    whole = agent(form, n_steps=n_steps).fit(mdp)
    monkeypatch.setattr(tabular_control, "SECONDS", 0.0)  # each call takes one step, after the first one
    monkeypatch.setattr(tabular_control, "FIRST_STEPS", 1)
    pieces = agent(form, n_steps=n_steps).fit(mdp)
    assert_same(learned(whole), learned(pieces))
    assert whole.history_ == pieces.history_


@each_form
def test_same_seed_same_bits_and_fit_starts_anew(form):
    mdp = random_mdp(0)
    one, other, third = agent(form).fit(mdp), agent(form), agent(form, random_state=1).fit(mdp)
    other.fit(random_mdp(1)).fit(mdp)
    assert_same(learned(one), learned(other))
    assert not np.array_equal(one.V_, third.V_)


@each_form
def test_warm_start_goes_on_where_a_saved_model_ended(form, tmp_path):
    mdp = random_mdp(0)
    whole = agent(form, n_episodes=80).fit(mdp)
    half = agent(form, n_episodes=30, warm_start=True).fit(mdp)
    save_model(tmp_path / "half.skops", half, {})
    again, _ = load_model(tmp_path / "half.skops")
    again.set_params(n_episodes=50).fit(mdp)
    course = {"episode_returns_", "episode_lengths_", "n_truncated_", "n_iter_"}
    assert_same(learned(whole), learned(again), but=course)
    np.testing.assert_array_equal(whole.episode_returns_[30:], again.episode_returns_)
    assert again.n_episodes_ == 80
    assert again.n_steps_ == whole.episode_lengths_.sum()


@each_form
def test_pickle_and_model_file(form, tmp_path):
    fitted = agent(form).fit(random_mdp(0))
    save_model(tmp_path / "agent.skops", fitted, {"note": 1})
    for again in (pickle.loads(pickle.dumps(fitted)), load_model(tmp_path / "agent.skops")[0]):
        assert_same(learned(fitted), learned(again))
        np.testing.assert_array_equal(again.predict([0, 1, 2]), fitted.predict([0, 1, 2]))


@each_form
def test_callbacks_see_what_is_learned(form):
    watch = Watch(4)
    fitted = agent(form).set_callbacks(watch).fit(random_mdp(0))
    assert fitted.n_iter_ == 5
    assert len(fitted.history_["mean_return"]) == 5
    assert not np.array_equal(watch.seen[0]["V_"], watch.seen[4]["V_"])
    assert_same({name: getattr(fitted, name) for name in watch.seen[4]}, watch.seen[4])


@each_form
def test_interrupt_keeps_what_was_learned(form):
    fitted = agent(form).set_callbacks(Watch(3, interrupts=True))
    with pytest.raises(KeyboardInterrupt):
        fitted.fit(random_mdp(0))
    assert_same(learned(agent(form, n_episodes=4).fit(random_mdp(0))), learned(fitted))


@each_form
def test_vector_environments(form):
    mdp = random_mdp(0)
    for mode in gym.vector.AutoresetMode:

        def make():
            return gym.vector.SyncVectorEnv([lambda: Simulator(mdp)] * 3, autoreset_mode=mode)  # noqa: B023

        one, other = agent(form, n_episodes=20).fit(make()), agent(form, n_episodes=20).fit(make())
        assert_same(learned(one), learned(other))
        assert one.episode_returns_.shape == (20,)
        assert one.n_visits_.sum() == one.n_steps_ >= one.episode_lengths_.sum()
        assert agent(form, n_steps=31).fit(make()).n_steps_ == 31


@each_form
def test_n_steps_ends_learning(form):
    for world in (random_mdp(0), Simulator(random_mdp(0))):
        fitted = agent(form, n_steps=100).fit(world)
        assert fitted.n_steps_ == fitted.n_visits_.sum() == 100
        assert fitted.episode_lengths_.sum() <= 100


@each_form
def test_terminated_and_truncated(form):
    """One state with a reward of 1: where episodes are cut off the values go on, where they end they do not."""
    loop = MDP([[[1.0, 0.0]], [[0.0, 1.0]]], [1.0, 0.0], terminal=[1], start=0)
    end = MDP([[[0.0, 1.0]], [[0.0, 1.0]]], [1.0, 0.0], start=0)
    options = {"learning_rate": 0.5, "n_episodes": 100, "max_steps": 5}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for world in (loop, Simulator(loop), Simulator(loop, limit=4)):
            assert agent(form, **options).fit(world).V_[0] == pytest.approx(10.0, abs=1e-3)
        for world in (end, Simulator(end)):
            found = agent(form, **options).fit(world)
            assert found.V_[0] == pytest.approx(1.0, abs=1e-9)
            assert found.n_truncated_ == 0


@each_form
def test_states_never_visited_are_reported(form):
    mdp = deterministic_mdp(0, n=30)
    with pytest.warns(UserWarning, match=r"of 30 states were never visited \(") as caught:
        agent(form, n_episodes=1, max_steps=3).fit(mdp)
    assert caught[0].filename == __file__


def test_truncated_episodes_are_reported():
    with pytest.warns(
        UserWarning, match="Sarsa: 10 of 10 episodes hit the step limit before .* or explore more"
    ):
        Sarsa(10, max_steps=2, random_state=0).fit(gym.make("CliffWalking-v1"))


@each_form
def test_discount_of_one(form):
    endless = MDP([[[0.5, 0.5, 0.0]], [[0.5, 0.5, 0.0]], [[0.0, 0.0, 1.0]]], [1.0, 0.0, 0.0], start=0)
    with pytest.raises(ValueError, match=r"discount=1 needs a terminal state .* state 0 cannot reach one"):
        agent(form, discount=1.0).fit(endless)
    agent(form, discount=1.0).fit(random_mdp(0))


@each_form
def test_bad_input(form):
    name = type(form).__name__
    with pytest.raises(ValueError, match=f"{name} needs discrete observations; got Box"):
        agent(form).fit(gym.make("CartPole-v1"))
    with pytest.raises(ValueError, match=f"{name}: parameter 'discount' must be a number in"):
        agent(form, discount=1.5).fit(three_states())
    fitted = agent(form, warm_start=True).fit(random_mdp(0))
    with pytest.raises(
        ValueError, match=rf"{name}: warm_start=True goes on from ._, which has 6 states.*has 9"
    ):
        fitted.fit(random_mdp(0, n=9))


def test_values_that_grow_are_refused():
    for kind in (TemporalDifference, QLearning, Sarsa, DynaQ):
        with pytest.raises(ValueError, match=r"the values have grown beyond all bounds.*Lower learning_rate"):
            kind(n_episodes=5000, learning_rate=3.0, random_state=0).fit(random_mdp(0))


def test_passes_of_so_many_steps():
    """Where the steps run out long before the episodes do, passes are about a hundredth of the steps."""
    for world in (random_mdp(0), Simulator(random_mdp(0))):
        fitted = QLearning(10**12, n_steps=20_000, random_state=0).fit(world)
        assert 90 < fitted.n_iter_ <= 100
        assert fitted.n_steps_ == 20_000
        assert fitted.history_["block"] == list(range(fitted.n_iter_))
        assert not np.isnan(fitted.history_["mean_return"][:-1]).any()


def test_other_calls_of_the_kernel_make_the_same_passes(monkeypatch):
    options = {"n_episodes": 10**9, "n_steps": 50_000, "random_state": 0}
    whole = Sarsa(**options).fit(random_mdp(0))
    monkeypatch.setattr(tabular_control, "SECONDS", 1e-5)
    monkeypatch.setattr(tabular_control, "FIRST_STEPS", 7)
    pieces = Sarsa(**options).fit(random_mdp(0))
    assert whole.history_ == pieces.history_


def test_learning_begins_with_given_values():
    """The values of a cloned policy, say: the first episode follows it."""
    world = cliff_walking()
    plan = ValueIteration(discount=1.0).fit(world)
    cloned = BehaviourCloning().fit(world.simulate(plan.policy_, n_episodes=1, random_state=0), world)
    start = cloned.as_q_values()
    for kind in (QLearning, Sarsa):
        agent = kind(1, discount=1.0, epsilon=0.0, initial_value=start, random_state=0).fit(world)
        assert agent.episode_returns_.tolist() == [-13.0]
    for wrong in (start[:3], np.nan, "high"):
        with pytest.raises(ValueError, match="'initial_value' must be a finite number, or an array"):
            QLearning(1, initial_value=wrong).fit(world)
