"""Radial basis features (径向基特征): how near an observation is to each of some centres."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from tercet.core.catalog import method
from tercet.core.fitted_checks import Declarations, Floats
from tercet.core.kernel import kernel
from tercet.core.parameters import ArrayLike, Count, Positive
from tercet.core.rows import read_only
from tercet.core.validation import check_array
from tercet.rl.approximation.bounded_features import BoundedFeatures, scaled

FAR = 1e140  # the largest distance in an input, in units of the width


@method(
    zh="径向基特征",
    task="feature map",
    model="φ_j(x) = exp(-|x - c_j|² / (2 σ²)), inputs scaled to [0, 1]",
    strategy="centres c_j on a grid, or given; a width σ of about their distance",
    peers=["Sutton & Barto, Reinforcement Learning, sec. 9.5.5"],
)
class RadialBasisFeatures(BoundedFeatures):
    """Radial basis features: Gaussian bumps on a grid of centres, or on given ones.

        φ_j(x) = exp(-|x - c_j|² / (2 σ²))

    where x and the centres c_j are scaled by the ranges of the inputs to [0, 1]. An input outside its range
    counts as the nearest end.

    Parameters
    ----------
    n_centers : int, optional
        Centres along the range of each input; they form a grid of n_centers^n_features. By default 5, or
        fewer where the grid would have more than 10 000 centres.
    centers : array of shape (n_features_out, n_features), optional
        The centres, in the units of the observations, in place of a grid.
    width : float, optional
        σ, in units of the scaled inputs. By default the distance of neighbours in the grid; of given centres
        the mean distance to the nearest other one.
    normalize : bool, default=False
        Whether features are divided by their sum (a normalised network), so that they cover places far from all
        centres, too.
    low, high : float or array of shape (n_features,), optional
        Range of the inputs; by default that of the rows given to `fit`. An agent takes it from the environment.

    Attributes
    ----------
    centers_ : array of shape (n_features_out, n_features)
        The centres, in the units of the observations.
    width_ : float
        σ.
    low_, high_ : arrays of shape (n_features,)
        The ranges.

    Examples
    --------
    >>> bumps = RadialBasisFeatures(n_centers=3, low=0.0, high=2.0)
    >>> bumps.fit_transform([[0.0], [1.5]]).round(3)
    array([[1.   , 0.607, 0.135],
           [0.325, 0.882, 0.882]])
    >>> bumps.centers_.ravel(), bumps.width_
    (array([0., 1., 2.]), 0.5)
    """

    fitted_shapes: ClassVar[Declarations] = {
        "centers_": Floats("centers features", finite=True),
        "width_": Floats("", finite=True, low=0.0),
    }
    centers_: np.ndarray
    width_: float

    def __init__(
        self,
        n_centers: Count | None = None,
        *,
        centers: ArrayLike | None = None,
        width: Positive | None = None,
        normalize: bool = False,
        low: ArrayLike | None = None,
        high: ArrayLike | None = None,
    ) -> None:
        self.n_centers = n_centers
        self.centers = centers
        self.width = width
        self.normalize = normalize
        self.low = low
        self.high = high

    def _prepare(self) -> None:
        d = self.n_features_in_
        if self.centers is None:
            n = self._usual_steps(5) if self.n_centers is None else self.n_centers
            self._refuse_too_many(float(np.float64(n) ** d), "lower n_centers, or give centers")
            steps = np.linspace(0.0, 1.0, n) if n > 1 else np.array([0.5])
            grid = np.stack(np.meshgrid(*[steps] * d, indexing="ij"), axis=-1).reshape(-1, d)
            self.centers_ = self.low_ + grid * (self.high_ - self.low_)
            spacing = 1.0 / max(n - 1, 1)
        else:
            self.centers_ = check_array(self.centers, dtype=np.float64, input_name="centers").copy()
            if self.centers_.shape[1] != d:
                raise ValueError(
                    f"RadialBasisFeatures: centers has {self.centers_.shape[1]} columns; the rows have "
                    f"{d} features."
                )
            spacing = self._distance_of_neighbours()
        self.width_ = float(spacing if self.width is None else self.width)

    def _distance_of_neighbours(self) -> float:
        """Mean distance of a centre to the nearest other one, in units of the scaled inputs; 1 for a single one."""
        from scipy.spatial import cKDTree

        points = np.unique(self._scaled_centers(), axis=0)
        if len(points) == 1:
            return 1.0
        return float(cKDTree(points).query(points, k=2)[0][:, 1].mean())

    def _scaled_centers(self) -> np.ndarray:
        low, half_widths = self._ranges()
        away = 0.5 * self.centers_ - 0.5 * low
        return np.divide(away, half_widths, out=np.zeros(away.shape), where=half_widths > 0)

    @property
    def _n_features_out(self) -> int:
        return len(self.centers_)

    @property
    def _n_entries(self) -> int:
        return len(self.centers_)

    def _writer(self) -> Callable[[np.ndarray, np.ndarray, np.ndarray], int]:
        (low, half_widths), centers = self._ranges(), read_only(self._scaled_centers())
        width, normalize, every = self.width_, self.normalize, np.arange(len(centers))

        def write(x: np.ndarray, columns: np.ndarray, values: np.ndarray) -> int:
            radial_basis(read_only(x[None]), low, half_widths, centers, width, normalize, values[None])
            columns[:] = every
            return every.size

        return write

    def transform(self, X: Any) -> np.ndarray:
        """How near each row is to the centres.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Observations.

        Returns
        -------
        array of shape (n_samples, n_centers)
        """
        X, dtype = self._checked(X)
        found = np.empty((len(X), len(self.centers_)))
        centers = read_only(self._scaled_centers())
        radial_basis(X, *self._ranges(), centers, self.width_, self.normalize, found)
        return found.astype(dtype, copy=False)


@kernel
def radial_basis(X, low, half_widths, centers, width, normalize, out):
    """exp(-|x - c|² / (2 width²)) of scaled rows and scaled centres, shape (n_samples, n_centers), of sum 1 in each
    row if normalised."""
    for i in range(X.shape[0]):
        row, least = out[i], np.inf
        for k in range(centers.shape[0]):
            square = 0.0
            for j in range(low.size):
                away = (scaled(X[i, j], low[j], half_widths[j]) - centers[k, j]) / width
                square += min(abs(away), FAR) ** 2
            row[k] = 0.5 * square
            least = min(least, row[k])
        if not normalize:
            least = 0.0
        total = 0.0
        for k in range(
            row.size
        ):  # normalised features begin with 1 for the nearest centre, so the sum is not 0
            row[k] = np.exp(least - row[k])
            total += row[k]
        if normalize:
            for k in range(row.size):
                row[k] /= total
