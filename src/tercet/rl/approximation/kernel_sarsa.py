"""Sarsa for action values in a kernel's space (核值函数近似 Sarsa), the kernelised Algorithm 12."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.fitted_checks import Declarations, Floats
from tercet.core.parameters import Count, Fraction, Positive, Real, Seed
from tercet.kernels import Kernel
from tercet.rl._engine.linear import Learner, LinearRules, Stream
from tercet.rl.approximation.kernel_dictionary import KERNEL_SHAPES, KernelExpansion, Novelty
from tercet.rl.approximation.linear_agent import GreedyActions, LinearAgent
from tercet.rl.approximation.linear_sarsa import learn, linear_sarsa_episodes
from tercet.rl.schedules import Schedule


@method(
    zh="核值函数近似 Sarsa",
    task="reinforcement learning",
    model="Q(x, a) = Σ_i α_ai K(x, c_i); π(x) = argmax_a Q(x, a)",
    strategy="the squared error of Q, with r + γ Q(x', a') in place of the true value",
    algorithms={
        "Sarsa": "Q(·, a) += α (r + γ Q(x', a') - Q(x, a)) z, z = γλ z + K(x, ·), in the span of the centres",
        "expected": "the mean over the actions a' of the policy in place of Q(x', a')",
    },
    texts=["watermelon notes ch. 14, sec. 14.5"],
    peers=["Engel, Mannor & Meir 2004 (approximate linear dependence)"],
)
class KernelSarsa(GreedyActions, LinearAgent):
    """Sarsa whose action values are kernel expansions, Q(x, a) = Σ_i α_ai K(x, c_i).

    The kernelised form of linear Sarsa: after each step the values of the action taken move along K(x, ·),

        Q(·, a) += α (r + γ Q(x', a') - Q(x, a)) K(x, ·)

    where K(x, ·) is projected on the span of a dictionary of centres, to which an observation is added if it
    is new.

    Parameters
    ----------
    kernel : {"rbf", "linear", "poly", "laplacian", "sigmoid"}, Kernel or callable, default="rbf"
        The kernel K.
    features : callable, transformer, array or None, default=None
        What the kernel gets in place of the observation, as for `LinearSarsa`; a scaler, say, where inputs
        have different units. None is the observation itself, or the number or tuple of numbers that is the
        name of a state.
    gamma : float, "scale" or "auto", default="scale"
        Parameter of "rbf", "laplacian", "poly" and "sigmoid"; "scale" is 1 / (inputs · variance), of observations.
    degree, coef0 : float, default=3 and 0.0
        Parameters of "poly" and "sigmoid".
    novelty : float, default=0.01
        An observation becomes a centre if the squared distance of K(x, ·) from the span of the centres exceeds this
        part of K(x, x).
    max_centers : int, default=500
        The most centres.
    n_episodes : int, default=1000
        Number of episodes to learn from.
    discount : float, default=0.99
        Discount γ, from 0 to 1. With 1, a model must have a terminal state that can be reached from every state.
    learning_rate : float or Schedule, default=0.1
        Step size α. Of the order of 1 / K(x, x), or less.
    epsilon : float or Schedule, default=0.1
        Probability ε of a random action.
    exploration : {"epsilon-greedy", "softmax"}, default="epsilon-greedy"
        How actions are chosen while learning: the best one, or with probability ε a random one; or by probabilities
        proportional to exp(Q/τ).
    temperature : float or Schedule, default=1.0
        Temperature τ of exploration="softmax".
    expected : bool, default=False
        Expected Sarsa: the mean of Q(x', ·) over the actions of the policy in place of Q(x', a').
    trace_decay : float, default=0.0
        λ: the features of earlier steps take part with weights (γλ)^k.
    traces : {"accumulating", "dutch"}, default="accumulating"
        How K(x, ·) is added to the trace. With "dutch" this is true online Sarsa(λ), which learns from each
        step what λ-returns would teach.
    normalize : bool, default=False
        Whether α is divided by K(x, x).
    max_steps : int, default=1000
        The most steps of an episode, after which it is cut off.
    n_steps : int, optional
        The most steps in all.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the random number generator.

    Attributes
    ----------
    dictionary_ : array of shape (n_centers, n_inputs)
        The centres c.
    dual_coef_ : array of shape (n_actions, n_centers)
        The weights α.
    kernel_ : Kernel
        The kernel, gamma="scale" resolved.
    Q_ : array of shape (n_states, n_actions)
        Values of actions of discrete states: 0 where a model is terminal, -inf where it does not allow an action.
    V_, policy_ : arrays of shape (n_states,)
        The value of the best action in each discrete state, and this action.
    features_ : transformer, callable or None
        The features as they were used, where observations are vectors.
    episode_returns_, episode_lengths_ : arrays of shape (n_episodes,)
        Sum of the rewards and number of steps of each episode.
    n_truncated_ : int
        Number of episodes that were cut off.
    n_steps_, n_episodes_, n_actions_ : int
        Number of steps, of episodes begun, and of actions.
    draws_ : array of shape (2,)
        State of the random numbers, of the agent and of the model.
    n_iter_ : int
        Number of passes of the loop.
    history_ : dict
        Of each pass the mean return and length of the episodes, how many were cut off, and the mean |δ| of the TD
        errors.

    Examples
    --------
    >>> # A corridor of nine states with a reward of 1 at its right end.
    >>> import numpy as np
    >>> from tercet.rl import MDP
    >>> P, R = np.zeros((9, 2, 9)), np.zeros((9, 2))
    >>> for x in range(8):
    ...     P[x, 0, max(x - 1, 0)] = P[x, 1, x + 1] = 1
    >>> P[8, :, 8] = R[7, 1] = 1
    >>> mdp = MDP(P, R, start=0, actions=["left", "right"])
    >>> agent = KernelSarsa(gamma=0.1, n_episodes=200, discount=0.9, random_state=0).fit(mdp)
    >>> agent.policy_[:8], agent.dual_coef_.shape
    (array([1, 1, 1, 1, 1, 1, 1, 1]), (2, 8))
    """

    fitted_shapes: ClassVar[Declarations] = {
        **KERNEL_SHAPES,
        "dual_coef_": Floats("actions centers*", finite=True),
    }
    representation = KernelExpansion()
    kernel_: Kernel
    dictionary_: np.ndarray
    dual_coef_: np.ndarray
    chooses_first = True

    def __init__(
        self,
        kernel: Literal["rbf", "linear", "poly", "polynomial", "laplacian", "sigmoid"] | Kernel | Any = "rbf",
        *,
        features: Any = None,
        gamma: Positive | Literal["scale", "auto"] = "scale",
        degree: Positive = 3,
        coef0: Real = 0.0,
        novelty: Novelty = 0.01,
        max_centers: Count = 500,
        n_episodes: Count = 1000,
        discount: Fraction = 0.99,
        learning_rate: Positive | Schedule = 0.1,
        epsilon: Fraction | Schedule = 0.1,
        exploration: Literal["epsilon-greedy", "softmax"] = "epsilon-greedy",
        temperature: Positive | Schedule = 1.0,
        expected: bool = False,
        trace_decay: Fraction = 0.0,
        traces: Literal["accumulating", "dutch"] = "accumulating",
        normalize: bool = False,
        max_steps: Count = 1000,
        n_steps: Count | None = None,
        random_state: Seed = None,
    ) -> None:
        self.kernel = kernel
        self.features = features
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.novelty = novelty
        self.max_centers = max_centers
        self.n_episodes = n_episodes
        self.discount = discount
        self.learning_rate = learning_rate
        self.epsilon = epsilon
        self.exploration = exploration
        self.temperature = temperature
        self.expected = expected
        self.trace_decay = trace_decay
        self.traces = traces
        self.normalize = normalize
        self.max_steps = max_steps
        self.n_steps = n_steps
        self.random_state = random_state

    def _episode_kernel(self) -> Any:
        return linear_sarsa_episodes

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
        learn(learner, rules, stream, x, a, r, u, b, terminated)
