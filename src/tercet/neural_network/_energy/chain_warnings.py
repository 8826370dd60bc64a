"""A warning where Gibbs chains disagree."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

FEWEST = 10  # draws of a chain that R-hat says something about


def warn_of_disagreement(model: Any, draws: np.ndarray, what: str, parameter: str) -> None:
    """Warn where R-hat of draws of shape (n_chains, n_samples, d) is above the limit of `tercet.sampling`."""
    if draws.shape[1] < FEWEST or draws.shape[0] < 2:
        return
    from tercet.sampling import Chains

    chains = Chains(draws)
    rhat, limit = chains.rhat("split"), chains.rhat_limit()
    if not (rhat > limit).any():  # NaN where a component never changes
        return
    warnings.warn(
        f"{type(model).__name__}: the Gibbs chains disagree on {what}: R-hat is {np.nanmax(rhat):.3g}, and should "
        f"be at most {limit:.3g}. The draws do not represent the model yet; raise {parameter}.",
        ConvergenceWarning,
        stacklevel=3,
    )
