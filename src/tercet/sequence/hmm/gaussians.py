"""Several Gaussians side by side: log-densities and weighted moments of rows in which values may be missing.

K Gaussians have means (K, d) and covariances: variances (K, d), or matrices (K, d, d). A value that is NaN is
integrated out: what is left of a Gaussian without some of its coordinates is the Gaussian of the others.

All moments are taken about the present means. So nothing cancels where the data lie far from the origin, and the
next means and covariances are small corrections (`shifted`).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tercet.core.kernel import inner, kernel

BLOCK = 256
Moments = tuple[np.ndarray, np.ndarray, np.ndarray]


def log_densities(X: np.ndarray, means: np.ndarray, covars: np.ndarray) -> np.ndarray:
    """log N(x_i; m_k, S_k) of all rows under all K Gaussians; 0 for a row of which nothing is known."""
    X = np.require(X, np.float64, ["C", "W"])
    out = np.empty((len(X), len(means)))
    if covars.ndim == 2:
        norms = 0.5 * np.log(2 * np.pi * covars)
        _diagonal_densities(
            X, np.require(means, np.float64, ["C", "W"]), 0.5 / covars, norms, norms.sum(axis=1), out
        )
        return out
    for seen, at in patterns(X):
        out[at] = _matrix_densities(X[at][:, seen], means[:, seen], covars[:, seen][:, :, seen])
    return out


def _matrix_densities(X: np.ndarray, means: np.ndarray, covars: np.ndarray) -> np.ndarray:
    roots = np.linalg.cholesky(covars)
    whiten = np.linalg.inv(roots).transpose(0, 2, 1)
    norms = 0.5 * X.shape[1] * np.log(2 * np.pi) + np.log(np.diagonal(roots, axis1=1, axis2=2)).sum(axis=1)
    out = np.empty((len(X), len(means)))
    for k, (mean, turn) in enumerate(zip(means, whiten)):
        z = (X - mean) @ turn
        out[:, k] = -0.5 * np.einsum("ij,ij->i", z, z) - norms[k]
    return out


def moments(X: np.ndarray, weight: np.ndarray, means: np.ndarray, covars: np.ndarray) -> Moments:
    """Σ_i w_ik, Σ_i w_ik (x_i - m_k) and Σ_i w_ik (x_i - m_k)² (or the outer product, with matrices).

    With variances a missing value is left out, and the weights are counted for each feature: (K, d). With
    matrices it is replaced by its expectation given the rest of the row, and the uncertainty that stays is added
    to the second moments; weights are (K, 1). Rows of which nothing is known do not count.
    """
    X, weight, means = (np.require(part, np.float64, ["C", "W"]) for part in (X, weight, means))
    if covars.ndim == 2:
        count, first, second = np.zeros(means.shape), np.zeros(means.shape), np.zeros(means.shape)
        _diagonal_moments(X, weight, means, count, first, second)
        return count, first, second
    count = np.zeros((len(means), 1))
    first, second = np.zeros(means.shape), np.zeros(covars.shape)
    for seen, at in patterns(X):
        if not seen.any():
            continue
        mass = weight[at].sum(axis=0)
        count[:, 0] += mass
        if not seen.all():
            slopes, left = regressions(covars, seen)
            second[:, ~seen[:, None] & ~seen] += mass[:, None] * left.reshape(len(means), -1)
        for k, mean in enumerate(means):
            z = X[at] - mean
            if not seen.all():
                z[:, ~seen] = z[:, seen] @ slopes[k].T
            weighted = z * weight[at, k][:, None]
            first[k] += weighted.sum(axis=0)
            second[k] += weighted.T @ z
    return count, first, second


def regressions(covars: np.ndarray, seen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How the unseen coordinates follow the seen ones: slopes S_us S_ss⁻¹ and what variance is left."""
    across = covars[:, ~seen][:, :, seen]
    slopes = np.linalg.solve(covars[:, seen][:, :, seen], across.transpose(0, 2, 1)).transpose(0, 2, 1)
    return slopes, covars[:, ~seen][:, :, ~seen] - slopes @ across.transpose(0, 2, 1)


def shifted(moments: Moments, shift: np.ndarray) -> np.ndarray:
    """The second moments about means that have moved by `shift`."""
    count, first, second = moments
    if second.ndim == 2:
        return np.maximum(second - 2 * shift * first + count * shift**2, 0.0)
    cross = shift[:, :, None] * first[:, None, :]
    outer = shift[:, :, None] * shift[:, None, :]
    return second - cross - cross.transpose(0, 2, 1) + count[:, :, None] * outer


