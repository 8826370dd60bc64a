"""Temporal differences for values in a kernel's space (核值函数近似), the kernelised (14.26)."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.fitted_checks import Declarations, Floats
from tercet.core.parameters import Count, Fraction, Positive, Real, Seed
from tercet.kernels import Kernel
from tercet.rl._engine.linear import Learner, LinearRules, Stream
from tercet.rl.approximation.kernel_dictionary import KERNEL_SHAPES, KernelExpansion, Novelty
from tercet.rl.approximation.linear_agent import LinearAgent, PolicyValues
from tercet.rl.approximation.linear_td import learn_value, linear_td_episodes
from tercet.rl.schedules import Schedule


@method(
    zh="核值函数近似",
    task="reinforcement learning",
    model="V(x) = Σ_i α_i K(x, c_i)",
    strategy="the squared error E[(V^π(x) - V(x))²], with r + γ V(x') in place of V^π(x)",
    algorithms="V += α (r + γ V(x') - V(x)) z, z = γλ z + K(x, ·), projected on the span of the centres: TD(λ)",
    texts=["watermelon notes ch. 14, sec. 14.5"],
    peers=["Engel, Mannor & Meir 2004 (approximate linear dependence)"],
)
class KernelTD(PolicyValues, LinearAgent):
    """Values of a policy as a kernel expansion, V(x) = Σ_i α_i K(x, c_i), by temporal differences.

    The kernelised form of linear TD: θ = Σ α_i φ(c_i), and all that is needed of the features are their inner
    products K(x, x') = φ(x)·φ(x'). After each step V moves along K(x, ·):

        V += α (r + γ V(x') - V(x)) K(x, ·)

    So that the expansion does not grow with every step, K(x, ·) is projected on the span of a dictionary of
    centres, to which an observation is added if it is new. With a linear kernel, this is `LinearTD`.

    Parameters
    ----------
    policy : array, callable, agent or None, default=None
        The policy π: for discrete states an action for each, or probabilities of the actions, shape (n_states,
        n_actions); a function of an observation; a fitted agent; or None for all actions alike.
    kernel : {"rbf", "linear", "poly", "laplacian", "sigmoid"}, Kernel or callable, default="rbf"
        The kernel K.
    features : callable, transformer, array or None, default=None
        What the kernel gets in place of the observation, as for `LinearTD`; a scaler, say, where inputs have
        different units. None is the observation itself, or the number or tuple of numbers that is the name of
        a state.
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
    trace_decay : float, default=0.0
        λ.
    traces : {"accumulating", "dutch"}, default="accumulating"
        How K(x, ·) is added to the trace. With "dutch" this is true online TD(λ), which learns from each step what
        λ-returns would teach.
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
    dual_coef_ : array of shape (n_centers,)
        The weights α.
    kernel_ : Kernel
        The kernel, gamma="scale" resolved.
    V_ : array of shape (n_states,)
        Values of discrete states, 0 where a model is terminal.
    policy_ : array of shape (n_states,)
        The most probable action of the policy, for discrete states.
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
    >>> # A random walk between two ends, of which the right one pays 1; the true values are x/20.
    >>> import numpy as np
    >>> from tercet.rl import MDP
    >>> P, R = np.zeros((21, 1, 21)), np.zeros((21, 1, 21))
    >>> for x in range(1, 20):
    ...     P[x, 0, [x - 1, x + 1]] = 0.5
    >>> P[0, 0, 0] = P[20, 0, 20] = R[19, 0, 20] = 1
    >>> agent = KernelTD(gamma=0.02, discount=1.0, learning_rate=0.02, random_state=0).fit(
    ...     MDP(P, R, start=10)
    ... )
    >>> len(agent.dictionary_), agent.V_[[4, 10, 16]].round(1)
    (9, array([0.2, 0.5, 0.8]))
    """

    fitted_shapes: ClassVar[Declarations] = {**KERNEL_SHAPES, "dual_coef_": Floats("centers*", finite=True)}
    representation = KernelExpansion()
    kernel_: Kernel
    dictionary_: np.ndarray
    dual_coef_: np.ndarray

    def __init__(
        self,
        policy: Any = None,
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
        trace_decay: Fraction = 0.0,
        traces: Literal["accumulating", "dutch"] = "accumulating",
        normalize: bool = False,
        max_steps: Count = 1000,
        n_steps: Count | None = None,
        random_state: Seed = None,
    ) -> None:
        self.policy = policy
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
        self.trace_decay = trace_decay
        self.traces = traces
        self.normalize = normalize
        self.max_steps = max_steps
        self.n_steps = n_steps
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
