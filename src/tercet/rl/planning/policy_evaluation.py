"""Policy evaluation (策略评估), the watermelon notes' Algorithm 5, and state-action values (状态-动作值函数)."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.fitted_checks import Declarations, Floats
from tercet.core.parameters import ArrayLike, Count, Fraction, Jobs, NonNegative
from tercet.rl._engine.backups import BellmanOperator, PolicyOperator, chain_under, middle, solve_chain
from tercet.rl.mdp import MDP
from tercet.rl.planning.planner import Pass, Planner, rounding
from tercet.rl.policies import action_probabilities


@method(
    zh="策略评估",
    task="reinforcement learning",
    model="V(x) = Σ_a π(x, a) Q(x, a), Q(x, a) = Σ_x' P(x' | x, a) (R(x, a, x') + γ V(x'))",
    strategy="the Bellman equation of the policy; with a horizon the mean reward of T steps",
    algorithms={
        "solve": "the linear equations V = r_π + γ P_π V",
        "iteration": "V_{k+1} = r_π + γ P_π V_k until it changes little",
    },
    texts=["watermelon notes ch. 14, Alg 5", "watermelon notes ch. 14, eq. 14.3, 14.5, 14.6"],
    peers=["quantecon.markov.DiscreteDP.evaluate_policy"],
)
class PolicyEvaluation(Planner):
    """Values of a policy in a known model.

    With a discount γ the values are those of all later rewards, which solve the Bellman equation

        V(x) = Σ_a π(x, a) Σ_x' P(x' | x, a) (R(x, a, x') + γ V(x')).

    With a horizon T and no discount they are the mean reward of T steps (the text's V_T), V_0 = 0:

        V_t(x) = Σ_a π(x, a) Σ_x' P(x' | x, a) (1/t R(x, a, x') + (t - 1)/t V_{t-1}(x')).

    With both they are the discounted sum of T rewards.

    Parameters
    ----------
    policy : array of shape (n_states,) or (n_states, n_actions), optional
        An action for each state, or probabilities of the actions; see `action_probabilities`. By default all
        actions are equally likely.
    discount : float, optional
        Discount γ, from 0 to 1. By default 0.99 without a horizon, and the mean reward with one. 1 needs a horizon,
        or a terminal state that the policy reaches from every state.
    horizon : int, optional
        Number of steps T; by default without end.
    algorithm : {"solve", "iteration"}, default="solve"
        Solve the linear equations, or iterate. With a horizon T backups are exact, whatever the algorithm.
    tol : float, default=1e-8
        Of "iteration": stop when the residual of a pass is not above it.
    max_iter : int, default=10000
        Of "iteration": the most passes.
    n_jobs : int, optional
        Threads; the result does not depend on it.

    Attributes
    ----------
    V_ : array of shape (n_states,)
        Values of the states.
    Q_ : array of shape (n_states, n_actions)
        Values of taking an action, and following the policy from then on; -inf for actions that are not allowed.
    policy_ : array of int of shape (n_states,)
        The most probable action of the policy, which `predict` gives.
    probabilities_ : array of shape (n_states, n_actions)
        The policy that was evaluated.
    residual_ : float
        Largest change of a value by the last backup.
    error_bound_ : float
        The values are no further from the exact ones than γ/(1 - γ) times the residual; with discount=1 the largest
        expected number of steps takes the place of the factor. 0 with a horizon.
    n_iter_ : int
        Number of passes.
    history_ : dict
        The residual in every pass.

    Examples
    --------
    >>> from tercet.rl import MDP
    >>> P = [[[0.8, 0.2, 0], [0.1, 0.9, 0]], [[0, 0.5, 0.5], [0.6, 0, 0.4]], [[0, 0, 1], [0, 0, 1]]]
    >>> R = [[[1, 2, 0], [0, 3, 0]], [[0, 0, 5], [-1, 0, 8]], [[0, 0, 0], [0, 0, 0]]]
    >>> mdp = MDP(P, R)
    >>> model = PolicyEvaluation(discount=0.9).fit(mdp)
    >>> model.V_.round(4), model.Q_.round(4)
    (array([8.4693, 6.2409, 0.    ]), array([[8.4213, 8.5174],
           [5.3084, 7.1734],
           [0.    , 0.    ]]))
    >>> PolicyEvaluation(horizon=2).fit(mdp).V_
    array([2.115  , 1.88625, 0.     ])
    """

    fitted_shapes: ClassVar[Declarations] = {"probabilities_": Floats("states actions", low=0.0)}
    probabilities_: np.ndarray

    def __init__(
        self,
        policy: ArrayLike = None,
        discount: Fraction | None = None,
        horizon: Count | None = None,
        *,
        algorithm: Literal["solve", "iteration"] = "solve",
        tol: NonNegative = 1e-8,
        max_iter: Count = 10_000,
        n_jobs: Jobs = None,
    ) -> None:
        self.policy = policy
        self.discount = discount
        self.horizon = horizon
        self.algorithm = algorithm
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    def _plan(self, mdp: MDP, operator: BellmanOperator) -> None:
        self.probabilities_ = action_probabilities(self.policy, mdp)
        taken = self.probabilities_[mdp.pair_states, mdp.pair_actions] > 0
        self._ways_to_end(mdp, taken, "reaches under the policy")
        under = PolicyOperator(chain_under(mdp, self.probabilities_), self.n_jobs)  # T_π
        unpack = self._unpack(mdp, operator)
        if self.horizon is not None:
            V = self._evaluate_steps(under, unpack)
        elif self.algorithm == "iteration":
            V = self._iterate(mdp, under, unpack)
        else:
            V = self._solve(mdp, under, unpack)
        weights, Q = self._weights(self.horizon or 1), np.empty(mdp.n_pairs)
        operator.backup(V, *weights, Q=Q)
        last = under.sweep(V, *weights)
        self.V_, self.Q_, self.residual_ = last.V, mdp.table(Q), last.residual
        self.policy_ = self.probabilities_.argmax(axis=1)
        self.error_bound_ = self._error_bound(mdp, under)

    def _evaluate_steps(self, under: PolicyOperator, unpack: Any) -> np.ndarray | None:
        """Alg 5: V_{T-1}; one more backup gives V_T, and Q_T."""
        V = None
        for step in self.steps(int(self.horizon or 1), unpack=unpack):
            weights, before = self._weights(step.index + 1), V
            change = under.sweep(before, *weights)
            V = change.V
            step.report(Pass(before, V, change.pairs, weights), residual=change.residual)
        return before

    def _iterate(self, mdp: MDP, under: PolicyOperator, unpack: Any) -> np.ndarray:
        """V = r_π + γ P_π V, until it changes little."""
        V, (discount, _) = np.zeros(mdp.n_states), self._weights()
        for step in self.steps(self.max_iter, hint=self._hint(), unpack=unpack):
            change = under.sweep(V, discount)
            residual = self._residual(change, mdp)
            step.report(Pass(V, change.V, change.pairs, (discount, 1.0)), residual=residual)
            V = change.V
            if step.converged(residual <= max(self.tol, rounding(V))):
                break
        return V + middle(change, discount, bool(mdp.terminal.any()))[0]

    def _solve(self, mdp: MDP, under: PolicyOperator, unpack: Any) -> np.ndarray:
        """The linear equations V = r_π + γ P_π V."""
        discount, _ = self._weights()
        for step in self.steps(1, unpack=unpack):
            V = solve_chain(under.chain, discount, mdp.terminal, None, self.n_jobs)
            change = under.sweep(V, discount)
            step.report(Pass(V, change.V, change.pairs, (discount, 1.0)), residual=change.residual)
        return V

    def _error_bound(self, mdp: MDP, under: PolicyOperator) -> float:
        discount, _ = self._weights()
        if self.horizon is not None:
            return 0.0
        if discount < 1.0:
            return discount / (1.0 - discount) * self.residual_
        chain = under.chain._replace(rewards=np.ones(mdp.n_states))
        return self.residual_ * float(solve_chain(chain, 1.0, mdp.terminal, None, self.n_jobs).max())

    def _actions(self, mdp: MDP, step: Pass) -> np.ndarray:
        return self.probabilities_.argmax(axis=1)


@method(
    zh="状态-动作值函数",
    task="reinforcement learning",
    model="Q(x, a) = Σ_x' P(x' | x, a) (R(x, a, x') + γ V(x'))",
    strategy="the value of one action, and of what comes after it",
    texts=["watermelon notes ch. 14, eq. 14.4, 14.7"],
)
def action_values(mdp: MDP, V: Any, discount: float = 0.99, *, horizon: int | None = None) -> np.ndarray:
    """Values of actions from values of states.

    Parameters
    ----------
    mdp : MDP
        The model.
    V : array of shape (n_states,)
        Values of the states; with a horizon T those of T - 1 steps, V_{T-1}.
    discount : float, default=0.99
        Discount γ; not used with a horizon.
    horizon : int, optional
        Number of steps T of the mean reward, Q_T(x, a) = Σ_x' P(x' | x, a) (1/T R(x, a, x') + (T - 1)/T V(x')).

    Returns
    -------
    array of shape (n_states, n_actions)
        -inf for actions that are not allowed.

    Examples
    --------
    >>> from tercet.rl import MDP
    >>> mdp = MDP([[[0.8, 0.2], [0.1, 0.9]], [[0, 1], [0, 1]]], [[1.2, 2.7], [0.0, 0.0]])
    >>> action_values(mdp, [10.0, 0.0], 0.9)
    array([[8.4, 3.6],
           [0. , 0. ]])
    """
    values = state_values(mdp, V)
    weight, rate = (1.0, float(discount)) if horizon is None else (1.0 / horizon, (horizon - 1) / horizon)
    return mdp.table(weight * mdp.pair_rewards + rate * (mdp.probabilities @ values))


def state_values(mdp: MDP, V: Any) -> np.ndarray:
    """Values of the states as an array of floats, or an error."""
    values = np.asarray(V, dtype=np.float64)
    if values.shape != (mdp.n_states,) or not np.isfinite(values).all():
        raise ValueError(
            f"V must hold a finite number for each of the {mdp.n_states} states; got an array of shape "
            f"{values.shape}."
            if values.shape != (mdp.n_states,)
            else f"V must hold finite numbers; got {values[~np.isfinite(values)][0]}."
        )
    return values
