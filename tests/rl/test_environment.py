"""Environments of gymnasium behind one interface, and what agents make of observations."""

import pickle
import re

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from tercet.rl import MDP, MonteCarlo, QLearning, evaluate
from tercet.rl.environment import GymEnvironment, encode, opened, whole_number

BLACKJACK = [(0, 32), (0, 11), (0, 2)]


class Countdown(gymnasium.Env):
    """From n, action 1 goes down by one and action 0 stays, until 0; episodes are cut off after `limit` steps.

    The observation is n as the space has it; the reward -1 for each step.
    """

    def __init__(self, n=3, limit=None, space=None, show=None, first_action=0):
        self.observation_space = spaces.Discrete(n + 1) if space is None else space
        self.action_space = spaces.Discrete(2, start=first_action)
        self.n, self.limit, self.show, self.first_action = n, limit, show or (lambda n: n), first_action
        self.resets, self.closed = [], False

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.resets.append(seed)
        self.left, self.steps = self.n, 0
        return self.show(self.left), {}

    def step(self, action):
        assert self.action_space.contains(np.int64(action))
        self.left -= int(action) - self.first_action
        self.steps += 1
        return self.show(self.left), -1.0, self.left == 0, self.steps == self.limit, {}

    def close(self):
        self.closed = True


def vector(mode, n_streams=2, copy=True, **parameters):
    return SyncVectorEnv([lambda: Countdown(**parameters)] * n_streams, autoreset_mode=mode, copy=copy)


def followed(world, choose, n_steps):
    """The transitions of a stream 0: (state, action, reward, next state, terminated, truncated)."""
    states, found = world.reset(seed=0), []
    for _ in range(n_steps):
        actions = [choose(x) for x in states]
        moves = world.step(actions)
        if not moves.ignored[0]:
            row = states[0], actions[0], moves.rewards[0], moves.observations[0]
            found.append((*row, moves.terminated[0], moves.truncated[0]))
        states = moves.next_observations
    return found


DOWN = [(2, 1, -1.0, 1, False, False), (1, 1, -1.0, 0, True, False)]


