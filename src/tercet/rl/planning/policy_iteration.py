"""Policy improvement (策略改进) and policy iteration (策略迭代), the watermelon notes' Algorithm 6."""

from __future__ import annotations

import warnings
from typing import Any, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.parameters import ArrayLike, Count, Fraction, Jobs, NonNegative
from tercet.core.steps import ConvergenceWarning
from tercet.rl._engine.backups import (
    ActionElimination,
    BellmanOperator,
    Chain,
    PolicyOperator,
    WaysToEnd,
    chain_under,
    middle,
    solve_chain,
)
from tercet.rl.mdp import MDP
from tercet.rl.planning.planner import Pass, Planner, rounding, start_values
from tercet.rl.planning.policy_evaluation import action_values
from tercet.rl.policies import action_probabilities, greedy_policy

ENOUGH = 0.02  # share of the last improvement's change at which sweeps of an evaluation end


@method(
    zh="策略迭代",
    task="reinforcement learning",
    model="policy π(x), evaluated by V(x) = Σ_x' P(x' | x, π(x)) (R(x, π(x), x') + γ V(x'))",
    strategy="π'(x) = argmax_a Q(x, a), until π' = π",
    algorithms={
        "howard": "each policy is evaluated exactly, by its linear equations",
        "modified": "each policy is evaluated by some sweeps V = r_π + γ P_π V",
    },
    texts=["watermelon notes ch. 14, Alg 6", "watermelon notes ch. 14, eq. 14.8, 14.9, 14.12"],
    peers=["quantecon.markov.DiscreteDP", "mdptoolbox.mdp.PolicyIteration"],
)
class PolicyIteration(Planner):
    """Policy iteration: evaluate a policy, improve it, and begin again, until it does not change.

    With a discount γ no value ever falls, and the last policy is optimal. With a horizon T and no discount, values
    are the mean reward of T steps, and the text's algorithm looks for a policy whose actions are the best ones for
    the first step if the policy is followed in all later steps. The best policy of T steps depends on the number of
    steps to go: `ValueIteration(horizon=T)` finds it, and its values.

    Parameters
    ----------
    discount : float, optional
        Discount γ, from 0 to 1. By default 0.99 without a horizon, and the mean reward with one. 1 needs a horizon,
        or a terminal state that every state can reach; the result is then the best of the policies that reach one.
    horizon : int, optional
        Number of steps T; by default without end.
    algorithm : {"howard", "modified"}, default="howard"
        Evaluate policies exactly, or by sweeps. Not used with a horizon, where T backups are exact.
    initial_policy : array of shape (n_states,) or (n_states, n_actions), optional
        The first policy; see `action_probabilities`. By default the one of the largest immediate rewards, and with
        discount=1 one that reaches a terminal state. Not used by "modified".
    evaluation_sweeps : int, default=100
        Of "modified": the most sweeps of an evaluation, which ends sooner when it changes little.
    tol : float, default=1e-8
        Of "modified": stop when the residual of an improvement is not above it.
    max_iter : int, default=1000
        The most passes.
    n_jobs : int, optional
        Threads; the result does not depend on it.

    Attributes
    ----------
    V_ : array of shape (n_states,)
        Values of the states.
    Q_ : array of shape (n_states, n_actions)
        Values of the actions; -inf for actions that are not allowed.
    policy_ : array of int of shape (n_states,)
        The best action of each state, of equal ones the first.
    residual_ : float
        Largest change of a value by the last backup V = TV, the Bellman residual of the values before it. Without
        terminal states, half the difference of the largest and the least change: the middle is added to all values.
    error_bound_ : float
        V_ is no further from the optimal values than γ/(1 - γ) times the residual, and the values of `policy_` no
        further than twice that. inf with discount=1, where the residual bounds nothing; 0 with a horizon, for V_ as
        values of `policy_`.
    n_iter_ : int
        Number of passes, each an evaluation and an improvement.
    history_ : dict
        The residual, and the number of states whose action changed, in every pass.

    Examples
    --------
    >>> from tercet.rl import MDP
    >>> P = [[[0.8, 0.2, 0], [0.1, 0.9, 0]], [[0, 0.5, 0.5], [0.6, 0, 0.4]], [[0, 0, 1], [0, 0, 1]]]
    >>> R = [[[1, 2, 0], [0, 3, 0]], [[0, 0, 5], [-1, 0, 8]], [[0, 0, 0], [0, 0, 0]]]
    >>> model = PolicyIteration(discount=0.9, initial_policy=[0, 0, 0]).fit(MDP(P, R))
    >>> model.policy_, model.V_.round(4), model.history_["changed"]
    (array([1, 1, 0]), array([10.1693,  8.0914,  0.    ]), [1, 1, 0])
    """

    def __init__(
        self,
        discount: Fraction | None = None,
        horizon: Count | None = None,
        *,
        algorithm: Literal["howard", "modified"] = "howard",
        initial_policy: ArrayLike = None,
        evaluation_sweeps: Count = 100,
        tol: NonNegative = 1e-8,
        max_iter: Count = 1000,
        n_jobs: Jobs = None,
    ) -> None:
        self.discount = discount
        self.horizon = horizon
        self.algorithm = algorithm
        self.initial_policy = initial_policy
        self.evaluation_sweeps = evaluation_sweeps
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    def _plan(self, mdp: MDP, operator: BellmanOperator) -> None:
        ways = self._ways_to_end(mdp, np.ones(mdp.n_pairs, dtype=bool), "can reach")
        if self.horizon is not None:
            self._improve_steps(mdp, operator)
        elif self.algorithm == "modified":
            self._improve_by_sweeps(mdp, operator, ways)
        else:
            self._improve_exactly(mdp, operator, ways)

    def _first_policy(self, mdp: MDP, operator: BellmanOperator, ways: WaysToEnd | None) -> tuple[Any, Chain]:
        """The first policy's pairs, all -1 if it is stochastic, and its chain."""
        if self.initial_policy is not None:
            chances = action_probabilities(self.initial_policy, mdp)
            taken = chances[mdp.pair_states, mdp.pair_actions] > 0
            self._ways_to_end(mdp, taken, "reaches under initial_policy")
            pairs = np.flatnonzero(taken)
            if pairs.size > mdp.n_states:
                return np.full(mdp.n_states, -1), chain_under(mdp, chances)
        elif ways is not None:
            pairs = ways.search(np.ones(mdp.n_pairs, dtype=bool))
        else:
            pairs = operator.backup(None, *self._weights()).pairs
        return pairs, operator.chain(pairs)

    def _improve_exactly(self, mdp: MDP, operator: BellmanOperator, ways: WaysToEnd | None) -> None:
        """Solve for the values of the policy, improve it, until it stays the same."""
        discount, weight = self._weights()
        V: Any = None
        pairs, chain = self._first_policy(mdp, operator, ways)
        improved = operator.room() if pairs[0] < 0 else chain
        seen: set[int] = set()
        for step in self.steps(self.max_iter, hint="Raise max_iter.", unpack=self._unpack(mdp, operator)):
            V = solve_chain(chain, discount, mdp.terminal, V, self.n_jobs)  # evaluation
            change = operator.backup(V, discount, keep=pairs, chain=improved)  # improvement
            changed, residual = int((change.pairs != pairs).sum()), self._residual(change, mdp)
            step.report(
                Pass(V, change.V, change.pairs, (discount, weight)), residual=residual, changed=changed
            )
            seen.add(hash(pairs.tobytes()))
            pairs, chain = change.pairs, improved
            if step.converged(
                hash(pairs.tobytes()) in seen
            ):  # π' = π, or rounding has exchanged equal actions
                break
            self._refuse_endless(mdp, pairs, ways)
        self._finish(mdp, operator, V, ways)

    def _improve_by_sweeps(self, mdp: MDP, operator: BellmanOperator, ways: WaysToEnd | None) -> None:
        """Improve the policy, bring the values closer to its own by sweeps, until they change little."""
        (discount, weight), ends = self._weights(), bool(mdp.terminal.any())
        V, pairs = start_values(mdp, operator, ways), None
        improvement = ActionElimination(operator, discount)
        hint, unpack = self._hint(), self._unpack(mdp, operator)
        for step in self.steps(self.max_iter, hint=hint, unpack=unpack):
            change = improvement.backup(V)  # which is the first sweep, too
            changed = mdp.n_states if pairs is None else int((change.pairs != pairs).sum())
            shift, residual = middle(change, discount, ends)
            step.report(
                Pass(V, change.V, change.pairs, (discount, weight)), residual=residual, changed=changed
            )
            if step.converged(residual <= max(self.tol, rounding(change.V))):
                break
            V, pairs = change.V, change.pairs
            for _ in range(self.evaluation_sweeps):
                sweep = improvement.policy.sweep(V, discount)  # of the improved policy
                V = sweep.V
                if middle(sweep, discount, ends)[1] <= ENOUGH * residual:
                    break
        self._finish(mdp, operator, change.V + shift, ways)

    def _refuse_endless(self, mdp: MDP, pairs: np.ndarray, ways: WaysToEnd | None) -> None:
        """With discount=1, an improved policy that does not end collects rewards without bound."""
        if ways is not None and not ways.all_end(pairs):
            usable = np.zeros(mdp.n_pairs, dtype=bool)
            usable[pairs] = True
            x = int(np.argmax(ways.search(usable) < 0))
            raise ValueError(
                f"PolicyIteration: with discount=1 the values have no bound: from state {mdp.states[x]!r} on, a "
                "policy collects positive rewards for ever and never ends. Use a discount below 1 or a horizon."
            )

    def _improve_steps(self, mdp: MDP, operator: BellmanOperator) -> None:
        """Alg 6: V_T of the policy from V = 0 on, Q_T from V_{T-1}, improvement; until the policy stays."""
        T, weights = int(self.horizon or 1), self._weights(int(self.horizon or 1))
        pairs, chain = self._first_policy(mdp, operator, None)
        seen: dict[bytes, float] = {}  # Σ V_T of the policies so far
        for step in self.steps(self.max_iter, hint="Raise max_iter.", unpack=self._unpack(mdp, operator)):
            before, V = self._evaluate(chain, T)
            change = operator.backup(before, *weights, keep=pairs)
            changed, residual = int((change.pairs != pairs).sum()), float((change.V - V).max())
            step.report(Pass(before, V, change.pairs, weights), residual=residual, changed=changed)
            if step.converged(changed == 0):
                break
            if pairs[0] >= 0:
                seen[pairs.tobytes()] = float(V.sum())
            pairs = change.pairs
            chain = operator.chain(pairs)
            if step.converged(pairs.tobytes() in seen):
                pairs = np.frombuffer(max(seen, key=lambda policy: seen[policy]), dtype=np.int64)  # (14.8)
                warnings.warn(
                    f"PolicyIteration came back to an earlier policy after {step.count} passes: of these policies "
                    "none is the best one for the first step if it is followed later. The one of the largest "
                    f"values is kept. ValueIteration(horizon={T}) finds the best actions for each number of steps.",
                    ConvergenceWarning,
                    stacklevel=5,
                )
                break
        Q = np.empty(mdp.n_pairs)
        before, self.V_ = self._evaluate(operator.chain(pairs), T)
        self.residual_ = float((operator.backup(before, *weights, Q=Q).V - self.V_).max())
        self.Q_, self.policy_, self.error_bound_ = mdp.table(Q), mdp.pair_actions[pairs], 0.0

    def _evaluate(self, chain: Chain, T: int) -> tuple[np.ndarray | None, np.ndarray]:
        """V_{T-1} and V_T of a policy (Alg 5)."""
        under = PolicyOperator(chain, self.n_jobs)
        before, V = None, under.sweep(None, *self._weights(1)).V
        for t in range(2, T + 1):
            before, V = V, under.sweep(V, *self._weights(t)).V
        return before, V


@method(
    zh="策略改进",
    task="reinforcement learning",
    model="π'(x) = argmax_a Q(x, a)",
    strategy="the policy that is greedy for the values of another one is no worse",
    texts=["watermelon notes ch. 14, eq. 14.12"],
)
def improved_policy(mdp: MDP, V: Any, discount: float = 0.99, *, horizon: int | None = None) -> np.ndarray:
    """Policy improvement: in each state the action of the highest value, the first of equal ones.

    Parameters
    ----------
    mdp : MDP
        The model.
    V : array of shape (n_states,)
        Values of a policy; with a horizon T those of T - 1 steps.
    discount, horizon
        As for `action_values`.

    Returns
    -------
    array of int of shape (n_states,)

    Examples
    --------
    >>> from tercet.rl import MDP
    >>> mdp = MDP([[[0.8, 0.2], [0.1, 0.9]], [[0, 1], [0, 1]]], [[1.2, 2.7], [0.0, 0.0]])
    >>> improved_policy(mdp, [0.0, 0.0], 0.9), improved_policy(mdp, [10.0, 0.0], 0.9)
    (array([1, 0]), array([0, 0]))
    """
    return greedy_policy(action_values(mdp, V, discount, horizon=horizon))
