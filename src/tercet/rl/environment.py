"""What an agent can learn from: a model in arrays, or an environment of gymnasium."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from tercet.core.lazy import optional_module
from tercet.rl.mdp import MDP


class Moves(NamedTuple):
    """Results of a step in every stream of an environment, each a list with an item for each stream.

    Attributes
    ----------
    observations : the observation after the step; in an episode that ends, its last one.
    rewards, terminated, truncated : as in gymnasium.
    next_observations : the observation that the next action answers: the same, or the first one of a new episode.
    ignored : whether the step only began a new episode, so that there is nothing to learn from it.
    """

    observations: list[Any]
    rewards: list[float]
    terminated: list[bool]
    truncated: list[bool]
    next_observations: list[Any]
    ignored: list[bool]


class GymEnvironment:
    """An environment of gymnasium, single or of several streams, behind one interface.

    Discrete observations (Discrete, MultiDiscrete, MultiBinary, and tuples of these) are numbered from 0; other
    observations (Box) are vectors of floats. Actions are numbered from 0, too, wherever the environment's own
    begin.

    An episode that ends is followed by a new one without a call of `reset`: `step` resets a single environment,
    and vector environments behave alike in all of gymnasium's autoreset modes.

    Parameters
    ----------
    env : gymnasium.Env, gymnasium.vector.VectorEnv or str
        The environment, or the name that it is registered by.
    owned : bool, default=False
        Whether `close` closes the environment; it always closes one that was made here, of a name.

    Attributes
    ----------
    env : gymnasium.Env or gymnasium.vector.VectorEnv
        The environment itself.
    space : gymnasium.Space
        The space of one observation.
    n_streams, n_actions : int
        Number of streams, and of actions.
    first_action : int
        The environment's own number of action 0.
    n_states : int or None
        Number of discrete observations; None where observations are vectors.
    n_features : int or None
        Length of a vector of observation; None where observations are discrete.
    sizes : list of (int, int), or None
        First value and number of values of each part of a discrete observation.
    max_steps : int or None
        After so many steps an episode is truncated, if the environment does not end it before. A vector environment
        that resets its streams by itself cannot be told to: there, the next episode begins in the present state.

    Notes
    -----
    Action masks (`info["action_mask"]`, as Taxi has them) are taken as a property of the observation: see
    `restrict`.

    Examples
    --------
    >>> world = GymEnvironment("CliffWalking-v1")
    >>> world.n_states, world.n_actions, world.reset(seed=0)
    (48, 4, [36])
    >>> moves = world.step([0])
    >>> moves.observations, moves.rewards, moves.terminated
    ([24], [-1.0], [False])
    """

    max_steps: int | None = None

    def __init__(self, env: Any, *, owned: bool = False) -> None:
        gym = optional_module("gymnasium", "Environments need", "rl")
        is_name = isinstance(env, str | gym.envs.registration.EnvSpec)
        if isinstance(env, str) and env.startswith("tercet/"):
            from tercet.rl.environments.registration import register_environments

            register_environments()
        self.env = gym.make(env) if is_name else env
        self._owned = owned or is_name
        if not all(
            hasattr(self.env, name) for name in ("reset", "step", "action_space", "observation_space")
        ):
            raise TypeError(
                f"expected an MDP, an environment of gymnasium, or the name of one; got {type(env).__name__}."
            )
        self.is_vector = isinstance(self.env, gym.vector.VectorEnv)
        self.n_streams = int(self.env.num_envs) if self.is_vector else 1
        actions = self.env.single_action_space if self.is_vector else self.env.action_space
        if not isinstance(actions, gym.spaces.Discrete):
            raise ValueError(
                f"the environment has the action space {actions}; agents here choose among finitely many actions "
                "(Discrete)."
            )
        self.n_actions, self.first_action = int(actions.n), int(actions.start)
        self.space = self.env.single_observation_space if self.is_vector else self.env.observation_space
        self.sizes = _sizes(self.space, gym.spaces)
        self.n_states = None if self.sizes is None else math.prod(size for _, size in self.sizes)
        is_box = isinstance(self.space, gym.spaces.Box)
        self.n_features = math.prod(self.space.shape) if is_box else None
        if self.n_states is None and not is_box:
            raise ValueError(
                f"the environment has the observation space {self.space}; expected Discrete, MultiDiscrete, "
                "MultiBinary, a Tuple of these, or Box. gymnasium's wrapper FlattenObservation makes a Box."
            )
        self._mode = _autoreset_mode(self.env) if self.is_vector else ""
        self._ended = np.zeros(self.n_streams, dtype=bool)
        self._lengths = np.zeros(self.n_streams, dtype=np.int64)
        self._restricted: list[tuple[np.ndarray, np.ndarray]] = []
        self._masks: dict[int, np.ndarray] = {}

    def __repr__(self) -> str:
        return f"GymEnvironment({self.env})"

    @property
    def states(self) -> range:
        """Numbers of the discrete observations; `decode` tells what they are."""
        return range(self.n_states or 0)

    @property
    def actions(self) -> range:
        """The environment's own numbers of the actions."""
        return range(self.first_action, self.first_action + self.n_actions)

    @property
    def allowed(self) -> np.ndarray:
        """Which actions each state has, shape (n_states, n_actions): all of them."""
        return np.ones((self.n_states or 0, self.n_actions), dtype=bool)

    # Observations and actions as numbers ------------------------------------------------------------------------

    def encode(self, observation: Any) -> Any:
        """An observation as the number of a state, or as a vector of floats."""
        if self.sizes is None:
            return np.array(
                observation, dtype=np.float64
            ).ravel()  # a copy: environments may reuse their array
        return encode(observation, self.sizes)

    def decode(self, state: Any) -> Any:
        """The observation that `encode` made a number or a vector of.

        Examples
        --------
        >>> GymEnvironment("Blackjack-v1").decode(14 * 22 + 10 * 2)
        (14, 10, 0)
        """
        if self.sizes is None:
            return np.asarray(state).reshape(self.space.shape).astype(self.space.dtype)
        digits = []
        for first, size in reversed(self.sizes):
            state, digit = divmod(int(state), size)
            digits.append(digit + first)
        return _observation(self.space, iter(reversed(digits)))

    # Steps ------------------------------------------------------------------------------------------------------

    def reset(self, seed: int | None = None) -> list[Any]:
        """Begin an episode in every stream."""
        found, info = self.env.reset(seed=seed)
        self._ended[:] = False
        self._lengths[:] = 0
        states = self._each(found)
        self._note_masks(states, info)
        return states

    def step(self, actions: list[int]) -> Moves:
        """Take an action in every stream."""
        return self._vector_step(actions) if self.is_vector else self._single_step(actions[0])

    def _single_step(self, action: int) -> Moves:
        found, reward, terminated, truncated, info = self.env.step(int(action) + self.first_action)
        self._lengths[0] += 1
        terminated = bool(terminated)
        truncated = bool(truncated) or (not terminated and self._lengths[0] == self.max_steps)
        state = after = self.encode(found)
        if terminated or truncated:
            found, info = self.env.reset()
            after, self._lengths[0] = self.encode(found), 0
        self._note_masks([after], info)
        return Moves([state], [_finite(reward)], [terminated], [truncated], [after], [False])

    def _vector_step(self, actions: list[int]) -> Moves:
        ignored = self._ended if self._mode == "NextStep" else np.zeros(self.n_streams, dtype=bool)
        found, rewards, terminated, truncated, info = self.env.step(np.asarray(actions) + self.first_action)
        states = after = self._each(found)
        ended = terminated | truncated
        if self._mode == "SameStep" and ended.any():
            last = info["final_obs"]
            states = [self.encode(last[i]) if ended[i] else state for i, state in enumerate(states)]
        self._lengths = np.where(ignored, 0, self._lengths + 1)
        late = ~ended & ~ignored & (self._lengths == self.max_steps)
        anew = ended | late
        if self._mode == "Disabled" and anew.any():
            found, info = self.env.reset(options={"reset_mask": anew})
            after = self._each(found)
        self._lengths[anew] = 0
        self._ended = ended
        self._note_masks(after, info)
        gains = [_finite(reward) for reward in rewards]
        return Moves(states, gains, terminated.tolist(), (truncated | late).tolist(), after, ignored.tolist())

    def _each(self, observations: Any) -> list[Any]:
        """The observations of all streams, encoded."""
        if not self.is_vector:
            return [self.encode(observations)]
        iterate = optional_module("gymnasium.vector.utils", "Environments need", "rl").iterate
        return [self.encode(one) for one in iterate(self.env.observation_space, observations)]

    def close(self) -> None:
        """Close the environment if it was made for this object."""
        if self._owned:
            self.env.close()

    # Masks of actions -------------------------------------------------------------------------------------------

    def restrict(self, Q: np.ndarray) -> None:
        """Keep the values of actions that the environment masks at -inf, as of actions that a model does not allow.

        A table knows observations alone. Where masks of the same observation differ, an action is masked as long as
        no mask allowed it.

        Parameters
        ----------
        Q : array of shape (n_states, n_actions)
            Changed in place, at once and by `reset` and `step` as masks come in.
        """
        self._restricted.append((Q, Q.copy()))
        for state, mask in self._masks.items():
            Q[state, ~mask] = -np.inf

    def _note_masks(self, states: list[Any], info: dict[str, Any]) -> None:
        """Take the masks of the observations that the next actions answer."""
        if "action_mask" not in info or self.sizes is None:
            return
        masks, present = info["action_mask"], info.get("_action_mask", [True] * self.n_streams)
        for state, mask, given in zip(states, masks if self.is_vector else [masks], present):
            allows = np.asarray(mask).astype(bool) if given else np.zeros(0, dtype=bool)
            if allows.shape != (self.n_actions,) or not allows.any():
                continue
            known = self._masks.get(state)
            self._masks[state] = allows if known is None else known | allows
            if known is None or (allows & ~known).any():
                for Q, before in self._restricted:
                    if known is None:
                        Q[state, ~allows] = -np.inf
                    else:
                        Q[state, allows & ~known] = before[state, allows & ~known]


