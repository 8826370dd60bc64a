"""Squared error and the posterior: what networks trained by squared error estimate (Pattern Recognition 5.4.6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tercet.core.catalog import method


@dataclass(frozen=True)
class PosteriorError:
    """The expected squared error of a model's outputs, and its two parts.

    Attributes
    ----------
    total : float
        E_a, the expected squared difference of output and target.
    distance : float
        e², the expected squared difference of output and posterior. Only this part depends on the model.
    noise : float
        The rest, Σ P(1 - P) p: the variance of the target given x, and the least total of any model.

    Examples
    --------
    >>> posterior_error([0.5, 0.5], [1.0, 0.0], [0.75, 0.25])
    PosteriorError(total=0.0625, distance=0.0625, noise=0.0)
    """

    total: float
    distance: float
    noise: float


@method(
    zh="均方误差与后验概率",
    task="theory",
    model="outputs f(x), a density p(x) and posteriors P(ω|x)",
    strategy="E_a = e² + ∫ P(1 - P) p dx, e² = ∫ (f - P)² p dx: least for f = P",
    texts=["Pattern Recognition ch. 5, eq. 5-30 to 5-33"],
)
def posterior_error(p: Any, posterior: Any, outputs: Any) -> PosteriorError:
    """Expected squared error of outputs for 0-1 targets, and its distance from the posterior.

    The model with the least mean squared error estimates the posterior, whatever its form: the other part of the
    error does not depend on it.

    Parameters
    ----------
    p : array of shape (n_x,)
        The probability of each x. For a density, its values times the weights of a quadrature: they need not sum to
        1.
    posterior : array of shape (n_x,) or (n_x, n_classes)
        P(ω1 | x) for two classes, or a column for each class.
    outputs : array of the same shape
        The model's outputs f(x) for targets 1 (of the class) and 0.

    Returns
    -------
    PosteriorError

    Examples
    --------
    >>> error = posterior_error([0.2, 0.5, 0.3], [0.9, 0.4, 0.1], [0.8, 0.5, 0.2])
    >>> round(error.total, 6), round(error.distance, 6), round(error.noise, 6)
    (0.175, 0.01, 0.165)
    """
    p, P, f = (np.asarray(values, dtype=float) for values in (p, posterior, outputs))
    if p.ndim != 1 or not p.size or not (np.isfinite(p).all() and (p >= 0).all()):
        raise ValueError(f"p must be numbers of at least 0, one for each x; got {p!r}.")
    if P.ndim not in (1, 2) or P.shape[0] != p.size or f.shape != P.shape:
        raise ValueError(
            f"posterior must have the shape ({p.size},) or ({p.size}, n_classes), and outputs the same; "
            f"got {P.shape} and {f.shape}."
        )
    if not ((P >= 0) & (P <= 1)).all():
        raise ValueError(f"posterior must be probabilities in [0, 1]; got {P.min():g} to {P.max():g}.")
    if not np.isfinite(f).all():
        raise ValueError("outputs must be finite numbers.")
    # Targets are 1 with probability P and 0 with 1 - P, as in (5-31).
    at_each = [P * (f - 1) ** 2 + (1 - P) * f**2, (f - P) ** 2, P * (1 - P)]
    total, distance, noise = (float(p @ error.reshape(p.size, -1).sum(axis=1)) for error in at_each)
    return PosteriorError(total, distance, noise)
