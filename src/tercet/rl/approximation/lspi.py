"""Least-squares policy iteration (最小二乘策略迭代)."""

from __future__ import annotations

import functools
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import sparse

from tercet.core.catalog import method
from tercet.core.estimator import generator
from tercet.core.parameters import Count, Fraction, NonNegative, Seed
from tercet.rl._engine.linear import BLOCKS, CONCATENATED, JOINT
from tercet.rl._engine.model import new_draws
from tercet.rl.approximation.course import FORMS, FollowedPolicy, feature_values, masked_values
from tercet.rl.approximation.linear_agent import GreedyActions, LinearAgent
from tercet.rl.approximation.lstd import MOST_FEATURES, solved
from tercet.rl.approximation.observations import feature_rows, fitted_features, state_table
from tercet.rl.environment import GymEnvironment
from tercet.rl.mdp import MDP


@method(
    zh="最小二乘策略迭代",
    task="reinforcement learning",
    model="Q(x, a) = θ·φ(x, a); π(x) = argmax_a Q(x, a)",
    strategy="policy iteration; the values of a policy are the fixed point of the projected Bellman equation",
    algorithms="A = Σ φ(x, a) (φ(x, a) - γ φ(x', π(x')))ᵀ, b = Σ r φ(x, a); solve A θ = b; π greedy; again",
    peers=["Lagoudakis & Parr 2003"],
)
class LSPI(GreedyActions, LinearAgent):
    """Least-squares policy iteration: the best policy for a sample of steps, without a step size.

    A sample of steps (x, a, r, x') is taken once, by a policy that tries all actions. Then, as in policy
    iteration, the linear action values Q(x, a) = θ·φ(x, a) of the present policy π are found by least-squares
    temporal differences,

        A θ = b,   A = Σ φ(x, a) (φ(x, a) - γ φ(x', π(x')))ᵀ,   b = Σ r φ(x, a)

    and π becomes the greedy policy for them, until θ does not change any more.

    Parameters
    ----------
    features : array, callable, transformer or None, default=None
        φ: for discrete states an array or sparse matrix with a row for each; a function of an observation (of
        a model, of the name of a state) that gives a vector; or a transformer as `RadialBasisFeatures`, which
        is fitted on observations if it is not fitted yet. None is the observation itself where it is a
        vector, and an indicator of each state where states are discrete.
    action_features : {"blocks", "concatenate", "joint"}, default="blocks"
        How features become those of a state and an action: weights of its own for each action; features followed by
        an indicator of the action (the best action is then the same in all states); or `features` is a function
        φ(x, a), or an array of shape (n_states, n_actions, n_features).
    policy : array, callable, agent or None, default=None
        The policy that takes the sample; None for all actions alike.
    n_episodes : int, default=1000
        Number of episodes of the sample.
    discount : float, default=0.99
        Discount γ, from 0 to 1. With 1, a model must have a terminal state that can be reached from every state.
    ridge : float, default=0.0
        Added to the diagonal of A/n with n the number of steps. Where A is singular and it is 0, θ is the
        solution of least norm.
    max_iter : int, default=50
        The most policies.
    tol : float, default=1e-6
        The iteration stops when no weight changes by more than this part of the largest.
    max_steps : int, default=1000
        The most steps of an episode, after which it is cut off.
    n_steps : int, optional
        The most steps in all.
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
        Sum of the rewards and number of steps of each episode of the sample.
    n_truncated_, n_steps_, n_actions_ : int
        Number of episodes that were cut off, of steps, and of actions.
    n_iter_ : int
        Number of policies.
    history_ : dict
        The largest change of a weight by each policy.

    Examples
    --------
    >>> # A corridor of nine states with a reward of 1 at its right end.
    >>> import numpy as np
    >>> from tercet.rl import MDP
    >>> P, R = np.zeros((9, 2, 9)), np.zeros((9, 2))
    >>> for x in range(8):
    ...     P[x, 0, max(x - 1, 0)] = P[x, 1, x + 1] = 1
    >>> P[8, :, 8] = R[7, 1] = 1
    >>> mdp = MDP(P, R, actions=["left", "right"])
    >>> agent = LSPI(n_episodes=50, discount=0.9, random_state=0).fit(mdp)
    >>> agent.policy_[:8], agent.V_.round(3)[[0, 6, 7]]
    (array([1, 1, 1, 1, 1, 1, 1, 1]), array([0.478, 0.9  , 1.   ]))
    """

    def __init__(
        self,
        features: Any = None,
        *,
        action_features: Literal["blocks", "concatenate", "joint"] = "blocks",
        policy: Any = None,
        n_episodes: Count = 1000,
        discount: Fraction = 0.99,
        ridge: NonNegative = 0.0,
        max_iter: Count = 50,
        tol: NonNegative = 1e-6,
        max_steps: Count = 1000,
        n_steps: Count | None = None,
        random_state: Seed = None,
    ) -> None:
        self.features = features
        self.action_features = action_features
        self.policy = policy
        self.n_episodes = n_episodes
        self.discount = discount
        self.ridge = ridge
        self.max_iter = max_iter
        self.tol = tol
        self.max_steps = max_steps
        self.n_steps = n_steps
        self.random_state = random_state

    def _fit(self, world: MDP | GymEnvironment) -> None:
        self._refuse_endless(world)
        self._remember_states(world)
        self._remember_shape(world)
        rng = generator(self.random_state)
        sample = self._sample(world, rng)
        design = self._design(world, sample, rng)
        n, width = design.now.shape
        if width > MOST_FEATURES:
            raise ValueError(
                f"LSPI: features gives {width} weights; the most are {MOST_FEATURES}. Use LinearSarsa."
            )
        b = np.asarray(design.now.T @ sample.rewards) / n
        theta = np.zeros(width)
        unpack = functools.partial(self._fitted, world, design)
        hint = "Policies may alternate where features tell them apart poorly: raise ridge, n_episodes or max_iter."
        for step in self.steps(self.max_iter, name="policy", unpack=unpack, hint=hint):
            before, best = theta, best_actions(design, theta)
            later = self.discount * design.features_of(best)
            theta = solved((design.now.T @ (design.now - later)).toarray() / n, b, self.ridge)
            change = float(np.abs(theta - before).max())
            step.report(theta, change=change)
            if step.converged(change <= self.tol * np.abs(theta).max()):
                break
        self.__dict__.update(unpack(theta))

    def _sample(self, world: MDP | GymEnvironment, rng: np.random.Generator) -> Sample:
        """Steps of a policy; states are numbers or vectors."""
        followed = FollowedPolicy(self.policy, world)
        found = SampleOfSteps(self.n_episodes, self.n_steps)
        if isinstance(world, MDP):
            found.take_model(world, followed.probabilities, self.max_steps, rng)
        else:
            found.take_environment(world, followed, rng)
        self.episode_returns_ = np.array(found.returns, dtype=np.float64)
        self.episode_lengths_ = np.array(found.lengths, dtype=np.int64)
        self.n_truncated_, self.n_steps_ = found.n_truncated, len(found.rewards)
        states, actions, rewards, after, terminated = found.columns()
        return Sample(states, actions, rewards, after, terminated)

    def _design(self, world: MDP | GymEnvironment, sample: Sample, rng: np.random.Generator) -> Design:
        """Features of the steps, and of all actions in the next states."""
        joint, form, m = self.action_features == "joint", FORMS[self.action_features], int(world.n_actions)
        every = [np.full(len(sample.actions), a) for a in range(m)]
        allowed = np.ones((len(sample.actions), m), dtype=bool)
        table = None
        if world.n_states is not None:
            table = state_table(self.features, world, joint=joint, one_hot=True)
            if isinstance(world, MDP):
                allowed = world.allowed[sample.after]

            def rows(states: np.ndarray, actions: np.ndarray) -> Any:
                return pair_rows(table[states * m + actions if joint else states], actions, m, form)
        else:
            assert isinstance(world, GymEnvironment)
            self.features_ = fitted_features(self.features, world, joint=joint, rng=rng)
            shape, first = self.observation_shape_, world.first_action

            def rows(states: np.ndarray, actions: np.ndarray) -> Any:
                found = feature_rows(self.features_, states, shape, actions + first if joint else None)
                return pair_rows(sparse.csr_array(found), actions, m, form)

        goes_on = sparse.diags_array((~sample.terminated).astype(np.float64), format="csr")
        later = [goes_on @ rows(sample.after, actions) for actions in every]
        return Design(rows(sample.states, sample.actions), later, allowed, table, form)

    def _fitted(self, world: MDP | GymEnvironment, design: Design, theta: np.ndarray) -> dict[str, Any]:
        """Fitted attributes."""
        coef = theta.copy()
        if design.form == BLOCKS:
            coef = np.ascontiguousarray(theta.reshape(-1, world.n_actions).T)
        if design.table is None:
            return {"coef_": coef}
        values = feature_values(design.table, coef, design.form, int(world.n_actions))
        return {"coef_": coef, **self._tables(masked_values(values, world))}


