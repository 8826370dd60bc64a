"""Least-squares temporal differences (最小二乘时序差分)."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, LinAlgWarning, solve

from tercet.core.catalog import method
from tercet.core.kernel import inner, kernel, shared
from tercet.core.parameters import Count, Fraction, NonNegative, Seed
from tercet.rl._engine.linear import (
    Features,
    Learner,
    LinearRules,
    Trace,
    add_features,
    fade,
    forget,
    new_trace,
)
from tercet.rl._engine.model import Model, draw_index, uniform
from tercet.rl._engine.tables import (
    STATE,
    STEPS,
    begin_episode,
    keep_place,
    next_transition,
    paused,
    recorded,
)
from tercet.rl.approximation.course import Course
from tercet.rl.approximation.linear_agent import LinearAgent, PolicyValues

MOST_FEATURES = 10_000  # the matrix has a row and a column for each


@method(
    zh="最小二乘时序差分",
    task="reinforcement learning",
    model="V(x) = θ·φ(x)",
    strategy="the fixed point of the projected Bellman equation: Σ z_t (r_t + γ θ·φ(x_t+1) - θ·φ(x_t)) = 0",
    algorithms="A = Σ z (φ(x) - γ φ(x'))ᵀ, b = Σ r z, z = γλ z + φ(x); solve (A/n + ρI) θ = b/n: LSTD(λ)",
    peers=["Bradtke & Barto 1996", "Boyan 2002"],
)
class LSTD(PolicyValues, LinearAgent):
    """Least-squares temporal differences: values of a policy as a linear function of features, without a step size.

    `LinearTD` moves towards the θ at which its updates vanish on average. LSTD adds up the linear equations of this
    point,

        A θ = b,   A = Σ_t z_t (φ(x_t) - γ φ(x_t+1))ᵀ,   b = Σ_t r_t z_t,   z_t = γλ z_t-1 + φ(x_t)

    and solves them, so that it needs far fewer episodes, and cannot diverge. With `trace_decay` λ = 1 and whole
    episodes, θ is the least-squares regression of the returns on the features.

    Parameters
    ----------
    policy : array, callable, agent or None, default=None
        The policy π: for discrete states an action for each, or probabilities of the actions, shape (n_states,
        n_actions); a function of an observation; a fitted agent; or None for all actions alike.
    features : array, callable, transformer or None, default=None
        φ: for discrete states an array or sparse matrix with a row for each; a function of an observation (of
        a model, of the name of a state) that gives a vector; or a transformer as `RadialBasisFeatures`, which
        is fitted on observations if it is not fitted yet. None is the observation itself where it is a
        vector, and an indicator of each state where states are discrete.
    n_episodes : int, default=1000
        Number of episodes to learn from.
    discount : float, default=0.99
        Discount γ, from 0 to 1. With 1, a model must have a terminal state that can be reached from every state.
    trace_decay : float, default=0.0
        λ.
    ridge : float, default=0.0
        ρ, which is added to the diagonal of A/n with n the number of steps. Where A is singular (features that were
        never seen, say) and ρ is 0, θ is the solution of least norm.
    max_steps : int, default=1000
        The most steps of an episode, after which it is cut off.
    n_steps : int, optional
        The most steps in all.
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
        Number of episodes that were cut off.
    n_steps_, n_episodes_, n_actions_ : int
        Number of steps, of episodes begun, and of actions.
    draws_ : array of shape (2,)
        State of the random numbers, of the agent and of the model.
    n_iter_ : int
        Number of passes of the loop.
    history_ : dict
        Of each pass the mean return and length of the episodes, and how many were cut off.

    Examples
    --------
    >>> # A random walk between two ends, of which the right one pays 1; the true values are x/6.
    >>> import numpy as np
    >>> from tercet.rl import MDP
    >>> P, R = np.zeros((7, 1, 7)), np.zeros((7, 1, 7))
    >>> for x in range(1, 6):
    ...     P[x, 0, [x - 1, x + 1]] = 0.5
    >>> P[0, 0, 0] = P[6, 0, 6] = R[5, 0, 6] = 1
    >>> agent = LSTD(features=lambda x: [1, x], discount=1.0, random_state=0).fit(MDP(P, R, start=3))
    >>> agent.V_.round(1)
    array([0. , 0.2, 0.3, 0.5, 0.7, 0.8, 0. ])
    """

    def __init__(
        self,
        policy: Any = None,
        features: Any = None,
        *,
        n_episodes: Count = 1000,
        discount: Fraction = 0.99,
        trace_decay: Fraction = 0.0,
        ridge: NonNegative = 0.0,
        max_steps: Count = 1000,
        n_steps: Count | None = None,
        random_state: Seed = None,
    ) -> None:
        self.policy = policy
        self.features = features
        self.n_episodes = n_episodes
        self.discount = discount
        self.trace_decay = trace_decay
        self.ridge = ridge
        self.max_steps = max_steps
        self.n_steps = n_steps
        self.random_state = random_state

    def _episode_kernel(self) -> Any:
        return lstd_episodes

    def _learn_step(
        self,
        learner: Learner,
        rules: LinearRules,
        stream: Equations,
        x: int,
        a: int,
        r: float,
        u: int,
        b: int,
        terminated: bool,
    ) -> None:
        add_equations(learner, rules, stream, x, r, u, terminated)

    def _stream(self, course: Course) -> Equations:
        n = course.learner.weights.size
        if course.sums is None:  # for all streams
            if n > MOST_FEATURES:
                raise ValueError(
                    f"LSTD: features gives {n} features; the most are {MOST_FEATURES}. Use LinearTD."
                )
            course.sums = np.zeros((n, n)), np.zeros(n)
        return Equations(course.phi, new_trace(n), course.chances, *course.sums)

    def _measures(self, error: float) -> dict[str, Any]:
        return {}

    def _state(self, course: Course) -> Any:
        A, b = course.sums
        return A.copy(), b.copy(), max(int(course.learner.clock[STEPS]), 1)

    def _unpack(self, course: Course, state: Any) -> dict[str, Any]:
        A, b, n = state
        return super()._unpack(course, solved(A / n, b / n, self.ridge))


def solved(A: np.ndarray, b: np.ndarray, ridge: float) -> np.ndarray:
    """The solution of (A + ridge I) θ = b; of least squares and least norm where the matrix is singular.

    Examples
    --------
    >>> solved(np.array([[2.0, 0.0], [0.0, 0.0]]), np.array([1.0, 0.0]), 0.0)
    array([0.5, 0. ])
    """
    M = A + ridge * np.eye(len(A))
    with warnings.catch_warnings():
        warnings.simplefilter("error", LinAlgWarning)
        try:
            return solve(M, b, check_finite=False)
        except (LinAlgError, LinAlgWarning):
            return np.linalg.lstsq(M, b, rcond=None)[0]


class Equations(NamedTuple):
    """The stream of steps of a policy, and the equations A θ = b that all streams add to."""

    phi: Features
    trace: Trace
    chances: np.ndarray
    A: np.ndarray
    b: np.ndarray


@kernel
def lstd_episodes(
    model: Model,
    learner: Any,
    rules: Any,
    stream: Equations,
    returns: np.ndarray,
    lengths: np.ndarray,
    cut: np.ndarray,
) -> int:
    """Episodes of a policy, whose steps are added to the equations; how many have ended."""
    e, x = 0, learner.clock[STATE]
    while e < returns.size and not paused(learner):
        if lengths[e] == 0:
            x = begin_episode(model, learner)
        a = draw_index(stream.chances[x], 0, stream.chances.shape[1], uniform(learner.draws))
        k = next_transition(model, learner, x, a)
        r, u = model.rewards[k], model.successors[k]
        add_equations(learner, rules, stream, x, r, u, model.terminal[u])
        x = u
        before, e = e, recorded(rules, e, r, model.terminal[u], returns, lengths, cut)
        if e > before:
            forget(stream.trace)
    keep_place(learner, x, 0)
    return e


@shared
def add_equations(
    learner: Learner, rules: LinearRules, stream: Equations, x: int, r: float, u: int, terminated: bool
) -> None:
    """z = γλ z + φ(x); A += z (φ(x) - γ φ(x'))ᵀ, b += r z; a terminal x' has no features."""
    learner.clock[STEPS] += 1
    fade(stream.trace, rules.discount * rules.trace_decay)
    add_features(stream.phi, stream.trace, x, 0, 1.0, False)
    for i in range(stream.trace.size[0]):
        j = stream.trace.places[i]
        z = stream.trace.values[j]
        stream.b[j] += r * z
        add_row(stream.phi, stream.A[j], x, z)
        if not terminated:
            add_row(stream.phi, stream.A[j], u, -rules.discount * z)


@inner
def add_row(phi: Features, out: np.ndarray, x: int, factor: float) -> None:
    """out += factor φ(x)."""
    for s in range(phi.starts[x], phi.ends[x]):
        out[phi.columns[s]] += factor * phi.values[s]
