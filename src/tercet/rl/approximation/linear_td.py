"""Temporal differences for linear values (线性值函数近似), the watermelon notes' (14.22)-(14.26)."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.kernel import kernel, shared
from tercet.core.parameters import Count, Fraction, Positive, Seed
from tercet.rl._engine.linear import Learner, LinearRules, Stream, action_value, correct, forget
from tercet.rl._engine.model import Model, draw_index, uniform
from tercet.rl._engine.tables import STATE, begin_episode, keep_place, next_transition, paused, recorded
from tercet.rl.approximation.linear_agent import LinearAgent, PolicyValues
from tercet.rl.schedules import Schedule


@method(
    zh="线性值函数近似",
    task="reinforcement learning",
    model="V(x) = θ·φ(x)",
    strategy="the squared error E[(V^π(x) - θ·φ(x))²] (14.23), with r + γ θ·φ(x') in place of V^π(x)",
    algorithms="θ += α (r + γ θ·φ(x') - θ·φ(x)) z, z = γλ z + φ(x): semi-gradient TD(λ) (14.26)",
    texts=["watermelon notes ch. 14, eq. 14.22-14.26"],
)
class LinearTD(PolicyValues, LinearAgent):
    """Values of a policy as a linear function of features, V(x) = θ·φ(x), by temporal differences.

    After each step the weights move along the features, by the difference between the old estimate and the one that
    the reward and the next state give:

        θ += α (r + γ θ·φ(x') - θ·φ(x)) φ(x)

    which is the gradient descent on the squared error, (14.25), with V^π(x) replaced by r + γ θ·φ(x'). With
    `trace_decay` λ above 0 the features of earlier states take part with weights (γλ)^k; λ = 1 is a
    regression on the returns.

    Parameters
    ----------
    policy : array, callable, agent or None, default=None
        The policy π: for discrete states an action for each, or probabilities of the actions, shape (n_states,
        n_actions); a function of an observation; a fitted agent; or None for all actions alike.
    features : array, callable, transformer or None, default=None
        φ: for discrete states an array or sparse matrix with a row for each; a function of an observation (of a
        model, of the name of a state) that gives a vector; or a transformer as `TileCoding`, which is fitted on
        observations if it is not fitted yet. None is the observation itself where it is a vector (14.22), and an
        indicator of each state where states are discrete: then θ is the table of `V_`.
    n_episodes : int, default=1000
        Number of episodes to learn from.
    discount : float, default=0.99
        Discount γ, from 0 to 1. With 1, a model must have a terminal state that can be reached from every state.
    learning_rate : float or Schedule, default=0.1
        Step size α. Of the order of 1 / |φ(x)|², or less.
    trace_decay : float, default=0.0
        λ.
    traces : {"accumulating", "replacing", "dutch"}, default="accumulating"
        Whether a feature that is met again adds to its trace, or sets it. With "dutch" this is true online TD(λ),
        which learns from each step what λ-returns would teach.
    normalize : bool, default=False
        Whether α is divided by |φ(x)|².
    max_steps : int, default=1000
        The most steps of an episode, after which it is cut off.
    n_steps : int, optional
        The most steps in all.
    warm_start : bool, default=False
        Whether another `fit` goes on from the weights, features, counts and random numbers of the last one.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the random number generator.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
        The weights θ.
    V_ : array of shape (n_states,)
        Values of discrete states, 0 where a model is terminal.
    policy_ : array of shape (n_states,)
        The most probable action of the policy, for discrete states.
    features_ : transformer, callable or None
        The features as they were used, where observations are vectors.
    episode_returns_, episode_lengths_ : arrays of shape (n_episodes,)
        Sum of the rewards and number of steps of each episode.
    n_truncated_ : int
        Number of episodes of this fit that were cut off.
    n_steps_, n_episodes_ : int
        Steps taken and episodes begun, with warm_start by all fits.
    n_actions_ : int
        Number of actions.
    draws_ : array of shape (2,)
        State of the random numbers, of the agent and of the model.
    n_iter_ : int
        Number of passes of the loop.
    history_ : dict
        Of each pass the mean return and length of the episodes, how many were cut off, and the mean |δ| of the TD
        errors.

    Examples
    --------
    >>> # A random walk between two ends, of which the right one pays 1; the true values are x/6.
    >>> import numpy as np
    >>> from tercet.rl import MDP
    >>> P, R = np.zeros((7, 1, 7)), np.zeros((7, 1, 7))
    >>> for x in range(1, 6):
    ...     P[x, 0, [x - 1, x + 1]] = 0.5
    >>> P[0, 0, 0] = P[6, 0, 6] = R[5, 0, 6] = 1
    >>> walk = MDP(P, R, start=3)
    >>> agent = LinearTD(features=lambda x: [x / 6], discount=1.0, learning_rate=0.02, random_state=0).fit(
    ...     walk
    ... )
    >>> agent.coef_.round(1), agent.V_.round(1)
    (array([1.]), array([0. , 0.2, 0.3, 0.5, 0.6, 0.8, 0. ]))
    """

    def __init__(
        self,
        policy: Any = None,
        features: Any = None,
        *,
        n_episodes: Count = 1000,
        discount: Fraction = 0.99,
        learning_rate: Positive | Schedule = 0.1,
        trace_decay: Fraction = 0.0,
        traces: Literal["accumulating", "replacing", "dutch"] = "accumulating",
        normalize: bool = False,
        max_steps: Count = 1000,
        n_steps: Count | None = None,
        warm_start: bool = False,
        random_state: Seed = None,
    ) -> None:
        self.policy = policy
        self.features = features
        self.n_episodes = n_episodes
        self.discount = discount
        self.learning_rate = learning_rate
        self.trace_decay = trace_decay
        self.traces = traces
        self.normalize = normalize
        self.max_steps = max_steps
        self.n_steps = n_steps
        self.warm_start = warm_start
        self.random_state = random_state

    def _episode_kernel(self) -> Any:
        return linear_td_episodes

    def _learn_step(
        self,
        learner: Learner,
        rules: LinearRules,
        stream: Stream,
        x: int,
        a: int,
        r: float,
        u: int,
        b: int,
        terminated: bool,
    ) -> None:
        learn_value(learner, rules, stream, x, r, u, terminated)


@kernel
def linear_td_episodes(
    model: Model,
    learner: Any,
    rules: Any,
    stream: Stream,
    returns: np.ndarray,
    lengths: np.ndarray,
    cut: np.ndarray,
) -> int:
    """Episodes of a policy, from which TD(λ) learns its values; how many have ended."""
    e, x = 0, learner.clock[STATE]
    while e < returns.size and not paused(learner):
        if lengths[e] == 0:
            x = begin_episode(model, learner)
        a = draw_index(stream.chances[x], 0, stream.chances.shape[1], uniform(learner.draws))
        k = next_transition(model, learner, x, a)
        r, u = model.rewards[k], model.successors[k]
        learn_value(learner, rules, stream, x, r, u, model.terminal[u])
        x = u
        before, e = e, recorded(rules, e, r, model.terminal[u], returns, lengths, cut)
        if e > before:
            forget(stream.trace)
    keep_place(learner, x, 0)
    return e


@shared
def learn_value(
    learner: Learner, rules: LinearRules, stream: Stream, x: int, r: float, u: int, terminated: bool
) -> None:
    """z = γλ z + φ(x); θ += α (r + γ θ·φ(x') - θ·φ(x)) z (14.26); a terminal x' has the value 0."""
    phi, theta = stream.phi, learner.weights
    ahead = 0.0 if terminated else action_value(phi, theta, u, 0)
    correct(phi, learner, stream.trace, rules, x, 0, r, action_value(phi, theta, x, 0), ahead)


@method(
    zh="时序差分更新",
    task="reinforcement learning",
    model="V(x) = θ·φ(x)",
    strategy="one step of the semi-gradient descent on (V^π(x) - θ·φ(x))²",
    texts=["watermelon notes ch. 14, eq. 14.26"],
)
def linear_td_update(
    theta: Any,
    features: Any,
    reward: float,
    next_features: Any,
    *,
    discount: float,
    learning_rate: float,
    terminated: bool = False,
) -> np.ndarray:
    """One update of linear TD(0): θ + α (r + γ θ·φ(x') - θ·φ(x)) φ(x).

    Parameters
    ----------
    theta : array of shape (n_features,)
        The weights θ.
    features, next_features : arrays of shape (n_features,)
        Features φ(x) of a state and φ(x') of the next one.
    reward : float
        The reward r of the step.
    discount, learning_rate : float
        γ and α.
    terminated : bool, default=False
        Whether the next state is terminal; its value is 0 then.

    Returns
    -------
    array of shape (n_features,)
        The new weights.

    Examples
    --------
    >>> linear_td_update([0.1, -0.2, 0.3], [1, 2, 0], 1.0, [0, 1, 1], discount=0.9, learning_rate=0.1)
    array([0.239, 0.078, 0.3  ])
    """
    theta, x, u = (np.asarray(values, dtype=np.float64) for values in (theta, features, next_features))
    if not theta.shape == x.shape == u.shape or theta.ndim != 1:
        raise ValueError(
            "theta, features and next_features must have the same shape (n_features,); got "
            f"{theta.shape}, {x.shape} and {u.shape}."
        )
    target = reward if terminated else reward + discount * (theta @ u)
    return theta + learning_rate * (target - theta @ x) * x
