"""Divergences between distributions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import quad
from scipy.special import entr, gammaln, psi, rel_entr

from tercet.core.catalog import method
from tercet.metrics.information.entropies import distribution, unit


@method(
    zh="交叉熵",
    task="information",
    model="-Σ q log p",
    texts=["Li app. F, eq. F.3", "Li ch. 23"],
    peers=["sklearn.metrics.log_loss"],
)
def cross_entropy(
    q: ArrayLike, p: ArrayLike, *, base: float | None = None, axis: int = -1, normalise: bool = False
) -> np.ndarray:
    """Cross-entropy -sum q log p, infinite where p is 0 and q is not.

    Examples
    --------
    >>> cross_entropy([0.0, 1.0, 0.0], [0.1, 0.7, 0.2]).round(6)
    np.float64(0.356675)
    """
    q, p = distribution("q", q, axis, normalise), distribution("p", p, axis, normalise)
    return (entr(q) + rel_entr(q, p)).sum(axis=axis) / unit(base)


@method(
    zh="KL 散度",
    task="information",
    model="D(Q ‖ P) = Σ q log(q / p)",
    texts=["Li app. E, eq. E.1, E.3"],
    peers=["scipy.stats.entropy"],
)
def kl_divergence(
    q: ArrayLike,
    p: ArrayLike,
    *,
    base: float | None = None,
    axis: int = -1,
    normalise: bool = False,
    log: bool = False,
) -> np.ndarray:
    """KL divergence D(Q || P) = sum q log(q / p).

    Never negative, 0 only where both are equal, infinite where p is 0 and q is not; not symmetric.
    With ``log=True`` the inputs hold log-probabilities, however small.

    Examples
    --------
    >>> kl_divergence([0.5, 0.5], [0.9, 0.1]).round(6)
    np.float64(0.510826)
    """
    if not log:
        q, p = distribution("q", q, axis, normalise), distribution("p", p, axis, normalise)
        terms = rel_entr(q, p)
    else:
        log_q, log_p = np.asarray(q, dtype=float), np.asarray(p, dtype=float)
        weight = distribution("q", np.exp(log_q), axis, normalise)
        distribution("p", np.exp(log_p), axis, normalise)
        if normalise:
            log_q, log_p = (z - np.log(np.exp(z).sum(axis=axis, keepdims=True)) for z in (log_q, log_p))
        with np.errstate(invalid="ignore"):
            terms = np.where(weight > 0, weight * (log_q - log_p), 0.0)
    return np.maximum(terms.sum(axis=axis), 0.0) / unit(base)


@method(
    zh="JS 散度",
    task="information",
    model="JS(P ‖ Q) = D(P ‖ M)/2 + D(Q ‖ M)/2, M = (P + Q)/2",
    texts=["Li ch. 28, eq. 28.8"],
    peers=["scipy.spatial.distance.jensenshannon"],
)
def js_divergence(
    p: ArrayLike, q: ArrayLike, *, base: float | None = None, axis: int = -1, normalise: bool = False
) -> np.ndarray:
    """Jensen-Shannon divergence, the mean KL divergence to the average of both.

    Symmetric, and at most log 2, which disjoint distributions reach.

    Examples
    --------
    >>> js_divergence([1.0, 0.0], [0.0, 1.0], base=2)
    np.float64(1.0)
    """
    p, q = distribution("p", p, axis, normalise), distribution("q", q, axis, normalise)
    middle = 0.5 * (p + q)
    total = (rel_entr(p, middle) + rel_entr(q, middle)).sum(axis=axis)
    return 0.5 * np.maximum(total, 0.0) / unit(base)


@method(
    zh="高斯分布的 KL 散度",
    task="information",
    model="D(N(μ_q, Σ_q) ‖ N(μ_p, Σ_p)), in closed form",
    texts=["Li app. E, eq. E.2"],
)
def kl_gaussian(mean_q: ArrayLike, cov_q: ArrayLike, mean_p: ArrayLike, cov_p: ArrayLike) -> float:
    """D(Q || P) of two Gaussians, given means and covariance matrices (or a mean and a variance).

    Examples
    --------
    >>> round(kl_gaussian(0.0, 1.0, 1.0, 4.0), 6)
    0.443147
    """
    difference = np.atleast_1d(np.asarray(mean_p, dtype=float) - np.asarray(mean_q, dtype=float))
    roots = []
    for name, cov in (("cov_q", cov_q), ("cov_p", cov_p)):
        matrix = np.atleast_2d(np.asarray(cov, dtype=float))
        if matrix.shape != (difference.size, difference.size) or not np.allclose(matrix, matrix.T):
            raise ValueError(f"{name} must be a symmetric matrix of size {difference.size}, got {cov!r}")
        if not np.linalg.eigvalsh(matrix)[0] > 0:
            raise ValueError(f"{name} must be positive definite, got {cov!r}")
        roots.append(np.linalg.cholesky(matrix))
    root_q, root_p = roots
    spread = np.linalg.solve(root_p, root_q)
    shift = np.linalg.solve(root_p, difference)
    log_ratio = np.sum(np.log(np.diag(root_p))) - np.sum(np.log(np.diag(root_q)))
    return float(max(0.5 * (np.sum(spread**2) + shift @ shift - difference.size) + log_ratio, 0.0))


@method(
    zh="狄利克雷分布的 KL 散度",
    task="information",
    model="D(Dir(α_q) ‖ Dir(α_p)), in closed form",
    texts=["Li app. E, eq. E.2"],
)
def kl_dirichlet(alpha_q: ArrayLike, alpha_p: ArrayLike) -> np.ndarray:
    """D(Q || P) of Dirichlet distributions, for each row of the parameters.

    Examples
    --------
    >>> kl_dirichlet([1.0, 2.0], [1.0, 1.0]).round(6)
    np.float64(0.193147)
    """
    q, p = np.asarray(alpha_q, dtype=float), np.asarray(alpha_p, dtype=float)
    for name, alpha in (("alpha_q", q), ("alpha_p", p)):
        if not np.all((alpha > 0) & np.isfinite(alpha)):
            raise ValueError(f"{name} must be finite and above 0, got {alpha!r}")
    total_q = q.sum(axis=-1)
    normaliser = gammaln(total_q) - gammaln(p.sum(axis=-1)) + (gammaln(p) - gammaln(q)).sum(axis=-1)
    return np.maximum(normaliser + ((q - p) * (psi(q) - psi(total_q)[..., None])).sum(axis=-1), 0.0)


@method(
    zh="连续分布的 KL 散度",
    task="information",
    model="D(Q ‖ P) = ∫ q(x) log(q(x)/p(x)) dx",
    texts=["Li app. E, eq. E.2"],
)
def kl_density(
    log_q: Callable[[float], Any],
    log_p: Callable[[float], Any],
    lower: float = -np.inf,
    upper: float = np.inf,
) -> float:
    """D(Q || P) of two densities on the line, by numerical integration.

    ``log_q`` and ``log_p`` give the logs of the densities at a point.

    Examples
    --------
    >>> from tercet.distributions import Gaussian
    >>> round(kl_density(Gaussian(0, 1).logpdf, Gaussian(1, 4).logpdf), 6)
    0.443147
    """
    impossible = False

    def integrand(x: float) -> float:
        nonlocal impossible
        at_q = float(log_q(x))
        if np.exp(at_q) == 0.0:
            return 0.0
        at_p = float(log_p(x))
        impossible |= at_p == -np.inf
        return 0.0 if impossible else np.exp(at_q) * (at_q - at_p)

    value = quad(integrand, lower, upper, limit=200)[0]
    return np.inf if impossible else float(max(value, 0.0))