class Sample(NamedTuple):
    """Steps: states and next states are numbers, or rows of vectors."""

    states: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray
    after: np.ndarray
    terminated: np.ndarray


class SampleOfSteps:
    """Steps as they come in, until there are so many episodes or steps."""

    def __init__(self, n_episodes: int, n_steps: int | None) -> None:
        self.n_episodes, self.n_steps = n_episodes, n_steps
        self.states: list[Any] = []
        self.actions: list[int] = []
        self.rewards: list[float] = []
        self.after: list[Any] = []
        self.terminated: list[bool] = []
        self.returns: list[float] = []
        self.lengths: list[int] = []
        self.n_truncated = 0

    @property
    def is_complete(self) -> bool:
        enough = self.n_steps is not None and len(self.rewards) >= self.n_steps
        return enough or len(self.returns) >= self.n_episodes

    def take_model(self, mdp: MDP, policy: np.ndarray, max_steps: int, rng: np.random.Generator) -> None:
        """Episodes in a model."""
        for episode in mdp.simulate(policy, self.n_episodes, max_steps=max_steps, random_state=rng):
            if self.is_complete:
                return
            left = len(episode.rewards) if self.n_steps is None else self.n_steps - len(self.rewards)
            self.states += episode.states[:-1][:left].tolist()
            self.after += episode.states[1:][:left].tolist()
            self.actions += episode.actions[:left].tolist()
            self.rewards += episode.rewards[:left].tolist()
            self.terminated += mdp.terminal[episode.states[1:]][:left].tolist()
            self._end(float(episode.rewards.sum()), len(episode.rewards), episode.terminated)

    def take_environment(
        self, world: GymEnvironment, policy: FollowedPolicy, rng: np.random.Generator
    ) -> None:
        """Episodes in the streams of an environment."""
        now, draws = world.reset(int(rng.integers(2**31))), new_draws(rng)
        totals, lengths = [0.0] * world.n_streams, [0] * world.n_streams
        while not self.is_complete:
            actions = [policy.action(x, draws) for x in now]
            moves = world.step(actions)
            for i in range(world.n_streams):
                if moves.ignored[i] or self.is_complete:
                    continue
                self.states.append(now[i])
                self.actions.append(actions[i])
                self.rewards.append(moves.rewards[i])
                self.after.append(moves.observations[i])
                self.terminated.append(moves.terminated[i])
                totals[i], lengths[i] = totals[i] + moves.rewards[i], lengths[i] + 1
                if moves.terminated[i] or moves.truncated[i]:
                    self._end(totals[i], lengths[i], moves.terminated[i])
                    totals[i], lengths[i] = 0.0, 0
            now = moves.next_observations

    def _end(self, total: float, length: int, terminated: bool) -> None:
        self.returns.append(total)
        self.lengths.append(length)
        self.n_truncated += not terminated

    def columns(self) -> tuple[np.ndarray, ...]:
        """States, actions, rewards, next states, and whether they are terminal."""
        columns = (self.states, self.actions, self.rewards, self.after, self.terminated)
        return tuple(np.array(column) for column in columns)


