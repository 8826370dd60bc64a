"""Adaptation of random-walk proposals while a chain burns in."""

from __future__ import annotations

import numpy as np
from scipy.stats import norm

FIRST_WINDOW, GROWTH = 20, 1.25  # iterations in the first window, and how windows grow
SMALLEST, LARGEST = 1e-100, 1e100  # of a scale


def windows(burn_in: int) -> list[int]:
    """Lengths of the windows of the burn-in; after each of them the proposal changes.

    The last two have a fifth of the iterations and are for the scale alone.

    Examples
    --------
    >>> windows(100)
    [20, 25, 35, 10, 10]
    """
    lengths: list[int] = []
    last = burn_in // 10
    length, left = float(FIRST_WINDOW), burn_in - 2 * last
    while left:
        n = int(length) if left >= int(length) + int(length * GROWTH) else left
        lengths.append(n)
        left -= n
        length *= GROWTH
    return [*lengths, *([last, last] if last else [])]


def target_acceptance(d: int) -> float:
    """Acceptance rate at which a random walk in d dimensions is most efficient: 0.44 for 1, 0.234 for many."""
    return 0.234 + 0.206 / d


def scale_factor(accepted: np.ndarray, tried: np.ndarray, target: float) -> np.ndarray:
    """What to multiply scales by, so that the acceptance rate becomes `target`.

    For a random walk on a normal target the rate is about 2 Phi(-c scale / 2), which is solved for the scale.
    """
    rate = np.asarray(accepted, dtype=np.float64) / tried
    inside = np.clip(rate, 0.5 / np.maximum(tried, 1), 0.99)
    factor = np.clip(norm.ppf(target / 2) / norm.ppf(inside / 2), 0.1, 10.0)
    return np.where(rate == 0.0, 0.1, factor)


class RandomWalkAdaptation:
    """Scale and covariance of a Gaussian or uniform random walk, learned from windows of all chains together.

    Parameters
    ----------
    factor : array of shape (d, d)
        Lower triangular; the first proposals are x + factor z.
    burn_in : int
        Iterations of each chain that there will be; the covariance is learned in the first four fifths.

    Attributes
    ----------
    factor : array of shape (d, d)
        What the next proposals use.
    scale : float
        Its size beside the optimal 2.38 / sqrt(d), once a covariance was estimated.
    """

    def __init__(self, factor: np.ndarray, burn_in: int) -> None:
        self.d, self.burn_in, self.seen = len(factor), burn_in, 0
        self.root = factor  # root @ root.T is the covariance of proposals of scale 1
        self.scale = 1.0
        self.estimated = False
        self.moments: list[tuple[int, np.ndarray, np.ndarray, int]] = []

    @property
    def factor(self) -> np.ndarray:
        return np.ascontiguousarray(self.scale * self.root)

    def update(self, draws: np.ndarray, accepted: int) -> None:
        """Learn from the draws (n_chains, n, d) of a window and the number of accepted proposals."""
        points = draws.reshape(-1, self.d)
        factor = float(scale_factor(np.asarray(accepted), np.asarray(len(points)), target_acceptance(self.d)))
        self.seen += draws.shape[1]
        root = None
        if self.seen <= 0.81 * self.burn_in:
            middle = points.mean(axis=0)
            centred = points - middle
            self.moments.append((len(points), middle, centred.T @ centred, accepted))
            root = self._estimate()
        if root is not None:
            if not self.estimated:
                self.estimated, self.scale, factor = True, 2.38 / self.d**0.5, 1.0
            self.root = root
        self.scale = float(np.clip(self.scale * factor, SMALLEST, LARGEST))

    def _estimate(self) -> np.ndarray | None:
        """Cholesky factor of the covariance of the draws of the later half; None while they are too few."""
        total = sum(n for n, *_ in self.moments)
        later: list[tuple[int, np.ndarray, np.ndarray, int]] = []
        for window in reversed(self.moments):
            later.append(window)
            if 2 * sum(n for n, *_ in later) >= total:
                break
        moved = sum(accepted for *_, accepted in later)
        if moved < 5 * self.d:
            return None
        n = sum(window[0] for window in later)
        middle = sum(count * mean for count, mean, *_ in later) / n
        scatter = sum(
            squares + count * np.outer(mean - middle, mean - middle) for count, mean, squares, _ in later
        )
        covariance = np.asarray(scatter) / n
        spread = np.sqrt(np.diagonal(covariance))
        if not (np.isfinite(covariance).all() and (spread > 0).all()):
            return None
        # Few independent points would give proposals that hardly leave a hyperplane: correlations shrink by about
        # the share of their squares that is noise. (A tenth of the noise of moved / d such points mixed best.)
        correlation = covariance / np.outer(spread, spread)
        off = correlation[~np.eye(self.d, dtype=bool)]
        noise = ((1.0 - off**2) ** 2).sum() * 0.1 * self.d / moved
        kept = 1.0 - min(1.0, noise / max(float((off**2).sum()), 1e-300)) if off.size else 1.0
        correlation = kept * correlation + (1 - kept) * np.eye(self.d)
        try:
            root = np.linalg.cholesky(correlation)
        except np.linalg.LinAlgError:
            return None
        return spread[:, None] * root
