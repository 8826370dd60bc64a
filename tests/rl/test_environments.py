"""Embedded environments: models, and the same as environments of gymnasium."""

import itertools
import pickle
import subprocess
import sys
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from scipy import sparse
from scipy.sparse.linalg import spsolve

from tercet.rl import MDP
from tercet.rl.environments import register_environments
from tercet.rl.environments.blackjack import blackjack
from tercet.rl.environments.cliff_walking import cliff_walking
from tercet.rl.environments.frozen_lake import frozen_lake
from tercet.rl.environments.grid_world import GridWorld, grid_world
from tercet.rl.environments.mdp_env import MDPEnv
from tercet.rl.environments.mountain_car import MountainCar
from tercet.rl.environments.random_mdp import random_mdp
from tercet.rl.environments.watermelon_watering import watermelon_watering
from tercet.rl.policies import action_probabilities

MODELS = {
    "GridWorld": lambda: grid_world("S.#\n.HG", slip=0.2, step_reward=-0.1),
    "Watermelon": watermelon_watering,
    "CliffWalking": cliff_walking,
    "FrozenLake": frozen_lake,
    "Blackjack": blackjack,
    "RandomMDP": lambda: random_mdp(30, 3, 4, random_state=0),
}


def same_model(mdp, other):
    assert mdp.probabilities.shape == other.probabilities.shape
    assert abs(mdp.probabilities - other.probabilities).max() < 1e-15
    assert np.array_equal(mdp.pair_states, other.pair_states)
    assert np.array_equal(mdp.pair_actions, other.pair_actions)
    assert np.allclose(mdp.pair_rewards, other.pair_rewards, rtol=1e-14, atol=1e-14)
    assert np.array_equal(mdp.terminal, other.terminal)
    assert np.allclose(mdp.start, other.start, rtol=0, atol=1e-15)


def values(mdp, policy, discount=1.0):
    """V of a policy, from the linear system."""
    chances = action_probabilities(policy, mdp)[mdp.pair_states, mdp.pair_actions]
    weigh = sparse.csr_array(
        (chances, (mdp.pair_states, np.arange(mdp.n_pairs))), shape=(mdp.n_states, mdp.n_pairs)
    )
    goes_on = sparse.diags_array((~mdp.terminal).astype(float))
    A = sparse.eye_array(mdp.n_states) - discount * (goes_on @ weigh @ mdp.probabilities)
    return spsolve(A.tocsc(), weigh @ mdp.pair_rewards)


def optimal_policy(mdp, discount=1.0, sweeps=3000):
    V = np.zeros(mdp.n_states)
    for _ in range(sweeps):
        Q = mdp.table(mdp.pair_rewards + discount * (mdp.probabilities @ V))
        V = Q.max(axis=1)
    return Q.argmax(axis=1), V


# Grid worlds ----------------------------------------------------------------------------------------------------


def test_moves_walls_and_rewards():
    world = grid_world("S.a\n.#G", step_reward=-1, rewards={"a": 5, (1, 0): 2.5})
    assert world.n_states == 5  # a wall is no state
    assert world.actions == ["up", "right", "down", "left"]
    assert world.step((0, 0), "up") == (0, -1.0, False)  # out of the grid: the cell is entered again
    assert world.step((0, 0), "right") == (1, -1.0, False)
    assert world.step((0, 1), "down") == (1, -1.0, False)  # a wall
    assert world.step((0, 1), "right") == (2, 5.0, False)
    assert world.step((0, 0), "down") == (3, 2.5, False)
    assert world.step((0, 2), "down") == (4, 1.0, True)
    assert world.terminal.tolist() == [False] * 4 + [True]
    assert world.start.tolist() == [1, 0, 0, 0, 0]


def test_slips_go_sideways():
    world = grid_world("...\n.S.\n...", slip=0.3)
    pair = world.pair_index[4, 0]
    assert world.probabilities[[pair]].toarray().ravel().tolist() == [0, 0.7, 0, 0.15, 0, 0.15, 0, 0, 0]
    always = grid_world("...\n.S.\n...", slip=1.0)
    assert always.probabilities[[pair]].toarray().ravel()[[1, 3, 5]].tolist() == [0, 0.5, 0.5]


