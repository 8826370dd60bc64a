"""Strategies: every loss of the texts, once.

A loss is a small frozen object. ``loss(name)`` makes one, :data:`LOSSES` lists them.
"""

from __future__ import annotations

from typing import Any

from tercet.losses.base import Loss, weighted_total
from tercet.losses.deviance import Gamma, InverseGaussian, Poisson, Tweedie
from tercet.losses.likelihood import Binomial, Log, Multinomial
from tercet.losses.margin import (
    Exponential,
    Hinge,
    Logistic,
    ModifiedHuber,
    Perceptron,
    SquaredHinge,
    ZeroOne,
)
from tercet.losses.residual import (
    Absolute,
    EpsilonInsensitive,
    Huber,
    Quantile,
    Squared,
    SquaredEpsilonInsensitive,
)

__all__ = [
    "LOSSES",
    "Absolute",
    "Binomial",
    "EpsilonInsensitive",
    "Exponential",
    "Gamma",
    "Hinge",
    "Huber",
    "InverseGaussian",
    "Log",
    "Logistic",
    "Loss",
    "ModifiedHuber",
    "Multinomial",
    "Perceptron",
    "Poisson",
    "Quantile",
    "Squared",
    "SquaredEpsilonInsensitive",
    "SquaredHinge",
    "Tweedie",
    "ZeroOne",
    "loss",
    "weighted_total",
]

LOSSES: dict[str, type[Loss]] = {
    "zero_one": ZeroOne,
    "squared": Squared,
    "absolute": Absolute,
    "log": Log,
    "hinge": Hinge,
    "squared_hinge": SquaredHinge,
    "perceptron": Perceptron,
    "modified_huber": ModifiedHuber,
    "logistic": Logistic,
    "exponential": Exponential,
    "huber": Huber,
    "quantile": Quantile,
    "epsilon_insensitive": EpsilonInsensitive,
    "squared_epsilon_insensitive": SquaredEpsilonInsensitive,
    "binomial": Binomial,
    "multinomial": Multinomial,
    "poisson": Poisson,
    "gamma": Gamma,
    "inverse_gaussian": InverseGaussian,
    "tweedie": Tweedie,
}


def loss(name: str, **options: Any) -> Loss:
    """Make a loss by its name in :data:`LOSSES`.

    Examples
    --------
    >>> loss("huber", delta=2.0)
    Huber(delta=2.0)
    """
    if name not in LOSSES:
        raise ValueError(f"name must be one of {sorted(LOSSES)}, got {name!r}")
    return LOSSES[name](**options)
