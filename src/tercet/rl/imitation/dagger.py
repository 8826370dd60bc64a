"""DAgger, dataset aggregation (数据集聚合)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from tercet.core.catalog import method
from tercet.core.estimator import generator
from tercet.core.parameters import Count, Fraction, NonNegative, Seed, check_parameters
from tercet.core.steps import QUIET, Fit, with_callbacks
from tercet.rl.agent import Agent
from tercet.rl.environment import GymEnvironment, opened
from tercet.rl.imitation.behaviour_cloning import BehaviourCloning
from tercet.rl.mdp import MDP
from tercet.rl.policies import action_probabilities
from tercet.rl.schedules import Schedule


@method(
    zh="数据集聚合（DAgger）",
    task="reinforcement learning",
    model="π(x) = f(x), where f is a classifier of an expert's actions",
    strategy="supervised learning from states that the learner itself gets to, with the expert's actions there",
    algorithms="act by a mixture of expert and learner, ask the expert, add to the dataset, learn again",
    peers=["imitation.algorithms.dagger"],
)
class DAgger(BehaviourCloning):
    """DAgger: behaviour cloning of an expert who is asked what to do in the states that the learner gets to.

    A cloned policy makes mistakes, and then gets to states that the expert never showed. In iteration i the
    agent acts by the policy π_i, which takes the expert's action with probability β_i and its own otherwise;
    the expert gives an action for each state on the way; and the next policy is learned from all such pairs so
    far.

    Parameters
    ----------
    estimator : classifier, optional
        Learns the actions from vectors; by default the policy is a table.
    n_iter : int, default=10
        Number of iterations.
    n_episodes : int, default=10
        Number of episodes in each.
    beta : float or Schedule, default=0.0
        Probability β_i of the expert's action in iteration i: a number b means b^(i-1), so that the first
        iteration is the expert's, or a schedule of the iterations.
    alpha : float, default=0.0
        Added to the count of each action in each state of a table.
    max_steps : int, default=1000
        The most steps of an episode.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the random number generator.

    Attributes
    ----------
    policy_ : array of int of shape (n_states,)
        The most probable action in each state, where there are finitely many states.
    action_probabilities_ : array of shape (n_states, n_actions)
        Probabilities of the actions.
    n_visits_ : array of int of shape (n_states, n_actions)
        The dataset: how often the expert gave each action in each state.
    actions_ : list
        Names of the actions.
    estimator_ : estimator
        The fitted estimator; None for a table.
    history_ : dict
        Of each iteration the mean return of its episodes, the number of pairs in the dataset, and the share of the
        states visited in which the policy before it agreed with the expert.

    References
    ----------
    S. Ross, G. Gordon and D. Bagnell, A reduction of imitation learning and structured prediction to
    no-regret online learning (2011).

    Examples
    --------
    >>> from tercet.rl import frozen_lake
    >>> lake = frozen_lake(is_slippery=False)
    >>> def expert(state):
    ...     return 2 if state in (8, 13, 14) else 1  # right, else down
    >>> agent = DAgger(n_iter=3, n_episodes=1, random_state=0).fit(lake, expert)
    >>> agent.predict([0, 4, 8, 9]), agent.history_["mean_return"]
    (array([1, 1, 2, 1]), [1.0, 1.0, 1.0])
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_iter: Count = 10,
        n_episodes: Count = 10,
        beta: Fraction | Schedule = 0.0,
        alpha: NonNegative = 0.0,
        max_steps: Count = 1000,
        random_state: Seed = None,
    ) -> None:
        super().__init__(estimator, alpha=alpha)
        self.n_iter = n_iter
        self.n_episodes = n_episodes
        self.beta = beta
        self.max_steps = max_steps
        self.random_state = random_state

    @with_callbacks
    def fit(self, env: Any, expert: Any = None, features: Any = None, demonstrations: Any = None) -> Self:
        """Learn to act like an expert who answers questions.

        Parameters
        ----------
        env : MDP, gymnasium.Env or str
            Where to act.
        expert : callable, agent or array
            A function that gets an observation (the name of a state, of a model) and returns an action (its
            number, of a model); an object with `predict`, which gets a list or an array of one observation;
            or a policy, of shape (n_states,) or (n_states, n_actions).
        features : array of shape (n_states, n_features), optional
            Features of the states of `env` for the estimator, as for `BehaviourCloning`.
        demonstrations : list of episodes, Episode, or data frame, optional
            Pairs to begin the dataset with.

        Returns
        -------
        self
        """
        check_parameters(self)
        if isinstance(self.beta, Schedule) and self.beta.largest > 1:
            raise ValueError(f"{type(self).__name__}: beta must stay in [0, 1]; got {self.beta!r}.")
        world = opened(env)
        if isinstance(world, GymEnvironment) and world.is_vector:
            raise ValueError(
                f"{type(self).__name__} asks its expert in a single environment; got {world.env}."
            )
        try:
            with Fit(self), np.errstate(**QUIET):
                self._begin(world)
                self._iterate(world, answers(expert, world), features, demonstrations)
        finally:
            if isinstance(world, GymEnvironment):
                world.close()
        return self

    def _iterate(self, world: Any, expert: Callable[..., int], features: Any, demonstrations: Any) -> None:
        rng = generator(self.random_state)
        rows = self._state_rows(world, features)
        trial = ModelTrial(world, rng) if isinstance(world, MDP) else EnvironmentTrial(world, rng)
        states: list[Any] = []
        actions: list[int] = []
        if demonstrations is not None:
            shown = self._pairs(demonstrations, world)
            states, actions = list(shown[0]), list(shown[1])
            self._learn_actions(*arrays(states, actions), world, rows)
        for step in self.steps(self.n_iter, name="iteration"):
            beta = self.beta(step.count) if isinstance(self.beta, Schedule) else self.beta**step.index
            returns, agreed, asked = 0.0, 0.0, 0
            for _ in range(self.n_episodes):
                state, observation = trial.reset()
                for _ in range(self.max_steps):
                    told, own = expert(observation, rng), self._own_action(state)
                    if isinstance(world, MDP) and not world.allowed[state, told]:
                        raise ValueError(
                            f"DAgger: the expert takes the action {world.actions[told]!r} in state "
                            f"{observation!r}, which does not allow it."
                        )
                    states.append(state)
                    actions.append(told)
                    agreed, asked = agreed + (np.nan if own is None else own == told), asked + 1
                    action = told if own is None or rng.random() < beta else own
                    state, observation, reward, over = trial.step(action)
                    returns += reward
                    if over:
                        break
            self._learn_actions(*arrays(states, actions), world, rows)
            step.report(
                self._learned(),
                mean_return=returns / self.n_episodes,
                n_pairs=len(actions),
                agreement=agreed / asked,
            )

    def _own_action(self, state: Any) -> int | None:
        """The learner's action in a state (a number, or a vector); None before it has learned anything."""
        if "policy_" in vars(self):
            return int(self.policy_[state])
        if "estimator_" in vars(self):
            return int(self.estimator_.predict(state[None])[0])
        return None

    def _learned(self) -> dict[str, Any]:
        names = ("policy_", "action_probabilities_", "n_visits_", "estimator_")
        return {name: vars(self)[name] for name in names if name in vars(self)}


