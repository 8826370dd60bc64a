"""What a loss can do for a solver."""

from __future__ import annotations

import numpy as np

from tercet.losses import Exponential, Loss

TARGET, SCORE = np.ones(1), np.zeros(1)


def has_curvature(loss: Loss) -> bool:
    """Whether the loss has a second derivative that Newton's method can use."""
    if isinstance(loss, Exponential):  # smooth, though with no bound of its second derivative
        return True
    try:
        loss.curvature(TARGET, SCORE)
    except (NotImplementedError, TypeError):
        return False
    return bool(np.isfinite(loss.smoothness))


def has_prox(loss: Loss) -> bool:
    """Whether the loss has a proximal step, as ADMM needs it."""
    try:
        loss.prox(TARGET, SCORE, TARGET)
    except (NotImplementedError, TypeError):
        return False
    return True