def _autoreset_mode(env: Any) -> str:
    """The name of a vector environment's autoreset mode; gymnasium takes it for NextStep where it is not given."""
    mode = env.metadata.get("autoreset_mode")
    name = "NextStep" if mode is None else str(getattr(mode, "value", mode))
    if name not in ("NextStep", "SameStep", "Disabled"):
        raise ValueError(
            f"the vector environment has the autoreset mode {mode!r}; expected one of gymnasium's AutoresetMode."
        )
    return name


def _finite(reward: Any) -> float:
    value = float(reward)
    if not math.isfinite(value):
        raise ValueError(f"the environment gave the reward {value}; rewards must be finite numbers.")
    return value


def _sizes(space: Any, spaces: Any) -> list[tuple[int, int]] | None:
    """First value and number of values of each part of a discrete space; None for other spaces."""
    if isinstance(space, spaces.Discrete):
        return [(int(space.start), int(space.n))]
    if isinstance(space, spaces.MultiDiscrete):
        return list(zip(space.start.ravel().tolist(), space.nvec.ravel().tolist()))
    if isinstance(space, spaces.MultiBinary):
        return [(0, 2)] * math.prod(space.shape)
    if isinstance(space, spaces.Tuple):
        parts = [_sizes(part, spaces) for part in space.spaces]
        return (
            None if any(part is None for part in parts) else [pair for part in parts for pair in part or ()]
        )
    return None


