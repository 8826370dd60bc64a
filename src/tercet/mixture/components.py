"""The components of a mixture, as EM sees them: densities, responsibilities and statistics.

Responsibilities and log-densities have the components first, shape (k, rows): what is done for all rows of a
component then runs along memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.fitted_checks import by_value
from tercet.core.parallel import Chunks, total


class Components:
    """The components of a mixture: a latent model for `optimize.em`, and how to draw rows.

    `theta` is a dict of fitted attributes (or whatever the family likes, if its estimator says how to turn it into
    attributes and back). A chunk is (X, weight or None).
    """

    hard: bool = False  # responsibilities of 0 and 1 only (classification EM)
    monotone: bool = True  # the M step maximises what the E step measures, so the objective never falls

    def chunks(self, X: Any, weight: np.ndarray | None) -> Sequence[Any]:
        """The rows in pieces, each to be worked on by one thread."""
        return Chunks(X, weight)

    def rows_at_once(self) -> int | None:
        """Rows of a chunk at prediction; None leaves it to the size of X."""
        return None

    def log_joint(self, X: Any, theta: Any) -> np.ndarray:
        """log π_k + log p(x | θ_k), an array of shape (k, rows) that belongs to the caller."""
        raise NotImplementedError

    def statistics(self, X: Any, shares: np.ndarray, theta: Any) -> tuple[Any, ...]:
        """Expected sufficient statistics; `shares` (k, rows) are the responsibilities times the weights of the
        rows.

        At the very start there is no theta (None): statistics and `maximise` have to do without, or `first` is
        overridden.
        """
        raise NotImplementedError

    def maximise(self, statistics: tuple[Any, ...], theta: Any) -> Any:
        """The theta under which the statistics are most likely."""
        raise NotImplementedError

    def log_prior(self, theta: Any) -> float:
        """The log-density of the prior, up to a constant."""
        return 0.0

    def draw(self, theta: Any, counts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """counts[k] rows of each component k, one component after the other."""
        raise NotImplementedError

    def expect(self, chunk: Any, theta: Any) -> tuple[Any, ...]:
        """(log-likelihood, *statistics) of a chunk: the E step."""
        X, weight = chunk
        shares, likelihood = posterior(self.log_joint(X, theta), hard=self.hard)
        if weight is not None:
            shares *= weight
            likelihood *= weight
        return (likelihood.sum(), *self.statistics(X, shares, theta))

    def measures(
        self, log_likelihood: float, statistics: tuple[Any, ...], theta: Any, following: Any, mass: float
    ) -> dict[str, float]:
        """The objective of a pass from theta to `following`, and whatever else the history is to have."""
        return {"lower_bound": float(log_likelihood + self.log_prior(theta)) / mass}

    def first(self, chunks: Sequence[Any], n_jobs: Any = None) -> Any:
        """Theta from chunks (X, shares) of rows with given responsibilities."""
        return self.maximise(total(self._assigned, chunks, n_jobs=n_jobs), None)

    def _assigned(self, chunk: Any) -> tuple[Any, ...]:
        return self.statistics(chunk[0], chunk[1], None)


def posterior(joint: np.ndarray, *, hard: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Responsibilities (k, rows) and log-likelihoods (rows,) from log-joint densities, which they overwrite.

    With `hard`, a row belongs wholly to its best component (of equals, the first), and the likelihood is that
    component's. A row that no component can explain has the log-likelihood -inf and equal responsibilities.

    Examples
    --------
    >>> shares, likelihood = posterior(np.log([[0.1], [0.3]]))
    >>> shares.round(2).tolist(), np.exp(likelihood).round(2).tolist()
    ([[0.25], [0.75]], [0.4])
    """
    if hard:
        labels = joint.argmax(axis=0)
        return one_hot(labels, joint.shape[0]), joint[labels, np.arange(labels.size)]
    top = joint.max(axis=0)
    lost = np.isneginf(top)
    some = bool(lost.any())
    if some:
        joint[:, lost], top[lost] = 0.0, 0.0
    joint -= top
    np.exp(joint, out=joint)
    mass = joint.sum(axis=0)
    joint /= mass
    likelihood = np.log(mass)
    likelihood += top
    if some:
        likelihood[lost] = -np.inf
    return joint, likelihood


def one_hot(labels: np.ndarray, k: int) -> np.ndarray:
    """Responsibilities of rows that belong to one component each; -1 belongs to none."""
    return (labels == np.arange(k)[:, None]).astype(np.float64)


class AssignedChunks(Sequence):
    """Chunks (rows, shares) of rows with given responsibilities or labels; the shares are made when asked for."""

    def __init__(self, X: Any, shares: np.ndarray, weight: np.ndarray | None, k: int) -> None:
        self.parts, self.k = Chunks(X, shares, weight), k

    def __len__(self) -> int:
        return len(self.parts)

    def __getitem__(self, index: Any) -> Any:
        return with_shares(self.parts[index], self.k)


def with_shares(chunk: Any, k: int) -> tuple[Any, np.ndarray]:
    """The rows of a chunk (rows, labels or responsibilities, weight) with their shares in k components."""
    rows, part, weight = chunk
    shares = one_hot(part, k) if part.ndim == 1 else np.array(part.T, dtype=np.float64, order="C")
    return rows, shares if weight is None else shares * weight


def rows_without_values(X: Any) -> np.ndarray | None:
    """The rows whose values are all missing; None where there are none."""
    if sparse.issparse(X):
        return None
    empty = np.isnan(X).all(axis=1)
    return empty if empty.any() else None


def check_magnitude(X: np.ndarray) -> None:
    """Refuse values whose squares, divided by small variances, overflow."""
    most = 1e18 if X.dtype == np.float32 else 1e100
    low, high = np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0)
    for j in np.flatnonzero(np.maximum(-low, high) > most):
        worst = low[j] if -low[j] > high[j] else high[j]
        raise ValueError(
            f"Values of X must be from -{most:g} to {most:g}, or their squares are too large for {X.dtype}; "
            f"column {j} has {worst:g}. Scale X."
        )


def mean_imputed(X: Any, weight: np.ndarray | None = None) -> Any:
    """X with missing values replaced by the means of their columns, for first values."""
    if sparse.issparse(X):
        return X
    missing = np.isnan(X)
    if not missing.any():
        return X
    empty = np.flatnonzero(missing.all(axis=0))
    if empty.size:
        raise ValueError(f"X has no known value in the columns {empty.tolist()}.")
    counts = np.ones(len(X)) if weight is None else weight
    means = counts @ np.where(missing, 0.0, X) / (counts @ ~missing)
    return np.where(missing, means.astype(X.dtype), X)


def gaussian_shapes(kind: str) -> dict[str, Any]:
    """What is relied on in loaded Gaussians, by the parameter or attribute that names the kind of covariances.

    Examples
    --------
    >>> sorted(gaussian_shapes("covariance_type"))
    ['covariances_', 'means_', 'precisions_', 'precisions_cholesky_']
    """
    covariances = {
        "full": "components features features",
        "tied": "features features",
        "diag": "components features",
        "spherical": "components",
    }
    names = ("covariances_", "precisions_", "precisions_cholesky_")
    return {"means_": "components features", **{name: by_value(kind, covariances) for name in names}}
