"""Log-densities and weighted moments of rows under K Gaussians, with missing values marginalised.

Means are (K, d); covariances are variances (K, d), or matrices (K, d, d). All moments are taken about the present
means: nothing cancels where the data lie far from the origin, and the next means and covariances are small
corrections (`moved`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.kernel import inner, kernel
from tercet.distributions._gaussian.covariances import CovarianceType, positive_definite
from tercet.distributions._gaussian.missing import missing_in, missing_log_densities, missing_moments

BLOCK = 256
LOG_2PI = float(np.log(2 * np.pi))
Moments = tuple[np.ndarray, np.ndarray, np.ndarray]


def log_densities(X: np.ndarray, means: np.ndarray, covariances: np.ndarray) -> np.ndarray:
    """log N(x_t; μ_k, Σ_k) of all rows under all Gaussians, of shape (T, K); 0 for a row without a value."""
    X = np.require(X, np.float64, ["C", "W"])
    out = np.empty((len(X), len(means)))
    if covariances.ndim == 2:
        norms = 0.5 * np.log(2 * np.pi * covariances)
        means = np.require(means, np.float64, ["C", "W"])
        with np.errstate(over="ignore"):  # as plain Python it would warn of squares that overflow
            diagonal_log_densities(X, means, 0.5 / covariances, norms, norms.sum(axis=1), out)
        return out
    try:
        roots = np.linalg.cholesky(covariances)
    except np.linalg.LinAlgError:
        k = next(k for k, one in enumerate(covariances) if not positive_definite(one))
        raise ValueError(
            f"The covariance of Gaussian {k} is singular by rounding: scale the data, or give it a larger prior."
        ) from None
    heights = -np.log(np.diagonal(roots, axis1=1, axis2=2)).sum(axis=1) - 0.5 * means.shape[1] * LOG_2PI
    whitening = np.linalg.inv(roots).transpose(0, 2, 1)
    missing = missing_in(X)
    if missing is None:
        whitened_log_densities(X, means, whitening, heights, out.T)
        return out
    complete = ~missing.any(axis=1)
    found = np.empty((len(means), int(complete.sum())))
    whitened_log_densities(X[complete], means, whitening, heights, found)
    out[complete], rest = found.T, ~complete
    out[rest] = missing_log_densities(X[rest], missing[rest], np.zeros(len(means)), means, covariances).T
    return out


def whitened_log_densities(
    X: np.ndarray, means: np.ndarray, cholesky: np.ndarray, heights: np.ndarray, out: np.ndarray
) -> None:
    """heights_k - ½ |(x_t - μ_k)ᵀ P_k|² of complete rows, into out (K, T).

    P (K, d, d) are the Cholesky factors of the precisions, heights (K,) the log-densities at the means.
    """
    columns = np.ascontiguousarray(X.T, dtype=np.float64)  # (d, T): sums over features run along memory
    with np.errstate(over="ignore", invalid="ignore"):  # rows so far away that squares overflow
        for k, mean in enumerate(means):
            z = cholesky[k].T @ (columns - mean[:, None])
            out[k] = heights[k] - 0.5 * np.einsum("ij,ij->j", z, z)


def moments(X: np.ndarray, weight: np.ndarray, means: np.ndarray, covariances: np.ndarray) -> Moments:
    """Σ_t w_tk, Σ_t w_tk (x_t - μ_k) and Σ_t w_tk (x_t - μ_k)² (or the outer product, with matrices).

    `weight` is (T, K). With variances a missing value is left out, and the weights are counted for each feature,
    (K, d). With matrices it is replaced by its expectation given the rest of the row, and its conditional
    covariance is added to the second moments; the weights are (K, 1). Rows without a value do not count.
    """
    if covariances.ndim == 2:
        return variance_moments(X, weight, means)
    missing = missing_in(X)
    if missing is None:
        return matrix_moments(X, weight, means)
    complete = ~missing.any(axis=1)
    found = matrix_moments(X[complete], weight[complete], means)
    rest = ~complete & ~missing.all(axis=1)
    if not rest.any():
        return found
    more = missing_moments(X[rest], missing[rest], weight[rest].T, means, covariances)
    return found[0] + more[0][:, None], found[1] + more[1], found[2] + more[2]


def variance_moments(X: np.ndarray, weight: np.ndarray, means: np.ndarray) -> Moments:
    """The moments, (K, d) each, of the values that are not missing; `weight` is (T, K)."""
    X, weight, means = (np.require(part, np.float64, ["C", "W"]) for part in (X, weight, means))
    count, first, second = np.zeros(means.shape), np.zeros(means.shape), np.zeros(means.shape)
    with np.errstate(over="ignore"):
        diagonal_moments(X, weight, means, count, first, second)
    return count, first, second


def matrix_moments(X: np.ndarray, weight: np.ndarray, means: np.ndarray) -> Moments:
    """The moments, (K, 1), (K, d) and (K, d, d), of complete rows; `weight` is (T, K)."""
    columns = np.ascontiguousarray(X.T, dtype=np.float64)
    k, d = means.shape
    first, second = np.empty((k, d)), np.empty((k, d, d))
    for c, mean in enumerate(means):
        apart = columns - mean[:, None]
        scaled = apart * weight[:, c]
        first[c] = scaled.sum(axis=1)
        second[c] = scaled @ apart.T
    return weight.sum(axis=0)[:, None], first, second


def moved(moments: tuple[Any, ...], by: np.ndarray, kind: CovarianceType) -> tuple[Any, ...]:
    """Moments about points that are further by m = `by` (K, d), with the second moments in the compact form of a
    type:

    Σ (x-m)(x-m)ᵀ = Σ xxᵀ - m Σ(x-m)ᵀ - Σ(x-m) mᵀ - n mmᵀ
    """
    count, first, second = moments
    mass = count if count.ndim == 2 else count[:, None]
    first = first - mass * by
    half = first + 0.5 * mass * by
    if kind in ("full", "tied"):
        cross = by[:, :, None] * half[:, None, :]
        cross += cross.transpose(0, 2, 1)
        return count, first, second - (cross if kind == "full" else cross.sum(axis=0))
    cross = 2 * by * half
    return count, first, second - (cross if kind == "diag" else cross.mean(axis=1))


def draw(
    which: np.ndarray, means: np.ndarray, covariances: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """A row from each of the Gaussians numbered in `which`: μ + L z with L Lᵀ = Σ and z standard normal."""
    z = rng.standard_normal((which.size, means.shape[1]))
    if covariances.ndim == 2:
        return means[which] + z * np.sqrt(covariances[which])
    for k in np.unique(which):
        here = which == k
        z[here] = means[k] + z[here] @ np.linalg.cholesky(covariances[k]).T
    return z


@kernel
def diagonal_log_densities(X: Any, means: Any, half: Any, norms: Any, norm: Any, out: Any) -> None:
    """log N(x_t; μ_k, diag σ²_k) of rows X (T, d) into out (T, K), NaN marginalised. `half` is 1 / (2 σ²) and
    `norms` is log √(2π σ²), both (K, d); `norm` are the sums of `norms`. Blocks of rows are transposed, so that
    inner loops run along a column."""
    n, d = X.shape
    K = out.shape[1]
    columns, missing, sums = np.empty((d, BLOCK)), np.empty(d, dtype=np.bool_), np.empty(BLOCK)
    for a in range(0, n, BLOCK):
        m = min(BLOCK, n - a)
        lines = out[a : a + m]
        _transpose(X[a : a + m], columns)
        for j in range(d):
            missing[j] = _has_missing(columns[j], m)
        for k in range(K):
            for i in range(m):
                sums[i] = -norm[k]
            for j in range(d):
                column, mean, h, unseen = columns[j], means[k, j], half[k, j], norms[k, j]
                if missing[j]:
                    for i in range(m):
                        z = column[i] - mean
                        sums[i] += unseen if np.isnan(z) else -h * z * z
                else:
                    for i in range(m):
                        z = column[i] - mean
                        sums[i] -= h * z * z
            for i in range(m):
                lines[i, k] = sums[i]


@kernel
def diagonal_moments(X: Any, weight: Any, means: Any, count: Any, first: Any, second: Any) -> None:
    """Add Σ_t w_tk, Σ_t w_tk (x_tj - μ_kj) and Σ_t w_tk (x_tj - μ_kj)² over the observed x_tj, each (K, d), to
    count, first and second; weight is (T, K). In transposed blocks as well."""
    n, d = X.shape
    K = weight.shape[1]
    columns, weights, mass, known = np.empty((d, BLOCK)), np.empty((K, BLOCK)), np.empty(K), np.empty(BLOCK)
    for a in range(0, n, BLOCK):
        m = min(BLOCK, n - a)
        _transpose(X[a : a + m], columns)
        _transpose(weight[a : a + m], weights)
        for k in range(K):
            w, c = weights[k], 0.0
            for i in range(m):
                c += w[i]
            mass[k] = c
        for j in range(d):
            column, missing = columns[j], _has_missing(columns[j], m)
            if missing:
                for i in range(m):
                    known[i] = 0.0 if np.isnan(column[i]) else 1.0
                    column[i] = 0.0 if np.isnan(column[i]) else column[i]
            for k in range(K):
                w, mean = weights[k], means[k, j]
                c, f, s = 0.0, 0.0, 0.0
                if missing:
                    for i in range(m):
                        z = column[i] - mean
                        u = w[i] * known[i]
                        v = u * z
                        c += u
                        f += v
                        s += v * z
                else:
                    c = mass[k]
                    for i in range(m):
                        z = column[i] - mean
                        v = w[i] * z
                        f += v
                        s += v * z
                count[k, j] += c
                first[k, j] += f
                second[k, j] += s


@inner
def _transpose(rows: Any, columns: Any) -> None:
    """Copy rows (m, d) as columns (d, m)."""
    for i in range(len(rows)):
        row = rows[i]
        for j in range(row.size):
            columns[j, i] = row[j]


@inner
def _has_missing(column: Any, m: Any) -> Any:
    missing = 0
    for i in range(m):
        missing += np.isnan(column[i])
    return missing > 0