def test_a_cliff_leads_back_to_the_starts():
    world = grid_world("SCS", rewards={"C": -7})
    row = world.probabilities[[world.pair_index[0, 1]]].toarray().ravel()
    assert row.tolist() == [0.5, 0, 0.5]
    assert world.expected_rewards()[0, 1] == -7


def test_values_of_the_textbook_world():
    """Russell and Norvig, fig. 17.3: rewards of states, the terminal ones included."""
    world = grid_world(["...G", ".#.H", "S..."], rewards={"G": 1.0, "H": -1.0}, slip=0.2)
    # their R(s) = -0.04 is got on leaving s; the reward of a terminal state on arriving
    living = world.with_rewards(world.table(world.pair_rewards, 0.0) - 0.04)
    _, V = optimal_policy(living)
    wanted = [[0.812, 0.868, 0.918, 0], [0.762, np.nan, 0.660, 0], [0.705, 0.655, 0.611, 0.388]]
    assert np.allclose(world.as_grid(V), wanted, atol=6e-4, equal_nan=True)


def test_drawing_a_grid():
    world = grid_world("S.#\n..G")
    assert world.render() == "S.#\n..G"
    assert world.render(state=(1, 0), policy=[1, 2, 1, 1, 0]) == "→↓#\n@→G"
    assert np.array_equal(world.as_grid([0, 1, 2, 3, 4], fill=-1), [[0, 1, -1], [2, 3, 4]])
    assert repr(world) == "GridWorld(2 x 3 cells, 5 states, 4 actions)"
    staying = grid_world("S.", actions=("stay", "left"))
    assert staying.render(policy=[0, 1]) == "•←"


def test_a_grid_is_pickled_with_its_letters():
    world = pickle.loads(pickle.dumps(frozen_lake()))
    assert isinstance(world, GridWorld)
    assert world.render() == "SFFF\nFHFH\nFFFH\nHFFG"
    same_model(world, frozen_lake())


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("S.\n...", {}, "rows of equal length; got rows of 2, 3 letters"),
        ("", {}, "got rows of no letters"),
        ("##", {}, "nothing but walls"),
        (".C", {}, "puts the agent back to a start, 'S'; the text has none"),
        ("S.", {"slip": 1.5}, "slip must be from 0 to 1; got 1.5"),
        ("S.", {"actions": ("north",)}, "actions must be different names among 'up'"),
        ("S.", {"actions": ()}, "actions must be different names"),
        ("S.", {"rewards": {"x": 1}}, "rewards has 'x'; the text has no such cell"),
        ("S#", {"rewards": {(0, 1): 1}}, r"rewards has \(0, 1\); expected letters, or \(row, column\)"),
        ("S#", {"rewards": {(0, 2): 1}}, r"rewards has \(0, 2\)"),
    ],
)
def test_wrong_grids(text, options, message):
    with pytest.raises(ValueError, match=message):
        grid_world(text, **options)


def test_wrong_cells():
    world = grid_world("S#")
    with pytest.raises(ValueError, match=r"there is no state at \(0, 1\)"):
        world.step((0, 1), "up")
    with pytest.raises(ValueError, match=r"values must have the shape \(1,\)"):
        world.as_grid([1, 2])


# The same as gymnasium's -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("slippery", [False, True])
@pytest.mark.parametrize("name", ["4x4", "8x8"])
def test_frozen_lake_is_that_of_gymnasium(name, slippery):
    env = gymnasium.make("FrozenLake-v1", map_name=name, is_slippery=slippery)
    same_model(frozen_lake(name, is_slippery=slippery), MDP.from_gymnasium(env))
    same_tables(MDPEnv(frozen_lake(name, is_slippery=slippery)), env)


def test_success_rate():
    env = gymnasium.make("FrozenLake-v1", success_rate=0.75)
    same_model(frozen_lake(success_rate=0.75), MDP.from_gymnasium(env))


@pytest.mark.parametrize("name", ["CliffWalking-v1", "CliffWalkingSlippery-v1"])
def test_cliff_walking_is_that_of_gymnasium(name):
    env = gymnasium.make(name)
    mdp = cliff_walking(is_slippery="Slippery" in name)
    same_model(mdp, MDP.from_gymnasium(env))
    same_tables(MDPEnv(mdp), env)