class Design(NamedTuple):
    """Features of a sample.

    Attributes
    ----------
    now : CSR matrix of shape (n_steps, n_weights)
        φ(x, a).
    later : list of n_actions such matrices
        φ(x', a') of each action a'; 0 where x' is terminal.
    allowed : array of bool of shape (n_steps, n_actions)
        Which actions x' has.
    table : CSR matrix or None
        φ of all states, where they are discrete.
    form : int
    """

    now: Any
    later: list[Any]
    allowed: np.ndarray
    table: Any
    form: int

    def features_of(self, actions: np.ndarray) -> Any:
        """φ(x', a') of one action for each step."""
        parts = [
            sparse.diags_array((actions == a).astype(np.float64), format="csr") @ phi
            for a, phi in enumerate(self.later)
        ]
        return functools.reduce(lambda one, other: one + other, parts)


def best_actions(design: Design, theta: np.ndarray) -> np.ndarray:
    """argmax_a' θ·φ(x', a') of the actions that x' has."""
    values = np.stack([phi @ theta for phi in design.later], axis=1)
    return np.argmax(np.where(design.allowed, values, -np.inf), axis=1)


def pair_rows(phi: Any, actions: np.ndarray, n_actions: int, form: int) -> Any:
    """Rows φ(x) as rows φ(x, a), with weights in the order of `_engine.linear.Features`."""
    if form == JOINT:
        return phi
    if form == CONCATENATED:
        indicator = sparse.csr_array(
            (np.ones(len(actions)), (np.arange(len(actions)), actions)), (len(actions), n_actions)
        )
        return sparse.hstack([phi, indicator], format="csr")
    columns = phi.indices.astype(np.int64) * n_actions + np.repeat(actions, np.diff(phi.indptr))
    return sparse.csr_array((phi.data, columns, phi.indptr), shape=(phi.shape[0], phi.shape[1] * n_actions))
