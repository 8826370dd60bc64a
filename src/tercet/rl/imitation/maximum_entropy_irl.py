"""Maximum-entropy inverse reinforcement learning (最大熵逆强化学习)."""

from __future__ import annotations

import functools
import warnings
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from scipy.special import logsumexp

from tercet.core.catalog import method
from tercet.core.fitted_checks import Declarations, Floats, Indices
from tercet.core.kernel import inner, kernel
from tercet.core.parameters import Count, Fraction, NonNegative, Positive
from tercet.core.rows import read_only
from tercet.core.validation import check_is_fitted
from tercet.optimize import minimize
from tercet.rl._engine.backups import Transitions, transitions_of
from tercet.rl._engine.exponentials import exp_negative
from tercet.rl.imitation.demonstrations import Demonstrations
from tercet.rl.imitation.feature_expectations import (
    discounted_visits,
    mean_visits,
    policy_transitions,
    solve_chain,
)
from tercet.rl.imitation.reward_learner import RewardLearner
from tercet.rl.mdp import MDP
from tercet.rl.schedules import Schedule

MISSING = 0.1  # share of a discounted sum that may be missing at the end of demonstrations without a warning
NEWTON_STEPS = 100  # the most for values without a horizon; some five are needed
EPS = float(np.finfo(np.float64).eps)
SLACK = 1e-9  # share of w·f by which it may exceed V_0 by rounding


class SoftPolicy(NamedTuple):
    """The policy of maximum entropy for a reward.

    Attributes
    ----------
    V : array of shape (horizon + 1, n_states), or (n_states,) without a horizon
        Soft values V_t(x) = log Σ_a exp Q_t(x, a).
    probabilities : array of shape (horizon, n_states, n_actions), or (n_states, n_actions) without a horizon
        Probabilities π_t(a | x) = exp(Q_t(x, a) - V_t(x)) of the actions; in terminal states all alike.
    visits : array of shape (n_states,)
        Expected discounted number of visits of each state.

    Examples
    --------
    >>> mdp = MDP([[[1, 0], [0, 1]], [[1, 0], [0, 1]]], [0.0, 0.0], start=0)  # stay, or go to state 1
    >>> soft_policy(mdp, [0.0, 1.0], horizon=2).probabilities[0, 0].round(4)
    array([0.2689, 0.7311])
    """

    V: np.ndarray
    probabilities: np.ndarray
    visits: np.ndarray