def same_tables(ours, theirs):
    """The tables P of two environments, apart from states in which an episode is over."""
    for x, a in itertools.product(range(ours.mdp.n_states), range(4)):
        if not ours.mdp.terminal[x]:
            assert merged(ours.P[x][a]) == pytest.approx(merged(theirs.unwrapped.P[x][a]), rel=1e-14)


def merged(outcomes):
    """Probability, and probability times reward, of each next state; whether it ends the episode is in the key."""
    found = {}
    for p, u, r, done in outcomes:
        for key, value in ((("p", int(u), done), p), (("pr", int(u), done), p * r)):
            found[key] = found.get(key, 0.0) + value
    return found


def test_best_returns():
    lake, cliff = frozen_lake(), cliff_walking()
    _, V = optimal_policy(lake)
    assert V[0] == pytest.approx(14 / 17, abs=1e-9)
    assert optimal_policy(frozen_lake(is_slippery=False))[1][0] == pytest.approx(1.0)
    _, V = optimal_policy(cliff)
    assert V[36] == pytest.approx(-13)


def stick_on(mdp, least):
    return np.array(
        [int(x[0] < least) if x[0] != "natural" and not isinstance(x, str) else 0 for x in mdp.states]
    )


@pytest.mark.parametrize(
    ("options", "least"), [({"sab": True}, 17), ({"sab": False, "natural": True}, 19), ({"sab": False}, 20)]
)
def test_blackjack_against_the_simulation_of_gymnasium(options, least):
    mdp = blackjack(**options)
    env = gymnasium.make("Blackjack-v1", **{"natural": False, **options}).unwrapped
    env.reset(seed=3)
    n, first, returns = 6000, {}, []
    for _ in range(n):
        observation, _ = env.reset()
        first[observation] = first.get(observation, 0) + 1
        terminated = False
        while not terminated:
            observation, reward, terminated, _, _ = env.step(int(observation[0] < least))
        returns.append(reward)
    exact = float(mdp.start @ values(mdp, stick_on(mdp, least)))
    assert abs(np.mean(returns) - exact) < 4 * np.std(returns) / np.sqrt(n)
    wanted = {}
    for state, p in zip(mdp.states, mdp.start):
        if p > 0:
            key = (21, state[1], 1) if state[0] == "natural" else state
            wanted[key] = wanted.get(key, 0.0) + p
    assert set(first) <= set(wanted)
    chi2 = sum((first.get(key, 0) - n * p) ** 2 / (n * p) for key, p in wanted.items())
    assert chi2 < len(wanted) + 5 * np.sqrt(2 * len(wanted))


def test_best_policy_of_blackjack():
    """Sutton and Barto, fig. 5.2: where the best policy sticks."""
    mdp = blackjack()
    policy, V = optimal_policy(mdp, sweeps=40)
    least = {}
    for ace, dealer in itertools.product((0, 1), range(1, 11)):
        least[ace, dealer] = min(
            s for s in range(12 if ace else 11, 22) if policy[mdp.state_index((s, dealer, ace))] == 0
        )
    assert [least[0, d] for d in range(1, 11)] == [17, 13, 13, 12, 12, 12, 17, 17, 17, 17]
    assert [least[1, d] for d in range(1, 11)] == [19, 18, 18, 18, 18, 18, 18, 18, 19, 19]
    assert -0.06 < mdp.start @ V < -0.04
    assert all(policy[mdp.state_index(("natural", d))] == 0 for d in range(1, 11))


def test_mountain_car_is_that_of_gymnasium():
    ours, theirs = MountainCar(), gymnasium.make("MountainCar-v0").unwrapped
    a, b = ours.reset(seed=5)[0], theirs.reset(seed=5)[0]
    assert np.array_equal(a, b)
    rng, ended = np.random.default_rng(0), 0
    for _ in range(2000):
        # mostly push the way the car moves, which gets it to the goal
        action = int(rng.integers(3)) if rng.random() < 0.2 else 1 + int(np.sign(a[1]))
        a, r, done, cut, _ = ours.step(action)
        b, *others = theirs.step(action)
        assert np.array_equal(a, b)
        assert [r, done, cut] == others[:3]
        if done:
            ended += 1
            a, b = ours.reset()[0], theirs.reset()[0]
    assert ended > 5


# Other models ----------------------------------------------------------------------------------------------------


