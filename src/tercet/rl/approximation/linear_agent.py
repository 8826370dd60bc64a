"""The course of learning values that are linear in features, in a model or in an environment."""

from __future__ import annotations

import functools
import math
import warnings
from typing import Any, ClassVar

import numpy as np

from tercet.core.estimator import generator
from tercet.core.fitted_checks import Counts, Declarations, Floats, Indices, Whole
from tercet.core.steps import ConvergenceWarning
from tercet.core.validation import check_is_fitted
from tercet.rl._engine.linear import DIVERGED, Learner, LinearRules, Stream, choose, new_trace
from tercet.rl.agent import Agent
from tercet.rl.approximation.course import (
    FORMS,
    Course,
    FollowedPolicy,
    coefficients,
    feature_values,
    head_values,
    masked_values,
)
from tercet.rl.approximation.observations import Slots, feature_rows, fitted_features, state_table, writer
from tercet.rl.environment import GymEnvironment
from tercet.rl.learning.tabular_control import PASSES, ending_states, reachable_states
from tercet.rl.mdp import MDP

WILD = 10.0  # a mean TD error so many times the largest return belongs to weights that grow


class LinearFeatures:
    """Part of agents whose values are θ·φ: how states become features, and weights values."""

    def state_table(self, agent: Any, course: Course) -> Any:
        """φ of all states, a CSR matrix."""
        joint = agent.action_features == "joint"
        return state_table(agent.features, course.world, joint=joint, one_hot=agent.one_hot)

    def slots(self, agent: Any, course: Course, rng: np.random.Generator, n_heads: int) -> Slots:
        """Rows of features that observations are written to."""
        world: Any = course.world
        joint = agent.action_features == "joint"
        if "features_" not in vars(agent):  # with warm_start they are those of the earlier fit
            agent.features_ = fitted_features(agent.features, world, joint=joint, rng=rng)
        example = np.zeros(world.n_features)
        more = [(action,) for action in world.actions] if joint else [()]
        writers = [writer(agent.features_, example, agent.observation_shape_, given) for given in more]
        writes, (_, n_entries, n_columns) = [write for write, _, _ in writers], writers[0]
        return Slots(writes, n_entries, n_columns, world.n_streams, n_heads, FORMS[agent.action_features])

    def state(self, course: Course) -> Any:
        """A copy of what was learned, for `unpack`."""
        return course.learner.weights.copy()

    def unpack(self, agent: Any, course: Course, weights: Any) -> dict[str, Any]:
        """Fitted attributes about the values."""
        coef = coefficients(weights, course.phi)
        if course.table is None:
            return {"coef_": agent._shown(coef)}
        values = feature_values(course.table, coef, course.phi.form, course.phi.allowed.shape[1])
        return {"coef_": agent._shown(coef), **agent._tables(masked_values(values, course.world))}

    def values(self, agent: Any, X: np.ndarray) -> np.ndarray:
        """Values of observations, shape (n, n_heads), that are rows of X."""
        if agent.action_features == "joint":
            every = [np.full(len(X), agent.first_action_ + a) for a in range(agent.n_actions_)]
            rows = [feature_rows(agent.features_, X, agent.observation_shape_, actions) for actions in every]
            return np.stack(
                [head_values(phi, agent.coef_, False, type(agent).__name__)[:, 0] for phi in rows], axis=1
            )
        phi = feature_rows(agent.features_, X, agent.observation_shape_)
        return head_values(phi, agent.coef_, agent.action_features == "concatenate", type(agent).__name__)


