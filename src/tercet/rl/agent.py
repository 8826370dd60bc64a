"""The base of all that learns to act."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator

from tercet.core.fitted_checks import Declarations, FittedAttributes, Labels, check_fitted
from tercet.core.parameters import check_parameters
from tercet.core.public_names import PublicPickle
from tercet.core.steps import QUIET, Fit, Iterative, with_callbacks
from tercet.core.symbolic_shapes import Sizes
from tercet.core.validation import check_is_fitted
from tercet.rl.environment import GymEnvironment, encode, opened, whole_number
from tercet.rl.mdp import MDP


class Agent(FittedAttributes, PublicPickle, Iterative, BaseEstimator):
    """What agents share: `fit(env)` learns, `predict(observations)` acts.

    A class writes `_fit(world)`, which gets an MDP or a `GymEnvironment`, and sets `policy_`, an action for each
    state; agents without such a table have a `predict` of their own. A state is known by its number, its name or an
    observation.

    Attributes
    ----------
    policy_ : array of int of shape (n_states,)
        Number of the action in each state.
    states_ : list or None
        Names of a model's states; None where they are 0, 1 ...
    observation_sizes_ : list of (int, int), or None
        First value and number of values of each part of an environment's observation; None for a model.
    first_action_ : int
        The environment's own number of action 0, which `predict` adds; 0 after learning from a model.
    """

    kind_of_card: ClassVar[str] = "agent"
    fitted_shapes: ClassVar[Declarations] = {"states_": Labels("states | None")}
    policy_: np.ndarray
    states_: list[Any] | None
    observation_sizes_: list[tuple[int, int]] | None
    _places: dict[Any, int] | None = None  # numbers of names, kept from one prediction to the next
    first_action_: int = 0

    @with_callbacks
    def fit(self, env: Any, y: Any = None) -> Self:
        """Learn from a model or an environment.

        Parameters
        ----------
        env : MDP, gymnasium.Env, gymnasium.vector.VectorEnv, str or callable
            A model in arrays, an environment, the name of one that gymnasium knows, or a function without arguments
            that makes one of these.
        y : ignored
            Not used.

        Returns
        -------
        self
        """
        check_parameters(self)
        world = opened(env)
        if isinstance(world, GymEnvironment):
            world.max_steps = getattr(self, "max_steps", None)
        try:
            with Fit(self), np.errstate(**QUIET):
                self._fit(world)
        finally:
            if isinstance(world, GymEnvironment):
                world.close()
        return self

    def _fit(self, world: MDP | GymEnvironment) -> None:
        raise NotImplementedError(f"{type(self).__name__} has no _fit(world).")

    def _remember_actions(self, world: MDP | GymEnvironment) -> None:
        """Keep how the environment numbers its actions."""
        self.first_action_ = world.first_action if isinstance(world, GymEnvironment) else 0

    def predict(self, observations: Any) -> Any:
        """The action that the learned policy takes.

        Parameters
        ----------
        observations : state, or list or array of states
            Observations of the environment (tuples, say), names of a model's states, or numbers of states.

        Returns
        -------
        int, or array of int
            For one observation its action, otherwise the action of each.
        """
        check_is_fitted(self)
        if self._is_single(observations):
            return self._action(observations)
        return np.array([self._action(one) for one in observations], dtype=np.int64)

    def _is_single(self, observations: Any) -> bool:
        """Whether this is one observation; an array with as many entries as an observation has parts is."""
        if not isinstance(observations, np.ndarray):
            return not isinstance(observations, list)
        parts = len(vars(self).get("observation_sizes_") or [0])
        if observations.ndim == 0:
            return True
        return parts > 1 and observations.size == parts and (observations.ndim == 1 or len(observations) > 1)

    def _action(self, observation: Any) -> int:
        return int(self.policy_[self._state_number(observation)]) + self.first_action_

    def _state_number(self, observation: Any) -> int:
        """The number of a state, from an observation, a name or the number itself."""
        if isinstance(observation, np.ndarray):
            observation = tuple(observation.ravel().tolist()) if observation.ndim else observation.item()
        sizes = vars(self).get("observation_sizes_")
        if sizes is not None and (len(sizes) == 1 or isinstance(observation, tuple)):
            try:
                return encode(observation, sizes)
            except ValueError as error:
                raise ValueError(f"{type(self).__name__}: {error}") from None
        if vars(self).get("states_") is not None:
            named = self._named_state(observation)
            if named is not None:
                return named
        number = whole_number(observation)
        if number is None or not 0 <= number < len(self.policy_):
            raise ValueError(
                f"{type(self).__name__}: there is no state {observation!r}; the agent knows {self._known_states()}."
            )
        return number

    def _named_state(self, name: Any) -> int | None:
        """The number of a state of a name; None for what may be a number, where no name is one."""
        if self._places is None:
            self._places = {known: k for k, known in enumerate(self.states_ or [])}
        try:
            return self._places[name]
        except (KeyError, TypeError):
            names_are_numbers = any(isinstance(known, int | float) for known in self._places)
            if not names_are_numbers and whole_number(name) is not None:
                return None
            raise ValueError(
                f"{type(self).__name__}: there is no state {name!r}; the agent knows {self._known_states()}."
            ) from None

    def _known_states(self) -> str:
        n, names = len(self.policy_), vars(self).get("states_")
        return f"{n}, numbered from 0" if names is None else f"{n}, from {names[0]!r} to {names[-1]!r}"

    def _remember_states(self, world: MDP | GymEnvironment) -> None:
        """Keep what `predict` needs to number a state and to name an action."""
        self._remember_actions(world)
        self._places = None
        if isinstance(world, GymEnvironment):
            self.states_, self.observation_sizes_ = None, world.sizes
        else:
            numbered = world.states == list(range(world.n_states))
            self.states_, self.observation_sizes_ = None if numbered else list(world.states), None

    def _check_fitted(self, sizes: Sizes) -> None:
        parts, policy = (vars(self).get(name) for name in ("observation_sizes_", "policy_"))
        if parts is None or policy is None:  # `Recorder` copies agents while they learn
            return
        if math.prod(size for _, size in parts) != len(policy):
            raise ValueError(
                f"{type(self).__name__}: observation_sizes_ is {parts}; expected sizes whose product is "
                f"{len(policy)}, the number of states."
            )

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_places"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        check_fitted(self)
