"""Gaussian components of a mixture: the E step by matrix products over a table of features, and the M step.

The log-density of a Gaussian is linear in 1, x and the products of features, and the statistics that EM needs are
sums of the same. So both steps for all components are one matrix product each with a table of such features, which
is made for a chunk of rows and never leaves the cache. Where that would cancel digits (clusters that are tiny
compared with the distances between them), the differences to each mean are taken instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tercet.core import chunks
from tercet.core.parallel import Chunks, total
from tercet.core.row_sums import largest_of
from tercet.core.streams import is_streamed
from tercet.distributions._gaussian.covariances import CovarianceType, of_one, positive_definite
from tercet.distributions._gaussian.estimation import GaussianPrior
from tercet.distributions._gaussian.missing import (
    missing_e_step,
    missing_in,
    missing_log_densities,
    ordered_by_missing,
)
from tercet.distributions._gaussian.moments import (
    draw,
    log_densities,
    matrix_moments,
    moved,
    variance_moments,
    whitened_log_densities,
)
from tercet.mixture._engine.gaussian_parameters import GaussianParameters
from tercet.mixture.components import Components, check_magnitude, posterior

FLOOR = 10 * float(np.finfo(np.float64).eps)  # rows added to every component, so that no mass is zero
WIDEST = 40  # features beyond which a table of their products does not pay


class GaussianComponents(Components):
    """Gaussian components with one type of covariance.

    The statistics are moments about the present means: the sums of the responsibilities (k,), of the differences
    (k, d), and of their products, in the compact form of the covariances ("tied" summed over the components).

    Parameters
    ----------
    weight_prior : float
        Pseudo-rows of each component's weight (a Dirichlet prior).
    covariance_prior : array of shape (d, d), optional
        The mode of an inverse Wishart prior of each covariance, worth `covariance_prior_count` rows.

    Examples
    --------
    One E step and one M step of `em`:

    >>> X = np.array([[0.0], [2.0], [10.0], [12.0]])
    >>> components = GaussianComponents("diag", 2, 1, reg_covar=0.0)
    >>> start = GaussianParameters.of_covariances(
    ...     "diag", np.array([0.5, 0.5]), np.array([[0.0], [12.0]]), np.ones((2, 1))
    ... )
    >>> log_likelihood, *statistics = components.expect((X, None), start)
    >>> components.maximise(tuple(statistics), start).means.round(6).tolist()
    [[1.0], [11.0]]
    """

    def __init__(
        self,
        kind: CovarianceType,
        n_components: int,
        n_features: int,
        *,
        reg_covar: float = 1e-6,
        hard: bool = False,
        weight_prior: float = 0.0,
        covariance_prior: np.ndarray | None = None,
        covariance_prior_count: float = 0.0,
    ) -> None:
        self.kind, self.k, self.d = kind, n_components, n_features
        self.reg_covar, self.hard = reg_covar, hard
        self.weight_prior, self.covariance_prior = weight_prior, covariance_prior
        self.prior_count = 0.0 if covariance_prior is None else covariance_prior_count
        self.monotone = reg_covar == 0  # reg_covar does not come from maximising
        self.tabled = kind != "full" or n_features <= min(WIDEST, 4 * n_components)

    # --- the passes ---------------------------------------------------------------------------------------------

    def chunks(self, X: np.ndarray, weight: np.ndarray | None) -> Sequence[Any]:
        """Complete rows, then those with missing values, ordered by which are missing."""
        if is_streamed(X):
            if largest_of(X) > (1e18 if X.dtype == np.float32 else 1e100):
                raise ValueError(
                    f"X holds numbers up to {largest_of(X):.3g}, whose squares overflow. Scale X."
                )
            return Chunks(X, weight, rows=self.rows_at_once())
        check_magnitude(X)
        missing = missing_in(X)
        if missing is None:
            return Chunks(X, weight, rows=self.rows_at_once())
        complete = int((~missing.any(axis=1)).sum())
        order, _ = ordered_by_missing(missing)
        X, weight = X[order], None if weight is None else weight[order]
        found: list[Any] = []
        parts = (slice(complete), self.rows_at_once()), (slice(complete, None), self.missing_at_once())
        for part, rows in parts:
            if X[part].shape[0]:
                found += Chunks(X[part], None if weight is None else weight[part], rows=rows)
        return found

    def rows_at_once(self) -> int:
        """As many as have their table of features and their responsibilities in the cache."""
        products = self.d * (self.d + 1) // 2 if self.kind == "full" and self.tabled else self.d
        return _fitting(1 + self.d + self.k + products)

    def missing_at_once(self) -> int:
        """Few enough that a chunk takes no long time, even if each row has missing values of its own."""
        return _fitting(max(self.k * self.d, self.k * self.d**3 // 1024))

    def log_joint(self, X: np.ndarray, theta: GaussianParameters) -> np.ndarray:
        missing = missing_in(X)
        if missing is not None:
            return self._with_missing(X, missing, theta)
        table = self._table(X, theta)
        return self._by_differences(X, theta) if table is None else self._by_table(table, theta)

    def _with_missing(self, X: np.ndarray, missing: np.ndarray, theta: GaussianParameters) -> np.ndarray:
        if self.kind in ("diag", "spherical"):
            return self._by_differences(X, theta)
        step, means = self.missing_at_once(), theta.means
        parts = [slice(i, i + step) for i in range(0, len(X), step)]
        return np.concatenate(
            [missing_log_densities(X[p], missing[p], theta.offsets, means, theta.matrices) for p in parts],
            axis=1,
        )

    def expect(self, chunk: Any, theta: GaussianParameters) -> tuple[Any, ...]:
        X, weight = chunk
        missing, crossed = missing_in(X), self.kind in ("full", "tied")
        if missing is not None and crossed:
            likelihood, counts, sums, products = missing_e_step(
                X, missing, weight, theta.offsets, theta.means, theta.matrices, hard=self.hard
            )
            return likelihood, counts, sums, products.sum(axis=0) if self.kind == "tied" else products
        table = self._table(X, theta) if missing is None else None
        joint = self._by_differences(X, theta) if table is None else self._by_table(table, theta)
        shares, log_likelihood = posterior(joint, hard=self.hard)
        if weight is not None:
            shares *= weight
            log_likelihood *= weight
        found = self.statistics(X, shares, theta) if table is None else self._sums(table, shares, theta)
        return (log_likelihood.sum(), *found)

    def maximise(self, statistics: tuple[Any, ...], theta: GaussianParameters) -> GaussianParameters:
        """Weights, means and covariances (9.30)-(9.32), with pseudo-rows of the priors."""
        mass, means, covariances = self.estimates(statistics, theta)
        mass = mass + self.weight_prior
        return GaussianParameters.of_covariances(self.kind, mass / mass.sum(), means, covariances)

    def estimates(
        self, statistics: tuple[Any, ...], theta: GaussianParameters
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The expected counts, the means and the regularised covariances of the components."""
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
        if self.covariance_prior is not None:
            believed = self.prior_count * of_one(self.covariance_prior, self.kind)
            found = (per * found + believed) / (per + self.prior_count)
        if self.kind in ("full", "tied"):
            found[..., range(self.d), range(self.d)] += self.reg_covar
        else:
            found += self.reg_covar
        if not (positive_definite(found) if self.kind in ("full", "tied") else (found > 0).all()):
            self._widen(found, move, theta)
        return mass, theta.means + move, found

    def _widen(self, found: np.ndarray, move: np.ndarray, theta: GaussianParameters) -> None:
        """Add to covariances, in place, the rounding error that has left them indefinite.

        A mean that moves by a million times the deviation of its component cancels all digits, and so does a table
        of features with a centre as far away. The next pass, about the new mean, cancels nothing.
        """
        squares = move**2
        if theta.cholesky.size and not theta.loses_digits(np.zeros(self.d)):  # there may have been a table
            squares += (theta.means - theta.centre) ** 2
        lost = 10 * FLOOR * self.d * squares
        if self.kind in ("full", "tied"):
            found[..., range(self.d), range(self.d)] += lost if self.kind == "full" else lost.max(axis=0)
        else:
            found += lost if self.kind == "diag" else lost.mean(axis=1)

    def log_prior(self, theta: GaussianParameters) -> float:
        """Of a Dirichlet distribution of the weights and an inverse Wishart distribution of the covariances."""
        found = self.weight_prior * theta.offsets.sum() if self.weight_prior else 0.0
        if self.covariance_prior is not None:
            mass = np.full((1,) * theta.covariances.ndim, self.prior_count)
            mass = mass * self.d if self.kind == "spherical" else mass
            nothing = np.zeros((1, 1))
            prior = GaussianPrior(nothing, nothing, mass * of_one(self.covariance_prior, self.kind), mass)
            found += prior.log_density(theta.means, theta.covariances, self.kind, (self.k,))
        return float(found)

    def first(self, chunks: Sequence[Any], n_jobs: Any = None) -> GaussianParameters:
        """From rows with given responsibilities: the means, then the moments about them."""
        counts, sums = total(_sums_of, chunks, n_jobs=n_jobs)
        middle = sums.sum(axis=0) / counts.sum()
        means = np.where(counts[:, None] > 0, sums / np.maximum(counts, 1e-300)[:, None], middle)
        about = GaussianParameters(
            self.kind, counts, means, np.empty(0), np.empty(0), counts
        )  # for its means
        statistics = total(lambda chunk: self.statistics(chunk[0], chunk[1], about), chunks, n_jobs=n_jobs)
        return self.maximise(statistics, about)

    # --- by differences to each mean ----------------------------------------------------------------------------

    def _by_differences(self, X: np.ndarray, theta: GaussianParameters) -> np.ndarray:
        """Log-joint densities (k, rows) from the differences to each mean; of complete rows, with matrices."""
        if self.kind in ("diag", "spherical"):
            found = log_densities(X, theta.means, theta.variances).T
            return np.ascontiguousarray(found) + theta.offsets[:, None]
        joint = np.empty((len(theta.means), X.shape[0]))
        factors = np.broadcast_to(theta.cholesky, (len(theta.means), self.d, self.d))
        whitened_log_densities(X, theta.means, factors, theta.constants, joint)
        return joint

    def statistics(self, X: np.ndarray, shares: np.ndarray, theta: GaussianParameters) -> tuple[Any, ...]:
        """Moments about the means of theta from the differences to each; of complete rows, with matrices."""
        counts = shares.sum(axis=1)
        if self.kind in ("full", "tied"):
            _, sums, products = matrix_moments(X, shares.T, theta.means)
            return counts, sums, products.sum(axis=0) if self.kind == "tied" else products
        seen, sums, products = variance_moments(X, shares.T, theta.means)
        if missing_in(X) is not None:  # a missing value is expected at the mean, with the present variance
            products += (counts[:, None] - seen) * theta.variances
        return counts, sums, products.mean(axis=1) if self.kind == "spherical" else products

    # --- by a table of features ---------------------------------------------------------------------------------

    def _table(self, X: np.ndarray, theta: GaussianParameters) -> np.ndarray | None:
        """1, x and the products of x's features, about the centre, of shape (features, rows).

        None where that would cancel too many digits.
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

    def _by_table(self, table: np.ndarray, theta: GaussianParameters) -> np.ndarray:
        joint = theta.natural @ table
        if self.kind == "tied":  # the same square for all components
            whitened = theta.cholesky.T @ table[1:]
            joint -= 0.5 * np.einsum("ij,ij->j", whitened, whitened)
        return joint

    def _sums(self, table: np.ndarray, shares: np.ndarray, theta: GaussianParameters) -> tuple[Any, ...]:
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

    def recall(self, theta: GaussianParameters, mass: float) -> tuple[Any, ...]:
        """The statistics of rows of a total weight that make theta the most likely: the inverse of `maximise`."""
        rows = self.weight_prior
        counts = np.maximum(theta.weights * (mass + len(theta.weights) * rows) - rows, 0.0)
        unit = np.eye(self.d) if self.kind in ("full", "tied") else 1.0
        found = theta.covariances - self.reg_covar * unit
        per = mass if self.kind == "tied" else counts.reshape((-1,) + (1,) * (found.ndim - 1))
        if self.covariance_prior is not None:
            believed = self.prior_count * of_one(self.covariance_prior, self.kind)
            found = found * (per + self.prior_count) - believed
        else:
            found = found * per
        return counts, np.zeros_like(theta.means), found

    def draw(self, theta: GaussianParameters, counts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return draw(np.repeat(np.arange(counts.size), counts), theta.means, theta.matrices, rng)


def _fitting(width: int) -> int:
    """Rows of so many numbers that make a chunk."""
    return max(chunks.GRAIN, chunks.CHUNK_BYTES // (8 * width) // chunks.GRAIN * chunks.GRAIN)


def _sums_of(chunk: Any) -> tuple[np.ndarray, np.ndarray]:
    X, shares = chunk
    return shares.sum(axis=1), shares @ X