class LinearAgent(Agent):
    """Agents that learn θ of values θ·φ; a class writes `_episode_kernel` for models and `_learn_step` for
    environments.

    Where states are finitely many, the values of all of them are kept in tables as well; elsewhere `predict` maps
    observations to features.
    """

    fitted_shapes: ClassVar[Declarations] = {
        "coef_": Floats("...", finite=True),
        "observation_shape_": Counts("..."),
        "episode_returns_": "episodes*",
        "episode_lengths_": "episodes*",
        "n_truncated_": Whole(),
        "n_steps_": Whole(),
        "n_episodes_": Whole(),
        "draws_": "2",
        "n_actions_": Whole(low=1),
    }
    representation: ClassVar[Any] = LinearFeatures()
    chooses_first: ClassVar[bool] = False  # choose the next action before learning from a step, as Sarsa does
    one_hot: ClassVar[bool] = True  # what features=None means for discrete observations
    coef_: np.ndarray
    V_: np.ndarray
    features_: Any
    observation_shape_: tuple[int, ...]
    episode_returns_: np.ndarray
    episode_lengths_: np.ndarray
    n_truncated_: int
    n_steps_: int
    n_episodes_: int
    draws_: np.ndarray
    n_actions_: int

    features: Any
    n_episodes: int
    max_steps: int
    n_steps: int | None
    discount: float
    random_state: Any
    # What follows is for classes without such a parameter.
    action_features: str = "blocks"
    learning_rate: Any = 1.0
    epsilon: Any = 0.0
    exploration: str = "epsilon-greedy"
    temperature: Any = 1.0
    trace_decay: float = 0.0
    traces: str = "accumulating"
    normalize: bool = False
    expected: bool = False
    warm_start: bool = False

    def _fit(self, world: MDP | GymEnvironment) -> None:
        self._refuse_endless(world)
        goes_on = self.warm_start and "draws_" in vars(self)
        before = vars(self).get("coef_") if goes_on else None
        rng = np.random.default_rng(self.draws_) if goes_on else generator(self.random_state)
        self._remember_states(world)
        self._remember_shape(world, forget=not goes_on)
        course = Course(self, world, rng, before)
        unpack = functools.partial(self._learned, course)
        n, error = self.n_episodes, 0.0
        block = -(-n // PASSES)
        for step in self.steps(-(-n // block), name="block" if block > 1 else "episode", unpack=unpack):
            error = course.episodes(min(block, n - step.index * block))
            returns, lengths, cut = course.found[-1]
            step.report(
                self._state(course),
                mean_return=float(returns.mean()) if returns.size else np.nan,
                mean_length=float(lengths.mean()) if lengths.size else np.nan,
                truncated=int(cut.sum()),
                **self._measures(error),
            )
            if course.is_over:
                break
        self.__dict__.update(unpack(self._state(course)))
        self._warn(course, error)

    def _learned(self, course: Course, state: Any) -> dict[str, Any]:
        """Fitted attributes."""
        return {**self._unpack(course, state), **course.attributes()}

    # What a class writes ----------------------------------------------------------------------------------------

    def _episode_kernel(self) -> Any:
        """The kernel `(model, learner, rules, stream, returns, lengths, cut) -> number of episodes`."""
        raise NotImplementedError

    def _learn_step(
        self,
        learner: Learner,
        rules: LinearRules,
        stream: Any,
        x: int,
        a: int,
        r: float,
        u: int,
        b: int,
        terminated: bool,
    ) -> None:
        """Learn from a step of an environment; x and u are rows of features, b is the next action or -1."""
        raise NotImplementedError

    def _choose(self, course: Course, stream: Any, x: int) -> int:
        """The next action in an environment; x is a row of features."""
        return int(choose(stream.phi, course.learner, course.rules, x))

    def _n_heads(self, world: MDP | GymEnvironment) -> int:
        """How many values an observation has: one for each action, or one."""
        return int(world.n_actions)

    def _policy(self, world: MDP | GymEnvironment) -> FollowedPolicy | None:
        """The policy that chooses actions; None where they are chosen by their values."""
        return None

    def _stream(self, course: Course) -> Any:
        """Arrays that one stream of steps needs."""
        return Stream(course.phi, new_trace(course.learner.weights.size), course.chances)

    def _measures(self, error: float) -> dict[str, Any]:
        """More columns of the history; `error` is the mean |δ| of the TD errors of a pass."""
        return {"td_error": error}

    def _state(self, course: Course) -> Any:
        """A copy of what was learned, for `_unpack`."""
        return self.representation.state(course)

    def _unpack(self, course: Course, state: Any) -> dict[str, Any]:
        """Fitted attributes about the values."""
        return self.representation.unpack(self, course, state)

    def _shown(self, coef: np.ndarray) -> np.ndarray:
        """Weights in the shape of `coef_`."""
        return coef

    def _tables(self, values: np.ndarray) -> dict[str, Any]:
        """Fitted attributes from the values of all states, shape (n_states, n_heads)."""
        raise NotImplementedError

    # Predictions ------------------------------------------------------------------------------------------------

    def _values(self, observations: Any) -> np.ndarray:
        """Values of one observation, shape (n_heads,), or of several, shape (n, n_heads)."""
        check_is_fitted(self)
        if not hasattr(self, "observation_shape_"):
            table = self._value_table()
            if self._is_single(observations):
                return table[self._state_number(observations)].copy()
            return table[[self._state_number(one) for one in observations]]
        X, single = self._vectors(observations)
        values = self.representation.values(self, X)
        return values[0] if single else values

    def _value_table(self) -> np.ndarray:
        """Values of all states, shape (n_states, n_heads)."""
        raise NotImplementedError

    def _vectors(self, observations: Any) -> tuple[np.ndarray, bool]:
        """Observations as rows, shape (n, n_inputs), and whether it was a single one."""
        X = np.asarray(observations, dtype=np.float64)
        shape = self.observation_shape_
        width = math.prod(shape)
        single = X.shape in (shape, (width,))
        rows = X.reshape(1, -1) if single or X.ndim == 0 else X.reshape(len(X), -1 if X.size else width)
        if rows.shape[1] != width:
            raise ValueError(
                f"{type(self).__name__}: observations must have the shape {shape}, or one more dimension for "
                f"several; got {X.shape}."
            )
        if not np.isfinite(rows).all():
            raise ValueError(
                f"{type(self).__name__}: observations must hold finite numbers; got {observations!r:.100}."
            )
        return rows, single

    # Checks and reports -----------------------------------------------------------------------------------------

    def _remember_shape(self, world: MDP | GymEnvironment, *, forget: bool = True) -> None:
        """Keep what `predict` needs to know of vectors; forget what another world has left."""
        for name in ("observation_shape_", "Q_", "V_", "policy_"):
            self.__dict__.pop(name, None)
        if forget:
            self.__dict__.pop("features_", None)
        self.n_actions_ = int(world.n_actions)
        if isinstance(world, GymEnvironment) and world.n_states is None:
            self.observation_shape_ = tuple(world.space.shape)

    def _refuse_endless(self, world: MDP | GymEnvironment) -> None:
        """Without a discount, values are finite only where episodes end."""
        if self.discount == 1 and isinstance(world, MDP):
            endless = np.flatnonzero(reachable_states(world) & ~ending_states(world))
            if endless.size:
                raise ValueError(
                    f"{type(self).__name__}: discount=1 needs a terminal state that every state can reach; state "
                    f"{world.states[endless[0]]!r} cannot reach one. Use a discount below 1."
                )

    def _warn(self, course: Course, error: float) -> None:
        """Tell what the values cannot be trusted for."""
        name, n = type(self).__name__, self.episode_lengths_.size
        if course.learner.clock[DIVERGED]:
            warnings.warn(
                f"{name}: the weights diverged within {self.n_steps_} steps; the last finite ones are kept. Lower "
                "learning_rate, or use normalize=True. Learning the values of one policy while following another "
                "can diverge for any step size; LSTD and LSPI do not.",
                ConvergenceWarning,
                stacklevel=5,
            )
        elif error > WILD * max(course.largest_return, course.first_error):
            warnings.warn(
                f"{name}: the weights diverge: in the last pass the mean TD error was {error:.3g}, in the first "
                f"one {course.first_error:.3g}, and no return can be larger than {course.largest_return:.3g}. "
                "Lower learning_rate, or use normalize=True.",
                ConvergenceWarning,
                stacklevel=5,
            )
        # A time limit is a part of many environments, where it may be a success to reach it.
        world = course.world
        usual = n - 1 if isinstance(world, GymEnvironment) else n / 2 if world.terminal.any() else n
        if n and self.n_truncated_ > usual:
            warnings.warn(
                f"{name}: {self.n_truncated_} of {n} episodes hit the step limit before they reached a terminal "
                "state. Raise max_steps or n_episodes.",
                stacklevel=5,
            )
        if course.dictionary is not None and course.dictionary.is_full:
            warnings.warn(
                f"{name}: the dictionary is full with max_centers={course.dictionary.most}; observations that are "
                "far from all centres are poorly represented. Raise max_centers or novelty, or use a wider kernel.",
                stacklevel=5,
            )


class GreedyActions:
    """Part of agents that learn values of actions and take the best one."""

    fitted_shapes: ClassVar[Declarations] = {
        "Q_": Floats("states actions"),
        "V_": Floats("states"),
        "policy_": Indices("states", below="actions"),
    }
    Q_: np.ndarray
    V_: np.ndarray
    policy_: np.ndarray
    n_actions_: int

    def action_values(self: Any, observations: Any) -> np.ndarray:
        """Values Q(x, a) of the actions.

        Parameters
        ----------
        observations : observation, or list or array of observations
            Vectors where the environment's observations are vectors; otherwise as for `predict`.

        Returns
        -------
        array of shape (n_actions,), or (n, n_actions) for several observations
        """
        return self._values(observations)

    def predict(self: Any, observations: Any) -> Any:
        """The action of the highest value.

        Parameters
        ----------
        observations : observation, or list or array of observations
            Vectors where the environment's observations are vectors; otherwise observations of the environment,
            names of a model's states, or numbers of states.

        Returns
        -------
        int, or array of int
            For one observation its action, otherwise the action of each.
        """
        best = np.argmax(self._values(observations), axis=-1) + self.first_action_
        return int(best) if best.ndim == 0 else best

    def _value_table(self) -> np.ndarray:
        return self.Q_

    def _tables(self, values: np.ndarray) -> dict[str, Any]:
        return {"Q_": values, "V_": values.max(axis=1), "policy_": np.argmax(values, axis=1)}


class PolicyValues:
    """Part of agents that learn the values of a policy that is given."""

    fitted_shapes: ClassVar[Declarations] = {
        "V_": Floats("states"),
        "policy_": Indices("states", below=str(2**31)),
    }
    V_: np.ndarray
    policy_: np.ndarray
    policy: Any

    def value(self: Any, observations: Any) -> Any:
        """Values V(x) of observations.

        Parameters
        ----------
        observations : observation, or list or array of observations
            Vectors where the environment's observations are vectors; otherwise observations of the environment,
            names of a model's states, or numbers of states.

        Returns
        -------
        float, or array of shape (n,) for several observations
        """
        values = self._values(observations)[..., 0]
        return float(values) if values.ndim == 0 else values

    def predict(self: Any, observations: Any) -> Any:
        """The action that the policy takes, the most probable one where it is random.

        Parameters
        ----------
        observations : observation, or list or array of observations
            As for `value`.

        Returns
        -------
        int, or array of int
            For one observation its action, otherwise the action of each.
        """
        check_is_fitted(self)
        if "observation_shape_" not in vars(self):
            return Agent.predict(self, observations)
        if self.policy is None:
            raise ValueError(
                f"{type(self).__name__}: policy=None takes random actions; there is none to predict."
            )
        X, single = self._vectors(observations)
        function = getattr(self.policy, "predict", self.policy)
        actions = np.array([int(function(x.reshape(self.observation_shape_))) for x in X])
        return int(actions[0]) if single else actions

    def _value_table(self) -> np.ndarray:
        return self.V_[:, None]

    def _tables(self, values: np.ndarray) -> dict[str, Any]:
        return {"V_": values[:, 0]}

    def _shown(self, coef: np.ndarray) -> np.ndarray:
        return coef[0]

    def _n_heads(self, world: MDP | GymEnvironment) -> int:
        return 1

    def _policy(self, world: MDP | GymEnvironment) -> FollowedPolicy:
        followed = FollowedPolicy(self.policy, world)
        if world.n_states is not None:
            self.policy_ = np.argmax(followed.probabilities, axis=1)
        return followed
