"""Q-learning with linear action values (线性值函数近似 Q-学习)."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.kernel import kernel, shared
from tercet.core.parameters import Count, Fraction, Positive, Seed
from tercet.rl._engine.linear import (
    Learner,
    LinearRules,
    Stream,
    action_value,
    correct,
    evaluate_actions,
    explore,
    forget,
)
from tercet.rl._engine.model import Model
from tercet.rl._engine.tables import STATE, begin_episode, keep_place, next_transition, paused, recorded
from tercet.rl.approximation.linear_agent import GreedyActions, LinearAgent
from tercet.rl.schedules import Schedule


@method(
    zh="线性值函数近似 Q-学习",
    task="reinforcement learning",
    model="Q(x, a) = θ·φ(x, a); π(x) = argmax_a Q(x, a)",
    strategy="the squared error of Q, with r + γ max_a' Q(x', a') in place of the true value",
    algorithms="θ += α (r + γ max_a' θ·φ(x', a') - θ·φ(x, a)) z, actions ε-greedy; Watkins's traces",
    texts=["watermelon notes ch. 14, Alg 11, 12"],
)
class LinearQLearning(GreedyActions, LinearAgent):
    """Q-learning whose action values are linear in features, Q(x, a) = θ·φ(x, a).

    It learns the values of the greedy policy while another one explores:

        θ += α (r + γ max_a' θ·φ(x', a') - θ·φ(x, a)) φ(x, a)

    Off-policy updates of a function of features can diverge for any step size (Baird's counterexample). The
    fit then warns and keeps the last finite weights; `LinearSarsa` does not have this weakness.

    Parameters
    ----------
    features : array, callable, transformer or None, default=None
        φ: for discrete states an array or sparse matrix with a row for each; a function of an observation (of a
        model, of the name of a state) that gives a vector; or a transformer as `TileCoding`, which is fitted on
        observations if it is not fitted yet. None is the observation itself where it is a vector, and an indicator
        of each state where states are discrete: then θ is the table of `Q_`.
    action_features : {"blocks", "concatenate", "joint"}, default="blocks"
        How features become those of a state and an action. "blocks": each action has weights of its own.
        "concatenate": the text's (x; a), features followed by an indicator of the action. The action then
        adds the same number in all states, so that the best action is the same everywhere: it is here to be
        seen, not to be used. "joint": `features` is a function φ(x, a), or an array of shape (n_states,
        n_actions, n_features).
    n_episodes : int, default=1000
        Number of episodes to learn from.
    discount : float, default=0.99
        Discount γ, from 0 to 1. With 1, a model must have a terminal state that can be reached from every state.
    learning_rate : float or Schedule, default=0.1
        Step size α. Of the order of 1 / |φ(x)|², or less.
    epsilon : float or Schedule, default=0.1
        Probability ε of a random action.
    exploration : {"epsilon-greedy", "softmax"}, default="epsilon-greedy"
        How actions are chosen while learning: the best one, or with probability ε a random one; or by probabilities
        proportional to exp(Q/τ).
    temperature : float or Schedule, default=1.0
        Temperature τ of exploration="softmax".
    trace_decay : float, default=0.0
        λ of Watkins's Q(λ): the features of earlier steps take part with weights (γλ)^k, back to the last
        action that explored.
    traces : {"accumulating", "replacing"}, default="accumulating"
        Whether a feature that is met again adds to its trace, or sets it.
    normalize : bool, default=False
        Whether α is divided by |φ(x, a)|², for tile coding the number of tilings.
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
    coef_ : array of shape (n_actions, n_features), or (n_features,)
        The weights θ: a row for each action with "blocks"; otherwise those of φ(x, a).
    Q_ : array of shape (n_states, n_actions)
        Values of actions of discrete states: 0 where a model is terminal, -inf where it does not allow an action.
    V_, policy_ : arrays of shape (n_states,)
        The value of the best action in each discrete state, and this action.
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
    >>> # A corridor of nine states with a reward of 1 at its right end; two features are enough.
    >>> import numpy as np
    >>> from tercet.rl import MDP
    >>> P, R = np.zeros((9, 2, 9)), np.zeros((9, 2))
    >>> for x in range(8):
    ...     P[x, 0, max(x - 1, 0)] = P[x, 1, x + 1] = 1
    >>> P[8, :, 8] = R[7, 1] = 1
    >>> mdp = MDP(P, R, start=0, actions=["left", "right"])
    >>> agent = LinearQLearning(lambda x: [1, x / 8], n_episodes=200, discount=0.9, random_state=0).fit(mdp)
    >>> agent.policy_[:8], agent.coef_.shape
    (array([1, 1, 1, 1, 1, 1, 1, 1]), (2, 2))
    """

    def __init__(
        self,
        features: Any = None,
        *,
        action_features: Literal["blocks", "concatenate", "joint"] = "blocks",
        n_episodes: Count = 1000,
        discount: Fraction = 0.99,
        learning_rate: Positive | Schedule = 0.1,
        epsilon: Fraction | Schedule = 0.1,
        exploration: Literal["epsilon-greedy", "softmax"] = "epsilon-greedy",
        temperature: Positive | Schedule = 1.0,
        trace_decay: Fraction = 0.0,
        traces: Literal["accumulating", "replacing"] = "accumulating",
        normalize: bool = False,
        max_steps: Count = 1000,
        n_steps: Count | None = None,
        warm_start: bool = False,
        random_state: Seed = None,
    ) -> None:
        self.features = features
        self.action_features = action_features
        self.n_episodes = n_episodes
        self.discount = discount
        self.learning_rate = learning_rate
        self.epsilon = epsilon
        self.exploration = exploration
        self.temperature = temperature
        self.trace_decay = trace_decay
        self.traces = traces
        self.normalize = normalize
        self.max_steps = max_steps
        self.n_steps = n_steps
        self.warm_start = warm_start
        self.random_state = random_state

    def _episode_kernel(self) -> Any:
        return linear_q_learning_episodes

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
        learn(learner, rules, stream, x, a, r, u, terminated)


@kernel
def linear_q_learning_episodes(
    model: Model,
    learner: Any,
    rules: Any,
    stream: Stream,
    returns: np.ndarray,
    lengths: np.ndarray,
    cut: np.ndarray,
) -> int:
    """Episodes of linear Q-learning; how many have ended."""
    e, x = 0, learner.clock[STATE]
    while e < returns.size and not paused(learner):
        if lengths[e] == 0:
            x = begin_episode(model, learner)
        a = explore(stream.phi, learner, rules, x)
        k = next_transition(model, learner, x, a)
        r, u = model.rewards[k], model.successors[k]
        learn(learner, rules, stream, x, a, r, u, model.terminal[u])
        x = u
        before, e = e, recorded(rules, e, r, model.terminal[u], returns, lengths, cut)
        if e > before:
            forget(stream.trace)
    keep_place(learner, x, 0)
    return e


@shared
def learn(
    learner: Learner, rules: LinearRules, stream: Stream, x: int, a: int, r: float, u: int, terminated: bool
) -> None:
    """z = γλ z + φ(x, a); θ += α (r + γ max_a' θ·φ(x', a') - θ·φ(x, a)) z; a terminal x' has the value 0."""
    phi = stream.phi
    ahead = 0.0 if terminated else evaluate_actions(phi, learner, u)
    value = action_value(phi, learner.weights, x, a)
    if rules.trace_decay > 0.0 and value < evaluate_actions(phi, learner, x):
        forget(stream.trace)  # what came before an action that explores has not led to what comes after it
    correct(phi, learner, stream.trace, rules, x, a, r, value, ahead)
