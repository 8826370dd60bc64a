"""The losses under test, and targets that suit each."""

from __future__ import annotations

from tercet import losses as L

MARGIN = [
    L.Hinge(),
    L.SquaredHinge(),
    L.Perceptron(),
    L.ModifiedHuber(),
    L.Logistic(),
    L.Logistic(2),
    L.Exponential(),
]
RESIDUAL = [
    L.Squared(),
    L.Squared(half=True),
    L.Absolute(),
    L.Huber(0.7),
    L.Quantile(0.2),
    L.EpsilonInsensitive(0.3),
    L.SquaredEpsilonInsensitive(0.3),
]
LOG_LINK = [
    L.Poisson(),
    L.Gamma(),
    L.Tweedie(power=1.5),
    L.Tweedie(power=1.1),
    L.Tweedie(power=1),
    L.Tweedie(power=2),
    L.InverseGaussian(),
]
SCALAR = [*MARGIN, *RESIDUAL, L.Binomial(), *LOG_LINK]
CONVEX = [one for one in SCALAR if not isinstance(one, L.InverseGaussian)]


def targets(one, size, rng):
    if one.margin:
        return rng.choice([-1.0, 1.0], size)
    if isinstance(one, L.Binomial):
        return rng.choice([0.0, 1.0], size)
    return rng.gamma(2.0, size=size) + 0.1


def name(one):
    return repr(one)
