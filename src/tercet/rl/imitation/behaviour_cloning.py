"""Behaviour cloning (行为克隆), the text's direct imitation learning (直接模仿学习)."""

from __future__ import annotations

import contextlib
import warnings
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone, is_regressor

from tercet.core.catalog import method
from tercet.core.fitted_checks import Declarations, Floats, Indices, Labels
from tercet.core.parameters import NonNegative, check_parameters
from tercet.core.steps import QUIET, Fit, with_callbacks
from tercet.core.symbolic_shapes import Sizes
from tercet.core.validation import check_is_fitted
from tercet.rl.agent import Agent
from tercet.rl.environment import GymEnvironment, opened
from tercet.rl.imitation.demonstrations import in_model, read_demonstrations
from tercet.rl.imitation.feature_expectations import check_features
from tercet.rl.mdp import MDP

World = MDP | GymEnvironment | None


@method(
    zh="行为克隆（直接模仿学习）",
    task="reinforcement learning",
    model="π(x) = f(x), where f is a classifier or regressor of an expert's actions",
    strategy="supervised learning from pairs of a state and the expert's action",
    algorithms="those of the estimator; without one, shares of the actions in each state",
    texts=["watermelon notes ch. 14, sec. 14.6.1"],
    peers=["imitation.algorithms.bc.BC"],
)
class BehaviourCloning(Agent):
    """Behaviour cloning: learn to act like an expert from pairs of a state and an action.

    Without an estimator the policy is a table: in each state the shares of the expert's actions there. An
    estimator generalises to states that the expert did not visit. The learned policy is a start for reinforcement
    learning: see `as_q_values`.

    Parameters
    ----------
    estimator : classifier or regressor, optional
        Learns the actions from vectors; a regressor learns actions that are numbers. By default a table.
    alpha : float, default=0.0
        Added to the count of each action in each state of a table (Laplace's correction).

    Attributes
    ----------
    policy_ : array of int of shape (n_states,)
        The most probable action in each state, where there are finitely many states.
    action_probabilities_ : array of shape (n_states, n_actions)
        Probabilities of the actions; in a table all are equal in states that the expert did not visit.
    n_visits_ : array of int of shape (n_states, n_actions)
        How often the expert took each action in each state.
    actions_ : list
        Names of the actions.
    estimator_ : estimator
        The fitted estimator; None for a table, and where the expert took a single action only.

    Examples
    --------
    >>> from tercet.rl import watermelon_watering
    >>> shown = [[("healthy", "water"), ("overwatered", "wait"), ("healthy", "wait"), ("dry", "water")]]
    >>> model = BehaviourCloning(alpha=1).fit(shown, watermelon_watering(dead_is_terminal=True))
    >>> model.predict("dry"), model.predict_proba(["healthy", "dry"]).round(2)
    (0, array([[0.5 , 0.5 ],
           [0.67, 0.33]]))

    With an estimator, from vectors; no environment is needed:

    >>> from tercet.tree import DecisionTreeClassifier
    >>> shown = [[([0.1, 0.0], "left"), ([0.2, 0.1], "left"), ([0.8, 0.2], "right")]]
    >>> BehaviourCloning(DecisionTreeClassifier()).fit(shown).predict([[0.0, 0.0], [0.9, 0.0]])
    array(['left', 'right'], dtype='<U5')
    """

    fitted_shapes: ClassVar[Declarations] = {
        "action_probabilities_": Floats("states actions", low=0.0),
        "policy_": Indices("states", below="actions"),
        "n_visits_": "states actions",
        "actions_": Labels("actions"),
    }
    action_probabilities_: np.ndarray
    n_visits_: np.ndarray
    actions_: list[Any]
    estimator_: Any
    has_world_: bool

    def __init__(self, estimator: Any = None, *, alpha: NonNegative = 0.0) -> None:
        self.estimator = estimator
        self.alpha = alpha

    @with_callbacks
    def fit(self, demonstrations: Any, env: Any = None, features: Any = None) -> Self:
        """Learn the actions of an expert.

        Parameters
        ----------
        demonstrations : list of episodes, Episode, or data frame
            Episodes are lists of (state, action) pairs, or `Episode`. A frame has the columns "state" and
            "action", and "episode" where there are several.
        env : MDP, gymnasium.Env or str, optional
            Where the expert acted and the agent will act: it says which states and actions there are. Without
            it, states and actions are those that occur in the demonstrations.
        features : array of shape (n_states, n_features), optional
            Features of the states of `env` for the estimator; by default what names or observations hold, if
            they are numbers (the position in a grid world).

        Returns
        -------
        self
        """
        check_parameters(self)
        world = None if env is None else opened(env)
        try:
            with Fit(self), np.errstate(**QUIET):
                self._begin(world)
                states, actions = self._pairs(demonstrations, world)
                self._learn_actions(states, actions, world, self._state_rows(world, features))
                self._warn_of_gaps(world)
        finally:
            if isinstance(world, GymEnvironment):
                world.close()
        return self

    @property
    def _is_regressor(self) -> bool:
        return self.estimator is not None and is_regressor(self.estimator)

    def _begin(self, world: World) -> None:
        """Remember what `predict` needs, and forget what another fit has learned."""
        if self.estimator is None and isinstance(world, GymEnvironment) and world.n_states is None:
            raise ValueError(
                f"{type(self).__name__}: a table needs discrete observations; got {world.space}. Give an estimator."
            )
        if self._is_regressor and world is not None:
            raise ValueError(
                f"{type(self).__name__}: env has finitely many actions, which {type(self.estimator).__name__} "
                "cannot predict: it is a regressor. Give a classifier."
            )
        for name in ("policy_", "action_probabilities_", "n_visits_", "estimator_", "actions_"):
            self.__dict__.pop(name, None)
        self.has_world_ = world is not None
        if world is None:
            self.states_, self.observation_sizes_, self.first_action_ = None, None, 0
        else:
            self._remember_states(world)
            self.actions_ = list(world.actions)

    def _pairs(self, demonstrations: Any, world: World) -> tuple[Any, Any]:
        """States and actions of all steps: numbers, or vectors of states where there are not finitely many."""
        if isinstance(world, MDP):
            shown = in_model(demonstrations, world)
            return shown.states, shown.actions
        episodes = read_demonstrations(demonstrations)
        states = [state for episode in episodes for state in episode.states]
        actions = [action for episode in episodes for action in episode.actions]
        if world is not None:
            coded = [self._encoded(world, state) for state in states]
            numbers = np.array([self._action_number(world, action) for action in actions], dtype=np.int64)
            return np.array(coded, dtype=np.int64 if world.sizes is not None else np.float64), numbers
        if self.estimator is not None:
            return vectors(states), np.array(actions)
        self.states_, codes = named(states, "states")
        self.actions_, numbers = named(actions, "actions")
        if self.states_ == list(range(len(self.states_))):
            self.states_ = None
        return codes, numbers

    def _encoded(self, world: GymEnvironment, state: Any) -> Any:
        try:
            return world.encode(state)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"{type(self).__name__}: demonstrations hold the state {state!r}: {error}"
            ) from None

    def _action_number(self, world: GymEnvironment, action: Any) -> int:
        if action not in world.actions:
            raise ValueError(
                f"{type(self).__name__}: demonstrations hold the action {action!r}; the environment's are numbered "
                f"from {world.actions[0]} to {world.actions[-1]}."
            )
        return world.actions.index(action)

    def _state_rows(self, world: World, features: Any) -> np.ndarray | None:
        """Vectors of all states for the estimator, shape (n_states, n_features); None where states are vectors."""
        if self.estimator is None or world is None or world.n_states is None:
            if features is not None:
                raise ValueError(
                    f"{type(self).__name__}: features are those of the states of env, for an estimator; there is "
                    f"{'no estimator' if self.estimator is None else 'no env with finitely many states'}."
                )
            return None
        if features is not None:
            rows = check_features(features, world.n_states)
            return rows if isinstance(rows, np.ndarray) else rows.toarray()
        if isinstance(world, MDP):
            return vectors(getattr(world, "positions", world.states))  # a grid world has positions
        return vectors([world.decode(state) for state in world.states])

    def _learn_actions(self, states: Any, actions: Any, world: World, rows: np.ndarray | None) -> None:
        """Learn from states and actions as `_pairs` gives them; `rows` are vectors of all states, if needed."""
        if self.estimator is None:
            self.estimator_ = None
            self._count(states, actions, world)
            self._set_policy(self._shares(world))
        elif rows is not None:
            single = bool((actions == actions[0]).all())  # which few classifiers take
            self.estimator_ = None if single else clone(self.estimator).fit(rows[states], actions)
            self._count(states, actions, world)
            self._set_policy(self._estimated(rows, actions, world))
        else:
            self.estimator_ = clone(self.estimator).fit(states, actions)
            if world is None and not self._is_regressor:
                self.actions_ = self.estimator_.classes_.tolist()

    def _count(self, states: np.ndarray, actions: np.ndarray, world: World) -> None:
        n = int(states.max()) + 1 if world is None else int(world.n_states or 0)
        self.n_visits_ = np.zeros((n, len(self.actions_)), dtype=np.int64)
        np.add.at(self.n_visits_, (states, actions), 1)

    def _shares(self, world: World) -> np.ndarray:
        """Shares of the actions in each state, shape (n_states, n_actions)."""
        allowed = np.ones(self.n_visits_.shape, dtype=bool) if world is None else world.allowed
        counts = self.n_visits_ + self.alpha * allowed
        counts = np.where(counts.sum(axis=1, keepdims=True) > 0, counts, allowed)
        return counts / counts.sum(axis=1, keepdims=True)

    def _estimated(self, rows: np.ndarray, actions: np.ndarray, world: Any) -> np.ndarray:
        """Probabilities of the actions by the estimator, shape (n_states, n_actions), of allowed actions alone."""
        chances = np.zeros((len(rows), len(self.actions_)))
        if self.estimator_ is None:  # the expert took a single action
            chances[:, actions[0]] = 1.0
        elif hasattr(self.estimator_, "predict_proba"):
            chances[:, self.estimator_.classes_] = self.estimator_.predict_proba(rows)
        else:
            chances[np.arange(len(rows)), self.estimator_.predict(rows)] = 1.0
        chances = np.where(world.allowed, chances, 0.0)
        chances = np.where(chances.sum(axis=1, keepdims=True) > 0, chances, world.allowed)
        return chances / chances.sum(axis=1, keepdims=True)

    def _set_policy(self, chances: np.ndarray) -> None:
        self.action_probabilities_, self.policy_ = chances, chances.argmax(axis=1)

    def _warn_of_gaps(self, world: World) -> None:
        """Warn of states that the policy may get to and the expert never showed."""
        if self.estimator is not None or not isinstance(world, MDP):
            return
        never = reached(world, self.policy_) & ~world.terminal & (self.n_visits_.sum(axis=1) == 0)
        if never.any():
            some = ", ".join(repr(world.states[x]) for x in np.flatnonzero(never)[:3])
            warnings.warn(
                f"{type(self).__name__}: the learned policy may get to {never.sum()} of {world.n_states} states "
                f"that the demonstrations do not have ({some}{' ...' if never.sum() > 3 else ''}); all actions are "
                "equally probable there. Give more demonstrations or an estimator, or use DAgger.",
                stacklevel=5,
            )

    def predict(self, observations: Any) -> Any:
        """The expert's most probable action.

        Parameters
        ----------
        observations : state, or list or array of states
            As in the demonstrations: observations of the environment, names of a model's states or their numbers.

        Returns
        -------
        action, or array of actions
            For one observation its action, otherwise the action of each: its number, or, after learning without an
            environment, the action as in the demonstrations.
        """
        check_is_fitted(self, "has_world_")
        if "policy_" in vars(self):
            found = super().predict(observations)
            if self.has_world_:
                return found
            return np.array(self.actions_)[found] if isinstance(found, np.ndarray) else self.actions_[found]
        X = vectors(observations, single=True)
        found = self.estimator_.predict(np.atleast_2d(X))
        found = found + self.first_action_ if self.has_world_ else found
        return found if X.ndim == 2 else found[0]

    def predict_proba(self, observations: Any) -> np.ndarray:
        """Probabilities of the actions.

        Parameters
        ----------
        observations : list or array of states
            As for `predict`.

        Returns
        -------
        array of shape (n_observations, n_actions)
            In the order of `actions_`.
        """
        check_is_fitted(self, "has_world_")
        if "policy_" in vars(self):
            return self.action_probabilities_[[self._state_number(one) for one in observations]]
        if not hasattr(self.estimator_, "predict_proba"):
            raise AttributeError(f"{type(self.estimator_).__name__} has no predict_proba.")
        chances = np.zeros((len(observations), len(self.actions_)))
        columns = self.estimator_.classes_ if self.has_world_ else slice(None)
        chances[:, columns] = self.estimator_.predict_proba(vectors(observations))
        return chances

    def score(self, demonstrations: Any, y: Any = None) -> float:
        """Share of demonstrated actions that are the predicted ones; for a regressor R².

        Parameters
        ----------
        demonstrations : list of episodes, Episode, or data frame
            As for `fit`, with names of states and actions (or observations).
        y : ignored
            Not used.
        """
        check_is_fitted(self, "has_world_")
        episodes = read_demonstrations(demonstrations)
        states = [state for episode in episodes for state in episode.states]
        actions = [action for episode in episodes for action in episode.actions]
        found = self.predict(states)
        if self._is_regressor:
            wanted = np.array(actions)
            return float(1.0 - ((wanted - found) ** 2).sum() / ((wanted - wanted.mean(axis=0)) ** 2).sum())
        by_number = not self.has_world_ or any(episode.numbered for episode in episodes)
        names = found.tolist() if by_number else [self.actions_[a - self.first_action_] for a in found]
        return float(np.mean([name == action for name, action in zip(names, actions)]))

    def as_q_values(self, scale: float = 1.0) -> np.ndarray:
        """Values of actions to begin reinforcement learning with: `scale` times the action probabilities.

        An agent that begins with these values and acts greedily acts like the expert, and then finds what is
        better. The scale should be about the size of the returns: the larger it is, the longer the agent
        keeps to the expert's actions.

        Parameters
        ----------
        scale : float, default=1.0
            The value of an action that the expert always takes.

        Returns
        -------
        array of shape (n_states, n_actions)

        Examples
        --------
        >>> model = BehaviourCloning().fit([[("hungry", "eat"), ("full", "rest")]])
        >>> model.as_q_values(10)
        array([[ 0., 10.],
               [10.,  0.]])
        """
        check_is_fitted(self, "action_probabilities_")
        return scale * self.action_probabilities_

    def _check_fitted(self, sizes: Sizes) -> None:
        if "policy_" in vars(self):
            super()._check_fitted(sizes)


