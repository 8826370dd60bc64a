"""Entropy, divergence and mutual information (Li ch. 5.2, 6.2, 28, app. E; Machine Learning in Depth ch. 6.1).

Functions that begin with a probability table take arrays that sum to 1 (``normalise=True`` divides counts
by their sum); those that take ``labels`` count for themselves. Logarithms are natural unless ``base`` is
given, and 0 log 0 = 0. Divergences are written D(Q || P): q is the distribution that does the weighting.
"""

from __future__ import annotations

from tercet.metrics.information.divergences import (
    cross_entropy,
    js_divergence,
    kl_density,
    kl_dirichlet,
    kl_divergence,
    kl_gaussian,
)
from tercet.metrics.information.entropies import (
    conditional_entropy,
    entropy,
    information_gain,
    information_gain_ratio,
    joint_entropy,
    label_conditional_entropy,
    label_entropy,
    mutual_information,
)

__all__ = [
    "conditional_entropy",
    "cross_entropy",
    "entropy",
    "information_gain",
    "information_gain_ratio",
    "joint_entropy",
    "js_divergence",
    "kl_density",
    "kl_dirichlet",
    "kl_divergence",
    "kl_gaussian",
    "label_conditional_entropy",
    "label_entropy",
    "mutual_information",
]
