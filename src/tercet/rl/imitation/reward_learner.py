"""What the methods of inverse reinforcement learning share: a linear reward of the states of a model."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from tercet.core.parameters import check_parameters
from tercet.core.steps import QUIET, Fit, with_callbacks
from tercet.core.validation import check_is_fitted
from tercet.rl.agent import Agent
from tercet.rl.environment import opened
from tercet.rl.imitation.demonstrations import Demonstrations, in_model
from tercet.rl.imitation.feature_expectations import check_features
from tercet.rl.mdp import MDP


class RewardLearner(Agent):
    """Agents that learn a reward R(x) = w·φ(x) from demonstrations, and a policy that is good for it.

    A class writes `_learn(mdp, shown, features)`.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
        The weights w.
    rewards_ : array of shape (n_states,)
        The rewards w·φ(x).
    """

    coef_: np.ndarray
    rewards_: np.ndarray
    discount: float

    @with_callbacks
    def fit(self, env: Any, demonstrations: Any = None, features: Any = None) -> Self:
        """Learn a reward and a policy from demonstrations.

        Parameters
        ----------
        env : MDP, or gymnasium.Env or its name
            The model in which the expert acted, or an environment with a table P of its transitions. The rewards
            are ignored.
        demonstrations : list of episodes, Episode, or data frame
            Episodes are lists of (state, action) pairs, of which the last may be (state, None) where an
            episode ended, or `Episode`, as `MDP.simulate` gives them. A frame has the columns "state" and
            "action", and "episode" where there are several.
        features : array or sparse matrix of shape (n_states, n_features), optional
            Features φ(x) of the states; by default an indicator of each state, so that each has a reward of
            its own.

        Returns
        -------
        self
        """
        check_parameters(self)
        if demonstrations is None:
            raise ValueError(f"{type(self).__name__}: fit needs demonstrations, a list of episodes.")
        world = opened(env)
        mdp = world if isinstance(world, MDP) else MDP.from_gymnasium(world.env)
        shown = in_model(demonstrations, mdp)
        phi = check_features(features, mdp.n_states)
        with Fit(self), np.errstate(**QUIET):
            self._remember_states(mdp)
            self._remember_actions(world)
            self._learn(mdp, shown, phi)
        return self

    def _learn(self, mdp: MDP, shown: Demonstrations, features: Any) -> None:
        raise NotImplementedError(f"{type(self).__name__} has no _learn(mdp, shown, features).")

    def apply_rewards(self, mdp: MDP) -> MDP:
        """A model with the learned rewards, to plan or to learn in.

        The reward of a state is that of each of its actions; the reward of a terminal state, discounted once,
        is added to the rewards of the actions that lead there.

        Parameters
        ----------
        mdp : MDP
            The model of `fit`, or one with the same states.

        Returns
        -------
        MDP
        """
        check_is_fitted(self)
        return with_state_rewards(mdp, self.rewards_, self.discount)


def with_state_rewards(mdp: MDP, rewards: np.ndarray, discount: float) -> MDP:
    """A model with the rewards of states; those of terminal states are got by the action that leads there."""
    if rewards.shape != (mdp.n_states,):
        raise ValueError(f"the model has {mdp.n_states} states; rewards were learned for {rewards.size}.")
    arrival = discount * (mdp.probabilities @ np.where(mdp.terminal, rewards, 0.0))
    return mdp.with_rewards(mdp.table(rewards[mdp.pair_states] + arrival, 0.0))