def vectors(states: Any, single: bool = False) -> np.ndarray:
    """States that are numbers, or tuples or arrays of numbers, as rows; `single` allows one state by itself."""
    try:
        rows = np.array([np.ravel(state) for state in states] if not single else states, dtype=np.float64)
    except (TypeError, ValueError):
        rows = np.empty((0, 0, 0))
    if rows.ndim > 2 or rows.ndim < 1:
        raise ValueError(
            "an estimator needs states that are vectors of numbers, all of the same length; for states with other "
            "names give env and features."
        )
    return rows


def named(values: list[Any], what: str) -> tuple[list[Any], np.ndarray]:
    """Different names, sorted where they can be, and the number of the name of each value."""
    try:
        names = list(dict.fromkeys(values))
    except TypeError:
        raise ValueError(
            f"demonstrations: {what} of a table must be names or numbers; got {values[0]!r}. Give tuples in place "
            "of lists and arrays, or an estimator."
        ) from None
    with contextlib.suppress(TypeError):
        names.sort()
    places = {name: k for k, name in enumerate(names)}
    return names, np.array([places[value] for value in values], dtype=np.int64)


def reached(mdp: MDP, policy: np.ndarray) -> np.ndarray:
    """Whether a policy may get to each state from where episodes begin, shape (n_states,)."""
    P, found = mdp.probabilities, mdp.start > 0
    pairs = mdp.pair_index[np.arange(mdp.n_states), policy]
    new = np.flatnonzero(found)
    while new.size:
        successors = np.unique(P[pairs[new]].indices)
        new = successors[~found[successors]]
        found[new] = True
    return found