def patterns(X: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray | slice]]:
    """The different sets of features that are known in some row, each with the rows that know just these."""
    seen = ~np.isnan(X)
    if seen.all():
        yield np.ones(X.shape[1], dtype=bool), slice(None)
        return
    packed = np.ascontiguousarray(np.packbits(seen, axis=1))
    keys, group = np.unique(packed.view(f"V{packed.shape[1]}").ravel(), return_inverse=True)
    order = np.argsort(group, kind="stable")
    for at in np.split(order, np.cumsum(np.bincount(group, minlength=len(keys)))[:-1]):
        yield seen[at[0]], at


def raised(covars: np.ndarray, floor: np.ndarray) -> np.ndarray:
    """The most likely covariances that are nowhere below the diagonal matrix of `floor`.

    Variances are raised to the floor; of a matrix, in units of the floor, the eigenvalues below 1 become 1.
    """
    if covars.ndim == 2:
        return np.maximum(covars, floor)
    unit = np.sqrt(floor)[:, None] * np.sqrt(floor)
    values, vectors = np.linalg.eigh(covars / unit)
    if values.min() >= 1:
        return covars
    lifted = (vectors * np.maximum(values, 1.0)[:, None, :]) @ vectors.transpose(0, 2, 1)
    low = values[:, 0] < 1
    return np.where(low[:, None, None], 0.5 * (lifted + lifted.transpose(0, 2, 1)) * unit, covars)


def draw(which: np.ndarray, means: np.ndarray, covars: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A row from each of the Gaussians named in `which`."""
    z = rng.standard_normal((which.size, means.shape[1]))
    if covars.ndim == 2:
        return means[which] + z * np.sqrt(covars[which])
    return means[which] + np.einsum("ijk,ik->ij", np.linalg.cholesky(covars)[which], z)


@kernel
def _diagonal_densities(X, means, half, norms, norm, out):
    """Blocks of rows are turned, so that loops run along a column, many rows at a time."""
    n, d = X.shape
    K = out.shape[1]
    columns, gaps, sums = np.empty((d, BLOCK)), np.empty(d, dtype=np.bool_), np.empty(BLOCK)
    for a in range(0, n, BLOCK):
        m = min(BLOCK, n - a)
        lines = out[a : a + m]
        _turn(X[a : a + m], columns)
        for j in range(d):
            gaps[j] = _has_gaps(columns[j], m)
        for k in range(K):
            for i in range(m):
                sums[i] = -norm[k]
            for j in range(d):
                column, centre, h, back = columns[j], means[k, j], half[k, j], norms[k, j]
                if gaps[j]:
                    for i in range(m):
                        z = column[i] - centre
                        sums[i] += back if np.isnan(z) else -h * z * z
                else:
                    for i in range(m):
                        z = column[i] - centre
                        sums[i] -= h * z * z
            for i in range(m):
                lines[i, k] = sums[i]


@kernel
def _diagonal_moments(X, weight, means, count, first, second):
    """In turned blocks as well."""
    n, d = X.shape
    K = weight.shape[1]
    columns, turned, mass, known = np.empty((d, BLOCK)), np.empty((K, BLOCK)), np.empty(K), np.empty(BLOCK)
    for a in range(0, n, BLOCK):
        m = min(BLOCK, n - a)
        _turn(X[a : a + m], columns)
        _turn(weight[a : a + m], turned)
        for k in range(K):
            w, c = turned[k], 0.0
            for i in range(m):
                c += w[i]
            mass[k] = c
        for j in range(d):
            column, gaps = columns[j], _has_gaps(columns[j], m)
            if gaps:
                for i in range(m):
                    known[i] = 0.0 if np.isnan(column[i]) else 1.0
                    column[i] = 0.0 if np.isnan(column[i]) else column[i]
            for k in range(K):
                w, centre = turned[k], means[k, j]
                c, f, s = 0.0, 0.0, 0.0
                if gaps:
                    for i in range(m):
                        z = column[i] - centre
                        u = w[i] * known[i]
                        v = u * z
                        c += u
                        f += v
                        s += v * z
                else:
                    c = mass[k]
                    for i in range(m):
                        z = column[i] - centre
                        v = w[i] * z
                        f += v
                        s += v * z
                count[k, j] += c
                first[k, j] += f
                second[k, j] += s


@inner
def _turn(rows, columns):
    """Copy rows as columns."""
    for i in range(len(rows)):
        row = rows[i]
        for j in range(row.size):
            columns[j, i] = row[j]


@inner
def _has_gaps(column, m):
    gaps = 0
    for i in range(m):
        gaps += np.isnan(column[i])
    return gaps > 0