def test_watermelon():
    mdp, zh = watermelon_watering(), watermelon_watering(language="zh")
    assert zh.states == ["健康", "缺水", "溢水", "凋亡"]
    assert zh.actions == ["浇水", "不浇水"]
    assert not mdp.terminal.any()
    assert mdp.start.tolist() == [1, 0, 0, 0]
    for discount in (0.5, 0.9, 0.99):
        policy, _ = optimal_policy(mdp, discount)
        assert [mdp.actions[a] for a in policy[:3]] == ["water", "water", "wait"]  # as the book says
    dying = watermelon_watering(dead_is_terminal=True)
    assert dying.terminal.tolist() == [False, False, False, True]
    assert dying.expected_rewards()[1, 1] == pytest.approx(-60.4)
    with pytest.raises(ValueError, match="language must be 'en' or 'zh'; got 'fr'"):
        watermelon_watering(language="fr")


@pytest.mark.parametrize(("n", "k"), [(50, 50), (50, 7), (1000, 5), (5, 1), (1, 1)])
def test_random_mdp(n, k):
    mdp = random_mdp(n, 3, k, random_state=1)
    P = mdp.probabilities
    assert P.shape == (3 * n, n)
    assert (np.diff(P.indptr) == k).all()
    rows = P.indices.reshape(-1, k)
    assert (np.diff(rows, axis=1) > 0).all()  # all different, and in order
    assert P.data.min() > 0
    assert np.allclose(P.sum(axis=1), 1.0)
    MDP.from_pairs(mdp.pair_states, mdp.pair_actions, P, mdp.pair_rewards)  # passes all checks


def test_random_mdp_is_uniform():
    few, many = random_mdp(20, 500, 2, random_state=0), random_mdp(20, 500, 10, random_state=0)
    for mdp, k in ((few, 2), (many, 10)):
        counts = np.bincount(mdp.probabilities.indices, minlength=20)
        n = mdp.n_pairs
        assert np.abs(counts - n * k / 20).max() < 5 * np.sqrt(n * k / 20)
        p = mdp.probabilities.data.reshape(n, k)[:, 0]
        # the first of k pieces of an interval that is cut at random: Beta(1, k - 1)
        assert p.mean() == pytest.approx(1 / k, abs=5 * np.sqrt((k - 1) / k**2 / (k + 1) / n))
        assert p.var() == pytest.approx((k - 1) / k**2 / (k + 1), rel=0.1)
    assert abs(few.pair_rewards.mean()) < 0.05
    assert few.pair_rewards.std() == pytest.approx(1, abs=0.05)


def test_random_mdp_is_reproducible():
    one, two, other = (random_mdp(40, 2, 3, random_state=seed) for seed in (7, 7, 8))
    same_model(one, two)
    assert abs(one.probabilities - other.probabilities).max() > 0
    with pytest.raises(ValueError, match="n_successors from 1 to n_states; got 3, 2 and 4"):
        random_mdp(3, 2, 4)
    with pytest.raises(ValueError, match=r"n_actions must be an integer; got 2\.5"):
        random_mdp(3, 2.5)