@method(
    zh="最大熵逆强化学习",
    task="reinforcement learning",
    model="P(trajectory) ~ exp(w·f), with its feature sum f; π_t(a | x) = exp(Q_t(x, a) - V_t(x))",
    strategy="maximum likelihood: the policy of largest entropy whose expected features are the expert's",
    algorithms={
        "lbfgs": "L-BFGS; the gradient, expert's less expected features, by a backward and a forward pass",
        "gradient": "gradient ascent",
    },
    texts=["watermelon notes ch. 14, sec. 14.6.2"],
    peers=["imitation.algorithms.mce_irl.MCEIRL"],
)
class MaximumEntropyIRL(RewardLearner):
    """Maximum-entropy inverse reinforcement learning: a reward under which demonstrations are most probable.

    The expert is assumed to prefer good trajectories, but not only the best one: in a deterministic model without
    discount, a trajectory with the feature sum f has a probability proportional to exp(w·f). In general actions
    have the probabilities

        π_t(a | x) = exp(Q_t(x, a) - V_t(x)),  V_t(x) = log Σ_a exp Q_t(x, a),
        Q_t(x, a) = w·φ(x) + γ Σ_x' P(x' | x, a) V_{t+1}(x')

    A backward pass computes V, a forward pass the expected visits of the states. The log-likelihood of w is
    concave, and its gradient is the difference of the expert's mean feature sum and the expected one.

    Parameters
    ----------
    horizon : int, optional
        Number of steps of an episode that does not end before. By default that of the longest demonstration,
        or without end where `discount` is below 1.
    discount : float, default=1.0
        Discount γ, from 0 to 1.
    solver : {"lbfgs", "gradient"}, default="lbfgs"
        Optimisation algorithm.
    learning_rate : float or Schedule, default=0.1
        Step size of gradient ascent.
    l2 : float, default=1.0
        Strength of the penalty l2/2 ||w||² on the log-likelihood of all demonstrations. With 0 the expected
        features are those of the expert, if a policy has them. Where transitions are random and there are about as
        many features as states, there may be none; and for an expert whose actions are certain the weights grow
        until `tol` is met.
    tol : float, default=1e-4
        Largest difference between features of the expert and expected features (less the penalty's gradient, for
        one demonstration) at which the loop ends.
    max_iter : int, default=1000
        Maximum number of passes.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
        The weights w.
    rewards_ : array of shape (n_states,)
        The rewards w·φ(x).
    action_probabilities_ : array of shape (n_states, n_actions)
        Expected shares of the actions in each state. Without a horizon these are the probabilities π(a | x);
        with one, where π_t changes with the time that is left, its mean over the expected visits of the
        state.
    policy_ : array of int of shape (n_states,)
        The most probable actions.
    V_, Q_ : arrays of shape (n_states,) and (n_states, n_actions)
        Soft values V_0 and Q_0, of the first step; -inf for actions that are not allowed.
    visits_ : array of shape (n_states,)
        Expected discounted number of visits of each state.
    expected_features_, expert_features_ : arrays of shape (n_features,)
        Feature sum that the policy has in expectation, and mean feature sum of the demonstrations.
    log_likelihood_ : float
        The value of the objective, w·x̄* - V_0 of the first states: with discount=1 in a deterministic model the
        mean log-probability of a demonstration, given its first state. Above 0, no policy has the features x̄*.
    horizon_ : int or None
        Steps of an episode; None without a limit.

    Notes
    -----
    Where transitions are random this is the maximum causal entropy method of Ziebart's thesis. A distribution of
    trajectories proportional to exp(w·f) would then be that of an agent who can choose the outcomes.

    References
    ----------
    B. D. Ziebart, A. Maas, J. A. Bagnell and A. K. Dey, Maximum entropy inverse reinforcement learning (2008).
    B. D. Ziebart, Modeling purposeful adaptive behavior with the principle of maximum causal entropy (2010).

    Examples
    --------
    >>> from tercet.rl import grid_world
    >>> world = grid_world("S....", actions=("left", "right"))
    >>> shown = [
    ...     [(0, "right"), (1, "right"), (2, "right"), (3, "right"), (4, "right"), (4, "left")],
    ...     [(0, "right"), (1, "right"), (2, "left"), (1, "right"), (2, "right"), (3, "right")],
    ... ]
    >>> model = MaximumEntropyIRL().fit(world, shown)
    >>> model.rewards_.round(1), model.policy_
    (array([-0.9, -0.1,  0.3,  0. ,  0.6]), array([1, 1, 1, 1, 1]))
    """

    fitted_shapes: ClassVar[Declarations] = {
        "Q_": Floats("states actions"),
        "V_": Floats("states"),
        "policy_": Indices("states", below="actions"),
        "action_probabilities_": Floats("states actions", low=0.0),
        "coef_": Floats("features", finite=True),
        "rewards_": Floats("states", finite=True),
        "visits_": Floats("states", low=0.0),
        "expected_features_": Floats("features", finite=True),
        "expert_features_": Floats("features", finite=True),
    }
    Q_: np.ndarray
    V_: np.ndarray
    action_probabilities_: np.ndarray
    visits_: np.ndarray
    expected_features_: np.ndarray
    expert_features_: np.ndarray
    log_likelihood_: float
    horizon_: int | None

    def __init__(
        self,
        horizon: Count | None = None,
        *,
        discount: Fraction = 1.0,
        solver: Literal["lbfgs", "gradient"] = "lbfgs",
        learning_rate: Positive | Schedule = 0.1,
        l2: NonNegative = 1.0,
        tol: Positive = 1e-4,
        max_iter: Count = 1000,
    ) -> None:
        self.horizon = horizon
        self.discount = discount
        self.solver = solver
        self.learning_rate = learning_rate
        self.l2 = l2
        self.tol = tol
        self.max_iter = max_iter

    def _learn(self, mdp: MDP, shown: Demonstrations, features: Any) -> None:
        horizon = self._length(shown, mdp)
        start = np.bincount(shown.first_states, minlength=mdp.n_states) / shown.lengths.size
        likelihood = Likelihood(
            mdp, features, mean_visits(shown, mdp, self.discount), start, self.discount, horizon
        )
        negative = functools.partial(self._penalised, likelihood, float(self.l2) / shown.lengths.size)
        w = np.zeros(features.shape[1])
        loop = functools.partial(self.steps, unpack=likelihood.attributes, hint="Raise l2, tol or max_iter.")
        if self.solver == "lbfgs":
            w = minimize(
                negative, w, jac=True, method="lbfgs", tol=self.tol, max_iter=self.max_iter, steps=loop
            ).x
        else:
            rate = self.learning_rate
            for step in loop(self.max_iter):
                value, downwards = negative(w)
                difference = float(np.abs(downwards).max())
                if difference > self.tol:
                    w = w - (rate(step.count) if isinstance(rate, Schedule) else rate) * downwards
                step.report(w, fun=value, grad_norm=difference)
                if step.converged(difference <= self.tol):
                    break
        self.__dict__.update(likelihood.attributes(w))
        self.horizon_ = horizon

    def _penalised(self, likelihood: Likelihood, l2: float, w: np.ndarray) -> tuple[float, np.ndarray]:
        """The negative log-likelihood of a demonstration, with the penalty's share, and its gradient."""
        value, gradient = likelihood(w)
        # Were x̄* the features of a policy, V_0 would be at least w·x̄*.
        if l2 == 0.0 and value > SLACK * abs(w @ likelihood.expert):
            raise ValueError(
                f"{type(self).__name__}: with l2=0 the weights grow without limit: no policy of the model has the "
                "mean features of the demonstrations. Set l2 above 0."
            )
        return 0.5 * l2 * float(w @ w) - value, l2 * w - gradient

    def _length(self, shown: Demonstrations, mdp: MDP) -> int | None:
        """The horizon, which demonstrations must not exceed."""
        longest = int(shown.lengths.max())
        if self.horizon is None:
            horizon = longest if self.discount == 1 else None
        else:
            horizon = self.horizon
            if longest > horizon:
                raise ValueError(
                    f"{type(self).__name__}: horizon is {horizon}, and a demonstration has {longest} steps."
                )
        cut = ((shown.ends < 0) | ~mdp.terminal[shown.ends]) & (shown.lengths < (horizon or np.inf))
        missing = self.discount ** shown.lengths[cut].astype(float)
        if cut.any() and missing.max() > MISSING:
            warnings.warn(
                f"{type(self).__name__}: {int((missing > MISSING).sum())} of {cut.size} demonstrations end before "
                f"{'a terminal state' if horizon is None else 'the horizon or a terminal state'}; the features of "
                "their missing steps count as 0. Give longer demonstrations, or all of the same length.",
                stacklevel=5,
            )
        return horizon

    def predict_proba(self, observations: Any) -> np.ndarray:
        """Expected shares of the actions.

        Parameters
        ----------
        observations : list or array of states
            Numbers of states or their names.

        Returns
        -------
        array of shape (n_observations, n_actions)
        """
        check_is_fitted(self)
        return self.action_probabilities_[[self._state_number(one) for one in observations]]