def arrays(states: list[Any], actions: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """The dataset in arrays."""
    return np.array(states), np.array(actions, dtype=np.int64)


class ModelTrial:
    """Episodes in a model: `reset` and `step` give the number and the name of the state."""

    def __init__(self, mdp: MDP, rng: np.random.Generator) -> None:
        self.mdp, self.rng, self.state = mdp, rng, 0

    def reset(self) -> tuple[int, Any]:
        mdp = self.mdp
        start = np.where(mdp.terminal, 0.0, mdp.start)
        self.state = int(self.rng.choice(mdp.n_states, p=start / start.sum()))
        return self.state, mdp.states[self.state]

    def step(self, action: int) -> tuple[int, Any, float, bool]:
        mdp = self.mdp
        name, reward, over = mdp.step(mdp.states[self.state], mdp.actions[action], self.rng)
        self.state = mdp.state_index(name)
        return self.state, name, reward, over


class EnvironmentTrial:
    """Episodes in an environment: `reset` and `step` give the state's number or vector, and the observation."""

    def __init__(self, world: GymEnvironment, rng: np.random.Generator) -> None:
        self.world, self.seed = world, int(rng.integers(2**31))

    def reset(self) -> tuple[Any, Any]:
        seed, self.seed = self.seed, None  # type: ignore[assignment]
        observation, _ = self.world.env.reset(seed=seed)
        return self.world.encode(observation), observation

    def step(self, action: int) -> tuple[Any, Any, float, bool]:
        observation, reward, terminated, truncated, _ = self.world.env.step(action + self.world.first_action)
        return self.world.encode(observation), observation, float(reward), bool(terminated or truncated)


def answers(expert: Any, world: Any) -> Callable[[Any, np.random.Generator], int]:
    """A function that gives the number of the expert's action for an observation, whatever the expert is."""
    first, allowed = getattr(world, "first_action", 0), world.actions
    ask: Callable[[Any], Any]
    if hasattr(expert, "predict"):
        by_list = isinstance(expert, Agent) and world.n_states is not None

        def ask(observation: Any) -> Any:
            return expert.predict([observation] if by_list else np.array([observation]))

    elif callable(expert):
        ask = expert
    elif isinstance(expert, np.ndarray | list) and world.n_states is not None:
        return table_answers(np.asarray(expert), world)
    else:
        raise ValueError(
            "DAgger: expert must be a function of an observation, an object with predict, or a policy for finitely "
            f"many states; got {type(expert).__name__}."
        )

    def answer(observation: Any, rng: np.random.Generator) -> int:
        found = np.asarray(ask(observation))
        number = found.item() if found.size == 1 else None
        if isinstance(number, float) and number.is_integer():
            number = int(number)
        if not isinstance(number, int) or not 0 <= number - first < len(allowed):
            raise ValueError(
                f"DAgger: the expert answered {found.tolist()!r} to {observation!r}; expected the number of an "
                f"action, from {first} to {first + len(allowed) - 1}."
            )
        return number - first

    return answer


def table_answers(policy: np.ndarray, world: Any) -> Callable[[Any, np.random.Generator], int]:
    """The answers of a policy in arrays; those of a stochastic one are drawn."""
    if isinstance(world, MDP):
        chances, number = action_probabilities(policy, world), world.state_index
    else:
        shape = (world.n_states, world.n_actions)
        is_table = policy.shape == shape[:1] and policy.dtype.kind in "iu"
        is_table = is_table and set(policy.tolist()) <= set(range(shape[1]))
        if not is_table and (policy.shape != shape or not np.allclose(policy.sum(axis=1), 1.0)):
            raise ValueError(
                f"DAgger: expert must hold actions from 0 to {shape[1] - 1}, of shape {shape[:1]}, or "
                f"probabilities that sum to 1, of shape {shape}; got an array of shape {policy.shape}."
            )
        chances, number = np.eye(shape[1])[policy] if is_table else policy.astype(np.float64), world.encode
    is_certain = chances.max(axis=1) == 1.0

    def answer(observation: Any, rng: np.random.Generator) -> int:
        p = chances[number(observation)]
        return int(p.argmax()) if is_certain[number(observation)] else int(rng.choice(p.size, p=p))

    return answer
