"""k Gaussians as the components of a mixture: their densities, expected statistics, and what maximises them.

The log-density of a Gaussian is linear in 1, x and the products of features, and the statistics that EM needs are
sums of the same. So both steps for all components are one matrix product each with a table of such features, which
is made for a chunk of rows and never leaves the cache. Where that would cost digits (clusters that are tiny
compared with the distances between them), the differences to each mean are taken instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tercet.core import parallel
from tercet.core.parallel import Chunks, total
from tercet.mixture.components import Components, posterior, refuse_huge
from tercet.mixture.covariances import Kind, log_determinants, positive_definite, precisions_of
from tercet.mixture.gaussian_gaps import gapped_joint, gapped_statistics, gaps_in, ordered_by_gaps
from tercet.mixture.gaussian_parameters import Gauss, Prior

__all__ = ["Gauss", "Gaussians", "Prior"]

FLOOR = 10 * float(np.finfo(np.float64).eps)  # rows of every component, lest something be divided by zero
WIDEST = 40  # features beyond which a table of their products does not pay


class Gaussians(Components):
    """Gaussian components of one kind of covariance.

    The statistics are, about the means of the theta they were taken under: the sums of the shares (k,), of the
    differences (k, d), and of their products, in the shape of the covariances.
    """

    def __init__(
        self,
        kind: Kind,
        n_components: int,
        n_features: int,
        *,
        reg_covar: float = 1e-6,
        hard: bool = False,
        prior: Prior | None = None,
    ) -> None:
        self.kind, self.k, self.d = kind, n_components, n_features
        self.reg_covar, self.hard = reg_covar, hard
        self.prior = Prior() if prior is None else prior
        self.monotone = reg_covar == 0  # what is added to the variances does not come from maximising
        self.tabled = kind != "full" or n_features <= min(WIDEST, 4 * n_components)

    # --- the passes ---------------------------------------------------------------------------------------------

    def chunks(self, X: np.ndarray, weight: np.ndarray | None) -> Sequence[Any]:
        """Complete rows, then those with gaps in the order of their gaps."""
        refuse_huge(X)
        gaps = gaps_in(X)
        if gaps is None:
            return Chunks(X, weight, rows=self.rows_at_once())
        complete = int((~gaps.any(axis=1)).sum())
        order, _ = ordered_by_gaps(gaps)
        X, weight = X[order], None if weight is None else weight[order]
        found: list[Any] = []
        parts = (slice(complete), self.rows_at_once()), (slice(complete, None), self.gapped_at_once())
        for part, rows in parts:
            if X[part].shape[0]:
                found += Chunks(X[part], None if weight is None else weight[part], rows=rows)
        return found

    def rows_at_once(self) -> int:
        """As many as have their table of features and their responsibilities in the cache."""
        products = self.d * (self.d + 1) // 2 if self.kind == "full" and self.tabled else self.d
        return _fitting(1 + self.d + self.k + products)

    def gapped_at_once(self) -> int:
        """Few enough that a chunk takes no long time, even if each row has gaps of its own."""
        return _fitting(max(self.k * self.d, self.k * self.d**3 // 1024))

    def log_joint(self, X: np.ndarray, theta: Gauss) -> np.ndarray:
        gaps = gaps_in(X)
        if gaps is not None:
            step = self.gapped_at_once()
            parts = [slice(i, i + step) for i in range(0, len(X), step)]
            return np.concatenate([gapped_joint(X[part], gaps[part], theta) for part in parts], axis=1)
        table = self._table(X, theta)
        return self._near(X, theta) if table is None else self._by_table(table, theta)

    def expect(self, chunk: Any, theta: Gauss) -> tuple[Any, ...]:
        X, weight = chunk
        gaps = gaps_in(X)
        if gaps is not None:
            return gapped_statistics(X, gaps, weight, theta, self.kind, hard=self.hard)
        table = self._table(X, theta)
        joint = self._near(X, theta) if table is None else self._by_table(table, theta)
        shares, likelihood = posterior(joint, hard=self.hard)
        if weight is not None:
            shares *= weight
            likelihood *= weight
        sums = self.statistics(X, shares, theta) if table is None else self._sums(table, shares, theta)
        return (likelihood.sum(), *sums)

    def maximise(self, statistics: tuple[Any, ...], theta: Gauss) -> Gauss:
        mass, means, covariances = self.moments(statistics, theta)
        mass = mass + self.prior.rows
        return Gauss.of(self.kind, mass / mass.sum(), means, covariances)

    def moments(self, statistics: tuple[Any, ...], theta: Gauss) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The expected counts, means and (regularised) covariances of the components."""
        counts, sums, products = statistics
        mass = counts + FLOOR * min(1.0, counts.sum())  # a component without rows stays where it is
        move = sums / mass[:, None]
        per = mass.sum() if self.kind == "tied" else mass.reshape((-1,) + (1,) * (products.ndim - 1))
        if self.kind == "full":
            found = products / per - move[:, :, None] * move[:, None, :]
        elif self.kind == "tied":
            found = (products - (mass * move.T) @ move) / per
        else:
            square = move**2 if self.kind == "diag" else (move**2).mean(axis=1)
            found = np.maximum(products / per - square, 0.0)
        if self.prior.count:
            found = (per * found + self.prior.count * self.prior.shaped(self.kind)) / (per + self.prior.count)
        if self.kind in ("full", "tied"):
            found[..., range(self.d), range(self.d)] += self.reg_covar
        else:
            found += self.reg_covar
        if not (positive_definite(found) if self.kind in ("full", "tied") else (found > 0).all()):
            self._widen(found, move, theta)
        return mass, theta.means + move, found

    def _widen(self, found: np.ndarray, move: np.ndarray, theta: Gauss) -> None:
        """Make covariances that rounding has left without digits as wide as rounding is coarse.

        A mean that moves by a million times the size of its component takes all digits with it, and so does a
        table of features that has its centre as far away. The next pass, from where the mean is now, loses
        nothing: what is flat then is flat.
        """
        squares = move**2
        if theta.cholesky.size and not theta.loses_digits(np.zeros(self.d)):  # there may have been a table
            squares += (theta.means - theta.centre) ** 2
        lost = 10 * FLOOR * self.d * squares
        if self.kind in ("full", "tied"):
            found[..., range(self.d), range(self.d)] += lost if self.kind == "full" else lost.max(axis=0)
        else:
            found += lost if self.kind == "diag" else lost.mean(axis=1)

    def log_prior(self, theta: Gauss) -> float:
        """Of a Dirichlet distribution of the weights and an inverse Wishart distribution of the covariances."""
        found = self.prior.rows * theta.offsets.sum() if self.prior.rows else 0.0
        if self.prior.count:
            scatter = self.prior.covariance
            if self.kind in ("full", "tied"):
                near = np.einsum("...ab,ab->...", precisions_of(theta.cholesky, self.kind), scatter)
            else:
                near = (theta.sharpness * np.diagonal(scatter)).sum(axis=1)
            heights = log_determinants(theta.cholesky, self.kind, self.d) - 0.5 * near
            found += self.prior.count * np.sum(heights)
        return float(found)

    def first(self, chunks: Sequence[Any], n_jobs: Any = None) -> Gauss:
        """From rows that are shared out: the means, then what is about them."""
        counts, sums = total(_sums_of, chunks, n_jobs=n_jobs)
        middle = sums.sum(axis=0) / counts.sum()
        means = np.where(counts[:, None] > 0, sums / np.maximum(counts, 1e-300)[:, None], middle)
        about = Gauss(self.kind, counts, means, np.empty(0), np.empty(0), counts)  # only its means matter
        statistics = total(lambda chunk: self.statistics(chunk[0], chunk[1], about), chunks, n_jobs=n_jobs)
        return self.maximise(statistics, about)

    # --- by differences to each mean ----------------------------------------------------------------------------

    def _near(self, X: np.ndarray, theta: Gauss) -> np.ndarray:
        """Log-joint densities of complete rows, from the differences to each mean."""
        rows = np.ascontiguousarray(X.T, dtype=np.float64)
        joint = np.empty((len(theta.means), X.shape[0]))
        for k, mean in enumerate(theta.means):
            apart = rows - mean[:, None]
            if self.kind in ("full", "tied"):
                apart = (theta.cholesky[k] if self.kind == "full" else theta.cholesky).T @ apart
            elif self.kind == "diag":
                apart *= theta.cholesky[k][:, None]
            else:
                apart *= theta.cholesky[k]
            joint[k] = np.einsum("ij,ij->j", apart, apart)
        joint *= -0.5
        joint += theta.constants[:, None]
        return joint

    def statistics(self, X: np.ndarray, shares: np.ndarray, theta: Gauss) -> tuple[Any, ...]:
        """Sums of complete rows about the means of theta."""
        rows = np.ascontiguousarray(X.T, dtype=np.float64)
        crossed = self.kind in ("full", "tied")
        shape = theta.means.shape
        sums, products = np.empty(shape), np.empty(shape + (self.d,) * crossed)
        for k, mean in enumerate(theta.means):
            apart = rows - mean[:, None]
            scaled = apart * shares[k]
            sums[k] = scaled.sum(axis=1)
            products[k] = scaled @ apart.T if crossed else np.einsum("ij,ij->i", scaled, apart)
        if self.kind in ("tied", "spherical"):
            products = products.sum(axis=0) if self.kind == "tied" else products.mean(axis=1)
        return shares.sum(axis=1), sums, products

    # --- by a table of features ---------------------------------------------------------------------------------

    def _table(self, X: np.ndarray, theta: Gauss) -> np.ndarray | None:
        """1, x and the products of x's features, about the centre, of shape (features, rows).

        None where that would lose digits.
        """
        if not self.tabled:
            return None
        d, width = self.d, theta.natural.shape[1]
        table = np.empty((width, X.shape[0]))
        table[0] = 1.0
        x = table[1 : d + 1]
        np.subtract(X.T, theta.centre[:, None], out=x)
        if theta.loses_digits(np.maximum(x.max(axis=1), -x.min(axis=1))):
            return None
        if self.kind == "full":
            at = d + 1
            for a in range(d):
                np.multiply(x[a], x[a:], out=table[at : at + d - a])
                at += d - a
        elif self.kind == "diag":
            np.multiply(x, x, out=table[d + 1 :])
        elif self.kind == "spherical":
            np.einsum("ij,ij->j", x, x, out=table[d + 1])
        return table

    def _by_table(self, table: np.ndarray, theta: Gauss) -> np.ndarray:
        joint = theta.natural @ table
        if self.kind == "tied":  # the same square for all components
            whitened = theta.cholesky.T @ table[1:]
            joint -= 0.5 * np.einsum("ij,ij->j", whitened, whitened)
        return joint

    def _sums(self, table: np.ndarray, shares: np.ndarray, theta: Gauss) -> tuple[Any, ...]:
        """The statistics from a table: about its centre first, then moved to the means."""
        d = self.d
        found = (table @ shares.T).T
        products: Any = found[:, d + 1 :]
        if self.kind == "full":
            a, b = np.triu_indices(d)
            square = np.empty((len(found), d, d))
            square[:, a, b] = square[:, b, a] = products
            products = square
        elif self.kind == "tied":
            x = table[1:]
            products = (x * shares.sum(axis=0)) @ x.T
        elif self.kind == "spherical":
            products = products[:, 0] / d
        return moved((found[:, 0], found[:, 1 : d + 1], products), theta.means - theta.centre, self.kind)

    def recall(self, theta: Gauss, mass: float) -> tuple[Any, ...]:
        """The statistics of rows of a total weight that make theta the most likely: `maximise` turned round."""
        rows = self.prior.rows
        counts = np.maximum(theta.weights * (mass + len(theta.weights) * rows) - rows, 0.0)
        unit = np.eye(self.d) if self.kind in ("full", "tied") else 1.0
        found = theta.covariances - self.reg_covar * unit
        per = mass if self.kind == "tied" else counts.reshape((-1,) + (1,) * (found.ndim - 1))
        if self.prior.count:
            found = found * (per + self.prior.count) - self.prior.count * self.prior.shaped(self.kind)
        else:
            found = found * per
        return counts, np.zeros_like(theta.means), found

    # --- drawing ------------------------------------------------------------------------------------------------

    def draw(self, theta: Gauss, counts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Standard normal rows z become μ + L z with L Lᵀ = Σ."""
        parts = []
        for mean, covariance, count in zip(theta.means, theta.matrices, counts):
            parts.append(mean + rng.standard_normal((count, self.d)) @ np.linalg.cholesky(covariance).T)
        return np.concatenate(parts)


def moved(statistics: tuple[Any, ...], by: np.ndarray, kind: Kind) -> tuple[Any, ...]:
    """Statistics about other points, which are further by so much: with m for `by`,

    Σ (x-m)(x-m)ᵀ = Σ xxᵀ - m Σ(x-m)ᵀ - Σ(x-m) mᵀ - n mmᵀ
    """
    counts, sums, products = statistics
    sums = sums - counts[:, None] * by
    half = sums + 0.5 * counts[:, None] * by
    if kind in ("full", "tied"):
        cross = by[:, :, None] * half[:, None, :]
        cross += cross.transpose(0, 2, 1)
        return counts, sums, products - (cross if kind == "full" else cross.sum(axis=0))
    cross = 2 * by * half
    return counts, sums, products - (cross if kind == "diag" else cross.mean(axis=1))


def _fitting(width: int) -> int:
    """Rows of so many numbers that make a chunk."""
    return max(parallel.GRAIN, parallel.CHUNK_BYTES // (8 * width) // parallel.GRAIN * parallel.GRAIN)


def _sums_of(chunk: Any) -> tuple[np.ndarray, np.ndarray]:
    X, shares = chunk
    return shares.sum(axis=1), shares @ X
