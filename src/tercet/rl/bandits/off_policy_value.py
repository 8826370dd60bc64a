"""The value of a policy from the choices of another one, by inverse propensity scores."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tercet.core.catalog import method
from tercet.rl.bandits.logged_data import checked_rewards


class OffPolicyValue(NamedTuple):
    """Result of `off_policy_value`.

    Attributes
    ----------
    value : float
        Estimated mean reward of the policy.
    standard_error : float
        Standard error of the estimate.
    effective_size : float
        Effective sample size (Σ w)² / Σ w²: how many choices of the policy itself would tell as much.

    Examples
    --------
    >>> off_policy_value([1, 0, 1], [0.5, 0.5, 0.5], [0.5, 0.5, 0.5]).effective_size
    3.0
    """

    value: float
    standard_error: float
    effective_size: float


@method(
    zh="逆倾向得分估计",
    task="reinforcement learning",
    model="V(π) = E_μ[w r], w = π(a | x) / μ(a | x)",
    strategy="weights that make the choices of a logged policy μ count as those of π",
    algorithms={"ips": "V = 1/n Σ w_i r_i", "normalized": "V = Σ w_i r_i / Σ w_i"},
    peers=["obp.ope.InverseProbabilityWeighting", "obp.ope.SelfNormalizedInverseProbabilityWeighting"],
)
def off_policy_value(
    rewards: Any, propensities: Any, target_probabilities: Any, *, normalize: bool = False
) -> OffPolicyValue:
    """Mean reward that a policy would get, from logged choices of another one (inverse propensity scores).

    The estimate is unbiased if the logged policy could choose every arm that the policy takes. Its variance is high
    where the two differ much; `normalize` lowers it, at the price of a small bias.

    Parameters
    ----------
    rewards : array of shape (n_samples,)
        The reward of each logged choice.
    propensities : array of shape (n_samples,)
        The probability μ(a | x) with which the logged policy made that choice, above 0.
    target_probabilities : array of shape (n_samples,)
        The probability π(a | x) with which the policy to evaluate would have made it; 0 or 1 where that is
        deterministic.
    normalize : bool, default=False
        Whether to divide by the sum of the weights in place of n.

    Returns
    -------
    OffPolicyValue

    Examples
    --------
    >>> # Arm 0 gives 1 and arm 1 gives 0; the log is of a policy that chose arm 0 with probability 0.25.
    >>> rewards, propensities = [1, 0, 0, 0], [0.25, 0.75, 0.75, 0.75]
    >>> off_policy_value(rewards, propensities, [1, 0, 0, 0])  # arm 0 always
    OffPolicyValue(value=1.0, standard_error=1.0, effective_size=1.0)
    """
    n = np.size(propensities)
    name = "off_policy_value"
    if not n:
        raise ValueError(f"{name}: propensities is empty; there must be at least one choice.")
    mu = checked_rewards(name, propensities, n, "its items", "propensities")
    pi = checked_rewards(name, target_probabilities, n, "propensities", "target_probabilities")
    r = checked_rewards(name, rewards, n, "propensities")
    if not ((mu > 0) & (mu <= 1)).all():
        raise ValueError(
            f"{name}: propensities must be above 0 and at most 1, the probability of the choice that was made; got "
            f"{mu[~((mu > 0) & (mu <= 1))][0]:g}."
        )
    if not ((pi >= 0) & (pi <= 1)).all():
        raise ValueError(
            f"{name}: target_probabilities must be from 0 to 1; got {pi[~((pi >= 0) & (pi <= 1))][0]:g}."
        )
    w = pi / mu
    if not w.any():
        raise ValueError(
            f"{name}: the policy would have made none of the choices; they tell nothing about it."
        )
    if normalize:
        value = float(w @ r / w.sum())
        error = float(np.sqrt(np.sum(w**2 * (r - value) ** 2)) / w.sum())
    else:
        value = float(np.mean(w * r))
        error = float(np.std(w * r, ddof=1) / np.sqrt(n)) if n > 1 else np.nan
    return OffPolicyValue(value, error, float(w.sum() ** 2 / (w @ w)))