# Environments of gymnasium ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
def test_models_pass_gymnasiums_check(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(MDPEnv(MODELS[name]()), skip_render_check=True)  # which needs a registered name: see below


@pytest.mark.parametrize("name", register_environments())
def test_registered_environments_pass_gymnasiums_check(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gymnasium.make(name, render_mode="ansi")
        check_env(env.unwrapped)
        env.reset(seed=0)
        assert isinstance(env.render(), str)
        again = pickle.loads(pickle.dumps(env.unwrapped))
        again.reset(seed=1)


def test_names_that_users_type():
    env = gymnasium.make("tercet.rl.environments:tercet/FrozenLake-v0", is_slippery=False, map_name=["SFG"])
    env.reset(seed=0)
    assert env.step(2)[:3] == (1, 0.0, False)
    assert env.step(2)[:3] == (2, 1.0, True)
    assert gymnasium.make("tercet/MountainCar-v0", goal_velocity=0.02).unwrapped.goal_velocity == 0.02
    vector = gymnasium.make_vec("tercet/Watermelon-v0", num_envs=3)
    assert vector.reset(seed=0)[0].tolist() == [0, 0, 0]


def test_registration_does_not_depend_on_the_order_of_imports():
    code = """if True:
        from tercet.rl.environments.grid_world import grid_world
        import gymnasium
        print(gymnasium.make("tercet.rl.environments:tercet/Blackjack-v0").spec.id)
    """
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "tercet/Blackjack-v0"


def test_models_work_without_gymnasium():
    code = """if True:
        import sys
        sys.modules["gymnasium"] = None
        from tercet.rl.environments.frozen_lake import frozen_lake
        print(len(frozen_lake().simulate(random_state=0)[0].rewards) > 0)
        from tercet.rl import BehaviourCloning, MaximumEntropyIRL
        shown = frozen_lake(is_slippery=False).simulate(n_episodes=3, random_state=0)
        print(MaximumEntropyIRL().fit(frozen_lake(is_slippery=False), shown).predict(0) in range(4))
        from tercet.rl.environments import register_environments
        for names in ("register_environments()", "__import__('tercet.rl.environments.mdp_env')"):
            try:
                eval(names)
            except ModuleNotFoundError as error:
                print(error)
    """
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    wanted = 'Environments need gymnasium, which is not installed: pip install "tercet[rl]".'
    assert answer.stdout.splitlines() == ["True", "True", wanted, wanted]


@pytest.mark.parametrize("name", MODELS)
def test_an_environment_carries_its_model(name):
    mdp = MODELS[name]()
    env = MDPEnv(mdp)
    table = env.P
    assert len(table) == mdp.n_states
    again = MDP.from_gymnasium(env)
    assert abs(again.probabilities - mdp.probabilities).max() < 1e-15
    assert np.allclose(again.pair_rewards, mdp.pair_rewards, atol=1e-13)
    assert np.array_equal(again.start, mdp.start)


def test_steps_follow_the_model():
    mdp = grid_world("S.G\n.H.", slip=0.5, step_reward=-1)
    env = MDPEnv(mdp)
    env.reset(seed=0)
    counts = np.zeros(mdp.n_states)
    n = 4000
    for _ in range(n):
        env.reset(options={"state": (0, 1)})
        u, reward, terminated, truncated, info = env.step(1)
        counts[u] += 1
        assert (reward, terminated) == ({2: 1.0, 4: -1.0}.get(u, -1.0), u in (2, 4))
        assert truncated is False
        assert info == {}
    p = mdp.probabilities[[mdp.pair_index[1, 1]]].toarray().ravel()
    assert np.abs(counts - n * p).max() < 4 * np.sqrt(n / 4)


def test_masks_of_actions():
    mdp = MDP.from_pairs([0, 0, 1], [0, 1, 0], [[1, 0], [0, 1], [0, 1]], [1.0, 0.0, 2.0], start=0)
    env = MDPEnv(mdp)
    _, info = env.reset(seed=0)
    assert info["action_mask"].tolist() == [1, 1]
    assert env.step(1)[4]["action_mask"].tolist() == [1, 0]
    with pytest.raises(ValueError, match="state 1 does not allow the action 1"):
        env.step(1)


def test_wrong_use_of_environments():
    env = MDPEnv(grid_world("S.G"), render_mode="ansi")
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(0)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.render()
    env.reset(seed=0)
    with pytest.raises(ValueError, match="action must be an integer from 0 to 3; got 4"):
        env.step(4)
    with pytest.raises(TypeError, match="mdp must be an MDP; got list"):
        MDPEnv([])
    with pytest.raises(ValueError, match="render_mode must be 'ansi' or None; got 'human'"):
        MDPEnv(grid_world("S.G"), render_mode="human")
    car = MountainCar()
    with pytest.raises(gymnasium.error.ResetNeeded):
        car.step(0)
    with pytest.raises(ValueError, match="options must have low <= high"):
        car.reset(options={"low": 0.9})
    with pytest.raises(ValueError, match="map_name must be one of '4x4', '8x8'"):
        frozen_lake("5x5")
    with pytest.raises(ValueError, match="success_rate must be from 0 to 1"):
        frozen_lake(success_rate=2)


def test_agents_know_the_embedded_environments_by_name():
    code = """if True:
        from tercet.rl import QLearning
        agent = QLearning(20, epsilon=0.5, random_state=0).fit("tercet/CliffWalking-v0")
        print(agent.Q_.shape)
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "(48, 4)\n", done.stderr
