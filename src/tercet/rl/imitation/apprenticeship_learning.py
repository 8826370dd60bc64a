"""Apprenticeship learning (逆强化学习), the watermelon notes' Algorithm 13."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from scipy.optimize import nnls

from tercet.core.catalog import method
from tercet.core.estimator import generator
from tercet.core.fitted_checks import Declarations, Floats, Indices
from tercet.core.parameters import Count, NonNegative, OpenFraction, Seed
from tercet.core.validation import check_is_fitted
from tercet.rl.imitation.demonstrations import Demonstrations
from tercet.rl.imitation.feature_expectations import as_arrays, discounted_visits, mean_visits
from tercet.rl.imitation.reward_learner import RewardLearner, with_state_rewards
from tercet.rl.mdp import MDP
from tercet.rl.planning.policy_iteration import PolicyIteration
from tercet.rl.policies import action_probabilities

MISSING = 0.1  # share of a discounted sum that may be missing at the end of demonstrations without a warning


class MaxMargin(NamedTuple):
    """Weights of the largest margin.

    Attributes
    ----------
    coef : array of shape (n_features,)
        The weights w, of norm 1 (0 where the margin is 0).
    margin : float
        min_i w·(x̄* - x̄_i), which is the distance of x̄* from the mixtures of the x̄_i.
    mixture_weights : array of shape (n_policies,)
        Weights of the mixture Σ_i λ_i x̄_i that is nearest to x̄*.

    Examples
    --------
    >>> max_margin_weights([1.0, 1.0], [[0.0, 1.0]]).margin
    1.0
    """

    coef: np.ndarray
    margin: float
    mixture_weights: np.ndarray


@method(
    zh="最大间隔奖赏权重",
    task="reinforcement learning",
    model="w* = argmax_w min_i w·(x̄* - x̄_i), ||w|| <= 1",
    strategy="the dual problem: the mixture of the x̄_i nearest to x̄*, a quadratic programme",
    algorithms="active sets for non-negative least squares (Lawson and Hanson)",
    texts=["watermelon notes ch. 14, eq. 14.29"],
)
def max_margin_weights(expert: Any, others: Any) -> MaxMargin:
    """Weights under which an expert is better than other policies by the largest margin.

    The weights maximise min_i w·(x̄* - x̄_i) over ||w|| <= 1. The dual problem is to find the mixture of the
    x̄_i that is nearest to x̄*; w points from there to x̄*, and the distance is the margin.

    Parameters
    ----------
    expert : array of shape (n_features,)
        Feature expectations x̄* of the expert.
    others : array of shape (n_policies, n_features)
        Feature expectations x̄_i of the policies.

    Returns
    -------
    MaxMargin

    Examples
    --------
    >>> found = max_margin_weights([2, 1], [[1, 0], [0, 2]])
    >>> found.coef.round(8), round(found.margin, 8), found.mixture_weights.round(8)
    (array([0.89442719, 0.4472136 ]), 1.34164079, array([0.8, 0.2]))
    """
    expert, others = np.asarray(expert, dtype=np.float64), np.asarray(others, dtype=np.float64)
    if expert.ndim != 1 or others.ndim != 2 or not len(others) or others.shape[1] != expert.size:
        raise ValueError(
            "max_margin_weights: expert must have the shape (n_features,) and others (n_policies, n_features); got "
            f"{expert.shape} and {others.shape}."
        )
    differences = expert - others
    scale = float(np.abs(differences).max())
    if scale == 0.0:
        return MaxMargin(np.zeros(expert.size), 0.0, np.full(len(others), 1 / len(others)))
    # For λ = s μ with Σ μ = 1, the least ||Dᵀλ||² + (Σ λ - 1)² over s grows with ||Dᵀμ||: the best μ is the same.
    stacked = np.vstack([differences.T / scale, np.ones(len(others))])
    weights, _ = nnls(stacked, np.append(np.zeros(expert.size), 1.0))
    weights /= weights.sum()
    nearest = weights @ differences
    distance = float(np.linalg.norm(nearest))
    return MaxMargin(nearest / distance if distance > 0 else nearest, distance, weights)


@method(
    zh="逆强化学习（学徒学习）",
    task="reinforcement learning",
    model="R(x) = w·φ(x); a policy that is best for R",
    strategy="the expert is better than all policies so far by the largest margin: max_w min_i w·(x̄* - x̄_i)",
    algorithms={
        "max-margin": "w by a quadratic programme over all policies so far (Alg 13)",
        "projection": "w from the point nearest to x̄* on the way from the last such point to the newest x̄_i",
    },
    texts=["watermelon notes ch. 14, Alg 13", "watermelon notes ch. 14, eq. 14.27-14.29"],
)
class ApprenticeshipLearning(RewardLearner):
    """Apprenticeship learning: find a reward under which an expert is best, and policies as good as the expert.

    The value of a policy for the reward w·φ(x) is w·x̄^π, with the discounted feature sums x̄^π = E[Σ_t γ^t
    φ(x_t)]. In each pass the weights w separate the expert's x̄* from those of all policies so far by the
    largest margin, and the best policy for the reward w·φ(x) is added to them. If the margin falls to ε, some
    mixture of the policies is worse than the expert by no more than ε, whatever the true w with ||w|| <= 1
    is.

    Parameters
    ----------
    algorithm : {"max-margin", "projection"}, default="max-margin"
        How the weights are found. Projection needs no quadratic programme and more passes.
    discount : float, default=0.99
        Discount γ, between 0 and 1.
    tol : float, default=1e-3
        The loop ends when the margin is at most `tol` times ||x̄*||, or when a new policy reduces it by no
        more: then no mixture of policies comes nearer to x̄*.
    max_iter : int, default=100
        Maximum number of passes.
    n_samples : int, optional
        Number of simulated episodes for each policy's feature sums, as in the text; by default the sums are exact.
    max_steps : int, default=1000
        The most steps of a simulated episode.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the first policy, which is random, and of the simulation.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
        The weights w of the pass whose policy came nearest to x̄*.
    rewards_ : array of shape (n_states,)
        The rewards w·φ(x).
    policy_ : array of int of shape (n_states,)
        The policy that is best for them.
    V_, Q_ : arrays of shape (n_states,) and (n_states, n_actions)
        Its values for these rewards.
    policies_ : array of int of shape (n_policies, n_states)
        All policies, the random one first.
    mixture_weights_ : array of shape (n_policies,)
        Weights of the mixture of policies that is nearest to x̄*; see `draw_policy`.
    margin_ : float
        Distance of that mixture from x̄*.
    feature_expectations_ : array of shape (n_policies, n_features)
        Feature sums x̄ of the policies.
    expert_features_ : array of shape (n_features,)
        Feature sums x̄* of the demonstrations.
    history_ : dict
        Of each pass the margin, and the distance of the new policy's feature sums from x̄*.

    Notes
    -----
    Policies begin in the first states of the demonstrations, in the same shares. Line 6 of the text's
    Algorithm 13 is min over i = 1 ... t.

    References
    ----------
    P. Abbeel and A. Ng, Apprenticeship learning via inverse reinforcement learning (2004).

    Examples
    --------
    >>> # An expert who walks to the right, in a corridor of five cells
    >>> from tercet.rl import grid_world
    >>> world = grid_world("S....", actions=("left", "right"))
    >>> shown = world.simulate([1, 1, 1, 1, 1], max_steps=50, random_state=0)
    >>> model = ApprenticeshipLearning(discount=0.9, random_state=0).fit(world, shown)
    >>> model.policy_
    array([1, 1, 1, 1, 1])
    >>> int(model.rewards_.argmax()), bool(model.margin_ < 0.1)
    (4, True)
    """

    fitted_shapes: ClassVar[Declarations] = {
        "Q_": Floats("states actions"),
        "V_": Floats("states"),
        "policy_": Indices("states", below="actions"),
        "coef_": Floats("features", finite=True),
        "rewards_": Floats("states", finite=True),
        "policies_": Indices("policies states", below="actions"),
        "mixture_weights_": Floats("policies", low=0.0),
        "feature_expectations_": Floats("policies features", finite=True),
        "expert_features_": Floats("features", finite=True),
    }
    Q_: np.ndarray
    V_: np.ndarray
    policies_: np.ndarray
    mixture_weights_: np.ndarray
    margin_: float
    feature_expectations_: np.ndarray
    expert_features_: np.ndarray

    def __init__(
        self,
        algorithm: Literal["max-margin", "projection"] = "max-margin",
        *,
        discount: OpenFraction = 0.99,
        tol: NonNegative = 1e-3,
        max_iter: Count = 100,
        n_samples: Count | None = None,
        max_steps: Count = 1000,
        random_state: Seed = None,
    ) -> None:
        self.algorithm = algorithm
        self.discount = discount
        self.tol = tol
        self.max_iter = max_iter
        self.n_samples = n_samples
        self.max_steps = max_steps
        self.random_state = random_state

    def _learn(self, mdp: MDP, shown: Demonstrations, features: Any) -> None:
        rng = generator(self.random_state)
        self._warn_of_short(shown, mdp)
        start = np.bincount(shown.first_states, minlength=mdp.n_states) / shown.lengths.size
        expert = features.T @ mean_visits(shown, mdp, self.discount)
        slack = self.tol * float(np.linalg.norm(expert))
        chances = np.where(mdp.allowed, rng.random(mdp.allowed.shape), -1.0)
        policies = [chances.argmax(axis=1)]  # Alg 13, line 3: a random policy
        sums = [self._feature_sums(mdp, policies[0], features, start, rng)]
        nearest, shares, best = sums[0], np.ones(1), np.inf
        found: dict[str, Any] = {}

        def unpack(state: tuple[dict[str, Any], int]) -> dict[str, Any]:
            return {**state[0], "policies_": np.array(policies[: state[1]])}

        for step in self.steps(self.max_iter, unpack=unpack, hint="Raise max_iter or tol."):
            if self.algorithm == "max-margin":
                w, margin, _ = max_margin_weights(expert, sums)
            else:
                w, margin = unit(expert - nearest)
            if margin <= slack and found:
                step.report((found, len(policies)), margin=margin, distance=best)
                step.converged(True)
                break
            rewards = features @ w
            plan = PolicyIteration(self.discount, initial_policy=policies[-1])
            plan.fit(with_state_rewards(mdp, rewards, self.discount))
            policies.append(plan.policy_)
            sums.append(self._feature_sums(mdp, plan.policy_, features, start, rng))
            if self.algorithm == "projection":
                nearest, shares = project(expert, nearest, sums[-1], shares)
            distance = float(np.linalg.norm(expert - sums[-1]))
            if distance < best:
                best = distance
                found = {"coef_": w, "rewards_": rewards}
                found |= {name: getattr(plan, name) for name in ("policy_", "Q_", "V_")}
            step.report((found, len(policies)), margin=margin, distance=distance)
            if step.converged(margin - float(w @ (expert - sums[-1])) <= slack):  # no mixture comes nearer
                break
        self.__dict__.update(found)
        self._mix(expert, np.array(sums), np.array(policies), shares)

    def _mix(self, expert: np.ndarray, sums: np.ndarray, policies: np.ndarray, shares: np.ndarray) -> None:
        """The mixture of all policies that is nearest to the expert."""
        if self.algorithm == "max-margin":
            shares = max_margin_weights(expert, sums).mixture_weights
        self.expert_features_, self.feature_expectations_ = expert, sums
        self.policies_, self.mixture_weights_ = policies, shares
        self.margin_ = float(np.linalg.norm(expert - shares @ sums))

    def _feature_sums(
        self, mdp: MDP, policy: np.ndarray, features: Any, start: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        """x̄ of a policy (Alg 13, line 5)."""
        if self.n_samples is None:
            visits = discounted_visits(mdp, action_probabilities(policy, mdp), self.discount, start)
        else:
            episodes = mdp.simulate(
                policy, self.n_samples, max_steps=self.max_steps, start=start, random_state=rng
            )
            visits = mean_visits(as_arrays(episodes), mdp, self.discount)
        return np.asarray(features.T @ visits).ravel()

    def _warn_of_short(self, shown: Demonstrations, mdp: MDP) -> None:
        """Warn of demonstrations that end long before the rest of their discounted sum is small."""
        cut = (shown.ends < 0) | ~mdp.terminal[shown.ends]
        missing = np.where(cut, self.discount ** shown.lengths.astype(float), 0.0)
        if missing.max() > MISSING:
            length = int(np.ceil(np.log(MISSING) / np.log(self.discount)))
            warnings.warn(
                f"{type(self).__name__}: {int((missing > MISSING).sum())} of {missing.size} demonstrations are cut "
                f"off before a terminal state, when up to {missing.max():.0%} of the discounted time is still to "
                f"come; the expert's feature sums lack it. Give demonstrations of {length} steps or more, or a "
                "lower discount.",
                stacklevel=5,
            )

    def draw_policy(self, random_state: Any = None) -> np.ndarray:
        """Draw one of the policies, by the weights of the mixture that performs as well as the expert.

        An agent that draws a policy before each episode has the feature expectations of the mixture.

        Parameters
        ----------
        random_state : int, RandomState, Generator or None, default=None
            Seed of the random number generator.

        Returns
        -------
        array of int of shape (n_states,)
        """
        check_is_fitted(self)
        return self.policies_[generator(random_state).choice(len(self.policies_), p=self.mixture_weights_)]


def unit(v: np.ndarray) -> tuple[np.ndarray, float]:
    """A vector divided by its length, and the length."""
    length = float(np.linalg.norm(v))
    return (v / length if length > 0 else v), length


def project(
    expert: np.ndarray, nearest: np.ndarray, new: np.ndarray, shares: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The point nearest to the expert between the last such point and new feature sums, and its mixture weights."""
    way = new - nearest
    square = float(way @ way)
    s = min(max(float(way @ (expert - nearest)) / square, 0.0), 1.0) if square > 0 else 0.0
    return nearest + s * way, np.append((1.0 - s) * shares, s)
