"""The solvers of one hyperplane for any loss and any penalty."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tercet.linear_model._penalized.admm import ADMM, factorise
from tercet.linear_model._penalized.loss_traits import has_curvature, has_prox
from tercet.linear_model._penalized.proximal_newton import ProximalNewton
from tercet.linear_model._penalized.quadratic_sweep import PENALTY_CODES
from tercet.losses import Loss
from tercet.penalties import Penalty
from tercet.penalties import penalty as make_penalty

Array = np.ndarray
FIRST_PASSES = 50  # to a start for a penalty that is not convex
MOST = 2000  # features for which a Hessian in every pass is affordable; ADMM factorises one matrix for all passes


class PenaltyChoice(NamedTuple):
    """A penalty of strength 1 by its name and its parameters."""

    name: str | None
    q: float
    l1_ratio: float

    def make(self) -> Penalty:
        options = {"lq": {"q": self.q}, "elasticnet": {"l1_ratio": self.l1_ratio}}.get(self.name or "", {})
        return make_penalty(self.name, **options)

    @property
    def convex(self) -> bool:
        return self.name != "lq" or self.q >= 1


def plane_solvers(
    X: Any,
    targets: list[Array],
    cost: Array,
    loss: Loss,
    penalty: PenaltyChoice,
    *,
    intercept: bool,
    algorithm: str,
    tol: float,
) -> list[list[Any]]:
    """For each y of the targets the solvers of min Ω(w) + sum_i cost_i loss(y_i, x_i·w + b), one for each start.

    Where the penalty is not convex, the starts are zero and the minima with an L1 and with an L2 penalty.
    """
    can = has_curvature(loss) and penalty.name is not None and X.shape[1] <= MOST
    newton = algorithm == "newton" or (algorithm == "auto" and (can or not has_prox(loss)))
    if not newton:
        solve = factorise(X, intercept)
        return [[ADMM(X, y, cost, loss, penalty.make(), solve, tol)] for y in targets]

    def solver(y: Array, chosen: PenaltyChoice) -> ProximalNewton:
        prox = PENALTY_CODES[chosen.name], float(chosen.q), float(chosen.l1_ratio)
        return ProximalNewton(X, y, cost, loss, chosen.make(), prox, intercept, tol)

    found = []
    for y in targets:
        here = [solver(y, penalty)]
        for name in () if penalty.convex else ("l1", "l2"):
            first = solver(y, penalty._replace(name=name))
            for _ in range(FIRST_PASSES):
                if not first.done:
                    first.advance()
            here.append(solver(y, penalty))
            here[-1].start(first.u, first.b)
        found.append(here)
    return found