def encode(observation: Any, sizes: list[tuple[int, int]]) -> int:
    """The number of a discrete observation: its parts are the digits.

    Examples
    --------
    >>> encode((3, 1), [(0, 10), (0, 2)])
    7
    """
    digits = list(_digits(observation))
    if len(digits) != len(sizes):
        raise ValueError(f"there is no observation {observation!r}; observations have {len(sizes)} parts.")
    state = 0
    for given, (first, size) in zip(digits, sizes):
        digit = whole_number(given)
        if digit is None or not 0 <= digit - first < size:
            of = "" if len(sizes) == 1 else f"; its part {given!r}"
            wanted = f"a whole number from {first} to {first + size - 1}"
            raise ValueError(f"there is no observation {observation!r}{of} must be {wanted}.")
        state = state * size + digit - first
    return state


def _digits(observation: Any) -> Iterator[Any]:
    """The parts of a discrete observation, from left to right."""
    if isinstance(observation, tuple | list):
        for part in observation:
            yield from _digits(part)
    elif isinstance(observation, np.ndarray):
        yield from observation.ravel().tolist()
    else:
        yield observation


def _observation(space: Any, digits: Iterator[int]) -> Any:
    """An observation of a discrete space, made of its parts: the inverse of `_digits`."""
    if hasattr(space, "spaces"):
        return tuple(_observation(part, digits) for part in space.spaces)
    if not space.shape and hasattr(space, "start"):  # Discrete
        return next(digits)
    parts = [next(digits) for _ in range(math.prod(space.shape))]
    return np.array(parts, dtype=space.dtype).reshape(space.shape)


def whole_number(value: Any) -> int | None:
    """A number without a fraction as an int; None for anything else.

    Examples
    --------
    >>> whole_number(True), whole_number(2.0), whole_number(2.5), whole_number("2")
    (1, 2, None, None)
    """
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if bool(number == value) else None


def opened(env: Any) -> MDP | GymEnvironment:
    """What `fit` was given, as an MDP or an environment of gymnasium; a function is called to make either.

    Examples
    --------
    >>> opened("CliffWalking-v1").n_states
    48
    """
    is_function = callable(env) and (isinstance(env, type) or not hasattr(env, "step"))
    made = env() if is_function else env
    return made if isinstance(made, MDP) else GymEnvironment(made, owned=is_function)
