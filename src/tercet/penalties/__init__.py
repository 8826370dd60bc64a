"""Strategies: regularisers with their proximal operators.

A penalty is J(w) times a strength (lambda). Its proximal operator is the minimiser over u of
step J(u) + (u - w)^2 / 2, in closed form or to machine precision.
"""

from __future__ import annotations

from typing import Any

from tercet.penalties.base import Penalty, hard_threshold, soft_threshold, structural_risk
from tercet.penalties.bridge import L0, Lq
from tercet.penalties.norms import L1, L2, ElasticNet, NoPenalty, norm

__all__ = [
    "L0",
    "L1",
    "L2",
    "PENALTIES",
    "ElasticNet",
    "Lq",
    "NoPenalty",
    "Penalty",
    "hard_threshold",
    "norm",
    "penalty",
    "soft_threshold",
    "structural_risk",
]

PENALTIES: dict[str, type[Penalty]] = {
    "none": NoPenalty,
    "l0": L0,
    "l1": L1,
    "l2": L2,
    "lq": Lq,
    "elasticnet": ElasticNet,
}


def penalty(name: str | None, **options: Any) -> Penalty:
    """Make a penalty by its name in :data:`PENALTIES`; None is "none".

    Examples
    --------
    >>> penalty("l1", strength=0.1)
    L1(strength=0.1)
    """
    key = "none" if name is None else name
    if key not in PENALTIES:
        raise ValueError(f"name must be None or one of {sorted(PENALTIES)}, got {name!r}")
    return PENALTIES[key](**options)
