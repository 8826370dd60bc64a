"""Bayesian choice of the number of principal components.

T. P. Minka (2000): Automatic choice of dimensionality for PCA, NIPS 13.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln


def latent_dimension(variances: np.ndarray, n: float) -> int:
    """The number of components, from 1 to d - 1, whose Laplace evidence is largest.

    Examples
    --------
    >>> latent_dimension(np.array([9.0, 4.0, 0.1, 0.1]), 100)
    2
    """
    d = len(variances)
    if d < 2 or not variances[0] > 0:
        return min(d, 1)
    spectrum = variances / variances[0]  # in another unit the evidence differs by a constant
    return 1 + int(np.argmax([_log_evidence(spectrum, k, n) for k in range(1, d)]))


def _log_evidence(spectrum: np.ndarray, k: int, n: float) -> float:
    """Minka's approximation of the log-evidence of k components, up to a constant."""
    d, least = len(spectrum), 1e-15
    if spectrum[k - 1] < least or spectrum[k - 1] - spectrum[k] <= least:  # equal variances are not parted
        return -np.inf
    noise = max(least, float(spectrum[k:].mean()))
    halves = (d - np.arange(k)) / 2
    directions = float((gammaln(halves) - halves * np.log(np.pi)).sum()) - k * np.log(
        2
    )  # volume of the prior
    fit = -n / 2 * (float(np.log(spectrum[:k]).sum()) + (d - k) * np.log(noise))
    m = d * k - k * (k + 1) / 2
    model = np.concatenate([spectrum[:k], np.full(d - k, noise)])
    i, j = np.triu_indices(d, 1)
    i, j = i[i < k], j[i < k]
    apart = (spectrum[i] - spectrum[j]) * (1 / model[j] - 1 / model[i])
    hessian = float(np.log(np.maximum(apart, 1e-30)).sum()) + i.size * np.log(n)
    return directions + fit + (m + k) / 2 * np.log(2 * np.pi) - hessian / 2 - k / 2 * np.log(n)
