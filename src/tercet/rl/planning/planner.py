"""What planning methods share: the model, the discount or the horizon, and what is learned."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np

from tercet.core.fitted_checks import Declarations, Floats, Indices
from tercet.core.parallel import one_blas_thread
from tercet.rl._engine.backups import (
    EPS,
    TIE,
    Backup,
    BellmanOperator,
    WaysToEnd,
    middle,
    solve_chain,
    transitions_of,
)
from tercet.rl.agent import Agent
from tercet.rl.environment import GymEnvironment
from tercet.rl.mdp import MDP

DISCOUNT = 0.99  # where neither a discount nor a horizon is given


class Pass(NamedTuple):
    """A pass, for callbacks: the values before and after it, the pairs taken, and the weights of its backup."""

    before: np.ndarray | None
    V: np.ndarray
    pairs: np.ndarray
    weights: tuple[float, float]


class Planner(Agent):
    """An agent that knows the model, from which it computes values and a policy."""

    fitted_shapes: ClassVar[Declarations] = {
        "Q_": Floats("states actions"),
        "V_": Floats("states", finite=True),
        "policy_": Indices("states", below="actions"),
    }
    Q_: np.ndarray
    V_: np.ndarray
    policy_: np.ndarray
    residual_: float
    error_bound_: float

    discount: float | None
    horizon: int | None
    tol: float
    n_jobs: int | None

    def _fit(self, world: MDP | GymEnvironment) -> None:
        mdp = world if isinstance(world, MDP) else MDP.from_gymnasium(world.env)
        self._remember_states(mdp)
        self._remember_actions(world)
        self.__dict__.pop("policies_", None)  # of an earlier fit
        with one_blas_thread():
            self._plan(mdp, BellmanOperator(transitions_of(mdp), self.n_jobs))

    def _plan(self, mdp: MDP, operator: BellmanOperator) -> None:
        """Learn the attributes; `operator` is the model's T."""
        raise NotImplementedError(f"{type(self).__name__} has no _plan(mdp, operator).")

    def _weights(self, t: int = 1) -> tuple[float, float]:
        """Weights of the next state's value and of the reward, with t steps to go where there is a horizon."""
        if self.horizon is not None and self.discount is None:
            return (t - 1) / t, 1.0 / t
        return (DISCOUNT if self.discount is None else float(self.discount)), 1.0

    def _ways_to_end(self, mdp: MDP, usable: np.ndarray, condition: str) -> WaysToEnd | None:
        """Refuse discount=1 unless every state reaches a terminal one by usable pairs; None if it is below 1."""
        if self.horizon is not None or self._weights()[0] < 1.0:
            return None
        ways = WaysToEnd(mdp)
        lost = np.flatnonzero(ways.search(usable) < 0)
        if lost.size:
            raise ValueError(
                f"{type(self).__name__}: discount=1 needs a terminal state that every state {condition}; state "
                f"{mdp.states[lost[0]]!r} does not ({lost.size} of {mdp.n_states} states). Use a discount below 1, "
                "or give a horizon."
            )
        return ways

    def _hint(self) -> str:
        endless = " With discount=1, values have no bound if positive rewards can be collected for ever."
        return f"Raise max_iter or tol.{endless if self._weights()[0] == 1.0 else ''}"

    def _residual(self, change: Backup, mdp: MDP) -> float:
        """What is compared with `tol`: see `middle`."""
        return middle(change, self._weights()[0], bool(mdp.terminal.any()))[1]

    def _finish(self, mdp: MDP, operator: BellmanOperator, V: np.ndarray, ways: WaysToEnd | None) -> None:
        """Learned attributes from values V, by a last backup of all actions."""
        discount, Q = self._weights()[0], np.empty(mdp.n_pairs)
        change = operator.backup(V, discount, Q=Q)
        shift, self.residual_ = middle(change, discount, bool(mdp.terminal.any()))
        self.V_, self.Q_ = change.V + shift, mdp.table(Q + shift)
        self.error_bound_ = discount / (1.0 - discount) * self.residual_ if discount < 1.0 else np.inf
        self.policy_ = mdp.pair_actions[change.pairs if ways is None else ending_pairs(mdp, Q, ways)]

    def _unpack(self, mdp: MDP, operator: BellmanOperator) -> Any:
        """A function that turns a `Pass` into the attributes that callbacks are shown."""

        def unpack(step: Pass) -> dict[str, Any]:
            Q = np.empty(mdp.n_pairs)
            operator.backup(step.before, *step.weights, Q=Q)
            return {"Q_": mdp.table(Q), "V_": step.V.copy(), "policy_": self._actions(mdp, step)}

        return unpack

    def _actions(self, mdp: MDP, step: Pass) -> np.ndarray:
        """The policy after a pass."""
        return mdp.pair_actions[step.pairs]


def rounding(V: np.ndarray) -> float:
    """A residual of values that rounding alone may leave."""
    return 8.0 * EPS * float(max(V.max(), -V.min()))


def start_values(mdp: MDP, operator: BellmanOperator, ways: WaysToEnd | None) -> np.ndarray | None:
    """The values that iteration begins with; None for zeros.

    With discount=1 and rewards of both signs there may be several fixed points, as an agent may stay for ever
    without a reward. Iteration finds the values of the best policy that ends if it begins with values that are no
    higher.
    """
    rewards = mdp.pair_rewards[~mdp.terminal[mdp.pair_states]]
    if ways is None or rewards.min(initial=0.0) >= 0.0 or rewards.max() < 0.0:
        return None
    pairs = ways.search(np.ones(mdp.n_pairs, dtype=bool))
    return solve_chain(operator.chain(pairs), 1.0, mdp.terminal, None, operator.n_jobs)


def ending_pairs(mdp: MDP, Q: np.ndarray, ways: WaysToEnd) -> np.ndarray:
    """The pair of the best action of each state, of equal ones the first, so that the policy ends.

    Where the first of equal actions would go in circles, others that lead to a terminal state are taken.

    Parameters
    ----------
    mdp : MDP
    Q : array of shape (n_pairs,)
        Values of the pairs.
    ways : WaysToEnd
    """
    first = np.searchsorted(mdp.pair_states, np.arange(mdp.n_states))
    best, slack = np.maximum.reduceat(Q, first), TIE * float(np.abs(Q).max())
    while True:
        equal = best[mdp.pair_states] - Q <= slack
        pairs = np.minimum.reduceat(np.where(equal, np.arange(Q.size), Q.size), first)
        if ways.all_end(pairs):
            return pairs
        pairs = ways.search(equal)
        if (pairs >= 0).all():
            return pairs
        slack *= 10.0  # values that are not exact yet