def test_a_single_environment_is_reset_when_an_episode_ends():
    env = Countdown(2)
    world = GymEnvironment(env)
    assert followed(world, lambda x: 1, 4) == DOWN * 2
    assert env.resets == [0, None, None]


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("copy", [True, False])
def test_all_autoreset_modes_give_the_same_transitions(mode, copy):
    world = GymEnvironment(vector(mode, copy=copy, n=2))
    assert (world.n_streams, world.n_states, world.n_actions) == (2, 3, 2)
    n = 6 if mode == AutoresetMode.NEXT_STEP else 4
    assert followed(world, lambda x: 1, n) == DOWN * 2


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_truncated_episodes_are_no_terminated_ones(mode):
    world = GymEnvironment(vector(mode, n=2, limit=1))
    cut = (2, 1, -1.0, 1, False, True)
    assert followed(world, lambda x: 1, 3)[:2] == [cut, cut]


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_streams_end_at_different_times(mode):
    """One stream stays for a while; the other one has three episodes meanwhile."""
    made = [lambda: Countdown(1, space=spaces.Discrete(3)), lambda: Countdown(2)]
    env = SyncVectorEnv(made, autoreset_mode=mode)
    world = GymEnvironment(env)
    states, ends = world.reset(seed=0), [[], []]
    for t in range(6):
        moves = world.step([1, 1])
        for i in range(2):
            if moves.terminated[i]:
                assert moves.observations[i] == 0
                ends[i].append(t)
        states = moves.next_observations
    expected = [[0, 2, 4], [1, 4]] if mode == AutoresetMode.NEXT_STEP else [[0, 1, 2, 3, 4, 5], [1, 3, 5]]
    assert ends == expected
    assert len(states) == 2


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize(
    ("space", "show", "number"),
    [
        (spaces.Discrete(4, start=-2), lambda n: n - 2, lambda n: n),
        (spaces.MultiDiscrete([4, 2]), lambda n: np.array([n, n % 2]), lambda n: 2 * n + n % 2),
        (
            spaces.MultiDiscrete([[5, 3], [2, 2]], start=[[1, 0], [7, 0]]),
            lambda n: np.array([[n + 1, 2], [7, 1]]),
            lambda n: 12 * n + 9,
        ),
        (
            spaces.MultiBinary(2),
            lambda n: np.array([n // 2, n % 2], dtype=np.int8),
            lambda n: n,
        ),
        (
            spaces.Tuple(
                (spaces.Discrete(4), spaces.Tuple((spaces.MultiBinary([1, 2]), spaces.Discrete(3, start=5))))
            ),
            lambda n: (np.int64(n), (np.array([[0, 1]], dtype=np.int8), np.int64(7))),
            lambda n: 12 * n + 5,
        ),
    ],
    ids=["Discrete", "MultiDiscrete", "MultiDiscrete 2-D", "MultiBinary", "Tuple"],
)  # fmt: skip
def test_discrete_observations_are_numbered(mode, space, show, number):
    single = GymEnvironment(Countdown(3, space=space, show=show))
    several = GymEnvironment(vector(mode, n=3, space=space, show=show))
    for world in (single, several):
        assert world.n_states == np.prod([size for _, size in world.sizes])
        assert [row[0] for row in followed(world, lambda x: 1, 3)] == [number(n) for n in (3, 2, 1)]
        for n in range(4):
            assert single.space.contains(world.decode(number(n)))
            assert world.encode(world.decode(number(n))) == number(n) == world.encode(show(n))


def test_numbers_of_all_observations_are_different():
    world = GymEnvironment("Blackjack-v1")
    every = [world.encode((s, d, a)) for s in range(32) for d in range(11) for a in range(2)]
    assert every == list(world.states)
    assert world.n_states == 704
    assert world.decode(world.encode((14, 10, False))) == (14, 10, 0)


@pytest.mark.parametrize("mode", [None, *AutoresetMode])
def test_vectors_of_observation(mode):
    space = spaces.Box(-1, 5, shape=(2, 1), dtype=np.float32)
    show = lambda n: np.array([[n], [-0.5]], dtype=np.float32)  # noqa: E731
    world = GymEnvironment(
        Countdown(2, space=space, show=show)
        if mode is None
        else vector(mode, n=2, space=space, show=show, copy=False)
    )
    assert (world.n_states, world.n_features) == (None, 2)
    first = world.reset(seed=0)
    moves = world.step([1] * world.n_streams)
    assert first[0].tolist() == [2.0, -0.5]
    assert moves.observations[0].tolist() == [1.0, -0.5]
    assert first[0].dtype == np.float64
    back = world.decode(first[0])
    assert space.contains(back)
    assert np.array_equal(back, show(2))


def test_an_observation_that_the_environment_changes_in_place_is_copied():
    held = np.zeros(1)

    def show(n):
        held[0] = n
        return held

    world = GymEnvironment(Countdown(3, space=spaces.Box(0, 3, shape=(1,), dtype=np.float64), show=show))
    first = world.reset()[0]
    world.step([1])
    assert first[0] == 3.0


def test_actions_that_do_not_begin_at_zero():
    env = Countdown(3, first_action=-4)
    agent = QLearning(200, random_state=0).fit(env)
    assert agent.first_action_ == -4
    assert agent.policy_[1:].tolist() == [1, 1, 1]
    assert agent.predict(3) == -3
    assert agent.predict([1, 2, 3]).tolist() == [-3, -3, -3]
    assert evaluate(agent, env, 3).mean == evaluate([0, 1, 1, 1], env, 3).mean == -3.0
    assert evaluate(lambda n: -3, env, 3).mean == -3.0
    with pytest.raises(ValueError, match=r"the action 1; actions are whole numbers from -4 to -3"):
        evaluate(lambda n: 1, env, 3)
    world = GymEnvironment(env)
    assert list(world.actions) == [-4, -3]


@pytest.mark.parametrize("n_streams", [None, 3])
@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_episodes_are_cut_off_after_max_steps(n_streams, mode):
    env = Countdown(2) if n_streams is None else vector(mode, n_streams, n=2)
    world = GymEnvironment(env)
    world.max_steps = 3
    world.reset(seed=0)
    for _ in range(2):
        moves = [world.step([0] * world.n_streams) for _ in range(3)]
        assert [any(one.truncated) for one in moves] == [False, False, True]
        assert all(moves[2].truncated)
        assert not any(moves[2].terminated)
    begun = env.resets if n_streams is None else env.envs[0].resets
    assert len(begun) == (3 if n_streams is None or mode == AutoresetMode.DISABLED else 1)
    world.step([1] * world.n_streams)
    assert all(world.step([1] * world.n_streams).terminated)  # an end in time is no truncation


def test_a_vector_environment_without_a_mode_resets_at_the_next_step():
    env = vector(AutoresetMode.NEXT_STEP, n=2)
    env.metadata = {}
    assert followed(GymEnvironment(env), lambda x: 1, 6) == DOWN * 2
    env.metadata = {"autoreset_mode": "Sometimes"}
    with pytest.raises(ValueError, match="has the autoreset mode 'Sometimes'"):
        GymEnvironment(env)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Pendulum-v1", r"has the action space Box\(.*finitely many actions \(Discrete\)"),
        (
            Countdown(space=spaces.Dict(a=spaces.Discrete(2))),
            r"observation space Dict.*FlattenObservation makes a Box",
        ),
        (Countdown(space=spaces.Tuple((spaces.Discrete(2), spaces.Box(0, 1)))), "observation space Tuple"),
    ],
)
def test_what_no_agent_here_can_do_is_refused(name, message):
    with pytest.raises(ValueError, match=message):
        QLearning(10).fit(name)


def test_what_is_no_environment_is_refused():
    with pytest.raises(TypeError, match="an environment of gymnasium, or the name of one; got int"):
        QLearning(10).fit(3)
    with pytest.raises(gymnasium.error.NameNotFound):
        QLearning(10).fit("NoSuchLake-v1")


def test_observations_outside_the_space_and_bad_rewards_are_refused():
    env = Countdown(3)
    env.show = lambda n: n + 1
    with pytest.raises(
        ValueError, match=r"no observation 4 must be a whole number from 0 to 3|no observation 4"
    ):
        GymEnvironment(env).reset()
    env.show, env.step = lambda n: n, lambda a: (1, float("nan"), False, False, {})
    world = GymEnvironment(env)
    world.reset()
    with pytest.raises(ValueError, match="the environment gave the reward nan"):
        world.step([0])


def test_functions_classes_and_names_make_environments_that_are_closed():
    made = []

    def make():
        made.append(Countdown(2))
        return made[-1]

    agent = QLearning(50, random_state=0).fit(make)
    assert agent.policy_[1:].tolist() == [1, 1]
    assert made[0].closed
    given = Countdown(2)
    QLearning(50, random_state=0).fit(given)
    assert not given.closed
    assert isinstance(opened(lambda: "CliffWalking-v1"), GymEnvironment)
    assert opened(Countdown).n_states == 4
    mdp = MDP([[[0, 1]], [[0, 1]]], [1.0, 0.0])
    assert opened(mdp) is mdp
    assert opened(lambda: mdp) is mdp
    spec = gymnasium.spec("CliffWalking-v1")
    assert opened(spec).n_states == 48


def test_an_environment_is_closed_after_an_error():
    env = Countdown(2)
    env.show = lambda n: -1
    with pytest.raises(ValueError, match="no observation -1"):
        QLearning(50).fit(lambda: env)
    assert env.closed


# Masks of actions ------------------------------------------------------------------------------------------------


class Masked(Countdown):
    """Forbids to stay where the number is even."""

    masks = {3: [1, 1], 2: [0, 1], 1: [1, 1], 0: [0, 0]}

    def reset(self, **options):
        found, _ = super().reset(**options)
        return found, {"action_mask": np.array(self.masks[found], dtype=np.int8)}

    def step(self, action):
        *found, _ = super().step(action)
        return *found, {"action_mask": np.array(self.masks[found[0]], dtype=np.int8)}


@pytest.mark.parametrize("mode", [None, *AutoresetMode])
def test_masked_actions_have_no_value(mode):
    env = Masked(3) if mode is None else SyncVectorEnv([lambda: Masked(3)] * 2, autoreset_mode=mode)
    agent = MonteCarlo(300, epsilon=1.0, random_state=0).fit(env)
    assert np.array_equal(np.isinf(agent.Q_), [[False, False], [False, False], [True, False], [False, False]])
    assert agent.n_visits_[2, 0] == 0
    assert agent.n_visits_[3, 0] > 0
    assert np.isfinite(agent.V_).all()


def test_a_given_policy_may_take_masked_actions():
    with pytest.warns(UserWarning, match="were cut off"):
        agent = MonteCarlo(9, policy=[0, 1, 0, 1], max_steps=5, discount=0.5).fit(Masked(3))
    np.testing.assert_allclose(agent.V_, [0, 0, -1.53125, -1.9375], atol=1e-14)
    assert agent.n_visits_[2, 0] == 9 * 4


def test_an_action_is_masked_as_long_as_no_mask_allowed_it():
    env = Masked(3)
    world = GymEnvironment(env)
    Q = np.full((4, 2), 7.0)
    world.restrict(Q)
    world.reset()
    world.step([1])
    assert Q.tolist() == [[7, 7], [7, 7], [-np.inf, 7], [7, 7]]
    later = np.zeros((4, 2))
    world.restrict(later)
    assert later[2].tolist() == [-np.inf, 0]
    env.masks = {**env.masks, 2: [1, 0]}
    world.reset()
    world.step([1])
    assert Q[2].tolist() == [7, 7]
    assert later[2].tolist() == [0, 0]


def test_taxi_masks():
    world = GymEnvironment("Taxi-v4")
    Q = np.zeros((world.n_states, world.n_actions))
    world.restrict(Q)
    (x,) = world.reset(seed=0)
    mask = world.env.unwrapped.action_mask(x)
    assert np.array_equal(np.isfinite(Q[x]), mask == 1)
    assert not mask.all()


# Numbers of states, and the actions of agents --------------------------------------------------------------------


def test_encode_refuses_what_is_no_observation():
    assert encode((31, 10, True), BLACKJACK) == 703
    assert encode(np.array([1, 0, 0]), BLACKJACK) == 22
    for bad, message in [
        ((32, 1, 0), r"no observation \(32, 1, 0\); its part 32 must be a whole number from 0 to 31"),
        ((-1, 1, 0), "its part -1"),
        ((1, 1), "observations have 3 parts"),
        ((1.5, 1, 0), r"its part 1\.5"),
        (("1", 1, 0), "its part '1'"),
        ((None, 1, 0), "its part None"),
        ((float("nan"), 1, 0), "its part nan"),
    ]:
        with pytest.raises(ValueError, match=message):
            encode(bad, BLACKJACK)


def test_whole_numbers():
    assert [whole_number(n) for n in (3, np.int8(3), 3.0, np.float32(3), np.array(3), True)] == [
        3,
        3,
        3,
        3,
        3,
        1,
    ]
    assert [whole_number(n) for n in (3.5, "3", None, np.nan, np.inf, [3], 1j)] == [None] * 7


def test_predict_of_tuples():
    agent = MonteCarlo(2000, discount=1.0, random_state=0).fit("Blackjack-v1")
    one = agent.predict((14, 10, False))
    assert isinstance(one, int)
    assert one == agent.policy_[14 * 22 + 20]
    assert one == agent.predict(np.array([14, 10, 0])) == agent.predict(14 * 22 + 20)
    both = agent.predict([(14, 10, False), (21, 3, True)])
    assert both.tolist() == [one, agent.policy_[21 * 22 + 7]]
    assert both.dtype == np.int64
    assert agent.predict(np.array([[14, 10, 0], [21, 3, 1]])).tolist() == both.tolist()
    assert agent.predict([14 * 22 + 20]).tolist() == [one]
    for bad in [(40, 10, False), (14, 10), "14", 704, -1, 2.5, None]:
        with pytest.raises(
            ValueError, match=f"MonteCarlo: there is no (observation|state) {re.escape(repr(bad))}"
        ):
            agent.predict(bad)


def test_predict_of_arrays():
    square = spaces.MultiDiscrete([[4, 2], [2, 2]])
    show = lambda n: np.array([[n, 0], [0, 1]])  # noqa: E731
    agent = QLearning(100, random_state=0).fit(Countdown(3, space=square, show=show))
    assert agent.predict(show(3)) == 1
    assert agent.predict(np.array([show(3), show(2)])).tolist() == [1, 1]
    assert agent.predict([show(3)]).tolist() == [1]


def test_predict_of_named_states(tmp_path):
    P = [[[0, 1, 0], [1, 0, 0]], [[1, 0, 0], [0, 0, 1]], [[0, 0, 1], [0, 0, 1]]]
    R = [[-1.0, -1], [-1, -1], [0, 0]]
    agent = QLearning(300, random_state=0).fit(MDP(P, R, states=["left", "right", "end"]))
    assert agent.predict("left") == 0
    assert agent.predict(["left", "right"]).tolist() == [0, 1]
    assert agent.predict(np.array(["left", "right"])).tolist() == [0, 1]
    assert agent.predict(1) == 1  # the number, where no name is one
    for bad in ("up", 3, 0.5, ("left",)):
        with pytest.raises(
            ValueError, match=r"there is no state .*; the agent knows 3, from 'left' to 'end'"
        ):
            agent.predict(bad)
    with pytest.raises(ValueError, match=r"there is no state \['left'\]"):
        agent.predict([["left"]])
    agent = QLearning(300, random_state=0).fit(MDP(P, R, states=[(0, 0), (0, 1), (1, 1)]))
    assert agent.predict((0, 1)) == 1
    assert agent.predict([(0, 0), (0, 1)]).tolist() == [0, 1]
    assert agent.predict(np.array([[0, 0], [0, 1]])).tolist() == [0, 1]
    assert pickle.loads(pickle.dumps(agent)).predict((0, 1)) == 1
    agent = QLearning(300, random_state=0).fit(MDP(P, R, states=[5, 3, 1]))
    assert agent.predict(3) == 1
    with pytest.raises(ValueError, match="there is no state 0"):
        agent.predict(0)


def test_predict_after_another_fit_knows_the_new_names():
    P, R = [[[0, 1]], [[0, 1]]], [1.0, 0.0]
    agent = QLearning(5, random_state=0).fit(MDP(P, R, states=["a", "b"]))
    assert agent.predict("a") == 0
    agent.fit(MDP(P, R, states=["c", "d"]))
    assert agent.predict("c") == 0
    with pytest.raises(ValueError, match="there is no state 'a'"):
        agent.predict("a")
    agent.fit(MDP(P, R))
    assert agent.predict([0, 1]).tolist() == [0, 0]
    with pytest.raises(ValueError, match="there is no state 2; the agent knows 2, numbered from 0"):
        agent.predict(2)


def test_predict_before_fit():
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError, match="QLearning"):
        QLearning().predict(0)


def test_forged_observation_sizes_are_refused():
    agent = QLearning(5, random_state=0).fit(Countdown(3))
    state = agent.__getstate__()
    with pytest.raises(ValueError, match="observation_sizes_"):
        QLearning().__setstate__({**state, "observation_sizes_": [(0, 9)]})
    with pytest.raises(ValueError, match="QLearning: Q_ is an array of shape"):
        QLearning().__setstate__({**state, "states_": ["a"] * 9})