class Likelihood:
    """Mean log-likelihood of demonstrations as a function of the weights, with its gradient.

    Parameters
    ----------
    mdp : MDP
    features : array or CSR matrix of shape (n_states, n_features)
    visits : array of shape (n_states,)
        Mean discounted number of visits of each state in the demonstrations.
    start : array of shape (n_states,)
        Shares of their first states.
    discount : float
    horizon : int or None
    """

    def __init__(
        self,
        mdp: MDP,
        features: Any,
        visits: np.ndarray,
        start: np.ndarray,
        discount: float,
        horizon: int | None,
    ) -> None:
        self.mdp, self.features, self.start = mdp, features, start
        self.expert = np.asarray(features.T @ visits).ravel()
        self.passes = Passes(mdp, discount, horizon)

    def __call__(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        rewards = self.features @ w
        V = self.passes.backward(rewards)
        visits, _ = self.passes.forward(self.start)
        return float(w @ self.expert - self.start @ V[0]), self.expert - self.features.T @ visits

    def attributes(self, w: np.ndarray) -> dict[str, Any]:
        """Fitted attributes for some weights."""
        mdp, rewards = self.mdp, self.features @ w
        V = self.passes.backward(rewards)
        visits, taken = self.passes.forward(self.start)
        total = np.where(mdp.terminal, 0.0, visits)[:, None]
        chances = np.where(total > 0, mdp.table(taken, 0.0), self.passes.probabilities(0))
        chances /= chances.sum(axis=1, keepdims=True)
        later = V[min(1, len(V) - 1)]
        Q = mdp.table(rewards[mdp.pair_states] + self.passes.discount * (mdp.probabilities @ later))
        Q[mdp.terminal] = np.where(mdp.allowed, rewards[:, None], -np.inf)[mdp.terminal]
        return {
            "coef_": w,
            "rewards_": rewards,
            "action_probabilities_": chances,
            "policy_": chances.argmax(axis=1),
            "V_": V[0].copy(),
            "Q_": Q,
            "visits_": visits,
            "expected_features_": np.asarray(self.features.T @ visits).ravel(),
            "expert_features_": self.expert,
            "log_likelihood_": float(w @ self.expert - self.start @ V[0]),
        }


class Passes:
    """The backward and the forward pass in a model: soft values, and expected visits.

    Parameters
    ----------
    mdp : MDP
    discount : float
    horizon : int or None
        Without one, values do not depend on time, and V has a single row.
    """

    def __init__(self, mdp: MDP, discount: float, horizon: int | None) -> None:
        self.mdp, self.discount, self.horizon = mdp, float(discount), horizon
        self.model, self.terminal = transitions_of(mdp), read_only(mdp.terminal)
        self._V = np.zeros((1 if horizon is None else horizon + 1, mdp.n_states))
        self._choices = np.empty((horizon or 0, mdp.n_pairs))  # π_t of each pair

    def backward(self, rewards: np.ndarray) -> np.ndarray:
        """Soft values V_t(x), shape (horizon + 1, n_states), or (1, n_states)."""
        if self.horizon is None:
            self._V[0] = self._settle(rewards)
        else:
            arguments = self.model, self.terminal, read_only(rewards), self.discount
            soft_values(*arguments, self._V, self._choices, self._choices.view(np.int64))
        return self._V

    def _settle(self, rewards: np.ndarray) -> np.ndarray:
        """The fixed point of V = w·φ + log Σ_a exp(γ Σ P V), by Newton's method.

        A Newton step gives the values of the present soft policy, rewards and entropies: it is policy iteration.
        """
        mdp, before, V = self.mdp, np.inf, np.zeros(self.mdp.n_states)
        for _ in range(NEWTON_STEPS):
            q = mdp.table(self.discount * (mdp.probabilities @ V))
            values = logsumexp(q, axis=1)
            new = np.where(mdp.terminal, rewards, rewards + values)
            residual = float(np.abs(new - V).max())
            stalled = residual >= 0.5 * before and residual < 1e-6  # by rounding: else it falls quadratically
            if stalled or residual <= 8 * EPS * float(np.abs(new).max()):
                break
            before = residual
            chances = np.exp(q - values[:, None])
            entropy = -(chances * np.where(chances > 0, q - values[:, None], 0.0)).sum(axis=1)
            gains = np.where(mdp.terminal, rewards, rewards + entropy)
            V = solve_chain(policy_transitions(mdp, chances), self.discount, gains)
        return new

    def forward(self, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Expected discounted number of visits of each state, and of each of its pairs, after the backward pass."""
        mdp = self.mdp
        if self.horizon is None:
            chances = self.probabilities(0)
            visits = discounted_visits(mdp, chances, self.discount, start)
            return visits, visits[mdp.pair_states] * chances[mdp.pair_states, mdp.pair_actions]
        visits, taken = np.zeros(mdp.n_states), np.zeros(mdp.n_pairs)
        choices = read_only(self._choices)
        expected_visits(self.model, self.terminal, self.discount, choices, read_only(start), visits, taken)
        return visits, taken

    def probabilities(self, t: int) -> np.ndarray:
        """π_t(a | x), shape (n_states, n_actions), after the backward pass; uniform in terminal states."""
        mdp = self.mdp
        if self.horizon is None:
            q = mdp.table(self.discount * (mdp.probabilities @ self._V[0]))
            chances = np.exp(q - q.max(axis=1, keepdims=True))
        else:
            chances = mdp.table(self._choices[t], 0.0)
        chances[mdp.terminal] = mdp.allowed[mdp.terminal]
        return chances / chances.sum(axis=1, keepdims=True)


@method(
    zh="最大熵策略（软值迭代）",
    task="reinforcement learning",
    model="π_t(a | x) = exp(Q_t(x, a) - V_t(x)), V_t(x) = log Σ_a exp Q_t(x, a)",
    strategy="the largest expected reward plus entropy",
    algorithms="a backward pass for the values, a forward pass for the visits",
    peers=["imitation.algorithms.mce_irl.mce_partition_fh"],
)
def soft_policy(
    mdp: MDP, rewards: Any, *, horizon: int | None = None, discount: float = 1.0, start: Any = None
) -> SoftPolicy:
    """Policy of maximum entropy for rewards of the states, with its values and expected visits.

    Parameters
    ----------
    mdp : MDP
        The model; its own rewards do not matter.
    rewards : array of shape (n_states,)
        Reward of each state in which an action is taken, and of each terminal state that is reached.
    horizon : int, optional
        Number of steps; needed with a discount of 1.
    discount : float, default=1.0
        Discount γ, from 0 to 1.
    start : array of shape (n_states,) or state, optional
        Distribution of the first state; by default the model's own.

    Returns
    -------
    SoftPolicy

    Examples
    --------
    >>> mdp = MDP([[[1, 0], [0, 1]], [[1, 0], [0, 1]]], [0.0, 0.0], start=0)  # stay, or go to state 1
    >>> soft = soft_policy(mdp, [0.0, 1.0], discount=0.5)
    >>> soft.probabilities.round(4), soft.visits.round(4)
    (array([[0.3775, 0.6225],
           [0.3775, 0.6225]]), array([1.3775, 0.6225]))
    """
    rewards = np.asarray(rewards, dtype=np.float64)
    if rewards.shape != (mdp.n_states,) or not np.isfinite(rewards).all():
        raise ValueError(
            f"rewards must be {mdp.n_states} finite numbers, one for each state; got {rewards.shape}."
        )
    if not 0 <= discount <= 1 or (horizon is None and discount == 1):
        raise ValueError(f"discount must be in [0, 1), or 1 with a horizon; got {discount!r}.")
    if horizon is not None and horizon < 1:
        raise ValueError(f"horizon must be at least 1; got {horizon!r}.")
    passes = Passes(mdp, discount, horizon)
    V = passes.backward(rewards)
    visits, _ = passes.forward(mdp.start if start is None else mdp._distribution(start))
    if horizon is None:
        return SoftPolicy(V[0], passes.probabilities(0), visits)
    return SoftPolicy(V, np.array([passes.probabilities(t) for t in range(horizon)]), visits)


@inner
def expected_value(model: Transitions, pair: int, V: np.ndarray) -> float:
    """Σ_x' P(x' | x, a) V(x') of a pair."""
    total = 0.0
    for k in range(model.indptr[pair], model.indptr[pair + 1]):
        total += model.probabilities[k] * V[np.uint64(model.successors[k])]
    return total


@kernel
def soft_values(
    model: Transitions,
    terminal: np.ndarray,
    rewards: np.ndarray,
    discount: float,
    V: np.ndarray,
    choices: np.ndarray,
    bits: np.ndarray,
) -> None:
    """Backward pass: V_t(x), and the probabilities of the pairs (horizon, n_pairs), for t = horizon ... 0.

    After the last step only terminal states have a value; `bits` is the memory of `choices` as integers.
    """
    n, horizon = terminal.size, choices.shape[0]
    q = np.empty(choices.shape[1])
    for x in range(n):
        V[horizon, x] = rewards[x] if terminal[x] else 0.0
    for t in range(horizon - 1, -1, -1):
        for pair in range(q.size):
            q[pair] = discount * expected_value(model, pair, V[t + 1])
        for x in range(n):
            largest = -np.inf
            for pair in range(model.first[x], model.first[x + 1]):
                largest = max(largest, q[pair])
            for pair in range(model.first[x], model.first[x + 1]):
                q[pair] -= largest
            V[t, x] = rewards[x] + (0.0 if terminal[x] else largest)
        exp_negative(q, choices[t], bits[t])
        for x in range(n):
            total = 0.0
            for pair in range(model.first[x], model.first[x + 1]):
                total += choices[t, pair]
            for pair in range(model.first[x], model.first[x + 1]):
                choices[t, pair] /= total
            if not terminal[x]:
                V[t, x] += np.log(total)


@kernel
def expected_visits(
    model: Transitions,
    terminal: np.ndarray,
    discount: float,
    choices: np.ndarray,
    start: np.ndarray,
    visits: np.ndarray,
    taken: np.ndarray,
) -> None:
    """Forward pass: Σ_t γ^t P(x_t = x), and of pairs. A terminal state counts once, another last state does not."""
    n, weight = terminal.size, 1.0
    now, later = start.copy(), np.zeros(n)
    for t in range(choices.shape[0]):
        later[:] = 0.0
        for x in range(n):
            visits[x] += weight * now[x]
            if now[x] > 0.0 and not terminal[x]:
                for pair in range(model.first[x], model.first[x + 1]):
                    share = now[x] * choices[t, pair]
                    taken[pair] += weight * share
                    for k in range(model.indptr[pair], model.indptr[pair + 1]):
                        later[np.uint64(model.successors[k])] += share * model.probabilities[k]
        now[:] = later
        weight *= discount
    for x in range(n):
        if terminal[x]:
            visits[x] += weight * now[x]
